"""Handlers for managers by their 13F reports: a fund's holdings, queries, lists, and a quarter's progress."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from finapi.core.empty_lists import AvailableRows, EmptyList, explain_empty_list
from finapi.core.errors import invalid_param
from finapi.core.json import dumps, iter_chunks
from finapi.core.records import Date, build_record
from finapi.market.holdings import fund_positions, funds, holdings_query, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change
from finapi.market.holdings.funds import (
    ChangeCounts,
    FundCoverPage,
    FundFiling,
    FundHolding,
    FundQuarter,
    FundSummary,
    compute_percent,
)
from finapi.market.holdings.value_doubts import DoubtedCount, MarkedDoubt, OthersPrice
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import CUSIP, MANAGER, OFFSET, Field, Param, limit_param
from finapi.web.http.schema import Answer, WindowMeta

MAX_HOLDINGS = 1_000  # Of a page of a query.
MAX_FREE_HOLDINGS = 500  # Of a page of one fund.
MAX_BULK_CIKS = 50
MAX_BULK_HOLDINGS = 200
# Maximum number of holdings in a bulk response, over all funds. They take about 50 ms.
MAX_BULK_HOLDINGS_OF_ALL_FUNDS = 500
# Maximum total number of holdings of several funds in a bulk call, all of which are sorted for a page.
MAX_BULK_SORTED_HOLDINGS = 20_000
MAX_FUNDS = 5_000


class OffsetPage(TypedDict):
    """The position of a page in its list."""

    total: int
    limit: int
    offset: int
    has_more: bool


def build_offset_page(total: int, limit: int, offset: int) -> OffsetPage:
    """Return the position of a page in a list of ``total`` rows."""
    return {"total": total, "limit": limit, "offset": offset, "has_more": offset + limit < total}


# ---- one fund

PERIOD = Param("period", "quarter", help="End of a quarter; the latest by default.", example="2026-03-31")
STATUS = Param(
    "status", default="all", allowed=funds.STATUSES, help="Only positions with this kind of change.", example="new"
)
# Names of sort columns that clients also use for positions, each with the sort that it means.
POSITION_SORT_ALIASES = (
    ("value_usd", "value"),
    ("market_value", "value"),
    ("pct_of_portfolio", "value"),
    ("percent_portfolio", "value"),
    ("name_of_issuer", "name"),
    ("issuer", "name"),
    ("symbol", "ticker"),
    ("change_shares", "change"),
)
SORT_ORDER = Param("sort_order", default="desc", allowed=("asc", "desc"), help="Sort direction.", example="desc")

FUND_PARAMS = (
    MANAGER,
    PERIOD,
    limit_param(50, MAX_FREE_HOLDINGS),
    OFFSET,
    Param("include_options", "boolean", default=False, help="Include puts and calls.", example="false"),
    Param("options_only", "boolean", default=False, help="Only puts and calls.", example="false"),
    Param("include_analytics", "boolean", default=False, help="Include the value held by sector.", example="true"),
    Param("include_activity", "boolean", default=False, help="Include the quarter's changes.", example="true"),
    Param(
        "sort_by",
        default="value",
        allowed=funds.SORTS,
        aliases=POSITION_SORT_ALIASES,
        help="Sort column.",
        example="value",
    ),
    SORT_ORDER,
    STATUS,
    Param("q", help="Only positions whose CUSIP, ticker or issuer contains this.", example="apple"),
)


class KnownChanges(TypedDict):
    """The availability of a fund's changes in a quarter, which are the differences from the quarter before.

    ``reason`` states why they are not known; it is None if they are.
    """

    available: bool
    previous_period: Date
    reason: str | None


def build_known_changes(quarter: FundQuarter) -> KnownChanges:
    """Return the members that state whether the changes of a quarter are known."""
    return {
        "available": quarter.has_known_changes,
        "previous_period": quarter.previous_period,
        "reason": quarter.reason,
    }


class FundMeta(TypedDict):
    """The meta of a fund's holdings: the page, and sums over all holdings. ``empty`` explains why none is listed."""

    pagination: OffsetPage
    total_value_usd: int
    doubted_count: DoubtedCount
    doubted_value_usd: Annotated[int, "The part of total_value_usd that is in positions with a value_doubt."]
    doubted_flow: Annotated[int, "Dollars bought less dollars sold in the quarter of those positions, as filed."]
    changes: KnownChanges
    counts: ChangeCounts
    empty: NotRequired[EmptyList]


