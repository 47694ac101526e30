"""Handlers for sums of insiders' trades: by company, cluster, sector and for the complete market (DECISIONS 8).

Sums over all companies read every trade of their window, so the window is at most :data:`MAX_SUMMED_DAYS` long. Sums of
one company may have any window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import invalid_param
from finapi.core.records import Date, Object, Time, build_record
from finapi.market.insiders import totals, trades
from finapi.market.insiders.titles import C_SUITE
from finapi.market.insiders.totals import (
    DoubtfulCount,
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
from finapi.web.http.schema import Envelope, WindowMeta
from finapi.web.insiders import filters
from finapi.web.insiders.filters import INDUSTRY, NO_CASHLESS, NO_COVER, NO_PLAN, SECTOR, TRADE_DAYS, TradeWindows

MAX_SUMMED_DAYS = 366  # Summing a longer window would exceed the time limit of a response.
MAX_CLUSTERS = 100
# Signals are clusters of at least two insiders in the last thirty days. Up to ten clusters of purchases and ten of
# sales are listed.
SIGNAL_DAYS = 30
MIN_SIGNAL_INSIDERS = 2
MAX_SIGNALS = 10

_SORTS = ("sentiment", "abs_sentiment", "net_value", "abs_net_value", "total_transactions")
_GROUP_SORTS = ("abs_net_value", "net_value", "buy_value", "sell_value", "transaction_count", "group")


def _window_param(name: str, default: int, *, minimum: int = 0, example: str = "30") -> Param:
    help = f"Only filings of the last N days, at most {MAX_SUMMED_DAYS}; {default} unless another window is given."
    return filters.window_param(name, default, help, minimum=minimum, maximum=MAX_SUMMED_DAYS, example=example)


def _bound_param(name: str, help: str) -> Param:
    return Param(name, "number", help=help, example="0.5")


def _minimum_param(name: str, default: int, help: str) -> Param:
    return Param(
        name, "integer", default=default, minimum=1, maximum=100_000, clamp=True, help=help, example=str(default)
    )


# Only purchases and sales in the market are summed, so the filters by code and kind are left out.
_MARKET_TRADE_PARAMS = (
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
    *(param for param in _MARKET_TRADE_PARAMS if param not in (SECTOR, INDUSTRY)),
)
SCREEN_PARAMS = (
    _window_param("filed_at_days", 7),
    TRADE_DAYS,
    _bound_param("sentiment_gt", "Only above this sentiment_score."),
    _bound_param("sentiment_lt", "Only below this sentiment_score."),
    _bound_param("net_value_gt", "Only above this net_value."),
    _bound_param("net_value_lt", "Only below this net_value."),
    _minimum_param("min_transactions", 1, "Minimum number of trades."),
    _minimum_param("min_insiders", 1, "Minimum number of insiders."),
    filters.flag_param("csuite_only", "Only trades of the C-suite."),
    *_MARKET_TRADE_PARAMS,
    params.limit_param(100, 500),
    OFFSET,
    Param("sort_by", default="abs_sentiment", allowed=_SORTS, help="Sort order, largest first.", example="net_value"),
)


def _build_cluster_param(param: Param) -> Param:
    """Return a filter adapted to clusters: plan trades are excluded by default, and values are totals of a cluster."""
    if param in (NO_CASHLESS, NO_PLAN, NO_COVER):
        return replace(param, default=True)
    if param is filters.MIN_VALUE:
        return replace(param, help="Minimum total value of its trades.")
    return param


CLUSTER_PARAMS = (
    _window_param("days", 30),
    TRADE_DAYS,
    filters.COMPANY_PARAM,
    _minimum_param("min_insiders", 3, "Minimum number of insiders."),
    params.limit_param(MAX_CLUSTERS, MAX_CLUSTERS, "Clusters"),
    OFFSET,
    *(_build_cluster_param(param) for param in _MARKET_TRADE_PARAMS),
)
GROUP_PARAMS = (
    Param(
        "group_by",
        default="sector",
        allowed=("sector", "industry"),
        help="SIC division or major group.",
        example="sector",
    ),
    _window_param("filed_at_days", 30),
    TRADE_DAYS,
    *filters.TRADE_PARAMS,
    params.limit_param(50, 500),
    OFFSET,
    Param(
        "sort_by", default="abs_net_value", allowed=_GROUP_SORTS, help="Sort order, largest first.", example="buy_value"
    ),
)
STATS_PARAMS = (_window_param("days", 1, minimum=1, example="7"),)


class IssuerSums(IssuerName, TradeSums):
    """The sums of a company."""


class ScreenedIssuer(IssuerInSector, TradeSums):
    """A company that a screen finds, with its sums."""


class ClusterSignal(TypedDict):
    """A signal: a cluster of purchases or of sales."""

    ticker: str | None
    company_name: str
    signal: Literal["cluster_buy", "cluster_sell"]
    insider_count: int
    total_value: int
    price_avg: Decimal | None
    latest_date: Date | None


class WindowOverview(MarketOverview, WindowMeta):
    """The totals of the complete market, with their window."""

    days: int | None


class _SummaryWindows(TradeWindows):
    days: int | None


class SummaryMeta(_SummaryWindows, WindowMeta):
    """The windows of a company's sums."""


