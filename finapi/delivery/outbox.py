"""What filings cause for accounts: rows beside the filing, carried over to the journal, the targets and the receivers.

Market data and accounts may live in two stores, so that no transaction has both. A row is written in the filing's own
transaction and carried when that is committed, once by its key: accession number, type and subject. What a stop leaves
is carried at the next start; what was carried and not yet taken off is found to be.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from finapi.app import App
from finapi.core import json
from finapi.core.clock import iso
from finapi.core.errors import ApiError, StoreFailing
from finapi.delivery import events, sniper, webhooks
from finapi.delivery.events import About
from finapi.delivery.sniper import FilingHit
from finapi.delivery.webhooks import WebhookEvent
from finapi.store.db import Database, Failed, Row, Transaction

log = logging.getLogger("finapi.outbox")

BATCH = 100  # rows carried in one transaction
LOOK_SECONDS = 5.0  # between two looks for what could not be carried at once


def event(
    tx: Transaction,
    now: datetime,
    accession: str,
    type: str,
    *,
    occurred_at: str,
    about: About,
    data: Mapping[str, Any],
    documents: bytes = b"",
) -> None:
    """Have an event of a filing recorded (:func:`events.record`).

    A filing is news once; of another type it is once what is said of the same ``documents``.
    """
    text = json.text(data)
    subject = "" if type == "new_filing" else hashlib.sha256(documents + text.encode()).hexdigest()[:32]
    _put(tx, now, accession, type, subject, occurred_at, about, text)


def webhook(tx: Transaction, now: datetime, accession: str, event: WebhookEvent) -> None:
    """Have every account told that switched the type on (:func:`webhooks.publish`)."""
    _put(tx, now, accession, event.type, event.subject, event.occurred_at, About(), json.text(event.payload))


def hit(tx: Transaction, now: datetime, filing: FilingHit) -> None:
    """Have the targets stopped that wait for a filing (:func:`sniper.hit`)."""
    about = About((), tuple(map(str, filing.ciks)), filing.form)
    _put(tx, now, filing.accession, sniper.HIT, "", filing.filed_at, about, filing.url)


def _put(
    tx: Transaction, now: datetime, accession: str, type: str, subject: str, occurred_at: str, about: About, data: str
) -> None:
    values = {"accession": accession, "type": type, "subject": subject, "occurred_at": occurred_at, "data": data}
    tx.run("put_outbox", {**values, **events.columns(about)}, now=iso(now))
    tx.then(_carry_now)


def carry(db: Database) -> int:
    """Carry over what waits, oldest first; how many rows that were."""
    carried = 0
    while True:
        with db.glance() as tx:
            rows = tx.all("outbox_rows", limit=BATCH)
        if not rows:
            return carried
        with db.accounts.write() as tx:
            carried += sum(_carried(tx, row) for row in rows)
        db.share(partial(_drop, [(row["id"],) for row in rows]))


def _drop(done: list[tuple[int]], tx: Transaction) -> None:
    tx.many("drop_outbox", done)


def step(app: App) -> float:
    """Carry over what could not be at once; when to be called again, in seconds. A worker's step."""
    carry(app.db)
    return LOOK_SECONDS


def _carry_now(db: Database) -> None:
    try:
        carry(db)
    except (ApiError, StoreFailing, Failed) as error:
        log.warning("what filings caused is told later: %s", error)


def _carried(tx: Transaction, row: Row) -> bool:
    """Carry a row over unless it has been; whether it had not."""
    if not tx.run("mark_carried", dict(row)):
        return False
    type, occurred_at, data, about = row["type"], row["occurred_at"], row["data"], events.about(row)
    now = datetime.fromisoformat(row["noted_at"])
    if type in events.FEED_OF:
        events.record(tx, type, now=now, occurred_at=occurred_at, about=about, data=data)
    elif type == sniper.HIT:
        ciks = tuple(map(int, about.ciks))
        sniper.hit(tx, now, FilingHit(row["accession"], ciks, about.form_type or "", occurred_at, data))
    else:
        webhooks.publish(tx, now, WebhookEvent(type, occurred_at, row["subject"], data))
    return True
