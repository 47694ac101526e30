"""Long work in short transactions: with room between them for who else writes, and for the log to be folded in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from finapi.store.db import Database, Transaction

# Without a pause the thread that gives the writer back takes it again before one that waits for it has woken.
PAUSE_SECONDS = 0.001

Place = TypeVar("Place")


def write_in_portions(db: Database, portion: Callable[[Transaction], bool]) -> None:
    """Do ``portion`` in one write transaction after the other, until it says that there was nothing left."""
    due = True
    while due:
        with db.write() as tx:
            due = portion(tx)
        if due:
            threading.Event().wait(PAUSE_SECONDS)


def read_in_portions(db: Database, portion: Callable[[Transaction, Place], Place | None], place: Place) -> None:
    """Do ``portion`` in one read transaction after the other, each from where the last ended, until it says None."""
    following: Place | None = place
    while following is not None:
        # A long transaction would keep the log of a server from being folded in.
        with db.read() as tx:
            following = portion(tx, following)
