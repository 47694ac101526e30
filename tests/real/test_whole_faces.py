"""Every line that the stored filings print, identified by its label: its metric is never "not reported"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, metric_mapping
from finapi.market.financials.cells import Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.periods import Period
from finapi.market.financials.series_rows import FigureSeries, RowView
from finapi.market.intake import ingest
from finapi.market.statements import filed_statements
from finapi.market.statements.filed_statements import FiledStatement, StatementRow
from finapi.store.db import Transaction
from tests.conftest import SHARED, needs_shared
from tests.measure import printed
from tests.measure.printed import PrintedRule

pytestmark = [needs_shared, pytest.mark.slow]

PAGES = {"IS": "income", "BS": "balance", "CF": "cash-flow", "CI": "comprehensive-income"}
# Ford prints a balance sheet of its sectors next to the consolidated one: lines of the automotive sector only.
SECTOR_LINES = {
    ("0001140361-09-017928", metric)
    for metric in ("accounts_receivable", "total_current_assets", "total_current_liabilities", "long_term_debt")
}
CLOSING_CASH = next(rule for rule in printed.RULES if rule.metric == "cash_at_end_of_period")


class PrintedFigure(NamedTuple):
    """A figure on a line of a metric.

    It has the last day and the number of quarters of its column; an instant has no quarters.
    """

    accession: str
    rule: PrintedRule
    label: str
    end: int
    quarters: int


def classify_unit(unit: str | None, values: list[Decimal]) -> str:
    """Return "money", "each" or "shares" as rules name units, or "" for another unit."""
    if unit is not None and re.fullmatch("[A-Z]{3}", unit):
        return "each" if all(abs(value) < printed.MAX_PER_SHARE for value in values) else "money"
    return "shares" if unit == "shares" else "each" if unit and unit.endswith("/shares") else ""


def matches_rule(row: StatementRow, rule: PrintedRule) -> bool:
    """Return True if the label of a line matches a rule."""
    label = printed.normalise_label(row["label"] or "")
    return not row["abstract"] and bool(re.fullmatch(rule.means, label)) and not re.search(rule.but, label)


def list_rows_of_statement(rule: PrintedRule, statement: FiledStatement) -> list[StatementRow]:
    """Return the lines of a page that belong to a rule's statement.

    Lines below the closing cash of a cash flow statement are not cash flows. "Common stock issued" is there, for
    example, where a company paid with stock for another one (0000950123-09-040810).
    """
    rows = statement["rows"]
    if rule.statement != "CF":
        return rows
    closing_lines = [number for number, row in enumerate(rows) if matches_rule(row, CLOSING_CASH)]
    return rows[: closing_lines[-1] + 1] if closing_lines else rows


def iter_figures(accession: str, rule: PrintedRule, statement: FiledStatement) -> Iterator[PrintedFigure]:
    """Yield every figure of a page on the lines whose label matches a rule."""
    for row in list_rows_of_statement(rule, statement):
        if not matches_rule(row, rule):
            continue
        values = [(column, value) for column, value in zip(statement["columns"], row["values"], strict=True) if value]
        if classify_unit(row["unit"], [Decimal(value) for _, value in values]) == rule.unit:
            for column, _ in values:
                end, start = days.number(column["end_date"]), column["start_date"]
                quarters = 0 if start is None else round((end - days.number(start) + 1) / 91.3)
                if start is not None and metric_mapping.get_mapping().metrics[rule.metric].aggregation == "opening":
                    # An opening balance is in the column that it opens.
                    end = days.number(start) - 1
                yield PrintedFigure(accession, rule, row["label"] or "", end, quarters)


def iter_printed_figures(tx: Transaction, cik: int, company_book: CompanyBook) -> Iterator[PrintedFigure]:
    """Yield every figure that a company's filings print on lines of rules, on all pages of a statement."""
    for accession in {filing.accession for filing in company_book.book.filings}:
        report = filed_statements.find_report_by_accession(tx, accession)
        statements = filed_statements.read_statements(tx, report)[0] if report is not None and report.cik == cik else {}
        for rule in printed.RULES:
            if rule.metric not in printed.INAPPLICABLE_METRICS.get(company_book.industry, ()):
                for name, statement in statements.items():
                    if name.rstrip("-0123456789") == PAGES[rule.statement]:
                        yield from iter_figures(accession, rule, statement)


def find_cell(rows: list[tuple[Period, RowView]], figure: PrintedFigure) -> Any:
    """Return the served cell of a figure's metric and period, or None if no series has the period."""
    aggregation = metric_mapping.get_mapping().metrics[figure.rule.metric].aggregation
    for period, row in rows:
        quarters = 0 if period.start is None else round((period.end - period.start + 1) / 91.3)
        day = period.start - 1 if aggregation == "opening" and period.start is not None else period.end
        if abs(day - figure.end) <= 16 and figure.quarters in (0, quarters):
            return row.get_cell(figure.rule.metric)
    return None


def test_no_printed_line_is_reported_as_missing(app: App) -> None:
    ingest.run(app, [SHARED / "edgar"], IngestOptions(), lambda outcome: None)
    cell_count, missing = 0, set()
    with app.db.read() as tx:
        for cik in company_books.list_ciks(tx):
            company_book = company_books.load(tx, cik)
            all_series = [FigureSeries(company_book, kind, "original") for kind in ("A", "YTD", "Q")]
            rows = [(period, series.get_row(period)) for series in all_series for period in series.periods]
            for figure in iter_printed_figures(tx, cik, company_book):
                served_cell = find_cell(rows, figure)
                cell_count += served_cell is not None
                if isinstance(served_cell, Missing) and served_cell.reason == "not_reported":
                    missing.add((figure.accession, figure.rule.metric))
    assert missing <= SECTOR_LINES
    assert cell_count > 28_000
