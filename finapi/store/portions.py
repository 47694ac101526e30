"""Long work in many short transactions.

Between two transactions other threads can write, the WAL can be checkpointed, and a requested stop is noticed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from finapi.core import stopping
from finapi.store.db import Database, Transaction

# Without a pause, the thread that releases the writer's lock would take it again before a waiting thread wakes up.
PAUSE_SECONDS = 0.001

Position = TypeVar("Position")


def write_in_portions(db: Database, write_portion: Callable[[Transaction], bool]) -> None:
    """Call ``write_portion`` in one write transaction after the other until it returns False or a stop is requested.

    False means that no work is left. After a stop, the database contains what is left, and a worker completes it.
    """
    is_work_left = True
    while is_work_left and not stopping.is_requested():
        with db.write() as tx:
            is_work_left = write_portion(tx)
        if is_work_left:
            threading.Event().wait(PAUSE_SECONDS)


def read_in_portions(
    db: Database, read_portion: Callable[[Transaction, Position], Position | None], start: Position
) -> None:
    """Call ``read_portion`` in one read transaction after the other, each with the position that the last one returned.

    The first position is ``start``. None is the end. Raise WorkStopped if a stop is requested.
    """
    position: Position | None = start
    while position is not None:
        stopping.check()
        # A long read transaction would prevent a running server from checkpointing its WAL.
        with db.read() as tx:
            position = read_portion(tx, position)
