"""What a fund's shares cost it and what they are worth, by its reports and by the prices that are held.

A 13F tells no price paid. Shares bought in a quarter are taken for the price at its end, which the position's own value
implies; sold ones take their part of the cost with them (average cost). What a fund held when its reports begin, or
when they begin again after a gap, has no known cost, and neither has what it bought of it later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, made
from finapi.market.holdings import performance, positions, quarters
from finapi.market.holdings.funds import FundQuarter, percent, price
from finapi.market.holdings.positions import SplitSource
from finapi.market.reference import sectors, share_splits
from finapi.market.reference.share_splits import LikelySplit, Worth
from finapi.store.db import Row, Transaction

SORTS = (
    "market_value", "cost_basis", "unrealized_pnl", "unrealized_pnl_pct", "holding_period_days", "shares", "ticker",
    "name",
)  # fmt: skip

# Why there is no cost.
OPENED_BEFORE, NOT_COUNTED = "opened_before_the_reports_held", "counted_with_the_next_ingest"
INCOMPLETE = "quarter_incomplete"  # as of changes


# ---- kept


class HeldAt(NamedTuple):
    """What the shares of a position cost in dollars, the quarter that opened it and the last that changed it."""

    cost: int | None = None
    opened: str | None = None
    changed: str | None = None


def settle(tx: Transaction) -> int:
    """Count costs and returns anew where reports, splits or prices came in since; for how many funds and quarters."""
    performance.settle_prices(tx)
    due = tx.all("funds_uncounted")
    for row in due:
        cik, since = row["cik"], row["period"]
        held = tx.all("whole_quarters_of_fund", cik=cik)
        _settle_costs(tx, cik, [one["period"] for one in held if one["period"] >= since])
        performance.settle_fund(tx, cik, [one["period"] for one in held if one["complete"]], since)
    tx.run("clear_funds_uncounted")
    counted = len(due) + performance.settle_quarters(tx)
    if counted:
        tx.run("bump_data_version")
    return counted


def _settle_costs(tx: Transaction, cik: int, periods: Sequence[str]) -> None:
    """Write the costs of a fund's quarters, each from those of the one before."""
    last, before = "", dict[int, HeldAt]()
    for period in periods:
        earlier = quarters.before(period)
        if earlier != last:
            rows = tx.all("costs_of_quarter", cik=cik, period=earlier)
            before = {row["security_id"]: HeldAt(row["cost"], row["opened"], row["changed"]) for row in rows}
        now, changed = dict[int, HeldAt](), []
        for row in tx.all("costs_of_quarter", cik=cik, period=period):
            held = carried(row, before.get(row["security_id"], HeldAt()), period)
            now[row["security_id"]] = held
            if held != (row["cost"], row["opened"], row["changed"]):
                changed.append((*held, cik, period, row["security_id"]))
        tx.many("set_costs", changed)
        last, before = period, now


def carried(row: Row | Mapping[str, Any], before: HeldAt, period: str) -> HeldAt:
    """What is known of a position of ``period`` that was ``before`` at the end of the quarter before."""
    status, cost = row["status"], before.cost
    if status == positions.NEW:
        return HeldAt(row["value"], period, period)
    if status in (positions.UNKNOWN, positions.CLOSED):
        return HeldAt()
    if status == positions.UNCHANGED:
        return before
    if cost is not None and status == positions.INCREASED:
        cost += row["flow"]
    elif cost is not None:
        # Average cost, to the nearest dollar.
        cost = (2 * cost * row["shares"] + row["previous_shares"]) // (2 * row["previous_shares"])
    return HeldAt(cost, before.opened, period)


# ---- told


class HoldingAnalytics(TypedDict):
    """A position in shares with its cost, its worth and how long it has been held.

    Shares and prices are as after the splits since the quarter's end, ``shares_raw`` as reported.
    """

    cusip: str
    ticker: str | None
    name: str
    shares: int
    shares_raw: int
    split_factor: Decimal | None
    split_source: SplitSource
    avg_buy_price: Decimal | None
    current_price: Decimal | None
    price_source: Annotated[Literal["close", "13f"], "13f: the price that the report's own value implies."]
    price_date: Date
    cost_basis: Annotated[int | None, "Dollars, at the prices of the quarters' ends in which the shares were bought."]
    market_value: int
    unrealized_pnl: int | None
    unrealized_pnl_pct: Decimal | None
    holding_period_days: Annotated[int | None, "From first_added to the end of the report's quarter."]
    holding_period_quarters: int | None
    first_added: Date | None
    sector: str | None
    last_transaction_quarter: Date | None
    last_share_delta: Annotated[int | None, "In the shares of last_transaction_quarter."]
    reason: Annotated[str | None, f"Why there is no cost: {OPENED_BEFORE}, {INCOMPLETE} or {NOT_COUNTED}."]


