"""Companies that report in several currencies, or change theirs."""

from __future__ import annotations

from typing import Any

import pytest

from finapi.core import days
from finapi.market.financials import fact_book, metric_mapping, metric_series, series_tables
from finapi.market.financials.company_books import CompanyBook, build
from finapi.market.financials.fact_book import FactRow
from finapi.market.financials.series_query import SeriesQuery
from tests.support.figures import build_filing

FILINGS = [
    build_filing(f"0000000001-{year + 1}-000001", form, f"20{year + 1}-03-01", fiscal_year=2000 + year)
    for year, form in ((21, "40-F"), (22, "40-F"), (23, "40-F"))
]
NEWS = build_filing("0000000001-24-000002", "8-K", "2024-05-01")


def build_books(*figures: tuple[int, int, str, str], currency: str | None = None) -> list[CompanyBook]:
    """Return the book of a company, and then those in its other currencies.

    A figure is the year, the index of the filing, the currency and the revenue.
    """
    filings = fact_book.sort_filings([*FILINGS, NEWS])
    rows = []
    for year, filing_index, unit, value in figures:
        end = days.number(f"{year}-12-31")
        filing = [*FILINGS, NEWS][filing_index]
        for concept, number in (("ifrs-full:Revenue", value), ("ifrs-full:ProfitLoss", "100")):
            rows.append(FactRow(concept, unit, end, 365, number, None, filings.index(filing)))
        rows.append(FactRow("ifrs-full:Assets", unit, end, 0, "5000", None, filings.index(filing)))
    rows.sort(key=lambda row: row.filing_index)
    mapping = metric_mapping.get_mapping()
    book = fact_book.build_book(filings, rows, mapping, currency)
    books = [book, *(fact_book.build_book(filings, rows, mapping, other) for other in book.other_currencies)]
    return [build(each, None, None) for each in books]


def build_series(books: list[CompanyBook], **options: Any) -> dict[str, Any]:
    query = SeriesQuery(metrics=("revenue", "total_assets"), **options)
    data, _ = metric_series.build_series(books[0], query, other_books=books[1:])
    return data


def list_rows(data: dict[str, Any]) -> list[tuple[int, int, str | None]]:
    """Return the year, the revenue and the other currency of each row."""
    return [(row["fiscal_year"], row["metrics"]["revenue"], row.get("other_unit")) for row in data["rows"]]


CHANGED = [(2021, 0, "CAD", "3021"), (2022, 1, "CAD", "3022"), (2023, 2, "USD", "3023")]


def test_the_currency_of_the_newest_report_leads() -> None:
    data = build_series(build_books(*CHANGED))
    assert (data["reporting_currency"], data["other_currencies"]) == ("USD", ["CAD"])
    assert list_rows(data) == [(2023, 3023, None), (2022, 3022, "CAD"), (2021, 3021, "CAD")]


def test_rows_in_other_currencies_are_selected_and_paged_like_others() -> None:
    books = build_books(*CHANGED)
    assert list_rows(build_series(books, years="2")) == [(2023, 3023, None), (2022, 3022, "CAD")]
    assert list_rows(build_series(books, offset=1, limit=1)) == [(2022, 3022, "CAD")]
    assert list_rows(build_series(books, period_offset=2)) == [(2021, 3021, "CAD")]


def test_cells_and_tables_have_the_unit_of_their_row() -> None:
    data = build_series(build_books(*CHANGED), provenance="summary")
    units = [row["metrics"]["revenue"]["unit"] for row in data["rows"]]
    assert units == ["USD", "CAD", "CAD"]
    _, rows = series_tables.build_wide_table({"ticker": "ACME", **data})
    assert [row["unit"] for row in rows] == ["USD", "CAD", "CAD"]


def test_a_restated_year_is_one_row_in_the_leading_currency() -> None:
    restated = [*CHANGED, (2022, 2, "USD", "2400")]
    assert list_rows(build_series(build_books(*restated))) == [
        (2023, 3023, None),
        (2022, 2400, None),
        (2021, 3021, "CAD"),
    ]


def test_a_selected_currency_has_its_years_only() -> None:
    data = build_series(build_books(*CHANGED, currency="CAD")[:1])
    assert list_rows(data) == [(2022, 3022, None), (2021, 3021, None)]
    # The other currency of the company is named.
    assert data["other_currencies"] == ["USD"]


@pytest.mark.parametrize(
    "more",
    [
        # A translation of some figures for the convenience of readers.
        [(2023, 2, "EUR", "2800")],
        # A report on a single event.
        [(2023, 3, "EUR", "2800")],
    ],
)
def test_translations_do_not_change_the_currency(more: list[tuple[int, int, str, str]]) -> None:
    steady = [(2021, 0, "USD", "1"), (2022, 1, "USD", "2"), (2023, 2, "USD", "3"), (2022, 2, "USD", "2")]
    books = build_books(*steady, *more)
    assert len(books) == 1
    data = build_series(books)
    assert list_rows(data) == [(2023, 3, None), (2022, 2, None), (2021, 1, None)]
    assert "other_currencies" not in data
