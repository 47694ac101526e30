"""Schedules 13D and 13G into rows: the one way in, for documents, headers and packs alike.

Whatever order filings come in, the same rows stand in the end: a document is better than a header, of two documents
under one accession number the greater hash stays, and what came before what is worked out anew for the chain of
filings that a new one joins.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from finapi.core import stopping
from finapi.edgar.form_families import SCHEDULES
from finapi.edgar.schedules import ReportingPerson, Schedule
from finapi.edgar.sgml import SubmissionHeader
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.identification import Subject
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    HEADER_EVIDENCE,
    PARTY_RANKS,
    UNFILED_PREFIX,
    FilingMetadata,
    Party,
    accession_to_int,
    is_unfiled,
)
from finapi.market.insiders.form_positions import filing_day_number
from finapi.market.ownership import bodies, holder_ids, purposes
from finapi.market.ownership import schedule_filings as lists
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row, Transaction

FROM_HEADER, FROM_DOCUMENT = 0, 1

# No holder has more than all of a class. Filers mistype: what is more is not believed.
_WHOLE = Decimal(100)
# Rows of one holder and issuer that are linked anew when a filing comes between them.
_CHAIN = 1_000


def upsert(
    tx: Transaction, schedule: Schedule, filed: FilingMetadata, now: datetime, source: int = FROM_DOCUMENT
) -> bool:
    """Store a schedule under its filing; False when it is held already and nothing new is told."""
    text = bodies.encoded(schedule)
    content = hashlib.sha256(text).digest()
    if filed.filed_at is None:
        filed = replace(filed, filed_at=tx.find_value("filing_times", accession=filed.accession))
    new = True
    for held in tx.list_rows("held_schedules", accession=filed.accession, content=content):
        if held["accession"] != filed.accession and not (is_unfiled(filed.accession) or is_unfiled(held["accession"])):
            continue
        if not _gives_way(held, filed, content, source):
            return False
        filed = replace(filed, filed_at=filed.filed_at or held["filed_at"])
        _remove(tx, held["id"])
        new = is_unfiled(held["accession"]) or held["source"] < source
    _insert(tx, schedule, filed, text, source, now)
    tx.run("bump_data_version")
    if new:
        heartbeats.record_arrival(tx, "filing", now)
    if new and source == FROM_DOCUMENT and not is_unfiled(filed.accession):
        _announce(tx, filed.accession, now)
    return True


def upsert_header(tx: Transaction, header: SubmissionHeader, now: datetime) -> bool:
    """Store what the header of a filing without XML tells: its issuer and who filed it; whether anything was new."""
    issuer = next((one for one in header.parties if one.role == "subject"), None)
    filers = {one.cik: one for one in header.parties if one.role == "filed_by"}
    if issuer is None or not filers:
        return False
    blank: dict[str, Any] = {one.name: None for one in fields(ReportingPerson)} | {
        "person_types": (),
        "fund_sources": (),
    }
    persons = tuple(ReportingPerson(**{**blank, "name": one.name, "cik": cik}) for cik, one in filers.items())
    nothing: dict[str, Any] = {one.name: None for one in fields(Schedule)} | {"cusips": (), "rules": ()}
    said = {"form": header.form, "issuer_cik": issuer.cik, "issuer_name": issuer.name, "persons": persons}
    filed = FilingMetadata(header.accession, HEADER_EVIDENCE, filed_at=header.filed, accepted_at=header.accepted)
    return upsert(tx, Schedule(**{**nothing, **said}), filed, now, FROM_HEADER)


def complete_undated(tx: Transaction, now: datetime) -> int:
    """Complete schedules whose filing or day was unknown. Return how many were settled.

    A stop ends it after a document; the rest is still noted as undated.
    """
    settled = 0
    for row in tx.list_rows("undated_schedules"):
        if stopping.is_requested():
            break
        schedule, accession = bodies.unpacked(row["body"]), row["accession"]
        if is_unfiled(accession):
            accession = identification.find_listed_accession(tx, build_subject(schedule)) or accession
        filed_at = tx.find_value("filing_times", accession=accession)
        if filed_at is not None:
            filed = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at, primary_document=row["document"])
            settled += upsert(tx, schedule, filed, now, row["source"])
    return settled


def build_subject(schedule: Schedule) -> Subject:
    """What a schedule says of its filing: no list tells the day of its event as a period."""
    ciks = [
        int(one) for one in (schedule.issuer_cik, schedule.filer_cik, *(one.cik for one in schedule.persons)) if one
    ]
    return Subject(ciks, schedule.form, schedule.event_date or "", hashlib.sha256(bodies.encoded(schedule)).digest())


def compute_filing_id(accession: str) -> int:
    """The number by which a filing is stored: of its accession number, or below zero of its hash."""
    return (
        -1 - int(accession.removeprefix(UNFILED_PREFIX)[:15], 16)
        if is_unfiled(accession)
        else accession_to_int(accession)
    )


def lead(persons: Sequence[ReportingPerson]) -> int:
    """Whose figures are the filing's, by place: the first of those who report the most shares, else the first."""
    most = max((Decimal(one.shares) for one in persons if one.shares is not None), default=None)
    reported = (place for place, one in enumerate(persons) if one.shares is not None and Decimal(one.shares) == most)
    return next(reported, 0)


