"""Memory that the C library keeps for itself, given back to the system: with glibc; elsewhere nothing is done."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from finapi.core.metrics import read_memory_usage

# glibc, malloc.h
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
MIB = 1024 * 1024

CHECK_SECONDS = 10.0  # between looks at what is resident
TRIM_GROWTH_BYTES = 8 * MIB  # since the least that was seen, from which on it is worth to give back


@contextmanager
def exempt_from_gc() -> Iterator[None]:
    """Collect no garbage in the block, and never look for it among what it leaves: modules stay as long as the process.

    For the imports of a start, of which collections were a twentieth.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def limit_heaps() -> None:
    """Have the threads share two heaps instead of eight for each core; to be called before they start.

    What one thread frees no other can use, nor the system: after 480 bodies of 836 KB in 16 threads 126 MB were
    resident, 114 with this, and 84 when that was given back too. One thread at a time has the interpreter, so that two
    heaps are enough.
    """
    _set(_M_ARENA_MAX, 2)


def map_large_blocks() -> None:
    """Have blocks of 8 MiB mapped by themselves, so that they go back to the system when they are freed.

    glibc raises its threshold for that once it has seen such a block freed, and takes the next ones from its heaps:
    after 200 logins, two at a time, 370 MB were resident, and 17 MB with this.
    """
    _set(_M_MMAP_THRESHOLD, 8 * MIB)
    # The first call ends the adjusting of this one too: leave it twice the other, as glibc does.
    _set(_M_TRIM_THRESHOLD, 16 * MIB)


def release_free_memory() -> None:
    """Return the free pages of all heaps to the system; some milliseconds, in which other threads may run."""
    with suppress(AttributeError):
        _libc().malloc_trim(0)


class MemoryTrimmer:
    """Gives back what a burst of work has left; a step of a worker."""

    def __init__(
        self,
        resident: Callable[[], int] = lambda: read_memory_usage()[1],
        trim: Callable[[], None] = release_free_memory,
    ) -> None:
        self._resident, self._trim = resident, trim
        self._least: float = resident()

    def run_trim_step(self) -> float:
        """Give back when much has come to be resident; in how many seconds to look again."""
        now = self._resident()
        if now >= self._least + TRIM_GROWTH_BYTES:
            self._trim()
            self._least = self._resident()
        self._least = min(self._least, now)
        return CHECK_SECONDS


def _set(parameter: int, value: int) -> None:
    with suppress(AttributeError):
        _libc().mallopt(parameter, value)


@cache
def _libc() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None)
    except OSError:  # another kind of library
        return None
