"""Statements as filed: rows read in one transaction and arranged; nothing is parsed here (DECISIONS 6)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from finapi.core.days import shift
from finapi.core.records import Date, build_record
from finapi.market.statements import layout, statement_kinds
from finapi.market.statements.fact_sets import FSDS, SOURCE_NAMES
from finapi.market.statements.filed_facts import Decimals
from finapi.store.db import Row, Transaction

KINDS = statement_kinds.KINDS

# The rules that choose and arrange; raised when the same documents would be answered differently.
ENGINE_VERSION = 1

# DECISIONS 6: which forms a period means, amendments and transition reports included.
FORMS_BY_PERIOD = {
    "A": ("10-K", "10-K/A", "10-KT", "10-KT/A", "10-K405", "10-K405/A", "20-F", "20-F/A", "40-F", "40-F/A"),
    "Q": ("10-Q", "10-Q/A", "10-QT", "10-QT/A"),
}


class CellMark(TypedDict):
    """Why a cell has no value."""

    status: Literal["absent", "nil"]
    reason: str


NOT_REPORTED: CellMark = {"status": "absent", "reason": "not_reported"}
REPORTED_NIL: CellMark = {"status": "nil", "reason": "reported_nil"}


class FiledReport(NamedTuple):
    """A report that a question resolved to. ``filed_at`` is None when the day is not known."""

    id: int
    cik: int
    accession: str
    filed_at: str | None
    form_type: str
    period_of_report: str
    fiscal_year: int | None
    fiscal_period: str | None
    source: str


class StatementColumn(TypedDict):
    """A period (an instant, I, or a duration, D) and dimensions."""

    context_seq: int
    period_type: Literal["D", "I"]
    start_date: Date | None
    end_date: Date
    dims: dict[str, str] | None


class StatementRow(TypedDict):
    """A line with its value in each column; a mark says why there is none."""

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


class FiledStatement(TypedDict):
    """A statement as it was filed."""

    slot: str
    role_uri: str | None
    definition: str | None
    columns: list[StatementColumn]
    rows: list[StatementRow]


class AbsentStatement(TypedDict):
    """Why a statement is not there."""

    statement: str
    status: Literal["absent"]
    reason: str


def find_report(
    tx: Transaction,
    cik: int,
    *,
    period: str,
    form: str | None = None,
    year: int | None = None,
    as_of: str | None = None,
    basis: str = "latest",
) -> FiledReport | None:
    """The report with statements for the latest period that fits, or None (see :func:`find_reports`)."""
    found = list_reports(tx, cik, 1, period=period, form=form, year=year, as_of=as_of, basis=basis)
    return found[0] if found else None


def list_reports(
    tx: Transaction,
    cik: int,
    most: int,
    *,
    period: str,
    form: str | None = None,
    year: int | None = None,
    as_of: str | None = None,
    basis: str = "latest",
) -> list[FiledReport]:
    """The reports with statements for the latest periods that fit, one for each period, newest first.

    ``period`` is a key of :data:`FORMS`, narrowed by ``form``; ``year`` is the fiscal year as the company
    names it; ``as_of`` (ISO date) hides what was filed later; ``basis`` picks among filings of one period.
    """
    forms = json.dumps([one for one in FORMS_BY_PERIOD[period] if form is None or one == form.upper()])
    asked = {"cik": cik, "forms": forms, "year": year, "as_of": as_of, "basis": basis}
    return [FiledReport(*row) for row in tx.list_rows("latest_reports", asked, most=most)]


def find_report_by_accession(tx: Transaction, accession: str) -> FiledReport | None:
    """The report of an accession number (with dashes, or ``unfiled-...``), or None."""
    row = tx.find_row("report_of_filing", accession=accession)
    return None if row is None else FiledReport(*row)


def list_stored_periods(tx: Transaction, cik: int) -> list[dict[str, str]]:
    """The forms and periods that are held of a company, newest first, at most 20."""
    return [dict(row) for row in tx.list_rows("stored_periods", cik=cik)]


def read_statements(
    tx: Transaction, held: FiledReport, wanted: Sequence[str] = (), *, consolidated_only: bool = True
) -> tuple[dict[str, FiledStatement], list[AbsentStatement]]:
    """The statements of a report by kind, in the filing's order, and what is absent with its reason.

    Only those ``wanted`` when any are named. A second statement of a kind is keyed ``income-2``.
    """
    statements: dict[str, FiledStatement] = {}
    reasons: dict[str, str] = {}
    counted: Counter[str] = Counter()
    whole = tx.find_value("consolidated_dimension", report_id=held.id) or 0
    asked = {"report_id": held.id, "dimensioned": not consolidated_only, "whole": whole}
    # A data set does not say which periods and members a page shows: a line that the filing tells in others is kept.
    every = held.source == SOURCE_NAMES[FSDS] and not consolidated_only
    for section in tx.list_rows("statement_sections", report_id=held.id):
        kind = section["kind"]
        if wanted and kind not in wanted:
            continue
        statement = _statement(tx, section, asked, every=every)
        if statement["rows"]:
            counted[kind] += 1
            statements[kind if counted[kind] == 1 else f"{kind}-{counted[kind]}"] = statement
        else:
            reasons[kind] = "only_with_dimensions" if section["columns"] else "no_figures_in_filing"
    for kind in wanted:
        reasons.setdefault(kind, "not_in_filing")
    return statements, [
        {"statement": kind, "status": "absent", "reason": reason}
        for kind, reason in reasons.items()
        if kind not in statements
    ]


def find_consolidated_dimension(tx: Transaction, held: FiledReport) -> dict[str, str] | None:
    """The axis and member under which a report tells the whole company, where it tells nothing without dimensions."""
    row = tx.find_row("consolidated_dimension", report_id=held.id)
    return None if row is None else json.loads(row["members"])


def _statement(tx: Transaction, section: Row, asked: dict[str, Any], *, every: bool) -> FiledStatement:
    columns = tx.list_rows("statement_columns", asked, section_id=section["id"])
    found = tx.list_rows("statement_facts", asked, section_id=section["id"])
    facts, rows = _Facts(found), list[StatementRow]()
    for line in tx.list_rows("statement_lines", section_id=section["id"]):
        heading = line["nature"] == layout.HEADING
        rows.extend([_heading(line)] if heading else _item_rows(line, columns, facts, every=every))
    return {
        "slot": statement_kinds.get_slot(section["kind"]),
        "role_uri": section["role_uri"] or None,
        "definition": section["definition"] or None,
        "columns": [
            build_record(StatementColumn, column, dims=json.loads(column["members"]) or None) for column in columns
        ],
        "rows": _without_empty_headings(rows),
    }


class _Facts:
    """The facts of a section by where they can stand; a row's unit is chosen from what is there."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._facts: dict[tuple[int, str | None, str, int], dict[str, Row]] = {}
        # The units of a concept, wherever it is reported.
        self.units: dict[int, dict[str, None]] = defaultdict(dict)
        for row in rows:
            place = (row["concept_id"], row["start_date"], row["end_date"], row["dimension_id"])
            self._facts.setdefault(place, {})[row["unit"]] = row
            self.units[row["concept_id"]][row["unit"]] = None
        self._ending = {(concept, end, dims): found for (concept, _, end, dims), found in self._facts.items()}

    def at(self, line: Row, column: Row) -> Mapping[str, Row]:
        """The facts of a line in a column, by unit; empty when nothing is reported there."""
        concept, start, end, dims = (
            line["concept_id"],
            column["start_date"],
            column["end_date"],
            column["dimension_id"],
        )
        if line["placement"] == layout.OPENING and start is not None:
            return self._facts.get((concept, None, shift(start, -1), dims), {})
        if start is not None:
            found = self._facts.get((concept, start, end, dims))
            if found:
                return found
        instant = self._facts.get((concept, None, end, dims))
        if instant is None and start is None:
            # What a balance sheet tags with a duration stands at its end (layout rule 3).
            instant = self._ending.get((concept, end, dims))
        return instant or {}


