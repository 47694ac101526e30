"""A receiver on loopback whose behaviour a test chooses: normal or hostile."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
import standardwebhooks

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Received:
    """A received request; header names are lower-case."""

    line: str
    headers: dict[str, str]
    body: bytes


# Handles a connection whose request has been read; ``over`` is set when the receiver closes.
Behave = Callable[[socket.socket, Received, threading.Event], None]


def reply(data: bytes) -> Behave:
    """Return a behaviour that answers with these bytes and closes."""
    return lambda connection, received, over: connection.sendall(data)


def status(code: int, *fields: str, body: bytes = b"") -> Behave:
    """Return a behaviour that answers with a status, headers and a body."""
    lines = [f"HTTP/1.1 {code} Whatever", *fields, f"Content-Length: {len(body)}", "", ""]
    return reply("\r\n".join(lines).encode() + body)


def silent(connection: socket.socket, received: Received, over: threading.Event) -> None:
    """Send nothing until the other side closes."""
    connection.settimeout(0.1)
    while not over.is_set():
        with suppress(TimeoutError):
            if not connection.recv(1):
                return


def half_closed(connection: socket.socket, received: Received, over: threading.Event) -> None:
    """Close the sending half without a reply, and keep the connection."""
    connection.shutdown(socket.SHUT_WR)
    silent(connection, received, over)


def drip(head: bytes = b"HTTP/1.1 200 OK\r\nX-Drip: ", every: float = 0.05) -> Behave:
    """Return a behaviour that sends ``head``, then a letter now and then, without an end."""

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        connection.sendall(head)
        with suppress(OSError):
            while not over.wait(every):
                connection.sendall(b"x")

    return behave


def endless(head: bytes, piece: bytes = b"x" * 65536) -> Behave:
    """Return a behaviour that sends ``head``, then as much as the other side reads."""

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        with suppress(OSError):
            connection.sendall(head)
            while not over.is_set():
                connection.sendall(piece)

    return behave


def reset(connection: socket.socket, received: Received, over: threading.Event) -> None:
    """Reset the connection with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    connection.close()


@dataclass
class Receiver:
    """A receiver: ``received`` in order; ``behave`` may be replaced at any time."""

    listener: socket.socket
    behave: Behave
    context: ssl.SSLContext | None
    received: list[Received] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def accept(self) -> None:
        """Serve each connection in its own thread until the listener is closed."""
        while not self.over.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="test-receiver")
            thread.start()
            self.threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(30)
            try:
                if self.context is not None:
                    connection = self.context.wrap_socket(connection, server_side=True)
                with connection:
                    received = _read(connection)
                    if received is not None:
                        self.received.append(received)
                        self.behave(connection, received, self.over)
            except OSError:
                return  # the other side disconnected; the test checks it there


def _read(connection: socket.socket) -> Received | None:
    with connection.makefile("rb") as file:
        line = file.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        headers = {}
        while field_line := file.readline().decode("latin-1").rstrip("\r\n"):
            name, _, text = field_line.partition(":")
            headers[name.lower()] = text.strip()
        return Received(line, headers, file.read(int(headers.get("content-length", 0))))


@contextmanager
def receiver(
    behave: Behave | None = None, *, context: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[Receiver]:
    """Yield a receiver that answers 200 by default; its threads end with the block."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family, backlog=64) as listener:
        running = Receiver(listener, behave or reply(OK), context)
        thread = threading.Thread(target=running.accept, name="test-receiver")
        thread.start()
        try:
            yield running
        finally:
            running.over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection_thread in running.threads:
                connection_thread.join()


def library_at(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock that the ``standardwebhooks`` library compares timestamps with."""

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return now

    monkeypatch.setattr(standardwebhooks.webhooks, "datetime", Frozen)
