"""Keys are looked up beside the loop, a wrong one counts against its address, and nobody waits for anybody else's."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest
from websockets.sync.client import connect

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery import events
from finapi.feeds.feed_connections import ReadRequest
from finapi.feeds.feed_loop import Feeds
from finapi.feeds.hub import FeedRefusedError
from finapi.web.application import WsgiApp
from tests.conftest import NOW
from tests.feeds import SECONDS, Service, key, message, running, tell
from tests.feeds.test_event_stream import stream
from tests.feeds.test_hub import Reader
from tests.feeds.test_socketio import MAIN, Polling
from tests.feeds.test_websocket import closing, opened, said
from tests.process import eventually

WRONG = "0" * 32


class Door:
    """Feeds whose loop and whose desk do what the test says, one after the other."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.feeds = Feeds(WsgiApp(app), app.clock.monotonic)
        self.told: list[Any] = []

    def knock(self, key: str, reader: Reader, address: str = "192.0.2.1", **wanted: object) -> None:
        self.feeds._context.admit(
            ReadRequest(events.MAIN_FEED, key, address, reader, wanted),
            self.told.append,
            self.told.append,
            lambda: self.told.append("failed"),
        )

    def answer(self) -> list[Any]:
        self.feeds.keys.run_lookup_step()
        self.feeds.step(0)
        told = self.told.copy()
        self.told.clear()
        return told

    def refusal(self, key: str, address: str = "192.0.2.1") -> FeedRefusedError:
        self.knock(key, Reader(), address)
        (refused,) = self.answer()
        assert isinstance(refused, FeedRefusedError)
        return refused


@pytest.fixture
def door(make_app: Callable[..., App]) -> Any:
    door = Door(make_app(app_per_minute=2))
    yield door
    door.feeds.close()


@pytest.mark.parametrize("wrong", ["", "x", WRONG])
def test_without_a_valid_key_nobody_is_let_in(door: Door, wrong: str) -> None:
    refused = door.refusal(wrong)
    assert (refused.code, refused.reason, refused.decision) == (4401, "A valid API key is needed.", None)
    assert sum(door.feeds.count_readers().values()) == 0


def test_wrong_keys_count_against_their_address_and_a_right_one_passes_all_the_same(door: Door) -> None:
    app = door.app
    assert [door.refusal(WRONG).code for _ in range(3)] == [4401, 4401, 4429]
    refused = door.refusal(WRONG)
    assert refused.decision is not None
    assert refused.decision.build_headers(NOW)["Retry-After"] == "30"
    assert door.refusal(WRONG, "192.0.2.2").code == 4401
    door.knock(key(app), Reader())
    assert door.answer()[0].feed == events.MAIN_FEED
    # The same bucket as that of calls.
    assert not app.limiters["app"].take(("address", "192.0.2.1"), app.clock.monotonic()).allowed


def test_who_hangs_up_before_the_answer_has_tried_a_key_all_the_same(door: Door) -> None:
    gone = Reader()
    gone.is_open = False
    for _ in range(3):
        door.knock(WRONG, gone)
        assert door.answer() == []
    assert door.refusal(WRONG).code == 4429
    door.knock(key(door.app), gone)
    assert door.answer() == []
    assert sum(door.feeds.count_readers().values()) == 0


def test_a_wrong_parameter_is_refused_before_the_key_is_looked_at(door: Door) -> None:
    door.knock(WRONG, Reader(), since_seq="x")
    (refused,) = door.told
    assert (refused.code, len(door.feeds.keys._lookups)) == (4400, 0)


def test_a_key_that_changed_while_it_was_looked_up_is_looked_up_again(door: Door) -> None:
    app = door.app
    user = users.create(app, "ann@example.com", "pro", NOW)
    door.knock(user.api_key, Reader())
    door.feeds.keys.run_lookup_step()
    users.rotate_key(app, user.id, NOW)
    assert door.answer() == []
    (refused,) = door.answer()
    assert refused.code == 4401


def test_a_key_that_cannot_be_looked_up_is_nobodys_fault(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            users, "find_caller_by_api_key", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("I/O"))
        )
        door.knock(WRONG, Reader())
        assert door.answer() == ["failed"]
    assert [door.refusal(WRONG).code for _ in range(2)] == [4401, 4401]


# ---- over sockets


