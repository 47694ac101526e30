"""What the Schedules 13D and 13G of a window tell together, over HTTP."""

from __future__ import annotations

import json

from finapi.core import days
from finapi.core.errors import invalid_param
from finapi.core.records import Date
from finapi.market.ownership import flows
from finapi.market.ownership.filings import FORM_TYPES
from finapi.market.ownership.flows import DEFAULT_DAYS, MOST_DAYS, FlowFilters, ScheduleCoverage, ScheduleGroup
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit
from finapi.web.http.schema import answer, windowed

PARAMS = (
    Param("dateFrom", "date", window=True, help=f"First filing day, by default {DEFAULT_DAYS} days before the last.",
          example="2025-01-01"),
    Param("dateTo", "date", window=True, help=f"Last filing day, by default today; {MOST_DAYS} days at most.",
          example="2025-12-31"),
    Param("formType", allowed=tuple(FORM_TYPES), help="Only this schedule (13D, 13G, 13D/A, 13G/A) or form.",
          example="13D"),
    Param("minOwnership", "number", help="Minimum percentage of the class.", example="5"),
    Param("maxOwnership", "number", help="Maximum percentage of the class.", example="20"),
    Param("direction", allowed=flows.DIRECTIONS, also=(("up", "increase"), ("down", "decrease")),
          help="Only filings whose percentage rose, fell or stayed since the previous filing.", example="increase"),
    Param("minPercentChange", "number", least=0, help="Minimum change in percentage points, up or down.",
          example="1"),
    limit(50, 500, "Groups"),
    OFFSET,
)  # fmt: skip
LIST = answer(
    data=list[ScheduleGroup],
    meta=windowed(
        groupBy=str, dateFrom=Date, dateTo=Date, returned=int, totalGroups=int, total=int, limit=int, offset=int,
        has_more=bool, coverage=ScheduleCoverage,
    ),
)  # fmt: skip


def by_ticker(call: Call) -> Response:
    """Schedules of a window by the company that they are about."""
    return _grouped(call, "ticker")


def by_sector(call: Call) -> Response:
    """Schedules of a window by the sector of the company that they are about."""
    return _grouped(call, "sector")


def by_industry(call: Call) -> Response:
    """Schedules of a window by the industry of the company that they are about."""
    return _grouped(call, "industry")


def _grouped(call: Call, grouped_by: str) -> Response:
    params = call.params
    size, skipped = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        first, last = _window(call)
        rows, total, coverage = flows.grouped(tx, _filters(call, first, last), grouped_by, size, skipped)
        undated = flows.grouped(tx, _filters(call, None, None), grouped_by, 0, 0)[2]["filings_in_window"]
    paging = {"total": total, "limit": size, "offset": skipped, "has_more": skipped + size < total}
    meta = {"groupBy": grouped_by, **call.windows(undated), "dateFrom": first, "dateTo": last, "returned": len(rows),
            "totalGroups": total, **paging, "coverage": coverage}  # fmt: skip
    return call.listed({"data": rows, "meta": meta}, meta)


def _window(call: Call) -> tuple[str, str]:
    first, last = call.params["dateFrom"], call.params["dateTo"]
    if first is None and last is None and call.app.config.default_windows == "all":
        return days.iso(1), call.now.date().isoformat()  # every dated filing of the few that such a host has
    if last is None:
        last = max(call.now.date().isoformat(), first or "")
    # No filing is older than EDGAR; what is before the day of number 1 is its own window.
    until = days.number(last)
    first = first or days.iso(max(until - DEFAULT_DAYS, min(until, 1)))
    if until - days.number(first) > MOST_DAYS:
        raise invalid_param("dateFrom", f"dateFrom must be at most {MOST_DAYS} days before dateTo.",
                            expected=f"a day from {days.iso(until - MOST_DAYS)} on")  # fmt: skip
    return first, last


def _filters(call: Call, first: str | None, last: str | None) -> FlowFilters:
    """What a call counts in a window; without one the filings whose day is not known, which are of day 0."""
    given = call.params
    forms = json.dumps(FORM_TYPES[given["formType"]]) if given["formType"] else None
    names = ("minOwnership", "maxOwnership", "minPercentChange")
    least, most, change = (None if given[name] is None else float(given[name]) for name in names)
    since, until = (max(1, days.number(day)) if day else 0 for day in (first, last))
    return FlowFilters(since, until, forms, least, most, given["direction"], change)
