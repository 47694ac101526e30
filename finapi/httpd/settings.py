"""What the server allows, and what it asks of the application that it serves."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

HANDED_BODY = 131_072  # bytes of a body that is handed over with its connection

# (status, a fixed sentence, what was asked) -> (headers, body). Content-Length, Date, Connection and Retry-After are
# added by the server. It is called in the loop and must be quick.
ErrorResponse = Callable[[int, str, "Asked"], tuple[list[tuple[str, str]], bytes]]

# Status line, headers, body.
Answer = tuple[str, list[tuple[str, str]], bytes]


# (request target, headers named as in a WSGI environ, address) -> the answer, or None to have the application called.
# It is called in the loop and must be quick.
AnswerFromMemory = Callable[[str, dict[str, str], str], Answer | None]

# The environ of a request whose body is still to come -> how many bytes that may have, or what it is refused with.
CheckBeforeBody = Callable[["WSGIEnvironment"], int | Answer]

# (address of the peer, X-Forwarded-For) -> the address that a request counts for; without the header, that of the
# connection: None when it is of a proxy that speaks for many. It is called in the loop and must be quick.
AddressOf = Callable[[str, str | None], str | None]


class ListenSettings(NamedTuple):
    """What the server allows: times in seconds of a monotonic clock, sizes in bytes."""

    host: str = "127.0.0.1"  # an address or a name of one; "::" takes IPv4 as well
    port: int = 8000  # 0: a free one, told by Listener.port
    threads: int = 16  # requests executed at once; one of them at a time has the interpreter, many a commit
    core: int | None = None  # that all of them and the loop keep to; None: they go where the kernel puts them
    queue_limit: int = 512  # requests waiting for a thread; above it 503, rather than an answer after minutes
    connection_limit: int = 1000  # when reached, one that is idle makes room for a new one
    connections_per_address: int = 250
    backlog: int = 1024  # connections that the kernel holds until they are accepted
    channel_timeout: float = 60.0  # idle between requests, or reading nothing of the answer
    header_timeout: float = 15.0  # from the first byte of a head to its last; without a byte of a body
    min_rate: int = 500  # bytes a second of a body or an answer, on average; Apache's RequestReadTimeout has the same
    transfer_timeout: float = 120.0  # for a body or an answer of any length: what is long has to be faster than that
    server_timeout: float = 300.0  # from the end of the request to the beginning of the answer (API default: 300)
    header_limit: int = 65_536  # request line and header fields together
    body_limit: int = 52_428_800  # after chunks are joined (API default: 50 MB)
    bodies_at_once: int = 64  # that take their time to arrive
    bodies_per_address: int = 16
    held_limit: int = 33_554_432  # of long bodies and of answers not read, in memory
    spool_limit: int = 67_108_864  # of the same in temporary files, which may be memory too
    paused_limit: int = 4  # threads that wait for a client to read, which others replace
    paused_per_owner: int = 2  # of them for one address or account


class Asked(NamedTuple):
    """What is known of a request that is answered in the application's place; empty when it could not be read."""

    method: str = ""
    path: str = ""  # still encoded, with the query
    request_id: str = ""  # the client's X-Request-ID
    peer: str = ""


class HandedOver(NamedTuple):
    """A connection that leaves the server with the request that it leaves for.

    The path has no slash at its end; values of a name that the query has twice are joined with commas. Header names are
    lower-case; ``rest`` came in behind the request; ``body`` is cut at :data:`HANDED_BODY` bytes.
    """

    sock: socket.socket
    peer: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    rest: bytes


class TakeOver(Protocol):
    """Who takes connections over. Both are called in the loop or a request thread, and must be quick."""

    def wants(self, method: str, path: str, accept: str) -> bool:
        """Whether a connection is to leave the server for this request."""
        ...

    def take(self, handed: HandedOver) -> None:
        """Own the connection from here on."""
        ...
