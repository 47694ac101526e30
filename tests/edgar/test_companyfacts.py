"""The parser of companyfacts documents: rows, and refusals."""

from __future__ import annotations

import copy
import json
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import companyfacts
from finapi.edgar.companyfacts import ConceptFacts, FactFiling
from tests.support.case_tables import run_each_case
from tests.support.slow_cases import slow_after

ANNUAL = "0000320193-18-000145"
LATER = "0000320193-20-000096"

ROW = {
    "start": "2017-10-01",
    "end": "2018-09-29",
    "val": 11.91,
    "accn": ANNUAL,
    "fy": 2018,
    "fp": "FY",
    "form": "10-K",
    "filed": "2018-11-05",
}
DOCUMENT: dict[str, Any] = {
    "cik": 320193,
    "entityName": "Apple Inc.",
    "facts": {
        "us-gaap": {"EarningsPerShareDiluted": {"label": None, "description": None, "units": {"USD/shares": [ROW]}}}
    },
}


def read(document: Any) -> companyfacts.CompanyFacts:
    """Parse a document. Check that an object is parsed the same with blanks and without, as the SEC writes it."""
    if isinstance(document, bytes):
        return companyfacts.parse(document, "facts.json")
    facts = companyfacts.parse(json.dumps(document).encode(), "facts.json")
    assert companyfacts.parse(encode_as_the_sec(document), "facts.json") == facts
    return facts


def encode_as_the_sec(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def with_row(**changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    row = document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0]
    row.update(changes)
    return document


def get_error(document: Any) -> str:
    """Return the message of the ParseError that a document causes, in both ways to write it."""
    if not isinstance(document, bytes):
        with pytest.raises(ParseError):
            companyfacts.parse(encode_as_the_sec(document), "facts.json")
    with pytest.raises(ParseError) as caught:
        read(document)
    assert caught.value.file == "facts.json"
    return str(caught.value)


def test_rows_have_their_filing_period_and_value() -> None:
    facts = read(DOCUMENT)
    assert (facts.cik, facts.name, facts.backward_row_count) == (320193, "Apple Inc.", 0)
    assert facts.filings == {ANNUAL: FactFiling("10-K", "2018-11-05")}
    assert facts.concepts == [
        ConceptFacts(
            "us-gaap:EarningsPerShareDiluted", "USD/shares", [(ANNUAL, days.number("2018-09-29"), 364, "11.91")]
        )
    ]


@pytest.mark.parametrize("cik", [320193, "320193", "0000320193"])
def test_cik_may_be_a_number_or_a_padded_text(cik: Any) -> None:
    assert read(DOCUMENT | {"cik": cik}).cik == 320193


def test_null_fiscal_year_changes_nothing_but_the_fiscal_years() -> None:
    with_year = read(DOCUMENT)
    without_year = read(with_row(fy=None, fp=None))
    assert with_year.fiscal_years == {ANNUAL: 2018}
    assert without_year == replace(with_year, fiscal_years={})


@run_each_case("year", ["2018", True, 2018.0, 99999, -1, [2018]])
def test_invalid_fiscal_year_is_left_out(year: Any) -> None:
    assert read(with_row(fy=year)).fiscal_years == {}


def test_instant_has_no_start() -> None:
    document = with_row()
    del document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0]["start"]
    assert read(document).concepts[0].rows == [(ANNUAL, days.number("2018-09-29"), 0, "11.91")]


@run_each_case(
    "text, value",
    [
        ("53851000000", "53851000000"),
        ("-42012000000", "-42012000000"),
        ("2.980", "2.980"),
        ("0", "0"),
        ("1.5E3", "1.5E3"),
        ("0.00001", "0.00001"),
        ("-0.50", "-0.50"),
        ("-0", "0"),
        ("1" * 60, "1" * 60),
        (f"0.{'1' * 58}", f"0.{'1' * 58}"),
    ],
)
def test_value_is_the_text_of_the_document(text: str, value: str) -> None:
    for data in (json.dumps(DOCUMENT).encode(), encode_as_the_sec(DOCUMENT)):
        assert read(data.replace(b"11.91", text.encode())).concepts[0].rows[0][3] == value


@run_each_case("text", ["1e400", "NaN", "Infinity", "null", "true", "[]", '"a"', '""', "9" * 61, f"0.{'1' * 59}"])
def test_invalid_value_is_refused_with_its_concept(text: str) -> None:
    for data in (json.dumps(DOCUMENT).encode(), encode_as_the_sec(DOCUMENT)):
        assert "EarningsPerShareDiluted" in get_error(data.replace(b"11.91", text.encode()))


