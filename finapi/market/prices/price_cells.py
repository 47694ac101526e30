"""The cells of a price file: days, prices, volumes and splits, as vendors and programs write them.

Numbers become exact decimals as text, with all digits of the cell: ``1.05e1`` gives "10.5". A day is written as
``2024-12-31``, ``2024-12-31 00:00:00-05:00``, ``2024.12.31``, ``20241231``, ``12/31/2024``, ``12/31/24``,
``Dec 31, 2024``, ``31-Dec-2024``, ``31.12.2024``, or as a Unix time in seconds, milliseconds, microseconds or
nanoseconds. A Unix time gives the day in UTC, which is the trading day of each exchange of the United States.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import NamedTuple

from finapi.core.days import MONTH_NAMES

_MISSING = {"", "null", "nan", "nat", "none", "n/a", "na", "n/d", "<na>", "#n/a", "-", "--", "\u2013", "\u2014"}
_MAX_QUOTED_CHARS = 40  # Characters of a cell that a message quotes.

# An integer part with or without commas, decimals, an exponent.
_NUMBER = re.compile(
    r"\+?\$?(?P<digits>[1-9][0-9]{0,2}(?:,[0-9]{3}){1,9}|[0-9]{0,40})"
    r"(?:\.(?P<decimals>[0-9]{0,1000}))?(?:[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)
# A number whose decimals follow a comma: 12,34 or 1.234,56 or 0,123, but not 1,234 and not 1,23,456.
_DECIMAL_COMMA = re.compile(
    r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+|0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|[0-9]{4,},[0-9]{3}"
)
# A number whose only comma may come before decimals or before thousands, and one that shows that it comes before
# thousands: 1,234,567 or 1,234.5 or 12.34.
_UNCLEAR_COMMA = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")
_CLEAR_COMMA = re.compile(r"[0-9]{1,3}(?:(?:,[0-9]{3}){2,}|,[0-9]{3}\.[0-9]*)|[0-9]*\.(?:[0-9]{1,2}|[0-9]{4,})")
_MIN_EXPONENT, _MAX_EXPONENT = -30, 15  # Powers of ten of the smallest price and the largest volume.
_UNIT_EXPONENTS = {"K": 3, "M": 6, "B": 9, "T": 12}  # Of abbreviated volumes, such as 82.49M.
EXACT = Context(prec=3_000)  # Enough digits for the exact sum of two prices.
_SPLIT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,30})?)\s*(?::|/|-?for-?| for )\s*([0-9]{1,9}(?:\.[0-9]{1,30})?)")
_MAX_SPLIT_RATIO = 10**6

_TIME = r"(?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9.]{2,12})?(?:\s?[AP]M)?)"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|EST|EDT|[+-][0-9]{2}(?::?[0-9]{2}){0,2}))?"
_CLOCK = rf"(?:(?:[T ]|,\s){_TIME}{_ZONE})?"
_ISO_DAY = re.compile(rf"([0-9]{{4}})(?:([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}})|([0-9]{{2}})([0-9]{{2}})){_CLOCK}")
_SLASHED_DAY = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}|[0-9]{{2}}){_CLOCK}")
_DOTTED_DAY = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_CLOCK}")
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s)?"
_MONTH = r"(?P<month>[a-z]{3,9})\.?"
_MONTH_FIRST_DAY = re.compile(rf"(?i){_WEEKDAY}{_MONTH}[ -](?P<day>[0-9]{{1,2}}),?[ -](?P<year>[0-9]{{4}}){_CLOCK}")
_MONTH_SECOND_DAY = re.compile(
    rf"(?i){_WEEKDAY}(?P<day>[0-9]{{1,2}})[ -]{_MONTH},?[ -](?P<year>[0-9]{{4}}|[0-9]{{2}}){_CLOCK}"
)
# A Unix time with 9 or 10 digits is in seconds: 9 digits until 2001. Each further unit has three digits more. pandas
# may write it with a point and decimals. Eight digits are a day such as 20241231.
_UNIX_TIME = re.compile(r"([0-9]{9,10})((?:[0-9]{3}){0,3})(?:\.[0-9]*)?")
_FIRST_CENTURY_YEAR = 70  # Years with two digits: from this one on they are 19xx, below it 20xx.


class DayOrderError(ValueError):
    """A date such as 31/12/2024, with the day before the month.

    A file with such a date must be refused, because 05/04/2024 in it would be read as 4 May without an error.
    """


class DecimalCommaError(ValueError):
    """A number such as 12,34, whose decimals follow a comma.

    A file with such a number must be refused, because 12,345 in it would be read as 12345 without an error.
    """


class Moment(NamedTuple):
    """The day of a row as an ISO date, and its time of the day as the file writes it, or ""."""

    day: str
    time: str


def is_missing(text: str) -> bool:
    """Return True for an empty cell and for the words that stand for one."""
    return text.lower() in _MISSING


def parse_price(text: str, column: str) -> str | None:
    """Return an exact decimal as text, "0" included, or None if it is missing.

    Raise DecimalCommaError for a number with a decimal comma, and ValueError for any other text.
    """
    if is_missing(text):
        return None
    price = _parse_number(text)
    if price is None:
        raise ValueError(f"{column} {text[:_MAX_QUOTED_CHARS]!r} is not a price")
    return price


def parse_volume(text: str) -> str | None:
    """Return the exact number of shares as text, also of a fraction of a share or of 82.49M; None if it is missing.

    Raise DecimalCommaError for a number with a decimal comma, and ValueError for any other text.
    """
    if is_missing(text):
        return None
    unit_exponent = _UNIT_EXPONENTS.get(text[-1].upper(), 0)
    number = _parse_number(text[:-1].rstrip() if unit_exponent else text, unit_exponent)
    if number is None:
        raise ValueError(f"volume {text[:_MAX_QUOTED_CHARS]!r} is not a number of shares")
    return number


def parse_split(text: str) -> str | None:
    """Return the number of new shares for one old share, from "4:1", "4-for-1" or "4"; None if there is no split."""
    if is_missing(text):
        return None
    reason = f"split {text[:_MAX_QUOTED_CHARS]!r} is not a ratio"
    match = _SPLIT.fullmatch(text.lower())
    try:
        if match is not None:
            ratio = Decimal(match[1]) / Decimal(match[2])
        else:
            ratio = Decimal(_parse_number(text) or "-1")
    except ArithmeticError:
        raise ValueError(reason) from None
    if ratio == 0 and match is None:
        return None  # Tables with a column of splits have a zero on all other days.
    if not 0 < ratio < _MAX_SPLIT_RATIO:
        raise ValueError(reason)
    return None if ratio == 1 else format_decimal(ratio)


def _parse_number(text: str, unit_exponent: int = 0) -> str | None:
    """Return the exact decimal of a number that is not negative, or None if it is not one or out of range.

    Raise DecimalCommaError if its decimals follow a comma.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        if _DECIMAL_COMMA.fullmatch(text):
            quoted = repr(text[:_MAX_QUOTED_CHARS])
            raise DecimalCommaError(f"the number {quoted} has a decimal comma; write decimals with a point")
        return None
    digits = match["digits"].replace(",", "")
    decimals = match["decimals"] or ""
    if not digits + decimals:
        return None
    exponent = int(match["exponent"] or 0) + unit_exponent
    number = Decimal(f"{digits}.{decimals}e{exponent}")
    if number and not _MIN_EXPONENT <= number.adjusted() < _MAX_EXPONENT:
        return None
    # Interned, because the open of a quiet day is also its high, low and close.
    return sys.intern(format_decimal(number))


