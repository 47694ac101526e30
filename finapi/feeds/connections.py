"""A connection of the feeds: a socket that is never waited for, and what is queued for it."""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Protocol

RECEIVE_BYTES = 65_536
WRITE_AT_ONCE = 64  # queued messages of one system call
LINGER_SECONDS = 5.0  # for the client to close after the last byte
LINGER_BYTES = 1 << 20  # that may still come in then, and are dropped


class Watcher(Protocol):
    """The loop, as a connection sees it."""

    def now(self) -> float:
        """Seconds of a monotonic clock."""
        ...

    def watch(self, connection: Connection, mask: int) -> None:
        """Call ``handle`` when the socket is ready for what the mask says; 0 to forget it."""
        ...


class Connection:
    """A socket with a queue. Subclasses say what comes in means, and what happens when time is up."""

    def __init__(self, watcher: Watcher, sock: socket.socket) -> None:
        self.watcher = watcher
        self.sock = sock
        self.queue: deque[bytes | memoryview] = deque()
        self.due = watcher.now() + LINGER_SECONDS
        self.closed = False
        self._finishing = False
        self._dropped = 0
        self._mask = selectors.EVENT_READ
        sock.setblocking(False)
        watcher.watch(self, self._mask)

    # ---- for subclasses

    def received(self, data: bytes) -> None:
        """Bytes came in."""

    def drained(self) -> None:
        """Everything that the socket did not take at once has been sent."""

    def expired(self) -> None:
        """The time ``due`` has come."""
        self.close()

    def gone(self) -> None:
        """The connection is closed, by whichever side."""

    # ---- what a connection does

    def send(self, chunks: Iterable[bytes]) -> None:
        """Queue whole messages, and send what the socket takes at once."""
        if self.closed or self._finishing:
            return
        self.queue.extend(chunks)
        if not self._mask & selectors.EVENT_WRITE:
            self._flush()

    def finish(self) -> None:
        """Close once everything queued is sent and the client has closed too, or time is up.

        RFC 9112 section 9.6: closing with input unread would reset the connection, and lose what was sent.
        """
        if self.closed or self._finishing:
            return
        self._finishing = True
        self.due = self.watcher.now() + LINGER_SECONDS
        if not self._mask & selectors.EVENT_WRITE:
            self._flush()

    def close(self) -> None:
        """Close now; twice is once."""
        if self.closed:
            return
        self.closed = True
        self.watcher.watch(self, 0)
        self.sock.close()
        self.queue.clear()
        self.gone()

    def drop_queue(self) -> None:
        """Forget what is queued, but for a message that has been sent in part."""
        first = self.queue[0] if self.queue else None
        self.queue.clear()
        if isinstance(first, memoryview):
            self.queue.append(first)

    def handle(self, mask: int) -> None:
        """The socket is ready."""
        if mask & selectors.EVENT_WRITE and not self.closed:
            self._flush()
            if not (self.queue or self.closed or self._finishing):
                self.drained()
        if mask & selectors.EVENT_READ and not self.closed:
            self._read()

    def _read(self) -> None:
        try:
            data = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._dropped += len(data) if self._finishing else 0
        if not data or self._dropped > LINGER_BYTES:
            self.close()
        elif not self._finishing:
            self.received(data)

    def _flush(self) -> None:
        while self.queue:
            try:
                sent = self.sock.sendmsg(list(islice(self.queue, WRITE_AT_ONCE)))
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
            self._take(sent)
        self._watch_for_writing(bool(self.queue))
        if self._finishing and not self.queue:
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError:
                self.close()

    def _take(self, sent: int) -> None:
        """Take what was sent off the queue; a message sent in part stays as a view of its rest."""
        while sent:
            first = self.queue.popleft()
            if sent < len(first):
                self.queue.appendleft(memoryview(first)[sent:])
                return
            sent -= len(first)

    def _watch_for_writing(self, wanted: bool) -> None:
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        if mask != self._mask:
            self._mask = mask
            self.watcher.watch(self, mask)
