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
from finapi.market.financials.faces import Apart, Faces, Placed
from finapi.market.financials.faces import plain as label_of
from finapi.market.financials.metrics import FACE, Metric, MetricMapping

Key = tuple[int, int]

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
    def day(self) -> int | None:
        """When it was filed, or else the end of its period; None where neither is known."""
        return self.period_end if self.filed is None else days.number(self.filed)

    @property
    def rank(self) -> int:
        """PERIODIC, UNFILED, OTHER or PROXY."""
        if is_annual(self.form) or self.form.startswith(("10-Q", "6-K")):
            return PERIODIC if self.filed else UNFILED
        return PROXY if self.form.startswith(("DEF", "PRE")) else OTHER


# How nearly every figure is written. Documents hold texts under numeric units too, and numbers that no statement can
# mean: what has more digits than decimal arithmetic keeps would be served as another number.
_PLAIN = re.compile(r"-?[0-9]{1,14}(\.[0-9]{1,14})?")
MAX_DIGITS = 28

# A fact as it is read: concept, unit, end day, days, value, decimals, and the place of its filing among those that
# come with it. Unpacked by position, so that rows of the database serve as they are.
Row = Iterable[Any]


class Vintage(NamedTuple):
    """A figure as one filing reports it. ``place`` orders filings: the greater the later, after it the better."""

    place: int
    concept: str
    unit: str
    value: str
    decimals: str | None