def test_the_loop_looks_up_no_key(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    threads, look_up = [], users.find_caller_by_api_key

    def recorded(*asked: Any) -> Any:
        threads.append(threading.current_thread().name)
        return look_up(*asked)

    monkeypatch.setattr(users, "find_caller_by_api_key", recorded)
    user = users.create(service.app, "ann@example.com", "pro", NOW)
    with opened(service.url(token=user.api_key)) as client:
        service.settled(connections=1, readers=1)
        users.rotate_key(service.app, user.id, NOW)
        assert closing(client)[0] == 4401
    assert set(threads) == {"finapi-test-feed-keys"}


def held_back(service: Service) -> None:
    """Let the test alone answer what is asked of the desk."""
    service.keys.stop()


def asked(service: Service) -> None:
    eventually(lambda: len(service.feeds.keys._lookups) >= 1, SECONDS)


def test_others_are_served_while_a_key_is_looked_up(service: Service) -> None:
    tell(service.app)
    mine = key(service.app)
    with opened(service.url(token=mine)) as first:
        assert said(first)["seq"] == 1
        held_back(service)
        with opened(service.url(token=mine)) as second:
            asked(service)
            tell(service.app)
            assert said(first)["seq"] == 2
            service.feeds.keys.run_lookup_step()
            assert [said(second)["seq"] for _ in range(2)] == [1, 2]


def test_messages_behind_the_key_wait_for_its_answer(service: Service) -> None:
    held_back(service)
    with opened(service.url()) as client:
        client.send(json.dumps({"token": key(service.app)}))
        client.send(json.dumps({"type": "subscribe", "tickers": ["AAPL"]}))
        asked(service)
        service.feeds.keys.run_lookup_step()
        assert said(client)["data"] == {"tickers": ["AAPL"], "ciks": [], "form_types": []}


@pytest.mark.parametrize("messages", [["{}"] * 65, ["x" * 40_000] * 2])
def test_more_messages_than_wait_end_the_connection(service: Service, messages: list[str]) -> None:
    held_back(service)
    with opened(service.url(token=key(service.app))) as client:
        asked(service)
        for one in messages:
            client.send(one)
        assert closing(client)[0] == 4429
        service.feeds.keys.run_lookup_step()
    service.settled()


def test_a_key_that_is_not_looked_up_in_five_seconds_is_to_be_sent_again_later(service: Service) -> None:
    held_back(service)
    with opened(service.url(token=key(service.app))) as client:
        asked(service)
        service.advance(5)
        assert closing(client) == (1013, "The service is busy.")
        service.feeds.keys.run_lookup_step()
    service.settled()


def test_a_client_that_goes_before_the_answer_leaves_nothing(service: Service) -> None:
    held_back(service)
    with opened(service.url(token=key(service.app))):
        asked(service)
    service.settled()
    service.feeds.keys.run_lookup_step()
    service.settled()


def test_packets_behind_a_key_wait_for_its_answer(service: Service) -> None:
    tell(service.app)
    held_back(service)
    polling, mine = Polling(service), json.dumps({"token": key(service.app)})
    insider = f"/ws/insider-api,{mine}"
    assert polling.post(f'40{MAIN},{mine}\x1e40{insider}\x1e42{MAIN},7["subscribe",{{"tickers":["aapl"]}}]') == 200
    asked(service)
    assert len(service.feeds.keys._lookups) == 1

    def answered() -> bool:
        service.feeds.keys.run_lookup_step()
        return service.counts["readers"] == 2

    eventually(answered, SECONDS)
    told = [packet[: packet.index(",")] for packet in polling.get()[2].split("\x1e")]
    assert told == [f"40{MAIN}", f"42{MAIN}", "40/ws/insider-api", f"43{MAIN}"]


def test_more_packets_than_wait_end_the_session(service: Service) -> None:
    held_back(service)
    polling = Polling(service)
    assert polling.post("40/ws/main-api,{}") == 200
    assert polling.post("\x1e".join(["40/ws/insider-api,{}"] * 65)) == 400
    service.settled()
    service.feeds.keys.run_lookup_step()


def test_an_address_without_attempts_left_is_told_so_by_every_transport(
    make_app: Callable[..., App], clock: FixedClock
) -> None:
    with running(make_app(app_per_minute=1), clock) as service:
        with opened(service.url(token=WRONG)) as client:
            assert closing(client)[0] == 4401
        with opened(service.url(token=WRONG)) as client:
            assert closing(client) == (4429, "Too many requests. Try again later.")
        with stream(service, f"feed=main-api&token={WRONG}") as refused:
            assert refused.answer.status == 429
            assert refused.answer.headers["Retry-After"] == "60"
            assert json.loads(refused.answer.read())["code"] == "RATE_LIMIT_EXCEEDED"
        polling = Polling(service)
        assert polling.post(f'40/ws/main-api,{{"token":"{WRONG}"}}') == 200
        assert '"code":4429' in polling.get()[2]
        tell(service.app)
        with connect(service.url(token=key(service.app)), proxy=None) as right:
            assert json.loads(right.recv(timeout=SECONDS)) == message(1, catching_up=True)
        service.outwaited()
