"""Recorded answers, without the parts that change from call to call, and with the sentences separate."""

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
# Members whose texts were written by filers.
_FILED = {"data_files", "document_files", "footnote", "footnotes", "remarks"}
# Members whose texts consist of names.
_NAMES = {"formula"}
# Paths of answers about the service itself and its data: every text with blanks is for people.
_DOCUMENTS = ("/api/v1/policy", "/api/v1/plans/", "/api/v1/xbrl/dictionary", "/api/v1/status")
# Answers with definitions of metrics; the definitions of a filing's sections are the filer's.
_PROOF = "/api/v1/xbrl/proof"

# Headers that every answer has with the same value; recorded only where they are missing or different.
_USUAL = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}
_ORIGIN = {"access-control-allow-origin": "*"}
# Headers of which only the presence is recorded.
_PRESENCE_ONLY = {"etag", "x-ratelimit-remaining", "x-ratelimit-reset", "access-control-expose-headers"}
# Headers that differ from call to call, or follow from the body.
_OMITTED = {"x-request-id", "content-length", "date"}

# Maximum length of a body that is recorded in full.
MAX_CHARACTERS = 33_000

_VOLATILE = {"request_id": "<id>", "duration_ms": "<ms>"}


class Record:
    """An answer as it is recorded, and its sentences by the path of their member, without positions in lists."""

    def __init__(self, request: str, target: str, answer: Answer) -> None:
        self.request = request
        self.sentences: dict[str, set[str]] = {}
        self._all = target.startswith(_DOCUMENTS)
        self._people = _FOR_PEOPLE | ({"definition"} if target.startswith(_PROOF) else set())
        self._plain = target.partition("?")[0].endswith("/html")
        self.record: dict[str, Any] = {
            "request": request,
            "status": exact.Number(str(answer.status)),
            "headers": _select_headers(answer.headers),
        }
        assert "x-request-id" in answer.headers, request
        body = self._build_body(target, answer)
        if body is not None:
            body_text = exact.dump_line(body)
            self.record["body"] = body if len(body_text) <= MAX_CHARACTERS else _build_outline(body_text, body)

    @classmethod
    def from_value(cls, name: str, value: Any) -> Record:
        """Return a record of a value that is not an answer, such as a mail or the outcome of a document."""
        record = cls.__new__(cls)
        record.request, record.sentences, record._all, record._people = name, {}, False, _FOR_PEOPLE
        record.record = {"request": name, "body": record._strip_sentences(value, ())}
        return record

    def _build_body(self, target: str, answer: Answer) -> Any:
        kind = answer.headers.get("content-type", "")
        if not answer.body:
            return None
        text = answer.body.decode()
        if kind.startswith("application/json"):
            return self._strip_sentences(exact.load(text), ())
        if kind.startswith("application/x-ndjson"):
            return self._strip_sentences([exact.load(line) for line in text.splitlines()], ())
        if target == "/metrics":
            return _list_metric_names(text)
        if target.startswith("/static/"):
            return None
        if kind.startswith("text/html") and not self._plain:
            # The contents of pages have their own tests; here the headings are enough.
            return re.findall(r"<h1>.*?</h1>", text, flags=re.DOTALL)
        markup = kind.startswith(("application/rss", "application/atom", "image/svg"))
        return self._read_markup(text) if markup else text.splitlines()

    def _strip_sentences(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {
                name: _VOLATILE[name]
                if name in _VOLATILE and member is not None
                else self._strip_sentences(member, (*path, name))
                for name, member in value.items()
            }
        if isinstance(value, list):
            return [self._strip_sentences(member, (*path, str(index))) for index, member in enumerate(value)]
        if isinstance(value, str) and self._is_for_people(value, path):
            member_path = ".".join(name for name in path if not name.isdigit())
            self.sentences.setdefault(member_path, set()).add(value)
            return SENTENCE
        return value

    def _is_for_people(self, text: str, path: tuple[str, ...]) -> bool:
        if " " not in text.strip() or _FILED.intersection(path):
            return False
        names = [name for name in path if not name.isdigit()]
        name = names[-1] if names else ""
        return name in self._people or (self._all and name not in _NAMES)

    def _read_markup(self, text: str) -> list[str]:
        page = _MarkupReader()
        page.feed(text)
        page.close()
        if page.sentences:
            self.sentences["markup"] = page.sentences
        return page.lines


class _MarkupReader(HTMLParser):
    """A parser that lists the elements of a page, one per line, and collects their texts."""

    _EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})
    _TEXTS = frozenset({"alt", "aria-label", "content", "placeholder", "title"})

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.sentences: set[str] = set()
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = ""
        for name, value in attrs:
            if name in self._TEXTS and value and " " in value:
                self.sentences.add(value)
                value = SENTENCE
            attributes += f" {name}" if value is None else f' {name}="{value}"'
        self.lines.append(" " * self._depth + f"<{tag}{attributes}>")
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
            self.sentences.add(" ".join(data.split()))


def _select_headers(headers: dict[str, str]) -> dict[str, str]:
    selected = {}
    for name, value in headers.items():
        if name in _OMITTED or _USUAL.get(name) == value or _ORIGIN.get(name) == value:
            continue
        selected[name] = "<present>" if name in _PRESENCE_ONLY else value
    selected.update({name: "<missing>" for name in _USUAL if name not in headers})
    return selected


def _list_metric_names(text: str) -> list[str]:
    """Return the names and labels of /metrics, without values and without the histograms of durations."""
    lines = {re.sub(r" \S+$", "", line) for line in text.splitlines() if not line.startswith("# HELP")}
    return sorted(line for line in lines if "_bucket{" not in line)


def _build_outline(text: str, body: Any) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"characters": exact.Number(str(len(text))), "sha256": digest, "outline": _outline_value(body, 3)}


def _outline_value(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        if depth and value and isinstance(value[0], dict | list):
            return {"entries": exact.Number(str(len(value))), "first": _outline_value(value[0], depth - 1)}
        return f"{len(value)} entries"
    if isinstance(value, dict):
        if not depth:
            return f"{len(value)} members"
        return {name: _outline_value(member, depth - 1) for name, member in value.items()}
    return value
