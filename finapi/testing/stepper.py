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
        self._jobs: list[tuple[float, Callable[[], None]]] = []  # With the time at which each is due.
        self._changed = threading.Condition()

    def wake(self, world: World) -> None:
        """Step a world now."""
        with self._changed:
            self._woken_worlds.add(world)
            self._changed.notify_all()

    def add_job(self, job: Callable[[], None], delay_seconds: float = 0.0) -> None:
        """Call ``job`` once in the background, after a delay of real time."""
        with self._changed:
            self._jobs.append((time.monotonic() + delay_seconds, job))
            self._changed.notify_all()

    def run(self) -> None:
        """Step worlds until the fixture closes. This is the body of the thread."""
        while not self._closing.is_set():
            self._wait()
            self._run_due_work()

    def _wait(self) -> None:
        """Wait until there is work, or at most MAX_SLEEP_SECONDS."""
        with self._changed:
            now = time.monotonic()
            due_times = [*self._due_times.values(), *(due_time for due_time, job in self._jobs)]
            next_due = min(due_times, default=now + MAX_SLEEP_SECONDS)
            self._changed.wait_for(self._has_work, max(0.0, min(MAX_SLEEP_SECONDS, next_due - now)))

    def _run_due_work(self) -> None:
        # This is a method of its own so that no variable of the thread refers to a world while it waits: a deleted
        # world would stay in memory.
        now = time.monotonic()
        with self._changed:
            worlds, self._woken_worlds = self._woken_worlds, set()
            due_jobs = [job for due_time, job in self._jobs if due_time <= now]
            self._jobs = [(due_time, job) for due_time, job in self._jobs if due_time > now]
        for job in due_jobs:
            job()
        now = time.monotonic()
        with self._changed:
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
        now = time.monotonic()
        has_due_job = any(due_time <= now for due_time, job in self._jobs)
        return bool(self._woken_worlds) or has_due_job or self._closing.is_set()

    def stop(self) -> None:
        """Make :meth:`run` return."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
