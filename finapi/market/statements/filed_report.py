"""A report: everything that a filing's XBRL documents state, as Python values ready to be stored.

:func:`build_report` builds a report from parsed XBRL documents: it merges repeated contexts and facts, flattens each
presentation tree into lines, finds the kind of each section (``statement_kinds.py``) and chooses the columns of the
statements (``layout.py``). ``statement_set_report.py`` builds the same values from the SEC's data sets, and the demo
data contain them in another form. ``report_store.py`` stores them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.core.files import get_package_folder
from finapi.edgar import tickers, xbrl
from finapi.market.documents.families import UnreadDocumentError
from finapi.market.statements import layout, statement_kinds
from finapi.market.statements.layout import (
    AT_OWN_DATE,
    CLOSING,
    HEADING,
    ITEM,
    OPENING,
    STRUCTURE,
    CalculationTerm,
    Context,
    Dimensions,
    Line,
    Section,
)

# A presentation tree that repeats a subtree can unfold without end; real sections have up to 700 lines.
MAX_SECTION_LINES = 20_000
MAX_DEPTH = 100
# Lines of all sections together; real filings have up to 10,000.
MAX_FILING_LINES = 100_000
# Lines times columns of a statement; the widest real ones have a few thousand.
MAX_CELLS = 200_000
# Values stored in addition to that of a fact which a filing states several times.
MAX_CONFLICTING_VALUES = 10

_YEARS = {str(year) for year in range(1900, 2201)}

# EDGAR gives such an id to an element without one, but only in the extracted instance and not on the page.
_GENERATED_ID = re.compile(r"ixv-[0-9]+")

_PLACEMENTS_BY_LABEL = {"periodStart": OPENING, "periodEnd": CLOSING}
_STRUCTURE_NAMES = re.compile(r"(Table|Axis|Domain|Member|LineItems)$")
_HEADING_NAMES = re.compile(r"(Abstract|RollForward)$")


class Fact(NamedTuple):
    """A value as tagged, None for nil; ``context`` is an index into the report's contexts.

    In an inline filing ``element_id`` is the id of the element that states the fact, if it has one, and ``page`` the
    index of its page in the report's pages.
    """

    concept: str
    context: int
    unit: str
    value: str | None
    decimals: str | None
    element_id: str | None = None
    page: int = 0


class FactConflict(NamedTuple):
    """A further value that a filing states for a fact with the same precision. ``fact`` is an index in its facts."""

    fact: int
    value: str


@dataclass(frozen=True, slots=True)
class Cover:
    """The cover page of a filing: what the documents state about themselves (the dei elements)."""

    cik: int
    name: str
    form: str
    period_of_report: str
    fiscal_year: int | None
    fiscal_period: str | None
    tickers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A filing's XBRL documents as values.

    ``source`` is a member of ``SOURCE_NAMES``, ``documents`` the number of documents, and ``sha256`` the hash of their
    contents. ``pages`` are the file names of the inline pages, none if the filing is not inline. ``notes`` are remarks
    for the operator about oddities of the documents. They are not stored. ``conflicts`` are in the order of the
    document.
    """

    cover: Cover
    source: str
    sha256: bytes
    documents: int
    contexts: Sequence[Context]
    facts: Sequence[Fact]
    sections: Sequence[Section] = field(default_factory=tuple)
    pages: Sequence[str] = ()
    notes: Sequence[str] = ()
    conflicts: Sequence[FactConflict] = ()


class Documents(NamedTuple):
    """The parsed documents of a filing; all but the instance may be missing.

    ``pages`` are the file names of the inline pages that the instance is taken from.
    """

    file: str
    instance: xbrl.Instance
    pages: Sequence[str]
    schema: xbrl.Schema | None
    presentation: Mapping[str, Sequence[xbrl.PresentationArc]]
    calculation: Mapping[str, Sequence[xbrl.CalculationArc]]
    definition: Mapping[str, Sequence[xbrl.DefinitionArc]]
    labels: Mapping[str, Mapping[str, str]]


def build_report(documents: Documents, *, sha256: bytes, count: int) -> Report:
    """Return the report of a filing's documents.

    Raise ParseError if they do not state their company, period or form, or are larger than any filing.
    """
    contexts, context_indexes = _merge_contexts(documents.file, documents.instance)
    facts, conflicts = _merge_facts(documents.instance, context_indexes, has_elements=bool(documents.pages))
    elements = _FilingElements(documents)
    sections = _build_sections(documents, elements)
    default_members = {}
    for arcs in documents.definition.values():
        for arc in arcs:
            if arc.arcrole == "dimension-default":
                default_members[elements.get_concept(arc.source)] = elements.get_concept(arc.target)
    return Report(
        cover=_build_cover(documents, contexts, facts),
        source="xbrl",
        sha256=sha256,
        documents=count,
        contexts=contexts,
        facts=facts,
        sections=add_columns(documents.file, sections, contexts, facts, default_members),
        pages=documents.pages,
        conflicts=conflicts,
    )


