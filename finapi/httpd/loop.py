"""The event loop: sockets of one thread that are never waited for, and their deadlines.

The HTTP server and the feeds run one each. The kernel is told only of what changed: a socket is asked what it waits
for when something happened to it, so that a thousand idle ones are no work.
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

log = logging.getLogger("finapi.httpd")

READ, WRITE = select.EPOLLIN | select.EPOLLPRI, select.EPOLLOUT
FAILED = select.EPOLLHUP | select.EPOLLERR  # reported whether asked for or not

RECEIVE_BYTES = 65_536  # of one read
WRITE_AT_ONCE = 64  # queued chunks of one system call
SENDS_AT_ONCE = 16  # such calls for one connection, before others have their turn
LINGER_SECONDS = 5.0  # for the client to read the last bytes and close; as nginx's lingering_timeout


def break_off(sock: socket.socket) -> None:
    """Have the other end told of an error when the socket is closed, and of nothing that is still to be sent."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class WatchedSocket:
    """A socket in a loop. The loop's thread alone closes it."""

    broken = False  # to be closed by the loop

    def __init__(self, loop: Loop, sock: socket.socket) -> None:
        self.loop = loop
        self.sock = sock
        self.number = sock.fileno()
        self.lock = RLock()
        self.closed = False
        sock.setblocking(False)
        loop.add(self)

    def wants(self) -> int:
        """What it waits for: READ, WRITE, both or, for now, nothing."""
        return READ

    def handle(self, happened: int) -> None:
        """What it waits for has come."""

    def gone(self) -> None:
        """It has left the loop."""

    def failed(self) -> None:
        """Handling it ended in an error."""
        self.close()

    def detach(self) -> socket.socket:
        """The socket, still open, which leaves the loop."""
        with self.lock:  # so that no thread sends on what may be another's socket
            self.closed = True
            self.loop.forget(self)
            self.gone()
            return self.sock

    def close(self) -> None:
        """Close now; twice is once."""
        with self.lock:
            if not self.closed:
                self.detach().close()


class Connection(WatchedSocket):
    """A socket with a queue of output. Subclasses say what input means, and what happens when time is up.

    Any thread may send and finish: so whatever changes a connection happens under its lock.
    """

    linger_bytes = 1 << 20  # that may still come in after finish(), and are dropped
    finish_seconds = LINGER_SECONDS  # for what is queued then to be sent

    def __init__(self, loop: Loop, sock: socket.socket, seconds: float = LINGER_SECONDS) -> None:
        self.queue: deque[bytes | memoryview] = deque()
        self.due = loop.now() + seconds  # when expired() is called
        self.finishing = False  # to be closed when everything is sent
        self.lingering = False  # FIN is sent
        self._blocked = False  # the socket takes no more
        self._dropped = 0
        loop.connections.add(self)
        super().__init__(loop, sock)

    # ---- for subclasses

    def received(self, data: bytes) -> None:
        """Bytes came in."""

    def drained(self) -> None:
        """Everything that the socket did not take at once has been sent."""

    def refill(self) -> bool:
        """Whether it has put more into the queue, which is empty."""
        return False

    def lingers(self) -> None:
        """Everything is said, and the client is given time to close."""

    def expired(self) -> None:
        """The time ``due`` has come."""
        self.close()

    # ---- what a connection does

    def send(self, chunks: Iterable[bytes | memoryview]) -> None:
        """Queue whole messages, and send what the socket takes at once."""
        with self.lock:
            if not (self.finishing or self.closed or self.broken):
                self.queue.extend(filter(None, chunks))  # an empty one would never be sent
                if not self._blocked:
                    self._flush()

    def finish(self) -> None:
        """Close once everything queued is sent and the client has closed too, or time is up.

        RFC 9112 section 9.6: closing with input unread would reset the connection, and lose what was sent. A broken
        connection sends no FIN: the loop closes it without one.
        """
        with self.lock:
            if not (self.closed or self.finishing or self.broken):
                self.finishing = True
                self.due = self.loop.now() + self.finish_seconds
                if not self._blocked:
                    self._flush()

    def send_last(self, *chunks: bytes) -> None:
        """Send, and close."""
        self.send(chunks)
        self.finish()

    @property
    def takes_output(self) -> bool:
        """Whether what is sent has a chance to arrive."""
        return not (self.closed or self.broken or self.finishing)

    def waiting(self) -> int:
        """How many messages are queued and not yet sent."""
        return len(self.queue)

    def drop_queue(self) -> None:
        """Forget what is queued, but for a message that has been sent in part."""
        first = self.queue[0] if self.queue else None
        self.queue.clear()
        if isinstance(first, memoryview):
            self.queue.append(first)

    def wants(self) -> int:
        """Input always, and room for output while some is queued."""
        return READ | WRITE if self.queue else READ

    def handle(self, happened: int) -> None:
        """Send and receive; TCP's urgent data, which no protocol here has, ends the connection."""
        with self.lock:
            if happened & select.EPOLLPRI:
                self.close()
            if self.queue and happened & (WRITE | FAILED) and not self.closed:
                self._flush()
                if not (self.queue or self.closed or self.finishing):
                    self.drained()
            if happened & (READ | FAILED) and not self.closed:
                self._read()

    def _read(self) -> None:
        try:
            data = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._dropped += len(data) if self.finishing else 0
        if not data or self._dropped > self.linger_bytes:
            self.close()
        elif not self.finishing:
            self.received(data)

    def _flush(self) -> None:
        try:
            turns = SENDS_AT_ONCE
            while (self.queue or self.refill()) and turns:
                turns -= 1
                self._take(self.sock.sendmsg(list(islice(self.queue, WRITE_AT_ONCE))))
            if self.finishing and not (self.lingering or self.queue):
                self.sock.shutdown(socket.SHUT_WR)
                self.lingering = True
                self.due = self.loop.now() + LINGER_SECONDS
                self.lingers()
        except BlockingIOError:
            pass
        except OSError:  # the client has gone
            self.broken = True
            self.queue.clear()
        self._blocked = bool(self.queue)
        if self._blocked or self.broken:
            self.loop.attend(self)

    def _take(self, sent: int) -> None:
        """Take what was sent off the queue; a message sent in part stays as a view of its rest."""
        while sent:
            first = self.queue.popleft()
            if sent < len(first):
                self.queue.appendleft(memoryview(first)[sent:])
                return
            sent -= len(first)


