"""Socket.IO sessions: an Engine.IO session over long-polling, a WebSocket, or the one and then the other.

A session holds namespaces, each a reader of a feed of its own. On a feed's own path the namespace ``/`` is that
feed; the feeds' paths are namespaces everywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from finapi.feeds import engineio, messages, requests
from finapi.feeds.connections import TOO_MANY_WITHOUT_KEY, FeedConnection, FeedContext, Knock
from finapi.feeds.engineio import Malformed, Signal
from finapi.feeds.hub import GOING_AWAY, TOO_MANY, TRY_AGAIN_LATER, UNAUTHORIZED, FeedRefusedError, FeedSubscription
from finapi.feeds.messages import FeedMessage
from finapi.feeds.plain import BUSY, GREETING_SECONDS, MAX_HELD, filter_changed
from finapi.feeds.websocket import MAX_MESSAGE, MAX_WAITING, PING_SECONDS, PONG_SECONDS, TIMED_OUT, WebSocket
from finapi.httpd.settings import HandedOver

MAX_POLLED = 1_000_000  # characters of one answer to a poll
POLLED_PACKETS = 16  # of one answer: more than that the Python client refuses to read
MAX_NAMESPACES = 8  # joined at once; there are three feeds
COMES_BACK = (GOING_AWAY, TRY_AGAIN_LATER)  # ends after which a client is to connect again by itself

Packet = tuple[str, bytes]  # as text, for long-polling, and as a WebSocket message


class EngineSocket(WebSocket):
    """The WebSocket of a session, or one that asks to become it."""

    def __init__(self, session: EngineSession, request: HandedOver) -> None:
        super().__init__(session.context, request)
        self.session = session

    def said(self, text: str) -> None:
        """A packet."""
        self.session.heard_on_socket(self, text)

    def drained(self) -> None:
        """More of what the readers missed."""
        self.session.drained()

    def expired(self) -> None:
        """No close in time, or no upgrade: a session keeps the time of the WebSocket that is its own."""
        if self.is_open and self.session.socket is self:
            self.due = self.loop.now() + PING_SECONDS
        else:
            self.close()

    def leaving(self) -> None:
        """With its WebSocket a session ends."""
        self.context.places.unverified.leave(self)
        self.session.lost(self)


class NamespaceReader:
    """A namespace of a session: a reader of the hub."""

    def __init__(self, session: EngineSession, namespace: str) -> None:
        self.session = session
        self.namespace = namespace

    @property
    def is_open(self) -> bool:
        """Whether anybody is there to read."""
        return self.session.is_open

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        """Queue messages for sending."""
        name = self.namespace
        self.session.send([(message.packet(name), message.packet_frame(name)) for message in messages])

    def waiting(self) -> int:
        """How many messages the session has queued and not yet sent."""
        return self.session.waiting()

    def end(self, code: int, reason: str) -> None:
        """Close the session; told to leave first when it is not to come back by itself."""
        if code == UNAUTHORIZED:
            self.session.say(engineio.left(self.namespace))
        self.session.end(code, reason)


class EngineSession:
    """An Engine.IO session and its namespaces; it is forgotten when it is closed."""

    def __init__(self, context: FeedContext, request: HandedOver, sid: str) -> None:
        self.sid = sid
        self.request = request
        self.context = context
        self.loop = context.loop
        self.socket: EngineSocket | None = None
        self.closed = False
        self.due = self.loop.now() + GREETING_SECONDS
        self._queue: deque[Packet] = deque()
        # A poll that waits for its answer, and the headers of its request.
        self._poll: tuple[FeedConnection, Mapping[str, str]] | None = None
        self._candidate: EngineSocket | None = None
        self._namespaces: dict[str, FeedSubscription] = {}
        self._held: list[str] | None = None  # packets that came while a key is looked up
        self._heard = True
        self._end: tuple[int, str] | None = None
        context.sessions[sid] = self

    # ---- what is sent

    @property
    def is_open(self) -> bool:
        """Whether it may still send."""
        return not self.closed and self._end is None

    def open(self, upgrades: list[str]) -> None:
        """Send the packet that begins the session."""
        self.say(engineio.opened(self.sid, upgrades, PING_SECONDS, PONG_SECONDS, MAX_MESSAGE))

    def say(self, packet: str) -> None:
        """Queue one packet."""
        self.send([(packet, messages.text_frame(packet))])

    def send(self, packets: Sequence[Packet]) -> None:
        """Queue packets on the WebSocket, or for the next poll."""
        if self.socket is not None:
            if self.socket.is_open:
                self.socket.send([frame for _, frame in packets])
            return
        self._queue.extend(packets)
        self._answer_poll()
        if len(self._queue) > MAX_WAITING:
            self.close()

    def waiting(self) -> int:
        """How many packets are queued and not yet sent."""
        return len(self._queue if self.socket is None else self.socket.queue)

    def drained(self) -> None:
        """More of what the namespaces missed."""
        for subscription in list(self._namespaces.values()):
            subscription.hub.fill(subscription)

    # ---- what comes in

    def poll(self, connection: FeedConnection, headers: Mapping[str, str]) -> bool:
        """Answer a poll now or later; False, and the session's end, when one waits already.

        While a WebSocket asks for the session it is now: the client changes over when it has no poll open.
        """
        if self._polled or self.socket is not None:
            self.close()
            return False
        self._poll = (connection, headers)
        if self._candidate is not None and not self._queue:
            self.say(engineio.NOOP)
        self._answer_poll()
        return True

    @property
    def _polled(self) -> bool:
        """Whether a client waits for the answer to its poll."""
        return self._poll is not None and not self._poll[0].closed

    def posted(self, body: str) -> None:
        """Take the packets of a polling body; Malformed when they are not, and then the session is to be closed."""
        for packet in engineio.packets(body):
            self._packet(packet)

    def heard_on_socket(self, socket: EngineSocket, text: str) -> None:
        """A packet came over a WebSocket: of the session, or of one that asks for it."""
        if not socket.is_open:
            # Closed right behind the packet. If that was the upgrade, the session ends with the WebSocket.
            if socket is self._candidate and text == engineio.UPGRADE:
                self.socket = socket
            return
        try:
            if socket is self.socket:
                self._packet(text)
            else:
                self._probed(socket, text)
        except Malformed as error:
            socket.end(1002, str(error))

    def _probed(self, socket: EngineSocket, text: str) -> None:
        said = engineio.read(text)
        if said is Signal.PROBE and self._candidate is None and self.socket is None:
            self._candidate = socket
            socket.send([messages.text_frame(engineio.PONG + engineio.PROBE)])
            if self._polled and not self._queue:
                self.say(engineio.NOOP)  # so that the client has no poll open when it changes over
        elif said is Signal.UPGRADE and socket is self._candidate and self.socket is None:
            self.socket, self._candidate = socket, None
            self.context.places.unverified.leave(socket)
            if self._end is not None:
                self._finish(*self._end)
                return
            queued, self._queue = self._queue, deque()
            socket.send([frame for _, frame in queued])
            if self._polled:
                self._queue.append((engineio.NOOP, b""))
                self._answer_poll()
            self.drained()
        else:
            raise Malformed("unexpected packet during a transport upgrade")

    def _packet(self, packet: str) -> None:
        if self.closed:
            return
        self._heard = True
        if self._held is not None:
            self._held.append(packet)
            if sum(map(len, self._held)) > MAX_MESSAGE or len(self._held) > MAX_HELD:
                raise Malformed("too many packets before the key was checked")
            return
        said = engineio.read(packet)
        if isinstance(said, engineio.Joined):
            self._join(said.namespace, said.auth)
        elif isinstance(said, engineio.Left):
            self._leave(said.namespace)
        elif isinstance(said, engineio.Said):
            self._filter(said)
        elif said is Signal.CLOSED:
            self.end(1000, "")
        elif said not in (Signal.PONG, Signal.IGNORED):
            raise Malformed("unexpected packet")

    # ---- namespaces

    def _join(self, namespace: str, auth: Mapping[str, Any]) -> None:
        feed = requests.PATHS.get(self.request.path if namespace == "/" else namespace)
        if feed is None:
            self.say(engineio.refused(namespace, "There is no feed of this name.", 4404))
            return
        if namespace in self._namespaces or len(self._namespaces) >= MAX_NAMESPACES:
            raise Malformed("the namespace is already joined, or too many are")
        key = auth.get("token") or auth.get("apiKey") or requests.api_key(self.request)
        key = key if isinstance(key, str) else ""
        wanted = {**self.request.query, **auth}
        address = self.context.address_of(self.request)
        knock = Knock(feed, key, address, NamespaceReader(self, namespace), wanted)

        def refused(refusal: FeedRefusedError) -> None:
            self.say(engineio.refused(namespace, refusal.reason, refusal.code))
            self._go_on()

        self._held = []
        self.context.let_in(knock, lambda subscription: self._joined(namespace, subscription), refused, self.close)

    def _joined(self, namespace: str, subscription: FeedSubscription) -> None:
        if not self._namespaces:
            self.context.places.unverified.leave(self)
            self._heard = True
            self.due = self.loop.now() + PING_SECONDS
        self._namespaces[namespace] = subscription
        self.say(engineio.joined(namespace, f"{self.sid}.{subscription.feed}"))
        subscription.hub.fill(subscription)
        self._go_on()

    def _go_on(self) -> None:
        """Take the packets that came behind a key, up to the next one that is looked up."""
        held, self._held = self._held or [], None
        try:
            for packet in held:
                self._packet(packet)
        except Malformed as error:
            self.end(1002, str(error))

    def _leave(self, namespace: str) -> None:
        subscription = self._namespaces.pop(namespace, None)
        if subscription is not None:
            subscription.hub.close(subscription)
        if not self._namespaces:
            self.due = self.loop.now() + GREETING_SECONDS

    def _filter(self, said: engineio.Said) -> None:
        subscription = self._namespaces.get(said.namespace)
        if subscription is None:
            raise Malformed("the namespace has not been joined")
        value = said.values[0] if said.values and isinstance(said.values[0], dict) else {}
        answer = filter_changed(subscription, said.name, value)
        if said.ack is not None:
            self.say(engineio.acknowledged(said.namespace, said.ack, answer.text))
        else:
            subscription.reader.deliver([answer])

    # ---- time, and the end

    def expired(self) -> None:
        """Nobody joined in time, no answer to a ping; or time for one."""
        if self._held is not None and not self._namespaces:
            self.end(TRY_AGAIN_LATER, BUSY)
        elif not self._namespaces:
            self.end(UNAUTHORIZED, "No namespace was joined within 5 seconds.")
        elif not self._heard:
            self.end(TIMED_OUT, "No answer to a ping.")
        else:
            self._heard = False
            self.due = self.loop.now() + PING_SECONDS
            self.say(engineio.PING)

    def end(self, code: int, reason: str) -> None:
        """End the session: a WebSocket is closed with the code, a poll is told, or cut off to come back.

        A client that is told takes the end for final; one whose poll fails connects again by itself. One that is
        changing over to a WebSocket does first: without it the JavaScript client hangs until the next ping is overdue.
        """
        if self.closed or self._end is not None:
            return
        self._end = (code, reason)
        if self._candidate is None or code not in COMES_BACK:
            self._finish(code, reason)

    def _finish(self, code: int, reason: str) -> None:
        if self.socket is not None:
            self.socket.end(code, reason)
        elif code not in COMES_BACK:
            self._queue.append((engineio.CLOSE, b""))
            self._answer_poll()
        self.close()

    def displaced(self) -> None:
        """Go: there is no place for one more without a key."""
        self.end(TOO_MANY, TOO_MANY_WITHOUT_KEY)

    def lost(self, socket: EngineSocket) -> None:
        """A WebSocket is closed: the session's own ends it, one that had asked for it may ask again."""
        if socket is self.socket:
            self.close()
        elif socket is self._candidate:
            self._candidate = None
            if self._end is not None:
                self._finish(*self._end)

    def close(self) -> None:
        """Forget the session and its readers; twice is once."""
        if self.closed:
            return
        self.closed = True
        self.context.places.unverified.leave(self)
        for subscription in self._namespaces.values():
            subscription.hub.close(subscription)
        self._namespaces.clear()
        self._queue.clear()
        if self._poll is not None:
            self._poll[0].close()
        for one in (self.socket, self._candidate):
            if one is not None and one.is_open:
                one.close()
        self.context.sessions.pop(self.sid, None)

    def _answer_poll(self) -> None:
        if self._poll is None or self._poll[0].closed or not self._queue:
            return
        connection, headers = self._poll
        taken: list[str] = []
        size = 0
        while self._queue and len(taken) < POLLED_PACKETS:
            if taken and size + len(self._queue[0][0]) > MAX_POLLED:
                break
            packet, _ = self._queue.popleft()
            taken.append(packet)
            size += len(packet)
        self._poll = None
        connection.send_last(requests.text(engineio.body(taken), headers, self.context.app.new_uuid()))
        if self._end is None:
            self.drained()
