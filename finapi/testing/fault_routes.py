"""The check that the route of a fault matches a call that exists, so that a misspelt route is an error.

The route of a fault and the path of a route table entry are both patterns: ``*`` stands for any text, and ``{ticker}``
for a segment. A fault can apply to a route if some text matches both patterns.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache

from finapi.core.errors import invalid_param
from finapi.delivery.events import TYPES_BY_FEED
from finapi.delivery.webhooks import EVENT_TYPES
from finapi.web.routes import ROUTES

ANY_TEXT = "*"
PARAMETER = re.compile(r"\{[^}]*\}")
# The first word of a route such as ``*/policy``. It must be a part of a path: any text, also a misspelt word, could be
# the value of a parameter.
LEADING_WORD = re.compile(r"\*/([a-z_-]+)(?=/|$)")
CHARACTER_SET = re.compile(r"\[[^\]]*\]")


def check_route(route: str, *, is_for_webhooks: bool) -> None:
    """Raise INVALID_PARAM if no call matches the route of a fault, or no event type that of a fault of webhooks."""
    method, _, path = route.rpartition(" ")
    if is_for_webhooks:
        templates: Iterable[str] = EVENT_TYPES
        methods = {"WEBHOOK"}
    else:
        templates = _list_paths()
        methods = {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}
    word = LEADING_WORD.match(path)
    if word is not None:
        templates = [template for template in templates if word[1] in template.split("/")]
    has_method = any(_overlaps(method.upper() or ANY_TEXT, known_method) for known_method in methods)
    if has_method and any(_overlaps(path, template) for template in templates):
        return
    nearest = difflib.get_close_matches(path, EVENT_TYPES if is_for_webhooks else _list_paths(), 1, 0.5)
    advice = f" The nearest is {nearest[0]}." if nearest else ""
    kind = "event type" if is_for_webhooks else "call"
    raise invalid_param("route", f"No {kind} matches the route {route}.{advice}", expected="a route that is served")


@cache
def _list_paths() -> tuple[str, ...]:
    """Return the paths of all calls, with ``*`` for a parameter."""
    feed_paths = [f"/ws/{feed}" for feed in TYPES_BY_FEED]
    route_paths = [PARAMETER.sub(ANY_TEXT, route.path) for route in ROUTES]
    return tuple(dict.fromkeys([*route_paths, *feed_paths, "/socket.io", "/socket.io/"]))


def _overlaps(first: str, second: str) -> bool:
    """Return True if some text matches both patterns. A character set such as ``[ab]`` counts as any text."""
    first = CHARACTER_SET.sub(ANY_TEXT, first)
    first_head, second_head = first.partition(ANY_TEXT)[0], second.partition(ANY_TEXT)[0]
    shared_length = min(len(first_head), len(second_head))
    if "?" not in first and first_head[:shared_length] != second_head[:shared_length]:
        return False
    # The positions in ``second`` that can be reached after each character of ``first``.
    positions = _skip_any_text(second, {0})
    for character in first:
        if character == ANY_TEXT:
            positions = set(range(min(positions), len(second) + 1)) if positions else positions
            continue
        next_positions = set()
        for position in positions:
            if position == len(second):
                continue
            if second[position] == ANY_TEXT:
                if character != "/":  # A parameter is a segment of a path.
                    next_positions.add(position)
            elif character in ("?", second[position]):
                next_positions.add(position + 1)
        positions = _skip_any_text(second, next_positions)
    return len(second) in positions


def _skip_any_text(pattern: str, positions: set[int]) -> set[int]:
    """Return the positions, and those after a ``*``, which may stand for no text."""
    skipped = set(positions)
    for position in positions:
        while position < len(pattern) and pattern[position] == ANY_TEXT:
            position += 1
            skipped.add(position)
    return skipped
