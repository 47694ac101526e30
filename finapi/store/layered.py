"""A database in memory over a file that is never written.

Any number of these databases share the pages of one file, and each holds only its own changes in memory. A connection
has one transaction, which is never committed. The transactions of :class:`Database` are savepoints in it. So all
changes can be undone in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from finapi.store.connections import LockedConnection, connect
from finapi.store.db import Database, Transaction

CACHE_KIB = 256  # The size of a connection's cache of unchanged pages.
CACHED_STATEMENTS = 64


def _do_nothing() -> None:
    """The default of ``on_change``."""


class LayeredDatabase(Database):
    """A database in memory over the file ``base``, which no process may write while it is open."""

    def __init__(self, base: Path) -> None:
        self._set_up(None)
        self._in_block = False
        # Called after each commit, and after changes were undone. It must return quickly.
        self.on_change: Callable[[], None] = _do_nothing
        # Without file locks, because this connection's lock would block all others although it never writes the file.
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
        """Yield a read transaction. No other thread can write meanwhile, so it needs no BEGIN."""
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
        """Undo all changes and remove all listeners, so that another owner can use the database.

        With ``into_base`` the changes are written to the file instead. Databases that are opened over the file later
        then contain them. No other database may have the file open.
        """
        with self._lock:
            # A rollback to the first mark would not free the memory that SQLite uses for each savepoint.
            self._writer.execute("COMMIT" if into_base else "ROLLBACK")
            self._begin_layer()
            self._write_count += 1
        self._listeners.clear()
        self.on_change = _do_nothing
