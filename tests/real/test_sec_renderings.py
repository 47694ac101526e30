"""Apple's 10-Q of 2025-03-29 against the SEC's own pages of it (R2 to R7).

Every difference between a page and the served statement is listed here: the headings that a page leaves out, and the
transposed layout of the statement of shareholders' equity.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from html.parser import HTMLParser
from typing import NamedTuple

import pytest

from tests.conftest import needs_shared
from tests.real import (
    AAPL_Q2_2025,
    EDGAR,
    JSON,
    Service,
    column_periods,
    day_before,
    get_only,
    iter_cells,
    service,
    value_rows,
)
from tests.support.case_tables import run_each_case

pytestmark = needs_shared

FOLDER = EDGAR / "xbrl" / AAPL_Q2_2025

PAGES = {
    "R2.htm": "income",
    "R3.htm": "comprehensive-income",
    "R4.htm": "balance",
    "R5.htm": "balance-parenthetical",
    "R6.htm": "equity",
    "R7.htm": "cash-flow",
}
# One period a column; R6 has one member a column, and periods one below the other.
UPRIGHT = sorted(page for page in PAGES if page != "R6.htm")

# Where a section has a table, the page shows no heading above the innermost one of its lines.
HEADINGS_LEFT_OUT = {
    "R2.htm": ["Income Statement [Abstract]"],
    "R3.htm": [],
    "R4.htm": ["Statement of Financial Position [Abstract]", "ASSETS:", "LIABILITIES AND SHAREHOLDERS’ EQUITY:"],
    "R5.htm": [],
    "R7.htm": [],
}

# What "(in millions, except number of shares, which are reflected in thousands)" comes to.
SCALES = {
    "R2.htm": {"USD": 1_000_000, "shares": 1_000, "USD/shares": 1},
    "R3.htm": {"USD": 1_000_000},
    "R4.htm": {"USD": 1_000_000},
    "R5.htm": {"USD/shares": 1, "shares": 1},
    "R6.htm": {"USD": 1_000_000, "USD/shares": 1},
    "R7.htm": {"USD": 1_000_000},
}
TITLES = {
    "R2.htm": "STATEMENTS OF OPERATIONS (Unaudited) - USD ($) shares in Thousands, $ in Millions",
    "R3.htm": "STATEMENTS OF COMPREHENSIVE INCOME (Unaudited) - USD ($) $ in Millions",
    "R4.htm": "BALANCE SHEETS (Unaudited) - USD ($) $ in Millions",
    "R5.htm": "BALANCE SHEETS (Unaudited) (Parenthetical) - $ / shares",
    "R6.htm": "STATEMENTS OF SHAREHOLDERS' EQUITY (Unaudited) - USD ($) $ in Millions",
    "R7.htm": "STATEMENTS OF CASH FLOWS (Unaudited) - USD ($) $ in Millions",
}

NOTHING, NIL = "nothing", "nil"


class Line(NamedTuple):
    """A row of a page: ``cells`` are numbers, NOTHING (not reported) or NIL (reported empty)."""

    concept: str
    label: str
    is_member: bool
    cells: tuple[Decimal | str, ...]

    @property
    def is_empty(self) -> bool:
        return set(self.cells) == {NOTHING}


class Page(NamedTuple):
    """A page: ``columns`` are (months, date) of a period, or (None, text) where a page has no durations."""

    title: str
    columns: list[tuple[int | None, str]]
    lines: list[Line]


class _PageReader(HTMLParser):
    """A parser of the first table of class ``report``: (row class, cells of class, text, span, id)."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[list[str]]]] = []
        self._state = "before"
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "table" and attributes.get("class") == "report" and self._state == "before":
            self._state = "inside"
        if self._state != "inside":
            return
        if tag == "tr":
            self.rows.append((attributes.get("class", ""), []))
        elif tag in ("td", "th"):
            self._cell = [attributes.get("class", ""), "", attributes.get("colspan", "1"), ""]
            self.rows[-1][1].append(self._cell)
        elif tag == "a" and self._cell is not None and "defref_" in attributes.get("onclick", ""):
            self._cell[3] = attributes["onclick"].partition("defref_")[2].partition("'")[0]
        elif tag == "br" and self._cell is not None:
            self._cell[1] += " "

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._state == "inside":
            self._state = "after"

    def handle_data(self, data: str) -> None:
        if self._state == "inside" and self._cell is not None:
            self._cell[1] += data


