"""Calendar quarters, and the days on which their 13F reports are due.

A quarter is written as its last day: ``2026-03-31`` is the first quarter of 2026.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

_LAST_DAY_BY_MONTH = {3: 31, 6: 30, 9: 30, 12: 31}

# A regular expression for the last days of quarters. The years are limited so that previous and next quarters are valid
# too.
PATTERN = "(?:(?:19|20|21)[0-9]{2}|2200)-(?:03-31|06-30|09-30|12-31)"

# Rule 13f-1: a report is due within 45 days after the end of the quarter.
DUE_DAYS = 45

# This many days after the end of a quarter, the next quarter is over and the one after it is not.
_DAYS_PAST_NEXT_END = 95


def is_quarter_end(day: date) -> bool:
    """Return True if a calendar quarter ends on this day."""
    return _LAST_DAY_BY_MONTH.get(day.month) == day.day


def validate_quarter_end(text: str) -> str:
    """Return ``text`` if it is the last day of a quarter, ``YYYY-MM-DD``. Raise ValueError for any other text."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError(f"{text[:40]} is not the last day of a quarter")
    return text


def parse_quarter(text: str) -> str:
    """Return the last day of a quarter that is written as ``2025-12-31``, ``2025Q4`` or ``2025-Q4``.

    Raise ValueError for any other text.
    """
    quarter = re.fullmatch("([0-9]{4})-?[Qq]([1-4])", text)
    if quarter is None:
        return validate_quarter_end(text)
    month = int(quarter[2]) * 3
    return validate_quarter_end(f"{quarter[1]}-{month:02}-{_LAST_DAY_BY_MONTH[month]}")


def get_previous_end(period: str) -> str:
    """Return the end of the quarter before the quarter that ends on ``period``."""
    return get_latest_end(date.fromisoformat(period)).isoformat()


def get_next_end(period: str) -> str:
    """Return the end of the quarter after the quarter that ends on ``period``."""
    return get_latest_end(date.fromisoformat(period) + timedelta(days=_DAYS_PAST_NEXT_END)).isoformat()


def get_first_and_last_day(period: str) -> tuple[str, str]:
    """Return the first and the last day of the quarter that ends on ``period``."""
    first = date.fromisoformat(get_previous_end(period)) + timedelta(days=1)
    return first.isoformat(), period


def get_latest_end(day: date) -> date:
    """Return the end of the latest quarter that ended before ``day``."""
    first_of_quarter = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    return first_of_quarter - timedelta(days=1)


def get_filing_deadline(period: str) -> date:
    """Return the last day on which a 13F report for this quarter is on time.

    It is the 45th day, or the next business day if that falls on a weekend or a holiday (Rule 0-3). The only federal
    holiday that can coincide is Presidents' Day, the third Monday of February.
    """
    due = date.fromisoformat(period) + timedelta(days=DUE_DAYS)
    while due.weekday() >= 5 or _is_presidents_day(due):
        due += timedelta(days=1)
    return due


def _is_presidents_day(day: date) -> bool:
    return day.month == 2 and day.weekday() == 0 and 15 <= day.day <= 21
