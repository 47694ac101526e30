"""All funds together, over HTTP: securities, sectors and industries of a quarter, who holds a ticker, and flows."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.market.financials import reasons
from finapi.market.holdings import funds, industry_flows, quarters, security_flows, value_doubts
from finapi.market.holdings.fund_positions import Change
from finapi.market.holdings.funds import QuarterMetadata
from finapi.market.holdings.industry_flows import IndustryTotals, Movers, QuarterSums, SectorFlow
from finapi.market.holdings.security_flows import BasketFund, BasketPosition, FilterRanges, Holder, SecurityFlow
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedFlow, DoubtedValue, MarkedDoubt, OthersPrice
from finapi.market.reference import issuer_names, sectors, securities
from finapi.store.db import Transaction
from finapi.web.holdings.fund_holdings import PERIOD, SORT_ORDER, OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, limit_param, round_bound
from finapi.web.http.schema import answer, part

# Industries shown of a sector.
MAX_INDUSTRIES = 50
MAX_BASKET = 50

QUARTER = Param("quarter", "quarter", default="latest", help="End of a quarter, or latest.", example="2026-03-31")


def get_covered_quarter(tx: Transaction, period: str) -> str:
    """A quarter for which finapi has holdings; NOT_COVERED for another."""
    if period == "latest":
        return funds.get_latest_quarter(tx)
    held = funds.list_quarters(tx)
    if period not in held:
        raise ApiError("NOT_COVERED", "finapi has no 13F holdings for this quarter.", details={"covered_periods": held})
    return period


# ---- securities

# What columns that clients sort by are called here.
_COLUMNS = (
    ("flow", "fund_flow"),
    ("value", "total_value"),
    ("total_institutional_value", "total_value"),
    ("holders", "fund_count"),
    ("unique_fund_count", "fund_count"),
)
_BOUNDS = {
    "total_value": "Dollars held by funds",
    "fund_flow": "Dollars that flowed",
    "fund_count": "Funds that hold it",
    "fund_change": "Funds that bought in less those that sold out",
    "share_change": "Change in shares",
}
# Most of them need shares outstanding, a float and prices of every issuer.
UNSUPPORTED_BOUNDS = tuple(
    f"{bound}_{name}"
    for name in (
        "market_cap",
        "shares_outstanding",
        "float",
        "fund_flow_mcap_pct",
        "fund_change_pct",
        "share_change_pct",
        "first_traded",
    )
    for bound in ("min", "max")
)
BY_TICKER_PARAMS = (
    QUARTER,
    Param(
        "sort_by",
        default="fund_flow",
        allowed=security_flows.SORTS,
        aliases=_COLUMNS,
        help="Sort column.",
        example="total_value",
    ),
    SORT_ORDER,
    limit_param(100, 500),
    OFFSET,
    Param("security_group", allowed=issuer_names.GROUPS, help="Only this group.", example="Stocks"),
    Param("is_etf", "boolean", help="Only ETFs, or only others.", example="false"),
    Param("sector", help="Only companies of this sector.", example="Manufacturing"),
    Param("industry", help="Only companies of this industry.", example="35"),
    Param("search", help="A ticker, or beginnings of words of the issuer's name.", example="AAPL"),
    *(
        Param(f"{end}_{name}", "number", help=f"{word} {text}.", example="1")
        for name, text in _BOUNDS.items()
        for end, word in (("min", "Minimum"), ("max", "Maximum"))
    ),
    Param("include_ranges", "boolean", default=False, help="Include each filter's range of values.", example="true"),
)
_FILTERS = ("search", "security_group", "is_etf", "sector", "industry")


class _NotIn13F(TypedDict):
    status: Annotated[str, OneOf(("hole",))]
    reason_code: str


BY_TICKER = answer(
    data=part(
        quarter=Date,
        tickers=list[SecurityFlow],
        volume=security_flows.Volume,
        doubted_count=DoubtedCount,
        doubted_value=DoubtedValue,
        doubted_flow=DoubtedFlow,
        quarter_metadata=QuarterMetadata,
        available_quarters=list[Date],
        filter_ranges=FilterRanges | None,
    ),
    meta=part(
        pagination=OffsetPage,
        sort=part(column=str, order=str),
        filters_applied=dict[str, Any],
        holes=dict[str, _NotIn13F],
    ),
)


def list_security_flows(call: Call) -> Response:
    """The securities of a quarter over all funds."""
    params = call.params
    names = [f"{end}_{name}" for name in _BOUNDS for end in ("min", "max")]
    bounds = {name: round_bound(params[name], round_up=name.startswith("min")) for name in names}
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, params["quarter"])
        found = value_doubts.list_doubts_of_quarter(tx, period)
        rows, total = security_flows.list_security_flows(tx, period, {**params, **bounds}, found)
        ranges, volume = security_flows.get_ranges_and_volume(tx, period, found)
        data = {
            "quarter": period,
            "tickers": rows,
            "volume": volume,
            **value_doubts.sum_doubts(found).build_members(),
            "quarter_metadata": funds.build_quarter_metadata(tx, period, call.now.date()),
            "available_quarters": funds.list_quarters(tx),
            "filter_ranges": ranges if params["include_ranges"] else None,
        }
    hole: _NotIn13F = {"status": "hole", "reason_code": reasons.NOT_IN_13F}
    meta = {
        "pagination": build_offset_page(total, params["limit"], params["offset"]),
        "sort": {"column": params["sort_by"], "order": params["sort_order"]},
        "filters_applied": {name: params[name] for name in (*_FILTERS, *bounds) if params[name] is not None},
        "holes": dict.fromkeys((*security_flows.NOT_IN_13F, "filter_ranges.market_cap"), hole),
    }
    return call.success_members({"data": data, "meta": meta}, meta["pagination"])


# ---- sectors and industries

COMPARE = Param(
    "compare",
    pattern=f"prev(?:ious)?|{quarters.PATTERN}",
    example="2025-12-31",
    help="End of a quarter to compare with, or prev: the one before.",
)
_SECTOR_SORTS = ("fund_flow", "total_value", "fund_count")
BY_SECTOR_PARAMS = (
    QUARTER,
    COMPARE,
    Param(
        "industry_limit",
        "integer",
        default=15,
        minimum=0,
        maximum=MAX_INDUSTRIES,
        clamp=True,
        help="Industries of a sector, each way.",
        example="5",
    ),
    Param(
        "sort", default="fund_flow", allowed=_SECTOR_SORTS, aliases=_COLUMNS, help="Sort column.", example="total_value"
    ),
)
BY_INDUSTRY_PARAMS = (
    QUARTER,
    COMPARE,
    limit_param(50, 100),
    OFFSET,
    Param(
        "sort_by",
        default="fund_flow",
        allowed=_SECTOR_SORTS,
        aliases=_COLUMNS,
        help="Sort column.",
        example="total_value",
    ),
    Param("sector", help="Only industries of this sector.", example="Manufacturing"),
)


BY_SECTOR = answer(
    data=part(
        quarter=Date,
        sector_count=int,
        total_value=int,
        coverage_pct=Decimal | None,
        doubted_count=DoubtedCount,
        doubted_value=DoubtedValue,
        doubted_flow=DoubtedFlow,
        sectors=list[SectorFlow],
        quarter_metadata=QuarterMetadata,
    )
)
BY_INDUSTRY = answer(
    data=part(
        quarter=Date,
        total_institutional_value=int,
        coverage_pct=Decimal | None,
        doubted_count=DoubtedCount,
        doubted_value=DoubtedValue,
        doubted_flow=DoubtedFlow,
        total_industries=int,
        industries=list[IndustryTotals],
        quarter_metadata=QuarterMetadata,
    )
)


def _sums(call: Call) -> tuple[QuarterSums, Movers, QuarterSums | None, QuarterMetadata]:
    """The sums, movers and metadata of the quarter asked for, and the sums of the one to compare it with."""
    other = call.params["compare"]
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, call.params["quarter"])
        sums = industry_flows.load_quarter_sums(tx, period)
        movers = industry_flows.list_movers(tx, sums)
        if other is not None:
            other = quarters.get_previous_end(period) if other.startswith("prev") else other
        earlier = None if other is None else industry_flows.load_quarter_sums(tx, get_covered_quarter(tx, other))
        return sums, movers, earlier, funds.build_quarter_metadata(tx, period, call.now.date())


def list_sector_flows(call: Call) -> Response:
    """Sectors of a quarter, and the industries of each with money flowing in and out."""
    sums, movers, earlier, metadata = _sums(call)
    parts, most = sums.industries, call.params["industry_limit"]
    found = industry_flows.sort_groups(sums.sectors, call.params["sort"])
    data = {
        "quarter": sums.period,
        "sector_count": len(found),
        "total_value": sums.total_value,
        "coverage_pct": sums.coverage_pct,
        **value_doubts.sum_doubts(sums.doubted).build_members(),
        "sectors": [industry_flows.build_sector_flow(one, parts, movers, earlier, most) for one in found],
        "quarter_metadata": metadata,
    }
    return call.success_members({"data": data}, {})


def list_industry_flows(call: Call) -> Response:
    """Industries of a quarter, each with its sector's sums."""
    params = call.params
    sums, movers, earlier, metadata = _sums(call)
    wanted = None if params["sector"] is None else sectors.parse_sector(params["sector"])
    found = [one for one in sums.industries if wanted in (None, one.sector)]
    first = params["offset"]
    page = industry_flows.sort_groups(found, params["sort_by"])[first : first + params["limit"]]
    data = {
        "quarter": sums.period,
        "total_institutional_value": sums.total_value,
        "coverage_pct": sums.coverage_pct,
        **value_doubts.sum_doubts(sums.doubted).build_members(),
        "total_industries": len(found),
        "industries": [
            industry_flows.build_industry_totals(one, sums.groups[one.sector, ""], movers, earlier) for one in page
        ],
        "quarter_metadata": metadata,
    }
    return call.success_members({"data": data}, {"total": len(found)})


