"""Requests and responses as values, between WSGI and the handlers; nothing here knows a route or a user."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from finapi.accounts.billing import Charge
from finapi.core.errors import ApiError
from finapi.core.json import build_strict_decoder

MIN_GZIP_BYTES = 1024  # bytes; DECISIONS 2
BINARY_MEDIA_TYPE = "application/octet-stream"  # a file as it lies there; its name says what it is

# Content-Security-Policy of an answer that has none of its own: nothing of it is rendered, and no page frames it.
CSP_RENDER_NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
GZIP_LEVEL = 5  # statements shrink to a tenth; higher levels cost twice the time for two per cent

MAX_FORM = 64 * 1024  # bytes; a password of 1,024 characters takes at most 12 KB encoded

# Objects, lists and values of a JSON body. Each takes some eighty bytes when it is parsed, and three of the body.
MAX_JSON_VALUES = 20_000

# Proxies in a row that may be trusted, and the characters of the longest address (with a zone; RFC 6874).
MAX_HOPS, MAX_ADDRESS = 16, 64

# More pairs than any route has names; beyond them a query is an attack on the parser.
MAX_QUERY_FIELDS = 200

_STRICT = build_strict_decoder()
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no name, no time, from no system in particular
_CALLER_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,191}")
_WEIGHT = re.compile(r"q\s*=\s*([01](?:\.[0-9]{0,3})?)")


class Request(NamedTuple):
    """One HTTP request. ``path`` is the raw, still encoded path; header names are lower-case.

    ``wrong`` is the BAD_REQUEST that its path or query calls for; ``segments`` and ``query`` are empty then.
    """

    method: str
    path: str
    segments: tuple[str, ...]
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    address: str
    deadline: float | None
    target_error: ApiError | None
    # The body as it was read: a stream gives it once.
    parsed_bodies: list[dict[str, Any]]
    stream: Any = None
    # The other end of the connection, whatever a proxy says of the caller.
    peer: str = ""
    # Path and query as they came: what is read of them is the same each time.
    target: str = ""

    @property
    def body_bytes(self) -> int:
        """Bytes of the body: the server has joined it, and without a length there is none."""
        return int(self.headers.get("content-length") or 0)

    def read_json(self, most: int) -> dict[str, Any]:
        """The body, of at most so many bytes, as a JSON object (see :func:`json_object`)."""
        if self.parsed_bodies:
            return self.parsed_bodies[0]
        length = self.body_bytes
        if length > most:
            raise too_large(most)
        self.parsed_bodies.append(parse_json_object(self.stream.read(length), self.headers.get("content-type", "")))
        return self.parsed_bodies[0]

    def read_form(self) -> dict[str, str]:
        """The body as an HTML form's fields, the first of each name; BAD_REQUEST when it is none."""
        if not self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/x-www-form-urlencoded.")
        if self.body_bytes > MAX_FORM:
            raise too_large(MAX_FORM)
        try:
            text = self.stream.read(self.body_bytes).decode("ascii")
        except UnicodeDecodeError:
            raise ApiError("BAD_REQUEST", "The form is not ASCII.") from None
        return {name: values[0] for name, values in _query(text).items()}

    def find_preferred_type(self, kinds: Sequence[str]) -> str | None:
        """The one of these media types that ``Accept`` has rather than JSON, or None (RFC 9110 12.5.1).

        The greatest weight decides, of equal ones what is named first.
        """
        best, weight = None, 0.0
        for choice in self.headers.get("accept", "").lower().split(","):
            name, *parameters = (part.strip() for part in choice.split(";"))
            if name in kinds or name in ("application/json", "*/*"):
                weights = [found for part in parameters if (found := _WEIGHT.fullmatch(part))]
                given = float(weights[0][1]) if weights else 1.0
                if given > weight:
                    best, weight = name if name in kinds else None, given
        return best

    @property
    def wants_gzip(self) -> bool:
        """Whether the caller takes gzip (RFC 9110 12.5.3; ``q=0`` is a refusal)."""
        return _takes_gzip(self.headers.get("accept-encoding", ""))


