"""The price of a company's share on a day, for ratios."""

from __future__ import annotations

from decimal import Decimal

from finapi.core import days
from finapi.market.financials import reasons
from finapi.market.financials.series_rows import PriceOnDay
from finapi.market.prices import price_series
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction


def build_price_lookup(tx: Transaction, company: Company) -> PriceOnDay:
    """Return a function that returns the close of the company's first ticker on a day, as traded, or a reason code."""

    def get_price(day: int) -> Decimal | str:
        close = price_series.find_close(tx, company.ticker, days.iso(day), max_age_days=price_series.ANY_AGE_DAYS)
        if close is None:
            return reasons.NO_PRICE
        is_stale = day - days.number(close.date) > price_series.STALE_DAYS
        return reasons.STALE_PRICE if is_stale else close.close

    return get_price
