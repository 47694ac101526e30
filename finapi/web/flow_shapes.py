"""The parameters and the shapes of what the flows endpoints answer (``wire.json``)."""

from __future__ import annotations

from finapi.market import flows, funds, issuers
from finapi.web import holdings_shapes as shapes
from finapi.web.params import Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    TEXT,
    array,
    beside,
    enum,
    made_of,
    mapping,
    nullable,
    obj,
)

# Industries shown of a sector.
MAX_INDUSTRIES = 50

_BOUND_NAMES = {
    "total_value": "Dollars held by funds",
    "fund_flow": "Dollars that flowed",
    "fund_count": "Funds that hold it",
    "fund_change": "Funds that came less those that left",
    "share_change": "Change in shares",
}
# Most of them need shares outstanding, a float and prices of every issuer.
BY_TICKER_UNSERVED = tuple(
    f"{bound}_{of}"
    for of in (
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
    shapes.QUARTER,
    Param(
        "sort_by",
        default="fund_flow",
        allowed=tuple(flows.SORTS),
        help="What to sort by.",
        example="total_value",
    ),
    Param("sort_order", default="desc", allowed=("asc", "desc"), help="Which way.", example="desc"),
    shapes.limit(100, 1_000),
    shapes.OFFSET,
    Param("security_group", allowed=issuers.GROUPS, help="Only this group.", example="Stocks"),
    Param("is_etf", "boolean", help="Only funds, or only others.", example="false"),
    Param("sector", help="Only companies of this sector.", example="Manufacturing"),
    Param("industry", help="Only companies of this industry.", example="35"),
    Param("search", help="A ticker, or beginnings of words of the issuer's name.", example="AAPL"),
    *(
        Param(f"{end}_{name}", "number", help=f"{text}: {word}.", example="1")
        for name, text in _BOUND_NAMES.items()
        for end, word in (("min", "at least"), ("max", "at most"))
    ),
    Param("include_ranges", "boolean", default=False, help="What the filters range over.", example="true"),
)
SECURITY = obj(
    cusip=TEXT,
    ticker=shapes.MAYBE_TEXT,
    name=TEXT,
    sector=shapes.MAYBE_TEXT,
    industry=shapes.MAYBE_TEXT,
    security_group=TEXT,
    is_etf=BOOLEAN,
    implied_price=shapes.MAYBE_NUMBER,
    close_price=shapes.MAYBE_NUMBER,
    market_cap=shapes.MAYBE_INTEGER,
    shares_outstanding=shapes.MAYBE_INTEGER,
    first_traded=shapes.MAYBE_DATE,
    fund_flow_mcap_pct=shapes.MAYBE_NUMBER,
    fund_flow=shapes.MAYBE_INTEGER,
    total_value=INTEGER,
    total_shares=INTEGER,
    fund_count=INTEGER,
    fund_count_compared=INTEGER,
    fund_count_prev=shapes.MAYBE_INTEGER,
    fund_change=shapes.MAYBE_INTEGER,
    fund_change_pct=shapes.MAYBE_NUMBER,
    share_change=shapes.MAYBE_INTEGER,
    share_change_pct=shapes.MAYBE_NUMBER,
    new_buys_count=shapes.MAYBE_INTEGER,
    increased_count=shapes.MAYBE_INTEGER,
    decreased_count=shapes.MAYBE_INTEGER,
    unchanged_count=shapes.MAYBE_INTEGER,
    closed_count=shapes.MAYBE_INTEGER,
)
_RANGE = obj(min=shapes.MAYBE_INTEGER, max=shapes.MAYBE_INTEGER)
BY_TICKER = beside(
    data=obj(
        quarter=DATE,
        tickers=array(SECURITY),
        volume=obj(buy=shapes.MAYBE_INTEGER, sell=shapes.MAYBE_INTEGER),
        quarter_metadata=shapes.QUARTER_METADATA,
        available_quarters=array(DATE),
        filter_ranges=nullable(
            obj(market_cap=_RANGE, total_value=_RANGE, fund_count=_RANGE, fund_flow=_RANGE)
        ),
    ),
    meta=obj(
        pagination=shapes.PAGINATION,
        sort=obj(column=TEXT, order=TEXT),
        filters_applied=mapping({}),
        holes=mapping(obj(status=enum("hole"), reason_code=TEXT)),
    ),
)

_COMPARE = Param("compare", "date", help="End of a quarter to compare each with.", example="2025-12-31")
_SECTOR_SORTS = ("fund_flow", "total_value", "fund_count")
BY_SECTOR_PARAMS = (
    shapes.QUARTER,
    _COMPARE,
    Param("industry_limit", "integer", default=15, least=0, most=MAX_INDUSTRIES, clamp=True,
          help="Industries of a sector, each way.", example="5"),
    Param("sort", default="fund_flow", allowed=_SECTOR_SORTS, help="What to sort by.", example="total_value"),
)  # fmt: skip
_MOMENTUM = nullable(enum(*flows.MOMENTA))
_COMPARED = nullable(
    obj(
        prev_quarter=DATE,
        flow_change=shapes.MAYBE_INTEGER,
        prev_momentum_label=_MOMENTUM,
        momentum_shift=nullable(enum("strengthened", "weakened", "unchanged")),
        fund_count_change=INTEGER,
        value_change_pct=shapes.MAYBE_NUMBER,
    )
)
_MOVER = obj(
    cusip=TEXT,
    ticker=shapes.MAYBE_TEXT,
    name=TEXT,
    fund_flow=shapes.MAYBE_INTEGER,
    total_value=INTEGER,
    fund_count=INTEGER,
)
_INDUSTRY = obj(
    industry=TEXT,
    fund_flow=shapes.MAYBE_INTEGER,
    total_value=INTEGER,
    fund_count=INTEGER,
    top_movers=array(_MOVER),
)
BY_SECTOR = beside(
    data=obj(
        quarter=DATE,
        sector_count=INTEGER,
        total_value=INTEGER,
        coverage_pct=shapes.MAYBE_NUMBER,
        sectors=array(
            obj(
                sector=TEXT,
                fund_flow=shapes.MAYBE_INTEGER,
                total_value=INTEGER,
                fund_count=INTEGER,
                etf_value=INTEGER,
                flow_significance_pct=shapes.MAYBE_NUMBER,
                momentum=_MOMENTUM,
                confidence=enum("high", "low"),
                compare=_COMPARED,
                industries=obj(inflows=array(_INDUSTRY), outflows=array(_INDUSTRY)),
            )
        ),
        quarter_metadata=shapes.QUARTER_METADATA,
    )
)
BY_INDUSTRY_PARAMS = (
    shapes.QUARTER,
    _COMPARE,
    shapes.limit(50, 100),
    Param(
        "sort_by", default="fund_flow", allowed=_SECTOR_SORTS, help="What to sort by.", example="total_value"
    ),
    Param("sector", help="Only industries of this sector.", example="Manufacturing"),
)
_SUMS = {
    "fund_flow": shapes.MAYBE_INTEGER,
    "total_value": INTEGER,
    "unique_fund_count": INTEGER,
    "flow_significance_pct": shapes.MAYBE_NUMBER,
    "momentum_label": _MOMENTUM,
    "low_confidence": BOOLEAN,
}
BY_INDUSTRY = beside(
    data=obj(
        quarter=DATE,
        total_institutional_value=INTEGER,
        coverage_pct=shapes.MAYBE_NUMBER,
        total_industries=INTEGER,
        industries=array(
            made_of(
                {
                    "industry": TEXT,
                    "sector": made_of({"name": TEXT, **_SUMS}),
                    **_SUMS,
                    "cusip_count": INTEGER,
                    "total_positions": INTEGER,
                    "etf_value": INTEGER,
                    "new_buys_count": shapes.MAYBE_INTEGER,
                    "closed_count": shapes.MAYBE_INTEGER,
                    "increased_count": shapes.MAYBE_INTEGER,
                    "decreased_count": shapes.MAYBE_INTEGER,
                    "top_movers": array(_MOVER),
                    "compare": _COMPARED,
                }
            )
        ),
        quarter_metadata=shapes.QUARTER_METADATA,
    )
)

HOLDERS_PARAMS = (
    shapes.TICKER,
    shapes.limit(100, 1_000),
    shapes.OFFSET,
    Param(
        "status",
        default="all",
        allowed=funds.STATUSES,
        help="Only funds whose position changed so.",
        example="new",
    ),
    Param("period", "date", help="End of a quarter; the latest held by default.", example="2026-03-31"),
    Param(
        "quarters",
        "integer",
        default=1,
        least=1,
        most=1,
        help="One; fund-trends has the others.",
        example="1",
    ),
)
_HOLDER = obj(
    cik=TEXT,
    name=TEXT,
    cusip=TEXT,
    shares=INTEGER,
    value=INTEGER,
    pct_of_portfolio=shapes.MAYBE_NUMBER,
    previous_shares=shapes.MAYBE_INTEGER,
    chg_shares=shapes.MAYBE_INTEGER,
    chg_pct=shapes.MAYBE_NUMBER,
    status=shapes.STATUS,
    accession_number=TEXT,
    filed_at=shapes.MAYBE_DATE,
    value_unit_rule=TEXT,
)
HOLDERS = beside(
    data=obj(
        ticker=TEXT,
        cusips=array(TEXT),
        ticker_evidence=shapes.MAYBE_TEXT,
        period=DATE,
        prev_period=DATE,
        holders=array(_HOLDER),
        total_shares=INTEGER,
        total_value=INTEGER,
        total_holders=INTEGER,
        total_count=INTEGER,
        offset=INTEGER,
        limit=INTEGER,
        has_more=BOOLEAN,
    )
)
TRENDS_PARAMS = (shapes.TICKER, shapes.limit(20, 100))
TRENDS = beside(
    data=obj(
        ticker=TEXT,
        security_name=TEXT,
        cusips=array(TEXT),
        quarters=array(
            obj(
                date=DATE,
                total_shares=INTEGER,
                total_value=INTEGER,
                fund_count=INTEGER,
                fund_count_compared=INTEGER,
                share_change=shapes.MAYBE_INTEGER,
                share_change_pct=shapes.MAYBE_NUMBER,
                fund_flow=shapes.MAYBE_INTEGER,
                fund_count_change=shapes.MAYBE_INTEGER,
            )
        ),
    )
)
SEARCH_PARAMS = (
    Param("q", required=True, help="A ticker or a CUSIP.", example="AAPL"),
    shapes.limit(20, 100),
    Param("period", "date", help="End of a quarter; the latest held by default.", example="2026-03-31"),
)
SEARCHED = beside(
    query=TEXT,
    resolved=obj(
        ticker=shapes.MAYBE_TEXT,
        cusip=TEXT,
        name_of_issuer=TEXT,
        cusip_chain=array(TEXT),
        evidence=shapes.MAYBE_TEXT,
    ),
    period=DATE,
    holders=array(
        obj(
            cik=TEXT,
            name=TEXT,
            cusip=TEXT,
            shares=INTEGER,
            value_usd=INTEGER,
            pct_of_portfolio=shapes.MAYBE_NUMBER,
            change_shares=shapes.MAYBE_INTEGER,
            status=shapes.STATUS,
            value_unit_rule=TEXT,
        )
    ),
    count=INTEGER,
    meta=obj(total=INTEGER, has_more=BOOLEAN),
)
