"""The feeds of a process, begun with their first reader: what they load and hold is a fifth of a start."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from finapi.core.background import Worker
from finapi.feeds.requests import PATHS, are_feeds
from finapi.httpd.settings import HandedOver

if TYPE_CHECKING:
    from finapi.feeds.connections import FeedService, HubOf
    from finapi.feeds.loop import Feeds


class FeedsWhenRead:
    """Takes connections over as ``Feeds`` do, and makes those, with their two threads, when the first one comes."""

    def __init__(self, service: FeedService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._begun: tuple[Feeds, threading.Thread, Worker] | None = None
        self._stopped = False

    @staticmethod
    def wants(method: str, path: str, accept: str) -> bool:
        """Whether a request is the feeds' own, by its path and ``Accept``."""
        return are_feeds(method, path, accept)

    def take(self, handed: HandedOver, service: FeedService | None = None, hub_of: HubOf | None = None) -> None:
        """Take over a connection; it belongs to the feeds from here on, and is closed when they have stopped."""
        with self._lock:
            if self._begun is None and not self._stopped:
                self._begun = self._begin()
        if self.begun is None:
            handed.sock.close()
        else:
            self.begun.take(handed, service, hub_of)

    @property
    def begun(self) -> Feeds | None:
        """The feeds, once somebody has read."""
        return self._begun[0] if self._begun else None

    def _begin(self) -> tuple[Feeds, threading.Thread, Worker]:
        from finapi.feeds.loop import Feeds

        feeds = Feeds(self._service)
        thread = threading.Thread(target=feeds.run, name="finapi-feeds", daemon=True)
        keys = Worker("feed-keys", feeds.keys.step)
        feeds.keys.wake = keys.wake
        keys.start()
        thread.start()
        return feeds, thread, keys

    def trouble(self) -> str | None:
        """Why they serve nobody, or None."""
        return self._begun[0].trouble() if self._begun else None

    def trouble_with_keys(self) -> str | None:
        """Why nobody's key is looked up, or None."""
        return self._begun[2].find_problem() if self._begun else None

    def readers(self) -> dict[tuple[str, ...], float]:
        """How many readers each feed has."""
        return self._begun[0].readers() if self._begun else {(feed,): 0.0 for feed in PATHS.values()}

    def close(self, grace: float | None = None) -> None:
        """Tell the readers, who have ``grace`` seconds to close too, and end both threads."""
        with self._lock:
            self._stopped = True
        if self._begun is not None:
            feeds, thread, keys = self._begun
            feeds.stop(grace)
            thread.join()
            keys.stop()
