"""Schedules 13D and 13G on their way into the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from finapi.edgar import schedules
from finapi.edgar.schedules import Schedule
from finapi.market.documents.families import Family
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, HEADER_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.ownership import bodies, schedule_store
from finapi.store.db import Transaction

_UNREAD = "its cover is not in XML, as before December 18, 2024: its issuer and who filed it are from the header"


def _note(schedule: Schedule, filed: FilingMetadata) -> str | None:
    notes = [] if filed.filed_at else [UNDATED_NOTE]
    if all(one.shares is None for one in schedule.persons):
        notes.append("it gives no figures, as amendments may")
    return "; ".join(notes) or None


def _pack_rows(tx: Transaction) -> Iterator[tuple[Schedule, FilingMetadata, int]]:
    for row in tx.list_rows("schedules_to_pack"):
        evidence = DOCUMENT_EVIDENCE if row["source"] == schedule_store.FROM_DOCUMENT else HEADER_EVIDENCE
        filed = FilingMetadata(
            row["accession"],
            evidence,
            filed_at=row["filed_at"],
            accepted_at=row["accepted_at"],
            primary_document=row["document"],
        )
        yield bodies.unpacked(row["body"]), filed, row["source"]


def _pack_put(tx: Transaction, schedule: Schedule, filed: FilingMetadata, source: int, now: datetime) -> bool:
    return schedule_store.upsert(tx, schedule, filed, now, source)


FAMILY = Family(
    content=Schedule,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: schedules.parse(documents[0].read(), documents[0].path),
    get_subject=schedule_store.build_subject,
    store=schedule_store.upsert,
    describe_stored=_note,
    has_primary_document=True,
    finish_ingest=schedule_store.complete_undated,
    unread_reasons=dict.fromkeys(schedules.TEXT_FORM_TYPES, _UNREAD),
    store_header=schedule_store.upsert_header,
    iter_pack_rows=_pack_rows,
    store_pack_row=_pack_put,
)
