"""Answers as they are kept: without what no two calls share, and with the sentences apart."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from typing import Any

from tests.client import Answer
from tests.golden import exact

SENTENCE = "<sentence>"

# Members whose text is for people when it has a blank in it.
_FOR_PEOPLE = {
    "description",
    "detail",
    "details",
    "disclaimer",
    "error_message",
    "explanation",
    "expected",
    "features",
    "formula_text",
    "help",
    "hint",
    "label_text",
    "linkMsg",
    "meaning",
    "message",
    "note",
    "notes",
    "purpose",
    "reason",
    "statement",
    "summary",
    "text",
    "warning",
    "warnings",
    "why",
}
# Where such a text is what a filer wrote.
_FILED = {"data_files", "document_files", "footnote", "footnotes", "remarks"}
# Where such a text is made of names.
_NAMES = {"formula"}
# Paths of answers about the service itself and its data: every text with blanks is for people.
_DOCUMENTS = ("/api/v1/policy", "/api/v1/plans/", "/api/v1/xbrl/dictionary", "/api/v1/status")
# What a metric is, told beside its figures; the definitions of a filing's sections are the filer's.
_PROOF = "/api/v1/xbrl/proof"

# Headers that every answer has with the same value: told where they are missing or different.
_USUAL = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}
_ORIGIN = {"access-control-allow-origin": "*"}
# Of which only their presence is kept.
_PRESENT = {"etag", "x-ratelimit-remaining", "x-ratelimit-reset", "access-control-expose-headers"}
# What differs from call to call, or follows from the body.
_LEFT_OUT = {"x-request-id", "content-length", "date"}

# Characters of a body that is kept whole.
MOST = 33_000

_VOLATILE = {"request_id": "<id>", "duration_ms": "<ms>"}


class Record:
    """An answer as it is kept, and its sentences by where they stand."""

    def __init__(self, request: str, target: str, answer: Answer) -> None:
        self.request = request
        self.sentences: dict[str, str] = {}
        self._all = target.startswith(_DOCUMENTS)
        self._people = _FOR_PEOPLE | ({"definition"} if target.startswith(_PROOF) else set())
        self._plain = target.partition("?")[0].endswith("/html")
        self.kept: dict[str, Any] = {
            "request": request,
            "status": exact.Number(str(answer.status)),
            "headers": _headers(answer.headers),
        }
        assert "x-request-id" in answer.headers, request
        body = self._body(target, answer)
        if body is not None:
            whole = exact.short(body)
            self.kept["body"] = body if len(whole) <= MOST else _outline(whole, body)

    @classmethod
    def of_value(cls, name: str, value: Any) -> Record:
        """A value that no request was answered with: a mail, what became of a document."""
        made = cls.__new__(cls)
        made.request, made.sentences, made._all, made._people = name, {}, False, _FOR_PEOPLE
        made.kept = {"request": name, "body": made._told(value, ())}
        return made

    def _body(self, target: str, answer: Answer) -> Any:
        kind = answer.headers.get("content-type", "")
        if not answer.body:
            return None
        text = answer.body.decode()
        if kind.startswith("application/json"):
            return self._told(exact.load(text), ())
        if kind.startswith("application/x-ndjson"):
            return self._told([exact.load(line) for line in text.splitlines()], ())
        if target == "/metrics":
            return _figures(text)
        if target.startswith("/static/"):
            return None
        if kind.startswith("text/html") and not self._plain:
            # A page for people: its tests say what stands on it, here that it is there.
            return re.findall(r"<h1>.*?</h1>", text, flags=re.DOTALL)
        markup = kind.startswith(("application/rss", "application/atom", "image/svg"))
        return self._page(text) if markup else text.splitlines()

    def _told(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {
                name: _VOLATILE[name] if name in _VOLATILE and one is not None else self._told(one, (*path, name))
                for name, one in value.items()
            }
        if isinstance(value, list):
            return [self._told(one, (*path, str(at))) for at, one in enumerate(value)]
        if isinstance(value, str) and self._for_people(value, path):
            self.sentences[".".join(path)] = value
            return SENTENCE
        return value

    def _for_people(self, text: str, path: tuple[str, ...]) -> bool:
        if " " not in text.strip() or _FILED.intersection(path):
            return False
        names = [name for name in path if not name.isdigit()]
        name = names[-1] if names else ""
        return name in self._people or (self._all and name not in _NAMES)

    def _page(self, text: str) -> list[str]:
        page = _Page()
        page.feed(text)
        page.close()
        self.sentences.update(page.sentences)
        return page.lines


class _Page(HTMLParser):
    """The elements of a page, a line each, and its texts by the line of their element."""

    _EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})
    _TEXTS = frozenset({"alt", "aria-label", "content", "placeholder", "title"})

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.sentences: dict[str, str] = {}
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        shown = ""
        for name, value in attrs:
            if name in self._TEXTS and value and " " in value:
                self._say(value, f"{len(self.lines)} {name}")
                value = SENTENCE
            shown += f" {name}" if value is None else f' {name}="{value}"'
        self.lines.append(" " * self._depth + f"<{tag}{shown}>")
        if tag not in self._EMPTY:
            self._depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self._EMPTY:
            self._depth -= 1

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._EMPTY:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if data.strip():
            self._say(" ".join(data.split()), f"{len(self.lines) - 1}")

    def _say(self, text: str, place: str) -> None:
        at, number = place, 1
        while at in self.sentences:
            number += 1
            at = f"{place} #{number}"
        self.sentences[at] = text


def _headers(headers: dict[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in headers.items():
        if name in _LEFT_OUT or _USUAL.get(name) == value or _ORIGIN.get(name) == value:
            continue
        kept[name] = "<present>" if name in _PRESENT else value
    kept.update({name: "<missing>" for name in _USUAL if name not in headers})
    return kept


def _figures(text: str) -> list[str]:
    """The figures of /metrics by name and labels, without their values; without how long things took."""
    lines = {re.sub(r" \S+$", "", line) for line in text.splitlines() if not line.startswith("# HELP")}
    return sorted(line for line in lines if "_bucket{" not in line)


def _outline(whole: str, body: Any) -> dict[str, Any]:
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return {"characters": exact.Number(str(len(whole))), "sha256": digest, "outline": _shape(body, 3)}


def _shape(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        if depth and value and isinstance(value[0], dict | list):
            return {"entries": exact.Number(str(len(value))), "first": _shape(value[0], depth - 1)}
        return f"{len(value)} entries"
    if isinstance(value, dict):
        if not depth:
            return f"{len(value)} members"
        return {name: _shape(one, depth - 1) for name, one in value.items()}
    return value
