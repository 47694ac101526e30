"""One call, step by step.

:func:`answer_call` names the steps in their order (docs/ARCHITECTURE.md, "A billed call"). A step records in the
:class:`Exchange` what later steps, the headers and the access log need. It raises an ApiError to refuse the call.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from finapi.accounts import billing, logins, plans, users
from finapi.accounts.billing import Charge
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.cpu_allowance import CpuMeter
from finapi.core.errors import ApiError
from finapi.core.limits import Decision
from finapi.store import idempotency
from finapi.web import access_log, exports, response_cache, responses
from finapi.web.exchange import Exchange
from finapi.web.http.call import OPENAPI_PATH, Call, limiter_name, unauthorized
from finapi.web.http.idempotent_calls import answer_once
from finapi.web.http.messages import (
    Request,
    Response,
    build_etag,
    find_matching_etag,
    has_if_none_match_star,
    parse_environ,
    read_api_key,
)
from finapi.web.http.names import shorten_names
from finapi.web.http.route import CALLER_ZONES, GATEWAY_ZONES, PUBLIC_BODY, Route
from finapi.web.responses import Answer, internal_error, timeout_error
from finapi.web.route_table import RouteTable
from finapi.web.router import Match
from finapi.web.validation import (
    NO_PARAMETERS,
    CallInput,
    build_unknown_name_refusal,
    find_as_of_error,
    list_unknown_body_names,
    match_query_names,
    read_call_body,
)

if TYPE_CHECKING:
    from finapi.client.exchange import ApiAnswer, ApiRequest

log = logging.getLogger("finapi.access")


def answer_call(app: App, table: RouteTable, exchange: Exchange, parse: Callable[[], Request]) -> Answer:
    """Answer a request. Return the status line, the headers and the body.

    ``parse`` returns the request. If the response is a stream, the body is empty and ``exchange.stream`` is set.
    """
    try:
        request = parse_request(exchange, parse)
        match = find_path(app, table, exchange, request)
        if request.method == "OPTIONS":
            response = responses.build_options(match)
        else:
            now = app.clock.now()
            route = find_route(match, request)
            caller = authenticate(app, exchange, route, request, now)
            apply_limits(app, exchange, route, request)
            require_caller(route, caller, request)
            refill_tokens(app, caller, now)
            check_cpu_allowance(exchange, route, request)
            request, unknown_names = match_query_names(route, request)
            call_input = validate(app, table, route, match.path_params, request, unknown_names)
            exchange.ignored_names = call_input.ignored_names
            not_modified = compare_etag(app, exchange, route, caller, call_input, request)
            if not_modified is not None:
                response = not_modified
            else:
                call = build_call(app, table, exchange, route, caller, call_input, request, now)
                error = call_input.error or find_unknown_company_error(call, exchange)
                if error is not None:
                    refuse_uncharged(call, exchange, error)
                charge = charge_call(call, exchange)
                response = run_handler(call, exchange, charge)
    except Exception as error:
        response = responses.build_failure(app, exchange, error)
    exchange.logged_in_uuid = response.logged_in_uuid
    answer = finish(app, exchange, response)
    if exchange.claim("call"):  # Otherwise the server has answered in place of the call, and has logged that.
        access_log.log_call(app, exchange, int(answer[0][:3]), len(answer[2]))
    return answer


# ---- parse, find the route

MAX_NAMED_PATH_CHARACTERS = 100  # Maximum length of the part of an unknown path that the message repeats.


def parse_request(exchange: Exchange, parse: Callable[[], Request]) -> Request:
    """Return the parsed request. Raise the error of its path or query, or the refusal that ``parse`` raises."""
    request = exchange.request = parse()
    if request.target_error is not None:
        raise request.target_error
    return request


def find_path(app: App, table: RouteTable, exchange: Exchange, request: Request) -> Match:
    """Return the routes of the request's path. Raise NOT_FOUND if there is none."""
    match = table.match(request.segments)
    if match is None:
        docs = f"{app.config.public_url}{OPENAPI_PATH}"
        message = f"finapi has nothing at {request.path[:MAX_NAMED_PATH_CHARACTERS]}; see {docs} for all calls."
        raise ApiError("NOT_FOUND", message, details={"docs": docs})
    exchange.route = match.get_route_or_any(_route_method(request))
    return match


