"""A queue for expensive work: it limits how much runs at the same time, and the caller who uses least goes next.

A call that waits occupies a thread. Therefore few calls may wait, and not for long. The queue is not first in, first
out, because one caller who sends many calls would then block all others.

Each piece of work has one or more keys that identify its caller, for example an account and an address. When a place
becomes free, the waiting calls are compared in this order (:class:`_Rank`):

1. A call with priority goes before the others, unless work with one of its keys runs or waits already, or its keys
   arrived often in recent time.
2. Then the call whose keys have the least work running or waiting before it.
3. Then the call whose keys arrived least often in recent time, whether they were let in or not.
4. Then the call that arrived first.

If the queue is full, a new call replaces the waiting call with the worst rank, which is then refused. A new call that
has the worst rank itself is refused. With ``pick``, chance decides between calls that differ only in their arrival, so
that many callers who are new each time do not keep out one other new caller, also if that caller repeats its call.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from finapi.core.errors import ServerBusyError

# The number of keys whose recent arrivals are counted.
MAX_REMEMBERED_KEYS = 10_000
# After this number of later arrivals of any key, an arrival has half its weight. Arrivals serve as the clock.
HALF_LIFE_ARRIVALS = 100
# A key with more recent arrivals than this has no priority.
FREQUENT_ARRIVALS = 4.0


class QueueRefusalError(ServerBusyError):
    """The 503 for a call that got no turn.

    ``count_by_key`` has the number of the other calls of each key that ran or waited at the moment of the refusal. By
    the time the refused thread continues, all of them may have left.
    """

    def __init__(self, message: str, delay_seconds: float, count_by_key: Counter[Hashable]) -> None:
        super().__init__(message, delay_seconds)
        self.count_by_key = count_by_key


class FairQueue:
    """A queue that runs ``max_running`` pieces of work at a time, at most ``max_per_key`` of one key.

    Another ``max_waiting`` calls wait for up to ``wait_seconds``. A call that is refused or waits too long gets
    QueueRefusalError with the message ``refusal``, which is sent after ``refusal_delay_seconds``, so that a caller who
    tries again immediately does not crowd out others. ``wait_slots`` limits the calls that wait in several queues
    together. ``pick(n)`` returns a random number below n.
    """

    def __init__(
        self,
        refusal: str,
        max_running: int,
        max_waiting: int,
        wait_seconds: float,
        *,
        max_per_key: int | None = None,
        wait_slots: threading.Semaphore | None = None,
        pick: Callable[[int], int] | None = None,
        refusal_delay_seconds: float = 0.0,
    ) -> None:
        self._refusal = refusal
        self._pick = pick
        self._refusal_delay_seconds = refusal_delay_seconds
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._wait_seconds = wait_seconds
        self._max_per_key = max_running if max_per_key is None else max_per_key
        self._wait_slots = wait_slots
        self._running_count = 0
        self._running_by_key: Counter[Hashable] = Counter()
        self._waiters: list[_Waiter] = []  # In the order of arrival.
        self._arrival_count = 0
        # For each key, the number of its recent arrivals, which decays with time, as of its latest arrival.
        self._arrivals_by_key: OrderedDict[Hashable, _RecentArrivals] = OrderedDict()
        self._changed = threading.Condition()

    @contextmanager
    def enter(self, *keys: Hashable, first: bool = False) -> Iterator[None]:
        """Run the block when it is its turn. Raise QueueRefusalError (503) if it does not get one.

        With ``first`` the block has priority over others, within the limits that the module describes.
        """
        self.acquire(*keys, first=first)
        try:
            yield
        finally:
            self.release(*keys)

    def acquire(self, *keys: Hashable, first: bool = False) -> None:
        """Wait for a turn, which :meth:`release` ends. Raise QueueRefusalError (503) if there is none in time."""
        waiter = _Waiter(keys, first)
        with self._changed:
            self._count_arrival(keys)
            self._waiters.append(waiter)
            if self._find_next() is not waiter:
                self._wait_for_turn(waiter)
            self._waiters.remove(waiter)
            self._running_count += 1
            self._running_by_key.update(keys)
            self._changed.notify_all()

    def release(self, *keys: Hashable) -> None:
        """End a turn that :meth:`acquire` began with the same keys."""
        with self._changed:
            self._running_count -= 1
            self._running_by_key -= Counter(keys)
            self._changed.notify_all()

    @property
    def waiting_count(self) -> int:
        """Return the number of calls that wait."""
        return len(self._waiters)

    def count_for_key(self, key: Hashable) -> int:
        """Return the number of calls of a key that run or wait."""
        with self._changed:
            return self._count_for_key(key, self._waiters)

    def _count_arrival(self, keys: tuple[Hashable, ...]) -> None:
        self._arrival_count += 1
        for key in keys:
            self._arrivals_by_key[key] = _RecentArrivals(self._get_recent_arrivals(key) + 1, self._arrival_count)
            self._arrivals_by_key.move_to_end(key)
        while len(self._arrivals_by_key) > MAX_REMEMBERED_KEYS:
            self._arrivals_by_key.popitem(last=False)

    def _get_recent_arrivals(self, key: Hashable) -> float:
        recent = self._arrivals_by_key.get(key)
        if recent is None:
            return 0.0
        return recent.arrivals * math.exp2((recent.counted_at - self._arrival_count) / HALF_LIFE_ARRIVALS)

    def _wait_for_turn(self, waiter: _Waiter) -> None:
        """Wait until it is the waiter's turn. Without one, remove it from the queue and raise QueueRefusalError."""
        self._make_room(waiter)
        try:
            self._changed.wait_for(
                lambda: waiter.counts_at_refusal is not None or self._find_next() is waiter, self._wait_seconds
            )
            if waiter.counts_at_refusal is None and self._find_next() is not waiter:
                self._refuse(waiter)
            if waiter.counts_at_refusal is not None:
                raise QueueRefusalError(self._refusal, self._refusal_delay_seconds, waiter.counts_at_refusal)
        finally:
            if waiter.has_wait_slot and self._wait_slots is not None:
                self._wait_slots.release()

    def _make_room(self, waiter: _Waiter) -> None:
        """Let a new waiter wait. If there is no room for it, refuse the waiter with the worst rank."""
        has_room = len(self._waiters) <= self._max_waiting
        if has_room and (self._wait_slots is None or self._wait_slots.acquire(blocking=False)):
            waiter.has_wait_slot = True
            return
        worst = self._find_worst()
        self._refuse(worst)
        if worst is not waiter:
            waiter.has_wait_slot = worst.has_wait_slot
            worst.has_wait_slot = False
            self._changed.notify_all()

    def _refuse(self, waiter: _Waiter) -> None:
        """Remove a waiter from the queue. Its thread then raises QueueRefusalError."""
        self._waiters.remove(waiter)
        waiter.counts_at_refusal = Counter(self._running_by_key)
        for other_waiter in self._waiters:
            waiter.counts_at_refusal.update(other_waiter.keys)

    def _find_worst(self) -> _Waiter:
        """Return the waiter to refuse: the one with the worst rank, or a random one of several with equal standing."""
        worst = max(self._waiters, key=self._rank)
        if self._pick is None:
            return worst
        worst_standing = self._rank(worst).build_standing()
        equals = [waiter for waiter in self._waiters if self._rank(waiter).build_standing() == worst_standing]
        return equals[self._pick(len(equals))]

    def _find_next(self) -> _Waiter | None:
        """Return the waiter whose turn it is, or None if no place is free for any of them."""
        if self._running_count >= self._max_running:
            return None
        eligible = [
            waiter
            for waiter in self._waiters
            if all(self._running_by_key[key] < self._max_per_key for key in waiter.keys)
        ]
        return min(eligible, key=self._rank, default=None)

    def _rank(self, waiter: _Waiter) -> _Rank:
        position = self._waiters.index(waiter)
        earlier = self._waiters[:position]
        # For work without a key, all earlier waiters count.
        competing_count = max((self._count_for_key(key, earlier) for key in waiter.keys), default=position)
        recent_arrivals = sorted((self._get_recent_arrivals(key) for key in waiter.keys), reverse=True)
        has_priority = waiter.first and competing_count == 0 and recent_arrivals[0] < FREQUENT_ARRIVALS
        return _Rank(not has_priority, competing_count, recent_arrivals, position)

    def _count_for_key(self, key: Hashable, waiters: list[_Waiter]) -> int:
        return self._running_by_key[key] + sum(key in waiter.keys for waiter in waiters)


