"""The cost of a fund's shares, and their gain by stored prices.

A 13F does not state the price that was paid. Shares that were bought in a quarter are assumed to have cost the price at
its end, which the position's own value implies. Sold shares take their part of the cost with them (average cost).

For example, a fund holds 10 shares for $2,500 in June as a new position: the cost is $2,500. In September it holds 15
for $4,500, so five were bought at $300 and the cost is $4,000. In December it holds 6, and the cost is $1,600.

The cost is unknown for positions that a fund held in its first report, or in its first report after a gap. It stays
unknown if the fund buys more of them.

The costs are stored with the positions and recomputed in portions after an ingest. Funds to recompute are recorded in a
table, so that the work continues if the process is killed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, build_record
from finapi.market.holdings import fund_positions, fund_returns, quarters, value_doubts
from finapi.market.holdings.fund_positions import SplitSource
from finapi.market.holdings.funds import FundQuarter, compute_percent, compute_price
from finapi.market.holdings.value_doubts import DoubtedPosition, MarkedDoubt, OthersPrice
from finapi.market.reference import sectors, share_splits
from finapi.market.reference.share_splits import HoldingValue, LikelySplit
from finapi.store.db import Database, Row, Transaction
from finapi.store.portions import write_in_portions

SORTS = (
    "market_value",
    "cost_basis",
    "unrealized_pnl",
    "unrealized_pnl_pct",
    "holding_period_days",
    "shares",
    "ticker",
    "name",
)

# Reasons for a missing cost.
OPENED_BEFORE = "opened_before_the_reports_held"
NOT_COUNTED = "counted_with_the_next_ingest"
INCOMPLETE = "quarter_incomplete"  # The same reason code as for unknown changes.

# Number of positions recomputed in one write transaction, which takes a tenth of a second.
POSITIONS_PER_PORTION = 5_000
AFTER_EVERY_DAY = "a"  # Sorts after every ISO date.
DAYS_PER_QUARTER = 91.3


# ---- the stored costs


class PositionCost(NamedTuple):
    """The cost of a position in dollars, the quarter that opened it, and the latest quarter that changed it."""

    cost: int | None = None
    opened: str | None = None
    changed: str | None = None


UNKNOWN_COST = PositionCost()


def recompute_all(db: Database) -> None:
    """Recompute costs and returns after new reports, splits or prices, until nothing is due.

    Each portion is a separate transaction, so that other writers never wait for long.
    """
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction, limit: int = POSITIONS_PER_PORTION) -> bool:
    """Recompute about ``limit`` of the positions that are due. Return False if nothing was due."""
    if fund_returns.recompute_series_returns(tx):
        return True
    count = _recompute_funds(tx, limit) or fund_returns.recompute_due_quarters(tx, limit)
    if count:
        tx.run("bump_data_version")
    return count > 0


def _recompute_funds(tx: Transaction, limit: int) -> int:
    """Recompute funds quarter by quarter, up to about ``limit`` positions.

    Return the number of quarters and positions.
    """
    count = 0
    while count < limit:
        due_row = tx.find_row("next_uncounted_fund")
        if due_row is None:
            break
        count += 1 + _recompute_first_quarter(tx, due_row["cik"], due_row["period"])
    return count


def _recompute_first_quarter(tx: Transaction, cik: int, since: str) -> int:
    """Recompute a fund's first quarter from ``since`` on, and record the quarter with which to continue.

    Return the number of its positions.
    """
    rows = tx.list_rows("quarters_of_fund_since", cik=cik, period=since)
    if not rows:
        tx.run("delete_fund_returns", cik=cik, since=since, until=AFTER_EVERY_DAY)
        tx.run("delete_uncounted_fund", cik=cik)
        return 0
    quarter = rows[0]
    has_later_quarter = len(rows) > 1
    period = quarter["period"]
    next_period = quarters.get_next_end(period)
    # Delete returns of quarters that no longer begin with holdings, because a report was moved or replaced.
    tx.run("delete_fund_returns", cik=cik, since=since, until=period)
    count = _recompute_costs(tx, cik, period)
    fund_returns.recompute_fund_return(tx, cik, next_period, is_complete=quarter["complete"])
    if has_later_quarter:
        tx.run("update_uncounted_fund", cik=cik, period=next_period)
    else:
        tx.run("delete_fund_returns", cik=cik, since=next_period, until=AFTER_EVERY_DAY)
        tx.run("delete_uncounted_fund", cik=cik)
    return count


def _recompute_costs(tx: Transaction, cik: int, period: str) -> int:
    """Update the costs of a fund's quarter from those of the quarter before. Return the number of its positions."""
    previous_costs = {}
    for row in tx.list_rows("costs_of_quarter", cik=cik, period=quarters.get_previous_end(period)):
        previous_costs[row["security_id"]] = PositionCost(row["cost"], row["opened"], row["changed"])
    changed_rows = []
    rows = tx.list_rows("costs_of_quarter", cik=cik, period=period)
    for row in rows:
        cost = carry_cost_forward(row, previous_costs.get(row["security_id"], UNKNOWN_COST), period)
        if cost != (row["cost"], row["opened"], row["changed"]):
            changed_rows.append((*cost, cik, period, row["security_id"]))
    tx.insert_rows("update_position_costs", changed_rows)
    return len(rows)