class _GroupPage(TypedDict):
    total: int
    limit: int
    offset: int
    has_more: bool
    group_by: str


class TradeGroupsMeta(_GroupPage, TradeWindows, WindowMeta):
    """The page and the windows of a list of groups."""


class _ScreenPage(TradeWindows):
    total_results: int
    returned: int
    limit: int
    offset: int
    has_more: bool
    request_id: str
    timestamp: Time
    filters_applied: Object


class InsiderScreenMeta(_ScreenPage, WindowMeta):
    """The page and the windows of a screen."""


class InsiderScreen(TypedDict):
    """The companies that a screen finds."""

    results: list[ScreenedIssuer]
    meta: InsiderScreenMeta


class SignalsMeta(TypedDict):
    """The thresholds for signals, and the number of trades left out for lack of a filing day."""

    strategy: str
    period: str
    undated_left_out: int
    doubtful_left_out: DoubtfulCount
    generated_at: Time


class ClusterSignals(TypedDict):
    """The clusters of purchases and of sales."""

    buy: list[ClusterSignal]
    sell: list[ClusterSignal]
    meta: SignalsMeta


OVERVIEW = WindowOverview
CLUSTERS = list[InsiderCluster]
SUMMARY = Envelope[IssuerSums, SummaryMeta]
GROUPS = Envelope[list[TradeGroup], TradeGroupsMeta]
SCREEN = InsiderScreen
SIGNALS = ClusterSignals


def get_summary(call: Call) -> Response:
    """Return the sums of one company."""
    # ``days`` is another name of ``transaction_days``.
    transaction_days = call.params["transaction_days"]
    if transaction_days is None:
        transaction_days = call.params["days"]
    trade_filters = filters.build_trade_filters(
        call._replace(params={**call.params, "transaction_days": transaction_days})
    )
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        sums = totals.compute_issuer_sums(tx, company.cik, trade_filters)
        undated = trades.count_undated(tx, trade_filters, issuer=company.cik, directed=True)
    issuer: IssuerName = {
        "ticker": company.ticker,
        "company_name": company.name,
        "issuer_cik": company.padded_cik,
    }
    data: IssuerSums = {**issuer, **sums}
    meta: SummaryMeta = {
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
        "transaction_days": transaction_days,
        "days": transaction_days,
    }
    return call.success(data, meta)