class FactBook:
    """``vintages[concept][key]`` are the vintages of a figure, the best and latest last."""

    __slots__ = (
        *("currency", "facts", "filings", "instants", "nil", "other_units", "ranks", "vintages"),
        *("apart", "exact", "placed", "restated", "shown", "split_ratios", "turned", "unplaced", "wholes", "bracketed"),
        *("_nearest", "_usual"),
    )

    def __init__(self, filings: Sequence[SourceFiling], currency: str) -> None:
        self.filings = filings
        self.currency = currency
        self.facts = 0  # how many vintages there are
        self.vintages: Mapping[str, Mapping[Key, list[Vintage]]] = {}
        # Periods for which a concept is reported as nil, or in a unit that is not asked for.
        self.nil: set[tuple[str, Key]] = set()
        self.other_units: set[tuple[str, Key]] = set()
        self.ranks = [filing.rank for filing in filings]
        # The days of balances, in order.
        self.instants: list[int] = []
        # Ratios that filings tag as a split's, with their period and the place of the filing.
        self.split_ratios: list[tuple[Decimal, Key, int]] = []
        # The factors by which figures of shares were restated, with the places of the filings before and after; None
        # until that is asked (splits.found).
        self.restated: list[tuple[Decimal, int, int]] | None = None
        # By place and statement the concepts on its face; by place and metric the sign of the line that its label
        # places; by metric and period the line that may mean it where none is clear.
        self.shown: dict[int, dict[str, set[str]]] = {}
        self.placed: dict[tuple[int, str], int] = {}
        self.unplaced: dict[tuple[str, Key], str] = {}
        # By place and metric the lines of its statement that belong beside it.
        self.apart: dict[tuple[int, str], list[Apart]] = {}
        # By place and metric with siblings the concepts of the lines whose labels mean it.
        self.exact: dict[tuple[int, str], set[str]] = {}
        # By place and statement the concepts that it tells in brackets and on no line.
        self.bracketed: dict[tuple[int, str], set[str]] = {}
        # By place and concept that which holds it on the same page and means the same metric.
        self.wholes: dict[tuple[int, str], list[str]] = {}
        # A filer's own payments and expenses that are told negative throughout a filing, where they are summed.
        self.turned: set[tuple[int, str]] = set()
        # What was found of filings without pages and with them: see noted.
        self._nearest: dict[tuple[int, str], int | None] = {}
        self._usual: dict[tuple[str, str, int], tuple[Sequence[str], Set[str]]] = {}

    def newest(self, concept: str, key: Key) -> Vintage | None:
        """The best and latest vintage of a figure; None where no filing reports it."""
        told = self.vintages[concept].get(key)
        return told[-1] if told else None

    def before(self, concept: str, key: Key) -> Iterator[Vintage]:
        """The vintages of a figure before its newest, the latest first; they are read when the first is asked for."""
        yield from islice(reversed(self.vintages[concept][key]), 1, None)

    def newest_of(self, concept: str) -> Iterator[tuple[Key, Vintage]]:
        """The newest vintage of each figure of a concept."""
        for key in self.vintages[concept]:
            newest = self.newest(concept, key)
            assert newest is not None
            yield key, newest

    def beside(self, place: int, metric: str, facts: Iterable[tuple[Key, str]]) -> list[str]:
        """The labels of the lines of a filing's statement that belong to a metric made of ``facts`` and are not in
        it."""
        return [one.text for one in self._beside(place, metric, facts)]

    def _beside(self, place: int, metric: str, facts: Iterable[tuple[Key, str]]) -> list[Apart]:
        lines = self.apart.get((place, metric))
        if not lines:
            return []
        keys, concepts = ({fact[at] for fact in facts} for at in range(2))
        return [
            one
            for one in lines
            if one.keys & keys and one.concept not in concepts and not one.inside & concepts
            if not one.but or one.but & concepts
        ]

    def sibling(self, place: int, metric: Metric, facts: Sequence[tuple[Key, str]]) -> str | None:
        """The label of a line beside which what a filing tells under a tag is a part and no figure of a metric; None
        where nothing is beside it, or its own label means the metric."""
        exact = self.exact.get((place, metric.key))
        if exact is None or any(concept in exact for _, concept in facts):
            return None
        # What a label says that it leaves out (``but``) is no line of the same kind.
        told = (one.text for one in self._beside(place, metric.key, facts) if not one.but)
        return next((text for text in told if metric.siblings and metric.siblings.fullmatch(label_of(text))), None)

    def in_brackets(self, metric: Metric, vintage: Vintage) -> bool:
        """Whether a balance is told in brackets of a line of the balance sheet, and so is a part of that line."""
        if metric.statement != "balance_sheet" or metric.units != "currency" or metric.anywhere:
            return False
        return vintage.concept in self.bracketed.get((vintage.place, metric.statement), ())

    def noted(self, metric: Metric, industry: str, concept: str, key: Key, vintage: Vintage) -> bool:
        """Whether a fact is not from the statement of a metric but from a note or another page, or a part of its line,
        as far as is known. Of a filing without pages the nearest one with pages decides, where the filing tells the
        period under a tag that stands there."""
        place = vintage.place
        wholes = self.wholes.get((place, vintage.concept))
        if wholes and self._tells(place, wholes, key):
            return True
        if industry in metric.anywhere:
            return False
        if place in self.shown:
            shown = self.shown[place].get(metric.statement, set())
            if shown and (place, metric.key) in self.placed:
                return not concept.startswith(FACE)
            return bool(shown) and vintage.concept not in shown
        near = self._near(place, metric.statement)
        if near is None:
            return False
        at = metric.key, industry, near
        if at not in self._usual:
            self._usual[at] = self.usual(metric, metric.tags(industry), near)
        usual, face = self._usual[at]
        return concept not in usual and concept not in face and self._tells(place, usual, key)

    def _tells(self, place: int, tags: Iterable[str], key: Key) -> bool:
        return any(one.place == place for tag in tags for one in self.vintages.get(tag, {}).get(key, ()))

    def _near(self, place: int, statement: str) -> int | None:
        at = place, statement
        if at not in self._nearest:
            self._nearest[at] = self.nearest(place, statement)
        return self._nearest[at]

    def nearest(self, place: int, statement: str) -> int | None:
        """Of the filings whose pages are held and have a statement, the one filed nearest to another, which is near
        enough to use the same tags."""
        day = self.filings[place].day
        if day is None:
            return None
        days_of = ((self.filings[one].day, one) for one, shown in self.shown.items() if shown.get(statement))
        near = [(abs(of - day), one) for of, one in days_of if of is not None and abs(of - day) <= LIKE_DAYS]
        return min(near)[1] if near else None

    def usual(self, metric: Metric, tags: Iterable[str], place: int) -> tuple[Sequence[str], Set[str]]:
        """Under which of its tags a filing whose pages are held tells a metric on its statement, and every concept of
        that."""
        if (place, metric.key) in self.placed:
            return (FACE + metric.key,), frozenset()
        face = self.shown[place][metric.statement]
        return [tag for tag in dict.fromkeys(tags) if tag in face], face

    def latest(self, places: Iterable[int]) -> int:
        """Of the filings at some places the one filed last, when all of them were known; one of unknown day is known
        on none. The book's last where there is no place."""

        def known(place: int) -> tuple[bool, str, int]:
            filed = self.filings[place].filed
            return filed is None, filed or "", place

        return max(places, key=known, default=len(self.filings) - 1)

    def instants_near(self, day: int, off: int) -> list[int]:
        """The other days of balances at most ``off`` days from a day, the nearest first."""
        first = bisect_left(self.instants, day - off)
        near = self.instants[first : bisect_right(self.instants, day + off)]
        return sorted((one for one in near if one != day), key=lambda one: (abs(one - day), one))

    def units(self, kind: str) -> tuple[str, ...]:
        """The units that facts of a kind may have, the proper one first."""
        if kind == "per_share":
            # Some filers give per-share figures the unit pure, or plain money (KO in 2009).
            return (f"{self.currency}/shares", "pure", self.currency)
        return ("shares",) if kind == "shares" else (self.currency,)


