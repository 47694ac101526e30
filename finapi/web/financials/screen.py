"""Companies by their ratios, and the valuation of one, over HTTP."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypedDict

from finapi.app import App
from finapi.core import stopping
from finapi.core.errors import ApiError, StoreUnavailableError, invalid_param
from finapi.core.records import Date
from finapi.market.financials import latest_years
from finapi.market.financials.latest_years import (
    AppliedBound,
    Bound,
    ComputedYear,
    LatestYear,
    ScreenedCompany,
    StoredYear,
    Valuation,
)
from finapi.market.financials.metric_series import SeriesQuery, check_query, select_periods
from finapi.market.financials.series_rows import FigureSeries, PriceSource
from finapi.market.intake import ingest
from finapi.market.prices import price_series
from finapi.market.reference import companies
from finapi.store.db import DatabaseError, Transaction
from finapi.web.financials import series
from finapi.web.financials.company import AS_OF, BASIS
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, path_param
from finapi.web.http.schema import Envelope

log = logging.getLogger("finapi.screen")

AT_ONCE = 20  # companies whose latest years are made before they are kept
STEP_SECONDS = 0.5  # that a worker computes latest years before it looks for a stop
# By one screen, which takes a second or two: after an upgrade a worker makes those of all companies anew.
MAX_MADE = 100

PARAMS = (
    *(
        Param(f"{key}_{side}", "number", help=f"{key} {word} this.", example="0")
        for key in latest_years.KEYS
        for side, word in (("gt", "greater than"), ("lt", "less than"))
    ),
    Param("metrics", "words", help="Keys to answer beside those filtered by.", example="roe,net_margin"),
    Param("cik", "words", help="Only these companies.", example="320193"),
    Param("ticker", "words", help="Only these companies.", example="AAPL,MSFT"),
    limit_param(100, 1000),
    OFFSET,
)
VALUATION_PARAMS = (
    path_param("id", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL"),
    series.PERIOD,
    replace(series.YEARS, default="5"),
    AS_OF,
    BASIS,
)


class ScreenPage(TypedDict):
    """Which rows of a screen an answer holds."""

    limit: int
    offset: int
    has_more: bool


class AppliedScreen(TypedDict):
    """What a screen compared. ``list_filtered``: whether only companies that were named. ``left_out``: how many up to
    the last row have facts of which no year can be made; they are on no screen until their facts change."""

    grain: str
    latest_period_semantics: str
    filters_applied: dict[str, AppliedBound]
    metrics_returned: list[str]
    list_filtered: bool
    left_out: int


class ScreenMeta(TypedDict):
    """The page and the filters of a screen."""

    pagination: ScreenPage
    screen: AppliedScreen


class ValuationMeta(TypedDict):
    """Whose valuation it is, and at which prices. ``mode`` and ``covered`` are always the same."""

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


def companies_by_ratio(call: Call) -> Response:
    """The companies whose latest fiscal year passes every filter, by CIK."""
    params = call.params
    bounds, metrics = latest_years.parse_bounds(params), params["metrics"] or ()
    for key in metrics:
        if key not in latest_years.KEYS:
            message = f"{key} is not a ratio or derived figure."
            raise invalid_param("metrics", message, expected="keys of /xbrl/dictionary")
    keys = list(dict.fromkeys((*bounds, *metrics))) or list(latest_years.KEYS)
    first, size = params["offset"], params["limit"]
    with call.app.db.read() as tx:
        left_out: list[int] = []
        passed = islice(_passing(call.app, tx, _named(tx, params), bounds, left_out), first, first + size + 1)
        page = [(companies.get_by_cik(tx, cik), year) for cik, year in passed]
        rows = [latest_years.build_screened(one, year, keys, series.price_source(tx, one)) for one, year in page[:size]]
    applied = {
        "grain": "company",
        "latest_period_semantics": "the last fiscal year that the company reported, as known last",
        "filters_applied": {key: bound.build_record() for key, bound in bounds.items()},
        "metrics_returned": keys,
        "list_filtered": bool(params["cik"] or params["ticker"]),
        "left_out": len(left_out),
    }
    page_told = {"limit": size, "offset": first, "has_more": len(page) > size}
    return call.success(rows, {"pagination": page_told, "screen": applied})


def _passing(
    app: App, tx: Transaction, ciks: set[int] | None, bounds: Mapping[str, Bound], left_out: list[int]
) -> Iterator[tuple[int, LatestYear]]:
    """The companies that pass every bound, by CIK, with their years; no more of them are read than are taken.

    Those among them of which no year can be made are added to ``left_out``.
    """
    few = False
    for one in latest_years.iter_known(tx, ciks):
        if one.text is None and not few:
            _refuse_many(latest_years.count_due(tx, ciks))
            few = True
        written = one.text or app.screening_cache.get(None, (one.cik, one.stamp), partial(_written, tx, one.cik))
        year = latest_years.deserialise(written)
        if year is not None and year.passes(bounds):
            yield one.cik, year
        elif year is None and written.startswith(latest_years.FAILED):
            left_out.append(one.cik)


def _named(tx: Transaction, params: Mapping[str, Any]) -> set[int] | None:
    named = [(text, name) for name in ("cik", "ticker") for text in params[name] or ()]
    return {companies.resolve(tx, text, name).cik for text, name in named} if named else None


def _refuse_many(due: int) -> None:
    """UNAVAILABLE where a screen might have to make too many years: at once, as its work would hold up the worker's."""
    if due > MAX_MADE:
        message = f"Figures of {due:,} companies changed, by an upgrade or an import, and are being made anew."
        raise ApiError("UNAVAILABLE", message, details={"due": due}, headers={"Retry-After": "10"})


