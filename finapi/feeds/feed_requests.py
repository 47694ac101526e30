"""The HTTP side of the feeds: recognising their requests, finding the API key, and building simple responses."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from finapi import __version__
from finapi.delivery import events
from finapi.httpd import response_heads
from finapi.httpd.response_heads import Headers
from finapi.httpd.settings import HandedOverRequest
from finapi.web.http.messages import CSP_RENDER_NOTHING

EVENTS_PATH = "/api/v1/events"
SOCKET_IO = "/socket.io"
PATHS = {f"/ws/{feed}": feed for feed in events.TYPES_BY_FEED}

# Connections that have been answered and wait for the client to close its side. If there are more, the oldest are
# closed, as nginx does with lingering connections.
MAX_LINGERING = 256


def is_feed_request(method: str, path: str, accept: str) -> bool:
    """Return True if a request opens a feed, by its path and ``Accept``."""
    path = path.rstrip("/")
    if path == EVENTS_PATH:
        return method == "GET" and "text/event-stream" in accept.lower()
    return path == SOCKET_IO or path in PATHS


def is_websocket_request(request: HandedOverRequest) -> bool:
    """Return True if a request is the opening handshake of a WebSocket."""
    return request.headers.get("upgrade", "").lower() == "websocket"


def find_api_key(request: HandedOverRequest) -> str | None:
    """Return the API key of a request, from its header or query, or None."""
    return request.headers.get("x-api-key") or request.query.get("token") or request.query.get("apiKey") or None


def build_cors_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers that let scripts of other origins read a response. No response depends on cookies."""
    return [("Access-Control-Allow-Origin", "*")] if "origin" in headers else []


def build_head(status: int, headers: Headers, request_id: str) -> bytes:
    """Return the head of a response after which the connection is closed."""
    common_headers = [
        ("X-API-Version", __version__),
        ("X-Request-ID", request_id),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", CSP_RENDER_NOTHING),
        ("Cache-Control", "no-store"),
    ]
    status_line = f"{status} {HTTPStatus(status).phrase}"
    return response_heads.build_head(status_line, [*common_headers, *headers, ("Connection", "close")])


def build_text_response(body: str, request_headers: Mapping[str, str], request_id: str) -> bytes:
    """Return a complete response with a plain text."""
    body_bytes = body.encode()
    headers = [("Content-Type", "text/plain; charset=UTF-8"), ("Content-Length", str(len(body_bytes)))]
    return build_head(200, [*headers, *build_cors_headers(request_headers)], request_id) + body_bytes
