"""Answers that were worked out once, kept while the data stand: bounded in memory, safe among threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Cache:
    """Values by key for one version of the data at a time; the least recently used go first.

    ``weigh`` gives what a value takes, in whatever unit ``room`` is counted. A value that alone is more than one of so
    many ``parts`` of the room is not kept. Of the version before, values serve where making one fails with an error of
    ``spare``.
    """

    def __init__(
        self, room: int, weigh: Callable[[Any], int], spare: tuple[type[Exception], ...] = (), parts: int = 4
    ) -> None:
        self._room, self._parts = room, parts
        self._weigh = weigh
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._weight = 0
        self._spare = spare
        self._before: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, version: Hashable, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key under a version of the data, made when it is not kept.

        It is made outside the lock: two threads may make the same value, never wait for each other's.
        """
        with self._lock:
            if version != self._version:
                self._version, self._weight = version, 0
                if self._kept:
                    self._before, self._kept = self._kept if self._spare else self._before, OrderedDict()
            held = self._kept.get(key)
            if held is not None:
                self._kept.move_to_end(key)
                value: Value = held[0]
                return value
        try:
            value = make()
        except self._spare:
            if key not in self._before:
                raise
            spare: Value = self._before[key][0]
            return spare
        self._keep(version, key, value)
        return value

    def find(self, version: Hashable, key: Hashable, missing: Value) -> Value:
        """The value of a key if it is kept under a version of the data, else ``missing``."""
        with self._lock:
            held = self._kept.get(key) if version == self._version else None
            if held is not None:
                self._kept.move_to_end(key)
            return missing if held is None else held[0]

    def clear(self) -> None:
        """Forget every value, including those that would serve where making one fails."""
        with self._lock:
            # No version is current: a value that is being made for the last one is not kept either.
            self._version, self._weight = object(), 0
            self._kept, self._before = OrderedDict(), OrderedDict()

    def _keep(self, version: Hashable, key: Hashable, value: Any) -> None:
        weight = self._weigh(value)
        with self._lock:
            if self._spare:
                self._before.pop(key, None)
            if version != self._version or key in self._kept or weight * self._parts > self._room:
                return
            self._kept[key] = (value, weight)
            self._weight += weight
            while self._weight > self._room:
                _, (_, freed) = self._kept.popitem(last=False)
                self._weight -= freed


class TimedCache(Generic[Value]):
    """A value that is made when it is asked for and kept for ``seconds``; a maker that raises keeps nothing."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._value: tuple[float, Hashable, Value] | None = None

    def get(self, now: float, make: Callable[[], Value], mark: Hashable = None) -> Value:
        """The value as of at most ``seconds`` ago, made under the same ``mark``; ``now`` is a monotonic reading."""
        with self._lock:
            kept = self._value
            if kept is None or not 0 <= now - kept[0] < self._seconds or kept[1] != mark:
                self._value = None
                kept = self._value = (now, mark, make())
            return kept[2]

    def holds(self, now: float, mark: Hashable = None) -> bool:
        """Whether :meth:`get` has its value at hand now, made under ``mark``, and for another second."""
        kept = self._value
        return kept is not None and kept[1] == mark and 0 <= now - kept[0] < self._seconds - 1.0

    def drop(self) -> None:
        """Make it anew when it is asked for next."""
        with self._lock:
            self._value = None
