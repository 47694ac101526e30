"""The login lockout: wrong passwords counted by email, and the locks that the counts bring.

DECISIONS 3: the 5th consecutive failure locks for 60 s, the 10th for 5 min, the 20th for 1 hour, and
DECISIONS 3: every further one counts as the 20th. An email that nobody registered is counted like any other, so a
lock tells nothing about it. ``now`` is monotonic seconds.

Many guesses could pass a check of the counter before the first of them is counted. Each attempt is therefore reserved
before its password is looked at, and no more are let through than could all fail without passing the next lock.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from typing import NamedTuple

from finapi.core.errors import server_busy

# Consecutive failures -> seconds that the one which makes the count up locks for.
LOCK_SECONDS = {5: 60, 10: 5 * 60, 20: 60 * 60}

# Counting stops here: every further failure is a 20th again.
MAX_FAILURES = max(LOCK_SECONDS)

# Attempts of one email in hand at once. Not more than the first step: a success sets the counter back to zero
# while the others are still in hand, and all of them may fail.
MAX_OPEN_ATTEMPTS = min(LOCK_SECONDS)

FORGET_AFTER_SECONDS = 24 * 60 * 60.0  # seconds without a failure


class FailureCount(NamedTuple):
    """Consecutive failures of one email, 1 to ``MOST``, and when the last of them was."""

    failures: int
    last_at: float


def count_failure(state: FailureCount | None, now: float) -> tuple[FailureCount, int | None]:
    """The state after a wrong password at ``now``, and the seconds that it is locked for, if it is.

    A failure during a lock changes nothing and is answered with what is left of it.
    """
    if state is None or _forgotten(state, now):
        state = FailureCount(0, now)
    left = compute_lock_seconds(state, now)
    if left:
        return state, left
    failures = min(state.failures + 1, MAX_FAILURES)
    return FailureCount(failures, max(now, state.last_at)), LOCK_SECONDS.get(failures)


def compute_lock_seconds(state: FailureCount | None, now: float) -> int:
    """Whole seconds, rounded up, that the lock of ``state`` still lasts; 0 when there is none."""
    if state is None:
        return 0
    # Two threads read the clock in one order and come here in the other: time never runs before ``last``.
    left = LOCK_SECONDS.get(state.failures, 0) - max(0.0, now - state.last_at)
    # A hair of tolerance, so that 59 s later leaves one second and not, in floating point, a second one.
    return max(0, math.ceil(left - 1e-6))


def hash_email(email: str) -> bytes:
    """The key of a submitted email: a short hash, so that the table holds no addresses and none is long.

    Spellings that find the same account must share a key, or each would have guesses of its own: look users
    up by nothing wider than ``email.strip().lower()``.
    """
    # surrogatepass: JSON can spell half a surrogate pair, and such an email is wrong like any other.
    return hashlib.sha256(email.strip().lower().encode("utf-8", "surrogatepass")).digest()[:16]


class Attempt:
    """Leave to try one password; a ``with`` block that ends without an outcome gives it back."""

    def __init__(self, lockouts: Lockouts, key: bytes, now: float) -> None:
        self._lockouts = lockouts
        self._key = key
        self._now = now
        self._open = True

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self._end(None)

    def record_failure(self) -> int | None:
        """Count a wrong password; the seconds of the lock that it brought (answer 429), or None (401)."""
        return self._end(False)

    def record_success(self) -> None:
        """Forget the failures before this right password."""
        self._end(True)

    def _end(self, right: bool | None) -> int | None:
        if not self._open:
            raise RuntimeError("an attempt has one outcome")
        self._open = False
        return self._lockouts._end(self._key, self._now, right)


class Lockouts:
    """The counters of at most ``capacity`` emails, for any number of threads.

    When they are full, a new one takes the place of one that is due to be forgotten, or else of the lowest count, the
    longest unseen first. A lock in force never goes.
    """

    def __init__(self, capacity: int, wait_seconds: float = 5.0) -> None:
        self._capacity = capacity
        self._wait_seconds = wait_seconds
        # One table for each count, in the order of their last failure: what must go is always at a front.
        self._tables: list[OrderedDict[bytes, float]] = [OrderedDict() for _ in range(MAX_FAILURES + 1)]
        self._in_hand: dict[bytes, int] = {}
        self._dropped: list[bytes] = []
        # Guards both, and wakes those who wait for the outcome of somebody else's attempt.
        self._changed = threading.Condition()

    def begin_attempt(self, key: bytes, now: float) -> Attempt | int:
        """Leave to try a password of ``key``, or the whole seconds to wait while it is locked.

        Where the attempts in hand could bring the next lock by themselves, it waits for their outcome, and is
        UNAVAILABLE after ``wait_seconds``.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._may_begin(key, now), self._wait_seconds):
                raise server_busy("Too many passwords to check at once.")
            left = compute_lock_seconds(self._state(key), now)
            if left:
                return left
            self._in_hand[key] = self._in_hand.get(key, 0) + 1
        return Attempt(self, key, now)

    def get_lock_seconds(self, key: bytes, now: float) -> int:
        """The whole seconds that ``key`` is still locked for; 0 when it is not."""
        with self._changed:
            return compute_lock_seconds(self._state(key), now)

    def reset(self, key: bytes) -> None:
        """Forget the failures of ``key`` and lift its lock: its password was changed."""
        with self._changed:
            self._forget(key)
            self._changed.notify_all()

    def find_failures(self, key: bytes) -> FailureCount | None:
        """The failures of ``key`` and when the last was; None for none."""
        with self._changed:
            return self._state(key)

    def restore(self, key: bytes, count: FailureCount) -> None:
        """Count failures that were counted before the process began, unless the table is full of what counts more."""
        with self._changed:
            self._forget(key)
            if len(self) < self._capacity or self._made_room(count.last_at):
                self._tables[count.failures][key] = count.last_at

    def pop_evicted(self) -> list[bytes]:
        """The keys that had to make room since this was asked last."""
        with self._changed:
            found, self._dropped = self._dropped, []
            return found

    def __len__(self) -> int:
        """How many counters are kept."""
        return sum(map(len, self._tables))

    def _may_begin(self, key: bytes, now: float) -> bool:
        state = self._state(key)
        if compute_lock_seconds(state, now):
            return True  # nothing to wait for: begin answers with what is left
        failures = 0 if state is None or _forgotten(state, now) else state.failures
        before_next = next((step - failures for step in LOCK_SECONDS if step > failures), 1)
        return self._in_hand.get(key, 0) < min(before_next, MAX_OPEN_ATTEMPTS)

    def _end(self, key: bytes, now: float, right: bool | None) -> int | None:
        """Count the outcome of an attempt, None when no password was tried; the seconds of the lock that it brought."""
        with self._changed:
            left = self._in_hand.pop(key) - 1
            if left:
                self._in_hand[key] = left
            self._changed.notify_all()
            if right is None:
                return None
            state, seconds = count_failure(self._state(key), now)
            self._forget(key)
            if right:
                return None
            if len(self) < self._capacity or self._made_room(now):
                self._tables[state.failures][key] = state.last_at
            return seconds

    def _state(self, key: bytes) -> FailureCount | None:
        for failures, table in enumerate(self._tables):
            if key in table:
                return FailureCount(failures, table[key])
        return None

    def _forget(self, key: bytes) -> None:
        for table in self._tables:
            table.pop(key, None)

    def _made_room(self, now: float) -> bool:
        """Drop one counter; False when every one is a lock in force."""
        oldest = [FailureCount(count, next(iter(table.values()))) for count, table in enumerate(self._tables) if table]
        may_go = [state for state in oldest if _forgotten(state, now)]
        may_go += [state for state in oldest if not compute_lock_seconds(state, now)]
        if not may_go:
            return False
        self._dropped.append(self._tables[may_go[0].failures].popitem(last=False)[0])
        return True


def _forgotten(state: FailureCount, now: float) -> bool:
    return now - state.last_at >= FORGET_AFTER_SECONDS
