"""Where connections come in, and which one makes room for another when the house is full."""

from __future__ import annotations

import errno
import logging
import select
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from math import inf
from typing import Protocol

from finapi.httpd.loop import Loop, WatchedSocket
from finapi.httpd.settings import AddressOf, ListenSettings

log = logging.getLogger("finapi.httpd")

# Makes the connection of a socket and the address and port of its other end.
Begin = Callable[[socket.socket, tuple[str, int]], object]


class Guest(Protocol):
    """A connection: whom it counts for, and since when nothing has moved."""

    address: str | None
    used_at: float

    @property
    def idle(self) -> bool:
        """Whether no answer is on its way, and no body either."""
        ...

    @property
    def may_go(self) -> bool:
        """Whether it may make room for another."""
        ...

    def close(self) -> None:
        """Close now."""
        ...


class House(Protocol):
    """The server: the connections that are open, how many there are of each address, and what it allows."""

    loop: Loop
    settings: ListenSettings
    share: Counter[str | None]
    address_of: AddressOf

    @property
    def connections(self) -> Sequence[Guest]:
        """Those that are open."""
        ...


class ListeningSocket(WatchedSocket):
    """Where connections come in; in a full house one that is idle makes room."""

    def __init__(self, server: House, sock: socket.socket, begin: Begin) -> None:
        self.server = server
        self._begin = begin
        self.accept_from = -inf
        self._rests = False  # and waits for nothing
        super().__init__(server.loop, sock)

    def look(self) -> None:
        """Wait for connections, or no longer, where that may have changed without anything that happened to it."""
        if self._rests or self._is_full():
            self.loop.attend(self)

    def wants(self) -> int:
        """Input while there is room for another connection."""
        full = self._is_full() and not any(one.may_go for one in self.server.connections)
        self._rests = full or self.loop.now() < self.accept_from
        return 0 if self._rests else select.EPOLLIN

    def handle(self, happened: int) -> None:
        """Accept a connection."""
        if self._is_full():
            self._make_room(self.server.connections)
        try:
            sock, peer = self.sock.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                log.warning("cannot accept a connection: %s", error)
                self.failed()
            return
        with ExitStack() as unless_it_begins:
            unless_it_begins.callback(sock.close)
            address = self.server.address_of(peer[0], None)
            many = address is not None and self.server.share[address] >= self.server.settings.connections_per_address
            if many and not self._make_room([one for one in self.server.connections if one.address == address]):
                return
            with suppress(OSError):  # a client that has gone already is found by the connection
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._begin(sock, peer[:2])
            unless_it_begins.pop_all()

    def failed(self) -> None:
        """Go on in a while, else the loop would spin: one connection that fails must not end the service."""
        self.accept_from = self.loop.now() + self.loop.tick

    def _make_room(self, among: Sequence[Guest]) -> bool:
        """Close the one of them that is missed least: of the address that has most, the longest idle or stalled."""
        share = self.server.share
        going = [one for one in among if one.may_go]
        if going:
            of = {one: share[one.address] if one.address is not None else 0 for one in going}
            min(going, key=lambda one: (-of[one], not one.idle, one.used_at)).close()
        return bool(going)

    def _is_full(self) -> bool:
        return len(self.loop.connections) >= self.server.settings.connection_limit
