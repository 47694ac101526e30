"""Insiders' transactions over HTTP, and the query over their forms (CONTRACT 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from finapi.errors import invalid_param
from finapi.market import companies, insider_filings, insider_names, insider_query, insider_trades, sectors
from finapi.market.insider_positions import day_number
from finapi.market.insider_rules import STANDARD_TYPES
from finapi.market.insider_titles import C_SUITE, DIRECTOR, OFFICER, TEN_PERCENT
from finapi.market.insider_trades import Page, Wanted
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param

# A century: beyond it a window means everything.
MAX_DAYS = 36_500
_MATCHES = 25  # insiders and issuers of a search whose transactions are looked at


def _flag(name: str, help: str, default: bool | None = False) -> Param:
    return Param(name, "boolean", default=default, help=help, example="true")


TICKER = Param("ticker", place="path", required=True, help="Ticker (any spelling) or CIK.", example="AAPL")
LIMIT = Param(
    "limit", "integer", default=50, least=1, most=500, clamp=True, help="Rows, at most 500.", example="50"
)
OFFSET = Param(
    "offset",
    "integer",
    default=0,
    least=0,
    most=10_000,
    help="Rows to skip, at most 10,000; cursor goes further.",
    example="0",
)
CURSOR = Param("cursor", help="next_cursor of the page before.", example="0_20454_112760225001055_1")
TYPE = Param("standard_type", allowed=STANDARD_TYPES, help="Only this kind.", example="purchase")
SECTOR = Param("sector", help="SIC division, by name or letter.", example="Manufacturing")
INDUSTRY = Param(
    "industry", help="SIC major group, by name or two digits.", example="Machinery and Computer Equipment"
)
DEDUP = _flag("dedup_owners", "Leave out a trade that another form, of other owners, told of before.")
COLLAPSE = _flag("collapse_joint_filers", "Name all owners of a joint filing, with the roles of any of them.")
TOTAL = _flag("include_total", "Count all rows, too.", default=True)
TRADE_DAYS = Param(
    "transaction_days",
    "integer",
    least=0,
    most=MAX_DAYS,
    clamp=True,
    help="Only transactions of the last so many days.",
    example="30",
)
NO_PLAN = _flag("exclude_10b5_1", "Without transactions under Rule 10b5-1 plans.")
NO_CASHLESS = _flag("exclude_cashless", "Without cashless exercises.")
NO_COVER = _flag("exclude_sell_to_cover", "Without sales that pay taxes.")
MIN_VALUE = Param("min_value", "number", help="Least value in dollars.", example="100000")
MAX_VALUE = Param("max_value", "number", help="Greatest value in dollars.", example="5000000")
CODE = Param("transaction_code", help="Only this code.", example="P")
ROLES = tuple(
    Param(name, "boolean", help=f"Only {what} (true), or none of them (false).", example="true")
    for name, what in (
        ("is_officer", "officers"),
        ("is_director", "directors"),
        ("is_ten_percent_owner", "owners of ten per cent"),
        ("is_c_suite", "the C-suite"),
    )
)
_BITS = {
    "is_officer": OFFICER,
    "is_director": DIRECTOR,
    "is_ten_percent_owner": TEN_PERCENT,
    "is_c_suite": C_SUITE,
}
_OWNERS = (DEDUP, COLLAPSE)


def filed_days(default: int) -> Param:
    """The window of filing days, with its default."""
    return Param(
        "filed_at_days",
        "integer",
        default=default,
        least=0,
        most=MAX_DAYS,
        clamp=True,
        help="Only what was filed in the last so many days; what has no filing day only with 36500.",
        example="30",
    )


LATEST_PARAMS = (LIMIT, CURSOR, TYPE, SECTOR, INDUSTRY, *_OWNERS, TOTAL)
TICKER_PARAMS = (TICKER, LIMIT, CURSOR, filed_days(7), TRADE_DAYS, TYPE, *_OWNERS)
INSIDER = Param("cik", place="path", required=True, help="The insider's CIK.", example="0000315090")
INSIDER_PARAMS = (
    INSIDER,
    LIMIT,
    CURSOR,
    Param("from_date", "date", help="First transaction date.", example="2025-01-01"),
    Param("to_date", "date", help="Last transaction date.", example="2025-12-31"),
    *_OWNERS,
)
SEARCH_PARAMS = (
    Param(
        "query",
        required=True,
        help="Words of an insider's or company's name, a ticker or CIK.",
        example="Buffett",
    ),
    filed_days(7),
    TRADE_DAYS,
    CODE,
    MIN_VALUE,
    MAX_VALUE,
    *ROLES,
    NO_PLAN,
    NO_CASHLESS,
    NO_COVER,
    TYPE,
    LIMIT,
    CURSOR,
    SECTOR,
    INDUSTRY,
    *_OWNERS,
)
TOP_PARAMS = (
    Param("direction", default="BUY", allowed=("BUY", "SELL"), help="Purchases or sales.", example="BUY"),
    LIMIT,
    CURSOR,
    SECTOR,
    INDUSTRY,
    *_OWNERS,
    TOTAL,
)
QUERY_BODY = (
    Field(
        "query",
        "text",
        required=True,
        help="field:value terms joined by AND; values are words, quoted texts or [from TO to].",
        example="issuer.tradingSymbol:AAPL AND transactionCode:S",
    ),
    Field("from", "integer", least=0, most=10_000, help="Rows to skip.", example=0),
    Field("size", "integer", least=1, most=200, help="Rows, 50 unless told.", example=50),
)


def latest(call: Call) -> Response:
    """The newest transactions by filing day."""
    wanted = _wanted(call)
    with call.app.db.read() as tx:
        page = insider_trades.latest(tx, wanted)
        total = insider_trades.count_latest(tx, wanted) if call.params["include_total"] else None
        rows = insider_trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
    return call.rows(rows, {"pagination": pagination(page, wanted.limit, total)})


def of_ticker(call: Call) -> Response:
    """The newest transactions in a company's securities."""
    with call.app.db.read() as tx:
        company = companies.find(tx, call.params["ticker"])
        wanted = _wanted(call)
        page, total = insider_trades.of_issuer(tx, company.cik, wanted)
        rows = insider_trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
    return call.rows(rows, {"pagination": pagination(page, wanted.limit, total)})


