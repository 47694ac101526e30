"""Requests as lines of text, and asking them.

``METHOD TARGET [JSON] [~ Header: value] [~ anonymous]``, a line each; ``#`` begins a comment. ``next`` asks the last
list for the page that its cursor names, ``again`` asks the last request with the tag of its answer; without a cursor
or a tag nothing is asked, which is seen as an answer that is missing. Every call brings the caller's key unless it is
``anonymous``.
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

ASKS = Path(__file__).with_name("asks")


@dataclass(frozen=True)
class Ask:
    """One request; ``text`` is its line."""

    text: str
    method: str
    target: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    anonymous: bool = False


def areas(data_set: str) -> dict[str, list[str]]:
    """The lines that are asked of a data set, by area."""
    found: dict[str, list[str]] = {}
    for folder in ("both", data_set):
        for path in sorted((ASKS / folder).glob("*.txt")):
            lines = (line.strip() for line in path.read_text("utf-8").splitlines())
            found.setdefault(path.stem, []).extend(line for line in lines if line and not line.startswith("#"))
    return found


def read(line: str) -> Ask:
    """The request that a line means."""
    request, *more = line.split(" ~ ")
    method, target, *body = request.split(" ", 2)
    headers = dict(one.split(": ", 1) for one in more if one != "anonymous")
    return Ask(line, method, target, json.loads(body[0]) if body else None, headers, anonymous="anonymous" in more)


def ask_all(world: World, lines: list[str]) -> Iterator[tuple[Ask, Answer]]:
    """The requests of an area and their answers, in order."""
    last: tuple[Ask, Answer] | None = None
    for line in lines:
        if line in ("next", "again"):
            assert last is not None
            followed = (_next if line == "next" else _again)(*last)
            if followed is None:
                continue
            one = followed
        else:
            one = read(line)
        answer = ask(world, one)
        last = (one, answer)
        yield one, answer


def ask(world: World, one: Ask) -> Answer:
    """The answer to a request."""
    options: dict[str, Any] = {} if one.body is None else {"json": one.body}
    key = {} if one.anonymous else {"X-API-Key": world.key}
    return world.ask(one.text, one.method, one.target, headers={**key, **one.headers}, **options)


def _next(last: Ask, answer: Answer) -> Ask | None:
    json_answer = answer.headers["content-type"].startswith("application/json")
    cursor = _cursor(answer.json) if json_answer else answer.headers.get("x-next-cursor")
    if not cursor:
        return None
    target = re.sub(r"[?&]cursor=[^&]*", "", last.target)
    target += f"{'&' if '?' in target else '?'}cursor={quote(str(cursor), safe='')}"
    return Ask(last.text + " ~ next", last.method, target, last.body, last.headers, last.anonymous)


def _cursor(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    return value.get("next_cursor") or next(filter(None, map(_cursor, value.values())), None)


def _again(last: Ask, answer: Answer) -> Ask | None:
    if "etag" not in answer.headers:
        return None
    headers = {**last.headers, "If-None-Match": answer.headers["etag"]}
    return Ask(last.text + " ~ again", last.method, last.target, last.body, headers, last.anonymous)
