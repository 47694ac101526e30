"""A request as it comes in, read as RFC 9112 writes it.

Every leniency is a way to smuggle a request past whatever stands in front: so none of waitress's is kept. What is not
well formed becomes a :class:`Refusal`, with the status and the sentence of its answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_to_bytes

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver, FixedStreamReceiver

from finapi.httpd.shares import Reservation

REQUEST_LINE_LIMIT = 8_192  # bytes; RFC 9112 section 3 asks for 8,000 at least
CHUNK_LINE_LIMIT = 4_096  # bytes of a chunk's size with its extensions, or of a trailer field
FRAMING_LIMIT = 1_048_576  # bytes of all such lines in a body; one-byte chunks would hold the loop a minute
KNOWN_FIELDS_LIMIT = 2_048  # bytes of header fields that are remembered as they were read

TCHAR = rb"!#$%&'*+\-.^_`|~0-9A-Z"  # RFC 9110 section 5.6.2, without a-z
# Lower-case methods are refused because waitress hands them on in upper case.
REQUEST_LINE = re.compile(rb"([" + TCHAR + rb"]+) ([!\"$-~]+) HTTP/([0-9]\.[0-9])")
# Blanks around the value are stripped later: waitress's pattern skips them and is quadratic in their number.
FIELD = re.compile(rb"([" + TCHAR + rb"a-z]+):([\t -~\x80-\xff]*)")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t -~\x80-\xff]*)?")
REQUEST_ID = re.compile(rb"\r\nx-request-id:[ \t]*([!-~]{1,191})[ \t]*\r\n", re.IGNORECASE)
NO_TOKEN = re.compile(rb"[^" + TCHAR + rb"]")
HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?")
ABSOLUTE_FORM = re.compile(r"https?://([^/?]*)([^?]*)\??(.*)", re.IGNORECASE)


class Refusal(Exception):
    """Why a request is not passed on: a status and a sentence, under the names of waitress's own errors."""

    def __init__(self, code: int, body: str) -> None:
        super().__init__(body)
        self.code = code
        self.body = body


class ChunkedBody(ChunkedReceiver):  # type: ignore[misc]
    """Joins the chunks of a body (RFC 9112 section 7.1) and drops the trailer."""

    def __init__(self, buffer: OverflowableBuffer, limit: int) -> None:
        super().__init__(buffer)
        self.limit = limit
        self.left = 0  # bytes of the current chunk still to come
        self.line = b""
        self.framing = 0  # bytes that were not data
        self.next_line = self._size

    def received(self, data: bytes) -> int:
        """Take what belongs to the body out of ``data``; returns how many bytes that was."""
        at = 0
        while at < len(data) and not self.completed:
            end = at + self.left if self.left else data.find(b"\n", at) + 1 or len(data)
            piece = data[at:end]
            at += len(piece)
            if self.left:
                self.buf.append(piece)
                self.left -= len(piece)
                continue
            self.line += piece
            self.framing += len(piece)
            if len(self.line) > CHUNK_LINE_LIMIT or self.framing > FRAMING_LIMIT:
                raise Refusal(400, "The chunk sizes, extensions and trailers of the body are too long.")
            if piece.endswith(b"\n"):
                line, self.line = self.line, b""
                if not line.endswith(b"\r\n"):
                    raise Refusal(400, "A line of the chunked body ends in a bare LF.")
                self.next_line(line[:-2])
        return at

    def _size(self, line: bytes) -> None:
        size = CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise Refusal(400, "A chunk of the body has an invalid size or extension.")
        self.left = int(size[1], 16)
        if len(self.buf) + self.left > self.limit:
            raise Refusal(413, f"The request body is larger than {self.limit} bytes.")
        self.next_line = self._end_of_data if self.left else self._trailer

    def _end_of_data(self, line: bytes) -> None:
        if line:
            raise Refusal(400, "A chunk of the body is longer than its size.")
        self.next_line = self._size

    def _trailer(self, line: bytes) -> None:
        if line and not FIELD.fullmatch(line):
            raise Refusal(400, "A trailer field is malformed.")
        self.completed = not line


