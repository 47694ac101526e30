"""A connection that turns out to be another service's goes on there, whatever happens meanwhile."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery import events
from finapi.feeds.connections import Adopt, Take
from finapi.feeds.hub import Hub
from finapi.feeds.loop import Feeds
from finapi.feeds.messages import Filter
from finapi.httpd.settings import HandedOver
from finapi.testing import FinapiServer
from tests.feeds import key, tell
from tests.feeds.test_hub import Reader

SHAKEN = {
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
}
MAIN = "/ws/main-api"


def framed(text: str, opcode: int = 0x81) -> bytes:
    """A client's frame, masked with zeros."""
    data = text.encode()
    size = bytes((0x80 | len(data),)) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes((opcode,)) + size + bytes(4) + data


class Two:
    """Two services behind one address; the test makes their rounds. Connections come to the first."""

    def __init__(self, first: App, second: App) -> None:
        self.moved: dict[str, Take] = {}
        key(second, email="other@example.com")  # the first would draw the same
        self.key = key(second)
        refused = lambda status, reason, asked: ([], reason.encode())  # noqa: E731
        self.first = Feeds(first, refused, self.elsewhere, self.moved)
        self.second = Feeds(second, refused, self.elsewhere, self.moved)
        self.clients: list[socket.socket] = []

    def elsewhere(self, request: HandedOver, key: str) -> Adopt | None:
        return self.second.adopt if key == self.key else None

    def connect(self, sent: bytes = b"", path: str = MAIN, **query: str) -> socket.socket:
        """A client's end of a WebSocket that has come to the first; ``sent`` came right behind its handshake."""
        return self._asked("GET", path, query, SHAKEN, b"", sent)

    def http(self, method: str = "GET", body: bytes = b"", **query: str) -> socket.socket:
        """A client's end of a call of long-polling."""
        return self._asked(method, "/socket.io", {"EIO": "4", "transport": "polling", **query}, {}, body, b"")

    def _asked(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes, rest: bytes
    ) -> socket.socket:
        client, server = socket.socketpair()
        client.setblocking(False)
        self.clients.append(client)
        self.first.take(HandedOver(server, "192.0.2.1", method, path, query, headers, body, rest))
        return client

    def rounds(self) -> None:
        for _ in range(4):
            for feeds in (self.first, self.second):
                feeds.step(0)
                feeds.keys.step()

    def half_way(self) -> None:
        """The first makes its rounds, the second none."""
        for _ in range(3):
            self.first.step(0)
            self.first.keys.step()

    def close(self) -> None:
        for end in (self.first, self.second, *self.clients):
            end.close()

    def counts(self, feeds: Feeds) -> tuple[int, int, int, int, int]:
        """Connections, their places, sessions, places without a key, readers."""
        places, readers = feeds._places, sum(feeds._hub.readers.values())
        return len(feeds.loop.connections), len(places.open), len(feeds._sessions), len(places.unverified), readers


def heard(client: socket.socket) -> bytes:
    try:
        return client.recv(1 << 20)
    except BlockingIOError:
        return b""


@pytest.fixture
def two(make_app: Callable[..., App]) -> Iterator[Two]:
    first, second = make_app(), make_app()
    tell(first, 1, data={"of": "first"})
    tell(second, 1, data={"of": "second"})
    two = Two(first, second)
    yield two
    two.close()


def session(two: Two) -> str:
    """The id of a new session over long-polling."""
    polled = two.http()
    two.rounds()
    return str(json.loads(heard(polled).partition(b"\r\n\r\n")[2][1:])["sid"])


def test_what_came_behind_the_key_goes_along_up_to_half_a_frame(two: Two) -> None:
    token, other = framed(json.dumps({"token": two.key})), framed('{"type":"subscribe","tickers":["AAPL"]}')
    client = two.connect(token + framed("", 0x89) + framed('{"type":"unsubscribe"}') + other[:9])
    two.rounds()
    told = heard(client)
    assert told.startswith(b"HTTP/1.1 101 ")
    assert b'"of":"second"' in told
    assert b'"of":"first"' not in told
    assert told.count(b"\x8a\x00") == 1  # the pong
    assert told.endswith(b'{"type":"subscribed","data":{"tickers":[],"ciks":[],"form_types":[]}}')
    client.send(other[9:])
    two.rounds()
    assert b'"tickers":["AAPL"]' in heard(client)
    assert two.counts(two.first) == (0, 0, 0, 0, 0)
    assert two.counts(two.second) == (1, 1, 0, 0, 1)


