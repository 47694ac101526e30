"""The calls of the API that a page stands for: asked in process, of the same handlers, by the same parameters.

So a page shows what the API answers, says which call gives it and what that costs, and has its table as CSV.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from finapi.core.errors import ApiError
from finapi.web.html import html_tables, page_layout
from finapi.web.html.tags import Child, Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, parse_params
from finapi.web.http.route import API, Route
from finapi.web.http.tables import CSV
from finapi.web.pages import page_access

# Every page of one table takes it.
FORMAT = Param("format", default="html", allowed=("html", "csv"), help="The page, or its table as CSV.")

# What a company or filing is not held for: a page says so, and how it comes.
MISSING_DATA_CODES = ("NOT_COVERED", "NOT_FOUND", "UNKNOWN_TICKER")


class ApiCall(NamedTuple):
    """One call: the path of its route, and its path and query parameters as texts."""

    path: str
    given: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of its route."""
        return f"GET {self.path}"

    @property
    def target(self) -> str:
        """Path and query as a client would send them."""
        path, query = self.path, []
        for name, value in self.given:
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(value, safe=""))
            else:
                query.append((name, value))
        return path + (f"?{urlencode(query, safe=',:')}" if query else "")

    def route(self, call: Call) -> Route:
        """Its line of the route table."""
        return next(route for route in call.routes if route.name == self.name)

    def response(self, call: Call, accept: str = "application/json") -> Response:
        """What its handler answers."""
        route = self.route(call)
        given = dict(self.given)
        params = parse_params(route.params, given, {name: [value] for name, value in given.items()})
        request = call.request._replace(headers={"accept": accept}, query={})
        return route.handler(call._replace(route=route, request=request, params=params, body={}, idempotent_call=None))

    def answer(self, call: Call) -> Any:
        """The same as values; figures are exact."""
        return parse_answer(self.response(call))


def build_api_call(path: str, **given: Any) -> ApiCall:
    """The call of ``path`` (behind /api/v1) with what of ``given`` is not None or empty."""
    texts = ((name, _text(value)) for name, value in given.items() if value not in (None, "", ()))
    return ApiCall(API + path, tuple(texts))


def parse_answer(response: Response) -> Any:
    """The values of a JSON answer."""
    return json.loads(response.body + response.suffix, parse_float=Decimal)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def serve_api_page(call: Call, asks: Sequence[ApiCall], make: Callable[[], Response]) -> Response:
    """The page that ``make`` makes of these calls, to who may see it; as CSV the rows of the first."""
    if call.params.get("format") == "csv" and asks[0].route(call).lists:
        return page_access.serve_data_page(call, [asks[0].name], lambda: serve_csv(call, asks[0]))
    return page_access.serve_data_page(call, [one.name for one in asks], make)


def serve_csv(call: Call, one: ApiCall) -> Response:
    """The rows of a call as a file."""
    # A template has no room in a table.
    one = one._replace(given=tuple(given for given in one.given if given[0] != "template"))
    return name_download(one.response(call, CSV), one.target)


def name_download(table: Response, name: str) -> Response:
    """A table that a browser saves under a name made of the letters of ``name``."""
    plain = "".join(char if char.isalnum() and char.isascii() else "-" for char in name.removeprefix(API)).strip("-")
    table.headers["Content-Disposition"] = f'attachment; filename="{plain[:100]}.csv"'
    return table


def render_source_note(call: Call, *asks: ApiCall, csv: str = "") -> Html:
    """The line under a table: its CSV at the address ``csv``, and the calls that give it with what they cost."""
    calls = [h.li(h.code("GET ", one.target), " (", format_tokens(one.route(call).cost), ")") for one in asks]
    cost = sum(one.route(call).cost for one in asks)
    said = f"{html_tables.format_count(len(calls), 'call')} of the API, {format_tokens(cost)}"
    file = csv and h.a("CSV", href=csv, rel="nofollow", class_="csv")
    return h.div(file, h.details(h.summary(said), h.ul(calls)), class_="source")


def format_tokens(number: int) -> str:
    """A number of tokens in words."""
    return "free" if number == 0 else html_tables.format_count(number, "token")


def render_missing_note(error: ApiError, load: str | None = "") -> Html:
    """Why something is not shown, and how it comes to be held; nothing of that for ``load`` None."""
    if error.code not in MISSING_DATA_CODES:
        raise error
    return h.p(error.message, load is not None and [" ", render_load_hint(load)], class_="note", role="status")


def render_missing_page(call: Call, error: ApiError, load: str = "", text: str = "") -> Response:
    """The page of what is not held at all, with how it comes and the search for ``text``; any other error goes on."""
    if error.code not in MISSING_DATA_CODES:
        raise error
    body = (h.p(error.message, role="alert"), h.p(render_load_hint(load)), page_layout.render_search_form(text))
    return page_layout.render_page(call, "Not held", *body, status=404, search=False)


def render_load_hint(load: str = "") -> Html:
    """How what is not held is loaded."""
    if not load:
        return join_html("Documents come by ", h.code("finapi ingest"), " or ", h.code("finapi poll"), ".")
    return join_html("The operator of this host loads it with ", h.code(f"finapi load {load}"), ".")


def render_section(title: str, *body: Child) -> Html:
    """A part of a page under its heading."""
    return h.section(h.h2(title), join_html(*body))


def build_url(path: str, **given: Any) -> str:
    """An address of these query parameters, without those that are empty."""
    query = urlencode({name: _text(value) for name, value in given.items() if value not in (None, "")})
    return f"{path}?{query}" if query else path
