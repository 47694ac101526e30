"""The route of a path, looked up in a table of routes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from finapi.web.http.route import Route


class Match(NamedTuple):
    """The routes of a path by method, and its path parameters."""

    by_method: dict[str, Route]
    path_params: dict[str, str]

    def one_of(self, method: str) -> Route:
        """The route for a method, or another of the same path when there is none."""
        return self.by_method.get(method) or next(iter(self.by_method.values()))

    @property
    def allow(self) -> str:
        """The methods that the path takes, as ``Allow`` names them."""
        methods = set(self.by_method) | {"OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))


class Router:
    """Finds the routes of a path: literal segments before parameters, in time bounded by the path's length.

    A parameter is a segment, or the end of one whose beginning is literal (``form-{form_type}``). The beginning of a
    longer path is no parameter: ``/filings/by-ticker/`` lacks its ticker, and names no filing.
    """

    def __init__(self, routes: Iterable[Route], served: Callable[[Route], Route] = lambda route: route) -> None:
        self._served = served  # what becomes of a route when its path is first called
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            for path in route.paths:
                by_path.setdefault(path, {})[route.method] = route
        self._literal: dict[tuple[str, ...], dict[str, Route]] = {}
        # By their length and the literal segments that they begin with.
        self._patterns: dict[tuple[int, tuple[str, ...]], list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        self._begun = set[tuple[str, ...]]()
        for path, by_method in by_path.items():
            segments = tuple(path.strip("/").split("/"))
            begins = tuple(takewhile(lambda segment: "{" not in segment, segments)) if "{" in path else segments
            begun = begins
            while begun and begun not in self._begun:  # with one its own beginnings are there already
                self._begun.add(begun)
                begun = begun[:-1]
            if begins == segments:
                self._literal[segments] = by_method
                continue
            self._patterns.setdefault((len(segments), begins), []).append((segments, by_method))
        self._matched = lru_cache(maxsize=1024)(self._match)
        for patterns in (several for several in self._patterns.values() if len(several) > 1):
            # A literal is tried before a parameter in the same place, and one with more of its segment given before.
            patterns.sort(key=lambda pattern: [-len(segment.partition("{")[0]) for segment in pattern[0]])

    def match(self, segments: tuple[str, ...]) -> Match | None:
        """The routes of a path given as decoded segments, or None when there is no such path."""
        return self._matched(segments)

    def _match(self, segments: tuple[str, ...]) -> Match | None:
        by_method = self._literal.get(segments)
        if by_method is not None:
            return self._matching(by_method, {})
        if segments in self._begun:
            return None
        for known in range(len(segments) - 1, -1, -1):
            for pattern, by_method in self._patterns.get((len(segments), segments[:known]), ()):
                found = _params(pattern[known:], segments[known:])
                if found is not None:
                    return self._matching(by_method, found)
        return None

    def _matching(self, by_method: dict[str, Route], params: dict[str, str]) -> Match:
        return Match({method: self._served(route) for method, route in by_method.items()}, params)


def _params(pattern: tuple[str, ...], segments: tuple[str, ...]) -> dict[str, str] | None:
    """The parameters of segments that fit a pattern of as many, or None."""
    found = dict[str, str]()
    for wanted, given in zip(pattern, segments, strict=True):
        begins, brace, name = wanted.partition("{")
        if not (given.startswith(begins) if brace else given == wanted):
            return None
        if brace:
            found[name[:-1]] = given.removeprefix(begins)
    return found
