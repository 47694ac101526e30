"""Request and Response, between WSGI and the handlers. They are independent of routes and users."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from finapi.accounts.billing import Charge
from finapi.core.errors import ApiError
from finapi.core.json import build_strict_decoder, parse_bounded_int

MIN_GZIP_BYTES = 1024  # bytes; DECISIONS 2
# Files that are sent unchanged.
BINARY_MEDIA_TYPE = "application/octet-stream"
GZIP_MEDIA_TYPE = "application/gzip"

# The default Content-Security-Policy: browsers render nothing of the answer, and no page may frame it.
CSP_RENDER_NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
GZIP_LEVEL = 5  # Statements shrink to a tenth. Higher levels take twice the time and save only two per cent.

MAX_FORM = 64 * 1024  # bytes; a password of 1,024 characters takes at most 12 KB encoded

# Objects, lists and values of a JSON body. Each takes some eighty bytes when it is parsed, and three of the body.
MAX_JSON_VALUES = 20_000

# Proxies in a row that may be trusted, and the characters of the longest address (with a zone, RFC 6874, and a port).
MAX_HOPS, MAX_ADDRESS = 16, 72

# Fields of a query: more than any route has parameters. A longer query is an attack on the parser.
MAX_QUERY_FIELDS = 200

_STRICT = build_strict_decoder(parse_int=parse_bounded_int)
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # No file name, no time, unknown operating system.
_CALLER_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,191}")
_ADDRESS_WITH_PORT = re.compile(r"(?P<ipv4>[0-9.]+):[0-9]{1,5}|\[(?P<ipv6>[^\[\]]*)\](:[0-9]{1,5})?")
_WEIGHT = re.compile(r"q\s*=\s*([01](?:\.[0-9]{0,3})?)")


class Request(NamedTuple):
    """One HTTP request. ``path`` is the raw, still encoded path; header names are lower-case.

    ``target_error`` is the BAD_REQUEST for a path or query that cannot be parsed. ``segments`` and ``query`` are empty
    then.
    """

    method: str
    path: str
    segments: tuple[str, ...]
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    address: str
    deadline: float | None
    target_error: ApiError | None
    # The parsed JSON body after the first :meth:`read_json`, as the stream can be read only once.
    parsed_bodies: list[dict[str, Any]]
    stream: Any = None
    # The address of the other end of the connection, which may be a proxy.
    peer: str = ""
    # The path and query as they were sent, a key for caches.
    target: str = ""

    @property
    def body_bytes(self) -> int:
        """Return the size of the body. The server has joined chunks, so that a request without a length has none."""
        return int(self.headers.get("content-length") or 0)

    def read_json(self, max_bytes: int) -> dict[str, Any]:
        """Return the body as a JSON object (:func:`parse_json_object`). Raise PAYLOAD_TOO_LARGE if it is larger."""
        if self.parsed_bodies:
            return self.parsed_bodies[0]
        length = self.body_bytes
        if length > max_bytes:
            raise too_large(max_bytes)
        self.parsed_bodies.append(parse_json_object(self.stream.read(length), self.headers.get("content-type", "")))
        return self.parsed_bodies[0]

    def read_form(self) -> dict[str, str]:
        """Return the fields of an HTML form, the first of each name. Raise BAD_REQUEST if the body is not a form."""
        if not self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/x-www-form-urlencoded.")
        if self.body_bytes > MAX_FORM:
            raise too_large(MAX_FORM)
        try:
            text = self.stream.read(self.body_bytes).decode("ascii")
        except UnicodeDecodeError:
            raise ApiError("BAD_REQUEST", "The form is not ASCII.") from None
        return {name: texts[0] for name, texts in _query(text).items()}

    def find_preferred_type(self, kinds: Sequence[str]) -> str | None:
        """Return the media type of ``kinds`` that ``Accept`` prefers to JSON, or None (RFC 9110, 12.5.1).

        The type with the greatest weight is chosen, the first of several with the same weight.
        """
        best, weight = None, 0.0
        for choice in self.headers.get("accept", "").lower().split(","):
            name, *parameters = (part.strip() for part in choice.split(";"))
            if name in kinds or name in ("application/json", "*/*"):
                matches = [_WEIGHT.fullmatch(part) for part in parameters]
                weights = [match for match in matches if match]
                weight_of_choice = float(weights[0][1]) if weights else 1.0
                if weight_of_choice > weight:
                    best, weight = name if name in kinds else None, weight_of_choice
        return best

    @property
    def wants_gzip(self) -> bool:
        """Return True if the caller accepts gzip (RFC 9110, 12.5.3). ``q=0`` means that it does not."""
        return _takes_gzip(self.headers.get("accept-encoding", ""))


@dataclass(slots=True, repr=False)
class Response:
    """The response to a request. ``headers`` are sent in addition to those of every response."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    # The end of the body, if it differs between calls while ``body`` is the same.
    suffix: bytes = b""
    # A body that is computed while it is sent, instead of ``body``.
    stream: Any = None
    # The body is a compressed file that is sent unchanged.
    is_compressed: bool = False
    # The body is the same object for every call, in memory as long as the process runs.
    is_resident: bool = False
    # Some of the data are still being computed: the response has no ETag and is not cached.
    is_preliminary: bool = False
    # The charge is refunded, because the caller paid for this content before.
    is_free: bool = False
    # The cached answer, without a suffix, from which this response was built.
    cached: Response | None = None
    # The uuid of the user whom the call logged in, for the access log.
    logged_in_uuid: str | None = None
    # Returns the complete response, as the last step of the call. It settles the charge in the transaction of its work.
    complete: Callable[[Charge], Response] | None = None
    # The charge of the call. It stays open until the response has been built or, if it is a stream, sent.
    charge: Charge | None = None

    def finish_charge(self) -> Any:
        """Settle the charge of a built response, or leave it to the stream, which settles it when it was sent.

        Return the stream, or None.
        """
        if self.charge is not None and self.stream is not None:
            self.stream.charge = self.charge
        elif self.charge is not None:
            self.charge.settle()
        return self.stream

    def refund_charge(self, error: Exception) -> None:
        """Refund the charge and close the stream of a response that cannot be built."""
        if self.stream is not None:
            self.stream.close()
        if self.charge is not None:
            self.charge.refund(error)


