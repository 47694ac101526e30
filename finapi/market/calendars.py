"""A company's fiscal calendar as values: its years and transition periods, quarters and years to date.

Days are numbers, as in ``market/book.py``; how a calendar is found is in ``market/periods.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from finapi.market.book import Key

# Two periods whose ends and starts are this close are one, told in two ways.
SAME = 6
# A year to date that ends no later than this many days into a quarter belongs to the quarter before.
STUB_SLACK = 15
# Without an annual report the calendar is continued by this many days a year.
COMMON_YEAR = 365


class Period(NamedTuple):
    """A row of a series. ``keys`` are the durations that tell it, the usual one first; none where it can only be
    derived. ``start`` is None when nothing tells it. ``number`` counts the quarter within ``span``."""

    fiscal_year: int
    fiscal_period: str
    start: int | None
    end: int
    keys: tuple[Key, ...]
    span: int
    number: int


@dataclass(frozen=True, slots=True)
class Span:
    """A fiscal year (``kind`` "year"), a transition period, or a year not yet or never reported whole ("open")."""

    start: int
    end: int
    kind: str
    keys: tuple[Key, ...]
    fiscal_year: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """The spans of a company, oldest first; ``quarters`` and ``to_date`` by (span, number)."""

    spans: tuple[Span, ...]
    quarters: dict[tuple[int, int], Period]
    to_date: dict[tuple[int, int], tuple[Key, ...]]

    def years(self) -> list[Period]:
        """The fiscal years and transition periods that were reported, newest first."""
        names = {"year": "FY", "transition": "TP"}
        return [
            Period(span.fiscal_year, names[span.kind], span.start, span.end, span.keys, index, 4)
            for index, span in reversed(list(enumerate(self.spans)))
            if span.kind in names and span.keys
        ]

    def interim(self) -> list[Period]:
        """The quarters, newest first."""
        return sorted(self.quarters.values(), key=lambda one: (-one.end, -one.number))

    def years_to_date(self) -> list[Period]:
        """The years to date, newest first: first quarter, half year, nine months, year."""
        found = []
        for (index, number), keys in self.to_date.items():
            span = self.spans[index]
            end, days = keys[0]
            quarter = self.quarters.get((index, number))
            if quarter is None or abs(quarter.end - end) > SAME:
                # A stub, as before a merger: named after the quarter in which it ends.
                name = quarter_name(span, min(4, (days - STUB_SLACK) * 4 // COMMON_YEAR + 1))
            else:
                name = quarter.fiscal_period
            found.append(Period(span.fiscal_year, name, end - days + 1, end, keys, index, number))
        return sorted(found, key=lambda one: (-one.end, -one.number))


def quarter_name(span: Span, number: int) -> str:
    """Q1 to Q4; TQ1 and so on in a transition period."""
    return f"TQ{number}" if span.kind == "transition" else f"Q{number}"
