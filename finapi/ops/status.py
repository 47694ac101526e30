"""The status of finapi's components at the last check, its history and its changes.

The watchdog (``ops/watchdog.py``) stores the checks. From them this module builds the JSON documents of ``/status`` and
the figures of ``/metrics``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, NamedTuple, NotRequired, TypedDict

from finapi.app import App
from finapi.core import json, metrics
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, invalid_param
from finapi.core.health import ComponentStatus, Status
from finapi.core.metrics import Figures
from finapi.core.records import Time
from finapi.delivery import outbox
from finapi.market.intake import fetch_queue
from finapi.ops import watchdog
from finapi.ops.watchdog import DAY, HOUR
from finapi.store import heartbeats
from finapi.store.db import DatabaseError, Transaction

# The names of services in the order of the API (DECISIONS 1). Some are second names of a component: see ALIASES.
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

# Second names of components. A component is checked once, and counts once in the overall status.
ALIASES = {"insider_module": "insider_api", "13f_worker": "sec_13f_worker"}

# After a start, responses wait for the first round of checks: until its deadline, and this much longer for its end.
FIRST_ROUND_GRACE_SECONDS = 1.0

MAX_DAYS = 90  # A larger number is clamped (DECISIONS 11).
MAX_BUCKETS = 200  # Buckets returned for a service. For a longer history, hours become days (DECISIONS 11).

Overall = Literal["operational", "degraded", "partial_outage", "major_outage"]
Resolution = Literal["hourly", "daily"]


class Change(NamedTuple):
    """A change of a service's status."""

    id: int
    service: str
    at: datetime
    status: Status
    reason: str | None


class ServiceStatus(TypedDict):
    """A service at its last check. The uptime is the percentage of healthy checks in the last 30 days."""

    name: str
    status: Status
    uptime_30d_pct: float
    last_check_at: Time


class DataFreshness(TypedDict):
    """The times at which each kind of data was last stored, and the number of waiting documents, mails and webhooks."""

    last_filing_at: Time | None
    last_13f_batch_at: Time | None
    last_xbrl_run_at: Time | None
    last_news_at: Time | None
    queue_depth: int
    # Only for a node with a copy of the market data: seconds since the worker last wrote to it.
    copy_age_seconds: NotRequired[float | None]


class StatusDocument(TypedDict):
    """``GET /api/v1/status``."""

    overall: Overall
    services: list[ServiceStatus]
    data_freshness: DataFreshness
    as_of: Time


def build_status(app: App, now: datetime) -> StatusDocument:
    """Return the status of every running component at its last check.

    Raise ApiError (UNAVAILABLE) before the first round of checks. If the store cannot be read, ``data_freshness`` is
    the last one that was read.
    """
    components = get_components(app)
    services: list[ServiceStatus] = []
    for name in list_service_names(app.config):
        component = components.get(ALIASES.get(name, name))
        if component is not None:
            services.append(
                {
                    "name": name,
                    "status": component.status,
                    "uptime_30d_pct": component.uptime,
                    "last_check_at": component.checked_at,
                }
            )
    return {
        "overall": compute_overall_status(component.status for component in components.values()),
        "services": services,
        "data_freshness": _read_freshness(app),
        "as_of": iso(now),
    }


def get_components(app: App) -> dict[str, ComponentStatus]:
    """Return the status of every component by name.

    Raise ApiError (UNAVAILABLE) if no watchdog runs, or if the first round of checks does not end at its deadline.
    """
    wait_for_first_round(app)
    components = dict(app.health.components)
    if not components:
        raise ApiError("UNAVAILABLE", "No health check has run yet.", headers={"Retry-After": "1"})
    if watchdog.is_stuck(app):
        # A stuck watchdog cannot report itself.
        reason = "the round of checks that was due has not been made"
        components[watchdog.NAME] = components[watchdog.NAME]._replace(status="down", reason=reason)
    return components


