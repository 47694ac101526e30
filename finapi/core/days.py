"""Calendar days: ISO texts (``2024-03-31``) in rows and answers, whole numbers where they are counted.

A day's number is how many days it is after 1970-01-01. Moments are written by :func:`finapi.core.clock.iso`.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

EPOCH = date(1970, 1, 1)
_ZERO = EPOCH.toordinal()

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def parse(text: str) -> date:
    """The day of a text ``YYYY-MM-DD``; ValueError for any other, ``20240131`` and week dates among them."""
    if not _ISO.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a date YYYY-MM-DD")
    return date.fromisoformat(text)


def from_digits(text: str) -> str:
    """The ISO date of a text ``YYYYMMDD``; ValueError for any other."""
    try:
        return parse(f"{text[:4]}-{text[4:6]}-{text[6:]}").isoformat()
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a date YYYYMMDD") from None


def validate(text: str) -> str:
    """``text``, which must be a date ``YYYY-MM-DD``; ValueError for anything else."""
    parse(text)
    return text


def is_day(text: str) -> bool:
    """Whether ``text`` is a date ``YYYY-MM-DD``."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=50_000)
def number(day: str) -> int:
    """The number of an ISO date."""
    return date.fromisoformat(day).toordinal() - _ZERO


@lru_cache(maxsize=50_000)
def iso(number: int) -> str:
    """The ISO date of a day's number."""
    return date.fromordinal(number + _ZERO).isoformat()


def shift(day: str, days: int) -> str:
    """The ISO date so many days after another, or before it when negative; OverflowError outside the calendar."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def count_days(start: str | None, end: str) -> int:
    """How many days a period lasts, both ends included; 0 for an instant, which has no start."""
    return 0 if start is None else number(end) - number(start) + 1
