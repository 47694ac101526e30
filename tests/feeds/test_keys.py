"""API keys of readers: looked up outside the feed loop, and wrong ones counted by address.

No reader waits for the look-up of another reader's key.
"""

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
    """Feeds whose loop and key lookups run only when the test calls them."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.feeds = Feeds(WsgiApp(app), app.clock.monotonic)
        self.outcomes: list[Any] = []

    def knock(self, key: str, reader: Reader, address: str = "192.0.2.1", **options: object) -> None:
        self.feeds._context.admit(
            ReadRequest(events.MAIN_FEED, key, address, reader, options),
            self.outcomes.append,
            self.outcomes.append,
            lambda: self.outcomes.append("failed"),
        )

    def answer(self) -> list[Any]:
        self.feeds.keys.run_lookup_step()
        self.feeds.step(0)
        answers = self.outcomes.copy()
        self.outcomes.clear()
        return answers

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
def test_a_reader_without_a_valid_key_is_refused(door: Door, wrong: str) -> None:
    refused = door.refusal(wrong)
    assert (refused.code, refused.reason, refused.decision) == (4401, "A valid API key is needed.", None)
    assert sum(door.feeds.count_readers().values()) == 0


def test_wrong_keys_limit_their_address_but_not_valid_keys(door: Door) -> None:
    app = door.app
    assert [door.refusal(WRONG).code for _ in range(3)] == [4401, 4401, 4429]
    refused = door.refusal(WRONG)
    assert refused.decision is not None
    assert refused.decision.build_headers(NOW, is_per_node=False)["Retry-After"] == "30"
    assert door.refusal(WRONG, "192.0.2.2").code == 4401
    door.knock(key(app), Reader())
    assert door.answer()[0].feed == events.MAIN_FEED
    # Calls of the API take from the same bucket.
    assert not app.limiters["app"].take(("address", "192.0.2.1"), app.clock.monotonic()).allowed


def test_a_client_that_hangs_up_early_has_still_tried_a_key(door: Door) -> None:
    closed_reader = Reader()
    closed_reader.is_open = False
    for _ in range(3):
        door.knock(WRONG, closed_reader)
        assert door.answer() == []
    assert door.refusal(WRONG).code == 4429
    door.knock(key(door.app), closed_reader)
    assert door.answer() == []
    assert sum(door.feeds.count_readers().values()) == 0


def test_a_wrong_parameter_is_refused_before_the_key_lookup(door: Door) -> None:
    door.knock(WRONG, Reader(), since_seq="x")
    (refused,) = door.outcomes
    assert (refused.code, len(door.feeds.keys._lookups)) == (4400, 0)


def test_a_key_that_changes_during_its_lookup_is_looked_up_again(door: Door) -> None:
    app = door.app
    user = users.create(app, "ann@example.com", "pro", NOW)
    door.knock(user.api_key, Reader())
    door.feeds.keys.run_lookup_step()
    users.rotate_key(app, user.id, NOW)
    assert door.answer() == []
    (refused,) = door.answer()
    assert refused.code == 4401


def test_a_failed_key_lookup_does_not_count_as_an_attempt(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
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

    def recorded(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return look_up(*arguments)

    monkeypatch.setattr(users, "find_caller_by_api_key", recorded)
    user = users.create(service.app, "ann@example.com", "pro", NOW)
    with opened(service.url(token=user.api_key)) as client:
        service.settled(connections=1, readers=1)
        users.rotate_key(service.app, user.id, NOW)
        assert closing(client)[0] == 4401
    assert set(threads) == {"finapi-test-feed-keys"}


def stop_lookups(service: Service) -> None:
    """Stop the worker that looks up keys, so that only the test does it."""
    service.keys.stop()


def wait_for_lookup(service: Service) -> None:
    eventually(lambda: len(service.feeds.keys._lookups) >= 1, SECONDS)


def test_others_are_served_while_a_key_is_looked_up(service: Service) -> None:
    tell(service.app)
    api_key = key(service.app)
    with opened(service.url(token=api_key)) as first:
        assert said(first)["seq"] == 1
        stop_lookups(service)
        with opened(service.url(token=api_key)) as second:
            wait_for_lookup(service)
            tell(service.app)
            assert said(first)["seq"] == 2
            service.feeds.keys.run_lookup_step()
            assert [said(second)["seq"] for _ in range(2)] == [1, 2]


def test_messages_behind_the_key_wait_for_its_answer(service: Service) -> None:
    stop_lookups(service)
    with opened(service.url()) as client:
        client.send(json.dumps({"token": key(service.app)}))
        client.send(json.dumps({"type": "subscribe", "tickers": ["AAPL"]}))
        wait_for_lookup(service)
        service.feeds.keys.run_lookup_step()
        assert said(client)["data"] == {"tickers": ["AAPL"], "ciks": [], "form_types": []}


@pytest.mark.parametrize("messages", [["{}"] * 65, ["x" * 40_000] * 2])
def test_too_many_waiting_messages_end_the_connection(service: Service, messages: list[str]) -> None:
    stop_lookups(service)
    with opened(service.url(token=key(service.app))) as client:
        wait_for_lookup(service)
        for text in messages:
            client.send(text)
        assert closing(client)[0] == 4429
        service.feeds.keys.run_lookup_step()
    service.settled()


def test_a_key_lookup_of_five_seconds_ends_the_connection(service: Service) -> None:
    stop_lookups(service)
    with opened(service.url(token=key(service.app))) as client:
        wait_for_lookup(service)
        service.advance(5)
        assert closing(client) == (1013, "The service is busy.")
        service.feeds.keys.run_lookup_step()
    service.settled()


def test_a_disconnect_during_the_lookup_leaves_nothing(service: Service) -> None:
    stop_lookups(service)
    with opened(service.url(token=key(service.app))):
        wait_for_lookup(service)
    service.settled()
    service.feeds.keys.run_lookup_step()
    service.settled()


def test_packets_behind_a_key_wait_for_its_answer(service: Service) -> None:
    tell(service.app)
    stop_lookups(service)
    polling, auth = Polling(service), json.dumps({"token": key(service.app)})
    insider = f"/ws/insider-api,{auth}"
    assert polling.post(f'40{MAIN},{auth}\x1e40{insider}\x1e42{MAIN},7["subscribe",{{"tickers":["aapl"]}}]') == 200
    wait_for_lookup(service)
    assert len(service.feeds.keys._lookups) == 1

    def answered() -> bool:
        service.feeds.keys.run_lookup_step()
        return service.counts["readers"] == 2

    eventually(answered, SECONDS)
    packet_heads = [packet[: packet.index(",")] for packet in polling.get()[2].split("\x1e")]
    assert packet_heads == [f"40{MAIN}", f"42{MAIN}", "40/ws/insider-api", f"43{MAIN}"]


def test_too_many_waiting_packets_end_the_session(service: Service) -> None:
    stop_lookups(service)
    polling = Polling(service)
    assert polling.post("40/ws/main-api,{}") == 200
    assert polling.post("\x1e".join(["40/ws/insider-api,{}"] * 65)) == 400
    service.settled()
    service.feeds.keys.run_lookup_step()


def test_every_transport_reports_that_no_attempts_are_left(make_app: Callable[..., App], clock: FixedClock) -> None:
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
