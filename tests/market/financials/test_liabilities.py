"""Total liabilities of balance sheets without a line for them."""

from __future__ import annotations

import pytest

from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, get_cell_text

FILING = build_filing("0000000001-24-000001", "10-K", "2024-02-10", source="xbrl", fiscal_year=2023, fiscal_period="FY")
START, END = "2023-01-01", "2023-12-31"
Line = tuple[str, str, str]  # Concept, printed label and value.

# Debt is presented with equity as capitalisation, so that current and other liabilities are not all of them.
CAPITALIZATION: list[Line] = [
    ("Assets", "Total assets", "50000"),
    ("acme:TotalCommonShareholdersEquity", "Total common shareholders' equity", "13000"),
    ("LongTermDebtNoncurrent", "Long-term debt", "16000"),
    ("acme:TotalCapitalization", "Total capitalization", "29000"),
    ("LiabilitiesCurrent", "Total current liabilities", "6000"),
    ("LiabilitiesNoncurrent", "Total other liabilities and deferred credits", "15000"),
]
BOTH_SIDES = ("LiabilitiesAndStockholdersEquity", "Total capitalization and liabilities", "50000")


def find_liabilities(*lines: Line, has_pages: bool = True) -> str:
    """Return the total liabilities of a balance sheet with these lines, or the reason why there are none."""
    accession = FILING.accession
    facts: list[Fact] = [
        (tag, START, END, "100", accession) for tag in ("NetIncomeLoss", "ifrs-full:ProfitLoss", "Revenues")
    ]
    facts += [(concept, None, END, value, accession) for concept, _, value in lines]
    pages = {(accession, "balance"): [(concept, label) for concept, label, _ in lines]} if has_pages else None
    return get_cell_text(build_company_book([FILING], facts, pages=pages), "total_liabilities", "2023 FY")


@pytest.mark.parametrize("lines", [CAPITALIZATION, [*CAPITALIZATION, BOTH_SIDES], [BOTH_SIDES, *CAPITALIZATION]])
def test_debt_in_capitalization_is_a_liability(lines: list[Line]) -> None:
    assert find_liabilities(*lines) == "37000"


def test_a_printed_total_comes_first() -> None:
    assert find_liabilities(*CAPITALIZATION, ("Liabilities", "Total liabilities", "36999")) == "36999"


@pytest.mark.parametrize("lines", [CAPITALIZATION[2:], [*CAPITALIZATION[:1], *CAPITALIZATION[2:]]])
def test_current_and_other_are_no_total_in_capitalization(lines: list[Line]) -> None:
    assert find_liabilities(*lines) == "not_reported"


@pytest.mark.parametrize("concept", ["MinorityInterest", "PreferredStockValue"])
def test_equity_beside_labelled_common_equity_leaves_a_hole(concept: str) -> None:
    # Whether the labelled total contains it is not known.
    assert find_liabilities(*CAPITALIZATION, (concept, "Other equity", "500")) == "not_reported"
    assert find_liabilities(*CAPITALIZATION, (concept, "Other equity", "0")) == "37000"


def test_noncontrolling_interest_and_mezzanine_are_not_liabilities() -> None:
    lines = [
        ("Assets", "Total assets", "1000"),
        ("TemporaryEquityCarryingAmountAttributableToParent", "Redeemable stock", "50"),
        ("StockholdersEquity", "Total stockholders' equity", "300"),
        ("MinorityInterest", "Noncontrolling interests", "70"),
    ]
    assert find_liabilities(*lines, has_pages=False) == "580"
    assert find_liabilities(*lines) == "580"


def test_current_and_noncurrent_add_up_without_equity() -> None:
    lines = [("LiabilitiesCurrent", "", "60"), ("LiabilitiesNoncurrent", "", "40")]
    assert find_liabilities(*lines, has_pages=False) == "100"


@run_each_case(
    "lines, value",
    [
        ({"EquityAndLiabilities": "3000", "Equity": "1200"}, "1800"),
        ({"Assets": "3000", "Equity": "1200"}, "1800"),
        ({"EquityAndLiabilities": "3000", "Equity": "-200"}, "3200"),
        ({"CurrentLiabilities": "700", "NoncurrentLiabilities": "1100"}, "1800"),
        ({"EquityAndLiabilities": "3000", "Equity": "1200", "Liabilities": "1790"}, "1790"),
        # The equity of the parent's owners is not all equity.
        ({"EquityAndLiabilities": "3000", "EquityAttributableToOwnersOfParent": "1200"}, "not_reported"),
        ({"EquityAndLiabilities": "3000"}, "not_reported"),
    ],
)
def test_ifrs_liabilities_are_both_sides_less_equity(lines: dict[str, str], value: str) -> None:
    ifrs_lines = [(f"ifrs-full:{name}", name, number) for name, number in lines.items()]
    assert find_liabilities(*ifrs_lines, has_pages=False) == value
