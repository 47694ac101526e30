"""The WSGI application of a fixture. It finds the world of each call and lets that world answer.

There are three kinds of calls: control calls (``/_control/*``, :mod:`finapi.testing.control`), webhooks that arrive in
an inbox (``/_control/inbox/NAME``), and API calls. For an API call the faults of its world are checked first. Then an
answer source (a real or recorded service) may answer it, otherwise the world itself. Each API call is written to the
world's log of calls.
"""

from __future__ import annotations

import copy
import hmac
import io
import json
import re
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode

from finapi.core.clock import FixedClock, iso
from finapi.core.errors import ApiError, invalid_param
from finapi.net.outbound import OutboundRequest, Reply
from finapi.testing import faults
from finapi.testing.call_effects import Environ, combine_faults, send_answer
from finapi.testing.control import ControlCalls, WorldManager
from finapi.testing.fault_answers import build_fault_answer, format_status, has_no_body
from finapi.testing.faults import Fault
from finapi.testing.owners import CredentialIndex
from finapi.testing.world import World, estimate_size
from finapi.web.application import StartResponse
from finapi.web.http.messages import read_headers
from finapi.web.responses import Answer

CONTROL_PATH = "/_control"
INBOX_PATH = CONTROL_PATH + "/inbox/"
OPENAPI_PATH = CONTROL_PATH + "/openapi.json"
WORLD_PATH = "/_world/"  # Followed by the world's name and then any path, for clients that only know a base URL.
WORLD_HEADER = "HTTP_X_FINAPI_WORLD"
WORLD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# The headers that show where a request comes from, with their names in an environ.
ORIGIN_HEADERS = {
    "host": "HTTP_HOST",
    "origin": "HTTP_ORIGIN",
    "sec-fetch-site": "HTTP_SEC_FETCH_SITE",
    "sec-fetch-dest": "HTTP_SEC_FETCH_DEST",
}
MAX_WORLDS = 1_000
# Seconds of real time without a call after which a world counts as idle: its test runner may have been killed. It is
# deleted when there is no room for a new world.
IDLE_SECONDS = 600.0
MAX_LOGGED_BODY_BYTES = 65_536
MAX_MESSAGE_BYTES = 1 << 20
# Host names that nobody can register in the public DNS: IP addresses, names without a dot, and names that are reserved
# by RFC 2606, 6762, 8375 and 9476.
UNOWNED_HOST = re.compile(
    r"|\[[0-9a-f:.]+\]|[0-9.]+|[^.]+|.*\.(localhost|test|example|invalid|local|internal|home\.arpa|alt)"
    r"|(.*\.)?example\.(com|net|org)"
)


class AnswerSource(Protocol):
    """A source of answers that is tried before the world of a call: a real service, or a recording of one."""

    def find_answer(self, world: World, environ: Environ, path: str) -> Answer | None:
        """Return the answer to a call, or None to let the world answer it."""


