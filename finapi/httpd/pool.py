"""The threads that execute requests, and what becomes of one that does not come back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

log = logging.getLogger("finapi.httpd")

Job = TypeVar("Job")


class ThreadPool(Generic[Job]):
    """Threads that serve what is queued. One that does not come back is replaced, since Python cannot end it.

    There are at most twice ``size``; when all are stuck, the queue fills and the loop answers 504 and 503.
    """

    def __init__(self, size: int, serve: Callable[[Job], None], failed: Callable[[Job], None]) -> None:
        self.size = size
        self.queue: SimpleQueue[Job | None] = SimpleQueue()
        self._serve, self._failed = serve, failed
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._serving: dict[threading.Thread, Job] = {}
        self._stuck: set[Job] = set()

    def start(self) -> None:
        """Start the threads."""
        for _ in range(self.size):
            self._add_thread()

    def give_up(self, job: Job) -> None:
        """Replace the thread that serves the job, if one does."""
        with self._lock:
            if job in self._serving.values() and job not in self._stuck:
                self._stuck.add(job)
                log.warning("a call has overrun its time; %d of them are still running", len(self._stuck))
                if len(self._threads) < 2 * self.size:
                    self._add_thread()

    def stop(self, timeout: float) -> int:
        """End and join the threads; returns how many are still in a call after ``timeout`` seconds."""
        with self._lock:
            threads = list(self._threads)
        for _ in threads:
            self.queue.put(None)
        until = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return sum(thread.is_alive() for thread in threads)

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._work, name="finapi-http", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        this = threading.current_thread()
        while (job := self.queue.get()) is not None:
            with self._lock:
                self._serving[this] = job
            try:
                self._serve(job)
            except BaseException:  # a SystemExit of the application, say
                log.exception("exception while serving a request")
                self._failed(job)
            with self._lock:
                del self._serving[this]
                if job in self._stuck:
                    self._stuck.remove(job)
                    if len(self._threads) - len(self._stuck) > self.size:
                        self._threads.remove(this)
                        return
