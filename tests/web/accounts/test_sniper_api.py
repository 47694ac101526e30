"""Sniper targets and webhooks through the API: members of ``wire.json``, refusals, and a hit from end to end."""

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
from tests.support.case_tables import run_each_case

TARGETS = "/api/v1/sniper/targets"
WEBHOOKS = "/api/v1/webhooks"
WIRE = SHARED / "contract" / "wire.json"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    app = make_app(webhook_allow=("127.0.0.0/8",), password_profile="cheap")
    with app.db.write() as tx:
        companies.upsert_name(tx, 1067983, "BERKSHIRE HATHAWAY INC", companies.FROM_SUBMISSIONS, "2026-01-01")
        companies.upsert_tickers(tx, 1067983, [("BRK-B", "NYSE")], companies.FROM_SUBMISSIONS)
    return app


@pytest.fixture
def client(app: App, user: users.NewUser) -> Client:
    return Client(app, user.api_key)


@pytest.fixture
def webhook_receiver() -> Iterator[Receiver]:
    with receiver() as running_receiver:
        yield running_receiver


def send_deliveries(app: App) -> None:
    dispatcher = Dispatcher(app)
    dispatcher.run_until_idle(5)
    dispatcher.stop(0.0)


def store_filing(app: App, form: str = "8-K") -> None:
    with app.db.write() as tx:
        metadata = FilingMetadata(
            "0001067983-26-000007",
            HEADER_EVIDENCE,
            [Party(1067983, PARTY_RANKS["filer"], "BERKSHIRE HATHAWAY INC")],
            form=form,
            filed_at="2026-01-31",
            accepted_at="2026-01-31T11:59:30.000Z",
        )
        filing_store.upsert(tx, metadata, app.clock.now())


def test_a_target_hit_sends_a_verifiable_message(
    app: App, client: Client, webhook_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = client.post(TARGETS, {"ticker": "brk.b", "form_types": ["8-K"], "webhook_url": webhook_receiver.url})
    assert created.status == 200
    assert (created.json["ticker"], created.json["status"]) == ("BRK-B", "ACTIVE")
    store_filing(app)
    send_deliveries(app)
    secret = client.get(f"{WEBHOOKS}/secret").json["secret"]
    (received,) = webhook_receiver.received
    library_at(app.clock.now(), monkeypatch)
    message = standardwebhooks.Webhook(secret).verify(received.body, received.headers)
    assert message["event_type"] == "sniper.filing_hit"
    assert message["target_id"] == created.json["target_id"]
    assert message["occurred_at"] == "2026-01-31T11:59:30.000Z"
    (target,) = client.get(TARGETS).json["targets"]
    assert (target["status"], target["resolution_reason"]) == ("STOPPED", "filing_hit")
    (delivery,) = client.get(f"{WEBHOOKS}/deliveries", query={"status": "delivered"}).json["deliveries"]
    assert delivery["delivery_id"] == message["delivery_id"]


KINDS: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "timestamp": (str,), "boolean": (bool,)}
# Members that may be null: finapi has no such stages of processing, or no filing has hit the target.
MAY_BE_NULL = {"resolution_reason", "last_event", "filing_uuid", "holdings_count", "parsed_at", "enriched_at"}


def assert_matches_shape(value: Any, shape: Any, path: str) -> None:
    if value is None:
        assert path.rpartition(".")[2] in MAY_BE_NULL, path
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            assert name in value, f"{path}.{name}"
            assert_matches_shape(value[name], inner, f"{path}.{name}")
    elif isinstance(shape, list):
        for item in value:
            assert_matches_shape(item, shape[0], path)
    else:
        assert isinstance(value, KINDS[shape]), path


@needs_shared
def test_answers_have_the_members_and_types_of_the_contract(
    app: App, client: Client, webhook_receiver: Receiver
) -> None:
    wire = json.loads(Path(WIRE).read_text())
    for _ in range(2):
        created = client.post(TARGETS, {"ticker": "1067983", "webhook_url": webhook_receiver.url})
        assert_matches_shape(created.json, wire[f"POST {TARGETS}"]["response"], "create")
    stopped = client.post(f"{TARGETS}/{created.json['target_id']}/stop", {})
    assert_matches_shape(stopped.json, wire[f"POST {TARGETS}/{{target_id}}/stop"]["response"], "stop")
    store_filing(app)
    targets = client.get(TARGETS)
    assert len(targets.json["targets"]) == 2
    assert_matches_shape(targets.json, wire[f"GET {TARGETS}"]["response"], "list")


