"""The handler for the overview of a company: ``/tickers/{ticker}/overview``."""

from __future__ import annotations

from typing import Literal, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.financials import company_overview, price_lookup
from finapi.market.financials.company_overview import CompanyOverview
from finapi.market.financials.series_rows import PriceSource
from finapi.market.prices import price_series
from finapi.market.reference import companies
from finapi.web.financials import timeseries
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import TICKER
from finapi.web.http.schema import Envelope

PARAMS = (TICKER,)


class OverviewMeta(TypedDict):
    """The period of an overview's figures, and the last price in it. ``holes`` has a reason if the price is stale."""

    period: Literal["A", "TTM"]
    fiscal_year: int
    fiscal_period: str
    period_end: Date
    price_date: Date | None
    price_source: PriceSource | None


SHAPE = Envelope[CompanyOverview, OverviewMeta]


def get_overview(call: Call) -> Response:
    """Return the figures of a company's newest twelve months. A missing figure is null, with the reason."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        company_book = timeseries.get_book(call, tx, company)
        row = company_overview.find_newest_row(company_book, price_lookup.build_price_lookup(tx, company))
        if row is None:
            raise ApiError("NOT_COVERED", f"finapi has no fiscal year of {company.name} with revenue or net income.")
        overview = company_overview.build_overview(tx, company, companies.get_attributes(tx, company.cik), row)
        period = row.build_period()
        close = price_series.find_close(
            tx, company.ticker, period["period_end"], max_age_days=price_series.ANY_AGE_DAYS
        )
    meta = {
        "period": row.series.kind,
        "fiscal_year": period["fiscal_year"],
        "fiscal_period": period["fiscal_period"],
        "period_end": period["period_end"],
        "price_date": close and close.date,
        "price_source": close and close.source,
    }
    return call.success(overview, meta)
