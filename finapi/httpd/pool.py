"""The threads that execute requests, and what becomes of one that does not come back."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("finapi.httpd")

Job = TypeVar("Job")


class _Worker(Generic[Job]):
    """A thread, and the job that it serves."""

    def __init__(self, work: Callable[[_Worker[Job]], None]) -> None:
        self.thread = threading.Thread(target=work, args=(self,), name="finapi-http", daemon=True)
        self.job: Job | None = None
        self.called = threading.Lock()  # held while it waits for one
        self.called.acquire()


class ThreadPool(Generic[Job]):
    """Threads that serve what is put in.

    One that does not come back is replaced, since Python cannot end it; so is one that waits for a client to read.

    A thread is started when a job finds none idle, up to ``size`` beside those that are stuck and twice that in all;
    then jobs wait and the loop answers 504 and 503. A job is given to one idle thread, the last that became so, and no
    other is woken: each of ``queue.SimpleQueue`` wakes a second.
    """

    def __init__(self, size: int, serve: Callable[[Job], None], failed: Callable[[Job], None]) -> None:
        self.size = size
        self._serve, self._failed = serve, failed
        self._lock = threading.Lock()
        self._workers: set[_Worker[Job]] = set()
        self._idle: list[_Worker[Job]] = []
        self._waiting: deque[Job | None] = deque()  # for a thread; None ends one
        self._stuck: set[Job] = set()

    def __len__(self) -> int:
        """How many jobs wait for a thread."""
        return len(self._waiting)

    def put(self, job: Job | None) -> None:
        """Have the job served, after those that wait."""
        with self._lock:
            if not self._idle:
                self._waiting.append(job)
                if job is not None:
                    self._grow()
                return
            worker = self._idle.pop()
            worker.job = job
        worker.called.release()

    def give_up(self, job: Job) -> None:
        """Replace the thread of a job that has overrun its time, and log it."""
        if self.replace(job):
            log.warning("a call has overrun its time; %d threads are in a call that takes long", len(self._stuck))

    def replace(self, job: Job) -> bool:
        """Let another thread work in place of the one that serves the job. Return False if none does, or one has."""
        with self._lock:
            if job in self._stuck or not any(worker.job is job for worker in self._workers):
                return False
            self._stuck.add(job)
            self._grow()
            return True

    def stop(self, timeout: float) -> int:
        """End and join the threads; returns how many are still in a call after ``timeout`` seconds."""
        with self._lock:
            threads = [worker.thread for worker in self._workers]
        for _ in threads:
            self.put(None)
        until = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return sum(thread.is_alive() for thread in threads)

    def _grow(self) -> None:
        """Start a thread if there may be another; called with the lock."""
        if len(self._workers) >= min(self.size + len(self._stuck), 2 * self.size):
            return
        worker = _Worker(self._work)
        try:
            worker.thread.start()
        except RuntimeError as error:  # the machine allows no more: the job waits for one that there is
            log.error("a thread for calls cannot be started: %s", error)
        else:
            self._workers.add(worker)

    def _work(self, this: _Worker[Job]) -> None:
        while (job := self._next(this)) is not None:
            try:
                self._serve(job)
            except BaseException:  # a SystemExit of the application, say
                log.exception("exception while serving a request")
                self._failed(job)

    def _next(self, this: _Worker[Job]) -> Job | None:
        """What a thread is to serve now that it has served its job; None when it is to end."""
        with self._lock:
            if this.job in self._stuck:
                self._stuck.discard(this.job)
                if len(self._workers) - len(self._stuck) > self.size:
                    self._workers.remove(this)
                    return None
            if self._waiting:
                this.job = self._waiting.popleft()
                return this.job
            this.job = None
            self._idle.append(this)
        this.called.acquire()
        return this.job