def carry_cost_forward(row: Row | Mapping[str, Any], previous: PositionCost, period: str) -> PositionCost:
    """Return the cost of a position at the end of ``period``, from its cost at the end of the quarter before."""
    status = row["status"]
    if status == fund_positions.NEW:
        return PositionCost(row["value"], period, period)
    if status in (fund_positions.UNKNOWN, fund_positions.CLOSED):
        return UNKNOWN_COST
    if status == fund_positions.UNCHANGED:
        return previous
    cost = previous.cost
    if cost is not None and status == fund_positions.INCREASED:
        cost += row["flow"]
    elif cost is not None:
        # Average cost, to the nearest dollar.
        cost = (2 * cost * row["shares"] + row["previous_shares"]) // (2 * row["previous_shares"])
    return PositionCost(cost, previous.opened, period)


# ---- the analytics of a fund's positions


class HoldingAnalytics(TypedDict):
    """A position in shares with its cost, its market value and its holding period.

    Shares and prices are adjusted for the splits since the quarter's end; ``shares_raw`` is as reported.
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
    price_source: Annotated[
        Literal["close", "13f"], "close: a stored price. 13f: the price that the report's own value implies."
    ]
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
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    last_share_delta: Annotated[int | None, "In the shares of last_transaction_quarter."]
    reason: Annotated[str | None, f"The reason for a missing cost: {OPENED_BEFORE}, {INCOMPLETE} or {NOT_COUNTED}."]


class HoldingsSummary(TypedDict):
    """The totals of a fund's share positions; cost, gain and holding period are for positions with a known cost."""

    total_cost_basis: int | None
    total_market_value: int
    total_unrealized_pnl: int | None
    total_unrealized_pnl_pct: Decimal | None
    avg_holding_period_days: int | None
    cost_coverage_pct: Annotated[Decimal | None, "The part of total_market_value whose cost is known."]
    costed_count: int
    close_price_count: Annotated[
        int, "Positions valued at a close after the quarter's end. The others are at the report's price."
    ]


class ValuedPosition(NamedTuple):
    """A position in shares at its market value.

    The value is at the last close after the quarter's end if one is stored, else as reported.
    """

    security_id: int
    cusip: str
    sort_text: str | None  # The ticker or the name, if the list is sorted by it.
    shares: int  # Adjusted for splits until the day of the close.
    value: int
    cost: int | None
    opened: str | None
    split_factor: Decimal | None
    split_source: str | None
    close: Decimal | None
    close_date: str | None

    @property
    def gain(self) -> int | None:
        """Return the value less the cost, or None if the cost is unknown."""
        return None if self.cost is None else self.value - self.cost


def build_fund_analytics(
    tx: Transaction, quarter: FundQuarter, sort: str, *, descending: bool, limit: int, offset: int
) -> tuple[HoldingsSummary, list[HoldingAnalytics], int]:
    """Return the totals of a fund's share positions, a page of them sorted by one of :data:`SORTS`, and their number.

    All positions are valued and sorted. Only the records of the page are built.
    """
    key = {"cik": quarter.cik, "period": quarter.period}
    splits: dict[int, list[Row]] = {}
    for row in tx.list_rows("splits_since", key):
        splits.setdefault(row["security_id"], []).append(row)
    positions = [
        _value_position(row, quarter.period, splits.get(row["security_id"], ()))
        for row in tx.list_rows("positions_to_value", key, sort=sort)
    ]
    page = _sort_positions(positions, sort, quarter.period, descending=descending)[offset : offset + limit]
    security_ids = json.dumps([position.security_id for position in page])
    row_by_id = {row["security_id"]: row for row in tx.list_rows("positions_with_costs", key, securities=security_ids)}
    doubts = value_doubts.get_doubts_of_fund(tx, quarter.cik, quarter.period)
    missing_reason = _get_missing_reason(tx, quarter)
    records = []
    for position in page:
        row = row_by_id[position.security_id]
        doubt = doubts.get(position.security_id)
        records.append(_build_holding(row, position, quarter.period, missing_reason, doubt))
    return _build_summary(positions, quarter.period), records, len(positions)


def _get_missing_reason(tx: Transaction, quarter: FundQuarter) -> str:
    """Return the reason code for positions of a fund's quarter without a cost."""
    if tx.find_row("uncounted_fund", cik=quarter.cik):
        return NOT_COUNTED
    return INCOMPLETE if quarter.reason == INCOMPLETE else OPENED_BEFORE


