"""Schedules 13D and 13G as they are asked for: lists of filings, and one filing with everybody on its cover."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from finapi.core.records import Date, OneOf, Time, build_record
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership import bodies, holder_ids, purposes
from finapi.market.reference import sectors, share_splits
from finapi.store.db import Row, Transaction

# Why a figure is null.
HOLES = ("cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings")
Holes = dict[str, Annotated[str, OneOf(HOLES)]]

Kind = Literal["13D", "13G"]
# What a caller may narrow a list to, and the forms that it means: those of before and after December 2024.
FORM_TYPES: dict[str, tuple[str, ...]] = {
    **{kind: tuple(form for form in ALL_FORM_TYPES if kind in form) for kind in ("13D", "13G")},
    **{f"{kind}/A": tuple(form for form in ALL_FORM_TYPES if f"{kind}/A" in form) for kind in ("13D", "13G")},
    **{form: (form,) for form in ALL_FORM_TYPES},
}
SORTS = ("filedAt", "percentOfClass")
_ORDERS = {
    ("filedAt", True): "newest",
    ("filedAt", False): "oldest",
    ("percentOfClass", True): "greatest",
    ("percentOfClass", False): "least",
}
# Holders whose names match that are looked at.
_NAMES = 500
LAST_DAY = 10**9


class IntentFlags(TypedDict):
    """What sentences of Item 4 state without a hedge; null without an Item 4. Hints of where to read."""

    intends_to_acquire: bool | None
    opposes_management: bool | None
    board_seat_demand: bool | None
    seeks_sale_or_merger: bool | None


class ScheduleFiling(TypedDict):
    """A Schedule 13D or 13G with the figures of one of its persons: the one asked for, else who reports most."""

    accessionNumber: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    filedAt: Annotated[Time | None, "The acceptance; the beginning of the filing day where only that is known."]
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    filerCik: str | None
    filerName: str
    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    priorPercent: Annotated[Decimal | None, "In this person's filing before, of the same securities."]
    priorShares: Annotated[Decimal | None, "As they were filed then."]
    percentChange: Annotated[Decimal | None, "In percentage points."]
    sharesChange: Annotated[Decimal | None, "On shares of today's split."]
    splitFactor: Annotated[
        Decimal | None, "Shares that one share became through splits between the two; null without splits."
    ]
    priorAccessionNumber: str | None
    purpose: Annotated[str | None, f"The first {bodies.PURPOSE_SHOWN} characters of Item 4."]
    dateOfEvent: Date | None
    isAmendment: bool
    isConversion: Annotated[bool, "Whether the filing before was of the other schedule."]
    cusip: str | None
    titleOfClass: str | None
    soleVotingPower: Decimal | None
    sharedVotingPower: Decimal | None
    reportingPersonCount: int
    holderUuid: str
    intentFlags: IntentFlags
    holes: Annotated[Holes, "Why a figure is null, by its name."]


class ScheduleFilters(NamedTuple):
    """What narrows a list: filing days by their number, forms, the least percentage of the class."""

    issuer: int | None = None
    holders: Sequence[str] | None = None
    forms: Sequence[str] | None = None
    min_percent: float | None = None
    since: int = 0
    until: int = LAST_DAY
    amendment: bool | None = None
    conversion: bool | None = None
    intent: int | None = None
    sort: str = "filedAt"
    descending: bool = True


def list_filings(tx: Transaction, narrow: ScheduleFilters, limit: int, offset: int) -> tuple[list[ScheduleFiling], int]:
    """A page of filings, and how many there are."""
    values = {
        "issuer": narrow.issuer,
        "holders": json.dumps(list(narrow.holders or ())),
        "forms": None if narrow.forms is None else json.dumps(list(narrow.forms)),
        "min_percent": narrow.min_percent,
        "since": narrow.since,
        "until": narrow.until,
        "amendment": narrow.amendment,
        "conversion": narrow.conversion,
        "intent": narrow.intent,
    }
    turned = _ORDERS[narrow.sort, narrow.descending]
    if narrow.holders is not None:
        named, counted = f"schedules_of_holders_{turned}", "schedules_of_holders_count"
    elif narrow.issuer is not None:
        named, counted = f"schedules_of_issuer_{turned}", "schedules_of_issuer_count"
    else:
        named, counted = f"schedules_of_all_{turned}", "schedules_of_all_count"
    rows = tx.list_rows(named, values, limit=limit, offset=offset)
    return shown(tx, [(row["id"], row["seq"]) for row in rows]), int(tx.find_value(counted, values))


def count_undated(tx: Transaction, narrow: ScheduleFilters) -> int:
    """How many filings a window leaves out because their day is not known."""
    return list_filings(tx, narrow._replace(since=0, until=0), 1, 0)[1] if narrow.since else 0


def holders_of(tx: Transaction, cik: int | None, name: str | None) -> list[str] | None:
    """The holders that a CIK and a name both mean; None when neither is given."""
    if name is None:
        return None if cik is None else [holder_ids.for_cik(cik)]
    found = of_names(tx, name)
    return found if cik is None else [one for one in found if one == holder_ids.for_cik(cik)]


def of_names(tx: Transaction, text: str) -> list[str]:
    """The holders whose names have words that begin with each of a text's."""
    words = holder_ids.fold_name(text).split()[:10]
    if not words:
        return []
    rows = tx.list_rows("holders_of_words", words=json.dumps(words), count=len(words), limit=_NAMES)
    return [row["holder"] for row in rows]


