"""XBRL instances: the facts of a filing, with their periods, dimensions and units."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar.xbrl.qnames import LINK, NUMBER, XBRLI, XLINK, XSI, Names
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader, local_name

# Characters. A fact with a longer text is a note block; the service serves figures and not notes.
TEXT_LIMIT = 1_000

# XML's white space; the stricter reading, because str.strip() would also take a no-break space for it.
_SPACE = " \t\r\n"
_NIL = f"{XSI} nil"
_TRUE = frozenset({"true", "1"})
_XBRLDI = "http://xbrl.org/2006/xbrldi"
_DECIMALS = re.compile(r"INF|[+-]?[0-9]{1,4}")
_PRECISION = re.compile(r"INF|[0-9]{1,4}")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T(00|24):00:00(?:\.0+)?)?")
_CIK_SCHEME = "http://www.sec.gov/CIK"
_CIK = re.compile(r"[0-9]{1,10}")


class InstanceContext(NamedTuple):
    """Of whom, when and of which part a fact speaks.

    ``cik`` has ten digits (an identifier of another scheme is kept as it stands). ``start`` and ``end`` are
    ISO dates, both days included; ``start`` is None for an instant, which is the end of the day ``end``.
    ``dims`` are pairs of axis and member, sorted: QNames, and for a typed member the text of its element.
    """

    id: str
    cik: str
    start: str | None
    end: str
    dimensions: tuple[tuple[str, str], ...]


class InstanceFact(NamedTuple):
    """One tagged value; ``context`` and ``unit`` are ids in the instance.

    A fact with a unit is numeric and its ``value`` is a decimal number as tagged, never scaled or negated; a
    fact without is a text. ``value`` is None when ``nil``; ``decimals`` is an integer as text, ``INF``, None.
    """

    concept: str
    context: str
    unit: str | None
    decimals: str | None
    value: str | None
    is_nil: bool


@dataclass(frozen=True, slots=True)
class Instance:
    """What one instance holds: ``contexts`` and ``units`` by id, ``facts`` in document order.

    A unit reads ``USD``, ``shares``, ``USD/shares``, ``USD/EUR*shares``. ``namespaces`` maps the prefixes of
    the document to URIs; ``long_texts`` counts the facts left out for their length.
    """

    contexts: dict[str, InstanceContext]
    units: dict[str, str]
    facts: list[InstanceFact]
    namespaces: dict[str, str]
    schema_refs: list[str]
    long_text_count: int


def parse_instance(data: bytes, file: str) -> Instance:
    """The contexts, units and facts of an XBRL instance, as tagged; ``file`` is named in errors.

    Duplicate facts are kept. Footnotes are ignored. A ``precision`` becomes the ``decimals`` that XBRL 2.1
    (4.6.6) infers from it. A midnight counts as the end of the day before, at the end of a period and for an
    instant (4.7.2).

    ParseError: not an instance; a fact without its context or unit, or a numeric one that is not a decimal
    number; two contexts or units with one id; a name whose prefix is not declared; and what EDGAR does not
    accept and could only be guessed at: tuples, periods of ``forever``, times of day other than midnight,
    contexts with parts that are not dimensions.
    """
    reader = _InstanceReader(file)
    reader.read(data)
    reader.check_references()
    return Instance(
        contexts=reader.contexts,
        units=reader.units,
        facts=reader.facts,
        namespaces=reader.names.declared,
        schema_refs=reader.schema_refs,
        long_text_count=reader.long_texts,
    )


def _day(text: str, begins: bool) -> str | None:
    """The ISO date of a period's first day (``begins``) or last day; None when the text is no such moment."""
    moment = _MOMENT.fullmatch(text)
    if moment is None:
        return None
    try:
        day = date.fromisoformat(moment[1])
        if begins and moment[2] == "24":
            day += timedelta(days=1)
        elif not begins and moment[2] == "00":
            day -= timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return day.isoformat()


def _decimals_of(value: str, precision: str) -> str | None:
    """XBRL 2.1, 4.6.6: a precision of 0 says nothing about the value; a zero is exact."""
    number = Decimal(value)
    if precision == "INF" or not number:
        return "INF"
    digits = int(precision)
    return str(digits - 1 - number.adjusted()) if digits else None