def _fields(lines: bytes) -> Mapping[str, list[str]]:
    """The header fields by name as waitress writes it, ``USER_AGENT``: the values in their order."""
    fields: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines.split(b"\r\n") if lines else ():
        field = FIELD.fullmatch(line)  # refuses obs-fold, a blank before the colon, bare CR and LF, NUL
        if field is None:
            raise Refusal(400, "A header field is malformed.")
        name, value = field[1].decode(), field[2].strip(b" \t").decode("latin-1")
        if "_" not in name:  # dropped, as by nginx: X_Api_Key would stand for X-Api-Key in the environ
            fields[name.upper().replace("-", "_")].append(value)
    return dict(fields)


# A client sends the same fields with every request.
_known_fields = lru_cache(maxsize=256)(_fields)


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """A request as it comes in: waitress's attributes, read without any of its leniency."""

    command = request_uri = path = ""  # of what is refused before they are read, too
    _reservation: Reservation | None = None
    content_length: int
    header_plus: bytes
    headers_finished: bool
    completed: bool
    connection_close: bool
    expect_continue: bool
    error: Refusal | None
    headers: dict[str, str]

    def received(self, data: bytes) -> int:
        """Take the head, or else a piece of the body, out of ``data``; returns how many bytes that was."""
        try:
            return self._read_body(data) if self.headers_finished else self._read_head(data)
        except Refusal as refusal:
            self.refuse(refusal)
            return len(data)

    def refuse(self, refusal: Refusal) -> None:
        """Read no further."""
        self.error, self.completed = refusal, True

    @property
    def client_request_id(self) -> str:
        """The client's X-Request-ID, also in a head that was refused; empty when there is none."""
        found = REQUEST_ID.search(self.header_plus)
        return found[1].decode() if found else ""

    @property
    def in_body(self) -> bool:
        """Whether the head is read and the body is not."""
        return self.headers_finished and not self.completed

    @property
    def promised(self) -> int:
        """The most bytes that the body may have."""
        return self.content_length or self.body_rcv.limit

    def limit_body(self, limit: int, in_memory: int) -> None:
        """Refuse a body of more than ``limit`` bytes; one of at most ``in_memory`` takes no file."""
        chunked = isinstance(self.body_rcv, ChunkedBody)
        if chunked:
            self.body_rcv.limit = limit
        if (len(self.body_rcv) + self.body_rcv.left if chunked else self.content_length) > limit:
            self.refuse(Refusal(413, f"The request body is larger than {limit} bytes."))
        if limit <= in_memory:
            self.body_rcv.getbuf().overflow = limit + 1

    def hold(self, reservation: Reservation) -> None:
        """Keep the bytes that are reserved for the body until it is closed."""
        self._reservation = reservation

    def close(self) -> None:
        """Release the body and the bytes that are reserved for it. Closing again does nothing."""
        if self._reservation is not None:
            self._reservation.release()
            self._reservation = None
        super().close()

    def _read_head(self, data: bytes) -> int:
        seen = len(self.header_plus)
        # RFC 9112 section 2.2: empty lines before a request line are skipped.
        head = self.header_plus + data if seen else data.lstrip(b"\r\n")
        end = head.find(b"\r\n\r\n", max(seen - 3, 0))
        size = end + 4 if end >= 0 else len(head)
        self.header_plus = head[:size]
        if NO_TOKEN.match(head):  # TLS, most likely: waiting for the rest helps nobody
            raise Refusal(400, "The request line is malformed.")
        if size > REQUEST_LINE_LIMIT and head.find(b"\r\n", 0, REQUEST_LINE_LIMIT + 2) < 0:
            raise Refusal(414, f"The request line is longer than {REQUEST_LINE_LIMIT} bytes.")
        if size > self.adj.max_request_header_size:
            raise Refusal(431, f"The request head is larger than {self.adj.max_request_header_size} bytes.")
        if end >= 0:
            self._parse_head(head[:end])
            self.headers_finished = True
            self.completed = self.body_rcv is None
        return len(data) - (len(head) - size)

    def _read_body(self, data: bytes) -> int:
        taken: int = self.body_rcv.received(data)
        self.completed = self.body_rcv.completed
        if self.completed:
            self.headers["CONTENT_LENGTH"] = str(len(self.body_rcv))  # of joined chunks, as waitress does
        return taken

    def _parse_head(self, head: bytes) -> None:
        line, _, lines = head.partition(b"\r\n")
        request_line = REQUEST_LINE.fullmatch(line)
        if request_line is None:
            raise Refusal(400, "The request line is malformed.")
        self.command, self.request_uri, self.version = (part.decode() for part in request_line.groups())
        if self.version not in ("1.0", "1.1"):
            raise Refusal(505, "This server speaks HTTP/1.0 and HTTP/1.1.")
        fields = _known_fields(lines) if len(lines) <= KNOWN_FIELDS_LIMIT else _fields(lines)
        self.headers = {name: ", ".join(values) for name, values in fields.items()}
        self._set_target(fields.get("HOST", []))
        self._set_framing(fields.get("TRANSFER_ENCODING", []), fields.get("CONTENT_LENGTH", []))
        if self.version == "1.1" and "EXPECT" in self.headers:  # RFC 9110 section 10.1.1
            if self.headers["EXPECT"].lower() != "100-continue":
                raise Refusal(417, "The only supported expectation is 100-continue.")
            self.expect_continue = True
        if "CONNECTION" in self.headers:  # a list (RFC 9110 section 7.6.1); waitress looks for a single word
            self.connection_close = "close" in re.split("[ \t,]+", self.headers["CONNECTION"].lower())

    def _set_target(self, hosts: list[str]) -> None:
        if len(hosts) > 1 or (self.version == "1.1" and not hosts):
            raise Refusal(400, "The request needs exactly one Host header.")
        absolute = ABSOLUTE_FORM.fullmatch(self.request_uri)
        if absolute:
            authority, path, self.query = absolute.groups()
            hosts = [*hosts, authority]
            self.headers["HOST"] = authority  # RFC 9112 section 3.2.2: in place of the header's
        elif self.request_uri.startswith("/"):
            path, _, self.query = self.request_uri.partition("?")
        elif self.request_uri == "*" and self.command == "OPTIONS":
            path, self.query = "/", ""
        else:
            raise Refusal(400, "The request target is neither a path nor an http URL.")
        if not all(HOST.fullmatch(host) for host in hosts):
            raise Refusal(400, "The Host header or the authority of the request target is invalid.")
        self.path = unquote_to_bytes(path or "/").decode("latin-1")
        self.url_scheme = self.adj.url_scheme

    def _set_framing(self, codings: list[str], lengths: list[str]) -> None:
        """RFC 9112 section 6, where a body whose end two readers could see in two places is refused."""
        limit = self.adj.max_request_body_size
        buffer = OverflowableBuffer(self.adj.inbuf_overflow) if codings or lengths else None
        if codings:
            if lengths or self.version == "1.0" or [coding.lower() for coding in codings] != ["chunked"]:
                raise Refusal(400, "Transfer-Encoding must be chunked, in HTTP/1.1, without Content-Length.")
            del self.headers["TRANSFER_ENCODING"]
            self.body_rcv = ChunkedBody(buffer, limit)
        elif lengths:
            if len(lengths) > 1 or not re.fullmatch("[0-9]+", lengths[0]):
                raise Refusal(400, "Content-Length must be one decimal number.")
            if len(lengths[0]) > 18 or int(lengths[0]) > limit:  # int() refuses thousands of digits
                raise Refusal(413, f"The request body is larger than {limit} bytes.")
            self.content_length = int(lengths[0])
            if self.content_length:
                self.body_rcv = FixedStreamReceiver(self.content_length, buffer)


def query_of(text: str) -> dict[str, str]:
    """A query's values by name, those of one name joined with commas; none of a query that is not well formed."""
    query: dict[str, str] = {}
    with suppress(ValueError):
        for name, value in parse_qsl(text, True, max_num_fields=100, errors="strict"):
            query[name] = f"{query[name]},{value}" if name in query else value
    return query
