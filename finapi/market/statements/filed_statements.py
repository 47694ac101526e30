"""Statements as filed: the stored sections of a report, read and arranged as the filing presents them (DECISIONS 6).

Reading has two steps. :func:`find_reports` chooses the reports for a period, the latest or the original first.
:func:`read_statements` then builds the statements of one report, and :func:`read_period_statements` those of a period,
of which an amendment may have replaced a few. Both use stored lines, columns and facts: they put the value of each line
into the columns (which ``layout.py`` chose when the report was stored), and mark the cells that have none. Nothing is
parsed here.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.core.days import shift
from finapi.core.records import Date, Url, build_record
from finapi.market.documents.metadata import is_unfiled
from finapi.market.statements import fact_links, layout, statement_kinds
from finapi.market.statements.fact_links import FactLink
from finapi.market.statements.fact_sets import FSDS, SOURCE_NAMES
from finapi.market.statements.filed_facts import Decimals
from finapi.store.db import Row, Transaction

# The version of the rules that choose a report and arrange a statement. It is increased with each change of the rules,
# so that clients can tell which rules an answer follows.
ENGINE_VERSION = 1

# The forms of an annual (A) or quarterly (Q) period, with amendments and transition reports (DECISIONS 6).
FORMS_BY_PERIOD = {
    "A": ("10-K", "10-K/A", "10-KT", "10-KT/A", "10-K405", "10-K405/A", "20-F", "20-F/A", "40-F", "40-F/A"),
    "Q": ("10-Q", "10-Q/A", "10-QT", "10-QT/A"),
}


class CellMark(TypedDict):
    """The reason why a cell has no value."""

    status: Literal["absent", "nil"]
    reason: str


NOT_REPORTED: CellMark = {"status": "absent", "reason": "not_reported"}
REPORTED_NIL: CellMark = {"status": "nil", "reason": "reported_nil"}


class FiledReport(NamedTuple):
    """A stored report. ``filed_at`` is None if the filing day is not known."""

    id: int
    cik: int
    accession: str
    filed_at: str | None
    form_type: str
    period_of_report: str
    fiscal_year: int | None
    fiscal_period: str | None
    source: str
    # The file names of the inline pages.
    pages: tuple[str, ...]


class StatementColumn(TypedDict):
    """A column: a period, which is an instant (I) or a duration (D), and dimensions."""

    context_seq: int
    period_type: Literal["D", "I"]
    start_date: Date | None
    end_date: Date
    dims: dict[str, str] | None


class StatementRow(TypedDict):
    """A line with its value in each column. A mark says why a value is missing.

    In an inline filing ``fact_ids`` are the ids of the elements that state the values, and ``ink_urls`` show them in
    the SEC's viewer. Both are null for a value without an element, as in all filings before inline XBRL. If the filing
    states a value several times, with different numbers of the same precision, ``conflicting_values`` has the other
    numbers of each column, or null for a column without any.
    """

    concept: str
    label: str | None
    depth: int
    balance: Literal["debit", "credit"] | None
    preferred_label: str | None
    negated: bool
    abstract: bool
    unit: str | None
    decimals: Decimals
    values: list[str | None]
    marks: list[CellMark | None]
    fact_ids: Annotated[list[str | None], "Ids of the elements that state the values on an inline page."]
    ink_urls: Annotated[list[Url | None], "The printed values in the SEC's viewer."]
    conflicting_values: NotRequired[
        Annotated[list[list[str] | None], "Other numbers that the filing states for the same value."]
    ]


class FiledStatement(TypedDict):
    """A statement as it was filed, with its filing. ``filed_at`` is null if the filing day is not known.

    ``page_url`` with the anchor ``#line-3-column-1`` opens the page at the value in the third row and the first column,
    and highlights it. It is null for a statement with dimensions and for a document without an accession number, which
    have no page.
    """

    accession: Annotated[str, "The filing that this statement is from."]
    form_type: str
    filed_at: Date | None
    slot: str
    role_uri: str | None
    definition: str | None
    page_url: Annotated[str | None, "The path of the statement's page here."]
    columns: list[StatementColumn]
    rows: list[StatementRow]


class AbsentStatement(TypedDict):
    """The reason why a requested statement is missing."""

    statement: str
    status: Literal["absent"]
    reason: str


# ---- Choosing a report


def find_reports(
    tx: Transaction,
    cik: int,
    *,
    period: str,
    form: str | None = None,
    year: int | None = None,
    as_of: str | None = None,
    basis: str = "latest",
) -> list[FiledReport]:
    """Return the reports for the latest period that matches (see :func:`list_reports_by_period`)."""
    periods = list_reports_by_period(tx, cik, 1, period=period, form=form, year=year, as_of=as_of, basis=basis)
    return periods[0] if periods else []


def list_reports_by_period(
    tx: Transaction,
    cik: int,
    limit: int,
    *,
    period: str,
    form: str | None = None,
    year: int | None = None,
    as_of: str | None = None,
    basis: str = "latest",
) -> list[list[FiledReport]]:
    """Return the reports with statements for the latest periods, a list for each period, newest period first.

    ``period`` is a key of :data:`FORMS_BY_PERIOD`; ``form`` selects one of its forms. ``year`` is the fiscal year as a
    company names it. ``as_of`` (ISO date) ignores later filings. Of the reports for one period, the one that counts
    comes first: the last one for the ``basis`` ``latest``, the first one for ``original``.
    """
    forms = [name for name in FORMS_BY_PERIOD[period] if form is None or name == form.upper()]
    rows = tx.list_rows(
        "reports_of_latest_periods", cik=cik, forms=json.dumps(forms), year=year, as_of=as_of, basis=basis, limit=limit
    )
    return [
        [_build_report(row) for row in period_rows] for _, period_rows in groupby(rows, key=itemgetter("month_end"))
    ]


def find_report_by_accession(tx: Transaction, accession: str) -> FiledReport | None:
    """Return the report of an accession number (with dashes, or ``unfiled-...``), or None."""
    row = tx.find_row("report_of_filing", accession=accession)
    return None if row is None else _build_report(row)


def _build_report(row: Row) -> FiledReport:
    return FiledReport(
        id=row["id"],
        cik=row["cik"],
        accession=row["accession"],
        filed_at=row["filed_at"],
        form_type=row["form_type"],
        period_of_report=row["period_of_report"],
        fiscal_year=row["fiscal_year"],
        fiscal_period=row["fiscal_period"],
        source=row["source"],
        pages=tuple(json.loads(row["pages"])),
    )


def list_stored_periods(tx: Transaction, cik: int) -> list[dict[str, str]]:
    """Return form type and period of a company's reports with statements, newest first, at most 20."""
    return [dict(row) for row in tx.list_rows("stored_periods", cik=cik)]


