"""A company at a glance: what its newest twelve months, its balance sheet and its share price come to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypedDict

from finapi.core.records import Date, get_members
from finapi.market.financials import metric_mapping, reasons
from finapi.market.financials.cells import Cell, Figure, HoleReason, Missing, build_holes, find_value
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_series import OperandRecord, list_operand_records
from finapi.market.financials.series_rows import FigureSeries, PriceOnDay, RowView
from finapi.market.reference.companies import Company


class OverviewCompany(TypedDict):
    """Whose figures they are."""

    ticker: str | None
    cik: str
    name: str
    sector: str | None
    industry: str | None


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


class CompanyOverview(OverviewCompany, OverviewFigures):
    """A company at a glance; ``sources`` are the accession numbers of the filings that figures are from, ``operands``
    what twelve months are made of that no filing tells whole."""

    currency: str
    holes: dict[str, HoleReason]
    sources: dict[str, str]
    operands: dict[str, list[OperandRecord]]


# The metrics, derived figures and ratios that are called otherwise here.
_KEYS = {
    "enterprise_value": "ev",
    "profit_margin": "net_margin",
    "eps_diluted_ttm": "eps_diluted",
    "free_cash_flow_per_share": "fcf_per_share",
}

# What exchanges and brokers know, and no filing says.
_NOT_FILED = ("float_shares", "first_trade_date", "short_pct_float", "short_ratio")


def find_newest_row(held: CompanyBook, price: PriceOnDay | None) -> RowView | None:
    """The newest twelve months that are known whole, else the newest fiscal year; None when neither is.

    Twelve months older than the newest fiscal year lose to it.
    """
    found = []
    for kind in ("TTM", "A"):
        series = FigureSeries(held, kind, "latest", price)
        rows = (series.get_row(period) for period in series.periods)
        # A row that has neither is none to answer from.
        known = (row for row in rows if any(isinstance(row.get_cell(key), Figure) for key in ("net_income", "revenue")))
        found += [row for row in [next(known, None)] if row is not None]
    # Of two that end on one day the first, the twelve months.
    return max(found, key=lambda row: row.period.end, default=None)


def build_overview(company: Company, sector: str | None, industry: str | None, row: RowView) -> CompanyOverview:
    """The overview of a company out of its newest row."""
    cells: dict[str, Cell] = {}
    for member in get_members(OverviewFigures):
        if member == "total_cash":
            cells[member] = _total_cash(row)
        elif member in _NOT_FILED:
            cells[member] = Missing(reasons.NOT_FILED)
        else:
            cells[member] = row.get_cell(_KEYS.get(member, member))
    book = row.series.company_book.book
    metric = {key: _KEYS.get(key, key) for key in cells if _KEYS.get(key, key) in metric_mapping.get_mapping().metrics}
    made: Any = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "name": company.name,
        "sector": sector,
        "industry": industry,
        **{key: find_value(cell) for key, cell in cells.items()},
        "currency": book.currency,
        "holes": build_holes(cells),
        "operands": {
            key: list_operand_records(row, name, cell)
            for key, name in metric.items()
            if isinstance(cell := cells[key], Figure) and len(cell.operands) > 1
        },
        "sources": {
            key: book.filings[cell.filing_index].accession for key, cell in cells.items() if isinstance(cell, Figure)
        },
    }
    return made  # type: ignore[no-any-return]


def _total_cash(row: RowView) -> Cell:
    """Cash, and short-term investments where the balance sheet has such a line."""
    cash, invested = row.get_cell("cash_and_equivalents"), row.get_cell("short_term_investments")
    if isinstance(cash, Missing):
        return cash
    if isinstance(invested, Missing):
        return cash if invested.reason in reasons.NO_SUCH_LINE else invested
    return cash._replace(
        value=cash.value + invested.value, filing_index=max(cash.filing_index, invested.filing_index), method="derived"
    )
