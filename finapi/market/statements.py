"""Statements as filed: rows read in one transaction and arranged; nothing is parsed here (CONTRACT 6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finapi.db import Row, Transaction
from finapi.edgar import identity
from finapi.market import kinds, layout, report

KINDS = kinds.KINDS

# The rules that choose and arrange; raised when the same documents would be answered differently.
ENGINE_VERSION = 1

# CONTRACT 6: which forms a period means, amendments and transition reports included.
FORMS = {
    "A": ("10-K", "10-K/A", "10-KT", "10-KT/A", "10-K405", "10-K405/A", "20-F", "20-F/A", "40-F", "40-F/A"),
    "Q": ("10-Q", "10-Q/A", "10-QT", "10-QT/A"),
}

NOT_REPORTED = {"status": "absent", "reason": "not_reported"}
REPORTED_NIL = {"status": "nil", "reason": "reported_nil"}


@dataclass(frozen=True, slots=True)
class Report:
    """The report that a question resolved to. ``filed_at`` is None when nothing tells the day."""

    id: int
    cik: int
    accession: str
    filed_at: str | None
    form: str
    period_of_report: str
    fiscal_year: int | None
    fiscal_period: str | None
    source: str


def find_report(
    tx: Transaction,
    cik: int,
    *,
    period: str,
    form: str | None = None,
    year: int | None = None,
    as_of: str | None = None,
    basis: str = "latest",
) -> Report | None:
    """The report with statements for the latest period that fits, or None.

    ``period`` is a key of :data:`FORMS`, narrowed by ``form``; ``year`` is the fiscal year as the company
    names it; ``as_of`` (ISO date) hides what was filed later; ``basis`` picks among filings of one period.
    """
    forms = [one for one in FORMS[period] if form is None or one == form.upper()]
    row = tx.one("select_report", cik=cik, forms=json.dumps(forms), year=year, as_of=as_of, basis=basis)
    return None if row is None else Report(*row)


def report_of_filing(tx: Transaction, accession: str) -> Report | None:
    """The report of an accession number (with dashes, or ``unfiled-...``), or None."""
    row = tx.one("report_of_filing", accession=accession)
    return None if row is None else Report(*row)


def accession(text: str) -> str | None:
    """An accession number in any spelling, or the name of an unfiled report, as it is stored; else None."""
    return text if text.startswith(report.UNFILED) else identity.accession(text)


def periods_held(tx: Transaction, cik: int) -> list[dict[str, str]]:
    """The forms and periods that are held of a company, newest first, at most 20."""
    return [{"form_type": row[0], "period_of_report": row[1]} for row in tx.all("periods_held", cik=cik)]


def of_report(
    tx: Transaction, held: Report, wanted: Sequence[str] = (), *, consolidated_only: bool = True
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The statements of a report by kind, in the filing's order, and what is absent with its reason.

    Only those ``wanted`` when any are named. A second statement of a kind is keyed ``income-2``. Shapes are
    those of CONTRACT 6.
    """
    statements: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for section in tx.all("statement_sections", report_id=held.id):
        kind = section["kind"]
        if wanted and kind not in wanted:
            continue
        statement = _statement(tx, held.id, section, dimensioned=not consolidated_only)
        if statement["rows"]:
            statements[_key(kind, statements)] = statement
        else:
            reasons[kind] = "only_with_dimensions" if section["columns"] else "no_figures_in_filing"
    for kind in wanted:
        reasons.setdefault(kind, "not_in_filing")
    absent = [
        {"statement": kind, "status": "absent", "reason": reason}
        for kind, reason in reasons.items()
        if kind not in statements
    ]
    return statements, absent


def _statement(tx: Transaction, report_id: int, section: Row, *, dimensioned: bool) -> dict[str, Any]:
    columns = tx.all("statement_columns", section_id=section["id"], dimensioned=dimensioned)
    lines = tx.all("statement_lines", section_id=section["id"])
    facts = _Facts(
        tx.all("statement_facts", report_id=report_id, section_id=section["id"], dimensioned=dimensioned)
    )
    rows: list[tuple[int, dict[str, Any]]] = []
    for line in lines:
        if line["nature"] == report.HEADING:
            rows.append((line["depth"], _heading(line)))
        else:
            rows.extend((line["depth"], row) for row in _item_rows(line, columns, facts))
    return {
        "slot": kinds.slot_of(section["kind"]),
        "role_uri": section["role_uri"] or None,
        "definition": section["definition"] or None,
        "columns": [_column(column) for column in columns],
        "rows": _without_empty_headings(rows),
    }


