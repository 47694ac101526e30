"""The journal of the feeds: numbered events, written in the transaction that caused them.

``seq`` counts up by one within a feed and never comes again, because the number is taken in the same
transaction that inserts the row: what is rolled back has not been counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from finapi.app import App
from finapi.core import json
from finapi.core.clock import iso
from finapi.edgar.form_families import FAMILIES
from finapi.store.db import Row, Transaction

MAIN_FEED, INSIDER_FEED, HOLDINGS_FEED = "main-api", "insider-api", "13f-live"

# Which events a feed tells of (DECISIONS 10).
TYPES_BY_FEED: dict[str, tuple[str, ...]] = {
    feed: (("new_filing",) if feed == MAIN_FEED else ())
    + tuple(type for form in FAMILIES if form.feed == feed for type in form.event_types)
    for feed in dict.fromkeys((MAIN_FEED, *(form.feed for form in FAMILIES)))
}

FEED_BY_TYPE = {type: feed for feed, types in TYPES_BY_FEED.items() for type in types}

TOPIC = "events"  # under which the database tells that events were committed
FIRST_EPOCH = 1  # of a journal that was there before epochs were, or that has told nothing yet
PRUNE_SECONDS = 60.0  # between two looks at what is too old to be kept
MAX_PRUNED_ROWS = 2_000  # rows of a kind that are removed in one transaction, some ten milliseconds


class EventTags(NamedTuple):
    """What an event is about, for readers who want some of them only; CIKs have ten digits."""

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    form_type: str | None = None


class Event(NamedTuple):
    """A row of the journal; ``data`` is the text of a JSON object."""

    feed: str
    seq: int
    type: str
    occurred_at: str
    tags: EventTags
    data: str
    epoch: int = FIRST_EPOCH


class SequenceRange(NamedTuple):
    """What a feed holds: the numbers ``first`` to ``last``; nothing when ``first`` is greater.

    They are numbers of ``epoch``; those up to ``shared`` meant the same in the epoch before.
    """

    first: int
    last: int
    epoch: int = FIRST_EPOCH
    last_shared: int = 0

    def resume_after(self, seq: int) -> int:
        """Where a reader goes on who had come to ``seq`` in another epoch: nothing of this one is passed over."""
        return min(seq, self.last_shared)


def record(
    tx: Transaction, type: str, *, now: datetime, occurred_at: str, tags: EventTags, data: Mapping[str, Any] | str
) -> int:
    """Write an event into the journal of the feed that tells of its type; its ``seq``.

    ``data`` is a JSON object, or its text. Readers are woken when the caller's transaction is committed.
    """
    feed = FEED_BY_TYPE[type]
    seq: int = tx.find_value("next_seq", feed=feed)
    tx.insert_row(
        "insert_event",
        feed=feed,
        seq=seq,
        type=type,
        occurred_at=occurred_at,
        now=iso(now),
        data=data if isinstance(data, str) else json.text(data),
        **build_tag_columns(tags),
    )
    tx.announce(TOPIC)
    return seq


def get_range(tx: Transaction, feed: str) -> SequenceRange:
    """The numbers that a feed holds."""
    row = tx.find_row("event_span", feed=feed)
    assert row is not None, feed
    return SequenceRange(row["first_seq"], row["last_seq"], row["epoch"], row["epoch_seq"])


def open_journal(app: App, now: datetime) -> None:
    """Begin the first epoch of a journal that has told nothing yet: no two directories begin with the same."""
    with app.accounts.read() as tx:
        begun = tx.find_value("journal_epoch") != FIRST_EPOCH
    if not begun:
        with app.accounts.write() as tx:
            tx.run("update_first_epoch", epoch=int(now.timestamp()))


def begin_epoch(tx: Transaction, min_epoch: int, now: datetime) -> int:
    """Begin a new epoch, as after a backup was put back, at ``least`` that number; its number."""
    epoch: int = max(int(now.timestamp()), min_epoch, tx.find_value("journal_epoch") + 1)
    tx.run("update_epoch", epoch=epoch)
    tx.run("update_epoch_seq")
    return epoch


def list_events_after(tx: Transaction, feed: str, seq: int, limit: int, offset: int = 0) -> list[Event]:
    """The first ``limit`` events that follow ``seq`` and ``offset`` others, in order."""
    return [_event(row) for row in tx.list_rows("events_after", feed=feed, seq=seq, limit=limit, offset=offset)]


def list_events_before(tx: Transaction, feed: str, seq: int, limit: int) -> list[Event]:
    """The last ``limit`` events that precede ``seq``, in order."""
    rows = tx.list_rows("events_before", feed=feed, seq=seq, limit=limit)
    return [_event(row) for row in reversed(rows)]


def run_prune_step(app: App) -> float:
    """Prune every feed a little. Return the seconds until it should run again. A worker's step."""
    return PRUNE_SECONDS if prune(app, app.clock.now()) == 0 else 0.0


def prune(app: App, now: datetime) -> int:
    """Drop some of what is older than is kept, or more than is kept, of every feed. Return the number of rows.

    The events that a new reader is sent stay however old they are.
    """
    config = app.config
    oldest = iso(now - timedelta(days=config.events_kept_days))
    limits = {"before": oldest, "limit": MAX_PRUNED_ROWS}
    pruned = app.db.write_batched(lambda tx: tx.run("delete_outbox_aside", limits))
    with app.accounts.write() as tx:
        pruned += tx.run("delete_carried", limits)
        for feed in TYPES_BY_FEED:
            pruned += tx.run(
                "delete_old_events",
                limits,
                feed=feed,
                count=max(config.events_kept, config.feed_catchup),
                least=config.feed_catchup,
            )
    return pruned


def _event(row: Row) -> Event:
    return Event(row["feed"], row["seq"], row["type"], row["occurred_at"], build_tags(row), row["data"], row["epoch"])


def build_tag_columns(about: EventTags) -> dict[str, str | None]:
    """What something is about, as columns."""
    return {"tickers": ",".join(about.tickers), "ciks": ",".join(about.ciks), "form_type": about.form_type}


def build_tags(row: Row) -> EventTags:
    """What something is about, of its columns."""
    return EventTags(_split(row["tickers"]), _split(row["ciks"]), row["form_type"])


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
