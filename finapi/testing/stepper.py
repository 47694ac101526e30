"""The background thread of a fixture: it does the work that falls due in worlds whose clock runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from finapi.core.errors import ApiError
from finapi.store.db import DatabaseError
from finapi.testing.world import World

log = logging.getLogger("finapi.testing")

RETRY_SECONDS = 1.0  # Pause after a step of a world failed.
MAX_SLEEP_SECONDS = 1.0


class Stepper:
    """A loop that steps each world when it is woken or when its next work is due, until ``closing`` is set."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing
        self._woken_worlds: set[World] = set()
        self._due_times: dict[World, float] = {}  # When to step each world, in seconds of ``monotonic``.
        self._jobs: list[Callable[[], None]] = []
        self._changed = threading.Condition()

    def wake(self, world: World) -> None:
        """Step a world now."""
        with self._changed:
            self._woken_worlds.add(world)
            self._changed.notify_all()

    def add_job(self, job: Callable[[], None]) -> None:
        """Call ``job`` once in the background."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()

    def run(self) -> None:
        """Step worlds until the fixture closes. This is the body of the thread."""
        while not self._closing.is_set():
            with self._changed:
                now = time.monotonic()
                next_due = min(self._due_times.values(), default=now + MAX_SLEEP_SECONDS)
                self._changed.wait_for(self._has_work, max(0.0, min(MAX_SLEEP_SECONDS, next_due - now)))
                worlds, self._woken_worlds = self._woken_worlds, set()
                jobs, self._jobs = self._jobs, []
            for job in jobs:
                job()
            now = time.monotonic()
            worlds.update(world for world, due_time in self._due_times.items() if due_time <= now)
            for world in worlds:
                self._step(world, now)

    def _step(self, world: World, now: float) -> None:
        try:
            seconds = world.run_due_step()
        except (ApiError, DatabaseError):
            log.exception("the background work of a world failed; it is tried again in %g s", RETRY_SECONDS)
            seconds = RETRY_SECONDS
        with self._changed:
            self._due_times.pop(world, None)
            if seconds is not None and not world.closed:
                self._due_times[world] = now + seconds

    def remove(self, world: World) -> None:
        """Stop stepping a world that was deleted."""
        with self._changed:
            self._due_times.pop(world, None)
            self._woken_worlds.discard(world)

    def _has_work(self) -> bool:
        return bool(self._woken_worlds or self._jobs) or self._closing.is_set()

    def stop(self) -> None:
        """Make :meth:`run` return."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
