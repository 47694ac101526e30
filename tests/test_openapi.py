"""The OpenAPI document: valid, complete, and true of what the routes do."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from finapi import __version__, accounts
from finapi.app import App
from finapi.errors import STATUS_OF
from finapi.web.call import Route
from finapi.web.openapi import document
from finapi.web.params import Param
from finapi.web.routes import ROUTES as TABLE
from finapi.web.routes import paths
from tests.api import COMPANY, FILING, put, report
from tests.client import Client

# Pages are for people: the document is of what programs call.
ROUTES = tuple(route for route in TABLE if not route.page)

DOCUMENT = document("https://api.example.com")

ALL_PARAMS = [
    pytest.param(route, param, id=f"{route.path} {param.name}") for route in ROUTES for param in route.params
]
each_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def parameter(route: Route, param: Param) -> dict[str, Any]:
    found = [
        one for one in operation(route)["parameters"] if (one["name"], one["in"]) == (param.name, param.place)
    ]
    assert len(found) == 1
    one: dict[str, Any] = found[0]
    return one


def test_the_document_is_valid_openapi_31() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_the_document_carries_the_version_of_the_api() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == __version__


@pytest.mark.parametrize(
    ("public_url", "server"), [("", "/"), ("https://api.example.com", "https://api.example.com")]
)
def test_the_document_names_the_address_that_the_operator_chose(public_url: str, server: str) -> None:
    assert document(public_url)["servers"] == [{"url": server}]


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    documented = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert documented == {(route.method, path) for route in ROUTES for path in paths(route)}


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation(route)["operationId"] for route in ROUTES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z][A-Za-z0-9_]*", name) for name in names)
    assert "get_xbrl_companies_ticker_statements" in names


@each_route
def test_an_operation_says_what_it_costs_and_who_may_call(route: Route) -> None:
    found = operation(route)
    assert found["x-token-cost"] == route.cost
    assert found["summary"] == route.summary
    ways = {
        "none": [],
        "key": ["key", "keyInQuery"],
        "session": ["session"],
        "either": ["session", "key", "keyInQuery"],
    }[route.auth]
    assert found["security"] == [{way: []} for way in ways]


@each_route
def test_an_operation_names_the_answers_that_it_can_give(route: Route) -> None:
    answers = set(operation(route)["responses"])
    expected = {"405", "500", "503", "504", *map(str, route.answers), *map(str, route.errors)}
    expected |= {"401", "404", "429"} if route.auth == "key" else set()
    expected |= {"402"} if route.cost else set()
    expected |= {"401"} if route.auth in ("session", "either") else set()
    expected |= {"429"} if route.zone else set()
    expected |= {"400"} if route.params or route.body is not None else set()
    expected |= {"413", "415"} if route.body is not None else set()
    expected |= {"304"} if route.cacheable else set()
    assert answers == expected


@each_route
def test_an_operation_lists_the_parameters_of_its_route(route: Route) -> None:
    listed = [(one["name"], one["in"]) for one in operation(route).get("parameters", [])]
    assert listed == [(param.name, param.place) for param in route.params]


@pytest.mark.parametrize(("route", "param"), ALL_PARAMS)
def test_a_parameter_is_named_and_described_so_that_any_tool_can_use_it(route: Route, param: Param) -> None:
    found = parameter(route, param)
    # The names that function-calling interfaces take.
    assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", found["name"])
    assert found["description"].endswith(".")
    assert found["required"] is param.required
    assert found["required"] or found["in"] == "query"


@pytest.mark.parametrize(("route", "param"), ALL_PARAMS)
def test_an_example_is_a_value_that_the_parameter_takes(route: Route, param: Param) -> None:
    assert param.example
    value = param.read(param.example)
    assert parameter(route, param)["example"] == ([value] if param.repeatable else value)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("ticker", {"type": "string", "minLength": 1, "maxLength": 1000}),
        ("period", {"type": "string", "enum": ["A", "Q"], "default": "A"}),
        ("form_type", {"type": "string", "minLength": 1, "maxLength": 1000}),
        ("year", {"type": "integer", "minimum": 1900, "maximum": 2200}),
        ("as_of", {"type": "string", "format": "date"}),
        ("basis", {"type": "string", "enum": ["latest", "original"], "default": "latest"}),
        ("consolidated_only", {"type": "boolean", "default": True}),
    ],
)
def test_a_parameter_of_the_statements_has_its_schema(name: str, schema: dict[str, Any]) -> None:
    path = "/api/v1/xbrl/companies/{ticker}/statements"
    found = {one["name"]: one["schema"] for one in DOCUMENT["paths"][path]["get"]["parameters"]}
    assert found[name] == schema


def test_a_parameter_that_may_be_repeated_is_an_array() -> None:
    path = "/api/v1/xbrl/filing/{accession}/statements"
    found = {one["name"]: one["schema"] for one in DOCUMENT["paths"][path]["get"]["parameters"]}
    assert found["statement"]["type"] == "array"
    assert found["statement"]["items"]["enum"][:3] == ["income", "balance", "cash-flow"]


def test_the_server_serves_the_document_that_the_function_makes(app: App) -> None:
    answer = Client(app).get("/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == json.loads(json.dumps(document("")))


# ---- true of the answers


def assert_fits(value: Any, schema: dict[str, Any]) -> None:
    """The value has the type, the required members and the constants of a schema of the document."""
    if "const" in schema:
        assert value == schema["const"]
    kinds = {"object": dict, "string": str, "integer": int, "array": list}
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]]), value
    for name in schema.get("required", []):
        assert name in value
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            assert_fits(value[name], inner)


@pytest.mark.parametrize("path", [COMPANY, FILING])
def test_an_answer_fits_the_envelope(app: App, user: accounts.NewUser, path: str) -> None:
    put(app, report())
    answer = Client(app, user.api_key).get(path)
    assert answer.status == 200
    envelope = DOCUMENT["components"]["schemas"]["Envelope"]
    assert_fits(answer.json, envelope)
    assert set(answer.json) == set(envelope["properties"])


@pytest.mark.parametrize(
    ("path", "status"),
    [(COMPANY + "?period=X", 400), (COMPANY, 404), ("/api/v1/xbrl/filing/x/statements", 400)],
)
def test_a_refusal_fits_the_error(app: App, user: accounts.NewUser, path: str, status: int) -> None:
    answer = Client(app, user.api_key).get(path)
    assert answer.status == status
    error = DOCUMENT["components"]["schemas"]["Error"]
    assert_fits(answer.json, error)
    assert set(answer.json) <= set(error["properties"])
    assert answer.json["code"] in STATUS_OF
