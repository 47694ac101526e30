"""Turns: work of which only so much is done at once, and who of those that wait for it is next.

A call that waits holds a thread. So few wait, not for long, and nobody by being first alone: a place goes to whoever
has the least claim on it already, and a newcomer with a better claim takes the place of the one with the worst.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from finapi.core.errors import busy

REMEMBERED = 10_000  # keys of which it is known how often they came lately
FORGOTTEN_BY = 100  # arrivals of anybody, after which one counts half: arrivals are the clock here
OFTEN = 4.0  # arrivals lately, from which on nobody goes first


class _Waiter:
    """Who waits: whose work it is by each of ``keys``, and whether it may go before the others."""

    __slots__ = ("first", "keys", "seated")

    def __init__(self, keys: tuple[Hashable, ...], first: bool) -> None:
        self.keys, self.first = keys, first
        # Whether it holds one of the seats that several Turns share.
        self.seated = False


class Turns:
    """``at_once`` pieces of work at a time, no more than ``each`` of one key; ``waiting`` more wait up to ``seconds``.

    A key is whose work it is: an account, an address. Next is who has least under way and waiting before it under any
    of its keys, of those who came least often lately, let in or not, of those who came before. One that may go
    ``first`` comes before all that may not, unless something of it is there already or it came often.
    ``seats`` bounds those who wait for any of several Turns. Who is not let in, or waits too long, is UNAVAILABLE
    with ``refusal`` for a message.
    """

    def __init__(
        self,
        refusal: str,
        at_once: int,
        waiting: int,
        seconds: float,
        *,
        each: int | None = None,
        seats: threading.Semaphore | None = None,
    ) -> None:
        self._refusal = refusal
        self._at_once = at_once
        self._most_waiting = waiting
        self._seconds = seconds
        self._each = at_once if each is None else each
        self._seats = seats
        self._running: Counter[Hashable] = Counter()
        self._under_way = 0
        self._waiting: list[_Waiter] = []
        # By key how often it had come at its last arrival, and the number of that.
        self._came: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()
        self._arrivals = 0
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, *keys: Hashable, first: bool = False) -> Iterator[None]:
        """Do the block when it is its turn; UNAVAILABLE (503) when that does not come."""
        self.take(*keys, first=first)
        try:
            yield
        finally:
            self.give_back(*keys)

    def take(self, *keys: Hashable, first: bool = False) -> None:
        """Wait for a turn, which :meth:`give_back` ends; UNAVAILABLE (503) when it does not come."""
        me = _Waiter(keys, first)
        with self._changed:
            self._arrivals += 1
            for key in keys:
                self._came[key] = (self._often(key) + 1, self._arrivals)
                self._came.move_to_end(key)
            while len(self._came) > REMEMBERED:
                self._came.popitem(last=False)
            self._waiting.append(me)
            if self._next() is not me:
                self._wait(me)
            self._waiting.remove(me)
            self._under_way += 1
            self._running.update(keys)
            self._changed.notify_all()

    def give_back(self, *keys: Hashable) -> None:
        """End a turn."""
        with self._changed:
            self._under_way -= 1
            self._running -= Counter(keys)
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def there(self, key: Hashable) -> int:
        """How many of a key are under way or wait."""
        with self._changed:
            return self._running[key] + sum(key in one.keys for one in self._waiting)

    def _wait(self, me: _Waiter) -> None:
        """Wait until it is the turn of ``me``; leaves it among those who wait, or raises and does not."""
        if not self._sit(me):
            self._waiting.remove(me)
            raise busy(self._refusal)
        try:
            self._changed.wait_for(lambda: me not in self._waiting or self._next() is me, self._seconds)
            if self._next() is not me:
                if me in self._waiting:
                    self._waiting.remove(me)
                raise busy(self._refusal)
        finally:
            if me.seated and self._seats is not None:
                self._seats.release()

    def _sit(self, me: _Waiter) -> bool:
        """Whether ``me`` may wait: there is room, or somebody with a worse claim had to leave."""
        if len(self._waiting) <= self._most_waiting and (self._seats is None or self._seats.acquire(blocking=False)):
            me.seated = True
            return True
        worst = max(self._waiting, key=self._order)
        if worst is me:
            return False
        self._waiting.remove(worst)
        me.seated, worst.seated = worst.seated, False
        self._changed.notify_all()
        return True

    def _next(self) -> _Waiter | None:
        """Whose turn it is, if it is anybody's."""
        if self._under_way >= self._at_once:
            return None
        may = (one for one in self._waiting if all(self._running[key] < self._each for key in one.keys))
        return min(may, key=self._order, default=None)

    def _often(self, key: Hashable) -> float:
        often, at = self._came.get(key, (0.0, 0))
        return often * math.exp2((at - self._arrivals) / FORGOTTEN_BY)

    def _order(self, one: _Waiter) -> tuple[bool, int, list[float], int]:
        place = self._waiting.index(one)
        earlier = self._waiting[:place]
        there = max(
            (self._running[key] + sum(key in other.keys for other in earlier) for key in one.keys), default=place
        )
        often = sorted((self._often(key) for key in one.keys), reverse=True)
        return not (one.first and there == 0 and often[0] < OFTEN), there, often, place