class FundAnswer(TypedDict):
    """A fund's holdings at the end of a quarter."""

    fund: funds.Fund
    period: Date
    filing: funds.QuarterFiling
    holdings: list[FundHolding]
    analysis: funds.QuarterChanges | None
    sector_allocation: list[funds.SectorAllocation] | None
    meta: FundMeta


FUND_SHAPE = Answer[FundAnswer]


def get_fund(call: Call) -> Response:
    """Return a fund's holdings at the end of a quarter, and their changes."""
    params = call.params
    options = _get_options(call)
    limit = params["limit"]
    offset = params["offset"]
    with call.app.db.read() as tx:
        funds.check_past_state(tx, params["cik"], params["as_of"], params["period"])
        quarter = funds.get_quarter(tx, params["cik"], params["period"])
        _check_status(quarter, params["status"])
        doubts = value_doubts.get_doubts_of_fund(tx, quarter.cik, quarter.period)
        rows, total = funds.list_holdings(
            tx,
            quarter,
            options=options,
            status=params["status"],
            search=params["q"],
            doubts=doubts,
            sort=params["sort_by"],
            descending=params["sort_order"] == "desc",
            limit=limit,
            offset=offset,
        )
        counts = funds.count_changes(tx, quarter, options)
        changes = funds.list_changes(tx, quarter, options, doubts) if params["include_activity"] else None
        allocations = funds.list_sector_allocations(tx, quarter, doubts) if params["include_analytics"] else None
    page = build_offset_page(total, limit, offset)
    doubt_sum = value_doubts.sum_doubts(doubts.values())
    members: FundAnswer = {
        "fund": quarter.fund,
        "period": quarter.period,
        "filing": quarter.filing,
        "holdings": rows,
        "analysis": changes,
        "sector_allocation": allocations,
        "meta": {
            "pagination": page,
            "total_value_usd": quarter.value,
            "doubted_count": doubt_sum.count,
            "doubted_value_usd": doubt_sum.value,
            "doubted_flow": doubt_sum.flow,
            "changes": build_known_changes(quarter),
            "counts": counts,
        },
    }
    if not rows:
        empty = _explain_no_positions(quarter, counts, is_later_page=offset > 0)
        members["meta"]["empty"] = empty
        return call.success_members(members, {**page, "empty": empty})
    return call.success_members(members, page)


def _explain_no_positions(quarter: FundQuarter, counts: ChangeCounts, *, is_later_page: bool) -> EmptyList:
    """Return the reason why no position of a fund is listed, and the number of its positions by their change."""
    available: list[AvailableRows] = []
    for status in fund_positions.CHANGES:
        count = counts.get(status)
        if isinstance(count, int) and count > 0:
            available.append(
                {"param": "status", "value": status, "row_count": count, "first_day": None, "last_day": None}
            )
    reason = f"None of the {quarter.positions:,} positions at {quarter.period} matches the query."
    if is_later_page:
        reason = explain_empty_list("position", None, is_later_page=True)["reason"]
    return {"reason": reason, "available": available}


def _get_options(call: Call) -> str:
    """Return the kinds of positions that a call requests."""
    if call.params["options_only"]:
        return funds.OPTIONS_ONLY
    return funds.WITH_OPTIONS if call.params["include_options"] else funds.NO_OPTIONS


def _check_status(quarter: FundQuarter, status: str) -> None:
    """Raise INVALID_PARAM if ``status`` is a change and the quarter's changes are unknown."""
    if status != "all" and not quarter.has_known_changes:
        message = f"Changes in the quarter ended {quarter.period} are not known: {quarter.reason}."
        raise invalid_param("status", message, allowed=["all"])


PERIODS_PARAMS = (MANAGER,)


class FundPeriods(TypedDict):
    """The quarters for which finapi has a fund's holdings, the newest first."""

    cik: str
    periods: list[Date]
    latest_period: Date | None
    count: int


PERIODS_SHAPE = Answer[FundPeriods]


def get_periods(call: Call) -> Response:
    """Return the quarters for which finapi has a fund's holdings."""
    cik = call.params["cik"]
    with call.app.db.read() as tx:
        funds.get_name(tx, cik)
        funds.check_past_state(tx, cik, call.params["as_of"])
        periods = funds.list_periods(tx, cik)
    members: FundPeriods = {
        "cik": f"{cik:010}",
        "periods": periods,
        "latest_period": periods[0] if periods else None,
        "count": len(periods),
    }
    return call.success_members(members, {})


