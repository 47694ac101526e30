"""Replacement of an account's credentials: by the operator after a master secret has leaked, or by their owner.

The owner does it with a password reset. This matters if someone else registered the owner's email address: that person
knows the API key and the webhook secret, which a new password alone would not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from finapi.accounts import audit, sessions, users
from finapi.accounts.recovery import NEW_KEY, NEW_WEBHOOK_SECRET
from finapi.app import App
from finapi.core import stopping
from finapi.delivery import sniper, webhooks
from finapi.net import mail
from finapi.store.db import Transaction

BATCH = 200  # Accounts per transaction, so that calls do not have to wait until all accounts are done.


@dataclass(frozen=True, slots=True)
class ReplacedCounts:
    """The numbers of credentials that were replaced."""

    api_keys: int
    webhook_secrets: int


@dataclass(frozen=True, slots=True)
class ReceiverSummary:
    """The hosts that an account's events are sent to, and the number of its sniper targets that have not stopped."""

    hosts: list[str]
    open_targets: int


def summarise_receivers(tx: Transaction, user_id: int) -> ReceiverSummary:
    """Return what ``remove_receivers`` of :func:`reset_password` would remove."""
    return ReceiverSummary(webhooks.list_receiver_hosts(tx, user_id), sniper.count_open_targets(tx, user_id))


def reset_password(
    app: App,
    token: str,
    password: str,
    address: str,
    now: datetime,
    *,
    replace_credentials: bool = False,
    remove_receivers: bool = False,
) -> None:
    """Set a new password with a reset token, and end every session and the lockout.

    With ``replace_credentials`` the API key and the webhook secret are replaced in the same transaction. With
    ``remove_receivers`` the account's receiver is removed, its sniper targets are stopped, and its deliveries that have
    not arrived are dropped. Raise INVALID_TOKEN or INVALID_PARAM without changing anything.
    """
    reset = sessions.prepare_reset(app, token, password, address, now)
    with app.accounts.write() as tx:
        user_id = sessions.apply_reset(tx, reset, now)
        if remove_receivers:
            sniper.stop_all_targets(tx, user_id, now)
            webhooks.remove_receiver(tx, user_id, now)
        if replace_credentials:
            users.rotate_key_in_transaction(tx, app, user_id, now)
            webhooks.replace_secret(tx, app, user_id, now)
    app.lockouts.reset(reset.email_key)


def replace_credentials(
    app: App, email: str, now: datetime, include_webhooks: bool, actor: audit.Actor | None = None
) -> str:
    """Replace the API key of an account, mail the new key to its owner and return it.

    With ``include_webhooks`` the webhook secret is replaced too. Raise NOT_FOUND if there is no such user.
    """
    user_id = users.get_id(app, email)
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "replace the key", now, user_id)
        if include_webhooks and webhooks.has_secret(tx, user_id):
            _replace_webhook_secret(tx, app, user_id, now)
        return _replace_key(tx, app, user_id, now)


def revoke_credentials(app: App, email: str, now: datetime, actor: audit.Actor) -> None:
    """End all sessions of an account and replace its key. The new key is mailed. The password stays valid."""
    user_id = users.get_id(app, email)
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "revoke", now, user_id)
        tx.run("delete_sessions", user_id=user_id)
        _replace_key(tx, app, user_id, now)


def replace_all_credentials(
    app: App,
    now: datetime,
    include_webhooks: bool,
    report_progress: Callable[[int], None],
    actor: audit.Actor | None = None,
) -> ReplacedCounts:
    """Replace every API key and mail each to its owner. ``report_progress`` is called with the number done so far.

    An interruption leaves each account with its old or its new key. A repeat replaces all keys again.
    """
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "replace all keys", now)
    keys = _replace_for_each(
        app, "users_after", lambda tx, user_id: _replace_key(tx, app, user_id, now), report_progress
    )
    secrets = 0
    if include_webhooks:
        secrets = _replace_for_each(
            app,
            "webhook_secrets_after",
            lambda tx, user_id: _replace_webhook_secret(tx, app, user_id, now),
            report_progress,
        )
    return ReplacedCounts(keys, secrets)


def _replace_for_each(
    app: App, query: str, replace: Callable[[Transaction, int], object], report_progress: Callable[[int], None]
) -> int:
    done_count = last_id = 0
    while True:
        stopping.check()
        with app.accounts.write() as tx:
            rows = tx.list_rows(query, id=last_id, limit=BATCH)
            for row in rows:
                last_id = row["id"]
                replace(tx, last_id)
        if not rows:
            return done_count
        done_count += len(rows)
        report_progress(done_count)


def _replace_key(tx: Transaction, app: App, user_id: int, now: datetime) -> str:
    mail.enqueue(tx, NEW_KEY, user_id, now)
    return users.rotate_key_in_transaction(tx, app, user_id, now)


def _replace_webhook_secret(tx: Transaction, app: App, user_id: int, now: datetime) -> None:
    mail.enqueue(tx, NEW_WEBHOOK_SECRET, user_id, now)
    webhooks.rotate_secret_in_transaction(tx, app, user_id, now)
