"""Billed calls whose answers are kept: charged together, each as a thread would have charged and answered it."""

from __future__ import annotations

import gzip
import json
import logging
import select
import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import billing, plans, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.httpd.listen import Listener
from finapi.httpd.settings import Answer, ListenSettings
from finapi.httpd.together import Together
from finapi.ops import watchdog
from finapi.store.db import Database
from finapi.web.exchange import Exchange, KeptCall
from finapi.web.http.messages import Response
from finapi.web.wsgi import WsgiApp
from tests.client import Client, ledger_sum
from tests.conftest import NOW

SEARCH, COST = "/api/v1/xbrl/search?q=apple", 1


@pytest.fixture
def application(app: App) -> WsgiApp:
    return WsgiApp(app)


@pytest.fixture
def asked(app: App, user: users.NewUser) -> Client:
    """A caller whose question has been answered once."""
    client = Client(app, user.api_key)
    assert client.get(SEARCH).status == 200
    return client


def found(application: WsgiApp, key: str, target: str = SEARCH, **headers: str) -> Any:
    return application.at_once(target, {"X_API_KEY": key, **headers}, "192.0.2.1")


def ledger(app: App) -> list[tuple[object, ...]]:
    """The rows of calls: delta, reason, endpoint, status, open."""
    sql = "SELECT delta, reason, endpoint, status, open FROM ledger WHERE endpoint IS NOT NULL ORDER BY id"
    with app.db.write() as tx:
        return [tuple(row) for row in tx._connection.execute(sql)]


def balance(app: App) -> int:
    with app.db.read() as tx:
        plan = tx.one("userplan", user_id=1)
        assert plan is not None
        left = int(plan["total_limit_api"] - plan["reach_limit_api"])
        assert ledger_sum(tx, 1) == left
    return left


DEBIT = (-COST, "debit", "GET /api/v1/xbrl/search", None, 1)
KEPT = (-COST, "debit", "GET /api/v1/xbrl/search", 200, 0)


def test_a_kept_answer_is_not_charged_to_who_wants_it_only_where_there_is_none(
    application: WsgiApp, asked: Client, user: users.NewUser
) -> None:
    before = balance(asked.app)
    status, headers, body = found(application, user.api_key, IF_NONE_MATCH="*")
    told = {name.lower(): value for name, value in headers}
    assert (status, body, told["x-tokens-charged"]) == ("304 Not Modified", b"", "0")
    assert told["etag"] == asked.get(SEARCH, headers={"If-None-Match": "*"}).headers["etag"]
    billing.close_kept(asked.app)
    assert balance(asked.app) == before


