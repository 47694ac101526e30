"""Tests of receivers that hang, fail or share a host: queues, mails to their owners, and pauses."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.delivery import webhooks
from finapi.delivery.dispatcher import RESTING_REASON, Dispatcher
from finapi.delivery.webhooks import Receiver, WebhookEvent
from finapi.net.mail import MemoryTransport
from finapi.net.outbound import Outbound, OutboundError, OutboundRequest, Reply
from tests.delivery.test_webhooks import deliveries, keep, only
from tests.support.raw_sql import run_sql

HOST = "https://hooks.example.com"


class Receivers:
    """Stands for the network: a request fails, hangs or is answered, depending on its URL."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.hanging: set[str] = set()
        self.go_on = threading.Event()
        self.posted_urls: list[str] = []
        self.posted: list[str] = []

    def send(self, request: OutboundRequest) -> Reply:
        self.posted_urls.append(request.url)
        if request.url in self.hanging:
            self.go_on.wait(20)
        if request.url in self.broken | self.hanging:
            raise OutboundError("the connection was refused")
        self.posted.append(request.url)
        return Reply(200, {}, b"", False)

    def close(self) -> None:
        self.go_on.set()


@pytest.fixture
def receivers() -> Receivers:
    return Receivers()


@pytest.fixture
def app(make_app: Callable[..., App], receivers: Receivers) -> App:
    return replace(make_app(), outbound=cast("Outbound", receivers))


@pytest.fixture
def dispatcher(app: App) -> Iterator[Dispatcher]:
    running_dispatcher = Dispatcher(app)
    yield running_dispatcher
    running_dispatcher.stop(0.0)


def tell(app: App, user: users.NewUser, url: str, count: int = 1, type: str = "sniper.filing_hit") -> None:
    with app.db.write() as tx:
        for _ in range(count):
            event = WebhookEvent(type, "2026-01-31T11:59:00.000Z", app.new_uuid(), {})
            webhooks.enqueue(tx, app.clock.now(), Receiver(user.id, user.uuid, url), event)


def another(app: App, name: str) -> users.NewUser:
    return users.create(app, f"{name}@example.com", "pro", app.clock.now())


def run_out(app: App, dispatcher: Dispatcher, clock: FixedClock) -> None:
    """Make every attempt of the queued deliveries."""
    for wait in (0, 10, 60, 300):
        clock.advance(wait)
        assert dispatcher.run_until_idle(20)


def mails(app: App) -> list[Any]:
    while recovery.run_mail_step(app) == 0.0:
        pass
    return cast("MemoryTransport", app.mail_settings.transport).messages()


def until(true: Callable[[], bool]) -> None:
    """Wait until a condition that other threads cause is true."""
    limit = time.monotonic() + 20
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.001)


# ---- who waits


@pytest.mark.slow
def test_a_thousand_hanging_deliveries_delay_no_one_on_the_host(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers
) -> None:
    receivers.hanging = {f"{HOST}/hangs", f"{HOST}/hangs/too"}
    tell(app, user, f"{HOST}/hangs", 500)
    tell(app, user, f"{HOST}/hangs/too", 500)
    dispatcher.run_step()
    other_users = [another(app, f"other-{number}") for number in range(3)]
    for other in other_users:
        tell(app, other, f"{HOST}/{other.email}")
    tell(app, user, f"{HOST}/works")
    dispatcher.run_step()
    until(lambda: len(receivers.posted) >= 3)
    # Two of the host's places are taken by the account that hangs, and its own good receiver waits for one of them.
    assert Counter(receivers.posted_urls) == Counter(
        [f"{HOST}/hangs", f"{HOST}/hangs/too", *(f"{HOST}/{other.email}" for other in other_users)]
    )


def test_accounts_that_hang_together_leave_places_of_their_host(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers
) -> None:
    quick = f"{HOST}/quick"
    tell(app, user, quick)
    dispatcher.run_until_idle(5)
    receivers.hanging = {f"{HOST}/{number}" for number in range(12)}
    for number in range(6):
        slow_user = another(app, f"slow-{number}")
        tell(app, slow_user, f"{HOST}/{2 * number}")
        tell(app, slow_user, f"{HOST}/{2 * number + 1}")
    dispatcher.run_step()
    tell(app, user, quick, 10)
    dispatcher.run_step()
    until(lambda: len(receivers.posted_urls) >= 9)
    assert Counter(url == quick for url in receivers.posted_urls) == {True: 1 + 2, False: 6}


