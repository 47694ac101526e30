"""``/status``: how the components of finapi are, how they were, and when that changed."""

from __future__ import annotations

from collections.abc import Iterable
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

# DECISIONS 1: the nine names of the spec's history, two other names of theirs, and the watchdog; in this order.
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

# Two names of one component: it is checked once, and counts once in the overall status.
ALIASES = {"insider_module": "insider_api", "13f_worker": "sec_13f_worker"}

FIRST_ROUND_SECONDS = 1.0  # that an answer waits for the first round of checks

MAX_DAYS = 90  # more are clamped (DECISIONS 11)
MAX_BUCKETS = 200  # of a service; above it days are answered instead of hours (DECISIONS 11)

Overall = Literal["operational", "degraded", "partial_outage", "major_outage"]
Resolution = Literal["hourly", "daily"]


class Change(NamedTuple):
    """A service went over to another status."""

    id: int
    service: str
    at: datetime
    status: Status
    reason: str | None


class ServiceStatus(TypedDict):
    """A service at its last check; the uptime is the share of healthy checks in the last 30 days, in per cent."""

    name: str
    status: Status
    uptime_30d_pct: float
    last_check_at: Time


class DataFreshness(TypedDict):
    """When each kind of data last came in, and how much waits to be fetched, mailed or delivered."""

    last_filing_at: Time | None
    last_13f_batch_at: Time | None
    last_xbrl_run_at: Time | None
    last_news_at: Time | None
    queue_depth: int
    # Of a node that answers on a copy: seconds since the worker wrote what it holds.
    copy_age_seconds: NotRequired[float | None]


class StatusDocument(TypedDict):
    """``GET /api/v1/status``."""

    overall: Overall
    services: list[ServiceStatus]
    data_freshness: DataFreshness
    as_of: Time


def build_status(app: App, now: datetime) -> StatusDocument:
    """How every component that runs was at its last check.

    UNAVAILABLE before the first round of checks: nothing is called healthy that nobody has looked at. It is
    answered without the store too, then with the freshness that was read last.
    """
    found = get_components(app)
    services = [(name, found.get(ALIASES.get(name, name))) for name in list_service_names(app.config)]
    return {
        "overall": compute_overall_status(one.status for one in found.values()),
        "services": [
            {"name": name, "status": one.status, "uptime_30d_pct": one.uptime, "last_check_at": one.checked_at}
            for name, one in services
            if one is not None
        ],
        "data_freshness": _freshness(app),
        "as_of": iso(now),
    }


def get_components(app: App) -> dict[str, ComponentStatus]:
    """How every component is, by name; UNAVAILABLE before the first round of checks."""
    app.health.wait_for_first_round(FIRST_ROUND_SECONDS)
    found = dict(app.health.components)
    if not found:
        raise ApiError("UNAVAILABLE", "No health check has run yet.", headers={"Retry-After": "1"})
    if watchdog.is_stuck(app):
        # It cannot say so itself.
        reason = "the round of checks that was due has not been made"
        found[watchdog.NAME] = found[watchdog.NAME]._replace(status="down", reason=reason)
    return found


def compute_overall_status(statuses: Iterable[Status]) -> Overall:
    """The overall status of components: DECISIONS 11."""
    found = list(statuses)
    if "down" in found:
        return "major_outage" if found.count("down") > 1 else "partial_outage"
    return "degraded" if "degraded" in found else "operational"


def list_service_names(config: Config) -> tuple[str, ...]:
    """Every name that a service can have here, whether it runs or not."""
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
    """What a history holds; ``warning`` says why days are answered instead of hours."""

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
    """The history of one service, or of all that have any; INVALID_PARAM for a service that finapi does not know.

    A day is a UTC day, and today is the last of ``days``; hours are the last 24 times as many. A bucket without
    checks does not exist.
    """
    names = list_service_names(app.config)
    if service is not None and service not in names:
        raise invalid_param("service", f"service must be one of {', '.join(names)}.", allowed=list(names))
    warning = None
    if resolution == "hourly" and days * 24 > MAX_BUCKETS:
        resolution = "daily"
        warning = f"hourly over {days} days would be {days * 24} buckets, more than {MAX_BUCKETS}: daily is answered"
    with app.accounts.read() as tx:
        found = _buckets(tx, names if service is None else (service,), days, resolution, now)
    if service is None:
        app.health.wait_for_first_round(FIRST_ROUND_SECONDS)
        running = {*app.health.components}
        found = {name: rows for name, rows in found.items() if rows or ALIASES.get(name, name) in running}
    return {
        "days": days,
        "resolution": resolution,
        "history": found,
        "meta": {"generated_at": iso(now), "services_included": list(found), "warning": warning},
    }


