"""The OpenAPI document: it is valid and complete, and it agrees with the route table."""

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
from finapi.web.http.tables import CSV, NDJSON
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES as TABLE
from tests.client import Client
from tests.support.brook_lamps_report import COMPANY
from tests.support.case_tables import run_each_case

# Pages are for people; the document describes the routes that programs call.
ROUTES = tuple(route for route in TABLE if not route.page)

DOCUMENT = build_document("https://api.example.com", TABLE)

ALL_PARAMS = [(route, param) for route in ROUTES for param in route.params]
each_param = run_each_case("route, param", ALL_PARAMS)
each_route = run_each_case("route", ROUTES)


def get_operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return operation


def get_parameter(route: Route, param: Param) -> dict[str, Any]:
    matches: list[dict[str, Any]] = [
        described
        for described in get_operation(route)["parameters"]
        if (described.get("name"), described.get("in")) == (param.name, param.location)
    ]
    assert len(matches) == 1
    return matches[0]


@pytest.mark.slow
def test_the_document_is_valid_openapi_31() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_the_document_carries_the_version_of_the_api() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == __version__


@pytest.mark.parametrize(("public_url", "server"), [("", "/"), ("https://api.example.com", "https://api.example.com")])
def test_the_document_names_the_configured_public_address(public_url: str, server: str) -> None:
    assert build_document(public_url, TABLE)["servers"] == [{"url": server}]


def test_every_route_is_in_the_document_and_nothing_else() -> None:
    documented = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item}
    assert documented == {(route.method, path) for route in ROUTES for path in route.paths[:2]}


def test_every_operation_and_webhook_has_its_own_name() -> None:
    items = [*DOCUMENT["paths"].values(), *DOCUMENT["webhooks"].values()]
    names = [operation["operationId"] for item in items for operation in item.values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z][A-Za-z0-9_]*", name) for name in names)
    assert "get_xbrl_companies_ticker_statements" in names


def test_every_tag_of_an_operation_is_described() -> None:
    described = [tag["name"] for tag in DOCUMENT["tags"]]
    used = {tag for item in DOCUMENT["paths"].values() for operation in item.values() for tag in operation["tags"]}
    received = {operation["tags"][0] for item in DOCUMENT["webhooks"].values() for operation in item.values()}
    assert received.isdisjoint(used)
    assert sorted(described) == sorted(used | received)


@each_route
def test_an_operation_states_its_cost_and_its_credentials(route: Route) -> None:
    operation = get_operation(route)
    assert operation["x-token-cost"] == route.cost
    assert operation["summary"] == route.summary
    ways = {
        "none": [],
        "key": ["key", "keyInQuery"],
        "session": ["session"],
        "either": ["session", "key", "keyInQuery"],
    }[route.auth]
    assert operation["security"] == [{way: []} for way in ways]


@each_route
def test_an_operation_lists_the_statuses_of_its_answers(route: Route) -> None:
    answers = set(get_operation(route)["responses"])
    expected = {"400", "405", "414", "431", "500", "503", "504", *map(str, route.answers), *map(str, route.errors)}
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
    parameters = get_operation(route).get("parameters", [])
    if 206 in route.answers:
        names = [parameters.pop()["$ref"].rpartition("/")[2] for _ in range(2)]
        assert names == ["IfRange", "Range"]
    if route.tables:
        assert parameters.pop() == {"$ref": "#/components/parameters/Format"}
    if route.idempotent:
        assert parameters.pop() == {"$ref": "#/components/parameters/IdempotencyKey"}
    assert [(described["name"], described["in"]) for described in parameters] == [
        (param.name, param.location) for param in route.params
    ]


@each_param
def test_a_parameter_has_a_portable_name_and_a_description(route: Route, param: Param) -> None:
    described = get_parameter(route, param)
    # Function-calling interfaces accept these names only.
    assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", described["name"])
    assert described["description"].endswith(".")
    assert described["required"] is param.required
    assert described["required"] or described["in"] == "query"


@run_each_case("route, param", [pair for pair in ALL_PARAMS if pair[1].kind == "words"])
def test_a_list_is_read_with_commas_or_as_repeated_parameters(route: Route, param: Param) -> None:
    words = [*dict.fromkeys((param.allowed or param.example.split(",") * 2)[:2])]
    apart, together = (parse_params([param], {}, {param.name: texts}) for texts in (words, [",".join(words)]))
    assert apart == together
    assert (get_parameter(route, param)["style"], get_parameter(route, param)["explode"]) == ("form", False)


@each_param
def test_an_example_of_a_parameter_is_accepted(route: Route, param: Param) -> None:
    assert param.example
    value = param.parse(param.example)
    described = get_parameter(route, param)
    if described["schema"].get("type") == "string":
        value = param.example
    elif param.kind == "words":
        value = param.example.split(",")
    assert described["example"] == value


