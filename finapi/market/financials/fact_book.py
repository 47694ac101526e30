"""The facts of one company, arranged by concept and period.

A number that several filings report is one figure with several *vintages*, one for each filing, in order of filing.
A period is a pair of numbers: its last day, as in ``core/days.py``, and its length in days, which is 0 for an instant.

Facts that only repeat each other are reduced when the book is built: of several facts of one filing for the same
concept and period only one is kept; counts of shares on cover pages, which are of a later day, move to the end of the
period; the rounded periods of the SEC's data sets move to the exact periods that other documents report.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

from finapi.core import days
from finapi.edgar.concept_names import NUMBER, is_extension
from finapi.market.financials.face_pages import normalise_label
from finapi.market.financials.faces import Faces, LabelledLines, SeparateLine
from finapi.market.financials.metric_mapping import FACE_PREFIX, Metric, MetricMapping

# The last day and the length in days.
PeriodKey = tuple[int, int]
# The filing index, the reported concept and the value of a fact.
FactKey = tuple[int, str, Decimal]

# The share count on a cover page, and the maximum number of days after the period for which it may be used.
COVER_SHARES = "dei:EntityCommonStockSharesOutstanding"
MAX_COVER_DAYS = 150
# The maximum number of days between a filing without stored pages and the one whose pages stand in for its own. Tags
# change with accounting rules: what JPMorgan tagged as cash in 2009 is only one line of its cash in 2025.
MAX_NEAREST_DAYS = 1_100
# The beginning of units with numerator and denominator exchanged, "shares/USD", which some filers use for per-share
# figures.
INVERTED_UNIT_PREFIX = "shares/"
# The tag for the ratio of a share split.
SPLIT_RATIO = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"

# Source ranks (DECISIONS 14): periodic reports; those without a filing date; other forms, such as 8-K and registration
# statements; and proxy statements, which repeat figures rounded.
PERIODIC, UNFILED, OTHER, PROXY = range(4)

# Shorter durations are not quarters.
MIN_DURATION_DAYS = 70
# Dates in the SEC's data sets are rounded to the nearest month end, so they are off by half a month at most.
MAX_ROUNDING_DAYS = 16


class SourceFiling(NamedTuple):
    """A filing that facts are from."""

    accession: str
    form: str
    filed: str | None
    source: str
    # The fiscal year that the filing states, or None.
    fiscal_year: int | None = None
    fiscal_period: str | None = None
    period_end: int | None = None

    @property
    def known_day(self) -> int | None:
        """The filing date, else the end of the reported period, or None."""
        return self.period_end if self.filed is None else days.number(self.filed)

    @property
    def source_rank(self) -> int:
        """PERIODIC, UNFILED, OTHER or PROXY."""
        if is_annual_form(self.form) or self.form.startswith(("10-Q", "6-K")):
            return PERIODIC if self.filed else UNFILED
        return PROXY if self.form.startswith(("DEF", "PRE")) else OTHER


# Numbers in the usual spelling. Documents also contain texts under numeric units, and numbers with too many digits for
# decimal arithmetic, which would be rounded silently.
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,14}(\.[0-9]{1,14})?")
MAX_DIGITS = 28


class FactRow(NamedTuple):
    """A fact as it is stored. The value is None for a fact that is reported as nil."""

    concept: str
    unit: str
    end: int
    length: int
    value: str | None
    decimals: str | None
    filing_index: int


class Vintage(NamedTuple):
    """A figure as one filing reports it."""

    filing_index: int  # The index in ``FactBook.filings``, which is greater for later and better sources.
    concept: str  # The reported concept, before mapping.
    unit: str
    value: str
    decimals: str | None


VintagesByPeriod = dict[PeriodKey, list[Vintage]]


class ClassFact(NamedTuple):
    """A share count or per-share figure of one class of shares, as one filing reports it."""

    member: str
    vintage: Vintage


class FactBook:
    """The facts of a company, and what the printed pages of its filings show about them."""

    __slots__ = (
        "_nearest_filings",
        "_usual_tags",
        "bracketed_concepts",
        "class_facts",
        "confirmed_signs",
        "conflicting_facts",
        "containing_concepts",
        "corrected_signs",
        "currency",
        "exact_concepts",
        "face_concepts",
        "filings",
        "instants",
        "label_signs",
        "misscaled_filings",
        "negated_concepts",
        "nil_facts",
        "other_currencies",
        "other_unit_facts",
        "possible_lines",
        "restatement_factors",
        "separate_lines",
        "source_ranks",
        "split_ratios",
        "vintage_count",
        "vintages",
    )

    def __init__(self, filings: Sequence[SourceFiling], currency: str) -> None:
        self.filings = filings
        self.currency = currency
        self.vintage_count = 0
        # Vintages by concept and period, the best and latest last. The concept of a line that is found by its label is
        # "face:" and the key of its metric.
        self.vintages: Mapping[str, Mapping[PeriodKey, list[Vintage]]] = {}
        # The (concept, period) pairs that are reported as nil, or in another unit than the requested one.
        self.nil_facts: set[tuple[str, PeriodKey]] = set()
        self.other_unit_facts: set[tuple[str, PeriodKey]] = set()
        # The currencies of durations that are not reported in the book's currency, the most frequent one first.
        self.other_currencies: list[str] = []
        self.source_ranks = [filing.source_rank for filing in filings]
        # The days for which balances are reported, in order.
        self.instants: list[int] = []
        # Tagged ratios of share splits, with their period and filing index.
        self.split_ratios: list[tuple[Decimal, PeriodKey, int]] = []
        # Factors by which figures of shares were restated, with the filing indexes before and after. None until
        # ``splits.list_splits`` computes them.
        self.restatement_factors: list[tuple[Decimal, int, int]] | None = None
        # The concepts on the face of each statement, by filing index and statement.
        self.face_concepts: dict[int, dict[str, set[str]]] = {}
        # The signs of lines found by their labels, by (filing index, metric).
        self.label_signs: dict[tuple[int, str], int] = {}
        # The label of a line that may be the metric but is ambiguous, by (metric, period).
        self.possible_lines: dict[tuple[str, PeriodKey], str] = {}
        # The lines that belong to a metric but are separate from its own line, by (filing index, metric).
        self.separate_lines: dict[tuple[int, str], list[SeparateLine]] = {}
        # The concepts of lines whose labels mean a metric with ``siblings``, by (filing index, metric).
        self.exact_concepts: dict[tuple[int, str], set[str]] = {}
        # The concepts that a statement only contains in parentheses, by (filing index, statement).
        self.bracketed_concepts: dict[tuple[int, str], set[str]] = {}
        # The concepts that include a concept of the same page and metric, by (filing index, concept).
        self.containing_concepts: dict[tuple[int, str], list[str]] = {}
        # Custom tags of summed payments and expenses that are negative throughout a filing, with its index.
        self.negated_concepts: set[tuple[int, str]] = set()
        # The payments and expenses that are tagged negative and proved to be positive, and those that are proved to be
        # negative (:mod:`finapi.market.financials.outlay_signs`).
        self.corrected_signs: set[FactKey] = set()
        self.confirmed_signs: set[FactKey] = set()
        # The facts for which their filing also states other numbers.
        self.conflicting_facts: set[FactKey] = set()
        # The facts by class of shares for which a filing has no fact of all shares, by (concept, period).
        self.class_facts: dict[tuple[str, PeriodKey], list[ClassFact]] = {}
        # The filings whose amounts are all too small or too large, each with the factor that corrects them
        # (:mod:`finapi.market.financials.filing_scales`).
        self.misscaled_filings: dict[int, Decimal] = {}
        # Caches of ``is_from_note``.
        self._nearest_filings: dict[tuple[int, str], int | None] = {}
        self._usual_tags: dict[tuple[str, str, int], UsualTags] = {}

    def find_newest(self, concept: str, period_key: PeriodKey) -> Vintage | None:
        """Return the best and latest vintage of a figure, or None."""
        vintages = self.vintages[concept].get(period_key)
        return vintages[-1] if vintages else None

    def iter_earlier(self, concept: str, period_key: PeriodKey) -> Iterator[Vintage]:
        """Yield the vintages of a figure before the newest, latest first. They are parsed lazily."""
        yield from islice(reversed(self.vintages[concept][period_key]), 1, None)

    def iter_newest(self, concept: str) -> Iterator[tuple[PeriodKey, Vintage]]:
        """Yield each period of a concept with its newest vintage."""
        for period_key in self.vintages[concept]:
            newest = self.find_newest(concept, period_key)
            assert newest is not None
            yield period_key, newest

    def list_separate_lines(
        self, filing_index: int, metric_key: str, facts: Sequence[tuple[PeriodKey, str]]
    ) -> list[str]:
        """Return the labels of lines that belong to a metric but are not among ``facts``, its operands."""
        return [line.label for line in self._list_separate_lines(filing_index, metric_key, facts)]

    def _list_separate_lines(
        self, filing_index: int, metric_key: str, facts: Sequence[tuple[PeriodKey, str]]
    ) -> list[SeparateLine]:
        lines = self.separate_lines.get((filing_index, metric_key))
        if not lines:
            return []
        periods = {period_key for period_key, _ in facts}
        concepts = {concept for _, concept in facts}
        return [
            line
            for line in lines
            if line.periods & periods
            and line.concept not in concepts
            and not line.totals & concepts
            and (not line.excluded_from or line.excluded_from & concepts)
        ]

    def find_sibling(self, filing_index: int, metric: Metric, facts: Sequence[tuple[PeriodKey, str]]) -> str | None:
        """Return the label of a sibling line, next to which ``facts`` are only a part of the metric, or None.

        A fact whose own label means the metric is never a part.
        """
        exact_concepts = self.exact_concepts.get((filing_index, metric.key))
        if metric.sibling_labels is None or exact_concepts is None:
            return None
        if any(concept in exact_concepts for _, concept in facts):
            return None
        for line in self._list_separate_lines(filing_index, metric.key, facts):
            # A line that another label explicitly excludes is not of the same kind.
            if not line.excluded_from and metric.sibling_labels.fullmatch(normalise_label(line.label)):
                return line.label
        return None

    def is_in_brackets(self, metric: Metric, vintage: Vintage) -> bool:
        """Return True if a balance is stated in parentheses within a balance sheet line, of which it is a part."""
        if metric.statement != "balance_sheet" or metric.units != "currency" or metric.note_industries:
            return False
        return vintage.concept in self.bracketed_concepts.get((vintage.filing_index, metric.statement), ())

    def is_from_note(
        self, metric: Metric, industry: str, concept: str, period_key: PeriodKey, vintage: Vintage
    ) -> bool:
        """Return True if a fact is known not to be the metric's line on its statement.

        It is then from a note or another page, or it is a part of the line. If the pages of the fact's filing are not
        stored, the nearest filing with pages shows which tags are usual for the metric. The fact is then from a note if
        its filing also reports the period under one of these tags.
        """
        filing_index = vintage.filing_index
        containing = self.containing_concepts.get((filing_index, vintage.concept))
        if containing and self._reports_any(filing_index, containing, period_key):
            return True
        if industry in metric.note_industries:
            return False
        if filing_index in self.face_concepts:
            face_concepts = self.face_concepts[filing_index].get(metric.statement, set())
            if face_concepts and (filing_index, metric.key) in self.label_signs:
                return not concept.startswith(FACE_PREFIX)
            return bool(face_concepts) and vintage.concept not in face_concepts
        nearest = self._get_nearest_with_pages(filing_index, metric.statement)
        if nearest is None:
            return False
        cache_key = (metric.key, industry, nearest)
        if cache_key not in self._usual_tags:
            self._usual_tags[cache_key] = self._find_usual_tags(metric, metric.list_tags(industry), nearest)
        usual = self._usual_tags[cache_key]
        if concept in usual.tags or concept in usual.face_concepts:
            return False
        return self._reports_any(filing_index, usual.tags, period_key)

    def _reports_any(self, filing_index: int, tags: Iterable[str], period_key: PeriodKey) -> bool:
        return any(
            vintage.filing_index == filing_index
            for tag in tags
            for vintage in self.vintages.get(tag, {}).get(period_key, ())
        )

    def _get_nearest_with_pages(self, filing_index: int, statement: str) -> int | None:
        cache_key = (filing_index, statement)
        if cache_key not in self._nearest_filings:
            self._nearest_filings[cache_key] = self.find_nearest_with_pages(filing_index, statement)
        return self._nearest_filings[cache_key]

    def find_nearest_with_pages(self, filing_index: int, statement: str) -> int | None:
        """Return the index of the filing with stored pages of a statement that was filed nearest to a filing, or None.

        It must have been filed within ``MAX_NEAREST_DAYS``.
        """
        day = self.filings[filing_index].known_day
        if day is None:
            return None
        distances = []
        for other_index, face_concepts in self.face_concepts.items():
            other_day = self.filings[other_index].known_day
            if face_concepts.get(statement) and other_day is not None:
                distances.append((abs(other_day - day), other_index))
        nearest = min(distances, default=None)
        return nearest[1] if nearest is not None and nearest[0] <= MAX_NEAREST_DAYS else None

    def _find_usual_tags(self, metric: Metric, tags: Iterable[str], filing_index: int) -> UsualTags:
        """Return the tags that a filing uses for a metric on its statement, and all concepts of this statement."""
        if (filing_index, metric.key) in self.label_signs:
            return UsualTags([FACE_PREFIX + metric.key], frozenset())
        face_concepts = self.face_concepts[filing_index][metric.statement]
        return UsualTags([tag for tag in dict.fromkeys(tags) if tag in face_concepts], face_concepts)

    def find_last_filed(self, filing_indexes: Iterable[int]) -> int:
        """Return the index of the last of some filings, at whose date all of them were known.

        A filing without a filing date counts as the last. Without indexes, return the last filing of the book.
        """

        def get_order(filing_index: int) -> tuple[bool, str, int]:
            filed = self.filings[filing_index].filed
            return filed is None, filed or "", filing_index

        return max(filing_indexes, key=get_order, default=len(self.filings) - 1)

    def list_instants_near(self, day: int, max_days: int) -> list[int]:
        """Return the other balance days within ``max_days`` of a day, the nearest first."""
        start = bisect_left(self.instants, day - max_days)
        end = bisect_right(self.instants, day + max_days)
        other_instants = [instant for instant in self.instants[start:end] if instant != day]
        return sorted(other_instants, key=lambda instant: (abs(instant - day), instant))

    def list_units(self, unit_kind: str) -> tuple[str, ...]:
        """Return the units that facts of a unit kind may have, the preferred one first."""
        if unit_kind == "per_share":
            # Some filers report per-share figures in the unit "pure" or in money (KO in 2009).
            return (f"{self.currency}/shares", "pure", self.currency, f"{INVERTED_UNIT_PREFIX}{self.currency}")
        return ("shares",) if unit_kind == "shares" else (self.currency,)


class UsualTags(NamedTuple):
    """The tags that a filing uses for a metric on its statement, and all concepts of the statement."""

    tags: Sequence[str]
    face_concepts: Set[str]


def sort_filings(filings: Iterable[SourceFiling]) -> list[SourceFiling]:
    """Return filings in order of their source rank and filing date, the best and latest last."""

    def get_order(filing: SourceFiling) -> tuple[int, str, bool, str, str]:
        # Filings without a filing date are sorted by period, an amendment after its original.
        day = filing.filed or ("" if filing.period_end is None else days.iso(filing.period_end))
        is_undated_amendment = not filing.filed and filing.form.endswith("/A")
        return -filing.source_rank, day, is_undated_amendment, filing.accession, filing.source

    return sorted(filings, key=get_order)


def is_currency(unit: str) -> bool:
    """Return True for the code of a currency, such as USD."""
    return len(unit) == 3 and unit.isupper()


def find_main_currency(filings: Sequence[SourceFiling], rows: Sequence[FactRow]) -> str:
    """Return the currency of most facts in the newest report, or "USD" if there are none.

    A company may change its currency. Periodic reports are preferred to other filings.
    """
    currencies = {unit for unit in {row.unit for row in rows} if is_currency(unit)}
    if len(currencies) < 2:
        return next(iter(currencies), "USD")
    counts_by_filing: dict[int, Counter[str]] = {}
    for row in rows:
        if row.unit in currencies:
            counts_by_filing.setdefault(row.filing_index, Counter())[row.unit] += 1

    def get_order(filing_index: int) -> tuple[bool, int, int]:
        filing = filings[filing_index]
        return filing.source_rank == PERIODIC, filing.known_day or 0, filing_index

    counts = counts_by_filing[max(counts_by_filing, key=get_order)]
    return min(counts, key=lambda unit: (-counts[unit], unit))


def _list_other_currencies(rows: Iterable[FactRow], currency: str) -> list[str]:
    """Return the currencies of quarters or longer durations that end on days without one in ``currency``."""
    ends_by_currency: dict[str, Counter[int]] = {}
    for row in rows:
        if row.length >= MIN_DURATION_DAYS and row.value is not None and is_currency(row.unit):
            ends_by_currency.setdefault(row.unit, Counter())[row.end] += 1
    ends_in_currency = ends_by_currency.pop(currency, Counter())
    counts = {
        unit: sum(count for end, count in ends.items() if end not in ends_in_currency)
        for unit, ends in ends_by_currency.items()
    }
    return sorted((unit for unit in counts if counts[unit]), key=lambda unit: (-counts[unit], unit))


class ConceptUse(NamedTuple):
    """The mapped concept for a reported concept, and the units that its facts may have."""

    concept: str
    units: tuple[str, ...]


def build_book(
    filings: Sequence[SourceFiling],
    rows: Sequence[FactRow],
    mapping: MetricMapping,
    currency: str | None = None,
    faces: Faces | None = None,
) -> FactBook:
    """Return a book of the facts that a mapping can use, and of what the printed statements (``faces``) show.

    ``filings`` are in the order of :func:`sort_filings`, and ``rows`` in the order of their filings.
    """
    book = FactBook(filings, currency or find_main_currency(filings, rows))
    has_other_currencies = False
    vintages: dict[str, VintagesByPeriod] = {}
    book.vintages = vintages
    exact_periods = _ExactPeriods(filings, rows)
    uses: dict[str, ConceptUse | None] = {}
    for reported, unit, end, length, value, decimals, filing_index in rows:
        number = None if value is None else normalise_number(value)
        if reported == SPLIT_RATIO and number is not None and Decimal(number) > 0:
            book.split_ratios.append((Decimal(number), (end, length), filing_index))
        if reported not in uses:
            uses[reported] = _find_use(book, mapping, reported)
        use = uses[reported]
        if use is None:
            continue
        period_key = exact_periods.get(filing_index, end, length)
        if unit not in use.units:
            book.other_unit_facts.add((use.concept, period_key))
            has_other_currencies = has_other_currencies or (is_currency(unit) and value is not None)
        elif value is None:
            book.nil_facts.add((use.concept, period_key))
        elif number is not None:
            vintage = Vintage(filing_index, reported, unit, number, decimals)
            _add_vintage(vintages.setdefault(use.concept, {}), period_key, vintage, use)
    if has_other_currencies:
        book.other_currencies = _list_other_currencies(rows, book.currency)
    if COVER_SHARES in vintages:
        vintages[COVER_SHARES] = _move_to_period_end(book, vintages[COVER_SHARES])
    if faces is not None and faces.concepts:
        _add_faces(book, vintages, rows, mapping, faces, exact_periods)
    book.vintage_count = sum(len(line) for by_period in vintages.values() for line in by_period.values())
    book.instants = sorted({end for by_period in vintages.values() for end, length in by_period if not length})
    return book


def add_class_facts(book: FactBook, facts: Iterable[tuple[str, FactRow]], mapping: MetricMapping) -> None:
    """Add the facts of classes of shares, each with its member. A filing with a fact of all shares needs none.

    Counts on cover pages move to the end of the report's period.
    """
    for member, row in facts:
        use = _find_use(book, mapping, row.concept)
        number = None if row.value is None else normalise_number(row.value)
        if use is None or number is None or row.unit not in use.units:
            continue
        period_key: PeriodKey = (row.end, row.length)
        if use.concept == COVER_SHARES:
            period_end = book.filings[row.filing_index].period_end
            if period_end is None or not 0 <= row.end - period_end <= MAX_COVER_DAYS:
                continue
            period_key = (period_end, 0)
        known_vintages = book.vintages.get(use.concept, {}).get(period_key, ())
        if any(vintage.filing_index == row.filing_index for vintage in known_vintages):
            continue
        vintage = Vintage(row.filing_index, row.concept, row.unit, number, row.decimals)
        class_facts = book.class_facts.setdefault((use.concept, period_key), [])
        class_facts.append(ClassFact(member, vintage))


def _find_use(book: FactBook, mapping: MetricMapping, reported: str) -> ConceptUse | None:
    concept = mapping.find_concept(reported)
    if concept is None:
        return None
    return ConceptUse(concept, book.list_units(mapping.get_unit_kind(concept)))


class NamedLine(NamedTuple):
    """A line that is a metric, or may be one, by its label."""

    metric: Metric
    concept: str  # The concept of its vintages: "face:capex", or "face:capex/1" for a part.
    possible_label: str | None  # The label if the line is only a candidate, else None.


NamedLines = dict[tuple[int, str], list[NamedLine]]


def _add_faces(
    book: FactBook,
    vintages: dict[str, VintagesByPeriod],
    rows: Sequence[FactRow],
    mapping: MetricMapping,
    faces: Faces,
    exact_periods: _ExactPeriods,
) -> None:
    """Add what the printed statements show, and the vintages of lines whose labels mean a metric."""
    book.face_concepts = faces.concepts
    for (filing_index, statement), concepts in faces.bracketed.items():
        face_concepts = faces.concepts.get(filing_index, {}).get(statement, set())
        book.bracketed_concepts[filing_index, statement] = concepts - face_concepts
    kinds_by_unit = {unit: kind for kind in ("per_share", "shares", "currency") for unit in book.list_units(kind)}
    unit_kinds: dict[tuple[int, str], str] = {}
    values: dict[tuple[int, str], dict[PeriodKey, str]] = {}
    for row in rows:
        if row.filing_index not in faces.concepts or row.value is None or row.unit not in kinds_by_unit:
            continue
        unit_kinds[row.filing_index, row.concept] = kinds_by_unit[row.unit]
        number = normalise_number(row.value) if row.unit == book.currency else None
        if number is not None:
            period_key = exact_periods.get(row.filing_index, row.end, row.length)
            values.setdefault((row.filing_index, row.concept), {})[period_key] = number
    book.containing_concepts = {
        (filing_index, part): [mapping.find_concept(containing) or containing]
        for filing_index, part, containing in faces.iter_containing_concepts(values)
    }
    book.separate_lines = {(index, key): lines for index, key, lines in faces.iter_separate_lines(values)}
    book.exact_concepts = {(index, key): concepts for index, key, concepts in faces.iter_exact_concepts()}
    named_lines: NamedLines = {}
    for filing_index, metric, lines in faces.iter_labelled(unit_kinds, values):
        face_concept = FACE_PREFIX + metric.key
        if not isinstance(lines, LabelledLines):
            for line in lines:
                named_line = NamedLine(metric, face_concept, line.printed_label)
                named_lines.setdefault((filing_index, line.concept), []).append(named_line)
            continue
        book.label_signs[filing_index, metric.key] = lines.sign
        for number_of_part, concept in enumerate(lines.concepts, 1):
            part_concept = f"{face_concept}/{number_of_part}" if len(lines.concepts) > 1 else face_concept
            named_line = NamedLine(metric, part_concept, None)
            named_lines.setdefault((filing_index, concept), []).append(named_line)
            line_values = values.get((filing_index, concept), {}).values()
            is_custom_outlay = metric.is_outlay and is_extension(concept)
            if is_custom_outlay and line_values and all(Decimal(value) <= 0 for value in line_values):
                book.negated_concepts.add((filing_index, concept))
    _add_named_lines_elsewhere(book, named_lines)
    for row in rows if named_lines else ():
        for named_line in named_lines.get((row.filing_index, row.concept), ()):
            _add_named_line(book, vintages, row, named_line, exact_periods)


def _add_named_line(
    book: FactBook,
    vintages: dict[str, VintagesByPeriod],
    row: FactRow,
    named_line: NamedLine,
    exact_periods: _ExactPeriods,
) -> None:
    metric = named_line.metric
    units = book.list_units(metric.units)
    number = normalise_number(row.value) if row.value is not None and row.unit in units else None
    if number is None:
        return
    period_key = _convert_to_balance(metric, exact_periods.get(row.filing_index, row.end, row.length))
    if named_line.possible_label is not None:
        book.possible_lines.setdefault((metric.key, period_key), named_line.possible_label)
        return
    vintage = Vintage(row.filing_index, row.concept, row.unit, number, row.decimals)
    by_period = vintages.setdefault(named_line.concept, {})
    _add_vintage(by_period, period_key, vintage, ConceptUse(row.concept, units))


def _convert_to_balance(metric: Metric, period_key: PeriodKey) -> PeriodKey:
    """Return the instant of a balance that its filer tags with a duration; other periods are returned unchanged.

    The instant is the last day of the duration, or for an opening balance the day before its first day.
    """
    end, length = period_key
    if not length or metric.aggregation not in ("instant", "opening"):
        return period_key
    return (end, 0) if metric.aggregation == "instant" else (end - length, 0)


def _add_named_lines_elsewhere(book: FactBook, named_lines: NamedLines) -> None:
    """Use a standard tag that is a metric by its label in one filing for nearby filings without pages too."""
    single_lines = [
        (filing_index, concept, line.metric)
        for (filing_index, concept), lines in named_lines.items()
        for line in lines
        if line.possible_label is None and line.concept == FACE_PREFIX + line.metric.key and not is_extension(concept)
    ]
    # The filings without pages, by statement and by the index of their nearest filing with pages.
    followers: dict[str, dict[int, list[int]]] = {}
    for statement in {metric.statement for _, _, metric in single_lines}:
        followers[statement] = {}
        for filing_index in range(len(book.filings)):
            if filing_index in book.face_concepts:
                continue
            nearest = book.find_nearest_with_pages(filing_index, statement)
            if nearest is not None:
                followers[statement].setdefault(nearest, []).append(filing_index)
    for filing_index, concept, metric in single_lines:
        for follower in followers[metric.statement].get(filing_index, ()):
            named_line = NamedLine(metric, FACE_PREFIX + metric.key, None)
            named_lines.setdefault((follower, concept), []).append(named_line)
            book.label_signs[follower, metric.key] = book.label_signs[filing_index, metric.key]


def normalise_number(text: str) -> str | None:
    """Return a number in plain digits (".5" as "0.5", "1e-05" as "0.00001"), or None for any other text."""
    if _PLAIN_NUMBER.fullmatch(text):
        return text
    if NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text)
    return format(value, "f") if len(value.as_tuple().digits) <= MAX_DIGITS else None


def _move_to_period_end(book: FactBook, cover_vintages: VintagesByPeriod) -> VintagesByPeriod:
    """Return the share counts of cover pages, moved from their later dates to the ends of the reports' periods."""
    covers: dict[int, tuple[int, Vintage]] = {}
    for (day, _), vintages in cover_vintages.items():
        for vintage in vintages:
            covers[vintage.filing_index] = (day, vintage)
    period_ends = {filing_index: book.filings[filing_index].period_end for filing_index in covers}
    # If a filing does not state the end of its period, the end of its last reported duration is used.
    undated = {filing_index: day for filing_index, (day, _) in covers.items() if period_ends[filing_index] is None}
    for by_period in book.vintages.values() if undated else ():
        for (end, length), vintages in by_period.items():
            for vintage in vintages if length else ():
                filing_index = vintage.filing_index
                if filing_index in undated and end <= undated[filing_index]:
                    period_ends[filing_index] = max(period_ends[filing_index] or end, end)
    moved: VintagesByPeriod = {}
    for filing_index in sorted(covers):
        day, vintage = covers[filing_index]
        period_end = period_ends[filing_index]
        if period_end is not None and day - period_end <= MAX_COVER_DAYS:
            moved.setdefault((period_end, 0), []).append(vintage)
    return moved


