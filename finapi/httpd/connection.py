"""An HTTP connection from its first request to its end.

The loop's thread reads requests, checks the deadlines, and is the only one that closes a connection. A thread of the
pool calls the application and writes the response. The states and the permitted transitions are in
:mod:`finapi.httpd.connection_states`; this module makes most of them:

- ``on_data`` parses requests. When the first one is complete, it is answered from memory (without a call), refused,
  handed over to the feeds, or queued for a thread.
- ``serve`` runs in the thread: it calls the application, and ends the call unless the response is paced.
- ``end_call`` returns to the next request: one that is complete already is queued, an incomplete one is read on.
- ``on_deadline`` closes the connection or answers instead of the application, depending on the state.

:mod:`finapi.httpd.body_reading` admits bodies that do not arrive with their heads.
:mod:`finapi.httpd.response_writing` stores the responses of clients that read slowly.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Hashable
from functools import partial

from finapi.httpd.body_reading import SERVER_BUSY, ArrivingBody
from finapi.httpd.connection_states import (
    CALLING,
    CHECKING_BODY,
    ENDING_STATES,
    HANDING_OVER,
    IDLE,
    LINGERING,
    PACING,
    PAUSED,
    QUEUED,
    READING_BODY,
    READING_HEAD,
    READING_STATES,
    SENDING,
)
from finapi.httpd.loop import READ, WRITE, Loop, reset_on_close
from finapi.httpd.request_parser import RefusalError, RequestParser, parse_query
from finapi.httpd.response_heads import Headers, build_head, build_last_response
from finapi.httpd.response_writing import SENDING_FAILED, ApplicationCall, ResponseConnection
from finapi.httpd.server_context import ServerContext
from finapi.httpd.settings import MAX_HANDED_OVER_BODY_BYTES, Answer, HandedOverRequest, RequestSummary
from finapi.httpd.wsgi_task import ClientDisconnectedError, RequestTask

log = logging.getLogger("finapi.httpd")

# The number of requests that a client may send before an earlier one is answered. It has to repeat further ones (RFC
# 9112 section 9.3.2).
MAX_PIPELINED = 32

STALLED_SECONDS = 5.0  # A client that reads nothing for longer may lose its connection to another client.

SERVER_STOPPING = "The server is stopping."
CALL_OVERRUN = "The request took too long and was abandoned."
UNEXPECTED_ERROR = "The server encountered an unexpected error."


class HttpConnection(ResponseConnection):
    """A connection that reads requests and gets them answered, one after the other."""

    initial_state = IDLE

    def __init__(self, server: ServerContext, sock: socket.socket, peer: tuple[str, int]) -> None:
        self.incoming: RequestParser | None = None  # The request that is being received.
        self._arriving_body: ArrivingBody | None = None  # Its body, if that did not arrive with the head.
        self._unread = b""  # Bytes after a request that was answered from memory or is handed over.
        self.linger_bytes = 2 * server.settings.body_limit  # A client whose body is refused can still send all of it.
        self.finish_seconds = server.settings.channel_timeout
        super().__init__(server, sock, peer)
        server.connections_by_address[self.address] += 1

    # ---- reading requests

    def wanted_events(self) -> int:
        """Return READ while a request or the client's close is expected, and WRITE while output is queued."""
        if self.queue:
            return WRITE
        if self.state in READING_STATES:
            return 0 if self._unread else READ
        if self.state is PACING:
            # The client may disconnect meanwhile. Anything else that it sends is read once.
            has_next_request = len(self.requests) > 1 or self.incoming is not None
            return 0 if has_next_request else READ
        return READ if self.state is LINGERING else 0

    def on_data(self, data: bytes) -> None:
        """Parse requests, and begin to answer the first one that is complete."""
        self.used_at = time.monotonic()
        while data and self.state not in ENDING_STATES and self.state is not HANDING_OVER:
            if self.incoming is None:
                self.incoming = RequestParser(self.server.adj, self.settings.public_path)
                self.set_deadline(self.settings.header_timeout)
                if self.state is IDLE:
                    self.move_to(READING_HEAD)
            request = self.incoming
            was_in_body = request.is_in_body
            taken_bytes = request.received(data)
            data = data[taken_bytes:]
            if request.is_in_body and not data and not self.requests:
                self._read_body(request, taken_bytes if was_in_body else 0)
            if request.completed and not self._begin_request(request, data):
                return
        if self.state is HANDING_OVER:
            self._unread = data

    def _begin_request(self, request: RequestParser, bytes_behind: bytes) -> bool:
        """Begin to answer a request that is complete or refused.

        Return True if ``bytes_behind`` it are to be parsed now.
        """
        self._release_arriving_body()
        self.incoming = None
        self.requests.append(request)
        if len(self.requests) > 1:
            request.connection_close = len(self.requests) > MAX_PIPELINED
            return not request.connection_close
        if not request.error and self.server.is_busy:
            request.refuse(RefusalError(503, SERVER_BUSY))
        if request.error or not self._send_from_memory(request):
            self._begin_answer(request)
        elif bytes_behind and not self.requests:
            # Other connections have their turn before the next request of this pipeline.
            self._unread = bytes_behind
            self.call_soon(self._read_on)
            return False
        return True

    def _begin_answer(self, request: RequestParser) -> None:
        """Refuse the first request, hand it over, or queue it for a thread.

        If the client has not read the previous response yet, the request is dropped and the connection ends after that
        response. Otherwise a client that sends requests and reads nothing could fill the memory with responses.
        """
        # Bytes that arrived after it have been parsed as another request.
        is_alone = len(self.requests) == 1 and self.incoming is None
        if self.queue:
            self.drop_requests()
            self.finish()
        elif request.error:
            self.refuse(request, request.error)
            self.drop_requests()
        elif is_alone and self.server.is_taken_over(request):
            self.move_to(HANDING_OVER)
            self.loop.call_soon(self._hand_over)
        else:
            self.move_to(QUEUED)
            self.call = None
            self.due = self.loop.now() + self.settings.server_timeout
            self.server.pool.put(self)

    def _read_on(self) -> None:
        """Parse the stored bytes, or begin to wait for the rest of a body that follows an answered request."""
        with self.lock:
            data = self._unread
            self._unread = b""
            if data:
                self.on_data(data)
            elif self.incoming and self.incoming.is_in_body and not self.requests and self.can_send:
                self._read_body(self.incoming, 0)
                self._begin_if_completed(self.incoming)

    def _begin_if_completed(self, request: RequestParser) -> None:
        """Begin to answer the request if it was refused while the connection did not read."""
        with self.lock:
            if request is self.incoming and request.completed and self.can_send:
                self._begin_request(request, b"")

    def _resume_reading(self) -> None:
        """After an answer, continue with the next request, or with the unsent part of the answer."""
        if self.has_unsent:
            self.move_to(SENDING)
        elif self.incoming is None:
            self.move_to(IDLE)
        else:
            self.move_to(READING_BODY if self.incoming.is_in_body else READING_HEAD)

    def _flush(self) -> None:
        super()._flush()
        if self.state is SENDING and not self._is_blocked:
            self._resume_reading()

    # ---- bodies that do not arrive with their heads

    def _read_body(self, request: RequestParser, byte_count: int) -> None:
        """Extend the deadline for bytes of the body that have arrived. Begin the admission when it is due."""
        if self.state is READING_HEAD:
            self.move_to(READING_BODY)
        now = self.loop.now()
        if self._arriving_body is None:
            address = self.find_address(request)
            self._arriving_body = ArrivingBody(self.server, request, address, now, self._refuse_arriving)
        body = self._arriving_body
        body.add_bytes(now, byte_count)
        self.due = body.due
        if now >= body.admission_at:
            self._admit_body(body, request)

    def _admit_body(self, body: ArrivingBody, request: RequestParser) -> None:
        needs_check = body.begin_admission()
        self.due = body.due
        if needs_check:
            self.move_to(CHECKING_BODY)
            self.set_deadline(self.settings.header_timeout)
            self.server.pool.put(self)
        elif not request.error:
            self._send_continue(request)

    def _check_body(self) -> None:
        """Let the application decide by the head of a request if its body is read. Called in a request thread."""
        request = self.incoming
        body = self._arriving_body
        check_before_body = self.server.check_before_body
        if request is None or body is None or check_before_body is None or not self.can_send:
            return
        environ = RequestTask(self, request).get_environment()
        verdict = body.check(check_before_body, environ)
        with self.lock:
            if self.state is not CHECKING_BODY or not self.can_send:
                return
            if verdict is None:
                self._resume_reading()
                request.refuse(RefusalError(500, UNEXPECTED_ERROR))
            elif isinstance(verdict, int):
                self._resume_reading()
                body.exclude_check_time()
                self.due = body.due
                owners: tuple[Hashable, ...] = environ.get("finapi.owners", ())
                body.accept(verdict, owners)
                if not request.error:
                    self._send_continue(request)
            else:
                self._release_arriving_body()
                self._send_answer(verdict, closes=True)
        self.call_soon(lambda: self._begin_if_completed(request))

    def _send_continue(self, request: RequestParser) -> None:
        """Send "100 Continue" to a client that waits for it with its body (RFC 9110 section 10.1.1)."""
        if request.expect_continue and request.is_in_body:
            request.expect_continue = False
            self.send((b"HTTP/1.1 100 Continue\r\n\r\n",))

    def _refuse_arriving(self, request: RequestParser, refusal: RefusalError) -> None:
        """Refuse a request whose body is arriving, because another client needs the room."""

        def refuse_incoming() -> None:
            with self.lock:
                if request is self.incoming and self.can_send:
                    self.refuse(request, refusal)

        self.loop.call_guarded(self, refuse_incoming)

    def _release_arriving_body(self) -> None:
        if self._arriving_body is not None:
            self._arriving_body.release()
            self._arriving_body = None

    # ---- calls of the application

    def serve(self) -> None:
        """Answer the first request, or check the arriving one. Called in a request thread."""
        if self.state is CHECKING_BODY:
            self._check_body()
            return
        with self.lock:
            is_queued = self.state is QUEUED
            if is_queued:
                self.move_to(CALLING)
                self.call = ApplicationCall(RequestTask(self, self.requests[0]), self.loop.now())
        if is_queued and self.call is not None:
            self._call_application(self.requests[0], self.call)
        else:  # The request was refused, or the connection was closed, while the job waited for a thread.
            self.end_call()

    def _call_application(self, request: RequestParser, call: ApplicationCall) -> None:
        task = call.task
        try:
            if self.can_send:
                task.run(self.due)
        except ClientDisconnectedError:
            task.close_on_finish = True
        except Exception:
            log.exception("exception while serving %s", request.path)
            task.close_on_finish = True
            with self.lock:
                if not task.wrote_header and self.can_send:
                    self.refuse(request, RefusalError(500, UNEXPECTED_ERROR))
        with self.lock:
            paced_answer = call.paced_answer if self.can_send else None
            if paced_answer is not None:
                self.move_to(PACING)
        if paced_answer is None:
            self.end_call()
        else:
            self.call_soon(partial(paced_answer.begin, self, self.call_later))

    def end_call(self) -> None:
        """End the call: close, or continue with the next request or with the body that is arriving."""
        with self.lock:
            closes = self.call is None or self.call.task.close_on_finish
            if not closes and self.can_send:
                self.send(())  # A head without a body is still in the queue.
                self.requests.pop(0).close()
            self.schedule_sent_callback()
            if closes or not self.can_send:
                self.drop_requests()
                self.finish()
            elif self.requests:
                self._begin_answer(self.requests[0])
            else:
                self._resume_reading()
                if self.incoming is not None and self.incoming.is_in_body:
                    self.call_soon(self._read_on)
            if self._unsent is None:
                timeout = self.settings.header_timeout if self.incoming else self.settings.channel_timeout
                self.set_deadline(timeout)
            elif not self.requests:
                self.due = self._unsent.allowance.until
        self.loop.update_events(self)

    # ---- answers of the server itself

    def _send_from_memory(self, request: RequestParser) -> bool:
        """Send the answer from the loop if it is in memory. Return False if it is not."""
        if request.command != "GET" or request.version != "1.1" or self.queue or "CONTENT_LENGTH" in request.headers:
            return False
        answer = self.server.answer_from_memory(request.request_uri, request.headers, self.addr[0])
        if answer is None:
            return False
        self.drop_requests()
        self._send_answer(answer, closes=self.server.stopping or request.connection_close)
        return True

    def _send_answer(self, answer: Answer, closes: bool) -> None:
        status, headers, body = answer
        if closes:
            headers = [*headers, ("Connection", "close")]
        self.send((build_head(status, headers), body))
        if closes:
            self.finish()
        elif self.can_send:
            self._resume_reading()
        if not self._is_blocked:
            self.set_deadline(self.settings.channel_timeout)

    def refuse(self, request: RequestParser, refusal: RefusalError) -> None:
        """Send an error instead of the application's response, and close."""
        summary = RequestSummary(request.command, request.request_uri, request.client_request_id, self.addr[0])
        headers, body = self.server.error_response(refusal.code, refusal.body, summary)
        self._send_refusal(request, refusal.code, headers, body)

    def _send_refusal(self, request: RequestParser, status: int, headers: Headers, body: bytes) -> None:
        self._release_arriving_body()
        if status == 503:
            headers = [*headers, ("Retry-After", "1")]
        head, body = build_last_response(status, headers, body)
        is_head_request = request.header_plus.startswith(b"HEAD ")
        self.send_last(head, b"" if is_head_request else body)

    def _abandon_call(self, request: RequestParser, status: int, message: str) -> None:
        """Send 503 or 504 instead of the application's response.

        If the application is running, it provides the headers and the body (``finapi.give_up``). If it has just
        produced its own response, wait for that instead.
        """
        environ = self.call.environ if self.call is not None else {}
        give_up = environ.get("finapi.give_up")
        if give_up is None:
            self.refuse(request, RefusalError(status, message))
            return
        answer = give_up(status)
        if answer is None:
            self.due = self.loop.now() + self.settings.header_timeout
        else:
            headers, body = answer
            self._send_refusal(request, status, headers, body)

    # ---- handing over to the feeds

    def _hand_over(self) -> None:
        taker = self.server.request_taker
        if self.state is not HANDING_OVER or taker is None:
            self.drop_requests()
            return
        request = self.requests[0]
        body = request.get_body_stream().read(MAX_HANDED_OVER_BODY_BYTES)
        sock = self.detach()
        self.drop_requests()
        path = request.path.rstrip("/")
        headers = {name.replace("_", "-").lower(): value for name, value in request.headers.items()}
        handed_over = HandedOverRequest(
            sock=sock,
            peer=self.addr[0],
            method=request.command,
            path=path,
            query=parse_query(request.query),
            headers=headers,
            body=body,
            rest=self._unread,
        )
        try:
            taker.take(handed_over)
        except Exception:  # It would end the loop.
            log.exception("%s could not be handed over", path)
            sock.close()

    # ---- the end of a connection

    def on_deadline(self) -> None:
        """Close the connection, or answer instead of the application, because the deadline has passed."""
        # Under the lock, so that no response begins between this check and the refusal.
        with self.lock:
            if self.state is not PAUSED:  # A paused thread has already been replaced by another one.
                self.server.pool.give_up(self)
            if self.has_begun_response and not self.is_client_late():
                self.abort_reason = CALL_OVERRUN
            if self.queue or self.is_finishing or self.has_begun_response:
                self.close()  # The client neither reads nor closes, or the application produces no more output.
            elif self.requests:
                self._abandon_call(self.requests[0], 504, CALL_OVERRUN)
            elif self.incoming is None:
                self.close()
            elif self.state is CHECKING_BODY:
                self.refuse(self.incoming, RefusalError(503, SERVER_BUSY))
            elif self._arriving_body is not None and self.loop.now() >= self._arriving_body.admission_at:
                self._admit_body(self._arriving_body, self.incoming)
                self._begin_if_completed(self.incoming)
            else:
                self.refuse(self.incoming, RefusalError(408, "The request did not arrive in time."))

    def stop(self) -> None:
        """Answer 503 to the first request if its response has not begun, because the server stops."""
        with self.lock:
            if self.requests and self.can_send and not self.has_begun_response:
                self._abandon_call(self.requests[0], 503, SERVER_STOPPING)
                self.loop.update_events(self)
            elif self.requests or self.has_unsent:
                self.abort_reason = SERVER_STOPPING

    def reset(self) -> None:
        """Reset the connection, so that the client sees an error."""
        with self.lock:
            if not self.closed:
                reset_on_close(self.sock)
        self.abandon()

    def on_removed(self) -> None:
        """Release incomplete requests and responses."""
        connections_by_address = self.server.connections_by_address
        connections_by_address[self.address] -= 1
        if not connections_by_address[self.address]:
            del connections_by_address[self.address]
        self._release_arriving_body()
        if self.incoming is not None:
            self.incoming.close()
        self.release_response()

    def on_error(self) -> None:
        """Close the connection after an error in the loop, which the client did not cause."""
        self.abort_reason = self.abort_reason or SENDING_FAILED
        super().on_error()

    @property
    def is_idle(self) -> bool:
        """Return True if no answer is due or being sent, and no body is arriving."""
        return self.state is IDLE or self.state is READING_HEAD or self.state is LINGERING

    @property
    def can_make_room(self) -> bool:
        """Return True if the connection may be closed for another one: it is idle, or its client reads nothing."""
        return self.is_idle or (not self.requests and time.monotonic() - self.used_at > STALLED_SECONDS)

    @property
    def is_done(self) -> bool:
        """Return True if a stop may close the connection, because its answer was sent or is paced."""
        return not self.queue and (self.is_finishing or self.state is PACING or not self.requests)


def list_connections(loop: Loop) -> list[HttpConnection]:
    """Return the open HTTP connections of a loop."""
    return [connection for connection in loop.connections if isinstance(connection, HttpConnection)]