class Gate:
    """The WSGI application of a fixture, which passes each call to one of its worlds.

    A world is an independent finapi with its own data and clock, for example for one test.
    """

    def __init__(self, manager: WorldManager, control_token: str) -> None:
        self._manager = manager
        self._control_calls = ControlCalls(manager)
        self.control_token = control_token
        self.answer_source: AnswerSource | None = None
        # Host names under which the fixture may be called, in addition to UNOWNED_HOST. None allows every name.
        self.hosts: Collection[str] | None = None
        self.worlds: dict[str, World] = {}
        self.credential_index = CredentialIndex()
        self.closing = threading.Event()
        self.ends_process = False  # True if the process will exit as soon as the fixture is closed.
        self._lock = threading.Lock()

    # ---- worlds

    def get_world(self, name: str) -> World:
        """Return the world with this name. Create it if there is none.

        Raise BAD_REQUEST for a name that is not allowed, and CONFLICT if there are too many worlds.
        """
        world = self.worlds.get(name)
        if world is not None:
            return world
        if name and not WORLD_NAME.fullmatch(name):
            raise _build_name_error()
        if len(self.worlds) >= MAX_WORLDS:
            self._delete_idle_worlds()
        with self._lock:
            if name not in self.worlds:
                if len(self.worlds) >= MAX_WORLDS:
                    message = f"At most {MAX_WORLDS} worlds; remove one with DELETE {CONTROL_PATH}/world."
                    raise ApiError("CONFLICT", message)
                world = self._manager.create_world(name)
                self.worlds[name] = world
                self.credential_index.add(world)
            return self.worlds[name]

    def _delete_idle_worlds(self) -> None:
        idle_since = time.monotonic() - IDLE_SECONDS
        for world in list(self.worlds.values()):
            if world.name and max(world.used_at, self._manager.get_last_read_time(world)) < idle_since:
                self._manager.delete_world(world)

    def remove_world(self, world: World) -> None:
        """Remove a closed world from the list of worlds."""
        with self._lock:
            del self.worlds[world.name]
        self.credential_index.remove(world)

    def find_world(self, name: str | None, api_key: str, token: str) -> World:
        """Return the world that a call names. Without a name, return that of its credential, or the unnamed world."""
        if name is not None:
            return self.get_world(name)
        return self.credential_index.find_world(api_key, token) or self.get_world("")

    def check_origin(self, headers: Mapping[str, str], *, opens_feed: bool = False) -> None:
        """Raise FORBIDDEN for a request that a page of another site may have sent. ``headers`` have lower-case names.

        A request is checked before its world is looked up, so that such a page cannot create worlds.
        """
        if self.hosts is not None and not _is_local(headers, self.hosts, opens_feed=opens_feed):
            raise ApiError("FORBIDDEN", "A page of another site may not call a fixture of this machine.")

    # ---- calls of the API

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # The server's deadline is a time of the machine's clock, and a world has its own clock.
        environ.pop("finapi.deadline", None)
        world_name, path = _strip_world(environ)
        try:
            self.check_origin({name: environ.get(variable, "") for name, variable in ORIGIN_HEADERS.items()})
            if path.startswith(INBOX_PATH):
                return _send(start_response, self._answer_webhook(world_name, path, environ))
            if path == CONTROL_PATH or path.startswith(CONTROL_PATH + "/"):
                return _send(start_response, self._answer_control(world_name, path, environ))
            query = parse_qs(environ.get("QUERY_STRING", ""))
            token = environ.get("HTTP_AUTHORIZATION", "")[7:]
            # MCP clients send an API key as a bearer token.
            bearer_key = "" if "." in token else token
            api_key = environ.get("HTTP_X_API_KEY") or query.get("apiKey", [bearer_key])[0]
            world = self.find_world(world_name, api_key, token)
            return self._answer_call(world, environ, path, api_key, query, start_response)
        except ApiError as error:
            return _send(start_response, self.get_world("").wsgi.refuse(environ, error))

    def _answer_call(
        self,
        world: World,
        environ: Environ,
        path: str,
        api_key: str,
        query: Mapping[str, list[str]],
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        request_body = _peek_body(environ)
        method, started_at = environ["REQUEST_METHOD"], iso(world.clock.now())
        met_faults = world.faults.match_call(method, path)
        magic_status = faults.find_magic_status(api_key, _list_names(path, query, request_body))
        if magic_status is not None:
            met_faults.append(Fault("magic", "status", magic_status))
        effects = combine_faults(met_faults)
        if effects.delay_seconds is not None and "finapi.pace" not in environ:
            self.closing.wait(effects.delay_seconds)
        answer: Answer | None
        if effects.answer_fault is not None:
            now = world.clock.now().timestamp()
            answer = build_fault_answer(world.wsgi, environ, effects.answer_fault, now)
        else:
            answer = self._find_source_answer(world, environ, path)
        with world.enter_call():
            if "status" in path or path == "/metrics":
                world.rounds.catch_up()  # Only calls with these paths show the results of the watchdog's rounds.
            status, headers, body = answer or _explain_limit(world, _call_world(world, environ, effects.stale))
            if method not in ("GET", "HEAD", "OPTIONS"):
                # The mail that a call causes must be in the mailbox when the client gets the answer.
                world.send_due_mails()
            request_headers, request_text = read_headers(environ), request_body.decode("utf-8", "replace")
            logged_call = {
                "at": started_at,
                "method": method,
                "path": path,
                "query": query,
                "headers": request_headers,
                "body": request_text,
                "status": int(status[:3]),
                "request_id": dict(headers).get("X-Request-ID"),
                "faults": [fault.id for fault in met_faults],
            }
            size_bytes = estimate_size(environ.get("REQUEST_URI", ""), query, request_headers, request_text)
            world.call_log.append(logged_call, size_bytes)
        headers = [*headers, world.build_date_header()]
        return send_answer(effects, status, headers, body, environ, start_response, self.closing)

    def _find_source_answer(self, world: World, environ: Environ, path: str) -> Answer | None:
        if self.answer_source is None:
            return None
        try:
            return self.answer_source.find_answer(world, environ, path)
        except ApiError as error:
            return world.wsgi.refuse(environ, error)

    # ---- control calls and inboxes

    def _answer_control(self, world_name: str | None, path: str, environ: Environ) -> Answer:
        if (environ["REQUEST_METHOD"], path) == ("GET", OPENAPI_PATH):
            return _answer_openapi(world_name)
        token = environ.get("HTTP_X_CONTROL_TOKEN", "")
        if not hmac.compare_digest(token.encode(), self.control_token.encode()):
            raise ApiError("UNAUTHORIZED", "X-Control-Token must be the control_token of the ready line.")
        method, call_name = environ["REQUEST_METHOD"], path[len(CONTROL_PATH) + 1 :]
        if (method, call_name) == ("DELETE", "world") and world_name and world_name not in self.worlds:
            return _build_json_answer({})
        world = self.get_world(world_name or "")
        world.used_at = time.monotonic()
        try:
            status, headers, body = _build_json_answer(self._control_calls.call(world, method, call_name, environ))
        except ApiError as error:
            status, headers, body = world.wsgi.refuse(environ, error)
        return status, [*headers, world.build_date_header()], body

    def _answer_webhook(self, world_name: str | None, path: str, environ: Environ) -> Answer:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        status = query.get("status", ["200"])[0]
        if not re.fullmatch("[2-5][0-9]{2}", status):
            raise invalid_param("status", "status must be 200 to 599.", expected="200 to 599")
        if environ["REQUEST_METHOD"] != "POST":
            raise ApiError("METHOD_NOT_ALLOWED", "An inbox takes POST.", headers={"Allow": "POST"})
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > MAX_MESSAGE_BYTES:
            raise ApiError("PAYLOAD_TOO_LARGE", f"A message may have at most {MAX_MESSAGE_BYTES:,} bytes.")
        headers, body = read_headers(environ), environ["wsgi.input"].read(length) if length else b""
        world = self.get_world(world_name or "")
        with world.enter_call():
            world.receive_webhook(path[len(INBOX_PATH) :], headers, body)
        status_line = format_status(int(status))
        if has_no_body(int(status)):
            return status_line, [("Cache-Control", "no-store")], b""
        return _build_json_answer({}, status_line)

    def deliver_webhook(self, base_url: str, request: OutboundRequest) -> Reply | None:
        """Deliver a webhook to an inbox of this fixture without a connection. Return None for any other URL."""
        path, _, query = request.url.removeprefix(base_url).partition("?")
        if not request.url.startswith(base_url) or not path.partition(CONTROL_PATH)[2].startswith("/inbox/"):
            return None
        environ: Environ = {
            "REQUEST_METHOD": "POST",
            "REQUEST_URI": path,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(request.body)),
            "wsgi.input": io.BytesIO(request.body),
        }
        environ |= {f"HTTP_{name.upper().replace('-', '_')}": text for name, text in request.headers.items()}
        statuses: list[str] = []
        body = b"".join(self(environ, lambda status, headers: statuses.append(status)))
        return Reply(int(statuses[0][:3]), {}, body, False)