def order(filings: Iterable[SourceFiling]) -> list[SourceFiling]:
    """Filings by what they are worth and when they were filed, the best and latest last."""

    def place(one: SourceFiling) -> tuple[int, str, bool, str, str]:
        # Those of unknown day follow one another as their periods do, an amendment what it amends.
        known = one.filed or ("" if one.period_end is None else days.iso(one.period_end))
        amends = not one.filed and one.form.endswith("/A")
        return -one.rank, known, amends, one.accession, one.source

    return sorted(filings, key=place)


def currency_of(rows: Iterable[Row]) -> str:
    """The currency of most figures; "USD" when there is none."""
    counted = Counter(unit for _, unit, *_ in rows)
    units = {unit: count for unit, count in counted.items() if len(unit) == 3 and unit.isupper()}
    return min(units, key=lambda unit: (-units[unit], unit)) if units else "USD"


def write(
    filings: Sequence[SourceFiling],
    rows: Sequence[Row],
    mapping: MetricMapping,
    currency: str | None = None,
    faces: Faces | None = None,
) -> FactBook:
    """A book of the figures that a mapping can use, with what the ``faces`` of the filings say of them.

    ``filings`` stand in the order of :func:`order`, and ``rows`` in that of their filings.
    """
    book = FactBook(filings, currency or currency_of(rows))
    vintages: dict[str, dict[Key, list[Vintage]]] = {}
    book.vintages = vintages
    # By reported concept: under which one it counts, and the units that its facts may have; None for one not used.
    uses: dict[str, tuple[str, tuple[str, ...]] | None] = {}
    exact = _ExactPeriods(filings, rows)
    for reported, unit, end, length, value, decimals, place in rows:
        if reported == SPLIT_RATIO and value is not None and (ratio := plain(value)) is not None and Decimal(ratio) > 0:
            book.split_ratios.append((Decimal(ratio), (end, length), place))
        if reported not in uses:
            counted = mapping.concept(reported)
            uses[reported] = None if counted is None else (counted, book.units(mapping.units(counted)))
        use = uses[reported]
        if use is None:
            continue
        concept, units = use
        key = exact.key(place, end, length) if exact.needed else (end, length)
        if unit not in units:
            book.other_units.add((concept, key))
        elif value is None:
            book.nil.add((concept, key))
        elif (figure := plain(value)) is not None:
            vintage = Vintage(place, reported, unit, figure, decimals)
            _enter(vintages.setdefault(concept, {}), key, vintage, concept, units)
    if COVER_SHARES in vintages:
        vintages[COVER_SHARES] = _at_period_end(book, vintages[COVER_SHARES])
    if faces is not None and faces.concepts:
        _place(book, vintages, rows, mapping, faces, exact)
    book.facts = sum(len(found) for by_key in vintages.values() for found in by_key.values())
    book.instants = sorted({key[0] for by_key in book.vintages.values() for key in by_key if not key[1]})
    return book


def _place(
    book: FactBook,
    vintages: dict[str, dict[Key, list[Vintage]]],
    rows: Sequence[Row],
    mapping: MetricMapping,
    faces: Faces,
    exact: _ExactPeriods,
) -> None:
    """Enter the lines whose labels mean a metric under its name."""
    book.shown = faces.concepts
    for (place, statement), concepts in faces.bracketed.items():
        book.bracketed[place, statement] = concepts - faces.concepts.get(place, {}).get(statement, set())
    kinds = {unit: kind for kind in ("per_share", "shares", "currency") for unit in book.units(kind)}
    kind_of: dict[tuple[int, str], str] = {}
    values: dict[tuple[int, str], dict[Key, str]] = {}
    for concept, unit, end, length, value, _, place in rows:
        if place in faces.concepts and value is not None and unit in kinds:
            kind_of[place, concept] = kinds[unit]
            if unit == book.currency and (figure := plain(value)) is not None:
                key = exact.key(place, end, length) if exact.needed else (end, length)
                values.setdefault((place, concept), {})[key] = figure
    named: dict[tuple[int, str], list[tuple[Metric, str, str | None]]] = {}
    book.wholes = {(place, part): [mapping.concept(whole) or whole] for place, part, whole in faces.wholes(values)}
    book.apart = {(place, key): lines for place, key, lines in faces.apart(values)}
    book.exact = {(place, key): concepts for place, key, concepts in faces.exact()}
    for place, metric, one in faces.chosen(kind_of, values):
        name = FACE + metric.key
        if isinstance(one, Placed):
            book.placed[place, metric.key] = one.sign
            for number, concept in enumerate(one.concepts, 1):
                entered = f"{name}/{number}" if len(one.concepts) > 1 else name
                named.setdefault((place, concept), []).append((metric, entered, None))
                of = values.get((place, concept), {}).values() if metric.outlay and is_extension(concept) else ()
                if of and all(Decimal(value) <= 0 for value in of):
                    book.turned.add((place, concept))
        else:
            for line in one:
                named.setdefault((place, line.concept), []).append((metric, name, line.text))
    _place_elsewhere(book, named)
    for concept, unit, end, length, value, decimals, place in rows if named else ():
        for metric, name, text in named.get((place, concept), ()):
            figure = plain(value) if value is not None and unit in book.units(metric.units) else None
            key = _told_at(metric, exact.key(place, end, length) if exact.needed else (end, length))
            if figure is not None and text is not None:
                book.unplaced.setdefault((metric.key, key), text)
            elif figure is not None:
                vintage = Vintage(place, concept, unit, figure, decimals)
                _enter(vintages.setdefault(name, {}), key, vintage, concept, book.units(metric.units))