HISTORY_PARAMS = (MANAGER, CUSIP)


class PositionHistory(TypedDict):
    """A fund's positions in one security, the newest quarter first."""

    cik: str
    cusip: str
    ticker: str | None
    name: str
    quarters: int
    split_adjusted: bool
    splits: list[funds.Split]
    history: list[funds.HistoryQuarter]


HISTORY_SHAPE = Answer[PositionHistory]


def get_history(call: Call) -> Response:
    """Return a fund's positions in one security, quarter by quarter."""
    cik = call.params["cik"]
    number = call.params["cusip"]
    with call.app.db.read() as tx:
        funds.get_name(tx, cik)
        funds.check_past_state(tx, cik, call.params["as_of"])
        security, splits, rows = funds.get_position_history(tx, cik, number)
    members: PositionHistory = {
        "cik": f"{cik:010}",
        "cusip": number,
        "ticker": security["ticker"],
        "name": security["issuer"],
        "quarters": len(rows),
        "split_adjusted": bool(splits),
        "splits": splits,
        "history": rows,
    }
    return call.success_members(members, {})


# ---- several funds in one call

BULK_SIZE = Param(
    "size",
    "integer",
    default=50,
    minimum=1,
    maximum=MAX_BULK_HOLDINGS,
    clamp=True,
    example="50",
    help=f"Maximum number of holdings of each fund, at most {MAX_BULK_HOLDINGS}. It is reduced so that all funds "
    f"together have at most {MAX_BULK_HOLDINGS_OF_ALL_FUNDS:,}; meta.size is the number that applied. from skips "
    f"holdings of each fund. Refused if several funds have more than {MAX_BULK_SORTED_HOLDINGS:,} together.",
)
BULK_PARAMS = (
    PERIOD,
    Param("detail", default="summary", allowed=("summary", "full"), help="full: include holdings.", example="full"),
    BULK_SIZE,
    Param("from", "integer", default=0, minimum=0, help="Holdings to skip.", example="0"),
)
BULK_BODY = (
    Field(
        "ciks",
        "words",
        word_kind="cik",
        required=True,
        minimum=1,
        maximum=MAX_BULK_CIKS,
        help=f"At most {MAX_BULK_CIKS} CIKs.",
        example=["1067983", "1061768"],
    ),
)


BulkStatus = Literal["ok", "no_filing", "unknown_cik"]


class BulkFund(TypedDict):
    """One of several funds, with its own status."""

    cik: str
    name: str | None
    status: BulkStatus
    period: Date | None
    portfolio_value_usd: int | None
    holdings_count: int | None
    holdings: list[FundHolding] | None
    has_more: bool


class BulkFundsMeta(TypedDict):
    """The number of funds with each status."""

    requested_count: int
    ok_count: int
    no_filing_count: int
    unknown_cik_count: int
    detail: str
    size: int


class BulkFunds(TypedDict):
    """Several funds, each with its own status."""

    period: Date | None
    detail: str
    funds: list[BulkFund]
    meta: BulkFundsMeta


BULK_SHAPE = Answer[BulkFunds]