def of_insider(call: Call) -> Response:
    """The newest transactions of an insider."""
    insider = cik(call.params["cik"])
    wanted = _wanted(call)
    with call.app.db.read() as tx:
        named = insider_names.name(tx, insider)
        page, total = insider_trades.of_insider(tx, insider, wanted)
        collapse = call.params["collapse_joint_filers"]
        rows = insider_trades.objects(tx, page.ids, insider=insider, collapse=collapse)
    return call.rows(rows, {"pagination": pagination(page, wanted.limit, total), "insider": named})


def search(call: Call) -> Response:
    """Transactions of insiders and in companies whose names match."""
    params, wanted = call.params, _wanted(call)
    narrow = {
        "code": code(params["transaction_code"]),
        "min_value": whole(params["min_value"], up=True),
        "max_value": whole(params["max_value"], up=False),
        "no_plan": params["exclude_10b5_1"],
        "no_cashless": params["exclude_cashless"],
        "no_cover": params["exclude_sell_to_cover"],
        **roles(params),
    }
    with call.app.db.read() as tx:
        matches = insider_names.matching(tx, params["query"], _MATCHES)
        page = insider_trades.found(tx, matches.insiders, matches.issuers, narrow, wanted)
        rows = insider_trades.objects(tx, page.ids, collapse=params["collapse_joint_filers"])
    meta = {
        # Counted only where the page is all of it.
        "total": None if page.has_more or params["cursor"] else len(rows),
        "limit": wanted.limit,
        "has_more": page.has_more,
        "next_cursor": page.next_cursor,
        "matched_insiders": len(matches.insiders),
        "matched_issuers": len(matches.issuers),
        "matches_cut": matches.cut,
    }
    return call.rows(rows, meta)


