"""A listener in a thread, the application that it serves, and clients that speak HTTP over raw sockets."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote
from wsgiref.types import StartResponse, WSGIEnvironment

from finapi.httpd.listener import Listener
from finapi.httpd.settings import (
    AnswerFromMemory,
    CheckBeforeBody,
    FindClientAddress,
    ListenSettings,
    RequestSummary,
    RequestTaker,
)

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
THREAD = "finapi-http"
TIMEOUT_SECONDS = 10


def error_response(status: int, message: str, request: RequestSummary) -> tuple[list[tuple[str, str]], bytes]:
    """Return the headers and the body of an error that the server answers itself."""
    code = HTTPStatus(status).name
    body = {"status": "error", "error": code, "code": code, "message": message, "asked": request}
    return [("Content-Type", "application/json"), ("X-API-Version", "1.2.3")], json.dumps(body).encode()


class ManualClock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


class EchoApplication:
    """An application that answers with the path and the number of bytes in the body.

    Some paths behave in other ways. All environs and bodies are recorded in ``calls``.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[WSGIEnvironment, bytes]] = []
        self.entered = threading.Semaphore(0)  # Released by a call of /wait or /half.
        self.release = threading.Semaphore(0)  # Such a call waits for it.
        self.on_call: Callable[[], object] = lambda: None
        self.environ_additions: dict[str, object] = {}
        self.chunk_count = 2  # Of 100,000 bytes each, for /chunks.

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.on_call()
        environ.update(self.environ_additions)
        body = environ["wsgi.input"].read()
        self.calls.append((environ, body))
        path = environ["PATH_INFO"]
        query = environ["QUERY_STRING"]
        if path == "/raise":
            error = {"os": OSError, "value": ValueError, "exit": SystemExit}[query]
            raise error("a mistake of the application")
        if path in ("/wait", "/half"):
            if path == "/half":
                start_response("200 OK", [("Content-Length", "8")])(b"half")
            self.entered.release()
            assert self.release.acquire(timeout=TIMEOUT_SECONDS)
            if path == "/half":
                return [b"half"]
        if path == "/bytes":
            start_response("200 OK", [("Content-Length", query)])
            return (b"x" * min(1_000_000, int(query) - start) for start in range(0, int(query), 1_000_000))
        if path == "/unchanged":
            start_response("304 Not Modified", [("ETag", '"a"')])
            return []
        if path == "/split":
            start_response("200 OK", [("Content-Length", "0"), ("X-Said", unquote(query))])
            return []
        if path == "/hop":
            start_response("200 OK", [("Content-Length", "0"), ("transfer-Encoding", "chunked")])
            return []
        if path == "/twice":
            start_response("200 OK", [("Content-Length", "0")])
            start_response("200 OK", [("Content-Length", "0")])
            return []
        if path == "/chunks":
            start_response("200 OK", [])
            return (b"x" * 100_000 for _ in range(self.chunk_count))
        if path == "/stream":
            start_response("200 OK", [])
            return iter([b"one", b"two"])
        answer = b"%s %d" % (path.encode("latin-1"), len(body))
        start_response("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]


class HttpAnswer:
    """A response that is read from a stream."""

    def __init__(self, stream: Any, head: bool = False) -> None:
        line = stream.readline()
        assert line.startswith(b"HTTP/1."), line
        self.version, status, self.phrase = line.decode().rstrip("\r\n").split(" ", 2)
        self.status = int(status)
        self.headers: dict[str, str] = {}
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, text = line.decode("latin-1").rstrip("\r\n").split(": ", 1)
            assert name.lower() not in self.headers
            self.headers[name.lower()] = text
        self.body = b""
        if not head and self.status != 100:
            length = self.headers.get("content-length")
            self.body = stream.read(int(length)) if length else stream.read()

    @property
    def error(self) -> str:
        """Return the code of an error that the server answered itself, as the last response of its connection."""
        assert self.version == "HTTP/1.1"
        assert self.headers["connection"] == "close"
        assert self.headers["x-api-version"] == "1.2.3"
        assert "date" in self.headers
        assert int(self.headers["content-length"]) == len(self.body)
        document = json.loads(self.body)
        assert document["code"] == HTTPStatus(self.status).name
        assert document["message"]
        return str(document["code"])


class RawClient:
    """A client with one connection."""

    def __init__(self, address: tuple[str, int], source: str = "127.0.0.1", buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET)
        if buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.bind((source, 0))
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> RawClient:
        """Send bytes, and return the client."""
        self.socket.sendall(data)
        return self

    def read_answer(self, head: bool = False) -> HttpAnswer:
        """Return the next response. ``head`` is for the response to a HEAD request."""
        return HttpAnswer(self.stream, head)

    def is_closed(self) -> bool:
        """Return True if the server closes the connection without a reset and without another byte."""
        return bool(self.stream.read(1) == b"")

    def is_silent(self) -> bool:
        """Return True if the server has neither sent a byte nor closed the connection."""
        self.socket.settimeout(0)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(TIMEOUT_SECONDS)
        return False

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


class RunningListener:
    """A listener in a thread of its own, and its clients."""

    def __init__(
        self,
        app: EchoApplication,
        clock: Callable[[], float] = time.monotonic,
        answer_from_memory: AnswerFromMemory = lambda target, headers, peer: None,
        check_before_body: CheckBeforeBody | None = None,
        find_client_address: FindClientAddress = lambda peer, forwarded: peer,
        request_taker: RequestTaker | None = None,
        **settings: Any,
    ) -> None:
        settings = {"host": "127.0.0.1", "port": 0, "threads": 2, **settings}
        self.app = app
        self.clock = clock
        self.clients: list[RawClient] = []
        self.listener: Listener = Listener(
            app,
            ListenSettings(**settings),
            error_response,
            clock,
            request_taker,
            answer_from_memory,
            check_before_body,
            find_client_address,
        )
        self.thread = threading.Thread(target=self.listener.run)
        self.thread.start()

    def connect(self, source: str = "127.0.0.1", buffer: int | None = None) -> RawClient:
        """Return a new client with an address of its own and a receive buffer of this size."""
        is_ipv6 = ":" in self.listener.host
        address = (self.listener.host, self.listener.port)
        client = RawClient(address, "::1" if is_ipv6 else source, buffer)
        self.clients.append(client)
        return client

    def fetch(self, data: bytes = GET, head: bool = False) -> HttpAnswer:
        """Return the response to a request on a connection of its own."""
        client = self.connect().send(data)
        answer = client.read_answer(head)
        client.close()
        return answer

    def wait_for_loop(self) -> None:
        """Return when the loop has read all bytes sent before, and has ended all overdue connections.

        It needs no thread.
        """
        assert self.fetch(b"\x16\x03\x01").error == "BAD_REQUEST"

    def advance(self, seconds: float) -> None:
        """Advance the clock. Return when the loop has acted on it."""
        assert isinstance(self.clock, ManualClock)
        self.wait_for_loop()
        self.clock.now += seconds
        self.wait_for_loop()

    def count_connections(self) -> int:
        return len(self.listener.connections)

    def wait_for_call(self) -> None:
        """Return when a call of /wait or /half is running."""
        assert self.app.entered.acquire(timeout=TIMEOUT_SECONDS)

    def stop(self, grace_seconds: float = 5.0) -> None:
        self.listener.stop(grace_seconds)
        self.thread.join(TIMEOUT_SECONDS)
        assert not self.thread.is_alive()
        for client in self.clients:
            client.close()


# Starts a listener with these settings.
Start = Callable[..., RunningListener]


def run_listeners(app: EchoApplication) -> Iterator[Start]:
    """Yield a function that starts listeners for an application. At the end they are stopped, and no thread is left."""
    listeners: list[RunningListener] = []

    def start(*args: Any, **settings: Any) -> RunningListener:
        listeners.append(RunningListener(app, *args, **settings))
        return listeners[-1]

    yield start
    for running in listeners:
        running.stop(grace_seconds=0)
    app.release.release(100)
    eventually(lambda: not list_request_threads())


def list_request_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def eventually(condition: Callable[[], object]) -> None:
    """Return when a condition holds, which depends on other threads."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)
