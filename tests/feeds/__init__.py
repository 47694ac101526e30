"""Tests of the feeds: a service in this process with a clock that only the test moves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from finapi.accounts import users
from finapi.app import App
from finapi.core.background import Worker
from finapi.core.clock import FixedClock
from finapi.delivery import events
from finapi.delivery.events import EventTags
from finapi.feeds.feed_loop import Feeds
from finapi.httpd.listener import Listener
from finapi.httpd.settings import ListenSettings
from finapi.web.application import WsgiApp
from tests.process import eventually

OCCURRED = "2025-05-02T10:00:46.000Z"
SECONDS = 20.0  # that a test waits for what must come


def tell(
    app: App,
    count: int = 1,
    *,
    type: str = "new_filing",
    about: EventTags | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Write events into the journal, in one transaction."""
    with app.db.write() as tx:
        for _ in range(count):
            events.record(
                tx,
                type,
                now=app.clock.now(),
                occurred_at=OCCURRED,
                tags=about or EventTags(),
                data=data or {"accession_number": "0000320193-25-000057"},
            )


def key(app: App, plan: str = "pro", email: str = "reader@example.com") -> str:
    """The key of a new account."""
    return users.create(app, email, plan, app.clock.now()).api_key


class Service:
    """An App behind a socket, with its feeds."""

    def __init__(self, app: App, clock: FixedClock) -> None:
        self.app = app
        self.clock = clock
        wsgi = WsgiApp(app)
        self.feeds = Feeds(wsgi, clock.monotonic)
        self.listener = Listener(wsgi, ListenSettings(port=0), wsgi.error_response, request_taker=self.feeds)
        self.host = f"127.0.0.1:{self.listener.port}"
        self.address = ("127.0.0.1", self.listener.port)
        self._threads = [
            threading.Thread(target=self.listener.run, name="test-http"),
            threading.Thread(target=self.feeds.run, name="test-feeds"),
        ]
        self.keys = Worker("test-feed-keys", self.feeds.keys.run_lookup_step)
        self.feeds.keys.wake = self.keys.wake
        self.keys.start()
        for thread in self._threads:
            thread.start()

    def url(self, feed: str = events.MAIN_FEED, **query: object) -> str:
        """The address of a feed as a WebSocket."""
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        return f"ws://{self.host}/ws/{feed}?{asked}"

    def advance(self, seconds: float) -> None:
        """Let time pass, and the feeds look at it."""
        self.clock.advance(seconds)
        self.feeds.loop.wake()

    def stop(self) -> None:
        """As SIGTERM does; twice is once."""
        self.feeds.stop()
        self._threads[1].join()
        self.listener.stop(1.0)
        self._threads[0].join()
        self.keys.stop()

    @property
    def counts(self) -> dict[str, int]:
        """How many connections, sessions, readers and connections without a key there are."""
        return {
            "connections": len(self.feeds.loop.connections),
            "sessions": len(self.feeds._sessions),
            "readers": int(sum(self.feeds.count_readers().values())),
            "unauthenticated": len(self.feeds._places.unauthenticated),
        }

    def settled(self, **counts: int) -> None:
        """Wait until the feeds hold so many connections, sessions, readers, connections without a key."""
        expected = {"connections": 0, "sessions": 0, "readers": 0, "unauthenticated": 0, **counts}
        eventually(lambda: self.counts == expected, SECONDS)

    def outwaited(self) -> None:
        """Let time pass until nothing is left: a client may go without a word."""

        def nothing_left() -> bool:
            self.advance(20)
            return not any(self.counts.values())

        eventually(nothing_left, SECONDS)


@contextmanager
def running(app: App, clock: FixedClock) -> Iterator[Service]:
    """A service that is stopped in the end, and leaves nothing."""
    service = Service(app, clock)
    try:
        yield service
    finally:
        service.stop()
    service.settled()


def message(seq: int, *, catching_up: bool = False, type: str = "new_filing") -> dict[str, Any]:
    """What a reader is told of an event of :func:`tell`."""
    data = {"accession_number": "0000320193-25-000057"}
    said = {"type": type, "seq": seq, "epoch": 1, "occurred_at": OCCURRED, "data": data}
    return {**said, "is_catchup": True} if catching_up else said


def seqs(receive: Callable[[], str | bytes], count: int) -> list[int]:
    """The numbers of the next messages."""
    return [json.loads(receive())["seq"] for _ in range(count)]
