"""Fund to fund over HTTP: the largest moves of a quarter, and the overlap of two funds."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.holdings import fund_moves, funds
from finapi.market.holdings.fund_moves import FundMove, SharedPosition
from finapi.web.holdings.fund_holdings import KnownChanges, OffsetPage, build_known_changes, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import answer, part

MOVES_PARAMS = (
    Param("period", "quarter", help="End of a quarter; the latest one held by default.", example="2026-03-31"),
    Param("status", default="new", allowed=fund_moves.MOVE_STATUSES, help="Kind of change.", example="closed"),
    Param("cik", "cik", help="Only this manager.", example="0001067983"),
    limit_param(50, 500),
    OFFSET,
)
MOVES = answer(
    period=Date,
    moves=list[FundMove],
    meta=part(
        limit=int,
        offset=int,
        has_more=bool,
        compared_funds=Annotated[int, "Funds whose changes of the quarter are known; moves are theirs alone."],
        changes=KnownChanges | None,
    ),
)
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
_FUND = part(cik=str, name=str, period=Date, value_usd=int, shared_value_usd=int, shared_pct=Decimal | None)
OVERLAP = answer(
    overlap_pct=Decimal | None,
    funds=list[_FUND],  # type: ignore[valid-type]
    positions=list[SharedPosition],
    meta=part(pagination=OffsetPage),
)


def list_largest_moves(call: Call) -> Response:
    """The positions that funds opened, changed or closed in a quarter, the most dollars first."""
    params = call.params
    size, skipped = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        fund = funds.get_quarter(tx, params["cik"], params["period"]) if params["cik"] is not None else None
        period = fund.period if fund else params["period"] or fund_moves.find_latest_quarter(tx)
        if period is None:
            raise ApiError("NOT_FOUND", "finapi has no 13F report.")
        rows = fund_moves.list_largest_moves(tx, period, params["status"], fund, size, skipped)
        compared = int(fund.compared) if fund else fund_moves.count_compared_funds(tx, period)
    meta = {"limit": size, "offset": skipped, "has_more": len(rows) > size}
    told = {**meta, "compared_funds": compared, "changes": build_known_changes(fund) if fund else None}
    return call.success_members({"period": period, "moves": rows[:size], "meta": told}, meta)


def get_overlap(call: Call) -> Response:
    """What two funds hold alike at the end of a quarter."""
    params = call.params
    place = {"limit": params["limit"], "offset": params["offset"]}
    with call.app.db.read() as tx:
        period = params["period"] or funds.find_common_period(tx, *params["ciks"])
        first, other = (funds.get_quarter(tx, cik, period) for cik in params["ciks"])
        found = fund_moves.compute_overlap(tx, first, other)
    page = build_offset_page(len(found.positions), **place)
    told = [
        {
            "cik": f"{one.cik:010}",
            "name": one.name,
            "period": one.period,
            "value_usd": one.value,
            "shared_value_usd": value,
            "shared_pct": funds.compute_percent(value, one.value),
        }
        for one, value in ((first, found.value), (other, found.other_value))
    ]
    rows = found.positions[place["offset"] :][: place["limit"]]
    members = {"overlap_pct": found.overlap_pct, "funds": told, "positions": rows}
    return call.success_members({**members, "meta": {"pagination": page}}, page)
