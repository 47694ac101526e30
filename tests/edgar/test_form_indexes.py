"""EDGAR's indexes of filings: four layouts, two ways to write a day, and lines that are none."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.form_indexes import IndexRow, iter_rows
from tests.conftest import SHARED, needs_shared

RULE = "-" * 90
TOP = "Description:           Daily Index of EDGAR Dissemination Feed by Form Type\nComments:    x\n \n \n"
FORM = f"{TOP}Form Type   Company Name                  CIK         Date Filed  File Name\n{RULE}\n"
COMPANY = f"{TOP}Company Name                  Form Type   CIK         Date Filed  File Name\n{RULE}\n"
MASTER = f"{TOP}CIK|Company Name|Form Type|Date Filed|Filename\n{RULE}\n"
PATH = "edgar/data/1750/0000001750-20-000001.txt"
ROW = IndexRow("10-K/A", "LAMP CORP", 1750, "2020-03-18", "0000001750-20-000001")


def read(text: str | bytes) -> list[IndexRow]:
    return list(iter_rows(text.encode() if isinstance(text, str) else text, "an.idx"))


@pytest.mark.parametrize(
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
        MASTER + f"\n0000001750|LAMP CORP|10-K/A|2020-03-18|{PATH}\n\n",
    ],
)
def test_every_layout_says_the_same_of_a_filing(text: str) -> None:
    assert read(text) == [ROW]


def test_form_types_with_blanks_and_names_with_numbers_and_bars_are_whole() -> None:
    assert read(FORM + f"1-A POS     FUND 2020  20200101 TRUST     1750        20200318    {PATH}\n") == [
        ROW._replace(form="1-A POS", name="FUND 2020  20200101 TRUST")
    ]
    assert read(MASTER + f"1750|A|B CORP|10-K/A|20200318|{PATH}\n") == [ROW._replace(name="A|B CORP")]


def test_what_is_longer_than_its_column_is_parted_by_two_blanks() -> None:
    assert read(FORM + f"S-3MEFDPOS-LONG  LAMP CORP                1750        20200318    {PATH}\n") == [
        ROW._replace(form="S-3MEFDPOS-LONG")
    ]
    long = "THE VERY LONG NAME OF A CORPORATION"
    assert read(COMPANY + f"{long}  10-K/A      1750        20200318    {PATH}\n") == [ROW._replace(name=long)]


def test_names_in_latin_1_are_read() -> None:
    assert read((MASTER + f"1750|CAFÉ|10-K/A|20200318|{PATH}\n").encode("latin-1"))[0].name == "CAFÉ"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "an.idx: no heading of an index of filings"),
        (TOP, "an.idx: no heading of an index of filings"),
        ("x\n" * 200 + RULE, "an.idx: no heading of an index of filings"),
        (TOP + "Name  Number\n" + RULE + "\n", "an.idx: line 5: not the column names of an index of filings"),
        (MASTER + "1750|LAMP|10-K\n", "an.idx: line 7: not five columns between bars"),
        (MASTER + f"17x|LAMP|10-K|20200318|{PATH}\n", "an.idx: line 7: '17x' is not a CIK"),
        (MASTER + f"0|LAMP|10-K|20200318|{PATH}\n", "an.idx: line 7: '0' is not a CIK"),
        (MASTER + f"1750|LAMP|10-K|20200231|{PATH}\n", "an.idx: line 7: '20200231' is not a day"),
        (MASTER + f"1750|LAMP|10-K|2020-W01-1|{PATH}\n", "an.idx: line 7: '2020-W01-1' is not a day"),
        (MASTER + f"1750| |10-K|20200318|{PATH}\n", "an.idx: line 7: has no form type or no company name"),
        (MASTER + f"1750|LAMP|<b>|20200318|{PATH}\n", "an.idx: line 7: has no form type or no company name"),
        (MASTER + "1750|LAMP|10-K|20200318|edgar/data/x\n", "an.idx: line 7: 'edgar/data/x' names no filing"),
        (FORM + "10-K  LAMP\n", "an.idx: line 7: does not end in a CIK, a day and a file name"),
        (MASTER + f"1750|LAMP|10-K|20200318|{PATH[:-2]}", f"an.idx: line 7: {PATH[:-2]!r} names no filing"),
        *(
            (text, "an.idx: line 5: not the column names of an index of filings")
            for text in (FORM.replace("CIK", "XIK"), FORM.replace("Company", "X"), FORM.replace("Form T", "X"))
        ),
        (MASTER + "1" * 2_001 + "\n", "an.idx: a line of more than 2000 bytes"),
        (MASTER + "1" * 2_000 + "\n", "an.idx: line 7: not five columns between bars"),
    ],
)
def test_what_is_no_row_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        read(text)
    assert str(refused.value) == reason


@given(st.binary(max_size=400), st.sampled_from([b"", FORM.encode(), MASTER.encode(), COMPANY.encode()]))
@settings(max_examples=300, deadline=None)
def test_no_bytes_do_more_than_be_refused(tail: bytes, top: bytes) -> None:
    try:
        found = read(top + tail)
    except ParseError:
        return
    assert all(row.cik > 0 and len(row.accession) == 20 for row in found)


@pytest.mark.slow
def test_memory_stays_within_twenty_times_the_index() -> None:
    data = (MASTER + f"1|A|4|20200318|{PATH}\n" * 20_000).encode()
    tracemalloc.start()
    found = list(iter_rows(data, "an.idx"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 20_000
    assert peak < 20 * len(data)


@needs_shared
def test_the_secs_own_indexes_are_read_to_the_last_line() -> None:
    daily = (SHARED / "edgar/index/form.20200318.idx").read_bytes()
    found = list(iter_rows(daily, "form.20200318.idx"))
    assert len(found) == daily.count(b"edgar/data/") == 4_084
    # A day's index also tells of filings that are dated back, and each party of a filing has a line.
    assert sum(row.filed == "2020-03-18" for row in found) == 3_940
    assert len({row.accession for row in found}) == 2_666
    quarter = list(iter_rows((SHARED / "edgar/index/master.1993QTR4.idx").read_bytes(), "master.idx"))
    assert len(quarter) == 20
    assert quarter[1] == IndexRow("10-Q", "BETHLEHEM STEEL CORP /DE/", 11860, "1993-11-12", "0000011860-94-000005")


def test_two_blanks_inside_a_name_end_no_column() -> None:
    (row,) = read(COMPANY + f"LAMP  CORP                    10-K/A      1750        2020-03-18  {PATH}\n")
    assert (row.form, row.name) == ("10-K/A", "LAMP  CORP")
