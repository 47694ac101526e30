"""Sums over insiders' trades over HTTP: by company, cluster, sector and for the whole market (DECISIONS 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import invalid_param
from finapi.core.records import Date, Object, Time, build_record
from finapi.market.insiders import totals, trades
from finapi.market.insiders.titles import C_SUITE
from finapi.market.insiders.totals import (
    InsiderCluster,
    IssuerInSector,
    IssuerName,
    MarketOverview,
    SummedIssuer,
    TradeGroup,
    TradeSums,
)
from finapi.market.insiders.trades import TradeFilters
from finapi.market.reference import companies
from finapi.web.http import params
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param
from finapi.web.http.schema import WindowMeta, answer, part, with_windows
from finapi.web.insiders import filters
from finapi.web.insiders.filters import INDUSTRY, NO_CASHLESS, NO_COVER, NO_PLAN, SECTOR, TRADE_DAYS

# Sums over more days than these take longer than an answer may.
MAX_SUMMED = 366
MAX_CLUSTERS = 100
SIGNAL_DAYS, SIGNAL_INSIDERS, MAX_SIGNALS = 30, 2, 10

_SORTS = ("sentiment", "abs_sentiment", "net_value", "abs_net_value", "total_transactions")
_GROUP_SORTS = ("abs_net_value", "net_value", "buy_value", "sell_value", "transaction_count", "group")


def _window(name: str, default: int, *, least: int = 0, example: str = "30") -> Param:
    help = f"Only filings of the last N days, at most {MAX_SUMMED}; {default} unless another window is given."
    return filters.window_param(name, default, help, least=least, most=MAX_SUMMED, example=example)


def _bound(name: str, help: str) -> Param:
    return Param(name, "number", help=help, example="0.5")


def _least(name: str, default: int, help: str) -> Param:
    return Param(
        name, "integer", default=default, minimum=1, maximum=100_000, clamp=True, help=help, example=str(default)
    )


# Sums are of purchases and sales in the market: neither codes nor kinds narrow them.
_DIRECTED = (
    *filters.DATE_PARAMS,
    *filters.THRESHOLDS,
    filters.EARNINGS,
    *filters.ROLES,
    NO_PLAN,
    NO_CASHLESS,
    NO_COVER,
    SECTOR,
    INDUSTRY,
)
SUMMARY_PARAMS = (
    TICKER,
    filters.filing_window_param(7),
    TRADE_DAYS,
    replace(TRADE_DAYS, name="days", help="The same as transaction_days."),
    *(one for one in _DIRECTED if one not in (SECTOR, INDUSTRY)),
)
SCREEN_PARAMS = (
    _window("filed_at_days", 7),
    TRADE_DAYS,
    _bound("sentiment_gt", "Only above this sentiment_score."),
    _bound("sentiment_lt", "Only below this sentiment_score."),
    _bound("net_value_gt", "Only above this net_value."),
    _bound("net_value_lt", "Only below this net_value."),
    _least("min_transactions", 1, "Minimum number of trades."),
    _least("min_insiders", 1, "Minimum number of insiders."),
    filters.flag_param("csuite_only", "Only trades of the C-suite."),
    *_DIRECTED,
    params.limit_param(100, 500),
    OFFSET,
    Param("sort_by", default="abs_sentiment", allowed=_SORTS, help="Sort order, largest first.", example="net_value"),
)
CLUSTER_PARAMS = (
    _window("days", 30),
    TRADE_DAYS,
    filters.COMPANY_PARAM,
    _least("min_insiders", 3, "Minimum number of insiders."),
    params.limit_param(MAX_CLUSTERS, MAX_CLUSTERS, "Clusters"),
    OFFSET,
    *(
        replace(param, default=True)
        if param in (NO_CASHLESS, NO_PLAN, NO_COVER)
        else replace(param, help="Minimum total value of its trades.")
        if param is filters.MIN_VALUE
        else param
        for param in _DIRECTED
    ),
)
GROUP_PARAMS = (
    Param(
        "group_by",
        default="sector",
        allowed=("sector", "industry"),
        help="SIC division or major group.",
        example="sector",
    ),
    _window("filed_at_days", 30),
    TRADE_DAYS,
    *filters.TRADE_PARAMS,
    params.limit_param(50, 500),
    OFFSET,
    Param(
        "sort_by", default="abs_net_value", allowed=_GROUP_SORTS, help="Sort order, largest first.", example="buy_value"
    ),
)
STATS_PARAMS = (_window("days", 1, least=1, example="7"),)


class IssuerSums(IssuerName, TradeSums):
    """The sums of a company."""


class ScreenedIssuer(IssuerInSector, TradeSums):
    """A company that a screen finds, with its sums."""


class ClusterSignal(TypedDict):
    """A cluster as a signal."""

    ticker: str | None
    company_name: str
    signal: Literal["cluster_buy", "cluster_sell"]
    insider_count: int
    total_value: int
    price_avg: Decimal | None
    latest_date: Date | None


class WindowOverview(MarketOverview, WindowMeta):
    """The market as a whole, and what its window leaves out."""

    days: int | None


OVERVIEW = WindowOverview
CLUSTERS = list[InsiderCluster]
_WINDOWS = filters.WINDOWS
SUMMARY = answer(data=IssuerSums, meta=with_windows(**_WINDOWS, days=int | None))
GROUPS = answer(
    data=list[TradeGroup], meta=with_windows(total=int, limit=int, offset=int, has_more=bool, group_by=str, **_WINDOWS)
)
SCREEN = part(
    results=list[ScreenedIssuer],
    meta=with_windows(
        **_WINDOWS,
        total_results=int,
        returned=int,
        limit=int,
        offset=int,
        has_more=bool,
        request_id=str,
        timestamp=Time,
        filters_applied=Object,
    ),
)
SIGNALS = part(
    buy=list[ClusterSignal],
    sell=list[ClusterSignal],
    meta=part(strategy=str, period=str, undated_left_out=int, generated_at=Time),
)


def get_summary(call: Call) -> Response:
    """The sums of one company."""
    given = call.params
    days = given["transaction_days"] if given["transaction_days"] is not None else given["days"]
    narrow = filters.build_trade_filters(call._replace(params={**given, "transaction_days": days}))
    with call.app.db.read() as tx:
        company = companies.resolve(tx, given["ticker"])
        sums = totals.compute_issuer_sums(tx, company.cik, narrow)
        windows = call.build_window_meta(trades.count_undated(tx, narrow, issuer=company.cik, directed=True))
    name: IssuerName = {"ticker": company.ticker, "company_name": company.name, "issuer_cik": company.padded_cik}
    return call.success({**name, **sums}, {**windows, "transaction_days": days, "days": days})


def screen_companies(call: Call) -> Response:
    """Companies by what their insiders did."""
    call, narrow = _bounded(call)
    given = call.params
    narrow = narrow._replace(with_roles=narrow.with_roles | (C_SUITE if given["csuite_only"] else 0))
    with call.app.db.read() as tx:
        found = [one for one in totals.list_issuer_sums(tx, narrow) if _passes(one, given)]
        found.sort(key=lambda one: (_sorting(one, given["sort_by"]), one.cik), reverse=True)
        page, paging = filters.slice_page(call, found)
        issuers = totals.get_issuers(tx, [one.cik for one in page])
        windows = call.build_window_meta(trades.count_undated(tx, narrow, directed=True))
    rows: list[ScreenedIssuer] = [{**issuers[one.cik], **one.build_sums()} for one in page]
    meta = {
        **windows,
        "total_results": len(found),
        "returned": len(rows),
        **paging,
        "request_id": call.request_id,
        "timestamp": iso(call.now),
        "filters_applied": {name: value for name, value in given.items() if value not in (None, {})},
    }
    return call.render_requested_table(rows, meta) or call.bare_object({"results": rows, "meta": meta})


def list_clusters(call: Call) -> Response:
    """Companies in which several insiders bought, or several sold."""
    ticker = call.params["ticker"]
    call, narrow = _bounded(call, "days", of_all=ticker is None)
    # A cluster's least value is that of all its trades.
    least, narrow = narrow.min_value, narrow._replace(min_value=None)
    with call.app.db.read() as tx:
        issuer = companies.resolve(tx, ticker).cik if ticker else None
        found = totals.list_clusters(tx, narrow, call.params["min_insiders"], least, issuer)
        windows = call.build_window_meta(trades.count_undated(tx, narrow, issuer=issuer, directed=True))
    return call.bare_rows(found, windows)


def list_groups(call: Call) -> Response:
    """Sums by sector or industry."""
    call, narrow = _bounded(call)
    given = call.params
    with call.app.db.read() as tx:
        found = totals.list_group_sums(tx, narrow, by_industry=given["group_by"] == "industry")
        windows = call.build_window_meta(trades.count_undated(tx, narrow))
    found.sort(key=lambda one: (_group_sorting(one, given["sort_by"]), one["group"] or ""), reverse=True)
    page, paging = filters.slice_page(call, found)
    return call.success_rows(page, {"total": len(found), **paging, "group_by": given["group_by"], **windows})


def _bounded(call: Call, filed_days: str = "filed_at_days", *, of_all: bool = True) -> tuple[Call, TradeFilters]:
    """The call, and what it narrows transactions to: of all companies not more than :data:`MAX_SUMMED` days.

    Where days of transactions alone are counted back from today, those of filing are as many: what was traded in them
    was filed in them. Where the host has no default windows (:meth:`Route.without_default_windows`) all of its few
    transactions are summed when no days are given.
    """
    given = call.params
    windows = (*(one.name for one in filters.DATE_PARAMS), "transaction_days", filed_days)
    if of_all and given["transaction_days"] is not None and given[filed_days] is None:
        call = call._replace(params={**given, filed_days: min(given["transaction_days"], MAX_SUMMED)})
    narrow = filters.build_trade_filters(call)
    narrow = narrow._replace(since=max(narrow.since, filters.first_filing_day(call.now, call.params[filed_days])))
    asked = next((name for name in windows if given[name] is not None), None)
    if of_all and asked is not None and filters.count_days(call.now, narrow) > MAX_SUMMED:
        said = (
            f"Sums over all companies cover at most {MAX_SUMMED} days of filing or of transactions: ask for one window "
            "after the other, or for one company by ticker where the call takes one."
        )
        raise invalid_param(asked, said, expected=f"at most {MAX_SUMMED} days")
    return call, narrow


def list_signals(call: Call) -> Response:
    """The clusters of the last thirty days, purchases and sales apart, the greatest value first."""
    since = filters.first_filing_day(call.now, SIGNAL_DAYS)
    narrow = TradeFilters(MAX_CLUSTERS, since=since, no_plan=True, no_cashless=True, no_cover=True)
    with call.app.db.read() as tx:
        found = totals.list_clusters(tx, narrow, SIGNAL_INSIDERS)
        undated = trades.count_undated(tx, narrow, directed=True)
    found.sort(key=lambda one: (-one["total_value"], one["issuer_cik"]))
    sides = {
        side: [
            build_record(ClusterSignal, one, signal=f"cluster_{side}", latest_date=one["last_date"])
            for one in found
            if one["cluster_type"] == side
        ][:MAX_SIGNALS]
        for side in ("buy", "sell")
    }
    meta = {
        "strategy": f"at least {SIGNAL_INSIDERS} insiders on one side, without plans, exercises and tax sales",
        "period": f"{SIGNAL_DAYS} days by filing day",
        "undated_left_out": undated,
        "generated_at": iso(call.now),
    }
    return call.bare_object({**sides, "meta": meta})


def get_market_stats(call: Call) -> Response:
    """The whole market in the last days."""
    days = call.params["days"]
    since = filters.first_filing_day(call.now, days)
    with call.app.db.read() as tx:
        market = totals.build_overview(tx, since, days)
        windows = call.build_window_meta(trades.count_undated(tx, TradeFilters(since=since), directed=True))
    return call.bare_object({**market, **windows})


def _passes(one: SummedIssuer, given: Mapping[str, Any]) -> bool:
    """Whether a company is within the bounds that are given; a score that it does not have is within none."""
    row = one.row
    if row["total_transactions"] < given["min_transactions"] or row["unique_insiders"] < given["min_insiders"]:
        return False
    for name in ("sentiment", "net_value"):
        above, below = given[f"{name}_gt"], given[f"{name}_lt"]
        if above is None and below is None:
            continue
        figure: Decimal | int | None = getattr(one, name)
        if figure is None or (above is not None and figure <= above) or (below is not None and figure >= below):
            return False
    return True


def _sorting(one: SummedIssuer, by: str) -> Decimal:
    name = by.removeprefix("abs_")
    figure = one.row[name] if name == "total_transactions" else getattr(one, name)
    value = Decimal(figure or 0)
    return abs(value) if by.startswith("abs_") else value


def _group_sorting(group: Mapping[str, Any], by: str) -> Any:
    if by == "group":
        return group["group"] or ""
    return abs(group["net_value"]) if by == "abs_net_value" else group[by]
