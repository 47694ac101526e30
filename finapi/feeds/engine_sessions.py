"""Socket.IO sessions over long-polling, over a WebSocket, or over long-polling first and a WebSocket later.

A session contains namespaces, each of which reads one feed. The paths of the feeds are the names of the namespaces. On
the path of a feed the namespace ``/`` is that feed, too.

A client that changes from long-polling to a WebSocket (an *upgrade*) does so in four steps:

1. It opens a WebSocket for the session and sends a probe. The WebSocket becomes the *candidate*, and answers the probe.
2. The session answers a pending poll with a noop packet, so that the client has no poll open.
3. The client sends an upgrade packet over the candidate, which becomes the socket of the session.
4. Queued packets are sent over the socket. Polls are refused from now on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from finapi.feeds import engineio, feed_messages, feed_requests
from finapi.feeds.engineio import PacketError, Signal
from finapi.feeds.feed_connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext, ReadRequest
from finapi.feeds.feed_messages import FeedMessage
from finapi.feeds.hub import GOING_AWAY, TOO_MANY, TRY_AGAIN_LATER, UNAUTHORIZED, FeedRefusedError, FeedSubscription
from finapi.feeds.plain_feeds import BUSY_MESSAGE, KEY_SECONDS, MAX_PENDING, change_filter
from finapi.feeds.websocket import (
    MAX_MESSAGE_BYTES,
    MAX_WAITING,
    PING_SECONDS,
    PONG_SECONDS,
    TIMED_OUT,
    WebSocket,
)
from finapi.httpd.settings import HandedOverRequest

MAX_POLL_LENGTH = 1_000_000  # Characters of the response to a poll.
MAX_POLL_PACKETS = 16  # Packets in the response to a poll. The Python client refuses more.
MAX_NAMESPACES = 8  # Namespaces that a session may join. There are three feeds.
RECONNECT_CODES = (GOING_AWAY, TRY_AGAIN_LATER)  # Close codes after which a client should reconnect by itself.
PROTOCOL_ERROR = 1002


class EncodedPacket(NamedTuple):
    """A packet as a text for long-polling, and as a WebSocket frame."""

    text: str
    frame: bytes


class _Poll(NamedTuple):
    """A poll, and the headers of its request."""

    connection: FeedConnection
    headers: Mapping[str, str]


class EngineSocket(WebSocket):
    """The WebSocket of a session, or a candidate for it."""

    def __init__(self, session: EngineSession, request: HandedOverRequest) -> None:
        super().__init__(session.context, request)
        self.session = session

    def on_text(self, text: str) -> None:
        """Handle a packet."""
        self.session.receive_on_socket(self, text)

    def on_drained(self) -> None:
        """Queue further messages, because all queued ones were sent."""
        self.session.drained()

    def on_deadline(self) -> None:
        """Close a candidate that did not become the socket, or a client that did not close, in time.

        The session itself watches the time of its socket.
        """
        if self.is_open and self.session.socket is self:
            self.due = self.loop.now() + PING_SECONDS
        else:
            self.close()

    def on_closing(self) -> None:
        """End the session if this is its socket."""
        self.context.places.unauthenticated.leave(self)
        self.session.on_socket_closed(self)


class NamespaceReader:
    """A namespace of a session as a reader of the hub."""

    def __init__(self, session: EngineSession, namespace: str) -> None:
        self.session = session
        self.namespace = namespace

    @property
    def is_open(self) -> bool:
        """Return True if messages may be sent."""
        return self.session.is_open

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        namespace = self.namespace
        packets = [
            EncodedPacket(message.to_packet(namespace), message.to_packet_frame(namespace)) for message in messages
        ]
        self.session.send(packets)

    def waiting(self) -> int:
        """Return the number of queued messages of the session that have not been sent."""
        return self.session.waiting()

    def end(self, code: int, reason: str) -> None:
        """Close the session. If the key became invalid, remove the client first, so that it does not reconnect."""
        if code == UNAUTHORIZED:
            self.session.send_packet(engineio.build_disconnect(self.namespace))
        self.session.end(code, reason)


class EngineSession:
    """An Engine.IO session with its namespaces."""

    def __init__(self, context: FeedContext, request: HandedOverRequest, sid: str) -> None:
        self.sid = sid
        self.request = request
        self.context = context
        self.loop = context.loop
        self.socket: EngineSocket | None = None
        self.closed = False
        self.due = self.loop.now() + KEY_SECONDS
        # Packets for the next poll.
        self._queue: deque[EncodedPacket] = deque()
        self._poll: _Poll | None = None
        self._candidate: EngineSocket | None = None
        self._namespaces: dict[str, FeedSubscription] = {}
        # Packets to handle after the look-up of a key. None if no key is being looked up.
        self._pending: list[str] | None = None
        self._has_answered = True  # False from a ping until the client's answer.
        # The close code and the reason. None until the session is to end.
        self._end: tuple[int, str] | None = None
        context.sessions[sid] = self

    # ---- output

    @property
    def is_open(self) -> bool:
        """Return True if packets may be sent."""
        return not self.closed and self._end is None

    def open(self, upgrades: list[str]) -> None:
        """Send the packet that begins the session. ``upgrades`` are the transports that the client may change to."""
        packet = engineio.build_open(self.sid, upgrades, PING_SECONDS, PONG_SECONDS, MAX_MESSAGE_BYTES)
        self.send_packet(packet)

    def send_packet(self, packet: str) -> None:
        """Queue one packet."""
        self.send([EncodedPacket(packet, feed_messages.encode_text_frame(packet))])

    def send(self, packets: Sequence[EncodedPacket]) -> None:
        """Queue packets on the WebSocket, or for the next poll."""
        if self.socket is not None:
            if self.socket.is_open:
                self.socket.send([packet.frame for packet in packets])
            return
        self._queue.extend(packets)
        self._answer_poll()
        if len(self._queue) > MAX_WAITING:
            self.close()

    def waiting(self) -> int:
        """Return the number of queued packets that have not been sent."""
        return len(self._queue if self.socket is None else self.socket.queue)

    def drained(self) -> None:
        """Queue further messages of all namespaces, because the queued ones were sent."""
        for subscription in list(self._namespaces.values()):
            subscription.hub.fill(subscription)

    def _answer_poll(self) -> None:
        if self._poll is None or self._poll.connection.closed or not self._queue:
            return
        connection, headers = self._poll
        packets: list[str] = []
        length = 0
        while self._queue and len(packets) < MAX_POLL_PACKETS:
            if packets and length + len(self._queue[0].text) > MAX_POLL_LENGTH:
                break
            packet = self._queue.popleft().text
            packets.append(packet)
            length += len(packet)
        self._poll = None
        body = engineio.join_packets(packets)
        connection.send_last(feed_requests.build_text_response(body, headers, self.context.app.new_uuid()))
        if self._end is None:
            self.drained()

    # ---- input

    def poll(self, connection: FeedConnection, headers: Mapping[str, str]) -> bool:
        """Answer a poll as soon as there are packets. If another poll is open, end the session and return False.

        During an upgrade it is answered immediately, because the client completes the upgrade only without an open
        poll.
        """
        if self._has_open_poll or self.socket is not None:
            self.close()
            return False
        self._poll = _Poll(connection, headers)
        if self._candidate is not None and not self._queue:
            self.send_packet(engineio.NOOP)
        self._answer_poll()
        return True

    @property
    def _has_open_poll(self) -> bool:
        return self._poll is not None and not self._poll.connection.closed

    def receive_body(self, body: str) -> None:
        """Handle the packets of a polling body.

        Raise PacketError if one is invalid, after which the caller closes the session.
        """
        for packet in engineio.split_packets(body):
            self._receive(packet)

    def receive_on_socket(self, socket: EngineSocket, text: str) -> None:
        """Handle a packet that arrived over the WebSocket of the session or over another one."""
        if not socket.is_open:
            # The client closed right after the packet. If it was the upgrade, the session ends with the WebSocket.
            if socket is self._candidate and text == engineio.UPGRADE:
                self.socket = socket
            return
        try:
            if socket is self.socket:
                self._receive(text)
            else:
                self._receive_upgrade_packet(socket, text)
        except PacketError as error:
            socket.end(PROTOCOL_ERROR, str(error))

    def _receive_upgrade_packet(self, socket: EngineSocket, text: str) -> None:
        packet = engineio.parse_packet(text)
        if packet is Signal.PROBE and self._candidate is None and self.socket is None:
            self._candidate = socket
            socket.send([feed_messages.encode_text_frame(engineio.PONG + engineio.PROBE)])
            if self._has_open_poll and not self._queue:
                self.send_packet(engineio.NOOP)
        elif packet is Signal.UPGRADE and socket is self._candidate and self.socket is None:
            self._upgrade(socket)
        else:
            raise PacketError("unexpected packet during a transport upgrade")

    def _upgrade(self, socket: EngineSocket) -> None:
        """Make the candidate the socket of the session."""
        self.socket = socket
        self._candidate = None
        self.context.places.unauthenticated.leave(socket)
        if self._end is not None:
            self._finish(*self._end)
            return
        queued = list(self._queue)
        self._queue.clear()
        socket.send([packet.frame for packet in queued])
        if self._has_open_poll:
            self._queue.append(EncodedPacket(engineio.NOOP, b""))
            self._answer_poll()
        self.drained()

    def _receive(self, text: str) -> None:
        if self.closed:
            return
        self._has_answered = True
        if self._pending is not None:
            self._pending.append(text)
            if sum(map(len, self._pending)) > MAX_MESSAGE_BYTES or len(self._pending) > MAX_PENDING:
                raise PacketError("too many packets before the key was checked")
            return
        packet = engineio.parse_packet(text)
        if isinstance(packet, engineio.ConnectPacket):
            self._join(packet.namespace, packet.auth)
        elif isinstance(packet, engineio.DisconnectPacket):
            self._leave(packet.namespace)
        elif isinstance(packet, engineio.EventPacket):
            self._change_filter(packet)
        elif packet is Signal.CLOSED:
            self.end(1000, "")
        elif packet not in (Signal.PONG, Signal.IGNORED):
            raise PacketError("unexpected packet")

    # ---- namespaces

    def _join(self, namespace: str, auth: Mapping[str, Any]) -> None:
        feed = feed_requests.PATHS.get(self.request.path if namespace == "/" else namespace)
        if feed is None:
            self.send_packet(engineio.build_connect_error(namespace, "There is no feed of this name.", 4404))
            return
        if namespace in self._namespaces or len(self._namespaces) >= MAX_NAMESPACES:
            raise PacketError("the namespace is already joined, or too many namespaces are joined")
        key = auth.get("token") or auth.get("apiKey") or feed_requests.find_api_key(self.request)
        request = ReadRequest(
            feed=feed,
            key=key if isinstance(key, str) else "",
            address=self.context.get_address(self.request),
            reader=NamespaceReader(self, namespace),
            params={**self.request.query, **auth},
        )

        def on_refused(error: FeedRefusedError) -> None:
            self.send_packet(engineio.build_connect_error(namespace, error.reason, error.code))
            self._receive_pending()

        self._pending = []
        self.context.admit(
            request, lambda subscription: self._on_joined(namespace, subscription), on_refused, self.close
        )

    def _on_joined(self, namespace: str, subscription: FeedSubscription) -> None:
        if not self._namespaces:
            self.context.places.unauthenticated.leave(self)
            self._has_answered = True
            self.due = self.loop.now() + PING_SECONDS
        self._namespaces[namespace] = subscription
        self.send_packet(engineio.build_connect(namespace, f"{self.sid}.{subscription.feed}"))
        subscription.hub.fill(subscription)
        self._receive_pending()

    def _receive_pending(self) -> None:
        """Handle the packets that waited for the look-up of a key, until the next one that has to wait."""
        pending = self._pending or []
        self._pending = None
        try:
            for packet in pending:
                self._receive(packet)
        except PacketError as error:
            self.end(PROTOCOL_ERROR, str(error))

    def _leave(self, namespace: str) -> None:
        subscription = self._namespaces.pop(namespace, None)
        if subscription is not None:
            subscription.hub.unsubscribe(subscription)
        if not self._namespaces:
            self.due = self.loop.now() + KEY_SECONDS

    def _change_filter(self, packet: engineio.EventPacket) -> None:
        subscription = self._namespaces.get(packet.namespace)
        if subscription is None:
            raise PacketError("the namespace has not been joined")
        params = packet.values[0] if packet.values and isinstance(packet.values[0], dict) else {}
        reply = change_filter(subscription, packet.name, params)
        if packet.ack is not None:
            self.send_packet(engineio.build_ack(packet.namespace, packet.ack, reply.text))
        else:
            subscription.reader.deliver([reply])

    # ---- time and end

    def handle_timer(self) -> None:
        """Send a ping. End the session if no namespace was joined or the last ping was not answered in time."""
        if self._pending is not None and not self._namespaces:
            self.end(TRY_AGAIN_LATER, BUSY_MESSAGE)
        elif not self._namespaces:
            self.end(UNAUTHORIZED, "No namespace was joined within 5 seconds.")
        elif not self._has_answered:
            self.end(TIMED_OUT, "No answer to a ping.")
        else:
            self._has_answered = False
            self.due = self.loop.now() + PING_SECONDS
            self.send_packet(engineio.PING)

    def end(self, code: int, reason: str) -> None:
        """End the session: close its WebSocket with the code, send a close packet, or break off its poll.

        A client that gets a close packet does not reconnect. If its poll breaks off, it reconnects by itself. So the
        poll is broken off for ``RECONNECT_CODES``. During an upgrade the session ends only after the upgrade, because
        the JavaScript client would otherwise hang until its next ping is overdue.
        """
        if self.closed or self._end is not None:
            return
        self._end = (code, reason)
        if self._candidate is None or code not in RECONNECT_CODES:
            self._finish(code, reason)

    def _finish(self, code: int, reason: str) -> None:
        if self.socket is not None:
            self.socket.end(code, reason)
        elif code not in RECONNECT_CODES:
            self._queue.append(EncodedPacket(engineio.CLOSE, b""))
            self._answer_poll()
        self.close()

    def make_room(self) -> None:
        """End the session, because another one without a key takes its place."""
        self.end(TOO_MANY, TOO_MANY_WITHOUT_KEY)

    def on_socket_closed(self, socket: EngineSocket) -> None:
        """End the session if the WebSocket was its own. If it was the candidate, there may be another one."""
        if socket is self.socket:
            self.close()
        elif socket is self._candidate:
            self._candidate = None
            if self._end is not None:
                self._finish(*self._end)

    def close(self) -> None:
        """Close the connections and end the subscriptions of the session, unless it is closed already."""
        if self.closed:
            return
        self.closed = True
        self.context.places.unauthenticated.leave(self)
        for subscription in self._namespaces.values():
            subscription.hub.unsubscribe(subscription)
        self._namespaces.clear()
        self._queue.clear()
        if self._poll is not None:
            self._poll.connection.close()
        for socket in (self.socket, self._candidate):
            if socket is not None and socket.is_open:
                socket.close()
        self.context.sessions.pop(self.sid, None)
