"""The form family of Schedules 13D and 13G (``market/documents/families.py``)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from finapi.edgar import schedules
from finapi.edgar.schedules import Schedule
from finapi.market.documents.families import Family
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, HEADER_EVIDENCE, FilingMetadata, from_pack_row
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.ownership import schedule_store, stored_documents
from finapi.store.db import Transaction

_NOT_IN_XML = "its cover is not in XML, as before December 18, 2024: its issuer and who filed it are from the header"


def _build_note(schedule: Schedule, metadata: FilingMetadata) -> str | None:
    """Return a note for the operator about a stored schedule, or None."""
    notes = []
    if not metadata.filed_at:
        notes.append(UNDATED_NOTE)
    if all(person.shares is None for person in schedule.persons):
        notes.append("it gives no figures, as amendments may")
    return "; ".join(notes) or None


def _iter_pack_rows(tx: Transaction) -> Iterator[tuple[Schedule, FilingMetadata, int]]:
    """Yield every stored schedule with its filing and its source."""
    for row in tx.list_rows("schedules_to_pack"):
        evidence = DOCUMENT_EVIDENCE if row["source"] == schedule_store.FROM_DOCUMENT else HEADER_EVIDENCE
        yield stored_documents.decode_schedule(row["body"]), from_pack_row(row, evidence), row["source"]


def _upsert_packed(tx: Transaction, schedule: Schedule, metadata: FilingMetadata, source: int, now: datetime) -> bool:
    """Store a schedule of a pack. Return True if anything is new."""
    return schedule_store.upsert(tx, schedule, metadata, now, source)


FAMILY = Family(
    content=Schedule,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: schedules.parse(documents[0].read(), documents[0].path),
    build_claim=schedule_store.build_claim,
    store=schedule_store.upsert,
    describe_stored=_build_note,
    has_primary_document=True,
    finish_ingest=schedule_store.complete_undated,
    unread_reasons=dict.fromkeys(schedules.TEXT_FORM_TYPES, _NOT_IN_XML),
    store_header=schedule_store.upsert_header,
    iter_pack_rows=_iter_pack_rows,
    store_pack_row=_upsert_packed,
)
