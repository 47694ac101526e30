"""Handlers for insiders' transactions and for the query over their forms (DECISIONS 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Literal, NotRequired, TypedDict

from finapi.core import days
from finapi.core.empty_lists import EmptyList, explain_empty_list
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.insiders import form_query, insider_forms, names, trades
from finapi.market.insiders.insider_forms import PlainForm
from finapi.market.insiders.names import InsiderWithCompanies
from finapi.market.insiders.totals import DoubtfulCount
from finapi.market.insiders.trades import IdPage, InsiderTransaction, TradeFilters
from finapi.market.prices import returns
from finapi.market.prices.returns import Returns
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Field, Param, path_param
from finapi.web.http.schema import Envelope, WindowMeta
from finapi.web.insiders import filters
from finapi.web.insiders.filters import (
    CURSOR,
    INCLUDE_OUTCOME,
    INCLUDE_TOTAL,
    LIMIT,
    OWNER_PARAMS,
    TRADE_DAYS,
    DateWindows,
    InsiderListMeta,
    TradeWindows,
)

_MAX_MATCHES = 25  # Maximum number of matching insiders, and of matching issuers, in a search.

# Windows of the last N days are left out: these lists are cached until the data change, so they must not depend on
# today's date.
_LIST = (LIMIT, OFFSET, CURSOR, *filters.TRADE_PARAMS, *OWNER_PARAMS, INCLUDE_OUTCOME)
_DIRECTION = Param(
    "direction",
    default="BUY",
    allowed=("BUY", "SELL"),
    aliases=(("purchase", "BUY"), ("sale", "SELL")),
    help="Purchases or sales.",
    example="BUY",
)
_SORT_BY = Param(
    "sort_by",
    default="filing_date",
    allowed=("filing_date", "transaction_date"),
    help="The date by which the newest come first, over all pages. Transactions without the date come last. A cursor "
    "continues the list in the order in which it began.",
    example="transaction_date",
)
_NAME = Param("query", help="Words of an insider's or company's name, a ticker or CIK.", example="Buffett")
LATEST_PARAMS = (*_LIST, INCLUDE_TOTAL)
TICKER_PARAMS = (TICKER, filters.filing_window_param(7), TRADE_DAYS, *_LIST, _SORT_BY)
INSIDER = path_param("cik", "cik", help="The insider's CIK.", example="0000315090")
INSIDER_PARAMS = (INSIDER, *_LIST, _SORT_BY)
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
        help="Always the newest first.",
        example="filedAt",
    ),
)


class TradeOutcome(TypedDict):
    """The share's returns after a transaction: 0.01 is one per cent."""

    close: Annotated[Decimal | None, "The close of the transaction's date, or of the last trading day before it."]
    close_date: Date | None
    return_1d: Annotated[Decimal | None, "The return until the close one trading day later."]
    return_5d: Decimal | None
    return_20d: Decimal | None
    return_60d: Decimal | None
    is_adjusted: Annotated[bool | None, "True if the returns are adjusted for splits and dividends."]
    next_earnings: Annotated[
        Date | None, "The next day within a year on which the company filed an item 2.02 (results)."
    ]
    days_to_earnings: int | None
    reasons: Annotated[dict[str, str], "The reason for each null figure, by its name."]


class TransactionInList(InsiderTransaction):
    """A transaction in a list."""

    outcome: NotRequired[Annotated[TradeOutcome, "With `include_outcome`."]]


class TradesMeta(InsiderListMeta, DateWindows, WindowMeta):
    """The page and the windows of a list of transactions. ``empty`` explains why there are none."""

    empty: NotRequired[EmptyList]


class LargestTradesMeta(TradesMeta):
    """The page and the windows of a ranking by value."""

    doubtful_left_out: DoubtfulCount


class IssuerTradesMeta(InsiderListMeta, TradeWindows, WindowMeta):
    """The page and the windows of a list of a company's transactions. ``empty`` explains why there are none."""

    empty: NotRequired[EmptyList]


class _InsiderPart(InsiderListMeta):
    insider: InsiderWithCompanies


class InsiderTradesMeta(_InsiderPart, DateWindows, WindowMeta):
    """The page, the insider and the windows of a list of an insider's transactions.

    ``empty`` explains why there are none.
    """

    empty: NotRequired[EmptyList]


class _TradeSearchPage(TradeWindows):
    total: int | None
    limit: int
    has_more: bool
    next_cursor: str | None
    matched_insiders: int | None
    matched_issuers: int | None
    matches_cut: bool


