"""The cache of responses in memory, by the version of the data and their ETag."""

from __future__ import annotations

import hashlib
from functools import partial

from finapi.app import App
from finapi.web.exchange import Exchange
from finapi.web.http.call import MIN_LARGE_ANSWER_BYTES, Call, requested_table_type
from finapi.web.http.messages import (
    MIN_GZIP_BYTES,
    Request,
    Response,
    build_etag,
    compress_prefix,
    compress_prefix_cached,
)
from finapi.web.http.route import Route
from finapi.web.validation import CallInput


def compute_tag(data_stamp: str, route: Route, call_input: CallInput, request: Request) -> str:
    """Return the ETag of a response before any work, from the version of the data and the parameters."""
    kind = requested_table_type(request) if route.tables else None
    # The limit is taken from the query, because the parsed one is clamped to the maximum of JSON, and a table may have
    # more rows than that.
    table_key = None if kind is None else f"{kind} {request.query.get('limit')}"
    # The answer reports the names that were ignored.
    text = f"{data_stamp} {table_key} {call_input.parameters.text}{' '.join(call_input.ignored_names)}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def get_cached_or_call_handler(call: Call, tag: str | None) -> Response:
    """Return the cached response with this tag. If there is none, call the handler and cache its response."""
    if tag is None or call.caller is None:
        return call.route.handler(call)
    cached: Response = call.app.answer_cache.get(
        call.caller.data_stamp, tag, lambda: call.route.handler(call), can_store=_is_final
    )
    if cached.is_preliminary:
        return cached
    if len(cached.body) > MIN_LARGE_ANSWER_BYTES:
        call.acquire_large_slot()
    # Each call has its own request id and time at the end of the body.
    suffix = call.envelope_suffix if cached.suffix else b""
    return Response(cached.status, cached.body, cached.content_type, dict(cached.headers), suffix, cached=cached)


def _is_final(response: Response) -> bool:
    return not response.is_preliminary


def is_cached(call: Call, tag: str | None) -> bool:
    """Return True if the response with this tag is in memory."""
    if tag is None or call.caller is None:
        return False
    return call.app.answer_cache.find(call.caller.data_stamp, tag, None) is not None


def find_etag(app: App, data_stamp: str, tag: str, request: Request) -> str | None:
    """Return the ``ETag`` of the cached response with this tag, or None if there is none in memory."""
    cached: Response | None = app.answer_cache.find(data_stamp, tag, None)
    if cached is None:
        return None
    is_long = len(cached.body) + len(cached.suffix) > MIN_GZIP_BYTES
    return build_etag(tag, gzipped=request.wants_gzip and is_long)


def compress_body(app: App, exchange: Exchange, response: Response) -> bytes:
    """Return the body as gzip. For a cached response, only the suffix, which differs by call, is compressed again."""
    route, caller = exchange.route, exchange.caller
    if response.is_resident and route is not None:
        name = f"gzip {route.path}"
        return app.static_bodies.get(name) or app.static_bodies.setdefault(
            name, compress_prefix(response.body).finish()
        )
    if response.cached is not None and caller is not None:
        compress = partial(compress_prefix, response.body)
        return app.answer_cache.get(caller.data_stamp, ("gzip", exchange.tag), compress).finish(response.suffix)
    # On a route without a rate limit, callers without a key could request megabytes at any rate, so the compressed body
    # is cached.
    compress_and_cache = route is not None and route.zone is None
    compressed = compress_prefix_cached(response.body) if compress_and_cache else compress_prefix(response.body)
    return compressed.finish(response.suffix)
