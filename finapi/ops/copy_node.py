"""A node that answers on a copy of the market data: how old the copy is, and how the worker says that all stands."""

from __future__ import annotations

import logging
from datetime import datetime

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.ops import status, watchdog
from finapi.store import heartbeats
from finapi.store.copies import LOOK_SECONDS, MarketCopy
from finapi.store.db import DatabaseError

log = logging.getLogger("finapi.copies")

STATUS_READ_SECONDS = 5.0  # between two looks at what the worker's watchdog found


def run_copy_step(app: App) -> float:
    """Notice another copy, and now and then how the worker's parts stand; seconds until the next look."""
    assert isinstance(app.db, MarketCopy)
    app.db.check_file()
    watch, now = app.health, app.clock.monotonic()
    if watch.last_round_at is None or now - watch.last_round_at >= STATUS_READ_SECONDS:
        try:
            watchdog.load_latest_checks(app, status.list_service_names(app.config))
        except (ApiError, DatabaseError) as error:
            if app.accounts.trouble is None:  # which the store has told of
                log.warning("how the worker's parts stand cannot be read: %s", error)
        watch.last_round_at = now
    return LOOK_SECONDS


def find_staleness_message(app: App, now: datetime) -> str | None:
    """Why this node should be asked no more: its copy is further behind the worker than it may be; or None.

    A worker that rests cuts no node off: its rounds are rows of accounts too. While those cannot be read, and of a
    worker that never wrote, the copy is judged by the clock of this node.
    """
    old = heartbeats.get_copy_age(app.db, now)
    if old is None or old <= app.config.copy_age:
        return None
    last = max((one.checked_at for one in app.health.components.values()), default=None)
    known = last is not None and app.accounts.trouble is None
    behind = old - (now - datetime.fromisoformat(last)).total_seconds() if known and last is not None else old
    if behind <= app.config.copy_age:
        return None
    why = app.db.refusal if isinstance(app.db, MarketCopy) else None
    return f"The copy of the market data is {behind:.0f} s behind the worker" + (f": {why}" if why else ".")
