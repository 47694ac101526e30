"""Positions whose price is about a thousand times that of most other managers, or a thousandth of it.

A table in the wrong unit is read in the other one (``value_units``). Of a single position it is not known what its
filer meant: it stays as filed and says what speaks against it. The price that managers agree on is kept with a
security's quarter, made anew from all that hold it, so that the order of reports leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

from finapi.market.holdings import quarters, value_units
from finapi.market.holdings.value_units import ALIKE, LEAST_MANAGERS, THOUSANDS
from finapi.market.prices import prices
from finapi.store.db import Database, Row, Transaction
from finapi.store.portions import work_through

ValueDoubt = Literal["thousand_times_other_managers", "thousandth_of_other_managers"]

# Securities whose price is made anew in one write transaction.
AT_ONCE = 1_000
# Reports are made within 45 days of the quarter's end: a split of those days may be in one and not in another.
SPLIT_DAYS = 60


class Doubt(NamedTuple):
    """Why a position's value is doubted, the price of a share that other managers imply, and the value in dollars."""

    reason: ValueDoubt
    price: Decimal
    value: int


def settle(db: Database) -> None:
    """Make the prices that managers agree on anew where positions changed, some in each transaction."""
    work_through(db, settle_portion)


def settle_portion(tx: Transaction, most: int = AT_ONCE) -> bool:
    """Make some of them anew; whether there was anything."""
    rows = tx.all("securities_unpriced", limit=most)
    changed = []
    for row in rows:
        # The one that is doubted is a manager too.
        place = {"period": row["period"], "security_id": row["security_id"]}
        held = tx.all("worth_to_managers", place) if row["funds"] > LEAST_MANAGERS else []
        price = value_units.agreed([one["value"] / one["shares"] for one in held])
        if price != row["price"]:
            changed.append((price, row["period"], row["security_id"]))
    tx.many("set_agreed_price", changed)
    tx.many("security_priced", [(row["period"], row["security_id"]) for row in rows])
    if changed:
        tx.run("bump_data_version")
    return len(rows) > 0


def of_fund(tx: Transaction, cik: int, period: str) -> dict[int, Doubt]:
    """The positions in shares of a fund's quarter that are doubted, by the ids of their securities."""
    found = {}
    for row in tx.all("positions_far_off", cik=cik, period=period, far=THOUSANDS / ALIKE):
        own = row["value"] / row["shares"]
        sign = value_units.off(own, row["price"])
        if sign and not _split(tx, row, period, own / row["price"]) and not _closed_at(tx, row["ticker"], period, own):
            reason: ValueDoubt = "thousand_times_other_managers" if sign > 0 else "thousandth_of_other_managers"
            found[row["security_id"]] = Doubt(reason, Decimal(row["price"]).quantize(Decimal("0.0001")), row["value"])
    return found


def summed(doubted: Mapping[int, Doubt]) -> dict[str, int]:
    """How many positions of a quarter are doubted, and their dollars."""
    return {"doubted_count": len(doubted), "doubted_value_usd": sum(one.value for one in doubted.values())}


def _split(tx: Transaction, row: Row, period: str, times: float) -> bool:
    """Whether a split explains it: shares before it beside shares after it."""
    later = (date.fromisoformat(period) + timedelta(days=SPLIT_DAYS)).isoformat()
    near = tx.all("splits_near", security_id=row["security_id"], after=quarters.before(period), before=later)
    factors = [float(one["factor"]) for one in near]
    return any(_alike(times, one) or _alike(times, 1 / one) for one in factors)


def _closed_at(tx: Transaction, ticker: str | None, period: str, own: float) -> bool:
    """Whether a price that is held says that the position is right and the other managers are not."""
    close = prices.close_on(tx, ticker, period)
    return close is not None and close.source != "synthetic" and _alike(own, float(close.close))


def _alike(one: float, other: float) -> bool:
    return other / ALIKE <= one <= other * ALIKE


def told(doubted: Mapping[int, Doubt], row: Row) -> dict[str, ValueDoubt | Decimal | None]:
    """What a position says of its own value: of shares, not of options and principal."""
    found = doubted.get(row["security_id"]) if row["in_shares"] else None
    return {"value_doubt": found and found.reason, "others_price": found and found.price}