def split_world_path(target: str) -> tuple[str, str]:
    """Split ``/_world/NAME/path`` into the name and the path. The name is "" if the target has none."""
    if not target.startswith(WORLD_PATH):
        return "", target
    name, slash, path = target.removeprefix(WORLD_PATH).partition("/")
    return name, slash + path or "/"


def _strip_world(environ: Environ) -> tuple[str | None, str]:
    """Remove the world's name from the path of a call. Return the name (from the path or a header) and the path."""
    uri = environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/")
    name = environ.get(WORLD_HEADER)
    if uri.startswith(WORLD_PATH):
        name, uri = split_world_path(uri)
        environ["REQUEST_URI"], environ["PATH_INFO"] = uri, uri.partition("?")[0]
    return name, uri.partition("?")[0]


def _call_world(world: World, environ: Environ, stale: str | None) -> Answer:
    """Return the world's answer. With ``stale`` (a time), answer as if no filing had arrived since then."""
    wsgi = world.wsgi
    if stale is not None:
        moment = faults.parse_time(stale, "stale")
        wsgi = copy.copy(wsgi)
        wsgi.app = replace(wsgi.app, clock=FixedClock(moment))
        query = parse_qs(environ.get("QUERY_STRING", ""))
        if wsgi.has_param(environ, "as_of") and "as_of" not in query:
            # The day before ``stale``, because a filing of the same day may have arrived later than that time.
            query["as_of"] = [(moment - timedelta(days=1)).date().isoformat()]
            environ["QUERY_STRING"] = urlencode(query, doseq=True)
            environ["REQUEST_URI"] = f"{environ['PATH_INFO']}?{environ['QUERY_STRING']}"
    started: list[Any] = []
    chunks = wsgi(environ, lambda status, headers: started.extend((status, headers)))
    try:
        body = b"".join(chunks)
    finally:
        if hasattr(chunks, "close"):
            chunks.close()  # PEP 3333 requires this even if the answer was read to the end.
    status, headers = started
    return status, headers, body


