"""Answers that are in memory: given in the server's loop, and the same as a thread's."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.ops import watchdog
from finapi.ops.probes import of_process
from finapi.web import wsgi
from finapi.web.exchange import KeptCall
from finapi.web.http.messages import Response
from finapi.web.wsgi import WsgiApp
from tests.client import Client
from tests.conftest import NOW

POLICY, STATUS, DOCUMENT = "/api/v1/policy", "/api/v1/status", "/openapi.json"
STATS, TAXED = "/api/v1/stats", "/api/v1/xbrl/search?q=apple"


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


@pytest.mark.parametrize("target", ["/api/v1/user/", "/", POLICY + "/", POLICY + "?a=1", "x" + STATS])
def test_nothing_else_is(application: WsgiApp, client: Client, target: str) -> None:
    client.get(POLICY)
    assert at_once(application, target) is None


@pytest.mark.parametrize("header", [{}, {"X_API_KEY": "none"}, {"X_API_KEY": "0" * 32}])
@pytest.mark.parametrize("target", [STATS, TAXED, STATS + "?apiKey=none"])
def test_who_is_nobody_is_told_so_in_the_loop(
    application: WsgiApp, client: Client, target: str, header: dict[str, str]
) -> None:
    by_thread = client.get(target, headers={name.replace("_", "-"): value for name, value in header.items()})
    status, headers, body = at_once(application, target, **header)
    assert (by_thread.status, status) == (401, "401 Unauthorized")
    assert {name.lower() for name, _ in headers} == set(by_thread.headers)
    assert json.loads(body)["message"] == by_thread.json["message"]


def test_a_key_that_was_not_looked_up_is_left_to_a_thread(application: WsgiApp, user: users.NewUser) -> None:
    assert at_once(application, STATS, X_API_KEY="0" * 32) is None
    assert at_once(application, STATS, X_API_KEY=user.api_key) is None


def test_a_browser_is_told_of_a_401_by_a_thread(application: WsgiApp) -> None:
    assert at_once(application, STATS, ACCEPT="text/html") is None


def test_strangers_meet_their_limit_in_the_loop(application: WsgiApp) -> None:
    limit = application.app.config.app_per_minute
    assert [at_once(application, STATS)[0][:3] for _ in range(limit + 1)] == ["401"] * limit + ["429"]


def test_what_the_caller_has_already_is_told_so_in_the_loop_and_costs_nothing(
    application: WsgiApp, user: users.NewUser
) -> None:
    client = Client(application.app, user.api_key)
    tag = client.get(TAXED).headers["etag"]
    left = client.get("/api/v1/account/balance").json
    status, headers, body = at_once(application, TAXED, X_API_KEY=user.api_key, IF_NONE_MATCH=tag)
    assert (status, body, dict(headers)["ETag"], dict(headers)["X-Tokens-Charged"]) == (
        "304 Not Modified",
        b"",
        tag,
        "0",
    )
    assert client.get("/api/v1/account/balance").json == left
    for other in ({}, {"IF_NONE_MATCH": '"other"'}):
        assert isinstance(at_once(application, TAXED, X_API_KEY=user.api_key, **other), KeptCall)
    assert at_once(application, TAXED + "&limit=3", X_API_KEY=user.api_key, IF_NONE_MATCH=tag) is None


def test_new_data_are_a_threads_to_look_for(application: WsgiApp, user: users.NewUser) -> None:
    tag = Client(application.app, user.api_key).get(TAXED).headers["etag"]
    with application.app.db.write() as tx:
        tx.run("new_data_stamp")
    assert at_once(application, TAXED, X_API_KEY=user.api_key, IF_NONE_MATCH=tag) is None


def test_whose_month_is_over_is_a_threads(application: WsgiApp, user: users.NewUser, clock: FixedClock) -> None:
    client = Client(application.app, user.api_key)
    tag = client.get(TAXED).headers["etag"]
    clock.advance(40 * 86_400)
    client.get(POLICY)
    assert at_once(application, TAXED, X_API_KEY=user.api_key, IF_NONE_MATCH=tag) is None


def test_a_free_answer_that_is_kept_is_given_in_the_loop(application: WsgiApp, user: users.NewUser) -> None:
    client = Client(application.app, user.api_key)
    by_thread = client.get(STATS)
    status, headers, body = at_once(application, STATS, X_API_KEY=user.api_key)
    assert (status, dict(headers)["ETag"]) == ("200 OK", by_thread.headers["etag"])
    answer, told = json.loads(body), by_thread.json
    assert answer.pop("request_id") != told.pop("request_id")
    assert answer == told


def test_what_has_to_be_compressed_is_left_to_a_thread(application: WsgiApp, client: Client) -> None:
    client.get(DOCUMENT)
    assert at_once(application, DOCUMENT, ACCEPT_ENCODING="br, gzip") is None


def test_what_a_request_asks_is_remembered_by_its_words_not_by_who_may_ask(
    application: WsgiApp, client: Client, user: users.NewUser
) -> None:
    client.get(STATS, headers={"X-API-Key": user.api_key})
    for _ in range(3):
        assert at_once(application, STATS, X_API_KEY=user.api_key)[0] == "200 OK"
    assert len(application._recogniser.known) == 1
    with application.app.db.write() as tx:
        tx.run("new_data_stamp")
    assert at_once(application, STATS, X_API_KEY=user.api_key) is None
    users.rotate_key(application.app, user.id, NOW)
    assert at_once(application, STATS, X_API_KEY=user.api_key) is None
    assert client.get(STATS, headers={"X-API-Key": user.api_key}).status == 401
    assert at_once(application, STATS, X_API_KEY=user.api_key)[0] == "401 Unauthorized"


def test_another_key_another_language_and_another_address_are_other_words(
    application: WsgiApp, client: Client, user: users.NewUser
) -> None:
    client.get(STATS, headers={"X-API-Key": user.api_key})
    for key, accept, status in ((user.api_key, "", "200"), ("0" * 32, "", None), (user.api_key, "text/html", None)):
        answer = at_once(application, STATS, X_API_KEY=key, ACCEPT=accept)
        assert (answer and answer[0][:3]) == status
    application.at_once(STATS, {"X_API_KEY": user.api_key}, "192.0.2.7")
    assert len(application._recogniser.known) == 4


def test_of_long_requests_nothing_is_remembered(application: WsgiApp, client: Client, user: users.NewUser) -> None:
    client.get(STATS, headers={"X-API-Key": user.api_key})
    long = "x" * 2_048
    for more in ({"X_SAID": long}, {"X_" + long: "x"}):
        assert at_once(application, STATS, X_API_KEY=user.api_key, **more)[0] == "200 OK"
    assert at_once(application, f"{STATS}?said={long}", X_API_KEY=user.api_key)[0] == "200 OK"
    assert len(application._recogniser.known) == 0


def test_so_many_requests_are_remembered_and_no_more(
    application: WsgiApp, client: Client, user: users.NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.web.exchange.KNOWN_QUESTIONS", 3)
    client.get(STATS, headers={"X-API-Key": user.api_key})
    sizes = []
    for number in range(5):
        assert at_once(application, STATS, X_API_KEY=user.api_key, X_SAID=str(number))[0] == "200 OK"
        sizes.append(len(application._recogniser.known))
    assert sizes == [1, 2, 3, 1, 2]


def test_an_answer_has_its_own_tag_whatever_another_thread_tells_meanwhile(
    application: WsgiApp, client: Client, user: users.NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = client.get(STATS, headers={"X-API-Key": user.api_key}).headers["etag"]
    at_once(application, STATS, X_API_KEY=user.api_key)
    (asked,) = application._recogniser.known.values()
    assert asked is not None
    status_line = wsgi._status_line

    def after_another(status: int) -> str:
        asked.told = "newer", [("ETag", '"newer"')]
        return status_line(status)

    monkeypatch.setattr(wsgi, "_status_line", after_another)
    assert dict(at_once(application, STATS, X_API_KEY=user.api_key)[1])["ETag"] == tag


def test_answers_that_are_kept_no_longer_are_in_memory_no_longer(
    application: WsgiApp, client: Client, user: users.NewUser
) -> None:
    client.get(STATS, headers={"X-API-Key": user.api_key})
    begun = at_once(application, STATS, X_API_KEY=user.api_key)[2].partition(b',"request_id"')[0]

    def held() -> int:
        gc.collect()
        return sum(type(one) is Response and one.body.startswith(begun) for one in gc.get_objects())

    assert held() == 1
    with application.app.db.write() as tx:
        tx.run("new_data_stamp")
    client.get(TAXED, headers={"X-API-Key": user.api_key})
    assert held() == 0
