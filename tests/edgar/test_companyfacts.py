"""companyfacts documents: rows as values, and what is refused."""

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
    """What a document says; one that is no bytes with blanks, which are decoded, and without, as the SEC writes it."""
    if isinstance(document, bytes):
        return companyfacts.parse(document, "facts.json")
    made = companyfacts.parse(json.dumps(document).encode(), "facts.json")
    assert companyfacts.parse(as_written(document), "facts.json") == made
    return made


def as_written(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def with_row(**changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    row = document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0]
    row.update(changes)
    return document


def refusal(document: Any) -> str:
    if not isinstance(document, bytes):
        with pytest.raises(ParseError):
            companyfacts.parse(as_written(document), "facts.json")
    with pytest.raises(ParseError) as caught:
        read(document)
    assert caught.value.file == "facts.json"
    return str(caught.value)


def test_rows_are_figures_of_the_filing_that_tags_them() -> None:
    made = read(DOCUMENT)
    assert (made.cik, made.name, made.backward_row_count) == (320193, "Apple Inc.", 0)
    assert made.filings == {ANNUAL: FactFiling("10-K", "2018-11-05")}
    assert made.concepts == [
        ConceptFacts(
            "us-gaap:EarningsPerShareDiluted", "USD/shares", [(ANNUAL, days.number("2018-09-29"), 364, "11.91")]
        )
    ]


@pytest.mark.parametrize("cik", [320193, "320193", "0000320193"])
def test_cik_is_a_number_or_a_padded_text(cik: Any) -> None:
    assert read(DOCUMENT | {"cik": cik}).cik == 320193


def test_a_null_fiscal_year_costs_only_the_name_that_the_filing_gives_its_year() -> None:
    told, silent = read(DOCUMENT), read(with_row(fy=None, fp=None))
    assert (told.fiscal_years, silent.fiscal_years) == ({ANNUAL: 2018}, {})
    assert replace(silent, fiscal_years=told.fiscal_years) == told


@pytest.mark.parametrize("year", ["2018", True, 2018.0, 99999, -1, [2018]])
def test_a_fiscal_year_that_is_none_is_left_out(year: Any) -> None:
    assert read(with_row(fy=year)).fiscal_years == {}


def test_instant_has_no_start() -> None:
    document = with_row()
    del document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0]["start"]
    assert read(document).concepts[0].rows == [(ANNUAL, days.number("2018-09-29"), 0, "11.91")]


@pytest.mark.parametrize(
    ("text", "value"),
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
    ],
)
def test_value_is_the_text_of_the_document(text: str, value: str) -> None:
    for data in (json.dumps(DOCUMENT).encode(), as_written(DOCUMENT)):
        assert read(data.replace(b"11.91", text.encode())).concepts[0].rows[0][3] == value


@pytest.mark.parametrize("text", ["1e400", "NaN", "Infinity", "null", "true", "[]", '"a"', '""', "9" * 61])
def test_value_that_is_no_figure_is_refused_with_its_concept(text: str) -> None:
    for data in (json.dumps(DOCUMENT).encode(), as_written(DOCUMENT)):
        assert "EarningsPerShareDiluted" in refusal(data.replace(b"11.91", text.encode()))


@pytest.mark.parametrize(("length", "taken"), [(300, True), (301, False)])
@pytest.mark.parametrize("name", ["EarningsPerShareDiluted", "us-gaap", "USD/shares", "Apple Inc."])
def test_a_name_has_three_hundred_characters_at_most(name: str, length: int, taken: bool) -> None:
    data = json.dumps(DOCUMENT).replace(name, "N" * length).encode()
    if taken:
        assert len(read(data).concepts) == 1
    else:
        refusal(data)


def test_number_of_ten_thousand_digits_is_refused() -> None:
    assert "EarningsPerShareDiluted" in refusal(json.dumps(DOCUMENT).replace("11.91", "9" * 10_000).encode())


