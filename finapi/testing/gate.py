"""What stands before the worlds of a fixture: finds whose a call is, breaks it as told, and writes it down."""

from __future__ import annotations

import copy
import hmac
import io
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from http import HTTPStatus
from math import inf
from typing import Any
from urllib.parse import parse_qs, urlencode

from finapi.core.clock import FixedClock, iso
from finapi.core.errors import ApiError, invalid_param
from finapi.net.outbound import OutboundRequest, Reply
from finapi.store.db import DatabaseError
from finapi.testing import faults
from finapi.testing.faults import Fault
from finapi.testing.owners import Owners
from finapi.testing.world import World, size_of
from finapi.web.http.messages import headers_of
from finapi.web.wsgi import Answered, StartResponse

log = logging.getLogger("finapi.testing")

CONTROL = "/_control"
INBOX = CONTROL + "/inbox/"
PREFIX = "/_world/"  # with the world's name after it, before any path: for clients that know a base URL alone
HEADER = "HTTP_X_FINAPI_WORLD"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_WORLDS = 1_000
IDLE_SECONDS = 600.0  # of real time, after which a world, perhaps of a runner that was killed, makes room for another
BODY = 65_536  # bytes of a body that the journal keeps
MESSAGE = 1 << 20  # bytes of a message that an inbox takes
# Hosts whose name nobody can have in the public DNS: addresses, names of one label, and RFC 2606, 6762, 8375, 9476.
NOBODYS = re.compile(
    r"|\[[0-9a-f:.]+\]|[0-9.]+|[^.]+|.*\.(localhost|test|example|invalid|local|internal|home\.arpa|alt)"
    r"|(.*\.)?example\.(com|net|org)"
)
AGAIN_SECONDS = 1.0  # until a world is stepped again whose step failed
DRIPS = 20  # pieces a second of an answer that drips
BEYOND = 7  # bytes that a wrong length promises and nobody sends

Environ = dict[str, Any]
# (world, method, name behind /_control/, environ) -> what is answered.
Perform = Callable[[World, str, str, Environ], Any]
# (world, environ, path) -> the answer of a real service or a recording, or None.
Elsewhere = Callable[[World, Environ, str], Answered | None]


