"""The feeds of a process. They start with the first reader, because their imports take a fifth of a server start."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from finapi.core.background import Worker
from finapi.feeds.feed_requests import PATHS, is_feed_request
from finapi.httpd.settings import HandedOverRequest

if TYPE_CHECKING:
    from finapi.feeds.feed_connections import FeedService, FindHub
    from finapi.feeds.feed_loop import Feeds


class _StartedFeeds(NamedTuple):
    """The feeds with their two threads."""

    feeds: Feeds
    loop_thread: threading.Thread
    key_worker: Worker


class LazyFeeds:
    """Takes over connections like :class:`Feeds`, and starts the feeds with the first connection."""

    def __init__(self, service: FeedService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._started: _StartedFeeds | None = None
        self._stopped = False

    @staticmethod
    def can_take(method: str, path: str, accept: str) -> bool:
        """Return True if a request opens a feed, by its path and ``Accept``."""
        return is_feed_request(method, path, accept)

    def take(
        self, request: HandedOverRequest, service: FeedService | None = None, find_hub: FindHub | None = None
    ) -> None:
        """Take over a connection. It is closed immediately if the feeds have stopped."""
        with self._lock:
            if self._started is None and not self._stopped:
                self._started = self._start()
        if self._started is None:
            request.sock.close()
        else:
            self._started.feeds.take(request, service, find_hub)

    @property
    def started_feeds(self) -> Feeds | None:
        """Return the feeds, or None before the first reader."""
        return self._started.feeds if self._started else None

    def _start(self) -> _StartedFeeds:
        from finapi.feeds.feed_loop import Feeds

        feeds = Feeds(self._service)
        loop_thread = threading.Thread(target=feeds.run, name="finapi-feeds", daemon=True)
        key_worker = Worker("feed-keys", feeds.keys.run_lookup_step)
        feeds.keys.wake = key_worker.wake
        key_worker.start()
        loop_thread.start()
        return _StartedFeeds(feeds, loop_thread, key_worker)

    def find_problem(self) -> str | None:
        """Return the reason why the feeds do not serve readers, or None."""
        return self._started.feeds.find_problem() if self._started else None

    def find_key_problem(self) -> str | None:
        """Return the reason why keys are not looked up, or None."""
        return self._started.key_worker.find_problem() if self._started else None

    def count_readers(self) -> dict[tuple[str, ...], float]:
        """Return the number of readers of each feed, as labels of a metric."""
        if self._started is None:
            return {(feed,): 0.0 for feed in PATHS.values()}
        return self._started.feeds.count_readers()

    def close(self, grace_seconds: float | None = None) -> None:
        """Close all connections and end both threads. Clients have ``grace_seconds`` to close their side."""
        with self._lock:
            self._stopped = True
        if self._started is not None:
            self._started.feeds.stop(grace_seconds)
            self._started.loop_thread.join()
            self._started.key_worker.stop()
