"""The reason why a series has no rows, and the series of the company that have some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf
from finapi.market.financials.periods import Period
from finapi.market.financials.series_query import SeriesQuery, format_years

REPORTED_KINDS = ("A", "Q")  # The rows of the other kinds of series are computed from these, and may be holes.
_REASONS = {
    "A": "No annual report is stored.",
    "Q": "No quarterly report is stored.",
    "TTM": "No four quarters in a row are stored.",
    "YTD": "No figures from the start of a fiscal year are stored.",
}


class AvailableSeries(TypedDict):
    """A series of the company that has rows, by the value of ``period`` that selects it."""

    period: Annotated[str, OneOf(REPORTED_KINDS)]
    row_count: int
    first_period_end: Date
    last_period_end: Date


class EmptySeries(TypedDict):
    """The reason why a series has no rows, and the series that have some."""

    reason: str
    available: list[AvailableSeries]


def explain_empty(
    query: SeriesQuery, periods: Sequence[Period], list_periods: Callable[[str], Sequence[Period]]
) -> EmptySeries:
    """Return the reason why a query selects no row.

    ``periods`` are those of the queried series before a selection. ``list_periods`` returns those of a kind of series.
    """
    available = [
        _build_available(kind, kind_periods) for kind in REPORTED_KINDS if (kind_periods := list_periods(kind))
    ]
    years = format_years(period.fiscal_year for period in periods)
    if len(periods) == 1:
        reason = f"The query does not select the only stored row, of the fiscal year {years}."
    elif periods:
        reason = f"The query selects none of the {len(periods):,} stored rows, of the fiscal years {years}."
    else:
        reason = _REASONS[query.period]
        others = [f"period={series['period']} has {series['row_count']:,}" for series in available]
        reason += f" Rows of other periods: {', '.join(others)}." if others else " There are no rows of other periods."
    return {"reason": reason, "available": available}


def _build_available(kind: str, periods: Sequence[Period]) -> AvailableSeries:
    return {
        "period": kind,
        "row_count": len(periods),
        "first_period_end": days.iso(min(period.end for period in periods)),
        "last_period_end": days.iso(max(period.end for period in periods)),
    }
