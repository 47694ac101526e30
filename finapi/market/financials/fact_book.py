"""The facts of one company arranged for questions: by concept and period, each vintage in order of filing.

Values in, values out. A period is ``(end day, length in days)``, the length 0 for an instant; days are numbers, as in
``core/days.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from finapi.core import days
from finapi.edgar.xbrl.qnames import NUMBER, is_extension
from finapi.market.financials.faces import Faces, LabelledLines, LineBeside
from finapi.market.financials.faces import normalise_label as label_of
from finapi.market.financials.metric_mapping import FACE_PREFIX, Metric, MetricMapping

PeriodKey = tuple[int, int]

# The cover page's count of shares, and how many days after the period it may be taken.
COVER_SHARES = "dei:EntityCommonStockSharesOutstanding"
COVER_DAYS = 150
# For how many days before and after a filing its pages show how the company tags: rules of accounting change, and tags
# with them (JPMorgan's cash of 2009 is one line of its cash of 2025).
LIKE_DAYS = 1_100
# How filings tag the ratio of a split.
SPLIT_RATIO = "us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"

# How much a filing's figures are worth (DECISIONS 14): periodic reports; those of unknown filing day; other forms
# (8-K, registration statements); proxy statements, which repeat figures rounded.
PERIODIC, UNFILED, OTHER, PROXY = range(4)

# Dates of the data sets are rounded to the nearest month end; half a month is the most they can be off.
ROUNDED_DAYS = 16


class SourceFiling(NamedTuple):
    """A filing that facts are from. ``fiscal_year`` and ``period_end`` are the filing's own words, if any."""

    accession: str
    form: str
    filed: str | None
    source: str
    fiscal_year: int | None = None
    fiscal_period: str | None = None
    period_end: int | None = None

    @property
    def known_day(self) -> int | None:
        """When it was filed, or else the end of its period; None where neither is known."""
        return self.period_end if self.filed is None else days.number(self.filed)

    @property
    def source_rank(self) -> int:
        """PERIODIC, UNFILED, OTHER or PROXY."""
        if is_annual_form(self.form) or self.form.startswith(("10-Q", "6-K")):
            return PERIODIC if self.filed else UNFILED
        return PROXY if self.form.startswith(("DEF", "PRE")) else OTHER


# How nearly every figure is written. Documents hold texts under numeric units too, and numbers that no statement can
# mean: what has more digits than decimal arithmetic keeps would be served as another number.
_PLAIN = re.compile(r"-?[0-9]{1,14}(\.[0-9]{1,14})?")
MAX_DIGITS = 28

# A fact as it is read: concept, unit, end day, days, value, decimals, and the place of its filing among those that
# come with it. Unpacked by position, so that rows of the database serve as they are.
FactRow = Iterable[Any]


class Vintage(NamedTuple):
    """A figure as one filing reports it. ``place`` orders filings: the greater the later, after it the better."""

    filing_index: int
    concept: str
    unit: str
    value: str
    decimals: str | None


