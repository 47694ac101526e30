"""Accounts in PostgreSQL, with the same queries as in SQLite.

``sql/postgres/schema.sql`` defines functions that SQLite has built in. Statements of a transaction wait until a result
is needed and are then sent together, so that a billed call takes two round trips. This module is imported only if
``accounts_url`` is set, as psycopg is an optional dependency (``finapi-server[postgres]``).
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import socket
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper

from finapi.core.errors import UsageError
from finapi.store import schema, sql_files
from finapi.store.account_changes import CHANNEL, MAX_SILENCE_SECONDS, ChangeListener
from finapi.store.account_moves import MoveMark, UndecidedMoveError
from finapi.store.db import (
    NO_VALUES,
    ConstraintError,
    Database,
    DatabaseError,
    StoreUnwritableError,
    Transaction,
    Values,
)
from finapi.store.tables import ACCOUNTS, PREFILLED

log = logging.getLogger("finapi.store")

Result = TypeVar("Result")

CONNECT_SECONDS = 3
# How long a move waits until PostgreSQL has closed the connections of a process that has just ended.
EXCLUSIVE_USE_SECONDS = 5.0
EXCLUSIVE_USE_POLL_SECONDS = 0.2
# PostgreSQL's limits. A node that stops in the middle of a transaction keeps the others from writing for IDLE_SECONDS.
IDLE_SECONDS = 10
STATEMENT_SECONDS = 60
LOCK_SECONDS = 5
CANCEL_SECONDS = 0.5  # How long a cancelled statement has to end before its connection is cut.
# JIT compilation takes 0.2 s, more than any statement, and PostgreSQL uses it for tables without statistics.
OPTIONS = (
    f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s "
    f"-c idle_in_transaction_session_timeout={IDLE_SECONDS}s -c timezone=UTC -c client_encoding=UTF8 -c jit=off"
)

# Keys of advisory locks. WRITE_LOCK is held during a transaction. USE_LOCK is shared by all connections while they are
# open. A move holds it exclusively, so that no other process can open the accounts meanwhile.
WRITE_LOCK = 0x66696E61
USE_LOCK = 0x66696E63

# A transaction that reads before it writes has exclusive access to the accounts, as in SQLite. The single statements of
# :meth:`write_batched` cannot disturb one another. They take the shared lock, which only excludes such transactions.
LOCK_EXCLUSIVE = f"SELECT pg_advisory_xact_lock({WRITE_LOCK})"
LOCK_SHARED = f"SELECT pg_advisory_xact_lock_shared({WRITE_LOCK})"

# A statement of sql/postgres/schema.sql that creates a table: the name and the lines between the parentheses. In those
# lines names of columns begin with a small letter and constraints with a capital one.
_TABLE = re.compile(r"^CREATE TABLE (\w+) \($(.*?)^\);", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"^    ([a-z_0-9]+) ", re.MULTILINE)


class PostgresUnreachableError(StoreUnwritableError):
    """PostgreSQL cannot be reached, or takes too long."""

    public_message = "Accounts cannot be reached at the moment."


class Row(tuple[Any, ...]):
    """A row with access by index and by column name, like ``sqlite3.Row``."""

    names: ClassVar[Mapping[str, int]] = {}

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.names[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.names)


@cache
def _build_row_class(names: tuple[str, ...]) -> type[Row]:
    return type("Row", (Row,), {"names": {name: number for number, name in enumerate(names)}})


def _build_row_factory(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Any]:
    return _build_row_class(tuple(column.name for column in cursor.description or ()))


@cache
def translate_query(query: str) -> str:
    """Return a query with psycopg's parameters (``%(name)s``, ``%s``). ``LIMIT -1`` means no limit, as in SQLite."""
    parts = re.split(r"('[^']*')", re.sub(r"--[^\n]*", "", query).replace("%", "%%"))
    for number in range(0, len(parts), 2):
        text = re.sub(r"LIMIT (:[a-z_]\w*)", r"LIMIT nullif(\1, -1)", parts[number])
        text = re.sub(r"(?<!:):([a-z_]\w*)", r"%(\1)s", text).replace("?", "%s")
        parts[number] = text.replace("CROSS JOIN", "JOIN")
    return "".join(parts).strip()


