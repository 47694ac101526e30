"""Accuracy of the standardised figures: against figures read by people, and against themselves.

Two measures are in two columns. Coverage is the share of expected figures for which any figure is served. Accuracy is
the share that is exactly right; an expected hole is right when no figure is served.
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
# Kind of series by the table's period_type.
KINDS = {"FY": "A", "Q": "Q", "YTD": "YTD"}

Books = Callable[[int], CompanyBook | None]


@dataclass(slots=True)
class Score:
    """Counts of one metric or company: expected and served figures, rows, and rows that are exactly right."""

    rows: int = 0
    right: int = 0
    expected: int = 0
    served: int = 0

    @property
    def accuracy(self) -> float:
        """Return the share of right rows, in per cent."""
        return round(100 * self.right / self.rows, 2) if self.rows else 100.0

    @property
    def coverage(self) -> float:
        """Return the share of expected figures that are served, in per cent."""
        return round(100 * self.served / self.expected, 2) if self.expected else 100.0

    def build_record(self) -> dict[str, Any]:
        """Return the score as JSON."""
        return {
            "rows": self.rows,
            "right": self.right,
            "expected": self.expected,
            "given": self.served,
            "accuracy_pct": self.accuracy,
            "coverage_pct": self.coverage,
        }


@dataclass(slots=True)
class Report:
    """Scores by metric and by company, every miss in words, and the results of the identities."""

    total: Score = field(default_factory=Score)
    by_metric: dict[str, Score] = field(default_factory=dict)
    by_company: dict[str, Score] = field(default_factory=dict)
    misses: list[dict[str, Any]] = field(default_factory=list)

    def build_record(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "total": self.total.build_record(),
            "by_metric": {key: self.by_metric[key].build_record() for key in sorted(self.by_metric)},
            "by_company": {key: self.by_company[key].build_record() for key in sorted(self.by_company)},
            "misses": self.misses,
        }


def parse_expected_rows(text: str, file: str) -> list[dict[str, str]]:
    """Return the rows of a table of figures (``truth/README.md``). Raise ParseError for any other text."""
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


def compare_figures(rows: Iterable[Mapping[str, str]], books: Books) -> Report:
    """Compare a table of expected figures with the series of its companies.

    A row with basis "both" counts twice.
    """
    report = Report()
    for row in rows:
        company_book = books(int(row["cik"]))
        for basis in BASES if row["basis"] == "both" else (row["basis"],):
            cell, name = _find_cell(row, company_book, basis)
            _count_row(report, row, basis, cell, name)
    return report


def _find_cell(row: Mapping[str, str], company_book: CompanyBook | None, basis: str) -> tuple[Cell | None, str]:
    """Return the cell of an expected figure and the name of its period, or (None, "") without a row."""
    row_view = None if company_book is None else _find_row(row, company_book, basis)
    if row_view is None:
        return None, ""
    period = row_view.period
    return row_view.get_cell(row["metric"]), f"{period.fiscal_year} {period.fiscal_period}"


def _find_row(row: Mapping[str, str], company_book: CompanyBook, basis: str) -> RowView | None:
    end = days.number(row["period_end"])
    annual = row["fiscal_period"] == "FY"
    kind = KINDS.get(row["period_type"], "A" if annual else "Q")
    series = FigureSeries(company_book, kind, basis)
    near: list[Period] = [period for period in series.periods if abs(period.end - end) <= SAME_DAYS]
    return series.get_row(min(near, key=lambda period: abs(period.end - end))) if near else None


def _count_row(report: Report, row: Mapping[str, str], basis: str, cell: Cell | None, name: str) -> None:
    expected_value = Decimal(row["value"]) if row["value"] else None
    served_value = cell.value if isinstance(cell, Figure) else None
    has_expected_name = name == f"{row['fiscal_year']} {row['fiscal_period']}"
    # A missing row is not an expected hole.
    is_right = served_value == expected_value and cell is not None and has_expected_name
    scores = (
        report.total,
        report.by_metric.setdefault(row["metric"], Score()),
        report.by_company.setdefault(row["ticker"], Score()),
    )
    for score in scores:
        score.rows += 1
        score.right += is_right
        score.expected += expected_value is not None
        score.served += expected_value is not None and served_value is not None
    if not is_right:
        report.misses.append(
            {
                "company": row["ticker"],
                "metric": row["metric"],
                "period": f"{row['fiscal_year']} {row['fiscal_period']} ({row['period_type']})",
                "period_end": row["period_end"],
                "basis": basis,
                "expected": None if expected_value is None else str(expected_value),
                "given": None if served_value is None else str(served_value),
                "why": _explain_miss(row, cell, name),
                "note": row["note"],
            }
        )


def _explain_miss(row: Mapping[str, str], cell: Cell | None, name: str) -> str:
    if cell is None:
        return "no row of this period is known"
    if isinstance(cell, Missing):
        return f"a hole: {cell.reason}"
    if name != f"{row['fiscal_year']} {row['fiscal_period']}":
        return f"the period is named {name}"
    concept = provenance.get_concept(cell)
    return f"taken from {concept} where {row['tag'] or 'nothing'} is expected"


# ---- identities


def check_identities(named_books: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """Compare the totals of every row of every company with their parts.

    Return by industry and total how many add up, and the residuals of those that do not.
    """
    counts_by_industry: dict[str, dict[str, dict[str, Any]]] = {}
    for name, company_book in named_books:
        for target, receipt, row in _iter_receipts(company_book):
            counts = counts_by_industry.setdefault(company_book.industry, {}).setdefault(
                target, {"checked": 0, "consistent": 0, "residuals": []}
            )
            counts["checked"] += 1
            counts["consistent"] += receipt["status"] == "consistent"
            if (
                receipt["status"] != "consistent"
                and receipt["reported"] is not None
                and receipt["recomputed"] is not None
            ):
                counts["residuals"].append(
                    {
                        "company": name,
                        "period": f"{row.period.fiscal_year} {row.period.fiscal_period}",
                        "reported": str(receipt["reported"]),
                        "residual": str(receipt["reported"] - receipt["recomputed"]),
                        "tolerance": str(receipt["tolerance"]),
                    }
                )
    return {industry: dict(sorted(counts_by_industry[industry].items())) for industry in sorted(counts_by_industry)}


def _iter_receipts(company_book: CompanyBook) -> Iterator[tuple[str, templates.Receipt, RowView]]:
    statements = templates.get_templates().by_industry[company_book.industry]
    for kind in ("A", "Q", "YTD"):
        series = FigureSeries(company_book, kind, "latest")
        for period in series.periods:
            if kind == "YTD" and period.quarter_number in (1, 4):
                # The same periods are among the quarters and the years.
                continue
            row = series.get_row(period)
            for statement in statements.values():
                for total in statement.totals:
                    receipt = templates.build_receipt(total, row.get_cell)
                    if receipt["status"] != "unchecked":
                        yield total.target, receipt, row


# ---- operands


def check_operands(named_books: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """Return the number of cells of all rows, and the cells that are not the sum of their operands."""
    mapping, cells, wrong = metric_mapping.get_mapping(), 0, []
    for name, company_book in named_books:
        for kind in ("A", "Q", "YTD", "TTM"):
            series = FigureSeries(company_book, kind, "latest")
            for row in map(series.get_row, series.periods):
                for key in (*mapping.metrics, *mapping.derived):
                    cell = row.get_cell(key)
                    if not isinstance(cell, Figure):
                        continue
                    cells += 1
                    operands = row.list_operands(key, cell)
                    operand_sum = sum((sign * Decimal(vintage.value) for sign, _, vintage in operands), Decimal(0))
                    if operand_sum != cell.value or not operands:
                        period = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period}"
                        wrong.append(f"{name} {period} {key}: {cell.value}, by its operands {operand_sum}")
    return {"cells": cells, "wrong": wrong}


# ---- doubts


def list_doubts(named_books: Iterable[tuple[str, CompanyBook]]) -> dict[str, Any]:
    """Return the number of cells of all rows of years, quarters and years to date, and the doubted ones."""
    cells, doubts = 0, []
    for name, company_book in named_books:
        for kind in ("A", "Q", "YTD"):
            series = FigureSeries(company_book, kind, "latest")
            for row in map(series.get_row, series.periods):
                cells += sum(isinstance(row.get_cell(key), Figure) for key in metric_mapping.get_mapping().metrics)
                for key, check in figure_doubts.list_failed_checks(row).items():
                    period = f"{kind} {row.period.fiscal_year} {row.period.fiscal_period}"
                    served_value, implied_value = row.find_value(key), check["implied"]
                    doubts.append(f"{name} {period} {key}: {served_value}, by {check['rule']} {implied_value}")
    return {"cells": cells, "doubted": doubts}
