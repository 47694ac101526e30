"""Filings whose amounts are all a thousand or a million times too small or too large.

Some filers tag a complete report in thousands as if it were in dollars. The figures of such a filing do not contradict
each other, but all of them contradict the reports before and after it.

For each metric that changes little between reports, the figure of a filing's own period is compared with the median of
the nearest other filings. A filing is out of scale if at least two metrics are off by the same power of a thousand, and
at least two thirds of those that can be compared. Flows are compared by day, so that a year is comparable with a
quarter.

Example: the total assets in the reports of a year are 5,000,000, 5,100,000, 5,200 and 5,300,000, and revenue likewise.
The third report is in thousands: its figures times 1,000 fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import log10
from statistics import median
from typing import NamedTuple

from finapi.market.financials.fact_book import FactBook, Vintage
from finapi.market.financials.metric_mapping import MetricMapping

# The metrics that are compared. They rarely change much from report to report.
COMPARED_KEYS = (
    "total_assets",
    "total_liabilities",
    "total_equity",
    "revenue",
    "cost_of_revenue",
    "ppe_net",
    "accounts_receivable",
    "retained_earnings",
)
# The decimal logarithms of the factors by which a filing may be off, and their tolerance: half to double the factor.
SCALE_LOGARITHMS, LOGARITHM_TOLERANCE = (3, -3, 6, -6), 0.3
MAX_NEIGHBOURS = 3  # On each side.
MIN_NEIGHBOURS, MIN_METRICS = 2, 2
MIN_SHARE = 2 / 3
# Two amounts in different scales are the same if they differ by at most this part, because of rounding.
MAX_SCALE_ROUNDING = Decimal("0.01")


class OwnFigure(NamedTuple):
    """The figure of a filing's latest period: the last day and the decimal logarithm of the amount or daily flow."""

    end: int
    filing_index: int
    logarithm: float


def find_misscaled_filings(book: FactBook, mapping: MetricMapping) -> dict[int, Decimal]:
    """Return the filings of a book that are out of scale, each with the factor that corrects it."""
    factors_by_filing: dict[int, list[int | None]] = {}
    for key in COMPARED_KEYS:
        tags = dict.fromkeys(mapping.metrics[key].iter_tags())
        figures = sorted(_find_own_figures(book, tags))
        for index, figure in enumerate(figures):
            neighbours = (
                figures[max(0, index - MAX_NEIGHBOURS) : index] + figures[index + 1 : index + 1 + MAX_NEIGHBOURS]
            )
            if len(neighbours) >= MIN_NEIGHBOURS:
                difference = median(neighbour.logarithm for neighbour in neighbours) - figure.logarithm
                factors_by_filing.setdefault(figure.filing_index, []).append(_find_scale(difference))
    misscaled = {}
    for filing_index, scales in factors_by_filing.items():
        counts = Counter(scale for scale in scales if scale is not None)
        for scale, count in counts.most_common(1):
            if count >= MIN_METRICS and count >= MIN_SHARE * len(scales):
                misscaled[filing_index] = Decimal(10) ** scale
    return misscaled


def _find_own_figures(book: FactBook, tags: Iterable[str]) -> list[OwnFigure]:
    """Return the figure of each filing's latest period, under the first of some tags that the filing uses."""
    figures: dict[int, OwnFigure] = {}
    for tag in tags:
        figures_of_tag: dict[int, OwnFigure] = {}
        for (end, length), vintages in book.vintages.get(tag, {}).items():
            for vintage in vintages:
                known_figure = figures_of_tag.get(vintage.filing_index)
                value = abs(Decimal(vintage.value))
                if value and vintage.unit == book.currency and (known_figure is None or end > known_figure.end):
                    logarithm = log10(value) - log10(max(1, length))
                    figures_of_tag[vintage.filing_index] = OwnFigure(end, vintage.filing_index, logarithm)
        figures = {**figures_of_tag, **figures}
    return list(figures.values())


def drop_repetitions(book: FactBook) -> None:
    """Drop the amounts of filings that are out of scale if another filing reports them in the right scale."""
    for by_period in book.vintages.values():
        for vintages in by_period.values():
            right_values = [
                Decimal(vintage.value) for vintage in vintages if vintage.filing_index not in book.misscaled_filings
            ]
            vintages[:] = [vintage for vintage in vintages if not _is_repetition(book, vintage, right_values)]


def _is_repetition(book: FactBook, vintage: Vintage, right_values: Sequence[Decimal]) -> bool:
    factor = book.misscaled_filings.get(vintage.filing_index)
    if factor is None or vintage.unit != book.currency:
        return False
    corrected = Decimal(vintage.value) * factor
    return any(abs(corrected - value) <= abs(value) * MAX_SCALE_ROUNDING for value in right_values)


def _find_scale(difference: float) -> int | None:
    """Return the power of ten that a difference of logarithms is near to, if it is a thousand or a million."""
    return next((scale for scale in SCALE_LOGARITHMS if abs(difference - scale) < LOGARITHM_TOLERANCE), None)