@run_each_case("name", ["EarningsPerShareDiluted", "us-gaap", "USD/shares", "Apple Inc."])
def test_name_may_have_three_hundred_characters(name: str) -> None:
    text = json.dumps(DOCUMENT)
    assert len(read(text.replace(name, "N" * companyfacts.MAX_NAME).encode()).concepts) == 1
    get_error(text.replace(name, "N" * (companyfacts.MAX_NAME + 1)).encode())


def test_number_of_ten_thousand_digits_is_refused() -> None:
    assert "EarningsPerShareDiluted" in get_error(json.dumps(DOCUMENT).replace("11.91", "9" * 10_000).encode())


def test_row_that_ends_before_it_starts_is_left_out_and_counted() -> None:
    facts = read(with_row(start="2018-10-01"))
    assert (facts.concepts[0].rows, facts.backward_row_count) == ([], 1)


@run_each_case(
    "changes, reason",
    [
        ({"end": None}, "is not a date"),
        ({"end": "2018-09-31"}, "is not a date"),
        ({"end": "20180929"}, "is not a date"),
        ({"start": 2017}, "is not a date"),
        ({"start": 0}, "is not a date"),
        ({"start": ""}, "is not a date"),
        ({"start": "2017-10-1x"}, "is not a date"),
        ({"filed": ""}, "is not a date"),
        ({"accn": "1"}, "is not an accession number"),
        ({"accn": ["0000320193-18-000145"]}, "not in the SEC's format"),
        ({"form": ""}, "is not a form type"),
        ({"form": "10-K\x00"}, "is not a form type"),
    ],
)
def test_row_with_an_invalid_member_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert reason in get_error(with_row(**changes))


@run_each_case("key", ["end", "accn", "form", "filed", "val"])
def test_row_without_a_required_member_is_refused(key: str) -> None:
    document = with_row()
    del document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0][key]
    assert key in get_error(document)


@run_each_case(
    "old, new",
    [
        ('"val"', '"val": 1, "val"'),
        ('"fy"', '"fy":2018,"fy"'),
        ('"label"', '"label":null,"label"'),
        ('"USD/shares"', '"USD/shares": [], "USD/shares"'),
        ('"EarningsPerShareDiluted"', '"EarningsPerShareDiluted": {"units": {}}, "EarningsPerShareDiluted"'),
        ('"us-gaap"', '"us-gaap": {}, "us-gaap"'),
        ('"cik"', '"cik": 1, "cik"'),
    ],
)
def test_key_that_occurs_twice_is_refused(old: str, new: str) -> None:
    for document in (json.dumps(DOCUMENT), encode_as_the_sec(DOCUMENT).decode()):
        assert "twice" in get_error(document.replace(old, new, 1).encode())


@run_each_case("label", ["No colon", "Two: colons: here", "\\u003a escaped", 'A \\": mark'])
@run_each_case("row", ['"val": 1, "val"', '"val" : 1, "val"', '"v\\u0061l": 1, "val"'])
def test_key_that_occurs_twice_is_found_among_other_colons(label: str, row: str) -> None:
    text = json.dumps(DOCUMENT).replace('"label": null', f'"label": "{label}"')
    assert read(text.encode()).concepts == read(DOCUMENT).concepts
    assert "twice" in get_error(text.replace('"val"', row, 1).encode())


def test_row_may_have_more_members() -> None:
    assert read(with_row(frame={"a": 1, "b": [{"c": ":"}]}, note="a:b")).concepts == read(DOCUMENT).concepts


def test_filing_has_its_rows_earliest_day_and_latest_year() -> None:
    rows = [ROW | {"filed": day, "fy": year} for day, year in [("2018-11-06", 2018), ("2018-11-05", 2019)] * 2]
    document = copy.deepcopy(DOCUMENT)
    for ordered_rows in (rows, rows[::-1]):
        document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"] = ordered_rows
        facts = read(document)
        assert (facts.filings, facts.fiscal_years) == ({ANNUAL: FactFiling("10-K", "2018-11-05")}, {ANNUAL: 2019})


