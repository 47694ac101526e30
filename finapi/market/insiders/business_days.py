"""Business days of the SEC: every day except Saturdays, Sundays and federal holidays.

Source: 5 U.S.C. 6103 and Executive Order 11582. A holiday that falls on a Saturday is observed on Friday, one that
falls on a Sunday on Monday. Single days on which the President closed the government are not included.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6
_FIRST_JUNETEENTH = 2021  # Public Law 117-17


def count_between(start: date, end: date) -> int:
    """Return the number of business days after ``start``, up to and including ``end``; 0 if ``end`` is not later."""
    if end <= start:
        return 0
    weeks, remaining_days = divmod((end - start).days, 7)
    weekdays = weeks * 5
    for days_before_end in range(remaining_days):
        if (end - timedelta(days_before_end)).weekday() < SATURDAY:
            weekdays += 1
    holiday_count = 0
    for year in range(start.year, end.year + 1):
        holiday_count += sum(1 for holiday in get_holidays(year) if start < holiday <= end)
    return weekdays - holiday_count


def is_business_day(day: date) -> bool:
    """Return True if the SEC accepts filings on this day."""
    return day.weekday() < SATURDAY and day not in get_holidays(day.year)


def get_first_on_or_after(day: date) -> date:
    """Return ``day`` or the next business day, to which a due date moves (Rule 0-3 of the Exchange Act)."""
    while not is_business_day(day):
        day += timedelta(1)
    return day


@cache
def get_holidays(year: int) -> frozenset[date]:
    """Return the weekdays of a year on which federal holidays are observed."""
    fixed = [date(year, 1, 1), date(year, 7, 4), date(year, 11, 11), date(year, 12, 25)]
    if year >= _FIRST_JUNETEENTH:
        fixed.append(date(year, 6, 19))
    if year < date.max.year:
        # New Year's Day of the next year is observed on the last day of this year if it is a Saturday.
        fixed.append(date(year + 1, 1, 1))
    observed = {_get_observed_day(day) for day in fixed}
    observed |= {
        _get_nth_weekday(year, 1, MONDAY, 3),
        _get_nth_weekday(year, 2, MONDAY, 3),
        _get_nth_weekday(year, 6, MONDAY, 1) - timedelta(7),  # The last Monday of May.
        _get_nth_weekday(year, 9, MONDAY, 1),
        _get_nth_weekday(year, 10, MONDAY, 2),
        _get_nth_weekday(year, 11, THURSDAY, 4),
    }
    return frozenset(day for day in observed if day.year == year)


def _get_observed_day(day: date) -> date:
    if day.weekday() == SATURDAY:
        return day - timedelta(1)
    if day.weekday() == SUNDAY:
        return day + timedelta(1)
    return day


def _get_nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (nth - 1))
