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
        # By way of datetime.replace it takes three times as long. By way of a double a millisecond is exact until 2242.
        return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)

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


class MovableClock:
    """The machine's clocks, moved by what was asked for, or standing still: for the fixture."""

    def __init__(self, start: datetime | None = None) -> None:
        """Run with the machine's, or with ``start`` stand at that moment."""
        self._moved = timedelta(0)
        self._elapsed = 0.0  # that the moves were ahead, and all that passed before a standstill
        self._stands: datetime | None = None
        self._since = time.monotonic()
        if start is not None:
            self.freeze(start)

    def now(self) -> datetime:
        """The moment that it shows."""
        return self._stands or _to_milliseconds(datetime.now(UTC) + self._moved)

    def monotonic(self) -> float:
        """Seconds that it ran and was moved ahead since it was made."""
        return self._elapsed + (0.0 if self._stands else time.monotonic() - self._since)

    @property
    def is_frozen(self) -> bool:
        """Whether it stands still."""
        return self._stands is not None

    def freeze(self, moment: datetime | None = None) -> None:
        """Stand still from now on, at ``moment`` if one is given: a jump back turns no monotonic reading back."""
        now = self.now()
        moment = now if moment is None else _to_milliseconds(moment.astimezone(UTC))
        self._elapsed = self.monotonic() + max(0.0, (moment - now).total_seconds())
        self._stands = moment

    def resume(self) -> None:
        """Run again from where it stands."""
        if self._stands is not None:
            self._moved, self._since = self._stands - datetime.now(UTC), time.monotonic()
            self._stands = None

    def advance(self, seconds: float) -> None:
        """Move both readings ahead."""
        self._elapsed += seconds
        if self._stands is not None:
            self._stands = _to_milliseconds(self._stands + timedelta(seconds=seconds))
        else:
            self._moved += timedelta(seconds=seconds)

    def get_state(self) -> tuple[bool, datetime]:
        """Whether it stands still, and what it shows."""
        return self.is_frozen, self.now()

    def restore(self, state: tuple[bool, datetime]) -> None:
        """Show again what :meth:`state` said."""
        self.freeze(state[1])
        if not state[0]:
            self.resume()


@lru_cache(maxsize=256)
def iso(moment: datetime) -> str:
    """``moment`` as every document and row of finapi spells it: ``YYYY-MM-DDTHH:MM:SS.mmmZ`` (DECISIONS 2)."""
    at = moment.astimezone(UTC)
    # isoformat, and a text with formats in braces, take twice as long.
    day, time_of_day = (at.year, at.month, at.day), (at.hour, at.minute, at.second, at.microsecond // 1000)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (*day, *time_of_day)  # noqa: UP031


def _to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