class FactBook:
    """``vintages[concept][key]`` are the vintages of a figure, the best and latest last."""

    __slots__ = (
        *(
            "currency",
            "vintage_count",
            "filings",
            "instants",
            "nil_facts",
            "other_unit_facts",
            "source_ranks",
            "vintages",
        ),
        *(
            "lines_beside",
            "exact_concepts",
            "label_signs",
            "restatement_factors",
            "face_concepts",
            "split_ratios",
            "negated_concepts",
            "possible_lines",
            "containing_concepts",
            "bracketed_concepts",
        ),
        *("_nearest", "_usual"),
    )

    def __init__(self, filings: Sequence[SourceFiling], currency: str) -> None:
        self.filings = filings
        self.currency = currency
        self.vintage_count = 0  # how many vintages there are
        self.vintages: Mapping[str, Mapping[PeriodKey, list[Vintage]]] = {}
        # Periods for which a concept is reported as nil, or in a unit that is not asked for.
        self.nil_facts: set[tuple[str, PeriodKey]] = set()
        self.other_unit_facts: set[tuple[str, PeriodKey]] = set()
        self.source_ranks = [filing.source_rank for filing in filings]
        # The days of balances, in order.
        self.instants: list[int] = []
        # Ratios that filings tag as a split's, with their period and the place of the filing.
        self.split_ratios: list[tuple[Decimal, PeriodKey, int]] = []
        # The factors by which figures of shares were restated, with the places of the filings before and after; None
        # until that is asked (splits.found).
        self.restatement_factors: list[tuple[Decimal, int, int]] | None = None
        # By place and statement the concepts on its face; by place and metric the sign of the line that its label
        # places; by metric and period the line that may mean it where none is clear.
        self.face_concepts: dict[int, dict[str, set[str]]] = {}
        self.label_signs: dict[tuple[int, str], int] = {}
        self.possible_lines: dict[tuple[str, PeriodKey], str] = {}
        # By place and metric the lines of its statement that belong beside it.
        self.lines_beside: dict[tuple[int, str], list[LineBeside]] = {}
        # By place and metric with siblings the concepts of the lines whose labels mean it.
        self.exact_concepts: dict[tuple[int, str], set[str]] = {}
        # By place and statement the concepts that it tells in brackets and on no line.
        self.bracketed_concepts: dict[tuple[int, str], set[str]] = {}
        # By place and concept that which holds it on the same page and means the same metric.
        self.containing_concepts: dict[tuple[int, str], list[str]] = {}
        # A filer's own payments and expenses that are told negative throughout a filing, where they are summed.
        self.negated_concepts: set[tuple[int, str]] = set()
        # What was found of filings without pages and with them: see noted.
        self._nearest: dict[tuple[int, str], int | None] = {}
        self._usual: dict[tuple[str, str, int], tuple[Sequence[str], Set[str]]] = {}

    def find_newest(self, concept: str, key: PeriodKey) -> Vintage | None:
        """The best and latest vintage of a figure; None where no filing reports it."""
        told = self.vintages[concept].get(key)
        return told[-1] if told else None

    def iter_earlier(self, concept: str, key: PeriodKey) -> Iterator[Vintage]:
        """The vintages of a figure before its newest, the latest first; they are read when the first is asked for."""
        yield from islice(reversed(self.vintages[concept][key]), 1, None)

    def iter_newest(self, concept: str) -> Iterator[tuple[PeriodKey, Vintage]]:
        """The newest vintage of each figure of a concept."""
        for key in self.vintages[concept]:
            newest = self.find_newest(concept, key)
            assert newest is not None
            yield key, newest

    def list_lines_beside(self, place: int, metric: str, facts: Iterable[tuple[PeriodKey, str]]) -> list[str]:
        """The labels of the lines of a filing's statement that belong to a metric made of ``facts`` and are not in
        it."""
        return [one.label for one in self._beside(place, metric, facts)]

    def _beside(self, place: int, metric: str, facts: Iterable[tuple[PeriodKey, str]]) -> list[LineBeside]:
        lines = self.lines_beside.get((place, metric))
        if not lines:
            return []
        keys, concepts = ({fact[at] for fact in facts} for at in range(2))
        return [
            one
            for one in lines
            if one.periods & keys and one.concept not in concepts and not one.totals & concepts
            if not one.excluded_from or one.excluded_from & concepts
        ]

    def find_sibling(self, place: int, metric: Metric, facts: Sequence[tuple[PeriodKey, str]]) -> str | None:
        """The label of a line beside which what a filing tells under a tag is a part and no figure of a metric; None
        where nothing is beside it, or its own label means the metric."""
        exact = self.exact_concepts.get((place, metric.key))
        if exact is None or any(concept in exact for _, concept in facts):
            return None
        # What a label says that it leaves out (``but``) is no line of the same kind.
        told = (one.label for one in self._beside(place, metric.key, facts) if not one.excluded_from)
        return next((text for text in told if metric.siblings and metric.siblings.fullmatch(label_of(text))), None)

    def is_in_brackets(self, metric: Metric, vintage: Vintage) -> bool:
        """Whether a balance is told in brackets of a line of the balance sheet, and so is a part of that line."""
        if metric.statement != "balance_sheet" or metric.units != "currency" or metric.anywhere:
            return False
        return vintage.concept in self.bracketed_concepts.get((vintage.filing_index, metric.statement), ())

    def is_from_note(self, metric: Metric, industry: str, concept: str, key: PeriodKey, vintage: Vintage) -> bool:
        """Whether a fact is not from the statement of a metric but from a note or another page, or a part of its line,
        as far as is known. Of a filing without pages the nearest one with pages decides, where the filing tells the
        period under a tag that stands there."""
        place = vintage.filing_index
        wholes = self.containing_concepts.get((place, vintage.concept))
        if wholes and self._tells(place, wholes, key):
            return True
        if industry in metric.anywhere:
            return False
        if place in self.face_concepts:
            shown = self.face_concepts[place].get(metric.statement, set())
            if shown and (place, metric.key) in self.label_signs:
                return not concept.startswith(FACE_PREFIX)
            return bool(shown) and vintage.concept not in shown
        near = self._near(place, metric.statement)
        if near is None:
            return False
        at = metric.key, industry, near
        if at not in self._usual:
            self._usual[at] = self.find_usual_tags(metric, metric.list_tags(industry), near)
        usual, face = self._usual[at]
        return concept not in usual and concept not in face and self._tells(place, usual, key)

    def _tells(self, place: int, tags: Iterable[str], key: PeriodKey) -> bool:
        return any(one.filing_index == place for tag in tags for one in self.vintages.get(tag, {}).get(key, ()))

    def _near(self, place: int, statement: str) -> int | None:
        at = place, statement
        if at not in self._nearest:
            self._nearest[at] = self.find_nearest_with_pages(place, statement)
        return self._nearest[at]

    def find_nearest_with_pages(self, place: int, statement: str) -> int | None:
        """Of the filings whose pages are held and have a statement, the one filed nearest to another, which is near
        enough to use the same tags."""
        day = self.filings[place].known_day
        if day is None:
            return None
        days_of = (
            (self.filings[one].known_day, one) for one, shown in self.face_concepts.items() if shown.get(statement)
        )
        near = [(abs(of - day), one) for of, one in days_of if of is not None and abs(of - day) <= LIKE_DAYS]
        return min(near)[1] if near else None

    def find_usual_tags(self, metric: Metric, tags: Iterable[str], place: int) -> tuple[Sequence[str], Set[str]]:
        """Under which of its tags a filing whose pages are held tells a metric on its statement, and every concept of
        that."""
        if (place, metric.key) in self.label_signs:
            return (FACE_PREFIX + metric.key,), frozenset()
        face = self.face_concepts[place][metric.statement]
        return [tag for tag in dict.fromkeys(tags) if tag in face], face

    def find_last_filed(self, places: Iterable[int]) -> int:
        """Of the filings at some places the one filed last, when all of them were known; one of unknown day is known
        on none. The book's last where there is no place."""

        def known(place: int) -> tuple[bool, str, int]:
            filed = self.filings[place].filed
            return filed is None, filed or "", place

        return max(places, key=known, default=len(self.filings) - 1)

    def list_instants_near(self, day: int, off: int) -> list[int]:
        """The other days of balances at most ``off`` days from a day, the nearest first."""
        first = bisect_left(self.instants, day - off)
        near = self.instants[first : bisect_right(self.instants, day + off)]
        return sorted((one for one in near if one != day), key=lambda one: (abs(one - day), one))

    def list_units(self, kind: str) -> tuple[str, ...]:
        """The units that facts of a kind may have, the proper one first."""
        if kind == "per_share":
            # Some filers give per-share figures the unit pure, or plain money (KO in 2009).
            return (f"{self.currency}/shares", "pure", self.currency)
        return ("shares",) if kind == "shares" else (self.currency,)


