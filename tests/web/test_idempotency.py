"""Calls with an Idempotency-Key: they are executed once, and a repeat gets the stored response, never a refusal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.errors import ApiError
from finapi.market.reference import companies
from finapi.store import idempotency
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.routes import ROUTES
from tests.client import PASSWORD, Answer, Client, session_of, with_handler
from tests.conftest import ACCOUNTS, NOW
from tests.support.metered_calls import create_client, get_balance
from tests.support.raw_sql import run_sql

PARALLEL_CALLS = 16
QUOTA = "/api/v1/billing/quota"
TARGETS = "/api/v1/sniper/targets"
WEBHOOKS = "/api/v1/webhooks"
RECEIVER = "https://example.com/hook"
ONE_DOLLAR = {"amount_dollars": 1}


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    """Return an app with one sniper slot, and one user whose wallet has one dollar."""
    app = make_app(**{**ACCOUNTS, "app_per_minute": 1_000, "sniper_slots": 1})
    with app.db.write() as tx:
        companies.upsert_name(tx, 1234567, "BROOK LAMPS INC", companies.FROM_SUBMISSIONS, "2026-01-01")
        companies.upsert_tickers(tx, 1234567, [("BRK-B", "NYSE")], companies.FROM_SUBMISSIONS)
    users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD)
    users.change_credit(app, "ann@example.com", 100, NOW)
    return app


@dataclass(frozen=True)
class Repeatable:
    """A call that may carry an Idempotency-Key."""

    client: Client
    session: str
    path: str
    body: dict[str, Any]

    def send(self, key: str = "k1", body: dict[str, Any] | None = None) -> Answer:
        headers = {"Idempotency-Key": key}
        return self.client.post(self.path, body or self.body, headers=headers, session=self.session)


def build_call(client: Client, path: str) -> Repeatable:
    """Return a call that succeeds once; a second call without its key would fail or have another answer."""
    session = session_of(client)
    if path == QUOTA:
        return Repeatable(client, session, path, ONE_DOLLAR)
    if path == TARGETS:
        return Repeatable(client, session, path, {"ticker": "BRK-B"})
    if path == TARGETS + "/{target_id}/stop":
        target = client.post(TARGETS, {"ticker": "BRK-B"}, session=session).json
        return Repeatable(client, session, f"{TARGETS}/{target['target_id']}/stop", {})
    if path == WEBHOOKS + "/test":
        return Repeatable(client, session, path, {"url": RECEIVER})
    assert path == WEBHOOKS + "/deliveries/{delivery_id}/redeliver"
    delivery = client.post(f"{WEBHOOKS}/test", {"url": RECEIVER}, session=session).json
    with client.app.db.write() as tx:
        run_sql(tx, "UPDATE deliveries SET state = 'dropped', due_at = NULL, done_at = created_at")
    return Repeatable(client, session, f"{WEBHOOKS}/deliveries/{delivery['delivery_id']}/redeliver", {})


def client_with_barrier(app: App, calls: int) -> Client:
    """Return a client whose handlers wait until the given number of calls have found no stored response."""
    barrier = threading.Barrier(calls, timeout=10)

    def wrap(handler: Callable[[Call], Response]) -> Callable[[Call], Response]:
        def handle(call: Call) -> Response:
            if idempotency.HEADER.lower() in call.request.headers:
                barrier.wait()
            return handler(call)

        return handle

    routes = [with_handler(route, wrap(route.handler)) if route.idempotent else route for route in ROUTES]
    return create_client(app, None, *routes)


def send_in_parallel(*sends: Callable[[], Answer]) -> list[Answer]:
    with ThreadPoolExecutor(len(sends)) as pool:
        return [future.result(timeout=20) for future in [pool.submit(send) for send in sends]]


def is_replay(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def without_own_members(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in answer.json.items() if name not in ("request_id", "timestamp")}


@pytest.mark.parametrize("path", [route.path for route in ROUTES if route.idempotent])
def test_parallel_repeats_all_get_the_one_response(app: App, path: str) -> None:
    call = build_call(client_with_barrier(app, PARALLEL_CALLS), path)
    answers = send_in_parallel(*[call.send] * PARALLEL_CALLS)
    assert [answer.status for answer in answers] == [200] * PARALLEL_CALLS
    assert sum(not is_replay(answer) for answer in answers) == 1
    first = without_own_members(answers[0])
    assert all(without_own_members(answer) == first for answer in answers)


def test_parallel_purchases_of_the_last_dollar_buy_once(app: App) -> None:
    call = build_call(client_with_barrier(app, PARALLEL_CALLS), QUOTA)
    before = get_balance(app, 1)
    answers = send_in_parallel(*[call.send] * PARALLEL_CALLS)
    assert {answer.status for answer in answers} == {200}
    assert {answer.json["data"]["new_balance"] for answer in answers} == {0.0}
    assert len({answer.json["request_id"] for answer in answers}) == PARALLEL_CALLS
    assert get_balance(app, 1) == before + 100


def test_parallel_calls_with_different_keys_are_all_executed(app: App) -> None:
    call = build_call(client_with_barrier(app, 2), QUOTA)
    answers = send_in_parallel(lambda: call.send("k1"), lambda: call.send("k2"))
    assert sorted((answer.status, answer.json.get("code")) for answer in answers) == [
        (200, None),
        (400, "INSUFFICIENT_BALANCE"),
    ]


def test_a_parallel_call_with_another_body_is_a_conflict(app: App) -> None:
    call = build_call(client_with_barrier(app, 2), QUOTA)
    answers = send_in_parallel(call.send, lambda: call.send(body={"amount_dollars": 0.5}))
    assert sorted(answer.status for answer in answers) == [200, 409]
    (conflict,) = [answer.json for answer in answers if answer.status == 409]
    assert (conflict["code"], conflict["message"]) == (
        "CONFLICT",
        "This Idempotency-Key was used with another body or path.",
    )


def test_a_repeat_waits_while_the_first_call_runs(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    call = build_call(Client(app), QUOTA)
    first_is_running, first_may_end = threading.Event(), threading.Event()
    store_response = idempotency.IdempotentCall.store_response

    def store_late(idempotent_call: idempotency.IdempotentCall, *values: Any) -> None:
        first_is_running.set()
        assert first_may_end.wait(10)
        store_response(idempotent_call, *values)

    monkeypatch.setattr(idempotency.IdempotentCall, "store_response", store_late)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(call.send)
        assert first_is_running.wait(10)
        repeat = pool.submit(call.send)
        assert not repeat.done()
        first_may_end.set()
        assert [first.result(10).status, repeat.result(10).status] == [200, 200]
        assert [is_replay(first.result()), is_replay(repeat.result())] == [False, True]


def test_a_refusal_without_a_first_call_is_returned(app: App) -> None:
    call = build_call(client_with_barrier(app, 2), QUOTA)
    send = [lambda: call.send(body={"amount_dollars": 2})] * 2
    answers = send_in_parallel(*send)
    assert [answer.json["code"] for answer in answers] == ["INSUFFICIENT_BALANCE"] * 2


@pytest.mark.parametrize("path", [route.path for route in ROUTES if route.idempotent])
def test_a_crash_before_the_response_is_stored_undoes_the_effect(
    app: App, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    call = build_call(Client(app), path)

    def dump() -> list[str]:
        with app.db.read() as tx:
            return list(tx._connection.iterdump())

    def crash(idempotent_call: idempotency.IdempotentCall, tx: Transaction, *values: Any) -> None:
        raise SystemExit

    before = dump()
    with monkeypatch.context() as crashing:
        crashing.setattr(idempotency.IdempotentCall, "store_response", crash)
        with pytest.raises(SystemExit):
            call.send()
    assert dump() == before
    assert (call.send().status, is_replay(call.send())) == (200, True)


def test_a_failure_after_the_commit_gets_the_stored_response(app: App) -> None:
    def buy_and_fail(call: Call) -> Response:
        handler(call)
        raise ApiError("INTERNAL", "The response is lost.")

    handler = next(route for route in ROUTES if route.path == QUOTA).handler
    routes = [with_handler(route, buy_and_fail) if route.path == QUOTA else route for route in ROUTES]
    answer = build_call(create_client(app, None, *routes), QUOTA).send()
    assert (answer.status, is_replay(answer)) == (200, True)
