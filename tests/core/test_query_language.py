"""Tests of the query language: its alternatives, and the queries that are refused."""

from __future__ import annotations

import pytest

from finapi.core.errors import ApiError
from finapi.core.query_language import (
    MAX_ALTERNATIVE_TERMS,
    MAX_QUERY_LENGTH,
    MAX_TERMS,
    QueryField,
    parse_alternatives,
    parse_conditions,
)
from tests.support.case_tables import run_each_case


def format_alternatives(text: str) -> list[str]:
    """Return the alternatives as texts: ``a:1 -b:2``."""

    def format_condition(term: object) -> str:
        field, low, high, negated = term  # type: ignore[misc]
        value = low if low == high else f"[{low} TO {high}]"
        return f"{'-' if negated else ''}{field}:{value}"

    return [" ".join(map(format_condition, every)) for every in parse_alternatives(text)]


@run_each_case(
    "text, expected",
    [
        ("a:1", ["a:1"]),
        ("a:1 AND b:2", ["a:1 b:2"]),
        ("a:1 b:2", ["a:1 b:2"]),
        ("a:1 && +b:2", ["a:1 b:2"]),
        ("a:1 OR b:2 AND c:3", ["a:1", "b:2 c:3"]),
        ("(a:1 OR b:2) AND c:3", ["a:1 c:3", "b:2 c:3"]),
        ("NOT a:1", ["-a:1"]),
        ("NOT NOT a:1", ["a:1"]),
        ("!(a:1 OR b:2)", ["-a:1 -b:2"]),
        ("-(a:1 AND b:2)", ["-a:1", "-b:2"]),
        ("a:(1 OR 2) b:3", ["a:1 b:3", "a:2 b:3"]),
        ("a:(1 AND NOT 2)", ["a:1 -a:2"]),
        ("apple", [":apple"]),
        ("BRK-B berkshire", [":BRK-B :berkshire"]),
        ('"tim cook"', [":tim cook"]),
        (r'a:"say \"x\""', ['a:say "x"']),
        (r"a:x\:y", ["a:x:y"]),
        (r"a:5\*", ["a:5*"]),
        ("a:2024-01-01T10:00:00", ["a:2024-01-01T10:00:00"]),
        ("a:-5", ["a:-5"]),
        ("a:[1 TO *]", ["a:[1 TO None]"]),
        ('a:[ "x"  TO  y ]', ["a:[x TO y]"]),
        ("a:1 AND a:1", ["a:1"]),
        ("a.b_c:ANDROID OR oregon NOTE:x", ["a.b_c:ANDROID", ":oregon NOTE:x"]),
        ("a:1\n\tAND\n b:é", ["a:1 b:é"]),
    ],
)
def test_a_query_is_alternatives(text: str, expected: list[str]) -> None:
    assert format_alternatives(text) == expected


@run_each_case(
    "text, at",
    [
        ("", 1),
        ("   ", 4),
        ("a:", 3),
        ("a:1 AND", 8),
        ("a:1 OR OR b:2", 8),
        ("AND a:1", 1),
        ("a:1 )", 5),
        ("(a:1", 5),
        ('a:"x', 3),
        ("a:[1 2]", 3),
        ("a:{1 TO 2}", 3),
        ("a:x*", 3),
        ("te?t", 1),
        ("a:>5", 3),
        ("x~1 y", 1),
        ('a:" "', 3),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(text: str, at: int) -> None:
    with pytest.raises(ApiError) as caught:
        parse_alternatives(text)
    assert f"at character {at}" in caught.value.message
    assert caught.value.details is not None
    assert caught.value.details["param"] == "query"


@run_each_case(
    "text",
    [
        "a" * (MAX_QUERY_LENGTH + 1),
        " ".join("a" for _ in range(MAX_TERMS + 1)),
        "(" * 9 + "a" + ")" * 9,
        "-" * 9 + "a",
        "(" * 1_000,
        "- " * 900,
        "a:(" * 300,
        " ".join(f"(a:{number} OR b:{number})" for number in range(5)),
        "NOT (" + " OR ".join(f"(a:{number} b:{number})" for number in range(5)) + ")",
    ],
)
def test_what_would_be_too_much_work_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_alternatives(text)
    assert caught.value.code == "INVALID_PARAM"


def test_nesting_that_is_too_deep_is_named() -> None:
    with pytest.raises(ApiError, match=r"more than 8 levels of nested parentheses, NOT, -, \+ and fields"):
        parse_alternatives("-" * 9 + "a")


def test_alternatives_that_are_not_asked_for_cost_nothing() -> None:
    many = " OR ".join(f"(a:{number} b:{number})" for number in range(8))
    assert len(parse_alternatives(many)) == 8 <= MAX_ALTERNATIVE_TERMS


FIELDS = {
    "size": QueryField(("size", "Size.Of"), int, "a number or [number TO number]", is_range=True),
    "name": QueryField(("name",), lambda text: {"text": text.upper()}, "a name"),
}


def test_conditions_are_values() -> None:
    assert parse_conditions("size.of:[1 TO *] AND NOT name:x OR SIZE:3", FIELDS) == [
        [{"field": "size", "not": False, "low": 1, "high": None}, {"field": "name", "not": True, "text": "X"}],
        [{"field": "size", "not": False, "low": 3, "high": 3}],
    ]


@run_each_case(
    "text, details",
    [
        ("colour:red", {"param": "query", "allowed": ["name", "size"]}),
        ("red", {"param": "query", "allowed": ["name", "size"]}),
        ("size:x", {"param": "query", "expected": "a number or [number TO number]"}),
        ("name:[a TO b]", {"param": "query", "expected": "a name"}),
    ],
)
def test_what_is_no_field_or_no_value_is_refused(text: str, details: dict[str, object]) -> None:
    with pytest.raises(ApiError) as caught:
        parse_conditions(text, FIELDS)
    assert caught.value.details == details