def sort_filings(filings: Iterable[SourceFiling]) -> list[SourceFiling]:
    """Filings by what they are worth and when they were filed, the best and latest last."""

    def place(one: SourceFiling) -> tuple[int, str, bool, str, str]:
        # Those of unknown day follow one another as their periods do, an amendment what it amends.
        known = one.filed or ("" if one.period_end is None else days.iso(one.period_end))
        amends = not one.filed and one.form.endswith("/A")
        return -one.source_rank, known, amends, one.accession, one.source

    return sorted(filings, key=place)


def find_main_currency(rows: Iterable[FactRow]) -> str:
    """The currency of most figures; "USD" when there is none."""
    counted = Counter(unit for _, unit, *_ in rows)
    units = {unit: count for unit, count in counted.items() if len(unit) == 3 and unit.isupper()}
    return min(units, key=lambda unit: (-units[unit], unit)) if units else "USD"


def build_book(
    filings: Sequence[SourceFiling],
    rows: Sequence[FactRow],
    mapping: MetricMapping,
    currency: str | None = None,
    faces: Faces | None = None,
) -> FactBook:
    """A book of the figures that a mapping can use, with what the ``faces`` of the filings say of them.

    ``filings`` stand in the order of :func:`order`, and ``rows`` in that of their filings.
    """
    book = FactBook(filings, currency or find_main_currency(rows))
    vintages: dict[str, dict[PeriodKey, list[Vintage]]] = {}
    book.vintages = vintages
    # By reported concept: under which one it counts, and the units that its facts may have; None for one not used.
    uses: dict[str, tuple[str, tuple[str, ...]] | None] = {}
    exact = _ExactPeriods(filings, rows)
    for reported, unit, end, length, value, decimals, place in rows:
        if (
            reported == SPLIT_RATIO
            and value is not None
            and (ratio := normalise_number(value)) is not None
            and Decimal(ratio) > 0
        ):
            book.split_ratios.append((Decimal(ratio), (end, length), place))
        if reported not in uses:
            counted = mapping.find_concept(reported)
            uses[reported] = None if counted is None else (counted, book.list_units(mapping.get_unit_kind(counted)))
        use = uses[reported]
        if use is None:
            continue
        concept, units = use
        key = exact.key(place, end, length) if exact.needed else (end, length)
        if unit not in units:
            book.other_unit_facts.add((concept, key))
        elif value is None:
            book.nil_facts.add((concept, key))
        elif (figure := normalise_number(value)) is not None:
            vintage = Vintage(place, reported, unit, figure, decimals)
            _enter(vintages.setdefault(concept, {}), key, vintage, concept, units)
    if COVER_SHARES in vintages:
        vintages[COVER_SHARES] = _at_period_end(book, vintages[COVER_SHARES])
    if faces is not None and faces.concepts:
        _place(book, vintages, rows, mapping, faces, exact)
    book.vintage_count = sum(len(found) for by_key in vintages.values() for found in by_key.values())
    book.instants = sorted({key[0] for by_key in book.vintages.values() for key in by_key if not key[1]})
    return book