class HoldingsSummary(TypedDict):
    """The sums of a fund's positions in shares; cost, gain and holding period are of those whose cost is known."""

    total_cost_basis: int | None
    total_market_value: int
    total_unrealized_pnl: int | None
    total_unrealized_pnl_pct: Decimal | None
    avg_holding_period_days: int | None
    cost_coverage_pct: Annotated[Decimal | None, "The part of total_market_value whose cost is known."]
    costed_count: int
    close_price_count: Annotated[int, "Positions at a close after the quarter's end; others at the report's price."]


def of_fund(tx: Transaction, held: FundQuarter) -> tuple[HoldingsSummary, list[HoldingAnalytics]]:
    """The positions in shares of a fund's quarter in no order, and their sums."""
    why = INCOMPLETE if held.reason == INCOMPLETE else OPENED_BEFORE
    why = NOT_COUNTED if tx.one("fund_uncounted", cik=held.cik) else why
    splits: dict[int, list[Row]] = {}
    for row in tx.all("splits_since", cik=held.cik, period=held.period):
        splits.setdefault(row["security_id"], []).append(row)
    rows = tx.all("positions_with_costs", cik=held.cik, period=held.period)
    shown = [_holding(row, held.period, splits.get(row["security_id"], ()), why) for row in rows]
    return _summary(shown), shown


def _holding(row: Row, period: str, splits: Sequence[Row], why: str) -> HoldingAnalytics:
    shares, value, at = row["shares_raw"], row["value"], price(row["value"], row["shares_raw"])
    close = None if row["close_date"] is None else Decimal(row["close"])
    since: list[LikelySplit] = []
    if close is not None:
        last = row["close_date"]
        likely = (share_splits.likely(one, period, last) for one in splits if one["after"] < last)
        since = [one for one in likely if one.lies_between(Worth(value, shares), Worth(close, 1))]
        shares = int((shares * math.prod((one.factor for one in since), start=Decimal(1))).to_integral_value())
        value, at = int((shares * close).to_integral_value()), close
    cost, opened = row["cost"], row["opened"]
    pnl = None if cost is None else value - cost
    days = None if opened is None else (date.fromisoformat(period) - date.fromisoformat(opened)).days
    return made(
        HoldingAnalytics,
        row,
        shares=shares,
        split_factor=math.prod((one.factor for one in since), start=Decimal(1)) if since else None,
        split_source=" ".join(dict.fromkeys(one.source for one in since)) or None,
        avg_buy_price=None if cost is None else price(cost, shares),
        current_price=at,
        price_source="13f" if close is None else "close",
        price_date=period if close is None else row["close_date"],
        cost_basis=cost,
        market_value=value,
        unrealized_pnl=pnl,
        unrealized_pnl_pct=percent(pnl, cost),
        holding_period_days=days,
        # A quarter has 90 to 92 days.
        holding_period_quarters=None if days is None else round(days / 91.3),
        first_added=opened,
        sector=sectors.of_group(row["sic_group"])[0],
        last_transaction_quarter=row["changed"],
        reason=None if cost is not None else why,
    )


def _summary(rows: Sequence[HoldingAnalytics]) -> HoldingsSummary:
    known = [row for row in rows if row["cost_basis"] is not None]
    whole = sum(row["market_value"] for row in rows)
    cost = sum(row["cost_basis"] or 0 for row in known) if known else None
    worth = sum(row["market_value"] for row in known)
    gain = None if cost is None else worth - cost
    days = [row["holding_period_days"] for row in known if row["holding_period_days"] is not None]
    return {
        "total_cost_basis": cost,
        "total_market_value": whole,
        "total_unrealized_pnl": gain,
        "total_unrealized_pnl_pct": percent(gain, cost),
        "avg_holding_period_days": round(sum(days) / len(days)) if days else None,
        "cost_coverage_pct": percent(worth, whole),
        "costed_count": len(known),
        "close_price_count": sum(row["price_source"] == "close" for row in rows),
    }


def ordered(rows: Sequence[HoldingAnalytics], sort: str, *, descending: bool) -> list[HoldingAnalytics]:
    """The positions by one of :data:`SORTS`; what is not known comes last, and the greater value first of equals."""
    placed: list[Any] = sorted(rows, key=lambda row: (-row["market_value"], row["cusip"]))
    known = sorted((row for row in placed if row[sort] is not None), key=lambda row: row[sort], reverse=descending)
    return known + [row for row in placed if row[sort] is None]
