"""Forms, the companies that file them, and how much is held, over HTTP (CONTRACT 8)."""

from __future__ import annotations

import re
from typing import Any

from finapi.clock import iso
from finapi.errors import ApiError, invalid_param
from finapi.market import catalogue, lookups
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, TEXT, TIME, array, envelope, nullable, obj

_FORM = obj(
    form_type=TEXT,
    root_form_type=TEXT,
    description=nullable(TEXT),
    filing_count=INTEGER,
    first_filed=nullable(DATE),
    last_filed=nullable(DATE),
)
FORMS_SHAPE = envelope(array(_FORM), obj(count=INTEGER, limit=INTEGER, has_more=BOOLEAN))
FORM_SHAPE = envelope(_FORM)
ENTITIES_SHAPE = envelope(
    array(obj(entity_name=TEXT, cik=TEXT)),
    obj(count=INTEGER, limit=INTEGER, has_more=BOOLEAN, next_cursor=nullable(TEXT)),
)
STATISTICS_SHAPE = envelope(
    obj(
        total_entries=INTEGER,
        top_form_types=array(obj(form_type=TEXT, count=INTEGER)),
        latest_filing_date=nullable(DATE),
        timestamp=TIME,
    )
)
TOTALS_SHAPE = obj(
    total_filings=INTEGER,
    total_insiders=INTEGER,
    total_holdings_13f=INTEGER,
    total_tickers=INTEGER,
    total_endpoints_documented=INTEGER,
    last_filing_at=nullable(TIME),
    last_13f_quarter=nullable(DATE),
    request_id=TEXT,
    timestamp=TIME,
)

FORMS_PARAMS = (
    Param("q", help="Must occur in the form's name or description.", example="annual"),
    Param("limit", "integer", default=500, least=1, most=1_000, clamp=True, help="Rows.", example="500"),
)
FORM_PARAMS = (
    Param("form_type", place="path", required=True, help="The form; a slash in it is %2F.", example="10-K"),
)
ENTITIES_PARAMS = (
    Param("form_type", help="Only who is part of a filing on this form.", example="10-K"),
    Param(
        "limit", "integer", default=500, least=1, most=5_000, clamp=True, help="Rows, by CIK.", example="500"
    ),
    Param("cursor", help="The next_cursor of the page before.", example="0000320193"),
)


def forms(call: Call) -> Response:
    """The forms, those with most filings first."""
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        found = catalogue.forms(tx, call.params["q"], limit + 1)
    shown = found[:limit]
    return call.rows(shown, {"count": len(shown), "limit": limit, "has_more": len(found) > limit})


def form(call: Call) -> Response:
    """One form."""
    with call.app.db.read() as tx:
        found = catalogue.form(tx, call.params["form_type"].strip().upper())
    if found is None:
        raise ApiError("NOT_FOUND", "No form of this name is known.")
    return call.success(found, {})


def entities(call: Call) -> Response:
    """Companies and people, by CIK."""
    wanted, limit, cursor = call.params["form_type"], call.params["limit"], call.params["cursor"] or "0"
    if not re.fullmatch("[0-9]{1,10}", cursor):
        raise invalid_param("cursor", "That is no cursor.", expected="next_cursor of a page")
    with call.app.db.read() as tx:
        found = catalogue.entities(
            tx, wanted.strip().upper() if wanted else None, limit=limit + 1, after=int(cursor)
        )
    shown, more = found[:limit], len(found) > limit
    meta = {
        "count": len(shown),
        "limit": limit,
        "has_more": more,
        "next_cursor": shown[-1]["cik"] if more else None,
    }
    return call.rows(shown, meta)


def statistics(call: Call) -> Response:
    """How many filings there are, of which forms."""
    with call.app.db.read() as tx:
        found = catalogue.statistics(tx)
    return call.success({**found, "timestamp": iso(call.now)}, {})


def totals(call: Call) -> Response:
    """How much is held of everything."""
    from finapi.web.routes import ROUTES  # late: the table names this handler

    with call.app.db.read() as tx:
        filings: Any = catalogue.statistics(tx)["total_entries"]
        newest = catalogue.newest(tx)
        tickers, insiders = catalogue.ticker_count(tx), catalogue.insider_count(tx)
        quarter = catalogue.last_13f_quarter(tx)
        held = call.app.held.get(tx.value("data_version"), lambda: lookups.held(tx))
    return call.plain(
        {
            "total_filings": filings,
            "total_insiders": insiders,
            "total_holdings_13f": held["holdings"],
            "total_tickers": tickers,
            "total_endpoints_documented": sum(not route.page for route in ROUTES),
            "last_filing_at": newest,
            "last_13f_quarter": quarter,
            "request_id": call.request_id,
            "timestamp": iso(call.now),
        }
    )
