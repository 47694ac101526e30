"""The argument of every handler (:class:`Call`), with methods that build its responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core import days
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.json import dumps, iter_chunks
from finapi.store.db import Transaction
from finapi.store.idempotency import IdempotentCall
from finapi.web.http.messages import Request, Response
from finapi.web.http.route import Auth, Route
from finapi.web.http.tables import CSV, MEDIA_TYPE_BY_FORMAT, TABLE_MEDIA_TYPES, render_csv, render_ndjson

if TYPE_CHECKING:
    from finapi.client.exchange import ApiAnswer, ApiRequest

# Members of ``meta`` that a table cannot contain, and the response headers that contain them instead.
PAGING_HEADERS = {"has_more": "X-Has-More", "next_cursor": "X-Next-Cursor", "total": "X-Total-Count"}
WINDOW_HEADER = "X-Window"
EMPTY_REASON_HEADER = "X-Empty-Reason"
_PRINTABLE_ASCII = "".join(map(chr, range(ord(" "), ord("~") + 1)))

# The message and the challenge (RFC 9110, 11.6.1) of a 401, by the credential that the route accepts.
_CHALLENGES = {
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

# The description of every route, which a 404 refers to.
OPENAPI_PATH = "/openapi.json"


def unauthorized(auth: Auth, request: Request) -> ApiError:
    """Return the 401 for a request without a credential, or with one of the wrong kind or that is not valid."""
    message, challenge = _CHALLENGES[auth]
    has_session = "authorization" in request.headers
    has_key = "x-api-key" in request.headers or "apiKey" in request.query
    if (has_session and auth != "key") or (has_key and auth != "session"):
        credential, reason = "wrong", "The one that was sent is not known, was replaced or has ended."
    else:
        credential, reason = "missing", "None was sent."
        if has_session or has_key:
            kind = "A session token" if has_session else "An API key"
            reason = f"{kind} was sent, which does not open this call."
    headers = {"WWW-Authenticate": challenge}
    return ApiError("UNAUTHORIZED", f"{message} {reason}", details={"credential": credential}, headers=headers)


# Larger answers need one of a few slots. The memory of smaller ones, one in each thread, is acceptable.
MIN_LARGE_ANSWER_BYTES = 1 << 20


class TablePage(NamedTuple):
    """A page of a list that is exported. ``columns`` is None for the columns of the route."""

    rows: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    columns: Sequence[str] | None


def requested_table_type(request: Request) -> str | None:
    """Return the media type of the requested table, or None for JSON. ``format`` takes precedence over ``Accept``."""
    format_name = request.query.get("format", [""])[-1].lower()
    return (
        MEDIA_TYPE_BY_FORMAT[format_name]
        if format_name in MEDIA_TYPE_BY_FORMAT
        else request.find_preferred_type(TABLE_MEDIA_TYPES)
    )


def envelope_suffix(request_id: str, now: datetime) -> bytes:
    """Return the end of an envelope, which differs between calls even if the answer is cached."""
    return f',"request_id":"{request_id}","timestamp":"{iso(now)}"}}'.encode()


def limiter_name(zone: str, caller: Caller | None) -> str:
    """Return the name of a zone's limiter. The insider service has one for paid plans (DECISIONS 5)."""
    is_paid = zone == "insider" and caller is not None and caller.plan not in (None, "free")
    return "insider_paid" if is_paid else zone


