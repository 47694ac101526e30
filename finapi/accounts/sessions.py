"""Registration, login and logout (DECISIONS 3)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from finapi.accounts import audit, credentials, invites, logins, plans, recovery, users
from finapi.accounts.users import Caller, User
from finapi.app import App
from finapi.core import lockout, passwords
from finapi.core.clock import iso
from finapi.core.errors import ApiError, ServerBusyError, invalid_param
from finapi.core.fair_queue import QueueRefusalError
from finapi.net import mail
from finapi.store.db import ConstraintError, Row, Transaction, is_unique_violation

LOCKED_MESSAGE = "Too many failed login attempts. Try again later."
TOO_MANY_LOGINS_MESSAGE = "Too many logins of this email at once. Try again in a moment."
# After an operator has entered the password, the session acts without it for this time.
CONFIRMATION_LIFETIME = timedelta(minutes=15)
NOT_VERIFIED_MESSAGE = "Please verify the email, I have send verification link."


@dataclass(frozen=True, slots=True)
class Login:
    """A session that was just opened: its token, and the user as in the API."""

    token: str
    user: User


@dataclass(frozen=True, slots=True)
class PasswordReset:
    """A reset token and a new password that have been checked, ready to be written."""

    id: int
    uuid: str
    email_key: bytes  # The hash by which the lockout counts the failures of the email.
    password_hash: str


def register(app: App, email: str, password: str, invite_token: str, address: str, now: datetime) -> None:
    """Create an unverified account for an invite, and send its verification mail.

    The password is checked first, then the invite (400, 410), then the email (400). If the mail cannot be sent (500),
    the user exists nevertheless, and ``resend-verification`` works.
    """
    email = users.normalise_email(email)
    passwords.check_new(password, "password", common=app.config.common_passwords)
    with app.accounts.read() as tx:
        invite_id = invites.get_id_by_token(app, tx, invite_token, now)
        if tx.find_row("user_by_email", email=email) is not None or users.is_email_reserved(tx, email, now):
            raise ApiError("EMAIL_EXISTS", "Email already exists")
    password_hash = app.hasher.hash(password, ("address", address))
    try:
        with app.accounts.write() as tx:
            invites.use(tx, invite_id, now)
            user = users.insert(tx, app, email, "free", now, password=password_hash, verified=False)
            tx.run("set_invite_user", id=invite_id, user_id=user.id)
            verification_id = recovery.create_verification(tx, app, user.id, now)
            mail.enqueue(tx, "welcome", user.id, now)
    except ConstraintError as error:
        if not is_unique_violation(error, "users", "email"):
            raise
        raise ApiError("EMAIL_EXISTS", "Email already exists") from None
    recovery.send_verification(app, verification_id)


def login(app: App, email: str, password: str, address: str, now: datetime) -> Login:
    """Open a session. Raise 401, 400 if the email is not verified, or 429 during a lockout.

    An attempt is reserved before the hash is computed, so that no more guesses run at the same time than the lockout
    allows. Every answer except the 429 costs one hash, whether the email is known or not.
    """
    email = users.normalise_email(email)
    key = lockout.hash_email(email)
    user = check_password(app, email, password, address, now)
    if not user["verify_email"]:
        with app.accounts.write() as tx:
            recovery.renew_verification(tx, app, user["id"], now)
        raise ApiError("EMAIL_NOT_VERIFIED", NOT_VERIFIED_MESSAGE)
    new_hash = None
    with suppress(ApiError):  # If the server is busy, the next login computes it.
        new_hash = app.hasher.hash(password, key) if app.hasher.needs_rehash(user["password"]) else None
    with app.accounts.write() as tx:
        if new_hash is not None:
            tx.run("update_password_hash", id=user["id"], password=new_hash, old=user["password"])
        token = _open_session(tx, app, user, now)
        plans.refill_in_transaction(tx, app.config, user["id"], now)
        logins.record_success(tx, app, user, key, address, now)
        return Login(token, users.build_profile(app, tx, user["id"], now))


def check_password(app: App, email: str, password: str, address: str, now: datetime) -> Row:
    """Return the user with this email and password. Raise 401, or 429 during a lockout.

    A wrong password counts towards the lockout.
    """
    key = lockout.hash_email(email)
    logins.load_failures(app, key, now)
    lock_seconds = app.lockouts.get_lock_seconds(key, app.clock.monotonic())
    if lock_seconds:
        raise _login_locked(lock_seconds)
    return _find_user_by_password(app, email, key, password, address, now)


def _find_user_by_password(app: App, email: str, key: bytes, password: str, address: str, now: datetime) -> Row:
    """Return the user with this email and password. Raise 401 or 429. ``key`` is the email's key in the lockout.

    A user whose email is not verified is returned even if the password is wrong: the caller answers 400.
    """
    with app.accounts.read() as tx:
        user = tx.find_row("user_by_email", email=email)
        claim = logins.build_claim(app, tx, user, key, address, now)
    try:
        with app.hasher.queue.enter(*claim.keys, first=claim.is_first):
            attempt = app.lockouts.begin_attempt(key, app.clock.monotonic())
            if isinstance(attempt, int):
                raise _login_locked(attempt)
            with attempt:
                if app.hasher.verify(user["password"] if user else None, password) and user and not user["locked_at"]:
                    attempt.record_success()
                    return user
                seconds = attempt.record_failure()
    except ServerBusyError as error:
        if _count_other_logins(app, error, key) >= lockout.MAX_OPEN_ATTEMPTS:
            # Too many logins for this email are waiting, registered or not. The server itself is not busy.
            raise ApiError("RATE_LIMIT_EXCEEDED", TOO_MANY_LOGINS_MESSAGE, headers={"Retry-After": "1"}) from None
        raise
    seconds = logins.record_failure(app, key, seconds, now)
    if seconds is not None:
        raise _login_locked(seconds)
    # Whatever the password is, an unverified account answers 400 (DECISIONS 3).
    if user is None or user["locked_at"] or user["verify_email"]:
        raise ApiError("INVALID_CREDENTIALS", users.INVALID_CREDENTIALS_MESSAGE)
    return user


def _count_other_logins(app: App, error: ServerBusyError, key: bytes) -> int:
    """Return the number of other logins of an email in the queue when a login was refused."""
    if isinstance(error, QueueRefusalError):
        return error.count_by_key["email", key]
    return app.hasher.queue.count_for_key(("email", key))


def confirm_password(app: App, caller: Caller, password: str, address: str, now: datetime) -> Row:
    """Return the caller's user row if this is the caller's password. Raise 401, or 429 during a lockout.

    A wrong password counts towards the lockout of logins.
    """
    user = check_password(app, caller.email, password, address, now)
    if user["id"] != caller.id or not user["verify_email"]:
        raise ApiError("INVALID_CREDENTIALS", users.INVALID_CREDENTIALS_MESSAGE)
    return user


def is_confirmed(app: App, session: bytes, now: datetime) -> bool:
    """Return True if the password was entered for an operator's action of this session less than 15 minutes ago."""
    with app.accounts.read() as tx:
        since = iso(now - CONFIRMATION_LIFETIME)
        return bool(tx.find_value("is_session_confirmed", fingerprint=session, since=since))


