"""Handlers for mutual funds and ETFs by their N-PORT reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Object
from finapi.edgar.fund_reports import FORM_TYPES
from finapi.market.funds import fund_classes, fund_report_lists, fund_screen, portfolio, portfolio_changes
from finapi.market.funds.fund_classes import FundMatch, FundSource
from finapi.market.funds.fund_report_lists import (
    AssetsOfDay,
    FundReportDetail,
    FundReportRow,
    HistoryPosition,
    ReportFilters,
)
from finapi.market.funds.fund_screen import FigureBounds, FundScope, ScreenedFund
from finapi.market.funds.portfolio import FundHolder, HoldingFilters, PortfolioHolding
from finapi.market.funds.portfolio_changes import ChangeTotals, PortfolioChange
from finapi.store.db import Transaction
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION, OFFSET, Field, Param, cursor_param, limit_param, path_param
from finapi.web.http.schema import Envelope

MAX_ROWS = 1_000
DEFAULT_LIMIT = 100


def _build_period_param(help: str) -> Param:
    return Param("period", pattern="[0-9]{4}-(0[1-9]|1[0-2])(-[0-9]{2})?", help=help, example="2024-12")


_SERIES_PATTERN = "[Ss][0-9]{9}|[0-9]{1,10}"
_SERIES_HELP = "Series id (S and nine digits), or the CIK of a registrant without series."
_LIMIT = limit_param(DEFAULT_LIMIT, MAX_ROWS)
_ACCESSION = path_param("accession", "any_accession", help=ACCESSION.help, example="0009200001-25-000001")
_FUND_TICKER = path_param("ticker", "ticker", help="Ticker of a share class, or CIK.", example="LNTN")

LATEST_PARAMS = (
    Param("cik", "cik", help="Only this registrant.", example="0009200001"),
    Param("series_id", pattern=_SERIES_PATTERN, help=f"Only this fund: {_SERIES_HELP}", example="S000900001"),
    Param("ticker", "ticker", help="Only the fund with this ticker.", example="LNTN"),
    Param("form_type", allowed=FORM_TYPES, help="Only original reports, or only amendments.", example="NPORT-P"),
    _LIMIT,
    OFFSET,
)
SERIES_PARAMS = (
    Param(
        "series_id",
        location="path",
        required=True,
        pattern=_SERIES_PATTERN,
        help=_SERIES_HELP,
        example="S000900001",
    ),
    _LIMIT,
    OFFSET,
)
TICKER_PARAMS = (_FUND_TICKER, _LIMIT, OFFSET)
DETAIL_PARAMS = (_ACCESSION,)
_HOLDING_FILTERS = (
    Param("cusip", "cusip", help="Only positions with this CUSIP.", example="037833100"),
    Param("isin", pattern="[A-Za-z]{2}[0-9A-Za-z]{9}[0-9]", help="Only this ISIN.", example="US0378331005"),
    Param("asset_cat", pattern="[A-Za-z-]{1,10}", help="Only this asset category, such as EC or DBT.", example="EC"),
    Param("derivative_cat", pattern="[A-Za-z]{3}", help="Only this category of derivatives.", example="FUT"),
    Param("min_pct", "number", help="At least this per cent of the net assets.", example="1"),
    Param(
        "sort_by", default="value", allowed=portfolio.SORTS, help="Largest value first, or as filed.", example="value"
    ),
    _LIMIT,
    OFFSET,
)
HOLDINGS_PARAMS = (_ACCESSION, *_HOLDING_FILTERS)
FUND_HOLDINGS_PARAMS = (
    _FUND_TICKER,
    _build_period_param("Month of the report; by default the latest report."),
    *_HOLDING_FILTERS,
)
CHANGES_PARAMS = (
    _ACCESSION,
    Param(
        "previous",
        "any_accession",
        help="Report to compare with; by default the fund's report before it.",
        example="0009200001-24-000009",
    ),
    Param(
        "status", default="all", allowed=("all", *portfolio_changes.STATUSES), help="Only these changes.", example="new"
    ),
    _LIMIT,
    OFFSET,
)
AUM_PARAMS = (_FUND_TICKER, _LIMIT, cursor_param("2025-12-31_S000900001", "[0-9]{4}-[0-9]{2}-[0-9]{2}_[S0-9]{10}"))
HOLDERS_PARAMS = (
    path_param("cusip", "cusip_or_isin", help="CUSIP with its check digit, or ISIN.", example="037833100"),
    _build_period_param("Month of the reports; by default the latest report of each fund."),
    _LIMIT,
    OFFSET,
)
_BOUNDS = (("gt", "greater than", -100), ("lt", "less than", 1_000_000))
SCREEN_BODY = (
    *(
        Field(f"{figure}_{side}", "number", nullable=True, help=f"{figure} {comparison} this.", example=example)
        for figure in fund_screen.FIGURES
        for side, comparison, example in _BOUNDS
    ),
    Field("cik", "word", help="Only this registrant.", example="0009200001"),
    Field("series_id", nullable=True, pattern=_SERIES_PATTERN, help="Only this series.", example="S000900001"),
    Field("limit", "integer", minimum=1, maximum=MAX_ROWS, clamp=True, help="Maximum number of rows.", example=100),
    Field("offset", "integer", minimum=0, help="Rows to skip.", example=0),
)


class ReportsMeta(TypedDict):
    """The page of a list of reports."""

    pagination: OffsetPage


class FundSeriesMeta(TypedDict):
    """The fund and the page of its reports."""

    series_id: str
    pagination: OffsetPage


class FundMatchRecord(TypedDict):
    """A fund that a ticker stands for: a share class of a series, or a registrant without series."""

    class_id: str | None
    series_id: str | None
    reg_cik: str
    source: FundSource


class FundResolution(TypedDict):
    """The funds that a ticker stands for."""

    ticker: str
    matches: list[FundMatchRecord]


class ResolvedMeta(TypedDict):
    """The funds that a ticker stands for, and the page of their reports."""

    resolution: FundResolution
    pagination: OffsetPage


class PortfolioMeta(TypedDict):
    """The report and the page of its positions."""

    accession_number: str
    as_of: Date
    pagination: OffsetPage


class PortfolioChangesMeta(TypedDict):
    """The two reports that are compared, and the numbers of changes by kind."""

    accession_number: str
    as_of: Date
    previous_accession_number: str
    previous_as_of: Date
    counts: ChangeTotals
    pagination: OffsetPage


class AssetsPage(TypedDict):
    """The position of a page in the history of assets."""

    limit: int
    has_more: bool
    next_cursor: str | None


class AssetsMeta(TypedDict):
    """The page of the history of assets, and the funds that the ticker stands for."""

    pagination: AssetsPage
    resolution: FundResolution


class HoldersMeta(TypedDict):
    """The security, the month of the reports (null: the latest of each fund), and the page of its holders."""

    cusip: str
    period: str | None
    pagination: OffsetPage


class AppliedFigureBounds(TypedDict):
    """The bounds of a figure in a screen, both exclusive."""

    gt: Decimal | None
    lt: Decimal | None


class FundScreenNote(TypedDict):
    """The kind of rows that a screen returns, and the filters that it applied."""

    grain: Literal["latest_report_per_fund"]
    filters_applied: dict[str, AppliedFigureBounds]


class FundScreenMeta(TypedDict):
    """The filters and the page of a screen of funds."""

    screen: FundScreenNote
    pagination: OffsetPage


LATEST_SHAPE = Envelope[list[FundReportRow], ReportsMeta]
SERIES_SHAPE = Envelope[list[FundReportRow], FundSeriesMeta]
TICKER_SHAPE = Envelope[list[FundReportRow], ResolvedMeta]
DETAIL_SHAPE = Envelope[FundReportDetail, Object]
HOLDINGS_SHAPE = Envelope[list[PortfolioHolding], PortfolioMeta]
CHANGES_SHAPE = Envelope[list[PortfolioChange], PortfolioChangesMeta]
AUM_SHAPE = Envelope[list[AssetsOfDay], AssetsMeta]
HOLDERS_SHAPE = Envelope[list[FundHolder], HoldersMeta]
SCREEN_SHAPE = Envelope[list[ScreenedFund], FundScreenMeta]


def list_latest_reports(call: Call) -> Response:
    """Return a page of reports, the last filed first."""
    params = call.params
    with call.app.db.read() as tx:
        filters = ReportFilters(
            _select_funds(tx, params["ticker"], params["series_id"]), params["cik"], params["form_type"]
        )
        rows, total = fund_report_lists.list_latest(tx, filters, params["limit"], params["offset"])
    meta: ReportsMeta = {"pagination": build_offset_page(total, params["limit"], params["offset"])}
    return call.success_rows(rows, meta)


def list_series_reports(call: Call) -> Response:
    """Return a page of a fund's reports, the latest day first."""
    params = call.params
    fund_id = _normalise_fund_id(params["series_id"])
    with call.app.db.read() as tx:
        rows, total = fund_report_lists.list_for_funds(tx, [fund_id], params["limit"], params["offset"])
    meta: FundSeriesMeta = {
        "series_id": fund_id,
        "pagination": build_offset_page(total, params["limit"], params["offset"]),
    }
    return call.success_rows(rows, meta)


