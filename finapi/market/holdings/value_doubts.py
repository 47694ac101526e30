"""Doubtful values: positions whose implied price is about a thousand times that of other managers, or a thousandth.

If a complete table is in the wrong unit, it is converted (``value_units``). For a single position, it is unknown which
of its figures is wrong. Its value is therefore served as filed, also in sums. The position states the doubt and the
other managers' price, and each sum states its doubtful part. For example, a fund reports 10 shares for $2,500,000 where
most managers imply a price of $250: the doubt is ``thousand_times_other_managers``.

If the number of shares equals the value in the unit of the table, the filer typed one column twice. This is a doubt at
any price (``shares_equal_value``), unless the other managers or a close agree that a share costs just one dollar, or a
thousand dollars in a table in thousands.

A difference is not a doubt if a split near the quarter's end explains it, because one report may have the shares before
it and another the shares after it. It is not a doubt either if a stored closing price confirms the position.

Two derived tables make this fast. ``security_quarters`` has the price on which the managers of a security agree, and
``positions_far_off`` the positions that are far from it. Both are recomputed whenever a position may have changed, so
they do not depend on the order in which reports arrive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict, TypeVar

from finapi.core.counts import format_count
from finapi.market.holdings import quarters, value_units
from finapi.market.holdings.value_units import MAX_PRICE_RATIO, MIN_MANAGERS, THOUSANDS
from finapi.market.prices import price_series
from finapi.store.db import Database, Row, Transaction
from finapi.store.portions import read_in_portions, write_in_portions

Key = TypeVar("Key", bound=Hashable)

ValueDoubt = Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"]
# The types of fields that several records share.
MarkedDoubt = Annotated[
    ValueDoubt | None,
    "How the implied price compares with others_price, or that the filer repeated one column. The value is as filed.",
]
OthersPrice = Annotated[
    Decimal | None, "If the value is doubted, the dollars per share in most other managers' reports."
]
DoubtedCount = Annotated[int, "Number of positions with a value_doubt; the sums include them as filed."]
DoubtedValue = Annotated[int, "Dollars of those positions, included in the sum of values."]
DoubtedFlow = Annotated[
    int, "Part of fund_flow from positions that are doubtful, or were when last held, in dollars as filed."
]

# Number of securities whose agreed prices are recomputed in one write transaction.
SECURITIES_PER_PORTION = 1_000
# Number of fund quarters that are compared in one write transaction. The largest funds have 10,000 positions.
FUND_QUARTERS_PER_PORTION = 20
# A price that differs from the agreed one by more than this factor is far off.
FAR_OFF_RATIO = THOUSANDS / MAX_PRICE_RATIO
# A share whose number equals its value must cost one unit of the table, up to this factor.
MAX_EQUAL_PRICE_RATIO = 1.1
# A smaller number may equal the value by chance.
MIN_EQUAL_SHARES = 100
# Reports are filed within 45 days after the quarter's end. Only some of them may reflect a split in these days.
SPLIT_DAYS = 60


# ---- the derived tables


def recompute_all(db: Database) -> None:
    """Recompute agreed prices and far-off positions after changes of positions, one portion in each transaction."""
    write_in_portions(db, recompute_portion)


def recompute_portion(tx: Transaction, limit: int = SECURITIES_PER_PORTION) -> bool:
    """Recompute the agreed prices of some securities, or compare some funds with them.

    Return False if nothing was due. An agreed price is computed over all managers, including doubtful ones.
    """
    due_rows = tx.list_rows("unpriced_securities", limit=limit, least=MIN_MANAGERS)
    if not due_rows:
        return _compare_funds(tx, min(limit, FUND_QUARTERS_PER_PORTION))
    changed_prices = []
    for row in due_rows:
        implied_prices = [value / shares for value, shares in json.loads(row["largest"])]
        agreed_price = value_units.find_agreed_price(implied_prices)
        if agreed_price != row["price"]:
            changed_prices.append((agreed_price, row["period"], row["security_id"]))
    tx.insert_rows("update_agreed_price", changed_prices)
    # A changed price is compared with all positions in the security. Small managers seldom change a price, and then
    # only their own positions are compared.
    keys = [(period, security_id) for _, period, security_id in changed_prices]
    tx.insert_rows("delete_far_off_positions_of_security", keys)
    tx.run("insert_far_off_positions_of_securities", places=json.dumps(keys), far=FAR_OFF_RATIO)
    last_period, last_security_id = max((row["period"], row["security_id"]) for row in due_rows)
    tx.run("delete_unpriced_securities", period=last_period, security_id=last_security_id)
    if changed_prices:
        tx.run("bump_data_version")
    return True


def _compare_funds(tx: Transaction, limit: int) -> bool:
    """Compare the positions of some fund quarters with the agreed prices. Return False if nothing was due."""
    rows = tx.list_rows("uncompared_fund_quarters", limit=limit)
    for row in rows:
        tx.run("delete_far_off_positions_of_fund", cik=row["cik"], period=row["period"])
        if tx.run("insert_far_off_positions_of_fund", cik=row["cik"], period=row["period"], far=FAR_OFF_RATIO):
            tx.run("bump_data_version")
    tx.insert_rows("delete_uncompared_fund_quarter", [(row["cik"], row["period"]) for row in rows])
    return len(rows) > 0


def list_errors(db: Database) -> list[str]:
    """Return a message for each fund quarter whose stored far-off positions differ from those of a new comparison.

    Fund quarters that are yet to be compared are left out.
    """
    errors = []

    def check_portion(tx: Transaction, after: tuple[int, str]) -> tuple[int, str] | None:
        after_cik, after_period = after
        rows = tx.list_rows(
            "compared_fund_quarters_after", cik=after_cik, period=after_period, limit=FUND_QUARTERS_PER_PORTION
        )
        for row in rows:
            cik, period = row["cik"], row["period"]
            count = tx.find_value("far_off_difference_count", cik=cik, period=period, far=FAR_OFF_RATIO)
            if count:
                positions = format_count(count, "position was", "positions were")
                errors.append(f"doubts of fund {cik} on {period}: {positions} compared otherwise")
        return (rows[-1]["cik"], rows[-1]["period"]) if rows else None

    read_in_portions(db, check_portion, (-1, ""))
    return errors


# ---- the doubtful positions


class DoubtedPosition(NamedTuple):
    """A position in shares whose value is doubtful.

    A position that was closed in the quarter has no value. It is doubtful if it was doubtful at the end of the previous
    quarter.
    """

    cik: int
    security_id: int
    sic_group: int | None
    is_etf: bool
    reason: ValueDoubt
    price: Decimal | None  # Dollars per share that other managers imply; None if they do not agree.
    value: int  # Dollars as filed.
    flow: int  # Dollars of the change in the quarter.


def get_doubts_of_fund(tx: Transaction, cik: int, period: str) -> dict[int, DoubtedPosition]:
    """Return the doubtful share positions of a fund's quarter, by the ids of their securities."""
    rows = tx.list_rows("far_off_positions_of_fund", _build_days(period), cik=cik)
    return {position.security_id: position for position in _judge(tx, rows, period)}


