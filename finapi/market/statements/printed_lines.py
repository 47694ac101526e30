"""The line and the column of a stored statement in which a filing prints a fact.

A statement states the facts of the complete company. A line of a balance at the start or the end of a duration prints
an instant in the column of the duration, so a fact is found by its period and, there, also by its value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.days import shift
from finapi.market.statements import filed_statements, statement_kinds
from finapi.market.statements.fact_links import FactKey
from finapi.market.statements.filed_statements import FiledStatement, StatementColumn, StatementRow
from finapi.store.db import Transaction

# The reason why the printed line of a fact is not known. A fact that no line states may be in a note.
UnprintedReason = Literal["no_stored_statement", "not_on_a_statement"]

_OPENING_LABEL = "periodStartLabel"
_DAYS_IN_MONTH = 30.4


class PrintedLine(TypedDict):
    """The line of a statement as filed that prints a fact, with its label in the filing.

    ``line`` counts the rows of the statement and ``column`` its columns, both from 1, as
    ``/xbrl/filing/{accession}/statements`` returns them.
    """

    label: Annotated[str | None, "The label that the filing prints for the line."]
    label_role: Annotated[str | None, "The role of the label, such as terseLabel or totalLabel; null: the standard."]
    negated: Annotated[bool, "true: printed with the opposite sign."]
    statement: Annotated[str, "The statement's key among those of the filing."]
    statement_name: Annotated[str | None, "The statement's title in the filing; null: it is not stored."]
    line: Annotated[int, "The number of the line, from 1."]
    column: Annotated[int, "The number of the column, from 1."]
    column_heading: Annotated[str, "The period of the column."]
    page_url: Annotated[str | None, "The path of the statement's page here, at the cell."]


class StatedFact(NamedTuple):
    """A fact with its value."""

    key: FactKey
    value: Decimal


class FactPrint(NamedTuple):
    """The printed line of a fact, or the reason why it is not known."""

    line: PrintedLine | None
    reason: UnprintedReason | None


class _Cell(NamedTuple):
    """A row of a statement that states a concept in a unit, with its number and its statement."""

    statement_key: str
    statement: FiledStatement
    line_number: int
    row: StatementRow


_CellsByConcept = dict[tuple[str, str], list[_Cell]]


def find_prints(tx: Transaction, facts: Iterable[StatedFact]) -> list[FactPrint]:
    """Return for each fact the line that prints it, in the first statement of its filing that does."""
    cells_by_accession: dict[str, _CellsByConcept | None] = {}
    prints = []
    for fact in facts:
        accession = fact.key.accession
        if accession not in cells_by_accession:
            cells_by_accession[accession] = _read_cells(tx, accession)
        cells = cells_by_accession[accession]
        if cells is None:
            prints.append(FactPrint(None, "no_stored_statement"))
            continue
        line = _find_line(cells.get((fact.key.concept, fact.key.unit), []), fact)
        prints.append(FactPrint(line, None if line else "not_on_a_statement"))
    return prints


def format_column(column: Mapping[str, str | None]) -> str:
    """Return the heading of a column: "12 months to 2024-12-31", or the day of an instant."""
    first_day, last_day = column["start_date"], column["end_date"]
    assert last_day is not None
    if first_day is None:
        return last_day
    day_count = (date.fromisoformat(last_day) - date.fromisoformat(first_day)).days
    return f"{round(day_count / _DAYS_IN_MONTH)} months to {last_day}"


def _read_cells(tx: Transaction, accession: str) -> _CellsByConcept | None:
    """Return the rows of a filing's statements by concept and unit; None if no statement of it is stored."""
    report = filed_statements.find_report_by_accession(tx, accession)
    statements = filed_statements.read_statements(tx, report)[0] if report is not None else {}
    if not statements:
        return None
    # Statements in parentheses repeat figures of the others, and come last.
    keys = sorted(statements, key=lambda key: statement_kinds.PARENTHETICAL_SUFFIX in key)
    cells: _CellsByConcept = {}
    for key in keys:
        statement = statements[key]
        for line_number, row in enumerate(statement["rows"], 1):
            cell = _Cell(key, statement, line_number, row)
            cells.setdefault((row["concept"], row["unit"] or ""), []).append(cell)
    return cells


def _find_line(cells: Iterable[_Cell], fact: StatedFact) -> PrintedLine | None:
    for cell in cells:
        for column_index, column in enumerate(cell.statement["columns"]):
            if cell.row["abstract"] or _get_fact_period(cell.row, column, fact.key) != (fact.key.start, fact.key.end):
                continue
            if _has_value(cell.row["values"][column_index], fact.value):
                return _build_line(cell, column_index)
    return None


def _has_value(text: str | None, value: Decimal) -> bool:
    """Return True if the text of a fact is the value. A statement may also state a text that is not a number."""
    try:
        return text is not None and Decimal(text) == value
    except InvalidOperation:
        return False


def _get_fact_period(row: StatementRow, column: StatementColumn, key: FactKey) -> tuple[str | None, str]:
    """Return the first and last day of the fact that a row states in a column.

    A duration in a column of an instant ends on its day, and an instant in a column of a duration is at its end, or
    before its start for an opening balance.
    """
    first_day, last_day = column["start_date"], column["end_date"]
    if first_day is None:
        return key.start, last_day
    if key.start is not None:
        return first_day, last_day
    if (row["preferred_label"] or "").endswith(_OPENING_LABEL):
        return None, shift(first_day, -1)
    return None, last_day


def _build_line(cell: _Cell, column_index: int) -> PrintedLine:
    statement, row = cell.statement, cell.row
    column = statement["columns"][column_index]
    page_url = filed_statements.find_cell_url(statement["page_url"], cell.line_number, column_index + 1)
    return {
        "label": row["label"],
        "label_role": (row["preferred_label"] or "").rpartition("/")[2] or None,
        "negated": row["negated"],
        "statement": cell.statement_key,
        "statement_name": statement_kinds.get_title(statement["definition"] or "") or None,
        "line": cell.line_number,
        "column": column_index + 1,
        "column_heading": format_column({"start_date": column["start_date"], "end_date": column["end_date"]}),
        "page_url": page_url,
    }