def list_ticker_reports(call: Call) -> Response:
    """Return a page of the reports of the fund with a ticker, the latest day first."""
    params = call.params
    with call.app.db.read() as tx:
        matches = fund_classes.resolve_ticker(tx, params["ticker"])
        rows, total = fund_report_lists.list_for_funds(tx, _list_fund_ids(matches), params["limit"], params["offset"])
    meta: ResolvedMeta = {
        "resolution": _build_resolution(params["ticker"], matches),
        "pagination": build_offset_page(total, params["limit"], params["offset"]),
    }
    return call.success_rows(rows, meta)


def get_report(call: Call) -> Response:
    """Return a report without its positions. Raise ApiError NOT_FOUND if it is not stored."""
    with call.app.db.read() as tx:
        detail = fund_report_lists.get_detail(tx, call.params["accession"])
    return call.success(detail, {})


def list_holdings(call: Call) -> Response:
    """Return a page of the positions of a report. Raise ApiError NOT_FOUND if it is not stored."""
    with call.app.db.read() as tx:
        return _list_holdings(tx, call, call.params["accession"])


def list_fund_holdings(call: Call) -> Response:
    """Return a page of the positions of the fund with a ticker, by its latest report or by that of a month.

    Raise ApiError NOT_FOUND if there is no such report.
    """
    month = call.params["period"] and call.params["period"][:7]
    with call.app.db.read() as tx:
        matches = fund_classes.resolve_ticker(tx, call.params["ticker"])
        accession = fund_report_lists.find_accession_for_funds(tx, _list_fund_ids(matches), month)
        if accession is None:
            period = "" if month is None else f" for {month}"
            raise ApiError("NOT_FOUND", f"finapi has no N-PORT report of this fund{period}.")
        return _list_holdings(tx, call, accession)