class _BoolDumper(Dumper):
    """Sends True and False as 1 and 0, as they are stored in SQLite."""

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"

    def quote(self, obj: Any) -> bytes:
        return self.dump(obj)


class _TextDumper(StrDumper):
    """Sends a text. The character NUL, which PostgreSQL cannot store, becomes U+FFFD."""

    def dump(self, obj: str) -> bytes:
        return bytes(super().dump(obj.replace("\0", "\ufffd")) or b"")


class _NumericLoader(Loader):
    """Loads the result of a sum or a division as int, or as float if it has a fraction."""

    def load(self, data: Any) -> Any:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _BoolLoader(Loader):
    """Loads a boolean as 1 or 0."""

    def load(self, data: Any) -> Any:
        return int(bytes(data) == b"t")


def _describe_refusal(error: psycopg.IntegrityError) -> str:
    """Return the message of a refused statement; for a UNIQUE column it is SQLite's message.

    PostgreSQL names the constraint of a UNIQUE column ``<table>_<column>_key``.
    """
    table, constraint = error.diag.table_name or "", error.diag.constraint_name or ""
    if isinstance(error, psycopg.errors.UniqueViolation) and re.fullmatch(f"{re.escape(table)}_.+_key", constraint):
        return f"UNIQUE constraint failed: {table}.{constraint[len(table) + 1 : -len('_key')]}"
    return str(error)


@contextmanager
def _translating_errors() -> Iterator[None]:
    """Convert PostgreSQL errors that the block raises to the errors of ``db``."""
    try:
        yield
    except psycopg.IntegrityError as error:
        raise ConstraintError(_describe_refusal(error)) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise PostgresUnreachableError(" ".join(str(error).split())) from error
    except psycopg.Error as error:
        raise DatabaseError(str(error)) from error


