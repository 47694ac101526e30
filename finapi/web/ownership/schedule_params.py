"""Parameters, filters and paging that the endpoints for Schedules 13D and 13G have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from finapi.core.records import Date
from finapi.market.ownership import schedule_filings
from finapi.market.ownership.filing_windows import build_window
from finapi.market.ownership.schedule_filings import FORM_TYPES, ScheduleFilters
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.params import Param
from finapi.web.http.schema import WindowMeta

# Sort directions.
ORDERS = ("asc", "desc")

# The page number is bounded, because all rows before a page are read.
_MAX_PAGE = 10_000

PAGE = Param("page", "integer", default=1, minimum=1, maximum=_MAX_PAGE, help="Page, from 1.", example="1")
SIZE = Param(
    "size", "integer", default=50, minimum=1, maximum=500, clamp=True, help="Rows of a page, at most 500.", example="50"
)
ISSUER_CIK = Param("issuerCik", "cik", help="Only filings about this company.", example="0000320193")
ISSUER_TICKER = Param(
    "issuerTicker", "ticker", help="Only about this company: ticker (any spelling) or CIK.", example="AAPL"
)
FILER_NAME = Param(
    "filerName", help="Only persons whose names contain words that start with these.", example="berkshire"
)
MIN_OWNERSHIP = Param("minOwnership", "number", help="Minimum percentage of the class.", example="10")
DATE_FROM = Param("dateFrom", "date", is_window=True, help="First filing day.", example="2025-01-01")
DATE_TO = Param("dateTo", "date", is_window=True, help="Last filing day.", example="2025-12-31")

# A CIK that no company has: a list limited to it is empty.
_NO_COMPANY = 0


class SizedPage(TypedDict):
    """The position of a page in its list."""

    total: int
    limit: int
    page: int
    size: int
    totalPages: int
    has_more: bool


class ScheduleDays(TypedDict):
    """The filing days that a list is limited to."""

    dateFrom: Date | None
    dateTo: Date | None


class ScheduleListMeta(SizedPage, ScheduleDays, WindowMeta):
    """The page and the window of a list."""


def get_offset(call: Call) -> int:
    """Return the number of rows before the requested page."""
    offset: int = (call.params["page"] - 1) * call.params["size"]
    return offset


def build_page(call: Call, total: int) -> SizedPage:
    """Return the position of the requested page in a list of ``total`` rows."""
    size = call.params["size"]
    page = call.params["page"]
    page_count = -(-total // size)
    return {
        "total": total,
        "limit": size,
        "page": page,
        "size": size,
        "totalPages": page_count,
        "has_more": page < page_count,
    }


def build_list_meta(call: Call, total: int, undated: int) -> ScheduleListMeta:
    """Return the meta of a list with ``total`` rows; its window leaves out ``undated`` rows."""
    windows = call.build_window_meta(undated)
    return {
        **build_page(call, total),
        "dateFrom": windows["dateFrom"],
        "dateTo": windows["dateTo"],
        "undated_left_out": windows["undated_left_out"],
        "clamped": windows["clamped"],
    }


def find_issuer(call: Call, tx: Transaction) -> int | None:
    """Return the CIK of the company of ``issuerTicker``, or None. Raise ApiError (404) if no company has it."""
    ticker = call.params.get("issuerTicker")
    return companies.resolve(tx, ticker, "issuerTicker").cik if ticker else None


def build_filters(call: Call, tx: Transaction) -> ScheduleFilters:
    """Return the filters of a request. Parameters that the endpoint lacks are ignored."""
    params = call.params
    filters = build_query_filters(tx, params, find_issuer(call, tx))
    sort = params.get("sort") or "filedAt"
    order = params.get("order")
    if sort in ORDERS:
        sort, order = "filedAt", sort
    return filters._replace(
        amendment=params.get("isAmendment"),
        conversion=params.get("isConversion"),
        sort=sort,
        descending=order != "asc",
    )


def build_query_filters(tx: Transaction, params: Mapping[str, Any], issuer: int | None) -> ScheduleFilters:
    """Return the filters in parameters or a query's body. ``issuer`` is the CIK for the ticker, if one is given."""
    form_type = params.get("formType")
    min_ownership = params.get("minOwnership")
    return ScheduleFilters(
        issuer=_find_common_issuer(params.get("issuerCik"), issuer),
        holders=schedule_filings.find_holders(tx, params.get("filerCik"), params.get("filerName")),
        forms=FORM_TYPES[form_type] if form_type else None,
        min_percent=None if min_ownership is None else float(min_ownership),
        window=build_window(params.get("dateFrom"), params.get("dateTo")),
    )


def _find_common_issuer(issuer_cik: int | None, ticker_cik: int | None) -> int | None:
    """Return the CIK on which ``issuerCik`` and ``issuerTicker`` agree, or None if neither is given."""
    if issuer_cik is not None and ticker_cik is not None and issuer_cik != ticker_cik:
        return _NO_COMPANY
    return ticker_cik if issuer_cik is None else issuer_cik
