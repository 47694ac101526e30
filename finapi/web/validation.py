"""Parsing and checking the parameters and bodies of calls, by the declarations of their routes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from finapi import __version__
from finapi.core.cache import Cache
from finapi.core.errors import ApiError, invalid_param
from finapi.web.http.call import requested_table_type
from finapi.web.http.messages import Request
from finapi.web.http.names import build_unknown_name_error, list_unknown_members
from finapi.web.http.params import parse_body, parse_params
from finapi.web.http.route import Route
from finapi.web.http.tables import MAX_ROWS, MEDIA_TYPE_BY_FORMAT

# The capacity of a ParameterCache, in characters of the texts that identify parameters. Each entry also counts as
# CHARACTERS_PER_ENTRY. The target of the request, which is the key, has at most 8 KB and is not counted.
MAX_CACHED_CHARACTERS = 1_000_000
CHARACTERS_PER_ENTRY = 1_000


class Parameters(NamedTuple):
    """The parsed parameters of a call, and a text that identifies them among all parameters of the route."""

    values: Mapping[str, Any]
    text: str


NO_PARAMETERS = Parameters({}, "")


class CallInput(NamedTuple):
    """The parameters and the body of a call.

    ``error`` is the first mistake in them, or None. ``ignored_names`` are unknown names of parameters and members that
    the operator's settings do not refuse.
    """

    parameters: Parameters
    body: Mapping[str, Any]
    error: ApiError | None
    ignored_names: tuple[str, ...] = ()


class ParameterCache:
    """A cache of the parameters of recent requests, because clients repeat their requests."""

    def __init__(self) -> None:
        self._cache = Cache(MAX_CACHED_CHARACTERS, lambda parameters: len(parameters.text) + CHARACTERS_PER_ENTRY)

    def read(self, route: Route, path_params: Mapping[str, str], request: Request) -> Parameters:
        """Return the parameters of a request. Raise INVALID_PARAM if one is not valid; errors are not cached."""
        key = (route.method, request.target)
        return self._cache.get(None, key, lambda: _read_parameters(route, path_params, request.query))


def _read_parameters(route: Route, path_params: Mapping[str, str], query: Mapping[str, list[str]]) -> Parameters:
    for name in route.unserved:
        if name in query:
            raise invalid_param(name, f"This list cannot be filtered by {name}.")
    _check_format(route, query)
    values = parse_params(route.params, path_params, query)
    return Parameters(values, json.dumps([__version__, route.path, values], sort_keys=True, default=str))


def _check_format(route: Route, query: Mapping[str, list[str]]) -> None:
    """Raise INVALID_PARAM if ``format`` is a format that the route does not support."""
    if "format" not in query or route.auth != "key" or any(param.name == "format" for param in route.params):
        return
    allowed = list(MEDIA_TYPE_BY_FORMAT) if route.tables else ["json"]
    if query["format"][-1].lower() not in allowed:
        raise invalid_param("format", f"format must be one of {', '.join(allowed)} here.", allowed=allowed)


def read_call_body(route: Route, request: Request) -> dict[str, Any]:
    """Return the members of the JSON body of a route that has one. Raise ApiError if it is not valid."""
    fields = route.body or ()
    if route.lists and requested_table_type(request) is not None:
        # A table has more rows than a page of JSON.
        fields = tuple(replace(field, maximum=MAX_ROWS) if field.name == "size" else field for field in fields)
    return parse_body(fields, request.read_json(route.body_limit))


def match_query_names(route: Route, request: Request) -> tuple[Request, tuple[str, ...]]:
    """Return the request with the declared names of its parameters, and the unknown names.

    Other routes than those of data keep their query, and have no unknown names.
    """
    if not request.query or not route.serves_data:
        return request, ()
    query, unknown_names = route.query_names.match(request.query)
    return request if query is request.query else request._replace(query=query), unknown_names


def find_as_of_error(route: Route, request: Request) -> ApiError | None:
    """Return the INVALID_PARAM for a request whose ``as_of`` the route does not read, or None.

    It is refused on every route and at every setting: an answer of today must not pass for one of a past day. A route
    that honours it reads it from its body, or from the query if it has no body.
    """
    rule = route.as_of_rule
    names = {"query": list(request.query), "body": [name for body in request.parsed_bodies for name in body]}
    place = "query" if route.body is None else "body"
    if rule.kind == "honoured":
        names[place] = [name for name in names[place] if name != "as_of"]
    if not any(name.lower().removesuffix("[]") == "as_of" for name in (*names["query"], *names["body"])):
        return None
    if rule.kind == "honoured":
        return invalid_param("as_of", f"This call reads as_of, in this spelling, from its {place}.", expected="as_of")
    return invalid_param("as_of", f"as_of is not supported by this call: {rule.reason}.", expected="no as_of")


def list_unknown_body_names(route: Route, request: Request) -> tuple[str, ...]:
    """Return the unknown members of the JSON body of a route of data. Call this after :func:`read_call_body`."""
    if route.body is None or not route.serves_data or not request.parsed_bodies:
        return ()
    return tuple(list_unknown_members(route.body, request.parsed_bodies[0]))


def build_unknown_name_refusal(route: Route, unknown_name: str) -> ApiError:
    """Return the INVALID_PARAM for the first unknown name of a request."""
    known_names = {param.name for param in route.params if param.location == "query"}
    for field in route.body or ():
        known_names |= {field.name, *(member.name for member in field.members)}
    return build_unknown_name_error(unknown_name, known_names)