def _written(tx: Transaction, cik: int) -> str:
    return _made(tx, cik).text


def _made(tx: Transaction, cik: int) -> ComputedYear:
    """What is kept of a company: that it has no year, and why, where none can be made of its facts."""
    company = companies.get_by_cik(tx, cik)
    try:
        return latest_years.compute(tx, company, series.price_of(tx, company))
    except (ApiError, StoreUnavailableError, DatabaseError, MemoryError):
        raise  # what is wrong is not the company
    except Exception as error:
        log.exception("CIK %d is on no screen until its data change: its latest year cannot be made", cik)
        return latest_years.build_failure(error)


class ComputedYears(NamedTuple):
    """The result of a piece of work on latest years."""

    may_be_more: bool
    splits_changed: bool


def compute_latest_years(app: App, seconds: float = STEP_SECONDS) -> ComputedYears:
    """Compute latest years that are due for about so many seconds, and store them with books and splits."""
    until = time.monotonic() + seconds
    computed: list[tuple[StoredYear, ComputedYear]] = []
    with app.db.read() as tx:
        due = latest_years.list_due(tx, AT_ONCE)
        for company in due:
            if stopping.is_requested() or (computed and time.monotonic() > until):
                break
            computed.append((company, _made(tx, company.cik)))
    # What is cached does not depend on it, but for holdings, which are settled afterwards.
    splits_changed = bool(computed) and app.db.write_batched(lambda tx: latest_years.store(tx, computed))
    return ComputedYears(len(due) > 0, splits_changed)


def keep_latest(app: App) -> None:
    """Compute every latest year that is due, and settle the holdings of companies whose splits changed.

    A stop ends it after a company. A server's workers complete what is left.
    """
    splits_changed = False
    while not stopping.is_requested():
        computed = compute_latest_years(app)
        splits_changed |= computed.splits_changed
        if not computed.may_be_more:
            break
    if splits_changed:
        ingest.recompute_derived(app)


def valuation(call: Call) -> Response:
    """The valuation ratios of a company by period; without prices each is missing, with the reason."""
    params = call.params
    question = SeriesQuery(params["period"], years=params["years"])
    check_query(question)
    with call.app.db.read() as tx:
        company = companies.resolve(tx, params["id"], "id")
        held = series.book_of(call, tx, company, params["as_of"])
        rows = FigureSeries(held, params["period"], params["basis"], series.price_of(tx, company))
        found: list[Valuation] = []
        for period in select_periods(rows.periods, question):
            row = rows.get_row(period)
            close = price_series.find_close(tx, company.ticker, row.build_period()["period_end"])
            found += [
                latest_years.build_valuation(row, key, close and close.date)
                for key in latest_years.list_valuation_keys()
            ]
        source = series.price_source(tx, company)
    newest = next((one["price_date"] for one in found if one["price_date"] is not None), None)
    meta: ValuationMeta = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "covered": True,
        "period": params["period"],
        "years": len({one["fiscal_year"] for one in found}),
        "mode": "close at the end of the period",
        "price_date": newest,
        "price_source": source,
        "valuation_family": newest is not None,
    }
    return call.success_rows(found, meta)