# ---- Reading its statements


class _ReadOptions(NamedTuple):
    """Parameters of the queries for a report's columns and facts."""

    report_id: int
    # True to read columns with any dimensions, not only those of the complete company.
    dimensioned: bool
    # The id of the dimension that stands for the complete company; 0 if the report has facts without dimensions.
    consolidated_dimension_id: int
    # True to return a line even if none of its facts belongs to a column.
    keep_all_lines: bool

    def build_params(self, section_id: int) -> dict[str, Any]:
        """Return the query parameters for a section."""
        return {
            "report_id": self.report_id,
            "dimensioned": self.dimensioned,
            "whole": self.consolidated_dimension_id,
            "section_id": section_id,
        }


class _StatementSection(NamedTuple):
    """A section that is a statement. It has no columns if the filing has no figures for it."""

    report: FiledReport
    id: int
    number: int  # The position in the report.
    role_uri: str
    definition: str
    kind: str
    has_columns: bool

    @property
    def role_name(self) -> str:
        """The last part of the role's URI, which a filer keeps when it amends a statement."""
        return self.role_uri.rstrip("/").rpartition("/")[2].lower()


class PeriodStatements(NamedTuple):
    """The statements for a period by kind, and the missing ones with the reason.

    ``report`` is the report that counts most among those with a statement in the answer.
    """

    report: FiledReport
    statements: dict[str, FiledStatement]
    absent: list[AbsentStatement]


def read_statements(
    tx: Transaction, report: FiledReport, requested_kinds: Sequence[str] = (), *, consolidated_only: bool = True
) -> tuple[dict[str, FiledStatement], list[AbsentStatement]]:
    """Return the statements of a report by kind, in the filing's order, and the missing ones with the reason.

    If ``requested_kinds`` is empty, all statements are returned. The second statement of a kind has the key
    ``income-2``.
    """
    answer = read_period_statements(tx, [report], requested_kinds, consolidated_only=consolidated_only)
    return answer.statements, answer.absent


