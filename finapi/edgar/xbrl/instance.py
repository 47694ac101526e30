"""The parser of XBRL instances: the facts of a filing, with their periods, dimensions and units.

A fact is an element whose attributes refer to a context (the company, the period and the dimensions) and, if it is a
number, to a unit::

    <xbrli:context id="c-1">
      <xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">0000320193</xbrli:identifier></xbrli:entity>
      <xbrli:period><xbrli:instant>2023-09-30</xbrli:instant></xbrli:period>
    </xbrli:context>
    <xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>
    <us-gaap:Assets contextRef="c-1" unitRef="usd" decimals="-6">352583000000</us-gaap:Assets>

Contexts and units may come after the facts that refer to them, so references are checked at the end.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar.concept_names import NUMBER
from finapi.edgar.xbrl.qnames import LINK, XBRLI, XLINK, XSI, QNameResolver
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader, local_name

# Characters of a fact. One with a longer text is a note, and finapi serves figures, not notes.
TEXT_LIMIT = 1_000

_SPACE = " \t\r\n"  # White space in XML. str.strip() would also strip a no-break space.
NIL = f"{XSI} nil"
TRUE = frozenset({"true", "1"})
_XBRLDI = "http://xbrl.org/2006/xbrldi"
_DECIMALS = re.compile(r"INF|[+-]?[0-9]{1,4}")
_PRECISION = re.compile(r"INF|[0-9]{1,4}")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T(00|24):00:00(?:\.0+)?)?")
_CIK_SCHEME = "http://www.sec.gov/CIK"
_CIK = re.compile(r"[0-9]{1,10}")


class InstanceContext(NamedTuple):
    """The entity, the period and the dimensions of facts.

    ``cik`` has ten digits; an identifier of another scheme is unchanged. ``start`` and ``end`` are the ISO dates of the
    first and the last day. ``start`` is None for an instant, which is the end of the day ``end``. ``dimensions`` are
    pairs of axis and member, sorted. A member is a name, or for a typed dimension the text of its element.
    """

    id: str
    cik: str
    start: str | None
    end: str
    dimensions: tuple[tuple[str, str], ...]


class InstanceFact(NamedTuple):
    """A tagged value. ``context`` and ``unit`` are ids in the instance.

    A fact with a unit is numeric: its ``value`` is a decimal number as tagged, never scaled or negated. A fact without
    a unit is a text. The value of a nil fact is None. ``decimals`` is an integer as text, ``INF`` or None. ``id`` is
    that of the fact's element, or None. ``page`` is the index of the inline page with the element, 0 for an instance.
    """

    concept: str
    context: str
    unit: str | None
    decimals: str | None
    value: str | None
    is_nil: bool
    id: str | None = None
    page: int = 0


@dataclass(frozen=True, slots=True)
class Instance:
    """The contents of an instance: ``contexts`` and ``units`` by id, ``facts`` in document order.

    A unit is written as ``USD``, ``shares``, ``USD/shares``, ``USD/EUR*shares``. ``namespaces`` maps the prefixes of
    the document to URIs. ``long_text_count`` is the number of facts that were left out for their length,
    ``unknown_texts`` describes texts that were left out because finapi does not know their value (inline XBRL only).
    """

    contexts: dict[str, InstanceContext]
    units: dict[str, str]
    facts: list[InstanceFact]
    namespaces: dict[str, str]
    schema_refs: list[str]
    long_text_count: int
    unknown_texts: Sequence[str] = ()


def parse_instance(content: bytes, file: str) -> Instance:
    """Return the contexts, units and facts of an XBRL instance, as tagged. ``file`` is named in errors.

    Duplicate facts are kept, footnotes are ignored. A ``precision`` is converted to ``decimals`` (XBRL 2.1, 4.6.6). For
    an instant and the end of a period, midnight is the end of the day before (4.7.2).

    Raise ParseError if

    - the document is not an instance,
    - a fact lacks its context or unit, or a numeric fact is not a decimal number,
    - two contexts or units have the same id, or a name has a prefix that is not declared,
    - it has tuples, periods of ``forever``, times of day other than midnight, or contexts with anything other than
      dimensions. EDGAR does not accept these, and their meaning would have to be guessed.
    """
    reader = InstanceReader(file)
    reader.read(content)
    reader.check_references()
    return Instance(
        contexts=reader.contexts,
        units=reader.units,
        facts=reader.facts,
        namespaces=reader.names.namespaces,
        schema_refs=reader.schema_refs,
        long_text_count=reader.long_text_count,
    )


def _parse_day(text: str, is_start: bool) -> str | None:
    """Return the ISO date of a period's first day (``is_start``) or last day, or None if the text is not valid."""
    moment = _MOMENT.fullmatch(text)
    if moment is None:
        return None
    hour = moment[2]
    try:
        day = date.fromisoformat(moment[1])
        if is_start and hour == "24":
            day += timedelta(days=1)
        elif not is_start and hour == "00":
            day -= timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return day.isoformat()


