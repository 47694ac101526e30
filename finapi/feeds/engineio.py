"""Engine.IO 4 and Socket.IO 5 as text in and text out: no socket, no clock, no thread.

Engine.IO carries packets, a digit and a text each, over a WebSocket (a message each) or over long-polling (any
number in a body, between separators). A packet of the kind "message" holds a Socket.IO packet. Written from the
protocols' own descriptions: https://socket.io/docs/v4/engine-io-protocol/ and .../socket-io-protocol/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from finapi.core.json import text as text_of

OPEN, CLOSE, PING, PONG, MESSAGE, UPGRADE, NOOP = "0123456"
CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR = "01234"  # 5 and 6 are binary, which no feed takes

SEPARATOR = "\x1e"
MAX_PACKETS = 64  # of one polling body; a client of ours has nothing to say that needs more
PROBE = "probe"

# [namespace,][acknowledgement id][data]; the namespace of a packet without one is "/".
_SOCKET = re.compile(r"([0-6])(?:(/[^,\[{]*)(?:,|$))?([0-9]{1,15})?(.*)", re.DOTALL)


class Malformed(ValueError):
    """What came in is not Engine.IO or not Socket.IO; the session ends."""


class Signal(Enum):
    """A packet that says no more than its kind."""

    PONG = "the answer to a ping"
    PROBE = "a WebSocket asks whether it may take over a session"
    UPGRADE = "a WebSocket that may take over does so"
    CLOSED = "the client ends the session"
    IGNORED = "an acknowledgement or a noop, which need no answer"


@dataclass(frozen=True, slots=True)
class Joined:
    """A client asks for a namespace; ``auth`` is the object that it sent with that."""

    namespace: str
    auth: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Left:
    """A client leaves a namespace."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Said:
    """A client's event; ``ack`` is the id of the acknowledgement that it waits for."""

    namespace: str
    name: str
    values: list[Any]
    ack: str | None


Incoming = Signal | Joined | Left | Said

_PLAIN: dict[str, Incoming] = {
    CLOSE: Signal.CLOSED,
    PONG: Signal.PONG,
    PONG + PROBE: Signal.PONG,
    PING + PROBE: Signal.PROBE,
    UPGRADE: Signal.UPGRADE,
    NOOP: Signal.IGNORED,
}


def read(packet: str) -> Incoming:
    """What a packet of a client says; Malformed when it says nothing that a client may say."""
    if packet[:1] == MESSAGE:
        return _read_socket(packet[1:])
    said = _PLAIN.get(packet)
    if said is None:
        raise Malformed("not a valid Engine.IO packet")
    return said


def _read_socket(packet: str) -> Incoming:
    found = _SOCKET.fullmatch(packet)
    if found is None:
        raise Malformed("not a valid Socket.IO packet")
    kind, namespace, ack, text = found[1], found[2] or "/", found[3], found[4]
    namespace = namespace.partition("?")[0]
    if kind == DISCONNECT:
        return Left(namespace)
    if kind == ACK:
        return Signal.IGNORED
    value = _json(text) if text else None
    if kind == CONNECT and (value is None or isinstance(value, dict)):
        return Joined(namespace, value or {})
    if kind == EVENT and isinstance(value, list) and value and isinstance(value[0], str):
        return Said(namespace, value[0], value[1:], ack)
    raise Malformed("not a valid Socket.IO packet")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("the packet's data is not valid JSON") from None


def packets(body: str) -> list[str]:
    """The packets of a polling body; Malformed when there are none or too many."""
    found = body.split(SEPARATOR, MAX_PACKETS)
    if not body or len(found) > MAX_PACKETS:
        raise Malformed(f"a body must hold from 1 to {MAX_PACKETS} packets")
    return found


def body(packets: Iterable[str]) -> str:
    """A polling body of these packets."""
    return SEPARATOR.join(packets)


def opened(sid: str, upgrades: list[str], ping_seconds: float, timeout_seconds: float, most: int) -> str:
    """The packet that begins a session; ``most`` is the largest body or message that the client may send."""
    said = {
        "sid": sid,
        "upgrades": upgrades,
        "pingInterval": int(ping_seconds * 1000),
        "pingTimeout": int(timeout_seconds * 1000),
        "maxPayload": most,
    }
    return OPEN + text_of(said)


def joined(namespace: str, sid: str) -> str:
    """The packet that lets a client into a namespace."""
    return _socket(CONNECT, namespace, text_of({"sid": sid}))


def refused(namespace: str, message: str, code: int) -> str:
    """The packet that keeps a client out of a namespace (``connect_error``)."""
    return _socket(CONNECT_ERROR, namespace, text_of({"message": message, "data": {"code": code}}))


def left(namespace: str) -> str:
    """The packet that puts a client out of a namespace."""
    return _socket(DISCONNECT, namespace, "")


def event(namespace: str, name: str, data: str) -> str:
    """An event with one value, given as JSON text."""
    return _socket(EVENT, namespace, f"[{text_of(name)},{data}]")


def acknowledged(namespace: str, ack: str, data: str) -> str:
    """The acknowledgement of a client's event with one value, given as JSON text."""
    return _socket(ACK, namespace, f"{ack}[{data}]")


def _socket(kind: str, namespace: str, text: str) -> str:
    return MESSAGE + kind + ("" if namespace == "/" else namespace + ",") + text
