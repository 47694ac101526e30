"""Who owns more than five per cent of what, as last told: by issuer and by holder, conversions and groups."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

from finapi.core.records import Date, OneOf, Time, build_record
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership.schedule_filings import Holes, ScheduleFilters
from finapi.store.db import Row, Transaction

# Rows of one company or holder at most: no company has had so many owners of five per cent.
MOST = 1_000


class StakePlace(TypedDict):
    """What a person last told of securities, in the filing that says so."""

    latestPercent: Decimal | None
    latestShares: Decimal | None
    latestFiledAt: Time | None
    purpose: Annotated[str | None, "The beginning of Item 4."]
    accessionNumber: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    titleOfClass: str | None
    cusip: str | None
    isExit: Annotated[bool, "Whether that filing says that five per cent or less are left."]
    isNamedInLatest: Annotated[bool, "false: a later filing of the same filers no longer names this person."]
    isLead: Annotated[bool, "Whether nobody in that filing reports more shares."]
    reportedTogether: Annotated[int, "Persons of that filing; mostly they report the same shares."]
    holderUuid: str
    holes: Holes


class BeneficialOwner(StakePlace):
    """An owner of securities of a company."""

    filerCik: str | None
    filerName: str


class PortfolioStake(StakePlace):
    """A company of which a holder told."""

    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str


def of_issuer(tx: Transaction, cik: int) -> list[BeneficialOwner]:
    """Everybody who told of owning securities of a company, as last told, the latest first."""
    rows = tx.list_rows("stakes_of_issuer", cik=cik, limit=MOST)
    return [
        build_record(BeneficialOwner, row, **_told(row), filerCik=_padded(row["cik"]), filerName=row["name"])
        for row in rows
    ]


def of_holder(tx: Transaction, cik: int, limit: int, offset: int) -> tuple[list[PortfolioStake], int]:
    """A page of what a holder told of, as last told, the latest first; and how much there is."""
    rows = tx.list_rows("stakes_of_holder", cik=cik, limit=limit, offset=offset)
    total = int(tx.find_value("stakes_of_holder_count", cik=cik))
    return [
        build_record(PortfolioStake, row, **_told(row), issuerCik=_padded(row["issuer_cik"])) for row in rows
    ], total


def name_of(tx: Transaction, cik: int) -> str | None:
    """What a holder was called when it last filed; None when no schedule names it."""
    name: str | None = tx.find_value("schedule_holder_name", cik=cik)
    return name


def _padded(cik: int | None) -> str | None:
    return None if cik is None else f"{cik:010}"


def _told(row: Row) -> dict[str, Any]:
    figures = {
        "latestPercent": None if row["percent"] is None else Decimal(row["percent"]),
        "latestShares": None if row["shares"] is None else Decimal(row["shares"]),
    }
    hole = "not_reported" if row["source"] else "cover_not_in_xml"
    return {**figures, "holes": {name: hole for name, value in figures.items() if value is None}}


# ---- conversions


class ScheduleConversion(TypedDict):
    """A filing on the other schedule than the filing before it."""

    filerCik: str | None
    filerName: str
    issuerCik: str
    issuerTicker: str | None
    priorFormType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    currentFormType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    direction: Literal["13G_TO_13D", "13D_TO_13G"]
    priorAccession: str
    currentAccession: str
    convertedAt: Time | None


def conversions(tx: Transaction, since: int, limit: int, offset: int) -> tuple[list[ScheduleConversion], int]:
    """A page of the filings by which filers went over to the other schedule, the latest first; how many there are."""
    rows = tx.list_rows("schedule_conversions", since=since, limit=limit, offset=offset)
    found = [
        build_record(ScheduleConversion, row, filerCik=_padded(row["cik"]), issuerCik=_padded(row["issuer_cik"]))
        for row in rows
    ]
    return found, int(tx.find_value("schedule_conversions_count", since=since))


def undated_conversions(tx: Transaction) -> int:
    """How many have no filing day."""
    return int(tx.find_value("schedule_conversions_undated"))


# ---- thresholds

THRESHOLDS = ("5", "10", "15", "20", "25", "50")


class ThresholdCrossing(TypedDict):
    """A filing by which its lead's part of a class passed a threshold since the same person's filing before.

    A first filing passes five per cent upwards: its schedule is due from there on. An amendment whose filing before is
    not held, or tells no figure, passes nothing that could be told.
    """

    accessionNumber: str
    filedAt: Time | None
    issuerCik: str
    issuerTicker: str | None
    filerCik: str | None
    filerName: str
    threshold: int
    direction: Literal["up", "down"]
    priorPercent: Annotated[Decimal | None, "null: a first filing."]
    currentPercent: Decimal


def crossings(
    tx: Transaction, narrow: ScheduleFilters, threshold: str | None, direction: str | None, limit: int, offset: int
) -> tuple[list[ThresholdCrossing], int]:
    """A page of crossings, the latest first, of one filing the highest threshold first; how many there are."""
    values = {
        "thresholds": json.dumps([int(one) for one in THRESHOLDS if threshold in (None, one)]),
        "direction": direction,
        "issuer": narrow.issuer,
        "since": narrow.since,
        "until": narrow.until,
    }
    rows = tx.list_rows("threshold_crossings", values, limit=limit, offset=offset)
    found = [
        build_record(ThresholdCrossing, row, filerCik=_padded(row["cik"]), issuerCik=_padded(row["issuer_cik"]))
        for row in rows
    ]
    return found, int(tx.find_value("threshold_crossings_count", values))


# ---- groups


class GroupMember(TypedDict):
    """A person who said to be a member of a group."""

    memberName: str
    memberCik: str | None
    isCurrentMember: Annotated[bool, "Whether the latest filing names it."]
    isLeadFiler: Annotated[bool, "Whether it reports most shares in the latest filing."]


class OwnerGroup(TypedDict):
    """Persons who filed together and said to be a group, through all their filings about a company.

    Its figures are those of the member who reports most: members report each other's shares, so that a sum would count
    them twice. Where each reports its own alone, the group has more.
    """

    id: int
    groupName: Annotated[str, "Of the member who reports most: forms name no group."]
    issuerCik: str
    issuerName: str
    members: list[GroupMember]
    aggregatePercent: Decimal | None
    aggregateShares: Decimal | None
    figuresRule: Literal["largest_member"]
    formationDate: Annotated[Date | None, "The event of its first filing as a group, where that is held."]
    isActive: Annotated[bool, "Whether the latest filing reports more than five per cent."]
    latestFiledAt: Time | None
    latestAccessionNo: str
    holes: Annotated[dict[str, Literal["not_reported", "cover_not_in_xml"]], "Why a figure is null, by its name."]


def groups(tx: Transaction, issuer: int | None, active: bool, limit: int, offset: int) -> tuple[list[OwnerGroup], int]:
    """A page of groups, those that filed last first; how many there are."""
    narrow = {"issuer": issuer, "active": active}
    rows = tx.list_rows("owner_groups", narrow, limit=limit, offset=offset)
    latest = json.dumps([row["filing_id"] for row in rows])
    lines = {row["latest"]: row for row in tx.list_rows("lines_of_groups", ids=latest)}
    members: dict[int, list[GroupMember]] = {}
    for row in tx.list_rows("members_of_groups", ids=latest):
        member = build_record(GroupMember, row, memberCik=_padded(row["cik"]))
        members.setdefault(row["latest"], []).append(member)
    found = [_group(row, lines[row["filing_id"]], members.get(row["filing_id"], [])) for row in rows]
    return found, int(tx.find_value("owner_groups_count", narrow))


def _group(row: Row, line: Row, members: list[GroupMember]) -> OwnerGroup:
    told = _told(row)
    figures = {"aggregatePercent": told["latestPercent"], "aggregateShares": told["latestShares"]}
    hole = "not_reported" if row["source"] else "cover_not_in_xml"
    return build_record(
        OwnerGroup,
        row,
        **figures,
        id=line["id"],
        formationDate=line["formationDate"],
        issuerCik=_padded(row["issuer_cik"]),
        members=members,
        figuresRule="largest_member",
        isActive=not row["is_exit"],
        holes={name: hole for name, value in figures.items() if value is None},
    )
