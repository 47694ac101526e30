"""The feeds as one thread: connections taken over from the HTTP server, time, and news of the journal.

A selector and no thread for each connection: all that happens between two waits happens in one order, so that
limits are counted and readers are pushed to without a lock, and a connection costs a few kilobytes instead of
a stack.
"""

from __future__ import annotations

import base64
import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from finapi import __version__, accounts, events
from finapi.app import App
from finapi.errors import ApiError
from finapi.feeds import requests
from finapi.feeds.connections import Connection
from finapi.feeds.engineio import Malformed
from finapi.feeds.guests import Guests
from finapi.feeds.hub import Hub, Refused
from finapi.feeds.plain import EventStream, PlainSocket, asked
from finapi.feeds.requests import ErrorResponse, Taken
from finapi.feeds.sessions import EngineSocket, Exchange, Session
from finapi.feeds.websocket import MAX_MESSAGE, PING_SECONDS, PONG_SECONDS, WebSocket, handshake
from finapi.handover import HandedOver

log = logging.getLogger("finapi.feeds")

TICK_SECONDS = 1.0  # between looks at what is overdue
POLL_SECONDS = PING_SECONDS + PONG_SECONDS  # that a poll may wait; a session's ping ends it before
PATIENCE = 30.0  # that a round may take before the loop counts as one that hangs
AGAIN_SECONDS = 1.0  # after a round that failed, as when the store cannot be read
GRACE_SECONDS = 1.0  # for readers to take the last of it when the service stops

# What the status of an HTTP answer is when a reader is refused by a close code.
_STATUS_OF_CODE = {4400: 400, 4401: 401, 4429: 429}


