"""Tests of records: how a row becomes a JSON object, and its schema."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from finapi.core.records import Date, JsonSchema, Object, OneOf, Time, Url, build_record
from finapi.web.http.schema import Answer, Envelope, build_schema


class Owner(TypedDict):
    cik: str
    is_officer: bool | None


class Trade(TypedDict):
    ticker: str | None
    shares: Decimal | None
    is_late: bool
    filing_date: Date | None
    owners: list[Owner]


class OwnerList(TypedDict):
    owners: list[Owner]


class Told(TypedDict):
    value: Annotated[int | None, "In whole dollars."]
    kind: Literal["a", "b"] | None
    status: Literal["success"]
    type: Annotated[str, OneOf(("one",))]
    at: Time
    link: Url
    marks: dict[str, Owner]
    meta: Object
    decimals: Annotated[Any, JsonSchema({"anyOf": [{"type": "integer"}, {"const": "INF"}]})]
    ratio: NotRequired[float]


def row(query: str) -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    fetched: sqlite3.Row = connection.execute(query).fetchone()
    connection.close()
    return fetched


def test_a_record_has_its_fields_in_declaration_order() -> None:
    fetched = row("SELECT 1 AS is_late, '0.10' AS shares, NULL AS ticker, '2025-01-31' AS filing_date, 7 AS id")
    trade = build_record(Trade, fetched, owners=[])
    assert list(trade.items()) == [
        ("ticker", None),
        ("shares", Decimal("0.10")),
        ("is_late", True),
        ("filing_date", "2025-01-31"),
        ("owners", []),
    ]


def test_a_null_stays_a_null() -> None:
    assert build_record(Owner, row("SELECT '1' AS cik, NULL AS is_officer")) == {"cik": "1", "is_officer": None}


def test_what_is_given_comes_before_a_column_of_that_name() -> None:
    assert build_record(Owner, row("SELECT '1' AS cik, 0 AS is_officer"), cik="2") == {"cik": "2", "is_officer": False}


def test_a_member_that_nothing_tells_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Owner\.is_officer"):
        build_record(Owner, row("SELECT '1' AS cik"))


def test_the_schema_of_a_record() -> None:
    owner = {
        "type": "object",
        "properties": {"cik": {"type": "string"}, "is_officer": {"type": ["boolean", "null"]}},
        "required": ["cik", "is_officer"],
        "additionalProperties": False,
    }
    schema = build_schema(Told)
    assert schema["properties"] == {
        "value": {"type": ["integer", "null"], "description": "In whole dollars."},
        "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
        "status": {"const": "success"},
        "type": {"type": "string", "enum": ["one"]},
        "at": {"type": "string", "format": "date-time"},
        "link": {"type": "string", "format": "uri"},
        "marks": {"type": "object", "additionalProperties": owner},
        "meta": {"type": "object"},
        "decimals": {"anyOf": [{"type": "integer"}, {"const": "INF"}]},
        "ratio": {"type": "number"},
    }
    assert set(schema["properties"]) - set(schema["required"]) == {"ratio"}
    assert build_schema(Trade)["properties"]["filing_date"] == {"type": ["string", "null"], "format": "date"}


def test_an_envelope_holds_the_record_of_its_data() -> None:
    schema = build_schema(Envelope[list[Owner], Object])
    assert schema["properties"]["data"] == {"type": "array", "items": build_schema(Owner)}
    assert schema["properties"]["meta"] == {"type": "object"}
    assert schema["required"] == ["status", "data", "meta", "request_id", "timestamp"]
    assert build_schema(Envelope[list[Owner], Object]) is schema


def test_an_answer_has_its_members_before_the_id_and_the_time() -> None:
    assert build_schema(Answer[OwnerList])["required"] == ["status", "owners", "request_id", "timestamp"]


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        build_schema(bytes)
