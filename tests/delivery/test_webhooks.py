"""Tests of webhook deliveries: their content and signature, and the retry schedule of DECISIONS 9."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import standardwebhooks

from finapi import app as apps
from finapi.accounts import credentials, users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.delivery.dispatcher import Dispatcher, compute_next_attempt
from finapi.delivery.webhooks import Receiver, WebhookEvent
from tests import process
from tests import receiver as receivers
from tests.receiver import library_at, receiver, status
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

# The whole schedule of the specification, as a table.
SCHEDULE = [(1, "retry_pending", 10), (2, "retry_pending", 60), (3, "retry_pending", 300), (4, "dropped", None)]


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(webhook_allow=("127.0.0.0/8",), webhook_timeout=30.0)


@pytest.fixture
def dispatcher(app: App) -> Iterator[Dispatcher]:
    running_dispatcher = Dispatcher(app)
    yield running_dispatcher
    running_dispatcher.stop(0.0)


def enqueue(app: App, user: users.NewUser, url: str, subject: str = "1", **options: Any) -> str:
    event = WebhookEvent("finapi.test", "2026-01-31T11:59:00.000Z", subject, {"n": subject}, **options)
    with app.db.write() as tx:
        return webhooks.enqueue(tx, app.clock.now(), Receiver(user.id, user.uuid, url), event)


def deliveries(app: App, user: users.NewUser, **filters: Any) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        delivery_list: list[dict[str, Any]] = webhooks.list_deliveries(tx, user.id, **{"limit": 50, **filters})[
            "deliveries"
        ]
    return delivery_list


def only(app: App, user: users.NewUser) -> dict[str, Any]:
    (delivery,) = deliveries(app, user)
    return delivery


def keep(tx: object, answer: Any) -> Any:
    return answer


# ---- what is sent


def test_a_delivery_is_the_body_of_the_specification(app: App, user: users.NewUser, dispatcher: Dispatcher) -> None:
    with receiver() as server:
        delivery_id = enqueue(app, user, server.url, target_id="tgt_1")
        assert dispatcher.run_until_idle(5)
    (received,) = server.received
    assert json.loads(received.body) == {
        "event_type": "finapi.test",
        "occurred_at": "2026-01-31T11:59:00.000Z",
        "delivery_id": delivery_id,
        "target_id": "tgt_1",
        "payload": {"n": "1"},
    }
    assert received.headers["content-type"] == "application/json"
    assert received.headers["webhook-id"] == delivery_id
    delivery = only(app, user)
    assert (delivery["status"], delivery["attempt_count"], delivery["last_status_code"]) == ("delivered", 1, 200)
    assert delivery["delivered_at"] == iso(app.clock.now())
    assert delivery["attempts"][0]["response_body"] == "ok"


def test_what_was_enqueued_is_not_enqueued_again(app: App, user: users.NewUser) -> None:
    first = enqueue(app, user, "https://example.com/")
    assert enqueue(app, user, "https://example.com/") == first
    assert enqueue(app, user, "https://example.com/", subject="2") != first
    assert len(deliveries(app, user)) == 2


def test_what_is_rolled_back_was_never_there(app: App, user: users.NewUser) -> None:
    event = WebhookEvent("finapi.test", iso(app.clock.now()), "1", {})
    destination = Receiver(user.id, user.uuid, "https://example.com/")
    with suppress(KeyError), app.accounts.write() as tx:
        webhooks.enqueue(tx, app.clock.now(), destination, event)
        raise KeyError
    assert deliveries(app, user) == []


def test_the_outbox_wakes_whoever_listens(app: App, user: users.NewUser) -> None:
    woken = threading.Event()
    app.db.listen(webhooks.TOPIC, woken.set)
    enqueue(app, user, "https://example.com/")
    assert woken.is_set()


# ---- the schedule


@run_each_case("failures, state, delay", SCHEDULE)
def test_the_table_of_the_specification(failures: int, state: str, delay: float | None) -> None:
    assert compute_next_attempt(failures, (10.0, 60.0, 300.0)) == (state, delay)


def test_the_whole_schedule_to_the_drop(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    started = app.clock.now()
    with receiver(status(500, body=b"no")) as server:
        delivery_id = enqueue(app, user, server.url)
        for wait in (10, 60, 300):
            dispatcher.run_until_idle(5)
            delivery = only(app, user)
            assert delivery["status"] == "retry_pending"
            assert delivery["next_attempt_at"] == iso(app.clock.now() + timedelta(seconds=wait))
            clock.advance(wait - 0.001)
            before = len(server.received)
            dispatcher.run_until_idle(5)
            assert len(server.received) == before
            clock.advance(0.001)
        dispatcher.run_until_idle(5)
        clock.advance(100_000)
        dispatcher.run_until_idle(5)
    assert len(server.received) == 4
    assert {received.headers["webhook-id"] for received in server.received} == {delivery_id}
    assert len({received.body for received in server.received}) == 1
    assert [received.headers["webhook-timestamp"] for received in server.received] == [
        str(int((started + timedelta(seconds=seconds)).timestamp())) for seconds in (0, 10, 70, 370)
    ]
    delivery = only(app, user)
    assert (delivery["status"], delivery["attempt_count"]) == ("dropped", 4)
    assert [attempt["error"] for attempt in delivery["attempts"]] == ["answered 500"] * 4
    with app.db.read() as tx:
        assert webhooks.list_dropped_deliveries(tx, user.id) == [
            {
                "delivery_id": delivery_id,
                "event_type": "finapi.test",
                "url_host": "127.0.0.1",
                "attempts": 4,
                "last_error": "answered 500",
                "dropped_at": iso(started + timedelta(seconds=370)),
            }
        ]


def test_a_retry_that_is_answered_ends_it(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    with receiver(status(503)) as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
        server.behave = status(200)
        clock.advance(10)
        dispatcher.run_until_idle(5)
        clock.advance(1000)
        dispatcher.run_until_idle(5)
    assert len(server.received) == 2
    assert [attempt["status_code"] for attempt in only(app, user)["attempts"]] == [503, 200]
    with app.db.read() as tx:
        assert webhooks.list_dropped_deliveries(tx, user.id) == []


@pytest.mark.parametrize("code", [201, 204, 301, 302, 307, 400, 404, 410, 429, 500])
def test_nothing_but_200_is_success(app: App, user: users.NewUser, dispatcher: Dispatcher, code: int) -> None:
    with receiver() as elsewhere, receiver(status(code, f"Location: {elsewhere.url}")) as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
    assert elsewhere.received == []
    assert (only(app, user)["status"], only(app, user)["last_error"]) == ("retry_pending", f"answered {code}")


def test_an_address_is_judged_when_it_is_sent_to(make_app: Callable[..., App], clock: FixedClock) -> None:
    answers = {"hook.example": ["127.0.0.1"]}
    app = apps.create_in_memory(Config(webhook_allow=("127.0.0.1/32",)), clock, resolve=lambda host: answers[host])
    user = users.create(app, "ann@example.com", "pro", clock.now())
    dispatcher = Dispatcher(app)
    with receiver() as server:
        enqueue(app, user, f"http://hook.example:{server.port}/", "1")
        dispatcher.run_until_idle(5)
        answers["hook.example"] = ["10.1.2.3"]
        enqueue(app, user, f"http://hook.example:{server.port}/", "2")
        dispatcher.run_until_idle(5)
    assert len(server.received) == 1
    assert deliveries(app, user)[0]["last_error"] == "the host has no address that may be used"
    dispatcher.stop(0.0)
    app.db.close()


# ---- crashes and stops


def test_an_attempt_is_recorded_before_it_is_made(app: App, user: users.NewUser, dispatcher: Dispatcher) -> None:
    statuses: list[Any] = []

    def behave(*_: object) -> None:
        statuses.append(only(app, user))

    with receiver(behave) as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
    assert (statuses[0]["status"], statuses[0]["attempt_count"]) == ("sending", 1)
    assert statuses[0]["attempts"][0]["ended_at"] is None


def test_a_crashed_attempt_is_repeated_without_using_a_retry(app: App, user: users.NewUser) -> None:
    with receiver(receivers.silent) as server:
        delivery_id = enqueue(app, user, server.url)
        crashed = Dispatcher(app)
        crashed.run_step()
        while not server.received:
            time.sleep(0.001)
        # Nothing of what the first one learns is recorded.
        again = Dispatcher(app)
        assert again.recover() == 1
        server.behave = status(200)
        assert again.run_until_idle(5)
        again.stop(0.0)
    crashed._ended_attempts.clear()
    crashed._pool.shutdown()
    assert [received.headers["webhook-id"] for received in server.received] == [delivery_id] * 2
    delivery = only(app, user)
    assert (delivery["status"], delivery["attempt_count"]) == ("delivered", 2)
    assert delivery["attempts"][0]["error"] == "finapi stopped before the end of this attempt"


def test_a_stop_lets_what_is_under_way_end(app: App, user: users.NewUser) -> None:
    with receiver() as server:
        enqueue(app, user, server.url)
        dispatcher = Dispatcher(app)
        dispatcher.run_step()
        dispatcher.stop(5.0)
    assert only(app, user)["status"] == "delivered"


def test_a_stop_breaks_off_what_does_not_end(make_app: Callable[..., App]) -> None:
    app = make_app(webhook_allow=("127.0.0.0/8",), webhook_timeout=30.0)
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    with receiver(receivers.silent) as server:
        enqueue(app, user, server.url)
        dispatcher = Dispatcher(app)
        dispatcher.run_step()
        while not server.received:
            time.sleep(0.001)
        started = time.monotonic()
        dispatcher.stop(0.1)
        assert time.monotonic() - started < 5.0
    assert only(app, user)["status"] == "sending"
    assert Dispatcher(app).recover() == 1


def test_an_attempt_that_overruns_its_lease_is_not_repeated(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    go_on = threading.Event()

    def behave(connection: Any, *_: object) -> None:
        go_on.wait(5)
        connection.sendall(receivers.OK)

    with receiver(behave) as server:
        enqueue(app, user, server.url)
        dispatcher.run_step()
        clock.advance(10_000)
        dispatcher.run_step()
        go_on.set()
        dispatcher.run_until_idle(5)
    assert len(server.received) == 1


# ---- receivers that mean harm


@pytest.fixture
def hostile() -> list[receivers.Behave]:
    return [
        receivers.silent,
        receivers.drip(),
        receivers.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        receivers.endless(b"HTTP/1.1 500 No\r\nContent-Length: 1073741824\r\n\r\n"),
        receivers.half_closed,
        receivers.reset,
        status(302, "Location: http://169.254.169.254/latest/meta-data"),
    ]


@contextmanager
def many(behaviours: list[receivers.Behave]) -> Iterator[list[receivers.Receiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(receiver(behave)) for behave in behaviours]


def test_hostile_receivers_delay_nobody_else(make_app: Callable[..., App], hostile: list[receivers.Behave]) -> None:
    app = make_app(webhook_allow=("127.0.0.0/8",), webhook_timeout=60.0)
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    dispatcher = Dispatcher(app)
    with many(hostile) as bad, many([status(200)] * 5) as good:
        for number in range(20):
            for endpoint in bad:
                enqueue(app, user, endpoint.url, f"bad {number} {endpoint.port}")
        for number in range(4):
            for endpoint in good:
                enqueue(app, user, endpoint.url, f"good {number} {endpoint.port}")

        def are_good_served() -> bool:
            dispatcher.run_step()
            return sum(len(endpoint.received) for endpoint in good) == 20

        # No attempt that hangs ends before: a timeout takes twice as long as this waits at most.
        process.eventually(are_good_served)
        threads = [thread.name for thread in threading.enumerate() if "finapi-webhook" in thread.name]
        dispatcher.stop(0.0)
    assert [len(endpoint.received) for endpoint in good] == [4] * 5
    assert len(threads) <= app.config.webhook_threads


def test_slow_receivers_never_take_every_thread(make_app: Callable[..., App]) -> None:
    app = make_app(webhook_allow=("127.0.0.0/8",), webhook_timeout=0.12, webhook_threads=4)
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    dispatcher = Dispatcher(app)
    with many([receivers.silent] * 6) as bad, receiver() as good:
        for hanging in bad:
            enqueue(app, user, hanging.url, f"first {hanging.port}")
        dispatcher.run_until_idle(10)
        # All six are known to be slow now; together they may have two of the four threads.
        for hanging in bad:
            enqueue(app, user, hanging.url, f"second {hanging.port}")
        enqueue(app, users.create(app, "bob@example.com", "pro", app.clock.now()), good.url)
        dispatcher.run_step()
        assert sum(delivery["status"] == "sending" for delivery in deliveries(app, user)) == 2
        until = time.monotonic() + 5
        while not good.received and time.monotonic() < until:
            time.sleep(0.001)
        assert len(good.received) == 1
        assert sum(delivery["status"] == "sending" for delivery in deliveries(app, user)) == 2
        dispatcher.run_until_idle(10)
    dispatcher.stop(0.0)


def test_an_endless_reply_is_kept_to_two_kilobytes(app: App, user: users.NewUser, dispatcher: Dispatcher) -> None:
    with receiver(receivers.endless(b"HTTP/1.1 200 OK\r\n\r\n")) as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
    delivery = only(app, user)
    assert delivery["status"] == "delivered"
    assert delivery["attempts"][0]["response_body"] == "x" * 2048


# ---- signatures and secrets


def test_the_standards_own_library_verifies(
    app: App, user: users.NewUser, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = webhooks.get_secret(app, user.id, app.clock.now())["secret"]
    with receiver() as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
    (received,) = server.received
    library_at(app.clock.now(), monkeypatch)
    body = standardwebhooks.Webhook(secret).verify(received.body, received.headers)
    assert body == json.loads(received.body)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(received.body + b" ", received.headers)


def test_a_rotation_signs_with_both_for_a_day(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = webhooks.get_secret(app, user.id, clock.now())
    rotated = webhooks.rotate_secret(app, user.id, clock.now())
    assert rotated["secret"] != old["secret"]
    assert rotated["previous_secret"] == old["secret"]
    assert rotated["previous_expires_at"] == iso(clock.now() + timedelta(hours=24))
    with receiver() as server:
        clock.advance(24 * 3600 - 1)
        enqueue(app, user, server.url, "within")
        dispatcher.run_until_idle(5)
        clock.advance(1)
        enqueue(app, user, server.url, "after")
        dispatcher.run_until_idle(5)
    within, behind = server.received
    library_at(clock.now(), monkeypatch)
    for secret in (old["secret"], rotated["secret"]):
        standardwebhooks.Webhook(secret).verify(within.body, within.headers)
    standardwebhooks.Webhook(rotated["secret"]).verify(behind.body, behind.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(old["secret"]).verify(behind.body, behind.headers)
    assert webhooks.get_secret(app, user.id, clock.now())["previous_secret"] is None


def test_the_secret_stands_nowhere_in_the_database(app: App, user: users.NewUser) -> None:
    secret = webhooks.get_secret(app, user.id, app.clock.now())["secret"]
    assert secret.startswith(credentials.WEBHOOK_SECRET_PREFIX)
    with app.db.read() as tx:
        row = tx.find_row("webhook_secret", user_id=user.id)
    assert row is not None
    assert secret not in {str(value) for value in dict(row).values()}
    assert row["fingerprint"] == credentials.fingerprint(secret)


def test_the_vectors_are_what_the_standards_own_library_says(monkeypatch: pytest.MonkeyPatch) -> None:
    library_at(datetime(2026, 1, 31, 12, tzinfo=UTC), monkeypatch)
    published = webhooks.build_vectors()
    assert [vector["valid"] for vector in published["vectors"]] == [True, True, False, False]
    for vector in published["vectors"]:
        library = standardwebhooks.Webhook(vector["secret"])
        if vector["valid"]:
            library.verify(vector["body"], vector["headers"])
        else:
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                library.verify(vector["body"], vector["headers"])


# ---- asked for by their owner


def test_a_delivery_that_is_done_can_be_sent_again_under_its_id(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    with receiver(status(500)) as server:
        delivery_id = enqueue(app, user, server.url)
        with pytest.raises(ApiError, match="still in progress"):
            webhooks.redeliver(app, user.id, delivery_id, clock.now(), keep)
        for wait in (10, 60, 300, 1):
            dispatcher.run_until_idle(5)
            clock.advance(wait)
        assert only(app, user)["status"] == "dropped"
        again = webhooks.redeliver(app, user.id, delivery_id, clock.now(), keep)
        assert (again["status"], again["attempt_count"]) == ("pending", 4)
        dispatcher.run_until_idle(5)
        assert only(app, user)["status"] == "retry_pending"
        server.behave = status(200)
        clock.advance(10)
        dispatcher.run_until_idle(5)
    delivery = only(app, user)
    assert (delivery["status"], delivery["attempt_count"]) == ("delivered", 6)
    assert {received.headers["webhook-id"] for received in server.received} == {delivery_id}


def test_the_last_ten_attempts_of_a_delivery_are_shown(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    with receiver(status(500)) as server:
        delivery_id = enqueue(app, user, server.url)
        for _ in range(3):
            for wait in (10, 60, 300, 1):
                dispatcher.run_until_idle(5)
                clock.advance(wait)
            webhooks.redeliver(app, user.id, delivery_id, clock.now(), keep)
    delivery = only(app, user)
    assert (delivery["attempt_count"], len(delivery["attempts"])) == (12, 10)
    times = [attempt["started_at"] for attempt in delivery["attempts"]]
    # The first two are left out: the third round's first is 371 s behind the second round's.
    assert times == sorted(times)
    assert times[0] > iso(clock.now() - timedelta(seconds=3 * 371 - 10))


def test_a_signing_secret_is_there_once_somebody_asked_for_it(app: App, user: users.NewUser) -> None:
    with app.db.write() as tx:
        assert webhooks.has_secret(tx, user.id) is False
        webhooks.rotate_secret_in_transaction(tx, app, user.id, app.clock.now())
        assert webhooks.has_secret(tx, user.id) is True
        assert webhooks.has_secret(tx, user.id + 1) is False


def test_receivers_are_told_a_tolerance_of_five_minutes() -> None:
    assert webhooks.build_vectors()["tolerance_seconds"] == 300


def test_users_cannot_see_or_send_deliveries_of_others(app: App, user: users.NewUser) -> None:
    other = users.create(app, "bob@example.com", "pro", app.clock.now())
    delivery_id = enqueue(app, user, "https://example.com/")
    assert deliveries(app, other) == []
    with pytest.raises(ApiError) as caught:
        webhooks.redeliver(app, other.id, delivery_id, app.clock.now(), keep)
    assert caught.value.code == "NOT_FOUND"


def test_a_test_goes_to_the_address_given_or_the_accounts(
    app: App, user: users.NewUser, dispatcher: Dispatcher
) -> None:
    def test(url: str | None) -> dict[str, Any]:
        return dict(webhooks.enqueue_test(app, user.id, url, app.clock.now(), lambda tx, delivery: delivery))

    with pytest.raises(ApiError, match="url is required: the account has no webhook_url"):
        test(None)
    with receiver(status(200)) as server:
        assert test(server.url)["url"] == server.url
        with app.db.write() as tx:
            run_sql(tx, "UPDATE users SET webhook_url = ?", [server.url + "own"])
        assert test(None)["url"] == server.url + "own"
        dispatcher.run_until_idle(5)
    done = iso(app.clock.now())
    assert [(delivery["delivered_at"], delivery["dropped_at"]) for delivery in deliveries(app, user)] == [
        (done, None)
    ] * 2


def test_deliveries_are_listed_newest_first_page_by_page(app: App, user: users.NewUser) -> None:
    delivery_ids = [enqueue(app, user, "https://example.com/", str(number)) for number in range(5)]
    with app.db.read() as tx:
        first = webhooks.list_deliveries(tx, user.id, 3)
        second_page = webhooks.list_deliveries(tx, user.id, 3, before=int(first["meta"]["next_cursor"]))
    listed_ids = [delivery["delivery_id"] for page in (first, second_page) for delivery in page["deliveries"]]
    assert listed_ids == delivery_ids[::-1]
    assert (first["meta"]["has_more"], second_page["meta"]["has_more"]) == (True, False)
    with app.db.read() as tx:
        full_page = webhooks.list_deliveries(tx, user.id, 5)
    assert (len(full_page["deliveries"]), full_page["meta"]) == (
        5,
        {"limit": 5, "has_more": False, "next_cursor": None},
    )
    assert deliveries(app, user, state="delivered") == []
    assert len(deliveries(app, user, event_type="finapi.test")) == 5


def test_an_event_is_published_to_accounts_that_want_it(app: App, user: users.NewUser) -> None:
    now = app.clock.now()
    without_url = users.create(app, "bob@example.com", "pro", now)
    other_topic = users.create(app, "eve@example.com", "pro", now)
    locked = users.create(app, "mal@example.com", "pro", now)
    wants = {"webhook_topics": ["13f.holdings.updated"], "webhook_url": "https://example.com/hook"}
    users.update(app, user.id, wants, now)
    users.update(app, without_url.id, {**wants, "webhook_url": None}, now)
    users.update(app, other_topic.id, {**wants, "webhook_topics": ["insider.transaction.created"]}, now)
    users.update(app, locked.id, wants, now)
    users.set_locked(app, "mal@example.com", True, now)
    with app.db.write() as tx:
        assert webhooks.publish(tx, now, WebhookEvent("13f.holdings.updated", iso(now), "a", {})) == 1
    assert only(app, user)["url"] == "https://example.com/hook"


def test_locked_and_unknown_accounts_get_no_deliveries(app: App, user: users.NewUser) -> None:
    def told(user_id: int) -> webhooks.Receiver | None:
        with app.accounts.read() as tx:
            return webhooks.find_receiver(tx, user_id, "https://example.com/hook")

    assert told(user.id) == webhooks.Receiver(user.id, user.uuid, "https://example.com/hook")
    assert told(user.id + 1) is None
    users.set_locked(app, user.email, True, app.clock.now())
    assert told(user.id) is None


def test_deliveries_that_are_done_are_forgotten_after_a_month(
    app: App, user: users.NewUser, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    with receiver() as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
    enqueue(app, user, "https://192.0.2.1/", "2")
    clock.advance(31 * 86_400)
    dispatcher.run_until_idle(5)
    assert [delivery["payload"]["n"] for delivery in deliveries(app, user)] == ["2"]
