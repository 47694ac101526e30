"""A copy of the market data that another process writes. This process only reads it, and notices its changes.

The other process either replaces the file, or overwrites its pages in place, as ``litestream restore -f`` does under
SQLite's exclusive lock. Overwriting does not change SQLite's change counter (Litestream 0.5.17), so SQLite would
continue to use cached pages of the earlier state. Therefore a connection that has read an earlier state of the file is
not used again, and the file is switched out of WAL mode before it is read.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from finapi.core.errors import ApiError, UsageError
from finapi.core.temporary import TemporaryFolder
from finapi.store import schema
from finapi.store.connections import LockedConnection, connect
from finapi.store.db import CLOSED, Database, Transaction

log = logging.getLogger("finapi.store")

CHECK_SECONDS = 0.25  # The interval between two checks of the file.

# How long a reader waits while the other process writes pages. That process waits as long as a query may take.
PATIENCE_SECONDS = 10.0

# Two writes within this time may leave the same modification time, because file systems use the kernel's tick of up to
# 10 ms. An older modification time is settled: every later write changes it.
SETTLED_NS = 50_000_000

# BEGIN alone takes no lock; this statement does.
LOCKING_QUERY = "SELECT 1 FROM sqlite_schema"

# Identifies a state of the pages: the modification time in nanoseconds and the size in bytes.
PagesStamp = tuple[int, int]


class ReadOnlyCopyError(ApiError):
    """409: a write was requested on a node whose market data are a copy."""

    def __init__(self) -> None:
        super().__init__("CONFLICT", "This node uses a copy of the market data, which only the worker writes.")


@dataclass(frozen=True, slots=True)
class CopyFile:
    """A copy that has been checked, with a hard link to it in a temporary folder of this process."""

    folder: TemporaryFolder
    inode: tuple[int, int]

    @property
    def path(self) -> Path:
        """Return the path of the hard link. It remains valid when another file replaces the original one."""
        return self.folder.path / "copy.db"

    def read_stamp(self) -> PagesStamp:
        """Return the stamp of the current pages."""
        status = os.stat(self.path)
        return status.st_mtime_ns, status.st_size


@dataclass(slots=True)
class _CopyReader:
    """A thread's connection.

    ``stamp`` identifies the pages that it has read, or is None if they may have changed since.
    """

    connection: LockedConnection
    file: CopyFile
    stamp: PagesStamp | None
    is_new: bool = True


class MarketCopy(Database):
    """The copy at ``path``. No connection of this process can write it, and ``write`` raises CONFLICT (409)."""

    is_copy = True

    def __init__(self, path: Path) -> None:
        """Open the copy. Raise UsageError if it is not a database with the schema of this finapi."""
        self._set_up(path)
        # The methods of Database need a writer. This one has an empty database in memory.
        self._writer = connect(":memory:")
        self.refusal: str | None = None
        self._refused_inode: tuple[int, int] | None = None
        self._last_stamp: PagesStamp | None = None
        try:
            self._copy = self._open_copy(path)
        except (UsageError, OSError, sqlite3.Error) as error:
            self._writer.close()
            raise UsageError(f"{path} cannot be used as a copy of the market data: {error}") from None

    def check_original(self) -> None:
        """Raise CONFLICT (409)."""
        raise ReadOnlyCopyError

    @contextmanager
    def _transaction(self, *, shared: bool) -> Iterator[Transaction]:
        raise ReadOnlyCopyError
        yield

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Yield a read transaction. All its queries see the same state. Raise RuntimeError if it is nested."""
        reader: _CopyReader | None = getattr(self._local, "reader", None)
        if reader is not None and reader.connection.in_transaction:
            raise RuntimeError("a read transaction inside another")
        connection = self._begin_read()
        try:
            yield Transaction(connection, self._queries)
        except sqlite3.DatabaseError as error:
            self._raise_if_damaged(error)
            raise
        finally:
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")
            connection.lock.release()

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """Yield a transaction for a single query. Without a transaction it could read pages of two states."""
        reader: _CopyReader | None = getattr(self._local, "reader", None)
        if reader is not None and reader.connection.in_transaction:
            yield Transaction(reader.connection, self._queries)
        else:
            with self.read() as tx:
                yield tx

    def open_separate_reader(self) -> sqlite3.Connection:
        """Open a connection in a read transaction, for one use. It is closed by :meth:`close` at the latest."""
        connection = connect(self._build_uri(self._copy), uri=True, cached_statements=0)
        connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
        connection.execute("BEGIN")
        connection.execute(LOCKING_QUERY).fetchone()
        self._separate_readers[connection] = threading.Lock()
        return connection

    def check_file(self) -> bool:
        """Return True, and increase :attr:`write_count`, if the file was replaced or its pages have changed.

        Open transactions continue to use the earlier file. A new file that cannot be used is refused, with the reason
        in ``refusal``.
        """
        assert self.path is not None
        try:
            status = os.stat(self.path)
        except OSError as error:
            return self._refuse((0, 0), error.strerror or str(error))
        inode = status.st_ino, status.st_dev
        if inode != self._copy.inode and inode != self._refused_inode:
            try:
                new_copy = self._open_copy(self.path)
            except (UsageError, OSError, sqlite3.Error) as error:
                return self._refuse(inode, str(error))
            old_copy, self._copy = self._copy, new_copy
            old_copy.folder.remove()
            self.refusal = self._refused_inode = self.trouble = None
            self._damaged = False
            log.info("now using another copy of the market data")
        elif inode == self._copy.inode:
            self.refusal = self._refused_inode = None
        stamp = self._copy.read_stamp()
        if stamp == self._last_stamp:
            return False
        self._last_stamp = stamp if _is_settled(stamp) else None
        self._write_count += 1
        return True

    def close(self) -> None:
        """Interrupt all reads and close every connection."""
        super().close()
        self._copy.folder.remove()

    def _refuse(self, inode: tuple[int, int], reason: str) -> bool:
        """Continue to use the current copy, because the new file cannot be used. Return False: nothing has changed."""
        if reason != self.refusal:
            log.error("the new copy of the market data cannot be used: %s; the earlier one remains in use", reason)
        self._refused_inode, self.refusal = inode, reason
        return False

    def _open_copy(self, path: Path) -> CopyFile:
        """Return the file at a path as a copy. Raise UsageError, OSError or sqlite3.Error if it cannot be used."""
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and wal.stat().st_size:
            raise UsageError(
                f"{wal} exists, but a copy must be a single file: create it with finapi backup or Litestream"
            )
        folder = TemporaryFolder("copy", path.parent)
        try:
            os.link(path, folder.path / "copy.db")
            status = os.stat(folder.path / "copy.db")
            copy = CopyFile(folder, (status.st_ino, status.st_dev))
            _leave_wal_mode(copy.path)
            with closing(connect(self._build_uri(copy), uri=True)) as connection:
                schema.check_is_current(connection, path)
                connection.execute("SELECT stamp FROM data_version").fetchone()
        except BaseException:
            folder.remove()
            raise
        return copy

    def _build_uri(self, file: CopyFile) -> str:
        return f"{file.path.resolve().as_uri()}?mode=ro"

    def _begin_read(self) -> LockedConnection:
        """Return this thread's connection, locked and in a transaction, with no cached pages of an earlier state."""
        while True:
            reader: _CopyReader | None = getattr(self._local, "reader", None)
            if reader is None or reader.file is not self._copy or (reader.stamp is None and not reader.is_new):
                reader = self._local.reader = self._replace_reader(reader)
            has_begun = False
            reader.connection.lock.acquire()
            try:
                has_begun = self._begin_if_unchanged(reader)
            finally:
                if not has_begun:
                    reader.connection.lock.release()
            if has_begun:
                return reader.connection

    def _begin_if_unchanged(self, reader: _CopyReader) -> bool:
        """Begin a transaction. Return False, without one, if the file has changed since this connection read it."""
        if self.closed:
            raise sqlite3.ProgrammingError(CLOSED)
        try:
            reader.connection.execute("BEGIN")
            reader.connection.execute(LOCKING_QUERY).fetchone()
            # No process writes while this transaction holds its lock.
            stamp = reader.file.read_stamp()
        except FileNotFoundError:  # Another thread has switched to another file.
            stamp = None
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                reader.connection.execute("ROLLBACK")
            self._raise_if_damaged(error)
            raise
        if stamp is not None and (reader.is_new or stamp == reader.stamp):
            reader.is_new, reader.stamp = False, stamp if _is_settled(stamp) else None
            return True
        reader.connection.execute("ROLLBACK")
        reader.is_new, reader.stamp = False, None
        return False

    def _replace_reader(self, old_reader: _CopyReader | None) -> _CopyReader:
        """Open a connection to the current copy, and close the old one and those of threads that have ended."""
        with self._opening:
            if old_reader is not None:
                self._readers.pop(old_reader.connection, None)
                old_reader.connection.close()
            for connection, thread in list(self._readers.items()):
                if thread is None or not thread.is_alive():
                    del self._readers[connection]
                    connection.close()
            while not self.closed:
                file = self._copy
                try:
                    connection = connect(self._build_uri(file), uri=True)
                except sqlite3.OperationalError:
                    if file is self._copy:
                        raise
                    continue  # Another thread has just switched to another file.
                connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
                self._readers[connection] = threading.current_thread()
                return _CopyReader(connection, file, None)
            raise sqlite3.ProgrammingError(CLOSED)


def _is_settled(stamp: PagesStamp) -> bool:
    """Return True if every later write will change the stamp."""
    return time.time_ns() - stamp[0] > SETTLED_NS


def _leave_wal_mode(path: Path) -> None:
    """Switch a database that no process reads yet out of WAL mode.

    A connection in WAL mode holds a lock for as long as it is open, and Litestream would wait for that lock forever.
    """
    # This file is closed before SQLite opens it, because closing a file releases all locks that the process has on it.
    with path.open("rb") as file:
        is_in_wal_mode = file.read(100)[schema.WAL_MARK] == b"\x02\x02"
    if is_in_wal_mode:
        with closing(connect(str(path))) as connection:
            connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
            connection.execute("PRAGMA journal_mode=DELETE")