@run_each_case(
    "name, schema",
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
    parameters = DOCUMENT["paths"][path]["get"]["parameters"]
    schemas = {described["name"]: described["schema"] for described in parameters if "name" in described}
    assert schemas[name] == schema


def test_a_parameter_that_may_be_repeated_is_an_array() -> None:
    path = "/api/v1/xbrl/filing/{accession}/statements"
    parameters = DOCUMENT["paths"][path]["get"]["parameters"]
    schemas = {described["name"]: described["schema"] for described in parameters if "name" in described}
    assert schemas["statement"]["type"] == "array"
    assert schemas["statement"]["items"]["enum"][:3] == ["income", "balance", "cash-flow"]


def test_the_server_serves_the_built_document(app: App) -> None:
    answer = Client(app).get("/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.json == json.loads(json.dumps(build_document("", TABLE)))


# ---- answers


def resolve_reference(ref: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the document that a reference points to, or the part itself if it is not a reference."""
    if "$ref" not in ref:
        return ref
    part: Any = DOCUMENT
    for name in ref["$ref"].removeprefix("#/").split("/"):
        part = part[name]
    return dict(part)


def list_errors(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return one message for each error of a value against a schema of the document."""
    full_schema = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(full_schema)
    validator = Draft202012Validator(full_schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(value)]


@pytest.mark.parametrize("section", [pytest.param("paths", marks=pytest.mark.slow), "webhooks"])
def test_every_body_has_examples_that_fit_its_schema(section: str) -> None:
    errors = []
    for item in DOCUMENT[section].values():
        for operation in item.values():
            bodies = [operation["requestBody"]] if "requestBody" in operation else []
            for body in [*bodies, *map(resolve_reference, operation["responses"].values())]:
                for kind, media in body.get("content", {}).items():
                    if media["schema"].get("format") == "binary":
                        continue  # JSON cannot show bytes.
                    if kind in (CSV, NDJSON):
                        continue  # It has the schema of the JSON whose rows it has, and is shown in x-tables.
                    examples = [media["example"]] if "example" in media else []
                    examples += [resolve_reference(example)["value"] for example in media.get("examples", {}).values()]
                    assert examples, (operation["operationId"], kind)
                    messages = {message for value in examples for message in list_errors(value, media["schema"])}
                    errors += [(operation["operationId"], kind, message) for message in messages]
    assert errors == []


@run_each_case("route, field", [(route, field) for route in ROUTES for field in route.body or ()])
def test_an_example_of_a_body_member_is_accepted(route: Route, field: Field) -> None:
    example = get_operation(route)["requestBody"]["content"]["application/json"]["example"]
    if field.name in example:
        field.parse(example[field.name])
    else:
        assert not field.required


def test_example_errors_have_codes_of_their_status() -> None:
    for response in DOCUMENT["components"]["responses"].values():
        for code, example in response["content"]["application/json"]["examples"].items():
            assert example["value"]["code"] == example["value"]["error"] == code
    codes_by_status = {
        int(name[5:8]): set(response["content"]["application/json"]["examples"])
        for name, response in DOCUMENT["components"]["responses"].items()
    }
    assert all(STATUS_BY_CODE[code] == status for status, codes in codes_by_status.items() for code in codes)


@each_route
def test_an_answer_has_one_type_and_a_list_names_its_tables(route: Route) -> None:
    response = get_operation(route)["responses"].get("200", {"content": {}})
    assert ("x-tables" in response) is route.tables
    if route.tables:
        content = response["content"]
        assert list(content) == ["application/json", "text/csv", "application/x-ndjson"]
        schemas = [media["schema"] for media in content.values()]
        assert schemas == [schemas[0]] * 3, "a client's type would be a union"
        header = response["x-tables"]["text/csv"]["example"].partition("\r\n")[0]
        assert route.tabled or header.split(",") == list(route.columns)
        assert ("application/x-ndjson" in response["x-tables"]) is (route.tabled is not None)


def test_a_registration_whose_mail_fails_is_described() -> None:
    failed = resolve_reference(DOCUMENT["paths"]["/api/v1/auth/register"]["post"]["responses"]["500"])
    assert "MAIL_FAILED" in failed["description"]
    assert set(failed["content"]["application/json"]["examples"]) == {"INTERNAL", "MAIL_FAILED"}


@each_route
def test_an_answer_lists_its_headers(route: Route) -> None:
    responses = get_operation(route)["responses"]
    for status, response in responses.items():
        names = set(resolve_reference(response)["headers"])
        assert {"X-API-Version", "X-Request-ID"} <= names
        # The server may send a 413, 414 or 431 before it knows the route.
        assert ("X-Tokens-Charged" in names) is (route.auth == "key" and status not in ("413", "414", "431"))
        tagged = route.cacheable or 304 in route.answers
        assert ("ETag" in names) is (tagged and status in ("200", "206", "304"))
        assert ("Accept-Ranges" in names) is (206 in route.answers and status in ("200", "206", "416"))
        assert ("Content-Range" in names) is (status in ("206", "416"))
        limits = "X-RateLimit-Remaining" in names
        gateway = route.zone in ("financials", "xbrl")
        checks_password = route.path.endswith(("/login", "/user/password", "/user/email"))
        assert limits is (
            (status in ("200", "206") and route.zone is not None)
            or (status == "429" and not gateway and not checks_password)
        )
        assert ("Retry-After" in names) is (status in ("429", "503"))


def test_a_link_leads_to_an_operation_that_has_its_parameters() -> None:
    operations = {
        operation["operationId"]: operation for item in DOCUMENT["paths"].values() for operation in item.values()
    }
    links = {
        name: link
        for operation in operations.values()
        for response in operation["responses"].values()
        for name, link in response.get("links", {}).items()
    }
    assert set(links) == {"register", "login", "user", "balance", "stop", "redeliver", "filing"}
    for link in links.values():
        target = operations[link["operationId"]]
        names = {described.get("name") for described in target.get("parameters", [])}
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
def test_a_refusal_fits_the_error_schema(app: App, user: users.NewUser, path: str, status: int) -> None:
    answer = Client(app, user.api_key).get(path)
    assert answer.status == status
    error = DOCUMENT["components"]["schemas"]["Error"]
    assert list_errors(answer.json, error) == []
    assert set(answer.json) <= set(error["properties"])


def test_the_document_stays_below_its_size_limit() -> None:
    document_bytes = dumps(DOCUMENT)
    assert len(document_bytes) < 1_500_000
    # Builds of zlib differ by a few hundred bytes.
    assert len(compress_prefix(document_bytes).finish()) < 150_000
