"""A lock that many calls hold together, and that a reset, restore or snapshot holds alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """A lock held by any number of threads in shared mode, or by one thread in exclusive mode.

    While a thread waits for exclusive mode, no further thread gets shared mode. A thread in shared mode must not
    acquire the lock again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shared_holders = 0
        self._exclusive_requests = 0  # Number of threads that hold exclusive mode or wait for it.

    @contextmanager
    def hold_shared(self) -> Iterator[None]:
        """Hold the lock in shared mode."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive_requests)
            self._shared_holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._shared_holders -= 1
                self._changed.notify_all()

    @contextmanager
    def hold_exclusive(self) -> Iterator[None]:
        """Hold the lock in exclusive mode. The caller ensures that only one thread at a time enters such a block."""
        with self._changed:
            self._exclusive_requests += 1
            self._changed.wait_for(lambda: not self._shared_holders)
        try:
            yield
        finally:
            with self._changed:
                self._exclusive_requests -= 1
                self._changed.notify_all()