def read_page(name: str) -> Page:
    reader = _PageReader()
    reader.feed((FOLDER / name).read_text(encoding="utf-8"))
    head = [row for row_class, row in reader.rows if not row_class]
    body = [(row_class, row) for row_class, row in reader.rows if row_class]
    title = " ".join(head[0][0][1].split())
    spans = [(text.strip(), int(span)) for _, text, span, _ in head[0][1:]]
    columns: list[tuple[int | None, str]]
    if len(head) == 2:
        months: list[int | None] = [
            int(text.removesuffix(" Months Ended")) for text, span in spans for _ in range(span)
        ]
        columns = list(zip(months, (_parse_day(cell[1].strip()) for cell in head[1]), strict=True))
    else:
        columns = [(None, _parse_day(text)) for text, _ in spans]
    lines = [
        Line(
            row[0][3].replace("_", ":", 1),
            " ".join(row[0][1].split()),
            row_class == "rh",
            tuple(_parse_value(cell[0], cell[1]) for cell in row[1:]),
        )
        for row_class, row in body
    ]
    return Page(title, columns, lines)


def _parse_day(text: str) -> str:
    """Return ``Mar. 29, 2025`` as an ISO date; any other heading unchanged."""
    if re.fullmatch(r"[A-Z][a-z]{2}\.? \d\d, \d{4}", text):
        return datetime.strptime(text.replace(".", ""), "%b %d, %Y").date().isoformat()
    return text


def _parse_value(cell_class: str, text: str) -> Decimal | str:
    if cell_class == "text":
        # The page has a no-break space where nothing is reported, and an empty cell for nil.
        return NOTHING if text.startswith("\xa0") else NIL
    digits = text.replace("$", "").replace(",", "").strip()
    return -Decimal(digits.strip("()")) if digits.startswith("(") else Decimal(digits)


def iter_served_lines(statement: JSON, scales: dict[str, int], member: str | None = None) -> Iterator[Line]:
    """Yield the rows of a statement as a page has them.

    The columns are those without dimensions, or those with one member.
    """
    column_numbers = [
        column_number
        for column_number, column in enumerate(statement["columns"])
        if list((column["dims"] or {}).values()) == ([member] if member else [])
    ]
    assert column_numbers
    for row in statement["rows"]:
        if row["abstract"]:
            yield Line(row["concept"], row["label"], False, (NOTHING,) * len(column_numbers))
            continue
        line_cells: list[Decimal | str] = []
        for column_number in column_numbers:
            if row["values"][column_number] is None:
                line_cells.append({"absent": NOTHING, "nil": NIL}[row["marks"][column_number]["status"]])
            else:
                value = Decimal(row["values"][column_number]) / scales[row["unit"]]
                line_cells.append(-value if row["negated"] else value)
        yield Line(row["concept"], row["label"], False, tuple(line_cells))


@pytest.fixture(scope="module")
def apple() -> Iterator[Service]:
    with service(AAPL_Q2_2025) as apple_service:
        yield apple_service


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return {name: read_page(name) for name in PAGES}


def test_statements_follow_the_filing_summary(apple: Service) -> None:
    summary = ElementTree.parse(FOLDER / "FilingSummary.xml")
    summary_statements = [
        (PAGES[report.findtext("HtmlFileName") or ""], report.findtext("LongName"), report.findtext("Role"))
        for report in summary.iter("Report")
        if report.findtext("MenuCategory") == "Statements"
    ]
    served = apple.statements(AAPL_Q2_2025)
    assert [
        (kind, statement["definition"], statement["role_uri"]) for kind, statement in served.items()
    ] == summary_statements


@run_each_case("name", sorted(PAGES))
def test_the_page_has_the_expected_title_and_scale(pages: dict[str, Page], name: str) -> None:
    assert pages[name].title == f"CONDENSED CONSOLIDATED {TITLES[name]}"


@run_each_case("name", sorted(PAGES))
def test_units_are_the_measures_that_the_page_names(apple: Service, name: str) -> None:
    statement = apple.statements(AAPL_Q2_2025)[PAGES[name]]
    assert {row["unit"] for row in value_rows(statement)} == set(SCALES[name])


