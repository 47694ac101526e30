"""Storing N-PORT reports, and their form family (``market/documents/families.py``).

As for Forms 144, the stored rows do not depend on the order in which documents arrive: of two documents under one
accession number, the one with the greater hash is kept.

Of the reports of a fund for one period, the last one filed is *current*: an NPORT-P/A replaces the earlier report. An
amendment without any position does not replace a report with positions while it states net assets, because such a
document is incomplete. The current report of the latest period is the *latest* report of the fund. A period after the
filing day is a typing error, so that such a report is the latest one only if there is no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from finapi.core import stopping
from finapi.core.clock import iso
from finapi.edgar import fund_reports
from finapi.edgar.form_families import FUND_REPORTS
from finapi.edgar.fund_reports import FundReport
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.families import Family
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    PARTY_RANKS,
    FilingMetadata,
    Party,
    compute_filing_id,
    from_pack_row,
    is_unfiled,
)
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.funds import fund_classes, fund_report_doubts, fund_report_lists, fund_report_rows
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row, Transaction

_UNREAD_REASONS = {
    "NPORT-EX": "its portfolio holdings are an exhibit without XML, and are not read",
    "NT NPORT-P": "it announces a late report and contains none",
}


def upsert(tx: Transaction, report: FundReport, metadata: FilingMetadata, now: datetime) -> bool:
    """Store a report under its filing. Return False if it is already stored and nothing about it has changed."""
    content_hash = fund_report_rows.hash_report(report)
    if metadata.filed_at is None:
        metadata = replace(metadata, filed_at=tx.find_value("filing_times", accession=metadata.accession))
    is_news = True
    rows = tx.list_rows("stored_fund_reports", accession=metadata.accession, content=content_hash)
    for row in identification.select_same_filing(rows, metadata.accession):
        if not identification.is_replaced_by(row, metadata, content_hash):
            return False
        metadata = replace(metadata, filed_at=metadata.filed_at or row["filed_at"])
        tx.run("delete_fund_report", id=row["id"])
        _update_flags(tx, row["fund_id"])
        is_news = is_unfiled(row["accession"])
    _insert(tx, report, metadata, content_hash, now)
    _update_flags(tx, build_fund_id(report))
    tx.run("bump_data_version")
    if is_news:
        heartbeats.record_arrival(tx, "filing", now)
    if is_news and not is_unfiled(metadata.accession):
        _announce(tx, report, metadata.accession, now)
    return True


def build_fund_id(report: FundReport) -> str:
    """Return the id of the fund: its series id, or the registrant's CIK with ten digits if it has no series."""
    return report.series_id or report.cik


def complete_undated(tx: Transaction, now: datetime) -> int:
    """Update the reports whose accession number or filing day has become known. Return the number of changed reports.

    If a stop is requested, the remaining reports stay undated until the next call.
    """
    changed = 0
    for row in tx.list_rows("undated_fund_reports"):
        if stopping.is_requested():
            break
        report = _load_report(tx, row)
        metadata = identification.find_completed_metadata(tx, row, _build_claim(report))
        if metadata is not None:
            changed += upsert(tx, report, metadata, now)
    return changed


def _build_claim(report: FundReport) -> FilingClaim:
    """Return the facts by which the filing of a report can be identified."""
    return FilingClaim((int(report.cik),), report.form, report.period, fund_report_rows.hash_report(report))


def _insert(tx: Transaction, report: FundReport, metadata: FilingMetadata, content_hash: bytes, now: datetime) -> None:
    report_id = compute_filing_id(metadata.accession)
    cik = int(report.cik)
    companies.upsert_name(tx, cik, report.registrant_name, companies.FROM_FILING_LIST, metadata.filed_at or "")
    if not is_unfiled(metadata.accession):
        _upsert_filing(tx, report, metadata, now)
    flow = report.flows[-1] if report.flows else None
    tx.run(
        "insert_fund_report",
        id=report_id,
        accession=metadata.accession,
        content=content_hash,
        form=report.form,
        is_amendment=report.is_amendment,
        cik=cik,
        registrant_name=report.registrant_name,
        fund_id=build_fund_id(report),
        series_id=report.series_id,
        series_name=report.series_name,
        period=report.period,
        fiscal_year_end=report.fiscal_year_end,
        is_final=report.is_final_filing,
        filed_at=metadata.filed_at,
        document=metadata.primary_document,
        total_assets=report.total_assets,
        total_liabilities=report.total_liabilities,
        net_assets=report.net_assets,
        sales=flow.sales if flow else None,
        reinvestment=flow.reinvestment if flow else None,
        redemption=flow.redemption if flow else None,
        class_return=report.returns[0].month_3 if report.returns else None,
        position_count=len(report.positions),
        doubts=json.dumps(fund_report_doubts.find_doubts(report, metadata.filed_at)),
        now=iso(now),
        body=fund_report_rows.pack_body(report),
    )
    security_rows = [fund_report_rows.build_security_row(position) for position in report.positions]
    tx.insert_rows("insert_fund_securities", sorted(set(security_rows), key=lambda row: row[0]))
    tx.insert_rows(
        "insert_fund_positions",
        [
            fund_report_rows.build_position_row(report_id, seq, security_row[0], position)
            for seq, (position, security_row) in enumerate(zip(report.positions, security_rows, strict=True), 1)
        ],
    )