def _list_holdings(tx: Transaction, call: Call, accession: str) -> Response:
    params = call.params
    filters = HoldingFilters(
        cusip=params["cusip"],
        isin=params["isin"] and params["isin"].upper(),
        asset_category=params["asset_cat"] and params["asset_cat"].upper(),
        derivative_category=params["derivative_cat"] and params["derivative_cat"].upper(),
        min_percent=params["min_pct"],
    )
    report = fund_report_lists.get_row(tx, accession)
    rows, total = portfolio.list_holdings(tx, report, filters, params["sort_by"], params["limit"], params["offset"])
    meta: PortfolioMeta = {
        "accession_number": report["accession_number"],
        "as_of": report["as_of"],
        "pagination": build_offset_page(total, params["limit"], params["offset"]),
    }
    return call.success_rows(rows, meta)


def list_changes(call: Call) -> Response:
    """Return a page of the changes of a fund's positions between a report and an earlier one.

    Raise ApiError NOT_FOUND if a report is not stored or there is no earlier one.
    """
    params = call.params
    status = None if params["status"] == "all" else params["status"]
    with call.app.db.read() as tx:
        reports = portfolio_changes.find_reports(tx, params["accession"], params["previous"])
        page = portfolio_changes.list_changes(tx, reports, status, params["limit"], params["offset"])
    assert reports.previous is not None
    meta: PortfolioChangesMeta = {
        "accession_number": reports.report["accession_number"],
        "as_of": reports.report["as_of"],
        "previous_accession_number": reports.previous["accession_number"],
        "previous_as_of": reports.previous["as_of"],
        "counts": page.counts,
        "pagination": build_offset_page(page.total, params["limit"], params["offset"]),
    }
    return call.success_rows(page.rows, meta)