def wait_for_first_round(app: App) -> None:
    """Wait for the end of the first round of checks after a start. Its checks have ended or timed out by then."""
    deadline_seconds = min(app.config.watchdog_deadline, app.config.watchdog_interval)
    app.health.wait_for_first_round(deadline_seconds + FIRST_ROUND_GRACE_SECONDS)


def compute_overall_status(statuses: Iterable[Status]) -> Overall:
    """Return the overall status of components (DECISIONS 11)."""
    known_statuses = list(statuses)
    if "down" in known_statuses:
        return "major_outage" if known_statuses.count("down") > 1 else "partial_outage"
    return "degraded" if "degraded" in known_statuses else "operational"


def list_service_names(config: Config) -> tuple[str, ...]:
    """Return the names of all services that this configuration can have, running or not."""
    return (*SERVICES, *config.watchdog_urls)


class StatusBucket(TypedDict):
    """The checks of an hour or a day."""

    timestamp: Time
    total_checks: int
    healthy: int
    degraded: int
    down: int
    uptime_pct: float
    avg_response_ms: int


class HistoryMeta(TypedDict):
    """The services of a history. ``warning`` says why days are returned instead of hours."""

    generated_at: Time
    services_included: list[str]
    warning: str | None


class StatusHistory(TypedDict):
    """``GET /api/v1/status/history``: buckets of checks by service, oldest first."""

    days: int
    resolution: Resolution
    history: dict[str, list[StatusBucket]]
    meta: HistoryMeta


def build_history(app: App, service: str | None, days: int, resolution: Resolution, now: datetime) -> StatusHistory:
    """Return the history of one service, or of all services with checks. Raise INVALID_PARAM for an unknown name.

    The buckets are the last ``days`` UTC days, today included, or 24 times as many hours. Buckets without checks are
    left out.
    """
    names = list_service_names(app.config)
    if service is not None and service not in names:
        raise invalid_param("service", f"service must be one of {', '.join(names)}.", allowed=list(names))
    warning = None
    if resolution == "hourly" and days * 24 > MAX_BUCKETS:
        resolution = "daily"
        warning = f"hourly over {days} days would be {days * 24} buckets, more than {MAX_BUCKETS}: daily is answered"
    with app.accounts.read() as tx:
        buckets_by_service = _read_buckets(tx, names if service is None else (service,), days, resolution, now)
    if service is None:
        wait_for_first_round(app)
        running = {*app.health.components}
        buckets_by_service = {
            name: rows for name, rows in buckets_by_service.items() if rows or ALIASES.get(name, name) in running
        }
    return {
        "days": days,
        "resolution": resolution,
        "history": buckets_by_service,
        "meta": {"generated_at": iso(now), "services_included": list(buckets_by_service), "warning": warning},
    }


def list_changes(tx: Transaction, limit: int) -> list[Change]:
    """Return the last changes of status, newest first."""
    return [
        Change(row["id"], row["service"], datetime.fromisoformat(row["changed_at"]), row["status"], row["reason"])
        for row in tx.list_rows("newest_changes", limit=limit)
    ]


def compute_uptime_percent(healthy: int, checks: int) -> float:
    """Return the percentage of healthy checks, with two decimals.

    Python's ``round`` rounds an exact half to the even digit: 1 healthy check of 32 (3.125 %) gives 3.12.
    """
    return round(healthy / checks * 100, 2)


def count_queued_work(app: App, now: datetime) -> dict[str, int]:
    """Return the number of waiting entries by queue: documents to fetch (``ingest``), mails and webhooks."""
    with app.db.read() as tx:
        due_documents = fetch_queue.count_due_documents(tx, now)
    with app.accounts.read() as tx:
        return {
            "ingest": due_documents,
            "mail": tx.find_value("queued_mails"),
            "webhooks": tx.find_value("queued_deliveries"),
        }


