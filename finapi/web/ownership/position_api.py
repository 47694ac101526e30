"""Endpoints for positions in an issuer, from all forms: of a holder, of all holders, events and concentration."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.records import Date, Time
from finapi.market.holdings import funds
from finapi.market.ownership import concentration, holder_profiles, issuer_holders, position_events, reported_figures
from finapi.market.ownership.concentration import OwnershipConcentration
from finapi.market.ownership.filing_actions import split_source
from finapi.market.ownership.issuer_holders import HolderPosition, IssuerHolder
from finapi.market.ownership.position_events import (
    FIRST_DATE,
    UNKNOWN_DATE,
    EventFilters,
    IssuerEvent,
    PositionEvent,
)
from finapi.market.ownership.reported_figures import LAST_DATE, PercentCalculator, SharesOutstanding
from finapi.market.reference import companies
from finapi.store.db import Row, Transaction
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, offset_param, path_param
from finapi.web.http.schema import Answer
from finapi.web.ownership.holder_api import holder_param, source_param

_ISSUER = path_param("issuer_cik", "cik", help="CIK of the company.", example="0000320193")
_EVENT_DAYS = (
    Param("startDate", "date", help="First day to which a form's report refers.", example="2025-01-01"),
    Param("endDate", "date", help="Last day to which a form's report refers.", example="2025-12-31"),
)
# The offset is bounded, because all events before a page are read.
_EVENT_OFFSET = offset_param(20_000)
POSITION_PARAMS = (
    holder_param("holder_uuid"),
    _ISSUER,
    Param(
        "asOfDate",
        "date",
        help="Use figures for dates up to this one, even if they were filed later.",
        example="2025-12-31",
    ),
)
POSITION_EVENT_PARAMS = (
    holder_param("holder_uuid"),
    _ISSUER,
    *_EVENT_DAYS,
    source_param("sourceType", example="form_13f"),
    limit_param(500, 500),
    _EVENT_OFFSET,
)
HOLDER_PARAMS = (_ISSUER, limit_param(100, 500), OFFSET)
ISSUER_EVENT_PARAMS = (
    _ISSUER,
    *_EVENT_DAYS,
    source_param("source", example="form_13f"),
    limit_param(100, 500),
    _EVENT_OFFSET,
)
CONCENTRATION_PARAMS = (path_param("cik", "cik", help=_ISSUER.help, example=_ISSUER.example),)


# ---- Positions

POSITION_SHAPE = Answer[HolderPosition]


def _check_fund_state(tx: Transaction, holder: Row, as_of: str | None) -> None:
    """Raise INVALID_PARAM if the stored 13F positions of a holder are not those of a past day."""
    if holder["cik"] is not None:
        funds.check_past_state(tx, holder["cik"], as_of)


def get_position(call: Call) -> Response:
    """Return the shares of an issuer that a holder owns."""
    params = call.params
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        holder = holder_profiles.get_holder(tx, params["holder_uuid"])
        _check_fund_state(tx, holder, params["as_of"])
        position = issuer_holders.get_position(tx, holder, company, params["asOfDate"] or LAST_DATE)
    return call.success_members(position, {})


class IssuerHolders(TypedDict):
    """A page of the holders of an issuer."""

    issuer_cik: str
    issuer_ticker: str | None
    as_of: Time | None
    shares_outstanding: SharesOutstanding
    holders: list[IssuerHolder]
    meta: OffsetPage


HOLDER_SHAPE = Answer[IssuerHolders]


def list_holders(call: Call) -> Response:
    """Return a page of the holders of an issuer, those with the most shares first."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["issuer_cik"]), "issuer_cik")
        calculator = PercentCalculator(tx, company.cik, company.ticker)
        rows, total, latest_day = issuer_holders.list_holders(tx, company.cik, calculator, limit, offset)
    meta = build_offset_page(total, limit, offset)
    members: IssuerHolders = {
        "issuer_cik": company.padded_cik,
        "issuer_ticker": company.ticker,
        "as_of": reported_figures.format_day(latest_day),
        "shares_outstanding": calculator.shares_outstanding,
        "holders": rows,
        "meta": meta,
    }
    return call.success_members(members, meta)


# ---- Events


class PositionEvents(TypedDict):
    """A page of the events of a position."""

    holderUuid: str
    holderName: str
    issuerCik: str
    events: list[PositionEvent]
    meta: OffsetPage


POSITION_EVENT_SHAPE = Answer[PositionEvents]


def list_position_events(call: Call) -> Response:
    """Return a page of the events of a position, the latest day first."""
    params = call.params
    filters = _build_event_filters(call, params["sourceType"])
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        holder = holder_profiles.get_holder(tx, params["holder_uuid"])
        _check_fund_state(tx, holder, call.params["as_of"])
        events, total = position_events.list_events_of_holder(tx, company.cik, holder, filters)
    meta = build_offset_page(total, filters.limit, filters.offset)
    members: PositionEvents = {
        "holderUuid": holder["id"],
        "holderName": holder["name"],
        "issuerCik": company.padded_cik,
        "events": events,
        "meta": meta,
    }
    return call.success_members(members, meta)


class EventDays(TypedDict):
    """The days that a list of events is limited to."""

    startDate: Date | None
    endDate: Date | None


class IssuerEventMeta(OffsetPage, EventDays):
    """The page and the days of a list of events."""


class IssuerEvents(TypedDict):
    """A page of the events of an issuer's holders."""

    issuer_cik: str
    issuer_ticker: str | None
    events: list[IssuerEvent]
    meta: IssuerEventMeta


ISSUER_EVENT_SHAPE = Answer[IssuerEvents]


def list_issuer_events(call: Call) -> Response:
    """Return a page of the events of all holders of an issuer, the latest day first."""
    params = call.params
    filters = _build_event_filters(call, params["source"])
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        events, total = position_events.list_events_of_issuer(tx, company.cik, filters)
    meta: IssuerEventMeta = {
        **build_offset_page(total, filters.limit, filters.offset),
        "startDate": params["startDate"],
        "endDate": params["endDate"],
    }
    members: IssuerEvents = {
        "issuer_cik": company.padded_cik,
        "issuer_ticker": company.ticker,
        "events": events,
        "meta": meta,
    }
    return call.success_members(members, meta)


def _build_event_filters(call: Call, requested_source: str | None) -> EventFilters:
    """Return the filters of a request. If it limits the days, events without a known day are left out."""
    params = call.params
    source, schedule = split_source(requested_source)
    is_limited = params["startDate"] is not None or params["endDate"] is not None
    return EventFilters(
        first=params["startDate"] or (FIRST_DATE if is_limited else UNKNOWN_DATE),
        last=params["endDate"] or LAST_DATE,
        source=source,
        schedule=schedule,
        limit=params["limit"],
        offset=params["offset"],
    )


# ---- Concentration

CONCENTRATION_SHAPE = Answer[OwnershipConcentration]


def get_concentration(call: Call) -> Response:
    """Return the distribution of an issuer's shares over its holders."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["cik"]), "cik")
        ownership = concentration.compute_concentration(tx, company)
    return call.success_members(ownership, {})
