"""Credentials that the operator replaces, and the mails that tell their owners (after a master secret has leaked)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from finapi.accounts import audit, users
from finapi.accounts.recovery import NEW_KEY, NEW_WEBHOOK_SECRET
from finapi.app import App
from finapi.delivery import webhooks
from finapi.net import mail
from finapi.store.db import Transaction

BATCH = 200  # accounts in one transaction, so that calls need not wait for all of them


@dataclass(frozen=True, slots=True)
class Replaced:
    """How many were replaced."""

    api_keys: int
    webhook_secrets: int


def replace_one(app: App, email: str, now: datetime, webhooks_too: bool, by: audit.Actor | None = None) -> str:
    """Replace the API key of an account, and mail it; the new key. NOT_FOUND when there is no such user."""
    user_id = users.id_of(app, email)
    with app.accounts.write() as tx:
        audit.record_action(tx, by, "replace the key", now, user_id)
        if webhooks_too and webhooks.has_secret(tx, user_id):
            _webhook_secret(tx, app, user_id, now)
        return _key(tx, app, user_id, now)


def revoke(app: App, email: str, now: datetime, by: audit.Actor) -> None:
    """End all that opens an account but its password: its sessions, and its key, in whose place a new one is mailed."""
    user_id = users.id_of(app, email)
    with app.accounts.write() as tx:
        audit.record_action(tx, by, "revoke", now, user_id)
        tx.run("delete_sessions", user_id=user_id)
        _key(tx, app, user_id, now)


def replace_all(
    app: App, now: datetime, webhooks_too: bool, tell: Callable[[int], None], by: audit.Actor | None = None
) -> Replaced:
    """Replace every API key, and mail each to its owner; ``tell`` hears how many are done.

    What breaks it off leaves each account with its old key or its new one; done again, all are replaced again.
    """
    with app.accounts.write() as tx:
        audit.record_action(tx, by, "replace all keys", now)
    keys = _each(app, "users_after", lambda tx, user_id: _key(tx, app, user_id, now), tell)
    secrets = 0
    if webhooks_too:
        secrets = _each(app, "webhook_secrets_after", lambda tx, user_id: _webhook_secret(tx, app, user_id, now), tell)
    return Replaced(keys, secrets)


def _each(app: App, query: str, replace: Callable[[Transaction, int], object], tell: Callable[[int], None]) -> int:
    done = last = 0
    while True:
        with app.accounts.write() as tx:
            rows = tx.list_rows(query, id=last, limit=BATCH)
            for row in rows:
                last = row["id"]
                replace(tx, last)
        if not rows:
            return done
        done += len(rows)
        tell(done)


def _key(tx: Transaction, app: App, user_id: int, now: datetime) -> str:
    mail.enqueue(tx, NEW_KEY, user_id, now)
    return users.rotated_key(tx, app, user_id, now)


def _webhook_secret(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    mail.enqueue(tx, NEW_WEBHOOK_SECRET, user_id, now)
    webhooks.rotated_secret(tx, app, user_id, now)
