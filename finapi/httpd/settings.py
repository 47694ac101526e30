"""The settings of the server, and the types of the functions with which it calls the application."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

MAX_HANDED_OVER_BODY_BYTES = 131_072

# (status, message, request) -> (headers, body) of the response to a request that does not reach the application, or
# whose call took too long. The server adds Content-Length, Date, Connection and Retry-After. It is called in the loop
# and must be quick.
ErrorResponse = Callable[[int, str, "RequestSummary"], tuple[list[tuple[str, str]], bytes]]

# Status line, headers, body.
Answer = tuple[str, list[tuple[str, str]], bytes]

# (request target, headers named as in a WSGI environ, address of the peer) -> the answer, or None to have the
# application called. It is called in the loop and must be quick.
AnswerFromMemory = Callable[[str, dict[str, str], str], Answer | None]

# (environ of a request whose body has not arrived) -> the number of bytes that the body may have, or the answer to
# refuse it with.
CheckBeforeBody = Callable[["WSGIEnvironment"], int | Answer]

# (address of the peer, X-Forwarded-For) -> the address that a request counts for. With None in place of the header: the
# address that the connection counts for, or None if the peer is a proxy that forwards the requests of many clients. It
# is called in the loop and must be quick.
FindClientAddress = Callable[[str, str | None], str | None]


class ListenSettings(NamedTuple):
    """The limits of the server: times in seconds of a monotonic clock, sizes in bytes."""

    host: str = "127.0.0.1"  # An address or a host name. "::" accepts IPv4 too.
    port: int = 8000  # 0 for a free one, which Listener.port returns.
    threads: int = 16  # Calls at the same time. Only one thread runs Python code, but many may wait for a commit.
    core: int | None = None  # The processor that all threads run on, or None for any.
    queue_limit: int = 512  # Requests that wait for a thread. Further ones get 503 instead of an answer after minutes.
    connection_limit: int = 1000  # If more connect, idle connections are closed.
    connections_per_address: int = 250
    backlog: int = 1024  # Connections that the kernel stores until they are accepted.
    channel_timeout: float = 60.0  # Time between two requests, or without any progress in reading an answer.
    header_timeout: float = 15.0  # Time from the first byte of a head to its last, or without a byte of a body.
    min_rate: int = 500  # Average bytes a second of a body or an answer, like Apache's RequestReadTimeout.
    transfer_timeout: float = 120.0  # Time for a body or an answer. A long one has to be faster than min_rate.
    server_timeout: float = 300.0  # Time from the end of a request to the beginning of its answer.
    header_limit: int = 65_536  # Bytes of the request line and the header fields together.
    body_limit: int = 52_428_800  # Bytes of a body, after its chunks are joined.
    bodies_at_once: int = 64  # Bodies that are arriving slowly.
    bodies_per_address: int = 16
    held_limit: int = 33_554_432  # Bytes of long bodies and of unsent answers in memory.
    spool_limit: int = 67_108_864  # Bytes of these in temporary files, which may be in memory too.
    paused_limit: int = 4  # Threads that wait for a client to read. Each is replaced by another thread meanwhile.
    public_path: str = ""  # Removed from the beginning of each path that has it, for a proxy that passes it on.
    paused_per_owner: int = 2  # The number of these threads for one address or account.


class RequestSummary(NamedTuple):
    """A request that the server answers itself. Fields are empty if they could not be read."""

    method: str = ""
    path: str = ""  # Still encoded, with the query.
    request_id: str = ""  # The client's X-Request-ID.
    peer: str = ""


class HandedOverRequest(NamedTuple):
    """A request that leaves the server together with its connection.

    The path does not end in a slash. Values of a name that occurs twice in the query are joined with commas. Header
    names are lower-case. ``body`` is cut at :data:`MAX_HANDED_OVER_BODY_BYTES`.
    """

    sock: socket.socket
    peer: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    rest: bytes  # Bytes that arrived after the request.


class RequestTaker(Protocol):
    """A service that takes requests over. Its methods are called in the loop or a request thread and must be quick."""

    def can_take(self, method: str, path: str, accept: str) -> bool:
        """Return True if this service takes over such a request with its connection."""
        ...

    def take(self, request: HandedOverRequest) -> None:
        """Answer the request, and close its socket."""
        ...