def believed(percent: str | None) -> str | None:
    """A percentage of a class; None for one that is more than all of it."""
    return percent if percent is not None and Decimal(percent) <= _WHOLE else None


def _gives_way(held: Row, filed: FilingMetadata, content: bytes, source: int) -> bool:
    if held["accession"] != filed.accession:
        return not is_unfiled(filed.accession)
    if held["content"] == content:
        return filed.filed_at is not None and filed.filed_at != held["filed_at"]
    return (source, content) > (held["source"], held["content"])


def _insert(
    tx: Transaction, schedule: Schedule, filed: FilingMetadata, text: bytes, source: int, now: datetime
) -> None:
    filing, day = compute_filing_id(filed.accession), filing_day_number(filed.filed_at)
    issuer = int(schedule.issuer_cik)
    companies.upsert_name(tx, issuer, schedule.issuer_name, companies.FROM_FILING_LIST, filed.filed_at or "")
    parties = _parties(schedule)
    if source == FROM_HEADER:
        filing_store.upsert(tx, replace(filed, parties=parties, form=schedule.form), now, announces=False)
    elif not is_unfiled(filed.accession):
        named = filed.primary_document if (filed.primary_document or "").endswith(".xml") else None
        inside = FilingMetadata(filed.accession, DOCUMENT_EVIDENCE, parties, form=schedule.form, primary_document=named)
        filing_store.upsert_document(tx, replace(filed, primary_document=None), inside, now)
    cusip = schedule.cusips[0] if schedule.cusips else ""
    leading = schedule.persons[lead(schedule.persons)]
    tx.run(
        "insert_schedule",
        id=filing,
        form=schedule.form,
        amendment=schedule.amendment_number,
        issuer_name=schedule.issuer_name,
        title=schedule.class_title,
        accession=filed.accession,
        content=hashlib.sha256(text).digest(),
        source=source,
        kind="13D" if "13D" in schedule.form else "13G",
        is_amendment=schedule.form.endswith("/A"),
        issuer_cik=issuer,
        cusip=cusip,
        event_date=schedule.event_date,
        filed_at=filed.filed_at,
        filed_day=day,
        person_count=len(schedule.persons),
        is_group=any(one.group_membership == "a" for one in schedule.persons),
        is_exit=_is_exit(schedule, leading),
        purpose=schedule.purpose and schedule.purpose[: bodies.PURPOSE_SHOWN + 1],
        intents=purposes.find_intents(schedule.purpose),
        lead_seq=lead(schedule.persons) + 1,
        lead_percent=believed(leading.percent_of_class),
        lead_shares=leading.shares,
    )
    tx.run("insert_schedule_body", filing_id=filing, document=filed.primary_document, body=zlib.compress(text))
    for seq, one in enumerate(schedule.persons, 1):
        cik = _cik(schedule, one)
        holder = holder_ids.for_cik(cik) if cik else holder_ids.for_name(one.name)
        values = {name: getattr(one, name) for name in _OF_PERSON}
        place = {"filing_id": filing, "seq": seq, "issuer_cik": issuer, "cusip": cusip, "filed_day": day}
        tx.run(
            "insert_schedule_person",
            values,
            **place,
            holder=holder,
            cik=cik,
            member=one.group_membership,
            percent=believed(one.percent_of_class),
            types=" ".join(one.person_types),
        )
        tx.insert_rows(
            "insert_schedule_words",
            [(word, holder) for word in dict.fromkeys(holder_ids.fold_name(one.name).split()[:20])],
        )
        _link(tx, issuer, holder, day, filing)


