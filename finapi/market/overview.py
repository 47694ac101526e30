"""A company at a glance: what its newest twelve months, its balance sheet and its share price come to."""

from __future__ import annotations

from finapi.market import reasons
from finapi.market.cells import Cell, Figure, Hole
from finapi.market.company_books import CompanyBook
from finapi.market.rows import Price, RowView, Series

# The members of an overview and the metric, derived figure or ratio that each is.
KEYS = {
    "market_cap": "market_cap",
    "enterprise_value": "ev",
    "shares_outstanding": "shares_outstanding",
    "revenue": "revenue",
    "gross_profit": "gross_profit",
    "operating_income": "operating_income",
    "net_income": "net_income",
    "total_debt": "total_debt",
    "profit_margin": "net_margin",
    "gross_margin": "gross_margin",
    "operating_margin": "operating_margin",
    "ebitda_margin": "ebitda_margin",
    "eps_diluted_ttm": "eps_diluted",
    "book_value_per_share": "book_value_per_share",
    "free_cash_flow_per_share": "fcf_per_share",
    "dividend_yield": "dividend_yield",
}

# What exchanges and brokers know, and no filing says.
NOT_FILED = ("float_shares", "first_trade_date", "short_pct_float", "short_ratio")

# A row that knows neither is none to answer from.
_TELLING = ("net_income", "revenue")


def newest(held: CompanyBook, price: Price | None) -> RowView | None:
    """The newest twelve months that are known whole, else the newest fiscal year; None when neither is.

    Twelve months older than the newest fiscal year lose to it.
    """
    found = []
    for kind in ("TTM", "A"):
        series = Series(held, kind, "latest", price)
        rows = (series.row(period) for period in series.periods)
        told = (row for row in rows if any(isinstance(row.cell(key), Figure) for key in _TELLING))
        found += [row for row in [next(told, None)] if row is not None]
    # Of two that end on one day the first, the twelve months.
    return max(found, key=lambda row: row.period.end, default=None)


def cells(row: RowView) -> dict[str, Cell]:
    """Every member of the overview as a figure or a hole."""
    made: dict[str, Cell] = {member: row.cell(key) for member, key in KEYS.items()}
    made["total_cash"] = _total_cash(row)
    return made | dict.fromkeys(NOT_FILED, Hole(reasons.NOT_FILED))


def _total_cash(row: RowView) -> Cell:
    """Cash, and short-term investments where the balance sheet has such a line."""
    cash, invested = row.cell("cash_and_equivalents"), row.cell("short_term_investments")
    if isinstance(cash, Hole):
        return cash
    if isinstance(invested, Hole):
        lacking = invested.reason in (reasons.NOT_REPORTED, reasons.NOT_APPLICABLE)
        return cash if lacking else invested
    return cash._replace(
        value=cash.value + invested.value, place=max(cash.place, invested.place), method="derived"
    )
