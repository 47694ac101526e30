"""Sums of insiders' purchases and sales in the market: by company, sector, cluster and day.

- Transactions with the codes P and S are summed, of shares and not of derivatives, after amendments.
- A joint filing is one transaction of its first owner, so its shares are not counted twice.
- Values are whole dollars. A trade without a price is counted, but adds no value; ``transactions_without_value`` is the
  number of such trades.
- A trade that several forms report is counted once (``same_trades``). A trade with a doubtful value is left out and
  counted in ``doubtful_left_out`` (``trade_doubts``).
- A *cluster* is a company in which several insiders bought, or several sold, in the same window.

Example: three insiders bought for 1,000, 550 and 2,100 dollars, one of them also sold for 50. The company has 3 buys, 1
sell, a net value of 3,600, a sentiment score of (3 - 1) / (3 + 1) = 0.5, and a cluster of three buyers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf, build_record
from finapi.market.insiders import trades
from finapi.market.insiders.trades import TradeFilters
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

_FOUR_DECIMALS = Decimal("0.0001")
_OVERVIEW_ROWS = 10  # Rows of each list of the overview.
_OVERVIEW_INSIDERS = 3  # Minimum number of insiders for a cluster in the overview.


DoubtfulCount = Annotated[int, "Transactions with a value_doubt, which all other figures leave out."]


class _ScoreMark(TypedDict):
    status: Annotated[str, OneOf(("nm",))]
    reason: str


class TradeSums(TypedDict):
    """The totals of one company's trades."""

    total_transactions: int
    total_buys: int
    total_sells: int
    total_buy_value: int
    total_sell_value: int
    net_value: int
    transactions_without_value: int
    doubtful_left_out: DoubtfulCount
    unique_insiders: int
    unique_buyers: int
    unique_sellers: int
    rule_10b5_1_buy_count: int
    rule_10b5_1_sell_count: int
    rule_10b5_1_buy_value: int
    rule_10b5_1_sell_value: int
    csuite_buy_count: int
    csuite_sell_count: int
    csuite_buy_value: int
    csuite_sell_value: int
    csuite_net_value: int
    officer_buy_value: int
    officer_sell_value: int
    director_buy_value: int
    director_sell_value: int
    filing_count: int
    buy_sell_ratio: Decimal | None
    sentiment_score: Decimal | None
    value_sentiment_score: Decimal | None
    csuite_sentiment_score: Decimal | None
    value_csuite_sentiment_score: Decimal | None
    latest_transaction_date: Date | None
    marks: Annotated[dict[str, _ScoreMark], "The reason for each score that is not meaningful, by its name."]


class IssuerName(TypedDict):
    """The company that sums are about."""

    ticker: str | None
    company_name: str
    issuer_cik: str


class IssuerInSector(IssuerName):
    """A company with its SIC division and major group."""

    sector: str | None
    industry: str | None


# The sums of a company without trades, for which the query returns no row.
_NO_TRADES: dict[str, int | None] = {**dict.fromkeys(TradeSums.__annotations__, 0), "latest_transaction_date": None}


def compute_issuer_sums(tx: Transaction, issuer: int, filters: TradeFilters) -> TradeSums:
    """Return the sums of one company."""
    row = tx.find_row("sums_by_issuer", _build_parameters(filters, issuer))
    return _build_sums(_NO_TRADES if row is None else dict(row))


class SummedIssuer(NamedTuple):
    """A company with trades.

    A screen reads thousands of companies and returns a few. Only the figures that it compares are computed for each of
    them; the complete record is built for the companies that are returned.
    """

    cik: int
    row: Row

    @property
    def sentiment(self) -> Decimal | None:
        """The sentiment score, from -1 (only sales) to 1 (only purchases)."""
        return _compute_score(self.row["total_buys"], self.row["total_sells"])

    @property
    def net_value(self) -> int:
        """The dollars of purchases minus the dollars of sales."""
        net_value: int = self.row["total_buy_value"] - self.row["total_sell_value"]
        return net_value

    def build_sums(self) -> TradeSums:
        """Return the complete totals of the company."""
        return _build_sums(dict(self.row))


def list_issuer_sums(tx: Transaction, filters: TradeFilters) -> list[SummedIssuer]:
    """Return the sums of every company with trades."""
    rows = tx.list_rows("sums_by_issuer", _build_parameters(filters))
    return [SummedIssuer(row["issuer_cik"], row) for row in rows]


def _build_parameters(filters: TradeFilters, issuer: int | None = None) -> dict[str, Any]:
    """Return the parameters of a query of sums.

    ``by_date`` selects the index on transaction dates. It is set if only transaction dates, and not filing days, limit
    the transactions.
    """
    by_date = filters.date_from is not None and (filters.date_to is not None or filters.since == 0)
    return {**filters._asdict(), "issuer": issuer, "by_date": by_date}


class _ScorePair(NamedTuple):
    """The two figures that a score compares, and the reason code if the score is null because both are 0."""

    buys: int
    sells: int
    reason: str


