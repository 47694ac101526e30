"""What a world keeps of its calls and messages: the newest, so many of them and of so many bytes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BoundedLog(Generic[Entry]):
    """The newest entries, at most ``most`` and ``most_bytes`` of them in all; any thread may add one."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._entries: deque[tuple[Entry, int]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def append(self, entry: Entry, size: int) -> None:
        """Add an entry of about so many bytes; the oldest make room for it."""
        with self._lock:
            self._entries.append((entry, size))
            self._bytes += size
            while len(self._entries) > self._most or (self._bytes > self._most_bytes and len(self._entries) > 1):
                self._bytes -= self._entries.popleft()[1]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry, _ in self.state())

    def state(self) -> list[tuple[Entry, int]]:
        """The entries with their sizes, oldest first, for :meth:`put`."""
        with self._lock:
            return list(self._entries)

    def put(self, state: list[tuple[Entry, int]]) -> None:
        """Hold the entries of a :meth:`state` and no others."""
        with self._lock:
            self._entries = deque(state)
            self._bytes = sum(size for _, size in state)