def get_funds_in_bulk(call: Call) -> Response:
    """Return several funds, each with its own status. An unknown CIK does not fail the others.

    The body is written in chunks and limited, because it may become large. The meta follows the funds, because their
    statuses are only known after all funds are written.
    """
    ciks = dict.fromkeys(call.body["ciks"])
    detail = call.params["detail"]
    size = min(call.params["size"], MAX_BULK_HOLDINGS_OF_ALL_FUNDS // len(ciks))
    count_by_status: dict[BulkStatus, int] = {"ok": 0, "no_filing": 0, "unknown_cik": 0}

    def iter_funds(tx: Transaction) -> Iterator[dict[str, Any]]:
        for cik in ciks:
            fund = _build_bulk_fund(call, tx, cik, size)
            count_by_status[fund["status"]] += 1
            # The holdings are an iterator, which is written element by element, so that the limit of the body also
            # applies within a fund: the names of other managers can make a position long.
            yield {**fund, "holdings": fund["holdings"] and iter(fund["holdings"])}

    with call.app.db.read() as tx:
        if detail == "full":
            fund_quarters = [funds.find_quarter(tx, cik, call.params["period"]) for cik in ciks]
            counts = [quarter.positions for quarter in fund_quarters if quarter]
            funds.check_total_holdings(counts, MAX_BULK_SORTED_HOLDINGS)
        members = {"status": "success", "period": call.params["period"], "detail": detail, "funds": iter_funds(tx)}
        body = call.join_bounded(
            iter_chunks(members), lambda bound: BULK_SIZE.error(f"makes an answer of more than {bound}")
        )
    meta: BulkFundsMeta = {
        "requested_count": len(ciks),
        "ok_count": count_by_status["ok"],
        "no_filing_count": count_by_status["no_filing"],
        "unknown_cik_count": count_by_status["unknown_cik"],
        "detail": detail,
        "size": size,
    }
    return Response(200, bytes(body[:-1]) + b',"meta":' + dumps(meta), suffix=call.envelope_suffix)


def _build_bulk_fund(call: Call, tx: Transaction, cik: int, size: int) -> BulkFund:
    quarter = funds.find_quarter(tx, cik, call.params["period"])
    if quarter is None:
        name = funds.find_name(tx, cik)
        return {
            "cik": f"{cik:010}",
            "name": name,
            "status": "unknown_cik" if name is None else "no_filing",
            "period": None,
            "portfolio_value_usd": None,
            "holdings_count": None,
            "holdings": None,
            "has_more": False,
        }
    rows = None
    has_more = False
    if call.params["detail"] == "full":
        offset = call.params["from"]
        rows, total = funds.list_holdings(tx, quarter, options=funds.WITH_OPTIONS, limit=size, offset=offset)
        has_more = offset + len(rows) < total
    return {
        "cik": f"{cik:010}",
        "name": quarter.name,
        "status": "ok",
        "period": quarter.period,
        "portfolio_value_usd": quarter.value,
        "holdings_count": quarter.positions,
        "holdings": rows,
        "has_more": has_more,
    }


# ---- queries

QUERY = Field(
    "query",
    "text",
    required=True,
    help="field:value, ranges [a TO b], quotes, AND, OR, NOT and brackets. Fields: cik, periodOfReport, formType, "
    "filedAt, accessionNo, holdings.ticker, holdings.cusip; bare words are issuers' names. A query that does not name "
    "one fund is about all funds, in the latest quarter or that of period.",
    example="cik:1067983 AND period:2026-03-31",
)
PAGE_FIELDS = (
    Field("from", "integer", minimum=0, help="Rows to skip.", example=0),
    Field("size", "integer", minimum=1, maximum=MAX_HOLDINGS, help="Maximum number of rows.", example=50),
)
HOLDINGS_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field(
        "sort",
        "sort",
        allowed=funds.SORTS,
        aliases=POSITION_SORT_ALIASES,
        example="value",
        help="Sort column, descending unless followed by asc.",
    ),
    Field("includeChanges", "boolean", help="Include the changes since the quarter before.", example="true"),
)
COVER_PAGES_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field(
        "sort",
        "sort",
        allowed=("filed_date",),
        aliases=(("filedAt", "filed_date"), ("filed_at", "filed_date")),
        help="Always the newest first.",
        example="filed_date",
    ),
)


class QueriedHolding(TypedDict):
    """A position, with the field names of the query endpoint."""

    cusip: str
    ticker: str | None
    issuer_name: str
    title_of_class: str
    put_call: Literal["Put", "Call"] | None
    shares: int
    value_usd: int
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    changeShares: int | None
    changePercent: Decimal | None
    status: Change | None
    value_unit_rule: str
    cik: str
    fund_name: str


class QueriedHoldingsMeta(TypedDict):
    """The meta of queried holdings."""

    pagination: OffsetPage
    changes: Annotated[KnownChanges | None, "Null if the query does not name one fund."]
    funds_without_holdings: Annotated[list[str], "The CIKs of the query whose funds have no holdings in the quarter."]


class QueriedHoldings(TypedDict):
    """The holdings of one quarter that match a query."""

    cik: Annotated[str | None, "The fund that the query names; null if it names several or none."]
    period: Date
    previousPeriod: Date
    holdings: list[QueriedHolding]
    meta: QueriedHoldingsMeta


QUERIED_HOLDINGS_SHAPE = Answer[QueriedHoldings]


