"""Feeds of worlds as the authors of clients use them: found by their key alone, closed, reset, many at once."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from queue import Queue
from typing import Any

import pytest
import socketio
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from finapi.accounts import users
from finapi.accounts.users import Caller
from finapi.client import ApiFailure, Client
from finapi.delivery import events
from finapi.feeds import plain
from finapi.feeds.hub import Hub
from finapi.feeds.loop import GRACE_SECONDS
from finapi.feeds.messages import Filter
from finapi.store.db import Transaction
from finapi.testing import FinapiServer, gate
from finapi.testing.server import FixtureWorld
from tests.feeds.test_hub import Reader
from tests.feeds.test_websocket import closing, said
from tests.process import eventually

MAIN = "/ws/main-api"
END = {"since_seq": "1000"}  # behind all that there is: the answer is a gap


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=5) as running:
        yield running


@pytest.fixture
def mine(server: FinapiServer) -> Iterator[FixtureWorld]:
    world = server.world("mine")
    yield world
    world.control.drop()


@pytest.fixture
def other(server: FinapiServer) -> Iterator[FixtureWorld]:
    world = server.world("other")
    yield world
    world.control.drop()


def tell(world: FixtureWorld | FinapiServer, ticker: str) -> int:
    return world.control.event("main-api", "new_filing", {"ticker": ticker})


def opened(server: FinapiServer, path: str = "", **options: Any) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{server.ready['port']}{path}{MAIN}", proxy=None, **options)


SHAKE = (
    f"GET {MAIN} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
).encode()


def framed(text: str, opcode: int = 0x81) -> bytes:
    """A client's frame, masked with zeros."""
    data = text.encode()
    size = bytes((0x80 | len(data),)) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return bytes((opcode,)) + size + bytes(4) + data


def heard(client: socket.socket, end: bytes) -> bytes:
    told = b""
    while not told.endswith(end):
        told += client.recv(65_536)
    return told


def test_a_key_in_the_first_message_names_the_world(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld
) -> None:
    worlds = {"MINE": mine, "OTHER": other, "UNNAMED": server}
    with ExitStack() as stack:
        feeds = {ticker: stack.enter_context(opened(server)) for ticker in worlds}
        for ticker, world in worlds.items():
            feeds[ticker].send(json.dumps({"token": world.api_key, **END}))
            assert said(feeds[ticker])["data"] == {"since_seq": 1000, "reason": "not yet given out"}
        for ticker, world in worlds.items():
            tell(world, ticker)
            tell(world, "LAST")
        for ticker, feed in feeds.items():
            assert [said(feed)["data"]["ticker"] for _ in range(2)] == [ticker, "LAST"]


@pytest.mark.parametrize("transports", [["polling"], ["websocket"], ["polling", "websocket"]])
def test_a_key_in_the_auth_of_socketio_names_the_world(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld, transports: list[str]
) -> None:
    told: dict[str, Queue[Any]] = {"MINE": Queue(), "OTHER": Queue()}
    clients = []
    for ticker, world in (("MINE", mine), ("OTHER", other)):
        client = socketio.Client(reconnection=False)
        client.on("new_filing", told[ticker].put, namespace=MAIN)
        client.on("gap", told[ticker].put, namespace=MAIN)
        auth = {"token": world.api_key, **END}
        client.connect(server.url, namespaces=[MAIN], auth=auth, transports=transports, wait_timeout=10)
        assert told[ticker].get(timeout=10)["type"] == "gap"
        assert client.transport() == transports[-1]
        clients.append(client)
    for ticker, world in (("OTHER", other), ("MINE", mine)):
        tell(world, ticker)
        tell(world, "LAST")
    for queue, ticker in zip(told.values(), told, strict=True):
        assert [queue.get(timeout=10)["data"]["ticker"] for _ in range(2)] == [ticker, "LAST"]
    for client in clients:
        client.disconnect()


def test_a_world_that_is_named_takes_no_key_of_another(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld
) -> None:
    for named in (
        opened(server, "/_world/other"),
        opened(server, additional_headers={"X-Finapi-World": "other"}),
        opened(server, additional_headers={"X-Finapi-World": ""}),
    ):
        with named as feed:
            feed.send(json.dumps({"token": mine.api_key}))
            assert closing(feed) == (4401, "A valid API key is needed.")