class Loop:
    """The sockets of one thread. All is for that thread but attend(), call_soon() and wake()."""

    def __init__(self, now: Callable[[], float], tick: float = 1.0) -> None:
        self.now = now
        self.tick = tick  # seconds between looks at the deadlines
        self.connections: set[Connection] = set()
        self._watched: dict[int, WatchedSocket] = {}
        self._asked: dict[int, int] = {}  # what the kernel has been asked to report of each
        self._calls: deque[Callable[[], None]] = deque()
        self._later: list[tuple[float, int, Callable[[], None]]] = []  # a heap: when, in which order, what
        self._number = count()
        self._epoll = select.epoll()
        self._thread: int | None = None
        self._next_sweep = -inf
        self._alarm, self._woken = socket.socketpair()
        for end in (self._alarm, self._woken):
            end.setblocking(False)
        self._epoll.register(self._woken, READ)

    # ---- from any thread

    @property
    def is_current_thread(self) -> bool:
        """Whether this is called in the loop's thread."""
        return get_ident() == self._thread

    def wake(self) -> None:
        """Let the loop look at the time and at what is to be done now."""
        with suppress(OSError):  # full: it will wake anyway; closed: it has ended
            self._alarm.send(b"\0")

    def call_soon(self, function: Callable[[], None]) -> None:
        """Have a function called in the loop's thread."""
        self._calls.append(function)
        if not self.is_current_thread:
            self.wake()

    def attend(self, watched: WatchedSocket) -> None:
        """Watch for all that a socket waits for now, and for room for output no longer than that.

        Another thread wakes the loop only if that is needed. Interest in input is given up only when input comes
        that is not wanted: a client that waits for its answer sends none, and two system calls a request are saved.
        """
        if watched.closed:
            return
        if not self.is_current_thread:
            # The caller changed what the socket waits for before this look, and under its lock. The loop looks under
            # the same lock, and step() stops watching before it looks: one of the two sees the change.
            if watched.broken or watched.wants() & ~self._asked.get(watched.number, 0):
                self.call_soon(lambda: self.attend(watched))
        elif watched.broken:
            watched.close()
        else:
            with watched.lock:
                wanted, asked = watched.wants(), self._asked.get(watched.number, 0)
                if wanted & ~asked or asked & WRITE & ~wanted:
                    self._watch(watched.number, wanted)

    # ---- in the loop's thread

    def add(self, one: WatchedSocket) -> None:
        """Begin to watch a socket."""
        self._watched[one.number] = one
        self.attend(one)

    def forget(self, one: WatchedSocket) -> None:
        """Watch a socket no longer, before its number can be another's."""
        self.connections.discard(one)
        if self._watched.pop(one.number, None) is not None:
            self._watch(one.number, 0)

    def call_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Have a function called in so many seconds."""
        heappush(self._later, (self.now() + seconds, next(self._number), function))

    def step(self, seconds: float) -> bool:
        """One round: what sockets report within ``seconds``, and every tick the deadlines; whether it was one."""
        self._thread = get_ident()
        for _ in range(len(self._calls)):  # those that they add come after what sockets report
            self._calls.popleft()()
        if self._later:
            seconds = max(0.0, min(seconds, self._later[0][0] - self.now()))
        for number, happened in self._epoll.poll(0 if self._calls else seconds):
            one = self._watched.get(number)
            if one is None:  # closed in this round, or what wakes the loop
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
                continue
            wanted = one.wants()
            if not wanted:
                with one.lock:  # a thread may be about to end what it does for it
                    wanted = one.wants()
            if not wanted or happened & ~(wanted | FAILED):
                self._watch(number, wanted)
                self.attend(one)
            happened &= wanted | FAILED if wanted else 0
            if happened:
                self.guarded(one, one.handle, happened)
        now = self.now()
        while self._later and self._later[0][0] <= now:
            heappop(self._later)[2]()
        if now < self._next_sweep:
            return False
        self._next_sweep = now + self.tick
        for connection in list(self.connections):
            if not connection.closed and now >= connection.due:
                self.guarded(connection, connection.expired)
        return True

    def close(self) -> None:
        """Close every socket, and release the kernel's list."""
        for one in list(self._watched.values()):
            one.close()
        self._alarm.close()
        self._woken.close()
        self._epoll.close()

    def guarded(self, one: WatchedSocket, act: Callable[..., None], *said: int) -> None:
        """Do this for a socket: an error costs the connection, but not the loop."""
        try:
            act(*said)
        except Exception:
            log.exception("a connection failed")
            one.failed()
        self.attend(one)

    def _watch(self, number: int, wanted: int) -> None:
        asked = self._asked.pop(number, 0)
        if wanted:
            self._asked[number] = wanted
        if not asked:
            if wanted:
                self._epoll.register(number, wanted)
        elif wanted:
            self._epoll.modify(number, wanted)
        else:
            self._epoll.unregister(number)
