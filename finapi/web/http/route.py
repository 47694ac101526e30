"""A row of the route table: what a path does, who may call it, and what it costs."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from finapi.core.lazy import LazyReference, load
from finapi.web.http.messages import Response
from finapi.web.http.names import ParameterNames
from finapi.web.http.params import Field, Param
from finapi.web.http.schema import Schema, build_schema

if TYPE_CHECKING:
    from finapi.app import App

API = "/api/v1"
INSIDERS = API + "/insiders"

# Two older prefixes of the insider service (DECISIONS 1), which published clients use (docs/CLIENTS.md).
ALIASES = ("/insider-module/api/insiders/", "/api/insiders/")

# The credentials that a route accepts (DECISIONS 4): none, a key (all data), a session (the account itself), or either.
Auth = Literal["none", "key", "session", "either"]

# The limits that a route can name (DECISIONS 5); None in the table is no limit.
ZONES = ("app", "financials", "xbrl", "insider", "sql", "pages", "register", "resend", "limits")
# Zones that ``/account/limits`` lists, and that count by account on public routes too if a credential is sent.
CALLER_ZONES = ("app", "financials", "xbrl", "insider", "sql")
# Zones of a gateway: their 429 carries no rate-limit headers.
GATEWAY_ZONES = ("financials", "xbrl")

# Bytes of a JSON body that is parsed (DECISIONS 1). Parsing holds the interpreter, so callers without a credential get
# the lower bound.
AUTHENTICATED_BODY = 1024 * 1024
PUBLIC_BODY = 64 * 1024

_AnyParam = TypeVar("_AnyParam", bound=Param)

Handler = Callable[..., Response]  # Its one argument is a finapi.web.http.call.Call.


class FlatTable(NamedTuple):
    """Rows and the columns of their CSV."""

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]


class AsOfRule(NamedTuple):
    """The way in which a route treats ``as_of``. ``reason`` completes the sentence of a refusal."""

    kind: Literal["honoured", "refused", "no_dates"]
    reason: str = ""


AS_OF = Param(
    "as_of",
    "date",
    help="The answer of that day: only documents filed up to its end in New York.",
    example="2024-05-01",
)
AS_OF_FIELD = Field("as_of", "date", help=AS_OF.help, example=AS_OF.example)


class Deprecation(NamedTuple):
    """The dates on which a route was deprecated and will stop answering (both UTC), and its replacement.

    ``successor`` is a path of this API, or None if nothing replaces the route; the changelog then says why.
    """

    since: datetime
    sunset: datetime
    successor: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Return ``Deprecation`` (RFC 9745), ``Sunset`` (RFC 8594) and ``Link`` to the changelog and the successor."""
        from email.utils import format_datetime

        links = ['</changelog>; rel="deprecation"; type="text/html"']
        if self.successor is not None:
            links.append(f'<{self.successor}>; rel="successor-version"')
        return {
            "Deprecation": f"@{int(self.since.timestamp())}",
            "Sunset": format_datetime(self.sunset, usegmt=True),
            "Link": ", ".join(links),
        }


