"""The WSGI application, with the functions that the server calls in its loop and before a body has arrived."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from finapi.app import App
from finapi.core.errors import CODE_BY_STATUS, ApiError, StoreUnavailableError, store_unavailable
from finapi.web import access_log, responses
from finapi.web.dispatch import answer_call, find_caller
from finapi.web.exchange import Exchange
from finapi.web.http.messages import (
    Request,
    build_get_request,
    client_address,
    is_trusted_proxy,
    parse_environ,
    parse_segments,
    too_large,
)
from finapi.web.http.route import PUBLIC_BODY, Route
from finapi.web.responses import Answer, Headers, ReleasingBody, timeout_error, without_content_length
from finapi.web.route_table import get_table
from finapi.web.routes import ROUTES

log = logging.getLogger("finapi.access")

StartResponse = Callable[[str, Headers], Any]


class WsgiApp:
    """finapi as a WSGI callable (PEP 3333). ``app`` may be replaced, but only before the first call."""

    def __init__(self, app: App, routes: Sequence[Route] = ROUTES) -> None:
        self.app = app
        self._table = get_table(app, routes)
        self._has_warned = False  # True once _warn_of_proxy() has logged its warning.

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        exchange = self._new_exchange()
        environ["finapi.give_up"] = partial(self._give_up, exchange)
        if not self._has_warned and "HTTP_X_FORWARDED_FOR" in environ:
            self._warn_of_proxy(environ.get("REMOTE_ADDR", ""))
        trusted_proxies = self.app.config.trusted_proxies
        status, headers, body = self._answer(exchange, lambda: parse_environ(environ, trusted_proxies))
        start_response(status, headers)
        environ["finapi.owners"] = exchange.owners
        environ["finapi.resident"] = exchange.is_resident
        environ["finapi.paused"] = exchange.release
        if exchange.delay_seconds and "finapi.pace" in environ:
            environ["finapi.pace"](exchange.delay_seconds)
        if exchange.stream is not None:
            return exchange.stream.start(environ)
        return ReleasingBody(body, exchange.release) if exchange.release_callbacks else [body]

    def _new_exchange(self, route: Route | None = None) -> Exchange:
        return Exchange(self.app.new_uuid(), self.app.clock.monotonic(), route=route)

    def _answer(self, exchange: Exchange, parse: Callable[[], Request]) -> Answer:
        return answer_call(self.app, self._table, exchange, parse)

    def _find_route(self, request: Request) -> Route | None:
        """Return the route of a request, or None for an unknown path.

        If no route of the path has the method, return any route of the path.
        """
        match = self._table.match(request.segments)
        return None if match is None else match.get_route_or_any(request.method)

    def _warn_of_proxy(self, peer: str) -> None:
        """Log once that there may be a proxy that is not trusted."""
        if not is_trusted_proxy(peer, self.app.config.trusted_proxies):
            self._has_warned = True
            log.warning(
                "%s sends X-Forwarded-For and is not trusted: if it is a proxy of yours, all its callers share one "
                "address and its limits until you name it: --trusted-proxies %s",
                peer,
                peer,
            )

    # ---- called by the HTTP server, in its loop or before the body has arrived

    def answer_from_memory(self, target: str, headers: Mapping[str, str], peer: str) -> Answer | None:
        """Answer ``GET target`` if the response is in memory, or return None. Called in the server's loop.

        Only routes with a ``cache_check`` are answered here, so that probes are answered even while a commit hangs. The
        names of ``headers`` are those of waitress, such as ``USER_AGENT``. Nothing is compressed and no credential is
        looked up, because both would take too long in the loop.
        """
        if "gzip" in headers.get("ACCEPT_ENCODING", ""):
            return None
        has_credential = "X_API_KEY" in headers or "AUTHORIZATION" in headers
        if self._table.find_cached_route(self.app, target, has_credential=has_credential) is None:
            return None
        trusted_proxies = self.app.config.trusted_proxies
        return self._answer(self._new_exchange(), lambda: build_get_request(target, headers, peer, trusted_proxies))

    def check_before_body(self, environ: dict[str, Any]) -> int | Answer:
        """Return the maximum size of a body in bytes, or the response to a call that is refused before its body."""
        request = parse_environ(environ, self.app.config.trusted_proxies)
        match = None if request.target_error else self._table.match(request.segments)
        route = match.by_method.get(request.method) if match else None
        exchange = self._new_exchange(route)
        if route is not None:
            now = self.app.clock.now()
            is_known = route.auth == "none"
            exchange.request = request
            try:
                if not is_known:
                    exchange.caller = find_caller(self.app, route.without_key_in_body(), request, now)
                    is_known = exchange.caller is not None
            except StoreUnavailableError as error:
                request = request._replace(target_error=store_unavailable(error))
            limit = min(route.body_limit if is_known else PUBLIC_BODY, self.app.config.body_limit)
            # An unknown caller of a route with ``key_in_body`` may send the key in the body that has not arrived yet.
            if is_known or route.key_in_body:
                if request.body_bytes <= limit:
                    environ["finapi.owners"] = exchange.owners
                    return limit
                request = request._replace(target_error=too_large(limit))
        return self._answer(self._new_exchange(route), lambda: request)

    def find_client_address(self, peer: str, forwarded: str | None) -> str | None:
        """Return the client address that limits apply to, from a request's peer and its ``X-Forwarded-For``.

        Without ``forwarded``, return the address of the connection itself, or None for a trusted proxy, whose
        connections are not limited.
        """
        proxies = self.app.config.trusted_proxies
        if forwarded is None and is_trusted_proxy(peer, proxies):
            return None
        return client_address(peer, forwarded or "", proxies)

    def error_response(
        self, status: int, reason: str, request_line: tuple[str, str, str, str] = ("", "", "", "")
    ) -> tuple[Headers, bytes]:
        """Return headers and body of an error that the server sends without calling the application.

        ``request_line`` has the method, target, X-Request-ID and address of the request. Its parts are empty if the
        request could not be read.
        """
        exchange = self._new_exchange()
        method, target, request_id, peer = request_line
        path = target.partition("?")[0]
        exchange.request = Request(method, path, (), {}, {"x-request-id": request_id}, peer, None, None, [])
        if path:
            with suppress(ApiError):
                exchange.route = self._find_route(exchange.request._replace(segments=parse_segments(path)))
        code = CODE_BY_STATUS.get(status, "BAD_REQUEST" if status < 500 else "INTERNAL")
        return self._answer_error(exchange, ApiError(code, reason), status)

    def _give_up(self, exchange: Exchange, status: int) -> tuple[Headers, bytes] | None:
        """Return headers and body of the response with which the server answers in place of a call that still runs.

        It is the 504 of a call that took too long, or the 503 of a call that a stop interrupts. Return None if the call
        has already begun to send its own response.
        """
        if not exchange.claim("server"):
            return None
        error = timeout_error() if status == 504 else ApiError("UNAVAILABLE", "The server is stopping.")
        # A copy is used, because the call continues in its thread and changes its exchange.
        return self._answer_error(replace(exchange), error, status)

    def _answer_error(self, exchange: Exchange, error: ApiError, status: int) -> tuple[Headers, bytes]:
        response = responses.build_error(self.app, exchange, error)
        _, headers, body = responses.finish(self.app, exchange, response)
        access_log.log_call(self.app, exchange, status, len(body))
        return without_content_length(headers), body

    # ---- called by the test server

    def refuse(self, environ: Mapping[str, Any], error: ApiError) -> Answer:
        """Return the response to a call that is refused before its first step."""
        request = parse_environ(environ, self.app.config.trusted_proxies)
        exchange = self._new_exchange(self._find_route(request))
        return self._answer(exchange, lambda: request._replace(target_error=error))

    def has_param(self, environ: Mapping[str, Any], param: str) -> bool:
        """Return True if the route of a call has a parameter with the name ``param``."""
        match = self._table.match(parse_environ(environ).segments)
        route = match.by_method.get(environ["REQUEST_METHOD"]) if match else None
        return route is not None and any(route_param.name == param for route_param in route.params)