class Gate:
    """The WSGI application of a fixture."""

    def __init__(
        self, make: Callable[[str], World], drop: Callable[[World], None], token: str, perform: Perform
    ) -> None:
        self._make, self._drop = make, drop
        self._perform = perform
        self.elsewhere: Elsewhere = lambda world, environ, path: None
        # When a feed of a world was last open.
        self.read_at: Callable[[World], float] = lambda world: -inf
        self.token = token
        # By which it may be called besides names that nobody owns; None: by any.
        self.hosts: Collection[str] | None = None
        self._lock = threading.Lock()
        self.owners = Owners()
        self.closing = threading.Event()
        self.ends_process = False  # as soon as it is closed
        self.worlds: dict[str, World] = {}

    # ---- whose a call is

    def world(self, name: str) -> World:
        """The world of a name, made when it is first asked for; INVALID_PARAM or CONFLICT when it cannot be."""
        found = self.worlds.get(name)
        if found is not None:
            return found
        if name and not NAME.fullmatch(name):
            raise ApiError("BAD_REQUEST", "A world's name is 1 to 64 letters, digits, dots, dashes and underscores.")
        if len(self.worlds) >= MAX_WORLDS:
            for one in list(self.worlds.values()):
                if one.name and max(one.used, self.read_at(one)) < time.monotonic() - IDLE_SECONDS:
                    self._drop(one)
        with self._lock:
            if name not in self.worlds:
                if len(self.worlds) >= MAX_WORLDS:
                    raise ApiError("CONFLICT", f"At most {MAX_WORLDS} worlds; remove one with DELETE {CONTROL}/world.")
                world = self._make(name)
                self.worlds[name] = world
                self.owners.add(world)
            return self.worlds[name]

    def forget(self, world: World) -> None:
        """Know nothing of a world any more."""
        with self._lock:
            del self.worlds[world.name]
        self.owners.forget(world)

    def of(self, name: str | None, key: str, token: str) -> World:
        """The world that a call names, or that its credential was made in, else the one without a name."""
        if name is not None:
            return self.world(name)
        return self.owners.find(key, token) or self.world("")

    # ---- calls

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # Deadlines are of the machine's clock, and a world has its own.
        environ.pop("finapi.deadline", None)
        name, path = _stripped(environ)
        try:
            if self.hosts is not None and not _is_local(environ, self.hosts):
                raise ApiError("FORBIDDEN", "A page of another site may not call a fixture of this machine.")
            if path.startswith(INBOX):
                return _sent(start_response, self._received(name, path, environ))
            if path == CONTROL or path.startswith(CONTROL + "/"):
                return _sent(start_response, self._controlled(name, path, environ))
            query = parse_qs(environ.get("QUERY_STRING", ""))
            token = environ.get("HTTP_AUTHORIZATION", "")[7:]
            # MCP takes a key as a bearer's, too.
            key = environ.get("HTTP_X_API_KEY") or query.get("apiKey", ["" if "." in token else token])[0]
            world = self.of(name, key, token)
            return self._called(world, environ, path, key, query, start_response)
        except ApiError as error:
            return _sent(start_response, self.world("").wsgi.refusal(environ, error))

    def _called(
        self,
        world: World,
        environ: Environ,
        path: str,
        key: str,
        query: Mapping[str, list[str]],
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        body = _body(environ)
        method, began = environ["REQUEST_METHOD"], iso(world.clock.now())
        met = world.faults.of_call(method, path)
        given = (one for all in query.values() for text in all for one in text.split(","))
        asked = faults.magic(key, [*path.split("/"), *given, *_named_in(body)])
        if asked is not None:
            met.append(Fault("magic", {"status": asked}))
        does = {kind: value for fault in met for kind, value in fault.does.items()}
        pace = environ.get("finapi.pace")
        if "delay" in does and pace is None:
            self.closing.wait(does["delay"])
        if "status" in does:
            plain = any(not one.headers for one in met if "status" in one.does)
            error = faults.error(does["status"], headers=not plain, now=world.clock.now().timestamp())
            known: Answered | None = world.wsgi.refusal(environ, error)
        else:
            known = self._elsewhere(world, environ, path)
        with world.called():
            if "status" in path or path == "/metrics":
                world.rounds.catch_up()  # which nobody else could see
            status, headers, content = known or _answered(world, environ, does.get("stale"))
            if method not in ("GET", "HEAD", "OPTIONS"):
                # Whoever has the answer finds the mail that it caused.
                world.settle_mails()
            told, text, id = headers_of(environ), body.decode("utf-8", "replace"), dict(headers).get("X-Request-ID")
            entry = {"at": began, "method": method, "path": path, "query": query, "headers": told, "body": text}
            entry |= {"status": int(status[:3]), "request_id": id, "faults": [one.id for one in met]}
            world.journal.append(entry, size_of(environ.get("REQUEST_URI", ""), query, told, text))
        reset = environ.get("finapi.reset") if "reset" in does else None
        # Another transport of WSGI, httpx's for one, has no connection to break, and does not count what came.
        ours = "finapi.reset" in environ
        if "reset" in does and not (ours or "truncate" in does):
            raise ConnectionResetError("a fault resets this call")
        before, after = (None, reset) if "truncate" in does else (reset, None)
        if pace is not None and ("delay" in does or "drip" in does):
            pace(does.get("delay", 0.0), does.pop("drip", inf), before, after)
            after = None
        elif before is not None:
            before()
        if "finapi.short" in environ and ("truncate" in does or "wrong_length" in does):
            environ["finapi.short"]()
        does["told"] = not ours and method != "HEAD"
        pieces = self._broken(status, [*headers, world.date()], content, does, start_response)
        return pieces if after is None else _reset_after(pieces, after)

    def _elsewhere(self, world: World, environ: Environ, path: str) -> Answered | None:
        try:
            return self.elsewhere(world, environ, path)
        except ApiError as error:
            return world.wsgi.refusal(environ, error)

    def _broken(
        self,
        status: str,
        headers: list[tuple[str, str]],
        body: bytes,
        does: Mapping[str, Any],
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        told = next((int(value) for name, value in headers if name == "Content-Length"), None)
        if "truncate" in does or does.get("wrong_length"):
            # Of an answer that would come in chunks too: one that ends early must not look like a whole one.
            length = (len(body) if told is None else told) + (BEYOND if does.get("wrong_length") else 0)
            others = [one for one in headers if one[0] != "Content-Length"]
            headers, told = [*others, ("Content-Length", str(length))], length
        start_response(status, headers)
        if "truncate" in does:
            body = body[: does["truncate"]]
        pieces: Iterable[bytes] = [body] if told is not None else iter([body])
        if "drip" in does:
            pieces = self._dripping(body, does["drip"])
        return _cut_off(pieces) if does["told"] and told is not None and len(body) < told else pieces

    def _dripping(self, body: bytes, a_second: float) -> Iterator[bytes]:
        size = max(1, int(a_second / DRIPS))
        for place in range(0, len(body), size):
            yield body[place : place + size]
            if self.closing.wait(size / a_second):
                return

    # ---- control, and the inbox of webhooks

    def _controlled(self, name: str | None, path: str, environ: Environ) -> Answered:
        if not hmac.compare_digest(environ.get("HTTP_X_CONTROL_TOKEN", "").encode(), self.token.encode()):
            raise ApiError("UNAUTHORIZED", "X-Control-Token must be the control_token of the ready line.")
        method, call = environ["REQUEST_METHOD"], path[len(CONTROL) + 1 :]
        if (method, call) == ("DELETE", "world") and name and name not in self.worlds:
            return _json({})
        world = self.world(name or "")
        world.used = time.monotonic()
        try:
            status, headers, body = _json(self._perform(world, method, call, environ))
        except ApiError as error:
            status, headers, body = world.wsgi.refusal(environ, error)
        return status, [*headers, world.date()], body

    def _received(self, name: str | None, path: str, environ: Environ) -> Answered:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        status = query.get("status", ["200"])[0]
        if not re.fullmatch("[2-5][0-9]{2}", status):
            raise invalid_param("status", "status must be 200 to 599.", expected="200 to 599")
        if environ["REQUEST_METHOD"] != "POST":
            raise ApiError("METHOD_NOT_ALLOWED", "An inbox takes POST.", headers={"Allow": "POST"})
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > MESSAGE:
            raise ApiError("PAYLOAD_TOO_LARGE", f"A message may have at most {MESSAGE:,} bytes.")
        headers, body = headers_of(environ), environ["wsgi.input"].read(length) if length else b""
        world = self.world(name or "")
        with world.called():
            world.receive(path[len(INBOX) :], headers, body)
        line = status_line(int(status))
        if status in ("204", "205", "304"):  # which have no body
            return line, [("Cache-Control", "no-store")], b""
        return _json({}, line)

    def deliver(self, world: World, base: str, request: OutboundRequest) -> Reply | None:
        """The reply to a webhook that goes to an inbox of this fixture, without a connection; None for any other."""
        path, _, query = request.url.removeprefix(base).partition("?")
        if not request.url.startswith(base) or not path.partition(CONTROL)[2].startswith("/inbox/"):
            return None
        headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in request.headers.items()}
        environ: Environ = {"REQUEST_METHOD": "POST", "REQUEST_URI": path, "PATH_INFO": path, "QUERY_STRING": query}
        environ |= {"wsgi.input": io.BytesIO(request.body), "CONTENT_LENGTH": str(len(request.body)), **headers}
        told: list[str] = []
        body = b"".join(self(environ, lambda status, headers: told.append(status)))
        return Reply(int(told[0][:3]), {}, body, False)


def status_line(status: int) -> str:
    """The status with its phrase."""
    with suppress(ValueError):
        return f"{status} {HTTPStatus(status).phrase}"
    return f"{status} Unknown"


def parted(target: str) -> tuple[str, str]:
    """The world that a target begins with, or none, and the rest."""
    if not target.startswith(PREFIX):
        return "", target
    name, slash, rest = target.removeprefix(PREFIX).partition("/")
    return name, slash + rest or "/"


def _stripped(environ: Environ) -> tuple[str | None, str]:
    """The world that a call names by its path or a header, and the path without that; the environ is brought along."""
    uri = environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/")
    name = environ.get(HEADER)
    if uri.startswith(PREFIX):
        name, uri = parted(uri)
        environ["REQUEST_URI"], environ["PATH_INFO"] = uri, uri.partition("?")[0]
    return name, uri.partition("?")[0]


def _answered(world: World, environ: Environ, stale: str | None) -> Answered:
    """The world's answer; with ``stale`` one as of that moment, as of a service that nothing reached since."""
    wsgi = world.wsgi
    if stale is not None:
        then = faults.moment(stale, "stale")
        wsgi = copy.copy(wsgi)
        wsgi.app = replace(wsgi.app, clock=FixedClock(then))
        query = parse_qs(environ.get("QUERY_STRING", ""))
        if wsgi.takes(environ, "as_of") and "as_of" not in query:
            # What was filed on that day may have come later.
            query["as_of"] = [(then - timedelta(days=1)).date().isoformat()]
            environ["QUERY_STRING"] = urlencode(query, doseq=True)
            environ["REQUEST_URI"] = f"{environ['PATH_INFO']}?{environ['QUERY_STRING']}"
    said: list[Any] = []
    body = b"".join(wsgi(environ, lambda status, headers: said.extend((status, headers))))
    return said[0], said[1], body


def _body(environ: Environ) -> bytes:
    """The body, put back to be read again; empty for a long one."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not 0 < length <= BODY:
        return b""
    body: bytes = environ["wsgi.input"].read(length)
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _named_in(body: bytes) -> list[str]:
    """The email and the tickers of a JSON body, or of the arguments of an MCP tool."""
    try:
        value = json.loads(body)
        value = value["params"]["arguments"] if "jsonrpc" in value else value
        given = [value.get("email"), value.get("ticker"), *(value.get("tickers") or ())]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return []
    return [one for one in given if isinstance(one, str)]


def _is_local(environ: Environ, hosts: Collection[str]) -> bool:
    """Whether a call comes from this machine's own programs and pages, as far as its headers say.

    A page could reach a fixture under its own name, by DNS that answers 127.0.0.1, or across sites with the keys that
    every fixture of a seed has, and have webhooks sent to other services here. Only browsers send Sec-Fetch-Site.
    """
    named = [environ.get("HTTP_HOST", "")]
    if environ.get("HTTP_SEC_FETCH_SITE") == "cross-site":
        origin = environ.get("HTTP_ORIGIN", "")
        if origin == "null":  # a sandboxed frame of any page
            return False
        named.append(origin.rpartition("//")[2])
    found = (re.sub(r":[0-9]*$", "", one).lower().rstrip(".") for one in named)
    return all(one in hosts or NOBODYS.fullmatch(one) for one in found)


def _cut_off(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of an answer, and an error where more of it was promised."""
    yield from pieces
    raise ConnectionResetError("a fault cuts this answer off")


def _reset_after(pieces: Iterable[bytes], reset: Callable[[], None]) -> Iterator[bytes]:
    """Yield the pieces of an answer, then reset its connection."""
    yield from pieces
    reset()


def _json(value: Any, status: str = "200 OK") -> Answered:
    body = json.dumps(value).encode()
    length = ("Content-Length", str(len(body)))
    return status, [("Content-Type", "application/json"), length, ("Cache-Control", "no-store")], body


def _sent(start_response: StartResponse, answered: Answered) -> list[bytes]:
    start_response(answered[0], answered[1])
    return [answered[2]]


class Stepper:
    """Does in the background what falls due in worlds while nobody advances them."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._woken: set[World] = set()
        self._due: dict[World, float] = {}
        self._changed = threading.Condition()
        self._beside: list[Callable[[], None]] = []

    def wake(self, world: World) -> None:
        """Look at a world now."""
        with self._changed:
            self._woken.add(world)
            self._changed.notify_all()

    def beside(self, work: Callable[[], None]) -> None:
        """Do some work in the background."""
        with self._changed:
            self._beside.append(work)
            self._changed.notify_all()

    def run(self) -> None:
        """Step until the gate closes; the body of a thread."""
        while not self._gate.closing.is_set():
            with self._changed:
                soonest = min(self._due.values(), default=time.monotonic() + 1.0)
                self._changed.wait_for(self._called, max(0.0, min(1.0, soonest - time.monotonic())))
                woken, self._woken = self._woken, set()
                beside, self._beside = self._beside, []
            for work in beside:
                work()
            now = time.monotonic()
            for world in {*woken, *(one for one, due in self._due.items() if due <= now)}:
                self._step(world, now)

    def _step(self, world: World, now: float) -> None:
        try:
            wait = world.step()
        except (ApiError, DatabaseError):
            log.exception("a world is stepped again in %g s", AGAIN_SECONDS)
            wait = AGAIN_SECONDS
        with self._changed:
            self._due.pop(world, None)
            if wait is not None and not world.closed:
                self._due[world] = now + wait

    def forget(self, world: World) -> None:
        """Look at a world no more that was ended."""
        with self._changed:
            self._due.pop(world, None)
            self._woken.discard(world)

    def _called(self) -> bool:
        return bool(self._woken or self._beside) or self._gate.closing.is_set()

    def stop(self) -> None:
        """Make :meth:`run` return."""
        self._gate.closing.set()
        with self._changed:
            self._changed.notify_all()
