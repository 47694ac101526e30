"""The OpenAPI document against the service that it describes: every operation, called as its examples say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi import app as apps
from finapi.clock import FixedClock
from finapi.config import Config
from finapi.web.openapi import document
from tests.client import Client
from tests.described import LIFTED, World, example_call

DOCUMENT = json.loads(json.dumps(document("")))
OPERATIONS = [
    (method, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    app = apps.in_memory(Config(**LIFTED), FixedClock(datetime(2026, 11, 20, 12, tzinfo=UTC)))
    yield World(app)
    app.db.close()


def schema(part: Any) -> dict[str, Any]:
    """A schema of the document with the components that it may name."""
    return {**part, "components": DOCUMENT["components"]}


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [pytest.param(*one, id=one[2]["operationId"]) for one in OPERATIONS],
)
def test_an_operation_called_as_its_examples_say_answers_well_and_as_described(
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
    found: dict[str, Any] = DOCUMENT["components"]["headers"][ref["$ref"].rpartition("/")[2]]
    return found
