"""Storing notices of proposed sales (Form 144), and their form family (``market/documents/families.py``).

As for schedules, the stored rows do not depend on the order in which documents arrive: of two documents under one
accession number, the one with the greater hash is kept.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from finapi.core import stopping
from finapi.edgar import sale_notices
from finapi.edgar.form_families import SALE_NOTICES
from finapi.edgar.sale_notices import FORM_TYPES, SaleNotice
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
from finapi.market.insiders.form_positions import compute_filing_day_number
from finapi.market.ownership import sale_notice_lists, stored_documents
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Transaction

_NOT_IN_XML = "it has no document in XML, as before 2023, and is not read"


def upsert(tx: Transaction, notice: SaleNotice, metadata: FilingMetadata, now: datetime) -> bool:
    """Store a notice under its filing. Return False if it is already stored and nothing about it has changed."""
    text = stored_documents.encode(notice)
    content_hash = hashlib.sha256(text).digest()
    if metadata.filed_at is None:
        metadata = replace(metadata, filed_at=tx.find_value("filing_times", accession=metadata.accession))
    is_news = True
    rows = tx.list_rows("stored_sale_notices", accession=metadata.accession, content=content_hash)
    for row in identification.select_same_filing(rows, metadata.accession):
        if not identification.is_replaced_by(row, metadata, content_hash):
            return False
        metadata = replace(metadata, filed_at=metadata.filed_at or row["filed_at"])
        tx.run("delete_sale_notice", id=row["id"])
        is_news = is_unfiled(row["accession"])
    _insert(tx, notice, metadata, text, now)
    tx.run("bump_data_version")
    if is_news:
        heartbeats.record_arrival(tx, "filing", now)
    if is_news and not is_unfiled(metadata.accession):
        _announce(tx, metadata.accession, now)
    return True


def complete_undated(tx: Transaction, now: datetime) -> int:
    """Update the notices whose accession number or filing day has become known. Return the number of changed notices.

    If a stop is requested, the remaining notices stay undated until the next call.
    """
    changed = 0
    for row in tx.list_rows("undated_sale_notices"):
        if stopping.is_requested():
            break
        notice = stored_documents.decode_sale_notice(row["body"])
        metadata = identification.find_completed_metadata(tx, row, _build_claim(notice))
        if metadata is not None:
            changed += upsert(tx, notice, metadata, now)
    return changed


def _build_claim(notice: SaleNotice) -> FilingClaim:
    """Return the facts by which the filing of a notice can be identified."""
    ciks = [int(cik) for cik in (notice.issuer_cik, notice.filer_cik) if cik]
    content_hash = hashlib.sha256(stored_documents.encode(notice)).digest()
    return FilingClaim(ciks, notice.form, _find_first_sale_date(notice) or "", content_hash)


def _find_first_sale_date(notice: SaleNotice) -> str | None:
    return min((sale.sale_date for sale in notice.sales if sale.sale_date), default=None)


def _insert(tx: Transaction, notice: SaleNotice, metadata: FilingMetadata, text: bytes, now: datetime) -> None:
    notice_id = compute_filing_id(metadata.accession)
    issuer_cik = int(notice.issuer_cik)
    filer_cik = int(notice.filer_cik) if notice.filer_cik and notice.filer_cik != notice.issuer_cik else None
    companies.upsert_name(tx, issuer_cik, notice.issuer_name, companies.FROM_FILING_LIST, metadata.filed_at or "")
    if not is_unfiled(metadata.accession):
        _upsert_filing(tx, notice, filer_cik, metadata, now)
    tx.run(
        "insert_sale_notice",
        id=notice_id,
        accession=metadata.accession,
        content=hashlib.sha256(text).digest(),
        form=notice.form,
        is_amendment=notice.form.endswith("/A"),
        issuer_cik=issuer_cik,
        issuer_name=notice.issuer_name,
        filer_cik=filer_cik,
        seller=notice.seller,
        filed_at=metadata.filed_at,
        filed_day=compute_filing_day_number(metadata.filed_at),
        sale_date=_find_first_sale_date(notice),
        document=metadata.primary_document,
        body=zlib.compress(text),
    )
    for seq, sale in enumerate(notice.sales, 1):
        tx.run(
            "insert_sale_notice_line",
            notice_id=notice_id,
            seq=seq,
            title=sale.title,
            broker=sale.broker,
            units=sale.units,
            value=sale.market_value,
            outstanding=sale.units_outstanding,
            date=sale.sale_date,
            exchange=sale.exchange,
        )


def _upsert_filing(
    tx: Transaction, notice: SaleNotice, filer_cik: int | None, metadata: FilingMetadata, now: datetime
) -> None:
    """Store the row of the filing itself."""
    parties = [Party(int(notice.issuer_cik), PARTY_RANKS["subject"], notice.issuer_name)]
    if filer_cik:
        # The filer's name is not stored as the seller's, because a broker may have filed with its own credentials.
        parties.append(Party(filer_cik, PARTY_RANKS["filed_by"]))
    document_metadata = FilingMetadata(metadata.accession, DOCUMENT_EVIDENCE, parties, form=notice.form)
    filing_store.upsert_filing_of_xml_document(tx, metadata, document_metadata, now)


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    row = tx.find_row("sale_notice_by_accession", accession=accession)
    assert row is not None
    notice = sale_notice_lists.list_by_ids(tx, [row["id"]])[0]
    payload = {
        "ticker": notice["ticker"],
        "issuer_cik": notice["issuer_cik"],
        "seller_name": notice["seller_name"],
        "approximate_sale_date": notice["approximate_sale_date"],
        "shares": notice["shares"],
        "aggregate_market_value": notice["aggregate_market_value"],
    }
    news = announcements.ContentNews(notice, payload, accession)
    announcements.announce_content_news(tx, now, SALE_NOTICES, accession, [news])


def _iter_pack_rows(tx: Transaction) -> Iterator[tuple[SaleNotice, FilingMetadata, None]]:
    """Yield every stored notice with its filing."""
    for row in tx.list_rows("sale_notices_to_pack"):
        yield stored_documents.decode_sale_notice(row["body"]), from_pack_row(row), None


FAMILY = Family(
    content=SaleNotice,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: sale_notices.parse(documents[0].read(), documents[0].path),
    build_claim=_build_claim,
    store=upsert,
    describe_stored=lambda notice, metadata: None if metadata.filed_at else UNDATED_NOTE,
    has_primary_document=True,
    finish_ingest=complete_undated,
    unread_reasons=dict.fromkeys(FORM_TYPES, _NOT_IN_XML),
    iter_pack_rows=_iter_pack_rows,
)