def test_a_retry_goes_before_first_attempts_of_its_queue(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/dead"
    receivers.broken = {url}
    tell(app, user, url, 3)
    first = deliveries(app, user)[-1]["delivery_id"]
    dispatcher.run_step()
    until(lambda: len(receivers.posted_urls) == 1 and bool(dispatcher._ended_attempts))
    receivers.broken, receivers.hanging = set(), {url}
    dispatcher.run_step()
    clock.advance(10)
    receivers.hanging, receivers.broken = set(), {url}
    receivers.go_on.set()
    until(lambda: len(receivers.posted_urls) == 2 and bool(dispatcher._ended_attempts))
    dispatcher.run_step()
    tried = {delivery["delivery_id"]: delivery["attempt_count"] for delivery in deliveries(app, user)}
    assert tried[first] == 2
    assert sorted(tried.values()) == [0, 1, 2]


@pytest.mark.slow
def test_a_dead_receivers_queue_keeps_the_schedule(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/dead"
    receivers.broken = {url}
    tell(app, user, url, 100)
    started = clock.now()
    run_out(app, dispatcher, clock)
    assert len(receivers.posted_urls) == 400
    with app.db.read() as tx:
        attempts = run_sql(tx, "SELECT started_at, count(*) FROM delivery_attempts GROUP BY 1").fetchall()
    expected = [iso(started + timedelta(seconds=seconds)) for seconds in (0, 10, 70, 370)]
    assert [tuple(row) for row in attempts] == [(when, 100) for when in expected]


def test_a_clock_that_is_put_back_puts_nothing_off(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/hook"
    receivers.broken = {url}
    tell(app, user, url, 2)
    dispatcher.run_until_idle(5)
    clock.advance(-7200)
    receivers.broken = set()
    dispatcher.run_step()
    assert {delivery["next_attempt_at"] for delivery in deliveries(app, user)} == {"2026-01-31T10:05:00.000Z"}
    clock.advance(300)
    assert dispatcher.run_until_idle(5)
    assert [delivery["status"] for delivery in deliveries(app, user)] == ["delivered"] * 2


# ---- who is told


def test_the_fifth_drop_in_a_row_is_told_by_mail_once(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/hook?token=secret"
    receivers.broken = {url}
    tell(app, user, url, 4)
    run_out(app, dispatcher, clock)
    assert mails(app) == []
    tell(app, user, url, 3)
    run_out(app, dispatcher, clock)
    (mail,) = mails(app)
    assert (mail["To"], mail["Subject"]) == ("ann@example.com", "Your webhooks are not received")
    assert "hooks.example.com:443" in mail.as_string()
    assert "secret" not in mail.as_string()
    with app.db.read() as tx:
        assert {delivery["url_host"] for delivery in webhooks.list_dropped_deliveries(tx, user.id)} == {
            "hooks.example.com"
        }


def test_a_delivery_ends_the_streak(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/hook"
    for _ in range(2):
        receivers.broken = {url}
        tell(app, user, url, 4)
        run_out(app, dispatcher, clock)
        receivers.broken = set()
        tell(app, user, url)
        dispatcher.run_until_idle(5)
    assert mails(app) == []


def test_an_account_is_mailed_once_a_day_about_its_receivers(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    receivers.broken = {f"{HOST}/{number}" for number in range(3)}
    for url in sorted(receivers.broken):
        tell(app, user, url, 5)
    run_out(app, dispatcher, clock)
    assert len(mails(app)) == 1
    clock.advance(86_400)
    for url in sorted(receivers.broken):
        tell(app, user, url)
    run_out(app, dispatcher, clock)
    assert len(mails(app)) == 2


# ---- what rests


@pytest.fixture
def resting(make_app: Callable[..., App], receivers: Receivers) -> App:
    return replace(make_app(webhook_rest=3600.0), outbound=cast("Outbound", receivers))


def test_a_url_rests_after_five_drops_until_it_is_resumed(
    resting: App, receivers: Receivers, clock: FixedClock
) -> None:
    app, url, dispatcher = resting, f"{HOST}/hook", Dispatcher(resting)
    user = another(app, "ann")
    receivers.broken = {url}
    tell(app, user, url, 5)
    run_out(app, dispatcher, clock)
    request_count = len(receivers.posted_urls)
    tell(app, user, url)
    dispatcher.run_until_idle(5)
    newest = deliveries(app, user)[0]
    assert (newest["status"], newest["attempt_count"], newest["last_error"]) == ("dropped", 0, RESTING_REASON)
    assert len(receivers.posted_urls) == request_count
    # A test, and what is sent again, go out all the same; a delivery ends the rest.
    tell(app, user, url, type="finapi.test")
    dispatcher.run_until_idle(5)
    assert len(receivers.posted_urls) == request_count + 1
    receivers.broken = set()
    webhooks.redeliver(app, user.id, newest["delivery_id"], clock.now(), keep)
    tell(app, user, url)
    dispatcher.run_until_idle(5)
    tell(app, user, url)
    dispatcher.run_until_idle(5)
    assert len(receivers.posted) >= 2
    assert deliveries(app, user)[0]["status"] == "delivered"
    dispatcher.stop(0.0)


def test_a_rest_ends_and_one_more_drop_begins_another(resting: App, receivers: Receivers, clock: FixedClock) -> None:
    app, url, dispatcher = resting, f"{HOST}/hook", Dispatcher(resting)
    user = another(app, "ann")
    receivers.broken = {url}
    tell(app, user, url, 5)
    run_out(app, dispatcher, clock)
    clock.advance(3600)
    tell(app, user, url)
    run_out(app, dispatcher, clock)
    assert deliveries(app, user)[0]["attempt_count"] == 4
    tell(app, user, url)
    dispatcher.run_until_idle(5)
    assert deliveries(app, user)[0]["last_error"] == RESTING_REASON
    dispatcher.stop(0.0)


def test_nothing_rests_unless_the_operator_says_so(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    url = f"{HOST}/hook"
    receivers.broken = {url}
    tell(app, user, url, 6)
    run_out(app, dispatcher, clock)
    tell(app, user, url)
    run_out(app, dispatcher, clock)
    assert {delivery["attempt_count"] for delivery in deliveries(app, user)} == {4}


def test_failing_receivers_are_forgotten_after_a_month(
    app: App, user: users.NewUser, dispatcher: Dispatcher, receivers: Receivers, clock: FixedClock
) -> None:
    receivers.broken = {f"{HOST}/hook"}
    tell(app, user, f"{HOST}/hook")
    run_out(app, dispatcher, clock)
    assert only(app, user)["status"] == "dropped"
    clock.advance(31 * 86_400)
    dispatcher.run_step()
    with app.db.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM failing_receivers").fetchone()[0] == 0
