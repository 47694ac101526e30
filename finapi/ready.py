"""Which connections are ready: the kernel is told only of what changed, so that idle ones cost nothing.

waitress asks every connection, each time that anything happens, what it waits for. Here a connection is asked when
something happened to it; a thousand idle ones are no work.
"""

from __future__ import annotations

import select
from collections import deque
from typing import Any

from waitress import wasyncore

READ, WRITE = select.EPOLLIN | select.EPOLLPRI, select.EPOLLOUT
ALWAYS = select.EPOLLHUP | select.EPOLLERR  # told of whether asked for or not


def _wanted(connection: Any) -> int:
    wanted = READ if connection.readable() else 0
    if not connection.accepting and connection.writable():
        wanted |= WRITE
    return wanted


class Ready:
    """What the kernel watches, and what is to be asked anew; all but :attr:`changed` is for the loop's thread.

    Interest in input is given up only when input comes that is not wanted: a client that waits for its answer
    sends none, and two system calls a request are saved.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._asked: dict[int, int] = {}
        # Connections that something happened to; any thread may add one, and then wakes the loop.
        self.changed: deque[Any] = deque()

    def wait(self, seconds: float, connections: dict[int, Any]) -> None:
        """Handle what happens within ``seconds``; ``connections`` are by their number (a file descriptor)."""
        while self.changed:
            self.ask(self.changed.popleft())
        for number, happened in self._epoll.poll(seconds):
            connection = connections.get(number)
            if connection is None:
                continue
            wanted = _wanted(connection)
            if happened & ~(wanted | ALWAYS) or not wanted:
                self._watch(number, wanted)
                # It may have come to want more before this was known: see watches_input().
                self.ask(connection)
            happened &= wanted | (ALWAYS if wanted else 0)
            if happened:
                wasyncore.readwrite(connection, happened)
                self.ask(connection)

    def ask(self, connection: Any) -> None:
        """Watch for all that a connection waits for, and for room for output no longer than that."""
        number = connection._fileno
        if number is None:
            return
        wanted, asked = _wanted(connection), self._asked.get(number, 0)
        if wanted & ~asked or asked & WRITE & ~wanted:
            self._watch(number, wanted)

    def watches_input(self, number: int | None) -> bool:
        """Whether input will be noticed without the loop being woken; from any thread.

        Who asks has first made the connection readable. The loop stops watching first and then looks whether it
        is readable: one of the two sees what the other did.
        """
        return number is not None and bool(self._asked.get(number, 0) & READ)

    def forget(self, number: int | None) -> None:
        """Watch a connection no longer, before its number can be another's."""
        if number in self._asked:
            self._watch(number, 0)

    def close(self) -> None:
        """Release the kernel's list."""
        self._epoll.close()

    def _watch(self, number: int, wanted: int) -> None:
        asked = self._asked.get(number, 0)
        if not wanted:
            self._asked.pop(number, None)
            if asked:
                self._epoll.unregister(number)
        elif not asked:
            self._epoll.register(number, wanted)
            self._asked[number] = wanted
        else:
            self._asked[number] = wanted
            self._epoll.modify(number, wanted)
