"""Addition and removal of master secrets.

Every key, invite code and webhook secret is derived from a master secret and stored with the name of that secret
(``made_with``). If a master secret is removed from the configuration, the credentials derived from it are refused. If
it is added again, they are accepted again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TypedDict

from finapi.accounts import audit, credentials, users
from finapi.accounts.recovery import KEY_REFUSED, WEBHOOK_REFUSED
from finapi.app import MISSING_SECRETS_ADVICE, App, format_credential_counts
from finapi.core import master_secrets
from finapi.core.clock import iso
from finapi.core.errors import ApiError, UsageError
from finapi.net import mail
from finapi.store.db import Row, Transaction

log = logging.getLogger("finapi.secrets")

_DERIVED: dict[str, Callable[..., str]] = {
    "api_keys": credentials.derive_api_key,
    "webhook_secrets": credentials.derive_webhook_secret,
    "invites": credentials.derive_invite_code,
}
# The command that replaces each kind of credential.
REPLACEMENT_COMMANDS = {
    "API key": "finapi user rotate-key --all",
    "invite code": "finapi invite revoke CODE and finapi invite create",
    "webhook secret": "finapi user rotate-key --all --webhooks",
}


class SecretUse(TypedDict):
    """The name of a master secret and the numbers of valid credentials derived from it."""

    name: str
    newest: bool
    api_keys: int
    webhook_secrets: int
    invite_codes: int


def apply_secrets(app: App, now: datetime, *, new_secrets: bool = True) -> None:
    """Refuse credentials derived from master secrets that are no longer configured, and accept those of returned ones.

    Owners of refused credentials get a mail. If all credentials would be refused, the configured secrets are probably
    those of another installation: then raise UsageError, unless ``new_secrets`` is set.
    """
    names = {credentials.get_secret_name(secret) for secret in app.secrets}
    with app.accounts.read() as tx:
        has_unnamed_credentials = any(tx.find_row(f"unnamed_{kind}") for kind in _DERIVED)
        credential_counts = tx.list_rows("credential_counts", now=iso(now))
        returned_names = names & {row["made_with"] for row in tx.list_rows("refused_names")}
    if has_unnamed_credentials:
        with app.accounts.write() as tx:
            _name_credentials(app, tx)
            credential_counts = tx.list_rows("credential_counts", now=iso(now))
    orphaned_counts = [row for row in credential_counts if row["made_with"] not in names]
    if orphaned_counts and len(orphaned_counts) == len(credential_counts) and not new_secrets:
        counts = format_credential_counts(orphaned_counts)
        raise UsageError(f"no configured master secret matches the stored data ({counts}): {MISSING_SECRETS_ADVICE}")
    if orphaned_counts or returned_names:
        with app.accounts.write() as tx:
            for name in returned_names:
                tx.run("accept_api_keys", name=name)
                tx.run("accept_webhook_secrets", name=name)
            _refuse_credentials(tx, {row["made_with"] for row in orphaned_counts}, now)
            tx.announce(users.KEYS_TOPIC)
    if orphaned_counts:
        log.warning("refused because their master secret is missing: %s", format_credential_counts(orphaned_counts))


def check_secrets(app: App, now: datetime) -> None:
    """Raise UsageError if valid credentials were derived from a secret that is not configured here. Change nothing."""
    names = {credentials.get_secret_name(secret) for secret in app.secrets}
    with app.accounts.read() as tx:
        orphaned_counts = [
            row for row in tx.list_rows("credential_counts", now=iso(now)) if row["made_with"] not in names
        ]
    if orphaned_counts:
        counts = format_credential_counts(orphaned_counts)
        raise UsageError(
            f"a master secret of the worker is missing here ({counts} depend on it): copy the worker's secrets"
        )


def list_secrets(app: App, tx: Transaction, now: datetime) -> list[SecretUse]:
    """Return the configured secrets, newest first, with the numbers of their valid credentials."""
    counts = {
        (row["made_with"], row["kind"]): int(row["number"]) for row in tx.list_rows("credential_counts", now=iso(now))
    }
    return [
        {
            "name": name,
            "newest": position == 0,
            "api_keys": counts.get((name, "API key"), 0),
            "webhook_secrets": counts.get((name, "webhook secret"), 0),
            "invite_codes": counts.get((name, "invite code"), 0),
        }
        for position, name in enumerate(map(credentials.get_secret_name, app.secrets))
    ]


def add_secret(app: App, now: datetime, actor: audit.Actor) -> str:
    """Add a secret, from which new credentials are derived. Return its name. The other secrets remain valid."""
    secret = master_secrets.generate()
    name = credentials.get_secret_name(secret)
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "add a master secret", now, detail=name)
        _store_secrets(app, [secret, *app.secrets])
    return name


def remove_secret(app: App, name: str, now: datetime, actor: audit.Actor, *, confirmed: bool) -> str:
    """Remove a secret. Return a description of the credentials that are refused now, or an empty text.

    Raise NOT_FOUND for an unknown name, and CONFLICT for the newest secret, or if credentials depend on it and
    ``confirmed`` is False.
    """
    remaining = [secret for secret in app.secrets if credentials.get_secret_name(secret) != name]
    if len(remaining) == len(app.secrets):
        raise ApiError("NOT_FOUND", f"There is no master secret named {name}.")
    if name == credentials.get_secret_name(app.secrets[0]):
        raise ApiError("CONFLICT", "The newest secret cannot be removed: new keys are derived from it. Add one first.")
    with app.accounts.read() as tx:
        rows = [row for row in tx.list_rows("credential_counts", now=iso(now)) if row["made_with"] == name]
    refused_counts = format_credential_counts(rows)
    if refused_counts and not confirmed:
        advice = " and ".join(REPLACEMENT_COMMANDS[kind] for kind in sorted({row["kind"] for row in rows}))
        message = f"{refused_counts} derived from this secret would be refused. Replace them first ({advice}), or add "
        raise ApiError("CONFLICT", f"{message}--yes.")
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "remove a master secret", now, detail=name)
        _invalidate_links(tx, now)
        _store_secrets(app, remaining)
    apply_secrets(app, now)
    return refused_counts


def _store_secrets(app: App, secrets: list[bytes]) -> None:
    master_secrets.write_file(app.config, secrets)
    app.secrets.replace(secrets)


def _name_credentials(app: App, tx: Transaction) -> None:
    for kind, derive in _DERIVED.items():
        for row in tx.list_rows(f"unnamed_{kind}"):
            tx.run(f"name_{kind}", id=row["id"], name=_find_secret_name(app, row, derive))


def _find_secret_name(app: App, row: Row, derive: Callable[..., str]) -> str:
    parts = [part for part in (row["user_uuid"], row["uuid"]) if part is not None]
    for secret in app.secrets:
        if credentials.derive_again([secret], row["fingerprint"], derive, *parts) is not None:
            return credentials.get_secret_name(secret)
    return ""


def _refuse_credentials(tx: Transaction, names: set[str], now: datetime) -> None:
    for name in names:
        for kind, template in (("api_keys", KEY_REFUSED), ("webhook_secrets", WEBHOOK_REFUSED)):
            for row in tx.list_rows(f"users_of_{kind}", name=name):
                mail.enqueue(tx, template, row["user_id"], now)
            tx.run(f"refuse_{kind}", name=name)
        tx.run("revoke_invites", name=name, now=iso(now))
    if names:
        _invalidate_links(tx, now)


def _invalidate_links(tx: Transaction, now: datetime) -> None:
    """Invalidate all mailed links, as some were signed with the removed secret. Users can request new ones."""
    tx.run("delete_resets")
    tx.run("expire_verifications", now=iso(now))
    tx.run("end_all_email_changes", now=iso(now))
