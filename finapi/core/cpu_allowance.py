"""A limit on the CPU time per minute that each caller may use for work without charge."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from finapi.core.errors import ApiError


class CpuAllowance:
    """The CPU time that each key may use per minute, for at most ``max_keys`` keys.

    Work is counted after it has been done, because its CPU time is not known before. The count then decreases evenly,
    so that a key that used twice its allowance waits for a minute. ``monotonic`` is the clock for the decrease,
    ``cpu_seconds`` returns the CPU time of the calling thread, and ``refusal`` is the message for a key that has used
    its allowance.
    """

    def __init__(
        self,
        seconds_per_minute: float,
        monotonic: Callable[[], float],
        *,
        refusal: str,
        max_keys: int = 100_000,
        cpu_seconds: Callable[[], float] = time.thread_time,
    ) -> None:
        self.cpu_seconds = cpu_seconds
        self._seconds_per_minute = seconds_per_minute
        self._monotonic = monotonic
        self._refusal = refusal
        self._max_keys = max_keys
        self._used_seconds: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, key: Hashable) -> None:
        """Raise RATE_LIMIT_EXCEEDED (429) with ``Retry-After`` if a key has used more than its allowance."""
        now = self._monotonic()
        with self._lock:
            excess_seconds = max(0.0, self._current_seconds(key, now) - self._seconds_per_minute)
        # Rounded to milliseconds, so that an error of floating point is not taken for a wait.
        wait_seconds = round(excess_seconds * 60 / self._seconds_per_minute, 3)
        if wait_seconds > 0:
            message = f"{self._refusal} Try again later."
            raise ApiError("RATE_LIMIT_EXCEEDED", message, headers={"Retry-After": str(math.ceil(wait_seconds))})

    def add(self, key: Hashable, seconds: float) -> None:
        """Count CPU time that a key has used.

        If there are too many keys, remove the one that was counted longest ago.
        """
        now = self._monotonic()
        with self._lock:
            self._used_seconds[key] = (self._current_seconds(key, now) + seconds, now)
            self._used_seconds.move_to_end(key)
            if len(self._used_seconds) > self._max_keys:
                self._used_seconds.popitem(last=False)

    def clear(self) -> None:
        """Forget what every key has used."""
        with self._lock:
            self._used_seconds.clear()

    def _current_seconds(self, key: Hashable, now: float) -> float:
        used_seconds, counted_at = self._used_seconds.get(key, (0.0, now))
        return max(0.0, used_seconds - self._seconds_per_minute / 60 * max(0.0, now - counted_at))


class CpuMeter:
    """Measures the CPU time of one call, from the creation of the meter.

    A call that ends in another thread is not counted, because CPU times of two threads cannot be compared.
    """

    def __init__(self, allowance: CpuAllowance, key: Hashable) -> None:
        self._allowance = allowance
        self._key = key
        self._thread_id = threading.get_ident()
        self._started_seconds = allowance.cpu_seconds()

    def check(self) -> None:
        """Raise RATE_LIMIT_EXCEEDED (429) if earlier calls of the key have used its allowance."""
        self._allowance.check(self._key)

    def count(self) -> None:
        """Deduct the time until now from the allowance, because the call is not charged."""
        if threading.get_ident() == self._thread_id:
            self._allowance.add(self._key, self._allowance.cpu_seconds() - self._started_seconds)