@run_each_case(
    "body, param",
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
def test_an_invalid_target_names_its_wrong_parameter(client: Client, body: dict[str, Any], param: str) -> None:
    answer = client.post(TARGETS, body)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == param


def test_null_members_count_as_missing(client: Client) -> None:
    body = dict.fromkeys(["duration_minutes", "start_time", "end_time", "form_types", "webhook_url"])
    answer = client.post(TARGETS, {"ticker": "BRK-B", **body})
    assert answer.status == 200
    assert answer.json["webhook_url"] is None


def test_a_session_or_a_key_is_required(app: App) -> None:
    users.create(app, "eve@example.com", "free", NOW, password=PASSWORD)
    client = Client(app)
    token = client.post("/api/v1/auth/login", {"email": "eve@example.com", "password": PASSWORD}).json["token"]
    for path in (TARGETS, f"{WEBHOOKS}/deliveries", f"{WEBHOOKS}/secret"):
        assert client.get(path).status == 401
        assert client.get(path, session=token).status == 200
    assert client.get(f"{WEBHOOKS}/vectors").status == 200


def test_targets_and_deliveries_of_other_users_are_404(app: App, client: Client) -> None:
    other = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    target = other.post(TARGETS, {"ticker": "BRK-B", "webhook_url": "https://example.com/"}).json
    store_filing(app)
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


def test_an_idempotency_key_reused_for_another_target_conflicts(client: Client) -> None:
    first, second = (client.post(TARGETS, {"ticker": "BRK-B"}).json["target_id"] for _ in range(2))
    key_header = {"Idempotency-Key": "k1"}
    stopped = client.post(f"{TARGETS}/{first}/stop", {}, headers=key_header)
    assert stopped.status == 200
    assert client.post(f"{TARGETS}/{second}/stop", {}, headers=key_header).verdict[:2] == (409, "CONFLICT")
    assert client.post(f"{TARGETS}/{first}/stop", {}, headers=key_header).json == stopped.json
    assert client.get(TARGETS).json["meta"]["active_count"] == 1


def test_a_list_refuses_unknown_words_and_clamps_its_limit(client: Client) -> None:
    assert client.get(TARGETS, query={"status": "RUNNING"}).verdict[:2] == (400, "INVALID_PARAM")
    assert client.get(TARGETS, query={"offset": "-1"}).verdict[:2] == (400, "INVALID_PARAM")
    assert client.get(TARGETS, query={"ticker": "NOSUCH"}).verdict[:2] == (404, "UNKNOWN_TICKER")
    assert client.get(TARGETS, query={"limit": "9999"}).json["meta"]["limit"] == 200
    for cursor in ("x", "-1", "1" * 30, "٣"):
        answer = client.get(f"{WEBHOOKS}/deliveries", query={"cursor": cursor})
        assert answer.verdict[:2] == (400, "INVALID_PARAM")


def test_a_test_event_goes_to_the_url_or_to_the_account(
    app: App, user: users.NewUser, client: Client, webhook_receiver: Receiver
) -> None:
    assert client.post(f"{WEBHOOKS}/test", {}).verdict[:2] == (400, "INVALID_PARAM")
    refused = client.post(f"{WEBHOOKS}/test", {"url": "https://169.254.169.254/"})
    assert refused.verdict == (400, "INVALID_PARAM", "url: the address may not be used: metadata.")
    assert client.post(f"{WEBHOOKS}/test", {"url": webhook_receiver.url}).json["status"] == "pending"
    users.update(app, user.id, {"webhook_url": webhook_receiver.url + "/account"}, NOW)
    delivery = client.post(f"{WEBHOOKS}/test", {}).json
    assert (delivery["event_type"], delivery["url"]) == ("finapi.test", webhook_receiver.url + "/account")
    send_deliveries(app)
    assert sorted(received.line.split()[1] for received in webhook_receiver.received) == ["/hook", "/hook/account"]
    again = client.post(f"{WEBHOOKS}/deliveries/{delivery['delivery_id']}/redeliver", {})
    assert (again.status, again.json["delivery_id"], again.json["status"]) == (200, delivery["delivery_id"], "pending")
    assert client.post(f"{WEBHOOKS}/deliveries/{delivery['delivery_id']}/redeliver", {}).status == 409


def test_the_secret_is_shown_and_rotated(client: Client, clock: FixedClock) -> None:
    first = client.get(f"{WEBHOOKS}/secret").json
    assert first["secret"].startswith("whsec_")
    assert first["previous_secret"] is None
    rotated = client.post(f"{WEBHOOKS}/secret/rotate", {}).json
    assert rotated["previous_secret"] == first["secret"]
    clock.advance(86_400)
    assert client.get(f"{WEBHOOKS}/secret").json["previous_secret"] is None


def test_an_answer_with_a_secret_is_not_stored(app: App, client: Client) -> None:
    first, again = (client.post(f"{WEBHOOKS}/secret/rotate", {}, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert again.json["previous_secret"] == first.json["secret"]
    with app.db.read() as tx:
        assert first.json["secret"] not in "\n".join(tx._connection.iterdump())


def test_sniper_and_webhook_calls_cost_no_tokens(app: App, user: users.NewUser, client: Client) -> None:
    client.post(TARGETS, {"ticker": "BRK-B"})
    client.get(f"{WEBHOOKS}/deliveries")
    with app.db.read() as tx:
        assert ledger_sum(tx, user.id) == app.config.pro_tokens


def test_an_account_refuses_an_unreachable_receiver(app: App) -> None:
    users.create(app, "eve@example.com", "free", NOW, password=PASSWORD)
    client = Client(app)
    session = client.post("/api/v1/auth/login", {"email": "eve@example.com", "password": PASSWORD}).json["token"]
    for url in ("https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/", "http://8.8.8.8/"):
        answer = client.put("/api/v1/user/", {"webhook_url": url}, session=session)
        assert (answer.status, answer.json["details"]["param"]) == (400, "webhook_url")
