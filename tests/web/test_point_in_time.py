"""Answers for a past day (``as_of``): each operation honours the parameter or refuses it with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core import days
from finapi.web.http.route import API, Route
from finapi.web.openapi import build_document
from finapi.web.point_in_time import RULES
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.client import PASSWORD, Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.golden.asking import RequestLine, parse_request, read_areas
from tests.support.filing_order import END, DatedWorld, FilingOrder

OPERATIONS = [route for route in ROUTES if not route.page]
ROUTER = Router(ROUTES)
DAY = "2015-01-01"
PATH_EXAMPLES = {"accession_number": "0000320193-25-000057", "name": "paging", "badge": "main_api.svg"}


@pytest.fixture(scope="module")
def api(make_stored: Callable[..., App]) -> Client:
    app = make_stored(**ACCOUNTS, pages="public")
    return Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)


def fill_path(route: Route) -> str:
    """Return the path of a route with an example for each of its parameters."""
    examples = {param.name: str(param.example) for param in route.params if param.location == "path"}
    return re.sub(r"{(\w+)}", lambda match: PATH_EXAMPLES.get(match[1]) or examples[match[1]] or "x", route.path)


def test_each_call_of_the_api_has_a_rule_of_its_own() -> None:
    """A call that is missing refuses as_of, but its reason should be written down."""
    calls = {route.name for route in OPERATIONS if route.path.startswith(API)}
    assert calls - RULES.keys() == set()
    assert RULES.keys() - {route.name for route in ROUTES} == set()


@pytest.mark.parametrize("route", [route for route in ROUTES if route.as_of_rule.kind != "honoured"], ids=repr)
def test_a_route_that_does_not_honour_as_of_refuses_it(api: Client, route: Route) -> None:
    session = None
    if route.auth == "session":
        session = api.post(f"{API}/auth/login", {"email": "ann@example.com", "password": PASSWORD}).json["token"]
    options = {} if route.body is None else {"json": {"as_of": DAY}}
    path = fill_path(route) + ("" if options else f"?as_of={DAY}")
    answer = api.call(route.method, path, session=session, **options)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", "as_of")
    assert answer.json["message"] == f"as_of is not supported by this call: {route.as_of_rule.reason}."


@pytest.mark.parametrize("route", [route for route in ROUTES if route.as_of_rule.kind == "honoured"], ids=repr)
def test_a_route_that_honours_as_of_declares_it(route: Route) -> None:
    params = [*route.params, *(route.body or ())]
    (as_of,) = [param for param in params if param.name == "as_of"]
    assert (as_of.kind, as_of.location) == ("date", "query" if route.body is None else "body")


def test_as_of_is_refused_in_any_spelling(api: Client) -> None:
    assert api.get(f"{API}/sec/forms?AS_OF=no-day").json["details"]["param"] == "as_of"
    assert api.get(f"{API}/account/balance?As_Of={DAY}").json["details"]["param"] == "as_of"


def test_as_of_is_refused_where_unknown_names_are_reported(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS, unknown_parameters="report")
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)
    assert api.get(f"{API}/cusip/stats?as_of={DAY}").status == 400


def test_the_document_states_the_rule_of_each_operation() -> None:
    paths = build_document("", ROUTES)["paths"]
    for route in OPERATIONS:
        rule = route.as_of_rule.kind
        if rule != "honoured":
            rule += f": {route.as_of_rule.reason}"
        assert paths[route.path][route.method.lower()]["x-as-of"] == rule


# ---- The proof: a service that has only the documents filed up to a day gives the same answers


@pytest.fixture(scope="module")
def order() -> FilingOrder:
    return FilingOrder()


@pytest.fixture(scope="module")
def full_world(order: FilingOrder) -> Iterator[DatedWorld]:
    world = DatedWorld(order)
    world.move_to(END)
    yield world
    world.close()


def list_honouring_requests(max_per_route: int) -> list[RequestLine]:
    """Return golden requests of calls that honour as_of."""
    requests_by_route: dict[str, list[RequestLine]] = {}
    for line in dict.fromkeys(line for area in read_areas().values() for line in area):
        if line in ("next", "again") or "as_of" in line or " ~ " in line:
            continue
        request = parse_request(line)
        route = find_route(request)
        if route is not None and route.as_of_rule.kind == "honoured" and not route.page:
            requests_by_route.setdefault(route.name, []).append(request)
    return [request for requests in requests_by_route.values() for request in requests[:max_per_route]]


def find_route(request: RequestLine) -> Route | None:
    match = ROUTER.match(tuple(request.target.partition("?")[0].strip("/").split("/")))
    return match.by_method.get(request.method) if match else None


def send(client: Client, request: RequestLine, as_of: str | None) -> Answer:
    target, body = request.target, request.body
    if as_of is not None and body is not None:
        body = {**body, "as_of": as_of}
    elif as_of is not None:
        target += ("&" if "?" in target else "?") + f"as_of={as_of}"
    options = {} if body is None else {"json": body}
    return client.call(request.method, target, **options)


def normalise(answer: Answer) -> Any:
    """Return an answer without its stamps and the repeated ``as_of``."""
    if not answer.headers["content-type"].startswith("application/json"):
        return answer.status, answer.body
    return answer.status, _without_stamps(answer.json)


STAMPS = {
    *("request_id", "timestamp", "generated_at", "as_of", "parsed_at", "first_seen_at", "last_seen_at"),
    *("updated_at", "stored_at", "createdAt", "updatedAt"),
}


def _without_stamps(member: Any) -> Any:
    if isinstance(member, dict):
        return {name: _without_stamps(value) for name, value in member.items() if name not in STAMPS}
    if isinstance(member, list):
        return [_without_stamps(value) for value in member]
    # Messages repeat the day too.
    return re.sub(r" filed by \d{4}-\d{2}-\d{2}", "", member) if isinstance(member, str) else member


def list_differences(full_world: DatedWorld, dated_world: DatedWorld, day: str, max_per_route: int) -> list[str]:
    """Return the requests whose answers for a day are not those of the service as it was on that day."""
    differences = []
    for request in list_honouring_requests(max_per_route):
        then = normalise(send(dated_world.client, request, None))
        now = normalise(send(full_world.client, request, day))
        if now != then:
            differences.append(f"{day} {request.text}\n  then: {then}\n  now:  {now}")
    return differences


def choose_days(order: FilingOrder, count: int) -> list[str]:
    """Return days of filings, and days before them, at even distances."""
    days_of_filings = [filed_at for filed_at in order.list_days() if filed_at <= END]
    days_before = [days.shift(filed_at, -1) for filed_at in days_of_filings]
    candidates = sorted({*days_of_filings, *days_before})
    return candidates[:: max(1, len(candidates) // count)][:count]


def check_days(order: FilingOrder, full_world: DatedWorld, count: int, max_per_route: int) -> None:
    dated_world = DatedWorld(order)
    differences: list[str] = []
    for day in choose_days(order, count):
        dated_world.move_to(day)
        dated_world.adopt_names(full_world)
        differences += list_differences(full_world, dated_world, day, max_per_route)
    dated_world.close()
    assert not differences, "\n".join(differences)


def test_answers_for_a_day_are_those_of_that_day(order: FilingOrder, full_world: DatedWorld) -> None:
    check_days(order, full_world, 3, 1)


@pytest.mark.slow
def test_answers_for_fifty_days_are_those_of_the_days(order: FilingOrder, full_world: DatedWorld) -> None:
    check_days(order, full_world, 50, 20)
