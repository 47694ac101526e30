"""Handlers for analytics of 13F reports.

They are the costs and gains of a fund's positions, a ranking of funds by return, the rotation of all funds between
kinds of industries, and the securities that both funds and insiders bought.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict

from finapi.core.counts import format_count
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
from finapi.web.holdings.market_flows import COMPARE, QUARTER, get_compared_quarter, get_covered_quarter
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MANAGER, OFFSET, Param, limit_param, round_bound
from finapi.web.http.schema import Answer

MAX_HOLDINGS = 1_000

# ---- costs and gains of a fund's shares

COSTS_PARAMS = (
    MANAGER,
    Param("sort_by", default="market_value", allowed=cost_basis.SORTS, help="Sort column.", example="unrealized_pnl"),
    Param("order", default="desc", allowed=("asc", "desc"), help="Sort direction.", example="asc"),
    limit_param(250, MAX_HOLDINGS),
    OFFSET,
)

_COSTS_DISCLAIMER = (
    "A 13F reports no price paid. The cost of a share is its price at the end of the quarter in which it first "
    "appears, and sales reduce the cost in proportion (average cost). Positions older than the stored reports have no "
    "cost. Options and principal amounts are left out."
)


class HoldingsAnalyticsMeta(TypedDict):
    """The meta of a fund's positions with their costs."""

    sort_by: str
    order: str
    disclaimer: str
    pagination: OffsetPage
    changes: KnownChanges


class HoldingsAnalytics(TypedDict):
    """A fund's latest positions with their costs."""

    cik: str
    period: Date
    holdings_count: int
    summary: HoldingsSummary
    holdings: list[HoldingAnalytics]
    meta: HoldingsAnalyticsMeta


COSTS_SHAPE = Answer[HoldingsAnalytics]


def get_holdings_analytics(call: Call) -> Response:
    """Return a fund's latest positions with their costs, gains and holding periods."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    with call.app.db.read() as tx:
        quarter = funds.get_quarter(tx, params["cik"], None)
        summary, rows, total = cost_basis.build_fund_analytics(
            tx,
            quarter,
            params["sort_by"],
            descending=params["order"] == "desc",
            limit=limit,
            offset=offset,
        )
    page = build_offset_page(total, limit, offset)
    members: HoldingsAnalytics = {
        "cik": f"{quarter.cik:010}",
        "period": quarter.period,
        "holdings_count": total,
        "summary": summary,
        "holdings": rows,
        "meta": {
            "sort_by": params["sort_by"],
            "order": params["order"],
            "disclaimer": _COSTS_DISCLAIMER,
            "pagination": page,
            "changes": build_known_changes(quarter),
        },
    }
    return call.success_members(members, page)


# ---- funds by return

PERFORMANCE_PARAMS = (
    Param("quarter", "quarter", help="End of a quarter; the last one with returns by default.", example="2026-03-31"),
    Param("cik", "cik", help="Only this manager; its rank is still the one among all.", example="1067983"),
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

_RETURNS_DISCLAIMER = (
    "The return of the shares reported at the start of the quarter, as if none were traded during it; options, bonds, "
    "cash, short positions and fees are left out. Positions without prices do not count; price_coverage_pct is the "
    "part of the value that has them."
)


class FundPerformances(TypedDict):
    """The funds of a quarter by their returns."""

    quarter: Date
    begins: Date
    total_funds: int
    eligible_funds: int
    leaderboard: list[FundPerformance]


class PerformanceFilters(TypedDict):
    """The bounds that a fund must reach to be ranked."""

    min_holdings: int
    min_aum: int
    min_price_coverage_pct: int


class PerformanceMeta(TypedDict):
    """The meta of funds by their returns."""

    pagination: OffsetPage
    filters: PerformanceFilters
    disclaimer: str


class PerformanceAnswer(TypedDict):
    """The answer with funds by their returns."""

    data: FundPerformances
    meta: PerformanceMeta


PERFORMANCE_SHAPE = Answer[PerformanceAnswer]


def list_fund_performance(call: Call) -> Response:
    """Return funds by the returns of their shares over a quarter."""
    params = {**call.params, "min_aum": round_bound(call.params["min_aum"], round_up=True)}
    ranks_all = params["include_all"]
    with call.app.db.read() as tx:
        period = _get_period_with_returns(tx, params["quarter"])
        leaderboard = fund_returns.build_leaderboard(tx, period, params)
    page = build_offset_page(leaderboard.matching_funds, params["limit"], params["offset"])
    performances: FundPerformances = {
        "quarter": period,
        "begins": quarters.get_previous_end(period),
        "total_funds": leaderboard.total_funds,
        "eligible_funds": leaderboard.total_funds if ranks_all else leaderboard.eligible_funds,
        "leaderboard": leaderboard.rows,
    }
    meta: PerformanceMeta = {
        "pagination": page,
        "filters": {
            "min_holdings": 0 if ranks_all else params["min_holdings"],
            "min_aum": 0 if ranks_all else params["min_aum"],
            "min_price_coverage_pct": fund_returns.MIN_COVERAGE_PCT,
        },
        "disclaimer": _RETURNS_DISCLAIMER,
    }
    members: PerformanceAnswer = {"data": performances, "meta": meta}
    return call.success_members(members, page)


def _get_period_with_returns(tx: Transaction, period: str | None) -> str:
    """Return the requested quarter, by default the last one with a known return.

    Raise NOT_COVERED if the holdings at the beginning of the quarter, from which returns are computed, are not stored
    for any fund.
    """
    quarter = period or fund_returns.find_latest_quarter(tx)
    if quarter is None or not fund_returns.has_returns_of_quarter(tx, quarter):
        message = "finapi has no complete 13F report for the end of the quarter before this one, where returns begin."
        raise ApiError("NOT_COVERED", message, details={"covered_periods": funds.list_quarters(tx)})
    return quarter


# ---- rotation between kinds of industries

ROTATION_PARAMS = (QUARTER, COMPARE)


class MarketRotation(TypedDict):
    """The rotation of a quarter: two ratios, and the four kinds of industries (buckets) that they compare.

    ``compare`` has the ratios of the quarter to compare with, if one was requested.
    """

    quarter: Date
    value_growth_ratio: Decimal | None
    value_growth_signal: str | None
    cyclical_defensive_ratio: Decimal | None
    cyclical_defensive_signal: str | None
    reason: str | None
    coverage_pct: Decimal | None
    sector_buckets: dict[str, IndustryBucket]
    compare: Rotation | None
    quarter_metadata: funds.QuarterMetadata


class RotationAnswer(TypedDict):
    """The answer with the rotation of a quarter."""

    data: MarketRotation


ROTATION_SHAPE = Answer[RotationAnswer]


def get_market_rotation(call: Call) -> Response:
    """Return whether funds moved to value or growth industries, and to cyclical or defensive ones, in a quarter.

    Each of the two figures is a ratio of ratios: dollars bought to dollars sold in the first kind of industries,
    divided by the same ratio of the second kind. Above 1, funds moved to the first kind.
    """
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, call.params["quarter"])
        rotation, buckets, coverage_pct = signals.compute_rotation(tx, period)
        compared_period = get_compared_quarter(tx, call.params["compare"], period)
        compared_rotation: Rotation | None = None
        if compared_period is not None:
            compared_rotation, _, _ = signals.compute_rotation(tx, compared_period)
        metadata = funds.build_quarter_metadata(tx, period, call.now.date())
    market_rotation: MarketRotation = {
        "quarter": rotation["quarter"],
        "value_growth_ratio": rotation["value_growth_ratio"],
        "value_growth_signal": rotation["value_growth_signal"],
        "cyclical_defensive_ratio": rotation["cyclical_defensive_ratio"],
        "cyclical_defensive_signal": rotation["cyclical_defensive_signal"],
        "reason": rotation["reason"],
        "coverage_pct": coverage_pct,
        "sector_buckets": buckets,
        "compare": compared_rotation,
        "quarter_metadata": metadata,
    }
    members: RotationAnswer = {"data": market_rotation}
    return call.success_members(members, {})


# ---- signals of funds and insiders

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
    Param(
        "window_after",
        "integer",
        default=45,
        minimum=0,
        maximum=180,
        help="Days after the quarter's end.",
        example="45",
    ),
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
        "min_fund_flow",
        "number",
        default=0,
        help="Only securities with a larger inflow from funds, in dollars.",
        example="1000000",
    ),
)


class TimeWindow(TypedDict):
    """The days on which insiders' purchases count."""

    start: Date
    end: Date
    description: str


