"""Storing a report: the rows of its filing, facts, sections, lines, columns and sums.

Reports come from XBRL documents (``xbrl_intake.py``), the SEC's data sets (``statement_set_intake.py``) and the demo's
embedded data; all of them are stored by :func:`upsert_report`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
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
from finapi.market.statements.fact_sets import (
    FSDS,
    SOURCE_NAMES,
    KnownIds,
    StoredConflict,
    StoredElement,
    StoredFact,
)
from finapi.market.statements.filed_report import Report
from finapi.market.statements.layout import Dimensions
from finapi.store.db import Row, Transaction


def upsert_report(
    tx: Transaction, report: Report, filed: FilingMetadata, now: datetime, known_ids: KnownIds | None = None
) -> bool:
    """Store a report under its filing. Return False if it is stored already and nothing about the filing is new.

    Everything happens in the caller's transaction, so the filing is stored completely or not at all. ``known_ids`` are
    the ids of names that earlier reports of this transaction have used.
    """
    cover = report.cover
    stored_rows = tx.list_rows("filings_with_content", cik=cover.cik, sha256=report.sha256)
    stored_row = identification.find_stored_row(stored_rows, filed.accession)
    if stored_row is not None:
        return _update_stored_report(tx, report, filed, stored_row, now)
    source = SOURCE_NAMES.index(report.source)
    is_data_set = source == FSDS
    _upsert_company(tx, report, filed, is_data_set=is_data_set)
    filing_id = _upsert_filing(tx, report, filed, now).id
    report_id = _insert_report(tx, report, filing_id)
    ids = _get_or_insert_name_ids(tx, report, known_ids)
    set_id = fact_sets.insert_fact_set(tx, filing_id, cover.cik, source, report_id)
    fact_rows = _build_fact_rows(report, ids, set_id)
    fact_sets.insert_facts(tx, fact_rows)
    fact_sets.insert_fact_elements(tx, _build_element_rows(report, fact_rows))
    if report.conflicts:
        fact_sets.insert_fact_conflicts(tx, _build_conflict_rows(report, fact_rows))
    fact_sets.recompute_consolidated_dimension(tx, set_id)
    _insert_sections(tx, report, report_id, ids)
    fact_sets.recompute_hidden_facts(tx, set_id)
    tx.run("bump_data_version")
    _announce(tx, filed.accession, now, is_only_listed=is_data_set)
    if filed.filed_at is not None and not is_data_set:
        changes = restatements.list_restatements(
            tx, set_id=set_id, cik=cover.cik, filing_id=filing_id, filed=(filed.filed_at, filed.accession)
        )
        announcements.announce_restatement(tx, now, accession=filed.accession, changes=changes)
    return True


def _upsert_company(tx: Transaction, report: Report, filed: FilingMetadata, *, is_data_set: bool) -> None:
    cover = report.cover
    # Without a filing day the name or ticker never replaces another.
    as_of = filed.filed_at or ""
    # The data sets write names in capitals, so they rank below a cover page.
    rank = companies.FROM_FILING_LIST if is_data_set else companies.FROM_COVER
    companies.upsert_name(tx, cover.cik, cover.name, rank, as_of)
    tickers_with_exchanges: list[tuple[str, str | None]] = [(ticker, None) for ticker in cover.tickers]
    companies.upsert_tickers(tx, cover.cik, tickers_with_exchanges, companies.FROM_COVER, as_of)


def _update_stored_report(
    tx: Transaction, report: Report, filed: FilingMetadata, stored_row: Row, now: datetime
) -> bool:
    """Store new metadata of a filing whose report is stored. Return True if anything changed."""
    if is_unfiled(filed.accession):
        return False
    stored_filing = _upsert_filing(tx, report, filed, now)
    if stored_row["accession"] != filed.accession:
        # The report was stored before its accession number was known.
        move_reports(tx, stored_row["id"], stored_filing.id, filed.accession, now)
        tx.run("delete_filing", id=stored_row["id"])
    elif not stored_filing.changed:
        return False
    tx.run("bump_data_version")
    return True


def move_reports(tx: Transaction, unfiled_id: int, filing_id: int, accession: str, now: datetime) -> None:
    """Move the reports that were stored without an accession number to the filing that they belong to."""
    moved_sets = tx.list_rows("fact_sets_of_filing_id", filing_id=unfiled_id)
    tx.run("update_reports_filing", filing_id=filing_id, unfiled_id=unfiled_id)
    tx.run("update_fact_sets_filing", filing_id=filing_id, unfiled_id=unfiled_id)
    for row in moved_sets:
        fact_sets.recompute_hidden_facts(tx, row["id"])
    if moved_sets:
        _announce(tx, accession, now)


def _announce(tx: Transaction, accession: str, now: datetime, *, is_only_listed: bool = False) -> None:
    announced = announcements.announce_filing(tx, now, accession=accession, is_only_listed=is_only_listed)
    if announced or not is_only_listed:
        announcements.announce_data_ready(tx, now, accession=accession)


def _upsert_filing(tx: Transaction, report: Report, filed: FilingMetadata, now: datetime) -> filing_store.StoredFiling:
    """Store the metadata of a report's filing.

    The period of a data set is rounded to a month end, so it is used only if no other source gives a period.
    """
    cover = report.cover
    if report.source == SOURCE_NAMES[FSDS]:
        document_metadata = FilingMetadata(
            "",
            ROUNDED_EVIDENCE,
            (Party(cover.cik, LISTED_RANK),),
            period_of_report=cover.period_of_report,
            is_xbrl=1,
        )
    else:
        document_metadata = FilingMetadata(
            "",
            DOCUMENT_EVIDENCE,
            (Party(cover.cik, CLAIMED_RANK),),
            form=cover.form,
            period_of_report=cover.period_of_report,
            is_xbrl=1,
            is_inline_xbrl=1 if report.pages else None,
        )
    return filing_store.upsert_filing_of_document(tx, filed, document_metadata, now, announces=False)


def _insert_report(tx: Transaction, report: Report, filing_id: int) -> int:
    return tx.insert_row(
        "insert_report",
        asdict(report.cover),
        filing_id=filing_id,
        sha256=report.sha256,
        statements=sum(1 for section in report.sections if section.columns),
        documents=report.documents,
        source=report.source,
        pages=json.dumps(report.pages),
    )


class _NameIds(NamedTuple):
    """The ids of the names that a report uses."""

    concepts: dict[str, int]
    units: dict[str, int]
    dimensions: dict[str, int]
    label_roles: dict[str, int]


def _get_or_insert_name_ids(tx: Transaction, report: Report, known_ids: KnownIds | None) -> _NameIds:
    concepts = {fact.concept for fact in report.facts}
    label_roles: set[str] = set()
    for section in report.sections:
        concepts.update(line.concept for line in section.lines)
        label_roles.update(line.label_role for line in section.lines if line.label_role is not None)
        for sum_row in section.sums:
            concepts.update((sum_row.total, sum_row.item))
    units = {fact.unit for fact in report.facts}
    dimensions = {_format_dimensions(context.dims) for context in report.contexts}
    return _NameIds(
        concepts=fact_sets.get_or_insert_ids(tx, "concept", concepts, known_ids),
        units=fact_sets.get_or_insert_ids(tx, "unit", units, known_ids),
        dimensions=fact_sets.get_or_insert_ids(tx, "dimension", dimensions, known_ids),
        label_roles=fact_sets.get_or_insert_ids(tx, "label_role", label_roles, known_ids),
    )


def _build_fact_rows(report: Report, ids: _NameIds, set_id: int) -> list[StoredFact]:
    dimension_ids = [ids.dimensions[_format_dimensions(context.dims)] for context in report.contexts]
    end_days = [days.number(context.end) for context in report.contexts]
    day_counts = [days.count_days(context.start, context.end) for context in report.contexts]
    return [
        StoredFact(
            set_id,
            dimension_ids[fact.context],
            ids.concepts[fact.concept],
            end_days[fact.context],
            day_counts[fact.context],
            ids.units[fact.unit],
            fact.value,
            fact.decimals,
        )
        for fact in report.facts
    ]


def _build_element_rows(report: Report, fact_rows: Sequence[StoredFact]) -> list[StoredElement]:
    """Return the elements of the facts that have one. ``fact_rows`` are in the order of the report's facts."""
    return [
        StoredElement(
            row.fact_set_id,
            row.dimension_id,
            row.concept_id,
            row.end_day,
            row.days,
            row.unit_id,
            fact.page,
            fact.element_id,
        )
        for fact, row in zip(report.facts, fact_rows, strict=True)
        if fact.element_id is not None
    ]


