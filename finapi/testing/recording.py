"""Recordings of a real service: its answers are written to a file without credentials, and replayed later.

``Recorder`` passes the calls of a fixture on to a service and writes each call with its answer as a line of JSON; the
first line describes the file. ``ServiceRecording`` reads such a file and answers the same calls from it. Both remove
credentials: those that come with a call, members named after a key, token, password or secret, and texts that look like
one.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from finapi.client.exchange import ApiAnswer, ApiRequest, build_unreachable_answer
from finapi.client.synchronous import Send
from finapi.core.clock import iso
from finapi.core.errors import ApiError, UsageError
from finapi.core.files import read_bounded
from finapi.net.outbound import Outbound, OutboundError, OutboundRequest, Reply
from finapi.testing.fault_answers import format_status
from finapi.testing.world import World
from finapi.web.http.messages import find_matching_etag
from finapi.web.responses import Answer

log = logging.getLogger("finapi.testing")

FORMAT_VERSION = 1
MAX_FILE_BYTES = 64 << 20
MAX_CALLS = 20_000
MAX_ANSWER_BYTES = 16 << 20
MAX_REQUEST_BYTES = 1 << 20
ANSWER_TIMEOUT_SECONDS = 60.0

# The request headers that are passed on to the service, and the response headers that are passed back and recorded.
# Cookies are not among them.
REQUEST_HEADERS = ("accept", "content-type", "if-none-match", "idempotency-key", "x-request-id", "user-agent")
ANSWER_HEADER = re.compile(
    "content-type|etag|cache-control|link|vary|allow|retry-after|deprecation|sunset|content-disposition"
    "|location|last-modified|www-authenticate|idempotent-replayed|access-control-.*"
    "|x-(request-id|api-version|tokens-charged|ratelimit-.*|has-more|next-cursor|total-.*|window|content-type-options)"
)
PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]*")
BODILESS_STATUSES = (204, 205, 304)
# The types of answers that are recorded. Pages are not, because they show who is signed in.
RECORDED_TYPES = ("application/json", "text/csv", "application/x-ndjson")
# Calls that create, show or take credentials are not recorded. The fixture's own accounts answer them later.
CREDENTIAL_PATH = re.compile(r"/auth/|/api-key|/secret|/user/|/invite")
CREDENTIAL_PARAMETERS = ("apikey", "api_key", "token")  # Query parameters that contain credentials.
# Members that are credentials by their name, and texts that are credentials by their form.
SECRET_MEMBER = re.compile(
    r'("[\w-]*(?:api_?key|token|password|secret|cookie)"\s*:\s*)"((?:[^"\\]|\\.)*)"', re.IGNORECASE
)
SECRET_TEXT = re.compile(r"whsec_[A-Za-z0-9+/=]+|eyJ[\w-]+\.[\w-]+\.[\w-]+")
# A secret of a request is searched for in its answer only if it is this long. A shorter one may be any word.
MIN_SECRET_LENGTH = 6
REMOVED = "removed"
URL_SAFE = bytes.maketrans(b"+/", b"-_")

Environ = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call without its credentials. It is the key under which answers are recorded."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    accept: str
    body: str
    credential: str  # The kind of credential of the call: "none", "key" or "session".

    @property
    def target(self) -> str:
        """The path and the query."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer of the service. The names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def build_outbound_sender(outbound: Outbound) -> Send:
    """Build a ``send`` function for an untrusted service: the size and the duration of its answers are limited."""

    def send(request: ApiRequest) -> ApiAnswer | None:
        outbound_request = OutboundRequest(
            request.url,
            request.method,
            dict(request.headers),
            request.body,
            require_complete=True,
            timeout_seconds=ANSWER_TIMEOUT_SECONDS,
            max_body_bytes=MAX_ANSWER_BYTES,
        )
        try:
            reply = outbound.send(outbound_request)
            return ApiAnswer(reply.status, reply.headers, _decompress(reply))
        except OutboundError as error:
            return build_unreachable_answer(error)

    return send


