"""The watchdog, which checks every running component in rounds and stores the results.

A round belongs to a tick: the time of the round, rounded down to a multiple of ``watchdog_interval``. With an interval
of 60 s, rounds at 12:00:05 and 12:00:40 both belong to the tick 12:00:00. A component is counted once in each tick, so
a second round, a restart or a clock that is set back counts nothing twice. A tick without a round stays empty.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from finapi.app import App
from finapi.core import json, metrics
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.health import SLOW_MS, STATUS_BY_HEALTH, CheckRecord, CheckResult, ComponentStatus
from finapi.store.db import DatabaseError, Transaction

log = logging.getLogger("finapi.watchdog")

NAME = "sec_watchdog"

HOUR, DAY = 3600, 86_400  # seconds
UPTIME_DAYS = 30

# How long rows of a service are stored: its checks for a week, its buckets for longer than the 90 days that are served.
KEEP_SECONDS = 7 * DAY
KEEP_HOURS = 100 * 24
KEEP_DAYS = 400
KEEP_CHANGES = 1000

# The delay after which a round counts as missed and the watchdog as stuck.
GRACE_SECONDS = 1.0


def run_watchdog_step(app: App) -> float:
    """Run a round of checks if one is due. Return the seconds until it should run again."""
    now = app.clock.now()
    if compute_tick(app.config, now) != app.health.tick:
        run_round(app, now)
    interval = app.config.watchdog_interval
    return interval - app.clock.now().timestamp() % interval


def run_round(app: App, now: datetime) -> None:
    """Check every running component and store the results under the tick of ``now``."""
    health, tick = app.health, compute_tick(app.config, now)
    with health.lock:
        started = app.clock.monotonic()
        probes = dict(health.probes)
        checks = health.checker.check_all(probes)
        if checks.keys() != probes.keys():
            return  # The server is stopping and interrupted the round: some components were not checked.
        checks[NAME] = _check_schedule(app, started)
        # Published before it is stored, so that a store which blocks the watchdog is visible immediately.
        changed = _publish(app, checks, now, {})
        health.last_round_at = started
        for service, check in checks.items():
            health.unrecorded.append(CheckRecord(service, tick, iso(now), check))
        new_hour = health.tick is None or tick // HOUR != health.tick // HOUR
        _publish(app, checks, now, _store_checks(app, now, new_hour=new_hour))
        health.tick = tick
        for service, check in checks.items():
            app.metrics.count(metrics.WATCHDOG_CHECKS, service, check.health)
    if changed:
        health.clear_answer_caches()  # Removes answers that were cached between the two publications.
    health.first_round_done.set()


def _publish(app: App, checks: Mapping[str, CheckResult], now: datetime, uptimes: Mapping[str, float]) -> bool:
    """Store these checks in ``app.health``, which is in memory. Return True if the status of a component changed."""
    before = app.health.components
    after: dict[str, ComponentStatus] = {}
    for service, check in checks.items():
        uptime = uptimes.get(service)
        if uptime is None:  # The store failed: use the last known uptime, or the result of this check.
            uptime = 100.0 if check.health == "healthy" else 0.0
            if service in before:
                uptime = before[service].uptime
        after[service] = ComponentStatus(STATUS_BY_HEALTH[check.health], iso(now), uptime, check.reason)
    return _replace_components(app, after)


def _replace_components(app: App, after: dict[str, ComponentStatus]) -> bool:
    """Replace the components in ``app.health``. If a status changed, clear the cached answers and return True."""
    old_statuses = {name: component.status for name, component in app.health.components.items()}
    new_statuses = {name: component.status for name, component in after.items()}
    app.health.components = after
    if old_statuses == new_statuses:
        return False
    app.health.clear_answer_caches()
    return True


def compute_tick(config: Config, now: datetime) -> int:
    """Return the tick to which a time belongs, in seconds since 1970."""
    seconds = int(now.timestamp())
    return seconds - seconds % config.watchdog_interval


def is_stuck(app: App) -> bool:
    """Return True if a round is overdue. Then the watchdog itself counts as down."""
    if app.health.last_round_at is None:
        return False
    interval = app.config.watchdog_interval
    # The results of a round are published when it ends, at the latest at its deadline.
    max_age_seconds = interval + min(app.config.watchdog_deadline, interval) + GRACE_SECONDS
    return app.clock.monotonic() - app.health.last_round_at > max_age_seconds


def load_latest_checks(app: App, services: Sequence[str]) -> None:
    """Load the latest stored check of each service, made by another process that shares the accounts.

    A component whose latest check is more than one interval older than the newest one is no longer running.
    """
    interval = app.config.watchdog_interval
    with app.accounts.read() as tx:
        latest_rows = tx.list_rows("last_checks", services=json.text(services))
        newest_tick = max((row["tick"] for row in latest_rows), default=0)
        rows = [row for row in latest_rows if row["tick"] >= newest_tick - interval]
        uptimes = _compute_uptimes(tx, sorted(row["service"] for row in rows), newest_tick)
    components: dict[str, ComponentStatus] = {}
    for row in rows:
        checked_at = iso(datetime.fromtimestamp(row["tick"], UTC))
        uptime = uptimes.get(row["service"], 0.0)
        components[row["service"]] = ComponentStatus(STATUS_BY_HEALTH[row["health"]], checked_at, uptime, row["reason"])
    app.health.tick = newest_tick
    _replace_components(app, components)


def _check_schedule(app: App, started: float) -> CheckResult:
    """Return the check of the watchdog itself: how late this round is on the monotonic clock."""
    if app.health.last_round_at is None:
        return CheckResult("answered", 0)
    interval = app.config.watchdog_interval
    delay_seconds = max(0.0, started - app.health.last_round_at - interval)
    # The grace is at most a quarter of the interval. With an interval of one second, a grace of one second would count
    # every punctual round as missed.
    missed = int((delay_seconds + min(GRACE_SECONDS, interval / 4)) // interval)
    ms = round(delay_seconds * 1000)
    if missed:
        app.metrics.count(metrics.MISSED_CHECK_ROUNDS, by=missed)
        return CheckResult("answered", max(ms, SLOW_MS), f"rounds missed: {missed}")
    return CheckResult("answered", ms, f"{ms} ms late" if ms >= SLOW_MS else None)


def _store_checks(app: App, now: datetime, *, new_hour: bool) -> Mapping[str, float]:
    """Store the unrecorded checks. Return the uptimes after them, or an empty mapping if the store fails."""
    unrecorded = app.health.unrecorded
    services = sorted({record.service for record in unrecorded})
    try:
        with app.accounts.write() as tx:
            for record in unrecorded:
                check = record.result
                values = {"service": record.service, "health": check.health, "ms": check.ms, "reason": check.reason}
                tx.run("insert_check", values, tick=record.tick)
                tx.run("insert_change", values, now=record.at, status=STATUS_BY_HEALTH[check.health])
            if new_hour:
                for service in services:
                    tx.run("forget_checks", service=service, keep=KEEP_SECONDS // app.config.watchdog_interval)
                    tx.run("forget_hours", service=service, keep=KEEP_HOURS)
                    tx.run("forget_days", service=service, keep=KEEP_DAYS)
                tx.run("forget_changes", keep=KEEP_CHANGES)
            uptimes = _compute_uptimes(tx, services, int(now.timestamp()))
    except (DatabaseError, ApiError) as error:
        if app.accounts.trouble is None:  # If not None, the store has already logged the problem.
            log.warning("the checks could not be stored and will be stored with the next round: %s", error)
        return {}
    unrecorded.clear()
    return uptimes


def _compute_uptimes(tx: Transaction, services: Sequence[str], now: int) -> dict[str, float]:
    """Return the percentage of healthy checks of each service over the last 30 UTC days, today included."""
    today = now // DAY * DAY
    since = today - (UPTIME_DAYS - 1) * DAY
    rows = tx.list_rows("uptimes", services=json.text(services), since=since, until=today)
    return {row["service"]: row["healthy"] / row["checks"] * 100 for row in rows}
