"""Endpoints for filings of Schedules 13D and 13G: lists, one filing, and the query endpoint."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, TypedDict, cast

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership import purposes, schedule_details, schedule_filings
from finapi.market.ownership.schedule_details import ListedSchedule, ScheduleDetail
from finapi.market.ownership.schedule_filings import FORM_TYPES, Holes, ScheduleFiling
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field, Param, path_param
from finapi.web.http.schema import Answer
from finapi.web.ownership.schedule_params import (
    DATE_FROM,
    DATE_TO,
    FILER_NAME,
    ISSUER_CIK,
    ISSUER_TICKER,
    MIN_OWNERSHIP,
    ORDERS,
    PAGE,
    SIZE,
    ScheduleListMeta,
    build_filters,
    build_list_meta,
    build_query_filters,
    get_offset,
)

FILING_LIST_PARAMS = (
    ISSUER_CIK,
    ISSUER_TICKER,
    Param("filerCik", "cik", help="Only filings of this person, with its own figures.", example="0001067983"),
    FILER_NAME,
    Param(
        "formType",
        allowed=tuple(FORM_TYPES),
        help="Only this schedule (13D, 13G, 13D/A, 13G/A) or form.",
        example="13D",
    ),
    MIN_OWNERSHIP,
    DATE_FROM,
    DATE_TO,
    Param("isAmendment", "boolean", help="Only amendments (true) or originals (false).", example="false"),
    Param(
        "isConversion",
        "boolean",
        help="Only filings whose filer used the other schedule before (true), or only others (false).",
        example="true",
    ),
    Param(
        "sort",
        default="filedAt",
        allowed=(*schedule_filings.SORTS, *ORDERS),
        help="Sort column. desc and asc sort by filing day in this order.",
        example="percentOfClass",
    ),
    Param("order", default="desc", allowed=ORDERS, help="Sort direction.", example="desc"),
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
    ISSUER_TICKER,
    FILER_NAME,
    MIN_OWNERSHIP,
    DATE_FROM,
    DATE_TO,
    Param(
        "purposeCategory",
        allowed=purposes.INTENTS,
        help="Only filings whose Item 4 states this without hedging.",
        example="board_seat_demand",
    ),
    PAGE,
    SIZE,
)
FILING_PARAMS = (
    path_param("accession", "any_accession", help="With or without dashes.", example="0000000103-25-000001"),
)


# ---- Lists


class FilingList(TypedDict):
    """A page of Schedules 13D and 13G."""

    filings: list[ListedSchedule]
    meta: ScheduleListMeta


FILING_LIST_SHAPE = Answer[FilingList]


def list_filings(call: Call) -> Response:
    """Return a page of schedules, newest first by default."""
    with call.app.db.read() as tx:
        filters = build_filters(call, tx)
        rows, total = schedule_filings.list_filings(tx, filters, call.params["size"], get_offset(call))
        if call.params["include"]:
            filings = schedule_details.add_positions(tx, rows)
        else:
            filings = cast("list[ListedSchedule]", rows)  # The key ``positions`` is optional.
        undated = schedule_filings.count_undated(tx, filters)
    meta = build_list_meta(call, total, undated)
    members: FilingList = {"filings": filings, "meta": meta}
    return call.success_members(members, meta)


class ActivistFilingList(TypedDict):
    """A page of Schedules 13D."""

    activists: list[ScheduleFiling]
    meta: ScheduleListMeta


ACTIVIST_SHAPE = Answer[ActivistFilingList]


def list_activist_filings(call: Call) -> Response:
    """Return a page of Schedules 13D (filed by owners who may want to influence the company), newest first."""
    intent = call.params["purposeCategory"]
    with call.app.db.read() as tx:
        filters = build_filters(call, tx)._replace(
            forms=FORM_TYPES["13D"], intent=None if intent is None else purposes.get_bit(intent)
        )
        rows, total = schedule_filings.list_filings(tx, filters, call.params["size"], get_offset(call))
        undated = schedule_filings.count_undated(tx, filters)
    meta = build_list_meta(call, total, undated)
    members: ActivistFilingList = {"activists": rows, "meta": meta}
    return call.success_members(members, meta)


# ---- One filing

FILING_SHAPE = Answer[ScheduleDetail]


def get_filing(call: Call) -> Response:
    """Return one schedule with all its persons. Raise ApiError (NOT_FOUND) if it is not stored."""
    accession = call.params["accession"]
    with call.app.db.read() as tx:
        detail = schedule_details.find_detail(tx, accession)
    if detail is None:
        raise ApiError("NOT_FOUND", f"finapi has no Schedule 13D or 13G {accession}.")
    return call.success_members(detail, {})


# ---- The query endpoint, whose rows have other names

QUERY_BODY = (
    Field(
        "query",
        "object",
        help="Text to search for; by default everything matches.",
        example={"formType": "13D"},
        members=(
            Field("ticker", "ticker", help="Only about this company.", example="AAPL"),
            Field("issuerCik", "cik", help="Only about this company.", example="0000320193"),
            Field("filerCik", "cik", help="Only of this person.", example="0001067983"),
            Field(
                "filerName", help="Only persons whose names contain words that start with these.", example="berkshire"
            ),
            Field("minOwnership", "number", help="Minimum percentage of the class.", example=10),
            Field("formType", allowed=tuple(FORM_TYPES), help="Only this schedule or form.", example="13D"),
            Field(
                "dateRange",
                "object",
                help="Filing days.",
                members=(
                    Field("from", "date", help="First filing day.", example="2025-01-01"),
                    Field("to", "date", help="Last filing day.", example="2025-12-31"),
                ),
            ),
        ),
    ),
    Field("from", "integer", minimum=0, help="Rows to skip.", example=0),
    Field("size", "integer", minimum=1, maximum=500, help="Maximum number of rows.", example=50),
    Field(
        "sort",
        "sort",
        allowed=schedule_filings.SORTS,
        help="Sort column, descending unless followed by asc.",
        example="filedAt",
    ),
)


class QueriedIssuer(TypedDict):
    """A company in a row of the query endpoint."""

    name: str
    cik: str
    ticker: str | None


class QueriedFiler(TypedDict):
    """A person in a row of the query endpoint."""

    name: str
    cik: str | None


class QueriedOwnership(TypedDict):
    """The person's shares and percentage."""

    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    soleVotingPower: Decimal | None
    sharedVotingPower: Decimal | None