class CrossSignals(TypedDict):
    """The cross signals of a quarter: the securities that both funds and insiders bought."""

    quarter: Date
    time_window: TimeWindow
    signal_count: int
    signals: list[CrossSignal]
    coverage_note: str
    quarter_metadata: funds.QuarterMetadata


class CrossSignalsMeta(TypedDict):
    """The meta of cross signals."""

    pagination: OffsetPage


class CrossSignalsAnswer(TypedDict):
    """The answer with the securities that both funds and insiders bought in a quarter."""

    data: CrossSignals
    meta: CrossSignalsMeta


SIGNALS_SHAPE = Answer[CrossSignalsAnswer]


def list_cross_signals(call: Call) -> Response:
    """Return the securities that funds bought on balance while insiders bought in the market."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    min_flow = round_bound(params["min_fund_flow"], round_up=False)
    assert min_flow is not None  # The parameter has a default.
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, params["quarter"])
        window = signals.build_purchase_window(period, params["window_before"], params["window_after"])
        found_signals = signals.find_cross_signals(
            tx,
            period,
            window,
            min_buyers=params["min_insider_buyers"],
            min_flow=min_flow,
        )
        metadata = funds.build_quarter_metadata(tx, period, call.now.date())
    page = build_offset_page(len(found_signals.rows), limit, offset)
    description = f"{params['window_before']} days before the quarter's end to {params['window_after']} days after it"
    cross_signals: CrossSignals = {
        "quarter": period,
        "time_window": {"start": window.start, "end": window.end, "description": description},
        "signal_count": len(found_signals.rows),
        "signals": found_signals.rows[offset : offset + limit],
        "coverage_note": _describe_coverage(found_signals),
        "quarter_metadata": metadata,
    }
    members: CrossSignalsAnswer = {"data": cross_signals, "meta": {"pagination": page}}
    return call.success_members(members, page)


def _describe_coverage(found_signals: signals.Signals) -> str:
    """Return a note about the data in which signals were searched for."""
    last_day = found_signals.last_purchase_day
    purchases = "No purchase by an insider is stored."
    if last_day:
        purchases = f"Purchases by insiders are stored up to {last_day}."
    securities = format_count(found_signals.bought_count, "security", "securities")
    return (
        f"Funds bought {securities} on balance; the number of those with a known issuer is "
        f"{found_signals.known_issuer_count:,}. {purchases} Only funds with reports for this quarter and the one "
        "before count."
    )
