"""Master secrets put in front and taken away: what each made is named after it, and refused without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TypedDict

from finapi.accounts import credentials, users
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


class SecretUse(TypedDict):
    """A master secret by its name, and what it made that still works."""

    name: str
    newest: bool
    api_keys: int
    webhook_secrets: int
    invite_codes: int


def apply_secrets(app: App, now: datetime, *, new_secrets: bool = True) -> None:
    """Bring what is stored in line with the secrets in force.

    What was made by a secret that is gone is refused from then on, and its owners are told by mail; what a secret that
    came back has made is taken again. Without ``new_secrets`` it is a UsageError when nothing would be left: those are
    the wrong secrets.
    """
    names = {credentials.get_secret_name(secret) for secret in app.secrets}
    with app.accounts.read() as tx:
        unnamed = any(tx.find_row(f"unnamed_{kind}") for kind in _DERIVED)
        made = tx.list_rows("credential_counts", now=iso(now))
        back = names & {row["made_with"] for row in tx.list_rows("refused_names")}
    if unnamed:
        with app.accounts.write() as tx:
            _name(app, tx)
            made = tx.list_rows("credential_counts", now=iso(now))
    gone = [row for row in made if row["made_with"] not in names]
    if gone and len(gone) == len(made) and not new_secrets:
        counts = format_credential_counts(gone)
        raise UsageError(f"no configured master secret matches the stored data ({counts}): {MISSING_SECRETS_ADVICE}")
    if gone or back:
        with app.accounts.write() as tx:
            for name in back:
                tx.run("accept_api_keys", name=name)
                tx.run("accept_webhook_secrets", name=name)
            _refuse(tx, {row["made_with"] for row in gone}, now)
            tx.announce(users.KEYS_TOPIC)
    if gone:
        log.warning("refused, as the master secret that made them is gone: %s", format_credential_counts(gone))


def check_secrets(app: App, now: datetime) -> None:
    """UsageError unless the secrets here are all that anything was made of: a node that lacks one changes nothing."""
    names = {credentials.get_secret_name(secret) for secret in app.secrets}
    with app.accounts.read() as tx:
        gone = [row for row in tx.list_rows("credential_counts", now=iso(now)) if row["made_with"] not in names]
    if gone:
        counts = format_credential_counts(gone)
        raise UsageError(f"a master secret of the worker is missing here, which made {counts}: bring its secrets")


def list_secrets(app: App, tx: Transaction, now: datetime) -> list[SecretUse]:
    """The secrets in force, newest first, and what each made that still works."""
    made = {
        (row["made_with"], row["kind"]): int(row["number"]) for row in tx.list_rows("credential_counts", now=iso(now))
    }
    return [
        {
            "name": name,
            "newest": place == 0,
            "api_keys": made.get((name, "API key"), 0),
            "webhook_secrets": made.get((name, "webhook secret"), 0),
            "invite_codes": made.get((name, "invite code"), 0),
        }
        for place, name in enumerate(map(credentials.get_secret_name, app.secrets))
    ]


def add_secret(app: App) -> str:
    """Put a fresh secret in front, of which new credentials are made; its name. The others go on working."""
    _put(app, [master_secrets.generate(), *app.secrets])
    return credentials.get_secret_name(app.secrets[0])


def remove_secret(app: App, name: str, now: datetime, *, confirmed: bool) -> str:
    """Take a secret away; what was made from it and is refused now, or "".

    NOT_FOUND for a name that no secret has; CONFLICT for the newest, and without ``sure`` while anything depends on it.
    """
    left = [secret for secret in app.secrets if credentials.get_secret_name(secret) != name]
    if len(left) == len(app.secrets):
        raise ApiError("NOT_FOUND", f"There is no master secret named {name}.")
    if name == credentials.get_secret_name(app.secrets[0]):
        raise ApiError("CONFLICT", "New keys are made from the newest secret; put a newer one in front of it first.")
    with app.accounts.read() as tx:
        dead = format_credential_counts(
            row for row in tx.list_rows("credential_counts", now=iso(now)) if row["made_with"] == name
        )
    if dead and not confirmed:
        raise ApiError(
            "CONFLICT",
            f"It made {dead}, which would be refused. Replace them first (finapi user rotate-key --all --webhooks), "
            "or add --yes.",
        )
    _put(app, left)
    with app.accounts.write() as tx:
        _drop_links(tx, now)
    apply_secrets(app, now)
    return dead


def _put(app: App, held: list[bytes]) -> None:
    master_secrets.write_file(app.config, held)
    app.secrets.replace(held)


def _name(app: App, tx: Transaction) -> None:
    for kind, derive in _DERIVED.items():
        for row in tx.list_rows(f"unnamed_{kind}"):
            tx.run(f"name_{kind}", id=row["id"], name=_maker(app, row, derive))


def _maker(app: App, row: Row, derive: Callable[..., str]) -> str:
    parts = [part for part in (row["user_uuid"], row["uuid"]) if part is not None]
    for secret in app.secrets:
        if credentials.derive_again([secret], row["fingerprint"], derive, *parts) is not None:
            return credentials.get_secret_name(secret)
    return ""


def _refuse(tx: Transaction, names: set[str], now: datetime) -> None:
    for name in names:
        for kind, template in (("api_keys", KEY_REFUSED), ("webhook_secrets", WEBHOOK_REFUSED)):
            for row in tx.list_rows(f"users_of_{kind}", name=name):
                mail.enqueue(tx, template, row["user_id"], now)
            tx.run(f"refuse_{kind}", name=name)
        tx.run("revoke_invites", name=name, now=iso(now))
    if names:
        _drop_links(tx, now)


def _drop_links(tx: Transaction, now: datetime) -> None:
    """Forget mailed links, some of which no longer verify: whoever asks for one then is sent another."""
    tx.run("delete_resets")
    tx.run("expire_verifications", now=iso(now))
