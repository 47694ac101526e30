"""The WSGI application: one call from its environ to its response, and the only place that answers errors."""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from finapi import __version__, accounts, billing, idempotency, plans
from finapi.accounts import Caller
from finapi.app import App
from finapi.cache import Cache
from finapi.clock import iso
from finapi.db import Refused
from finapi.errors import ApiError, invalid_param
from finapi.limits import Decision
from finapi.web.call import Call, Route, limiter, unauthorized
from finapi.web.http import (
    GZIP_FROM,
    Request,
    Response,
    caller_request_id,
    coded_etag,
    dumps,
    gzip,
    gzip_of_many,
    held_etag,
    plain_get,
    read_request,
)
from finapi.web.params import read_all, read_body
from finapi.web.routes import ROUTES, Match, Router
from finapi.web.tables import TABLES

log = logging.getLogger("finapi.access")

# The zones that CONTRACT 5 has a gateway answer for: their 429 carries no headers.
GATEWAY_ZONES = ("financials", "xbrl")

# What a browser's script may read of a response, and send with a request (Fetch standard, CORS).
EXPOSED = (
    "X-API-Version, X-Request-ID, X-Tokens-Charged, X-RateLimit-Limit, X-RateLimit-Remaining, "
    "X-RateLimit-Reset, Retry-After, ETag, X-Has-More, X-Next-Cursor, X-Total-Count, X-Total-Characters, "
    "Idempotent-Replayed, Deprecation, Sunset, Link"
)
ALLOWED_HEADERS = "X-API-Key, X-Request-ID, If-None-Match, Content-Type, Idempotency-Key"

# Questions that are kept read, by the characters of their texts and what one takes beside them. A target, whose
# length is not counted, has 8 KB at most.
QUESTION_CHARACTERS = 1_000_000
QUESTION_OVERHEAD = 1_000

# Status line, headers, body.
Answered = tuple[str, list[tuple[str, str]], bytes]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class Question(NamedTuple):
    """What a path and a query ask of a route: the parameters, and a text that only the same question has."""

    params: Mapping[str, Any]
    text: str


NO_QUESTION = Question({}, "")


class Exchange:
    """What becomes known of a call while it runs, for its headers and its line in the log."""

    __slots__ = ("caller", "charged", "code", "decision", "request", "request_id", "route", "tag")

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.request: Request | None = None
        self.route: Route | None = None
        self.caller: Caller | None = None
        self.decision: Decision | None = None
        self.tag: str | None = None
        self.charged = 0
        self.code: str | None = None


