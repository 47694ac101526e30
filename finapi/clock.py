"""Time, passed in. An operation reads its clock once, at its edge, and hands ``now`` down."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """What the rest of finapi asks of a clock."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC, whole milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, from an arbitrary start."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The machine's wall clock."""
        return _to_milliseconds(datetime.now(UTC))

    def monotonic(self) -> float:
        """The machine's monotonic clock."""
        return time.monotonic()


class FixedClock:
    """A clock that moves only when it is told to, for tests and the fixture."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = _to_milliseconds(start)
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The moment that the clock stands at."""
        return self._now

    def monotonic(self) -> float:
        """Seconds advanced since the clock was made."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move both readings forward by ``seconds``."""
        with self._lock:
            self._now = _to_milliseconds(self._now + timedelta(seconds=seconds))
            self._elapsed += seconds


@lru_cache(maxsize=256)
def iso(moment: datetime) -> str:
    """``moment`` as every document and row of finapi spells it: ``YYYY-MM-DDTHH:MM:SS.mmmZ`` (CONTRACT 2)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