def list_assets(call: Call) -> Response:
    """Return a page of the assets of the fund with a ticker, one row for each day, the latest first."""
    params = call.params
    after = None
    if params["cursor"]:
        period, _, fund_id = params["cursor"].partition("_")
        after = HistoryPosition(period, fund_id)
    with call.app.db.read() as tx:
        matches = fund_classes.resolve_ticker(tx, params["ticker"])
        rows, last = fund_report_lists.list_assets(tx, _list_fund_ids(matches), params["limit"], after)
    meta: AssetsMeta = {
        "pagination": {
            "limit": params["limit"],
            "has_more": last is not None,
            "next_cursor": None if last is None else f"{last.period}_{last.fund_id}",
        },
        "resolution": _build_resolution(params["ticker"], matches),
    }
    return call.success_rows(rows, meta)


def list_holders(call: Call) -> Response:
    """Return a page of the funds that hold a security, the largest position first."""
    params = call.params
    security = portfolio.identify_security(params["cusip"])
    month = params["period"] and params["period"][:7]
    with call.app.db.read() as tx:
        rows, total = portfolio.list_holders(tx, security, month, params["limit"], params["offset"])
    meta: HoldersMeta = {
        "cusip": params["cusip"],
        "period": month,
        "pagination": build_offset_page(total, params["limit"], params["offset"]),
    }
    return call.success_rows(rows, meta)


def screen_funds(call: Call) -> Response:
    """Return a page of the funds whose latest reports match the bounds, the largest first."""
    body = call.body
    limit = body.get("limit", DEFAULT_LIMIT)
    offset = body.get("offset", 0)
    bounds = {}
    for figure in fund_screen.FIGURES:
        figure_bounds = FigureBounds(body.get(f"{figure}_gt"), body.get(f"{figure}_lt"))
        if figure_bounds != FigureBounds(None, None):
            bounds[figure] = figure_bounds
    series_id = body.get("series_id")
    scope = FundScope(_parse_ciks(body.get("cik")), None if series_id is None else [series_id.upper()])
    with call.app.db.read() as tx:
        rows, total = fund_screen.list_matches(tx, bounds, scope, limit, offset)
    meta: FundScreenMeta = {
        "screen": {
            "grain": fund_screen.GRAIN,
            "filters_applied": {figure: {"gt": bound.above, "lt": bound.below} for figure, bound in bounds.items()},
        },
        "pagination": build_offset_page(total, limit, offset),
    }
    return call.success_rows(rows, meta)


def _select_funds(tx: Transaction, ticker: str | None, series_id: str | None) -> list[str] | None:
    """Return the ids of the funds that both parameters select, or None if neither is given."""
    fund_ids: list[str] | None = None
    if ticker is not None:
        fund_ids = _list_fund_ids(fund_classes.resolve_ticker(tx, ticker))
    if series_id is not None:
        fund_id = _normalise_fund_id(series_id)
        fund_ids = [fund_id] if fund_ids is None or fund_id in fund_ids else []
    return fund_ids


def _normalise_fund_id(text: str) -> str:
    """Return a series id in upper case, or a CIK with ten digits."""
    return text.zfill(10) if text.isdigit() else text.upper()


def _list_fund_ids(matches: Sequence[FundMatch]) -> list[str]:
    return list(dict.fromkeys(match.fund_id for match in matches))


def _build_resolution(ticker: str, matches: Sequence[FundMatch]) -> FundResolution:
    return {
        "ticker": ticker,
        "matches": [
            {
                "class_id": match.class_id,
                "series_id": match.series_id,
                "reg_cik": f"{match.cik:010}",
                "source": match.source,
            }
            for match in matches
        ],
    }


def _parse_ciks(cik: Any) -> list[int] | None:
    """Return the member ``cik`` of a body (text or number) as a list with one CIK, or None if it is missing."""
    if cik is None:
        return None
    text = str(cik)
    if re.fullmatch("[0-9]{1,10}", text) is None:
        raise invalid_param("cik", "cik must be a CIK: a number of at most ten digits.", expected="0009200001")
    return [int(text)]
