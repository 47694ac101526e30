"""The event journal: the numbered events of each feed, written in the transaction that causes them.

``seq`` counts up by one within a feed, without gaps: the number is taken in the transaction that inserts the row, so a
rollback uses no number. Numbers are unique within an ``epoch``. A restore begins a new epoch, because numbers are then
used again that readers have already seen for other events.
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

MAIN_FEED = "main-api"
INSIDER_FEED = "insider-api"
HOLDINGS_FEED = "13f-live"


def _list_types_by_feed() -> dict[str, tuple[str, ...]]:
    types = {MAIN_FEED: ["new_filing"]}
    for family in FAMILIES:
        types.setdefault(family.feed, []).extend(family.event_types)
    return {feed: tuple(feed_types) for feed, feed_types in types.items()}


# The event types of each feed (DECISIONS 10).
TYPES_BY_FEED = _list_types_by_feed()

FEED_BY_TYPE = {type: feed for feed, types in TYPES_BY_FEED.items() for type in types}

TOPIC = "events"  # Listeners of this topic are called after a commit with new events.
FIRST_EPOCH = 1  # The epoch of a journal without events.
PRUNE_SECONDS = 60.0  # Interval between two deletions of old events.
MAX_PRUNED_ROWS = 2_000  # Rows deleted from a table in one transaction, which takes about ten milliseconds.


class EventTags(NamedTuple):
    """The subjects of an event, by which readers filter. CIKs have ten digits."""

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    form_type: str | None = None


class Event(NamedTuple):
    """A row of the journal; ``data`` is the text of a JSON object.

    ``occurred_at`` is None for a filing whose day is not known.
    """

    feed: str
    seq: int
    type: str
    occurred_at: str | None
    tags: EventTags
    data: str
    epoch: int = FIRST_EPOCH


class SequenceRange(NamedTuple):
    """The numbers ``first`` to ``last`` of a feed's stored events. If ``first`` is greater, there are none.

    They are numbers of ``epoch``. Those up to ``last_shared`` are the same events in the previous epoch.
    """

    first: int
    last: int
    epoch: int = FIRST_EPOCH
    last_shared: int = 0

    def resume_after(self, seq: int) -> int:
        """Return the ``seq`` after which a reader continues here, if it has read up to ``seq`` in another epoch."""
        return min(seq, self.last_shared)


def record(
    tx: Transaction,
    type: str,
    *,
    now: datetime,
    occurred_at: str | None,
    tags: EventTags,
    data: Mapping[str, Any] | str,
) -> int:
    """Insert an event into the journal of its feed. Return its ``seq``.

    ``data`` is a JSON object, or its text. Readers are woken after the commit of the caller's transaction.
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
    """Return the range of a feed's stored events."""
    row = tx.find_row("event_span", feed=feed)
    assert row is not None, feed
    return SequenceRange(row["first_seq"], row["last_seq"], row["epoch"], row["epoch_seq"])


def open_journal(app: App, now: datetime) -> None:
    """Begin the first epoch of a new journal. Its number is the time, so that two data directories do not share one."""
    with app.accounts.read() as tx:
        has_epoch = tx.find_value("journal_epoch") != FIRST_EPOCH
    if not has_epoch:
        with app.accounts.write() as tx:
            tx.run("update_first_epoch", epoch=int(now.timestamp()))


def begin_epoch(tx: Transaction, min_epoch: int, now: datetime) -> int:
    """Begin a new epoch, as after a restore, with at least the number ``min_epoch``. Return its number."""
    epoch: int = max(int(now.timestamp()), min_epoch, tx.find_value("journal_epoch") + 1)
    tx.run("update_epoch", epoch=epoch)
    tx.run("update_epoch_seq")
    return epoch


def list_events_after(tx: Transaction, feed: str, seq: int, limit: int, offset: int = 0) -> list[Event]:
    """Return ``limit`` events after ``seq`` in order. Skip the first ``offset`` events."""
    return [_build_event(row) for row in tx.list_rows("events_after", feed=feed, seq=seq, limit=limit, offset=offset)]


def list_events_before(tx: Transaction, feed: str, seq: int, limit: int) -> list[Event]:
    """Return the last ``limit`` events before ``seq``, in order."""
    rows = tx.list_rows("events_before", feed=feed, seq=seq, limit=limit)
    return [_build_event(row) for row in reversed(rows)]


def run_prune_step(app: App) -> float:
    """Delete some old events of every feed. Return the seconds until it should run again."""
    return PRUNE_SECONDS if prune(app, app.clock.now()) == 0 else 0.0


def prune(app: App, now: datetime) -> int:
    """Delete some events of each feed that are too old, or that exceed its maximum. Return the number of deleted rows.

    The newest events, which are sent to each new reader, are never deleted.
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


def _build_event(row: Row) -> Event:
    return Event(row["feed"], row["seq"], row["type"], row["occurred_at"], build_tags(row), row["data"], row["epoch"])


def build_tag_columns(tags: EventTags) -> dict[str, str | None]:
    """Return the values of the columns in which tags are stored."""
    return {"tickers": ",".join(tags.tickers), "ciks": ",".join(tags.ciks), "form_type": tags.form_type}


def build_tags(row: Row) -> EventTags:
    """Return the tags that are stored in a row."""
    return EventTags(_split_list(row["tickers"]), _split_list(row["ciks"]), row["form_type"])


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
