"""Tests of the memory trimmer, which releases memory to the system after a burst of work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from finapi.core import memory

MB = 1_000_000

# Blocks of a kilobyte in two threads, every hundredth of which stays: none of their heaps can shrink at its end.
BURST = """
import sys, threading
from finapi.core import memory
from finapi.core.metrics import read_memory_usage

if not hasattr(memory._load_libc(), "malloc_trim"):
    sys.exit(77)
memory.limit_heaps()
kept = []

def work():
    blocks = [bytes(2048) for _ in range(30_000)]
    kept.extend(blocks[::100])

for _ in range(2):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
before = read_memory_usage().resident_bytes
memory.release_free_memory()
print(before - read_memory_usage().resident_bytes)
"""


def test_pages_that_are_free_go_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", BURST], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this C library keeps no such heaps")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20 * MB


def keeper(*resident: int) -> tuple[memory.MemoryTrimmer, list[int]]:
    """Return a trimmer that reads these sizes in turn, and a list of the readings left at each release."""
    readings, trimmed = list(resident), list[int]()
    return memory.MemoryTrimmer(lambda: readings.pop(0) * MB, lambda: trimmed.append(len(readings))), trimmed


def test_memory_is_given_back_when_much_has_come() -> None:
    trimmer, trimmed = keeper(60, 61, 65, 90, 62)
    assert [trimmer.run_trim_step() for _ in range(3)] == [memory.CHECK_SECONDS] * 3
    assert trimmed == [1]


def test_what_stays_in_use_is_not_given_back_again_and_again() -> None:
    trimmer, trimmed = keeper(60, 90, 85, 86, 87, 86)
    for _ in range(4):
        trimmer.run_trim_step()
    assert len(trimmed) == 1


def test_a_little_more_each_time_is_seen_too() -> None:
    trimmer, trimmed = keeper(60, 64, 67, 70, 60, 69, 60)
    for _ in range(4):
        trimmer.run_trim_step()
    assert len(trimmed) == 2


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_load_libc", lambda: None)
    memory.limit_heaps()
    memory.map_large_blocks()
    memory.release_free_memory()
