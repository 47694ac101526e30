"""Reads 13F documents.

A 13F filing has two documents: a cover page and an information table. :func:`group_filings` pairs them among the
documents of a folder, :func:`read_report` parses them, and ``holdings_store`` stores the report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import identifiers, thirteenf
from finapi.edgar.thirteenf import CoverPage, Holding, Manager
from finapi.market.documents.families import Family
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import HEADER_EVIDENCE, FilingMetadata
from finapi.market.documents.sources import Document
from finapi.market.holdings import cost_basis, holdings_report, holdings_store, industry_flows, value_doubts
from finapi.market.holdings.holdings_report import CALLS, PUTS, HoldingsReport
from finapi.store.db import Row, Transaction

# Kinds of documents (edgar/document_kinds.py).
COVER = "13f-cover"
TABLE = "13f-table"

_OPTION_TYPE_BY_KIND = {CALLS: "Call", PUTS: "Put"}
_NOT_XML = "its holdings are not in XML, as before 2013, and are not read"


def group_filings(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """Yield the documents of each filing. Every document is in exactly one of them.

    A single cover and a single table belong together, because a filing's folder on EDGAR contains just these two. If
    there are several, they are paired by the accession number in their names, or else by their numbers of rows and sums
    of values.
    """
    covers = [document for document in documents if document.kind == COVER]
    tables = [document for document in documents if document.kind == TABLE]
    if len(covers) <= 1 and len(tables) <= 1:
        yield [*covers, *tables]
        return
    for cover in list(covers):
        number = identifiers.find_accession_in_name(cover.name)
        if not number:
            continue
        matches = [table for table in tables if identifiers.find_accession_in_name(table.name) == number]
        if len(matches) == 1:
            covers.remove(cover)
            tables.remove(matches[0])
            yield [cover, matches[0]]
    yield from _match_by_sums(covers, tables)


def _match_by_sums(covers: list[Document], tables: list[Document]) -> Iterator[Sequence[Document]]:
    """Yield the filings whose cover is the only one to state the number of rows and the sum of the table.

    A document that cannot be parsed, or that has no unique match, is yielded alone.
    """
    covers_by_totals: dict[tuple[int | None, int | None], list[Document]] = {}
    for cover in covers:
        try:
            cover_page = thirteenf.parse_cover(cover.read(), cover.path)
        except ParseError:
            yield [cover]
            continue
        covers_by_totals.setdefault((cover_page.entry_total, cover_page.value_total), []).append(cover)
    for table in tables:
        try:
            rows = thirteenf.parse_table(table.read(), table.path)
        except ParseError:
            yield [table]
            continue
        matches = covers_by_totals.get((len(rows), sum(row.value for row in rows)), [])
        yield [matches.pop(), table] if len(matches) == 1 else [table]
    for unmatched_covers in covers_by_totals.values():
        for cover in unmatched_covers:
            yield [cover]


def read_report(documents: Sequence[Document]) -> HoldingsReport:
    """Return the report of a cover and its table. Raise ParseError if they are not a report."""
    cover_paths = [document.path for document in documents if document.kind == COVER]
    if not cover_paths:
        reason = "is the table of a 13F without its cover page, which states the filer and the quarter"
        raise ParseError(documents[0].path, "", reason)
    rows = None
    digests = []
    for document in documents:
        # Blank lines around a document are not part of it. Stripping them makes a separate file equal to the same
        # document in a full submission.
        content = document.read().strip()
        digests.append(hashlib.sha256(content).digest())
        if document.kind == COVER:
            cover = thirteenf.parse_cover(content, document.path)
        else:
            rows = thirteenf.parse_table(content, document.path)
    digest = hashlib.sha256(b"".join(sorted(digests))).digest()
    return holdings_report.build_report(cover, rows, digest, len(documents), cover_paths[0])


def _build_note(report: HoldingsReport, metadata: FilingMetadata) -> str | None:
    """Return a note for the operator about a stored report, or None."""
    notes = []
    cover = report.cover
    if not report.is_complete:
        cover_rows = format_count(cover.entry_total or 0, "row")
        notes.append(
            f"the table has {report.row_count} of the {cover_rows} that its cover says: no change is concluded from it"
        )
    elif cover.value_total is not None and cover.value_total != report.row_value:
        notes.append(f"the rows sum to {report.row_value}, the cover says {cover.value_total}")
    if report.rejected_count:
        placeholder = "with a placeholder for a CUSIP"
        left_out = format_count(report.rejected_count, f"row {placeholder} is", f"rows {placeholder} are")
        notes.append(f"{left_out} left out")
    if metadata.filed_at is None:
        notes.append("the filing date is not known: it counts as the first of its quarter")
    return "; ".join(notes) or None


def _build_claim(report: HoldingsReport) -> FilingClaim:
    return FilingClaim((report.cik,), report.cover.form, report.cover.period, report.sha256)


def _iter_reports_to_pack(tx: Transaction) -> Iterator[tuple[HoldingsReport, FilingMetadata, None]]:
    """Yield every stored 13F report with its filing, ordered by accession number and content."""
    for row in tx.list_rows("holdings_reports_to_pack"):
        metadata = FilingMetadata(
            row["accession"], HEADER_EVIDENCE, filed_at=row["filed_at"] or None, accepted_at=row["accepted_at"]
        )
        holdings = tuple(_build_holding(holding) for holding in tx.list_rows("holdings_to_pack", report_id=row["id"]))
        report = HoldingsReport(
            cover=_build_cover(tx, row),
            rows=holdings,
            sha256=row["sha256"],
            documents=row["documents"],
            rejected_count=row["rejected_count"],
            rejected_value=row["row_value"] - sum(holding.value for holding in holdings),
        )
        yield report, metadata, None


def _build_cover(tx: Transaction, row: Row) -> CoverPage:
    reporting_managers: list[Manager] = []
    included_managers: list[Manager] = []
    for manager_row in tx.list_rows("managers_of_report", report_id=row["id"]):
        manager = Manager(manager_row["number"], manager_row["name"], manager_row["cik"], manager_row["file_number"])
        (included_managers if manager_row["included"] else reporting_managers).append(manager)
    # The other fields of a cover page are columns of the same name.
    fields = {
        name: row[name] for name in CoverPage.__slots__ if name not in ("reporting_managers", "included_managers")
    }
    fields["cik"] = f"{row['cik']:010}"
    fields["confidential_omitted"] = bool(row["confidential_omitted"])
    fields["reporting_managers"] = tuple(reporting_managers)
    fields["included_managers"] = tuple(included_managers)
    return CoverPage(**fields)


def _build_holding(row: Row) -> Holding:
    # The other fields of a holding are columns of the same name.
    columns = dict(row)
    columns["amount_type"] = "PRN" if row["principal"] else "SH"
    columns["put_call"] = _OPTION_TYPE_BY_KIND.get(row["kind"])
    return Holding(**{name: columns[name] for name in Holding._fields})


def _finish_ingest(tx: Transaction, now: datetime) -> int:
    """Recompute what depends on many reports, once after an ingest. Return the number of fund quarters that changed."""
    tx.run_after_commit(cost_basis.recompute_all)
    tx.run_after_commit(value_doubts.recompute_all)
    tx.run_after_commit(industry_flows.recompute_all)
    return holdings_store.recompute_splits(tx, now)


FAMILY = Family(
    content=HoldingsReport,
    group_documents=group_filings,
    read_content=read_report,
    build_claim=_build_claim,
    store=holdings_store.store_report,
    describe_stored=_build_note,
    move_filing=holdings_store.move_reports,
    update_dates=holdings_store.update_filing_days,
    finish_ingest=_finish_ingest,
    unread_reasons=dict.fromkeys(("13F-HR", "13F-HR/A", "13F-CTR", "13F-CTR/A"), _NOT_XML),
    iter_pack_rows=_iter_reports_to_pack,
    arrival_kinds=("13f_batch", "filing"),
)
