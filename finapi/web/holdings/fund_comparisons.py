"""Handlers that compare funds: the largest moves of a quarter, the overlap of two funds, and baskets of funds."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.records import Date, Time
from finapi.market.holdings import fund_baskets, fund_moves, funds, quarters
from finapi.market.holdings.fund_baskets import BasketFund, BasketPosition
from finapi.market.holdings.fund_moves import FundMove, SharedPosition
from finapi.market.holdings.funds import FundQuarter
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedValue
from finapi.web.holdings.fund_holdings import (
    SORT_ORDER,
    KnownChanges,
    OffsetPage,
    build_known_changes,
    build_offset_page,
)
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import Answer

# Maximum number of funds in a basket.
MAX_BASKET_FUNDS = 50

# ---- the largest moves

MOVES_PARAMS = (
    Param("period", "quarter", help="End of a quarter; by default the latest one with holdings.", example="2026-03-31"),
    Param("status", default="new", allowed=fund_moves.MOVE_STATUSES, help="Kind of change.", example="closed"),
    Param("cik", "cik", help="Only this manager.", example="0001067983"),
    limit_param(50, 500),
    OFFSET,
)


class MovesPagination(TypedDict):
    """The position of a page of moves in its list."""

    limit: int
    offset: int
    has_more: bool


class MovesMeta(MovesPagination):
    """The meta of the largest moves."""

    compared_funds: Annotated[int, "Funds whose changes in the quarter are known; only their moves are listed."]
    changes: KnownChanges | None


class LargestMoves(TypedDict):
    """The largest changes of positions that funds made in a quarter."""

    period: Date
    moves: list[FundMove]
    meta: MovesMeta


MOVES_SHAPE = Answer[LargestMoves]


def list_largest_moves(call: Call) -> Response:
    """Return the positions that funds opened, changed or closed in a quarter, the largest changes in dollars first."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    fund = None
    with call.app.db.read() as tx:
        if params["cik"] is not None:
            fund = funds.get_quarter(tx, params["cik"], params["period"])
            period: str | None = fund.period
        else:
            period = params["period"] or fund_moves.find_latest_quarter(tx)
        if period is None:
            raise ApiError("NOT_FOUND", "finapi has no 13F report.")
        rows = fund_moves.list_largest_moves(tx, period, params["status"], fund, limit, offset)
        if fund is not None:
            compared_count = int(fund.has_known_changes)
        else:
            compared_count = fund_moves.count_compared_funds(tx, period)
    page: MovesPagination = {"limit": limit, "offset": offset, "has_more": len(rows) > limit}
    members: LargestMoves = {
        "period": period,
        "moves": rows[:limit],
        "meta": {
            **page,
            "compared_funds": compared_count,
            "changes": build_known_changes(fund) if fund is not None else None,
        },
    }
    return call.success_members(members, page)


# ---- the overlap of two funds

OVERLAP_PARAMS = (
    Param(
        "ciks",
        "words",
        word_kind="cik",
        required=True,
        minimum=2,
        maximum=2,
        help="The CIKs of two managers.",
        example="1067983,1894188",
    ),
    Param(
        "period",
        "quarter",
        help="End of a quarter; by default the latest that both reported, else the latest of each.",
        example="2026-03-31",
    ),
    limit_param(50, 500),
    OFFSET,
)


class OverlappingFund(TypedDict):
    """One of two funds, and the part of its portfolio that the other one also holds."""

    cik: str
    name: str
    period: Date
    value_usd: int
    shared_value_usd: int
    shared_pct: Decimal | None


class OverlapMeta(TypedDict):
    """The meta of the positions that two funds share."""

    pagination: OffsetPage


class FundOverlap(TypedDict):
    """The positions that two funds share at the end of a quarter."""

    overlap_pct: Decimal | None
    funds: list[OverlappingFund]
    positions: list[SharedPosition]
    meta: OverlapMeta


OVERLAP_SHAPE = Answer[FundOverlap]


