"""A company at a glance: the figures of its newest twelve months, its balance sheet and its share price."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypedDict

from finapi.core.records import Date, Url, get_members
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.financials import cell_proof, metric_mapping, reasons
from finapi.market.financials.cells import Cell, Figure, HoleReason, Missing, build_holes, find_value
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.provenance import OperandRecord, list_operand_records
from finapi.market.financials.series_rows import FigureSeries, PriceOnDay, RowView
from finapi.market.reference import sectors
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction


class OverviewCompany(TypedDict):
    """The company of an overview."""

    ticker: str | None
    cik: str
    name: str
    sector: str | None
    industry: str | None


class OverviewAttributes(TypedDict):
    """Attributes as the company's best source states them, under the names of ``CompanyAttributes``."""

    sic_description: str | None


class OverviewFigures(TypedDict):
    """The figures of an overview, of the newest twelve months and their last day."""

    market_cap: Decimal | None
    enterprise_value: Decimal | None
    shares_outstanding: Decimal | None
    revenue: Decimal | None
    gross_profit: Decimal | None
    operating_income: Decimal | None
    net_income: Decimal | None
    total_debt: Decimal | None
    profit_margin: Decimal | None
    gross_margin: Decimal | None
    operating_margin: Decimal | None
    ebitda_margin: Decimal | None
    eps_diluted_ttm: Decimal | None
    book_value_per_share: Decimal | None
    free_cash_flow_per_share: Decimal | None
    dividend_yield: Decimal | None
    total_cash: Decimal | None
    float_shares: Decimal | None
    first_trade_date: Date | None
    short_pct_float: Decimal | None
    short_ratio: Decimal | None


class CompanyOverview(OverviewCompany, OverviewAttributes, OverviewFigures):
    """A company at a glance.

    ``sources`` are the accession numbers of the filings of the figures. ``operands`` are the facts from which twelve
    months were computed if no filing reports them. ``ink_urls`` show the figures that are one fact of an inline filing
    in the SEC's viewer.
    """

    currency: str
    holes: dict[str, HoleReason]
    sources: dict[str, str]
    operands: dict[str, list[OperandRecord]]
    ink_urls: dict[str, Url]


# The keys in series of figures that have another name in the overview.
_SERIES_KEYS = {
    "enterprise_value": "ev",
    "profit_margin": "net_margin",
    "eps_diluted_ttm": "eps_diluted",
    "free_cash_flow_per_share": "fcf_per_share",
}

# Figures that only exchanges and brokers know; filings do not contain them.
_NOT_FILED = ("float_shares", "first_trade_date", "short_pct_float", "short_ratio")


def find_newest_row(company_book: CompanyBook, price_on_day: PriceOnDay | None) -> RowView | None:
    """Return the row of the newest twelve months with net income or revenue, or of a newer fiscal year, or None."""
    newest: RowView | None = None
    # If both rows end on the same day, the first one is used, that of the twelve months.
    for kind in ("TTM", "A"):
        row = _find_row_with_income(FigureSeries(company_book, kind, "latest", price_on_day))
        if row is not None and (newest is None or row.period.end > newest.period.end):
            newest = row
    return newest


def _find_row_with_income(series: FigureSeries) -> RowView | None:
    for period in series.periods:
        row = series.get_row(period)
        if isinstance(row.get_cell("net_income"), Figure) or isinstance(row.get_cell("revenue"), Figure):
            return row
    return None


def build_overview(tx: Transaction, company: Company, attributes: CompanyAttributes, row: RowView) -> CompanyOverview:
    """Return the overview of a company from its attributes and its newest row."""
    sector, industry = sectors.get_names_of_sic(attributes.sic)
    series_keys = {name: _SERIES_KEYS.get(name, name) for name in get_members(OverviewFigures)}
    cells: dict[str, Cell] = {}
    for name, key in series_keys.items():
        if name == "total_cash":
            cells[name] = _compute_total_cash(row)
        elif name in _NOT_FILED:
            cells[name] = Missing(reasons.NOT_FILED)
        else:
            cells[name] = row.get_cell(key)
    book = row.series.company_book.book
    metrics = metric_mapping.get_mapping().metrics
    operands: dict[str, list[OperandRecord]] = {}
    sources: dict[str, str] = {}
    single_facts: dict[str, OperandRecord] = {}
    for name, cell in cells.items():
        if isinstance(cell, Figure):
            sources[name] = book.filings[cell.filing_index].accession
            if series_keys[name] not in metrics:
                continue
            facts = list_operand_records(row, series_keys[name], cell)
            if len(facts) > 1:
                operands[name] = facts
            elif facts:
                single_facts[name] = facts[0]
    all_facts = [*single_facts.values(), *(fact for facts in operands.values() for fact in facts)]
    cell_proof.add_fact_links(tx, company.cik, all_facts)
    overview: Any = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "name": company.name,
        "sector": sector,
        "industry": industry,
        **{name: getattr(attributes, name) for name in get_members(OverviewAttributes)},
        **{name: find_value(cell) for name, cell in cells.items()},
        "currency": book.currency,
        "holes": build_holes(cells),
        "operands": operands,
        "sources": sources,
        "ink_urls": {name: fact["ink_url"] for name, fact in single_facts.items() if fact["ink_url"] is not None},
    }
    return overview  # type: ignore[no-any-return]


def _compute_total_cash(row: RowView) -> Cell:
    """Return cash plus short-term investments, or cash alone if the balance sheet has no short-term investments."""
    cash = row.get_cell("cash_and_equivalents")
    investments = row.get_cell("short_term_investments")
    if isinstance(cash, Missing):
        return cash
    if isinstance(investments, Missing):
        return cash if investments.reason in reasons.NO_SUCH_LINE else investments
    return cash._replace(
        value=cash.value + investments.value,
        filing_index=max(cash.filing_index, investments.filing_index),
        method="derived",
    )
