"""Registration, login and logout (SPEC "States and transitions")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from finapi import accounts, credentials, invites, lockout, passwords, recovery
from finapi.app import App
from finapi.clock import iso
from finapi.db import Refused, Row, Transaction
from finapi.errors import ApiError

LOCKED = "Too many failed login attempts. Try again later."
WRONG = "Invalid email or password"
NOT_VERIFIED = "Please verify the email, I have send verification link."


@dataclass(frozen=True, slots=True)
class Login:
    """A session just opened: its token and the user as the API shows it."""

    token: str
    user: dict[str, Any]


def register(app: App, email: str, password: str, invite_token: str, now: datetime) -> None:
    """Make an unverified account out of an invite, and send its verification mail.

    Checked in this order: invite (400, 410), email (400). The invite is used up in the transaction
    that makes the user. A verification mail that cannot be sent is a 500; the user exists then, and
    ``resend-verification`` works.
    """
    email = accounts.normal(email)
    with app.db.read() as tx:
        invite_id = invites.of_token(app, tx, invite_token, now)
        if tx.one("user_by_email", email=email) is not None:
            raise ApiError("EMAIL_EXISTS", "Email already exists")
    stored = app.hasher.hash(password)
    try:
        with app.db.write() as tx:
            invites.use(tx, invite_id, now)
            user = accounts.insert(tx, app, email, "free", now, password=stored, verified=False)
            tx.run("set_invite_user", id=invite_id, user_id=user.id)
            verification_id = recovery.open_verification(tx, app, user.id, now)
            recovery.enqueue(tx, "welcome", user.id, now)
    except Refused:
        raise ApiError("EMAIL_EXISTS", "Email already exists") from None
    recovery.send_verification_now(app, verification_id)


def login(app: App, email: str, password: str, now: datetime) -> Login:
    """Open a session; 401, 400 when the email is not verified, 429 in a lockout.

    An attempt is reserved before the hash is computed, so that no more guesses run at once than the lockout
    allows, and a locked email costs no hash. Every answer but the 429 costs one hash, known or not.
    """
    email = accounts.normal(email)
    attempt = app.lockouts.begin(lockout.key_of(email), app.clock.monotonic())
    if isinstance(attempt, int):
        raise _locked(attempt)
    with attempt:
        with app.db.read() as tx:
            user = tx.one("user_by_email", email=email)
        right = app.hasher.verify(user["password"] if user else None, password)
        if user is not None and right and not user["locked_at"]:
            attempt.succeeded()
        else:
            seconds = attempt.failed()
            if seconds is not None:
                raise _locked(seconds)
            # Whatever the password is, an unverified account answers 400 (SPEC "States and transitions").
            if user is None or user["locked_at"] or user["verify_email"]:
                raise ApiError("INVALID_CREDENTIALS", WRONG)
    if not user["verify_email"]:
        with app.db.write() as tx:
            recovery.renew_verification(tx, app, user["id"], now)
        raise ApiError("EMAIL_NOT_VERIFIED", NOT_VERIFIED)
    again = _rehashed(app, user["password"], password)
    with app.db.write() as tx:
        if again is not None:
            tx.run("set_password_again", id=user["id"], password=again, old=user["password"])
        token = _open(tx, app, user, now)
        return Login(token, accounts.profile(app, tx, user["id"], now))


def logout(app: App, session: bytes) -> None:
    """End one session, named by its fingerprint."""
    with app.db.write() as tx:
        tx.run("delete_session", fingerprint=session)


def change_password(app: App, token: str, password: str, now: datetime) -> None:
    """Set a new password by a reset token; 400 INVALID_TOKEN when it is not one or not live.

    The token is used up in the transaction of the change, which also ends every session; the lockout clears.
    """
    with app.db.read() as tx:
        reset = recovery.live_reset(app, tx, token, now)
    passwords.check_new(password, "newpassword")
    stored = app.hasher.hash(password)
    with app.db.write() as tx:
        user_id = tx.value("consume_reset", id=reset.id, uuid=reset.uuid, now=iso(now))
        if user_id is None:
            raise recovery.invalid_token()
        tx.run("set_password", id=user_id, password=stored, now=iso(now))
        # Who can read the mailbox has verified the address.
        tx.run("set_verified", id=user_id, now=iso(now))
        tx.run("delete_sessions", user_id=user_id)
    app.lockouts.reset(lockout.key_of(reset.email))


def _open(tx: Transaction, app: App, checked: Row, now: datetime) -> str:
    """A fresh session, the oldest beyond the device limit evicted.

    ``checked`` is the user as it was before the hash: its password and its lock must still stand.
    """
    user_id = checked["id"]
    user = tx.one("user_by_id", id=user_id)
    if user is None or user["locked_at"] or user["password_serial"] != checked["password_serial"]:
        raise ApiError("INVALID_CREDENTIALS", WRONG)
    session_id = credentials.new_session_id(app.random_bytes)
    lifetime = app.config.session_lifetime
    tx.run("delete_expired_sessions", user_id=user_id, now=iso(now))
    tx.run(
        "insert_session",
        user_id=user_id,
        fingerprint=credentials.fingerprint(session_id),
        now=iso(now),
        expires_at=iso(now + timedelta(seconds=lifetime)),
    )
    tx.run("evict_oldest_sessions", user_id=user_id, device_limit=app.config.device_limit)
    return credentials.session_token(
        app.secrets, sub=checked["uuid"], session_id=session_id, now=now, lifetime=lifetime
    )


def _rehashed(app: App, stored: str, password: str) -> str | None:
    """The password's hash by the profile in force, when it is not that already and there is time for it."""
    try:
        return app.hasher.hash(password) if app.hasher.needs_rehash(stored) else None
    except ApiError:
        return None  # the next login will do


def _locked(seconds: int) -> ApiError:
    return ApiError("LOGIN_LOCKED", LOCKED, headers={"Retry-After": str(seconds)})
