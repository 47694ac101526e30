"""Tests of the feeds of a test server's worlds: found by a key, closed, reset, and read by many clients in parallel."""

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
from finapi.feeds import plain_feeds
from finapi.feeds.feed_loop import GRACE_SECONDS
from finapi.feeds.feed_messages import Filter
from finapi.feeds.hub import Hub
from finapi.store.db import Transaction
from finapi.testing import FinapiServer, gate
from finapi.testing.server import FixtureWorld
from tests.feeds.test_hub import Reader
from tests.feeds.test_websocket import closing, said
from tests.process import eventually
from tests.support.case_tables import run_each_case

MAIN = "/ws/main-api"
END = {"since_seq": "1000"}  # After all events, so the first message is a gap.


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=5) as fixture_server:
        yield fixture_server


@pytest.fixture
def first_world(server: FinapiServer) -> Iterator[FixtureWorld]:
    world = server.world("first")
    yield world
    world.control.drop()


@pytest.fixture
def second_world(server: FinapiServer) -> Iterator[FixtureWorld]:
    world = server.world("second")
    yield world
    world.control.drop()


def send_event(world: FixtureWorld | FinapiServer, ticker: str) -> int:
    return world.control.event("main-api", "new_filing", {"ticker": ticker})


def open_feed(server: FinapiServer, path: str = "", **options: Any) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{server.ready['port']}{path}{MAIN}", proxy=None, **options)


SHAKE = (
    f"GET {MAIN} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
).encode()


def build_frame(text: str, opcode: int = 0x81) -> bytes:
    """Build a client's frame, masked with zeros."""
    payload = text.encode()
    length = bytes((0x80 | len(payload),)) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes((opcode,)) + length + bytes(4) + payload