@dataclass(slots=True, repr=False)
class Response:
    """Status, body and headers; ``headers`` are added to those that every response carries."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    # What the body ends with when that is each call's own, and what comes before is not.
    suffix: bytes = b""
    # The body instead of ``body``, made while it is sent.
    stream: Any = None
    # Whether it is compressed as it stands, a file that is sent as it lies there.
    is_compressed: bool = False
    # Whether the body is in memory as long as the process, the same object for every call.
    is_resident: bool = False
    # The answer that is kept for whoever asks the same of the same data: this is one with the end of a call.
    cached: Response | None = None
    # Open until the response has been made or, if it is a stream, sent.
    charge: Charge | None = None

    def settle_charge(self) -> Any:
        """Settle the charge, now that the response is made. A stream settles it when it has been sent; return it."""
        if self.charge is not None and self.stream is not None:
            self.stream.charge = self.charge
        elif self.charge is not None:
            self.charge.settle()
        return self.stream

    def refund_charge(self, error: Exception) -> None:
        """Refund the charge and end the stream: the response cannot be made."""
        if self.stream is not None:
            self.stream.close()
        if self.charge is not None:
            self.charge.refund(error)


def parse_environ(environ: Mapping[str, Any], trusted_proxies: tuple[str, ...] = ()) -> Request:
    """The request of a WSGI environ. What cannot be read of it is told by ``wrong``: it is answered all the same."""
    # The raw target where the server gives it: an encoded slash inside a segment is not a separator.
    raw = environ.get("REQUEST_URI") or quote(environ.get("PATH_INFO", "").encode("latin-1"))
    path = raw.partition("?")[0]
    if not path.startswith("/"):
        path = "/" + path.partition("://")[2].partition("/")[2]
    headers = read_headers(environ)
    peer, deadline = environ.get("REMOTE_ADDR", ""), environ.get("finapi.deadline")
    given = (environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""), headers, peer, trusted_proxies)
    return _request(*given, deadline, environ.get("wsgi.input"))


def read_headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """The header fields of a WSGI environ, by their names in lower case."""
    headers = {_field_name(name): value for name, value in environ.items() if name[:5] == "HTTP_"}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = environ[name]
    return headers


def build_get_request(target: str, headers: Mapping[str, str], peer: str, trusted_proxies: tuple[str, ...]) -> Request:
    """GET of a target without body; ``headers`` as the server names them, ``USER_AGENT``."""
    path, _, queried = target.partition("?")
    named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return _request("GET", path, queried, named, peer, trusted_proxies)


def _request(
    method: str,
    path: str,
    queried: str,
    headers: Mapping[str, str],
    peer: str,
    trusted_proxies: tuple[str, ...],
    deadline: float | None = None,
    stream: Any = None,
) -> Request:
    segments: tuple[str, ...] = ()
    query: Mapping[str, list[str]] = {}
    wrong = None
    try:
        segments, query = _target(path, queried)
    except ApiError as error:
        wrong = error
    address = client_address(peer, headers.get("x-forwarded-for", ""), trusted_proxies)
    target = f"{path}?{queried}"
    return Request(method, path, segments, query, headers, address, deadline, wrong, [], stream, peer, target)


def is_trusted_proxy(peer: str, trusted_proxies: tuple[str, ...]) -> bool:
    """Whether the peer is a proxy, whose connections are many clients'."""
    address = _address(peer) if trusted_proxies else None
    return address is not None and any(address in network for network in _networks(trusted_proxies))


def client_address(peer: str, forwarded: str, trusted_proxies: tuple[str, ...]) -> str:
    """Whom a limit charges: the peer, or what a trusted proxy says of it; IPv6 as its /64 (DECISIONS 5).

    ``X-Forwarded-For`` is read from the right, skipping trusted proxies: what stands further left is what
    the caller claims of itself. Of more than MAX_HOPS hops the rest is not looked at.
    """
    # What is remembered is short, whatever anybody sends: the header may be as long as a whole head.
    hops = forwarded.rsplit(",", MAX_HOPS)[-MAX_HOPS:] if forwarded and trusted_proxies else []
    return _charged_address(peer, tuple(hop.strip()[:MAX_ADDRESS] for hop in hops), trusted_proxies)


@lru_cache(maxsize=4096)
def _charged_address(peer: str, hops: tuple[str, ...], trusted_proxies: tuple[str, ...]) -> str:
    for hop in [peer, *reversed(hops)]:
        address = _address(hop)
        if address is None:
            break
        peer = hop
        if not is_trusted_proxy(hop, trusted_proxies):
            break
    address = _address(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address) if address else peer


