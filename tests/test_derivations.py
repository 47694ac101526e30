"""What is computed from reported figures: twelve months, the signs of operands, how much a derived figure is worth."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.market.financials import cell_proof, metric_series, series_query
from finapi.market.financials.cells import Figure
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_rows import FigureSeries, RowView
from tests.figures import Fact, filing, held, named, told

K23 = filing("k23", "10-K", "2024-02-01", fiscal_year=2023)
Q24 = filing("q24", "10-Q", "2024-08-01")
AMENDED = filing("k23a", "10-K/A", "2024-03-01", fiscal_year=2023)

REVENUE: list[Fact] = [
    ("Revenues", "2023-01-01", "2023-12-31", "100", "k23"),
    ("Revenues", "2024-01-01", "2024-06-30", "60", "q24"),
    ("Revenues", "2023-01-01", "2023-06-30", "45", "q24"),
    ("Revenues", "2024-04-01", "2024-06-30", "31", "q24"),
]


def row(company: CompanyBook, period: str, kind: str) -> RowView:
    found = FigureSeries(company, kind, "latest")
    return found.get_row(named(found.periods, period))


def signed(of: RowView, key: str) -> list[tuple[int, str]]:
    return [(sign, vintage.value) for sign, _, vintage in of.list_operands(key, of.get_cell(key))]


def test_twelve_months_are_the_year_and_the_year_to_date_less_that_of_the_year_before() -> None:
    company = held([K23, Q24], REVENUE)
    assert told(company, "revenue", "2024 Q2", kind="TTM") == "115"
    assert signed(row(company, "2024 Q2", "TTM"), "revenue") == [(1, "100"), (1, "60"), (-1, "45")]
    cell = row(company, "2024 Q2", "TTM").get_cell("revenue")
    assert isinstance(cell, Figure)
    assert (cell.method, cell.derivation) == ("derived", "year and year to date less the year to date before")
    assert company.book.filings[cell.filing_index].accession == "q24"


@pytest.mark.parametrize("gone", range(3))
def test_of_the_three_none_may_be_missing(gone: int) -> None:
    company = held([K23, Q24], [fact for place, fact in enumerate(REVENUE) if place != gone])
    assert told(company, "revenue", "2024 Q2", kind="TTM") == "periods_missing"


def test_a_year_that_was_restated_without_its_half_makes_no_twelve_months() -> None:
    later = filing("late", "10-K/A", "2024-09-01", fiscal_year=2023)
    restated = [*REVENUE, ("Revenues", "2023-01-01", "2023-12-31", "99", "late")]
    assert told(held([K23, Q24, later], restated), "revenue", "2024 Q2", kind="TTM") == "periods_missing"
    # Restated before the half year was told again, it is as known as that is.
    restated = [*REVENUE, ("Revenues", "2023-01-01", "2023-12-31", "99", "k23a")]
    assert told(held([K23, AMENDED, Q24], restated), "revenue", "2024 Q2", kind="TTM") == "114"


def test_a_year_under_another_tag_makes_no_twelve_months() -> None:
    facts = [("CoalProductsAndServicesRevenue", *REVENUE[0][1:]), *REVENUE[1:]]
    assert told(held([K23, Q24], facts), "revenue", "2024 Q2", kind="TTM") == "periods_missing"


def test_averages_are_never_rolled() -> None:
    facts = [("WeightedAverageNumberOfSharesOutstandingBasic", *one[1:]) for one in REVENUE]
    company = held([K23, Q24], [*REVENUE, *facts])
    assert told(company, "weighted_average_shares_basic", "2024 Q2", kind="TTM") == "not_additive"


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
def test_a_derived_figure_is_the_sum_of_its_operands_by_their_signs(
    key: str, operands: list[tuple[int, str]], value: int
) -> None:
    of = row(held([K23], FLOWS), "2023 FY", "A")
    assert signed(of, key) == operands
    shown = cell_proof.build_proof(of, key)["cell"]
    assert shown["value"] == value == sum(one["sign"] * one["value"] for one in shown["operands"])


def test_a_derived_figure_is_worth_no_more_than_its_weakest_input() -> None:
    weak = [("DepletionOfOilAndGasProperties", *YEAR, "7", "k23"), ("OperatingIncomeLoss", *YEAR, "9", "k23")]
    of = row(held([K23], [*FLOWS, *weak]), "2023 FY", "A")
    worth = {
        key: cell_proof.build_proof(of, key)["cell"]["confidence"] for key in ("depreciation_amortization", "ebitda")
    }
    assert worth["depreciation_amortization"] == worth["ebitda"] == 50
    assert cell_proof.build_proof(of, "ebitda_margin")["cell"]["confidence"] == 50
    assert cell_proof.build_proof(of, "free_cashflow")["cell"]["confidence"] == 85
    assert cell_proof.build_proof(of, "free_cashflow")["cell"]["value"] == Decimal(50)


QUARTERS = [("2023-01-01", "2023-03-31"), ("2023-04-01", "2023-06-30"), ("2023-07-01", "2023-09-30")]
COUNT, EACH, INCOME = "WeightedAverageNumberOfDilutedSharesOutstanding", "EarningsPerShareDiluted", "NetIncomeLoss"


def last_quarter(*more: Fact, year: str = "1000", third: str = "980", q4: str = "estimated") -> dict[str, Any]:
    """The row of a fourth quarter of which no filing tells shares, with provenance."""
    facts: list[Fact] = [(COUNT, *YEAR, year, "k23"), (EACH, *YEAR, "0.40", "k23"), (INCOME, *YEAR, "400", "k23")]
    for period, shares in zip(QUARTERS, ("1020", "1000", third), strict=True):
        facts += [(COUNT, *period, shares, "k23"), (EACH, *period, "0.10", "k23"), (INCOME, *period, "90", "k23")]
    question = series_query.SeriesQuery(
        period="Q", metrics=("eps_diluted", "weighted_average_shares_diluted"), provenance="full", q4=q4, limit=1
    )
    (found,) = metric_series.build_series(held([K23], [*facts, *more]), question)[0]["rows"]
    return dict(found)


def test_a_last_quarter_has_no_average_and_no_earnings_of_a_share_by_itself() -> None:
    row = last_quarter(q4="reported")
    assert {key: cell["reason_code"] for key, cell in row["metrics"].items()} == dict.fromkeys(
        ("eps_diluted", "weighted_average_shares_diluted"), "not_additive"
    )
    assert "estimated" not in row


def test_on_request_the_average_of_a_last_quarter_is_what_the_years_leaves_by_days() -> None:
    row = last_quarter()
    shares = row["metrics"]["weighted_average_shares_diluted"]
    # (1000 x 365 - 1020 x 90 - 1000 x 91 - 980 x 92) / 92
    assert (shares["value"], shares["estimated"], shares["confidence"], shares["method"]) == (1000, True, 40, "derived")
    assert row["estimated"] == ["eps_diluted", "weighted_average_shares_diluted"]


def test_on_request_the_earnings_of_a_share_of_a_last_quarter_are_its_income_over_that_average() -> None:
    each = last_quarter()["metrics"]["eps_diluted"]
    # (400 - 3 x 90) / 1000
    assert (each["value"], each["estimated"], each["confidence"]) == (Decimal("0.13"), True, 40)
    paid: list[Fact] = [("PreferredStockDividendsIncomeStatementImpact", *YEAR, "50", "k23")]
    paid += [("PreferredStockDividendsIncomeStatementImpact", *period, "10", "k23") for period in QUARTERS]
    assert last_quarter(*paid)["metrics"]["eps_diluted"]["value"] == Decimal("0.11")


@pytest.mark.parametrize("year", ["250", "4000", "0"], ids=["before a split", "after a split", "none"])
def test_an_average_that_other_shares_would_make_is_not_estimated(year: str) -> None:
    row = last_quarter(year=year)
    assert {cell["reason_code"] for cell in row["metrics"].values()} == {"not_additive"}
    assert row["estimated"] == []


def test_a_last_quarter_that_is_reported_is_not_estimated() -> None:
    fourth = ("2023-10-01", "2023-12-31")
    row = last_quarter((COUNT, *fourth, "990", "k23"), (INCOME, *fourth, "130", "k23"))
    assert (row["metrics"]["weighted_average_shares_diluted"]["value"], row["estimated"]) == (990, ["eps_diluted"])
