"""The states of a connection: the table of permitted transitions, and the states that real connections go through."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from finapi.httpd.connection import HttpConnection
from finapi.httpd.connection_states import (
    CALLING,
    CHECKING_BODY,
    CLOSED,
    FINISHING,
    HANDING_OVER,
    IDLE,
    LINGERING,
    OPEN,
    PACING,
    PAUSED,
    PERMITTED_TRANSITIONS,
    QUEUED,
    READING_BODY,
    READING_HEAD,
    SENDING,
    ConnectionState,
    ForbiddenTransitionError,
    check_transition,
)
from finapi.httpd.loop import Connection, Loop
from finapi.httpd.settings import HandedOverRequest
from tests.httpd.running_listener import GET, POST, EchoApplication, RawClient, RunningListener, Start, eventually
from tests.support.case_tables import run_each_case

LONG_BODY = b"x" * 100_000
LONG_HEAD = POST + b"Content-Length: 100000\r\n\r\n"


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[ConnectionState]:
    """The states that connections go through from now on, in their order."""
    states: list[ConnectionState] = []
    move_to = HttpConnection.move_to

    def record(connection: HttpConnection, state: ConnectionState) -> None:
        move_to(connection, state)
        states.append(state)

    monkeypatch.setattr(HttpConnection, "move_to", record)
    return states


def close(client: RawClient, running: RunningListener) -> None:
    client.close()
    eventually(lambda: running.count_connections() == 0)


def open_connection() -> Iterator[Connection]:
    loop = Loop(time.monotonic)
    ours, peer = socket.socketpair()
    yield Connection(loop, ours)
    peer.close()
    loop.close()


connection = pytest.fixture(open_connection)


# ---- the table


def test_every_state_has_its_transitions() -> None:
    assert PERMITTED_TRANSITIONS.keys() == set(ConnectionState)


@run_each_case("state", ConnectionState)
def test_a_client_may_disconnect_in_every_state(state: ConnectionState) -> None:
    assert state is CLOSED or CLOSED in PERMITTED_TRANSITIONS[state]


def test_every_state_can_be_reached() -> None:
    reached = set().union(*PERMITTED_TRANSITIONS.values())
    assert set(ConnectionState) - reached == {OPEN}


@run_each_case(
    "old, new",
    [
        (IDLE, CALLING),
        (READING_HEAD, CALLING),
        (CHECKING_BODY, QUEUED),
        (QUEUED, IDLE),
        (PAUSED, IDLE),
        (SENDING, QUEUED),
        (FINISHING, IDLE),
        (LINGERING, FINISHING),
        (CLOSED, IDLE),
        (IDLE, IDLE),
    ],
)
def test_a_forbidden_transition_raises(old: ConnectionState, new: ConnectionState) -> None:
    with pytest.raises(ForbiddenTransitionError, match=f"from '{old.value}' to '{new.value}'"):
        check_transition(old, new)


def test_a_refused_transition_changes_nothing(connection: Connection) -> None:
    with pytest.raises(ForbiddenTransitionError):
        connection.move_to(CALLING)
    assert connection.state is OPEN


def test_a_forbidden_transition_costs_only_its_connection(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    running = start()
    client = running.connect().send(GET)
    assert client.read_answer().status == 200
    (connection,) = running.listener.connections
    eventually(lambda: connection.state is IDLE)
    with caplog.at_level(logging.ERROR, "finapi.httpd"):
        connection.call_soon(lambda: connection.move_to(PACING))
        assert client.is_closed()
    assert "from 'idle' to 'pacing'" in caplog.text
    assert running.fetch().status == 200


# ---- the states of real connections


def test_two_short_requests(start: Start, states: list[ConnectionState]) -> None:
    running = start()
    client = running.connect()
    assert [client.send(GET).read_answer().status for _ in range(2)] == [200, 200]
    close(client, running)
    assert states == [READING_HEAD, QUEUED, CALLING, IDLE] * 2 + [CLOSED]


def test_a_pipelined_request_is_queued_after_the_first(start: Start, states: list[ConnectionState]) -> None:
    running = start()
    client = running.connect().send(GET * 2)
    assert [client.read_answer().status for _ in range(2)] == [200, 200]
    close(client, running)
    assert states == [READING_HEAD, QUEUED, CALLING, QUEUED, CALLING, IDLE, CLOSED]


def test_an_answer_from_memory_needs_no_call(start: Start, states: list[ConnectionState]) -> None:
    answer = ("200 OK", [("Content-Length", "0")], b"")
    running = start(answer_from_memory=lambda target, headers, peer: answer)
    client = running.connect()
    assert client.send(GET).read_answer().status == 200
    close(client, running)
    assert states == [READING_HEAD, IDLE, CLOSED]


def test_a_long_body_is_checked_before_it_is_read(start: Start, states: list[ConnectionState]) -> None:
    running = start(check_before_body=lambda environ: len(LONG_BODY))
    client = running.connect().send(LONG_HEAD)
    eventually(lambda: states[-2:] == [CHECKING_BODY, READING_BODY])
    assert client.send(LONG_BODY).read_answer().status == 200
    close(client, running)
    assert states == [READING_HEAD, READING_BODY, CHECKING_BODY, READING_BODY, QUEUED, CALLING, IDLE, CLOSED]


def test_a_malformed_request_is_refused_and_ends(start: Start, states: list[ConnectionState]) -> None:
    running = start()
    client = running.connect().send(b"GET /\r\n\r\n")
    assert client.read_answer().error == "BAD_REQUEST"
    close(client, running)
    assert states == [READING_HEAD, FINISHING, LINGERING, CLOSED]


def test_the_rest_of_an_answer_is_sent_after_its_call(start: Start, states: list[ConnectionState]) -> None:
    running = start()
    client = running.connect(buffer=4096).send(b"GET /bytes?4000000 HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: states[-1:] == [SENDING])
    assert len(client.read_answer().body) == 4_000_000
    eventually(lambda: states[-1:] == [IDLE])
    close(client, running)
    assert states == [READING_HEAD, QUEUED, CALLING, SENDING, IDLE, CLOSED]


def test_a_thread_without_room_for_its_answer_pauses(
    start: Start, states: list[ConnectionState], app: EchoApplication
) -> None:
    app.chunk_count = 40
    running = start(held_limit=0, spool_limit=0)
    client = running.connect(buffer=4096).send(b"GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: PAUSED in states)
    while client.stream.readline() != b"0\r\n":
        pass
    close(client, running)
    assert {(old, new) for old, new in pairwise(states) if PAUSED in (old, new)} == {
        (CALLING, PAUSED),
        (PAUSED, CALLING),
    }


def test_a_request_for_the_feeds_leaves_the_server(start: Start, states: list[ConnectionState]) -> None:
    class Feeds:
        def can_take(self, method: str, path: str, accept: str) -> bool:
            return True

        def take(self, request: HandedOverRequest) -> None:
            request.sock.close()

    running = start(request_taker=Feeds())
    assert running.connect().send(GET).is_closed()
    assert states == [READING_HEAD, HANDING_OVER, CLOSED]


def test_a_disconnect_before_the_hand_over_frees_memory(start: Start, states: list[ConnectionState]) -> None:
    running = start(request_taker=None, held_limit=1_000_000)
    listener = running.listener

    class Feeds:
        def can_take(self, method: str, path: str, accept: str) -> bool:
            (connection,) = listener.connections
            if connection.incoming is None:  # The body has arrived: the connection is closed before the hand-over.
                listener.loop.call_soon(connection.close)
            return True

        def take(self, request: HandedOverRequest) -> None:
            raise AssertionError("a closed connection was handed over")

    listener.context.request_taker = Feeds()
    client = running.connect().send(LONG_HEAD)
    eventually(lambda: listener.context.memory.free_bytes == 900_000)
    client.send(LONG_BODY)
    eventually(lambda: states[-2:] == [HANDING_OVER, CLOSED])
    eventually(lambda: listener.context.memory.free_bytes == 1_000_000)
