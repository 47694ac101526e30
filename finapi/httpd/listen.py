"""The HTTP server: waitress's parser and task over a loop of our own; strict, bounded in every direction, stoppable.

The loop's thread reads requests, keeps the deadlines and alone closes a connection; a thread of the pool calls the
application and sends its answer. An answer that is not the application's comes from the caller's ``error_response``,
so that this module knows nothing of its shape.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from waitress.adjustments import Adjustments
from waitress.buffers import TempfileBasedBuffer

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
from finapi.httpd.shares import Allowance, ByteBudget, Places

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

log = logging.getLogger("finapi.httpd")

PIPELINE_LIMIT = 32  # requests taken in behind one; a client repeats the rest (RFC 9112 section 9.3.2)
BODY_IN_MEMORY = 1_048_576  # bytes of a body that the application takes no more of; a longer one is spooled
OUTPUT_IN_MEMORY = 1_048_576  # bytes of an answer that waits for its reader; a longer one waits in a file
OUTPUT_FREE = 65_536  # bytes of that which every connection may hold, whatever the others do
UNSENT_IN_KERNEL = 65_536  # bytes of an answer that the kernel takes beyond what is under way to the client
READ_BACK_BYTES = 131_072  # of that file at once
SLOW_SECONDS = 0.5  # after which a body of one read is one that takes its time
STALLED_SECONDS = 5.0  # without a byte taken, after which an answer's reader may make room for others

LAST_SECONDS = 0.5  # at a stop, for what is cut off to be told so
STOPPING = "The server is stopping."
OVERRUN = "The request took too long and was abandoned."

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
        self._unsent: Allowance | None = None  # for the answer that waits for its reader
        self._held = 0  # bytes of it taken from the server's budget of memory
        self._spooled = 0  # and of files
        self.cut = ""  # why the server ends an answer before its end
        self.pace: PacedAnswer | None = None  # of the answer that is made, where the application asked for one
        self._overflow: Any = None  # waitress's buffer in a file: what is to be sent after the queue
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
        until = self._arriving.moved(now, taken)
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
        address = self.server.address_of(self.addr[0], request.headers.get("X_FORWARDED_FOR", ""))
        if not self.server.bodies.enter(self, address or self.addr[0]):
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
        try:
            verdict = check_before_body(RequestTask(self, request).get_environment())
        except Exception:
            log.exception("exception while judging the head of %s", request.path)
        with self.lock:
            waited, self._judging = self.loop.now() - (self._judging or 0), None
            if not self.takes_output or self._arriving is None:
                return
            if isinstance(verdict, int):
                self.due = self._arriving.longer(waited)
                self._take_body(request, verdict)
            elif verdict is not None:
                self._body_ended()
                self._give(verdict, closes=True)
            else:
                request.refuse(Refusal(500, "The server encountered an unexpected error."))
        self._call_soon(lambda: self._settle(request))

    def _take_body(self, request: RequestParser, limit: int) -> None:
        """Let the body come: so many bytes of it, within what is held for everybody."""
        request.limit_body(limit, BODY_IN_MEMORY)
        size = min(request.promised, limit)
        budget = self.server.held if limit <= BODY_IN_MEMORY else self.server.spooled
        if request.error or size <= RECEIVE_BYTES:
            pass
        elif budget.take(size):
            request.hold(budget, size)
        else:
            request.refuse(Refusal(503, "Too many long request bodies are arriving at once."))
        if not request.error:
            self._continue()

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
        request, self.pace = self.requests[0], None
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
                self.due = self._unsent.until
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

    def write_soon(self, data: bytes) -> None:
        """Send a part of the application's answer, its head with what follows; ClientGone when nobody takes it."""
        if self.pace is not None and self.takes_output:
            self.pace.hold(data)
        else:
            self.put(data)

    def put(self, data: bytes) -> None:
        """Send it now."""
        with self.lock:
            if not self.takes_output:
                raise ClientGone
            if self._overflow is not None:
                self._spool(data)
            elif self.task is not None and not self.task.wrote_header:  # it is sent with what follows
                self.queue.append(data)
            else:
                self.send((data,))
                if self._blocked:
                    self._hold()

    def _hold(self) -> None:
        """Keep what waits for its reader in memory as long as there is room for it, then in a file."""
        waiting = sum(map(len, self.queue))
        more = waiting - max(self._held, OUTPUT_FREE)
        if more <= 0:
            return
        if waiting <= OUTPUT_IN_MEMORY and self.server.held.take(more):
            self._held = max(self._held, OUTPUT_FREE) + more
            return
        self._overflow = TempfileBasedBuffer()
        while self.queue:
            self._spool(self.queue.popleft())
        self.refill()

    def _spool(self, data: bytes | memoryview) -> None:
        if not self.server.spooled.take(len(data)):
            self.broken = True
            self.cut = "There is no room for so much that nobody reads."
            raise ClientGone
        self._spooled += len(data)
        self._overflow.append(data)

    def refill(self) -> bool:
        """Whether there was more to send in the file."""
        if self._overflow is None:
            return False
        if chunk := self._overflow.get(READ_BACK_BYTES, skip=True):
            self.queue.append(chunk)
        else:
            self._release()
        return bool(chunk)

    def _release(self) -> None:
        """Give back what was held of the answer."""
        if self._overflow is not None:
            self._overflow.close()
            self._overflow = None
        if self._spooled:
            self.server.spooled.give(self._spooled)
        if self._held:
            self.server.held.give(self._held - OUTPUT_FREE)
        self._spooled = self._held = 0

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
            elif self.requests:
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
        if not self._blocked:
            if self._unsent is not None:
                self._unsent = None
                self._release()
        elif self._unsent is None:  # a slow reader, or one that never will
            size = sum(map(len, self.queue))
            self._unsent = Allowance(self.loop.now(), self.settings.channel_timeout, self.rate(size))

    def _take(self, sent: int) -> None:
        super()._take(sent)
        self.used_at = time.monotonic()
        if self._unsent is None:
            self._wait(self.settings.channel_timeout)
        elif not self.requests and not self.lingering:
            self.due = self._unsent.moved(self.loop.now(), sent)

    # ---- how it ends

    def expired(self) -> None:
        """End what has lasted until the deadline."""
        with self.lock:  # else an answer may begin between the look at it and the refusal
            if self.requests or self._judging is not None:
                self.server.pool.give_up(self)
            answering = self.requests and self.task is not None and self.task.wrote_header
            self.cut = OVERRUN if answering else ""
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
        """Release what is half received or half sent."""
        self.server.share[self.address] -= 1
        if not self.server.share[self.address]:
            del self.server.share[self.address]
        self._body_ended()
        if self.request is not None:
            self.request.close()
        self._release()

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


class Listener:
    """A bound server. Run it in one thread, stop it from any.

    The application finds ``finapi.deadline``, a time of ``monotonic``, in its environ: from then on the client is
    answered 504 and what the application returns is dropped. It may put a function into it as ``finapi.give_up``, which
    gives the headers and the body of that 504, or of the 503 of a stop; None when its own answer is on its way.
    ``finapi.cut`` says why the server has ended an answer that was on its way, or nothing. ``finapi.pace``, called with
    the parameters of :class:`PacedAnswer`, has the answer held back.
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
        self.held, self.spooled = ByteBudget(settings.held_limit), ByteBudget(settings.spool_limit)
        self.stopping = False
        self._stop_by = inf
        # Deadlines are looked at this often: a quarter of the shortest, a second at most.
        timeouts = (settings.channel_timeout, settings.header_timeout, settings.server_timeout)
        self.loop = Loop(monotonic, min(1.0, *(seconds / 4 for seconds in timeouts)))
        self.pool: ThreadPool[HttpConnection] = ThreadPool(
            settings.threads, HttpConnection.serve, HttpConnection.abandon
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
