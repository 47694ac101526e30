"""Schedules 13D and 13G on their way into the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from finapi.edgar import schedules
from finapi.edgar.schedules import Schedule
from finapi.market.documents.families import Family
from finapi.market.documents.metadata import DOCUMENT, HEADER, FilingMetadata
from finapi.market.documents.outcomes import UNDATED
from finapi.market.ownership import bodies, schedule_store
from finapi.store.db import Transaction

_UNREAD = "its cover is not in XML, as before December 18, 2024: its issuer and who filed it are from the header"


def _note(schedule: Schedule, filed: FilingMetadata) -> str | None:
    notes = [] if filed.filed_at else [UNDATED]
    if all(one.shares is None for one in schedule.persons):
        notes.append("it gives no figures, as amendments may")
    return "; ".join(notes) or None


def _pack_rows(tx: Transaction) -> Iterator[tuple[Schedule, FilingMetadata, int]]:
    for row in tx.list_rows("schedules_to_pack"):
        evidence = DOCUMENT if row["source"] == schedule_store.FROM_DOCUMENT else HEADER
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
    group=lambda documents: ([document] for document in documents),
    read=lambda documents: schedules.parse(documents[0].read(), documents[0].path),
    subject=schedule_store.build_subject,
    put=schedule_store.upsert,
    note=_note,
    primary=True,
    finish=schedule_store.complete_undated,
    unread=dict.fromkeys(schedules.TEXT_FORM_TYPES, _UNREAD),
    headed=schedule_store.upsert_header,
    pack_rows=_pack_rows,
    pack_put=_pack_put,
)
