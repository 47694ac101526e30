"""What a call asks: its parameters read once for all who ask the same, and the tag that its answer has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from finapi import __version__
from finapi.core.cache import Cache
from finapi.core.errors import ApiError, invalid_param
from finapi.web.http.call import table_kind
from finapi.web.http.messages import Request
from finapi.web.http.params import read_all
from finapi.web.http.route import Route
from finapi.web.http.tables import FORMATS

# Questions that are kept read, by the characters of their texts and what one takes beside them. A target, whose
# length is not counted, has 8 KB at most.
QUESTION_CHARACTERS = 1_000_000
QUESTION_OVERHEAD = 1_000


class ReadQuestion(NamedTuple):
    """What a path and a query ask of a route: the parameters, and a text that only the same question has."""

    params: Mapping[str, Any]
    text: str


NO_QUESTION = ReadQuestion({}, "")


class Questions:
    """The questions that were read before."""

    def __init__(self) -> None:
        self._kept = Cache(QUESTION_CHARACTERS, lambda question: len(question.text) + QUESTION_OVERHEAD)

    def read(
        self, route: Route, path_params: Mapping[str, str], request: Request
    ) -> tuple[ReadQuestion, ApiError | None]:
        """What the parameters mean, or what is wrong with them: that is found anew each time."""
        try:
            key = (route.method, request.target)
            return self._kept.get(None, key, lambda: _read(route, path_params, request.query)), None
        except ApiError as error:
            return NO_QUESTION, error


def tagged(route: Route, question: ReadQuestion, request: Request) -> str:
    """What, beside the data, the tag of the answer to a question is made of."""
    kind = table_kind(request) if route.tables else None
    # A table has more rows than a limit of JSON is clamped to.
    table = None if kind is None else f"{kind} {request.query.get('limit')}"
    return f"{table} {question.text}"


def tag_of(data_stamp: str, text: str) -> str:
    """The tag of what the data at a stamp answer to a question, by its text of :func:`tagged`."""
    return hashlib.sha256(f"{data_stamp} {text}".encode()).hexdigest()[:32]


def _read(route: Route, path_params: Mapping[str, str], query: Mapping[str, list[str]]) -> ReadQuestion:
    for name in route.unserved:
        if name in query:
            raise invalid_param(name, f"This list cannot be filtered by {name}.")
    _format_checked(route, query)
    params = read_all(route.params, path_params, query)
    return ReadQuestion(params, json.dumps([__version__, route.path, params], sort_keys=True, default=str))


def _format_checked(route: Route, query: Mapping[str, list[str]]) -> None:
    """INVALID_PARAM for a ``format`` that data are not answered in."""
    if "format" in query and route.auth == "key" and not any(one.name == "format" for one in route.params):
        allowed = list(FORMATS) if route.tables else ["json"]
        if query["format"][-1].lower() not in allowed:
            raise invalid_param("format", f"format must be one of {', '.join(allowed)} here.", allowed=allowed)