def _compute_decimals(value: str, precision: str) -> str | None:
    """Return the decimals for a number of significant digits (XBRL 2.1, 4.6.6).

    Zero is exact. A precision of 0 says nothing about the value.
    """
    number = Decimal(value)
    if precision == "INF" or not number:
        return "INF"
    digits = int(precision)
    return str(digits - 1 - number.adjusted()) if digits else None


class InstanceReader(XmlReader):
    """A reader of an instance. Inline XBRL has the same contexts and units, so its reader is derived from this one."""

    # The elements that are expected outside of contexts and units.
    outer_handlers: dict[str, OpenHandler]

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.outer_handlers = _ROOT_HANDLERS
        self.open_handlers = _DOCUMENT_HANDLERS
        self.names = QNameResolver(self)
        self.contexts: dict[str, InstanceContext] = {}
        self.units: dict[str, str] = {}
        self.facts: list[InstanceFact] = []
        self.schema_refs: list[str] = []
        self.long_text_count = 0

        # The fact that is open.
        self._concept = ""
        self._fact_attributes: Attributes = {}
        # The context or unit that is open.
        self._id = ""
        self._identifier_scheme = ""
        self._cik: str | None = None
        self._start_day: str | None = None
        self._end_day: str | None = None
        self._axis = ""
        self._dimensions: list[tuple[str, str]] = []
        self._numerator: list[str] = []
        self._denominator: list[str] = []
        self._has_denominator = False

        # The ids that facts refer to, each with the place of its first use. Facts share the texts of ids and decimals,
        # which saves 150 MB for a million facts.
        self._context_refs: dict[str, tuple[str, str]] = {}
        self._unit_refs: dict[str, tuple[str, str]] = {}
        self._decimals: dict[str | None, str] = {}
        self._days: dict[tuple[str, bool], str] = {}

    def check_references(self) -> None:
        """Raise ParseError if a fact refers to a context or unit that does not exist."""
        self._check_ids("context", self._context_refs, self.contexts)
        self._check_ids("unit", self._unit_refs, self.units)

    def _check_ids(self, kind: str, refs: dict[str, tuple[str, str]], existing: Container[str]) -> None:
        for ref, place in refs.values():
            if ref not in existing:
                raise ParseError(self.file, place, f"there is no {kind} {ref[:80]!r}")

    def open_root(self, name: str, attributes: Attributes) -> None:
        """Read the root element."""
        self.open_handlers = self.outer_handlers

    def open_container(self, name: str, attributes: Attributes) -> None:
        """Do nothing: an element without values of its own, whose children are read."""

    def open_ignored(self, name: str, attributes: Attributes) -> None:
        """Ignore an element with everything inside of it."""
        self.skip_element()

    def open_schema_ref(self, name: str, attributes: Attributes) -> None:
        """Record the reference to a schema."""
        self.schema_refs.append(self.get_required(attributes, f"{XLINK} href"))
        self.skip_element()

    # ---- facts

    def open_other(self, name: str, attributes: Attributes) -> None:
        """Begin a fact: any element below the root that is not in the table of handlers."""
        if self.open_handlers is not self.outer_handlers:
            raise self.build_error(f"element {local_name(name)[:80]} inside a context or unit")
        if "contextRef" not in attributes:
            raise self.build_error(f"element {local_name(name)[:80]} is not a fact (tuples are not supported)")
        self._concept = self.names.resolve_element(name)
        self._fact_attributes = attributes
        # A number that is too long is an error, a text that is too long is a note.
        on_long_text = None if "unitRef" in attributes else self._count_long_text
        self.collect_text(self._add_fact, on_long_text, TEXT_LIMIT)

    def _count_long_text(self) -> None:
        self._add_reference(self._context_refs, self._fact_attributes["contextRef"])
        self.long_text_count += 1

    def _add_fact(self, text: str) -> None:
        value = None if self._fact_attributes.get(NIL) in TRUE else text
        self.facts.append(self.build_fact(self._concept, self._fact_attributes, value))

    def build_fact(self, concept: str, attributes: Attributes, value: str | None) -> InstanceFact:
        """Return the fact of an element with these attributes. Raise ParseError if its number is not a number."""
        context = self.add_context_reference(concept, attributes["contextRef"])
        unit = None
        decimals = None
        if "unitRef" in attributes:
            unit = self._add_reference(self._unit_refs, attributes["unitRef"])
            if value is not None:
                value = value.strip(_SPACE)
                if NUMBER.fullmatch(value) is None:
                    raise self.build_error(f"{concept} is not a decimal number: {value[:40]!r}")
            decimals = self._decimals.get(attributes.get("decimals"))
            if decimals is None:
                decimals = self._parse_decimals(attributes, value)
        return InstanceFact(
            concept=concept,
            context=context,
            unit=unit,
            decimals=decimals,
            value=value,
            is_nil=value is None,
            id=attributes.get("id"),
        )

    def add_context_reference(self, concept: str, ref: str) -> str:
        """Record a reference that :meth:`check_references` will check. Return the shared text of the id."""
        self._concept = concept
        return self._add_reference(self._context_refs, ref)

    def _parse_decimals(self, attributes: Attributes, value: str | None) -> str | None:
        """Return the decimals of a fact, computed from its precision if it has no ``decimals`` attribute."""
        decimals = attributes.get("decimals")
        if decimals is not None:
            if _DECIMALS.fullmatch(decimals) is None:
                raise self.build_error(f"decimals is not a number: {decimals[:40]!r}")
            return self._decimals.setdefault(decimals, decimals)
        precision = attributes.get("precision")
        if precision is None or value is None:
            return None
        if _PRECISION.fullmatch(precision) is None:
            raise self.build_error(f"precision is not a number: {precision[:40]!r}")
        return _compute_decimals(value, precision)

    def _add_reference(self, refs: dict[str, tuple[str, str]], ref: str) -> str:
        """Record a reference that :meth:`check_references` will check. Return the shared text of the id."""
        first_use = refs.get(ref)
        if first_use is None:
            first_use = refs[ref] = (ref, f"line {self.parser.CurrentLineNumber}, {self._concept}")
        return first_use[0]

    # ---- contexts

    def open_context(self, name: str, attributes: Attributes) -> None:
        """Begin a context."""
        self._id = self._get_new_id(attributes, self.contexts)
        self._cik = None
        self._start_day = None
        self._end_day = None
        self._dimensions = []
        self.open_handlers = _CONTEXT_HANDLERS
        self.call_on_close(self._close_context)

    def _get_new_id(self, attributes: Attributes, existing: Container[str]) -> str:
        new_id = self.get_required(attributes, "id")
        if new_id in existing:
            raise self.build_error(f"id {new_id[:80]!r} is used twice")
        return new_id

    def _close_context(self) -> None:
        self.open_handlers = self.outer_handlers
        if self._cik is None or self._end_day is None:
            raise self.build_error(f"context {self._id[:80]!r} has no identifier or no period with an end")
        if self._start_day is not None and self._start_day > self._end_day:
            raise self.build_error(f"context {self._id[:80]!r} ends before it starts")
        if len(dict(self._dimensions)) < len(self._dimensions):
            raise self.build_error(f"context {self._id[:80]!r} has the same axis twice")
        self.contexts[self._id] = InstanceContext(
            id=self._id,
            cik=self._cik,
            start=self._start_day,
            end=self._end_day,
            dimensions=tuple(sorted(self._dimensions)),
        )

    def open_identifier(self, name: str, attributes: Attributes) -> None:
        """Read the identifier of a context's entity."""
        self._identifier_scheme = attributes.get("scheme", "")
        self.collect_text(self._set_identifier)

    def _set_identifier(self, text: str) -> None:
        text = text.strip(_SPACE)
        is_cik = self._identifier_scheme == _CIK_SCHEME and _CIK.fullmatch(text)
        self._cik = text.zfill(10) if is_cik else text

    def open_start(self, name: str, attributes: Attributes) -> None:
        """Read the first day of a period."""
        self.collect_text(self._set_start)

    def _set_start(self, text: str) -> None:
        self._start_day = self._get_day(text, is_start=True)

    def open_end(self, name: str, attributes: Attributes) -> None:
        """Read the last day of a period, or an instant."""
        self.collect_text(self._set_end)

    def _set_end(self, text: str) -> None:
        self._end_day = self._get_day(text, is_start=False)

    def _get_day(self, text: str, is_start: bool) -> str:
        day = self._days.get((text, is_start))
        if day is None:
            day = _parse_day(text.strip(_SPACE), is_start)
            if day is None:
                raise self.build_error(f"not a date: {text[:40]!r}")
            self._days[text, is_start] = day
        return day

    def open_explicit_member(self, name: str, attributes: Attributes) -> None:
        """Read a dimension whose member is a name."""
        self._axis = self._resolve_name(self.get_required(attributes, "dimension"))
        self.collect_text(self._add_explicit_member)

    def _add_explicit_member(self, text: str) -> None:
        self._dimensions.append((self._axis, self._resolve_name(text)))

    def open_typed_member(self, name: str, attributes: Attributes) -> None:
        """Read a dimension whose member is a text."""
        self._axis = self._resolve_name(self.get_required(attributes, "dimension"))
        self.collect_text(self._add_typed_member, allow_elements=True)

    def _add_typed_member(self, text: str) -> None:
        self._dimensions.append((self._axis, text.strip(_SPACE)))

    def _resolve_name(self, text: str) -> str:
        name = self.names.resolve_text(text)
        if name is None:
            raise self.build_error(f"is not a name with a declared prefix: {text[:80]!r}")
        return name

    # ---- units

    def open_unit(self, name: str, attributes: Attributes) -> None:
        """Begin a unit."""
        self._id = self._get_new_id(attributes, self.units)
        self._numerator = []
        self._denominator = []
        self._has_denominator = False
        self.open_handlers = _UNIT_HANDLERS
        self.call_on_close(self._close_unit)

    def open_denominator(self, name: str, attributes: Attributes) -> None:
        """Begin the denominator of a unit."""
        self._has_denominator = True

    def open_measure(self, name: str, attributes: Attributes) -> None:
        """Read a measure of a unit."""
        self.collect_text(self._add_measure)

    def _add_measure(self, text: str) -> None:
        measures = self._denominator if self._has_denominator else self._numerator
        measures.append(self._resolve_name(text).rpartition(":")[2])

    def _close_unit(self) -> None:
        self.open_handlers = self.outer_handlers
        if not self._numerator or bool(self._denominator) != self._has_denominator:
            raise self.build_error(f"unit {self._id[:80]!r} lacks a measure")
        unit = "*".join(self._numerator)
        if self._denominator:
            unit += "/" + "*".join(self._denominator)
        self.units[self._id] = unit


