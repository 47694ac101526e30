"""How the parts of finapi stand and stood: ``/status``, its history, and the changes from one state to another."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from finapi import heartbeats, metrics, watchdog
from finapi.app import App
from finapi.clock import iso
from finapi.config import Config
from finapi.db import Failed, Row, Transaction
from finapi.errors import ApiError, invalid_param
from finapi.market import following
from finapi.metrics import Figures
from finapi.watch import Standing, Status
from finapi.watchdog import DAY, HOUR

# CONTRACT 1: the nine names of the spec's history, two other names of theirs, and the watchdog; in this order.
SERVICES = (
    "main_api",
    "insider_api",
    "insider_module",
    "postgres_db",
    "redis",
    "sec_worker",
    "sec_13f_worker",
    "13f_worker",
    "news_daemon",
    "sec_gateway",
    "frontend",
    watchdog.NAME,
)

# Two names of one part: it is checked once, and counts once in the overall status.
ALIASES = {"insider_module": "insider_api", "13f_worker": "sec_13f_worker"}

MAX_DAYS = 90  # more are clamped (SPEC)
MAX_BUCKETS = 200  # of a service; above it days are answered instead of hours (SPEC)

Overall = Literal["operational", "degraded", "partial_outage", "major_outage"]
Resolution = Literal["hourly", "daily"]


@dataclass(frozen=True, slots=True)
class Change:
    """A service went over to another status."""

    id: int
    service: str
    at: datetime
    status: Status
    reason: str | None


def document(app: App, now: datetime) -> dict[str, Any]:
    """``GET /api/v1/status``: how every part that runs stood at its last check.

    UNAVAILABLE before the first round of checks: nothing is called healthy that nobody has looked at. It is
    answered without the store too, then with the freshness that was read last.
    """
    standings = standing(app)
    services = []
    for name in known(app.config):
        part = standings.get(ALIASES.get(name, name))
        if part is not None:
            services.append(
                {
                    "name": name,
                    "status": part.status,
                    "uptime_30d_pct": part.uptime,
                    "last_check_at": part.checked_at,
                }
            )
    return {
        "overall": overall(part.status for part in standings.values()),
        "services": services,
        "data_freshness": _freshness(app),
        "as_of": iso(now),
    }


def standing(app: App) -> dict[str, Standing]:
    """How every part stands, by name; UNAVAILABLE before the first round of checks."""
    standings = dict(app.watch.standings)
    if not standings:
        raise ApiError(
            "UNAVAILABLE", "No check of the service has been made yet.", headers={"Retry-After": "1"}
        )
    if watchdog.stuck(app):
        # It cannot say so itself.
        reason = "the round of checks that was due has not been made"
        standings[watchdog.NAME] = replace(standings[watchdog.NAME], status="down", reason=reason)
    return standings


def overall(statuses: Iterable[Status]) -> Overall:
    """The overall status of parts: CONTRACT 11."""
    found = list(statuses)
    down = found.count("down")
    if down >= 2:
        return "major_outage"
    if down:
        return "partial_outage"
    return "degraded" if "degraded" in found else "operational"


def known(config: Config) -> tuple[str, ...]:
    """Every name that a service can have here, whether it runs or not."""
    return (*SERVICES, *config.targets)


def history(
    app: App, service: str | None, days: int, resolution: Resolution, now: datetime
) -> dict[str, Any]:
    """``GET /api/v1/status/history``: buckets of checks, oldest first, of one service or of all that have any.

    A day is a UTC day, and today is the last of ``days``; hours are the last 24 times as many. A bucket
    without checks does not exist. INVALID_PARAM for a service that finapi does not know.
    """
    names = known(app.config)
    if service is not None and service not in names:
        raise invalid_param("service", f"service must be one of {', '.join(names)}.", allowed=list(names))
    warning = None
    if resolution == "hourly" and days * 24 > MAX_BUCKETS:
        resolution = "daily"
        warning = f"hourly over {days} days would be {days * 24} buckets, more than {MAX_BUCKETS}: daily is answered"
    with app.db.read() as tx:
        found = _buckets(tx, names if service is None else (service,), days, resolution, now)
    if service is None:
        running = {*app.watch.standings}
        found = {name: rows for name, rows in found.items() if rows or ALIASES.get(name, name) in running}
    return {
        "days": days,
        "resolution": resolution,
        "history": found,
        "meta": {"generated_at": iso(now), "services_included": list(found), "warning": warning},
    }


def changes(tx: Transaction, limit: int) -> list[Change]:
    """The last changes of status, newest first."""
    return [
        Change(
            row["id"], row["service"], datetime.fromisoformat(row["changed_at"]), row["status"], row["reason"]
        )
        for row in tx.all("newest_changes", limit=limit)
    ]


def uptime(healthy: int, checks: int) -> float:
    """``uptime_pct`` of a bucket, as the spec writes it.

    Python's rounding: a half that a double can hold goes to the even digit (1 healthy of 32 is 3.12), any other
    to the side of .005 on which the double lies.
    """
    return round(healthy / checks * 100, 2)


def queues(tx: Transaction, now: datetime) -> dict[str, int]:
    """What waits to be done, by queue; ``ingest`` are filings whose documents are to be fetched and stored."""
    return {
        "ingest": following.queue_depth(tx, now),
        "mail": tx.value("queued_mails"),
        "webhooks": tx.value("queued_deliveries"),
    }


def figures(app: App) -> Figures:
    """What ``/metrics`` looks up when it is asked: how the parts stand, what waits, and what the store holds."""
    with app.db.read() as tx:
        waiting, version = queues(tx, app.clock.now()), tx.value("data_version")
    return {
        metrics.UP: {
            (service,): {"operational": 1.0, "degraded": 0.5, "down": 0.0}[part.status]
            for service, part in app.watch.standings.items()
        },
        metrics.QUEUE: {(queue,): float(depth) for queue, depth in waiting.items()},
        metrics.DATABASE: {(part,): float(size) for part, size in app.db.sizes().items()},
        metrics.DATA_VERSION: {(): float(version)},
    }


def _freshness(app: App) -> dict[str, Any]:
    """``data_freshness``; as it was when it was last read when the store cannot be."""
    try:
        with app.db.read() as tx:
            times = heartbeats.freshness(tx)
            depth = sum(queues(tx, app.clock.now()).values())
    except (Failed, ApiError):
        if app.watch.freshness is None:
            raise
        return app.watch.freshness
    app.watch.freshness = {
        "last_filing_at": times["filing"],
        "last_13f_batch_at": times["13f_batch"],
        "last_xbrl_run_at": times["xbrl_run"],
        "last_news_at": times["news"],
        "queue_depth": depth,
    }
    return app.watch.freshness


def _buckets(
    tx: Transaction, names: tuple[str, ...], days: int, resolution: Resolution, now: datetime
) -> dict[str, list[dict[str, Any]]]:
    seconds = int(now.timestamp())
    parts = {name: ALIASES.get(name, name) for name in names}
    services = json.dumps(list(dict.fromkeys(parts.values())))
    if resolution == "hourly":
        last = seconds // HOUR * HOUR
        rows = tx.all("hour_buckets", services=services, since=last - (days * 24 - 1) * HOUR, until=last)
    else:
        last = seconds // DAY * DAY
        rows = tx.all("day_buckets", services=services, since=last - (days - 1) * DAY, until=last)
    by_part: dict[str, list[dict[str, Any]]] = {part: [] for part in parts.values()}
    starts: dict[int, str] = {}
    for row in rows:
        start = row["start"]
        if start not in starts:
            starts[start] = iso(datetime.fromtimestamp(start, UTC))
        by_part[row["service"]].append(_bucket(row, starts[start]))
    return {name: by_part[part] for name, part in parts.items()}


def _bucket(row: Row, timestamp: str) -> dict[str, Any]:
    _, _, checks, healthy, degraded, down, ms = row
    return {
        "timestamp": timestamp,
        "total_checks": checks,
        "healthy": healthy,
        "degraded": degraded,
        "down": down,
        "uptime_pct": uptime(healthy, checks),
        "avg_response_ms": round(ms / checks),
    }
