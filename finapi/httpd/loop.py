"""The event loop: the sockets of one thread, their events and their deadlines.

The HTTP server and the feeds run one loop each. Sockets never block. The events that a socket waits for are
registered with the kernel (epoll) again only after an event of that socket, so that a thousand idle connections cost
nothing. Deadlines are looked at in every tick.
"""

from __future__ import annotations

import logging
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from threading import RLock, get_ident

from finapi.httpd.connection_states import (
    CLOSED,
    ENDING_STATES,
    FINISHING,
    LINGERING,
    OPEN,
    ConnectionState,
    check_transition,
)

log = logging.getLogger("finapi.httpd")

READ = select.EPOLLIN | select.EPOLLPRI
WRITE = select.EPOLLOUT
FAILED = select.EPOLLHUP | select.EPOLLERR  # The kernel reports these in any case.

RECEIVE_BYTES = 65_536  # Received by one system call.
MAX_CHUNKS_PER_SEND = 64  # Queued chunks that one system call sends.
MAX_SENDS_IN_TURN = 16  # Such calls for one connection before the others have their turn.
LINGER_SECONDS = 5.0  # For the client to read the last bytes and close, as lingering_timeout of nginx.


def reset_on_close(sock: socket.socket) -> None:
    """Have the socket reset when it is closed: the other end sees an error, and queued output is dropped."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class WatchedSocket:
    """A socket in a loop. Only the loop's thread closes it."""

    initial_state = OPEN
    broken = False  # To be closed by the loop. Any thread may set it, without the lock.

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.loop = loop
        self.sock = sock
        self.descriptor = sock.fileno()
        self.lock = RLock()
        self.state = self.initial_state
        sock.setblocking(False)
        loop.add(self)

    # ---- for subclasses

    def wanted_events(self) -> int:
        """Return the events to wait for: READ, WRITE, both, or 0 for none."""
        return READ

    def handle_events(self, events: int) -> None:
        """Handle events that were waited for."""

    def on_removed(self) -> None:
        """Release everything, because the socket has left the loop."""

    def on_error(self) -> None:
        """Close, because handling an event ended in an exception."""
        self.close()

    # ---- for users

    @property
    def closed(self) -> bool:
        """Return True if the socket is closed, or has left the loop."""
        return self.state is CLOSED

    def move_to(self, state: ConnectionState) -> None:
        """Change the state. Call this with the lock. Raise ForbiddenTransitionError if the table does not permit it."""
        check_transition(self.state, state)
        self.state = state

    def detach(self) -> socket.socket:
        """Leave the loop. Return the socket, which is still open."""
        # Under the lock, so that no thread sends on a socket that may belong to somebody else already.
        with self.lock:
            self.move_to(CLOSED)
            self.loop.remove(self)
            self.on_removed()
            return self.sock

    def close(self) -> None:
        """Close the socket immediately. Closing again does nothing."""
        with self.lock:
            if not self.closed:
                self.detach().close()