def get_overlap(call: Call) -> Response:
    """Return the positions that two funds share at the end of a quarter."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    first_cik, second_cik = call.params["ciks"]
    with call.app.db.read() as tx:
        period = call.params["period"] or funds.find_common_period(tx, first_cik, second_cik)
        first_quarter = funds.get_quarter(tx, first_cik, period)
        second_quarter = funds.get_quarter(tx, second_cik, period)
        overlap = fund_moves.compute_overlap(tx, first_quarter, second_quarter)
    page = build_offset_page(len(overlap.positions), limit, offset)
    members: FundOverlap = {
        "overlap_pct": overlap.overlap_pct,
        "funds": [_build_fund(first_quarter, overlap.value), _build_fund(second_quarter, overlap.other_value)],
        "positions": overlap.positions[offset : offset + limit],
        "meta": {"pagination": page},
    }
    return call.success_members(members, page)


def _build_fund(quarter: FundQuarter, shared_value: int) -> OverlappingFund:
    return {
        "cik": f"{quarter.cik:010}",
        "name": quarter.name,
        "period": quarter.period,
        "value_usd": quarter.value,
        "shared_value_usd": shared_value,
        "shared_pct": funds.compute_percent(shared_value, quarter.value),
    }


# ---- baskets

# Names of sort columns that clients also use, each with the sort that it means.
_BASKET_SORT_ALIASES = (
    ("value_usd", "value"),
    ("funds_holding", "funds"),
    ("fund_count", "funds"),
    ("share_change", "change"),
)
BASKET_PARAMS = (
    Param(
        "ciks",
        "words",
        word_kind="cik",
        required=True,
        maximum=MAX_BASKET_FUNDS,
        help=f"At most {MAX_BASKET_FUNDS} CIKs, of funds with at most {fund_baskets.MAX_BASKET_HOLDINGS:,} holdings "
        "together.",
        example="1067983,1061768",
    ),
    Param("period", "quarter", required=True, help="End of a quarter.", example="2026-03-31"),
    Param("compare_period", "quarter", help="End of the quarter to compare with.", example="2025-06-30"),
    Param(
        "sort_by",
        default="value",
        allowed=tuple(fund_baskets.BASKET_SORTS),
        aliases=_BASKET_SORT_ALIASES,
        help="Sort column.",
        example="funds",
    ),
    SORT_ORDER,
    Param(
        "size",
        default="all",
        pattern="0{0,8}[1-9][0-9]{0,8}",
        example="100",
        help=f"Maximum number of positions, or all, up to {fund_baskets.MAX_BASKET_POSITIONS}.",
    ),
    OFFSET,
)


class BasketFunds(TypedDict):
    """The funds of a basket: those that have filed their report of the quarter, and those that have not."""

    total_funds: int
    funds_filed: int
    funds_pending: int
    filed: list[BasketFund]
    pending: list[BasketFund]


class BasketTotals(TypedDict):
    """The sums of a basket."""

    total_value_usd: int
    total_positions: int
    doubted_count: DoubtedCount
    doubted_value_usd: DoubtedValue


class BasketMeta(TypedDict):
    """The metadata of a basket."""

    has_more: bool


class BasketAnswer(TypedDict):
    """The holdings of several funds (a basket), added up by security."""

    period: Date
    compare_period: Date
    generated_at: Time
    basket: BasketFunds
    totals: BasketTotals
    positions: list[BasketPosition]
    meta: BasketMeta


BASKET_SHAPE = Answer[BasketAnswer]


def get_basket(call: Call) -> Response:
    """Return the holdings of several funds (a basket), added up by security."""
    params = call.params
    ciks = list(dict.fromkeys(params["ciks"]))
    period = params["period"]
    compare_period = params["compare_period"] or quarters.get_previous_end(period)
    offset = params["offset"]
    limit = fund_baskets.MAX_BASKET_POSITIONS
    if params["size"] != "all":
        limit = min(int(params["size"]), limit)
    with call.app.db.read() as tx:
        basket = fund_baskets.build_basket(tx, ciks, period, compare_period)
        positions = basket.list_positions(
            tx, params["sort_by"], offset, limit, descending=params["sort_order"] == "desc"
        )
    total = len(basket.sums)
    has_more = total > offset + limit
    answer: BasketAnswer = {
        "period": period,
        "compare_period": compare_period,
        "generated_at": iso(call.request_time),
        "basket": {
            "total_funds": len(ciks),
            "funds_filed": len(basket.filed),
            "funds_pending": len(basket.pending),
            "filed": basket.filed,
            "pending": basket.pending,
        },
        "totals": {
            "total_value_usd": basket.value,
            "total_positions": basket.held_count,
            **basket.doubt_totals,
        },
        "positions": positions,
        "meta": {"has_more": has_more},
    }
    return call.success_members(answer, {"has_more": has_more, "total": total})
