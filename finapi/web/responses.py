"""Building responses for errors, 304 and OPTIONS, and the final headers and bytes of every response."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from finapi import __version__
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError, StoreUnavailableError, store_unavailable
from finapi.core.json import dumps
from finapi.web import response_cache
from finapi.web.exchange import Exchange
from finapi.web.http.messages import (
    CSP_RENDER_NOTHING,
    MIN_GZIP_BYTES,
    Request,
    Response,
    build_etag,
    find_caller_request_id,
)
from finapi.web.http.public_path import prefix_headers
from finapi.web.http.route import GATEWAY_ZONES, Route
from finapi.web.router import Match

log = logging.getLogger("finapi.access")

# Headers that a browser's script may read, and may send (Fetch standard, CORS).
EXPOSED_HEADERS = (
    "X-API-Version, X-Request-ID, X-Tokens-Charged, X-RateLimit-Limit, X-RateLimit-Remaining, "
    "X-RateLimit-Reset, X-RateLimit-Scope, Retry-After, ETag, X-Has-More, X-Next-Cursor, X-Total-Count, X-Window, "
    "X-Empty-Reason, X-Total-Characters, X-Ignored-Parameters, Idempotent-Replayed, Deprecation, Sunset, Link, "
    "Accept-Ranges, Content-Range"
)
ALLOWED_HEADERS = "X-API-Key, X-Request-ID, If-None-Match, If-Range, Range, Content-Type, Idempotency-Key"

# Callers that prefer this media type to JSON are browsers. They get every error as a page.
HTML_MEDIA_TYPES = ("text/html",)

MAX_GUESSED_NAMES = 20  # Maximum number of names in a request that are compared with a missing parameter.

Headers = list[tuple[str, str]]
# Status line, headers, body.
Answer = tuple[str, Headers, bytes]


class ReleasingBody:
    """A response body that calls ``release`` when it has been handed to its connection or is dropped."""

    def __init__(self, body: bytes, release: Callable[[], None]) -> None:
        self._body = body
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        # Test clients that read to the end do not always call close().
        self.close()

    def close(self) -> None:
        """Release the body. A server always calls this, also if the response could not be sent (PEP 3333)."""
        self._body = b""
        self._release()


# ---- errors


def internal_error() -> ApiError:
    """Return the 500 of an unexpected failure."""
    return ApiError("INTERNAL", "Internal error; it has been logged.")


def timeout_error() -> ApiError:
    """Return the 504 of a call that took too long."""
    return ApiError("TIMEOUT", "The call exceeded the server's time limit.")


def build_failure(app: App, exchange: Exchange, error: Exception) -> Response:
    """Return the response for an exception that a step raised, and log it if it is a failure of the server."""
    if isinstance(error, ApiError):
        if error.status >= 500 and error.__cause__ is not None:
            log.warning("request %s: %s: %s", exchange.request_id, error.code, error.__cause__)
        return build_error(app, exchange, error)
    if isinstance(error, StoreUnavailableError):
        return build_error(app, exchange, store_unavailable(error))
    # After a stop, a call that still runs fails because its database is closed. The server has answered it already.
    if not app.db.closed:
        log.error("request %s failed", exchange.request_id, exc_info=error)
    return build_error(app, exchange, internal_error())


def build_error(app: App, exchange: Exchange, error: ApiError) -> Response:
    """Return the response for an error, as JSON or, for a browser, as a page."""
    from finapi.market.demo import demo_companies  # Only a demo needs it, and no start.

    error = demo_companies.add_companies(app, error)
    exchange.error_code = error.code
    exchange.delay_seconds = error.delay_seconds
    request = exchange.request
    if request is not None and request.find_preferred_type(HTML_MEDIA_TYPES) is not None:
        from finapi.web.html import page_layout

        page = page_layout.render_error_page(app.config, error, request.path, exchange.request_id)
        page.headers.update(error.headers)
        return page
    body: dict[str, Any] = {"status": "error", "error": error.code, "code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
        if error.code == "INVALID_PARAM" and request is not None and "nearest" not in error.details:
            body["message"] += _build_misspelling_hint(error.details["param"], request)
    body.update(error.extra_fields)
    body["request_id"] = exchange.request_id
    body["timestamp"] = iso(app.clock.now())
    return Response(error.status, dumps(body), headers={**_build_limit_headers(app, exchange, error), **error.headers})


def _build_limit_headers(app: App, exchange: Exchange, error: ApiError) -> dict[str, str]:
    """Return the headers of the route's rate limit for a 429 that another limit causes (DECISIONS 5)."""
    decision, route = exchange.limit_decision, exchange.route
    if error.code != "RATE_LIMIT_EXCEEDED" or decision is None or route is None or route.zone in GATEWAY_ZONES:
        return {}
    return decision.build_headers(app.clock.now(), is_per_node=app.config.has_nodes)