@run_each_case("name", UPRIGHT)
def test_columns_are_the_periods_of_the_page_in_its_order(apple: Service, pages: dict[str, Page], name: str) -> None:
    statement = apple.statements(AAPL_Q2_2025)[PAGES[name]]
    starts: dict[tuple[int | None, str], str] = {
        (3, "2025-03-29"): "2024-12-29",
        (3, "2024-03-30"): "2023-12-31",
        (6, "2025-03-29"): "2024-09-29",
        (6, "2024-03-30"): "2023-10-01",
    }
    assert column_periods(statement) == [(starts.get((months, day)), day) for months, day in pages[name].columns]


@run_each_case("name", UPRIGHT)
def test_every_row_has_the_order_label_sign_and_value_of_a_page(
    apple: Service, pages: dict[str, Page], name: str
) -> None:
    statement = apple.statements(AAPL_Q2_2025)[PAGES[name]]
    ours = list(iter_served_lines(statement, SCALES[name]))
    left_out = HEADINGS_LEFT_OUT[name]
    assert [line.label for line in ours if line.label in left_out] == left_out
    above_members = pages[name].lines
    if name == "R2.htm":
        above_members = above_members[: [line.is_member for line in above_members].index(True)]
    assert [line for line in ours if line.label not in left_out] == above_members


@pytest.mark.parametrize(("name", "count"), [("R2.htm", 15), ("R4.htm", 27), ("R7.htm", 28)])
def test_the_number_of_lines_with_values_is_known(apple: Service, name: str, count: int) -> None:
    rows = value_rows(apple.statements(AAPL_Q2_2025)[PAGES[name]])
    assert len([row for row in rows if any(value is not None for value in row["values"])]) == count


def test_commitments_and_contingencies_are_reported_as_nil(apple: Service) -> None:
    rows = value_rows(apple.statements(AAPL_Q2_2025)["balance"])
    assert [row["label"] for row in rows if row["values"] == [None, None]] == ["Commitments and contingencies"]
    commitments = get_only(row for row in rows if row["label"] == "Commitments and contingencies")
    assert commitments["marks"] == [{"status": "nil", "reason": "reported_nil"}] * 2
    assert commitments["unit"] == "USD"


@pytest.mark.parametrize("member", ["us-gaap:ProductMember", "us-gaap:ServiceMember"])
def test_product_and_service_rows_are_those_of_the_page(apple: Service, pages: dict[str, Page], member: str) -> None:
    lines = pages["R2.htm"].lines
    heading = {"us-gaap:ProductMember": "Products", "us-gaap:ServiceMember": "Services"}[member]
    begin = get_only(line_number for line_number, line in enumerate(lines) if line.is_member and line.label == heading)
    below = lines[begin + 1 : begin + 3]
    statement = apple.statements(AAPL_Q2_2025, dimensioned=True)["income"]
    ours = iter_served_lines(statement, SCALES["R2.htm"], member)
    assert [line for line in ours if not line.is_empty] == below


def test_dimensioned_columns_repeat_the_order_of_periods(apple: Service) -> None:
    statement = apple.statements(AAPL_Q2_2025, dimensioned=True)["income"]
    plain = column_periods(statement)
    assert [(column["start_date"], column["end_date"], column["dims"]) for column in statement["columns"]] == [
        (*period, dims)
        for dims in (
            None,
            {"srt:ProductOrServiceAxis": "us-gaap:ProductMember"},
            {"srt:ProductOrServiceAxis": "us-gaap:ServiceMember"},
        )
        for period in plain
    ]


def test_statements_without_members_ignore_dimensions(apple: Service) -> None:
    plain = apple.statements(AAPL_Q2_2025)
    full = apple.statements(AAPL_Q2_2025, dimensioned=True)
    assert list(plain) == list(full)
    # Pages show a statement without dimensions, so the statement with dimensions has no page.
    equal_kinds = [kind for kind in plain if {**plain[kind], "page_url": None} == full[kind]]
    assert equal_kinds == ["comprehensive-income", "balance", "balance-parenthetical", "cash-flow"]


EQUITY_MEMBERS = {
    "Total": (),
    "Common stock and additional paid-in capital": (
        ("us-gaap:StatementEquityComponentsAxis", "us-gaap:CommonStockIncludingAdditionalPaidInCapitalMember"),
    ),
    "Retained earnings/(Accumulated deficit)": (
        ("us-gaap:StatementEquityComponentsAxis", "us-gaap:RetainedEarningsMember"),
    ),
    "Accumulated other comprehensive income/(loss)": (
        ("us-gaap:StatementEquityComponentsAxis", "us-gaap:AccumulatedOtherComprehensiveIncomeMember"),
    ),
}