class _Waiter:
    """A call that waits. With ``first`` it may have priority. ``counts_at_refusal`` is None unless it is refused."""

    __slots__ = ("counts_at_refusal", "first", "has_wait_slot", "keys")

    def __init__(self, keys: tuple[Hashable, ...], first: bool) -> None:
        self.keys = keys
        self.first = first
        self.has_wait_slot = False
        self.counts_at_refusal: Counter[Hashable] | None = None


class _Rank(NamedTuple):
    """The sort key of a waiter. The smallest goes next."""

    no_priority: bool
    competing_count: int  # The calls of its busiest key that run, or wait and arrived earlier.
    recent_arrivals: list[float]  # The recent arrivals of each of its keys, the largest number first.
    position: int

    def build_standing(self) -> tuple[bool, int, list[int]]:
        """Return the rank without the order of arrival, by which the recent arrivals differ a little too.

        Keys with few recent arrivals do not differ, so that a caller who repeats a refused call is not refused again
        in favour of a flood whose keys are new each time.
        """
        arrivals = [round(max(count, FREQUENT_ARRIVALS)) for count in self.recent_arrivals]
        return self.no_priority, self.competing_count, arrivals


class _RecentArrivals(NamedTuple):
    """The number of recent arrivals of a key when the queue had counted ``counted_at`` arrivals in all."""

    arrivals: float
    counted_at: int
