"""HTTP requests to others: webhooks, probes, EDGAR. The only module that makes them.

The receiver's name is resolved once, the address judged (``addresses``) and connected to by its number, under
the name for TLS. No redirect is followed, no proxy of the environment used, no user name in a URL taken. All of
it ends within a wall-clock limit, whatever the other side does, and holds no more memory than was asked for.
"""

from __future__ import annotations

import http.client
import io
import re
import ssl
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from finapi import addresses
from finapi.addresses import Network
from finapi.dial import Deadline, Dialler, Incoming, Resolver, send_all, system_resolver

MAX_URL = 2_000  # characters
ADDRESSES = 4  # of a host that are tried

# Of the status line and all headers of a reply, the interim ones before it included.
HEAD_BYTES = 64 * 1024

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
# What the last label of a host must not be, unless the whole is an address in four decimal parts: the forms
# that C libraries take for addresses (octal, hexadecimal, one number) begin with a digit or 0x.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HEADER = re.compile(r"[\x20-\x7e]*")


class OutboundError(Exception):
    """A request that got no reply, or not all of it; ``reason`` is in words of our own and may be shown."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Refused(OutboundError):
    """A request that was not made, because its URL or the receiver's address may not be used."""


class TimedOut(OutboundError):
    """A request whose reply did not come in time."""


class TooLong(OutboundError):
    """A reply that was wanted whole and is longer than was allowed for."""


class Stopped(OutboundError):
    """A request that was broken off because finapi stops; the other side may have got it."""

    def __init__(self) -> None:
        super().__init__("finapi is stopping")


