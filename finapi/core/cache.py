"""Caches of computed values, valid for one version of the data. Bounded in memory and thread-safe."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class Cache:
    """Values by key for the current version of the data. The least recently used values are dropped first.

    ``weigh`` returns the size of a value in the unit of ``capacity`` (bytes, entries). A value larger than
    ``capacity / parts`` is not stored.
    """

    def __init__(
        self,
        capacity: int,
        weigh: Callable[[Any], int],
        parts: int = 4,
    ) -> None:
        self._capacity = capacity
        self._parts = parts
        self._weigh = weigh
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._weight = 0

    def get(
        self,
        version: Hashable,
        key: Hashable,
        compute: Callable[[], Value],
        can_store: Callable[[Value], bool] | None = None,
    ) -> Value:
        """Return the value of a key for a version of the data. Compute it if necessary, and store it.

        It is computed outside the lock: two threads may compute the same value, but neither waits for the other. A
        value for which ``can_store`` is false is only returned.
        """
        with self._lock:
            if version != self._version:
                self._version = version
                self._weight = 0
                self._entries = OrderedDict()
            cached = self._entries.get(key)
            if cached is not None:
                self._entries.move_to_end(key)
                cached_value: Value = cached[0]
                return cached_value
        value = compute()
        if can_store is None or can_store(value):
            self._store(version, key, value)
        return value

    def find(self, version: Hashable, key: Hashable, missing: Value) -> Value:
        """Return the cached value of a key for a version of the data, or ``missing``."""
        with self._lock:
            cached = self._entries.get(key) if version == self._version else None
            if cached is None:
                return missing
            self._entries.move_to_end(key)
            value: Value = cached[0]
            return value

    def __len__(self) -> int:
        """Return the number of values of the current version."""
        return len(self._entries)

    def _store(self, version: Hashable, key: Hashable, value: Any) -> None:
        weight = self._weigh(value)
        with self._lock:
            if version != self._version or key in self._entries or weight * self._parts > self._capacity:
                return
            self._entries[key] = (value, weight)
            self._weight += weight
            while self._weight > self._capacity:
                _, (_, released_weight) = self._entries.popitem(last=False)
                self._weight -= released_weight


class TimedCache(Generic[Value]):
    """One value that is computed on demand and valid for ``seconds``. Nothing is stored if computing it fails."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._entry: _TimedEntry | None = None

    def get(self, now: float, compute: Callable[[], Value], tag: Hashable = None) -> Value:
        """Return the value, computed at most ``seconds`` ago with the same ``tag``. ``now`` is a monotonic reading."""
        with self._lock:
            cached = self._entry
            if cached is None or not 0 <= now - cached.computed_at < self._seconds or cached.tag != tag:
                self._entry = None
                cached = self._entry = _TimedEntry(now, tag, compute())
            value: Value = cached.value
            return value

    def holds(self, now: float, tag: Hashable = None) -> bool:
        """Return True if :meth:`get` will not have to compute the value within the next second."""
        cached = self._entry
        return cached is not None and cached.tag == tag and 0 <= now - cached.computed_at < self._seconds - 1.0

    def clear(self) -> None:
        """Drop the value."""
        with self._lock:
            self._entry = None


class _TimedEntry(NamedTuple):
    computed_at: float
    tag: Hashable
    value: Any
