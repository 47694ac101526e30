"""The messages of the feeds, and the filter and the position that a reader can request."""

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

MAX_FILTER_VALUES = 1_000  # The maximum number of values in one list of a filter.
_LISTS = ("tickers", "ciks", "form_types")


class FeedMessage:
    """A message of a feed. It is encoded for each protocol when the first reader needs that, and then reused."""

    __slots__ = ("_encoded", "_packets", "epoch", "name", "seq", "tags", "text")

    def __init__(self, epoch: int, seq: int, name: str, tags: EventTags, text: str) -> None:
        self.epoch = epoch
        self.seq = seq
        self.name = name
        self.tags = tags
        self.text = text
        self._packets: dict[str, str] = {}
        self._encoded: dict[str, bytes] = {}

    def to_frame(self) -> bytes:
        """Return the message as a WebSocket frame."""
        return self._encode("frame", lambda: encode_text_frame(self.text))

    def to_server_sent_event(self) -> bytes:
        """Return the message as a Server-Sent Event. A browser sends its id back when it reconnects."""
        head = f"id: {self.epoch}-{self.seq}\nevent: {self.name}\n"
        return self._encode("sse", lambda: f"{head}data: {self.text}\n\n".encode())

    def to_packet(self, namespace: str) -> str:
        """Return the message as an Engine.IO packet to a namespace."""
        packet = self._packets.get(namespace)
        if packet is None:
            packet = self._packets[namespace] = engineio.build_event(namespace, self.name, self.text)
        return packet

    def to_packet_frame(self, namespace: str) -> bytes:
        """Return the Engine.IO packet as a WebSocket frame."""
        return self._encode(namespace, lambda: encode_text_frame(self.to_packet(namespace)))

    def _encode(self, protocol: str, encode: Callable[[], bytes]) -> bytes:
        encoded = self._encoded.get(protocol)
        if encoded is None:
            encoded = self._encoded[protocol] = encode()
        return encoded


def build_event_message(event: Event, *, catching_up: bool) -> FeedMessage:
    """Return the message of an event (DECISIONS 10). ``catching_up`` marks events from before the reader connected."""
    catch_up_mark = ',"is_catchup":true' if catching_up else ""
    text = (
        f'{{"type":"{event.type}","seq":{event.seq},"epoch":{event.epoch},'
        f'"occurred_at":{json.text(event.occurred_at)},"data":{event.data}{catch_up_mark}}}'
    )
    return FeedMessage(event.epoch, event.seq, event.type, event.tags, text)


def build_gap(epoch: int, seq: int, now: str, reason: str, numbers: Mapping[str, int]) -> FeedMessage:
    """Return the message about event numbers that a reader cannot get, and the reason.

    The feed continues after ``seq``.
    """
    return build_reply("gap", {**numbers, "reason": reason}, seq=seq, epoch=epoch, occurred_at=now)


def build_reply(name: str, data: Mapping[str, Any], **members: Any) -> FeedMessage:
    """Return a message that is not an event, with further members before its data."""
    text = json.text({"type": name, **members, "data": data})
    return FeedMessage(members.get("epoch", 0), members.get("seq", 0), name, EventTags(), text)


def build_error(error: ApiError) -> FeedMessage:
    """Return the reply that reports an error in a message of the reader."""
    data: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        data["details"] = error.details
    return build_reply("error", data)


def encode_text_frame(text: str) -> bytes:
    """Return a WebSocket text message in one frame, as a server sends it (RFC 6455, 5.2)."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return b"\x81" + bytes((size,)) + payload
    if size < 65_536:
        return b"\x81\x7e" + struct.pack("!H", size) + payload
    return b"\x81\x7f" + struct.pack("!Q", size) + payload


# ---- filter and position


@dataclass(frozen=True, slots=True)
class Filter:
    """The events that a reader receives: those of its companies (in either list) and of its form types.

    An empty list excludes nothing.
    """

    tickers: frozenset[str] = frozenset()
    ciks: frozenset[str] = frozenset()
    form_types: frozenset[str] = frozenset()

    def matches(self, tags: EventTags) -> bool:
        """Return True if the reader receives an event with these tags."""
        if self.form_types and tags.form_type not in self.form_types:
            return False
        if not (self.tickers or self.ciks):
            return True
        return not (self.tickers.isdisjoint(tags.tickers) and self.ciks.isdisjoint(tags.ciks))

    def add(self, params: Mapping[str, Any]) -> Filter:
        """Return this filter with the values of a ``subscribe``. Raise INVALID_PARAM for wrong or too many values."""
        lists = {name: getattr(self, name) | values for name, values in _parse_lists(params).items()}
        for name, values in lists.items():
            if len(values) > MAX_FILTER_VALUES:
                message = f"A filter may contain at most {MAX_FILTER_VALUES} {name}."
                raise invalid_param(name, message, expected="fewer")
        return replace(self, **lists)

    def remove(self, params: Mapping[str, Any]) -> Filter:
        """Return this filter without the values of an ``unsubscribe``, or an empty one if it names none."""
        lists = _parse_lists(params)
        if not lists:
            return Filter()
        return replace(self, **{name: getattr(self, name) - values for name, values in lists.items()})

    def to_lists(self) -> dict[str, list[str]]:
        """Return the sorted lists by name."""
        return {name: sorted(getattr(self, name)) for name in _LISTS}


def _parse_lists(params: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the lists of a filter that ``params`` have. In a query a list is a text with commas."""
    lists = {}
    for name in _LISTS:
        values = params.get(name)
        if values is None:
            continue
        if isinstance(values, str):
            values = [value for value in values.split(",") if value.strip()]
        is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
        if not is_list or len(values) > MAX_FILTER_VALUES:
            raise invalid_param(name, f"{name} must be a list of strings.", expected="list of texts")
        lists[name] = frozenset(_parse_filter_value(name, value) for value in values)
    return lists


def _parse_filter_value(name: str, text: str) -> str:
    text = text.strip()
    try:
        if name == "tickers":
            return tickers.normalise(text)
        if name == "ciks" and re.fullmatch("[0-9]{1,10}", text):
            return text.zfill(10)
        if name == "form_types" and re.fullmatch("[!-~ ]{1,30}", text):
            return text.upper()
    except ValueError:
        pass
    raise invalid_param(name, f"{name} holds an invalid value.", expected=name)


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """The number of the last event that a reader has, in an epoch of the journal. None stands for the current epoch."""

    seq: int
    epoch: int | None = None


def parse_since(params: Mapping[str, Any]) -> FeedPosition | None:
    """Return the position of ``since_seq`` and ``epoch``, or None without ``since_seq``.

    Raise INVALID_PARAM for a value that is not a whole number.
    """
    seq = _parse_number(params, "since_seq")
    epoch = _parse_number(params, "epoch")
    return None if seq is None else FeedPosition(seq, epoch)


def parse_event_id(text: str) -> dict[str, str]:
    """Return the ``since_seq`` and ``epoch`` of the id of a Server-Sent Event. An old id may have no epoch."""
    epoch, _, seq = text.rpartition("-")
    return {"since_seq": seq, "epoch": epoch}


def _parse_number(params: Mapping[str, Any], name: str) -> int | None:
    value = params.get(name)
    if value is None or value == "":
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,15}", text):
        raise invalid_param(name, f"{name} must be a whole number.", expected="integer")
    return int(text)
