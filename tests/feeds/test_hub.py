"""The hub without sockets: admission of readers, their messages, and slow readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery import events
from finapi.delivery.events import EventTags
from finapi.feeds import hub as hubs
from finapi.feeds.feed_messages import FeedMessage, FeedPosition, Filter
from finapi.feeds.hub import FeedRefusedError, FeedSubscription, Hub
from tests.conftest import NOW
from tests.feeds import key, message, tell
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")
LIST = {"tickers": ["AAPL"]}


class Reader:
    """A reader that accepts messages while it has ``room``; others wait in its queue."""

    is_open = True

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.got: list[FeedMessage] = []
        self.queue: list[FeedMessage] = []
        self.ended: list[tuple[int, str]] = []

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
        self.queue.extend(messages)
        self.take(0)

    def take(self, extra_room: int) -> None:
        self.room += extra_room
        accepted = self.queue[: self.room]
        del self.queue[: self.room]
        self.room -= len(accepted)
        self.got += accepted

    def waiting(self) -> int:
        return len(self.queue)

    def end(self, code: int, reason: str) -> None:
        self.ended.append((code, reason))

    @property
    def seqs(self) -> list[int]:
        return [message.seq for message in self.got]

    @property
    def contents(self) -> list[Any]:
        return [json.loads(message.text) for message in self.got]


@pytest.fixture
def hub(app: App) -> Hub:
    return Hub(app, app.clock.monotonic)


@pytest.fixture
def pro(app: App) -> str:
    return key(app)


def open_(
    hub: Hub, key: str, reader: Reader, since: int | None = None, lists: Any = None, epoch: int | None = None
) -> FeedSubscription:
    position = None if since is None else FeedPosition(since, epoch)
    with hub._app.db.read() as tx:
        caller = users.find_caller_by_api_key(tx, key)
    assert caller is not None
    subscription = hub.subscribe(events.MAIN_FEED, (caller, key), reader, Filter().add(lists or {}), position)
    hub.fill(subscription)
    return subscription


def test_a_new_reader_is_sent_the_newest_twenty(app: App, hub: Hub, pro: str) -> None:
    tell(app, 30)
    reader = Reader()
    open_(hub, pro, reader)
    assert reader.contents == [message(seq, catching_up=True) for seq in range(11, 31)]


def test_a_new_filtered_reader_is_sent_the_newest_twenty_matches(app: App, hub: Hub, pro: str) -> None:
    for _ in range(30):
        tell(app, about=APPLE)
        tell(app, 10)
    matching_seqs = [1 + 11 * index for index in range(30)]
    reader = Reader()
    subscription = open_(hub, pro, reader, lists=LIST)
    assert reader.contents == [message(seq, catching_up=True) for seq in matching_seqs[-20:]]
    assert (subscription.is_live, subscription.seq) == (True, 330)
    tell(app, about=APPLE)
    while hub.publish():
        pass
    assert reader.contents[20:] == [message(331)]


@pytest.mark.parametrize(("matching", "lists"), [(3, LIST), (0, LIST), (3, {"form_types": ["8-K"]})])
def test_a_filter_with_few_matches_sends_all_of_them_and_no_gap(
    app: App, hub: Hub, pro: str, matching: int, lists: dict[str, list[str]]
) -> None:
    for _ in range(matching):
        tell(app, about=APPLE)
        tell(app, 150)
    reader = Reader()
    open_(hub, pro, reader, lists=lists)
    assert reader.seqs == [1 + 151 * index for index in range(matching)] * (lists == LIST)


def test_a_reader_over_its_plan_limit_causes_no_search(app: App, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    free = key(app, "free")
    searches = []
    monkeypatch.setattr(events, "list_events_before", lambda *arguments: searches.append(arguments) or [])
    tell(app, 3)
    open_(hub, free, Reader(), lists=LIST)
    with pytest.raises(FeedRefusedError):
        open_(hub, free, Reader(), lists=LIST)
    assert len(searches) == 1


def test_a_new_reader_of_a_short_feed_is_sent_every_event(app: App, hub: Hub, pro: str) -> None:
    tell(app, 3)
    reader = Reader()
    open_(hub, pro, reader)
    assert reader.seqs == [1, 2, 3]


def test_a_returning_reader_is_sent_every_event_it_missed(app: App, hub: Hub, pro: str) -> None:
    tell(app, 350)
    reader = Reader()
    open_(hub, pro, reader, since=5)
    assert reader.seqs == list(range(6, 351))


def test_new_events_follow_the_catch_up_without_loss_or_repeat(app: App, hub: Hub, pro: str) -> None:
    tell(app, 5)
    hub.publish()
    tell(app, 2)  # In the journal, but not yet published, when the reader subscribes.
    reader = Reader()
    open_(hub, pro, reader, since=3)
    tell(app, 2)
    hub.publish()
    tell(app, 1)
    hub.publish()
    assert reader.contents == [message(seq, catching_up=seq <= 7) for seq in range(4, 11)]


def test_events_no_longer_stored_are_a_gap(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(events_kept=20)
    tell(app, 50)
    events.prune(app, clock.now())
    reader = Reader()
    open_(Hub(app, app.clock.monotonic), key(app), reader, since=10)
    assert reader.contents[0] == {
        "type": "gap",
        "seq": 30,
        "epoch": 1,
        "occurred_at": "2026-01-31T12:00:00.000Z",
        "data": {"from": 11, "to": 30, "reason": "no longer kept"},
    }
    assert reader.seqs[1:] == list(range(31, 51))


def test_a_number_from_the_future_is_a_gap_before_new_events(app: App, hub: Hub, pro: str) -> None:
    tell(app, 3)
    reader = Reader()
    open_(hub, pro, reader, since=99)
    tell(app, 1)
    hub.publish()
    assert reader.contents[0]["data"] == {"since_seq": 99, "reason": "not yet given out"}
    assert reader.seqs == [3, 4]


def restored(app: App, last: int) -> int:
    """Restore the journal to a state in which ``last`` was the last number. Return the new epoch."""
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM events WHERE seq > ?", (last,))
        run_sql(tx, "UPDATE feeds SET last_seq = min(last_seq, ?)", (last,))
        return events.begin_epoch(tx, 1, app.clock.now())


@run_each_case("last_seq, resume_seq", [(3, 3), (10, 10), (14, 10), (25, 10)])
def test_a_reader_of_another_epoch_is_sent_all_of_this_one(app: App, pro: str, last_seq: int, resume_seq: int) -> None:
    tell(app, 25)
    epoch = restored(app, 10)
    tell(app, 9)
    reader = Reader()
    open_(Hub(app, app.clock.monotonic), pro, reader, since=last_seq, epoch=1)
    assert reader.contents[0] == {
        "type": "gap",
        "seq": resume_seq,
        "epoch": epoch,
        "occurred_at": "2026-01-31T12:00:00.000Z",
        "data": {"since_seq": last_seq, "epoch": 1, "reason": "another epoch"},
    }
    assert [(event["seq"], event["epoch"]) for event in reader.contents[1:]] == [
        (seq, epoch) for seq in range(resume_seq + 1, 20)
    ]


def test_a_reader_of_this_epoch_or_of_none_resumes(app: App, pro: str) -> None:
    tell(app, 10)
    epoch = restored(app, 10)
    tell(app, 5)
    for reader_epoch in (epoch, None):
        reader = Reader()
        hub = Hub(app, app.clock.monotonic)
        hub.unsubscribe(open_(hub, pro, reader, since=12, epoch=reader_epoch))
        assert reader.seqs == [13, 14, 15]


def test_a_new_epoch_is_always_later_than_the_last(app: App, clock: FixedClock) -> None:
    first = restored(app, 0)
    assert first == int(clock.now().timestamp())
    assert restored(app, 0) == first + 1, "the clock has not moved"
    with app.db.write() as tx:
        assert events.begin_epoch(tx, first + 100, clock.now()) == first + 100
        assert events.begin_epoch(tx, 1, clock.now() - timedelta(days=900)) == first + 101, "the clock was put back"


def test_only_an_empty_journal_begins_a_new_epoch(app: App) -> None:
    tell(app)
    events.open_journal(app, app.clock.now())
    with app.db.read() as tx:
        assert events.get_range(tx, events.MAIN_FEED).epoch == 1
    with app.db.write() as tx:
        run_sql(tx, "UPDATE feeds SET last_seq = 0")
    for seconds in (0, 100):
        events.open_journal(app, app.clock.now() + timedelta(seconds=seconds))
        with app.db.read() as tx:
            assert events.get_range(tx, events.MAIN_FEED).epoch == int(app.clock.now().timestamp())


def test_a_feed_does_not_send_events_of_another(app: App, hub: Hub, pro: str) -> None:
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


def test_a_filter_applies_to_missed_and_to_new_events(app: App, hub: Hub, pro: str) -> None:
    tell(app)
    tell(app, about=APPLE)
    reader = Reader()
    open_(hub, pro, reader, lists=LIST)
    tell(app)
    tell(app, about=APPLE)
    hub.publish()
    assert reader.seqs == [2, 4]


def test_a_changed_filter_applies_to_later_events(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    subscription = open_(hub, pro, reader)
    subscription.filter = Filter().add(LIST)
    tell(app)
    tell(app, about=APPLE)
    hub.publish()
    subscription.filter = Filter()
    tell(app)
    hub.publish()
    assert reader.seqs == [2, 3]


# ---- admission


@pytest.mark.parametrize(("plan", "allowed"), [("free", 1), ("weekly", 5), ("pro", 5), ("yearly", 5)])
def test_a_plan_limits_simultaneous_connections(app: App, hub: Hub, plan: str, allowed: int) -> None:
    api_key = key(app, plan)
    subscriptions = [open_(hub, api_key, Reader()) for _ in range(allowed)]
    with pytest.raises(FeedRefusedError) as caught:
        open_(hub, api_key, Reader())
    assert caught.value.code == 4429
    assert str(allowed) in caught.value.reason
    hub.unsubscribe(subscriptions[0])
    hub.unsubscribe(subscriptions[0])
    open_(hub, api_key, Reader())
    with pytest.raises(FeedRefusedError):
        open_(hub, api_key, Reader())


def test_one_account_does_not_use_up_the_connections_of_another(app: App, hub: Hub) -> None:
    open_(hub, key(app, "free", "ann@example.com"), Reader())
    open_(hub, key(app, "free", "bob@example.com"), Reader())
    assert sum(hub.reader_counts.values()) == 2


def test_the_limits_are_settings(make_app: Callable[..., App]) -> None:
    app = make_app(feeds_free=2)
    api_key = key(app, "free")
    hub = Hub(app, app.clock.monotonic)
    open_(hub, api_key, Reader())
    open_(hub, api_key, Reader())
    with pytest.raises(FeedRefusedError, match="limit is 2"):
        open_(hub, api_key, Reader())


def test_a_refused_reader_is_sent_nothing(app: App, hub: Hub) -> None:
    tell(app, 3)
    free, reader = key(app, "free"), Reader()
    open_(hub, free, Reader())
    with pytest.raises(FeedRefusedError):
        open_(hub, free, reader)
    tell(app)
    hub.publish()
    assert reader.got == []


def test_a_key_that_was_rotated_reads_no_longer(app: App, hub: Hub) -> None:
    user = users.create(app, "ann@example.com", "pro", NOW)
    old, other = Reader(), Reader()
    other_key, late = key(app), Reader()
    open_(hub, user.api_key, old)
    open_(hub, other_key, other)
    keys = hub.list_keys()
    assert keys == {user.api_key, other_key}
    open_(hub, key(app, email="late@example.com"), late)
    hub.end_invalid(keys, keys)
    assert old.ended == []
    hub.end_invalid(keys, {other_key})
    assert (old.ended, other.ended, late.ended) == ([(4401, "A valid API key is needed.")], [], [])


# ---- slow readers


def test_a_burst_of_events_closes_no_reader_that_takes_them(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    tell(app, 3000)
    while hub.publish():
        pass
    hub.end_slow_readers()
    assert (reader.seqs, reader.ended) == (list(range(1, 3001)), [])


def test_a_lagging_reader_continues_from_the_journal(app: App, hub: Hub, pro: str) -> None:
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader)
    tell(app, 900)
    while hub.publish():
        pass
    assert len(reader.queue) == 300, "at most the limit and one batch wait for a reader"
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
    hub.end_slow_readers()
    clock.advance(4.9)
    hub.end_slow_readers()
    assert reader.ended == []
    clock.advance(0.1)
    hub.end_slow_readers()
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
    hub.end_slow_readers()
    assert reader.ended == []


def test_a_reader_that_takes_too_little_for_a_minute_is_closed(app: App, hub: Hub, pro: str, clock: FixedClock) -> None:
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader)
    tell(app, 3000)
    while hub.publish():
        pass
    hub.end_slow_readers()
    for _ in range(14):
        clock.advance(4)
        reader.take(20)
        hub.fill(subscription)
        hub.end_slow_readers()
    assert reader.ended == []
    clock.advance(4)
    reader.take(20)
    hub.end_slow_readers()
    assert [code for code, _ in reader.ended] == [1013]


def test_a_slow_reader_of_requested_history_is_not_closed(app: App, hub: Hub, pro: str, clock: FixedClock) -> None:
    tell(app, 3000)
    hub.publish()
    reader = Reader(room=0)
    subscription = open_(hub, pro, reader, since=0)
    for _ in range(100):
        clock.advance(4)
        reader.take(10)
        hub.fill(subscription)
        hub.end_slow_readers()
    assert reader.ended == []


def test_a_stop_ends_every_reader(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    hub.end_all()
    assert reader.ended == [(hubs.GOING_AWAY, "The service is stopping.")]


def test_no_more_events_are_read_for_readers_being_closed(app: App, hub: Hub, pro: str) -> None:
    """A session that upgrades to a WebSocket stays until then, while the store may already be another world's."""
    reader = Reader(room=0)
    tell(app, 250)
    subscription = open_(hub, pro, reader, since=0)
    hub.fill(subscription)
    waiting = reader.waiting()
    assert 100 <= waiting < 250
    hub.end_all()
    reader.take(1_000)
    hub.fill(subscription)
    assert len(reader.got) == waiting
