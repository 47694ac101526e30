"""Served figures and columns against the printed statements of the filings.

``../shared/truth/figures.tsv`` was read from the statements by hand, tag by tag. The printed lines below are the
statements as they appear in the filings, with their signs.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED, needs_shared
from tests.real import (
    AAPL_2023,
    AAPL_2024,
    AAPL_Q2_2025,
    AEON,
    EDGAR,
    JSON,
    NFLX_2010,
    NFLX_2024,
    UPXI,
    Service,
    column_periods,
    get_only,
    iter_cells,
    service,
    value_rows,
)
from tests.support.case_tables import run_each_case
from tests.support.slow_cases import slow_after

pytestmark = needs_shared

FILINGS = (AAPL_2023, AAPL_2024, AAPL_Q2_2025, AEON, NFLX_2010, NFLX_2024, UPXI)

# Rows of figures.tsv for each filing, and the number of those without a figure.
COUNTS = {AAPL_Q2_2025: (38, 0), AEON: (26, 3), NFLX_2010: (36, 2), NFLX_2024: (35, 1), UPXI: (33, 0)}

# Figures that must be missing, with the tags and labels that could be mistaken for them.
HOLES = {
    (NFLX_2010, "inventory"): ("InventoryNet", "inventor"),
    (NFLX_2010, "goodwill"): ("Goodwill", "goodwill"),
    (NFLX_2024, "dividends_paid"): ("PaymentsOfDividends|Dividends", "dividend"),
    (AEON, "revenue"): ("Revenues?|RevenueFromContract|SalesRevenue", "revenue|sales"),
    (AEON, "gross_profit"): ("GrossProfit|CostOf", "gross|cost of"),
    (AEON, "inventory"): ("InventoryNet", "inventor"),
}


@pytest.fixture(scope="module")
def filings() -> Iterator[Service]:
    with service(*FILINGS) as filings:
        yield filings


def read_figures() -> list[dict[str, str]]:
    with (SHARED / "truth" / "figures.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["source_file"].startswith("xbrl/")]


def read_figures_of(folder: str) -> list[dict[str, str]]:
    return [row for row in read_figures() if row["source_file"].split("/")[1] == folder]


def find_values(
    statements: dict[str, JSON], concept: str, start: str | None, end: str
) -> set[tuple[Decimal, str | None]]:
    """Return the values of a concept in a period on any statement; more than one is a contradiction."""
    return {
        (Decimal(cell.value), cell.unit)
        for statement in statements.values()
        for cell in iter_cells(statement)
        if (cell.concept, cell.start, cell.end) == (concept, start, end) and cell.value is not None
    }


def test_the_figures_are_of_the_ingested_filings() -> None:
    rows = Counter(row["source_file"].split("/")[1] for row in read_figures())
    holes = Counter(row["source_file"].split("/")[1] for row in read_figures() if not row["value"])
    assert {folder: (count, holes[folder]) for folder, count in rows.items()} == COUNTS


@pytest.mark.parametrize("folder", slow_after(2, COUNTS))
def test_every_figure_is_on_a_statement_with_its_exact_value(filings: Service, folder: str) -> None:
    # None of these figures is from a note alone: no row is left out here.
    for row in read_figures_of(folder):
        if not row["value"]:
            continue
        first, *signs_and_concepts = re.split(r" ([+-]) ", row["tag"])
        signed = [("+", first), *zip(signs_and_concepts[::2], signs_and_concepts[1::2], strict=True)]
        total = Decimal(0)
        for sign, concept in signed:
            concept_values = find_values(
                filings.statements(folder), concept, row["period_start"] or None, row["period_end"]
            )
            value, unit = get_only(concept_values)
            assert unit == row["unit"], row
            total += value if sign == "+" else -value
        assert total == Decimal(row["value"]), row


@run_each_case("folder, metric", list(HOLES))
def test_a_figure_that_a_filing_does_not_report_is_not_served(filings: Service, folder: str, metric: str) -> None:
    assert [row["metric"] for row in read_figures_of(folder) if not row["value"]] == [
        name for hole_folder, name in HOLES if hole_folder == folder
    ]
    tag, label = HOLES[folder, metric]
    assert [
        (row["concept"], row["label"])
        for statement in filings.statements(folder, dimensioned=True).values()
        for row in value_rows(statement)
        if re.match(tag, row["concept"].partition(":")[2]) or re.search(label, row["label"].lower())
    ] == []


# The statement as printed in the 10-K for fiscal 2023, in millions.
APPLE_CASH_FLOWS_2023 = """
Cash, cash equivalents and restricted cash, beginning balances | 24,977 35,929 39,789
Net income | 96,995 99,803 94,680
Depreciation and amortization | 11,519 11,104 11,284
Share-based compensation expense | 10,833 9,038 7,906
Other | (2,227) 1,006 (4,921)
Accounts receivable, net | (1,688) (1,823) (10,125)
Vendor non-trade receivables | 1,271 (7,520) (3,903)
Inventories | (1,618) 1,484 (2,642)
Other current and non-current assets | (5,684) (6,499) (8,042)
Accounts payable | (1,889) 9,448 12,326
Other current and non-current liabilities | 3,031 6,110 7,475
Cash generated by operating activities | 110,543 122,151 104,038
Purchases of marketable securities | (29,513) (76,923) (109,558)
Proceeds from maturities of marketable securities | 39,686 29,917 59,023
Proceeds from sales of marketable securities | 5,828 37,446 47,460
Payments for acquisition of property, plant and equipment | (10,959) (10,708) (11,085)
Other | (1,337) (2,086) (385)
Cash generated by/(used in) investing activities | 3,705 (22,354) (14,545)
Payments for taxes related to net share settlement of equity awards | (5,431) (6,223) (6,556)
Payments for dividends and dividend equivalents | (15,025) (14,841) (14,467)
Repurchases of common stock | (77,550) (89,402) (85,971)
Proceeds from issuance of term debt, net | 5,228 5,465 20,393
Repayments of term debt | (11,151) (9,543) (8,750)
Proceeds from/(Repayments of) commercial paper, net | (3,978) 3,955 1,022
Other | (581) (160) 976
Cash used in financing activities | (108,488) (110,749) (93,353)
Increase/(Decrease) in cash, cash equivalents and restricted cash | 5,760 (10,952) (3,860)
Cash, cash equivalents and restricted cash, ending balances | 30,737 24,977 35,929
Cash paid for income taxes, net | 18,679 19,573 25,385
Cash paid for interest | 3,803 2,865 2,687
"""

# The third quarter and nine months of 2010 and 2009, in thousands except per share.
NETFLIX_OPERATIONS_2010 = """
Revenues | 553,219 423,120 1,566,703 1,225,727
Subscription | 292,406 233,091 817,353 677,863
Fulfillment expenses | 52,063 42,183 149,212 125,922
Total cost of revenues | 344,469 275,274 966,565 803,785
Gross profit | 208,750 147,846 600,138 421,942
Technology and development | 42,108 30,014 117,370 81,333
Marketing | 81,238 58,556 230,990 167,029
General and administrative | 17,135 11,543 51,447 37,809
Gain on disposal of DVDs | (1,232) (1,604) (4,857) (2,819)
Total operating expenses | 139,249 98,509 394,950 283,352
Operating income | 69,501 49,337 205,188 138,590
Interest expense | (4,945) (674) (14,797) (2,018)
Interest and other income | 853 1,808 2,746 4,284
Income before income taxes | 65,409 50,471 193,137 140,856
Provision for income taxes | 27,442 20,330 79,379 55,909
Net income | 37,967 30,141 113,758 84,947
Basic | 0.73 0.54 2.17 1.48
Diluted | 0.70 0.52 2.09 1.43
Basic | 52,142 56,146 52,510 57,576
Diluted | 53,931 57,938 54,341 59,427
"""

# The first quarter of 2024 and of 2023, in thousands.
NETFLIX_CASH_FLOWS_2024 = """
Net income | 2,332,209 1,305,120
Additions to content assets | (3,728,967) (2,458,666)
Change in content liabilities | (189,441) (354,791)
Amortization of content assets | 3,670,805 3,459,984
Depreciation and amortization of property, equipment and intangibles | 87,234 90,335
Stock-based compensation expense | 76,345 99,099
Foreign currency remeasurement loss (gain) on debt | (130,801) 80,651
Other non-cash items | 97,181 120,008
Deferred income taxes | (107,077) (98,782)
Other current assets | 38,049 (88,522)
Accounts payable | (145,265) (89,668)
Accrued expenses and other liabilities | 251,782 185,299
Deferred revenue | 26,515 (2,390)
Other non-current assets and liabilities | (66,047) (68,937)
Net cash provided by operating activities | 2,212,522 2,178,740
Purchases of property and equipment | (75,714) (62,019)
Purchases of short-term investments | 0 (201,634)
Net cash used in investing activities | (75,714) (263,653)
Repayments of debt | (400,000) 0
Proceeds from issuance of common stock | 268,881 26,028
Repurchases of common stock | (2,000,000) (400,101)
Taxes paid related to net share settlement of equity awards | (1,825) 0
Net cash used in financing activities | (2,132,944) (374,073)
Effect of exchange rate changes on cash, cash equivalents and restricted cash | (95,790) 26,423
Net increase (decrease) in cash, cash equivalents and restricted cash | (91,926) 1,567,437
Cash, cash equivalents and restricted cash at beginning of period | 7,118,515 5,170,582
Cash, cash equivalents and restricted cash at end of period | 7,026,589 6,738,019
"""

# Predecessor to 2023-07-21, successor from the day after; in thousands except per share and shares.
AEON_OPERATIONS = """
Selling, general and administrative | 1,055 5,460 2,436 9,841 8,171
Research and development | 1,573 6,383 7,477 19,803 25,225
Change in fair value of contingent consideration | - (69,715) - - -
Total operating costs and expenses | 2,628 (57,872) 9,913 29,644 33,396
Loss from operations | (2,628) 57,872 (9,913) (29,644) (33,396)
Change in fair value of convertible notes | 2,582 - (666) (3,528) 15,261
Change in fair value of warrants | - 1,593 - - -
Change in fair value of embedded forward purchase agreements and derivative liabilities | (4,959) (15,776) - (4,959) -
Other income, net | 5 186 141 114 142
Total other (loss) income, net | (2,372) (13,997) (525) (8,373) 15,403
Loss before taxes | (5,000) 43,875 (10,438) (38,017) (17,993)
Income taxes | 0 0 0 0 0
Loss and comprehensive loss | (5,000) 43,875 (10,438) (38,017) (17,993)
Basic net loss per share | (0.04) 1.19 (0.08) (0.28) (0.13)
Diluted net loss per share | (0.04) 1.19 (0.08) (0.28) (0.13)
"""

PRINTED = {
    (AAPL_2023, "cash-flow"): (APPLE_CASH_FLOWS_2023, {"USD": 1_000_000}),
    (NFLX_2010, "income"): (NETFLIX_OPERATIONS_2010, {"USD": 1_000, "USD/shares": 1, "shares": 1_000}),
    (NFLX_2024, "cash-flow"): (NETFLIX_CASH_FLOWS_2024, {"USD": 1_000}),
    (AEON, "income"): (AEON_OPERATIONS, {"USD": 1_000, "USD/shares": 1}),
}


def parse_printed_lines(text: str) -> list[tuple[str, list[Decimal | None]]]:
    lines = []
    for line in text.strip().splitlines():
        label, _, figures = line.rpartition(" | ")
        lines.append((label, [_number(figure) for figure in figures.split()]))
    return lines


def _number(text: str) -> Decimal | None:
    if text == "-":
        return None
    digits = Decimal(text.strip("()").replace(",", ""))
    return -digits if text.startswith("(") else digits


def scale_as_printed(row: JSON, scale: int = 1) -> list[Decimal | None]:
    """Return a row's values with the sign and scale that the filing prints; None where nothing is printed."""
    return [None if text is None else Decimal(text) / scale * (-1 if row["negated"] else 1) for text in row["values"]]


