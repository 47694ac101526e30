"""Responses to clients that may read slowly.

The thread of a call writes a response into the queue of its connection, and the loop sends as much as the client takes.
A thread does not wait for the client unless it must. The part that a client has not read is an :class:`UnsentAnswer`:

- 64 KB of it are stored in memory in any case;
- up to 1 MB is stored in memory within the budget ``memory``, anything longer in a file within the budget ``disk``;
- if neither has room, a response with a Content-Length takes the room of another client, which is disconnected. The
  thread of a streamed response waits instead until its client has read everything sent so far (PAUSED); another thread
  works in its place meanwhile.

A client that reads less than the minimum rate is disconnected. An application that needs to know the end of its
response registers a function with ``finapi.when_sent``.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer

from finapi.httpd.connection_states import CALLING, LINGERING, PAUSED
from finapi.httpd.loop import Connection
from finapi.httpd.pacing import PacedAnswer
from finapi.httpd.request_parser import RequestParser
from finapi.httpd.server_context import ServerContext
from finapi.httpd.shares import Allowance, Reservation
from finapi.httpd.unsent import READ_BYTES, UnsentAnswer
from finapi.httpd.wsgi_task import ClientDisconnectedError, RequestTask

log = logging.getLogger("finapi.httpd")

SENDING_FAILED = "The answer could not be stored or sent."


class ApplicationCall:
    """A call of the application, and the wishes that the application has expressed about its response."""

    def __init__(self, task: RequestTask, began_at: float) -> None:
        self.task = task
        self.began_at = began_at
        self.paced_answer: PacedAnswer | None = None  # If the response is to be held back.
        self.when_sent: Callable[[], object] | None = None  # To be called when the response has been sent.
        self.paused_at = 0.0  # Of the last pause.
        self.paused_seconds = 0.0  # Of all earlier pauses together.
        self.due_before_pause = 0.0

    @property
    def environ(self) -> dict[str, Any]:
        """Return the environ, in which the application describes its response. It is empty before the call."""
        return self.task.environ or {}

    @property
    def has_length(self) -> bool:
        """Return True if the length of the response is known: it is complete, not streamed."""
        return self.task.content_length is not None


class SentCallback:
    """A job for a request thread: the function of a call whose response has been sent, or never will be."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback

    def serve(self) -> None:
        """Call the function."""
        self._callback()

    def abandon(self) -> None:
        """Do nothing: the pool has logged the failure."""


