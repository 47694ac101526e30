"""Business days of the SEC: every day but Saturdays, Sundays and federal holidays.

Source: 5 U.S.C. 6103 and Executive Order 11582 (a holiday on a Saturday is observed on Friday, one on a Sunday
on Monday). Days on which the President closed the government once are not in the rule and not here.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

MONDAY, THURSDAY = 0, 3
_JUNETEENTH_SINCE = 2021  # Public Law 117-17


def count_between(start: date, end: date) -> int:
    """How many business days lie after ``start`` up to and with ``end``; 0 when ``end`` is not later."""
    if end <= start:
        return 0
    weeks, rest = divmod((end - start).days, 7)
    days = weeks * 5 + sum(1 for n in range(rest) if (end - timedelta(n)).weekday() < 5)
    held = {day for year in range(start.year, end.year + 1) for day in holidays(year)}
    return days - sum(1 for day in held if start < day <= end)


def is_business_day(day: date) -> bool:
    """Whether the SEC takes filings on this day."""
    return day.weekday() < 5 and day not in holidays(day.year)


def first_on_or_after(day: date) -> date:
    """This day, or the next business day (Rule 0-3 of the Exchange Act: a due date moves to it)."""
    while not is_business_day(day):
        day += timedelta(1)
    return day


@cache
def holidays(year: int) -> frozenset[date]:
    """The weekdays of a year on which federal holidays are observed."""
    fixed = [date(year, 1, 1), date(year, 7, 4), date(year, 11, 11), date(year, 12, 25)]
    if year >= _JUNETEENTH_SINCE:
        fixed.append(date(year, 6, 19))
    if year < date.max.year:
        fixed.append(date(year + 1, 1, 1))  # on a Saturday it is observed on the last day of this year
    found = {_observed(day) for day in fixed}
    found |= {
        _nth(year, 1, MONDAY, 3),
        _nth(year, 2, MONDAY, 3),
        _nth(year, 6, MONDAY, 1) - timedelta(7),  # the last Monday of May
        _nth(year, 9, MONDAY, 1),
        _nth(year, 10, MONDAY, 2),
        _nth(year, 11, THURSDAY, 4),
    }
    return frozenset(day for day in found if day.year == year)


def _observed(day: date) -> date:
    shift = {5: -1, 6: 1}.get(day.weekday(), 0)
    return day + timedelta(shift)


def _nth(year: int, month: int, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (nth - 1))