def test_a_key_of_nobody_is_refused_where_it_came(two: Two) -> None:
    client = two.connect(framed('{"token":"00000000000000000000000000000000"}'))
    two.rounds()
    assert b"\x11\x31A valid API key is needed." in heard(client)  # 4401
    assert two.counts(two.second) == (0, 0, 0, 0, 0)


def test_what_moved_is_no_longer_of_the_one_where_it_began(two: Two) -> None:
    client = two.connect(framed(json.dumps({"token": two.key})))
    two.rounds()
    two.first.end_readers(4000, "")
    two.first.step(0)
    two.first.close()
    heard(client)
    tell(two.second._app, 1)
    two.second.step(0)
    assert b'"seq":2' in heard(client)


def test_a_service_that_stops_before_the_key_is_known_says_so(two: Two) -> None:
    client = two.connect(framed(json.dumps({"token": two.key})))
    two.second.stop("This world was deleted.")
    two.rounds()
    assert b"\x03\xe9This world was deleted." in heard(client)  # 1001
    assert two.counts(two.second) == (0, 0, 0, 0, 0)


def test_a_service_that_stops_while_a_connection_is_on_its_way_says_so(two: Two) -> None:
    sid, client = session(two), two.connect(framed(json.dumps({"token": two.key})))
    two.http("POST", f'40{MAIN},{{"token":"{two.key}"}}'.encode(), sid=sid)
    two.half_way()
    assert len(two.second._inbox) == 2
    two.second.stop("This world was deleted.")
    two.second.run()
    assert b"\x03\xe9This world was deleted." in heard(client)
    assert (two.moved, two.second._sessions) == ({}, {})


def test_what_is_on_its_way_to_a_loop_that_has_ended_is_closed(two: Two) -> None:
    sid, client = session(two), two.connect(framed(json.dumps({"token": two.key})))
    two.http("POST", f'40{MAIN},{{"token":"{two.key}"}}'.encode(), sid=sid)
    two.half_way()
    two.second.close()
    assert heard(client).startswith(b"HTTP/1.1 101 ")
    assert client.recv(1) == b""
    assert (two.moved, two.second._sessions) == ({}, {})
    assert two.counts(two.first)[1:] == (0, 0, 0, 0)


def test_a_client_that_goes_on_its_way_leaves_nothing(two: Two) -> None:
    client = two.connect(framed(json.dumps({"token": two.key})))
    two.half_way()
    client.close()
    two.rounds()
    assert two.counts(two.first) == two.counts(two.second) == (0, 0, 0, 0, 0)


def test_the_other_service_has_limits_of_its_own(make_app: Callable[..., App]) -> None:
    two = Two(make_app(), make_app(feed_connections=1))
    token = framed(json.dumps({"token": two.key}))
    first = two.connect(token)
    two.rounds()
    second = two.connect(token)
    two.rounds()
    assert b"\x88" not in heard(first)
    assert b"\x11\x4dToo many connections." in heard(second)  # 4429
    two.close()


def test_the_time_for_a_key_goes_on_at_the_other_clock(two: Two, clock: FixedClock) -> None:
    ahead = FixedClock()
    ahead.advance(1000)
    two.second.loop.now = ahead.monotonic
    client = two.connect()
    two.rounds()
    clock.advance(4.0)
    client.send(framed(json.dumps({"token": two.key})))
    two.half_way()
    two.second.step(0)  # the key is not looked up yet
    (connection,) = two.second.loop.connections
    assert connection.due - ahead.monotonic() == 1.0