def find_route(match: Match, request: Request) -> Route:
    """Return the route for the request's method. Raise METHOD_NOT_ALLOWED if the path has none."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ApiError("UNSUPPORTED_MEDIA_TYPE", "Content-Encoding is not supported for request bodies.")
    route = match.by_method.get(_route_method(request))
    if route is None:
        message = f"This path does not take {request.method[:20]}; it takes {match.allow}."
        details = {"allowed": match.allow.split(", ")}
        raise ApiError("METHOD_NOT_ALLOWED", message, details=details, headers={"Allow": match.allow})
    return route


def _route_method(request: Request) -> str:
    """Return the method by which to find the route. HEAD has the route and the cost of GET."""
    return "GET" if request.method == "HEAD" else request.method


# ---- authenticate


def authenticate(app: App, exchange: Exchange, route: Route, request: Request, now: datetime) -> Caller | None:
    """Return the caller for the handler, or None. The exchange records the caller for the limits.

    On public routes the handler gets None, and a credential only affects the limit. Only pages recognise the session in
    their cookie there.
    """
    is_public = route.auth == "none"
    if not is_public or route.zone in CALLER_ZONES:
        exchange.caller = find_caller(app, route, request, now)
    if not is_public:
        return exchange.caller
    if not route.page:
        return None
    from finapi.web.pages import session_cookie

    token = session_cookie.find_session_token(app, request)
    if not token:
        return None
    # Only pages read the cookie, so that forms on other sites cannot call the API with it (CSRF).
    with app.accounts.read_one() as tx:
        exchange.caller = users.find_caller_by_session(app, tx, token, now)
    return exchange.caller


def find_caller(app: App, route: Route, request: Request, now: datetime) -> Caller | None:
    """Return the caller of a request by its session token or its API key, or None if neither is valid."""
    authorization = request.headers.get("authorization", "")
    if route.auth == "session" or (route.auth != "key" and authorization):
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        with app.accounts.read_one() as tx:
            return users.find_caller_by_session(app, tx, token.strip(), now)
    key = read_api_key(request, bearer=route.key_as_bearer)
    if not key and route.key_in_body:
        key = _read_key_in_body(request)
    return users.find_cached_caller(app, key) if key else None


def _read_key_in_body(request: Request) -> str:
    """Return the member ``api_key`` of a JSON body, or an empty text."""
    try:
        key = request.read_json(PUBLIC_BODY).get("api_key")
    except ApiError:
        return ""
    return key if isinstance(key, str) else ""


# ---- limit


def apply_limits(app: App, exchange: Exchange, route: Route, request: Request) -> None:
    """Count the call in the limits of its route. Raise RATE_LIMIT_EXCEEDED if one is used up."""
    if route.zone is None:
        if route.auth != "none" and exchange.caller is None:
            # A wrong credential counts against its address, even on routes where valid ones are not limited.
            take_from_limit(app, "app", ("address", request.address))
        return
    # A caller without a valid key counts against its address, so that each invented key does not get a new limit.
    key = ("user", exchange.caller.id) if exchange.caller else ("address", request.address)
    exchange.limit_decision = take_from_limit(app, limiter_name(route.zone, exchange.caller), key)
    exchange.cpu_meter = CpuMeter(app.refunded_cpu, key)
    network = logins.parent_network(request.address) if route.network_limit else None
    if route.network_limit and network:
        take_from_limit(app, route.network_limit, ("network", network))


def take_from_limit(app: App, limit_name: str, key: object) -> Decision:
    """Count a call in a limit. Return the decision, or raise RATE_LIMIT_EXCEEDED with its headers."""
    decision = app.limiters[limit_name].take(key, app.clock.monotonic())
    if decision.allowed:
        return decision
    # The gateway zones have no rate-limit headers on a 429 (DECISIONS 5).
    headers: dict[str, str] = {}
    if limit_name not in GATEWAY_ZONES:
        headers = decision.build_headers(app.clock.now(), is_per_node=app.config.has_nodes)
    raise ApiError("RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.", headers=headers)


def require_caller(route: Route, caller: Caller | None, request: Request) -> None:
    """Raise UNAUTHORIZED if the route needs a credential and the request has no valid one."""
    if route.auth != "none" and caller is None:
        raise unauthorized(route.auth, request)


def refill_tokens(app: App, caller: Caller | None, now: datetime) -> None:
    """Start the caller's new token period if the last one has ended and the worker has not noticed that yet."""
    if caller is not None and caller.period_end is not None and caller.period_end <= iso(now):
        plans.refill(app, caller.id, now)


