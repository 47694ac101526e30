"""Verification links, reset links and their mails.

A mail waits in the queue as a template and the id of a row. The link, the key and the address are inserted when it is
sent, so the queue contains no secret (DECISIONS 3).
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

# Templates of mails. The first three are also the kinds of link tokens, and so is EMAIL_REVERT, whose links are in both
# notices of a change. A decoy is queued but not sent, so that the time of a response does not reveal whether an email
# has an account.
VERIFY: Literal["verify"] = "verify"
RESET: Literal["reset"] = "reset"
EMAIL_CHANGE: Literal["email_change"] = "email_change"
EMAIL_REVERT: Literal["email_revert"] = "email_revert"
WELCOME = "welcome"
DECOY = "decoy"
# Notices to users whose credentials the operator replaced, or whose master secret was removed.
NEW_KEY = "new_key"
NEW_WEBHOOK_SECRET = "new_webhook_secret"
KEY_REFUSED = "key_refused"
WEBHOOK_REFUSED = "webhook_refused"
FAILING_RECEIVER = "failing_receiver"
# Notices of changes that the user made, or that somebody made in the user's name.
PASSWORD_CHANGED = "password_changed"
EMAIL_CHANGE_NOTICE = "email_change_notice"
EMAIL_CHANGED = "email_changed"

# The API call that a notice recommends, by template.
_RECOMMENDED_CALLS: dict[str, str] = {
    KEY_REFUSED: "POST /api/v1/user/api-key/rotate",
    NEW_WEBHOOK_SECRET: "GET /api/v1/webhooks/secret",
    WEBHOOK_REFUSED: "POST /api/v1/webhooks/secret/rotate",
}

_LINK_PATHS: dict[LinkKind, str] = {
    VERIFY: "/api/v1/auth/verifyEmail",
    RESET: "/api/v1/auth/verifyPasswordLink",
    EMAIL_CHANGE: "/confirm-email",
    EMAIL_REVERT: "/revert-email",
}
_ROW_QUERIES: dict[LinkKind, str] = {
    VERIFY: "verification",
    RESET: "reset",
    EMAIL_CHANGE: "email_change",
    EMAIL_REVERT: "email_revert",
}


def invalid_token() -> ApiError:
    """Return the error (400) for a link token that is malformed, unknown, expired or of another kind."""
    return ApiError("INVALID_TOKEN", "The link is invalid or has expired.")


def get_live_row(app: App, tx: Transaction, kind: LinkKind, token: str, now: datetime) -> Row:
    """Return the row of a valid link token. Raise INVALID_TOKEN for any other token.

    The columns are id, user_id, uuid and expires_at; and email, or old_email and new_email.
    """
    row_id = credentials.read_link_token(kind, token)
    row = None if row_id is None else tx.find_row(_ROW_QUERIES[kind], id=row_id)
    if row is None or row["expires_at"] <= iso(now):
        raise invalid_token()
    if not credentials.is_link_token_of_row(app.secrets, kind, token, row["id"], row["uuid"]):
        raise invalid_token()
    return row


# ---- verification


def create_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> int:
    """Create or replace the user's verification link. Return the id of its row."""
    expires_at = iso(now + timedelta(seconds=app.config.verification_lifetime))
    values = {"user_id": user_id, "uuid": app.new_uuid(), "now": iso(now), "expires_at": expires_at}
    return int(tx.find_value("upsert_verification", values))


