"""How right the standardised figures are: against figures read by people, and against themselves.

Two different questions stand in two columns. Coverage: for how many expected figures is one given at all.
Accuracy: how many are exactly right, an expected hole counting as right when no figure is given.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.market.financials import BASES, figure_doubts, metric_mapping, provenance, templates
from finapi.market.financials.cells import Cell, Figure, Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.periods import SAME_DAYS, Period
from finapi.market.financials.series_rows import FigureSeries, RowView

COLUMNS = (
    *("ticker", "cik", "metric", "period_type", "period_end", "fiscal_year", "fiscal_period"),
    *("basis", "value", "tag", "accession", "note"),
)
# period_type of the table: the kind of series that holds it.
KINDS = {"FY": "A", "Q": "Q", "YTD": "YTD"}

Books = Callable[[int], CompanyBook | None]


@dataclass(slots=True)
class Score:
    """Counts of one metric or company: figures expected and given, rows and rows that are exactly right."""

    rows: int = 0
    right: int = 0
    expected: int = 0
    given: int = 0

    @property
    def accuracy(self) -> float:
        """Right rows of all, in per cent."""
        return round(100 * self.right / self.rows, 2) if self.rows else 100.0

    @property
    def coverage(self) -> float:
        """Figures given of those expected, in per cent."""
        return round(100 * self.given / self.expected, 2) if self.expected else 100.0

    def shown(self) -> dict[str, Any]:
        """The score as it is printed."""
        return {
            "rows": self.rows,
            "right": self.right,
            "expected": self.expected,
            "given": self.given,
            "accuracy_pct": self.accuracy,
            "coverage_pct": self.coverage,
        }


@dataclass(slots=True)
class Report:
    """Scores by metric and by company, every miss in words, and what the identities say."""

    total: Score = field(default_factory=Score)
    by_metric: dict[str, Score] = field(default_factory=dict)
    by_company: dict[str, Score] = field(default_factory=dict)
    misses: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "total": self.total.shown(),
            "by_metric": {key: self.by_metric[key].shown() for key in sorted(self.by_metric)},
            "by_company": {key: self.by_company[key].shown() for key in sorted(self.by_company)},
            "misses": self.misses,
        }


def expected(text: str, file: str) -> list[dict[str, str]]:
    """The rows of a table of figures (``truth/README.md``); ParseError for a table that is none."""
    reader = csv.DictReader(io.StringIO(text), delimiter="\t")
    missing = set(COLUMNS) - set(reader.fieldnames or ())
    if missing:
        raise ParseError(file, "line 1", f"has no column {min(missing)}")
    rows = []
    for row in reader:
        if (
            row["metric"] not in metric_mapping.get_mapping().metrics
            and row["metric"] not in metric_mapping.get_mapping().derived
        ):
            raise ParseError(file, f"line {reader.line_num}", f"{row['metric']!r} is not a metric")
        try:
            days.number(row["period_end"])
            Decimal(row["value"] or "0")
        except (ValueError, InvalidOperation):
            raise ParseError(file, f"line {reader.line_num}", "holds no figure of a day") from None
        rows.append(row)
    return rows


def compared(rows: Iterable[Mapping[str, str]], books: Books) -> Report:
    """A table of expected figures against the series of its companies; a row with basis "both" counts twice."""
    report = Report()
    for row in rows:
        held = books(int(row["cik"]))
        for basis in BASES if row["basis"] == "both" else (row["basis"],):
            cell, name = _cell(row, held, basis)
            _count(report, row, basis, cell, name)
    return report


def _cell(row: Mapping[str, str], held: CompanyBook | None, basis: str) -> tuple[Cell | None, str]:
    """The cell of an expected figure and the name of its row; None when no row is of that period."""
    found = None if held is None else _row(row, held, basis)
    if found is None:
        return None, ""
    period = found.period
    return found.get_cell(row["metric"]), f"{period.fiscal_year} {period.fiscal_period}"


def _row(row: Mapping[str, str], held: CompanyBook, basis: str) -> RowView | None:
    end = days.number(row["period_end"])
    annual = row["fiscal_period"] == "FY"
    kind = KINDS.get(row["period_type"], "A" if annual else "Q")
    listed = FigureSeries(held, kind, basis)
    near: list[Period] = [one for one in listed.periods if abs(one.end - end) <= SAME_DAYS]
    return listed.get_row(min(near, key=lambda one: abs(one.end - end))) if near else None


def _count(report: Report, row: Mapping[str, str], basis: str, cell: Cell | None, name: str) -> None:
    wanted = Decimal(row["value"]) if row["value"] else None
    got = cell.value if isinstance(cell, Figure) else None
    named = name == f"{row['fiscal_year']} {row['fiscal_period']}"
    # A row that is missing altogether is no expected hole.
    right = got == wanted and cell is not None and named
    scores = (
        report.total,
        report.by_metric.setdefault(row["metric"], Score()),
        report.by_company.setdefault(row["ticker"], Score()),
    )
    for score in scores:
        score.rows += 1
        score.right += right
        score.expected += wanted is not None
        score.given += wanted is not None and got is not None
    if not right:
        report.misses.append(
            {
                "company": row["ticker"],
                "metric": row["metric"],
                "period": f"{row['fiscal_year']} {row['fiscal_period']} ({row['period_type']})",
                "period_end": row["period_end"],
                "basis": basis,
                "expected": None if wanted is None else str(wanted),
                "given": None if got is None else str(got),
                "why": _why(row, cell, name),
                "note": row["note"],
            }
        )


def _why(row: Mapping[str, str], cell: Cell | None, name: str) -> str:
    if cell is None:
        return "no row of this period is known"
    if isinstance(cell, Missing):
        return f"a hole: {cell.reason}"
    if name != f"{row['fiscal_year']} {row['fiscal_period']}":
        return f"the period is named {name}"
    taken = provenance.get_concept(cell)
    return f"taken from {taken} where {row['tag'] or 'nothing'} is expected"


# ---- identities


def identities(named: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """What the totals of every row of every company say, by industry and total: how many add up, and residuals of
    those that do not."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, held in named:
        for target, one, row in _receipts(held):
            of = found.setdefault(held.industry, {}).setdefault(
                target, {"checked": 0, "consistent": 0, "residuals": []}
            )
            of["checked"] += 1
            of["consistent"] += one["status"] == "consistent"
            if one["status"] != "consistent" and one["reported"] is not None and one["recomputed"] is not None:
                of["residuals"].append(
                    {
                        "company": name,
                        "period": f"{row.period.fiscal_year} {row.period.fiscal_period}",
                        "reported": str(one["reported"]),
                        "residual": str(one["reported"] - one["recomputed"]),
                        "tolerance": str(one["tolerance"]),
                    }
                )
    return {industry: dict(sorted(found[industry].items())) for industry in sorted(found)}


