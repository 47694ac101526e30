"""Requests to stop, as long work sees them.

A worker's thread is watched by a flag. Work that takes longer than a moment asks between two pieces whether the flag is
set, and ends. A thread without a flag, such as that of a call, is never asked to stop.
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
    """The work of this thread has been asked to stop.

    Not an Exception: what refuses a document for whatever goes wrong with it must not take a stop for that. A
    transaction that it passes through is rolled back.
    """


class _Work(threading.local):
    """The flag that watches the work of each thread."""

    flag: StopFlag | None = None
    has_seen_stop = False


_work = _Work()


@contextmanager
def watched_by(flag: StopFlag) -> Iterator[None]:
    """Let ``flag`` stop the work that this thread does in the block."""
    before, _work.flag = _work.flag, flag
    _work.has_seen_stop = False
    try:
        yield
    finally:
        _work.flag = before


def is_requested() -> bool:
    """Return True if the work of this thread has been asked to stop."""
    flag = _work.flag
    return flag is not None and flag.is_set()


def check() -> None:
    """Raise WorkStopped if the work of this thread has been asked to stop."""
    if is_requested():
        _work.has_seen_stop = True
        raise WorkStopped


def check_unless_seen() -> None:
    """Raise WorkStopped as :func:`check` does, but only the first time.

    Work that ends may still say what it has done.
    """
    if not _work.has_seen_stop:
        check()