def _build_conflict_rows(report: Report, fact_rows: Sequence[StoredFact]) -> list[StoredConflict]:
    """Return the further values of facts. ``fact_rows`` are in the order of the report's facts."""
    rows = []
    for seq, conflict in enumerate(report.conflicts, 1):
        row = fact_rows[conflict.fact]
        rows.append(
            StoredConflict(
                row.fact_set_id,
                row.dimension_id,
                row.concept_id,
                row.end_day,
                row.days,
                row.unit_id,
                seq,
                conflict.value,
            )
        )
    return rows


def _insert_sections(tx: Transaction, report: Report, report_id: int, ids: _NameIds) -> None:
    section_rows: list[tuple[object, ...]] = []
    line_rows: list[tuple[object, ...]] = []
    column_rows: list[tuple[object, ...]] = []
    sum_rows: list[tuple[object, ...]] = []
    first_id: int = tx.find_value("next_section_id") if report.sections else 0
    for section_seq, section in enumerate(report.sections, 1):
        section_id = first_id + section_seq - 1
        section_rows.append((section_id, report_id, section_seq, section.role_uri, section.definition, section.kind))
        for seq, line in enumerate(section.lines, 1):
            line_rows.append(
                (
                    section_id,
                    seq,
                    ids.concepts[line.concept],
                    ids.label_roles.get(line.label_role or ""),
                    line.depth,
                    line.nature,
                    line.label,
                    line.placement,
                    line.negated,
                    line.balance,
                )
            )
        for seq, column in enumerate(section.columns, 1):
            dimension_id = ids.dimensions[_format_dimensions(column.dims)]
            column_rows.append((section_id, seq, dimension_id, column.context_seq, column.start, column.end))
        for seq, sum_row in enumerate(section.sums, 1):
            sum_rows.append((section_id, ids.concepts[sum_row.total], seq, ids.concepts[sum_row.item], sum_row.weight))
    tx.insert_rows("insert_sections", section_rows)
    tx.insert_rows("insert_lines", line_rows)
    tx.insert_rows("insert_columns", column_rows)
    tx.insert_rows("insert_sums", sum_rows)


@lru_cache(maxsize=4_096)
def _format_dimensions(dims: Dimensions) -> str:
    """Return dimensions as they are stored: a JSON object in the order of the axes."""
    return json.dumps(dict(dims), separators=(",", ":"))
