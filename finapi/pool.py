"""The threads that execute requests, and what becomes of one that does not come back."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Any, Protocol

from waitress.utilities import logger


class Channel(Protocol):
    """A connection whose first request waits to be executed."""

    will_close: bool
    server: Any

    def service(self) -> None:
        """Execute that request and those pipelined behind it."""
        ...


class Pool:
    """The task threads. One that does not come back is replaced, since Python cannot end it.

    There are at most twice ``size``; when all are stuck, the queue fills and the loop answers 504 and 503.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.queue: SimpleQueue[Channel | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._serving: dict[threading.Thread, Channel] = {}
        self._stuck: set[Channel] = set()

    def start(self) -> None:
        """Start the threads."""
        for _ in range(self.size):
            self._add_thread()

    def add_task(self, channel: Channel) -> None:
        """Queue a channel whose first request has come in whole."""
        self.queue.put(channel)

    def give_up(self, channel: Channel) -> None:
        """Replace the thread that serves ``channel``, if one does."""
        with self._lock:
            if channel in self._serving.values() and channel not in self._stuck:
                self._stuck.add(channel)
                logger.warning("a call has overrun its time; %d of them are still running", len(self._stuck))
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
        while (channel := self.queue.get()) is not None:
            with self._lock:
                self._serving[this] = channel
            try:
                channel.service()
            except BaseException:  # a SystemExit of the application, say, which waitress lets through
                logger.exception("exception while serving %r", channel)
                channel.will_close = True
                channel.server.wake(channel)
            with self._lock:
                del self._serving[this]
                if channel in self._stuck:
                    self._stuck.remove(channel)
                    if len(self._threads) - len(self._stuck) > self.size:
                        self._threads.remove(this)
                        return
