"""Sums over insiders' purchases and sales in the market: by company, sector, cluster and day.

Counted are transactions of code P and S in shares (no derivatives), as amended. A joint filing is one
transaction of its first owner. Values are whole dollars; a trade without a price is counted but adds nothing,
and ``transactions_without_value`` says how many there are.
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

_PLACES = Decimal("0.0001")


class _ScoreMark(TypedDict):
    status: Annotated[str, OneOf(("nm",))]
    reason: str


class TradeSums(TypedDict):
    """The sums of one company."""

    total_transactions: int
    total_buys: int
    total_sells: int
    total_buy_value: int
    total_sell_value: int
    net_value: int
    transactions_without_value: int
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
    marks: Annotated[dict[str, _ScoreMark], "Why a score is not meaningful, by its name."]


class IssuerName(TypedDict):
    """A company as sums name it."""

    ticker: str | None
    company_name: str
    issuer_cik: str


class IssuerInSector(IssuerName):
    """A company with its SIC division and major group."""

    sector: str | None
    industry: str | None


# A company without trades has no row.
_NO_TRADES: dict[str, int | None] = {**dict.fromkeys(TradeSums.__annotations__, 0), "latest_transaction_date": None}


def compute_issuer_sums(tx: Transaction, issuer: int, filters: TradeFilters) -> TradeSums:
    """The sums of one company."""
    row = tx.find_row("sums_by_issuer", _values(filters, issuer))
    return _sums(_NO_TRADES if row is None else dict(row))


class SummedIssuer(NamedTuple):
    """A company with trades: what it is judged by, and all of its sums, which are made of the few that are shown."""

    cik: int
    row: Row

    @property
    def sentiment(self) -> Decimal | None:
        """From -1 (only sales) to 1 (only purchases)."""
        return _ratio(
            self.row["total_buys"] - self.row["total_sells"], self.row["total_buys"] + self.row["total_sells"]
        )

    @property
    def net_value(self) -> int:
        """Purchases less sales, in dollars."""
        value: int = self.row["total_buy_value"] - self.row["total_sell_value"]
        return value

    def build_sums(self) -> TradeSums:
        """All of them."""
        return _sums(dict(self.row))


def list_issuer_sums(tx: Transaction, filters: TradeFilters) -> list[SummedIssuer]:
    """The sums of every company with trades."""
    return [SummedIssuer(row["issuer_cik"], row) for row in tx.list_rows("sums_by_issuer", _values(filters))]


def _values(filters: TradeFilters, issuer: int | None = None) -> dict[str, Any]:
    """The values of sums: read by the days of transactions where those, and no days of filing, bound them."""
    by_date = filters.date_from is not None and (filters.date_to is not None or filters.since == 0)
    return {**filters._asdict(), "issuer": issuer, "by_date": by_date}


def _sums(row: dict[str, Any]) -> TradeSums:
    pairs = {
        "sentiment_score": (row["total_buys"], row["total_sells"], "no_trades"),
        "value_sentiment_score": (row["total_buy_value"], row["total_sell_value"], "no_values"),
        "csuite_sentiment_score": (row["csuite_buy_count"], row["csuite_sell_count"], "no_c_suite_trades"),
        "value_csuite_sentiment_score": (row["csuite_buy_value"], row["csuite_sell_value"], "no_c_suite_values"),
    }
    # From -1 (only sales) to 1 (only purchases).
    scores = {name: _ratio(buys - sells, buys + sells) for name, (buys, sells, _) in pairs.items()}
    scores["buy_sell_ratio"] = _ratio(row["total_buys"], row["total_sells"])
    reasons = {"buy_sell_ratio": "no_sales", **{name: reason for name, (_, _, reason) in pairs.items()}}
    return build_record(
        TradeSums,
        row,
        **scores,
        net_value=row["total_buy_value"] - row["total_sell_value"],
        csuite_net_value=row["csuite_buy_value"] - row["csuite_sell_value"],
        marks={name: {"status": "nm", "reason": reason} for name, reason in reasons.items() if scores[name] is None},
    )


def _ratio(some: int, others: int) -> Decimal | None:
    return (Decimal(some) / others).quantize(_PLACES, ROUND_HALF_EVEN) if others else None


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


def list_group_sums(tx: Transaction, filters: TradeFilters, *, by_industry: bool) -> list[TradeGroup]:
    """Sums by sector or industry.

    Here every kind of transaction is counted; buys and sells are the market trades among them. Companies
    without a SIC code stand together under the group None.
    """
    name = sectors.find_industry_name if by_industry else sectors.find_sector_name
    rows = tx.list_rows("sums_by_group", _values(filters), by_industry=by_industry)
    return [
        build_record(TradeGroup, row, group=name(row["grouped"]), net_value=row["buy_value"] - row["sell_value"])
        for row in rows
    ]


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
    """Companies in which at least so many insiders bought, or sold, for ``least`` dollars; the most insiders first."""
    values = _values(filters, issuer)
    rows = tx.list_rows("clusters", values, min_insiders=min_insiders, least=min_value)
    issuers = get_issuers(tx, [row["issuer_cik"] for row in rows])
    places = json.dumps([[row["issuer_cik"], row["direction"], row["first_day"], row["last_day"]] for row in rows])
    traded: list[list[Row]] = [[] for _ in rows]
    for trade in tx.list_rows("trades_of_clusters", values, clusters=places):
        traded[trade["place"]].append(trade)
    return [_cluster(row, of, issuers[row["issuer_cik"]]) for row, of in zip(rows, traded, strict=True)]


def _cluster(row: Row, traded: Sequence[Row], issuer: IssuerInSector) -> InsiderCluster:
    shares = sum((Decimal(one["shares"]) for one in traded if one["shares"] is not None), Decimal())
    priced = [one for one in traded if one["exact"] is not None and one["shares"] is not None]
    of_priced = sum((Decimal(one["shares"]) for one in priced), Decimal())
    average = None
    if of_priced:
        paid = sum(Decimal(str(one["exact"])) for one in priced)
        average = (paid / of_priced).quantize(_PLACES, ROUND_HALF_EVEN)
    return build_record(
        InsiderCluster,
        row,
        **issuer,
        net_shares=shares * row["direction"],
        insiders=list(dict.fromkeys(one["name"] for one in traded)),
        cluster_type="buy" if row["direction"] == trades.BUY else "sell",
        price_avg=average,
        last_filed=_day(row["last_day"]),
    )


def get_issuers(tx: Transaction, ciks: Sequence[int]) -> dict[int, IssuerInSector]:
    """How answers name these companies, by CIK."""
    found = {}
    for row in tx.list_rows("issuers_named", ciks=json.dumps(sorted(set(ciks)))):
        sector, industry = sectors.for_sic(row["sic"])
        found[row["cik"]] = build_record(IssuerInSector, row, sector=sector, industry=industry)
    return found


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
    """The market as a whole: volumes, days, and who traded most."""

    period_days: int | None
    volume: _MarketVolume
    top_tickers: list[_TopIssuer]
    recent_large_tx: list[_LargeTrade]
    daily_trend: list[_TradeDay]
    top_insiders: list[_TopInsider]
    recent_clusters: list[_RecentCluster]


def build_overview(tx: Transaction, since: int, period_days: int | None) -> MarketOverview:
    """The market as a whole since a filing day, so many days ago."""
    by_day = tx.list_rows("trade_days", since=since)
    large = [row["id"] for row in tx.list_rows("largest_trades", since=since, limit=10)]
    return {
        "period_days": period_days,
        "volume": {
            "buy_volume": sum(row["buy"] for row in by_day),
            "sell_volume": sum(row["sell"] for row in by_day),
            "buy_count": sum(row["buys"] for row in by_day),
            "sell_count": sum(row["sells"] for row in by_day),
        },
        "top_tickers": [build_record(_TopIssuer, row) for row in tx.list_rows("top_issuers", since=since, limit=10)],
        "recent_large_tx": [
            build_record(
                _LargeTrade,
                one,
                date=one["transaction_date"],
                type=one["standard_type"],
                value=one["transaction_value"],
                insider=one["insider_name"],
            )
            for one in trades.build_transactions(tx, large)
        ],
        "daily_trend": [build_record(_TradeDay, row, date=_day(row["filed_day"])) for row in by_day],
        "top_insiders": [build_record(_TopInsider, row) for row in tx.list_rows("top_insiders", since=since, limit=10)],
        "recent_clusters": [
            build_record(
                _RecentCluster,
                one,
                insiders=one["insider_count"],
                value=one["total_value"],
                last_active=one["last_filed"],
                type=one["cluster_type"],
            )
            for one in list_clusters(tx, TradeFilters(10, since=since), 3)
        ],
    }


def _day(number: int) -> str | None:
    """A filing day by its number; None for the unknown day."""
    return days.iso(number) if number else None