@run_each_case("folder, kind", list(PRINTED))
def test_a_statement_reads_as_printed(filings: Service, folder: str, kind: str) -> None:
    text, scales = PRINTED[folder, kind]
    assert [
        (row["label"], scale_as_printed(row, scales[row["unit"]]))
        for row in value_rows(filings.statements(folder)[kind])
        if row["unit"] in scales
    ] == parse_printed_lines(text)


# Lines whose sign is easily lost, each as printed in full units.
LINES: list[tuple[str, str, str, list[str | None]]] = [
    (NFLX_2024, "income", "Interest expense", ["-173314000", "-174239000"]),
    (NFLX_2024, "income", "Provision for income taxes", ["-282370000", "-163754000"]),
    (
        NFLX_2024,
        "balance",
        "Treasury stock at cost (19,648,480 and 16,078,268 shares at March 31, 2024 and December 31, 2023, "
        "respectively)",
        ["-8934056000", "-6922200000"],
    ),
    (NFLX_2024, "comprehensive-income", "Comprehensive income", ["2444275000", "1330731000"]),
    (NFLX_2024, "equity", "Beginning Balance", ["20588313000", "20777401000"]),
    (NFLX_2024, "equity", "Ending Balance", ["21365410000", "21828196000"]),
    (NFLX_2010, "cash-flow", "Loss on disposal of property and equipment", ["254000", None, "254000", "254000"]),
    (NFLX_2010, "cash-flow", "Repurchases of common stock", ["-57390000", "-129686000", "-210259000", "-244916000"]),
    (
        NFLX_2010,
        "cash-flow",
        "Cash and cash equivalents, beginning of period",
        ["107327000", "87471000", "134224000", "139881000"],
    ),
    (
        NFLX_2010,
        "cash-flow",
        "Cash and cash equivalents, end of period",
        ["113108000", "55717000", "113108000", "55717000"],
    ),
    (AEON, "balance", "Subscription receivables", ["-60710000", None]),
    (AEON, "balance", "Non-controlling interest", [None, "17087000"]),
    (AEON, "cash-flow", "Purchases of property and equipment", [None, None, None, "-297000"]),
    (AEON, "cash-flow", "Net cash used in operating activities", [None, "-15061000", "-21745000", "-27130000"]),
    (AEON, "equity", "Net loss", ["-5000000", "43875000", "-10438000", "-38017000", "-17993000"]),
    (UPXI, "income", "Net loss attributable to non-controlling interest", ["0", "559967"]),
    (UPXI, "income", "Net income (loss) attributable to Upexi, Inc.", ["-23658438", "-16930289"]),
    (UPXI, "income", "Interest (expense) income, net", ["-3124723", "-4716274"]),
    (UPXI, "balance", "Non-controlling interest in subsidiary", [None, "-505147"]),
    (UPXI, "cash-flow", "Accounts receivable", ["675709", "-364665"]),
    (UPXI, "cash-flow", "Change in deferred tax asset", ["-344802", "-3139227"]),
    (UPXI, "cash-flow", "Loss on sale of assets related to relocation of facility", ["569195", None]),
    (UPXI, "cash-flow", "Acquisition of property and equipment", ["-932565", "-937564"]),
    (UPXI, "cash-flow", "Cash, beginning of period", ["4492292", "7149806"]),
    (UPXI, "cash-flow", "Cash, end of period", ["661415", "4492292"]),
    (UPXI, "equity", "Net loss", ["-23658438", "-17490256"]),
    (AAPL_2023, "equity", "Beginning balances", ["50672000000", "63090000000", "65339000000"]),
    (AAPL_2023, "equity", "Ending balances", ["62146000000", "50672000000", "63090000000"]),
]


