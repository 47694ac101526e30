"""A company's book as bytes and back: a row to keep, of which a question reads the concepts that it asks for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from finapi.market.financials.faces import LineBeside
from finapi.market.financials.fact_book import FactBook, PeriodKey, SourceFiling, Vintage
from finapi.market.financials.periods import Calendar, FiscalSpan, Period

LEVEL = 3  # the next ones cost twice the time for a tenth of the bytes


# The concept of a vintage ("" where it is that of its line), unit and decimals.
Kind = tuple[str, str, str | None]


# A vintage of its members, in half the time that the class takes: there are thousands.
_vintage: Callable[[tuple[int, str, str, str, str | None]], Vintage] = partial(tuple.__new__, Vintage)


class LazyVintages(Mapping[PeriodKey, list[Vintage]]):
    """What is told of a concept, out of its line: its periods when it is first asked, a vintage when its period is."""

    def __init__(self, concept: str, line: str, numbers: Mapping[PeriodKey, str], kinds: Sequence[Kind]) -> None:
        self._concept = concept
        self._line = line
        self._numbers = numbers  # of every period of the book, in their order
        self._kinds = kinds
        self._read: dict[PeriodKey, list[Vintage]] = {}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """What is told, by the number of its period."""
        numbers, _, told = self._line.partition("\t")
        # A concept of which nothing is told has no periods.
        return dict(zip(numbers.split(), told.split(";") if told else (), strict=True))

    def _vintages(self, told: str) -> list[Vintage]:
        found: list[Vintage] = []
        for text in told.split("|"):
            place, _, like = text.partition(",")
            if like:
                kind, _, value = like.partition(",")
                reported, unit, decimals = self._kinds[int(kind)]
            found.append(_vintage((int(place), reported or self._concept, unit, value, decimals)))
        return found

    def __getitem__(self, key: PeriodKey) -> list[Vintage]:
        found: list[Vintage] | None = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: PeriodKey, default: Any = None) -> Any:
        """The vintages of a period or, without any, the default."""
        found = self._read.get(key)
        if found is None:
            told = self._texts.get(self._numbers.get(key, ""))
            if told is None:
                return default
            found = self._read[key] = self._vintages(told)
        return found

    def find_newest(self, key: PeriodKey) -> Vintage | None:
        """The last vintage of a period, without those before it."""
        told = self._texts.get(self._numbers.get(key, ""))
        if told is None:
            return None
        # The last one that is not like the one before it, and the places of those that are like it.
        before, kind, like = told.rsplit(",", 2)
        value, *places = like.split("|")
        reported, unit, decimals = self._kinds[int(kind)]
        place = int(places[-1] if places else before.rpartition("|")[2])
        return _vintage((place, reported or self._concept, unit, value, decimals))

    def __contains__(self, key: object) -> bool:
        return key in self._numbers and self._numbers[key] in self._texts  # type: ignore[index]

    def __iter__(self) -> Iterator[PeriodKey]:
        keys = tuple(self._numbers)
        return (keys[int(number)] for number in self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class StoredBook(FactBook):
    """A book that was kept, whose figures are read when they are asked for."""

    __slots__ = ()
    vintages: Mapping[str, LazyVintages]

    def find_newest(self, concept: str, key: PeriodKey) -> Vintage | None:
        """The best and latest vintage of a figure; None where no filing reports it."""
        return self.vintages[concept].find_newest(key)


def serialise(book: FactBook, calendar: Calendar, industry: str) -> bytes:
    """A book with its calendar and industry for :func:`read`."""
    keys: dict[PeriodKey, int] = {}
    kinds: dict[Kind, int] = {}
    lines = [_line(concept, by_key, keys, kinds) for concept, by_key in book.vintages.items()]
    head = {
        "filings": book.filings,
        "currency": book.currency,
        "facts": book.vintage_count,
        "keys": [*keys],
        "kinds": [*kinds],
        "concepts": [*book.vintages],
        "nil": sorted(book.nil_facts),
        "other_units": sorted(book.other_unit_facts),
        "instants": book.instants,
        "split_ratios": [(str(ratio), *rest) for ratio, *rest in book.split_ratios],
        "shown": [
            (place, [(kind, sorted(shown)) for kind, shown in by.items()]) for place, by in book.face_concepts.items()
        ],
        "placed": [*book.label_signs.items()],
        "unplaced": [*book.possible_lines.items()],
        "apart": [
            (at, [(*one[:2], sorted(one.totals), sorted(one.excluded_from), sorted(one.periods)) for one in lines])
            for at, lines in book.lines_beside.items()
        ],
        "exact": [(at, sorted(concepts)) for at, concepts in book.exact_concepts.items()],
        "turned": sorted(book.negated_concepts),
        "wholes": [*book.containing_concepts.items()],
        "bracketed": [(at, sorted(concepts)) for at, concepts in book.bracketed_concepts.items()],
        "spans": calendar.spans,
        "quarters": [*calendar.quarters.items()],
        "to_date": [*calendar.to_date.items()],
        "industry": industry,
        "restated": None
        if book.restatement_factors is None
        else [(str(factor), *rest) for factor, *rest in book.restatement_factors],
    }
    return zlib.compress("\n".join((json.dumps(head, separators=(",", ":")), *lines)).encode(), LEVEL)


def _line(
    concept: str, by_key: Mapping[PeriodKey, Sequence[Vintage]], keys: dict[PeriodKey, int], kinds: dict[Kind, int]
) -> str:
    """The numbers of a concept's periods and, behind a tab, what is told of each. Filings repeat each other: of a
    vintage that is like the one before it only the place stands there. JSON of the same takes twice the time to
    read."""
    numbers = " ".join(str(keys.setdefault(key, len(keys))) for key in by_key)
    return numbers + "\t" + ";".join("|".join(_told(concept, found, kinds)) for found in by_key.values())


def _told(concept: str, found: Iterable[Vintage], kinds: dict[Kind, int]) -> Iterator[str]:
    before = None
    for one in found:
        kind = (one.concept if one.concept != concept else "", one.unit, one.decimals)
        like = f"{kinds.setdefault(kind, len(kinds))},{one.value}"
        yield str(one.filing_index) if like == before else f"{one.filing_index},{like}"
        before = like


def deserialise(data: bytes) -> tuple[FactBook, Calendar, str]:
    """The book, the calendar and the industry that were written."""
    first, *texts = zlib.decompress(data).decode().split("\n")
    head = json.loads(first)
    book = StoredBook([SourceFiling(*one) for one in head["filings"]], head["currency"])
    book.vintage_count, book.instants = head["facts"], head["instants"]
    numbers, kinds = {_key(key): str(number) for number, key in enumerate(head["keys"])}, head["kinds"]
    lines = zip(head["concepts"], texts, strict=True)
    book.vintages = {concept: LazyVintages(concept, line, numbers, kinds) for concept, line in lines}
    book.nil_facts = {(concept, _key(key)) for concept, key in head["nil"]}
    book.other_unit_facts = {(concept, _key(key)) for concept, key in head["other_units"]}
    if head["restated"] is not None:
        book.restatement_factors = [(Decimal(factor), before, since) for factor, before, since in head["restated"]]
    book.split_ratios = [(Decimal(ratio), _key(key), place) for ratio, key, place in head["split_ratios"]]
    book.face_concepts = {place: {kind: set(shown) for kind, shown in by} for place, by in head["shown"]}
    book.label_signs = {(place, metric): sign for (place, metric), sign in head["placed"]}
    book.possible_lines = {(metric, _key(key)): text for (metric, key), text in head["unplaced"]}
    book.lines_beside = {(place, metric): [_apart(*one) for one in lines] for (place, metric), lines in head["apart"]}
    book.exact_concepts = {(place, metric): set(concepts) for (place, metric), concepts in head["exact"]}
    book.negated_concepts = {(place, concept) for place, concept in head["turned"]}
    book.containing_concepts = {(place, part): whole for (place, part), whole in head["wholes"]}
    book.bracketed_concepts = {(place, statement): set(concepts) for (place, statement), concepts in head["bracketed"]}
    spans = tuple(FiscalSpan(start, end, kind, _keys(keys), year) for start, end, kind, keys, year in head["spans"])
    quarters = {
        _key(at): Period(year, name, start, end, _keys(keys), *place)
        for at, (year, name, start, end, keys, *place) in head["quarters"]
    }
    to_date = {_key(at): _keys(keys) for at, keys in head["to_date"]}
    return book, Calendar(spans, quarters, to_date), head["industry"]


def _apart(concept: str, text: str, inside: list[str], but: list[str], keys: list[list[int]]) -> LineBeside:
    return LineBeside(concept, text, frozenset(inside), frozenset(but), frozenset(map(_key, keys)))


def _key(pair: list[int]) -> PeriodKey:
    return pair[0], pair[1]


def _keys(pairs: list[list[int]]) -> tuple[PeriodKey, ...]:
    return tuple(map(_key, pairs))