class Connection(WatchedSocket):
    """A socket with a queue of output. Subclasses define what input means, and what happens at the deadline.

    Any thread may send and finish. So everything that changes a connection happens under its lock.
    """

    linger_bytes = 1 << 20  # Bytes that may still arrive after finish(). They are dropped.
    finish_seconds = LINGER_SECONDS  # For everything that is queued at finish() to be sent.

    def __init__(self, loop: Loop, sock: socket.socket, seconds: float = LINGER_SECONDS) -> None:
        self.queue: deque[bytes | memoryview] = deque()
        self.due = loop.now() + seconds  # The deadline, at which on_deadline() is called.
        self._is_blocked = False  # The socket takes no more output for now.
        self._dropped_bytes = 0
        loop.connections.add(self)
        super().__init__(loop, sock)

    # ---- for subclasses

    def on_data(self, data: bytes) -> None:
        """Handle input."""

    def on_drained(self) -> None:
        """Continue, because everything that the socket did not take immediately has been sent."""

    def refill(self) -> bool:
        """Put more output into the queue, which is empty. Return False if there is none."""
        return False

    def on_lingering(self) -> None:
        """Release resources, because everything has been sent: only the client's close is awaited."""

    def on_deadline(self) -> None:
        """Close, because the deadline has passed."""
        self.close()

    # ---- for users

    def send(self, chunks: Iterable[bytes | memoryview]) -> None:
        """Queue complete messages, and send as much as the socket takes immediately."""
        with self.lock:
            if self.can_send:
                self.queue.extend(filter(None, chunks))  # An empty chunk would never leave the queue.
                if not self._is_blocked:
                    self._flush()

    def finish(self) -> None:
        """Close when everything queued has been sent and the client has closed too, or at the deadline.

        RFC 9112 section 9.6: closing while input is unread would reset the connection, and lose output. A broken
        connection sends no FIN: the loop closes it without one.
        """
        with self.lock:
            if self.can_send:
                self.move_to(FINISHING)
                self.due = self.loop.now() + self.finish_seconds
                if not self._is_blocked:
                    self._flush()

    def send_last(self, *chunks: bytes) -> None:
        """Send the chunks, then close as finish() does."""
        self.send(chunks)
        self.finish()

    @property
    def is_finishing(self) -> bool:
        """Return True from finish() to the end of the connection."""
        return self.state is FINISHING or self.state is LINGERING

    @property
    def can_send(self) -> bool:
        """Return True if more output may be sent."""
        return not self.broken and self.state not in ENDING_STATES

    def waiting(self) -> int:
        """Return the number of queued messages."""
        return len(self.queue)

    def drop_queue(self) -> None:
        """Drop the queued messages, except one that has been sent in part."""
        first = self.queue[0] if self.queue else None
        self.queue.clear()
        if isinstance(first, memoryview):
            self.queue.append(first)

    def wanted_events(self) -> int:
        """Return READ, and WRITE too while output is queued."""
        return READ | WRITE if self.queue else READ

    def handle_events(self, events: int) -> None:
        """Send and receive. Urgent data of TCP, which no protocol here has, ends the connection."""
        with self.lock:
            if events & select.EPOLLPRI:
                self.close()
            if self.queue and events & (WRITE | FAILED) and not self.closed:
                self._flush()
                if not (self.queue or self.closed or self.is_finishing):
                    self.on_drained()
            if events & (READ | FAILED) and not self.closed:
                self._read()

    def _read(self) -> None:
        try:
            data = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        is_finishing = self.is_finishing
        if is_finishing:
            self._dropped_bytes += len(data)
        if not data or self._dropped_bytes > self.linger_bytes:
            self.close()
        elif not is_finishing:
            self.on_data(data)

    def _flush(self) -> None:
        try:
            turns_left = MAX_SENDS_IN_TURN
            while (self.queue or self.refill()) and turns_left:
                turns_left -= 1
                self._remove_sent(self.sock.sendmsg(list(islice(self.queue, MAX_CHUNKS_PER_SEND))))
            if self.state is FINISHING and not self.queue:
                self.sock.shutdown(socket.SHUT_WR)
                self.move_to(LINGERING)
                self.due = self.loop.now() + LINGER_SECONDS
                self.on_lingering()
        except BlockingIOError:
            pass
        except OSError:  # The client has disconnected.
            self.broken = True
            self.queue.clear()
        self._is_blocked = bool(self.queue)
        if self._is_blocked or self.broken:
            self.loop.update_events(self)

    def _remove_sent(self, byte_count: int) -> None:
        """Remove the bytes that were sent from the queue. Of a message sent in part, a view of its end stays."""
        while byte_count:
            first = self.queue.popleft()
            if byte_count < len(first):
                self.queue.appendleft(memoryview(first)[byte_count:])
                return
            byte_count -= len(first)