def add_columns(
    file: str,
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Sequence[Fact],
    defaults: Mapping[str, str],
) -> list[Section]:
    """Return the sections with their columns. Raise ParseError for a statement that is wider than any real one.

    ``defaults`` has the default member of each axis that states one.
    """
    contexts_by_concept: dict[str, list[int]] = {}
    for fact in facts:
        if fact.unit:
            contexts_by_concept.setdefault(fact.concept, []).append(fact.context)
    try:
        columns_by_section = layout.choose_columns(sections, contexts, contexts_by_concept, defaults)
    except layout.StatementTooWideError as error:
        raise ParseError(file, f"role {error}", "has more columns than any real statement") from None
    sections_with_columns = []
    for section, columns in zip(sections, columns_by_section, strict=True):
        if len(section.lines) * len(columns) > MAX_CELLS:
            raise ParseError(file, f"role {section.role_uri}", "has more cells than any real statement")
        sections_with_columns.append(section._replace(columns=columns))
    return sections_with_columns


@cache
def load_us_gaap_balances() -> Mapping[str, str]:
    """Return the balance (debit or credit) of us-gaap elements by local name; filings do not repeat the taxonomy."""
    text = (get_package_folder("finapi.market.statements") / "balances.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t") for line in text.splitlines() if not line.startswith("#"))


def _merge_contexts(file: str, instance: xbrl.Instance) -> tuple[list[Context], dict[str, int]]:
    """Return the distinct contexts, and the index of each context id: old filings repeat a period many times."""
    contexts: list[Context] = []
    indexes_by_content: dict[tuple[str | None, str, Dimensions], int] = {}
    indexes_by_id: dict[str, int] = {}
    for seq, context in enumerate(instance.contexts.values(), 1):
        for day in (context.start, context.end):
            if day is not None and day[:4] not in _YEARS:
                raise ParseError(file, f"context {context.id}", f"{day} is not in a year that a filing could cover")
        content = (context.start, context.end, context.dimensions)
        index = indexes_by_content.get(content)
        if index is None:
            index = len(contexts)
            indexes_by_content[content] = index
            contexts.append(Context(seq, context.start, context.end, context.dimensions))
        indexes_by_id[context.id] = index
    return contexts, indexes_by_id


def _merge_facts(
    instance: xbrl.Instance, context_indexes: Mapping[str, int], *, has_elements: bool
) -> tuple[list[Fact], list[FactConflict]]:
    """Return one fact for each concept, context and unit, and the values that conflict with it.

    Values come before nil, then the most decimals count (DECISIONS 14). Two numbers conflict if they are different and
    have the same precision. Of these the first one is the fact.
    """
    best_facts: dict[tuple[str, int, str], Fact] = {}
    other_values: dict[tuple[str, int, str], list[str]] = {}
    for concept, context_id, unit_id, decimals, value, _, element_id, page in instance.facts:
        context = context_indexes[context_id]
        unit = instance.units[unit_id] if unit_id else ""
        if element_id is not None and (not has_elements or _GENERATED_ID.fullmatch(element_id)):
            element_id = None
        fact = Fact(concept, context, unit, value, decimals, element_id, page)
        key = (concept, context, unit)
        best_fact = best_facts.get(key)
        if best_fact is None or _get_precision(fact) > _get_precision(best_fact):
            best_facts[key] = fact
            other_values.pop(key, None)
        elif value != best_fact.value and unit and _is_conflict(fact, best_fact, other_values.get(key, ())):
            other_values.setdefault(key, []).append(value or "")
    conflicts = []
    if other_values:
        for index, key in enumerate(best_facts):
            conflicts += [FactConflict(index, value) for value in other_values.get(key, ())]
    return list(best_facts.values()), conflicts


def _is_conflict(fact: Fact, best_fact: Fact, other_values: Sequence[str]) -> bool:
    """Return True if a number is as precise as the one chosen and is not equal to it or to one of the others."""
    if fact.value is None or best_fact.value is None or len(other_values) == MAX_CONFLICTING_VALUES:
        return False
    if _get_precision(fact) != _get_precision(best_fact):
        return False
    return all(Decimal(fact.value) != Decimal(text) for text in (best_fact.value, *other_values))


def _get_precision(fact: Fact) -> float:
    if fact.value is None:
        return float("-inf")
    if fact.decimals is None or fact.decimals == "INF":
        return float("inf")
    return int(fact.decimals)


