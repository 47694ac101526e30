"""Tests of the event journal: consecutive numbers, written with their cause, bounded in time and number."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.delivery import events
from finapi.delivery.events import Event, EventTags, SequenceRange
from tests.conftest import NOW


def record(app: App, number: int = 0, type: str = "new_filing") -> int:
    with app.db.write() as tx:
        return events.record(
            tx, type, now=app.clock.now(), occurred_at=iso(NOW), tags=EventTags(), data={"number": number}
        )


def fail_after_an_event(app: App) -> None:
    with app.accounts.write() as tx:
        events.record(tx, "new_filing", now=NOW, occurred_at=iso(NOW), tags=EventTags(), data={})
        raise RuntimeError("on purpose")


def seqs(event_list: list[Event]) -> list[int]:
    return [event.seq for event in event_list]


def get_range(app: App, feed: str = events.MAIN_FEED) -> SequenceRange:
    with app.db.read() as tx:
        return events.get_range(tx, feed)


def test_an_empty_feed_holds_nothing(app: App) -> None:
    assert get_range(app) == SequenceRange(first=1, last=0)


def test_numbers_count_up_from_one_in_each_feed(app: App) -> None:
    types = ["new_filing", "insider_transaction", "data_ready", "13f_filing", "restatement_detected"]
    assert [record(app, type=type) for type in types] == [1, 1, 2, 1, 3]


def test_an_event_comes_back_as_it_was_told(app: App) -> None:
    about = EventTags(("BRK-B", "BRK-A"), ("0001067983",), "10-K")
    with app.db.write() as tx:
        events.record(
            tx,
            "new_filing",
            now=NOW,
            occurred_at="2025-02-22T13:01:02.000Z",
            tags=about,
            data={"company_name": "Béla & Söhne", "ticker": None},
        )
    with app.db.read() as tx:
        assert events.list_events_after(tx, events.MAIN_FEED, 0, 10) == [
            Event(
                events.MAIN_FEED,
                1,
                "new_filing",
                "2025-02-22T13:01:02.000Z",
                about,
                '{"company_name":"Béla & Söhne","ticker":null}',
            )
        ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("0.1"), "0.1"),
        (Decimal("123456789012345678901234567890.123456789"), "123456789012345678901234567890.123456789"),
        (Decimal("-1E+3"), "-1000"),
        (Decimal("2.50"), "2.5"),
        ("\x01}\x01", '"\\u0001}\\u0001"'),
    ],
)
def test_a_decimal_is_a_number_with_every_digit(app: App, value: object, written: str) -> None:
    with app.db.write() as tx:
        events.record(tx, "13f_filing", now=NOW, occurred_at=iso(NOW), tags=EventTags(), data={"value": value})
    with app.db.read() as tx:
        (event,) = events.list_events_after(tx, events.HOLDINGS_FEED, 0, 1)
    assert event.data == f'{{"value":{written}}}'


@pytest.mark.parametrize("value", [Decimal("NaN"), float("inf"), object()])
def test_what_is_no_json_is_refused_and_leaves_no_hole(app: App, value: object) -> None:
    with pytest.raises((TypeError, ValueError)), app.accounts.write() as tx:
        events.record(tx, "13f_filing", now=NOW, occurred_at=iso(NOW), tags=EventTags(), data={"value": value})
    assert get_range(app, events.HOLDINGS_FEED) == SequenceRange(1, 0)


def test_an_event_of_a_transaction_that_fails_never_was(app: App) -> None:
    record(app)
    with pytest.raises(RuntimeError, match="on purpose"):
        fail_after_an_event(app)
    assert record(app) == 2
    with app.db.read() as tx:
        assert seqs(events.list_events_after(tx, events.MAIN_FEED, 0, 10)) == [1, 2]


def test_readers_are_woken_by_a_commit_and_not_by_a_failure(app: App) -> None:
    woken: list[SequenceRange] = []
    app.db.listen(events.TOPIC, lambda: woken.append(get_range(app)))
    record(app)
    with pytest.raises(RuntimeError, match="on purpose"):
        fail_after_an_event(app)
    with app.db.write() as tx:
        tx.run("bump_data_version")
    assert woken == [SequenceRange(1, 1)]


def test_events_are_read_after_and_before_a_number(app: App) -> None:
    for number in range(1, 31):
        record(app, number)
    with app.db.read() as tx:
        assert seqs(events.list_events_after(tx, events.MAIN_FEED, 27, 20)) == [28, 29, 30]
        assert seqs(events.list_events_after(tx, events.MAIN_FEED, 5, 3)) == [6, 7, 8]
        assert seqs(events.list_events_before(tx, events.MAIN_FEED, 31, 20)) == list(range(11, 31))
        assert seqs(events.list_events_before(tx, events.MAIN_FEED, 4, 20)) == [1, 2, 3]
        assert [
            json.loads(event.data)["number"] for event in events.list_events_before(tx, events.MAIN_FEED, 3, 1)
        ] == [2]


def test_more_than_are_kept_are_dropped_oldest_first(make_app: Callable[..., App]) -> None:
    app = make_app(events_kept=25)
    for number in range(40):
        record(app, number)
    assert events.prune(app, NOW) == 15
    assert get_range(app) == SequenceRange(16, 40)
    assert events.prune(app, NOW) == 0


def test_what_is_old_goes_but_the_newest_twenty_stay(app: App, clock: FixedClock) -> None:
    for number in range(30):
        record(app, number)
    clock.advance(29 * 86_400)
    record(app, 31)
    clock.advance(86_401)
    assert events.prune(app, clock.now()) == 11
    assert get_range(app) == SequenceRange(12, 31)
    clock.advance(86_400 * 365)
    assert events.prune(app, clock.now()) == 0


def test_a_number_does_not_come_again_when_its_row_is_gone(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(events_kept=20)
    for number in range(50):
        record(app, number)
    events.prune(app, clock.now())
    assert record(app) == 51


def test_one_feed_does_not_push_out_another(make_app: Callable[..., App]) -> None:
    app = make_app(events_kept=20)
    record(app, type="13f_filing")
    for number in range(50):
        record(app, number)
    events.prune(app, NOW)
    assert get_range(app, events.HOLDINGS_FEED) == SequenceRange(1, 1)