def list_changes(tx: Transaction, limit: int) -> list[Change]:
    """The last changes of status, newest first."""
    return [
        Change(row["id"], row["service"], datetime.fromisoformat(row["changed_at"]), row["status"], row["reason"])
        for row in tx.list_rows("newest_changes", limit=limit)
    ]


def compute_uptime_percent(healthy: int, checks: int) -> float:
    """``uptime_pct`` of a bucket, as the spec writes it.

    Python's rounding: a half that a double can hold goes to the even digit (1 healthy of 32 is 3.12), any other
    to the side of .005 on which the double lies.
    """
    return round(healthy / checks * 100, 2)


def count_queued_work(app: App, now: datetime) -> dict[str, int]:
    """What waits to be done, by queue; ``ingest`` are filings whose documents are to be fetched and stored."""
    with app.db.read() as tx:
        ingest = fetch_queue.count_due_documents(tx, now)
    with app.accounts.read() as tx:
        return {"ingest": ingest, "mail": tx.find_value("queued_mails"), "webhooks": tx.find_value("queued_deliveries")}


def compute_metrics(app: App) -> Figures:
    """What ``/metrics`` looks up when it is asked: how the components are, what waits, and what the store holds."""
    app.health.wait_for_first_round(FIRST_ROUND_SECONDS)
    waiting = count_queued_work(app, app.clock.now())
    with app.db.read() as tx:
        version, given_up, aside = (
            tx.find_value("data_version"),
            fetch_queue.count_given_up(tx),
            outbox.count_rows_aside(tx),
        )
    age = heartbeats.get_copy_age(app.db, app.clock.now())
    return {
        metrics.SERVICE_UP: {
            (name,): {"operational": 1.0, "degraded": 0.5, "down": 0.0}[one.status]
            for name, one in app.health.components.items()
        },
        metrics.QUEUE_DEPTH: {(queue,): float(depth) for queue, depth in waiting.items()},
        metrics.DOCUMENTS_GIVEN_UP: {(): float(given_up)},
        metrics.OUTBOX_SET_ASIDE: {(): float(aside)},
        metrics.DATABASE_BYTES: {(part,): float(size) for part, size in app.db.sizes().items()},
        metrics.DATA_VERSION: {(): float(version)},
        **({metrics.DATA_AGE: {(): age}} if age is not None else {}),
    }


def _freshness(app: App) -> DataFreshness:
    """``data_freshness``; as it was when it was last read when the store cannot be."""
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


def _buckets(
    tx: Transaction, names: tuple[str, ...], days: int, resolution: Resolution, now: datetime
) -> dict[str, list[StatusBucket]]:
    components = {name: ALIASES.get(name, name) for name in names}
    hourly = resolution == "hourly"
    size, count = (HOUR, days * 24) if hourly else (DAY, days)
    last = int(now.timestamp()) // size * size
    values = {"services": json.text(list(dict.fromkeys(components.values()))), "until": last}
    rows = tx.list_rows("hour_buckets" if hourly else "day_buckets", values, since=last - (count - 1) * size)
    found: dict[str, list[StatusBucket]] = {component: [] for component in components.values()}
    times: dict[int, str] = {}
    for service, start, checks, healthy, degraded, down, ms in rows:
        if start not in times:
            times[start] = iso(datetime.fromtimestamp(start, UTC))
        found[service].append(
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
    return {name: found[component] for name, component in components.items()}
