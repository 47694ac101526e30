"""Invite codes. Each allows one registration until it is used, expired or revoked.

Codes are derived from a master secret and never stored.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from finapi.accounts import audit, credentials
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.store.db import Row, Transaction

INVALID_MESSAGE = "Invalid or expired invite token"
USED_MESSAGE = "Invite code is used and cannot be used"


class Invite(NamedTuple):
    """An invite that was just created. ``expires_at`` is an ISO time, or None if it never expires."""

    code: str
    expires_at: str | None
    note: str | None


def create(
    app: App, now: datetime, *, lifetime: timedelta | None, note: str | None, actor: audit.Actor | None = None
) -> Invite:
    """Create an invite that expires after ``lifetime``, or never if that is None."""
    uuid = app.new_uuid()
    code = credentials.derive_invite_code(app.secrets, uuid)
    expires_at = iso(now + lifetime) if lifetime is not None else None
    values = {"uuid": uuid, "note": note, "now": iso(now), "expires_at": expires_at}
    with app.accounts.write() as tx:
        made_with = credentials.get_secret_name(app.secrets[0])
        audit.record_action(tx, actor, "invite", now, detail=note or "")
        tx.insert_row("insert_invite", values, fingerprint=credentials.fingerprint(code), made_with=made_with)
    return Invite(code, expires_at, note)


def list_invites(app: App, tx: Transaction, now: datetime) -> list[dict[str, Any]]:
    """Return every invite, oldest first: code, state, note, created_at, expires_at, used_at and used_by."""
    return [
        {
            "code": credentials.derive_again(
                app.secrets, row["fingerprint"], credentials.derive_invite_code, row["uuid"]
            ),
            "state": _state(row, iso(now)),
            **{name: row[name] for name in ("note", "created_at", "expires_at", "used_at", "used_by")},
        }
        for row in tx.list_rows("invites")
    ]


def revoke(app: App, code: str, now: datetime, actor: audit.Actor | None = None) -> None:
    """Revoke an unused code. Raise NOT_FOUND if it is unknown, and CONFLICT if it is used or revoked."""
    with app.accounts.write() as tx:
        row = _by_code(tx, code)
        if row is None:
            raise ApiError("NOT_FOUND", "Unknown invite code.")
        if not tx.run("revoke_invite", id=row["id"], now=iso(now)):
            raise ApiError("CONFLICT", "The invite code has already been used or revoked.")
        # A revoked code is worthless, so the log may contain it.
        audit.record_action(tx, actor, "revoke an invite", now, detail=code.strip().upper())


def redeem(app: App, tx: Transaction, code: str, now: datetime) -> str:
    """Return an invite token for a code. The code stays unused. Raise INVALID_INVITE (400) or INVITE_USED (410)."""
    invite_id = _check_redeemable(_by_code(tx, code), now)
    return credentials.build_invite_token(app.secrets, invite_id, now, app.config.invite_token_lifetime)


def get_id_by_token(app: App, tx: Transaction, token: str, now: datetime) -> int:
    """Return the id of a token's invite. Raise INVALID_INVITE or INVITE_USED if its row is not valid now."""
    invite_id = credentials.read_invite_token(app.secrets, token, now)
    return _check_redeemable(None if invite_id is None else tx.find_row("invite_by_id", id=invite_id), now)


def use(tx: Transaction, invite_id: int, now: datetime) -> None:
    """Mark an invite as used, in a transaction that is open.

    Raise INVITE_USED if another registration was faster, and INVALID_INVITE if the invite is revoked or expired.
    """
    if not tx.run("use_invite", id=invite_id, now=iso(now)):
        _check_redeemable(tx.find_row("invite_by_id", id=invite_id), now)


def _by_code(tx: Transaction, code: str) -> Row | None:
    return tx.find_row("invite_by_fingerprint", fingerprint=credentials.fingerprint(code.strip().upper()))


def _check_redeemable(row: Row | None, now: datetime) -> int:
    state = None if row is None else _state(row, iso(now))
    if state == "used":
        raise ApiError("INVITE_USED", USED_MESSAGE)
    if row is None or state != "open":
        raise ApiError("INVALID_INVITE", INVALID_MESSAGE)
    invite_id: int = row["id"]
    return invite_id


def _state(row: Row, now: str) -> str:
    if row["used_at"]:
        return "used"
    if row["revoked_at"]:
        return "revoked"
    return "expired" if row["expires_at"] and row["expires_at"] <= now else "open"