def check_cpu_allowance(exchange: Exchange, route: Route, request: Request) -> None:
    """Raise RATE_LIMIT_EXCEEDED if refunded calls of the caller have used their CPU time.

    A call with an ``Idempotency-Key`` is checked later: a stored response takes precedence over any refusal.
    """
    if exchange.cpu_meter is not None and not has_idempotency_key(route, request):
        exchange.cpu_meter.check()


def has_idempotency_key(route: Route, request: Request) -> bool:
    """Return True if the call carries an ``Idempotency-Key`` that its route accepts."""
    return route.idempotent and idempotency.HEADER.lower() in request.headers


# ---- validate


def validate(
    app: App,
    table: RouteTable,
    route: Route,
    path_params: Mapping[str, str],
    request: Request,
    unknown_names: tuple[str, ...],
) -> CallInput:
    """Return the parameters, the body, and the first mistake in them.

    The mistake is returned and not raised, because a balance that is too low comes first (DECISIONS 4).
    ``unknown_names`` are those of the query. They are a mistake unless the operator's settings only report them.
    """
    parameters, body, error = NO_PARAMETERS, {}, None
    try:
        parameters = table.parameters.read(route, path_params, request)
    except ApiError as parameter_error:
        error = parameter_error
    if route.body is not None:
        try:
            body = read_call_body(route, request)
            if route.email_limit is not None:
                take_from_limit(app, route.email_limit, ("email", body["email"]))
        except ApiError as body_error:
            body, error = {}, error or body_error
        unknown_names += list_unknown_body_names(route, request)
    error = find_as_of_error(route, request) or error
    if unknown_names and app.config.unknown_parameters == "refuse":
        error = error or build_unknown_name_refusal(route, unknown_names[0])
    return CallInput(parameters, body, error, shorten_names(unknown_names))


# ---- compare the ETag


def compare_etag(
    app: App, exchange: Exchange, route: Route, caller: Caller | None, call_input: CallInput, request: Request
) -> Response | None:
    """Return a free 304 if the caller has the response already, else None.

    The comparison comes before the charge and the handler's work.
    """
    if not route.cacheable or call_input.error is not None:
        return None
    data_stamp = caller.data_stamp if caller else ""
    exchange.tag = response_cache.compute_tag(data_stamp, route, call_input, request)
    etag = find_matching_etag(request.headers.get("if-none-match", ""), exchange.tag)
    if etag is None and has_if_none_match_star(request):
        etag = response_cache.find_etag(app, data_stamp, exchange.tag, request)
    return None if etag is None else responses.build_not_modified(route, etag)


# ---- charge