def _decompress(reply: Reply) -> bytes:
    """Return the body of a reply. Some services compress it although the request does not allow that."""
    encoding = reply.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity" or not reply.body:
        return reply.body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise OutboundError("the reply has a Content-Encoding that was not requested")
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)  # Detects gzip and zlib.
    try:
        body = decompressor.decompress(reply.body, MAX_ANSWER_BYTES + 1)
    except zlib.error:
        body = b""
    if len(body) > MAX_ANSWER_BYTES:
        raise OutboundError(f"the reply is longer than {MAX_ANSWER_BYTES} bytes")
    if not decompressor.eof:
        raise OutboundError("the reply cannot be decompressed")
    return body


# ---- credentials


def split_credentials(environ: Environ, path: str, body: bytes) -> tuple[RecordedCall, list[str]]:
    """Return a call without its credentials, and the credentials."""
    query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    keys = [environ.get("HTTP_X_API_KEY", "")]
    keys += [text for name, text in query if name.lower() in CREDENTIAL_PARAMETERS]
    session = environ.get("HTTP_AUTHORIZATION", "").partition(" ")[2]
    credentials = [credential for credential in (*keys, session) if credential]
    plain_query = tuple(sorted((name, text) for name, text in query if name.lower() not in CREDENTIAL_PARAMETERS))
    credential_kind = "session" if session else "none"
    if any(keys):
        credential_kind = "key"
    accepted_type = environ.get("HTTP_ACCEPT", "").partition(";")[0]
    table_type = accepted_type if accepted_type in RECORDED_TYPES[1:] else ""
    plain_body = remove_credentials(body, credentials).decode("utf-8", "replace")
    call = RecordedCall(environ["REQUEST_METHOD"], path, plain_query, table_type, plain_body, credential_kind)
    return call, credentials


def remove_credentials(body: bytes, credentials: Iterable[str]) -> bytes:
    """Return a body without these credentials, and without texts that are credentials by their name or form."""
    text = SECRET_MEMBER.sub(rf'\1"{REMOVED}"', body.decode("utf-8", "surrogateescape"))
    text = SECRET_TEXT.sub(REMOVED, text)
    for credential in credentials:
        for written in (credential, quote(credential, safe=""), json.dumps(credential)[1:-1]):
            text = re.sub(re.escape(written), REMOVED, text, flags=re.IGNORECASE)
    return text.encode("utf-8", "surrogateescape")


def _list_secret_members(body: bytes) -> list[str]:
    return [text for _, text in SECRET_MEMBER.findall(body.decode("utf-8", "replace"))]


def _iter_encodings(secret: str) -> Iterator[str]:
    """Yield the forms in which a text may contain a secret, in lower case: plain, hexadecimal, and Base64.

    Base64 encodes three bytes as four characters, so a secret looks different after zero, one or two other bytes.
    Characters at its ends that depend on the bytes around it are cut off.
    """
    secret_bytes = secret.encode("utf-8", "replace")
    yield secret.lower()
    yield secret_bytes.hex()
    if len(secret_bytes) >= MIN_SECRET_LENGTH:
        for offset in range(3):
            first, last = -(-offset * 4 // 3), (offset + len(secret_bytes)) * 4 // 3
            encoded = base64.b64encode(bytes(offset) + secret_bytes)[first:last]
            yield from {encoded.decode().lower(), encoded.translate(URL_SAFE).decode().lower()}


def _unescape(body: bytes) -> str:
    r"""Return a body in lower case with ``\u`` escapes replaced."""
    text = body.decode("utf-8", "replace")
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text).lower()


def _is_recorded_header(name: str, text: str, method: str) -> bool:
    """Return True if a recording may contain this header with this text."""
    is_head_length = name == "content-length" and method == "HEAD" and re.fullmatch("[0-9]{1,18}", text) is not None
    return is_head_length or _is_passed_on(name, text)


def _is_passed_on(name: str, text: str) -> bool:
    return ANSWER_HEADER.fullmatch(name) is not None and PRINTABLE_ASCII.fullmatch(text) is not None


# ---- recording


