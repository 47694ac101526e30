"""Settings of the C library and of the garbage collector that keep the process small. Without glibc they do nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from finapi.core.metrics import read_memory_usage

MIB = 1024 * 1024

# Parameters of mallopt(3), from glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

CHECK_SECONDS = 10.0  # The interval between two checks of the resident memory.
TRIM_GROWTH_BYTES = 8 * MIB  # Free memory is released after this growth since the lowest reading.


@contextmanager
def exempt_from_gc() -> Iterator[None]:
    """Disable garbage collection in the block, and exclude the objects that it creates from all later collections.

    This is for the imports of a start. Modules exist as long as the process, and collections took a twentieth of the
    time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def limit_heaps() -> None:
    """Let the threads share two heaps instead of eight for each core. Call this before the threads start.

    Memory that one thread frees in its heap can be used by no other thread. After 480 bodies of 836 KB in 16 threads,
    126 MB were resident. With this setting it is 114 MB, and 84 MB after :func:`release_free_memory`. Two heaps are
    enough, because the interpreter runs one thread at a time.
    """
    _set_malloc_option(_M_ARENA_MAX, 2)


def map_large_blocks() -> None:
    """Let the C library map blocks of 8 MiB and more separately, so that they are released when they are freed.

    Without this, glibc raises its threshold after the first such block, and takes the next ones from its heaps: after
    200 logins, two at a time, 370 MB were resident, and 17 MB with this setting.
    """
    _set_malloc_option(_M_MMAP_THRESHOLD, 8 * MIB)
    # Setting the first threshold stops the automatic change of this one too. Set it to twice the first, as glibc does.
    _set_malloc_option(_M_TRIM_THRESHOLD, 16 * MIB)


def release_free_memory() -> None:
    """Release the free pages of all heaps to the system.

    This takes some milliseconds, during which other threads run.
    """
    with suppress(AttributeError):
        _load_libc().malloc_trim(0)


class MemoryTrimmer:
    """Releases the memory that a burst of work has left free. Its step belongs to a worker."""

    def __init__(
        self,
        read_resident_bytes: Callable[[], int] = lambda: read_memory_usage().resident_bytes,
        trim: Callable[[], None] = release_free_memory,
    ) -> None:
        self._read_resident_bytes = read_resident_bytes
        self._trim = trim
        self._lowest_bytes = read_resident_bytes()

    def run_trim_step(self) -> float:
        """Release free memory if the resident memory has grown. Return the seconds until it should run again."""
        resident_bytes = self._read_resident_bytes()
        if resident_bytes >= self._lowest_bytes + TRIM_GROWTH_BYTES:
            self._trim()
            self._lowest_bytes = self._read_resident_bytes()
        self._lowest_bytes = min(self._lowest_bytes, resident_bytes)
        return CHECK_SECONDS


def _set_malloc_option(option: int, number: int) -> None:
    with suppress(AttributeError):
        _load_libc().mallopt(option, number)


@cache
def _load_libc() -> Any:
    """Return the C library, or None if it cannot be loaded (it is not glibc)."""
    import ctypes

    try:
        return ctypes.CDLL(None)
    except OSError:
        return None