def test_a_session_takes_its_poll_and_all_later_requests_along(two: Two) -> None:
    sid = session(two)
    polled = two.http(sid=sid)
    two.http("POST", f'40{MAIN},{{"token":"{two.key}"}}\x1e42{MAIN},7["subscribe",{{}}]'.encode(), sid=sid)
    two.rounds()
    told = heard(polled)
    assert f'40{MAIN},{{"sid":"{sid}.main-api"}}'.encode() in told
    assert list(two.moved) == [sid]
    late = two.http(sid=sid)  # it comes to the first, as on its way when the session left
    two.rounds()
    told += heard(late)
    assert b'"of":"second"' in told
    assert f"43{MAIN},7[".encode() in told
    assert b'"of":"first"' not in told
    assert two.counts(two.first)[2:] == (0, 0, 0)
    assert two.counts(two.second)[2:] == (1, 0, 1)
    two.http("POST", b"1", sid=sid)
    two.rounds()
    assert (two.moved, two.second._sessions) == ({}, {})
    gone = two.http(sid=sid)
    two.rounds()
    assert b"Unknown session id." in heard(gone)


def test_a_session_that_is_changing_over_takes_its_websocket_along(two: Two) -> None:
    sid = session(two)
    client = two.connect(framed("2probe"), "/socket.io", EIO="4", transport="websocket", sid=sid)
    idle = two.connect(b"", "/socket.io", EIO="4", transport="websocket", sid=sid)
    two.rounds()
    assert heard(client).endswith(b"3probe")
    two.http("POST", f'40{MAIN},{{"token":"{two.key}"}}'.encode(), sid=sid)
    two.rounds()
    client.send(framed("5"))
    two.rounds()
    assert b'"of":"second"' in heard(client)
    heard(idle)
    idle.close()
    two.rounds()
    assert two.counts(two.second) == (1, 1, 1, 0, 1)
    client.close()
    two.rounds()
    assert two.counts(two.second) == (0, 0, 0, 0, 0)
    assert two.moved == {}


def test_a_session_that_reads_here_does_not_read_there_too(two: Two) -> None:
    mine = key(two.first._app)
    client = two.connect(framed(f'40{MAIN},{{"token":"{mine}"}}'), "/socket.io", EIO="4", transport="websocket")
    two.rounds()
    assert b'"of":"first"' in heard(client)
    client.send(framed(f'40/ws/13f-live,{{"token":"{two.key}"}}'))
    two.rounds()
    assert heard(client).endswith(b'44/ws/13f-live,{"message":"A valid API key is needed.","data":{"code":4401}}')
    assert two.counts(two.first) == (1, 1, 1, 0, 1)


def test_an_id_of_a_session_that_moved_is_not_given_out_again(two: Two) -> None:
    """A service whose ids are drawn anew, as after a reset with a seed, must not draw one that another has."""
    drawn = iter([bytes(15), bytes(15), bytes([1] * 15)])
    object.__setattr__(two.first._app, "random_bytes", lambda size: next(drawn))
    first = session(two)
    two.http("POST", f'40{MAIN},{{"token":"{two.key}"}}'.encode(), sid=first)
    two.rounds()
    assert list(two.moved) == [first]
    assert session(two) not in ("", first)


def test_a_key_that_changes_on_its_way_opens_nothing(two: Two) -> None:
    app = two.second._app
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    two.key = user.api_key
    client = two.connect(framed(json.dumps({"token": two.key})))
    two.half_way()
    users.rotate_key(app, user.id, app.clock.now())
    two.rounds()
    assert b"\x11\x31A valid API key is needed." in heard(client)


def test_a_reader_is_filled_to_the_end_of_a_journal_that_went_back() -> None:
    """As one that is let in while its world is reset: the loop went round for ever, and the reset with it."""
    with FinapiServer(listens=False) as server:
        app = server.wsgi.worlds[""].app
        hub, mark = Hub(app), app.db.mark()
        before, caller = Reader(), users.by_api_key
        with app.accounts.read() as tx:
            found: Any = caller(tx, server.api_key)
        tell(app, 5)
        hub.publish()
        app.db.back_to(mark)
        hub.fill(hub.open(events.MAIN, (found, server.api_key), before, Filter(), None))
        assert len(before.got) == 20