class _FilingElements:
    """The elements of a filing by their ids: concept name, nature and balance."""

    def __init__(self, documents: Documents) -> None:
        schema = documents.schema
        self._schema_elements = schema.elements if schema else {}
        self._prefixes = documents.instance.namespaces.keys()
        self._concepts: dict[str, str] = {}
        self._us_gaap_balances = load_us_gaap_balances()
        # The name of a member need not end in "Member": country:US is a member if a context has it.
        self._dimension_names: set[str] = set()
        for context in documents.instance.contexts.values():
            for axis, member in context.dimensions:
                self._dimension_names.update((axis, member))

    def get_concept(self, element_id: str) -> str:
        """Return the concept (``us-gaap:Assets``) of an element id (``us-gaap_Assets``)."""
        concept = self._concepts.get(element_id)
        if concept is None:
            concept = xbrl.resolve_concept(element_id, self._prefixes, self._schema_elements)
            self._concepts[element_id] = concept
        return concept

    def get_nature(self, element_id: str) -> int:
        """Return ITEM, HEADING or STRUCTURE."""
        if self.get_concept(element_id) in self._dimension_names:
            return STRUCTURE
        element = self._schema_elements.get(element_id)
        if element is not None:
            if element.substitution in ("hypercubeItem", "dimensionItem") or element.type == "domainItemType":
                return STRUCTURE
            if element.is_abstract:
                return STRUCTURE if element_id.endswith("LineItems") else HEADING
            return ITEM
        # Standard taxonomies are not part of the filing, and its own schema may be missing: use naming conventions.
        if _STRUCTURE_NAMES.search(element_id):
            return STRUCTURE
        return HEADING if _HEADING_NAMES.search(element_id) else ITEM

    def find_balance(self, element_id: str) -> str | None:
        """Return ``debit`` or ``credit``, or None if the element has no balance."""
        element = self._schema_elements.get(element_id)
        if element is not None:
            return element.balance
        prefix, _, local_name = element_id.partition("_")
        return self._us_gaap_balances.get(local_name) if prefix == "us-gaap" else None


def _build_sections(documents: Documents, elements: _FilingElements) -> list[Section]:
    """Return every role with lines or sums, in the order of the definitions, which is that of the SEC's pages."""
    definitions = dict(documents.schema.roles) if documents.schema else {}
    sections = []
    line_count = 0
    for role in {**documents.presentation, **documents.calculation}:
        definition = " ".join(definitions.get(role, "").split())
        lines = _build_lines(documents, role, elements)
        line_count += len(lines)
        if line_count > MAX_FILING_LINES:
            raise ParseError(documents.file, f"role {role}", "the presentation is longer than that of any real filing")
        sums = [
            CalculationTerm(elements.get_concept(arc.source), elements.get_concept(arc.target), str(arc.weight))
            for arc in sorted(documents.calculation.get(role, ()), key=lambda arc: arc.order)
        ]
        kind = None
        if lines:
            root = lines[0].concept.rpartition(":")[2]
            kind = statement_kinds.find_kind(role, definition, root)
        sections.append(Section(role, definition, kind, lines, (), sums))
    # Without definitions all keys are equal. Sorting is stable, so the sections then keep the order of the documents.
    sections.sort(key=lambda section: section.definition)
    return resolve_section_kinds(sections)


