"""Accounts registered with another person's address, and the reset that returns them to the owner of the address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
import standardwebhooks

from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.delivery import credential_replacement, webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.delivery.webhooks import RECEIVER_REMOVED, Receiver, WebhookEvent
from finapi.market.reference import companies
from tests.client import AUTH, Answer, Client, login, register, sent, session_of, sign_up, token_in
from tests.conftest import ACCOUNTS, NOW
from tests.receiver import library_at, receiver, status

ANN = "ann@example.com"
NEW = "another horse battery"
USER, WEBHOOKS, TARGETS = "/api/v1/user/", "/api/v1/webhooks", "/api/v1/sniper/targets"
BALANCE = "/api/v1/account/balance"
EVIL = "https://evil.example/hook"
FORM = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    app = make_app(**{**ACCOUNTS, "webhook_allow": ("127.0.0.0/8",)})
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "Apple Inc.", companies.FROM_SUBMISSIONS, "2026-01-01")
        companies.upsert_tickers(tx, 320193, [("AAPL", "Nasdaq")], companies.FROM_SUBMISSIONS)
    return app


@pytest.fixture
def client(app: App) -> Client:
    return Client(app)


@pytest.fixture
def dispatcher(app: App) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(app)
    yield dispatcher
    dispatcher.stop(0.0)


def request_reset(client: Client) -> str:
    """Return the token of a reset mail."""
    assert client.post(AUTH + "forgetpassword", {"email": ANN}).status == 200
    while recovery.run_mail_step(client.app) == 0:
        pass
    return token_in(sent(client.app, "Set a new password", ANN)[-1])


def reset(client: Client, **members: Any) -> Answer:
    return client.put(AUTH + "newpassword", {"token": request_reset(client), "newpassword": NEW, **members})


def get_key(client: Client, session: str) -> str:
    key: str = client.get(USER, session=session).json["user"]["api_key"]
    return key


def status_by_key(client: Client, key: str) -> int:
    return client.get(BALANCE, headers={"X-API-Key": key}).status


def get_secret(client: Client, session: str) -> dict[str, Any]:
    secret: dict[str, Any] = client.get(f"{WEBHOOKS}/secret", session=session).json
    return secret


class Page(HTMLParser):
    """The inputs of an HTML page by their names, and its complete text."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.text = ""
        self.feed(answer.body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "input":
            attributes = dict(attrs)
            self.inputs[attributes["name"] or ""] = attributes

    def handle_data(self, data: str) -> None:
        self.text += data

    def is_ticked(self, name: str) -> bool:
        return "checked" in self.inputs[name]


def open_page(client: Client, token: str) -> Page:
    return Page(client.get("/reset-password", query={"token": token}))


# ---- replaced credentials


def test_a_reset_alone_keeps_key_secret_receiver_and_targets(client: Client) -> None:
    sign_up(client)
    session = session_of(client)
    key, secret = get_key(client, session), get_secret(client, session)
    client.put(USER, {"webhook_url": EVIL}, session=session)
    target = client.post(TARGETS, {"ticker": "AAPL"}, session=session).json
    answer = reset(client)
    assert (answer.status, answer.json) == (200, {"message": "Password updated successfully."})
    after = login(client, password=NEW).json
    assert (after["user"]["api_key"], after["user"]["webhook_url"]) == (key, EVIL)
    assert get_secret(client, after["token"]) == secret
    (stored_target,) = client.get(TARGETS, session=after["token"]).json["targets"]
    assert (stored_target["target_id"], stored_target["status"]) == (target["target_id"], "ACTIVE")
    assert status_by_key(client, key) == 200


def test_replaced_credentials_end_the_old_key_and_the_old_secret(client: Client) -> None:
    sign_up(client)
    session = session_of(client)
    key, secret = get_key(client, session), get_secret(client, session)
    # Each cache has the key.
    assert status_by_key(client, key) == 200
    answer = reset(client, replace_credentials=True)
    assert (answer.status, answer.json["message"]) == (
        200,
        "Password updated successfully. The API key and the webhook secret have been replaced.",
    )
    assert (status_by_key(client, key), client.get(USER, session=session).status) == (401, 401)
    after = login(client, password=NEW).json
    new_key, new_secret = after["user"]["api_key"], get_secret(client, after["token"])
    assert new_key != key
    assert status_by_key(client, new_key) == 200
    assert new_secret["secret"] != secret["secret"]
    assert (new_secret["previous_secret"], new_secret["previous_expires_at"]) == (None, None)


def test_a_secret_that_was_rotated_just_before_ends_too(client: Client) -> None:
    sign_up(client)
    session = session_of(client)
    first = get_secret(client, session)["secret"]
    assert client.post(f"{WEBHOOKS}/secret/rotate", {}, session=session).json["previous_secret"] == first
    reset(client, replace_credentials=True)
    after = get_secret(client, login(client, password=NEW).json["token"])
    assert (after["previous_secret"], after["previous_expires_at"]) == (None, None)


def test_messages_have_only_the_new_signature(
    client: Client, app: App, dispatcher: Dispatcher, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(client)
    session = session_of(client)
    old = get_secret(client, session)["secret"]
    with receiver() as webhook_receiver:
        client.put(USER, {"webhook_url": webhook_receiver.url}, session=session)
        reset(client, replace_credentials=True)
        session = login(client, password=NEW).json["token"]
        assert client.post(f"{WEBHOOKS}/test", {}, session=session).status == 200
        dispatcher.run_until_idle(5)
    (message,) = webhook_receiver.received
    library_at(clock.now(), monkeypatch)
    standardwebhooks.Webhook(get_secret(client, session)["secret"]).verify(message.body, message.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(old).verify(message.body, message.headers)
    assert len(message.headers["webhook-signature"].split()) == 1


def test_an_account_without_a_webhook_secret_gets_none(client: Client, app: App) -> None:
    sign_up(client)
    assert reset(client, replace_credentials=True).status == 200
    with app.accounts.read() as tx:
        assert not webhooks.has_secret(tx, 1)


def test_deliveries_without_a_secret_are_sent_with_the_new_one(client: Client, app: App) -> None:
    sign_up(client)
    session = session_of(client)
    get_secret(client, session)
    client.put(USER, {"webhook_url": "https://example.com/hook"}, session=session)
    client.post(f"{WEBHOOKS}/test", {}, session=session)
    with app.accounts.write() as tx:
        held_count = tx.run(
            "hold_deliveries", user_id=1, until=iso(NOW + timedelta(minutes=5)), now=iso(NOW), reason="held"
        )
    assert held_count == 1
    reset(client, replace_credentials=True)
    session = login(client, password=NEW).json["token"]
    (delivery,) = client.get(f"{WEBHOOKS}/deliveries", session=session).json["deliveries"]
    assert (delivery["next_attempt_at"], delivery["last_error"]) == (iso(NOW), None)


@pytest.mark.parametrize("member", ["replace_credentials", "remove_receivers"])
@pytest.mark.parametrize("value", ["true", 1, None, []])
def test_a_value_that_is_not_a_boolean_changes_nothing(client: Client, member: str, value: object) -> None:
    sign_up(client)
    token = request_reset(client)
    answer = client.put(AUTH + "newpassword", {"token": token, "newpassword": NEW, member: value})
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", member)
    assert client.put(AUTH + "newpassword", {"token": token, "newpassword": NEW}).status == 200


def test_false_has_the_effect_of_a_missing_value(client: Client) -> None:
    sign_up(client)
    key = get_key(client, session_of(client))
    answer = reset(client, replace_credentials=False, remove_receivers=False)
    assert answer.json == {"message": "Password updated successfully."}
    assert status_by_key(client, key) == 200


def test_a_refused_reset_replaces_nothing(client: Client) -> None:
    sign_up(client)
    key = get_key(client, session_of(client))
    body = {"token": request_reset(client), "newpassword": "short", "replace_credentials": True}
    assert client.put(AUTH + "newpassword", body).status == 400
    assert client.put(AUTH + "newpassword", {**body, "token": "r1.x", "newpassword": NEW}).status == 400
    assert status_by_key(client, key) == 200


# ---- leftovers of an attacker


def test_waiting_deliveries_to_removed_receivers_are_not_sent(
    client: Client, app: App, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    sign_up(client)
    session = session_of(client)
    with receiver(status(500)) as evil:
        client.put(USER, {"webhook_url": evil.url, "webhook_topics": ["13f.holdings.updated"]}, session=session)
        later = iso(NOW + timedelta(days=300))
        client.post(TARGETS, {"ticker": "AAPL", "webhook_url": evil.url, "start_time": later}, session=session)
        client.post(TARGETS, {"ticker": "AAPL"}, session=session)
        client.post(f"{WEBHOOKS}/test", {}, session=session)
        dispatcher.run_until_idle(5)
        assert len(evil.received) == 1
        answer = reset(client, replace_credentials=True, remove_receivers=True)
        assert answer.json["message"] == (
            "Password updated successfully. The API key and the webhook secret have been replaced. "
            "The webhook receivers have been removed and the sniper targets stopped."
        )
        with app.accounts.write() as tx:
            event = WebhookEvent("13f.holdings.updated", iso(NOW), "x", {})
            assert webhooks.publish(tx, NOW, event) == 0
        clock.advance(3600)
        dispatcher.run_until_idle(5)
        assert len(evil.received) == 1
    opened = login(client, password=NEW).json
    assert opened["user"]["webhook_url"] is None
    page = client.get(TARGETS, session=opened["token"]).json
    assert [(row["status"], row["resolution_reason"]) for row in page["targets"]] == [("STOPPED", "manual_stop")] * 2
    assert page["meta"]["active_count"] == 0
    (delivery,) = client.get(f"{WEBHOOKS}/deliveries", session=opened["token"]).json["deliveries"]
    assert (delivery["status"], delivery["last_error"]) == ("dropped", RECEIVER_REMOVED)


def test_an_attempt_under_way_is_not_repeated_after_the_removal(app: App, dispatcher: Dispatcher, user: Any) -> None:
    with receiver(status(500)) as evil:
        with app.accounts.write() as tx:
            webhooks.enqueue(
                tx, NOW, Receiver(user.id, user.uuid, evil.url), WebhookEvent("finapi.test", iso(NOW), "x", {})
            )
            (row,) = tx.list_rows("due_deliveries", lane=tx.list_rows("due_lanes")[0]["name"], now=iso(NOW), limit=1)
            tx.run("claim_delivery", id=row["id"], attempts=0, until=iso(NOW + timedelta(seconds=60)))
            webhooks.remove_receiver(tx, user.id, NOW)
            state = {"delivery": row["id"], "number": 1, "status": 500, "error": "answered 500", "now": iso(NOW)}
            later = iso(NOW + timedelta(seconds=10))
            assert tx.run("record_delivery", state, state="retry_pending", failures=1, due_at=later) == 0
        dispatcher.run_until_idle(5)
        assert evil.received == []


def test_a_target_that_has_just_ended_sends_no_report(app: App, user: Any) -> None:
    client = Client(app, user.api_key)
    target = {"ticker": "AAPL", "webhook_url": EVIL, "duration_minutes": 1}
    assert client.post(TARGETS, target).status == 200
    later = NOW + timedelta(minutes=2)
    users.update(app, user.id, {"webhook_topics": ["sniper.window_expired"]}, NOW)
    with app.accounts.read() as tx:
        assert credential_replacement.summarise_receivers(tx, user.id).hosts == ["evil.example"]
    recovery.request_password_reset(app, ANN, NOW)
    recovery.run_mail_step(app)
    token = token_in(sent(app, "Set a new password", ANN)[0])
    credential_replacement.reset_password(app, token, NEW, "192.0.2.1", later, remove_receivers=True)
    with app.accounts.read() as tx:
        (row,) = tx.list_rows(
            "targets_of_user", user_id=user.id, status=None, ticker=None, now=iso(later), limit=9, offset=0
        )
        assert (row["state"], row["resolution_reason"]) == ("STOPPED", "window_expired")
        assert webhooks.list_deliveries(tx, user.id, 9)["deliveries"] == []
    assert client.get(BALANCE).status == 200


# ---- the page


def test_the_first_reset_of_an_account_offers_new_credentials(client: Client) -> None:
    register(client)
    page = open_page(client, request_reset(client))
    assert page.is_ticked("replace_credentials")
    assert "remove_receivers" not in page.inputs
    assert "Programs that use the API key stop working until you give them the new one" in page.text
    assert "your receivers must learn the new one" in page.text
    reset(client)
    assert not open_page(client, request_reset(client)).is_ticked("replace_credentials")


def test_the_reset_after_a_reverted_email_offers_new_credentials(client: Client, app: App) -> None:
    register(client)
    reset(client)
    with app.accounts.write() as tx:
        tx.run("revert_email", old_email=ANN, user_id=1, now=iso(NOW))
    assert open_page(client, request_reset(client)).is_ticked("replace_credentials")
    reset(client)
    assert not open_page(client, request_reset(client)).is_ticked("replace_credentials")


def test_an_operators_account_keeps_its_key_by_default(client: Client, app: App) -> None:
    users.create(app, ANN, "pro", NOW)
    assert not open_page(client, request_reset(client)).is_ticked("replace_credentials")


def test_the_page_names_the_receivers_that_it_would_remove(client: Client) -> None:
    sign_up(client)
    session = session_of(client)
    client.put(USER, {"webhook_url": "https://hooks.example.com/x?secret=1"}, session=session)
    client.post(TARGETS, {"ticker": "AAPL", "webhook_url": EVIL}, session=session)
    page = open_page(client, request_reset(client))
    assert page.is_ticked("remove_receivers")
    assert "This account has webhooks to evil.example, hooks.example.com and 1 sniper target." in page.text
    assert "secret=1" not in page.text


@pytest.mark.parametrize("ticked", [True, False])
def test_the_form_replaces_the_ticked_credentials(client: Client, ticked: bool) -> None:
    sign_up(client)
    key = get_key(client, session_of(client))
    token = request_reset(client)
    boxes = "&replace_credentials=on&remove_receivers=on" if ticked else ""
    data = f"token={token}&newpassword=another+horse+battery{boxes}".encode()
    page = Page(client.call("POST", "/reset-password", data=data, environ=FORM))
    assert ("The API key and the webhook secret have been replaced." in page.text) is ticked
    assert ("The webhook receivers have been removed" in page.text) is ticked
    assert status_by_key(client, key) == (401 if ticked else 200)


def test_a_refused_password_keeps_the_boxes_as_they_were(client: Client) -> None:
    sign_up(client)
    token = request_reset(client)
    unticked = f"token={token}&newpassword=short".encode()
    assert not Page(client.call("POST", "/reset-password", data=unticked, environ=FORM)).is_ticked(
        "replace_credentials"
    )
    ticked = unticked + b"&replace_credentials=on"
    assert Page(client.call("POST", "/reset-password", data=ticked, environ=FORM)).is_ticked("replace_credentials")


def test_the_verification_mail_asks_only_those_who_registered(client: Client, app: App) -> None:
    register(client)
    (message,) = sent(app, "Verify your email address", ANN)
    assert "Confirm only if you registered" in message.get_body(("plain",)).get_content()  # type: ignore[union-attr]
