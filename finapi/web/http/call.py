"""A line of the route table, and one call of it as its handler sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlencode

from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.json import dumps, pieces
from finapi.store.db import Transaction
from finapi.store.idempotency import IdempotentCall
from finapi.web.http.late import LateName
from finapi.web.http.messages import Request, Response
from finapi.web.http.params import Field, Param
from finapi.web.http.schema import Schema, schema
from finapi.web.http.tables import CSV, FORMATS, TABLES, csv_table, json_lines

if TYPE_CHECKING:
    from finapi.client.exchange import ApiAnswer, ApiRequest

# What a table says beside its rows (the API's ``meta``).
PAGING_HEADERS = {"has_more": "X-Has-More", "next_cursor": "X-Next-Cursor", "total": "X-Total-Count"}
WINDOW_HEADER = "X-Window"

# Who may call (DECISIONS 4): nobody in particular, a key (all data), a session (the account itself), or either.
Auth = Literal["none", "key", "session", "either"]
# What a 401 says to people, and to programs (RFC 9110 11.6.1).
_NEEDED = {
    "key": (
        "A valid API key is needed, in the header X-API-Key or the query parameter apiKey.",
        'ApiKey realm="finapi"',
    ),
    "session": ("A valid session token is needed, as Authorization: Bearer.", 'Bearer realm="finapi"'),
    "either": (
        "A valid session token is needed, as Authorization: Bearer, or an API key in the header X-API-Key.",
        'Bearer realm="finapi", ApiKey realm="finapi"',
    ),
}


# Where every route is described: what a 404 leads to.
DOCS = "/openapi.json"


def unauthorized(auth: Auth, request: Request) -> ApiError:
    """The 401 of a route that was given no credential, another kind, or one that is not valid."""
    message, challenge = _NEEDED[auth]
    session = "authorization" in request.headers
    key = "x-api-key" in request.headers or "apiKey" in request.query
    if (session and auth != "key") or (key and auth != "session"):
        given, why = "wrong", "The one that was sent is not known, was replaced or has ended."
    else:
        given, why = "missing", "None was sent."
        if session or key:
            why = f"{'A session token' if session else 'An API key'} was sent, which does not open this call."
    headers = {"WWW-Authenticate": challenge}
    return ApiError("UNAUTHORIZED", f"{message} {why}", details={"credential": given}, headers=headers)


API = "/api/v1"
INSIDERS = API + "/insiders"

# Two older prefixes of the insider service (DECISIONS 1). Existing clients use the second one; no document lists it.
ALIASES = ("/insider-module/api/insiders/", "/api/insiders/")

# Zones that count by caller, where one is known (DECISIONS 5); registration counts by address and email.
CALLER_ZONES = ("app", "financials", "xbrl", "insider", "sql")

# Bytes of a JSON body that is parsed (DECISIONS 1): where a credential is asked for first, and where anybody may send
# one, as parsing holds the interpreter.
AUTHENTICATED_BODY, PUBLIC_BODY = 1024 * 1024, 64 * 1024

# Bytes from which on an answer needs one of few places: of smaller ones every thread may hold one.
LARGE_ANSWER = 1 << 20

# The zones that DECISIONS 5 has a gateway answer for: their 429 carries no headers.
GATEWAY_ZONES = ("financials", "xbrl")


class FlatTable(NamedTuple):
    """Rows and the columns of their CSV."""

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]


class TablePage(NamedTuple):
    """A page of a list that is exported; ``columns`` where they are not those of the route."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    columns: Sequence[str] | None


class Deprecation(NamedTuple):
    """Since when a route is deprecated, when it stops answering (both UTC), and what to call instead.

    ``successor`` is a path of this API; None where nothing takes its place and the changelog says why.
    """

    since: datetime
    sunset: datetime
    successor: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """``Deprecation`` (RFC 9745), ``Sunset`` (RFC 8594) and ``Link`` to the changelog and the successor."""
        from email.utils import format_datetime

        links = ['</changelog>; rel="deprecation"; type="text/html"']
        if self.successor is not None:
            links.append(f'<{self.successor}>; rel="successor-version"')
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset, usegmt=True),
            "Link": ", ".join(links),
        }


