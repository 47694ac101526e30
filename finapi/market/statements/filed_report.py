"""A report as values: what one set of XBRL documents says, ready to be stored.

``assemble`` makes it from documents; the embedded packs are another spelling of the same values, and
``store.put`` takes both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.core.files import get_package_folder
from finapi.edgar import tickers, xbrl
from finapi.market.statements import layout, statement_kinds
from finapi.market.statements.layout import (
    AS_DATED,
    CLOSING,
    HEADING,
    ITEM,
    OPENING,
    STRUCTURE,
    Context,
    Dimensions,
    Line,
    Section,
    Sum,
)

# A presentation network that repeats a subtree can unfold without end; real sections have up to 700 lines.
MAX_SECTION_LINES = 20_000
MAX_DEPTH = 100
MAX_FILING_LINES = 100_000  # of all sections; real filings have up to 10,000
MAX_CELLS = 200_000  # lines times columns of a statement; the widest real ones have a few thousand

_YEARS = {str(year) for year in range(1900, 2201)}

_PLACEMENT = {"periodStart": OPENING, "periodEnd": CLOSING}
_STRUCTURE_NAMES = re.compile(r"(Table|Axis|Domain|Member|LineItems)$")
_HEADING_NAMES = re.compile(r"(Abstract|RollForward)$")


class Fact(NamedTuple):
    """A value as tagged, None for nil; ``context`` is an index into the report's contexts."""

    concept: str
    context: int
    unit: str
    value: str | None
    decimals: str | None


@dataclass(frozen=True, slots=True)
class Cover:
    """What the documents say of themselves (the dei elements)."""

    cik: int
    name: str
    form: str
    period_of_report: str
    fiscal_year: int | None
    fiscal_period: str | None
    tickers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One set of XBRL documents as values. ``sha256`` is over the documents' contents."""

    cover: Cover
    source: str
    sha256: bytes
    documents: int
    contexts: Sequence[Context]
    facts: Sequence[Fact]
    sections: Sequence[Section] = field(default_factory=tuple)


class Documents(NamedTuple):
    """The parsed documents of a filing; all but the instance may be missing."""

    file: str
    instance: xbrl.Instance
    schema: xbrl.Schema | None
    presentation: Mapping[str, Sequence[xbrl.PresentationArc]]
    calculation: Mapping[str, Sequence[xbrl.CalculationArc]]
    definition: Mapping[str, Sequence[xbrl.DefinitionArc]]
    labels: Mapping[str, Mapping[str, str]]


def build_report(documents: Documents, *, sha256: bytes, count: int) -> Report:
    """The report that the documents make; ParseError when they do not say whose or of when they are."""
    contexts, index_of = _merge_contexts(documents.file, documents.instance)
    facts = _merge_facts(documents.instance, index_of)
    names = _Names(documents)
    sections = _sections(documents, names)
    defaults = {
        names.concept(arc.source): names.concept(arc.target)
        for arcs in documents.definition.values()
        for arc in arcs
        if arc.arcrole == "dimension-default"
    }
    return Report(
        cover=_cover(documents, contexts, facts),
        source="xbrl",
        sha256=sha256,
        documents=count,
        contexts=contexts,
        facts=facts,
        sections=add_columns(documents.file, sections, contexts, facts, defaults),
    )


def add_columns(
    file: str,
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Sequence[Fact],
    defaults: Mapping[str, str],
) -> list[Section]:
    """The sections with the columns that their facts give them; ParseError for a wider statement than any."""
    by_concept: dict[str, list[int]] = {}
    for fact in facts:
        if fact.unit:
            by_concept.setdefault(fact.concept, []).append(fact.context)
    try:
        columns = layout.choose_columns(sections, contexts, by_concept, defaults)
    except layout.StatementTooWideError as error:
        raise ParseError(file, f"role {error}", "has more columns than any statement") from None
    for section, chosen in zip(sections, columns, strict=True):
        if len(section.lines) * len(chosen) > MAX_CELLS:
            raise ParseError(file, f"role {section.role_uri}", "has more cells than any statement")
    return [section._replace(columns=chosen) for section, chosen in zip(sections, columns, strict=True)]