def of_accession(tx: Transaction, accession: str) -> ScheduleFiling:
    """The row of a filing that is held, with the figures of its lead."""
    row = tx.find_row("schedule_lead", accession=accession)
    assert row is not None
    return shown(tx, [(row["id"], row["lead_seq"])])[0]


def shown(tx: Transaction, places: Sequence[tuple[int, int]]) -> list[ScheduleFiling]:
    """The filings of these places (filing, person) in their order."""
    rows = {
        (row["filing_id"], row["seq"]): row for row in tx.list_rows("schedules_shown", places=json.dumps(list(places)))
    }
    splits: dict[str, list[Row]] = {}
    return [_shown(tx, rows[place[0], place[1]], splits) for place in places]


def _shown(tx: Transaction, row: Row, splits: dict[str, list[Row]]) -> ScheduleFiling:
    percent, before = (_number(row[name]) for name in ("percent", "prior_percent"))
    shares, had = (_number(row[name]) for name in ("shares", "prior_shares"))
    factor = None
    if shares is not None and had is not None and row["issuerTicker"]:
        known = splits.setdefault(row["issuerTicker"], share_splits.list_for_ticker(tx, row["issuerTicker"]))
        factor = split_factor(known, row["prior_day"], row["day"])
    change = None if shares is None or had is None else shares - had * (factor or 1)
    points = None if percent is None or before is None else percent - before
    return build_record(
        ScheduleFiling,
        row,
        issuerCik=f"{row['issuer_cik']:010}",
        filerCik=None if row["cik"] is None else f"{row['cik']:010}",
        percentOfClass=percent,
        sharesOwned=shares,
        priorPercent=before,
        priorShares=had,
        percentChange=points,
        sharesChange=change,
        splitFactor=factor,
        purpose=_beginning(row["purpose"]),
        intentFlags=flags(row["intents"]),
        isConversion=row["prior_kind"] is not None and row["prior_kind"] != row["kind"],
        holes=_holes(row, percent, before, shares, had),
    )


def split_factor(splits: Sequence[Row], before: str | None, day: str | None) -> Decimal | None:
    """What a share became by the splits after one day and up to another; None without any, or without a day."""
    if before is None or day is None:
        return None
    factor = Decimal(1)
    for row in splits:
        if before < row["date"] <= day:
            factor *= Decimal(row["value"])
    return factor if factor != 1 else None


def _holes(
    row: Row, percent: Decimal | None, before: Decimal | None, shares: Decimal | None, had: Decimal | None
) -> dict[str, str]:
    """Why figures of a row are null."""
    mine = "not_reported" if row["source"] else "cover_not_in_xml"
    if row["prior_source"] is None:
        theirs = "earlier_filing_not_held" if row["isAmendment"] else "no_earlier_filing"
    else:
        theirs = "not_reported" if row["prior_source"] else "cover_not_in_xml"
    found: dict[str, str] = {}
    for name, other, change, now, then in (
        ("percentOfClass", "priorPercent", "percentChange", percent, before),
        ("sharesOwned", "priorShares", "sharesChange", shares, had),
    ):
        if now is None:
            found[name] = mine
        if then is None:
            found[other] = theirs
        if now is None or then is None:
            found[change] = "needs_both_filings"
    return found


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _beginning(text: str | None) -> str | None:
    long = text is not None and len(text) > bodies.PURPOSE_SHOWN
    return f"{text[: bodies.PURPOSE_SHOWN - 1]}\N{HORIZONTAL ELLIPSIS}" if text and long else text


class QueriedIssuer(TypedDict):
    """A company as the query endpoint names it."""

    name: str
    cik: str
    ticker: str | None


class QueriedFiler(TypedDict):
    """A person as the query endpoint names it."""

    name: str
    cik: str | None


class QueriedOwnership(TypedDict):
    """What a person reports of itself alone."""

    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    soleVotingPower: Decimal | None
    sharedVotingPower: Decimal | None


class QueriedSchedule(TypedDict):
    """A Schedule 13D or 13G as the query endpoint names it."""

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


def queried(row: ScheduleFiling) -> QueriedSchedule:
    """A filing as the query endpoint names it."""
    return build_record(
        QueriedSchedule,
        {**row},
        accessionNo=row["accessionNumber"],
        issuer={"name": row["nameOfIssuer"], "cik": row["issuerCik"], "ticker": row["issuerTicker"]},
        filer={"name": row["filerName"], "cik": row["filerCik"]},
        ownership=build_record(QueriedOwnership, {**row}),
    )


# ---- one filing


