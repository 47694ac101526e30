"""SQLite: one writer, readers beside it, and queries by name.

With ``sandbox.py`` the only module that imports sqlite3. It knows nothing of users, filings or HTTP.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from finapi.core.errors import ApiError, StoreUnavailableError, UsageError
from finapi.core.files import write_new
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
from finapi.store.write_transactions import BatchedWrite, WriteBlock

log = logging.getLogger("finapi.store")

Row = sqlite3.Row

Result = TypeVar("Result")

SQLITE = sqlite3.sqlite_version_info

# The database refused: a UNIQUE, CHECK or FOREIGN KEY that the statement would have broken.
ConstraintError = sqlite3.IntegrityError


def is_unique_violation(error: ConstraintError, table: str, column: str) -> bool:
    """Return True if ``error`` says that a value of this UNIQUE column is already in the table."""
    return str(error) == f"UNIQUE constraint failed: {table}.{column}"


# Any failure of the database: held by another process for too long, damaged, gone, full.
DatabaseError = sqlite3.Error
# Those of them that the machine is to blame for: a full disk, one that fails or may not be written.
OperationalError = sqlite3.OperationalError

# Primary result codes of the machine's trouble: READONLY, IOERR, FULL, CANTOPEN (sqlite.org/rescode.html).
_MACHINE = {8, 10, 13, 14}

CLOSED = "the database is closed"
TROUBLE_SECONDS = 60.0  # between two lines of the log that say so


class StoreUnwritableError(StoreUnavailableError, sqlite3.OperationalError):
    """The database cannot be written: its disk is full or fails, or its file is gone."""


class DatabaseDamagedError(StoreUnwritableError):
    """Pages of the database are damaged; the message says what to do."""

    shown = "What is stored is damaged and cannot be read."

    def __init__(self, error: object) -> None:
        super().__init__(f"it is damaged ({error}): {RESTORE_ADVICE}")


Values = Mapping[str, Any]
NO_VALUES: Values = {}


class Transaction:
    """One transaction on one connection; queries are called by their name in ``sql/queries``.

    A query takes its values by name, from a mapping, from keywords or from both. What the query does not name is
    ignored, so that one mapping serves several queries; a name without a value is sqlite3.ProgrammingError.
    """

    __slots__ = ("_connection", "_queries", "steps", "topics", "undo")

    def __init__(self, connection: sqlite3.Connection, queries: dict[str, str]) -> None:
        self._connection = connection
        self._queries = queries
        self.topics: set[str] = set()
        self.steps: tuple[Callable[[Database], None], ...] = ()
        # What else is to be put back when the transaction is rolled back, the last first.
        self.undo: list[Callable[[], None]] = []

    def announce(self, topic: str) -> None:
        """Call those who listen to ``topic`` (:meth:`Database.listen`) once the transaction is committed."""
        self.topics.add(topic)

    def run_after_commit(self, step: Callable[[Database], None]) -> None:
        """Call ``step`` with the database once the transaction is committed; once, however often it is wanted."""
        if step not in self.steps:
            self.steps = (*self.steps, step)

    def list_rows(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> list[Row]:
        """Every row of the query."""
        return self._execute(query, values, more).fetchall()

    def iter_rows(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> Iterator[Row]:
        """Every row of the query, one after the other, as they are taken: for more than fit into memory."""
        return iter(self._execute(query, values, more))

    def find_row(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> Row | None:
        """The first row, or None."""
        row: Row | None = self._execute(query, values, more).fetchone()
        return row

    def find_value(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> Any:
        """The first column of the first row, or None when there is no row."""
        row = self._execute(query, values, more).fetchone()
        return None if row is None else row[0]

    def list_page(self, query: str, values: Values, /) -> tuple[list[Row], int]:
        """The rows of a query and its column ``total``, how many there are in all: also of a page past the last."""
        rows = self.list_rows(query, values)
        first = rows or (self.list_rows(query, values, limit=1, offset=0) if values.get("offset") else [])
        return rows, first[0]["total"] if first else 0

    def run(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> int:
        """Execute a statement; how many rows it changed."""
        return self._execute(query, values, more).rowcount

    def insert_row(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> int:
        """Execute an INSERT; the rowid that it made."""
        return self._execute(query, values, more).lastrowid or 0

    # An INSERT that nothing follows in its transaction: another store ends it in the same round trip.
    insert_last = insert_row

    def _execute(self, query: str, values: Values, more: dict[str, Any]) -> sqlite3.Cursor:
        if values:
            more = {**values, **more}
        return self._connection.execute(self._queries[query], more)

    def insert_rows(self, query: str, rows: Iterable[Sequence[Any]]) -> int:
        """Execute an INSERT once for each row; how many rows that made or changed.

        These statements take their values by position: a dict for each of a million facts costs more than
        the insert itself.
        """
        return self._connection.executemany(self._queries[query], rows).rowcount


class Database:
    """An open database. ``write`` and ``read`` are the only two ways in.

    A file is opened in WAL mode: one connection writes, behind a lock, and each thread has a read connection
    of its own that cannot write. Without a path everything is in memory, on one connection behind the lock.
    """

    # Whether pages may be written by others, so that a connection of :meth:`open_separate_reader` is good for one use.
    is_copy = False

    def __init__(
        self, path: Path | None, *, synchronous: str = "FULL", reads_only: bool = False, checkpoints: bool = True
    ) -> None:
        """Open ``path``, or with None a database in memory.

        A file that does not exist is created, and an older schema is upgraded; with ``reads_only`` neither is done, and
        nothing of the file is changed. ``checkpoints`` is False where another process folds the WAL into the file.
        """
        self._prepare(path)
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
            self._file = status.st_ino, status.st_dev

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

    def _prepare(self, path: Path | None) -> None:
        self.path = path
        self._place = "" if path is None else str(path)
        # Where accounts are: here, beside the market data, unless another is put in its place.
        self.accounts = self
        self._queries = named_queries()
        self._lock = threading.RLock()
        self._wanting: set[int] = set()  # threads that wait for it to write
        self._local = threading.local()
        # None: of a thread that rests.
        self._readers: dict[LockedConnection, threading.Thread | None] = {}
        # With what its owner holds while it reads.
        self._separate_readers: dict[sqlite3.Connection, threading.Lock] = {}
        self._opening = threading.Lock()
        self.closed = False
        self._write_count = 0
        # Why nothing can be written, since the last attempt; None while all is well.
        self.trouble: str | None = None
        self._damaged = False
        self._say_at = 0.0
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._random_bytes: Callable[[int], bytes] | None = None
        # What waits for a commit, and whether a thread is there that will do it.
        self._waiting: deque[BatchedWrite] = deque()
        self._led = False
        self._gate = threading.Lock()

    def check_original(self) -> None:
        """CONFLICT (409) where this is a copy of what another process writes, before work that ends in a write."""

    def write(self) -> AbstractContextManager[Transaction]:
        """A write transaction: committed when the block ends, rolled back when it raises.

        BEGIN IMMEDIATE, because a deferred one that must upgrade fails under contention instead of waiting.
        A block inside another on the same thread would be half a transaction, and is refused. UNAVAILABLE
        (503) when another process holds the file.
        """
        return self._transaction(shared=False)

    def _transaction(self, *, shared: bool) -> AbstractContextManager[Transaction]:
        return WriteBlock(self, Transaction(self._writer, self._queries), shared)

    def with_larger_cache(self) -> AbstractContextManager[None]:
        """While it lasts the writer keeps more pages in memory: good for an ingest of many documents."""
        return with_larger_cache(self._writer, self._lock)

    def write_batched(self, work: Callable[[Transaction], Result], *, alone: bool = False) -> Result:
        """What ``work`` gives, run in a write transaction that it may share with the work of other threads.

        One commit, and its wait for the disk, serves all that came while the one before was under way. When a
        piece of work raises, all is undone and each piece is done again alone; a commit that fails fails them
        all. ``work`` must be short, and good to be called twice: ``tx.undo`` is for what is not in the database.
        :attr:`written` does not count it: what is kept in memory must not depend on what it changes. ``alone``: of what
        reads before it writes. Here one writes at a time; of a store that several processes share, none beside it.
        """
        if getattr(self._local, "writes", False):
            raise RuntimeError("a write transaction inside another")
        mine = BatchedWrite(work)
        with self._gate:
            self._waiting.append(mine)
            mine.leads, self._led = not self._led, True
        if not mine.leads:
            mine.turn.acquire()
        if mine.leads:
            self._lead()
        if mine.error is not None:
            raise mine.error
        result: Result = mine.result
        return result

    @property
    def has_waiting_writers(self) -> bool:
        """Whether others wait to write: a long transaction does well to end."""
        return bool(self._waiting or self._wanting)

    def _lead(self) -> None:
        """Do the work of all that wait, then let the first that came meanwhile do the same."""
        with self._lock:
            with self._gate:
                pieces = list(self._waiting)
                self._waiting.clear()
            self._do(pieces)
        with self._gate:
            self._led = bool(self._waiting)
            if self._led:
                self._waiting[0].leads = True
                self._waiting[0].turn.release()
        for piece in pieces:
            if not piece.leads:
                piece.turn.release()

    def _do(self, pieces: list[BatchedWrite]) -> None:
        began = 0
        try:
            with self._transaction(shared=True) as tx:
                for began, piece in enumerate(pieces, 1):  # noqa: B007
                    piece.result = piece.work(tx)
                began = 0
        except BaseException as error:
            if began and len(pieces) > 1:
                # A savepoint for each piece would cost every call what almost none needs.
                for piece in pieces:
                    self._do([piece])
            else:
                for piece in pieces:
                    piece.error = error

    def _tell(self, tx: Transaction) -> None:
        for topic in tx.topics:
            for listener in self._listeners.get(topic, ()):
                listener()
        for step in tx.steps:
            step(self)

    def listen(self, topic: str, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every commit of a transaction that announced ``topic``.

        It is called in the thread that wrote and must be quick: it wakes whoever does the work.
        """
        self._listeners.setdefault(topic, []).append(listener)

    def unlisten(self, topic: str, listener: Callable[[], None]) -> None:
        """Call ``listener`` no more."""
        with suppress(ValueError):
            self._listeners.get(topic, []).remove(listener)

    @property
    def write_count(self) -> int:
        """A number that rises whenever something cached from this store may be out of date.

        Here one process writes, so it counts the transactions of :meth:`write` that were committed.
        """
        return self._write_count

    def follow_changes(self) -> None:
        """Begin to hear of what other processes commit; nothing of a store that one process has to itself."""

    def elect(self, seconds: float, deposed: Callable[[], None]) -> bool:
        """Whether this process may do the work that one alone does. Who has the file has it to itself.

        Of a store that processes share: whether it is elected within so many seconds. ``deposed`` is called when
        another works in its place, after a time in which the store could not be reached.
        """
        return True

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read transaction: everything read in the block is of one moment. One inside another is refused."""
        if self.path is None:
            with self._lock, self._reading(self._writer):
                # The one connection can write: not here, as a reader of a file cannot.
                self._writer.execute("PRAGMA query_only=ON")
                try:
                    yield Transaction(self._writer, self._queries)
                finally:
                    self._writer.execute("PRAGMA query_only=OFF")
        else:
            connection = self._reader()
            with connection.lock, self._reading(connection):
                yield Transaction(connection, self._queries)

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """For one query that answers everything: what :meth:`read` gives, without a transaction around it."""
        if self.path is None:
            with self.read() as tx:
                yield tx
        else:
            connection = self._reader()
            try:
                with connection.lock:
                    yield Transaction(connection, self._queries)
            except sqlite3.DatabaseError as error:
                self._judge_read(error)
                raise

    def _judge(self, error: BaseException) -> None:
        """Raise Unwritable for an error that is the machine's, and say so now and then."""
        self._judge_read(error)
        if get_result_code(error) not in _MACHINE and not isinstance(error, StoreUnwritableError):
            return
        self._say("the database cannot be written: %s", error)
        self.trouble = str(error)
        raise StoreUnwritableError(str(error)) from None

    def _judge_read(self, error: BaseException) -> None:
        """Raise Damaged for an error that comes of damaged pages. No write that succeeds makes them whole."""
        if isinstance(error, DatabaseDamagedError):
            raise error
        if is_damage(error):
            damaged = DatabaseDamagedError(error)
            self._say("the database cannot be read: %s", damaged)
            self.trouble, self._damaged = str(damaged), True
            raise damaged from None

    def _say(self, line: str, error: BaseException) -> None:
        now = time.monotonic()
        if self.trouble is None or now >= self._say_at:
            log.error(line, error)
            self._say_at = now + TROUBLE_SECONDS

    def _check_place(self) -> None:
        # What is written to a file that has been deleted is lost with the process.
        if not self._place:
            return
        try:
            there = os.stat(self._place)
        except OSError:
            there = None
        if there is None or (there.st_ino, there.st_dev) != self._file:
            self._judge(StoreUnwritableError("its file is gone"))

    def _begin(self) -> None:
        self._check_place()
        try:
            self._start(self._writer, "BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self._judge(error)
            if "locked" not in str(error):
                raise
            raise ApiError(
                "UNAVAILABLE", "The database is locked by another process.", headers={"Retry-After": "2"}
            ) from None

    @contextmanager
    def _reading(self, connection: sqlite3.Connection) -> Iterator[None]:
        if self._is_open(connection):
            raise RuntimeError("a read transaction inside another")
        self._start(connection, "BEGIN")
        try:
            yield
        except sqlite3.DatabaseError as error:
            self._judge_read(error)
            raise
        finally:
            # A failed read may have ended the transaction by itself.
            if self._is_open(connection):
                # Nothing was written; what was wrong with reading is wrong with this too.
                with suppress(sqlite3.DatabaseError):
                    self._commit(connection)

    # What begins and ends a transaction: ``layered`` has others.

    def _start(self, connection: sqlite3.Connection, how: str) -> None:
        connection.execute(how)

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")

    def _is_open(self, connection: sqlite3.Connection) -> bool:
        return connection.in_transaction

    def _undo(self) -> None:
        self._writer.execute("ROLLBACK")

    def sizes(self) -> dict[str, int]:
        """Bytes of the database ("pages"), of them unused ("free"), and of the write-ahead log ("wal")."""
        with self.read_one() as tx:
            page, pages, free = (
                tx._connection.execute(f"PRAGMA {what}").fetchone()[0]
                for what in ("page_size", "page_count", "freelist_count")
            )
        wal = None if self.path is None else self.path.with_name(self.path.name + "-wal")
        written = wal.stat().st_size if wal is not None and wal.exists() else 0
        return {"pages": page * pages, "free": page * free, "wal": written}

    def open_separate_reader(self) -> sqlite3.Connection:
        """A connection of its own that reads what is committed; of a database in memory, a copy as it is now.

        It keeps no compiled statement: a caller's may be large. It is read within :meth:`reading`, and closed by
        :meth:`close` at the latest.
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
        """Read a :meth:`open_separate_reader` in the block, which :meth:`close` breaks off and waits for."""
        with self._separate_readers.get(connection) or nullcontext():  # none of a database in memory
            if self.closed:
                raise sqlite3.ProgrammingError("the database is closed")
            yield

    def image(self) -> bytes:
        """The bytes of a database file with what this one holds now."""
        with self._lock:
            return self._writer.serialize()

    def set_random_source(self, random_bytes: Callable[[int], bytes]) -> None:
        """Take what SQL draws by chance (``randomblob``) from a source of the caller's."""
        # SQLite takes no function while a statement runs: it is given one that asks for today's source.
        if self._random_bytes is None:
            with self._lock:
                self._writer.create_function("randomblob", 1, self._drawn)
        self._random_bytes = random_bytes

    def _drawn(self, count: int) -> bytes:
        assert self._random_bytes is not None
        return self._random_bytes(count)

    def forget_separate_reader(self, connection: sqlite3.Connection) -> None:
        """Drop a :meth:`open_separate_reader` that its owner has closed."""
        self._separate_readers.pop(connection, None)

    def list_integrity_errors(self) -> list[str]:
        """What ``integrity_check`` and ``foreign_key_check`` find wrong; an empty list when all is well.

        It takes minutes of a large database, on a connection of its own: nobody waits for it.
        """
        connection = self.open_separate_reader()
        try:
            with self.reading(connection):
                found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
                rows = connection.execute("PRAGMA foreign_key_check").fetchall()
        finally:
            self.forget_separate_reader(connection)
            connection.close()
        return found + [f"{row[0]} row {row[1]} refers to a missing {row[2]}" for row in rows]

    def close(self) -> None:
        """Close every connection, breaking off what is read; the last one folds the WAL into the file.

        Those that do not rest within :data:`BREAK_SECONDS` are left to their threads: a connection that is closed frees
        its callbacks, and a statement that runs would call them.
        """
        with self._lock, self._opening:
            self.closed = True
            until = time.monotonic() + BREAK_SECONDS
            for connection, thread in list(self._readers.items()):
                if thread is threading.current_thread():
                    connection.close()
                elif interrupt_until_idle(connection, until, _at_rest):
                    connection.close()
                    connection.lock.release()
            for separate, held in list(self._separate_readers.items()):
                if interrupt_until_idle(separate, until, partial(_taken, held)):
                    separate.close()
            self._readers.clear()
            self._separate_readers.clear()
            self._writer.close()
        if self.accounts is not self:
            self.accounts.close()

    def _reader(self) -> LockedConnection:
        if self.closed:
            raise sqlite3.ProgrammingError(CLOSED)
        connection: LockedConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._new_reader()
        return connection

    def release_reader(self) -> None:
        """Leave this thread's connection, 600 KB, to whoever reads next: for threads that then wait for seconds."""
        connection: LockedConnection | None = self._local.__dict__.pop("connection", None)
        if connection is not None:
            with self._opening:
                if connection in self._readers:
                    self._readers[connection] = None

    def _new_reader(self) -> LockedConnection:
        """A connection for this thread: one whose thread rests or has ended, or a new one.

        Checks have a new thread each time, and a connection that nobody closes is two open files.
        """
        assert self.path is not None
        # Not behind the writer's lock: a reader never waits for a write.
        with self._opening:
            if self.closed:
                raise sqlite3.ProgrammingError(CLOSED)
            left = (one for one, thread in self._readers.items() if thread is None or not thread.is_alive())
            connection = next(left, None) or connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
            self._readers[connection] = threading.current_thread()
        return connection


def _at_rest(connection: LockedConnection) -> bool:
    """Whether nobody reads by a connection, which is then held."""
    return not connection.in_transaction and connection.lock.acquire(blocking=False)


def _taken(held: threading.Lock, connection: sqlite3.Connection) -> bool:
    return held.acquire(blocking=False)


def _create_file(path: Path) -> None:
    """Create a database file, completely or not at all, if there is none."""
    if path.exists():
        return
    try:
        # The target of a link, so that the new file is its owner's alone there too.
        write_new(path.resolve(), schema.build_image(), "database")
    except FileExistsError:
        pass  # Another process was first.
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from None


@cache
def named_queries() -> dict[str, str]:
    """Every query of ``sql/queries`` by its name; a name used twice is a RuntimeError.

    What several share is written once, below a line ``-- part: NAME``, and stands in them as ``{NAME}``.
    """
    found: dict[str, str] = {}
    for text in iter_texts("queries"):
        for piece in f"\n{text}".replace("\n-- part: ", "\n-- name: part ").split("\n-- name: ")[1:]:
            name, _, query = piece.partition("\n")
            if name in found:
                raise RuntimeError(f"query {name} is defined twice")
            found[name] = query.strip()

    named = re.compile(r"\{(\w+)\}")

    def whole(text: str) -> str:
        return named.sub(lambda part: whole(found[f"part {part[1]}"]), text)

    return {name: whole(one) if "{" in one else one for name, one in found.items() if name[:5] != "part "}
