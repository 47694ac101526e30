"""Reports into rows: the one way in, for an ingest and for an embedded pack alike."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from finapi.core import days
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.metadata import (
    CLAIMED_RANK,
    DOCUMENT_EVIDENCE,
    LISTED_RANK,
    ROUNDED_EVIDENCE,
    FilingMetadata,
    Party,
    is_unfiled,
)
from finapi.market.reference import companies
from finapi.market.statements import fact_sets, restatements
from finapi.market.statements.filed_report import Report
from finapi.market.statements.layout import Dimensions
from finapi.store.db import Row, Transaction

# Columns of insert_lines, in their order.
_OF_LINE = attrgetter("depth", "nature", "label", "placement", "negated", "balance")


def upsert_report(
    tx: Transaction, report: Report, filed: FilingMetadata, now: datetime, known: fact_sets.KnownIds | None = None
) -> bool:
    """Store a report under its filing; False when the same documents are there already and nothing new is told.

    Everything happens in the caller's transaction: the filing is stored whole or not at all. ``known`` are the names
    that reports before it in the same transaction have met.
    """
    cover = report.cover
    rows = tx.list_rows("filings_with_content", cik=cover.cik, sha256=report.sha256)
    held = identification.find_stored_row(rows, filed.accession)
    if held is not None:
        return _take_over(tx, report, filed, held, now)
    # A name of an unknown day never outranks another.
    as_of = filed.filed_at or ""
    source = fact_sets.SOURCE_NAMES.index(report.source)
    # The data sets write names in capitals.
    rank = companies.FROM_FILING_LIST if source == fact_sets.FSDS else companies.FROM_COVER
    companies.upsert_name(tx, cover.cik, cover.name, rank, as_of)
    listed: list[tuple[str, str | None]] = [(ticker, None) for ticker in cover.tickers]
    companies.upsert_tickers(tx, cover.cik, listed, companies.FROM_COVER, as_of)
    filing_id = _put_filing(tx, report, filed, now).id
    report_id = _insert_report(tx, report, filing_id)
    ids = _ids(tx, report, known)
    set_id = fact_sets.insert_fact_set(tx, filing_id, cover.cik, source, report_id)
    fact_sets.insert_facts(tx, _rows(report, ids, set_id))
    fact_sets.recompute_consolidated_dimension(tx, set_id)
    _insert_sections(tx, report, report_id, ids)
    fact_sets.recompute_hidden_facts(tx, set_id)
    tx.run("bump_data_version")
    _announce(tx, filed.accession, now, listed=source == fact_sets.FSDS)
    if filed.filed_at is not None and source != fact_sets.FSDS:
        changes = restatements.list_restatements(
            tx, set_id=set_id, cik=cover.cik, filing_id=filing_id, filed=(filed.filed_at, filed.accession)
        )
        announcements.announce_restatement(tx, now, accession=filed.accession, changes=changes)
    return True


def _take_over(tx: Transaction, report: Report, filed: FilingMetadata, held: Row, now: datetime) -> bool:
    """Take over what is now known of a filing that is held; whether that was anything new."""
    if is_unfiled(filed.accession):
        return False
    stored = _put_filing(tx, report, filed, now)
    if held["accession"] != filed.accession:
        move_reports(tx, held["id"], stored.id, filed.accession, now)
        tx.run("delete_filing", id=held["id"])
    elif not stored.changed:
        return False
    tx.run("bump_data_version")
    return True


def move_reports(tx: Transaction, unfiled_id: int, filing_id: int, accession: str, now: datetime) -> None:
    """Put the reports of an unknown filing under the one that it turned out to be."""
    moved = tx.list_rows("fact_sets_of_filing_id", filing_id=unfiled_id)
    tx.run("update_reports_filing", filing_id=filing_id, unfiled_id=unfiled_id)
    tx.run("update_fact_sets_filing", filing_id=filing_id, unfiled_id=unfiled_id)
    for row in moved:
        fact_sets.recompute_hidden_facts(tx, row["id"])
    if moved:
        _announce(tx, accession, now)


def _announce(tx: Transaction, accession: str, now: datetime, *, listed: bool = False) -> None:
    announced = announcements.announce_filing(tx, now, accession=accession, only_listed=listed)
    if announced or not listed:
        announcements.announce_data_ready(tx, now, accession=accession)


def _rows(report: Report, ids: _Ids, set_id: int) -> list[fact_sets.FactRow]:
    places = [
        (ids.dimensions[_key(context.dims)], days.number(context.end), days.count_days(*context[1:3]))
        for context in report.contexts
    ]
    concepts, units = ids.concepts, ids.units
    return [
        (set_id, dimension, concepts[concept], end, length, units[unit], value, decimals)
        for concept, context, unit, value, decimals in report.facts
        for dimension, end, length in (places[context],)
    ]


def _put_filing(tx: Transaction, report: Report, filed: FilingMetadata, now: datetime) -> filing_store.StoredFiling:
    """Upsert the filing; a data set's period, rounded to a month end, stands only where nothing else tells."""
    cover = report.cover
    if report.source == fact_sets.SOURCE_NAMES[fact_sets.FSDS]:
        parties = (Party(cover.cik, LISTED_RANK),)
        inside = FilingMetadata("", ROUNDED_EVIDENCE, parties, period_of_report=cover.period_of_report, is_xbrl=1)
    else:
        parties = (Party(cover.cik, CLAIMED_RANK),)
        inside = FilingMetadata(
            "", DOCUMENT_EVIDENCE, parties, form=cover.form, period_of_report=cover.period_of_report, is_xbrl=1
        )
    return filing_store.upsert_document(tx, filed, inside, now, announces=False)


