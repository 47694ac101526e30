"""Verification links, reset links and the mails that carry them.

A mail waits in the queue as a template and a row's id; the link, the key and the address are put in when it
is sent (DECISIONS 3).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from finapi.accounts import credentials, users
from finapi.accounts.credentials import LinkKind
from finapi.accounts.mail_texts import build_letter
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.net import mail
from finapi.net.letters import Letter, MailError
from finapi.store.db import Row, Transaction

# Templates of the queue; the first two are kinds of link tokens too.
VERIFY: Literal["verify"] = "verify"
RESET: Literal["reset"] = "reset"
WELCOME, DECOY = "welcome", "decoy"
# About a user's credentials, after the operator replaced them or withdrew what they were made from.
NEW_KEY, NEW_WEBHOOK_SECRET = "new_key", "new_webhook_secret"
KEY_REFUSED, WEBHOOK_REFUSED = "key_refused", "webhook_refused"
FAILING_RECEIVER = "failing_receiver"

# What the notices tell their readers to call.
_CALLS: dict[str, str] = {
    KEY_REFUSED: "POST /api/v1/user/api-key/rotate",
    NEW_WEBHOOK_SECRET: "GET /api/v1/webhooks/secret",
    WEBHOOK_REFUSED: "POST /api/v1/webhooks/secret/rotate",
}

# Where the link of a mail leads.
_PATHS: dict[str, str] = {VERIFY: "verifyEmail", RESET: "verifyPasswordLink"}
_ROWS: dict[LinkKind, str] = {VERIFY: "verification", RESET: "reset"}


def invalid_token() -> ApiError:
    """The 400 for a link token that is not one, not live, or not of this kind."""
    return ApiError("INVALID_TOKEN", "The link is invalid or has expired.")


def _live_row(app: App, tx: Transaction, kind: LinkKind, token: str, now: datetime) -> Row:
    """The row of a link token (id, user_id, uuid, expires_at, email); INVALID_TOKEN when it is not live."""
    row_id = credentials.read_link_token(kind, token)
    row = None if row_id is None else tx.find_row(_ROWS[kind], id=row_id)
    if row is None or row["expires_at"] <= iso(now):
        raise invalid_token()
    if not credentials.is_link_token_of_row(app.secrets, kind, token, row["id"], row["uuid"]):
        raise invalid_token()
    return row


# ---- verification


def create_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> int:
    """Make the user's verification link anew; the id of its row."""
    expires_at = iso(now + timedelta(seconds=app.config.verification_lifetime))
    values = {"user_id": user_id, "uuid": app.new_uuid(), "now": iso(now), "expires_at": expires_at}
    return int(tx.find_value("upsert_verification", values))


def renew_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    """Queue a new verification mail if the last link has expired (DECISIONS 3)."""
    if tx.find_value("live_verification_id", user_id=user_id, now=iso(now)) is None:
        mail.enqueue(tx, VERIFY, create_verification(tx, app, user_id, now), now)


def resend_verification(app: App, email: str, now: datetime) -> None:
    """Queue the verification mail again for an account that needs one; the same work when there is none.

    An email that has had its mails of the hour gets none, and nobody is told.
    """
    email = users.normalise_email(email)
    allowed = app.limiters["resend_email"].take(lockout.hash_email(email), app.clock.monotonic()).allowed
    with app.accounts.write() as tx:
        user = tx.find_row("user_by_email", email=email)
        if user is None or user["verify_email"] or not allowed:
            mail.enqueue(tx, DECOY, 0, now)
        else:
            # The same link while it lives: whoever else asks must not kill the one already in the mailbox.
            live = tx.find_value("live_verification_id", user_id=user["id"], now=iso(now))
            mail.enqueue(tx, VERIFY, live or create_verification(tx, app, user["id"], now), now)


def send_verification(app: App, verification_id: int) -> None:
    """Send a verification mail and wait for it; MAIL_FAILED (500) when it does not get out."""
    rendered = render_mail(app, VERIFY, verification_id)
    assert rendered is not None
    again = "The account exists; ask for the mail again with POST /api/v1/auth/resend-verification."
    failed = ApiError("MAIL_FAILED", f"The verification email could not be sent. {again}")
    if not app.wait_slots.acquire(blocking=False):
        raise failed
    try:
        mail.send_now(app.mail_settings, rendered, app.clock.now(), app.new_uuid())
    except MailError as error:
        raise failed from error
    finally:
        app.wait_slots.release()