def read_until(client: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        received += client.recv(65_536)
    return received


def test_a_key_in_the_first_message_names_the_world(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld
) -> None:
    worlds = {"MINE": first_world, "OTHER": second_world, "UNNAMED": server}
    with ExitStack() as stack:
        feeds = {ticker: stack.enter_context(open_feed(server)) for ticker in worlds}
        for ticker, world in worlds.items():
            feeds[ticker].send(json.dumps({"token": world.api_key, **END}))
            assert said(feeds[ticker])["data"] == {"since_seq": 1000, "reason": "not yet given out"}
        for ticker, world in worlds.items():
            send_event(world, ticker)
            send_event(world, "LAST")
        for ticker, feed in feeds.items():
            assert [said(feed)["data"]["ticker"] for _ in range(2)] == [ticker, "LAST"]


@pytest.mark.parametrize("transports", [["polling"], ["websocket"], ["polling", "websocket"]])
def test_a_key_in_the_auth_of_socketio_names_the_world(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld, transports: list[str]
) -> None:
    queues: dict[str, Queue[Any]] = {"MINE": Queue(), "OTHER": Queue()}
    clients = []
    for ticker, world in (("MINE", first_world), ("OTHER", second_world)):
        client = socketio.Client(reconnection=False)
        client.on("new_filing", queues[ticker].put, namespace=MAIN)
        client.on("gap", queues[ticker].put, namespace=MAIN)
        auth = {"token": world.api_key, **END}
        client.connect(server.url, namespaces=[MAIN], auth=auth, transports=transports, wait_timeout=10)
        assert queues[ticker].get(timeout=10)["type"] == "gap"
        assert client.transport() == transports[-1]
        clients.append(client)
    for ticker, world in (("OTHER", second_world), ("MINE", first_world)):
        send_event(world, ticker)
        send_event(world, "LAST")
    for queue, ticker in zip(queues.values(), queues, strict=True):
        assert [queue.get(timeout=10)["data"]["ticker"] for _ in range(2)] == [ticker, "LAST"]
    for client in clients:
        client.disconnect()


def test_a_named_world_refuses_keys_of_another(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld
) -> None:
    for connection in (
        open_feed(server, "/_world/second"),
        open_feed(server, additional_headers={"X-Finapi-World": "second"}),
        open_feed(server, additional_headers={"X-Finapi-World": ""}),
    ):
        with connection as feed:
            feed.send(json.dumps({"token": first_world.api_key}))
            assert closing(feed) == (4401, "A valid API key is needed.")


def test_connections_are_limited_in_each_world(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld
) -> None:
    with open_feed(server) as first, open_feed(server) as second, open_feed(server) as third:
        for feed, world in ((first, first_world), (second, first_world), (third, second_world)):
            feed.send(json.dumps({"token": world.accounts["free"]["api_key"], **END}))
        assert said(first)["type"] == said(third)["type"] == "gap"
        assert closing(second) == (4429, "The plan's connection limit is 1.")


def test_a_reset_closes_readers_and_begins_a_new_epoch(server: FinapiServer, first_world: FixtureWorld) -> None:
    with open_feed(server) as feed:
        feed.send(json.dumps({"token": first_world.api_key, **END}))
        said(feed)
        seq = send_event(first_world, "AAPL")
        epoch = said(feed)["epoch"]
        first_world.control.reset()
        assert closing(feed) == (1001, "This world was reset.")
    assert send_event(first_world, "MSFT") == seq
    with open_feed(server) as feed:  # A reader that resumes with an old number misses nothing.
        feed.send(json.dumps({"token": first_world.api_key, "since_seq": seq, "epoch": epoch}))
        gap, event = said(feed), said(feed)
        assert gap["data"] == {"since_seq": seq, "epoch": epoch, "reason": "another epoch"}
        assert (event["seq"], event["epoch"], event["data"]) == (seq, epoch + 1, {"ticker": "MSFT"})


def test_only_undone_events_begin_a_new_epoch(first_world: FixtureWorld) -> None:
    def get_epoch() -> int:
        return int(first_world.client().get_events(feed="main-api")["meta"]["epoch"])

    first_epoch = get_epoch()
    first_world.control.reset()
    assert get_epoch() == first_epoch
    send_event(first_world, "AAPL")
    snapshot = first_world.control.snapshot()
    first_world.control.restore(snapshot)
    assert get_epoch() == first_epoch
    send_event(first_world, "MSFT")
    for _ in range(2):
        first_world.control.restore(snapshot)
        assert get_epoch() == first_epoch + 1
    first_world.control.reset()  # It undoes the event of AAPL.
    assert get_epoch() == first_epoch + 2
    send_event(first_world, "MSFT")
    first_world.control.reset()
    assert get_epoch() == first_epoch + 3


def test_a_recreated_world_begins_a_new_epoch(server: FinapiServer) -> None:
    def get_epoch() -> int:
        return int(server.world("again").client().get_events(feed="main-api")["meta"]["epoch"])

    first_epoch = get_epoch()
    server.world("again").control.drop()
    assert get_epoch() == first_epoch
    seq = send_event(server.world("again"), "AAPL")
    server.world("again").control.drop()
    assert get_epoch() == first_epoch + 1
    server.world("again").control.snapshot()
    server.world("again").control.drop()  # Without an event. Its epoch differs from the first one all the same.
    assert send_event(server.world("again"), "MSFT") == seq
    with open_feed(server) as feed:  # A reader that resumes with an old number misses nothing.
        feed.send(json.dumps({"token": server.world("again").api_key, "since_seq": seq, "epoch": first_epoch}))
        assert said(feed)["data"] == {"since_seq": seq, "epoch": first_epoch, "reason": "another epoch"}
        event = said(feed)
        assert (event["epoch"], event["data"]) == (first_epoch + 1, {"ticker": "MSFT"})
    server.world("again").control.drop()


def test_a_deletion_closes_readers_and_ends_keys(server: FinapiServer) -> None:
    world = server.world("short")
    with open_feed(server) as feed:
        feed.send(json.dumps({"token": world.api_key, **END}))
        said(feed)
        world.control.drop()
        assert closing(feed) == (1001, "This world was deleted.")
    with open_feed(server) as feed:
        feed.send(json.dumps({"token": world.api_key}))
        assert closing(feed) == (4401, "A valid API key is needed.")
    assert "short" not in server.wsgi.worlds


def test_a_reset_does_not_wait_for_silent_clients(server: FinapiServer, first_world: FixtureWorld) -> None:
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as silent:
        silent.sendall(SHAKE + build_frame(json.dumps({"token": first_world.api_key, **END})))
        read_until(silent, b'"reason":"not yet given out"}}')
        start = time.monotonic()
        first_world.control.reset()
        assert time.monotonic() - start < GRACE_SECONDS / 2
        read_until(silent, b"\x88\x17\x03\xe9This world was reset.")


@pytest.mark.parametrize("query", ["apiKey", "token", ""])
def test_a_key_names_the_world_of_event_streams(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld, query: str
) -> None:
    send_event(first_world, "MINE")
    seq = send_event(second_world, "OTHER")
    path = f"/api/v1/events?feed=main-api&since_seq={seq - 1}"
    for world, ticker in ((first_world, "MINE"), (second_world, "OTHER")):
        headers = {"Accept": "text/event-stream"} if query else {"X-API-Key": world.api_key}
        target = f"{path}&{query}={world.api_key}" if query else path
        connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
        connection.request("GET", target, headers=headers)
        with connection.getresponse() as answer:
            lines = [answer.readline() for _ in range(5)] if query else [answer.read()]
            assert f'"ticker":"{ticker}"'.encode() in lines[-1]
        connection.close()


def test_frames_after_the_key_are_not_lost(server: FinapiServer, first_world: FixtureWorld) -> None:
    token = build_frame(json.dumps({"token": first_world.api_key, **END}))
    subscribe = build_frame('{"type":"subscribe","tickers":["AAPL"]}')
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE + token + build_frame("", 0x89) + build_frame('{"type":"unsubscribe"}') + subscribe[:9])
        received = read_until(client, b'{"type":"subscribed","data":{"tickers":[],"ciks":[],"form_types":[]}}')
        assert received.count(b"\x8a\x00") == 1  # the pong
        assert received.count(b'"reason":"not yet given out"') == 1
        client.sendall(subscribe[9:])
        read_until(client, b'{"tickers":["AAPL"],"ciks":[],"form_types":[]}}')
        send_event(first_world, "MSFT")
        send_event(first_world, "AAPL")
        assert b"MSFT" not in read_until(client, b'{"ticker":"AAPL"}}')


