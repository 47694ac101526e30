"""Storing Schedules 13D and 13G from documents, submission headers and packs.

A schedule reports the stakes of one or several *reporting persons* in one issuer. Joint filers and the members of a
group mostly report the same shares, so figures of several persons are never added up. Instead, the person who reports
the most shares is the *lead*, and its figures stand for the filing.

All filings of one holder about one issuer, in the order of their days, are a *chain*. Each person's row has a link to
the row before it in the chain (``prior_id``), from which changes are computed. A filing may arrive late, or its day may
become known later, so the links after it are recomputed.

The stored rows do not depend on the order in which filings arrive: a document replaces a header, and of two documents
under one accession number the one with the greater hash is kept.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from finapi.core import stopping
from finapi.edgar.form_families import SCHEDULES
from finapi.edgar.schedules import ReportingPerson, Schedule
from finapi.edgar.sgml import SubmissionHeader
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    HEADER_EVIDENCE,
    PARTY_RANKS,
    FilingMetadata,
    Party,
    compute_filing_id,
    is_unfiled,
)
from finapi.market.insiders.form_positions import compute_filing_day_number
from finapi.market.ownership import holder_ids, purposes, schedule_filings, stored_documents
from finapi.market.ownership.schedule_filings import MEMBER_OF_GROUP
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Transaction

# The sources of a stored schedule. A greater number is a better source.
FROM_HEADER = 0
FROM_DOCUMENT = 1

# A greater percentage is a typing error, because no one can own more than the complete class.
_MAX_PERCENT = Decimal(100)
# A 13G must be filed by owners of more than five per cent.
_REPORTABLE_PERCENT = Decimal(5)
_MAX_CHAIN_ROWS = 1_000
_MAX_NAME_WORDS = 20


def upsert(
    tx: Transaction, schedule: Schedule, metadata: FilingMetadata, now: datetime, source: int = FROM_DOCUMENT
) -> bool:
    """Store a schedule under its filing. Return False if it is already stored and nothing about it has changed."""
    text = stored_documents.encode(schedule)
    content_hash = hashlib.sha256(text).digest()
    if metadata.filed_at is None:
        metadata = replace(metadata, filed_at=tx.find_value("filing_times", accession=metadata.accession))
    is_news = True
    rows = tx.list_rows("stored_schedules", accession=metadata.accession, content=content_hash)
    for row in identification.select_same_filing(rows, metadata.accession):
        stored_source = row["source"]
        if not identification.is_replaced_by(row, metadata, content_hash, source=source, stored_source=stored_source):
            return False
        metadata = replace(metadata, filed_at=metadata.filed_at or row["filed_at"])
        _delete(tx, row["id"])
        is_news = is_unfiled(row["accession"]) or stored_source < source
    _insert(tx, schedule, metadata, text, source, now)
    tx.run("bump_data_version")
    if is_news:
        heartbeats.record_arrival(tx, "filing", now)
    if is_news and source == FROM_DOCUMENT and not is_unfiled(metadata.accession):
        _announce(tx, metadata.accession, now)
    return True


def upsert_header(tx: Transaction, header: SubmissionHeader, now: datetime) -> bool:
    """Store the issuer and the filers that the header of a filing without XML states. Return True if anything is new.

    The row of such a filing has no figures.
    """
    issuer = next((party for party in header.parties if party.role == "subject"), None)
    filer_names = {party.cik: party.name for party in header.parties if party.role == "filed_by"}
    if issuer is None or not filer_names:
        return False
    schedule = Schedule(
        form=header.form,
        filer_cik=None,
        previous_accession=None,
        amendment_number=None,
        class_title=None,
        event_date=None,
        issuer_cik=issuer.cik,
        issuer_name=issuer.name,
        cusips=(),
        rules=(),
        persons=tuple(_build_person_without_figures(cik, name) for cik, name in filer_names.items()),
        source_of_funds=None,
        purpose=None,
        transactions=None,
        contracts=None,
        group_members=None,
        dissolution=None,
        is_five_percent_or_less=None,
    )
    metadata = FilingMetadata(header.accession, HEADER_EVIDENCE, filed_at=header.filed, accepted_at=header.accepted)
    return upsert(tx, schedule, metadata, now, FROM_HEADER)


def _build_person_without_figures(cik: str, name: str) -> ReportingPerson:
    return ReportingPerson(
        name=name,
        cik=cik,
        has_no_cik=None,
        group_membership=None,
        citizenship=None,
        sole_voting=None,
        shared_voting=None,
        sole_dispositive=None,
        shared_dispositive=None,
        shares=None,
        excludes_certain_shares=None,
        percent_of_class=None,
        person_types=(),
        fund_sources=(),
        comment=None,
    )


def complete_undated(tx: Transaction, now: datetime) -> int:
    """Update the schedules whose accession number or filing day has become known.

    Return the number of changed schedules.

    If a stop is requested, the remaining schedules stay undated until the next call.
    """
    changed = 0
    for row in tx.list_rows("undated_schedules"):
        if stopping.is_requested():
            break
        schedule = stored_documents.decode_schedule(row["body"])
        metadata = identification.find_completed_metadata(tx, row, build_claim(schedule))
        if metadata is not None:
            changed += upsert(tx, schedule, metadata, now, row["source"])
    return changed


def build_claim(schedule: Schedule) -> FilingClaim:
    """Return the facts by which the filing of a schedule can be identified.

    The event date is used as the period, which EDGAR's lists of filings do not state for schedules.
    """
    ciks = [schedule.issuer_cik, schedule.filer_cik, *(person.cik for person in schedule.persons)]
    return FilingClaim(
        [int(cik) for cik in ciks if cik],
        schedule.form,
        schedule.event_date or "",
        hashlib.sha256(stored_documents.encode(schedule)).digest(),
    )


def find_lead_index(persons: Sequence[ReportingPerson]) -> int:
    """Return the index of the person who reports the most shares (on a tie the first), or 0 if none reports any."""
    lead_index = 0
    most_shares: Decimal | None = None
    for index, person in enumerate(persons):
        if person.shares is None:
            continue
        shares = Decimal(person.shares)
        if most_shares is None or shares > most_shares:
            lead_index = index
            most_shares = shares
    return lead_index


def validate_percent(percent: str | None) -> str | None:
    """Return a percentage of a class, or None if it is above 100."""
    return percent if percent is not None and Decimal(percent) <= _MAX_PERCENT else None


def _insert(
    tx: Transaction, schedule: Schedule, metadata: FilingMetadata, text: bytes, source: int, now: datetime
) -> None:
    filing_id = compute_filing_id(metadata.accession)
    filed_day = compute_filing_day_number(metadata.filed_at)
    issuer_cik = int(schedule.issuer_cik)
    cusip = schedule.cusips[0] if schedule.cusips else ""
    companies.upsert_name(tx, issuer_cik, schedule.issuer_name, companies.FROM_FILING_LIST, metadata.filed_at or "")
    _upsert_filing(tx, schedule, metadata, source, now)
    lead_index = find_lead_index(schedule.persons)
    lead = schedule.persons[lead_index]
    tx.run(
        "insert_schedule_filing",
        id=filing_id,
        form=schedule.form,
        amendment=schedule.amendment_number,
        issuer_name=schedule.issuer_name,
        title=schedule.class_title,
        accession=metadata.accession,
        content=hashlib.sha256(text).digest(),
        source=source,
        kind="13D" if "13D" in schedule.form else "13G",
        is_amendment=schedule.form.endswith("/A"),
        issuer_cik=issuer_cik,
        cusip=cusip,
        event_date=schedule.event_date,
        filed_at=metadata.filed_at,
        filed_day=filed_day,
        person_count=len(schedule.persons),
        is_group=_is_group(schedule),
        is_exit=_is_exit(schedule, lead),
        # One character more than lists show, so that a list can tell if it must add an ellipsis.
        purpose=schedule.purpose and schedule.purpose[: purposes.PREVIEW_CHARS + 1],
        intents=purposes.find_intents(schedule.purpose),
        lead_seq=lead_index + 1,
        lead_percent=validate_percent(lead.percent_of_class),
        lead_shares=lead.shares,
    )
    tx.run("insert_schedule_body", filing_id=filing_id, document=metadata.primary_document, body=zlib.compress(text))
    for seq, person in enumerate(schedule.persons, 1):
        cik = _find_person_cik(schedule, person)
        holder_id = holder_ids.for_cik(cik) if cik else holder_ids.for_name(person.name)
        tx.run(
            "insert_schedule_person",
            filing_id=filing_id,
            seq=seq,
            holder=holder_id,
            cik=cik,
            name=person.name,
            member=person.group_membership,
            citizenship=person.citizenship,
            types=" ".join(person.person_types),
            shares=person.shares,
            percent=validate_percent(person.percent_of_class),
            sole_voting=person.sole_voting,
            shared_voting=person.shared_voting,
            sole_dispositive=person.sole_dispositive,
            shared_dispositive=person.shared_dispositive,
            issuer_cik=issuer_cik,
            cusip=cusip,
            filed_day=filed_day,
        )
        words = dict.fromkeys(holder_ids.fold_name(person.name).split()[:_MAX_NAME_WORDS])
        tx.insert_rows("insert_schedule_word", [(word, holder_id) for word in words])
        _recompute_chain(tx, issuer_cik, holder_id, filed_day, filing_id)


def _upsert_filing(tx: Transaction, schedule: Schedule, metadata: FilingMetadata, source: int, now: datetime) -> None:
    """Store the row of the filing itself, unless its accession number is not known."""
    parties = _list_parties(schedule)
    if source == FROM_HEADER:
        filing_store.upsert(tx, replace(metadata, parties=parties, form=schedule.form), now, announces=False)
    elif not is_unfiled(metadata.accession):
        document_metadata = FilingMetadata(metadata.accession, DOCUMENT_EVIDENCE, parties, form=schedule.form)
        filing_store.upsert_filing_of_xml_document(tx, metadata, document_metadata, now)


def _list_parties(schedule: Schedule) -> list[Party]:
    """Return the issuer and the reporting persons that have a CIK."""
    parties = [Party(int(schedule.issuer_cik), PARTY_RANKS["subject"], schedule.issuer_name)]
    for person in schedule.persons:
        cik = _find_person_cik(schedule, person)
        if cik is not None:
            parties.append(Party(cik, PARTY_RANKS["filed_by"], person.name))
    return parties


def _find_person_cik(schedule: Schedule, person: ReportingPerson) -> int | None:
    """Return a person's CIK, or None.

    If the schedule has a single person who states neither a CIK nor that it has none, return the CIK whose credentials
    filed the schedule, unless it is the issuer's.
    """
    if person.cik is not None:
        return int(person.cik)
    is_only_person = len(schedule.persons) == 1
    if is_only_person and not person.has_no_cik and schedule.filer_cik and schedule.filer_cik != schedule.issuer_cik:
        return int(schedule.filer_cik)
    return None


def _is_group(schedule: Schedule) -> bool:
    return any(person.group_membership == MEMBER_OF_GROUP for person in schedule.persons)


def _is_exit(schedule: Schedule, lead: ReportingPerson) -> bool:
    """Return True if at most five per cent of the class are left.

    Item 5 of a 13G states this, or the lead's percentage in an amendment shows it. The lead's percentage says nothing
    about a group, because the group may own more than its lead.
    """
    if schedule.is_five_percent_or_less:
        return True
    if not schedule.form.endswith("/A") or _is_group(schedule):
        return False
    percent = validate_percent(lead.percent_of_class)
    return percent is not None and Decimal(percent) <= _REPORTABLE_PERCENT


def _delete(tx: Transaction, filing_id: int) -> None:
    """Delete a schedule, and link the filings before and after it in the chains of its persons."""
    persons = tx.list_rows("chains_of_schedule", filing_id=filing_id)
    tx.run("delete_schedule_filing", id=filing_id)
    for person in persons:
        _recompute_chain(tx, person["issuer_cik"], person["holder"], person["filed_day"], filing_id)


def _recompute_chain(tx: Transaction, issuer_cik: int, holder_id: str, from_day: int, from_filing_id: int) -> None:
    """Recompute the links to previous filings and the latest-filing flags of a chain, starting at one filing."""
    chain = {"issuer_cik": issuer_cik, "holder": holder_id}
    rows = tx.list_rows("chain_rows", chain, filed_day=from_day, filing_id=from_filing_id, limit=_MAX_CHAIN_ROWS)
    for row in rows:
        tx.run("update_prior_of_person", id=row["id"])
        if row["seq"] == row["lead_seq"]:
            tx.run("update_prior_of_schedule", id=row["filing_id"])
    tx.run("update_current_persons", chain)
    tx.run("update_latest_schedules", chain)


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    filing = schedule_filings.get_filing(tx, accession)
    payload = {
        "ticker": filing["issuerTicker"],
        "issuer_cik": filing["issuerCik"],
        "issuer_name": filing["nameOfIssuer"],
        "form_type": filing["formType"],
        "holder_name": filing["filerName"],
        "holder_cik": filing["filerCik"],
        "percent_of_class": filing["percentOfClass"],
        "shares": filing["sharesOwned"],
        "previous_percent_of_class": filing["priorPercent"],
        "event_date": filing["dateOfEvent"],
    }
    news = announcements.ContentNews(filing, payload, accession)
    announcements.announce_content_news(tx, now, SCHEDULES, accession, [news])
