"""The requests of feeds: what they ask for, and what long-polling is answered."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from finapi import __version__
from finapi.delivery import events
from finapi.httpd import response
from finapi.httpd.response import Headers
from finapi.httpd.settings import HandedOver
from finapi.web.http.messages import CSP_RENDER_NOTHING

EVENTS_PATH = "/api/v1/events"
SOCKET_IO = "/socket.io"
PATHS = {f"/ws/{feed}": feed for feed in events.TYPES_BY_FEED}

# Connections that have their answer and wait for the client to close too. It is a courtesy, which nobody needs for
# long: the oldest are closed first, as nginx does with connections that linger.
LINGERING = 256


def are_feeds(method: str, path: str, accept: str) -> bool:
    """Whether a request is the feeds' own, by its path and ``Accept``."""
    path = path.rstrip("/")
    if path == EVENTS_PATH:
        return method == "GET" and "text/event-stream" in accept.lower()
    return path == SOCKET_IO or path in PATHS


def wants_websocket(request: HandedOver) -> bool:
    """Whether it asks for a WebSocket."""
    return request.headers.get("upgrade", "").lower() == "websocket"


def api_key(request: HandedOver) -> str | None:
    """The API key that came with the request; None when none did."""
    return request.headers.get("x-api-key") or request.query.get("token") or request.query.get("apiKey") or None


def cross_origin(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers that let a script of any allowed origin read an answer; nothing here depends on cookies."""
    return [("Access-Control-Allow-Origin", "*")] if "origin" in headers else []


def head(status: int, headers: Headers, request_id: str) -> bytes:
    """The head of an answer after which the connection is closed."""
    common = [
        ("X-API-Version", __version__),
        ("X-Request-ID", request_id),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", CSP_RENDER_NOTHING),
        ("Cache-Control", "no-store"),
    ]
    return response.head(f"{status} {HTTPStatus(status).phrase}", [*common, *headers, ("Connection", "close")])


def text(body: str, asked: Mapping[str, str], request_id: str) -> bytes:
    """A whole answer of plain text to a request with the headers ``asked``."""
    data = body.encode()
    headers = [("Content-Type", "text/plain; charset=UTF-8"), ("Content-Length", str(len(data)))]
    return head(200, [*headers, *cross_origin(asked)], request_id) + data
