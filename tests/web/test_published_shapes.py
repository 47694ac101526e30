"""Tests of the fields of published clients: every difference of the OpenAPI document is one of docs/CLIENTS.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests import published
from tests.published import Difference, DocumentComparison

needs_contract = pytest.mark.skipif(
    not published.CONTRACT.is_file(), reason="the contract (../shared/contract) is not here"
)


@pytest.fixture(scope="module")
def comparison() -> DocumentComparison:
    return DocumentComparison(json.loads(json.dumps(build_document("", ROUTES))))


@needs_contract
def test_clients_page_explains_every_differing_field(comparison: DocumentComparison) -> None:
    contract = published.load_contract()
    routes = published.list_served_routes(contract)
    differences = [
        difference
        for name, route in routes.items()
        if "response" in contract[name]
        for difference in comparison.list_differences(name, route, contract[name]["response"])
    ]
    rows = published.list_documented_differences()
    assert [difference for difference in differences if [row.covers(difference) for row in rows].count(True) != 1] == []
    # A row without a difference, or with a call or field that has none, is out of date.
    for row in rows:
        covered = [difference for difference in differences if row.covers(difference)]
        for field in row.fields:
            assert any(row._replace(fields=[field]).covers(difference) for difference in covered), (row, field)
        for call in row.calls:
            assert any(row._replace(calls=[call]).covers(difference) for difference in covered), (row, call)


@needs_contract
def test_published_operations_keep_their_costs() -> None:
    contract = published.load_contract()
    routes = published.list_served_routes(contract)
    assert {name: route.cost for name, route in routes.items()} == {name: contract[name]["cost"] for name in routes}


@needs_contract
def test_clients_page_lists_every_published_path_not_served() -> None:
    contract = published.load_contract()
    routes = published.list_served_routes(contract)
    patterns = [path for paths, _ in published.read_table("Paths that are not served") for path in paths.split(", ")]
    missing = [name for name in contract if name not in routes]
    assert [name for name in missing if not published.is_listed(name, patterns)] == []
    assert [pattern for pattern in patterns if not any(published.is_listed(name, [pattern]) for name in missing)] == []
    text = published.CLIENTS_PAGE.read_text(encoding="utf-8")
    assert f"of {len(contract)} operations. finapi serves {len(routes)} of them" in text


def test_transaction_id_is_a_text_in_every_schema(comparison: DocumentComparison) -> None:
    schemas = list(_iter_properties([comparison.components, comparison.operations], "transaction_id"))
    assert len(schemas) >= 3
    assert {published.get_schema_type(schema) for schema in schemas} == {"string"}


def _iter_properties(value: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the properties with a name, wherever they are in the value."""
    if isinstance(value, list):
        for item in value:
            yield from _iter_properties(item, name)
    if isinstance(value, dict):
        properties = value.get("properties")
        if isinstance(properties, dict) and name in properties:
            yield properties[name]
        for member in value.values():
            yield from _iter_properties(member, name)


@pytest.mark.parametrize(
    ("schema", "shape", "expected"),
    [
        ({"type": "string"}, "string", []),
        ({"type": ["integer", "null"]}, "number", []),
        ({"type": "string", "format": "date"}, "timestamp", [("timestamp", "date")]),
        ({"type": "number"}, "integer", [("integer", "number")]),
        ({"anyOf": [{"type": "integer"}, {"const": "INF"}]}, "integer", [("integer", "integer, string")]),
        ({"type": "null"}, "string", [("string", "")]),
        ({"type": "object", "properties": {}}, {"a": "string"}, [("string", "absent")]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "string"}, [("string", "integer")]),
        ({"type": "array", "items": {"type": "boolean"}}, ["string"], [("string", "boolean")]),
        ({"type": "array", "items": {"type": "boolean"}}, {"a": "string"}, [("object", "array")]),
    ],
)
def test_a_schema_is_compared_by_type(schema: Any, shape: Any, expected: list[tuple[str, str]]) -> None:
    comparison = DocumentComparison({"components": {"schemas": {}}, "paths": {}})
    differences = comparison.compare(comparison.resolve(schema), shape, "")
    assert [(published_type, served) for _, published_type, served in differences] == expected


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        ({"a": "2025-01-02"}, {"a": "date"}, []),
        ({"a": None}, {"a": "date"}, []),
        ({}, {"a": "date"}, [(".a", "date", "absent")]),
        ([{"a": True}], [{"a": "integer"}], [("[].a", "integer", "boolean")]),
        ({"a": "2025-01-02T03:04:05.678Z"}, {"a": "date"}, [(".a", "date", "timestamp")]),
        ([1], {"a": "string"}, [(".", "object", "array")]),
    ],
)
def test_an_answer_is_compared_by_type(value: Any, shape: Any, expected: list[tuple[str, str, str]]) -> None:
    assert list(published.compare_answer(value, shape, "")) == expected


def test_a_row_covers_its_fields_calls_and_types_only() -> None:
    row = published.DocumentedDifference(["shares*"], "integer", "number", ["/insiders/*"])
    difference = Difference("GET /insider-module/api/insiders/screen", ".data[].shares_owned", "integer", "number")
    assert row.covers(difference)
    assert not row.covers(difference._replace(field=".data[].price"))
    assert not row.covers(difference._replace(operation="GET /api/v1/facts"))
    assert not row.covers(difference._replace(served="string"))
