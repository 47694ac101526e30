"""Handlers for forms, the companies that file them, and totals (DECISIONS 8)."""

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
    """The number of forms on the page, and whether there are more."""

    count: int
    limit: int
    has_more: bool


class EntitiesMeta(FormsMeta):
    """The number of companies and people on the page, with the cursor of the next page."""

    next_cursor: str | None


class FilingStatistics(TypedDict):
    """The number of filings in total and by form, for the most frequent forms."""

    total_entries: int
    top_form_types: list[FormCount]
    latest_filing_date: Date | None
    timestamp: Time


class Totals(TypedDict):
    """The total numbers of stored filings, insiders, 13F holdings and tickers, and the newest data."""

    total_filings: int
    total_insiders: int
    total_holdings_13f: int
    total_tickers: int
    total_endpoints_documented: int
    last_filing_at: Time | None
    last_13f_quarter: Date | None
    request_id: str
    timestamp: Time


FORMS_SHAPE = Envelope[list[Form], FormsMeta]
FORM_SHAPE = Envelope[Form, Object]
ENTITIES_SHAPE = Envelope[list[Entity], EntitiesMeta]
STATISTICS_SHAPE = Envelope[FilingStatistics, Object]

FORMS_PARAMS = (
    Param("q", help="Only forms with this text in their name or description.", example="annual"),
    limit_param(500, 1_000),
    OFFSET,
)
FORM_PARAMS = (path_param("form_type", help="The form; a slash in it is %2F.", example="10-K"),)
ENTITIES_PARAMS = (
    Param("form_type", help="Only companies and people that are part of a filing on this form.", example="10-K"),
    limit_param(500, 5_000),
    OFFSET,
    cursor_param("0000320193", "[0-9]{1,10}"),
)


def list_forms(call: Call) -> Response:
    """Return a page of the forms, those with most filings first."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        forms = filing_search.list_forms(tx, call.params["q"])
    page = forms[offset : offset + limit]
    meta: FormsMeta = {"count": len(page), "limit": limit, "has_more": len(forms) > offset + limit}
    return call.success_rows(page, meta)


def get_form(call: Call) -> Response:
    """Return one form. Raise ApiError NOT_FOUND if it is unknown."""
    form_name = call.params["form_type"].strip().upper()
    with call.app.db.read() as tx:
        form = filing_search.find_form(tx, form_name)
    if form is None:
        raise ApiError("NOT_FOUND", f"{form_name[:40]} is not a known form; use a name such as 10-K.")
    return call.success(form, {})


def list_entities(call: Call) -> Response:
    """Return a page of companies and people, ordered by CIK. Raise ApiError INVALID_PARAM for an unknown form."""
    limit = call.params["limit"]
    form = (call.params["form_type"] or "").strip().upper() or None
    with call.app.db.read() as tx:
        if form is not None and filing_search.find_form(tx, form) is None:
            raise invalid_param(
                "form_type", f"{form[:40]} is not a known form; use a name such as 10-K.", expected="10-K"
            )
        # Read one row more than the page has, to know if there is a next page.
        entities = filing_search.list_entities(
            tx, form, limit=limit + 1, offset=call.params["offset"], after=int(call.params["cursor"] or 0)
        )
    page = entities[:limit]
    has_more = len(entities) > limit
    meta: EntitiesMeta = {
        "count": len(page),
        "limit": limit,
        "has_more": has_more,
        "next_cursor": page[-1]["cik"] if has_more else None,
    }
    return call.success_rows(page, meta)


def get_statistics(call: Call) -> Response:
    """Return the number of filings in total and by form, for the most frequent forms."""
    with call.app.db.read() as tx:
        statistics = filing_search.compute_statistics(tx)
    return call.success({**statistics, "timestamp": iso(call.request_time)}, {})


def get_totals(call: Call) -> Response:
    """Return the total numbers of stored data, without an envelope."""
    with call.app.db.read() as tx:
        row_counts = heartbeats.get_stored_counts(tx)
        counts = filing_search.get_total_counts(tx)
        totals = {
            "total_filings": filing_search.count_all_filings(tx),
            "total_insiders": counts["insiders"],
            "total_holdings_13f": row_counts["holdings"],
            "total_tickers": counts["tickers"],
            "total_endpoints_documented": sum(not route.page for route in call.routes),
            "last_filing_at": counts["last_filing_at"],
            "last_13f_quarter": counts["last_13f_quarter"],
        }
    # The closing brace is cut off, because the suffix ends the object: it adds request_id and timestamp, which are not
    # part of the cached body.
    return Response(200, dumps(totals)[:-1], suffix=call.envelope_suffix)
