"""The thread of the feeds: an event loop with the connections that it took over from the HTTP server.

All connections share one loop in one thread. So limits are counted and messages are pushed without locks, and a
connection takes a few kilobytes instead of the stack of a thread.
The HTTP server has a loop of its own, which answers calls while events are read and pushed here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from finapi.app import App
from finapi.delivery import events
from finapi.feeds import feed_requests
from finapi.feeds.engine_sessions import EngineSession, EngineSocket
from finapi.feeds.feed_calls import FeedCall
from finapi.feeds.feed_connections import FeedContext, FeedPlaces, FeedService, FindHub
from finapi.feeds.hub import GOING_AWAY, Hub
from finapi.feeds.key_lookups import KeyLookups
from finapi.feeds.websocket import WebSocket
from finapi.httpd.loop import Connection, Loop
from finapi.httpd.settings import HandedOverRequest
from finapi.httpd.shares import Places

log = logging.getLogger("finapi.feeds")

TICK_SECONDS = 1.0  # The interval between two checks of deadlines.
MAX_ROUND_SECONDS = 30.0  # A loop whose round takes longer counts as hanging.
RETRY_SECONDS = 1.0  # The wait after a round that failed, for example because the database cannot be read.
GRACE_SECONDS = 1.0  # The time for clients to receive their last messages when the service stops.
STOPPING_MESSAGE = "The service is stopping."
END_CHECK_SECONDS = 0.1  # A thread that waits for the loop checks this often whether the loop has ended.


class Feeds:
    """All feeds of a process. It is created before the server listens. :meth:`run` is the body of its thread.

    Connections belong to ``service``, unless :meth:`take` names another one. Deadlines are in seconds of ``now``, which
    is the machine's clock even if the clock of a service is stopped for a test.
    """

    def __init__(self, service: FeedService, now: Callable[[], float] = time.monotonic) -> None:
        self.loop = Loop(now, TICK_SECONDS)
        self.keys = KeyLookups(self.loop)  # A worker runs them.
        self._hubs: list[Hub] = []
        self._own_hub: Hub | None = None
        self._places = FeedPlaces(service.app.config)
        self._sessions: dict[str, EngineSession] = {}
        self._context = FeedContext(
            loop=self.loop,
            keys=self.keys,
            places=self._places,
            sessions=self._sessions,
            service=service,
            find_hub=lambda key: self._get_own_hub(),
        )
        # Connections that were taken over but not handled yet.
        self._inbox: deque[tuple[HandedOverRequest, FeedContext]] = deque()
        self._has_more_news = False
        self._stopping = threading.Event()
        self._grace_seconds = GRACE_SECONDS
        self._all_ended = threading.Event()  # Set when all readers have been told that the service stops.
        self._closed = False
        self._round_started_at: float | None = None
        self._failure: str | None = None

    # ---- from other threads

    @staticmethod
    def can_take(method: str, path: str, accept: str) -> bool:
        """Return True if a request opens a feed, by its path and ``Accept``."""
        return feed_requests.is_feed_request(method, path, accept)

    def add_hub(self, app: App) -> Hub:
        """Return a new hub for the readers of an app."""
        hub = Hub(app, self.loop.now, self.loop.wake)
        self._hubs.append(hub)
        return hub

    def _get_own_hub(self) -> Hub:
        # Only the worker of the look-ups calls this.
        if self._own_hub is None:
            self._own_hub = self.add_hub(self._context.app)
        return self._own_hub

    def take(
        self, request: HandedOverRequest, service: FeedService | None = None, find_hub: FindHub | None = None
    ) -> None:
        """Take over the connection of a request, for another ``service`` with its hubs if they are given."""
        context = self._context
        if service is not None and find_hub is not None:
            context = replace(context, service=service, find_hub=find_hub)
        if len(self._inbox) >= self._places.limit:  # The loop hangs.
            self._drop(request)
            return
        self._inbox.append((request, context))
        # Checked after the append: either this or close() empties the inbox.
        if self._closed:
            self._empty_inbox()
        self.loop.wake()

    def end_readers(self, hub: Hub, code: int, reason: str) -> None:
        """Close all readers of a hub. A reader that connected before this call gets no message after it."""
        self._call_after_lookups(lambda: hub.end_all(code, reason))

    def remove_hub(self, hub: Hub | None, reason: str) -> None:
        """Close the readers of a hub with a reason. After this its database is not read any more.

        The caller must not use the hub for new readers. Without a hub, only wait until running look-ups have ended.
        """

        def remove() -> None:
            if hub is not None:
                hub.unlisten()
                hub.end_all(GOING_AWAY, reason)
                self._hubs.remove(hub)

        self._call_after_lookups(remove)

    def _call_after_lookups(self, function: Callable[[], None]) -> None:
        """Call a function in the loop after all look-ups that are queued now, and wait for its end."""
        done = threading.Event()

        def on_result(_: None) -> None:
            function()
            done.set()

        self.keys.submit(lambda: None, on_result, done.set)
        while not self._all_ended.is_set() and not done.wait(END_CHECK_SECONDS):
            pass

    def stop(self, grace_seconds: float | None = None) -> None:
        """Let :meth:`run` return, as soon as all clients have closed their side, or after ``grace_seconds``."""
        self._grace_seconds = GRACE_SECONDS if grace_seconds is None else grace_seconds
        self._stopping.set()
        self.loop.wake()

    def find_problem(self) -> str | None:
        """Return the reason why no readers are served (thread ended, loop hangs, last round failed), or None."""
        if self._closed:
            return "its thread has ended"
        if self._round_started_at is None:
            return None
        round_seconds = time.monotonic() - self._round_started_at
        return f"no round for {round_seconds:.0f} s" if round_seconds > MAX_ROUND_SECONDS else self._failure

    def count_readers(self) -> dict[tuple[str, ...], float]:
        """Return the number of readers of each feed, as labels of a metric."""
        counts = Counter(dict.fromkeys(events.TYPES_BY_FEED, 0))
        for hub in list(self._hubs):
            counts.update(hub.reader_counts)
        return {(feed,): float(count) for feed, count in counts.items()}

    # ---- the loop

    def run(self) -> None:
        """Serve readers until :meth:`stop`, then close all of them."""
        try:
            while not self._stopping.is_set():
                self._run_round()
            self._end_all()
            self._all_ended.set()
            # The machine's clock, because that of the service may be stopped.
            grace_end = time.monotonic() + self._grace_seconds
            while self.loop.connections and time.monotonic() < grace_end:
                self.loop.step(0.05)
                self._handle_inbox()
        finally:
            self.close()

    def _end_all(self) -> None:
        """Close all readers. The database is not used after this."""
        self._unlisten()
        self._handle_inbox()
        # All of them may linger.
        self._places.lingering = Places(
            self._places.limit + feed_requests.MAX_LINGERING, self._places.limit, Connection.close
        )
        for hub in self._hubs:
            hub.end_all(GOING_AWAY, STOPPING_MESSAGE)
        for session in list(self._sessions.values()):
            session.end(GOING_AWAY, STOPPING_MESSAGE)
        for connection in list(self.loop.connections):
            if isinstance(connection, EngineSocket) and not connection.session.closed:
                continue  # Its client is changing to it. Then it ends with its session.
            if isinstance(connection, WebSocket):
                connection.end(GOING_AWAY, STOPPING_MESSAGE)
            else:
                connection.finish()

    def _unlisten(self) -> None:
        for hub in list(self._hubs):
            hub.unlisten()

    def _run_round(self) -> None:
        """Run a round. If it fails, repeat it later. Readers stay connected and miss no events."""
        try:
            self.step(TICK_SECONDS)
            self._failure = None
        except Exception as error:
            log.exception("the feeds failed, next try in %g s", RETRY_SECONDS)
            self._failure = f"its last round failed with {type(error).__name__}"
            self._has_more_news = True
            for hub in list(self._hubs):
                hub.must_check_keys = True
                hub.has_news = True
            self._stopping.wait(RETRY_SECONDS)

    def step(self, timeout_seconds: float) -> None:
        """Run one round: handle sockets, new connections, changed keys, new events, and deadlines."""
        self._round_started_at = time.monotonic()
        has_work = self._has_more_news and not self._stopping.is_set()
        is_tick = self.loop.step(0 if has_work else timeout_seconds)
        self._handle_inbox()
        hubs = list(self._hubs)
        for hub in hubs:
            if hub.must_check_keys:
                hub.must_check_keys = False
                keys = hub.list_keys()
                self.keys.submit(partial(hub.find_callers, keys), partial(hub.end_invalid, keys), self._fail_key_check)
            if hub.has_news:
                hub.has_news = False
                if hub.publish():
                    # Never assign False here: a writer may have set it to True meanwhile.
                    hub.has_news = True
        if is_tick:
            for session in list(self._sessions.values()):
                if not session.closed and self.loop.now() >= session.due:
                    session.handle_timer()
            for hub in hubs:
                hub.end_slow_readers()
        self._has_more_news = any(hub.has_news for hub in hubs)

    def _fail_key_check(self) -> None:
        """Fail the round, so that it is repeated."""
        raise RuntimeError("the readers' keys could not be looked up again")

    def close(self) -> None:
        """Release everything. May be called on feeds that never ran."""
        self._closed = True
        self._all_ended.set()
        self._unlisten()
        self._empty_inbox()
        self.loop.close()
        for session in list(self._sessions.values()):
            session.close()

    def _empty_inbox(self) -> None:
        with suppress(IndexError):
            while True:
                request, _ = self._inbox.popleft()
                self._drop(request)

    # ---- new connections

    def _handle_inbox(self) -> None:
        while self._inbox:
            request, context = self._inbox.popleft()
            try:
                FeedCall(context, request).handle(STOPPING_MESSAGE if self._stopping.is_set() else "")
            except Exception:
                log.exception("a connection could not be taken over")
                self._drop(request)

    def _drop(self, request: HandedOverRequest) -> None:
        """Close the socket of a request, and its connection if it has one, as the descriptor may soon be reused."""
        for connection in list(self.loop.connections):
            if connection.sock is request.sock:
                connection.close()
        self._places.open.leave(request.sock)
        request.sock.close()
