"""Parameters, filters, windows and pages that several routes about insiders share.

A list of transactions has two kinds of windows: days of filing (``filed_at_days``, ``filed_from``, ``filed_to``) and
days of transactions (``transaction_days``, ``from_date``, ``to_date``, ``quarter``). All of them apply together.

Lists have one of two kinds of cursors. If a list is ordered by a sort key, the cursor is the key of the last row
(:func:`parse_cursor`). Other lists are read completely, and their cursor is the number of rows before the next page
(:func:`get_page_start`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypedDict, TypeVar

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

Row = TypeVar("Row")

MAX_DAYS = 36_500  # A century, which is longer than the history of filings.


def flag_param(name: str, help: str, default: bool | None = False) -> Param:
    """Return a boolean parameter."""
    return Param(name, "boolean", default=default, help=help, example="true")


def window_param(
    name: str, default: int | None, help: str, *, minimum: int = 0, maximum: int = MAX_DAYS, example: str = "30"
) -> Param:
    """Return the parameter for a window of the last N days."""
    return Param(
        name,
        "integer",
        default=default,
        minimum=minimum,
        maximum=maximum,
        clamp=True,
        is_window=True,
        help=help,
        example=example,
    )


def filing_window_param(default: int) -> Param:
    """Return the parameter ``filed_at_days``: a window of the last N filing days."""
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
SECTOR = Param(
    "sector",
    help="SIC division, by name or letter, or one of the eleven common sectors, such as Technology.",
    example="Manufacturing",
)
INDUSTRY = Param("industry", help="SIC major group, by name or two digits.", example="Machinery and Computer Equipment")
INCLUDE_OUTCOME = flag_param(
    "include_outcome", "Add the share's later returns, where prices are stored, and the date of the next earnings."
)
OWNER_PARAMS = (
    flag_param("dedup_owners", "List a trade that several owners report once: leave out rows with same_trade_as."),
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


class _RoleParam(NamedTuple):
    """A parameter that filters by a role."""

    param: str
    bit: int
    plural: str  # The role in the help text.


_ROLES = (
    _RoleParam("is_officer", OFFICER, "officers"),
    _RoleParam("is_director", DIRECTOR, "directors"),
    _RoleParam("is_ten_percent_owner", TEN_PERCENT, "owners of ten per cent"),
    _RoleParam("is_c_suite", C_SUITE, "the C-suite"),
)
ROLES = tuple(flag_param(role.param, f"true: only {role.plural}. false: all others.", None) for role in _ROLES)
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
# The filters of every list and sum of transactions.
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


class DateWindows(TypedDict):
    """The windows given as first and last dates, in ``meta``."""

    from_date: Date | None
    to_date: Date | None
    filed_from: Date | None
    filed_to: Date | None
    quarter: Date | None


class _DayCountWindows(TypedDict):
    """The windows given as a number of days, in ``meta``."""

    filed_at_days: int | None
    transaction_days: int | None


class TradeWindows(_DayCountWindows, DateWindows):
    """All windows of a list or sum of transactions, in ``meta``."""


class InsiderPaging(TypedDict):
    """The paging fields of a list. ``total`` is null if the rows are not counted."""

    total: int | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


class InsiderListMeta(TypedDict):
    """The ``meta`` of a list with pages."""

    pagination: InsiderPaging


class ListedCompany(TypedDict):
    """The company that a list is about."""

    ticker: str | None
    name: str
    cik: str


# Filters without an index. They are tested on each transaction of a window, so without a company the window must not be
# longer than MAX_SCANNED_DAYS.
_SCANNING_PARAMS = ("min_shares", "max_shares", "min_percent", "max_percent", "earnings_within")
MAX_SCANNED_DAYS = 366


class _DateRange(NamedTuple):
    """The first and last day of a window, as dates; None for an open end."""

    first: str | None
    last: str | None


def build_trade_filters(call: Call, *, of_all_companies: bool = False) -> TradeFilters:
    """Return the filters in the parameters of a call.

    With ``of_all_companies``, raise INVALID_PARAM if the window is too long for the filters.
    """
    get = call.params.get
    traded = _find_transaction_dates(call)
    # Filings without a filing day have the day number 0. If the window only has an end, it begins at 1 to exclude
    # these.
    first_day_of_open_window = 1 if get("filed_to") else 0
    filters = TradeFilters(
        limit=get("limit", 0),
        offset=get("offset", 0),
        cursor=parse_cursor(call.params),
        type=get("standard_type"),
        **parse_sector(call.params),
        industry=parse_industry(call.params),
        since=max(
            get_first_filing_day(call.now, get("filed_at_days")),
            _get_day_number(get("filed_from"), first_day_of_open_window),
        ),
        until=_get_day_number(get("filed_to"), trades.LAST_DAY),
        date_from=traded.first,
        date_to=traded.last,
        codes=(get("transaction_code") or "").replace(",", "").upper() or None,
        acquired_disposed=get("acquired_disposed_code"),
        min_value=params.round_bound(get("min_value"), round_up=True),
        max_value=params.round_bound(get("max_value"), round_up=False),
        min_shares=_float_or_none(get("min_shares")),
        max_shares=_float_or_none(get("max_shares")),
        min_percent=_float_or_none(get("min_percent")),
        max_percent=_float_or_none(get("max_percent")),
        earnings_within=get("earnings_within"),
        with_roles=sum(role.bit for role in _ROLES if get(role.param) is True),
        without_roles=sum(role.bit for role in _ROLES if get(role.param) is False),
        no_plan=get("exclude_10b5_1", False),
        no_cashless=get("exclude_cashless", False),
        no_cover=get("exclude_sell_to_cover", False),
        dedup=get("dedup_owners", False),
    )
    if of_all_companies:
        _check_scanned_days(call, filters)
    return filters


def _float_or_none(number: Any) -> float | None:
    return None if number is None else float(number)


def _find_transaction_dates(call: Call) -> _DateRange:
    """Return the intersection of all windows of transaction dates in the call."""
    get = call.params.get
    first_days = [get("from_date"), get_date_days_ago(call.now, get("transaction_days"))]
    last_days = [get("to_date")]
    quarter = get("quarter")
    if quarter:
        quarter_start, quarter_end = quarters.get_first_and_last_day(quarter)
        first_days.append(quarter_start)
        last_days.append(quarter_end)
    return _DateRange(
        first=max((day for day in first_days if day), default=None),
        last=min((day for day in last_days if day), default=None),
    )


def _check_scanned_days(call: Call, filters: TradeFilters) -> None:
    """Raise INVALID_PARAM if a filter without an index is combined with a window that is too long."""
    name = next((name for name in _SCANNING_PARAMS if call.params[name] is not None), None)
    if name and count_days(call.now, filters) > MAX_SCANNED_DAYS:
        raise invalid_param(
            name,
            f"{name} of all companies requires a window of at most {MAX_SCANNED_DAYS} days: "
            "from_date, filed_from or quarter.",
            expected=f"a window of at most {MAX_SCANNED_DAYS} days",
        )


def count_days(now: datetime, filters: TradeFilters) -> int:
    """Return the days in the window of filing days or of transaction dates, whichever is shorter."""
    today = now.date().isoformat()
    filing_days = min(filters.until, days.number(today)) - filters.since
    first_date = filters.date_from or "1970-01-01"
    last_date = min(filters.date_to or today, today)
    return min(filing_days, days.number(last_date) - days.number(first_date))


def _get_day_number(day: str | None, default: int) -> int:
    """Return the day number of a date, at least 1, or ``default`` if there is no date."""
    return default if day is None else max(1, days.number(day))


def parse_cursor(call_params: Mapping[str, Any]) -> InsiderCursor:
    """Return the sort key after which the page begins. Raise INVALID_PARAM for a text that is not a cursor."""
    try:
        return trades.parse_cursor(call_params.get("cursor"))
    except ValueError:
        raise params.invalid_cursor() from None


def parse_sector(call_params: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the filters for the sector of a call, by name. Raise INVALID_PARAM for an unknown sector."""
    if call_params.get("sector") is None:
        return {"sector": None, "sic_ranges": None}
    sector_filter = sectors.parse_filter(call_params["sector"])
    return {"sector": sector_filter.division, "sic_ranges": sector_filter.render_ranges()}