def _insert_report(tx: Transaction, report: Report, filing_id: int) -> int:
    return tx.insert_row(
        "insert_report",
        asdict(report.cover),
        filing_id=filing_id,
        sha256=report.sha256,
        statements=sum(1 for section in report.sections if section.columns),
        documents=report.documents,
        source=report.source,
    )


def _insert_sections(tx: Transaction, report: Report, report_id: int, ids: _Ids) -> None:
    sections: list[tuple[object, ...]] = []
    lines: list[tuple[object, ...]] = []
    columns: list[tuple[object, ...]] = []
    sums: list[tuple[object, ...]] = []
    first: int = tx.find_value("next_section_id") if report.sections else 0
    for seq, section in enumerate(report.sections, 1):
        section_id = first + seq - 1
        sections.append((section_id, report_id, seq, section.role_uri, section.definition, section.kind))
        for place, line in enumerate(section.lines, 1):
            named = ids.concepts[line.concept], ids.label_roles.get(line.label_role or "")
            lines.append((section_id, place, *named, *_OF_LINE(line)))
        for place, column in enumerate(section.columns, 1):
            dims = ids.dimensions[_key(column.dims)]
            columns.append((section_id, place, dims, column.context_seq, column.start, column.end))
        for place, sum in enumerate(section.sums, 1):
            sums.append((section_id, ids.concepts[sum.total], place, ids.concepts[sum.item], sum.weight))
    tx.insert_rows("insert_sections", sections)
    tx.insert_rows("insert_lines", lines)
    tx.insert_rows("insert_columns", columns)
    tx.insert_rows("insert_sums", sums)


class _Ids(NamedTuple):
    """The ids of the names that a report uses."""

    concepts: dict[str, int]
    units: dict[str, int]
    dimensions: dict[str, int]
    label_roles: dict[str, int]


def _ids(tx: Transaction, report: Report, known: fact_sets.KnownIds | None) -> _Ids:
    """The ids of a report's names, made where they are new."""
    lines = [line for section in report.sections for line in section.lines]
    sums = [sum for section in report.sections for sum in section.sums]
    concepts = {fact.concept for fact in report.facts} | {line.concept for line in lines}
    concepts.update(name for sum in sums for name in (sum.total, sum.item))
    return _Ids(
        fact_sets.get_or_insert_ids(tx, "concept", concepts, known),
        fact_sets.get_or_insert_ids(tx, "unit", {fact.unit for fact in report.facts}, known),
        fact_sets.get_or_insert_ids(tx, "dimension", {_key(context.dims) for context in report.contexts}, known),
        fact_sets.get_or_insert_ids(
            tx, "label_role", {line.label_role for line in lines if line.label_role is not None}, known
        ),
    )


@lru_cache(maxsize=4_096)
def _key(dims: Dimensions) -> str:
    """Dimensions as the text by which they are one row: a JSON object in the order of its axes."""
    return json.dumps(dict(dims), separators=(",", ":"))
