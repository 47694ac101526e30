"""Tests of the watchdog's rounds: one count for each service and tick, across clock changes and restarts."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.health import CheckResult, HealthChecker, ProbeError
from finapi.ops import status, watchdog
from finapi.ops.probes import HeartbeatProbe, build_process_probes, probe_counters, probe_store
from finapi.store import connections, heartbeats
from finapi.store.db import Database
from tests.conftest import NOW
from tests.support.raw_sql import get_writer, run_sql, run_sql_many

NOON = int(NOW.timestamp())


class Part:
    """A part that works until ``trouble`` is set."""

    def __init__(self) -> None:
        self.trouble: ProbeError | None = None

    def __call__(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    def stop(self) -> None:
        self.trouble = ProbeError("refused", "cannot be reached")

    def start(self) -> None:
        self.trouble = None


class MovableClock(FixedClock):
    """A clock whose wall reading can be put anywhere, as an operator or NTP does."""

    def put(self, moment: datetime) -> None:
        self._now = moment


@pytest.fixture
def part(app: App) -> Part:
    part = Part()
    app.health.probes["redis"] = part
    return part


def checks(app: App) -> list[tuple[str, int, str]]:
    """Return every single check that is stored: service, tick, class."""
    connection = get_writer(app.db)
    rows = connection.execute("SELECT service, tick, class FROM status_checks ORDER BY tick, service")
    return [tuple(row) for row in rows]


def buckets(app: App, table: str, service: str = "redis") -> list[tuple[int, ...]]:
    """Return the rows of ``status_hours`` or ``status_days``: start, checks, healthy, degraded, down, ms."""
    rows = run_sql(
        app.db,
        f"SELECT start, checks, healthy, degraded, down, ms FROM {table} WHERE service = ? ORDER BY start",
        (service,),
    )
    return [tuple(row) for row in rows]


def rounds(app: App, clock: FixedClock, number: int, seconds: float = 60.0) -> None:
    """Run ``number`` rounds, each after this number of seconds."""
    for _ in range(number):
        clock.advance(seconds)
        watchdog.run_round(app, clock.now())


def standing(app: App, service: str = "redis") -> str:
    return app.health.components[service].status


# ---- ticks


def test_a_tick_is_a_whole_multiple_of_the_interval() -> None:
    config = Config(watchdog_interval=60)
    assert watchdog.compute_tick(config, NOW) == NOON
    assert watchdog.compute_tick(config, NOW + timedelta(seconds=59.999)) == NOON
    assert watchdog.compute_tick(config, NOW + timedelta(seconds=60)) == NOON + 60
    assert watchdog.compute_tick(config, NOW - timedelta(milliseconds=1)) == NOON - 60


def test_a_round_counts_every_part_and_the_watchdog_itself(app: App, part: Part) -> None:
    watchdog.run_round(app, NOW)
    assert checks(app) == [("redis", NOON, "healthy"), ("sec_watchdog", NOON, "healthy")]
    assert buckets(app, "status_hours") == [(NOON, 1, 1, 0, 0, 0)]
    assert buckets(app, "status_days") == [(NOON - 12 * 3600, 1, 1, 0, 0, 0)]


def test_a_step_runs_one_round_for_each_tick(app: App, part: Part, clock: FixedClock) -> None:
    assert watchdog.run_watchdog_step(app) == 60.0
    clock.advance(20)
    assert watchdog.run_watchdog_step(app) == 40.0
    clock.advance(39.999)
    assert watchdog.run_watchdog_step(app) == pytest.approx(0.001, abs=1e-6)
    assert len(checks(app)) == 2
    clock.advance(0.001)
    assert watchdog.run_watchdog_step(app) == 60.0
    assert buckets(app, "status_hours") == [(NOON, 2, 2, 0, 0, 0)]


def test_the_interval_is_a_setting(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(watchdog_interval=5)
    assert watchdog.run_watchdog_step(app) == 5.0
    clock.advance(4)
    assert watchdog.run_watchdog_step(app) == 1.0
    assert len(checks(app)) == 1


def test_the_later_of_two_rounds_in_a_tick_is_the_state(app: App, part: Part, clock: FixedClock) -> None:
    watchdog.run_round(app, NOW)
    part.stop()
    clock.advance(59)
    watchdog.run_round(app, clock.now())
    assert buckets(app, "status_hours") == [(NOON, 1, 1, 0, 0, 0)]
    assert standing(app) == "down"


def test_two_rounds_at_once_count_once(app: App, part: Part) -> None:
    threads = [threading.Thread(target=watchdog.run_round, args=(app, NOW)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert buckets(app, "status_hours") == [(NOON, 1, 1, 0, 0, 0)]
    assert buckets(app, "status_days") == [(NOON - 12 * 3600, 1, 1, 0, 0, 0)]


def test_missed_ticks_are_counted_as_missed(app: App, part: Part, clock: FixedClock) -> None:
    watchdog.run_watchdog_step(app)
    clock.advance(5 * 60)
    watchdog.run_watchdog_step(app)
    assert buckets(app, "status_hours") == [(NOON, 2, 2, 0, 0, 0)]
    assert "finapi_checks_missed_total 4\n" in app.metrics.render({})
    assert buckets(app, "status_hours", "sec_watchdog") == [(NOON, 2, 1, 1, 0, 240_000)]
    assert app.health.components["sec_watchdog"].reason == "rounds missed: 4"


@pytest.mark.parametrize(
    ("late", "expected", "reason"),
    [(0.0, "operational", None), (0.999, "operational", None), (1.0, "degraded", "1000 ms late")],
)
def test_a_watchdog_that_is_late_by_a_second_is_degraded(
    app: App, clock: FixedClock, late: float, expected: str, reason: str | None
) -> None:
    watchdog.run_round(app, clock.now())
    rounds(app, clock, 1, 60 + late)
    assert standing(app, "sec_watchdog") == expected
    assert app.health.components["sec_watchdog"].reason == reason


def test_rounds_of_a_second_that_come_in_time_miss_none(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(watchdog_interval=1)
    watchdog.run_round(app, clock.now())
    for seconds, expected in ((1.0, "operational"), (1.7, "operational"), (1.8, "degraded"), (1.0, "operational")):
        rounds(app, clock, 1, seconds)
        assert standing(app, "sec_watchdog") == expected


def test_a_stuck_watchdog_is_shown_as_down(app: App, part: Part, clock: FixedClock) -> None:
    watchdog.run_round(app, clock.now())
    clock.advance(60 + 5 + 1)
    assert status.get_components(app)["sec_watchdog"].status == "operational"
    clock.advance(0.001)
    assert status.get_components(app)["sec_watchdog"].status == "down"
    assert status.build_status(app, clock.now())["overall"] == "partial_outage"
    watchdog.run_round(app, clock.now())
    assert status.get_components(app)["sec_watchdog"].status == "degraded"  # a round was late
    rounds(app, clock, 1)
    assert status.get_components(app)["sec_watchdog"].status == "operational"


# ---- clocks, restarts


@pytest.fixture
def movable(tmp_path: Path) -> Iterator[App]:
    app = apps.create_in_memory(Config(), MovableClock(NOW))
    app.health.probes["redis"] = Part()
    yield app
    app.db.close()


def test_a_clock_that_is_put_back_counts_no_tick_twice(movable: App) -> None:
    clock: Any = movable.clock
    for _ in range(10):
        watchdog.run_watchdog_step(movable)
        clock.advance(60)
    clock.put(NOW)
    for _ in range(12):
        watchdog.run_watchdog_step(movable)
        clock.advance(60)
    assert buckets(movable, "status_hours") == [(NOON, 12, 12, 0, 0, 0)]
    assert buckets(movable, "status_hours", "sec_watchdog")[0][:5] == (NOON, 12, 12, 0, 0)


def test_a_clock_jump_ahead_neither_adds_nor_misses_ticks(movable: App) -> None:
    clock: Any = movable.clock
    watchdog.run_watchdog_step(movable)
    clock.advance(60)
    clock.put(NOW + timedelta(days=3))
    watchdog.run_watchdog_step(movable)
    assert [row[:2] for row in buckets(movable, "status_hours")] == [(NOON, 1), (NOON + 3 * 86_400, 1)]
    assert [row[:2] for row in buckets(movable, "status_days")] == [
        (NOON - 12 * 3600, 1),
        (NOON - 12 * 3600 + 3 * 86_400, 1),
    ]
    assert "finapi_checks_missed_total 0\n" in movable.metrics.render({})
    assert standing(movable, "sec_watchdog") == "operational"


def test_a_clock_decades_ahead_for_a_while_loses_no_history(movable: App) -> None:
    clock: Any = movable.clock
    watchdog.run_watchdog_step(movable)
    for hour in range(3):
        clock.advance(3600)
        clock.put(NOW + timedelta(days=40 * 365, hours=hour))
        watchdog.run_watchdog_step(movable)
    clock.put(NOW + timedelta(minutes=1))
    watchdog.run_watchdog_step(movable)
    assert buckets(movable, "status_hours")[0] == (NOON, 2, 2, 0, 0, 0)
    daily_buckets = status.build_history(movable, "redis", 90, "daily", clock.now())["history"]["redis"]
    assert [(row["timestamp"], row["total_checks"]) for row in daily_buckets] == [("2026-01-31T00:00:00.000Z", 2)]


@pytest.fixture
def start(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], App]]:
    """Yield a function that opens the same database as a new process would, with a short lock timeout."""
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    started: list[App] = []

    def begin() -> App:
        for app in started:
            app.db.close()
        app = apps.open_on_disk(Config(data_dir=tmp_path), clock)
        app.health.probes["redis"] = Part()
        started.append(app)
        return app

    yield begin
    for app in started:
        app.db.close()


def test_a_restart_within_a_tick_counts_it_once(start: Callable[[], App], clock: FixedClock) -> None:
    for _ in range(3):
        watchdog.run_round(start(), clock.now())
        clock.advance(15)
    app = start()
    assert buckets(app, "status_hours") == [(NOON, 1, 1, 0, 0, 0)]
    watchdog.run_round(app, clock.now())
    clock.advance(15)
    watchdog.run_round(app, clock.now())
    assert buckets(app, "status_hours") == [(NOON, 2, 2, 0, 0, 0)]


def test_a_part_down_and_up_across_a_restart_has_two_changes(start: Callable[[], App], clock: FixedClock) -> None:
    app = start()
    app.health.probes["redis"].stop()  # type: ignore[attr-defined]
    watchdog.run_round(app, clock.now())
    clock.advance(600)
    app = start()
    watchdog.run_round(app, clock.now())
    with app.db.read() as tx:
        changes = [(change.service, change.status, iso(change.at)) for change in status.list_changes(tx, 10)]
    assert changes == [
        ("redis", "operational", "2026-01-31T12:10:00.000Z"),
        ("redis", "down", "2026-01-31T12:00:00.000Z"),
    ]


def test_another_interval_after_a_restart_counts_on(tmp_path: Path, clock: FixedClock) -> None:
    for interval in (60, 7, 60):
        app = apps.open_on_disk(Config(data_dir=tmp_path, watchdog_interval=interval), clock)
        app.health.probes["redis"] = Part()
        watchdog.run_round(app, clock.now())
        app.db.close()
        clock.advance(60)
    connection = sqlite3.connect(tmp_path / "finapi.db")
    assert connection.execute("SELECT checks FROM status_days WHERE service = 'redis'").fetchall() == [(3,)]
    connection.close()


# ---- what is kept


def test_days_are_the_sums_of_their_hours(app: App, part: Part, clock: FixedClock) -> None:
    generator = random.Random(7)
    app.health.checker = Scripted(generator)  # type: ignore[assignment]
    rounds(app, clock, 3000, 61.0)
    of_hours: dict[int, list[int]] = {}
    for start, *counts in buckets(app, "status_hours"):
        day = of_hours.setdefault(start // 86_400 * 86_400, [0] * 5)
        of_hours[start // 86_400 * 86_400] = [daily + hourly for daily, hourly in zip(day, counts, strict=True)]
    assert [(start, *counts) for start, counts in of_hours.items()] == buckets(app, "status_days")
    assert len(of_hours) == 3
    singles = [row for row in checks(app) if row[0] == "redis"]
    assert sum(counts[0] for counts in of_hours.values()) == len(singles)
    for position, name in enumerate(("healthy", "degraded", "down"), 1):
        number = sum(row[2] == name for row in singles)
        assert number == sum(counts[position] for counts in of_hours.values())
        assert number > 500


class Scripted(HealthChecker):
    """Checks with random outcomes that take no time."""

    def __init__(self, generator: random.Random) -> None:
        super().__init__(lambda: 0.0, 1.0)
        self._random = generator

    def check_all(self, probes: Any) -> dict[str, CheckResult]:
        outcomes: Any = ["answered", "recovered", "refused"]
        return {name: CheckResult(self._random.choice(outcomes), self._random.randrange(900)) for name in probes}


def test_single_checks_are_kept_a_week_and_buckets_longer(app: App, part: Part, clock: FixedClock) -> None:
    rows = [(NOON - 60 * number,) for number in range(1, 8 * 1440)]
    run_sql_many(app.db, "INSERT INTO status_checks (service, tick, class, ms) VALUES ('redis', ?, 'healthy', 1)", rows)
    watchdog.run_round(app, NOW)
    ticks = [tick for service, tick, _ in checks(app) if service == "redis"]
    assert (min(ticks), max(ticks), len(ticks)) == (NOON - 7 * 86_400, NOON, 7 * 1440 + 1)
    assert sum(row[1] for row in buckets(app, "status_hours")) == 8 * 1440
    assert len(buckets(app, "status_hours")) == 8 * 24 + 1


def test_buckets_of_ninety_days_are_stored_and_bounded(app: App, part: Part) -> None:
    for table, seconds, rows in (("status_hours", 3600, 3000), ("status_days", 86_400, 500)):
        first = NOON // 86_400 * 86_400
        run_sql_many(
            app.db,
            f"INSERT INTO {table} VALUES ('redis', ?, 1, 1, 0, 0, 5)",
            [(first - seconds * number,) for number in range(1, rows)],
        )
    watchdog.run_round(app, NOW)
    assert len(buckets(app, "status_hours")) == 100 * 24 + 1
    assert len(buckets(app, "status_days")) == 400 + 1


def test_changes_are_bounded_in_number(app: App, part: Part, clock: FixedClock) -> None:
    run_sql_many(
        app.db,
        "INSERT INTO status_changes (service, changed_at, status) VALUES ('redis', '2026-01-31T00:00:00.000Z', ?)",
        [("down" if number % 2 else "operational",) for number in range(1500)],
    )
    watchdog.run_round(app, NOW)
    with app.db.read() as tx:
        assert len(status.list_changes(tx, 5000)) == 1000


def test_a_round_that_cannot_be_stored_is_written_with_the_next(
    start: Callable[[], App], clock: FixedClock, tmp_path: Path
) -> None:
    app = start()
    part: Any = app.health.probes["redis"]
    watchdog.run_round(app, clock.now())
    other = sqlite3.connect(tmp_path / "finapi.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    part.stop()
    rounds(app, clock, 1)
    assert buckets(app, "status_hours") == [(NOON, 1, 1, 0, 0, 0)]
    assert (standing(app), app.health.components["redis"].uptime) == ("down", 100.0)
    other.execute("ROLLBACK")
    other.close()
    part.start()
    rounds(app, clock, 1)
    assert buckets(app, "status_hours") == [(NOON, 3, 2, 0, 1, 0)]
    assert app.health.components["redis"].uptime == pytest.approx(200 / 3)
    with app.db.read() as tx:
        changes = [(change.status, iso(change.at)) for change in status.list_changes(tx, 10)]
    assert changes == [("operational", "2026-01-31T12:02:00.000Z"), ("down", "2026-01-31T12:01:00.000Z")]


def test_a_round_that_a_stop_breaks_off_counts_nothing(app: App) -> None:
    release = threading.Event()
    app.health.probes["redis"] = lambda: bool(release.wait(30.0)) and None
    app.health.checker.close()
    watchdog.run_round(app, NOW)
    release.set()
    app.health.checker.join(30.0)
    assert (checks(app), dict(app.health.components)) == ([], {})


# ---- the store and the counters, stopped for real; what beats


def test_the_store_is_down_while_another_process_locks_it(start: Callable[[], App], tmp_path: Path) -> None:
    app = start()
    probe_store(app)
    other = sqlite3.connect(tmp_path / "finapi.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert HealthChecker(app.clock.monotonic, 10.0).check_all({"a": lambda: probe_store(app)})["a"].health == "down"
    other.execute("ROLLBACK")
    other.close()
    probe_store(app)


def test_a_store_that_forgets_what_was_written_is_wrong(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    probe_store(app)
    app.clock.advance(1)  # type: ignore[attr-defined]
    monkeypatch.setattr(heartbeats, "record_beat", lambda *_: None)
    with pytest.raises(ProbeError, match="cannot be read back"):
        probe_store(app)


def test_the_counters_are_given_back_what_the_check_took(app: App) -> None:
    for _ in range(200):
        probe_counters(app)
    assert [limiter._states for limiter in app.limiters.values()] == [{} for _ in app.limiters]


def test_counters_without_a_burst_work_too(make_app: Callable[..., App]) -> None:
    probe_counters(make_app(xbrl_burst=0, register_per_hour_per_ip=1))


def test_counters_that_do_not_count_are_wrong(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = app.limiters["xbrl"]
    decision = limiter.take("a", 0.0)
    monkeypatch.setattr(limiter, "take", lambda *_: decision)
    with pytest.raises(ProbeError, match="the rate limit of xbrl does not count calls"):
        probe_counters(app)


def test_counters_whose_lock_is_held_for_ever_are_down_in_time(app: App) -> None:
    checks = HealthChecker(app.clock.monotonic, 0.2)
    with app.limiters["app"]._lock:
        assert checks.check_all(build_process_probes(app))["redis"] == CheckResult(
            "timeout", 200, "no answer within 0.2 s"
        )
    checks.join(30.0)
    assert checks.check_all(build_process_probes(app))["redis"] == CheckResult("answered", 0)


def beat(app: App, **fields: Any) -> None:
    with app.db.write() as tx:
        heartbeats.record_beat(tx, "sec_worker", app.clock.now(), **fields)


def test_a_part_has_its_first_time_to_make_its_first_step(app: App, clock: FixedClock) -> None:
    heart = HeartbeatProbe(app, "sec_worker", max_age_seconds=120.0)
    assert heart() is None
    clock.advance(120)
    assert heart() is None
    clock.advance(1)
    with pytest.raises(ProbeError, match="no heartbeat for 121 s") as changes:
        heart()
    assert changes.value.outcome == "timeout"


def test_a_beat_from_before_the_start_is_ignored(app: App, clock: FixedClock) -> None:
    beat(app, failure="EDGAR answered 503")
    heart = HeartbeatProbe(app, "sec_worker", max_age_seconds=120.0)
    assert heart() is None
    clock.advance(121)
    with pytest.raises(ProbeError, match="no heartbeat"):
        heart()


def test_a_part_is_down_while_its_heartbeats_are_missing(app: App, clock: FixedClock) -> None:
    heart = HeartbeatProbe(app, "sec_worker", max_age_seconds=120.0)
    for _ in range(5):
        clock.advance(119)
        beat(app, took_ms=40)
        assert heart() == 40
    clock.advance(121)
    with pytest.raises(ProbeError, match="no heartbeat for 121 s"):
        heart()
    beat(app)
    assert heart() is None


def test_a_failed_step_is_reported_until_one_succeeds(app: App, clock: FixedClock) -> None:
    heart = HeartbeatProbe(app, "sec_worker", max_age_seconds=120.0)
    clock.advance(1)
    beat(app, failure="EDGAR answered 503")
    with pytest.raises(ProbeError, match="EDGAR answered 503") as changes:
        heart()
    assert changes.value.outcome == "failing"
    clock.advance(1)
    beat(app)
    assert heart() is None


def test_a_wall_clock_that_jumps_makes_no_beat_old() -> None:
    clock = MovableClock(NOW)
    app = apps.create_in_memory(Config(), clock)
    heart = HeartbeatProbe(app, "sec_worker", max_age_seconds=120.0)
    beat(app)
    clock.put(NOW + timedelta(days=400))
    assert heart() is None
    clock.put(NOW - timedelta(days=400))
    beat(app)
    assert heart() is None
    app.db.close()


def test_the_database_itself_counts_a_check_in_its_hour_and_day() -> None:
    database = Database(None)
    connection = get_writer(database)
    insert = "INSERT INTO status_checks (service, tick, class, ms) VALUES ('a', ?, ?, ?)"
    midnight = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    for tick, changes, ms in ((midnight - 1, "down", 5), (midnight, "healthy", 7), (midnight + 3599, "degraded", 9)):
        connection.execute(insert, (tick, changes, ms))
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(insert, (midnight, "down", 1))
    hours = connection.execute("SELECT start, checks, healthy, degraded, down, ms FROM status_hours").fetchall()
    assert [tuple(row) for row in hours] == [(midnight - 3600, 1, 0, 0, 1, 5), (midnight, 2, 1, 1, 0, 16)]
    days = connection.execute("SELECT start, checks, healthy, degraded, down, ms FROM status_days").fetchall()
    assert [tuple(row) for row in days] == [(midnight - 86_400, 1, 0, 0, 1, 5), (midnight, 2, 1, 1, 0, 16)]
    database.close()