def _build_sums(row: dict[str, Any]) -> TradeSums:
    pairs = {
        "sentiment_score": _ScorePair(row["total_buys"], row["total_sells"], "no_trades"),
        "value_sentiment_score": _ScorePair(row["total_buy_value"], row["total_sell_value"], "no_values"),
        "csuite_sentiment_score": _ScorePair(row["csuite_buy_count"], row["csuite_sell_count"], "no_c_suite_trades"),
        "value_csuite_sentiment_score": _ScorePair(
            row["csuite_buy_value"], row["csuite_sell_value"], "no_c_suite_values"
        ),
    }
    scores = {"buy_sell_ratio": _divide(row["total_buys"], row["total_sells"])}
    reasons = {"buy_sell_ratio": "no_sales"}
    for name, pair in pairs.items():
        scores[name] = _compute_score(pair.buys, pair.sells)
        reasons[name] = pair.reason
    marks: dict[str, _ScoreMark] = {}
    for name, reason in reasons.items():
        if scores[name] is None:
            marks[name] = {"status": "nm", "reason": reason}
    return build_record(
        TradeSums,
        row,
        **scores,
        net_value=row["total_buy_value"] - row["total_sell_value"],
        csuite_net_value=row["csuite_buy_value"] - row["csuite_sell_value"],
        marks=marks,
    )


def _compute_score(buys: int, sells: int) -> Decimal | None:
    """Return a score from -1 (only sales) to 1 (only purchases), or None if there are neither."""
    return _divide(buys - sells, buys + sells)


def _divide(dividend: int, divisor: int) -> Decimal | None:
    """Return a quotient with four decimals, or None if the divisor is 0."""
    return (Decimal(dividend) / divisor).quantize(_FOUR_DECIMALS, ROUND_HALF_EVEN) if divisor else None


class TradeGroup(TypedDict):
    """The sums of a sector or industry."""

    group: str | None
    transaction_count: int
    filing_count: int
    unique_insiders: int
    unique_issuers: int
    buy_count: int
    sell_count: int
    buy_value: int
    sell_value: int
    net_value: int
    doubtful_left_out: DoubtfulCount


def list_group_sums(tx: Transaction, filters: TradeFilters, *, by_industry: bool) -> list[TradeGroup]:
    """Return sums by industry or sector.

    Transactions of every kind are counted here. Buys and sells are the trades in the market among them. Companies
    without a SIC code form the group None.
    """
    get_group_name = sectors.find_industry_name if by_industry else sectors.find_sector_name
    groups = []
    for row in tx.list_rows("sums_by_group", _build_parameters(filters), by_industry=by_industry):
        net_value = row["buy_value"] - row["sell_value"]
        groups.append(build_record(TradeGroup, row, group=get_group_name(row["grouped"]), net_value=net_value))
    return groups


class InsiderCluster(IssuerInSector):
    """A company in which several insiders bought, or several sold."""

    insider_count: int
    total_value: int
    net_shares: Decimal
    transaction_count: int
    first_date: Date | None
    last_date: Date | None
    insiders: list[str]
    cluster_type: Literal["buy", "sell"]
    has_officer: bool
    has_director: bool
    has_c_suite: bool
    has_ten_percent_owner: bool
    price_avg: Decimal | None
    last_filed: Date | None


def list_clusters(
    tx: Transaction, filters: TradeFilters, min_insiders: int, min_value: int | None = None, issuer: int | None = None
) -> list[InsiderCluster]:
    """Return companies in which at least ``min_insiders`` bought, or sold, for at least ``min_value`` dollars.

    Clusters with the most insiders come first. The shares and prices are added up here and not in SQL, because they are
    exact decimals stored as text.
    """
    parameters = _build_parameters(filters, issuer)
    rows = tx.list_rows("clusters", parameters, min_insiders=min_insiders, min_total_value=min_value)
    issuers = get_issuers(tx, [row["issuer_cik"] for row in rows])
    cluster_keys = [[row["issuer_cik"], row["direction"], row["first_day"], row["last_day"]] for row in rows]
    trades_by_cluster: list[list[Row]] = [[] for _ in rows]
    for trade in tx.list_rows("trades_of_clusters", parameters, clusters=json.dumps(cluster_keys)):
        trades_by_cluster[trade["cluster_index"]].append(trade)
    clusters = []
    for row, cluster_trades in zip(rows, trades_by_cluster, strict=True):
        clusters.append(_build_cluster(row, cluster_trades, issuers[row["issuer_cik"]]))
    return clusters


def _build_cluster(row: Row, cluster_trades: Sequence[Row], issuer: IssuerInSector) -> InsiderCluster:
    insider_names = dict.fromkeys(trade["name"] for trade in cluster_trades)  # Each name once, in order.
    return build_record(
        InsiderCluster,
        row,
        **issuer,
        net_shares=_sum_shares(cluster_trades) * row["direction"],
        insiders=list(insider_names),
        cluster_type="buy" if row["direction"] == trades.BUY else "sell",
        price_avg=_compute_average_price(cluster_trades),
        last_filed=_get_filing_date(row["last_day"]),
    )


