"""SQLite: one connection that writes, one for each thread that reads, and queries by name.

A write holds a lock and is one transaction. Readers have connections of their own and never wait for a write. Queries
are in ``sql/queries`` and are called by name. Only this package imports sqlite3. It knows nothing about users, filings
or HTTP.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from finapi.core.errors import ApiError, StoreUnavailableError, UsageError
from finapi.core.files import write_new_file
from finapi.store import as_of, schema, wal_index
from finapi.store.checkpoints import disable_checkpoints, with_larger_cache
from finapi.store.connections import (
    BREAK_SECONDS,
    RESTORE_ADVICE,
    LockedConnection,
    build_unusable_error,
    connect,
    get_result_code,
    interrupt_until_idle,
    is_damage,
)
from finapi.store.sql_files import iter_texts
from finapi.store.write_transactions import WriteBatcher, WriteBlock

log = logging.getLogger("finapi.store")

Row = sqlite3.Row

Result = TypeVar("Result")

SQLITE = sqlite3.sqlite_version_info

# Raised for a statement that would violate a UNIQUE, CHECK or FOREIGN KEY constraint.
ConstraintError = sqlite3.IntegrityError


def is_unique_violation(error: ConstraintError, table: str, column: str) -> bool:
    """Return True if ``error`` says that a value of this UNIQUE column is already in the table."""
    return str(error) == f"UNIQUE constraint failed: {table}.{column}"


# Any failure of the database, for example a damaged file, a full disk or a lock of another process.
DatabaseError = sqlite3.Error
# A failure that is not a mistake in a statement, mostly of the disk: it is full, broken or read-only.
OperationalError = sqlite3.OperationalError

# Primary result codes of failures of the machine: READONLY, IOERR, FULL, CANTOPEN (sqlite.org/rescode.html).
_MACHINE_CODES = {8, 10, 13, 14}

CLOSED = "the database is closed"
MAX_WAL_BYTES = 16 << 20  # SQLite checkpoints at 4 MB. Only a long reader makes the WAL longer.
TROUBLE_SECONDS = 60.0  # The interval between two log messages about the same failure.


class StoreUnwritableError(StoreUnavailableError, sqlite3.OperationalError):
    """The database cannot be written, because its disk is full or broken, or its file is gone."""


class DatabaseDamagedError(StoreUnwritableError):
    """Pages of the database are damaged. The message says how to restore a backup."""

    public_message = "The stored data are damaged and cannot be read."

    def __init__(self, error: object) -> None:
        super().__init__(f"it is damaged ({error}): {RESTORE_ADVICE}")


Values = Mapping[str, Any]
NO_VALUES: Values = {}


class Transaction:
    """A transaction on one connection. Queries are called by their names in ``sql/queries``.

    A query takes its values by name, from a mapping, from keywords or from both. Values that the query does not name
    are ignored, so that one mapping serves several queries. A name without a value raises sqlite3.ProgrammingError.
    """

    __slots__ = ("_connection", "_queries", "steps", "topics", "undo")

    def __init__(self, connection: sqlite3.Connection, queries: dict[str, str]) -> None:
        self._connection = connection
        self._queries = queries
        self.topics: set[str] = set()
        self.steps: tuple[Callable[[Database], None], ...] = ()
        # Functions that undo changes outside the database. A rollback calls them in reverse order.
        self.undo: list[Callable[[], None]] = []

    def announce(self, topic: str) -> None:
        """Call the listeners of ``topic`` (:meth:`Database.listen`) after the commit."""
        self.topics.add(topic)

    def run_after_commit(self, step: Callable[[Database], None]) -> None:
        """Call ``step`` with the database after the commit. A step that is added twice is called once."""
        if step not in self.steps:
            self.steps = (*self.steps, step)

    def list_rows(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> list[Row]:
        """Return all rows of a query."""
        return self._execute(query, values, parameters).fetchall()

    def iter_rows(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> Iterator[Row]:
        """Yield the rows of a query as they are read, for results that do not fit into memory."""
        return iter(self._execute(query, values, parameters))

    def find_row(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> Row | None:
        """Return the first row of a query, or None."""
        row: Row | None = self._execute(query, values, parameters).fetchone()
        return row

    def find_value(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> Any:
        """Return the first column of the first row of a query, or None if there is no row."""
        row = self._execute(query, values, parameters).fetchone()
        return None if row is None else row[0]

    def list_page(self, query: str, values: Values, /) -> tuple[list[Row], int]:
        """Return the rows of a page and the number of all rows, which is the query's column ``total``.

        The number is correct for a page after the last one too.
        """
        rows = self.list_rows(query, values)
        if not rows and values.get("offset"):
            first_page = self.list_rows(query, values, limit=1, offset=0)
        else:
            first_page = rows
        return rows, first_page[0]["total"] if first_page else 0

    def run(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> int:
        """Execute a statement. Return the number of rows that it changed."""
        return self._execute(query, values, parameters).rowcount

    def insert_row(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> int:
        """Execute an INSERT. Return the rowid of the new row."""
        return self._execute(query, values, parameters).lastrowid or 0

    # An INSERT that is the last statement of its transaction. PostgreSQL commits it in the same round trip.
    insert_last = insert_row

    def _execute(self, query: str, values: Values, parameters: dict[str, Any]) -> sqlite3.Cursor:
        if values:
            parameters = {**values, **parameters}
        return self._connection.execute(self._queries[query], parameters)

    def insert_rows(self, query: str, rows: Iterable[Sequence[Any]]) -> int:
        """Execute an INSERT once for each row. Return the number of rows that were inserted or changed.

        These statements take their values by position: a dict for each of a million facts costs more than the INSERT.
        """
        return self._connection.executemany(self._queries[query], rows).rowcount


class Database:
    """An open database. :meth:`write` and :meth:`read` are the two ways to use it.

    A file is opened in WAL mode: one connection writes, behind a lock, and each thread has a connection of its own that
    can only read. Without a path the database is in memory, and one connection behind the lock does both.
    """

    # True if another process may write the file. A connection of open_separate_reader can then be used only once.
    is_copy = False

    def __init__(
        self, path: Path | None, *, synchronous: str = "FULL", reads_only: bool = False, checkpoints: bool = True
    ) -> None:
        """Open ``path``, or with None a database in memory.

        A file that does not exist is created, and an older schema is upgraded. With ``reads_only`` neither is done, and
        nothing in the file is changed. ``checkpoints`` is False if another process checkpoints the WAL.
        """
        self._set_up(path)
        if path is None:
            self._writer = connect(":memory:")
            schema.get_empty_database().backup(self._writer)
            self._writer.execute("PRAGMA foreign_keys=ON")
            self._ensure_stamp()
            return
        if reads_only:
            wal_index.check_space(path)
            self._writer = connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            with self._closing_on_error(path):
                schema.check_is_current(self._writer, path)
                wal_index.allocate(path)
            return
        _create_file(path)
        wal_index.check_space(path)
        self._writer = connect(str(path))
        with self._closing_on_error(path):
            schema.read_version(self._writer, path)  # Raises UsageError before the file is changed.
            self._writer.execute("PRAGMA journal_mode=WAL")
            self._writer.execute("PRAGMA foreign_keys=ON")
            schema.read_version(self._writer, path)  # The first read after the change of the mode opens the WAL index.
            wal_index.allocate(path)
            # After a long reader has ended, the next checkpoint of the WAL cuts its file to this size.
            self._writer.execute(f"PRAGMA journal_size_limit={MAX_WAL_BYTES}")
            # PRAGMA takes no parameters. The setting is one of two words.
            self._writer.execute(f"PRAGMA synchronous={synchronous}")
            if not checkpoints:
                disable_checkpoints(self._writer)
            if schema.upgrade(self._writer, path) and checkpoints:
                # The upgrade wrote everything to the WAL, which would otherwise keep its size until the next stop.
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            schema.check_is_complete(self._writer, path)
            schema.create_full_text(self._writer)
            self._ensure_stamp()
            status = os.stat(path)
            self._file_id = status.st_ino, status.st_dev

    def _set_up(self, path: Path | None) -> None:
        """Set the attributes that do not depend on how the database is opened."""
        self.path = path
        self._path_text = "" if path is None else str(path)
        # The database of accounts: this one, unless they are in PostgreSQL.
        self.accounts = self
        self._queries = load_queries()
        self._lock = threading.RLock()  # Guards the writer.
        self._lock_seconds = -1.0  # The longest wait for the lock. -1 means no limit.
        self._owner: int | None = None  # The id of the thread that writes now.
        self._waiting_writers: set[int] = set()  # The ids of threads that wait for the lock.
        self._batcher = WriteBatcher(self)
        self._local = threading.local()
        # The thread of each reader. None if the thread has released the reader.
        self._readers: dict[LockedConnection, threading.Thread | None] = {}
        # Separate readers, each with the lock that a thread holds while it reads.
        self._separate_readers: dict[sqlite3.Connection, threading.Lock] = {}
        self._opening = threading.Lock()  # Guards ``_readers``.
        # Separate readers with the views of :meth:`read_as_of` that no thread uses now.
        self._idle_as_of_readers: list[sqlite3.Connection] = []
        self.closed = False
        self._write_count = 0
        # The reason why the last write failed. None if it succeeded.
        self.trouble: str | None = None
        self._damaged = False
        self._next_log_at = 0.0
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._random_bytes: Callable[[int], bytes] | None = None

    @contextmanager
    def _closing_on_error(self, path: Path) -> Iterator[None]:
        """Close the writer if the block fails, and raise UsageError for errors of SQLite."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            self._writer.close()
            raise build_unusable_error(path, error) from None
        except BaseException:
            self._writer.close()
            raise

    def _ensure_stamp(self) -> None:
        """Give a new database a random stamp, so that a cache never confuses it with another database."""
        if not self._writer.execute(self._queries["data_stamp"]).fetchone()[0]:
            self._writer.execute(self._queries["new_data_stamp"])

    def check_original(self) -> None:
        """Raise CONFLICT (409) if this is a read-only copy. Called before work whose result would be written."""

    # ---- writing

    def write(self) -> AbstractContextManager[Transaction]:
        """Return a write transaction: a ``with`` block that commits at its end and rolls back if it raises.

        It begins with BEGIN IMMEDIATE, because a deferred transaction that becomes a write fails under contention
        instead of waiting. A nested block raises RuntimeError. If another process has locked the file, it raises
        UNAVAILABLE (503).
        """
        return self._transaction(shared=False)

    def _transaction(self, *, shared: bool) -> AbstractContextManager[Transaction]:
        return WriteBlock(self, Transaction(self._writer, self._queries), shared)

    def write_batched(self, work: Callable[[Transaction], Result], *, alone: bool = False) -> Result:
        """Run ``work`` in a write transaction that it may share with the work of other threads. Return its result.

        All work that arrives during a commit shares the next commit and its wait for the disk. If a piece of work
        raises, everything is rolled back, and each piece is run again in its own transaction. A failed commit fails for
        all. So ``work`` must be short and may be called twice. ``tx.undo`` undoes its changes outside the database.
        :attr:`write_count` does not count it, so nothing that is cached may depend on what ``work`` changes.

        ``alone`` is for work that reads before it writes. It makes a difference only in PostgreSQL, where several
        processes write in parallel.
        """
        if getattr(self._local, "writes", False):
            raise RuntimeError("a write transaction inside another")
        result: Result = self._batcher.run(work)
        return result

    def with_larger_cache(self) -> AbstractContextManager[None]:
        """Return a ``with`` block in which the writer has a larger page cache, for an ingest of many documents."""
        return with_larger_cache(self._writer, self._lock)

    @property
    def has_waiting_writers(self) -> bool:
        """Return True if other threads wait to write, so that a long transaction should end soon."""
        return bool(self._batcher.waiting or self._waiting_writers)

    def _notify_listeners(self, tx: Transaction) -> None:
        """Call the listeners and steps of a committed transaction."""
        for topic in tx.topics:
            for listener in self._listeners.get(topic, ()):
                listener()
        for step in tx.steps:
            step(self)

    def listen(self, topic: str, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every commit of a transaction that announced ``topic``.

        It is called in the thread that wrote and must be quick: it wakes the thread that does the work.
        """
        self._listeners.setdefault(topic, []).append(listener)

    def unlisten(self, topic: str, listener: Callable[[], None]) -> None:
        """Stop calling ``listener``."""
        with suppress(ValueError):
            self._listeners.get(topic, []).remove(listener)

    @property
    def write_count(self) -> int:
        """Return a number that increases whenever data cached from this database may be out of date.

        In SQLite it is the number of committed transactions of :meth:`write`.
        """
        return self._write_count

    def follow_changes(self) -> None:
        """Start to listen for commits of other processes. Do nothing: only this process writes a file."""

    def elect(self, seconds: float, on_deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the active worker within ``seconds``.

        That is always so for a file, which only one process uses. In PostgreSQL, ``on_deposed`` is called when another
        process has become the worker while the database could not be reached.
        """
        return True

    # ---- reading

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Yield a read transaction. All its queries see the same state. Raise RuntimeError if it is nested."""
        if self.path is None:
            with self._lock, self._reading(self._writer):
                # This connection could also write, unlike the readers of a file.
                self._writer.execute("PRAGMA query_only=ON")
                try:
                    yield Transaction(self._writer, self._queries)
                finally:
                    self._writer.execute("PRAGMA query_only=OFF")
        else:
            connection = self._get_reader()
            with connection.lock, self._reading(connection):
                yield Transaction(connection, self._queries)

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """Yield a Transaction for a single query, without BEGIN and COMMIT."""
        if self.path is None:
            with self.read() as tx:
                yield tx
        else:
            connection = self._get_reader()
            try:
                with connection.lock:
                    yield Transaction(connection, self._queries)
            except sqlite3.DatabaseError as error:
                self._raise_if_damaged(error)
                raise

    @contextmanager
    def read_as_of(self, day: str) -> Iterator[Transaction]:
        """Yield a read transaction that contains only what was filed up to a day (:mod:`finapi.store.as_of`)."""
        queries = _load_as_of_queries()
        if self.path is None or self.is_copy:
            with self.read() as tx, as_of.temporary_views(tx._connection, day):
                yield Transaction(tx._connection, queries)
            return
        connection = self._take_as_of_reader()
        try:
            with self.reading(connection):
                as_of.set_day(connection, day)
                connection.execute("BEGIN")
                try:
                    yield Transaction(connection, queries)
                except sqlite3.DatabaseError as error:
                    self._raise_if_damaged(error)
                    raise
                finally:
                    # A failed read may have ended the transaction by itself, and nothing was written.
                    with suppress(sqlite3.DatabaseError):
                        connection.execute("COMMIT")
        finally:
            self._idle_as_of_readers.append(connection)

    def _take_as_of_reader(self) -> sqlite3.Connection:
        """Return a connection with the views of :meth:`read_as_of`."""
        assert self.path is not None
        with self._opening:
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            if self._idle_as_of_readers:
                return self._idle_as_of_readers.pop()
            connection = connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
            as_of.create_views(connection)
            self._separate_readers[connection] = threading.Lock()
            return connection

    @contextmanager
    def _reading(self, connection: LockedConnection) -> Iterator[None]:
        """Run the block in a read transaction of a connection."""
        if self._is_open(connection):
            raise RuntimeError("a read transaction inside another")
        self._start(connection, "BEGIN")
        try:
            yield
        except sqlite3.DatabaseError as error:
            self._raise_if_damaged(error)
            raise
        finally:
            # A failed read may have ended the transaction by itself.
            if self._is_open(connection):
                # Nothing was written, and a failure to read is raised already.
                with suppress(sqlite3.DatabaseError):
                    self._commit(connection)

    def _get_reader(self) -> LockedConnection:
        """Return the connection with which this thread reads."""
        if self.closed:
            raise sqlite3.ProgrammingError(CLOSED)
        connection: LockedConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._take_reader()
        return connection

    def _take_reader(self) -> LockedConnection:
        """Return a connection that another thread has released or left at its end, or a new one.

        Reuse matters, because checks of the watchdog run in new threads, and each connection has two open files.
        """
        assert self.path is not None
        # Not under the writer's lock, because a reader never waits for a write.
        with self._opening:
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            unused = (reader for reader, thread in self._readers.items() if thread is None or not thread.is_alive())
            reader = next(unused, None) or connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
            self._readers[reader] = threading.current_thread()
        return reader

    def release_reader(self) -> None:
        """Make this thread's connection (600 KB) available to other threads. Threads call this before a long wait."""
        connection: LockedConnection | None = self._local.__dict__.pop("connection", None)
        if connection is not None:
            with self._opening:
                if connection in self._readers:
                    self._readers[connection] = None

    def open_separate_reader(self) -> sqlite3.Connection:
        """Open a connection for reading. For a database in memory, open a copy of it.

        It caches no compiled statements, because those of callers' queries may be large. Use it within :meth:`reading`.
        It is closed by :meth:`close` at the latest.
        """
        if self.path is None:
            copy = connect(":memory:", cached_statements=0)
            copy.deserialize(self.image())
            return copy
        connection = connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, cached_statements=0)
        self._separate_readers[connection] = threading.Lock()
        return connection

    @contextmanager
    def reading(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Lock a separate reader while the block reads from it. :meth:`close` interrupts it and waits for the block."""
        lock = self._separate_readers.get(connection)  # None for a database in memory.
        with lock or nullcontext():
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            yield

    def forget_separate_reader(self, connection: sqlite3.Connection) -> None:
        """Remove a separate reader, which its owner closes, from those that :meth:`close` closes."""
        self._separate_readers.pop(connection, None)

    # ---- failures

    def _raise_machine_error(self, error: BaseException) -> None:
        """If the machine caused an error, raise StoreUnwritableError and log it, at most once a minute."""
        self._raise_if_damaged(error)
        if get_result_code(error) not in _MACHINE_CODES and not isinstance(error, StoreUnwritableError):
            return
        self._log_trouble("the database cannot be written: %s", error)
        self.trouble = str(error)
        raise StoreUnwritableError(str(error)) from None

    def _raise_if_damaged(self, error: BaseException) -> None:
        """Raise DatabaseDamagedError if damaged pages caused an error.

        ``trouble`` then remains set even if a write succeeds.
        """
        if isinstance(error, DatabaseDamagedError):
            raise error
        if is_damage(error):
            damaged = DatabaseDamagedError(error)
            self._log_trouble("the database cannot be read: %s", damaged)
            self.trouble, self._damaged = str(damaged), True
            raise damaged from None

    def _log_trouble(self, message: str, error: BaseException) -> None:
        now = time.monotonic()
        if self.trouble is None or now >= self._next_log_at:
            log.error(message, error)
            self._next_log_at = now + TROUBLE_SECONDS

    def _check_file(self) -> None:
        """Raise StoreUnwritableError if the file was deleted or replaced, because writes to it would be lost."""
        if not self._path_text:
            return
        try:
            status = os.stat(self._path_text)
        except OSError:
            status = None
        if status is None or (status.st_ino, status.st_dev) != self._file_id:
            self._raise_machine_error(StoreUnwritableError("its file is gone"))

    # ---- the beginning and end of a transaction (LayeredDatabase overrides these)

    def _begin(self) -> None:
        """Begin a write transaction. Raise UNAVAILABLE (503) if another process has locked the file."""
        self._check_file()
        try:
            self._start(self._writer, "BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self._raise_machine_error(error)
            if "locked" not in str(error):
                raise
            raise ApiError(
                "UNAVAILABLE", "The database is locked by another process.", headers={"Retry-After": "2"}
            ) from None

    def _start(self, connection: LockedConnection, statement: str) -> None:
        connection.execute(statement)

    def _commit(self, connection: LockedConnection) -> None:
        connection.execute("COMMIT")

    def _is_open(self, connection: LockedConnection) -> bool:
        return connection.in_transaction

    def _roll_back(self) -> None:
        self._writer.execute("ROLLBACK")

    # ---- the complete database

    def sizes(self) -> dict[str, int]:
        """Return sizes in bytes: "pages" of the database, "free" for its unused pages, and "wal"."""
        with self.read_one() as tx:
            page_size, page_count, free_count = (
                tx._connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_size", "page_count", "freelist_count")
            )
        wal = None if self.path is None else self.path.with_name(self.path.name + "-wal")
        wal_size = wal.stat().st_size if wal is not None and wal.exists() else 0
        return {"pages": page_size * page_count, "free": page_size * free_count, "wal": wal_size}

    def image(self) -> bytes:
        """Return the bytes of a database file with the current contents."""
        with self._lock:
            return self._writer.serialize()

    def set_random_source(self, random_bytes: Callable[[int], bytes]) -> None:
        """Let the SQL function ``randomblob`` return bytes of ``random_bytes``."""
        # SQLite cannot replace a function while a statement runs, so the function is set once and reads the attribute.
        if self._random_bytes is None:
            with self._lock:
                self._writer.create_function("randomblob", 1, self._get_random_bytes)
        self._random_bytes = random_bytes

    def _get_random_bytes(self, count: int) -> bytes:
        assert self._random_bytes is not None
        return self._random_bytes(count)

    def list_integrity_errors(self) -> list[str]:
        """Return the differences of the schema, and the errors of ``integrity_check`` and ``foreign_key_check``.

        A large database takes minutes. The check has a connection of its own, so that no other thread waits for it.
        """
        connection = self.open_separate_reader()
        try:
            with self.reading(connection):
                errors = schema.list_differences(connection, may_have_secrets=True)
                errors += [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
                rows = connection.execute("PRAGMA foreign_key_check").fetchall()
        finally:
            self.forget_separate_reader(connection)
            connection.close()
        return errors + [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in rows]

    def interrupt_thread(self, thread_id: int) -> None:
        """Interrupt the statement that the thread with this id is running, if any.

        The statement fails with a DatabaseError, and its transaction is rolled back. An interrupted commit, or a
        checkpoint after it, is either completed or undone.
        """
        with suppress(sqlite3.ProgrammingError):  # The connection has been closed.
            if self._owner == thread_id:
                self._writer.interrupt()
            for connection, thread in list(self._readers.items()):
                if thread is not None and thread.ident == thread_id:
                    connection.interrupt()
        if self.accounts is not self:
            self.accounts.interrupt_thread(thread_id)

    def limit_lock_waits(self, seconds: float) -> None:
        """From now on, a write fails if it has waited for another write for ``seconds``."""
        self._lock_seconds = seconds
        if self.accounts is not self:
            self.accounts.limit_lock_waits(seconds)

    def close(self) -> None:
        """Interrupt all reads and close every connection. Closing the last one checkpoints the WAL.

        Connections that are still in use after :data:`BREAK_SECONDS` remain open, because closing a connection frees
        its callbacks, which a running statement would call. All connections remain open if a thread is writing for
        longer than :meth:`limit_lock_waits` allows. They end with the process, as after a kill.
        """
        if self._lock.acquire(timeout=self._lock_seconds):
            try:
                self._close_connections()
            finally:
                self._lock.release()
        else:
            log.error("the database is not closed, because a thread is still writing")
        if self.accounts is not self:
            self.accounts.close()

    def _close_connections(self) -> None:
        with self._opening:
            self.closed = True
            until = time.monotonic() + BREAK_SECONDS
            for connection, thread in list(self._readers.items()):
                if thread is threading.current_thread():
                    connection.close()
                elif interrupt_until_idle(connection, until, _lock_if_idle):
                    connection.close()
                    connection.lock.release()
            for separate, lock in list(self._separate_readers.items()):
                if interrupt_until_idle(separate, until, partial(_try_lock, lock)):
                    separate.close()
            self._readers.clear()
            self._separate_readers.clear()
            self._writer.close()


def _lock_if_idle(connection: LockedConnection) -> bool:
    """Lock a reader if no thread is using it. Return True if it was locked."""
    return not connection.in_transaction and connection.lock.acquire(blocking=False)


def _try_lock(lock: threading.Lock, connection: sqlite3.Connection) -> bool:
    return lock.acquire(blocking=False)


def _create_file(path: Path) -> None:
    """Create a database file, completely or not at all, if there is none."""
    if path.exists():
        return
    try:
        # If path is a symbolic link, the file is created at its target, with mode 0600 too.
        write_new_file(path.resolve(), schema.build_image(), "database")
    except FileExistsError:
        pass  # Another process has just created it.
    except OSError as error:
        raise UsageError(f"{path} cannot be created: {error.strerror}") from None


@cache
def _load_as_of_queries() -> dict[str, str]:
    return as_of.adapt_queries(load_queries())


@cache
def load_queries() -> dict[str, str]:
    """Return the queries of ``sql/queries`` by name. Raise RuntimeError for a name that is used twice.

    A query is the text after a line ``-- name: NAME``. Text that several queries share follows a line ``-- part: NAME``
    and is inserted where a query says ``{NAME}``.
    """
    queries: dict[str, str] = {}
    for text in iter_texts("queries"):
        for section in f"\n{text}".replace("\n-- part: ", "\n-- name: part ").split("\n-- name: ")[1:]:
            name, _, query = section.partition("\n")
            if name in queries:
                raise RuntimeError(f"query {name} is defined twice")
            queries[name] = query.strip()

    placeholder = re.compile(r"\{(\w+)\}")

    def insert_parts(text: str) -> str:
        return placeholder.sub(lambda match: insert_parts(queries[f"part {match[1]}"]), text)

    return {
        name: insert_parts(query) if "{" in query else query
        for name, query in queries.items()
        if not name.startswith("part ")
    }
