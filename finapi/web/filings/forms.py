"""Forms, the companies that file them, and how much is held, over HTTP (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.json import dumps
from finapi.core.records import Date, Object, Time
from finapi.market.filings import filing_search
from finapi.market.filings.filing_search import Entity, Form, FormCount
from finapi.store import heartbeats
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, cursor_param, limit_param, path_param
from finapi.web.http.schema import Envelope


class FormsMeta(TypedDict):
    """How many forms an answer lists, and whether there are more."""

    count: int
    limit: int
    has_more: bool


class EntitiesMeta(FormsMeta):
    """The same of companies and people, page by page."""

    next_cursor: str | None


class FilingStatistics(TypedDict):
    """How many filings there are, of which forms."""

    total_entries: int
    top_form_types: list[FormCount]
    latest_filing_date: Date | None
    timestamp: Time


class Totals(TypedDict):
    """How much is held of everything."""

    total_filings: int
    total_insiders: int
    total_holdings_13f: int
    total_tickers: int
    total_endpoints_documented: int
    last_filing_at: Time | None
    last_13f_quarter: Date | None
    request_id: str
    timestamp: Time


FORMS = Envelope[list[Form], FormsMeta]
FORM = Envelope[Form, Object]
ENTITIES = Envelope[list[Entity], EntitiesMeta]
STATISTICS = Envelope[FilingStatistics, Object]

FORMS_PARAMS = (
    Param("q", help="Must occur in the form's name or description.", example="annual"),
    limit_param(500, 1_000),
    OFFSET,
)
FORM_PARAMS = (path_param("form_type", help="The form; a slash in it is %2F.", example="10-K"),)
ENTITIES_PARAMS = (
    Param("form_type", help="Only who is part of a filing on this form.", example="10-K"),
    limit_param(500, 5_000),
    OFFSET,
    cursor_param("0000320193", "[0-9]{1,10}"),
)


def list_forms(call: Call) -> Response:
    """The forms, those with most filings first."""
    limit, offset = call.params["limit"], call.params["offset"]
    with call.app.db.read() as tx:
        found = filing_search.list_forms(tx, call.params["q"])[offset:]
    shown = found[:limit]
    return call.success_rows(shown, {"count": len(shown), "limit": limit, "has_more": len(found) > limit})


def get_form(call: Call) -> Response:
    """One form."""
    with call.app.db.read() as tx:
        found = filing_search.find_form(tx, call.params["form_type"].strip().upper())
    if found is None:
        raise ApiError("NOT_FOUND", "finapi knows no form with this name.")
    return call.success(found, {})


def list_entities(call: Call) -> Response:
    """Companies and people, by CIK."""
    wanted, limit = (call.params["form_type"] or "").strip().upper() or None, call.params["limit"]
    place = {"limit": limit + 1, "offset": call.params["offset"], "after": int(call.params["cursor"] or 0)}
    with call.app.db.read() as tx:
        if wanted is not None and filing_search.find_form(tx, wanted) is None:
            raise invalid_param("form_type", "finapi knows no form with this name.", expected="10-K")
        found = filing_search.list_entities(tx, wanted, **place)
    shown, more = found[:limit], len(found) > limit
    meta = {"count": len(shown), "limit": limit, "has_more": more, "next_cursor": shown[-1]["cik"] if more else None}
    return call.success_rows(shown, meta)


def get_statistics(call: Call) -> Response:
    """How many filings there are, of which forms."""
    with call.app.db.read() as tx:
        found = filing_search.compute_statistics(tx)
    return call.success({**found, "timestamp": iso(call.now)}, {})


def get_totals(call: Call) -> Response:
    """How much is held of everything."""
    with call.app.db.read() as tx:
        held = heartbeats.get_stored_counts(tx)
        counts = filing_search.get_total_counts(tx)
        found = {
            "total_filings": filing_search.count_all_filings(tx),
            "total_insiders": counts["insiders"],
            "total_holdings_13f": held["holdings"],
            "total_tickers": counts["tickers"],
            "total_endpoints_documented": sum(not route.page for route in call.routes),
            "last_filing_at": counts["last_filing_at"],
            "last_13f_quarter": counts["last_13f_quarter"],
        }
    return Response(200, dumps(found)[:-1], suffix=call.envelope_suffix)
