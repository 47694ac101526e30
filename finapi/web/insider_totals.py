"""Sums over insiders' trades over HTTP: by company, cluster, sector and for the whole market (CONTRACT 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from finapi.clock import iso
from finapi.market import companies, insider_totals
from finapi.market.insider_titles import C_SUITE
from finapi.market.insider_totals import Narrow
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.insiders import (
    CODE,
    INDUSTRY,
    MAX_VALUE,
    MIN_VALUE,
    NO_CASHLESS,
    NO_COVER,
    NO_PLAN,
    OFFSET,
    ROLES,
    SECTOR,
    TICKER,
    TRADE_DAYS,
    code,
    day_before,
    filed_days,
    industry,
    roles,
    sector,
    since,
    whole,
)
from finapi.web.params import Param

# Sums over more days than these take longer than an answer may.
MAX_SUMMED = 366
MOST_CLUSTERS = 100
SIGNAL_DAYS, SIGNAL_INSIDERS, SIGNALS = 30, 2, 10

_SORTS = ("sentiment", "abs_sentiment", "net_value", "abs_net_value", "total_transactions")
_GROUP_SORTS = ("abs_net_value", "net_value", "buy_value", "sell_value", "transaction_count", "group")


def _window(default: int) -> Param:
    return replace(
        filed_days(default),
        most=MAX_SUMMED,
        help=f"Only what was filed in the last so many days, at most {MAX_SUMMED}.",
    )


def _bound(name: str, help: str) -> Param:
    return Param(name, "number", help=help, example="0.5")


def _yes(param: Param) -> Param:
    return replace(param, default=True)


def _least(name: str, default: int, help: str) -> Param:
    return Param(
        name, "integer", default=default, least=1, most=100_000, clamp=True, help=help, example=str(default)
    )


SUMMARY_PARAMS = (
    TICKER,
    filed_days(7),
    TRADE_DAYS,
    replace(TRADE_DAYS, name="days", help="The same as transaction_days."),
    Param("is_c_suite", allowed=("true",), help="true: only the C-suite.", example="true"),
    NO_PLAN,
    NO_CASHLESS,
)
_LIMIT = Param(
    "limit", "integer", default=100, least=1, most=500, clamp=True, help="Rows, at most 500.", example="100"
)
SCREEN_PARAMS = (
    _window(7),
    TRADE_DAYS,
    _bound("sentiment_gt", "Only above this sentiment_score."),
    _bound("sentiment_lt", "Only below this sentiment_score."),
    _bound("net_value_gt", "Only above this net_value."),
    _bound("net_value_lt", "Only below this net_value."),
    _least("min_transactions", 1, "At least so many trades."),
    _least("min_insiders", 1, "By at least so many insiders."),
    Param("csuite_only", "boolean", default=False, help="Only trades of the C-suite.", example="true"),
    NO_PLAN,
    NO_CASHLESS,
    NO_COVER,
    _LIMIT,
    OFFSET,
    Param(
        "sort_by", default="abs_sentiment", allowed=_SORTS, help="The greatest first.", example="net_value"
    ),
    SECTOR,
    INDUSTRY,
)
CLUSTER_PARAMS = (
    Param(
        "days",
        "integer",
        default=30,
        least=0,
        most=MAX_SUMMED,
        clamp=True,
        help=f"Only what was filed in the last so many days, at most {MAX_SUMMED}.",
        example="30",
    ),
    _least("min_insiders", 3, "At least so many insiders."),
    MIN_VALUE,
    SECTOR,
    INDUSTRY,
    _yes(NO_CASHLESS),
    _yes(NO_PLAN),
    _yes(NO_COVER),
)
GROUP_PARAMS = (
    Param(
        "group_by",
        default="sector",
        allowed=("sector", "industry"),
        help="SIC division or major group.",
        example="sector",
    ),
    SECTOR,
    INDUSTRY,
    _window(30),
    TRADE_DAYS,
    MIN_VALUE,
    MAX_VALUE,
    CODE,
    Param("acquired_disposed_code", allowed=("A", "D"), help="Acquired or disposed of.", example="A"),
    *ROLES,
    NO_PLAN,
    NO_CASHLESS,
    replace(_LIMIT, default=50, example="50"),
    OFFSET,
    Param(
        "sort_by",
        default="abs_net_value",
        allowed=_GROUP_SORTS,
        help="The greatest first.",
        example="buy_value",
    ),
)
STATS_PARAMS = (
    Param(
        "days",
        "integer",
        default=1,
        least=1,
        most=MAX_SUMMED,
        clamp=True,
        help=f"The last so many days by filing day, at most {MAX_SUMMED}.",
        example="7",
    ),
)


def summary(call: Call) -> Response:
    """The sums of one company."""
    params = call.params
    days = params["transaction_days"] if params["transaction_days"] is not None else params["days"]
    narrow = Narrow(
        since=since(call.now, params["filed_at_days"]),
        date_from=day_before(call.now, days),
        no_plan=params["exclude_10b5_1"],
        no_cashless=params["exclude_cashless"],
        with_roles=C_SUITE if params["is_c_suite"] else 0,
    )
    with call.app.db.read() as tx:
        company = companies.find(tx, params["ticker"])
        sums = insider_totals.of_issuer(tx, company.cik, narrow)
    named = {
        "ticker": company.ticker,
        "company_name": company.name,
        "issuer_cik": company.padded_cik,
    }
    meta = {"filed_at_days": params["filed_at_days"], "transaction_days": days}
    return call.success({**named, **sums}, meta)


def screen(call: Call) -> Response:
    """Companies by what their insiders did."""
    params = call.params
    narrow = replace(_narrow(call), with_roles=C_SUITE if params["csuite_only"] else 0)
    with call.app.db.read() as tx:
        found = [one for one in insider_totals.by_issuer(tx, narrow) if _passes(one, params)]
        found.sort(key=lambda one: (_sorting(one, params["sort_by"]), one["issuer_cik"]), reverse=True)
        page = found[params["offset"] : params["offset"] + params["limit"]]
        named = insider_totals.issuers(tx, [int(one["issuer_cik"]) for one in page])
    rows = [{**named[int(one["issuer_cik"])], **one} for one in page]
    meta = {
        "total_results": len(found),
        "returned": len(rows),
        "limit": params["limit"],
        "offset": params["offset"],
        "has_more": len(found) > params["offset"] + len(rows),
        "request_id": call.request_id,
        "timestamp": iso(call.now),
        "filters_applied": {name: value for name, value in params.items() if value is not None},
    }
    return call.table(rows, meta) or call.plain({"results": rows, "meta": meta})


def clusters(call: Call) -> Response:
    """Companies in which several insiders bought, or several sold."""
    params = call.params
    with call.app.db.read() as tx:
        found = insider_totals.clusters(
            tx,
            _narrow(call),
            min_insiders=params["min_insiders"],
            min_value=whole(params["min_value"], up=True),
            limit=MOST_CLUSTERS,
        )
    return call.bare(found)


def by_sector(call: Call) -> Response:
    """Sums by sector or industry."""
    params = call.params
    narrow = replace(_narrow(call), with_roles=roles(params)["with_roles"])
    more = {
        "without_roles": roles(params)["without_roles"],
        "code": code(params["transaction_code"]),
        "acquired": params["acquired_disposed_code"],
        "min_value": whole(params["min_value"], up=True),
        "max_value": whole(params["max_value"], up=False),
    }
    with call.app.db.read() as tx:
        found = insider_totals.by_group(tx, narrow, more, by_industry=params["group_by"] == "industry")
    found.sort(key=lambda one: (_group_sorting(one, params["sort_by"]), one["group"] or ""), reverse=True)
    page = found[params["offset"] : params["offset"] + params["limit"]]
    meta = {
        "total": len(found),
        "limit": params["limit"],
        "offset": params["offset"],
        "has_more": len(found) > params["offset"] + len(page),
        "group_by": params["group_by"],
        "filed_at_days": params["filed_at_days"],
    }
    return call.rows(page, meta)


def signals(call: Call) -> Response:
    """The clusters of the last thirty days, purchases and sales apart, the greatest value first."""
    narrow = Narrow(since(call.now, SIGNAL_DAYS), no_plan=True, no_cashless=True, no_cover=True)
    with call.app.db.read() as tx:
        found = insider_totals.clusters(
            tx, narrow, min_insiders=SIGNAL_INSIDERS, min_value=None, limit=MOST_CLUSTERS
        )
    found.sort(key=lambda one: (-one["total_value"], one["issuer_cik"]))
    sides = {
        side: [
            {
                "ticker": one["ticker"],
                "company_name": one["company_name"],
                "signal": f"cluster_{side}",
                "insider_count": one["insider_count"],
                "total_value": one["total_value"],
                "price_avg": one["price_avg"],
                "latest_date": one["last_date"],
            }
            for one in found
            if one["cluster_type"] == side
        ][:SIGNALS]
        for side in ("buy", "sell")
    }
    meta = {
        "strategy": f"at least {SIGNAL_INSIDERS} insiders on one side, without plans, exercises and tax sales",
        "period": f"{SIGNAL_DAYS} days by filing day",
        "generated_at": iso(call.now),
    }
    return call.plain({**sides, "meta": meta})


def stats(call: Call) -> Response:
    """The whole market in the last days."""
    days = call.params["days"]
    first = since(call.now, days)
    with call.app.db.read() as tx:
        told = insider_totals.overview(tx, first)
        found = insider_totals.clusters(tx, Narrow(first), min_insiders=3, min_value=None, limit=10)
    recent = [
        {
            "ticker": one["ticker"],
            "company_name": one["company_name"],
            "insiders": one["insider_count"],
            "value": one["total_value"],
            "last_active": one["last_filed"],
            "type": one["cluster_type"],
        }
        for one in found
    ]
    return call.plain({"period_days": days, **told, "recent_clusters": recent})


def _narrow(call: Call) -> Narrow:
    params = call.params
    return Narrow(
        since=since(call.now, params.get("filed_at_days", params.get("days"))),
        date_from=day_before(call.now, params.get("transaction_days")),
        no_plan=params["exclude_10b5_1"],
        no_cashless=params["exclude_cashless"],
        no_cover=params.get("exclude_sell_to_cover", False),
        sector=sector(params),
        industry=industry(params),
    )


def _passes(one: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    bounds = (("sentiment", "sentiment_score"), ("net_value", "net_value"))
    for name, figure in bounds:
        above, below = params[f"{name}_gt"], params[f"{name}_lt"]
        if above is not None and not (one[figure] is not None and one[figure] > above):
            return False
        if below is not None and not (one[figure] is not None and one[figure] < below):
            return False
    enough = one["total_transactions"] >= params["min_transactions"]
    return bool(enough and one["unique_insiders"] >= params["min_insiders"])


def _sorting(one: Mapping[str, Any], by: str) -> Decimal:
    figure = {"sentiment": "sentiment_score", "net_value": "net_value"}.get(by.removeprefix("abs_"), by)
    value = Decimal(one[figure] or 0)
    return abs(value) if by.startswith("abs_") else value


def _group_sorting(one: Mapping[str, Any], by: str) -> Any:
    if by == "group":
        return one["group"] or ""
    return abs(one["net_value"]) if by == "abs_net_value" else one[by]