@dataclass(frozen=True, slots=True)
class Target:
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
    """The parts of an http or https URL, or Refused with the reason: nothing that two readers could read
    differently is taken, such as a user name, a backslash, or an address in octal.
    """
    if len(url) > MAX_URL or not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        raise Refused(f"the URL is longer than {MAX_URL} characters or holds what no URL may")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        raise Refused("the URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise Refused("the URL is neither http nor https")
    if "@" in parts.netloc:
        raise Refused("the URL holds a user name")
    if port == 0 or parts.netloc.endswith(":"):
        raise Refused("the URL has no usable port")
    if "[" in parts.netloc:
        if "%" in host or addresses.parsed(host) is None:
            raise Refused("the URL's host is no IPv6 address, or one with a zone")
    elif not _HOST.fullmatch(host) or len(host) > 253 or ".." in host:
        raise Refused("the URL's host is no host name")
    elif _NUMBER.fullmatch(host.rpartition(".")[2]) and addresses.parsed(host) is None:
        raise Refused("the URL's host is an address in an unusual notation")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


@dataclass(frozen=True, slots=True)
class Reach:
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
            return "it carries a zone"
        why = addresses.refusal(address, self.allowed)
        if why is None and where.scheme == "http" and not any(address in one for one in self.allowed):
            return "https is needed there"
        return why

    def check(self, url: str) -> None:
        """Refused for a URL of which no look-up is needed to say that it may not be used."""
        where = target(url)
        if addresses.parsed(where.host) is not None:
            why = self.refusal(where, where.host)
            if why is not None:
                raise Refused(f"the address may not be used: {why}")
        elif where.scheme == "http" and not self.anything and not self.allowed:
            raise Refused("the URL must be https")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. ``seconds`` is for all of it; of the reply's body ``body_bytes`` are kept, no more are read.

    With ``whole`` a body that is longer, or that breaks off, is an OutboundError.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 10.0
    body_bytes: int = 2048
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
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
        self,
        reach: Reach,
        *,
        resolve: Resolver = system_resolver,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.reach = reach
        self._dialler = Dialler(resolve)
        self._context = context

    def send(self, request: Request) -> Reply:
        """The reply to one request on a connection of its own.

        Refused when the URL or every address of its host may not be used; OutboundError when no reply came in
        time, or one that is no HTTP; Stopped when ``close`` broke it off.
        """
        where = target(request.url)
        deadline = Deadline(request.seconds)
        try:
            with ExitStack() as stack:
                usable = self._usable(where, deadline)
                sock = self._dialler.connect(usable, where.port, deadline, stack)
                if where.scheme == "https":
                    sock.settimeout(deadline.left())
                    sock = stack.enter_context(self._trust().wrap_socket(sock, server_hostname=where.host))
                send_all(sock, _head(where, request) + request.body, deadline)
                # Twice the body: its chunks have sizes in front of them.
                limit = HEAD_BYTES + io.DEFAULT_BUFFER_SIZE + 2 * request.body_bytes
                incoming = Incoming(sock, deadline, limit)
                return _reply(stack.enter_context(io.BufferedReader(incoming)), request, deadline)
        except OutboundError:
            raise
        except (OSError, ValueError, http.client.HTTPException) as error:
            if self._dialler.closed:
                raise Stopped from None
            late = deadline.passed() or isinstance(error, TimeoutError)
            raise (TimedOut if late else OutboundError)(_reason(error, deadline)) from None

    def close(self) -> None:
        """Break off what is being sent and refuse what comes later; returns at once."""
        self._dialler.close()

    def _usable(self, where: Target, deadline: Deadline) -> list[str]:
        """The addresses of the host that may be connected to; Refused when there are only others."""
        found = self._dialler.addresses(where.host, deadline)
        verdicts = {address: self.reach.refusal(where, address) for address in found}
        usable = [address for address, why in verdicts.items() if why is None]
        if verdicts and not usable:
            raise Refused(f"the address may not be used: {next(iter(verdicts.values()))}")
        return usable[:ADDRESSES]

    def _trust(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


class _File:
    """What HTTPResponse asks of a socket; it is handed one buffer again for each interim reply."""

    def __init__(self, buffer: io.BufferedReader) -> None:
        self._buffer = buffer

    def makefile(self, mode: str) -> io.BufferedReader:
        return self._buffer


def _head(where: Target, request: Request) -> bytes:
    fields = {
        "Host": where.authority,
        "Accept-Encoding": "identity",
        "Connection": "close",
        **request.headers,
    }
    if request.body or request.method not in ("GET", "HEAD"):
        fields["Content-Length"] = str(len(request.body))
    lines = [f"{request.method} {where.path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    if not all(_HEADER.fullmatch(line) for line in lines):
        raise ValueError("a header holds what no header can")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _reply(buffer: io.BufferedReader, request: Request, deadline: Deadline) -> Reply:
    responses: list[http.client.HTTPResponse] = []  # a response that is forgotten closes the buffer
    # 101 is not of the interim ones: it would be another protocol, which nobody asked for.
    while not responses or (100 <= responses[-1].status < 200 and responses[-1].status != 101):
        responses.append(http.client.HTTPResponse(_File(buffer), method=request.method))  # type: ignore[arg-type]
        responses[-1].begin()
    response = responses[-1]
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
        raise http.client.IncompleteRead(bytes(kept), length - len(kept))
    if cut and request.whole:
        raise TooLong(f"the reply is longer than {request.body_bytes} bytes")
    return Reply(response.status, headers, bytes(kept[: request.body_bytes]), cut)


def _reason(error: Exception, deadline: Deadline) -> str:
    """What went wrong, in words that repeat nothing of what was answered."""
    if deadline.passed() or isinstance(error, TimeoutError):
        return f"no reply within {deadline.seconds:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'failed'}"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed without a reply"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection was closed in the middle of the reply"
    if isinstance(error, http.client.HTTPException):
        return "the reply is no HTTP"
    if isinstance(error, UnicodeError):
        return "the host name cannot be looked up"
    if isinstance(error, ValueError):
        return "the reply makes no sense"
    return f"cannot be reached: {getattr(error, 'strerror', None) or error}"
