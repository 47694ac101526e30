"""Groups of owners: persons who file a schedule together and state that they are members of a group.

Forms do not identify a group by a name or number, so a group is traced through its filings about a company. The *line*
of a group starts at its latest filing and goes back, from each filing to the previous filing of its lead (the person
who reports the most shares). A line is identified by its first filing, so the id of a group does not change when a
later filing arrives. If several filings follow one filing, only one continues its line: an amendment of the same kind
before any other, then the earliest. The others begin lines of their own.

The members of a group mostly report the same shares, because each is deemed to own the shares of all. The figures of a
group are therefore those of the member who reports the most. If each member reports only its own shares, this
understates the group's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal, TypedDict

from finapi.core.records import Date, Time, build_record, format_cik
from finapi.market.ownership.stakes import parse_figures
from finapi.store.db import Row, Transaction


class GroupMember(TypedDict):
    """A person who stated that it is a member of a group."""

    memberName: str
    memberCik: str | None
    isCurrentMember: Annotated[bool, "true: the latest filing names the member."]
    isLeadFiler: Annotated[bool, "true: the member reports the most shares in the latest filing."]


class OwnerGroup(TypedDict):
    """A group of owners of a company, with the figures of its latest filing."""

    id: int
    groupName: Annotated[str, "Name of the member who reports the most shares, because forms do not name groups."]
    issuerCik: str
    issuerName: str
    members: list[GroupMember]
    aggregatePercent: Decimal | None
    aggregateShares: Decimal | None
    figuresRule: Literal["largest_member"]
    formationDate: Annotated[Date | None, "The event of its first filing as a group, if that is stored."]
    isActive: Annotated[bool, "true: the latest filing reports more than five per cent."]
    latestFiledAt: Time | None
    latestAccessionNo: str
    holes: Annotated[
        dict[str, Literal["not_reported", "cover_not_in_xml"]], "The reason for each figure that is null, by its name."
    ]


def list_groups(
    tx: Transaction, issuer: int | None, active_only: bool, limit: int, offset: int
) -> tuple[list[OwnerGroup], int]:
    """Return a page of groups, those that filed last first, and the number of all."""
    parameters = {"issuer": issuer, "active_only": active_only}
    rows = tx.list_rows("owner_groups", parameters, limit=limit, offset=offset)
    latest_filings = json.dumps([row["filing_id"] for row in rows])
    lines = {row["latest"]: row for row in tx.list_rows("lines_of_groups", ids=latest_filings)}
    members: dict[int, list[GroupMember]] = {}
    for row in tx.list_rows("members_of_groups", ids=latest_filings):
        member = build_record(GroupMember, row, memberCik=format_cik(row["cik"]))
        members.setdefault(row["latest"], []).append(member)
    groups = []
    for row in rows:
        filing_id = row["filing_id"]
        groups.append(_build_group(row, lines[filing_id], members.get(filing_id, [])))
    return groups, int(tx.find_value("count_owner_groups", parameters))


def _build_group(row: Row, line: Row, members: Sequence[GroupMember]) -> OwnerGroup:
    figures = parse_figures(row)
    holes = {}
    if figures.percent is None:
        holes["aggregatePercent"] = figures.hole_reason
    if figures.shares is None:
        holes["aggregateShares"] = figures.hole_reason
    return build_record(
        OwnerGroup,
        row,
        id=line["id"],
        issuerCik=f"{row['issuer_cik']:010}",
        members=members,
        aggregatePercent=figures.percent,
        aggregateShares=figures.shares,
        figuresRule="largest_member",
        formationDate=line["formationDate"],
        isActive=not row["is_exit"],
        holes=holes,
    )
