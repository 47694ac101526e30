"""Heartbeats of the background components, the times when data last arrived, and the numbers of stored rows.

Heartbeats and arrivals are rows that are written in the transaction of the work itself, so they are rolled back with
it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from finapi.core.clock import iso
from finapi.store.db import Database, Transaction

# The components of CONTRACT 11 that have heartbeats: the steps that store filings, 13F reports and 8-K news, and the
# requests to EDGAR or its archive. The heartbeat of the store shows whether it can be written.
Component = Literal["sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway", "postgres_db"]

# The kinds of data in `data_freshness` (DECISIONS 11).
Kind = Literal["filing", "13f_batch", "xbrl_run", "news"]

KINDS: tuple[Kind, ...] = ("filing", "13f_batch", "xbrl_run", "news")


class Heartbeat(NamedTuple):
    """The last step of a component: its end (ISO 8601), its duration, and why it failed, or None if it succeeded."""

    name: str
    at: str
    took_ms: int | None
    failure: str | None


def record_beat(
    tx: Transaction, name: Component, now: datetime, *, took_ms: int | None = None, failure: str | None = None
) -> None:
    """Store that a component has completed a step at ``now``. This replaces its previous heartbeat.

    ``failure`` is the reason if the step failed, for example that EDGAR refused a request. A step that had no work to
    do has succeeded.
    """
    tx.run("upsert_heartbeat", name=name, now=iso(now), took_ms=took_ms, failure=failure)


def get_heartbeats(tx: Transaction) -> dict[str, Heartbeat]:
    """Return the last heartbeat of each component that has one, by name."""
    return {
        row["name"]: Heartbeat(row["name"], row["beat_at"], row["took_ms"], row["failure"])
        for row in tx.list_rows("heartbeats")
    }


def record_arrival(tx: Transaction, kind: Kind, now: datetime) -> None:
    """Record that new data of a kind were stored at ``now``. Documents that were already stored are not new."""
    tx.run("upsert_arrival", kind=kind, now=iso(now))


def get_freshness(tx: Transaction) -> dict[Kind, str | None]:
    """Return the time (ISO 8601) when data of each kind last arrived, or None for a kind without data."""
    times = {row["kind"]: row["arrived_at"] for row in tx.list_rows("arrivals")}
    return {kind: times.get(kind) for kind in KINDS}


def get_copy_age(db: Database, now: datetime) -> float | None:
    """Return the seconds since the worker's last write that is in this copy, or None if the database is not a copy.

    The worker writes a heartbeat in each round of its watchdog, with the time of its own clock. Return None for a copy
    without that heartbeat too.
    """
    if not db.is_copy:
        return None
    with db.read() as tx:
        last_beat = get_heartbeats(tx).get("postgres_db")
    if last_beat is None:
        return None
    return max(0.0, (now - datetime.fromisoformat(last_beat.at)).total_seconds())


def get_stored_counts(tx: Transaction) -> dict[str, int]:
    """Return the number of stored rows of each kind, and the ``data_version`` to which the numbers belong."""
    return dict(tx.list_rows("stored_counts")[0])
