"""The difference between the statements of two filings: their lines, and the values of each line by period.

A line is identified by its concept, its unit and its placement, because an opening and a closing balance have the same
concept. A cell of a line is identified by the period and the dimensions of its column. Values that are numerically
equal are the same, however they are written.

Applying a difference to the lines of the first filing gives those of the second one: for each line the labels and cells
of ``a`` are removed and those of ``b`` added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, Url
from finapi.market.statements.filed_facts import Decimals
from finapi.market.statements.filed_statements import FiledStatement, StatementColumn, StatementRow
from finapi.market.statements.restatements import get_precision_unit

Placement = Literal["opening", "closing"]
CellStatus = Literal["restated", "rounded", "added", "dropped"]
LineStatus = Literal["restated", "rounded", "added", "dropped", "other_periods", "relabelled"]
# The statuses of a line that both filings have, the most important one first.
_STATUS_ORDER: tuple[LineStatus, ...] = ("restated", "rounded", "other_periods", "relabelled")
_PLACEMENTS: Mapping[str, Placement] = {"periodStartLabel": "opening", "periodEndLabel": "closing"}


class PresentedLineKey(NamedTuple):
    """The identity of a line in a statement."""

    concept: str
    unit: str | None
    placement: Placement | None


class CellKey(NamedTuple):
    """The identity of a cell in a line. ``start`` is None for an instant, and ``dims`` are pairs of axis and member."""

    start: str | None
    end: str
    dims: tuple[tuple[str, str], ...]


class CellValue(TypedDict):
    """The value that a filing states, null if it is reported as empty (nil), with its link."""

    value: str | None
    fact_id: str | None
    ink_url: Url | None


class PresentedLine(NamedTuple):
    """A line of a statement with its reported cells."""

    label: str | None
    decimals: Decimals
    cells: Mapping[CellKey, CellValue]


# The lines of each statement of a filing, by the key of the statement ("income", "income-2").
PresentedStatements = Mapping[str, Mapping[PresentedLineKey, PresentedLine]]


class CellDifference(TypedDict):
    """A cell that differs. A side is null if its filing does not report the cell."""

    start_date: Date | None
    end_date: Date
    dims: dict[str, str]
    status: Annotated[CellStatus, "rounded: the values differ only by the rounding of the less precise one."]
    a: CellValue | None
    b: CellValue | None
    change: Annotated[Decimal | None, "The value of b less that of a."]


class LineDifference(TypedDict):
    """A line that differs, with its cells that differ."""

    concept: str
    unit: str | None
    placement: Placement | None
    label_a: str | None
    label_b: str | None
    status: LineStatus
    cells: list[CellDifference]


class StatementDifference(TypedDict):
    """The lines of a statement that differ. ``status`` says which of the filings have the statement."""

    statement: str
    status: Literal["in_both", "added", "dropped"]
    equal_line_count: int
    lines: list[LineDifference]


def present_statements(statements: Mapping[str, FiledStatement]) -> dict[str, dict[PresentedLineKey, PresentedLine]]:
    """Return the lines of statements with their reported cells. A line that is printed twice is returned once."""
    return {key: _present_lines(statement) for key, statement in statements.items()}


def _present_lines(statement: FiledStatement) -> dict[PresentedLineKey, PresentedLine]:
    lines: dict[PresentedLineKey, PresentedLine] = {}
    for row in statement["rows"]:
        cells = dict(_iter_cells(row, statement["columns"]))
        if cells:
            label_name = (row["preferred_label"] or "").rpartition("/")[2]
            line_key = PresentedLineKey(row["concept"], row["unit"], _PLACEMENTS.get(label_name))
            lines.setdefault(line_key, PresentedLine(row["label"], row["decimals"], cells))
    return lines


def _iter_cells(row: StatementRow, columns: Iterable[StatementColumn]) -> Iterator[tuple[CellKey, CellValue]]:
    """Yield the reported cells of a row; a heading has none."""
    if row["abstract"]:
        return
    for index, column in enumerate(columns):
        mark = row["marks"][index]
        if mark is None or mark["status"] == "nil":
            dims = tuple(sorted((column["dims"] or {}).items()))
            cell_key = CellKey(column["start_date"], column["end_date"], dims)
            yield (
                cell_key,
                {
                    "value": row["values"][index],
                    "fact_id": row["fact_ids"][index],
                    "ink_url": row["ink_urls"][index],
                },
            )


def compare_statements(a: PresentedStatements, b: PresentedStatements) -> list[StatementDifference]:
    """Return the differences between the statements of two filings, in the order of ``a``.

    A statement without differences has no lines.
    """
    differences: list[StatementDifference] = []
    for key in dict.fromkeys((*a, *b)):
        a_lines = a.get(key, {})
        b_lines = b.get(key, {})
        line_keys = dict.fromkeys((*a_lines, *b_lines))
        lines = [
            difference
            for line_key in line_keys
            if (difference := _compare_line(line_key, a_lines.get(line_key), b_lines.get(line_key))) is not None
        ]
        differences.append(
            {
                "statement": key,
                "status": "in_both" if key in a and key in b else "dropped" if key in a else "added",
                "equal_line_count": len(line_keys) - len(lines),
                "lines": lines,
            }
        )
    return differences


def _compare_line(key: PresentedLineKey, a: PresentedLine | None, b: PresentedLine | None) -> LineDifference | None:
    """Return the difference of a line, or None if both filings have the same."""
    a_cells = a.cells if a is not None else {}
    b_cells = b.cells if b is not None else {}
    unit = max(_get_unit(a), _get_unit(b))
    cells = [
        difference
        for cell_key in dict.fromkeys((*a_cells, *b_cells))
        if (difference := _compare_cell(cell_key, a_cells.get(cell_key), b_cells.get(cell_key), unit)) is not None
    ]
    label_a = a.label if a is not None else None
    label_b = b.label if b is not None else None
    status: LineStatus
    if a is None:
        status = "added"
    elif b is None:
        status = "dropped"
    elif cells:
        cell_statuses = {cell["status"] for cell in cells}
        status = next((name for name in _STATUS_ORDER if name in cell_statuses), "other_periods")
    elif label_a != label_b:
        status = "relabelled"
    else:
        return None
    return {
        "concept": key.concept,
        "unit": key.unit,
        "placement": key.placement,
        "label_a": label_a,
        "label_b": label_b,
        "status": status,
        "cells": cells,
    }


def _get_unit(line: PresentedLine | None) -> Decimal:
    """Return the unit of the last exact digit of a line that states it: 1,000,000 for ``decimals`` -6; otherwise 0."""
    if line is None or line.decimals is None:
        return Decimal(0)
    return get_precision_unit(Decimal(0), str(line.decimals))


def _compare_cell(key: CellKey, a: CellValue | None, b: CellValue | None, unit: Decimal) -> CellDifference | None:
    """Return the difference of a cell, or None if both filings state the same value."""
    a_number = _find_number(a)
    b_number = _find_number(b)
    change = None if a_number is None or b_number is None else b_number - a_number
    status: CellStatus
    if a is None:
        status = "added"
    elif b is None:
        status = "dropped"
    elif change == 0 or a["value"] == b["value"]:
        return None
    else:
        status = "rounded" if change is not None and abs(change) < unit else "restated"
    return {
        "start_date": key.start,
        "end_date": key.end,
        "dims": dict(key.dims),
        "status": status,
        "a": a,
        "b": b,
        "change": change,
    }


def _find_number(cell: CellValue | None) -> Decimal | None:
    """Return the number of a cell, or None if it is not reported, nil or a text."""
    if cell is None or cell["value"] is None:
        return None
    try:
        number = Decimal(cell["value"])
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
