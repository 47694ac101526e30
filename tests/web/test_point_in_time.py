"""Answers for a past day (``as_of``): each operation honours the parameter or refuses it with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.web.http.route import API, Route
from finapi.web.openapi import build_document
from finapi.web.point_in_time import RULES
from finapi.web.routes import ROUTES
from tests.client import PASSWORD, Client
from tests.conftest import ACCOUNTS, NOW

OPERATIONS = [route for route in ROUTES if not route.page]
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
    assert api.get(f"{API}/sec/forms?AS_OF={DAY}").json["details"]["param"] == "as_of"
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