# The elements that are expected in each part of the document.
_DOCUMENT_HANDLERS: dict[str, OpenHandler] = {f"{XBRLI} xbrl": InstanceReader.open_root}
_ROOT_HANDLERS: dict[str, OpenHandler] = {
    f"{XBRLI} context": InstanceReader.open_context,
    f"{XBRLI} unit": InstanceReader.open_unit,
    f"{LINK} schemaRef": InstanceReader.open_schema_ref,
    f"{LINK} linkbaseRef": InstanceReader.open_ignored,
    f"{LINK} roleRef": InstanceReader.open_ignored,
    f"{LINK} arcroleRef": InstanceReader.open_ignored,
    f"{LINK} footnoteLink": InstanceReader.open_ignored,
}
_CONTEXT_HANDLERS: dict[str, OpenHandler] = {
    f"{XBRLI} entity": InstanceReader.open_container,
    f"{XBRLI} identifier": InstanceReader.open_identifier,
    f"{XBRLI} segment": InstanceReader.open_container,
    f"{XBRLI} scenario": InstanceReader.open_container,
    f"{XBRLI} period": InstanceReader.open_container,
    f"{XBRLI} startDate": InstanceReader.open_start,
    f"{XBRLI} endDate": InstanceReader.open_end,
    f"{XBRLI} instant": InstanceReader.open_end,
    f"{_XBRLDI} explicitMember": InstanceReader.open_explicit_member,
    f"{_XBRLDI} typedMember": InstanceReader.open_typed_member,
}
_UNIT_HANDLERS: dict[str, OpenHandler] = {
    f"{XBRLI} divide": InstanceReader.open_container,
    f"{XBRLI} unitNumerator": InstanceReader.open_container,
    f"{XBRLI} unitDenominator": InstanceReader.open_denominator,
    f"{XBRLI} measure": InstanceReader.open_measure,
}
