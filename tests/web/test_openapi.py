"""The OpenAPI document: valid, complete, and true of what the routes do."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from finapi import __version__
from finapi.accounts import users
from finapi.app import App
from finapi.core.errors import STATUS_BY_CODE
from finapi.core.json import dumps
from finapi.web.http.messages import compress_prefix
from finapi.web.http.params import Field, Param, parse_params
from finapi.web.http.route import Route
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES as TABLE
from tests.client import Client
from tests.each import each
from tests.support.brook_lamps_report import COMPANY

# Pages are for people: the document is of what programs call.
ROUTES = tuple(route for route in TABLE if not route.page)

DOCUMENT = build_document("https://api.example.com", TABLE)

ALL_PARAMS = [(route, param) for route in ROUTES for param in route.params]
each_param = each("route param", ALL_PARAMS, lambda row: f"{row[0].path} {row[1].name}")
each_route = each("route", ROUTES, lambda route: f"{route.method} {route.path}")


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def parameter(route: Route, param: Param) -> dict[str, Any]:
    found = [
        one
        for one in operation(route)["parameters"]
        if (one.get("name"), one.get("in")) == (param.name, param.location)
    ]
    assert len(found) == 1
    one: dict[str, Any] = found[0]
    return one


@pytest.mark.slow
def test_the_document_is_valid_openapi_31() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_the_document_carries_the_version_of_the_api() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == __version__


@pytest.mark.parametrize(("public_url", "server"), [("", "/"), ("https://api.example.com", "https://api.example.com")])
def test_the_document_names_the_address_that_the_operator_chose(public_url: str, server: str) -> None:
    assert build_document(public_url, TABLE)["servers"] == [{"url": server}]


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    documented = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert documented == {(route.method, path) for route in ROUTES for path in route.paths[:2]}


def test_every_operation_and_webhook_has_a_name_of_its_own() -> None:
    items = [*DOCUMENT["paths"].values(), *DOCUMENT["webhooks"].values()]
    names = [one["operationId"] for item in items for one in item.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z][A-Za-z0-9_]*", name) for name in names)
    assert "get_xbrl_companies_ticker_statements" in names


def test_every_operation_has_a_tag_that_is_described() -> None:
    described = [tag["name"] for tag in DOCUMENT["tags"]]
    used = {tag for item in DOCUMENT["paths"].values() for one in item.values() for tag in one["tags"]}
    assert sorted(described) == sorted(used)


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
    expected = {"400", "405", "414", "500", "503", "504", *map(str, route.answers), *map(str, route.errors)}
    expected |= {"401", "404", "429"} if route.auth == "key" else set()
    expected |= {"402"} if route.cost else set()
    expected |= {"401"} if route.auth in ("session", "either") else set()
    expected |= {"429"} if route.zone or route.auth != "none" else set()
    expected |= {"409"} if route.idempotent else set()
    expected |= {"413", "415"} if route.body is not None else set()
    expected |= {"304"} if route.cacheable else set()
    assert answers == expected


@each_route
def test_an_operation_lists_the_parameters_of_its_route(route: Route) -> None:
    listed = operation(route).get("parameters", [])
    if route.tables:
        assert listed.pop() == {"$ref": "#/components/parameters/Format"}
    if route.idempotent:
        assert listed.pop() == {"$ref": "#/components/parameters/IdempotencyKey"}
    assert [(one["name"], one["in"]) for one in listed] == [(param.name, param.location) for param in route.params]


@each_param
def test_a_parameter_is_named_and_described_so_that_any_tool_can_use_it(route: Route, param: Param) -> None:
    found = parameter(route, param)
    # The names that function-calling interfaces take.
    assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", found["name"])
    assert found["description"].endswith(".")
    assert found["required"] is param.required
    assert found["required"] or found["in"] == "query"


@each("route param", [one for one in ALL_PARAMS if one[1].kind == "words"], lambda row: f"{row[0].path} {row[1].name}")
def test_a_list_is_taken_with_commas_and_given_anew_for_each_word(route: Route, param: Param) -> None:
    words = [*dict.fromkeys((param.allowed or param.example.split(",") * 2)[:2])]
    apart, together = (parse_params([param], {}, {param.name: given}) for given in (words, [",".join(words)]))
    assert apart == together
    assert (parameter(route, param)["style"], parameter(route, param)["explode"]) == ("form", False)


@each_param
def test_an_example_is_a_value_that_the_parameter_takes(route: Route, param: Param) -> None:
    assert param.example
    value = param.parse(param.example)
    described = parameter(route, param)
    if described["schema"].get("type") == "string":
        value = param.example
    elif param.kind == "words":
        value = param.example.split(",")
    assert described["example"] == value


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("ticker", {"type": "string", "pattern": "^[./ -]*[0-9A-Za-z][0-9A-Za-z./ -]*$", "maxLength": 12}),
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
    found = {one["name"]: one["schema"] for one in DOCUMENT["paths"][path]["get"]["parameters"] if "name" in one}
    assert found[name] == schema


def test_a_parameter_that_may_be_repeated_is_an_array() -> None:
    path = "/api/v1/xbrl/filing/{accession}/statements"
    found = {one["name"]: one["schema"] for one in DOCUMENT["paths"][path]["get"]["parameters"] if "name" in one}
    assert found["statement"]["type"] == "array"
    assert found["statement"]["items"]["enum"][:3] == ["income", "balance", "cash-flow"]


def test_the_server_serves_the_document_that_the_function_makes(app: App) -> None:
    answer = Client(app).get("/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == json.loads(json.dumps(build_document("", TABLE)))


# ---- answers


def resolved(ref: dict[str, Any]) -> dict[str, Any]:
    """What a reference in the document stands for; a part that is no reference is itself."""
    found: Any = ref if "$ref" not in ref else DOCUMENT
    for name in ref.get("$ref", "#")[2:].split("/") if "$ref" in ref else ():
        found = found[name]
    return dict(found)


def misfits(value: Any, schema: dict[str, Any]) -> list[str]:
    """What of ``value`` does not fit a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(whole)
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(value)]


