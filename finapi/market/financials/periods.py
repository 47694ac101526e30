"""The fiscal calendar of a company, from the periods of its facts: years, transition periods, quarters, years to date.

The fields ``fy`` and ``fp`` of a fact are not used: they describe the filing that repeats the fact. Only the names of
fiscal years are taken from the filings' own words (DECISIONS 7). Days are numbers, as in ``core/days.py``. The
algorithm:

1. Facts of metrics that are on every income or cash flow statement prove that a period was reported; *evidence* is
   their weighted count. Periods that differ by a few days are one period reported in several ways: a *cluster* of
   period keys, the best proved key first.
2. Fiscal years are the clusters of about a year in annual reports. Of two that overlap, the better proved one counts.
   After a change of the fiscal year, both count: the years that annual reports are about, and the year before the
   first new one, which is recast for comparison. If no year is reported, one is assumed from a year to date, the cover
   page, or the calendar year.
3. The gaps between years become transition periods (a company that moves its year end from December to June has one of
   six months) or open years. Open years continue the calendar as far as quarters reach. All of these are *spans*.
4. A quarter belongs to the span that contains its middle; its number follows from its end. A duration from the start
   of a span is a *year to date*. Quarters that no filing reports are derived from years to date.

Example: with the durations 2023-01-01..2023-12-31 and 2023-01-01..2023-09-30 the span 2023 has the years to date 3 and
4, and a fourth quarter from 2023-10-01 to 2023-12-31 without period keys, which can only be derived.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from finapi.core.days import EPOCH
from finapi.market.financials.fact_book import PERIODIC, UNFILED, FactBook, PeriodKey, is_annual_form
from finapi.market.financials.metric_mapping import MetricMapping

# Two periods whose starts and ends differ by at most this many days are the same.
SAME_DAYS = 6
# A year to date that ends at most this many days into a quarter belongs to the quarter before.
STUB_SLACK_DAYS = 15
# The length of years that are assumed without an annual report.
COMMON_YEAR_DAYS = 365
AVERAGE_YEAR_DAYS = 365.25


class Period(NamedTuple):
    """The period of a row."""

    fiscal_year: int
    fiscal_period: str  # "FY", "Q1" to "Q4"; in a transition period "TP", "TQ1" and so on.
    start: int | None
    end: int
    keys: tuple[PeriodKey, ...]  # Under which it is reported, the usual one first; empty if it is derived.
    span_index: int
    quarter_number: int  # The number of the quarter (or last quarter) within its span, from 1.


class FiscalSpan(NamedTuple):
    """A span of the fiscal calendar, which consists of quarters.

    ``kind`` is "year" for a reported fiscal year, "transition" for the months between two years after a change of the
    year end, and "open" for a year that no annual report covers. ``start`` and ``end`` are day numbers.
    """

    start: int
    end: int
    kind: str
    keys: tuple[PeriodKey, ...] = ()
    fiscal_year: int = 0


# The index of a span in ``Calendar.spans``, and the number of a quarter within the span, from 1.
QuarterKey = tuple[int, int]
# The keys under which one period is reported, the best proved one first.
PeriodKeys = tuple[PeriodKey, ...]
# The durations from the start of a span that end with a quarter, the best proved first.
YearsToDate = dict[QuarterKey, list[PeriodKeys]]


@dataclass(frozen=True, slots=True)
class Calendar:
    """The fiscal calendar of a company. ``spans`` are in order, the oldest first. ``to_date`` are the years to date."""

    spans: tuple[FiscalSpan, ...]
    quarters: dict[QuarterKey, Period]
    to_date: dict[QuarterKey, PeriodKeys]

    def list_years(self) -> list[Period]:
        """Return the reported fiscal years and transition periods, newest first."""
        names = {"year": "FY", "transition": "TP"}
        years = []
        for span_index, span in enumerate(self.spans):
            if span.kind in names and span.keys:
                years.append(Period(span.fiscal_year, names[span.kind], span.start, span.end, span.keys, span_index, 4))
        years.reverse()
        return years

    def list_quarters(self) -> list[Period]:
        """Return the quarters, newest first."""
        return sorted(self.quarters.values(), key=lambda period: (-period.end, -period.quarter_number))

    def list_years_to_date(self) -> list[Period]:
        """Return the years to date, newest first: first quarters, half years, nine months and years."""
        periods = []
        for (span_index, number), keys in self.to_date.items():
            span = self.spans[span_index]
            end, length = keys[0]
            quarter = self.quarters.get((span_index, number))
            if quarter is None or abs(quarter.end - end) > SAME_DAYS:
                # A short period, as before a merger, is named after the quarter in which it ends.
                ending_quarter = (length - STUB_SLACK_DAYS) * 4 // COMMON_YEAR_DAYS + 1
                name = build_quarter_name(span, min(4, ending_quarter))
            else:
                name = quarter.fiscal_period
            periods.append(Period(span.fiscal_year, name, end - length + 1, end, keys, span_index, number))
        return sorted(periods, key=lambda period: (-period.end, -period.quarter_number))


def build_quarter_name(span: FiscalSpan, number: int) -> str:
    """Return "Q1" to "Q4", or "TQ1" and so on in a transition period."""
    return f"TQ{number}" if span.kind == "transition" else f"Q{number}"


# DECISIONS 14: the number of days of each kind of duration, including 52/53-week years and stubs.
QUARTER_DAYS = range(70, 121)
HALF_YEAR_DAYS = range(140, 230)
NINE_MONTHS_DAYS = range(230, 330)
YEAR_DAYS = range(330, 421)
# A period of an annual report with another length is a transition period of 11 or 13 months, unless it is the first
# one.
FULL_YEAR_DAYS = range(350, 386)
# Longer periods, such as a transition period of four months, are not quarters.
MAX_QUARTER_DAYS = 100
# A derived quarter may be longer than a reported one by this many days.
DERIVED_QUARTER_SLACK = 7

# A company changes its fiscal year by at least this many days. Years that overlap by more are errors of filers.
MIN_YEAR_SHIFT_DAYS = 26
# The latest year of an annual report is the report's own if it has this share of the evidence of its best proved year.
MIN_OWN_YEAR_SHARE = 0.6

# A year or year to date may start this many days before or after the end of the previous year (52/53 weeks, errors).
SLACK_DAYS = 10
# The number of latest annual reports that determine how a company names its years.
LAST_REPORTS = 3
# More years than any company has reported in XBRL. Facts that imply more are corrupt.
MAX_YEARS = 80
# More periods of one length than the quarters of these years, even if each is reported in several ways.
MAX_PERIODS = 1_000

# The metrics whose facts prove a period: they are on every income or cash flow statement.
PROOF_METRICS = (
    "revenue",
    "operating_income",
    "pretax_income",
    "income_tax",
    "net_income",
    "eps_basic",
    "eps_diluted",
    "net_interest_income",
    "noninterest_expense",
    "operating_expenses",
    "operating_cashflow",
    "investing_cashflow",
    "financing_cashflow",
    "net_change_in_cash",
)

# The weights of a fact as evidence: in a periodic report, in one without a filing date, and elsewhere, such as an 8-K.
PERIODIC_WEIGHT, UNFILED_WEIGHT, OTHER_WEIGHT = 100, 99, 1
# The minimum weight of a proved period. A single weak fact does not reach it.
MIN_WEIGHT = 2


class _Evidence:
    """The evidence for each duration: the weight of its facts, and the number of concepts in annual reports."""

    def __init__(self, book: FactBook, mapping: MetricMapping) -> None:
        self.annual: Counter[PeriodKey] = Counter()
        self.all: Counter[PeriodKey] = Counter()
        source_ranks = [filing.source_rank for filing in book.filings]
        is_annual = [
            is_annual_form(filing.form) and source_rank <= UNFILED
            for filing, source_rank in zip(book.filings, source_ranks, strict=True)
        ]
        weights_by_rank = {PERIODIC: PERIODIC_WEIGHT, UNFILED: UNFILED_WEIGHT}
        weights = [weights_by_rank.get(source_rank, OTHER_WEIGHT) for source_rank in source_ranks]
        years_by_report: dict[int, Counter[PeriodKey]] = {}
        for concept in list_proof_concepts(mapping, book):
            for period_key, vintages in book.vintages.get(concept, {}).items():
                if period_key[1]:
                    self.all[period_key] += sum(weights[vintage.filing_index] for vintage in vintages)
                    annual_reports = [vintage.filing_index for vintage in vintages if is_annual[vintage.filing_index]]
                    if annual_reports:
                        self.annual[period_key] += 1
                    for filing_index in annual_reports if period_key[1] in FULL_YEAR_DAYS else ():
                        years_by_report.setdefault(filing_index, Counter())[period_key] += 1
        # The years that annual reports are about, as opposed to years that they repeat or recast.
        self.own_years: set[PeriodKey] = set()
        for years in years_by_report.values():
            min_count = MIN_OWN_YEAR_SHARE * max(years.values())
            self.own_years.add(max(period_key for period_key, count in years.items() if count >= min_count))


def list_proof_concepts(mapping: MetricMapping, book: FactBook) -> set[str]:
    """Return the concepts of a book whose facts prove a period."""
    concepts: set[str] = set()
    for key in PROOF_METRICS:
        for rules in mapping.metrics[key].rules.values():
            for rule in rules:
                concepts.update(rule.tags)
                concepts.update(name for term in rule.terms for name in term.names)
    return concepts.intersection(book.vintages)


def build_calendar(
    book: FactBook, mapping: MetricMapping, year_end: str | None = None, *, is_retailer: bool = False
) -> Calendar:
    """Return the fiscal calendar of a company; it is empty if no fact proves a period.

    ``year_end`` is the day that a cover page or the SEC's list states, such as "0930". It is only used if no document
    shows a year or a year to date. The year of a retailer that ends in January is named after the year in which it
    began, unless an annual report names it. Most retailers do so: of 14 in the data set of 2009q3 all except Wal-Mart
    and TJX.
    """
    evidence = _Evidence(book, mapping)
    years = _find_years(evidence)
    durations = [
        period_key
        for period_key in evidence.all
        if period_key[1] in QUARTER_DAYS or period_key[1] in HALF_YEAR_DAYS or period_key[1] in NINE_MONTHS_DAYS
    ]
    if not years:
        years = _assume_year(evidence, durations, year_end)
    if not years:
        return Calendar((), {}, {})
    spans = _extend_spans(_fill_gaps(years, evidence), durations)
    spans = _name_years(spans, book, is_retailer)
    years_to_date = _find_years_to_date(spans, evidence)
    quarters = _find_quarters(spans, evidence, years_to_date)
    return Calendar(tuple(spans), quarters, _select_years_to_date(years_to_date, quarters))


# ---- fiscal years


def _find_years(evidence: _Evidence) -> list[FiscalSpan]:
    """Return the reported years without overlaps, oldest first."""
    annual_clusters = _build_clusters(
        {period_key: count for period_key, count in evidence.annual.items() if period_key[1] in YEAR_DAYS}
    )
    # Years that are only reported in 8-Ks or registration statements.
    other_clusters = _build_clusters(
        {
            period_key: weight
            for period_key, weight in evidence.all.items()
            if period_key[1] in YEAR_DAYS and weight < UNFILED_WEIGHT
        }
    )
    primary_clusters = annual_clusters or other_clusters
    has_strong_proof = any(weight >= MIN_WEIGHT for _, weight in primary_clusters)
    min_primary_weight = MIN_WEIGHT if has_strong_proof else 1
    years: list[FiscalSpan] = []
    # Of two that are proved equally well, the year that an annual report is about comes first.
    for keys, weight in sorted(
        primary_clusters, key=lambda cluster: (-cluster[1], evidence.own_years.isdisjoint(cluster[0]))
    ):
        span = _build_year(keys)
        if weight >= min_primary_weight and not _overlaps_any(span, years):
            years.append(span)
    for keys, weight in other_clusters:
        span = _build_year(keys)
        if weight >= MIN_WEIGHT and not _overlaps_any(span, years) and _is_in_step(span, years):
            years.append(span)
    overlapping = [
        _build_year(keys)
        for keys, weight in annual_clusters
        if weight >= min_primary_weight and _build_year(keys) not in years
    ]
    years += _select_changed_years(overlapping, years, evidence)
    return sorted(years, key=lambda span: span.end)


def _select_changed_years(
    overlapping: Sequence[FiscalSpan], years: Sequence[FiscalSpan], evidence: _Evidence
) -> list[FiscalSpan]:
    """Return the years that overlap others because the company changed its fiscal year.

    They are the years of annual reports of their own, and recast years just before such a year.
    """
    own_starts = [end - length + 1 for end, length in evidence.own_years]
    selected: list[FiscalSpan] = []
    for span in overlapping:
        is_own = not evidence.own_years.isdisjoint(span.keys)
        is_recast = any(abs(start - 1 - span.end) <= SAME_DAYS for start in own_starts)
        is_full = span.end - span.start + 1 in FULL_YEAR_DAYS
        is_shifted = all(abs(span.end - year.end) >= MIN_YEAR_SHIFT_DAYS for year in (*years, *selected))
        if (is_own or is_recast) and is_full and is_shifted:
            selected.append(span)
    return selected


def _build_year(keys: PeriodKeys) -> FiscalSpan:
    end, length = keys[0]
    return FiscalSpan(end - length + 1, end, "year", keys)


def _overlaps_any(span: FiscalSpan, years: Iterable[FiscalSpan]) -> bool:
    return any(min(span.end, year.end) - max(span.start, year.start) > SLACK_DAYS for year in years)


def _is_in_step(span: FiscalSpan, years: Iterable[FiscalSpan]) -> bool:
    """Return True if a span ends about n full years before or after one of ``years``."""
    for year in years:
        distance = span.end - year.end
        full_years = round(distance / AVERAGE_YEAR_DAYS)
        if abs(distance - full_years * AVERAGE_YEAR_DAYS) <= SLACK_DAYS:
            return True
    return False


def _assume_year(evidence: _Evidence, durations: Sequence[PeriodKey], year_end: str | None) -> list[FiscalSpan]:
    """Return the year to start from if no year is reported: by a year to date, or else by ``year_end``."""
    years_to_date = {
        period_key: evidence.all[period_key] for period_key in durations if period_key[1] not in QUARTER_DAYS
    }
    if years_to_date:
        # The latest of the best proved years to date is used, because the year end may have changed earlier.
        keys, _ = min(
            _build_clusters(years_to_date), key=lambda cluster: (-cluster[1], -cluster[0][0][0], cluster[0][0][1])
        )
        end, length = keys[0]
        start = end - length + 1
        return [FiscalSpan(start, start + COMMON_YEAR_DAYS - 1, "open")]
    if not durations:
        return []
    latest_end, _ = max(durations)
    if year_end is None or not re.fullmatch(r"(0[1-9]|1[0-2])([0-2][0-9]|3[01])", year_end):
        year_end = "1231"  # The default: most companies use the calendar year.
    month, day = int(year_end[:2]), int(year_end[2:])
    latest_year = _to_date(latest_end).year
    year_ends = []
    for year in range(latest_year - 1, latest_year + 2):
        first_of_month = EPOCH.replace(year=year, month=month, day=1)
        year_ends.append((first_of_month - EPOCH).days + day - 1)
    # A 52/53-week year may end some days after the stated day.
    end = min(candidate for candidate in year_ends if candidate >= latest_end - SLACK_DAYS)
    return [FiscalSpan(end - COMMON_YEAR_DAYS + 1, end, "open")]


def _fill_gaps(years: Sequence[FiscalSpan], evidence: _Evidence) -> list[FiscalSpan]:
    """Return the years with the spans between them.

    A year that is recast after a change of the fiscal year overlaps others and fills no gap, except that no unreported
    transition period is assumed within it.
    """
    own_years = [year for year in years if not evidence.own_years.isdisjoint(year.keys)]
    recast_years = [year for year in years if year not in own_years and _overlaps_any(year, own_years)]
    spans = [
        span
        for span in _fill_gaps_between([year for year in years if year not in recast_years], evidence)
        if span.kind != "transition" or span.keys or not _overlaps_any(span, recast_years)
    ]
    return sorted((*spans, *recast_years), key=lambda span: (span.end, -span.start))


def _fill_gaps_between(years: Sequence[FiscalSpan], evidence: _Evidence) -> list[FiscalSpan]:
    spans: list[FiscalSpan] = []
    for year in years:
        if spans:
            spans.extend(_build_gap_spans(spans[-1].end + 1, year.start - 1, evidence))
            if year.end - year.start + 1 not in FULL_YEAR_DAYS:
                year = year._replace(kind="transition")
        spans.append(year)
    return spans


def _build_gap_spans(start: int, end: int, evidence: _Evidence) -> list[FiscalSpan]:
    """Return the spans of a gap between two years: open years, or a transition period if it is shorter than a year."""
    length = end - start + 1
    if length <= SLACK_DAYS:
        return []
    if YEAR_DAYS.start <= length < MAX_YEARS * 366:
        year_count = max(1, round(length / AVERAGE_YEAR_DAYS))
        boundaries = [start + round(length * index / year_count) for index in range(year_count + 1)]
        return [FiscalSpan(first, next_first - 1, "open") for first, next_first in pairwise(boundaries)]
    weights = {
        period_key: weight
        for period_key, weight in evidence.all.items()
        if period_key in evidence.annual and _is_same_period(period_key, (end, length))
    }
    keys = _build_clusters(weights)[0][0] if weights else ()
    return [FiscalSpan(start, end, "transition", keys)]


def _extend_spans(spans: list[FiscalSpan], durations: Sequence[PeriodKey]) -> list[FiscalSpan]:
    """Return the spans with open years before and after, as far as quarters and years to date reach."""
    if not durations:
        return spans
    first_day = min(end - length + 1 for end, length in durations)
    last_day = max(end for end, _ in durations)
    while first_day < spans[0].start - SLACK_DAYS and len(spans) < MAX_YEARS:
        end = spans[0].start - 1
        spans.insert(0, FiscalSpan(end - COMMON_YEAR_DAYS + 1, end, "open"))
    while last_day > spans[-1].end + SLACK_DAYS and len(spans) < MAX_YEARS:
        start = spans[-1].end + 1
        spans.append(FiscalSpan(start, start + COMMON_YEAR_DAYS - 1, "open"))
    return spans


# ---- names


def _name_years(spans: Sequence[FiscalSpan], book: FactBook, is_retailer: bool) -> list[FiscalSpan]:
    """Return the spans with their fiscal years.

    The fiscal year is the year in which the span ends, or the year before it (offset -1). The latest annual reports
    decide, separately for each month in which years end.
    """
    offset_counts: dict[int, Counter[int]] = {}
    # The latest reports first.
    for fiscal_year, end in sorted(_iter_reported_years(book), key=lambda report: (-report[1], report[0])):
        end_date = _to_date(end - SLACK_DAYS)
        counts = offset_counts.setdefault(end_date.month, Counter())
        offset = fiscal_year - end_date.year
        if offset in (0, -1) and counts.total() < LAST_REPORTS:
            counts[offset] += 1
    all_counts: Counter[int] = sum(offset_counts.values(), Counter())
    named_spans = []
    for span in spans:
        end_date = _to_date(span.end - SLACK_DAYS)
        default_offset = -1 if is_retailer and end_date.month == 1 else 0
        counts = offset_counts.get(end_date.month) or all_counts or Counter({default_offset: 1})
        offset = -1 if counts[-1] > counts[0] else 0
        named_spans.append(span._replace(fiscal_year=end_date.year + offset))
    return named_spans


def _iter_reported_years(book: FactBook) -> Iterable[tuple[int, int]]:
    """Yield the fiscal year that each annual report states as its own, and the end of the year that it covers."""
    last_ends: dict[int, int] = {}  # The last year end with facts, by filing index.
    for by_period in book.vintages.values():
        for period_key, vintages in by_period.items():
            if period_key[1] in YEAR_DAYS:
                for vintage in vintages:
                    filing_index = vintage.filing_index
                    last_ends[filing_index] = max(last_ends.get(filing_index, 0), period_key[0])
    for filing_index, filing in enumerate(book.filings):
        end = filing.period_end if filing.period_end is not None else last_ends.get(filing_index)
        if filing.fiscal_year is not None and end is not None and is_annual_form(filing.form):
            yield filing.fiscal_year, end


# ---- quarters and years to date


def _find_years_to_date(spans: Sequence[FiscalSpan], evidence: _Evidence) -> YearsToDate:
    """Return the durations from the start of each span, by the quarter with which they end."""
    weights: dict[QuarterKey, dict[PeriodKey, int]] = {}
    for period_key, weight in evidence.all.items():
        end, length = period_key
        for number, lengths in enumerate((QUARTER_DAYS, HALF_YEAR_DAYS, NINE_MONTHS_DAYS, YEAR_DAYS), start=1):
            if length in lengths:
                span_index = _find_starting_span(spans, end - length + 1)
                if span_index is not None and end <= spans[span_index].end + SLACK_DAYS:
                    weights.setdefault((span_index, number), {})[period_key] = weight
    # The fourth year to date is the year itself, with its own keys.
    for span_index, span in enumerate(spans):
        weights.pop((span_index, 4), None)
        if span.keys and span.kind == "year":
            weights[span_index, 4] = {
                period_key: len(span.keys) - position for position, period_key in enumerate(span.keys)
            }
    return {
        quarter_key: [keys for keys, _ in _build_clusters(quarter_weights)]
        for quarter_key, quarter_weights in weights.items()
    }


def _find_starting_span(spans: Sequence[FiscalSpan], start: int) -> int | None:
    """Return the index of the span that starts nearest to a day, within a few days, or None."""
    distances = [
        (abs(span.start - start), span_index)
        for span_index, span in enumerate(spans)
        if abs(span.start - start) <= SLACK_DAYS
    ]
    return min(distances)[1] if distances else None


def _find_quarters(
    spans: Sequence[FiscalSpan], evidence: _Evidence, years_to_date: YearsToDate
) -> dict[QuarterKey, Period]:
    """Return the reported quarters, and the quarters that follow from two years to date."""
    quarters = _find_reported_quarters(spans, evidence)
    for span_index, span in enumerate(spans):
        for number in range(2, 5):
            if (span_index, number) in quarters or (span_index, number) not in years_to_date:
                continue
            end, _ = years_to_date[span_index, number][0][0]
            quarter_before = quarters.get((span_index, number - 1))
            to_date_before = years_to_date.get((span_index, number - 1))
            if quarter_before:
                end_before = quarter_before.end
            elif to_date_before:
                end_before, _ = to_date_before[0][0]
            else:
                continue
            # After a change of the fiscal year, the quarter may already belong to the overlapping year.
            if any(abs(quarter.end - end) <= SAME_DAYS for quarter in quarters.values()):
                continue
            if QUARTER_DAYS.start <= end - end_before < QUARTER_DAYS.stop + DERIVED_QUARTER_SLACK:
                name = build_quarter_name(span, number)
                quarters[span_index, number] = Period(
                    fiscal_year=span.fiscal_year,
                    fiscal_period=name,
                    start=end_before + 1,
                    end=end,
                    keys=(),
                    span_index=span_index,
                    quarter_number=number,
                )
    return quarters


def _find_reported_quarters(spans: Sequence[FiscalSpan], evidence: _Evidence) -> dict[QuarterKey, Period]:
    quarters: dict[QuarterKey, Period] = {}
    weights = {period_key: weight for period_key, weight in evidence.all.items() if period_key[1] in QUARTER_DAYS}
    for keys, _ in _build_clusters(weights):
        end, length = keys[0]
        middle = end - length // 2
        span_index = next((index for index, span in enumerate(spans) if span.start <= middle <= span.end), None)
        if span_index is None:
            continue
        span = spans[span_index]
        if length > MAX_QUARTER_DAYS and span.kind == "transition" and keys[0] in span.keys:
            continue
        number = _compute_quarter_number(span, end)
        if (span_index, number) not in quarters:
            name = build_quarter_name(span, number)
            start = end - length + 1
            quarters[span_index, number] = Period(span.fiscal_year, name, start, end, keys, span_index, number)
    return quarters


def _select_years_to_date(
    years_to_date: YearsToDate, quarters: dict[QuarterKey, Period]
) -> dict[QuarterKey, PeriodKeys]:
    """Return, for each quarter, the best proved of the years to date that end with it."""
    selected = {}
    for quarter_key, candidates in years_to_date.items():
        quarter = quarters.get(quarter_key)
        ending = [keys for keys in candidates if quarter is None or abs(keys[0][0] - quarter.end) <= SAME_DAYS]
        selected[quarter_key] = (ending or candidates)[0]
    return selected


def _compute_quarter_number(span: FiscalSpan, end: int) -> int:
    """Return the number of the span's quarter that ends on a day. Quarters of 12, 12, 12 and 16 weeks are supported."""
    length = span.end - span.start + 1 if span.kind != "transition" else COMMON_YEAR_DAYS
    return min(4, max(1, round((end - span.start + 1) * 4 / length)))


