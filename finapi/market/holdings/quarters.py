"""Calendar quarters, and when the 13F reports of one are due."""

from __future__ import annotations

import re
from datetime import date, timedelta

_LAST_DAYS = {3: 31, 6: 30, 9: 30, 12: 31}

# The last days of quarters as texts: beyond these years a neighbouring quarter could not be written.
PATTERN = "(?:(?:19|20|21)[0-9]{2}|2200)-(?:03-31|06-30|09-30|12-31)"

# Rule 13f-1: within 45 days after the end of the quarter.
DUE_DAYS = 45


def is_quarter_end(day: date) -> bool:
    """Whether a calendar quarter ends on this day."""
    return _LAST_DAYS.get(day.month) == day.day


def validate_quarter_end(text: str) -> str:
    """``text``, which must be the last day of a quarter, ``YYYY-MM-DD``; ValueError for anything else."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError(f"{text[:40]} is not the last day of a quarter")
    return text


def get_previous_end(period: str) -> str:
    """The end of the quarter before the one that ends on ``period``, as ISO dates."""
    return get_latest_end(date.fromisoformat(period)).isoformat()


def get_next_end(period: str) -> str:
    """The end of the quarter after the one that ends on ``period``, as ISO dates."""
    # 95 days on, in the quarter after that one.
    return get_latest_end(date.fromisoformat(period) + timedelta(days=95)).isoformat()


def get_first_and_last_day(period: str) -> tuple[str, str]:
    """The first and the last day of the quarter that ends on ``period``."""
    return (date.fromisoformat(get_previous_end(period)) + timedelta(days=1)).isoformat(), period


def get_latest_end(day: date) -> date:
    """The end of the last quarter that was over before ``day``."""
    first = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    return first - timedelta(days=1)


def get_filing_deadline(period: str) -> date:
    """The last day on which a 13F of this quarter is in time.

    The 45th day, or the next business day when it falls on a weekend or a holiday (Rule 0-3); of the federal
    holidays only Presidents' Day, the third Monday of February, comes near one of the four days.
    """
    due = date.fromisoformat(period) + timedelta(days=DUE_DAYS)
    while due.weekday() >= 5 or (due.month == 2 and due.weekday() == 0 and 15 <= due.day <= 21):
        due += timedelta(days=1)
    return due
