"""What is answered as of a day is made of what was filed up to it, and is what raw facts say that was told last."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.documents.identify import Given
from finapi.market.financials import company_books
from finapi.market.financials.figures import Figure
from finapi.market.financials.rows import FigureSeries
from finapi.market.intake import ingest
from tests.conftest import SHARED, needs_shared

# concept, unit, first day (None of an instant), last day: what was told, by day and filing.
RawFacts = dict[tuple[str, str, str | None, str], dict[str, list[tuple[str, str, Decimal]]]]
PERIODIC = ("10-K", "10-Q", "20-F", "40-F", "6-K")


def raw_facts(cik: int) -> RawFacts:
    """A companyfacts document as it stands, read without the code under test."""
    text = (SHARED / "edgar" / "companyfacts" / f"CIK{cik:010}.json").read_text(encoding="utf-8")
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
    [(320193, 20_000, 10_000), (1640147, 4_000, 2_000), (1835632, 3_000, 1_500), (1997711, 100, 90)],
)
def test_nothing_is_known_before_it_was_filed(app: App, cik: int, cells: int, last: int) -> None:
    raw = raw_facts(cik)
    ingest.run(app, [SHARED / "edgar" / "companyfacts" / f"CIK{cik:010}.json"], Given(), lambda outcome: None)
    filed = sorted({day for told in raw.values() for rows in told.values() for day, _, _ in rows})
    seen = as_last = 0
    # The day before something is filed, and the day of it.
    for day in sorted({*filed[::5], *(days.shifted(one, -1) for one in filed[::5])}):
        with app.db.read() as tx:
            held = company_books.read(tx, cik, as_of=day)
        for kind in ("A", "Q") if not held.empty else ():
            rows = FigureSeries(held, kind, "latest")
            for row in map(rows.row, rows.periods):
                for key in row.series.resolver.mapping.metrics:
                    cell = row.cell(key)
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
        filing = held.book.filings[vintage.place]
        assert filing.filed is not None
        assert filing.filed <= day
        assert (filing.filed, filing.form, Decimal(vintage.value)) in told[filing.accession]
    if len(cell.operands) > 1 or not filing.form.startswith(PERIODIC):
        return False
    known = [one for rows in told.values() for one in rows if one[0] <= day and one[1].startswith(PERIODIC)]
    latest = max(when for when, _, _ in known)
    assert cell.value in {value for when, _, value in known if when == latest}
    return True
