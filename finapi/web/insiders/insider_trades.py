"""Insiders' transactions over HTTP, and the query over their forms (DECISIONS 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Literal, NotRequired, TypedDict

from finapi.core import days
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.insiders import form_query, insider_forms, names, trades
from finapi.market.insiders.insider_forms import PlainForm
from finapi.market.insiders.names import InsiderWithCompanies
from finapi.market.insiders.trades import IdPage, InsiderTransaction, TradeFilters
from finapi.market.prices import returns
from finapi.market.prices.returns import Returns
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Field, Param, path_param
from finapi.web.http.schema import answer, part, with_windows
from finapi.web.insiders import filters
from finapi.web.insiders.filters import (
    CURSOR,
    INCLUDE_OUTCOME,
    INCLUDE_TOTAL,
    LIMIT,
    OWNER_PARAMS,
    TRADE_DAYS,
    InsiderPaging,
)

_MATCHES = 25  # insiders and issuers of a search whose transactions are looked at

# What is kept until the data change has no window that ends today.
_LIST = (LIMIT, OFFSET, CURSOR, *filters.TRADE_PARAMS, *OWNER_PARAMS, INCLUDE_OUTCOME)
_DIRECTION = Param("direction", default="BUY", allowed=("BUY", "SELL"), help="Purchases or sales.", example="BUY")
_NAME = Param("query", help="Words of an insider's or company's name, a ticker or CIK.", example="Buffett")
LATEST_PARAMS = (*_LIST, INCLUDE_TOTAL)
TICKER_PARAMS = (TICKER, filters.filing_window_param(7), TRADE_DAYS, *_LIST)
INSIDER = path_param("cik", "cik", help="The insider's CIK.", example="0000315090")
INSIDER_PARAMS = (INSIDER, *_LIST)
SEARCH_PARAMS = (_NAME, filters.filing_window_param(7), TRADE_DAYS, *_LIST)
TOP_PARAMS = (_DIRECTION, *_LIST, INCLUDE_TOTAL)
QUERY_BODY = (
    Field(
        "query",
        required=True,
        help="field:value, ranges [a TO b], quotes, AND, OR, NOT and brackets. Fields: ticker, cik, issuer.cik, "
        "issuer.name, reporters.cik, reporters.name, formType, transactionCode, filedAt, periodOfReport, accessionNo, "
        "isAmendment; bare words are names and tickers.",
        example="issuer.tradingSymbol:AAPL AND transactionCode:S",
    ),
    Field("from", "integer", minimum=0, maximum=10_000, help="Rows to skip.", example=0),
    Field("size", "integer", minimum=1, maximum=200, help="Rows, 50 by default.", example=50),
    Field(
        "sort",
        "sort",
        allowed=("filedAt",),
        aliases=(("filed_at", "filedAt"),),
        help="The newest first, as always.",
        example="filedAt",
    ),
)


class TradeOutcome(TypedDict):
    """What became of a share after a transaction: returns of 0.01 are one per cent."""

    close: Annotated[Decimal | None, "Of the day of the transaction, or the last day of trading before it."]
    close_date: Date | None
    return_1d: Annotated[Decimal | None, "To the close one day of trading later."]
    return_5d: Decimal | None
    return_20d: Decimal | None
    return_60d: Decimal | None
    is_adjusted: Annotated[bool | None, "Whether splits and dividends in between are counted."]
    next_earnings: Annotated[Date | None, "When the company next filed an item 2.02 (results), within a year."]
    days_to_earnings: int | None
    reasons: Annotated[dict[str, str], "Why a figure is null, by its name."]


class TransactionInList(InsiderTransaction):
    """A transaction as lists have it."""

    outcome: NotRequired[Annotated[TradeOutcome, "With `include_outcome`."]]


TRADES = answer(data=list[TransactionInList], meta=with_windows(pagination=InsiderPaging, **filters.DAYS))
TRADES_OF_ISSUER = answer(data=list[TransactionInList], meta=with_windows(pagination=InsiderPaging, **filters.WINDOWS))
TRADES_OF_INSIDER = answer(
    data=list[TransactionInList],
    meta=with_windows(pagination=InsiderPaging, insider=InsiderWithCompanies, **filters.DAYS),
)
TRADES_FOUND = answer(
    data=list[TransactionInList],
    meta=with_windows(
        **filters.WINDOWS,
        total=int | None,
        limit=int,
        has_more=bool,
        next_cursor=str | None,
        matched_insiders=int | None,
        matched_issuers=int | None,
        matches_cut=bool,
    ),
)
# With "gte" a query finds more forms than are counted.
QUERY = part(total=part(value=int, relation=Literal["eq", "gte"]), transactions=list[PlainForm])


def list_latest(call: Call) -> Response:
    """The newest transactions by filing day."""
    counted = call.params["include_total"]
    return _listed(call, lambda tx, narrow: trades.list_latest(tx, narrow, counted=counted))


def list_by_ticker(call: Call) -> Response:
    """The newest transactions in a company's securities."""
    narrow = filters.build_trade_filters(call)
    with call.app.db.read() as tx:
        issuer = companies.resolve(tx, call.params["ticker"]).cik
        page = trades.list_by_issuer(tx, issuer, narrow)
        rows = _rows(tx, call, page)
        windows = call.build_window_meta(trades.count_undated(tx, narrow, issuer=issuer))
    return call.success_rows(rows, {"pagination": filters.build_paging(call, page), **windows})