def query_holdings(call: Call) -> Response:
    """Return the holdings that match a query, at the end of one quarter: of the fund that it names, or of all funds."""
    body = call.body
    limit = body.get("size", 50)
    offset = body.get("from", 0)
    sort, descending = body.get("sort", ("value", True))
    with call.app.db.read() as tx:
        matching_quarter = holdings_query.find_matching_quarter(tx, body["query"])
        if matching_quarter is None:
            return _answer_position_search(call, tx, sort, descending, limit, offset)
        quarter, choices = matching_quarter
        rows, total = funds.list_holdings(
            tx,
            quarter,
            options=funds.WITH_OPTIONS,
            choices=choices,
            sort=sort,
            descending=descending,
            limit=limit,
            offset=offset,
        )
    page = build_offset_page(total, limit, offset)
    members: QueriedHoldings = {
        "cik": f"{quarter.cik:010}",
        "period": quarter.period,
        "previousPeriod": quarter.previous_period,
        "holdings": [_build_queried_holding(quarter, row, body.get("includeChanges", False)) for row in rows],
        "meta": {"pagination": page, "changes": build_known_changes(quarter), "funds_without_holdings": []},
    }
    return call.success_members(members, page)


def _answer_position_search(
    call: Call, tx: Transaction, sort: str, descending: bool, limit: int, offset: int
) -> Response:
    """Return the positions of all funds that match a query, at the end of one quarter."""
    with_changes = call.body.get("includeChanges", False)
    page_of_positions = holdings_query.search_positions(
        tx, call.body["query"], sort=sort, descending=descending, limit=limit, offset=offset
    )
    holdings = []
    for row in page_of_positions.rows:
        doubt = page_of_positions.doubts.get((int(row["cik"]), row["security_id"])) if row["in_shares"] else None
        holdings.append(
            build_record(
                QueriedHolding,
                row,
                **value_doubts.build_doubt_members(doubt),
                changeShares=row["change_shares"] if with_changes else None,
                changePercent=compute_percent(row["change_shares"], row["previous_shares"]) if with_changes else None,
                status=fund_positions.find_change_name(row["status"]) if with_changes else None,
            )
        )
    page = build_offset_page(page_of_positions.total, limit, offset)
    members: QueriedHoldings = {
        "cik": None,
        "period": page_of_positions.period,
        "previousPeriod": quarters.get_previous_end(page_of_positions.period),
        "holdings": holdings,
        "meta": {
            "pagination": page,
            "changes": None,
            "funds_without_holdings": [f"{cik:010}" for cik in page_of_positions.absent_ciks],
        },
    }
    return call.success_members(members, page)


def _build_queried_holding(quarter: FundQuarter, row: FundHolding, with_changes: bool) -> QueriedHolding:
    return build_record(
        QueriedHolding,
        row,
        cik=f"{quarter.cik:010}",
        fund_name=quarter.name,
        issuer_name=row["name_of_issuer"],
        changeShares=row["change_shares"] if with_changes else None,
        changePercent=row["change_pct"] if with_changes else None,
        status=row["status"] if with_changes else None,
    )


class CoverPagesPagination(TypedDict):
    """The position of a page of cover pages in its list."""

    limit: int
    offset: int
    has_more: bool


class QueriedCoverPagesMeta(CoverPagesPagination):
    """The meta of queried cover pages. ``older_not_looked_at`` is true if the search ended before the oldest ones."""

    older_not_looked_at: bool


class QueriedCoverPages(TypedDict):
    """The cover pages of 13F filings that match a query."""

    filings: list[FundCoverPage]
    meta: QueriedCoverPagesMeta


QUERIED_COVER_PAGES_SHAPE = Answer[QueriedCoverPages]


def query_cover_pages(call: Call) -> Response:
    """Return the cover pages of 13F filings that match a query, including those of notices without holdings."""
    limit = call.body.get("size", 50)
    offset = call.body.get("from", 0)
    _, descending = call.body.get("sort", ("filed_date", True))
    if descending is False:
        raise invalid_param("sort", "Ascending order is not supported; results come newest first.", allowed=["desc"])
    with call.app.db.read() as tx:
        cover_pages = holdings_query.find_cover_pages(tx, call.body["query"], limit, offset)
    page: CoverPagesPagination = {"limit": limit, "offset": offset, "has_more": cover_pages.has_more}
    members: QueriedCoverPages = {
        "filings": cover_pages.pages,
        "meta": {**page, "older_not_looked_at": cover_pages.is_truncated},
    }
    return call.success_members(members, page)


