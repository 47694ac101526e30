"""What filings cause for accounts: rows beside the filing, carried over to the journal, the targets and the receivers.

Market data and accounts may live in two stores, so that no transaction has both. A row is written in the filing's own
transaction and carried when that is committed, once by its key: accession number, type and subject. What a stop leaves
is carried at the next start; what was carried and not yet taken off is found to be. A row that cannot be carried is
tried ``TRIES`` times and put aside; those behind it do not wait for it.
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
    """Have an event of a filing recorded (:func:`events.record`).

    A filing is news once; of another type it is once what is said of the same ``documents``.
    """
    text = json.text(data)
    subject = "" if type == "new_filing" else hashlib.sha256(documents + text.encode()).hexdigest()[:32]
    _put(tx, now, accession, type, subject, occurred_at, tags, text)


def enqueue_webhook(tx: Transaction, now: datetime, accession: str, event: WebhookEvent) -> None:
    """Have every account told that switched the type on (:func:`webhooks.publish`)."""
    _put(tx, now, accession, event.type, event.subject, event.occurred_at, EventTags(), json.text(event.payload))


def enqueue_hit(tx: Transaction, now: datetime, filing: FilingHit) -> None:
    """Have the targets stopped that wait for a filing (:func:`sniper.hit`)."""
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
    """Carry rows over in one transaction, again without one that cannot be; how many had not been carried."""
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
    """How many rows were put aside."""
    number: int = tx.find_value("count_outbox_aside")
    return number


def retry_rows(db: Database, ids: Sequence[int | None]) -> list[int]:
    """Try these of :func:`in_trouble` (None: all) again at once, and as often as at first; how many those were."""
    with db.write() as tx:
        found = [tx.run("reset_outbox_rows", id=id) for id in ids]
    if any(found):
        transfer(db)
    return found


class OutboxTransfer:
    """Carries over what was not carried with the filing, a batch in each :meth:`step`; a worker's state."""

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
    """Carry a row over unless it has been; whether it had not."""
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