def _receipts(held: CompanyBook) -> Iterator[tuple[str, templates.Receipt, RowView]]:
    statements = templates.get_templates().by_industry[held.industry]
    for kind in ("A", "Q", "YTD"):
        listed = FigureSeries(held, kind, "latest")
        for period in listed.periods:
            if kind == "YTD" and period.quarter_number in (1, 4):
                # The same periods stand among the quarters and the years.
                continue
            row = listed.get_row(period)
            for statement in statements.values():
                for total in statement.totals:
                    one = templates.build_receipt(total, row.get_cell)
                    if one["status"] != "unchecked":
                        yield total.target, one, row


# ---- operands


def reproduced(named: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """How many cells of metrics and derived figures all rows have, and those that their operands do not make."""
    mapping, cells, wrong = metric_mapping.get_mapping(), 0, []
    for name, held in named:
        for kind in ("A", "Q", "YTD", "TTM"):
            listed = FigureSeries(held, kind, "latest")
            for row in map(listed.get_row, listed.periods):
                for key in (*mapping.metrics, *mapping.derived):
                    cell = row.get_cell(key)
                    if not isinstance(cell, Figure):
                        continue
                    cells += 1
                    operands = row.list_operands(key, cell)
                    told = sum((sign * Decimal(vintage.value) for sign, _, vintage in operands), Decimal(0))
                    if told != cell.value or not operands:
                        period = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period}"
                        wrong.append(f"{name} {period} {key}: {cell.value}, by its operands {told}")
    return {"cells": cells, "wrong": wrong}


# ---- doubts


def doubted(named: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """How many cells of metrics the rows of years, quarters and years to date have, and those that are doubted."""
    cells, found = 0, []
    for name, held in named:
        for kind in ("A", "Q", "YTD"):
            listed = FigureSeries(held, kind, "latest")
            for row in map(listed.get_row, listed.periods):
                cells += sum(isinstance(row.get_cell(key), Figure) for key in metric_mapping.get_mapping().metrics)
                for key, check in figure_doubts.list_failed_checks(row).items():
                    period = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period}"
                    told, like = row.find_value(key), check["implied"]
                    found.append(f"{name} {period} {key}: {told}, by {check['rule']} {like}")
    return {"cells": cells, "doubted": found}
