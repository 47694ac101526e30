"""A real service's answers: kept without keys while a client asks it through a fixture, and given again later.

A recording is a file of JSON lines: the first says what it is, each other one is a call and its answer.
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

from finapi.client.exchange import ApiAnswer, ApiRequest, unanswered
from finapi.client.synchronous import Send
from finapi.core.clock import iso
from finapi.core.errors import ApiError, UsageError
from finapi.net.outbound import Outbound, OutboundError, OutboundRequest, Reply
from finapi.testing.gate import status_line
from finapi.testing.world import World
from finapi.web.http.messages import held_etag
from finapi.web.wsgi import Answered

log = logging.getLogger("finapi.testing")

VERSION = 1
MAX_BYTES = 64 << 20  # of a recording
MAX_CALLS = 20_000
ANSWER_BYTES = 16 << 20  # of one answer of the service
BODY_BYTES = 1 << 20  # of one request
SECONDS = 60.0  # for an answer of the service

# What goes on to the service, and what of its answer comes back and is kept: no cookies, neither way.
ASKED = ("accept", "content-type", "if-none-match", "idempotency-key", "x-request-id", "user-agent")
KEPT = re.compile(
    "content-type|etag|cache-control|link|vary|allow|retry-after|deprecation|sunset|content-disposition"
    "|location|last-modified|www-authenticate|idempotent-replayed|access-control-.*"
    "|x-(request-id|api-version|tokens-charged|ratelimit-.*|has-more|next-cursor|total-.*|window|content-type-options)"
)
BODILESS = (204, 205, 304)
PLAIN = re.compile(r"[\x20-\x7e]*")
TYPES = ("application/json", "text/csv", "application/x-ndjson")  # of answers that are kept: pages show who reads them
# What makes, shows or takes credentials is never kept; the fixture's own accounts answer it later.
ABOUT_CREDENTIALS = re.compile(r"/auth/|/api-key|/secret|/user/|/invite")
# Members that are credentials wherever they stand, and texts that are some by their form.
SECRET_MEMBER = re.compile(
    r'("[\w-]*(?:api_?key|token|password|secret|cookie)"\s*:\s*)"((?:[^"\\]|\\.)*)"', re.IGNORECASE
)
SECRET_LENGTH = 6  # of a member of a request that is looked for in the answer; a shorter one may be any text
SECRET_TEXT = re.compile(r"whsec_[A-Za-z0-9+/=]+|eyJ[\w-]+\.[\w-]+\.[\w-]+")
REMOVED = "removed"
URL_SAFE = bytes.maketrans(b"+/", b"-_")
CREDENTIALS = ("apikey", "api_key", "token")  # names in a query

Environ = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """What tells one call from another: two that are equal have the same answer."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    accept: str
    body: str
    credential: str  # none, key or session

    @property
    def target(self) -> str:
        """Path and query."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that was recorded; ``headers`` are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def by_outbound(outbound: Outbound) -> Send:
    """A sender to a service that may be hostile: an answer has a bound in bytes and in time."""

    def send(request: ApiRequest) -> ApiAnswer | None:
        headers, whole = dict(request.headers), {"seconds": SECONDS, "body_bytes": ANSWER_BYTES}
        try:
            reply = outbound.send(
                OutboundRequest(request.url, request.method, headers, request.body, whole=True, **whole)  # type: ignore[arg-type]
            )
            return ApiAnswer(reply.status, reply.headers, _decompressed(reply))
        except OutboundError as error:
            return unanswered(error)

    return send


def _decompressed(reply: Reply) -> bytes:
    """The body of an answer, also where it is compressed though nobody asked for that."""
    coding = reply.headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity" or not reply.body:
        return reply.body
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise OutboundError("the reply is encoded in a way that was not asked for")
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib
    try:
        body = reader.decompress(reply.body, ANSWER_BYTES + 1)
    except zlib.error:
        body = b""
    if len(body) > ANSWER_BYTES:
        raise OutboundError(f"the reply is longer than {ANSWER_BYTES} bytes")
    if not reader.eof:
        raise OutboundError("the reply cannot be decompressed")
    return body


def asked(environ: Environ, path: str, body: bytes) -> tuple[RecordedCall, list[str]]:
    """A call as it is kept, and the credentials that came with it."""
    query = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    keys = [environ.get("HTTP_X_API_KEY", ""), *(text for name, text in query if name.lower() in CREDENTIALS)]
    session = environ.get("HTTP_AUTHORIZATION", "").partition(" ")[2]
    given = [one for one in (*keys, session) if one]
    plain = tuple(sorted((name, text) for name, text in query if name.lower() not in CREDENTIALS))
    credential = "key" if any(keys) else "session" if session else "none"
    accept = environ.get("HTTP_ACCEPT", "").partition(";")[0]
    table = accept if accept in TYPES[1:] else ""
    text = scrubbed(body, given).decode("utf-8", "replace")
    return RecordedCall(environ["REQUEST_METHOD"], path, plain, table, text, credential), given


def scrubbed(body: bytes, given: Iterable[str]) -> bytes:
    """A body without credentials: those that came with the call, and what is one by its name or its form."""
    text = SECRET_MEMBER.sub(rf'\1"{REMOVED}"', body.decode("utf-8", "surrogateescape"))
    text = SECRET_TEXT.sub(REMOVED, text)
    for one in given:
        for form in (one, quote(one, safe=""), json.dumps(one)[1:-1]):
            text = re.sub(re.escape(form), REMOVED, text, flags=re.IGNORECASE)
    return text.encode("utf-8", "surrogateescape")


def _secrets_in(body: bytes) -> list[str]:
    return [found[1] for found in SECRET_MEMBER.findall(body.decode("utf-8", "replace"))]


def _forms(secret: str) -> Iterator[str]:
    """What a text holds in lower case that holds a secret: as it is, in hexadecimal, in Base64 wherever that began."""
    data = secret.encode("utf-8", "replace")
    yield secret.lower()
    yield data.hex()
    if len(data) >= SECRET_LENGTH:
        for before in range(3):  # the ends depend on what stands beside
            text = base64.b64encode(bytes(before) + data)[-(-before * 4 // 3) : (before + len(data)) * 4 // 3]
            yield from {text.decode().lower(), text.translate(URL_SAFE).decode().lower()}


def _unescaped(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text).lower()


def _is_kept(name: str, text: str, method: str) -> bool:
    """Whether a header may stand in a recording; another could say where its answer ends."""
    length = name == "content-length" and method == "HEAD" and re.fullmatch("[0-9]{1,18}", text) is not None
    return length or (KEPT.fullmatch(name) is not None and PLAIN.fullmatch(text) is not None)


# ---- to record


class Recorder:
    """Asks a service what a fixture is asked, and writes down what passes."""

    def __init__(self, service: str, file: Path, key: str, send: Send, now: datetime) -> None:
        self._service = service.rstrip("/")
        self._key = key
        self._send = send
        self._lock = threading.Lock()
        self._calls = 0
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise UsageError(f"{file} already exists; name another file for this recording") from None
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
        self._file = os.fdopen(handle, "wb")
        self._bytes = self._write({"finapi_recording": VERSION, "of": self._service, "at": iso(now)})

    def close(self) -> None:
        """End the recording."""
        with self._lock:
            self._file.close()

    def __call__(self, world: World, environ: dict[str, Any], path: str) -> Answered:
        """What the service answers; 503 when it does not."""
        if not path.startswith("/"):
            raise ApiError("BAD_REQUEST", "The path must begin with a slash.")
        body = _whole(environ)
        call, given = asked(environ, path, body)
        own = [one["api_key"] for one in world.accounts.values()]
        answer = self._send(self._request(call, environ, body, given, own))
        if answer is None or not answer.status:
            why = answer.body.decode("utf-8", "replace") if answer is not None else "no answer came"
            raise ApiError("UNAVAILABLE", f"{self._service}: {why}.")
        if not 200 <= answer.status <= 599:
            raise ApiError("UNAVAILABLE", f"{self._service}: {answer.status} is not a status of HTTP.")
        told = {name: text for name, text in answer.headers.items() if KEPT.fullmatch(name) and PLAIN.fullmatch(text)}
        if told.get("location", "").startswith(f"{self._service}/"):
            told["location"] = told["location"].removeprefix(self._service)
        if call.method == "HEAD" and answer.headers.get("content-length", "").isdecimal():
            told["content-length"] = answer.headers["content-length"]
        known = [*given, self._key, *(one for one in _secrets_in(body) if len(one) >= SECRET_LENGTH)]
        kept = self._keep(call, RecordedAnswer(answer.status, told, answer.body), [one for one in known if one])
        return _answered(answer.status, {**told, "x-finapi-recorded": "yes" if kept else "no"}, answer.body)

    def _request(
        self, call: RecordedCall, environ: dict[str, Any], body: bytes, given: list[str], own: list[str]
    ) -> ApiRequest:
        """What the service is asked: a key of the fixture stands for its own, in a header, a query or a body."""
        headers = {name: environ[_cgi(name)] for name in ASKED if environ.get(_cgi(name))}
        swapped = bool(self._key) and any(one in own for one in given)
        if call.credential == "key":
            headers["X-API-Key"] = self._key if swapped else given[0]
        elif call.credential == "session":
            headers["Authorization"] = f"Bearer {self._key}" if swapped else environ["HTTP_AUTHORIZATION"]
        for one in own if self._key else ():
            body = body.replace(one.encode(), self._key.encode())
        query = [one for one in parse_qsl(environ.get("QUERY_STRING", ""), True) if one[0].lower() not in CREDENTIALS]
        url = self._service + call.path + (f"?{urlencode(query)}" if query else "")
        return ApiRequest(call.method, url, headers, body)

    def _keep(self, call: RecordedCall, given: RecordedAnswer, known: list[str]) -> bool:
        kind = given.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in TYPES or given.status == 304 or ABOUT_CREDENTIALS.search(call.path):
            return False
        body = scrubbed(given.body, known)
        try:
            content = {"text": body.decode()}
        except UnicodeDecodeError:
            content = {"base64": base64.b64encode(body).decode()}
        headers = {
            name: scrubbed(text.encode("utf-8", "replace"), known).decode()
            for name, text in given.headers.items()
            if name != "location"  # which may hold a token under any name
        }
        line = {
            **{name: getattr(call, name) for name in RecordedCall.__slots__},
            "status": given.status,
            "headers": headers,
            **content,
        }
        written, plain = json.dumps(line).lower(), _unescaped(body)
        if any(form in written or form in plain for one in known for form in _forms(one)):
            log.warning("%s is not recorded: a key stands in it in some other form", call.path)
            return False
        with self._lock:
            if self._bytes + len(written) >= MAX_BYTES or self._calls >= MAX_CALLS or self._file.closed:
                return False
            self._calls += 1
            try:
                self._bytes += self._write(line)
            except OSError as error:
                log.error("the recording ends: %s", error.strerror)
                self._bytes = MAX_BYTES
                return False
        return True

    def _write(self, line: Mapping[str, Any]) -> int:
        """How many bytes were written."""
        data = json.dumps(line).encode() + b"\n"
        self._file.write(data)
        self._file.flush()
        return len(data)


def _whole(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > BODY_BYTES:
        raise ApiError("PAYLOAD_TOO_LARGE", f"The body may have at most {BODY_BYTES:,} bytes.")
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _cgi(name: str) -> str:
    plain = name.upper().replace("-", "_")
    return plain if plain == "CONTENT_TYPE" else f"HTTP_{plain}"


def _answered(status: int, headers: Mapping[str, str], body: bytes) -> Answered:
    named = [("-".join(part.capitalize() for part in name.split("-")), text) for name, text in headers.items()]
    if (body or "content-length" not in headers) and status not in BODILESS:
        named.append(("Content-Length", str(len(body))))
    return status_line(status), named, body


# ---- to give again


class ServiceRecording:
    """The answers of a file. Calls that it does not hold are left to the fixture."""

    def __init__(self, file: Path) -> None:
        self.of = ""
        self.answers: dict[RecordedCall, list[RecordedAnswer]] = {}
        try:
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from None
        if len(data) > MAX_BYTES:
            raise UsageError(f"{file}: is too large to be a recording")
        for number, line in enumerate(data.splitlines(), 1):
            try:
                self._take(json.loads(line), first=number == 1)
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
                raise UsageError(f"{file}: line {number} is not a line of a recording") from None
        if not self.of:
            raise UsageError(f"{file}: is empty")

    def _take(self, line: dict[str, Any], *, first: bool) -> None:
        if first:
            if line["finapi_recording"] != VERSION:
                raise ValueError
            self.of = str(line["of"])
            return
        query = tuple((str(name), str(text)) for name, text in line["query"])
        texts = (str(line[name]) for name in ("accept", "body", "credential"))
        call = RecordedCall(str(line["method"]), str(line["path"]), query, *texts)
        body = line["text"].encode() if "text" in line else base64.b64decode(line["base64"], validate=True)
        headers = {str(name): str(text) for name, text in line["headers"].items()}
        if not call.path.startswith("/"):  # else it could go on with the name of a host
            raise ValueError
        if not 200 <= int(line["status"]) <= 599 or not all(_is_kept(*one, call.method) for one in headers.items()):
            raise ValueError
        self.answers.setdefault(call, []).append(RecordedAnswer(int(line["status"]), headers, body))

    def __call__(self, world: World, environ: dict[str, Any], path: str) -> Answered | None:
        """The answer that was recorded for a call, the last one again and again; None when there is none."""
        call, _ = asked(environ, path, _whole(environ))
        found = self.answers.get(call)
        if not found:
            return None
        one = found[min(world.replayed[call], len(found) - 1)]
        world.replayed[call] += 1
        told = {**one.headers, "x-finapi-recorded": "yes"}
        tag = one.headers.get("etag", "").removeprefix("W/").strip('"')
        if tag and held_etag(environ.get("HTTP_IF_NONE_MATCH", ""), tag) is not None:
            return _answered(304, told, b"")
        return _answered(one.status, told, one.body)
