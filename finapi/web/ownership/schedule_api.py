"""Schedules 13D and 13G over HTTP: lists of filings, one filing, and what holders last told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from finapi.core import days, records
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Time
from finapi.market.ownership import purposes, schedule_filings, stakes
from finapi.market.ownership.schedule_filings import (
    FORM_TYPES,
    ListedSchedule,
    QueriedSchedule,
    ScheduleDetail,
    ScheduleFiling,
    ScheduleFilters,
)
from finapi.market.ownership.stakes import (
    BeneficialOwner,
    OwnerGroup,
    PortfolioStake,
    ScheduleConversion,
    ThresholdCrossing,
)
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Field, Param, limit_param, path_param
from finapi.web.http.schema import answer, part, with_windows

# Pages of the greatest size: what is skipped is read.
_MOST_PAGES = 10_000

PAGE = Param("page", "integer", default=1, minimum=1, maximum=_MOST_PAGES, help="Page, from 1.", example="1")
SIZE = Param(
    "size", "integer", default=50, minimum=1, maximum=500, clamp=True, help="Rows of a page, at most 500.", example="50"
)
_ISSUER = Param("issuerCik", "cik", help="Only about this company.", example="0000320193")
_TICKER = Param("issuerTicker", "ticker", help="Only about this company: ticker (any spelling) or CIK.", example="AAPL")
_NAME = Param("filerName", help="Only persons whose names contain words that start with these.", example="berkshire")
_LEAST = Param("minOwnership", "number", help="Minimum percentage of the class.", example="10")
_FROM = Param("dateFrom", "date", is_window=True, help="First filing day.", example="2025-01-01")
_TO = Param("dateTo", "date", is_window=True, help="Last filing day.", example="2025-12-31")
FILING_LIST_PARAMS = (
    _ISSUER,
    _TICKER,
    Param("filerCik", "cik", help="Only filings of this person, with its own figures.", example="0001067983"),
    _NAME,
    Param(
        "formType",
        allowed=tuple(FORM_TYPES),
        help="Only this schedule (13D, 13G, 13D/A, 13G/A) or form.",
        example="13D",
    ),
    _LEAST,
    _FROM,
    _TO,
    Param("isAmendment", "boolean", help="Only amendments (true) or originals (false).", example="false"),
    Param(
        "isConversion",
        "boolean",
        help="Only filings whose filer used the other schedule before, or others.",
        example="true",
    ),
    Param("sort", default="filedAt", allowed=schedule_filings.SORTS, help="Sort column.", example="percentOfClass"),
    Param("order", default="desc", allowed=("asc", "desc"), help="Sort direction.", example="desc"),
    PAGE,
    SIZE,
    Param(
        "include",
        "words",
        allowed=("positions",),
        help="positions: every reporting person of each filing.",
        example="positions",
    ),
)
ACTIVIST_PARAMS = (
    _TICKER,
    _NAME,
    _LEAST,
    _FROM,
    _TO,
    Param(
        "purposeCategory",
        allowed=purposes.INTENTS,
        help="Only filings whose Item 4 states this without hedging.",
        example="board_seat_demand",
    ),
    PAGE,
    SIZE,
)
CONVERSION_PARAMS = (_FROM, PAGE, SIZE)
GROUP_PARAMS = (
    _ISSUER,
    Param(
        "activeOnly",
        "boolean",
        default=True,
        help="Only groups that still own more than five per cent.",
        example="true",
    ),
    PAGE,
    SIZE,
)
_FORM = Field("formType", allowed=tuple(FORM_TYPES), help="Only this schedule or form.", example="13D")
QUERY_BODY = (
    Field(
        "query",
        "object",
        help="Text to search for; everything if left out.",
        example={"formType": "13D"},
        members=(
            Field("ticker", "ticker", help="Only about this company.", example="AAPL"),
            Field("issuerCik", "cik", help="Only about this company.", example="0000320193"),
            Field("filerCik", "cik", help="Only of this person.", example="0001067983"),
            Field(
                "filerName", help="Only persons whose names contain words that start with these.", example="berkshire"
            ),
            Field("minOwnership", "number", help="Minimum percentage of the class.", example=10),
            _FORM,
            Field(
                "dateRange",
                "object",
                help="Filing days.",
                members=(
                    Field("from", "date", help="The first.", example="2025-01-01"),
                    Field("to", "date", help="The last.", example="2025-12-31"),
                ),
            ),
        ),
    ),
    Field("from", "integer", minimum=0, help="Rows to skip.", example=0),
    Field("size", "integer", minimum=1, maximum=500, help="Rows, at most.", example=50),
    Field(
        "sort",
        "sort",
        allowed=schedule_filings.SORTS,
        help="Sort column, descending unless it says asc.",
        example="filedAt",
    ),
)
CROSSING_PARAMS = (
    _TICKER,
    Param("threshold", allowed=stakes.THRESHOLDS, help="Only over this percentage.", example="10"),
    Param("direction", allowed=("up", "down"), help="Only upwards, or downwards.", example="up"),
    _FROM,
    _TO,
    PAGE,
    SIZE,
)
FILING_PARAMS = (
    path_param("accession", "any_accession", help="With or without dashes.", example="0000000103-25-000001"),
)
OWNER_PARAMS = (path_param("cik", "cik", help="CIK of the company.", example="0001234567"),)
STAKE_PARAMS = (
    path_param("cik", "cik", help="CIK of the holder.", example="0000000103"),
    limit_param(50, 500),
    OFFSET,
)

_DAYS: dict[str, Any] = {"dateFrom": Date | None, "dateTo": Date | None}
_PAGED: dict[str, Any] = {"total": int, "limit": int, "page": int, "size": int, "totalPages": int, "has_more": bool}
FILING_LIST_SHAPE = answer(filings=list[ListedSchedule], meta=with_windows(**_PAGED, **_DAYS))
ACTIVIST_SHAPE = answer(activists=list[ScheduleFiling], meta=with_windows(**_PAGED, **_DAYS))
CONVERSION_SHAPE = answer(conversions=list[ScheduleConversion], meta=with_windows(**_PAGED, dateFrom=Date | None))
GROUP_SHAPE = answer(data=list[OwnerGroup], meta=part(**_PAGED))
FILING_SHAPE = answer(**records.get_members(ScheduleDetail))
QUERY_SHAPE = answer(
    data=list[QueriedSchedule], meta=part(total=part(value=int, relation=Literal["eq"]), **{"from": int, "size": int})
)
CROSSING_SHAPE = answer(crossings=list[ThresholdCrossing], meta=with_windows(**_PAGED, **_DAYS))
OWNER_SHAPE = answer(
    issuerCik=str, issuerTicker=str | None, nameOfIssuer=str, asOf=Time | None, beneficialOwners=list[BeneficialOwner]
)
STAKE_SHAPE = answer(
    filerCik=str,
    filerName=str,
    positions=list[PortfolioStake],
    meta=part(total=int, limit=int, offset=int, has_more=bool),
)


def list_filings(call: Call) -> Response:
    """Schedules 13D and 13G, the newest first unless told."""
    with call.app.db.read() as tx:
        narrow = _filters(call, tx)
        rows, total = schedule_filings.list_filings(tx, narrow, **_place(call))
        shown = schedule_filings.with_positions(tx, rows) if call.params["include"] else rows
        windows = call.build_window_meta(schedule_filings.count_undated(tx, narrow))
    page = _paging(call, total)
    return call.success_members({"filings": shown, "meta": {**page, **windows}}, {**page, **windows})


def list_activist_filings(call: Call) -> Response:
    """Schedules 13D, whose filers may want to influence the company."""
    wanted = call.params["purposeCategory"]
    with call.app.db.read() as tx:
        bit = None if wanted is None else 1 << purposes.INTENTS.index(wanted)
        narrow = _filters(call, tx)._replace(forms=FORM_TYPES["13D"], intent=bit)
        rows, total = schedule_filings.list_filings(tx, narrow, **_place(call))
        windows = call.build_window_meta(schedule_filings.count_undated(tx, narrow))
    page = _paging(call, total)
    return call.success_members({"activists": rows, "meta": {**page, **windows}}, {**page, **windows})


def query_filings(call: Call) -> Response:
    """The Schedules 13D and 13G that a query asks for."""
    body = call.body
    asked = {**body.get("query", {})}
    span = asked.pop("dateRange", {})
    start, size = body.get("from", 0), body.get("size", 50)
    sort, descending = body.get("sort", ("filedAt", True))
    with call.app.db.read() as tx:
        issuer = _of_ticker(tx, asked.get("ticker"))
        narrow = _narrowed(tx, {**asked, "dateFrom": span.get("from"), "dateTo": span.get("to")}, issuer)
        rows, total = schedule_filings.list_filings(tx, narrow._replace(sort=sort, descending=descending), size, start)
    found = [schedule_filings.queried(row) for row in rows]
    meta = {"total": {"value": total, "relation": "eq"}, "from": start, "size": size}
    return call.success_members({"data": found, "meta": meta}, {"total": total, "has_more": start + len(rows) < total})


def _of_ticker(tx: Transaction, ticker: str | None) -> int | None:
    """The company of a ticker in a body: one that nobody has is a wrong parameter there."""
    try:
        return None if ticker is None else companies.resolve(tx, ticker, "ticker").cik
    except ApiError as error:
        if error.status != 404:
            raise
        raise invalid_param("ticker", error.message, expected="a ticker that finapi knows") from None


def list_threshold_crossings(call: Call) -> Response:
    """Filings by which a person's part of a class passed a threshold."""
    given = call.params
    with call.app.db.read() as tx:
        narrow = _filters(call, tx)
        over, way, place = given["threshold"], given["direction"], _place(call)
        rows, total = stakes.crossings(tx, narrow, over, way, **place)
        undated = stakes.crossings(tx, narrow._replace(since=0, until=0), over, way, limit=1, offset=0)[1]
        windows = call.build_window_meta(undated if narrow.since else 0)
    page = _paging(call, total)
    return call.success_members({"crossings": rows, "meta": {**page, **windows}}, {**page, **windows})


