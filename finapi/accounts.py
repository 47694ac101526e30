"""Users and the keys by which they are known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from finapi import billing, credentials
from finapi.app import App
from finapi.clock import iso
from finapi.db import Refused, Transaction
from finapi.errors import ApiError


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified user: what a handler may know of who is calling. ``plan`` is None without a plan row."""

    id: int
    uuid: str
    email: str
    plan: str | None


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user just made, with the one key that opens the account."""

    id: int
    uuid: str
    email: str
    api_key: str


def by_api_key(tx: Transaction, key: str) -> Caller | None:
    """The user of an API key, or None for a key that is not one or not known."""
    if not credentials.looks_like_api_key(key):
        return None
    row = tx.one("caller_by_fingerprint", fingerprint=credentials.fingerprint(key))
    return None if row is None else Caller(row["id"], row["uuid"], row["email"], row["plan"])


def create(app: App, email: str, plan: str, now: datetime) -> NewUser:
    """Make a user with a key and the first period of ``plan``; CONFLICT when the email is taken."""
    email = email.strip().lower()
    user_uuid, key_uuid = app.new_uuid(), app.new_uuid()
    key = credentials.api_key(app.secrets, user_uuid, key_uuid)
    stamp = iso(now)
    try:
        with app.db.write() as tx:
            user_id = tx.insert("insert_user", uuid=user_uuid, email=email, usertype="user", now=stamp)
            fingerprint = credentials.fingerprint(key)
            tx.run("insert_api_key", user_id=user_id, uuid=key_uuid, fingerprint=fingerprint, now=stamp)
            billing.open_plan(tx, app.config, user_id, plan, now)
    except Refused:
        raise ApiError("CONFLICT", f"a user with the email {email} exists already") from None
    return NewUser(user_id, user_uuid, email, key)
