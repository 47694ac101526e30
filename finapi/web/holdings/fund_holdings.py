"""Managers by their 13F reports, over HTTP: one fund's holdings and history, lists of funds and filings, queries."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, TypedDict

from finapi.core import records
from finapi.core.errors import invalid_param
from finapi.core.json import dumps, iter_chunks
from finapi.core.records import Date, build_record
from finapi.market.holdings import funds, holdings_query, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change
from finapi.market.holdings.funds import ChangeCounts, FundCoverPage, FundFiling, FundHolding, FundQuarter, FundSummary
from finapi.market.holdings.value_doubts import DoubtedCount, MarkedDoubt, OthersPrice
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import CUSIP, MANAGER, OFFSET, Field, Param, limit_param
from finapi.web.http.schema import answer, part, with_windows

MAX_HOLDINGS = 1_000
MAX_FREE_HOLDINGS = 500
MAX_BULK_CIKS = 50
MAX_BULK_HOLDINGS = 200
# Of all funds together: so many take some 50 ms.
MAX_HOLDINGS_OF_ALL = 500
# What each fund has is sorted for its page: of several funds so many are.
MAX_SORTED_HOLDINGS = 20_000
MAX_FUNDS = 5_000


class OffsetPage(TypedDict):
    """The place of a page in its list."""

    total: int
    limit: int
    offset: int
    has_more: bool


def build_offset_page(total: int, limit: int, offset: int) -> OffsetPage:
    """The place of a page in its list."""
    return {"total": total, "limit": limit, "offset": offset, "has_more": offset + limit < total}


# ---- one fund

PERIOD = Param("period", "quarter", help="End of a quarter; the latest by default.", example="2026-03-31")
STATUS = Param(
    "status", default="all", allowed=funds.STATUSES, help="Only positions with this kind of change.", example="new"
)
# Columns of a position that clients sort by, and what sorts so.
POSITION_COLUMNS = (
    ("value_usd", "value"),
    ("market_value", "value"),
    ("pct_of_portfolio", "value"),
    ("name_of_issuer", "name"),
    ("issuer", "name"),
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
        "sort_by", default="value", allowed=funds.SORTS, aliases=POSITION_COLUMNS, help="Sort column.", example="value"
    ),
    SORT_ORDER,
    STATUS,
    Param("q", help="Only positions whose CUSIP, ticker or issuer contains this.", example="apple"),
)


class KnownChanges(TypedDict):
    """Whether the changes of a fund's quarter are known, since when, and why they are not."""

    available: bool
    previous_period: Date
    reason: str | None


FUND = answer(
    fund=funds.Fund,
    period=Date,
    filing=funds.QuarterFiling,
    holdings=list[FundHolding],
    analysis=funds.QuarterChanges | None,
    sector_allocation=list[funds.SectorAllocation] | None,
    meta=part(
        pagination=OffsetPage,
        total_value_usd=int,
        doubted_count=DoubtedCount,
        doubted_value_usd=Annotated[int, "The part of total_value_usd in positions with a value_doubt."],
        doubted_flow=Annotated[int, "What changes of those positions moved, in dollars as filed."],
        changes=KnownChanges,
        counts=ChangeCounts,
    ),
)


def get_fund(call: Call) -> Response:
    """What a fund held at the end of a quarter, and how that changed."""
    params = call.params
    options = funds.WITH_OPTIONS if params["include_options"] else funds.NO_OPTIONS
    with call.app.db.read() as tx:
        held = funds.get_quarter(tx, params["cik"], params["period"])
        status = _known(held, params["status"])
        options = funds.OPTIONS_ONLY if params["options_only"] else options
        by = {"sort": params["sort_by"], "descending": params["sort_order"] == "desc", "search": params["q"]}
        place = {name: params[name] for name in ("limit", "offset")}
        doubted = value_doubts.get_doubts_of_fund(tx, held.cik, held.period)
        rows, total = funds.list_holdings(tx, held, options=options, status=status, doubted=doubted, **by, **place)
        counts = funds.count_changes(tx, held, options)
        analysis = funds.list_changes(tx, held, options, doubted) if params["include_activity"] else None
        allocation = funds.list_sector_allocations(tx, held, doubted) if params["include_analytics"] else None
    page = build_offset_page(total, **place)
    sums = {
        "total_value_usd": held.value,
        **value_doubts.sum_doubts(doubted.values()).build_members("doubted_value_usd"),
    }
    members = {
        "fund": held.fund,
        "period": held.period,
        "filing": held.filing,
        "holdings": rows,
        "analysis": analysis,
        "sector_allocation": allocation,
        "meta": {"pagination": page, **sums, "changes": build_known_changes(held), "counts": counts},
    }
    return call.success_members(members, page)


