"""The feeds as one thread: connections taken over from the HTTP server, time, and news of the journal.

One loop and no thread for each connection: all that happens between two waits happens in one order, so that limits
are counted and readers are pushed to without a lock, and a connection costs a few kilobytes instead of a stack. It is
another loop than the server's, which answers calls while news are read and pushed here.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from finapi import __version__
from finapi.accounts import users
from finapi.app import App
from finapi.delivery import events
from finapi.feeds import connections, messages, requests
from finapi.feeds.connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext, FeedPlaces, Knock
from finapi.feeds.engineio import Malformed
from finapi.feeds.hub import GOING_AWAY, TOO_MANY, FeedSubscription, Hub, Refused
from finapi.feeds.keys import KeyDesk
from finapi.feeds.plain import EventStream, PlainSocket
from finapi.feeds.sessions import EngineSession, EngineSocket
from finapi.feeds.websocket import MAX_MESSAGE, PING_SECONDS, PONG_SECONDS, WebSocket, handshake
from finapi.httpd import response
from finapi.httpd.loop import Connection, Loop
from finapi.httpd.settings import Asked, ErrorResponse, HandedOver
from finapi.httpd.shares import Places

log = logging.getLogger("finapi.feeds")

TICK_SECONDS = 1.0  # between looks at what is overdue
POLL_SECONDS = PING_SECONDS + PONG_SECONDS  # that a poll may wait; a session's ping ends it before
PATIENCE = 30.0  # that a round may take before the loop counts as one that hangs
AGAIN_SECONDS = 1.0  # after a round that failed, as when the store cannot be read
NO_MORE: Mapping[str, str] = {}
GRACE_SECONDS = 1.0  # for readers to take the last of it when the service stops
STOPPING = "The service is stopping."


class Feeds:
    """All feeds of a service. Made before it listens; :meth:`run` is the body of its thread.

    A connection whose key is found ``elsewhere`` goes on there, open as it is; ``moved`` belongs to all of them.
    """

    def __init__(
        self,
        app: App,
        error_response: ErrorResponse,
        elsewhere: connections.Elsewhere = lambda request, key: None,
        moved: dict[str, connections.Take] | None = None,
    ) -> None:
        self.loop = Loop(app.clock.monotonic, TICK_SECONDS)
        self.keys = KeyDesk(app, self.loop)  # for a worker
        self._app = app
        self._error_response = error_response
        self._hub = Hub(app)
        self._places = FeedPlaces(app.config)
        self._sessions: dict[str, EngineSession] = {}
        self._moved: dict[str, connections.Take] = {} if moved is None else moved
        self._context = FeedContext(
            app, self.loop, self._hub, self.keys, self._places, self._sessions, elsewhere, self._moved
        )
        self._inbox: deque[connections.Newcomer] = deque()
        self._news = True
        self._keys_changed = False
        self._stopping = threading.Event()
        self._why, self._grace = STOPPING, GRACE_SECONDS
        self.told = threading.Event()  # everybody, that it stops
        self._ended = False
        self._round_at: float | None = None
        self._failure: str | None = None
        app.accounts.listen(events.TOPIC, self._has_news)
        app.accounts.listen(users.KEYS, self._has_changed_keys)

    # ---- from other threads

    @staticmethod
    def wants(method: str, path: str, accept: str) -> bool:
        """Whether a request is the feeds' own, by its path and ``Accept``."""
        return requests.are_feeds(method, path, accept)

    def take(self, newcomer: connections.Newcomer) -> None:
        """Take over a connection, or what another service has had so far; it belongs to the feeds from here on."""
        if len(self._inbox) >= self._places.limit:  # the loop hangs
            self._drop(newcomer)
            return
        self._inbox.append(newcomer)
        if self._ended:  # looked at after the append: either this or close() finds what is in the inbox
            self._empty_inbox()
        self.loop.wake()

    def adopt(self, mover: connections.Mover, go_on: connections.GoOn) -> None:
        """Take over what another service has had so far, and have it go on; called in that one's loop."""
        if self._stopping.is_set():
            mover.end(GOING_AWAY, self._why)
        else:
            mover.depart(self.take)
            self.take((mover, go_on))

    def end_readers(self, code: int, reason: str) -> None:
        """Close everybody who reads, who may come back."""
        self.loop.call_soon(lambda: self._hub.end_all(code, reason))

    def stop(self, why: str = STOPPING, grace: float = GRACE_SECONDS) -> None:
        """Make :meth:`run` return, when readers have been told why and have closed too, or after ``grace`` seconds.

        From :attr:`told` on it reads the store no more. Asked twice, the first reason and the shorter time hold.
        """
        if not self._stopping.is_set():
            self._why = why
        self._grace = min(grace, self._grace)
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

    def _has_news(self) -> None:
        self._news = True
        self.loop.wake()

    def _has_changed_keys(self) -> None:
        self.keys.changed()
        self._keys_changed = True
        self.loop.wake()

    def readers(self) -> dict[tuple[str, ...], float]:
        """How many readers each feed has."""
        return {(feed,): float(number) for feed, number in self._hub.readers.items()}

    # ---- the loop

    def run(self) -> None:
        """Serve until :meth:`stop`, then tell everybody and release everything."""
        try:
            while not self._stopping.is_set():
                self._round()
            self._tell_the_end()
            self.told.set()
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
        self._hub.end_all(GOING_AWAY, self._why)
        for session in list(self._sessions.values()):
            session.end(GOING_AWAY, self._why)
        for connection in list(self.loop.connections):
            if isinstance(connection, EngineSocket) and not connection.session.closed:
                continue  # its client is changing over to it; then it ends with the session
            if isinstance(connection, WebSocket):
                connection.end(GOING_AWAY, self._why)
            else:
                connection.finish()

    def _unlisten(self) -> None:
        self._app.accounts.unlisten(events.TOPIC, self._has_news)
        self._app.accounts.unlisten(users.KEYS, self._has_changed_keys)

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
        overdue = self.loop.step(0 if self._news and not self._stopping.is_set() else timeout)
        self._take_in()
        if self._keys_changed:
            self._keys_changed = False
            asked = self._hub.keys()
            self.keys.ask(lambda: self.keys.callers(asked), partial(self._hub.recheck, asked), self._cannot_recheck)
        if self._news:
            self._news = False
            self._news = self._hub.publish() or self._news
        if overdue:
            for session in list(self._sessions.values()):
                if not session.closed and self.loop.now() >= session.due:
                    session.expired()
            self._hub.sweep()

    def _cannot_recheck(self) -> None:
        raise RuntimeError("the readers' keys could not be looked up again")  # and the round is made again

    def close(self) -> None:
        """Release everything; for feeds that were never run, too."""
        self._ended = True
        self.told.set()
        self._unlisten()
        self._empty_inbox()
        self.loop.close()
        for session in list(self._sessions.values()):
            session.close()

    def _empty_inbox(self) -> None:
        with suppress(IndexError):
            while True:
                self._drop(self._inbox.popleft())

    # ---- new connections

    def _take_in(self) -> None:
        while self._inbox:
            newcomer = self._inbox.popleft()
            try:
                if isinstance(newcomer, HandedOver):
                    self._answer(newcomer)
                else:
                    self._welcome(*newcomer)
            except Exception:
                log.exception("a connection could not be taken over")
                self._drop(newcomer)

    def _drop(self, newcomer: connections.Newcomer) -> None:
        if not isinstance(newcomer, HandedOver):
            newcomer[0].close()
            return
        # What was made of it so far must not stay behind a socket that is another's by then.
        for connection in [one for one in list(self.loop.connections) if one.sock is newcomer.sock]:
            connection.close()
        self._places.open.leave(newcomer.sock)
        newcomer.sock.close()

    def _welcome(self, mover: connections.Mover, go_on: connections.GoOn) -> None:
        placed = mover.arrive(self._context)
        if self._stopping.is_set():
            mover.end(GOING_AWAY, self._why)
        elif not placed:
            mover.end(TOO_MANY, "Too many connections.")
        else:
            go_on(self._context)

    def _answer(self, request: HandedOver) -> None:
        origin = request.headers.get("origin")
        allowed = self._app.config.feed_origins
        feed = requests.PATHS.get(request.path)
        if self._stopping.is_set():
            self._error(request, 503, self._why)
        elif len(self._places.open) >= self._places.limit:
            self._error(request, 503, "Too many connections.")
        elif not self._places.open.enter(request.sock, self._context.address_of(request)):
            self._error(request, 429, "Too many connections from this address.")
        elif origin is not None and allowed and origin not in allowed:
            self._error(request, 403, "This origin is not allowed to read the feeds.")
        elif request.method == "OPTIONS":
            self._preflight(request)
        elif request.path == requests.EVENTS_PATH:
            self._event_stream(request)
        elif "EIO" in request.query:
            self._engine(request)
        elif not requests.wants_websocket(request) or feed is None:
            self._error(request, 400, "This path takes WebSocket and Socket.IO connections.")
        elif self._shake(request):
            self._rest(PlainSocket(self._context, request, feed), request)

    def _shake(self, request: HandedOver) -> bool:
        """Answer an opening handshake; whether it was one."""
        status, headers, reason = handshake(request)
        if status != 101:
            self._error(request, 400, reason)
            return False
        with suppress(OSError):  # a client that has gone is found by the connection
            request.sock.send(response.head("101 Switching Protocols", [*headers, ("X-API-Version", __version__)]))
        return True

    def _rest(self, connection: Connection, request: HandedOver) -> None:
        if request.rest and not connection.closed:
            connection.received(request.rest)

    def _event_stream(self, request: HandedOver) -> None:
        wanted, feed = {**request.query}, request.query.get("feed", "")
        last = request.headers.get("last-event-id")
        if last is not None:
            wanted |= messages.split_id(last)
        if feed not in events.TYPES:
            self._error(request, 400, f"feed must be one of {', '.join(events.TYPES)}.")
            return
        stream = EventStream(self._context, request)

        def admitted(subscription: FeedSubscription) -> None:
            headers = [("Content-Type", "text/event-stream; charset=utf-8"), *requests.cross_origin(request.headers)]
            stream.begin(subscription, requests.head(200, headers, self._app.new_uuid()))

        def refused(why: Refused) -> None:
            more = why.decision.headers(self._app.clock.now()) if why.decision else {}
            self._error(request, why.code - 4000, why.reason, stream, more)  # 4429 of a WebSocket is 429 of HTTP

        knock = Knock(feed, requests.api_key(request) or "", stream.address, stream, wanted)
        self._context.let_in(knock, admitted, refused, stream.close)

    # ---- Socket.IO

    def _engine(self, request: HandedOver) -> None:
        transport, sid = request.query.get("transport"), request.query.get("sid")
        session = self._sessions.get(sid or "")
        take = self._moved.get(sid or "") if session is None else None
        if request.query["EIO"] != "4" or transport not in ("polling", "websocket"):
            self._error(request, 400, "Only Engine.IO 4 over polling or websocket is supported.")
        elif (transport == "websocket") != requests.wants_websocket(request):
            self._error(request, 400, "The transport parameter does not match the request.")
        elif take is not None:  # it left while this request was on its way
            self._places.open.leave(request.sock)
            take(request)
        elif sid is not None and session is None:
            self._error(request, 400, "Unknown session id.")
        elif session is not None and session.socket is not None and transport == "websocket":
            self._error(request, 400, "The session already has a WebSocket.")
        elif session is not None and request.method == "POST":
            self._posted(request, session)
        elif request.method != "GET":
            self._error(request, 400, "Polling takes GET and POST.")
        elif current := session or self._new_session(request):
            (self._upgrade if transport == "websocket" else self._poll)(request, current, session is None)

    def _upgrade(self, request: HandedOver, session: EngineSession, fresh: bool) -> None:
        if self._shake(request):
            connection = EngineSocket(session, request)
            if fresh:
                session.socket = connection
                session.open([])
            elif not self._places.unverified.enter(connection, connection.address):
                connection.displaced()
            self._rest(connection, request)
        elif fresh:
            session.close()

    def _posted(self, request: HandedOver, session: EngineSession) -> None:
        if len(request.body) > MAX_MESSAGE:
            session.close()
            self._error(request, 413, f"A body may hold at most {MAX_MESSAGE} bytes.")
            return
        try:
            session.posted(request.body.decode())
        except (Malformed, UnicodeDecodeError) as error:
            session.close()
            self._error(request, 400, str(error) if isinstance(error, Malformed) else "the body is not valid UTF-8")
            return
        self._send_last(request, requests.text("ok", request.headers, self._app.new_uuid()))

    def _poll(self, request: HandedOver, session: EngineSession, fresh: bool) -> None:
        connection = FeedConnection(self._context, request, POLL_SECONDS)
        if fresh:
            session.open(["websocket"])
        if not session.poll(connection, request.headers):
            self._error(request, 400, "The session already has a pending poll or a WebSocket.", connection)

    def _new_session(self, request: HandedOver) -> EngineSession | None:
        """A new session; None, and the refusal sent, when too many have no key."""
        sid = self._new_id()
        while sid in self._sessions or sid in self._moved:  # drawn anew by a service that began anew
            sid = self._new_id()
        session = EngineSession(self._context, request, sid)
        if not self._places.unverified.enter(session, self._context.address_of(request)):
            session.close()
            self._error(request, 429, TOO_MANY_WITHOUT_KEY)
            return None
        return session

    def _new_id(self) -> str:
        return base64.urlsafe_b64encode(self._app.random_bytes(15)).decode()

    # ---- answers

    def _preflight(self, request: HandedOver) -> None:
        headers = [
            ("Allow", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Methods", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Headers", "X-API-Key, Content-Type, Last-Event-ID"),
            ("Access-Control-Max-Age", "86400"),
            *requests.cross_origin(request.headers),
        ]
        self._send_last(request, requests.head(204, headers, self._app.new_uuid()))

    def _error(
        self,
        request: HandedOver,
        status: int,
        reason: str,
        connection: Connection | None = None,
        more: Mapping[str, str] = NO_MORE,
    ) -> None:
        asked = Asked(request.method, request.path, request.headers.get("x-request-id", ""), request.peer)
        headers, body = self._error_response(status, reason, asked)
        headers = [*headers, *more.items(), *requests.cross_origin(request.headers)]
        self._send_last(request, *response.last_answer(status, headers, body), connection=connection)

    def _send_last(self, request: HandedOver, *chunks: bytes, connection: Connection | None = None) -> None:
        (connection or FeedConnection(self._context, request)).send_last(*chunks)
