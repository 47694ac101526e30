"""Tests of clocks, and of times as text."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone

from finapi.core.clock import FixedClock, SystemClock, iso
from tests.support.case_tables import run_each_case


@run_each_case(
    "moment, text",
    [
        (datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC), "2026-01-31T12:00:00.000Z"),
        (datetime(2026, 1, 31, 12, 0, 0, 7_000, tzinfo=UTC), "2026-01-31T12:00:00.007Z"),
        (datetime(2026, 12, 9, 1, 2, 3, 999_999, tzinfo=UTC), "2026-12-09T01:02:03.999Z"),
        (datetime(999, 1, 2, 3, 4, 5, 60_000, tzinfo=UTC), "0999-01-02T03:04:05.060Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "9999-12-31T23:59:59.000Z"),
        (datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))), "2025-12-31T23:30:00.000Z"),
    ],
)
def test_iso_writes_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert iso(moment) == text


def test_system_clock_is_in_utc_and_whole_milliseconds() -> None:
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


def test_system_clock_reads_the_machine() -> None:
    clock = SystemClock()
    before = datetime.now(UTC).replace(microsecond=0)
    first, now, second = clock.monotonic(), clock.now(), clock.monotonic()
    assert before <= now <= datetime.now(UTC)
    assert first <= second


def test_fixed_clock_stands_still() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert [clock.now(), clock.now()] == [datetime(2026, 1, 1, tzinfo=UTC)] * 2
    assert [clock.monotonic(), clock.monotonic()] == [0.0, 0.0]


def test_fixed_clock_moves_both_readings_by_what_it_is_told() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(61)
    clock.advance(0.5)
    assert clock.now() == datetime(2026, 1, 1, 0, 1, 1, 500_000, tzinfo=UTC)
    assert clock.monotonic() == 61.5


def test_fixed_clock_drops_what_is_below_a_millisecond() -> None:
    assert iso(FixedClock(datetime(2026, 1, 1, 0, 0, 0, 1_999, tzinfo=UTC)).now()) == "2026-01-01T00:00:00.001Z"


def test_fixed_clock_advanced_by_many_threads_loses_nothing() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))

    def work() -> None:
        for _ in range(500):
            clock.advance(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.monotonic() == 4_000.0
    assert clock.now() == datetime(2026, 1, 1, 1, 6, 40, tzinfo=UTC)