@pytest.mark.parametrize("section", [pytest.param("paths", marks=pytest.mark.slow), "webhooks"])
def test_every_body_has_an_example_and_every_example_fits_its_schema(section: str) -> None:
    wrong = []
    for item in DOCUMENT[section].values():
        for one in item.values():
            bodies = [one["requestBody"]] if "requestBody" in one else []
            for body in [*bodies, *map(resolved, one["responses"].values())]:
                for kind, media in body.get("content", {}).items():
                    if media["schema"].get("format") == "binary":
                        continue  # bytes, which JSON cannot show
                    shown = [media["example"]] if "example" in media else []
                    shown += [resolved(one)["value"] for one in media.get("examples", {}).values()]
                    assert shown, (one["operationId"], kind)
                    found = {text for value in shown for text in misfits(value, media["schema"])}
                    wrong += [(one["operationId"], kind, text) for text in found]
    assert wrong == []


@each(
    "route field",
    [(route, field) for route in ROUTES for field in route.body or ()],
    lambda row: f"{row[0].path} {row[1].name}",
)
def test_an_example_of_a_member_of_a_body_is_a_value_that_it_takes(route: Route, field: Field) -> None:
    shown = operation(route)["requestBody"]["content"]["application/json"]["example"]
    if field.name in shown:
        field.parse(shown[field.name])
    else:
        assert not field.required


def test_the_errors_that_are_shown_have_codes_of_their_status() -> None:
    for response in DOCUMENT["components"]["responses"].values():
        for code, shown in response["content"]["application/json"]["examples"].items():
            assert shown["value"]["code"] == shown["value"]["error"] == code
    shown = {
        int(name[5:8]): set(response["content"]["application/json"]["examples"])
        for name, response in DOCUMENT["components"]["responses"].items()
    }
    assert all(STATUS_BY_CODE[code] == status for status, codes in shown.items() for code in codes)


