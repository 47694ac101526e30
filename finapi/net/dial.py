"""Outgoing connections under one deadline: the name looked up, the addresses judged, one of them connected to.

A look-up has no timeout of its own, a socket's timeout is for each operation, and a thread that waits for a
network cannot be ended. Here all of it ends in time, and at once when finapi stops.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

# The addresses of a host, as text ("192.0.2.1", "fe80::1%2"), in the order to try them. It may block, and
# raises OSError (``socket.gaierror``) or ValueError for a name that has none.
Resolver = Callable[[str], Sequence[str]]

CHUNK = 16 * 1024  # bytes written under one timeout: one TLS record

# Look-ups left behind by callers whose time was up; the system's resolver ends each within half a minute.
LOOK_UPS = 32

# How long a wait for a look-up may be blind to a stop, in seconds.
_GLANCE = 0.1


def system_resolver(host: str) -> list[str]:
    """What the operating system says."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [_text(place) for *_, place in found]


def _text(place: Any) -> str:
    """The address of a ``sockaddr``; the scope of a link-local one, which stands apart in it, behind a ``%``."""
    return f"{place[0]}%{place[3]}" if len(place) > 3 and place[3] else str(place[0])


class Deadline:
    """So many seconds of real time from now on. The clock that others pass in may stand still."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left, more than 0; a TimeoutError when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def shorten(self, seconds: float) -> None:
        """End it in ``seconds`` at the latest."""
        self._end = min(self._end, time.monotonic() + seconds)

    def passed(self) -> bool:
        """Whether there is no time left."""
        return time.monotonic() >= self._end


class Incoming(io.RawIOBase):
    """What the other side says, each read of it within the deadline and all of it within ``limit`` bytes."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limit: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._left = limit

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is; an OSError for what is beyond the limit."""
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise OSError("the reply is too long")
        return count


def send_all(sock: socket.socket, data: bytes, deadline: Deadline) -> None:
    """Write it in pieces, each within what is left of the deadline."""
    for start in range(0, len(data), CHUNK):
        sock.settimeout(deadline.left())
        sock.sendall(data[start : start + CHUNK])


def failure(error: Exception, deadline: Deadline) -> str | None:
    """Why a connection failed, where time, the look-up or TLS is to blame; it repeats nothing of what was said."""
    if deadline.passed() or isinstance(error, TimeoutError):
        return f"no reply within {deadline.seconds:g} s"
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'failed'}"
    return None


class Dialler:
    """Opens connections, and breaks all of them off when it is closed; ``context`` replaces the usual trust."""

    def __init__(self, resolve: Resolver = system_resolver, *, context: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._context = context
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._look_ups = threading.BoundedSemaphore(LOOK_UPS)
        self.closed = False

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """Which certificates are trusted."""
        import ssl

        return self._context or ssl.create_default_context()

    def addresses(self, host: str, deadline: Deadline) -> list[str]:
        """The addresses of a host, each once, in the resolver's order; OSError or ValueError when it has none.

        The look-up runs in a thread that is left behind when the time is up.
        """
        with suppress(socket.gaierror):
            numeric = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
            return [_text(place) for *_, place in numeric][:1]
        if not self._look_ups.acquire(timeout=deadline.left()):
            raise TimeoutError
        found: list[str] = []
        failed: list[Exception] = []

        def look_up() -> None:
            try:
                found.extend(self._resolve(host))
            except Exception as error:
                failed.append(error)
            finally:
                self._look_ups.release()

        thread = threading.Thread(target=look_up, name="finapi-look-up", daemon=True)
        thread.start()
        while thread.is_alive() and not self.closed:
            thread.join(min(deadline.left(), _GLANCE))
        if failed:
            raise failed[0]
        return list(dict.fromkeys(found))

    def connect(self, addresses: Sequence[str], port: int, deadline: Deadline, stack: ExitStack) -> socket.socket:
        """A connection to the first address that answers, closed with ``stack``; the time left is shared among them."""
        for position, address in enumerate(addresses, 1):
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            try:
                with ExitStack() as attempt:
                    attempt.callback(sock.close)
                    attempt.enter_context(self._interruptible(sock))
                    sock.settimeout(deadline.left() / (len(addresses) - position + 1))
                    sock.connect((address, port))
                    stack.enter_context(attempt.pop_all())
                    return sock
            except OSError:
                if position == len(addresses) or self.closed or deadline.passed():
                    raise
        raise OSError("the server's name has no address")

    def close(self) -> None:
        """Break off every connection and refuse later ones; returns at once."""
        with self._lock:
            self.closed = True
            for handle in self._open:
                with suppress(OSError):
                    handle.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _interruptible(self, sock: socket.socket) -> Iterator[None]:
        # A handle of its own, because the socket's is passed on to TLS.
        handle = sock.dup()
        with self._lock:
            closed = self.closed
            self._open.add(handle)
        try:
            if closed:
                raise OSError("closed")
            yield
        finally:
            with self._lock:
                self._open.discard(handle)
                handle.close()
