"""HTTP requests to others: webhooks, probes, EDGAR. The only module that makes them.

The receiver's name is resolved once, the address judged (``addresses``) and connected to by its number. No redirect
is followed, no proxy used. All of it ends within a wall-clock limit and holds no more memory than was asked for.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from finapi.net import addresses
from finapi.net.addresses import Network
from finapi.net.dial import Deadline, Dialler, Incoming, Resolver, failure, send_all, system_resolver

# Loaded with the first request, as http.client is.
if TYPE_CHECKING:
    import ssl

MAX_URL = 2_000  # characters
ADDRESSES = 4  # of a host that are tried

# Of a name that a customer gave: whether it leads inside the operator's network, or nowhere, is not for her to learn.
NO_ADDRESS = "the host has no address that may be used"

# Of the status line and all headers of a reply, the interim ones before it included.
HEAD_BYTES = 64 * 1024

_HOST = r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?"
# What the last label of a host must not be, unless the whole is an address in four decimal parts: the forms
# that C libraries take for addresses (octal, hexadecimal, one number) begin with a digit or 0x.
_NUMBER = r"[0-9]+|0x[0-9a-f]*"
_HEADER = r"[\x20-\x7e]*"


class OutboundError(Exception):
    """A request that got no reply, or not all of it; ``reason`` is in words of our own and may be shown.

    ``connected`` says that the receiver was there, and failed at this request.
    """

    def __init__(self, reason: str, *, connected: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.connected = connected


class TargetRefused(OutboundError):
    """A request that was not made, because its URL or the receiver's address may not be used."""


class TimedOut(OutboundError):
    """A request whose reply did not come in time."""


class TooLong(OutboundError):
    """A reply that was wanted whole and is longer than was allowed for."""


class RequestStopped(OutboundError):
    """A request that was broken off because finapi stops; the other side may have got it."""

    def __init__(self) -> None:
        super().__init__("finapi is stopping")


class Target(NamedTuple):
    """Where a URL leads. ``host`` is lower-case, an IPv6 address without brackets; ``path`` has the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What ``Host`` says: the host, and the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


_PORTS = {"http": 80, "https": 443}


def target(url: str) -> Target:
    """The parts of an http or https URL; TargetRefused for what two readers could read differently."""
    if len(url) > MAX_URL or not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        raise TargetRefused(f"the URL is longer than {MAX_URL} characters or contains invalid characters")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        raise TargetRefused("the URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise TargetRefused("the URL is neither http nor https")
    if "@" in parts.netloc:
        raise TargetRefused("the URL contains a user name")
    if port == 0 or parts.netloc.endswith(":"):
        raise TargetRefused("the URL has no usable port")
    if "[" in parts.netloc:
        if "%" in host or addresses.parsed(host) is None:
            raise TargetRefused("the URL's host must be an IPv6 address without a zone")
    elif not re.fullmatch(_HOST, host) or len(host) > 253 or ".." in host:
        raise TargetRefused("the URL's host is not a host name")
    elif re.fullmatch(_NUMBER, host.rpartition(".")[2]) and addresses.parsed(host) is None:
        raise TargetRefused("the URL's host is an address in an unusual notation")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


class Reach(NamedTuple):
    """What may be reached. ``allowed`` opens ranges that the table refuses, and them alone to plain http.

    ``anything`` is for addresses that the operator configured, not a customer.
    """

    allowed: Sequence[Network] = ()
    anything: bool = False

    def refusal(self, where: Target, text: str) -> str | None:
        """Why the address ``text`` of a target may not be connected to; None when it may."""
        if self.anything:
            return None
        address = addresses.parsed(text)
        if address is None:
            return "it has a zone"
        why = addresses.refusal(address, self.allowed)
        if why is None and where.scheme == "http" and not any(address in one for one in self.allowed):
            return "https is required"
        return why

    def check(self, url: str) -> None:
        """TargetRefused for a URL of which no look-up is needed to say that it may not be used."""
        where = target(url)
        # RFC 6761: these names are the machine itself, whatever a resolver says.
        local = where.host.rstrip(".").lower().rpartition(".")[2] == "localhost"
        if local or addresses.parsed(where.host) is not None:
            why = self.refusal(where, "127.0.0.1" if local else where.host)
            if why is not None:
                raise TargetRefused(f"the address may not be used: {why}")
        elif where.scheme == "http" and not self.anything and not self.allowed:
            raise TargetRefused("the URL must be https")


class OutboundRequest(NamedTuple):
    """What is sent. ``seconds`` is for all of it; of the reply's body ``body_bytes`` are kept, no more are read.

    With ``whole`` a body that is longer, or that breaks off, is an OutboundError. With ``head`` no body is read,
    nor what reads one loaded: enough for a server of our own.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    seconds: float = 10.0
    body_bytes: int = 2048
    whole: bool = False
    head: bool = False


