"""Threads around plain steps.

A step does one pass of its work and says in how many seconds it wants to be called again (None: only when
woken). The worker owns the thread, the wait and the stop; tests call the step.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from finapi.core.errors import StoreUnavailableError

log = logging.getLogger("finapi.background")

# After a step that failed: long enough not to fill the log, short enough to be back before anyone asks.
RETRY_SECONDS = 5.0

# How long a step may run before it counts as one that hangs, where its worker is not given another time.
PATIENCE = 60.0

APART = 0.05  # seconds between the first steps of two workers

Step = Callable[[], float | None]


class Worker:
    """A named thread that calls ``step`` until it is stopped; a step that fails is logged and tried again."""

    def __init__(
        self, name: str, step: Step, *, interrupt: Callable[[], None] | None = None, patience: float = PATIENCE
    ) -> None:
        self.name = name
        self._step = step
        self._interrupt = interrupt
        self._patience = patience
        self._began: float | None = None
        self._failure: str | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name=f"finapi-{name}", daemon=True)

    def start(self, after: float = 0.0, rest: Callable[[], object] = lambda: None) -> None:
        """Start the thread, whose first step is made after so many seconds, or when it is woken.

        ``rest`` is called in the thread whenever it begins to wait.
        """
        self._after, self._rest = after, rest
        self._thread.start()

    def wake(self) -> None:
        """Call the step now rather than when it asked for."""
        self._wake.set()

    def stop(self) -> None:
        """Let a running step finish, broken off by ``interrupt`` where it can be, then end the thread."""
        self._stopping = True
        if self._interrupt is not None:
            self._interrupt()
        self._wake.set()
        self._thread.join()

    def trouble(self) -> str | None:
        """Why it does not do its work: its thread has ended, its step hangs, or the last one failed; else None."""
        if self._thread.ident is not None and not self._thread.is_alive():
            return "its thread has ended"
        began = self._began
        if began is not None and time.monotonic() - began > self._patience:
            return f"its step has not come back for {time.monotonic() - began:.0f} s"
        return self._failure

    def _loop(self) -> None:
        self._wake.wait(self._after)
        self._wake.clear()
        while not self._stopping:
            self._began = time.monotonic()
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
            self._began = None
            self._rest()
            self._wake.wait(wait)
            self._wake.clear()


@contextmanager
def running(workers: Iterable[Worker], after: float = 0.0, rest: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Start the workers (:meth:`Worker.start`), and stop all of them when the block ends, in reverse order.

    First steps that are not made at once are made one after the other: together they would stand in the way of calls.
    """
    started: list[Worker] = []
    try:
        for worker in workers:
            worker.start(after and after + APART * len(started), rest)
            started.append(worker)
        yield
    finally:
        for worker in reversed(started):
            worker.stop()
