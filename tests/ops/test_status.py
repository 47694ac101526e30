"""Tests of the status document: the overall state, the window of a history, its buckets, rounding, and speed."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.core.health import ProbeError, Status
from finapi.market.intake import fetch_queue
from finapi.ops import status, watchdog
from finapi.store import heartbeats
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import get_writer, run_sql, run_sql_many

# The spec's nine names, the two other names of the contract, the watchdog.
TWELVE = (
    *("main_api", "insider_api", "insider_module", "postgres_db", "redis", "sec_worker", "sec_13f_worker"),
    *("13f_worker", "news_daemon", "sec_gateway", "frontend", "sec_watchdog"),
)
HOUR, DAY = 3600, 86_400
MIDNIGHT = int(datetime(2026, 1, 31, tzinfo=UTC).timestamp())


def put(app: App, service: str, tick: int, outcome: str = "healthy", ms: int = 0) -> None:
    run_sql(
        app.db, "INSERT INTO status_checks (service, tick, class, ms) VALUES (?, ?, ?, ?)", (service, tick, outcome, ms)
    )


def history(app: App, service: str | None = "redis", days: int = 30, resolution: Any = "daily") -> Any:
    return status.build_history(app, service, days, resolution, NOW)


def starts(app: App, **parameters: Any) -> list[str]:
    return [bucket["timestamp"] for bucket in history(app, **parameters)["history"]["redis"]]


# ---- overall


@run_each_case(
    "statuses, expected",
    [
        ([], "operational"),
        (["operational"] * 12, "operational"),
        (["operational", "degraded"], "degraded"),
        (["degraded", "degraded"], "degraded"),
        (["operational", "down"], "partial_outage"),
        (["degraded", "down"], "partial_outage"),
        (["down"], "partial_outage"),
        (["down", "operational", "down"], "major_outage"),
        (["down"] * 12, "major_outage"),
    ],
)
def test_overall_is_as_the_contract_says(statuses: list[Status], expected: str) -> None:
    assert status.compute_overall_status(statuses) == expected


def test_a_part_with_two_names_is_one_part(app: App) -> None:
    def down() -> None:
        raise ProbeError("refused", "cannot be reached")

    app.health.probes.update(insider_api=down, redis=lambda: None)
    watchdog.run_round(app, NOW)
    document = status.build_status(app, NOW)
    assert document["overall"] == "partial_outage"
    assert {service["name"]: service["status"] for service in document["services"]} == {
        "insider_api": "down",
        "insider_module": "down",
        "redis": "operational",
        "sec_watchdog": "operational",
    }


def test_nothing_is_called_healthy_before_anybody_has_looked(app: App) -> None:
    with pytest.raises(ApiError) as answer:
        status.build_status(app, NOW)
    assert (answer.value.code, answer.value.headers) == ("UNAVAILABLE", {"Retry-After": "1"})


def test_uptime_is_the_share_of_healthy_checks(app: App) -> None:
    app.health.probes["redis"] = lambda: None
    put(app, "redis", MIDNIGHT - 30 * DAY, "down")  # the day before
    put(app, "redis", MIDNIGHT - 29 * DAY, "down")
    put(app, "redis", MIDNIGHT - DAY, "degraded")
    watchdog.run_round(app, NOW)
    assert status.build_status(app, NOW)["services"][0]["uptime_30d_pct"] == 1 / 3 * 100
    counted = [bucket["healthy"] for bucket in history(app)["history"]["redis"]]
    assert counted == [0, 0, 1]


def test_freshness_is_what_came_in_last_and_what_waits(app: App) -> None:
    watchdog.run_round(app, NOW)
    nothing = dict.fromkeys(("last_filing_at", "last_13f_batch_at", "last_xbrl_run_at", "last_news_at"))
    assert status.build_status(app, NOW)["data_freshness"] == {**nothing, "queue_depth": 0}
    with app.db.write() as tx:
        for minutes, kind in enumerate(heartbeats.KINDS):
            heartbeats.record_arrival(tx, kind, NOW + timedelta(minutes=minutes))
        tx.insert_row("insert_mail", template="welcome", subject_id=1, now="2026-01-31T12:00:00.000Z")
        tx.insert_row("insert_mail", template="welcome", subject_id=2, now="2026-01-31T12:00:00.000Z")
        # Documents that are due now, and a form whose documents nobody wants.
        fetch_queue.queue_filing(tx, NOW, "0000000001-26-000001", "4", [1])
        fetch_queue.queue_filing(tx, NOW, "0000000001-26-000002", "10-K", [1])
    assert status.count_queued_work(app, NOW) == {"ingest": 1, "mail": 2, "webhooks": 0}
    assert status.build_status(app, NOW)["data_freshness"] == {
        "last_filing_at": "2026-01-31T12:00:00.000Z",
        "last_13f_batch_at": "2026-01-31T12:01:00.000Z",
        "last_xbrl_run_at": "2026-01-31T12:02:00.000Z",
        "last_news_at": "2026-01-31T12:03:00.000Z",
        "queue_depth": 3,
    }


# ---- history


def test_a_bucket_has_counts_share_and_mean(app: App) -> None:
    for minute, (answer, ms) in enumerate([("healthy", 10), ("healthy", 20), ("degraded", 1001), ("down", 5000)]):
        put(app, "redis", MIDNIGHT + 60 * minute, answer, ms)
    expected = {
        "timestamp": "2026-01-31T00:00:00.000Z",
        "total_checks": 4,
        "healthy": 2,
        "degraded": 1,
        "down": 1,
        "uptime_pct": 50.0,
        "avg_response_ms": 1508,  # 1507.75
    }
    assert history(app)["history"] == {"redis": [expected]}
    assert history(app, days=1, resolution="hourly")["history"] == {"redis": [expected]}


def test_an_answer_repeats_the_requested_period(app: App) -> None:
    assert history(app) == {
        "days": 30,
        "resolution": "daily",
        "history": {"redis": []},
        "meta": {"generated_at": "2026-01-31T12:00:00.000Z", "services_included": ["redis"], "warning": None},
    }


def test_days_are_utc_days_and_today_is_the_last(app: App) -> None:
    for tick in (MIDNIGHT - 2 * DAY - 1, MIDNIGHT - 2 * DAY, MIDNIGHT - 1, MIDNIGHT):
        put(app, "redis", tick)
    days = ["2026-01-28", "2026-01-29", "2026-01-30", "2026-01-31"]
    assert starts(app, days=4) == [f"{day}T00:00:00.000Z" for day in days]
    assert starts(app, days=3) == [f"{day}T00:00:00.000Z" for day in days[1:]]
    assert starts(app, days=1) == ["2026-01-31T00:00:00.000Z"]


def test_hours_are_the_last_24_of_each_day_asked_for(app: App) -> None:
    for hours in range(24 * 9):
        put(app, "redis", MIDNIGHT + 12 * HOUR - hours * HOUR)
    bucket_starts = starts(app, days=7, resolution="hourly")
    assert (len(bucket_starts), bucket_starts[0], bucket_starts[-1]) == (
        168,
        "2026-01-24T13:00:00.000Z",
        "2026-01-31T12:00:00.000Z",
    )
    assert len(starts(app, days=1, resolution="hourly")) == 24
    assert len(starts(app, days=90)) == 10


def test_buckets_are_ordered_oldest_first(app: App) -> None:
    for day in (3, 0, 2, 1):
        put(app, "redis", MIDNIGHT - day * DAY)
    assert starts(app) == sorted(starts(app))
    assert len(starts(app)) == 4


def test_a_bucket_without_checks_does_not_exist(app: App) -> None:
    put(app, "redis", MIDNIGHT - 5 * DAY)
    put(app, "redis", MIDNIGHT)
    assert starts(app, days=90) == ["2026-01-26T00:00:00.000Z", "2026-01-31T00:00:00.000Z"]


def test_a_bucket_of_the_future_is_not_shown(app: App) -> None:
    put(app, "redis", MIDNIGHT + DAY)
    put(app, "redis", MIDNIGHT + 13 * HOUR)
    assert starts(app, days=1, resolution="hourly") == []
    assert starts(app, days=90) == ["2026-01-31T00:00:00.000Z"]


@pytest.mark.parametrize(("days", "clamped"), [(8, False), (9, True), (30, True), (90, True)])
def test_hours_become_days_above_200_buckets_with_a_warning(app: App, days: int, clamped: bool) -> None:
    put(app, "redis", MIDNIGHT + HOUR)
    answer = history(app, days=days, resolution="hourly")
    assert answer["days"] == days
    if clamped:
        assert answer["resolution"] == "daily"
        assert answer["meta"]["warning"] == (
            f"hourly over {days} days would be {days * 24} buckets, more than 200: daily is answered"
        )
        assert answer["history"]["redis"][0]["timestamp"] == "2026-01-31T00:00:00.000Z"
    else:
        assert (answer["resolution"], answer["meta"]["warning"]) == ("hourly", None)
        assert answer["history"]["redis"][0]["timestamp"] == "2026-01-31T01:00:00.000Z"


def test_without_a_service_all_are_listed_in_contract_order(app: App) -> None:
    app.health.probes.update(postgres_db=lambda: None, main_api=lambda: None)
    watchdog.run_round(app, NOW)
    put(app, "sec_13f_worker", MIDNIGHT)
    answer = history(app, None)
    names = ["main_api", "postgres_db", "sec_13f_worker", "13f_worker", "sec_watchdog"]
    assert list(answer["history"]) == answer["meta"]["services_included"] == names
    assert answer["history"]["13f_worker"] == answer["history"]["sec_13f_worker"]


@run_each_case("service", TWELVE)
def test_a_service_that_is_switched_off_has_an_empty_list(app: App, service: str) -> None:
    assert history(app, service)["history"] == {service: []}


def test_a_service_by_its_other_name_has_the_same_buckets(app: App) -> None:
    put(app, "insider_api", MIDNIGHT)
    first = history(app, "insider_api")["history"]["insider_api"]
    assert history(app, "insider_module")["history"] == {"insider_module": first}
    assert len(first) == 1


def test_a_configured_target_has_a_history(make_app: Callable[..., App]) -> None:
    app = make_app(watchdog_targets=("shop=https://shop.example.com/",))
    put(app, "shop", MIDNIGHT)
    assert len(history(app, "shop")["history"]["shop"]) == 1
    assert list(history(app, None)["history"]) == ["shop"]


@run_each_case("service", ["nonsense", "", "Redis", "redis ", "shop", "status_days", "all"])
def test_an_unknown_service_is_refused_with_those_that_there_are(app: App, service: str) -> None:
    with pytest.raises(ApiError) as answer:
        history(app, service)
    assert (answer.value.code, answer.value.details) == ("INVALID_PARAM", {"param": "service", "allowed": list(TWELVE)})


# ---- rounding


@run_each_case(
    "healthy, checks, expected",
    [
        (0, 1, 0.0),
        (1, 1, 100.0),
        (1, 3, 33.33),
        (2, 3, 66.67),
        (1439, 1440, 99.93),
        # Halves that a double holds exactly go to the even digit ...
        (1, 32, 3.12),  # 3.125
        (3, 32, 9.38),  # 9.375
        (1, 160, 0.62),  # 0.625
        (31, 32, 96.88),  # 96.875
        (3, 160, 1.88),  # 1.875
        # ... and others to the side on which the double lies: 0.285 comes out a little above, 1.005 below.
        (57, 20_000, 0.29),
        (201, 20_000, 1.0),
        (1, 800, 0.12),  # 0.125
        (7, 800, 0.88),  # 0.875
    ],
)
def test_shares_are_rounded_as_the_spec_writes_it(healthy: int, checks: int, expected: float) -> None:
    assert status.compute_uptime_percent(healthy, checks) == expected


def test_rounding_is_within_half_a_hundredth() -> None:
    from decimal import Decimal

    for checks in (32, 60, 160, 800, 1440):
        for healthy in range(checks + 1):
            exact = Decimal(healthy) * 100 / checks
            assert abs(Decimal(str(status.compute_uptime_percent(healthy, checks))) - exact) <= Decimal("0.005000001")


# ---- speed


def test_ninety_days_of_twelve_services_take_few_sqlite_steps(app: App) -> None:
    """Not timed here (``tests/bench`` does): the rows of the answer bound the work."""
    rows = [
        (service, MIDNIGHT - day * DAY, 1440, 1439, 1, 0, 1440 * 12)
        for service, day in itertools.product(set(TWELVE) - set(status.ALIASES), range(200))
    ]
    run_sql_many(app.db, "INSERT INTO status_days VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    get_writer(app.db).set_progress_handler(step, 100)
    answer = history(app, None, days=90)
    get_writer(app.db).set_progress_handler(None, 0)
    assert [len(buckets) for buckets in answer["history"].values()] == [90] * 12
    assert steps * 100 < 40 * 90 * 10


def test_the_overall_time_follows_the_test_clock(app: App, clock: FixedClock) -> None:
    app.health.probes["redis"] = lambda: clock.advance(1.5)
    watchdog.run_round(app, NOW)
    (bucket,) = history(app, resolution="hourly", days=1)["history"]["redis"]
    assert (bucket["degraded"], bucket["avg_response_ms"]) == (1, 1500)


def test_a_document_can_be_json(app: App) -> None:
    watchdog.run_round(app, NOW)
    assert json.loads(json.dumps(status.build_status(app, NOW), allow_nan=False))["overall"] == "operational"


def test_the_status_waits_for_the_slowest_first_check(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(watchdog_deadline=7.0)
    waits: list[float] = []

    class FirstRound(threading.Event):
        """The end of a round that takes until its deadline."""

        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waits.append(timeout)
            watchdog.run_round(app, clock.now())
            return True

    app.health.first_round_done = FirstRound()
    app.health.wake_watchdog = lambda: None
    assert status.build_status(app, clock.now())["services"]
    assert waits == [7.0 + status.FIRST_ROUND_GRACE_SECONDS]
