"""A lock that calls hold together, and whoever changes what is under all of them holds alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Held by any number of threads at once, or by one alone. While one waits to be alone no other comes in.

    A thread that shares it must not ask for it again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._alone = 0  # those that hold it alone or wait for that

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it beside others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it when the others have left; one at a time, which the caller sees to."""
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: not self._sharing)
        try:
            yield
        finally:
            with self._changed:
                self._alone -= 1
                self._changed.notify_all()