class Loop:
    """The sockets of one thread. Other threads may only use update_events(), call_soon() and wake()."""

    def __init__(self, now: Callable[[], float], tick: float = 1.0) -> None:
        self.now = now
        self.tick = tick  # Seconds between two checks of the deadlines.
        self.connections: set[Connection] = set()
        self._sockets: dict[int, WatchedSocket] = {}  # By descriptor.
        self._registered_events: dict[int, int] = {}  # By descriptor: the events that the kernel reports.
        self._calls: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []  # A heap of time, order and function.
        self._timer_numbers = count()
        self._epoll = select.epoll()
        self._thread_id: int | None = None
        self._next_tick_at = -inf
        self._wake_sender, self._wake_receiver = socket.socketpair()
        self._wake_sender.setblocking(False)
        self._wake_receiver.setblocking(False)
        self._epoll.register(self._wake_receiver, READ)

    # ---- for any thread

    @property
    def is_current_thread(self) -> bool:
        """Return True in the loop's thread."""
        return get_ident() == self._thread_id

    def wake(self) -> None:
        """End the wait for events, so that the loop looks at the time and at new calls immediately."""
        # An error means that the pipe is full, so that the loop will wake anyway, or that the loop has ended.
        with suppress(OSError):
            self._wake_sender.send(b"\0")

    def call_soon(self, function: Callable[[], None]) -> None:
        """Call a function in the loop's thread, in its next round."""
        self._calls.append(function)
        if not self.is_current_thread:
            self.wake()

    def update_events(self, watched: WatchedSocket) -> None:
        """Have the kernel report the events that a socket waits for now, or close the socket if it is broken.

        Other threads wake the loop only if that is needed. READ is not withdrawn here but when input arrives that the
        socket does not wait for. A client that waits for its answer sends none, so that each request saves two system
        calls.
        """
        if watched.closed:
            return
        if not self.is_current_thread:
            # The caller has changed the wanted events of the socket, under its lock, before this look. The loop looks
            # under the same lock, and step() withdraws events before it looks. So one of the two sees the change.
            if watched.broken or watched.wanted_events() & ~self._registered_events.get(watched.descriptor, 0):
                self.call_soon(lambda: self.update_events(watched))
        elif watched.broken:
            watched.close()
        else:
            with watched.lock:
                wanted_events = watched.wanted_events()
                registered = self._registered_events.get(watched.descriptor, 0)
                if wanted_events & ~registered or registered & WRITE & ~wanted_events:
                    self._register(watched.descriptor, wanted_events)

    # ---- for the loop's thread

    def add(self, watched: WatchedSocket) -> None:
        """Watch a socket."""
        self._sockets[watched.descriptor] = watched
        self.update_events(watched)

    def remove(self, watched: WatchedSocket) -> None:
        """Stop watching a socket, before another one can have its descriptor."""
        if isinstance(watched, Connection):
            self.connections.discard(watched)
        if self._sockets.pop(watched.descriptor, None) is not None:
            self._register(watched.descriptor, 0)

    def call_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Call a function after a number of seconds."""
        heappush(self._timers, (self.now() + seconds, next(self._timer_numbers), function))

    def step(self, seconds: float) -> bool:
        """Run one round: calls, events that occur within ``seconds``, timers and, in each tick, deadlines.

        Return True if it was a tick.
        """
        self._thread_id = get_ident()
        for _ in range(len(self._calls)):  # Calls that these add are run in the next round, after the events.
            self._calls.popleft()()
        if self._timers:
            next_timer_at = self._timers[0][0]
            seconds = max(0.0, min(seconds, next_timer_at - self.now()))
        for descriptor, events in self._epoll.poll(0 if self._calls else seconds):
            watched = self._sockets.get(descriptor)
            if watched is None:  # It was closed in this round, or it is the receiver of wake().
                with suppress(BlockingIOError):
                    self._wake_receiver.recv(4096)
            else:
                self._handle_events(watched, events)
        now = self.now()
        while self._timers and self._timers[0][0] <= now:
            _, _, function = heappop(self._timers)
            function()
        if now < self._next_tick_at:
            return False
        self._next_tick_at = now + self.tick
        for connection in list(self.connections):
            if not connection.closed and now >= connection.due:
                self.call_guarded(connection, connection.on_deadline)
        return True

    def close(self) -> None:
        """Close every socket, and release the kernel's list."""
        for watched in list(self._sockets.values()):
            watched.close()
        self._wake_sender.close()
        self._wake_receiver.close()
        self._epoll.close()

    def call_guarded(self, watched: WatchedSocket, function: Callable[..., None], *args: int) -> None:
        """Call a function on behalf of a socket. An exception ends its connection, but not the loop."""
        try:
            function(*args)
        except Exception:
            log.exception("a connection failed")
            watched.on_error()
        self.update_events(watched)

    def _handle_events(self, watched: WatchedSocket, events: int) -> None:
        wanted_events = watched.wanted_events()
        if not wanted_events:
            # Under the lock, because a thread may be about to end the work that the socket waits for.
            with watched.lock:
                wanted_events = watched.wanted_events()
        if not wanted_events or events & ~(wanted_events | FAILED):
            self._register(watched.descriptor, wanted_events)
            self.update_events(watched)
        if wanted_events and events & (wanted_events | FAILED):
            self.call_guarded(watched, watched.handle_events, events & (wanted_events | FAILED))

    def _register(self, descriptor: int, wanted_events: int) -> None:
        registered = self._registered_events.pop(descriptor, 0)
        if wanted_events:
            self._registered_events[descriptor] = wanted_events
        if not registered:
            if wanted_events:
                self._epoll.register(descriptor, wanted_events)
        elif wanted_events:
            self._epoll.modify(descriptor, wanted_events)
        else:
            self._epoll.unregister(descriptor)
