"""The statements of a filing as labels and numbers, and the application of a difference between two filings."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from finapi.market.statements.filing_difference import CellKey, PresentedLineKey, PresentedStatements

Cells = dict[CellKey, Decimal | None]
# The label and the cells of each line of each statement.
Statements = dict[str, dict[PresentedLineKey, tuple[str | None, Cells]]]


def reduce_statements(statements: PresentedStatements) -> Statements:
    """Return the labels and numbers of statements, without links and decimals."""
    return {
        key: {
            line_key: (line.label, {cell_key: read_number(cell) for cell_key, cell in line.cells.items()})
            for line_key, line in lines.items()
        }
        for key, lines in statements.items()
    }


def read_number(cell: Mapping[str, Any]) -> Decimal | None:
    return None if cell["value"] is None else Decimal(cell["value"])


def apply_difference(statements: Statements, differences: list[dict[str, Any]]) -> Statements:
    """Return the statements after a difference, which is given as JSON."""
    changed = {key: dict(lines) for key, lines in statements.items()}
    for difference in differences:
        lines = changed.setdefault(difference["statement"], {})
        for line in difference["lines"]:
            key = PresentedLineKey(line["concept"], line["unit"], line["placement"])
            if line["status"] == "dropped":
                del lines[key]
                continue
            cells = dict(lines[key][1]) if key in lines else {}
            for cell in line["cells"]:
                cell_key = CellKey(cell["start_date"], cell["end_date"], tuple(sorted(cell["dims"].items())))
                if cell["b"] is None:
                    del cells[cell_key]
                else:
                    cells[cell_key] = read_number(cell["b"])
            lines[key] = (line["label_b"], cells)
        if difference["status"] == "dropped":
            assert lines == {}
            del changed[difference["statement"]]
    return changed
