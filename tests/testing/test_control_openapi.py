"""The OpenAPI document of the control calls: it lists all of them, and their answers are as it describes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import jsonschema
import pytest
from openapi_spec_validator import validate

from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.testing import FinapiServer, control_openapi, faults
from finapi.testing.control import BODY_MEMBERS
from finapi.testing.gate import Gate
from finapi.testing.server import FixtureWorld

COMPANIES = json.dumps({"0": {"cik_str": 99, "ticker": "NINE", "title": "Nine Co"}}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=3, listens=False) as fixture_server:
        yield fixture_server


def send(server: FinapiServer, path: str, **headers: str) -> ApiAnswer:
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = server.send(ApiRequest("GET", server.url + path, request_headers))
    assert answer is not None
    return answer


def test_the_document_lists_every_control_call(server: FinapiServer) -> None:
    document = json.loads(send(server, "/_control/openapi.json").body)
    validate(document)
    assert document["servers"] == [{"url": "/_control"}]
    listed = {(method.upper(), path[1:]) for path, item in document["paths"].items() for method in item}
    gate = cast(Gate, server.wsgi)
    assert listed - {("POST", "inbox/{name}")} == {*gate._control_calls._calls, ("POST", "filings")}
    members = {
        name: set(operation.body["properties"])
        for (_, name), operation in control_openapi.OPERATIONS.items()
        if operation.body is not None and "properties" in operation.body
    }
    assert members == {name: set(names) for name, names in BODY_MEMBERS.items()}
    effects = {alternative["required"][0] for alternative in control_openapi._FAULT_BODY["oneOf"]}
    assert effects == {*faults.EFFECT_TYPES}


def test_the_document_needs_no_token_and_creates_no_world(server: FinapiServer) -> None:
    answer = send(server, "/_world/unseen/_control/openapi.json")
    assert answer.status == 200
    assert json.loads(answer.body)["servers"] == [{"url": "/_world/unseen/_control"}]
    assert "unseen" not in cast(Gate, server.wsgi).worlds
    wrong_name = send(server, "/_control/openapi.json", X_Finapi_World="a world")
    assert (wrong_name.status, json.loads(wrong_name.body)["code"]) == (400, "BAD_REQUEST")
    # The calls themselves need it.
    assert send(server, "/_control/clock").status == 401


def call_everything(world: FixtureWorld) -> Iterator[tuple[str, str, Any]]:
    """Yield the method, the name and the answer of each control call."""
    control = world.control
    calls: list[tuple[str, str, Any]] = [
        ("POST", "seed", {"seed": 5}),
        ("POST", "snapshot", None),
        ("POST", "accounts", {"plan": "pro", "email": "new@example.com"}),
        ("GET", "accounts", None),
        ("POST", "faults", {"route": "*/policy", "status": 503, "times": 1, "body": {"a": 1}, "headers": {"X-A": "b"}}),
        ("POST", "faults", {"delay": 0.0, "share": 0.5}),
        ("GET", "faults", None),
        ("DELETE", "faults", None),
        ("GET", "refused", None),
        ("POST", "events", {"feed": "main-api", "type": "new_filing", "data": {"ticker": "AAPL"}}),
        ("POST", "webhooks", {"event_type": "finapi.test", "url": control.inbox_url("a")}),
        ("POST", "filings?name=company_tickers.json", COMPANIES),
        ("POST", "clock", {"advance": 90}),
        ("POST", "clock", {"freeze": True}),
        ("GET", "clock", None),
        ("GET", "mailbox", None),
        ("GET", "requests", None),
        ("GET", "webhooks/inbox", None),
        ("POST", "limits/clear", None),
        ("POST", "restore", {"snapshot": "snap_1"}),
        ("POST", "reset", None),
        ("DELETE", "world", None),
    ]
    for method, name, body in calls:
        yield method, name.partition("?")[0], (body, control.call(method, name, body))


def test_bodies_and_answers_are_as_the_document_describes(server: FinapiServer) -> None:
    world = server.world("described")
    world.client().get_account_balance()
    world.client().post_auth_forgetpassword(email="pro@example.com")
    called = set()
    for method, name, (body, answer) in call_everything(world):
        operation = control_openapi.OPERATIONS[method, name]
        jsonschema.validate(answer, operation.answer)
        if isinstance(body, dict):
            assert operation.body is not None
            jsonschema.validate(body, operation.body)
        called.add((method, name))
    assert called == {*control_openapi.OPERATIONS}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("faults", {"route": "*/policy"}),
        ("faults", {"status": 503, "delay": 1}),
        ("faults", {"status": 600}),
        ("clock", {}),
        ("clock", {"run": True, "freeze": True}),
        ("seed", {"seed": "x"}),
        ("accounts", {"plan": "huge"}),
        ("restore", {"name": "snap_1"}),
    ],
)
def test_a_body_that_is_refused_does_not_match_the_document(
    server: FinapiServer, name: str, body: dict[str, Any]
) -> None:
    operation = control_openapi.OPERATIONS["POST", name]
    assert operation.body is not None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, operation.body)
    answer = server.send(
        ApiRequest(
            "POST",
            f"{server.url}/_control/{name}",
            {"X-Control-Token": server.ready["control_token"]},
            json.dumps(body).encode(),
        )
    )
    assert answer is not None
    assert answer.status == 400
