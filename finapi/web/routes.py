"""The API as one table, and the look-up in it.

The router, ``/openapi.json`` and the test of the README read this table and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from finapi.web import describe, health, statements
from finapi.web.call import Route

API = "/api/v1"

# fmt: off
ROUTES: tuple[Route, ...] = (
    # method, path, handler, who may call, tokens, limit zone, what it answers
    Route("GET", "/livez", health.livez, "none", 0, None, "Whether the process answers"),
    Route("GET", "/readyz", health.readyz, "none", 0, None, "Whether the store answers too"),
    Route("GET", "/openapi.json", describe.openapi, "none", 0, None, "This document"),
    Route("GET", API + "/xbrl/companies/{ticker}/statements", statements.of_company, "key", 25, "xbrl",
          "A company's statements as filed", statements.COMPANY_PARAMS, cacheable=True),
    Route("GET", API + "/xbrl/filing/{accession}/statements", statements.of_filing, "key", 25, "xbrl",
          "One filing's statements as filed", statements.FILING_PARAMS, cacheable=True),
)
# fmt: on


class Match(NamedTuple):
    """The routes of a path by method, and its path parameters."""

    by_method: dict[str, Route]
    path_params: dict[str, str]


class Router:
    """Finds the routes of a path: literal segments before parameters, in time bounded by the path's length."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._patterns: dict[int, list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        for path, by_method in by_path.items():
            segments = tuple(path.strip("/").split("/"))
            self._patterns.setdefault(len(segments), []).append((segments, by_method))
        for patterns in self._patterns.values():
            # False sorts first: a literal is tried before a parameter in the same place.
            patterns.sort(key=lambda pattern: [segment.startswith("{") for segment in pattern[0]])

    def match(self, segments: tuple[str, ...]) -> Match | None:
        """The routes of a path given as decoded segments, or None when there is no such path."""
        for pattern, by_method in self._patterns.get(len(segments), ()):
            params: dict[str, str] = {}
            for expected, given in zip(pattern, segments, strict=True):
                if expected.startswith("{"):
                    params[expected[1:-1]] = given
                elif expected != given:
                    break
            else:
                return Match(by_method, params)
        return None
