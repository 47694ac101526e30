"""Tests of health checks: the class of each outcome, and that a hanging part delays no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from finapi.core.cache import TimedCache
from finapi.core.clock import FixedClock
from finapi.core.health import HEALTH_BY_OUTCOME, CheckResult, HealthChecker, Outcome, Probe, ProbeError
from tests.support.case_tables import run_each_case

DEADLINE = 0.2  # seconds


def works() -> None:
    pass


def finds(*troubles: ProbeError | Exception | None) -> Probe:
    """Return a probe with these outcomes, one at each call."""
    remaining = list(troubles)

    def probe() -> None:
        trouble = remaining.pop(0)
        if trouble is not None:
            raise trouble

    return probe


def count_check_threads() -> int:
    return sum(thread.name.startswith("finapi-check") for thread in threading.enumerate())


@contextmanager
def run_checker(clock: FixedClock, deadline_seconds: float) -> Iterator[HealthChecker]:
    checker = HealthChecker(clock.monotonic, deadline_seconds)
    yield checker
    checker.close()
    checker.join(30.0)
    assert count_check_threads() == 0


@pytest.fixture
def checks(clock: FixedClock) -> Iterator[HealthChecker]:
    with run_checker(clock, 30.0) as checker:
        yield checker


@pytest.fixture
def short_checks(clock: FixedClock) -> Iterator[HealthChecker]:
    """Yield a checker with a deadline for checks that hang."""
    with run_checker(clock, DEADLINE) as checker:
        yield checker


@pytest.fixture
def hang() -> Iterator[Callable[[], None]]:
    """Yield a probe that hangs until the test ends."""
    release = threading.Event()
    yield lambda: bool(release.wait(30.0)) and None
    release.set()


def test_a_probe_that_returns_is_an_answer(checks: HealthChecker) -> None:
    assert checks.check_all({"a": works}) == {"a": CheckResult("answered", 0)}


def test_a_thread_that_still_ends_is_not_waited_for(checks: HealthChecker, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    class Lingering(threading.Thread):
        def run(self) -> None:
            threads.append(self)
            super().run()
            release.wait(30.0)

    monkeypatch.setattr(threading, "Thread", Lingering)
    for _ in range(3):
        assert checks.check_all({"a": works}) == {"a": CheckResult("answered", 0)}
    release.set()
    for thread in threads:
        thread.join(30.0)


def test_without_a_thread_a_check_waits_for_the_next_round(
    checks: HealthChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            checks.check_all({"a": works})
    assert checks.check_all({"a": works}) == {"a": CheckResult("answered", 0)}


# The rows of DECISIONS 11, each side of its second.
@run_each_case(
    "outcome, ms, health",
    [
        ("answered", 0, "healthy"),
        ("answered", 999, "healthy"),
        ("answered", 1000, "degraded"),
        ("answered", 60_000, "degraded"),
        ("recovered", 3, "degraded"),
        ("recovered", 1000, "degraded"),
        ("refused", 0, "down"),
        ("timeout", 5000, "down"),
        ("failing", 0, "down"),
        ("failing", 1000, "down"),
        ("wrong", 0, "down"),
    ],
)
def test_the_class_of_a_check_is_that_of_the_table(outcome: Outcome, ms: int, health: str) -> None:
    assert CheckResult(outcome, ms).health == health


def test_the_table_has_every_outcome() -> None:
    assert set(HEALTH_BY_OUTCOME) == {"answered", "recovered", "refused", "timeout", "failing", "wrong"}


def test_an_answer_after_a_second_is_degraded_with_its_time(checks: HealthChecker, clock: FixedClock) -> None:
    result = checks.check_all({"a": lambda: clock.advance(1.0)})["a"]
    assert (result, result.health) == (CheckResult("answered", 1000, "answered after 1000 ms"), "degraded")


def test_a_part_that_times_itself_is_believed(checks: HealthChecker) -> None:
    assert checks.check_all({"a": lambda: 999, "b": lambda: 1000}) == {
        "a": CheckResult("answered", 999),
        "b": CheckResult("answered", 1000, "answered after 1000 ms"),
    }


def test_a_5xx_that_is_gone_at_the_second_try_has_recovered(checks: HealthChecker) -> None:
    result = checks.check_all({"a": finds(ProbeError("failing", "answered 503"), None)})["a"]
    assert (result, result.health) == (CheckResult("recovered", 0, "answered 503"), "degraded")


def test_a_5xx_twice_is_down(checks: HealthChecker) -> None:
    probe = finds(ProbeError("failing", "answered 503"), ProbeError("failing", "answered 500"))
    assert checks.check_all({"a": probe})["a"] == CheckResult("failing", 0, "answered 500")


def test_a_5xx_and_then_nothing_is_down(checks: HealthChecker) -> None:
    probe = finds(ProbeError("failing", "answered 503"), ProbeError("refused", "cannot be reached"))
    assert checks.check_all({"a": probe})["a"] == CheckResult("refused", 0, "cannot be reached")


@pytest.mark.parametrize("outcome", ["refused", "timeout", "wrong"])
def test_only_a_5xx_is_asked_again(checks: HealthChecker, outcome: Outcome) -> None:
    assert checks.check_all({"a": finds(ProbeError(outcome, "why"), None)})["a"] == CheckResult(outcome, 0, "why")


def test_a_part_that_raises_is_asked_again_like_a_5xx(checks: HealthChecker) -> None:
    assert checks.check_all({"a": finds(KeyError("secret"), ValueError("secret"))})["a"] == CheckResult(
        "failing", 0, "the check failed with ValueError"
    )
    assert checks.check_all({"a": finds(KeyError("secret"), None)})["a"].outcome == "recovered"


def test_the_log_names_the_check_that_failed(checks: HealthChecker, caplog: pytest.LogCaptureFixture) -> None:
    checks.check_all({"store": finds(ValueError("broken"), None)})
    assert "the check of store failed" in caplog.text


def test_a_part_that_hangs_is_down_and_holds_up_no_other(short_checks: HealthChecker, hang: Callable[[], None]) -> None:
    assert short_checks.check_all({"a": hang, "b": works}) == {
        "a": CheckResult("timeout", 200, "no answer within 0.2 s"),
        "b": CheckResult("answered", 0),
    }


def test_many_parts_that_hang_take_one_deadline_together(short_checks: HealthChecker, hang: Callable[[], None]) -> None:
    began = time.monotonic()
    results = short_checks.check_all({str(number): hang for number in range(12)})
    assert {result.outcome for result in results.values()} == {"timeout"}
    assert len(results) == 12
    assert time.monotonic() - began < 6 * DEADLINE  # one after another they would take 12


def test_no_second_check_is_started_behind_one_that_hangs(
    short_checks: HealthChecker, hang: Callable[[], None]
) -> None:
    for _ in range(3):
        assert short_checks.check_all({"a": hang})["a"].outcome == "timeout"
    assert count_check_threads() == 1


def test_a_late_answer_does_not_count_in_the_next_round(short_checks: HealthChecker) -> None:
    release = threading.Event()

    def slow() -> None:
        release.wait(30.0)
        raise ProbeError("wrong", "of the first round")

    assert short_checks.check_all({"a": slow})["a"].outcome == "timeout"
    release.set()
    short_checks.join(30.0)
    assert short_checks.check_all({"a": works})["a"] == CheckResult("answered", 0)


def test_a_stop_leaves_out_checks_that_have_not_returned(hang: Callable[[], None]) -> None:
    checks = HealthChecker(FixedClock().monotonic, 30.0)
    started = threading.Event()

    def asked_and_hangs() -> None:
        started.set()
        hang()

    def stop() -> None:
        started.wait(30.0)
        checks.close()

    thread = threading.Thread(target=stop)
    thread.start()
    assert checks.check_all({"a": asked_and_hangs}) == {}
    thread.join()


# ---- TimedCache


def test_what_is_kept_is_made_once_in_its_time() -> None:
    computed_values = iter("abc")
    timed_cache: TimedCache[str] = TimedCache(30.0)
    assert [timed_cache.get(now, lambda: next(computed_values)) for now in (0.0, 29.999, 30.0, 59.0, 60.0)] == list(
        "aabbc"
    )


def test_what_is_dropped_is_made_anew() -> None:
    computed_values = iter("ab")
    timed_cache: TimedCache[str] = TimedCache(30.0)
    assert timed_cache.get(0.0, lambda: next(computed_values)) == "a"
    timed_cache.clear()
    assert timed_cache.get(0.0, lambda: next(computed_values)) == "b"


def test_a_failed_computation_drops_the_cached_value() -> None:
    timed_cache: TimedCache[str] = TimedCache(30.0)
    assert timed_cache.get(0.0, lambda: "a") == "a"
    with pytest.raises(ZeroDivisionError):
        timed_cache.get(30.0, lambda: str(1 // 0))
    assert timed_cache.get(30.0, lambda: "b") == "b"
