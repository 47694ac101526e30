"""Pages that show the answers of API calls.

A page of data does not read the database. It runs the handlers of the API in this process, with the same parameters as
a client would send, and renders their answers as HTML. So a page shows the API's answers; the note under its table
lists the calls with their cost and links to the same rows as CSV.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.market.demo import demo_companies
from finapi.web.html import page_layout
from finapi.web.html.tags import Child, Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, parse_params
from finapi.web.http.route import API, Route
from finapi.web.http.tables import CSV
from finapi.web.pages import page_access

# The parameter that every page with a single table accepts.
FORMAT = Param("format", default="html", allowed=("html", "csv"), help="The page, or its table as CSV.")

# Errors for a company or filing that is not stored. Pages show them with a hint on how to load it.
MISSING_DATA_CODES = ("NOT_COVERED", "NOT_FOUND", "UNKNOWN_TICKER")

# The titles of the pages for these errors.
MISSING_DATA_TITLES = {"NOT_COVERED": "Not stored", "NOT_FOUND": "Not found", "UNKNOWN_TICKER": "Company not found"}

MAX_FILE_NAME_CHARACTERS = 100
MAX_NAMED_ROWS = 12  # Maximum number of values that a note about an empty list names.


class ApiCall(NamedTuple):
    """A call of the API: the path of its route, and its path and query parameters as texts."""

    path: str
    arguments: tuple[tuple[str, str], ...]

    @property
    def route_name(self) -> str:
        """Return the name of the call's route."""
        return f"GET {self.path}"

    @property
    def url(self) -> str:
        """Return the path and query that a client would send."""
        path = self.path
        query = []
        for name, text in self.arguments:
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(text, safe=""))
            else:
                query.append((name, text))
        return path + (f"?{urlencode(query, safe=',:')}" if query else "")

    def get_route(self, call: Call) -> Route:
        """Return the call's entry of the route table."""
        return next(route for route in call.routes if route.name == self.route_name)

    def get_response(self, call: Call, accept: str = "application/json") -> Response:
        """Run the handler of the route and return its response. Raise the handler's ApiError."""
        route = self.get_route(call)
        path_params = dict(self.arguments)
        query = {name: [text] for name, text in self.arguments}
        params = parse_params(route.params, path_params, query)
        request = call.request._replace(headers={"accept": accept}, query={})
        api_call = call._replace(route=route, request=request, params=params, body={}, idempotent_call=None)
        return route.handler(api_call)

    def get_answer(self, call: Call) -> Any:
        """Return the parsed JSON of the call's response; fractions are Decimal."""
        response = self.get_response(call)
        return json.loads(response.body + response.suffix, parse_float=Decimal)


def build_api_call(path: str, **arguments: Any) -> ApiCall:
    """Return a call of ``path`` (below /api/v1). Arguments that are None or empty are left out."""
    texts = []
    for name, argument in arguments.items():
        if argument not in (None, "", ()):
            texts.append((name, _format_argument(argument)))
    return ApiCall(API + path, tuple(texts))


def build_url(path: str, **arguments: Any) -> str:
    """Return a path with query parameters. Arguments that are None or empty are left out."""
    texts = {}
    for name, argument in arguments.items():
        if argument not in (None, ""):
            texts[name] = _format_argument(argument)
    return f"{path}?{urlencode(texts)}" if texts else path


def _format_argument(argument: Any) -> str:
    if isinstance(argument, bool):
        return str(argument).lower()
    return ",".join(map(str, argument)) if isinstance(argument, tuple) else str(argument)


# ---- responses


def serve_api_page(call: Call, api_calls: Sequence[ApiCall], render: Callable[[], Response]) -> Response:
    """Return the page that ``render`` builds from API calls, or the rows of the first call as CSV.

    See :func:`page_access.serve_data_page` for access and charges.
    """
    if call.params.get("format") == "csv" and api_calls[0].get_route(call).lists:
        table_call = api_calls[0]
        return page_access.serve_data_page(call, [table_call.route_name], lambda: serve_csv(call, table_call))
    return page_access.serve_data_page(call, [api_call.route_name for api_call in api_calls], render)


