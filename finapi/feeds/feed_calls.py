"""Handling of requests for the feeds: each gets a response, or begins a connection that stays open."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress

from finapi import __version__
from finapi.delivery import events
from finapi.feeds import feed_messages, feed_requests
from finapi.feeds.engine_sessions import EngineSession, EngineSocket
from finapi.feeds.engineio import PacketError
from finapi.feeds.feed_connections import (
    EXCLUSION_SECONDS,
    HTTP_CODE_OFFSET,
    TOO_MANY_WITHOUT_KEY,
    FeedConnection,
    FeedContext,
    ReadRequest,
)
from finapi.feeds.hub import FeedRefusedError, FeedSubscription
from finapi.feeds.plain_feeds import EventStream, PlainSocket
from finapi.feeds.websocket import MAX_MESSAGE_BYTES, PING_SECONDS, PONG_SECONDS, answer_handshake
from finapi.httpd import response_heads
from finapi.httpd.loop import Connection
from finapi.httpd.settings import HandedOverRequest, RequestSummary

POLL_SECONDS = PING_SECONDS + PONG_SECONDS  # The longest wait of a poll. A ping of its session usually ends it earlier.
NO_HEADERS: Mapping[str, str] = {}


EXCLUDED = f"Too many frames came from this address. Connect again in {EXCLUSION_SECONDS:.0f} seconds."


class FeedCall:
    """A request that the HTTP server has handed over to the feeds."""

    def __init__(self, context: FeedContext, request: HandedOverRequest) -> None:
        self._context = context
        self._request = request

    def handle(self, refusal: str) -> None:
        """Answer the request or begin its connection. ``refusal`` is a reason to refuse all requests, or ""."""
        request = self._request
        places = self._context.places
        address = self._context.get_address(request)
        origin = request.headers.get("origin")
        allowed_origins = self._context.app.config.feed_origins
        feed = feed_requests.PATHS.get(request.path)
        if refusal:
            self._send_error(503, refusal)
        elif places.is_excluded(address, self._context.loop.now()):
            self._send_error(429, EXCLUDED, extra_headers={"Retry-After": f"{EXCLUSION_SECONDS:.0f}"})
        elif len(places.open) >= places.limit:
            self._send_error(503, "Too many connections.")
        elif not places.open.enter(request.sock, address):
            self._send_error(429, "Too many connections from this address.")
        elif origin is not None and allowed_origins and origin not in allowed_origins:
            self._send_error(403, "This origin is not allowed to read the feeds.")
        elif request.method == "OPTIONS":
            self._send_preflight()
        elif request.path == feed_requests.EVENTS_PATH:
            self._begin_event_stream()
        elif "EIO" in request.query:
            self._handle_engine_io()
        elif not feed_requests.is_websocket_request(request) or feed is None:
            self._send_error(400, "This path takes WebSocket and Socket.IO connections.")
        elif self._answer_handshake():
            self._pass_on_input(PlainSocket(self._context, request, feed))

    def _answer_handshake(self) -> bool:
        """Answer the opening handshake of a WebSocket. Return False if it is invalid."""
        status, headers, reason = answer_handshake(self._request)
        if status != 101:
            self._send_error(400, reason)
            return False
        headers = [*headers, ("X-API-Version", __version__)]
        with suppress(OSError):  # The connection finds out if the client has disconnected.
            self._request.sock.send(response_heads.build_head("101 Switching Protocols", headers))
        return True

    def _pass_on_input(self, connection: Connection) -> None:
        """Pass the bytes that arrived after the request on to its connection."""
        if self._request.rest and not connection.closed:
            connection.on_data(self._request.rest)

    def _begin_event_stream(self) -> None:
        request = self._request
        feed = request.query.get("feed", "")
        params = dict(request.query)
        last_event_id = request.headers.get("last-event-id")
        if last_event_id is not None:
            params |= feed_messages.parse_event_id(last_event_id)
        if feed not in events.TYPES_BY_FEED:
            self._send_error(400, f"feed must be one of {', '.join(events.TYPES_BY_FEED)}.")
            return
        stream = EventStream(self._context, request)

        def on_admitted(subscription: FeedSubscription) -> None:
            cors_headers = feed_requests.build_cors_headers(request.headers)
            headers = [("Content-Type", "text/event-stream; charset=utf-8"), *cors_headers]
            stream.start(subscription, feed_requests.build_head(200, headers, self._context.app.new_uuid()))

        def on_refused(error: FeedRefusedError) -> None:
            limit_headers: dict[str, str] = {}
            if error.decision is not None:
                app = self._context.app
                limit_headers = error.decision.build_headers(app.clock.now(), is_per_node=app.config.has_nodes)
            self._send_error(error.code - HTTP_CODE_OFFSET, error.reason, stream, limit_headers)

        key = feed_requests.find_api_key(request) or ""
        read_request = ReadRequest(feed, key, stream.address, stream, params)
        self._context.admit(read_request, on_admitted, on_refused, stream.close)

    # ---- Socket.IO

    def _handle_engine_io(self) -> None:
        transport = self._request.query.get("transport")
        sid = self._request.query.get("sid")
        session = self._context.sessions.get(sid or "")
        if self._request.query["EIO"] != "4" or transport not in ("polling", "websocket"):
            self._send_error(400, "Only Engine.IO 4 over polling or websocket is supported.")
        elif (transport == "websocket") != feed_requests.is_websocket_request(self._request):
            self._send_error(400, "The transport parameter does not match the request.")
        elif sid is not None and session is None:
            self._send_error(400, "Unknown session id.")
        elif session is not None and session.socket is not None and transport == "websocket":
            self._send_error(400, "The session already has a WebSocket.")
        elif session is not None and self._request.method == "POST":
            self._receive_body(session)
        elif self._request.method != "GET":
            self._send_error(400, "Polling takes GET and POST.")
        else:
            self._begin_transport(session, transport)

    def _begin_transport(self, session: EngineSession | None, transport: str) -> None:
        """Begin a WebSocket or a poll of a session, or of a new one."""
        is_new = session is None
        if session is None:
            session = self._create_session()
            if session is None:
                return
        if transport == "websocket":
            self._begin_socket(session, is_new)
        else:
            self._poll(session, is_new)

    def _begin_socket(self, session: EngineSession, is_new: bool) -> None:
        if self._answer_handshake():
            connection = EngineSocket(session, self._request)
            if is_new:
                session.socket = connection
                session.open([])
            elif not self._context.places.unauthenticated.enter(connection, connection.address):
                connection.make_room()
            self._pass_on_input(connection)
        elif is_new:
            session.close()

    def _receive_body(self, session: EngineSession) -> None:
        if len(self._request.body) > MAX_MESSAGE_BYTES:
            session.close()
            self._send_error(413, f"A body may hold at most {MAX_MESSAGE_BYTES} bytes.")
            return
        try:
            session.receive_body(self._request.body.decode())
        except (PacketError, UnicodeDecodeError) as error:
            session.close()
            self._send_error(400, str(error) if isinstance(error, PacketError) else "the body is not valid UTF-8")
            return
        answer = feed_requests.build_text_response("ok", self._request.headers, self._context.app.new_uuid())
        self._send_last(answer)

    def _poll(self, session: EngineSession, is_new: bool) -> None:
        connection = FeedConnection(self._context, self._request, POLL_SECONDS)
        if is_new:
            session.open(["websocket"])
        if not session.poll(connection, self._request.headers):
            self._send_error(400, "The session already has a pending poll or a WebSocket.", connection)

    def _create_session(self) -> EngineSession | None:
        """Return a new session. If there are too many without a key, send an error and return None."""
        sid = self._generate_id()
        # The random numbers of a test server repeat after a reset, so an id may be in use.
        while sid in self._context.sessions:
            sid = self._generate_id()
        session = EngineSession(self._context, self._request, sid)
        address = self._context.get_address(self._request)
        if not self._context.places.unauthenticated.enter(session, address):
            session.close()
            self._send_error(429, TOO_MANY_WITHOUT_KEY)
            return None
        return session

    def _generate_id(self) -> str:
        return base64.urlsafe_b64encode(self._context.app.random_bytes(15)).decode()

    # ---- answers

    def _send_preflight(self) -> None:
        headers = [
            ("Allow", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Methods", "GET, OPTIONS, POST"),
            ("Access-Control-Allow-Headers", "X-API-Key, Content-Type, Last-Event-ID"),
            ("Access-Control-Max-Age", "86400"),
            *feed_requests.build_cors_headers(self._request.headers),
        ]
        self._send_last(feed_requests.build_head(204, headers, self._context.app.new_uuid()))

    def _send_error(
        self,
        status: int,
        reason: str,
        connection: Connection | None = None,
        extra_headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        request = self._request
        asked = RequestSummary(request.method, request.path, request.headers.get("x-request-id", ""), request.peer)
        headers, body = self._context.service.error_response(status, reason, asked)
        headers = [*headers, *extra_headers.items(), *feed_requests.build_cors_headers(request.headers)]
        self._send_last(*response_heads.build_last_response(status, headers, body), connection=connection)

    def _send_last(self, *chunks: bytes, connection: Connection | None = None) -> None:
        """Send the answer and close the connection."""
        (connection or FeedConnection(self._context, self._request)).send_last(*chunks)