def parse_environ(environ: Mapping[str, Any], trusted_proxies: tuple[str, ...] = ()) -> Request:
    """Return the request of a WSGI environ. A path or query that cannot be parsed is reported in ``target_error``."""
    # Prefer the raw target if the server provides it: an encoded slash inside a segment is not a separator.
    raw = environ.get("REQUEST_URI") or quote(environ.get("PATH_INFO", "").encode("latin-1"))
    path = raw.partition("?")[0]
    if not path.startswith("/"):
        path = "/" + path.partition("://")[2].partition("/")[2]
    headers = read_headers(environ)
    peer, deadline = environ.get("REMOTE_ADDR", ""), environ.get("finapi.deadline")
    arguments = (environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""), headers, peer, trusted_proxies)
    return _request(*arguments, deadline, environ.get("wsgi.input"))


def read_headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """Return the header fields of a WSGI environ by their names in lower case."""
    headers = {_field_name(name): text for name, text in environ.items() if name[:5] == "HTTP_"}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = environ[name]
    return headers


def build_get_request(target: str, headers: Mapping[str, str], peer: str, trusted_proxies: tuple[str, ...]) -> Request:
    """Return a GET request without a body. ``headers`` have the names of WSGI without prefix, ``USER_AGENT``."""
    path, _, query = target.partition("?")
    headers_by_name = {name.replace("_", "-").lower(): text for name, text in headers.items()}
    return _request("GET", path, query, headers_by_name, peer, trusted_proxies)


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
    """Return True if the peer is a trusted proxy, which connects for many clients."""
    address = _address(peer) if trusted_proxies else None
    return address is not None and any(address in network for network in _networks(trusted_proxies))


def client_address(peer: str, forwarded: str, trusted_proxies: tuple[str, ...]) -> str:
    """Return the address that limits count: the peer, or the client of a trusted proxy (DECISIONS 5).

    An IPv6 address is returned as its /64. ``X-Forwarded-For`` is read from the right, skipping trusted proxies. The
    entries further left are claims of the caller. Only the last MAX_HOPS entries are read. An entry may have a port, as
    some proxies (Azure, IIS) write it.
    """
    # Shortened, because it is a key of the cache below, and the caller chooses the length of the header.
    hops = forwarded.rsplit(",", MAX_HOPS)[-MAX_HOPS:] if forwarded and trusted_proxies else []
    return _charged_address(peer, tuple(_without_port(hop.strip()[:MAX_ADDRESS]) for hop in hops), trusted_proxies)


def _without_port(hop: str) -> str:
    """Return the address of ``192.0.2.1:443``, ``[2001:db8::1]:443`` or ``[2001:db8::1]``. Return other texts as is."""
    match = _ADDRESS_WITH_PORT.fullmatch(hop)
    return hop if match is None else match["ipv4"] or match["ipv6"]


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


