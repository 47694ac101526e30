"""The report of a filing in the SEC's Financial Statement Data Sets.

Compared with XBRL documents the data sets lack information, which is reconstructed here:

- Periods are rounded: an end to the nearest month end, a length to quarters. A fiscal year of 52 weeks then begins on
  another day than the balance that opens it; :func:`_align_starts` moves the start to the day after that balance.
- Nothing states which of two cash lines of a cash flow statement is the opening balance. The label decides, else the
  order of the lines (:func:`_find_placement`).
- Nothing states which dimensions a page presents. A page without any figures of the complete company shows the
  dimensions that have most of its lines (:func:`_find_page_dimensions`). Lines that exist only with dimensions, on a
  page that otherwise has none, get columns for these (:func:`_add_dimensioned_columns`).
- Some pages are unclassified ("UN"): their elements show whether they are a balance sheet or a cash flow statement.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from finapi.core import days
from finapi.edgar.statement_sets import FigureContext, Figures, PreRow, SubRow
from finapi.market.statements import filed_report, layout, statement_kinds
from finapi.market.statements.fact_sets import FSDS, SOURCE_NAMES
from finapi.market.statements.filed_report import Cover, Fact, Report
from finapi.market.statements.layout import Context, Dimensions, Line, Section

# Kinds by the column ``stmt`` of the table ``pre``; other values, such as CP (cover page), are not statements.
_KINDS_BY_STMT = {
    "BS": "balance",
    "IS": "income",
    "CF": "cash-flow",
    "EQ": "equity",
    "CI": "comprehensive-income",
    "UN": "other",
}
# Elements that show the kind of an unclassified page, if the filing has no classified page of that kind.
_BALANCE_SHEET_ELEMENTS = {"Assets", "LiabilitiesAndStockholdersEquity"}
_CASH_FLOW_PREFIX = "NetCashProvidedByUsedIn"

# The largest number of dimensions that become columns of a page.
MAX_DIMENSIONS = 12

# The start of a rounded period is wrong by a month at most.
MAX_START_ERROR_DAYS = 31

_OPENING_LABEL = re.compile(r"begin|start|opening", re.IGNORECASE)
_CLOSING_LABEL = re.compile(r"\bend|clos", re.IGNORECASE)


def build_report(
    filing: SubRow, figures: Figures, statement_lines: Sequence[PreRow], file: str, digest: bytes
) -> Report:
    """Return the report of a filing's rows. Raise ParseError if it is larger than any real filing.

    ``file`` is the path for error messages and ``digest`` the SHA-256 of the rows.
    """
    figures = _align_starts(figures, statement_lines)
    # Sorted, so that the result does not depend on the order of the rows.
    figure_contexts = sorted(figures, key=lambda context: (context[1], context[0] or "", context[2]))
    contexts = []
    facts = []
    for index, (start, end, dims) in enumerate(figure_contexts):
        contexts.append(Context(index + 1, start, end, dims))
        for (concept, unit), value in figures[start, end, dims].items():
            facts.append(Fact(concept, index, unit, value, None))
    reported = _ReportedConcepts(figures)
    sections = _build_sections(statement_lines, reported)
    sections = filed_report.add_columns(file, sections, contexts, facts, {})
    return Report(
        cover=Cover(
            cik=filing.cik,
            name=filing.name,
            form=filing.form,
            period_of_report=filing.period,
            fiscal_year=filing.fiscal_year,
            fiscal_period=filing.fiscal_period,
            tickers=(),
        ),
        source=SOURCE_NAMES[FSDS],
        sha256=digest,
        documents=0,
        contexts=contexts,
        facts=facts,
        sections=_add_dimensioned_columns(file, sections, contexts, facts, reported),
    )


# ---- Periods


def _align_starts(figures: Figures, statement_lines: Sequence[PreRow]) -> Figures:
    """Return the figures with the starts of durations moved to the day after an opening cash balance nearby.

    The data sets compute a start from the end and a length in whole quarters, which is wrong for fiscal years of 52
    weeks. The opening balance of cash is reported for the true day before the start.
    """
    opening_concepts = {
        line.concept
        for line in statement_lines
        if line.stmt == "CF" and _find_label_placement(line.label) == layout.OPENING
    }
    balance_days = []
    for (start, end, dims), context_figures in figures.items():
        if start is None and not dims and any(concept in opening_concepts for concept, _ in context_figures):
            balance_days.append(days.number(end))
    if not balance_days:
        return figures
    balance_days.sort()
    aligned_starts: dict[tuple[str | None, str], str] = {}
    for start, end, _ in figures:
        if start is None or (start, end) in aligned_starts:
            continue
        day_before = days.number(start) - 1
        first_index = bisect_left(balance_days, day_before - MAX_START_ERROR_DAYS)
        last_index = bisect_right(balance_days, day_before + MAX_START_ERROR_DAYS)
        near_days = balance_days[first_index:last_index]
        if len(near_days) == 1 and near_days[0] < days.number(end):
            aligned_starts[start, end] = days.iso(near_days[0] + 1)
    # Durations with the same end differ by whole quarters, so that two of them never get the same start.
    return {
        (aligned_starts.get((start, end), start) if start else None, end, dims): context_figures
        for (start, end, dims), context_figures in figures.items()
    }


# ---- Concepts and their dimensions


class _ReportedConcepts:
    """The concepts of a filing by the contexts and the dimensions in which they are reported."""

    def __init__(self, figures: Figures) -> None:
        self._concepts_by_context = {
            context: {concept for concept, _ in context_figures} for context, context_figures in figures.items()
        }
        # Concepts that are reported without dimensions.
        self.plain = self._collect(context for context in figures if not context[2])
        # Concepts that are reported for an instant, but for no duration.
        instants = self._collect(context for context in figures if context[0] is None)
        durations = self._collect(context for context in figures if context[0] is not None)
        self.only_instants = instants - durations
        # The concepts that are reported with each combination of dimensions.
        self.by_dimensions: dict[Dimensions, set[str]] = {}
        for (_, _, dims), concepts in self._concepts_by_context.items():
            if dims:
                self.by_dimensions.setdefault(dims, set()).update(concepts)

    def _collect(self, contexts: Iterable[FigureContext]) -> set[str]:
        concepts: set[str] = set()
        for context in contexts:
            concepts |= self._concepts_by_context[context]
        return concepts


def _find_page_dimensions(
    concepts: set[str], reported: _ReportedConcepts, *, cover_all: bool = False
) -> list[Dimensions]:
    """Return the dimensions that a page with these concepts presents, at most :data:`MAX_DIMENSIONS`.

    These are the dimensions with at least half as many of the concepts as those with the most. With ``cover_all``,
    dimensions are added until every concept is reported with at least one of them.
    """
    counts = {dims: len(reported_concepts & concepts) for dims, reported_concepts in reported.by_dimensions.items()}
    largest_count = max(counts.values(), default=0)
    candidates = [dims for dims, count in counts.items() if count]
    candidates.sort(key=lambda dims: (-counts[dims], dims))
    selected = [dims for dims in candidates if 2 * counts[dims] >= largest_count][:MAX_DIMENSIONS]
    if cover_all:
        covered_concepts: set[str] = set()
        for dims in selected:
            covered_concepts |= reported.by_dimensions[dims]
        for dims in candidates:
            new_concepts = (reported.by_dimensions[dims] & concepts) - covered_concepts
            if new_concepts and len(selected) < MAX_DIMENSIONS:
                selected.append(dims)
                covered_concepts |= reported.by_dimensions[dims]
    return selected


def _build_axis_lines(selected_dimensions: Sequence[Dimensions]) -> list[Line]:
    """Return structure lines that present dimensions: each axis with its members below it."""
    members_by_axis: dict[str, dict[str, None]] = {}
    for dims in selected_dimensions:
        for axis, member in dims:
            members_by_axis.setdefault(axis, {})[member] = None
    names = []
    for axis, members in members_by_axis.items():
        names += [axis, *members]
    return [
        Line(
            concept=name,
            depth=0,
            nature=layout.STRUCTURE,
            label=None,
            label_role=None,
            placement=layout.AT_OWN_DATE,
            negated=False,
            balance=None,
        )
        for name in names
    ]


# ---- Sections


def _build_sections(statement_lines: Sequence[PreRow], reported: _ReportedConcepts) -> list[Section]:
    """Return the pages of a filing in order, without columns.

    What a page shows in brackets under its title is a section of its own, a parenthetical one.
    """
    ordered_lines = sorted(
        statement_lines,
        key=lambda line: (line.report, line.is_parenthetical, line.line, line.label, line.concept),
    )
    classified_kinds = {_KINDS_BY_STMT.get(line.stmt) for line in statement_lines if not line.is_parenthetical}
    sections = []
    for (_, is_parenthetical), page in groupby(ordered_lines, key=lambda line: (line.report, line.is_parenthetical)):
        page_lines = list(page)
        concepts = {line.concept for line in page_lines}
        kind = _KINDS_BY_STMT.get(page_lines[0].stmt)
        if kind == "other" and not is_parenthetical:
            likely_kind = _classify_page(concepts)
            kind = "other" if likely_kind in classified_kinds else likely_kind
        if kind is not None and is_parenthetical:
            kind += statement_kinds.PARENTHETICAL_SUFFIX
        # Nothing on the page is reported for the complete company: it shows a parent company or segments.
        page_dimensions = [] if concepts & reported.plain else _find_page_dimensions(concepts, reported)
        lines = [*_build_axis_lines(page_dimensions), *_build_item_lines(page_lines, reported.only_instants)]
        sections.append(Section("", "", kind, lines, (), ()))
    return filed_report.resolve_section_kinds(sections)


def _classify_page(concepts: set[str]) -> str:
    """Return the likely kind of an unclassified page."""
    local_names = {concept.rpartition(":")[2] for concept in concepts}
    if local_names >= _BALANCE_SHEET_ELEMENTS:
        return "balance"
    return "cash-flow" if any(name.startswith(_CASH_FLOW_PREFIX) for name in local_names) else "other"


def _build_item_lines(page_lines: Sequence[PreRow], instant_concepts: set[str]) -> list[Line]:
    rows_by_concept: dict[str, list[PreRow]] = {}
    for row in page_lines:
        rows_by_concept.setdefault(row.concept, []).append(row)
    lines = []
    for row in page_lines:
        placement = layout.AT_OWN_DATE
        if row.concept in instant_concepts:
            placement = _find_placement(row, rows_by_concept[row.concept])
        lines.append(
            Line(
                concept=row.concept,
                depth=0,
                nature=layout.ITEM,
                label=row.label or None,
                label_role=None,
                placement=placement,
                negated=row.is_negated,
                balance=row.balance,
            )
        )
    return lines


def _find_placement(row: PreRow, rows_of_concept: Sequence[PreRow]) -> int:
    """Return OPENING or CLOSING for a balance that opens or closes a period, else AT_OWN_DATE.

    The label decides. Without a clear label, the first of several lines of a concept is the opening balance.
    """
    placement = _find_label_placement(row.label)
    if placement != layout.AT_OWN_DATE or len(rows_of_concept) == 1:
        return placement
    return layout.OPENING if row is rows_of_concept[0] else layout.CLOSING


@lru_cache(maxsize=20_000)
def _find_label_placement(label: str) -> int:
    if _OPENING_LABEL.search(label):
        return layout.OPENING
    return layout.CLOSING if _CLOSING_LABEL.search(label) else layout.AT_OWN_DATE


def _add_dimensioned_columns(
    file: str,
    sections: Sequence[Section],
    contexts: Sequence[Context],
    facts: Sequence[Fact],
    reported: _ReportedConcepts,
) -> list[Section]:
    """Return the sections with columns for lines that are reported only with dimensions.

    Such columns are added only for periods in which the section has a column without dimensions.
    """
    axis_lines_by_section = [_build_missing_axis_lines(section, reported) for section in sections]
    if not any(axis_lines_by_section):
        return list(sections)
    # Sections without additional lines keep the columns that they have. Their kind is set to None here, so that
    # add_columns() skips them.
    widened_sections = []
    for section, axis_lines in zip(sections, axis_lines_by_section, strict=True):
        if axis_lines:
            widened_sections.append(section._replace(lines=[*axis_lines, *section.lines]))
        else:
            widened_sections.append(section._replace(kind=None))
    widened_sections = filed_report.add_columns(file, widened_sections, contexts, facts, {})
    merged_sections = []
    for section, widened_section in zip(sections, widened_sections, strict=True):
        periods = {(column.start, column.end) for column in section.columns}
        new_columns = [
            column for column in widened_section.columns if column.dims and (column.start, column.end) in periods
        ]
        if new_columns:
            section = section._replace(lines=widened_section.lines, columns=[*section.columns, *new_columns])
        merged_sections.append(section)
    return merged_sections


def _build_missing_axis_lines(section: Section, reported: _ReportedConcepts) -> list[Line]:
    """Return the axes and members of a section's lines that are reported only with dimensions.

    The list is empty if no line or every line is like that.
    """
    concepts = {line.concept for line in section.lines if line.nature == layout.ITEM}
    dimensioned_concepts = concepts - reported.plain
    if not section.kind or dimensioned_concepts == concepts:
        return []
    return _build_axis_lines(_find_page_dimensions(dimensioned_concepts, reported, cover_all=True))