@run_each_case("folder, kind, label, printed_values", LINES)
def test_a_line_has_the_sign_of_the_filing(
    filings: Service, folder: str, kind: str, label: str, printed_values: list[str | None]
) -> None:
    row = get_only(row for row in value_rows(filings.statements(folder)[kind]) if row["label"] == label)
    assert scale_as_printed(row) == [None if text is None else Decimal(text) for text in printed_values]


def test_interest_expense_of_2010_uses_the_old_negated_role(filings: Service) -> None:
    rows = value_rows(filings.statements(NFLX_2010)["income"])
    interest = get_only(row for row in rows if row["concept"] == "us-gaap:InterestExpense")
    assert interest["values"] == ["4945000", "674000", "14797000", "2018000"]
    assert interest["preferred_label"] == "http://xbrl.us/us-gaap/role/label/negated"
    assert interest["negated"] is True
    assert interest["balance"] == "debit"


def test_the_more_exact_of_two_roundings_is_served(filings: Service) -> None:
    rows = value_rows(filings.statements(NFLX_2024)["cash-flow"])
    compensation = get_only(row for row in rows if row["concept"] == "us-gaap:ShareBasedCompensation")
    assert (compensation["values"], compensation["decimals"]) == (["76345000", "99099000"], -3)


def remove_filing(statements: dict[str, JSON]) -> dict[str, JSON]:
    """Return statements without the filing that they are from, and without the links to its pages."""
    return {
        kind: {
            **statement,
            "accession": None,
            "filed_at": None,
            "page_url": None,
            "rows": [{**row, "ink_urls": None} for row in statement["rows"]],
        }
        for kind, statement in statements.items()
    }


