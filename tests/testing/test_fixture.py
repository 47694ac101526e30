"""Tests of the test server without a socket: worlds, control, clock and faults. Each test has a world of its own."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import requests

from finapi.client import ApiFailure, Client, ConnectionFailed
from finapi.client.errors import parse_retry_after
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.core.errors import UsageError
from finapi.core.lockout import LOCK_SECONDS_BY_FAILURES
from finapi.core.passwords import Hasher
from finapi.testing import FinapiServer, base
from finapi.testing.gate import Gate
from finapi.testing.server import FixtureWorld
from finapi.testing.world import MAX_SNAPSHOTS, WorldGoneError
from tests import process
from tests.support.case_tables import run_each_case

AUTH = "/api/v1/auth/"
NEW = "another long password"

names = (f"w{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=7, listens=False) as fixture_server:
        yield fixture_server


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    new_world = server.world(next(names))
    yield new_world
    new_world.control.drop()


def build_client(world: FixtureWorld, plan: str = "pro") -> Client:
    return world.client(plan, tries=1)


def send_raw(world: FixtureWorld, method: str, path: str, body: Any = None, **headers: str) -> ApiAnswer | None:
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    encoded_body = b"" if body is None else json.dumps(body).encode()
    return world.send(
        ApiRequest(method, world.url + path, {"Content-Type": "application/json", **request_headers}, encoded_body)
    )


def get_status(world: FixtureWorld, method: str, path: str, body: Any = None, **headers: str) -> int:
    answer = send_raw(world, method, path, body, **headers)
    assert answer is not None
    return answer.status


def login(world: FixtureWorld, password: str) -> ApiAnswer:
    answer = send_raw(world, "POST", AUTH + "login", {"email": world.accounts["pro"]["email"], "password": password})
    assert answer is not None
    return answer


def catch_failure(call: Any) -> ApiFailure:
    with pytest.raises(ApiFailure) as caught:
        call()
    return caught.value


def list_events(rows: list[dict[str, Any]], *prefixes: str) -> list[tuple[str, str]]:
    return [(row["at"][11:19], row["what"]) for row in rows if row["what"].startswith(prefixes)]


# ---- accounts and worlds


def test_every_plan_and_state_has_an_account(world: FixtureWorld) -> None:
    states = ["unverified", "locked", "exhausted", "suspended"]
    assert list(world.accounts) == ["free", "weekly", "monthly", "pro", "yearly", *states]
    balances = {plan: build_client(world, plan).get_account_balance()["current_balance"] for plan in ("free", "pro")}
    assert balances == {"free": 2_000, "pro": 500_000}
    assert catch_failure(lambda: build_client(world, "exhausted").get_sec_filings()).code == "insufficient_tokens"
    assert catch_failure(lambda: build_client(world, "suspended").get_account_balance()).status == 401
    account = world.accounts["unverified"]
    answer = send_raw(world, "POST", AUTH + "login", {"email": account["email"], "password": account["password"]})
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "EMAIL_NOT_VERIFIED")


def test_a_locked_account_waits_an_hour_to_log_in(world: FixtureWorld) -> None:
    def log_in(account: Mapping[str, str]) -> tuple[int, str, float | None]:
        body = {"email": account["email"], "password": account["password"]}
        answer = send_raw(world, "POST", AUTH + "login", body)
        assert answer is not None
        return answer.status, json.loads(answer.body).get("code"), parse_retry_after(answer.headers)

    locked, created = world.accounts["locked"], world.control.account(state="locked")
    for account in (locked, created):
        assert log_in(account) == (429, "LOGIN_LOCKED", 3600.0)
    # Its key works, and the lock ends with the hour, as a snapshot and a reset remember.
    assert build_client(world, "locked").get_account_balance()["plan"] == "free"
    snapshot = world.control.snapshot()
    world.control.advance(3599)
    assert log_in(locked) == (429, "LOGIN_LOCKED", 1.0)
    world.control.advance(1)
    assert log_in(locked)[0] == 200
    world.control.restore(snapshot)
    assert [log_in(account)[2] for account in (locked, created)] == [3600.0, 3600.0]
    world.control.clear_limits()
    assert log_in(locked)[0] == 200
    world.control.reset()
    assert log_in(locked) == (429, "LOGIN_LOCKED", 3600.0)
    # The operator's lock says nothing to the caller, and never ends.
    suspended = world.accounts["suspended"]
    assert log_in(suspended) == (401, "INVALID_CREDENTIALS", None)
    world.control.advance(86_400)
    assert log_in(suspended) == (401, "INVALID_CREDENTIALS", None)
    assert catch_failure(lambda: world.control.account(state="banned")).details["allowed"][-1] == "suspended"


def test_the_lock_is_new_in_a_fixture_that_runs_for_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    start = datetime.now(UTC) - timedelta(hours=5)
    monkeypatch.setattr("finapi.testing.running._choose_seed", lambda: (5, start))
    with FinapiServer(listens=False) as running:
        world = running.world("late")
        assert get_login_status(world) == 429
        world.control.clear_limits()
        assert get_login_status(world) == 200
        world.control.reset()
        assert get_login_status(world) == 429


def get_login_status(world: FixtureWorld) -> int:
    account = world.accounts["locked"]
    return get_status(world, "POST", AUTH + "login", {"email": account["email"], "password": account["password"]})


def test_a_world_sees_nothing_of_another(server: FinapiServer, world: FixtureWorld) -> None:
    other = server.world(next(names))
    assert world.api_key != other.api_key
    build_client(world).get_sec_filings(limit=1)
    login(world, "wrong password")
    assert build_client(world).get_account_balance()["current_balance"] == 499_995
    assert build_client(other).get_account_balance()["current_balance"] == 500_000
    assert [call["path"] for call in other.control.requests()] == ["/api/v1/account/balance"]
    other.control.drop()


def test_a_path_a_header_or_a_key_names_the_world(server: FinapiServer, world: FixtureWorld) -> None:
    build_client(world).get_sec_filings(limit=1)
    account = world.control.account("free")
    url = server.url + "/api/v1/account/balance"

    def request_balance(**headers: str) -> int:
        answer = world.send(ApiRequest("GET", url, {name.replace("_", "-"): text for name, text in headers.items()}))
        assert answer is not None
        return int(json.loads(answer.body)["current_balance"])

    assert request_balance(X_API_Key=world.api_key) == 499_995
    assert request_balance(X_API_Key=account["api_key"]) == 2_000
    name = world.url.rpartition("/")[2]
    assert request_balance(X_API_Key=world.api_key, X_Finapi_World=name) == 499_995
    # A session was opened in this world only.
    token = json.loads(login(world, "fixture password").body)["token"]
    answer = world.send(ApiRequest("GET", server.url + "/api/v1/user/", {"Authorization": f"Bearer {token}"}))
    assert answer is not None
    assert json.loads(answer.body)["user"]["email"] == "pro@example.com"


@run_each_case("name", ["-", "a b", "x" * 65, "%2e%2e", "a/../b"])
def test_a_world_name_with_other_characters_is_refused(server: FinapiServer, name: str) -> None:
    answer = server.send(ApiRequest("GET", f"{server.url}/api/v1/policy", {"X-Finapi-World": name}))
    assert answer is not None
    assert answer.status == 400


def test_a_reset_undoes_all_changes_of_a_world(world: FixtureWorld) -> None:
    start = world.control.now()
    build_client(world).get_sec_filings(limit=1)
    world.control.account("free", email="ann@example.com")
    world.control.fault("*", status=500, times=1)
    send_raw(world, "POST", AUTH + "forgetpassword", {"email": "free@example.com"})
    world.control.clear_faults()
    send_raw(world, "POST", AUTH + "forgetpassword", {"email": "free@example.com"})
    for _ in range(5):
        login(world, "wrong password")
    world.control.advance(100)
    world.control.reset()
    assert world.control.now() == start
    assert (world.control.mailbox(), world.control.requests(), world.control.faults()) == ([], [], [])
    assert login(world, "fixture password").status == 200
    assert build_client(world).get_account_balance()["current_balance"] == 500_000
    assert world.control.account("free", email="ann@example.com")["email"] == "ann@example.com"


def test_a_restore_brings_back_limits_and_lockouts(world: FixtureWorld) -> None:
    for _ in range(5):
        login(world, "wrong password")
    build_client(world).get_sec_filings(limit=1)
    snapshot = world.control.snapshot()
    world.control.advance(LOCK_SECONDS_BY_FAILURES[5] + 1)
    assert login(world, "fixture password").status == 200
    build_client(world).get_sec_filings(limit=1)
    later_snapshot = world.control.snapshot()
    world.control.restore(snapshot)
    assert login(world, "fixture password").status == 429
    answer = send_raw(world, "GET", "/api/v1/account/limits", X_API_Key=world.api_key)
    assert answer is not None
    assert build_client(world).get_account_balance()["current_balance"] == 499_995
    error = catch_failure(lambda: world.control.restore(later_snapshot))
    assert (error.code, error.details["param"]) == ("INVALID_PARAM", "snapshot")


def test_answers_follow_from_the_seed() -> None:
    def record_answers(seed: int) -> list[Any]:
        with FinapiServer(seed=seed, listens=False) as fixture_server:
            seeded_world = fixture_server.world("same")
            answers: list[Any] = [seeded_world.api_key, fixture_server.ready["invite_codes"]]
            for path in ("/api/v1/user/", "/api/v1/sec/filings?limit=2", "/api/v1/account/balance"):
                answer = send_raw(seeded_world, "GET", path, X_API_Key=seeded_world.api_key)
                assert answer is not None
                answers.append((answer.status, sorted(answer.headers.items()), answer.body))
            answers.append(build_client(seeded_world).post_sniper_targets(ticker="AAPL", idempotency_key="k"))
            answers.append(json.loads(login(seeded_world, "fixture password").body))
            answers.append(seeded_world.control.filing("companies.json", COMPANIES))
            answer = send_raw(seeded_world, "GET", "/api/v1/sec/filings?limit=1", X_API_Key=seeded_world.api_key)
            assert answer is not None
            return [*answers, answer.headers]

    first_run, second_run, other_seed = record_answers(1), record_answers(1), record_answers(2)
    assert first_run == second_run
    assert first_run[0] != other_seed[0]


def test_a_later_start_has_the_same_accounts() -> None:
    with FinapiServer(listens=False) as server:
        accounts = {kind: dict(account) for kind, account in server.accounts.items()}
        assert get_status(server._world, "POST", AUTH + "register", {}) == 400
        build_client(server._world).post_sniper_targets(ticker="AAPL")
        server.ready["accounts"].clear()
    with FinapiServer(listens=False) as server:
        assert server.accounts == accounts
        assert build_client(server._world).get_sniper_targets()["targets"] == []
    with FinapiServer(listens=False, lockout_emails=500) as server:
        assert server.accounts == accounts


def test_every_password_profile_opens_the_accounts() -> None:
    hasher = Hasher("cheap")
    assert hasher.verify(base.CHEAP_PASSWORD_HASH, base.PASSWORD)
    assert not hasher.verify(base.CHEAP_PASSWORD_HASH, "fixture passworD")
    assert not hasher.needs_rehash(base.CHEAP_PASSWORD_HASH)
    with FinapiServer(listens=False, password_profile="default") as server:
        with server.wsgi.worlds[""].app.accounts.read() as tx:
            row = tx.find_row("user_by_email", email="pro@example.com")
        assert row is not None
        assert row["password"].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
        assert login(server._world, base.PASSWORD).status == 200


COMPANIES = b'{"0": {"cik_str": 1000001, "ticker": "ZZTOP", "title": "Zed Zed Inc"}}'


def test_a_reset_gives_the_same_ids_again(world: FixtureWorld) -> None:
    first_id = build_client(world).post_sniper_targets(ticker="AAPL")["target_id"]
    world.control.reset()
    assert build_client(world).post_sniper_targets(ticker="AAPL")["target_id"] == first_id
    world.control.seed(99)
    assert build_client(world).post_sniper_targets(ticker="AAPL")["target_id"] != first_id


# ---- time


def test_an_advance_takes_a_timedelta(world: FixtureWorld) -> None:
    start = world.control.now()
    world.control.advance(timedelta(days=1, milliseconds=500))
    assert world.control.now() - start == timedelta(days=1, milliseconds=500)
    assert catch_failure(lambda: world.control.advance(timedelta(seconds=-1))).details["param"] == "advance"


def test_a_429_with_a_frozen_clock_names_the_controls(world: FixtureWorld) -> None:
    client = build_client(world)
    for _ in range(60):
        client.get_account_balance()
    failure = catch_failure(client.get_account_balance)
    assert (failure.status, failure.retry_after) == (429, 1.0)
    assert failure.message == (
        "Too many requests. Try again later. The clock of this fixture stands still: "
        'POST /_control/clock {"advance": 1} lets the time pass, POST /_control/limits/clear ends limits.'
    )
    world.control.advance(1)
    client.get_account_balance()
    world.control.clear_limits()
    client.get_account_balance()
    # A lock after wrong passwords says it too, with its own time.
    answers = [login(world, "wrong password") for _ in range(5)]
    assert '{"advance": 60}' in json.loads(answers[-1].body)["message"]
    # A fault is no limit, and a clock that runs ends limits by itself.
    world.control.fault(status=429, times=1)
    assert catch_failure(client.get_account_balance).message == "A fault of the fixture answers 429."
    world.control.run()
    assert "stands still" not in json.loads(login(world, "wrong password").body)["message"]


def test_a_lockout_ends_after_an_hour(world: FixtureWorld) -> None:
    statuses = []
    for _ in range(20):
        answer = login(world, "wrong password")
        statuses.append(answer.status)
        if answer.status == 429:
            wait = int(answer.headers["retry-after"])
            if wait < LOCK_SECONDS_BY_FAILURES[20]:
                world.control.advance(wait)
    assert [index + 1 for index, status_code in enumerate(statuses) if status_code == 429] == [5, 10, 20]
    assert login(world, "fixture password").headers["retry-after"] == str(LOCK_SECONDS_BY_FAILURES[20])
    rows = world.control.advance(LOCK_SECONDS_BY_FAILURES[20] - 1)
    assert login(world, "fixture password").status == 429
    rows = world.control.advance(1)
    end = datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(seconds=sum(LOCK_SECONDS_BY_FAILURES.values()))
    assert list_events(rows, "lockout") == [(end.strftime("%H:%M:%S"), "lockout.ended")]
    assert login(world, "fixture password").status == 200


def test_an_advance_passes_at_least_its_seconds() -> None:
    with FinapiServer(listens=False) as server:
        world = server.wsgi.worlds[""]
        for _ in range(100):
            start = world.clock.monotonic()
            world.advance(1.0)
            assert world.clock.monotonic() - start >= 1.0


def test_a_reset_token_expires_after_a_day(world: FixtureWorld) -> None:
    email = world.accounts["pro"]["email"]
    assert get_status(world, "POST", AUTH + "forgetpassword", {"email": email}) == 200
    (mail,) = world.control.mailbox()
    token = mail["links"][0].partition("token=")[2]
    assert mail["to"] == email
    assert mail["links"][0].startswith(world.url)
    snapshot = world.control.snapshot()
    world.control.advance(24 * 3600 - 1)
    assert get_status(world, "PUT", AUTH + "newpassword", {"token": token, "newpassword": NEW}) == 200
    assert login(world, NEW).status == 200
    world.control.restore(snapshot)
    rows = world.control.advance(24 * 3600)
    # The verification link of the account `unverified` expires at the same time.
    assert list_events(rows, "reset_token", "verification") == [
        ("12:00:00", "reset_token.expired"),
        ("12:00:00", "verification_link.expired"),
    ]
    assert get_status(world, "PUT", AUTH + "newpassword", {"token": token, "newpassword": NEW}) == 400


def test_more_than_ten_expired_links_are_one_row(world: FixtureWorld) -> None:
    def create_links(count: int) -> None:
        for _ in range(count):
            world.control.call("POST", "accounts", {"state": "unverified"})

    world.control.advance(24 * 3600)
    create_links(10)
    rows = world.control.advance(24 * 3600)
    assert len({row["subject"] for row in rows if row["what"] == "verification_link.expired"}) == 10
    create_links(8)
    login(world, "fixture password")
    world.control.advance(3600)
    create_links(6)
    rows = [row for row in world.control.advance(24 * 3600) if row["what"] != "watchdog.round"]
    merged_row = {"what": "verification_link.expired", "subject": None, "detail": "14 verification links"}
    assert rows == [{"at": "2026-02-03T13:00:00.000Z", **merged_row}]
    # Another event in between separates them into two rows.
    create_links(11)
    world.control.advance(3600)
    build_client(world).post_sniper_targets(ticker="AAPL", duration_minutes=60 * 24)
    create_links(11)
    rows = world.control.advance(48 * 3600)
    details = [(row["at"][:13], row["detail"]) for row in rows if row["what"] == "verification_link.expired"]
    assert details == [("2026-02-04T13", "11 verification links"), ("2026-02-04T14", "11 verification links")]


@run_each_case("seed", [2**63, -(2**63) - 1, 10**400, True, 1.5])
def test_a_seed_of_more_than_64_bits_is_refused(world: FixtureWorld, seed: Any) -> None:
    error = catch_failure(lambda: world.control.seed(seed))
    assert (error.code, error.details["param"]) == ("INVALID_PARAM", "seed")
    with pytest.raises(UsageError, match="seed must be a whole number from -9223372036854775808"):
        FinapiServer(seed=seed, listens=False).__enter__()


def test_a_month_refills_the_plan(world: FixtureWorld) -> None:
    assert catch_failure(lambda: build_client(world, "exhausted").get_sec_filings()).status == 402
    rows = world.control.advance(28 * 86_400)
    details = [row["detail"] for row in rows if row["subject"] == "exhausted@example.com"]
    assert details == ["+2000 tokens"]
    assert build_client(world, "exhausted").get_account_balance()["current_balance"] == 2_000


def test_webhooks_are_retried_on_schedule_and_signed(world: FixtureWorld) -> None:
    url = world.control.inbox_url("mine", status=500)
    secret = build_client(world).get_webhooks_secret()["secret"]
    delivery_id = build_client(world).post_webhooks_test(url=url)["delivery_id"]
    rows = world.control.until_idle()
    assert list_events(rows, "webhook") == [
        ("12:00:00", "webhook.attempt"),
        ("12:00:10", "webhook.attempt"),
        ("12:01:10", "webhook.attempt"),
        ("12:06:10", "webhook.attempt"),
        ("12:06:10", "webhook.dropped"),
    ]
    messages = world.control.inbox("mine")
    assert [(message["signature"], message["json"]["delivery_id"]) for message in messages] == [
        ("valid", delivery_id)
    ] * 4
    assert secret.startswith("whsec_")


def test_an_inbox_reports_wrong_signatures(world: FixtureWorld) -> None:
    build_client(world).get_webhooks_secret()
    for headers in ({}, {"webhook_id": "a", "webhook_timestamp": "1", "webhook_signature": "v1,AAAA"}):
        assert get_status(world, "POST", "/_control/inbox/other", {"a": 1}, **headers) == 200
    assert [message["signature"] for message in world.control.inbox("other")] == ["no signature", "wrong signature"]
    assert world.control.inbox("never") == []


def test_a_sniper_window_opens_ends_and_sends_a_webhook(world: FixtureWorld) -> None:
    session = {"Authorization": f"Bearer {json.loads(login(world, 'fixture password').body)['token']}"}
    topics = {"webhook_topics": ["sniper.window_expired"], "webhook_url": world.control.inbox_url("s")}
    assert get_status(world, "PUT", "/api/v1/user/", topics, **session) == 200
    start = "2026-01-31T12:05:00Z"
    target = build_client(world).post_sniper_targets(ticker="AAPL", start_time=start, duration_minutes=10)
    assert target["status"] == "CREATED"
    rows = world.control.advance(3600)
    assert list_events(rows, "sniper", "webhook.delivered") == [
        ("12:05:00", "sniper.window_opened"),
        ("12:15:00", "sniper.window_expired"),
        ("12:15:00", "webhook.delivered"),
    ]
    (message,) = world.control.inbox("s")
    assert message["json"]["event_type"] == "sniper.window_expired"
    assert message["json"]["target_id"] == target["target_id"]


def test_the_clock_stops_jumps_and_runs(world: FixtureWorld) -> None:
    assert world.control.freeze("2026-03-01T00:00:00+01:00").isoformat() == "2026-02-28T23:00:00+00:00"
    assert world.control.freeze("2026-01-01T00:00:00Z").isoformat() == "2026-01-01T00:00:00+00:00"
    assert build_client(world).get_account_balance()["as_of"] == "2026-01-01T00:00:00.000Z"
    world.control.run()
    assert world.control.call("GET", "clock")["frozen"] is False


@run_each_case(
    "body, param",
    [
        ({}, "advance"),
        ({"advance": -1}, "advance"),
        ({"advance": 1e12}, "advance"),
        ({"advance": True}, "advance"),
        ({"freeze": "yesterday"}, "freeze"),
        ({"freeze": "2026-01-01T00:00:00"}, "freeze"),
        ({"freeze": "0001-01-01T00:00:00Z"}, "freeze"),
    ],
)
def test_an_impossible_time_is_refused(world: FixtureWorld, body: dict[str, Any], param: str) -> None:
    error = catch_failure(lambda: world.control.call("POST", "clock", body))
    assert (error.code, error.details["param"]) == ("INVALID_PARAM", param)


def test_the_status_shows_a_round_of_the_watchdog(world: FixtureWorld) -> None:
    world.control.advance(60)
    answer = send_raw(world, "GET", "/api/v1/status")
    assert answer is not None
    document = json.loads(answer.body)
    assert document["overall"] == "operational"
    assert {service["name"] for service in document["services"]} >= {
        "main_api",
        "insider_api",
        "postgres_db",
        "redis",
        "frontend",
    }


# ---- logs, filings, events and webhooks


def test_every_call_is_logged(world: FixtureWorld) -> None:
    send_raw(world, "POST", "/api/v1/webhooks/test", {"url": "x"}, X_API_Key=world.api_key, X_Request_ID="mine")
    (call,) = world.control.requests()
    assert (call["method"], call["path"], call["status"], call["body"]) == (
        "POST",
        "/api/v1/webhooks/test",
        400,
        '{"url": "x"}',
    )
    assert call["headers"]["x-api-key"] == world.api_key
    assert call["request_id"] == "mine"


def test_a_filed_document_reaches_a_sniper_target(server: FinapiServer, world: FixtureWorld) -> None:
    url = world.control.inbox_url("hit")
    build_client(world).post_sniper_targets(ticker="AAPL", webhook_url=url)
    (outcome,) = world.control.filing("0000320193-26-000099.txt", SUBMISSION)
    assert outcome["outcome"] == "ingested", outcome
    world.control.advance(0)
    (message,) = world.control.inbox("hit")
    assert message["json"]["payload"]["accession_number"] == "0000320193-26-000099"
    detail = build_client(world).get_sec_filings_accession_number(accession_number="0000320193-26-000099")
    assert detail["data"]["form_type"] == "8-K"
    other = server.world(next(names))
    assert (
        catch_failure(
            lambda: build_client(other).get_sec_filings_accession_number(accession_number="0000320193-26-000099")
        ).status
        == 404
    )
    other.control.drop()
    (broken_outcome,) = world.control.filing("x.xml", b"<broken")
    assert broken_outcome["outcome"] in ("refused", "skipped")


SUBMISSION = b"""<SEC-DOCUMENT>0000320193-26-000099.txt : 20260131
<SEC-HEADER>0000320193-26-000099.hdr.sgml : 20260131
<ACCEPTANCE-DATETIME>20260131070000
ACCESSION NUMBER:		0000320193-26-000099
CONFORMED SUBMISSION TYPE:	8-K
PUBLIC DOCUMENT COUNT:		1
CONFORMED PERIOD OF REPORT:	20260131
FILED AS OF DATE:		20260131
FILER:
	COMPANY DATA:
		COMPANY CONFORMED NAME:			Apple Inc.
		CENTRAL INDEX KEY:			0000320193