def test_the_plan_of_the_key_limits_in_its_own_world(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld
) -> None:
    with opened(server) as first, opened(server) as second, opened(server) as third:
        for feed, world in ((first, mine), (second, mine), (third, other)):
            feed.send(json.dumps({"token": world.accounts["free"]["api_key"], **END}))
        assert said(first)["type"] == said(third)["type"] == "gap"
        assert closing(second) == (4429, "The plan's connection limit is 1.")


def test_a_reset_says_why_and_begins_another_epoch_of_the_same_numbers(
    server: FinapiServer, mine: FixtureWorld
) -> None:
    with opened(server) as feed:
        feed.send(json.dumps({"token": mine.api_key, **END}))
        said(feed)
        seq = tell(mine, "AAPL")
        epoch = said(feed)["epoch"]
        mine.control.reset()
        assert closing(feed) == (1001, "This world was reset.")
    assert tell(mine, "MSFT") == seq
    with opened(server) as feed:  # whoever comes back with a number of before passes nothing over
        feed.send(json.dumps({"token": mine.api_key, "since_seq": seq, "epoch": epoch}))
        gap, again = said(feed), said(feed)
        assert gap["data"] == {"since_seq": seq, "epoch": epoch, "reason": "another epoch"}
        assert (again["seq"], again["epoch"], again["data"]) == (seq, epoch + 1, {"ticker": "MSFT"})


def test_a_world_that_goes_back_begins_another_epoch_only_if_it_takes_events_back(mine: FixtureWorld) -> None:
    def epoch() -> int:
        return int(mine.client().get_events(feed="main-api")["meta"]["epoch"])

    first = epoch()
    mine.control.reset()
    assert epoch() == first
    tell(mine, "AAPL")
    kept = mine.control.snapshot()
    mine.control.restore(kept)
    assert epoch() == first
    tell(mine, "MSFT")
    for _ in range(2):
        mine.control.restore(kept)
        assert epoch() == first + 1
    mine.control.reset()  # AAPL was told in it
    assert epoch() == first + 2
    tell(mine, "MSFT")
    mine.control.reset()
    assert epoch() == first + 3


def test_a_world_that_is_made_again_after_it_told_events_begins_another_epoch(server: FinapiServer) -> None:
    def epoch() -> int:
        return int(server.world("again").client().get_events(feed="main-api")["meta"]["epoch"])

    first = epoch()
    server.world("again").control.drop()
    assert epoch() == first
    seq = tell(server.world("again"), "AAPL")
    server.world("again").control.drop()
    assert epoch() == first + 1
    server.world("again").control.snapshot()
    server.world("again").control.drop()  # it told none, and another epoch than the first one's all the same
    assert tell(server.world("again"), "MSFT") == seq
    with opened(server) as feed:  # whoever comes back with a number of before passes nothing over
        feed.send(json.dumps({"token": server.world("again").api_key, "since_seq": seq, "epoch": first}))
        assert said(feed)["data"] == {"since_seq": seq, "epoch": first, "reason": "another epoch"}
        again = said(feed)
        assert (again["epoch"], again["data"]) == (first + 1, {"ticker": "MSFT"})
    server.world("again").control.drop()


def test_the_end_of_a_world_says_why_and_its_key_is_nobodys_from_then_on(server: FinapiServer) -> None:
    world = server.world("short")
    with opened(server) as feed:
        feed.send(json.dumps({"token": world.api_key, **END}))
        said(feed)
        world.control.drop()
        assert closing(feed) == (1001, "This world was deleted.")
    with opened(server) as feed:
        feed.send(json.dumps({"token": world.api_key}))
        assert closing(feed) == (4401, "A valid API key is needed.")
    assert "short" not in server.wsgi.worlds


def test_a_reset_waits_for_no_client_that_does_not_close(server: FinapiServer, mine: FixtureWorld) -> None:
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as silent:
        silent.sendall(SHAKE + framed(json.dumps({"token": mine.api_key, **END})))
        heard(silent, b'"reason":"not yet given out"}}')
        began = time.monotonic()
        mine.control.reset()
        assert time.monotonic() - began < GRACE_SECONDS / 2
        heard(silent, b"\x88\x17\x03\xe9This world was reset.")


