"""What is answered as of a day is made of what was filed up to it, and is what raw facts say that was told last."""

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

# concept, unit, first day (None of an instant), last day: what was told, by day and filing.
RawFacts = dict[tuple[str, str, str | None, str], dict[str, list[tuple[str, str, Decimal]]]]
PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "6-K")


def document_of(cik: int) -> Path:
    """The companyfacts document of a company, of some cut to fewer concepts."""
    folders = (SHARED / "edgar" / name for name in ("companyfacts", "companyfacts_trimmed"))
    return next(file for folder in folders if (file := folder / f"CIK{cik:010}.json").exists())


def raw_facts(cik: int) -> RawFacts:
    """A companyfacts document as it stands, read without the code under test."""
    text = document_of(cik).read_text(encoding="utf-8")
    found: RawFacts = defaultdict(lambda: defaultdict(list))
    for taxonomy, concepts in json.loads(text, parse_float=Decimal)["facts"].items():
        for tag, one in concepts.items():
            for unit, rows in one["units"].items():
                for row in rows:
                    place = (f"{taxonomy}:{tag}", unit, row.get("start"), row["end"])
                    found[place][row["accn"]].append((row["filed"], row["form"], Decimal(row["val"])))
    return found


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
def test_nothing_is_known_before_it_was_filed(app: App, cik: int, cells: int, last: int) -> None:
    raw = raw_facts(cik)
    ingest.run(app, [document_of(cik)], IngestOptions(), lambda outcome: None)
    filed = sorted({day for told in raw.values() for rows in told.values() for day, _, _ in rows})
    seen = as_last = 0
    # The day before something is filed, and the day of it.
    for day in sorted({*filed[::5], *(days.shift(one, -1) for one in filed[::5])}):
        with app.db.read() as tx:
            held = company_books.load(tx, cik, as_of=day)
        for kind in ("A", "Q") if not held.is_empty else ():
            rows = FigureSeries(held, kind, "latest")
            for row in map(rows.get_row, rows.periods):
                for key in row.series.resolver.mapping.metrics:
                    cell = row.get_cell(key)
                    if isinstance(cell, Figure) and key != "shares_outstanding":
                        seen += 1
                        as_last += check(held, raw, cell, day)
    assert seen > cells
    assert as_last > last


def check(held: company_books.CompanyBook, raw: RawFacts, cell: Figure, day: str) -> bool:
    """That every fact of a cell was filed by a day as it is told; whether it is one fact, and the last word on it."""
    for _, (end, length), vintage in cell.operands:
        start = days.iso(end - length + 1) if length else None
        told = raw[vintage.concept, vintage.unit, start, days.iso(end)]
        filing = held.book.filings[vintage.filing_index]
        assert filing.filed is not None
        assert filing.filed <= day
        assert (filing.filed, filing.form, Decimal(vintage.value)) in told[filing.accession]
    if len(cell.operands) > 1 or not filing.form.startswith(PERIODIC):
        return False
    known = [one for rows in told.values() for one in rows if one[0] <= day and one[1].startswith(PERIODIC)]
    latest = max(when for when, _, _ in known)
    assert cell.value in {value for when, _, value in known if when == latest}
    return True


@needs_shared
@pytest.mark.slow
def test_of_everything_at_hand_nothing_is_known_before_it_was_filed(app: App) -> None:
    """Statements, data sets and companyfacts together: every operand of every cell, and every split, of each company on
    the days that a tenth of its filings came, and the days before."""
    ingest.run(app, [SHARED / "edgar"], IngestOptions(), lambda outcome: None)
    seen = split = 0
    with app.db.read() as tx:
        for cik in company_books.list_ciks(tx):
            filed = sorted({one.filed for one in company_books.load(tx, cik).book.filings if one.filed})
            for day in sorted({*filed[::10], *(days.shift(one, -1) for one in filed[::10])}):
                held = company_books.load(tx, cik, as_of=day)
                told = splits.list_splits(held.book, metric_mapping.get_mapping())
                assert all(one.filing is not None and (one.filing.filed or "") <= day for one in told)
                split += len(told)
                seen += sum(known_by(held, kind, day) for kind in ("A", "Q", "YTD", "TTM") if not held.is_empty)
    assert (seen > 180_000, split > 10) == (True, True)


def known_by(held: company_books.CompanyBook, kind: str, day: str) -> int:
    """How many figures a series has, each made of what was filed by a day."""
    rows = FigureSeries(held, kind, "latest")
    mapping = rows.resolver.mapping
    cells = [
        row.get_cell(key) for row in map(rows.get_row, rows.periods) for key in (*mapping.metrics, *mapping.derived)
    ]
    figures = [cell for cell in cells if isinstance(cell, Figure)]
    for cell in figures:
        filings = (
            held.book.filings[place]
            for place in (cell.filing_index, *(one.filing_index for _, _, one in cell.operands))
        )
        assert all(one.filed is not None and one.filed <= day for one in filings)
    return len(figures)
