"""Changes of an account's email by its owner.

The owner requests the change with the password. The new address gets a link and the old one a notice. The change takes
effect when the link is confirmed on a page: a mail scanner that only follows links confirms nothing. The old address
gets a second notice then. A new password cancels a change that is not confirmed.

Both notices have a link that reverts the change, for somebody who has learned the password may have requested it. The
link works until seven days after the confirmation, also after further changes, and no other account gets the old email
until then.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from finapi.accounts import audit, recovery, sessions, users
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.net import mail
from finapi.store.db import ConstraintError, is_unique_violation

ROW_LIFETIME = timedelta(days=30)
REVERT_LIFETIME = timedelta(days=7)


def request_change(app: App, caller: Caller, password: str, new_email: str, address: str, now: datetime) -> None:
    """Mail a link to the new address and a notice to the old one. An earlier request is cancelled.

    If another account has the new address, or it has reached its limit of mails per hour, no link is sent. The caller
    cannot see this, so that a session does not reveal whose addresses are registered. Raise 401 for a wrong password,
    429 during a lockout or after too many requests, and INVALID_PARAM for the account's own address.
    """
    new_email = users.normalise_email(new_email)
    checked_user = sessions.confirm_password(app, caller, password, address, now)
    if new_email == checked_user["email"]:
        raise invalid_param("email", "This is the email of the account already.", expected="another email address")
    limiter = app.limiters["resend_email"]
    decision = limiter.take(("user", caller.id), app.clock.monotonic())
    if not decision.allowed:
        message = "Too many changes of the email were requested. Try again later."
        raise ApiError(
            "RATE_LIMIT_EXCEEDED", message, headers=decision.build_headers(now, is_per_node=app.config.has_nodes)
        )
    can_get_mail = limiter.take(lockout.hash_email(new_email), app.clock.monotonic()).allowed
    expires_at = now + timedelta(seconds=app.config.verification_lifetime)
    with app.accounts.write() as tx:
        users.require_same_password(tx, checked_user)
        tx.run("delete_old_email_changes", before=iso(now - ROW_LIFETIME))
        tx.run("end_email_changes", user_id=caller.id, now=iso(now))
        is_taken = tx.find_row("user_by_email", email=new_email) is not None
        is_taken = is_taken or users.is_email_reserved(tx, new_email, now, user_id=caller.id)
        change_id = tx.insert_row(
            "insert_email_change",
            user_id=caller.id,
            uuid=app.new_uuid(),
            old_email=checked_user["email"],
            new_email=new_email,
            now=iso(now),
            expires_at=iso(expires_at),
            revert_until=iso(max(expires_at, now + REVERT_LIFETIME)),
        )
        template = recovery.EMAIL_CHANGE if can_get_mail and not is_taken else recovery.DECOY
        mail.enqueue(tx, template, change_id, now)
        mail.enqueue(tx, recovery.EMAIL_CHANGE_NOTICE, change_id, now)


def get_new_email(app: App, token: str, now: datetime) -> str:
    """Return the address that a valid link would make the account's. Raise INVALID_TOKEN for any other token."""
    with app.accounts.read() as tx:
        return str(recovery.get_live_row(app, tx, recovery.EMAIL_CHANGE, token, now)["new_email"])


def confirm_change(app: App, token: str, now: datetime) -> str:
    """Make the new address the account's, end every session, and return the address.

    Links for a new password that were sent to the old address become invalid. Raise INVALID_TOKEN for a link that is
    wrong, used, cancelled or expired, or whose account is locked, and CONFLICT if another account has the address.
    """
    try:
        with app.accounts.write() as tx:
            change = recovery.get_live_row(app, tx, recovery.EMAIL_CHANGE, token, now)
            user_id = change["user_id"]
            emails = {"old_email": change["old_email"], "new_email": change["new_email"]}
            if users.is_email_reserved(tx, change["new_email"], now, user_id=user_id):
                raise _build_conflict()
            if not tx.run("update_email", emails, user_id=user_id, now=iso(now)):
                raise recovery.invalid_token()
            tx.run("end_email_changes", user_id=user_id, now=iso(now))
            tx.run("delete_resets_of_user", user_id=user_id)
            tx.run("delete_sessions", user_id=user_id)
            tx.run("extend_email_revert", id=change["id"], revert_until=iso(now + REVERT_LIFETIME))
            mail.enqueue(tx, recovery.EMAIL_CHANGED, change["id"], now)
            return str(change["new_email"])
    except ConstraintError as error:
        if not is_unique_violation(error, "users", "email"):
            raise
        raise _build_conflict() from None


def _build_conflict() -> ApiError:
    return ApiError("CONFLICT", "Another account has this email address in the meantime.")


def get_old_email(app: App, token: str, now: datetime) -> str:
    """Return the address that a valid link would restore. Raise INVALID_TOKEN for any other token."""
    with app.accounts.read() as tx:
        return str(recovery.get_live_row(app, tx, recovery.EMAIL_REVERT, token, now)["old_email"])


def revert_change(app: App, token: str, address: str, now: datetime) -> str:
    """Make the old address the account's again, whether the change was confirmed or not, and return the address.

    All sessions and the password end, because somebody else knew it, and the address gets a link for a new password.
    The links of later changes become invalid: they were sent to addresses of that person. The audit log records the
    revert with ``address``, the client's IP address. Raise INVALID_TOKEN for a link that is wrong, used or expired, or
    whose account is locked.
    """
    with app.accounts.write() as tx:
        change = recovery.get_live_row(app, tx, recovery.EMAIL_REVERT, token, now)
        user_id = change["user_id"]
        if not tx.run("revert_email", old_email=change["old_email"], user_id=user_id, now=iso(now)):
            raise recovery.invalid_token()
        tx.run("end_email_changes", user_id=user_id, now=iso(now))
        tx.run("end_email_reverts", user_id=user_id, id=change["id"], now=iso(now))
        tx.run("delete_resets_of_user", user_id=user_id)
        tx.run("delete_sessions", user_id=user_id)
        audit.record_owner_action(tx, user_id, address, "revert the change of the email", now)
        recovery.queue_reset(tx, app, change["old_email"], now)
        return str(change["old_email"])