def test_the_more_exact_rounding_is_served_in_any_order(filings: Service, tmp_path: Path) -> None:
    for path in (EDGAR / "xbrl" / NFLX_2024).iterdir():
        shutil.copy(path, tmp_path)
    path = tmp_path / "nflx-20240331_htm.xml"
    text = path.read_text(encoding="utf-8")
    for tag in ("us-gaap:ShareBasedCompensation", "us-gaap:ContractWithCustomerLiabilityCurrent"):
        pattern = rf"<{tag} [^>]*>[^<]*</{tag}>"
        facts = re.findall(pattern, text)
        assert len(facts) == 4
        between = re.split(pattern, text)
        text = "".join(piece + fact for piece, fact in zip(between, [*reversed(facts), ""], strict=True))
    path.write_text(text, encoding="utf-8")
    with service(str(tmp_path)) as turned:
        folder = get_only(turned.accessions)
        assert remove_filing(turned.statements(folder)) == remove_filing(filings.statements(NFLX_2024))


def test_every_missing_value_has_a_reason(filings: Service) -> None:
    statuses: Counter[Any] = Counter()
    for folder in FILINGS:
        for statement in filings.statements(folder, dimensioned=True).values():
            for row in value_rows(statement):
                assert len(row["values"]) == len(row["marks"]) == len(statement["columns"])
                for value, mark in zip(row["values"], row["marks"], strict=True):
                    assert (value is None) == (mark is not None)
                    statuses[mark and (mark["status"], mark["reason"])] += 1
    assert set(statuses) == {None, ("absent", "not_reported"), ("nil", "reported_nil")}
    # The empty "commitments and contingencies" of each balance sheet but Upexi's, which has none.
    assert statuses["nil", "reported_nil"] == 6 * 2


