"""Outgoing connections with one deadline for the DNS look-up, the connection and everything sent and received.

Three things make that difficult: a look-up has no timeout, the timeout of a socket applies to each operation, and a
thread that waits for the network cannot be stopped. Look-ups therefore run in a thread that can be abandoned, each
operation gets the time that is left, and a stop shuts down every open socket.
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

# Returns the addresses of a host as text ("192.0.2.1", "fe80::1%2"), in the order in which to try them. It may block,
# and raises OSError (``socket.gaierror``) or ValueError for a name without an address.
Resolver = Callable[[str], Sequence[str]]

CHUNK_BYTES = 16 * 1024  # The maximum size of a TLS record. Each chunk is sent with a timeout of its own.

# Look-ups that may run at the same time, abandoned ones included. The system's resolver ends each within half a minute.
MAX_LOOK_UPS = 32

# The interval in which a wait for a look-up notices a stop.
_STOP_CHECK_SECONDS = 0.1


def system_resolver(host: str) -> list[str]:
    """Return the addresses that the operating system finds for a host."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [_format_address(sockaddr) for *_, sockaddr in entries]


def _format_address(sockaddr: Any) -> str:
    """Return the address of a ``sockaddr``, with ``%`` and the scope id if it has one (link-local IPv6)."""
    has_scope = len(sockaddr) > 3 and sockaddr[3]
    return f"{sockaddr[0]}%{sockaddr[3]}" if has_scope else str(sockaddr[0])


class Deadline:
    """A point in real time, ``seconds`` from now. It does not use a Clock, which may be stopped in tests."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def get_seconds_left(self) -> float:
        """Return the seconds that are left, more than 0. Raise TimeoutError if there are none."""
        seconds_left = self._end - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError
        return seconds_left

    def shorten(self, seconds: float) -> None:
        """Move the deadline to ``seconds`` from now if that is earlier."""
        self._end = min(self._end, time.monotonic() + seconds)

    def has_passed(self) -> bool:
        """Return True if there is no time left."""
        return time.monotonic() >= self._end


class BoundedReader(io.RawIOBase):
    """A stream of received bytes. A read fails after the deadline, and when more than ``limit`` bytes have arrived."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limit: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._bytes_left = limit

    def readable(self) -> bool:
        """Return True: the stream is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes and return their number. Raise OSError beyond the limit."""
        self._sock.settimeout(self._deadline.get_seconds_left())
        count = self._sock.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise OSError("the reply is too long")
        return count


def send_all(sock: socket.socket, data: bytes, deadline: Deadline) -> None:
    """Send the data in chunks, each with the time that is left until the deadline."""
    for start in range(0, len(data), CHUNK_BYTES):
        sock.settimeout(deadline.get_seconds_left())
        sock.sendall(data[start : start + CHUNK_BYTES])


def describe_failure(error: Exception, deadline: Deadline) -> str | None:
    """Return the reason of a failed connection if it is a timeout or a TLS error, else None.

    The text contains nothing that the other side sent.
    """
    if deadline.has_passed() or isinstance(error, TimeoutError):
        return f"no reply within {deadline.seconds:g} s"
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'failed'}"
    return None


class Dialer:
    """Opens connections, and interrupts all of them when it is closed.

    ``context`` replaces the system's TLS settings and trusted certificates.
    """

    def __init__(self, resolve: Resolver = system_resolver, *, context: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._context = context
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._look_ups = threading.BoundedSemaphore(MAX_LOOK_UPS)
        self.closed = False

    @cached_property
    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings, with the trusted certificates."""
        import ssl

        return self._context or ssl.create_default_context()

    def resolve(self, host: str, deadline: Deadline) -> list[str]:
        """Return the addresses of a host without duplicates, in the resolver's order.

        Raise OSError or ValueError if it has none, and TimeoutError at the deadline. The thread of the look-up is
        abandoned then.
        """
        with suppress(socket.gaierror):
            entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
            return [_format_address(sockaddr) for *_, sockaddr in entries][:1]
        if not self._look_ups.acquire(timeout=deadline.get_seconds_left()):
            raise TimeoutError
        addresses: list[str] = []
        errors: list[Exception] = []

        def look_up() -> None:
            try:
                addresses.extend(self._resolve(host))
            except Exception as error:
                errors.append(error)
            finally:
                self._look_ups.release()

        thread = threading.Thread(target=look_up, name="finapi-look-up", daemon=True)
        thread.start()
        while thread.is_alive() and not self.closed:
            thread.join(min(deadline.get_seconds_left(), _STOP_CHECK_SECONDS))
        if errors:
            raise errors[0]
        return list(dict.fromkeys(addresses))

    def connect(self, addresses: Sequence[str], port: int, deadline: Deadline, stack: ExitStack) -> socket.socket:
        """Return a socket that is connected to the first address that accepts; ``stack`` closes it.

        The time that is left is divided among the addresses. Raise OSError if none of them accepts.
        """
        for position, address in enumerate(addresses, 1):
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            try:
                with ExitStack() as attempt:
                    attempt.callback(sock.close)
                    attempt.enter_context(self._interruptible(sock))
                    sock.settimeout(deadline.get_seconds_left() / (len(addresses) - position + 1))
                    sock.connect((address, port))
                    stack.enter_context(attempt.pop_all())
                    return sock
            except OSError:
                if position == len(addresses) or self.closed or deadline.has_passed():
                    raise
        raise OSError("the server's name has no address")

    def close(self) -> None:
        """Interrupt every connection and refuse later ones. Return without waiting."""
        with self._lock:
            self.closed = True
            for handle in self._open:
                with suppress(OSError):
                    handle.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _interruptible(self, sock: socket.socket) -> Iterator[None]:
        # A duplicate, because a TLS socket takes over the descriptor of the original.
        handle = sock.dup()
        with self._lock:
            closed = self.closed
            self._open.add(handle)
        try:
            if closed:
                raise OSError("the dialer is closed")
            yield
        finally:
            with self._lock:
                self._open.discard(handle)
                handle.close()
