"""Conversion between UTC and US Eastern time, which EDGAR uses, and the format of times in finapi.

The daylight saving rules are in this module because a host may lack the data of ``zoneinfo``. Source: 15 U.S.C. 260a.
From 1987 to 2006 daylight saving time lasted from the first Sunday of April to the last of October, since 2007 from the
second Sunday of March to the first of November. Clocks change at 02:00.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

FIRST_YEAR = 1987

_SUMMER_OFFSET = timedelta(hours=4)
_WINTER_OFFSET = timedelta(hours=5)


def to_utc(local: datetime) -> datetime:
    """Return the aware UTC time of a naive US Eastern time. Raise ValueError before 1987 and for an aware time.

    As with ``fold=0`` of zoneinfo, a time that occurs twice in autumn is taken as the first, and a time that is skipped
    in spring as standard time.
    """
    if local.tzinfo is not None:
        raise ValueError("an Eastern time must be naive, without a time zone")
    return (local + get_offset(local)).replace(tzinfo=UTC)


def parse_iso(text: str) -> str:
    """Return the UTC time, as :func:`format_utc` writes it, of a US Eastern time in ISO format without a time zone.

    Raise ValueError for any other text, and before 1987.
    """
    return format_utc(to_utc(datetime.fromisoformat(text)))


def from_utc(moment: datetime) -> datetime:
    """Return the US Eastern time of a UTC time, both naive."""
    local = moment - _SUMMER_OFFSET
    return local if get_offset(local) == _SUMMER_OFFSET else moment - _WINTER_OFFSET


def get_offset(local: datetime) -> timedelta:
    """Return how far a naive US Eastern time is behind UTC. Raise ValueError before 1987."""
    if local.year < FIRST_YEAR:
        raise ValueError(f"no daylight saving rule for {local.year}")
    start, end = _get_summer(local.year)
    return _SUMMER_OFFSET if start <= local < end else _WINTER_OFFSET


def format_utc(moment: datetime) -> str:
    """Return an aware time as ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@lru_cache(maxsize=128)
def _get_summer(year: int) -> tuple[datetime, datetime]:
    """Return the wall-clock times at which daylight saving time begins and ends in a year.

    A time in the skipped hour, from 02:00 to 03:00, counts as standard time, so the beginning is 03:00.
    """
    if year >= 2007:
        first_day = _find_sunday(year, 3, 8)
        last_day = _find_sunday(year, 11, 1)
    else:
        first_day = _find_sunday(year, 4, 1)
        last_day = _find_sunday(year, 10, 25)
    return first_day + timedelta(hours=3), last_day + timedelta(hours=2)


def _find_sunday(year: int, month: int, first_day: int) -> datetime:
    """Return the first Sunday on or after a day, at midnight."""
    day = date(year, month, first_day)
    sunday = day + timedelta(days=(6 - day.weekday()) % 7)
    return datetime.combine(sunday, datetime.min.time())
