"""The differences between two versions of the mapping for the same companies: which cells change, how, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from finapi.core import days
from finapi.core.counts import format_count
from finapi.market.financials import metric_mapping
from finapi.market.financials.cells import Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_rows import FigureSeries, RowView


class ComparedCell(TypedDict):
    """A value or the reason why there is none, with its concepts, the rule that chose them, and its filing."""

    value: str | None
    reason: str | None
    concepts: list[str]
    rule: str
    accession: str | None


# Cells by the kind of series, fiscal year, fiscal period, last day and metric: "A 2023 FY 2023-12-31 revenue".
Cells = Mapping[str, ComparedCell]


# Stands for the cell of a metric that does not exist in one version.
_NO_SUCH_METRIC: ComparedCell = {
    "value": None,
    "reason": "no such metric",
    "concepts": [],
    "rule": "",
    "accession": None,
}


class CellChange(TypedDict):
    """A cell that differs between two versions; a side is None if its version has no such row.

    ``because`` lists the inputs of a derived figure that change.
    """

    company: str
    cell: str
    before: ComparedCell | None
    after: ComparedCell | None
    because: list[str]


# The kinds of changes: another value, a filled or an emptied hole, another reason, or a row that one version lacks.
CHANGE_KINDS = ("other", "filled", "emptied", "reason", "row")


@dataclass(slots=True)
class ChangeCount:
    """The number of compared cells, of equal values from different lines, and of changes by metric and kind."""

    cells: int = 0
    moved: int = 0
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)


def build_cells(company_book: CompanyBook) -> dict[str, ComparedCell]:
    """Return every cell of the metrics and derived figures of a company: years, quarters and years to date."""
    mapping = company_book.resolvers["latest"].mapping
    cells: dict[str, ComparedCell] = {}
    for kind in ("A", "Q", "YTD"):
        # Balances are the same in quarters and in years to date.
        keys = [key for key, metric in mapping.metrics.items() if kind != "YTD" or metric.aggregation != "instant"]
        keys += mapping.derived
        series = FigureSeries(company_book, kind, "latest")
        for row in map(series.get_row, series.periods):
            if kind == "YTD" and row.period.quarter_number in (1, 4):
                # First quarters and full years are already among the other kinds.
                continue
            row_name = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period} {days.iso(row.period.end)}"
            for key in keys:
                cells[f"{row_name} {key}"] = _build_compared_cell(row, key)
    return cells


def _build_compared_cell(row: RowView, key: str) -> ComparedCell:
    cell = row.get_cell(key)
    if isinstance(cell, Missing):
        reason = f"not_mapped: {cell.line_label}" if cell.line_label else cell.reason
        return {"value": None, "reason": reason, "concepts": [], "rule": "", "accession": None}
    metric = row.series.resolver.mapping.metrics.get(key)
    rule_text = cell.derivation
    concepts = []
    if metric is not None:
        rule = metric.rules[row.series.company_book.industry][cell.priority - 1]
        rule_text = f"rule {cell.priority}: {rule.text}"
        if cell.derivation and cell.derivation != rule.text:
            rule_text += f", {cell.derivation}"
        for operand in row.list_operands(key, cell):
            sign = "-" if operand.sign < 0 else "+"
            concepts.append(f"{sign}{operand.vintage.concept}")
    return {
        "value": format(cell.value.normalize() + 0, "f"),
        "reason": None,
        "concepts": concepts,
        "rule": rule_text,
        "accession": row.series.company_book.book.filings[cell.filing_index].accession,
    }


def iter_changes(company: str, before: Cells, after: Cells, count: ChangeCount) -> Iterator[CellChange]:
    """Yield the cells of a company that change, and add all of its cells to ``count``."""
    derived = metric_mapping.get_mapping().derived
    before, after = _add_unknown_metrics(before, after), _add_unknown_metrics(after, before)
    names = dict.fromkeys((*after, *before))
    changing = {name for name in names if not _is_equal(before.get(name), after.get(name))}
    for name in names:
        cell_before, cell_after = before.get(name), after.get(name)
        count.cells += 1
        if name not in changing:
            if cell_before is not None and cell_after is not None and cell_before["concepts"] != cell_after["concepts"]:
                count.moved += 1
            continue
        row_name, _, key = name.rpartition(" ")
        count.changed[key, _find_change_kind(cell_before, cell_after)] += 1
        inputs = []
        if key in derived:
            inputs = [input_key for term in derived[key].terms for input_key in term.names]
        because = [input_key for input_key in inputs if f"{row_name} {input_key}" in changing]
        yield {"company": company, "cell": name, "before": cell_before, "after": cell_after, "because": because}


def _add_unknown_metrics(cells: Cells, other: Cells) -> Cells:
    """Return the cells of a version, extended by empty cells for the metrics that only the other version has."""
    row_names = {name.rpartition(" ")[0] for name in cells}
    unknown = {name: _NO_SUCH_METRIC for name in other if name.rpartition(" ")[0] in row_names}
    return {**unknown, **cells}


def _is_equal(before: ComparedCell | None, after: ComparedCell | None) -> bool:
    if before is None or after is None:
        return False
    if _NO_SUCH_METRIC in (before, after):
        return before["value"] == after["value"]
    return (before["value"], before["reason"]) == (after["value"], after["reason"])


def _find_change_kind(before: ComparedCell | None, after: ComparedCell | None) -> str:
    if before is None or after is None:
        return "row"
    if before["value"] is None and after["value"] is None:
        return "reason"
    if before["value"] is None:
        return "filled"
    return "emptied" if after["value"] is None else "other"


def render_change(change: CellChange) -> Iterable[str]:
    """Yield the lines of text that describe a change: the cell with its values, and the rule of each version."""
    before, after = change["before"], change["after"]
    yield f"{change['company']} {change['cell']}: {_render_value(before)} -> {_render_value(after)}"
    if change["because"]:
        yield f"  for {', '.join(change['because'])}"
        return
    for side, cell in (("before", before), ("after", after)):
        if cell is not None and cell["value"] is not None:
            yield f"  {side}: {' '.join(cell['concepts'])} of {cell['accession']} by {cell['rule']}"


def _render_value(cell: ComparedCell | None) -> str:
    return "no row" if cell is None else cell["value"] or f"({cell['reason']})"


def render_summary(count: ChangeCount) -> Iterator[str]:
    """Yield the lines of a table with the number of changes by metric and kind."""
    change_count = sum(count.changed.values())
    cells = format_count(count.cells, "cell")
    yield f"{change_count:,} of {cells} changed; from other lines, with the same value: {count.moved:,}"
    if count.changed:
        yield f"{'':34}" + "".join(f"{kind:>9}" for kind in CHANGE_KINDS)
    for key in dict.fromkeys(key for key, _ in sorted(count.changed)):
        yield f"{key:34}" + "".join(f"{count.changed[key, kind]:>9}" for kind in CHANGE_KINDS)
