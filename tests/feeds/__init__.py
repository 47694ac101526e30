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
SECONDS = 20.0  # The longest time that a test waits for an expected event.


def tell(
    app: App,
    count: int = 1,
    *,
    type: str = "new_filing",
    about: EventTags | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Insert events into the journal in one transaction."""
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
    """Create an account and return its API key."""
    return users.create(app, email, plan, app.clock.now()).api_key


class Service:
    """An App that listens on a socket, with its feeds."""

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
        """Return the WebSocket URL of a feed."""
        query_string = "&".join(f"{name}={value}" for name, value in query.items())
        return f"ws://{self.host}/ws/{feed}?{query_string}"

    def advance(self, seconds: float) -> None:
        """Advance the clock and wake the feed loop, so that it sees the new time."""
        self.clock.advance(seconds)
        self.feeds.loop.wake()

    def stop(self) -> None:
        """Stop the service as SIGTERM does. A second call does nothing."""
        self.feeds.stop()
        self._threads[1].join()
        self.listener.stop(1.0)
        self._threads[0].join()
        self.keys.stop()

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of connections, sessions, readers and connections without a key."""
        return {
            "connections": len(self.feeds.loop.connections),
            "sessions": len(self.feeds._sessions),
            "readers": int(sum(self.feeds.count_readers().values())),
            "unauthenticated": len(self.feeds._places.unauthenticated),
        }

    def settled(self, **counts: int) -> None:
        """Wait until :attr:`counts` are these numbers, and zero where none is given."""
        expected = {"connections": 0, "sessions": 0, "readers": 0, "unauthenticated": 0, **counts}
        eventually(lambda: self.counts == expected, SECONDS)

    def outwaited(self) -> None:
        """Advance the clock until nothing is left, as a client may leave without closing its session."""

        def nothing_left() -> bool:
            self.advance(20)
            return not any(self.counts.values())

        eventually(nothing_left, SECONDS)


@contextmanager
def running(app: App, clock: FixedClock) -> Iterator[Service]:
    """Yield a running service; stop it at the end and check that it leaves nothing."""
    service = Service(app, clock)
    try:
        yield service
    finally:
        service.stop()
    service.settled()


def message(seq: int, *, catching_up: bool = False, type: str = "new_filing") -> dict[str, Any]:
    """Return the message that a reader receives for an event of :func:`tell`."""
    data = {"accession_number": "0000320193-25-000057"}
    fields = {"type": type, "seq": seq, "epoch": 1, "occurred_at": OCCURRED, "data": data}
    return {**fields, "is_catchup": True} if catching_up else fields


def seqs(receive: Callable[[], str | bytes], count: int) -> list[int]:
    """Receive messages and return their numbers."""
    return [json.loads(receive())["seq"] for _ in range(count)]
