"""Of every line that filings at hand print, by its label alone: what it means is never said to be not reported."""

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
from finapi.market.statements.filed_statements import FiledStatement
from finapi.store.db import Transaction
from tests.conftest import SHARED, needs_shared
from tests.measure import printed
from tests.measure.printed import PrintedRule

pytestmark = [needs_shared, pytest.mark.slow]

PAGES = {"IS": "income", "BS": "balance", "CF": "cash-flow"}
# Ford prints a balance sheet of its sectors beside the consolidated one: lines of the automotive sector alone.
OF_A_SECTOR = {
    ("0001140361-09-017928", metric)
    for metric in ("accounts_receivable", "total_current_assets", "total_current_liabilities", "long_term_debt")
}


class PrintedFigure(NamedTuple):
    """A figure on a line that means a metric: the last day and the quarters of its column; no quarters at one day."""

    accession: str
    rule: PrintedRule
    label: str
    end: int
    quarters: int


def unit_of(unit: str | None, values: list[Decimal]) -> str:
    """money, each or shares, as rules have it; empty for another."""
    if unit is not None and re.fullmatch("[A-Z]{3}", unit):
        return "each" if all(abs(value) < printed.EACH for value in values) else "money"
    return "shares" if unit == "shares" else "each" if unit and unit.endswith("/shares") else ""


def figures(accession: str, rule: PrintedRule, statement: FiledStatement) -> Iterator[PrintedFigure]:
    """Every figure of a page on a line whose label a rule means, however many lines there are."""
    for row in statement["rows"]:
        label = printed.plain(row["label"] or "")
        if row["abstract"] or not re.fullmatch(rule.means, label) or re.search(rule.but, label):
            continue
        told = [(column, value) for column, value in zip(statement["columns"], row["values"], strict=True) if value]
        if unit_of(row["unit"], [Decimal(value) for _, value in told]) == rule.unit:
            for column, _ in told:
                end, start = days.number(column["end_date"]), column["start_date"]
                quarters = 0 if start is None else round((end - days.number(start) + 1) / 91.3)
                if start is not None and metric_mapping.get_mapping().metrics[rule.metric].aggregation == "opening":
                    # It stands in the column that it opens.
                    end = days.number(start) - 1
                yield PrintedFigure(accession, rule, row["label"] or "", end, quarters)


def printed_figures(tx: Transaction, cik: int, held: CompanyBook) -> Iterator[PrintedFigure]:
    """Every figure that a company's filings print on the lines that rules mean, on all pages of a statement."""
    for accession in {filing.accession for filing in held.book.filings}:
        report = filed_statements.find_report_by_accession(tx, accession)
        statements = filed_statements.read_statements(tx, report)[0] if report is not None and report.cik == cik else {}
        for rule in printed.RULES:
            if rule.metric not in printed._NOT_FOR.get(held.industry, ()):
                for name, statement in statements.items():
                    if name.rstrip("-0123456789") == PAGES[rule.statement]:
                        yield from figures(accession, rule, statement)


def cell(rows: list[tuple[Period, RowView]], one: PrintedFigure) -> Any:
    """What is told of a metric for the period of a figure; None of a period that no series has."""
    over = metric_mapping.get_mapping().metrics[one.rule.metric].aggregation
    for period, row in rows:
        quarters = 0 if period.start is None else round((period.end - period.start + 1) / 91.3)
        day = period.start - 1 if over == "opening" and period.start is not None else period.end
        if abs(day - one.end) <= 16 and one.quarters in (0, quarters):
            return row.get_cell(one.rule.metric)
    return None


def test_nothing_is_not_reported_that_a_face_has_a_line_for(app: App) -> None:
    ingest.run(app, [SHARED / "edgar"], IngestOptions(), lambda outcome: None)
    seen, missing = 0, set()
    with app.db.read() as tx:
        for cik in company_books.list_ciks(tx):
            held = company_books.load(tx, cik)
            listed = [FigureSeries(held, kind, "original") for kind in ("A", "YTD", "Q")]
            rows = [(period, series.get_row(period)) for series in listed for period in series.periods]
            for one in printed_figures(tx, cik, held):
                told = cell(rows, one)
                seen += told is not None
                if isinstance(told, Missing) and told.reason == "not_reported":
                    missing.add((one.accession, one.rule.metric))
    assert missing <= OF_A_SECTOR
    assert seen > 28_000
