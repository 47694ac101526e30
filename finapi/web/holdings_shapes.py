"""The shapes of what the 13F endpoints answer, and the parameters that several of them take (``wire.json``)."""

from __future__ import annotations

from finapi.market import funds
from finapi.web.params import Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    array,
    beside,
    enum,
    made_of,
    nullable,
    obj,
)

MAYBE_TEXT, MAYBE_INTEGER, MAYBE_NUMBER = nullable(TEXT), nullable(INTEGER), nullable(NUMBER)
MAYBE_DATE = nullable(DATE)
STATUS = nullable(enum(*funds.STATUSES[1:]))

CIK = Param("cik", place="path", required=True, help="CIK of the manager, padded or not.", example="1067983")
PERIOD = Param("period", "date", help="End of a quarter; the latest held by default.", example="2026-03-31")
QUARTER = Param("quarter", help="End of a quarter, or latest.", default="latest", example="2026-03-31")
TICKER = Param("ticker", place="path", required=True, help="Ticker, in any spelling.", example="AAPL")
OFFSET = Param(
    "offset",
    "integer",
    default=0,
    least=0,
    most=1_000_000,
    help="Rows to pass over.",
    example="0",
)


def limit(default: int, most: int) -> Param:
    """How many rows at most; more are brought down to ``most``."""
    return Param(
        "limit",
        "integer",
        default=default,
        least=1,
        most=most,
        clamp=True,
        help=f"Rows at most, up to {most}.",
        example="20",
    )


PAGINATION = obj(total=INTEGER, limit=INTEGER, offset=INTEGER, has_more=BOOLEAN)

HOLDING = obj(
    cusip=TEXT,
    cusip_valid=BOOLEAN,
    ticker=MAYBE_TEXT,
    ticker_evidence=MAYBE_TEXT,
    name_of_issuer=TEXT,
    title_of_class=TEXT,
    share_type=enum("SH", "PRN"),
    is_option=BOOLEAN,
    put_call=nullable(enum("Put", "Call")),
    shares=INTEGER,
    value_usd=INTEGER,
    pct_of_portfolio=MAYBE_NUMBER,
    investment_discretion=MAYBE_TEXT,
    other_managers=MAYBE_TEXT,
    voting_authority=obj(sole=MAYBE_INTEGER, shared=MAYBE_INTEGER, none=MAYBE_INTEGER),
    figi=MAYBE_TEXT,
    status=STATUS,
    previous_shares=MAYBE_INTEGER,
    change_shares=MAYBE_INTEGER,
    change_pct=MAYBE_NUMBER,
    value_unit_rule=TEXT,
    accession_no=TEXT,
    table_rows=INTEGER,
)
CHANGE = obj(
    cusip=TEXT,
    ticker=MAYBE_TEXT,
    name_of_issuer=TEXT,
    shares=INTEGER,
    previous_shares=MAYBE_INTEGER,
    change_shares=MAYBE_INTEGER,
    change_pct=MAYBE_NUMBER,
    value_usd=INTEGER,
    put_call=nullable(enum("Put", "Call")),
)
FILING = obj(
    accession_no=TEXT,
    form_type=TEXT,
    is_amendment=BOOLEAN,
    amendment_type=MAYBE_TEXT,
    filed_at=MAYBE_DATE,
    table_value_total=MAYBE_INTEGER,
    table_entry_total=MAYBE_INTEGER,
    table_rows=INTEGER,
    table_rows_value=INTEGER,
    table_ties=BOOLEAN,
    value_corrected=BOOLEAN,
    value_unit_rule=TEXT,
    confidential_omitted=BOOLEAN,
    reports_united=INTEGER,
)
CHANGES = obj(available=BOOLEAN, previous_period=DATE, reason=MAYBE_TEXT)
COUNTS = made_of(dict.fromkeys(funds.STATUSES[1:], MAYBE_INTEGER))

