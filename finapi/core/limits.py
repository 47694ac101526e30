"""Rate limits that decide and do not act: ``decide(limit, state, now) -> Decision``.

They behave as nginx's ``limit_req`` with ``nodelay``: a bucket holds ``burst`` requests beyond the one being served
and leaks evenly at the rate. Every header that a response carries comes from the Decision.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import NamedTuple


class RateLimit(NamedTuple):
    """So many requests a period (seconds), with ``burst`` beyond the even rate."""

    requests: int
    period_seconds: float
    burst: int


class BucketState(NamedTuple):
    """What one key has used: ``excess`` requests above the even rate, as of ``at`` (monotonic seconds)."""

    excess: float
    updated_at: float


class Decision(NamedTuple):
    """Whether a request may pass, and what its headers say.

    ``limit`` requests a period; ``remaining`` that would pass at once now; ``reset_after`` seconds until
    everything is free again; ``retry_after`` seconds until one request would pass (0 when this one did).
    """

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: float
    retry_seconds: float

    def build_headers(self, now: datetime) -> dict[str, str]:
        """The rate-limit headers of an answer at ``now``; ``Retry-After`` among them when it is a refusal."""
        headers = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(math.ceil(now.timestamp() + self.reset_seconds)),
        }
        return headers if self.allowed else headers | {"Retry-After": str(math.ceil(self.retry_seconds))}


def decide(limit: RateLimit, state: BucketState | None, now: float) -> tuple[Decision, BucketState | None]:
    """The verdict on one request at ``now`` and the state after it; a refusal changes nothing.

    A key never seen, or one whose excess has leaked away, starts empty and passes.
    """
    rate = limit.requests / limit.period_seconds
    if state is None:
        excess = 0.0
    else:
        # nginx: the new request counts as one, the time since the last as what leaked; never below empty.
        excess = max(0.0, state.excess - rate * max(0.0, now - state.updated_at) + 1)
    # A hair of tolerance, so that exactly one period later counts as exactly one period in floating point.
    if excess > limit.burst + 1e-9:
        refused = Decision(False, limit.requests, 0, excess / rate, (excess - limit.burst) / rate)
        return refused, state
    remaining = math.floor(limit.burst - excess + 1e-9)
    # A clock that was read a little earlier by another thread must not leak the same time twice.
    at = now if state is None else max(now, state.updated_at)
    return Decision(True, limit.requests, remaining, (excess + 1) / rate, 0.0), BucketState(excess, at)


class RateLimiter:
    """The states of one or more limits by caller, at most ``keys`` callers; a request must pass every limit.

    When the table is full the caller longest unseen is forgotten, whose buckets have almost always leaked empty.
    """

    def __init__(self, *limits: RateLimit, max_keys: int) -> None:
        self.limits = limits
        self._max_keys = max_keys
        self._states: OrderedDict[Hashable, list[BucketState | None]] = OrderedDict()
        self._lock = threading.Lock()

    def list_remaining(self, key: Hashable, now: float) -> list[tuple[RateLimit, int, float]]:
        """What ``key`` has left of each limit: requests that would pass at once, seconds until everything is free."""
        left = []
        for limit, (decision, _) in zip(self.limits, self._verdicts(key, now), strict=True):
            # The verdict is of one request more, which was not made.
            made = 1 if decision.allowed else 0
            wait = decision.reset_seconds - made * limit.period_seconds / limit.requests
            left.append((limit, decision.remaining + made, max(0.0, wait)))
        return left

    def take(self, key: Hashable, now: float) -> Decision:
        """Decide on a request of ``key`` at ``now`` (monotonic seconds); a refusal by one limit uses nothing of any."""
        with self._lock:
            verdicts = self._verdicts(key, now)
            decision = verdicts[0][0]
            if len(verdicts) > 1:
                # Refusals first, the longest of them first; then what leaves least.
                found = (one for one, _ in verdicts)
                decision = min(found, key=lambda one: (one.allowed, one.remaining, -one.retry_seconds))
            if not decision.allowed:
                return decision
            self._states[key] = [state for _, state in verdicts]
            self._states.move_to_end(key)
            if len(self._states) > self._max_keys:
                self._states.popitem(last=False)
        return decision

    def _verdicts(self, key: Hashable, now: float) -> list[tuple[Decision, BucketState | None]]:
        states = self._states.get(key) or [None] * len(self.limits)
        return [decide(limit, state, now) for limit, state in zip(self.limits, states, strict=True)]

    def reset(self, key: Hashable) -> None:
        """Give back all that ``key`` used."""
        with self._lock:
            self._states.pop(key, None)

    def get_states(self) -> OrderedDict[Hashable, list[BucketState | None]]:
        """What every caller has used, as it is now."""
        with self._lock:
            return self._states.copy()

    def restore(self, state: Mapping[Hashable, list[BucketState | None]]) -> None:
        """Count from a :meth:`state` on; an empty one forgets everybody."""
        with self._lock:
            self._states = OrderedDict(state)


class Pacer:
    """Places in a row, evenly apart: for requests of our own, of whichever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def reserve(self, per_second: float, now: float) -> float:
        """Take the next place; in how many seconds (monotonic) it comes."""
        with self._lock:
            place = max(self._next, now)
            self._next = place + 1.0 / per_second
        return place - now