def read_period_statements(
    tx: Transaction,
    reports: Sequence[FiledReport],
    requested_kinds: Sequence[str] = (),
    *,
    consolidated_only: bool = True,
) -> PeriodStatements:
    """Return the statements for a period from all of its reports, the one that counts most first.

    A report replaces the statements that it has; all others stay those of the reports after it. So an amendment with
    only a balance sheet replaces the balance sheet. ``requested_kinds`` and the keys are as in :func:`read_statements`.
    """
    sections_by_report = [_list_sections(tx, report, requested_kinds) for report in reports]
    statements: dict[str, FiledStatement] = {}
    # The reason why a kind is missing, for each kind of which the filings have a section.
    reasons = {section.kind: "no_figures_in_filing" for sections in sections_by_report for section in sections}
    used_reports: set[FiledReport] = set()
    options_by_report: dict[int, _ReadOptions] = {}
    counts_by_kind: Counter[str] = Counter()
    for section in _combine_sections(sections_by_report):
        report = section.report
        if report.id not in options_by_report:
            options_by_report[report.id] = _build_read_options(tx, report, consolidated_only=consolidated_only)
        kind = section.kind
        statement = _build_statement(tx, section, options_by_report[report.id])
        if statement["rows"]:
            used_reports.add(report)
            counts_by_kind[kind] += 1
            number = counts_by_kind[kind]
            statements[kind if number == 1 else f"{kind}-{number}"] = statement
        else:
            reasons[kind] = "only_with_dimensions"
    for kind in requested_kinds:
        reasons.setdefault(kind, "not_in_filing")
    absent_statements: list[AbsentStatement] = [
        {"statement": kind, "status": "absent", "reason": reason}
        for kind, reason in reasons.items()
        if kind not in statements
    ]
    main_report = next((report for report in reports if report in used_reports), reports[0])
    return PeriodStatements(main_report, statements, absent_statements)


def _list_sections(tx: Transaction, report: FiledReport, requested_kinds: Sequence[str]) -> list[_StatementSection]:
    """Return the sections of a report that are statements of these kinds (of any kind if empty), in their order."""
    return [
        _StatementSection(
            report=report,
            id=row["id"],
            number=row["seq"],
            role_uri=row["role_uri"],
            definition=row["definition"],
            kind=row["kind"],
            has_columns=bool(row["has_columns"]),
        )
        for row in tx.list_rows("statement_sections", report_id=report.id)
        if not requested_kinds or row["kind"] in requested_kinds
    ]


def _combine_sections(sections_by_report: Sequence[Sequence[_StatementSection]]) -> list[_StatementSection]:
    """Return the sections with figures that count for a period. The first report counts most.

    They are in the order of the report that has most of them. Sections that this report does not have follow.
    """
    filled_sections = [[section for section in sections if section.has_columns] for sections in sections_by_report]
    fullest_index = max(range(len(filled_sections)), key=lambda index: len(filled_sections[index]))
    combined = list(filled_sections[fullest_index])
    for sections in reversed(filled_sections):
        for kind in dict.fromkeys(section.kind for section in sections):
            _replace_sections(combined, [section for section in sections if section.kind == kind])
    return combined


def _replace_sections(combined: list[_StatementSection], sections: Sequence[_StatementSection]) -> None:
    """Replace the sections that a report states again, and append those that are new. All of them have one kind.

    Sections of a kind correspond if their roles have the same name. If none does, they correspond in their order,
    because another agent may have given all roles new names.
    """
    positions = [position for position, section in enumerate(combined) if section.kind == sections[0].kind]
    names = {section.role_name for section in sections}
    has_common_name = any(combined[position].role_name in names for position in positions)
    for section in sections:
        position = _find_position(combined, positions, section.role_name if has_common_name else None)
        if position is None:
            combined.append(section)
        else:
            positions.remove(position)
            combined[position] = section


def _find_position(
    combined: Sequence[_StatementSection], positions: Sequence[int], role_name: str | None
) -> int | None:
    """Return the first of the positions, or the first whose section has the role name if it is not None."""
    for position in positions:
        if role_name is None or combined[position].role_name == role_name:
            return position
    return None