def _known(held: FundQuarter, status: str) -> str:
    """``status``; INVALID_PARAM for a change when the quarter's changes are not known."""
    if status != "all" and not held.compared:
        message = f"Changes in the quarter ended {held.period} are not known: {held.reason}."
        raise invalid_param("status", message, allowed=["all"])
    return status


def build_known_changes(held: FundQuarter) -> KnownChanges:
    """Whether the changes of a quarter are known."""
    return {"available": held.compared, "previous_period": held.previous, "reason": held.reason}


PERIODS_PARAMS = (MANAGER,)
PERIODS = answer(cik=str, periods=list[Date], latest_period=Date | None, count=int)


def get_periods(call: Call) -> Response:
    """The quarters for which finapi has a fund's holdings."""
    cik = call.params["cik"]
    with call.app.db.read() as tx:
        funds.get_name(tx, cik)
        held = funds.list_periods(tx, cik)
    latest = held[0] if held else None
    return call.success_members({"cik": f"{cik:010}", "periods": held, "latest_period": latest, "count": len(held)}, {})


HISTORY_PARAMS = (MANAGER, CUSIP)


HISTORY = answer(
    cik=str,
    cusip=str,
    ticker=str | None,
    name=str,
    quarters=int,
    split_adjusted=bool,
    splits=list[funds.Split],
    history=list[funds.HistoryQuarter],
)