def get_doubts_of_securities(tx: Transaction, security_ids: str, period: str) -> dict[tuple[int, int], DoubtedPosition]:
    """Return the doubtful positions in some securities, by the CIK of the fund and the id of the security.

    ``security_ids`` is a JSON list.
    """
    rows = tx.list_rows("far_off_positions_of_securities", _build_days(period), securities=security_ids)
    return {(position.cik, position.security_id): position for position in _judge(tx, rows, period)}


def list_doubts_of_quarter(tx: Transaction, period: str) -> list[DoubtedPosition]:
    """Return all doubtful positions of a quarter.

    They include the positions that were closed in it and were doubtful at the end of the quarter before.
    """
    previous_period = quarters.get_previous_end(period)
    rows = tx.list_rows("far_off_positions_of_quarter", _build_days(period))
    previous_rows = tx.list_rows("far_off_positions_of_quarter", _build_days(previous_period))
    closed_rows = [row for row in previous_rows if row["closed_flow"] is not None]
    return _judge(tx, rows, period) + _judge(tx, closed_rows, previous_period, are_closed=True)


def _build_days(period: str) -> dict[str, str]:
    """Return the dates that are parameters of a quarter's queries. Splits from ``after`` to ``before`` count."""
    split_end = date.fromisoformat(period) + timedelta(days=SPLIT_DAYS)
    return {
        "period": period,
        "following": quarters.get_next_end(period),
        "after": quarters.get_previous_end(period),
        "before": split_end.isoformat(),
    }


