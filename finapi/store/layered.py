"""A database in memory over a file that is never written.

Any number of these databases share the pages of one file, and each holds in memory only what it has changed. One
transaction lasts as long as the connection and is never committed; the transactions of :class:`Database` are savepoints
in it. So everything can be undone in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from finapi.store.connections import LockedConnection, connect
from finapi.store.db import Database, Transaction

CACHE_KIB = 256  # Of unchanged pages that a connection caches.
CACHED_STATEMENTS = 64


def _do_nothing() -> None:
    """Do nothing when something has changed."""


class LayeredDatabase(Database):
    """A database in memory over the file ``base``, which no process may write while it is open."""

    def __init__(self, base: Path) -> None:
        self._set_up(None)
        self._in_block = False
        # Called after each commit and after changes were undone. It must be quick.
        self.on_change: Callable[[], None] = _do_nothing
        # Without locks: this connection would hold one against all others, and never writes the file.
        target = f"{base.resolve().as_uri()}?vfs=unix-none"
        self._writer = connect(target, uri=True, cached_statements=CACHED_STATEMENTS)
        for pragma in (
            f"cache_size=-{CACHE_KIB}",
            "cache_spill=OFF",  # A long transaction would otherwise be written to the file.
            "journal_mode=MEMORY",
            "synchronous=OFF",
            "temp_store=MEMORY",
            "foreign_keys=ON",
        ):
            self._writer.execute(f"PRAGMA {pragma}")
        self._begin_layer()

    def _begin_layer(self) -> None:
        """Begin the transaction that lasts as long as the connection."""
        self._writer.execute("BEGIN IMMEDIATE")
        self._marks = 0
        self.mark()

    def _start(self, connection: LockedConnection, statement: str) -> None:
        # A block that only reads ("BEGIN") needs no savepoint.
        self._has_savepoint = statement != "BEGIN"
        if self._has_savepoint:
            connection.execute("SAVEPOINT block")
        self._in_block = True

    def _commit(self, connection: LockedConnection) -> None:
        if self._has_savepoint:
            connection.execute("RELEASE block")
        self._in_block = False
        if getattr(self._local, "writes", False):
            self.on_change()

    def _is_open(self, connection: LockedConnection) -> bool:
        return self._in_block

    def _roll_back(self) -> None:
        self._writer.execute("ROLLBACK TO block")
        self._commit(self._writer)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Read in a transaction. It is of one moment without more, as no other thread has the connection then."""
        with self._lock, self._reading(self._writer):
            yield Transaction(self._writer, self._queries)

    def mark(self) -> int:
        """Return a mark of the current contents, for :meth:`roll_back_to`."""
        with self._lock:
            self._marks += 1
            self._writer.execute(f"SAVEPOINT mark{self._marks}")
            return self._marks

    def roll_back_to(self, mark: int) -> None:
        """Undo everything that was written after a mark. Later marks become invalid. Raise KeyError for such a mark."""
        with self._lock:
            if not 1 <= mark <= self._marks:
                raise KeyError(mark)
            self._writer.execute(f"ROLLBACK TO mark{mark}")
            self._marks = mark
            self._write_count += 1
            self.on_change()

    def reset(self, *, into_base: bool = False) -> None:
        """Make the database as it was when it was opened, for another owner.

        With ``into_base`` the changes are written to the file first, for all databases that are opened over it from now
        on. No other one may have it open then.
        """
        with self._lock:
            # Rolling back to the first mark instead would keep what SQLite stores for each savepoint.
            self._writer.execute("COMMIT" if into_base else "ROLLBACK")
            self._begin_layer()
            self._write_count += 1
        self._listeners.clear()
        self.on_change = _do_nothing