def _build_read_options(tx: Transaction, report: FiledReport, *, consolidated_only: bool) -> _ReadOptions:
    return _ReadOptions(
        report_id=report.id,
        dimensioned=not consolidated_only,
        consolidated_dimension_id=tx.find_value("consolidated_dimension", report_id=report.id) or 0,
        # The data sets do not state which periods and members a statement presents, so a column may be missing.
        keep_all_lines=report.source == SOURCE_NAMES[FSDS] and not consolidated_only,
    )


def find_consolidated_dimension(tx: Transaction, report: FiledReport) -> dict[str, str] | None:
    """Return {axis: member} under which a report shows the complete company, or None if it needs no dimension."""
    row = tx.find_row("consolidated_dimension", report_id=report.id)
    return None if row is None else json.loads(row["members"])


def _build_statement(tx: Transaction, section: _StatementSection, options: _ReadOptions) -> FiledStatement:
    params = options.build_params(section.id)
    column_rows = tx.list_rows("statement_columns", params)
    facts = _SectionFacts(tx.list_rows("statement_facts", params), tx.list_rows("conflicts_of_statement", params))
    rows: list[StatementRow] = []
    for line in tx.list_rows("statement_lines", section_id=section.id):
        if line["nature"] == layout.HEADING:
            rows.append(_build_heading(line))
        else:
            rows += _build_item_rows(section.report, line, column_rows, facts, keep_all_lines=options.keep_all_lines)
    columns = [
        build_record(StatementColumn, column, dims=json.loads(column["members"]) or None) for column in column_rows
    ]
    page_url = None if options.dimensioned else find_page_url(section.report.accession, section.number)
    return {
        "accession": section.report.accession,
        "form_type": section.report.form_type,
        "filed_at": section.report.filed_at,
        "slot": statement_kinds.get_slot(section.kind),
        "role_uri": section.role_uri or None,
        "definition": section.definition or None,
        "page_url": page_url,
        "columns": columns,
        "rows": _remove_empty_headings(rows),
    }


def find_page_url(accession: str, section_number: int) -> str | None:
    """Return the path of the page of a statement, or None for a document without an accession number."""
    return None if is_unfiled(accession) else f"/filing/{accession}?section={section_number}"


def build_cell_anchor(line_number: int, column_number: int) -> str:
    """Return the id of a cell on the page of its statement. Both numbers start at 1 and count all rows and columns."""
    return f"line-{line_number}-column-{column_number}"


def find_cell_url(page_url: str | None, line_number: int, column_number: int) -> str | None:
    """Return the path of a statement's page at a cell, or None if the statement has no page."""
    return None if page_url is None else f"{page_url}#{build_cell_anchor(line_number, column_number)}"


class _SectionFacts:
    """The facts of a section, found by concept, period and dimensions."""

    def __init__(self, rows: Sequence[Row], conflict_rows: Sequence[Row]) -> None:
        # Further values of facts, by the members of their rows.
        self._conflicting_values: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for row in conflict_rows:
            self._conflicting_values[_get_fact_key(row)].append(row["value"])
        self._facts_by_unit: dict[tuple[int, str | None, str, int], dict[str, Row]] = {}
        # The units in which each concept is reported anywhere in the section, as the keys of a dict.
        self.units: dict[int, dict[str, None]] = defaultdict(dict)
        for row in rows:
            key = (row["concept_id"], row["start_date"], row["end_date"], row["dimension_id"])
            self._facts_by_unit.setdefault(key, {})[row["unit"]] = row
            self.units[row["concept_id"]][row["unit"]] = None
        self._facts_by_end = {
            (concept_id, end, dimension_id): facts
            for (concept_id, _, end, dimension_id), facts in self._facts_by_unit.items()
        }

    def find_conflicting_values(self, fact: Row | None) -> list[str] | None:
        """Return the further values that the filing states for a fact, or None if there are none."""
        if fact is None or not self._conflicting_values:
            return None
        return self._conflicting_values.get(_get_fact_key(fact))

    def get_cell(self, line: Row, column: Row) -> Mapping[str, Row]:
        """Return the facts of a line in a column by unit; the mapping is empty if nothing is reported there."""
        concept_id = line["concept_id"]
        dimension_id = column["dimension_id"]
        start = column["start_date"]
        end = column["end_date"]
        if line["placement"] == layout.OPENING and start is not None:
            return self._facts_by_unit.get((concept_id, None, shift(start, -1), dimension_id), {})
        if start is not None:
            facts = self._facts_by_unit.get((concept_id, start, end, dimension_id))
            if facts:
                return facts
        instant_facts = self._facts_by_unit.get((concept_id, None, end, dimension_id))
        if instant_facts is None and start is None:
            # In a balance sheet, a fact tagged with a duration belongs to the duration's end (layout rule 3).
            instant_facts = self._facts_by_end.get((concept_id, end, dimension_id))
        return instant_facts or {}


