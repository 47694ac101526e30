"""Handlers for sums over all funds: securities, sectors and industries of a quarter, and the holders of a security."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

from finapi.core.empty_lists import AvailableRows, EmptyList, explain_empty_list
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, build_record
from finapi.market.financials import reasons
from finapi.market.holdings import funds, industry_flows, quarters, security_flows, value_doubts
from finapi.market.holdings.fund_positions import Change
from finapi.market.holdings.funds import QuarterMetadata
from finapi.market.holdings.industry_flows import IndustryTotals, Movers, QuarterSums, SectorFlow
from finapi.market.holdings.security_flows import FilterRanges, Holder, SecurityFlow
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtedFlow, DoubtedValue, MarkedDoubt, OthersPrice
from finapi.market.reference import issuer_names, sectors, securities
from finapi.store.db import Transaction
from finapi.web.holdings.fund_holdings import PERIOD, SORT_ORDER, OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, limit_param, round_bound
from finapi.web.http.schema import Answer

# Maximum number of industries listed for a sector, in each direction.
MAX_INDUSTRIES = 50

QUARTER = Param("quarter", "quarter", default="latest", help="End of a quarter, or latest.", example="2026-03-31")


def get_covered_quarter(tx: Transaction, period: str) -> str:
    """Return a quarter for which finapi has holdings. Raise NOT_COVERED for any other.

    ``period`` is the end of a quarter, or "latest".
    """
    if period == "latest":
        return funds.get_latest_quarter(tx)
    periods = funds.list_quarters(tx)
    if period not in periods:
        details = {"covered_periods": periods}
        raise ApiError("NOT_COVERED", "finapi has no 13F holdings for this quarter.", details=details)
    return period


# ---- securities

# Names of sort columns that clients also use, each with the sort that it means.
_SORT_ALIASES = (
    ("flow", "fund_flow"),
    ("value", "total_value"),
    ("total_institutional_value", "total_value"),
    ("holders", "fund_count"),
    ("unique_fund_count", "fund_count"),
)
# The figures that can be bounded by a minimum and a maximum, with their descriptions.
_DESCRIPTION_BY_BOUND = {
    "total_value": "Dollars held by funds",
    "fund_flow": "Dollars that flowed",
    "fund_count": "Funds that hold it",
    "fund_change": "Funds that bought in less those that sold out",
    "share_change": "Change in shares",
}
# Filters of an older API that are refused, because finapi lacks the data that most of them need: shares outstanding,
# the float and prices of every issuer.
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
        aliases=_SORT_ALIASES,
        help="Sort column.",
        example="total_value",
    ),
    SORT_ORDER,
    limit_param(100, 500),
    OFFSET,
    Param("security_group", allowed=issuer_names.GROUPS, help="Only this group.", example="Stocks"),
    Param("is_etf", "boolean", help="Only ETFs (true), or only other securities (false).", example="false"),
    Param("sector", help="Only companies of this SIC or common sector.", example="Manufacturing"),
    Param("industry", help="Only companies of this industry.", example="35"),
    Param("search", help="A ticker, or beginnings of words of the issuer's name.", example="AAPL"),
    *(
        Param(f"{prefix}_{name}", "number", help=f"{adjective} {description}.", example="1")
        for name, description in _DESCRIPTION_BY_BOUND.items()
        for prefix, adjective in (("min", "Minimum"), ("max", "Maximum"))
    ),
    Param("include_ranges", "boolean", default=False, help="Include each filter's range of values.", example="true"),
)
_FILTER_NAMES = ("search", "security_group", "is_etf", "sector", "industry")


class NotIn13F(TypedDict):
    """A marker for a field of the answer that is missing, because 13F reports do not contain it."""

    status: Annotated[str, OneOf(("hole",))]
    reason_code: str


class SecurityFlows(TypedDict):
    """For each security, what all funds together bought and sold of it in a quarter."""

    quarter: Date
    tickers: list[SecurityFlow]
    volume: security_flows.Volume
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    quarter_metadata: QuarterMetadata
    available_quarters: list[Date]
    filter_ranges: FilterRanges | None


class SortApplied(TypedDict):
    """The sort column and direction of a list."""

    column: str
    order: str


class SecurityFlowsMeta(TypedDict):
    """The meta of the securities of a quarter."""

    pagination: OffsetPage
    sort: SortApplied
    filters_applied: dict[str, Any]
    holes: dict[str, NotIn13F]


class SecurityFlowsAnswer(TypedDict):
    """The answer with the securities of a quarter."""

    data: SecurityFlows
    meta: SecurityFlowsMeta


BY_TICKER_SHAPE = Answer[SecurityFlowsAnswer]


def list_security_flows(call: Call) -> Response:
    """Return for each security what all funds together bought and sold of it in a quarter."""
    params = call.params
    bounds = {}
    for name in _DESCRIPTION_BY_BOUND:
        bounds[f"min_{name}"] = round_bound(params[f"min_{name}"], round_up=True)
        bounds[f"max_{name}"] = round_bound(params[f"max_{name}"], round_up=False)
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, params["quarter"])
        doubts = value_doubts.list_doubts_of_quarter(tx, period)
        rows, total = security_flows.list_security_flows(tx, period, {**params, **bounds}, doubts)
        ranges, volume = security_flows.get_ranges_and_volume(tx, period, doubts)
        doubt_sum = value_doubts.sum_doubts(doubts)
        flows: SecurityFlows = {
            "quarter": period,
            "tickers": rows,
            "volume": volume,
            "doubted_count": doubt_sum.count,
            "doubted_value": doubt_sum.value,
            "doubted_flow": doubt_sum.flow,
            "quarter_metadata": funds.build_quarter_metadata(tx, period, call.now.date()),
            "available_quarters": funds.list_quarters(tx),
            "filter_ranges": ranges if params["include_ranges"] else None,
        }
    page = build_offset_page(total, params["limit"], params["offset"])
    hole: NotIn13F = {"status": "hole", "reason_code": reasons.NOT_IN_13F}
    meta: SecurityFlowsMeta = {
        "pagination": page,
        "sort": {"column": params["sort_by"], "order": params["sort_order"]},
        "filters_applied": {name: params[name] for name in (*_FILTER_NAMES, *bounds) if params[name] is not None},
        "holes": dict.fromkeys((*security_flows.NOT_IN_13F, "filter_ranges.market_cap"), hole),
    }
    members: SecurityFlowsAnswer = {"data": flows, "meta": meta}
    return call.success_members(members, page)


# ---- sectors and industries

COMPARE = Param(
    "compare",
    pattern=f"prev(?:ious)?|{quarters.PATTERN}|(?:19|20|21)[0-9]{{2}}-?[Qq][1-4]",
    example="2025-12-31",
    help="End of the quarter to compare with, or prev for the previous quarter.",
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
        help="Maximum number of industries per sector, in each direction.",
        example="5",
    ),
    Param(
        "sort",
        default="fund_flow",
        allowed=_SECTOR_SORTS,
        aliases=_SORT_ALIASES,
        help="Sort column.",
        example="total_value",
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
        aliases=_SORT_ALIASES,
        help="Sort column.",
        example="total_value",
    ),
    Param("sector", help="Only industries of this sector.", example="Manufacturing"),
)


class SectorFlows(TypedDict):
    """The sums of each sector over all funds in a quarter."""

    quarter: Date
    sector_count: int
    total_value: int
    coverage_pct: Decimal | None
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    sectors: list[SectorFlow]
    quarter_metadata: QuarterMetadata


class SectorFlowsAnswer(TypedDict):
    """The answer with the sectors of a quarter."""

    data: SectorFlows


class IndustryList(TypedDict):
    """The sums of each industry over all funds in a quarter."""

    quarter: Date
    total_institutional_value: int
    coverage_pct: Decimal | None
    doubted_count: DoubtedCount
    doubted_value: DoubtedValue
    doubted_flow: DoubtedFlow
    total_industries: int
    industries: list[IndustryTotals]
    quarter_metadata: QuarterMetadata


class IndustryListAnswer(TypedDict):
    """The answer with the industries of a quarter."""

    data: IndustryList


BY_SECTOR_SHAPE = Answer[SectorFlowsAnswer]
BY_INDUSTRY_SHAPE = Answer[IndustryListAnswer]


class _ComparedSums(NamedTuple):
    """The sums of the requested quarter, and those of the quarter to compare it with."""

    sums: QuarterSums
    movers: Movers
    compared_sums: QuarterSums | None
    metadata: QuarterMetadata


def get_compared_quarter(tx: Transaction, compare: str | None, period: str) -> str | None:
    """Return the quarter that ``compare`` names relative to ``period``, or None without a comparison.

    Raise NOT_COVERED if finapi has no holdings for it.
    """
    if compare is None:
        return None
    if compare.startswith("prev"):
        return get_covered_quarter(tx, quarters.get_previous_end(period))
    return get_covered_quarter(tx, quarters.parse_quarter(compare))


def _load_sums(call: Call) -> _ComparedSums:
    with call.app.db.read() as tx:
        period = get_covered_quarter(tx, call.params["quarter"])
        sums = industry_flows.load_quarter_sums(tx, period)
        compared_period = get_compared_quarter(tx, call.params["compare"], period)
        compared_sums = None if compared_period is None else industry_flows.load_quarter_sums(tx, compared_period)
        return _ComparedSums(
            sums=sums,
            movers=industry_flows.list_movers(tx, sums),
            compared_sums=compared_sums,
            metadata=funds.build_quarter_metadata(tx, period, call.now.date()),
        )


def list_sector_flows(call: Call) -> Response:
    """Return the sums of each sector in a quarter, with its industries with the largest inflows and outflows."""
    sums, movers, compared_sums, metadata = _load_sums(call)
    limit = call.params["industry_limit"]
    industries = sums.industries
    rows = [
        industry_flows.build_sector_flow(sector, industries, movers, compared_sums, limit)
        for sector in industry_flows.sort_groups(sums.sectors, call.params["sort"])
    ]
    doubt_sum = value_doubts.sum_doubts(sums.doubted)
    flows: SectorFlows = {
        "quarter": sums.period,
        "sector_count": len(rows),
        "total_value": sums.total_value,
        "coverage_pct": sums.coverage_pct,
        "doubted_count": doubt_sum.count,
        "doubted_value": doubt_sum.value,
        "doubted_flow": doubt_sum.flow,
        "sectors": rows,
        "quarter_metadata": metadata,
    }
    members: SectorFlowsAnswer = {"data": flows}
    return call.success_members(members, {})


def list_industry_flows(call: Call) -> Response:
    """Return the sums of each industry in a quarter, with those of its sector."""
    params = call.params
    offset = params["offset"]
    sums, movers, compared_sums, metadata = _load_sums(call)
    industries = sums.industries
    if params["sector"] is not None:
        sector_name = sectors.parse_sector(params["sector"])
        industries = [industry for industry in industries if industry.sector == sector_name]
    page = industry_flows.sort_groups(industries, params["sort_by"])[offset : offset + params["limit"]]
    doubt_sum = value_doubts.sum_doubts(sums.doubted)
    flows: IndustryList = {
        "quarter": sums.period,
        "total_institutional_value": sums.total_value,
        "coverage_pct": sums.coverage_pct,
        "doubted_count": doubt_sum.count,
        "doubted_value": doubt_sum.value,
        "doubted_flow": doubt_sum.flow,
        "total_industries": len(industries),
        "industries": [
            industry_flows.build_industry_totals(industry, sums.groups[industry.sector, ""], movers, compared_sums)
            for industry in page
        ],
        "quarter_metadata": metadata,
    }
    members: IndustryListAnswer = {"data": flows}
    return call.success_members(members, {"total": len(industries)})


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
        help="Number of quarters in each holder's history, at most 40; 1 means no history.",
    ),
)
TRENDS_PARAMS = (TICKER, limit_param(20, 100), OFFSET)
SEARCH_PARAMS = (
    Param("q", required=True, help="A ticker or a CUSIP.", example="AAPL"),
    limit_param(20, 100),
    OFFSET,
    PERIOD,
)


class TickerHolders(TypedDict):
    """The funds that hold a ticker, and the sums over all of them. ``empty`` explains why no fund is listed."""

    ticker: str
    cusips: list[str]
    ticker_evidence: str | None
    period: Date
    prev_period: Date
    holders: list[Holder]
    total_shares: int
    total_value: int
    total_holders: int
    doubted_count: DoubtedCount
    doubted_value: Annotated[int, "The part of total_value that is in those positions."]
    total_count: int
    offset: int
    limit: int
    has_more: bool
    empty: NotRequired[EmptyList]


class TickerHoldersAnswer(TypedDict):
    """The answer with the funds that hold a ticker."""

    data: TickerHolders


HOLDERS_SHAPE = Answer[TickerHoldersAnswer]


def _explain_no_holders(
    call: Call, security_name: str, period: str, holder_count: int, available: list[AvailableRows]
) -> EmptyList:
    """Return the reason why no holder is listed, and the quarters in which funds held the security."""
    if call.params["offset"] > 0:
        return explain_empty_list("holder", None, is_later_page=True)
    if holder_count == 0:
        reason = f"No fund held {security_name} at {period}."
    else:
        reason = f"No fund that held {security_name} at {period} matches the query."
    return {"reason": reason, "available": available}


def list_holders(call: Call) -> Response:
    """Return the funds that hold a ticker."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    with call.app.db.read() as tx:
        selection = security_flows.get_securities_of_ticker(tx, params["ticker"])
        period, totals = security_flows.get_quarter_and_totals(tx, selection, params["period"])
        rows, count = security_flows.list_holders(
            tx, selection, period, params["quarters"], status=params["status"], limit=limit, offset=offset
        )
        doubt_totals = security_flows.sum_doubts_of_securities(tx, selection, period)
        available = [] if rows else security_flows.list_quarter_counts(tx, selection)
    page = build_offset_page(count, limit, offset)
    holders: TickerHolders = {
        "ticker": params["ticker"],
        "cusips": selection.cusips,
        "ticker_evidence": selection.evidence,
        "period": period,
        "prev_period": quarters.get_previous_end(period),
        "holders": rows,
        "total_shares": totals["total_shares"],
        "total_value": totals["total_value"],
        "total_holders": totals["total_holders"],
        "doubted_count": doubt_totals["doubted_count"],
        "doubted_value": doubt_totals["doubted_value"],
        "total_count": count,
        "limit": limit,
        "offset": offset,
        "has_more": page["has_more"],
    }
    if not rows:
        holders["empty"] = _explain_no_holders(call, selection.name, period, totals["total_holders"], available)
    members: TickerHoldersAnswer = {"data": holders}
    return call.success_members(members, page if rows else {**page, "empty": holders["empty"]})


