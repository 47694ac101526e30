"""A copy of the market data that another process writes: read only, and followed as it changes.

A copy is replaced by another file under its name, as ``rename`` does, or its pages are written where they stand, as
``litestream restore -f`` does under SQLite's exclusive lock. The latter (0.5.17) leaves the change counter and the mark
of WAL mode as they were, by which SQLite would go on with pages that are no more: here a connection that has read from
an earlier state of the file is not used again, and the mark is taken off before anybody reads.
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

LOOK_SECONDS = 0.25  # between two looks at the file

# A reader waits for pages that are being written, and who writes them for readers: as long as a query may take.
PATIENCE_SECONDS = 10.0

# Within so long of a write another may leave the same time: file systems count by the kernel's ticks, 10 ms at most.
SETTLED_NS = 50_000_000

WAL_MARK = slice(18, 20)  # of a database's first bytes (sqlite.org/fileformat.html): 2 and 2 in WAL mode

READS = "SELECT 1 FROM sqlite_schema"  # what takes the lock that BEGIN announces

# What the pages of a file are known by: when they were written last, and how many bytes they are.
PagesStamp = tuple[int, int]


class ReadOnlyCopyError(ApiError):
    """The market data of this node are a copy."""

    def __init__(self) -> None:
        super().__init__("CONFLICT", "This node answers on a copy of the market data, which the worker alone writes.")


@dataclass(frozen=True, slots=True)
class CopyFile:
    """A copy that can be used, under a second name in a temporary folder of this process."""

    folder: TemporaryFolder
    inode: tuple[int, int]

    @property
    def place(self) -> Path:
        """The second name, which stays with this file when another one takes its first name."""
        return self.folder.path / "copy.db"

    def stamp(self) -> PagesStamp:
        """What its pages are known by now."""
        there = os.stat(self.place)
        return there.st_mtime_ns, there.st_size


@dataclass(slots=True)
class _Held:
    """A thread's connection; ``stamp`` of the pages that it has read, None where they may have changed since."""

    connection: LockedConnection
    file: CopyFile
    stamp: PagesStamp | None
    fresh: bool = True


