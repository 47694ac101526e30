"""Endpoints for holders (across all forms) and their filings."""

from __future__ import annotations

from typing import TypedDict

from finapi.market.ownership import holder_profiles
from finapi.market.ownership.filing_actions import REQUESTED_SOURCES, SOURCE_ALIASES
from finapi.market.ownership.holder_profiles import (
    KINDS,
    CrossReference,
    HolderFiling,
    HolderProfile,
    Kind,
    ListedHolder,
)
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import Answer
from finapi.web.ownership.schedule_params import PAGE, SIZE, get_offset

_UUID_OR_CIK = "[0-9]{1,10}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_EXAMPLE_UUID = "f1a9c1c0-0000-8000-8000-000001067983"


def holder_param(name: str) -> Param:
    """Return the path parameter for a holder."""
    return Param(
        name,
        location="path",
        required=True,
        pattern=_UUID_OR_CIK,
        help="UUID of the holder, from /ownership/holders, or its CIK.",
        example=_EXAMPLE_UUID,
    )


def source_param(name: str, example: str) -> Param:
    """Return the parameter that limits a list to one source."""
    help = "Only of Forms 3, 4 and 5 (form_4), 13F, Schedules 13D and 13G (form_13dg) or one of them, or Form 144."
    return Param(name, allowed=REQUESTED_SOURCES, aliases=SOURCE_ALIASES, help=help, example=example)


HOLDER_LIST_PARAMS = (
    Param(
        "q", help="Only holders with this CIK, or whose names have words that begin with these.", example="berkshire"
    ),
    Param("cik", "cik", help="Only this CIK.", example="0001067983"),
    Param("type", allowed=KINDS, help="Only holders with this role; they may have others as well.", example="insider"),
    PAGE,
    SIZE,
)
PROFILE_PARAMS = (holder_param("uuid"),)
FILING_PARAMS = (
    holder_param("uuid"),
    source_param("sourceType", example="form_13dg"),
    limit_param(50, 500),
    OFFSET,
)
CROSS_REFERENCE_PARAMS = (holder_param("holder_uuid"), limit_param(50, 500, "Filings of each family"), OFFSET)


class HolderListMeta(TypedDict):
    """The position of a page in a list of holders."""

    total: int
    page: int
    size: int
    pages: int
    has_more: bool
    matches_cut: bool


class HolderList(TypedDict):
    """A page of holders."""

    holders: list[ListedHolder]
    meta: HolderListMeta


HOLDER_LIST_SHAPE = Answer[HolderList]


def list_holders(call: Call) -> Response:
    """Return a page of holders, those with the most filings first."""
    params = call.params
    page = params["page"]
    size = params["size"]
    with call.app.db.read() as tx:
        matches = holder_profiles.search(
            tx, query=params["q"], cik=params["cik"], kind=params["type"], limit=size, offset=get_offset(call)
        )
    page_count = -(-matches.total // size)
    meta: HolderListMeta = {
        "total": matches.total,
        "page": page,
        "size": size,
        "pages": page_count,
        "has_more": page < page_count,
        "matches_cut": matches.is_incomplete,
    }
    members: HolderList = {"holders": matches.holders, "meta": meta}
    return call.success_members(members, meta)


PROFILE_SHAPE = Answer[HolderProfile]


def get_profile(call: Call) -> Response:
    """Return one holder."""
    with call.app.db.read() as tx:
        profile = holder_profiles.get_profile(tx, call.params["uuid"])
    return call.success_members(profile, {})


class FilingHolder(TypedDict):
    """The holder whose filings are listed."""

    uuid: str
    name: str
    cik: str | None
    type: Kind


class HolderFilingList(TypedDict):
    """A page of a holder's filings."""

    holder: FilingHolder
    history: list[HolderFiling]
    meta: OffsetPage


FILING_SHAPE = Answer[HolderFilingList]


def list_filings(call: Call) -> Response:
    """Return a page of a holder's filings, newest first."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    with call.app.db.read() as tx:
        row = holder_profiles.get_holder(tx, params["uuid"])
        filings, total = holder_profiles.list_filings(tx, row, params["sourceType"], limit, offset)
    listed_holder = holder_profiles.build_listed_holder(row)
    holder: FilingHolder = {
        "uuid": listed_holder["holder_uuid"],
        "name": listed_holder["name"],
        "cik": listed_holder["cik"],
        "type": listed_holder["type"],
    }
    meta = build_offset_page(total, limit, offset)
    members: HolderFilingList = {"holder": holder, "history": filings, "meta": meta}
    return call.success_members(members, meta)


class CrossReferencePage(TypedDict):
    """The position of a page, which is the same in the list of each family of forms."""

    limit: int
    offset: int
    has_more: bool


class CrossReferenceAnswer(CrossReference):
    """A page of a holder's filings for each family of forms."""

    meta: CrossReferencePage


CROSS_REFERENCE_SHAPE = Answer[CrossReferenceAnswer]


def get_cross_reference(call: Call) -> Response:
    """Return a page of a holder's filings of each family, newest first."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        row = holder_profiles.get_holder(tx, call.params["holder_uuid"])
        cross_reference = holder_profiles.build_cross_reference(tx, row, limit, offset)
    summary = cross_reference["summary"]
    longest_list = max(
        summary["form_4_count"], summary["form_13f_count"], summary["form_13dg_count"], summary["form_144_count"]
    )
    meta: CrossReferencePage = {"limit": limit, "offset": offset, "has_more": offset + limit < longest_list}
    members: CrossReferenceAnswer = {**cross_reference, "meta": meta}
    return call.success_members(members, meta)
