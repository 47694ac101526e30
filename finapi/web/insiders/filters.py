"""Parameters that several routes about insiders take, what they narrow an answer to, and the page that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, TypeVar

from finapi.core import days
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.holdings import quarters
from finapi.market.insiders import trades
from finapi.market.insiders.rules import STANDARD_TYPES
from finapi.market.insiders.titles import C_SUITE, DIRECTOR, OFFICER, TEN_PERCENT
from finapi.market.insiders.trades import IdPage, InsiderCursor, TradeFilters
from finapi.market.reference import sectors
from finapi.market.reference.companies import Company
from finapi.web.http import params
from finapi.web.http.call import Call
from finapi.web.http.params import Param
from finapi.web.http.schema import part

Row = TypeVar("Row")

# A century: beyond it a window means everything.
MAX_DAYS = 36_500


def flag_param(name: str, help: str, default: bool | None = False) -> Param:
    """A parameter that is true or false."""
    return Param(name, "boolean", default=default, help=help, example="true")


def window_param(
    name: str, default: int | None, help: str, *, least: int = 0, most: int = MAX_DAYS, example: str = "30"
) -> Param:
    """A number of days up to today."""
    return Param(
        name,
        "integer",
        default=default,
        minimum=least,
        maximum=most,
        clamp=True,
        is_window=True,
        help=help,
        example=example,
    )


def filing_window_param(default: int) -> Param:
    """The window of filing days."""
    help = (
        f"Only filings of the last N days; {default} unless another window is given. "
        "Filings without a date appear only with 36500."
    )
    return window_param("filed_at_days", default, help)


LIMIT = params.limit_param(50, 500)
CURSOR = params.cursor_param("0_20454_112760225001055_1", "(?:-?[0-9]{1,19}_){3}-?[0-9]{1,19}")
POSITION_CURSOR = params.cursor_param("50", "[0-9]{1,9}")
COMPANY_PARAM = Param("ticker", "ticker", help="Only this company: ticker (any spelling) or CIK.", example="AAPL")
TYPE = Param("standard_type", allowed=STANDARD_TYPES, help="Only this kind.", example="purchase")
SECTOR = Param("sector", help="SIC division, by name or letter.", example="Manufacturing")
INDUSTRY = Param("industry", help="SIC major group, by name or two digits.", example="Machinery and Computer Equipment")
INCLUDE_OUTCOME = flag_param(
    "include_outcome", "Add the share's later returns, where prices are held, and the date of the next earnings."
)
OWNER_PARAMS = (
    flag_param("dedup_owners", "Leave out a trade that other owners reported before, on a form of their own."),
    flag_param("collapse_joint_filers", "Name all owners of a joint filing, with the roles of any of them."),
)
INCLUDE_TOTAL = flag_param("include_total", "Also count all rows.", default=True)
TRADE_DAYS = window_param("transaction_days", None, "Only transactions of the last N days.")
NO_PLAN = flag_param("exclude_10b5_1", "Exclude transactions under Rule 10b5-1 plans.")
NO_CASHLESS = flag_param("exclude_cashless", "Exclude cashless exercises.")
NO_COVER = flag_param("exclude_sell_to_cover", "Exclude sales to cover taxes.")
MIN_VALUE = Param("min_value", "number", help="Minimum value in dollars.", example="100000")
MAX_VALUE = Param("max_value", "number", help="Maximum value in dollars.", example="5000000")
THRESHOLDS = (
    MIN_VALUE,
    MAX_VALUE,
    Param("min_shares", "number", help="Minimum number of shares.", example="10000"),
    Param("max_shares", "number", help="Maximum number of shares.", example="500000"),
    Param("min_percent", "number", help="Minimum percentage of the shares held before.", example="10"),
    Param("max_percent", "number", help="Maximum percentage of the shares held before.", example="50"),
)
CODE = Param(
    "transaction_code",
    pattern="[A-Za-z](,[A-Za-z]){0,25}",
    help="Only this code, or these with commas between them.",
    example="P",
)
ACQUIRED = Param("acquired_disposed_code", allowed=("A", "D"), help="Acquired or disposed of.", example="A")
EARNINGS = Param(
    "earnings_within",
    "integer",
    minimum=1,
    maximum=366,
    example="30",
    help="Only transactions followed by earnings: the company filed an 8-K item 2.02 within this many days.",
)
_ROLES = (
    ("is_officer", OFFICER, "officers"),
    ("is_director", DIRECTOR, "directors"),
    ("is_ten_percent_owner", TEN_PERCENT, "owners of ten per cent"),
    ("is_c_suite", C_SUITE, "the C-suite"),
)
ROLES = tuple(flag_param(name, f"true: only {whom}. false: all others.", None) for name, _, whom in _ROLES)
DATE_PARAMS = (
    Param("from_date", "date", is_window=True, help="First day of transactions.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Last day of transactions.", example="2025-12-31"),
    Param("filed_from", "date", is_window=True, help="First day of filing.", example="2025-01-01"),
    Param("filed_to", "date", is_window=True, help="Last day of filing.", example="2025-12-31"),
    Param(
        "quarter",
        "quarter",
        is_window=True,
        help="Only transactions of the quarter that ends on this day.",
        example="2025-12-31",
    ),
)
# What every list and sum of transactions is narrowed by.
TRADE_PARAMS = (
    *DATE_PARAMS,
    CODE,
    ACQUIRED,
    *THRESHOLDS,
    *ROLES,
    NO_PLAN,
    NO_CASHLESS,
    NO_COVER,
    EARNINGS,
    TYPE,
    SECTOR,
    INDUSTRY,
)
# Windows by name, as meta tells them.
DAYS: dict[str, Any] = {one.name: Date | None for one in DATE_PARAMS}
WINDOWS: dict[str, Any] = {"filed_at_days": int | None, "transaction_days": int | None, **DAYS}


# Filters that are a parameter as it is given, and what they are without it.
_AS_GIVEN: dict[str, tuple[str, Any]] = {
    "limit": ("limit", 0),
    "offset": ("offset", 0),
    "type": ("standard_type", None),
    "acquired_disposed": ("acquired_disposed_code", None),
    "earnings_within": ("earnings_within", None),
    "no_plan": ("exclude_10b5_1", False),
    "no_cashless": ("exclude_cashless", False),
    "no_cover": ("exclude_sell_to_cover", False),
    "dedup": ("dedup_owners", False),
}


def build_trade_filters(call: Call, *, whole: bool = False) -> TradeFilters:
    """What the parameters of a call narrow transactions to; with ``whole`` those of all companies."""
    given = call.params.get
    starts, ends = _traded(call)
    bounds: dict[str, Any] = {name: float(call.params[name]) for name in _SCANNING[:4] if given(name) is not None}
    narrow = TradeFilters(
        **bounds,
        **{name: given(*asked) for name, asked in _AS_GIVEN.items()},
        cursor=parse_cursor(call.params),
        sector=parse_sector(call.params),
        industry=parse_industry(call.params),
        since=max(
            first_filing_day(call.now, given("filed_at_days")),
            _number(given("filed_from"), 1 if given("filed_to") else 0),
        ),
        until=_number(given("filed_to"), trades.LAST_DAY),
        date_from=max(starts, default=None),
        date_to=min(ends, default=None),
        codes=(given("transaction_code") or "").replace(",", "").upper() or None,
        min_value=params.round_bound(given("min_value"), round_up=True),
        max_value=params.round_bound(given("max_value"), round_up=False),
        with_roles=sum(bit for name, bit, _ in _ROLES if given(name) is True),
        without_roles=sum(bit for name, bit, _ in _ROLES if given(name) is False),
    )
    if whole:
        _check_span(call, narrow)
    return narrow


# No index finds these: they are looked for in the transactions of so many days. The last is no number of shares.
_SCANNING = ("min_shares", "max_shares", "min_percent", "max_percent", "earnings_within")
MAX_SCANNED_DAYS = 366


def _traded(call: Call) -> tuple[list[str], list[str]]:
    """The days that transactions are not before, and not after."""
    given = call.params.get
    quarter = given("quarter")
    first, last = quarters.get_first_and_last_day(quarter) if quarter else (None, None)
    starts = (given("from_date"), date_days_ago(call.now, given("transaction_days")), first)
    return [day for day in starts if day], [day for day in (given("to_date"), last) if day]


def _check_span(call: Call, narrow: TradeFilters) -> None:
    name = next((name for name in _SCANNING if call.params[name] is not None), None)
    if name and count_days(call.now, narrow) > MAX_SCANNED_DAYS:
        raise invalid_param(
            name,
            f"{name} of all companies wants a window of at most {MAX_SCANNED_DAYS} days: "
            "from_date, filed_from or quarter.",
            expected=f"a window of at most {MAX_SCANNED_DAYS} days",
        )


def count_days(now: datetime, narrow: TradeFilters) -> int:
    """How many days a list is narrowed to, of filing or of transactions, whichever are fewer."""
    today = now.date().isoformat()
    filed = min(narrow.until, days.number(today)) - narrow.since
    traded = days.number(min(narrow.date_to or today, today)) - days.number(narrow.date_from or "1970-01-01")
    return min(filed, traded)


def _number(day: str | None, otherwise: int) -> int:
    """A day by its number; before the first that has one it is that one."""
    return otherwise if day is None else max(1, days.number(day))


def parse_cursor(given: Mapping[str, Any]) -> InsiderCursor:
    """The row behind which the page begins."""
    try:
        return trades.parse_cursor(given.get("cursor"))
    except ValueError:
        raise params.invalid_cursor() from None


def parse_sector(given: Mapping[str, Any]) -> str | None:
    """The letter of the division that the parameter ``sector`` names; INVALID_PARAM for an unknown one."""
    return sectors.parse_division(given["sector"]) if given.get("sector") is not None else None


def parse_industry(given: Mapping[str, Any]) -> int | None:
    """The number of the major group that the parameter ``industry`` names; INVALID_PARAM for an unknown one."""
    return sectors.parse_group(given["industry"]) if given.get("industry") is not None else None


def first_filing_day(now: datetime, window: int | None) -> int:
    """The filing day (by number) that a window of days begins with; 0, all of them, without one."""
    return 0 if window is None or window >= MAX_DAYS else max(1, days.number(now.date().isoformat()) - window)


def date_days_ago(now: datetime, window: int | None) -> str | None:
    """The date so many days ago; None without a window."""
    return None if window is None or window >= MAX_DAYS else (now.date() - timedelta(window)).isoformat()


# ---- what stands beside the rows


class InsiderPaging(TypedDict):
    """Where a page stands in its list; ``total`` is null where the rows are not counted."""

    total: int | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


# The company that a list is about.
COMPANY = part(ticker=str | None, name=str, cik=str)


def slice_page(call: Call, rows: Sequence[Row]) -> tuple[Sequence[Row], dict[str, Any]]:
    """The page of a list that is there as a whole, and its limit, offset, has_more and, if it takes one, cursor."""
    limit, first = call.params["limit"], page_start(call)
    more = len(rows) > first + limit
    paging: dict[str, Any] = {"limit": limit, "offset": call.params["offset"], "has_more": more}
    if "cursor" in call.params:
        paging["next_cursor"] = next_cursor(call, more=more)
    return rows[first : first + limit], paging


def page_start(call: Call) -> int:
    """How many rows precede the page of a list without an order that a cursor could name: its cursor is their count."""
    return int(call.params.get("cursor") or 0) + int(call.params["offset"])


def next_cursor(call: Call, *, more: bool) -> str | None:
    """The cursor of the next page of such a list."""
    return str(page_start(call) + call.params["limit"]) if more else None


def build_paging(call: Call, page: IdPage) -> InsiderPaging:
    """Where a page of ids stands."""
    return {
        "total": page.total,
        "limit": call.params["limit"],
        "offset": call.params.get("offset", 0),
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
    }


def build_company(company: Company) -> dict[str, str | None]:
    """How a list names the company that it is about."""
    return {"ticker": company.ticker, "name": company.name, "cik": company.padded_cik}
