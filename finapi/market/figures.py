"""The figure of a metric for a period: chosen among the tags, filings and vintages that tell it, or derived.

Pure: a :class:`Teller` holds a book, a calendar, an industry and a basis, and tells each cell once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.market import reasons
from finapi.market.book import Book, Entry, Key
from finapi.market.metrics import Mapping, Metric, Term, Way
from finapi.market.periods import SAME, Calendar, Period

# What a figure is made of: which filing, which line, which sign.
Operand = tuple[int, Key, Entry]


class Figure(NamedTuple):
    """A value with what makes it. ``line`` tells which concepts, so that only like is subtracted from like.

    ``place`` is the filing that tells it (of a derived one the latest of them); ``method`` is "reported",
    "mapped" (not the first tag of the mapping, or a formula) or "derived"; ``rule`` says how it was derived.
    """

    value: Decimal
    line: tuple[str, ...]
    tier: int
    place: int
    method: str
    operands: tuple[Operand, ...]
    rule: str = ""


class Hole(NamedTuple):
    """No figure, and why: ``status`` is "hole", or "nm" for one that would mean nothing."""

    reason: str
    status: str = "hole"


Cell = Figure | Hole


class Teller:
    """Tells the figures of one company under one basis, "latest" or "original"."""

    def __init__(
        self, book: Book, calendar: Calendar, mapping: Mapping, industry: str, basis: str = "latest"
    ) -> None:
        self.book = book
        self.calendar = calendar
        self.mapping = mapping
        self.industry = industry
        self.original = basis == "original"
        self._interim = calendar.interim()
        self._fours: dict[tuple[int, int], list[Period] | None] = {}
        self._told: dict[tuple[str, Key], Figure | None] = {}
        self._cells: dict[tuple[str, str, int, int], Cell] = {}
        self._own = {concept for concept in book.entries if concept not in mapping.units_of}
        self._lines: dict[str, list[tuple[Way, tuple[str, ...]]]] = {}

    # ---- cells of a row

    def cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        """The figure of a metric in a row of a series; ``kind`` is "A", "Q", "YTD" or "TTM"."""
        place = (metric.key, kind, period.span, period.number)
        cell = self._cells.get(place)
        if cell is None:
            cell = self._cells[place] = self._cell(metric, period, kind)
        return cell

    def _cell(self, metric: Metric, period: Period, kind: str) -> Cell:
        if not metric.applies_to(self.industry):
            return Hole(reasons.NOT_APPLICABLE)
        if metric.over == "instant":
            return self._instant(metric, period.end)
        if metric.over == "opening":
            start = self._start(period) if kind != "TTM" else period.end - 364
            return self._instant(metric, start - 1) if start is not None else Hole(reasons.NOT_REPORTED)
        if kind == "TTM":
            return self._trailing(metric, period)
        return self._lasting(metric, period, kind)

    def _start(self, period: Period) -> int | None:
        return period.start

    def _instant(self, metric: Metric, end: int) -> Cell:
        figure = self.reported(metric, (end, 0))
        if figure is None:
            for near in self.book.instants_near(end, SAME):
                figure = self.reported(metric, (near, 0))
                if figure is not None:
                    break
        return figure or self._silence(metric, ((end, 0),))

    def _lasting(self, metric: Metric, period: Period, kind: str) -> Cell:
        for key in period.keys:
            figure = self.reported(metric, key)
            if figure is not None and not (kind == "Q" and self._lesser(metric, period, figure)):
                return figure
        if kind != "Q":
            return self._silence(metric, period.keys)
        return self._subtracted(metric, period)

    def _lesser(self, metric: Metric, period: Period, figure: Figure) -> bool:
        """Whether a quarter of a cash flow line is told by a lesser tag than the year to date that ends with it, which
        that tag tells otherwise: then it is a line of another statement (depreciation among expenses)."""
        if metric.statement != "cash_flow_statement" or figure.tier == 1:
            return False
        totals = self.calendar.to_date.get((period.span, period.number), ())
        whole = next((found for key in totals if (found := self.reported(metric, key)) is not None), None)
        if whole is None or whole.tier >= figure.tier:
            return False
        way = metric.ways[self.industry][figure.tier - 1]
        to_date = self._versions_of_line(way, whole.operands[0][1], figure.line)
        return all(one.value != whole.value for one in to_date)

    def _silence(self, metric: Metric, keys: Sequence[Key]) -> Hole:
        """Why a metric has no reported figure for a period told by ``keys``."""
        for told, reason in (
            (self.book.nil, reasons.REPORTED_NIL),
            (self.book.other_units, reasons.OTHER_UNIT),
        ):
            if told and any(
                (tag, key) in told for way in metric.ways[self.industry] for tag in way.tags for key in keys
            ):
                return Hole(reason)
        return Hole(reasons.NOT_REPORTED)

    # ---- what filings report

    def reported(self, metric: Metric, key: Key) -> Figure | None:
        """What the filings themselves say of a metric for a period, by the basis; None when none does."""
        place = (metric.key, key)
        if place not in self._told:
            self._told[place] = self._original(metric, key) if self.original else self._latest(metric, key)
        return self._told[place]

    def _latest(self, metric: Metric, key: Key) -> Figure | None:
        """The best way that any filing of the best rank goes; within it the last filing; within that the
        preferred tag. A lesser tag of a later filing (a note, an equity statement) never displaces the line."""
        best: Figure | None = None
        rank = 0
        for way, concepts in self._ways(metric):
            last = self._last(way, concepts, key)
            if last is None:
                continue
            of = self.book.ranks[last.place]
            if best is None or of < rank:
                best, rank = last, of
            if rank == 0:
                break
        return best

    def _last(self, way: Way, concepts: tuple[str, ...], key: Key) -> Figure | None:
        """What the last filing that goes a way says."""
        if way.terms:
            return max(self._computed(way, key), key=lambda one: one.place, default=None)
        entries, number, last = self.book.entries, 0, None
        for at, concept in enumerate(concepts):
            told = entries[concept].get(key)
            # Entries stand in the order of their filings; an equal place keeps the preferred tag.
            if told is not None and (last is None or told[-1].place > last.place):
                number, last = at, told[-1]
        return None if last is None else self._told_by(way, concepts, number, key, last)

    def _told_by(self, way: Way, concepts: tuple[str, ...], number: int, key: Key, entry: Entry) -> Figure:
        first = way.tier == 1 and way.tags[:1] == concepts[number : number + 1]
        method = "reported" if first else "mapped"
        operands = ((1, key, entry),)
        return Figure(Decimal(entry.value), (concepts[number],), way.tier, entry.place, method, operands)

    def _original(self, metric: Metric, key: Key) -> Figure | None:
        """What the first filing of the best rank said, by the best way that it goes."""
        told = [one for way, concepts in self._ways(metric) for one in self._versions(way, concepts, key)]
        if not told:
            return None
        best = min(self.book.rank(one.place) for one in told)
        return min(
            (one for one in told if self.book.rank(one.place) == best), key=lambda one: (one.place, one.tier)
        )

    def _versions(self, way: Way, concepts: tuple[str, ...], key: Key) -> Iterator[Figure]:
        """One figure for each filing that goes a way, the preferred tag of it."""
        if way.terms:
            yield from self._computed(way, key)
            return
        seen: set[int] = set()
        for number, concept in enumerate(concepts):
            for entry in self.book.entries[concept].get(key, ()):
                if entry.place not in seen:
                    seen.add(entry.place)
                    yield self._told_by(way, concepts, number, key, entry)

    def _ways(self, metric: Metric) -> list[tuple[Way, tuple[str, ...]]]:
        """The ways to a metric that this book can go, each with its concepts that are there, the preferred first."""
        found = self._lines.get(metric.key)
        if found is None:
            found = self._lines[metric.key] = [
                (way, listed) for way in metric.ways[self.industry] if (listed := self._listed(way))
            ]
        return found

    def _listed(self, way: Way) -> tuple[str, ...]:
        held = self.book.entries
        listed = [concept for concept in way.tags if concept in held]
        for pattern in way.own:
            listed += sorted(concept for concept in self._own if pattern.fullmatch(concept.partition(":")[2]))
        for term in way.terms:
            there = [name for name in term.names if name in held]
            if not there and not term.optional:
                return ()
            listed += there
        return tuple(listed)

    def _computed(self, way: Way, key: Key) -> Iterator[Figure]:
        """The formula of a way in each filing that has its terms."""
        by_filing = [self._by_filing(term, key) for term in way.terms]
        needed = [found for term, found in zip(way.terms, by_filing, strict=True) if not term.optional]
        places = set.intersection(*map(set, needed)) if needed else set[int]().union(*by_filing)
        for place in sorted(places):
            operands = _once(
                (term, key, found[place])
                for term, found in zip(way.terms, by_filing, strict=True)
                if place in found
            )
            value = sum((sign * Decimal(entry.value) for sign, _, entry in operands), Decimal(0))
            line = tuple(f"{'+-'[sign < 0]}{entry.concept}" for sign, _, entry in operands)
            yield Figure(value, line, way.tier, place, "mapped", operands, way.text)

    def _by_filing(self, term: Term, key: Key) -> dict[int, Entry]:
        found: dict[int, Entry] = {}
        for name in term.names:
            for entry in self.book.entries.get(name, {}).get(key, ()):
                found.setdefault(entry.place, entry)
        return found

    def together(self, metric: Metric, one: Figure, other: Figure) -> tuple[Decimal, Decimal] | None:
        """Two reported figures of a line as one filing tells both, the last (or by the original basis the first)
        that does; None when none does or one is derived. Restatements and splits are in both or in neither."""
        if "derived" in (one.method, other.method) or one.line != other.line or not one.tier:
            return None
        way = metric.ways[self.industry][one.tier - 1]
        keys = one.operands[0][1], other.operands[0][1]
        first, second = (
            {told.place: told for told in self._versions_of_line(way, key, one.line)} for key in keys
        )
        common = first.keys() & second.keys()
        if not common:
            return None
        best = min(map(self.book.rank, common))
        places = [place for place in common if self.book.rank(place) == best]
        place = min(places) if self.original else max(places)
        return first[place].value, second[place].value

    # ---- quarters out of longer durations

    def _subtracted(self, metric: Metric, period: Period) -> Cell:
        """A quarter as the year (or year to date) less what came before it in the year (EDGAR.md)."""
        span, number = period.span, period.number
        totals = self.calendar.to_date.get((span, number), ())
        if number == 1 and totals:
            # A first quarter told only as a year to date is itself.
            return self._lasting(metric, period._replace(keys=totals), "A")
        whole = next((figure for key in totals if (figure := self.reported(metric, key)) is not None), None)
        if whole is None:
            return self._silence(metric, (*period.keys, *totals))
        if metric.over == "none":
            return Hole(reasons.NOT_ADDITIVE)
        failed = reasons.OPERAND_MISSING
        for parts in self._partitions(span, number, whole.operands[0][1]):
            cell = self._less(metric, whole, parts)
            if isinstance(cell, Figure):
                return cell
            if failed == reasons.OPERAND_MISSING:
                failed = cell.reason
        return Hole(failed)

    def _partitions(self, span: int, number: int, total: Key) -> Iterator[tuple[Key, ...]]:
        """The ways to cover what came before a quarter, gapless from the start: one duration before several."""
        quarters = self.calendar.quarters
        start = total[0] - total[1] + 1
        for until in range(number - 1, 0, -1):
            first = self.calendar.to_date.get((span, until), ())
            later = [quarters.get((span, one)) for one in range(until + 1, number)]
            if not first or any(one is None or not one.keys for one in later):
                continue
            parts = (first[0], *(one.keys[0] for one in later if one is not None))
            if _tiled(start, parts):
                yield parts

    def _less(self, metric: Metric, whole: Figure, parts: Sequence[Key]) -> Cell:
        """``whole`` less ``parts``, each of the same line and of the same vintage, or why not."""
        operands = list(whole.operands)
        value, place = whole.value, whole.place
        reason = reasons.OPERAND_MISSING
        for key in parts:
            part = self._same_line(metric, whole, key)
            if part is None:
                told = self.reported(metric, key) is not None
                return Hole(reasons.TAG_CHANGED if told else reason)
            if not self._as_known(whole, part):
                return Hole(reasons.VINTAGE_CHANGED)
            value -= part.value
            place = max(place, part.place)
            operands += [(-sign, key, entry) for sign, key, entry in part.operands]
        rule = "year to date less what came before"
        return Figure(value, whole.line, whole.tier, place, "derived", tuple(operands), rule)

    def _same_line(self, metric: Metric, whole: Figure, key: Key) -> Figure | None:
        way = next(way for way in metric.ways[self.industry] if way.tier == whole.tier)
        told = list(self._versions_of_line(way, key, whole.line))
        best = min((self.book.rank(one.place) for one in told), default=0)
        told = [one for one in told if self.book.rank(one.place) == best]
        pick = min if self.original else max
        return pick(told, key=lambda one: one.place) if told else None

    def _versions_of_line(self, way: Way, key: Key, line: tuple[str, ...]) -> Iterator[Figure]:
        if way.terms:
            yield from (one for one in self._computed(way, key) if one.line == line)
            return
        for entry in self.book.entries[line[0]].get(key, ()):
            yield Figure(Decimal(entry.value), line, way.tier, entry.place, "reported", ((1, key, entry),))

    def _unchanged(self, figure: Figure) -> bool:
        """Whether every filing that tells a figure gives it alike."""
        for _, key, entry in figure.operands:
            told = self.book.entries[self._counted(entry.concept)][key]
            if len(told) > 1 and any(one.value != entry.value for one in told):
                return False
        return True

    def _as_known(self, whole: Figure, part: Figure) -> bool:
        """Whether two figures belong to one view of the past.

        A restated one and one that was never told again after the restatement do not; nor do two that no day
        held at once.
        """
        if self._unchanged(whole) and self._unchanged(part):
            return True
        one, other = self._history(whole), self._history(part)
        if one.until <= other.since or other.until <= one.since:
            return False
        # Said again after the other was restated: then it stands beside the restated figure.
        if one.restated and not other.restated and other.last < one.since:
            return False
        late = other.restated and other.since > one.first
        return not (late and not one.restated and one.last < other.since)

    def _history(self, figure: Figure) -> _History:
        """When a figure was first told, since when it has its value, until when, and when it was told last."""
        histories = []
        for _, key, entry in figure.operands:
            concept = self._counted(entry.concept)
            rank = self.book.rank(entry.place)
            told = [one for one in self.book.entries[concept][key] if self.book.rank(one.place) == rank]
            value = Decimal(entry.value)
            same = [one for one in told if Decimal(one.value) == value]
            since = entry.place
            for one in reversed([one for one in told if one.place <= entry.place]):
                if Decimal(one.value) != value:
                    break
                since = one.place
            until = min(
                (one.place for one in told if one.place > entry.place and one not in same),
                default=len(self.book.filings),
            )
            histories.append(_History(told[0].place, since, until, told[-1].place))
        return _History(
            min(one.first for one in histories),
            max(one.since for one in histories),
            min(one.until for one in histories),
            max(one.last for one in histories),
        )

    def _counted(self, concept: str) -> str:
        return self.mapping.concept(concept) or concept

    # ---- trailing twelve months

    def _trailing(self, metric: Metric, period: Period) -> Cell:
        """Four quarters that end with a period: the year itself where it is one, else their sum."""
        year = self.calendar.spans[period.span]
        if period.number == 4 and year.keys and abs(year.end - period.end) <= SAME:
            whole = next((figure for key in year.keys if (figure := self.reported(metric, key))), None)
            if whole is not None:
                return whole
        if metric.over == "none":
            return Hole(reasons.NOT_ADDITIVE)
        quarters = self._four(period)
        if quarters is None:
            return Hole(reasons.PERIODS_MISSING)
        cells = [self.cell(metric, quarter, "Q") for quarter in quarters]
        figures = [cell for cell in cells if isinstance(cell, Figure)]
        if len(figures) < len(cells):
            missing = next(cell for cell in cells if isinstance(cell, Hole))
            return Hole(reasons.OPERAND_MISSING if len(figures) else missing.reason)
        return Figure(
            sum((one.value for one in figures), Decimal(0)),
            figures[0].line,
            max(one.tier for one in figures),
            max(one.place for one in figures),
            "derived",
            tuple(operand for one in figures for operand in one.operands),
            "four quarters together",
        )

    def _four(self, period: Period) -> list[Period] | None:
        """A quarter and the three before it, without a gap, newest first."""
        place = (period.span, period.number)
        if place not in self._fours:
            found = [period]
            for quarter in self._interim:
                last = found[-1]
                if len(found) < 4 and last.start is not None and abs(last.start - 1 - quarter.end) <= SAME:
                    found.append(quarter)
            self._fours[place] = found if len(found) == 4 else None
        return self._fours[place]


class _History(NamedTuple):
    first: int
    since: int
    until: int
    last: int

    @property
    def restated(self) -> bool:
        return self.since > self.first


def _once(terms: Iterable[tuple[Term, Key, Entry]]) -> tuple[Operand, ...]:
    """The operands of a formula. Two terms that may be absent and have one and the same value are one line told
    under two tags (short-term debt that is all current maturities), and count once."""
    operands: list[Operand] = []
    optional: set[Decimal] = set()
    for term, key, entry in terms:
        value = Decimal(entry.value)
        if term.optional and value:
            if value in optional:
                continue
            optional.add(value)
        operands.append((term.sign, key, entry))
    return tuple(operands)


def _tiled(start: int, parts: Sequence[Key]) -> bool:
    """Whether durations follow one another from ``start`` on without gap or overlap."""
    for end, days in parts:
        if abs(end - days + 1 - start) > SAME:
            return False
        start = end + 1
    return True