def top(call: Call) -> Response:
    """The purchases or sales of the greatest value."""
    wanted = _wanted(call)
    direction = insider_trades.BUY if call.params["direction"] == "BUY" else insider_trades.SELL
    with call.app.db.read() as tx:
        page = insider_trades.top(tx, direction, wanted)
        total = insider_trades.count_top(tx, direction, wanted) if call.params["include_total"] else None
        rows = insider_trades.objects(tx, page.ids, collapse=call.params["collapse_joint_filers"])
    return call.rows(rows, {"pagination": pagination(page, wanted.limit, total)})


def query(call: Call) -> Response:
    """The forms that a query finds, with both tables."""
    start, size = call.body.get("from", 0), call.body.get("size", 50)
    with call.app.db.read() as tx:
        ids, total, exact = insider_query.filings(tx, call.body["query"], start, size)
        forms = insider_filings.flat(tx, ids)
    return call.plain(
        {"total": {"value": total, "relation": "eq" if exact else "gte"}, "transactions": forms}
    )


# ---- what parameters mean


def _wanted(call: Call) -> Wanted:
    params = call.params
    return Wanted(
        limit=params["limit"],
        cursor=insider_trades.place(params["cursor"]),
        type=params.get("standard_type"),
        sector=sector(params),
        industry=industry(params),
        since=since(call.now, params.get("filed_at_days")),
        date_from=params.get("from_date") or day_before(call.now, params.get("transaction_days")),
        date_to=params.get("to_date"),
        dedup=params["dedup_owners"],
    )


def pagination(page: Page, limit: int, total: int | None, offset: int = 0) -> dict[str, Any]:
    """A page as ``meta.pagination`` tells of it."""
    return {
        "total": total,
        "limit": limit,
        "offset": offset,
        "has_more": page.has_more,
        "next_cursor": page.next_cursor,
    }


def sector(params: Mapping[str, Any]) -> str | None:
    """The division that the parameter ``sector`` names; INVALID_PARAM for none."""
    return sectors.division(params["sector"]) if params.get("sector") is not None else None


def industry(params: Mapping[str, Any]) -> int | None:
    """The major group that the parameter ``industry`` names; INVALID_PARAM for none."""
    return sectors.group(params["industry"]) if params.get("industry") is not None else None


def since(now: datetime, days: int | None) -> int:
    """The filing day (by number) that a window of ``days`` begins with; 0, all of them, without one."""
    return 0 if days is None or days >= MAX_DAYS else max(1, today(now) - days)


def today(now: datetime) -> int:
    """The number of the day."""
    return day_number(now.date().isoformat())


def day_before(now: datetime, days: int | None) -> str | None:
    """The date so many days ago; None for no window."""
    return None if days is None or days >= MAX_DAYS else (now.date() - timedelta(days)).isoformat()


def whole(bound: Decimal | None, *, up: bool) -> int | None:
    """A bound on whole numbers: 1.5 at least is 2, 1.5 at most is 1."""
    if bound is None:
        return None
    return math.ceil(bound) if up else math.floor(bound)


def code(text: str | None) -> str | None:
    """A transaction code in capitals; INVALID_PARAM for what is none."""
    if text is None:
        return None
    if len(text) != 1 or not text.isascii() or not text.isalpha():
        raise invalid_param("transaction_code", "A transaction code is one letter.", expected="P")
    return text.upper()


def roles(params: Mapping[str, Any]) -> dict[str, int]:
    """Which relationships there must be, and must not be, as bits."""
    given = {name: params.get(name) for name in _BITS}
    return {
        "with_roles": sum(bit for name, bit in _BITS.items() if given[name] is True),
        "without_roles": sum(bit for name, bit in _BITS.items() if given[name] is False),
    }


def cik(text: str, name: str = "cik") -> int:
    """A CIK, bare or padded; INVALID_PARAM for anything else."""
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise invalid_param(name, "That is not a CIK.", expected="0000315090")
    return int(text)