def renew_verification(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    """Queue a new verification mail if the last link has expired (DECISIONS 3)."""
    if tx.find_value("live_verification_id", user_id=user_id, now=iso(now)) is None:
        mail.enqueue(tx, VERIFY, create_verification(tx, app, user_id, now), now)


def resend_verification(app: App, email: str, now: datetime) -> None:
    """Queue the verification mail again for an account that needs one.

    For any other email, and for one that has reached its limit of mails per hour, a decoy is queued. So the caller
    cannot see whether there is such an account.
    """
    email = users.normalise_email(email)
    allowed = app.limiters["resend_email"].take(lockout.hash_email(email), app.clock.monotonic()).allowed
    with app.accounts.write() as tx:
        user = tx.find_row("user_by_email", email=email)
        if user is None or user["verify_email"] or not allowed:
            mail.enqueue(tx, DECOY, 0, now)
        else:
            # A valid link is sent again, so that a request by someone else does not invalidate the one in the mailbox.
            live = tx.find_value("live_verification_id", user_id=user["id"], now=iso(now))
            mail.enqueue(tx, VERIFY, live or create_verification(tx, app, user["id"], now), now)


def send_verification(app: App, verification_id: int) -> None:
    """Send a verification mail and wait until it is accepted. Raise MAIL_FAILED (500) otherwise."""
    rendered = render_mail(app, VERIFY, verification_id)
    assert rendered is not None
    advice = "The account exists; ask for the mail again with POST /api/v1/auth/resend-verification."
    error_response = ApiError("MAIL_FAILED", f"The verification email could not be sent. {advice}")
    if not app.wait_slots.acquire(blocking=False):
        raise error_response
    try:
        mail.send_now(app.mail_settings, rendered, app.clock.now(), app.new_uuid())
    except MailError as error:
        raise error_response from error
    finally:
        app.wait_slots.release()


def verify_email(app: App, token: str, now: datetime, *, follow: bool = True) -> None:
    """Mark the email of a verification link as verified. A link may be followed several times.

    With ``follow=False``, as for HEAD, the link is only checked. Raise INVALID_TOKEN for a wrong link.
    """
    with app.accounts.write() as tx:
        row = get_live_row(app, tx, VERIFY, token, now)
        if follow:
            tx.run("set_verified", id=row["user_id"], now=iso(now))


def is_verified(app: App, tx: Transaction, token: str, now: datetime) -> bool:
    """Return True if the email of a verification link is verified. Raise INVALID_TOKEN for a wrong link."""
    user = tx.find_row("user_by_id", id=get_live_row(app, tx, VERIFY, token, now)["user_id"])
    return user is not None and bool(user["verify_email"])


# ---- reset


def request_password_reset(app: App, email: str, now: datetime) -> None:
    """Queue a reset mail, unless a valid reset token exists already.

    For an unknown email a decoy is queued, so that the time of the response does not reveal it (DECISIONS 3).
    """
    with app.accounts.write() as tx:
        queue_reset(tx, app, users.normalise_email(email), now)


def queue_reset(tx: Transaction, app: App, email: str, now: datetime) -> None:
    """Queue a reset mail or a decoy. ``email`` is normalised."""
    expires_at = iso(now + timedelta(seconds=app.config.reset_lifetime))
    values = {"email": email, "uuid": app.new_uuid(), "now": iso(now), "expires_at": expires_at}
    reset_id = tx.find_value("upsert_reset", values)
    mail.enqueue(tx, RESET if reset_id is not None else DECOY, reset_id or 0, now)


def get_reset(app: App, tx: Transaction, token: str, now: datetime) -> Row:
    """Return the row of a valid reset token: id, user_id, uuid, email, is_suspect. The token stays valid.

    ``is_suspect`` is 1 while somebody else may know the credentials: while the account has the password of its
    registration, and without a password after the owner reverted a change of the email. Raise INVALID_TOKEN for a token
    that is unknown, used or expired.
    """
    return get_live_row(app, tx, RESET, token, now)


# ---- the queue


def run_mail_step(app: App) -> float | None:
    """Send the due mails. Return the seconds until the next one is due, or None if none waits."""
    return mail.send_due(
        app.accounts,
        app.mail_settings,
        app.clock.now(),
        render=lambda name, row: render_mail(app, name, row),
        on_give_up=handle_given_up_mail,
    )


def render_mail(app: App, template: str, row_id: int) -> Letter | None:
    """Return the letter of a queued mail, or None if it is a decoy or its user or link has been deleted."""
    with app.accounts.read() as tx:
        if template in (WELCOME, NEW_KEY, PASSWORD_CHANGED, *_RECOMMENDED_CALLS):
            user = tx.find_row("user_by_id", id=row_id)
            if user is None:
                return None
            if template == PASSWORD_CHANGED:
                return build_letter(template, user["email"], user["email"], url=app.config.public_url)
            key = users.build_profile(app, tx, row_id, app.clock.now())["api_key"]
            if template == KEY_REFUSED and key is not None:
                return None  # The key has been replaced in the meantime.
            line = _RECOMMENDED_CALLS.get(template) or key or "(log in to see it)"
            return build_letter(template, user["email"], line, url=app.config.public_url)
        if template == FAILING_RECEIVER:
            failing = tx.find_row("failing_receiver", id=row_id)
            if failing is None:
                return None
            # Only the host, as the URL may contain a secret.
            return build_letter(template, failing["email"], failing["host"], url=app.config.public_url)
        if template in (EMAIL_CHANGE_NOTICE, EMAIL_CHANGED):
            change = tx.find_row("email_revert", id=row_id)
            if change is None or change["expires_at"] <= iso(app.clock.now()):
                return None
            return build_letter(
                template,
                change["old_email"],
                build_link(app, EMAIL_REVERT, change),
                url=app.config.public_url,
                new_email=change["new_email"],
            )
        if template not in _ROW_QUERIES:
            return None
        kind: LinkKind = template
        row = tx.find_row(_ROW_QUERIES[kind], id=row_id)
    if row is None or row["expires_at"] <= iso(app.clock.now()):
        return None
    address = row["new_email"] if kind == EMAIL_CHANGE else row["email"]
    return build_letter(kind, address, build_link(app, kind, row), lifetime=_get_link_lifetime(app, kind))


def build_link(app: App, kind: LinkKind, row: Row) -> str:
    """Return the URL of a link with its token. ``row`` has the columns id and uuid."""
    token = credentials.build_link_token(app.secrets, kind, row["id"], row["uuid"])
    return f"{app.config.public_url}{_LINK_PATHS[kind]}?token={token}"


def _get_link_lifetime(app: App, kind: LinkKind) -> int:
    return app.config.reset_lifetime if kind == RESET else app.config.verification_lifetime


def handle_given_up_mail(tx: Transaction, template: str, row_id: int) -> None:
    """Delete the reset token of a mail that could not be sent, so that the user can request a new one."""
    if template == RESET:
        tx.run("delete_reset", id=row_id)