def confirm_session(app: App, caller: Caller, password: str, address: str, now: datetime) -> None:
    """Let the caller's session act for an operator for 15 minutes. Raise 401, or 429 during a lockout.

    401 is also the answer if the password was changed or the session ended while the password was checked.
    """
    checked_user = confirm_password(app, caller, password, address, now)
    with app.accounts.write() as tx:
        users.require_same_password(tx, checked_user)
        if not tx.run("confirm_session", fingerprint=caller.session, now=iso(now)):
            raise ApiError("INVALID_CREDENTIALS", users.INVALID_CREDENTIALS_MESSAGE)


def change_password(app: App, caller: Caller, password: str, new_password: str, address: str, now: datetime) -> str:
    """Replace the caller's password and return the token of a new session. All other sessions end.

    Links of mails that were sent before, for a new password or another email, become invalid. Raise INVALID_PARAM for a
    new password that is refused, 401 for a wrong old one, and 429 during a lockout.
    """
    passwords.check_new(new_password, "newpassword", common=app.config.common_passwords)
    checked_user = confirm_password(app, caller, password, address, now)
    if new_password == password:
        raise invalid_param("newpassword", "The new password is the same as the old one.", expected="another password")
    password_hash = app.hasher.hash(new_password, ("user", caller.id))
    with app.accounts.write() as tx:
        users.require_same_password(tx, checked_user)
        tx.run("set_password", id=caller.id, password=password_hash, now=iso(now))
        tx.run("delete_sessions", user_id=caller.id)
        tx.run("delete_resets_of_user", user_id=caller.id)
        tx.run("end_email_changes", user_id=caller.id, now=iso(now))
        mail.enqueue(tx, recovery.PASSWORD_CHANGED, caller.id, now)
        user = tx.find_row("user_by_id", id=caller.id)
        assert user is not None
        return _open_session(tx, app, user, now)


