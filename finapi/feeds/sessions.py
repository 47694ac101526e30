"""Socket.IO sessions: an Engine.IO session over long-polling, a WebSocket, or the one and then the other.

A session holds namespaces, each a reader of a feed of its own. On a feed's own path the namespace ``/`` is that
feed; the feeds' paths are namespaces everywhere.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from finapi.errors import ApiError
from finapi.feeds import engineio, messages
from finapi.feeds.connections import Connection, Watcher
from finapi.feeds.engineio import Malformed
from finapi.feeds.guests import Guests
from finapi.feeds.hub import GOING_AWAY, TRY_AGAIN_LATER, UNAUTHORIZED, Hub, Refused, Subscription
from finapi.feeds.messages import Message
from finapi.feeds.plain import GREETING_SECONDS, asked, changed
from finapi.feeds.requests import PATHS, Taken
from finapi.feeds.websocket import MAX_MESSAGE, PING_SECONDS, PONG_SECONDS, TIMED_OUT, WebSocket

MAX_POLLED = 1_000_000  # characters of one answer to a poll
POLLED_PACKETS = 16  # of one answer: more than that the Python client refuses to read
MAX_NAMESPACES = 8  # joined at once; there are three feeds
MAX_WAITING = 1_200  # packets of a session; a hub queues no more than 400 for each namespace

# A packet as text, for long-polling, and as a WebSocket message.
Packet = tuple[str, bytes]


class EngineSocket(WebSocket):
    """The WebSocket of a session, or one that asks to become it."""

    def __init__(self, session: Session, sock: socket.socket) -> None:
        super().__init__(session.watcher, sock)
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
            self.due = self.watcher.now() + PING_SECONDS
        else:
            self.close()

    def leaving(self) -> None:
        """With its WebSocket a session ends."""
        self.session.lost(self)

    def gone(self) -> None:
        """With its WebSocket a session ends."""
        self.session.lost(self)


class Exchange(Connection):
    """One request of long-polling: answered at once or, a poll, when there is something to say."""

    def __init__(self, watcher: Watcher, sock: socket.socket, seconds: float) -> None:
        super().__init__(watcher, sock)
        self.due = watcher.now() + seconds
        self.on_gone: Callable[[], None] | None = None

    def answer(self, whole: bytes) -> None:
        """Answer and close."""
        self.send([whole])
        self.finish()

    def gone(self) -> None:
        """The client gave up, or has its answer."""
        if self.on_gone is not None:
            self.on_gone()


class Member:
    """A namespace of a session: a reader of the hub."""

    def __init__(self, session: Session, namespace: str) -> None:
        self.session = session
        self.namespace = namespace
        self.subscription: Subscription | None = None

    def deliver(self, messages: Sequence[Message]) -> None:
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


class Session:
    """An Engine.IO session and its namespaces."""

    def __init__(
        self,
        sid: str,
        taken: Taken,
        address: str,
        *,
        hub: Hub,
        guests: Guests,
        polled: Callable[[str, Mapping[str, str]], bytes],
        forget: Callable[[Session], None],
    ) -> None:
        self.sid = sid
        self.watcher = guests.watcher
        self.socket: EngineSocket | None = None
        self.closed = False
        self.due = self.watcher.now() + GREETING_SECONDS
        self._taken = taken
        self._address = address
        self._hub = hub
        self._guests = guests
        self._polled = polled
        self._forget = forget
        self._queue: deque[Packet] = deque()
        self._poll: tuple[Exchange, Mapping[str, str]] | None = None
        self._candidate: EngineSocket | None = None
        self._members: dict[str, Member] = {}
        self._stranger = True  # counted by whoever made the session
        self._heard = True
        self._ending = False

    # ---- what is sent

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
        for member in list(self._members.values()):
            if member.subscription is not None:
                self._hub.fill(member.subscription)

    # ---- what comes in

    def poll(self, exchange: Exchange, headers: Mapping[str, str]) -> bool:
        """Answer a poll now or later; False, and the session's end, when one waits already."""
        if self._poll is not None or self.socket is not None:
            self.close()
            return False
        self._poll = (exchange, headers)
        exchange.on_gone = lambda: self._poll_gone(exchange)
        self._answer_poll()
        return True

    def posted(self, body: str) -> None:
        """The packets of a polling body; Malformed, and the session's end, when they are not."""
        try:
            for packet in engineio.packets(body):
                self._packet(packet)
        except Malformed:
            self.close()
            raise

    def heard_on_socket(self, socket: EngineSocket, text: str) -> None:
        """A packet came over a WebSocket: of the session, or of one that asks for it."""
        try:
            if socket is self.socket:
                self._packet(text)
            else:
                self._probed(socket, text)
        except Malformed as error:
            socket.end(1002, str(error))

    def _probed(self, socket: EngineSocket, text: str) -> None:
        said = engineio.read(text)
        if isinstance(said, engineio.Probe) and self._candidate is None and self.socket is None:
            self._candidate = socket
            socket.send([messages.text_frame(engineio.PONG + engineio.PROBE)])
            if self._poll is not None and not self._queue:
                self.say(engineio.NOOP)  # so that the client has no poll open when it changes over
        elif isinstance(said, engineio.Upgrade) and socket is self._candidate and self.socket is None:
            queued, self._queue = self._queue, deque()
            if self._poll is not None:
                self._queue.append((engineio.NOOP, b""))
                self._answer_poll()
            self.socket = socket
            socket.send([frame for _, frame in queued])
            self.drained()
        else:
            raise Malformed("is not what a WebSocket that takes over may say")

    def _packet(self, packet: str) -> None:
        if self.closed:
            return
        self._heard = True
        said = engineio.read(packet)
        if isinstance(said, engineio.Joined):
            self._join(said.namespace, said.auth)
        elif isinstance(said, engineio.Left):
            self._leave(said.namespace)
        elif isinstance(said, engineio.Said):
            self._filter(said)
        elif isinstance(said, engineio.Closed):
            self.end(1000, "")
        elif not isinstance(said, engineio.Pong | engineio.Ignored):
            raise Malformed("is not what a session may say")

    # ---- namespaces

    def _join(self, namespace: str, auth: Mapping[str, Any]) -> None:
        feed = self._taken.feed if namespace == "/" else PATHS.get(namespace)
        if feed is None:
            self.say(engineio.refused(namespace, "There is no feed of this name.", 4404))
            return
        if namespace in self._members or len(self._members) >= MAX_NAMESPACES:
            raise Malformed("joins a namespace twice")
        key = auth.get("token") or auth.get("apiKey") or self._taken.key
        member = Member(self, namespace)
        try:
            filter, since = asked({**self._taken.query, **auth})
            subscription = self._hub.open(feed, key if isinstance(key, str) else "", member, filter, since)
        except Refused as refusal:
            self.say(engineio.refused(namespace, refusal.reason, refusal.code))
            return
        except ApiError as error:
            self.say(engineio.refused(namespace, error.message, 4400))
            return
        if not self._members:
            self._no_stranger()
            self._heard = True
            self.due = self.watcher.now() + PING_SECONDS
        member.subscription, self._members[namespace] = subscription, member
        self.say(engineio.joined(namespace, f"{self.sid}.{feed}"))
        self._hub.fill(subscription)

    def _leave(self, namespace: str) -> None:
        member = self._members.pop(namespace, None)
        if member is not None and member.subscription is not None:
            self._hub.close(member.subscription)
        if not self._members:
            self.due = self.watcher.now() + GREETING_SECONDS

    def _filter(self, said: engineio.Said) -> None:
        member = self._members.get(said.namespace)
        if member is None or member.subscription is None:
            raise Malformed("speaks in a namespace that it has not joined")
        value = said.values[0] if said.values and isinstance(said.values[0], dict) else {}
        try:
            lists = changed(member.subscription, said.name, value)
        except ApiError as error:
            answer = messages.wrong(error)
        else:
            answer = messages.told("subscribed", lists)
        if said.ack is not None:
            self.say(engineio.acknowledged(said.namespace, said.ack, answer.text))
        else:
            member.deliver([answer])

    # ---- time, and the end

    def expired(self) -> None:
        """Nobody joined in time, no answer to a ping; or time for one."""
        if not self._members:
            self.end(UNAUTHORIZED, "No namespace was joined within 5 seconds.")
        elif not self._heard:
            self.end(TIMED_OUT, "No answer to a ping.")
        else:
            self._heard = False
            self.due = self.watcher.now() + PING_SECONDS
            self.say(engineio.PING)

    def end(self, code: int, reason: str) -> None:
        """End the session: a WebSocket is closed with the code, a poll is told, or cut off to come back.

        A client that is told takes the end for final; one whose poll fails connects again by itself.
        """
        if self.closed or self._ending:
            return
        self._ending = True
        if self.socket is not None:
            self.socket.end(code, reason)
        elif code not in (GOING_AWAY, TRY_AGAIN_LATER):
            self._queue.append((engineio.CLOSE, b""))
            self._answer_poll()
        self.close()

    def lost(self, socket: EngineSocket) -> None:
        """A WebSocket is closed: the session's own ends it, one that had asked for it may ask again."""
        if socket is self.socket:
            self.close()
        elif socket is self._candidate:
            self._candidate = None

    def close(self) -> None:
        """Forget the session and its readers; twice is once."""
        if self.closed:
            return
        self.closed = True
        self._no_stranger()
        for member in self._members.values():
            if member.subscription is not None:
                self._hub.close(member.subscription)
        self._members.clear()
        self._queue.clear()
        if self._poll is not None:
            self._poll[0].close()
        for one in (self.socket, self._candidate):
            if one is not None and one.is_open:
                one.close()
        self._forget(self)

    def _answer_poll(self) -> None:
        if self._poll is None or not self._queue:
            return
        exchange, headers = self._poll
        taken: list[str] = []
        size = 0
        while self._queue and len(taken) < POLLED_PACKETS:
            if taken and size + len(self._queue[0][0]) > MAX_POLLED:
                break
            packet, _ = self._queue.popleft()
            taken.append(packet)
            size += len(packet)
        self._poll = None
        exchange.answer(self._polled(engineio.body(taken), headers))
        if not self._ending:
            self.drained()

    def _poll_gone(self, exchange: Exchange) -> None:
        if self._poll is not None and self._poll[0] is exchange:
            self._poll = None

    def _no_stranger(self) -> None:
        if self._stranger:
            self._stranger = False
            self._guests.leave(self._address)
