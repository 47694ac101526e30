"""The period that a claim names: a fiscal year, quarter or part of a year, its last day, or its first and last day."""

from __future__ import annotations

import re
from typing import NamedTuple

from finapi.core import days

# The kinds of series that may have a period, by the word before it.
_KINDS_BY_WORD = {"ttm": "TTM", "ltm": "TTM", "ytd": "YTD"}
_QUARTERS_BY_PART = {"h1": "Q2", "1h": "Q2", "6m": "Q2", "9m": "Q3", "3m": "Q1"}
_YEAR = r"(?:fy|fiscal year|fiscal)?[ -]*(?P<year>(?:19|20)?[0-9]{2})"
_FISCAL_YEAR = re.compile(r"(?:fy|fiscal year|fiscal)[ -]*((?:19|20)?[0-9]{2})|((?:19|20)[0-9]{2})(?:[ -]*fy)?")
_PART = r"(?P<part>q[1-4]|[1-4]q|h1|1h|3m|6m|9m)"
_PART_FIRST = re.compile(rf"{_PART}[ '/-]*{_YEAR}")
_PART_LAST = re.compile(rf"{_YEAR}[ /-]*{_PART}")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_RANGE = re.compile(rf"({_DAY})(?:\.\.|/| - | to |:)({_DAY})")
_ENDED = re.compile(rf"(?:(year|quarter|twelve months|12 months)[ -]*end(?:ed|ing) )?({_DAY})")
_KINDS_BY_ENDED = {"year": "A", "quarter": "Q", "twelve months": "TTM", "12 months": "TTM"}
# Years of two digits below this one are of this century.
FIRST_SHORT_YEAR = 70


class ClaimedPeriod(NamedTuple):
    """A period as a claim names it. Members that the claim leaves open are None; days are numbers."""

    kind: str | None = None  # The kind of series: A, Q, YTD or TTM.
    fiscal_year: int | None = None
    fiscal_period: str | None = None  # FY or Q1 to Q4; of a year to date, its last quarter.
    start: int | None = None
    end: int | None = None


def parse_period(text: str) -> ClaimedPeriod:
    """Return the period of a text such as "FY2023", "Q3 2023", "9M 2023", "2023-09-30" or "2023-01-01..2023-09-30".

    Raise ValueError for another text.
    """
    words = " ".join(text.lower().split())
    first_word, _, later_words = words.partition(" ")
    kind = _KINDS_BY_WORD.get(first_word)
    if kind is not None:
        words = later_words
    range_match = _RANGE.fullmatch(words)
    if range_match is not None:
        start, end = days.number(range_match[1]), days.number(range_match[2])
        if start > end:
            raise ValueError(text)
        return ClaimedPeriod(kind, start=start, end=end)
    day_match = _ENDED.fullmatch(words)
    if day_match is not None:
        return ClaimedPeriod(kind or _KINDS_BY_ENDED.get(day_match[1]), end=days.number(day_match[2]))
    year_match = _FISCAL_YEAR.fullmatch(words)
    if year_match is not None:
        year = _complete_year(year_match[1] or year_match[2])
        # Twelve months and a year to date that end with a fiscal year are named by its last quarter.
        return ClaimedPeriod(kind or "A", year, "FY" if kind is None else "Q4")
    part_match = _PART_FIRST.fullmatch(words) or _PART_LAST.fullmatch(words)
    if part_match is None:
        raise ValueError(text)
    part = part_match["part"]
    if part in _QUARTERS_BY_PART:
        return ClaimedPeriod(kind or "YTD", _complete_year(part_match["year"]), _QUARTERS_BY_PART[part])
    quarter = f"Q{part.strip('q')}"
    return ClaimedPeriod(kind or "Q", _complete_year(part_match["year"]), quarter)


def _complete_year(text: str) -> int:
    year = int(text)
    if len(text) > 2:
        return year
    return year + (2000 if year < FIRST_SHORT_YEAR else 1900)