@pytest.mark.parametrize("query", ["apiKey", "token", ""])
def test_a_key_names_the_world_of_an_event_stream_and_of_a_poll(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld, query: str
) -> None:
    tell(mine, "MINE")
    seq = tell(other, "OTHER")
    path = f"/api/v1/events?feed=main-api&since_seq={seq - 1}"
    for world, ticker in ((mine, "MINE"), (other, "OTHER")):
        headers = {"Accept": "text/event-stream"} if query else {"X-API-Key": world.api_key}
        asked = f"{path}&{query}={world.api_key}" if query else path
        connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
        connection.request("GET", asked, headers=headers)
        with connection.getresponse() as answer:
            lines = [answer.readline() for _ in range(5)] if query else [answer.read()]
            assert f'"ticker":"{ticker}"'.encode() in lines[-1]
        connection.close()


def test_what_comes_behind_the_key_is_kept_up_to_half_a_frame(server: FinapiServer, mine: FixtureWorld) -> None:
    token = framed(json.dumps({"token": mine.api_key, **END}))
    other = framed('{"type":"subscribe","tickers":["AAPL"]}')
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE + token + framed("", 0x89) + framed('{"type":"unsubscribe"}') + other[:9])
        told = heard(client, b'{"type":"subscribed","data":{"tickers":[],"ciks":[],"form_types":[]}}')
        assert told.count(b"\x8a\x00") == 1  # the pong
        assert told.count(b'"reason":"not yet given out"') == 1
        client.sendall(other[9:])
        heard(client, b'{"tickers":["AAPL"],"ciks":[],"form_types":[]}}')
        tell(mine, "MSFT")
        tell(mine, "AAPL")
        assert b"MSFT" not in heard(client, b'{"ticker":"AAPL"}}')


def test_a_feed_that_stays_open_reads_one_world_while_others_come_and_go(
    server: FinapiServer, mine: FixtureWorld
) -> None:
    with opened(server) as feed:
        feed.send(json.dumps({"token": mine.api_key, **END}))
        said(feed)
        for number in range(5):
            world = server.world(f"guest-{number}")
            with opened(server) as guest:
                guest.send(json.dumps({"token": world.api_key, **END}))
                said(guest)
                tell(world, "GUEST")
                assert said(guest)["data"] == {"ticker": "GUEST"}
                world.control.reset()
                assert closing(guest) == (1001, "This world was reset.")
            world.control.drop()
        tell(mine, "MINE")
        assert said(feed)["data"] == {"ticker": "MINE"}


def test_a_reader_is_filled_to_the_end_of_a_journal_that_went_back() -> None:
    """As one that is let in while its world is reset: the loop went round for ever, and the reset with it."""
    with FinapiServer(listens=False) as server:
        world, before = server.wsgi.worlds[""], Reader()
        hub, mark = Hub(world.app, time.monotonic), world.app.db.mark()
        found = hub.callers([server.api_key])[server.api_key]
        for number in range(5):
            tell(server, str(number))
        hub.publish()
        world.app.db.roll_back_to(mark)
        hub.fill(hub.open(events.MAIN, (found, server.api_key), before, Filter(), None))
        assert len(before.got) == 20