class WsgiApp:
    """finapi as a WSGI callable (PEP 3333). ``app`` may be replaced before the first call, not after."""

    def __init__(self, app: App, routes: Sequence[Route] = ROUTES) -> None:
        self.app = app
        self._router = Router(routes)
        self._questions = Cache(QUESTION_CHARACTERS, lambda question: len(question.text) + QUESTION_OVERHEAD)
        self._at_once = {
            route.path: (tuple(route.path[1:].split("/")), route.at_once)
            for route in routes
            if route.at_once is not None
        }

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        status, headers, body = self._respond(lambda: read_request(environ, self.app.config.trusted_proxies))
        start_response(status, headers)
        return [body]

    def at_once(self, target: str, headers: Mapping[str, str], peer: str) -> Answered | None:
        """Answer ``GET target`` when the answer is in memory, else None; called in the server's loop.

        ``headers`` are named as waitress does, ``USER_AGENT``. What has to be compressed takes too long here.
        """
        known = self._at_once.get(target)
        if known is None or "gzip" in headers.get("ACCEPT_ENCODING", "") or not known[1](self.app):
            return None
        proxies = self.app.config.trusted_proxies
        return self._respond(lambda: plain_get(target, known[0], headers, peer, proxies))

    def _respond(self, read: Callable[[], Request]) -> Answered:
        started = self.app.clock.monotonic()
        exchange = Exchange(self.app.new_uuid())
        try:
            request = exchange.request = read()
            if request.wrong is not None:
                raise request.wrong
            response = self._answer(request, exchange)
        except ApiError as error:
            response = self._error(exchange, error)
        except Exception:
            log.exception("request %s failed", exchange.request_id)
            unknown = ApiError("INTERNAL", "Something went wrong here. The failure has been logged.")
            response = self._error(exchange, unknown)
        answered = self._finish(response, exchange)
        self._log(exchange, response.status, len(answered[2]), started)
        return answered

    def error_response(self, status: int, reason: str) -> tuple[list[tuple[str, str]], bytes]:
        """Headers and body for an error that the server answers before any request exists."""
        exchange = Exchange(self.app.new_uuid())
        code = _CODE_OF_STATUS.get(status, "BAD_REQUEST" if status < 500 else "INTERNAL")
        response = self._error(exchange, ApiError(code, reason))
        _, headers, body = self._finish(response, exchange)
        self._log(exchange, status, len(body), self.app.clock.monotonic())
        return [(name, value) for name, value in headers if name != "Content-Length"], body

    def _answer(self, request: Request, exchange: Exchange) -> Response:
        match = self._router.match(request.segments)
        if match is None:
            raise ApiError("NOT_FOUND", "There is nothing at this path.")
        # HEAD is GET without the body: the same route, the same cost.
        method = "GET" if request.method == "HEAD" else request.method
        exchange.route = match.by_method.get(method) or next(iter(match.by_method.values()))
        if request.method == "OPTIONS":
            return _options(match)
        if method not in match.by_method:
            raise ApiError(
                "METHOD_NOT_ALLOWED",
                f"{request.method} is not served here.",
                headers={"Allow": _allow(match)},
            )
        return self._call(request, exchange.route, match.path_params, exchange)

    def _call(
        self, request: Request, route: Route, path_params: Mapping[str, str], exchange: Exchange
    ) -> Response:
        app = self.app
        now = app.clock.now()
        caller = exchange.caller = self._authenticate(request, route, now)
        if route.zone is not None:
            # An unverified caller is charged to its address, so that inventing keys buys no fresh bucket.
            key = ("user", caller.id) if caller else ("address", request.address)
            exchange.decision = self._take(limiter(route.zone, caller), key)
        elif route.auth != "none" and caller is None:
            # A wrong credential counts against its address, also where a right one is not counted.
            self._take("app", ("address", request.address))
        if route.auth != "none" and caller is None:
            raise unauthorized(route.auth)
        if caller is not None and caller.period_end is not None and caller.period_end <= iso(now):
            plans.refill(app, caller.id, now)
        question, wrong = self._asked(route, path_params, request)
        if route.cacheable and wrong is None:
            exchange.tag = _tag(route, question, caller.data_stamp if caller else "", request)
            held = held_etag(request.headers.get("if-none-match", ""), exchange.tag)
            if held is not None:
                return Response(304, b"", headers={"ETag": held, "Vary": _vary(route)})
        body, wrong = self._read_body(request, route, wrong) if route.body is not None else ({}, wrong)
        call = Call(app, route, request, exchange.request_id, now, caller, question.params, body)
        if route.idempotent and idempotency.HEADER.lower() in request.headers:
            if wrong is not None:
                raise wrong
            return self._once(call)
        with billing.charged(app, caller.id if caller else 0, route.name, route.cost, exchange.request_id):
            # Inside the charge: a balance below the cost is 402 whatever else is wrong (CONTRACT 4).
            if wrong is not None:
                raise wrong
            response = self._answered(call, exchange.tag)
            if request.deadline is not None and app.clock.monotonic() > request.deadline:
                raise ApiError("TIMEOUT", "The call took longer than the server allows.")
        exchange.charged = route.cost
        return response

    def _asked(
        self, route: Route, path_params: Mapping[str, str], request: Request
    ) -> tuple[Question, ApiError | None]:
        """What the parameters mean, or what is wrong with them: that is found anew each time."""
        try:
            key = (route.method, request.target)
            return self._questions.get(None, key, lambda: _read(route, path_params, request.query)), None
        except ApiError as error:
            return NO_QUESTION, error

    def _answered(self, call: Call, tag: str | None) -> Response:
        """What the handler answers, or answered before to the same question of the same data."""
        if tag is None or call.caller is None:
            return call.route.handler(call)
        kept: Response = self.app.answers.get(call.caller.data_stamp, tag, lambda: call.route.handler(call))
        end = call.own_end if kept.end else b""
        return Response(kept.status, kept.body, kept.content_type, dict(kept.headers), end)

    def _once(self, call: Call) -> Response:
        """The answer of a call with an ``Idempotency-Key``: the kept one, or that of doing it now."""
        assert call.caller is not None
        key = call.request.headers[idempotency.HEADER.lower()]
        # Whatever is asked for: what stands in the path as well as in the body.
        asked = dumps([sorted(call.params.items()), sorted(call.body.items())])
        once = idempotency.once(call.caller.id, call.route.name, key, asked)
        try:
            with self.app.db.read() as tx:
                kept = once.answered(tx, call.now)
            if kept is None:
                return call.route.handler(replace(call, once=once))
        except Refused:
            # Another call with this key was first; what this one did is rolled back.
            with self.app.db.read() as tx:
                kept = once.answered(tx, call.now)
            if kept is None:
                raise
        answer = json.loads(kept)
        if "request_id" in answer:
            # Each call has an id of its own, this one too (CONTRACT 2).
            answer |= {"request_id": call.request_id, "timestamp": iso(call.now)}
        return Response(200, dumps(answer), headers={"Idempotent-Replayed": "true"})

    def _authenticate(self, request: Request, route: Route, now: datetime) -> Caller | None:
        if route.auth == "none":
            return None
        said = request.headers.get("authorization", "")
        if route.auth == "session" or (route.auth == "either" and said):
            scheme, _, token = said.partition(" ")
            if scheme.lower() != "bearer":
                return None
            with self.app.db.glance() as tx:
                return accounts.by_session(self.app, tx, token.strip(), now)
        key = request.headers.get("x-api-key") or request.query.get("apiKey", [""])[0]
        if not key and route.key_in_body:
            key = _key_in(request)
        return accounts.by_key(self.app, key)

    def _take(self, name: str, key: object) -> Decision:
        """Take from a limit, or raise the 429; its headers come from the decision."""
        decision = self.app.limiters[name].take(key, self.app.clock.monotonic())
        if decision.allowed:
            return decision
        headers = {}
        # The gateway zones carry no rate-limit headers on a 429 (SPEC "Errors" 1).
        if name not in GATEWAY_ZONES:
            headers = self._rate_limit_headers(decision)
            headers["Retry-After"] = str(math.ceil(decision.retry_after))
        raise ApiError("RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.", headers=headers)

    def _read_body(
        self, request: Request, route: Route, wrong: ApiError | None
    ) -> tuple[dict[str, Any], ApiError | None]:
        try:
            body = read_body(route.body or (), request.read_json())
            if route.email_limit is not None:
                self._take(route.email_limit, ("email", body["email"]))
        except ApiError as error:
            return {}, wrong or error
        return body, wrong

    def _error(self, exchange: Exchange, error: ApiError) -> Response:
        exchange.code = error.code
        body: dict[str, Any] = {
            "status": "error",
            "error": error.code,
            "code": error.code,
            "message": error.message,
        }
        if error.details is not None:
            body["details"] = error.details
        body.update(error.beside)
        body["request_id"] = exchange.request_id
        body["timestamp"] = iso(self.app.clock.now())
        return Response(error.status, dumps(body), headers=dict(error.headers))

    def _finish(self, response: Response, exchange: Exchange) -> tuple[str, list[tuple[str, str]], bytes]:
        """Status line, every header, and the bytes to send."""
        request, route = exchange.request, exchange.route
        keyed = route is not None and route.auth in ("key", "either")
        headers = {
            "X-API-Version": __version__,
            "X-Request-ID": (request and caller_request_id(request)) or exchange.request_id,
            "X-Content-Type-Options": "nosniff",
            # Private and to be asked again each time: a 304 costs nothing, a stale figure might.
            "Cache-Control": "private, no-cache" if exchange.tag and response.status < 400 else "no-store",
            **response.headers,
        }
        if route is not None and route.deprecated is not None:
            headers.update(route.deprecated.headers)
        if keyed:
            headers["Access-Control-Allow-Origin"] = "*"
            headers["Access-Control-Expose-Headers"] = EXPOSED
        if route is not None and route.cost and request is not None and request.method != "OPTIONS":
            headers["X-Tokens-Charged"] = str(exchange.charged)
        if exchange.decision is not None and response.status < 300:
            headers.update(self._rate_limit_headers(exchange.decision))
        body = response.body + response.end
        gzipped = request is not None and request.wants_gzip and len(body) > GZIP_FROM
        if len(body) > GZIP_FROM or exchange.tag:
            headers["Vary"] = _vary(route)
        if gzipped:
            # Without a limit a stranger asks for megabytes as often as it likes.
            body = gzip_of_many(body) if route is not None and route.zone is None else gzip(body)
            headers["Content-Encoding"] = "gzip"
        if exchange.tag and response.status == 200:
            headers["ETag"] = coded_etag(exchange.tag, gzipped=gzipped)
        if response.status not in (204, 304):
            headers["Content-Type"] = response.content_type
            headers["Content-Length"] = str(len(body))
        if request is not None and request.method == "HEAD":
            body = b""
        phrase = http.client.responses.get(response.status, "")
        return f"{response.status} {phrase}", list(headers.items()), body

    def _rate_limit_headers(self, decision: Decision) -> dict[str, str]:
        reset = self.app.clock.now().timestamp() + decision.reset_after
        return {
            "X-RateLimit-Limit": str(decision.limit),
            "X-RateLimit-Remaining": str(decision.remaining),
            "X-RateLimit-Reset": str(math.ceil(reset)),
        }

    def _log(self, exchange: Exchange, status: int, size: int, started: float) -> None:
        request, route = exchange.request, exchange.route
        seconds = self.app.clock.monotonic() - started
        # By the route's own path: one made up by a caller would be a series of its own.
        of = (route.method, route.path) if route is not None else ("", "")
        refusal = None if exchange.code is None else (exchange.code, (route and route.zone) or "")
        self.app.metrics.request((*of, str(status)), seconds, exchange.charged, refusal)
        if not log.isEnabledFor(logging.INFO):
            return
        log.info(
            "request",
            extra={
                "fields": {
                    "method": request.method if request else "",
                    # Without the query, which may hold a key.
                    "path": request.path[:200] if request else "",
                    "status": status,
                    "bytes": size,
                    "ms": round(seconds * 1000, 2),
                    "address": request.address if request else "",
                    "user": exchange.caller.uuid if exchange.caller else None,
                    "tokens": exchange.charged,
                    "request_id": exchange.request_id,
                }
            },
        )


