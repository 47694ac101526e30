"""HTTP requests to other hosts: webhooks, probes, EDGAR. No other module makes any.

A host name is resolved once. Its addresses are checked (``addresses.py``), and the connection is made to a checked
address, so that a second look-up cannot lead elsewhere. Redirects and proxies are not used. A request ends within its
time limit, and reads no more bytes than its caller allows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from finapi.core.files import CHUNK_BYTES
from finapi.net import addresses
from finapi.net.addresses import Network
from finapi.net.dial import BoundedReader, Deadline, Dialer, Resolver, describe_failure, send_all, system_resolver

# At run time ssl and http.client are imported with the first request.
if TYPE_CHECKING:
    import ssl

MAX_URL_LENGTH = 2_000
MAX_ADDRESSES = 4  # The number of a host's addresses that are tried.

# One text for names that lead into the operator's network and names that lead nowhere: customers must not learn which.
NO_ADDRESS = "the host has no address that may be used"

# The size of the status line and headers of a reply, including those of interim (1xx) replies.
MAX_HEAD_BYTES = 64 * 1024

_HOST = r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?"
# A host whose last label matches this must be an IPv4 address of four decimal numbers. C libraries also accept octal,
# hexadecimal and single numbers as addresses.
_NUMBER = r"[0-9]+|0x[0-9a-f]*"
_HEADER = r"[\x20-\x7e]*"


class OutboundError(Exception):
    """A request without a complete reply. ``reason`` contains nothing that the other side sent, and may be shown.

    ``connected`` is True if the failure happened after the connection was established.
    """

    def __init__(self, reason: str, *, connected: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.connected = connected


class TargetRefusedError(OutboundError):
    """A request that was not made because its URL or address may not be used."""


class OutboundTimeoutError(OutboundError):
    """A request without a reply in time."""


class ReplyTooLongError(OutboundError):
    """A reply that is longer than a request with ``require_complete`` allows."""


class RequestStoppedError(OutboundError):
    """A request that was interrupted because finapi is stopping. The other side may have received it."""

    def __init__(self) -> None:
        super().__init__("finapi is stopping")


class Target(NamedTuple):
    """The parts of a URL. ``host`` is lower-case, an IPv6 address has no brackets; ``path`` includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the value of ``Host``: the host, and the port unless it is the default of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


_PORTS = {"http": 80, "https": 443}