Period = tuple[str | None, str]

YEARS_2024: list[Period] = [("2023-10-01", "2024-09-28"), ("2022-09-25", "2023-09-30"), ("2021-09-26", "2022-09-24")]
YEARS_2023: list[Period] = [*YEARS_2024[1:], ("2020-09-27", "2021-09-25")]
HALF_2025: list[Period] = [("2024-09-29", "2025-03-29"), ("2023-10-01", "2024-03-30")]
QUARTER_AND_HALF_2025: list[Period] = [("2024-12-29", "2025-03-29"), ("2023-12-31", "2024-03-30"), *HALF_2025]
QUARTER_2024: list[Period] = [("2024-01-01", "2024-03-31"), ("2023-01-01", "2023-03-31")]
QUARTER_AND_NINE_MONTHS_2010: list[Period] = [
    ("2010-07-01", "2010-09-30"),
    ("2009-07-01", "2009-09-30"),
    ("2010-01-01", "2010-09-30"),
    ("2009-01-01", "2009-09-30"),
]
UPXI_YEARS: list[Period] = [("2023-07-01", "2024-06-30"), ("2022-07-01", "2023-06-30")]

AEON_PREDECESSOR_STUB: Period = ("2023-07-01", "2023-07-21")
AEON_SUCCESSOR: Period = ("2023-07-22", "2023-09-30")
AEON_PREDECESSOR_QUARTER: Period = ("2022-07-01", "2022-09-30")
AEON_PREDECESSOR: Period = ("2023-01-01", "2023-07-21")
AEON_PREDECESSOR_NINE_MONTHS: Period = ("2022-01-01", "2022-09-30")


