"""Signs of life of what fetches and stores documents, and when each kind of data last came in.

Both are rows, written in the transaction of the work that they tell of: what was rolled back has left no sign.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from finapi.core.clock import iso
from finapi.store.db import Database, Transaction

# The components of DECISIONS 11 that beat: the steps that store filings, 13F reports and 8-K news, and whatever asks
# EDGAR or reads its archive. The store is beaten into to see whether it takes anything.
Component = Literal["sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway", "postgres_db"]

# What the times of `data_freshness` are about (DECISIONS 11).
Kind = Literal["filing", "13f_batch", "xbrl_run", "news"]

KINDS: tuple[Kind, ...] = ("filing", "13f_batch", "xbrl_run", "news")


class Heartbeat(NamedTuple):
    """A component's last step: when it ended (ISO 8601), how long it took, why it failed (None: it did not)."""

    name: str
    at: str
    took_ms: int | None
    failure: str | None


def record_beat(
    tx: Transaction, name: Component, now: datetime, *, took_ms: int | None = None, failure: str | None = None
) -> None:
    """Note that ``name`` has ended a step at ``now``; only its last one is kept.

    ``failure`` says why a step did not do what it is for, an EDGAR request that was refused for instance.
    A step that found nothing to do has done what it is for.
    """
    tx.run("put_heartbeat", name=name, now=iso(now), took_ms=took_ms, failure=failure)


def get_heartbeats(tx: Transaction) -> dict[str, Heartbeat]:
    """The last step of every component that ever made one, by name."""
    return {
        row["name"]: Heartbeat(row["name"], row["beat_at"], row["took_ms"], row["failure"])
        for row in tx.list_rows("heartbeats")
    }


def record_arrival(tx: Transaction, kind: Kind, now: datetime) -> None:
    """Note that data of a kind were stored at ``now``; documents that were held already are no arrival."""
    tx.run("put_arrival", kind=kind, now=iso(now))


def get_freshness(tx: Transaction) -> dict[Kind, str | None]:
    """When each kind of data last came in (ISO 8601); None for what never did."""
    times = {row["kind"]: row["arrived_at"] for row in tx.list_rows("arrivals")}
    return {kind: times.get(kind) for kind in KINDS}


def get_copy_age(db: Database, now: datetime) -> float | None:
    """Seconds since the worker wrote what is newest in a copy; None where data are no copy, or nobody ever wrote.

    The worker writes with each round of its watchdog, and tells by its own clock.
    """
    if not db.is_copy:
        return None
    with db.read() as tx:
        last = get_heartbeats(tx).get("postgres_db")
    return None if last is None else max(0.0, (now - datetime.fromisoformat(last.at)).total_seconds())


def get_stored_counts(tx: Transaction) -> dict[str, int]:
    """How much is held of each kind, as counted when it was stored, and as of which ``data_version``."""
    return dict(tx.list_rows("held")[0])
