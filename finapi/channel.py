"""One connection of the HTTP server: its requests in turn, its deadlines, and how it ends.

The loop's thread owns a connection and alone closes it; a task thread only appends to its output.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from wsgiref.types import WSGIEnvironment

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, WSGITask, hop_by_hop
from waitress.utilities import build_http_date, logger

from finapi.handover import HANDED_BODY, HandedOver
from finapi.wire import Refusal, RequestParser

PIPELINE_LIMIT = 32  # requests taken in behind one; a client repeats the rest (RFC 9112 section 9.3.2)
LINGER_SECONDS = 5.0  # for the client to read the last answer and close; as nginx's lingering_timeout
RECEIVE_BYTES = 65_536  # per read: with waitress's 8,192 a full body takes 6,400 rounds of the loop
JOINED_BYTES = 65_536  # of an answer that leaves with its head: one packet and one system call less


def _wants_close(request: RequestParser) -> bool:
    # A list (RFC 9110 section 7.6.1); waitress looks for a single word.
    said = request.headers.get("CONNECTION")
    return said is not None and "close" in re.split("[ \t,]+", said.lower())


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return str(build_http_date(second))


def _head(status: str, headers: Sequence[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status}", *[f"{name}: {value}" for name, value in headers]]
    lines.append(f"Date: {_date(int(time.time()))}\r\n\r\n")
    return _unbroken("\r\n".join(lines).encode("latin-1"), len(lines) + 1)


def _unbroken(head: bytes, lines: int) -> bytes:
    """``head``, which has so many lines: with more a header would be two."""
    if not head.count(b"\r") == head.count(b"\n") == lines:
        raise ValueError("a header of the answer holds a line break")
    return head


class _Task(WSGITask):  # type: ignore[misc]
    """A call of the application."""

    chunked_response: bool
    complete: bool
    wrote_header: bool
    content_length: int | None

    def service(self) -> None:
        # waitress's own swallows an OSError for the client's, but here only the application raises any.
        self.start()
        self.execute()
        self.finish()
        # From here, so that the loop need not be woken for it.
        self.channel.flush()

    def get_environment(self) -> WSGIEnvironment:
        channel = self.channel
        return {
            **channel.server.environ,
            **self.request.environ,
            "REMOTE_ADDR": channel.addr[0],
            "REMOTE_PORT": str(channel.addr[1]),
            "finapi.deadline": channel.deadline,
        }

    def build_response_header(self) -> bytes:
        self.channel.answering = True
        if _wants_close(self.request) or self.channel.server.stopping:
            self.set_close_on_finish()
        if self.version == "1.1" and (self.content_length is not None or not self.has_body):
            # waitress's own takes three times as long, and ends the connection after a 304.
            return _head(self.status, self.response_headers)
        # The status line, the headers, and the empty line.
        header: bytes = super().build_response_header()
        return _unbroken(header, len(self.response_headers) + 2)

    def execute(self) -> None:
        """Call the application and write what it gives (PEP 3333)."""
        # waitress's own asks every header seven things, which takes longer than a call of ours.
        pieces = self.channel.server.application(self.get_environment(), self._start_response)
        try:
            for piece in pieces:
                if piece:
                    self.write(piece)
        finally:
            if hasattr(pieces, "close"):
                pieces.close()
        if self.request.command != "HEAD" and self.content_bytes_written < (self.content_length or 0):
            logger.warning("an answer is shorter than its Content-Length")
            self.set_close_on_finish()

    def _start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        if exc_info and self.wrote_header:
            raise exc_info[1]
        if self.complete and not exc_info:
            raise RuntimeError("start_response is called a second time")
        named = {name.lower(): value for name, value in headers}
        if not hop_by_hop.isdisjoint(named):
            raise ValueError("a header of the answer is for the server to give")
        self.complete, self.status, self.response_headers = True, status, list(headers)
        self.content_length = int(named["content-length"]) if "content-length" in named else None
        return self.write

    def write(self, data: bytes) -> None:
        body = self.request.command != "HEAD"
        if not self.wrote_header and body and len(data) <= (self.content_length or -1) <= JOINED_BYTES:
            head = self.build_response_header()
            self.wrote_header, self.content_bytes_written = True, len(data)
            self.channel.write_soon(head + data)
            return
        super().write(data if body else b"")
        self.chunked_response = self.chunked_response and body  # else finish() writes the last chunk


class _ErrorTask(ErrorTask):  # type: ignore[misc]
    """A refusal that waits behind pipelined requests, or the 500 of an application that raised."""

    def execute(self) -> None:
        error, channel = self.request.error, self.channel
        self.wrote_header = self.close_on_finish = channel.answering = True
        # channel.requests[0], as self.request is an empty one that waitress made for the 500.
        channel.write_soon(channel.server.error_bytes(channel.requests[0], error.code, error.body))


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, in turn waiting for a head, a body, a thread's answer, its reader, the client's close."""

    task_class = _Task
    error_task_class = _ErrorTask
    parser_class = RequestParser
    request: RequestParser | None
    socket: Any
    connected: bool
    close_when_flushed: bool
    answering = False  # the application's answer has begun: too late for another
    leaving = False  # its request is one to hand it over for
    rest = b""  # that came in behind that request
    drain: int | None = None  # once lingering: bytes that may still come in, and are dropped

    def __init__(self, server: Any, sock: socket.socket, addr: Any, adj: Adjustments, map: Any) -> None:
        self.settings = server.settings
        self.now = server.monotonic
        self.deadline = self.now() + self.settings.header_timeout  # of whatever it waits for; see expire()
        super().__init__(server, sock, addr, adj, map=map)

    def readable(self) -> bool:
        """Whether the loop is to tell of input."""
        return self.drain is not None or super().readable()

    def handle_read(self) -> None:
        """Take in what has come; once lingering, drop it."""
        if self.drain is None:
            super().handle_read()
            return
        try:
            self.drain -= len(self.recv(RECEIVE_BYTES))  # at the client's end recv() closes
        except OSError:
            self.drain = -1
        if self.drain < 0:
            self.handle_close()

    def received(self, data: bytes) -> None:
        """Take the requests out of ``data`` and start the first."""
        with self.requests_lock:
            while data and self.connected and not self.close_when_flushed:
                if self.request is None:
                    self.request = RequestParser(self.adj)
                    self._wait(self.settings.header_timeout)
                request, in_body = self.request, self.request.headers_finished
                taken = request.received(data)
                data = data[taken:]
                if request.headers_finished and not (
                    in_body or request.completed or self.server.takes_a_body()
                ):
                    refusal = Refusal(503, "Too many request bodies are arriving at once.")
                    request.error, request.completed = refusal, True
                if request.completed:
                    self.request, self.sent_continue = None, False
                    self.requests.append(request)
                    if len(self.requests) == 1:
                        self._start(request)
                        if self.leaving:
                            self.rest = data
                            return
                    elif len(self.requests) > PIPELINE_LIMIT:
                        request.headers["CONNECTION"] = "close"
                        return
                elif in_body:  # every byte buys time, up to the full measure
                    left = self.deadline - self.now() + taken / self.settings.min_rate
                    self._wait(min(left, self.settings.header_timeout))
                elif request.headers_finished:
                    self._wait(self.settings.header_timeout)
                    if request.expect_continue and not self.requests:  # else service() does it
                        self.send_continue()

    def _start(self, request: RequestParser) -> None:
        refusal = request.error
        if not refusal and self.server.task_dispatcher.queue.qsize() >= self.settings.queue_limit:
            refusal = Refusal(503, "The server is busy.")
        if not refusal:
            if not self._answered_at_once(request):
                self.server.add_task(self)
            return
        self._refuse(request, refusal.code, refusal.body)
        self.drop_requests()

    def _answered_at_once(self, request: RequestParser) -> bool:
        """Whether the application had the answer in memory: it is then sent from here, as a gateway would."""
        if request.command != "GET" or request.version != "1.1" or self.total_outbufs_len:
            return False
        if "CONTENT_LENGTH" in request.headers:
            return False
        answer = self.server.at_once(request.request_uri, request.headers, self.addr[0])
        if answer is None:
            return False
        status, headers, body = answer
        ends = self.server.stopping or _wants_close(request)
        payload = _head(status, [*headers, ("Connection", "close")] if ends else headers) + body
        self.drop_requests()
        with self.outbuf_lock:
            self.outbufs[-1].append(payload)
            self.total_outbufs_len += len(payload)
            self.close_when_flushed = ends
        # What the socket takes now is out of the way of a request that came in behind this one.
        self.flush()
        self._wait(self.settings.channel_timeout)
        return True

    def hand_over(self) -> HandedOver:
        """Leave the server: everything of the connection but its socket is released."""
        request = self.requests[0]
        body = request.get_body_stream().read(HANDED_BODY)
        sock = self.socket
        self.del_channel()
        self.socket, self.connected = None, False
        self.drop_requests()
        for outbuf in self.outbufs:
            outbuf.close()
        headers = {name.replace("_", "-").lower(): value for name, value in request.headers.items()}
        return HandedOver(
            sock, self.addr[0], request.command, request.path, request.query, headers, body, self.rest
        )

    def drop_requests(self) -> None:
        """Forget every request, and the temporary files of their bodies."""
        for request in self.requests:
            request.close()
        self.requests.clear()

    def _wait(self, seconds: float) -> None:
        if not self.requests:  # else the deadline is that of the running call
            self.deadline = self.now() + seconds

    def service(self) -> None:
        """Answer the first request and those pipelined behind it; in a task thread."""
        serving = self.server.serving
        serving.channel = self
        try:
            super().service()
        finally:
            serving.channel = None
        with self.requests_lock:
            if self.drain is None:
                self._wait(self.settings.header_timeout if self.request else self.settings.channel_timeout)

    def add_channel(self, map: Any = None) -> None:
        """Begin to be watched."""
        super().add_channel(map)
        self.server.ready.changed.append(self)

    def del_channel(self, map: Any = None) -> None:
        """Be watched no longer."""
        self.server.ready.forget(self._fileno)
        super().del_channel(map)

    def flush(self) -> None:
        """Send what the socket takes now, from any thread. What is left, or goes wrong, is for the loop."""
        if self.total_outbufs_len:
            self._flush_exception(self._flush_some_if_lockable, do_close=False)

    @property
    def needs_the_loop(self) -> bool:
        """Whether the loop has anything to do for it, now that its answer is made."""
        return bool(self.writable() or not self.server.ready.watches_input(self._fileno))

    def writable(self) -> bool:
        """Whether the loop is to tell of room for output."""
        return self.drain is None and bool(super().writable())

    def handle_write(self) -> None:
        """Send what there is, and go on to whatever comes after it."""
        before = self.total_outbufs_len
        self._flush_exception(self._flush_some_if_lockable)
        if self.will_close:
            self.handle_close()
        elif self.total_outbufs_len:
            if self.total_outbufs_len < before:
                self._wait(self.settings.channel_timeout)
        elif self.close_when_flushed and self.socket is not None:
            self._linger()

    def handle_expt(self) -> None:
        """Close on TCP urgent data."""
        # It is no part of HTTP, and poll() would report it for ever.
        self.handle_close()

    def expire(self) -> None:
        """End what has lasted until the deadline."""
        if self.requests:
            self.server.task_dispatcher.give_up(self)
        with self.outbuf_lock:  # else an answer may begin between the look at it and the refusal
            ending = self.close_when_flushed or self.drain is not None
            if self.total_outbufs_len or ending or (self.requests and self.answering):
                self.handle_close()  # nobody reads, or closes, or an answer has stopped half-way
            elif self.requests:
                self._refuse(self.requests[0], 504, "The call took too long and was given up.")
            elif self.request:
                self._refuse(self.request, 408, "The request did not arrive in time.")
            else:
                self.handle_close()

    def _refuse(self, request: RequestParser, status: int, reason: str) -> None:
        """Answer from the loop, in the application's place, and close."""
        payload = self.server.error_bytes(request, status, reason)
        with self.outbuf_lock:
            self.connected = False  # write_soon() raises ClientDisconnected for a late answer from now on
            self.outbufs[-1].append(payload)
            self.total_outbufs_len += len(payload)
            self.close_when_flushed = True
        self.deadline = self.now() + self.settings.channel_timeout

    def _linger(self) -> None:
        """Send FIN and drop what still comes, within bounds.

        RFC 9112 section 9.6: closing with input unread resets the connection, and the answer may be lost.
        """
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()
            return
        with self.requests_lock:
            self.drain = 2 * self.settings.body_limit  # a body up to that is sent to its end
            self.deadline = self.now() + LINGER_SECONDS

    def handle_close(self) -> None:
        """Close, and release the body of a request that was arriving."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    @property
    def idle(self) -> bool:
        """Whether it may make room for another: no answer is on its way, and no body either."""
        in_body = self.request is not None and self.request.headers_finished
        return not (self.requests or self.total_outbufs_len or in_body)

    @property
    def settled(self) -> bool:
        """Whether it may be closed at a stop: no answer is being made or sent."""
        return not self.total_outbufs_len and not (self.requests and self.connected)
