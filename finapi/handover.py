"""Connections that leave the HTTP server: what goes with them, and who takes them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Protocol

HANDED_BODY = 1_048_576  # bytes of a body that is handed over with its connection


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A connection that leaves the server with the request that it leaves for.

    Header names are lower-case; ``rest`` came in behind the request, and ``body`` is cut at
    :data:`HANDED_BODY` bytes.
    """

    sock: socket.socket
    peer: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    rest: bytes


class TakeOver(Protocol):
    """Who takes connections over. Both are called in the loop or a task thread, and must be quick."""

    def wants(self, method: str, path: str, accept: str) -> bool:
        """Whether a connection is to leave the server for this request."""
        ...

    def take(self, handed: HandedOver) -> None:
        """Own the connection from here on."""
        ...
