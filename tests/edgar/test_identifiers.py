"""Accession numbers, CIKs, and JSON that can be stored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.identifiers import find_accession_in_name, parse_accession, parse_cik, parse_json
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples


@pytest.mark.parametrize("text", ["000032019325000057", "0000320193-25-000057"])
def test_accession_number_gets_its_dashes(text: str) -> None:
    assert parse_accession(text) == "0000320193-25-000057"


@run_each_case(
    "text",
    [
        "",
        "0000320193-25000057",
        "000032019325-000057",
        "00003201932500005",
        "0000320193250000577",
        "0000320193-25-000057 ",
        "0000320193-25-000057\n",
        " 00032019325000057",
        "0000320193_25_000057",
        "٠000320193-25-000057",
        "0000320193-25-00005x",
    ],
)
def test_other_text_is_not_an_accession_number(text: str) -> None:
    assert parse_accession(text) is None


@run_each_case(
    "name, accession",
    [
        ("aapl-10q-20250329_0000320193-25-000057", "0000320193-25-000057"),
        ("000032019325000057", "0000320193-25-000057"),
        ("0000320193-25-000057-index.htm", "0000320193-25-000057"),
        ("brk_2026q1_0001193125-26-226661_index.json", "0001193125-26-226661"),
        ("form4-000032019325000057.xml", "0000320193-25-000057"),
        ("000032019325000057/0000320193-25-000057.txt", "0000320193-25-000057"),
        ("aapl-20250329.htm", None),
        ("0000320193250000571", None),
        ("10000320193-25-000057", None),
        ("0000320193-25-0000571", None),
        ("0000320193-25-000057_0000320193-25-000058", None),
        ("", None),
    ],
)
def test_accession_number_is_found_in_a_name(name: str, accession: str | None) -> None:
    assert find_accession_in_name(name) == accession


@pytest.mark.parametrize("value", ["320193", "0000320193", 320193])
def test_cik_gets_ten_digits(value: str | int) -> None:
    assert parse_cik(value) == "0000320193"


@run_each_case("value", ["", "0", 0, -1, "00000320193", 10**10, True, "CIK320193", " 1", "1\n", "１", "1.0"])
def test_other_value_is_not_a_cik(value: str | int) -> None:
    with pytest.raises(ValueError, match="is not a CIK"):
        parse_cik(value)


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.text(max_size=40))
def test_any_name_has_a_valid_accession_number_or_none(name: str) -> None:
    accession = find_accession_in_name(name)
    assert accession is None or parse_accession(accession) == accession


@run_each_case(
    "text, reason",
    [
        (b'{"a":1,"a":2}', "a key occurs twice"),
        (b"[NaN]", "NaN is not a JSON value"),
        (b"[-Infinity]", "-Infinity is not a JSON value"),
        (b"[" * 100_000, "nested too deep"),
        (b'["\xe9"]', "not UTF-8"),
        (b'["\\ud83d"]', "an unpaired surrogate"),
        (b'["\\u0000"]', "NUL character"),
        (b'["\0"]', "not JSON"),
        (b"[1]x", "not JSON: Extra data"),
        (b"", "not JSON"),
    ],
)
def test_ambiguous_or_broken_json_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        parse_json(text, "x.json")


def test_json_with_escapes_and_byte_order_mark_is_parsed() -> None:
    assert parse_json(b'\xef\xbb\xbf["\\ud83d\\ude00", "\\u00e9"]', "x.json") == ["😀", "é"]
