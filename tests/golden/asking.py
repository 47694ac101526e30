"""Requests written as lines of text.

``METHOD TARGET [JSON] [~ Header: value] [~ anonymous]``, one per line; ``#`` begins a comment. ``next`` requests the
next page with the cursor of the last answer, ``again`` repeats the last request with the answer's entity tag. Without a
cursor or a tag nothing is requested, and the golden file lacks the answer. Every request has the caller's key unless it
is ``anonymous``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.client import Answer
from tests.golden.world import World

REQUESTS = Path(__file__).with_name("requests")


@dataclass(frozen=True)
class RequestLine:
    """One request; ``text`` is its line."""

    text: str
    method: str
    target: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    anonymous: bool = False


def read_areas() -> dict[str, list[str]]:
    """Return the request lines by area."""
    lines_by_area = {}
    for path in sorted(REQUESTS.glob("*.txt")):
        lines = (line.strip() for line in path.read_text("utf-8").splitlines())
        lines_by_area[path.stem] = [line for line in lines if line and not line.startswith("#")]
    return lines_by_area


def parse_request(line: str) -> RequestLine:
    """Return the request of a line."""
    request_text, *options = line.split(" ~ ")
    method, target, *body = request_text.split(" ", 2)
    headers = dict(option.split(": ", 1) for option in options if option != "anonymous")
    return RequestLine(
        line, method, target, json.loads(body[0]) if body else None, headers, anonymous="anonymous" in options
    )


def request_all(world: World, lines: list[str]) -> Iterator[tuple[RequestLine, Answer]]:
    """Yield the requests of an area with their answers, in order."""
    last: tuple[RequestLine, Answer] | None = None
    for line in lines:
        if line in ("next", "again"):
            assert last is not None
            follow_up = (_build_next_page if line == "next" else _build_revalidation)(*last)
            if follow_up is None:
                continue
            request = follow_up
        else:
            request = parse_request(line)
        answer = send_request(world, request)
        last = (request, answer)
        yield request, answer


def send_request(world: World, request: RequestLine) -> Answer:
    """Return the answer to a request."""
    options: dict[str, Any] = {} if request.body is None else {"json": request.body}
    key = {} if request.anonymous else {"X-API-Key": world.key}
    return world.request(request.text, request.method, request.target, headers={**key, **request.headers}, **options)


def _build_next_page(last: RequestLine, answer: Answer) -> RequestLine | None:
    json_answer = answer.headers["content-type"].startswith("application/json")
    cursor = _find_cursor(answer.json) if json_answer else answer.headers.get("x-next-cursor")
    if not cursor:
        return None
    target = re.sub(r"[?&]cursor=[^&]*", "", last.target)
    target += f"{'&' if '?' in target else '?'}cursor={quote(str(cursor), safe='')}"
    return RequestLine(last.text + " ~ next", last.method, target, last.body, last.headers, last.anonymous)


def _find_cursor(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    return value.get("next_cursor") or next(filter(None, map(_find_cursor, value.values())), None)


def _build_revalidation(last: RequestLine, answer: Answer) -> RequestLine | None:
    if "etag" not in answer.headers:
        return None
    headers = {**last.headers, "If-None-Match": answer.headers["etag"]}
    return RequestLine(last.text + " ~ again", last.method, last.target, last.body, headers, last.anonymous)