class ScheduleIssuer(TypedDict):
    """Whose securities they are."""

    cik: str
    ticker: str | None
    name: str
    sector: str | None
    industry: str | None


class SchedulePerson(TypedDict):
    """A person on the cover. What one reports, others of the filing may report too: figures are not to be added up."""

    cik: str | None
    name: str
    holderUuid: str
    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    memberOfGroup: Annotated[bool | None, "false: disclaims being a member; null: says neither."]
    isLead: Annotated[bool, "Whether lists show the filing with this person's figures."]
    citizenship: str | None
    typesOfReportingPerson: list[str]
    comment: str | None
    holes: Holes


class SchedulePosition(TypedDict):
    """The powers of a person over shares."""

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
    """A filing of the list, with everybody on its cover when that is asked for."""

    positions: NotRequired[Annotated[list[SchedulePosition], "Only with include=positions."]]


def with_positions(tx: Transaction, rows: Sequence[ScheduleFiling]) -> list[ListedSchedule]:
    """The filings with everybody on their covers."""
    found: dict[str, list[SchedulePosition]] = {}
    for row in tx.list_rows("persons_of_filings", accessions=json.dumps([one["accessionNumber"] for one in rows])):
        found.setdefault(row["accession"], []).append(_position(row))
    return [{**one, "positions": found[one["accessionNumber"]]} for one in rows]


class SchedulePurpose(TypedDict):
    """Item 4 of a Schedule 13D."""

    primary: Annotated[str | None, "The whole text."]
    flags: IntentFlags


class ScheduleDetail(TypedDict):
    """A Schedule 13D or 13G with everybody on its cover."""

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
    previousAccessionNumber: Annotated[str | None, "That the amendment names."]
    cusips: list[str]
    titleOfClass: str | None
    rules: Annotated[list[str], "Under which a 13G is filed."]
    isExit: Annotated[bool, "Whether five per cent of the class or less are left."]
    fundsSource: str | None
    transactions: str | None
    contracts: str | None
    groupMembers: str | None
    source: Annotated[Literal["document", "header"], "header: filed before covers were in XML."]


def detail(tx: Transaction, accession: str) -> ScheduleDetail | None:
    """One filing; None when it is not held."""
    row = tx.find_row("schedule_detail", accession=accession)
    if row is None:
        return None
    said = bodies.unpacked(row["body"])
    sector, industry = sectors.for_sic(row["sic"])
    persons = tx.list_rows("persons_of_filing", filing_id=row["id"])
    hole = "not_reported" if row["source"] else "cover_not_in_xml"
    issuer: ScheduleIssuer = {
        "cik": f"{row['issuer_cik']:010}",
        "ticker": row["ticker"],
        "name": row["issuer_name"],
        "sector": sector,
        "industry": industry,
    }
    return build_record(
        ScheduleDetail,
        row,
        issuer=issuer,
        filers=[
            _person(one, said.persons[one["seq"] - 1].comment, row["lead_seq"] == one["seq"], hole) for one in persons
        ],
        positions=[_position(one) for one in persons],
        purpose={"primary": said.purpose, "flags": flags(row["intents"])},
        previousAccessionNumber=said.previous_accession,
        cusips=list(said.cusips),
        rules=list(said.rules),
        fundsSource=said.source_of_funds,
        transactions=said.transactions,
        contracts=said.contracts,
        groupMembers=said.group_members,
        source="document" if row["source"] else "header",
    )


def flags(bits: int | None) -> IntentFlags:
    """The intents of Item 4 by name."""
    named: Mapping[str, Any] = purposes.named(bits)
    return build_record(IntentFlags, {**named})


def _person(row: Row, comment: str | None, leads: bool, hole: str) -> SchedulePerson:
    figures = {"percentOfClass": _number(row["percent"]), "sharesOwned": _number(row["shares"])}
    return build_record(
        SchedulePerson,
        row,
        **figures,
        cik=None if row["cik"] is None else f"{row['cik']:010}",
        memberOfGroup=None if row["member"] is None else row["member"] == "a",
        isLead=leads,
        typesOfReportingPerson=row["types"].split(),
        comment=comment,
        holes={name: hole for name, value in figures.items() if value is None},
    )


def _position(row: Row) -> SchedulePosition:
    sole, shared = _number(row["sole_voting"]), _number(row["shared_voting"])
    figures = {
        "percentOfClass": _number(row["percent"]),
        "sharesOwned": _number(row["shares"]),
        "votingPower": None if sole is None or shared is None else sole + shared,
        "soleVotingPower": sole,
        "sharedVotingPower": shared,
        "soleDispositivePower": _number(row["sole_dispositive"]),
        "sharedDispositivePower": _number(row["shared_dispositive"]),
    }
    hole = "not_reported" if row["source"] else "cover_not_in_xml"
    return build_record(
        SchedulePosition,
        row,
        **figures,
        filerCik=None if row["cik"] is None else f"{row['cik']:010}",
        filerName=row["name"],
        holes={name: hole for name, value in figures.items() if value is None},
    )
