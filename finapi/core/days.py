"""Calendar days: ISO texts (``2024-03-31``) in rows and answers, integers where days are counted.

A day's number is the number of days since 1970-01-01. Times of day are written by :func:`finapi.core.clock.iso`.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

EPOCH = date(1970, 1, 1)
_EPOCH_ORDINAL = EPOCH.toordinal()

MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse(text: str) -> date:
    """Return the date of a text ``YYYY-MM-DD``. Raise ValueError for other forms such as ``20240131`` or week dates."""
    if not _ISO_DATE.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a date YYYY-MM-DD")
    return date.fromisoformat(text)


def from_digits(text: str) -> str:
    """Return the ISO date of a text ``YYYYMMDD``. Raise ValueError for any other text."""
    try:
        return parse(f"{text[:4]}-{text[4:6]}-{text[6:]}").isoformat()
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a date YYYYMMDD") from None


def validate(text: str) -> str:
    """Return a text unchanged if it is a date ``YYYY-MM-DD``. Raise ValueError if not."""
    parse(text)
    return text


def is_day(text: str) -> bool:
    """Return True if a text is a date ``YYYY-MM-DD``."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=50_000)
def number(day: str) -> int:
    """Return the day number of an ISO date."""
    return date.fromisoformat(day).toordinal() - _EPOCH_ORDINAL


@lru_cache(maxsize=50_000)
def iso(number: int) -> str:
    """Return the ISO date of a day number."""
    return date.fromordinal(number + _EPOCH_ORDINAL).isoformat()


def shift(day: str, days: int) -> str:
    """Return the ISO date ``days`` after another, or before it if negative. Raise OverflowError beyond year 9999."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def count_days(start: str | None, end: str) -> int:
    """Return the number of days of a period, including both ends. An instant, which has no start, has 0."""
    return 0 if start is None else number(end) - number(start) + 1
