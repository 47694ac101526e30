"""All funds together, over HTTP: securities, sectors and industries of a quarter, and who holds a ticker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.db import Transaction
from finapi.edgar import tickers
from finapi.errors import ApiError, invalid_param
from finapi.market import flows, fund_lists, funds, quarters, reasons
from finapi.market.flows import Sum
from finapi.web.call import Call
from finapi.web.form13f import paging
from finapi.web.fund_lists import quarter_end
from finapi.web.http import Response
from finapi.web.insiders import whole

# Securities shown of an industry.
MOVERS = 5


def by_ticker(call: Call) -> Response:
    """The securities of a quarter over all funds."""
    params = call.params
    bounds = {
        f"{end}_{name}": whole(params[f"{end}_{name}"], up=end == "min")
        for name in flows.BOUNDS
        for end in ("min", "max")
    }
    wanted = flows.Filters(
        params["search"],
        params["security_group"],
        params["is_etf"],
        params["sector"],
        params["industry"],
        bounds,
    )
    with call.app.db.read() as tx:
        period = _quarter(tx, params["quarter"])
        rows, total = flows.by_security(
            tx,
            period,
            wanted,
            sort=params["sort_by"],
            descending=params["sort_order"] == "desc",
            limit=params["limit"],
            offset=params["offset"],
        )
        extent = flows.extent(tx, period)
        data = {
            "quarter": period,
            "tickers": rows,
            "volume": extent.pop("volume"),
            "quarter_metadata": fund_lists.quarter_metadata(tx, period, call.now.date()),
            "available_quarters": fund_lists.available_quarters(tx),
            "filter_ranges": extent if params["include_ranges"] else None,
        }
    page = paging(total, params["limit"], params["offset"])
    named = ("search", "security_group", "is_etf", "sector", "industry", *bounds)
    meta = {
        "pagination": page,
        "sort": {"column": params["sort_by"], "order": params["sort_order"]},
        "filters_applied": {name: params[name] for name in named if params[name] is not None},
        "holes": {
            name: {"status": "hole", "reason_code": reasons.NOT_IN_13F}
            for name in (*flows.NOT_IN_13F, "filter_ranges.market_cap")
        },
    }
    return call.listed({"data": data, "meta": meta}, page)


def by_sector(call: Call) -> Response:
    """Sectors of a quarter, and the industries of each with money flowing in and out."""
    params, limit = call.params, call.params["industry_limit"]
    with call.app.db.read() as tx:
        period = _quarter(tx, params["quarter"])
        sums = flows.sums(tx, period)
        earlier = _earlier(tx, params["compare"])
        movers = flows.movers(tx, period, MOVERS)
        metadata = fund_lists.quarter_metadata(tx, period, call.now.date())
    data = {
        "quarter": period,
        "sector_count": len(sums.sectors),
        "total_value": sums.whole,
        "coverage_pct": funds.percent(sum(one.value for one in sums.sectors), sums.whole),
        "sectors": [
            {
                "sector": one.sector,
                "fund_flow": one.known_flow,
                "total_value": one.value,
                "fund_count": one.funds,
                "etf_value": one.etf_value,
                "flow_significance_pct": flows.significance(one),
                "momentum": flows.momentum(one),
                "confidence": flows.confidence(one),
                "compare": _compared(one, params["compare"], earlier),
                "industries": _both_ways(
                    [part for part in sums.industries if part.sector == one.sector], movers, limit
                ),
            }
            for one in flows.ordered(sums.sectors, params["sort"])
        ],
        "quarter_metadata": metadata,
    }
    return call.listed({"data": data}, {})


def _both_ways(industries: list[Sum], movers: Any, limit: int) -> dict[str, Any]:
    def shown(some: list[Sum], sign: int) -> list[dict[str, Any]]:
        return [
            {
                "industry": one.industry,
                "fund_flow": one.known_flow,
                "total_value": one.value,
                "fund_count": one.funds,
                "top_movers": _movers(movers, one, sign),
            }
            for one in some[:limit]
        ]

    inward = [one for one in industries if one.compared and one.flow > 0]
    outward = [one for one in industries if one.compared and one.flow < 0]
    return {
        "inflows": shown(flows.ordered(inward, "fund_flow"), 1),
        "outflows": shown(flows.ordered(outward, "fund_flow", descending=False), -1),
    }


def _movers(movers: Any, one: Sum, sign: int) -> list[dict[str, Any]]:
    return [
        {key: row[key] for key in ("cusip", "ticker", "name", "fund_flow", "total_value", "fund_count")}
        for row in movers.get((one.sector, one.industry, sign), [])
    ]


def by_industry(call: Call) -> Response:
    """Industries of a quarter, each with its sector's sums."""
    params = call.params
    with call.app.db.read() as tx:
        period = _quarter(tx, params["quarter"])
        sums = flows.sums(tx, period)
        earlier = _earlier(tx, params["compare"])
        movers = flows.movers(tx, period, MOVERS)
        metadata = fund_lists.quarter_metadata(tx, period, call.now.date())
    industries = sums.industries
    if params["sector"] is not None:
        name = flows.sector_named(params["sector"])
        industries = [one for one in industries if one.sector == name]
    parents = {one.sector: one for one in sums.sectors}
    data = {
        "quarter": period,
        "total_institutional_value": sums.whole,
        "coverage_pct": funds.percent(sum(one.value for one in sums.sectors), sums.whole),
        "total_industries": len(industries),
        "industries": [
            _industry(one, parents[one.sector], movers)
            | {"compare": _compared(one, params["compare"], earlier)}
            for one in flows.ordered(industries, params["sort_by"])[: params["limit"]]
        ],
        "quarter_metadata": metadata,
    }
    return call.listed({"data": data}, {"total": len(industries)})


