"""What is reckoned of 13F reports, over HTTP: a fund's costs and gains, funds by return, rotation, and signals."""

from __future__ import annotations

from decimal import Decimal

from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.holdings import cost_basis, fund_returns, funds, quarters, signals
from finapi.market.holdings.cost_basis import HoldingAnalytics, HoldingsSummary
from finapi.market.holdings.fund_returns import FundPerformance
from finapi.market.holdings.signals import CrossSignal, IndustryBucket, Rotation
from finapi.store.db import Transaction
from finapi.web.holdings.fund_holdings import (
    SORT_ORDER,
    KnownChanges,
    OffsetPage,
    build_known_changes,
    build_offset_page,
)
from finapi.web.holdings.market_flows import COMPARE, QUARTER, get_covered_quarter
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MANAGER, OFFSET, Param, limit_param, round_bound
from finapi.web.http.schema import answer, part

MAX_HOLDINGS = 1_000

# ---- what a fund's shares cost

COSTS_PARAMS = (
    MANAGER,
    Param("sort_by", default="market_value", allowed=cost_basis.SORTS, help="Sort column.", example="unrealized_pnl"),
    Param("order", default="desc", allowed=("asc", "desc"), help="Sort direction.", example="asc"),
    limit_param(250, MAX_HOLDINGS),
    OFFSET,
)
COSTS = answer(
    cik=str,
    period=Date,
    holdings_count=int,
    summary=HoldingsSummary,
    holdings=list[HoldingAnalytics],
    meta=part(sort_by=str, order=str, disclaimer=str, pagination=OffsetPage, changes=KnownChanges),
)
_OF_COSTS = (
    "A 13F reports no price paid: shares are costed at the price of the quarter end in which they first appear, and "
    "sales reduce the cost in proportion (average cost). Positions older than the reports held have no cost. Options "
    "and principal amounts are left out."
)


def get_holdings_analytics(call: Call) -> Response:
    """A fund's latest positions with their cost, their gain and how long they have been held."""
    params = call.params
    place = {name: params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        held = funds.get_quarter(tx, params["cik"], None)
        descending = params["order"] == "desc"
        summary, rows, total = cost_basis.build_fund_analytics(
            tx, held, params["sort_by"], descending=descending, **place
        )
    page = build_offset_page(total, **place)
    meta = {"sort_by": params["sort_by"], "order": params["order"], "disclaimer": _OF_COSTS, "pagination": page}
    members = {
        "cik": f"{held.cik:010}",
        "period": held.period,
        "holdings_count": total,
        "summary": summary,
        "holdings": rows,
        "meta": {**meta, "changes": build_known_changes(held)},
    }
    return call.success_members(members, page)


# ---- funds by return

PERFORMANCE_PARAMS = (
    Param("quarter", "quarter", help="End of a quarter; the last one with returns by default.", example="2026-03-31"),
    Param("cik", "cik", help="Only this manager; its rank is that among all.", example="1067983"),
    Param("q", help="Beginnings of words of the manager's name.", example="berkshire"),
    Param("has_returns", "boolean", default=False, help="Only funds with a return.", example="true"),
    Param(
        "sort_by",
        default="portfolio_return_pct",
        allowed=fund_returns.SORTS,
        help="Sort column.",
        example="portfolio_value",
    ),
    SORT_ORDER,
    limit_param(25, 200),
    OFFSET,
    Param(
        "min_holdings",
        "integer",
        default=10,
        minimum=0,
        maximum=10**6,
        help="Minimum number of positions.",
        example="1",
    ),
    Param("min_aum", "number", default=100_000_000, minimum=0, help="Minimum dollars in shares.", example="0"),
    Param("include_all", "boolean", default=False, help="Ignore min_holdings and min_aum.", example="true"),
)
PERFORMANCE = answer(
    data=part(quarter=Date, begins=Date, total_funds=int, eligible_funds=int, leaderboard=list[FundPerformance]),
    meta=part(
        pagination=OffsetPage, filters=part(min_holdings=int, min_aum=int, min_price_coverage_pct=int), disclaimer=str
    ),
)
_OF_RETURNS = (
    "The return of the shares reported at the start of the quarter, as if none were traded during it; options, bonds, "
    "cash, short positions and fees are left out. Positions without prices do not count; price_coverage_pct is the "
    "part of the value that has them."
)


def list_fund_performance(call: Call) -> Response:
    """Funds by what their shares returned over a quarter."""
    params = {**call.params, "min_aum": round_bound(call.params["min_aum"], round_up=True)}
    with call.app.db.read() as tx:
        period = _returned(tx, params["quarter"])
        found = fund_returns.build_leaderboard(tx, period, params)
    page = build_offset_page(found.matching, params["limit"], params["offset"])
    data = {
        "quarter": period,
        "begins": quarters.get_previous_end(period),
        "total_funds": found.funds,
        "eligible_funds": found.funds if params["include_all"] else found.eligible,
        "leaderboard": found.rows,
    }
    least = {name: 0 if params["include_all"] else params[name] for name in ("min_holdings", "min_aum")}
    filters = {**least, "min_price_coverage_pct": fund_returns.MIN_COVERAGE_PCT}
    return call.success_members(
        {"data": data, "meta": {"pagination": page, "filters": filters, "disclaimer": _OF_RETURNS}}, page
    )


def _returned(tx: Transaction, period: str | None) -> str:
    """The quarter asked for, by default the last with a return; NOT_COVERED when no fund is held at its beginning."""
    found = period or fund_returns.find_latest_quarter(tx)
    if found is None or not fund_returns.has_returns_of_quarter(tx, found):
        message = "finapi has no whole 13F report for the beginning of this quarter."
        raise ApiError("NOT_COVERED", message, details={"covered_periods": funds.list_quarters(tx)})
    return found


# ---- where money moves

ROTATION_PARAMS = (QUARTER, COMPARE)
ROTATION = answer(
    data=part(
        quarter=Date,
        value_growth_ratio=Decimal | None,
        value_growth_signal=str | None,
        cyclical_defensive_ratio=Decimal | None,
        cyclical_defensive_signal=str | None,
        reason=str | None,
        coverage_pct=Decimal | None,
        sector_buckets=dict[str, IndustryBucket],
        compare=Rotation | None,
        quarter_metadata=funds.QuarterMetadata,
    )
)


def get_market_rotation(call: Call) -> Response:
    """Whether funds moved to value or growth, to cyclical or defensive industries."""
    other = call.params["compare"]
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, call.params["quarter"])
        found, buckets, coverage = signals.compute_rotation(tx, period)
        if other is not None:
            other = quarters.get_previous_end(period) if other.startswith("prev") else other
        earlier = None if other is None else signals.compute_rotation(tx, get_covered_quarter(tx, other))[0]
        metadata = funds.build_quarter_metadata(tx, period, call.now.date())
    more = {"coverage_pct": coverage, "sector_buckets": buckets, "compare": earlier, "quarter_metadata": metadata}
    return call.success_members({"data": {**found, **more}}, {})


