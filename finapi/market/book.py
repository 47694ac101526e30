"""The facts of one company arranged for questions: by concept and period, each vintage in order of filing.

Values in, values out. Days are numbers counted from 1970-01-01; a period is ``(end day, length in days)``, the
length 0 for an instant.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.edgar.xbrl_names import NUMBER
from finapi.market.metrics import Mapping

Key = tuple[int, int]

# The cover page's count of shares, and how many days after the period it may be taken.
COVER_SHARES = "dei:EntityCommonStockSharesOutstanding"
COVER_DAYS = 150

EPOCH = date(1970, 1, 1)

# How much a filing's figures are worth (EDGAR.md): periodic reports; those of unknown filing day; other forms
# (8-K, registration statements); proxy statements, which repeat figures rounded.
PERIODIC, UNFILED, OTHER, PROXY = range(4)

# Dates of the data sets are rounded to the nearest month end; half a month is the most they can be off.
ROUNDED_DAYS = 16


class Filing(NamedTuple):
    """A filing that says something. ``fiscal_year`` and ``period_end`` are the filing's own words, if any."""

    accession: str
    form: str
    filed: str | None
    source: str
    fiscal_year: int | None = None
    fiscal_period: str | None = None
    period_end: int | None = None

    @property
    def rank(self) -> int:
        """PERIODIC, UNFILED, OTHER or PROXY."""
        if is_annual(self.form) or is_quarterly(self.form):
            return PERIODIC if self.filed else UNFILED
        return PROXY if self.form.startswith(("DEF", "PRE")) else OTHER


# How nearly every figure is written. Documents hold texts under numeric units too, and numbers that no statement can
# mean: what has more digits than decimal arithmetic keeps would be served as another number.
_PLAIN = re.compile(r"-?[0-9]{1,14}(\.[0-9]{1,14})?")
MOST_DIGITS = 28

# A fact as it is read: concept, unit, end day, days, value, decimals, and the place of its filing among those that
# come with it. Unpacked by position, so that rows of the database serve as they are.
Row = Iterable[Any]


class Entry(NamedTuple):
    """A figure that a filing says. ``place`` orders filings: the greater the later, after it the better."""

    place: int
    concept: str
    unit: str
    value: str
    decimals: str | None


class Book:
    """``entries[concept][key]`` are the vintages of a figure, the best and latest last."""

    __slots__ = ("currency", "entries", "filings", "instants", "nil", "other_units", "ranks")

    def __init__(self, filings: Sequence[Filing], currency: str) -> None:
        self.filings = filings
        self.currency = currency
        self.entries: dict[str, dict[Key, list[Entry]]] = {}
        # Periods for which a concept is reported as nil, or in a unit that is not asked for.
        self.nil: set[tuple[str, Key]] = set()
        self.other_units: set[tuple[str, Key]] = set()
        self.ranks = [filing.rank for filing in filings]
        # The days of balances, in order.
        self.instants: list[int] = []

    def rank(self, place: int) -> int:
        """The rank of the filing at a place."""
        return self.ranks[place]

    def latest(self, places: Iterable[int]) -> int:
        """Of the filings at some places the one filed last, on which all of them were known; one of unknown day is
        known on none. The book's last where there is no place."""

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


def order(filings: Iterable[Filing]) -> list[Filing]:
    """Filings by what they are worth and when they were filed, the best and latest last."""

    def place(one: Filing) -> tuple[int, str, str, str]:
        # Those of unknown day follow one another as their periods do.
        known = one.filed or ("" if one.period_end is None else iso(one.period_end))
        return -one.rank, known, one.accession, one.source

    return sorted(filings, key=place)


def currency_of(rows: Iterable[Row]) -> str:
    """The currency of most figures; "USD" when there is none."""
    counted = Counter(unit for _, unit, *_ in rows)
    units = {unit: count for unit, count in counted.items() if len(unit) == 3 and unit.isupper()}
    return min(units, key=lambda unit: (-units[unit], unit)) if units else "USD"


def write(
    filings: Sequence[Filing], rows: Sequence[Row], mapping: Mapping, currency: str | None = None
) -> Book:
    """A book of the figures that a mapping can use.

    ``filings`` stand in the order of :func:`order`, and ``rows`` in that of their filings.
    """
    book = Book(filings, currency or currency_of(rows))
    uses: dict[str, _Use | None] = {}
    snap = _Snapping(filings, rows)
    entries = book.entries
    for reported, unit, end, days, value, decimals, place in rows:
        if reported not in uses:
            uses[reported] = _use(book, mapping, reported)
        use = uses[reported]
        if use is None:
            continue
        key = snap.key(place, end, days) if snap.needed else (end, days)
        if unit not in use.units:
            book.other_units.add((use.concept, key))
        elif value is None:
            book.nil.add((use.concept, key))
        elif (figure := plain(value)) is not None:
            _enter(entries, use, key, Entry(place, reported, unit, figure, decimals))
    if COVER_SHARES in entries:
        entries[COVER_SHARES] = _at_period_end(book, entries[COVER_SHARES])
    book.instants = sorted({key[0] for by_key in entries.values() for key in by_key if not key[1]})
    return book


