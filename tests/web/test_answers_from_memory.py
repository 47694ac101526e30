"""Answers in memory: the server's loop returns them without a thread, equal to those of a thread."""

from __future__ import annotations

import json
import select
import sqlite3
import threading
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.httpd.listener import Listener
from finapi.httpd.settings import ListenSettings
from finapi.ops import watchdog
from finapi.ops.probes import build_process_probes
from finapi.web.application import WsgiApp
from tests.client import Client
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import get_writer

POLICY, STATUS, DOCUMENT = "/api/v1/policy", "/api/v1/status", "/openapi.json"
STATS, SEARCH = "/api/v1/stats", "/api/v1/xbrl/search?q=apple"


@pytest.fixture
def application(app: App) -> WsgiApp:
    return WsgiApp(app)


def answer_from_memory(application: WsgiApp, target: str, **headers: str) -> Any:
    return application.answer_from_memory(target, headers, "127.0.0.1")


@pytest.mark.parametrize("target", [POLICY, DOCUMENT])
def test_a_repeated_call_is_answered_from_memory(application: WsgiApp, client: Client, target: str) -> None:
    assert answer_from_memory(application, target) is None
    by_thread = client.get(target)
    status, headers, body = answer_from_memory(application, target)
    assert status == "200 OK"
    headers_by_name = {name.lower(): value for name, value in headers}
    call_headers = ("x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
    assert {name: value for name, value in headers_by_name.items() if name not in call_headers} == {
        name: value for name, value in by_thread.headers.items() if name not in call_headers
    }
    assert len(body) == len(by_thread.body)


def test_each_answer_has_a_new_request_id_or_that_of_the_caller(application: WsgiApp, client: Client) -> None:
    client.get(POLICY)
    ids = {dict(answer_from_memory(application, POLICY)[1])["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    _, headers, _ = answer_from_memory(application, POLICY, X_REQUEST_ID="mine-1")
    assert dict(headers)["X-Request-ID"] == "mine-1"


def test_answers_from_memory_count_against_the_limit(application: WsgiApp, client: Client) -> None:
    limit = application.app.config.app_per_minute
    client.get(POLICY)
    statuses = [answer_from_memory(application, POLICY)[0][:3] for _ in range(limit + 1)]
    assert statuses == ["200"] * limit + ["429"]


def test_the_status_is_in_memory_until_it_is_due(application: WsgiApp, client: Client, clock: FixedClock) -> None:
    application.app.health.probes.update(build_process_probes(application.app))
    watchdog.run_round(application.app, NOW)
    assert answer_from_memory(application, STATUS) is None
    assert client.get(STATUS).status == 200
    assert answer_from_memory(application, STATUS)[0] == "200 OK"
    clock.advance(29)
    assert answer_from_memory(application, STATUS) is None


@pytest.mark.parametrize("header", ["X_API_KEY", "AUTHORIZATION"])
def test_a_call_with_a_credential_is_answered_in_a_thread(application: WsgiApp, client: Client, header: str) -> None:
    client.get(POLICY)
    client.get(DOCUMENT)
    assert answer_from_memory(application, POLICY, **{header: "x"}) is None
    assert answer_from_memory(application, DOCUMENT, **{header: "x"})[0] == "200 OK"


@run_each_case("target", ["/api/v1/user/", "/", POLICY + "/", POLICY + "?a=1", "x" + STATS])
def test_other_calls_are_not_answered_from_memory(application: WsgiApp, client: Client, target: str) -> None:
    client.get(POLICY)
    assert answer_from_memory(application, target) is None


@pytest.mark.parametrize("headers", [{}, {"X_API_KEY": "0" * 32}])
def test_a_data_route_is_always_answered_by_a_thread(application: WsgiApp, headers: dict[str, str]) -> None:
    assert answer_from_memory(application, STATS, **headers) is None


def test_a_liveness_probe_needs_no_thread(application: WsgiApp) -> None:
    status, _, body = answer_from_memory(application, "/livez")
    assert (status, json.loads(body)) == ("200 OK", {"status": "ok"})


def test_compression_is_left_to_a_thread(application: WsgiApp, client: Client) -> None:
    client.get(DOCUMENT)
    assert answer_from_memory(application, DOCUMENT, ACCEPT_ENCODING="br, gzip") is None


def test_the_server_answers_while_a_commit_holds_every_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = apps.open_on_disk(Config(data_dir=tmp_path), FixedClock(NOW), new_secrets=True)
    key = users.create(app, "ann@example.com", "pro", NOW).api_key
    application = WsgiApp(app)
    commit_may_end = threading.Event()
    commit_started = threading.Event()
    watchdog.run_round(app, NOW)
    for target in (STATUS, POLICY, DOCUMENT):
        Client(app).get(target)

    def commit(connection: sqlite3.Connection) -> None:
        if connection is get_writer(app.db):
            commit_started.set()
            assert commit_may_end.wait(10)
        connection.execute("COMMIT")

    monkeypatch.setattr(app.db, "_commit", commit)
    settings = ListenSettings(port=0, threads=1)
    listener = Listener(
        application, settings, application.error_response, answer_from_memory=application.answer_from_memory
    )
    thread = threading.Thread(target=listener.run)
    thread.start()

    def send_request(target: str, **headers: str) -> HTTPConnection:
        connection = HTTPConnection("127.0.0.1", listener.port, timeout=10)
        connection.request("GET", target, headers=headers)
        return connection

    billed_call = send_request(SEARCH, **{"X-API-Key": key})
    try:
        assert commit_started.wait(10)
        with ExitStack() as connections:
            statuses = [
                connections.enter_context(closing(send_request(target))).getresponse().status
                for target in (STATUS, POLICY, DOCUMENT, "/livez")
            ]
        assert (statuses, commit_may_end.is_set()) == ([200] * 4, False)
        assert select.select([billed_call.sock], [], [], 0)[0] == []
        commit_may_end.set()
        assert billed_call.getresponse().status == 200
        with app.db.read() as tx:
            plan = tx.find_row("userplan", user_id=1)
        assert plan is not None
        assert plan["reach_limit_api"] == 1
    finally:
        commit_may_end.set()
        billed_call.close()
        listener.stop(0.1)
        thread.join()
        app.db.close()
