"""Sums over insiders' purchases and sales in the market: by company, sector, cluster and day.

Counted are transactions of code P and S in shares (no derivatives), as amended. A joint filing is one
transaction of its first owner. Values are whole dollars; a trade without a price is counted but adds nothing,
and ``transactions_without_value`` says how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from finapi.db import Row, Transaction
from finapi.market import insider_trades, sectors

_PLACES = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Narrow:
    """What narrows the sums; ``since`` is a filing day by its number, ``date_from`` a transaction date."""

    since: int
    date_from: str | None = None
    no_plan: bool = False
    no_cashless: bool = False
    no_cover: bool = False
    with_roles: int = 0
    sector: str | None = None
    industry: int | None = None


def of_issuer(tx: Transaction, issuer: int, narrow: Narrow) -> dict[str, Any]:
    """The sums of one company."""
    row = tx.one(
        "sums_of_issuer",
        issuer=issuer,
        since=narrow.since,
        date_from=narrow.date_from,
        no_plan=narrow.no_plan,
        no_cashless=narrow.no_cashless,
        no_cover=narrow.no_cover,
        with_roles=narrow.with_roles,
    )
    assert row is not None
    return _sums(row)


def by_issuer(tx: Transaction, narrow: Narrow) -> list[dict[str, Any]]:
    """The sums of every company with trades, by CIK."""
    rows = tx.all(
        "sums_by_issuer",
        since=narrow.since,
        date_from=narrow.date_from,
        no_plan=narrow.no_plan,
        no_cashless=narrow.no_cashless,
        no_cover=narrow.no_cover,
        with_roles=narrow.with_roles,
        sector=narrow.sector,
        industry=narrow.industry,
    )
    return [{"issuer_cik": f"{row['issuer_cik']:010}", **_sums(row)} for row in rows]


def _sums(row: Row) -> dict[str, Any]:
    buys, sells = row["buys"], row["sells"]
    buy_value, sell_value = row["buy_value"], row["sell_value"]
    csuite_buys, csuite_sells = row["csuite_buys"], row["csuite_sells"]
    csuite_buy, csuite_sell = row["csuite_buy_value"], row["csuite_sell_value"]
    return {
        "total_transactions": row["transactions"],
        "total_buys": buys,
        "total_sells": sells,
        "total_buy_value": buy_value,
        "total_sell_value": sell_value,
        "net_value": buy_value - sell_value,
        "transactions_without_value": row["unvalued"],
        "unique_insiders": row["insiders"],
        "unique_buyers": row["buyers"],
        "unique_sellers": row["sellers"],
        "rule_10b5_1_buy_count": row["plan_buys"],
        "rule_10b5_1_sell_count": row["plan_sells"],
        "rule_10b5_1_buy_value": row["plan_buy_value"],
        "rule_10b5_1_sell_value": row["plan_sell_value"],
        "csuite_buy_count": csuite_buys,
        "csuite_sell_count": csuite_sells,
        "csuite_buy_value": csuite_buy,
        "csuite_sell_value": csuite_sell,
        "csuite_net_value": csuite_buy - csuite_sell,
        "officer_buy_value": row["officer_buy_value"],
        "officer_sell_value": row["officer_sell_value"],
        "director_buy_value": row["director_buy_value"],
        "director_sell_value": row["director_sell_value"],
        "buy_sell_ratio": _ratio(buys, sells),
        "sentiment_score": _balance(buys, sells),
        "value_sentiment_score": _balance(buy_value, sell_value),
        "csuite_sentiment_score": _balance(csuite_buys, csuite_sells),
        "value_csuite_sentiment_score": _balance(csuite_buy, csuite_sell),
        "filing_count": row["filings"],
        "latest_transaction_date": row["latest"],
        "marks": _marks(row),
    }


def _ratio(some: int, others: int) -> Decimal | None:
    return (Decimal(some) / others).quantize(_PLACES, ROUND_HALF_EVEN) if others else None


def _balance(buys: int, sells: int) -> Decimal | None:
    """From -1 (only sales) to 1 (only purchases); None where there is neither."""
    return _ratio(buys - sells, buys + sells)


def _marks(row: Row) -> dict[str, Any]:
    meaningless = {
        "buy_sell_ratio": (not row["sells"], "no_sales"),
        "sentiment_score": (not row["transactions"], "no_trades"),
        "value_sentiment_score": (not row["buy_value"] + row["sell_value"], "no_values"),
        "csuite_sentiment_score": (not row["csuite_buys"] + row["csuite_sells"], "no_c_suite_trades"),
        "value_csuite_sentiment_score": (
            not row["csuite_buy_value"] + row["csuite_sell_value"],
            "no_c_suite_values",
        ),
    }
    return {
        name: {"status": "nm", "reason": reason} for name, (is_so, reason) in meaningless.items() if is_so
    }


def by_group(
    tx: Transaction, narrow: Narrow, more: Mapping[str, Any], *, by_industry: bool
) -> list[dict[str, Any]]:
    """Sums by sector or industry; ``more`` holds the values that only this query takes.

    Here every kind of transaction is counted; buys and sells are the market trades among them. Companies
    without a SIC code stand together under the group None.
    """
    rows = tx.all(
        "sums_by_group",
        by_industry=by_industry,
        sector=narrow.sector,
        industry=narrow.industry,
        without_roles=more["without_roles"],
        code=more["code"],
        acquired=more["acquired"],
        min_value=more["min_value"],
        max_value=more["max_value"],
        since=narrow.since,
        date_from=narrow.date_from,
        no_plan=narrow.no_plan,
        no_cashless=narrow.no_cashless,
        no_cover=narrow.no_cover,
        with_roles=narrow.with_roles,
    )
    name = sectors.industry_of if by_industry else sectors.sector_of
    return [
        {
            "group": name(row["grouped"]),
            "transaction_count": row["transactions"],
            "filing_count": row["filings"],
            "unique_insiders": row["insiders"],
            "unique_issuers": row["issuers"],
            "buy_count": row["buys"],
            "sell_count": row["sells"],
            "buy_value": row["buy_value"],
            "sell_value": row["sell_value"],
            "net_value": row["buy_value"] - row["sell_value"],
        }
        for row in rows
    ]


def clusters(
    tx: Transaction, narrow: Narrow, *, min_insiders: int, min_value: int | None, limit: int
) -> list[dict[str, Any]]:
    """Companies in which at least so many insiders bought, or sold; the most insiders first."""
    rows = tx.all(
        "clusters",
        since=narrow.since,
        sector=narrow.sector,
        industry=narrow.industry,
        min_insiders=min_insiders,
        min_value=min_value,
        limit=limit,
        no_plan=narrow.no_plan,
        no_cashless=narrow.no_cashless,
        no_cover=narrow.no_cover,
    )
    named = issuers(tx, [row["issuer_cik"] for row in rows])
    found = []
    for row in rows:
        trades = tx.all(
            "trades_of_cluster",
            issuer=row["issuer_cik"],
            since=narrow.since,
            direction=row["direction"],
            no_plan=narrow.no_plan,
            no_cashless=narrow.no_cashless,
            no_cover=narrow.no_cover,
        )
        found.append(_cluster(row, trades, named[row["issuer_cik"]]))
    return found


def _cluster(row: Row, trades: Sequence[Row], issuer: dict[str, Any]) -> dict[str, Any]:
    shares = sum((Decimal(one["shares"]) for one in trades if one["shares"] is not None), Decimal())
    priced = [one for one in trades if one["value"] is not None and one["shares"] is not None]
    of_priced = sum((Decimal(one["shares"]) for one in priced), Decimal())
    average = None
    if of_priced:
        average = (Decimal(sum(one["value"] for one in priced)) / of_priced).quantize(
            _PLACES, ROUND_HALF_EVEN
        )
    return {
        **issuer,
        "insider_count": row["insiders"],
        "total_value": row["value"],
        "net_shares": shares * row["direction"],
        "transaction_count": row["transactions"],
        "first_date": row["first_date"],
        "last_date": row["last_date"],
        "insiders": list(dict.fromkeys(one["name"] for one in trades)),
        "cluster_type": "buy" if row["direction"] == insider_trades.BUY else "sell",
        "has_officer": bool(row["officer"]),
        "has_director": bool(row["director"]),
        "has_c_suite": bool(row["c_suite"]),
        "has_ten_percent_owner": bool(row["ten_percent"]),
        "price_avg": average,
        "last_filed": day_text(row["last_day"]),
    }


def issuers(tx: Transaction, ciks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """How answers name these companies."""
    found = {}
    for row in tx.all("issuers_named", ciks=json.dumps(sorted(set(ciks)))):
        sector, industry = sectors.of(row["sic"])
        found[row["cik"]] = {
            "ticker": row["ticker"],
            "company_name": row["name"],
            "issuer_cik": f"{row['cik']:010}",
            "sector": sector,
            "industry": industry,
        }
    return found


def overview(tx: Transaction, since: int) -> dict[str, Any]:
    """The market as a whole since a filing day: volumes, days, and who traded most."""
    days = tx.all("trade_days", since=since)
    top = tx.all("top_issuers", since=since, limit=10)
    people = tx.all("top_insiders", since=since, limit=10)
    named = issuers(tx, [row["issuer_cik"] for row in (*top, *people)])
    large = insider_trades.objects(tx, [row["id"] for row in tx.all("largest_trades", since=since, limit=10)])
    return {
        "volume": {
            "buy_volume": sum(row["buy_value"] for row in days),
            "sell_volume": sum(row["sell_value"] for row in days),
            "buy_count": sum(row["buys"] for row in days),
            "sell_count": sum(row["sells"] for row in days),
        },
        "top_tickers": [{**_called(named[row["issuer_cik"]]), "total_value": row["value"]} for row in top],
        "recent_large_tx": [
            {
                "ticker": one["ticker"],
                "date": one["transaction_date"],
                "type": one["standard_type"],
                "value": one["transaction_value"],
                "insider": one["insider_name"],
                "transaction_id": one["transaction_id"],
            }
            for one in large
        ],
        "daily_trend": [
            {"date": day_text(row["filed_day"]), "buy": row["buy_value"], "sell": row["sell_value"]}
            for row in days
        ],
        "top_insiders": [
            {
                "insider": tx.value("insider_name", cik=row["owner_cik"]),
                "insider_cik": f"{row['owner_cik']:010}",
                "ticker": named[row["issuer_cik"]]["ticker"],
                "total_value": row["value"],
            }
            for row in people
        ],
    }


def _called(issuer: dict[str, Any]) -> dict[str, Any]:
    return {"ticker": issuer["ticker"], "company_name": issuer["company_name"]}


def day_text(number: int) -> str | None:
    """A filing day by its number as ISO text; None for the unknown day."""
    return (date(1970, 1, 1) + timedelta(number)).isoformat() if number else None