# ---- lists of funds and filings

_NAME = Param("q", help="Words of the manager's name, or a CIK.", example="berkshire")
FUNDS_PARAMS = (
    limit_param(MAX_FUNDS, MAX_FUNDS),
    OFFSET,
    Param("cursor", "cik", help="next_cursor of the previous page.", example="0001067983"),
)
SEARCH_PARAMS = (_NAME, limit_param(10, 100), OFFSET)
FILERS_PARAMS = (_NAME, limit_param(20, 100), OFFSET)
LATEST_PARAMS = (
    limit_param(20, 1_000),
    OFFSET,
    Param("cik", "cik", empty_is_default=True, help="Only filings of this manager.", example="1067983"),
    Param(
        "since",
        "date",
        is_window=True,
        empty_is_default=True,
        help="Only filings of this day or later.",
        example="2025-11-01",
    ),
)


class FundListMeta(TypedDict):
    """The meta of the list of all managers."""

    has_more: bool
    next_cursor: str | None
    limit: int


class FundList(TypedDict):
    """Managers in the order of their CIKs."""

    funds: list[FundSummary]
    count: int
    meta: FundListMeta


class FundSearch(TypedDict):
    """Managers that match a search by name. ``empty`` explains why there are none."""

    results: list[FundSummary]
    count: int
    empty: NotRequired[EmptyList]


class FilersMeta(TypedDict):
    """The meta of a search for filers. ``empty`` explains why there are none."""

    total: int
    limit: int
    has_more: bool
    empty: NotRequired[EmptyList]


class FilerSearch(TypedDict):
    """A page of the managers that match a search by name."""

    filers: list[FundSummary]
    meta: FilersMeta


class LatestFilingsPage(OffsetPage):
    """The position of a page of the newest filings, and the first day of their window."""

    since: Date | None


class LatestFilingsMeta(LatestFilingsPage, WindowMeta):
    """The meta of the newest filings. ``empty`` explains why there are none."""

    empty: NotRequired[EmptyList]


class LatestFilings(TypedDict):
    """The newest 13F filings."""

    data: list[FundFiling]
    meta: LatestFilingsMeta


FUNDS_SHAPE = Answer[FundList]
FUND_SEARCH_SHAPE = Answer[FundSearch]
FILERS_SHAPE = Answer[FilerSearch]
LATEST_SHAPE = Answer[LatestFilings]


def list_all_funds(call: Call) -> Response:
    """Return managers ordered by CIK, so that paging by cursor never skips or repeats one."""
    limit = call.params["limit"]
    after = call.params["cursor"] or 0
    with call.app.db.read() as tx:
        rows = funds.list_funds_by_cik(tx, limit + 1, after, call.params["offset"])
    page = rows[:limit]
    has_more = len(rows) > limit
    meta: FundListMeta = {
        "has_more": has_more,
        "next_cursor": page[-1]["cik"] if has_more else None,
        "limit": limit,
    }
    members: FundList = {"funds": page, "count": len(page), "meta": meta}
    return call.success_members(members, meta)


def search_funds(call: Call) -> Response:
    """Return managers whose names match a search."""
    with call.app.db.read() as tx:
        rows, total = funds.search_funds(tx, **call.params)
    members: FundSearch = {"results": rows, "count": len(rows)}
    if not rows:
        members["empty"] = _explain_no_managers(call)
        return call.success_members(members, {"total": total, "empty": members["empty"]})
    return call.success_members(members, {"total": total})


def search_filers(call: Call) -> Response:
    """Return a page of the managers whose names match a search, with totals."""
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        rows, total = funds.search_funds(tx, **call.params)
    meta: FilersMeta = {"total": total, "limit": limit, "has_more": call.params["offset"] + limit < total}
    if not rows:
        meta["empty"] = _explain_no_managers(call)
    members: FilerSearch = {"filers": rows, "meta": meta}
    return call.success_members(members, meta)


def _explain_no_managers(call: Call) -> EmptyList:
    return explain_empty_list("manager with a 13F report", None, is_later_page=call.params["offset"] > 0)


