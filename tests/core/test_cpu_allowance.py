"""Tests of the CPU allowance for refunded calls: how seconds are counted, forgotten and bounded."""

from __future__ import annotations

import math
import threading

import pytest

from finapi.core.clock import FixedClock
from finapi.core.cpu_allowance import CpuAllowance, CpuMeter
from finapi.core.errors import ApiError


class CpuClock:
    """The CPU time of a thread, which a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def wait_of(allowance: CpuAllowance, key: str) -> str:
    """Return the Retry-After of a key, or "0" if it may go on."""
    try:
        allowance.check(key)
    except ApiError as error:
        return error.headers["Retry-After"]
    return "0"


def test_a_key_beyond_its_allowance_is_refused_with_a_wait(clock: FixedClock) -> None:
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.")
    allowance.add("ann", 20.0)
    with pytest.raises(ApiError) as caught:
        allowance.check("ann")
    error = caught.value
    assert (error.status, error.code, error.message) == (429, "RATE_LIMIT_EXCEEDED", "Used up. Try again later.")
    assert error.headers == {"Retry-After": "60"}


def test_a_key_that_used_twice_its_allowance_waits_a_minute(clock: FixedClock) -> None:
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.")
    allowance.add("ann", 10.0)
    assert wait_of(allowance, "ann") == "0"
    allowance.add("ann", 10.0)
    waits = []
    for _ in range(5):
        waits.append(wait_of(allowance, "ann"))
        clock.advance(15.0)
    assert waits == ["60", "45", "30", "15", "0"]
    assert wait_of(allowance, "bea") == "0"


def test_a_wait_of_part_of_a_second_is_told_as_a_second(clock: FixedClock) -> None:
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.")
    allowance.add("ann", 10.01)
    assert wait_of(allowance, "ann") == "1"


def test_the_key_counted_longest_ago_makes_room(clock: FixedClock) -> None:
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.", max_keys=2)
    for name in ("ann", "bea", "ann", "cid"):
        allowance.add(name, 20.0)
    assert [wait_of(allowance, name) for name in ("ann", "bea", "cid")] == ["180", "0", "60"]


def test_an_infinite_allowance_refuses_no_caller(clock: FixedClock) -> None:
    allowance = CpuAllowance(math.inf, clock.monotonic, refusal="Used up.")
    allowance.add("ann", 1e9)
    assert wait_of(allowance, "ann") == "0"


def test_a_cleared_allowance_counts_anew(clock: FixedClock) -> None:
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.")
    allowance.add("ann", 20.0)
    allowance.clear()
    assert wait_of(allowance, "ann") == "0"


def test_a_meter_counts_from_its_creation_on(clock: FixedClock) -> None:
    cpu = CpuClock()
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.", cpu_seconds=cpu)
    meter = CpuMeter(allowance, "ann")
    cpu.seconds += 20.0
    meter.check()
    meter.count()
    assert wait_of(allowance, "ann") == "60"
    with pytest.raises(ApiError):
        meter.check()


def test_a_meter_counts_nothing_of_another_thread(clock: FixedClock) -> None:
    cpu = CpuClock()
    allowance = CpuAllowance(10.0, clock.monotonic, refusal="Used up.", cpu_seconds=cpu)
    meter = CpuMeter(allowance, "ann")
    cpu.seconds += 60.0
    thread = threading.Thread(target=meter.count)
    thread.start()
    thread.join()
    assert wait_of(allowance, "ann") == "0"