def parse_json_object(data: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object that a body is; BAD_REQUEST when it is anything else, 415 for another media type.

    Duplicate keys, NaN and infinities are refused: two readers could disagree on what they mean.
    """
    if content_type and content_type.partition(";")[0].strip().lower() != "application/json":
        raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.")
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_JSON_VALUES:
        raise ApiError("BAD_REQUEST", f"The body has more than {MAX_JSON_VALUES} values.")
    try:
        value = _STRICT.decode(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "column": error.colno}
        message = f"The body is not valid JSON at line {error.lineno}, column {error.colno}."
        raise ApiError("BAD_REQUEST", message, details=where) from None
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 at byte {error.start + 1}."
        raise ApiError("BAD_REQUEST", message, details={"byte": error.start + 1}) from None
    except RecursionError:
        raise ApiError("BAD_REQUEST", "The body is nested too deeply.") from None
    except ValueError as error:
        # What the decoder itself refuses: a key that occurs twice, NaN.
        raise ApiError("BAD_REQUEST", f"The body cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise ApiError("BAD_REQUEST", "The body must be a JSON object.")
    return value


def read_api_key(request: Request, *, bearer: bool = False) -> str:
    """The API key that a request was sent with, or an empty text; where ``bearer``, as a token too."""
    key = request.headers.get("x-api-key") or request.query.get("apiKey", [""])[0]
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return key or (token.strip() if bearer and scheme.lower() == "bearer" else "")


def too_large(limit: int) -> ApiError:
    """The 413 of a body that has more bytes than a call may have."""
    return ApiError("PAYLOAD_TOO_LARGE", f"The request body is larger than {limit} bytes.")


def find_caller_request_id(request: Request) -> str | None:
    """The caller's ``X-Request-ID`` if it may be repeated (1-191 visible ASCII characters), else None."""
    said = request.headers.get("x-request-id")
    return said if said and _CALLER_REQUEST_ID.fullmatch(said) else None


class CompressedPrefix(NamedTuple):
    """A text as gzip (RFC 1952) up to the point where more may follow; the same bytes give the same bytes."""

    body: bytes
    crc: int
    length: int

    def finish(self, end: bytes = b"") -> bytes:
        """The whole with ``end`` behind it as it is, in a stored block (RFC 1951 3.2.4): 65,535 bytes at most."""
        block = struct.pack("<BHH", 1, len(end), len(end) ^ 0xFFFF)
        trailer = struct.pack("<LL", zlib.crc32(end, self.crc), (self.length + len(end)) & 0xFFFFFFFF)
        return b"".join((self.body, block, end, trailer))


def compress_prefix(body: bytes) -> CompressedPrefix:
    """``body`` compressed, for ends of each call's own."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -15)
    packed = packer.compress(body) + packer.flush(zlib.Z_SYNC_FLUSH)
    return CompressedPrefix(_GZIP_HEAD + packed, zlib.crc32(body), len(body))


@lru_cache(maxsize=8)
def compress_prefix_cached(body: bytes) -> CompressedPrefix:
    """``body`` compressed, once for all who are sent it: the documents and pages that anybody may ask for."""
    return compress_prefix(body)


def find_matching_etag(header: str, tag: str) -> str | None:
    """The ``ETag`` among those of an ``If-None-Match`` that is ``tag`` in some content coding, or None.

    Comparison is weak, as RFC 9110 13.1.2 asks. ``*`` is none of them: see :func:`has_if_none_match_star`.
    """
    offered = re.findall(r'"([^"]*)"', header) if header else ()
    return next((f'"{held}"' for held in offered if held in (tag, f"{tag}-gzip")), None)


def has_if_none_match_star(request: Request) -> bool:
    """Return True for ``If-None-Match: *``, which asks for an answer only if the server has none (RFC 9110 13.1.2).

    An answer that exists is a 304 that costs nothing, so whoever handles it must not do the work of the answer.
    """
    return request.headers.get("if-none-match", "").strip() == "*"


def build_etag(tag: str, *, gzipped: bool) -> str:
    """The ``ETag`` header for ``tag``: a strong tag must differ between content codings (RFC 9110 8.8.3.3)."""
    return f'"{tag}-gzip"' if gzipped else f'"{tag}"'


@lru_cache(maxsize=64)
def _takes_gzip(accepted: str) -> bool:
    taken: dict[str, bool] = {}
    for choice in accepted.split(","):
        name, _, parameters = choice.partition(";")
        taken[name.strip().lower()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters)
    # What is said of gzip counts before what is said of everything else.
    return taken.get("gzip", taken.get("*", False))


@cache
def _networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(text) for text in texts]


@lru_cache(maxsize=256)
def _field_name(variable: str) -> str:
    """``user-agent`` for ``HTTP_USER_AGENT``."""
    return variable[5:].replace("_", "-").lower()


# Few, as a query of 8 KB may have fields that take 50 KB.
@lru_cache(maxsize=256)
def _target(path: str, query: str) -> tuple[tuple[str, ...], Mapping[str, list[str]]]:
    """The segments of a path and the fields of a query; clients ask the same again and again."""
    return parse_segments(path), _query(query)


def parse_segments(path: str) -> tuple[str, ...]:
    """The decoded segments of a path; BAD_REQUEST when it is not UTF-8."""
    try:
        parts = tuple(unquote(part, errors="strict") for part in path[1:].split("/"))
    except UnicodeDecodeError:
        raise ApiError("BAD_REQUEST", "The path is not UTF-8.") from None
    # A final slash names the same resource: the spec writes /user/ with one.
    return parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts


def _query(text: str) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except UnicodeDecodeError:
        raise ApiError("BAD_REQUEST", "The query is not UTF-8.") from None
    except ValueError:
        raise ApiError("BAD_REQUEST", f"The query has more than {MAX_QUERY_FIELDS} fields.") from None
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # ::ffff:192.0.2.1 is the IPv4 address that it maps, whoever listens on both.
    return getattr(address, "ipv4_mapped", None) or address