def _value_position(row: Row, period: str, split_rows: Sequence[Row]) -> ValuedPosition:
    """Return a position at its last close, or at its reported value if no close is stored."""
    shares = row["shares"]
    value = row["value"]
    split_factor = None
    split_source = None
    close = None
    close_date = None
    if row["close"] is not None:
        close_date, _, close_text = row["close"].partition(" ")
        close = Decimal(close_text)
        splits = _list_splits_until(split_rows, period, close_date, HoldingValue(value, shares), HoldingValue(close, 1))
        if splits:
            split_factor = math.prod((split.factor for split in splits), start=Decimal(1))
            split_source = " ".join(dict.fromkeys(split.source for split in splits))
            shares = int((shares * split_factor).to_integral_value())
        value = int((shares * close).to_integral_value())
    return ValuedPosition(
        security_id=row["security_id"],
        cusip=row["cusip"],
        sort_text=row["text"],
        shares=shares,
        value=value,
        cost=row["cost"],
        opened=row["opened"],
        split_factor=split_factor,
        split_source=split_source,
        close=close,
        close_date=close_date,
    )


def _list_splits_until(
    split_rows: Sequence[Row], period: str, close_date: str, before: HoldingValue, after: HoldingValue
) -> list[LikelySplit]:
    """Return the splits between the quarter's end and the close that explain the change of the price."""
    likely_splits = (
        share_splits.build_likely_split(row, period, close_date) for row in split_rows if row["after"] < close_date
    )
    return [split for split in likely_splits if split.is_between(before, after)]


def _sort_positions(
    positions: Iterable[ValuedPosition], sort: str, period: str, *, descending: bool
) -> list[ValuedPosition]:
    """Return the sorted positions. Unknown keys come last. On equal keys, the greatest value comes first."""
    key_by_sort: dict[str, Callable[[ValuedPosition], Any]] = {
        "market_value": attrgetter("value"),
        "cost_basis": attrgetter("cost"),
        "unrealized_pnl": attrgetter("gain"),
        "unrealized_pnl_pct": lambda position: compute_percent(position.gain, position.cost),
        "holding_period_days": lambda position: _count_days(position.opened, period),
        "shares": attrgetter("shares"),
    }
    get_key = key_by_sort.get(sort, attrgetter("sort_text"))
    in_order = sorted(positions, key=attrgetter("cusip"))
    in_order.sort(key=attrgetter("value"), reverse=True)
    sortable = []
    unknown = []
    for position in in_order:
        key = get_key(position)
        if key is None:
            unknown.append(position)
        else:
            sortable.append((key, position))
    sortable.sort(key=lambda pair: pair[0], reverse=descending)
    return [position for _, position in sortable] + unknown


@cache
def _count_days(opened: str | None, period: str) -> int | None:
    return None if opened is None else (date.fromisoformat(period) - date.fromisoformat(opened)).days


def _build_holding(
    row: Row, position: ValuedPosition, period: str, missing_reason: str, doubt: DoubtedPosition | None
) -> HoldingAnalytics:
    cost = position.cost
    days = _count_days(position.opened, period)
    current_price = position.close
    if current_price is None:
        current_price = compute_price(position.value, position.shares)
    return build_record(
        HoldingAnalytics,
        row,
        shares=position.shares,
        split_factor=position.split_factor,
        split_source=position.split_source,
        avg_buy_price=None if cost is None else compute_price(cost, position.shares),
        current_price=current_price,
        price_source="13f" if position.close is None else "close",
        price_date=position.close_date or period,
        cost_basis=cost,
        market_value=position.value,
        unrealized_pnl=position.gain,
        unrealized_pnl_pct=compute_percent(position.gain, cost),
        holding_period_days=days,
        holding_period_quarters=None if days is None else round(days / DAYS_PER_QUARTER),
        first_added=position.opened,
        sector=sectors.get_names_of_group(row["sic_group"])[0],
        last_transaction_quarter=row["changed"],
        **value_doubts.build_doubt_members(doubt),
        reason=None if cost is not None else missing_reason,
    )


def _build_summary(positions: Sequence[ValuedPosition], period: str) -> HoldingsSummary:
    costed = [position for position in positions if position.cost is not None]
    total_value = sum(position.value for position in positions)
    costed_value = sum(position.value for position in costed)
    total_cost = sum(position.cost or 0 for position in costed) if costed else None
    gain = None if total_cost is None else costed_value - total_cost
    days = [_count_days(position.opened, period) or 0 for position in costed if position.opened is not None]
    return {
        "total_cost_basis": total_cost,
        "total_market_value": total_value,
        "total_unrealized_pnl": gain,
        "total_unrealized_pnl_pct": compute_percent(gain, total_cost),
        "avg_holding_period_days": round(sum(days) / len(days)) if days else None,
        "cost_coverage_pct": compute_percent(costed_value, total_value),
        "costed_count": len(costed),
        "close_price_count": sum(position.close is not None for position in positions),
    }
