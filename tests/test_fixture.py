"""The fixture without a socket: worlds, control, clock, faults; each test in a world of its own."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import requests

from finapi.client import ApiFailure, Client
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.core.errors import UsageError
from finapi.core.passwords import Hasher
from finapi.testing import FinapiServer, base
from finapi.testing.gate import Gate
from finapi.testing.server import FixtureWorld
from finapi.testing.world import MAX_SNAPSHOTS, WorldGoneError
from tests import process

AUTH = "/api/v1/auth/"
NEW = "another long password"

names = (f"w{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=7, listens=False) as running:
        yield running


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    one = server.world(next(names))
    yield one
    one.control.drop()


def client(world: FixtureWorld, plan: str = "pro") -> Client:
    return world.client(plan, tries=1)


def raw(world: FixtureWorld, method: str, path: str, body: Any = None, **headers: str) -> ApiAnswer | None:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    data = b"" if body is None else json.dumps(body).encode()
    return world.send(ApiRequest(method, world.url + path, {"Content-Type": "application/json", **told}, data))


def status(world: FixtureWorld, method: str, path: str, body: Any = None, **headers: str) -> int:
    answer = raw(world, method, path, body, **headers)
    assert answer is not None
    return answer.status


def login(world: FixtureWorld, password: str) -> ApiAnswer:
    answer = raw(world, "POST", AUTH + "login", {"email": world.accounts["pro"]["email"], "password": password})
    assert answer is not None
    return answer


def failure(call: Any) -> ApiFailure:
    with pytest.raises(ApiFailure) as caught:
        call()
    return caught.value


def happened(rows: list[dict[str, Any]], *kinds: str) -> list[tuple[str, str]]:
    return [(row["at"][11:19], row["what"]) for row in rows if row["what"].startswith(kinds)]


# ---- accounts and worlds


def test_every_plan_and_state_has_an_account(world: FixtureWorld) -> None:
    assert list(world.accounts) == ["free", "weekly", "monthly", "pro", "yearly", "unverified", "locked", "exhausted"]
    balances = {plan: client(world, plan).get_account_balance()["current_balance"] for plan in ("free", "pro")}
    assert balances == {"free": 2_000, "pro": 500_000}
    assert failure(lambda: client(world, "exhausted").get_sec_filings()).code == "insufficient_tokens"
    assert failure(lambda: client(world, "locked").get_account_balance()).status == 401
    one = world.accounts["unverified"]
    answer = raw(world, "POST", AUTH + "login", {"email": one["email"], "password": one["password"]})
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "EMAIL_NOT_VERIFIED")


def test_a_world_sees_nothing_of_another(server: FinapiServer, world: FixtureWorld) -> None:
    other = server.world(next(names))
    assert world.api_key != other.api_key
    client(world).get_sec_filings(limit=1)
    login(world, "wrong password")
    assert client(world).get_account_balance()["current_balance"] == 499_995
    assert client(other).get_account_balance()["current_balance"] == 500_000
    assert [one["path"] for one in other.control.requests()] == ["/api/v1/account/balance"]
    other.control.drop()


def test_a_world_is_named_by_prefix_by_header_or_by_a_key_made_in_it(server: FinapiServer, world: FixtureWorld) -> None:
    client(world).get_sec_filings(limit=1)
    made = world.control.account("free")
    base = server.url + "/api/v1/account/balance"

    def balance(**headers: str) -> int:
        answer = world.send(ApiRequest("GET", base, {name.replace("_", "-"): text for name, text in headers.items()}))
        assert answer is not None
        return int(json.loads(answer.body)["current_balance"])

    assert balance(X_API_Key=world.api_key) == 499_995
    assert balance(X_API_Key=made["api_key"]) == 2_000
    name = world.url.rpartition("/")[2]
    assert balance(X_API_Key=world.api_key, X_Finapi_World=name) == 499_995
    # A session too: it was opened in this world alone.
    token = json.loads(login(world, "fixture password").body)["token"]
    answer = world.send(ApiRequest("GET", server.url + "/api/v1/user/", {"Authorization": f"Bearer {token}"}))
    assert answer is not None
    assert json.loads(answer.body)["user"]["email"] == "pro@example.com"


@pytest.mark.parametrize("name", ["-", "a b", "x" * 65, "%2e%2e", "a/../b"])
def test_what_is_no_name_of_a_world_is_refused(server: FinapiServer, name: str) -> None:
    answer = server.send(ApiRequest("GET", f"{server.url}/api/v1/policy", {"X-Finapi-World": name}))
    assert answer is not None
    assert answer.status == 400


def test_reset_forgets_everything_but_the_shared_data(world: FixtureWorld) -> None:
    started = world.control.now()
    client(world).get_sec_filings(limit=1)
    world.control.account("free", email="ann@example.com")
    world.control.fault("*", status=500, times=1)
    raw(world, "POST", AUTH + "forgetpassword", {"email": "free@example.com"})
    world.control.clear_faults()
    raw(world, "POST", AUTH + "forgetpassword", {"email": "free@example.com"})
    for _ in range(5):
        login(world, "wrong password")
    world.control.advance(100)
    world.control.reset()
    assert world.control.now() == started
    assert (world.control.mailbox(), world.control.requests(), world.control.faults()) == ([], [], [])
    assert login(world, "fixture password").status == 200
    assert client(world).get_account_balance()["current_balance"] == 500_000
    assert world.control.account("free", email="ann@example.com")["email"] == "ann@example.com"


def test_a_snapshot_is_come_back_to_with_limits_and_lockouts(world: FixtureWorld) -> None:
    for _ in range(5):
        login(world, "wrong password")
    client(world).get_sec_filings(limit=1)
    kept = world.control.snapshot()
    world.control.advance(61)
    assert login(world, "fixture password").status == 200
    client(world).get_sec_filings(limit=1)
    later = world.control.snapshot()
    world.control.restore(kept)
    assert login(world, "fixture password").status == 429
    answer = raw(world, "GET", "/api/v1/account/limits", X_API_Key=world.api_key)
    assert answer is not None
    assert client(world).get_account_balance()["current_balance"] == 499_995
    refused = failure(lambda: world.control.restore(later))
    assert (refused.code, refused.details["param"]) == ("INVALID_PARAM", "snapshot")


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    def bytes_of(seed: int) -> list[Any]:
        with FinapiServer(seed=seed, listens=False) as running:
            one = running.world("same")
            told: list[Any] = [one.api_key, running.ready["invite_codes"]]
            for path in ("/api/v1/user/", "/api/v1/sec/filings?limit=2", "/api/v1/account/balance"):
                answer = raw(one, "GET", path, X_API_Key=one.api_key)
                assert answer is not None
                told.append((answer.status, sorted(answer.headers.items()), answer.body))
            told.append(client(one).post_sniper_targets(ticker="AAPL", idempotency_key="k"))
            told.append(json.loads(login(one, "fixture password").body))
            told.append(one.control.filing("companies.json", COMPANIES))
            answer = raw(one, "GET", "/api/v1/sec/filings?limit=1", X_API_Key=one.api_key)
            assert answer is not None
            return [*told, answer.headers]

    first, again, other = bytes_of(1), bytes_of(1), bytes_of(2)
    assert first == again
    assert first[0] != other[0]


def test_a_later_start_has_the_same_accounts_whatever_was_done_with_those_of_the_first() -> None:
    with FinapiServer(listens=False) as running:
        accounts = {kind: dict(one) for kind, one in running.accounts.items()}
        assert status(running._world, "POST", AUTH + "register", {}) == 400
        client(running._world).post_sniper_targets(ticker="AAPL")
        running.ready["accounts"].clear()
    with FinapiServer(listens=False) as running:
        assert running.accounts == accounts
        assert client(running._world).get_sniper_targets()["targets"] == []
    with FinapiServer(listens=False, lockout_emails=500) as running:
        assert running.accounts == accounts


def test_fixture_accounts_open_by_their_password_whatever_it_is_hashed_by() -> None:
    hasher = Hasher("cheap")
    assert hasher.verify(base.CHEAP_PASSWORD_HASH, base.PASSWORD)
    assert not hasher.verify(base.CHEAP_PASSWORD_HASH, "fixture passworD")
    assert not hasher.needs_rehash(base.CHEAP_PASSWORD_HASH)
    with FinapiServer(listens=False, password_profile="default") as running:
        with running.wsgi.worlds[""].app.accounts.read() as tx:
            row = tx.find_row("user_by_email", email="pro@example.com")
        assert row is not None
        assert row["password"].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
        assert login(running._world, base.PASSWORD).status == 200


COMPANIES = b'{"0": {"cik_str": 1000001, "ticker": "ZZTOP", "title": "Zed Zed Inc"}}'


def test_a_reset_begins_the_same_ids_again(world: FixtureWorld) -> None:
    first = client(world).post_sniper_targets(ticker="AAPL")["target_id"]
    world.control.reset()
    assert client(world).post_sniper_targets(ticker="AAPL")["target_id"] == first
    world.control.seed(99)
    assert client(world).post_sniper_targets(ticker="AAPL")["target_id"] != first


# ---- time


def test_the_hour_of_a_lockout_passes(world: FixtureWorld) -> None:
    verdicts = []
    for _ in range(20):
        answer = login(world, "wrong password")
        verdicts.append(answer.status)
        if answer.status == 429:
            wait = int(answer.headers["retry-after"])
            if wait < 3600:
                world.control.advance(wait)
    assert [place + 1 for place, one in enumerate(verdicts) if one == 429] == [5, 10, 20]
    assert login(world, "fixture password").headers["retry-after"] == "3600"
    rows = world.control.advance(3599)
    assert login(world, "fixture password").status == 429
    rows = world.control.advance(1)
    assert happened(rows, "lockout") == [("13:06:00", "lockout.ended")]
    assert login(world, "fixture password").status == 200


def test_so_many_seconds_later_all_of_them_have_passed() -> None:
    with FinapiServer(listens=False) as running:
        world = running.wsgi.worlds[""]
        for _ in range(100):
            before = world.clock.monotonic()
            world.advance(1.0)
            assert world.clock.monotonic() - before >= 1.0


def test_a_reset_token_lives_for_a_day(world: FixtureWorld) -> None:
    email = world.accounts["pro"]["email"]
    assert status(world, "POST", AUTH + "forgetpassword", {"email": email}) == 200
    (mail,) = world.control.mailbox()
    token = mail["links"][0].partition("token=")[2]
    assert mail["to"] == email
    assert mail["links"][0].startswith(world.url)
    kept = world.control.snapshot()
    world.control.advance(24 * 3600 - 1)
    assert status(world, "PUT", AUTH + "newpassword", {"token": token, "newpassword": NEW}) == 200
    assert login(world, NEW).status == 200
    world.control.restore(kept)
    rows = world.control.advance(24 * 3600)
    # The link of the account that was never verified expired with it.
    assert happened(rows, "reset_token", "verification") == [
        ("12:00:00", "reset_token.expired"),
        ("12:00:00", "verification_link.expired"),
    ]
    assert status(world, "PUT", AUTH + "newpassword", {"token": token, "newpassword": NEW}) == 400


def test_many_links_that_expire_are_one_row_and_few_are_one_each(world: FixtureWorld) -> None:
    def make(number: int) -> None:
        for _ in range(number):
            world.control.call("POST", "accounts", {"state": "unverified"})

    world.control.advance(24 * 3600)
    make(10)
    rows = world.control.advance(24 * 3600)
    assert len({row["subject"] for row in rows if row["what"] == "verification_link.expired"}) == 10
    make(8)
    login(world, "fixture password")
    world.control.advance(3600)
    make(6)
    rows = [row for row in world.control.advance(24 * 3600) if row["what"] != "watchdog.round"]
    noon = {"what": "verification_link.expired", "subject": None, "detail": "14 verification links"}
    assert rows == [{"at": "2026-02-03T13:00:00.000Z", **noon}]
    # What happened between two of them keeps both apart.
    make(11)
    world.control.advance(3600)
    client(world).post_sniper_targets(ticker="AAPL", duration_minutes=60 * 24)
    make(11)
    rows = world.control.advance(48 * 3600)
    told = [(row["at"][:13], row["detail"]) for row in rows if row["what"] == "verification_link.expired"]
    assert told == [("2026-02-04T13", "11 verification links"), ("2026-02-04T14", "11 verification links")]


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 10**400, True, 1.5])
def test_a_seed_that_is_no_number_of_64_bits_is_refused(world: FixtureWorld, seed: Any) -> None:
    refused = failure(lambda: world.control.seed(seed))
    assert (refused.code, refused.details["param"]) == ("INVALID_PARAM", "seed")
    with pytest.raises(UsageError, match="seed must be a whole number from -9223372036854775808"):
        FinapiServer(seed=seed, listens=False).__enter__()


def test_a_month_refills_the_plan(world: FixtureWorld) -> None:
    assert failure(lambda: client(world, "exhausted").get_sec_filings()).status == 402
    rows = world.control.advance(28 * 86_400)
    refilled = [row["detail"] for row in rows if row["subject"] == "exhausted@example.com"]
    assert refilled == ["+2000 tokens"]
    assert client(world, "exhausted").get_account_balance()["current_balance"] == 2_000


def test_webhooks_are_tried_by_their_schedule_and_signed(world: FixtureWorld) -> None:
    url = world.control.inbox_url("mine", status=500)
    secret = client(world).get_webhooks_secret()["secret"]
    delivery = client(world).post_webhooks_test(url=url)["delivery_id"]
    rows = world.control.until_idle()
    assert happened(rows, "webhook") == [
        ("12:00:00", "webhook.attempt"),
        ("12:00:10", "webhook.attempt"),
        ("12:01:10", "webhook.attempt"),
        ("12:06:10", "webhook.attempt"),
        ("12:06:10", "webhook.dropped"),
    ]
    kept = world.control.inbox("mine")
    assert [(one["signature"], one["json"]["delivery_id"]) for one in kept] == [("valid", delivery)] * 4
    assert secret.startswith("whsec_")


def test_an_inbox_judges_what_is_not_signed(world: FixtureWorld) -> None:
    client(world).get_webhooks_secret()
    for headers in ({}, {"webhook_id": "a", "webhook_timestamp": "1", "webhook_signature": "v1,AAAA"}):
        assert status(world, "POST", "/_control/inbox/other", {"a": 1}, **headers) == 200
    assert [one["signature"] for one in world.control.inbox("other")] == ["no signature", "wrong signature"]
    assert world.control.inbox("never") == []


def test_a_sniper_window_opens_ends_and_is_told_of(world: FixtureWorld) -> None:
    session = {"Authorization": f"Bearer {json.loads(login(world, 'fixture password').body)['token']}"}
    topics = {"webhook_topics": ["sniper.window_expired"], "webhook_url": world.control.inbox_url("s")}
    assert status(world, "PUT", "/api/v1/user/", topics, **session) == 200
    start = "2026-01-31T12:05:00Z"
    target = client(world).post_sniper_targets(ticker="AAPL", start_time=start, duration_minutes=10)
    assert target["status"] == "CREATED"
    rows = world.control.advance(3600)
    assert happened(rows, "sniper", "webhook.delivered") == [
        ("12:05:00", "sniper.window_opened"),
        ("12:15:00", "sniper.window_expired"),
        ("12:15:00", "webhook.delivered"),
    ]
    (message,) = world.control.inbox("s")
    assert message["json"]["event_type"] == "sniper.window_expired"
    assert message["json"]["target_id"] == target["target_id"]


def test_time_may_stand_jump_and_run(world: FixtureWorld) -> None:
    assert world.control.freeze("2026-03-01T00:00:00+01:00").isoformat() == "2026-02-28T23:00:00+00:00"
    assert world.control.freeze("2026-01-01T00:00:00Z").isoformat() == "2026-01-01T00:00:00+00:00"
    assert client(world).get_account_balance()["as_of"] == "2026-01-01T00:00:00.000Z"
    world.control.run()
    assert world.control.call("GET", "clock")["frozen"] is False


@pytest.mark.parametrize(
    ("body", "param"),
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
def test_a_time_that_cannot_be_is_refused(world: FixtureWorld, body: dict[str, Any], param: str) -> None:
    refused = failure(lambda: world.control.call("POST", "clock", body))
    assert (refused.code, refused.details["param"]) == ("INVALID_PARAM", param)


def test_the_status_tells_of_a_round_of_the_watchdog(world: FixtureWorld) -> None:
    world.control.advance(60)
    answer = raw(world, "GET", "/api/v1/status")
    assert answer is not None
    told = json.loads(answer.body)
    assert told["overall"] == "operational"
    assert {one["name"] for one in told["services"]} >= {"main_api", "insider_api", "postgres_db", "redis", "frontend"}


# ---- what is told, and what comes in


def test_the_journal_has_every_call(world: FixtureWorld) -> None:
    raw(world, "POST", "/api/v1/webhooks/test", {"url": "x"}, X_API_Key=world.api_key, X_Request_ID="mine")
    (told,) = world.control.requests()
    assert (told["method"], told["path"], told["status"], told["body"]) == (
        "POST",
        "/api/v1/webhooks/test",
        400,
        '{"url": "x"}',
    )
    assert told["headers"]["x-api-key"] == world.api_key
    assert told["request_id"] == "mine"


def test_a_filing_comes_in_and_is_told_to_a_sniper(server: FinapiServer, world: FixtureWorld) -> None:
    url = world.control.inbox_url("hit")
    client(world).post_sniper_targets(ticker="AAPL", webhook_url=url)
    (found,) = world.control.filing("0000320193-26-000099.txt", SUBMISSION)
    assert found["outcome"] == "ingested", found
    world.control.advance(0)
    (message,) = world.control.inbox("hit")
    assert message["json"]["payload"]["accession_number"] == "0000320193-26-000099"
    detail = client(world).get_sec_filings_accession_number(accession_number="0000320193-26-000099")
    assert detail["data"]["form_type"] == "8-K"
    other = server.world(next(names))
    assert (
        failure(lambda: client(other).get_sec_filings_accession_number(accession_number="0000320193-26-000099")).status
        == 404
    )
    other.control.drop()
    (refused,) = world.control.filing("x.xml", b"<broken")
    assert refused["outcome"] in ("refused", "skipped")


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


def test_an_event_and_a_webhook_are_told(world: FixtureWorld) -> None:
    before = client(world).get_events(feed="insider-api")["data"][-1]["seq"]
    seq = world.control.event("insider-api", "insider_transaction", {"ticker": "AAPL"})
    assert seq == before + 1
    told = client(world).get_events(feed="insider-api", since_seq=before)["data"]
    assert [(one["type"], one["data"]) for one in told] == [("insider_transaction", {"ticker": "AAPL"})]
    delivery = world.control.webhook("13f.holdings.updated", url=world.control.inbox_url("x"))
    (message,) = world.control.inbox("x")
    assert (message["json"]["delivery_id"], message["signature"]) == (delivery, "valid")
    for call in (
        lambda: world.control.event("nowhere", "x", {}),
        lambda: world.control.event("main-api", "insider_transaction", {}),
        lambda: world.control.webhook("no.such"),
        lambda: world.control.webhook("finapi.test"),
        lambda: world.control.webhook("finapi.test", url="http://192.168.0.1/"),
    ):
        assert failure(call).code == "INVALID_PARAM"


def test_a_world_that_went_while_it_was_to_be_stepped_does_nothing_more() -> None:
    with FinapiServer(listens=False) as server:
        gate = cast(Gate, server.wsgi)
        one = server.world("gone")
        url = one.control.inbox_url("x", status=500)
        one.control.webhook("13f.holdings.updated", url=url)
        gone = gate.worlds["gone"]
        gone.close()  # what a drop does first
        gone.clock.advance(10)
        assert gone.run_due_step() is None
        # Nor is it told of by its database, which may be another world's by now.
        for call in (gone.settle, gone.reset, gone.take_snapshot, gone.advance_until_idle, lambda: gone.advance(1)):
            with pytest.raises(WorldGoneError):
                call()


def test_no_world_is_closed_while_a_step_reads_what_is_due(server: FinapiServer, world: FixtureWorld) -> None:
    one = cast(Gate, server.wsgi).worlds[world.url.rpartition("/")[2]]
    read = one.database.read
    closable: list[bool] = []

    def drops() -> None:
        closable.append(one._control_lock.acquire(blocking=False))
        if closable[-1]:
            one._control_lock.release()

    def asked() -> Any:
        drop = threading.Thread(target=drops)
        drop.start()
        drop.join()
        return read()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one.database, "read", asked)
        one.run_due_step()
    assert len(closable) > 1
    assert not any(closable)


def test_snapshots_have_a_limit_and_no_name_twice(server: FinapiServer) -> None:
    name = next(names)
    first = server.world(name)
    given = [first.control.snapshot() for _ in range(MAX_SNAPSHOTS)]
    refused = failure(first.control.snapshot)
    assert (refused.code, refused.details) == ("CONFLICT", {"limit": 100})
    assert "At most 100 snapshots of a world" in str(refused)
    first.control.restore(given[1])
    given.append(first.control.snapshot())
    assert failure(lambda: first.control.restore(given[2])).details["allowed"] == [*given[:2], given[-1]]
    first.control.reset()
    given.append(first.control.snapshot())
    first.control.drop()
    again = server.world(name)
    given.append(again.control.snapshot())
    assert len(set(given)) == MAX_SNAPSHOTS + 3
    assert failure(lambda: again.control.restore(given[-2])).code == "INVALID_PARAM"
    again.control.drop()


def test_limits_are_cleared(world: FixtureWorld) -> None:
    path = "/api/v1/financials/status"
    verdicts = [status(world, "GET", path) for _ in range(12)]
    assert verdicts == [200] * 11 + [429]
    world.control.clear_limits()
    assert status(world, "GET", path) == 200


def test_mail_to_an_address_that_bounces_fails(server: FinapiServer, world: FixtureWorld) -> None:
    code = {"invite_code": server.ready["invite_codes"][0]}
    redeemed = raw(world, "POST", AUTH + "redeem-invite", code)
    assert redeemed is not None
    token = json.loads(redeemed.body)["invite_token"]
    body = {"email": "ann+bounce@example.com", "password": NEW, "invite_token": token}
    answer = raw(world, "POST", AUTH + "register", body)
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["code"]) == (500, "MAIL_FAILED")


# ---- faults

PATH = "/api/v1/account/balance"


def balance(world: FixtureWorld) -> ApiAnswer | None:
    return raw(world, "GET", PATH, X_API_Key=world.api_key)


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 408, 409, 410, 413, 429, 500, 503, 504])
def test_a_status_is_answered_in_finapis_own_shape(world: FixtureWorld, code: int) -> None:
    id = world.control.fault(f"GET {PATH}", status=code, times=1)
    failed = failure(client(world).get_account_balance)
    assert (failed.status, failed.document["status"]) == (code, "error")
    assert failed.request_id is not None
    assert (failed.retry_after is not None) == (code in (429, 503))
    assert client(world).get_account_balance()["current_balance"] == 500_000
    assert [(one["id"], one["met"]) for one in world.control.faults()] == [(id, 1)]


def test_a_429_may_come_without_its_headers(world: FixtureWorld) -> None:
    world.control.fault(status=429, headers=False)
    answer = balance(world)
    assert answer is not None
    assert "retry-after" not in answer.headers
    assert "x-ratelimit-limit" not in answer.headers


def test_the_ordinal_the_share_and_the_route_decide(world: FixtureWorld) -> None:
    world.control.fault(f"GET {PATH}", status=500, ordinal=3)
    answers = [balance(world) for _ in range(4)]
    assert [one.status for one in answers if one] == [200, 200, 500, 200]
    world.control.clear_faults()
    world.control.fault("GET /api/v1/xbrl/*", status=500)
    assert [one.status for one in [balance(world)] if one] == [200]
    world.control.fault("*/account/*", status=503, share=0.5)
    found = [one.status for one in (balance(world) for _ in range(20)) if one]
    assert 3 < found.count(503) < 17
    world.control.reset()
    world.control.fault(PATH, status=500, times=1)
    world.control.clear_faults()
    world.control.fault("GET /api/v1/xbrl/*", status=500)
    world.control.fault("*/account/*", status=503, share=0.5)
    # The third fault of the world, as it was before: it meets the same calls.
    assert [one.status for one in (balance(world) for _ in range(20)) if one] == found


def test_an_answer_is_cut_broken_off_or_promises_too_much(world: FixtureWorld) -> None:
    for does in ({"truncate": 10}, {"reset": True}, {"wrong_length": True}):
        world.control.fault(f"GET {PATH}", times=1, **does)
        assert failure(client(world).get_account_balance).code == "UNREACHABLE"
    assert [one["faults"] for one in world.control.requests()] == [["flt_1"], ["flt_2"], ["flt_3"]]


def test_other_transports_without_a_socket_see_a_broken_answer_too(server: FinapiServer, world: FixtureWorld) -> None:
    headers = {"X-API-Key": world.api_key}
    with (
        httpx.Client(transport=httpx.WSGITransport(app=server.wsgi), base_url=world.url, headers=headers) as client,
        requests.Session() as session,
    ):
        session.mount(world.url, world.adapter())
        session.headers.update(headers)
        for does in ({"reset": True}, {"truncate": 5}, {"wrong_length": True}):
            for ask, broken in ((client.get, ConnectionResetError), (session.get, requests.ConnectionError)):
                world.control.fault("*/account/balance", times=1, **does)
                with pytest.raises(broken):
                    ask(f"{world.url}/api/v1/account/balance")
                world.control.clear_faults()
                assert ask(f"{world.url}/api/v1/account/balance").json()["plan"] == "pro"
        world.control.fault("*/account/balance", truncate=5, times=1)
        assert client.head("/api/v1/account/balance").status_code == 200
        # What it compresses is read, what is posted arrives.
        listed = session.get(f"{world.url}/api/v1/sec/filings", params={"limit": 20})
        assert (listed.headers["content-encoding"], len(listed.json()["data"])) == ("gzip", 20)
        asked = session.post(f"{world.url}/api/v1/sql-proxy", json={"query": "SELECT 1 AS one"})
        assert asked.json()["data"] == [{"one": 1}]


def test_an_answer_drips_and_is_whole(world: FixtureWorld) -> None:
    world.control.fault(PATH, drip=1_000_000)
    world.control.fault(PATH, delay=0.01)
    answer = balance(world)
    assert answer is not None
    assert json.loads(answer.body)["plan"] == "pro"


def test_stale_data_are_of_a_day_that_is_over(world: FixtureWorld) -> None:
    fresh = client(world).get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], limit=1)
    world.control.fault(stale="2024-06-01T00:00:00Z")
    stale = client(world).get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], limit=1)
    assert stale["timestamp"] == "2024-06-01T00:00:00.000Z"
    assert stale["data"]["rows"] != fresh["data"]["rows"]
    assert client(world).get_account_balance()["as_of"] == "2024-06-01T00:00:00.000Z"


def test_a_webhook_comes_twice(world: FixtureWorld) -> None:
    world.control.fault("finapi.*", duplicate=True, times=1)
    url = world.control.inbox_url("twice")
    first = client(world).post_webhooks_test(url=url)["delivery_id"]
    world.control.advance(0)
    assert [one["json"]["delivery_id"] for one in world.control.inbox("twice")] == [first, first]


def test_a_webhook_comes_behind_the_next(world: FixtureWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    # However long the machine stands still meanwhile.
    monkeypatch.setattr("finapi.delivery.dispatch.SLOW_SECONDS", 3_600.0)
    world.control.fault("finapi.*", reorder=True, times=1)
    # The first that was answered quickly shows that the receiver takes several at once.
    url = world.control.inbox_url("order")
    world.control.webhook("13f.holdings.updated", url=url)
    world.control.advance(0)
    first = client(world).post_webhooks_test(url=url)["delivery_id"]
    second = client(world).post_webhooks_test(url=url)["delivery_id"]
    world.control.advance(0)
    assert [one["json"]["delivery_id"] for one in world.control.inbox("order")][1:] == [second, first]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "status"),
        ({"status": 500, "delay": 1}, "status"),
        ({"status": 299}, "status"),
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
        # Codes that no frame may have.
        ({"close": 1005}, "close"),
        ({"close": 1006}, "close"),
        ({"close": 1015}, "close"),
        ({"close": 2999}, "close"),
        ({"explode": True}, "explode"),
        # Of which there are none to leave out.
        ({"status": 503, "headers": False}, "headers"),
        ({"delay": 1, "headers": False}, "headers"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(world: FixtureWorld, body: dict[str, Any], param: str) -> None:
    refused = failure(lambda: world.control.call("POST", "faults", body))
    assert (refused.code, refused.details["param"]) == ("INVALID_PARAM", param)
    assert world.control.faults() == []


def test_keys_tickers_and_emails_ask_for_a_status(world: FixtureWorld) -> None:
    assert status(world, "GET", PATH, X_API_Key="0" * 29 + "503") == 503
    assert status(world, "GET", "/api/v1/tickers/STATUS-500/overview", X_API_Key=world.api_key) == 500
    assert status(world, "GET", "/api/v1/xbrl/timeseries?ticker=status-404", X_API_Key=world.api_key) == 404
    body = {"email": "status-429@example.com", "password": "x"}
    assert status(world, "POST", AUTH + "login", body) == 429
    assert status(world, "GET", PATH, X_API_Key="0" * 29 + "999") == 401


# ---- control itself


def test_control_wants_its_token_and_knows_its_calls(world: FixtureWorld) -> None:
    assert status(world, "POST", "/_control/reset") == 401
    assert status(world, "GET", "/_control/clock", X_Control_Token="wrong") == 401
    assert failure(lambda: world.control.call("POST", "nothing")).status == 404
    assert failure(lambda: world.control.call("POST", "faults", b"[1]")).code == "BAD_REQUEST"
    assert failure(lambda: world.control.call("POST", "faults", b'{"a":' * 100_000)).code == "BAD_REQUEST"
    assert failure(lambda: world.control.call("POST", "faults", b" " * (2 << 20))).status == 413
    assert failure(lambda: world.control.call("POST", "filings", b"")).code == "BAD_REQUEST"
    for body, param in (({"plan": "gold"}, "plan"), ({"state": "gone"}, "state"), ({"email": 5}, "email")):
        assert failure(lambda body=body: world.control.call("POST", "accounts", body)).details["param"] == param  # type: ignore[misc]


def test_the_world_without_a_name_stays(server: FinapiServer) -> None:
    assert failure(server.control.drop).code == "CONFLICT"


def test_serve_and_demo_have_no_control() -> None:
    from finapi.web.routes import ROUTES

    assert [route.path for route in ROUTES if "_control" in route.path or "_world" in route.path] == []
    root = Path(__file__).parents[1] / "finapi"
    importers = [
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if "finapi.testing" in file.read_text("utf-8") and not file.is_relative_to(root / "testing")
    ]
    # The verb itself with what it records, what grades and names the checks, what triggers, and a caller of WSGI
    # applications.
    verbs = ("asking", "completing", "grading", "recording", "serving", "watching")
    assert sorted(importers) == [f"verbs/{name}.py" for name in verbs]


def test_worlds_that_are_no_more_leave_nothing(server: FinapiServer) -> None:
    gate: Any = server.wsgi
    before = len(gate.worlds)
    for _ in range(30):
        one = server.world(next(names))
        client(one).get_account_balance()
        one.control.drop()
    assert len(gate.worlds) == before
    assert (
        set(gate.credential_index._fingerprints_of)
        == set(gate.worlds.values())
        >= set(gate.credential_index._world_by_fingerprint.values())
    )


def status_of(server: FinapiServer, path: str = "/api/v1/account/balance", **headers: str) -> int:
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = server.send(ApiRequest("GET", server.url + path, told))
    assert answer is not None
    return answer.status


def test_a_wrong_key_asks_no_world_that_stands_still(world: FixtureWorld, server: FinapiServer) -> None:
    gate = cast(Gate, server.wsgi)
    one = gate.worlds[world.url.rpartition("/")[2]]
    status_of(server, X_API_Key="a" * 32)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read", "read_one", "write"):
            patch.setattr(one.database, name, None)
        assert status_of(server, X_API_Key="b" * 32) == 401
        assert status_of(server, Authorization="Bearer a.b.c") == 401
        assert status_of(server, Authorization=f"Bearer a.{'W10' * 3_000}.c") == 401
    # One that was made a moment later works at once.
    assert status_of(server, X_API_Key=world.control.account("free")["api_key"]) == 200


def test_credentials_are_held_as_long_as_the_world_holds_them(server: FinapiServer, world: FixtureWorld) -> None:
    gate: Any = server.wsgi
    for _ in range(3):
        token = json.loads(login(world, "fixture password").body)["token"]
        assert status_of(server, "/api/v1/user/", Authorization=f"Bearer {token}") == 200
        made = world.control.account("free")["api_key"]
        assert status_of(server, X_API_Key=made) == 200
        one = gate.worlds[world.url.rpartition("/")[2]]
        assert len(gate.credential_index._fingerprints_of[one]) == 8 + 2
        world.control.reset()
        assert status_of(server, X_API_Key="c" * 32) == 401
        assert len(gate.credential_index._fingerprints_of[one]) == 8


def test_a_key_of_a_world_that_is_no_more_makes_no_world(server: FinapiServer) -> None:
    gate: Any = server.wsgi
    one = server.world(next(names))
    assert status_of(server, X_API_Key=one.api_key) == 200
    one.control.drop()
    before = set(gate.worlds)
    assert status_of(server, X_API_Key=one.api_key) == 401
    assert set(gate.worlds) == before


# ---- the process


def test_the_ready_line_opens_every_account_and_the_process_ends_with_its_parent() -> None:
    import subprocess

    words = [*process.COMMAND, "fixture", "--port", "0", "--ready", "json", "--exit-with-parent", "--seed", "5"]
    with subprocess.Popen(
        words, cwd=process.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
        }
        with FinapiServer(ready=ready) as running:
            assert running.client().get_account_balance()["plan"] == "pro"
            assert running.client("yearly").get_account_balance()["plan"] == "yearly"
            running.control.fault(reset=True, times=1)
            assert failure(running.client(tries=1).get_account_balance).status == 0
        assert Path(ready["data_dir"]).is_dir()
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert not Path(ready["data_dir"]).exists()