def parse_industry(call_params: Mapping[str, Any]) -> int | None:
    """Return the number of the SIC major group in ``industry``. Raise INVALID_PARAM for an unknown one."""
    return sectors.parse_group(call_params["industry"]) if call_params.get("industry") is not None else None


def get_first_filing_day(now: datetime, window_days: int | None) -> int:
    """Return the first day number of a window of filing days, or 0 (no limit) if there is no window."""
    if window_days is None or window_days >= MAX_DAYS:
        return 0
    return max(1, days.number(now.date().isoformat()) - window_days)


def get_date_days_ago(now: datetime, window_days: int | None) -> str | None:
    """Return the first date of a window of the last N days, or None if there is no window."""
    if window_days is None or window_days >= MAX_DAYS:
        return None
    return (now.date() - timedelta(window_days)).isoformat()


# ---- Pages


def slice_page(call: Call, rows: Sequence[Row]) -> tuple[Sequence[Row], dict[str, Any]]:
    """Return the page of a complete list, and its paging fields: limit, offset, has_more and next_cursor.

    ``next_cursor`` is left out if the route takes no cursor.
    """
    limit = call.params["limit"]
    start = get_page_start(call)
    has_more = len(rows) > start + limit
    paging: dict[str, Any] = {"limit": limit, "offset": call.params["offset"], "has_more": has_more}
    if "cursor" in call.params:
        paging["next_cursor"] = build_next_cursor(call, has_more=has_more)
    return rows[start : start + limit], paging


def get_page_start(call: Call) -> int:
    """Return the number of rows before the page, for a list whose cursors are row numbers."""
    return int(call.params.get("cursor") or 0) + int(call.params["offset"])


def build_next_cursor(call: Call, *, has_more: bool) -> str | None:
    """Return the cursor of the next page of a list whose cursors are row numbers, or None on the last page."""
    return str(get_page_start(call) + call.params["limit"]) if has_more else None


def build_paging(call: Call, page: IdPage) -> InsiderPaging:
    """Return the paging fields for a page of ids."""
    return {
        "total": page.total,
        "limit": call.params["limit"],
        "offset": call.params.get("offset", 0),
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
    }


def build_company(company: Company) -> ListedCompany:
    """Return the company that a list is about."""
    return {"ticker": company.ticker, "name": company.name, "cik": company.padded_cik}
