"""The look-up of the routes of a path."""

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

    def get_route_or_any(self, method: str) -> Route:
        """Return the route for a method, or any other route of the path if there is none."""
        return self.by_method.get(method) or next(iter(self.by_method.values()))

    @property
    def allow(self) -> str:
        """Return the methods of the path, as the header ``Allow``."""
        methods = set(self.by_method) | {"OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        return ", ".join(sorted(methods))


class Router:
    """A table that finds the routes of a path. The time of a look-up depends on the path's length only.

    Literal segments take precedence over parameters. A parameter is a segment, or the end of a segment that begins with
    a literal (``form-{form_type}``). A text that begins a longer literal path never matches a parameter:
    in ``/filings/by-ticker/`` the ticker is missing, so ``by-ticker`` is not taken as the number of a filing.
    """

    def __init__(self, routes: Iterable[Route], prepare_route: Callable[[Route], Route] = lambda route: route) -> None:
        self._prepare_route = prepare_route  # Called for a route when its path is first requested.
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            for path in route.paths:
                by_path.setdefault(path, {})[route.method] = route
        self._literal: dict[tuple[str, ...], dict[str, Route]] = {}
        # Paths with parameters, by their number of segments and the literal segments at their beginning.
        self._patterns: dict[tuple[int, tuple[str, ...]], list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        self._path_beginnings = set[tuple[str, ...]]()
        for path, by_method in by_path.items():
            segments = tuple(path.strip("/").split("/"))
            literal_segments = (
                tuple(takewhile(lambda segment: "{" not in segment, segments)) if "{" in path else segments
            )
            beginning = literal_segments
            # If a beginning is in the set, all shorter beginnings are too.
            while beginning and beginning not in self._path_beginnings:
                self._path_beginnings.add(beginning)
                beginning = beginning[:-1]
            if literal_segments == segments:
                self._literal[segments] = by_method
                continue
            self._patterns.setdefault((len(segments), literal_segments), []).append((segments, by_method))
        self._match_cached = lru_cache(maxsize=1024)(self._match)
        for patterns in self._patterns.values():
            # Try literals before parameters in the same position, and longer literal beginnings before shorter ones.
            patterns.sort(key=lambda pattern: [-len(segment.partition("{")[0]) for segment in pattern[0]])

    def match(self, segments: tuple[str, ...]) -> Match | None:
        """Return the routes of a path by its decoded segments, or None for an unknown path."""
        return self._match_cached(segments)

    def _match(self, segments: tuple[str, ...]) -> Match | None:
        by_method = self._literal.get(segments)
        if by_method is not None:
            return self._build_match(by_method, {})
        if segments in self._path_beginnings:
            return None
        for literal_count in range(len(segments) - 1, -1, -1):
            for pattern, by_method in self._patterns.get((len(segments), segments[:literal_count]), ()):
                params = _match_params(pattern[literal_count:], segments[literal_count:])
                if params is not None:
                    return self._build_match(by_method, params)
        return None

    def _build_match(self, by_method: dict[str, Route], params: dict[str, str]) -> Match:
        return Match({method: self._prepare_route(route) for method, route in by_method.items()}, params)


def _match_params(pattern: tuple[str, ...], segments: tuple[str, ...]) -> dict[str, str] | None:
    """Return the parameters of segments that match a pattern of the same length, or None."""
    params = dict[str, str]()
    for pattern_segment, segment in zip(pattern, segments, strict=True):
        literal, brace, name = pattern_segment.partition("{")
        if not (segment.startswith(literal) if brace else segment == pattern_segment):
            return None
        if brace:
            params[name[:-1]] = segment.removeprefix(literal)
    return params
