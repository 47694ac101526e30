"""The HTTP server: waitress, made strict, bounded in every direction, and stoppable.

waitress keeps the socket loop, the buffers that spool to disk and the WSGI task. Replaced are how a request is
read (``wire.py``), how long a client may take (``channel.py``), the threads (``pool.py``) and, here, the
stop. An answer that is not the application's comes from the caller's ``error_response``, so that this module knows
nothing of its shape.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.utilities import build_http_date, logger

from finapi.channel import RECEIVE_BYTES, Channel
from finapi.handover import TakeOver
from finapi.pool import Pool
from finapi.ready import Ready
from finapi.wire import RequestParser

# (status, a fixed sentence) -> (headers, body). Content-Length, Date, Connection and Retry-After are added to
# the headers here. It is called in the loop and must be quick.
ErrorResponse = Callable[[int, str], tuple[list[tuple[str, str]], bytes]]


# (request target, headers as waitress names them, address) -> (status line, headers, body), or None to have the
# application called. It is called in the loop and must be quick.
AtOnce = Callable[[str, dict[str, str], str], tuple[str, list[tuple[str, str]], bytes] | None]


@dataclass(frozen=True, slots=True)
class ListenSettings:
    """What the server allows: times in seconds of a monotonic clock, sizes in bytes."""

    host: str = "127.0.0.1"  # an address or a name of one; "::" takes IPv4 as well
    port: int = 8000  # 0: a free one, told by Listener.port
    threads: int = 16  # requests executed at once; one of them at a time has the interpreter, many a commit
    core: int | None = None  # that all of them and the loop keep to; None: they go where the kernel puts them
    queue_limit: int = 512  # requests waiting for a thread; above it 503, rather than an answer after minutes
    connection_limit: int = 1000  # when reached, the longest idle connection makes room for a new one
    backlog: int = 1024  # connections that the kernel holds until they are accepted
    channel_timeout: float = 60.0  # idle between requests, or reading nothing of the answer
    header_timeout: float = 15.0  # from the first byte of a head to its last; without a byte of a body
    min_rate: int = 500  # bytes a second of a body, on average; Apache's RequestReadTimeout has the same
    server_timeout: float = 300.0  # from the end of the request to the beginning of the answer (SPEC: 300)
    header_limit: int = 65_536  # request line and header fields together
    body_limit: int = 52_428_800  # after chunks are joined (SPEC: 50 MB)
    bodies_at_once: int = 64  # arriving; they spool to disk, and slow ones must not hold every connection


class _Server(TcpWSGIServer):  # type: ignore[misc]
    """The listening socket, its connections and their deadlines."""

    stopping = False
    stop_by = inf
    accept_from = 0.0
    next_sweep = 0.0

    def __init__(
        self,
        app: WSGIApplication,
        sock: socket.socket,
        settings: ListenSettings,
        error_response: ErrorResponse,
        monotonic: Callable[[], float],
        take_over: TakeOver | None,
        at_once: AtOnce,
    ) -> None:
        self.settings = settings
        self.at_once = at_once
        self.take_over = take_over
        self.leaving: deque[Channel] = deque()
        self.error_response = error_response
        self.monotonic = monotonic
        # Deadlines are looked at this often: a quarter of the shortest, a second at most.
        timeouts = (settings.channel_timeout, settings.header_timeout, settings.server_timeout)
        self.tick = min(1.0, *(seconds / 4 for seconds in timeouts))
        self.ready = Ready()
        self.serving = threading.local()  # .channel: that of a task thread's call
        self.trigger_lock = threading.RLock()  # re-entrant: a signal handler may interrupt pull_trigger()
        adj = Adjustments(
            ident="",
            server_name=settings.host,
            backlog=settings.backlog,
            recv_bytes=RECEIVE_BYTES,
            max_request_header_size=settings.header_limit,
            max_request_body_size=settings.body_limit,
            outbuf_high_watermark=2**62,  # no thread waits for a reader: waitress spools to disk above 1 MB
            log_socket_errors=False,  # a client that is gone is no event
            clear_untrusted_proxy_headers=False,  # the application decides whose X-Forwarded-For it believes
        )
        sockinfo = (sock.family, sock.type, sock.proto, sock.getsockname())
        pool = Pool(settings.threads)
        # The map of sockets is its own, so that several servers live in one process.
        super().__init__(app, {}, True, sock, dispatcher=pool, adj=adj, sockinfo=sockinfo, bind_socket=False)
        # What PEP 3333 asks to be told of a server.
        self.environ = {
            "SERVER_NAME": settings.host,
            "SERVER_PORT": str(self.effective_port),
            "SERVER_SOFTWARE": "finapi",
            "SCRIPT_NAME": "",
            "wsgi.version": (1, 0),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.input_terminated": True,
        }

    def error_bytes(self, request: RequestParser, status: int, reason: str) -> bytes:
        """The whole of an answer that ends the connection, without its body for a HEAD request."""
        headers, body = self.error_response(status, reason)
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines += ["Connection: close", f"Content-Length: {len(body)}"]
        lines += [f"Date: {build_http_date(time.time())}"]
        lines += ["Retry-After: 1"] if status == 503 else []
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        return head if request.header_plus.startswith(b"HEAD ") else head + body

    def readable(self) -> bool:
        channels = self.active_channels
        room = len(channels) < self.settings.connection_limit or any(one.idle for one in channels.values())
        return self.accepting and room and self.monotonic() >= self.accept_from

    def handle_accept(self) -> None:
        if len(self.active_channels) >= self.settings.connection_limit:
            idle = [channel for channel in self.active_channels.values() if channel.idle]
            if not idle:  # any more, in this round of the loop
                return
            min(idle, key=lambda channel: channel.last_activity).handle_close()
        try:
            sock, addr = self.socket.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                logger.warning("cannot accept a connection: %s", error)
                self.accept_from = self.monotonic() + self.tick  # else the loop would spin
            return
        try:
            self.set_socket_options(sock)
            Channel(self, sock, addr, self.adj, self._map)
        except OSError:  # the client has gone already
            sock.close()

    def add_task(self, channel: Channel) -> None:
        """Queue the channel's first request and start its clock.

        Called in the loop or, for a pipelined request, in the thread that has answered the one before. If
        that answer has not left yet, the rest is dropped and the connection closed after it: else a client
        that sends requests and reads nothing could have any number of answers spooled.
        """
        if channel.total_outbufs_len:
            channel.drop_requests()
            channel.close_when_flushed = True
            return
        if self._is_wanted(channel):
            channel.leaving = True
            self.leaving.append(channel)
            self.wake()
            return
        channel.answering = False
        channel.deadline = self.monotonic() + self.settings.server_timeout
        super().add_task(channel)

    def _is_wanted(self, channel: Channel) -> bool:
        request = channel.requests[0]
        if self.take_over is None or len(channel.requests) > 1 or request.error:
            return False
        # What came in behind it has been read as another request, unless nothing has.
        if channel.request is not None:
            return False
        return self.take_over.wants(request.command, request.path, request.headers.get("ACCEPT", ""))

    def hand_over(self) -> None:
        """Let the connections go that are wanted elsewhere; in the loop, which owns them until then."""
        while self.leaving:
            channel = self.leaving.popleft()
            if channel.socket is not None and self.take_over is not None:
                self.take_over.take(channel.hand_over())

    def takes_a_body(self) -> bool:
        """Whether the body that has just begun, counted with those still arriving, is not one too many."""
        requests = [channel.request for channel in self.active_channels.values()]
        arriving = sum(1 for request in requests if request is not None and request.headers_finished)
        return arriving <= self.settings.bodies_at_once

    def sweep(self) -> None:
        """End the connections that are overdue or, at a stop, settled."""
        now = self.monotonic()
        if now < self.next_sweep and not self.stopping:
            return
        self.next_sweep = now + self.tick
        for channel in list(self.active_channels.values()):
            if self.stopping and channel.settled:
                channel.handle_close()
            elif now >= channel.deadline:
                try:
                    channel.expire()
                except Exception:  # of error_response: it may cost the connection, but not the loop
                    channel.handle_error()
                self.ready.ask(channel)

    def turn(self, seconds: float) -> None:
        """One round of the loop: what happens within that time, then what is due."""
        self.ready.ask(self)  # whether there is room for another connection
        self.ready.wait(seconds, self._map)
        self.hand_over()
        self.sweep()

    def pull_trigger(self) -> None:
        """What waitress calls when the loop may have something to do: in a task thread after each answer."""
        channel = getattr(self.serving, "channel", None)
        if channel is None:
            self.wake()
        elif channel.needs_the_loop:
            self.wake(channel)

    def wake(self, channel: Channel | None = None) -> None:
        """Wake the loop, to look at ``channel`` anew; from any thread.

        Nothing after close(), when the pipe's number may be that of another file.
        """
        if channel is not None:
            self.ready.changed.append(channel)
        with self.trigger_lock:
            if not self.trigger._closed:
                super().pull_trigger()

    def del_channel(self, map: Any = None) -> None:
        """Stop listening."""
        self.ready.forget(self._fileno)
        super().del_channel(map)

    def close(self) -> None:
        with self.trigger_lock:
            self.ready.forget(self.trigger._fileno)
            self.trigger.close()
        wasyncore.dispatcher.close(self)
        self.ready.close()


class Listener:
    """A bound server, made by :func:`listen`. Run it in one thread, stop it from any."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.host: str = server.effective_host
        self.port = int(server.effective_port)
        self.url = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def waiting(self) -> int:
        """Requests that have come in whole and wait for a thread."""
        return int(self._server.task_dispatcher.queue.qsize())

    def run(self) -> None:
        """Serve until :meth:`stop`, then release everything but a thread that is stuck in a call."""
        server = self._server
        if server.settings.core is not None:
            # Of this thread, and of those that it starts: the interpreter lock is then not passed between cores.
            os.sched_setaffinity(0, {server.settings.core})
        server.task_dispatcher.start()
        server.ready.ask(server.trigger)
        try:
            while not server.stopping:
                server.turn(server.tick)
            wasyncore.dispatcher.close(server)  # the listening socket only
            server.sweep()
            while server.active_channels and server.monotonic() < server.stop_by:
                server.turn(min(server.tick, 0.05))
        finally:
            self.close()

    def stop(self, grace: float = 5.0) -> None:
        """Make :meth:`run` return; from any thread, or from a signal handler.

        Nothing more is accepted and idle connections are closed at once; requests that have come in whole
        have ``grace`` seconds to be answered.
        """
        self._server.stop_by = self._server.monotonic() + grace
        self._server.stopping = True
        self._server.wake()

    def close(self) -> None:
        """Release everything, as :meth:`run` does at its end; for a listener that was never run."""
        for channel in list(self._server.active_channels.values()):
            channel.handle_close()
        self._server.close()
        left = self._server.task_dispatcher.stop(timeout=0.2)
        if left:
            logger.warning("%d request threads are still in a call", left)


def listen(
    app: WSGIApplication,
    settings: ListenSettings,
    error_response: ErrorResponse,
    monotonic: Callable[[], float] = time.monotonic,
    take_over: TakeOver | None = None,
    at_once: AtOnce = lambda target, headers, peer: None,
) -> Listener:
    """A listener for ``app``, bound and not yet running; OSError if the address cannot be bound.

    The application finds ``finapi.deadline``, a time of ``monotonic``, in its environ: from then on the
    client has been answered 504 and what the application returns is dropped. Connections whose request
    ``take_over`` wants leave the server with it. A GET without query or body that ``at_once`` answers is
    answered in the loop, before any that wait for a thread.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    both = settings.host == "::" and socket.has_dualstack_ipv6()
    # Bound here and not by waitress, which loses a pipe when that fails.
    sock = socket.create_server((settings.host, settings.port), family=family, dualstack_ipv6=both)
    return Listener(_Server(app, sock, settings, error_response, monotonic, take_over, at_once))
