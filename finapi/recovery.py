"""Verification links, reset links and the mails that carry them.

A mail waits in the queue as a template and a row's id; the link, the key and the address are put in when it
is sent (CONTRACT 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from finapi import accounts, credentials, letters, lockout, mail
from finapi.app import App
from finapi.clock import iso
from finapi.db import Transaction
from finapi.errors import ApiError
from finapi.mail import Letter, MailError

# Templates of the queue; the first two are kinds of link tokens too.
VERIFY: Literal["verify"] = "verify"
RESET: Literal["reset"] = "reset"
WELCOME, DECOY = "welcome", "decoy"


@dataclass(frozen=True, slots=True)
class Reset:
    """A live reset token's row."""

    id: int
    uuid: str
    email: str


def invalid_token() -> ApiError:
    """The 400 for a link token that is not one, not live, or not of this kind."""
    return ApiError("INVALID_TOKEN", "The link is invalid or has expired.")


def enqueue(tx: Transaction, template: str, row_id: int, now: datetime) -> None:
    """Queue a mail in the transaction that makes it due."""
    mail.enqueue(tx, template, row_id, now)


# ---- verification


def open_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> int:
    """Make the user's verification link anew; the id of its row."""
    expires_at = iso(now + timedelta(seconds=app.config.verification_lifetime))
    verification_id: int = tx.value(
        "put_verification", user_id=user_id, uuid=app.new_uuid(), now=iso(now), expires_at=expires_at
    )
    return verification_id


def renew_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    """Queue a new verification mail if the last link has expired (SPEC: re-issued on login)."""
    row = tx.one("verification_of", user_id=user_id)
    if row is None or row["expires_at"] <= iso(now):
        enqueue(tx, VERIFY, open_verification(tx, app, user_id, now), now)


def resend_verification(app: App, email: str, now: datetime) -> None:
    """Queue the verification mail again for an account that needs one; the same work when there is none.

    An email that has had its mails of the hour gets none, and nobody is told.
    """
    email = accounts.normal(email)
    allowed = app.limiters["resend_email"].take(lockout.key_of(email), app.clock.monotonic()).allowed
    with app.db.write() as tx:
        user = tx.one("user_by_email", email=email)
        if user is None or user["verify_email"] or not allowed:
            enqueue(tx, DECOY, 0, now)
        else:
            # The same link while it lives: a stranger who asks must not kill the one already in the mailbox.
            row = tx.one("verification_of", user_id=user["id"])
            if row is not None and row["expires_at"] > iso(now):
                enqueue(tx, VERIFY, row["id"], now)
            else:
                enqueue(tx, VERIFY, open_verification(tx, app, user["id"], now), now)


def send_verification_now(app: App, verification_id: int) -> None:
    """Send a verification mail and wait for it; MAIL_FAILED (500) when it does not get out."""
    letter = render(app, VERIFY, verification_id)
    assert letter is not None
    failed = ApiError("MAIL_FAILED", "The verification email could not be sent. Ask for it again.")
    if not app.waiting_for_mail.acquire(blocking=False):
        raise failed
    try:
        mail.send_now(app.post, letter, app.clock.now(), app.new_uuid())
    except MailError as error:
        raise failed from error
    finally:
        app.waiting_for_mail.release()


def verify(app: App, token: str, now: datetime, *, follow: bool = True) -> None:
    """Mark the email of a verification link as verified; following it twice is fine.

    With ``follow=False`` the link is only looked at, as a HEAD does.
    """
    row_id = credentials.read_link_token(VERIFY, token)
    with app.db.write() as tx:
        row = None if row_id is None else tx.one("verification", id=row_id)
        if row is None or row["expires_at"] <= iso(now):
            raise invalid_token()
        if not credentials.link_token_matches(app.secrets, VERIFY, token, row["id"], row["uuid"]):
            raise invalid_token()
        if follow:
            tx.run("set_verified", id=row["user_id"], now=iso(now))


# ---- reset


def forget_password(app: App, email: str, now: datetime) -> None:
    """Queue a reset mail unless a live token exists; the same work whatever the email is (SPEC)."""
    expires_at = iso(now + timedelta(seconds=app.config.reset_lifetime))
    with app.db.write() as tx:
        reset_id = tx.value(
            "put_reset",
            email=accounts.normal(email),
            uuid=app.new_uuid(),
            now=iso(now),
            expires_at=expires_at,
        )
        enqueue(tx, RESET if reset_id is not None else DECOY, reset_id or 0, now)


def live_reset(app: App, tx: Transaction, token: str, now: datetime) -> Reset:
    """The row of a reset token that is live; INVALID_TOKEN otherwise. Uses nothing up."""
    row_id = credentials.read_link_token(RESET, token)
    row = None if row_id is None else tx.one("reset", id=row_id)
    if row is None or row["expires_at"] <= iso(now):
        raise invalid_token()
    if not credentials.link_token_matches(app.secrets, RESET, token, row["id"], row["uuid"]):
        raise invalid_token()
    return Reset(row["id"], row["uuid"], row["email"])


# ---- the queue


def send_due(app: App) -> float | None:
    """Send what is due of the mail queue; seconds until the next. A worker's step."""
    return mail.send_due(
        app.db, app.post, app.clock.now(), render=lambda name, row: render(app, name, row), given_up=given_up
    )


def render(app: App, template: str, row_id: int) -> Letter | None:
    """The letter of a queued mail, or None when what it was about has gone or it never was one."""
    with app.db.read() as tx:
        if template == WELCOME:
            user = tx.one("user_by_id", id=row_id)
            if user is None:
                return None
            key = accounts.profile(app, tx, row_id, app.clock.now())["api_key"]
            return letters.welcome(user["email"], key, app.config.public_url)
        if template not in (VERIFY, RESET):
            return None
        kind = VERIFY if template == VERIFY else RESET
        row = tx.one("verification", id=row_id) if kind == VERIFY else tx.one("reset", id=row_id)
    if row is None or row["expires_at"] <= iso(app.clock.now()):
        return None
    token = credentials.link_token(app.secrets, kind, row["id"], row["uuid"])
    auth = f"{app.config.public_url}/api/v1/auth"
    if kind == VERIFY:
        link, lifetime = f"{auth}/verifyEmail?token={token}", app.config.verification_lifetime
        return letters.verification(row["email"], link, lifetime)
    return letters.reset(row["email"], f"{auth}/verifyPasswordLink?token={token}", app.config.reset_lifetime)


def given_up(tx: Transaction, template: str, row_id: int) -> None:
    """A mail was given up: a reset token that nobody has received is deleted, so that it can be asked for anew."""
    if template == RESET:
        tx.run("delete_reset", id=row_id)