def _sum_shares(cluster_trades: Sequence[Row]) -> Decimal:
    return sum((Decimal(trade["shares"]) for trade in cluster_trades if trade["shares"] is not None), Decimal())


def _compute_average_price(cluster_trades: Sequence[Row]) -> Decimal | None:
    """Return the share-weighted average price of the trades that state both, or None if there are none."""
    priced = [trade for trade in cluster_trades if trade["exact"] is not None and trade["shares"] is not None]
    priced_shares = _sum_shares(priced)
    if not priced_shares:
        return None
    dollars = sum(Decimal(str(trade["exact"])) for trade in priced)
    return (dollars / priced_shares).quantize(_FOUR_DECIMALS, ROUND_HALF_EVEN)


def get_issuers(tx: Transaction, ciks: Sequence[int]) -> dict[int, IssuerInSector]:
    """Return the names and sectors of companies, by CIK."""
    issuers = {}
    for row in tx.list_rows("issuers_with_sic", ciks=json.dumps(sorted(set(ciks)))):
        sector, industry = sectors.get_names_of_sic(row["sic"])
        issuers[row["cik"]] = build_record(IssuerInSector, row, sector=sector, industry=industry)
    return issuers


class _MarketVolume(TypedDict):
    buy_volume: int
    sell_volume: int
    buy_count: int
    sell_count: int


class _TopIssuer(TypedDict):
    ticker: str | None
    company_name: str
    total_value: int


class _LargeTrade(TypedDict):
    ticker: str | None
    date: Date | None
    type: str
    value: int
    insider: str
    transaction_id: str


class _TradeDay(TypedDict):
    date: Date | None
    buy: int
    sell: int


class _TopInsider(TypedDict):
    insider: str
    insider_cik: str
    ticker: str | None
    total_value: int


class _RecentCluster(TypedDict):
    ticker: str | None
    company_name: str
    insiders: int
    value: int
    last_active: Date | None
    type: str


class MarketOverview(TypedDict):
    """The complete market: volumes, days, and the companies and insiders that traded most."""

    period_days: int | None
    volume: _MarketVolume
    top_tickers: list[_TopIssuer]
    recent_large_tx: list[_LargeTrade]
    daily_trend: list[_TradeDay]
    top_insiders: list[_TopInsider]
    recent_clusters: list[_RecentCluster]
    doubtful_left_out: DoubtfulCount


def build_overview(tx: Transaction, since: int, period_days: int | None) -> MarketOverview:
    """Return the sums of the complete market since a filing day, which is ``period_days`` ago."""
    days_with_trades = tx.list_rows("trade_days", since=since)
    volume: _MarketVolume = {
        "buy_volume": sum(row["buy"] for row in days_with_trades),
        "sell_volume": sum(row["sell"] for row in days_with_trades),
        "buy_count": sum(row["buys"] for row in days_with_trades),
        "sell_count": sum(row["sells"] for row in days_with_trades),
    }
    top_issuers = tx.list_rows("top_issuers", since=since, limit=_OVERVIEW_ROWS)
    top_insiders = tx.list_rows("top_insiders", since=since, limit=_OVERVIEW_ROWS)
    trend = [build_record(_TradeDay, row, date=_get_filing_date(row["filed_day"])) for row in days_with_trades]
    return {
        "period_days": period_days,
        "volume": volume,
        "top_tickers": [build_record(_TopIssuer, row) for row in top_issuers],
        "recent_large_tx": _list_largest_trades(tx, since),
        "daily_trend": trend,
        "top_insiders": [build_record(_TopInsider, row) for row in top_insiders],
        "recent_clusters": _list_recent_clusters(tx, since),
        "doubtful_left_out": trades.count_doubtful(tx, TradeFilters(since=since)),
    }


def _list_largest_trades(tx: Transaction, since: int) -> list[_LargeTrade]:
    ids = [row["id"] for row in tx.list_rows("largest_trades", since=since, limit=_OVERVIEW_ROWS)]
    return [
        build_record(
            _LargeTrade,
            trade,
            date=trade["transaction_date"],
            type=trade["standard_type"],
            value=trade["transaction_value"],
            insider=trade["insider_name"],
        )
        for trade in trades.build_transactions(tx, ids)
    ]


def _list_recent_clusters(tx: Transaction, since: int) -> list[_RecentCluster]:
    filters = TradeFilters(_OVERVIEW_ROWS, since=since)
    return [
        build_record(
            _RecentCluster,
            cluster,
            insiders=cluster["insider_count"],
            value=cluster["total_value"],
            last_active=cluster["last_filed"],
            type=cluster["cluster_type"],
        )
        for cluster in list_clusters(tx, filters, _OVERVIEW_INSIDERS)
    ]


def _get_filing_date(day_number: int) -> str | None:
    """Return the date of a filing day, or None for an unknown day."""
    return days.iso(day_number) if day_number else None
