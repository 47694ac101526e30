"""Tests of the fault ``reset``: it sends a TCP RST, so that every client sees ECONNRESET and not an orderly end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from finapi.testing import FinapiServer
from tests.support.case_tables import run_each_case

PATH = "/api/v1/account/balance"
WEBHOOKS = "/api/v1/webhooks/test"
CALLS = 50  # of each kind; before the RST was certain a call in three ended in order
TIMEOUT_SECONDS = 10.0


@pytest.fixture(scope="module")
def shared_server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=5) as server:
        yield server


@pytest.fixture
def server(shared_server: FinapiServer) -> FinapiServer:
    shared_server.control.reset()
    return shared_server


def build_request(
    server: FinapiServer, method: str = "GET", path: str = PATH, body: bytes = b"", head: str = ""
) -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
    lines = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {server.api_key}\r\n{length}{head}\r\n"
    return lines.encode() + body


def connect(server: FinapiServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.ready["port"]), TIMEOUT_SECONDS)


def read_until_reset(connection: socket.socket) -> bytes:
    """Return what arrives before the RST. Fail if the stream ends in order."""
    chunks = []
    try:
        while chunk := connection.recv(65_536):
            chunks.append(chunk)
    except ConnectionResetError:
        return b"".join(chunks)
    pytest.fail(f"the stream ended in order after {b''.join(chunks)!r}")


def read_answer(connection: socket.socket) -> bytes:
    """Return the body of one answer that has a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return body


@run_each_case(
    "method, path, body",
    [
        ("GET", PATH, b""),
        ("HEAD", PATH, b""),
        ("POST", WEBHOOKS, b"{}"),
        ("POST", WEBHOOKS, b"{" + b" " * 200_000 + b"}"),
    ],
)
def test_every_call_on_a_new_connection_is_reset(server: FinapiServer, method: str, path: str, body: bytes) -> None:
    server.control.fault(path, reset=True)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server, method, path, body))
            assert read_until_reset(connection) == b""


def test_every_call_on_a_kept_alive_connection_is_reset(server: FinapiServer) -> None:
    server.control.fault(f"POST {WEBHOOKS}", reset=True)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server, path="/livez"))
            assert read_answer(connection)
            connection.sendall(build_request(server, "POST", WEBHOOKS, b"{}"))
            assert read_until_reset(connection) == b""


def test_pipelined_calls_end_with_the_reset_of_the_first(server: FinapiServer) -> None:
    server.control.fault(PATH, reset=True)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server) * 3)
            assert read_until_reset(connection) == b""


def test_many_connections_at_the_same_time_are_all_reset(server: FinapiServer) -> None:
    server.control.fault(PATH, reset=True)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(server)) for _ in range(CALLS)]
        for connection in connections:
            connection.sendall(build_request(server))
        assert [read_until_reset(connection) for connection in connections] == [b""] * CALLS


def test_a_delayed_call_is_reset(server: FinapiServer) -> None:
    server.control.fault(PATH, reset=True)
    server.control.fault(PATH, delay=0.001)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server))
            assert read_until_reset(connection) == b""


@pytest.mark.parametrize("pace", [{}, {"delay": 0.001}, {"drip": 100_000}], ids=["at-once", "delayed", "dripping"])
def test_a_truncated_answer_ends_with_a_reset(server: FinapiServer, pace: dict[str, float]) -> None:
    with connect(server) as connection:
        connection.sendall(build_request(server))
        full_body = read_answer(connection)
    server.control.fault(PATH, truncate=10)
    server.control.fault(PATH, reset=True)
    if pace:
        server.control.fault(PATH, **pace)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server))
            head, _, body = read_until_reset(connection).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert f"Content-Length: {len(full_body)}\r\n".encode() in head + b"\r\n"
            assert body == full_body[:10]


def test_a_call_that_was_told_to_continue_is_reset(server: FinapiServer) -> None:
    server.control.fault(WEBHOOKS, reset=True)
    request = build_request(server, "POST", WEBHOOKS, b"{}", head="Expect: 100-continue\r\n")
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(request[:-2])
            assert connection.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(request[-2:])
            assert read_until_reset(connection) == b""


@pytest.mark.parametrize(
    ("path", "head"),
    [
        (
            "/ws/main-api",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        ),
        ("/socket.io/?EIO=4&transport=polling", ""),
        ("/api/v1/events?feed=main-api", "Accept: text/event-stream\r\n"),
    ],
    ids=["websocket", "socket.io", "events"],
)
def test_every_reader_of_a_feed_is_reset(server: FinapiServer, path: str, head: str) -> None:
    server.control.fault(path.partition("?")[0], reset=True)
    for _ in range(CALLS):
        with connect(server) as connection:
            connection.sendall(build_request(server, path=path, head=head))
            assert read_until_reset(connection) == b""