class QueriedSchedule(TypedDict):
    """A schedule, with the field names of the query endpoint."""

    accessionNo: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    filedAt: Time | None
    issuer: QueriedIssuer
    filer: QueriedFiler
    ownership: QueriedOwnership
    purpose: str | None
    cusip: str | None
    dateOfEvent: Date | None
    isAmendment: bool
    reportingPersonCount: int
    holes: Holes


class ScheduleTotal(TypedDict):
    """The number of all rows."""

    value: int
    relation: Literal["eq"]


# The functional form, because "from" is a keyword of Python.
ScheduleQueryMeta = TypedDict("ScheduleQueryMeta", {"total": ScheduleTotal, "from": int, "size": int})


class QueriedSchedules(TypedDict):
    """A page of the schedules that match a query."""

    data: list[QueriedSchedule]
    meta: ScheduleQueryMeta


QUERY_SHAPE = Answer[QueriedSchedules]


def query_filings(call: Call) -> Response:
    """Return the schedules that match a query."""
    body = call.body
    query = body.get("query", {})
    filing_days = query.get("dateRange", {})
    offset = body.get("from", 0)
    size = body.get("size", 50)
    sort, is_descending = body.get("sort", ("filedAt", True))
    params = {**query, "dateFrom": filing_days.get("from"), "dateTo": filing_days.get("to")}
    with call.app.db.read() as tx:
        filters = build_query_filters(tx, params, _find_queried_issuer(tx, query.get("ticker")))
        filters = filters._replace(sort=sort, descending=is_descending)
        rows, total = schedule_filings.list_filings(tx, filters, size, offset)
    members: QueriedSchedules = {
        "data": [_build_queried_schedule(row) for row in rows],
        "meta": {"total": {"value": total, "relation": "eq"}, "from": offset, "size": size},
    }
    return call.success_members(members, {"total": total, "has_more": offset + len(rows) < total})


def _find_queried_issuer(tx: Transaction, ticker: str | None) -> int | None:
    """Return the CIK of the company of a ticker, or None. Raise ApiError (400) if no company has it."""
    if ticker is None:
        return None
    try:
        return companies.resolve(tx, ticker, "ticker").cik
    except ApiError as error:
        if error.status != 404:
            raise
        raise invalid_param("ticker", error.message, expected="a known ticker") from None


def _build_queried_schedule(filing: ScheduleFiling) -> QueriedSchedule:
    issuer: QueriedIssuer = {
        "name": filing["nameOfIssuer"],
        "cik": filing["issuerCik"],
        "ticker": filing["issuerTicker"],
    }
    filer: QueriedFiler = {"name": filing["filerName"], "cik": filing["filerCik"]}
    return build_record(
        QueriedSchedule,
        {**filing},
        accessionNo=filing["accessionNumber"],
        issuer=issuer,
        filer=filer,
        ownership=build_record(QueriedOwnership, {**filing}),
    )
