"""Clocks that are passed in, so that tests can move time.

An operation reads its clock once, where it begins, and passes the result on as ``now``.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """The two readings that finapi needs of a clock."""

    def now(self) -> datetime:
        """Return the current time, in UTC, to the millisecond."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. They never run backwards."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def now(self) -> datetime:
        """Return the machine's wall clock."""
        # datetime.replace would take three times as long. As a double, a time to the millisecond is exact until 2242.
        return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic clock."""
        return time.monotonic()


class FixedClock:
    """A clock that moves only by :meth:`advance`, for tests and the fixture."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = _to_milliseconds(start)
        self._elapsed_seconds = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the time that the clock was set or advanced to."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds by which the clock was advanced since its creation."""
        return self._elapsed_seconds

    def advance(self, seconds: float) -> None:
        """Move both readings forward."""
        with self._lock:
            self._now = _to_milliseconds(self._now + timedelta(seconds=seconds))
            self._elapsed_seconds += seconds


class MovableClock:
    """A clock of the fixture: it runs with the machine's clock, moved by an offset, or is frozen at a moment."""

    def __init__(self, start: datetime | None = None) -> None:
        """Create a clock that runs, or one that is frozen at ``start``."""
        self._offset = timedelta(0)
        self._frozen_at: datetime | None = None
        # The monotonic reading when the clock last began to run, and that moment by the machine's monotonic clock.
        self._elapsed_seconds = 0.0
        self._running_since = time.monotonic()
        if start is not None:
            self.freeze(start)

    def now(self) -> datetime:
        """Return the time that the clock shows."""
        return self._frozen_at or _to_milliseconds(datetime.now(UTC) + self._offset)

    def monotonic(self) -> float:
        """Return the seconds by which the clock ran and was moved forward since its creation."""
        return self._elapsed_seconds + (0.0 if self._frozen_at else time.monotonic() - self._running_since)

    @property
    def is_frozen(self) -> bool:
        """Return True if the clock does not run."""
        return self._frozen_at is not None

    def freeze(self, moment: datetime | None = None) -> None:
        """Stop the clock, now or at ``moment``. A moment in the past does not move the monotonic reading back."""
        now = self.now()
        moment = now if moment is None else _to_milliseconds(moment.astimezone(UTC))
        self._elapsed_seconds = self.monotonic() + max(0.0, (moment - now).total_seconds())
        self._frozen_at = moment

    def resume(self) -> None:
        """Let a frozen clock run from the moment that it shows."""
        if self._frozen_at is not None:
            self._offset = self._frozen_at - datetime.now(UTC)
            self._running_since = time.monotonic()
            self._frozen_at = None

    def advance(self, seconds: float) -> None:
        """Move both readings forward."""
        self._elapsed_seconds += seconds
        if self._frozen_at is not None:
            self._frozen_at = _to_milliseconds(self._frozen_at + timedelta(seconds=seconds))
        else:
            self._offset += timedelta(seconds=seconds)

    def get_state(self) -> tuple[bool, datetime]:
        """Return whether the clock is frozen, and the time that it shows."""
        return self.is_frozen, self.now()

    def restore(self, state: tuple[bool, datetime]) -> None:
        """Show the time of a :meth:`get_state` again, frozen or running as it was then."""
        was_frozen, moment = state
        self.freeze(moment)
        if not was_frozen:
            self.resume()


@lru_cache(maxsize=256)
def iso(moment: datetime) -> str:
    """Return a time as ``YYYY-MM-DDTHH:MM:SS.mmmZ``, the form of all documents and rows (DECISIONS 2)."""
    utc = moment.astimezone(UTC)
    milliseconds = utc.microsecond // 1000
    # isoformat and f-strings take twice as long.
    parts = (utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, milliseconds)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % parts  # noqa: UP031


def _to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
