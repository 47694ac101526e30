"""The parser of a company's list of filings."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.edgar.sgml import parse_header
from finapi.edgar.submissions import (
    FormerCompanyName,
    ListedFiling,
    Listing,
    OlderPage,
    find_cik_of_older_page,
    parse_company,
    parse_older_page,
)
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

EDGAR = SHARED / "edgar"

COLUMNS: dict[str, list[Any]] = {
    "accessionNumber": ["0001234567-24-000012", "000123456724000011"],
    "filingDate": ["2024-03-04", "2024-02-01"],
    "reportDate": ["2024-03-01", ""],
    "acceptanceDateTime": ["2024-03-04T22:30:15.000Z", "2024-02-01T23:31:00.000Z"],
    "act": ["34", ""],
    "form": ["8-K", "4"],
    "fileNumber": ["001-06263", ""],
    "filmNumber": ["24715301", ""],
    "items": ["2.02,9.01", ""],
    "core_type": ["8-K", "4"],
    "size": [211124, 5753],
    "isXBRL": [1, 0],
    "isInlineXBRL": [1, 0],
    "isXBRLNumeric": [None, None],
    "primaryDocument": ["form8k.htm", "xslF345X05/form4.xml"],
    "primaryDocDescription": ["8-K", ""],
}
COMPANY: dict[str, Any] = {
    "cik": "0000001750",
    "entityType": "operating",
    "sic": "3720",
    "sicDescription": "Aircraft & Parts",
    "name": "AAR CORP",
    "tickers": ["AIR", "air.w"],
    "exchanges": ["NYSE", None],
    "lei": None,
    "fiscalYearEnd": "0531",
    "stateOfIncorporation": "DE",
    "formerNames": [
        {"name": "ALLEN AIRCRAFT RADIO INC", "from": "1995-01-10T05:00:00.000Z", "to": "1997-07-28T00:00:00.000Z"}
    ],
    "filings": {
        "recent": COLUMNS,
        "files": [
            {
                "name": "CIK0000001750-submissions-001.json",
                "filingCount": 7,
                "filingFrom": "1994-01-26",
                "filingTo": "2015-03-11",
            }
        ],
    },
}


def encode(document: Any) -> bytes:
    return json.dumps(document).encode()


def with_member(path: str, value: Any) -> bytes:
    """Return the sample with one member replaced, or removed if the value is Ellipsis."""
    document = json.loads(encode(COMPANY))
    *parents, key = path.split(".")
    container = document
    for name in parents:
        container = container[name]
    if value is ...:
        del container[key]
    else:
        container[key] = value
    return encode(document)


def read_real(path: str) -> bytes:
    if not (EDGAR / path).exists():
        pytest.skip(f"{EDGAR / path} is not here")
    return (EDGAR / path).read_bytes()


# --- the sample


def test_company_has_its_values() -> None:
    company = parse_company(encode(COMPANY), "c.json")
    assert (company.cik, company.name) == ("0000001750", "AAR CORP")
    assert company.attributes == CompanyAttributes(
        sic=3720, sic_description="Aircraft & Parts", fiscal_year_end="0531", state="DE", entity_type="operating"
    )
    assert company.listings == (Listing("AIR", "NYSE"), Listing("AIR-W", None))
    assert company.former_names == (FormerCompanyName("ALLEN AIRCRAFT RADIO INC", "1995-01-10", "1997-07-28"),)
    assert [page.name for page in company.older_pages] == ["CIK0000001750-submissions-001.json"]


def test_filings_are_the_rows_of_the_columns() -> None:
    assert parse_company(encode(COMPANY), "c.json").filings == (
        ListedFiling(
            accession="0001234567-24-000012",
            form="8-K",
            filed="2024-03-04",
            report_date="2024-03-01",
            accepted="2024-03-04T22:30:15.000Z",
            primary_document="form8k.htm",
            primary_description="8-K",
            items=("2.02", "9.01"),
            size=211124,
            is_xbrl=True,
            is_inline_xbrl=True,
            act="34",
            file_number="001-06263",
            film_number="24715301",
        ),
        ListedFiling(
            accession="0001234567-24-000011",
            form="4",
            filed="2024-02-01",
            report_date=None,
            accepted="2024-02-01T23:31:00.000Z",
            primary_document="xslF345X05/form4.xml",
            primary_description=None,
            items=(),
            size=5753,
            is_xbrl=False,
            is_inline_xbrl=False,
            act=None,
            file_number=None,
            film_number=None,
        ),
    )


def test_older_page_has_the_same_rows() -> None:
    assert tuple(parse_older_page(encode(COLUMNS), "p.json")) == parse_company(encode(COMPANY), "c.json").filings


@pytest.mark.parametrize("cik", ["1750", "0000001750", 1750])
def test_cik_may_be_padded_bare_or_a_number(cik: str | int) -> None:
    assert parse_company(with_member("cik", cik), "c.json").cik == "0000001750"


def test_person_may_have_no_tickers_and_former_names() -> None:
    person: dict[str, Any] = {
        "cik": "315090",
        "name": "BUFFETT WARREN E",
        "sic": "",
        "fiscalYearEnd": None,
        "tickers": [],
    }
    company = parse_company(encode({**person, "filings": {"recent": COLUMNS, "files": []}}), "c.json")
    assert company.attributes == CompanyAttributes()
    assert (company.listings, company.former_names, company.older_pages) == ((), (), ())


def test_exchanges_may_be_null() -> None:
    company = parse_company(with_member("exchanges", None), "c.json")
    assert company.listings == (Listing("AIR", None), Listing("AIR-W", None))


def test_descriptive_columns_may_be_missing() -> None:
    columns = {name: column for name, column in COLUMNS.items() if name not in {"act", "fileNumber", "filmNumber"}}
    assert parse_older_page(encode(columns), "p.json")[0].act is None


def test_company_without_filings_is_read() -> None:
    company = parse_company(with_member("filings.recent", {name: [] for name in COLUMNS}), "c.json")
    assert company.filings == ()
    assert company.acceptance_clock == "unproven"


# --- the clock of the acceptance times


def build_page(*times: tuple[str, str, str]) -> bytes:
    """Return an older page with a filing for each form, filing date and acceptance time."""
    count = len(times)
    table: dict[str, list[Any]] = {name: [column[1]] * count for name, column in COLUMNS.items()}
    table["form"] = [form for form, _, _ in times]
    table["filingDate"] = [day for _, day, _ in times]
    table["acceptanceDateTime"] = [f"{time}.000Z" for _, _, time in times]
    return encode(table)


def test_impossible_utc_time_proves_an_eastern_clock() -> None:
    # Read as UTC the first would be 01:01 in New York.
    page = build_page(("10-Q", "2026-01-30", "2026-01-30T06:01:32"), ("8-K", "2025-07-31", "2025-07-31T16:30:00"))
    assert [row.accepted for row in parse_older_page(page, "p")] == [
        "2026-01-30T11:01:32.000Z",
        "2025-07-31T20:30:00.000Z",
    ]


def test_impossible_eastern_time_proves_a_utc_clock() -> None:
    # Read as Eastern, 21:11 would have been filed as of the next day.
    page = build_page(("10-Q", "2026-01-28", "2026-01-28T21:11:41"), ("4", "2026-01-28", "2026-01-28T15:00:00"))
    assert [row.accepted for row in parse_older_page(page, "p")] == [
        "2026-01-28T21:11:41.000Z",
        "2026-01-28T15:00:00.000Z",
    ]


def test_midnight_in_new_york_proves_a_utc_clock() -> None:
    page = build_page(("SC 13D", "1996-04-12", "1996-04-12T04:00:00"), ("SC 13G", "1996-02-12", "1996-02-12T05:00:00"))
    assert parse_older_page(page, "p")[0].accepted == "1996-04-12T04:00:00.000Z"


@run_each_case(
    "time, accepted",
    [
        # Read as UTC they would be 05:59 and 06:00 in New York, where EDGAR opens at six.
        ("2024-07-01T09:59:59", "2024-07-01T13:59:59.000Z"),
        ("2024-07-01T10:00:00", "2024-07-01T10:00:00.000Z"),
        ("2024-01-30T10:59:59", "2024-01-30T15:59:59.000Z"),
        ("2024-01-30T11:00:00", "2024-01-30T11:00:00.000Z"),
    ],
)
def test_clock_is_proven_by_the_opening_minute_of_edgar(time: str, accepted: str) -> None:
    assert [row.accepted for row in parse_older_page(build_page(("8-K", time[:10], time)), "p")] == [accepted]


@pytest.mark.parametrize(
    ("name", "cik"),
    [
        ("CIK0000320193-submissions-001.json", 320_193),
        ("CIK0000000000-submissions-001.json", None),
        ("CIK0000320193.json", None),
    ],
)
def test_cik_of_an_older_page_is_in_its_name(name: str, cik: int | None) -> None:
    assert find_cik_of_older_page(name) == cik


def test_size_may_be_zero() -> None:
    company = parse_company(with_member("filings.recent.size", [0, (1 << 50) - 1]), "c.json")
    assert [row.size for row in company.filings] == [0, (1 << 50) - 1]


def test_documents_of_the_sec_prove_no_clock() -> None:
    table = json.loads(build_page(("EFFECT", "2024-05-06", "2024-05-06T04:15:33")))
    table["accessionNumber"] = ["9999999995-24-001395"]
    company = parse_company(with_member("filings.recent", table), "c.json")
    assert company.acceptance_clock == "unproven"
    assert company.filings[0].accepted == "2024-05-06T04:15:33.000Z"


@run_each_case(
    "minute, clock",
    [("05:59:00", "unproven"), ("17:00:00", "unproven"), ("17:30:59", "unproven"), ("17:31:00", "utc")],
)
def test_filing_after_half_past_five_proves_a_utc_clock(minute: str, clock: str) -> None:
    # An Eastern clock would give it the date of the next day.
    table = json.loads(build_page(("8-K", "2024-01-30", f"2024-01-30T{minute}")))
    assert parse_company(with_member("filings.recent", table), "c.json").acceptance_clock == clock


def test_time_before_edgar_proves_no_clock() -> None:
    # In New York it was still 1986, a year for which no daylight saving rule is defined.
    page = build_page(("8-K", "1987-01-01", "1987-01-01T01:00:00"))
    assert parse_older_page(page, "p")[0].accepted == "1987-01-01T01:00:00.000Z"


def test_error_names_the_first_of_repeated_values() -> None:
    page = build_page(*[("4", "2024-02-01", "2024-02-01T15:00:00")] * 3)
    for name, value in (
        ("size", True),
        ("reportDate", "2024-02-30"),
        ("acceptanceDateTime", "2024-02-01T25:00:00.000Z"),
    ):
        table = json.loads(page)
        table[name][1:] = [value, value]
        with pytest.raises(ParseError) as caught:
            parse_older_page(encode(table), "p")
        assert caught.value.place == f"$.{name}[1]"


@pytest.mark.parametrize(
    "values",
    [
        # One value with as many lines as two numbers.
        ["0001234567-24-000012\n0001234567-24-000013", ""],
        ["0001234567-24-000012\n", "0001234567-24-000013"],
        ["\u0660001234567-24-000012", "0001234567-24-000013"],
    ],
)
def test_each_accession_number_is_validated(values: list[str]) -> None:
    table = json.loads(build_page(*[("4", "2024-02-01", "2024-02-01T15:00:00")] * 2))
    table["accessionNumber"] = values
    with pytest.raises(ParseError) as caught:
        parse_older_page(encode(table), "p")
    assert caught.value.place == "$.accessionNumber[0]"


def test_accession_numbers_may_lack_dashes() -> None:
    table = json.loads(build_page(*[("4", "2024-02-01", "2024-02-01T15:00:00")] * 2))
    table["accessionNumber"] = ["000123456724000012", "0001234567-24-000013"]
    assert [row.accession[-2:] for row in parse_older_page(encode(table), "p")] == ["12", "13"]


def test_older_page_uses_the_clock_of_the_company() -> None:
    page = build_page(("4", "2024-02-01", "2024-02-01T15:00:00"))
    assert parse_older_page(page, "p")[0].accepted == "2024-02-01T15:00:00.000Z"
    assert parse_older_page(page, "p", "eastern")[0].accepted == "2024-02-01T20:00:00.000Z"
    assert parse_older_page(page, "p", "utc")[0].accepted == "2024-02-01T15:00:00.000Z"


# --- refusals


@run_each_case(
    "path, value, place",
    [
        ("cik", ..., "$.cik"),
        ("cik", "12345678901", "$.cik"),
        ("cik", True, "$.cik"),
        ("cik", 0, "$.cik"),
        ("cik", "CIK0000001750", "$.cik"),
        ("name", ..., "$.name"),
        ("name", 5, "$.name[0]"),
        ("sic", 3720, "$.sic[0]"),
        ("sic", "37a0", "$.sic"),
        ("sic", "37200", "$.sic"),
        ("sicDescription", 5, "$.sicDescription[0]"),
        ("tickers", "AIR", "$.tickers"),
        ("tickers", ["AIR", None], "$.tickers[1]"),
        ("tickers", ["AIR", "A_B"], "$.tickers[1]"),
        ("exchanges", ["NYSE"], "$.exchanges"),
        ("exchanges", [1, 2], "$.exchanges[0]"),
        ("formerNames", {}, "$.formerNames"),
        ("formerNames", ["X"], "$.formerNames[0]"),
        ("formerNames", [{"from": "1995-01-10"}], "$.formerNames[0].name"),
        ("formerNames", [{"name": "X", "from": "10 January"}], "$.formerNames[0][0]"),
        ("filings", ..., "$.filings"),
        ("filings", [], "$.filings"),
        ("filings.recent", ..., "$.filings.recent"),
        ("filings.recent", [], "$.filings.recent"),
        ("filings.recent.form", ..., "$.filings.recent.form"),
        ("filings.recent.form", {"0": "8-K"}, "$.filings.recent.form"),
        ("filings.recent.form", ["8-K"], "$.filings.recent.form"),
        ("filings.recent.core_type", ["8-K"], "$.filings.recent.core_type"),
        ("filings.recent.form", ["8-K", None], "$.filings.recent.form[1]"),
        ("filings.recent.form", ["8-K", ""], "$.filings.recent.form[1]"),
        ("filings.recent.act", None, "$.filings.recent.act"),
        ("filings.recent.accessionNumber", ["0001234567-24-000012", "x"], "$.filings.recent.accessionNumber[1]"),
        ("filings.recent.filingDate", ["2024-03-04", "2024-02-30"], "$.filings.recent.filingDate[1]"),
        ("filings.recent.filingDate", ["2024-03-04", "20240201"], "$.filings.recent.filingDate[1]"),
        ("filings.recent.filingDate", ["2024-03-04", ""], "$.filings.recent.filingDate[1]"),
        ("filings.recent.reportDate", ["2024-03-04", 0], "$.filings.recent.reportDate[1]"),
        ("filings.recent.acceptanceDateTime", ["2024-03-04", ""], "$.filings.recent.acceptanceDateTime[0]"),
        (
            "filings.recent.acceptanceDateTime",
            ["", "2024-03-04T25:00:00.000Z"],
            "$.filings.recent.acceptanceDateTime[1]",
        ),
        ("filings.recent.size", [1, -1], "$.filings.recent.size[1]"),
        ("filings.recent.size", [1, 1 << 50], "$.filings.recent.size[1]"),
        ("filings.recent.size", [1, 1.5], "$.filings.recent.size[1]"),
        ("filings.recent.size", [1, True], "$.filings.recent.size[1]"),
        ("filings.recent.isXBRL", [1, 2], "$.filings.recent.isXBRL[1]"),
        ("filings.recent.isInlineXBRL", [1, "0"], "$.filings.recent.isInlineXBRL[1]"),
        ("filings.files", {}, "$.filings.files"),
        ("filings.files", ["CIK0000001750-submissions-001.json"], "$.filings.files[0]"),
        ("filings.files", [{"name": "../../etc/passwd"}], "$.filings.files[0].name"),
        ("filings.files", [{"name": "CIK0000001750-submissions-001.json\n"}], "$.filings.files[0].name"),
        ("filings.files", [{}], "$.filings.files[0].name"),
    ],
)
def test_invalid_member_is_refused_with_its_path(path: str, value: Any, place: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_company(with_member(path, value), "c.json")
    assert (caught.value.file, caught.value.place) == ("c.json", place)


@run_each_case("value", ["0000", "1301", "0532", "12-31", "12311"])
def test_invalid_year_end_is_none(value: str) -> None:
    assert parse_company(with_member("fiscalYearEnd", value), "c.json").attributes.fiscal_year_end is None


@run_each_case(
    "garbage",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\0",
        b'{"cik":1,"cik":1}',
        b'{"cik":NaN}',
        b'{"cik":' + b"9" * 10_000 + b"}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"cik":"\xff"}',
        b'{"name":"\\ud800"}',
        b'{"name":"\\u0000"}',
    ],
)
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(ParseError):
        parse_company(garbage, "c.json")
    with pytest.raises(ParseError):
        parse_older_page(garbage, "p.json")


def test_truncated_document_is_refused() -> None:
    document = encode(COMPANY)
    for offset in range(len(document)):
        with pytest.raises(ParseError):
            parse_company(document[:offset], "c.json")


# --- real files


@run_each_case(
    "path, name, filings, tickers, pages, clock",
    [
        ("submissions/CIK0000320193.json", "Apple Inc.", 1005, 1, 1, "eastern"),
        ("submissions/CIK0000789019.json", "MICROSOFT CORP", 1002, 1, 2, "utc"),
        ("submissions/CIK0001318605.json", "Tesla, Inc.", 1002, 1, 1, "utc"),
        ("submissions/CIK0001465740.json", "TWO HARBORS INVESTMENT CORP.", 1000, 5, 1, "utc"),
        ("submissions/CIK0001835632.json", "Marvell Technology, Inc.", 787, 1, 0, "utc"),
        ("submissions/CIK0000315090.json", "BUFFETT WARREN E", 523, 0, 0, "utc"),
        ("submissions/CIK0000940418.json", "SIEMENS AG", 31, 0, 0, "eastern"),
        ("submissions_older_vintage/CIK0000320193.json", "Apple Inc.", 1000, 1, 1, "eastern"),
        ("submissions_older_vintage/CIK0000789019.json", "MICROSOFT CORP", 1006, 1, 2, "utc"),
    ],
)
def test_real_company_has_its_values(path: str, name: str, filings: int, tickers: int, pages: int, clock: str) -> None:
    company = parse_company(read_real(path), path)
    assert company.cik in path
    assert company.name == name
    assert (len(company.filings), len(company.listings), len(company.older_pages)) == (filings, tickers, pages)
    assert company.acceptance_clock == clock


def test_real_fannie_mae_has_sixteen_tickers() -> None:
    company = parse_company(read_real("submissions/CIK0000310522.json"), "c.json")
    assert len(company.listings) == 16
    assert company.listings[0] == Listing("FNMA", "OTC")
    assert company.cik == "0000310522"
    assert (company.attributes.sic, company.attributes.fiscal_year_end, company.attributes.state) == (
        6111,
        "1231",
        None,
    )
    assert company.former_names == (
        FormerCompanyName("FEDERAL NATIONAL MORTGAGE ASSOCIATION", "1995-01-10", "2003-02-13"),
    )
    assert company.older_pages[0] == OlderPage("CIK0000310522-submissions-001.json", 2053, "2020-11-13", "2024-02-10")


def test_real_apple_filing_has_its_values() -> None:
    by_accession = {
        row.accession: row for row in parse_company(read_real("submissions/CIK0000320193.json"), "c").filings
    }
    report = by_accession["0000320193-25-000057"]
    assert (report.form, report.filed, report.report_date) == ("10-Q", "2025-05-02", "2025-03-29")
    assert (report.is_xbrl, report.is_inline_xbrl) == (True, True)
    assert report.primary_document == "aapl-20250329.htm"


def test_real_acceptance_time_equals_that_of_the_header() -> None:
    form_4 = parse_header(read_real("ownership/form4_0000320193_adams_0000320193-22-000061.txt"), "a.txt")
    for path in ("submissions/CIK0000320193.json", "submissions_older_vintage/CIK0000320193.json"):
        rows_of = {row.accession: row.accepted for row in parse_company(read_real(path), path).filings}
        assert rows_of["0000320193-22-000061"] == form_4.accepted == "2022-05-06T22:30:57.000Z"


def test_real_older_page_has_its_filings() -> None:
    page = parse_older_page(read_real("submissions/CIK0001318605-submissions-001.json"), "p.json")
    assert len(page) == 720
    assert (page[0].accession, page[0].filed, page[0].form) == ("0000950103-18-001851", "2018-02-12", "SC 13G/A")
    assert page[0].accepted == "2018-02-12T11:01:27.000Z"
    assert page[-1].filed == "2005-02-17"


# --- damaged files

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 10**12), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
)
PATHS = [
    *COMPANY,
    *(f"filings.{name}" for name in ("recent", "files")),
    *(f"filings.recent.{name}" for name in COLUMNS),
]


@settings(max_examples=examples(400), deadline=None, database=None)
@given(st.sampled_from(PATHS), ANYTHING | st.tuples(ANYTHING, ANYTHING))
def test_any_value_in_any_member_is_parsed_or_refused(path: str, value: Any) -> None:
    with suppress(ParseError):
        parse_company(with_member(path, value), "c.json")


@settings(max_examples=examples(300), deadline=None, database=None)
@given(st.integers(0, len(encode(COMPANY))), st.integers(0, 20), st.binary(max_size=8))
def test_damaged_document_is_parsed_or_refused(start: int, length: int, piece: bytes) -> None:
    document = encode(COMPANY)
    with suppress(ParseError):
        parse_company(document[:start] + piece + document[start + length :], "c.json")