class MarketCopy(Database):
    """The copy at ``path``. No connection of this process can write it, and ``write`` is CONFLICT (409)."""

    is_copy = True

    def __init__(self, path: Path) -> None:
        """Open the copy; UsageError for a file that is none, or of another schema than this finapi reads."""
        self._prepare(path)
        # Where ``Database`` writes there is nothing to be written.
        self._writer = connect(":memory:")
        self.refusal: str | None = None
        self._refused: tuple[int, int] | None = None
        self._noticed: PagesStamp | None = None
        try:
            self._copy = self._found(path)
        except (UsageError, OSError, sqlite3.Error) as error:
            self._writer.close()
            raise UsageError(f"{path} cannot be used as a copy of the market data: {error}") from None

    def check_original(self) -> None:
        """CONFLICT (409)."""
        raise ReadOnlyCopyError

    @contextmanager
    def _transaction(self, *, shared: bool) -> Iterator[Transaction]:
        raise ReadOnlyCopyError
        yield

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read transaction: everything read in the block is of one moment. One inside another is refused."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None and held.connection.in_transaction:
            raise RuntimeError("a read transaction inside another")
        connection = self._steady()
        try:
            yield Transaction(connection, self._queries)
        except sqlite3.DatabaseError as error:
            self._judge_read(error)
            raise
        finally:
            with suppress(sqlite3.Error):
                connection.execute("COMMIT")
            connection.lock.release()

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """What :meth:`read` gives: without a transaction around it a query may read pages of two moments."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None and held.connection.in_transaction:
            yield Transaction(held.connection, self._queries)
        else:
            with self.read() as tx:
                yield tx

    def open_separate_reader(self) -> sqlite3.Connection:
        """A connection of its own in a read transaction, for one use. Closed by :meth:`close` at the latest."""
        connection = connect(self._uri(self._copy), uri=True, cached_statements=0)
        connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
        connection.execute("BEGIN")
        connection.execute(READS).fetchone()
        self._separate_readers[connection] = threading.Lock()
        return connection

    def check_file(self) -> bool:
        """Notice another file or other pages, and tell by :attr:`written`; whether there were any.

        Who has begun goes on with the copy that he has. One that cannot be used is not moved to: ``refusal`` says why.
        """
        assert self.path is not None
        try:
            there = os.stat(self.path)
        except OSError as error:
            return self._refuse((0, 0), error.strerror or str(error))
        inode = there.st_ino, there.st_dev
        if inode != self._copy.inode and inode != self._refused:
            try:
                left, self._copy = self._copy, self._found(self.path)
            except (UsageError, OSError, sqlite3.Error) as error:
                return self._refuse(inode, str(error))
            left.folder.remove()
            self.refusal = self._refused = self.trouble = None
            self._damaged = False
            log.info("moved over to another copy of the market data")
        elif inode == self._copy.inode:
            self.refusal = self._refused = None
        stamp = self._copy.stamp()
        if stamp == self._noticed:
            return False
        self._noticed = stamp if _is_settled(stamp) else None
        self._write_count += 1
        return True

    def close(self) -> None:
        """Close every connection, breaking off what is read."""
        super().close()
        self._copy.folder.remove()

    def _refuse(self, inode: tuple[int, int], why: str) -> bool:
        if why != self.refusal:
            log.error("another copy of the market data cannot be used: %s; the one before is answered", why)
        self._refused, self.refusal = inode, why
        return False

    def _found(self, path: Path) -> CopyFile:
        """Return the file at a path as a copy. Raise UsageError, OSError or sqlite3.Error if it cannot be used."""
        beside = path.with_name(f"{path.name}-wal")
        if beside.exists() and beside.stat().st_size:
            raise UsageError(f"{beside} lies beside it, and a copy is one file: make it by finapi backup or Litestream")
        folder = TemporaryFolder("copy", path.parent)
        try:
            os.link(path, folder.path / "copy.db")
            there = os.stat(folder.path / "copy.db")
            copy = CopyFile(folder, (there.st_ino, there.st_dev))
            _take_off_wal_mark(copy.place)
            with closing(connect(self._uri(copy), uri=True)) as connection:
                schema.check_is_current(connection, path)
                connection.execute("SELECT stamp FROM data_version").fetchone()
        except BaseException:
            folder.remove()
            raise
        return copy

    def _uri(self, file: CopyFile) -> str:
        return f"{file.place.resolve().as_uri()}?mode=ro"

    def _steady(self) -> LockedConnection:
        """This thread's connection, held and in a transaction, with nothing in it of an earlier state of the file."""
        while True:
            held: _Held | None = getattr(self._local, "held", None)
            if held is None or held.file is not self._copy or (held.stamp is None and not held.fresh):
                held = self._local.held = self._opened(held)
            steady = False
            held.connection.lock.acquire()
            try:
                steady = self._is_steady(held)
            finally:
                if not steady:
                    held.connection.lock.release()
            if steady:
                return held.connection

    def _is_steady(self, held: _Held) -> bool:
        """Begin a transaction; whether the file is as it was when this connection read before."""
        if self.closed:
            raise sqlite3.ProgrammingError(CLOSED)
        try:
            held.connection.execute("BEGIN")
            held.connection.execute(READS).fetchone()
            # Under the lock of a reader nobody writes.
            stamp = held.file.stamp()
        except FileNotFoundError:  # it was left meanwhile
            stamp = None
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                held.connection.execute("ROLLBACK")
            self._judge_read(error)
            raise
        if stamp is not None and (held.fresh or stamp == held.stamp):
            held.fresh, held.stamp = False, stamp if _is_settled(stamp) else None
            return True
        held.connection.execute("ROLLBACK")
        held.fresh, held.stamp = False, None
        return False

    def _opened(self, before: _Held | None) -> _Held:
        """A connection to the copy of today, in the place of one that is of yesterday's."""
        with self._opening:
            if before is not None:
                self._readers.pop(before.connection, None)
                before.connection.close()
            for connection in [one for one, thread in self._readers.items() if thread is None or not thread.is_alive()]:
                del self._readers[connection]
                connection.close()
            while not self.closed:
                file = self._copy
                try:
                    connection = connect(self._uri(file), uri=True)
                except sqlite3.OperationalError:
                    if file is self._copy:
                        raise
                    continue
                connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
                self._readers[connection] = threading.current_thread()
                return _Held(connection, file, None)
            raise sqlite3.ProgrammingError(CLOSED)


def _is_settled(stamp: PagesStamp) -> bool:
    """Whether a write from now on would be known by another stamp."""
    return time.time_ns() - stamp[0] > SETTLED_NS


def _take_off_wal_mark(place: Path) -> None:
    """Have a database that nobody reads yet be one without a write-ahead log.

    A connection in WAL mode keeps a lock for as long as it is open, for which Litestream would wait for ever.
    """
    # Closed before SQLite opens it: closing a file gives up every lock that this process has on it.
    with place.open("rb") as file:
        marked = file.read(100)[WAL_MARK] == b"\x02\x02"
    if marked:
        with closing(connect(str(place))) as connection:
            connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE_SECONDS:.0f}")
            connection.execute("PRAGMA journal_mode=DELETE")