def _add_vintage(by_period: VintagesByPeriod, period_key: PeriodKey, vintage: Vintage, use: ConceptUse) -> None:
    """Add a vintage. Only one of each filing is kept: the one with the better unit, then with the standard concept."""

    def get_preference(candidate: Vintage) -> tuple[int, bool, str, str]:
        is_other_concept = candidate.concept != use.concept
        return use.units.index(candidate.unit), is_other_concept, candidate.concept, candidate.value

    period_vintages = by_period.get(period_key)
    if period_vintages is None:
        by_period[period_key] = [vintage]
    elif period_vintages[-1].filing_index != vintage.filing_index:
        period_vintages.append(vintage)
    elif get_preference(vintage) < get_preference(period_vintages[-1]):
        period_vintages[-1] = vintage


class _ExactPeriods:
    """Finds the exact period for a period that is rounded in the SEC's data sets."""

    def __init__(self, filings: Sequence[SourceFiling], rows: Sequence[FactRow]) -> None:
        self._is_rounded = [filing.source == "fsds" for filing in filings]
        self._needed = any(self._is_rounded) and not all(self._is_rounded)
        self._exact_instants: list[PeriodKey] = []
        self._exact_durations: list[PeriodKey] = []
        self._exact_by_rounded: dict[PeriodKey, PeriodKey] = {}
        if self._needed:
            exact = {(row.end, row.length) for row in rows if not self._is_rounded[row.filing_index]}
            for period_key in sorted(exact):
                (self._exact_durations if period_key[1] > 0 else self._exact_instants).append(period_key)

    def get(self, filing_index: int, end: int, length: int) -> PeriodKey:
        """Return the exact period of a fact, or its own period if none is near."""
        period_key = (end, length)
        if not self._needed or not self._is_rounded[filing_index]:
            return period_key
        if period_key not in self._exact_by_rounded:
            self._exact_by_rounded[period_key] = self._find_exact(end, length)
        return self._exact_by_rounded[period_key]

    def _find_exact(self, end: int, length: int) -> PeriodKey:
        near = []
        for exact in self._exact_durations if length > 0 else self._exact_instants:
            exact_end, exact_length = exact
            start_distance = abs((exact_end - exact_length) - (end - length))
            if abs(exact_end - end) <= MAX_ROUNDING_DAYS and start_distance <= MAX_ROUNDING_DAYS:
                near.append((abs(exact_end - end) + abs(exact_length - length), exact))
        return min(near)[1] if near else (end, length)


def is_annual_form(form: str) -> bool:
    """Return True for annual reports: 10-K, 10-KT, 20-F, 40-F and their amendments."""
    return form.startswith(("10-K", "20-F", "40-F"))
