"""The WSGI application: one call from its environ to its response, and the only place that answers errors."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from finapi import __version__
from finapi.accounts import billing, logins, plans, users
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.cpu_allowance import CpuMeter
from finapi.core.errors import CODE_OF, ApiError, StoreUnavailableError, unwritable
from finapi.core.json import dumps
from finapi.core.limits import Decision
from finapi.core.watch import MARK
from finapi.store import idempotency
from finapi.store.idempotency import IdempotentCall
from finapi.web import exports
from finapi.web.exchange import (
    Exchange,
    HeldBody,
    ended,
    not_modified,
    overrun,
    unknown,
    vary,
    without_length,
)
from finapi.web.http.call import DOCS, LARGE_ANSWER, Call, limiter, own_end, table_kind, unauthorized
from finapi.web.http.messages import (
    GZIP_FROM,
    RENDERS_NOTHING,
    Request,
    Response,
    caller_request_id,
    client_address,
    coded_etag,
    deflated,
    deflated_of_many,
    has_if_none_match_star,
    held_etag,
    is_trusted,
    key_of,
    plain_get,
    read_request,
    segments,
    too_large,
)
from finapi.web.http.params import read_body
from finapi.web.http.route import CALLER_ZONES, GATEWAY_ZONES, PUBLIC_BODY, Route
from finapi.web.http.tables import MAX_ROWS
from finapi.web.questions import Questions, tag_of, tagged
from finapi.web.router import Match, Router
from finapi.web.routes import ROUTES, apply_costs

if TYPE_CHECKING:
    from finapi.client.exchange import ApiAnswer, ApiRequest

log = logging.getLogger("finapi.access")

# What a browser's script may read of a response, and send with a request (Fetch standard, CORS).
EXPOSED = (
    "X-API-Version, X-Request-ID, X-Tokens-Charged, X-RateLimit-Limit, X-RateLimit-Remaining, "
    "X-RateLimit-Reset, Retry-After, ETag, X-Has-More, X-Next-Cursor, X-Total-Count, X-Window, X-Total-Characters, "
    "Idempotent-Replayed, Deprecation, Sunset, Link"
)
ALLOWED_HEADERS = "X-API-Key, X-Request-ID, If-None-Match, Content-Type, Idempotency-Key"

# What a browser asks for: it is told of an error by a page, wherever it looked.
PAGES = ("text/html",)

# Status line, headers, body.
Answered = tuple[str, list[tuple[str, str]], bytes]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class _Table:
    """Routes as they are served at an operator's costs and windows."""

    def __init__(self, routes: Sequence[Route], costs: tuple[tuple[str, int], ...], default_windows: str) -> None:
        routes = apply_costs(routes, costs)
        windowless = default_windows == "all"
        served: Callable[[Route], Route] = Route.without_default_windows if windowless else lambda route: route
        self.served = cache(lambda: [*map(served, routes)])
        self.router = Router(routes, served)
        self.at_once = {route.path: (route, route.zone in CALLER_ZONES) for route in routes if route.can_be_cached}


# Shared by the worlds of a process: a table takes longer to make than the rest of a WsgiApp.
_standard = lru_cache(maxsize=8)(partial(_Table, ROUTES))


