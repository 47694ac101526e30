"""The listening socket, and the choice of a connection to close when a new one needs room."""

from __future__ import annotations

import errno
import logging
import select
import socket
from collections.abc import Sequence
from contextlib import suppress
from math import inf

from finapi.httpd.connection import HttpConnection, list_connections
from finapi.httpd.loop import WatchedSocket
from finapi.httpd.server_context import ServerContext

log = logging.getLogger("finapi.httpd")

# Errors of a process or machine without free descriptors or memory.
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class ListeningSocket(WatchedSocket):
    """A socket that accepts connections. When the limit is reached, an idle connection makes room for a new one."""

    def __init__(self, server: ServerContext, sock: socket.socket) -> None:
        self.server = server
        self._accept_from = -inf
        self._is_suspended = False  # True if no connections are accepted until the next tick.
        super().__init__(server.loop, sock)

    def update(self) -> None:
        """Check the number of connections again, because it may have changed without an event on this socket."""
        if self._is_suspended or self._is_full():
            self.loop.update_events(self)

    def wanted_events(self) -> int:
        """Return the event of a new connection while there is room for one."""
        has_no_room = self._is_full() and not any(
            connection.can_make_room for connection in list_connections(self.loop)
        )
        self._is_suspended = has_no_room or self.loop.now() < self._accept_from
        return 0 if self._is_suspended else select.EPOLLIN

    def handle_events(self, events: int) -> None:
        """Accept a connection."""
        if self._is_full():
            _make_room(self.server, list_connections(self.loop))
        try:
            sock, peer = self.sock.accept()
        except OSError as error:
            if error.errno in EXHAUSTED:
                log.warning("cannot accept a connection: %s", error)
                self.on_error()
            return
        has_begun = False
        try:
            has_begun = self._begin_connection(sock, peer[:2])
        finally:
            if not has_begun:
                sock.close()

    def on_error(self) -> None:
        """Accept no connections until the next tick, because the loop would otherwise repeat the error endlessly."""
        self._accept_from = self.loop.now() + self.loop.tick

    def _begin_connection(self, sock: socket.socket, peer: tuple[str, int]) -> bool:
        """Return False if the address has its share of connections, and none of them can make room."""
        server = self.server
        address = server.find_client_address(peer[0], None)
        has_share = server.connections_by_address[address] >= server.settings.connections_per_address
        if address is not None and has_share:
            same_address = [connection for connection in list_connections(self.loop) if connection.address == address]
            if not _make_room(server, same_address):
                return False
        with suppress(OSError):  # If the client has disconnected already, the connection finds out.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        HttpConnection(server, sock, peer)
        return True

    def _is_full(self) -> bool:
        return len(self.loop.connections) >= self.server.settings.connection_limit


def _make_room(server: ServerContext, connections: Sequence[HttpConnection]) -> bool:
    """Close one of the connections. Return False if none can make room.

    It is one of the address that has the most connections: the one that is idle, or else stalled, for the longest time.
    """
    candidates = [connection for connection in connections if connection.can_make_room]
    if not candidates:
        return False

    def sort_key(connection: HttpConnection) -> tuple[int, bool, float]:
        address = connection.address
        count = server.connections_by_address[address] if address is not None else 0
        return -count, not connection.is_idle, connection.used_at

    min(candidates, key=sort_key).close()
    return True
