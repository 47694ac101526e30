"""Serialises the books of companies for the table ``kept_books``.

A stored book is zlib-compressed text. Its first line is JSON: the filings, the calendar, the findings of the pages, the
periods of all facts, and the *kinds* of vintages. A kind is what many vintages have in common: concept, unit and
decimals. Each further line has the vintages of one concept::

    0 1<TAB>3,0,391035|5;2,0,383285

These are the periods 0 and 1 of the book. For the first, filing 3 reports a fact of kind 0 with the value 391035, and
filing 5 the same. For the second, filing 2 reports 383285. Filings repeat each other, so for a vintage that is equal to
the previous one only the filing index is written. JSON would take twice as long to read.

A request needs few of a book's thousands of facts, so the line of a concept is only parsed when the concept is used,
and a vintage only when its period is used.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from finapi.market.financials.faces import SeparateLine
from finapi.market.financials.fact_book import ClassFact, FactBook, PeriodKey, SourceFiling, Vintage
from finapi.market.financials.periods import Calendar, FiscalSpan, Period

COMPRESSION_LEVEL = 3  # Higher levels take twice as long and save a tenth of the bytes.

# The kind of a vintage: its concept ("" if it is the concept of its line), unit and decimals.
VintageKind = tuple[str, str, str | None]

# Builds a vintage from a tuple, in half the time of the constructor. A book has thousands of vintages.
_build_vintage: Callable[[tuple[int, str, str, str, str | None]], Vintage] = partial(tuple.__new__, Vintage)


class LazyVintages(Mapping[PeriodKey, list[Vintage]]):
    """The vintages of a concept by period, parsed from its line when they are read."""

    def __init__(
        self, concept: str, line: str, period_numbers: Mapping[PeriodKey, str], kinds: Sequence[VintageKind]
    ) -> None:
        self._concept = concept
        self._line = line
        self._period_numbers = period_numbers  # The numbers of the book's periods, in order.
        self._kinds = kinds
        self._parsed: dict[PeriodKey, list[Vintage]] = {}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The vintages of each period as text, by the number of the period."""
        numbers, _, texts = self._line.partition("\t")
        # The list of texts is empty for a concept without vintages.
        return dict(zip(numbers.split(), texts.split(";") if texts else (), strict=True))

    def _parse(self, text: str) -> list[Vintage]:
        vintages: list[Vintage] = []
        for vintage_text in text.split("|"):
            filing_index, _, kind_and_value = vintage_text.partition(",")
            if kind_and_value:
                kind_number, _, number = kind_and_value.partition(",")
                concept, unit, decimals = self._kinds[int(kind_number)]
            # Without further fields, the vintage is equal to the previous one.
            vintages.append(_build_vintage((int(filing_index), concept or self._concept, unit, number, decimals)))
        return vintages

    def __getitem__(self, period_key: PeriodKey) -> list[Vintage]:
        vintages: list[Vintage] | None = self.get(period_key)
        if vintages is None:
            raise KeyError(period_key)
        return vintages

    def get(self, period_key: PeriodKey, default: Any = None) -> Any:
        """Return the vintages of a period, or ``default`` if there are none."""
        vintages = self._parsed.get(period_key)
        if vintages is None:
            text = self._texts.get(self._period_numbers.get(period_key, ""))
            if text is None:
                return default
            vintages = self._parsed[period_key] = self._parse(text)
        return vintages

    def find_newest(self, period_key: PeriodKey) -> Vintage | None:
        """Return the last vintage of a period without parsing those before it, or None."""
        text = self._texts.get(self._period_numbers.get(period_key, ""))
        if text is None:
            return None
        # The text ends with the last vintage that is written in full and the filings that repeat it.
        head, kind_number, number_and_repeats = text.rsplit(",", 2)
        number, _, repeating_filings = number_and_repeats.partition("|")
        concept, unit, decimals = self._kinds[int(kind_number)]
        filing_index = (repeating_filings or head).rpartition("|")[2]
        return _build_vintage((int(filing_index), concept or self._concept, unit, number, decimals))

    def __contains__(self, period_key: object) -> bool:
        return period_key in self._period_numbers and self._period_numbers[period_key] in self._texts  # type: ignore[index]

    def __iter__(self) -> Iterator[PeriodKey]:
        period_keys = tuple(self._period_numbers)
        return (period_keys[int(number)] for number in self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class StoredBook(FactBook):
    """A book read from the database. Its vintages are parsed lazily."""

    __slots__ = ()
    vintages: Mapping[str, LazyVintages]

    def find_newest(self, concept: str, period_key: PeriodKey) -> Vintage | None:
        """Return the newest vintage of a figure without parsing the earlier ones, or None."""
        return self.vintages[concept].find_newest(period_key)


# ---- writing


def serialise(book: FactBook, calendar: Calendar, industry: str) -> bytes:
    """Return a book with its calendar and industry as bytes for :func:`deserialise`."""
    period_numbers: dict[PeriodKey, int] = {}
    kind_numbers: dict[VintageKind, int] = {}
    lines = [
        _format_line(concept, by_period, period_numbers, kind_numbers) for concept, by_period in book.vintages.items()
    ]
    restatement_factors = None
    if book.restatement_factors is not None:
        restatement_factors = [
            (str(factor), filing_before, filing_after)
            for factor, filing_before, filing_after in book.restatement_factors
        ]
    head = {
        "filings": book.filings,
        "currency": book.currency,
        "other_currencies": book.other_currencies,
        "vintage_count": book.vintage_count,
        "periods": [*period_numbers],
        "kinds": [*kind_numbers],
        "concepts": [*book.vintages],
        "nil_facts": sorted(book.nil_facts),
        "other_unit_facts": sorted(book.other_unit_facts),
        "instants": book.instants,
        "split_ratios": [
            (str(ratio), period_key, filing_index) for ratio, period_key, filing_index in book.split_ratios
        ],
        "face_concepts": [
            (filing_index, [(statement, sorted(concepts)) for statement, concepts in by_statement.items()])
            for filing_index, by_statement in book.face_concepts.items()
        ],
        "label_signs": [*book.label_signs.items()],
        "possible_lines": [*book.possible_lines.items()],
        "separate_lines": [
            (key, [_serialise_separate_line(line) for line in separate_lines])
            for key, separate_lines in book.separate_lines.items()
        ],
        "exact_concepts": [(key, sorted(concepts)) for key, concepts in book.exact_concepts.items()],
        "negated_concepts": sorted(book.negated_concepts),
        "misscaled_filings": [(index, str(factor)) for index, factor in book.misscaled_filings.items()],
        "class_facts": [
            (concept, period_key, [(fact.member, *fact.vintage) for fact in facts])
            for (concept, period_key), facts in book.class_facts.items()
        ],
        "conflicting_facts": [(index, name, str(value)) for index, name, value in sorted(book.conflicting_facts)],
        "corrected_signs": [(index, name, str(value)) for index, name, value in sorted(book.corrected_signs)],
        "confirmed_signs": [(index, name, str(value)) for index, name, value in sorted(book.confirmed_signs)],
        "containing_concepts": [*book.containing_concepts.items()],
        "bracketed_concepts": [(key, sorted(concepts)) for key, concepts in book.bracketed_concepts.items()],
        "spans": calendar.spans,
        "quarters": [*calendar.quarters.items()],
        "to_date": [*calendar.to_date.items()],
        "industry": industry,
        "restatement_factors": restatement_factors,
    }
    text = "\n".join((json.dumps(head, separators=(",", ":")), *lines))
    return zlib.compress(text.encode(), COMPRESSION_LEVEL)


def _format_line(
    concept: str,
    by_period: Mapping[PeriodKey, Sequence[Vintage]],
    period_numbers: dict[PeriodKey, int],
    kind_numbers: dict[VintageKind, int],
) -> str:
    """Return the line of a concept. Periods and kinds that are not numbered yet get the next numbers."""
    numbers = " ".join(str(period_numbers.setdefault(period_key, len(period_numbers))) for period_key in by_period)
    texts = ["|".join(_iter_vintage_texts(concept, vintages, kind_numbers)) for vintages in by_period.values()]
    return numbers + "\t" + ";".join(texts)


def _iter_vintage_texts(
    concept: str, vintages: Iterable[Vintage], kind_numbers: dict[VintageKind, int]
) -> Iterator[str]:
    """Yield the text of each vintage of a figure. An equal vintage in a later filing is only the filing's index."""
    text_before = None
    for vintage in vintages:
        kind: VintageKind = (vintage.concept if vintage.concept != concept else "", vintage.unit, vintage.decimals)
        text = f"{kind_numbers.setdefault(kind, len(kind_numbers))},{vintage.value}"
        yield str(vintage.filing_index) if text == text_before else f"{vintage.filing_index},{text}"
        text_before = text


def _serialise_separate_line(line: SeparateLine) -> tuple[Any, ...]:
    """Return the members of a line as values that JSON can contain. Sets become sorted lists."""
    return line.concept, line.label, sorted(line.totals), sorted(line.excluded_from), sorted(line.periods)


# ---- reading


def deserialise(data: bytes) -> tuple[FactBook, Calendar, str]:
    """Return the book, the calendar and the industry that :func:`serialise` wrote."""
    first_line, *lines = zlib.decompress(data).decode().split("\n")
    head = json.loads(first_line)
    book = StoredBook([SourceFiling(*fields) for fields in head["filings"]], head["currency"])
    book.other_currencies = head["other_currencies"]
    book.vintage_count = head["vintage_count"]
    book.instants = head["instants"]
    period_numbers = {_to_key(pair): str(number) for number, pair in enumerate(head["periods"])}
    book.vintages = {
        concept: LazyVintages(concept, line, period_numbers, head["kinds"])
        for concept, line in zip(head["concepts"], lines, strict=True)
    }
    book.nil_facts = {(concept, _to_key(pair)) for concept, pair in head["nil_facts"]}
    book.other_unit_facts = {(concept, _to_key(pair)) for concept, pair in head["other_unit_facts"]}
    if head["restatement_factors"] is not None:
        book.restatement_factors = [
            (Decimal(factor), filing_before, filing_after)
            for factor, filing_before, filing_after in head["restatement_factors"]
        ]
    book.split_ratios = [
        (Decimal(ratio), _to_key(pair), filing_index) for ratio, pair, filing_index in head["split_ratios"]
    ]
    book.face_concepts = {
        filing_index: {statement: set(concepts) for statement, concepts in by_statement}
        for filing_index, by_statement in head["face_concepts"]
    }
    book.label_signs = {(filing_index, key): sign for (filing_index, key), sign in head["label_signs"]}
    book.possible_lines = {(key, _to_key(pair)): label for (key, pair), label in head["possible_lines"]}
    book.separate_lines = {
        (filing_index, key): [_deserialise_separate_line(*fields) for fields in separate_lines]
        for (filing_index, key), separate_lines in head["separate_lines"]
    }
    book.exact_concepts = {
        (filing_index, key): set(concepts) for (filing_index, key), concepts in head["exact_concepts"]
    }
    book.negated_concepts = {(filing_index, concept) for filing_index, concept in head["negated_concepts"]}
    book.misscaled_filings = {index: Decimal(factor) for index, factor in head["misscaled_filings"]}
    book.class_facts = {
        (concept, _to_key(pair)): [ClassFact(member, Vintage(*fields)) for member, *fields in facts]
        for concept, pair, facts in head["class_facts"]
    }
    book.conflicting_facts = {(index, name, Decimal(value)) for index, name, value in head["conflicting_facts"]}
    book.corrected_signs = {(index, name, Decimal(value)) for index, name, value in head["corrected_signs"]}
    book.confirmed_signs = {(index, name, Decimal(value)) for index, name, value in head["confirmed_signs"]}
    book.containing_concepts = {
        (filing_index, concept): containing for (filing_index, concept), containing in head["containing_concepts"]
    }
    book.bracketed_concepts = {
        (filing_index, statement): set(concepts) for (filing_index, statement), concepts in head["bracketed_concepts"]
    }
    spans = tuple(
        FiscalSpan(start, end, kind, _to_keys(pairs), fiscal_year)
        for start, end, kind, pairs, fiscal_year in head["spans"]
    )
    quarters = {_to_key(pair): _deserialise_quarter(*fields) for pair, fields in head["quarters"]}
    to_date = {_to_key(pair): _to_keys(pairs) for pair, pairs in head["to_date"]}
    return book, Calendar(spans, quarters, to_date), head["industry"]


def _deserialise_separate_line(
    concept: str, label: str, totals: list[str], excluded_from: list[str], periods: list[list[int]]
) -> SeparateLine:
    return SeparateLine(
        concept=concept,
        label=label,
        totals=frozenset(totals),
        excluded_from=frozenset(excluded_from),
        periods=frozenset(map(_to_key, periods)),
    )


def _deserialise_quarter(
    fiscal_year: int,
    fiscal_period: str,
    start: int | None,
    end: int,
    pairs: list[list[int]],
    span_index: int,
    quarter_number: int,
) -> Period:
    return Period(fiscal_year, fiscal_period, start, end, _to_keys(pairs), span_index, quarter_number)


def _to_key(pair: list[int]) -> PeriodKey:
    return pair[0], pair[1]


def _to_keys(pairs: list[list[int]]) -> tuple[PeriodKey, ...]:
    return tuple(map(_to_key, pairs))
