"""Sniper targets and webhooks through the API: names and types of ``wire.json``, refusals, and a hit end to end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery.dispatcher import Dispatcher
from finapi.market.documents import filing_store
from finapi.market.documents.metadata import HEADER_EVIDENCE, PARTY_RANKS, FilingMetadata, Party
from finapi.market.reference import companies
from tests.client import PASSWORD, Client, ledger_sum
from tests.conftest import NOW, SHARED, needs_shared
from tests.receiver import Receiver, library_at, receiver

TARGETS = "/api/v1/sniper/targets"
WEBHOOKS = "/api/v1/webhooks"
WIRE = SHARED / "contract" / "wire.json"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    made = make_app(webhook_allow=("127.0.0.0/8",), password_profile="cheap")
    with made.db.write() as tx:
        companies.upsert_name(tx, 1067983, "BERKSHIRE HATHAWAY INC", companies.FROM_SUBMISSIONS, "2026-01-01")
        companies.upsert_tickers(tx, 1067983, [("BRK-B", "NYSE")], companies.FROM_SUBMISSIONS)
    return made


@pytest.fixture
def client(app: App, user: users.NewUser) -> Client:
    return Client(app, user.api_key)


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


def deliver(app: App) -> None:
    dispatcher = Dispatcher(app)
    dispatcher.run_until_idle(5)
    dispatcher.stop(0.0)


def file(app: App, form: str = "8-K") -> None:
    with app.db.write() as tx:
        told = FilingMetadata(
            "0001067983-26-000007",
            HEADER_EVIDENCE,
            [Party(1067983, PARTY_RANKS["filer"], "BERKSHIRE HATHAWAY INC")],
            form=form,
            filed_at="2026-01-31",
            accepted_at="2026-01-31T11:59:30.000Z",
        )
        filing_store.upsert(tx, told, app.clock.now())


def test_from_a_target_to_a_verified_message(
    app: App, client: Client, there: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.post(TARGETS, {"ticker": "brk.b", "form_types": ["8-K"], "webhook_url": there.url})
    assert made.status == 200
    assert (made.json["ticker"], made.json["status"]) == ("BRK-B", "ACTIVE")
    file(app)
    deliver(app)
    secret = client.get(f"{WEBHOOKS}/secret").json["secret"]
    (received,) = there.received
    library_at(app.clock.now(), monkeypatch)
    message = standardwebhooks.Webhook(secret).verify(received.body, received.headers)
    assert message["event_type"] == "sniper.filing_hit"
    assert message["target_id"] == made.json["target_id"]
    assert message["occurred_at"] == "2026-01-31T11:59:30.000Z"
    (listed,) = client.get(TARGETS).json["targets"]
    assert (listed["status"], listed["resolution_reason"]) == ("STOPPED", "filing_hit")
    (delivery,) = client.get(f"{WEBHOOKS}/deliveries", query={"status": "delivered"}).json["deliveries"]
    assert delivery["delivery_id"] == message["delivery_id"]


KINDS: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "timestamp": (str,), "boolean": (bool,)}
# What has nothing to be told about is null: finapi has no such stages, or nothing was hit.
MAY_BE_NULL = {"resolution_reason", "last_event", "filing_uuid", "holdings_count", "parsed_at", "enriched_at"}


def agrees(value: Any, wanted: Any, place: str) -> None:
    if value is None:
        assert place.rpartition(".")[2] in MAY_BE_NULL, place
    elif isinstance(wanted, dict):
        for name, inner in wanted.items():
            assert name in value, f"{place}.{name}"
            agrees(value[name], inner, f"{place}.{name}")
    elif isinstance(wanted, list):
        for item in value:
            agrees(item, wanted[0], place)
    else:
        assert isinstance(value, KINDS[wanted]), place


@needs_shared
def test_answers_have_the_members_and_types_of_the_contract(app: App, client: Client, there: Receiver) -> None:
    wire = json.loads(Path(WIRE).read_text())
    for _ in range(2):
        made = client.post(TARGETS, {"ticker": "1067983", "webhook_url": there.url})
        agrees(made.json, wire[f"POST {TARGETS}"]["response"], "create")
    stopped = client.post(f"{TARGETS}/{made.json['target_id']}/stop", {})
    agrees(stopped.json, wire[f"POST {TARGETS}/{{target_id}}/stop"]["response"], "stop")
    file(app)
    listed = client.get(TARGETS)
    assert len(listed.json["targets"]) == 2
    agrees(listed.json, wire[f"GET {TARGETS}"]["response"], "list")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "ticker"),
        ({"ticker": "NOSUCH"}, "ticker"),
        ({"ticker": "not a ticker!"}, "ticker"),
        ({"ticker": 7}, "ticker"),
        ({"ticker": "BRK-B", "duration_minutes": 0}, "duration_minutes"),
        ({"ticker": "BRK-B", "duration_minutes": 1441}, "duration_minutes"),
        ({"ticker": "BRK-B", "duration_minutes": "60"}, "duration_minutes"),
        ({"ticker": "BRK-B", "form_types": "8-K"}, "form_types"),
        ({"ticker": "BRK-B", "form_types": [8]}, "form_types"),
        ({"ticker": "BRK-B", "webhook_url": "ftp://example.com/"}, "webhook_url"),
        ({"ticker": "BRK-B", "webhook_url": "https://10.0.0.1/"}, "webhook_url"),
        ({"ticker": "BRK-B", "webhook_url": "https://0x0a000001/"}, "webhook_url"),
        ({"ticker": "BRK-B", "webhook_url": "https://[fe80::1%25eth0]/"}, "webhook_url"),
        ({"ticker": "BRK-B", "start_time": 1700000000}, "start_time"),
    ],
)
def test_what_is_wrong_with_a_target_is_named(client: Client, body: dict[str, Any], param: str) -> None:
    answer = client.post(TARGETS, body)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == param


def test_nulls_are_as_if_they_were_not_there(client: Client) -> None:
    body = dict.fromkeys(["duration_minutes", "start_time", "end_time", "form_types", "webhook_url"])
    answer = client.post(TARGETS, {"ticker": "BRK-B", **body})
    assert answer.status == 200
    assert answer.json["webhook_url"] is None


def test_a_session_works_as_well_as_a_key_and_neither_is_401(app: App) -> None:
    users.create(app, "eve@example.com", "free", NOW, password=PASSWORD)
    client = Client(app)
    token = client.post("/api/v1/auth/login", {"email": "eve@example.com", "password": PASSWORD}).json["token"]
    for path in (TARGETS, f"{WEBHOOKS}/deliveries", f"{WEBHOOKS}/secret"):
        assert client.get(path).status == 401
        assert client.get(path, session=token).status == 200
    assert client.get(f"{WEBHOOKS}/vectors").status == 200


def test_anothers_target_and_delivery_are_404(app: App, client: Client) -> None:
    other = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    target = other.post(TARGETS, {"ticker": "BRK-B", "webhook_url": "https://example.com/"}).json
    file(app)
    (delivery,) = other.get(f"{WEBHOOKS}/deliveries").json["deliveries"]
    for path in (
        f"{TARGETS}/{target['target_id']}/stop",
        f"{TARGETS}/tgt_000000000000/stop",
        f"{WEBHOOKS}/deliveries/{delivery['delivery_id']}/redeliver",
        f"{WEBHOOKS}/deliveries/x/redeliver",
    ):
        assert client.post(path, {}).json["code"] == "NOT_FOUND"


def test_the_sixth_target_is_a_conflict(client: Client) -> None:
    for _ in range(5):
        assert client.post(TARGETS, {"ticker": "BRK-B"}).status == 200
    assert client.post(TARGETS, {"ticker": "BRK-B"}).verdict[:2] == (409, "CONFLICT")
    assert client.get(TARGETS).json["meta"]["slots_available"] == 0


def test_a_post_with_the_same_key_is_done_once(client: Client) -> None:
    first, again = (client.post(TARGETS, {"ticker": "BRK-B"}, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert first.json == again.json
    assert client.get(TARGETS).json["meta"]["active_count"] == 1


def test_the_same_key_for_another_target_is_a_conflict_and_no_answer_about_the_first(client: Client) -> None:
    one, other = (client.post(TARGETS, {"ticker": "BRK-B"}).json["target_id"] for _ in range(2))
    once = {"Idempotency-Key": "k1"}
    stopped = client.post(f"{TARGETS}/{one}/stop", {}, headers=once)
    assert stopped.status == 200
    assert client.post(f"{TARGETS}/{other}/stop", {}, headers=once).verdict[:2] == (409, "CONFLICT")
    assert client.post(f"{TARGETS}/{one}/stop", {}, headers=once).json == stopped.json
    assert client.get(TARGETS).json["meta"]["active_count"] == 1


def test_listing_is_strict_with_words_and_clamps_the_limit(client: Client) -> None:
    assert client.get(TARGETS, query={"status": "RUNNING"}).verdict[:2] == (400, "INVALID_PARAM")
    assert client.get(TARGETS, query={"offset": "-1"}).verdict[:2] == (400, "INVALID_PARAM")
    assert client.get(TARGETS, query={"ticker": "NOSUCH"}).verdict[:2] == (404, "UNKNOWN_TICKER")
    assert client.get(TARGETS, query={"limit": "9999"}).json["meta"]["limit"] == 200
    for cursor in ("x", "-1", "1" * 30, "٣"):
        answer = client.get(f"{WEBHOOKS}/deliveries", query={"cursor": cursor})
        assert answer.verdict[:2] == (400, "INVALID_PARAM")


def test_a_test_event_goes_to_the_url_or_to_the_account(
    app: App, user: users.NewUser, client: Client, there: Receiver
) -> None:
    assert client.post(f"{WEBHOOKS}/test", {}).verdict[:2] == (400, "INVALID_PARAM")
    refused = client.post(f"{WEBHOOKS}/test", {"url": "https://169.254.169.254/"})
    assert refused.verdict == (400, "INVALID_PARAM", "url: the address may not be used: metadata.")
    assert client.post(f"{WEBHOOKS}/test", {"url": there.url}).json["status"] == "pending"
    users.update(app, user.id, {"webhook_url": there.url + "/account"}, NOW)
    made = client.post(f"{WEBHOOKS}/test", {}).json
    assert (made["event_type"], made["url"]) == ("finapi.test", there.url + "/account")
    deliver(app)
    assert sorted(received.line.split()[1] for received in there.received) == ["/hook", "/hook/account"]
    again = client.post(f"{WEBHOOKS}/deliveries/{made['delivery_id']}/redeliver", {})
    assert (again.status, again.json["delivery_id"], again.json["status"]) == (200, made["delivery_id"], "pending")
    assert client.post(f"{WEBHOOKS}/deliveries/{made['delivery_id']}/redeliver", {}).status == 409


def test_the_secret_is_shown_and_rotated(client: Client, clock: FixedClock) -> None:
    first = client.get(f"{WEBHOOKS}/secret").json
    assert first["secret"].startswith("whsec_")
    assert first["previous_secret"] is None
    rotated = client.post(f"{WEBHOOKS}/secret/rotate", {}).json
    assert rotated["previous_secret"] == first["secret"]
    clock.advance(86_400)
    assert client.get(f"{WEBHOOKS}/secret").json["previous_secret"] is None


def test_an_answer_that_holds_a_secret_is_not_kept(app: App, client: Client) -> None:
    first, again = (client.post(f"{WEBHOOKS}/secret/rotate", {}, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert again.json["previous_secret"] == first.json["secret"]
    with app.db.read() as tx:
        assert first.json["secret"] not in "\n".join(tx._connection.iterdump())


def test_nothing_here_costs_tokens(app: App, user: users.NewUser, client: Client) -> None:
    client.post(TARGETS, {"ticker": "BRK-B"})
    client.get(f"{WEBHOOKS}/deliveries")
    with app.db.read() as tx:
        assert ledger_sum(tx, user.id) == app.config.pro_tokens


def test_an_account_takes_no_receiver_that_nothing_would_be_sent_to(app: App) -> None:
    users.create(app, "eve@example.com", "free", NOW, password=PASSWORD)
    client = Client(app)
    session = client.post("/api/v1/auth/login", {"email": "eve@example.com", "password": PASSWORD}).json["token"]
    for url in ("https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/", "http://8.8.8.8/"):
        answer = client.put("/api/v1/user/", {"webhook_url": url}, session=session)
        assert (answer.status, answer.json["details"]["param"]) == (400, "webhook_url")
