"""Small sets of facts for tests of series, written as a filer's figures and read as the service reads them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from finapi.app import App
from finapi.core import days
from finapi.edgar import companyfacts
from finapi.market.financials import company_books, fact_book, filing_scales, metric_mapping, outlay_signs
from finapi.market.financials.cells import Figure
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.face_pages import FaceRow
from finapi.market.financials.faces import Faces, SumRow
from finapi.market.financials.fact_book import FactRow, SourceFiling
from finapi.market.financials.outlay_signs import StatementLine
from finapi.market.financials.periods import Period
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.statements import fact_sets

# Concept, start (None: an instant), end, value and accession number.
Fact = tuple[str, str | None, str, str, str]


def build_filing(
    accession: str, form: str, filed: str | None, *, source: str = "companyfacts", **fields: Any
) -> SourceFiling:
    """Return a filing whose figures come from companyfacts."""
    return SourceFiling(accession, form, filed, source, **fields)


def build_company_book(
    filings: Sequence[SourceFiling],
    facts: Iterable[Fact],
    *,
    as_of: str | None = None,
    sic: int | None = None,
    unit: str = "USD",
    year_end: str | None = None,
    pages: Mapping[tuple[str, str], Sequence[tuple[str, ...]]] | None = None,
    sums: Iterable[tuple[str, str, str, str]] = (),
    negated: Collection[str] = (),
) -> CompanyBook:
    """Return the book of a company with these facts. The unit of a fact follows from its concept.

    ``pages`` are the statements that filings present, by accession number and kind, each a list of lines: concept,
    label and maybe balance, depth and "negated". ``sums`` are those of calculation linkbases: accession number, total,
    item and weight. ``negated`` are the concepts that income and cash flow statements print with the opposite sign.
    """
    known_filings = fact_book.sort_filings(
        filing for filing in filings if as_of is None or (filing.filed or "9") <= as_of
    )
    filing_indexes = {filing.accession: index for index, filing in enumerate(known_filings)}
    mapping = metric_mapping.get_mapping()
    units_by_kind = {"currency": unit, "per_share": f"{unit}/shares", "shares": "shares"}
    rows = []
    for concept, start, end, value, accession in facts:
        if accession in filing_indexes:
            name = _qualify(concept)
            unit_kind = mapping.get_unit_kind(mapping.find_concept(name) or "us-gaap:Assets")
            last = days.number(end)
            length = 0 if start is None else last - days.number(start) + 1
            rows.append(FactRow(name, units_by_kind[unit_kind], last, length, value, None, filing_indexes[accession]))
    rows.sort(key=lambda row: row.filing_index)
    face_rows = []
    for section_id, ((accession, kind), lines) in enumerate((pages or {}).items()):
        for concept, label, *details in lines:
            balance, depth, sign = (*details, *("", "0", "")[len(details) :])
            face_rows.append(
                FaceRow(
                    filing_index=filing_indexes[accession],
                    section_id=section_id,
                    kind=kind,
                    concept=_qualify(concept),
                    label=label,
                    balance=balance or None,
                    depth=int(depth),
                    is_negated=int(sign == "negated"),
                )
            )
    sum_rows = [
        SumRow(filing_indexes[accession], _qualify(total), _qualify(item), weight)
        for accession, total, item, weight in sums
    ]
    book = fact_book.build_book(known_filings, rows, mapping, faces=Faces(face_rows, mapping, sum_rows))
    book.misscaled_filings = filing_scales.find_misscaled_filings(book, mapping)
    filing_scales.drop_repetitions(book)
    lines = [
        StatementLine(
            face.filing_index, face.section_id, face.concept, face.concept in negated, row.end, row.length, row.value
        )
        for face in face_rows
        for row in rows
        if face.kind in ("cash-flow", "income") and (row.filing_index, row.concept) == (face.filing_index, face.concept)
    ]
    doubtful_filings = outlay_signs.list_doubtful_filings(rows, mapping)
    proofs = outlay_signs.prove_signs(mapping, rows, doubtful_filings, book.currency, lines, sum_rows)
    book.corrected_signs, book.confirmed_signs = proofs
    return company_books.build(book, sic, year_end)


def _qualify(concept: str) -> str:
    return concept if ":" in concept else f"us-gaap:{concept}"


def get_cell_text(company: CompanyBook, key: str, period: str, *, kind: str = "A", basis: str = "latest") -> str:
    """Return the cell of a key in the row of a period ("2018 FY"): its value as text, or its reason."""
    series = FigureSeries(company, kind, basis)
    cell = series.get_row(find_period(series.periods, period)).get_cell(key)
    return format(cell.value.normalize(), "f") if isinstance(cell, Figure) else cell.reason


def find_period(periods: Iterable[Period], name: str) -> Period:
    """Return the period with a name such as "2018 FY" or "2019 Q2"."""
    return next(period for period in periods if f"{period.fiscal_year} {period.fiscal_period}" == name)


def build_companyfacts(cik: int, name: str, facts: Iterable[tuple[str, str, dict[str, Any]]]) -> bytes:
    """Return a companyfacts document; a fact is its concept, unit and row."""
    taxonomies: dict[str, Any] = {}
    for concept, unit, row in facts:
        taxonomy, tag = concept.split(":")
        units = taxonomies.setdefault(taxonomy, {}).setdefault(tag, {"label": tag, "units": {}})["units"]
        units.setdefault(unit, []).append(row)
    return json.dumps({"cik": cik, "entityName": name, "facts": taxonomies}).encode()


def store_companyfacts(app: App, data: bytes) -> None:
    """Ingest a companyfacts document."""
    with app.db.write() as tx:
        fact_sets.upsert_companyfacts(tx, companyfacts.parse(data, "test.json"), app.clock.now())