def compute_metrics(app: App) -> Figures:
    """Return the figures of ``/metrics`` that are computed for each request: components, queues and the store."""
    from finapi.ops import backups  # It imports much that /status does not need.

    wait_for_first_round(app)
    queue_depths = count_queued_work(app, app.clock.now())
    with app.db.read() as tx:
        version = tx.find_value("data_version")
        given_up = fetch_queue.count_given_up(tx)
        set_aside = outbox.count_rows_aside(tx)
    copy_age = heartbeats.get_copy_age(app.db, app.clock.now())
    backup_age = backups.find_backup_age(app.config, app.clock.now())
    values = {"operational": 1.0, "degraded": 0.5, "down": 0.0}
    return {
        metrics.SERVICE_UP: {(name,): values[component.status] for name, component in app.health.components.items()},
        metrics.QUEUE_DEPTH: {(queue,): float(depth) for queue, depth in queue_depths.items()},
        metrics.DOCUMENTS_GIVEN_UP: {(): float(given_up)},
        metrics.OUTBOX_SET_ASIDE: {(): float(set_aside)},
        metrics.DATABASE_BYTES: {(part,): float(size) for part, size in app.db.sizes().items()},
        metrics.DATA_VERSION: {(): float(version)},
        metrics.DISK_FREE: _measure_free_disk(app),
        **({metrics.BACKUP_AGE: {(): backup_age}} if backup_age is not None else {}),
        **({metrics.DATA_AGE: {(): copy_age}} if copy_age is not None else {}),
    }


def _measure_free_disk(app: App) -> Mapping[tuple[str, ...], float]:
    """Return the free bytes of the disk with the database, without a value for a database in memory."""
    if app.db.path is None:
        return {}
    try:
        return {(): float(shutil.disk_usage(app.db.path.parent).free)}
    except OSError:  # The data directory was removed, which the store reports.
        return {}


def _read_freshness(app: App) -> DataFreshness:
    """Return ``data_freshness``, or the last one that was read if the store cannot be read."""
    try:
        with app.db.read() as tx:
            times = heartbeats.get_freshness(tx)
        depth = sum(count_queued_work(app, app.clock.now()).values())
    except (DatabaseError, ApiError):
        last: DataFreshness | None = app.health.freshness
        if last is None:
            raise
        return last
    freshness: DataFreshness = {
        "last_filing_at": times["filing"],
        "last_13f_batch_at": times["13f_batch"],
        "last_xbrl_run_at": times["xbrl_run"],
        "last_news_at": times["news"],
        "queue_depth": depth,
    }
    if app.db.is_copy:
        freshness["copy_age_seconds"] = heartbeats.get_copy_age(app.db, app.clock.now())
    app.health.freshness = freshness
    return freshness


def _read_buckets(
    tx: Transaction, names: tuple[str, ...], days: int, resolution: Resolution, now: datetime
) -> dict[str, list[StatusBucket]]:
    """Return the buckets of each service, oldest first."""
    components = {name: ALIASES.get(name, name) for name in names}
    if resolution == "hourly":
        query, bucket_seconds, count = "hour_buckets", HOUR, days * 24
    else:
        query, bucket_seconds, count = "day_buckets", DAY, days
    last_start = int(now.timestamp()) // bucket_seconds * bucket_seconds
    rows = tx.list_rows(
        query,
        services=json.text(list(dict.fromkeys(components.values()))),
        since=last_start - (count - 1) * bucket_seconds,
        until=last_start,
    )
    buckets: dict[str, list[StatusBucket]] = {component: [] for component in components.values()}
    times: dict[int, str] = {}
    for service, start, checks, healthy, degraded, down, ms in rows:
        if start not in times:
            times[start] = iso(datetime.fromtimestamp(start, UTC))
        buckets[service].append(
            {
                "timestamp": times[start],
                "total_checks": checks,
                "healthy": healthy,
                "degraded": degraded,
                "down": down,
                "uptime_pct": compute_uptime_percent(healthy, checks),
                "avg_response_ms": round(ms / checks),
            }
        )
    return {name: buckets[component] for name, component in components.items()}
