"""Small sets of facts for tests of series, written as a filer's figures and read as the service reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finapi.app import App
from finapi.core import days
from finapi.edgar import companyfacts
from finapi.market.financials import company_books, fact_book, metric_mapping
from finapi.market.financials.cells import Figure
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.faces import FaceRow, Faces, SumRow
from finapi.market.financials.fact_book import FactRow, SourceFiling
from finapi.market.financials.periods import Period
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.statements import fact_sets

# concept, start (None: an instant), end, value, filing
Fact = tuple[str, str | None, str, str, str]


def filing(accession: str, form: str, filed: str | None, **more: Any) -> SourceFiling:
    """A filing whose figures come from companyfacts."""
    return SourceFiling(accession, form, filed, more.pop("source", "companyfacts"), **more)


def held(
    filings: Sequence[SourceFiling],
    facts: Iterable[Fact],
    *,
    as_of: str | None = None,
    sic: int | None = None,
    unit: str = "USD",
    year_end: str | None = None,
    pages: Mapping[tuple[str, str], Sequence[tuple[str, ...]]] | None = None,
    sums: Iterable[tuple[str, str, str, str]] = (),
) -> CompanyBook:
    """The book of a company with these facts; the unit follows from the concept. ``pages`` are the statements that
    filings present, by accession number and kind: concepts,
    labels and maybe balances. ``sums`` are those of calculation linkbases: filing, total, item and weight."""
    known = fact_book.sort_filings(one for one in filings if as_of is None or (one.filed or "9") <= as_of)
    places = {one.accession: place for place, one in enumerate(known)}
    mapping = metric_mapping.get_mapping()
    rows = []
    for concept, start, end, value, accession in facts:
        if accession in places:
            name = _full(concept)
            kind = mapping.get_unit_kind(mapping.find_concept(name) or "us-gaap:Assets")
            told = {"currency": unit, "per_share": f"{unit}/shares", "shares": "shares"}[kind]
            last = days.number(end)
            length = 0 if start is None else last - days.number(start) + 1
            rows.append(FactRow(name, told, last, length, value, None, places[accession]))
    rows.sort(key=lambda row: row.filing_index)
    lines = [
        FaceRow(places[accession], number, kind, _full(name), label, next(iter(balance), None))
        for number, ((accession, kind), page) in enumerate((pages or {}).items())
        for name, label, *balance in page
    ]
    added = [SumRow(places[accession], _full(total), _full(item), weight) for accession, total, item, weight in sums]
    book = fact_book.build_book(known, rows, mapping, faces=Faces(lines, mapping, added))
    return company_books.build(book, sic, year_end)


def _full(name: str) -> str:
    return name if ":" in name else f"us-gaap:{name}"


def told(company: CompanyBook, key: str, period: str, *, kind: str = "A", basis: str = "latest") -> str:
    """The cell of a key in the row of a period ("2018 FY"): its value as text, or its reason."""
    series = FigureSeries(company, kind, basis)
    cell = series.get_row(named(series.periods, period)).get_cell(key)
    return format(cell.value.normalize(), "f") if isinstance(cell, Figure) else cell.reason


def named(found: Iterable[Period], name: str) -> Period:
    """The period of a name: "2018 FY", "2019 Q2"."""
    return next(one for one in found if f"{one.fiscal_year} {one.fiscal_period}" == name)


def document(cik: int, name: str, facts: Iterable[tuple[str, str, dict[str, Any]]]) -> bytes:
    """A companyfacts document: (concept, unit, row) each."""
    taxonomies: dict[str, Any] = {}
    for concept, unit, row in facts:
        taxonomy, tag = concept.split(":")
        units = taxonomies.setdefault(taxonomy, {}).setdefault(tag, {"label": tag, "units": {}})["units"]
        units.setdefault(unit, []).append(row)
    return json.dumps({"cik": cik, "entityName": name, "facts": taxonomies}).encode()


def store(app: App, data: bytes) -> None:
    """Put a companyfacts document into the store."""
    with app.db.write() as tx:
        fact_sets.upsert_companyfacts(tx, companyfacts.parse(data, "test.json"), app.clock.now())
