"""Engine.IO and Socket.IO packets: those of clients, those that are refused, and those of the service."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi.feeds import engineio
from finapi.feeds.engineio import ConnectPacket, DisconnectPacket, EventPacket, PacketError, Signal
from tests.support.case_tables import run_each_case


@run_each_case(
    "packet, expected",
    [
        ("1", Signal.CLOSED),
        ("3", Signal.PONG),
        ("2probe", Signal.PROBE),
        ("5", Signal.UPGRADE),
        ("6", Signal.IGNORED),
        ("40", ConnectPacket("/", {})),
        ('40{"token":"k"}', ConnectPacket("/", {"token": "k"})),
        ("40/ws/main-api,", ConnectPacket("/ws/main-api", {})),
        ("40/ws/main-api", ConnectPacket("/ws/main-api", {})),
        ('40/ws/main-api,{"token":"a,b"}', ConnectPacket("/ws/main-api", {"token": "a,b"})),
        ("40/ws/main-api?x=1,", ConnectPacket("/ws/main-api", {})),
        ("41", DisconnectPacket("/")),
        ("41/ws/13f-live,", DisconnectPacket("/ws/13f-live")),
        ('42["subscribe",{"tickers":["A"]}]', EventPacket("/", "subscribe", [{"tickers": ["A"]}], None)),
        ('42/ws/main-api,12["subscribe"]', EventPacket("/ws/main-api", "subscribe", [], "12")),
        ('4212["x",1,null]', EventPacket("/", "x", [1, None], "12")),
        ("43/ws/main-api,1[]", Signal.IGNORED),
    ],
)
def test_a_packet_of_a_client_is_parsed(packet: str, expected: object) -> None:
    assert engineio.parse_packet(packet) == expected


@run_each_case(
    "packet",
    [
        "",
        "0",
        "2",
        "7",
        "4",
        "49",
        "40[]",
        "40nonsense",
        '40{"token":',
        "42",
        "42{}",
        "42[]",
        "42[1]",
        '451-["binary",{"_placeholder":true,"num":0}]',
        "44{}",
        "5probe",
        "bAQID",
        '42["x"' + "[" * 100_000,
        '421234567890123456789["x"]',
    ],
)
def test_an_invalid_packet_is_refused(packet: str) -> None:
    with pytest.raises(PacketError):
        engineio.parse_packet(packet)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(packet: str) -> None:
    for text in (packet, "4" + packet, "42" + packet, "40/" + packet):
        try:
            engineio.parse_packet(text)
        except PacketError:
            continue


def test_packets_of_the_service_are_built() -> None:
    assert engineio.build_open("s1", ["websocket"], 20.0, 20.0, 65_536) == (
        '0{"sid":"s1","upgrades":["websocket"],"pingInterval":20000,"pingTimeout":20000,"maxPayload":65536}'
    )
    assert engineio.build_connect("/", "s1") == '40{"sid":"s1"}'
    assert engineio.build_connect("/ws/main-api", "s1") == '40/ws/main-api,{"sid":"s1"}'
    assert engineio.build_connect_error("/", "No.", 4401) == '44{"message":"No.","data":{"code":4401}}'
    assert engineio.build_disconnect("/ws/main-api") == "41/ws/main-api,"
    assert engineio.build_event("/ws/main-api", "new_filing", '{"seq":1}') == (
        '42/ws/main-api,["new_filing",{"seq":1}]'
    )
    assert engineio.build_ack("/", "7", "{}") == "437[{}]"


def test_a_polling_body_holds_packets_between_separators() -> None:
    assert engineio.split_packets("40\x1e3") == ["40", "3"]
    assert engineio.join_packets(["6", "2"]) == "6\x1e2"


@pytest.mark.parametrize("body", ["", "\x1e" * 64])
def test_a_polling_body_of_nothing_or_of_too_much_is_refused(body: str) -> None:
    with pytest.raises(PacketError, match="from 1 to 64 packets"):
        engineio.split_packets(body)


@given(st.lists(st.text(st.characters(exclude_characters="\x1e"), min_size=1), min_size=1, max_size=64))
def test_packets_come_out_of_a_body_as_they_went_in(packets: list[str]) -> None:
    assert engineio.split_packets(engineio.join_packets(packets)) == packets


def test_an_event_of_any_text_is_read_back_by_the_same_rules() -> None:
    data = json.dumps({"company_name": 'a "b" \\ \x1e é'})
    assert engineio.parse_packet(engineio.build_event("/x", "new_filing", data)) == EventPacket(
        "/x", "new_filing", [json.loads(data)], None
    )
