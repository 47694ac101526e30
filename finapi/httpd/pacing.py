"""A response that is delayed, and then sent at a number of bytes a second, without occupying a thread."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol

from finapi.httpd.wsgi_task import ClientDisconnectedError

PIECES_PER_SECOND = 20

# Calls a function after a number of seconds.
CallLater = Callable[[float, Callable[[], None]], None]


class PacedConnection(Protocol):
    """A connection whose response is held back."""

    def write(self, data: bytes) -> None:
        """Send a part of the response. Raise ClientDisconnectedError if the connection takes no more output."""

    @property
    def has_unsent(self) -> bool:
        """Return True if the client has not read all of the response yet."""

    def end_call(self) -> None:
        """End the call, because the complete response has been written."""


class PacedAnswer:
    """A response that waits for ``delay_seconds``, and is then sent with ``bytes_per_second`` of its body.

    ``instead`` is called after the delay, and before anything is sent: it may reset the connection. ``at_end`` is
    called when the last byte has been written.
    """

    def __init__(
        self,
        delay_seconds: float,
        bytes_per_second: float = inf,
        instead: Callable[[], None] | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._delay_seconds = delay_seconds
        self._bytes_per_second = bytes_per_second
        self._instead = instead
        self._at_end = at_end
        self._head = b""
        self._body = bytearray()

    def store(self, data: bytes) -> None:
        """Store a part of the response. The first part is the head."""
        if self._head:
            self._body += data
        else:
            self._head = data

    def begin(self, connection: PacedConnection, call_later: CallLater) -> None:
        """Send the head and the first piece of the body after the delay. Call this in the loop."""
        call_later(self._delay_seconds, lambda: self._send_piece(connection, call_later))

    def _send_piece(self, connection: PacedConnection, call_later: CallLater) -> None:
        if connection.has_unsent:  # Nothing is stored for a client that does not read.
            call_later(1 / PIECES_PER_SECOND, lambda: self._send_piece(connection, call_later))
            return
        if self._instead is not None:
            self._instead()
        is_unlimited = self._bytes_per_second == inf
        piece_bytes = len(self._body) if is_unlimited else max(1, int(self._bytes_per_second / PIECES_PER_SECOND))
        piece = self._head + self._body[:piece_bytes]
        self._head = b""
        del self._body[:piece_bytes]
        try:
            connection.write(bytes(piece))
        except ClientDisconnectedError:
            self._body.clear()
        if self._body:
            call_later(piece_bytes / self._bytes_per_second, lambda: self._send_piece(connection, call_later))
            return
        if self._at_end is not None:
            self._at_end()
        connection.end_call()
