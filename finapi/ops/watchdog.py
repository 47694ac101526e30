"""The watchdog: rounds of checks of every component that runs, and what is kept of them.

A round belongs to a tick, a whole multiple of the interval by the clock, and each component is counted once in each
tick: neither a second round in it, nor a restart, nor a clock that is put back counts anything again, and a
tick without a round is not made up.
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

# How much is kept of each service: the checks of a week, and more buckets than the 90 days that are served.
KEEP_SECONDS = 7 * DAY
KEEP_HOURS = 100 * 24
KEEP_DAYS = 400
KEEP_CHANGES = 1000

# What a round may be late before it counts as missed, or the watchdog as stuck, in seconds.
GRACE_SECONDS = 1.0


def run_watchdog_step(app: App) -> float:
    """Make the round of checks that is due, if one is; the seconds until the next."""
    now = app.clock.now()
    if compute_tick(app.config, now) != app.health.tick:
        run_round(app, now)
    interval = app.config.watchdog_interval
    return interval - app.clock.now().timestamp() % interval


def run_round(app: App, now: datetime) -> None:
    """Check every component that runs, now, and record what was found under the tick that ``now`` is in."""
    watch, tick = app.health, compute_tick(app.config, now)
    with watch.lock:
        started = app.clock.monotonic()
        probes = dict(watch.probes)
        found = watch.checker.check_all(probes)
        if found.keys() != probes.keys():
            return  # broken off by a stop: what did not come back was not checked
        found[NAME] = _check_schedule(app, started)
        # Shown before it is written: a store that keeps the watchdog waiting is to be seen at once.
        changed = _publish(app, found, now, {})
        watch.last_round_at = started
        watch.unrecorded.extend(CheckRecord(service, tick, iso(now), one) for service, one in found.items())
        new_hour = watch.tick is None or tick // HOUR != watch.tick // HOUR
        _publish(app, found, now, _record(app, now, new_hour=new_hour))
        watch.tick = tick
        for service, one in found.items():
            app.metrics.count(metrics.WATCHDOG_CHECKS, service, one.health)
    if changed:
        watch.clear_answer_caches()  # of what was made between the two
    watch.first_round_done.set()


def _publish(app: App, found: Mapping[str, CheckResult], now: datetime, uptimes: Mapping[str, float]) -> bool:
    """Show what was found; whether the status of a component changed, in which case cached answers are dropped."""
    before, after = app.health.components, {}
    for service, check in found.items():
        uptime = uptimes.get(service)
        if uptime is None:  # the store failed: what is known without it
            healthy = 100.0 if check.health == "healthy" else 0.0
            uptime = before[service].uptime if service in before else healthy
        after[service] = ComponentStatus(STATUS_BY_HEALTH[check.health], iso(now), uptime, check.reason)
    app.health.components = after
    changed = {name: one.status for name, one in before.items()} != {name: one.status for name, one in after.items()}
    if changed:
        app.health.clear_answer_caches()
    return changed


def compute_tick(config: Config, now: datetime) -> int:
    """The tick that a moment is in, in seconds since 1970."""
    seconds = int(now.timestamp())
    return seconds - seconds % config.watchdog_interval


def is_stuck(app: App) -> bool:
    """Whether the round that is due has not come: the watchdog itself is down."""
    if app.health.last_round_at is None:
        return False
    interval = app.config.watchdog_interval
    # A round takes up to its deadline before it shows.
    patience = interval + min(app.config.watchdog_deadline, interval) + GRACE_SECONDS
    return app.clock.monotonic() - app.health.last_round_at > patience


def load_latest_checks(app: App, services: Sequence[str]) -> None:
    """Show what another process found, which works on the same accounts: the last check of each of these services.

    Nothing is checked here; a component that was last checked a round before the others runs no more.
    """
    interval = app.config.watchdog_interval
    with app.accounts.read() as tx:
        last = tx.list_rows("last_checks", services=json.text(services))
        newest = max((row["tick"] for row in last), default=0)
        rows = [row for row in last if row["tick"] >= newest - interval]
        uptimes = _uptimes(tx, sorted(row["service"] for row in rows), newest)
    before = app.health.components
    app.health.components = {
        row["service"]: ComponentStatus(
            STATUS_BY_HEALTH[row["health"]],
            iso(datetime.fromtimestamp(row["tick"], UTC)),
            uptimes.get(row["service"], 0.0),
            row["reason"],
        )
        for row in rows
    }
    app.health.tick = newest
    if {name: one.status for name, one in before.items()} != {
        name: one.status for name, one in app.health.components.items()
    }:
        app.health.clear_answer_caches()


def _check_schedule(app: App, started: float) -> CheckResult:
    """The check of the watchdog itself: how late this round is. A wall clock that jumps makes no round late."""
    if app.health.last_round_at is None:
        return CheckResult("answered", 0)
    interval = app.config.watchdog_interval
    late = max(0.0, started - app.health.last_round_at - interval)
    # A quarter of a short interval: with rounds every second none is missed that comes in time.
    missed = int((late + min(GRACE_SECONDS, interval / 4)) // interval)
    ms = round(late * 1000)
    if missed:
        app.metrics.count(metrics.MISSED_CHECK_ROUNDS, by=missed)
        return CheckResult("answered", max(ms, SLOW_MS), f"rounds missed: {missed}")
    return CheckResult("answered", ms, f"{ms} ms late" if ms >= SLOW_MS else None)


def _record(app: App, now: datetime, *, new_hour: bool) -> Mapping[str, float]:
    """Write the checks that are not written yet; the uptimes after it, none when the store fails."""
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
            uptimes = _uptimes(tx, services, int(now.timestamp()))
    except (DatabaseError, ApiError) as error:
        if app.accounts.trouble is None:  # which the store has told of
            log.warning("the checks are written with the next round: %s", error)
        return {}
    unrecorded.clear()
    return uptimes


def _uptimes(tx: Transaction, services: Sequence[str], now: int) -> dict[str, float]:
    """The share of healthy checks of each service in per cent, over the UTC days that a history of 30 days shows."""
    today = now // DAY * DAY
    since = today - (UPTIME_DAYS - 1) * DAY
    rows = tx.list_rows("uptimes", services=json.text(services), since=since, until=today)
    return {row["service"]: row["healthy"] / row["checks"] * 100 for row in rows}