class ResponseConnection(Connection, ABC):
    """A connection that sends the responses of calls. The subclass reads requests and begins and ends the calls."""

    def __init__(self, server: ServerContext, sock: socket.socket, peer: tuple[str, int]) -> None:
        self.server = server
        self.settings = server.settings
        self.addr = peer  # waitress reads it.
        self.address = server.find_client_address(peer[0], None)
        self.used_at = time.monotonic()
        self.requests: list[RequestParser] = []  # Received in full, oldest first. The first one is being answered.
        self.call: ApplicationCall | None = None  # The latest call, also when it is over.
        self.abort_reason = ""  # Why the server ended a response early; "" if the client was the reason.
        self._unsent: UnsentAnswer | None = None  # The part of the response that the client has not read yet.
        self._body_file: ReadOnlyFileBasedBuffer | None = None  # The body of the response, to be sent after the queue.
        self._everything_read: threading.Condition | None = None  # Created when a thread waits for the first time.
        self._sent_callback: Callable[[], object] | None = None  # Of a call that is over.
        super().__init__(server.loop, sock, server.settings.header_timeout)

    @abstractmethod
    def serve(self) -> None:
        """Answer the first request, in a request thread."""

    def abandon(self) -> None:
        """Close as soon as the loop can: the thread of this connection failed."""
        with self.lock:
            self.drop_requests()
            self.broken = True
        self.loop.update_events(self)

    def drop_requests(self) -> None:
        """Release all requests that are complete, with the temporary files of their bodies."""
        for request in self.requests:
            request.close()
        self.requests.clear()

    # ---- writing

    def write_soon(self, data: bytes | ReadOnlyFileBasedBuffer) -> None:
        """Write a part of the response, or its body as a file. waitress calls this in the thread of the call.

        Raise ClientDisconnectedError if the connection takes no more output.
        """
        if isinstance(data, ReadOnlyFileBasedBuffer):
            self._send_file(data)
        elif self.call is not None and self.call.paced_answer is not None and self.can_send:
            self.call.paced_answer.store(data)
        else:
            self.write(data)

    def write(self, data: bytes) -> None:
        """Send a part of the response, or store it until the client has read what precedes it.

        If there is no room, the calling thread waits until the client has read everything sent so far. Raise
        ClientDisconnectedError if the connection accepts no more output.
        """
        try:
            with self.lock:
                self._write(data)
        except ClientDisconnectedError:
            raise
        except Exception:
            self.abort_reason = SENDING_FAILED
            raise

    def check_client_disconnected(self) -> bool:
        """Return True if the connection takes no more output, for ``waitress.client_disconnected``."""
        return not self.can_send

    def pace_answer(self, *args: Any) -> None:
        """Hold the response of this call back. The parameters are those of PacedAnswer."""
        if self.call is not None:
            self.call.paced_answer = PacedAnswer(*args)

    def call_when_sent(self, callback: Callable[[], object]) -> None:
        """Call a function in a request thread when the response of this call has been sent, or never will be.

        It is called at the latest when the time of a call is over, however slowly the client reads.
        """
        if self.call is not None:
            self.call.when_sent = callback

    @property
    def has_unsent(self) -> bool:
        """Return True if the client has not read all of the response."""
        return self._unsent is not None

    @property
    def has_begun_response(self) -> bool:
        """Return True if the head of the first request's response has been written."""
        return bool(self.requests) and self.call is not None and self.call.task.wrote_header

    def _write(self, data: bytes) -> None:
        self._require_output()
        call = self.call
        has_length = call is not None and call.has_length
        if self._unsent is not None and self._unsent.is_in_file:
            if self._unsent.append(data, displaces=has_length):
                return
            self._wait_for_client()
        if call is not None and not call.task.wrote_header:
            self.queue.append(data)  # The head. It is sent together with the first part of the body.
            return
        self.send((data,))
        is_resident = call is not None and call.environ.get("finapi.resident")
        if self._unsent is None or is_resident:
            return
        if not self._unsent.store(self.queue, displaces=has_length):
            self._wait_for_client()

    def _send_file(self, body: ReadOnlyFileBasedBuffer) -> None:
        """Send a file from where it is, as the client reads it. No thread waits for that."""
        with self.lock:
            if not self.can_send:
                body.close()
                raise ClientDisconnectedError
            self._body_file = body
            self.send(())

    def _require_output(self) -> None:
        if not self.can_send:
            raise ClientDisconnectedError

    # ---- clients that read slowly

    def refill(self) -> bool:
        """Put the next part of a response from its file into the queue. Return False if there is none."""
        chunk = b""
        if self._body_file is not None:
            chunk = self._body_file.get(READ_BYTES, skip=True)
            if not chunk:
                if self._body_file.remain:  # The file is shorter than its declared length.
                    self.broken = True
                    self.abort_reason = SENDING_FAILED
                self._close_body_file()
        elif self._unsent is not None:
            chunk = self._unsent.read()
        if chunk:
            self.queue.append(chunk)
        return bool(chunk)

    def displace(self) -> None:
        """Close soon, because others need the room of the response that this client does not read.

        The client is the reason, so that its call is not refunded.
        """
        log.info("closed a connection of %s that reads its answer too slowly", self.address or self.addr[0])
        self.broken = True
        self.loop.call_soon(lambda: self.loop.update_events(self))

    def _flush(self) -> None:
        super()._flush()
        if not self._is_blocked:
            self._release_unsent()
            self._run_sent_callback(self._sent_callback)
        elif self._unsent is None:
            self._unsent = self._build_unsent()

    def _remove_sent(self, byte_count: int) -> None:
        super()._remove_sent(byte_count)
        self.used_at = time.monotonic()
        if self._unsent is None:
            self.set_deadline(self.settings.channel_timeout)
        elif self.state is not LINGERING:
            until = self._unsent.allowance.add_bytes(self.loop.now(), byte_count)
            if not self.requests:
                self.due = until
            elif self.state is PAUSED and self.call is not None:
                self.due = min(until, self.call.due_before_pause)

    def _build_unsent(self) -> UnsentAnswer:
        byte_count = sum(map(len, self.queue))
        min_rate = self.server.get_min_rate(byte_count)
        allowance = Allowance(self.loop.now(), self.settings.channel_timeout, min_rate)
        owners = self.call.environ.get("finapi.owners") if self.call is not None else None
        if owners is None:
            owners = (self.find_address(self.requests[0]) if self.requests else self.addr[0],)
        memory = Reservation(self.server.memory, owners, partial(self.call_soon, self._free_memory))
        disk = Reservation(self.server.disk, owners, self.displace)
        return UnsentAnswer(allowance, memory, disk)

    def _free_memory(self) -> None:
        """Move the unsent response to a file, because others need the memory."""
        with self.lock:
            unsent = self._unsent
            if unsent is None or unsent.is_in_file or self.closed:
                return
            if not unsent.move_to_file(self.queue, displaces=True):
                self.displace()

    def _wait_for_client(self) -> None:
        """Wait until the client has read everything that is unsent. Raise ClientDisconnectedError if it does not.

        The caller holds the lock, which is released during the wait. The loop's thread never waits.
        """
        unsent, call = self._unsent, self.call
        if unsent is None or call is None or self.loop.is_current_thread:
            return
        if self._everything_read is None:
            self._everything_read = threading.Condition(self.lock)
        self.server.pool.replace(self)
        self.server.paused_threads.enter_displacing(self, *unsent.owners)
        release_resources = call.environ.get("finapi.paused")
        if release_resources is not None:
            release_resources()
        self.move_to(PAUSED)
        call.paused_at = self.loop.now()
        call.due_before_pause = self.due
        self.due = min(self.due, unsent.allowance.until)
        try:
            while self._unsent is not None and self.can_send:
                self._everything_read.wait()
        finally:
            call.paused_seconds += self.loop.now() - call.paused_at
            if self.state is PAUSED:
                self.move_to(CALLING)
            self.due = call.due_before_pause
            self.server.paused_threads.leave(self)
        self._require_output()

    def is_client_late(self) -> bool:
        """Return True if the client took more of the call's time than the application."""
        if self.call is None:
            return False
        now = self.loop.now()
        paused_seconds = self.call.paused_seconds
        if self.state is PAUSED:
            if self._unsent is not None and now >= self._unsent.allowance.until:
                return True
            paused_seconds += now - self.call.paused_at
        return paused_seconds > (now - self.call.began_at) / 2

    # ---- the end of a response

    def schedule_sent_callback(self) -> None:
        """Schedule the function that the application registered for the end of the response."""
        if self.call is None or self.call.when_sent is None:
            return
        callback = self.call.when_sent
        self.call.when_sent = None
        self._sent_callback = callback
        if self._unsent is None or self.closed or self.broken:
            self._run_sent_callback(callback)
        else:
            seconds_left = self.call.began_at + self.settings.server_timeout - self.loop.now()
            self.call_soon(lambda: self.call_later(seconds_left, lambda: self._run_sent_callback(callback)))

    def release_response(self) -> None:
        """Release the unsent part of the response, because the connection is closed."""
        self._close_body_file()
        self._release_unsent()
        self._run_sent_callback(self._sent_callback)

    def _run_sent_callback(self, callback: Callable[[], object] | None) -> None:
        """Have a request thread call the function, unless it has been called."""
        with self.lock:
            if callback is not None and callback is self._sent_callback:
                self._sent_callback = None
                self.server.pool.put(SentCallback(callback))

    def _release_unsent(self) -> None:
        if self._unsent is not None:
            self._unsent.release()
            self._unsent = None
        if self._everything_read is not None:
            self._everything_read.notify_all()

    def _close_body_file(self) -> None:
        if self._body_file is not None:
            self._body_file.close()
            self._body_file = None

    # ---- deadlines and the loop

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline to ``seconds`` from now, unless that of a running call or of the client's close applies."""
        if not self.requests and self.state is not LINGERING:
            self.due = self.loop.now() + seconds

    def call_soon(self, function: Callable[[], None]) -> None:
        """Call a function in the loop. If it fails, the connection is closed."""
        self.loop.call_soon(lambda: self.loop.call_guarded(self, function))

    def call_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Call a function in the loop after a number of seconds. If it fails, the connection is closed."""
        self.loop.call_later(seconds, lambda: self.loop.call_guarded(self, function))

    def find_address(self, request: RequestParser) -> str:
        """Return the address that a request counts for, which a trusted proxy may name."""
        forwarded = request.headers.get("X_FORWARDED_FOR", "")
        return self.server.find_client_address(self.addr[0], forwarded) or self.addr[0]