class Route:
    """One route of the API.

    ``path`` contains ``{name}`` for each path parameter. The handler, the parameters, the body, the shape and a few
    other columns may be LazyReferences; the properties of the same name load them.
    """

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler | LazyReference,
        *,
        auth: Auth,
        zone: str | None,
        summary: str,
        cost: int = 0,
        params: tuple[Param, ...] | LazyReference = (),
        body: tuple[Field, ...] | LazyReference | None = None,
        shape: Any = None,
        answers: tuple[int, ...] = (200,),
        errors: tuple[int, ...] = (),
        media: tuple[str, ...] = (),
        lists: bool = False,
        rows_in: str = "data",
        tabled: Callable[[Mapping[str, Any]], FlatTable] | LazyReference | None = None,
        cacheable: bool = False,
        cache_check: Callable[[App], bool] | LazyReference | None = None,
        free_check: Callable[[Any], bool] | LazyReference | None = None,
        idempotent: bool = False,
        unserved: tuple[str, ...] | LazyReference = (),
        email_limit: str | None = None,
        network_limit: str | None = None,
        key_in_body: bool = False,
        key_as_bearer: bool = False,
        deprecated: Deprecation | None = None,
        page: bool = False,
    ) -> None:
        """Create a route.

        ``auth``: the credential that it accepts. ``cost``: tokens of a call. ``zone``: the limit that applies, or None.
        ``shape``: the record of the 200 body (:mod:`finapi.web.http.schema`). ``answers``: statuses of success.
        ``errors``: error statuses that do not follow from the other columns. ``media``: media types other than JSON.
        ``lists``: the answer is a list (:meth:`Call.success_rows`, :meth:`Call.success_members`) with its rows in the
        member ``rows_in`` (``data.holders`` for a nested one). ``tabled``: makes a table of an answer without a list of
        flat rows.
        ``cacheable``: the answer depends on its parameters and the market data only, so that its ETag is known before
        the work (DECISIONS 2). ``cache_check``: returns True while the answer is in memory; the server then sends it
        without a thread. ``free_check``: returns True for a call (its argument) that costs nothing although the route
        has a cost. ``idempotent``: an ``Idempotency-Key`` is accepted (:meth:`Call.store_response`).
        ``unserved``: documented parameters that are refused, because a list without that filter would be wrong.
        ``email_limit`` and ``network_limit``: limits that also count the email in the body, or the caller's IPv6 /48.
        ``key_in_body``: the key may be the member ``api_key``. ``key_as_bearer``: the key may be sent as
        ``Authorization: Bearer``, which is all that some hosts can send. ``deprecated``: set when the route will be
        removed. ``page``: for people; not in the OpenAPI document.
        """
        if zone is not None and zone not in ZONES:
            raise ValueError(f"{method} {path}: {zone!r} is not a limit zone; use one of {', '.join(ZONES)}")
        self.method = method
        self.path = path
        self.auth: Auth = auth
        self.cost = cost
        self.zone = zone
        self.summary = summary
        self.answers = answers
        self.errors = errors
        self.media = media
        self.lists = lists
        self.rows_in = rows_in
        self.cacheable = cacheable
        self.idempotent = idempotent
        self.email_limit = email_limit
        self.network_limit = network_limit
        self.key_in_body = key_in_body
        self.key_as_bearer = key_as_bearer
        self.deprecated = deprecated
        self.page = page
        self._handler = handler
        self._params = params
        self._body = body
        self._shape = shape
        self._tabled = tabled
        self._cache_check = cache_check
        self._free_check = free_check
        self._unserved = unserved
        self._query_names: ParameterNames | None = None
        # The table of routes sets it (finapi/web/point_in_time.py).
        self.as_of_rule = AsOfRule("no_dates", "the answer does not depend on filed documents")

    def __repr__(self) -> str:
        return f"<Route {self.name}>"

    @property
    def handler(self) -> Handler:
        """Return the function that answers a call."""
        self._handler = handler = load(self._handler)
        return handler  # type: ignore[no-any-return]

    @property
    def params(self) -> tuple[Param, ...]:
        """Return the path and query parameters. ``as_of`` is added where it is honoured, unless a body contains it."""
        params: tuple[Param, ...] = load(self._params)
        if self.as_of_rule.kind == "honoured" and self._body is None:
            params = _with_as_of(params, AS_OF)
        self._params = params
        return params

    @property
    def body(self) -> tuple[Field, ...] | None:
        """Return the members of the JSON body, or None for a route without one. ``as_of`` is added as in params."""
        body: tuple[Field, ...] | None = load(self._body)
        if body is not None and self.as_of_rule.kind == "honoured":
            body = _with_as_of(body, AS_OF_FIELD)
        self._body = body
        return body

    @property
    def shape(self) -> Any:
        """Return the record of the 200 body, or None for a page."""
        self._shape = shape = load(self._shape)
        return shape

    @property
    def tabled(self) -> Callable[[Mapping[str, Any]], FlatTable] | None:
        """Return the function that makes a table of an answer, or None."""
        self._tabled = tabled = load(self._tabled)
        return tabled  # type: ignore[no-any-return]

    @property
    def cache_check(self) -> Callable[[App], bool] | None:
        """Return the function that reports whether the answer is in memory, or None if it never is."""
        self._cache_check = cache_check = load(self._cache_check)
        return cache_check  # type: ignore[no-any-return]

    @property
    def free_check(self) -> Callable[[Any], bool] | None:
        """Return the function that reports whether a call costs nothing, or None if each call has the route's cost."""
        self._free_check = free_check = load(self._free_check)
        return free_check  # type: ignore[no-any-return]

    @property
    def unserved(self) -> tuple[str, ...]:
        """Return the documented parameters that are refused."""
        self._unserved = unserved = load(self._unserved)
        return unserved  # type: ignore[no-any-return]

    @property
    def serves_data(self) -> bool:
        """Return True for a route of data: it needs a key, or is public and computes its answer.

        Unknown parameter names are refused there. Account routes ignore them, as links in mails are extended by others.
        """
        if self.page or self.path.startswith(API + "/auth/"):
            return False
        is_public_read = self.auth == "none" and self.method == "GET" and self.path.startswith(API)
        return self.auth == "key" or (is_public_read and not self.has_cache_check)

    @property
    def query_names(self) -> ParameterNames:
        """Return the names that a query may contain."""
        if self._query_names is None:
            declared = [param.name for param in self.params if param.location == "query"]
            self._query_names = ParameterNames([*declared, *self.unserved])
        return self._query_names

    @property
    def references(self) -> tuple[LazyReference, ...]:
        """Return the references that are not loaded yet."""
        columns = (
            self._handler,
            self._params,
            self._body,
            self._shape,
            self._tabled,
            self._cache_check,
            self._free_check,
            self._unserved,
        )
        return tuple(column for column in columns if isinstance(column, LazyReference))

    def with_cost(self, cost: int) -> Route:
        """Return the route with another cost."""
        changed = copy.copy(self)
        changed.cost = cost
        return changed

    def with_as_of_rule(self, rule: AsOfRule) -> Route:
        """Return the route with a rule for ``as_of``."""
        changed = copy.copy(self)
        changed.as_of_rule = rule
        return changed

    def without_key_in_body(self) -> Route:
        """Return the route without the key in the body."""
        changed = copy.copy(self)
        changed.key_in_body = False
        return changed

    def without_default_windows(self) -> Route:
        """Return the route without the default windows of its lists: only a window in the request applies."""
        changed = copy.copy(self)
        changed._params = tuple(replace(param, default=None) if param.is_window else param for param in self.params)
        return changed

    @property
    def has_cache_check(self) -> bool:
        """Return True if the answer can be in memory (:attr:`cache_check`), without loading anything."""
        return self._cache_check is not None

    @property
    def name(self) -> str:
        """Return the name of the route in the ledger and the log, ``GET /api/v1/policy``."""
        return f"{self.method} {self.path}"

    @property
    def body_limit(self) -> int:
        """Return the maximum size of the body in bytes."""
        return PUBLIC_BODY if self.auth == "none" else AUTHENTICATED_BODY

    @property
    def tables(self) -> bool:
        """Return True if the route also answers as CSV and NDJSON."""
        return self.lists or self._tabled is not None

    @property
    def cross_origin(self) -> bool:
        """Return True if scripts of any origin may read the answer: routes with a key (no cookie) and public data."""
        return self.auth in ("key", "either") or (self.auth == "none" and self.method == "GET" and not self.page)

    @property
    def tells_cost(self) -> bool:
        """Return True if answers carry ``X-Tokens-Charged``: those of data routes do, free ones included."""
        return self.auth == "key"

    @property
    def paths(self) -> tuple[str, ...]:
        """Return every path of the route, the documented one first."""
        prefix = INSIDERS + "/"
        aliases = ALIASES if self.path.startswith(prefix) else ()
        return (self.path, *(alias + self.path.removeprefix(prefix) for alias in aliases))

    @property
    def schema(self) -> Schema:
        """Return the JSON Schema of the 200 body."""
        assert self.shape is not None, self.name
        return build_schema(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the members of a row of a route that ``lists``."""
        rows = self.schema
        if rows["type"] != "array":
            for member in self.rows_in.split("."):
                rows = rows["properties"][member]
        return tuple(rows["items"]["properties"])

    def table_of(self, answer: Any) -> FlatTable:
        """Return an answer of a route with ``tables`` as a table."""
        return FlatTable(self.columns, self.rows_of(answer)) if self.tabled is None else self.tabled(answer)

    def rows_of(self, answer: Any) -> Any:
        """Return the rows of an answer of a route that ``lists``."""
        if isinstance(answer, Mapping):
            for member in self.rows_in.split("."):
                answer = answer[member]
        return answer


def _with_as_of(declared: tuple[_AnyParam, ...], as_of: _AnyParam) -> tuple[_AnyParam, ...]:
    """Return the parameters with ``as_of``, which some routes declare themselves."""
    return declared if any(param.name == "as_of" for param in declared) else (*declared, as_of)


def operation_id(route: Route, path: str | None = None) -> str:
    """Return the route's ``operationId`` in the OpenAPI document."""
    return re.sub(r"\W+", "_", f"{route.method.lower()}{(path or route.path).removeprefix(API)}").strip("_")