class _InstanceReader(XmlReader):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = _ROOT
        self.names = Names(self)
        self.contexts: dict[str, InstanceContext] = {}
        self.units: dict[str, str] = {}
        self.facts: list[InstanceFact] = []
        self.schema_refs: list[str] = []
        self.long_texts = 0

        # What is being read.
        self._concept = ""
        self._attributes: Attributes = {}
        self._id = self._scheme = self._axis = ""
        self._cik: str | None = None
        self._start_day: str | None = None
        self._end_day: str | None = None
        self._dims: list[tuple[str, str]] = []
        self._measures: tuple[list[str], list[str]] = ([], [])
        self._below = 0

        # The ids in use, each with the place of its first use. The facts share these texts and those of
        # decimals: 150 MB less for a million facts.
        self._context_refs: dict[str, tuple[str, str]] = {}
        self._unit_refs: dict[str, tuple[str, str]] = {}
        self._decimals: dict[str | None, str] = {}
        self._days: dict[tuple[str, bool], str] = {}

    def check_references(self) -> None:
        self._check("context", self._context_refs, self.contexts)
        self._check("unit", self._unit_refs, self.units)

    def _check(self, kind: str, refs: dict[str, tuple[str, str]], known: Container[str]) -> None:
        for ref, place in refs.values():
            if ref not in known:
                raise ParseError(self.file, place, f"there is no {kind} {ref[:80]!r}")

    def open_root(self, name: str, attributes: Attributes) -> None:
        self.opens = _AT_ROOT

    def open_wrapper(self, name: str, attributes: Attributes) -> None:
        pass

    def open_unwanted(self, name: str, attributes: Attributes) -> None:
        self.skip()

    def open_schema_ref(self, name: str, attributes: Attributes) -> None:
        self.schema_refs.append(self.get_required(attributes, f"{XLINK} href"))
        self.skip()

    def open_other(self, name: str, attributes: Attributes) -> None:
        if self.opens is not _AT_ROOT:
            raise self.build_error(f"element {local_name(name)[:80]} inside a context or unit")
        if "contextRef" not in attributes:
            raise self.build_error(f"element {local_name(name)[:80]} is not a fact (tuples are not read)")
        self._concept = self.names.of_element(name)
        self._attributes = attributes
        self.collect(self._close_fact, None if "unitRef" in attributes else self._close_long_text, TEXT_LIMIT)

    # Facts.

    def _close_long_text(self) -> None:
        self._shared(self._context_refs, self._attributes["contextRef"])
        self.long_texts += 1

    def _close_fact(self, text: str) -> None:
        attributes = self._attributes
        context = self._shared(self._context_refs, attributes["contextRef"])
        value = None if attributes.get(_NIL) in _TRUE else text
        unit = decimals = None
        if "unitRef" in attributes:
            unit = self._shared(self._unit_refs, attributes["unitRef"])
            if value is not None:
                value = value.strip(_SPACE)
                if NUMBER.fullmatch(value) is None:
                    raise self.build_error(f"{self._concept} is not a decimal number: {value[:40]!r}")
            decimals = self._decimals.get(attributes.get("decimals"))
            if decimals is None:
                decimals = self._accuracy(value)
        self.facts.append(InstanceFact(self._concept, context, unit, decimals, value, value is None))

    def _accuracy(self, value: str | None) -> str | None:
        """Decimals seen for the first time, or inferred from a precision."""
        decimals = self._attributes.get("decimals")
        if decimals is not None:
            if _DECIMALS.fullmatch(decimals) is None:
                raise self.build_error(f"decimals is not a number: {decimals[:40]!r}")
            return self._decimals.setdefault(decimals, decimals)
        precision = self._attributes.get("precision")
        if precision is None or value is None:
            return None
        if _PRECISION.fullmatch(precision) is None:
            raise self.build_error(f"precision is not a number: {precision[:40]!r}")
        return _decimals_of(value, precision)

    def _shared(self, refs: dict[str, tuple[str, str]], ref: str) -> str:
        known = refs.get(ref)
        if known is None:
            known = refs[ref] = (ref, f"line {self.parser.CurrentLineNumber}, {self._concept}")
        return known[0]

    # Contexts.

    def open_context(self, name: str, attributes: Attributes) -> None:
        self._id = self._new_id(attributes, self.contexts)
        self._cik = self._start_day = self._end_day = None
        self._dims = []
        self.opens = _IN_CONTEXT
        self.on_close(self._close_context)

    def _new_id(self, attributes: Attributes, known: Container[str]) -> str:
        new = self.get_required(attributes, "id")
        if new in known:
            raise self.build_error(f"id {new[:80]!r} is used twice")
        return new

    def _close_context(self) -> None:
        self.opens = _AT_ROOT
        if self._cik is None or self._end_day is None:
            raise self.build_error(f"context {self._id[:80]!r} has no identifier or no period with an end")
        if self._start_day is not None and self._start_day > self._end_day:
            raise self.build_error(f"context {self._id[:80]!r} ends before it starts")
        if len({axis for axis, _ in self._dims}) < len(self._dims):
            raise self.build_error(f"context {self._id[:80]!r} has one axis twice")
        dims = tuple(sorted(self._dims))
        self.contexts[self._id] = InstanceContext(self._id, self._cik, self._start_day, self._end_day, dims)

    def open_identifier(self, name: str, attributes: Attributes) -> None:
        self._scheme = attributes.get("scheme", "")
        self.collect(self._close_identifier)

    def _close_identifier(self, text: str) -> None:
        text = text.strip(_SPACE)
        self._cik = text.zfill(10) if self._scheme == _CIK_SCHEME and _CIK.fullmatch(text) else text

    def open_start(self, name: str, attributes: Attributes) -> None:
        self.collect(self._close_start)

    def _close_start(self, text: str) -> None:
        self._start_day = self._date(text, begins=True)

    def open_end(self, name: str, attributes: Attributes) -> None:
        self.collect(self._close_end)

    def _close_end(self, text: str) -> None:
        self._end_day = self._date(text, begins=False)

    def _date(self, text: str, begins: bool) -> str:
        day = self._days.get((text, begins))
        if day is None:
            day = _day(text.strip(_SPACE), begins)
            if day is None:
                raise self.build_error(f"not a date: {text[:40]!r}")
            self._days[text, begins] = day
        return day

    def open_explicit(self, name: str, attributes: Attributes) -> None:
        self._axis = self._qname(self.get_required(attributes, "dimension"))
        self.collect(self._close_explicit)

    def _close_explicit(self, text: str) -> None:
        self._dims.append((self._axis, self._qname(text)))

    def open_typed(self, name: str, attributes: Attributes) -> None:
        self._axis = self._qname(self.get_required(attributes, "dimension"))
        self.collect(self._close_typed, mixed=True)

    def _close_typed(self, text: str) -> None:
        self._dims.append((self._axis, text.strip(_SPACE)))

    def _qname(self, text: str) -> str:
        name = self.names.of_text(text)
        if name is None:
            raise self.build_error(f"no name with a prefix in scope: {text[:80]!r}")
        return name

    # Units.

    def open_unit(self, name: str, attributes: Attributes) -> None:
        self._id = self._new_id(attributes, self.units)
        self._measures = ([], [])
        self._below = 0
        self.opens = _IN_UNIT
        self.on_close(self._close_unit)

    def open_denominator(self, name: str, attributes: Attributes) -> None:
        self._below = 1

    def open_measure(self, name: str, attributes: Attributes) -> None:
        self.collect(self._close_measure)

    def _close_measure(self, text: str) -> None:
        self._measures[self._below].append(self._qname(text).rpartition(":")[2])

    def _close_unit(self) -> None:
        self.opens = _AT_ROOT
        above, below = self._measures
        if not above or bool(below) != bool(self._below):
            raise self.build_error(f"unit {self._id[:80]!r} lacks a measure")
        self.units[self._id] = "/".join("*".join(part) for part in (above, below) if part)