def plain(text: str) -> str | None:
    """A number in plain digits (".5" as "0.5", "1e-05" as "0.00001"); None for what is no figure."""
    if _PLAIN.fullmatch(text):
        return text
    if NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text)
    return format(value, "f") if len(value.as_tuple().digits) <= MOST_DIGITS else None


def _at_period_end(book: Book, told: dict[Key, list[Entry]]) -> dict[Key, list[Entry]]:
    """Share counts of cover pages, which are of a day after the period, at the end of the report's period."""
    covers = {entry.place: (key[0], entry) for key, entries in told.items() for entry in entries}
    ends = {place: book.filings[place].period_end for place in covers}
    unknown = {place: cover for place, (cover, _) in covers.items() if ends[place] is None}
    for by_key in book.entries.values() if unknown else ():
        for (end, days), entries in by_key.items():
            for entry in entries if days else ():
                if end <= unknown.get(entry.place, -1):
                    ends[entry.place] = max(ends[entry.place] or end, end)
    made: dict[Key, list[Entry]] = {}
    for place in sorted(covers):
        day, entry = covers[place]
        told_end = ends[place]
        if told_end is not None and day - told_end <= COVER_DAYS:
            made.setdefault((told_end, 0), []).append(entry)
    return made


class _Use(NamedTuple):
    """Under which concept a reported one counts, and the units that its facts may have."""

    concept: str
    units: tuple[str, ...]


def _use(book: Book, mapping: Mapping, reported: str) -> _Use | None:
    concept = mapping.concept(reported)
    return None if concept is None else _Use(concept, book.units(mapping.units(concept)))


def _enter(entries: dict[str, dict[Key, list[Entry]]], use: _Use, key: Key, entry: Entry) -> None:
    """Add an entry; of one filing only one stands, the one with the better unit, then the standard concept."""
    by_key = entries.get(use.concept)
    if by_key is None:
        by_key = entries[use.concept] = {}
    held = by_key.get(key)
    if held is None:
        by_key[key] = [entry]
    elif held[-1].place != entry.place:
        held.append(entry)
    elif _preference(entry, use.concept, use.units) < _preference(held[-1], use.concept, use.units):
        held[-1] = entry


def _preference(entry: Entry, concept: str, units: tuple[str, ...]) -> tuple[int, bool, str, str]:
    return units.index(entry.unit), entry.concept != concept, entry.concept, entry.value


class _Snapping:
    """Puts the rounded periods of the data sets where other documents of the company say they really end."""

    def __init__(self, filings: Sequence[Filing], rows: Sequence[Row]) -> None:
        self._rounded = [filing.source == "fsds" for filing in filings]
        self._real: dict[bool, list[Key]] = {}
        self._found: dict[Key, Key] = {}
        self.needed = any(self._rounded) and not all(self._rounded)
        if self.needed:
            real = {(end, days) for _, _, end, days, _, _, place in rows if not self._rounded[place]}
            for key in sorted(real):
                self._real.setdefault(key[1] > 0, []).append(key)

    def key(self, place: int, end: int, days: int) -> Key:
        """The period of a fact of the filing at ``place``."""
        key = (end, days)
        if not self._rounded[place]:
            return key
        if key not in self._found:
            near = [one for one in self._real.get(days > 0, ()) if _near(one, key)]
            self._found[key] = min(near, key=lambda one: (_distance(one, key), one), default=key)
        return self._found[key]


def _near(one: Key, other: Key) -> bool:
    same_end = abs(one[0] - other[0]) <= ROUNDED_DAYS
    return same_end and abs((one[0] - one[1]) - (other[0] - other[1])) <= ROUNDED_DAYS


def _distance(one: Key, other: Key) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def is_annual(form: str) -> bool:
    """Whether a form is an annual report (10-K, 10-KT, 20-F, 40-F and their amendments)."""
    return form.startswith(("10-K", "20-F", "40-F"))


def is_quarterly(form: str) -> bool:
    """Whether a form is an interim report."""
    return form.startswith(("10-Q", "6-K"))


def iso(day: int) -> str:
    """A day number as an ISO date."""
    return (EPOCH + timedelta(days=day)).isoformat()


def day(text: str) -> int:
    """An ISO date as a day number."""
    return (date.fromisoformat(text) - EPOCH).days