# ---- funds and insiders

SIGNALS_PARAMS = (
    QUARTER,
    Param(
        "window_before",
        "integer",
        default=30,
        minimum=0,
        maximum=180,
        help="Days before the quarter's end in which insiders' purchases count.",
        example="60",
    ),
    Param("window_after", "integer", default=45, minimum=0, maximum=180, help="Days after it.", example="45"),
    limit_param(50, 500),
    OFFSET,
    Param(
        "min_insider_buyers",
        "integer",
        default=1,
        minimum=1,
        maximum=1_000,
        help="Minimum number of buying insiders.",
        example="2",
    ),
    Param(
        "min_fund_flow", "number", default=0, help="Only above this inflow from funds, in dollars.", example="1000000"
    ),
)
SIGNALS = answer(
    data=part(
        quarter=Date,
        time_window=part(start=Date, end=Date, description=str),
        signal_count=int,
        signals=list[CrossSignal],
        coverage_note=str,
        quarter_metadata=funds.QuarterMetadata,
    ),
    meta=part(pagination=OffsetPage),
)


def list_cross_signals(call: Call) -> Response:
    """The securities that funds bought on balance while insiders bought in the market."""
    params = call.params
    place = {name: params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, params["quarter"])
        within = signals.build_purchase_window(period, params["window_before"], params["window_after"])
        least = {"buyers": params["min_insider_buyers"], "flow": round_bound(params["min_fund_flow"], round_up=False)}
        found = signals.find_cross_signals(tx, period, within, **least)
        metadata = funds.build_quarter_metadata(tx, period, call.now.date())
    page = build_offset_page(len(found.rows), **place)
    described = f"{params['window_before']} days before the quarter's end to {params['window_after']} days after it"
    data = {
        "quarter": period,
        "time_window": {**within._asdict(), "description": described},
        "signal_count": len(found.rows),
        "signals": found.rows[place["offset"] :][: place["limit"]],
        "coverage_note": _coverage(found),
        "quarter_metadata": metadata,
    }
    return call.success_members({"data": data, "meta": {"pagination": page}}, page)


def _coverage(found: signals.Signals) -> str:
    last = f"up to {found.last_day}" if found.last_day else "of no day"
    return (
        f"Of {found.bought:,} securities that funds bought on balance the issuer of {found.named:,} is known. "
        f"Purchases by insiders are held {last}. Only funds with reports for this quarter and the one before count."
    )