def _get_fact_key(row: Row) -> tuple[Any, ...]:
    """Return the members that identify a fact of a report."""
    return row["concept_id"], row["start_date"], row["end_date"], row["dimension_id"], row["unit"]


def _build_item_rows(
    report: FiledReport, line: Row, columns: Sequence[Row], facts: _SectionFacts, *, keep_all_lines: bool
) -> list[StatementRow]:
    """Return the rows of a line: one for each unit in which it is reported in the columns.

    With ``keep_all_lines`` a line whose facts are in none of the columns becomes a row without values.
    """
    cells_by_unit = [facts.get_cell(line, column) for column in columns]
    units = dict.fromkeys(unit for cells in cells_by_unit for unit in cells)
    if keep_all_lines and columns and not units:
        units = facts.units[line["concept_id"]]
    return [_build_item_row(report, line, unit, [cells.get(unit) for cells in cells_by_unit], facts) for unit in units]


def _build_item_row(
    report: FiledReport, line: Row, unit: str, cells: Sequence[Row | None], facts: _SectionFacts
) -> StatementRow:
    values: list[str | None] = []
    marks: list[CellMark | None] = []
    links: list[FactLink] = []
    for cell in cells:
        links.append(_build_cell_link(report, cell))
        if cell is None:
            values.append(None)
            marks.append(NOT_REPORTED)
        else:
            values.append(cell["value"])
            marks.append(REPORTED_NIL if cell["value"] is None else None)
    row = build_record(
        StatementRow,
        line,
        abstract=False,
        unit=unit or None,
        decimals=_get_common_decimals(cells),
        values=values,
        marks=marks,
        fact_ids=[link.fact_id for link in links],
        ink_urls=[link.ink_url for link in links],
    )
    conflicting_values = [facts.find_conflicting_values(cell) for cell in cells]
    if any(conflicting_values):
        row["conflicting_values"] = conflicting_values
    return row


def _build_cell_link(report: FiledReport, cell: Row | None) -> FactLink:
    if cell is None:
        return fact_links.NO_LINK
    return fact_links.build_link(report.cik, report.accession, report.pages, cell["page"], cell["element_id"])


def _get_common_decimals(cells: Sequence[Row | None]) -> Decimals:
    """Return the precision that all values of a row have, or None if no value states one."""
    decimals = [cell["decimals"] for cell in cells if cell is not None and cell["decimals"] is not None]
    rounded = [int(text) for text in decimals if text != "INF"]
    if rounded:
        return min(rounded)
    return "INF" if decimals else None


def _build_heading(line: Row) -> StatementRow:
    return build_record(
        StatementRow, line, abstract=True, unit=None, decimals=None, values=[], marks=[], fact_ids=[], ink_urls=[]
    )


def _remove_empty_headings(rows: Sequence[StatementRow]) -> list[StatementRow]:
    """Return the rows without the headings that have no rows below them.

    The rows are visited from the last to the first. A heading stays if rows deeper than itself have been visited that
    belong to no heading yet.
    """
    reversed_rows: list[StatementRow] = []
    # Depths of the visited rows that belong to no heading yet; the nearest is the last.
    open_depths: list[int] = []
    for row in reversed(rows):
        if row["abstract"]:
            has_rows = False
            while open_depths and open_depths[-1] > row["depth"]:
                open_depths.pop()
                has_rows = True
            if not has_rows:
                continue
        reversed_rows.append(row)
        open_depths.append(row["depth"])
    return reversed_rows[::-1]
