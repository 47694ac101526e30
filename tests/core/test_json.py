"""Tests of the JSON writer and of the strict JSON reader."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finapi.core import json
from finapi.core.errors import ParseError
from tests.support.case_tables import run_each_case


@run_each_case(
    "value, text",
    [
        (Decimal("12.50"), "12.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.0000001"), "1e-07"),
        (Decimal("1.23456789012345678901"), "1.23456789012345678901"),
        (Decimal("-0"), "0"),
        (Decimal("-0.00"), "0"),
        (Decimal("-12.000"), "-12"),
        (Decimal("0.1234567890123"), "0.1234567890123"),  # 15 characters
        (Decimal("12345678901234.5"), "12345678901234.5"),
        (Decimal("900719925474099.3"), "900719925474099.3"),
        (Decimal("9007199254740993"), "9007199254740993"),
        (Decimal("90071992547409.935"), "90071992547409.935"),
        ({"a": [1, None], "ñ": "€"}, '{"a":[1,null],"ñ":"€"}'),
    ],
)
def test_a_value_is_written_in_one_way(value: object, text: str) -> None:
    assert json.text(value) == text
    assert json.dumps(value) == text.encode()


def test_what_was_stored_is_read_with_every_digit() -> None:
    stored = json.text([Decimal("1.23456789012345678901"), 2])
    assert json.loads(stored) == [Decimal("1.23456789012345678901"), 2]


@pytest.mark.parametrize("value", [float("nan"), Decimal("Infinity"), object()])
def test_what_json_has_no_word_for_is_not_written(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        json.text(value)


@run_each_case(
    "data, location, reason",
    [
        (b'{"a": 1, "a": 2}', "", "occurs twice"),
        (b"[NaN]", "", "NaN"),
        (b"[-Infinity]", "", "Infinity"),
        (b"[1e400]", "", "1e400"),
        (b"[-1e999]", "", "-1e999"),
        (b"[1,\n2", "line 2, column 2", "not JSON"),
        (b'"\xff"', "byte 1", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "line 1, column 1", "not JSON"),
        (b"[" * 100_000, "", "too deep"),
        (b"9" * 10_000, "", "not JSON"),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(data: bytes, location: str, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        json.parse(data, "a.json")
    assert (refused.value.file, refused.value.place) == ("a.json", location)
    assert reason in refused.value.reason


def test_a_document_of_others_is_read() -> None:
    assert json.parse(b'{"a": [1, 2.5]}', "a.json") == {"a": [1, 2.5]}
    assert json.parse(b"2.50", "a.json", parse_float=str) == "2.50"