class Call(NamedTuple):
    """The argument of a handler: the app, the caller, the time, and the parsed parameters of a call."""

    app: App
    route: Route
    request: Request
    request_id: str
    now: datetime
    caller: Caller | None
    params: Mapping[str, Any]
    body: Mapping[str, Any]
    # Functions to call when the answer has been handed to its connection.
    release_callbacks: list[Callable[[], None]]
    # The time of the call if it is about a past day (``as_of``): ``now`` is then the end of that day.
    answered_at: datetime | None = None
    # Unknown names of the request, which the answer reports.
    ignored_names: tuple[str, ...] = ()
    # Returns the route table, for answers about the API itself.
    route_table: Callable[[], Sequence[Route]] = tuple
    # Set if the call carries an Idempotency-Key: its response is stored with its work.
    idempotent_call: IdempotentCall | None = None
    # Makes another API call on behalf of this caller, with its own limit, charge and ETag.
    call_api: Callable[[ApiRequest], ApiAnswer] | None = None
    # Set by an export: tables are appended here instead of being rendered.
    exported_pages: list[TablePage] | None = None

    @property
    def request_time(self) -> datetime:
        """Return the time of the request, for stamps."""
        return self.answered_at or self.now

    def as_of(self, day: str) -> Call:
        """Return the call as if it were made at the end of a day, about what was known then."""
        end_of_day = datetime.combine(days.parse(day), time(23, 59, 59), self.now.tzinfo)
        return self._replace(app=self.app.as_of(day), now=min(self.now, end_of_day), answered_at=self.now)

    @property
    def routes(self) -> Sequence[Route]:
        """Return the routes with the costs and default windows that the operator has set."""
        return self.route_table()

    @property
    def requested_table_type(self) -> str | None:
        """Return the media type of the requested table, or None for JSON."""
        return requested_table_type(self.request)

    @property
    def user_id(self) -> int:
        """Return the id of the caller, on a route that requires a credential."""
        assert self.caller is not None
        return self.caller.id

    def limiter_name(self, zone: str) -> str:
        """Return the name of the limiter that counts this caller in ``zone``."""
        return limiter_name(zone, self.caller)

    def build_envelope(self, data: Any, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a data endpoint (DECISIONS 2)."""
        return {
            "status": "success",
            "data": data,
            "meta": self._complete_meta(meta),
            "request_id": self.request_id,
            "timestamp": iso(self.request_time),
        }

    def _complete_meta(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metadata with the unknown names that were ignored, if there are any."""
        return {**meta, "ignored": self.ignored_names} if self.ignored_names else meta

    def success(self, data: Any, meta: Mapping[str, Any]) -> Response:
        """Return the envelope as a response, or as a table if the caller requested one and the route supports it."""
        # ``tabled`` is only loaded if a table is requested.
        kind = self.requested_table_type if self.route.tables else None
        if kind is not None and (tabled := self.route.tabled) is not None:
            columns, rows = tabled({"data": data, "meta": meta})
            return self.render_table(kind, columns, rows, meta)
        envelope = dumps({"status": "success", "data": data, "meta": self._complete_meta(meta)})
        return Response(200, envelope[:-1], suffix=self.envelope_suffix)

    def success_bounded(
        self, data: Mapping[str, Any], meta: Callable[[], Mapping[str, Any]], build_error: Callable[[str], ApiError]
    ) -> Response:
        """Return the envelope of ``data`` that contains iterators. Only one of their items is in memory at a time.

        ``meta`` is called after the data have been written. Raise the error that ``build_error`` returns for a size
        (``8,000,000 bytes``) if the answer exceeds the maximum size.
        """
        body = self.join_bounded(chain((b'{"status":"success","data":',), iter_chunks(data)), build_error)
        body += b',"meta":' + dumps(self._complete_meta(meta()))
        return Response(200, bytes(body), suffix=self.envelope_suffix)

    def join_bounded(self, parts: Iterable[bytes], build_error: Callable[[str], ApiError]) -> bytearray:
        """Return the joined parts of an answer. Raise the error of ``build_error`` if they exceed the maximum size."""
        max_bytes = self.app.config.answer_limit
        body = bytearray()
        for part in parts:
            body += part
            if len(body) > MIN_LARGE_ANSWER_BYTES:
                self.acquire_large_slot()
            if len(body) > max_bytes:
                raise build_error(f"{max_bytes:,} bytes")
        return body

    def acquire_large_slot(self) -> None:
        """Wait for one of the slots of large answers, unless this call has one. Raise UNAVAILABLE if none is free.

        The slot is released when the connection has sent the answer, or has moved it to a file because the client reads
        slowly.
        """
        if not self.release_callbacks:
            slots = self.app.large_answer_queue
            # A visitor of a public page has no account.
            users = () if self.caller is None else (("user", self.caller.id),)
            owners = (*users, ("address", self.request.address))
            slots.acquire(*owners)
            self.release_callbacks.append(lambda: slots.release(*owners))

    def release_large_slot(self) -> None:
        """Release this call's slot of large answers, if it has one."""
        while self.release_callbacks:
            self.release_callbacks.pop()()

    @property
    def envelope_suffix(self) -> bytes:
        """Return the end of the envelope, with the id and the time of this call."""
        return envelope_suffix(self.request_id, self.request_time)

    def success_rows(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response:
        """Return a list as the caller's ``Accept`` says: the envelope, or only the rows as CSV or NDJSON.

        The columns of a CSV are the members of a row by the route's ``shape``. The paging members of ``meta`` and the
        reason of an empty list, which a table cannot contain, are sent as headers.
        """
        return self.render_requested_table(rows, meta) or self.success(list(rows), meta)

    def bare_rows(self, rows: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response:
        """Return a list as the complete body, as existing clients expect of some routes.

        ``meta`` is sent as headers.
        """
        return self.render_requested_table(rows, meta) or Response(
            200, dumps(rows), headers=self.build_table_headers(meta)
        )

    def render_requested_table(self, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]) -> Response | None:
        """Return the rows as CSV or NDJSON, or None if JSON was requested."""
        kind = self.requested_table_type
        return None if kind is None else self.render_table(kind, None, rows, meta)

    def render_table(
        self, kind: str, columns: Sequence[str] | None, rows: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]
    ) -> Response:
        """Return the rows as a table of this media type. ``columns`` is None for those of the route."""
        if self.exported_pages is not None:
            self.exported_pages.append(TablePage(list(rows), meta, columns))
            return Response(200, b"")
        body = render_csv(columns or self.route.columns, rows) if kind == CSV else render_ndjson(rows)
        return Response(200, body, f"{kind}; charset=utf-8", self.build_table_headers(meta))

    def build_table_headers(self, meta: Mapping[str, Any]) -> dict[str, str]:
        """Return the headers of a table for the paging, the windows and what is left out in ``meta``.

        A table without rows also has the reason, in which characters other than ASCII are percent-encoded.
        """
        paging = meta.get("pagination", meta)
        headers = {
            header: str(paging[name]).lower() if isinstance(paging[name], bool) else str(paging[name])
            for name, header in PAGING_HEADERS.items()
            if paging.get(name) is not None
        }
        window_names = [param.name for param in self.route.params if param.is_window]
        names = [*window_names, "undated_left_out", "doubtful_left_out"]
        windows = [f"{name}={meta[name]}" for name in names if meta.get(name) is not None]
        if meta.get("matches_cut"):
            windows.append("matches_cut=true")
        if windows:
            headers[WINDOW_HEADER] = ", ".join(windows)
        if "empty" in meta:
            headers[EMPTY_REASON_HEADER] = quote(meta["empty"]["reason"], safe=_PRINTABLE_ASCII.replace("%", ""))
        return headers

    def build_window_meta(self, undated: int = 0) -> dict[str, Any]:
        """Return the windows of a list for its meta (DECISIONS 2).

        Each is the window that applies, from the request or by default. ``clamped`` contains requested values that were
        clamped. ``undated`` is the number of rows that the windows leave out because they have no date.
        """
        windows = {param.name: self.params[param.name] for param in self.route.params if param.is_window}
        return {**windows, "undated_left_out": undated, "clamped": self.params["clamped"]}

    def success_members(self, members: Mapping[str, Any], paging: Mapping[str, Any]) -> Response:
        """Return a body that has ``members`` next to its status or, if a table was requested, only the rows in them."""
        if self.route.lists:
            table = self.render_requested_table(self.route.rows_of(members), paging)
            if table is not None:
                return table
        if self.ignored_names:
            members = {**members, "meta": self._complete_meta(members.get("meta", {}))}
        return Response(200, dumps({"status": "success", **members})[:-1], suffix=self.envelope_suffix)

    def store_response(self, tx: Transaction, answer: Mapping[str, Any]) -> Response:
        """Return ``answer`` as the response, stored for repeats with the same ``Idempotency-Key``.

        Pass this to the function that opens the transaction and does the work. It is called there, last.
        """
        response = Response(200, dumps(answer))
        if self.idempotent_call is not None:
            self.idempotent_call.store_response(tx, response.body, self.now)
        return response

    def bare_object(self, answer: Mapping[str, Any]) -> Response:
        """Return an object without an envelope, the form of auth, user and account endpoints."""
        return Response(200, dumps(answer))

    def redirect(self, page: str, **query: str) -> Response:
        """Return a 302 to a page of the configured frontend, never to an address from the request."""
        base = self.app.config.frontend_url or self.app.config.public_url
        target = f"{base}{page}" + (f"?{urlencode(query)}" if query else "")
        return Response(302, b"", headers={"Location": target, "Referrer-Policy": "no-referrer"})
