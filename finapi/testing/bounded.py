"""A log with a limit on its entries and on their bytes, for the calls and messages of a world."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BoundedLog(Generic[Entry]):
    """The newest entries, at most ``max_entries`` of them and ``max_bytes`` in total. Any thread may append."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._sized_entries: deque[tuple[Entry, int]] = deque()
        self._total_bytes = 0
        self._lock = threading.Lock()

    def append(self, entry: Entry, size_bytes: int) -> None:
        """Add an entry of about this size. While a limit is exceeded, drop the oldest entry, but never the new one."""
        with self._lock:
            self._sized_entries.append((entry, size_bytes))
            self._total_bytes += size_bytes
            while len(self._sized_entries) > self._max_entries or (
                self._total_bytes > self._max_bytes and len(self._sized_entries) > 1
            ):
                self._total_bytes -= self._sized_entries.popleft()[1]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry, _ in self.get_state())

    def get_state(self) -> list[tuple[Entry, int]]:
        """Return the entries with their sizes, oldest first, for :meth:`set_state`."""
        with self._lock:
            return list(self._sized_entries)

    def set_state(self, sized_entries: list[tuple[Entry, int]]) -> None:
        """Replace all entries by those of an earlier :meth:`get_state`."""
        with self._lock:
            self._sized_entries = deque(sized_entries)
            self._total_bytes = sum(size_bytes for _, size_bytes in sized_entries)
