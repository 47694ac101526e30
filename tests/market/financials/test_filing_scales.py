"""Filings whose amounts are all in another scale than those of the filings before and after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.market.financials import metric_series
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_query import SeriesQuery
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing

QUARTERS = [
    (f"{year}-{start}", f"{year}-{end}")
    for year in (2022, 2023)
    for start, end in (("01-01", "03-31"), ("04-01", "06-30"), ("07-01", "09-30"), ("10-01", "12-31"))
]
REPORTS = [
    build_filing(f"0000000001-22-{number:06}", "10-Q", f"{end[:8]}28") for number, (_, end) in enumerate(QUARTERS)
]
AMOUNTS = {"Assets": 5_000_123, "StockholdersEquity": 2_000_456, "Revenues": 1_500_789, "NetIncomeLoss": 90_555}


def build_company(
    scales: Mapping[int, float], *, count: int = 8, tags: tuple[str, ...] = tuple(AMOUNTS)
) -> CompanyBook:
    """Return a company with a report in each quarter. ``scales`` are the factors of reports with an error."""
    facts: list[Fact] = []
    for number, ((start, end), report) in enumerate(zip(QUARTERS[:count], REPORTS, strict=False)):
        amounts = {tag: amount + 10_007 * number for tag, amount in AMOUNTS.items()}
        for tag, amount in amounts.items():
            factor = scales.get(number, 1) if tag in tags else 1
            is_instant = tag in ("Assets", "StockholdersEquity")
            facts.append((tag, None if is_instant else start, end, f"{amount * factor:.0f}", report.accession))
        facts.append(("EarningsPerShareBasic", start, end, "0.09", report.accession))
    return build_company_book(REPORTS, facts)


def list_doubted(company: CompanyBook) -> dict[str, list[str]]:
    """Return the keys of inconsistent figures by the last day of the row."""
    keys = ("total_assets", "total_equity", "revenue", "net_income", "eps_basic")
    data, _ = metric_series.build_series(company, SeriesQuery(period="Q", metrics=keys))
    return {row["period_end"]: row["inconsistent"] for row in data["rows"] if "inconsistent" in row}


ALL = ["total_assets", "total_equity", "revenue", "net_income"]


@run_each_case("number", [0, 3, 7])
@run_each_case("factor", [0.001, 1000, 0.000001])
def test_all_amounts_of_a_report_in_thousands_are_inconsistent(number: int, factor: float) -> None:
    # Earnings per share are in dollars in any case.
    assert list_doubted(build_company({number: factor})) == {QUARTERS[number][1]: ALL}


def test_two_reports_in_a_row_are_found() -> None:
    company = build_company({3: 0.001, 4: 0.001})
    assert list_doubted(company) == {QUARTERS[4][1]: ALL, QUARTERS[3][1]: ALL}


def test_the_check_names_the_implied_amount() -> None:
    data, _ = metric_series.build_series(
        build_company({3: 0.001}), SeriesQuery(period="Q", metrics=("net_income",), provenance="summary")
    )
    cell: dict[str, Any] = data["rows"][4]["metrics"]["net_income"]
    assert (cell["value"], cell["calc_status"], cell["confidence"]) == (121, "inconsistent", 20)
    assert cell["check"] == {"rule": "scale", "keys": [], "implied": 121_000}


def test_a_single_metric_in_another_scale_does_not_condemn_a_report() -> None:
    assert list_doubted(build_company({3: 0.001}, tags=("Assets",))) == {}


def test_without_enough_reports_nothing_is_compared() -> None:
    assert list_doubted(build_company({1: 0.001}, count=2)) == {}


def test_lasting_growth_is_no_error() -> None:
    assert list_doubted(build_company(dict.fromkeys(range(4, 8), 1000))) == {}


def test_a_repetition_in_another_scale_does_not_replace_a_figure() -> None:
    facts: list[Fact] = []
    for number, ((start, end), report) in enumerate(zip(QUARTERS, REPORTS, strict=True)):
        factor = 0.001 if number == 3 else 1
        for tag, amount in AMOUNTS.items():
            is_instant = tag in ("Assets", "StockholdersEquity")
            facts.append((tag, None if is_instant else start, end, f"{amount * factor:.0f}", report.accession))
    # The report in thousands repeats the total assets of the quarter before.
    facts.append(("Assets", None, QUARTERS[2][1], "5000", REPORTS[3].accession))
    company = build_company_book(REPORTS, facts)
    data, _ = metric_series.build_series(company, SeriesQuery(period="Q", metrics=("total_assets",)))
    values = {row["period_end"]: row["metrics"]["total_assets"] for row in data["rows"]}
    assert (values[QUARTERS[2][1]], values[QUARTERS[3][1]]) == (5_000_123, 5000)