_CODE_OF_STATUS = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    429: "RATE_LIMIT_EXCEEDED",
    408: "REQUEST_TIMEOUT",
    413: "PAYLOAD_TOO_LARGE",
    414: "URI_TOO_LONG",
    417: "EXPECTATION_FAILED",
    431: "HEADERS_TOO_LARGE",
    501: "NOT_IMPLEMENTED",
    503: "UNAVAILABLE",
    504: "TIMEOUT",
    505: "HTTP_VERSION_NOT_SUPPORTED",
}


def _key_in(request: Request) -> str:
    """The key in a JSON body; what cannot be read of a stranger's body is no key, and is charged as such."""
    try:
        key = request.read_json().get("api_key")
    except ApiError:
        return ""
    return key if isinstance(key, str) else ""


def _read(route: Route, path_params: Mapping[str, str], query: Mapping[str, list[str]]) -> Question:
    for name in route.unserved:
        if name in query:
            raise invalid_param(name, f"{name} is not served: this list cannot be filtered by it.")
    params = read_all(route.params, path_params, query)
    return Question(params, json.dumps([__version__, route.path, params], sort_keys=True, default=str))


def _tag(route: Route, question: Question, data_stamp: str, request: Request) -> str:
    table = request.preferred(TABLES) if route.lists else None
    return hashlib.sha256(f"{data_stamp} {table} {question.text}".encode()).hexdigest()[:32]


def _vary(route: Route | None) -> str:
    return "Accept, Accept-Encoding" if route is not None and route.lists else "Accept-Encoding"


def _allow(match: Match) -> str:
    methods = set(match.by_method) | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def _options(match: Match) -> Response:
    allow = _allow(match)
    headers = {"Allow": allow}
    if any(route.auth in ("key", "either") for route in match.by_method.values()):
        headers["Access-Control-Allow-Methods"] = allow
        headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        headers["Access-Control-Max-Age"] = "86400"
    return Response(204, b"", headers=headers)