def test_a_kept_answer_is_found_and_charged_when_it_is_given(
    application: WsgiApp, asked: Client, user: users.NewUser
) -> None:
    by_thread, before = asked.get(SEARCH), balance(asked.app)
    call = found(application, user.api_key)
    assert isinstance(call, KeptCall)
    assert balance(asked.app) == before
    ((status, headers, body),) = application.answer_together([call])
    assert (status, balance(asked.app)) == ("200 OK", before - COST)
    own = ("x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
    told = {name.lower(): value for name, value in headers}
    assert {name: value for name, value in told.items() if name not in own} == {
        name: value for name, value in by_thread.headers.items() if name not in own
    }
    assert int(told["x-ratelimit-remaining"]) == int(by_thread.headers["x-ratelimit-remaining"]) - 1
    answer = json.loads(body)
    assert answer.pop("request_id") == told["x-request-id"]
    assert answer == {name: value for name, value in by_thread.json.items() if name != "request_id"}
    assert ledger(asked.app) == [KEPT, KEPT, DEBIT]
    billing.close_kept(asked.app)
    assert ledger(asked.app) == [KEPT] * 3


def test_calls_that_are_answered_together_share_a_transaction_and_nothing_else(
    application: WsgiApp, asked: Client, user: users.NewUser
) -> None:
    calls = [found(application, user.api_key, X_REQUEST_ID=f"mine-{number}") for number in range(5)]
    said: list[str] = []
    asked.app.db._writer.set_trace_callback(said.append)
    answers = list(application.answer_together(calls))
    asked.app.db._writer.set_trace_callback(None)
    assert said.count("COMMIT") == 1
    assert [dict(headers)["X-Request-ID"] for _, headers, _ in answers] == [f"mine-{number}" for number in range(5)]
    assert len({json.loads(body)["request_id"] for _, _, body in answers}) == 5
    assert ledger(asked.app) == [KEPT, *[DEBIT] * 5]


def test_the_line_of_the_log_is_that_of_a_thread(
    application: WsgiApp, asked: Client, user: users.NewUser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "finapi.access")
    asked.get(SEARCH)
    list(application.answer_together([found(application, user.api_key)]))
    by_thread, together = (record.fields for record in caplog.records)  # type: ignore[attr-defined]
    for line in (by_thread, together):
        assert line.pop("request_id")
        assert line.pop("ms") >= 0
    assert together == by_thread
    assert together["tokens"] == COST


def test_the_last_tokens_are_spent_once_and_who_comes_after_is_told_402(
    make_app: Callable[..., App], clock: FixedClock
) -> None:
    app = make_app(free_tokens=3 * COST)
    key = users.create(app, "ann@example.com", "free", NOW).api_key
    client, application = Client(app, key), WsgiApp(app)
    client.get(SEARCH)
    answers = list(application.answer_together([found(application, key) for _ in range(4)]))
    assert [status[:3] for status, _, _ in answers] == ["200", "200", "402", "402"]
    assert [dict(headers)["X-Tokens-Charged"] for _, headers, _ in answers] == ["1", "1", "0", "0"]
    by_thread = client.get(SEARCH)
    refusal = json.loads(answers[2][2])
    assert (refusal["code"], refusal["current_balance"], refusal["required_cost"]) == ("insufficient_tokens", 0, COST)
    assert set(refusal) == set(by_thread.json)
    assert balance(app) == 0


def test_the_limit_is_taken_from_before_the_debit_and_a_429_costs_nothing(
    make_app: Callable[..., App], clock: FixedClock
) -> None:
    app = make_app(xbrl_per_minute=3, xbrl_burst=3)
    key = users.create(app, "ann@example.com", "pro", NOW).api_key
    client, application = Client(app, key), WsgiApp(app)
    client.get(SEARCH)
    calls = [found(application, key) for _ in range(4)]
    assert [isinstance(call, KeptCall) for call in calls] == [True, True, True, False]
    by_thread = client.get(SEARCH)
    status, headers, body = calls[3]
    assert (status[:3], json.loads(body)["code"]) == ("429", "RATE_LIMIT_EXCEEDED")
    assert {name.lower() for name, _ in headers} == set(by_thread.headers)
    assert len(list(application.answer_together(calls[:3]))) == 3
    assert len(ledger(app)) == 4


def test_of_a_call_that_was_told_504_nothing_is_taken(application: WsgiApp, asked: Client, user: users.NewUser) -> None:
    calls, before = [found(application, user.api_key) for _ in range(2)], balance(asked.app)
    headers, body = calls[0].give_up(504)
    assert (json.loads(body)["code"], dict(headers)["X-Tokens-Charged"]) == ("TIMEOUT", "0")
    statuses = [status[:3] for status, _, _ in application.answer_together(calls)]
    assert statuses == ["504", "200"]
    assert balance(asked.app) == before - COST
    assert calls[1].give_up(504) is None


def test_a_call_that_overruns_while_its_debit_waits_is_given_it_back(
    application: WsgiApp, asked: Client, user: users.NewUser, clock: FixedClock
) -> None:
    call, before = found(application, user.api_key), balance(asked.app)
    call.deadline = clock.monotonic() - 1
    ((status, headers, _),) = application.answer_together([call])
    assert (status[:3], dict(headers)["X-Tokens-Charged"]) == ("504", "0")
    assert balance(asked.app) == before
    assert ledger(asked.app)[1:] == [
        (-COST, "debit", "GET /api/v1/xbrl/search", 504, 0),
        (COST, "5xx_refund", "GET /api/v1/xbrl/search", 504, 0),
    ]


def test_where_nothing_can_be_written_each_is_told_so_and_nothing_is_charged(
    application: WsgiApp, asked: Client, user: users.NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, before = [found(application, user.api_key) for _ in range(3)], balance(asked.app)

    def full(self: Database, connection: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = 13
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Database, "_commit", full)
        answers = list(application.answer_together(calls))
    assert [status[:3] for status, _, _ in answers] == ["503"] * 3
    assert {json.loads(body)["code"] for _, _, body in answers} == {"UNAVAILABLE"}
    assert balance(asked.app) == before


def test_a_debit_that_fails_alone_fails_alone(
    application: WsgiApp, asked: Client, user: users.NewUser, app: App
) -> None:
    calls, before = [found(application, user.api_key) for _ in range(3)], balance(app)
    # As a damaged row would: the second's cannot be written.
    calls[1].debit["request_id"] = object()
    assert [status[:3] for status, _, _ in application.answer_together(calls)] == ["200", "500", "200"]
    assert balance(app) == before - 2 * COST


def test_the_headers_of_a_like_call_are_the_same_but_for_its_own(
    application: WsgiApp, asked: Client, user: users.NewUser
) -> None:
    told = []
    for said in ({}, {}, {"X_REQUEST_ID": "mine"}, {"X_REQUEST_ID": "mine"}):
        ((status, headers, body),) = application.answer_together([found(application, user.api_key, **said)])
        assert (status, len(headers)) == ("200 OK", len(dict(headers)))
        told.append(dict(headers))
        assert told[-1]["Content-Length"] == str(len(body))
        if not said:
            assert json.loads(body)["request_id"] == told[-1]["X-Request-ID"]
    assert told[0]["X-Request-ID"] != told[1]["X-Request-ID"]
    assert [one["X-Request-ID"] for one in told[2:]] == ["mine", "mine"]
    left = [int(one["X-RateLimit-Remaining"]) for one in told]
    assert left == [left[0], left[0] - 1, left[0] - 2, left[0] - 3]
    own = {"X-Request-ID", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
    shared = [{name: text for name, text in one.items() if name not in own} for one in told]
    assert shared[1:] == shared[:1] * 3


def test_new_data_have_headers_of_their_own(application: WsgiApp, asked: Client, user: users.NewUser, app: App) -> None:
    tags = []
    for _ in range(2):
        for _ in range(2):
            ((_, headers, _),) = application.answer_together([found(application, user.api_key)])
            tags.append(dict(headers)["ETag"])
        with app.db.write() as tx:
            tx.run("new_data_stamp")
        tags.append(asked.get(SEARCH).headers["etag"])
    assert tags[0] == tags[1] != tags[2] == tags[3] == tags[4] != tags[5]


def test_a_compressed_answer_is_the_same_text(application: WsgiApp, app: App, user: users.NewUser) -> None:
    client, target = Client(app, user.api_key), "/api/v1/xbrl/dictionary"
    packed = {"Accept-Encoding": "gzip"}
    plain = client.get(target)
    assert found(application, user.api_key, target, ACCEPT_ENCODING="gzip") is None
    by_thread = client.get(target, headers=packed)
    call = found(application, user.api_key, target, ACCEPT_ENCODING="gzip")
    ((_, headers, body),) = application.answer_together([call])
    assert dict(headers)["Content-Encoding"] == "gzip"
    assert dict(headers)["ETag"] == by_thread.headers["etag"]
    answer, told = json.loads(gzip.decompress(body)), plain.json
    del answer["request_id"], told["request_id"]
    assert answer == told


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        (SEARCH + "&format=csv", {}),
        (SEARCH, {"ACCEPT": "application/x-ndjson"}),
        (SEARCH, {"ACCEPT": "text/html"}),
        (SEARCH, {"CONTENT_ENCODING": "gzip"}),
        (SEARCH + "&limit=x", {}),
        (SEARCH + "&limit=3", {}),
        (SEARCH.partition("?")[0], {}),
    ],
)
def test_whatever_else_is_a_threads(
    application: WsgiApp, asked: Client, user: users.NewUser, target: str, headers: dict[str, str]
) -> None:
    assert found(application, user.api_key, target, **headers) is None


def test_new_data_a_new_month_and_accounts_elsewhere_are_a_threads(
    application: WsgiApp, asked: Client, user: users.NewUser, clock: FixedClock
) -> None:
    elsewhere, app = Database(None), asked.app
    app.db.accounts = elsewhere
    try:
        app.callers.get(app.written, b"", lambda: None)  # another version: who is known is looked up again
        assert found(application, user.api_key) is None
    finally:
        app.db.accounts = app.db
        elsewhere.close()
    asked.get(SEARCH)
    assert isinstance(found(application, user.api_key), KeptCall)
    with app.db.write() as tx:
        tx.run("new_data_stamp")
    asked.get("/api/v1/stats")  # who is known again, whose question is not
    assert found(application, user.api_key) is None
    asked.get(SEARCH)
    clock.advance(40 * 86_400)
    assert found(application, user.api_key) is None


@pytest.fixture
def batch(application: WsgiApp, asked: Client, user: users.NewUser) -> list[KeptCall]:
    """Four calls that are to be answered together."""
    return [found(application, user.api_key) for _ in range(4)]


def serve(application: WsgiApp, batch: list[KeptCall], sent: Callable[[KeptCall, str], object]) -> None:
    """Have a batch answered as the server does; ``sent`` is told each call's status line, "none" for no answer."""

    class Waiter:
        def __init__(self, call: KeptCall) -> None:
            self.call = call

        def answered(self, answer: Answer) -> None:
            sent(self.call, answer[0])

        def abandon(self) -> None:
            sent(self.call, "none")

    together: Together[Waiter, KeptCall] = Together(application.answer_together, lambda act: None, lambda: None)
    for call in batch:
        together.add(Waiter(call), call)
    together.serve()


def breaks_where_it_is_made(application: WsgiApp, batch: list[KeptCall], monkeypatch: pytest.MonkeyPatch) -> None:
    finish = WsgiApp._finish

    def finished(self: WsgiApp, response: Response, exchange: Exchange) -> Any:
        if exchange is batch[1].exchange:
            raise MemoryError
        return finish(self, response, exchange)

    monkeypatch.setattr(WsgiApp, "_finish", finished)


def breaks_with_the_thread(application: WsgiApp, batch: list[KeptCall], monkeypatch: pytest.MonkeyPatch) -> None:
    paid = WsgiApp._paid

    def exits(self: WsgiApp, call: KeptCall, *said: Any) -> Response:
        if call is batch[1]:
            raise SystemExit
        return paid(self, call, *said)

    monkeypatch.setattr(WsgiApp, "_paid", exits)


@pytest.mark.parametrize("breaks", [breaks_where_it_is_made, breaks_with_the_thread])
def test_what_a_batch_that_breaks_leaves_unanswered_is_given_back(
    application: WsgiApp, batch: list[KeptCall], app: App, monkeypatch: pytest.MonkeyPatch, breaks: Callable[..., None]
) -> None:
    before = balance(app)
    breaks(application, batch, monkeypatch)
    served: list[str] = []
    serve(application, batch, lambda call, status: served.append(status))
    assert served == ["200 OK", "none", "none", "none"]
    billing.close_kept(app)
    assert balance(app) == before - COST
    lost = (-COST, "debit", "GET /api/v1/xbrl/search", 500, 0)
    assert ledger(app) == [KEPT, KEPT, *[lost] * 3, *[(COST, "5xx_refund", "GET /api/v1/xbrl/search", 500, 0)] * 3]


def test_a_kept_answer_that_cannot_be_made_is_a_500_and_costs_nothing(
    application: WsgiApp, batch: list[KeptCall], app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, finish = balance(app), WsgiApp._finish

    def finished(self: WsgiApp, response: Response, exchange: Exchange) -> Any:
        if exchange is batch[1].exchange and response.status == 200:
            raise MemoryError
        return finish(self, response, exchange)

    monkeypatch.setattr(WsgiApp, "_finish", finished)
    answers = list(application.answer_together(batch))
    assert [status for status, _, _ in answers] == ["200 OK", "500 Internal Server Error", "200 OK", "200 OK"]
    assert [dict(headers)["X-Tokens-Charged"] for _, headers, _ in answers] == ["1", "0", "1", "1"]
    billing.close_kept(app)
    lost, back = (-COST, "debit", DEBIT[2], 500, 0), (COST, "5xx_refund", DEBIT[2], 500, 0)
    assert (balance(app), ledger(app)) == (before - 3 * COST, [KEPT, KEPT, lost, KEPT, KEPT, back])


def test_whoever_cannot_send_an_answer_costs_the_calls_behind_it_nothing(
    application: WsgiApp, batch: list[KeptCall], app: App
) -> None:
    before = balance(app)

    def sent(call: KeptCall, status: str) -> None:
        if call is batch[1] and status != "none":
            raise SystemExit

    serve(application, batch, sent)
    billing.close_kept(app)
    # The second was made, and may have been sent.
    assert balance(app) == before - 2 * COST
    assert [row[1] for row in ledger(app)[1:]] == ["debit"] * 4 + ["5xx_refund"] * 2


def test_a_call_that_is_told_503_while_others_are_answered_is_given_its_debit_back(
    application: WsgiApp, batch: list[KeptCall], app: App
) -> None:
    before = balance(app)

    def sent(call: KeptCall, status: str) -> None:
        if call is batch[0]:
            assert batch[1].give_up(503) is not None
            assert call.give_up(503) is None

    serve(application, batch, sent)
    assert balance(app) == before - 3 * COST
    assert [row[3] for row in ledger(app)[1:]] == [None, 504, None, None, 504]


def test_where_another_process_writes_each_is_told_so_and_nothing_is_charged(
    application: WsgiApp, batch: list[KeptCall], app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = balance(app)

    def busy(self: Database, connection: sqlite3.Connection, how: str) -> None:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "_start", busy)
        answers = list(application.answer_together(batch))
    assert [(status[:3], dict(headers)["Retry-After"]) for status, headers, _ in answers] == [("503", "2")] * 4
    assert balance(app) == before
    assert len(ledger(app)) == 1


def lock(app: App) -> None:
    users.set_locked(app, "ann@example.com", True, NOW)


def erase(app: App) -> None:
    users.erase(app, 1, NOW)


@pytest.mark.parametrize("ends", [lock, erase])
def test_calls_that_wait_while_their_account_ends_are_answered_and_in_its_books(
    application: WsgiApp, batch: list[KeptCall], app: App, user: users.NewUser, ends: Callable[[App], None]
) -> None:
    before = balance(app)
    ends(app)
    assert [status[:3] for status, _, _ in application.answer_together(batch)] == ["200"] * 4
    assert balance(app) == before - 4 * COST
    assert Client(app, user.api_key).get(SEARCH).status == 401


def test_a_plan_that_changes_while_calls_wait_is_charged_as_it_is_then(
    application: WsgiApp, batch: list[KeptCall], app: App
) -> None:
    plans.change_plan(app, 1, "free", NOW)
    assert [status[:3] for status, _, _ in application.answer_together(batch)] == ["200"] * 4
    assert balance(app) == app.config.free_tokens - 4 * COST


def test_an_idempotency_key_makes_two_questions_of_a_batch_no_less_than_two(
    application: WsgiApp, asked: Client, user: users.NewUser
) -> None:
    calls = [found(application, user.api_key, IDEMPOTENCY_KEY="same") for _ in range(2)]
    before = balance(asked.app)
    answers = list(application.answer_together(calls))
    assert all("Idempotent-Replayed" not in dict(headers) for _, headers, _ in answers)
    assert balance(asked.app) == before - 2 * COST


def test_while_a_commit_waits_for_the_disk_what_is_free_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = apps.on_disk(Config(data_dir=tmp_path), FixedClock(NOW), new_secrets=True)
    key = users.create(app, "ann@example.com", "pro", NOW).api_key
    tag = Client(app, key).get(SEARCH).headers["etag"]
    application, written, waits = WsgiApp(app), threading.Event(), threading.Event()
    watchdog.check(app, NOW)

    def commit(connection: sqlite3.Connection) -> None:
        if connection is app.db._writer:
            waits.set()
            assert written.wait(10)
        connection.execute("COMMIT")

    monkeypatch.setattr(app.db, "_commit", commit)
    listener = Listener(
        application,
        ListenSettings(port=0),
        application.error_response,
        at_once=application.at_once,
        answer_together=application.answer_together,
    )
    thread = threading.Thread(target=listener.run)
    thread.start()

    def asking(target: str, **headers: str) -> HTTPConnection:
        client = HTTPConnection("127.0.0.1", listener.port, timeout=10)
        client.request("GET", target, headers={"X-API-Key": key, **headers})
        return client

    paying = [asking(SEARCH) for _ in range(3)]
    try:
        assert waits.wait(10)
        free = ["/api/v1/status", "/api/v1/policy", "/api/v1/stats", "/openapi.json"]
        with ExitStack() as stack:
            found = [stack.enter_context(closing(asking(target))).getresponse().status for target in free]
            held = stack.enter_context(closing(asking(SEARCH, **{"If-None-Match": tag}))).getresponse().status
        assert (found, held, written.is_set()) == ([200] * len(free), 304, False)
        assert select.select([client.sock for client in paying], [], [], 0)[0] == []
        written.set()
        assert [client.getresponse().status for client in paying] == [200] * 3
        assert balance(app) == 500_000 - 4 * COST
    finally:
        written.set()
        for client in paying:
            client.close()
        listener.stop(0.1)
        thread.join()
        app.db.close()