def _place(
    book: FactBook,
    vintages: dict[str, dict[PeriodKey, list[Vintage]]],
    rows: Sequence[FactRow],
    mapping: MetricMapping,
    faces: Faces,
    exact: _ExactPeriods,
) -> None:
    """Enter the lines whose labels mean a metric under its name."""
    book.face_concepts = faces.concepts
    for (place, statement), concepts in faces.bracketed.items():
        book.bracketed_concepts[place, statement] = concepts - faces.concepts.get(place, {}).get(statement, set())
    kinds = {unit: kind for kind in ("per_share", "shares", "currency") for unit in book.list_units(kind)}
    kind_of: dict[tuple[int, str], str] = {}
    values: dict[tuple[int, str], dict[PeriodKey, str]] = {}
    for concept, unit, end, length, value, _, place in rows:
        if place in faces.concepts and value is not None and unit in kinds:
            kind_of[place, concept] = kinds[unit]
            if unit == book.currency and (figure := normalise_number(value)) is not None:
                key = exact.key(place, end, length) if exact.needed else (end, length)
                values.setdefault((place, concept), {})[key] = figure
    named: dict[tuple[int, str], list[tuple[Metric, str, str | None]]] = {}
    book.containing_concepts = {
        (place, part): [mapping.find_concept(whole) or whole]
        for place, part, whole in faces.iter_containing_concepts(values)
    }
    book.lines_beside = {(place, key): lines for place, key, lines in faces.iter_lines_beside(values)}
    book.exact_concepts = {(place, key): concepts for place, key, concepts in faces.iter_exact_concepts()}
    for place, metric, one in faces.iter_labelled(kind_of, values):
        name = FACE_PREFIX + metric.key
        if isinstance(one, LabelledLines):
            book.label_signs[place, metric.key] = one.sign
            for number, concept in enumerate(one.concepts, 1):
                entered = f"{name}/{number}" if len(one.concepts) > 1 else name
                named.setdefault((place, concept), []).append((metric, entered, None))
                of = values.get((place, concept), {}).values() if metric.outlay and is_extension(concept) else ()
                if of and all(Decimal(value) <= 0 for value in of):
                    book.negated_concepts.add((place, concept))
        else:
            for line in one:
                named.setdefault((place, line.concept), []).append((metric, name, line.text))
    _place_elsewhere(book, named)
    for concept, unit, end, length, value, decimals, place in rows if named else ():
        for metric, name, text in named.get((place, concept), ()):
            figure = normalise_number(value) if value is not None and unit in book.list_units(metric.units) else None
            key = _told_at(metric, exact.key(place, end, length) if exact.needed else (end, length))
            if figure is not None and text is not None:
                book.possible_lines.setdefault((metric.key, key), text)
            elif figure is not None:
                vintage = Vintage(place, concept, unit, figure, decimals)
                _enter(vintages.setdefault(name, {}), key, vintage, concept, book.list_units(metric.units))


def _told_at(metric: Metric, key: PeriodKey) -> PeriodKey:
    """When a line that means a metric is told: of a balance that a filer tags with a duration, its last day, or the day
    before its first."""
    end, length = key
    if not length or metric.over not in ("instant", "opening"):
        return key
    return (end, 0) if metric.over == "instant" else (end - length, 0)