class PostgresTransaction(Transaction):
    """A transaction whose statements wait until a result is needed, and are then sent in one round trip."""

    __slots__ = ("_pg_connection", "_waiting_statements", "commit_lost", "has_sent", "is_ended")

    def __init__(self, connection: Any, queries: dict[str, str], *first: str) -> None:
        super().__init__(connection, queries)
        self._pg_connection = connection
        self._waiting_statements = list(first)
        self.has_sent = False
        self.is_ended = False
        # True if the connection broke before the response to COMMIT, so that the outcome is unknown.
        self.commit_lost = False

    def insert_row(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> int:
        """Execute an INSERT. Return the id of the new row."""
        row = self._send(self._format_statement(query, {**values, **parameters}) + " RETURNING id").fetchone()
        return row[0] if row else 0

    def insert_last(self, query: str, values: Values = NO_VALUES, /, **parameters: Any) -> int:
        """Execute an INSERT and commit in the same round trip. Return the id of the new row."""
        self.is_ended = True
        return self.insert_row(query, values, **parameters)

    def insert_rows(self, query: str, rows: Iterable[Sequence[Any]]) -> int:
        """Add a statement for each row to the next round trip. Return -1, as the number of rows is not known."""
        self._waiting_statements += [self._format_statement(query, tuple(row)) for row in rows]
        return -1

    def end(self, *last: str) -> None:
        """Send the waiting statements and ``last`` (COMMIT), or nothing if the transaction has no statements."""
        if self.has_sent or len(self._waiting_statements) > 2:
            self._waiting_statements += last[:-1]
            self._send(last[-1])

    def _execute(self, query: str, values: Values, parameters: dict[str, Any]) -> Any:
        return self._send(self._format_statement(query, {**values, **parameters}))

    def _format_statement(self, query: str, values: Any) -> str:
        with _translating_errors():
            text: str = psycopg.ClientCursor(self._pg_connection).mogrify(translate_query(self._queries[query]), values)
            return text

    def _send(self, statement: str) -> Any:
        statements = [*self._waiting_statements, statement]
        if self.is_ended:
            statements.append("COMMIT")
        results_before = len(self._waiting_statements)
        self.has_sent, self._waiting_statements = True, []
        cursor = psycopg.ClientCursor(self._pg_connection, row_factory=_build_row_factory)
        try:
            with _translating_errors():
                # Without parameters psycopg uses the simple protocol, which allows several statements in one message.
                cursor.execute(";\n".join(statements))
                for _ in range(results_before):
                    cursor.nextset()
        except PostgresUnreachableError:
            self.commit_lost = statements[-1] == "COMMIT" and self._pg_connection.closed
            raise
        return cursor


class Postgres(Database):
    """Accounts in a PostgreSQL database, which any number of processes can share.

    ``write`` excludes every other writer of every process, as in SQLite. ``write_batched`` runs in parallel with others
    of its kind. Each transaction borrows a connection from a pool.
    """

    def __init__(
        self, url: str, *, schema: str = "", exclusive: bool = False, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Connect, and create or upgrade the schema.

        Raise UsageError if the accounts were moved away or are being moved. With ``exclusive``, which a move uses, they
        are opened nevertheless, and no other process may use them.
        """
        self._set_up(None)
        self._url = url
        self._exclusive = exclusive
        self._opened = False
        self._options = OPTIONS + (f" -c search_path={schema}" if schema else "")
        if exclusive:
            # A move must be on the disk before it is decided.
            self._options += " -c synchronous_commit=on"
        self._idle_connections: deque[Any] = deque()
        self._connection_by_thread: dict[int, Any] = {}  # Connections in use, by thread id.
        self._cancelled_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        self._process_id = uuid4().hex
        self._monotonic = monotonic
        self._changes = ChangeListener(
            self._connect, self._process_id, self._note_changes, self._handle_listen_failure, monotonic
        )
        self._write_count_lock = threading.Lock()
        self._write_count_raised_at = monotonic()
        try:
            with _translating_errors(), self._borrow_connection() as connection:
                prepare_schema(connection)
                self._check_mark(connection)
            self._opened = True
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        if self.closed:
            raise sqlite3.ProgrammingError("the database is closed")
        with _translating_errors():
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                options=self._options,
                tcp_user_timeout=1000 * IDLE_SECONDS,
                application_name="finapi",
            )
        connection.adapters.register_dumper(bool, _BoolDumper)
        connection.adapters.register_dumper(str, _TextDumper)
        connection.adapters.register_loader("numeric", _NumericLoader)
        connection.adapters.register_loader("bool", _BoolLoader)
        try:
            with _translating_errors():
                self._take_use_lock(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_use_lock(self, connection: Any) -> None:
        """Take the lock that excludes moves, or for a move take it exclusively.

        Raise if a mark forbids to use the accounts.
        """
        if self._exclusive:
            deadline = time.monotonic() + EXCLUSIVE_USE_SECONDS
            while not connection.execute(f"SELECT pg_try_advisory_lock({USE_LOCK})").fetchone()[0]:
                if time.monotonic() >= deadline:
                    raise UsageError("another finapi uses the accounts in PostgreSQL; stop every node first")
                threading.Event().wait(EXCLUSIVE_USE_POLL_SECONDS)
            return
        if not connection.execute(f"SELECT pg_try_advisory_lock_shared({USE_LOCK})").fetchone()[0]:
            self._refuse("the accounts there are being moved by finapi move", UndecidedMoveError)
        if self._opened:
            self._check_mark(connection)

    def _check_mark(self, connection: Any) -> None:
        mark = None if self._exclusive else _read_mark(connection)
        if mark is not None:
            self._refuse(mark.describe(), UsageError if mark.state == "left" else UndecidedMoveError)

    def _refuse(self, message: str, error: type[UsageError]) -> NoReturn:
        """Raise ``error`` at the start. In a running process raise the error that becomes a 503 instead."""
        raise PostgresUnreachableError(message) if self._opened else error(message)

    @contextmanager
    def _borrow_connection(self) -> Iterator[Any]:
        try:
            connection = self._idle_connections.pop()
        except IndexError:
            connection = self._connect()
        thread_id = threading.get_ident()
        before = self._connection_by_thread.get(thread_id)
        self._connection_by_thread[thread_id] = connection
        try:
            yield connection
        except PostgresUnreachableError:
            # Idle connections lead to the same unreachable server.
            while self._idle_connections:
                self._idle_connections.pop().close()
            raise
        finally:
            if before is None:
                del self._connection_by_thread[thread_id]
            else:
                self._connection_by_thread[thread_id] = before
            if self.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                connection.close()
            else:
                self._idle_connections.append(connection)

    @contextmanager
    def _open_transaction(self, *first: str) -> Iterator[PostgresTransaction]:
        """Yield a transaction on a borrowed connection. It is rolled back if the block raises."""
        with self._tracking_reachability(), self._borrow_connection() as connection:
            tx = PostgresTransaction(connection, self._queries, *first)
            try:
                yield tx
            except BaseException:
                if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _tracking_reachability(self) -> Iterator[None]:
        try:
            yield
        except PostgresUnreachableError as error:
            self._log_trouble("accounts cannot be reached: %s", error)
            self.trouble = str(error)
            raise
        if self.trouble is not None:
            log.info("accounts can be reached again")
            self.trouble = None

    @contextmanager
    def _transaction(self, *, shared: bool) -> Iterator[Transaction]:
        if getattr(self._local, "writes", False):
            raise RuntimeError("a write transaction inside another")
        self._local.writes = True
        try:
            with self._open_transaction("BEGIN", LOCK_SHARED if shared else LOCK_EXCLUSIVE) as tx:
                try:
                    yield tx
                    if not tx.is_ended:
                        tx.end(*self._build_notification(tx, shared), "COMMIT")
                except BaseException:
                    for undo_step in reversed(tx.undo):
                        undo_step()
                    if tx.commit_lost:
                        # The transaction may be committed nevertheless, and this process ignores its own notifications.
                        self._note_changes(tx.topics)
                    raise
        finally:
            self._local.writes = False
        if not shared:
            self._raise_write_count()
        self._notify_listeners(tx)

    def _build_notification(self, tx: Transaction, shared: bool) -> Sequence[str]:
        """Return the NOTIFY statement with the topics, or nothing for a batched write without topics."""
        message = " ".join((self._process_id, *sorted(tx.topics)))
        return () if shared and not tx.topics else (f"NOTIFY {CHANNEL}, '{message}'",)

    def write_batched(self, work: Callable[[Transaction], Result], *, alone: bool = False) -> Result:
        """Run ``work`` in a transaction in parallel with others of this kind, or ``alone``. Return its result.

        The work of several threads is not combined here, as PostgreSQL groups commits itself.
        """
        with self._transaction(shared=True) as tx:
            if alone:
                tx._waiting_statements[1] = LOCK_EXCLUSIVE  # type: ignore[attr-defined]
            return work(tx)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Yield a read transaction: all its queries see the same moment. It cannot be nested."""
        if getattr(self._local, "reads", False):
            raise RuntimeError("a read transaction inside another")
        self._local.reads = True
        try:
            with self._open_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as tx:
                yield tx
                tx.end("COMMIT")
        finally:
            self._local.reads = False

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """Yield a transaction for a single query, without BEGIN and COMMIT around it."""
        with self._open_transaction() as tx:
            yield tx

    def listen(self, topic: str, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every commit that announced ``topic``, of this process or another."""
        super().listen(topic, listener)
        self.follow_changes()

    def follow_changes(self) -> None:
        """Start to listen for commits of other processes."""
        self._changes.start()

    @property
    def write_count(self) -> int:
        """Return a number that increases with every known change of any process.

        While the listener does not work, it increases once a second, so that cached callers are valid for at most a
        second.
        """
        if self._changes.is_listening():
            return self._write_count
        self._changes.revive()
        with self._write_count_lock:
            now = self._monotonic()
            if now - self._write_count_raised_at >= MAX_SILENCE_SECONDS:
                self._write_count += 1
                self._write_count_raised_at = now
            return self._write_count

    def elect(self, seconds: float, on_deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the active worker within ``seconds``.

        It holds a lock on the connection of its listener. ``on_deposed`` is called if another process has become the
        worker while PostgreSQL could not be reached.
        """
        return self._changes.elect(seconds, on_deposed)

    def _raise_write_count(self) -> None:
        with self._write_count_lock:
            self._write_count += 1
            self._write_count_raised_at = self._monotonic()

    def _note_changes(self, topics: Collection[str] | None) -> None:
        """Invalidate cached accounts and call the listeners of the topics, or of all topics for None."""
        self._raise_write_count()
        for topic in list(self._listeners) if topics is None else topics:
            for listener in list(self._listeners.get(topic, ())):
                listener()

    def _handle_listen_failure(self) -> None:
        """Call all listeners, as notifications may have been missed, unless PostgreSQL is known to be unreachable."""
        if self.trouble is None:
            self._note_changes(None)

    def copy_from_file(self, file: Database, mark: MoveMark) -> None:
        """Replace the accounts in PostgreSQL by those of a file, and set ``mark`` in the same transaction.

        Raise UsageError, with nothing changed, if PostgreSQL contains other accounts or the copy differs.
        """
        with self._open_copy_transaction() as connection, file.read() as tx:
            source = tx._connection
            sent_digests = {table: compute_digest(source.execute(f"SELECT * FROM {table}")) for table in ACCOUNTS}  # nosec B608
            if _read_mark(connection) is None:
                present = self._compute_digests(connection)
                if any(present[table][0] for table in ("users", "invites")) and present != sent_digests:
                    raise UsageError("PostgreSQL already contains other accounts")
            connection.execute(f"TRUNCATE {', '.join(ACCOUNTS)} RESTART IDENTITY")
            copy_rows(source, connection)
            if self._compute_digests(connection) != sent_digests:
                raise UsageError("the copy differs from the original; nothing has changed")
            _write_mark(connection, mark)

    def copy_to_file(self, file: Database) -> None:
        """Replace the accounts of a file by those in PostgreSQL.

        Raise UsageError, with nothing changed, if the copy differs.
        """
        with self._open_copy_transaction() as connection, file.write() as tx:
            target, sent_digests = tx._connection, self._compute_digests(connection)
            target.execute("PRAGMA defer_foreign_keys=ON")
            for table in ACCOUNTS:
                # Rows of the audit log cannot be deleted. The rows in PostgreSQL include them.
                if table != "audit":
                    target.execute(f"DELETE FROM {table}")  # nosec B608
            for table in ACCOUNTS:
                if table in PREFILLED:
                    target.execute(f"DELETE FROM {table}")  # nosec B608
                with connection.cursor(f"all_{table}") as rows:
                    rows.execute(f"SELECT * FROM {table}")  # nosec B608
                    marks = ", ".join("?" * len(rows.description))
                    target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)  # nosec B608
            for (table,) in target.execute("SELECT name FROM sqlite_sequence").fetchall():
                if table in ACCOUNTS:
                    last = connection.execute(f"SELECT last_value FROM {table}_id_seq").fetchone()[0]  # nosec B608
                    target.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, table))
            arrived_digests = {table: compute_digest(target.execute(f"SELECT * FROM {table}")) for table in ACCOUNTS}  # nosec B608
            if arrived_digests != sent_digests:
                raise UsageError("the copy differs from the original; nothing has changed")

    def find_mark(self) -> MoveMark | None:
        """Return the mark of a move, which forbids to open these accounts, or None."""
        with self._borrow_connection() as connection, _translating_errors():
            return _read_mark(connection)

    def set_mark(self, mark: MoveMark | None) -> None:
        """Set the mark of a move. None removes it, so that these accounts can be opened."""
        with self._borrow_connection() as connection, _translating_errors():
            _write_mark(connection, mark)

    @contextmanager
    def _open_copy_transaction(self) -> Iterator[Any]:
        """Yield a connection in an exclusive transaction without time limits."""
        with self._borrow_connection() as connection, _translating_errors(), connection.transaction():
            for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(f"SET LOCAL {limit} = 0")
            connection.execute(LOCK_EXCLUSIVE)
            yield connection

    def _compute_digests(self, connection: Any) -> dict[str, tuple[int, int]]:
        digests = {}
        for table in ACCOUNTS:
            with connection.cursor(f"digest_{table}") as rows:
                rows.execute(f"SELECT * FROM {table}")  # nosec B608
                digests[table] = compute_digest(rows)
        return digests

    def sizes(self) -> dict[str, int]:
        """Return the bytes of the database by part. There is one part, ``pages``."""
        with self._borrow_connection() as connection, _translating_errors():
            return {"pages": connection.execute("SELECT pg_database_size(current_database())").fetchone()[0]}

    def list_integrity_errors(self) -> list[str]:
        """Return an empty list, as PostgreSQL verifies pages and references itself."""
        return []

    def interrupt_thread(self, thread_id: int) -> None:
        """Cancel the statement for which a thread waits. A call after CANCEL_SECONDS cuts its connection.

        Only cutting the connection is not enough: PostgreSQL would continue the statement and hold its locks, which the
        next start needs.
        """
        connection = self._connection_by_thread.get(thread_id)
        if connection is None:
            return
        cancelled_at = self._cancelled_at.get(connection)
        if cancelled_at is None:
            self._cancelled_at[connection] = time.monotonic()
            # In a thread of its own, because the request opens another connection, which may block.
            threading.Thread(target=_cancel, args=(connection,), name="finapi-cancel", daemon=True).start()
        elif time.monotonic() - cancelled_at > CANCEL_SECONDS:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as handle:
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the idle connections. A connection in use is closed by its thread."""
        self.closed = True
        while self._idle_connections:
            self._idle_connections.pop().close()
        self._changes.stop()


def _cancel(connection: Any) -> None:
    """Cancel the running statement of a connection. Do nothing if the connection is closed."""
    with suppress(psycopg.Error):
        connection.cancel()


def describe_database(url: str) -> str:
    """Return the address of a PostgreSQL database without user, password and options.

    Raise UsageError for a URL that cannot be read. The message repeats no part of it, which may be the password.
    """
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parameters = {}
    hosts = str(parameters.get("host") or parameters.get("hostaddr") or "").split(",")
    ports = str(parameters.get("port") or "").split(",")
    well_formed = parameters and all(port == "" or port.isdecimal() for port in ports) and "@" not in "".join(hosts)
    if not well_formed:
        raise UsageError("the URL of PostgreSQL cannot be read; write special characters of its password as %XX")
    database = parameters.get("dbname") or parameters.get("user") or ""
    if hosts[0].startswith("/"):
        port_option = f"&port={','.join(ports)}" if ports != [""] else ""
        return f"postgresql:///{database}?host={','.join(hosts)}{port_option}"
    ports += ports[-1:] * (len(hosts) - len(ports))
    hosts = [f"[{host}]" if ":" in host else host for host in hosts]
    addresses = (f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=True))
    return f"postgresql://{','.join(addresses)}/{database}"


class AccountsState(NamedTuple):
    """The state of the accounts in a database: whether they can be opened, and a sentence about them."""

    can_be_opened: bool
    text: str


def inspect_accounts(url: str) -> AccountsState:
    """Return the state of the accounts in a database. Nothing is changed."""
    name = describe_database(url)
    try:
        with closing(psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS)) as connection:
            if not _has_table(connection, "finapi_schema"):
                return AccountsState(True, f"{name} answers, and contains no accounts yet")
            mark = _read_mark(connection)
    except psycopg.Error as error:
        return AccountsState(False, f"{name} cannot be used: {' '.join(str(error).split())}")
    if mark is not None:
        return AccountsState(False, f"{name}: {mark.describe()}")
    return AccountsState(True, f"they are in {name}, which answers")


def prepare_schema(connection: Any) -> None:
    """Create the schema of accounts if there is none, or upgrade it, in one transaction.

    Raise UsageError for a schema of a newer finapi or of a development version, which may lack tables or columns.
    """
    newest = schema.newest_version()
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute(LOCK_EXCLUSIVE)
        if not _has_table(connection, "finapi_schema"):
            if _has_table(connection, "schema_version"):
                raise UsageError(
                    "the accounts in PostgreSQL were made by a development version of finapi and cannot be upgraded: "
                    "name an empty database in accounts_url"
                )
            connection.execute(sql_files.read_text("postgres/schema.sql"))
            connection.execute("INSERT INTO finapi_schema (version) VALUES (1)")
        version = connection.execute("SELECT version FROM finapi_schema").fetchone()[0]
        if version > newest:
            raise UsageError(
                f"the accounts in PostgreSQL have schema version {version}, but this finapi supports {newest}: "
                "install a newer finapi"
            )
        for number in range(version + 1, newest + 1):
            if name := sql_files.find_file("postgres/migrations", f"{number:04}_"):
                connection.execute(sql_files.read_text(f"postgres/migrations/{name}"))
        _check_is_complete(connection)
        connection.execute("UPDATE finapi_schema SET version = %s", (newest,))


def _check_is_complete(connection: Any) -> None:
    """Raise UsageError if the schema lacks a column of ``sql/postgres/schema.sql``."""
    rows = connection.execute(
        "SELECT pg_class.relname, pg_attribute.attname FROM pg_attribute "
        "JOIN pg_class ON pg_class.oid = pg_attribute.attrelid "
        "WHERE pg_class.relnamespace = current_schema()::regnamespace AND pg_class.relkind = 'r' "
        "AND pg_attribute.attnum > 0 AND NOT pg_attribute.attisdropped"
    )
    missing = sorted(list_columns(sql_files.read_text("postgres/schema.sql")) - set(rows.fetchall()))
    if missing:
        table, column = missing[0]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UsageError(
            f"the accounts in PostgreSQL lack the column {column} of the table {table}{more} and were probably made by "
            "a development version of finapi: name an empty database in accounts_url"
        )


def list_columns(script: str) -> set[tuple[str, str]]:
    """Return table and name of each column that the CREATE TABLE statements of a script define."""
    return {(table, column) for table, body in _TABLE.findall(script) for column in _COLUMN.findall(body)}


def _read_mark(connection: Any) -> MoveMark | None:
    state, move_id, directory_name = connection.execute(
        "SELECT move_state, move_id, move_place FROM finapi_schema"
    ).fetchone()
    return None if state is None else MoveMark(state, move_id, directory_name)


def _write_mark(connection: Any, mark: MoveMark | None) -> None:
    values = (None, None, None) if mark is None else (mark.state, mark.move_id, mark.place)
    connection.execute("UPDATE finapi_schema SET move_state = %s, move_id = %s, move_place = %s", values)


def _has_table(connection: Any, name: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0] is not None


def copy_rows(source: sqlite3.Connection, target: Any) -> None:
    """Copy the accounts of SQLite into empty tables. New ids continue after the highest one of SQLite."""
    highest = dict(source.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    for table in ACCOUNTS:
        rows = source.execute(f"SELECT * FROM {table}")  # nosec B608
        columns = [column[0] for column in rows.description]
        # Delete the rows that the schema has inserted, and those that triggers have written for rows already copied.
        if table in PREFILLED:
            target.execute(f"DELETE FROM {table}")  # nosec B608
        with target.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(tuple(row))
        if "id" in columns:
            last = f"nullif(greatest((SELECT max(id) FROM {table}), {highest.get(table, 0)}), 0)"  # nosec B608
            sequence = f"pg_get_serial_sequence('{table}', 'id')"
            target.execute(f"SELECT setval({sequence}, coalesce({last}, 1), {last} IS NOT NULL)")  # nosec B608


def compute_digest(rows: Iterable[Sequence[Any]]) -> tuple[int, int]:
    """Return the number of rows and a hash of them that does not depend on their order."""
    count = total = 0
    for row in rows:
        count += 1
        text = repr(tuple(row)).encode("utf-8", "surrogatepass")
        total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")
    return count, total % 2**128