class Recorder:
    """An answer source that calls a service and writes each call with its answer to a new file."""

    def __init__(self, service_url: str, file: Path, api_key: str, send: Send, now: datetime) -> None:
        self._service_url = service_url.rstrip("/")
        self._api_key = api_key
        self._send = send
        self._lock = threading.Lock()
        self._call_count = 0
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise UsageError(f"{file} already exists; name another file for this recording") from None
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
        self._file = os.fdopen(handle, "wb")
        self._file_bytes = 0
        self._write_line({"finapi_recording": FORMAT_VERSION, "of": self._service_url, "at": iso(now)})

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def find_answer(self, world: World, environ: Environ, path: str) -> Answer:
        """Return the service's answer to a call. Raise UNAVAILABLE if it does not answer."""
        if not path.startswith("/"):
            raise ApiError("BAD_REQUEST", "The path must begin with a slash.")
        body = _peek_full_body(environ)
        call, credentials = split_credentials(environ, path, body)
        fixture_keys = [account["api_key"] for account in world.accounts.values()]
        answer = self._send(self._build_request(call, environ, body, credentials, fixture_keys))
        if answer is None or not answer.status:
            reason = answer.body.decode("utf-8", "replace") if answer is not None else "no answer came"
            raise ApiError("UNAVAILABLE", f"{self._service_url}: {reason}.")
        if not 200 <= answer.status <= 599:
            raise ApiError("UNAVAILABLE", f"{self._service_url}: {answer.status} is not a status of HTTP.")
        headers = {name: text for name, text in answer.headers.items() if _is_passed_on(name, text)}
        if headers.get("location", "").startswith(f"{self._service_url}/"):
            headers["location"] = headers["location"].removeprefix(self._service_url)
        if call.method == "HEAD" and answer.headers.get("content-length", "").isdecimal():
            headers["content-length"] = answer.headers["content-length"]
        body_secrets = [secret for secret in _list_secret_members(body) if len(secret) >= MIN_SECRET_LENGTH]
        secrets = [secret for secret in (*credentials, self._api_key, *body_secrets) if secret]
        is_recorded = self._record(call, RecordedAnswer(answer.status, headers, answer.body), secrets)
        headers["x-finapi-recorded"] = "yes" if is_recorded else "no"
        return _build_answer(answer.status, headers, answer.body)

    def _build_request(
        self, call: RecordedCall, environ: Environ, body: bytes, credentials: list[str], fixture_keys: list[str]
    ) -> ApiRequest:
        """Build the request to the service. API keys of the fixture are replaced by the key of the service."""
        headers = {}
        for name in REQUEST_HEADERS:
            if text := environ.get(_get_variable(name)):
                headers[name] = text
        has_fixture_key = bool(self._api_key) and any(credential in fixture_keys for credential in credentials)
        if call.credential == "key":
            headers["X-API-Key"] = self._api_key if has_fixture_key else credentials[0]
        elif call.credential == "session":
            headers["Authorization"] = f"Bearer {self._api_key}" if has_fixture_key else environ["HTTP_AUTHORIZATION"]
        if self._api_key:
            for fixture_key in fixture_keys:
                body = body.replace(fixture_key.encode(), self._api_key.encode())
        parameters = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        query = urlencode([(name, text) for name, text in parameters if name.lower() not in CREDENTIAL_PARAMETERS])
        url = self._service_url + call.path + (f"?{query}" if query else "")
        return ApiRequest(call.method, url, headers, body)

    def _record(self, call: RecordedCall, answer: RecordedAnswer, secrets: list[str]) -> bool:
        """Write a call with its answer. Return False if that is not allowed, or if the file is full."""
        content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in RECORDED_TYPES or answer.status == 304 or CREDENTIAL_PATH.search(call.path):
            return False
        body = remove_credentials(answer.body, secrets)
        try:
            content = {"text": body.decode()}
        except UnicodeDecodeError:
            content = {"base64": base64.b64encode(body).decode()}
        headers = {
            name: remove_credentials(text.encode("utf-8", "replace"), secrets).decode()
            for name, text in answer.headers.items()
            if name != "location"  # The query of this URL may contain a token under any name.
        }
        line = {
            **{name: getattr(call, name) for name in RecordedCall.__slots__},
            "status": answer.status,
            "headers": headers,
            **content,
        }
        line_text, body_text = json.dumps(line).lower(), _unescape(body)
        encodings = (encoding for secret in secrets for encoding in _iter_encodings(secret))
        if any(encoding in line_text or encoding in body_text for encoding in encodings):
            log.warning("%s is not recorded: its answer contains a credential in an encoded form", call.path)
            return False
        with self._lock:
            is_full = self._file_bytes + len(line_text) >= MAX_FILE_BYTES or self._call_count >= MAX_CALLS
            if is_full or self._file.closed:
                return False
            self._call_count += 1
            try:
                self._write_line(line)
            except OSError as error:
                log.error("the recording was stopped: it cannot be written: %s", error.strerror)
                self._file_bytes = MAX_FILE_BYTES
                return False
        return True

    def _write_line(self, line: Mapping[str, Any]) -> None:
        line_bytes = json.dumps(line).encode() + b"\n"
        self._file.write(line_bytes)
        self._file.flush()
        self._file_bytes += len(line_bytes)


