"""Lists of N-PORT reports, one report in full, and the history of a fund's assets."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, Time, build_record, parse_decimal
from finapi.edgar.fund_reports import FORM_TYPES, FundReport, MonthlyFlow
from finapi.market.funds import fund_classes, fund_report_rows
from finapi.market.funds.fund_report_doubts import Doubt
from finapi.store.db import Row, Transaction

# The source of all reports, for the member "source", which existing clients read.
SOURCE: Literal["edgar"] = "edgar"


class FundReportRow(TypedDict):
    """An N-PORT report in a list."""

    accession_number: str
    submission_type: Annotated[str, OneOf(FORM_TYPES)]
    is_amendment: bool
    reg_cik: Annotated[str, "The registrant, which may have many series."]
    reg_name: str
    series_id: Annotated[str | None, "The fund; null for a registrant without series."]
    series_name: str | None
    as_of: Annotated[Date, "The day that the figures are of."]
    rep_pd_end: Annotated[Date | None, "End of the fund's fiscal year."]
    net_assets: Decimal | None
    tot_assets: Decimal | None
    filed_at: Time | None
    source: Literal["edgar"]
    holdings_count: int
    is_current: Annotated[bool, "false: another report of the same fund and day replaces this one."]
    doubts: Annotated[list[Doubt], "Figures of the report that contradict each other."]


class Registrant(TypedDict):
    """The trust or company that filed a report."""

    cik: str
    name: str
    file_number: str | None
    lei: str | None
    street1: str | None
    city: str | None
    state: str | None
    zip: str | None
    phone: str | None


class FundSeries(TypedDict):
    """The fund that a report is about, with the ids of its share classes."""

    series_id: str | None
    series_name: str | None
    series_lei: str | None
    class_id_primary: str | None
    class_ids: list[str]


class ReportPeriod(TypedDict):
    """The days of a report."""

    rep_pd_end: Annotated[Date | None, "End of the fund's fiscal year."]
    as_of: Annotated[Date, "The day that the figures are of."]
    is_final_filing: bool | None


class FundAssets(TypedDict):
    """The assets of a fund in dollars."""

    tot_assets: Decimal | None
    tot_liabs: Decimal | None
    net_assets: Decimal | None


class FundFlow(TypedDict):
    """Dollars of shares sold, dividends reinvested and shares redeemed in a month, as filed."""

    sales: str | None
    reinvestment: str | None
    redemption: str | None


class FundFlows(TypedDict):
    """The flows of three months. The third one ends with the day of the report."""

    mon1Flow: FundFlow
    mon2Flow: FundFlow
    mon3Flow: FundFlow


class ReportSignature(TypedDict):
    """The signature of a report."""

    dateSigned: Date | None
    nameOfApplicant: str | None
    signerName: str | None
    title: str | None


class MonthlyReturns(TypedDict):
    """The total returns of a share class in three months, in per cent. The third ends with the day of the report."""

    class_id: str | None
    return_month_1: Decimal | None
    return_month_2: Decimal | None
    return_month_3: Decimal | None


class FundEntity(TypedDict):
    """A share class of the fund, by the newest submission that lists it."""

    sequence: int
    role: Literal["class"]
    owner_cik: str
    series_id: str
    series_name: str | None
    class_contract_id: str
    class_contract_name: str | None
    class_contract_ticker: str | None


class FundReportDetail(TypedDict):
    """An N-PORT report without its positions."""

    accession_number: str
    submission_type: Annotated[str, OneOf(FORM_TYPES)]
    is_amendment: bool
    registrant: Registrant
    series: FundSeries
    period: ReportPeriod
    assets: FundAssets
    payables: Annotated[dict[str, Decimal], "Amounts payable in dollars, by the names of the form."]
    monthly_flow: FundFlows
    signature: ReportSignature
    monthly_returns: list[MonthlyReturns]
    entities: list[FundEntity]
    holdings_count: int
    source: Literal["edgar"]
    filed_at: Time | None
    parsed_at: Time
    is_current: Annotated[bool, "false: another report of the same fund and day replaces this one."]
    doubts: Annotated[list[Doubt], "Figures of the report that contradict each other."]


class AssetsOfDay(TypedDict):
    """The assets of a fund by its current report for a day."""

    as_of: Date
    series_id: str | None
    series_name: str | None
    reg_cik: str
    net_assets: Decimal | None
    tot_assets: Decimal | None
    tot_liabs: Decimal | None
    accession_number: str
    source: Literal["edgar"]
    doubts: list[Doubt]


class ReportFilters(NamedTuple):
    """The filters of a list of reports. ``fund_ids`` are series ids, or CIKs of registrants without series."""

    fund_ids: Sequence[str] | None = None
    cik: int | None = None
    form: str | None = None


class HistoryPosition(NamedTuple):
    """The position of a row in the history of assets."""

    period: str
    fund_id: str


def list_latest(tx: Transaction, filters: ReportFilters, limit: int, offset: int) -> tuple[list[FundReportRow], int]:
    """Return a page of reports, the last filed first, and the number of all."""
    if filters.fund_ids is not None:
        query, count_query = "ids_of_latest_reports_of_funds", "count_of_reports_of_funds"
    elif filters.cik is not None:
        query, count_query = "ids_of_latest_reports_of_registrant", "count_of_reports_of_registrant"
    else:
        query, count_query = "ids_of_latest_reports", "count_of_reports"
    return _list_page(tx, query, count_query, filters, limit, offset)


def list_for_funds(
    tx: Transaction, fund_ids: Sequence[str], limit: int, offset: int
) -> tuple[list[FundReportRow], int]:
    """Return a page of the reports of funds, the latest day first, and the number of all."""
    query, count_query = "ids_of_reports_of_funds_by_period", "count_of_reports_of_funds"
    return _list_page(tx, query, count_query, ReportFilters(fund_ids=fund_ids), limit, offset)


def _list_page(
    tx: Transaction, query: str, count_query: str, filters: ReportFilters, limit: int, offset: int
) -> tuple[list[FundReportRow], int]:
    parameters = {"funds": json.dumps(filters.fund_ids), "cik": filters.cik, "form": filters.form}
    ids = [row["id"] for row in tx.list_rows(query, parameters, limit=limit, offset=offset)]
    rows = {row["id"]: row for row in tx.list_rows("fund_reports_by_ids", ids=json.dumps(ids))}
    return [_build_row(rows[report_id]) for report_id in ids], int(tx.find_value(count_query, parameters))


def find_by_accession(tx: Transaction, accession: str) -> FundReportRow | None:
    """Return a report, or None."""
    row = tx.find_row("fund_report_by_accession", accession=accession)
    return None if row is None else _build_row(row)


def get_detail(tx: Transaction, accession: str) -> FundReportDetail:
    """Return a report in full. Raise ApiError NOT_FOUND if it is not stored."""
    row = get_row(tx, accession)
    report = fund_report_rows.unpack_body(row["body"])
    return {
        "accession_number": row["accession_number"],
        "submission_type": report.form,
        "is_amendment": report.is_amendment,
        "registrant": {
            "cik": report.cik,
            "name": report.registrant_name,
            "file_number": report.file_number,
            "lei": report.registrant_lei,
            "street1": report.street,
            "city": report.city,
            "state": report.state,
            "zip": report.zip_code,
            "phone": report.phone,
        },
        "series": {
            "series_id": report.series_id,
            "series_name": report.series_name,
            "series_lei": report.series_lei,
            "class_id_primary": report.class_ids[0] if report.class_ids else None,
            "class_ids": list(report.class_ids),
        },
        "period": {
            "rep_pd_end": report.fiscal_year_end,
            "as_of": report.period,
            "is_final_filing": report.is_final_filing,
        },
        "assets": {
            "tot_assets": parse_decimal(report.total_assets),
            "tot_liabs": parse_decimal(report.total_liabilities),
            "net_assets": parse_decimal(report.net_assets),
        },
        "payables": {_to_snake_case(element): Decimal(amount) for element, amount in report.payables},
        "monthly_flow": _build_flows(report.flows),
        "signature": {
            "dateSigned": report.signed_date,
            "nameOfApplicant": report.signing_company,
            "signerName": report.signer,
            "title": report.signer_title,
        },
        "monthly_returns": _build_returns(report),
        "entities": _list_entities(tx, report),
        "holdings_count": row["holdings_count"],
        "source": SOURCE,
        "filed_at": row["filed_at"],
        "parsed_at": row["parsed_at"],
        "is_current": bool(row["is_current"]),
        "doubts": json.loads(row["doubts"]),
    }


def get_row(tx: Transaction, accession: str) -> Row:
    """Return the stored row of a report. Raise ApiError NOT_FOUND if there is none."""
    row = tx.find_row("fund_report_by_accession", accession=accession)
    if row is None:
        raise ApiError("NOT_FOUND", "finapi has no N-PORT report with this accession number.")
    return row


def has_report(tx: Transaction, accession: str) -> bool:
    """Return True if the report of an accession number is stored."""
    return tx.find_row("fund_report_by_accession", accession=accession) is not None


def find_accession_for_funds(tx: Transaction, fund_ids: Sequence[str], month: str | None) -> str | None:
    """Return the accession number of the current report of a month (``2025-12``) or, for None, of the latest report.

    Return None if there is none. If a ticker stands for several funds, the report with the latest day is chosen.
    """
    accession: str | None = tx.find_value("report_of_funds", funds=json.dumps(fund_ids), month=month)
    return accession


def list_assets(
    tx: Transaction, fund_ids: Sequence[str], limit: int, after: HistoryPosition | None
) -> tuple[list[AssetsOfDay], HistoryPosition | None]:
    """Return a page of the assets of funds by day, the latest first, and the position of its last row or None.

    The position is None if the page is the last one.
    """
    rows = tx.list_rows(
        "fund_assets",
        funds=json.dumps(fund_ids),
        after_period=after.period if after else None,
        after_fund=after.fund_id if after else None,
        limit=limit + 1,
    )
    page_rows = rows[:limit]
    assets = [
        build_record(AssetsOfDay, row, source=SOURCE, doubts=json.loads(row["doubts"]), reg_cik=f"{row['cik']:010}")
        for row in page_rows
    ]
    if len(rows) <= limit:
        return assets, None
    return assets, HistoryPosition(page_rows[-1]["as_of"], page_rows[-1]["fund_id"])


def _build_row(row: Row) -> FundReportRow:
    return build_record(
        FundReportRow, row, reg_cik=f"{row['cik']:010}", source=SOURCE, doubts=json.loads(row["doubts"])
    )


def _to_snake_case(element: str) -> str:
    """Return ``amt_pay_one_yr_other`` for ``amtPayOneYrOther``."""
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", element)


def _build_flows(flows: Sequence[MonthlyFlow]) -> FundFlows:
    first, second, third = (
        FundFlow(sales=flow.sales, reinvestment=flow.reinvestment, redemption=flow.redemption) for flow in flows
    )
    return {"mon1Flow": first, "mon2Flow": second, "mon3Flow": third}


def _build_returns(report: FundReport) -> list[MonthlyReturns]:
    return [
        {
            "class_id": returns.class_id,
            "return_month_1": parse_decimal(returns.month_1),
            "return_month_2": parse_decimal(returns.month_2),
            "return_month_3": parse_decimal(returns.month_3),
        }
        for returns in report.returns
    ]


def _list_entities(tx: Transaction, report: FundReport) -> list[FundEntity]:
    if report.series_id is None:
        return []
    return [
        {
            "sequence": sequence,
            "role": "class",
            "owner_cik": f"{fund_class['cik']:010}",
            "series_id": fund_class["series_id"],
            "series_name": fund_class["series_name"],
            "class_contract_id": fund_class["class_id"],
            "class_contract_name": fund_class["name"],
            "class_contract_ticker": fund_class["ticker"],
        }
        for sequence, fund_class in enumerate(fund_classes.list_classes(tx, report.series_id), 1)
    ]