class TradeSearchMeta(_TradeSearchPage, WindowMeta):
    """The page, the windows and the matched names of a search of transactions."""


class QueryTotal(TypedDict):
    """The number of forms that a query finds; with the relation ``gte`` there may be more."""

    value: int
    relation: Literal["eq", "gte"]


class QueriedForms(TypedDict):
    """A page of the forms that a query finds."""

    total: QueryTotal
    transactions: list[PlainForm]


TRADES = Envelope[list[TransactionInList], TradesMeta]
LARGEST_TRADES = Envelope[list[TransactionInList], LargestTradesMeta]
TRADES_OF_ISSUER = Envelope[list[TransactionInList], IssuerTradesMeta]
TRADES_OF_INSIDER = Envelope[list[TransactionInList], InsiderTradesMeta]
TRADES_FOUND = Envelope[list[TransactionInList], TradeSearchMeta]
QUERY = QueriedForms


def list_latest(call: Call) -> Response:
    """Return the newest transactions by filing day."""
    trade_filters = filters.build_trade_filters(call, of_all_companies=True)
    with call.app.db.read() as tx:
        page = trades.list_latest(tx, trade_filters, counted=call.params["include_total"])
        rows = _build_rows(tx, call, page)
        undated = trades.count_undated(tx, trade_filters)
    return _render_trades(call, page, rows, undated)


