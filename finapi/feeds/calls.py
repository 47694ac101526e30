"""A request of the feeds: answered, or the beginning of a connection that stays."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress

from finapi import __version__
from finapi.delivery import events
from finapi.feeds import messages, requests
from finapi.feeds.connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext, Knock
from finapi.feeds.engineio import Malformed
from finapi.feeds.hub import FeedRefusedError, FeedSubscription
from finapi.feeds.plain import EventStream, PlainSocket
from finapi.feeds.sessions import EngineSession, EngineSocket
from finapi.feeds.websocket import MAX_MESSAGE, PING_SECONDS, PONG_SECONDS, handshake
from finapi.httpd import response
from finapi.httpd.loop import Connection
from finapi.httpd.settings import Asked, HandedOver

POLL_SECONDS = PING_SECONDS + PONG_SECONDS  # that a poll may wait; a session's ping ends it before
NO_MORE: Mapping[str, str] = {}


class FeedCall:
    """A request that was handed over to the feeds."""

    def __init__(self, context: FeedContext, request: HandedOver) -> None:
        self._context = context
        self._request = request

    def answer(self, closed: str) -> None:
        """Answer it, or begin what it asks for; refused when there is a reason why the feeds are ``closed``."""
        request, context = self._request, self._context
        origin = request.headers.get("origin")
        allowed = context.app.config.feed_origins
        feed = requests.PATHS.get(request.path)
        if closed:
            self._error(503, closed)
        elif len(context.places.open) >= context.places.limit:
            self._error(503, "Too many connections.")
        elif not context.places.open.enter(request.sock, context.address_of(request)):
            self._error(429, "Too many connections from this address.")
        elif origin is not None and allowed and origin not in allowed:
            self._error(403, "This origin is not allowed to read the feeds.")
        elif request.method == "OPTIONS":
            self._preflight()
        elif request.path == requests.EVENTS_PATH:
            self._event_stream()
        elif "EIO" in request.query:
            self._engine()
        elif not requests.wants_websocket(request) or feed is None:
            self._error(400, "This path takes WebSocket and Socket.IO connections.")
        elif self._shake():
            self._rest(PlainSocket(context, request, feed))

    def _shake(self) -> bool:
        """Answer an opening handshake; whether it was one."""
        status, headers, reason = handshake(self._request)
        if status != 101:
            self._error(400, reason)
            return False
        with suppress(OSError):  # a client that has gone is found by the connection
            headers = [*headers, ("X-API-Version", __version__)]
            self._request.sock.send(response.head("101 Switching Protocols", headers))
        return True

    def _rest(self, connection: Connection) -> None:
        if self._request.rest and not connection.closed:
            connection.received(self._request.rest)

    def _event_stream(self) -> None:
        request = self._request
        wanted, feed = {**request.query}, request.query.get("feed", "")
        last = request.headers.get("last-event-id")
        if last is not None:
            wanted |= messages.split_id(last)
        if feed not in events.TYPES_BY_FEED:
            self._error(400, f"feed must be one of {', '.join(events.TYPES_BY_FEED)}.")
            return
        stream = EventStream(self._context, request)

        def admitted(subscription: FeedSubscription) -> None:
            headers = [("Content-Type", "text/event-stream; charset=utf-8"), *requests.cross_origin(request.headers)]
            stream.begin(subscription, requests.head(200, headers, self._context.app.new_uuid()))

        def refused(why: FeedRefusedError) -> None:
            more = why.decision.build_headers(self._context.app.clock.now()) if why.decision else {}
            self._error(why.code - 4000, why.reason, stream, more)  # 4429 of a WebSocket is 429 of HTTP

        knock = Knock(feed, requests.api_key(request) or "", stream.address, stream, wanted)
        self._context.let_in(knock, admitted, refused, stream.close)

    # ---- Socket.IO

    def _engine(self) -> None:
        transport, sid = self._request.query.get("transport"), self._request.query.get("sid")
        session = self._context.sessions.get(sid or "")
        if self._request.query["EIO"] != "4" or transport not in ("polling", "websocket"):
            self._error(400, "Only Engine.IO 4 over polling or websocket is supported.")
        elif (transport == "websocket") != requests.wants_websocket(self._request):
            self._error(400, "The transport parameter does not match the request.")
        elif sid is not None and session is None:
            self._error(400, "Unknown session id.")
        elif session is not None and session.socket is not None and transport == "websocket":
            self._error(400, "The session already has a WebSocket.")
        elif session is not None and self._request.method == "POST":
            self._posted(session)
        elif self._request.method != "GET":
            self._error(400, "Polling takes GET and POST.")
        elif current := session or self._new_session():
            (self._upgrade if transport == "websocket" else self._poll)(current, session is None)

    def _upgrade(self, session: EngineSession, fresh: bool) -> None:
        if self._shake():
            connection = EngineSocket(session, self._request)
            if fresh:
                session.socket = connection
                session.open([])
            elif not self._context.places.unverified.enter(connection, connection.address):
                connection.displaced()
            self._rest(connection)
        elif fresh:
            session.close()

    def _posted(self, session: EngineSession) -> None:
        if len(self._request.body) > MAX_MESSAGE:
            session.close()
            self._error(413, f"A body may hold at most {MAX_MESSAGE} bytes.")
            return
        try:
            session.posted(self._request.body.decode())
        except (Malformed, UnicodeDecodeError) as error:
            session.close()
            self._error(400, str(error) if isinstance(error, Malformed) else "the body is not valid UTF-8")
            return
        self._send_last(requests.text("ok", self._request.headers, self._context.app.new_uuid()))

    def _poll(self, session: EngineSession, fresh: bool) -> None:
        connection = FeedConnection(self._context, self._request, POLL_SECONDS)
        if fresh:
            session.open(["websocket"])
        if not session.poll(connection, self._request.headers):
            self._error(400, "The session already has a pending poll or a WebSocket.", connection)

    def _new_session(self) -> EngineSession | None:
        """A new session; None, and the refusal sent, when too many have no key."""
        sid = self._new_id()
        while sid in self._context.sessions:  # drawn anew by a service that began anew
            sid = self._new_id()
        session = EngineSession(self._context, self._request, sid)
        if not self._context.places.unverified.enter(session, self._context.address_of(self._request)):
            session.close()
            self._error(429, TOO_MANY_WITHOUT_KEY)
            return None
        return session

    def _new_id(self) -> str:
        return base64.urlsafe_b64encode(self._context.app.random_bytes(15)).decode()

    # ---- answers

    def _preflight(self) -> None:
        headers = [
            ("Allow", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Methods", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Headers", "X-API-Key, Content-Type, Last-Event-ID"),
            ("Access-Control-Max-Age", "86400"),
            *requests.cross_origin(self._request.headers),
        ]
        self._send_last(requests.head(204, headers, self._context.app.new_uuid()))

    def _error(
        self, status: int, reason: str, connection: Connection | None = None, more: Mapping[str, str] = NO_MORE
    ) -> None:
        request = self._request
        asked = Asked(request.method, request.path, request.headers.get("x-request-id", ""), request.peer)
        headers, body = self._context.service.error_response(status, reason, asked)
        headers = [*headers, *more.items(), *requests.cross_origin(request.headers)]
        self._send_last(*response.last_answer(status, headers, body), connection=connection)

    def _send_last(self, *chunks: bytes, connection: Connection | None = None) -> None:
        (connection or FeedConnection(self._context, self._request)).send_last(*chunks)
