"""The plain WebSocket, with the ``websockets`` package as the client and with hand-made bytes."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import socket
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.delivery import credential_replacement, events
from finapi.delivery.events import EventTags
from finapi.feeds import feed_connections, feed_loop, websocket
from finapi.feeds.hub import Hub
from tests.client import sent, token_in
from tests.conftest import NOW
from tests.feeds import SECONDS, Service, key, message, running, tell
from tests.process import eventually
from tests.support.case_tables import run_each_case

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")


def opened(url: str, **options: Any) -> ClientConnection:
    return connect(url, ping_interval=None, close_timeout=SECONDS, proxy=None, **options)


def read_to_the_end(client: ClientConnection) -> None:
    while True:
        client.recv(timeout=SECONDS)


def closing(client: ClientConnection) -> tuple[int, str]:
    """Read all messages and return the code and the reason of the close that follows them."""
    with pytest.raises(ConnectionClosed) as caught:
        read_to_the_end(client)
    received = caught.value.rcvd
    assert received is not None
    return received.code, received.reason


def said(client: ClientConnection) -> Any:
    return json.loads(client.recv(timeout=SECONDS))


# ---- authentication


@pytest.mark.parametrize("name", ["token", "apiKey"])
def test_a_key_in_the_query_opens_a_feed(service: Service, name: str) -> None:
    tell(service.app, 30)
    with opened(service.url(**{name: key(service.app)})) as client:
        assert [said(client) for _ in range(20)] == [message(seq, catching_up=True) for seq in range(11, 31)]
        tell(service.app)
        assert said(client) == message(31)


def test_a_key_in_the_header_opens_a_feed(service: Service) -> None:
    tell(service.app)
    with opened(service.url(), additional_headers={"X-API-Key": key(service.app)}) as client:
        assert said(client) == message(1, catching_up=True)


@pytest.mark.parametrize("name", ["token", "apiKey"])
def test_a_key_in_the_first_message_opens_a_feed(service: Service, name: str) -> None:
    tell(service.app, 3)
    with opened(service.url()) as client:
        service.settled(connections=1, unauthenticated=1)
        client.send(json.dumps({name: key(service.app), "since_seq": 2}))
        assert said(client) == message(3, catching_up=True)
        service.settled(connections=1, readers=1)


@pytest.mark.parametrize(
    ("feed", "type"), [("main-api", "data_ready"), ("insider-api", "insider_transaction"), ("13f-live", "13f_filing")]
)
def test_each_feed_sends_its_own_event_types(service: Service, feed: str, type: str) -> None:
    for types in events.TYPES_BY_FEED.values():
        tell(service.app, type=types[-1] if type not in types else type)
    with opened(service.url(feed, token=key(service.app))) as client:
        assert said(client) == message(1, catching_up=True, type=type)


@pytest.mark.parametrize("name", ["publish", "end_invalid"])
def test_a_failed_round_is_repeated_and_nothing_is_missed(
    service: Service, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    failed = threading.Event()
    work = getattr(Hub, name)

    def fails_once(self: Hub, *arguments: Any) -> object:
        if not failed.is_set():
            failed.set()
            raise sqlite3.OperationalError("disk I/O error")
        return work(self, *arguments)

    monkeypatch.setattr(feed_loop, "RETRY_SECONDS", 0.01)
    with opened(service.url(token=key(service.app))) as client:
        service.settled(connections=1, readers=1)
        monkeypatch.setattr(Hub, name, fails_once)
        tell(service.app)
        with service.app.db.write() as tx:
            tx.announce(users.KEYS_TOPIC)
        assert said(client) == message(1)
        assert failed.wait(SECONDS)
        eventually(lambda: service.feeds.find_problem() is None, SECONDS)


def test_a_connection_that_fails_to_subscribe_leaves_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    api_key = key(service.app)

    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(Hub, "subscribe", fails)
        with opened(service.url(token=api_key)) as client, pytest.raises(ConnectionClosed):
            client.recv(timeout=SECONDS)
    service.settled()
    with opened(service.url(token=api_key)) as client:
        service.settled(connections=1, readers=1)
        tell(service.app)
        assert said(client) == message(1)


def test_the_access_log_has_admitted_and_refused_readers(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "finapi.access"):
        with opened(service.url(token=key(service.app))):
            service.settled(connections=1, readers=1)
        with opened(service.url(token="wrong")) as refused:
            assert closing(refused)[0] == 4401
    lines = [record.fields for record in caplog.records if record.message == "feed"]  # type: ignore[attr-defined]
    uuid = lines[0]["user"]
    assert lines == [
        {"feed": "main-api", "status": 200, "address": "127.0.0.1", "user": uuid},
        {"feed": "main-api", "status": 401, "address": "127.0.0.1", "user": None},
    ]
    assert uuid is not None


def test_a_wrong_key_is_closed_with_4401(service: Service) -> None:
    with opened(service.url(token="0" * 32)) as client:
        assert closing(client) == (4401, "A valid API key is needed.")


@run_each_case("first", ["nonsense", "[]", '{"token": 5}', "{}", '{"type":"subscribe"}', "[" * 60_000])
def test_a_first_message_without_a_key_is_closed_with_4401(service: Service, first: str) -> None:
    with opened(service.url()) as client:
        client.send(first)
        assert closing(client)[0] == 4401


def test_five_seconds_of_silence_are_closed_with_4401(service: Service) -> None:
    with opened(service.url()) as client:
        service.settled(connections=1, unauthenticated=1)
        service.advance(5)
        assert closing(client)[0] == 4401


def test_over_the_limit_of_the_plan_is_closed_with_4429(service: Service) -> None:
    free = key(service.app, "free")
    with opened(service.url(token=free)):
        service.settled(connections=1, readers=1)
        with opened(service.url("13f-live", token=free)) as second:
            assert closing(second)[0] == 4429
    with opened(service.url(token=free)) as again:
        tell(service.app)
        assert said(again)["seq"] == 1


def test_a_closed_connection_frees_its_slot_immediately(service: Service) -> None:
    free = key(service.app, "free")
    tell(service.app)
    for _ in range(20):
        with opened(service.url(token=free)) as client:
            assert said(client)["seq"] == 1


def test_a_wrong_number_to_resume_after_is_closed_with_4400(service: Service) -> None:
    with opened(service.url(token=key(service.app), since_seq="x")) as client:
        assert closing(client) == (4400, "since_seq must be a whole number.")


def test_connections_without_a_key_are_bounded_for_an_address(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_unauthenticated_per_address=2), clock) as service:
        with opened(service.url()), opened(service.url()):
            service.settled(connections=2, unauthenticated=2)
            with opened(service.url()) as third:
                assert closing(third)[0] == 4429
            with opened(service.url(token=key(service.app))) as known_client:
                tell(service.app)
                assert said(known_client)["seq"] == 1
        service.settled()


def test_a_rotated_key_ends_its_connections(service: Service) -> None:
    user = users.create(service.app, "ann@example.com", "pro", NOW)
    with opened(service.url(token=user.api_key)) as client:
        service.settled(connections=1, readers=1)
        users.rotate_key(service.app, user.id, NOW)
        assert closing(client) == (4401, "A valid API key is needed.")


def test_a_credential_reset_ends_connections_of_the_old_key(service: Service) -> None:
    user = users.create(service.app, "ann@example.com", "pro", NOW)
    with opened(service.url(token=user.api_key)) as client:
        service.settled(connections=1, readers=1)
        recovery.request_password_reset(service.app, "ann@example.com", service.app.clock.now())
        recovery.run_mail_step(service.app)
        token = token_in(sent(service.app, "Set a new password")[0])
        credential_replacement.reset_password(
            service.app, token, "another horse battery", "192.0.2.1", service.app.clock.now(), replace_credentials=True
        )
        assert closing(client) == (4401, "A valid API key is needed.")


# ---- filters


def test_subscribe_and_unsubscribe_filter_on_the_server(service: Service) -> None:
    with opened(service.url(token=key(service.app))) as client:
        client.send(json.dumps({"type": "subscribe", "tickers": ["aapl"]}))
        assert said(client) == {"type": "subscribed", "data": {"tickers": ["AAPL"], "ciks": [], "form_types": []}}
        tell(service.app)
        tell(service.app, about=APPLE)
        assert said(client)["seq"] == 2
        client.send(json.dumps({"action": "unsubscribe"}))
        assert said(client)["data"] == {"tickers": [], "ciks": [], "form_types": []}
        tell(service.app)
        assert said(client)["seq"] == 3


def test_a_filter_may_be_in_the_query(service: Service) -> None:
    tell(service.app)
    tell(service.app, about=APPLE)
    with opened(service.url(token=key(service.app), ciks="320193", form_types="10-k")) as client:
        assert said(client)["seq"] == 2


@pytest.mark.parametrize(
    ("client_message", "param"),
    [
        ({"type": "subscribe", "tickers": ["?"]}, "tickers"),
        ({"type": "subscribe", "ciks": 5}, "ciks"),
        ({"type": "dance"}, "type"),
        ({}, "type"),
    ],
)
def test_a_wrong_message_does_not_end_the_connection(
    service: Service, client_message: dict[str, Any], param: str
) -> None:
    with opened(service.url(token=key(service.app))) as client:
        client.send(json.dumps(client_message))
        answer = said(client)
        assert (answer["type"], answer["data"]["code"]) == ("error", "INVALID_PARAM")
        assert answer["data"]["details"]["param"] == param
        tell(service.app)
        assert said(client)["seq"] == 1


# ---- pings and slow readers


def test_an_unanswered_ping_ends_the_connection(service: Service) -> None:
    with Raw(service, key(service.app)) as raw:
        service.settled(connections=1, readers=1)
        service.advance(20)
        assert raw.frame() == (PING, b"")
        service.advance(20)
        assert raw.close_code() == 1011


def test_an_answered_ping_keeps_the_connection(service: Service) -> None:
    with opened(service.url(token=key(service.app))) as client:
        service.settled(connections=1, readers=1)
        for seq in range(1, 4):
            service.advance(20)
            eventually(lambda: not pending_ping(service), SECONDS)
            tell(service.app)
            assert said(client)["seq"] == seq


def pending_ping(service: Service) -> bool:
    return not all(getattr(connection, "heard", True) for connection in list(service.feeds.loop.connections))


@pytest.mark.slow
def test_a_reader_that_takes_nothing_is_closed_with_1013(service: Service) -> None:
    big = {"text": "x" * 10_000}
    with Raw(service, key(service.app)) as raw:
        service.settled(connections=1, readers=1)
        tell(service.app, 3000, data=big)
        (connection,) = service.feeds.loop.connections
        eventually(lambda: len(connection.queue) > 200, SECONDS)
        assert len(connection.queue) <= 301

        def closed() -> bool:
            service.advance(1)
            return service.counts["readers"] == 0

        eventually(closed, SECONDS)
        opcode, payload = raw.frame()
        while opcode == TEXT:
            assert json.loads(payload)["data"] == big
            opcode, payload = raw.frame()
        assert (opcode, struct.unpack("!H", payload[:2])[0]) == (CLOSE, 1013)


def test_a_stop_closes_with_1001(app: App, clock: FixedClock) -> None:
    with (
        running(app, clock) as service,
        opened(service.url(token=key(app))) as client,
        opened(service.url()) as stranger,
    ):
        service.settled(connections=2, readers=1, unauthenticated=1)
        service.feeds.stop()
        assert closing(client) == (1001, "The service is stopping.")
        assert closing(stranger) == (1001, "The service is stopping.")


# ---- the handshake


@pytest.mark.parametrize("path", ["/ws/main-api", "/ws/main-api/"])
def test_a_path_may_end_in_a_slash(service: Service, path: str) -> None:
    tell(service.app)
    with opened(f"ws://{service.host}{path}?token={key(service.app)}") as client:
        assert said(client)["seq"] == 1


def test_a_feed_that_is_not_there_is_a_404_of_the_api(service: Service) -> None:
    with pytest.raises(InvalidStatus) as caught:
        opened(f"ws://{service.host}/ws/other")
    assert caught.value.response.status_code == 404


@pytest.mark.parametrize("origin", [None, "https://app.example.com", "https://evil.example.com"])
def test_without_a_list_every_origin_may_read(service: Service, origin: str | None) -> None:
    tell(service.app)
    with opened(service.url(token=key(service.app)), origin=origin) as client:
        assert said(client)["seq"] == 1


def test_an_origin_that_is_not_in_the_list_is_refused(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_origins=("https://app.example.com",)), clock) as service:
        tell(service.app)
        api_key = key(service.app)
        with opened(service.url(token=api_key), origin="https://app.example.com") as client:
            assert said(client)["seq"] == 1
        with opened(service.url(token=api_key)) as no_browser:
            assert said(no_browser)["seq"] == 1
        with pytest.raises(InvalidStatus) as caught:
            opened(service.url(token=api_key), origin="https://evil.example.com")
        assert caught.value.response.status_code == 403


def test_connections_are_bounded_in_all(make_app: Callable[..., App], clock: FixedClock) -> None:
    with running(make_app(feed_connections=1), clock) as service:
        api_key = key(service.app)
        with opened(service.url(token=api_key)):
            service.settled(connections=1, readers=1)
            with pytest.raises(InvalidStatus) as caught:
                opened(service.url(token=api_key))
            assert caught.value.response.status_code == 503


HEAD = "GET /ws/main-api HTTP/1.1\r\nHost: a\r\n{}\r\n"
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: {}\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@run_each_case(
    "fields",
    [
        "",
        UPGRADE.format(8),
        UPGRADE.format(13).replace("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="),
        UPGRADE.format(13).replace("Connection: Upgrade\r\n", ""),
        "Upgrade: h2c\r\nConnection: Upgrade\r\n",
    ],
)
def test_an_invalid_handshake_is_answered_with_an_api_error(service: Service, fields: str) -> None:
    with socket.create_connection(service.address, SECONDS) as client:
        client.sendall(HEAD.format(fields).encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"X-API-Version: " in head
    assert json.loads(body)["code"] == "BAD_REQUEST"


def test_the_handshake_is_that_of_rfc_6455(service: Service) -> None:
    with socket.create_connection(service.address, SECONDS) as client:
        client.sendall(HEAD.format(UPGRADE.format(13)).encode())
        answer = client.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in answer


# ---- RFC 6455 frame by frame: the cases of the Autobahn test suite, as bytes

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN = 0x80


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0, masked: bool = True) -> bytes:
    head = bytes(((FIN if fin else 0) | rsv << 4 | opcode,))
    mask = 0x80 if masked else 0
    size = len(payload)
    if size < 126:
        head += bytes((mask | size,))
    elif size < 65_536:
        head += bytes((mask | 126,)) + struct.pack("!H", size)
    else:
        head += bytes((mask | 127,)) + struct.pack("!Q", size)
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))


class Raw:
    """A WebSocket after its handshake, written and read as bytes."""

    def __init__(self, service: Service, key: str) -> None:
        self.socket = socket.create_connection(service.address, SECONDS)
        nonce = base64.b64encode(os.urandom(16)).decode()
        head = HEAD.format(UPGRADE.format(13).replace("dGhlIHNhbXBsZSBub25jZQ==", nonce) + f"X-API-Key: {key}\r\n")
        self.socket.sendall(head.encode())
        self.file = self.socket.makefile("rb")
        assert self.file.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
        while self.file.readline() != b"\r\n":
            pass

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def frame(self) -> tuple[int, bytes]:
        first, second = self.file.read(2)
        assert first & FIN
        assert second < 128
        size = second
        if size == 126:
            (size,) = struct.unpack("!H", self.file.read(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.file.read(8))
        return first & 0x0F, self.file.read(size)

    def text(self) -> Any:
        opcode, payload = self.frame()
        assert opcode == TEXT
        return json.loads(payload)

    def close_code(self) -> int:
        opcode, payload = self.frame()
        assert opcode == CLOSE
        return int(struct.unpack("!H", payload[:2])[0])

    def ended(self) -> bool:
        return self.file.read() == b""


@pytest.fixture
def raw(service: Service) -> Iterator[Raw]:
    with Raw(service, key(service.app)) as raw:
        yield raw


SUBSCRIBE = json.dumps({"type": "subscribe", "tickers": ["AAPL"]}).encode()
SUBSCRIBED = {"type": "subscribed", "data": {"tickers": ["AAPL"], "ciks": [], "form_types": []}}


def test_a_message_in_one_frame(raw: Raw) -> None:
    raw.send(frame(TEXT, SUBSCRIBE))
    assert raw.text() == SUBSCRIBED


def test_a_message_byte_by_byte(raw: Raw) -> None:
    for byte in frame(TEXT, SUBSCRIBE):
        raw.send(bytes((byte,)))
    assert raw.text() == SUBSCRIBED


def test_a_message_in_fragments_with_pings_between(raw: Raw) -> None:
    pieces = [SUBSCRIBE[index : index + 1] for index in range(len(SUBSCRIBE))]
    raw.send(frame(TEXT, pieces[0], fin=False))
    for piece in pieces[1:-1]:
        raw.send(frame(CONT, piece, fin=False), frame(PING, piece))
        assert raw.frame() == (PONG, piece)
    raw.send(frame(CONT, pieces[-1]))
    assert raw.text() == SUBSCRIBED


def test_fragments_without_a_byte_are_fragments(raw: Raw) -> None:
    raw.send(frame(TEXT, b"", fin=False), frame(CONT, SUBSCRIBE, fin=False), frame(CONT, b""))
    assert raw.text() == SUBSCRIBED


@pytest.mark.parametrize("payload", [b"", b"hello", bytes(range(125))])
def test_a_ping_is_answered_with_its_own_bytes(raw: Raw, payload: bytes) -> None:
    raw.send(frame(PING, payload))
    assert raw.frame() == (PONG, payload)


def test_ten_pings_have_ten_pongs_in_order(raw: Raw) -> None:
    raw.send(*(frame(PING, bytes((number,))) for number in range(10)))
    assert [raw.frame() for _ in range(10)] == [(PONG, bytes((number,))) for number in range(10)]


def test_a_ping_inside_a_fragmented_message_is_answered_first(raw: Raw) -> None:
    raw.send(frame(TEXT, SUBSCRIBE[:9], fin=False), frame(PING, b"x"), frame(CONT, SUBSCRIBE[9:]))
    assert raw.frame() == (PONG, b"x")
    assert raw.text() == SUBSCRIBED


def test_an_unsolicited_pong_is_ignored(raw: Raw) -> None:
    raw.send(frame(PONG, b"x"), frame(PING))
    assert raw.frame() == (PONG, b"")


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([frame(TEXT, b"x", rsv=1)], id="reserved bit 1"),
        pytest.param([frame(TEXT, b"x", rsv=2)], id="reserved bit 2"),
        pytest.param([frame(PING, b"x", rsv=4)], id="reserved bit 3"),
        *(pytest.param([frame(opcode)], id=f"reserved opcode {opcode}") for opcode in (3, 7, 11, 15)),
        pytest.param([frame(PING, b"x" * 126)], id="a ping of 126 bytes"),
        pytest.param([frame(CLOSE, b"\x03\xe8" + b"x" * 124)], id="a close of 126 bytes"),
        pytest.param([frame(PING, b"x", fin=False)], id="a ping in fragments"),
        pytest.param([frame(CONT, b"x")], id="a continuation of nothing"),
        pytest.param([frame(TEXT, b"x", fin=False), frame(TEXT, b"y")], id="a message inside another"),
        pytest.param([frame(TEXT, b"x", masked=False)], id="no mask"),
        pytest.param([frame(CLOSE, b"\x03")], id="a close of one byte"),
        *(
            pytest.param([frame(CLOSE, struct.pack("!H", code))], id=f"close code {code}")
            for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535)
        ),
    ],
)
def test_a_protocol_error_is_closed_with_1002(raw: Raw, frames: list[bytes]) -> None:
    raw.send(*frames)
    assert raw.close_code() == 1002
    assert raw.ended()


@pytest.mark.parametrize(
    "code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
)
def test_a_close_is_answered_with_its_own_code(raw: Raw, code: int) -> None:
    raw.send(frame(CLOSE, struct.pack("!H", code) + "Grüße".encode()))
    assert raw.close_code() == code
    assert raw.ended()


def test_a_close_without_a_code_is_answered_without_one(raw: Raw) -> None:
    raw.send(frame(CLOSE))
    assert raw.frame() == (CLOSE, b"")
    assert raw.ended()


def test_frames_after_a_close_are_ignored(raw: Raw) -> None:
    raw.send(frame(CLOSE, b"\x03\xe8"), frame(PING, b"late"), frame(TEXT, SUBSCRIBE))
    assert raw.close_code() == 1000
    assert raw.ended()


BAD_UTF8 = [
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
    b"\xf8\x88\x80\x80\x80",
    b"\xc0\xaf",
    b"\xed\xbf\xbf",
    b"\xf4\x90\x80\x80",
    b"\x80",
    b"\xfe",
    b'{"type":"\xe2\x82"}',
]


@pytest.mark.parametrize("payload", BAD_UTF8)
def test_a_text_that_is_not_utf_8_is_closed_with_1007(raw: Raw, payload: bytes) -> None:
    raw.send(frame(TEXT, payload))
    assert raw.close_code() == 1007
    assert raw.ended()


@pytest.mark.parametrize("payload", BAD_UTF8[:-1])
def test_bad_utf_8_is_found_in_any_two_fragments(service: Service, payload: bytes) -> None:
    api_key = key(service.app)
    for cut in range(1, len(payload)):
        with Raw(service, api_key) as raw:
            raw.send(frame(TEXT, payload[:cut], fin=False), frame(CONT, payload[cut:]))
            assert raw.close_code() == 1007


def test_bad_utf_8_is_found_before_the_message_ends(raw: Raw) -> None:
    raw.send(frame(TEXT, BAD_UTF8[0], fin=False))
    assert raw.close_code() == 1007


def test_a_text_that_ends_within_a_character_is_closed_with_1007(raw: Raw) -> None:
    raw.send(frame(TEXT, b'"\xe2', fin=False), frame(CONT, b"\x82"))
    assert raw.close_code() == 1007


def test_characters_may_be_split_between_fragments_at_every_byte(raw: Raw) -> None:
    text = '{"type":"\u00e9\u20ac\U0001f600"}'.encode()
    for cut in range(1, len(text)):
        raw.send(frame(TEXT, text[:cut], fin=False), frame(CONT, text[cut:]))
        assert raw.text()["type"] == "error"


def test_a_reason_that_is_not_utf_8_is_closed_with_1007(raw: Raw) -> None:
    raw.send(frame(CLOSE, b"\x03\xe8\xff"))
    assert raw.close_code() == 1007


def test_a_binary_message_is_closed_with_1003(raw: Raw) -> None:
    raw.send(frame(BINARY, SUBSCRIBE))
    assert raw.close_code() == 1003


def test_a_message_over_64_kib_is_closed_with_1009(raw: Raw) -> None:
    raw.send(frame(TEXT, SUBSCRIBE + b" " * (65_536 - len(SUBSCRIBE))))
    assert raw.text() == SUBSCRIBED
    raw.send(frame(TEXT, b" " * 65_537))
    assert raw.close_code() == 1009


def test_fragments_count_together(raw: Raw) -> None:
    raw.send(frame(TEXT, b" " * 40_000, fin=False), frame(CONT, b" " * 40_000, fin=False))
    assert raw.close_code() == 1009


def test_an_announced_size_alone_costs_nothing(raw: Raw) -> None:
    raw.send(b"\x81\xff" + struct.pack("!Q", 2**62) + b"\0\0\0\0")
    assert raw.close_code() == 1009


@pytest.mark.parametrize(
    "flood",
    [frame(PING), frame(PING, b"x" * 125), frame(CONT, fin=False)],
    ids=["empty pings", "large pings", "fragments"],
)
def test_a_flood_of_frames_is_closed_with_1008(raw: Raw, flood: bytes) -> None:
    raw.send(frame(TEXT, fin=False), flood * (int(websocket.FRAME_BURST) + 200))
    opcode, payload = raw.frame()
    while opcode == PONG:
        opcode, payload = raw.frame()
    assert (opcode, payload) == (CLOSE, struct.pack("!H", 1008) + websocket.TOO_MANY_FRAMES.encode())
    assert raw.ended()


def test_an_address_that_floods_is_excluded_for_seconds(service: Service, raw: Raw) -> None:
    raw.send(frame(PING) * (int(websocket.FRAME_BURST) + 200))
    while raw.frame()[0] == PONG:
        pass
    api_key = key(service.app, email="another@example.com")
    with pytest.raises(InvalidStatus) as refused, opened(service.url(token=api_key)):
        pass
    response = refused.value.response
    assert (response.status_code, response.headers["Retry-After"]) == (429, "10")
    expected_message = "Too many frames came from this address. Connect again in 10 seconds."
    assert json.loads(response.body)["message"] == expected_message
    service.advance(10)
    with opened(service.url(token=api_key)):
        service.settled(connections=1, readers=1)


def test_exclusions_end_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_connections, "MAX_EXCLUDED_ADDRESSES", 2)
    places = feed_connections.FeedPlaces(Config())
    for second, address in enumerate(["a", "b", "a", "c"]):
        places.exclude(address, float(second))
    assert [address for address in "abc" if places.is_excluded(address, 11.9)] == ["a", "c"]
    assert [address for address in "abc" if places.is_excluded(address, 12.0)] == ["c"]
    assert not places.is_excluded("c", 13.0)


def test_frames_of_a_patient_client_never_run_out() -> None:
    allowance = websocket.FrameAllowance(now=0.0)
    assert allowance.take(int(websocket.FRAME_BURST), 0, now=0.0)
    assert all(allowance.take(int(websocket.FRAMES_PER_SECOND), 0, now=float(second)) for second in range(1, 1_000))


def test_bytes_of_large_messages_count_as_frames() -> None:
    allowance = websocket.FrameAllowance(now=0.0)
    message_count = int(websocket.FRAME_BURST // 65)
    assert all(allowance.take(1, 65_536, now=0.0) for _ in range(message_count))
    assert not allowance.take(1, 65_536, now=0.0)


def test_a_clock_that_jumps_back_refills_nothing() -> None:
    allowance = websocket.FrameAllowance(now=100.0)
    assert allowance.take(int(websocket.FRAME_BURST), 0, now=100.0)
    assert not allowance.take(1, 0, now=0.0)


def test_a_client_that_pings_and_reads_nothing_is_closed(service: Service) -> None:
    with Raw(service, key(service.app)) as raw:
        ping = frame(PING, b"x" * 125)
        raw.socket.setblocking(False)

        def closed() -> bool:
            with contextlib.suppress(OSError):
                raw.socket.send(ping * 100)
            return service.counts["readers"] == 0

        eventually(closed, SECONDS)


def test_a_connection_cut_off_leaves_nothing(service: Service) -> None:
    raw = Raw(service, key(service.app))
    service.settled(connections=1, readers=1)
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.__exit__()
    service.settled()