def build_call(
    app: App,
    table: RouteTable,
    exchange: Exchange,
    route: Route,
    caller: Caller | None,
    call_input: CallInput,
    request: Request,
    now: datetime,
) -> Call:
    """Return the Call, which is the handler's argument."""
    return Call(
        app=app,
        route=route,
        request=request,
        request_id=exchange.request_id,
        now=now,
        caller=caller,
        params=call_input.parameters.values,
        body=call_input.body,
        ignored_names=call_input.ignored_names,
        release_callbacks=exchange.release_callbacks,
        route_table=table.list_routes,
        call_api=partial(answer_inner_call, app, table, request),
    )


def find_unknown_company_error(call: Call, exchange: Exchange) -> ApiError | None:
    """Return the 404 of a billed call whose ticker or CIK is not stored. Return None if the call has to be charged.

    The handler raises the error, because only it knows the message and the day of the data. Its work is small: it
    looks up the company first. Raise insufficient_tokens (402) before that work.
    """
    ticker = call.params.get("ticker")
    if not call.route.cost or not isinstance(ticker, str) or response_cache.is_cached(call, exchange.tag):
        return None
    from finapi.market.reference import companies

    with call.app.db.read_one() as tx:
        if companies.is_known(tx, ticker):
            return None
    check_balance(call)
    try:
        call.route.handler(select_day(call))
    except ApiError as error:
        return error if error.status == 404 else None
    return None


def refuse_uncharged(call: Call, exchange: Exchange, error: ApiError) -> NoReturn:
    """Raise an error that is known before the work, or insufficient_tokens (402) if the balance is below the cost.

    Nothing is charged, so the ledger has no row of the call. Its CPU time counts like that of a refunded call.
    """
    if exchange.cpu_meter is not None:
        exchange.cpu_meter.count()
    check_balance(call)
    raise error


def check_balance(call: Call) -> None:
    """Raise insufficient_tokens (402) if the caller's balance is below the cost of the call."""
    if call.caller is not None:
        billing.check_balance(call.app, call.caller.id, call.route.cost)


def charge_call(call: Call, exchange: Exchange) -> Charge:
    """Charge the cost of the call. Raise insufficient_tokens (402) if the balance is too low."""
    user_id = call.caller.id if call.caller else 0
    is_free = call.route.free_check is not None and call.route.free_check(call)
    exchange.cost = 0 if is_free else call.route.cost
    charge = billing.charge(call.app, user_id, call.route.name, exchange.cost, call.request_id)
    charge.cpu_meter = exchange.cpu_meter
    return charge


# ---- handle


def run_handler(call: Call, exchange: Exchange, charge: Charge) -> Response:
    """Return the response with its open charge. Refund the charge if anything fails."""
    response: Response | None = None
    try:
        response = find_response(call, exchange)
        # The route of a page is free, but its handler may have charged for the API calls that it makes.
        if response.charge is not None:
            charge = response.charge
            charge.cpu_meter = exchange.cpu_meter
        if response.is_preliminary:
            exchange.tag = None
        check_time(call, exchange)
        if response.complete is not None:
            response = response.complete(charge)
    except BaseException as failure:
        if response is not None and response.stream is not None:
            response.stream.close()
        if exchange.claim("call"):
            charge.refund(failure)
            raise
        # The server has answered 504 in place of the call, so the ledger records that as the reason of the refund.
        charge.refund(timeout_error())
        raise timeout_error() from None
    if response.status == 304 or response.status >= 400 or response.is_free:
        # An error that a handler returns instead of raising it is free too.
        charge.refund(ApiError("NOT_FOUND", "Nothing was sent that costs anything."))
        return replace(response, charge=None)
    exchange.tokens_charged = exchange.cost
    return replace(response, charge=charge)


def select_day(call: Call) -> Call:
    """Return the call with the data of the past day that it names (``as_of``)."""
    day = call.params.get("as_of") or call.body.get("as_of")
    return call.as_of(day) if day and call.route.as_of_rule.kind == "honoured" else call


