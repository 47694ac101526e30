"""What a fund's shares cost it and what they are worth, by its reports and by the prices that are held.

A 13F tells no price paid. Shares bought in a quarter are taken for the price at its end, which the position's own value
implies; sold ones take their part of the cost with them (average cost). What a fund held when its reports begin, or
when they begin again after a gap, has no known cost, and neither has what it bought of it later.
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

# Why there is no cost.
OPENED_BEFORE, NOT_COUNTED = "opened_before_the_reports_held", "counted_with_the_next_ingest"
INCOMPLETE = "quarter_incomplete"  # as of changes

# Positions that are counted in one write transaction: a tenth of a second.
POSITIONS_PER_PORTION = 5_000
AFTER_EVERY_DAY = "a"  # sorts after every day


# ---- kept


class PositionCost(NamedTuple):
    """What the shares of a position cost in dollars, the quarter that opened it and the last that changed it."""

    cost: int | None = None
    opened: str | None = None
    changed: str | None = None


UNKNOWN_COST = PositionCost()


def recompute_all(db: Database) -> None:
    """Count costs and returns anew where reports, splits or prices came in since, until nothing is due.

    A portion at a time, so that no other writer waits for long; what is due stands in tables, so that after a kill
    the next ingest goes on.
    """
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction, most: int = POSITIONS_PER_PORTION) -> bool:
    """Count some of what is due, about so many positions; whether there was anything."""
    if fund_returns.recompute_series_returns(tx):
        return True
    counted = _settle_funds(tx, most) or fund_returns.recompute_due_quarters(tx, most)
    if counted:
        tx.run("bump_data_version")
    return counted > 0


def _settle_funds(tx: Transaction, most: int) -> int:
    """Count funds quarter by quarter, up to about ``most`` positions; how many quarters and positions that were."""
    counted = 0
    while counted < most and (row := tx.find_row("next_uncounted_fund")) is not None:
        counted += 1 + _settle_next(tx, row["cik"], row["period"])
    return counted


def _settle_next(tx: Transaction, cik: int, since: str) -> int:
    """Count the first quarter of a fund that is held ``since`` one, and note from which to go on; its positions."""
    now, *later = (*tx.list_rows("quarters_of_fund_since", cik=cik, period=since), None)
    if now is None:
        tx.run("delete_fund_returns", cik=cik, since=since, until=AFTER_EVERY_DAY)
        tx.run("delete_uncounted_fund", cik=cik)
        return 0
    period, following = now["period"], quarters.get_next_end(now["period"])
    # Those of quarters that are not held any more.
    tx.run("delete_fund_returns", cik=cik, since=since, until=period)
    counted = _settle_costs(tx, cik, period)
    fund_returns.recompute_fund_return(tx, cik, following, whole=now["complete"])
    if later[0] is None:
        tx.run("delete_fund_returns", cik=cik, since=following, until=AFTER_EVERY_DAY)
        tx.run("delete_uncounted_fund", cik=cik)
    else:
        tx.run("update_uncounted_fund", cik=cik, period=following)
    return counted


def _settle_costs(tx: Transaction, cik: int, period: str) -> int:
    """Write the costs of a fund's quarter from those of the one before; how many positions it has."""
    rows = tx.list_rows("costs_of_quarter", cik=cik, period=quarters.get_previous_end(period))
    before = {row["security_id"]: PositionCost(row["cost"], row["opened"], row["changed"]) for row in rows}
    changed = []
    rows = tx.list_rows("costs_of_quarter", cik=cik, period=period)
    for row in rows:
        held = carry_cost_forward(row, before.get(row["security_id"], UNKNOWN_COST), period)
        if held != (row["cost"], row["opened"], row["changed"]):
            changed.append((*held, cik, period, row["security_id"]))
    tx.insert_rows("update_position_costs", changed)
    return len(rows)


def carry_cost_forward(row: Row | Mapping[str, Any], before: PositionCost, period: str) -> PositionCost:
    """What is known of a position of ``period`` that was ``before`` at the end of the quarter before."""
    status, cost = row["status"], before.cost
    if status == fund_positions.NEW:
        return PositionCost(row["value"], period, period)
    if status in (fund_positions.UNKNOWN, fund_positions.CLOSED):
        return UNKNOWN_COST
    if status == fund_positions.UNCHANGED:
        return before
    if cost is not None and status == fund_positions.INCREASED:
        cost += row["flow"]
    elif cost is not None:
        # Average cost, to the nearest dollar.
        cost = (2 * cost * row["shares"] + row["previous_shares"]) // (2 * row["previous_shares"])
    return PositionCost(cost, before.opened, period)


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
    value_doubt: MarkedDoubt
    others_price: OthersPrice
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


class ValuedPosition(NamedTuple):
    """What a position in shares is worth at the last close after the quarter's end, where one is held, else at the
    report's own value; ``text`` is what it is sorted by, if that is a text.
    """

    security_id: int
    cusip: str
    text: str | None
    shares: int
    value: int
    cost: int | None
    opened: str | None
    factor: Decimal | None
    split_source: str | None
    close: Decimal | None
    date: str | None

    @property
    def gain(self) -> int | None:
        """What it is worth more than it cost."""
        return None if self.cost is None else self.value - self.cost


