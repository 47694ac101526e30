"""Filings of ownership forms over HTTP (CONTRACT 8)."""

from __future__ import annotations

from typing import Any

from finapi.edgar.ownership import FORMS
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, insider_filings, insider_trades, statements
from finapi.market.insider_filings import Wanted
from finapi.market.insider_positions import day_number
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.insiders import (
    CURSOR,
    INDUSTRY,
    LIMIT,
    OFFSET,
    SECTOR,
    TICKER,
    cik,
    industry,
    pagination,
    sector,
)
from finapi.web.params import Param

_WINDOW = (
    Param("from_date", "date", help="First filing day.", example="2025-01-01"),
    Param("to_date", "date", help="Last filing day.", example="2025-12-31"),
)
_FORM = Param("form_type", allowed=FORMS, help="Only this form.", example="4")
LATEST_PARAMS = (
    LIMIT,
    OFFSET,
    CURSOR,
    _FORM,
    Param("ticker", help="Only this company: ticker (any spelling) or CIK.", example="AAPL"),
    *_WINDOW,
    Param("is_amendment", "boolean", help="Only amendments (true) or originals (false).", example="true"),
    SECTOR,
    INDUSTRY,
)
TICKER_PARAMS = (
    TICKER,
    LIMIT,
    OFFSET,
    CURSOR,
    _FORM,
    *_WINDOW,
    Param("insider_cik", help="Only forms of this insider.", example="0001780525"),
)
FORM_PARAMS = (
    Param(
        "accession_number",
        place="path",
        required=True,
        help="With or without dashes.",
        example="0001140361-26-025622",
    ),
)


def latest(call: Call) -> Response:
    """The newest filings of forms 3, 4 and 5."""
    with call.app.db.read() as tx:
        issuer = companies.find(tx, call.params["ticker"]).cik if call.params["ticker"] else None
        wanted = _wanted(call, issuer)
        page = insider_filings.latest(tx, wanted)
        rows = insider_filings.objects(tx, page.ids)
        total = insider_filings.count(tx, wanted)
    return call.rows(rows, {"pagination": pagination(page, wanted.limit, total, wanted.offset)})


def of_ticker(call: Call) -> Response:
    """The newest filings about a company."""
    with call.app.db.read() as tx:
        company = companies.find(tx, call.params["ticker"])
        wanted = _wanted(call, company.cik)
        page = insider_filings.latest(tx, wanted)
        rows = insider_filings.objects(tx, page.ids)
        total = insider_filings.count(tx, wanted)
    meta: dict[str, Any] = {
        "pagination": pagination(page, wanted.limit, total, wanted.offset),
        "company": {"ticker": company.ticker, "name": company.name, "cik": company.padded_cik},
    }
    return call.rows(rows, meta)


def form(call: Call) -> Response:
    """One form with both tables and every footnote."""
    accession = statements.accession(call.params["accession_number"])
    if accession is None:
        raise invalid_param(
            "accession_number", "That is not an accession number.", expected="0001140361-26-025622"
        )
    with call.app.db.read() as tx:
        told = insider_filings.form(tx, accession)
    if told is None:
        raise ApiError("NOT_FOUND", f"No ownership form {accession} is held.")
    return call.success(told, {})


def _wanted(call: Call, issuer: int | None) -> Wanted:
    params = call.params
    first, last = params["from_date"], params["to_date"]
    insider = params.get("insider_cik")
    return Wanted(
        limit=params["limit"],
        offset=params["offset"],
        cursor=insider_trades.place(params["cursor"]),
        type=params["form_type"],
        issuer=issuer,
        insider=cik(insider, "insider_cik") if insider else None,
        # Day 0 is that of forms whose filing day is unknown: it is before no day.
        since=day_number(first) if first else 1 if last else None,
        until=day_number(last) if last else None,
        amendment=params.get("is_amendment"),
        sector=sector(params),
        industry=industry(params),
    )
