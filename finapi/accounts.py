"""Users, the keys by which they are known, and what they may see and change of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from finapi import credentials, plans
from finapi.app import App
from finapi.clock import iso
from finapi.db import Refused, Row, Transaction
from finapi.errors import ApiError

# Under which the database tells that a key is none any more.
KEYS = "keys"

# Event types that an account may switch on (CONTRACT 9); sniper.filing_hit is always on.
TOPICS = ("sniper.window_expired", "insider.transaction.created", "13f.holdings.updated")


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified user: what a handler may know of who is calling. ``plan`` and ``period_end``, when its
    tokens are refilled, are None without a plan row.

    ``data_stamp`` is that of the data at the moment in which the key was looked up, for the ETags of its call;
    ``session`` is the fingerprint of the session that called, None for a call by key.
    """

    id: int
    uuid: str
    email: str
    plan: str | None
    period_end: str | None = None
    session: bytes | None = None
    data_stamp: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user just made, with the one key that opens the account."""

    id: int
    uuid: str
    email: str
    api_key: str


def by_api_key(tx: Transaction, key: str) -> Caller | None:
    """The user of an API key, or None for a key that is not one, not known, or of a locked account."""
    if not credentials.looks_like_api_key(key):
        return None
    row = tx.one("caller_by_fingerprint", fingerprint=credentials.fingerprint(key))
    return None if row is None else _caller(row, data_stamp=row["data_stamp"])


def by_key(app: App, key: str) -> Caller | None:
    """What :func:`by_api_key` gives, looked up once for as long as nothing is written but what calls cost."""
    if not credentials.looks_like_api_key(key):
        return None

    def look_up() -> Caller | None:
        with app.db.glance() as tx:
            return by_api_key(tx, key)

    return app.callers.get(app.db.written, credentials.fingerprint(key), look_up)


def by_session(app: App, tx: Transaction, token: str, now: datetime) -> Caller | None:
    """The user of a session token, or None when the token or the session behind it is not valid now."""
    claims = credentials.read_session_token(app.secrets, token, now)
    if claims is None:
        return None
    fingerprint = credentials.fingerprint(claims.session_id)
    row = tx.one("caller_by_session", fingerprint=fingerprint, uuid=claims.sub, now=iso(now))
    return None if row is None else _caller(row, session=fingerprint)


def _caller(row: Row, *, session: bytes | None = None, data_stamp: str = "") -> Caller:
    return Caller(
        row["id"], row["uuid"], row["email"], row["plan"], row["current_period_end"], session, data_stamp
    )


def normal(email: str) -> str:
    """An email as it is stored and compared: without blanks around it, in lower case."""
    return email.strip().lower()


def create(app: App, email: str, plan: str, now: datetime, *, password: str | None = None) -> NewUser:
    """Make a verified user, as the operator does; CONFLICT when the email is taken.

    ``password`` is a new password in the clear, checked by the caller.
    """
    stored = app.hasher.hash(password) if password is not None else None
    try:
        with app.db.write() as tx:
            return insert(tx, app, email, plan, now, password=stored, verified=True)
    except Refused:
        raise ApiError("CONFLICT", f"A user with the email {normal(email)} exists already.") from None


def insert(
    tx: Transaction, app: App, email: str, plan: str, now: datetime, *, password: str | None, verified: bool
) -> NewUser:
    """Insert a user with a key and the first period of ``plan``; ``db.Refused`` when the email is taken."""
    email, stamp = normal(email), iso(now)
    user_uuid, key_uuid = app.new_uuid(), app.new_uuid()
    key = credentials.api_key(app.secrets, user_uuid, key_uuid)
    user_id = tx.insert(
        "insert_user", uuid=user_uuid, email=email, password=password, verify_email=verified, now=stamp
    )
    fingerprint = credentials.fingerprint(key)
    tx.run("insert_api_key", user_id=user_id, uuid=key_uuid, fingerprint=fingerprint, now=stamp)
    plans.open_plan(tx, app.config, user_id, plan, now)
    return NewUser(user_id, user_uuid, email, key)


def profile(app: App, tx: Transaction, user_id: int, now: datetime) -> dict[str, Any]:
    """The User object of SPEC "Resources", with its Userplan (None when the plan row is missing)."""
    row = tx.one("user_profile", id=user_id, now=iso(now))
    assert row is not None
    return {
        "id": row["id"],
        "uuid": row["uuid"],
        "email": row["email"],
        "usertype": row["usertype"],
        "api_key": _shown_key(app, row),
        "verify_email": bool(row["verify_email"]),
        "is_online": bool(row["is_online"]),
        "has_uat_access": bool(row["has_uat_access"]),
        "billing_admin": bool(row["billing_admin"]),
        "credit_balance": row["credit_cents"] / 100,
        "notify_email": bool(row["notify_email"]),
        "notify_browser": bool(row["notify_browser"]),
        "webhook_url": row["webhook_url"],
        "webhook_topics": json.loads(row["webhook_topics"]),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "Userplan": None if row["plan_id"] is None else _userplan(row),
    }


def device_limit(app: App, tx: Transaction, user_id: int) -> dict[str, Any]:
    """The UserDeviceLimit object: how many sessions the user may have at once."""
    row = tx.one("user_profile", id=user_id, now=iso(app.clock.now()))
    assert row is not None
    return {
        "id": row["id"],
        "userId": row["uuid"],
        "device_limit": row["device_limit"] or app.config.device_limit,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def update(app: App, user_id: int, changes: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Change what a user may change, and give the user as it is then.

    That is ``webhook_url``, ``notify_email``, ``notify_browser`` and ``webhook_topics``; values have been
    checked, other names are ignored.
    """
    topics = changes.get("webhook_topics")
    with app.db.write() as tx:
        tx.run(
            "update_user",
            id=user_id,
            set_webhook_url="webhook_url" in changes,
            webhook_url=changes.get("webhook_url"),
            notify_email=changes.get("notify_email"),
            notify_browser=changes.get("notify_browser"),
            webhook_topics=None if topics is None else json.dumps(sorted(set(topics))),
            now=iso(now),
        )
        return profile(app, tx, user_id, now)


