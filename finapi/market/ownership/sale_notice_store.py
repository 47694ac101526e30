"""Forms 144 on their way into the store, and as they are asked for."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core import stopping
from finapi.core.records import Date, OneOf, Time, Url, build_record
from finapi.edgar import sale_notices
from finapi.edgar.form_families import SALE_NOTICES
from finapi.edgar.sale_notices import FORM_TYPES, SaleNotice
from finapi.market.documents import announcements, filing_rows, filing_store, identification
from finapi.market.documents.families import Family
from finapi.market.documents.identification import Subject
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, PARTY_RANKS, FilingMetadata, Party, is_unfiled
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.documents.packs import build_reader
from finapi.market.insiders.form_positions import filing_day_number
from finapi.market.ownership.schedule_store import compute_filing_id
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row, Transaction

_unpacked: Any = build_reader(SaleNotice)
LAST_DAY = 10**9


# ---- the way in


def upsert(tx: Transaction, notice: SaleNotice, filed: FilingMetadata, now: datetime) -> bool:
    """Store a notice under its filing; False when it is held already and nothing new is told."""
    text = _encoded(notice)
    content = hashlib.sha256(text).digest()
    if filed.filed_at is None:
        filed = replace(filed, filed_at=tx.find_value("filing_times", accession=filed.accession))
    new = True
    for held in tx.list_rows("held_sale_notices", accession=filed.accession, content=content):
        if held["accession"] != filed.accession and not (is_unfiled(filed.accession) or is_unfiled(held["accession"])):
            continue
        if not _gives_way(held, filed, content):
            return False
        filed = replace(filed, filed_at=filed.filed_at or held["filed_at"])
        tx.run("delete_sale_notice", id=held["id"])
        new = is_unfiled(held["accession"])
    _insert(tx, notice, filed, text, now)
    tx.run("bump_data_version")
    if new:
        heartbeats.record_arrival(tx, "filing", now)
    if new and not is_unfiled(filed.accession):
        _announce(tx, filed.accession, now)
    return True


def complete_undated(tx: Transaction, now: datetime) -> int:
    """Complete notices whose filing or day was unknown. Return how many were settled.

    A stop ends it after a document; the rest is still noted as undated.
    """
    settled = 0
    for row in tx.list_rows("undated_sale_notices"):
        if stopping.is_requested():
            break
        notice, accession = _made(row["body"]), row["accession"]
        if is_unfiled(accession):
            accession = identification.find_listed_accession(tx, _subject(notice)) or accession
        filed_at = tx.find_value("filing_times", accession=accession)
        if filed_at is not None:
            filed = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at, primary_document=row["document"])
            settled += upsert(tx, notice, filed, now)
    return settled


def _subject(notice: SaleNotice) -> Subject:
    ciks = [int(one) for one in (notice.issuer_cik, notice.filer_cik) if one]
    return Subject(ciks, notice.form, _first_day(notice) or "", hashlib.sha256(_encoded(notice)).digest())


def _encoded(notice: SaleNotice) -> bytes:
    plain = [getattr(notice, one.name) for one in fields(notice)]
    return json.dumps(plain, default=lambda one: [getattr(one, name.name) for name in fields(one)]).encode()


def _made(body: bytes) -> SaleNotice:
    found: SaleNotice = _unpacked(json.loads(zlib.decompress(body)))
    return found


def _first_day(notice: SaleNotice) -> str | None:
    return min((one.sale_date for one in notice.sales if one.sale_date), default=None)


def _gives_way(held: Row, filed: FilingMetadata, content: bytes) -> bool:
    if held["accession"] != filed.accession:
        return not is_unfiled(filed.accession)
    if held["content"] == content:
        return filed.filed_at is not None and filed.filed_at != held["filed_at"]
    return bool(content > held["content"])


def _insert(tx: Transaction, notice: SaleNotice, filed: FilingMetadata, text: bytes, now: datetime) -> None:
    number, issuer = compute_filing_id(filed.accession), int(notice.issuer_cik)
    filer = int(notice.filer_cik) if notice.filer_cik and notice.filer_cik != notice.issuer_cik else None
    companies.upsert_name(tx, issuer, notice.issuer_name, companies.FROM_FILING_LIST, filed.filed_at or "")
    if not is_unfiled(filed.accession):
        parties = [Party(issuer, PARTY_RANKS["subject"], notice.issuer_name)]
        # The credentials are the seller's, but a broker may have used its own: they give the seller no name.
        parties += [Party(filer, PARTY_RANKS["filed_by"])] if filer else []
        named = filed.primary_document if (filed.primary_document or "").endswith(".xml") else None
        inside = FilingMetadata(filed.accession, DOCUMENT_EVIDENCE, parties, form=notice.form, primary_document=named)
        filing_store.upsert_document(tx, replace(filed, primary_document=None), inside, now)
    tx.run(
        "insert_sale_notice",
        id=number,
        accession=filed.accession,
        content=hashlib.sha256(text).digest(),
        form=notice.form,
        is_amendment=notice.form.endswith("/A"),
        issuer_cik=issuer,
        issuer_name=notice.issuer_name,
        filer_cik=filer,
        seller=notice.seller,
        filed_at=filed.filed_at,
        filed_day=filing_day_number(filed.filed_at),
        sale_date=_first_day(notice),
        document=filed.primary_document,
        body=zlib.compress(text),
    )
    lines = [
        (
            number,
            seq,
            one.title,
            one.broker,
            one.units,
            one.market_value,
            one.units_outstanding,
            one.sale_date,
            one.exchange,
        )
        for seq, one in enumerate(notice.sales, 1)
    ]
    tx.insert_rows("insert_sale_notice_lines", lines)


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    row = tx.find_row("sale_notice_by_accession", accession=accession)
    assert row is not None
    shown = list_by_ids(tx, [row["id"]])[0]
    names = ("ticker", "issuer_cik", "seller_name", "approximate_sale_date", "shares", "aggregate_market_value")
    payload = {name: {**shown}[name] for name in names}
    announcements.announce_contents(
        tx, now, SALE_NOTICES, accession, [announcements.ContentNews(shown, payload, accession)]
    )


def _pack_rows(tx: Transaction) -> Iterator[tuple[SaleNotice, FilingMetadata, None]]:
    for row in tx.list_rows("sale_notices_to_pack"):
        filed = FilingMetadata(
            row["accession"],
            DOCUMENT_EVIDENCE,
            filed_at=row["filed_at"],
            accepted_at=row["accepted_at"],
            primary_document=row["document"],
        )
        yield _made(row["body"]), filed, None


_UNREAD = "it has no document in XML, as before 2023, and is not read"

FAMILY = Family(
    content=SaleNotice,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: sale_notices.parse(documents[0].read(), documents[0].path),
    get_subject=_subject,
    store=upsert,
    describe_stored=lambda notice, filed: None if filed.filed_at else UNDATED_NOTE,
    has_primary_document=True,
    finish_ingest=complete_undated,
    unread_reasons=dict.fromkeys(FORM_TYPES, _UNREAD),
    iter_pack_rows=_pack_rows,
)


# ---- as they are asked for


class SaleLine(TypedDict):
    """Securities of one class that are to be sold by one broker."""

    security_title: str | None
    broker_name: str | None
    shares: Decimal | None
    aggregate_market_value: Decimal | None
    shares_outstanding: Decimal | None
    approximate_sale_date: Date | None
    exchange: str | None


class AcquiredLot(TypedDict):
    """How securities that are to be sold were acquired."""

    security_title: str | None
    acquired_date: Date | None
    nature_of_acquisition: str | None
    acquired_from: str | None
    is_gift: bool | None
    donor_acquired_date: Date | None
    shares: Decimal | None
    payment_date: Date | None
    nature_of_payment: str | None


class SoldBefore(TypedDict):
    """What was sold in the three months before."""

    seller_name: str | None
    security_title: str | None
    sale_date: Date | None
    shares: Decimal | None
    gross_proceeds: Decimal | None


class ProposedSaleNotice(TypedDict):
    """A notice of a proposed sale (Form 144): what its seller means to sell, not what was sold."""

    notice_id: str
    accession_number: str
    form_type: Annotated[str, OneOf(FORM_TYPES)]
    is_amendment: bool
    filed_at: Time | None
    accepted_at: Time | None
    issuer_cik: str
    ticker: str | None
    company_name: str
    seller_name: str
    insider_cik: Annotated[str | None, "Whose credentials filed it: as a rule the seller's."]
    relationships: list[str]
    shares: Annotated[Decimal | None, "Sum of all lines, if they are of one class."]
    aggregate_market_value: Annotated[Decimal | None, "Of all lines, in dollars."]
    percent_of_outstanding: Annotated[Decimal | None, "Of the class, where the lines are of one."]
    approximate_sale_date: Annotated[Date | None, "The first of the lines."]
    is_rule_10b5_1: Annotated[bool, "Whether it names a day on which a plan was adopted."]
    plan_adoption_dates: list[Date]
    sales: list[SaleLine]
    acquisitions: list[AcquiredLot]
    sold_in_past_3_months: list[SoldBefore]
    nothing_sold_in_past_3_months: bool | None
    remarks: str | None
    notice_date: Date | None
    holes: Annotated[dict[str, Literal["several_classes", "not_reported"]], "Why a figure is null, by its name."]
    xml_url: Url | None
    index_url: Url | None


class NoticeFilters(NamedTuple):
    """What narrows a list of notices: a company, whose credentials filed them, filing days by their number."""

    issuer: int | None = None
    filer: int | None = None
    since: int = 0
    until: int = LAST_DAY
    amendment: bool | None = None


def list_notices(
    tx: Transaction, narrow: NoticeFilters, limit: int, offset: int
) -> tuple[list[ProposedSaleNotice], int]:
    """The newest notices, and how many there are."""
    found = "sale_notices_of_issuer" if narrow.issuer is not None else "sale_notices_of_all"
    found = "sale_notices_of_filer" if narrow.filer is not None else found
    values = narrow._asdict()
    ids = [row["id"] for row in tx.list_rows(found, values, limit=limit, offset=offset)]
    return list_by_ids(tx, ids), int(tx.find_value(f"{found}_count", values))


def count_undated(tx: Transaction, narrow: NoticeFilters) -> int:
    """How many notices a window leaves out because their day is not known."""
    return list_notices(tx, narrow._replace(since=0, until=0), 1, 0)[1] if narrow.since else 0


def list_by_ids(tx: Transaction, ids: list[int]) -> list[ProposedSaleNotice]:
    """The notices of these ids in their order."""
    rows = {row["id"]: row for row in tx.list_rows("sale_notices_shown", ids=json.dumps(ids))}
    return [_shown(rows[one]) for one in ids]


def _shown(row: Row) -> ProposedSaleNotice:
    notice = _made(row["body"])
    figures, holes = _sums(notice)
    accession = row["accession_number"]
    folder = f"{filing_rows.ARCHIVES_URL}/{row['cik']}/{accession.replace('-', '')}"
    known = not is_unfiled(accession)
    document = row["document"] if known and (row["document"] or "").endswith(".xml") else None
    return build_record(
        ProposedSaleNotice,
        row,
        **figures,
        notice_id=str(row["id"]),
        issuer_cik=f"{row['cik']:010}",
        insider_cik=None if row["filer_cik"] is None else f"{row['filer_cik']:010}",
        relationships=list(notice.relationships),
        is_rule_10b5_1=bool(notice.plan_adoption_dates),
        plan_adoption_dates=list(notice.plan_adoption_dates),
        sales=[_line(one) for one in notice.sales],
        acquisitions=[_lot(one) for one in notice.lots],
        sold_in_past_3_months=[_sold(one) for one in notice.past_sales],
        nothing_sold_in_past_3_months=notice.reports_no_past_sales,
        remarks=notice.remarks,
        notice_date=notice.notice_date,
        holes=holes,
        xml_url=f"{folder}/{document}" if document else None,
        index_url=f"{folder}/{accession}-index.htm" if known else None,
    )


def _sums(notice: SaleNotice) -> tuple[dict[str, Decimal | None], dict[str, str]]:
    """What the lines of a notice come to, and why a sum is null: shares of different classes are not added."""
    units, values = [one.units for one in notice.sales], [one.market_value for one in notice.sales]
    classes = {" ".join((one.title or "").casefold().split()) for one in notice.sales}
    outstanding = {one.units_outstanding for one in notice.sales}
    holes: dict[str, str] = {}
    shares = _sum(units) if len(classes) == 1 else None
    if shares is None:
        holes["shares"] = "several_classes" if len(classes) > 1 else "not_reported"
    value = _sum(values)
    if value is None:
        holes["aggregate_market_value"] = "not_reported"
    whole = _decimal(next(iter(outstanding))) if len(outstanding) == 1 else None
    percent = None
    if shares is not None and whole:
        percent = round(100 * shares / whole, 4)
    else:
        holes["percent_of_outstanding"] = holes.get("shares", "not_reported")
    sums = {"shares": shares, "aggregate_market_value": value, "percent_of_outstanding": percent}
    return sums, holes


def _sum(texts: list[str | None]) -> Decimal | None:
    known = [Decimal(text) for text in texts if text is not None]
    return sum(known, Decimal(0)) if len(known) == len(texts) else None


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _line(one: sale_notices.ProposedSale) -> SaleLine:
    return {
        "security_title": one.title,
        "broker_name": one.broker,
        "shares": _decimal(one.units),
        "aggregate_market_value": _decimal(one.market_value),
        "shares_outstanding": _decimal(one.units_outstanding),
        "approximate_sale_date": one.sale_date,
        "exchange": one.exchange,
    }


def _lot(one: sale_notices.SaleLot) -> AcquiredLot:
    return {
        "security_title": one.title,
        "acquired_date": one.acquisition_date,
        "nature_of_acquisition": one.acquisition_nature,
        "acquired_from": one.acquired_from,
        "is_gift": one.is_gift,
        "donor_acquired_date": one.donor_acquisition_date,
        "shares": _decimal(one.units),
        "payment_date": one.payment_date,
        "nature_of_payment": one.payment_nature,
    }


def _sold(one: sale_notices.PastSale) -> SoldBefore:
    return {
        "seller_name": one.seller,
        "security_title": one.title,
        "sale_date": one.sale_date,
        "shares": _decimal(one.units),
        "gross_proceeds": _decimal(one.gross_proceeds),
    }