def _industry(one: Sum, parent: Sum, movers: Any) -> dict[str, Any]:
    sign = 1 if one.flow >= 0 else -1
    return {
        "industry": one.industry,
        "sector": {"name": parent.sector, **_sums(parent)},
        **_sums(one),
        "cusip_count": one.securities,
        "total_positions": one.positions,
        "etf_value": one.etf_value,
        **{
            f"{name}_count": one.counts[status] if one.compared else None
            for name, status in (
                ("new_buys", "new"),
                ("closed", "closed"),
                ("increased", "increased"),
                ("decreased", "decreased"),
            )
        },
        "top_movers": _movers(movers, one, sign),
    }


def _sums(one: Sum) -> dict[str, Any]:
    return {
        "fund_flow": one.known_flow,
        "total_value": one.value,
        "unique_fund_count": one.funds,
        "flow_significance_pct": flows.significance(one),
        "momentum_label": flows.momentum(one),
        "low_confidence": flows.confidence(one) == "low",
    }


def _earlier(tx: Transaction, period: str | None) -> Mapping[tuple[str, str | None], Sum]:
    """The sums of a quarter to compare with, by sector and industry; nothing without one."""
    if period is None:
        return {}
    sums = flows.sums(tx, _quarter(tx, period, "compare"))
    return {(one.sector, one.industry): one for one in (*sums.sectors, *sums.industries)}


def _compared(
    one: Sum, period: str | None, earlier: Mapping[tuple[str, str | None], Sum]
) -> dict[str, Any] | None:
    """How a sum differs from that of another quarter; None when none is asked for."""
    if period is None:
        return None
    before = earlier.get((one.sector, one.industry), Sum(one.sector, one.industry))
    label, now = flows.momentum(before), flows.momentum(one)
    shift = None
    if label is not None and now is not None:
        step = flows.MOMENTA.index(now) - flows.MOMENTA.index(label)
        shift = "unchanged" if step == 0 else "strengthened" if step > 0 else "weakened"
    known = one.known_flow is not None and before.known_flow is not None
    return {
        "prev_quarter": period,
        "flow_change": one.flow - before.flow if known else None,
        "prev_momentum_label": label,
        "momentum_shift": shift,
        "fund_count_change": one.funds - before.funds,
        "value_change_pct": funds.percent(one.value - before.value, before.value),
    }