# ---- one security

HOLDERS_PARAMS = (
    TICKER,
    limit_param(100, 1_000),
    OFFSET,
    Param("status", default="all", allowed=funds.STATUSES, help="Only this kind of change.", example="new"),
    PERIOD,
    Param(
        "quarters",
        "integer",
        default=1,
        minimum=1,
        maximum=40,
        clamp=True,
        example="4",
        help="Quarters of each holder's history, at most 40; 1: none.",
    ),
)
TRENDS_PARAMS = (TICKER, limit_param(20, 100), OFFSET)
SEARCH_PARAMS = (
    Param("q", required=True, help="A ticker or a CUSIP.", example="AAPL"),
    limit_param(20, 100),
    OFFSET,
    PERIOD,
)


HOLDERS = answer(
    data=part(
        ticker=str,
        cusips=list[str],
        ticker_evidence=str | None,
        period=Date,
        prev_period=Date,
        holders=list[Holder],
        total_shares=int,
        total_value=int,
        total_holders=int,
        doubted_count=DoubtedCount,
        doubted_value=Annotated[int, "The part of total_value in those positions."],
        total_count=int,
        offset=int,
        limit=int,
        has_more=bool,
    )
)


def list_holders(call: Call) -> Response:
    """The funds that hold a ticker."""
    params, place = call.params, {name: call.params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        wanted = security_flows.get_securities_of_ticker(tx, params["ticker"])
        period, totals = security_flows.get_quarter_and_totals(tx, wanted, params["period"])
        rows, count = security_flows.list_holders(
            tx, wanted, period, params["quarters"], status=params["status"], **place
        )
        doubted = security_flows.sum_doubts_of_securities(tx, wanted, period)
    page = build_offset_page(count, **place)
    data = {
        "ticker": params["ticker"],
        "cusips": wanted.cusips,
        "ticker_evidence": wanted.evidence,
        "period": period,
        "prev_period": quarters.get_previous_end(period),
        "holders": rows,
        **dict(totals),
        **doubted,
        "total_count": count,
        **place,
        "has_more": page["has_more"],
    }
    return call.success_members({"data": data}, page)


TRENDS = answer(data=part(ticker=str, security_name=str, cusips=list[str], quarters=list[security_flows.TrendQuarter]))


def list_trend(call: Call) -> Response:
    """A ticker quarter by quarter over all funds."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        wanted = security_flows.get_securities_of_ticker(tx, ticker)
        rows = security_flows.list_trend_quarters(tx, wanted, call.params["limit"], call.params["offset"])
    data = {"ticker": ticker, "security_name": wanted.name, "cusips": wanted.cusips, "quarters": rows}
    return call.success_members({"data": data}, {})


class FoundHolder(TypedDict):
    """A fund that holds what was searched for."""

    cik: str
    name: str
    cusip: str
    shares: int
    value_usd: int
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    pct_of_portfolio: Decimal | None
    change_shares: int | None
    status: Change | None
    value_unit_rule: str


HOLDER_SEARCH = answer(
    query=str,
    resolved=part(ticker=str | None, cusip=str, name_of_issuer=str, cusip_chain=list[str], evidence=str | None),
    period=Date,
    holders=list[FoundHolder],
    count=int,
    meta=part(total=int, has_more=bool, doubted_count=DoubtedCount, doubted_value=DoubtedValue),
)


def search_holders(call: Call) -> Response:
    """The funds that hold what a ticker or a CUSIP names."""
    query, place = call.params["q"], {name: call.params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        wanted = security_flows.get_securities_of_query(tx, query)
        period, _ = security_flows.get_quarter_and_totals(tx, wanted, call.params["period"])
        rows, total = security_flows.list_holders(tx, wanted, period, status="all", **place)
        doubted = security_flows.sum_doubts_of_securities(tx, wanted, period)
        chain = securities.list_successor_chain(tx, wanted.cusips[0])
    resolved = {
        "ticker": wanted.ticker,
        "cusip": wanted.cusips[0],
        "name_of_issuer": wanted.name,
        "cusip_chain": [link["cusip"] for link in chain],
        "evidence": wanted.evidence,
    }
    shown = [build_record(FoundHolder, row, value_usd=row["value"], change_shares=row["chg_shares"]) for row in rows]
    meta = {"total": total, "has_more": place["offset"] + place["limit"] < total}
    members = {"query": query, "resolved": resolved, "period": period, "holders": shown, "count": len(shown)}
    return call.success_members({**members, "meta": {**meta, **doubted}}, meta)


# ---- several funds taken together

_BASKET_COLUMNS = (
    ("value_usd", "value"),
    ("funds_holding", "funds"),
    ("fund_count", "funds"),
    ("share_change", "change"),
)
BASKET_PARAMS = (
    Param(
        "ciks",
        "words",
        word_kind="cik",
        required=True,
        maximum=MAX_BASKET,
        help=f"At most {MAX_BASKET} CIKs, of funds with at most {security_flows.MAX_BASKET_HOLDINGS:,} holdings "
        "together.",
        example="1067983,1061768",
    ),
    Param("period", "quarter", required=True, help="End of a quarter.", example="2026-03-31"),
    Param("compare_period", "quarter", help="End of the quarter to compare with.", example="2025-06-30"),
    Param(
        "sort_by",
        default="value",
        allowed=tuple(security_flows.BASKET_SORTS),
        aliases=_BASKET_COLUMNS,
        help="Sort column.",
        example="funds",
    ),
    SORT_ORDER,
    Param(
        "size",
        default="all",
        pattern="0{0,8}[1-9][0-9]{0,8}",
        example="100",
        help=f"Positions at most, or all, up to {security_flows.MAX_BASKET_POSITIONS}.",
    ),
    OFFSET,
)


BASKET = answer(
    period=Date,
    compare_period=Date,
    generated_at=Time,
    basket=part(total_funds=int, funds_filed=int, funds_pending=int, filed=list[BasketFund], pending=list[BasketFund]),
    totals=part(total_value_usd=int, total_positions=int, doubted_count=DoubtedCount, doubted_value_usd=DoubtedValue),
    positions=list[BasketPosition],
    meta=part(has_more=bool),
)


def get_basket(call: Call) -> Response:
    """What several funds held together."""
    params = call.params
    ciks = list(dict.fromkeys(params["ciks"]))
    period, first = params["period"], params["offset"]
    size = (
        security_flows.MAX_BASKET_POSITIONS
        if params["size"] == "all"
        else min(int(params["size"]), security_flows.MAX_BASKET_POSITIONS)
    )
    earlier = params["compare_period"] or quarters.get_previous_end(period)
    with call.app.db.read() as tx:
        found = security_flows.build_basket(tx, ciks, period, earlier)
        rows = found.page(tx, params["sort_by"], first, size, descending=params["sort_order"] == "desc")
    total = len(found.sums)
    meta = {"has_more": total > first + size}
    filed = {
        "total_funds": len(ciks),
        "funds_filed": len(found.filed),
        "funds_pending": len(found.pending),
        "filed": found.filed,
        "pending": found.pending,
    }
    totals = {"total_value_usd": found.value, "total_positions": found.held, **found.doubted}
    members = {"period": period, "compare_period": earlier, "generated_at": iso(call.now), "basket": filed}
    members |= {"totals": totals, "positions": rows, "meta": meta}
    return call.success_members(members, {**meta, "total": total})