def id_of(app: App, email: str) -> int:
    """The id of the user with this email; NOT_FOUND when there is none."""
    with app.db.read() as tx:
        row = tx.one("user_by_email", email=normal(email))
    if row is None:
        raise _nobody(email)
    user_id: int = row["id"]
    return user_id


def set_locked(app: App, email: str, locked: bool, now: datetime) -> None:
    """Shut an account, ending its sessions, or open it again; NOT_FOUND when there is none."""
    with app.db.write() as tx:
        user = tx.one("user_by_email", email=normal(email))
        if user is None:
            raise _nobody(email)
        tx.run("set_locked", email=normal(email), locked_at=iso(now) if locked else None, now=iso(now))
        if locked:
            tx.run("delete_sessions", user_id=user["id"])
            tx.announce(KEYS)


def add_credit(app: App, email: str, cents: int, now: datetime) -> int:
    """Add to the wallet; the cents in it then. NOT_FOUND when there is no such user."""
    with app.db.write() as tx:
        user = tx.one("user_by_email", email=normal(email))
        if user is None:
            raise _nobody(email)
        left = tx.value("add_credit", email=normal(email), cents=cents, now=iso(now))
        tx.run("insert_wallet_row", user_id=user["id"], cents=cents, reason="credit", tokens=0, now=iso(now))
    return int(left)


def _nobody(email: str) -> ApiError:
    return ApiError("NOT_FOUND", f"There is no user with the email {normal(email)}.")


def rotate_key(app: App, user_id: int, now: datetime) -> str:
    """Give a user a new API key; the old one dies with the same statement."""
    key_uuid = app.new_uuid()
    with app.db.write() as tx:
        user = tx.one("user_by_id", id=user_id)
        assert user is not None
        key = credentials.api_key(app.secrets, user["uuid"], key_uuid)
        fingerprint = credentials.fingerprint(key)
        tx.run("replace_api_key", user_id=user_id, uuid=key_uuid, fingerprint=fingerprint, now=iso(now))
        tx.announce(KEYS)
    return key


def _shown_key(app: App, row: Row) -> str | None:
    """The API key of a user, derived again: by the secret that made it, which may not be the newest."""
    for secret in app.secrets:
        key = credentials.api_key([secret], row["uuid"], row["key_uuid"] or "")
        if credentials.fingerprint(key) == row["fingerprint"]:
            return key
    return None


def _userplan(row: Row) -> dict[str, Any]:
    return {
        "id": row["plan_id"],
        "userId": row["uuid"],
        "total_limit_api": row["total_limit_api"],
        "reach_limit_api": row["reach_limit_api"],
        "plan": row["plan"],
        "status": row["status"],
        "current_period_end": row["current_period_end"],
        "created_at": row["plan_created_at"],
        "updated_at": row["plan_updated_at"],
    }
