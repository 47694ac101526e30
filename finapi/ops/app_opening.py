"""Opening of a data directory as an App, for a server or for a single command.

Commands import this module instead of the server module, which takes longer to import."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from finapi import app as apps
from finapi.accounts import billing, logins, rotation
from finapi.app import App
from finapi.core.clock import Clock
from finapi.core.config import Config
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.core.temporary import sweep
from finapi.delivery import events, outbox
from finapi.store import datadir

if TYPE_CHECKING:
    from finapi.store.postgres import Postgres

log = logging.getLogger("finapi.server")


@contextmanager
def open_app(
    config: Config,
    clock: Clock | None = None,
    *,
    new_secrets: bool = False,
    accounts: Postgres | None = None,
    patience: float = 0.0,
) -> Iterator[App]:
    """Open the App of a data directory as its only writer. Raise DirectoryBusyError if there is another one.

    First, debits that a crash left open are refunded, waiting events are transferred, and lockouts are restored. A node
    with the role ``api`` only checks that its secrets are the worker's. With ``new_secrets`` the start goes on even if
    it has to refuse all credentials. ``accounts`` is a store of accounts that is already open. ``patience`` is the
    number of seconds to wait for another process to release the directory.
    """
    with datadir.lock_directory(config.data_dir, patience):
        for directory in (config.data_dir, config.ledger_directory, config.data_dir / apps.BULK_DIRECTORY):
            sweep(directory)
        app = apps.open_on_disk(config, clock, new_secrets=new_secrets, accounts=accounts)
        try:
            if config.role == "api":
                rotation.check_secrets(app, app.clock.now())
            else:
                rotation.apply_secrets(app, app.clock.now(), new_secrets=new_secrets)
                events.open_journal(app, app.clock.now())
                billing.log_refunds(billing.refund_open_debits(app, app.clock.now()))
                outbox.transfer(app.db)
            logins.restore_failures(app)
            yield app
        finally:
            try:
                billing.run_settlement_step(app)
            except (ApiError, StoreUnavailableError) as error:
                log.warning("the last calls could not be settled and will be refunded at the next start: %s", error)
            app.db.close()
