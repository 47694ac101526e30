"""Doubtful days of prices: days after today, weekends, closes outside high and low, and hundredfold jumps.

They are served as the files state them, with the reason as ``price_doubt``. For example, a close of 1,010 between
closes of 10 and 10.2 is most likely in pence instead of pounds.

A close is a hundredfold jump in either of two cases. It may be far from the closes around it: from both closes in the
middle of the sorted :data:`NEIGHBOURS` closes before and after it. Or it may be far from the close before it, if that
one is not far from its own surroundings. So all days of a short error are marked, and of a change that lasts only the
first day. Splits that are stored explain jumps, and closes are compared after them.

The doubts of a day depend on the days around it, and are recomputed when one of these changes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal, localcontext

from finapi.market.prices import price_series
from finapi.market.prices.price_series import ONE, PriceDoubt, PriceSeries
from finapi.store.db import Transaction

NEIGHBOURS = 10  # Closes on each side of a close that it is compared with.
JUMP_FACTOR = 50  # Prices change while an error of a factor of one hundred lasts.
# A close may differ this much from the high because of rounded binary numbers.
_ROUNDING = Decimal("0.000001")
_PRECISION = 28  # Significant digits of comparisons.


class _Day:
    """A stored day, with its close divided by the splits after it."""

    def __init__(
        self, day: str, high: str | None, low: str | None, close: str, stored_doubt: PriceDoubt | None
    ) -> None:
        self.date = day
        self.high = None if high is None else Decimal(high)
        self.low = None if low is None else Decimal(low)
        self.close = Decimal(close)
        self.stored_doubt = stored_doubt
        self.comparable_close = self.close


def recompute(tx: Transaction, series: PriceSeries, changed_days: Collection[str], today: str | None) -> int:
    """Recompute the doubts of changed days and of their neighbours. Return the number of doubtful changed days.

    The prices of a day after ``today`` stay doubtful when that day has come, because they were stored before it. If
    ``today`` is None, no day is marked for being in the future.
    """
    if not changed_days:
        return 0
    first, last = min(changed_days), max(changed_days)
    # The neighbours are compared with their own neighbours, and the first of them with the day before it.
    rows = tx.list_rows("days_around", series_id=series.id, first=first, last=last, neighbours=2 * NEIGHBOURS)
    stored_days = [_Day(*row) for row in rows]
    with localcontext(prec=_PRECISION):
        _set_comparable_closes(stored_days, price_series.list_adjustments(tx, series))
        doubts = _find_doubts(stored_days, today)
    dates = [day.date for day in stored_days]
    start = max(bisect_left(dates, first) - NEIGHBOURS, 0)
    end = bisect_right(dates, last) + NEIGHBOURS
    changes = []
    doubtful_count = 0
    for day, doubt in list(zip(stored_days, doubts, strict=True))[start:end]:
        if doubt != day.stored_doubt:
            changes.append((doubt, series.id, day.date))
        doubtful_count += doubt is not None and day.date in changed_days
    tx.insert_rows("update_doubt", changes)
    return doubtful_count


def _set_comparable_closes(stored_days: Sequence[_Day], adjustments: Sequence[price_series.Adjustment]) -> None:
    """Set the comparable close of each day: its close divided by the later splits."""
    factor = ONE
    later_splits = [adjustment for adjustment in adjustments if adjustment.split_factor != ONE]
    for day in reversed(stored_days):
        while later_splits and later_splits[-1].date > day.date:
            factor *= later_splits.pop().split_factor
        day.comparable_close = day.close * factor


def _find_doubts(stored_days: Sequence[_Day], today: str | None) -> list[PriceDoubt | None]:
    """Return the doubt of each day. For the outermost days it may be wrong, as their neighbours are not known."""
    closes = [day.comparable_close for day in stored_days]
    are_far = [_is_far_from_neighbours(closes, index) for index in range(len(closes))]
    doubts: list[PriceDoubt | None] = []
    for index, day in enumerate(stored_days):
        is_jump = are_far[index]
        if index > 0 and not are_far[index - 1]:
            is_jump = is_jump or _is_far(closes[index], closes[index - 1])
        if (today is not None and day.date > today) or day.stored_doubt == "future_day":
            doubts.append("future_day")
        elif is_jump:
            doubts.append("hundredfold_jump")
        elif _is_outside_range(day):
            doubts.append("close_outside_range")
        elif date.fromisoformat(day.date).weekday() >= 5:
            doubts.append("weekend")
        else:
            doubts.append(None)
    return doubts


def _is_far_from_neighbours(closes: Sequence[Decimal], index: int) -> bool:
    neighbours = sorted([*closes[max(index - NEIGHBOURS, 0) : index], *closes[index + 1 : index + 1 + NEIGHBOURS]])
    if not neighbours:
        return False
    lower_median = neighbours[(len(neighbours) - 1) // 2]
    upper_median = neighbours[len(neighbours) // 2]
    return _is_far(closes[index], lower_median) and _is_far(closes[index], upper_median)


def _is_far(price: Decimal, other: Decimal) -> bool:
    return price > other * JUMP_FACTOR or other > price * JUMP_FACTOR


def _is_outside_range(day: _Day) -> bool:
    tolerance = day.close * _ROUNDING
    is_above = day.high is not None and day.close > day.high + tolerance
    is_below = day.low is not None and day.close < day.low - tolerance
    return is_above or is_below