@cache
def load_us_gaap_balances() -> Mapping[str, str]:
    """The balance attribute of us-gaap elements by local name; filings do not repeat the taxonomy."""
    text = (get_package_folder("finapi.market.statements") / "balances.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines() if not line.startswith("#"))


def _merge_contexts(file: str, instance: xbrl.Instance) -> tuple[list[Context], dict[str, int]]:
    """Contexts without repeats, and the index of each context id: old filings repeat one period many times."""
    contexts: list[Context] = []
    seen: dict[tuple[str | None, str, Dimensions], int] = {}
    index_of: dict[str, int] = {}
    for seq, context in enumerate(instance.contexts.values(), 1):
        for day in (context.start, context.end):
            if day is not None and day[:4] not in _YEARS:
                raise ParseError(file, f"context {context.id}", f"{day} is not in a year that a filing could cover")
        key = (context.start, context.end, context.dimensions)
        index = seen.get(key)
        if index is None:
            index = seen[key] = len(contexts)
            contexts.append(Context(seq, *key))
        index_of[context.id] = index
    return contexts, index_of


def _merge_facts(instance: xbrl.Instance, index_of: Mapping[str, int]) -> list[Fact]:
    """One fact for each concept, context and unit: a value before a nil, then the most decimals (DECISIONS 14)."""
    best: dict[tuple[str, int, str], Fact] = {}
    for concept, context, unit, decimals, value, *_ in instance.facts:
        key = (concept, index_of[context], instance.units[unit] if unit else "")
        fact = Fact(*key, value, decimals)
        other = best.get(key)
        if other is None or _precision(fact) > _precision(other):
            best[key] = fact
    return list(best.values())


def _precision(fact: Fact) -> float:
    if fact.value is None:
        return float("-inf")
    if fact.decimals is None or fact.decimals == "INF":
        return float("inf")
    return int(fact.decimals)


class _Names:
    """Concept names by element id, and what the filing's own schema says of its elements."""

    def __init__(self, documents: Documents) -> None:
        schema = documents.schema
        self._elements = schema.elements if schema else {}
        self._prefixes = documents.instance.namespaces.keys()
        self._by_id: dict[str, str] = {}
        self._balances = load_us_gaap_balances()
        # Members need not be called so: country:US is one where a context says that it is.
        self._in_contexts = {
            name for context in documents.instance.contexts.values() for pair in context.dimensions for name in pair
        }

    def concept(self, element_id: str) -> str:
        name = self._by_id.get(element_id)
        if name is None:
            name = xbrl.resolve_concept(element_id, self._prefixes, self._elements)
            self._by_id[element_id] = name
        return name

    def nature(self, element_id: str) -> int:
        if self.concept(element_id) in self._in_contexts:
            return STRUCTURE
        element = self._elements.get(element_id)
        if element is not None:
            if element.substitution in ("hypercubeItem", "dimensionItem") or element.type == "domainItemType":
                return STRUCTURE
            if element.is_abstract:
                return STRUCTURE if element_id.endswith("LineItems") else HEADING
            return ITEM
        # The standard taxonomies name their elements by what they are; a filer's schema may be missing.
        if _STRUCTURE_NAMES.search(element_id):
            return STRUCTURE
        return HEADING if _HEADING_NAMES.search(element_id) else ITEM

    def balance(self, element_id: str) -> str | None:
        element = self._elements.get(element_id)
        if element is not None:
            return element.balance
        prefix, _, local = element_id.partition("_")
        return self._balances.get(local) if prefix == "us-gaap" else None


def _sections(documents: Documents, names: _Names) -> list[Section]:
    """Every role with lines or sums, in the order of the definitions, as the SEC numbers its pages."""
    roles = dict(documents.schema.roles) if documents.schema else {}
    sections = []
    total = 0
    for role in {**documents.presentation, **documents.calculation}:
        definition = " ".join(roles.get(role, "").split())
        lines = _lines(documents, role, names)
        total += len(lines)
        if total > MAX_FILING_LINES:
            raise ParseError(documents.file, f"role {role}", "the presentation is longer than any filing's")
        sums = [
            Sum(names.concept(arc.source), names.concept(arc.target), str(arc.weight))
            for arc in sorted(documents.calculation.get(role, ()), key=lambda arc: arc.order)
        ]
        kind = statement_kinds.find_kind(role, definition, lines[0].concept.rpartition(":")[2]) if lines else None
        sections.append(Section(role, definition, kind, lines, (), sums))
    # Without definitions every key is the same and the documents' order stands: sorting is stable.
    sections.sort(key=lambda section: section.definition)
    named = statement_kinds.resolve_kinds(
        [(section.kind, {line.concept for line in section.lines}) for section in sections]
    )
    return [section._replace(kind=kind) for section, kind in zip(sections, named, strict=True)]


def _lines(documents: Documents, role: str, names: _Names) -> list[Line]:
    """The presentation tree of a role, flattened in the order in which it is read."""
    arcs = documents.presentation.get(role, ())
    children: dict[str, list[xbrl.PresentationArc]] = {}
    for arc in arcs:
        children.setdefault(arc.source, []).append(arc)
    targets = {arc.target for arc in arcs}
    for siblings in children.values():
        siblings.sort(key=lambda arc: arc.order)
    lines: list[Line] = []
    # (element, preferred label, depth shown, ancestors): a stack, because a hostile tree is deep.
    stack: list[tuple[str, str | None, int, tuple[str, ...]]] = [
        (source, None, 0, ()) for source in reversed(children) if source not in targets
    ]
    while stack:
        element, preferred, depth, above = stack.pop()
        if element in above or len(above) > MAX_DEPTH or len(lines) >= MAX_SECTION_LINES:
            reason = "repeats itself" if element in above else "is deeper or longer than any statement"
            raise ParseError(documents.file, f"role {role}", f"the presentation tree {reason} at {element}")
        below = children.get(element, ())
        line = _line(documents, names, element, preferred, depth)
        lines.append(line)
        deeper = depth if line.nature == STRUCTURE else depth + 1
        stack.extend((arc.target, arc.preferred_label, deeper, (*above, element)) for arc in reversed(below))
    return lines


def _line(documents: Documents, names: _Names, element: str, preferred: str | None, depth: int) -> Line:
    kind = xbrl.get_label_kind(preferred) if preferred else "standard"
    return Line(
        concept=names.concept(element),
        depth=depth,
        nature=names.nature(element),
        label=xbrl.find_label(documents.labels.get(element, {}), preferred),
        label_role=preferred,
        placement=_PLACEMENT.get(kind, AS_DATED),
        negated=xbrl.is_negated(preferred),
        balance=names.balance(element),
    )


def _cover(documents: Documents, contexts: Sequence[Context], facts: Collection[Fact]) -> Cover:
    said: dict[str, list[tuple[int, str]]] = {}
    for fact in facts:
        if fact.concept.startswith("dei:") and fact.value is not None:
            said.setdefault(fact.concept[4:], []).append((len(contexts[fact.context].dims), fact.value))

    def first(name: str) -> str:
        values = said.get(name)
        return " ".join(min(values)[1].split()) if values else ""

    of_contexts = next((context.cik for context in documents.instance.contexts.values()), "")
    cik = first("EntityCentralIndexKey") or of_contexts
    if not re.fullmatch(r"[0-9]{1,10}", cik):
        raise ParseError(documents.file, "dei:EntityCentralIndexKey", f"{cik[:40]!r} is not a CIK")
    if not of_contexts.isdigit() or int(of_contexts) != int(cik):
        raise ParseError(documents.file, "dei:EntityCentralIndexKey", "is not the CIK of the contexts")
    period = first("DocumentPeriodEndDate")
    if not days.is_day(period) or period[:4] not in _YEARS:
        raise ParseError(documents.file, "dei:DocumentPeriodEndDate", "the period of the report is missing")
    form = first("DocumentType")
    if not form:
        raise ParseError(documents.file, "dei:DocumentType", "the form type is missing")
    year = first("DocumentFiscalYearFocus")
    return Cover(
        cik=int(cik),
        name=first("EntityRegistrantName") or f"CIK {int(cik):010}",
        form=form,
        period_of_report=period,
        fiscal_year=int(year) if re.fullmatch(r"[0-9]{4}", year) else None,
        fiscal_period=first("DocumentFiscalPeriodFocus") or None,
        tickers=_tickers(value for _, value in sorted(said.get("TradingSymbol", ()), key=lambda pair: pair[0])),
    )


def _tickers(symbols: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for symbol in symbols:
        try:
            folded = tickers.normalise(symbol.strip())
        except ValueError:
            continue  # "N/A", "None (see below)": a cover page without a symbol
        if folded not in ("NONE", "N-A", "NA"):
            found[folded] = None
    return tuple(found)
