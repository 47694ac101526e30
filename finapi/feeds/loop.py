"""The feeds as one thread: connections taken over from the HTTP server, time, and news of the journal.

One loop and no thread for each connection: all that happens between two waits happens in one order, so that limits
are counted and readers are pushed to without a lock, and a connection costs a few kilobytes instead of a stack. It is
another loop than the server's, which answers calls while news are read and pushed here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial

from finapi.app import App
from finapi.delivery import events
from finapi.feeds import requests
from finapi.feeds.calls import FeedCall
from finapi.feeds.connections import FeedContext, FeedPlaces, FeedService, HubOf
from finapi.feeds.hub import GOING_AWAY, Hub
from finapi.feeds.keys import KeyDesk
from finapi.feeds.sessions import EngineSession, EngineSocket
from finapi.feeds.websocket import WebSocket
from finapi.httpd.loop import Connection, Loop
from finapi.httpd.settings import HandedOver
from finapi.httpd.shares import Places

log = logging.getLogger("finapi.feeds")

TICK_SECONDS = 1.0  # between looks at what is overdue
PATIENCE = 30.0  # that a round may take before the loop counts as one that hangs
AGAIN_SECONDS = 1.0  # after a round that failed, as when the store cannot be read
GRACE_SECONDS = 1.0  # for readers to take the last of it when the service stops
STOPPING = "The service is stopping."
LOOK_SECONDS = 0.1  # between looks of whoever waits for the loop whether that has ended


class Feeds:
    """All feeds of a process. Made before it listens; :meth:`run` is the body of its thread.

    Connections are those of ``service`` unless they are taken for another. Deadlines are of ``now``, seconds that pass
    as the machine's do, whatever the clock of a service shows.
    """

    def __init__(self, service: FeedService, now: Callable[[], float] = time.monotonic) -> None:
        config = service.app.config
        self.loop = Loop(now, TICK_SECONDS)
        self.keys = KeyDesk(self.loop)  # for a worker
        self._hubs: list[Hub] = []
        self._places = FeedPlaces(config)
        self._sessions: dict[str, EngineSession] = {}
        own = cache(lambda: self.add_hub(self._context.app))
        self._context = FeedContext(self.loop, self.keys, self._places, self._sessions, service, lambda key: own())
        self._inbox: deque[tuple[HandedOver, FeedContext]] = deque()
        self._again = False  # there may be more to push
        self._stopping = threading.Event()
        self._grace = GRACE_SECONDS
        self._told = threading.Event()  # everybody, that it stops
        self._ended = False
        self._round_at: float | None = None
        self._failure: str | None = None

    # ---- from other threads

    @staticmethod
    def wants(method: str, path: str, accept: str) -> bool:
        """Whether a request is the feeds' own, by its path and ``Accept``."""
        return requests.are_feeds(method, path, accept)

    def add_hub(self, app: App) -> Hub:
        """A hub of an app, whose readers are told what is new from here on."""
        hub = Hub(app, self.loop.now, self.loop.wake)
        self._hubs.append(hub)
        return hub

    def take(self, handed: HandedOver, service: FeedService | None = None, hub_of: HubOf | None = None) -> None:
        """Take over a connection, which belongs to the feeds from here on; of another ``service``, with its hubs."""
        context = self._context
        if service is not None and hub_of is not None:
            context = replace(context, service=service, hub_of=hub_of)
        if len(self._inbox) >= self._places.limit:  # the loop hangs
            self._drop(handed)
            return
        self._inbox.append((handed, context))
        if self._ended:  # looked at after the append: either this or close() finds what is in the inbox
            self._empty_inbox()
        self.loop.wake()

    def end_readers(self, hub: Hub, code: int, reason: str) -> None:
        """Close everybody who reads there, who may come back; nobody who came before the call reads on after it."""
        self._do_behind_questions(lambda: hub.end_all(code, reason))

    def leave(self, hub: Hub | None, why: str) -> None:
        """Tell the readers of a hub why they go; from the return on nothing of its store is read.

        Whoever calls sees to it that the hub is given out no more. Without one: what is being looked up is over.
        """

        def leave() -> None:
            if hub is not None:
                hub.unlisten()
                hub.end_all(GOING_AWAY, why)
                self._hubs.remove(hub)

        self._do_behind_questions(leave)

    def _do_behind_questions(self, act: Callable[[], None]) -> None:
        """Have the loop do something once every key that is being looked up was, and wait for it."""
        done = threading.Event()

        def answered(_: None) -> None:
            act()
            done.set()

        self.keys.ask(lambda: None, answered, done.set)
        while not self._told.is_set() and not done.wait(LOOK_SECONDS):
            pass

    def stop(self, grace: float | None = None) -> None:
        """Make :meth:`run` return, when readers have been told and have closed too, or after ``grace`` seconds."""
        self._grace = GRACE_SECONDS if grace is None else grace
        self._stopping.set()
        self.loop.wake()

    def trouble(self) -> str | None:
        """Why it serves nobody: its thread has ended, hangs, or failed in its last round; else None."""
        if self._ended:
            return "its thread has ended"
        if self._round_at is None:
            return None
        silent = time.monotonic() - self._round_at
        return f"no round for {silent:.0f} s" if silent > PATIENCE else self._failure

    def readers(self) -> dict[tuple[str, ...], float]:
        """How many readers each feed has."""
        counts = Counter(dict.fromkeys(events.TYPES_BY_FEED, 0))
        for hub in list(self._hubs):
            counts.update(hub.readers)
        return {(feed,): float(number) for feed, number in counts.items()}

    # ---- the loop

    def run(self) -> None:
        """Serve until :meth:`stop`, then tell everybody and release everything."""
        try:
            while not self._stopping.is_set():
                self._round()
            self._tell_the_end()
            self._told.set()
            # The machine's time, which passes while the service's may stand still.
            began = time.monotonic()
            while self.loop.connections and time.monotonic() < began + self._grace:
                self.loop.step(0.05)
                self._take_in()
        finally:
            self.close()

    def _tell_the_end(self) -> None:
        """Close everybody, and have nothing more to do with the store."""
        self._unlisten()
        self._take_in()
        # All have time to hear of the end.
        self._places.lingering = Places(self._places.limit + requests.LINGERING, self._places.limit, Connection.close)
        for hub in self._hubs:
            hub.end_all(GOING_AWAY, STOPPING)
        for session in list(self._sessions.values()):
            session.end(GOING_AWAY, STOPPING)
        for connection in list(self.loop.connections):
            if isinstance(connection, EngineSocket) and not connection.session.closed:
                continue  # its client is changing over to it; then it ends with the session
            if isinstance(connection, WebSocket):
                connection.end(GOING_AWAY, STOPPING)
            else:
                connection.finish()

    def _unlisten(self) -> None:
        for hub in list(self._hubs):
            hub.unlisten()

    def _round(self) -> None:
        """A round that fails is made again: readers stay, and miss nothing."""
        try:
            self.step(TICK_SECONDS)
            self._failure = None
        except Exception as error:
            log.exception("the feeds failed, next try in %g s", AGAIN_SECONDS)
            self._failure = f"its last round failed with {type(error).__name__}"
            self._again = True
            for hub in list(self._hubs):
                hub.keys_changed = hub.news = True
            self._stopping.wait(AGAIN_SECONDS)

    def step(self, timeout: float) -> None:
        """One round: what sockets say, new connections, news, and the time."""
        self._round_at = time.monotonic()
        overdue = self.loop.step(0 if self._again and not self._stopping.is_set() else timeout)
        self._take_in()
        hubs = list(self._hubs)
        for hub in hubs:
            if hub.keys_changed:
                hub.keys_changed = False
                asked = hub.keys()
                self.keys.ask(partial(hub.callers, asked), partial(hub.recheck, asked), self._cannot_recheck)
            if hub.news:
                hub.news = False
                if hub.publish():
                    hub.news = True  # and never False: a writer may have set it since
        if overdue:
            for session in list(self._sessions.values()):
                if not session.closed and self.loop.now() >= session.due:
                    session.expired()
            for hub in hubs:
                hub.sweep()
        self._again = any(hub.news for hub in hubs)

    def _cannot_recheck(self) -> None:
        raise RuntimeError("the readers' keys could not be looked up again")  # and the round is made again

    def close(self) -> None:
        """Release everything; for feeds that were never run, too."""
        self._ended = True
        self._told.set()
        self._unlisten()
        self._empty_inbox()
        self.loop.close()
        for session in list(self._sessions.values()):
            session.close()

    def _empty_inbox(self) -> None:
        with suppress(IndexError):
            while True:
                self._drop(self._inbox.popleft()[0])

    # ---- new connections

    def _take_in(self) -> None:
        while self._inbox:
            handed, context = self._inbox.popleft()
            try:
                FeedCall(context, handed).answer(STOPPING if self._stopping.is_set() else "")
            except Exception:
                log.exception("a connection could not be taken over")
                self._drop(handed)

    def _drop(self, handed: HandedOver) -> None:
        # What was made of it so far must not stay behind a socket that is another's by then.
        for connection in [one for one in list(self.loop.connections) if one.sock is handed.sock]:
            connection.close()
        self._places.open.leave(handed.sock)
        handed.sock.close()
