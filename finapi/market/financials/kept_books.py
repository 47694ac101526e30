"""A company's book as bytes and back: a row to keep, of which a question reads the concepts that it asks for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from finapi.market.financials.faces import Apart
from finapi.market.financials.fact_book import FactBook, Key, SourceFiling, Vintage
from finapi.market.financials.periods import Calendar, FiscalSpan, Period

LEVEL = 3  # the next ones cost twice the time for a tenth of the bytes


K = TypeVar("K")
V = TypeVar("V")


class ReadLate(Mapping[K, V]):
    """Values by key, each read from what is kept of it when it is first asked for."""

    def __init__(self, kept: Mapping[K, Any], read: Callable[[K, Any], V]) -> None:
        self._kept = kept
        self._reader = read
        self._read: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._reader(key, self._kept[key])
        return found

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key or, without one, the default."""
        found = self._read.get(key)
        if found is not None:
            return found
        return self[key] if key in self._kept else default

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def __iter__(self) -> Iterator[K]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def written(book: FactBook, calendar: Calendar, industry: str) -> bytes:
    """A book with its calendar and industry for :func:`read`."""
    kinds: dict[tuple[str, str, str | None], int] = {}
    lines = [_line(concept, by_key, kinds) for concept, by_key in book.vintages.items()]
    head = {
        "filings": book.filings,
        "currency": book.currency,
        "facts": book.facts,
        "kinds": [*kinds],
        "concepts": [*book.vintages],
        "nil": sorted(book.nil),
        "other_units": sorted(book.other_units),
        "instants": book.instants,
        "split_ratios": [(str(ratio), *rest) for ratio, *rest in book.split_ratios],
        "shown": [(place, [(kind, sorted(shown)) for kind, shown in by.items()]) for place, by in book.shown.items()],
        "placed": [*book.placed.items()],
        "unplaced": [*book.unplaced.items()],
        "apart": [
            (at, [(*one[:2], sorted(one.inside), sorted(one.but), sorted(one.keys)) for one in lines])
            for at, lines in book.apart.items()
        ],
        "exact": [(at, sorted(concepts)) for at, concepts in book.exact.items()],
        "turned": sorted(book.turned),
        "wholes": [*book.wholes.items()],
        "bracketed": [(at, sorted(concepts)) for at, concepts in book.bracketed.items()],
        "spans": calendar.spans,
        "quarters": [*calendar.quarters.items()],
        "to_date": [*calendar.to_date.items()],
        "industry": industry,
        "restated": None if book.restated is None else [(str(factor), *rest) for factor, *rest in book.restated],
    }
    return zlib.compress("\n".join((json.dumps(head, separators=(",", ":")), *lines)).encode(), LEVEL)


def _line(concept: str, by_key: Mapping[Key, Sequence[Vintage]], kinds: dict[tuple[str, str, str | None], int]) -> str:
    """The periods of a concept and, behind a tab, what is told of each. Filings repeat each other: of a vintage that is
    like the one before it only the place stands there. JSON of the same takes twice the time to read."""
    keys = " ".join(f"{end} {length}" for end, length in by_key)
    return keys + "\t" + ";".join("|".join(_told(concept, found, kinds)) for found in by_key.values())


def _told(concept: str, found: Iterable[Vintage], kinds: dict[tuple[str, str, str | None], int]) -> Iterator[str]:
    before = None
    for one in found:
        kind = (one.concept if one.concept != concept else "", one.unit, one.decimals)
        like = f"{kinds.setdefault(kind, len(kinds))},{one.value}"
        yield str(one.place) if like == before else f"{one.place},{like}"
        before = like


def read(data: bytes) -> tuple[FactBook, Calendar, str]:
    """The book, the calendar and the industry that were written."""
    first, *texts = zlib.decompress(data).decode().split("\n")
    head = json.loads(first)
    book = FactBook([SourceFiling(*one) for one in head["filings"]], head["currency"])
    book.facts, book.instants = head["facts"], head["instants"]
    book.vintages = ReadLate(dict(zip(head["concepts"], texts, strict=True)), partial(_figures, head["kinds"]))
    book.nil = {(concept, _key(key)) for concept, key in head["nil"]}
    book.other_units = {(concept, _key(key)) for concept, key in head["other_units"]}
    if head["restated"] is not None:
        book.restated = [(Decimal(factor), before, since) for factor, before, since in head["restated"]]
    book.split_ratios = [(Decimal(ratio), _key(key), place) for ratio, key, place in head["split_ratios"]]
    book.shown = {place: {kind: set(shown) for kind, shown in by} for place, by in head["shown"]}
    book.placed = {(place, metric): sign for (place, metric), sign in head["placed"]}
    book.unplaced = {(metric, _key(key)): text for (metric, key), text in head["unplaced"]}
    book.apart = {(place, metric): [_apart(*one) for one in lines] for (place, metric), lines in head["apart"]}
    book.exact = {(place, metric): set(concepts) for (place, metric), concepts in head["exact"]}
    book.turned = {(place, concept) for place, concept in head["turned"]}
    book.wholes = {(place, part): whole for (place, part), whole in head["wholes"]}
    book.bracketed = {(place, statement): set(concepts) for (place, statement), concepts in head["bracketed"]}
    spans = tuple(FiscalSpan(start, end, kind, _keys(keys), year) for start, end, kind, keys, year in head["spans"])
    quarters = {
        _key(at): Period(year, name, start, end, _keys(keys), *place)
        for at, (year, name, start, end, keys, *place) in head["quarters"]
    }
    to_date = {_key(at): _keys(keys) for at, keys in head["to_date"]}
    return book, Calendar(spans, quarters, to_date), head["industry"]


def _figures(kinds: list[tuple[str, str, str | None]], concept: str, line: str) -> ReadLate[Key, list[Vintage]]:
    def vintages(key: Key, told: str) -> list[Vintage]:
        found: list[Vintage] = []
        for text in told.split("|"):
            place, _, like = text.partition(",")
            if like:
                kind, _, value = like.partition(",")
                reported, unit, decimals = kinds[int(kind)]
            found.append(Vintage(int(place), reported or concept, unit, value, decimals))
        return found

    keys, _, all_told = line.partition("\t")
    numbers = map(int, keys.split())
    # A concept of which nothing is told has no periods.
    texts = all_told.split(";") if all_told else ()
    return ReadLate(dict(zip(zip(numbers, numbers, strict=True), texts, strict=True)), vintages)


def _apart(concept: str, text: str, inside: list[str], but: list[str], keys: list[list[int]]) -> Apart:
    return Apart(concept, text, frozenset(inside), frozenset(but), frozenset(map(_key, keys)))


def _key(pair: list[int]) -> Key:
    return pair[0], pair[1]


def _keys(pairs: list[list[int]]) -> tuple[Key, ...]:
    return tuple(map(_key, pairs))
