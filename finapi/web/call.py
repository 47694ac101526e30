"""A line of the route table, and one call of it as its handler sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from finapi.accounts import Caller
from finapi.app import App
from finapi.clock import iso
from finapi.db import Transaction
from finapi.errors import ApiError
from finapi.idempotency import Once
from finapi.web.deprecation import Deprecation
from finapi.web.http import Request, Response, dumps
from finapi.web.params import Field, Param
from finapi.web.shapes import Schema
from finapi.web.tables import CSV, TABLES, csv_table, json_lines

# What a table says beside its rows (wire.json's meta).
PAGING_HEADERS = {"has_more": "X-Has-More", "next_cursor": "X-Next-Cursor", "total": "X-Total-Count"}

# Who may call (CONTRACT 4): nobody in particular, a key (all data), a session (the account itself), or either.
Auth = Literal["none", "key", "session", "either"]
# What a 401 says to people, and to programs (RFC 9110 11.6.1).
_NEEDED = {
    "key": (
        "A valid API key is needed, in the header X-API-Key or the query parameter apiKey.",
        'ApiKey realm="finapi"',
    ),
    "session": (
        "A valid session token is needed, as Authorization: Bearer.",
        'Bearer realm="finapi"',
    ),
    "either": (
        "A valid session token is needed, as Authorization: Bearer, or an API key in the header X-API-Key.",
        'Bearer realm="finapi", ApiKey realm="finapi"',
    ),
}


def unauthorized(auth: Auth) -> ApiError:
    """The 401 of a route that wants what it was not given."""
    message, challenge = _NEEDED[auth]
    return ApiError("UNAUTHORIZED", message, headers={"WWW-Authenticate": challenge})


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the API. ``path`` holds ``{name}`` where a segment is a parameter.

    ``cost`` is in tokens; ``zone`` names the limit that binds it; ``cacheable`` says that the answer depends
    on its parameters and the market data only, so that its ETag is known before the work (CONTRACT 2);
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
    cacheable: bool = False
    lists: bool = False
    # Where in the answer the rows of a route that ``lists`` stand: names of members with dots between.
    rows_in: str = "data"
    # Parameters of ``wire.json`` that are not served and not ignored either: without its filter a list is wrong.
    unserved: tuple[str, ...] = ()
    # The key may also stand in the body, as ``api_key`` (wire.json).
    key_in_body: bool = False
    idempotent: bool = False
    shape: Schema | None = None
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

    @property
    def name(self) -> str:
        """How the ledger and the log call it: ``GET /api/v1/policy``."""
        return f"{self.method} {self.path}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The members of a row of a route that ``lists``: the whole answer, or a list inside of it."""
        rows = self.shape
        assert rows is not None
        if rows["type"] != "array":
            for member in self.rows_in.split("."):
                rows = rows["properties"][member]
        return tuple(rows["items"]["properties"])


def limiter(zone: str, caller: Caller | None) -> str:
    """The limiter of a zone: the insider service has one for paid plans (SPEC "Limits")."""
    paid = zone == "insider" and caller is not None and caller.plan not in (None, "free")
    return "insider_paid" if paid else zone


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler receives: the parts it may touch, who calls, when, and the parameters as values."""

    app: App
    route: Route
    request: Request
    request_id: str
    now: datetime
    caller: Caller | None
    params: Mapping[str, Any]
    body: Mapping[str, Any]
    once: Once | None = None

    @property
    def user_id(self) -> int:
        """Who calls, on a route that asks for a credential."""
        assert self.caller is not None
        return self.caller.id

    def limiter(self, zone: str) -> str:
        """The limiter that this caller meets in ``zone``."""
        return limiter(zone, self.caller)

    def envelope(self, data: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
        """What a data endpoint answers (CONTRACT 2)."""
        return {
            "status": "success",
            "data": data,
            "meta": meta,
            "request_id": self.request_id,
            "timestamp": iso(self.now),
        }

    def success(self, data: Any, meta: Mapping[str, Any]) -> Response:
        """The envelope as a response."""
        begun = dumps({"status": "success", "data": data, "meta": meta})
        return Response(200, begun[:-1], end=self.own_end)

    @property
    def own_end(self) -> bytes:
        """The end of an envelope, which no other call has."""
        return f',"request_id":"{self.request_id}","timestamp":"{iso(self.now)}"}}'.encode()

    def rows(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response:
        """A list as the caller's ``Accept`` asks: the envelope, or the bare rows as CSV or NDJSON.

        The columns of a CSV are the members of a row by the route's ``shape``. The paging members of ``meta``,
        for which a table has no room, go into headers.
        """
        return self.table(rows, meta) or self.success(list(rows), meta)

    def bare(self, rows: Sequence[Mapping[str, Any]], meta: Mapping[str, Any] | None = None) -> Response:
        """A list as the whole body, as some answers of ``wire.json`` are; tables as :meth:`rows` has them."""
        return self.table(rows, meta or {}) or Response(200, dumps(rows))

    def table(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response | None:
        """The rows as CSV or NDJSON, or None when ``Accept`` asks for neither."""
        kind = self.request.preferred(TABLES)
        if kind is None:
            return None
        paging = meta.get("pagination", meta)
        headers = {
            header: str(paging[name]).lower() if isinstance(paging[name], bool) else str(paging[name])
            for name, header in PAGING_HEADERS.items()
            if paging.get(name) is not None
        }
        body = csv_table(self.route.columns, rows) if kind == CSV else json_lines(rows)
        return Response(200, body, f"{kind}; charset=utf-8", headers)

    def listed(self, members: Mapping[str, Any], paging: Mapping[str, Any]) -> Response:
        """An answer whose members stand beside its status, or as ``Accept`` asks only the rows among them."""
        if self.route.lists:
            rows: Any = members
            for member in self.route.rows_in.split("."):
                rows = rows[member]
            table = self.table(rows, paging)
            if table is not None:
                return table
        return Response(200, dumps({"status": "success", **members})[:-1], end=self.own_end)

    def settled(self, tx: Transaction, answer: Mapping[str, Any]) -> Response:
        """``answer``, kept in the transaction that did the work: the same ``Idempotency-Key`` gets it again.

        Passed to the function that opens that transaction, which calls it last.
        """
        response = Response(200, dumps(answer))
        if self.once is not None:
            self.once.keep(tx, response.body, self.now)
        return response

    def plain(self, answer: Mapping[str, Any]) -> Response:
        """A bare object, as auth, user and account endpoints answer."""
        return Response(200, dumps(answer))

    def redirect(self, page: str, **query: str) -> Response:
        """302 to a page of the frontend: the configured one, never an address that the caller named."""
        base = self.app.config.frontend_url or self.app.config.public_url
        target = f"{base}{page}" + (f"?{urlencode(query)}" if query else "")
        return Response(302, b"", headers={"Location": target, "Referrer-Policy": "no-referrer"})
