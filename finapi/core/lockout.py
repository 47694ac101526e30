"""The login lockout: it counts wrong passwords for each email, and locks an email after too many (DECISIONS 3).

The 5th consecutive failure locks an email for 60 s, the 10th for 5 min, the 20th for 1 hour. Every later failure counts
as a 20th. Unknown emails are counted in the same way, so that a lock does not reveal if an account exists. A correct
password or a new password ends the count. ``now`` is a monotonic time in seconds.

A password takes long to check. If any number of guesses could be checked at the same time, many would get past the
counter before the first failure is counted. Therefore each attempt is opened before its password is checked, and an
email has at most as many open attempts as it has failures left before the next lock. For example, after 3 failures 2
attempts may be open; a third waits for the outcome of one of them.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from typing import NamedTuple

from finapi.core.errors import ServerBusyError

# The seconds of the lock by the number of consecutive failures that causes it.
# docs/API.md (Passwords), docs/SECURITY.md (6.1.1) and DECISIONS 3 state these times too.
LOCK_SECONDS_BY_FAILURES = {5: 60, 10: 5 * 60, 20: 60 * 60}

# The count of failures ends here. Each later failure locks as long as this one.
MAX_FAILURES = max(LOCK_SECONDS_BY_FAILURES)

# The maximum number of open attempts of one email. It equals the failures before the first lock, because a success
# resets the count while other attempts are still open, and all of those may fail.
MAX_OPEN_ATTEMPTS = min(LOCK_SECONDS_BY_FAILURES)

FORGET_AFTER_SECONDS = 24 * 60 * 60.0  # Counted from the last failure.


class FailureCount(NamedTuple):
    """The consecutive failures of an email, 1 to ``MAX_FAILURES``, and the time of the last one."""

    failures: int
    last_at: float


def count_failure(state: FailureCount | None, now: float) -> tuple[FailureCount, int | None]:
    """Return the count after a wrong password, and the seconds for which the email is locked, or None.

    A failure during a lock is not counted. The seconds are then those that are left of the lock.
    """
    if state is None or _is_outdated(state, now):
        state = FailureCount(0, now)
    lock_seconds = compute_lock_seconds(state, now)
    if lock_seconds:
        return state, lock_seconds
    failures = min(state.failures + 1, MAX_FAILURES)
    return FailureCount(failures, max(now, state.last_at)), LOCK_SECONDS_BY_FAILURES.get(failures)


def compute_lock_seconds(state: FailureCount | None, now: float) -> int:
    """Return the seconds, rounded up, that a lock still lasts. Return 0 if there is none."""
    if state is None:
        return 0
    # ``now`` can be before ``last_at``, because another thread may have read its clock later but counted first.
    seconds = LOCK_SECONDS_BY_FAILURES.get(state.failures, 0) - max(0.0, now - state.last_at)
    # The tolerance is for floating point: 59 s after the failure 1 s is left, and not 2 s.
    return max(0, math.ceil(seconds - 1e-6))


def _is_outdated(state: FailureCount, now: float) -> bool:
    return now - state.last_at >= FORGET_AFTER_SECONDS


def hash_email(email: str) -> bytes:
    """Return the key of a submitted email: a short hash, so that the table contains no addresses.

    All spellings that find the same account must have the same key, or each of them would allow guesses of its own.
    Therefore accounts may be found by ``email.strip().lower()``, and by nothing more tolerant.
    """
    # JSON can contain half a surrogate pair. surrogatepass avoids an exception, and such an email matches no account.
    return hashlib.sha256(email.strip().lower().encode("utf-8", "surrogatepass")).digest()[:16]


class Attempt:
    """The permission to check one password. A ``with`` block that ends without an outcome closes the attempt."""

    def __init__(self, lockouts: Lockouts, key: bytes, now: float) -> None:
        self._lockouts = lockouts
        self._key = key
        self._now = now
        self._is_open = True

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_open:
            self._close(None)

    def record_failure(self) -> int | None:
        """Count a wrong password. Return the seconds of the lock that it caused (answer 429), or None (401)."""
        return self._close(False)

    def record_success(self) -> None:
        """Forget the failures before this correct password."""
        self._close(True)

    def _close(self, is_correct: bool | None) -> int | None:
        if not self._is_open:
            raise RuntimeError("an attempt has one outcome")
        self._is_open = False
        return self._lockouts._close_attempt(self._key, self._now, is_correct)


class Lockouts:
    """The failure counts of at most ``capacity`` emails, for any number of threads.

    If the table is full, a new count replaces one that is outdated, or else the lowest count (of these, the one whose
    last failure is the oldest). A lock is never removed before it ends.
    """

    def __init__(self, capacity: int, wait_seconds: float = 5.0) -> None:
        self._capacity = capacity
        self._wait_seconds = wait_seconds
        # One table for each number of failures, in the order of the last failure. The next to remove is always the
        # first of a table.
        self._tables: list[OrderedDict[bytes, float]] = [OrderedDict() for _ in range(MAX_FAILURES + 1)]
        self._open_attempts: dict[bytes, int] = {}
        self._evicted: list[bytes] = []
        # Guards all of the above, and wakes the callers that wait for the outcome of another attempt.
        self._changed = threading.Condition()

    def begin_attempt(self, key: bytes, now: float) -> Attempt | int:
        """Return an attempt to check a password, or the seconds to wait if the email is locked.

        If the open attempts could bring the next lock, wait for the outcome of one of them. Raise UNAVAILABLE (503)
        after ``wait_seconds``.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._can_decide(key, now), self._wait_seconds):
                raise ServerBusyError("Too many passwords to check at once.")
            lock_seconds = compute_lock_seconds(self._find_count(key), now)
            if lock_seconds:
                return lock_seconds
            self._open_attempts[key] = self._open_attempts.get(key, 0) + 1
        return Attempt(self, key, now)

    def get_lock_seconds(self, key: bytes, now: float) -> int:
        """Return the seconds, rounded up, for which an email is still locked. Return 0 if it is not."""
        with self._changed:
            return compute_lock_seconds(self._find_count(key), now)

    def reset(self, key: bytes) -> None:
        """Forget the failures of an email and end its lock, because its password was changed."""
        with self._changed:
            self._forget(key)
            self._changed.notify_all()

    def find_failures(self, key: bytes) -> FailureCount | None:
        """Return the failures of an email, or None if there are none."""
        with self._changed:
            return self._find_count(key)

    def restore(self, key: bytes, count: FailureCount) -> None:
        """Store failures that were counted by an earlier process, unless the table is full of locks."""
        with self._changed:
            self._forget(key)
            if len(self) < self._capacity or self._evict(count.last_at):
                self._tables[count.failures][key] = count.last_at

    def pop_evicted(self) -> list[bytes]:
        """Return the keys that were removed from a full table since the last call."""
        with self._changed:
            evicted = self._evicted
            self._evicted = []
            return evicted

    def __len__(self) -> int:
        """Return the number of emails with failures."""
        return sum(len(table) for table in self._tables)

    def _can_decide(self, key: bytes, now: float) -> bool:
        """Return True if an attempt may be opened, or is to be refused because of a lock."""
        state = self._find_count(key)
        if compute_lock_seconds(state, now):
            return True
        failures = 0 if state is None or _is_outdated(state, now) else state.failures
        failures_before_lock = next((step - failures for step in LOCK_SECONDS_BY_FAILURES if step > failures), 1)
        return self._open_attempts.get(key, 0) < min(failures_before_lock, MAX_OPEN_ATTEMPTS)

    def _close_attempt(self, key: bytes, now: float, is_correct: bool | None) -> int | None:
        """Record an outcome; None means that no password was checked. Return the seconds of a lock, or None."""
        with self._changed:
            open_attempts = self._open_attempts.pop(key) - 1
            if open_attempts:
                self._open_attempts[key] = open_attempts
            self._changed.notify_all()
            if is_correct is None:
                return None
            state, lock_seconds = count_failure(self._find_count(key), now)
            self._forget(key)
            if is_correct:
                return None
            if len(self) < self._capacity or self._evict(now):
                self._tables[state.failures][key] = state.last_at
            return lock_seconds

    def _find_count(self, key: bytes) -> FailureCount | None:
        for failures, table in enumerate(self._tables):
            if key in table:
                return FailureCount(failures, table[key])
        return None

    def _forget(self, key: bytes) -> None:
        for table in self._tables:
            table.pop(key, None)

    def _evict(self, now: float) -> bool:
        """Remove one count. Return False if all of them are locks."""
        oldest = [
            FailureCount(failures, next(iter(table.values()))) for failures, table in enumerate(self._tables) if table
        ]
        candidates = [state for state in oldest if _is_outdated(state, now)]
        candidates += [state for state in oldest if not compute_lock_seconds(state, now)]
        if not candidates:
            return False
        key, _ = self._tables[candidates[0].failures].popitem(last=False)
        self._evicted.append(key)
        return True
