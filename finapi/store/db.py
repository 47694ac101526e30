"""SQLite: one connection that writes, one for each thread that reads, and queries by name.

A write holds a lock and is one transaction. Readers have connections of their own and never wait for a write. Queries
are in ``sql/queries`` and are called by name. With its neighbours in this package this is the only module that imports
sqlite3; it knows nothing of users, filings or HTTP.
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
from finapi.store import schema
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

# A statement that would have violated a UNIQUE, CHECK or FOREIGN KEY constraint.
ConstraintError = sqlite3.IntegrityError


def is_unique_violation(error: ConstraintError, table: str, column: str) -> bool:
    """Return True if ``error`` says that a value of this UNIQUE column is already in the table."""
    return str(error) == f"UNIQUE constraint failed: {table}.{column}"


# Any failure of the database: locked by another process for too long, damaged, gone, full.
DatabaseError = sqlite3.Error
# A failure that is not a mistake in a statement: mostly a full disk, or one that fails or is read-only.
OperationalError = sqlite3.OperationalError

# Primary result codes of failures of the machine: READONLY, IOERR, FULL, CANTOPEN (sqlite.org/rescode.html).
_MACHINE_CODES = {8, 10, 13, 14}

CLOSED = "the database is closed"
TROUBLE_SECONDS = 60.0  # Between two lines of the log about the same trouble.


class StoreUnwritableError(StoreUnavailableError, sqlite3.OperationalError):
    """The database cannot be written: its disk is full or fails, or its file is gone."""


class DatabaseDamagedError(StoreUnwritableError):
    """Pages of the database are damaged; the message says what to do."""

    public_message = "What is stored is damaged and cannot be read."

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
        # Called in reverse order if the transaction is rolled back: they undo changes outside the database.
        self.undo: list[Callable[[], None]] = []

    def announce(self, topic: str) -> None:
        """Call the listeners of ``topic`` (:meth:`Database.listen`) once the transaction is committed."""
        self.topics.add(topic)

    def run_after_commit(self, step: Callable[[Database], None]) -> None:
        """Call ``step`` with the database once the transaction is committed; only once if it is added twice."""
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

    # True if another process may write the file, so that a connection of open_separate_reader is good for one use.
    is_copy = False

    def __init__(
        self, path: Path | None, *, synchronous: str = "FULL", reads_only: bool = False, checkpoints: bool = True
    ) -> None:
        """Open ``path``, or with None a database in memory.

        A file that does not exist is created, and an older schema is upgraded. With ``reads_only`` neither is done, and
        nothing in the file is changed. ``checkpoints`` is False where another process folds the WAL into the file.
        """
        self._set_up(path)
        if path is None:
            self._writer = connect(":memory:")
            schema.empty().backup(self._writer)
            self._writer.execute("PRAGMA foreign_keys=ON")
            self._draw_stamp()
            return
        if reads_only:
            self._writer = connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            with self._closing_on_error(path):
                schema.check_is_current(self._writer, path)
            return
        _create_file(path)
        self._writer = connect(str(path))
        with self._closing_on_error(path):
            schema.read_version(self._writer, path)  # Before anything in the file is changed.
            self._writer.execute("PRAGMA journal_mode=WAL")
            self._writer.execute("PRAGMA foreign_keys=ON")
            # The setting allows two words; PRAGMA takes no parameters.
            self._writer.execute(f"PRAGMA synchronous={synchronous}")
            if not checkpoints:
                disable_checkpoints(self._writer)
            if schema.upgrade(self._writer, path) and checkpoints:
                # All that the upgrade wrote is in the WAL, which would keep its size until the next stop.
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            schema.create_full_text(self._writer)
            self._draw_stamp()
            status = os.stat(path)
            self._file_id = status.st_ino, status.st_dev

    def _set_up(self, path: Path | None) -> None:
        """Set the attributes that do not depend on how the database is opened."""
        self.path = path
        self._path_text = "" if path is None else str(path)
        # The store of accounts: this database, unless they are in PostgreSQL.
        self.accounts = self
        self._queries = named_queries()
        self._lock = threading.RLock()  # Of the connection that writes.
        self._lock_seconds = -1.0  # That a write waits for the lock; -1: as long as it takes.
        self._owner: int | None = None  # Id of the thread that writes now.
        self._waiting_writers: set[int] = set()  # Ids of threads that wait for the lock.
        self._batcher = WriteBatcher(self)
        self._local = threading.local()
        # Readers and the threads that use them; None for one that its thread has released.
        self._readers: dict[LockedConnection, threading.Thread | None] = {}
        # Separate readers, each with a lock that is held while it reads.
        self._separate_readers: dict[sqlite3.Connection, threading.Lock] = {}
        self._opening = threading.Lock()  # Of ``_readers``.
        self.closed = False
        self._write_count = 0
        # Why nothing can be written, since the last attempt. None: it can.
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

    def _draw_stamp(self) -> None:
        """Give new data a random stamp, so that cached values of other data are not taken for values of these."""
        if not self._writer.execute(self._queries["data_stamp"]).fetchone()[0]:
            self._writer.execute(self._queries["new_data_stamp"])

    def check_original(self) -> None:
        """Raise CONFLICT (409) if this is a copy of what another process writes: before work that ends in a write."""

    # ---- writing

    def write(self) -> AbstractContextManager[Transaction]:
        """Return a write transaction: a block that commits at its end and rolls back if it raises.

        It begins with BEGIN IMMEDIATE, because a deferred one that has to upgrade fails under contention instead of
        waiting. A block inside another one on the same thread raises RuntimeError. A file that another process has
        locked raises UNAVAILABLE (503).
        """
        return self._transaction(shared=False)

    def _transaction(self, *, shared: bool) -> AbstractContextManager[Transaction]:
        return WriteBlock(self, Transaction(self._writer, self._queries), shared)

    def write_batched(self, work: Callable[[Transaction], Result], *, alone: bool = False) -> Result:
        """Run ``work`` in a write transaction that it may share with the work of other threads. Return its result.

        One commit, with its wait for the disk, serves all work that arrived while the commit before was under way. If a
        piece of work raises, everything is rolled back and each piece is run again alone; a commit that fails fails for
        all. So ``work`` must be short and must bear being called twice; ``tx.undo`` undoes what it changes outside the
        database. :attr:`write_count` does not count it: nothing that is cached may depend on what ``work`` changes.

        ``alone`` is for work that reads before it writes. SQLite has one writer, so it makes a difference only in a
        store that several processes share.
        """
        if getattr(self._local, "writes", False):
            raise RuntimeError("a write transaction inside another")
        result: Result = self._batcher.run(work)
        return result

    def with_larger_cache(self) -> AbstractContextManager[None]:
        """Return a block in which the writer keeps more pages in memory, for an ingest of many documents."""
        return with_larger_cache(self._writer, self._lock)

    @property
    def has_waiting_writers(self) -> bool:
        """True if other threads wait to write, so that a long transaction should end soon."""
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
        """A number that rises whenever something cached from this store may be out of date.

        Here one process writes, so it counts the transactions of :meth:`write` that were committed.
        """
        return self._write_count

    def follow_changes(self) -> None:
        """Start to hear of what other processes commit. A file is written by one process: there is nothing to hear."""

    def elect(self, seconds: float, deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the one that works within ``seconds``.

        The process that has the file has it alone. In a store that processes share, ``deposed`` is called when another
        process works in the place of this one, after a time in which the store could not be reached.
        """
        return True

    # ---- reading

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Read in a transaction: everything read in the block is of one moment. Raise RuntimeError inside another."""
        if self.path is None:
            with self._lock, self._reading(self._writer):
                # This connection could write; a reader of a file cannot.
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
        """Read with a single query, which needs no transaction around it."""
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
    def _reading(self, connection: LockedConnection) -> Iterator[None]:
        """Run the block in a read transaction on a connection."""
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
        """Return the connection by which this thread reads."""
        if self.closed:
            raise sqlite3.ProgrammingError(CLOSED)
        connection: LockedConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._take_reader()
        return connection

    def _take_reader(self) -> LockedConnection:
        """Return a connection whose thread has released it or has ended, or a new one.

        Reuse matters: checks of the watchdog run in new threads, and each connection is two open files.
        """
        assert self.path is not None
        # Not behind the lock of the writer: a reader never waits for a write.
        with self._opening:
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            unused = (reader for reader, thread in self._readers.items() if thread is None or not thread.is_alive())
            reader = next(unused, None) or connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
            self._readers[reader] = threading.current_thread()
        return reader

    def release_reader(self) -> None:
        """Leave this thread's connection, which takes 600 KB, to other threads. For threads that then wait."""
        connection: LockedConnection | None = self._local.__dict__.pop("connection", None)
        if connection is not None:
            with self._opening:
                if connection in self._readers:
                    self._readers[connection] = None

    def open_separate_reader(self) -> sqlite3.Connection:
        """Open a connection that reads what is committed; of a database in memory, a copy of it.

        It caches no compiled statements, because those of callers may be large. Use it within :meth:`reading`. It is
        closed by :meth:`close` at the latest.
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
        """Hold a separate reader while the block reads it: :meth:`close` interrupts it and waits for the block."""
        lock = self._separate_readers.get(connection)  # None for a database in memory.
        with lock or nullcontext():
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            yield

    def forget_separate_reader(self, connection: sqlite3.Connection) -> None:
        """Forget a separate reader that its owner has closed."""
        self._separate_readers.pop(connection, None)

    # ---- failures

    def _raise_machine_error(self, error: BaseException) -> None:
        """Raise StoreUnwritableError if the machine caused an error, and log it from time to time."""
        self._raise_if_damaged(error)
        if get_result_code(error) not in _MACHINE_CODES and not isinstance(error, StoreUnwritableError):
            return
        self._log_trouble("the database cannot be written: %s", error)
        self.trouble = str(error)
        raise StoreUnwritableError(str(error)) from None

    def _raise_if_damaged(self, error: BaseException) -> None:
        """Raise DatabaseDamagedError if damaged pages caused an error. A later write that succeeds repairs nothing."""
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
        """Raise StoreUnwritableError if the file was deleted or replaced: what is written to it would be lost."""
        if not self._path_text:
            return
        try:
            status = os.stat(self._path_text)
        except OSError:
            status = None
        if status is None or (status.st_ino, status.st_dev) != self._file_id:
            self._raise_machine_error(StoreUnwritableError("its file is gone"))

    # ---- how a transaction begins and ends; LayeredDatabase has other ways

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

    # ---- the database in total

    def sizes(self) -> dict[str, int]:
        """Return the bytes of the database ("pages"), its unused bytes ("free") and those of the WAL ("wal")."""
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
                self._writer.create_function("randomblob", 1, self._draw_random_bytes)
        self._random_bytes = random_bytes

    def _draw_random_bytes(self, count: int) -> bytes:
        assert self._random_bytes is not None
        return self._random_bytes(count)

    def list_integrity_errors(self) -> list[str]:
        """Return the errors that ``integrity_check`` and ``foreign_key_check`` find.

        A large database takes minutes. The check has a connection of its own, so that no other thread waits for it.
        """
        connection = self.open_separate_reader()
        try:
            with self.reading(connection):
                errors = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
                rows = connection.execute("PRAGMA foreign_key_check").fetchall()
        finally:
            self.forget_separate_reader(connection)
            connection.close()
        return errors + [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in rows]

    def break_off(self, thread_id: int) -> None:
        """Break off the statement that a thread runs now, if it runs one.

        The statement fails with a DatabaseError, and its transaction is rolled back. A commit stands or is undone, and
        so does the folding of the WAL into the file that follows it.
        """
        with suppress(sqlite3.ProgrammingError):  # closed by now
            if self._owner == thread_id:
                self._writer.interrupt()
            for connection, thread in list(self._readers.items()):
                if thread is not None and thread.ident == thread_id:
                    connection.interrupt()
        if self.accounts is not self:
            self.accounts.break_off(thread_id)

    def limit_lock_waits(self, seconds: float) -> None:
        """From now on, let a write wait at most so long for another one to end, and fail then."""
        self._lock_seconds = seconds
        if self.accounts is not self:
            self.accounts.limit_lock_waits(seconds)

    def close(self) -> None:
        """Interrupt all reads and close every connection. The last one folds the WAL into the file.

        Connections that are still in use after :data:`BREAK_SECONDS` are left to their threads: closing a connection
        frees its callbacks, which a running statement would call. All are left if a thread goes on writing for longer
        than :meth:`limit_lock_waits` allows: the end of the process closes them as a kill would.
        """
        if self._lock.acquire(timeout=self._lock_seconds):
            try:
                self._close_connections()
            finally:
                self._lock.release()
        else:
            log.error("the database is not closed, as a thread goes on writing")
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
    """Lock a reader if no thread reads by it. Return True if it was locked."""
    return not connection.in_transaction and connection.lock.acquire(blocking=False)


def _try_lock(lock: threading.Lock, connection: sqlite3.Connection) -> bool:
    return lock.acquire(blocking=False)


def _create_file(path: Path) -> None:
    """Create a database file, completely or not at all, if there is none."""
    if path.exists():
        return
    try:
        # The target of a link, so that the new file is its owner's alone there too.
        write_new_file(path.resolve(), schema.build_image(), "database")
    except FileExistsError:
        pass  # Another process was first.
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from None


@cache
def named_queries() -> dict[str, str]:
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