def screen_companies(call: Call) -> Response:
    """Return the companies whose sums are within the bounds of the call."""
    call, trade_filters = _build_bounded_filters(call)
    if call.params["csuite_only"]:
        trade_filters = trade_filters._replace(with_roles=trade_filters.with_roles | C_SUITE)
    sort_by = call.params["sort_by"]
    with call.app.db.read() as tx:
        issuers = [
            issuer for issuer in totals.list_issuer_sums(tx, trade_filters) if _is_within_bounds(issuer, call.params)
        ]
        issuers.sort(key=lambda issuer: (_get_sort_figure(issuer, sort_by), issuer.cik), reverse=True)
        page, paging = filters.slice_page(call, issuers)
        names = totals.get_issuers(tx, [issuer.cik for issuer in page])
        undated = trades.count_undated(tx, trade_filters, directed=True)
    rows: list[ScreenedIssuer] = [{**names[issuer.cik], **issuer.build_sums()} for issuer in page]
    meta: InsiderScreenMeta = {
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
        "total_results": len(issuers),
        "returned": len(rows),
        "limit": paging["limit"],
        "offset": paging["offset"],
        "has_more": paging["has_more"],
        "request_id": call.request_id,
        "timestamp": iso(call.request_time),
        "filters_applied": {name: value for name, value in call.params.items() if value not in (None, {})},
    }
    screen: InsiderScreen = {"results": rows, "meta": meta}
    return call.render_requested_table(rows, meta) or call.bare_object(screen)


def list_clusters(call: Call) -> Response:
    """Return companies in which several insiders bought, or several sold."""
    ticker = call.params["ticker"]
    call, trade_filters = _build_bounded_filters(call, "days", of_all_companies=ticker is None)
    # ``min_value`` is the minimum for a cluster's total, not for each trade.
    min_total_value = trade_filters.min_value
    trade_filters = trade_filters._replace(min_value=None)
    with call.app.db.read() as tx:
        issuer_cik = companies.resolve(tx, ticker).cik if ticker else None
        clusters = totals.list_clusters(tx, trade_filters, call.params["min_insiders"], min_total_value, issuer_cik)
        undated = trades.count_undated(tx, trade_filters, issuer=issuer_cik, directed=True)
        doubtful_count = trades.count_doubtful(tx, trade_filters, issuer=issuer_cik)
    meta = {"doubtful_left_out": doubtful_count, **call.build_window_meta(undated)}
    return call.bare_rows(clusters, meta)