@run_each_case(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        json.dumps(DOCUMENT)[:-1].encode(),
        json.dumps(DOCUMENT).encode() + b"x",
        {},
        {"cik": 320193, "facts": {}},
        DOCUMENT | {"cik": 0},
        DOCUMENT | {"cik": True},
        DOCUMENT | {"entityName": ""},
        DOCUMENT | {"entityName": "\ud800"},
        DOCUMENT | {"facts": []},
        DOCUMENT | {"facts": {"us-gaap": []}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets": []}}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets": {}}}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets": {"units": {"USD": {}}}}}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets": {"units": {"USD": [1]}}}}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets": {"units": {"": []}}}}},
        DOCUMENT | {"facts": {"us gaap": {}}},
        DOCUMENT | {"facts": {"us-gaap": {"Assets\n": {"units": {}}}}},
    ],
)
def test_other_document_is_refused(document: Any) -> None:
    assert get_error(document)


@pytest.mark.parametrize("opening", ['{"facts": ' * 200_000, '{"cik": ' + "[" * 200_000])
def test_endless_nesting_is_refused(opening: str) -> None:
    assert get_error(opening.encode())


@pytest.mark.parametrize("data", [json.dumps(DOCUMENT).encode(), encode_as_the_sec(DOCUMENT)])
def test_every_truncation_is_refused(data: bytes) -> None:
    for length in range(len(data)):
        assert get_error(data[:length])


LARGER = copy.deepcopy(DOCUMENT)
LARGER["facts"]["us-gaap"]["EarningsPerShareDiluted"] |= {
    "label": 'A "label": with \\u2014 escapes',
    "units": {"USD/shares": [ROW, {**ROW, "end": "2018-09-30", "frame": "CY2018"}], "EUR": [ROW | {"accn": LATER}]},
}


def test_concept_as_the_sec_writes_it_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded_texts: list[str] = []

    class RecordingDecoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            value, end = super().raw_decode(s, idx)
            decoded_texts.append(s[idx:end])
            return value, end

    expected = read(json.dumps(LARGER).encode())
    monkeypatch.setattr(companyfacts, "build_strict_decoder", lambda **options: RecordingDecoder(parse_float=str))
    assert read(encode_as_the_sec(LARGER)) == expected
    assert not any('"units"' in text or '"val"' in text for text in decoded_texts)
    read(json.dumps(LARGER).encode())
    assert any('"units"' in text for text in decoded_texts)
    assert [(concept.unit, len(concept.rows)) for concept in expected.concepts] == [("USD/shares", 2), ("EUR", 1)]


@pytest.mark.parametrize("byte", slow_after(5, [None, *b'",{0\\:[]}19-. \n\x00\xffe']))
def test_damaged_byte_has_the_same_effect_in_both_ways_to_read(byte: int | None) -> None:
    document = encode_as_the_sec(LARGER)
    concept_start = document.index(b'"label"')
    replacement = b"" if byte is None else bytes([byte])
    refused_count = 0
    for position in range(len(document)):
        damaged = document[:position] + replacement + document[position + 1 :]
        # With a blank in it, the concept is not as the SEC writes it, and is decoded as JSON.
        blank_position = concept_start - (byte is None and position < concept_start)
        with_blank = damaged[:blank_position] + b" " + damaged[blank_position:]
        facts = parse_or_none(damaged)
        assert facts == parse_or_none(with_blank), position
        refused_count += facts is None
    assert refused_count


def parse_or_none(document: bytes) -> companyfacts.CompanyFacts | None:
    try:
        return companyfacts.parse(document, "facts.json")
    except ParseError:
        return None


def test_label_with_many_escapes_takes_little_memory() -> None:
    data = encode_as_the_sec(LARGER).replace(b'A \\"label', b"\\n" * 500_000 + b'\\"label')
    tracemalloc.start()
    try:
        facts = companyfacts.parse(data, "facts.json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert facts == read(LARGER)
    assert len(data) > 1_000_000
    assert peak < 20 * len(data)  # A regular expression without a limit took 90 bytes for each escape.


def test_document_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "32 MiB" in get_error(b" " * (companyfacts.MAX_BYTES + 1))
    monkeypatch.setattr(companyfacts, "MAX_BYTES", len(json.dumps(DOCUMENT)))
    assert read(DOCUMENT).name == "Apple Inc."
    assert "is larger than any" in get_error(json.dumps(DOCUMENT).encode() + b" ")


def test_filing_has_the_earliest_day_in_any_order_of_rows() -> None:
    units = DOCUMENT["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]
    other = ROW | {"filed": "2018-11-04", "end": "2018-09-28"}
    for rows in ([ROW, other], [other, ROW]):
        document = copy.deepcopy(DOCUMENT)
        document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"] = {**units, "USD/shares": rows}
        assert read(document).filings == {ANNUAL: FactFiling("10-K", "2018-11-04")}
