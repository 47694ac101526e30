"""A call while it runs, and calls whose answers are in memory: those are found without any work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Any, NamedTuple

from finapi.accounts import billing
from finapi.accounts.credentials import fingerprint
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.limits import Decision
from finapi.web import exports
from finapi.web.http.call import LARGE_ANSWER, Route, table_kind
from finapi.web.http.messages import (
    GZIP_FROM,
    Request,
    Response,
    caller_request_id,
    coded_etag,
    held_etag,
    key_of,
    plain_get,
)
from finapi.web.questions import Questions, tag_of, tagged
from finapi.web.router import Router

# Bytes of a free answer that is given in the loop: so many may wait there for a reader who does not read.
FREE_ANSWER = 65_536

# Requests that are remembered as they were read, and the characters of the longest.
KNOWN_QUESTIONS, KNOWN_WORDS = 512, 2_048

# Headers of an answer that another call with the same words does not have.
OWN_HEADERS = frozenset(
    {"X-Request-ID", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Content-Length"}
)

Headers = list[tuple[str, str]]

UNKNOWN: Any = object()  # whether a key is anybody's


@dataclass(slots=True, eq=False, repr=False)
class Exchange:
    """What becomes known of a call while it runs, for its headers and its line in the log."""

    request_id: str
    started: float
    held: list[Callable[[], None]] = field(default_factory=list)
    stream: exports.TableExport | None = None
    request: Request | None = None
    route: Route | None = None
    caller: Caller | None = None
    decision: Decision | None = None
    tag: str | None = None
    charged: int = 0
    code: str | None = None
    # Of a call that is answered from memory.
    asked: Recognised | None = None
    # Who answers: the application, or the server in its place when the call has overrun its time.
    answering: dict[str, str] = field(default_factory=dict)

    def is_for(self, who: str) -> bool:
        """Whether the answer is this one's to give: that of the first who asks, of whichever thread."""
        return self.answering.setdefault("by", who) == who


class HeldBody:
    """A body whose memory is counted until it has been handed to its connection, or never will be."""

    def __init__(self, body: bytes, held: list[Callable[[], None]]) -> None:
        self._body = body
        self._held = held

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        # Test clients that read to the end do not always call close().
        self.close()

    def close(self) -> None:
        """Give back what was held; a server calls it whatever became of the answer (PEP 3333)."""
        self._body = b""
        while self._held:
            self._held.pop()()


@dataclass(slots=True, eq=False, repr=False)
class KeptCall:
    """A billed call whose answer is kept: it waits for its debit with others, and for nothing else.

    ``debit`` is what it is to be charged, ``taken`` that of the transaction when there was one.
    """

    exchange: Exchange
    request: Request
    kept: Response
    now: datetime
    debit: dict[str, Any]
    ends: Callable[[Exchange, int], tuple[list[tuple[str, str]], bytes] | None]
    taken: billing.Debit | None = None
    deadline: float = inf

    def asked(self) -> Request:
        """The request."""
        return self.request

    def give_up(self, status: int) -> tuple[list[tuple[str, str]], bytes] | None:
        """Headers and body of the 504, or of the 503 of a stop; None when the answer is on its way."""
        return self.ends(self.exchange, status)


@dataclass(slots=True, eq=False, repr=False)
class Recognised:
    """What is known of a GET of data before anything of them is: the same whenever it comes in the same words.

    ``mark`` is the fingerprint of its key, if it has one; ``text`` what its tag is made of beside the data, None where
    a thread has to answer. ``tag`` is the last of its tags, behind the stamp of the data that it is of. ``told`` is the
    tag of the kept answer that it had last, with those headers that were not that call's own.
    """

    request: Request
    route: Route
    mark: bytes | None
    text: str | None
    table: bool
    tag: tuple[str, str] = ("", "")
    told: tuple[str | None, Headers] = (None, [])

    def remembering(self, tag: str | None, answered: tuple[str, Headers, bytes]) -> tuple[str, Headers, bytes]:
        """What a call was answered, noted."""
        self.told = tag, [one for one in answered[1] if one[0] not in OWN_HEADERS]
        return answered

    def headers_like(self, told: Headers, exchange: Exchange, length: int, now: datetime) -> Headers:
        """The headers of another answer like one that was ``told``, whose body has so many bytes."""
        said = caller_request_id(self.request) or exchange.request_id
        limits = () if exchange.decision is None else exchange.decision.headers(now).items()
        return [("X-Request-ID", said), *told, ("Content-Length", str(length)), *limits]


class InMemory(NamedTuple):
    """A call that is answered from memory: with a 401 when there is no caller."""

    route: Route
    caller: Caller | None = None
    tag: str | None = None
    kept: Response | None = None


