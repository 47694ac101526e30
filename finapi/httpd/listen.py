"""The HTTP server: waitress's parser and task over a loop of our own; strict, bounded in every direction, stoppable.

The loop's thread reads requests, keeps the deadlines and alone closes a connection; a thread of the pool calls the
application and sends its answer. An answer that is not the application's comes from the caller's ``error_response``,
so that this module knows nothing of its shape.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.buffers import ReadOnlyFileBasedBuffer

from finapi.httpd.accept import ListeningSocket
from finapi.httpd.loop import READ, RECEIVE_BYTES, WRITE, Connection, Loop, break_off
from finapi.httpd.pacing import PacedAnswer
from finapi.httpd.pool import ThreadPool
from finapi.httpd.request_parser import Refusal, RequestParser, query_of
from finapi.httpd.response import ClientGone, RequestTask, head, last_answer
from finapi.httpd.settings import (
    HANDED_BODY,
    AddressOf,
    Answer,
    AnswerFromMemory,
    Asked,
    CheckBeforeBody,
    ErrorResponse,
    HandedOver,
    ListenSettings,
    TakeOver,
)
from finapi.httpd.shares import Allowance, ByteBudget, Places, Reservation
from finapi.httpd.unsent import READ_BYTES, UnsentAnswer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

log = logging.getLogger("finapi.httpd")

PIPELINE_LIMIT = 32  # requests taken in behind one; a client repeats the rest (RFC 9112 section 9.3.2)
BODY_IN_MEMORY = 1_048_576  # bytes of a body that the application takes no more of; a longer one is spooled
UNSENT_IN_KERNEL = 65_536  # bytes of an answer that the kernel takes beyond what is under way to the client
SLOW_SECONDS = 0.5  # after which a body of one read is one that takes its time
STALLED_SECONDS = 5.0  # without a byte taken, after which an answer's reader may make room for others

LAST_SECONDS = 0.5  # at a stop, for what is cut off to be told so
STOPPING = "The server is stopping."
TOO_MANY_LONG_BODIES = "Too many long request bodies are arriving at once."
OVERRUN = "The request took too long and was abandoned."
FAILED = "The answer could not be stored or sent."

TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)  # Linux; Python names it from 3.12 on


class HttpConnection(Connection):
    """A connection, in turn waiting for a head, a body, a thread's answer, its reader, the client's close."""

    def __init__(self, server: Listener, sock: socket.socket, peer: tuple[str, int]) -> None:
        self.server = server
        self.settings = server.settings
        self.addr = peer
        self.request: RequestParser | None = None  # that is coming in
        self.requests: list[RequestParser] = []  # that have come in whole; the first is being answered
        self.task: RequestTask | None = None
        self.address = server.address_of(peer[0], None)
        server.share[self.address] += 1
        self.used_at = time.monotonic()
        self.linger_bytes = 2 * server.settings.body_limit  # a body up to that is sent to its end
        self.finish_seconds = server.settings.channel_timeout
        self._leaving = False  # for whoever takes it over
        self._rest = b""  # that came in behind the request that it leaves for
        self._unread = b""  # that came in behind a request that was answered at once
        self._arriving: Allowance | None = None  # for the body that is coming in
        self._judge_at = inf  # when that body has to have a place, and its head to be judged
        self._judging: float | None = None  # since when a thread judges the head: nothing is read then
        self._unsent: UnsentAnswer | None = None  # the part of the answer that the client has not read yet
        self._body_file: ReadOnlyFileBasedBuffer | None = None  # the body of the answer, to be sent after the queue
        self.cut = ""  # the reason of the server's own to end an answer early; empty if the client is the reason
        self.pace: PacedAnswer | None = None  # of the answer that is made, where the application asked for one
        self._call_began_at = 0.0
        self._call_due_at = inf
        self._paused_at: float | None = None  # set while the thread of the call waits for the client to read
        self._paused_seconds = 0.0  # of earlier waits in the same call
        self._reader_moved: threading.Condition | None = None  # made when a thread waits for the first time
        self._when_sent: Callable[[], object] | None = None  # wanted by the call that is being answered
        self._after_sending: Callable[[], object] | None = None  # wanted by a call that is over
        super().__init__(server.loop, sock, server.settings.header_timeout)

    # ---- what comes in

    def wants(self) -> int:
        """Input when nothing is being answered, and room for output while some is queued."""
        busy = self.requests or self.queue or self.finishing or self._unread or self._judging is not None
        # While its answer is held back a client may go away; what else it sends is read once.
        held = self.pace is not None and not (self.requests[1:] or self.request or self.queue)
        return (READ if self.lingering or held or not busy else 0) | (WRITE if self.queue else 0)

    def received(self, data: bytes) -> None:
        """Take the requests out of ``data`` and start the first."""
        self.used_at = time.monotonic()
        while data and not (self.finishing or self.closed or self._leaving):
            if self.request is None:
                self.request = RequestParser(self.server.adj)
                self._wait(self.settings.header_timeout)
            request, in_body = self.request, self.request.in_body
            taken = request.received(data)
            data = data[taken:]
            if request.in_body and not data and not self.requests:
                self._body_goes_on(request, taken if in_body else 0)
            if request.completed and not self._came_in(request, data):
                return
        if self._leaving:
            self._rest = data

    def _came_in(self, request: RequestParser, rest: bytes) -> bool:
        """Begin with the request, whole or refused; whether the rest is to be read now."""
        self._body_ended()
        self.request = None
        self.requests.append(request)
        if len(self.requests) > 1:
            request.connection_close = len(self.requests) > PIPELINE_LIMIT
            return not request.connection_close
        if not request.error and self.server.waiting >= self.settings.queue_limit:
            request.refuse(Refusal(503, "The server is busy."))
        if request.error or not self._send_from_memory(request):
            self._enqueue(request)
        elif rest and not self.requests:  # others have their turn before the next of this pipeline
            self._unread = rest
            self._call_soon(self._go_on)
            return False
        return True

    def _call_soon(self, act: Callable[[], None]) -> None:
        self.loop.call_soon(lambda: self.loop.guarded(self, act))

    def _call_later(self, seconds: float, act: Callable[[], None]) -> None:
        self.loop.call_later(seconds, lambda: self.loop.guarded(self, act))

    def _go_on(self) -> None:
        """Read what has waited in memory, and begin to wait for the rest of a body behind an answered request."""
        with self.lock:
            data, self._unread = self._unread, b""
            if data:
                self.received(data)
            elif self.request and self.request.in_body and not self.requests and self.takes_output:
                self._body_goes_on(self.request, 0)
                self._settle(self.request)

    # ---- a body that does not come at once

    def _body_goes_on(self, request: RequestParser, taken: int) -> None:
        """Give the body time by what has come of it; at its beginning, or soon after, it has to earn its place."""
        now = self.loop.now()
        if self._arriving is None:
            size = request.promised
            self._arriving = Allowance(now, self.settings.header_timeout, self.rate(size))
            at_once = size > RECEIVE_BYTES or request.expect_continue
            self._judge_at = now if at_once else now + SLOW_SECONDS
        until = self._arriving.add_bytes(now, taken)
        self.due = min(until, self._judge_at)
        if now >= self._judge_at:
            self._judge(request)

    def rate(self, size: int) -> float:
        """Bytes a second that so many have to move with."""
        return max(self.settings.min_rate, size / self.settings.transfer_timeout)

    def _judge(self, request: RequestParser) -> None:
        """Give the body a place and have the application look at the head, or refuse it."""
        self._judge_at = inf
        if self._arriving is not None:
            self.due = self._arriving.until
        if not self.server.bodies.enter(self, self._address_of(request)):
            request.refuse(Refusal(503, "Too many request bodies are arriving at once."))
        elif self._wanted_elsewhere(request):
            self._take_body(request, HANDED_BODY)
        elif self.server.check_before_body is None:
            self._take_body(request, self.settings.body_limit)
        elif self.server.waiting >= self.settings.queue_limit:
            request.refuse(Refusal(503, "The server is busy."))
        else:
            self._judging = self.loop.now()
            self._wait(self.settings.header_timeout)
            self.server.pool.put(self)

    def _hear_verdict(self, check_before_body: CheckBeforeBody) -> None:
        """Have the head judged, in a request thread."""
        request = self.request
        if request is None or not self.takes_output:
            return
        verdict: int | Answer | None = None
        environ = RequestTask(self, request).get_environment()
        try:
            verdict = check_before_body(environ)
        except Exception:
            log.exception("exception while judging the head of %s", request.path)
        with self.lock:
            waited, self._judging = self.loop.now() - (self._judging or 0), None
            if not self.takes_output or self._arriving is None:
                return
            if isinstance(verdict, int):
                self.due = self._arriving.extend(waited)
                self._take_body(request, verdict, environ.get("finapi.owners", ()))
            elif verdict is not None:
                self._body_ended()
                self._give(verdict, closes=True)
            else:
                request.refuse(Refusal(500, "The server encountered an unexpected error."))
        self._call_soon(lambda: self._settle(request))

    def _take_body(self, request: RequestParser, limit: int, owners: tuple[Hashable, ...] = ()) -> None:
        """Let up to ``limit`` bytes of the body come if there is room for them; others that hold more make room."""
        request.limit_body(limit, BODY_IN_MEMORY)
        size = min(request.promised, limit)
        if not request.error and size > RECEIVE_BYTES:
            budget = self.server.memory if limit <= BODY_IN_MEMORY else self.server.disk
            make_room = partial(self._call_soon, partial(self._refuse_body, request))
            reservation = Reservation(budget, owners or (self._address_of(request),), make_room)
            request.hold(reservation)
            if not reservation.add_displacing(size, displaces_own=False):
                request.refuse(Refusal(503, TOO_MANY_LONG_BODIES))
        if not request.error:
            self._continue()

    def _refuse_body(self, request: RequestParser) -> None:
        """Refuse a body that is still arriving: others need the room that was reserved for it."""
        with self.lock:
            if request is self.request and self.takes_output:
                self.refuse(request, Refusal(503, TOO_MANY_LONG_BODIES))

    def _address_of(self, request: RequestParser) -> str:
        """Return the address that a request counts for, which a trusted proxy may name."""
        forwarded = request.headers.get("X_FORWARDED_FOR", "")
        return self.server.address_of(self.addr[0], forwarded) or self.addr[0]

    def _settle(self, request: RequestParser) -> None:
        """Answer a request that was refused while nothing of it was read."""
        with self.lock:
            if request is self.request and request.completed and self.takes_output:
                self._came_in(request, b"")

    def _body_ended(self) -> None:
        if self._arriving is not None:
            self._arriving, self._judge_at = None, inf
            self.server.bodies.leave(self)

    def displaced(self) -> None:
        """Lose the place of the body, to one of another address."""
        with self.lock:
            if self.request is not None and self.takes_output:
                self.refuse(self.request, Refusal(503, "Too many request bodies are arriving at once."))
                self.loop.attend(self)

    def _send_from_memory(self, request: RequestParser) -> bool:
        """Send the answer from the loop if it is in memory, as a gateway would. Return whether it was."""
        if request.command != "GET" or request.version != "1.1" or self.queue or "CONTENT_LENGTH" in request.headers:
            return False
        answer = self.server.answer_from_memory(request.request_uri, request.headers, self.addr[0])
        if answer is None:
            return False
        self.drop_requests()
        self._give(answer, closes=self.server.stopping or request.connection_close)
        return True

    def _give(self, answer: Answer, closes: bool) -> None:
        status, headers, body = answer
        self.send((head(status, [*headers, ("Connection", "close")] if closes else headers), body))
        if closes:
            self.finish()
        if not self._blocked:
            self._wait(self.settings.channel_timeout)

    def _enqueue(self, request: RequestParser) -> None:
        """Have the first request answered; in the loop or, for a pipelined one, in the thread of the one before.

        If an answer before it has not left yet, it is dropped and the connection closed after that: else a client that
        sends requests and reads nothing could have any number of answers spooled.
        """
        # What came in behind it has been read as another request, unless nothing has.
        alone = len(self.requests) == 1 and self.request is None
        if self.queue:
            self.drop_requests()
            self.finish()
        elif request.error:
            self.refuse(request, request.error)
            self.drop_requests()
        elif alone and self._wanted_elsewhere(request):
            self._leaving = True
            self.loop.call_soon(self._hand_over)
        else:
            self.task = None
            self.due = self.loop.now() + self.settings.server_timeout
            self.server.pool.put(self)

    def _wanted_elsewhere(self, request: RequestParser) -> bool:
        elsewhere, accept = self.server.take_over, request.headers.get("ACCEPT", "")
        return elsewhere is not None and elsewhere.wants(request.command, request.path, accept)

    def _hand_over(self) -> None:
        if self.closed or self.server.take_over is None:
            return
        request = self.requests[0]
        body = request.get_body_stream().read(HANDED_BODY)
        sock = self.detach()
        self.drop_requests()
        path, query = request.path.rstrip("/"), query_of(request.query)
        headers = {name.replace("_", "-").lower(): value for name, value in request.headers.items()}
        handed = HandedOver(sock, self.addr[0], request.command, path, query, headers, body, self._rest)
        try:
            self.server.take_over.take(handed)
        except Exception:  # or it would end the loop
            log.exception("%s could not be handed over", path)
            sock.close()

    def _continue(self) -> None:
        """Tell a client that waits to be told that it may send the body (RFC 9110 section 10.1.1)."""
        if self.request is not None and self.request.expect_continue and self.request.in_body and not self.requests:
            self.request.expect_continue = False
            self.send((b"HTTP/1.1 100 Continue\r\n\r\n",))

    def _wait(self, seconds: float) -> None:
        if not self.requests and not self.lingering:  # else the deadline is that of the running call
            self.due = self.loop.now() + seconds

    # ---- what goes out

    def serve(self) -> None:
        """Answer the first request, and have those pipelined behind it answered; in a request thread."""
        if self._judging is not None:
            assert self.server.check_before_body is not None
            self._hear_verdict(self.server.check_before_body)
            return
        request, self.pace, self._when_sent = self.requests[0], None, None
        self._call_began_at, self._paused_seconds = self.loop.now(), 0.0
        self.task = task = RequestTask(self, request)
        try:
            if self.takes_output:
                task.run(self.due)
        except ClientGone:
            task.close_on_finish = True
        except Exception:
            log.exception("exception while serving %s", request.path)
            task.close_on_finish = True
            with self.lock:
                if not task.wrote_header and self.takes_output:
                    self.refuse(request, Refusal(500, "The server encountered an unexpected error."))
        if self.pace is None or not self.takes_output:
            self.call_over()
        else:
            self._call_soon(partial(self.pace.begin, self, self._call_later))

    def hold_back(self, *asked: Any) -> None:
        """Let out the answer that is made as :class:`PacedAnswer` does."""
        self.pace = PacedAnswer(*asked)

    def call_over(self) -> None:
        """End the call: close, or go on with the next request or the body that is coming in."""
        self.pace = None
        closes = self.task is None or self.task.close_on_finish
        with self.lock:
            if not closes and self.takes_output:
                self.send(())  # a head without a body
                self.requests.pop(0).close()
            self._call_back_when_sent()
            if closes or not self.takes_output:
                self.drop_requests()
                self.finish()
            elif self.requests:
                self._enqueue(self.requests[0])
            elif self.request is not None and self.request.in_body:
                self._call_soon(self._go_on)
            if self._unsent is None:
                self._wait(self.settings.header_timeout if self.request else self.settings.channel_timeout)
            elif not self.requests:
                self.due = self._unsent.allowance.until
        self.loop.attend(self)

    def abandon(self) -> None:
        """Close, as soon as the loop comes to it."""
        with self.lock:
            self.drop_requests()
            self.broken = True
        self.loop.attend(self)

    def reset(self) -> None:
        """Break the connection off, so that its other end is told of an error."""
        with self.lock:
            if not self.closed:
                break_off(self.sock)
        self.abandon()

    def check_client_disconnected(self) -> bool:
        """What waitress's task gives to the application as ``waitress.client_disconnected``."""
        return not self.takes_output

    def write_soon(self, data: bytes | ReadOnlyFileBasedBuffer) -> None:
        """Send a part of the application's answer, or its body in a file. Raise ClientGone if it is not taken."""
        if isinstance(data, ReadOnlyFileBasedBuffer):
            self._send_file(data)
        elif self.pace is not None and self.takes_output:
            self.pace.hold(data)
        else:
            self.put(data)

    def put(self, data: bytes) -> None:
        """Send a part of an answer, or store it until the client reads on. Raise ClientGone if it is not taken.

        If there is no room for it, the calling thread waits until the client has read all that was sent before.
        """
        try:
            with self.lock:
                self._put(data)
        except ClientGone:
            raise
        except Exception:
            self.cut = FAILED
            raise

    def _put(self, data: bytes) -> None:
        self._require_output()
        if self._unsent is not None and self._unsent.is_in_file:
            if self._unsent.append(data, displaces=self._has_length):
                return
            self._wait_for_reader()
        if self.task is not None and not self.task.wrote_header:
            self.queue.append(data)  # sent with the body's first part, which follows
            return
        self.send((data,))
        if self._unsent is None or self._environ.get("finapi.resident"):
            return
        if not self._unsent.store(self.queue, displaces=self._has_length):
            self._wait_for_reader()

    def _send_file(self, body: ReadOnlyFileBasedBuffer) -> None:
        """Send a file from where it is, as the client reads it; no thread waits for that."""
        with self.lock:
            if not self.takes_output:
                body.close()
                raise ClientGone
            self._body_file = body
            self.send(())

    def _require_output(self) -> None:
        if not self.takes_output:
            raise ClientGone

    @property
    def _environ(self) -> dict[str, Any]:
        """The environ of the call that is being answered, in which the application describes its answer."""
        return (self.task and self.task.environ) or {}

    @property
    def _has_length(self) -> bool:
        """Return True if the length of the answer is known: it is complete, not streamed."""
        return self.task is not None and self.task.content_length is not None

    @property
    def has_unsent(self) -> bool:
        """Return True if the client has not read all of the answer yet."""
        return self._unsent is not None

    # ---- a client that reads slowly

    def _begin_unsent(self) -> UnsentAnswer:
        size = sum(map(len, self.queue))
        allowance = Allowance(self.loop.now(), self.settings.channel_timeout, self.rate(size))
        owners = self._environ.get("finapi.owners")
        if owners is None:
            owners = (self._address_of(self.requests[0]) if self.requests else self.addr[0],)
        memory = Reservation(self.server.memory, owners, partial(self._call_soon, self._free_memory))
        return UnsentAnswer(allowance, memory, Reservation(self.server.disk, owners, self.displace))

    def _free_memory(self) -> None:
        """Move an unsent answer to a file: others need the memory."""
        with self.lock:
            unsent = self._unsent
            if unsent is None or unsent.is_in_file or self.closed:
                return
            if not unsent.move_to_file(self.queue, displaces=True):
                self.displace()

    def displace(self) -> None:
        """Close the connection, as soon as the loop comes to it: others need the room of what its client does not read.

        That is the client's own doing, and no reason to refund its call.
        """
        log.info("closed a connection of %s that reads its answer too slowly", self.address or self.addr[0])
        self.broken = True
        self.loop.call_soon(lambda: self.loop.attend(self))

    def _wait_for_reader(self) -> None:
        """Wait until the client has taken all that is unsent. Raise ClientGone if it does not.

        The lock is held by the caller, and released while this waits. The loop itself never waits.
        """
        if self._unsent is None or self.loop.is_current_thread:
            return
        if self._reader_moved is None:
            self._reader_moved = threading.Condition(self.lock)
        self.server.pool.replace(self)
        self.server.paused.enter_displacing(self, *self._unsent.owners)
        self._environ.get("finapi.paused", int)()
        self._paused_at, self._call_due_at = self.loop.now(), self.due
        self.due = min(self._call_due_at, self._unsent.allowance.until)
        try:
            while self._unsent is not None and self.takes_output:
                self._reader_moved.wait()
        finally:
            self._paused_seconds += self.loop.now() - self._paused_at
            self._paused_at, self.due = None, self._call_due_at
            self.server.paused.leave(self)
        self._require_output()

    def _client_is_late(self) -> bool:
        """Return whether it is the client, and not the application, that took the most of a call's time."""
        now = self.loop.now()
        paused_seconds = self._paused_seconds
        if self._paused_at is not None:
            if self._unsent is not None and now >= self._unsent.allowance.until:
                return True
            paused_seconds += now - self._paused_at
        return paused_seconds > (now - self._call_began_at) / 2

    def _end_unsent(self) -> None:
        """Release the stored part of an answer that has left, or no longer can."""
        if self._unsent is not None:
            self._unsent.release()
            self._unsent = None
        if self._reader_moved is not None:
            self._reader_moved.notify_all()

    def refill(self) -> bool:
        """Put the next part of a stored answer into the queue. Return False if there is none."""
        chunk = b""
        if self._body_file is not None:
            chunk = self._body_file.get(READ_BYTES, skip=True)
            if not chunk:
                if self._body_file.remain:  # the file is shorter than its head has said
                    self.broken, self.cut = True, FAILED
                self._close_body_file()
        elif self._unsent is not None:
            chunk = self._unsent.read()
        if chunk:
            self.queue.append(chunk)
        return bool(chunk)

    def _close_body_file(self) -> None:
        if self._body_file is not None:
            self._body_file.close()
            self._body_file = None

    # ---- the end of an answer, for calls that depend on it

    def call_when_sent(self, callback: Callable[[], object]) -> None:
        """Have a function called, in a request thread, when the answer has left or can no longer leave.

        It is called when the time of a call is over in any case, however slowly the client reads.
        """
        self._when_sent = callback

    def _call_back_when_sent(self) -> None:
        callback, self._when_sent = self._when_sent, None
        if callback is None:
            return
        self._after_sending = callback
        if self._unsent is None or self.closed or self.broken:
            self._answer_ended(callback)
        else:
            seconds = self._call_began_at + self.settings.server_timeout - self.loop.now()
            self._call_soon(lambda: self._call_later(seconds, lambda: self._answer_ended(callback)))

    def _answer_ended(self, callback: Callable[[], object] | None) -> None:
        """Have this function called, unless it has been."""
        with self.lock:
            if callback is not None and callback is self._after_sending:
                self._after_sending = None
                self.server.pool.put(SentAnswer(callback))

    def refuse(self, request: RequestParser, refusal: Refusal) -> None:
        """Answer in the application's place, and close."""
        asked = Asked(request.command, request.request_uri, request.client_request_id, self.addr[0])
        self._refuse(request, refusal.code, *self.server.error_response(refusal.code, refusal.body, asked))

    def _refuse(self, request: RequestParser, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._body_ended()
        headers = [*headers, ("Retry-After", "1")] if status == 503 else headers
        written, body = last_answer(status, headers, body)
        self.send_last(written, b"" if request.header_plus.startswith(b"HEAD ") else body)

    def cut_off(self) -> None:
        """Answer 503 to what is still without an answer: the server stops."""
        with self.lock:
            if self.requests and self.takes_output and not (self.task is not None and self.task.wrote_header):
                self._overrun(self.requests[0], 503, STOPPING)
                self.loop.attend(self)
            elif self.requests or self._unsent is not None:
                self.cut = STOPPING

    def _overrun(self, request: RequestParser, status: int = 504, reason: str = OVERRUN) -> None:
        """Answer 504, in the words of the application where it has begun; an answer that it has made is waited for."""
        environ = self.task.environ if self.task is not None else None
        give_up = environ.get("finapi.give_up") if environ else None
        if give_up is None:
            self.refuse(request, Refusal(status, reason))
        elif (answer := give_up(status)) is not None:
            self._refuse(request, status, *answer)
        else:
            self.due = self.loop.now() + self.settings.header_timeout

    def _flush(self) -> None:
        super()._flush()
        if self._blocked:
            if self._unsent is None:
                self._unsent = self._begin_unsent()
        else:
            self._end_unsent()
            self._answer_ended(self._after_sending)

    def _take(self, sent: int) -> None:
        super()._take(sent)
        self.used_at = time.monotonic()
        if self._unsent is None:
            self._wait(self.settings.channel_timeout)
        elif not self.lingering:
            until = self._unsent.allowance.add_bytes(self.loop.now(), sent)
            if not self.requests:
                self.due = until
            elif self._paused_at is not None:
                self.due = min(until, self._call_due_at)

    # ---- how it ends

    def expired(self) -> None:
        """Close, refuse or answer in the application's place, because the deadline has passed."""
        with self.lock:  # else an answer may begin between the look at it and the refusal
            if (self.requests or self._judging is not None) and self._paused_at is None:
                self.server.pool.give_up(self)
            answering = self.requests and self.task is not None and self.task.wrote_header
            if answering and not self._client_is_late():
                self.cut = OVERRUN
            if self.queue or self.finishing or answering:
                self.close()  # nobody reads, or closes, or an answer has stopped half-way
            elif self.requests:
                self._overrun(self.requests[0])
            elif self._judging is not None and self.request:
                self.refuse(self.request, Refusal(503, "The server is busy."))
            elif self.request and self.loop.now() >= self._judge_at:
                self._judge(self.request)
                self._settle(self.request)
            elif self.request:
                self.refuse(self.request, Refusal(408, "The request did not arrive in time."))
            else:
                self.close()

    def gone(self) -> None:
        """Release requests and answers that are incomplete."""
        self.server.share[self.address] -= 1
        if not self.server.share[self.address]:
            del self.server.share[self.address]
        self._body_ended()
        if self.request is not None:
            self.request.close()
        self._close_body_file()
        self._end_unsent()
        self._answer_ended(self._after_sending)

    def failed(self) -> None:
        """Close after an error in the loop. The client is not the reason."""
        self.cut = self.cut or FAILED
        super().failed()

    def drop_requests(self) -> None:
        """Forget every request, and the temporary files of their bodies."""
        for request in self.requests:
            request.close()
        self.requests.clear()

    @property
    def idle(self) -> bool:
        """Whether no answer is on its way, and no body either."""
        in_body = self.request is not None and self.request.in_body
        return self.lingering or not (self.requests or self.queue or in_body)

    @property
    def may_go(self) -> bool:
        """Whether it may make room for another: it is idle, or its answer has not moved for a while."""
        return self.idle or (not self.requests and time.monotonic() - self.used_at > STALLED_SECONDS)


class SentAnswer:
    """A job for a request thread: the callback of a call whose answer has left, or no longer can."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback

    def serve(self) -> None:
        """Call back."""
        self._callback()

    def abandon(self) -> None:
        """Do nothing: the pool has logged the failure."""


class Listener:
    """A bound server. Run it in one thread, stop it from any.

    The application finds ``finapi.deadline``, a time of ``monotonic``, in its environ: from then on the client is
    answered 504 and what the application returns is dropped. It may put a function into it as ``finapi.give_up``, which
    gives the headers and the body of that 504, or of the 503 of a stop; None when its own answer is on its way.
    ``finapi.cut`` returns why the server itself has ended an answer that was on its way, "" where the client did, or
    read it too slowly. ``finapi.when_sent`` takes a function that is called when the answer has left, or never will.
    ``finapi.pace``, called with the parameters of :class:`PacedAnswer`, has the answer held back.

    The application may put more into the environ: ``finapi.owners``, a tuple of the address and the account that an
    unsent answer counts for; ``finapi.resident``, true of a body that is in memory as long as the process, which takes
    no room then; ``finapi.paused``, a function that is called when its thread has to wait for the client to read.

    Connections whose request ``take_over`` wants leave the server with it. A GET without query or body that
    ``answer_from_memory`` answers comes before any that wait for a thread. A body that does not come with its head is
    taken as ``check_before_body`` says.
    """

    def __init__(
        self,
        application: WSGIApplication,
        settings: ListenSettings,
        error_response: ErrorResponse,
        monotonic: Callable[[], float] = time.monotonic,
        take_over: TakeOver | None = None,
        answer_from_memory: AnswerFromMemory = lambda target, headers, peer: None,
        check_before_body: CheckBeforeBody | None = None,
        address_of: AddressOf = lambda peer, forwarded: peer,
    ) -> None:
        """Bind the address; OSError if it cannot be bound."""
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        both = settings.host == "::" and socket.has_dualstack_ipv6()
        address, backlog = (settings.host, settings.port), settings.backlog
        sock = socket.create_server(address, family=family, dualstack_ipv6=both, backlog=backlog)
        # Inherited by every connection: else the kernel holds megabytes of each answer that nobody reads.
        sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_IN_KERNEL)
        self.application = application
        self.settings = settings
        self.error_response = error_response
        self.take_over = take_over
        self.answer_from_memory = answer_from_memory
        self.check_before_body = check_before_body
        self.address_of = address_of
        self.share: Counter[str | None] = Counter()  # connections by address
        self.bodies = Places(settings.bodies_at_once, settings.bodies_per_address, HttpConnection.displaced)
        self.memory = ByteBudget(settings.held_limit)
        self.disk = ByteBudget(settings.spool_limit)
        self.paused = Places(settings.paused_limit, settings.paused_per_owner, HttpConnection.displace)
        self.stopping = False
        self._stop_by = inf
        # Deadlines are looked at this often: a quarter of the shortest, a second at most.
        timeouts = (settings.channel_timeout, settings.header_timeout, settings.server_timeout)
        self.loop = Loop(monotonic, min(1.0, *(seconds / 4 for seconds in timeouts)))
        self.pool: ThreadPool[HttpConnection | SentAnswer] = ThreadPool(
            settings.threads, lambda job: job.serve(), lambda job: job.abandon()
        )
        self.adj = Adjustments(  # waitress's own settings, as far as its parser and its task ask for them
            listen="",  # it would look up the address that is its default
            ident="",
            max_request_header_size=settings.header_limit,
            max_request_body_size=settings.body_limit,
        )
        self.host, self.port = sock.getsockname()[:2]
        self.server_name, self.effective_port = settings.host, self.port  # as waitress's task asks
        self.url = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        self._socket = ListeningSocket(self, sock, partial(HttpConnection, self))

    @property
    def waiting(self) -> int:
        """Requests that have come in whole and wait for a thread."""
        return len(self.pool)

    @property
    def connections(self) -> list[HttpConnection]:
        """Those that are open."""
        return [one for one in self.loop.connections if isinstance(one, HttpConnection)]

    def run(self) -> None:
        """Serve until :meth:`stop`, then release everything but a thread that is stuck in a call."""
        if self.settings.core is not None:
            # Of this thread, and of those that it starts: the interpreter lock is then not passed between cores.
            os.sched_setaffinity(0, {self.settings.core})
        try:
            while not self.stopping:
                self._socket.look()  # whether there is room for another connection
                self.loop.step(self.loop.tick)
            self._socket.close()
            self._drain(self._stop_by)
            for connection in self.connections:
                connection.cut_off()
            self._drain(self.loop.now() + LAST_SECONDS)
        finally:
            self.close()

    def stop(self, grace: float = 5.0) -> None:
        """Make :meth:`run` return; from any thread, or from a signal handler.

        Nothing more is accepted, idle connections are closed, and whole requests have ``grace`` seconds to be answered.
        """
        self._stop_by = self.loop.now() + grace
        self.stopping = True
        self.loop.wake()

    def close(self) -> None:
        """Release everything, as :meth:`run` does at its end; for a listener that was never run."""
        self.loop.close()
        left = self.pool.stop(timeout=0.2)
        if left:
            log.warning("%d request threads are still in a call", left)

    def _drain(self, until: float) -> None:
        while self._open_at_stop() and self.loop.now() < until:
            self.loop.step(min(self.loop.tick, 0.05))

    def _open_at_stop(self) -> bool:
        """Whether connections are left when those are closed whose answer is given."""
        for connection in self.connections:
            if not connection.queue and (connection.finishing or connection.pace or not connection.requests):
                connection.close()
        return bool(self.loop.connections)