def test_a_feed_reads_one_world_while_others_end(server: FinapiServer, first_world: FixtureWorld) -> None:
    with open_feed(server) as feed:
        feed.send(json.dumps({"token": first_world.api_key, **END}))
        said(feed)
        for number in range(5):
            world = server.world(f"guest-{number}")
            with open_feed(server) as guest:
                guest.send(json.dumps({"token": world.api_key, **END}))
                said(guest)
                send_event(world, "GUEST")
                assert said(guest)["data"] == {"ticker": "GUEST"}
                world.control.reset()
                assert closing(guest) == (1001, "This world was reset.")
            world.control.drop()
        send_event(first_world, "MINE")
        assert said(feed)["data"] == {"ticker": "MINE"}


def test_a_reader_is_served_after_a_journal_went_back() -> None:
    """This happens when a reader connects during a reset. The loop must not wait for events that were undone."""
    with FinapiServer(listens=False) as server:
        world, reader = server.wsgi.worlds[""], Reader()
        hub, mark = Hub(world.app, time.monotonic), world.app.db.mark()
        caller = hub.find_callers([server.api_key])[server.api_key]
        for number in range(5):
            send_event(server, str(number))
        hub.publish()
        world.app.db.roll_back_to(mark)
        hub.fill(hub.subscribe(events.MAIN_FEED, (caller, server.api_key), reader, Filter(), None))
        assert len(reader.got) == 20


def test_a_deletion_waits_for_the_look_up_of_a_key(server: FinapiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the look-up would read the database of another world."""
    world, look_up = server.world("looked-at"), users.find_caller_by_api_key
    state = server.wsgi.worlds["looked-at"]
    looking, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(tx: Transaction, key: str) -> Caller | None:
        if key == world.api_key:
            looking.set()
            assert go_on.wait(10)
        return look_up(tx, key)

    with open_feed(server) as feed, monkeypatch.context() as patched:
        patched.setattr(users, "find_caller_by_api_key", slow)
        feed.send(json.dumps({"token": world.api_key}))
        assert looking.wait(10)
        dropping = threading.Thread(target=lambda: (world.control.drop(), ended.set()))
        dropping.start()
        eventually(lambda: state.closed)
        assert not ended.is_set()
        go_on.set()
        dropping.join(10)
        assert ended.is_set()
        assert closing(feed) == (1001, "This world was deleted.")


def test_a_close_fault_is_answered_after_all_closed(
    server: FinapiServer, first_world: FixtureWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a connection that the fault closes could still read an event that is sent after it."""
    looking, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    look_up = users.find_caller_by_api_key

    def slow(tx: Transaction, key: str) -> Caller | None:
        if key == first_world.api_key:
            looking.set()
            assert go_on.wait(10)
        return look_up(tx, key)

    with open_feed(server) as feed, monkeypatch.context() as patched:
        patched.setattr(users, "find_caller_by_api_key", slow)
        feed.send(json.dumps({"token": first_world.api_key}))
        assert looking.wait(10)
        fault = threading.Thread(target=lambda: (first_world.control.fault(close=4408), closed.set()))
        fault.start()
        eventually(lambda: first_world.control.faults() != [])
        assert not closed.is_set()
        go_on.set()
        fault.join(10)
        assert closed.is_set()
        assert closing(feed) == (4408, "The fixture was told to close.")


def test_an_advance_by_months_closes_no_reader(server: FinapiServer, first_world: FixtureWorld) -> None:
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE + build_frame(json.dumps({"token": first_world.api_key, **END})))
        read_until(client, b'"reason":"not yet given out"}}')
        for ticker in ("ONE", "TWO", "THREE"):
            first_world.control.advance(40 * 86_400)
            send_event(first_world, ticker)
            received = read_until(client, b'{"ticker":"%s"}}' % ticker.encode())
            assert b"\x89\x00" not in received  # a ping
            assert first_world.control.now().strftime('"occurred_at":"%Y-%m-%dT').encode() in received