# ---- clusters and days


def _build_clusters(weights: dict[PeriodKey, int]) -> list[tuple[PeriodKeys, int]]:
    """Return the clusters of some periods with the weights of their first keys, the best proved cluster first."""
    period_keys = sorted(weights, key=lambda period_key: (-weights[period_key], -period_key[0], -period_key[1]))
    clusters: list[tuple[list[PeriodKey], int]] = []
    for period_key in period_keys[:MAX_PERIODS]:
        for keys, _ in clusters:
            if _is_same_period(keys[0], period_key):
                keys.append(period_key)
                break
        else:
            clusters.append(([period_key], weights[period_key]))
    return [(tuple(keys), weight) for keys, weight in clusters]


def _is_same_period(period_key: PeriodKey, other: PeriodKey) -> bool:
    end, length = period_key
    other_end, other_length = other
    return abs(end - other_end) <= SAME_DAYS and abs((end - length) - (other_end - other_length)) <= SAME_DAYS


def _to_date(day: int) -> date:
    return EPOCH + timedelta(days=day)


def is_gapless(start: int, parts: Sequence[PeriodKey]) -> bool:
    """Return True if durations follow one another from ``start`` without gaps or overlaps."""
    for end, length in parts:
        if abs(end - length + 1 - start) > SAME_DAYS:
            return False
        start = end + 1
    return True
