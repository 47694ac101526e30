"""The parser of requests, strict by RFC 9112.

Any leniency is a way to smuggle a request past a proxy that reads it differently. So none of waitress's is used: a
malformed request becomes a :class:`RefusalError`, with the status and the message of its response.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_to_bytes

from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver

from finapi.httpd.shares import Reservation

MAX_REQUEST_LINE_BYTES = 8_192  # RFC 9112 section 3 requires at least 8,000.
MAX_CHUNK_LINE_BYTES = 4_096  # Of a chunk's size with its extensions, or of a trailer field.
MAX_FRAMING_BYTES = 1_048_576  # Of all such lines in a body. One-byte chunks would occupy the loop for a minute.
MAX_CACHED_FIELDS_BYTES = 2_048  # Header fields up to this length are cached in parsed form.
MAX_LENGTH_DIGITS = 18  # int() refuses thousands of digits.
MAX_QUERY_FIELDS = 100

TCHAR = rb"!#$%&'*+\-.^_`|~0-9A-Z"  # RFC 9110 section 5.6.2, without a-z.
# Lower-case methods are refused because waitress passes them on in upper case.
REQUEST_LINE = re.compile(rb"([" + TCHAR + rb"]+) ([!\"$-~]+) HTTP/([0-9]\.[0-9])")
# Blanks around the value are stripped later: the pattern of waitress skips them and is quadratic in their number.
FIELD = re.compile(rb"([" + TCHAR + rb"a-z]+):([\t -~\x80-\xff]*)")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t -~\x80-\xff]*)?")
REQUEST_ID = re.compile(rb"\r\nx-request-id:[ \t]*([!-~]{1,191})[ \t]*\r\n", re.IGNORECASE)
NO_TOKEN = re.compile(rb"[^" + TCHAR + rb"]")
HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?")
ABSOLUTE_FORM = re.compile(r"https?://([^/?]*)([^?]*)\??(.*)", re.IGNORECASE)

MALFORMED_REQUEST_LINE = "The request line is malformed."


class RefusalError(Exception):
    """A request that is refused: a status and a message, under the names that errors of waitress have."""

    def __init__(self, code: int, body: str) -> None:
        super().__init__(body)
        self.code = code
        self.body = body


class ChunkedBody(ChunkedReceiver):  # type: ignore[misc]
    """A chunked body (RFC 9112 section 7.1). The chunks are joined, and the trailer is dropped."""

    def __init__(self, buffer: OverflowableBuffer, max_bytes: int) -> None:
        super().__init__(buffer)
        self.max_bytes = max_bytes
        self.chunk_bytes_left = 0  # Bytes of the current chunk that have not arrived.
        self._line = b""  # The beginning of a line that has not arrived in full.
        self._framing_bytes = 0  # Bytes of lines, which are not data.
        self._parse_line = self._parse_size

    def received(self, data: bytes) -> int:
        """Take the part of ``data`` that belongs to the body. Return its length."""
        position = 0
        while position < len(data) and not self.completed:
            if self.chunk_bytes_left:
                chunk = data[position : position + self.chunk_bytes_left]
                self.buf.append(chunk)
                self.chunk_bytes_left -= len(chunk)
                position += len(chunk)
            else:
                line_end = data.find(b"\n", position) + 1 or len(data)
                self._add_to_line(data[position:line_end])
                position = line_end
        return position

    def _add_to_line(self, data: bytes) -> None:
        self._line += data
        self._framing_bytes += len(data)
        if len(self._line) > MAX_CHUNK_LINE_BYTES or self._framing_bytes > MAX_FRAMING_BYTES:
            raise RefusalError(400, "The chunk sizes, extensions and trailers of the body are too long.")
        if not data.endswith(b"\n"):
            return
        line = self._line
        self._line = b""
        if not line.endswith(b"\r\n"):
            raise RefusalError(400, "A line of the chunked body ends in a bare LF.")
        self._parse_line(line[:-2])

    def _parse_size(self, line: bytes) -> None:
        size = CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise RefusalError(400, "A chunk of the body has an invalid size or extension.")
        self.chunk_bytes_left = int(size[1], 16)
        if len(self.buf) + self.chunk_bytes_left > self.max_bytes:
            raise RefusalError(413, f"The request body is larger than {self.max_bytes} bytes.")
        self._parse_line = self._parse_chunk_end if self.chunk_bytes_left else self._parse_trailer

    def _parse_chunk_end(self, line: bytes) -> None:
        if line:
            raise RefusalError(400, "A chunk of the body is longer than its size.")
        self._parse_line = self._parse_size

    def _parse_trailer(self, line: bytes) -> None:
        if line and not FIELD.fullmatch(line):
            raise RefusalError(400, "A trailer field is malformed.")
        self.completed = not line


def _parse_fields(lines: bytes) -> Mapping[str, list[str]]:
    """Return the values of header fields in their order, by the name that waitress gives them (``USER_AGENT``)."""
    fields: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines.split(b"\r\n") if lines else ():
        field = FIELD.fullmatch(line)  # Refuses obs-fold, a blank before the colon, bare CR and LF, and NUL.
        if field is None:
            raise RefusalError(400, "A header field is malformed.")
        name = field[1].decode()
        if "_" in name:  # Dropped, as by nginx: X_Api_Key would have the same name in the environ as X-Api-Key.
            continue
        fields[name.upper().replace("-", "_")].append(field[2].strip(b" \t").decode("latin-1"))
    return dict(fields)


# A client sends the same fields with every request.
_parse_fields_cached = lru_cache(maxsize=256)(_parse_fields)


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """A request that is being received. It has the attributes of waitress, but is parsed without any leniency."""

    # Defaults for a request that is refused before they are parsed.
    command = ""
    request_uri = ""
    path = ""
    _reservation: Reservation | None = None
    content_length: int
    header_plus: bytes
    headers_finished: bool
    completed: bool
    connection_close: bool
    expect_continue: bool
    error: RefusalError | None
    headers: dict[str, str]

    def __init__(self, adj: Adjustments, public_path: str = "") -> None:
        super().__init__(adj)
        self._public_path = public_path

    def received(self, data: bytes) -> int:
        """Take the head, or else the part of ``data`` that belongs to the body. Return the number of bytes taken."""
        try:
            return self._read_body(data) if self.headers_finished else self._read_head(data)
        except RefusalError as refusal:
            self.refuse(refusal)
            return len(data)

    def refuse(self, refusal: RefusalError) -> None:
        """Refuse the request, and parse no further."""
        self.error = refusal
        self.completed = True

    @property
    def client_request_id(self) -> str:
        """Return the client's X-Request-ID, also of a head that was refused, or "" if there is none."""
        request_id = REQUEST_ID.search(self.header_plus)
        return request_id[1].decode() if request_id else ""

    @property
    def is_in_body(self) -> bool:
        """Return True if the head has been received and the body has not."""
        return self.headers_finished and not self.completed

    @property
    def max_body_bytes(self) -> int:
        """Return the length of the body, or the maximum if it is chunked."""
        return self.content_length or self.body_rcv.max_bytes

    def limit_body(self, max_bytes: int, max_bytes_in_memory: int) -> None:
        """Refuse a body that is longer than ``max_bytes``. Use no file for it up to ``max_bytes_in_memory``."""
        if isinstance(self.body_rcv, ChunkedBody):
            self.body_rcv.max_bytes = max_bytes
            byte_count = len(self.body_rcv) + self.body_rcv.chunk_bytes_left
        else:
            byte_count = self.content_length
        if byte_count > max_bytes:
            self.refuse(RefusalError(413, f"The request body is larger than {max_bytes} bytes."))
        if max_bytes <= max_bytes_in_memory:
            self.body_rcv.getbuf().overflow = max_bytes + 1

    def attach_reservation(self, reservation: Reservation) -> None:
        """Attach the bytes that are reserved for the body, so that close() releases them."""
        self._reservation = reservation

    def close(self) -> None:
        """Release the body and the bytes that are reserved for it. Closing again does nothing."""
        if self._reservation is not None:
            self._reservation.release()
            self._reservation = None
        super().close()

    def _read_head(self, data: bytes) -> int:
        earlier_bytes = len(self.header_plus)
        # RFC 9112 section 2.2: empty lines before a request line are skipped.
        head = self.header_plus + data if earlier_bytes else data.lstrip(b"\r\n")
        end = head.find(b"\r\n\r\n", max(earlier_bytes - 3, 0))
        is_complete = end >= 0
        byte_count = end + 4 if is_complete else len(head)
        self.header_plus = head[:byte_count]
        if NO_TOKEN.match(head):  # It is TLS, most likely. Waiting for the rest would not help.
            raise RefusalError(400, MALFORMED_REQUEST_LINE)
        is_line_complete = head.find(b"\r\n", 0, MAX_REQUEST_LINE_BYTES + 2) >= 0
        if byte_count > MAX_REQUEST_LINE_BYTES and not is_line_complete:
            raise RefusalError(414, f"The request line is longer than {MAX_REQUEST_LINE_BYTES} bytes.")
        if byte_count > self.adj.max_request_header_size:
            raise RefusalError(431, f"The request head is larger than {self.adj.max_request_header_size} bytes.")
        if is_complete:
            self._parse_head(head[:end])
            self.headers_finished = True
            self.completed = self.body_rcv is None
        bytes_behind_head = len(head) - byte_count
        return len(data) - bytes_behind_head

    def _read_body(self, data: bytes) -> int:
        taken_bytes: int = self.body_rcv.received(data)
        self.completed = self.body_rcv.completed
        if self.completed:
            self.headers["CONTENT_LENGTH"] = str(len(self.body_rcv))  # Of joined chunks, as waitress does.
        return taken_bytes

    def _parse_head(self, head: bytes) -> None:
        line, _, lines = head.partition(b"\r\n")
        request_line = REQUEST_LINE.fullmatch(line)
        if request_line is None:
            raise RefusalError(400, MALFORMED_REQUEST_LINE)
        self.command = request_line[1].decode()
        self.request_uri = request_line[2].decode()
        self.version = request_line[3].decode()
        if self.version not in ("1.0", "1.1"):
            raise RefusalError(505, "This server speaks HTTP/1.0 and HTTP/1.1.")
        fields = _parse_fields_cached(lines) if len(lines) <= MAX_CACHED_FIELDS_BYTES else _parse_fields(lines)
        self.headers = {name: ", ".join(values) for name, values in fields.items()}
        self._set_target(fields.get("HOST", []))
        self._set_framing(fields.get("TRANSFER_ENCODING", []), fields.get("CONTENT_LENGTH", []))
        if self.version == "1.1" and "EXPECT" in self.headers:  # RFC 9110 section 10.1.1.
            if self.headers["EXPECT"].lower() != "100-continue":
                raise RefusalError(417, "The only supported expectation is 100-continue.")
            self.expect_continue = True
        if "CONNECTION" in self.headers:  # A list (RFC 9110 section 7.6.1); waitress looks for a single word.
            options = re.split("[ \t,]+", self.headers["CONNECTION"].lower())
            self.connection_close = "close" in options

    def _set_target(self, hosts: list[str]) -> None:
        """Set the path, the query and the Host. Raise RefusalError if the target or a Host is invalid.

        The path of the public URL is removed from the target (:mod:`finapi.web.http.public_path`).
        """
        if len(hosts) > 1 or (self.version == "1.1" and not hosts):
            raise RefusalError(400, "The request needs exactly one Host header.")
        absolute_form = ABSOLUTE_FORM.fullmatch(self.request_uri)
        if absolute_form:
            authority, path, self.query = absolute_form.groups()
            hosts = [*hosts, authority]
            self.headers["HOST"] = authority  # RFC 9112 section 3.2.2: it replaces the header.
        elif self.request_uri.startswith("/"):
            path, _, self.query = self.request_uri.partition("?")
        elif self.request_uri == "*" and self.command == "OPTIONS":
            path = "/"
            self.query = ""
        else:
            raise RefusalError(400, "The request target is neither a path nor an http URL.")
        if not all(HOST.fullmatch(host) for host in hosts):
            raise RefusalError(400, "The Host header or the authority of the request target is invalid.")
        if self._public_path and f"{path}/".startswith(f"{self._public_path}/"):
            path = path.removeprefix(self._public_path) or "/"
            self.request_uri = f"{path}?{self.query}" if self.query else path
        self.path = unquote_to_bytes(path or "/").decode("latin-1")
        self.url_scheme = self.adj.url_scheme

    def _set_framing(self, codings: list[str], lengths: list[str]) -> None:
        """Set the receiver of the body (RFC 9112 section 6).

        Raise RefusalError if two readers could take two places for the end of the body.
        """
        max_bytes = self.adj.max_request_body_size
        buffer = OverflowableBuffer(self.adj.inbuf_overflow) if codings or lengths else None
        if codings:
            is_chunked = [coding.lower() for coding in codings] == ["chunked"]
            if lengths or self.version == "1.0" or not is_chunked:
                raise RefusalError(400, "Transfer-Encoding must be chunked, in HTTP/1.1, without Content-Length.")
            del self.headers["TRANSFER_ENCODING"]
            self.body_rcv = ChunkedBody(buffer, max_bytes)
        elif lengths:
            if len(lengths) > 1 or not re.fullmatch("[0-9]+", lengths[0]):
                raise RefusalError(400, "Content-Length must be one decimal number.")
            if len(lengths[0]) > MAX_LENGTH_DIGITS or int(lengths[0]) > max_bytes:
                raise RefusalError(413, f"The request body is larger than {max_bytes} bytes.")
            self.content_length = int(lengths[0])
            if self.content_length:
                self.body_rcv = FixedStreamReceiver(self.content_length, buffer)


def parse_query(text: str) -> dict[str, str]:
    """Return the values of a query by name. Values of the same name are joined with commas.

    Return an empty dictionary if the query is malformed.
    """
    values: dict[str, str] = {}
    with suppress(ValueError):
        for name, value in parse_qsl(text, True, max_num_fields=MAX_QUERY_FIELDS, errors="strict"):
            values[name] = f"{values[name]},{value}" if name in values else value
    return values
