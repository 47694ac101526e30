"""Tests of the OpenAPI document against the service: every operation is called as its examples say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi import __version__
from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.described import LIFTED, World, example_call
from tests.process import ROOT

DOCUMENT = json.loads(json.dumps(build_document("", ROUTES)))
OPERATIONS = [
    (method, path, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    app = apps.create_in_memory(Config(**LIFTED), FixedClock(datetime(2026, 11, 20, 12, tzinfo=UTC)))
    yield World(app)
    app.db.close()


def schema(part: Any) -> dict[str, Any]:
    """Return a schema of the document with the components that it may name."""
    return {**part, "components": DOCUMENT["components"]}


@pytest.mark.parametrize(
    ("method", "path", "operation"), [pytest.param(*case, id=case[2]["operationId"]) for case in OPERATIONS]
)
def test_every_example_call_is_answered_as_described(
    world: World, method: str, path: str, operation: dict[str, Any]
) -> None:
    target, body = example_call(operation, path, world.own(operation["operationId"]))
    client = Client(world.app)
    if body is None:
        answer = client.call(method.upper(), target, headers=world.headers())
    else:
        answer = client.call(method.upper(), target, json=body, headers=world.headers())
    assert answer.status in (200, 302), answer.body
    described = operation["responses"][str(answer.status)]
    required = {name for name, ref in described["headers"].items() if header(ref).get("required")}
    assert {name.lower() for name in required} <= answer.headers.keys()
    kind = answer.headers["content-type"].partition(";")[0]
    assert answer.status == 302 or kind in described["content"]
    if answer.status == 200 and kind == "application/json":
        fits = Draft202012Validator(
            schema(described["content"]["application/json"]["schema"]),
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )
        assert [(list(error.path), error.message) for error in fits.iter_errors(answer.json)] == []


def header(ref: dict[str, str]) -> dict[str, Any]:
    header_object: dict[str, Any] = DOCUMENT["components"]["headers"][ref["$ref"].rpartition("/")[2]]
    return header_object


@pytest.mark.slow
def test_head_is_get_without_body_and_options_lists_methods(world: World) -> None:
    client = Client(world.app)
    for path, item in DOCUMENT["paths"].items():
        methods = {method.upper() for method in item} | ({"HEAD"} if "get" in item else set())
        response = client.call("OPTIONS", path.replace("{", "").replace("}", ""))
        assert (response.status, response.body) == (204, b""), path
        assert response.headers["allow"] == ", ".join(sorted({*methods, "OPTIONS"})), path
        if "get" not in item:
            continue
        own_values = world.own(item["get"]["operationId"])
        target, _ = example_call(item["get"], path, own_values)
        headers = world.headers()
        head, get_response = (client.call(method, target, headers=headers) for method in ("HEAD", "GET"))
        assert (head.status, head.body) == (get_response.status, b""), path
        assert head.headers.keys() == get_response.headers.keys(), path
        cost = head.headers.get("x-tokens-charged"), get_response.headers.get("x-tokens-charged")
        assert cost in ((None, None), (str(item["get"]["x-token-cost"]),) * 2), path


def test_there_is_one_version(world: World) -> None:
    client = Client(world.app)
    document, policy = client.get("/openapi.json"), client.get("/api/v1/policy")
    versions = {
        __version__,
        DOCUMENT["info"]["version"],
        document.json["info"]["version"],
        document.headers["x-api-version"],
        policy.headers["x-api-version"],
        policy.json["data"]["api_version"],
        policy.json["data"]["versioning"]["current"],
    }
    assert versions == {__version__}
    assert "version = attr: finapi.__version__\n" in (ROOT / "setup.cfg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("capability", "says"),
    [(("versioning", "changelog_url"), __version__), (("tooling", "mcp_server_docs"), "/openapi.json")],
)
def test_a_page_that_the_policy_names_is_there(world: World, capability: tuple[str, str], says: str) -> None:
    client = Client(world.app)
    section, name = capability
    page = client.get(client.get("/api/v1/policy").json["data"][section][name])
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert says in page.body.decode()