def list_instants(*days: str) -> list[Period]:
    return [(None, day) for day in days]


# Statements in the filing's order, each with the periods of its columns.
COLUMNS: dict[str, dict[str, list[Period]]] = {
    AAPL_2023: {
        "income": YEARS_2023,
        "comprehensive-income": YEARS_2023,
        "balance": list_instants("2023-09-30", "2022-09-24"),
        "balance-parenthetical": list_instants("2023-09-30", "2022-09-24"),
        "equity": YEARS_2023,
        "cash-flow": YEARS_2023,
    },
    AAPL_2024: {
        "income": YEARS_2024,
        "comprehensive-income": YEARS_2024,
        "balance": list_instants("2024-09-28", "2023-09-30"),
        "balance-parenthetical": list_instants("2024-09-28", "2023-09-30"),
        "equity": YEARS_2024,
        "cash-flow": YEARS_2024,
    },
    AAPL_Q2_2025: {
        "income": QUARTER_AND_HALF_2025,
        "comprehensive-income": QUARTER_AND_HALF_2025,
        "balance": list_instants("2025-03-29", "2024-09-28"),
        "balance-parenthetical": list_instants("2025-03-29", "2024-09-28"),
        "equity": QUARTER_AND_HALF_2025,
        "cash-flow": HALF_2025,
    },
    AEON: {
        "balance": list_instants("2023-09-30", "2022-12-31"),
        "balance-parenthetical": list_instants("2023-09-30", "2022-12-31"),
        "income": [
            AEON_PREDECESSOR_STUB,
            AEON_SUCCESSOR,
            AEON_PREDECESSOR_QUARTER,
            AEON_PREDECESSOR,
            AEON_PREDECESSOR_NINE_MONTHS,
        ],
        "equity": [
            AEON_PREDECESSOR_STUB,
            # The filer tagged the successor's movements from the 23rd, a day later than everywhere else.
            ("2023-07-23", "2023-09-30"),
            AEON_PREDECESSOR_QUARTER,
            AEON_PREDECESSOR,
            AEON_PREDECESSOR_NINE_MONTHS,
        ],
        "cash-flow": [
            # Not printed: two fair value changes of the income statement and the closing cash are tagged for
            # these three weeks, four facts, and only fewer than a quarter of a column's 17 are a stray.
            AEON_PREDECESSOR_STUB,
            AEON_SUCCESSOR,
            AEON_PREDECESSOR,
            AEON_PREDECESSOR_NINE_MONTHS,
        ],
    },
    NFLX_2010: {
        "income": QUARTER_AND_NINE_MONTHS_2010,
        "income-parenthetical": QUARTER_AND_NINE_MONTHS_2010,
        "balance": list_instants("2010-09-30", "2009-12-31"),
        "balance-parenthetical": list_instants("2010-09-30", "2009-12-31"),
        "cash-flow": QUARTER_AND_NINE_MONTHS_2010,
    },
    NFLX_2024: {
        "income": QUARTER_2024,
        "comprehensive-income": QUARTER_2024,
        "comprehensive-income-parenthetical": QUARTER_2024,
        "cash-flow": QUARTER_2024,
        "balance": list_instants("2024-03-31", "2023-12-31"),
        "balance-parenthetical": list_instants("2024-03-31", "2023-12-31"),
        "equity": QUARTER_2024,
    },
    UPXI: {
        "balance": list_instants("2024-06-30", "2023-06-30"),
        "balance-parenthetical": list_instants("2024-06-30", "2023-06-30"),
        "income": UPXI_YEARS,
        "equity": UPXI_YEARS,
        "cash-flow": UPXI_YEARS,
    },
}


@run_each_case("folder", FILINGS)
def test_statements_and_their_columns_are_those_of_the_filing(filings: Service, folder: str) -> None:
    periods_by_kind = {kind: column_periods(statement) for kind, statement in filings.statements(folder).items()}
    assert periods_by_kind == COLUMNS[folder]
    assert list(periods_by_kind) == list(COLUMNS[folder])


CELL_LISTS = ("values", "marks", "fact_ids", "ink_urls")  # The members of a row with a value for each column.