def logout(app: App, session: bytes) -> None:
    """End the session with this fingerprint."""
    with app.accounts.write() as tx:
        tx.run("delete_session", fingerprint=session)


def list_sessions(tx: Transaction, user_id: int, now: datetime) -> list[Row]:
    """Return a user's sessions, newest first: fingerprint, created_at and expires_at."""
    return tx.list_rows("sessions_of_user", user_id=user_id, now=iso(now))


def end_other_sessions(app: App, user_id: int, session: bytes) -> None:
    """End every session of a user except the one with this fingerprint."""
    with app.accounts.write() as tx:
        tx.run("delete_other_sessions", user_id=user_id, fingerprint=session)


def prepare_reset(app: App, token: str, password: str, address: str, now: datetime) -> PasswordReset:
    """Check a reset token and a new password, and hash the password. The token is not used up yet.

    Raise INVALID_TOKEN for a token that is unknown, used or expired, and INVALID_PARAM for a password that is refused.
    """
    with app.accounts.read() as tx:
        reset = recovery.get_reset(app, tx, token, now)
    passwords.check_new(password, "newpassword", common=app.config.common_passwords)
    return PasswordReset(
        id=reset["id"],
        uuid=reset["uuid"],
        email_key=lockout.hash_email(reset["email"]),
        password_hash=app.hasher.hash(password, ("address", address)),
    )


def apply_reset(tx: Transaction, reset: PasswordReset, now: datetime) -> int:
    """Set the new password, use up the token and end every session. Return the user's id.

    Raise INVALID_TOKEN if the token has been used in the meantime. After the commit the caller clears the lockout of
    ``email_key`` in memory.
    """
    user_id: int | None = tx.find_value("consume_reset", id=reset.id, uuid=reset.uuid, now=iso(now))
    if user_id is None:
        raise recovery.invalid_token()
    tx.run("set_password", id=user_id, password=reset.password_hash, now=iso(now))
    # The link proves that the user reads the mailbox, as a verification does.
    tx.run("set_verified", id=user_id, now=iso(now))
    tx.run("delete_sessions", user_id=user_id)
    tx.run("end_email_changes", user_id=user_id, now=iso(now))
    tx.run("delete_login_failures", email=reset.email_key)
    return user_id


def set_password(app: App, user_id: int, password: str, now: datetime, actor: audit.Actor | None = None) -> None:
    """Set a new password for the operator. Every session ends, and the lockout is cleared."""
    passwords.check_new(password, "password", common=app.config.common_passwords)
    password_hash = app.hasher.hash(password)
    with app.accounts.write() as tx:
        user = tx.find_row("user_by_id", id=user_id)
        assert user is not None
        audit.record_action(tx, actor, "password", now, user_id)
        tx.run("set_password", id=user_id, password=password_hash, now=iso(now))
        tx.run("delete_sessions", user_id=user_id)
        tx.run("end_email_changes", user_id=user_id, now=iso(now))
        tx.run("delete_login_failures", email=lockout.hash_email(user["email"]))
    app.lockouts.reset(lockout.hash_email(user["email"]))


def _open_session(tx: Transaction, app: App, checked_user: Row, now: datetime) -> str:
    """Open a session and return its token. The oldest sessions beyond the device limit are deleted.

    ``checked_user`` is the user's row from before the hash was computed. Raise 401 if the password has been changed or
    the account locked since.
    """
    users.require_same_password(tx, checked_user)
    user_id = checked_user["id"]
    session_id = credentials.new_session_id(app.random_bytes)
    lifetime = app.config.session_lifetime
    tx.run("delete_expired_sessions", user_id=user_id, now=iso(now))
    expires_at = iso(now + timedelta(seconds=lifetime))
    fingerprint = credentials.fingerprint(session_id)
    tx.run("insert_session", user_id=user_id, fingerprint=fingerprint, now=iso(now), expires_at=expires_at)
    tx.run("evict_oldest_sessions", user_id=user_id, device_limit=app.config.device_limit)
    return credentials.build_session_token(
        app.secrets, sub=checked_user["uuid"], session_id=session_id, now=now, lifetime=lifetime
    )


def _login_locked(seconds: int) -> ApiError:
    return ApiError("LOGIN_LOCKED", LOCKED_MESSAGE, headers={"Retry-After": str(seconds)})
