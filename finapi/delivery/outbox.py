"""The outbox: the effects of filings on accounts, from the store of market data to the store of accounts.

Market data and accounts may be in two stores, and no transaction spans both. So a row is written in the filing's own
transaction. After the commit it is transferred to the journal, the sniper targets and the webhook receivers. Its key
(accession number, type and subject) is recorded with the transfer, so that it is transferred once, even if a crash
comes before the row is deleted. A row that fails ``MAX_TRIES`` times is put aside, and the rows after it do not wait.
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

BATCH_ROWS = 100  # rows carried in one transaction
TRANSFER_SECONDS = 5.0  # between two looks for what could not be carried at once
MAX_TRIES = 5  # of a row, a look apart: what fails so often for its own sake fails until the program is mended
REASON_LENGTH = 300


def enqueue_event(
    tx: Transaction,
    now: datetime,
    accession: str,
    type: str,
    *,
    occurred_at: str,
    tags: EventTags,
    data: Mapping[str, Any],
    documents: bytes = b"",
) -> None:
    """Enqueue an event of a filing for :func:`events.record`.

    A ``new_filing`` event is recorded once for a filing, other types once for the same ``documents`` and ``data``.
    """
    text = json.text(data)
    subject = "" if type == "new_filing" else hashlib.sha256(documents + text.encode()).hexdigest()[:32]
    _put(tx, now, accession, type, subject, occurred_at, tags, text)


def enqueue_webhook(tx: Transaction, now: datetime, accession: str, event: WebhookEvent) -> None:
    """Enqueue an event for every account that switched its type on (:func:`webhooks.publish`)."""
    _put(tx, now, accession, event.type, event.subject, event.occurred_at, EventTags(), json.text(event.payload))


def enqueue_hit(tx: Transaction, now: datetime, filing: FilingHit) -> None:
    """Enqueue a filing for the targets that wait for it (:func:`sniper.record_hit`)."""
    from finapi.delivery import sniper

    about = EventTags((), tuple(map(str, filing.ciks)), filing.form)
    _put(tx, now, filing.accession, sniper.HIT_EVENT, "", filing.filed_at, about, filing.url)


def _put(
    tx: Transaction,
    now: datetime,
    accession: str,
    type: str,
    subject: str,
    occurred_at: str,
    about: EventTags,
    data: str,
) -> None:
    values = {"accession": accession, "type": type, "subject": subject, "occurred_at": occurred_at, "data": data}
    tx.run("insert_outbox_row", {**values, **events.build_tag_columns(about)}, now=iso(now))
    tx.run_after_commit(_carry_now)


def transfer(db: Database, *, include_tried: bool = True) -> int:
    """Carry over what waits, oldest first. Return the number of rows.

    ``again``: with what was tried before. Raise what keeps the accounts from being written at all. A stop ends it after
    a batch; the rest is carried by the next call.
    """
    carried = 0
    last_id: int | None = 0
    while last_id is not None:
        number, last_id = _carry_after(db, last_id, again=include_tried)
        carried += number
        if stopping.is_requested():
            break
    return carried


def _carry_after(db: Database, after: int, *, again: bool) -> tuple[int, int | None]:
    """Carry over the batch of rows that follows an id. Return their number and the last id, None if none is left."""
    with db.read_one() as tx:
        rows = tx.list_rows("outbox_rows", limit=BATCH_ROWS, after=after, again=again)
    if not rows:
        return 0, None
    return _carry_batch(db, rows), rows[-1]["id"]


def _carry_batch(db: Database, rows: list[Row]) -> int:
    """Transfer rows in one transaction, again without a row that fails. Return how many were not transferred before."""
    while rows:
        under_way: Row | None = None
        try:
            with db.accounts.write() as tx:
                carried = 0
                for row in rows:
                    under_way = row
                    carried += _carried(tx, row)
                under_way = None
        except StoreUnavailableError:
            raise
        except Exception as error:
            # Before the first row and after the last it is not a row's fault.
            if under_way is None:
                raise
            rows = [row for row in rows if row["id"] != under_way["id"]]
            _note_failure(db, under_way, error)
        else:
            db.write_batched(partial(_drop, [(row["id"],) for row in rows]))
            return carried
    return 0


def _drop(done: list[tuple[int]], tx: Transaction) -> None:
    tx.insert_rows("delete_outbox_row", done)


def _note_failure(db: Database, row: Row, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"[:REASON_LENGTH]
    aside = row["tries"] + 1 >= MAX_TRIES
    values = {"id": row["id"], "tries": row["tries"], "reason": reason, "aside": aside}
    db.write_batched(lambda tx: tx.run("update_outbox_failure", values))
    what = f"{row['type']} of {row['accession']}"
    if aside:
        log.error("%s cannot be told and is put aside; see finapi outbox list", what, exc_info=error)
    else:
        log.warning("%s could not be told: %s", what, reason)


def list_failed_rows(tx: Transaction) -> list[dict[str, Any]]:
    """What could not be carried: ``id``, ``accession``, ``type``, ``noted_at``, ``tries``, ``reason`` and ``state``.

    The state is ``put_aside``, or ``tried`` of what will be tried again.
    """
    return [dict(row) for row in tx.list_rows("failed_outbox_rows")]


def count_rows_aside(tx: Transaction) -> int:
    """Return the number of rows that were put aside."""
    number: int = tx.find_value("count_outbox_aside")
    return number


def retry_rows(db: Database, ids: Sequence[int | None]) -> list[int]:
    """Reset and transfer these rows of :func:`list_failed_rows` (None: all). Return the number of rows for each id."""
    with db.write() as tx:
        found = [tx.run("reset_outbox_rows", id=id) for id in ids]
    if any(found):
        transfer(db)
    return found


class OutboxTransfer:
    """The state of the worker that transfers the rows left behind, a batch in each :meth:`run_step`."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._after: int | None = None  # The last row of this pass. Each is tried once in a pass.

    def run_step(self) -> float:
        """Carry over a batch. Return the seconds until it should run again."""
        _, self._after = _carry_after(self._app.db, self._after or 0, again=True)
        return TRANSFER_SECONDS if self._after is None else 0.0


def _carry_now(db: Database) -> None:
    try:
        transfer(db, include_tried=False)
    except (ApiError, StoreUnavailableError, DatabaseError) as error:
        log.warning("what filings caused is told later: %s", error)


def _carried(tx: Transaction, row: Row) -> bool:
    """Transfer a row. Return False if it was transferred before."""
    if not tx.run("insert_carried", dict(row)):
        return False
    # Loaded with the first row: a start looks for what waits, and finds none.
    from finapi.delivery import sniper, webhooks

    type, occurred_at, data, about = row["type"], row["occurred_at"], row["data"], events.build_tags(row)
    now = datetime.fromisoformat(row["noted_at"])
    if type in events.FEED_BY_TYPE:
        events.record(tx, type, now=now, occurred_at=occurred_at, tags=about, data=data)
    elif type == sniper.HIT_EVENT:
        ciks = tuple(map(int, about.ciks))
        sniper.record_hit(tx, now, sniper.FilingHit(row["accession"], ciks, about.form_type or "", occurred_at, data))
    else:
        webhooks.publish(tx, now, webhooks.WebhookEvent(type, occurred_at, row["subject"], data))
    return True