def _judge(tx: Transaction, rows: Iterable[Row], period: str, *, are_closed: bool = False) -> list[DoubtedPosition]:
    """Return the doubtful positions: those that no split, closing price or other manager explains."""
    positions = []
    for row in rows:
        reason = _find_reason(tx, row, period)
        if reason is None:
            continue
        position = DoubtedPosition(
            cik=row["cik"],
            security_id=row["security_id"],
            sic_group=row["sic_group"],
            is_etf=bool(row["is_etf"]),
            reason=reason,
            price=None if row["price"] is None else Decimal(row["price"]).quantize(Decimal("0.0001")),
            value=0 if are_closed else row["value"],
            flow=row["closed_flow"] if are_closed else row["flow"] or 0,
        )
        positions.append(position)
    return positions


def _find_reason(tx: Transaction, row: Row, period: str) -> ValueDoubt | None:
    """Return why a position is doubtful, or None."""
    implied_price = row["value"] / row["shares"]
    if row["has_equal_columns"] and row["shares"] >= MIN_EQUAL_SHARES:
        is_agreed = row["price"] is not None and _are_similar(implied_price, row["price"], MAX_EQUAL_PRICE_RATIO)
        if is_agreed or _is_confirmed_by_close(tx, row, period, implied_price, MAX_EQUAL_PRICE_RATIO):
            return None
        return "shares_equal_value"
    sign = 0 if row["price"] is None else value_units.get_thousandfold_sign(implied_price, row["price"])
    if not sign or _is_explained_by_split(row, implied_price / row["price"]):
        return None
    if _is_confirmed_by_close(tx, row, period, implied_price):
        return None
    return "thousand_times_other_managers" if sign > 0 else "thousandth_of_other_managers"


def _is_explained_by_split(row: Row, ratio: float) -> bool:
    """Return True if one report may have the shares before a split, and the others the shares after it."""
    factors = [float(factor) for factor in json.loads(row["splits"])]
    return any(_are_similar(ratio, factor) or _are_similar(ratio, 1 / factor) for factor in factors)


def _is_confirmed_by_close(
    tx: Transaction, row: Row, period: str, implied_price: float, max_ratio: float = MAX_PRICE_RATIO
) -> bool:
    """Return True if a stored closing price says that the position is right and the other managers are wrong."""
    close = price_series.find_close(tx, row["ticker"], period) if row["is_priced"] else None
    if close is None or close.source == "synthetic":
        return False
    return _are_similar(implied_price, float(close.close), max_ratio)


def _are_similar(first: float, second: float, max_ratio: float = MAX_PRICE_RATIO) -> bool:
    return second / max_ratio <= first <= second * max_ratio


def build_doubt_members(position: DoubtedPosition | None) -> dict[str, ValueDoubt | Decimal | None]:
    """Return the fields of a position's record that state the doubt, both None if there is none."""
    if position is None:
        return {"value_doubt": None, "others_price": None}
    return {"value_doubt": position.reason, "others_price": position.price}


# ---- sums of doubtful positions


class DoubtMembers(TypedDict):
    """The doubtful part of sums, as response fields."""

    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow


@dataclass(slots=True)
class DoubtSum:
    """The doubtful part of a sum: the number of positions, and dollars held, bought and sold."""

    count: int = 0
    value: int = 0
    bought: int = 0
    sold: int = 0

    def add(self, position: DoubtedPosition) -> None:
        """Add a position to the sum."""
        self.count += 1
        self.value += position.value
        self.bought += max(position.flow, 0)
        self.sold += max(-position.flow, 0)

    @property
    def flow(self) -> int:
        """Return the dollars bought less those sold."""
        return self.bought - self.sold

    def build_members(self) -> DoubtMembers:
        """Return the sums as response fields."""
        return {"doubted_count": self.count, "doubted_value": self.value, "doubted_flow": self.flow}


def sum_doubts(positions: Iterable[DoubtedPosition]) -> DoubtSum:
    """Return the sum of some positions."""
    total = DoubtSum()
    for position in positions:
        total.add(position)
    return total


def sum_doubts_by(
    positions: Sequence[DoubtedPosition], key: Callable[[DoubtedPosition], Key]
) -> Mapping[Key, DoubtSum]:
    """Return the sums of some positions by ``key``. A key without positions is left out."""
    sum_by_key: dict[Key, DoubtSum] = {}
    for position in positions:
        sum_by_key.setdefault(key(position), DoubtSum()).add(position)
    return sum_by_key
