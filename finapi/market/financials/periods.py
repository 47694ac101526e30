"""A company's fiscal calendar out of the dates of its facts: years, transition periods, quarters, years to date.

Never out of the ``fy`` and ``fp`` of a fact, which describe the filing that repeats it. How the company names its
years is the one thing taken from the filings' own words (DECISIONS 7). Days are numbers, as in ``core/days.py``.
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

# Two periods whose ends and starts are this close are one, reported in two ways.
SAME_DAYS = 6
# A year to date that ends no later than this many days into a quarter belongs to the quarter before.
STUB_SLACK = 15
# Without an annual report the calendar is continued by this many days a year.
COMMON_YEAR = 365


class Period(NamedTuple):
    """A row of a series. ``keys`` are the durations that report it, the usual one first; none where it can only be
    derived. ``start`` is None when it is not known. ``number`` counts the quarter within ``span``."""

    fiscal_year: int
    fiscal_period: str
    start: int | None
    end: int
    keys: tuple[PeriodKey, ...]
    span_index: int
    quarter_number: int


class FiscalSpan(NamedTuple):
    """A fiscal year (``kind`` "year"), a transition period, or a year not yet or never reported whole ("open")."""

    start: int
    end: int
    kind: str
    keys: tuple[PeriodKey, ...] = ()
    fiscal_year: int = 0


# A quarter of a span: (place of the span, number from 1). By it the durations to date that end with the quarter, each
# as the keys under which it is reported.
QuarterKey = tuple[int, int]
ToDate = dict[QuarterKey, list[tuple[PeriodKey, ...]]]


@dataclass(frozen=True, slots=True)
class Calendar:
    """The spans of a company, oldest first; ``quarters`` and ``to_date`` by (span, number)."""

    spans: tuple[FiscalSpan, ...]
    quarters: dict[QuarterKey, Period]
    to_date: dict[QuarterKey, tuple[PeriodKey, ...]]

    def list_years(self) -> list[Period]:
        """The fiscal years and transition periods that were reported, newest first."""
        names = {"year": "FY", "transition": "TP"}
        return [
            Period(span.fiscal_year, names[span.kind], span.start, span.end, span.keys, index, 4)
            for index, span in reversed(list(enumerate(self.spans)))
            if span.kind in names and span.keys
        ]

    def list_quarters(self) -> list[Period]:
        """The quarters, newest first."""
        return sorted(self.quarters.values(), key=lambda one: (-one.end, -one.quarter_number))

    def list_years_to_date(self) -> list[Period]:
        """The years to date, newest first: first quarter, half year, nine months, year."""
        found = []
        for (index, number), keys in self.to_date.items():
            span = self.spans[index]
            end, days = keys[0]
            quarter = self.quarters.get((index, number))
            if quarter is None or abs(quarter.end - end) > SAME_DAYS:
                # A stub, as before a merger: named after the quarter in which it ends.
                name = build_quarter_name(span, min(4, (days - STUB_SLACK) * 4 // COMMON_YEAR + 1))
            else:
                name = quarter.fiscal_period
            found.append(Period(span.fiscal_year, name, end - days + 1, end, keys, index, number))
        return sorted(found, key=lambda one: (-one.end, -one.quarter_number))


def build_quarter_name(span: FiscalSpan, number: int) -> str:
    """Q1 to Q4; TQ1 and so on in a transition period."""
    return f"TQ{number}" if span.kind == "transition" else f"Q{number}"


# DECISIONS 14: how many days each kind of duration has, 52/53-week years and stubs included.
QUARTER_DAYS = range(70, 121)
HALF_YEAR_DAYS = range(140, 230)
NINE_MONTHS_DAYS = range(230, 330)
YEAR_DAYS = range(330, 421)
# A year's report on fewer or more days, not the first, is of a transition period of 11 or 13 months.
FULL_YEAR_DAYS = range(350, 386)
# More than a quarter has: a transition period of four months is not one.
LONG_QUARTER = 100

# A year or a year to date may begin this many days off the end of the year before (52/53 weeks, slips).
SLACK_DAYS = 10
# So many of the last annual reports decide how a company names its years.
LAST_REPORTS = 3
# More years than any company has reported in XBRL; what claims more is damaged.
MAX_YEARS = 80
# More periods of one length than quarters in so many years, each reported in several ways: what has more is damaged.
MAX_PERIODS = 1_000

# Facts of these metrics prove a period: they stand on every income or cash flow statement.
PROOFS = (
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


class _Evidence:
    """How many facts prove each duration: in annual reports, in interim ones, elsewhere."""

    def __init__(self, book: FactBook, mapping: MetricMapping) -> None:
        self.annual: Counter[PeriodKey] = Counter()
        self.all: Counter[PeriodKey] = Counter()
        ranks = [filing.source_rank for filing in book.filings]
        annual = [
            is_annual_form(filing.form) and rank <= UNFILED for filing, rank in zip(book.filings, ranks, strict=True)
        ]
        weights = [100 if rank == PERIODIC else 99 if rank == UNFILED else 1 for rank in ranks]
        for concept in list_proof_concepts(mapping, book):
            for key, vintages in book.vintages.get(concept, {}).items():
                if key[1]:
                    self.all[key] += sum(weights[vintage.filing_index] for vintage in vintages)
                    if any(annual[vintage.filing_index] for vintage in vintages):
                        self.annual[key] += 1


def list_proof_concepts(mapping: MetricMapping, book: FactBook) -> set[str]:
    """The concepts of a book whose facts prove a period."""
    tags = {
        name
        for key in PROOFS
        for rules in mapping.metrics[key].rules.values()
        for rule in rules
        for name in (*rule.tags, *(name for term in rule.terms for name in term.names))
    }
    return {concept for concept in book.vintages if concept in tags}


def build_calendar(
    book: FactBook, mapping: MetricMapping, year_end: str | None = None, *, is_retailer: bool = False
) -> Calendar:
    """The calendar of a company. ``year_end`` is what a cover page or the SEC's list says: "0930"; used only
    when no document shows a year or a year to date.

    Without an annual report that names its year a retailer's that ends with January is called after the year in
    which it began, as most of them do (of 14 in the data set of 2009q3 all but Wal-Mart and TJX)."""
    evidence = _Evidence(book, mapping)
    years = _years(evidence)
    durations = [
        key for key in evidence.all if key[1] in QUARTER_DAYS or key[1] in HALF_YEAR_DAYS or key[1] in NINE_MONTHS_DAYS
    ]
    if not years:
        years = _assumed(evidence, durations, year_end)
    if not years:
        return Calendar((), {}, {})
    spans = _continued(_with_gaps(years, evidence), durations)
    named = _named(spans, book, is_retailer)
    to_date = _to_date(named, evidence)
    quarters = _quarters(named, evidence, to_date)
    return Calendar(tuple(named), quarters, _agreeing(to_date, quarters))


# ---- fiscal years


def _years(evidence: _Evidence) -> list[FiscalSpan]:
    """The years that reports show, without overlaps: of two that overlap the better proved one stands."""
    extra = _clusters({key: count for key, count in evidence.all.items() if key[1] in YEAR_DAYS and count < 99})
    # Without an annual report only an 8-K or a registration statement repeats the annual figures.
    found = _clusters({key: count for key, count in evidence.annual.items() if key[1] in YEAR_DAYS}) or extra
    least = 2 if any(weight >= 2 for _, weight in found) else 1
    chosen: list[FiscalSpan] = []
    for place, (keys, weight) in enumerate((*found, *extra)):
        end, days = keys[0]
        span = FiscalSpan(end - days + 1, end, "year", keys)
        if any(_overlap(span, other) for other in chosen):
            continue
        # A year that only an 8-K reports stands where the reports' years leave room and are in step with it.
        if weight >= least if place < len(found) else weight >= 2 and _in_step(span, chosen):
            chosen.append(span)
    return sorted(chosen, key=lambda span: span.end)


def _in_step(span: FiscalSpan, years: Sequence[FiscalSpan]) -> bool:
    return any(
        abs((span.end - other.end) - round((span.end - other.end) / 365.25) * 365.25) <= SLACK_DAYS for other in years
    )


def _assumed(evidence: _Evidence, durations: Sequence[PeriodKey], year_end: str | None) -> list[FiscalSpan]:
    """One year to start from when no year is reported: by a year to date, else by what is said of the year end."""
    longer = {key: evidence.all[key] for key in durations if key[1] not in QUARTER_DAYS}
    if longer:
        # The calendar in force is that of the last one; a change of year end shows in what came before.
        (end, days), *_ = min(_clusters(longer), key=lambda one: (-one[1], -one[0][0][0], one[0][0][1]))[0]
        start = end - days + 1
        return [FiscalSpan(start, start + COMMON_YEAR - 1, "open")]
    if not durations:
        return []
    latest = max(durations)
    if year_end is None or not re.fullmatch(r"(0[1-9]|1[0-2])([0-2][0-9]|3[01])", year_end):
        # Nothing tells: the calendar year, which most companies have.
        year_end = "1231"
    month, number = int(year_end[:2]), int(year_end[2:])
    ends = []
    for year in range(_date(latest[0]).year - 1, _date(latest[0]).year + 2):
        ends.append((EPOCH.replace(year=year, month=month, day=1) - EPOCH).days + number - 1)
    # 52/53 weeks: the year may end some days past the day that is named.
    end = min(one for one in ends if one >= latest[0] - SLACK_DAYS)
    return [FiscalSpan(end - COMMON_YEAR + 1, end, "open")]


def _with_gaps(years: Sequence[FiscalSpan], evidence: _Evidence) -> list[FiscalSpan]:
    """Years with what lies between them: transition periods where less than a year is missing, else open years."""
    spans: list[FiscalSpan] = []
    for year in years:
        if spans:
            spans.extend(_between(spans[-1].end + 1, year.start - 1, evidence))
            if year.end - year.start + 1 not in FULL_YEAR_DAYS:
                year = year._replace(kind="transition")
        spans.append(year)
    return spans


def _between(start: int, end: int, evidence: _Evidence) -> list[FiscalSpan]:
    days = end - start + 1
    if days <= SLACK_DAYS:
        return []
    if days not in range(YEAR_DAYS.start) and days < MAX_YEARS * 366:
        count = max(1, round(days / 365.25))
        cuts = [start + round(days * part / count) for part in range(count + 1)]
        return [FiscalSpan(a, b - 1, "open") for a, b in pairwise(cuts)]
    told = {
        key: weight
        for key, weight in evidence.all.items()
        if abs(key[0] - end) <= SAME_DAYS and abs(key[0] - key[1] + 1 - start) <= SAME_DAYS and key in evidence.annual
    }
    keys = _clusters(told)[0][0] if told else ()
    return [FiscalSpan(start, end, "transition", keys)]


def _continued(spans: list[FiscalSpan], durations: Sequence[PeriodKey]) -> list[FiscalSpan]:
    """Spans with open years before and after, as far as quarters and years to date reach."""
    if not durations:
        return spans
    first = min(end - days + 1 for end, days in durations)
    last = max(end for end, _ in durations)
    while first < spans[0].start - SLACK_DAYS and len(spans) < MAX_YEARS:
        end = spans[0].start - 1
        spans.insert(0, FiscalSpan(end - COMMON_YEAR + 1, end, "open"))
    while last > spans[-1].end + SLACK_DAYS and len(spans) < MAX_YEARS:
        start = spans[-1].end + 1
        spans.append(FiscalSpan(start, start + COMMON_YEAR - 1, "open"))
    return spans


# ---- names


def _named(spans: Sequence[FiscalSpan], book: FactBook, is_retailer: bool) -> list[FiscalSpan]:
    """Spans with their fiscal year: that of the end plus the offset that most of the last annual reports agree on."""
    votes: dict[int, Counter[int]] = {}
    for label, end in sorted(_labels(spans, book), key=lambda one: (-one[1], one[0])):
        base = _date(end - SLACK_DAYS)
        of_month = votes.setdefault(base.month, Counter())
        if label - base.year in (0, -1) and of_month.total() < LAST_REPORTS:
            of_month[label - base.year] += 1
    everywhere: Counter[int] = sum(votes.values(), Counter())
    made = []
    for span in spans:
        base = _date(span.end - SLACK_DAYS)
        counted = votes.get(base.month) or everywhere or Counter({-1: int(is_retailer and base.month == 1)})
        offset = -1 if counted[-1] > counted[0] else 0
        made.append(span._replace(fiscal_year=base.year + offset))
    return made


def _labels(spans: Sequence[FiscalSpan], book: FactBook) -> Iterable[tuple[int, int]]:
    """The fiscal year that each annual report calls its own, and the end of the year that it reports on."""
    ends: dict[int, int] = {}
    for by_key in book.vintages.values():
        for key, vintages in by_key.items():
            if key[1] in YEAR_DAYS:
                for vintage in vintages:
                    ends[vintage.filing_index] = max(ends.get(vintage.filing_index, 0), key[0])
    for place, filing in enumerate(book.filings):
        end = filing.period_end if filing.period_end is not None else ends.get(place)
        if filing.fiscal_year is not None and end is not None and is_annual_form(filing.form):
            yield filing.fiscal_year, end


# ---- quarters and years to date


def _to_date(spans: Sequence[FiscalSpan], evidence: _Evidence) -> ToDate:
    """Durations from the start of a span on, by (span, number of quarters); the best proved first."""
    found: dict[QuarterKey, dict[PeriodKey, int]] = {}
    for key, weight in evidence.all.items():
        start = key[0] - key[1] + 1
        for number, lengths in ((1, QUARTER_DAYS), (2, HALF_YEAR_DAYS), (3, NINE_MONTHS_DAYS), (4, YEAR_DAYS)):
            if key[1] in lengths:
                index = _starting(spans, start)
                if index is not None and key[0] <= spans[index].end + SLACK_DAYS:
                    found.setdefault((index, number), {})[key] = weight
    for index, span in enumerate(spans):
        found.pop((index, 4), None)
        if span.keys and span.kind == "year":
            found[index, 4] = {key: len(span.keys) - place for place, key in enumerate(span.keys)}
    return {place: [keys for keys, _ in _clusters(told)] for place, told in found.items()}


def _starting(spans: Sequence[FiscalSpan], start: int) -> int | None:
    near = [
        (abs(span.start - start), index) for index, span in enumerate(spans) if abs(span.start - start) <= SLACK_DAYS
    ]
    return min(near)[1] if near else None


def _quarters(spans: Sequence[FiscalSpan], evidence: _Evidence, to_date: ToDate) -> dict[QuarterKey, Period]:
    """Quarters by (span, number): those reported, and those that durations to date leave between them."""
    quarters: dict[QuarterKey, Period] = {}
    for keys, _ in _clusters({key: weight for key, weight in evidence.all.items() if key[1] in QUARTER_DAYS}):
        end, days = keys[0]
        middle = end - days // 2
        index = next((at for at, span in enumerate(spans) if span.start <= middle <= span.end), None)
        if index is None:
            continue
        if days > LONG_QUARTER and spans[index].kind == "transition" and keys[0] in spans[index].keys:
            continue
        number = _number(spans[index], end)
        if (index, number) not in quarters:
            name = build_quarter_name(spans[index], number)
            quarters[index, number] = Period(spans[index].fiscal_year, name, end - days + 1, end, keys, index, number)
    for index, span in enumerate(spans):
        for number in range(2, 5):
            if (index, number) in quarters or (index, number) not in to_date:
                continue
            before, shorter = quarters.get((index, number - 1)), to_date.get((index, number - 1))
            end = to_date[index, number][0][0][0]
            earlier = before.end if before else shorter[0][0][0] if shorter else None
            if earlier is not None and end - earlier in range(QUARTER_DAYS.start, QUARTER_DAYS.stop + 7):
                name = build_quarter_name(span, number)
                quarters[index, number] = Period(span.fiscal_year, name, earlier + 1, end, (), index, number)
    return quarters


def _agreeing(to_date: ToDate, quarters: dict[QuarterKey, Period]) -> dict[QuarterKey, tuple[PeriodKey, ...]]:
    """For each quarter the duration to date that ends with it; the best proved where there is no such quarter."""
    chosen = {}
    for place, told in to_date.items():
        quarter = quarters.get(place)
        ending = [keys for keys in told if quarter is None or abs(keys[0][0] - quarter.end) <= SAME_DAYS]
        chosen[place] = (ending or told)[0]
    return chosen


def _number(span: FiscalSpan, end: int) -> int:
    """Which quarter of a span ends on a day; quarters of 12, 12, 12 and 16 weeks are told apart too."""
    length = span.end - span.start + 1 if span.kind != "transition" else COMMON_YEAR
    return min(4, max(1, round((end - span.start + 1) * 4 / length)))


# ---- days


def _clusters(weights: dict[PeriodKey, int]) -> list[tuple[tuple[PeriodKey, ...], int]]:
    """Periods grouped where they are one reported in several ways, the usual one first; the best proved group first."""
    left = sorted(weights, key=lambda key: (-weights[key], -key[0], -key[1]))[:MAX_PERIODS]
    made: list[tuple[list[PeriodKey], int]] = []
    for key in left:
        for keys, _ in made:
            if abs(keys[0][0] - key[0]) <= SAME_DAYS and abs(keys[0][0] - keys[0][1] - key[0] + key[1]) <= SAME_DAYS:
                keys.append(key)
                break
        else:
            made.append(([key], weights[key]))
    return [(tuple(keys), weight) for keys, weight in made]


def _overlap(one: FiscalSpan, other: FiscalSpan) -> bool:
    return min(one.end, other.end) - max(one.start, other.start) > SLACK_DAYS


def _date(day: int) -> date:
    return EPOCH + timedelta(days=day)


def is_gapless(start: int, parts: Sequence[PeriodKey]) -> bool:
    """Whether durations follow one another from ``start`` on without gap or overlap."""
    for end, days in parts:
        if abs(end - days + 1 - start) > SAME_DAYS:
            return False
        start = end + 1
    return True
