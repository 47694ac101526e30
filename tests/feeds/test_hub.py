"""The hub without sockets: who is let in, what each is sent, and who is too slow."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from finapi import accounts, events
from finapi.app import App
from finapi.clock import FixedClock
from finapi.events import About
from finapi.feeds import hub as hubs
from finapi.feeds.hub import Hub, Refused, Subscription
from finapi.feeds.messages import Filter, Message
from tests.conftest import NOW
from tests.feeds import key, message, tell

APPLE = About(("AAPL",), ("0000320193",), "10-K")
LIST = {"tickers": ["AAPL"]}


class Reader:
    """Takes messages as long as there is ``room``; the rest waits."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.got: list[Message] = []
        self.queue: list[Message] = []
        self.ended: list[tuple[int, str]] = []

    def deliver(self, messages: Sequence[Message]) -> None:
        self.queue.extend(messages)
        self.take(0)

    def take(self, more: int) -> None:
        self.room += more
        taken = self.queue[: self.room]
        del self.queue[: self.room]
        self.room -= len(taken)
        self.got += taken

    def waiting(self) -> int:
        return len(self.queue)

    def end(self, code: int, reason: str) -> None:
        self.ended.append((code, reason))

    @property
    def seqs(self) -> list[int]:
        return [message.seq for message in self.got]

    @property
    def said(self) -> list[Any]:
        return [json.loads(message.text) for message in self.got]


@pytest.fixture
def hub(app: App) -> Hub:
    return Hub(app)


@pytest.fixture
def pro(app: App) -> str:
    return key(app)


def open_(hub: Hub, key: str, reader: Reader, since: int | None = None, lists: Any = None) -> Subscription:
    subscription = hub.open(events.MAIN, key, reader, Filter().with_lists(lists or {}), since)
    hub.fill(subscription)
    return subscription


def test_a_new_reader_is_told_of_the_newest_twenty(app: App, hub: Hub, pro: str) -> None:
    tell(app, 30)
    reader = Reader()
    open_(hub, pro, reader)
    assert reader.said == [message(seq, catching_up=True) for seq in range(11, 31)]


def test_a_new_reader_of_a_young_feed_is_told_of_all_there_is(app: App, hub: Hub, pro: str) -> None:
    tell(app, 3)
    reader = Reader()
    open_(hub, pro, reader)
    assert reader.seqs == [1, 2, 3]


def test_a_reader_that_comes_back_is_told_of_all_since(app: App, hub: Hub, pro: str) -> None:
    tell(app, 350)
    reader = Reader()
    open_(hub, pro, reader, since=5)
    assert reader.seqs == list(range(6, 351))


def test_after_the_catch_up_come_the_new_ones_without_loss_or_repeat(app: App, hub: Hub, pro: str) -> None:
    tell(app, 5)
    hub.publish()
    tell(app, 2)  # in the journal, and not yet published, when the reader comes
    reader = Reader()
    open_(hub, pro, reader, since=3)
    tell(app, 2)
    hub.publish()
    tell(app, 1)
    hub.publish()
    assert reader.said == [message(seq, catching_up=seq <= 7) for seq in range(4, 11)]


