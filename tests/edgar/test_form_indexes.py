"""The parser of EDGAR's indexes of filings: layouts, days and refusals."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import form_indexes
from finapi.edgar.form_indexes import IndexRow
from tests.conftest import SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

RULE = "-" * 90
DESCRIPTION = "Description:           Daily Index of EDGAR Dissemination Feed by Form Type\nComments:    x\n \n \n"
FORM = f"{DESCRIPTION}Form Type   Company Name                  CIK         Date Filed  File Name\n{RULE}\n"
COMPANY = f"{DESCRIPTION}Company Name                  Form Type   CIK         Date Filed  File Name\n{RULE}\n"
MASTER = f"{DESCRIPTION}CIK|Company Name|Form Type|Date Filed|Filename\n{RULE}\n"
PATH = "edgar/data/1750/0000001750-20-000001.txt"
ROW = IndexRow("10-K/A", "LAMP CORP", 1750, "2020-03-18", "0000001750-20-000001")


def parse(text: str | bytes) -> list[IndexRow]:
    return form_indexes.parse(text.encode() if isinstance(text, str) else text, "an.idx").rows


@run_each_case(
    "text",
    [
        FORM + f"10-K/A      LAMP CORP                     1750        20200318    {PATH}      \n",
        FORM + f"10-K/A      LAMP CORP                     1750        2020-03-18    {PATH}\n",
        COMPANY + f"LAMP CORP                     10-K/A      1750        2020-03-18  {PATH}\r\n",
        # The SEC breaks the heading of a daily index, and the last line of a master index may have no end.
        COMPANY.replace("CIK         Date", "CIK\n      Date")
        + f"LAMP CORP                     10-K/A      1750        20200318    {PATH}   \n",
        MASTER + f"1750|LAMP CORP|10-K/A|20200318|{PATH}",
        COMPANY
        + "LAMP CORP                     10-K/A      1750        2020-03-18  "
        + "https://www.sec.gov/Archives/edgar/data/1750/0000001750-20-000001-index.htm\n",
        MASTER + f"1750|LAMP CORP|10-K/A|20200318|{PATH}\n",
        # Nothing stands before the names of the columns.
        COMPANY.removeprefix(DESCRIPTION)
        + f"LAMP CORP                     10-K/A      1750        20200318    {PATH}\n",
        MASTER + f"\n0000001750|LAMP CORP|10-K/A|2020-03-18|{PATH}\n\n",
    ],
)
def test_every_layout_has_the_same_row(text: str) -> None:
    assert parse(text) == [ROW]


def test_form_with_blanks_and_name_with_numbers_and_bars() -> None:
    assert parse(FORM + f"1-A POS     FUND 2020  20200101 TRUST     1750        20200318    {PATH}\n") == [
        ROW._replace(form="1-A POS", name="FUND 2020  20200101 TRUST")
    ]
    assert parse(MASTER + f"1750|A|B CORP|10-K/A|20200318|{PATH}\n") == [ROW._replace(name="A|B CORP")]


def test_long_text_ends_at_two_blanks() -> None:
    assert parse(FORM + f"S-3MEFDPOS-LONG  LAMP CORP                1750        20200318    {PATH}\n") == [
        ROW._replace(form="S-3MEFDPOS-LONG")
    ]
    name = "THE VERY LONG NAME OF A CORPORATION"
    assert parse(COMPANY + f"{name}  10-K/A      1750        20200318    {PATH}\n") == [ROW._replace(name=name)]


def test_latin_1_name_is_read() -> None:
    assert parse((MASTER + f"1750|CAFÉ|10-K/A|20200318|{PATH}\n").encode("latin-1"))[0].name == "CAFÉ"


@run_each_case(
    "text, reason",
    [
        ("", "an.idx: no heading of an index of filings"),
        (DESCRIPTION, "an.idx: no heading of an index of filings"),
        ("x\n" * 200 + RULE, "an.idx: no heading of an index of filings"),
        (DESCRIPTION + "Name  Number\n" + RULE + "\n", "an.idx: line 5: not the column names of an index of filings"),
        (MASTER + "1750|LAMP|10-K\n", "an.idx: line 7: is not five columns separated by bars"),
        (MASTER + f"17x|LAMP|10-K|20200318|{PATH}\n", "an.idx: line 7: '17x' is not a CIK"),
        (MASTER + f"0|LAMP|10-K|20200318|{PATH}\n", "an.idx: line 7: '0' is not a CIK"),
        (MASTER + f"1750|LAMP|10-K|20200231|{PATH}\n", "an.idx: line 7: '20200231' is not a day"),
        (MASTER + f"1750|LAMP|10-K|2020-W01-1|{PATH}\n", "an.idx: line 7: '2020-W01-1' is not a day"),
        (MASTER + f"1750| |10-K|20200318|{PATH}\n", "an.idx: line 7: has no form type or no company name"),
        (MASTER + f"1750|LAMP|<b>|20200318|{PATH}\n", "an.idx: line 7: has no form type or no company name"),
        (
            MASTER + "1750|LAMP|10-K|20200318|edgar/data/x\n",
            "an.idx: line 7: 'edgar/data/x' contains no accession number",
        ),
        (FORM + "10-K  LAMP\n", "an.idx: line 7: does not end in a CIK, a day and a file name"),
        (
            MASTER + f"1750|LAMP|10-K|20200318|{PATH[:-2]}",
            f"an.idx: line 7: {PATH[:-2]!r} contains no accession number",
        ),
        *(
            (text, "an.idx: line 5: not the column names of an index of filings")
            for text in (FORM.replace("CIK", "XIK"), FORM.replace("Company", "X"), FORM.replace("Form T", "X"))
        ),
        (MASTER + "1" * 2_001 + "\n", "an.idx: a line of more than 2000 bytes"),
        (MASTER + "1" * 2_000 + "\n", "an.idx: line 7: is not five columns separated by bars"),
    ],
)
def test_invalid_line_is_refused_with_its_number(text: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == reason


GOOD_LINE = f"1750|LAMP CORP|10-K/A|20200318|{PATH}\n"


@run_each_case(
    "text, row_count, reasons",
    [
        (f"1750|LAMP|10-K\n{GOOD_LINE}", 1, ["an.idx: line 7: is not five columns separated by bars"]),
        (f"{GOOD_LINE}x\n{GOOD_LINE}", 2, ["an.idx: line 8: is not five columns separated by bars"]),
        (f"{GOOD_LINE}x\n", 1, ["an.idx: line 8: is not five columns separated by bars"]),
        (
            GOOD_LINE * 200 + "x\ny\n",
            200,
            [f"an.idx: line {n}: is not five columns separated by bars" for n in (207, 208)],
        ),
    ],
)
def test_broken_line_is_left_out_and_reported(text: str, row_count: int, reasons: list[str]) -> None:
    index = form_indexes.parse((MASTER + text).encode(), "an.idx")
    assert index.rows == [ROW] * row_count
    assert [str(error) for error in index.errors] == reasons


@run_each_case(
    "text, line_number",
    [
        (f"{GOOD_LINE}x\ny\n", 8),
        (GOOD_LINE * 200 + "x\ny\nz\n", 207),
        # A last line without an end is cut off, and so are all lines that should come after it.
        (f"{GOOD_LINE}{GOOD_LINE[:-3]}", 8),
        (GOOD_LINE * 20_000 + "x\n" * 101, 20_007),
    ],
)
def test_index_with_many_broken_lines_is_refused(text: str, line_number: int) -> None:
    with pytest.raises(ParseError, match=f"an.idx: line {line_number}: "):
        form_indexes.parse((MASTER + text).encode(), "an.idx")


@given(st.binary(max_size=400), st.sampled_from([b"", FORM.encode(), MASTER.encode(), COMPANY.encode()]))
@settings(max_examples=examples(300), deadline=None)
def test_any_bytes_are_parsed_or_refused(tail: bytes, heading: bytes) -> None:
    try:
        rows = parse(heading + tail)
    except ParseError:
        return
    assert all(row.cik > 0 and len(row.accession) == 20 for row in rows)


@pytest.mark.slow
def test_memory_stays_below_twenty_times_the_index() -> None:
    data = (MASTER + f"1|A|4|20200318|{PATH}\n" * 20_000).encode()
    tracemalloc.start()
    rows = form_indexes.parse(data, "an.idx").rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rows) == 20_000
    assert peak < 20 * len(data)


@needs_shared
def test_real_indexes_are_read_to_the_last_line() -> None:
    daily = (SHARED / "edgar/index/form.20200318.idx").read_bytes()
    rows = form_indexes.parse(daily, "form.20200318.idx").rows
    assert len(rows) == daily.count(b"edgar/data/") == 4_084
    # A day's index also lists filings that are dated back, and each party of a filing has a line.
    assert sum(row.filed == "2020-03-18" for row in rows) == 3_940
    assert len({row.accession for row in rows}) == 2_666
    quarter = form_indexes.parse((SHARED / "edgar/index/master.1993QTR4.idx").read_bytes(), "master.idx").rows
    assert len(quarter) == 20
    assert quarter[1] == IndexRow("10-Q", "BETHLEHEM STEEL CORP /DE/", 11860, "1993-11-12", "0000011860-94-000005")


def test_two_blanks_inside_a_name_are_part_of_it() -> None:
    (row,) = parse(COMPANY + f"LAMP  CORP                    10-K/A      1750        2020-03-18  {PATH}\n")
    assert (row.form, row.name) == ("10-K/A", "LAMP  CORP")