def test_row_that_ends_before_it_starts_is_left_out_and_counted() -> None:
    made = read(with_row(start="2018-10-01"))
    assert (made.concepts[0].rows, made.backward_row_count) == ([], 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
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
def test_row_without_what_it_needs_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert reason in refusal(with_row(**changes))


@pytest.mark.parametrize("key", ["end", "accn", "form", "filed", "val"])
def test_row_with_a_member_missing_is_refused(key: str) -> None:
    document = with_row()
    del document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"][0][key]
    assert key in refusal(document)


@pytest.mark.parametrize(
    ("old", "new"),
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
def test_key_that_stands_twice_is_refused(old: str, new: str) -> None:
    for document in (json.dumps(DOCUMENT), as_written(DOCUMENT).decode()):
        assert "twice" in refusal(document.replace(old, new, 1).encode())


@pytest.mark.parametrize("label", ["No colon", "Two: colons: here", "\\u003a escaped", 'A \\": mark'])
@pytest.mark.parametrize("row", ['"val": 1, "val"', '"val" : 1, "val"', '"v\\u0061l": 1, "val"'])
def test_key_that_stands_twice_is_refused_whatever_colons_stand_beside_it(label: str, row: str) -> None:
    written = json.dumps(DOCUMENT).replace('"label": null', f'"label": "{label}"')
    assert read(written.encode()).concepts == read(DOCUMENT).concepts
    assert "twice" in refusal(written.replace('"val"', row, 1).encode())


def test_rows_with_more_members_than_are_read_are_figures_all_the_same() -> None:
    assert read(with_row(frame={"a": 1, "b": [{"c": ":"}]}, note="a:b")).concepts == read(DOCUMENT).concepts


def test_filings_that_rows_tell_differently_in_turn_are_the_earlier_day_and_the_later_year() -> None:
    rows = [ROW | {"filed": day, "fy": year} for day, year in [("2018-11-06", 2018), ("2018-11-05", 2019)] * 2]
    document = copy.deepcopy(DOCUMENT)
    document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"] = rows
    for turned in (rows, rows[::-1]):
        document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]["USD/shares"] = turned
        made = read(document)
        assert (made.filings, made.fiscal_years) == ({ANNUAL: FactFiling("10-K", "2018-11-05")}, {ANNUAL: 2019})


@pytest.mark.parametrize(
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
def test_what_is_not_such_a_document_is_refused(document: Any) -> None:
    assert refusal(document)


@pytest.mark.parametrize("opening", ['{"facts": ' * 200_000, '{"cik": ' + "[" * 200_000])
def test_depth_without_end_is_refused(opening: str) -> None:
    assert refusal(opening.encode())


@pytest.mark.parametrize("data", [json.dumps(DOCUMENT).encode(), as_written(DOCUMENT)])
def test_every_truncation_is_refused(data: bytes) -> None:
    for length in range(len(data)):
        assert refusal(data[:length])


LARGER = copy.deepcopy(DOCUMENT)
LARGER["facts"]["us-gaap"]["EarningsPerShareDiluted"] |= {
    "label": 'A "label": with \\u2014 escapes',
    "units": {"USD/shares": [ROW, {**ROW, "end": "2018-09-30", "frame": "CY2018"}], "EUR": [ROW | {"accn": LATER}]},
}


def test_a_concept_as_the_sec_writes_it_is_read_without_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = read(json.dumps(LARGER).encode())
    monkeypatch.setattr(companyfacts._CompanyFactsReader, "_concept_value", None)
    assert read(as_written(LARGER)) == decoded
    assert [(one.unit, len(one.rows)) for one in decoded.concepts] == [("USD/shares", 2), ("EUR", 1)]


@pytest.mark.parametrize("byte", [*b'"\\,:[]{}019-. \n\x00\xffe', None])
def test_a_damaged_byte_is_read_as_a_decoder_reads_it_or_refused(
    byte: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = as_written(LARGER)
    changed = [data[:at] + (b"" if byte is None else bytes([byte])) + data[at + 1 :] for at in range(len(data))]
    outcomes = [[_outcome(one) for one in changed]]
    monkeypatch.setattr(companyfacts._CompanyFactsReader, "_units_as_written", lambda self: None)
    outcomes.append([_outcome(one) for one in changed])
    assert outcomes[0] == outcomes[1]
    assert None in outcomes[0]


def _outcome(data: bytes) -> companyfacts.CompanyFacts | None:
    try:
        return companyfacts.parse(data, "facts.json")
    except ParseError:
        return None


def test_a_label_of_many_escapes_takes_no_more_memory_than_a_few_documents() -> None:
    data = as_written(LARGER).replace(b'A \\"label', b"\\n" * 500_000 + b'\\"label')
    tracemalloc.start()
    try:
        made = companyfacts.parse(data, "facts.json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert made == read(LARGER)
    assert len(data) > 1_000_000
    assert peak < 20 * len(data)  # each escape held 90 bytes while a pattern matched


def test_too_large_a_document_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "32 MiB" in refusal(b" " * (companyfacts.MAX_BYTES + 1))
    monkeypatch.setattr(companyfacts, "MAX_BYTES", len(json.dumps(DOCUMENT)))
    assert read(DOCUMENT).name == "Apple Inc."
    assert "is larger than any" in refusal(json.dumps(DOCUMENT).encode() + b" ")


def test_rows_that_disagree_on_their_filing_give_the_earlier_day_in_any_order() -> None:
    units = DOCUMENT["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"]
    other = ROW | {"filed": "2018-11-04", "end": "2018-09-28"}
    for rows in ([ROW, other], [other, ROW]):
        document = copy.deepcopy(DOCUMENT)
        document["facts"]["us-gaap"]["EarningsPerShareDiluted"]["units"] = {**units, "USD/shares": rows}
        assert read(document).filings == {ANNUAL: FactFiling("10-K", "2018-11-04")}