def test_what_is_no_longer_kept_is_a_gap(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(events_kept=20)
    tell(app, 50)
    events.prune(app, clock.now())
    reader = Reader()
    open_(Hub(app), key(app), reader, since=10)
    assert reader.said[0] == {
        "type": "gap",
        "seq": 30,
        "occurred_at": "2026-01-31T12:00:00.000Z",
        "data": {"from": 11, "to": 30, "reason": "no longer kept"},
    }
    assert reader.seqs[1:] == list(range(31, 51))


def test_a_number_not_yet_given_out_is_a_gap_and_the_new_ones_follow(app: App, hub: Hub, pro: str) -> None:
    tell(app, 3)
    reader = Reader()
    open_(hub, pro, reader, since=99)
    tell(app, 1)
    hub.publish()
    assert reader.said[0]["data"] == {"since_seq": 99, "reason": "not yet given out"}
    assert reader.seqs == [3, 4]


def test_one_feed_does_not_tell_of_another(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    tell(app, type="insider_transaction")
    hub.publish()
    assert reader.got == []


def test_an_event_is_encoded_once_for_all(app: App, hub: Hub, pro: str) -> None:
    readers = [Reader() for _ in range(5)]
    for reader in readers:
        open_(hub, pro, reader)
    tell(app)
    hub.publish()
    assert len({id(reader.got[0]) for reader in readers}) == 1


# ---- filters


def test_a_filter_holds_for_what_was_missed_and_for_what_is_new(app: App, hub: Hub, pro: str) -> None:
    tell(app)
    tell(app, about=APPLE)
    reader = Reader()
    open_(hub, pro, reader, lists=LIST)
    tell(app)
    tell(app, about=APPLE)
    hub.publish()
    assert reader.seqs == [2, 4]


def test_a_filter_that_changes_holds_from_then_on(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    subscription = open_(hub, pro, reader)
    subscription.filter = Filter().with_lists(LIST)
    tell(app)
    tell(app, about=APPLE)
    hub.publish()
    subscription.filter = Filter()
    tell(app)
    hub.publish()
    assert reader.seqs == [2, 3]


# ---- who is let in


@pytest.mark.parametrize("wrong", ["", "x", "0" * 32])
def test_without_a_valid_key_nobody_is_let_in(hub: Hub, wrong: str) -> None:
    with pytest.raises(Refused) as caught:
        open_(hub, wrong, Reader())
    assert caught.value.code == 4401
    assert hub.count == 0


@pytest.mark.parametrize(("plan", "allowed"), [("free", 1), ("weekly", 5), ("pro", 5), ("yearly", 5)])
def test_a_plan_bounds_the_connections_at_once(app: App, hub: Hub, plan: str, allowed: int) -> None:
    mine = key(app, plan)
    held = [open_(hub, mine, Reader()) for _ in range(allowed)]
    with pytest.raises(Refused) as caught:
        open_(hub, mine, Reader())
    assert (caught.value.code, caught.value.reason) == (
        4429,
        f"Connections that the plan allows at once: {allowed}.",
    )
    hub.close(held[0])
    hub.close(held[0])
    open_(hub, mine, Reader())
    with pytest.raises(Refused):
        open_(hub, mine, Reader())


def test_one_account_does_not_use_up_the_connections_of_another(app: App, hub: Hub) -> None:
    open_(hub, key(app, "free", "ann@example.com"), Reader())
    open_(hub, key(app, "free", "bob@example.com"), Reader())
    assert hub.count == 2


def test_the_limits_are_settings(make_app: Callable[..., App]) -> None:
    app = make_app(feeds_free=2)
    mine = key(app, "free")
    hub = Hub(app)
    open_(hub, mine, Reader())
    open_(hub, mine, Reader())
    with pytest.raises(Refused, match="at once: 2"):
        open_(hub, mine, Reader())


def test_a_refused_reader_is_told_nothing(app: App, hub: Hub) -> None:
    tell(app, 3)
    reader = Reader()
    with pytest.raises(Refused):
        open_(hub, "0" * 32, reader)
    tell(app)
    hub.publish()
    assert reader.got == []


def test_a_key_that_was_rotated_reads_no_longer(app: App, hub: Hub) -> None:
    user = accounts.create(app, "ann@example.com", "pro", NOW)
    old, other = Reader(), Reader()
    open_(hub, user.api_key, old)
    open_(hub, key(app), other)
    hub.recheck()
    assert old.ended == []
    accounts.rotate_key(app, user.id, NOW)
    hub.recheck()
    assert (old.ended, other.ended) == ([(4401, "A valid API key is needed.")], [])


# ---- slow readers


def test_many_events_at_once_close_nobody_who_takes_them(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    tell(app, 3000)
    while hub.publish():
        pass
    hub.sweep()
    assert (reader.seqs, reader.ended) == (list(range(1, 3001)), [])


def test_a_reader_that_lags_goes_on_from_the_journal_at_its_own_pace(app: App, hub: Hub, pro: str) -> None:
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader)
    tell(app, 900)
    while hub.publish():
        pass
    assert len(reader.queue) == 300, "no more than the limit and a batch is held for it"
    while len(reader.got) < 900:
        reader.take(50)
        hub.fill(subscription)
    assert reader.seqs == list(range(1, 901))
    tell(app)
    reader.take(1)
    hub.publish()
    assert reader.seqs[-1] == 901


def test_a_reader_a_thousand_behind_that_takes_nothing_is_closed(
    app: App, hub: Hub, pro: str, clock: FixedClock
) -> None:
    reader = Reader(room=0)
    open_(hub, pro, reader)
    tell(app, 1001)
    while hub.publish():
        pass
    hub.sweep()
    clock.advance(4.9)
    hub.sweep()
    assert reader.ended == []
    clock.advance(0.1)
    hub.sweep()
    assert reader.ended == [(1013, "The reader is 1001 messages behind.")]


def test_a_reader_a_thousand_behind_and_no_further_is_not_closed(
    app: App, hub: Hub, pro: str, clock: FixedClock
) -> None:
    reader = Reader(room=0)
    open_(hub, pro, reader)
    tell(app, 1000)
    while hub.publish():
        pass
    clock.advance(600)
    hub.sweep()
    assert reader.ended == []


def test_a_reader_that_takes_too_little_for_a_minute_is_closed(
    app: App, hub: Hub, pro: str, clock: FixedClock
) -> None:
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader)
    tell(app, 3000)
    while hub.publish():
        pass
    hub.sweep()
    for _ in range(14):
        clock.advance(4)
        reader.take(20)
        hub.fill(subscription)
        hub.sweep()
    assert reader.ended == []
    clock.advance(4)
    reader.take(20)
    hub.sweep()
    assert [code for code, _ in reader.ended] == [1013]


def test_a_reader_that_asked_for_much_and_takes_it_slowly_is_not_closed(
    app: App, hub: Hub, pro: str, clock: FixedClock
) -> None:
    tell(app, 3000)
    hub.publish()
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader, since=0)
    for _ in range(100):
        clock.advance(4)
        reader.take(10)
        hub.fill(subscription)
        hub.sweep()
    assert reader.ended == []


def test_a_stop_ends_everybody(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    hub.end_all()
    assert reader.ended == [(hubs.GOING_AWAY, "The service is stopping.")]