def list_largest(call: Call) -> Response:
    """Return the purchases or sales with the largest values."""
    direction = trades.BUY if call.params["direction"] == "BUY" else trades.SELL
    trade_filters = filters.build_trade_filters(call, of_all_companies=True)
    with call.app.db.read() as tx:
        page = trades.list_largest(tx, direction, trade_filters, counted=call.params["include_total"])
        rows = _build_rows(tx, call, page)
        undated = trades.count_undated(tx, trade_filters, directed=True)
        doubtful_count = trades.count_doubtful(tx, trade_filters, direction=direction)
    meta: LargestTradesMeta = {
        "pagination": filters.build_paging(call, page),
        "doubtful_left_out": doubtful_count,
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.success_rows(rows, meta)


def _render_trades(call: Call, page: IdPage, rows: Sequence[InsiderTransaction], undated: int) -> Response:
    meta: TradesMeta = {
        "pagination": filters.build_paging(call, page),
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    if not rows:
        meta["empty"] = explain_empty_list("transaction", None, is_later_page=_is_later_page(call))
    return call.success_rows(rows, meta)


def _is_later_page(call: Call) -> bool:
    return call.params["cursor"] is not None or call.params["offset"] > 0


def _is_sorted_by_trade_date(call: Call, trade_filters: TradeFilters) -> bool:
    """Return True for a list sorted by the date of the trade. A cursor continues the list in the order of its page."""
    if call.params["cursor"] is not None:
        return trade_filters.cursor.value != trades.FILING_ORDER_VALUE
    by_trade_date: bool = call.params["sort_by"] == "transaction_date"
    return by_trade_date


def list_by_ticker(call: Call) -> Response:
    """Return the newest transactions in a company's securities."""
    trade_filters = filters.build_trade_filters(call)
    by_trade_date = _is_sorted_by_trade_date(call, trade_filters)
    with call.app.db.read() as tx:
        issuer = companies.resolve(tx, call.params["ticker"])
        page = trades.list_by_issuer(tx, issuer.cik, trade_filters, by_trade_date=by_trade_date)
        rows = _build_rows(tx, call, page)
        undated = trades.count_undated(tx, trade_filters, issuer=issuer.cik)
        available = [] if rows else trades.list_type_counts_of_issuer(tx, issuer.cik)
    meta: IssuerTradesMeta = {
        "pagination": filters.build_paging(call, page),
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    if not rows:
        meta["empty"] = explain_empty_list("transaction", issuer.name, available, is_later_page=_is_later_page(call))
    return call.success_rows(rows, meta)


def list_by_insider(call: Call) -> Response:
    """Return the newest transactions of an insider."""
    insider_cik = call.params["cik"]
    trade_filters = filters.build_trade_filters(call)
    by_trade_date = _is_sorted_by_trade_date(call, trade_filters)
    with call.app.db.read() as tx:
        insider = names.get_insider(tx, insider_cik)
        page = trades.list_by_insider(tx, insider_cik, trade_filters, by_trade_date=by_trade_date)
        rows = _build_rows(tx, call, page, insider_cik)
        undated = trades.count_undated_by_insider(tx, insider_cik, trade_filters)
        available = [] if rows else trades.list_type_counts_of_insider(tx, insider_cik)
    meta: InsiderTradesMeta = {
        "pagination": filters.build_paging(call, page),
        "insider": insider,
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    if not rows:
        meta["empty"] = explain_empty_list(
            "transaction", insider["name"], available, is_later_page=_is_later_page(call)
        )
    return call.success_rows(rows, meta)


def search_transactions(call: Call) -> Response:
    """Return the transactions of insiders and companies whose names match, or without a query all transactions."""
    words = call.params["query"]
    trade_filters = filters.build_trade_filters(call, of_all_companies=words is None)
    with call.app.db.read() as tx:
        matches = names.find_matches(tx, words, _MAX_MATCHES) if words is not None else None
        if matches is None:
            page = trades.list_latest(tx, trade_filters)
        else:
            page = trades.list_by_parties(tx, matches.insiders, matches.issuers, trade_filters)
        rows = _build_rows(tx, call, page)
        if matches is None:
            undated = trades.count_undated(tx, trade_filters)
        else:
            undated = trades.count_undated_by_parties(tx, matches.insiders, matches.issuers, trade_filters)
    meta: TradeSearchMeta = {
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
        "total": page.total,
        "limit": trade_filters.limit,
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
        "matched_insiders": len(matches.insiders) if matches else None,
        "matched_issuers": len(matches.issuers) if matches else None,
        "matches_cut": matches is not None and matches.is_truncated,
    }
    return call.success_rows(rows, meta)


def query_forms(call: Call) -> Response:
    """Return the forms that a query finds, with both tables."""
    offset = call.body.get("from", 0)
    limit = call.body.get("size", 50)
    _, is_descending = call.body.get("sort", ("", True))
    if is_descending is False:
        raise invalid_param("sort", "Ascending order is not supported; forms come newest first.", allowed=["desc"])
    with call.app.db.read() as tx:
        matches = form_query.find_forms(tx, call.body["query"], offset, limit)
        forms = insider_forms.list_plain_forms(tx, matches.form_ids)
    answer: QueriedForms = {
        "total": {"value": matches.total, "relation": "eq" if matches.is_exact else "gte"},
        "transactions": forms,
    }
    return call.bare_object(answer)


# ---- Outcomes


def _build_rows(tx: Transaction, call: Call, page: IdPage, insider: int | None = None) -> Sequence[InsiderTransaction]:
    """Return the rows of a page, with outcomes if the call requests them."""
    rows = trades.build_transactions(tx, page.ids, insider=insider, collapse=call.params["collapse_joint_filers"])
    if not call.params["include_outcome"]:
        return rows
    priced_days = []
    reported_days = []
    for row in rows:
        day = row["transaction_date"]
        if day and row["ticker"]:
            priced_days.append((row["ticker"], day))
        if day:
            reported_days.append((row["issuer_cik"], day))
    returns_by_day = returns.compute_after_days(tx, priced_days)
    earnings_by_day = trades.find_next_earnings(tx, reported_days)
    return [TransactionInList(**row, outcome=_build_outcome(row, returns_by_day, earnings_by_day)) for row in rows]


def _build_outcome(
    row: InsiderTransaction,
    returns_by_day: Mapping[tuple[str, str], Returns],
    earnings_by_day: Mapping[tuple[str, str], str],
) -> TradeOutcome:
    """Return a transaction's outcome. Returns are looked up by ticker and day, earnings by the issuer's CIK and day."""
    day = row["transaction_date"]
    ticker = row["ticker"]
    if day and ticker:
        share_returns = returns_by_day[ticker, day]
    else:
        share_returns = returns.build_unknown("no_transaction_date" if day is None else "no_ticker")
    next_earnings = earnings_by_day.get((row["issuer_cik"], day or ""))
    reasons = {f"return_{day_count}d": reason for day_count, reason in share_returns.reasons.items()}
    if next_earnings is None:
        reasons["days_to_earnings"] = "no_transaction_date" if day is None else "no_later_item_2_02_held"
    return {
        "close": share_returns.close,
        "close_date": share_returns.date,
        "return_1d": share_returns.returns[1],
        "return_5d": share_returns.returns[5],
        "return_20d": share_returns.returns[20],
        "return_60d": share_returns.returns[60],
        "is_adjusted": share_returns.is_adjusted,
        "next_earnings": next_earnings,
        "days_to_earnings": days.number(next_earnings) - days.number(day) if next_earnings and day else None,
        "reasons": reasons,
    }