def list_latest_filings(call: Call) -> Response:
    """Return the newest 13F filings and their changes."""
    cik = call.params["cik"]
    since = call.params["since"]
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        rows, total = funds.list_latest_filings(tx, cik, since, limit, offset)
        undated_count = funds.count_undated_filings(tx, cik, since)
    window = call.build_window_meta(undated_count)
    page = build_offset_page(total, limit, offset)
    meta: LatestFilingsMeta = {
        "total": page["total"],
        "limit": page["limit"],
        "offset": page["offset"],
        "has_more": page["has_more"],
        "since": window["since"],
        "undated_left_out": window["undated_left_out"],
        "clamped": window["clamped"],
    }
    if not rows:
        meta["empty"] = explain_empty_list("13F report", None, is_later_page=offset > 0)
    members: LatestFilings = {"data": rows, "meta": meta}
    return call.success_members(members, meta)


# ---- the progress of a quarter

_QUARTER_HELP = "End of a quarter; the last completed one by default."
STATS_PARAMS = (Param("period", "quarter", help=_QUARTER_HELP, example="2026-03-31"),)
PROGRESS_PARAMS = (Param("quarter", "quarter", help=_QUARTER_HELP, example="2026-03-31"),)


class QuarterStatistics(TypedDict):
    """How many managers have filed for a quarter, and its deadlines, with the field names of an older API."""

    period: Date
    deadline: Date
    deadlineStatus: Literal["open", "passed"]
    totalFundsFiled: int
    percentOfFundsReported: Decimal | None
    previousQuarterFilers: int
    totalFilings: int
    totalAUM: int | None
    lateNoticeFilers: int
    previousPeriod: Date
    previousDeadline: Date
    lastCompleteQuarterEnd: Date
    beforeLastCompleteQuarterEnd: Date
    nextReportingPeriodStart: Date
    nextDeadline: Date
    daysUntilNextDeadline: int


class QuarterStatisticsAnswer(TypedDict):
    """The answer with the statistics of a quarter."""

    data: QuarterStatistics


class ProgressData(funds.FilingProgress):
    """The progress of a quarter: how many managers have filed. ``quarter_metadata`` is the same as in other answers."""

    quarter_metadata: funds.QuarterMetadata


class ProgressAnswer(TypedDict):
    """The answer with the progress of a quarter."""

    data: ProgressData


STATS_SHAPE = Answer[QuarterStatisticsAnswer]
PROGRESS_SHAPE = Answer[ProgressAnswer]


def get_quarter_statistics(call: Call) -> Response:
    """Return the number of funds that filed for a quarter, and its deadlines."""
    today = call.now.date()
    last_ended = quarters.get_latest_end(today).isoformat()
    with call.app.db.read() as tx:
        progress = funds.compute_filing_progress(tx, call.params["period"] or last_ended, today)
    last_complete = last_ended
    if today <= quarters.get_filing_deadline(last_ended):
        last_complete = quarters.get_previous_end(last_ended)
    statistics: QuarterStatistics = {
        "period": progress["period"],
        "deadline": progress["deadline"],
        "deadlineStatus": progress["deadline_status"],
        "totalFundsFiled": progress["filers"],
        "percentOfFundsReported": progress["pct_reported"],
        "previousQuarterFilers": progress["baseline_filers"],
        "totalFilings": progress["total_filings"],
        "totalAUM": progress["total_aum"],
        "lateNoticeFilers": progress["late_notice_filers"],
        "previousPeriod": progress["baseline_period"],
        "previousDeadline": progress["previous_deadline"],
        "lastCompleteQuarterEnd": last_complete,
        "beforeLastCompleteQuarterEnd": quarters.get_previous_end(last_complete),
        "nextReportingPeriodStart": progress["next_reporting_period_start"],
        "nextDeadline": progress["next_deadline"],
        "daysUntilNextDeadline": progress["days_until_next_deadline"],
    }
    members: QuarterStatisticsAnswer = {"data": statistics}
    return call.success_members(members, {})


def get_filing_progress(call: Call) -> Response:
    """Return the number of reports filed for a quarter."""
    today = call.now.date()
    period = call.params["quarter"] or quarters.get_latest_end(today).isoformat()
    with call.app.db.read() as tx:
        progress = funds.compute_filing_progress(tx, period, today)
        metadata = funds.build_quarter_metadata(tx, period, today)
    members: ProgressAnswer = {"data": {**progress, "quarter_metadata": metadata}}
    return call.success_members(members, {})
