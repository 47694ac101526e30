"""Companies by their ratios, and the valuation of one, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from finapi.db import Transaction
from finapi.errors import invalid_param
from finapi.market import companies, company_books, prices, ratios, screen
from finapi.market.book import iso
from finapi.market.cells import Figure, Hole
from finapi.market.companies import Company
from finapi.market.rows import RowView, Series
from finapi.market.series import Question, chosen, number, units_of
from finapi.web import series
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    array,
    enum,
    envelope,
    mapping,
    nullable,
    obj,
)

PARAMS = (
    *(
        Param(f"{key}_{side}", "number", help=f"{key} {word} this.", example="0")
        for key in screen.KEYS
        for side, word in (("gt", "greater than"), ("lt", "less than"))
    ),
    Param("metrics", "words", help="Keys to answer beside those filtered by.", example="roe,net_margin"),
    Param("cik", "words", help="Only these companies.", example="320193"),
    Param("ticker", "words", help="Only these companies.", example="AAPL,MSFT"),
    Param(
        "limit", "integer", default=100, least=1, most=1000, clamp=True, help="Rows of a page.", example="100"
    ),
    Param("offset", "integer", default=0, least=0, help="Rows to leave out.", example="0"),
)
SHAPE = envelope(
    array(
        obj(
            cik=TEXT,
            ticker=nullable(TEXT),
            period_end=DATE,
            price_source=nullable(enum("csv", "synthetic")),
            metrics=mapping(nullable(NUMBER)),
            holes=mapping(obj(status=enum("hole", "nm"), reason_code=TEXT)),
        )
    ),
    obj(
        pagination=obj(limit=INTEGER, offset=INTEGER, has_more=BOOLEAN),
        screen=obj(
            grain=TEXT,
            latest_period_semantics=TEXT,
            filters_applied=mapping(obj(optional=("gt", "lt"), gt=NUMBER, lt=NUMBER)),
            metrics_returned=array(TEXT),
            list_filtered=BOOLEAN,
        ),
    ),
)
VALUATION_PARAMS = (
    Param("id", place="path", required=True, help="Ticker (any spelling) or CIK.", example="AAPL"),
    series.PERIOD,
    Param("years", default="5", help="Fiscal years: 5 (the last five), 2018-2023 or 2018,2020.", example="5"),
    series.AS_OF,
    series.BASIS,
)
VALUATION_SHAPE = envelope(
    array(
        obj(
            metric=TEXT,
            fiscal_year=INTEGER,
            fiscal_period=TEXT,
            period_end=DATE,
            value=nullable(NUMBER),
            status=enum("value", "hole", "nm"),
            reason_code=nullable(TEXT),
            unit=TEXT,
            method_labels=array(TEXT),
            formula_version=INTEGER,
            inputs=array(obj(metric=TEXT, redacted=BOOLEAN, source=nullable(TEXT))),
            price_date=nullable(DATE),
        )
    ),
    obj(
        ticker=nullable(TEXT),
        cik=TEXT,
        covered=BOOLEAN,
        period=TEXT,
        years=INTEGER,
        mode=TEXT,
        price_date=nullable(DATE),
        price_source=nullable(enum("csv", "synthetic")),
        valuation_family=BOOLEAN,
    ),
)


def companies_by_ratio(call: Call) -> Response:
    """The companies whose latest fiscal year passes every filter, by CIK."""
    params = call.params
    bounds = screen.bounds(params)
    for key in params["metrics"] or ():
        if key not in screen.KEYS:
            raise invalid_param(
                "metrics", f"{key} is not a ratio or derived figure.", expected="keys of /xbrl/dictionary"
            )
    keys = list(dict.fromkeys((*bounds, *(params["metrics"] or ())))) or list(screen.KEYS)
    with call.app.db.read() as tx:
        wanted = _wanted(tx, call)
        found = [(one, latest) for one in wanted if (latest := _latest(call, tx, one)) is not None]
        passed = [(one, latest) for one, latest in found if screen.passes(latest, bounds)]
        page = passed[params["offset"] : params["offset"] + params["limit"]]
        sources = [series.price_source(tx, one) for one, _ in page]
    rows = [
        {
            "cik": one.padded_cik,
            "ticker": one.ticker,
            "period_end": latest.period_end,
            "price_source": source,
            **_shown({key: latest.value(key) for key in keys}),
        }
        for (one, latest), source in zip(page, sources, strict=True)
    ]
    applied = {
        key: {side: value for side, value in bound._asdict().items() if value is not None}
        for key, bound in bounds.items()
    }
    meta = {
        "pagination": {
            "limit": params["limit"],
            "offset": params["offset"],
            "has_more": len(passed) > params["offset"] + len(page),
        },
        "screen": {
            "grain": "company",
            "latest_period_semantics": "the last fiscal year that the company reported, as known last",
            "filters_applied": applied,
            "metrics_returned": keys,
            "list_filtered": bool(params["cik"] or params["ticker"]),
        },
    }
    return call.success(rows, meta)


def _shown(values: Mapping[str, Decimal | Hole]) -> dict[str, Any]:
    holes = {key: value for key, value in values.items() if isinstance(value, Hole)}
    return {
        "metrics": {key: None if isinstance(value, Hole) else number(value) for key, value in values.items()},
        "holes": {key: {"status": hole.status, "reason_code": hole.reason} for key, hole in holes.items()},
    }


def _wanted(tx: Transaction, call: Call) -> list[Company]:
    named = (*(call.params["cik"] or ()), *(call.params["ticker"] or ()))
    if named:
        return sorted({companies.find(tx, text) for text in named}, key=lambda one: one.cik)
    return [companies.by_cik(tx, cik) for cik in company_books.ciks(tx)]


def _latest(call: Call, tx: Transaction, company: Company) -> screen.Latest | None:
    def made() -> screen.Latest | None:
        # Not through the cache of books: a screen of all companies would turn it over.
        held = company_books.read(tx, company.cik)
        return None if held.empty else screen.latest(held, series.price_of(tx, company))

    # What is ingested of others leaves it where it is: thousands of companies take minutes.
    priced = prices.of_ticker(tx, company.ticker) if company.ticker else None
    key = (company.cik, company_books.stamp(tx, company.cik), priced)
    found: screen.Latest | None = call.app.screened.get(None, key, made)
    return found


# ---- valuation


def valuation(call: Call) -> Response:
    """The valuation ratios of a company by period; without prices each is a hole that says so."""
    params = call.params
    question = Question(
        period=params["period"], years=params["years"], basis=params["basis"], as_of=params["as_of"]
    )
    with call.app.db.read() as tx:
        company = companies.find(tx, params["id"], "id")
        held = series.book_of(call, tx, company, params["as_of"])
        rows = Series(held, params["period"], params["basis"], series.price_of(tx, company))
        periods = chosen(rows.periods, question)
        days = {period: _price_date(tx, company, iso(period.end)) for period in periods}
        found = [_valued(rows.row(period), key, days[period]) for period in periods for key in _VALUATION]
        source = series.price_source(tx, company)
    newest = next((day for day in days.values() if day is not None), None)
    meta = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "covered": True,
        "period": params["period"],
        "years": len({period.fiscal_year for period in periods}),
        "mode": "close at the end of the period",
        "price_date": newest,
        "price_source": source,
        "valuation_family": newest is not None,
    }
    return call.rows(found, meta)


_VALUATION = tuple(key for key, one in ratios.catalogue().ratios.items() if one.category == "valuation")


def _price_date(tx: Transaction, company: Company, day: str) -> str | None:
    close = prices.close_on(tx, company.ticker, day) if company.ticker else None
    return None if close is None else close.date


def _valued(row: RowView, key: str, day: str | None) -> dict[str, Any]:
    cell = row.cell(key)
    ratio = ratios.catalogue().ratios[key]
    filings = row.series.held.book.filings
    inputs = []
    for one in row.inputs(key):
        source = filings[one.cell.place].accession if isinstance(one.cell, Figure) else None
        inputs.append({"metric": one.key, "redacted": False, "source": source})
    return {
        "metric": key,
        "fiscal_year": row.period.fiscal_year,
        "fiscal_period": row.period.fiscal_period,
        "period_end": iso(row.period.end),
        "value": number(cell.value) if isinstance(cell, Figure) else None,
        "status": cell.status if isinstance(cell, Hole) else "value",
        "reason_code": cell.reason if isinstance(cell, Hole) else None,
        "unit": units_of(key, row.series.held.book.currency),
        "method_labels": [ratio.formula],
        "formula_version": ratios.catalogue().version,
        "inputs": inputs,
        "price_date": day,
    }
