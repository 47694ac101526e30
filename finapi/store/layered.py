"""A database over a file that stays as it is: what is written is this one's own, and can be undone in microseconds.

One transaction, which SQLite keeps in memory, lasts as long as the connection, and every other is a savepoint in it:
any number share the pages of one file, which none locks or writes, and each takes only what it changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from finapi.store.connections import connect
from finapi.store.db import Database, Transaction

CACHE_KIB = 256  # of the file's pages that a connection keeps beside those that it changed
STATEMENTS = 64  # that it keeps compiled


def _nothing() -> None:
    """What is called of a change that nobody waits for."""


class LayeredDatabase(Database):
    """A database in memory over the file ``base``, which nobody may write as long as it is open."""

    def __init__(self, base: Path) -> None:
        self._prepare(None)
        self._in_block = False
        # Called with each commit, and when some were undone; must be quick.
        self.on_change: Callable[[], None] = _nothing
        # Without locks: it would hold one against every other, for what it never writes.
        target = f"{base.resolve().as_uri()}?vfs=unix-none"
        self._writer = connect(target, uri=True, cached_statements=STATEMENTS)
        for pragma in (
            f"cache_size=-{CACHE_KIB}",
            "cache_spill=OFF",  # else a long transaction is written to the file
            "journal_mode=MEMORY",
            "synchronous=OFF",
            "temp_store=MEMORY",
            "foreign_keys=ON",
        ):
            self._writer.execute(f"PRAGMA {pragma}")
        self._begin_layer()

    def _begin_layer(self) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        self._marks = 0
        self.mark()

    def _start(self, connection: sqlite3.Connection, how: str) -> None:
        self._undoable = how != "BEGIN"
        if self._undoable:
            connection.execute("SAVEPOINT block")
        self._in_block = True

    def _commit(self, connection: sqlite3.Connection) -> None:
        if self._undoable:
            connection.execute("RELEASE block")
        self._in_block = False
        if getattr(self._local, "writes", False):  # not one that reads
            self.on_change()

    def _is_open(self, connection: sqlite3.Connection) -> bool:
        return self._in_block

    def _undo(self) -> None:
        self._writer.execute("ROLLBACK TO block")
        self._commit(self._writer)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read transaction, which is of one moment as it is: nobody else has the connection meanwhile."""
        with self._lock, self._reading(self._writer):
            yield Transaction(self._writer, self._queries)

    def mark(self) -> int:
        """A mark of what the database holds now, for :meth:`back_to`."""
        with self._lock:
            self._marks += 1
            self._writer.execute(f"SAVEPOINT mark{self._marks}")
            return self._marks

    def roll_back_to(self, mark: int) -> None:
        """Undo what was written since a mark; later marks are none any more."""
        with self._lock:
            if not 1 <= mark <= self._marks:
                raise KeyError(mark)
            self._writer.execute(f"ROLLBACK TO mark{mark}")
            self._marks = mark
            self._write_count += 1
            self.on_change()

    def reset(self, *, into_base: bool = False) -> None:
        """Be as new, for another owner: as it was when it was opened.

        With ``into_base`` what was changed is written into the file, and is there for all that are opened from now on;
        nobody else may have it open.
        """
        with self._lock:
            # Going back to a mark keeps what SQLite noted for it, a little more each time.
            self._writer.execute("COMMIT" if into_base else "ROLLBACK")
            self._begin_layer()
            self._write_count += 1
        self._listeners.clear()
        self.on_change = _nothing