</SEC-HEADER>
<DOCUMENT>
<TYPE>8-K
<SEQUENCE>1
<FILENAME>a.htm
<TEXT>
<html>Something happened.</html>
</TEXT>
</DOCUMENT>
</SEC-DOCUMENT>
"""


def test_control_sends_events_and_webhooks(world: FixtureWorld) -> None:
    last_seq = build_client(world).get_events(feed="insider-api")["data"][-1]["seq"]
    seq = world.control.event("insider-api", "insider_transaction", {"ticker": "AAPL"})
    assert seq == last_seq + 1
    new_events = build_client(world).get_events(feed="insider-api", since_seq=last_seq)["data"]
    assert [(event["type"], event["data"]) for event in new_events] == [("insider_transaction", {"ticker": "AAPL"})]
    delivery_id = world.control.webhook("13f.holdings.updated", url=world.control.inbox_url("x"))
    (message,) = world.control.inbox("x")
    assert (message["json"]["delivery_id"], message["signature"]) == (delivery_id, "valid")
    for call in (
        lambda: world.control.event("nowhere", "x", {}),
        lambda: world.control.event("main-api", "insider_transaction", {}),
        lambda: world.control.webhook("no.such"),
        lambda: world.control.webhook("finapi.test"),
        lambda: world.control.webhook("finapi.test", url="http://192.168.0.1/"),
    ):
        assert catch_failure(call).code == "INVALID_PARAM"


def test_a_closed_world_does_no_work() -> None:
    with FinapiServer(listens=False) as server:
        gate = cast(Gate, server.wsgi)
        closed_world = server.world("gone")
        url = closed_world.control.inbox_url("x", status=500)
        closed_world.control.webhook("13f.holdings.updated", url=url)
        state = gate.worlds["gone"]
        state.close()  # The first step of a deletion.
        state.clock.advance(10)
        assert state.run_due_step() is None
        # Its database may belong to another world by now.
        for call in (
            state.settle,
            state.reset,
            state.take_snapshot,
            state.advance_until_idle,
            lambda: state.advance(1),
        ):
            with pytest.raises(WorldGoneError):
                call()


def test_no_world_is_closed_during_a_step(server: FinapiServer, world: FixtureWorld) -> None:
    state = cast(Gate, server.wsgi).worlds[world.url.rpartition("/")[2]]
    read_method = state.database.read
    could_close: list[bool] = []

    def try_to_close() -> None:
        could_close.append(state._control_lock.acquire(blocking=False))
        if could_close[-1]:
            state._control_lock.release()

    def read_while_closing() -> Any:
        thread = threading.Thread(target=try_to_close)
        thread.start()
        thread.join()
        return read_method()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.database, "read", read_while_closing)
        state.run_due_step()
    assert len(could_close) > 1
    assert not any(could_close)


def test_snapshots_are_limited_and_names_are_unique(server: FinapiServer) -> None:
    name = next(names)
    first_world = server.world(name)
    snapshot_names = [first_world.control.snapshot() for _ in range(MAX_SNAPSHOTS)]
    error = catch_failure(first_world.control.snapshot)
    assert (error.code, error.details) == ("CONFLICT", {"limit": 100})
    assert "At most 100 snapshots of a world" in str(error)
    first_world.control.restore(snapshot_names[1])
    snapshot_names.append(first_world.control.snapshot())
    assert catch_failure(lambda: first_world.control.restore(snapshot_names[2])).details["allowed"] == [
        *snapshot_names[:2],
        snapshot_names[-1],
    ]
    first_world.control.reset()
    snapshot_names.append(first_world.control.snapshot())
    first_world.control.drop()
    second_world = server.world(name)
    snapshot_names.append(second_world.control.snapshot())
    assert len(set(snapshot_names)) == MAX_SNAPSHOTS + 3
    assert catch_failure(lambda: second_world.control.restore(snapshot_names[-2])).code == "INVALID_PARAM"
    second_world.control.drop()


def test_control_clears_limits(world: FixtureWorld) -> None:
    path = "/api/v1/financials/status"
    statuses = [get_status(world, "GET", path) for _ in range(12)]
    assert statuses == [200] * 11 + [429]
    world.control.clear_limits()
    assert get_status(world, "GET", path) == 200


def test_mail_to_a_bouncing_address_fails(server: FinapiServer, world: FixtureWorld) -> None:
    code = {"invite_code": server.ready["invite_codes"][0]}
    redeem_answer = send_raw(world, "POST", AUTH + "redeem-invite", code)
    assert redeem_answer is not None
    token = json.loads(redeem_answer.body)["invite_token"]
    body = {"email": "ann+bounce@example.com", "password": NEW, "invite_token": token}
    answer = send_raw(world, "POST", AUTH + "register", body)
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["code"]) == (500, "MAIL_FAILED")


# ---- faults

PATH = "/api/v1/account/balance"


def request_balance(world: FixtureWorld) -> ApiAnswer | None:
    return send_raw(world, "GET", PATH, X_API_Key=world.api_key)


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503, 504])
def test_a_status_fault_has_the_form_of_a_real_error(world: FixtureWorld, code: int) -> None:
    fault_id = world.control.fault(f"GET {PATH}", status=code, times=1)
    error = catch_failure(build_client(world).get_account_balance)
    assert (error.status, error.document["status"]) == (code, "error")
    assert error.request_id is not None
    assert (error.retry_after is not None) == (code in (429, 503))
    assert build_client(world).get_account_balance()["current_balance"] == 500_000
    assert [(fault["id"], fault["met"]) for fault in world.control.faults()] == [(fault_id, 1)]


def test_a_fault_answers_any_status_headers_and_body(world: FixtureWorld) -> None:
    faults_and_answers: list[tuple[dict[str, Any], int, bytes, dict[str, str | None]]] = [
        ({"status": 200, "body": {"a": [1]}}, 200, b'{"a": [1]}', {"content-type": "application/json"}),
        ({"status": 202}, 202, b"{}", {"content-length": "2"}),
        ({"status": 204, "body": "x"}, 204, b"", {"content-type": None, "content-length": None}),
        ({"status": 304, "headers": {"ETag": '"1"'}}, 304, b"", {"etag": '"1"'}),
        ({"status": 307, "headers": {"Location": "/b"}}, 307, b"{}", {"location": "/b"}),
        ({"redirect": "https://other.example/"}, 302, b"{}", {"location": "https://other.example/"}),
        ({"status": 429, "retry_after": 7}, 429, b"", {"retry-after": "7", "x-ratelimit-limit": "60"}),
        ({"status": 502, "body": "<html>", "headers": {"content-type": "text/html"}}, 502, b"<html>", {}),
        ({"status": 503, "retry_after": "Sat, 31 Jan 2026 12:00:30 GMT"}, 503, b"", {}),
        ({"status": 599, "headers": {"X-A": "b"}}, 599, b"", {"x-a": "b"}),
        ({"status": 500, "body": ""}, 500, b"", {"content-length": "0"}),
    ]
    for fault, status, body, headers in faults_and_answers:
        world.control.fault(PATH, times=1, **fault)
        answer = request_balance(world)
        assert answer is not None
        assert answer.status == status
        if body or fault.get("body") == "" or status in (204, 304):
            assert answer.body == body
        assert {name: answer.headers.get(name) for name in headers} == headers
        assert answer.headers["x-api-version"]
        for name, text in (fault.get("headers") or {}).items():
            assert answer.headers[name.lower()] == text
    world.control.fault(PATH, times=1, status=418)
    failure = catch_failure(build_client(world).get_account_balance)
    assert (failure.status, failure.code, failure.message) == (418, "HTTP_418", "A fault of the fixture answers 418.")
    assert world.control.faults()[6]["retry_after"] == 7


def test_a_fault_applies_to_every_nth_call(world: FixtureWorld) -> None:
    world.control.fault(PATH, status=503, every=3, times=2)
    statuses = [get_status(world, "GET", PATH, X_API_Key=world.api_key) for _ in range(10)]
    assert statuses == [200, 200, 503, 200, 200, 503, 200, 200, 200, 200]


def test_the_route_of_a_fault_must_match_a_call(world: FixtureWorld) -> None:
    for route in (
        "/api/v1/tickers/AAPL/overview",
        "GET /api/v1/tickers/*/overview",
        "*/overview",
        "*/AAPL",
        "*/prices/aapl",
        "*/account/*",
        "HEAD /api/v1/*",
        "get /livez",
        "/static/app.css",
        "/api/v1/insiders/bulk/form-4/2025/x.csv",
        "/ws/*",
        "/socket.io/",
        "/api/v?/policy",
        "/api/v1/[pq]olicy",
        "* *",
    ):
        world.control.fault(route, status=503)
    refusals = {
        "GET /api/v1/account/balanse": "The nearest is /api/v1/account/balance.",
        "/api/v2/*": "No call matches the route /api/v2/*.",
        "/api/v1/tickers/AAPL/overview/more": "No call matches",
        "balance": "No call matches the route balance.",
        "*/polcy": "No call matches the route */polcy.",
        "*/account/balanse": "The nearest is /api/v1/account/balance.",
        "GET */prices/AAPL/more/and/more": "No call matches",
        "/api/v?/polic": "The nearest is /api/v1/policy.",
    }
    for route, text in refusals.items():
        failure = catch_failure(lambda: world.control.fault(route, status=503))  # noqa: B023
        assert (failure.status, failure.details["param"]) == (400, "route")
        assert text in failure.message
    failure = catch_failure(lambda: world.control.fault("finapi.tset", duplicate=True))
    assert failure.message == "No event type matches the route finapi.tset. The nearest is finapi.test."


def test_the_refused_url_refuses_connections(world: FixtureWorld) -> None:
    url = world.control.refused_url()
    assert url.startswith("http://127.0.0.1:")
    assert world.control.refused_url() == url
    with pytest.raises(ConnectionFailed, match="Connection refused"):
        Client(url, tries=1).get_policy()


def test_a_hanging_call_is_never_answered(world: FixtureWorld) -> None:
    world.control.fault(PATH, hang=True, times=1)
    # Without a socket there is nothing to wait for.
    assert request_balance(world) is None
    assert request_balance(world) is not None
    with FinapiServer() as listening:
        listening.control.fault(PATH, hang=True, times=1)
        client = Client(listening.url, listening.api_key, tries=1)
        with pytest.raises(ConnectionFailed, match="timed out"):
            client.get_account_balance(timeout=0.2)
        assert client.get_account_balance()["plan"] == "pro"
        listening.control.fault(PATH, status=103, times=1)
        with socket.create_connection(("127.0.0.1", listening.ready["port"]), 5) as connection:
            connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 103 Early Hints\r\n")


def test_a_429_can_have_no_limit_headers(world: FixtureWorld) -> None:
    world.control.fault(status=429, headers=False)
    answer = request_balance(world)
    assert answer is not None
    assert "retry-after" not in answer.headers
    assert "x-ratelimit-limit" not in answer.headers


def test_ordinal_share_and_route_select_calls(world: FixtureWorld) -> None:
    world.control.fault(f"GET {PATH}", status=500, ordinal=3)
    answers = [request_balance(world) for _ in range(4)]
    assert [answer.status for answer in answers if answer] == [200, 200, 500, 200]
    world.control.clear_faults()
    world.control.fault("GET /api/v1/xbrl/*", status=500)
    assert [answer.status for answer in [request_balance(world)] if answer] == [200]
    world.control.fault("*/account/*", status=503, share=0.5)
    statuses = [answer.status for answer in (request_balance(world) for _ in range(20)) if answer]
    assert 3 < statuses.count(503) < 17
    world.control.reset()
    world.control.fault(PATH, status=500, times=1)
    world.control.clear_faults()
    world.control.fault("GET /api/v1/xbrl/*", status=500)
    world.control.fault("*/account/*", status=503, share=0.5)
    # It is the third fault again, so it meets the same calls.
    assert [answer.status for answer in (request_balance(world) for _ in range(20)) if answer] == statuses


def test_a_broken_answer_is_unreachable_to_a_client(world: FixtureWorld) -> None:
    for effect in ({"truncate": 10}, {"reset": True}, {"wrong_length": True}):
        world.control.fault(f"GET {PATH}", times=1, **effect)
        assert catch_failure(build_client(world).get_account_balance).code == "UNREACHABLE"
    assert [call["faults"] for call in world.control.requests()] == [["flt_1"], ["flt_2"], ["flt_3"]]


def test_wsgi_transports_see_a_broken_answer(server: FinapiServer, world: FixtureWorld) -> None:
    headers = {"X-API-Key": world.api_key}
    with (
        httpx.Client(
            transport=httpx.WSGITransport(app=server.wsgi), base_url=world.url, headers=headers
        ) as http_client,
        requests.Session() as session,
    ):
        session.mount(world.url, world.adapter())
        session.headers.update(headers)
        for effect in ({"reset": True}, {"truncate": 5}, {"wrong_length": True}):
            for get, error in ((http_client.get, ConnectionResetError), (session.get, requests.ConnectionError)):
                world.control.fault("*/account/balance", times=1, **effect)
                with pytest.raises(error):
                    get(f"{world.url}/api/v1/account/balance")
                world.control.clear_faults()
                assert get(f"{world.url}/api/v1/account/balance").json()["plan"] == "pro"
        world.control.fault("*/account/balance", truncate=5, times=1)
        assert http_client.head("/api/v1/account/balance").status_code == 200
        # A compressed answer is read, and a body is sent.
        table = session.get(f"{world.url}/api/v1/sec/filings", params={"limit": 20})
        assert (table.headers["content-encoding"], len(table.json()["data"])) == ("gzip", 20)
        sql_answer = session.post(f"{world.url}/api/v1/sql-proxy", json={"query": "SELECT 1 AS one"})
        assert sql_answer.json()["data"] == [{"one": 1}]


def test_a_dripping_answer_is_complete(world: FixtureWorld) -> None:
    world.control.fault(PATH, drip=1_000_000)
    world.control.fault(PATH, delay=0.01)
    answer = request_balance(world)
    assert answer is not None
    assert json.loads(answer.body)["plan"] == "pro"


def test_stale_answers_are_as_of_an_earlier_day(world: FixtureWorld) -> None:
    fresh = build_client(world).get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], limit=1)
    world.control.fault(stale="2024-06-01T00:00:00Z")
    stale = build_client(world).get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], limit=1)
    assert stale["timestamp"] == "2024-06-01T00:00:00.000Z"
    assert stale["data"]["rows"] != fresh["data"]["rows"]
    assert build_client(world).get_account_balance()["as_of"] == "2024-06-01T00:00:00.000Z"


def test_a_duplicate_fault_sends_a_webhook_twice(world: FixtureWorld) -> None:
    world.control.fault("finapi.*", duplicate=True, times=1)
    url = world.control.inbox_url("twice")
    delivery_id = build_client(world).post_webhooks_test(url=url)["delivery_id"]
    world.control.advance(0)
    assert [message["json"]["delivery_id"] for message in world.control.inbox("twice")] == [delivery_id, delivery_id]


def test_a_reorder_fault_sends_a_webhook_after_the_next(world: FixtureWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that a slow machine changes nothing.
    monkeypatch.setattr("finapi.delivery.dispatcher.SLOW_SECONDS", 3_600.0)
    world.control.fault("finapi.*", reorder=True, times=1)
    # A first webhook that is answered quickly lets the dispatcher send several in parallel.
    url = world.control.inbox_url("order")
    world.control.webhook("13f.holdings.updated", url=url)
    world.control.advance(0)
    first_id = build_client(world).post_webhooks_test(url=url)["delivery_id"]
    second_id = build_client(world).post_webhooks_test(url=url)["delivery_id"]
    world.control.advance(0)
    assert [message["json"]["delivery_id"] for message in world.control.inbox("order")][1:] == [second_id, first_id]


@run_each_case(
    "body, param",
    [
        ({}, "status"),
        ({"status": 500, "delay": 1}, "status"),
        ({"status": 99}, "status"),
        ({"status": 600}, "status"),
        ({"redirect": ""}, "redirect"),
        ({"redirect": "http://x/\r\nA: b"}, "redirect"),
        ({"hang": False}, "hang"),
        ({"delay": 1, "body": "x"}, "body"),
        ({"status": 500, "body": 5}, "body"),
        ({"reset": True, "retry_after": 1}, "retry_after"),
        ({"status": 429, "retry_after": -1}, "retry_after"),
        ({"status": 429, "retry_after": "a\nb"}, "headers"),
        ({"status": 500, "headers": {"Content-Length": "1"}}, "headers"),
        ({"status": 500, "headers": {"a b": "1"}}, "headers"),
        ({"status": 500, "headers": {"A": 1}}, "headers"),
        ({"status": 500, "every": 0}, "every"),
        ({"status": 500, "every": 2, "ordinal": 2}, "every"),
        ({"status": 500, "route": "/api/v1/account/balanse"}, "route"),
        ({"status": 500, "route": "FETCH /livez"}, "route"),
        ({"duplicate": True, "route": "finapi.tset"}, "route"),
        ({"status": "500"}, "status"),
        ({"delay": -1}, "delay"),
        ({"delay": 61}, "delay"),
        ({"delay": True}, "delay"),
        ({"drip": 0}, "drip"),
        ({"stale": "never"}, "stale"),
        ({"status": 500, "share": 2}, "share"),
        ({"status": 500, "share": 0.5, "ordinal": 2}, "share"),
        ({"status": 500, "route": ""}, "route"),
        ({"status": 500, "route": "GET "}, "route"),
        ({"status": 500, "route": " /livez"}, "route"),
        ({"status": 500, "route": "GET /a b"}, "route"),
        ({"status": 500, "route": "/livez\n"}, "route"),
        ({"status": 500, "ordinal": 0}, "ordinal"),
        ({"status": 500, "times": 0}, "times"),
        ({"close": 5000}, "close"),
        ({"close": 999}, "close"),
        # Codes that a frame must not contain.
        ({"close": 1005}, "close"),
        ({"close": 1006}, "close"),
        ({"close": 1015}, "close"),
        ({"close": 2999}, "close"),
        ({"explode": True}, "explode"),
        # Only a 429 has limit headers, which false leaves out.
        ({"status": 503, "headers": False}, "headers"),
        ({"delay": 1, "headers": False}, "headers"),
    ],
)
def test_an_impossible_fault_is_refused(world: FixtureWorld, body: dict[str, Any], param: str) -> None:
    error = catch_failure(lambda: world.control.call("POST", "faults", body))
    assert (error.code, error.details["param"]) == ("INVALID_PARAM", param)
    assert world.control.faults() == []


def test_keys_tickers_and_emails_cause_a_status(world: FixtureWorld) -> None:
    assert get_status(world, "GET", PATH, X_API_Key="0" * 29 + "503") == 503
    assert get_status(world, "GET", "/api/v1/tickers/STATUS-500/overview", X_API_Key=world.api_key) == 500
    assert get_status(world, "GET", "/api/v1/xbrl/timeseries?ticker=status-404", X_API_Key=world.api_key) == 404
    body = {"email": "status-429@example.com", "password": "x"}
    assert get_status(world, "POST", AUTH + "login", body) == 429
    assert get_status(world, "GET", PATH, X_API_Key="0" * 29 + "999") == 401


# ---- control itself


def test_control_requires_its_token_and_a_known_call(world: FixtureWorld) -> None:
    assert get_status(world, "POST", "/_control/reset") == 401
    assert get_status(world, "GET", "/_control/clock", X_Control_Token="wrong") == 401
    assert catch_failure(lambda: world.control.call("POST", "nothing")).status == 404
    assert catch_failure(lambda: world.control.call("POST", "faults", b"[1]")).code == "BAD_REQUEST"
    assert catch_failure(lambda: world.control.call("POST", "faults", b'{"a":' * 100_000)).code == "BAD_REQUEST"
    assert catch_failure(lambda: world.control.call("POST", "faults", b" " * (2 << 20))).status == 413
    assert catch_failure(lambda: world.control.call("POST", "filings", b"")).code == "BAD_REQUEST"
    for body, param in (({"plan": "gold"}, "plan"), ({"state": "gone"}, "state"), ({"email": 5}, "email")):
        assert catch_failure(lambda body=body: world.control.call("POST", "accounts", body)).details["param"] == param  # type: ignore[misc]


def test_an_unknown_parameter_of_a_control_call_is_refused(world: FixtureWorld) -> None:
    for method, name, allowed in (
        ("GET", "webhooks/inbox?inbox=mine", ["name"]),
        ("GET", "mailbox?to=ann", []),
        ("POST", "reset?all=yes", []),
        ("POST", "filings?file=x.xml", ["name"]),
    ):
        failure = catch_failure(lambda method=method, name=name: world.control.call(method, name, b"{}"))  # type: ignore[misc]
        assert (failure.status, failure.code, failure.details["allowed"]) == (400, "INVALID_PARAM", allowed), name


def test_one_inbox_is_listed_by_its_name(world: FixtureWorld) -> None:
    for name in ("mine", "other"):
        assert get_status(world, "POST", f"/_control/inbox/{name}", {"sent": name}) == 200
    assert {*world.control.call("GET", "webhooks/inbox")["inboxes"]} == {"mine", "other"}
    (message,) = world.control.call("GET", "webhooks/inbox?name=mine")["inboxes"]["mine"]
    assert (message["json"], message["signature"]) == ({"sent": "mine"}, "no signature")
    assert world.control.call("GET", "webhooks/inbox?name=empty") == {"inboxes": {"empty": []}}
    assert world.control.inbox("empty") == []


def test_the_unnamed_world_cannot_be_deleted(server: FinapiServer) -> None:
    assert catch_failure(server.control.drop).code == "CONFLICT"


def test_only_these_verbs_import_the_test_server() -> None:
    from finapi.web.routes import ROUTES

    assert [route.path for route in ROUTES if "_control" in route.path or "_world" in route.path] == []
    root = Path(__file__).parents[2] / "finapi"
    importers = [
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if "finapi.testing" in file.read_text("utf-8") and not file.is_relative_to(root / "testing")
    ]
    verbs = ("api_verbs", "completion_verb", "conformance_verb", "fixture_recording", "serving_verbs", "watch_verbs")
    assert sorted(importers) == [f"verbs/{name}.py" for name in verbs]


def test_deleted_worlds_leave_nothing_in_the_index(server: FinapiServer) -> None:
    gate: Any = server.wsgi
    world_count = len(gate.worlds)
    for _ in range(30):
        new_world = server.world(next(names))
        build_client(new_world).get_account_balance()
        new_world.control.drop()
    assert len(gate.worlds) == world_count
    assert (
        set(gate.credential_index._fingerprints_of)
        == set(gate.worlds.values())
        >= set(gate.credential_index._world_by_fingerprint.values())
    )


def get_unnamed_status(server: FinapiServer, path: str = "/api/v1/account/balance", **headers: str) -> int:
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = server.send(ApiRequest("GET", server.url + path, request_headers))
    assert answer is not None
    return answer.status


def test_a_wrong_key_reads_no_unchanged_world(world: FixtureWorld, server: FinapiServer) -> None:
    gate = cast(Gate, server.wsgi)
    state = gate.worlds[world.url.rpartition("/")[2]]
    get_unnamed_status(server, X_API_Key="a" * 32)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read", "read_one", "write"):
            patch.setattr(state.database, name, None)
        assert get_unnamed_status(server, X_API_Key="b" * 32) == 401
        assert get_unnamed_status(server, Authorization="Bearer a.b.c") == 401
        assert get_unnamed_status(server, Authorization=f"Bearer a.{'W10' * 3_000}.c") == 401
    # A key that was just created works.
    assert get_unnamed_status(server, X_API_Key=world.control.account("free")["api_key"]) == 200


def test_a_reset_removes_credentials_from_the_index(server: FinapiServer, world: FixtureWorld) -> None:
    gate: Any = server.wsgi
    for _ in range(3):
        token = json.loads(login(world, "fixture password").body)["token"]
        assert get_unnamed_status(server, "/api/v1/user/", Authorization=f"Bearer {token}") == 200
        api_key = world.control.account("free")["api_key"]
        assert get_unnamed_status(server, X_API_Key=api_key) == 200
        state = gate.worlds[world.url.rpartition("/")[2]]
        assert len(gate.credential_index._fingerprints_of[state]) == len(world.accounts) + 2
        world.control.reset()
        assert get_unnamed_status(server, X_API_Key="c" * 32) == 401
        assert len(gate.credential_index._fingerprints_of[state]) == len(world.accounts)


def test_a_key_of_a_deleted_world_creates_no_world(server: FinapiServer) -> None:
    gate: Any = server.wsgi
    deleted_world = server.world(next(names))
    assert get_unnamed_status(server, X_API_Key=deleted_world.api_key) == 200
    deleted_world.control.drop()
    world_names = set(gate.worlds)
    assert get_unnamed_status(server, X_API_Key=deleted_world.api_key) == 401
    assert set(gate.worlds) == world_names


# ---- the process


def test_the_process_ends_with_its_parent() -> None:
    import subprocess

    command = [*process.COMMAND, "fixture", "--port", "0", "--ready", "json", "--exit-with-parent", "--seed", "5"]
    with subprocess.Popen(
        command, cwd=process.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        assert set(ready["accounts"]) == {
            "free",
            "weekly",
            "monthly",
            "pro",
            "yearly",
            "unverified",
            "locked",
            "exhausted",
            "suspended",
        }
        with FinapiServer(ready=ready) as server:
            assert server.client().get_account_balance()["plan"] == "pro"
            assert server.client("yearly").get_account_balance()["plan"] == "yearly"
            server.control.fault(reset=True, times=1)
            assert catch_failure(server.client(tries=1).get_account_balance).status == 0
        assert Path(ready["data_dir"]).is_dir()
        # Mails are written below the temporary directory, not below the directory in which the fixture was started.
        assert ready["mail_dir"] == f"{ready['data_dir']}/mail"
        with FinapiServer(ready=ready) as server:
            server.client().post_auth_forgetpassword(email="pro@example.com")
            server.control.until_idle()
        assert len(list(Path(ready["mail_dir"]).glob("*.eml"))) == 1
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert not Path(ready["data_dir"]).exists()
