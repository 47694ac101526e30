"""Answers that are in memory: given in the server's loop, and the same as a thread's."""

from __future__ import annotations

from typing import Any

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.ops import watchdog
from finapi.ops.probes import of_process
from finapi.web.wsgi import WsgiApp
from tests.client import Client
from tests.conftest import NOW

POLICY, STATUS, DOCUMENT = "/api/v1/policy", "/api/v1/status", "/openapi.json"


@pytest.fixture
def application(app: App) -> WsgiApp:
    return WsgiApp(app)


def at_once(application: WsgiApp, target: str, **headers: str) -> Any:
    return application.at_once(target, headers, "127.0.0.1")


@pytest.mark.parametrize("target", [POLICY, DOCUMENT])
def test_what_was_asked_for_once_is_in_memory(application: WsgiApp, client: Client, target: str) -> None:
    assert at_once(application, target) is None
    by_thread = client.get(target)
    status, headers, body = at_once(application, target)
    assert status == "200 OK"
    told = {name.lower(): value for name, value in headers}
    own = ("x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")
    assert {name: value for name, value in told.items() if name not in own} == {
        name: value for name, value in by_thread.headers.items() if name not in own
    }
    assert len(body) == len(by_thread.body)


def test_each_answer_has_an_id_of_its_own_or_the_callers(application: WsgiApp, client: Client) -> None:
    client.get(POLICY)
    ids = {dict(at_once(application, POLICY)[1])["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    _, headers, _ = at_once(application, POLICY, X_REQUEST_ID="mine-1")
    assert dict(headers)["X-Request-ID"] == "mine-1"


def test_the_limit_holds_for_answers_from_memory_too(application: WsgiApp, client: Client) -> None:
    limit = application.app.config.app_per_minute
    client.get(POLICY)
    statuses = [at_once(application, POLICY)[0][:3] for _ in range(limit + 1)]
    assert statuses == ["200"] * limit + ["429"]


def test_the_status_is_in_memory_until_it_is_due(application: WsgiApp, client: Client, clock: FixedClock) -> None:
    application.app.watch.probes.update(of_process(application.app))
    watchdog.check(application.app, NOW)
    assert at_once(application, STATUS) is None
    assert client.get(STATUS).status == 200
    assert at_once(application, STATUS)[0] == "200 OK"
    clock.advance(29)
    assert at_once(application, STATUS) is None


@pytest.mark.parametrize("header", ["X_API_KEY", "AUTHORIZATION"])
def test_a_credential_that_the_call_counts_for_is_looked_up_in_a_thread(
    application: WsgiApp, client: Client, header: str
) -> None:
    client.get(POLICY)
    client.get(DOCUMENT)
    assert at_once(application, POLICY, **{header: "x"}) is None
    assert at_once(application, DOCUMENT, **{header: "x"})[0] == "200 OK"


@pytest.mark.parametrize("target", ["/api/v1/user/", "/", POLICY + "/", POLICY + "?a=1"])
def test_nothing_else_is(application: WsgiApp, client: Client, target: str) -> None:
    client.get(POLICY)
    assert at_once(application, target) is None


def test_what_has_to_be_compressed_is_left_to_a_thread(application: WsgiApp, client: Client) -> None:
    client.get(DOCUMENT)
    assert at_once(application, DOCUMENT, ACCEPT_ENCODING="br, gzip") is None