@each_route
def test_an_answer_has_one_type_and_a_list_its_tables_beside_it(route: Route) -> None:
    response = operation(route)["responses"].get("200", {"content": {}})
    assert len({"json" in kind for kind in response["content"]}) <= 1, "a client's type would be a union with text"
    assert ("x-tables" in response) is route.tables
    if route.tables:
        header = response["x-tables"]["text/csv"]["example"].partition("\r\n")[0]
        assert route.tabled or header.split(",") == list(route.columns)
        assert list(response["x-tables"]) == ["text/csv", "application/x-ndjson"]


def test_a_registration_whose_mail_fails_is_described() -> None:
    failed = resolved(DOCUMENT["paths"]["/api/v1/auth/register"]["post"]["responses"]["500"])
    assert "MAIL_FAILED" in failed["description"]
    assert set(failed["content"]["application/json"]["examples"]) == {"INTERNAL", "MAIL_FAILED"}


@each_route
def test_an_answer_names_the_headers_that_it_carries(route: Route) -> None:
    responses = operation(route)["responses"]
    for status, response in responses.items():
        names = set(resolved(response)["headers"])
        assert {"X-API-Version", "X-Request-ID"} <= names
        assert ("X-Tokens-Charged" in names) is (route.auth == "key")
        tagged = route.cacheable or 304 in route.answers
        assert ("ETag" in names) is (tagged and status in ("200", "304"))
        limits = "X-RateLimit-Remaining" in names
        gateway = route.zone in ("financials", "xbrl")
        assert limits is (
            (status == "200" and route.zone is not None)
            or (status == "429" and not gateway and not route.path.endswith("/login"))
        )
        assert ("Retry-After" in names) is (status in ("429", "503"))


def test_a_link_leads_to_an_operation_with_the_parameters_that_it_fills() -> None:
    operations = {one["operationId"]: one for item in DOCUMENT["paths"].values() for one in item.values()}
    links = {
        name: link
        for one in operations.values()
        for response in one["responses"].values()
        for name, link in response.get("links", {}).items()
    }
    assert set(links) == {"register", "login", "user", "balance", "stop", "redeliver", "filing"}
    for link in links.values():
        target = operations[link["operationId"]]
        names = {one.get("name") for one in target.get("parameters", [])}
        assert set(link.get("parameters", {})) <= names
        if "requestBody" in link:
            schema = target["requestBody"]["content"]["application/json"]["schema"]
            assert set(link["requestBody"]) <= set(schema["properties"])


def test_every_event_is_a_webhook_whose_body_is_described() -> None:
    assert set(DOCUMENT["webhooks"]) == {"finapi.test", "sniper.filing_hit", *users.TOPICS}
    for name, item in DOCUMENT["webhooks"].items():
        schema = item["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["event_type"] == {"const": name}
        assert set(schema["required"]) == {"event_type", "occurred_at", "delivery_id", "target_id", "payload"}


@pytest.mark.parametrize(
    ("path", "status"), [(COMPANY + "?period=X", 400), (COMPANY, 404), ("/api/v1/xbrl/filing/x/statements", 400)]
)
def test_a_refusal_fits_the_error(app: App, user: users.NewUser, path: str, status: int) -> None:
    answer = Client(app, user.api_key).get(path)
    assert answer.status == status
    error = DOCUMENT["components"]["schemas"]["Error"]
    assert misfits(answer.json, error) == []
    assert set(answer.json) <= set(error["properties"])


def test_a_document_is_no_larger_than_a_reader_can_take() -> None:
    document_bytes = dumps(DOCUMENT)
    assert len(document_bytes) < 1_290_000
    # Builds of zlib differ by a few hundred bytes.
    assert len(compress_prefix(document_bytes).finish()) < 128_000
