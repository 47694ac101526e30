"""Lists of notices of proposed sales (Form 144).

A notice states which securities its seller intends to sell. Only the Form 4 of an insider shows if they were sold, and
at which price. Notices and trades are therefore never added up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, OneOf, Time, Url, build_record, format_cik, parse_decimal
from finapi.edgar import sale_notices
from finapi.edgar.sale_notices import FORM_TYPES, SaleNotice
from finapi.market.documents import filing_rows
from finapi.market.documents.metadata import is_unfiled
from finapi.market.ownership import stored_documents
from finapi.market.ownership.filing_windows import UNDATED, FilingWindow
from finapi.store.db import Row, Transaction


class SaleLine(TypedDict):
    """Securities of one class that are offered through one broker."""

    security_title: str | None
    broker_name: str | None
    shares: Decimal | None
    aggregate_market_value: Decimal | None
    shares_outstanding: Decimal | None
    approximate_sale_date: Date | None
    exchange: str | None


class AcquiredLot(TypedDict):
    """An acquisition of the securities offered for sale."""

    security_title: str | None
    acquired_date: Date | None
    nature_of_acquisition: str | None
    acquired_from: str | None
    is_gift: bool | None
    donor_acquired_date: Date | None
    shares: Decimal | None
    payment_date: Date | None
    nature_of_payment: str | None


class EarlierSale(TypedDict):
    """A sale in the three months before the notice."""

    seller_name: str | None
    security_title: str | None
    sale_date: Date | None
    shares: Decimal | None
    gross_proceeds: Decimal | None


NullReason = Literal["several_classes", "not_reported"]


class ProposedSaleNotice(TypedDict):
    """A notice of a proposed sale (Form 144)."""

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
    insider_cik: Annotated[str | None, "CIK whose credentials filed the notice: as a rule the seller's."]
    relationships: list[str]
    shares: Annotated[Decimal | None, "Sum of all lines, if they are of one class."]
    aggregate_market_value: Annotated[Decimal | None, "Sum of all lines, in dollars."]
    percent_of_outstanding: Annotated[Decimal | None, "Of the class, if the lines are of one class."]
    approximate_sale_date: Annotated[Date | None, "The earliest of the lines."]
    is_rule_10b5_1: Annotated[bool, "true: the notice states the day on which a trading plan was adopted."]
    plan_adoption_dates: list[Date]
    sales: list[SaleLine]
    acquisitions: list[AcquiredLot]
    sold_in_past_3_months: list[EarlierSale]
    nothing_sold_in_past_3_months: bool | None
    remarks: str | None
    notice_date: Date | None
    holes: Annotated[dict[str, NullReason], "The reason for each figure that is null, by its name."]
    xml_url: Url | None
    index_url: Url | None


class NoticeFilters(NamedTuple):
    """The filters of a list of notices."""

    issuer: int | None = None  # CIK
    filer: int | None = None  # CIK whose credentials filed the notice.
    window: FilingWindow = FilingWindow()
    amendment: bool | None = None


def list_notices(
    tx: Transaction, filters: NoticeFilters, limit: int, offset: int
) -> tuple[list[ProposedSaleNotice], int]:
    """Return a page of notices, newest first, and the number of all."""
    if filters.filer is not None:
        query, count_query = "ids_of_notices_of_filer", "count_of_notices_of_filer"
    elif filters.issuer is not None:
        query, count_query = "ids_of_notices_of_issuer", "count_of_notices_of_issuer"
    else:
        query, count_query = "ids_of_all_notices", "count_of_all_notices"
    parameters = {
        "issuer": filters.issuer,
        "filer": filters.filer,
        "since": filters.window.since,
        "until": filters.window.until,
        "amendment": filters.amendment,
    }
    ids = [row["id"] for row in tx.list_rows(query, parameters, limit=limit, offset=offset)]
    return list_by_ids(tx, ids), int(tx.find_value(count_query, parameters))


def count_undated(tx: Transaction, filters: NoticeFilters) -> int:
    """Return the number of notices that the window leaves out because their filing day is not known."""
    if not filters.window.leaves_out_undated:
        return 0
    _, total = list_notices(tx, filters._replace(window=UNDATED), limit=1, offset=0)
    return total


def list_by_ids(tx: Transaction, ids: Sequence[int]) -> list[ProposedSaleNotice]:
    """Return the notices with these ids, in their order."""
    rows = {row["id"]: row for row in tx.list_rows("sale_notices_by_ids", ids=json.dumps(list(ids)))}
    return [_build_notice(rows[notice_id]) for notice_id in ids]


def _build_notice(row: Row) -> ProposedSaleNotice:
    notice = stored_documents.decode_sale_notice(row["body"])
    accession = row["accession_number"]
    has_accession = not is_unfiled(accession)
    folder = f"{filing_rows.ARCHIVES_URL}/{row['cik']}/{accession.replace('-', '')}"
    has_document = has_accession and row["document"] is not None and row["document"].endswith(".xml")
    totals = _compute_totals(notice)
    return build_record(
        ProposedSaleNotice,
        row,
        notice_id=str(row["id"]),
        issuer_cik=f"{row['cik']:010}",
        insider_cik=format_cik(row["filer_cik"]),
        relationships=list(notice.relationships),
        shares=totals.shares,
        aggregate_market_value=totals.market_value,
        percent_of_outstanding=totals.percent_of_outstanding,
        is_rule_10b5_1=bool(notice.plan_adoption_dates),
        plan_adoption_dates=list(notice.plan_adoption_dates),
        sales=[_build_sale_line(sale) for sale in notice.sales],
        acquisitions=[_build_lot(lot) for lot in notice.lots],
        sold_in_past_3_months=[_build_earlier_sale(sale) for sale in notice.past_sales],
        nothing_sold_in_past_3_months=notice.reports_no_past_sales,
        remarks=notice.remarks,
        notice_date=notice.notice_date,
        holes=totals.null_reasons,
        xml_url=f"{folder}/{row['document']}" if has_document else None,
        index_url=f"{folder}/{accession}-index.htm" if has_accession else None,
    )


class _NoticeTotals(NamedTuple):
    """The sums over the lines of a notice."""

    shares: Decimal | None
    market_value: Decimal | None
    percent_of_outstanding: Decimal | None
    null_reasons: dict[str, NullReason]  # By the name of the figure.


def _compute_totals(notice: SaleNotice) -> _NoticeTotals:
    """Return the sums over the lines. Shares of different classes are not added up."""
    class_titles = {" ".join((sale.title or "").casefold().split()) for sale in notice.sales}
    has_one_class = len(class_titles) == 1
    null_reasons: dict[str, NullReason] = {}
    shares = _sum_complete(sale.units for sale in notice.sales) if has_one_class else None
    if shares is None:
        null_reasons["shares"] = "not_reported" if len(class_titles) <= 1 else "several_classes"
    market_value = _sum_complete(sale.market_value for sale in notice.sales)
    if market_value is None:
        null_reasons["aggregate_market_value"] = "not_reported"
    outstanding_texts = {sale.units_outstanding for sale in notice.sales}
    outstanding = parse_decimal(outstanding_texts.pop()) if len(outstanding_texts) == 1 else None
    percent = None
    if shares is not None and outstanding:
        percent = round(100 * shares / outstanding, 4)
    else:
        null_reasons["percent_of_outstanding"] = null_reasons.get("shares", "not_reported")
    return _NoticeTotals(shares, market_value, percent, null_reasons)


def _sum_complete(numbers: Iterable[str | None]) -> Decimal | None:
    """Return the sum of decimal texts, or None if one is missing."""
    total = Decimal(0)
    for number in numbers:
        if number is None:
            return None
        total += Decimal(number)
    return total


def _build_sale_line(sale: sale_notices.ProposedSale) -> SaleLine:
    return {
        "security_title": sale.title,
        "broker_name": sale.broker,
        "shares": parse_decimal(sale.units),
        "aggregate_market_value": parse_decimal(sale.market_value),
        "shares_outstanding": parse_decimal(sale.units_outstanding),
        "approximate_sale_date": sale.sale_date,
        "exchange": sale.exchange,
    }


def _build_lot(lot: sale_notices.SaleLot) -> AcquiredLot:
    return {
        "security_title": lot.title,
        "acquired_date": lot.acquisition_date,
        "nature_of_acquisition": lot.acquisition_nature,
        "acquired_from": lot.acquired_from,
        "is_gift": lot.is_gift,
        "donor_acquired_date": lot.donor_acquisition_date,
        "shares": parse_decimal(lot.units),
        "payment_date": lot.payment_date,
        "nature_of_payment": lot.payment_nature,
    }


def _build_earlier_sale(sale: sale_notices.PastSale) -> EarlierSale:
    return {
        "seller_name": sale.seller,
        "security_title": sale.title,
        "sale_date": sale.sale_date,
        "shares": parse_decimal(sale.units),
        "gross_proceeds": parse_decimal(sale.gross_proceeds),
    }
