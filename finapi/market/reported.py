"""What filings themselves say of a metric for a period: chosen among the tags, filings and vintages that tell it.

Pure: :class:`Reports` holds a book, a mapping, an industry and a basis, and finds each figure once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from re import Pattern
from typing import NamedTuple

from finapi.market.book import Book, Entry, Key
from finapi.market.cells import Figure, Operand
from finapi.market.metrics import Mapping, Metric, Term, Way


class History(NamedTuple):
    """The filings between which a figure has its value: where it was told first, since when so, until when, and where
    it was told last."""

    first: int
    since: int
    until: int
    last: int

    @property
    def restated(self) -> bool:
        """Whether an earlier filing told another value."""
        return self.since > self.first


class Reports:
    """What the filings of a book report, by the basis "latest" or (``original``) "original"."""

    def __init__(self, book: Book, mapping: Mapping, industry: str, *, original: bool) -> None:
        self.book = book
        self.mapping = mapping
        self.industry = industry
        self.original = original
        self._told: dict[tuple[str, Key], Figure | None] = {}
        self._own = {concept for concept in book.entries if concept not in mapping.units_of}
        self._lines: dict[str, list[tuple[Way, tuple[str, ...]]]] = {}

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
        return self._stated(way, concepts[number], key, entry, "reported" if first else "mapped")

    def _stated(self, way: Way, concept: str, key: Key, entry: Entry, method: str) -> Figure:
        """A figure as a line states it; a payment under a filer's own name is its amount, either way it is tagged."""
        value = Decimal(entry.value)
        sign = -1 if value < 0 and way.unsigned and concept in self._own else 1
        return Figure(sign * value, (concept,), way.tier, entry.place, method, ((sign, key, entry),))

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
            found = [(way, listed) for way in metric.ways[self.industry] if (listed := self._listed(way))]
            if metric.steady:
                found = self._agreeing(found)
            self._lines[metric.key] = found
        return found

    def _agreeing(self, ways: list[tuple[Way, tuple[str, ...]]]) -> list[tuple[Way, tuple[str, ...]]]:
        """The ways without those that mostly tell other values than a better one where both tell a period: a part or
        a whole of the line (cash with what is restricted), which must not fill the line's gaps."""
        kept: list[tuple[Way, tuple[str, ...]]] = []
        known: dict[Key, Decimal] = {}
        for way, concepts in ways:
            told: dict[Key, Decimal] = {}
            for concept in () if way.terms else concepts:
                for key, entries in self.book.entries[concept].items():
                    told.setdefault(key, self._stated(way, concept, key, entries[-1], "mapped").value)
            common = told.keys() & known.keys()
            differing = sum(told[key] != known[key] for key in common)
            if 2 * differing <= len(common):
                kept.append((way, concepts))
                known = {**told, **known}
        return kept

    def _listed(self, way: Way) -> tuple[str, ...]:
        held = self.book.entries
        listed = self._there(way.tags, way.own)
        for term in way.terms:
            there = [name for name in term.names if name in held]
            if not there and not term.optional:
                return ()
            listed += there
        return tuple(listed)

    def _there(self, tags: Iterable[str], own: Iterable[Pattern[str]]) -> list[str]:
        """Which concepts of a list this book holds, in its order."""
        listed = [concept for concept in tags if concept in self.book.entries]
        for pattern in own:
            listed += sorted(concept for concept in self._own if pattern.fullmatch(concept.partition(":")[2]))
        return listed

    def _computed(self, way: Way, key: Key) -> Iterator[Figure]:
        """The formula of a way in each filing that has its terms, and none that is tagged the wrong way round."""
        for place, operands in self._operands(way, key):
            if self._wrong_way(operands):
                continue
            value = sum((sign * Decimal(entry.value) for sign, _, entry in operands), Decimal(0))
            line = tuple(f"{'+-'[sign < 0]}{entry.concept}" for sign, _, entry in operands)
            yield Figure(value, line, way.tier, place, "mapped", operands, way.text)

    def wrong_way(self, metric: Metric, key: Key) -> bool:
        """Whether a metric would be worked out of a payment or expense that is tagged negative."""
        return any(
            self._wrong_way(operands)
            for way, _ in self._ways(metric)
            if way.terms
            for _, operands in self._operands(way, key)
        )

    def _wrong_way(self, operands: Sequence[Operand]) -> bool:
        """A term that stands alone is no sum, and shown as it is tagged."""
        outlays = self.mapping.outlays
        return len(operands) > 1 and any(
            Decimal(entry.value) < 0 and self._counted(entry.concept) in outlays for _, _, entry in operands
        )

    def _operands(self, way: Way, key: Key) -> Iterator[tuple[int, tuple[Operand, ...]]]:
        """The terms of a formula in each filing that has them and no line beside them that belongs to the sum."""
        by_filing = [self._by_filing(term, key) for term in way.terms]
        needed = [found for term, found in zip(way.terms, by_filing, strict=True) if not term.optional]
        places = set.intersection(*map(set, needed)) if needed else set[int]().union(*by_filing)
        for concept in self._there(*way.beside) if places else ():
            for entry in self.book.entries[concept].get(key, ()):
                if Decimal(entry.value):
                    places.discard(entry.place)
        for place in sorted(places):
            yield (
                place,
                _once(
                    (term, key, found[place])
                    for term, found in zip(way.terms, by_filing, strict=True)
                    if place in found
                ),
            )

    def _by_filing(self, term: Term, key: Key) -> dict[int, Entry]:
        found: dict[int, Entry] = {}
        for name in term.names:
            for entry in self.book.entries.get(name, {}).get(key, ()):
                found.setdefault(entry.place, entry)
        return found

    def alike(self, metric: Metric, figure: Figure) -> Iterator[Figure]:
        """The same value of the same period as other tags of the metric tell it in filings of the best rank."""
        key = figure.operands[0][1]
        rank = self.book.rank(figure.place)
        for way, concepts in self._ways(metric):
            for concept in concepts if not way.terms else ():
                told = [
                    one
                    for one in self.of_line(way, key, (concept,))
                    if one.value == figure.value and self.book.rank(one.place) == rank
                ]
                if told and (concept,) != figure.line:
                    yield told[0 if self.original else -1]

    def together(self, metric: Metric, one: Figure, other: Figure) -> tuple[Figure, Figure] | None:
        """Two reported figures of a line as one filing tells both, the last (or by the original basis the first)
        that does; None when none does or one is derived. Restatements and splits are in both or in neither."""
        if "derived" in (one.method, other.method) or one.line != other.line or not one.tier:
            return None
        way = metric.ways[self.industry][one.tier - 1]
        keys = one.operands[0][1], other.operands[0][1]
        first, second = ({told.place: told for told in self.of_line(way, key, one.line)} for key in keys)
        common = first.keys() & second.keys()
        if not common:
            return None
        best = min(map(self.book.rank, common))
        places = [place for place in common if self.book.rank(place) == best]
        place = min(places) if self.original else max(places)
        return first[place], second[place]

    def of_line(self, way: Way, key: Key, line: tuple[str, ...]) -> Iterator[Figure]:
        """What each filing says of a period under one line of a way."""
        if way.terms:
            yield from (one for one in self._computed(way, key) if one.line == line)
            return
        for entry in self.book.entries[line[0]].get(key, ()):
            yield self._stated(way, line[0], key, entry, "reported")

    def unchanged(self, figure: Figure) -> bool:
        """Whether every filing that tells a figure gives it alike."""
        for _, key, entry in figure.operands:
            told = self.book.entries[self._counted(entry.concept)][key]
            if len(told) > 1 and any(one.value != entry.value for one in told):
                return False
        return True

    def history(self, figure: Figure) -> History:
        """When the operands of a figure were told, and told so."""
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
            histories.append(History(told[0].place, since, until, told[-1].place))
        return History(
            min(one.first for one in histories),
            max(one.since for one in histories),
            min(one.until for one in histories),
            max(one.last for one in histories),
        )

    def _counted(self, concept: str) -> str:
        return self.mapping.concept(concept) or concept


def _once(terms: Iterable[tuple[Term, Key, Entry]]) -> tuple[Operand, ...]:
    """The operands of a formula. A term that may be absent and has the value of another of the same sign is one line
    told under two tags (short-term debt that is all current maturities), and counts once."""
    operands: list[Operand] = []
    seen: set[tuple[int, Decimal]] = set()
    for term, key, entry in terms:
        told = term.sign, Decimal(entry.value)
        if not (term.optional and told[1] and told in seen):
            operands.append((term.sign, key, entry))
        seen.add(told)
    return tuple(operands)