def _upsert_filing(tx: Transaction, report: FundReport, metadata: FilingMetadata, now: datetime) -> None:
    """Store the row of the filing itself."""
    document_metadata = FilingMetadata(
        metadata.accession,
        DOCUMENT_EVIDENCE,
        [Party(int(report.cik), PARTY_RANKS["filer"], report.registrant_name)],
        form=report.form,
        period_of_report=report.period,
    )
    filing_store.upsert_filing_of_xml_document(tx, metadata, document_metadata, now)


def _update_flags(tx: Transaction, fund_id: str) -> None:
    """Recompute which reports of a fund are current, and which one is its latest."""
    rows = tx.list_rows("fund_report_flags", fund_id=fund_id)
    current_rows: dict[str, Row] = {}
    for row in rows:
        best = current_rows.get(row["period"])
        if best is None or _rank_report(row) > _rank_report(best):
            current_rows[row["period"]] = row
    current_ids = {row["id"] for row in current_rows.values()}
    latest_row = max(current_rows.values(), key=_rank_period, default=None)
    for row in rows:
        is_current = row["id"] in current_ids
        is_latest = row is latest_row
        if (is_current, is_latest) != (bool(row["is_current"]), bool(row["is_latest"])):
            tx.run("update_fund_report_flags", id=row["id"], is_current=is_current, is_latest=is_latest)


def _rank_report(row: Row) -> tuple[bool, str, str]:
    """Return the rank of a report among those of its fund and period."""
    is_complete = row["position_count"] > 0 or row["net_assets"] is None or Decimal(row["net_assets"]) == 0
    return (is_complete, row["filed_at"] or "", row["accession"])


def _rank_period(row: Row) -> tuple[bool, str]:
    """Return the rank of a current report among those of its fund."""
    is_plausible = row["filed_at"] is None or row["period"] <= row["filed_at"]
    return (is_plausible, row["period"])


def _announce(tx: Transaction, report: FundReport, accession: str, now: datetime) -> None:
    row = fund_report_lists.find_by_accession(tx, accession)
    assert row is not None
    payload = {
        "filer_cik": report.cik,
        "filer_name": report.registrant_name,
        "series_id": report.series_id,
        "series_name": report.series_name,
        "period": report.period,
        "holdings_count": len(report.positions),
        "net_assets": None if report.net_assets is None else Decimal(report.net_assets),
    }
    news = announcements.ContentNews(row, payload, accession)
    announcements.announce_content_news(tx, now, FUND_REPORTS, accession, [news])


def _load_report(tx: Transaction, row: Row) -> FundReport:
    return fund_report_rows.build_report(row["body"], tx.iter_rows("positions_to_pack", report_id=row["id"]))


def _iter_pack_rows(tx: Transaction) -> Iterator[tuple[FundReport, FilingMetadata, None]]:
    """Yield every stored report with its filing."""
    for row in tx.list_rows("fund_reports_to_pack"):
        yield _load_report(tx, row), from_pack_row(row), None


FAMILY = Family(
    content=FundReport,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: fund_reports.parse(documents[0].read(), documents[0].path),
    build_claim=_build_claim,
    store=upsert,
    describe_stored=lambda report, metadata: None if metadata.filed_at else UNDATED_NOTE,
    has_primary_document=True,
    finish_ingest=complete_undated,
    unread_reasons=_UNREAD_REASONS,
    store_header=fund_classes.upsert_header_series,
    iter_pack_rows=_iter_pack_rows,
)
