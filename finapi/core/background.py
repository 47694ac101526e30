"""Worker threads: loops around plain steps.

A step does a bounded portion of its work and returns the seconds until it should run again, or None to run only when
the worker is woken. The worker owns the thread, the wait and the stop. Tests call the step directly.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from finapi.core import stopping
from finapi.core.errors import StoreUnavailableError

log = logging.getLogger("finapi.background")

# The wait after a failed step: long enough not to fill the log, short enough to recover before anyone notices.
RETRY_SECONDS = 5.0

# A step that runs longer counts as hanging, unless its worker sets another limit.
MAX_STEP_SECONDS = 60.0

# The time between the first steps of two workers. First steps that run together would slow down the first calls.
STAGGER_SECONDS = 0.05

# At a stop, a step has STOP_SECONDS to end by itself. Then it is interrupted, and has BREAK_SECONDS to end. Workers are
# stopped one after the other from the same moment, and each one has at least MIN_BREAK_SECONDS. A step that still runs
# ends with the process: its open transaction is rolled back, as after a kill.
STOP_SECONDS = 1.0
BREAK_SECONDS = 2.0
MIN_BREAK_SECONDS = 0.5
# The interval in which a step is interrupted again, because it may have begun another statement.
BREAK_INTERVAL_SECONDS = 0.01

Step = Callable[[], float | None]


class Worker:
    """A named thread that calls ``step`` until it is stopped. A step that fails is logged and called again.

    A step takes about a second, and checks :mod:`finapi.core.stopping` while it works. When the worker stops,
    ``interrupt`` is called once. If the step does not end by itself, ``interrupt_thread`` is called with the thread's
    id until it ends. A step that runs for more than ``max_step_seconds`` counts as hanging (:meth:`find_problem`).
    """

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        interrupt: Callable[[], None] | None = None,
        interrupt_thread: Callable[[int], None] | None = None,
        max_step_seconds: float = MAX_STEP_SECONDS,
    ) -> None:
        self.name = name
        self._step = step
        self._interrupt = interrupt
        self._interrupt_thread = interrupt_thread
        self._max_step_seconds = max_step_seconds
        self._step_started_at: float | None = None
        self._failure: str | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._stop_at: float | None = None
        self._thread = threading.Thread(target=self._loop, name=f"finapi-{name}", daemon=True)

    def start(self, delay_seconds: float = 0.0, before_wait: Callable[[], object] = lambda: None) -> None:
        """Start the thread. It runs its first step after ``delay_seconds``, or earlier if it is woken.

        ``before_wait`` is called in the thread each time before it waits.
        """
        self._delay_seconds = delay_seconds
        self._before_wait = before_wait
        self._thread.start()

    def wake(self) -> None:
        """Call the step now instead of at the time that it returned."""
        self._wake.set()

    def request_stop(self) -> None:
        """Let a running step end at its next check, and run no other. Return immediately."""
        if self._stop_at is None:
            self._stop_at = time.monotonic()
        self._stop.set()
        self._wake.set()

    def stop(self) -> None:
        """End the thread. Wait for a running step to end by itself, then interrupt it, then abandon it."""
        self.request_stop()
        if self._interrupt is not None:
            self._interrupt()
        assert self._stop_at is not None
        now = time.monotonic()
        break_at = self._stop_at + STOP_SECONDS
        self._thread.join(max(break_at - now, 0.0))
        abandon_at = max(break_at + BREAK_SECONDS, now + MIN_BREAK_SECONDS)
        while self._thread.is_alive() and time.monotonic() < abandon_at:
            if self._interrupt_thread is not None and self._thread.ident is not None:
                self._interrupt_thread(self._thread.ident)
            self._thread.join(BREAK_INTERVAL_SECONDS)
        if self._thread.is_alive():
            log.error("%s does not stop and is abandoned", self.name)

    def find_problem(self) -> str | None:
        """Return the reason why the work is not done (thread ended, step hangs, last step failed), or None."""
        if self._stop.is_set():
            return None
        if self._thread.ident is not None and not self._thread.is_alive():
            return "its thread has ended"
        started_at = self._step_started_at
        if started_at is not None and time.monotonic() - started_at > self._max_step_seconds:
            return f"its step has been running for {time.monotonic() - started_at:.0f} s"
        return self._failure

    def _loop(self) -> None:
        self._wake.wait(self._delay_seconds)
        self._wake.clear()
        with stopping.watched_by(self._stop):
            while not self._stop.is_set():
                self._step_started_at = time.monotonic()
                wait = self._run_step()
                self._step_started_at = None
                self._before_wait()
                if not self._stop.is_set():
                    self._wake.wait(wait)
                    self._wake.clear()

    def _run_step(self) -> float | None:
        """Run the step. Return the seconds until the next one, or None to wait for a wake-up."""
        try:
            wait = self._step()
        except stopping.WorkStopped:
            return None
        except StoreUnavailableError as error:
            self._failure = f"nothing can be stored: {error}"
            return RETRY_SECONDS
        except Exception as error:
            if self._stop.is_set():
                log.debug("%s was interrupted by the stop: %r", self.name, error)
                return None
            log.exception("%s failed, next try in %g s", self.name, RETRY_SECONDS)
            self._failure = f"its last step failed with {type(error).__name__}"
            return RETRY_SECONDS
        self._failure = None
        return wait


class WorkerGroup(list[Worker]):
    """Workers that were started together, in the order of their start."""

    def request_stop(self) -> None:
        """Request that all workers stop. Return immediately."""
        for worker in self:
            worker.request_stop()


@contextmanager
def run_workers(
    workers: Iterable[Worker], delay_seconds: float = 0.0, before_wait: Callable[[], object] = lambda: None
) -> Iterator[WorkerGroup]:
    """Run workers while the block lasts. Then request all of them to stop, and stop each one in reverse order.

    With ``delay_seconds``, their first steps begin ``STAGGER_SECONDS`` after each other. For ``before_wait`` see
    :meth:`Worker.start`.
    """
    started = WorkerGroup()
    try:
        for worker in workers:
            stagger_seconds = STAGGER_SECONDS * len(started) if delay_seconds else 0.0
            worker.start(delay_seconds + stagger_seconds, before_wait)
            started.append(worker)
        yield started
    finally:
        started.request_stop()
        for worker in reversed(started):
            worker.stop()
