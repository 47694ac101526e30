"""The journal of the feeds: numbered events, written in the transaction that caused them.

``seq`` counts up by one within a feed and never comes again, because the number is taken in the same
transaction that inserts the row: what is rolled back has not been counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from finapi.app import App
from finapi.clock import iso
from finapi.db import Row, Transaction

MAIN, INSIDER, HOLDINGS = "main-api", "insider-api", "13f-live"

# Which events a feed tells of (CONTRACT 10).
TYPES: dict[str, tuple[str, ...]] = {
    MAIN: ("new_filing", "data_ready", "restatement_detected"),
    INSIDER: ("insider_transaction",),
    HOLDINGS: ("13f_filing",),
}

TOPIC = "events"  # under which the database tells that events were committed
PRUNE_SECONDS = 60.0  # between two looks at what is too old to be kept


@dataclass(frozen=True, slots=True)
class About:
    """What an event is about, for readers who want some of them only; CIKs have ten digits."""

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    form_type: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A row of the journal; ``data`` is the text of a JSON object."""

    feed: str
    seq: int
    type: str
    occurred_at: str
    about: About
    data: str


@dataclass(frozen=True, slots=True)
class Span:
    """What a feed holds: the numbers ``first`` to ``last``; nothing when ``first`` is greater."""

    first: int
    last: int


def record(
    tx: Transaction,
    type: str,
    *,
    now: datetime,
    occurred_at: str,
    about: About,
    data: Mapping[str, Any],
) -> int:
    """Write an event into the journal of the feed that tells of its type; its ``seq``.

    ``data`` is a JSON object in which a Decimal is a number with every digit of it. Readers are woken when
    the caller's transaction is committed.
    """
    feed = _FEED_OF[type]
    seq: int = tx.value("next_seq", feed=feed)
    tx.insert(
        "insert_event",
        feed=feed,
        seq=seq,
        type=type,
        occurred_at=occurred_at,
        now=iso(now),
        tickers=",".join(about.tickers),
        ciks=",".join(about.ciks),
        form_type=about.form_type,
        data=_json(data),
    )
    tx.announce(TOPIC)
    return seq


def span(tx: Transaction, feed: str) -> Span:
    """The numbers that a feed holds."""
    row = tx.one("event_span", feed=feed)
    assert row is not None, feed
    return Span(row["first_seq"], row["last_seq"])


def after(tx: Transaction, feed: str, seq: int, limit: int) -> list[Event]:
    """The first ``limit`` events that follow ``seq``, in order."""
    return [_event(feed, row) for row in tx.all("events_after", feed=feed, seq=seq, limit=limit)]


def before(tx: Transaction, feed: str, seq: int, limit: int) -> list[Event]:
    """The last ``limit`` events that precede ``seq``, in order."""
    rows = tx.all("events_before", feed=feed, seq=seq, limit=limit)
    return [_event(feed, row) for row in reversed(rows)]


def prune(app: App, now: datetime) -> int:
    """Drop what is older than is kept, or more than is kept, of every feed; how many rows that was.

    Those that a new reader is told of stay however old they are.
    """
    config = app.config
    oldest = iso(now - timedelta(days=config.events_kept_days))
    with app.db.write() as tx:
        return sum(
            tx.run(
                "drop_old_events",
                feed=feed,
                count=max(config.events_kept, config.feed_catchup),
                before=oldest,
                least=config.feed_catchup,
            )
            for feed in TYPES
        )


_FEED_OF = {type: feed for feed, types in TYPES.items() for type in types}


def _event(feed: str, row: Row) -> Event:
    about = About(_split(row["tickers"]), _split(row["ciks"]), row["form_type"])
    return Event(feed, row["seq"], row["type"], row["occurred_at"], about, row["data"])


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


# The json module cannot write a Decimal: its digits go in as a text between marks that no document can hold
# (XML 1.0 has no U+0001), and the marks come off with the quotes.
_MARKED = re.compile(r'"\\u0001(-?[0-9]+(?:\.[0-9]+)?)\\u0001"')


def _json(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_digits)
    return _MARKED.sub(r"\1", text)


def _digits(value: object) -> str:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError(f"{value!r} is no JSON")
    return f"\x01{value:f}\x01"