class _Facts:
    """The facts of a section by where they can stand; a row's unit is chosen from what is there."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._facts: dict[tuple[int, str | None, str, int], dict[str, Row]] = {}
        for row in rows:
            place = (row["concept_id"], row["start_date"], row["end_date"], row["dimension_id"])
            self._facts.setdefault(place, {})[row["unit"]] = row
        self._ending = {(concept, end, dims): found for (concept, _, end, dims), found in self._facts.items()}

    def at(self, line: Row, column: Row) -> Mapping[str, Row]:
        """The facts of a line in a column, by unit; empty when nothing is reported there."""
        concept, start, end, dims = (
            line["concept_id"],
            column["start_date"],
            column["end_date"],
            column["dimension_id"],
        )
        if line["placement"] == report.OPENS and start is not None:
            return self._facts.get((concept, None, layout.day_before(start), dims), {})
        if start is not None:
            found = self._facts.get((concept, start, end, dims))
            if found:
                return found
        instant = self._facts.get((concept, None, end, dims))
        if instant is None and start is None:
            # What a balance sheet tags with a duration stands at its end (layout rule 3).
            instant = self._ending.get((concept, end, dims))
        return instant or {}


def _item_rows(line: Row, columns: Sequence[Row], facts: _Facts) -> list[dict[str, Any]]:
    """The rows of a line: one for each unit in which it is reported, none when it is not."""
    cells = [facts.at(line, column) for column in columns]
    units: dict[str, None] = {}
    for cell in cells:
        units.update(dict.fromkeys(cell))
    return [_item(line, unit, [cell.get(unit) for cell in cells]) for unit in units]


def _item(line: Row, unit: str, cells: Sequence[Row | None]) -> dict[str, Any]:
    values = [cell["value"] if cell is not None else None for cell in cells]
    decimals = [cell["decimals"] for cell in cells if cell is not None and cell["decimals"] is not None]
    return {
        **_described(line),
        "abstract": False,
        "unit": unit or None,
        "decimals": _least(decimals),
        "values": values,
        "marks": [
            None if value is not None else NOT_REPORTED if cell is None else REPORTED_NIL
            for cell, value in zip(cells, values, strict=True)
        ],
    }


def _least(decimals: Sequence[str]) -> int | str | None:
    """The precision that every value of a row has; "INF" when all are exact, None when none tells."""
    rounded = [int(one) for one in decimals if one != "INF"]
    return min(rounded) if rounded else "INF" if decimals else None


def _heading(line: Row) -> dict[str, Any]:
    return {**_described(line), "abstract": True, "unit": None, "decimals": None, "values": [], "marks": []}


def _described(line: Row) -> dict[str, Any]:
    return {
        "concept": line["concept"],
        "label": line["label"],
        "depth": line["depth"],
        "balance": line["balance"],
        "preferred_label": line["label_role"],
        "negated": bool(line["negated"]),
    }


def _column(column: Row) -> dict[str, Any]:
    return {
        "context_seq": column["context_seq"],
        "period_type": "I" if column["start_date"] is None else "D",
        "start_date": column["start_date"],
        "end_date": column["end_date"],
        "dims": json.loads(column["members"]) or None,
    }


def _without_empty_headings(rows: Sequence[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows without headings under which nothing is shown."""
    kept: list[dict[str, Any]] = []
    # Walking up: the depths of the rows shown below that no heading has claimed yet, the nearest last.
    below: list[int] = []
    for depth, row in reversed(rows):
        if row["abstract"]:
            claimed = False
            while below and below[-1] > depth:
                below.pop()
                claimed = True
            if not claimed:
                continue
        kept.append(row)
        below.append(depth)
    return kept[::-1]


def _key(kind: str, taken: Mapping[str, Any]) -> str:
    key, number = kind, 1
    while key in taken:
        number += 1
        key = f"{kind}-{number}"
    return key