class Movement(NamedTuple):
    """A block of the equity page: the rows from a beginning balance to those below the ending balance."""

    start: str
    end: str
    lines: list[Line]


def list_movements(page: Page) -> list[Movement]:
    blocks: list[list[Line]] = []
    for line in page.lines:
        if line.label.startswith("Beginning balances at "):
            blocks.append([])
        blocks[-1].append(line)
    page_movements = []
    for block in blocks:
        opens = _parse_day(block[0].label.removeprefix("Beginning balances at "))
        closes = get_only(line for line in block if line.label.startswith("Ending balances at "))
        page_movements.append(Movement(opens, _parse_day(closes.label.removeprefix("Ending balances at ")), block))
    return page_movements


def test_equity_periods_are_those_of_the_page(apple: Service, pages: dict[str, Page]) -> None:
    statement = apple.statements(AAPL_Q2_2025)["equity"]
    served_periods = [(day_before(start or ""), end) for start, end in column_periods(statement)]
    # The page sorts by the beginning, the longer first; we sort by length, the later first, as in every statement.
    assert [(block.start, block.end) for block in list_movements(pages["R6.htm"])] == [
        ("2023-09-30", "2024-03-30"),
        ("2023-12-30", "2024-03-30"),
        ("2024-09-28", "2025-03-29"),
        ("2024-12-28", "2025-03-29"),
    ]
    assert served_periods == [
        ("2024-12-28", "2025-03-29"),
        ("2023-12-30", "2024-03-30"),
        ("2024-09-28", "2025-03-29"),
        ("2023-09-30", "2024-03-30"),
    ]


def test_equity_cells_equal_the_cells_of_the_page(apple: Service, pages: dict[str, Page]) -> None:
    page = pages["R6.htm"]
    assert [text for _, text in page.columns] == list(EQUITY_MEMBERS)
    page_cells = {}
    for block in list_movements(page):
        for line in block.lines:
            label = re.sub(r" at [A-Z][a-z]{2}\. \d\d, \d{4}$", "", line.label)
            for dims, value in zip(EQUITY_MEMBERS.values(), line.cells, strict=True):
                if value != NOTHING:
                    page_cells[label, line.concept, block.start, block.end, dims] = value
    statement = apple.statements(AAPL_Q2_2025, dimensioned=True)["equity"]
    # The page's balances are in the block of their movement, ours in the column.
    columns = [
        (day_before(column["start_date"]), column["end_date"], tuple((column["dims"] or {}).items()))
        for column in statement["columns"]
    ]
    served_cells = {
        (row["label"], row["concept"], *column): Decimal(text) * (-1 if row["negated"] else 1) / scale
        for row, scale in ((row, SCALES["R6.htm"][row["unit"]]) for row in value_rows(statement))
        for column, text in zip(columns, row["values"], strict=True)
        if text is not None
    }
    assert served_cells == page_cells
    # Four movements of 19 cells, and a total of repurchases that only one of them has.
    assert len(page_cells) == 4 * 19 + 1


def test_equity_rows_are_in_the_order_of_the_page(apple: Service, pages: dict[str, Page]) -> None:
    block = list_movements(pages["R6.htm"])[0]
    on_page = [re.sub(r" at [A-Z][a-z]{2}\. \d\d, \d{4}$", "", line.label) for line in block.lines]
    statement = apple.statements(AAPL_Q2_2025, dimensioned=True)["equity"]
    served = [row["label"] for row in statement["rows"]]
    # The page repeats the roll forward's heading and puts it below the balance that opens it.
    heading = "Increase (Decrease) in Stockholders' Equity [Roll Forward]"
    assert served[:2] == ["Statement of Stockholders' Equity [Abstract]", heading]
    assert served[2:] == [label for label in on_page if label != heading]


def test_no_value_is_served_without_a_unit(apple: Service) -> None:
    for statement in apple.statements(AAPL_Q2_2025, dimensioned=True).values():
        assert [cell for cell in iter_cells(statement) if cell.value is not None and cell.unit is None] == []