def test_a_world_whose_key_is_being_looked_up_ends_when_that_is_over(
    server: FinapiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the look-up would read what is another world's by then."""
    world, look_up = server.world("looked-at"), users.by_api_key
    ending = server.wsgi.worlds["looked-at"]
    looking, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(tx: Transaction, key: str) -> Caller | None:
        if key == world.api_key:
            looking.set()
            assert go_on.wait(10)
        return look_up(tx, key)

    with opened(server) as feed, monkeypatch.context() as patched:
        patched.setattr(users, "by_api_key", slow)
        feed.send(json.dumps({"token": world.api_key}))
        assert looking.wait(10)
        dropping = threading.Thread(target=lambda: (world.control.drop(), ended.set()))
        dropping.start()
        eventually(lambda: ending.closed)
        assert not ended.is_set()
        go_on.set()
        dropping.join(10)
        assert ended.is_set()
        assert closing(feed) == (1001, "This world was deleted.")


def test_readers_have_been_closed_when_the_fault_is_there(
    server: FinapiServer, mine: FixtureWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an event that comes after it is still read by a connection that it closes then."""
    looking, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    look_up = users.by_api_key

    def slow(tx: Transaction, key: str) -> Caller | None:
        if key == mine.api_key:
            looking.set()
            assert go_on.wait(10)
        return look_up(tx, key)

    with opened(server) as feed, monkeypatch.context() as patched:
        patched.setattr(users, "by_api_key", slow)
        feed.send(json.dumps({"token": mine.api_key}))
        assert looking.wait(10)
        fault = threading.Thread(target=lambda: (mine.control.fault(close=4408), closed.set()))
        fault.start()
        eventually(lambda: mine.control.faults() != [])
        assert not closed.is_set()
        go_on.set()
        fault.join(10)
        assert closed.is_set()
        assert closing(feed) == (4408, "The fixture was told to close.")


def test_months_that_pass_at_once_are_no_silence_of_a_reader(server: FinapiServer, mine: FixtureWorld) -> None:
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE + framed(json.dumps({"token": mine.api_key, **END})))
        heard(client, b'"reason":"not yet given out"}}')
        for ticker in ("ONE", "TWO", "THREE"):
            mine.control.advance(40 * 86_400)
            tell(mine, ticker)
            told = heard(client, b'{"ticker":"%s"}}' % ticker.encode())
            assert b"\x89\x00" not in told  # a ping
            assert mine.control.now().strftime('"occurred_at":"%Y-%m-%dT').encode() in told


def test_the_time_for_a_key_passes_while_the_clock_of_the_world_stands(
    server: FinapiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "GREETING_SECONDS", 0.0)
    with opened(server) as feed:
        assert closing(feed) == (4401, "No API key was sent within 5 seconds.")


def test_a_world_that_is_read_is_not_taken_for_another(
    server: FinapiServer, mine: FixtureWorld, other: FixtureWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = server.wsgi.worlds
    with opened(server) as feed:
        feed.send(json.dumps({"token": mine.api_key, **END}))
        said(feed)
        monkeypatch.setattr(gate, "MAX_WORLDS", len(worlds))
        for name in ("mine", "other"):
            worlds[name].used_at -= gate.IDLE_SECONDS + 60
        late = server.world("late")
        assert sorted(worlds) == ["", "late", "mine"]
        tell(mine, "AAPL")
        assert said(feed)["data"] == {"ticker": "AAPL"}
    late.control.drop()


def test_a_request_for_a_feed_meets_the_faults_of_its_route(server: FinapiServer, mine: FixtureWorld) -> None:
    url = f"ws://127.0.0.1:{server.ready['port']}{MAIN}?token={mine.api_key}"
    mine.control.fault("GET /ws/*", status=503, times=1)
    mine.control.fault("/ws/main-api", status=402, ordinal=2)
    mine.control.fault("/ws/main-api", reset=True, ordinal=3)
    mine.control.fault("/ws/insider-api", status=500)
    mine.control.fault(status=500)  # of any call, which no reader is
    with pytest.raises(InvalidStatus) as refused:
        connect(url, proxy=None)
    answer = refused.value.response
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert json.loads(answer.body)["code"] == "UNAVAILABLE"
    with pytest.raises(InvalidStatus) as refused:
        connect(url, proxy=None)
    assert json.loads(refused.value.response.body)["current_balance"] == 0
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE.replace(MAIN.encode(), f"{MAIN}?token={mine.api_key}".encode()))
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    # A queue that is full keeps this client from reading the close frame, for 10 s.
    with connect(url, proxy=None, max_queue=None) as feed:
        assert said(feed)["type"] == "new_filing"
    assert [one["met"] for one in mine.control.faults()] == [1, 1, 1, 0, 0]


def test_a_fault_that_a_request_for_a_feed_cannot_meet_is_refused(mine: FixtureWorld) -> None:
    for route in ("/ws/main-api", "GET /ws/*", "/socket.io/", "POST /socket.io*"):
        with pytest.raises(ApiFailure, match="delay"):
            mine.control.fault(route, delay=1)
    mine.control.fault("/wss", delay=1)


def test_polls_and_event_streams_meet_faults_too(server: FinapiServer, mine: FixtureWorld) -> None:
    mine.control.fault("/socket.io/", status=429, ordinal=1)
    mine.control.fault("GET /api/v1/events", status=503, ordinal=1)
    for path, accept, wanted in (
        ("/socket.io/?EIO=4&transport=polling", "*/*", (429, 200)),
        ("/api/v1/events?feed=main-api", "text/event-stream", (503, 200)),
    ):
        for status in wanted:
            connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
            connection.request("GET", path, headers={"X-API-Key": mine.api_key, "Accept": accept})
            with connection.getresponse() as answer:
                assert answer.status == status
            connection.close()


def test_a_key_that_asks_for_a_status_is_refused_with_it(server: FinapiServer) -> None:
    reader = Client(server.url, "0" * 29 + "403").feed("main-api")
    with pytest.raises(ApiFailure, match="403"):
        next(reader)
