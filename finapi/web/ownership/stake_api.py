"""Endpoints for stakes above five per cent: of an issuer or a holder, their changes, and groups of owners."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date, Time
from finapi.market.ownership import owner_groups, stake_changes, stakes
from finapi.market.ownership.filing_windows import build_window
from finapi.market.ownership.owner_groups import OwnerGroup
from finapi.market.ownership.stake_changes import THRESHOLDS, CrossingFilters, ScheduleConversion, ThresholdCrossing
from finapi.market.ownership.stakes import BeneficialOwner, PortfolioStake
from finapi.market.reference import companies
from finapi.web.holdings.fund_holdings import OffsetPage
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, path_param
from finapi.web.http.schema import Answer, WindowMeta
from finapi.web.ownership.schedule_params import (
    DATE_FROM,
    DATE_TO,
    ISSUER_CIK,
    ISSUER_TICKER,
    PAGE,
    SIZE,
    ScheduleListMeta,
    SizedPage,
    build_list_meta,
    build_page,
    find_issuer,
    get_offset,
)

OWNER_PARAMS = (path_param("cik", "cik", help="CIK of the company.", example="0001234567"),)
STAKE_PARAMS = (
    path_param("cik", "cik", help="CIK of the holder.", example="0000000103"),
    limit_param(50, 500),
    OFFSET,
)
CROSSING_PARAMS = (
    ISSUER_TICKER,
    Param("threshold", allowed=THRESHOLDS, help="Only crossings of this percentage.", example="10"),
    Param(
        "direction",
        allowed=("up", "down"),
        aliases=(("buy", "up"), ("sell", "down")),
        help="Only upward or only downward crossings.",
        example="up",
    ),
    DATE_FROM,
    DATE_TO,
    PAGE,
    SIZE,
)
CONVERSION_PARAMS = (DATE_FROM, PAGE, SIZE)
GROUP_PARAMS = (
    ISSUER_CIK,
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


# ---- Stakes


class IssuerOwners(TypedDict):
    """The owners of a company's securities."""

    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    asOf: Time | None
    beneficialOwners: list[BeneficialOwner]


OWNER_SHAPE = Answer[IssuerOwners]


def list_beneficial_owners(call: Call) -> Response:
    """Return the owners of a company's securities, those who filed last first."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, str(call.params["cik"]), "cik")
        owners = stakes.list_owners(tx, company.cik)
    members: IssuerOwners = {
        "issuerCik": company.padded_cik,
        "issuerTicker": company.ticker,
        "nameOfIssuer": company.name,
        "asOf": max((owner["latestFiledAt"] for owner in owners if owner["latestFiledAt"]), default=None),
        "beneficialOwners": owners,
    }
    return call.success_members(members, {})


class HolderStakes(TypedDict):
    """A page of a holder's stakes."""

    filerCik: str
    filerName: str
    positions: list[PortfolioStake]
    meta: OffsetPage


STAKE_SHAPE = Answer[HolderStakes]


def list_stakes_of_holder(call: Call) -> Response:
    """Return a page of a holder's stakes. Raise ApiError (NOT_FOUND) if no schedule names the holder."""
    cik = call.params["cik"]
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        name = stakes.find_holder_name(tx, cik)
        rows, total = stakes.list_stakes_of_holder(tx, cik, limit, offset)
    if name is None:
        raise ApiError("NOT_FOUND", f"finapi has no Schedule 13D or 13G of {cik:010}.")
    meta: OffsetPage = {"total": total, "limit": limit, "offset": offset, "has_more": offset + len(rows) < total}
    members: HolderStakes = {"filerCik": f"{cik:010}", "filerName": name, "positions": rows, "meta": meta}
    return call.success_members(members, meta)


# ---- Changes


class CrossingList(TypedDict):
    """A page of crossings of thresholds."""

    crossings: list[ThresholdCrossing]
    meta: ScheduleListMeta


CROSSING_SHAPE = Answer[CrossingList]


def list_threshold_crossings(call: Call) -> Response:
    """Return a page of filings by which a person's percentage of a class passed a threshold."""
    params = call.params
    with call.app.db.read() as tx:
        filters = CrossingFilters(
            issuer=find_issuer(call, tx),
            window=build_window(params["dateFrom"], params["dateTo"]),
            threshold=params["threshold"],
            direction=params["direction"],
        )
        rows, total = stake_changes.list_crossings(tx, filters, params["size"], get_offset(call))
        undated = stake_changes.count_undated_crossings(tx, filters)
    meta = build_list_meta(call, total, undated)
    members: CrossingList = {"crossings": rows, "meta": meta}
    return call.success_members(members, meta)


class FirstFilingDay(TypedDict):
    """The first filing day that a list is limited to."""

    dateFrom: Date | None


class ConversionListMeta(SizedPage, FirstFilingDay, WindowMeta):
    """The page and the window of a list of conversions."""


class ConversionList(TypedDict):
    """A page of conversions."""

    conversions: list[ScheduleConversion]
    meta: ConversionListMeta


CONVERSION_SHAPE = Answer[ConversionList]


def list_conversions(call: Call) -> Response:
    """Return a page of conversions between Schedules 13D and 13G, the latest first."""
    window = build_window(call.params["dateFrom"], None)
    with call.app.db.read() as tx:
        rows, total = stake_changes.list_conversions(tx, window, call.params["size"], get_offset(call))
        windows = call.build_window_meta(stake_changes.count_undated_conversions(tx, window))
    meta: ConversionListMeta = {
        **build_page(call, total),
        "dateFrom": windows["dateFrom"],
        "undated_left_out": windows["undated_left_out"],
        "clamped": windows["clamped"],
    }
    members: ConversionList = {"conversions": rows, "meta": meta}
    return call.success_members(members, meta)


# ---- Groups


class GroupList(TypedDict):
    """A page of groups of owners."""

    data: list[OwnerGroup]
    meta: SizedPage


GROUP_SHAPE = Answer[GroupList]


def list_groups(call: Call) -> Response:
    """Return a page of groups of owners, those that filed last first."""
    params = call.params
    with call.app.db.read() as tx:
        rows, total = owner_groups.list_groups(
            tx, params["issuerCik"], params["activeOnly"], params["size"], get_offset(call)
        )
    meta = build_page(call, total)
    members: GroupList = {"data": rows, "meta": meta}
    return call.success_members(members, meta)