def _peek_body(environ: Environ) -> bytes:
    """Return the body of a request without consuming it. Return b"" for a long body, which is not read."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not 0 < length <= MAX_LOGGED_BODY_BYTES:
        return b""
    body: bytes = environ["wsgi.input"].read(length)
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _list_names(path: str, query: Mapping[str, list[str]], body: bytes) -> list[str]:
    """Return the parts of a call's path, query and body that may be a ticker or an email."""
    names = path.split("/")
    for texts in query.values():
        for text in texts:
            names += text.split(",")
    return names + _list_body_names(body)


def _list_body_names(body: bytes) -> list[str]:
    """Return the email and the tickers in a JSON body, or in the arguments of an MCP tool."""
    try:
        document = json.loads(body)
        arguments = document["params"]["arguments"] if "jsonrpc" in document else document
        names = [arguments.get("email"), arguments.get("ticker"), *(arguments.get("tickers") or ())]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return []
    return [name for name in names if isinstance(name, str)]


def _is_local(headers: Mapping[str, str], hosts: Collection[str], *, opens_feed: bool) -> bool:
    """Return True if the headers of a request look like those of a program or page of this machine.

    A page of another site could call the fixture through a host name that resolves to 127.0.0.1 (DNS rebinding), or by
    a cross-site request with the keys that all fixtures with the same seed have. It could then make the fixture send
    webhooks to other services on this machine, or create worlds without end. Only browsers send Sec-Fetch-Site. Not
    all of them send it when they open a WebSocket, but all send Origin.
    """
    names = [headers.get("host", "")]
    origin = headers.get("origin", "")
    is_cross_site = headers.get("sec-fetch-site") == "cross-site"
    if is_cross_site and not origin and headers.get("sec-fetch-dest") != "document":
        return False  # An image, a script or a frame of the other site. A link that was followed is a document.
    if origin and (is_cross_site or opens_feed):
        if origin == "null":  # The origin of a sandboxed frame, which any site may have opened.
            return False
        names.append(origin.rpartition("//")[2])
    host_names = (re.sub(r":[0-9]*$", "", name).lower().rstrip(".") for name in names)
    return all(host in hosts or UNOWNED_HOST.fullmatch(host) for host in host_names)


def _explain_limit(world: World, answer: Answer) -> Answer:
    """Return an answer. A 429 of a world whose clock stands still says which control calls end the limit.

    Without this a client that waits as Retry-After says would be refused again, without end.
    """
    status, headers, body = answer
    header_values = dict(headers)
    is_json = header_values.get("Content-Type", "").startswith("application/json")
    is_readable = is_json and body and "Content-Encoding" not in header_values
    if not status.startswith("429") or not world.clock.is_frozen or not is_readable:
        return answer
    document = json.loads(body)
    if "message" not in document:  # An answer of MCP.
        return answer
    seconds = header_values.get("Retry-After", "60")
    advance = f'POST {CONTROL_PATH}/clock {{"advance": {seconds}}}'
    clear = f"POST {CONTROL_PATH}/limits/clear"
    document["message"] += (
        f" The clock of this fixture stands still: {advance} lets the time pass, {clear} ends limits."
    )
    explained_body = json.dumps(document, ensure_ascii=False).encode()
    headers = [header for header in headers if header[0] not in ("Content-Length", "ETag")]
    return status, [*headers, ("Content-Length", str(len(explained_body)))], explained_body


def _answer_openapi(world_name: str | None) -> Answer:
    """Return the description of the control calls. It needs no token, and creates no world."""
    from finapi.testing.control_openapi import build_document  # No start needs it.

    if world_name and not WORLD_NAME.fullmatch(world_name):
        raise _build_name_error()
    return _build_json_answer(build_document((f"{WORLD_PATH}{world_name}" if world_name else "") + CONTROL_PATH))


def _build_name_error() -> ApiError:
    message = "A world's name is 1 to 64 letters, digits, dots, dashes and underscores."
    return ApiError("BAD_REQUEST", message)


def _build_json_answer(document: Any, status: str = "200 OK") -> Answer:
    body = json.dumps(document).encode()
    length = ("Content-Length", str(len(body)))
    return status, [("Content-Type", "application/json"), length, ("Cache-Control", "no-store")], body


def _send(start_response: StartResponse, answer: Answer) -> list[bytes]:
    status, headers, body = answer
    start_response(status, headers)
    return [body]
