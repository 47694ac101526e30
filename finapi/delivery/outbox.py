"""The outbox: a queue of events on filings, which connects the store of market data with the store of accounts.

Market data and accounts may be in two stores, and no transaction spans both. So a row is written in the filing's own
transaction. After the commit it is transferred to the event journal, the sniper targets and the webhook receivers. Its
key (accession number, type and subject) is recorded with the transfer, so that it is transferred only once even if a
crash happens before the row is deleted. A row that fails ``MAX_TRIES`` times is set aside and does not hold up others.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from finapi.app import App
from finapi.core import json, stopping
from finapi.core.clock import iso
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.delivery import events
from finapi.delivery.events import EventTags
from finapi.store.db import Database, DatabaseError, Row, Transaction

if TYPE_CHECKING:
    from finapi.delivery.sniper import FilingHit
    from finapi.delivery.webhooks import WebhookEvent

log = logging.getLogger("finapi.outbox")

BATCH_ROWS = 100  # Rows transferred in one transaction.
TRANSFER_SECONDS = 5.0  # Interval between two passes over rows that could not be transferred after their commit.
MAX_TRIES = 5  # Tries of a row, one in each pass. A row that fails more often probably needs a fix in finapi.
MAX_REASON_LENGTH = 300


def enqueue_event(
    tx: Transaction,
    now: datetime,
    accession: str,
    type: str,
    *,
    occurred_at: str | None,
    tags: EventTags,
    data: Mapping[str, Any],
    documents: bytes = b"",
) -> None:
    """Enqueue an event of a filing for :func:`events.record`.

    A ``new_filing`` event is recorded once for a filing. An event of another type is recorded once for the same
    ``documents`` and ``data``.
    """
    text = json.text(data)
    subject = "" if type == "new_filing" else hashlib.sha256(documents + text.encode()).hexdigest()[:32]
    _insert_row(tx, now, accession, type, subject, occurred_at, tags, text)


def enqueue_webhook(tx: Transaction, now: datetime, accession: str, event: WebhookEvent) -> None:
    """Enqueue an event for every account that switched its type on (:func:`webhooks.publish`)."""
    _insert_row(tx, now, accession, event.type, event.subject, event.occurred_at, EventTags(), json.text(event.payload))


def enqueue_hit(tx: Transaction, now: datetime, filing: FilingHit) -> None:
    """Enqueue a filing for the sniper targets that wait for it (:func:`sniper.record_hit`)."""
    from finapi.delivery import sniper

    tags = EventTags((), tuple(map(str, filing.ciks)), filing.form)
    _insert_row(tx, now, filing.accession, sniper.HIT_EVENT, "", filing.filed_at, tags, filing.url)


def _insert_row(
    tx: Transaction,
    now: datetime,
    accession: str,
    type: str,
    subject: str,
    occurred_at: str | None,
    tags: EventTags,
    data: str,
) -> None:
    values = {"accession": accession, "type": type, "subject": subject, "occurred_at": occurred_at, "data": data}
    tx.run("insert_outbox_row", {**values, **events.build_tag_columns(tags)}, now=iso(now))
    tx.run_after_commit(_transfer_after_commit)


def transfer(db: Database, *, include_tried: bool = True) -> int:
    """Transfer the waiting rows, oldest first. Return the number of rows.

    With ``include_tried`` rows that failed before are transferred too. Raise StoreUnavailableError if accounts cannot
    be written at all. If a stop is requested, return after the current batch. The next call continues.
    """
    carried = 0
    last_id: int | None = 0
    while last_id is not None:
        count, last_id = _transfer_batch_after(db, last_id, include_tried=include_tried)
        carried += count
        if stopping.is_requested():
            break
    return carried


def _transfer_batch_after(db: Database, after: int, *, include_tried: bool) -> tuple[int, int | None]:
    """Transfer the batch of rows after an id. Return their number and the last id, or None if no row is left."""
    with db.read_one() as tx:
        rows = tx.list_rows("outbox_rows", limit=BATCH_ROWS, after=after, again=include_tried)
    if not rows:
        return 0, None
    return _transfer_rows(db, rows), rows[-1]["id"]


def _transfer_rows(db: Database, rows: list[Row]) -> int:
    """Transfer rows in one transaction and delete them. Return how many had not been transferred before.

    If a row fails, note the failure and repeat the transaction without it.
    """
    while rows:
        current_row: Row | None = None
        try:
            with db.accounts.write() as tx:
                carried = 0
                for row in rows:
                    current_row = row
                    carried += _transfer_row(tx, row)
                current_row = None
        except StoreUnavailableError:
            raise
        except Exception as error:
            # The error happened before the first row or after the last one, so no row caused it.
            if current_row is None:
                raise
            rows = [row for row in rows if row["id"] != current_row["id"]]
            _note_failure(db, current_row, error)
        else:
            db.write_batched(partial(_delete_rows, [(row["id"],) for row in rows]))
            return carried
    return 0


def _delete_rows(done: list[tuple[int]], tx: Transaction) -> None:
    tx.insert_rows("delete_outbox_row", done)


def _note_failure(db: Database, row: Row, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"[:MAX_REASON_LENGTH]
    is_last_try = row["tries"] + 1 >= MAX_TRIES
    values = {"id": row["id"], "tries": row["tries"], "reason": reason, "aside": is_last_try}
    db.write_batched(lambda tx: tx.run("update_outbox_failure", values))
    description = f"{row['type']} of {row['accession']}"
    if is_last_try:
        log.error("%s cannot be published and is set aside; see finapi outbox list", description, exc_info=error)
    else:
        log.warning("%s could not be published: %s", description, reason)


def list_failed_rows(tx: Transaction) -> list[dict[str, Any]]:
    """Return the failed rows: ``id``, ``accession``, ``type``, ``noted_at``, ``tries``, ``reason`` and ``state``.

    The state is ``put_aside``, or ``tried`` if the row will be tried again.
    """
    return [dict(row) for row in tx.list_rows("failed_outbox_rows")]


def count_rows_aside(tx: Transaction) -> int:
    """Return the number of rows that were set aside."""
    number: int = tx.find_value("count_outbox_aside")
    return number


def retry_rows(db: Database, ids: Sequence[int | None]) -> list[int]:
    """Try rows of :func:`list_failed_rows` again. Return the number of rows for each id. An id of None means all."""
    with db.write() as tx:
        counts = [tx.run("reset_outbox_rows", id=id) for id in ids]
    if any(counts):
        transfer(db)
    return counts


class OutboxTransfer:
    """A background job that transfers remaining rows, one batch in each :meth:`run_step`."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._after: int | None = None  # The id of the last row that this pass has tried.

    def run_step(self) -> float:
        """Transfer a batch. Return the seconds until it should run again."""
        _, self._after = _transfer_batch_after(self._app.db, self._after or 0, include_tried=True)
        return TRANSFER_SECONDS if self._after is None else 0.0


def _transfer_after_commit(db: Database) -> None:
    try:
        transfer(db, include_tried=False)
    except (ApiError, StoreUnavailableError, DatabaseError) as error:
        log.warning("events of filings are published later: %s", error)


def _transfer_row(tx: Transaction, row: Row) -> bool:
    """Transfer a row. Return False if it was transferred before."""
    if not tx.run("insert_carried", dict(row)):
        return False
    # Imported with the first row, because most starts find no row to transfer.
    from finapi.delivery import sniper, webhooks

    type = row["type"]
    occurred_at = row["occurred_at"]
    data = row["data"]
    tags = events.build_tags(row)
    now = datetime.fromisoformat(row["noted_at"])
    if type in events.FEED_BY_TYPE:
        events.record(tx, type, now=now, occurred_at=occurred_at, tags=tags, data=data)
    elif type == sniper.HIT_EVENT:
        ciks = tuple(map(int, tags.ciks))
        sniper.record_hit(tx, now, sniper.FilingHit(row["accession"], ciks, tags.form_type or "", occurred_at, data))
    else:
        webhooks.publish(tx, now, webhooks.WebhookEvent(type, occurred_at, row["subject"], data))
    return True