# The columns that a table may fill with names (finapi.web.http.late), which a start does without.
_NAMED = ("handler", "params", "body", "tabled", "unserved", "shape", "at_once")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Route:
    """One line of the API. ``path`` holds ``{name}`` where a segment is a parameter.

    ``cost`` is in tokens; ``zone`` names the limit that binds it; ``cacheable`` says that the answer depends
    on its parameters and the market data only, so that its ETag is known before the work (DECISIONS 2);
    ``lists`` that it answers through :meth:`Call.rows` or :meth:`Call.listed`, its rows in the member ``rows_in``
    of the answer (``data.holders`` for one inside another); ``idempotent`` that it answers through
    :meth:`Call.settled`, so that it takes an ``Idempotency-Key``. ``shape`` is what its 200 body is.
    """

    method: str
    path: str
    handler: Callable[[Call], Response]
    auth: Auth
    cost: int
    zone: str | None
    summary: str
    params: tuple[Param, ...] = ()
    body: tuple[Field, ...] | None = None
    # The limit that is charged to the email in the body, beside the zone's.
    email_limit: str | None = None
    # The limit that is charged to the IPv6 /48 that the caller's address lies in.
    network_limit: str | None = None
    cacheable: bool = False
    lists: bool = False
    # Where in the answer the rows of a route that ``lists`` stand: names of members with dots between.
    rows_in: str = "data"
    # Makes a table of an answer that has no list of flat rows.
    tabled: Callable[[Mapping[str, Any]], FlatTable] | None = None
    # Documented parameters that are not served and not ignored either: without its filter a list is wrong.
    unserved: tuple[str, ...] = ()
    # The key may also stand in the body, as ``api_key``.
    key_in_body: bool = False
    # The key may also come as ``Authorization: Bearer``, which is all that some hosts send.
    key_as_bearer: bool = False
    idempotent: bool = False
    # The record of its 200 body, or its JSON Schema.
    shape: Any = None
    # Set where the route is going away; its answers say so.
    deprecated: Deprecation | None = None
    # What it answers instead of JSON, a document as it was filed for instance.
    media: tuple[str, ...] = ()
    # What it answers when all is well, and errors of its own beside those that follow from the other columns.
    answers: tuple[int, ...] = (200,)
    errors: tuple[int, ...] = ()
    # For people and not for clients: left out of the OpenAPI document.
    page: bool = False
    # Whether the answer is in memory now: it is then given in the server's loop, without a thread for it.
    at_once: Callable[[App], bool] | None = None
    # Columns whose values are names still.
    named: dict[str, LateName] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for column in _NAMED:
            if isinstance(value := getattr(self, column), LateName):
                self.named[column] = value
                object.__delattr__(self, column)

    if not TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any:
            """A column that the table names, looked up now and kept."""
            if column not in _NAMED:
                raise AttributeError(column)
            object.__setattr__(self, column, value := self.named[column].found())
            return value

    @property
    def may_be_at_once(self) -> bool:
        """Whether the answer is in memory at times."""
        return "at_once" in self.named or self.at_once is not None

    @property
    def name(self) -> str:
        """How the ledger and the log call it: ``GET /api/v1/policy``."""
        return f"{self.method} {self.path}"

    @property
    def body_limit(self) -> int:
        """Bytes of a body that it reads."""
        return PUBLIC_BODY if self.auth == "none" else AUTHENTICATED_BODY

    @property
    def tables(self) -> bool:
        """Whether it answers as CSV and NDJSON too."""
        return self.lists or "tabled" in self.named or self.tabled is not None

    @property
    def cross_origin(self) -> bool:
        """Whether scripts of any origin may read the answer: a key is no cookie, and what is public is public."""
        return self.auth in ("key", "either") or (self.auth == "none" and self.method == "GET" and not self.page)

    @property
    def tells_cost(self) -> bool:
        """Whether it says what it cost: data do, free ones too."""
        return self.auth == "key"

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of the route, its own first."""
        prefix = INSIDERS + "/"
        aliases = ALIASES if self.path.startswith(prefix) else ()
        return (self.path, *(other + self.path.removeprefix(prefix) for other in aliases))

    @property
    def schema(self) -> Schema:
        """The JSON Schema of its 200 body."""
        assert self.shape is not None, self.name
        return self.shape if isinstance(self.shape, dict) else schema(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """The members of a row of a route that ``lists``: the whole answer, or a list inside of it."""
        rows = self.schema
        if rows["type"] != "array":
            for member in self.rows_in.split("."):
                rows = rows["properties"][member]
        return tuple(rows["items"]["properties"])

    def without_default_windows(self) -> Route:
        """The same with no window but what is given."""
        if not any(one.window for one in self.params):
            return self
        params = tuple(replace(one, default=None) if one.window else one for one in self.params)
        return replace(self, params=params)

    def table_of(self, answer: Any) -> FlatTable:
        """What an answer of a route with ``tables`` is as a table."""
        return FlatTable(self.columns, self.rows_of(answer)) if self.tabled is None else self.tabled(answer)

    def rows_of(self, answer: Any) -> Any:
        """The rows of an answer of a route that ``lists``."""
        if isinstance(answer, Mapping):
            for member in self.rows_in.split("."):
                answer = answer[member]
        return answer


def table_kind(request: Request) -> str | None:
    """The media type of the table that a request asks for, by ``format`` rather than ``Accept``; None for JSON."""
    given = request.query.get("format", [""])[-1].lower()
    return FORMATS[given] if given in FORMATS else request.preferred(TABLES)


def own_end(request_id: str, now: datetime) -> bytes:
    """What an envelope ends with that is each call's own."""
    return f',"request_id":"{request_id}","timestamp":"{iso(now)}"}}'.encode()