def parse_json_object(body: bytes, content_type: str) -> dict[str, Any]:
    """Return the JSON object of a body. Raise BAD_REQUEST for other bodies, UNSUPPORTED_MEDIA_TYPE for other types.

    Duplicate keys, NaN and infinities are refused, because parsers disagree on their meaning.
    """
    if content_type and content_type.partition(";")[0].strip().lower() != "application/json":
        raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.")
    if sum(map(body.count, (b",", b"[", b"{"))) > MAX_JSON_VALUES:
        raise ApiError("BAD_REQUEST", f"The body has more than {MAX_JSON_VALUES} values.")
    try:
        document = _STRICT.decode(body.decode("utf-8"))
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
        # The decoder refuses duplicate keys and NaN.
        raise ApiError("BAD_REQUEST", f"The body cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise ApiError("BAD_REQUEST", "The body must be a JSON object.")
    return document


def read_api_key(request: Request, *, bearer: bool = False) -> str:
    """Return the API key of a request, or an empty text. With ``bearer``, it may also be a bearer token."""
    key = request.headers.get("x-api-key") or request.query.get("apiKey", [""])[0]
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return key or (token.strip() if bearer and scheme.lower() == "bearer" else "")


def too_large(limit: int) -> ApiError:
    """Return the 413 for a body that exceeds ``limit`` bytes."""
    return ApiError("PAYLOAD_TOO_LARGE", f"The request body is larger than {limit} bytes.")


def find_caller_request_id(request: Request) -> str | None:
    """Return the caller's ``X-Request-ID`` if it has 1-191 visible ASCII characters, else None."""
    request_id = request.headers.get("x-request-id")
    return request_id if request_id and _CALLER_REQUEST_ID.fullmatch(request_id) else None


class CompressedPrefix(NamedTuple):
    """The beginning of a gzip body (RFC 1952), to which :meth:`finish` appends the suffix of a call."""

    body: bytes
    crc: int
    length: int

    def finish(self, end: bytes = b"") -> bytes:
        """Return the complete body with ``end`` in a stored block (RFC 1951, 3.2.4), at most 65,535 bytes."""
        block = struct.pack("<BHH", 1, len(end), len(end) ^ 0xFFFF)
        trailer = struct.pack("<LL", zlib.crc32(end, self.crc), (self.length + len(end)) & 0xFFFFFFFF)
        return b"".join((self.body, block, end, trailer))


def compress_prefix(body: bytes) -> CompressedPrefix:
    """Return the compressed ``body``, to be finished with the suffix of each call."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -15)
    packed = packer.compress(body) + packer.flush(zlib.Z_SYNC_FLUSH)
    return CompressedPrefix(_GZIP_HEAD + packed, zlib.crc32(body), len(body))


@lru_cache(maxsize=8)
def compress_prefix_cached(body: bytes) -> CompressedPrefix:
    """Return the compressed ``body`` from a cache. For public documents and pages, which many callers request."""
    return compress_prefix(body)


def find_matching_etag(header: str, tag: str) -> str | None:
    """Return the ``ETag`` of an ``If-None-Match`` that equals ``tag`` in any content coding, or None.

    The comparison is weak (RFC 9110, 13.1.2). For ``*`` see :func:`has_if_none_match_star`.
    """
    for client_tag in re.findall(r'"([^"]*)"', header) if header else ():
        if client_tag in (tag, f"{tag}-gzip"):
            return f'"{client_tag}"'
    return None


def has_if_none_match_star(request: Request) -> bool:
    """Return True for ``If-None-Match: *`` (RFC 9110, 13.1.2).

    If the answer exists, the response is a free 304. Handlers therefore must not do the work of the answer.
    """
    return request.headers.get("if-none-match", "").strip() == "*"


def build_etag(tag: str, *, gzipped: bool) -> str:
    """Return the ``ETag`` header for ``tag``. Strong tags differ between content codings (RFC 9110, 8.8.3.3)."""
    return f'"{tag}-gzip"' if gzipped else f'"{tag}"'


@lru_cache(maxsize=64)
def _takes_gzip(accepted: str) -> bool:
    acceptable: dict[str, bool] = {}
    for choice in accepted.split(","):
        name, _, parameters = choice.partition(";")
        acceptable[name.strip().lower()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters)
    # The weight of gzip takes precedence over the weight of "*".
    return acceptable.get("gzip", acceptable.get("*", False))


@cache
def _networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(text) for text in texts]


@lru_cache(maxsize=256)
def _field_name(variable: str) -> str:
    """Return ``user-agent`` for ``HTTP_USER_AGENT``."""
    return variable[5:].replace("_", "-").lower()


# The cache is small, because the fields of a query of 8 KB may take 50 KB.
@lru_cache(maxsize=256)
def _target(path: str, query: str) -> tuple[tuple[str, ...], Mapping[str, list[str]]]:
    """Return the segments of a path and the fields of a query, cached because clients repeat their requests."""
    return parse_segments(path), _query(query)


def parse_segments(path: str) -> tuple[str, ...]:
    """Return the decoded segments of a path. Raise BAD_REQUEST if it is not UTF-8."""
    try:
        parts = tuple(unquote(part, errors="strict") for part in path[1:].split("/"))
    except UnicodeDecodeError:
        raise ApiError("BAD_REQUEST", "The path is not UTF-8.") from None
    # A final slash names the same resource. The specification writes /user/ with one.
    return parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts


def _query(text: str) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except UnicodeDecodeError:
        raise ApiError("BAD_REQUEST", "The query is not UTF-8.") from None
    except ValueError:
        raise ApiError("BAD_REQUEST", f"The query has more than {MAX_QUERY_FIELDS} fields.") from None
    texts_by_name: dict[str, list[str]] = {}
    for name, field_text in pairs:
        texts_by_name.setdefault(name, []).append(field_text)
    return texts_by_name


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A socket for both protocols reports 192.0.2.1 as ::ffff:192.0.2.1.
    return getattr(address, "ipv4_mapped", None) or address
