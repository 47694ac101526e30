"""The HTTP around a feed: what a request asks for, and the answers of long-polling and event streams."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

from finapi import __version__, events
from finapi.handover import HandedOver
from finapi.web.http import client_address

EVENTS_PATH = "/api/v1/events"
SOCKET_IO = "/socket.io"
PATHS = {f"/ws/{feed}": feed for feed in events.TYPES}

# (status, a sentence) -> (headers, body) of an error in finapi's one shape.
ErrorResponse = Callable[[int, str], tuple[list[tuple[str, str]], bytes]]


@dataclass(frozen=True, slots=True)
class Taken:
    """A connection handed over by the HTTP server with the request that it was handed over for.

    Header names are lower-case; ``rest`` came in behind the request.
    """

    sock: socket.socket
    peer: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    rest: bytes

    @property
    def feed(self) -> str | None:
        """The feed that the path names."""
        return PATHS.get(self.path)

    @property
    def upgrades(self) -> bool:
        """Whether it asks for a WebSocket."""
        return self.headers.get("upgrade", "").lower() == "websocket"

    @property
    def key(self) -> str | None:
        """The API key that came with the request; None when none did."""
        given = self.headers.get("x-api-key") or self.query.get("token") or self.query.get("apiKey")
        return given or None

    def address(self, trusted_proxies: tuple[str, ...]) -> str:
        """Whom bounds are counted for."""
        return client_address(self.peer, self.headers.get("x-forwarded-for", ""), trusted_proxies)


def wanted(method: str, path: str, accept: str) -> bool:
    """Whether a request is one of the feeds' own, by its path and ``Accept``."""
    path = path.rstrip("/")
    if path == EVENTS_PATH:
        return method == "GET" and "text/event-stream" in accept.lower()
    return path == SOCKET_IO or path in PATHS


def taken(handed: HandedOver) -> Taken:
    """The request of a connection that was handed over."""
    return Taken(
        sock=handed.sock,
        peer=handed.peer,
        method=handed.method,
        path=handed.path.rstrip("/"),
        query=query_of(handed.query),
        headers=handed.headers,
        body=handed.body,
        rest=handed.rest,
    )


def query_of(text: str) -> dict[str, str]:
    """The query by name, the first of each; nothing of one that cannot be read."""
    try:
        parsed = parse_qs(text, keep_blank_values=True, max_num_fields=100, errors="strict")
    except ValueError:
        return {}
    return {name: values[0] for name, values in parsed.items()}


def cross_origin(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers that let a script of any allowed origin read an answer; nothing here depends on cookies."""
    return [("Access-Control-Allow-Origin", "*")] if "origin" in headers else []


def head(status: int, headers: Sequence[tuple[str, str]], request_id: str) -> bytes:
    """The head of an answer after which the connection is closed."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"X-API-Version: {__version__}",
        f"X-Request-ID: {request_id}",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        *(f"{name}: {value}" for name, value in headers),
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def error(status: int, reason: str, made: ErrorResponse, more: Sequence[tuple[str, str]]) -> bytes:
    """A whole answer that says what was wrong."""
    headers, body = made(status, reason)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in [*headers, *more]]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