def format_decimal(number: Decimal) -> str:
    """Return a number with all digits, without an exponent and without trailing zeros."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_moment(text: str) -> Moment:
    """Return the day of a cell, and its time of the day, if any.

    Raise ValueError for any other text, and DayOrderError if the month comes second between slashes. With two digits
    for the year, the month is assumed to come first (see :func:`has_short_year`).
    """
    iso = _ISO_DAY.fullmatch(text)
    if iso is not None:
        return _build_moment(text, iso[1], iso[3] or iso[5], iso[4] or iso[6], iso["time"])
    slashed = _SLASHED_DAY.fullmatch(text)
    if slashed is not None:
        if int(slashed[1]) > 12:
            quoted = repr(text[:_MAX_QUOTED_CHARS])
            raise DayOrderError(f"the date {quoted} is not month/day/year, so no date of the file can be trusted")
        return _build_moment(text, slashed[3], slashed[1], slashed[2], slashed["time"])
    dotted = _DOTTED_DAY.fullmatch(text)
    if dotted is not None:
        return _build_moment(text, dotted[3], dotted[2], dotted[1], dotted["time"])
    with_month_name = _MONTH_FIRST_DAY.fullmatch(text) or _MONTH_SECOND_DAY.fullmatch(text)
    if with_month_name is not None:
        month = _find_month(with_month_name["month"])
        return _build_moment(text, with_month_name["year"], month, with_month_name["day"], with_month_name["time"])
    unix_time = _UNIX_TIME.fullmatch(text)
    if unix_time is not None:
        moment = datetime.fromtimestamp(int(unix_time[1]), UTC)
        return Moment(sys.intern(moment.date().isoformat()), moment.time().isoformat())
    raise ValueError(f"{text[:_MAX_QUOTED_CHARS]!r} is not a day")


def _find_month(name: str) -> str:
    """Return the number of a month by its name or an abbreviation of at least three letters, or "0"."""
    for number, month in enumerate(MONTH_NAMES, 1):
        if month.lower().startswith(name.lower()):
            return str(number)
    return "0"


def _build_moment(text: str, year: str, month: str, day: str, time: str | None) -> Moment:
    full_year = int(year)
    if len(year) == 2:
        full_year += 1900 if full_year >= _FIRST_CENTURY_YEAR else 2000
    try:
        iso_day = date(full_year, int(month), int(day)).isoformat()
    except ValueError:
        raise ValueError(f"{text[:_MAX_QUOTED_CHARS]!r} is not a day") from None
    return Moment(sys.intern(iso_day), time or "")


def has_short_year(text: str) -> bool:
    """Return True for a date such as 01/02/24, which may be of January or February.

    Dates with four digits for the year are American by convention. With two digits, other orders are just as common,
    so a file needs a date whose second number is above 12 (:func:`is_american_day`).
    """
    match = _SLASHED_DAY.fullmatch(text)
    return match is not None and len(match[3]) == 2


def is_american_day(text: str) -> bool:
    """Return True for a date such as 01/31/24, which shows that the month comes first."""
    match = _SLASHED_DAY.fullmatch(text)
    return match is not None and int(match[1]) <= 12 < int(match[2]) <= 31


def has_unclear_comma(text: str) -> bool:
    """Return True for a number such as 12,345, whose comma may come before decimals or before thousands."""
    return _UNCLEAR_COMMA.fullmatch(text) is not None


def has_clear_comma(text: str) -> bool:
    """Return True for a number such as 1,234.5 or 12.34, which shows that decimals of the file follow a point."""
    return _CLEAR_COMMA.fullmatch(text) is not None


def is_dotted_day(text: str) -> bool:
    """Return True for a day such as 31.12.2024, as countries write it whose numbers have a decimal comma."""
    return _DOTTED_DAY.fullmatch(text) is not None