class TickerTrend(TypedDict):
    """The totals of a ticker over all funds, quarter by quarter, the newest first."""

    ticker: str
    security_name: str
    cusips: list[str]
    quarters: list[security_flows.TrendQuarter]


class TickerTrendAnswer(TypedDict):
    """The answer with the totals of a ticker by quarter."""

    data: TickerTrend


TRENDS_SHAPE = Answer[TickerTrendAnswer]


def list_trend(call: Call) -> Response:
    """Return the totals of a ticker over all funds, quarter by quarter."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        selection = security_flows.get_securities_of_ticker(tx, ticker)
        rows = security_flows.list_trend_quarters(tx, selection, call.params["limit"], call.params["offset"])
    trend: TickerTrend = {
        "ticker": ticker,
        "security_name": selection.name,
        "cusips": selection.cusips,
        "quarters": rows,
    }
    members: TickerTrendAnswer = {"data": trend}
    return call.success_members(members, {})


class FoundHolder(TypedDict):
    """A fund that holds the security that was searched for."""

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


class ResolvedSecurity(TypedDict):
    """The security that a search matches."""

    ticker: str | None
    cusip: str
    name_of_issuer: str
    cusip_chain: list[str]
    evidence: str | None


class HolderSearchPagination(TypedDict):
    """The position of a page of holders in its list."""

    total: int
    has_more: bool


class HolderSearchMeta(HolderSearchPagination):
    """The meta of a search for holders."""

    doubted_count: DoubtedCount
    doubted_value: DoubtedValue


class HolderSearch(TypedDict):
    """The funds that hold the security that was searched for."""

    query: str
    resolved: ResolvedSecurity
    period: Date
    holders: list[FoundHolder]
    count: int
    meta: HolderSearchMeta


HOLDER_SEARCH_SHAPE = Answer[HolderSearch]


def search_holders(call: Call) -> Response:
    """Return the funds that hold the security of a ticker or a CUSIP."""
    query = call.params["q"]
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        selection = security_flows.get_securities_of_query(tx, query)
        period, _ = security_flows.get_quarter_and_totals(tx, selection, call.params["period"])
        rows, total = security_flows.list_holders(tx, selection, period, status="all", limit=limit, offset=offset)
        doubt_totals = security_flows.sum_doubts_of_securities(tx, selection, period)
        chain = securities.list_successor_chain(tx, selection.cusips[0])
    resolved: ResolvedSecurity = {
        "ticker": selection.ticker,
        "cusip": selection.cusips[0],
        "name_of_issuer": selection.name,
        "cusip_chain": [link["cusip"] for link in chain],
        "evidence": selection.evidence,
    }
    page: HolderSearchPagination = {"total": total, "has_more": offset + limit < total}
    members: HolderSearch = {
        "query": query,
        "resolved": resolved,
        "period": period,
        "holders": [_build_found_holder(row) for row in rows],
        "count": len(rows),
        "meta": {**page, **doubt_totals},
    }
    return call.success_members(members, page)


def _build_found_holder(holder: Holder) -> FoundHolder:
    return build_record(FoundHolder, holder, value_usd=holder["value"], change_shares=holder["chg_shares"])