# What may stand where.
_ROOT: dict[str, OpenHandler] = {f"{XBRLI} xbrl": _InstanceReader.open_root}
_AT_ROOT: dict[str, OpenHandler] = {
    f"{XBRLI} context": _InstanceReader.open_context,
    f"{XBRLI} unit": _InstanceReader.open_unit,
    f"{LINK} schemaRef": _InstanceReader.open_schema_ref,
    f"{LINK} linkbaseRef": _InstanceReader.open_unwanted,
    f"{LINK} roleRef": _InstanceReader.open_unwanted,
    f"{LINK} arcroleRef": _InstanceReader.open_unwanted,
    f"{LINK} footnoteLink": _InstanceReader.open_unwanted,
}
_IN_CONTEXT: dict[str, OpenHandler] = {
    f"{XBRLI} entity": _InstanceReader.open_wrapper,
    f"{XBRLI} identifier": _InstanceReader.open_identifier,
    f"{XBRLI} segment": _InstanceReader.open_wrapper,
    f"{XBRLI} scenario": _InstanceReader.open_wrapper,
    f"{XBRLI} period": _InstanceReader.open_wrapper,
    f"{XBRLI} startDate": _InstanceReader.open_start,
    f"{XBRLI} endDate": _InstanceReader.open_end,
    f"{XBRLI} instant": _InstanceReader.open_end,
    f"{_XBRLDI} explicitMember": _InstanceReader.open_explicit,
    f"{_XBRLDI} typedMember": _InstanceReader.open_typed,
}
_IN_UNIT: dict[str, OpenHandler] = {
    f"{XBRLI} divide": _InstanceReader.open_wrapper,
    f"{XBRLI} unitNumerator": _InstanceReader.open_wrapper,
    f"{XBRLI} unitDenominator": _InstanceReader.open_denominator,
    f"{XBRLI} measure": _InstanceReader.open_measure,
}
