"""The HTTP server: a bound socket, its loop and its threads.

Requests are parsed strictly and within limits of size, time and number. Errors that the server answers itself get their
bodies from the caller's ``error_response``, so that this package knows nothing of their format.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from finapi.httpd.accept import ListeningSocket
from finapi.httpd.connection import HttpConnection, list_connections
from finapi.httpd.loop import Loop
from finapi.httpd.server_context import ServerContext
from finapi.httpd.settings import (
    AnswerFromMemory,
    CheckBeforeBody,
    ErrorResponse,
    FindClientAddress,
    ListenSettings,
    RequestTaker,
)

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

log = logging.getLogger("finapi.httpd")

MAX_UNSENT_IN_KERNEL = 65_536  # Bytes of an answer that the kernel stores before they are sent.
MAX_TICK_SECONDS = 1.0
DRAIN_TICK_SECONDS = 0.05
LAST_ANSWERS_SECONDS = 0.5  # At a stop, the time to send the remaining 503 answers.
JOIN_SECONDS = 0.2

TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)  # Of Linux; Python names it from 3.12 on.


class Listener:
    """A bound server. Run it in one thread, and stop it from any.

    Requests that ``request_taker`` takes leave the server with their connections. A GET without query or body that
    ``answer_from_memory`` answers does not wait for a thread. A body that does not arrive with its head is admitted by
    ``check_before_body``.

    The environ of a call contains:

    - ``finapi.deadline``: a time of ``monotonic``, from which on the client is answered 504 and the response of the
      application is dropped;
    - ``finapi.abort_reason``: a function that returns why the server ended a response early, or "" if the client
      disconnected or read it too slowly;
    - ``finapi.when_sent``: takes a function to be called when the response has been sent or never will be;
    - ``finapi.pace``: has the response held back; its parameters are those of ``PacedAnswer``;
    - ``finapi.reset``: resets the connection;
    - ``finapi.short``: permits a body that is shorter than its declared length.

    The application may add:

    - ``finapi.give_up``: a function that takes the status 504, or 503 at a stop, and returns its headers and body, or
      None if the application has just produced its own response;
    - ``finapi.owners``: a tuple of the address and the account that an unsent response counts for;
    - ``finapi.resident``: True for a body that stays in memory anyway, so that it needs no room while it is unsent;
    - ``finapi.paused``: a function that is called when the thread has to wait for the client to read.
    """

    def __init__(
        self,
        application: WSGIApplication,
        settings: ListenSettings,
        error_response: ErrorResponse,
        monotonic: Callable[[], float] = time.monotonic,
        request_taker: RequestTaker | None = None,
        answer_from_memory: AnswerFromMemory = lambda target, headers, peer: None,
        check_before_body: CheckBeforeBody | None = None,
        find_client_address: FindClientAddress = lambda peer, forwarded: peer,
    ) -> None:
        """Bind the address. Raise OSError if it cannot be bound."""
        sock = _bind(settings)
        # Deadlines are checked four times within the shortest timeout.
        shortest_timeout = min(settings.channel_timeout, settings.header_timeout, settings.server_timeout)
        self.loop = Loop(monotonic, min(MAX_TICK_SECONDS, shortest_timeout / 4))
        self.host, self.port = sock.getsockname()[:2]
        self.url = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        self.context = ServerContext(
            application=application,
            settings=settings,
            error_response=error_response,
            request_taker=request_taker,
            answer_from_memory=answer_from_memory,
            check_before_body=check_before_body,
            find_client_address=find_client_address,
            loop=self.loop,
            effective_port=self.port,
        )
        self._stop_by = inf
        self._listening_socket = ListeningSocket(self.context, sock)

    @property
    def waiting(self) -> int:
        """Return the number of complete requests that wait for a thread."""
        return len(self.context.pool)

    @property
    def connections(self) -> list[HttpConnection]:
        """Return the open connections."""
        return list_connections(self.loop)

    def run(self) -> None:
        """Serve until stop() is called, then release everything except threads that are stuck in a call."""
        core = self.context.settings.core
        if core is not None:
            # Applies to this thread and those that it starts, so that the interpreter lock stays on one core.
            os.sched_setaffinity(0, {core})
        try:
            while not self.context.stopping:
                self._listening_socket.update()
                self.loop.step(self.loop.tick)
            self._listening_socket.close()
            self._drain(self._stop_by)
            for connection in self.connections:
                connection.stop()
            self._drain(self.loop.now() + LAST_ANSWERS_SECONDS)
        finally:
            self.close()

    def stop(self, grace_seconds: float = 5.0) -> None:
        """Make run() return. Call this in any thread or in a signal handler.

        No connection is accepted any more, idle connections are closed, and complete requests have ``grace_seconds``
        to be answered.
        """
        self._stop_by = self.loop.now() + grace_seconds
        self.context.stopping = True
        self.loop.wake()

    def close(self) -> None:
        """Release the sockets and threads of a listener that was never run. ``run`` does it at its end."""
        self.loop.close()
        stuck_threads = self.context.pool.stop(JOIN_SECONDS)
        if stuck_threads:
            log.warning("%d request threads are still in a call", stuck_threads)

    def _drain(self, until: float) -> None:
        """Run the loop until all connections are closed, or until a time."""
        self._close_done()
        while self.loop.connections and self.loop.now() < until:
            self.loop.step(min(self.loop.tick, DRAIN_TICK_SECONDS))
            self._close_done()

    def _close_done(self) -> None:
        for connection in self.connections:
            if connection.is_done:
                connection.close()


def _bind(settings: ListenSettings) -> socket.socket:
    """Return a listening socket."""
    sock = socket.create_server(
        (settings.host, settings.port),
        family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
        dualstack_ipv6=settings.host == "::" and socket.has_dualstack_ipv6(),
        backlog=settings.backlog,
    )
    # Connections inherit it. Otherwise the kernel would store megabytes of each answer that a client does not read.
    sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, MAX_UNSENT_IN_KERNEL)
    return sock
