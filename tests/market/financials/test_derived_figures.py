"""Figures computed from reported ones: trailing twelve months, signs of operands, confidence, estimates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.market.financials import cell_proof, metric_series, series_query
from finapi.market.financials.cells import Figure
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_rows import FigureSeries, RowView
from tests.support.figures import Fact, build_company_book, build_filing, find_period, get_cell_text

K23 = build_filing("k23", "10-K", "2024-02-01", fiscal_year=2023)
Q24 = build_filing("q24", "10-Q", "2024-08-01")
AMENDED = build_filing("k23a", "10-K/A", "2024-03-01", fiscal_year=2023)

REVENUE: list[Fact] = [
    ("Revenues", "2023-01-01", "2023-12-31", "100", "k23"),
    ("Revenues", "2024-01-01", "2024-06-30", "60", "q24"),
    ("Revenues", "2023-01-01", "2023-06-30", "45", "q24"),
    ("Revenues", "2024-04-01", "2024-06-30", "31", "q24"),
]


def get_row(company: CompanyBook, period: str, kind: str) -> RowView:
    series = FigureSeries(company, kind, "latest")
    return series.get_row(find_period(series.periods, period))


def list_signed_operands(row_view: RowView, key: str) -> list[tuple[int, str]]:
    return [(sign, vintage.value) for sign, _, vintage in row_view.list_operands(key, row_view.get_cell(key))]


def test_trailing_months_roll_the_year_forward() -> None:
    company = build_company_book([K23, Q24], REVENUE)
    assert get_cell_text(company, "revenue", "2024 Q2", kind="TTM") == "115"
    assert list_signed_operands(get_row(company, "2024 Q2", "TTM"), "revenue") == [(1, "100"), (1, "60"), (-1, "45")]
    cell = get_row(company, "2024 Q2", "TTM").get_cell("revenue")
    assert isinstance(cell, Figure)
    assert (cell.method, cell.derivation) == ("derived", "year and year to date less the year to date before")
    assert company.book.filings[cell.filing_index].accession == "q24"


@pytest.mark.parametrize("missing_index", range(3))
def test_rolling_the_year_needs_all_three_operands(missing_index: int) -> None:
    company = build_company_book([K23, Q24], [fact for index, fact in enumerate(REVENUE) if index != missing_index])
    assert get_cell_text(company, "revenue", "2024 Q2", kind="TTM") == "periods_missing"


def test_a_restated_year_is_not_rolled_with_an_old_half_year() -> None:
    later = build_filing("late", "10-K/A", "2024-09-01", fiscal_year=2023)
    restated = [*REVENUE, ("Revenues", "2023-01-01", "2023-12-31", "99", "late")]
    assert (
        get_cell_text(build_company_book([K23, Q24, later], restated), "revenue", "2024 Q2", kind="TTM")
        == "periods_missing"
    )
    # If it was restated before the half year was reported again, both are of one view.
    restated = [*REVENUE, ("Revenues", "2023-01-01", "2023-12-31", "99", "k23a")]
    assert get_cell_text(build_company_book([K23, AMENDED, Q24], restated), "revenue", "2024 Q2", kind="TTM") == "114"


def test_a_year_under_another_tag_is_not_rolled_forward() -> None:
    facts = [("CoalProductsAndServicesRevenue", *REVENUE[0][1:]), *REVENUE[1:]]
    assert get_cell_text(build_company_book([K23, Q24], facts), "revenue", "2024 Q2", kind="TTM") == "periods_missing"


def test_averages_are_never_rolled_forward() -> None:
    facts = [("WeightedAverageNumberOfSharesOutstandingBasic", *fact[1:]) for fact in REVENUE]
    company = build_company_book([K23, Q24], [*REVENUE, *facts])
    assert get_cell_text(company, "weighted_average_shares_basic", "2024 Q2", kind="TTM") == "not_additive"


YEAR = ("2023-01-01", "2023-12-31")
FLOWS: list[Fact] = [
    ("Revenues", *YEAR, "100", "k23"),
    ("NetCashProvidedByUsedInOperatingActivities", *YEAR, "70", "k23"),
    ("PaymentsToAcquirePropertyPlantAndEquipment", *YEAR, "20", "k23"),
    ("DebtCurrent", None, "2023-12-31", "5", "k23"),
    ("LongTermDebtNoncurrent", None, "2023-12-31", "30", "k23"),
    ("CashAndCashEquivalentsAtCarryingValue", None, "2023-12-31", "12", "k23"),
    ("StockholdersEquity", None, "2023-12-31", "50", "k23"),
]


@pytest.mark.parametrize(
    ("key", "operands", "value"),
    [
        ("free_cashflow", [(1, "70"), (-1, "20")], 50),
        ("net_debt", [(1, "5"), (1, "30"), (-1, "12")], 23),
        ("invested_capital", [(1, "5"), (1, "30"), (1, "50"), (-1, "12")], 73),
    ],
)
def test_signed_operands_add_up_to_a_derived_figure(key: str, operands: list[tuple[int, str]], value: int) -> None:
    row_view = get_row(build_company_book([K23], FLOWS), "2023 FY", "A")
    assert list_signed_operands(row_view, key) == operands
    cell = cell_proof.build_proof(row_view, key)["cell"]
    assert cell["value"] == value == sum(operand["sign"] * operand["value"] for operand in cell["operands"])


def test_confidence_is_at_most_that_of_the_weakest_input() -> None:
    weak = [("DepletionOfOilAndGasProperties", *YEAR, "7", "k23"), ("OperatingIncomeLoss", *YEAR, "9", "k23")]
    row_view = get_row(build_company_book([K23], [*FLOWS, *weak]), "2023 FY", "A")
    worth = {
        key: cell_proof.build_proof(row_view, key)["cell"]["confidence"]
        for key in ("depreciation_amortization", "ebitda")
    }
    assert worth["depreciation_amortization"] == worth["ebitda"] == 50
    assert cell_proof.build_proof(row_view, "ebitda_margin")["cell"]["confidence"] == 50
    assert cell_proof.build_proof(row_view, "free_cashflow")["cell"]["confidence"] == 85
    assert cell_proof.build_proof(row_view, "free_cashflow")["cell"]["value"] == Decimal(50)


QUARTERS = [("2023-01-01", "2023-03-31"), ("2023-04-01", "2023-06-30"), ("2023-07-01", "2023-09-30")]
COUNT, EACH, INCOME = "WeightedAverageNumberOfDilutedSharesOutstanding", "EarningsPerShareDiluted", "NetIncomeLoss"


def build_last_quarter(
    *more_facts: Fact, year: str = "1000", third: str = "980", q4: str = "estimated"
) -> dict[str, Any]:
    """Return the row of a fourth quarter without reported shares, with provenance."""
    facts: list[Fact] = [(COUNT, *YEAR, year, "k23"), (EACH, *YEAR, "0.40", "k23"), (INCOME, *YEAR, "400", "k23")]
    for period, shares in zip(QUARTERS, ("1020", "1000", third), strict=True):
        facts += [(COUNT, *period, shares, "k23"), (EACH, *period, "0.10", "k23"), (INCOME, *period, "90", "k23")]
    question = series_query.SeriesQuery(
        period="Q", metrics=("eps_diluted", "weighted_average_shares_diluted"), provenance="full", q4=q4, limit=1
    )
    (series_row,) = metric_series.build_series(build_company_book([K23], [*facts, *more_facts]), question)[0]["rows"]
    return dict(series_row)


def test_a_last_quarter_has_no_eps_without_q4_estimated() -> None:
    row = build_last_quarter(q4="reported")
    assert {key: cell["reason_code"] for key, cell in row["metrics"].items()} == dict.fromkeys(
        ("eps_diluted", "weighted_average_shares_diluted"), "not_additive"
    )
    assert "estimated" not in row


def test_average_shares_of_a_last_quarter_are_weighted_by_days() -> None:
    row = build_last_quarter()
    shares = row["metrics"]["weighted_average_shares_diluted"]
    # (1000 x 365 - 1020 x 90 - 1000 x 91 - 980 x 92) / 92
    assert (shares["value"], shares["estimated"], shares["confidence"], shares["method"]) == (1000, True, 40, "derived")
    assert row["estimated"] == ["eps_diluted", "weighted_average_shares_diluted"]


def test_estimated_eps_is_income_over_estimated_shares() -> None:
    each = build_last_quarter()["metrics"]["eps_diluted"]
    # (400 - 3 x 90) / 1000
    assert (each["value"], each["estimated"], each["confidence"]) == (Decimal("0.13"), True, 40)
    paid: list[Fact] = [("PreferredStockDividendsIncomeStatementImpact", *YEAR, "50", "k23")]
    paid += [("PreferredStockDividendsIncomeStatementImpact", *period, "10", "k23") for period in QUARTERS]
    assert build_last_quarter(*paid)["metrics"]["eps_diluted"]["value"] == Decimal("0.11")


@pytest.mark.parametrize("year", ["250", "4000", "0"], ids=["before a split", "after a split", "none"])
def test_averages_across_a_split_are_not_estimated(year: str) -> None:
    row = build_last_quarter(year=year)
    assert {cell["reason_code"] for cell in row["metrics"].values()} == {"not_additive"}
    assert row["estimated"] == []


def test_a_reported_last_quarter_is_not_estimated() -> None:
    fourth = ("2023-10-01", "2023-12-31")
    row = build_last_quarter((COUNT, *fourth, "990", "k23"), (INCOME, *fourth, "130", "k23"))
    assert (row["metrics"]["weighted_average_shares_diluted"]["value"], row["estimated"]) == (990, ["eps_diluted"])