class Reply(NamedTuple):
    """What came back; header names are lower-case, of several headers of a name the last counts.

    ``cut`` says that the body went on beyond ``body_bytes``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool


class Outbound:
    """Makes requests until it is closed; safe for many threads at once."""

    def __init__(
        self, reach: Reach, *, resolve: Resolver = system_resolver, context: ssl.SSLContext | None = None
    ) -> None:
        self.reach = reach
        self._dialler = Dialler(resolve, context=context)

    def send(self, request: OutboundRequest) -> Reply:
        """The reply to one request on a connection of its own, or an OutboundError.

        TargetRefused: the URL, or every address of its host, may not be used. RequestStopped: ``close`` broke it off.
        """
        where = target(request.url)
        deadline, connected = Deadline(request.seconds), False
        try:
            with ExitStack() as stack:
                usable = self._usable(where, deadline)
                sock = self._dialler.connect(usable, where.port, deadline, stack)
                if where.scheme == "https":
                    sock.settimeout(deadline.left())
                    sock = stack.enter_context(self._dialler.trust.wrap_socket(sock, server_hostname=where.host))
                connected = True
                send_all(sock, _head(where, request) + request.body, deadline)
                # Twice the body: its chunks have sizes in front of them.
                limit = HEAD_BYTES + io.DEFAULT_BUFFER_SIZE + 2 * request.body_bytes
                incoming = Incoming(sock, deadline, limit)
                buffer: io.BufferedReader = stack.enter_context(io.BufferedReader(incoming))
                return _head_of(buffer) if request.head else _reply(buffer, request, deadline, stack)
        except OutboundError:
            raise
        except Exception as error:  # what http.client raises has a class of its own, which need not be loaded
            if self._dialler.closed:
                raise RequestStopped from None
            late = deadline.passed() or isinstance(error, TimeoutError)
            told = failure(error, deadline) or _misunderstood(error)
            if told is None and not isinstance(error, OSError):
                raise
            reason = told or f"cannot be reached: {getattr(error, 'strerror', None) or error}"
            raise (TimedOut if late else OutboundError)(reason, connected=connected) from None

    def close(self) -> None:
        """Break off what is being sent and refuse what comes later; returns at once."""
        self._dialler.close()

    def _usable(self, where: Target, deadline: Deadline) -> list[str]:
        """The addresses of the host that may be connected to; TargetRefused when there are only others, or none."""
        if self.reach.anything:
            return list(self._dialler.addresses(where.host, deadline))[:ADDRESSES]
        try:
            found = self._dialler.addresses(where.host, deadline)
        except TimeoutError:
            raise
        except (OSError, ValueError):
            found = []
        usable = [address for address in found if self.reach.refusal(where, address) is None]
        if not usable and not self._dialler.closed:
            raise TargetRefused(NO_ADDRESS)
        return usable[:ADDRESSES]


def _head(where: Target, request: OutboundRequest) -> bytes:
    fields = {"Host": where.authority, "Accept-Encoding": "identity", "Connection": "close", **request.headers}
    if request.body or request.method not in ("GET", "HEAD"):
        fields["Content-Length"] = str(len(request.body))
    lines = [f"{request.method} {where.path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    if not all(re.fullmatch(_HEADER, line) for line in lines):
        raise ValueError("a header contains characters that a header may not")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _head_of(buffer: io.BufferedReader) -> Reply:
    line = buffer.readline()
    if not re.match(rb"HTTP/1\.[01] [1-9][0-9]{2}[ \r]", line):
        raise ValueError
    fields = (field.partition(":") for field in iter(lambda: buffer.readline().decode("latin-1").strip(), ""))
    return Reply(int(line[9:12]), {name.lower(): value.strip() for name, _, value in fields}, b"", False)


def _reply(buffer: io.BufferedReader, request: OutboundRequest, deadline: Deadline, stack: ExitStack) -> Reply:
    from http.client import HTTPResponse, IncompleteRead

    # What HTTPResponse asks of a socket: it is handed one buffer again for each interim reply.
    socket: Any = SimpleNamespace(makefile=lambda mode: buffer)
    while True:
        # Closed before the buffer: one that is collected after it flushes a closed file, which Python 3.13 reports.
        response = stack.enter_context(HTTPResponse(socket, method=request.method))
        response.begin()
        # 101 is not of the interim ones: it would be another protocol, which nobody asked for.
        if response.status >= 200 or response.status == 101:
            break
        response.fp = None  # type: ignore[assignment]  # the next one reads on in the buffer
    headers = {name.lower(): value for name, value in response.getheaders()}
    # Counted here: whether read1() counts down the response's own length differs between Python's versions.
    length = response.length
    most = request.body_bytes + 1 if length is None else min(request.body_bytes + 1, length)
    kept = bytearray()
    try:
        while len(kept) < most and (piece := response.read1(most - len(kept))):
            kept += piece
    except TimeoutError:
        # Without a length a body ends with the connection, which not every receiver closes: enough was said.
        if request.whole or response.chunked or length is not None:
            raise
    cut = len(kept) > request.body_bytes
    if length is not None and len(kept) < most:
        raise IncompleteRead(bytes(kept), length - len(kept))
    if cut and request.whole:
        raise TooLong(f"the reply is longer than {request.body_bytes} bytes")
    return Reply(response.status, headers, bytes(kept[: request.body_bytes]), cut)


def _misunderstood(error: Exception) -> str | None:
    """What was wrong with a reply, in words that repeat nothing of it; None where the connection was to blame."""
    from http.client import HTTPException, IncompleteRead, RemoteDisconnected

    reasons: tuple[tuple[type[Exception], str], ...] = (
        (RemoteDisconnected, "the connection was closed without a reply"),
        (IncompleteRead, "the connection was closed in the middle of the reply"),
        (HTTPException, "the reply is not HTTP"),
        (UnicodeError, "the host name cannot be looked up"),
        (ValueError, "the reply makes no sense"),
    )
    return next((text for kind, text in reasons if isinstance(error, kind)), None)