def serve_csv(call: Call, api_call: ApiCall) -> Response:
    """Return the rows of a call as a CSV file."""
    # Without a template: with one, the answer is nested and the API has no CSV of it.
    arguments = tuple((name, text) for name, text in api_call.arguments if name != "template")
    table_call = api_call._replace(arguments=arguments)
    return name_download(table_call.get_response(call, CSV), table_call.url)


def name_download(response: Response, url: str) -> Response:
    """Make a browser save a CSV response under a file name built from a URL. Return the response."""
    letters = [char if char.isalnum() and char.isascii() else "-" for char in url.removeprefix(API)]
    file_name = "".join(letters).strip("-")[:MAX_FILE_NAME_CHARACTERS]
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name}.csv"'
    return response


def render_missing_page(call: Call, error: ApiError, load_argument: str = "", search_text: str = "") -> Response:
    """Return the page for data that are not stored, with a hint on how to load them and a search form.

    Raise any other error.
    """
    if error.code not in MISSING_DATA_CODES:
        raise error
    demo_error = demo_companies.add_companies(call.app, error)
    # The message of a demo says itself how companies are loaded.
    load_hint = demo_error is error and h.p(render_load_hint(load_argument))
    search_form = page_layout.render_search_form(search_text)
    body = (h.p(demo_error.message, role="alert"), load_hint, search_form)
    return page_layout.render_page(call, MISSING_DATA_TITLES[error.code], *body, status=404, search=False)


# ---- parts of a page


def render_source_note(call: Call, *api_calls: ApiCall, csv_url: str = "") -> Html:
    """Return the note under a table: a link to its CSV, and the calls that return it with their cost."""
    entries = []
    total_cost = 0
    for api_call in api_calls:
        cost = api_call.get_route(call).cost
        entries.append(h.li(h.code("GET ", api_call.url), " (", format_tokens(cost), ")"))
        total_cost += cost
    summary = f"{format_count(len(entries), 'call')} of the API, {format_tokens(total_cost)}"
    csv_link = csv_url and h.a("CSV", href=csv_url, rel="nofollow", class_="csv")
    return h.div(csv_link, h.details(h.summary(summary), h.ul(entries)), class_="source")


def format_tokens(count: int) -> str:
    """Return a number of tokens in words."""
    return "free" if count == 0 else format_count(count, "token")


def render_missing_note(error: ApiError, load_argument: str | None = "") -> Html:
    """Return a note that says why data are missing, with a hint on how to load them unless the argument is None.

    Raise any error that is not about missing data.
    """
    if error.code not in MISSING_DATA_CODES:
        raise error
    hint = load_argument is not None and [" ", render_load_hint(load_argument)]
    return h.p(error.message, hint, class_="note", role="status")


def render_empty_list(page_path: str, empty: Mapping[str, Any]) -> Html:
    """Return a note with the reason why a list has no rows, and links to the stored rows that it could show.

    ``empty`` is the explanation that the API returns for the list, ``page_path`` the path of the list's page.
    """
    links: list[Child] = []
    for rows in empty["available"][:MAX_NAMED_ROWS]:
        separator = ", " if links else ""
        url = build_url(page_path, **{rows["param"]: rows["value"]})
        links.append([separator, h.a(rows["value"].replace("_", " "), href=url), f" ({rows['row_count']:,})"])
    stored_rows = h.p("Stored: ", links, ".") if links else h.p(render_load_hint())
    return h.div(h.p(empty["reason"]), stored_rows, class_="note", role="status")


def render_load_hint(load_argument: str = "", pronoun: str = "it") -> Html:
    """Return a sentence on how data are loaded: ``load_argument`` is the argument of ``finapi load``."""
    if not load_argument:
        return join_html("Documents come by ", h.code("finapi ingest"), " or ", h.code("finapi poll"), ".")
    command = h.code(f"finapi load {load_argument}")
    return join_html(f"The operator of this host loads {pronoun} with ", command, ".")


def render_section(title: str, *body: Child) -> Html:
    """Return a section of a page with its heading."""
    return h.section(h.h2(title), join_html(*body))