def _peek_full_body(environ: Environ) -> bytes:
    """Return the body of a request without consuming it. Raise PAYLOAD_TOO_LARGE if it is too long."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > MAX_REQUEST_BYTES:
        raise ApiError("PAYLOAD_TOO_LARGE", f"The body may have at most {MAX_REQUEST_BYTES:,} bytes.")
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _get_variable(header: str) -> str:
    """Return the key of a header in a WSGI environ."""
    variable = header.upper().replace("-", "_")
    return variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"


def _build_answer(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    header_list = [("-".join(part.capitalize() for part in name.split("-")), text) for name, text in headers.items()]
    if (body or "content-length" not in headers) and status not in BODILESS_STATUSES:
        header_list.append(("Content-Length", str(len(body))))
    return format_status(status), header_list, body


# ---- replaying


class ServiceRecording:
    """An answer source that replays the answers of a recording. Calls that are not in it are left to the fixture."""

    def __init__(self, file: Path) -> None:
        self.service_url = ""
        self.answers: dict[RecordedCall, list[RecordedAnswer]] = {}
        try:
            with file.open("rb") as stream:
                content = read_bounded(stream, MAX_FILE_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
        if len(content) > MAX_FILE_BYTES:
            raise UsageError(f"{file}: is too large to be a recording")
        for number, line in enumerate(content.splitlines(), 1):
            try:
                if number == 1:
                    self._read_first_line(json.loads(line))
                else:
                    self._read_call(json.loads(line))
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
                raise UsageError(f"{file}: line {number} is not a line of a recording") from None
        if not self.service_url:
            raise UsageError(f"{file}: is empty")

    def _read_first_line(self, line: dict[str, Any]) -> None:
        if line["finapi_recording"] != FORMAT_VERSION:
            raise ValueError
        self.service_url = str(line["of"])

    def _read_call(self, line: dict[str, Any]) -> None:
        """Read a line with a call and its answer. Raise ValueError if a fixture must not send that answer."""
        query = tuple((str(name), str(text)) for name, text in line["query"])
        accept, request_body, credential = (str(line[name]) for name in ("accept", "body", "credential"))
        call = RecordedCall(str(line["method"]), str(line["path"]), query, accept, request_body, credential)
        body = line["text"].encode() if "text" in line else base64.b64decode(line["base64"], validate=True)
        headers = {str(name): str(text) for name, text in line["headers"].items()}
        status = int(line["status"])
        if not call.path.startswith("/"):  # Appended to a base URL, such a path could change the host name.
            raise ValueError
        if not 200 <= status <= 599:
            raise ValueError
        if not all(_is_recorded_header(name, text, call.method) for name, text in headers.items()):
            raise ValueError
        self.answers.setdefault(call, []).append(RecordedAnswer(status, headers, body))

    def find_answer(self, world: World, environ: Environ, path: str) -> Answer | None:
        """Return the recorded answer to a call, or None. The last answer to a call is repeated."""
        call, _ = split_credentials(environ, path, _peek_full_body(environ))
        answers = self.answers.get(call)
        if not answers:
            return None
        answer = answers[min(world.replay_counts[call], len(answers) - 1)]
        world.replay_counts[call] += 1
        headers = {**answer.headers, "x-finapi-recorded": "yes"}
        tag = answer.headers.get("etag", "").removeprefix("W/").strip('"')
        if tag and find_matching_etag(environ.get("HTTP_IF_NONE_MATCH", ""), tag) is not None:
            return _build_answer(304, headers, b"")
        return _build_answer(answer.status, headers, answer.body)