def _item_rows(line: Row, columns: Sequence[Row], facts: _Facts, *, every: bool) -> list[StatementRow]:
    """The rows of a line: one for each unit in which it is reported in the columns, or ``every`` one of its facts."""
    by_unit = [facts.at(line, column) for column in columns]
    units = dict.fromkeys(unit for cell in by_unit for unit in cell)
    if every and columns and not units:
        units = facts.units[line["concept_id"]]
    return [_item(line, unit, [cell.get(unit) for cell in by_unit]) for unit in units]


def _item(line: Row, unit: str, cells: Sequence[Row | None]) -> StatementRow:
    values = [None if cell is None else cell["value"] for cell in cells]
    decimals = [cell["decimals"] for cell in cells if cell is not None and cell["decimals"] is not None]
    rounded = [int(one) for one in decimals if one != "INF"]
    marks = [
        None if value is not None else NOT_REPORTED if cell is None else REPORTED_NIL
        for cell, value in zip(cells, values, strict=True)
    ]
    # The precision that every value of the row has.
    least = min(rounded) if rounded else "INF" if decimals else None
    return build_record(
        StatementRow, line, abstract=False, unit=unit or None, decimals=least, values=values, marks=marks
    )


def _heading(line: Row) -> StatementRow:
    return build_record(StatementRow, line, abstract=True, unit=None, decimals=None, values=[], marks=[])


def _without_empty_headings(rows: Sequence[StatementRow]) -> list[StatementRow]:
    """The rows without headings under which nothing is shown."""
    kept: list[StatementRow] = []
    # Walking up: the depths of the rows shown below that no heading has claimed yet, the nearest last.
    below: list[int] = []
    for row in reversed(rows):
        if row["abstract"]:
            claimed = False
            while below and below[-1] > row["depth"]:
                below.pop()
                claimed = True
            if not claimed:
                continue
        kept.append(row)
        below.append(row["depth"])
    return kept[::-1]