def list_groups(call: Call) -> Response:
    """Return sums by sector or industry."""
    call, trade_filters = _build_bounded_filters(call)
    group_by = call.params["group_by"]
    sort_by = call.params["sort_by"]
    with call.app.db.read() as tx:
        groups = totals.list_group_sums(tx, trade_filters, by_industry=group_by == "industry")
        undated = trades.count_undated(tx, trade_filters)
    groups.sort(key=lambda group: (_get_group_sort_key(group, sort_by), group["group"] or ""), reverse=True)
    page, paging = filters.slice_page(call, groups)
    meta: TradeGroupsMeta = {
        "total": len(groups),
        "limit": paging["limit"],
        "offset": paging["offset"],
        "has_more": paging["has_more"],
        "group_by": group_by,
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.success_rows(page, meta)


def _build_bounded_filters(
    call: Call, filed_days_param: str = "filed_at_days", *, of_all_companies: bool = True
) -> tuple[Call, TradeFilters]:
    """Return the call and its filters. Raise INVALID_PARAM for sums of all companies over too long a window.

    If only ``transaction_days`` is set, the returned call has the same window of filing days, because trades of the
    last N days were filed in the last N days. If no window is set, which is only possible on a server without default
    windows (:meth:`Route.without_default_windows`), all of its few transactions are summed.
    """
    given_params = call.params
    transaction_days = given_params["transaction_days"]
    if of_all_companies and transaction_days is not None and given_params[filed_days_param] is None:
        filed_days = min(transaction_days, MAX_SUMMED_DAYS)
        call = call._replace(params={**given_params, filed_days_param: filed_days})
    trade_filters = filters.build_trade_filters(call)
    since = filters.get_first_filing_day(call.now, call.params[filed_days_param])
    trade_filters = trade_filters._replace(since=max(trade_filters.since, since))
    window_params = (*(param.name for param in filters.DATE_PARAMS), "transaction_days", filed_days_param)
    window = next((name for name in window_params if given_params[name] is not None), None)
    if of_all_companies and window is not None and filters.count_days(call.now, trade_filters) > MAX_SUMMED_DAYS:
        raise invalid_param(
            window,
            f"Sums over all companies cover at most {MAX_SUMMED_DAYS} days of filing or of transactions: request "
            "shorter windows one after the other, or one company by ticker if the call takes one.",
            expected=f"at most {MAX_SUMMED_DAYS} days",
        )
    return call, trade_filters


def list_signals(call: Call) -> Response:
    """Return the clusters of the last thirty days, separately for purchases and sales, largest value first."""
    since = filters.get_first_filing_day(call.now, SIGNAL_DAYS)
    trade_filters = TradeFilters(MAX_CLUSTERS, since=since, no_plan=True, no_cashless=True, no_cover=True)
    with call.app.db.read() as tx:
        clusters = totals.list_clusters(tx, trade_filters, MIN_SIGNAL_INSIDERS)
        doubtful_count = trades.count_doubtful(tx, trade_filters)
        undated = trades.count_undated(tx, trade_filters, directed=True)
    clusters.sort(key=lambda cluster: (-cluster["total_value"], cluster["issuer_cik"]))
    signals: ClusterSignals = {
        "buy": _build_signals(clusters, "buy"),
        "sell": _build_signals(clusters, "sell"),
        "meta": {
            "strategy": (
                f"at least {MIN_SIGNAL_INSIDERS} insiders on one side, without plans, exercises and tax sales"
            ),
            "period": f"{SIGNAL_DAYS} days by filing day",
            "undated_left_out": undated,
            "doubtful_left_out": doubtful_count,
            "generated_at": iso(call.request_time),
        },
    }
    return call.bare_object(signals)


def _build_signals(clusters: Sequence[InsiderCluster], side: Literal["buy", "sell"]) -> list[ClusterSignal]:
    """Return the first signals for purchases or for sales."""
    clusters_of_side = [cluster for cluster in clusters if cluster["cluster_type"] == side]
    return [
        build_record(ClusterSignal, cluster, signal=f"cluster_{side}", latest_date=cluster["last_date"])
        for cluster in clusters_of_side[:MAX_SIGNALS]
    ]


def get_market_stats(call: Call) -> Response:
    """Return the sums of the complete market over the last days."""
    window_days = call.params["days"]
    since = filters.get_first_filing_day(call.now, window_days)
    with call.app.db.read() as tx:
        market = totals.build_overview(tx, since, window_days)
        undated = trades.count_undated(tx, TradeFilters(since=since), directed=True)
    overview: WindowOverview = {
        **market,
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.bare_object(overview)


def _is_within_bounds(issuer: SummedIssuer, bounds: Mapping[str, Any]) -> bool:
    """Return True if a company's sums are within the bounds in the call's parameters.

    A company without a score does not pass any bound on the score.
    """
    row = issuer.row
    if row["total_transactions"] < bounds["min_transactions"] or row["unique_insiders"] < bounds["min_insiders"]:
        return False
    for name in ("sentiment", "net_value"):
        lower = bounds[f"{name}_gt"]
        upper = bounds[f"{name}_lt"]
        if lower is None and upper is None:
            continue
        figure = issuer.sentiment if name == "sentiment" else issuer.net_value
        if figure is None or (lower is not None and figure <= lower) or (upper is not None and figure >= upper):
            return False
    return True


def _get_sort_figure(issuer: SummedIssuer, sort_by: str) -> Decimal:
    name = sort_by.removeprefix("abs_")
    if name == "total_transactions":
        figure = Decimal(issuer.row["total_transactions"])
    elif name == "net_value":
        figure = Decimal(issuer.net_value)
    else:
        figure = issuer.sentiment or Decimal()
    return abs(figure) if sort_by.startswith("abs_") else figure


def _get_group_sort_key(group: Mapping[str, Any], sort_by: str) -> Any:
    if sort_by == "group":
        return group["group"] or ""
    return abs(group["net_value"]) if sort_by == "abs_net_value" else group[sort_by]
