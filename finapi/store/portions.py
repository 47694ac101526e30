"""Long work in short write transactions, with room between them for who else writes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from finapi.store.db import Database, Transaction

# Without a pause the thread that gives the writer back takes it again before one that waits for it has woken.
PAUSE_SECONDS = 0.001


def work_through(db: Database, portion: Callable[[Transaction], bool]) -> None:
    """Do ``portion`` in one write transaction after the other, until it says that there was nothing left."""
    due = True
    while due:
        with db.write() as tx:
            due = portion(tx)
        if due:
            threading.Event().wait(PAUSE_SECONDS)
