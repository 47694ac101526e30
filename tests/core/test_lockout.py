"""Tests of the login lockout: its steps, when failures are forgotten, and concurrent guesses."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from finapi.core.errors import ApiError
from finapi.core.lockout import (
    LOCK_SECONDS_BY_FAILURES,
    Attempt,
    FailureCount,
    Lockouts,
    compute_lock_seconds,
    count_failure,
    hash_email,
)
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

HOUR, DAY = 3600.0, 24 * 3600.0
FIRST, SECOND, LAST = LOCK_SECONDS_BY_FAILURES[5], LOCK_SECONDS_BY_FAILURES[10], LOCK_SECONDS_BY_FAILURES[20]
NO_LOCKS = [None] * 4  # The failures between two steps.
ANN, BOB, CAY, DAN = (hash_email(f"{name}@example.com") for name in ("ann", "bob", "cay", "dan"))


def begin(lockouts: Lockouts, key: bytes, now: float) -> Attempt:
    attempt = lockouts.begin_attempt(key, now)
    assert isinstance(attempt, Attempt)
    return attempt


def fail(lockouts: Lockouts, key: bytes, now: float) -> int | None:
    """Try one wrong password. Return the seconds of a 429, or None for a 401."""
    attempt = lockouts.begin_attempt(key, now)
    if isinstance(attempt, int):
        return attempt
    with attempt:
        return attempt.record_failure()


def fail_times(lockouts: Lockouts, key: bytes, count: int, now: float) -> float:
    """Fail ``count`` times, waiting for each lock to end. Return the time afterwards."""
    for _ in range(count):
        now += lockouts.get_lock_seconds(key, now)
        fail(lockouts, key, now)
    return now


# ---- the steps


def test_the_5th_10th_and_20th_failure_lock() -> None:
    assert LOCK_SECONDS_BY_FAILURES == {5: 60, 10: 5 * 60, 20: 60 * 60}


@run_each_case(
    "before, after, seconds",
    [
        (None, 1, None),
        (1, 2, None),
        (2, 3, None),
        (3, 4, None),
        (4, 5, FIRST),
        (5, 6, None),
        (8, 9, None),
        (9, 10, SECOND),
        (10, 11, None),
        (18, 19, None),
        (19, 20, LAST),
        (20, 20, LAST),  # Every further failure.
    ],
)
def test_the_failure_that_meets_a_step_locks(before: int | None, after: int, seconds: int | None) -> None:
    state = None if before is None else FailureCount(before, 1000.0)
    assert count_failure(state, 1000.0 + HOUR) == (FailureCount(after, 1000.0 + HOUR), seconds)


@run_each_case(
    "failures, elapsed, lock_seconds",
    [
        (4, 0, 0),
        (5, 0, FIRST),
        (5, 0.001, FIRST),
        (5, 1, FIRST - 1),
        (5, FIRST - 1, 1),
        (5, FIRST - 0.001, 1),
        (5, FIRST, 0),
        (5, 3600, 0),
        (6, 0, 0),
        (10, 0, SECOND),
        (10, SECOND - 0.5, 1),
        (10, SECOND, 0),
        (15, 0, 0),
        (20, 0, LAST),
        (20, LAST - 0.999, 1),
        (20, LAST, 0),
        (5, -0.5, FIRST),  # Another thread read its clock a moment later.
    ],
)
def test_a_lock_lasts_its_seconds_rounded_up(failures: int, elapsed: float, lock_seconds: int) -> None:
    for start in (0.0, 16.1, 98765432.1):  # 16.1 + 59 - 16.1 is a hair less than 59
        assert compute_lock_seconds(FailureCount(failures, start), start + elapsed) == lock_seconds


def test_an_email_without_failures_is_not_locked() -> None:
    assert compute_lock_seconds(None, 0.0) == 0


@pytest.mark.parametrize(("failures", "lock_seconds"), [(5, FIRST - 40), (10, SECOND - 40), (20, LAST - 40)])
def test_a_failure_during_a_lock_changes_nothing(failures: int, lock_seconds: int) -> None:
    state = FailureCount(failures, 1000.0)
    assert count_failure(state, 1040.0) == (state, lock_seconds)


def test_a_counter_is_forgotten_after_24_hours_without_a_failure() -> None:
    for count in (1, 4, 9, 19, 20):
        state = FailureCount(count, 1000.0)
        assert count_failure(state, 1000.0 + DAY) == (FailureCount(1, 1000.0 + DAY), None)
        assert count_failure(state, 999.9 + DAY)[0].failures == min(count + 1, 20)


def test_a_failure_with_an_older_time_does_not_turn_time_back() -> None:
    assert count_failure(FailureCount(4, 1000.0), 999.0) == (FailureCount(5, 1000.0), FIRST)


# ---- the key of an email


def test_a_key_is_16_bytes_of_the_lower_cased_emails_sha256() -> None:
    assert hash_email("ann@example.com") == hashlib.sha256(b"ann@example.com").digest()[:16]
    assert len(hash_email("x" * 1_000_000)) == 16


@pytest.mark.parametrize("email", ["Ann@Example.COM", " ann@example.com", "ann@example.com\n"])
def test_spellings_of_one_account_share_a_key(email: str) -> None:
    assert hash_email(email) == ANN


@run_each_case("email", ["", "\0", "\ud800", "ann@example.com\0", "a nn@example.com", "änn@example.com"])
def test_any_text_has_a_key_of_its_own(email: str) -> None:
    assert hash_email(email) != ANN


# ---- one login after the other


def test_the_fifth_wrong_password_locks_for_the_first_step() -> None:
    lockouts = Lockouts(16)
    assert [fail(lockouts, ANN, 0.0) for _ in range(5)] == [*NO_LOCKS, FIRST]
    assert lockouts.begin_attempt(ANN, 0.0) == FIRST
    assert lockouts.begin_attempt(ANN, FIRST - 0.999) == 1
    assert lockouts.get_lock_seconds(ANN, FIRST - 0.999) == 1
    with begin(lockouts, ANN, FIRST):
        assert lockouts.get_lock_seconds(ANN, FIRST) == 0


def test_twenty_three_failures_lock_as_the_specification_says() -> None:
    lockouts = Lockouts(16)
    now, answers = 0.0, []
    for _ in range(23):
        answers.append(fail(lockouts, ANN, now))
        now += answers[-1] or 0
    assert answers == [*NO_LOCKS, FIRST, *NO_LOCKS, SECOND, *NO_LOCKS, *NO_LOCKS, None, LAST, LAST, LAST, LAST]


def test_attempts_while_locked_do_not_count() -> None:
    lockouts = Lockouts(16)
    fail_times(lockouts, ANN, 5, 0.0)
    assert {fail(lockouts, ANN, 10.0) for _ in range(100)} == {FIRST - 10}
    assert [fail(lockouts, ANN, FIRST) for _ in range(5)] == [*NO_LOCKS, SECOND]


@run_each_case("before", [4, 5, 9, 15, 20, 25])
def test_a_success_resets_the_counter(before: int) -> None:
    lockouts = Lockouts(16)
    now = fail_times(lockouts, ANN, before, 0.0)
    now += lockouts.get_lock_seconds(ANN, now)
    with begin(lockouts, ANN, now) as attempt:
        attempt.record_success()
    assert len(lockouts) == 0
    assert [fail(lockouts, ANN, now) for _ in range(5)] == [*NO_LOCKS, FIRST]


def test_a_reset_lifts_a_lock() -> None:
    lockouts = Lockouts(16)
    fail_times(lockouts, ANN, 5, 0.0)
    lockouts.reset(ANN)
    lockouts.reset(BOB)
    assert (lockouts.get_lock_seconds(ANN, 0.0), len(lockouts)) == (0, 0)


def test_one_email_does_not_lock_another() -> None:
    lockouts = Lockouts(16)
    fail_times(lockouts, ANN, 5, 0.0)
    assert (lockouts.get_lock_seconds(ANN, 0.0), lockouts.get_lock_seconds(BOB, 0.0)) == (FIRST, 0)
    assert fail(lockouts, BOB, 0.0) is None


def test_an_attempt_without_an_outcome_counts_nothing() -> None:
    lockouts = Lockouts(16, wait_seconds=0)
    for _ in range(20):
        with pytest.raises(OSError, match="disk"), begin(lockouts, ANN, 0.0):
            raise OSError("disk")
    assert len(lockouts) == 0


def test_an_attempt_has_one_outcome() -> None:
    lockouts = Lockouts(16)
    with begin(lockouts, ANN, 0.0) as attempt:
        attempt.record_failure()
        for again in (attempt.record_failure, attempt.record_success):
            with pytest.raises(RuntimeError):
                again()
    with begin(lockouts, ANN, 0.0) as attempt:
        attempt.record_success()
    with pytest.raises(RuntimeError):
        attempt.record_failure()


# ---- concurrent logins


def storm(lockouts: Lockouts, key: bytes, now: float, count: int, right: bool = False) -> tuple[Counter[object], int]:
    """Run ``count`` logins in as many threads. Return the number of each answer, and of passwords tried."""
    answers: list[object] = []
    tried: list[int] = []
    start = threading.Barrier(count)

    def login() -> None:
        start.wait()
        attempt = lockouts.begin_attempt(key, now)
        if isinstance(attempt, int):
            answers.append(attempt)
            return
        with attempt:
            tried.append(1)
            time.sleep(0.002)  # Stands for the hash.
            answers.append("in" if right else attempt.record_failure())
            if right:
                attempt.record_success()

    threads = [threading.Thread(target=login) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(answers), len(tried)


def test_fifty_concurrent_guesses_try_five_passwords() -> None:
    lockouts = Lockouts(16)
    now = 0.0
    assert storm(lockouts, ANN, now, 50) == ({None: 4, FIRST: 46}, 5)
    assert storm(lockouts, ANN, now + FIRST - 1, 50) == ({1: 50}, 0)
    now += FIRST
    assert storm(lockouts, ANN, now, 50) == ({None: 4, SECOND: 46}, 5)
    now += SECOND
    assert storm(lockouts, ANN, now, 50) == ({None: 9, LAST: 41}, 10)
    for _ in range(2):
        now += LAST
        assert storm(lockouts, ANN, now, 50) == ({LAST: 50}, 1)


def test_fifty_concurrent_right_passwords_all_log_in() -> None:
    lockouts = Lockouts(16)
    fail_times(lockouts, ANN, 4, 0.0)
    assert storm(lockouts, ANN, 0.0, 50, right=True) == ({"in": 50}, 50)
    assert len(lockouts) == 0


@run_each_case("before, at_once", [(0, 5), (1, 4), (4, 1), (5, 5), (8, 2), (10, 5), (16, 4), (20, 1), (21, 1)])
def test_open_attempts_are_at_most_those_that_may_all_fail(before: int, at_once: int) -> None:
    lockouts = Lockouts(16, wait_seconds=0.01)
    now = fail_times(lockouts, ANN, before, 0.0)
    now += lockouts.get_lock_seconds(ANN, now)
    for _ in range(at_once):
        begin(lockouts, ANN, now)
    with pytest.raises(ApiError, match="Too many passwords to check at once") as refused:
        lockouts.begin_attempt(ANN, now)
    assert (refused.value.code, dict(refused.value.headers)) == ("UNAVAILABLE", {"Retry-After": "1"})
    begin(lockouts, BOB, now)


def test_a_success_among_open_guesses_buys_no_further_guess() -> None:
    lockouts = Lockouts(16)
    now = fail_times(lockouts, ANN, 11, 0.0)
    now += lockouts.get_lock_seconds(ANN, now)
    attempts = [begin(lockouts, ANN, now) for _ in range(5)]
    attempts[0].record_success()
    assert [attempt.record_failure() for attempt in attempts[1:]] == [None] * 4
    assert fail(lockouts, ANN, now) == FIRST


@run_each_case(
    "outcome, answer",
    [
        (lambda lockouts, attempt: attempt.record_failure(), FIRST),
        (lambda lockouts, attempt: attempt.record_success(), "begun"),
        (lambda lockouts, attempt: attempt.__exit__(None, None, None), "begun"),
        (lambda lockouts, attempt: lockouts.reset(ANN), "begun"),
    ],
)
def test_a_waiting_attempt_learns_the_outcome(outcome: Callable[[Lockouts, Attempt], object], answer: object) -> None:
    lockouts = Lockouts(16, wait_seconds=60)
    fail_times(lockouts, ANN, 4, 0.0)
    first = begin(lockouts, ANN, 0.0)
    answers: list[object] = []

    def second() -> None:
        attempt = lockouts.begin_attempt(ANN, 0.0)
        answers.append("begun" if isinstance(attempt, Attempt) else attempt)

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    thread.join(0.02)
    assert answers == []
    outcome(lockouts, first)
    thread.join(10)
    assert answers == [answer]


# ---- when the table is full


def test_the_table_never_grows_beyond_its_capacity() -> None:
    lockouts = Lockouts(100)
    for number in range(1000):
        fail(lockouts, hash_email(f"{number}@example.com"), float(number))
        assert len(lockouts) == min(number + 1, 100)


def test_the_lowest_count_is_evicted_first() -> None:
    lockouts = Lockouts(3)
    for key, count in ((ANN, 2), (BOB, 1), (CAY, 3)):
        fail_times(lockouts, key, count, 0.0)
    fail(lockouts, DAN, 1.0)  # Replaces BOB.
    assert [fail(lockouts, key, 2.0) for key in (ANN, ANN, ANN)] == [None, None, FIRST]
    assert [fail(lockouts, CAY, 2.0) for _ in range(2)] == [None, FIRST]


def test_of_equal_counts_the_oldest_is_evicted_first() -> None:
    lockouts = Lockouts(2)
    for key, count in ((ANN, 4), (BOB, 4), (CAY, 1)):
        fail_times(lockouts, key, count, 0.0)
    assert fail(lockouts, BOB, 0.0) == FIRST
    assert fail(lockouts, ANN, 0.0) is None


def test_an_outdated_counter_is_evicted_before_a_lower_one() -> None:
    lockouts = Lockouts(2)
    fail_times(lockouts, ANN, 4, 0.0)
    fail_times(lockouts, BOB, 3, DAY - 1)
    fail(lockouts, CAY, DAY)
    assert [fail(lockouts, BOB, DAY) for _ in range(2)] == [None, FIRST]


def test_a_lock_in_force_is_never_evicted() -> None:
    lockouts = Lockouts(2)
    for key in (ANN, BOB):
        fail_times(lockouts, key, 5, 0.0)
    for number in range(10):
        assert fail(lockouts, hash_email(str(number)), 1.0) is None
    assert [lockouts.get_lock_seconds(key, 1.0) for key in (ANN, BOB)] == [FIRST - 1, FIRST - 1]
    assert len(lockouts) == 2
    fail(lockouts, CAY, FIRST)
    assert len(lockouts) == 2


def test_a_known_email_needs_no_room() -> None:
    lockouts = Lockouts(1)
    assert [fail(lockouts, ANN, 0.0) for _ in range(5)] == [*NO_LOCKS, FIRST]


def test_evicted_emails_are_reported_once() -> None:
    lockouts = Lockouts(1)
    fail(lockouts, ANN, 0.0)
    fail(lockouts, BOB, 1.0)
    assert (lockouts.pop_evicted(), lockouts.pop_evicted()) == ([ANN], [])


def test_counts_restored_after_a_restart_stay_within_the_table() -> None:
    lockouts = Lockouts(2)
    for key, count in ((ANN, 2), (BOB, 3), (CAY, 5)):
        lockouts.restore(key, FailureCount(count, 0.0))
    assert [lockouts.find_failures(key) for key in (ANN, BOB, CAY)] == [
        None,
        FailureCount(3, 0.0),
        FailureCount(5, 0.0),
    ]
    assert lockouts.pop_evicted() == [ANN]
    lockouts.restore(BOB, FailureCount(10, 0.0))  # A known email needs no room.
    assert (len(lockouts), lockouts.pop_evicted()) == (2, [])
    lockouts.restore(DAN, FailureCount(20, 0.0))  # All counts are locks.
    assert (lockouts.find_failures(DAN), len(lockouts), lockouts.pop_evicted()) == (None, 2, [])


# ---- against a model


@dataclass
class Entry:
    """A counter of the model: its failures, the time of the last one, and its position in their order."""

    count: int
    last: float
    order: int

    def lock(self) -> float:
        return LAST if self.count >= 20 else {5: FIRST, 10: SECOND}.get(self.count, 0)


class LockoutModel(RuleBasedStateMachine):
    """Compares ``Lockouts`` with dictionaries that do the same in the simplest way."""

    capacity = 1000
    keeps_attempts_open = True  # Attempts may stay open while others begin and time passes.

    def __init__(self) -> None:
        super().__init__()
        self.lockouts = Lockouts(self.capacity, wait_seconds=0)
        self.now, self.order = 0.0, 0
        self.entries: dict[bytes, Entry] = {}
        self.open_attempts: list[tuple[bytes, float, Attempt]] = []

    def compute_lock_seconds(self, key: bytes) -> float:
        entry = self.entries.get(key)
        return max(0.0, entry.last + entry.lock() - self.now) if entry else 0.0

    def may_begin(self, key: bytes) -> bool:
        entry = self.entries.get(key)
        count = entry.count if entry and self.now < entry.last + DAY else 0
        open_count = sum(1 for other, _, _ in self.open_attempts if other == key)
        to_next_lock = 1
        while count + to_next_lock < 20 and count + to_next_lock not in (5, 10):
            to_next_lock += 1
        return open_count < min(5, 1 if count >= 20 else to_next_lock)

    def count_failure(self, key: bytes, now: float) -> float | None:
        entry = self.entries.pop(key, None)
        if entry is None and len(self.entries) == self.capacity and not self.make_room():
            return None
        if entry is None or now >= entry.last + DAY:
            entry = Entry(0, now, 0)
        self.order += 1
        self.entries[key] = Entry(entry.count + 1, max(now, entry.last), self.order)
        return self.entries[key].lock() or None

    def make_room(self) -> bool:
        old = [key for key, entry in self.entries.items() if self.now >= entry.last + DAY]
        free = [key for key in self.entries if not self.compute_lock_seconds(key)]
        if not old and not free:
            return False
        del self.entries[min(old or free, key=lambda key: (min(self.entries[key].count, 20), self.entries[key].order))]
        return True

    @rule(key=st.sampled_from([ANN, BOB, CAY, DAN]))
    def begins(self, key: bytes) -> None:
        expected = self.compute_lock_seconds(key)
        if expected:
            assert self.lockouts.begin_attempt(key, self.now) == expected
        elif self.may_begin(key):
            self.open_attempts.append((key, self.now, begin(self.lockouts, key, self.now)))
            if not self.keeps_attempts_open:
                self.fails(0)
        else:
            with pytest.raises(ApiError):
                self.lockouts.begin_attempt(key, self.now)

    @precondition(lambda self: self.open_attempts)
    @rule(attempt_index=st.integers(0, 9))
    def fails(self, attempt_index: int) -> None:
        key, now, attempt = self.open_attempts.pop(attempt_index % len(self.open_attempts))
        with attempt:
            assert attempt.record_failure() == self.count_failure(key, now)

    @rule(key=st.sampled_from([ANN, BOB]), times=st.integers(2, 21))
    def fails_often(self, key: bytes, times: int) -> None:
        for _ in range(times):
            if self.may_begin(key):
                self.now += self.compute_lock_seconds(key)
                attempt = begin(self.lockouts, key, self.now)
                with attempt:
                    assert attempt.record_failure() == self.count_failure(key, self.now)

    @precondition(lambda self: self.open_attempts)
    @rule(attempt_index=st.integers(0, 9))
    def succeeds(self, attempt_index: int) -> None:
        key, _, attempt = self.open_attempts.pop(attempt_index % len(self.open_attempts))
        with attempt:
            attempt.record_success()
        self.entries.pop(key, None)

    @precondition(lambda self: self.open_attempts)
    @rule(attempt_index=st.integers(0, 9))
    def gives_up(self, attempt_index: int) -> None:
        with self.open_attempts.pop(attempt_index % len(self.open_attempts))[2]:
            pass

    @rule(key=st.sampled_from([ANN, BOB]))
    def resets(self, key: bytes) -> None:
        self.lockouts.reset(key)
        self.entries.pop(key, None)

    @rule(seconds=st.sampled_from([1, FIRST - 1, FIRST, SECOND - FIRST, SECOND, LAST - FIRST, LAST, DAY - 1, DAY]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def they_agree(self) -> None:
        assert len(self.lockouts) == len(self.entries) <= self.capacity
        for key in (ANN, BOB, CAY, DAN):
            assert self.lockouts.get_lock_seconds(key, self.now) == self.compute_lock_seconds(key)


class FullLockoutModel(LockoutModel):
    """The same with room for two, and no attempt that stays open: counters come in the order of their times."""

    capacity = 2
    keeps_attempts_open = False


TestAgainstTheModel = LockoutModel.TestCase
TestAgainstTheModelWhenFull = FullLockoutModel.TestCase
TestAgainstTheModel.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
TestAgainstTheModelWhenFull.settings = TestAgainstTheModel.settings
TestAgainstTheModel.pytestmark = TestAgainstTheModelWhenFull.pytestmark = [pytest.mark.slow]