def verify_email(app: App, token: str, now: datetime, *, follow: bool = True) -> None:
    """Mark the email of a verification link as verified; following it twice is fine.

    With ``follow=False`` the link is only looked at, as a HEAD does.
    """
    with app.accounts.write() as tx:
        row = _live_row(app, tx, VERIFY, token, now)
        if follow:
            tx.run("set_verified", id=row["user_id"], now=iso(now))


def is_verified(app: App, tx: Transaction, token: str, now: datetime) -> bool:
    """Whether the email of a verification link has been verified; INVALID_TOKEN when the link is not live."""
    user = tx.find_row("user_by_id", id=_live_row(app, tx, VERIFY, token, now)["user_id"])
    return user is not None and bool(user["verify_email"])


# ---- reset


def request_password_reset(app: App, email: str, now: datetime) -> None:
    """Queue a reset mail unless a live token exists; the same work whatever the email is (DECISIONS 3)."""
    expires_at = iso(now + timedelta(seconds=app.config.reset_lifetime))
    values = {"email": users.normalise_email(email), "uuid": app.new_uuid(), "now": iso(now), "expires_at": expires_at}
    with app.accounts.write() as tx:
        reset_id = tx.find_value("upsert_reset", values)
        mail.enqueue(tx, RESET if reset_id is not None else DECOY, reset_id or 0, now)


def get_reset(app: App, tx: Transaction, token: str, now: datetime) -> Row:
    """Return the row of a live reset token: id, user_id, uuid, email, is_first. Nothing is used up.

    ``is_first`` is 1 while the account still has the password of its registration. Raise INVALID_TOKEN for a token that
    is unknown, used or expired.
    """
    return _live_row(app, tx, RESET, token, now)


# ---- the queue


def run_mail_step(app: App) -> float | None:
    """Send what is due of the mail queue; seconds until the next. A worker's step."""
    return mail.send_due(
        app.accounts,
        app.mail_settings,
        app.clock.now(),
        render=lambda name, row: render_mail(app, name, row),
        on_give_up=handle_given_up_mail,
    )


def render_mail(app: App, template: str, row_id: int) -> Letter | None:
    """The letter of a queued mail, or None when what it was about has gone or it never was one."""
    with app.accounts.read() as tx:
        if template in (WELCOME, NEW_KEY, *_CALLS):
            user = tx.find_row("user_by_id", id=row_id)
            if user is None:
                return None
            key = users.build_profile(app, tx, row_id, app.clock.now())["api_key"]
            if template == KEY_REFUSED and key is not None:
                return None  # replaced since
            line = _CALLS.get(template) or key or "(log in to see it)"
            return build_letter(template, user["email"], line, url=app.config.public_url)
        if template == FAILING_RECEIVER:
            failing = tx.find_row("failing_receiver", id=row_id)
            # The host alone: the rest of a URL may hold a secret.
            return (
                None
                if failing is None
                else build_letter(template, failing["email"], failing["host"], url=app.config.public_url)
            )
        if template not in (VERIFY, RESET):
            return None
        kind = VERIFY if template == VERIFY else RESET
        row = tx.find_row(_ROWS[kind], id=row_id)
    if row is None or row["expires_at"] <= iso(app.clock.now()):
        return None
    token = credentials.build_link_token(app.secrets, kind, row["id"], row["uuid"])
    link = f"{app.config.public_url}/api/v1/auth/{_PATHS[kind]}?token={token}"
    lifetime = app.config.verification_lifetime if kind == VERIFY else app.config.reset_lifetime
    return build_letter(kind, row["email"], link, lifetime=lifetime)


def handle_given_up_mail(tx: Transaction, template: str, row_id: int) -> None:
    """A mail was given up: a reset token that nobody has received is deleted, so that it can be asked for anew."""
    if template == RESET:
        tx.run("delete_reset", id=row_id)
