"""Requests to stop long work.

The thread of a worker has a stop flag. Work that takes longer than a moment checks the flag between two parts of itself
(:func:`check`), and ends if it is set. A thread without a flag, such as that of a call, is never stopped this way.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class StopFlag(Protocol):
    """A flag that is set once the work is to stop, such as a ``threading.Event``."""

    def is_set(self) -> bool:
        """Return True once the work is to stop."""
        ...


class WorkStopped(BaseException):
    """Ends the work of a thread that has been requested to stop. Transactions that it passes through are rolled back.

    It is not an Exception, because code that handles every error of a document must not take it for one.
    """


class _Work(threading.local):
    """The stop flag of each thread. ``has_seen_stop`` is True once :func:`check` has stopped its work."""

    flag: StopFlag | None = None
    has_seen_stop = False


_work = _Work()


@contextmanager
def watched_by(flag: StopFlag) -> Iterator[None]:
    """In the block, let ``flag`` stop the work of this thread."""
    outer_flag = _work.flag
    _work.flag = flag
    _work.has_seen_stop = False
    try:
        yield
    finally:
        _work.flag = outer_flag


def is_requested() -> bool:
    """Return True if the work of this thread has to stop."""
    flag = _work.flag
    return flag is not None and flag.is_set()


def check() -> None:
    """Raise WorkStopped if the work of this thread has to stop."""
    if is_requested():
        _work.has_seen_stop = True
        raise WorkStopped


def check_unless_seen() -> None:
    """Raise WorkStopped like :func:`check`, but only once, so that stopped work can still report."""
    if not _work.has_seen_stop:
        check()
