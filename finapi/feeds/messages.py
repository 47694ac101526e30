"""What a feed says, spelled once for all who read it, and what a reader may say to a feed."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from finapi.edgar import tickers
from finapi.errors import ApiError, invalid_param
from finapi.events import About, Event
from finapi.feeds import engineio

MAX_WORDS = 1_000  # tickers, CIKs or form types of one filter
_LISTS = ("tickers", "ciks", "form_types")


class Message:
    """A message of a feed, encoded for each protocol when the first reader wants it, and kept for the rest."""

    __slots__ = ("_forms", "about", "name", "seq", "text")

    def __init__(self, seq: int, name: str, about: About, text: str) -> None:
        self.seq = seq
        self.name = name
        self.about = about
        self.text = text
        self._forms: dict[str, str | bytes] = {}

    def frame(self) -> bytes:
        """As a WebSocket message."""
        return self._form("frame", lambda: text_frame(self.text))  # type: ignore[return-value]

    def server_sent(self) -> bytes:
        """As a Server-Sent Event; its id is what a browser sends back when it reconnects."""
        return self._form(  # type: ignore[return-value]
            "sse", lambda: f"id: {self.seq}\nevent: {self.name}\ndata: {self.text}\n\n".encode()
        )

    def packet(self, namespace: str) -> str:
        """As an Engine.IO packet to a namespace."""
        return self._form(  # type: ignore[return-value]
            namespace, lambda: engineio.event(namespace, self.name, self.text)
        )

    def packet_frame(self, namespace: str) -> bytes:
        """That packet as a WebSocket message."""
        return self._form(  # type: ignore[return-value]
            "frame" + namespace, lambda: text_frame(self.packet(namespace))
        )

    def _form(self, kind: str, make: Any) -> str | bytes:
        form = self._forms.get(kind)
        if form is None:
            form = self._forms[kind] = make()
        return form


def of_event(event: Event, *, catching_up: bool) -> Message:
    """The message of an event of the journal (CONTRACT 10)."""
    beside = ',"is_catchup":true' if catching_up else ""
    text = (
        f'{{"type":"{event.type}","seq":{event.seq},"occurred_at":{json.dumps(event.occurred_at)},'
        f'"data":{event.data}{beside}}}'
    )
    return Message(event.seq, event.type, event.about, text)


def gap(seq: int, now: str, reason: str, which: Mapping[str, int]) -> Message:
    """The message that says which numbers a reader asked for in vain, and why; it goes on after ``seq``."""
    return told("gap", {**which, "reason": reason}, seq=seq, occurred_at=now)


def told(name: str, data: Mapping[str, Any], **beside: Any) -> Message:
    """A message that is no event: an answer to what a reader said."""
    text = json.dumps({"type": name, **beside, "data": data}, ensure_ascii=False, separators=(",", ":"))
    return Message(beside.get("seq", 0), name, About(), text)


def wrong(error: ApiError) -> Message:
    """The message that says what was wrong with what a reader said."""
    said = {
        "code": error.code,
        "message": error.message,
        **({"details": error.details} if error.details else {}),
    }
    return told("error", said)


def text_frame(text: str) -> bytes:
    """A WebSocket text message in one frame, as a server sends it (RFC 6455 section 5.2)."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return b"\x81" + bytes((size,)) + payload
    if size < 65_536:
        return b"\x81\x7e" + struct.pack("!H", size) + payload
    return b"\x81\x7f" + struct.pack("!Q", size) + payload


# ---- what a reader says


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events a reader wants: of these companies (any of both lists) and of these form types.

    A list that is empty leaves nothing out.
    """

    tickers: frozenset[str] = frozenset()
    ciks: frozenset[str] = frozenset()
    form_types: frozenset[str] = frozenset()

    def wants(self, about: About) -> bool:
        """Whether an event about this passes."""
        if self.form_types and about.form_type not in self.form_types:
            return False
        if not (self.tickers or self.ciks):
            return True
        return not (self.tickers.isdisjoint(about.tickers) and self.ciks.isdisjoint(about.ciks))

    def with_lists(self, said: Mapping[str, Any]) -> Filter:
        """This and the lists of a ``subscribe``; INVALID_PARAM for one that is none, or grows too long."""
        lists = {name: getattr(self, name) | words for name, words in _lists(said).items()}
        for name, words in lists.items():
            if len(words) > MAX_WORDS:
                raise invalid_param(name, f"A filter holds at most {MAX_WORDS} {name}.", expected="fewer")
        return replace(self, **lists)

    def without_lists(self, said: Mapping[str, Any]) -> Filter:
        """This less the lists of an ``unsubscribe``; one that names nothing takes the whole filter away."""
        lists = _lists(said)
        if not lists:
            return Filter()
        return replace(self, **{name: getattr(self, name) - words for name, words in lists.items()})

    def described(self) -> dict[str, list[str]]:
        """The lists, sorted."""
        return {name: sorted(getattr(self, name)) for name in _LISTS}


def _lists(said: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    found = {}
    for name in _LISTS:
        words = said.get(name)
        if words is None:
            continue
        if isinstance(words, str):  # of a query
            words = [word for word in words.split(",") if word.strip()]
        if (
            not isinstance(words, list)
            or len(words) > MAX_WORDS
            or not all(isinstance(w, str) for w in words)
        ):
            raise invalid_param(name, f"{name} must be a list of texts.", expected="list of texts")
        found[name] = frozenset(_word(name, word) for word in words)
    return found


def _word(name: str, word: str) -> str:
    word = word.strip()
    try:
        if name == "tickers":
            return tickers.fold(word)
        if name == "ciks" and re.fullmatch("[0-9]{1,10}", word):
            return word.zfill(10)
        if name == "form_types" and re.fullmatch("[!-~ ]{1,30}", word):
            return word.upper()
    except ValueError:
        pass
    raise invalid_param(name, f"{name} holds what is none of them.", expected=name)


def since_seq(value: Any) -> int | None:
    """The number after which a reader wants to go on, None when it names none; INVALID_PARAM otherwise."""
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,15}", text):
        raise invalid_param("since_seq", "since_seq must be a whole number.", expected="integer")
    return int(text)


def unknown_verb() -> ApiError:
    """The error for a message that is neither of the two that a reader may send."""
    allowed = ["subscribe", "unsubscribe"]
    return invalid_param("type", "A message must be of type subscribe or unsubscribe.", allowed=allowed)