def _parties(schedule: Schedule) -> list[Party]:
    """Whom the filing is about, and who of its persons has a CIK."""
    known = [(_cik(schedule, one), one.name) for one in schedule.persons]
    filers = [Party(cik, PARTY_RANKS["filed_by"], name) for cik, name in known if cik]
    return [Party(int(schedule.issuer_cik), PARTY_RANKS["subject"], schedule.issuer_name), *filers]


_OF_PERSON = (
    "name",
    "citizenship",
    "shares",
    "sole_voting",
    "shared_voting",
    "sole_dispositive",
    "shared_dispositive",
)


def _cik(schedule: Schedule, person: ReportingPerson) -> int | None:
    """A person's CIK: its own, or that of the credentials when it alone reports and does not say that it has none."""
    if person.cik is not None:
        return int(person.cik)
    alone = len(schedule.persons) == 1 and not person.has_no_cik and schedule.filer_cik != schedule.issuer_cik
    return int(schedule.filer_cik) if alone and schedule.filer_cik else None


def _is_exit(schedule: Schedule, leading: ReportingPerson) -> bool:
    """Whether five per cent or less are left: Item 5 of a 13G says so, or the figure of an amendment's lead.

    Of a group that figure is not all that the group has.
    """
    percent, grouped = believed(leading.percent_of_class), any(one.group_membership == "a" for one in schedule.persons)
    amended = schedule.form.endswith("/A") and not grouped
    return bool(schedule.is_five_percent_or_less) or (amended and percent is not None and Decimal(percent) <= 5)


def _remove(tx: Transaction, filing: int) -> None:
    """Take a filing out, and close the chains that it was in."""
    persons = tx.list_rows("persons_of_schedule", filing_id=filing)
    tx.run("delete_schedule", id=filing)
    for one in persons:
        _link(tx, one["issuer_cik"], one["holder"], one["filed_day"], filing)


def _link(tx: Transaction, issuer: int, holder: str, day: int, filing: int) -> None:
    """Work out anew what each row of a chain follows, from a filing's place on."""
    chain = {"issuer_cik": issuer, "holder": holder}
    for row in tx.list_rows("schedule_chain_from", chain, filed_day=day, filing_id=filing, limit=_CHAIN):
        tx.run("link_schedule_person", id=row["id"])
        if row["seq"] == row["lead_seq"]:
            tx.run("link_schedule", id=row["filing_id"])
    tx.run("mark_current_persons", chain)
    tx.run("mark_latest_schedules", chain)


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    shown = lists.of_accession(tx, accession)
    payload = {
        "ticker": shown["issuerTicker"],
        "issuer_cik": shown["issuerCik"],
        "issuer_name": shown["nameOfIssuer"],
        "form_type": shown["formType"],
        "holder_name": shown["filerName"],
        "holder_cik": shown["filerCik"],
        "percent_of_class": shown["percentOfClass"],
        "shares": shown["sharesOwned"],
        "previous_percent_of_class": shown["priorPercent"],
        "event_date": shown["dateOfEvent"],
    }
    announcements.announce_contents(
        tx, now, SCHEDULES, accession, [announcements.ContentNews(shown, payload, accession)]
    )