def resolve_section_kinds(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with their final kinds, which depend on all sections of the filing."""
    concepts_by_section = [{line.concept for line in section.lines} for section in sections]
    kinds = [section.kind for section in sections]
    resolved_kinds = statement_kinds.resolve_kinds(list(zip(kinds, concepts_by_section, strict=True)))
    return [section._replace(kind=kind) for section, kind in zip(sections, resolved_kinds, strict=True)]


class _Node(NamedTuple):
    """A node of a presentation tree that is still to be visited."""

    element_id: str
    preferred_label: str | None
    depth: int
    ancestors: tuple[str, ...]


def _build_lines(documents: Documents, role: str, elements: _FilingElements) -> list[Line]:
    """Return the lines of a role: its presentation tree, flattened in reading order.

    Raise ParseError if the tree contains itself or is deeper or longer than any real statement.
    """
    arcs = documents.presentation.get(role, ())
    arcs_by_parent: dict[str, list[xbrl.PresentationArc]] = {}
    for arc in arcs:
        arcs_by_parent.setdefault(arc.source, []).append(arc)
    children = {arc.target for arc in arcs}
    for siblings in arcs_by_parent.values():
        siblings.sort(key=lambda arc: arc.order)
    lines: list[Line] = []
    # The nodes are visited with a stack, not by recursion, because a hostile tree may be deep.
    roots = [parent for parent in arcs_by_parent if parent not in children]
    stack = [_Node(root, None, 0, ()) for root in reversed(roots)]
    while stack:
        node = stack.pop()
        is_circular = node.element_id in node.ancestors
        if is_circular or len(node.ancestors) > MAX_DEPTH or len(lines) >= MAX_SECTION_LINES:
            reason = "repeats itself" if is_circular else "is deeper or longer than any real statement"
            raise ParseError(documents.file, f"role {role}", f"the presentation tree {reason} at {node.element_id}")
        line = _build_line(documents, elements, node)
        lines.append(line)
        # Axes and members are not shown, so they do not indent the lines below them.
        child_depth = node.depth if line.nature == STRUCTURE else node.depth + 1
        ancestors = (*node.ancestors, node.element_id)
        for arc in reversed(arcs_by_parent.get(node.element_id, ())):
            stack.append(_Node(arc.target, arc.preferred_label, child_depth, ancestors))
    return lines


def _build_line(documents: Documents, elements: _FilingElements, node: _Node) -> Line:
    label_kind = xbrl.get_label_kind(node.preferred_label) if node.preferred_label else "standard"
    return Line(
        concept=elements.get_concept(node.element_id),
        depth=node.depth,
        nature=elements.get_nature(node.element_id),
        label=xbrl.find_label(documents.labels.get(node.element_id, {}), node.preferred_label),
        label_role=node.preferred_label,
        placement=_PLACEMENTS_BY_LABEL.get(label_kind, AT_OWN_DATE),
        negated=xbrl.is_negated(node.preferred_label),
        balance=elements.find_balance(node.element_id),
    )


def _build_cover(documents: Documents, contexts: Sequence[Context], facts: Collection[Fact]) -> Cover:
    """Return the cover page. Raise ParseError if CIK, period or form are missing or invalid.

    The error is an UnreadDocumentError if there is no period. Fee exhibits, proxy statements and registrations of
    shares have XBRL, but are not reports of a period.
    """
    # The values of each dei element with the number of their dimensions.
    cover_values: dict[str, list[tuple[int, str]]] = {}
    for fact in facts:
        if fact.concept.startswith("dei:") and fact.value is not None:
            dimension_count = len(contexts[fact.context].dims)
            cover_values.setdefault(fact.concept.removeprefix("dei:"), []).append((dimension_count, fact.value))

    def find_value(name: str) -> str:
        """Return the value with the fewest dimensions, or "" if there is none."""
        values = cover_values.get(name)
        return " ".join(min(values)[1].split()) if values else ""

    context_cik = next((context.cik for context in documents.instance.contexts.values()), "")
    cik = find_value("EntityCentralIndexKey") or context_cik
    if not re.fullmatch(r"[0-9]{1,10}", cik):
        raise ParseError(documents.file, "dei:EntityCentralIndexKey", f"{cik[:40]!r} is not a CIK")
    if not context_cik.isdigit() or int(context_cik) != int(cik):
        raise ParseError(documents.file, "dei:EntityCentralIndexKey", "is not the CIK of the contexts")
    period = find_value("DocumentPeriodEndDate")
    if not period:
        raise UnreadDocumentError(documents.file, "dei:DocumentPeriodEndDate", "the period of the report is missing")
    if not days.is_day(period) or period[:4] not in _YEARS:
        reason = f"the period of the report, {period[:40]!r}, is not a day of the years 1900 to 2200"
        raise ParseError(documents.file, "dei:DocumentPeriodEndDate", reason)
    form = find_value("DocumentType")
    if not form:
        raise ParseError(documents.file, "dei:DocumentType", "the form type is missing")
    fiscal_year = find_value("DocumentFiscalYearFocus")
    # Not sorted by value: among symbols with the same number of dimensions the document's order counts.
    symbols = sorted(cover_values.get("TradingSymbol", ()), key=lambda pair: pair[0])
    return Cover(
        cik=int(cik),
        name=find_value("EntityRegistrantName") or f"CIK {int(cik):010}",
        form=form,
        period_of_report=period,
        fiscal_year=int(fiscal_year) if re.fullmatch(r"[0-9]{4}", fiscal_year) else None,
        fiscal_period=find_value("DocumentFiscalPeriodFocus") or None,
        tickers=_normalise_tickers(symbol for _, symbol in symbols),
    )


def _normalise_tickers(symbols: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct tickers of a cover page, without texts such as "N/A" and "None (see below)"."""
    distinct_tickers: dict[str, None] = {}
    for symbol in symbols:
        distinct_tickers.update(dict.fromkeys(tickers.parse_symbols(symbol)))
    return tuple(distinct_tickers)