def test_the_time_to_send_a_key_is_real_time(server: FinapiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_feeds, "KEY_SECONDS", 0.0)
    with open_feed(server) as feed:
        assert closing(feed) == (4401, "No API key was sent within 5 seconds.")


@run_each_case(
    "headers, is_refused",
    [
        ({"Origin": "https://attacker.com"}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "http://localhost:3000"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}, True),
        ({"Sec-Fetch-Site": "same-origin"}, False),
    ],
)
def test_a_page_of_another_site_opens_no_feed(server: FinapiServer, headers: dict[str, str], is_refused: bool) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
    world_count = len(server.wsgi.worlds)
    connection.request("GET", "/_world/page/socket.io/?EIO=4&transport=polling", headers=headers)
    assert connection.getresponse().status == (403 if is_refused else 200)
    connection.close()
    if is_refused:
        assert len(server.wsgi.worlds) == world_count
        with pytest.raises(InvalidStatus, match="403"), open_feed(server, additional_headers=headers):
            pass
    else:
        with open_feed(server, additional_headers=headers) as feed:
            feed.ping()
        server.world("page").control.drop()


def test_a_world_with_a_reader_is_not_idle(
    server: FinapiServer, first_world: FixtureWorld, second_world: FixtureWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = server.wsgi.worlds
    with open_feed(server) as feed:
        feed.send(json.dumps({"token": first_world.api_key, **END}))
        said(feed)
        monkeypatch.setattr(gate, "MAX_WORLDS", len(worlds))
        for name in ("first", "second"):
            worlds[name].used_at -= gate.IDLE_SECONDS + 60
        late_world = server.world("late")
        assert sorted(worlds) == ["", "first", "late"]
        send_event(first_world, "AAPL")
        assert said(feed)["data"] == {"ticker": "AAPL"}
    late_world.control.drop()


def test_a_request_for_a_feed_meets_the_faults_of_its_route(server: FinapiServer, first_world: FixtureWorld) -> None:
    url = f"ws://127.0.0.1:{server.ready['port']}{MAIN}?token={first_world.api_key}"
    first_world.control.fault("GET /ws/*", status=503, times=1)
    first_world.control.fault("/ws/main-api", status=402, ordinal=2)
    first_world.control.fault("/ws/main-api", reset=True, ordinal=3)
    first_world.control.fault("/ws/insider-api", status=500)
    first_world.control.fault(status=500)  # Without a path it applies to calls only.
    with pytest.raises(InvalidStatus) as caught:
        connect(url, proxy=None)
    answer = caught.value.response
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert json.loads(answer.body)["code"] == "UNAVAILABLE"
    with pytest.raises(InvalidStatus) as caught:
        connect(url, proxy=None)
    assert json.loads(caught.value.response.body)["current_balance"] == 0
    with socket.create_connection(("127.0.0.1", server.ready["port"]), 10) as client:
        client.sendall(SHAKE.replace(MAIN.encode(), f"{MAIN}?token={first_world.api_key}".encode()))
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    # With a full queue this client would not read the close frame for 10 s.
    with connect(url, proxy=None, max_queue=None) as feed:
        assert said(feed)["type"] == "new_filing"
    assert [fault["met"] for fault in first_world.control.faults()] == [1, 1, 1, 0, 0]


def test_other_effects_on_feed_requests_are_refused(first_world: FixtureWorld) -> None:
    for route in ("/ws/main-api", "GET /ws/*", "/socket.io/", "POST /socket.io*"):
        with pytest.raises(ApiFailure, match="delay"):
            first_world.control.fault(route, delay=1)
    with pytest.raises(ApiFailure, match="No call matches the route /wss"):
        first_world.control.fault("/wss", delay=1)


def test_polls_and_event_streams_meet_faults_too(server: FinapiServer, first_world: FixtureWorld) -> None:
    first_world.control.fault("/socket.io/", status=418, ordinal=1)
    first_world.control.fault("GET /api/v1/events", status=503, ordinal=1)
    for path, accept, statuses in (
        ("/socket.io/?EIO=4&transport=polling", "*/*", (418, 200)),
        ("/api/v1/events?feed=main-api", "text/event-stream", (503, 200)),
    ):
        for status in statuses:
            connection = http.client.HTTPConnection("127.0.0.1", server.ready["port"], timeout=10)
            connection.request("GET", path, headers={"X-API-Key": first_world.api_key, "Accept": accept})
            with connection.getresponse() as answer:
                assert answer.status == status
            connection.close()


def test_a_magic_key_refuses_a_reader(server: FinapiServer) -> None:
    reader = Client(server.url, "0" * 29 + "403").feed("main-api")
    with pytest.raises(ApiFailure, match="403"):
        next(reader)