class Feeds:
    """All feeds of a service. Made before it listens; :meth:`run` is the body of its thread."""

    def __init__(self, app: App, error_response: ErrorResponse) -> None:
        self._app = app
        self._error_response = error_response
        self._hub = Hub(app)
        self._guests = Guests(self, app.config.feed_strangers, app.config.feed_strangers_per_address)
        self._selector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        for end in (self._waker, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._connections: set[Connection] = set()
        self._sessions: dict[str, Session] = {}
        self._inbox: deque[HandedOver] = deque()
        self._news = True
        self._keys_changed = False
        self._stopping = threading.Event()
        self._ended = False
        self._next_sweep = 0.0
        self._round_at: float | None = None
        self._failure: str | None = None
        app.db.listen(events.TOPIC, self._has_news)
        app.db.listen(accounts.KEYS, self._has_changed_keys)

    # ---- from other threads

    def wants(self, method: str, path: str, accept: str) -> bool:
        """Whether a request is the feeds' own."""
        return requests.wanted(method, path, accept)

    def take(self, handed: HandedOver) -> None:
        """Take over a connection; it belongs to the feeds from here on."""
        self._inbox.append(handed)
        if self._ended:  # looked at after the append: either this or close() finds what is in the inbox
            self._empty_inbox()
        self.wake()

    def wake(self) -> None:
        """Let the loop look at the time, the inbox and the journal now."""
        with suppress(BlockingIOError, OSError):  # full: it will wake anyway; closed: it has ended
            self._waker.send(b"\0")

    def stop(self) -> None:
        """Make :meth:`run` return, when readers have been told or :data:`GRACE_SECONDS` have passed."""
        self._stopping.set()
        self.wake()

    def trouble(self) -> str | None:
        """Why it serves nobody: its thread has ended, hangs, or failed in its last round; else None."""
        if self._ended:
            return "its thread has ended"
        if self._round_at is None:
            return None
        silent = time.monotonic() - self._round_at
        return f"no round for {silent:.0f} s" if silent > PATIENCE else self._failure

    def _has_news(self) -> None:
        self._news = True
        self.wake()

    def _has_changed_keys(self) -> None:
        self._keys_changed = True
        self.wake()

    def readers(self) -> dict[tuple[str, ...], float]:
        """How many readers each feed has."""
        return {(feed,): float(number) for feed, number in self._hub.readers.items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many connections, sessions, readers and strangers there are."""
        return {
            "connections": len(self._connections),
            "sessions": len(self._sessions),
            "readers": self._hub.count,
            "strangers": self._guests.count,
        }

    # ---- as the watcher of the connections

    def now(self) -> float:
        """Seconds of the service's monotonic clock."""
        return self._app.clock.monotonic()

    def watch(self, connection: Connection, mask: int) -> None:
        """Call a connection when its socket is ready for what the mask says; 0 to forget it."""
        if not mask:
            self._selector.unregister(connection.sock)
            self._connections.discard(connection)
        elif connection in self._connections:
            self._selector.modify(connection.sock, mask, connection)
        else:
            self._connections.add(connection)
            self._selector.register(connection.sock, mask, connection)

    # ---- the loop

    def run(self) -> None:
        """Serve until :meth:`stop`, then tell everybody and release everything."""
        try:
            while not self._stopping.is_set():
                self._round()
            self._hub.end_all()
            for session in list(self._sessions.values()):
                session.end(1001, "The service is stopping.")
            for connection in list(self._connections):
                if isinstance(connection, WebSocket):
                    connection.end(1001, "The service is stopping.")
                else:
                    connection.finish()
            # The machine's time, which passes while the service's may stand still.
            until = time.monotonic() + GRACE_SECONDS
            while self._connections and time.monotonic() < until:
                self.step(0.05)
        finally:
            self.close()

    def _round(self) -> None:
        """A round that fails is made again: readers stay, and miss nothing."""
        try:
            self.step(TICK_SECONDS)
            self._failure = None
        except Exception as error:
            log.exception("the feeds failed, next try in %g s", AGAIN_SECONDS)
            self._failure = f"its last round failed with {type(error).__name__}"
            self._keys_changed = self._news = True
            self._stopping.wait(AGAIN_SECONDS)

    def step(self, timeout: float) -> None:
        """One round: what sockets say, new connections, news, and the time."""
        self._round_at = time.monotonic()
        for key, mask in self._selector.select(0 if self._news and not self._stopping.is_set() else timeout):
            if key.data is None:
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
            else:
                self._guarded(key.data, mask)
        while self._inbox:
            self._begin(self._inbox.popleft())
        if self._keys_changed:
            self._keys_changed = False
            self._hub.recheck()
        if self._news:
            self._news = False
            self._news = self._hub.publish() or self._news
        if self.now() >= self._next_sweep:
            self._next_sweep = self.now() + TICK_SECONDS
            self._sweep()

    def close(self) -> None:
        """Release everything; for feeds that were never run, too."""
        self._ended = True
        self._empty_inbox()
        for connection in list(self._connections):
            connection.close()
        for session in list(self._sessions.values()):
            session.close()
        self._selector.close()
        self._waker.close()
        self._woken.close()

    def _empty_inbox(self) -> None:
        with suppress(IndexError):
            while True:
                self._inbox.popleft().sock.close()

    def _sweep(self) -> None:
        now = self.now()
        timed: list[Connection | Session] = [*self._connections, *self._sessions.values()]
        for one in timed:
            if not one.closed and now >= one.due:
                one.expired()
        self._hub.sweep()

    def _guarded(self, connection: Connection, mask: int) -> None:
        try:
            connection.handle(mask)
        except Exception:
            log.exception("a connection of the feeds failed")
            connection.close()

    # ---- new connections

    def _begin(self, handed: HandedOver) -> None:
        try:
            self._answer(requests.taken(handed))
        except Exception:
            log.exception("a connection could not be taken over")
            # What was made of it so far must not stay behind a socket that is another's by then.
            for connection in [one for one in self._connections if one.sock is handed.sock]:
                connection.close()
            handed.sock.close()

    def _answer(self, taken: Taken) -> None:
        origin = taken.headers.get("origin")
        allowed = self._app.config.feed_origins
        if self._stopping.is_set():
            self._error(taken, 503, "The service is stopping.")
        elif len(self._connections) >= self._app.config.feed_connections:
            self._error(taken, 503, "Too many connections.")
        elif origin is not None and allowed and origin not in allowed:
            self._error(taken, 403, "This origin may not read the feeds.")
        elif taken.method == "OPTIONS":
            self._preflight(taken)
        elif taken.path == requests.EVENTS_PATH:
            self._event_stream(taken)
        elif "EIO" in taken.query:
            self._engine(taken)
        elif taken.upgrades and taken.feed is not None:
            if self._shake(taken):
                address = taken.address(self._app.config.trusted_proxies)
                socket = PlainSocket(self._guests, self._hub, taken, address)
                self._rest(socket, taken)
        else:
            self._error(taken, 400, "This path speaks WebSocket and Socket.IO.")

    def _shake(self, taken: Taken) -> bool:
        """Answer an opening handshake; whether it was one."""
        status, headers, reason = handshake(taken)
        if status != 101:
            self._error(taken, 400, reason)
            return False
        lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in headers)]
        lines.append(f"X-API-Version: {__version__}")
        with suppress(OSError):  # a client that has gone is found by the connection
            taken.sock.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
        return True

    def _rest(self, connection: Connection, taken: Taken) -> None:
        if taken.rest and not connection.closed:
            connection.received(taken.rest)

    def _event_stream(self, taken: Taken) -> None:
        said: dict[str, Any] = {**taken.query}
        last = taken.headers.get("last-event-id")
        if last is not None:
            said["since_seq"] = last
        feed = said.get("feed", "")
        if feed not in events.TYPES:
            self._error(taken, 400, f"feed must be one of {', '.join(events.TYPES)}.")
            return
        headers = [
            ("Content-Type", "text/event-stream; charset=utf-8"),
            *requests.cross_origin(taken.headers),
        ]
        stream = EventStream(self, self._hub, taken.sock, requests.head(200, headers, self._app.new_uuid()))
        try:
            filter, since = asked(said)
            stream.begin(self._hub.open(feed, taken.key or "", stream, filter, since))
        except Refused as refusal:
            self._refuse(stream, taken, _STATUS_OF_CODE[refusal.code], refusal.reason)
        except ApiError as error:
            self._refuse(stream, taken, 400, error.message)

    # ---- Socket.IO

    def _engine(self, taken: Taken) -> None:
        transport, sid = taken.query.get("transport"), taken.query.get("sid")
        session = self._sessions.get(sid or "")
        if taken.query["EIO"] != "4" or transport not in ("polling", "websocket"):
            self._error(taken, 400, "Engine.IO 4 is spoken here, over polling and websocket.")
        elif (transport == "websocket") != taken.upgrades:
            self._error(taken, 400, "The transport is not the one of the request.")
        elif sid is not None and session is None:
            self._error(taken, 400, "There is no session of this id.")
        elif transport == "websocket":
            self._engine_socket(taken, session)
        elif session is not None and taken.method == "POST":
            self._posted(taken, session)
        elif taken.method == "GET":
            self._polled(taken, session)
        else:
            self._error(taken, 400, "Polling is GET and POST.")

    def _engine_socket(self, taken: Taken, session: Session | None) -> None:
        if session is not None and session.socket is not None:
            self._error(taken, 400, "The session has its WebSocket.")
            return
        fresh = session is None
        session = session or self._session(taken)
        if session is None or not self._shake(taken):
            if fresh and session is not None:
                session.close()
            return
        connection = EngineSocket(session, taken.sock)
        if fresh:
            session.socket = connection
            session.open([])
        self._rest(connection, taken)

    def _posted(self, taken: Taken, session: Session) -> None:
        exchange = Exchange(self, taken.sock, PONG_SECONDS)
        if len(taken.body) > MAX_MESSAGE:
            session.close()
            self._refuse(exchange, taken, 413, f"A body holds at most {MAX_MESSAGE} bytes.")
            return
        try:
            session.posted(taken.body.decode())
        except (Malformed, UnicodeDecodeError) as error:
            session.close()
            self._refuse(exchange, taken, 400, str(error) if isinstance(error, Malformed) else "is not UTF-8")
            return
        exchange.answer(self._text("ok", taken.headers))

    def _polled(self, taken: Taken, session: Session | None) -> None:
        fresh = session is None
        session = session or self._session(taken)
        if session is None:
            return
        exchange = Exchange(self, taken.sock, POLL_SECONDS)
        if fresh:
            session.open(["websocket"])
        if not session.poll(exchange, taken.headers):
            self._refuse(exchange, taken, 400, "The session has a poll or a WebSocket already.")

    def _session(self, taken: Taken) -> Session | None:
        """A new session; None, and the refusal sent, when there are too many of nobody known."""
        address = taken.address(self._app.config.trusted_proxies)
        if not self._guests.enter(address):
            self._error(taken, 429, "Too many connections have not said who they are.")
            return None
        sid = base64.urlsafe_b64encode(self._app.random_bytes(15)).decode()
        session = self._sessions[sid] = Session(
            sid, taken, address, hub=self._hub, guests=self._guests, polled=self._text, forget=self._forget
        )
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.sid, None)

    # ---- answers

    def _text(self, body: str, headers: Mapping[str, str]) -> bytes:
        data = body.encode()
        more = [("Content-Type", "text/plain; charset=UTF-8"), ("Content-Length", str(len(data)))]
        more += requests.cross_origin(headers)
        return requests.head(200, more, self._app.new_uuid()) + data

    def _preflight(self, taken: Taken) -> None:
        headers = [
            ("Allow", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Methods", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Headers", "X-API-Key, Content-Type, Last-Event-ID"),
            ("Access-Control-Max-Age", "86400"),
            *requests.cross_origin(taken.headers),
        ]
        Exchange(self, taken.sock, PONG_SECONDS).answer(requests.head(204, headers, self._app.new_uuid()))

    def _error(self, taken: Taken, status: int, reason: str) -> None:
        self._refuse(Exchange(self, taken.sock, PONG_SECONDS), taken, status, reason)

    def _refuse(self, connection: Connection, taken: Taken, status: int, reason: str) -> None:
        more = requests.cross_origin(taken.headers)
        connection.send([requests.error(status, reason, self._error_response, more)])
        connection.finish()
