"""What holders have of an issuer by every form, over HTTP: positions, histories, timelines, concentration."""

from __future__ import annotations

from finapi.core import records
from finapi.core.records import Date, Time
from finapi.market.ownership import concentration, holder_profiles, issuer_holders
from finapi.market.ownership.concentration import OwnershipConcentration
from finapi.market.ownership.issuer_holders import (
    LAST,
    EventFilters,
    HolderPosition,
    IssuerEvent,
    IssuerHolder,
    PositionEvent,
    SharesOutstanding,
)
from finapi.market.reference import companies
from finapi.web.holdings.fund_holdings import build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, offset_param, path_param
from finapi.web.http.schema import answer, part
from finapi.web.ownership.holder_api import SOURCE, holder

_ISSUER = path_param("issuer_cik", "cik", help="CIK of the company.", example="0000320193")
_SPAN = (
    Param("startDate", "date", help="First day of which a form tells.", example="2025-01-01"),
    Param("endDate", "date", help="Last day of which a form tells.", example="2025-12-31"),
)
# What is skipped is read.
_SKIPPED = offset_param(20_000)
POSITION_PARAMS = (
    holder("holder_uuid"),
    _ISSUER,
    Param(
        "asOfDate", "date", help="By figures of days up to this one, whenever they were filed.", example="2025-12-31"
    ),
)
POSITION_EVENT_PARAMS = (
    holder("holder_uuid"),
    _ISSUER,
    *_SPAN,
    Param("sourceType", allowed=holder_profiles.SOURCES, help=SOURCE, example="form_13f"),
    limit_param(500, 500),
    _SKIPPED,
)
HOLDER_PARAMS = (_ISSUER, limit_param(100, 500), OFFSET)
ISSUER_EVENT_PARAMS = (
    _ISSUER,
    *_SPAN,
    Param("source", allowed=holder_profiles.SOURCES, help=SOURCE, example="form_13f"),
    limit_param(100, 500),
    _SKIPPED,
)
CONCENTRATION_PARAMS = (path_param("cik", "cik", help=_ISSUER.help, example=_ISSUER.example),)

_PAGED = part(total=int, limit=int, offset=int, has_more=bool)
POSITION_SHAPE = answer(**records.get_members(HolderPosition))
POSITION_EVENT_SHAPE = answer(holderUuid=str, holderName=str, issuerCik=str, events=list[PositionEvent], meta=_PAGED)
HOLDER_SHAPE = answer(
    issuer_cik=str,
    issuer_ticker=str | None,
    as_of=Time | None,
    shares_outstanding=SharesOutstanding,
    holders=list[IssuerHolder],
    meta=_PAGED,
)
ISSUER_EVENT_SHAPE = answer(
    issuer_cik=str,
    issuer_ticker=str | None,
    events=list[IssuerEvent],
    meta=part(total=int, limit=int, offset=int, has_more=bool, startDate=Date | None, endDate=Date | None),
)
CONCENTRATION_SHAPE = answer(**records.get_members(OwnershipConcentration))


def get_position(call: Call) -> Response:
    """What a holder has of an issuer."""
    params = call.params
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        row = holder_profiles.found(tx, params["holder_uuid"])
        found = issuer_holders.current(tx, row, company, params["asOfDate"] or LAST)
    return call.success_members({**found}, {})


def list_position_events(call: Call) -> Response:
    """What forms told of a position, the latest day first."""
    params = call.params
    asked = _asked(call, params["sourceType"])
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        row = holder_profiles.found(tx, params["holder_uuid"])
        rows, total = issuer_holders.history(tx, company.cik, row, asked)
    meta = {**build_offset_page(total, asked.limit, asked.offset)}
    who = {"holderUuid": row["id"], "holderName": row["name"], "issuerCik": company.padded_cik}
    return call.success_members({**who, "events": rows, "meta": meta}, meta)


def _asked(call: Call, source: str | None) -> EventFilters:
    """Which events are asked for: a day that is not known is within no span that is given."""
    first, last, limit, offset = (call.params[name] for name in ("startDate", "endDate", "limit", "offset"))
    return EventFilters(first or ("0001-01-01" if last else ""), last or LAST, source, limit, offset)


def list_holders(call: Call) -> Response:
    """Who has shares of an issuer, the most first."""
    place = {name: call.params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["issuer_cik"]), "issuer_cik")
        divider = issuer_holders.Divider(tx, company.cik, company.ticker)
        rows, total, day = issuer_holders.of_issuer(tx, company.cik, divider, **place)
    meta = {**build_offset_page(total, **place)}
    members = {
        "issuer_cik": company.padded_cik,
        "issuer_ticker": company.ticker,
        "as_of": issuer_holders.timed(day),
        "shares_outstanding": divider.counted,
        "holders": rows,
        "meta": meta,
    }
    return call.success_members(members, meta)


def list_issuer_events(call: Call) -> Response:
    """What forms told of an issuer's holders, the latest day first."""
    params = call.params
    asked = _asked(call, params["source"])
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(params["issuer_cik"]), "issuer_cik")
        rows, total = issuer_holders.timeline(tx, company.cik, asked)
    meta = {
        **build_offset_page(total, asked.limit, asked.offset),
        "startDate": params["startDate"],
        "endDate": params["endDate"],
    }
    members = {"issuer_cik": company.padded_cik, "issuer_ticker": company.ticker, "events": rows, "meta": meta}
    return call.success_members(members, meta)


def get_concentration(call: Call) -> Response:
    """How the shares of an issuer are distributed."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["cik"]), "cik")
        found = concentration.of_issuer(tx, company)
    return call.success_members({**found}, {})
