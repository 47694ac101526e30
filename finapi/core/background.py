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

from finapi.core.errors import StoreUnavailableError

log = logging.getLogger("finapi.background")

# The wait after a failed step: long enough not to fill the log, short enough to recover before anyone notices.
RETRY_SECONDS = 5.0

# A step that runs longer counts as hanging, unless its worker sets another limit.
PATIENCE_SECONDS = 60.0

# The time between the first steps of two workers. First steps that run together would slow down the first calls.
STAGGER_SECONDS = 0.05

Step = Callable[[], float | None]


class Worker:
    """A named thread that calls ``step`` until it is stopped. A step that fails is logged and called again.

    ``interrupt`` ends a running step early when the worker stops. A step that runs for more than ``patience`` seconds
    counts as hanging (:meth:`trouble`).
    """

    def __init__(
        self, name: str, step: Step, *, interrupt: Callable[[], None] | None = None, patience: float = PATIENCE_SECONDS
    ) -> None:
        self.name = name
        self._step = step
        self._interrupt = interrupt
        self._patience = patience
        self._step_started_at: float | None = None
        self._failure: str | None = None
        self._wake = threading.Event()
        self._stopping = False
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

    def stop(self) -> None:
        """Interrupt the running step if possible, wait until it has ended, then end the thread."""
        self._stopping = True
        if self._interrupt is not None:
            self._interrupt()
        self._wake.set()
        self._thread.join()

    def trouble(self) -> str | None:
        """Return the reason why the work is not done (thread ended, step hangs, last step failed), or None."""
        if self._thread.ident is not None and not self._thread.is_alive():
            return "its thread has ended"
        started_at = self._step_started_at
        if started_at is not None and time.monotonic() - started_at > self._patience:
            return f"its step has not come back for {time.monotonic() - started_at:.0f} s"
        return self._failure

    def _loop(self) -> None:
        self._wake.wait(self._after)
        self._wake.clear()
        while not self._stopping:
            self._step_started_at = time.monotonic()
            try:
                wait = self._step()
                self._failure = None
            except StoreUnavailableError as error:
                self._failure = f"nothing can be stored: {error}"
                wait = RETRY_SECONDS
            except Exception as error:
                log.exception("%s failed, next try in %g s", self.name, RETRY_SECONDS)
                self._failure = f"its last step failed with {type(error).__name__}"
                wait = RETRY_SECONDS
            self._step_started_at = None
            self._rest()
            self._wake.wait(wait)
            self._wake.clear()


@contextmanager
def run_workers(
    workers: Iterable[Worker], after: float = 0.0, rest: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Run the workers while the block lasts, and stop them in reverse order.

    With ``after``, the first steps are taken one after the other, ``STAGGER_SECONDS`` apart.
    """
    started: list[Worker] = []
    try:
        for worker in workers:
            worker.start(after and after + STAGGER_SECONDS * len(started), rest)
            started.append(worker)
        yield
    finally:
        for worker in reversed(started):
            worker.stop()
