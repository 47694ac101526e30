"""An answer that is held back, and let out so many bytes a second, while no thread waits for it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol

from finapi.httpd.response import ClientGone

PIECES = 20  # a second

Later = Callable[[float, Callable[[], None]], None]  # has a function called in so many seconds


class Paced(Protocol):
    """A connection whose answer is held back."""

    def put(self, data: bytes) -> None:
        """Send a part of the answer; ClientGone when nobody takes it."""

    @property
    def has_unsent(self) -> bool:
        """Return True if the client has not read all of the answer yet."""

    def call_over(self) -> None:
        """The whole answer is on its way, or nobody takes it."""


class PacedAnswer:
    """What an application asked for of one answer: ``seconds`` before it, and bytes ``a_second`` of its body.

    ``instead`` is called after these seconds in place of answering, ``at_end`` once the last byte was let out.
    """

    def __init__(
        self,
        seconds: float,
        a_second: float = inf,
        instead: Callable[[], None] | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._seconds, self._a_second, self._instead, self._at_end = seconds, a_second, instead, at_end
        self._head = b""
        self._body = bytearray()

    def hold(self, data: bytes) -> None:
        """Keep a part of the answer, the head first."""
        if self._head:
            self._body += data
        else:
            self._head = data

    def begin(self, connection: Paced, later: Later) -> None:
        """Let out what is held: the head after ``seconds``, with the first piece. In the loop."""
        later(self._seconds, lambda: self._go_on(connection, later))

    def _go_on(self, connection: Paced, later: Later) -> None:
        if connection.has_unsent:  # so that a client that does not read has nothing stored for it
            later(1 / PIECES, lambda: self._go_on(connection, later))
            return
        if self._instead is not None:
            self._instead()
        size = len(self._body) if self._a_second == inf else max(1, int(self._a_second / PIECES))
        piece, self._head = self._head + self._body[:size], b""
        del self._body[:size]
        try:
            connection.put(bytes(piece))
        except ClientGone:
            self._body.clear()
        if self._body:
            later(size / self._a_second, lambda: self._go_on(connection, later))
        else:
            if self._at_end is not None:
                self._at_end()
            connection.call_over()
