"""The activity of each hour: what a process counted, stored once, and the charts that operators see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import StoreUnavailableError
from finapi.net import mail
from finapi.ops import activity
from finapi.ops.activity import ActivityRecorder
from tests.conftest import NOW
from tests.support.raw_sql import run_sql

HOUR = 3600
NOON = int(NOW.timestamp()) // HOUR * HOUR


def count_calls(app: App, status: int, number: int = 1, *, route: str = "/api/v1/x", tokens: int = 0) -> None:
    for _ in range(number):
        app.metrics.count_request(("GET", route, str(status)), 0.01, tokens)


def list_rows(app: App) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in run_sql(app.db, "SELECT measure, start, amount FROM activity_hours ORDER BY 2, 1")]


def test_a_step_adds_what_was_counted_since_the_last(app: App, clock: FixedClock) -> None:
    recorder = ActivityRecorder(app)
    assert (recorder.run_step(), list_rows(app)) == (60.0, [])
    count_calls(app, 200, 3, tokens=10)
    count_calls(app, 404, 2)
    count_calls(app, 500)
    count_calls(app, 200, 9, route="/livez")
    count_calls(app, 404, 9, route="")
    for _ in range(2):
        recorder.run_step()
        assert list_rows(app) == [
            ("calls", NOON, 6),
            ("failures", NOON, 1),
            ("refusals", NOON, 2),
            ("tokens", NOON, 30),
        ]
    count_calls(app, 200)
    clock.advance(seconds=HOUR)
    recorder.run_step()
    assert list_rows(app)[4:] == [("calls", NOON + HOUR, 1)]


def test_processes_add_to_the_same_hour(app: App) -> None:
    count_calls(app, 200, 2)
    for _ in range(2):  # Each counts the calls of its own metrics, here the same ones.
        ActivityRecorder(app).run_step()
    assert list_rows(app) == [("calls", NOON, 4)]


def test_what_cannot_be_stored_is_added_later(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise StoreUnavailableError

    recorder = ActivityRecorder(app)
    count_calls(app, 200, 5)
    with monkeypatch.context() as patch:
        patch.setattr(type(app.accounts), "write_batched", fail)
        with pytest.raises(StoreUnavailableError):
            recorder.run_step()
    count_calls(app, 200)
    recorder.run_step()
    assert list_rows(app) == [("calls", NOON, 6)]


def test_an_hour_has_the_longest_queue(app: App) -> None:
    recorder = ActivityRecorder(app)
    for template_count in (1, 2, 0):
        with app.db.write() as tx:
            run_sql(tx, "DELETE FROM mails")
            for _ in range(template_count):
                mail.enqueue(tx, "decoy", 0, NOW)
        recorder.run_step()
    assert list_rows(app) == [("mail", NOON, 2)]


def test_rows_are_deleted_after_31_days(app: App, clock: FixedClock) -> None:
    recorder = ActivityRecorder(app)
    count_calls(app, 200)
    recorder.run_step()
    clock.advance(seconds=31 * 24 * HOUR)
    recorder.run_step()
    assert len(list_rows(app)) == 1
    clock.advance(seconds=HOUR)
    recorder.run_step()
    assert list_rows(app) == []


def test_hours_and_days_without_rows_are_zero(app: App) -> None:
    with app.db.write() as tx:
        for hours_ago, calls, mails in ((0, 5, 1), (1, 7, 4), (25, 11, 2), (48, 13, 9), (-3, 99, 99)):
            start = NOON - hours_ago * HOUR
            tx.run("add_activity", measure="calls", start=start, amount=calls)
            tx.run("raise_activity", measure="mail", start=start, amount=mails)
        tx.run("add_activity", measure="of a later version", start=NOON, amount=1)
    with app.db.read() as tx:
        hours = activity.read_hours(tx, NOW, 48)
        days = activity.read_days(tx, NOW, 3)
        nothing = activity.read_days(tx, NOW - timedelta(days=9), 2)
    assert (len(hours.starts), hours.starts[-1]) == (48, NOON)
    calls = {index: amount for index, amount in enumerate(hours.values["calls"]) if amount}
    assert calls == {22: 11, 46: 7, 47: 5}
    assert hours.values["failures"] == [0] * 48
    # Noon of 31 January: a day adds up calls and has the longest queue.
    assert (days.values["calls"], days.values["mail"]) == ([13, 11, 111], [9, 2, 99])
    assert nothing.values["calls"] == [0, 0]
