"""Positions whose price is about a thousand times that of most other managers, or a thousandth of it.

A table in the wrong unit is read in the other one (``value_units``). Of a single position it is not known what its
filer meant: it stays as filed, in sums too, and says what speaks against it; sums say how much of them is doubted.
The price that managers agree on is kept with a security's quarter, and the positions far from it in a table of their
own, made anew whenever either may have changed, so that the order of reports leaves no trace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypeVar

from finapi.market.holdings import quarters, value_units
from finapi.market.holdings.value_units import MAX_PRICE_RATIO, MIN_MANAGERS, THOUSANDS
from finapi.market.prices import price_series
from finapi.store.db import Database, Row, Transaction
from finapi.store.portions import read_in_portions, write_in_portions

Key = TypeVar("Key", bound=Hashable)

ValueDoubt = Literal["thousand_times_other_managers", "thousandth_of_other_managers"]
# Members of positions and of sums.
MarkedDoubt = Annotated[ValueDoubt | None, "How the implied price compares with others_price; the value is as filed."]
OthersPrice = Annotated[Decimal | None, "If the value is doubted: dollars per share in most other managers' reports."]
DoubtedCount = Annotated[int, "Positions in the sums whose value is doubted (value_doubt); they are included as filed."]
DoubtedValue = Annotated[int, "Dollars of those positions, included in the sum of values."]
DoubtedFlow = Annotated[
    int, "Part of fund_flow from positions that are doubted, or were when last held; dollars as filed."
]

# Securities whose price is made anew in one write transaction, and quarters of funds that are compared in one: the
# largest have 10,000 positions.
SECURITIES_PER_PORTION, FUND_QUARTERS_PER_PORTION = 1_000, 20
# Of a price another is far off that is so many times it, or such a part of it.
FAR_OFF_RATIO = THOUSANDS / MAX_PRICE_RATIO
# Reports are made within 45 days of the quarter's end: a split of those days may be in one and not in another.
SPLIT_DAYS = 60


# ---- kept


def recompute_all(db: Database) -> None:
    """Make the prices that managers agree on anew where positions changed, some in each transaction."""
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction, most: int = SECURITIES_PER_PORTION) -> bool:
    """Make some of them anew, or compare some funds with them; whether there was anything."""
    # The one that is doubted is a manager too.
    rows = tx.list_rows("unpriced_securities", limit=most, least=MIN_MANAGERS)
    if not rows:
        return _compare_funds(tx, min(most, FUND_QUARTERS_PER_PORTION))
    held = json.loads(f"[{','.join([row['held'] for row in rows])}]")
    changed = []
    for (period, security_id, price, _), largest in zip(rows, held, strict=True):
        told = value_units.find_agreed_price([value / shares for value, shares in largest])
        if told != price:
            changed.append((told, period, security_id))
    tx.insert_rows("update_agreed_price", changed)
    # All that hold them: small managers seldom move a price, and then only their own positions are compared.
    places = [place for _, *place in changed]
    tx.insert_rows("delete_far_off_positions_of_security", places)
    tx.run("insert_far_off_positions_of_securities", places=json.dumps(places), far=FAR_OFF_RATIO)
    period, security_id = max((row["period"], row["security_id"]) for row in rows)
    tx.run("delete_unpriced_securities", period=period, security_id=security_id)
    if changed:
        tx.run("bump_data_version")
    return True


def _compare_funds(tx: Transaction, most: int) -> bool:
    rows = tx.list_rows("uncompared_fund_quarters", limit=most)
    for cik, period in rows:
        tx.run("delete_far_off_positions_of_fund", cik=cik, period=period)
        if tx.run("insert_far_off_positions_of_fund", cik=cik, period=period, far=FAR_OFF_RATIO):
            tx.run("bump_data_version")
    tx.insert_rows("delete_uncompared_fund_quarter", [tuple(row) for row in rows])
    return len(rows) > 0


def list_errors(db: Database) -> list[str]:
    """Where the positions kept as far off are not those of a comparison, if it has been made since they changed."""
    found = []

    def portion(tx: Transaction, place: tuple[int, str]) -> tuple[int, str] | None:
        rows = tx.list_rows(
            "compared_fund_quarters_after", cik=place[0], period=place[1], limit=FUND_QUARTERS_PER_PORTION
        )
        for cik, period in rows:
            if number := tx.find_value("far_off_difference_count", cik=cik, period=period, far=FAR_OFF_RATIO):
                found.append(f"doubts of fund {cik} on {period}: {number} positions were compared otherwise")
        return tuple(rows[-1]) if rows else None

    read_in_portions(db, portion, (-1, ""))
    return found


# ---- told


class DoubtedPosition(NamedTuple):
    """A position in shares whose value is doubted, and the price of a share that other managers imply.

    ``value`` is in dollars, ``flow`` what the quarter's change moved. One that was closed in the quarter has no value,
    and is doubted by what it was at the end of the quarter before.
    """

    cik: int
    security_id: int
    sic_group: int | None
    is_etf: bool
    reason: ValueDoubt
    price: Decimal
    value: int
    flow: int


def get_doubts_of_fund(tx: Transaction, cik: int, period: str) -> dict[int, DoubtedPosition]:
    """The positions in shares of a fund's quarter that are doubted, by the ids of their securities."""
    return {
        one.security_id: one
        for one in _judged(tx, tx.list_rows("far_off_positions_of_fund", _place(period), cik=cik), period)
    }