class WsgiApp:
    """finapi as a WSGI callable (PEP 3333). ``app`` may be replaced before the first call, not after."""

    def __init__(self, app: App, routes: Sequence[Route] = ROUTES) -> None:
        self.app = app
        self._warned = False  # of a proxy that is not trusted
        settings = app.config.costs, app.config.default_windows
        table = _standard(*settings) if routes is ROUTES else _Table(routes, *settings)
        self._routes, self._router, self._at_once = table.served, table.router, table.at_once
        self._questions = Questions()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic())
        environ["finapi.give_up"] = partial(self._give_up, exchange)
        if not self._warned and "HTTP_X_FORWARDED_FOR" in environ:
            self._warn(environ.get("REMOTE_ADDR", ""))
        status, headers, body = self._respond(exchange, lambda: read_request(environ, self.app.config.trusted_proxies))
        start_response(status, headers)
        if exchange.stream is not None:
            exchange.stream.cut = environ.get("finapi.cut", str)
            return exchange.stream
        return HeldBody(body, exchange.held) if exchange.held else [body]

    def at_once(self, target: str, headers: Mapping[str, str], peer: str) -> Answered | None:
        """Answer ``GET target`` if the response is in memory, else return None; called in the server's loop.

        Only routes with ``is_cached`` are answered here, so that they answer while a commit hangs. ``headers`` have the
        names of waitress, ``USER_AGENT``. Compression and a look-up of a credential take too long for the loop.
        """
        known_route = self._at_once.get(target)
        if known_route is None or "gzip" in headers.get("ACCEPT_ENCODING", ""):
            return None
        route, counts_for_caller = known_route
        if route.is_cached is None or not route.is_cached(self.app):
            return None
        if counts_for_caller and ("X_API_KEY" in headers or "AUTHORIZATION" in headers):
            return None
        proxies = self.app.config.trusted_proxies
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic())
        return self._respond(exchange, lambda: plain_get(target, headers, peer, proxies))

    def _warn(self, peer: str) -> None:
        """Say once that a proxy may stand in front that nobody trusts."""
        if not is_trusted(peer, self.app.config.trusted_proxies):
            self._warned = True
            log.warning(
                "%s sends X-Forwarded-For and is not trusted: if it is a proxy of yours, all its callers share one "
                "address and its limits until you name it: --trusted-proxies %s",
                peer,
                peer,
            )

    def address_of(self, peer: str, forwarded: str | None) -> str | None:
        """Whom a request counts for; without a header to go by, whom its connection: None for a trusted proxy's."""
        proxies = self.app.config.trusted_proxies
        if forwarded is None and is_trusted(peer, proxies):
            return None
        return client_address(peer, forwarded or "", proxies)

    def at_head(self, environ: Mapping[str, Any]) -> int | Answered:
        """How many bytes the body of a call may have, or what the call is refused with before they have come."""
        request = read_request(environ, self.app.config.trusted_proxies)
        match = None if request.wrong else self._router.match(request.segments)
        route = match.by_method.get(request.method) if match else None
        if route is not None:
            shown = route.without_key_in_body()
            try:
                known = route.auth == "none" or self._authenticate(request, shown, self.app.clock.now()) is not None
            except StoreUnavailableError as error:
                known, request = False, request._replace(wrong=unwritable(error))
            limit = min(route.body_limit if known else PUBLIC_BODY, self.app.config.body_limit)
            if known or route.key_in_body:  # where the key may still come
                if request.length <= limit:
                    return limit
                request = request._replace(wrong=too_large(limit))
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic(), route=route)
        return self._respond(exchange, lambda: request)

    def _respond(self, exchange: Exchange, read: Callable[[], Request]) -> Answered:
        try:
            request = exchange.request = read()
            if request.wrong is not None:
                raise request.wrong
            response = self._answer(request, exchange)
        except ApiError as error:
            if error.status >= 500 and error.__cause__ is not None:
                log.warning("request %s: %s: %s", exchange.request_id, error.code, error.__cause__)
            response = self._error(exchange, error)
        except StoreUnavailableError as error:
            response = self._error(exchange, unwritable(error))
        except Exception as error:
            # A call that a stop has left behind, and answered: its database is closed.
            if not self.app.db.closed:
                log.error("request %s failed", exchange.request_id, exc_info=error)
            response = self._error(exchange, unknown())
        try:
            answered = self._finish(response, exchange)
        except Exception as error:
            log.error("the answer of request %s cannot be made", exchange.request_id, exc_info=error)
            # The ledger says what the client is told.
            exchange.charged, failed = 0, unknown()
            response.refund_charge(failed)
            while exchange.held:
                exchange.held.pop()()
            response = self._error(exchange, failed)
            answered = self._finish(response, exchange)
        exchange.stream = response.settle_charge()
        if exchange.is_for("call"):
            self._log(exchange, response.status, len(answered[2]))
        return answered

    def error_response(
        self, status: int, reason: str, asked: tuple[str, str, str, str] = ("", "", "", "")
    ) -> tuple[list[tuple[str, str]], bytes]:
        """Headers and body for an error that the server answers in the application's place.

        ``asked`` is what is known of the request: method, target, X-Request-ID, address; empty when it was not read.
        """
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic())
        method, target, request_id, peer = asked
        path = target.partition("?")[0]
        exchange.request = Request(method, path, (), {}, {"x-request-id": request_id}, peer, None, None, [])
        with suppress(ApiError):
            match = self._router.match(segments(path)) if path else None
            exchange.route = None if match is None else match.one_of(method)
        code = CODE_OF.get(status, "BAD_REQUEST" if status < 500 else "INTERNAL")
        response = self._error(exchange, ApiError(code, reason))
        _, headers, body = self._finish(response, exchange)
        self._log(exchange, status, len(body))
        return without_length(headers), body

    def refusal(self, environ: Mapping[str, Any], error: ApiError) -> Answered:
        """What a call is answered that is refused before it is looked at."""
        request = read_request(environ, self.app.config.trusted_proxies)
        match = self._router.match(request.segments)
        route = None if match is None else match.one_of(request.method)
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic(), route=route)
        return self._respond(exchange, lambda: request._replace(wrong=error))

    def takes(self, environ: Mapping[str, Any], param: str) -> bool:
        """Whether the route of a call has a parameter of this name."""
        match = self._router.match(read_request(environ).segments)
        route = match and match.by_method.get(environ["REQUEST_METHOD"])
        return route is not None and any(one.name == param for one in route.params)

    def _give_up(self, exchange: Exchange, status: int) -> tuple[list[tuple[str, str]], bytes] | None:
        """The 504 of a call that has overrun its time, or the 503 at a stop; None when its own answer is on its way."""
        if not exchange.is_for("server"):
            return None
        told = replace(exchange)
        error = overrun() if status == 504 else ApiError("UNAVAILABLE", "The server is stopping.")
        _, headers, body = self._finish(self._error(told, error), told)
        self._log(told, status, len(body))
        return without_length(headers), body

    def _answer(self, request: Request, exchange: Exchange) -> Response:
        match = self._router.match(request.segments)
        if match is None:
            docs = f"{self.app.config.public_url}{DOCS}"
            raise ApiError("NOT_FOUND", f"No route has this path; {docs} describes all.", details={"docs": docs})
        # HEAD is GET without the body: the same route, the same cost.
        method = "GET" if request.method == "HEAD" else request.method
        exchange.route = match.one_of(method)
        if request.method == "OPTIONS":
            return _options(match)
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ApiError("UNSUPPORTED_MEDIA_TYPE", "Content-Encoding is not supported for request bodies.")
        if method not in match.by_method:
            allow = match.allow
            message = f"This path does not take {request.method[:20]}; it takes {allow}."
            details = {"allowed": allow.split(", ")}
            raise ApiError("METHOD_NOT_ALLOWED", message, details=details, headers={"Allow": allow})
        return self._call(request, exchange.route, match.path_params, exchange)

    def _call(self, request: Request, route: Route, path_params: Mapping[str, str], exchange: Exchange) -> Response:
        app = self.app
        now = app.clock.now()
        public = route.auth == "none"
        if not public or route.zone in CALLER_ZONES:
            exchange.caller = self._authenticate(request, route, now)
        # A public route knows nobody: who sent a key along is for the limit only.
        caller = None if public else exchange.caller
        if route.page and public:
            from finapi.web.pages import cookie

            if token := cookie.token_of(app, request):
                caller = exchange.caller = self._by_cookie(token, now)
        if route.zone is not None:
            # An unverified caller is charged to its address, so that inventing keys buys no fresh bucket.
            key = ("user", exchange.caller.id) if exchange.caller else ("address", request.address)
            exchange.decision = self._take(limiter(route.zone, exchange.caller), key)
            exchange.cpu_meter = CpuMeter(app.refunded_cpu, key)
            wider = route.network_limit and logins.network(request.address)
            if route.network_limit and wider:
                self._take(route.network_limit, ("network", wider))
        elif not public and caller is None:
            # A wrong credential counts against its address, also where a right one is not counted.
            self._take("app", ("address", request.address))
        if not public and caller is None:
            raise unauthorized(route.auth, request)
        if caller is not None and caller.period_end is not None and caller.period_end <= iso(now):
            plans.refill(app, caller.id, now)
        is_repeatable = route.idempotent and idempotency.HEADER.lower() in request.headers
        if not is_repeatable:  # A stored response takes precedence over any refusal (DECISIONS 4).
            exchange.check_cpu()
        question, wrong = self._questions.read(route, path_params, request)
        if route.cacheable and wrong is None:
            stamp = caller.data_stamp if caller else ""
            exchange.tag = tag_of(stamp, tagged(route, question, request))
            held = held_etag(request.headers.get("if-none-match", ""), exchange.tag)
            if held is None and has_if_none_match_star(request):
                held = self._find_stored_etag(request, exchange, stamp, exchange.tag)
            if held is not None:
                return not_modified(route, held)
        body, wrong = self._read_body(request, route, wrong) if route.body is not None else ({}, wrong)
        given = (question.params, body, exchange.held, self._routes)
        ask = partial(self._asked_within, request)
        call = Call(app, route, request, exchange.request_id, now, caller, *given, ask=ask)
        if is_repeatable:
            if wrong is not None:
                raise wrong
            return self._answer_idempotent(call, exchange)
        return self._charged(call, exchange, wrong)

    def _asked_within(self, outer: Request, asked: ApiRequest) -> ApiAnswer:
        """What a call is answered that another one makes: as if its caller had made it."""
        from finapi.client.exchange import ApiAnswer

        parts = urlsplit(asked.url)
        headers = {name.lower(): value for name, value in asked.headers.items()}
        told = read_request(
            {
                "REQUEST_METHOD": asked.method,
                "REQUEST_URI": asked.url,
                "QUERY_STRING": parts.query,
                "wsgi.input": io.BytesIO(asked.body),
                "finapi.deadline": outer.deadline,
            }
        )
        request = told._replace(
            headers={**headers, "x-api-key": key_of(outer, bearer=True), "content-length": str(len(asked.body))},
            address=outer.address,
            peer=outer.peer,
        )
        exchange = Exchange(self.app.new_uuid(), self.app.clock.monotonic())
        status, sent, body = self._respond(exchange, lambda: request)
        HeldBody(body, exchange.held).close()
        return ApiAnswer(int(status[:3]), {name.lower(): value for name, value in sent}, body)

    def _charged(self, call: Call, exchange: Exchange, wrong: ApiError | None) -> Response:
        """Charge a call and answer it, unless something was wrong with it before. Refund the charge if that fails."""
        app, request, route = self.app, call.request, call.route
        user_id = call.caller.id if call.caller else 0
        charge = billing.charge(app, user_id, route.name, route.cost, exchange.request_id)
        charge.cpu_meter = exchange.cpu_meter
        try:
            # After the charge: a balance below the cost is 402 whatever else is wrong (DECISIONS 4).
            if wrong is not None:
                raise wrong
            if exchange.tag is not None and has_if_none_match_star(request):
                response = self._check_existence(call, exchange.tag)
            else:
                response = self._answered(call, exchange.tag)
            if response.charge is not None:  # A page's: its route is free.
                charge = response.charge
                charge.cpu_meter = exchange.cpu_meter
            if request.deadline is not None and app.clock.monotonic() > request.deadline:
                raise overrun()
            if not exchange.is_for("call"):
                raise overrun()
        except BaseException as error:
            if exchange.is_for("call"):
                charge.refund(error)
                raise
            # The server has answered in the meantime, and the ledger states that answer.
            charge.refund(overrun())
            raise overrun() from None
        if response.status == 304 or response.status >= 400:
            # Known only after the work, and free as any other.
            charge.refund(ApiError("NOT_FOUND", "Nothing was sent that costs anything."))
            return replace(response, charge=None)
        exchange.charged = route.cost
        return replace(response, charge=charge)

    def _answered(self, call: Call, tag: str | None) -> Response:
        """What the handler answers, or answered before to the same question of the same data."""
        if call.route.tables and call.table_kind is not None:
            return exports.answer(call)
        if tag is None or call.caller is None:
            return call.route.handler(call)
        kept: Response = self.app.answers.get(call.caller.data_stamp, tag, lambda: call.route.handler(call))
        if len(kept.body) > LARGE_ANSWER:
            call.hold_large()
        return ended(kept, call.own_end)

    def _check_existence(self, call: Call, tag: str) -> Response:
        """Return the 304 of ``If-None-Match: *``, or raise the error that there is instead of an answer.

        A list is asked for one row, which is enough to know. Other answers are computed and stored.
        """
        one_row = {param.name: 1 for param in call.route.params if param.name in ("limit", "size")}
        if one_row or call.table_kind is not None:
            call.route.handler(call._replace(params={**call.params, **one_row}))
        else:
            self._answered(call, tag)
        # Nearly every answer is long enough to be compressed, and either tag is accepted later.
        return not_modified(call.route, coded_etag(tag, gzipped=call.request.wants_gzip))

    def _find_stored_etag(self, request: Request, exchange: Exchange, stamp: str, tag: str) -> str | None:
        """Return the ``ETag`` of the answer with a tag if that answer is in memory, else None."""
        stored: Response | None = self.app.answers.find(stamp, tag, None)
        if stored is None:
            return None
        answer = ended(stored, own_end(exchange.request_id, self.app.clock.now()))
        is_long = len(answer.body) + len(answer.end) > GZIP_FROM
        return coded_etag(tag, gzipped=request.wants_gzip and is_long)

    def _answer_idempotent(self, call: Call, exchange: Exchange) -> Response:
        """Answer a call with an ``Idempotency-Key``: do it, or return the response stored under its key.

        A parallel call with the same key may do the work between the first look-up and the handler. The handler is
        then refused because of that work, or rolled back, and the stored response is the answer.
        """
        assert call.caller is not None
        key = call.request.headers[idempotency.HEADER.lower()]
        # Parameters of the path are part of what is asked for.
        body = dumps([sorted(call.params.items()), sorted(call.body.items())])
        idempotent_call = idempotency.build_call(call.caller.id, call.route.name, key, body)
        stored_response = self._find_stored_response(idempotent_call, call.now)
        if stored_response is None:
            try:
                exchange.check_cpu()
                return call.route.handler(call._replace(idempotent_call=idempotent_call))
            except Exception:
                stored_response = self._find_stored_response(idempotent_call, call.now)
                if stored_response is None:
                    exchange.count_cpu()
                    raise
        body_members = json.loads(stored_response)
        if "request_id" in body_members:
            # Each call has an id of its own, this one too (DECISIONS 2).
            body_members |= {"request_id": call.request_id, "timestamp": iso(call.now)}
        return Response(200, dumps(body_members), headers={"Idempotent-Replayed": "true"})

    def _find_stored_response(self, idempotent_call: IdempotentCall, now: datetime) -> bytes | None:
        with self.app.accounts.read() as tx:
            return idempotent_call.find_response(tx, now)

    def _authenticate(self, request: Request, route: Route, now: datetime) -> Caller | None:
        said = request.headers.get("authorization", "")
        if route.auth == "session" or (route.auth != "key" and said):
            scheme, _, token = said.partition(" ")
            if scheme.lower() != "bearer":
                return None
            with self.app.accounts.read_one() as tx:
                return users.by_session(self.app, tx, token.strip(), now)
        key = key_of(request, bearer=route.key_as_bearer)
        if not key and route.key_in_body:
            key = _key_in(request)
        return users.by_key(self.app, key) if key else None

    def _by_cookie(self, token: str, now: datetime) -> Caller | None:
        """Who a page is shown to. Pages alone take the cookie: no form of another site reaches the API with it."""
        with self.app.accounts.read_one() as tx:
            return users.by_session(self.app, tx, token, now)

    def _take(self, name: str, key: object) -> Decision:
        """Take from a limit, or raise the 429; its headers come from the decision."""
        decision = self.app.limiters[name].take(key, self.app.clock.monotonic())
        if decision.allowed:
            return decision
        headers = {}
        # The gateway zones carry no rate-limit headers on a 429 (DECISIONS 5).
        if name not in GATEWAY_ZONES:
            headers = decision.headers(self.app.clock.now())
        raise ApiError("RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.", headers=headers)

    def _read_body(
        self, request: Request, route: Route, wrong: ApiError | None
    ) -> tuple[dict[str, Any], ApiError | None]:
        try:
            fields = route.body or ()
            if route.lists and table_kind(request) is not None:
                fields = tuple(replace(one, most=MAX_ROWS) if one.name == "size" else one for one in fields)
            body = read_body(fields, request.read_json(route.body_limit))
            if route.email_limit is not None:
                self._take(route.email_limit, ("email", body["email"]))
        except ApiError as error:
            return {}, wrong or error
        return body, wrong

    def _error(self, exchange: Exchange, error: ApiError) -> Response:
        exchange.code = error.code
        request = exchange.request
        if request is not None and request.preferred(PAGES) is not None:
            from finapi.web.html import frame

            page = frame.error_page(self.app.config, error, request.path, exchange.request_id)
            page.headers.update(error.headers)
            return page
        body: dict[str, Any] = {"status": "error", "error": error.code, "code": error.code, "message": error.message}
        if error.details is not None:
            body["details"] = error.details
            if error.code == "INVALID_PARAM" and request is not None:
                body["message"] += _instead(error.details["param"], request)
        body.update(error.extra_fields)
        body["request_id"] = exchange.request_id
        body["timestamp"] = iso(self.app.clock.now())
        return Response(error.status, dumps(body), headers={**self._limit_headers(exchange, error), **error.headers})

    def _limit_headers(self, exchange: Exchange, error: ApiError) -> dict[str, str]:
        """Return the state of the rate limit for a 429 that another limit has caused (CONTRACT 5)."""
        decision, route = exchange.decision, exchange.route
        if error.code != "RATE_LIMIT_EXCEEDED" or decision is None or route is None or route.zone in GATEWAY_ZONES:
            return {}
        return decision.headers(self.app.clock.now())

    def _finish(self, response: Response, exchange: Exchange) -> Answered:
        """Return the status line, every header, and the bytes to send."""
        request, route = exchange.request, exchange.route
        headers = {
            "X-API-Version": __version__,
            "X-Request-ID": (request and caller_request_id(request)) or exchange.request_id,
            "X-Content-Type-Options": "nosniff",
            # Kept and asked for again: a 304 costs nothing, a stale figure might; its policy would replace the page's.
            **({} if response.status == 304 else {"Content-Security-Policy": RENDERS_NOTHING}),
            "Cache-Control": "private, no-cache" if exchange.tag and response.status < 400 else "no-store",
            **response.headers,
        }
        if route is not None and route.deprecated is not None:
            headers.update(route.deprecated.headers)
        # Without a route it is the error of a path that is none, or the server's own.
        if route is None or route.cross_origin:
            headers["Access-Control-Allow-Origin"] = "*"
            headers["Access-Control-Expose-Headers"] = EXPOSED
        if route is not None and route.tells_cost and request is not None and request.method != "OPTIONS":
            headers.setdefault("X-Tokens-Charged", str(exchange.charged))
        if exchange.decision is not None and response.status < 300:
            headers.update(exchange.decision.headers(self.app.clock.now()))
        body = response.body + response.end
        streams = response.stream is not None
        gzipped = request is not None and request.wants_gzip and (len(body) > GZIP_FROM or streams)
        gzipped = gzipped and not response.packed
        if len(body) > GZIP_FROM or exchange.tag or (streams and not response.packed):
            headers["Vary"] = vary(route)
        if streams and gzipped:
            headers["Content-Encoding"] = "gzip"
        elif gzipped:
            body = self._packed(response, exchange)
            headers["Content-Encoding"] = "gzip"
        if exchange.tag and response.status == 200:
            headers["ETag"] = coded_etag(exchange.tag, gzipped=gzipped)
        if streams:
            headers["Content-Type"] = response.content_type
        elif response.status not in (204, 304):
            headers["Content-Type"] = response.content_type
            headers["Content-Length"] = str(len(body))
        if request is not None and request.method == "HEAD":
            body = b""
        return _status_line(response.status), list(headers.items()), body

    def _packed(self, response: Response, exchange: Exchange) -> bytes:
        """The body compressed: of an answer that is kept all but its end once, for every call."""
        route, caller = exchange.route, exchange.caller
        if response.kept is not None and caller is not None:
            key, make = ("gzip", exchange.tag), partial(deflated, response.body)
            return self.app.answers.get(caller.data_stamp, key, make).ended(response.end)
        # Without a limit an unauthenticated caller asks for megabytes as often as it likes.
        pack = deflated_of_many if route is not None and route.zone is None else deflated
        return pack(response.body).ended(response.end)

    def _log(self, exchange: Exchange, status: int, size: int) -> None:
        request, route = exchange.request, exchange.route
        seconds = self.app.clock.monotonic() - exchange.started
        # By the route's own path: one made up by a caller would be a series of its own.
        of = (route.method, route.path) if route is not None else ("", "")
        refusal = None if exchange.code is None else (exchange.code, (route and route.zone) or "")
        plan = exchange.caller.plan if exchange.caller else None
        self.app.metrics.request((*of, str(status)), seconds, exchange.charged, refusal, plan)
        if not log.isEnabledFor(logging.INFO):
            return
        if request is not None and request.headers.get(_MARK) == self.app.watch.mark != "":
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


_MARK = MARK.lower()


def _instead(param: str, request: Request) -> str:
    """A sentence about a name that was given where a parameter is missing."""
    from finapi.core import guesses

    names = {**request.query, **(request.kept[0] if request.kept else {})}
    name = None if param in names else guesses.given_for(param, list(names)[:20])
    return "" if name is None else f" {name} is no parameter here; did you mean {param}?"


def _key_in(request: Request) -> str:
    """The key in a JSON body; an unreadable body has none."""
    try:
        key = request.read_json(PUBLIC_BODY).get("api_key")
    except ApiError:
        return ""
    return key if isinstance(key, str) else ""


@cache
def _status_line(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"


def _options(match: Match) -> Response:
    allow = match.allow
    headers = {"Allow": allow}
    if any(route.cross_origin for route in match.by_method.values()):
        headers["Access-Control-Allow-Methods"] = allow
        headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        headers["Access-Control-Max-Age"] = "86400"
    return Response(204, b"", headers=headers)
