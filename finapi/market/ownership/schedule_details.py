"""One Schedule 13D or 13G with all persons on its cover and the texts of its items.

The persons of a joint filing or a group mostly report the same shares: each member of a group is deemed to own what the
others own. Their figures are listed by person and must not be added up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Literal, NotRequired, TypedDict

from finapi.core.records import Date, OneOf, Time, build_record, format_cik, parse_decimal
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership import schedule_filings, stored_documents
from finapi.market.ownership.schedule_filings import MEMBER_OF_GROUP, Holes, IntentFlags, ScheduleFiling
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction


class ScheduleIssuer(TypedDict):
    """The company whose securities a schedule is about."""

    cik: str
    ticker: str | None
    name: str
    sector: str | None
    industry: str | None


class SchedulePerson(TypedDict):
    """A person on the cover."""

    cik: str | None
    name: str
    holderUuid: str
    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    memberOfGroup: Annotated[bool | None, "false: the person disclaims being a member; null: it states neither."]
    isLead: Annotated[bool, "true: lists show the filing with the figures of this person."]
    citizenship: str | None
    typesOfReportingPerson: list[str]
    comment: str | None
    holes: Holes


class SchedulePosition(TypedDict):
    """The shares that a person owns, and its voting and dispositive power over them."""

    filerCik: str | None
    filerName: str
    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    votingPower: Annotated[Decimal | None, "Sole and shared."]
    soleVotingPower: Decimal | None
    sharedVotingPower: Decimal | None
    soleDispositivePower: Decimal | None
    sharedDispositivePower: Decimal | None
    holes: Holes


class ListedSchedule(ScheduleFiling):
    """A filing in a list. It includes all persons on its cover if the request asks for positions."""

    positions: NotRequired[Annotated[list[SchedulePosition], "Only with include=positions."]]


class SchedulePurpose(TypedDict):
    """Item 4 of a Schedule 13D."""

    primary: Annotated[str | None, "The complete text."]
    flags: IntentFlags


class ScheduleDetail(TypedDict):
    """A Schedule 13D or 13G with all persons on its cover."""

    accessionNumber: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    filedAt: Time | None
    issuer: ScheduleIssuer
    filers: list[SchedulePerson]
    positions: list[SchedulePosition]
    purpose: SchedulePurpose
    dateOfEvent: Date | None
    isAmendment: bool
    amendmentNumber: int | None
    previousAccessionNumber: Annotated[str | None, "The previous filing that the amendment names."]
    cusips: list[str]
    titleOfClass: str | None
    rules: Annotated[list[str], "The rules under which a 13G is filed."]
    isExit: Annotated[bool, "true: five per cent of the class or less are left."]
    fundsSource: str | None
    transactions: str | None
    contracts: str | None
    groupMembers: str | None
    source: Annotated[Literal["document", "header"], "header: filed before covers were in XML."]


def add_positions(tx: Transaction, filings: Sequence[ScheduleFiling]) -> list[ListedSchedule]:
    """Return the filings with the positions of all persons on their covers."""
    accessions = [filing["accessionNumber"] for filing in filings]
    positions: dict[str, list[SchedulePosition]] = {}
    for row in tx.list_rows("persons_of_filings", accessions=json.dumps(accessions)):
        positions.setdefault(row["accession"], []).append(_build_position(row))
    return [{**filing, "positions": positions[filing["accessionNumber"]]} for filing in filings]


def find_detail(tx: Transaction, accession: str) -> ScheduleDetail | None:
    """Return one filing, or None if it is not stored."""
    row = tx.find_row("schedule_detail", accession=accession)
    if row is None:
        return None
    schedule = stored_documents.decode_schedule(row["body"])
    sector, industry = sectors.get_names_of_sic(row["sic"])
    issuer: ScheduleIssuer = {
        "cik": f"{row['issuer_cik']:010}",
        "ticker": row["ticker"],
        "name": row["issuer_name"],
        "sector": sector,
        "industry": industry,
    }
    purpose: SchedulePurpose = {
        "primary": schedule.purpose,
        "flags": schedule_filings.build_intent_flags(row["intents"]),
    }
    person_rows = tx.list_rows("persons_of_filing", filing_id=row["id"])
    filers = []
    for person_row in person_rows:
        comment = schedule.persons[person_row["seq"] - 1].comment
        is_lead = person_row["seq"] == row["lead_seq"]
        filers.append(_build_person(person_row, comment, is_lead=is_lead))
    return build_record(
        ScheduleDetail,
        row,
        issuer=issuer,
        filers=filers,
        positions=[_build_position(person_row) for person_row in person_rows],
        purpose=purpose,
        previousAccessionNumber=schedule.previous_accession,
        cusips=list(schedule.cusips),
        rules=list(schedule.rules),
        fundsSource=schedule.source_of_funds,
        transactions=schedule.transactions,
        contracts=schedule.contracts,
        groupMembers=schedule.group_members,
        source="document" if row["source"] else "header",
    )


def _build_person(row: Row, comment: str | None, *, is_lead: bool) -> SchedulePerson:
    figures = {"percentOfClass": parse_decimal(row["percent"]), "sharesOwned": parse_decimal(row["shares"])}
    return build_record(
        SchedulePerson,
        row,
        **figures,
        cik=format_cik(row["cik"]),
        memberOfGroup=None if row["member"] is None else row["member"] == MEMBER_OF_GROUP,
        isLead=is_lead,
        typesOfReportingPerson=row["types"].split(),
        comment=comment,
        holes=_find_holes(row, figures),
    )


def _build_position(row: Row) -> SchedulePosition:
    sole_voting = parse_decimal(row["sole_voting"])
    shared_voting = parse_decimal(row["shared_voting"])
    figures = {
        "percentOfClass": parse_decimal(row["percent"]),
        "sharesOwned": parse_decimal(row["shares"]),
        "votingPower": None if sole_voting is None or shared_voting is None else sole_voting + shared_voting,
        "soleVotingPower": sole_voting,
        "sharedVotingPower": shared_voting,
        "soleDispositivePower": parse_decimal(row["sole_dispositive"]),
        "sharedDispositivePower": parse_decimal(row["shared_dispositive"]),
    }
    return build_record(
        SchedulePosition,
        row,
        **figures,
        filerCik=format_cik(row["cik"]),
        filerName=row["name"],
        holes=_find_holes(row, figures),
    )


def _find_holes(row: Row, figures: Mapping[str, Decimal | None]) -> dict[str, str]:
    """Return the reason for each figure that is None."""
    reason = schedule_filings.get_hole_reason(row["source"])
    return {name: reason for name, figure in figures.items() if figure is None}
