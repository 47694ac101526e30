"""One call, as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.json import dumps, iter_chunks
from finapi.store.db import Transaction
from finapi.store.idempotency import IdempotentCall
from finapi.web.http.messages import Request, Response
from finapi.web.http.route import Auth, Route
from finapi.web.http.tables import CSV, FORMATS, TABLES, csv_table, json_lines

if TYPE_CHECKING:
    from finapi.client.exchange import ApiAnswer, ApiRequest

# What a table says beside its rows (the API's ``meta``).
PAGING_HEADERS = {"has_more": "X-Has-More", "next_cursor": "X-Next-Cursor", "total": "X-Total-Count"}
WINDOW_HEADER = "X-Window"

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


# Bytes from which on an answer needs one of few places: of smaller ones every thread may hold one.
LARGE_ANSWER = 1 << 20


class TablePage(NamedTuple):
    """A page of a list that is exported; ``columns`` where they are not those of the route."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    columns: Sequence[str] | None


def table_kind(request: Request) -> str | None:
    """The media type of the table that a request asks for, by ``format`` rather than ``Accept``; None for JSON."""
    given = request.query.get("format", [""])[-1].lower()
    return FORMATS[given] if given in FORMATS else request.preferred(TABLES)


def envelope_suffix(request_id: str, now: datetime) -> bytes:
    """What an envelope ends with that is each call's own."""
    return f',"request_id":"{request_id}","timestamp":"{iso(now)}"}}'.encode()


def limiter(zone: str, caller: Caller | None) -> str:
    """The limiter of a zone: the insider service has one for paid plans (DECISIONS 5)."""
    paid = zone == "insider" and caller is not None and caller.plan not in (None, "free")
    return "insider_paid" if paid else zone


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
    release_callbacks: list[Callable[[], None]]
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
        return Response(200, begun[:-1], end=self.envelope_suffix)

    def written(
        self, data: Mapping[str, Any], meta: Callable[[], Mapping[str, Any]], less: Callable[[str], ApiError]
    ) -> Response:
        """The envelope of ``data`` with iterators inside, of which one item at a time is in memory beside the answer.

        ``meta`` is asked for afterwards. An answer above the bound is refused by what ``less`` makes of that bound,
        and takes no more memory than it.
        """
        body = self.bounded(chain((b'{"status":"success","data":',), iter_chunks(data)), less)
        body += b',"meta":' + dumps(meta())
        return Response(200, bytes(body), end=self.envelope_suffix)

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
        """Wait for one of the places of large answers, unless this call has one. Raise UNAVAILABLE if none is free.

        The place is released when the answer has left memory for its connection, or has to wait for its client.
        """
        if not self.release_callbacks:
            places = self.app.large_answer_queue
            owners = (("user", self.user_id), ("address", self.request.address))
            places.acquire(*owners)
            self.release_callbacks.append(lambda: places.release(*owners))

    def release_large(self) -> None:
        """Release the place of large answers that this call has, if it has one."""
        while self.release_callbacks:
            self.release_callbacks.pop()()

    @property
    def envelope_suffix(self) -> bytes:
        """The end of an envelope, which no other call has."""
        return envelope_suffix(self.request_id, self.now)

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
        return Response(200, dumps({"status": "success", **members})[:-1], end=self.envelope_suffix)

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
