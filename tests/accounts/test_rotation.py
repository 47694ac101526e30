"""Tests of master secret rotation: a new first secret, a removed one, and the mails about it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks

from finapi.accounts import credentials, invites, recovery, rotation, users
from finapi.accounts.audit import Actor
from finapi.app import App
from finapi.core import master_secrets
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.core.master_secrets import Keyring
from finapi.delivery import credential_replacement, webhooks
from finapi.delivery.dispatcher import HOLD_TIME, UNSIGNED_REASON, Dispatcher
from finapi.ops.app_opening import open_app
from tests.client import AUTH, PASSWORD, Client, sent, text_of, token_in
from tests.conftest import ACCOUNTS, NOW
from tests.delivery.test_webhooks import deliveries, enqueue, only
from tests.process import finapi
from tests.receiver import receiver
from tests.support.raw_sql import run_sql

OLD, NEW = b"\x11" * 32, b"\x22" * 32
OLD_NAME, NEW_NAME = credentials.get_secret_name(OLD), credentials.get_secret_name(NEW)
KEY_REFUSED, NEW_KEY = "Your API key no longer works", "Your API key was replaced"
HELD, NEW_SECRET = "Your webhooks are on hold", "Your webhook secret was replaced"
ANN = "ann@example.com"
ACTOR = Actor(None, "root in /")


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    app = make_app(**{**ACCOUNTS, "webhook_allow": ("127.0.0.0/8",)})
    app.secrets.replace([OLD])
    return app


@pytest.fixture
def dispatcher(app: App) -> Iterator[Dispatcher]:
    running_dispatcher = Dispatcher(app)
    yield running_dispatcher
    running_dispatcher.stop(0.0)


def put(app: App, *secrets: bytes) -> None:
    """Put these secrets in force as a start would find them."""
    app.secrets.replace(secrets)
    rotation.apply_secrets(app, app.clock.now())


def caller(app: App, key: str) -> int | None:
    with app.db.read() as tx:
        caller_row = users.find_caller_by_api_key(tx, key)
    return caller_row and caller_row.id


def list_mail_texts(app: App, subject: str, recipient: str | None = None) -> list[str]:
    while recovery.run_mail_step(app) == 0:
        pass
    return [text_of(message) for message in sent(app, subject, recipient)]


def change(app: App, statement: str) -> None:
    with app.db.write() as tx:
        run_sql(tx, statement)


def stored(app: App, query: str) -> list[tuple[Any, ...]]:
    with app.db.read() as tx:
        return [tuple(row) for row in run_sql(tx, query)]


# ---- a secret in front


def test_credentials_of_an_older_secret_keep_working(app: App, user: Any) -> None:
    put(app, NEW, OLD)
    bob = users.create(app, "bob@example.com", "free", NOW)
    assert (caller(app, user.api_key), caller(app, bob.api_key)) == (user.id, bob.id)
    assert stored(app, "SELECT made_with, refused FROM api_keys ORDER BY id") == [(OLD_NAME, 0), (NEW_NAME, 0)]
    assert list_mail_texts(app, KEY_REFUSED) == []
    with app.db.read() as tx:
        assert rotation.list_secrets(app, tx, NOW) == [
            {"name": NEW_NAME, "newest": True, "api_keys": 1, "webhook_secrets": 0, "invite_codes": 0},
            {"name": OLD_NAME, "newest": False, "api_keys": 1, "webhook_secrets": 0, "invite_codes": 0},
        ]


def test_a_secret_name_is_unique_and_does_not_reveal_the_secret() -> None:
    assert (len(OLD_NAME), OLD_NAME == NEW_NAME) == (16, False)
    assert OLD.hex()[:16] != OLD_NAME


# ---- a secret that is gone


def test_a_key_of_a_removed_secret_is_refused_and_mailed_once(app: App, user: Any) -> None:
    assert caller(app, user.api_key) == user.id
    put(app, NEW)
    put(app, NEW)
    assert caller(app, user.api_key) is None
    (mail_text,) = list_mail_texts(app, KEY_REFUSED, ANN)
    assert "POST /api/v1/user/api-key/rotate" in mail_text
    assert user.api_key not in mail_text


def test_a_key_that_is_remembered_in_memory_is_refused_at_once(app: App, user: Any) -> None:
    client = Client(app, user.api_key)
    assert client.get("/api/v1/account/balance").status == 200
    put(app, NEW)
    assert client.get("/api/v1/account/balance").status == 401


def test_a_new_key_after_the_removal_works_without_a_mail(app: App, user: Any) -> None:
    put(app, NEW)
    key = users.rotate_key(app, user.id, NOW)
    assert caller(app, key) == user.id
    assert list_mail_texts(app, KEY_REFUSED) == []


def test_a_secret_that_comes_back_is_believed_again(app: App, user: Any) -> None:
    put(app, NEW)
    put(app, NEW, OLD)
    assert caller(app, user.api_key) == user.id


def test_only_open_invites_of_a_removed_secret_are_revoked(app: App) -> None:
    first = invites.create(app, NOW, lifetime=None, note=None).code
    put(app, NEW, OLD)
    second = invites.create(app, NOW, lifetime=None, note=None).code
    put(app, NEW)
    client = Client(app)
    answers = [client.post(AUTH + "redeem-invite", {"code": code}).status for code in (first, second)]
    assert answers == [400, 200]


def test_mailed_links_end_with_their_secret_and_can_be_renewed(app: App, user: Any) -> None:
    recovery.request_password_reset(app, ANN, NOW)
    list_mail_texts(app, "Set a new password")
    dead = token_in(sent(app, "Set a new password", ANN)[-1])
    put(app, NEW)
    client = Client(app)
    assert client.put(AUTH + "newpassword", {"token": dead, "newpassword": PASSWORD}).status == 400
    recovery.request_password_reset(app, ANN, NOW)
    list_mail_texts(app, "Set a new password")
    alive = token_in(sent(app, "Set a new password", ANN)[-1])
    assert client.put(AUTH + "newpassword", {"token": alive, "newpassword": PASSWORD}).status == 200


def test_credentials_without_a_secret_name_get_one_at_the_start(app: App, user: Any) -> None:
    webhooks.get_secret(app, user.id, NOW)
    invites.create(app, NOW, lifetime=None, note=None)
    for table in ("api_keys", "webhook_secrets", "invites"):
        change(app, f"UPDATE {table} SET made_with = NULL")
    put(app, NEW, OLD)
    for table in ("api_keys", "webhook_secrets", "invites"):
        assert stored(app, f"SELECT made_with FROM {table}") == [(OLD_NAME,)]
    change(app, "UPDATE api_keys SET made_with = NULL")
    put(app, NEW)
    assert stored(app, "SELECT made_with, refused FROM api_keys") == [("", 1)]
    assert caller(app, user.api_key) is None


def test_secrets_that_match_no_stored_credential_are_refused(app: App, user: Any) -> None:
    invites.create(app, NOW, lifetime=None, note=None)
    app.secrets.replace([NEW])
    with pytest.raises(
        UsageError, match=r"no configured master secret matches the stored data \(1 API key, 1 invite code\)"
    ):
        rotation.apply_secrets(app, NOW, new_secrets=False)
    assert stored(app, "SELECT refused FROM api_keys") == [(0,)]
    app.secrets.replace([NEW, OLD])
    rotation.apply_secrets(app, NOW, new_secrets=False)
    assert caller(app, user.api_key) == user.id


def test_an_expired_invite_does_not_make_a_secret_the_wrong_one(app: App) -> None:
    invites.create(app, NOW - timedelta(days=2), lifetime=timedelta(days=1), note=None)
    app.secrets.replace([NEW])
    rotation.apply_secrets(app, NOW, new_secrets=False)


# ---- webhooks that cannot be signed


def test_a_delivery_that_cannot_be_signed_is_held_and_logged(
    app: App, user: Any, dispatcher: Dispatcher, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    webhooks.get_secret(app, user.id, NOW)
    put(app, NEW)
    with receiver() as server, caplog.at_level(logging.ERROR, "finapi.dispatch"):
        for number in range(3):
            enqueue(app, user, server.url, str(number))
        dispatcher.run_until_idle(5)
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
            f"put 3 deliveries of user {user.id} on hold: the webhook secret is refused"
        ]
        clock.advance(3600)
        dispatcher.run_until_idle(5)
    assert server.received == []
    for delivery in deliveries(app, user):
        assert (delivery["status"], delivery["attempt_count"], delivery["attempts"]) == ("pending", 0, [])
        assert delivery["last_error"] == UNSIGNED_REASON
        assert delivery["next_attempt_at"] == iso(app.clock.now() + HOLD_TIME)
    (mail_text,) = list_mail_texts(app, HELD, ANN)
    assert "POST /api/v1/webhooks/secret/rotate" in mail_text


def test_what_was_held_is_sent_as_soon_as_there_is_a_new_secret(app: App, user: Any, dispatcher: Dispatcher) -> None:
    webhooks.get_secret(app, user.id, NOW)
    put(app, NEW)
    with receiver() as server:
        enqueue(app, user, server.url)
        dispatcher.run_until_idle(5)
        fresh = webhooks.rotate_secret(app, user.id, app.clock.now())
        assert fresh["previous_secret"] is None
        dispatcher.run_until_idle(5)
    (received,) = server.received
    assert fresh["secret"] is not None
    # One signature, of the new secret: nothing signs for the one that is gone.
    assert received.headers["webhook-signature"].count("v1,") == 1
    library = standardwebhooks.Webhook(fresh["secret"])
    signed = library.sign(only(app, user)["delivery_id"], app.clock.now(), received.body.decode())
    assert received.headers["webhook-signature"] == signed
    assert (only(app, user)["status"], only(app, user)["last_error"]) == ("delivered", None)


def test_a_held_account_does_not_delay_another_at_its_receiver(app: App, user: Any, dispatcher: Dispatcher) -> None:
    webhooks.get_secret(app, user.id, NOW)
    put(app, NEW)
    bob = users.create(app, "bob@example.com", "pro", NOW)
    with receiver() as server:
        for number in range(5):
            enqueue(app, user, server.url, str(number))
        enqueue(app, bob, server.url)
        dispatcher.run_until_idle(5)
        dispatcher.run_until_idle(5)
    assert [request.headers["webhook-id"] for request in server.received] == [only(app, bob)["delivery_id"]]


def test_a_retry_is_held_too_and_keeps_what_it_has_used(
    app: App, user: Any, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    webhooks.get_secret(app, user.id, NOW)
    enqueue(app, user, "http://127.0.0.1:1/")
    dispatcher.run_until_idle(5)
    assert only(app, user)["status"] == "retry_pending"
    put(app, NEW)
    clock.advance(10)
    dispatcher.run_until_idle(5)
    assert (only(app, user)["status"], only(app, user)["attempt_count"]) == ("retry_pending", 1)
    webhooks.rotate_secret(app, user.id, app.clock.now())
    dispatcher.run_until_idle(5)
    assert (only(app, user)["attempt_count"], only(app, user)["last_error"]) == (
        2,
        "cannot be reached: Connection refused",
    )


def test_a_delivery_held_for_thirty_days_is_dropped(
    app: App, user: Any, dispatcher: Dispatcher, clock: FixedClock
) -> None:
    webhooks.get_secret(app, user.id, NOW)
    put(app, NEW)
    enqueue(app, user, "http://127.0.0.1:1/")
    for _ in range(31):
        dispatcher.run_until_idle(5)
        clock.advance(86_400)
    dispatcher.run_until_idle(5)
    assert (only(app, user)["status"], only(app, user)["last_error"]) == ("dropped", UNSIGNED_REASON)
    with app.db.read() as tx:
        assert [delivery["last_error"] for delivery in webhooks.list_dropped_deliveries(tx, user.id)] == [
            UNSIGNED_REASON
        ]
    again = webhooks.redeliver(
        app, user.id, only(app, user)["delivery_id"], app.clock.now(), lambda tx, delivery: delivery
    )
    assert again["status"] == "pending"


# ---- the operator's verbs


def test_a_replaced_key_is_mailed_and_the_old_one_dies(app: App, user: Any) -> None:
    key = credential_replacement.replace_credentials(app, ANN, NOW, include_webhooks=False)
    assert (caller(app, user.api_key), caller(app, key)) == (None, user.id)
    (mail_text,) = list_mail_texts(app, NEW_KEY, ANN)
    assert key in mail_text.splitlines()
    assert list_mail_texts(app, NEW_SECRET) == []


def test_every_key_and_webhook_secret_is_replaced_in_steps(
    app: App, user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_replacement, "BATCH", 2)
    other_users = [users.create(app, f"u{number}@example.com", "free", NOW) for number in range(4)]
    before = webhooks.get_secret(app, user.id, NOW)
    put(app, NEW, OLD)
    progress: list[int] = []
    counts = credential_replacement.replace_all_credentials(app, NOW, True, progress.append)
    assert (counts.api_keys, counts.webhook_secrets, progress) == (5, 1, [2, 4, 5, 1])
    assert [caller(app, account.api_key) for account in [user, *other_users]] == [None] * 5
    assert stored(app, "SELECT DISTINCT made_with FROM api_keys") == [(NEW_NAME,)]
    after = webhooks.get_secret(app, user.id, NOW)
    assert (after["previous_secret"], after["secret"] != before["secret"]) == (before["secret"], True)
    assert len(list_mail_texts(app, NEW_KEY)) == 5
    assert len(list_mail_texts(app, NEW_SECRET, ANN)) == 1


def on_disk(tmp_path: Path) -> App:
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700, exist_ok=True)
    from finapi import app as apps

    return apps.open_on_disk(Config(data_dir=data_dir, public_url="https://api.example.com"), FixedClock(NOW))


def test_a_rotated_secret_is_in_force_at_once_and_in_the_file(tmp_path: Path) -> None:
    app = on_disk(tmp_path)
    with closing(app.db):
        ann = users.create(app, ANN, "free", NOW)
        (before,) = app.secrets
        name = rotation.add_secret(app, NOW, ACTOR)
        bob = users.create(app, "bob@example.com", "free", NOW)
        assert (caller(app, ann.api_key), caller(app, bob.api_key)) == (ann.id, bob.id)
        assert master_secrets.read_or_create(app.config) == [*app.secrets]
        assert (credentials.get_secret_name(app.secrets[0]), app.secrets[1]) == (name, before)


@pytest.mark.slow
def test_dropping_a_secret_that_keys_need_asks_for_confirmation(tmp_path: Path) -> None:
    app = on_disk(tmp_path)
    with closing(app.db):
        ann = users.create(app, ANN, "free", NOW)
        old = credentials.get_secret_name(app.secrets[0])
        with pytest.raises(ApiError, match="The newest secret cannot be removed"):
            rotation.remove_secret(app, old, NOW, ACTOR, confirmed=True)
        new = rotation.add_secret(app, NOW, ACTOR)
        with pytest.raises(ApiError, match=r"^1 API key derived from this secret would be refused"):
            rotation.remove_secret(app, old, NOW, ACTOR, confirmed=False)
        with pytest.raises(ApiError, match="no master secret named nonsense"):
            rotation.remove_secret(app, "nonsense", NOW, ACTOR, confirmed=True)
        assert caller(app, ann.api_key) == ann.id
        assert rotation.remove_secret(app, old, NOW, ACTOR, confirmed=True) == "1 API key"
        assert caller(app, ann.api_key) is None
        assert [credentials.get_secret_name(secret) for secret in master_secrets.read_or_create(app.config)] == [new]
    # What is refused already makes the secrets of the next start no wrong ones.
    with open_app(Config(data_dir=tmp_path / "data")) as again:
        assert caller(again, ann.api_key) is None


def test_a_secret_of_invite_codes_names_their_commands(tmp_path: Path) -> None:
    app = on_disk(tmp_path)
    with closing(app.db):
        invites.create(app, NOW, lifetime=None, note=None)
        old = credentials.get_secret_name(app.secrets[0])
        rotation.add_secret(app, NOW, ACTOR)
        with pytest.raises(ApiError) as raised:
            rotation.remove_secret(app, old, NOW, ACTOR, confirmed=False)
    assert raised.value.message == (
        "1 invite code derived from this secret would be refused. "
        "Replace them first (finapi invite revoke CODE and finapi invite create), or add --yes."
    )


@pytest.mark.slow
def test_an_unused_secret_is_dropped_without_a_question(tmp_path: Path) -> None:
    app = on_disk(tmp_path)
    with closing(app.db):
        users.create(app, ANN, "free", NOW)
        old = credentials.get_secret_name(app.secrets[0])
        rotation.add_secret(app, NOW, ACTOR)
        key = credential_replacement.replace_credentials(app, ANN, NOW, include_webhooks=False)
        assert rotation.remove_secret(app, old, NOW, ACTOR, confirmed=False) == ""
        assert caller(app, key) == 1


def test_secrets_of_a_setting_are_not_rotated_by_a_verb(app: App) -> None:
    app_with_setting = replace(app, config=replace(app.config, secrets=OLD.hex()), secrets=Keyring([OLD]))
    with pytest.raises(UsageError, match="change FINAPI_SECRETS, newest first"):
        rotation.add_secret(app_with_setting, NOW, ACTOR)
    assert [*app_with_setting.secrets] == [OLD]


# ---- as an operator does it


@pytest.mark.slow
def test_a_leak_is_recovered_from_by_the_verbs(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    key = finapi("user", "add", ANN, "--json", *data).json["api_key"]
    (old,) = finapi("secret", "list", "--json", *data).json["secrets"]
    assert (old["newest"], old["api_keys"]) == (True, 1)
    done = finapi("secret", "rotate", *data)
    new = finapi("secret", "list", "--json", *data).json["secrets"][0]["name"]
    assert done.out == f"new keys are derived from the secret {new}; keys of the other secrets remain valid\n"
    refused = finapi("secret", "drop", old["name"], *data)
    assert (refused.status, refused.complaint[:9]) == (1, "1 API key")
    done = finapi("user", "rotate-key", "--all", *data)
    assert done.out == "replaced API keys: 1; their owners get a mail\n"
    assert finapi("secret", "drop", old["name"], *data).out == f"the secret {old['name']} is gone\n"
    new_key = finapi("user", "show", ANN, "--json", *data).json["api_key"]
    assert new_key not in (None, key)
    assert finapi("user", "rotate-key", ANN, *data).out.startswith(f"{ANN} has the API key ")


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), (ANN, "--all")])
def test_rotate_key_wants_one_account_or_all(tmp_path: Path, words: tuple[str, ...]) -> None:
    finapi("user", "add", ANN, "--data-dir", tmp_path)
    done = finapi("user", "rotate-key", *words, "--data-dir", tmp_path)
    assert (done.status, done.complaint) == (2, "name one EMAIL, or --all")


@pytest.mark.slow
def test_a_start_without_the_secrets_file_creates_none(tmp_path: Path) -> None:
    key = finapi("user", "add", ANN, "--json", "--data-dir", tmp_path).json["api_key"]
    secrets_bytes = (tmp_path / "secrets").read_bytes()
    (tmp_path / "secrets").unlink()
    for words in (("serve", "--port", 0), ("user", "add", "bob@example.com")):
        done = finapi(*words, "--data-dir", tmp_path)
        assert (done.status, done.complaint) == (
            2,
            f"{tmp_path}/secrets is missing, which is needed for 1 API key: restore the secrets, or replace these "
            "credentials with: finapi serve --new-secrets (mails inform their owners)",
        )
        assert not (tmp_path / "secrets").exists()
    (tmp_path / "secrets").write_bytes(secrets_bytes)
    (tmp_path / "secrets").chmod(0o600)
    assert finapi("user", "show", ANN, "--json", "--data-dir", tmp_path).json["api_key"] == key


def test_new_secrets_begin_anew_on_demand(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path / "data")
    with open_app(config) as app:
        ann = users.create(app, ANN, "free", NOW)
    (tmp_path / "data" / "secrets").unlink()
    with open_app(config, new_secrets=True) as app:
        assert caller(app, ann.api_key) is None
        key = users.rotate_key(app, ann.id, app.clock.now())
    with open_app(config) as app:
        assert caller(app, key) == ann.id


@pytest.mark.slow
def test_the_wrong_secrets_are_refused_at_the_start(tmp_path: Path) -> None:
    finapi("user", "add", ANN, "--data-dir", tmp_path)
    (tmp_path / "secrets").write_text("ab" * 32)
    done = finapi("invite", "list", "--data-dir", tmp_path)
    assert done.status == 2
    complaint = "no configured master secret matches the stored data (1 API key): restore the secrets"
    assert done.complaint.startswith(complaint)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "accepted"), [(0o700, True), (0o750, True), (0o755, False), (0o770, False), (0o701, False)]
)
def test_a_data_directory_that_is_open_to_others_is_refused(tmp_path: Path, mode: int, accepted: bool) -> None:
    data_dir = tmp_path / "data"
    assert finapi("user", "add", ANN, "--data-dir", data_dir).status == 0
    data_dir.chmod(mode)
    files = sorted(data_dir.iterdir())
    done = finapi("user", "list", "--data-dir", data_dir)
    if accepted:
        assert done.status == 0
    else:
        assert (done.status, done.complaint) == (
            2,
            f"{data_dir} is open to others; restrict it with: chmod 700 {data_dir}",
        )
        assert sorted(data_dir.iterdir()) == files
