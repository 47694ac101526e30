"""Accounts moved from the file to PostgreSQL and back: every row the same on both sides, or nothing is changed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from finapi import app as apps
from finapi.accounts import billing
from finapi.app import App
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.files import replace_file
from finapi.ops.opened import opened

ELECTION_SECONDS = 5.0


def to_postgres(config: Config, name: str) -> dict[str, int]:
    """Move accounts to ``accounts_url``, which is called ``name``: how many rows of each table, and ``tokens``.

    What a crash left open is refunded before. The file keeps its rows, and is not opened without PostgreSQL any more.
    """
    with opened(replace(config, accounts_url="")) as app, closing(apps.open_postgres(config.accounts_url)) as store:
        if not store.elect(ELECTION_SECONDS, lambda: None):
            raise UsageError("a finapi works on the accounts there; stop it first")
        tokens, moved = _proven(app), store.take(app.db)
        app.db.accounts = store
        try:
            if _proven(app) != tokens:
                raise UsageError("the balances there are others; the accounts in the data directory stay in force")
        finally:
            app.db.accounts = app.db
        replace_file(config.data_dir / apps.MOVED_FILE, name.encode(), "move")
    return {**moved, "tokens": tokens}


def to_file(config: Config) -> dict[str, int]:
    """Move accounts back: how many rows of each table, and ``tokens``. What is in PostgreSQL is not opened any more."""
    with opened(config) as app:
        store = apps.open_postgres(config.accounts_url)
        with closing(store):
            if not store.elect(ELECTION_SECONDS, lambda: None):
                raise UsageError("a finapi works on these accounts; stop it first")
            billing.refund_open_debits(app, app.clock.now(), every=True)
            tokens, moved = _proven(app), store.give(app.db)
            there, app.db.accounts = app.db.accounts, app.db
            try:
                if _proven(app) != tokens:
                    raise UsageError("the balances in the file are others; the accounts in PostgreSQL stay in force")
            finally:
                app.db.accounts = there
            (config.data_dir / apps.MOVED_FILE).unlink(missing_ok=True)
            store.leave(str(config.data_dir.absolute()))
    return {**moved, "tokens": tokens}


def _proven(app: App) -> int:
    """The tokens of all accounts; UsageError where balances, wallets or debits do not add up."""
    wrong = billing.list_errors(app)
    if wrong:
        raise UsageError(f"{wrong[0]}; finapi check says more")
    with app.accounts.read() as tx:
        return sum(row["balance"] or 0 for row in tx.list_rows("users_listed", text="", limit=-1))
