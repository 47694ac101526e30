"""What the Schedules 13D and 13G of a window tell together, over HTTP."""

from __future__ import annotations

import json

from finapi.core import days
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.ownership import schedule_flows
from finapi.market.ownership.schedule_filings import FORM_TYPES
from finapi.market.ownership.schedule_flows import DEFAULT_DAYS, MAX_DAYS, FlowFilters, ScheduleCoverage, ScheduleGroup
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import answer, with_windows

PARAMS = (
    Param(
        "dateFrom",
        "date",
        is_window=True,
        help="First filing day, by default as many days before the last as days.",
        example="2025-01-01",
    ),
    Param(
        "dateTo",
        "date",
        is_window=True,
        help=f"Last filing day, by default today; {MAX_DAYS} days at most.",
        example="2025-12-31",
    ),
    Param(
        "days",
        "integer",
        default=DEFAULT_DAYS,
        minimum=1,
        maximum=MAX_DAYS,
        is_window=True,
        help="Days before dateTo, where dateFrom is not given.",
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
        allowed=schedule_flows.DIRECTIONS,
        aliases=(("up", "increase"), ("down", "decrease")),
        help="Only filings whose percentage rose, fell or stayed since the previous filing.",
        example="increase",
    ),
    Param(
        "minPercentChange", "number", minimum=0, help="Minimum change in percentage points, up or down.", example="1"
    ),
    limit_param(50, 500, "Groups"),
    OFFSET,
)
SHAPE = answer(
    data=list[ScheduleGroup],
    meta=with_windows(
        groupBy=str,
        dateFrom=Date,
        dateTo=Date,
        days=int | None,
        returned=int,
        totalGroups=int,
        total=int,
        limit=int,
        offset=int,
        has_more=bool,
        coverage=ScheduleCoverage,
    ),
)


def list_by_ticker(call: Call) -> Response:
    """Schedules of a window by the company that they are about."""
    return _grouped(call, "ticker")


def list_by_sector(call: Call) -> Response:
    """Schedules of a window by the sector of the company that they are about."""
    return _grouped(call, "sector")


def list_by_industry(call: Call) -> Response:
    """Schedules of a window by the industry of the company that they are about."""
    return _grouped(call, "industry")


def _grouped(call: Call, grouped_by: str) -> Response:
    params = call.params
    size, skipped = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        first, last, span = _window(call)
        rows, total, coverage = schedule_flows.grouped(tx, _filters(call, first, last), grouped_by, size, skipped)
        undated = schedule_flows.count(tx, _filters(call, None, None))
    paging = {"total": total, "limit": size, "offset": skipped, "has_more": skipped + size < total}
    meta = {
        "groupBy": grouped_by,
        **call.build_window_meta(undated),
        "dateFrom": first,
        "dateTo": last,
        "days": span,
        "returned": len(rows),
        "totalGroups": total,
        **paging,
        "coverage": coverage,
    }
    return call.success_members({"data": rows, "meta": meta}, meta)


def _window(call: Call) -> tuple[str, str, int | None]:
    """First and last day, and the days between them where it is these that choose the first."""
    first, last, span = (call.params[name] for name in ("dateFrom", "dateTo", "days"))
    if first is None and last is None and span is None:
        return days.iso(1), call.now.date().isoformat(), None  # every dated filing of the few that such a host has
    if last is None:
        last = max(call.now.date().isoformat(), first or "")
    until = days.number(last)
    if first is None:
        # No filing is older than EDGAR; what is before the day of number 1 is its own window.
        span = span or DEFAULT_DAYS
        return days.iso(max(until - span, min(until, 1))), last, span
    if until - days.number(first) > MAX_DAYS:
        raise invalid_param(
            "dateFrom",
            f"dateFrom must be at most {MAX_DAYS} days before dateTo.",
            expected=f"a day from {days.iso(until - MAX_DAYS)} on",
        )
    return first, last, None


def _filters(call: Call, first: str | None, last: str | None) -> FlowFilters:
    """What a call counts in a window; without one the filings whose day is not known, which are of day 0."""
    given = call.params
    forms = json.dumps(FORM_TYPES[given["formType"]]) if given["formType"] else None
    names = ("minOwnership", "maxOwnership", "minPercentChange")
    least, most, change = (None if given[name] is None else float(given[name]) for name in names)
    since, until = (max(1, days.number(day)) if day else 0 for day in (first, last))
    return FlowFilters(since, until, forms, least, most, given["direction"], change)
