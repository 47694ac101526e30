"""The hub without sockets: who is let in, what each is sent, and who is too slow."""

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

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")
LIST = {"tickers": ["AAPL"]}


class Reader:
    """Takes messages as long as there is ``room``; the rest waits."""

    is_open = True

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.got: list[FeedMessage] = []
        self.queue: list[FeedMessage] = []
        self.ended: list[tuple[int, str]] = []

    def deliver(self, messages: Sequence[FeedMessage]) -> None:
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
    return Hub(app, app.clock.monotonic)


@pytest.fixture
def pro(app: App) -> str:
    return key(app)


def open_(
    hub: Hub, key: str, reader: Reader, since: int | None = None, lists: Any = None, epoch: int | None = None
) -> FeedSubscription:
    come = None if since is None else FeedPosition(since, epoch)
    with hub._app.db.read() as tx:
        caller = users.find_caller_by_api_key(tx, key)
    assert caller is not None
    subscription = hub.subscribe(events.MAIN_FEED, (caller, key), reader, Filter().add(lists or {}), come)
    hub.fill(subscription)
    return subscription


def test_a_new_reader_is_told_of_the_newest_twenty(app: App, hub: Hub, pro: str) -> None:
    tell(app, 30)
    reader = Reader()
    open_(hub, pro, reader)
    assert reader.said == [message(seq, catching_up=True) for seq in range(11, 31)]


def test_a_new_reader_with_a_filter_is_told_of_the_newest_twenty_that_pass(app: App, hub: Hub, pro: str) -> None:
    for _ in range(30):
        tell(app, about=APPLE)
        tell(app, 10)
    wanted = [1 + 11 * place for place in range(30)]
    reader = Reader()
    subscription = open_(hub, pro, reader, lists=LIST)
    assert reader.said == [message(seq, catching_up=True) for seq in wanted[-20:]]
    assert (subscription.is_live, subscription.seq) == (True, 330)
    tell(app, about=APPLE)
    while hub.publish():
        pass
    assert reader.said[20:] == [message(331)]


@pytest.mark.parametrize(("matching", "lists"), [(3, LIST), (0, LIST), (3, {"form_types": ["8-K"]})])
def test_a_filter_that_few_pass_brings_all_of_them_and_no_gap(
    app: App, hub: Hub, pro: str, matching: int, lists: dict[str, list[str]]
) -> None:
    for _ in range(matching):
        tell(app, about=APPLE)
        tell(app, 150)
    reader = Reader()
    open_(hub, pro, reader, lists=lists)
    assert reader.seqs == [1 + 151 * place for place in range(matching)] * (lists == LIST)


