"""Lists over all funds, over HTTP: search, newest filings, filers, and how a quarter's reports come in."""

from __future__ import annotations

from datetime import date

from finapi.errors import invalid_param
from finapi.market import fund_lists, funds, quarters
from finapi.web import holdings_shapes as shapes
from finapi.web.call import Call
from finapi.web.form13f import paging
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, beside, enum, nullable, obj

MAX_FUNDS = 5_000

_Q = Param("q", help="Words that the manager's name holds, or a CIK.", example="berkshire")
FUNDS_PARAMS = (
    shapes.limit(MAX_FUNDS, MAX_FUNDS),
    Param("cursor", help="next_cursor of the page before.", example="0001067983"),
)
SEARCH_PARAMS = (_Q, shapes.limit(10, 100))
FILERS_PARAMS = (_Q, shapes.limit(20, 100))
LATEST_PARAMS = (
    shapes.limit(20, 1_000),
    shapes.OFFSET,
    Param("cik", empty=True, help="Only this manager's.", example="1067983"),
    Param(
        "since", "date", empty=True, help="Only what was filed on this day or later.", example="2025-11-01"
    ),
)
STATS_PARAMS = (
    Param("period", "date", help="End of a quarter; by default the last that is over.", example="2026-03-31"),
)
PROGRESS_PARAMS = (
    Param(
        "quarter", "date", help="End of a quarter; by default the last that is over.", example="2026-03-31"
    ),
)

_MAYBE_PART = shapes.MAYBE_NUMBER
_DEADLINE = enum("open", "passed")
STATS = beside(
    data=obj(
        period=DATE,
        deadline=DATE,
        deadlineStatus=_DEADLINE,
        totalFundsFiled=INTEGER,
        percentOfFundsReported=_MAYBE_PART,
        previousQuarterFilers=INTEGER,
        totalFilings=INTEGER,
        totalAUM=nullable(INTEGER),
        lateNoticeFilers=INTEGER,
        previousPeriod=DATE,
        previousDeadline=DATE,
        lastCompleteQuarterEnd=DATE,
        beforeLastCompleteQuarterEnd=DATE,
        nextReportingPeriodStart=DATE,
        nextDeadline=DATE,
        daysUntilNextDeadline=INTEGER,
    )
)
PROGRESS = beside(
    data=obj(
        period=DATE,
        filers=INTEGER,
        pct_reported=_MAYBE_PART,
        baseline_filers=INTEGER,
        baseline_period=DATE,
        total_filings=INTEGER,
        total_aum=nullable(INTEGER),
        late_notice_filers=INTEGER,
        deadline=DATE,
        deadline_status=_DEADLINE,
        is_complete=BOOLEAN,
        days_until_deadline=INTEGER,
        previous_deadline=DATE,
        next_deadline=DATE,
        days_until_next_deadline=INTEGER,
        next_reporting_period_start=DATE,
        quarter_metadata=shapes.QUARTER_METADATA,
    )
)


def all_funds(call: Call) -> Response:
    """Every manager that filed, in the order of CIKs, so that a cursor never skips or repeats one."""
    limit, cursor = call.params["limit"], call.params["cursor"]
    with call.app.db.read() as tx:
        rows = fund_lists.all_funds(tx, limit + 1, funds.cik_of(cursor, "cursor") if cursor else 0)
    page = rows[:limit]
    more = len(rows) > limit
    meta = {"has_more": more, "next_cursor": page[-1]["cik"] if more else None, "limit": limit}
    return call.listed({"funds": page, "count": len(page), "meta": meta}, meta)


def search(call: Call) -> Response:
    """Managers by name."""
    with call.app.db.read() as tx:
        rows, total = fund_lists.found(tx, call.params["q"], call.params["limit"])
    return call.listed({"results": rows, "count": len(rows)}, {"total": total})


def filers(call: Call) -> Response:
    """Managers by name, with what they hold."""
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        rows, total = fund_lists.found(tx, call.params["q"], limit)
    meta = {"total": total, "limit": limit, "has_more": len(rows) < total}
    return call.listed({"filers": rows, "meta": meta}, meta)


def latest(call: Call) -> Response:
    """The newest 13F filings and what they changed."""
    params = call.params
    cik = funds.cik_of(params["cik"]) if params["cik"] else None
    with call.app.db.read() as tx:
        rows, total = fund_lists.latest(tx, cik, params["since"], params["limit"], params["offset"])
    meta = paging(total, params["limit"], params["offset"])
    return call.listed({"data": rows, "meta": meta}, meta)


def stats(call: Call) -> Response:
    """How many funds filed for a quarter, and the days that matter."""
    today = call.now.date()
    period = period_of(call.params["period"], "period", today)
    with call.app.db.read() as tx:
        said = fund_lists.progress(tx, period, today)
    whole = quarters.last_ended(today).isoformat()
    if today <= quarters.deadline(whole):
        whole = quarters.before(whole)
    data = {
        "period": period,
        "deadline": said["deadline"],
        "deadlineStatus": said["deadline_status"],
        "totalFundsFiled": said["filers"],
        "percentOfFundsReported": said["pct_reported"],
        "previousQuarterFilers": said["baseline_filers"],
        "totalFilings": said["total_filings"],
        "totalAUM": said["total_aum"],
        "lateNoticeFilers": said["late_notice_filers"],
        "previousPeriod": said["baseline_period"],
        "previousDeadline": said["previous_deadline"],
        "lastCompleteQuarterEnd": whole,
        "beforeLastCompleteQuarterEnd": quarters.before(whole),
        "nextReportingPeriodStart": said["next_reporting_period_start"],
        "nextDeadline": said["next_deadline"],
        "daysUntilNextDeadline": said["days_until_next_deadline"],
    }
    return call.listed({"data": data}, {})


def progress(call: Call) -> Response:
    """How far the reports of a quarter have come in."""
    today = call.now.date()
    period = period_of(call.params["quarter"], "quarter", today)
    with call.app.db.read() as tx:
        said = fund_lists.progress(tx, period, today)
        metadata = fund_lists.quarter_metadata(tx, period, today)
    return call.listed({"data": {**said, "quarter_metadata": metadata}}, {})


def period_of(text: str | None, param: str, today: date) -> str:
    """A quarter's end as given, by default the last that is over; INVALID_PARAM for another day."""
    if text is None:
        return quarters.last_ended(today).isoformat()
    return quarter_end(text, param)


def quarter_end(text: str, param: str) -> str:
    """A day on which a quarter ends; INVALID_PARAM for another."""
    day = _day(text)
    # Beyond these years a neighbouring quarter could not be written.
    if day is None or not quarters.is_end(day) or not 1900 <= day.year <= 2200:
        raise invalid_param(param, f"{param} must be the end of a quarter.", expected="2025-09-30")
    return text


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
