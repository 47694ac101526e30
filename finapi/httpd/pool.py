"""The threads that serve requests, and the replacement of a thread that does not return."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("finapi.httpd")

Job = TypeVar("Job")


class _PoolThread(Generic[Job]):
    """A thread, and the job that it serves."""

    def __init__(self, target: Callable[[_PoolThread[Job]], None]) -> None:
        self.thread = threading.Thread(target=target, args=(self,), name="finapi-http", daemon=True)
        self.job: Job | None = None
        self.wake_lock = threading.Lock()  # Locked while the thread is idle. Releasing it starts the next job.
        self.wake_lock.acquire()


class ThreadPool(Generic[Job]):
    """Threads that serve jobs.

    A thread is started for a job if no thread is idle and there are fewer than ``size``. A thread that does not return
    from its job, or waits for a client to read, is stuck. Python cannot end it, so another thread replaces it. There
    are at most twice ``size`` threads. If all of them are stuck, jobs wait, and the loop answers 504 and 503.

    A job is given to the thread that became idle last, and no other thread is woken. ``queue.SimpleQueue`` would wake a
    second thread each time.
    """

    def __init__(self, size: int, serve: Callable[[Job], None], abandon: Callable[[Job], None]) -> None:
        self.size = size
        self._serve = serve
        self._abandon = abandon
        self._lock = threading.Lock()
        self._threads: set[_PoolThread[Job]] = set()
        self._idle_threads: list[_PoolThread[Job]] = []
        self._waiting_jobs: deque[Job | None] = deque()  # A thread that gets None ends.
        self._stuck_jobs: set[Job] = set()

    def __len__(self) -> int:
        """Return the number of jobs that wait for a thread."""
        return len(self._waiting_jobs)

    @property
    def thread_count(self) -> int:
        """Return the number of threads."""
        return len(self._threads)

    @property
    def idle_count(self) -> int:
        """Return the number of threads that serve no job."""
        return len(self._idle_threads)

    def put(self, job: Job | None) -> None:
        """Queue a job for a thread. None ends a thread."""
        with self._lock:
            if not self._idle_threads:
                self._waiting_jobs.append(job)
                if job is not None:
                    self._start_thread()
                return
            thread = self._idle_threads.pop()
            thread.job = job
        thread.wake_lock.release()

    def give_up(self, job: Job) -> None:
        """Replace the thread of a job that has taken too long, and log it."""
        if self.replace(job):
            log.warning("a call has overrun its time; %d threads are in a call that takes long", len(self._stuck_jobs))

    def replace(self, job: Job) -> bool:
        """Let another thread work in place of the one that serves a job.

        Return False if no thread serves it, or if its thread has been replaced already.
        """
        with self._lock:
            if job in self._stuck_jobs or not any(thread.job is job for thread in self._threads):
                return False
            self._stuck_jobs.add(job)
            self._start_thread()
            return True

    def stop(self, timeout_seconds: float) -> int:
        """End and join the threads. Return the number of those that are still in a call after the timeout."""
        with self._lock:
            threads = [thread.thread for thread in self._threads]
        for _ in threads:
            self.put(None)
        until = time.monotonic() + timeout_seconds
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return sum(thread.is_alive() for thread in threads)

    def _start_thread(self) -> None:
        """Start a thread unless there are enough. Call this with the lock."""
        if len(self._threads) >= min(self.size + len(self._stuck_jobs), 2 * self.size):
            return
        thread = _PoolThread(self._run)
        try:
            thread.thread.start()
        except RuntimeError as error:  # The machine allows no more threads. The job waits for an existing one.
            log.error("a thread for calls cannot be started: %s", error)
        else:
            self._threads.add(thread)

    def _run(self, thread: _PoolThread[Job]) -> None:
        while True:
            job = self._next_job(thread)
            if job is None:
                return
            try:
                self._serve(job)
            except BaseException:  # For example a SystemExit of the application.
                log.exception("exception while serving a request")
                self._abandon(job)

    def _next_job(self, thread: _PoolThread[Job]) -> Job | None:
        """Wait for the next job of a thread, and return it. Return None to end the thread."""
        with self._lock:
            if thread.job in self._stuck_jobs:
                self._stuck_jobs.discard(thread.job)
                if len(self._threads) - len(self._stuck_jobs) > self.size:
                    self._threads.remove(thread)
                    return None
            if self._waiting_jobs:
                thread.job = self._waiting_jobs.popleft()
                return thread.job
            thread.job = None
            self._idle_threads.append(thread)
        thread.wake_lock.acquire()
        return thread.job
