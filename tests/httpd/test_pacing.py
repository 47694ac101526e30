"""Answers that are held back or drip, over real sockets: when each byte comes, and that no thread waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import inf
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from tests.httpd.running_listener import EchoApplication, ManualClock, RawClient, Start, eventually


class Held(EchoApplication):
    """Holds the answers to ``/held`` back, as ``pacing`` says; others are given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pacing: tuple[Any, ...] = (5.0,)
        self.threads: set[str] = set()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.threads.add(threading.current_thread().name)
        if environ["PATH_INFO"].startswith("/held"):
            environ["finapi.pace"](*self.pacing)
        return super().__call__(environ, start_response)

    def wait_for_calls(self, count: int) -> None:
        """Return when this number of calls have begun."""
        eventually(lambda: len(self.calls) == count)


@pytest.fixture
def app() -> Held:
    return Held()


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def read_available(client: RawClient) -> bytes:
    """Return the bytes that have arrived."""
    client.socket.settimeout(0)
    try:
        return client.socket.recv(65_536)
    except BlockingIOError:
        return b""
    finally:
        client.socket.settimeout(10)


def test_a_delayed_answer_keeps_its_connection_open(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    running.advance(4.9)
    assert client.is_silent()
    running.advance(0.2)
    assert client.read_answer().body == b"/held 0"
    assert client.send(get("/next")).read_answer().body == b"/next 0"


def test_delayed_answers_occupy_no_threads(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock, threads=1)
    clients = [running.connect().send(get("/held")) for _ in range(40)]
    app.wait_for_calls(40)
    assert running.fetch().status == 200
    running.advance(6)
    assert [client.read_answer().body for client in clients] == [b"/held 0"] * 40


def test_bytes_come_as_they_are_let_out_the_head_with_the_first(start: Start, app: Held, clock: ManualClock) -> None:
    app.pacing = (5.0, 1)
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    running.advance(4.9)
    assert client.is_silent()
    received = b""
    for count in range(1, 8):
        running.advance(1.0)
        received += read_available(client)
        assert received.partition(b"\r\n\r\n")[2] == b"/held 0"[:count]
    assert client.send(get("/next")).read_answer().body == b"/next 0"


def test_an_answer_without_a_length_drips_in_chunks(start: Start, app: Held, clock: ManualClock) -> None:
    app.pacing = (0.0, 1)
    app.environ_additions = {"PATH_INFO": "/stream"}
    running = start(clock)
    client = running.connect().send(get("/held"))
    received = b""
    for _ in range(30):
        running.advance(1.0)
        received += read_available(client)
    assert received.partition(b"\r\n\r\n")[2] == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


def test_a_paced_answer_keeps_the_order_of_a_pipeline(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(get("/held") + get("/next"))
    app.wait_for_calls(1)
    running.advance(1)
    assert client.is_silent()
    running.advance(5)
    assert [client.read_answer().body for _ in range(2)] == [b"/held 0", b"/next 0"]


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_a_disconnect_during_the_delay_closes_the_connection(
    start: Start, app: Held, clock: ManualClock, seconds: float
) -> None:
    broken: list[int] = []
    app.pacing = (seconds, 1, lambda: broken.append(1))
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    if not seconds:
        eventually(lambda: broken == [1])
    client.stream.close()
    client.socket.close()
    eventually(lambda: not running.listener.connections)
    assert running.fetch().status == 200
    running.advance(6)
    assert running.fetch().status == 200


def test_a_request_during_the_delay_is_answered_behind_it(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    client.send(get("/next") + b"GET /third HTTP")
    running.advance(1)
    client.send(b"/1.1\r\nHost: a\r\n\r\n")
    running.advance(1)
    assert client.is_silent()
    running.advance(4)
    assert [client.read_answer().body for _ in range(3)] == [b"/held 0", b"/next 0", b"/third 0"]


def test_an_answer_without_a_body_is_delayed_too(start: Start, app: Held, clock: ManualClock) -> None:
    app.environ_additions = {"PATH_INFO": "/unchanged"}
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    running.advance(4.9)
    assert client.is_silent()
    running.advance(0.2)
    assert client.read_answer(head=True).status == 304


def test_a_connection_is_reset_in_place_of_the_answer(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock, server_timeout=1_000_000)
    app.pacing = (5.0, inf, lambda: running.listener.connections[0].reset())
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)

    def is_reset_after_delay() -> bool:
        # The delay begins in the loop, some time after the call.
        clock.now += 5
        running.listener.loop.wake()
        return running.count_connections() == 0

    eventually(is_reset_after_delay)
    with pytest.raises(ConnectionResetError):
        client.socket.recv(1)


def test_an_error_of_the_application_is_not_delayed(start: Start, app: Held, clock: ManualClock) -> None:
    app.environ_additions = {"PATH_INFO": "/raise", "QUERY_STRING": "value"}
    running = start(clock)
    assert running.fetch(get("/held")).status == 500
    running.advance(6)


def test_a_disconnect_releases_a_paced_answer(start: Start, app: Held, clock: ManualClock) -> None:
    app.pacing = (5.0, 1)
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    client.close()
    running.advance(6)
    running.advance(6)
    eventually(lambda: running.count_connections() == 0)
    assert running.fetch().status == 200


def test_an_answer_that_drips_beyond_the_time_of_a_call_is_cut(start: Start, app: Held, clock: ManualClock) -> None:
    app.pacing = (299.0, 1)
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    for _ in range(3):
        running.advance(299 if client.is_silent() else 1)
    received = client.socket.recv(65_536).partition(b"\r\n\r\n")[2]
    assert 0 < len(received) < 7
    assert client.is_closed()


def test_a_stop_does_not_wait_for_delayed_answers(start: Start, app: Held, clock: ManualClock) -> None:
    running = start(clock)
    client = running.connect().send(get("/held"))
    app.wait_for_calls(1)
    running.wait_for_loop()
    running.stop(grace_seconds=1e9)
    assert running.count_connections() == 0
    client.close()