def parse_target(url: str) -> Target:
    """Return the parts of an http or https URL.

    Raise TargetRefusedError for a URL that two parsers could read differently.
    """
    if len(url) > MAX_URL_LENGTH or not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        raise TargetRefusedError(f"the URL is longer than {MAX_URL_LENGTH} characters or contains invalid characters")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".")
        port = parts.port
    except ValueError:
        raise TargetRefusedError("the URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise TargetRefusedError("the URL is neither http nor https")
    if "@" in parts.netloc:
        raise TargetRefusedError("the URL contains a user name")
    if port == 0 or parts.netloc.endswith(":"):
        raise TargetRefusedError("the URL has no usable port")
    if "[" in parts.netloc:
        if "%" in host or addresses.parse_address(host) is None:
            raise TargetRefusedError("the URL's host must be an IPv6 address without a zone")
    elif not re.fullmatch(_HOST, host) or len(host) > 253 or ".." in host:
        raise TargetRefusedError("the URL's host is not a host name")
    elif re.fullmatch(_NUMBER, host.rpartition(".")[2]) and addresses.parse_address(host) is None:
        raise TargetRefusedError("the URL's host is an address in an unusual notation")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


class ReachPolicy(NamedTuple):
    """The addresses that may be reached.

    ``allowed`` are networks that the operator opened; plain http is only possible to them. ``allows_any_address`` is
    for URLs that the operator configured.
    """

    allowed: Sequence[Network] = ()
    allows_any_address: bool = False

    def find_refusal_reason(self, target: Target, text: str) -> str | None:
        """Return the reason why the address ``text`` of a target may not be connected to, or None if it may."""
        if self.allows_any_address:
            return None
        address = addresses.parse_address(text)
        if address is None:
            return "it has a zone"
        reason = addresses.find_refusal_reason(address, self.allowed)
        if reason is None and target.scheme == "http" and not any(address in network for network in self.allowed):
            return "https is required"
        return reason

    def check(self, url: str) -> None:
        """Raise TargetRefusedError for a URL that may not be used, as far as that is known without a look-up."""
        target = parse_target(url)
        # RFC 6761: these names mean this machine, even if a resolver returns another address.
        is_local = target.host.rstrip(".").lower().rpartition(".")[2] == "localhost"
        if is_local or addresses.parse_address(target.host) is not None:
            reason = self.find_refusal_reason(target, "127.0.0.1" if is_local else target.host)
            if reason is not None:
                raise TargetRefusedError(f"the address may not be used: {reason}")
        elif target.scheme == "http" and not self.allows_any_address and not self.allowed:
            raise TargetRefusedError("the URL must be https")


class OutboundRequest(NamedTuple):
    """A request. ``timeout_seconds`` covers all of it, and at most ``max_body_bytes`` of the reply's body are read.

    With ``require_complete``, a longer or incomplete body is an OutboundError. With ``head_only``, the body is not read
    and http.client is not imported: enough for probes of our own server.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    timeout_seconds: float = 10.0
    max_body_bytes: int = 2048
    require_complete: bool = False
    head_only: bool = False


class Reply(NamedTuple):
    """A reply. Header names are lower-case; of repeated headers the last one counts.

    ``is_truncated`` is True if the body is longer than ``max_body_bytes``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_truncated: bool


class Outbound:
    """A client for HTTP requests to other hosts. Thread-safe. After :meth:`close` it refuses requests."""

    def __init__(
        self, reach: ReachPolicy, *, resolve: Resolver = system_resolver, context: ssl.SSLContext | None = None
    ) -> None:
        self.reach = reach
        self._dialer = Dialer(resolve, context=context)

    def send(self, request: OutboundRequest) -> Reply:
        """Send a request on a connection of its own and return the reply.

        Raise OutboundError without a reply, TargetRefusedError if the URL or every address of its host may not be used,
        and RequestStoppedError if :meth:`close` interrupted it.
        """
        target = parse_target(request.url)
        deadline = Deadline(request.timeout_seconds)
        connected = False
        try:
            with ExitStack() as stack:
                usable = self._list_usable_addresses(target, deadline)
                sock = self._dialer.connect(usable, target.port, deadline, stack)
                if target.scheme == "https":
                    sock.settimeout(deadline.get_seconds_left())
                    sock = stack.enter_context(self._dialer.tls_context.wrap_socket(sock, server_hostname=target.host))
                connected = True
                send_all(sock, _build_head(target, request) + request.body, deadline)
                # Twice the body size, because each chunk of a chunked body has a size line.
                limit = MAX_HEAD_BYTES + io.DEFAULT_BUFFER_SIZE + 2 * request.max_body_bytes
                incoming = BoundedReader(sock, deadline, limit)
                buffer: io.BufferedReader = stack.enter_context(io.BufferedReader(incoming))
                return _read_head(buffer) if request.head_only else _read_reply(buffer, request, stack)
        except OutboundError:
            raise
        except Exception as error:  # The classes of http.client are only imported to describe one of its errors.
            if self._dialer.closed:
                raise RequestStoppedError from None
            reason = describe_failure(error, deadline) or _describe_bad_reply(error)
            if reason is None:
                if not isinstance(error, OSError):
                    raise
                reason = f"cannot be reached: {getattr(error, 'strerror', None) or error}"
            if deadline.has_passed() or isinstance(error, TimeoutError):
                raise OutboundTimeoutError(reason, connected=connected) from None
            raise OutboundError(reason, connected=connected) from None

    def close(self) -> None:
        """Interrupt running requests and refuse later ones. Return without waiting."""
        self._dialer.close()

    def _list_usable_addresses(self, target: Target, deadline: Deadline) -> list[str]:
        """Return the addresses of the host that may be connected to. Raise TargetRefusedError if there are none."""
        if self.reach.allows_any_address:
            return list(self._dialer.resolve(target.host, deadline))[:MAX_ADDRESSES]
        try:
            resolved = self._dialer.resolve(target.host, deadline)
        except TimeoutError:
            raise
        except (OSError, ValueError):
            resolved = []
        usable = [address for address in resolved if self.reach.find_refusal_reason(target, address) is None]
        if not usable and not self._dialer.closed:
            raise TargetRefusedError(NO_ADDRESS)
        return usable[:MAX_ADDRESSES]


def _build_head(target: Target, request: OutboundRequest) -> bytes:
    fields = {"Host": target.authority, "Accept-Encoding": "identity", "Connection": "close", **request.headers}
    if request.body or request.method not in ("GET", "HEAD"):
        fields["Content-Length"] = str(len(request.body))
    lines = [f"{request.method} {target.path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    if not all(re.fullmatch(_HEADER, line) for line in lines):
        raise ValueError("a header contains characters that a header may not")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _read_head(buffer: io.BufferedReader) -> Reply:
    line = buffer.readline()
    if not re.match(rb"HTTP/1\.[01] [1-9][0-9]{2}[ \r]", line):
        raise ValueError
    fields = (field.partition(":") for field in iter(lambda: buffer.readline().decode("latin-1").strip(), ""))
    return Reply(int(line[9:12]), {name.lower(): value.strip() for name, _, value in fields}, b"", False)


def _read_reply(buffer: io.BufferedReader, request: OutboundRequest, stack: ExitStack) -> Reply:
    from http.client import HTTPResponse, IncompleteRead

    # HTTPResponse uses only makefile() of a socket. The responses after interim ones read from the same buffer.
    socket: Any = SimpleNamespace(makefile=lambda mode: buffer)
    while True:
        # The stack closes it before the buffer: Python 3.13 warns if a response is collected after its file was closed.
        response = stack.enter_context(HTTPResponse(socket, method=request.method))
        response.begin()
        # 101 is not an interim reply: it would switch to a protocol that was not requested.
        if response.status >= 200 or response.status == 101:
            break
        response.fp = None  # type: ignore[assignment]  # The next response continues in the buffer.
    headers = {name.lower(): value for name, value in response.getheaders()}
    # The bytes are counted here, because only some versions of Python decrease response.length in read1().
    length = response.length
    max_bytes = request.max_body_bytes + 1
    if length is not None:
        max_bytes = min(max_bytes, length)
    body = bytearray()
    try:
        while len(body) < max_bytes:
            # read1 allocates the requested number of bytes before it reads, so it is limited.
            chunk = response.read1(min(max_bytes - len(body), CHUNK_BYTES))
            if not chunk:
                break
            body += chunk
    except TimeoutError:
        # Without a length, a body ends with the connection, which some receivers never close. The bytes received until
        # the timeout are accepted as the body.
        if request.require_complete or response.chunked or length is not None:
            raise
    is_truncated = len(body) > request.max_body_bytes
    if length is not None and len(body) < max_bytes:
        raise IncompleteRead(bytes(body), length - len(body))
    if is_truncated and request.require_complete:
        raise ReplyTooLongError(f"the reply is longer than {request.max_body_bytes} bytes")
    return Reply(response.status, headers, bytes(body[: request.max_body_bytes]), is_truncated)


def _describe_bad_reply(error: Exception) -> str | None:
    """Return a description of an error in a reply, without its text, or None if the connection failed."""
    from http.client import HTTPException, IncompleteRead, RemoteDisconnected

    reasons: tuple[tuple[type[Exception], str], ...] = (
        (RemoteDisconnected, "the connection was closed without a reply"),
        (IncompleteRead, "the connection was closed in the middle of the reply"),
        (HTTPException, "the reply is not HTTP"),
        (UnicodeError, "the host name cannot be looked up"),
        (ValueError, "the reply makes no sense"),
    )
    return next((text for kind, text in reasons if isinstance(error, kind)), None)
