"""Endpoints for totals over Schedules 13D and 13G: by company, by sector and by industry."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.ownership import schedule_flows
from finapi.market.ownership.filing_windows import build_window
from finapi.market.ownership.schedule_filings import FORM_TYPES
from finapi.market.ownership.schedule_flows import (
    DEFAULT_DAYS,
    DIRECTIONS,
    MAX_DAYS,
    FlowFilters,
    ScheduleCoverage,
    ScheduleGroup,
)
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import Answer, WindowMeta

PARAMS = (
    Param(
        "dateFrom",
        "date",
        is_window=True,
        help="First filing day; by default dateTo minus days.",
        example="2025-01-01",
    ),
    Param(
        "dateTo",
        "date",
        is_window=True,
        help=f"Last filing day, by default today. The window has at most {MAX_DAYS} days.",
        example="2025-12-31",
    ),
    Param(
        "days",
        "integer",
        default=DEFAULT_DAYS,
        minimum=1,
        maximum=MAX_DAYS,
        is_window=True,
        help="Length of the window in days, if dateFrom is not given.",
        example="90",
    ),
    Param(
        "formType",
        allowed=tuple(FORM_TYPES),
        help="Only this schedule (13D, 13G, 13D/A, 13G/A) or form.",
        example="13D",
    ),
    Param("minOwnership", "number", help="Minimum percentage of the class.", example="5"),
    Param("maxOwnership", "number", help="Maximum percentage of the class.", example="20"),
    Param(
        "direction",
        allowed=DIRECTIONS,
        aliases=(("up", "increase"), ("buy", "increase"), ("down", "decrease"), ("sell", "decrease")),
        help="Only filings whose percentage rose, fell or stayed since the previous filing.",
        example="increase",
    ),
    Param(
        "minPercentChange", "number", minimum=0, help="Minimum change in percentage points, up or down.", example="1"
    ),
    limit_param(50, 500, "Groups"),
    OFFSET,
)


class GroupPage(TypedDict):
    """The window and the page of a list of groups."""

    groupBy: str
    dateFrom: Date
    dateTo: Date
    days: int | None
    returned: int
    totalGroups: int
    total: int
    limit: int
    offset: int
    has_more: bool
    coverage: ScheduleCoverage


class GroupMeta(GroupPage, WindowMeta):
    """The window, the page and the coverage of a list of groups."""


class FlowGroups(TypedDict):
    """A page of groups."""

    data: list[ScheduleGroup]
    meta: GroupMeta


SHAPE = Answer[FlowGroups]


def list_by_ticker(call: Call) -> Response:
    """Return the totals over the schedules of a window by the company that they are about."""
    return _list_groups(call, "ticker")


def list_by_sector(call: Call) -> Response:
    """Return the totals over the schedules of a window by the sector of the company."""
    return _list_groups(call, "sector")


def list_by_industry(call: Call) -> Response:
    """Return the totals over the schedules of a window by the industry of the company."""
    return _list_groups(call, "industry")


def _list_groups(call: Call, grouped_by: str) -> Response:
    limit = call.params["limit"]
    offset = call.params["offset"]
    window = _find_window(call)
    filters = _build_filters(call, window)
    with call.app.db.read() as tx:
        groups, total, coverage = schedule_flows.list_groups(tx, filters, grouped_by, limit, offset)
        undated = schedule_flows.count_undated(tx, filters)
    windows = call.build_window_meta(undated)
    meta: GroupMeta = {
        "groupBy": grouped_by,
        "dateFrom": window.first,
        "dateTo": window.last,
        "days": window.days,
        "undated_left_out": windows["undated_left_out"],
        "clamped": windows["clamped"],
        "returned": len(groups),
        "totalGroups": total,
        "total": total,
        "limit": limit,
        "offset": offset,
        "has_more": offset + limit < total,
        "coverage": coverage,
    }
    members: FlowGroups = {"data": groups, "meta": meta}
    return call.success_members(members, meta)


class _DateWindow(NamedTuple):
    """The first and the last filing day."""

    first: str
    last: str
    days: int | None  # The parameter ``days``, if it determines the first day.


def _find_window(call: Call) -> _DateWindow:
    """Return the window of a request. Raise ApiError (400) if it is longer than MAX_DAYS."""
    first = call.params["dateFrom"]
    last = call.params["dateTo"]
    day_count = call.params["days"]
    today = call.now.date().isoformat()
    if first is None and last is None and day_count is None:
        # Without default windows (``Route.without_default_windows``), all filings with a filing day are included.
        return _DateWindow(days.iso(1), today, None)
    if last is None:
        last = max(today, first or "")
    last_number = days.number(last)
    if first is None:
        day_count = day_count or DEFAULT_DAYS
        # No filing is older than day 1. A window that ends before that consists of its last day only.
        first_number = max(last_number - day_count, min(last_number, 1))
        return _DateWindow(days.iso(first_number), last, day_count)
    if last_number - days.number(first) > MAX_DAYS:
        raise invalid_param(
            "dateFrom",
            f"dateFrom must be at most {MAX_DAYS} days before dateTo.",
            expected=f"a day from {days.iso(last_number - MAX_DAYS)} on",
        )
    return _DateWindow(first, last, None)


def _build_filters(call: Call, window: _DateWindow) -> FlowFilters:
    params = call.params
    form_type = params["formType"]
    return FlowFilters(
        window=build_window(window.first, window.last),
        forms=FORM_TYPES[form_type] if form_type else None,
        min_percent=_convert_to_float(params["minOwnership"]),
        max_percent=_convert_to_float(params["maxOwnership"]),
        direction=params["direction"],
        min_change=_convert_to_float(params["minPercentChange"]),
    )


def _convert_to_float(number: Decimal | None) -> float | None:
    return None if number is None else float(number)