def test_a_reader_over_the_limit_of_its_plan_has_nothing_searched_for_it(
    app: App, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, searched = key(app, "free"), []
    monkeypatch.setattr(events, "list_events_before", lambda *asked: searched.append(asked) or [])
    tell(app, 3)
    open_(hub, free, Reader(), lists=LIST)
    with pytest.raises(FeedRefusedError):
        open_(hub, free, Reader(), lists=LIST)
    assert len(searched) == 1


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
    open_(Hub(app, app.clock.monotonic), key(app), reader, since=10)
    assert reader.said[0] == {
        "type": "gap",
        "seq": 30,
        "epoch": 1,
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


def restored(app: App, last: int) -> int:
    """The journal as it is after a backup was put back in which ``last`` was the last number; the new epoch."""
    with app.db.write() as tx:
        tx._connection.execute("DELETE FROM events WHERE seq > ?", (last,))
        tx._connection.execute("UPDATE feeds SET last_seq = min(last_seq, ?)", (last,))
        return events.begin_epoch(tx, 1, app.clock.now())


@pytest.mark.parametrize(("come_to", "goes_on_after"), [(3, 3), (10, 10), (14, 10), (25, 10)])
def test_a_reader_of_another_epoch_is_told_and_misses_nothing_of_this_one(
    app: App, pro: str, come_to: int, goes_on_after: int
) -> None:
    tell(app, 25)
    epoch = restored(app, 10)
    tell(app, 9)
    reader = Reader()
    open_(Hub(app, app.clock.monotonic), pro, reader, since=come_to, epoch=1)
    assert reader.said[0] == {
        "type": "gap",
        "seq": goes_on_after,
        "epoch": epoch,
        "occurred_at": "2026-01-31T12:00:00.000Z",
        "data": {"since_seq": come_to, "epoch": 1, "reason": "another epoch"},
    }
    assert [(one["seq"], one["epoch"]) for one in reader.said[1:]] == [
        (seq, epoch) for seq in range(goes_on_after + 1, 20)
    ]


def test_a_reader_of_this_epoch_and_one_that_names_none_go_on_as_ever(app: App, pro: str) -> None:
    tell(app, 10)
    epoch = restored(app, 10)
    tell(app, 5)
    for named in (epoch, None):
        reader = Reader()
        hub = Hub(app, app.clock.monotonic)
        hub.unsubscribe(open_(hub, pro, reader, since=12, epoch=named))
        assert reader.seqs == [13, 14, 15]


def test_an_epoch_is_never_an_older_one_again(app: App, clock: FixedClock) -> None:
    first = restored(app, 0)
    assert first == int(clock.now().timestamp())
    assert restored(app, 0) == first + 1, "the clock has not moved"
    with app.db.write() as tx:
        assert events.begin_epoch(tx, first + 100, clock.now()) == first + 100
        assert events.begin_epoch(tx, 1, clock.now() - timedelta(days=900)) == first + 101, "the clock was put back"


def test_a_journal_that_has_told_nothing_begins_with_the_time_and_one_that_has_keeps_its_epoch(app: App) -> None:
    tell(app)
    events.open_journal(app, app.clock.now())
    with app.db.read() as tx:
        assert events.get_range(tx, events.MAIN_FEED).epoch == 1
    with app.db.write() as tx:
        tx._connection.execute("UPDATE feeds SET last_seq = 0")
    for seconds in (0, 100):
        events.open_journal(app, app.clock.now() + timedelta(seconds=seconds))
        with app.db.read() as tx:
            assert events.get_range(tx, events.MAIN_FEED).epoch == int(app.clock.now().timestamp())


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
    subscription.filter = Filter().add(LIST)
    tell(app)
    tell(app, about=APPLE)
    hub.publish()
    subscription.filter = Filter()
    tell(app)
    hub.publish()
    assert reader.seqs == [2, 3]


# ---- who is let in


@pytest.mark.parametrize(("plan", "allowed"), [("free", 1), ("weekly", 5), ("pro", 5), ("yearly", 5)])
def test_a_plan_bounds_the_connections_at_once(app: App, hub: Hub, plan: str, allowed: int) -> None:
    mine = key(app, plan)
    held = [open_(hub, mine, Reader()) for _ in range(allowed)]
    with pytest.raises(FeedRefusedError) as caught:
        open_(hub, mine, Reader())
    assert caught.value.code == 4429
    assert str(allowed) in caught.value.reason
    hub.unsubscribe(held[0])
    hub.unsubscribe(held[0])
    open_(hub, mine, Reader())
    with pytest.raises(FeedRefusedError):
        open_(hub, mine, Reader())


def test_one_account_does_not_use_up_the_connections_of_another(app: App, hub: Hub) -> None:
    open_(hub, key(app, "free", "ann@example.com"), Reader())
    open_(hub, key(app, "free", "bob@example.com"), Reader())
    assert sum(hub.reader_counts.values()) == 2


def test_the_limits_are_settings(make_app: Callable[..., App]) -> None:
    app = make_app(feeds_free=2)
    mine = key(app, "free")
    hub = Hub(app, app.clock.monotonic)
    open_(hub, mine, Reader())
    open_(hub, mine, Reader())
    with pytest.raises(FeedRefusedError, match="limit is 2"):
        open_(hub, mine, Reader())


def test_a_refused_reader_is_told_nothing(app: App, hub: Hub) -> None:
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
    mine, late = key(app), Reader()
    open_(hub, user.api_key, old)
    open_(hub, mine, other)
    asked = hub.list_keys()
    assert asked == {user.api_key, mine}
    open_(hub, key(app, email="late@example.com"), late)
    hub.end_invalid(asked, asked)
    assert old.ended == []
    hub.end_invalid(asked, {mine})
    assert (old.ended, other.ended, late.ended) == ([(4401, "A valid API key is needed.")], [], [])


# ---- slow readers


def test_many_events_at_once_close_nobody_who_takes_them(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    tell(app, 3000)
    while hub.publish():
        pass
    hub.end_slow_readers()
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
        hub.end_slow_readers()
    assert reader.ended == []


def test_a_stop_ends_everybody(app: App, hub: Hub, pro: str) -> None:
    reader = Reader()
    open_(hub, pro, reader)
    hub.end_all()
    assert reader.ended == [(hubs.GOING_AWAY, "The service is stopping.")]


def test_nothing_more_is_read_for_those_who_were_told_to_go(app: App, hub: Hub, pro: str) -> None:
    """As for a session that changes over to a WebSocket: it stays until then, while the store is another world's."""
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
