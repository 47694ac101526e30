"""The parser of the SEC's insider transactions data sets."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import insider_sets
from finapi.edgar.insider_sets import FiledForm
from tests.support.case_tables import run_each_case
from tests.support.ownership_xml import ACCESSION, data_set, files_of, table
from tests.support.random_examples import examples


def parse(**changed: bytes) -> list[FiledForm | ParseError]:
    """Parse the sample data set with other tables. An empty table is left out."""
    tables = {name: content for name, content in data_set(**changed).items() if content}
    return list(insider_sets.iter_forms(tables, files_of(tables)))


def test_form_is_built_from_its_tables() -> None:
    (filed,) = parse()
    assert isinstance(filed, FiledForm)
    form = filed.form
    assert (filed.accession, filed.filed) == (ACCESSION, "2025-03-05")
    assert (form.form, form.period, form.issuer_cik, form.symbol) == ("4", "2025-03-03", "0001234567", "BRK-B")
    assert form.rule_10b5_1 is False
    assert [(owner.cik, owner.is_director, owner.is_officer, owner.is_ten_percent_owner) for owner in form.owners] == [
        ("0000000101", True, True, False),
        ("0000000103", False, False, True),
    ]
    assert form.footnotes == (("F1", "Paid with an old lamp."), ("F2", "The Wick Trust."))


def test_rows_are_ordered_by_table_and_key() -> None:
    (filed,) = parse()
    assert isinstance(filed, FiledForm)
    rows = filed.form.rows
    assert [(row.is_derivative, row.is_transaction, row.shares, row.price, row.following_shares) for row in rows] == [
        (False, True, "100", "10.5", "1000"),
        (False, True, "200", None, "1200"),
        (False, False, None, None, "500"),
        (True, True, "40", None, "40"),
    ]
    assert rows[1].list_footnote_ids("price") == ("F1",)
    assert rows[2].list_footnote_ids("nature") == ("F2", "F1")
    # The column is spelt EXCERCISE_DATE in one table and EXERCISE_DATE in the other.
    assert (rows[3].exercise_date, rows[3].expiration_date) == ("2026-03-03", "2035-03-03")


def test_missing_columns_are_none() -> None:
    row = {
        "FILING_DATE": "05-MAR-2009",
        "PERIOD_OF_REPORT": "03-MAR-2009",
        "DOCUMENT_TYPE": "4",
        "ISSUERCIK": "1234567",
        "ISSUERNAME": "Brook Lamps Inc.",
    }
    (filed,) = parse(submission=table("submission", row, without="AFF10B5ONE"))
    assert isinstance(filed, FiledForm)
    assert filed.form.rule_10b5_1 is None


def test_table_may_have_no_rows_and_no_line_end() -> None:
    columns = data_set()[insider_sets.SUBMISSION].split(b"\n")[0]
    for end in (b"", b"\n", b"\r\n"):
        assert parse(submission=columns + end) == []
    with pytest.raises(ParseError, match="line 1: the column ACCESSION_NUMBER is missing"):
        parse(submission=b"\n" + data_set()[insider_sets.SUBMISSION])


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = data_set()
    row_count = max(len(rows.splitlines()) - 1 for rows in tables.values())
    monkeypatch.setattr(insider_sets, "MAX_ROWS", row_count)
    assert len(parse()) == 1
    monkeypatch.setattr(insider_sets, "MAX_ROWS", row_count - 1)
    with pytest.raises(ParseError, match=f"more than {row_count - 1} rows"):
        parse()


def test_invalid_form_is_an_error_among_the_others() -> None:
    valid_row = {
        "FILING_DATE": "05-MAR-2025",
        "PERIOD_OF_REPORT": "03-MAR-2025",
        "DOCUMENT_TYPE": "4",
        "ISSUERCIK": "1234567",
        "ISSUERNAME": "Brook Lamps Inc.",
    }
    invalid_row = {**valid_row, "ACCESSION_NUMBER": "0001234567-25-000011", "FILING_DATE": "05-MAI-2025"}
    row_without_owner = {**valid_row, "ACCESSION_NUMBER": "0001234567-25-000012"}
    first, second, third = parse(submission=table("submission", valid_row, invalid_row, row_without_owner))
    assert isinstance(first, FiledForm)
    assert isinstance(second, ParseError)
    assert (second.place, second.reason) == ("0001234567-25-000011", "FILING_DATE: '05-MAI-2025' is not a date")
    assert isinstance(third, ParseError)
    assert third.reason == "has no reporting owner"


@pytest.mark.parametrize("number", ["\x85", "0001234567-25", "0001234567_25_000011"])
def test_rows_without_accession_numbers_are_one_error(number: str) -> None:
    row = {"ACCESSION_NUMBER": number, "DOCUMENT_TYPE": "4"}
    submissions = data_set()["submission"]
    first, second = parse(submission=submissions + table("submission", row, row).partition(b"\n")[2])
    assert isinstance(first, FiledForm)
    assert isinstance(second, ParseError)
    assert second.reason == "is not an accession number"


@pytest.mark.slow
def test_rows_of_no_form_take_no_memory() -> None:
    tables = {**data_set(), "owner": data_set()["owner"] + b".\n" * 100_000}
    tracemalloc.start()
    (filed,) = insider_sets.iter_forms(tables, files_of(tables))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(filed, FiledForm)
    assert peak < 200_000


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"owner": b""}, "a data set without its owner table"),
        ({"submission": table("submission", without="ISSUERCIK")}, "the column ISSUERCIK is missing"),
        ({"footnotes": b"FOOTNOTE_ID\tACCESSION_NUMBER\n"}, "the first column is not ACCESSION_NUMBER"),
    ],
)
def test_incomplete_set_is_refused(changed: dict[str, bytes], reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(**changed)
    assert caught.value.reason == reason


@run_each_case(
    "column, value, reason",
    [
        ("TRANS_SHARES", "1e5", "TRANS_SHARES: '1e5' is not a number"),
        ("TRANS_CODE", "PP", "TRANS_CODE: 'PP' is not a transaction code"),
        ("TRANS_ACQUIRED_DISP_CD", "X", "TRANS_ACQUIRED_DISP_CD: 'X' is not one of A, D"),
        ("TRANS_DATE", "31-FEB-2025", "TRANS_DATE: day is out of range for month"),
        ("SECURITY_TITLE", "", "a row without SECURITY_TITLE"),
    ],
)
def test_invalid_cell_is_an_error_of_its_form(column: str, value: str, reason: str) -> None:
    row = {"NONDERIV_TRANS_SK": "1", "SECURITY_TITLE": "Common Stock", column: value}
    (error,) = parse(nonderiv_trans=table("nonderiv-trans", row))
    assert isinstance(error, ParseError)
    assert error.reason == reason


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_damaged_tables_are_parsed_or_refused(data: st.DataObject) -> None:
    tables = data_set()
    name = data.draw(st.sampled_from(sorted(tables)))
    damaged = bytearray(tables[name])
    start = data.draw(st.integers(0, len(damaged)))
    damaged[start : start + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=12))
    try:
        outcomes = parse(**{name: bytes(damaged)})
    except ParseError:
        return
    assert all(isinstance(outcome, FiledForm | ParseError) for outcome in outcomes)