def _place_elsewhere(book: FactBook, named: dict[tuple[int, str], list[tuple[Metric, str, str | None]]]) -> None:
    """Let the line that a label places in a filing mean the same in those nearest to it whose pages are not held."""
    alone = [
        (place, concept, metric)
        for (place, concept), of in named.items()
        for metric, name, text in of
        if text is None and name == FACE_PREFIX + metric.key and not is_extension(concept)
    ]
    near: dict[str, dict[int, list[int]]] = {}
    for statement in {metric.statement for _, _, metric in alone}:
        of_statement = near.setdefault(statement, {})
        for place in range(len(book.filings)):
            at = book.find_nearest_with_pages(place, statement) if place not in book.face_concepts else None
            if at is not None:
                of_statement.setdefault(at, []).append(place)
    for at, concept, metric in alone:
        for place in near[metric.statement].get(at, ()):
            named.setdefault((place, concept), []).append((metric, FACE_PREFIX + metric.key, None))
            book.label_signs[place, metric.key] = book.label_signs[at, metric.key]


def normalise_number(text: str) -> str | None:
    """A number in plain digits (".5" as "0.5", "1e-05" as "0.00001"); None for what is no figure."""
    if _PLAIN.fullmatch(text):
        return text
    if NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text)
    return format(value, "f") if len(value.as_tuple().digits) <= MAX_DIGITS else None


def _at_period_end(book: FactBook, told: dict[PeriodKey, list[Vintage]]) -> dict[PeriodKey, list[Vintage]]:
    """Share counts of cover pages, which are of a day after the period, at the end of the report's period."""
    covers = {vintage.filing_index: (key[0], vintage) for key, vintages in told.items() for vintage in vintages}
    ends = {place: book.filings[place].period_end for place in covers}
    unknown = {place: cover for place, (cover, _) in covers.items() if ends[place] is None}
    for by_key in book.vintages.values() if unknown else ():
        for (end, length), vintages in by_key.items():
            for vintage in vintages if length else ():
                if vintage.filing_index in unknown and end <= unknown[vintage.filing_index]:
                    ends[vintage.filing_index] = max(ends[vintage.filing_index] or end, end)
    made: dict[PeriodKey, list[Vintage]] = {}
    for place in sorted(covers):
        day, vintage = covers[place]
        period_end = ends[place]
        if period_end is not None and day - period_end <= COVER_DAYS:
            made.setdefault((period_end, 0), []).append(vintage)
    return made


def _enter(
    by_key: dict[PeriodKey, list[Vintage]], key: PeriodKey, vintage: Vintage, concept: str, units: tuple[str, ...]
) -> None:
    """Add a vintage; of one filing only one stands, the one with the better unit, then the standard concept."""

    def preference(one: Vintage) -> tuple[int, bool, str, str]:
        return units.index(one.unit), one.concept != concept, one.concept, one.value

    held = by_key.get(key)
    if held is None:
        by_key[key] = [vintage]
    elif held[-1].filing_index != vintage.filing_index:
        held.append(vintage)
    elif preference(vintage) < preference(held[-1]):
        held[-1] = vintage


class _ExactPeriods:
    """Puts the rounded periods of the data sets where other documents of the company say they really end."""

    def __init__(self, filings: Sequence[SourceFiling], rows: Sequence[FactRow]) -> None:
        self._rounded = [filing.source == "fsds" for filing in filings]
        self._real: dict[bool, list[PeriodKey]] = {}
        self._found: dict[PeriodKey, PeriodKey] = {}
        self.needed = any(self._rounded) and not all(self._rounded)
        if self.needed:
            real = {(end, length) for _, _, end, length, _, _, place in rows if not self._rounded[place]}
            for key in sorted(real):
                self._real.setdefault(key[1] > 0, []).append(key)

    def key(self, place: int, end: int, length: int) -> PeriodKey:
        """The period of a fact of the filing at ``place``."""
        key = (end, length)
        if not self._rounded[place]:
            return key
        if key not in self._found:
            near = []
            for one in self._real.get(length > 0, ()):
                starts_apart = abs((one[0] - one[1]) - (end - length))
                if abs(one[0] - end) <= ROUNDED_DAYS and starts_apart <= ROUNDED_DAYS:
                    near.append((abs(one[0] - end) + abs(one[1] - length), one))
            self._found[key] = min(near)[1] if near else key
        return self._found[key]


def is_annual_form(form: str) -> bool:
    """Whether a form is an annual report (10-K, 10-KT, 20-F, 40-F and their amendments)."""
    return form.startswith(("10-K", "20-F", "40-F"))