def get_history(call: Call) -> Response:
    """What a fund held of one security, quarter by quarter."""
    cik, number = call.params["cik"], call.params["cusip"]
    with call.app.db.read() as tx:
        funds.get_name(tx, cik)
        security, splits, rows = funds.get_position_history(tx, cik, number)
    members = {
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


# ---- several funds at once

SIZE = Param(
    "size",
    "integer",
    default=50,
    minimum=1,
    maximum=MAX_BULK_HOLDINGS,
    clamp=True,
    example="50",
    help=f"Holdings of each fund, at most {MAX_BULK_HOLDINGS}, and {MAX_HOLDINGS_OF_ALL:,} of all funds together; "
    f"meta.size says how many, and from goes on behind them. Several funds may have {MAX_SORTED_HOLDINGS:,} together.",
)
BULK_PARAMS = (
    PERIOD,
    Param("detail", default="summary", allowed=("summary", "full"), help="full: include holdings.", example="full"),
    SIZE,
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


BULK = answer(
    period=Date | None,
    detail=str,
    funds=list[BulkFund],
    meta=part(requested_count=int, ok_count=int, no_filing_count=int, unknown_cik_count=int, detail=str, size=int),
)


def get_funds_in_bulk(call: Call) -> Response:
    """Several funds at once, each with its own status; an unknown CIK does not fail the others."""
    ciks, detail = dict.fromkeys(call.body["ciks"]), call.params["detail"]
    size = min(call.params["size"], MAX_HOLDINGS_OF_ALL // len(ciks))
    counts = dict.fromkeys(("ok", "no_filing", "unknown_cik"), 0)
    with call.app.db.read() as tx:
        if detail == "full":
            held = [funds.find_quarter(tx, cik, call.params["period"]) for cik in ciks]
            funds.check_total_holdings([one.positions for one in held if one], MAX_SORTED_HOLDINGS)
        found = (_of_bulk(call, tx, cik, size, counts) for cik in ciks)
        # Position by position: the names of the other managers can make one long.
        shown = ({**one, "holdings": one["holdings"] and iter(one["holdings"])} for one in found)
        told = {"status": "success", "period": call.params["period"], "detail": detail, "funds": shown}
        body = call.join_bounded(iter_chunks(told), lambda bound: SIZE.error(f"makes an answer of more than {bound}"))
    counted = {f"{status}_count": count for status, count in counts.items()}
    meta = {"requested_count": len(ciks), **counted, "detail": detail, "size": size}
    return Response(200, bytes(body[:-1]) + b',"meta":' + dumps(meta), suffix=call.envelope_suffix)


def _of_bulk(call: Call, tx: Transaction, cik: int, size: int, counts: dict[str, int]) -> BulkFund:
    held = funds.find_quarter(tx, cik, call.params["period"])
    name = held.name if held else funds.find_name(tx, cik)
    status: BulkStatus = "ok" if held else "unknown_cik" if name is None else "no_filing"
    counts[status] += 1
    rows, more = None, False
    if held and call.params["detail"] == "full":
        first = call.params["from"]
        rows, total = funds.list_holdings(tx, held, options=funds.WITH_OPTIONS, limit=size, offset=first)
        more = first + len(rows) < total
    return {
        "cik": f"{cik:010}",
        "name": name,
        "status": status,
        "period": held.period if held else None,
        "portfolio_value_usd": held.value if held else None,
        "holdings_count": held.positions if held else None,
        "holdings": rows,
        "has_more": more,
    }


# ---- queries

QUERY = Field(
    "query",
    "text",
    required=True,
    help="field:value, ranges [a TO b], quotes, AND, OR, NOT and brackets. Fields: cik, periodOfReport, formType, "
    "filedAt, accessionNo, holdings.ticker, holdings.cusip; bare words are names.",
    example="cik:1067983 AND period:2026-03-31",
)
PAGE_FIELDS = (
    Field("from", "integer", minimum=0, help="Rows to skip.", example=0),
    Field("size", "integer", minimum=1, maximum=MAX_HOLDINGS, help="Rows, at most.", example=50),
)
HOLDINGS_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field(
        "sort",
        "sort",
        allowed=funds.SORTS,
        aliases=POSITION_COLUMNS,
        example="value",
        help="Sort column, descending unless it says asc.",
    ),
    Field("includeChanges", "boolean", help="Include the changes since the quarter before.", example="true"),
)
COVERS_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field(
        "sort",
        "sort",
        allowed=("filed_date",),
        aliases=(("filedAt", "filed_date"), ("filed_at", "filed_date")),
        help="The newest first, as always.",
        example="filed_date",
    ),
)


class QueriedHolding(TypedDict):
    """A position as the query endpoint names it."""

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


QUERIED_HOLDINGS = answer(
    cik=str,
    period=Date,
    previousPeriod=Date,
    holdings=list[QueriedHolding],
    meta=part(pagination=OffsetPage, changes=KnownChanges),
)


def query_holdings(call: Call) -> Response:
    """The holdings that a query asks for: of one fund at the end of one quarter."""
    body = call.body
    place = {"limit": body.get("size", 50), "offset": body.get("from", 0)}
    sort, descending = body.get("sort", ("value", True))
    by = {"sort": sort, "descending": descending}
    with call.app.db.read() as tx:
        held, wanted = holdings_query.get_matching_quarter(tx, body["query"])
        rows, total = funds.list_holdings(tx, held, options=funds.WITH_OPTIONS, choices=wanted, **by, **place)
    page = build_offset_page(total, **place)
    members = {
        "cik": f"{held.cik:010}",
        "period": held.period,
        "previousPeriod": held.previous,
        "holdings": [_queried(row, body.get("includeChanges", False)) for row in rows],
        "meta": {"pagination": page, "changes": build_known_changes(held)},
    }
    return call.success_members(members, page)


def _queried(row: FundHolding, with_changes: bool) -> QueriedHolding:
    return build_record(
        QueriedHolding,
        row,
        issuer_name=row["name_of_issuer"],
        changeShares=row["change_shares"] if with_changes else None,
        changePercent=row["change_pct"] if with_changes else None,
        status=row["status"] if with_changes else None,
    )


QUERIED_COVERS = answer(
    filings=list[FundCoverPage], meta=part(limit=int, offset=int, has_more=bool, older_not_looked_at=bool)
)


def query_covers(call: Call) -> Response:
    """The cover pages that a query asks for, notices included."""
    limit, offset = call.body.get("size", 50), call.body.get("from", 0)
    if call.body.get("sort", ("", True))[1] is False:
        raise invalid_param("sort", "Ascending order is not supported; results come newest first.", allowed=["desc"])
    with call.app.db.read() as tx:
        found = holdings_query.find_cover_pages(tx, call.body["query"], limit, offset)
    page = {"limit": limit, "offset": offset, "has_more": found.has_more}
    return call.success_members(
        {"filings": found.pages, "meta": {**page, "older_not_looked_at": found.is_truncated}}, page
    )


# ---- lists of funds and filings

_Q = Param("q", help="Words of the manager's name, or a CIK.", example="berkshire")
FUNDS_PARAMS = (
    limit_param(MAX_FUNDS, MAX_FUNDS),
    OFFSET,
    Param("cursor", "cik", help="next_cursor of the previous page.", example="0001067983"),
)
SEARCH_PARAMS = (_Q, limit_param(10, 100), OFFSET)
FILERS_PARAMS = (_Q, limit_param(20, 100), OFFSET)
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


FUNDS = answer(funds=list[FundSummary], count=int, meta=part(has_more=bool, next_cursor=str | None, limit=int))
FUND_SEARCH = answer(results=list[FundSummary], count=int)
FILERS = answer(filers=list[FundSummary], meta=part(total=int, limit=int, has_more=bool))
LATEST = answer(data=list[FundFiling], meta=with_windows(**records.get_members(OffsetPage), since=Date | None))


def list_all_funds(call: Call) -> Response:
    """Every manager in the order of CIKs, so that a cursor never skips or repeats one."""
    limit, after = call.params["limit"], call.params["cursor"]
    with call.app.db.read() as tx:
        rows = funds.list_funds_by_cik(tx, limit + 1, after or 0, call.params["offset"])
    page = rows[:limit]
    more = len(rows) > limit
    meta = {"has_more": more, "next_cursor": page[-1]["cik"] if more else None, "limit": limit}
    return call.success_members({"funds": page, "count": len(page), "meta": meta}, meta)


def search_funds(call: Call) -> Response:
    """Managers by name."""
    with call.app.db.read() as tx:
        rows, total = funds.search_funds(tx, **call.params)
    return call.success_members({"results": rows, "count": len(rows)}, {"total": total})


def search_filers(call: Call) -> Response:
    """Managers by name, with what they hold."""
    limit, offset = call.params["limit"], call.params["offset"]
    with call.app.db.read() as tx:
        rows, total = funds.search_funds(tx, **call.params)
    meta = {"total": total, "limit": limit, "has_more": offset + limit < total}
    return call.success_members({"filers": rows, "meta": meta}, meta)


def list_latest_filings(call: Call) -> Response:
    """The newest 13F filings and what they changed."""
    params = call.params
    place = {name: params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        rows, total = funds.list_latest_filings(tx, params["cik"], params["since"], **place)
        undated = funds.count_undated_filings(tx, params["cik"], params["since"])
    meta = {**build_offset_page(total, **place), **call.build_window_meta(undated)}
    return call.success_members({"data": rows, "meta": meta}, meta)


# ---- how a quarter's reports come in

_OVER = "End of a quarter; the last completed one by default."
STATS_PARAMS = (Param("period", "quarter", help=_OVER, example="2026-03-31"),)
PROGRESS_PARAMS = (Param("quarter", "quarter", help=_OVER, example="2026-03-31"),)


# The progress of a quarter by the names of an older API.
_STATS = {
    "period": "period",
    "deadline": "deadline",
    "deadlineStatus": "deadline_status",
    "totalFundsFiled": "filers",
    "percentOfFundsReported": "pct_reported",
    "previousQuarterFilers": "baseline_filers",
    "totalFilings": "total_filings",
    "totalAUM": "total_aum",
    "lateNoticeFilers": "late_notice_filers",
    "previousPeriod": "baseline_period",
    "previousDeadline": "previous_deadline",
    "lastCompleteQuarterEnd": "last_complete",
    "beforeLastCompleteQuarterEnd": "before_last_complete",
    "nextReportingPeriodStart": "next_reporting_period_start",
    "nextDeadline": "next_deadline",
    "daysUntilNextDeadline": "days_until_next_deadline",
}
_PROGRESS_TYPES = records.get_members(funds.FilingProgress)
STATS = answer(data=part(**{name: _PROGRESS_TYPES.get(member, Date) for name, member in _STATS.items()}))


class ProgressData(funds.FilingProgress):
    """The progress of a quarter, and its metadata as other answers have them."""

    quarter_metadata: funds.QuarterMetadata


PROGRESS = answer(data=ProgressData)


def get_quarter_statistics(call: Call) -> Response:
    """How many funds filed for a quarter, and the days that matter."""
    today = call.now.date()
    last = quarters.get_latest_end(today).isoformat()
    with call.app.db.read() as tx:
        found = funds.compute_filing_progress(tx, call.params["period"] or last, today)
    complete = quarters.get_previous_end(last) if today <= quarters.get_filing_deadline(last) else last
    values = {**found, "last_complete": complete, "before_last_complete": quarters.get_previous_end(complete)}
    return call.success_members({"data": {name: values[member] for name, member in _STATS.items()}}, {})


def get_filing_progress(call: Call) -> Response:
    """How far the reports of a quarter have come in."""
    today = call.now.date()
    period = call.params["quarter"] or quarters.get_latest_end(today).isoformat()
    with call.app.db.read() as tx:
        found = funds.compute_filing_progress(tx, period, today)
        metadata = funds.build_quarter_metadata(tx, period, today)
    return call.success_members({"data": {**found, "quarter_metadata": metadata}}, {})
