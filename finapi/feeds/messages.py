"""What a feed says, spelled once for all who read it, and what a reader may say to a feed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from finapi.core import json
from finapi.core.errors import ApiError, invalid_param
from finapi.delivery.events import Event, EventTags
from finapi.edgar import tickers
from finapi.feeds import engineio

MAX_WORDS = 1_000  # tickers, CIKs or form types of one filter
_LISTS = ("tickers", "ciks", "form_types")


class FeedMessage:
    """A message of a feed, encoded for each protocol when the first reader wants it, and kept for the rest."""

    __slots__ = ("_encoded", "_packets", "about", "epoch", "name", "seq", "text")

    def __init__(self, epoch: int, seq: int, name: str, about: EventTags, text: str) -> None:
        self.epoch = epoch
        self.seq = seq
        self.name = name
        self.about = about
        self.text = text
        self._packets: dict[str, str] = {}
        self._encoded: dict[str, bytes] = {}

    def frame(self) -> bytes:
        """As a WebSocket message."""
        return self._encode("frame", lambda: text_frame(self.text))

    def server_sent(self) -> bytes:
        """As a Server-Sent Event; its id is what a browser sends back when it reconnects (:func:`split_id`)."""
        begun = f"id: {self.epoch}-{self.seq}\nevent: {self.name}\n"
        return self._encode("sse", lambda: f"{begun}data: {self.text}\n\n".encode())

    def packet(self, namespace: str) -> str:
        """As an Engine.IO packet to a namespace."""
        packet = self._packets.get(namespace)
        if packet is None:
            packet = self._packets[namespace] = engineio.event(namespace, self.name, self.text)
        return packet

    def packet_frame(self, namespace: str) -> bytes:
        """That packet as a WebSocket message."""
        return self._encode(namespace, lambda: text_frame(self.packet(namespace)))

    def _encode(self, protocol: str, encode: Callable[[], bytes]) -> bytes:
        encoded = self._encoded.get(protocol)
        if encoded is None:
            encoded = self._encoded[protocol] = encode()
        return encoded


def of_event(event: Event, *, catching_up: bool) -> FeedMessage:
    """The message of an event of the journal (DECISIONS 10)."""
    beside = ',"is_catchup":true' if catching_up else ""
    text = (
        f'{{"type":"{event.type}","seq":{event.seq},"epoch":{event.epoch},'
        f'"occurred_at":{json.text(event.occurred_at)},"data":{event.data}{beside}}}'
    )
    return FeedMessage(event.epoch, event.seq, event.type, event.tags, text)


def gap(epoch: int, seq: int, now: str, reason: str, which: Mapping[str, int]) -> FeedMessage:
    """The message that says which numbers a reader asked for in vain, and why; it goes on after ``seq``."""
    return reply("gap", {**which, "reason": reason}, seq=seq, epoch=epoch, occurred_at=now)


def reply(name: str, data: Mapping[str, Any], **beside: Any) -> FeedMessage:
    """A message that is no event: an answer to what a reader said."""
    text = json.text({"type": name, **beside, "data": data})
    return FeedMessage(beside.get("epoch", 0), beside.get("seq", 0), name, EventTags(), text)


def error_reply(error: ApiError) -> FeedMessage:
    """The message that says what was wrong with what a reader said."""
    said = {"code": error.code, "message": error.message, **({"details": error.details} if error.details else {})}
    return reply("error", said)


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

    def wants(self, about: EventTags) -> bool:
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
                raise invalid_param(name, f"A filter may contain at most {MAX_WORDS} {name}.", expected="fewer")
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
        if not isinstance(words, list) or len(words) > MAX_WORDS or not all(isinstance(w, str) for w in words):
            raise invalid_param(name, f"{name} must be a list of strings.", expected="list of texts")
        found[name] = frozenset(_word(name, word) for word in words)
    return found


def _word(name: str, word: str) -> str:
    word = word.strip()
    try:
        if name == "tickers":
            return tickers.normalise(word)
        if name == "ciks" and re.fullmatch("[0-9]{1,10}", word):
            return word.zfill(10)
        if name == "form_types" and re.fullmatch("[!-~ ]{1,30}", word):
            return word.upper()
    except ValueError:
        pass
    raise invalid_param(name, f"{name} holds an invalid value.", expected=name)


@dataclass(frozen=True, slots=True)
class Since:
    """How far a reader has come, and in which epoch; without an epoch the present one is meant."""

    seq: int
    epoch: int | None = None


def since(said: Mapping[str, Any]) -> Since | None:
    """Where a reader wants to go on by its ``since_seq`` and ``epoch``, None when it names no number.

    INVALID_PARAM for what are no whole numbers.
    """
    seq, epoch = _number(said, "since_seq"), _number(said, "epoch")
    return None if seq is None else Since(seq, epoch)


def split_id(text: str) -> dict[str, str]:
    """The ``since_seq`` and ``epoch`` that the id of a Server-Sent Event stands for; before epochs it was a number."""
    epoch, _, seq = text.rpartition("-")
    return {"since_seq": seq, "epoch": epoch}


def _number(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,15}", text):
        raise invalid_param(name, f"{name} must be a whole number.", expected="integer")
    return int(text)