def list_conversions(call: Call) -> Response:
    """Filers who went over to the other schedule."""
    first = call.params["dateFrom"]
    with call.app.db.read() as tx:
        rows, total = stakes.conversions(tx, max(1, days.number(first)) if first else 0, **_place(call))
        windows = call.build_window_meta(stakes.undated_conversions(tx) if first else 0)
    page = _paging(call, total)
    return call.success_members({"conversions": rows, "meta": {**page, **windows}}, {**page, **windows})


def list_groups(call: Call) -> Response:
    """Groups of owners, those that filed last first."""
    params = call.params
    with call.app.db.read() as tx:
        rows, total = stakes.groups(tx, params["issuerCik"], params["activeOnly"], **_place(call))
    page = _paging(call, total)
    return call.success_members({"data": rows, "meta": page}, page)


def get_filing(call: Call) -> Response:
    """One Schedule 13D or 13G."""
    accession = call.params["accession"]
    with call.app.db.read() as tx:
        found = schedule_filings.detail(tx, accession)
    if found is None:
        raise ApiError("NOT_FOUND", f"finapi has no Schedule 13D or 13G {accession}.")
    return call.success_members({**found}, {})


def list_beneficial_owners(call: Call) -> Response:
    """Everybody who told of owning securities of a company, as last told."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["cik"]), "cik")
        rows = stakes.of_issuer(tx, company.cik)
    members = {
        "issuerCik": company.padded_cik,
        "issuerTicker": company.ticker,
        "nameOfIssuer": company.name,
        "asOf": max((row["latestFiledAt"] for row in rows if row["latestFiledAt"]), default=None),
        "beneficialOwners": rows,
    }
    return call.success_members(members, {})


def list_stakes_of_holder(call: Call) -> Response:
    """What a holder told of, as last told."""
    cik, size, skipped = (call.params[name] for name in ("cik", "limit", "offset"))
    with call.app.db.read() as tx:
        name = stakes.name_of(tx, cik)
        rows, total = stakes.of_holder(tx, cik, size, skipped)
    if name is None:
        raise ApiError("NOT_FOUND", f"finapi has no Schedule 13D or 13G of {cik:010}.")
    meta = {"total": total, "limit": size, "offset": skipped, "has_more": skipped + len(rows) < total}
    return call.success_members({"filerCik": f"{cik:010}", "filerName": name, "positions": rows, "meta": meta}, meta)


# ---- what several take


def _place(call: Call) -> dict[str, int]:
    size = call.params["size"]
    return {"limit": size, "offset": (call.params["page"] - 1) * size}


def _paging(call: Call, total: int) -> dict[str, Any]:
    size, page = call.params["size"], call.params["page"]
    pages = -(-total // size)
    return {"total": total, "limit": size, "page": page, "size": size, "totalPages": pages, "has_more": page < pages}


def _filters(call: Call, tx: Transaction) -> ScheduleFilters:
    ticker = call.params.get("issuerTicker")
    issuer = companies.resolve(tx, ticker, "issuerTicker").cik if ticker else None
    given = call.params
    return _narrowed(tx, given, issuer)._replace(
        amendment=given.get("isAmendment"),
        conversion=given.get("isConversion"),
        sort=given.get("sort") or "filedAt",
        descending=given.get("order") != "asc",
    )


def _narrowed(tx: Transaction, given: Mapping[str, Any], issuer: int | None) -> ScheduleFilters:
    """What parameters, or the members of a query, narrow filings to; ``issuer`` is the company of the ticker."""
    first, last = given.get("dateFrom"), given.get("dateTo")
    least, kind = given.get("minOwnership"), given.get("formType")
    return ScheduleFilters(
        issuer=_both(given.get("issuerCik"), issuer),
        holders=schedule_filings.holders_of(tx, given.get("filerCik"), given.get("filerName")),
        forms=FORM_TYPES[kind] if kind else None,
        min_percent=None if least is None else float(least),
        # Day 0 is that of filings whose day is unknown: it is before no day.
        since=max(1, days.number(first)) if first else 1 if last else 0,
        until=days.number(last) if last else schedule_filings.LAST_DAY,
    )


def _both(cik: int | None, of_ticker: int | None) -> int | None:
    """The company that both name; 0, which is none, when they name two."""
    if cik is not None and of_ticker is not None and cik != of_ticker:
        return 0
    return of_ticker if cik is None else cik