def limiter(zone: str, caller: Caller | None) -> str:
    """The limiter of a zone: the insider service has one for paid plans (DECISIONS 5)."""
    paid = zone == "insider" and caller is not None and caller.plan not in (None, "free")
    return "insider_paid" if paid else zone


def operation_id(route: Route, path: str | None = None) -> str:
    """What the call of a route is named in the OpenAPI document."""
    return re.sub(r"\W+", "_", f"{route.method.lower()}{(path or route.path).removeprefix(API)}").strip("_")


class Call(NamedTuple):
    """What a handler receives: the parts it may touch, who calls, when, and the parameters as values."""

    app: App
    route: Route
    request: Request
    request_id: str
    now: datetime
    caller: Caller | None
    params: Mapping[str, Any]
    body: Mapping[str, Any]
    # What is to be given back when the answer has been handed to its connection.
    held: list[Callable[[], None]]
    # Gives the route table, for answers about the API itself.
    route_table: Callable[[], Sequence[Route]] = tuple
    # Set if the call carries an Idempotency-Key: its response is stored with its work.
    idempotent_call: IdempotentCall | None = None
    # Makes another call of the API as this caller: through its key, limits, ledger and ETag.
    ask: Callable[[ApiRequest], ApiAnswer] | None = None
    # Where an export takes the rows from, instead of an answer.
    taken: list[TablePage] | None = None

    @property
    def routes(self) -> Sequence[Route]:
        """The route table as it is served."""
        return self.route_table()

    @property
    def table_kind(self) -> str | None:
        """The table that is asked for by ``format`` or ``Accept``, or None for JSON."""
        return table_kind(self.request)

    @property
    def user_id(self) -> int:
        """Who calls, on a route that asks for a credential."""
        assert self.caller is not None
        return self.caller.id

    def limiter(self, zone: str) -> str:
        """The limiter that this caller meets in ``zone``."""
        return limiter(zone, self.caller)

    def envelope(self, data: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
        """What a data endpoint answers (DECISIONS 2)."""
        return {
            "status": "success",
            "data": data,
            "meta": meta,
            "request_id": self.request_id,
            "timestamp": iso(self.now),
        }

    def success(self, data: Any, meta: Mapping[str, Any]) -> Response:
        """The envelope as a response; of a route that makes tables of its answers, as the caller wants it."""
        # What makes tables is looked up for who wants one.
        kind = self.table_kind if self.route.tables else None
        if kind is not None and (tabled := self.route.tabled) is not None:
            columns, rows = tabled({"data": data, "meta": meta})
            return self.as_table(kind, columns, rows, meta)
        begun = dumps({"status": "success", "data": data, "meta": meta})
        return Response(200, begun[:-1], end=self.own_end)

    def written(
        self, data: Mapping[str, Any], meta: Callable[[], Mapping[str, Any]], less: Callable[[str], ApiError]
    ) -> Response:
        """The envelope of ``data`` with iterators inside, of which one item at a time is in memory beside the answer.

        ``meta`` is asked for afterwards. An answer above the bound is refused by what ``less`` makes of that bound,
        and takes no more memory than it.
        """
        body = self.bounded(chain((b'{"status":"success","data":',), pieces(data)), less)
        body += b',"meta":' + dumps(meta())
        return Response(200, bytes(body), end=self.own_end)

    def bounded(self, parts: Iterable[bytes], less: Callable[[str], ApiError]) -> bytearray:
        """The parts of an answer joined, unless they are above the bound; ``less`` makes the refusal of it."""
        most = self.app.config.answer_limit
        body = bytearray()
        for part in parts:
            body += part
            if len(body) > LARGE_ANSWER:
                self.hold_large()
            if len(body) > most:
                raise less(f"{most:,} bytes")
        return body

    def hold_large(self) -> None:
        """Wait for one of the places of large answers, unless this call has one; UNAVAILABLE (503) without.

        It is given back when the answer has left memory for its connection.
        """
        if not self.held:
            places, key = self.app.large, ("user", self.user_id)
            places.take(key)
            self.held.append(lambda: places.give_back(key))

    @property
    def own_end(self) -> bytes:
        """The end of an envelope, which no other call has."""
        return own_end(self.request_id, self.now)

    def rows(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response:
        """A list as the caller's ``Accept`` asks: the envelope, or the bare rows as CSV or NDJSON.

        The columns of a CSV are the members of a row by the route's ``shape``. The paging members of ``meta``,
        for which a table has no room, go into headers.
        """
        return self.table(rows, meta) or self.success(list(rows), meta)

    def bare(self, rows: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response:
        """Return a list as the complete body, as existing clients expect of some routes. ``meta`` goes into headers."""
        return self.table(rows, meta) or Response(200, dumps(rows), headers=self.beside(meta))

    def table(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response | None:
        """The rows as CSV or NDJSON, or None when neither is asked for."""
        kind = self.table_kind
        return None if kind is None else self.as_table(kind, None, rows, meta)

    def as_table(
        self, kind: str, columns: Sequence[str] | None, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]
    ) -> Response:
        """The rows as a table of this kind, in columns of their own or the route's."""
        if self.taken is not None:
            self.taken.append(TablePage(list(rows), meta, columns))
            return Response(200, b"")
        body = csv_table(columns or self.route.columns, rows) if kind == CSV else json_lines(rows)
        return Response(200, body, f"{kind}; charset=utf-8", self.beside(meta))

    def beside(self, meta: Mapping[str, Any]) -> dict[str, str]:
        """The paging and the windows of ``meta`` as headers, and that names were cut."""
        paging = meta.get("pagination", meta)
        headers = {
            header: str(paging[name]).lower() if isinstance(paging[name], bool) else str(paging[name])
            for name, header in PAGING_HEADERS.items()
            if paging.get(name) is not None
        }
        windows = [*(one.name for one in self.route.params if one.window), "undated_left_out"]
        said = [f"{name}={meta[name]}" for name in windows if meta.get(name) is not None]
        said += ["matches_cut=true"] if meta.get("matches_cut") else []
        return {**headers, WINDOW_HEADER: ", ".join(said)} if said else headers

    def windows(self, undated: int = 0) -> dict[str, Any]:
        """The windows that a list is narrowed to by their names, for its meta (DECISIONS 2): what applies, given or by
        default, what was given where that is another, and how many rows they leave out for lack of a date."""
        used = {one.name: self.params[one.name] for one in self.route.params if one.window}
        return {**used, "undated_left_out": undated, "clamped": self.params["clamped"]}

    def listed(self, members: Mapping[str, Any], paging: Mapping[str, Any]) -> Response:
        """An answer whose members stand beside its status, or as ``Accept`` asks only the rows among them."""
        if self.route.lists:
            table = self.table(self.route.rows_of(members), paging)
            if table is not None:
                return table
        return Response(200, dumps({"status": "success", **members})[:-1], end=self.own_end)

    def settled(self, tx: Transaction, answer: Mapping[str, Any]) -> Response:
        """Return ``answer`` as the response, stored for repeats with the same ``Idempotency-Key``.

        Pass this to the function that opens the transaction and does the work. It is called there, last.
        """
        response = Response(200, dumps(answer))
        if self.idempotent_call is not None:
            self.idempotent_call.store_response(tx, response.body, self.now)
        return response

    def plain(self, answer: Mapping[str, Any]) -> Response:
        """A bare object, as auth, user and account endpoints answer."""
        return Response(200, dumps(answer))

    def redirect(self, page: str, **query: str) -> Response:
        """302 to a page of the frontend: the configured one, never an address that the caller named."""
        base = self.app.config.frontend_url or self.app.config.public_url
        target = f"{base}{page}" + (f"?{urlencode(query)}" if query else "")
        return Response(302, b"", headers={"Location": target, "Referrer-Policy": "no-referrer"})
