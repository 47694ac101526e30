"""Answers as of a day use only filings up to that day, and show the latest of their raw facts."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, metric_mapping, splits
from finapi.market.financials.cells import Figure
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.intake import ingest
from tests.conftest import SHARED, needs_shared

# Values by (concept, unit, first day or None for an instant, last day) and accession number: (day, form, value).
RawFacts = dict[tuple[str, str, str | None, str], dict[str, list[tuple[str, str, Decimal]]]]
PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "6-K")


def find_document(cik: int) -> Path:
    """Return the companyfacts document of a company; some documents are cut to fewer concepts."""
    folders = (SHARED / "edgar" / name for name in ("companyfacts", "companyfacts_trimmed"))
    return next(file for folder in folders if (file := folder / f"CIK{cik:010}.json").exists())


def read_raw_facts(cik: int) -> RawFacts:
    """Return the rows of a companyfacts document, read without the code under test."""
    text = find_document(cik).read_text(encoding="utf-8")
    facts: RawFacts = defaultdict(lambda: defaultdict(list))
    for taxonomy, concepts in json.loads(text, parse_float=Decimal)["facts"].items():
        for tag, concept in concepts.items():
            for unit, rows in concept["units"].items():
                for row in rows:
                    fact_key = (f"{taxonomy}:{tag}", unit, row.get("start"), row["end"])
                    facts[fact_key][row["accn"]].append((row["filed"], row["form"], Decimal(row["val"])))
    return facts


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cik", "cells", "last"),
    [
        (320193, 20_000, 10_000),
        (1640147, 4_000, 2_000),
        (1835632, 3_000, 1_500),
        (1997711, 100, 90),
        (789019, 7_000, 5_000),
        (19617, 80, 80),
    ],
)
def test_no_fact_is_known_before_its_filing_day(app: App, cik: int, cells: int, last: int) -> None:
    raw = read_raw_facts(cik)
    ingest.run(app, [find_document(cik)], IngestOptions(), lambda outcome: None)
    filed = sorted({day for rows_by_filing in raw.values() for rows in rows_by_filing.values() for day, _, _ in rows})
    figure_count = latest_count = 0
    # The day before something is filed, and the day of it.
    for day in sorted({*filed[::5], *(days.shift(filing_day, -1) for filing_day in filed[::5])}):
        with app.db.read() as tx:
            company_book = company_books.load(tx, cik, as_of=day)
        for kind in ("A", "Q") if not company_book.is_empty else ():
            rows = FigureSeries(company_book, kind, "latest")
            for row in map(rows.get_row, rows.periods):
                for key in row.series.resolver.mapping.metrics:
                    cell = row.get_cell(key)
                    if isinstance(cell, Figure) and key != "shares_outstanding":
                        figure_count += 1
                        latest_count += is_latest_single_fact(company_book, raw, cell, day)
    assert figure_count > cells
    assert latest_count > last


def is_latest_single_fact(company_book: company_books.CompanyBook, raw: RawFacts, cell: Figure, day: str) -> bool:
    """Assert that every operand of a cell was filed by a day with its value.

    Return True if the cell has one operand and agrees with the latest periodic filing.
    """
    for _, (end, length), vintage in cell.operands:
        start = days.iso(end - length + 1) if length else None
        rows_by_filing = raw[vintage.concept, vintage.unit, start, days.iso(end)]
        filing = company_book.book.filings[vintage.filing_index]
        assert filing.filed is not None
        assert filing.filed <= day
        assert (filing.filed, filing.form, Decimal(vintage.value)) in rows_by_filing[filing.accession]
    if len(cell.operands) > 1 or not filing.form.startswith(PERIODIC):
        return False
    known_rows = [
        row for rows in rows_by_filing.values() for row in rows if row[0] <= day and row[1].startswith(PERIODIC)
    ]
    latest = max(when for when, _, _ in known_rows)
    assert cell.value in {value for when, _, value in known_rows if when == latest}
    return True


@needs_shared
@pytest.mark.slow
def test_no_source_is_known_before_its_filing_day(app: App) -> None:
    """Check statements, data sets and companyfacts together.

    Every operand of every cell and every split of each company is checked on the days of a tenth of its filings and
    on the days before them.
    """
    ingest.run(app, [SHARED / "edgar"], IngestOptions(), lambda outcome: None)
    figure_count = split_count = 0
    with app.db.read() as tx:
        for cik in company_books.list_ciks(tx):
            filed = sorted({filing.filed for filing in company_books.load(tx, cik).book.filings if filing.filed})
            for day in sorted({*filed[::10], *(days.shift(filing_day, -1) for filing_day in filed[::10])}):
                company_book = company_books.load(tx, cik, as_of=day)
                known_splits = splits.list_splits(company_book.book, metric_mapping.get_mapping())
                assert all(split.filing is not None and (split.filing.filed or "") <= day for split in known_splits)
                split_count += len(known_splits)
                figure_count += sum(
                    count_known_figures(company_book, kind, day)
                    for kind in ("A", "Q", "YTD", "TTM")
                    if not company_book.is_empty
                )
    assert (figure_count > 180_000, split_count > 10) == (True, True)


def count_known_figures(company_book: company_books.CompanyBook, kind: str, day: str) -> int:
    """Assert that each figure of a series was filed by a day. Return the number of figures."""
    rows = FigureSeries(company_book, kind, "latest")
    mapping = rows.resolver.mapping
    cells = [
        row.get_cell(key) for row in map(rows.get_row, rows.periods) for key in (*mapping.metrics, *mapping.derived)
    ]
    figures = [cell for cell in cells if isinstance(cell, Figure)]
    for cell in figures:
        filings = (
            company_book.book.filings[filing_index]
            for filing_index in (cell.filing_index, *(operand.filing_index for _, _, operand in cell.operands))
        )
        assert all(filing.filed is not None and filing.filed <= day for filing in filings)
    return len(figures)
