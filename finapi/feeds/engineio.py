"""Engine.IO 4 and Socket.IO 5: parsing and writing of packets as text. It uses no socket, clock or thread.

An Engine.IO packet is a digit (its kind) and a text. Over a WebSocket each packet is a message. Over long-polling a
body contains any number of packets with separators between them. An Engine.IO packet of the kind "message" contains a
Socket.IO packet, for example ``42/ws/filings,["subscribe",{"tickers":["AAPL"]}]``: message (4), event (2), namespace,
and JSON.

Sources: https://socket.io/docs/v4/engine-io-protocol/ and https://socket.io/docs/v4/socket-io-protocol/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from finapi.core.json import text as to_json

# Kinds of Engine.IO packets.
OPEN, CLOSE, PING, PONG, MESSAGE, UPGRADE, NOOP = "0123456"
# Kinds of Socket.IO packets. 5 and 6 are binary, which no feed accepts.
CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR = "01234"

SEPARATOR = "\x1e"
MAX_PACKETS = 64  # Packets in a polling body. Clients of the feeds never need more.
PROBE = "probe"

# The syntax is kind[namespace,][acknowledgement id][data]. A packet without a namespace belongs to "/".
_SOCKET_IO_PACKET = re.compile(r"([0-6])(?:(/[^,\[{]*)(?:,|$))?([0-9]{1,15})?(.*)", re.DOTALL)


class PacketError(ValueError):
    """Input that is not Engine.IO or not Socket.IO. It ends the session."""


class Signal(Enum):
    """A packet without content."""

    PONG = "the answer to a ping"
    PROBE = "a WebSocket asks if it may take over a session"
    UPGRADE = "a WebSocket takes over a session, as it may"
    CLOSED = "the client ends the session"
    IGNORED = "an acknowledgement or a noop, which need no answer"


@dataclass(frozen=True, slots=True)
class ConnectPacket:
    """A request to join a namespace, with the object ``auth`` that the client sent."""

    namespace: str
    auth: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DisconnectPacket:
    """A notice that the client leaves a namespace."""

    namespace: str


@dataclass(frozen=True, slots=True)
class EventPacket:
    """An event of a client. ``ack`` is the id of the acknowledgement that it waits for, or None."""

    namespace: str
    name: str
    values: list[Any]
    ack: str | None


Packet = Signal | ConnectPacket | DisconnectPacket | EventPacket

_PACKETS_WITHOUT_DATA: dict[str, Packet] = {
    CLOSE: Signal.CLOSED,
    PONG: Signal.PONG,
    PONG + PROBE: Signal.PONG,
    PING + PROBE: Signal.PROBE,
    UPGRADE: Signal.UPGRADE,
    NOOP: Signal.IGNORED,
}


# ---- from a client


def parse_packet(text: str) -> Packet:
    """Return the packet of a client. Raise PacketError if clients may not send such a packet."""
    if text[:1] == MESSAGE:
        return _parse_socket_io(text[1:])
    signal = _PACKETS_WITHOUT_DATA.get(text)
    if signal is None:
        raise PacketError("not a valid Engine.IO packet")
    return signal


def _parse_socket_io(text: str) -> Packet:
    match = _SOCKET_IO_PACKET.fullmatch(text)
    if match is None:
        raise PacketError("not a valid Socket.IO packet")
    kind, namespace_text, ack, data = match.groups()
    namespace = (namespace_text or "/").partition("?")[0]
    if kind == DISCONNECT:
        return DisconnectPacket(namespace)
    if kind == ACK:
        return Signal.IGNORED
    value = _parse_json(data) if data else None
    if kind == CONNECT and (value is None or isinstance(value, dict)):
        return ConnectPacket(namespace, value or {})
    if kind == EVENT and isinstance(value, list) and value and isinstance(value[0], str):
        return EventPacket(namespace, value[0], value[1:], ack)
    raise PacketError("not a valid Socket.IO packet")


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise PacketError("the packet's data is not valid JSON") from None


def split_packets(body: str) -> list[str]:
    """Return the packets of a polling body. Raise PacketError if there are none or too many."""
    packets = body.split(SEPARATOR, MAX_PACKETS)
    if not body or len(packets) > MAX_PACKETS:
        raise PacketError(f"a body must hold from 1 to {MAX_PACKETS} packets")
    return packets


# ---- to a client


def join_packets(packets: Iterable[str]) -> str:
    """Return a polling body with these packets."""
    return SEPARATOR.join(packets)


def build_open(
    sid: str, upgrades: list[str], ping_seconds: float, timeout_seconds: float, max_payload_bytes: int
) -> str:
    """Return the packet that begins a session. ``max_payload_bytes`` limits the bodies and messages of the client."""
    handshake = {
        "sid": sid,
        "upgrades": upgrades,
        "pingInterval": int(ping_seconds * 1000),
        "pingTimeout": int(timeout_seconds * 1000),
        "maxPayload": max_payload_bytes,
    }
    return OPEN + to_json(handshake)


def build_connect(namespace: str, sid: str) -> str:
    """Return the packet that confirms that the client has joined a namespace."""
    return _build_socket_io(CONNECT, namespace, to_json({"sid": sid}))


def build_connect_error(namespace: str, message: str, code: int) -> str:
    """Return the packet that refuses a client in a namespace."""
    return _build_socket_io(CONNECT_ERROR, namespace, to_json({"message": message, "data": {"code": code}}))


def build_disconnect(namespace: str) -> str:
    """Return the packet that removes a client from a namespace."""
    return _build_socket_io(DISCONNECT, namespace, "")


def build_event(namespace: str, name: str, data: str) -> str:
    """Return an event packet with one value, which is given as JSON text."""
    return _build_socket_io(EVENT, namespace, f"[{to_json(name)},{data}]")


def build_ack(namespace: str, ack: str, data: str) -> str:
    """Return the acknowledgement of a client's event with one value, which is given as JSON text."""
    return _build_socket_io(ACK, namespace, f"{ack}[{data}]")


def _build_socket_io(kind: str, namespace: str, text: str) -> str:
    return MESSAGE + kind + ("" if namespace == "/" else namespace + ",") + text