def _told_at(metric: Metric, key: Key) -> Key:
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
        if text is None and name == FACE + metric.key and not is_extension(concept)
    ]
    near: dict[str, dict[int, list[int]]] = {}
    for statement in {metric.statement for _, _, metric in alone}:
        of_statement = near.setdefault(statement, {})
        for place in range(len(book.filings)):
            at = book.nearest(place, statement) if place not in book.shown else None
            if at is not None:
                of_statement.setdefault(at, []).append(place)
    for at, concept, metric in alone:
        for place in near[metric.statement].get(at, ()):
            named.setdefault((place, concept), []).append((metric, FACE + metric.key, None))
            book.placed[place, metric.key] = book.placed[at, metric.key]


def plain(text: str) -> str | None:
    """A number in plain digits (".5" as "0.5", "1e-05" as "0.00001"); None for what is no figure."""
    if _PLAIN.fullmatch(text):
        return text
    if NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text)
    return format(value, "f") if len(value.as_tuple().digits) <= MAX_DIGITS else None


def _at_period_end(book: FactBook, told: dict[Key, list[Vintage]]) -> dict[Key, list[Vintage]]:
    """Share counts of cover pages, which are of a day after the period, at the end of the report's period."""
    covers = {vintage.place: (key[0], vintage) for key, vintages in told.items() for vintage in vintages}
    ends = {place: book.filings[place].period_end for place in covers}
    unknown = {place: cover for place, (cover, _) in covers.items() if ends[place] is None}
    for by_key in book.vintages.values() if unknown else ():
        for (end, length), vintages in by_key.items():
            for vintage in vintages if length else ():
                if vintage.place in unknown and end <= unknown[vintage.place]:
                    ends[vintage.place] = max(ends[vintage.place] or end, end)
    made: dict[Key, list[Vintage]] = {}
    for place in sorted(covers):
        day, vintage = covers[place]
        period_end = ends[place]
        if period_end is not None and day - period_end <= COVER_DAYS:
            made.setdefault((period_end, 0), []).append(vintage)
    return made


def _enter(by_key: dict[Key, list[Vintage]], key: Key, vintage: Vintage, concept: str, units: tuple[str, ...]) -> None:
    """Add a vintage; of one filing only one stands, the one with the better unit, then the standard concept."""

    def preference(one: Vintage) -> tuple[int, bool, str, str]:
        return units.index(one.unit), one.concept != concept, one.concept, one.value

    held = by_key.get(key)
    if held is None:
        by_key[key] = [vintage]
    elif held[-1].place != vintage.place:
        held.append(vintage)
    elif preference(vintage) < preference(held[-1]):
        held[-1] = vintage


class _ExactPeriods:
    """Puts the rounded periods of the data sets where other documents of the company say they really end."""

    def __init__(self, filings: Sequence[SourceFiling], rows: Sequence[Row]) -> None:
        self._rounded = [filing.source == "fsds" for filing in filings]
        self._real: dict[bool, list[Key]] = {}
        self._found: dict[Key, Key] = {}
        self.needed = any(self._rounded) and not all(self._rounded)
        if self.needed:
            real = {(end, length) for _, _, end, length, _, _, place in rows if not self._rounded[place]}
            for key in sorted(real):
                self._real.setdefault(key[1] > 0, []).append(key)

    def key(self, place: int, end: int, length: int) -> Key:
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


def is_annual(form: str) -> bool:
    """Whether a form is an annual report (10-K, 10-KT, 20-F, 40-F and their amendments)."""
    return form.startswith(("10-K", "20-F", "40-F"))