FUND = beside(
    fund=obj(cik=TEXT, name=TEXT, signing_officer=MAYBE_TEXT, latest_filed_at=MAYBE_DATE),
    period=DATE,
    filing=FILING,
    holdings=array(HOLDING),
    analysis=nullable(
        obj(
            new_buys=array(CHANGE),
            closed=array(CHANGE),
            increased=array(CHANGE),
            decreased=array(CHANGE),
            unchanged=array(CHANGE),
        )
    ),
    sector_allocation=nullable(
        array(
            obj(
                sector=MAYBE_TEXT,
                total_value_usd=INTEGER,
                position_count=INTEGER,
                pct_of_portfolio=MAYBE_NUMBER,
            )
        )
    ),
    meta=obj(pagination=PAGINATION, total_value_usd=INTEGER, changes=CHANGES, counts=COUNTS),
)
PERIODS = beside(cik=TEXT, periods=array(DATE), latest_period=MAYBE_DATE, count=INTEGER)
HISTORY_ROW = obj(
    quarter_date=DATE,
    shares=INTEGER,
    shares_raw=INTEGER,
    value=INTEGER,
    implied_price=MAYBE_NUMBER,
    shares_delta=MAYBE_INTEGER,
    transaction_type=STATUS,
    value_unit_rule=TEXT,
    accession_no=TEXT,
)
HISTORY = beside(
    cik=TEXT,
    cusip=TEXT,
    ticker=MAYBE_TEXT,
    name=TEXT,
    quarters=INTEGER,
    split_adjusted=BOOLEAN,
    splits=array(obj(date=DATE, ratio=NUMBER)),
    history=array(HISTORY_ROW),
)
BULK = beside(
    period=MAYBE_DATE,
    detail=TEXT,
    funds=array(
        obj(
            cik=TEXT,
            name=MAYBE_TEXT,
            status=enum("ok", "no_filing", "unknown_cik"),
            period=MAYBE_DATE,
            portfolio_value_usd=MAYBE_INTEGER,
            holdings_count=MAYBE_INTEGER,
            holdings=nullable(array(HOLDING)),
            has_more=BOOLEAN,
        )
    ),
    meta=obj(
        requested_count=INTEGER,
        ok_count=INTEGER,
        no_filing_count=INTEGER,
        unknown_cik_count=INTEGER,
        detail=TEXT,
    ),
)
QUERIED = beside(
    cik=TEXT,
    period=DATE,
    previousPeriod=DATE,
    holdings=array(
        obj(
            cusip=TEXT,
            ticker=MAYBE_TEXT,
            issuer_name=TEXT,
            title_of_class=TEXT,
            put_call=nullable(enum("Put", "Call")),
            shares=INTEGER,
            value_usd=INTEGER,
            changeShares=MAYBE_INTEGER,
            changePercent=MAYBE_NUMBER,
            status=STATUS,
            value_unit_rule=TEXT,
        )
    ),
    meta=obj(pagination=PAGINATION, changes=CHANGES),
)

FOUND_FUND = obj(
    cik=TEXT,
    name=TEXT,
    symbol=MAYBE_TEXT,
    filing_count=INTEGER,
    latest_period=MAYBE_DATE,
    latest_filed_at=MAYBE_DATE,
    latest_aum_usd=MAYBE_INTEGER,
)
FUNDS = beside(
    funds=array(FOUND_FUND), count=INTEGER, meta=obj(has_more=BOOLEAN, next_cursor=MAYBE_TEXT, limit=INTEGER)
)
FOUND = beside(results=array(FOUND_FUND), count=INTEGER)
FILERS = beside(filers=array(FOUND_FUND), meta=obj(total=INTEGER, limit=INTEGER, has_more=BOOLEAN))
LATEST = beside(
    data=array(
        obj(
            accession_no=TEXT,
            fund_name=TEXT,
            cik=TEXT,
            period_of_report=DATE,
            filed_at=MAYBE_DATE,
            table_value_total=MAYBE_INTEGER,
            holdings_count=INTEGER,
            form_type=TEXT,
            is_amendment=BOOLEAN,
            analysis=COUNTS,
            statistics=obj(
                new_positions=MAYBE_INTEGER,
                increased=MAYBE_INTEGER,
                increased_positions=MAYBE_INTEGER,
                decreased=MAYBE_INTEGER,
                decreased_positions=MAYBE_INTEGER,
                closed=MAYBE_INTEGER,
                unchanged=MAYBE_INTEGER,
                prior_quarter_available=BOOLEAN,
            ),
            parsed_at=nullable(TIME),
        )
    ),
    meta=obj(total=INTEGER, limit=INTEGER, offset=INTEGER, has_more=BOOLEAN),
)
COVERS = beside(
    filings=array(
        obj(
            cik=TEXT,
            accession_number=TEXT,
            form_type=TEXT,
            amendment_type=MAYBE_TEXT,
            period_of_report=DATE,
            filed_date=MAYBE_DATE,
            filer_name=TEXT,
            address=MAYBE_TEXT,
            report_type=MAYBE_TEXT,
            file_number=MAYBE_TEXT,
            signing_officer=MAYBE_TEXT,
            signing_officer_title=MAYBE_TEXT,
            total_value_usd=MAYBE_INTEGER,
            holdings_count=MAYBE_INTEGER,
            table_rows=INTEGER,
            value_unit_rule=TEXT,
            other_managers=array(
                obj(
                    number=MAYBE_INTEGER,
                    name=TEXT,
                    cik=MAYBE_TEXT,
                    file_number=MAYBE_TEXT,
                    included=BOOLEAN,
                )
            ),
        )
    ),
    meta=obj(limit=INTEGER, offset=INTEGER, has_more=BOOLEAN),
)
QUARTER_METADATA: Schema = obj(
    quarter=DATE, filing_deadline=DATE, is_complete=BOOLEAN, days_until_deadline=INTEGER
)