def _build_misspelling_hint(param: str, request: Request) -> str:
    """Return a sentence that names a probable misspelling of ``param`` in the request, or an empty text."""
    from finapi.core import suggestions

    json_body = request.parsed_bodies[0] if request.parsed_bodies else {}
    names = {**request.query, **json_body}
    # The names of a member in a list, such as claims[0].value, are not compared.
    if param in names or "[" in param:
        return ""
    name = suggestions.find_misnamed(param, list(names)[:MAX_GUESSED_NAMES])
    return "" if name is None else f" {name} is not a parameter of this call; did you mean {param}?"


# ---- OPTIONS and 304


def build_options(match: Match) -> Response:
    """Return the response to OPTIONS: the methods of a path and, if scripts may call it, the CORS headers."""
    headers = {"Allow": match.allow}
    if any(route.cross_origin for route in match.by_method.values()):
        headers["Access-Control-Allow-Methods"] = match.allow
        headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        headers["Access-Control-Max-Age"] = "86400"
    return Response(204, b"", headers=headers)


def build_not_modified(route: Route, etag: str) -> Response:
    """Return the 304 for a caller that has the response with this ``ETag``."""
    return Response(304, b"", headers={"ETag": etag, "Vary": _build_vary(route)})


# ---- the last step before sending


def finish(app: App, exchange: Exchange, response: Response) -> Answer:
    """Return the status line, every header, and the bytes to send."""
    request, route = exchange.request, exchange.route
    is_stream = response.stream is not None
    # Without a suffix no copy is made, so that all calls share the memory of the body.
    body = response.body + response.suffix if response.suffix else response.body
    exchange.is_resident = response.is_resident
    is_gzipped = (
        request is not None
        and request.wants_gzip
        and (len(body) > MIN_GZIP_BYTES or is_stream)
        and not response.is_compressed
    )
    headers = _build_headers(app, exchange, response)
    if len(body) > MIN_GZIP_BYTES or exchange.tag or (is_stream and not response.is_compressed):
        headers["Vary"] = _build_vary(route)
    if is_gzipped:
        headers["Content-Encoding"] = "gzip"
        if not is_stream:
            body = response_cache.compress_body(app, exchange, response)
    if exchange.tag and response.status == 200:
        headers["ETag"] = build_etag(exchange.tag, gzipped=is_gzipped)
    if is_stream:
        headers["Content-Type"] = response.content_type
    elif response.status not in (204, 304):
        headers["Content-Type"] = response.content_type
        headers["Content-Length"] = str(len(body))
    if request is not None and request.method == "HEAD":
        body = b""
    return _build_status_line(response.status), list(headers.items()), body


def _build_headers(app: App, exchange: Exchange, response: Response) -> dict[str, str]:
    """Return the headers that do not depend on the bytes of the body."""
    request, route = exchange.request, exchange.route
    headers = {
        "X-API-Version": __version__,
        "X-Request-ID": (request and find_caller_request_id(request)) or exchange.request_id,
        "X-Content-Type-Options": "nosniff",
    }
    if response.status != 304:  # The header of a 304 would replace that of the cached page.
        headers["Content-Security-Policy"] = CSP_RENDER_NOTHING
    # Clients revalidate at each use. A 304 is free, and a stale figure could do harm.
    headers["Cache-Control"] = "private, no-cache" if exchange.tag and response.status < 400 else "no-store"
    headers.update(response.headers)
    if route is not None and route.deprecated is not None:
        headers.update(route.deprecated.headers)
    prefix_headers(headers, app.config.public_path)
    # A response without a route is the error of an unknown path, or an error of the server itself.
    if route is None or route.cross_origin:
        headers["Access-Control-Allow-Origin"] = "*"
        headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
    if route is not None and route.tells_cost and request is not None and request.method != "OPTIONS":
        headers.setdefault("X-Tokens-Charged", str(exchange.tokens_charged))
    if exchange.limit_decision is not None and response.status < 300:
        headers.update(exchange.limit_decision.build_headers(app.clock.now(), is_per_node=app.config.has_nodes))
    if exchange.ignored_names and response.status < 400:
        headers["X-Ignored-Parameters"] = quote(",".join(exchange.ignored_names), safe=",")
    return headers


def _build_vary(route: Route | None) -> str:
    """Return the request headers that a response depends on."""
    return "Accept, Accept-Encoding" if route is not None and route.tables else "Accept-Encoding"


@cache
def _build_status_line(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"


def without_content_length(headers: Headers) -> Headers:
    """Return the headers without ``Content-Length``, for a server that adds it."""
    return [(name, value) for name, value in headers if name != "Content-Length"]