class Recogniser:
    """What GETs ask of data, remembered by their words; for one thread."""

    def __init__(self, router: Router, questions: Questions) -> None:
        self._router, self._questions = router, questions
        self.known: dict[tuple[Any, ...], Recognised | None] = {}

    def recognised(
        self, target: str, headers: Mapping[str, str], peer: str, trusted_proxies: tuple[str, ...]
    ) -> Recognised | None:
        """What a GET asks of data; None when it asks for something else. ``headers`` are named ``USER_AGENT``."""
        words = target, peer, *headers.items()
        asked = self.known.get(words, UNKNOWN)
        if asked is not UNKNOWN:
            return asked  # type: ignore[no-any-return]
        asked = self._recognise(plain_get(target, headers, peer, trusted_proxies))
        if sum(len(name) + len(value) for name, value in headers.items()) + len(target) <= KNOWN_WORDS:
            if len(self.known) >= KNOWN_QUESTIONS:
                self.known.clear()
            self.known[words] = asked
        return asked

    def _recognise(self, request: Request) -> Recognised | None:
        match = None if request.wrong else self._router.match(request.segments)
        route = match.by_method.get("GET") if match else None
        if match is None or route is None or route.auth != "key" or "text/html" in request.headers.get("accept", ""):
            return None
        key, text = key_of(request, bearer=route.key_as_bearer), None
        if route.cacheable and "content-encoding" not in request.headers:
            question, wrong = self._questions.read(route, match.path_params, request)
            text = None if wrong else tagged(route, question, request)
        table = route.tables and table_kind(request) is not None
        return Recognised(request, route, fingerprint(key) if key else None, text, table)


def find(app: App, asked: Recognised, now: datetime) -> InMemory | None:
    """What answers a request out of memory: the answer that is kept, or a 304; None when a thread has to find it."""
    route, request = asked.route, asked.request
    caller = None if asked.mark is None else _kept_caller(app, asked.mark)
    if caller is None:
        return InMemory(route)
    if caller is UNKNOWN or asked.text is None or (caller.period_end is not None and caller.period_end <= iso(now)):
        return None
    stamp = caller.data_stamp
    if asked.tag[0] != stamp:
        asked.tag = stamp, tag_of(stamp, asked.text)
    tag = asked.tag[1]
    held = held_etag(request.headers.get("if-none-match", ""), tag)
    if held is not None:
        return InMemory(route, caller, tag, not_modified(route, held))
    kept = None if asked.table else _kept_answer(app, route, stamp, tag, packed=request.wants_gzip)
    if kept is not None and wants_none(request):
        return InMemory(route, caller, tag, none_given(kept, request, tag))
    return None if kept is None else InMemory(route, caller, tag, kept)


def not_modified(route: Route, held: str) -> Response:
    """The 304 for a caller that holds the answer with this ``ETag``."""
    return Response(304, b"", headers={"ETag": held, "Vary": vary(route)})


def wants_none(request: Request) -> bool:
    """Whether the caller wants an answer only where there is none (RFC 9110 13.1.2)."""
    return request.headers.get("if-none-match", "").strip() == "*"


def none_given(response: Response, request: Request, tag: str | None) -> Response:
    """The 304 in place of an answer that has an ``ETag``, its own or of its question's ``tag``; else the answer."""
    headers = {name: told for name, told in response.headers.items() if name in ("ETag", "Cache-Control", "Vary")}
    if tag is not None:
        long = response.stream is not None or len(response.body) + len(response.end) > GZIP_FROM
        gzipped = request.wants_gzip and long
        headers["ETag"] = coded_etag(tag, gzipped=gzipped)
    if response.status != 200 or "ETag" not in headers:
        return response
    if response.stream is not None:
        response.stream.close()
    return replace(response, status=304, body=b"", headers=headers, end=b"", stream=None, kept=None)


def vary(route: Route | None) -> str:
    """The headers of a request that its answer depends on."""
    return "Accept, Accept-Encoding" if route is not None and route.tables else "Accept-Encoding"


def _kept_caller(app: App, mark: bytes) -> Any:
    """Who calls with a key of this fingerprint, None for nobody, as it was looked up before; else UNKNOWN."""
    written = app.written
    caller = app.callers.kept(written, mark, UNKNOWN)
    return None if caller is UNKNOWN and app.nobody.kept(written, mark, False) else caller


def _kept_answer(app: App, route: Route, stamp: str, tag: str, *, packed: bool) -> Response | None:
    """The answer to a question if it is kept as it is sent, and its debit, if it costs, may share a transaction."""
    # Accounts elsewhere put the debits of many threads together by themselves.
    if route.cost and app.accounts is not app.db:
        return None
    kept: Response | None = app.answers.kept(stamp, tag, None)
    if kept is None or len(kept.body) > (LARGE_ANSWER if route.cost else FREE_ANSWER):
        return None
    ready = not packed or len(kept.body) <= GZIP_FROM or app.answers.kept(stamp, ("gzip", tag), None) is not None
    return kept if ready else None


def ended(kept: Response, end: bytes) -> Response:
    """A kept answer with the end of a call, if it has such an end."""
    return Response(kept.status, kept.body, kept.content_type, dict(kept.headers), end if kept.end else b"", kept=kept)


def unknown() -> ApiError:
    """The 500 of a call that failed in a way that nobody foresaw."""
    return ApiError("INTERNAL", "Internal error; it has been logged.")


def overrun() -> ApiError:
    """The 504 of a call that took too long."""
    return ApiError("TIMEOUT", "The call exceeded the server's time limit.")


def without_length(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers for a server that adds the length."""
    return [(name, value) for name, value in headers if name != "Content-Length"]
