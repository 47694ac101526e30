"""What two versions of the mapping make of the same company: which cells change, from what to what, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from finapi.core import days
from finapi.market.financials import metric_mapping
from finapi.market.financials.cells import Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_rows import FigureSeries, RowView


class ComparedCell(TypedDict):
    """A value or the reason of none, the concepts that it is of, the rule that chose them, and the filing."""

    value: str | None
    reason: str | None
    concepts: list[str]
    rule: str
    accession: str | None


# Cells by kind of row, fiscal year and period, last day, and metric.
Cells = Mapping[str, ComparedCell]


# What a version says of a metric that it does not have.
_UNKNOWN: ComparedCell = {"value": None, "reason": "no such metric", "concepts": [], "rule": "", "accession": None}


class CellChange(TypedDict):
    """A cell that two versions tell otherwise; None where a version has no such row. Of a figure made of others
    ``because`` names those that change."""

    company: str
    cell: str
    before: ComparedCell | None
    after: ComparedCell | None
    because: list[str]


@dataclass(slots=True)
class ChangeCount:
    """How many cells were compared, how many stay that come from other lines now, and how many change by metric:
    ``other`` value, ``filled`` or ``emptied`` hole, another ``reason``, ``row`` that one version lacks."""

    cells: int = 0
    moved: int = 0
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)


def build_cells(held: CompanyBook) -> dict[str, ComparedCell]:
    """Every cell of the metrics and derived figures of a company: years, quarters and years to date."""
    mapping, made = held.resolvers["latest"].mapping, {}
    for kind in ("A", "Q", "YTD"):
        listed = FigureSeries(held, kind, "latest")
        for row in map(listed.get_row, listed.periods):
            if kind == "YTD" and row.period.quarter_number in (1, 4):
                # The same periods stand among the quarters and the years.
                continue
            period = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period} {days.iso(row.period.end)}"
            # Nor do balances need telling twice.
            keys = [key for key, one in mapping.metrics.items() if kind != "YTD" or one.over != "instant"]
            made.update({f"{period} {key}": _told(row, key) for key in (*keys, *mapping.derived)})
    return made


def _told(row: RowView, key: str) -> ComparedCell:
    cell = row.get_cell(key)
    if isinstance(cell, Missing):
        why = f"not_mapped: {cell.line_label}" if cell.line_label else cell.reason
        return {"value": None, "reason": why, "concepts": [], "rule": "", "accession": None}
    mapping, industry = row.series.resolver.mapping, row.series.company_book.industry
    rule = cell.derivation
    if key in mapping.metrics:
        of = mapping.metrics[key].rules[industry][cell.priority - 1]
        rule = f"rule {cell.priority}: {of.text}" + (f", {rule}" if rule and rule != of.text else "")
    operands = row.list_operands(key, cell) if key in mapping.metrics else ()
    concepts = [f"{'+-'[sign < 0]}{one.concept}" for sign, _, one in operands]
    accession = row.series.company_book.book.filings[cell.filing_index].accession
    value = format(cell.value.normalize() + 0, "f")
    return {"value": value, "reason": None, "concepts": concepts, "rule": rule, "accession": accession}


def iter_changes(company: str, before: Cells, after: Cells, count: ChangeCount) -> Iterator[CellChange]:
    """The cells of a company that change, counted with those that do not."""
    derived = metric_mapping.get_mapping().derived
    before, after = _with_unknown(before, after), _with_unknown(after, before)
    changing = {cell for cell in {**before, **after} if not _same(before.get(cell), after.get(cell))}
    for cell in dict.fromkeys((*after, *before)):
        one, other = before.get(cell), after.get(cell)
        row, _, key = cell.rpartition(" ")
        count.cells += 1
        if cell not in changing:
            count.moved += one is not None and other is not None and one["concepts"] != other["concepts"]
            continue
        count.changed[key, _what(one, other)] += 1
        names = [name for term in derived[key].terms for name in term.names] if key in derived else []
        because = [name for name in names if f"{row} {name}" in changing]
        yield {"company": company, "cell": cell, "before": one, "after": other, "because": because}


def _with_unknown(told: Cells, other: Cells) -> Cells:
    """The cells of a version, and of its rows those of metrics that only another version has."""
    rows = {cell.rpartition(" ")[0] for cell in told}
    return {**{cell: _UNKNOWN for cell in other if cell.rpartition(" ")[0] in rows}, **told}


def _same(one: ComparedCell | None, other: ComparedCell | None) -> bool:
    if one is not None and other is not None and _UNKNOWN in (one, other):
        return one["value"] == other["value"]
    return one is not None and other is not None and (one["value"], one["reason"]) == (other["value"], other["reason"])


def _what(one: ComparedCell | None, other: ComparedCell | None) -> str:
    if one is None or other is None:
        return "row"
    if one["value"] is None or other["value"] is None:
        return "reason" if one["value"] == other["value"] else "filled" if one["value"] is None else "emptied"
    return "other"


CHANGE_KINDS = ("other", "filled", "emptied", "reason", "row")


def render_change(change: CellChange) -> Iterable[str]:
    """A change for people: the cell with its values, and why each version says so."""
    one, other = change["before"], change["after"]
    yield f"{change['company']} {change['cell']}: {_shown(one)} -> {_shown(other)}"
    if change["because"]:
        yield f"  for {', '.join(change['because'])}"
        return
    for name, told in (("before", one), ("after", other)):
        if told is not None and told["value"] is not None:
            yield f"  {name}: {' '.join(told['concepts'])} of {told['accession']} by {told['rule']}"


def _shown(told: ComparedCell | None) -> str:
    return "no row" if told is None else told["value"] or f"({told['reason']})"


def render_summary(count: ChangeCount) -> Iterator[str]:
    """The counts for people, by metric."""
    changed = sum(count.changed.values())
    yield f"{changed:,} of {count.cells:,} cells change; {count.moved:,} stay and are of other lines"
    if count.changed:
        yield f"{'':34}" + "".join(f"{what:>9}" for what in CHANGE_KINDS)
    for key in dict.fromkeys(key for key, _ in sorted(count.changed)):
        yield f"{key:34}" + "".join(f"{count.changed[key, what]:>9}" for what in CHANGE_KINDS)