def list_largest(call: Call) -> Response:
    """The purchases or sales of the greatest value."""
    direction = trades.BUY if call.params["direction"] == "BUY" else trades.SELL
    counted = call.params["include_total"]
    return _listed(call, lambda tx, narrow: trades.list_largest(tx, direction, narrow, counted=counted), directed=True)


def _listed(call: Call, find: Callable[[Transaction, TradeFilters], IdPage], *, directed: bool = False) -> Response:
    narrow = filters.build_trade_filters(call, whole=True)
    with call.app.db.read() as tx:
        page = find(tx, narrow)
        rows = _rows(tx, call, page)
        windows = call.build_window_meta(trades.count_undated(tx, narrow, directed=directed))
    return call.success_rows(rows, {"pagination": filters.build_paging(call, page), **windows})


def _rows(tx: Transaction, call: Call, page: IdPage, insider: int | None = None) -> Sequence[InsiderTransaction]:
    """The rows of a page, each with its outcome where that is asked for."""
    rows = trades.build_transactions(tx, page.ids, insider=insider, collapse=call.params["collapse_joint_filers"])
    if not call.params["include_outcome"]:
        return rows
    dated = [(row, row["transaction_date"]) for row in rows]
    became = returns.compute_after_days(tx, [(row["ticker"], day) for row, day in dated if row["ticker"] and day])
    earnings = trades.find_next_earnings(tx, [(row["issuer_cik"], day) for row, day in dated if day])
    return [TransactionInList(**row, outcome=_outcome(row, became, earnings)) for row in rows]


def _outcome(
    row: InsiderTransaction, became: Mapping[tuple[str, str], Returns], earnings: Mapping[tuple[str, str], str]
) -> TradeOutcome:
    day, ticker = row["transaction_date"], row["ticker"]
    lacking = "no_transaction_date" if day is None else "no_ticker"
    after = became[ticker, day] if ticker and day else returns.build_unknown(lacking)
    following = earnings.get((row["issuer_cik"], day or ""))
    reasons = {f"return_{count}d": reason for count, reason in after.reasons.items()}
    if following is None:
        reasons["days_to_earnings"] = "no_transaction_date" if day is None else "no_later_item_2_02_held"
    return {
        "close": after.close,
        "close_date": after.date,
        "return_1d": after.returns[1],
        "return_5d": after.returns[5],
        "return_20d": after.returns[20],
        "return_60d": after.returns[60],
        "is_adjusted": after.is_adjusted,
        "next_earnings": following,
        "days_to_earnings": days.number(following) - days.number(day) if following and day else None,
        "reasons": reasons,
    }


def list_by_insider(call: Call) -> Response:
    """The newest transactions of an insider."""
    insider, narrow = call.params["cik"], filters.build_trade_filters(call)
    with call.app.db.read() as tx:
        named = names.get_insider(tx, insider)
        page = trades.list_by_insider(tx, insider, narrow)
        rows = _rows(tx, call, page, insider)
        windows = call.build_window_meta(trades.count_undated_by_insider(tx, insider, narrow))
    return call.success_rows(rows, {"pagination": filters.build_paging(call, page), "insider": named, **windows})


def search_transactions(call: Call) -> Response:
    """Transactions of insiders and in companies whose names match; of all without a name."""
    words = call.params["query"]
    narrow = filters.build_trade_filters(call, whole=words is None)
    with call.app.db.read() as tx:
        matches = names.find_matches(tx, words, _MATCHES) if words is not None else None
        found = (matches.insiders, matches.issuers) if matches else None
        page = trades.list_by_parties(tx, *found, narrow) if found else trades.list_latest(tx, narrow)
        rows = _rows(tx, call, page)
        undated = trades.count_undated_by_parties(tx, *found, narrow) if found else trades.count_undated(tx, narrow)
    meta = {
        **call.build_window_meta(undated),
        "total": page.total,
        "limit": narrow.limit,
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
        "matched_insiders": len(matches.insiders) if matches else None,
        "matched_issuers": len(matches.issuers) if matches else None,
        "matches_cut": matches is not None and matches.is_truncated,
    }
    return call.success_rows(rows, meta)


def query_forms(call: Call) -> Response:
    """The forms that a query finds, with both tables."""
    start, size = call.body.get("from", 0), call.body.get("size", 50)
    if call.body.get("sort", ("", True))[1] is False:
        raise invalid_param("sort", "Ascending order is not supported; forms come newest first.", allowed=["desc"])
    with call.app.db.read() as tx:
        ids, total, exact = form_query.find_forms(tx, call.body["query"], start, size)
        found = insider_forms.list_plain_forms(tx, ids)
    return call.bare_object({"total": {"value": total, "relation": "eq" if exact else "gte"}, "transactions": found})
