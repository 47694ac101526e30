"""Tests of verification and reset links, and of the mails that carry them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.delivery import credential_replacement
from finapi.net import mail
from finapi.net.letters import MailError
from finapi.net.mail import MemoryTransport
from finapi.store.db import Row
from tests.client import sent, text_of, token_in
from tests.conftest import ACCOUNTS, NOW
from tests.support.raw_sql import run_sql

ANN, BOB = "ann@example.com", "bob@example.com"
NEW = "another horse battery"
HOUR, DAY = 3600, 24 * 3600
RESET, VERIFY, WELCOME = "Set a new password", "Verify your email address", "Your API key"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


class Transport:
    """A Memory transport that can be set to fail before or after the mail has left."""

    def __init__(self) -> None:
        self.memory = MemoryTransport()
        self.before: MailError | None = None
        self.after: MailError | None = None

    def send(self, message: object, seconds: float) -> None:
        if self.before is not None:
            raise self.before
        self.memory.send(message, seconds)  # type: ignore[arg-type]
        if self.after is not None:
            raise self.after

    def close(self) -> None:
        pass


def through(app: App, transport: object) -> App:
    return replace(app, mail_settings=replace(app.mail_settings, transport=transport))  # type: ignore[arg-type]


def new_user(app: App, email: str = ANN, *, verified: bool = True) -> int:
    with app.db.write() as tx:
        return users.insert(tx, app, email, "free", NOW, password=None, verified=verified).id


def waiting(app: App, user_id: int) -> None:
    """Queue a verification mail for the user."""
    with app.db.write() as tx:
        mail.enqueue(tx, "verify", recovery.create_verification(tx, app, user_id, NOW), NOW)


def forget(app: App, email: str = ANN) -> None:
    recovery.request_password_reset(app, email, app.clock.now())


def drain(app: App) -> None:
    while recovery.run_mail_step(app) == 0:
        pass


def mails(app: App) -> list[Row]:
    run_sql(app.db, "SELECT 1")
    return run_sql(app.db, "SELECT * FROM mails ORDER BY id").fetchall()


def resets(app: App) -> int:
    row_count: int = run_sql(app.db, "SELECT count(*) FROM resets").fetchone()[0]
    return row_count


def opens(app: App, token: str) -> bool:
    try:
        with app.db.read() as tx:
            recovery.get_reset(app, tx, token, app.clock.now())
    except ApiError:
        return False
    return True


# ---- what the mails say


def test_the_verification_mail_word_for_word(app: App) -> None:
    waiting(app, new_user(app, verified=False))
    recovery.run_mail_step(app)
    (message,) = sent(app, VERIFY)
    assert (message["To"], message["From"]) == (ANN, "finapi <finapi@localhost>")
    token = token_in(message)
    assert text_of(message) == (
        "Someone registered a finapi account with this email address. If it was you, follow this link within 24 hours "
        "to confirm the address:\n\n"
        f"https://api.example.com/api/v1/auth/verifyEmail?token={token}\n\n"
        "Confirm only if you registered: otherwise someone else gets an account in your name. If it was not you, "
        "ignore this mail. Nobody can log in until the address is confirmed.\n"
    )


def test_the_reset_mail_word_for_word(app: App) -> None:
    new_user(app)
    forget(app)
    recovery.run_mail_step(app)
    (message,) = sent(app, RESET)
    token = token_in(message)
    assert text_of(message) == (
        "Someone requested a new password for your finapi account. Follow this link within 24 hours to set one:\n\n"
        f"https://api.example.com/api/v1/auth/verifyPasswordLink?token={token}\n\n"
        "If it was not you, ignore this mail: your password stays as it is.\n"
    )


def test_the_welcome_mail_has_the_key_valid_when_it_is_sent(app: App) -> None:
    user_id = new_user(app)
    with app.db.write() as tx:
        mail.enqueue(tx, "welcome", user_id, NOW)
    key = users.rotate_key(app, user_id, NOW)
    recovery.run_mail_step(app)
    assert text_of(sent(app, WELCOME)[0]) == (
        "Welcome to finapi at https://api.example.com. Your API key, to be sent in the header X-API-Key:\n\n"
        f"{key}\n\n"
        "Anyone who has the key can spend your tokens. You can replace it at any time.\n"
    )


def test_the_mail_names_the_lifetime_that_is_set(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS, reset_lifetime=HOUR)
    new_user(app)
    forget(app)
    recovery.run_mail_step(app)
    assert "within 1 hour" in text_of(sent(app, RESET)[0])


# ---- the queue


def test_the_queue_holds_templates_and_rows_and_nothing_else(app: App) -> None:
    waiting(app, new_user(app, verified=False))
    forget(app)
    forget(app, BOB)
    queued_mails = [{name: row[name] for name in row.keys()} for row in mails(app)]  # noqa: SIM118
    assert [(row["template"], row["subject_id"]) for row in queued_mails] == [("verify", 1), ("reset", 1), ("decoy", 0)]
    assert set(queued_mails[0]) == {
        "id",
        "template",
        "subject_id",
        "state",
        "attempts",
        "created_at",
        "due_at",
        "done_at",
        "last_error",
    }


def test_a_decoy_is_dropped_and_nobody_gets_it(app: App) -> None:
    forget(app, "nobody@example.com")
    drain(app)
    assert [row["state"] for row in mails(app)] == ["dropped"]
    assert app.mail_settings.transport.messages() == []  # type: ignore[attr-defined]


def test_a_forgotten_password_queues_one_row_for_any_email(app: App) -> None:
    new_user(app)
    for number, email in enumerate([ANN, ANN, "nobody@example.com", "", "\0"], 1):
        forget(app, email)
        assert len(mails(app)) == number


def test_every_resend_queues_one_row_whatever_the_email(app: App) -> None:
    new_user(app)
    new_user(app, BOB, verified=False)
    for number, email in enumerate([ANN, BOB, "nobody@example.com"], 1):
        recovery.resend_verification(app, email, NOW)
        assert len(mails(app)) == number


def test_a_mail_whose_link_expired_while_it_waited_is_dropped(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    clock.advance(DAY)
    recovery.run_mail_step(app)
    assert sent(app, RESET) == []
    assert mails(app)[0]["state"] == "dropped"


def test_a_mail_whose_token_was_used_while_it_waited_is_dropped(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    transport = Transport()
    transport.after = MailError("the server took longer than 10 s")
    failing = through(app, transport)
    recovery.run_mail_step(failing)
    credential_replacement.reset_password(app, token_in(transport.memory.messages()[0]), NEW, "192.0.2.1", NOW)
    clock.advance(60)
    recovery.run_mail_step(app)
    assert sent(app, RESET) == []


def test_a_mail_that_fails_at_first_arrives_with_the_same_token(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    transport = Transport()
    transport.before = MailError("the server cannot be reached")
    failing = through(app, transport)
    assert recovery.run_mail_step(failing) == 60
    clock.advance(60)
    transport.before = None
    recovery.run_mail_step(failing)
    assert opens(app, token_in(transport.memory.messages()[0]))


def test_a_reset_is_deleted_when_its_mail_is_given_up(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    transport = Transport()
    transport.before = MailError("the server refused the recipient: 550", permanent=True)
    recovery.run_mail_step(through(app, transport))
    assert (resets(app), mails(app)[0]["state"]) == (0, "given_up")
    forget(app)
    recovery.run_mail_step(app)
    assert opens(app, token_in(sent(app, RESET)[0]))


def test_a_reset_whose_mail_failed_at_every_attempt_is_deleted(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    transport = Transport()
    transport.before = MailError("the server cannot be reached")
    failing = through(app, transport)
    for seconds in (60, 300, 1800, 7200):
        recovery.run_mail_step(failing)
        clock.advance(seconds)
    assert resets(app) == 1
    recovery.run_mail_step(failing)
    assert resets(app) == 0


def stale_mail_of_ann(app: App) -> App:
    """Send Ann's reset mail, lose its server's answer, and use the link. Then Bob requests his."""
    new_user(app)
    new_user(app, BOB)
    forget(app)
    transport = Transport()
    transport.after = MailError("the server took longer than 10 s")
    failing = through(app, transport)
    recovery.run_mail_step(failing)
    credential_replacement.reset_password(app, token_in(transport.memory.messages()[0]), NEW, "192.0.2.1", NOW)
    forget(app, BOB)
    return failing


def test_a_stale_mail_of_one_user_sends_no_mail_to_another(app: App, clock: FixedClock) -> None:
    stale_mail_of_ann(app)
    recovery.run_mail_step(app)
    clock.advance(60)
    drain(app)
    assert [message["To"] for message in sent(app, RESET)] == [BOB]


def test_giving_up_a_stale_mail_keeps_another_users_link(app: App, clock: FixedClock) -> None:
    stale_mail_of_ann(app)
    recovery.run_mail_step(app)
    token = token_in(sent(app, RESET, BOB)[0])
    clock.advance(60)
    transport = Transport()
    transport.before = MailError("the server refused the mail: 550", permanent=True)
    recovery.run_mail_step(through(app, transport))
    assert opens(app, token)


# ---- links


def test_a_live_token_is_used_again_and_mailed_once(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    clock.advance(DAY - 1)
    forget(app)
    clock.advance(0.999)
    assert (resets(app), [row["template"] for row in mails(app)]) == (1, ["reset", "decoy"])


def test_a_new_token_is_made_when_the_old_one_has_expired(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    recovery.run_mail_step(app)
    clock.advance(DAY)
    forget(app)
    recovery.run_mail_step(app)
    old, new = (token_in(message) for message in sent(app, RESET))
    assert (opens(app, old), opens(app, new)) == (False, True)


def test_a_reset_token_is_live_for_24_hours_to_the_millisecond(app: App, clock: FixedClock) -> None:
    new_user(app)
    forget(app)
    recovery.run_mail_step(app)
    token = token_in(sent(app, RESET)[0])
    clock.advance(DAY - 0.001)
    assert opens(app, token)
    clock.advance(0.001)
    assert not opens(app, token)


def test_links_outlive_a_rotation_of_the_master_secret(app: App) -> None:
    waiting(app, new_user(app, verified=False))
    forget(app)
    drain(app)
    rotated = replace(app, secrets=[b"\1" * 32, *app.secrets])
    assert opens(rotated, token_in(sent(app, RESET)[0]))
    recovery.verify_email(rotated, token_in(sent(app, VERIFY)[0]), NOW)


def test_links_die_with_the_master_secret(app: App) -> None:
    waiting(app, new_user(app, verified=False))
    forget(app)
    drain(app)
    other = replace(app, secrets=[b"\1" * 32])
    assert not opens(other, token_in(sent(app, RESET)[0]))
    with pytest.raises(ApiError):
        recovery.verify_email(other, token_in(sent(app, VERIFY)[0]), NOW)


def test_a_repeated_verification_request_sends_the_same_link(app: App, clock: FixedClock) -> None:
    """A request of a stranger must not end the link that is in the mailbox already."""
    waiting(app, new_user(app, verified=False))
    drain(app)
    recovery.resend_verification(app, ANN, NOW)
    drain(app)
    clock.advance(DAY)
    recovery.resend_verification(app, ANN, clock.now())
    drain(app)
    first, again, new = (token_in(message) for message in sent(app, VERIFY))
    assert first == again
    with pytest.raises(ApiError):
        recovery.verify_email(app, first, clock.now())
    recovery.verify_email(app, new, clock.now())


def test_a_verification_is_renewed_only_when_it_has_expired(app: App) -> None:
    user_id = new_user(app, verified=False)
    waiting(app, user_id)
    for hours, queued in ((23, 1), (24, 2), (25, 2)):
        with app.db.write() as tx:
            recovery.renew_verification(tx, app, user_id, NOW + timedelta(hours=hours))
        assert (hours, len(mails(app))) == (hours, queued)


def test_a_user_without_any_verification_gets_one_at_login(app: App) -> None:
    user_id = new_user(app, verified=False)
    with app.db.write() as tx:
        recovery.renew_verification(tx, app, user_id, NOW)
    assert [row["template"] for row in mails(app)] == ["verify"]


def test_a_reset_changes_nothing_of_another_user(app: App) -> None:
    new_user(app)
    new_user(app, BOB)
    forget(app)
    forget(app, BOB)
    drain(app)
    credential_replacement.reset_password(app, token_in(sent(app, RESET, ANN)[0]), NEW, "192.0.2.1", NOW)
    assert opens(app, token_in(sent(app, RESET, BOB)[0]))
    with app.db.read() as tx:
        bob = tx.find_row("user_by_email", email=BOB)
    assert bob is not None
    assert bob["password"] is None
