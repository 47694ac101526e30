"""Doubted figures: wrong scales and signs that a check finds, and unusual figures that no check doubts."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from finapi import app as apps
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, figure_doubts, metric_series, provenance, series_query
from finapi.market.financials.cells import Figure
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.ratios import get_catalogue
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.intake import ingest
from tests.conftest import SHARED, needs_shared
from tests.measure import accuracy
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, find_period

FILINGS = [build_filing(f"k{year}", "10-K", f"20{year + 1}-02-01", fiscal_year=2000 + year) for year in (20, 21, 22)]
TAGS = {
    "eps": "EarningsPerShareBasic",
    "diluted": "EarningsPerShareDiluted",
    "shares": "WeightedAverageNumberOfSharesOutstandingBasic",
    "diluted_shares": "WeightedAverageNumberOfDilutedSharesOutstanding",
    "income": "NetIncomeLoss",
    "pretax": "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest",
    "tax": "IncomeTaxExpenseBenefit",
    "discontinued": "IncomeLossFromDiscontinuedOperationsNetOfTax",
    "common": "NetIncomeLossAvailableToCommonStockholdersBasic",
    "preferred": "PreferredStockDividendsIncomeStatementImpact",
    "revenue": "Revenues",
    "assets": "Assets",
    "held": "CommonStockSharesOutstanding",
}
INSTANTS = ("assets", "held")
RIGHT = {"eps": "2.10", "shares": "1000000", "income": "2100011", "revenue": "9000000", "assets": "50000000"}
TAXED = {"pretax": "3000007", "tax": "899996"}


def build_company(*years: dict[str, str]) -> CompanyBook:
    """Return a company that reports these figures in consecutive years."""
    facts: list[Fact] = []
    for index, figures in enumerate(years):
        year = 2020 + index
        for name, value in figures.items():
            start = None if name in INSTANTS else f"{year}-01-01"
            facts.append((TAGS[name], start, f"{year}-12-31", value, f"k{20 + index}"))
    return build_company_book(FILINGS[: len(years)], facts)


def find_doubts(company_book: CompanyBook, year: int = 2020) -> dict[str, tuple[str, Decimal | None]]:
    rows = FigureSeries(company_book, "A", "latest")
    failed_checks = figure_doubts.list_failed_checks(rows.get_row(find_period(rows.periods, f"{year} FY")))
    return {key: (check["rule"], check["implied"]) for key, check in failed_checks.items()}


def test_figures_that_fit_are_not_doubted() -> None:
    assert (
        find_doubts(build_company(RIGHT | TAXED | {"held": "1020000", "diluted": "2.05", "diluted_shares": "1024000"}))
        == {}
    )


@run_each_case(
    "wrong, key, implied",
    [
        ({"shares": "1000"}, "weighted_average_shares_basic", 1_000_000),
        ({"shares": "1"}, "weighted_average_shares_basic", 1_000_000),
        ({"shares": "1000000000"}, "weighted_average_shares_basic", 1_000_000),
        # Two classes that share in the income differently, and preferred dividends that no line reports.
        ({"shares": "1000", "eps": "1.60"}, "weighted_average_shares_basic", 1_000_000),
        ({"eps": "2100"}, "eps_basic", Decimal("2.1")),
        ({"eps": "0.0021"}, "eps_basic", Decimal("2.1")),
        ({"eps": "0"}, "eps_basic", Decimal("2.1")),
        ({"eps": "-2.10"}, "eps_basic", Decimal("2.1")),
        ({"diluted": "0.01", "diluted_shares": "1050000"}, "eps_diluted", 2),
        ({"held": "1010"}, "shares_outstanding", 1_010_000),
        ({"income": "2101", "held": "1000000"}, "net_income", 2_101_000),
    ],
)
def test_eps_times_shares_shows_which_figure_is_wrong(wrong: dict[str, str], key: str, implied: Decimal) -> None:
    assert find_doubts(build_company(RIGHT | wrong)) == {key: ("eps_times_shares", implied)}


@run_each_case(
    "unusual",
    [
        {"eps": "0.65"},
        {"eps": "1.50"},
        {"eps": "-0.30", "common": "-300000"},
        {"eps": "-0.30", "preferred": "2400000"},
        {"eps": "0", "income": "20000"},
        {"eps": "0.02", "income": "20000"},
        {"income": "0", "eps": "0"},
        {"shares": "0"},
        {"held": "3500000"},
    ],
)
def test_unusual_figures_are_not_doubted(unusual: dict[str, str]) -> None:
    assert find_doubts(build_company(RIGHT | unusual)) == {}


def test_share_counts_in_thousands_are_all_doubted() -> None:
    doubts = find_doubts(build_company(RIGHT | {"shares": "1000", "held": "1010"}))
    assert {key: implied for key, (_, implied) in doubts.items()} == {
        "weighted_average_shares_basic": 1_000_000,
        "shares_outstanding": 1_010_000,
    }


@run_each_case(
    "wrong, key, implied",
    [
        ({"tax": "-899996"}, "income_tax", 899_996),
        ({"tax": "899.996"}, "income_tax", 899_996),
        ({"pretax": "-3000007"}, "pretax_income", 3_000_007),
        ({"discontinued": "-500001", "income": "2600012", "eps": "2.60"}, "discontinued_operations", 500_001),
    ],
)
def test_a_sum_with_one_error_shows_the_wrong_figure(wrong: dict[str, str], key: str, implied: int) -> None:
    assert find_doubts(build_company(RIGHT | TAXED | wrong)) == {key: ("sum", implied)}


@run_each_case(
    "unusual",
    [
        {"tax": "899997"},
        {"tax": "20", "income": "3000027", "eps": "3.00"},
        {"tax": "-100005", "income": "3100012", "eps": "3.10"},
        {"pretax": "2500003"},
    ],
)
def test_a_sum_without_a_single_error_doubts_nothing(unusual: dict[str, str]) -> None:
    assert find_doubts(build_company(RIGHT | TAXED | unusual)) == {}


def test_a_figure_far_from_both_neighbours_is_doubted() -> None:
    years = [{"income": "1", "assets": value, "revenue": "5"} for value in ("40000", "42000000", "45000")]
    assert find_doubts(build_company(*years), 2021) == {"total_assets": ("neighbours", 42_000)}
    assert find_doubts(build_company(*years), 2020) == find_doubts(build_company(*years), 2022) == {}


@run_each_case("values", [("40", "42000", "45000"), ("40", "42000", "9"), ("40", "0", "45"), ("-4", "4000", "-4")])
def test_growth_is_not_taken_for_a_wrong_scale(values: tuple[str, ...]) -> None:
    years = [{"income": "1", "assets": value, "revenue": "5"} for value in values]
    assert find_doubts(build_company(*years), 2021) == {}


def test_share_counts_confirmed_by_eps_are_not_doubted() -> None:
    years = [RIGHT | {"shares": "1000"}, RIGHT, RIGHT | {"shares": "1000"}]
    assert find_doubts(build_company(*years), 2021) == {}


def build_cells(company_book: CompanyBook, *keys: str) -> dict[str, Any]:
    question = series_query.SeriesQuery(metrics=keys, provenance="summary", years="2020")
    (row,) = metric_series.build_series(company_book, question)[0]["rows"]
    return dict(row["metrics"])


def test_a_doubted_figure_is_served_with_its_failed_check() -> None:
    cell = build_cells(build_company(RIGHT | TAXED | {"tax": "-899996"}), "income_tax")["income_tax"]
    assert (cell["value"], cell["calc_status"], cell["confidence"]) == (-899_996, "inconsistent", 20)
    assert cell["check"] == {"rule": "sum", "keys": ["net_income", "pretax_income"], "implied": 899_996}


def test_a_ratio_of_a_doubted_figure_is_doubted() -> None:
    records = build_cells(
        build_company(RIGHT | {"shares": "1000", "held": "1000"}), "book_value_per_share", "net_margin", "revenue"
    )
    records |= build_cells(
        build_company(RIGHT | {"income": "2100", "held": "1000000"}), "net_margin", "roa", "fcf_to_ni"
    )
    margin = records["net_margin"]
    assert (margin["calc_status"], margin["confidence"]) == ("inconsistent", 20)
    assert margin["check"] == {"rule": "input", "keys": ["net_income"], "implied": None}
    # Missing ratios, and figures computed from others, have no check.
    assert "check" not in records["fcf_to_ni"]
    assert "check" not in records["revenue"]


# Whose figures of 2009q3 are doubted, each judged by hand: counts of shares tagged in thousands or millions or with
# three zeros too many, taxes and discontinued operations under the opposite sign, and a line of Public Storage that
# tags what dilution takes off as diluted earnings of a share.
JUDGED = {
    *(5272, 29915, 38074, 47111, 60086, 67716, 68505, 88205, 92230, 92380, 277948, 751652, 753308, 818479, 833081),
    *(885721, 941548, 1002638, 1051470, 1094093, 1163165),
    *(37785, 764180, 1357615),  # Two discontinued operations and a tax, whose signs the sums contradict.
    *(37748, 45012, 888228, 899881, 909281, 944868, 1037016, 1039684, 1126294, 1130310),
    1393311,
}


@pytest.fixture(scope="module")
def quarter() -> Iterator[dict[str, CompanyBook]]:
    """Yield the books of every filer of 2009q3."""
    app = apps.create_in_memory(Config(), SystemClock())
    try:
        ingest.run(app, [SHARED / "edgar" / "fsds" / "2009q3.zip"], IngestOptions(), lambda outcome: None)
        with app.db.read() as tx:
            yield {str(cik): company_books.load(tx, cik) for cik in company_books.list_ciks(tx)}
    finally:
        app.db.close()


@needs_shared
@pytest.mark.slow
def test_only_errors_are_doubted_among_all_filers_of_2009q3(quarter: dict[str, CompanyBook]) -> None:
    report = accuracy.list_doubts(quarter.items())
    # At most one in a thousand may be a false alarm; none of these is.
    assert {int(line.split()[0]) for line in report["doubted"]} <= JUDGED
    assert (report["cells"] > 55_000, len(report["doubted"]) > 150) == (True, True)


@needs_shared
@pytest.mark.slow
def test_operands_add_up_to_every_cell_of_2009q3(quarter: dict[str, CompanyBook]) -> None:
    report = accuracy.check_operands(quarter.items())
    assert (report["wrong"], report["cells"] > 60_000) == ([], True)


@needs_shared
@pytest.mark.slow
def test_confidence_is_bounded_by_inputs_in_2009q3(quarter: dict[str, CompanyBook]) -> None:
    keys = [*get_mapping().derived, *get_catalogue().ratios]
    over = []
    for cik, book in quarter.items():
        rows = FigureSeries(book, "Q", "latest")
        for row in map(rows.get_row, rows.periods):
            for key in keys:
                inputs = [
                    provenance.compute_confidence(formula_input.row, formula_input.key, formula_input.cell)
                    for formula_input in row.list_inputs(key)
                    if isinstance(formula_input.cell, Figure)
                ]
                cell = row.get_cell(key)
                if isinstance(cell, Figure) and provenance.compute_confidence(row, key, cell) > min([100, *inputs]):
                    over.append((cik, row.period, key))
    assert over == []
