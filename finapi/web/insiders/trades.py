"""Insiders' transactions over HTTP, and the query over their forms (CONTRACT 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.insiders import forms, names, query, trades
from finapi.market.insiders.forms import PlainForm
from finapi.market.insiders.names import InsiderOfCompanies
from finapi.market.insiders.trades import IdPage, InsiderCursor, InsiderTransaction, TradeFilters
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Field, Param, in_path
from finapi.web.http.schema import answer, part, windowed
from finapi.web.insiders import filters
from finapi.web.insiders.filters import CURSOR, INDUSTRY, LIMIT, OWNERS, SECTOR, TOTAL, TRADE_DAYS, TYPE, InsiderPaging

_MATCHES = 25  # insiders and issuers of a search whose transactions are looked at

LATEST_PARAMS = (LIMIT, OFFSET, CURSOR, TYPE, SECTOR, INDUSTRY, *OWNERS, TOTAL)
TICKER_PARAMS = (TICKER, LIMIT, OFFSET, CURSOR, filters.filed_days(7), TRADE_DAYS, TYPE, *OWNERS)
INSIDER = in_path("cik", "cik", help="The insider's CIK.", example="0000315090")
INSIDER_PARAMS = (
    INSIDER,
    LIMIT,
    OFFSET,
    CURSOR,
    Param("from_date", "date", window=True, help="First transaction date.", example="2025-01-01"),
    Param("to_date", "date", window=True, help="Last transaction date.", example="2025-12-31"),
    *OWNERS,
)
SEARCH_PARAMS = (
    Param("query", required=True, help="Words of an insider's or company's name, a ticker or CIK.", example="Buffett"),
    filters.filed_days(7),
    TRADE_DAYS,
    filters.CODE,
    filters.MIN_VALUE,
    filters.MAX_VALUE,
    *filters.ROLES,
    filters.NO_PLAN,
    filters.NO_CASHLESS,
    filters.NO_COVER,
    TYPE,
    LIMIT,
    OFFSET,
    CURSOR,
    SECTOR,
    INDUSTRY,
    *OWNERS,
)
TOP_PARAMS = (
    Param("direction", default="BUY", allowed=("BUY", "SELL"), help="Purchases or sales.", example="BUY"),
    LIMIT,
    OFFSET,
    CURSOR,
    SECTOR,
    INDUSTRY,
    *OWNERS,
    TOTAL,
)
QUERY_BODY = (
    Field(
        "query",
        required=True,
        help="field:value, ranges [a TO b], quotes, AND, OR, NOT and brackets. Fields: ticker, cik, issuer.cik, "
        "issuer.name, reporters.cik, reporters.name, formType, transactionCode, filedAt, periodOfReport, accessionNo, "
        "isAmendment; bare words are names and tickers.",
        example="issuer.tradingSymbol:AAPL AND transactionCode:S",
    ),
    Field("from", "integer", least=0, most=10_000, help="Rows to skip.", example=0),
    Field("size", "integer", least=1, most=200, help="Rows, 50 by default.", example=50),
    Field("sort", "sort", allowed=("filedAt",), also=(("filed_at", "filedAt"),), help="The newest first, as always.",
          example="filedAt"),
)  # fmt: skip


_WINDOWS = {"filed_at_days": int | None, "transaction_days": int | None}
TRADES = answer(data=list[InsiderTransaction], meta=part(pagination=InsiderPaging))
TRADES_OF_ISSUER = answer(data=list[InsiderTransaction], meta=windowed(pagination=InsiderPaging, **_WINDOWS))
TRADES_OF_INSIDER = answer(
    data=list[InsiderTransaction],
    meta=windowed(pagination=InsiderPaging, insider=InsiderOfCompanies, from_date=Date | None, to_date=Date | None),
)
TRADES_FOUND = answer(
    data=list[InsiderTransaction],
    meta=windowed(
        **_WINDOWS,
        total=int | None,
        limit=int,
        has_more=bool,
        next_cursor=str | None,
        matched_insiders=int,
        matched_issuers=int,
        matches_cut=bool,
    ),
)
# With "gte" a query finds more forms than are counted.
QUERY = part(total=part(value=int, relation=Literal["eq", "gte"]), transactions=list[PlainForm])


def latest(call: Call) -> Response:
    """The newest transactions by filing day."""
    counted = call.params["include_total"]
    return _listed(call, lambda tx: trades.latest(tx, filters.of(call), counted=counted))


def of_ticker(call: Call) -> Response:
    """The newest transactions in a company's securities."""
    narrow = filters.of(call)
    with call.app.db.read() as tx:
        issuer = companies.find(tx, call.params["ticker"]).cik
        page = trades.of_issuer(tx, issuer, narrow)
        rows = trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
        windows = call.windows(trades.undated(tx, narrow, issuer=issuer))
    return call.rows(rows, {"pagination": filters.pagination(call, page), **windows})


def top(call: Call) -> Response:
    """The purchases or sales of the greatest value."""
    direction = trades.BUY if call.params["direction"] == "BUY" else trades.SELL
    counted = call.params["include_total"]
    return _listed(call, lambda tx: trades.top(tx, direction, filters.of(call), counted=counted))


def _listed(call: Call, find: Callable[[Transaction], IdPage]) -> Response:
    with call.app.db.read() as tx:
        page = find(tx)
        rows = trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
    return call.rows(rows, {"pagination": filters.pagination(call, page)})


def of_insider(call: Call) -> Response:
    """The newest transactions of an insider."""
    insider, narrow, collapse = call.params["cik"], filters.of(call), call.params["collapse_joint_filers"]
    with call.app.db.read() as tx:
        named = names.named(tx, insider)
        page = trades.of_insider(tx, insider, narrow)
        rows = trades.objects(tx, page.ids, insider=insider, collapse=collapse)
        windows = call.windows(trades.undated_of_insider(tx, insider, narrow))
    return call.rows(rows, {"pagination": filters.pagination(call, page), "insider": named, **windows})


def search(call: Call) -> Response:
    """Transactions of insiders and in companies whose names match."""
    narrow = filters.of(call)
    with call.app.db.read() as tx:
        matches = names.matching(tx, call.params["query"], _MATCHES)
        page = trades.of_any(tx, matches.insiders, matches.issuers, narrow)
        rows = trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
        undated = trades.undated_of_any(tx, matches.insiders, matches.issuers, narrow)
    meta = {
        **call.windows(undated),
        "total": _counted(narrow, page),
        "limit": narrow.limit,
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
        "matched_insiders": len(matches.insiders),
        "matched_issuers": len(matches.issuers),
        "matches_cut": matches.cut,
    }
    return call.rows(rows, meta)


def _counted(narrow: TradeFilters, page: IdPage) -> int | None:
    """How many there are in all, where the page shows their end and none is behind a cursor."""
    ends = page.next_cursor is None and narrow.cursor == InsiderCursor() and (page.ids or not narrow.offset)
    return narrow.offset + len(page.ids) if ends else None


def query_forms(call: Call) -> Response:
    """The forms that a query finds, with both tables."""
    start, size = call.body.get("from", 0), call.body.get("size", 50)
    if call.body.get("sort", ("", True))[1] is False:
        raise invalid_param("sort", "An ascending order is not served; forms come newest first.", allowed=["desc"])
    with call.app.db.read() as tx:
        ids, total, exact = query.filings(tx, call.body["query"], start, size)
        found = forms.plain(tx, ids)
    return call.plain({"total": {"value": total, "relation": "eq" if exact else "gte"}, "transactions": found})