def find_response(call: Call, exchange: Exchange) -> Response:
    """Return the response to a call from the handler, from the cache, or stored under an ``Idempotency-Key``."""
    call = select_day(call)
    if has_idempotency_key(call.route, call.request):
        return answer_idempotent_call(call, exchange)
    if exchange.tag is not None and has_if_none_match_star(call.request):
        return check_existence(call, exchange.tag)
    if call.route.tables and call.requested_table_type is not None:
        return exports.export_list(call)
    return response_cache.get_cached_or_call_handler(call, exchange.tag)


def check_existence(call: Call, tag: str) -> Response:
    """Return the 304 of ``If-None-Match: *`` if the call succeeds. Otherwise raise the error of the call.

    A list is requested with only one row, which is enough to find out. Other answers are computed and cached.
    """
    one_row_params = {param.name: 1 for param in call.route.params if param.name in ("limit", "size")}
    if one_row_params or call.requested_table_type is not None:
        call.route.handler(call._replace(params={**call.params, **one_row_params}))
    else:
        response_cache.get_cached_or_call_handler(call, tag)
    # The compression is a guess: nearly every answer is long enough, and both tags are accepted later.
    return responses.build_not_modified(call.route, build_etag(tag, gzipped=call.request.wants_gzip))


def check_time(call: Call, exchange: Exchange) -> None:
    """Raise TIMEOUT if the call took too long, or if the server has answered in place of the call."""
    deadline = call.request.deadline
    if deadline is not None and call.app.clock.monotonic() > deadline:
        raise timeout_error()
    if not exchange.claim("call"):
        raise timeout_error()


def answer_idempotent_call(call: Call, exchange: Exchange) -> Response:
    """Perform a call with an ``Idempotency-Key``, or return the response that is stored under its key."""

    def check_cpu_allowance() -> None:
        if exchange.cpu_meter is not None:
            exchange.cpu_meter.check()

    return answer_once(call, call.request.headers[idempotency.HEADER.lower()], check_cpu_allowance)


def answer_inner_call(app: App, table: RouteTable, outer: Request, inner: ApiRequest) -> ApiAnswer:
    """Answer a call of the API that a handler makes for its caller, such as a tool of the Model Context Protocol.

    ``outer`` is the request that the handler answers. Its credential, address and deadline apply to the inner call.
    """
    from finapi.client.exchange import ApiAnswer

    url = urlsplit(inner.url)
    environ = {
        "REQUEST_METHOD": inner.method,
        "REQUEST_URI": inner.url,
        "QUERY_STRING": url.query,
        "wsgi.input": io.BytesIO(inner.body),
        "finapi.deadline": outer.deadline,
    }
    headers = {name.lower(): value for name, value in inner.headers.items()}
    headers |= {"x-api-key": read_api_key(outer, bearer=True), "content-length": str(len(inner.body))}
    request = parse_environ(environ)._replace(headers=headers, address=outer.address, peer=outer.peer)
    exchange = Exchange(app.new_uuid(), app.clock.monotonic())
    status, response_headers, body = answer_call(app, table, exchange, lambda: request)
    if exchange.stream is not None:
        body = b"".join(exchange.stream)
    exchange.release()
    return ApiAnswer(int(status[:3]), {name.lower(): value for name, value in response_headers}, body)


# ---- finish


def finish(app: App, exchange: Exchange, response: Response) -> Answer:
    """Build the headers and bytes of a response, then settle its charge. If that fails, refund it and answer 500.

    The charge of a stream is settled or refunded when the stream ends.
    """
    try:
        answer = responses.finish(app, exchange, response)
    except Exception as error:
        log.error("the answer of request %s cannot be built", exchange.request_id, exc_info=error)
        failure = internal_error()
        exchange.tokens_charged = 0
        response.refund_charge(failure)
        exchange.release()
        response = responses.build_error(app, exchange, failure)
        answer = responses.finish(app, exchange, response)
    exchange.stream = response.finish_charge()
    return answer