def get_doubts_of_securities(tx: Transaction, securities: str, period: str) -> dict[tuple[int, int], DoubtedPosition]:
    """The positions in some securities that are doubted, by CIK and the id of the security; ``securities`` is JSON."""
    rows = tx.list_rows("far_off_positions_of_securities", _place(period), securities=securities)
    return {(one.cik, one.security_id): one for one in _judged(tx, rows, period)}


def list_doubts_of_quarter(tx: Transaction, period: str) -> list[DoubtedPosition]:
    """All positions of a quarter that are doubted, and those that were at the end of the one before and are closed."""
    before = quarters.get_previous_end(period)
    held = _judged(tx, tx.list_rows("far_off_positions_of_quarter", _place(period)), period)
    closed = [
        row for row in tx.list_rows("far_off_positions_of_quarter", _place(before)) if row["closed_flow"] is not None
    ]
    return held + _judged(tx, closed, before, closed=True)


def _place(period: str) -> dict[str, str]:
    later = (date.fromisoformat(period) + timedelta(days=SPLIT_DAYS)).isoformat()
    before, following = quarters.get_previous_end(period), quarters.get_next_end(period)
    return {"period": period, "following": following, "after": before, "before": later}


def _judged(tx: Transaction, rows: Iterable[Row], period: str, *, closed: bool = False) -> list[DoubtedPosition]:
    found = []
    for row in rows:
        own = row["value"] / row["shares"]
        sign = value_units.get_thousandfold_sign(own, row["price"])
        if not sign or _split(row, own / row["price"]) or (row["is_priced"] and _closed_at(tx, row, period, own)):
            continue
        reason: ValueDoubt = "thousand_times_other_managers" if sign > 0 else "thousandth_of_other_managers"
        price = Decimal(row["price"]).quantize(Decimal("0.0001"))
        whose = row["cik"], row["security_id"], row["sic_group"], bool(row["is_etf"])
        money = (0, row["closed_flow"]) if closed else (row["value"], row["flow"] or 0)
        found.append(DoubtedPosition(*whose, reason, price, *money))
    return found


def _split(row: Row, times: float) -> bool:
    """Whether a split explains it: shares before it beside shares after it."""
    factors = [float(one) for one in json.loads(row["splits"])]
    return any(_alike(times, one) or _alike(times, 1 / one) for one in factors)


def _closed_at(tx: Transaction, row: Row, period: str, own: float) -> bool:
    """Whether a price that is held says that the position is right and the other managers are not."""
    close = price_series.find_close(tx, row["ticker"], period)
    return close is not None and close.source != "synthetic" and _alike(own, float(close.close))


def _alike(one: float, other: float) -> bool:
    return other / MAX_PRICE_RATIO <= one <= other * MAX_PRICE_RATIO


def build_doubt_members(found: DoubtedPosition | None) -> dict[str, ValueDoubt | Decimal | None]:
    """What a position says of its own value."""
    return {"value_doubt": found and found.reason, "others_price": found and found.price}


@dataclass(slots=True)
class DoubtSum:
    """What the doubted positions of a sum amount to: how many, in dollars held, bought and sold."""

    count: int = 0
    value: int = 0
    bought: int = 0
    sold: int = 0

    def add(self, one: DoubtedPosition) -> None:
        """Count a position too."""
        self.count += 1
        self.value += one.value
        self.bought += max(one.flow, 0)
        self.sold += max(-one.flow, 0)

    def build_members(self, dollars: str = "doubted_value") -> dict[str, int]:
        """The members of an answer; ``dollars`` is what it calls the value."""
        return {"doubted_count": self.count, dollars: self.value, "doubted_flow": self.bought - self.sold}


def sum_doubts(found: Iterable[DoubtedPosition]) -> DoubtSum:
    """The sum of some positions."""
    return sum_doubts_by([*found], lambda _: None).get(None, DoubtSum())


def sum_doubts_by(found: Sequence[DoubtedPosition], key: Callable[[DoubtedPosition], Key]) -> Mapping[Key, DoubtSum]:
    """The sums of some positions by ``key``; nothing for those that have none."""
    by: dict[Key, DoubtSum] = {}
    for one in found:
        by.setdefault(key(one), DoubtSum()).add(one)
    return by