def build_fund_analytics(
    tx: Transaction, held: FundQuarter, sort: str, *, descending: bool, limit: int, offset: int
) -> tuple[HoldingsSummary, list[HoldingAnalytics], int]:
    """The sums of a fund's positions in shares, a page of them by one of :data:`SORTS`, and how many there are.

    All are valued and placed; only those of the page are put together.
    """
    place = {"cik": held.cik, "period": held.period}
    splits: dict[int, list[Row]] = {}
    for row in tx.list_rows("splits_since", place):
        splits.setdefault(row["security_id"], []).append(row)
    worths = [
        _valued(row, held.period, splits) for row in map(tuple, tx.list_rows("positions_to_value", place, sort=sort))
    ]
    page = _ordered(worths, sort, held.period, descending=descending)[offset : offset + limit]
    why = INCOMPLETE if held.reason == INCOMPLETE else OPENED_BEFORE
    why = NOT_COUNTED if tx.find_row("uncounted_fund", cik=held.cik) else why
    numbers = json.dumps([one.security_id for one in page])
    rows = {row["security_id"]: row for row in tx.list_rows("positions_with_costs", place, securities=numbers)}
    doubted = value_doubts.get_doubts_of_fund(tx, held.cik, held.period)
    shown = [_holding(rows[one.security_id], one, held.period, why, doubted.get(one.security_id)) for one in page]
    return _summary(worths, held.period), shown, len(worths)


def _valued(row: tuple[Any, ...], period: str, splits: Mapping[int, Sequence[Row]]) -> ValuedPosition:
    security_id, cusip, text, shares, value, cost, opened, found = row
    if found is None:
        return ValuedPosition(security_id, cusip, text, shares, value, cost, opened, None, None, None, None)
    last, _, told = found.partition(" ")
    close, factor, source = Decimal(told), None, None
    if security_id in splits:
        likely = (
            share_splits.build_likely_split(one, period, last) for one in splits[security_id] if one["after"] < last
        )
        since: list[LikelySplit] = [
            one for one in likely if one.is_between(HoldingValue(value, shares), HoldingValue(close, 1))
        ]
        factor = math.prod((one.factor for one in since), start=Decimal(1)) if since else None
        source = " ".join(dict.fromkeys(one.source for one in since)) or None
    shares = shares if factor is None else int((shares * factor).to_integral_value())
    value = int((shares * close).to_integral_value())
    return ValuedPosition(security_id, cusip, text, shares, value, cost, opened, factor, source, close, last)


def _ordered(rows: Iterable[ValuedPosition], sort: str, period: str, *, descending: bool) -> list[ValuedPosition]:
    """The positions in order; what is not known comes last, and the greater value first of equals."""
    keys_of: dict[str, Callable[[ValuedPosition], Any]] = {
        "market_value": attrgetter("value"),
        "cost_basis": attrgetter("cost"),
        "unrealized_pnl": attrgetter("gain"),
        "unrealized_pnl_pct": lambda row: compute_percent(row.gain, row.cost),
        "holding_period_days": lambda row: _days(row.opened, period),
        "shares": attrgetter("shares"),
    }
    key = keys_of.get(sort, attrgetter("text"))
    placed = sorted(rows, key=attrgetter("cusip"))
    placed.sort(key=attrgetter("value"), reverse=True)
    keys = [key(row) for row in placed]
    known = [place for place, one in enumerate(keys) if one is not None]
    known.sort(key=keys.__getitem__, reverse=descending)
    return [placed[place] for place in known] + [row for row, one in zip(placed, keys, strict=True) if one is None]


@cache
def _days(opened: str | None, period: str) -> int | None:
    return None if opened is None else (date.fromisoformat(period) - date.fromisoformat(opened)).days


def _holding(
    row: Row, worth: ValuedPosition, period: str, why: str, doubted: DoubtedPosition | None
) -> HoldingAnalytics:
    cost, days = worth.cost, _days(worth.opened, period)
    return build_record(
        HoldingAnalytics,
        row,
        shares=worth.shares,
        split_factor=worth.factor,
        split_source=worth.split_source,
        avg_buy_price=None if cost is None else compute_price(cost, worth.shares),
        current_price=compute_price(worth.value, worth.shares) if worth.close is None else worth.close,
        price_source="13f" if worth.close is None else "close",
        price_date=worth.date or period,
        cost_basis=cost,
        market_value=worth.value,
        unrealized_pnl=worth.gain,
        unrealized_pnl_pct=compute_percent(worth.gain, cost),
        holding_period_days=days,
        # A quarter has 90 to 92 days.
        holding_period_quarters=None if days is None else round(days / 91.3),
        first_added=worth.opened,
        sector=sectors.for_group(row["sic_group"])[0],
        last_transaction_quarter=row["changed"],
        **value_doubts.build_doubt_members(doubted),
        reason=None if cost is not None else why,
    )


def _summary(rows: Sequence[ValuedPosition], period: str) -> HoldingsSummary:
    known = [row for row in rows if row.cost is not None]
    whole = sum(row.value for row in rows)
    cost = sum(row.cost or 0 for row in known) if known else None
    worth = sum(row.value for row in known)
    gain = None if cost is None else worth - cost
    days = [_days(row.opened, period) or 0 for row in known if row.opened is not None]
    return {
        "total_cost_basis": cost,
        "total_market_value": whole,
        "total_unrealized_pnl": gain,
        "total_unrealized_pnl_pct": compute_percent(gain, cost),
        "avg_holding_period_days": round(sum(days) / len(days)) if days else None,
        "cost_coverage_pct": compute_percent(worth, whole),
        "costed_count": len(known),
        "close_price_count": sum(row.close is not None for row in rows),
    }
