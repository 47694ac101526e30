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
PATIENCE_SECONDS = 60.0

# The time between the first steps of two workers. First steps that run together would slow down the first calls.
STAGGER_SECONDS = 0.05

# Seconds that a step is given to see a stop by itself, and then to end when it is broken off; each worker is given the
# least. A step that still goes on is left to its thread, which ends with the process: what it has not committed is
# undone, as after a kill.
LOOK_SECONDS = 1.0
BREAK_SECONDS = 2.0
LEAST_BREAK_SECONDS = 0.5
BREAK_EVERY = 0.01  # seconds between two attempts to break it off, as the next statement may have begun since

Step = Callable[[], float | None]


class Worker:
    """A named thread that calls ``step`` until it is stopped. A step that fails is logged and called again.

    A step takes a second or so, and asks :mod:`finapi.core.stopping` between its pieces. At a stop, ``interrupt`` is
    called once before anything is waited for, and ``break_off`` with the identity of the thread as long as a step has
    not seen the stop. A step that runs for more than ``patience`` seconds counts as hanging (:meth:`trouble`).
    """

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        interrupt: Callable[[], None] | None = None,
        break_off: Callable[[int], None] | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.name = name
        self._step = step
        self._interrupt = interrupt
        self._break_off = break_off
        self._patience = patience
        self._step_started_at: float | None = None
        self._failure: str | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._stop_at: float | None = None
        self._thread = threading.Thread(target=self._loop, name=f"finapi-{name}", daemon=True)

    def start(self, after: float = 0.0, rest: Callable[[], object] = lambda: None) -> None:
        """Start the thread. It takes its first step after ``after`` seconds, or earlier when it is woken.

        ``rest`` is called in the thread each time before it waits.
        """
        self._after, self._rest = after, rest
        self._thread.start()

    def wake(self) -> None:
        """Call the step now instead of at the time that it returned."""
        self._wake.set()

    def request_stop(self) -> None:
        """Ask a running step to end, and call no other. Return immediately."""
        if self._stop_at is None:
            self._stop_at = time.monotonic()
        self._stop.set()
        self._wake.set()

    def stop(self) -> None:
        """End the thread, with a running step at its next look for the stop, or broken off, or left behind."""
        self.request_stop()
        if self._interrupt is not None:
            self._interrupt()
        assert self._stop_at is not None
        now, look_until = time.monotonic(), self._stop_at + LOOK_SECONDS
        self._thread.join(max(look_until - now, 0.0))
        until = max(look_until + BREAK_SECONDS, now + LEAST_BREAK_SECONDS)
        while self._thread.is_alive() and time.monotonic() < until:
            if self._break_off is not None and self._thread.ident is not None:
                self._break_off(self._thread.ident)
            self._thread.join(BREAK_EVERY)
        if self._thread.is_alive():
            log.error("%s does not stop and is left behind", self.name)

    def trouble(self) -> str | None:
        """Return the reason why the work is not done (thread ended, step hangs, last step failed), or None."""
        if self._stop.is_set():
            return None
        if self._thread.ident is not None and not self._thread.is_alive():
            return "its thread has ended"
        started_at = self._step_started_at
        if started_at is not None and time.monotonic() - started_at > self._patience:
            return f"its step has not come back for {time.monotonic() - started_at:.0f} s"
        return self._failure

    def _loop(self) -> None:
        self._wake.wait(self._after)
        self._wake.clear()
        with stopping.watched_by(self._stop):
            while not self._stop.is_set():
                self._step_started_at = time.monotonic()
                wait = self._run_step()
                self._step_started_at = None
                self._rest()
                if not self._stop.is_set():
                    self._wake.wait(wait)
                    self._wake.clear()

    def _run_step(self) -> float | None:
        """Call the step, and return the seconds until the next."""
        try:
            wait = self._step()
        except stopping.WorkStopped:
            return None
        except StoreUnavailableError as error:
            self._failure = f"nothing can be stored: {error}"
            return RETRY_SECONDS
        except Exception as error:
            if self._stop.is_set():
                log.debug("%s was broken off by the stop: %r", self.name, error)
                return None
            log.exception("%s failed, next try in %g s", self.name, RETRY_SECONDS)
            self._failure = f"its last step failed with {type(error).__name__}"
            return RETRY_SECONDS
        self._failure = None
        return wait


class WorkerGroup(list[Worker]):
    """Workers that were started together, in their order."""

    def request_stop(self) -> None:
        """Ask all of them to stop. Return immediately."""
        for worker in self:
            worker.request_stop()


@contextmanager
def run_workers(
    workers: Iterable[Worker], after: float = 0.0, rest: Callable[[], object] = lambda: None
) -> Iterator[WorkerGroup]:
    """Run the workers while the block lasts. At its end ask all of them to stop, then wait for each in reverse order.

    With ``after``, the first steps are taken one after the other, ``STAGGER_SECONDS`` apart.
    """
    started = WorkerGroup()
    try:
        for worker in workers:
            worker.start(after and after + STAGGER_SECONDS * len(started), rest)
            started.append(worker)
        yield started
    finally:
        started.request_stop()
        for worker in reversed(started):
            worker.stop()
