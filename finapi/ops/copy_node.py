"""A node that serves a copy of the market data: it follows the copy, and refuses calls when the copy is too old."""

from __future__ import annotations

import logging
from datetime import datetime

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.ops import status, watchdog
from finapi.store import heartbeats
from finapi.store.copies import CHECK_SECONDS, MarketCopy
from finapi.store.db import DatabaseError

log = logging.getLogger("finapi.copies")

STATUS_READ_SECONDS = 5.0  # Interval between two reads of the checks that the worker's watchdog stored.


def run_copy_step(app: App) -> float:
    """Open a newer copy if there is one, and refresh the status of the worker's components every few seconds.

    Return the seconds until it should run again.
    """
    assert isinstance(app.db, MarketCopy)
    app.db.check_file()
    health, now = app.health, app.clock.monotonic()
    if health.last_round_at is None or now - health.last_round_at >= STATUS_READ_SECONDS:
        try:
            watchdog.load_latest_checks(app, status.list_service_names(app.config))
        except (ApiError, DatabaseError) as error:
            if app.accounts.trouble is None:  # If not None, the store has already logged the problem.
                log.warning("the status of the worker's components cannot be read: %s", error)
        health.last_round_at = now
    return CHECK_SECONDS


def find_staleness_message(app: App, now: datetime) -> str | None:
    """Return a message if the copy is too old for this node to serve calls, else None.

    The age is the time from the copy to the worker's last round of checks, which is stored with the accounts. So a node
    does not count as stale because the worker is stopped. If the accounts cannot be read or no round is stored, the
    copy is compared with the clock of this node.
    """
    copy_age = heartbeats.get_copy_age(app.db, now)
    if copy_age is None or copy_age <= app.config.copy_age:
        return None
    lag_seconds = copy_age
    last_check_at = max((component.checked_at for component in app.health.components.values()), default=None)
    if last_check_at is not None and app.accounts.trouble is None:
        lag_seconds -= (now - datetime.fromisoformat(last_check_at)).total_seconds()
    if lag_seconds <= app.config.copy_age:
        return None
    message = f"The copy of the market data is {lag_seconds:.0f} s behind the worker"
    refusal = app.db.refusal if isinstance(app.db, MarketCopy) else None
    return f"{message}: {refusal}" if refusal else f"{message}."