def holders(call: Call) -> Response:
    """The funds that hold a ticker."""
    params = call.params
    with call.app.db.read() as tx:
        ticker = ticker_of(params["ticker"])
        wanted = flows.securities_of(tx, ticker)
        period = _held_in(tx, wanted, params["period"])
        rows, count = flows.holders(
            tx, wanted, period, status=params["status"], limit=params["limit"], offset=params["offset"]
        )
        sums = flows.totals(tx, wanted, period)
        assert sums is not None
    page = paging(count, params["limit"], params["offset"])
    data = {
        "ticker": ticker,
        "cusips": wanted.cusips,
        "ticker_evidence": wanted.evidence,
        "period": period,
        "prev_period": quarters.before(period),
        "holders": rows,
        "total_shares": sums["shares"],
        "total_value": sums["value"],
        "total_holders": sums["funds"],
        "total_count": count,
        "offset": page["offset"],
        "limit": page["limit"],
        "has_more": page["has_more"],
    }
    return call.listed({"data": data}, page)


def trends(call: Call) -> Response:
    """A ticker quarter by quarter over all funds."""
    with call.app.db.read() as tx:
        ticker = ticker_of(call.params["ticker"])
        wanted = flows.securities_of(tx, ticker)
        rows = flows.trends(tx, wanted, call.params["limit"])
    data = {"ticker": ticker, "security_name": wanted.name, "cusips": wanted.cusips, "quarters": rows}
    return call.listed({"data": data}, {})


def search_holdings(call: Call) -> Response:
    """The funds that hold what a ticker or a CUSIP names."""
    query, limit = call.params["q"], call.params["limit"]
    with call.app.db.read() as tx:
        wanted = flows.meant(tx, query)
        period = _held_in(tx, wanted, call.params["period"])
        rows, total = flows.holders(tx, wanted, period, status="all", limit=limit, offset=0)
        chain = flows.chain_of(tx, wanted)
    shown = [
        {
            "cik": row["cik"],
            "name": row["name"],
            "cusip": row["cusip"],
            "shares": row["shares"],
            "value_usd": row["value"],
            "pct_of_portfolio": row["pct_of_portfolio"],
            "change_shares": row["chg_shares"],
            "status": row["status"],
            "value_unit_rule": row["value_unit_rule"],
        }
        for row in rows
    ]
    members = {
        "query": query,
        "resolved": {
            "ticker": wanted.ticker,
            "cusip": wanted.cusips[0],
            "name_of_issuer": wanted.name,
            "cusip_chain": chain,
            "evidence": wanted.evidence,
        },
        "period": period,
        "holders": shown,
        "count": len(shown),
        "meta": {"total": total, "has_more": len(shown) < total},
    }
    return call.listed(members, members["meta"])


def ticker_of(text: str) -> str:
    """A ticker as finapi writes it; INVALID_PARAM for what is none."""
    try:
        return tickers.fold(text)
    except ValueError:
        raise invalid_param("ticker", "That is not a ticker.", expected="AAPL") from None


def _quarter(tx: Transaction, text: str, name: str = "quarter") -> str:
    """A quarter of which holdings are held; NOT_COVERED for another."""
    if text == "latest":
        return fund_lists.latest_quarter(tx)
    period = quarter_end(text, name)
    held = fund_lists.available_quarters(tx)
    if period not in held:
        raise ApiError(
            "NOT_COVERED", "No 13F holdings of this quarter are held.", details={"covered_periods": held}
        )
    return period


def _held_in(tx: Transaction, wanted: flows.Wanted, period: str | None) -> str:
    """The quarter asked for, by default the last one in which anyone held it; NOT_COVERED when nobody did."""
    found = flows.latest_quarter_of(tx, wanted) if period is None else quarter_end(period, "period")
    if flows.totals(tx, wanted, found) is None:
        raise ApiError("NOT_COVERED", f"No 13F report that is held shows {wanted.name} on {found}.")
    return found
