"""Handlers for screens (companies filtered by their ratios) and for the valuation of a company.

A screen reads the stored latest year of each company. If facts or rules change, a worker computes and stores the
affected years again (:mod:`finapi.market.intake.latest_years_work`). If only a few years are due, a screen computes
them itself. If more are due, as after an upgrade, the screen compares the other companies and states how many are
missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypedDict

from finapi.app import App
from finapi.core.counts import format_count
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date
from finapi.market.financials import latest_years, price_lookup
from finapi.market.financials.latest_years import (
    AppliedBound,
    Bound,
    LatestYear,
    ScreenedCompany,
    Valuation,
)
from finapi.market.financials.series_query import SeriesQuery, check_query, select_periods
from finapi.market.financials.series_rows import FigureSeries, PriceSource
from finapi.market.intake import latest_years_work
from finapi.market.prices import price_series
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.financials import timeseries
from finapi.web.financials.company_params import AS_OF, BASIS
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, path_param
from finapi.web.http.schema import Envelope

_PERIOD_NAMES = {"A": "fiscal year", "Q": "quarter", "TTM": "twelve months"}
MAX_YEARS_DUE = 100  # Maximum number of years that a screen computes itself, which takes a second or two.

PARAMS = (
    *(
        Param(f"{key}_{side}", "number", help=f"{key} {words} this.", example="0")
        for key in latest_years.KEYS
        for side, words in (("gt", "greater than"), ("lt", "less than"))
    ),
    Param(
        "where",
        "words",
        help="Conditions on metrics, their growth over a year, derived figures and ratios. Units: 1k, 1m, 1bn, 1t.",
        example="revenue>1bn,revenue_growth>0.1",
    ),
    Param(
        "period",
        default="A",
        allowed=latest_years.SCREEN_PERIODS,
        help="The period of the figures: the latest fiscal year (A), quarter (Q) or twelve months (TTM).",
        example="A",
    ),
    Param("metrics", "words", help="Keys to return in addition to those in the filters.", example="roe,net_margin"),
    Param("cik", "words", help="Only these companies.", example="320193"),
    Param("ticker", "words", help="Only these companies.", example="AAPL,MSFT"),
    limit_param(100, 1000),
    OFFSET,
)
VALUATION_PARAMS = (
    path_param("id", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL"),
    timeseries.PERIOD,
    replace(timeseries.YEARS, default="5"),
    AS_OF,
    BASIS,
)


class ScreenPage(TypedDict):
    """The page of a screen."""

    limit: int
    offset: int
    has_more: bool


class AppliedScreen(TypedDict):
    """The filters of a screen.

    ``list_filtered``: only selected companies were compared. ``left_out``: the number of companies up to the last row
    whose latest year cannot be computed; they are left out of screens until their facts change. ``pending``: the number
    of companies that were not compared, because their figures are being computed after an upgrade or an import; repeat
    the call in a minute.
    """

    grain: str
    latest_period_semantics: str
    filters_applied: dict[str, AppliedBound]
    metrics_returned: list[str]
    list_filtered: bool
    left_out: int
    pending: int


class ScreenMeta(TypedDict):
    """The page and the filters of a screen."""

    pagination: ScreenPage
    screen: AppliedScreen


class ValuationMeta(TypedDict):
    """The company of a valuation and its last price. ``mode`` and ``covered`` are constants."""

    ticker: str | None
    cik: str
    covered: bool
    period: str
    years: int
    mode: str
    price_date: Date | None
    price_source: PriceSource | None
    valuation_family: bool


SHAPE = Envelope[list[ScreenedCompany], ScreenMeta]
VALUATION_SHAPE = Envelope[list[Valuation], ValuationMeta]


# ---- the screen


def screen_companies(call: Call) -> Response:
    """Return the companies whose latest period passes every filter, by CIK."""
    params = call.params
    bounds = latest_years.parse_bounds(params)
    latest_years.add_conditions(bounds, params["where"] or ())
    metrics = params["metrics"] or ()
    for key in metrics:
        latest_years.check_key(key, "metrics")
    keys = list(dict.fromkeys((*bounds, *metrics))) or list(latest_years.KEYS)
    offset, limit = params["offset"], params["limit"]
    with call.app.db.read() as tx:
        omissions = Omissions()
        selected_ciks = _find_selected_ciks(tx, params)
        passing = _iter_passing(call.app, tx, selected_ciks, bounds, omissions, params["as_of"], params["period"])
        # Read one more than the page has, to know if there are more.
        passed = list(islice(passing, offset, offset + limit + 1))
        rows = []
        for cik, year in passed[:limit]:
            company = companies.get_by_cik(tx, cik)
            price_source = timeseries.find_price_source(tx, company)
            rows.append(latest_years.build_screened(company, year, keys, price_source))
    if omissions.pending_count and call.requested_table_type is not None:
        pending_companies = format_count(omissions.pending_count, "company", "companies")
        message = (
            f"Figures of {pending_companies} are being computed after an upgrade or an import. A "
            "table could not state that they are missing; request JSON, or try again in a minute."
        )
        details = {"pending": omissions.pending_count}
        raise ApiError("UNAVAILABLE", message, details=details, headers={"Retry-After": "10"})
    period_name = _PERIOD_NAMES[params["period"]]
    applied = {
        "grain": "company",
        "latest_period_semantics": f"the last {period_name} that the company reported, as known last",
        "filters_applied": {key: bound.build_record() for key, bound in bounds.items()},
        "metrics_returned": keys,
        "list_filtered": bool(params["cik"] or params["ticker"]),
        "left_out": omissions.failed_count,
        "pending": omissions.pending_count,
    }
    pagination = {"limit": limit, "offset": offset, "has_more": len(passed) > limit}
    response = call.success(rows, {"pagination": pagination, "screen": applied})
    response.is_preliminary = omissions.pending_count > 0
    return response


@dataclass
class Omissions:
    """The numbers of companies that a screen does not compare."""

    failed_count: int = 0  # Their latest year cannot be computed.
    pending_count: int = 0  # Their latest year is due, and too many are for the screen to compute them itself.


def _iter_passing(
    app: App,
    tx: Transaction,
    ciks: set[int] | None,
    bounds: Mapping[str, Bound],
    omissions: Omissions,
    as_of: str | None,
    kind: str,
) -> Iterator[tuple[int, LatestYear]]:
    """Yield the companies that pass every bound, by CIK, with their years (or the periods of another ``kind``).

    The years are read lazily. A few years that are due are computed. If many are due, their companies are counted in
    ``omissions``, like those whose year cannot be computed. Raise INVALID_PARAM if too many years of a past day
    (``as_of``) are requested, as they are not stored.
    """
    due_count: int | None = None
    for stored in latest_years.iter_known(tx, ciks):
        text = stored.text
        if text is None:
            if due_count is None:
                due_count = latest_years.count_due(tx, ciks)
                if due_count > MAX_YEARS_DUE:
                    _check_past_day(due_count, as_of)
                    omissions.pending_count = due_count
            if omissions.pending_count:
                continue
            cache_key = (stored.cik, stored.stamp, as_of)
            text = app.screening_cache.get(None, cache_key, partial(_compute_year_text, tx, stored.cik))
        year = latest_years.deserialise(text, kind)
        if year is not None and year.passes(bounds):
            yield stored.cik, year
        elif year is None and text.startswith(latest_years.FAILED):
            omissions.failed_count += 1


def _find_selected_ciks(tx: Transaction, params: Mapping[str, Any]) -> set[int] | None:
    """Return the companies that the parameters select, or None for all."""
    selectors = [(text, name) for name in ("cik", "ticker") for text in params[name] or ()]
    if not selectors:
        return None
    return {companies.resolve(tx, text, name).cik for text, name in selectors}


def _check_past_day(due_count: int, as_of: str | None) -> None:
    """Raise INVALID_PARAM if a screen of a past day would have to compute too many years."""
    if as_of is not None:
        message = (
            f"Figures of a past day are computed for at most {MAX_YEARS_DUE} companies in a call; {due_count:,} "
            "have figures of that day. Choose companies with ticker or cik."
        )
        raise invalid_param("as_of", message, expected=f"at most {MAX_YEARS_DUE} companies in ticker or cik")


def _compute_year_text(tx: Transaction, cik: int) -> str:
    return latest_years_work.compute_year(tx, cik).text


# ---- the valuation of a company


def list_valuations(call: Call) -> Response:
    """Return the valuation ratios of a company by period. Without prices, each is null with the reason."""
    params = call.params
    query = SeriesQuery(params["period"], years=params["years"])
    check_query(query)
    with call.app.db.read() as tx:
        company = companies.resolve(tx, params["id"], "id")
        company_book = timeseries.get_book(call, tx, company, params["as_of"])
        price_on_day = price_lookup.build_price_lookup(tx, company)
        series = FigureSeries(company_book, params["period"], params["basis"], price_on_day)
        valuations: list[Valuation] = []
        for period in select_periods(series.periods, query):
            row = series.get_row(period)
            close = price_series.find_close(tx, company.ticker, row.build_period()["period_end"])
            for key in latest_years.list_valuation_keys():
                valuations.append(latest_years.build_valuation(row, key, close and close.date))
        price_source = timeseries.find_price_source(tx, company)
    price_dates = [valuation["price_date"] for valuation in valuations if valuation["price_date"] is not None]
    newest_price_date = price_dates[0] if price_dates else None
    meta: ValuationMeta = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "covered": True,
        "period": params["period"],
        "years": len({valuation["fiscal_year"] for valuation in valuations}),
        "mode": "close at the end of the period",
        "price_date": newest_price_date,
        "price_source": price_source,
        "valuation_family": newest_price_date is not None,
    }
    return call.success_rows(valuations, meta)