@run_each_case("folder", FILINGS)
def test_members_add_columns_and_rows_but_change_none(filings: Service, folder: str) -> None:
    plain, full = filings.statements(folder), filings.statements(folder, dimensioned=True)
    for kind, statement in plain.items():
        count = len(statement["columns"])
        assert full[kind]["columns"][:count] == statement["columns"]
        assert all(column["dims"] for column in full[kind]["columns"][count:])
        narrowed = [
            {name: value[:count] if name in CELL_LISTS else value for name, value in row.items()}
            for row in full[kind]["rows"]
        ]
        assert [row for row in narrowed if row in statement["rows"]] == statement["rows"]


AEON_EQUITY_MEMBERS = [
    "us-gaap:ConvertiblePreferredStockMember",
    "us-gaap:CommonStockMember",
    "us-gaap:AdditionalPaidInCapitalMember",
    "aeon:SubscriptionReceivablesMember",
    "us-gaap:RetainedEarningsMember",
    "us-gaap:TreasuryStockMember",
    "us-gaap:NoncontrollingInterestMember",
]


@pytest.mark.parametrize(
    ("folder", "members"),
    [
        (AEON, AEON_EQUITY_MEMBERS),
        (
            NFLX_2024,
            [
                "us-gaap:CommonStockMember",
                "us-gaap:TreasuryStockCommonMember",
                "us-gaap:AccumulatedOtherComprehensiveIncomeMember",
                "us-gaap:RetainedEarningsMember",
            ],
        ),
        (
            UPXI,
            [
                "us-gaap:PreferredStockMember",
                "us-gaap:CommonStockMember",
                "us-gaap:AdditionalPaidInCapitalMember",
                "us-gaap:RetainedEarningsMember",
                "us-gaap:NoncontrollingInterestMember",
            ],
        ),
    ],
)
def test_components_of_equity_are_columns_in_the_printed_order(
    filings: Service, folder: str, members: list[str]
) -> None:
    columns = filings.statements(folder, dimensioned=True)["equity"]["columns"]
    column_members = [get_only(column["dims"].values()) for column in columns if column["dims"]]
    assert list(dict.fromkeys(column_members)) == members


def test_cash_of_predecessor_and_successor_is_separate(filings: Service) -> None:
    statement = filings.statements(AEON, dimensioned=True)["cash-flow"]
    axis = "srt:StatementScenarioAxis"
    cash = {
        (cell.end, dict(cell.dims).get(axis)): cell.value
        for cell in iter_cells(statement)
        if cell.concept.endswith(":CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents") and cell.value
    }
    assert cash == {
        ("2021-12-31", None): "5128000",
        ("2022-09-30", None): "22201000",
        ("2022-12-31", "aeon:PredecessorMember"): "9746000",
        ("2023-07-21", "aeon:PredecessorMember"): "2001000",
        ("2023-07-21", "aeon:SuccessorMember"): "31238000",
        ("2023-09-30", "aeon:SuccessorMember"): "16177000",
    }


@pytest.mark.parametrize("folder", slow_after(1, [AEON, AAPL_2023, NFLX_2010, NFLX_2024]))
def test_a_filing_without_its_schema_reads_the_same(filings: Service, folder: str, tmp_path: Path) -> None:
    for path in (EDGAR / "xbrl" / folder).glob("*.xml"):
        if ".xsd" not in path.name and not path.name.endswith(("_cal.xml", "_def.xml")):
            shutil.copy(path, tmp_path)

    def remove_schema_parts(statements: dict[str, JSON]) -> dict[str, JSON]:
        """Return the statements without definitions and without balances of the filer's own elements."""
        return {
            kind: {**statement, "definition": None, "rows": [{**row, "balance": None} for row in statement["rows"]]}
            for kind, statement in statements.items()
        }

    with service(str(tmp_path)) as bare:
        for dimensioned in (False, True):
            bare_statements = bare.statements(get_only(bare.accessions), dimensioned=dimensioned)
            assert {statement["definition"] for statement in bare_statements.values()} == {None}
            complete_statements = filings.statements(folder, dimensioned=dimensioned)
            assert remove_filing(remove_schema_parts(bare_statements)) == remove_filing(
                remove_schema_parts(complete_statements)
            )
