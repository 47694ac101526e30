"""Holders over all forms over HTTP: who they are, and what they filed."""

from __future__ import annotations

from finapi.core import records
from finapi.market.ownership import holder_profiles
from finapi.market.ownership.holder_profiles import CrossReference, HolderFiling, HolderProfile, ListedHolder
from finapi.web.holdings.fund_holdings import build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param
from finapi.web.http.schema import answer, part
from finapi.web.ownership.schedule_api import PAGE, SIZE

_UUID = "[0-9]{1,10}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
EXAMPLE = "f1a9c1c0-0000-8000-8000-000001067983"


def holder(name: str) -> Param:
    """The parameter of a path that says which holder."""
    help = "UUID of the holder, as /ownership/holders has it, or its CIK."
    return Param(name, location="path", required=True, pattern=_UUID, help=help, example=EXAMPLE)


SOURCE = "Only of Forms 3, 4 and 5 (form_4), 13F, Schedules 13D and 13G, or Form 144."
HOLDER_LIST_PARAMS = (
    Param("q", help="Only holders whose names have words that begin so, or with this CIK.", example="berkshire"),
    Param("cik", "cik", help="Only this CIK.", example="0001067983"),
    Param(
        "type",
        allowed=holder_profiles.KINDS,
        help="Only those that are this, whatever else they are.",
        example="insider",
    ),
    PAGE,
    SIZE,
)
PROFILE_PARAMS = (holder("uuid"),)
FILING_PARAMS = (
    holder("uuid"),
    Param("sourceType", allowed=holder_profiles.SOURCES, help=SOURCE, example="form_13dg"),
    limit_param(50, 500),
    OFFSET,
)
CROSS_REFERENCE_PARAMS = (holder("holder_uuid"), limit_param(50, 500, "Filings of each family"), OFFSET)

HOLDER_LIST_SHAPE = answer(
    holders=list[ListedHolder], meta=part(total=int, page=int, size=int, pages=int, has_more=bool, matches_cut=bool)
)
PROFILE_SHAPE = answer(**records.get_members(HolderProfile))
FILING_SHAPE = answer(
    holder=part(uuid=str, name=str, cik=str | None, type=holder_profiles.Kind),
    history=list[HolderFiling],
    meta=part(total=int, limit=int, offset=int, has_more=bool),
)
CROSS_REFERENCE_SHAPE = answer(**records.get_members(CrossReference), meta=part(limit=int, offset=int, has_more=bool))


def list_holders(call: Call) -> Response:
    """Holders, those with most filings first."""
    params = call.params
    size, page = params["size"], params["page"]
    with call.app.db.read() as tx:
        place = {"limit": size, "offset": (page - 1) * size}
        found = holder_profiles.search(tx, params["q"], params["cik"], params["type"], place)
    pages = -(-found.total // size)
    meta = {
        "total": found.total,
        "page": page,
        "size": size,
        "pages": pages,
        "has_more": page < pages,
        "matches_cut": found.cut,
    }
    return call.success_members({"holders": found.page, "meta": meta}, meta)


def get_profile(call: Call) -> Response:
    """One holder."""
    with call.app.db.read() as tx:
        found = holder_profiles.profile(tx, call.params["uuid"])
    return call.success_members({**found}, {})


def list_filings(call: Call) -> Response:
    """What a holder filed, the newest first."""
    params = call.params
    place = {name: params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        row = holder_profiles.found(tx, params["uuid"])
        rows, total = holder_profiles.history(tx, row, params["sourceType"], **place)
        about = holder_profiles.shown(row)
    meta = {**build_offset_page(total, **place)}
    who = {"uuid": about["holder_uuid"], **{name: about[name] for name in ("name", "cik", "type")}}
    return call.success_members({"holder": who, "history": rows, "meta": meta}, meta)


def get_cross_reference(call: Call) -> Response:
    """What a holder filed, each family of forms by itself."""
    size, skipped = call.params["limit"], call.params["offset"]
    with call.app.db.read() as tx:
        row = holder_profiles.found(tx, call.params["holder_uuid"])
        found = holder_profiles.cross_reference(tx, row, size, skipped)
    most = max(found["summary"][f"{name}_count"] for name in holder_profiles.SOURCES)  # type: ignore[literal-required]
    meta = {"limit": size, "offset": skipped, "has_more": skipped + size < most}
    return call.success_members({**found, "meta": meta}, meta)
