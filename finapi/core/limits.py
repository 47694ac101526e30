"""Rate limits: a decision for each request, and the headers that report it.

They behave as nginx's ``limit_req`` with ``nodelay``. A bucket fills by one with each request and leaks evenly at the
rate of the limit. A request passes if the bucket holds at most ``burst`` requests in addition to it. For example, with
60 requests a minute and a burst of 59, 60 requests may come at the same time, and then one more each second.

:func:`decide` is a pure function. :class:`RateLimiter` stores the buckets of many callers.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import NamedTuple

# Requests at exactly the rate of the limit must pass in spite of rounding errors.
_TOLERANCE = 1e-9


class RateLimit(NamedTuple):
    """A number of requests in a period, with ``burst`` requests beyond the even rate."""

    requests: int
    period_seconds: float
    burst: int


class BucketState(NamedTuple):
    """The requests of a key beyond the even rate, as of a monotonic time."""

    excess: float
    updated_at: float


class Decision(NamedTuple):
    """The decision on a request, and the numbers for the rate-limit headers."""

    allowed: bool
    limit: int  # Requests in a period.
    remaining: int  # Requests that would pass immediately now.
    reset_seconds: float  # The seconds until the bucket is empty.
    retry_seconds: float  # The seconds until a request would pass. 0 if this one passed.

    def build_headers(self, now: datetime, *, is_per_node: bool) -> dict[str, str]:
        """Return the rate-limit headers of a response, with ``Retry-After`` if the request was refused.

        ``is_per_node``: other nodes of the service count requests on their own, which a header states.
        """
        headers = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(math.ceil(now.timestamp() + self.reset_seconds)),
        }
        if is_per_node:
            headers["X-RateLimit-Scope"] = "node"
        if not self.allowed:
            headers["Retry-After"] = str(math.ceil(self.retry_seconds))
        return headers


class RemainingRequests(NamedTuple):
    """The requests that a key has left of a limit, and the seconds until it has all of them again."""

    limit: RateLimit
    requests: int
    reset_seconds: float


def decide(limit: RateLimit, state: BucketState | None, now: float) -> tuple[Decision, BucketState | None]:
    """Return the decision on a request at a monotonic time, and the state after it.

    A refused request does not change the state. A key without a state starts with an empty bucket.
    """
    rate = limit.requests / limit.period_seconds
    if state is None:
        excess = 0.0
    else:
        leaked = rate * max(0.0, now - state.updated_at)
        excess = max(0.0, state.excess - leaked + 1)
    if excess > limit.burst + _TOLERANCE:
        refusal = Decision(
            allowed=False,
            limit=limit.requests,
            remaining=0,
            reset_seconds=excess / rate,
            retry_seconds=(excess - limit.burst) / rate,
        )
        return refusal, state
    decision = Decision(
        allowed=True,
        limit=limit.requests,
        remaining=math.floor(limit.burst - excess + _TOLERANCE),
        reset_seconds=(excess + 1) / rate,
        retry_seconds=0.0,
    )
    # If another thread read its clock a little earlier, the same time must not leak twice.
    updated_at = now if state is None else max(now, state.updated_at)
    return decision, BucketState(excess, updated_at)


class RateLimiter:
    """One or more limits for each caller, all of which a request has to pass.

    The buckets of at most ``max_keys`` callers are stored. A new caller replaces the caller whose last request was
    longest ago. Nearly always, the removed buckets have leaked empty since then, so that removing them changes no
    decision.
    """

    def __init__(self, *limits: RateLimit, max_keys: int) -> None:
        self.limits = limits
        self._max_keys = max_keys
        self._states: OrderedDict[Hashable, list[BucketState | None]] = OrderedDict()
        self._lock = threading.Lock()

    def list_remaining(self, key: Hashable, now: float) -> list[RemainingRequests]:
        """Return the remaining requests of a key for each limit, without using one."""
        remaining = []
        for limit, (decision, _) in zip(self.limits, self._decide(key, now), strict=True):
            # The decision is about one more request, which was not made.
            request_count = 1 if decision.allowed else 0
            reset_seconds = decision.reset_seconds - request_count * limit.period_seconds / limit.requests
            remaining.append(RemainingRequests(limit, decision.remaining + request_count, max(0.0, reset_seconds)))
        return remaining

    def take(self, key: Hashable, now: float) -> Decision:
        """Count a request of a key at a monotonic time. Return the decision of the strictest limit.

        A request that one limit refuses is counted by none.
        """
        with self._lock:
            decisions = self._decide(key, now)
            decision = min((decision for decision, _ in decisions), key=_compute_strictness)
            if not decision.allowed:
                return decision
            self._states[key] = [state for _, state in decisions]
            self._states.move_to_end(key)
            if len(self._states) > self._max_keys:
                self._states.popitem(last=False)
        return decision

    def reset(self, key: Hashable) -> None:
        """Empty the buckets of a key."""
        with self._lock:
            self._states.pop(key, None)

    def get_states(self) -> OrderedDict[Hashable, list[BucketState | None]]:
        """Return a copy of the states of all keys."""
        with self._lock:
            return self._states.copy()

    def restore(self, states: Mapping[Hashable, list[BucketState | None]]) -> None:
        """Replace all states by those of an earlier :meth:`get_states`. A key without states has empty buckets."""
        with self._lock:
            self._states = OrderedDict(states)

    def _decide(self, key: Hashable, now: float) -> list[tuple[Decision, BucketState | None]]:
        states = self._states.get(key) or [None] * len(self.limits)
        return [decide(limit, state, now) for limit, state in zip(self.limits, states, strict=True)]


def _compute_strictness(decision: Decision) -> tuple[bool, int, float]:
    """Return a sort key: refusals first, then the fewest remaining requests, then the longest wait."""
    return decision.allowed, decision.remaining, -decision.retry_seconds


class Pacer:
    """Evenly spaced times for the requests that finapi itself makes, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_at = 0.0

    def reserve(self, per_second: float, now: float) -> float:
        """Reserve the next free time. Return the seconds until then."""
        with self._lock:
            reserved_at = max(self._next_at, now)
            self._next_at = reserved_at + 1.0 / per_second
        return reserved_at - now
