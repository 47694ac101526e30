"""Accounts in PostgreSQL: the same queries as in SQLite, with what its SQL has no word for made by ``sql/postgres``.

Loaded where ``accounts_url`` names a database, and nowhere else: psycopg comes with ``finapi[postgres]``.
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
from finapi.store.tables import ACCOUNTS, REPLACED

log = logging.getLogger("finapi.store")

Result = TypeVar("Result")

CONNECT_SECONDS = 3
# For the connections of a process that has just ended to be taken from it, and between two looks whether they were.
ALONE_SECONDS, LOOK_SECONDS = 5.0, 0.2
# A node that stands still in a transaction keeps the others from writing for so long.
IDLE_SECONDS, STATEMENT_SECONDS, LOCK_SECONDS = 10, 60, 5
CANCEL_SECONDS = 0.5  # that a statement has to end once it is cancelled, before its connection is cut
# Statements take less than it takes to compile one, 0.2 s, which it does for a table of which it knows nothing yet.
OPTIONS = (
    f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s "
    f"-c idle_in_transaction_session_timeout={IDLE_SECONDS}s -c timezone=UTC -c client_encoding=UTF8 -c jit=off"
)

# Keys of advisory locks. WRITES is held for a transaction. Every connection shares USES for as long as it stands,
# except that of a move, which has USES to itself: while accounts move no other process can open them.
WRITES, USES = 0x66696E61, 0x66696E63

# A transaction that reads before it writes has the accounts to itself, as in SQLite. :meth:`write_batched` runs single
# statements that cannot disturb one another, and only keeps such transactions out.
ALONE = f"SELECT pg_advisory_xact_lock({WRITES})"
TOGETHER = f"SELECT pg_advisory_xact_lock_shared({WRITES})"


class Away(StoreUnwritableError):
    """The database cannot be reached, or takes too long."""

    public_message = "Accounts cannot be reached at the moment."


class Row(tuple[Any, ...]):
    """A row whose values are found by number and by name, as one of ``sqlite3``."""

    names: ClassVar[Mapping[str, int]] = {}

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.names[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self.names)


@cache
def _row_of(names: tuple[str, ...]) -> type[Row]:
    return type("Row", (Row,), {"names": {name: number for number, name in enumerate(names)}})


def _rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Any]:
    return _row_of(tuple(column.name for column in cursor.description or ()))


@cache
def translated(query: str) -> str:
    """A query in psycopg's style: ``%(name)s`` and ``%s``, a limit of -1 none."""
    parts = re.split(r"('[^']*')", re.sub(r"--[^\n]*", "", query).replace("%", "%%"))
    for number in range(0, len(parts), 2):
        text = re.sub(r"LIMIT (:[a-z_]\w*)", r"LIMIT nullif(\1, -1)", parts[number])
        text = re.sub(r"(?<!:):([a-z_]\w*)", r"%(\1)s", text).replace("?", "%s")
        parts[number] = text.replace("CROSS JOIN", "JOIN")
    return "".join(parts).strip()


class _Truth(Dumper):
    """True and False are 1 and 0, as the columns of SQLite have them."""

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"

    def quote(self, obj: Any) -> bytes:
        return self.dump(obj)


class _Text(StrDumper):
    """A text; the character NUL, which PostgreSQL's cannot hold, as the one for what cannot be shown."""

    def dump(self, obj: str) -> bytes:
        return bytes(super().dump(obj.replace("\0", "\ufffd")) or b"")


class _Number(Loader):
    """What a sum or a division gives: whole, or with a fraction."""

    def load(self, data: Any) -> Any:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _Whether(Loader):
    """A truth as 1 or 0."""

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
def _said() -> Iterator[None]:
    """Errors of PostgreSQL as those of the store."""
    try:
        yield
    except psycopg.IntegrityError as error:
        raise ConstraintError(_describe_refusal(error)) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise Away(" ".join(str(error).split())) from error
    except psycopg.Error as error:
        raise DatabaseError(str(error)) from error


class PostgresTransaction(Transaction):
    """A transaction whose statements wait until a result is wanted, and then go out together in one round trip."""

    __slots__ = ("_to", "_waiting", "begun", "commit_lost", "ended")

    def __init__(self, connection: Any, queries: dict[str, str], *first: str) -> None:
        super().__init__(connection, queries)
        self._to = connection
        self._waiting = list(first)
        self.begun = False
        self.ended = False
        # Whether the connection broke before the answer to the COMMIT.
        self.commit_lost = False

    def insert_row(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> int:
        """Execute an INSERT; the id that it made."""
        row = self._send(self._text(query, {**values, **more}) + " RETURNING id").fetchone()
        return row[0] if row else 0

    def insert_last(self, query: str, values: Values = NO_VALUES, /, **more: Any) -> int:
        """An INSERT that ends the transaction, in the same round trip; the id that it made."""
        self.ended = True
        return self.insert_row(query, values, **more)

    def insert_rows(self, query: str, rows: Iterable[Sequence[Any]]) -> int:
        """Execute a statement once for each row, with whatever comes next; -1, as nobody knows yet how many rows."""
        self._waiting += [self._text(query, tuple(row)) for row in rows]
        return -1

    def end(self, *last: str) -> None:
        """Send what waits and how it ends; nothing where nothing was asked for."""
        if self.begun or len(self._waiting) > 2:
            self._waiting += last[:-1]
            self._send(last[-1])

    def _execute(self, query: str, values: Values, more: dict[str, Any]) -> Any:
        return self._send(self._text(query, {**values, **more}))

    def _text(self, query: str, values: Any) -> str:
        with _said():
            text: str = psycopg.ClientCursor(self._to).mogrify(translated(self._queries[query]), values)
            return text

    def _send(self, statement: str) -> Any:
        statements = [*self._waiting, statement]
        if self.ended:
            statements.append("COMMIT")
        results_before = len(self._waiting)
        self.begun, self._waiting = True, []
        cursor = psycopg.ClientCursor(self._to, row_factory=_rows)
        try:
            with _said():
                # Without parameters it goes by the protocol that takes several statements in one message.
                cursor.execute(";\n".join(statements))
                for _ in range(results_before):
                    cursor.nextset()
        except Away:
            self.commit_lost = statements[-1] == "COMMIT" and self._to.closed
            raise
        return cursor


class Postgres(Database):
    """Accounts in a PostgreSQL database, which any number of processes may share.

    ``write`` holds a lock against every other writer of every process, as SQLite's one writer does; what ``share`` runs
    goes on beside its like. A transaction has a connection of its own; those that nobody uses wait for the next.
    """

    def __init__(
        self, url: str, *, schema: str = "", alone: bool = False, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Connect, and create or upgrade the schema.

        Raise UsageError if the accounts there are not in force or are being moved. With ``alone``, for a move, they are
        opened all the same, and no other process may use them.
        """
        self._set_up(None)
        self._url = url
        self._alone = alone
        self._opened = False
        self._options = OPTIONS + (f" -c search_path={schema}" if schema else "")
        if alone:
            # A move decides by what is on the disk.
            self._options += " -c synchronous_commit=on"
        self._idle: deque[Any] = deque()
        self._lent_to: dict[int, Any] = {}  # connections in use, by the thread that uses them
        self._cancelled_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        self._mark = uuid4().hex
        self._monotonic = monotonic
        self._changes = ChangeListener(self._connect, self._mark, self._note_changes, self._note_deafness, monotonic)
        self._write_count_lock = threading.Lock()
        self._raised_at = monotonic()
        try:
            with _said(), self._lent() as connection:
                prepare(connection)
                self._check_mark(connection)
            self._opened = True
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        if self.closed:
            raise sqlite3.ProgrammingError("the database is closed")
        with _said():
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                options=self._options,
                tcp_user_timeout=1000 * IDLE_SECONDS,
                application_name="finapi",
            )
        connection.adapters.register_dumper(bool, _Truth)
        connection.adapters.register_dumper(str, _Text)
        connection.adapters.register_loader("numeric", _Number)
        connection.adapters.register_loader("bool", _Whether)
        try:
            with _said():
                self._enter(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter(self, connection: Any) -> None:
        """Take a share of the lock against moves, or all of it for a move; and look whether accounts are in force."""
        if self._alone:
            until = time.monotonic() + ALONE_SECONDS
            while not connection.execute(f"SELECT pg_try_advisory_lock({USES})").fetchone()[0]:
                if time.monotonic() >= until:
                    raise UsageError("another finapi uses the accounts in PostgreSQL; stop every node first")
                threading.Event().wait(LOOK_SECONDS)
            return
        if not connection.execute(f"SELECT pg_try_advisory_lock_shared({USES})").fetchone()[0]:
            self._refuse("the accounts there are being moved by finapi move", UndecidedMoveError)
        if self._opened:
            self._check_mark(connection)

    def _check_mark(self, connection: Any) -> None:
        mark = None if self._alone else _read_mark(connection)
        if mark is not None:
            self._refuse(mark.describe(), UsageError if mark.state == "left" else UndecidedMoveError)

    def _refuse(self, message: str, error: type[UsageError]) -> NoReturn:
        """Raise ``error`` at a start. A process that runs answers 503 until its accounts are in force again."""
        raise Away(message) if self._opened else error(message)

    @contextmanager
    def _lent(self) -> Iterator[Any]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        thread_id = threading.get_ident()
        before = self._lent_to.get(thread_id)
        self._lent_to[thread_id] = connection
        try:
            yield connection
        except Away:
            # Those that wait lead where this one led.
            while self._idle:
                self._idle.pop().close()
            raise
        finally:
            if before is None:
                del self._lent_to[thread_id]
            else:
                self._lent_to[thread_id] = before
            if self.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                connection.close()
            else:
                self._idle.append(connection)

    @contextmanager
    def _within(self, *first: str) -> Iterator[PostgresTransaction]:
        """A transaction on a connection of its own, undone when the block raises."""
        with self._judged(), self._lent() as connection:
            tx = PostgresTransaction(connection, self._queries, *first)
            try:
                yield tx
            except BaseException:
                if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _judged(self) -> Iterator[None]:
        try:
            yield
        except Away as error:
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
            with self._within("BEGIN", TOGETHER if shared else ALONE) as tx:
                try:
                    yield tx
                    if not tx.ended:
                        tx.end(*self._told(tx, shared), "COMMIT")
                except BaseException:
                    for put_back in reversed(tx.undo):
                        put_back()
                    if tx.commit_lost:
                        # It may be committed all the same, and this process ignores its own notifications.
                        self._note_changes(tx.topics)
                    raise
        finally:
            self._local.writes = False
        if not shared:
            self._raise_write_count()
        self._notify_listeners(tx)

    def _told(self, tx: Transaction, shared: bool) -> Sequence[str]:
        """What the other processes are told of a transaction: that there was one, and its topics."""
        words = " ".join((self._mark, *sorted(tx.topics)))
        return () if shared and not tx.topics else (f"NOTIFY {CHANNEL}, '{words}'",)

    def write_batched(self, work: Callable[[Transaction], Result], *, alone: bool = False) -> Result:
        """What ``work`` gives, in a transaction beside others of this kind; ``alone``: beside none.

        Nobody waits here for a commit of others: PostgreSQL puts them together.
        """
        with self._transaction(shared=True) as tx:
            if alone:
                tx._waiting[1] = ALONE  # type: ignore[attr-defined]
            return work(tx)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read transaction: everything read in the block is of one moment. One inside another is refused."""
        if getattr(self._local, "reads", False):
            raise RuntimeError("a read transaction inside another")
        self._local.reads = True
        try:
            with self._within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as tx:
                yield tx
                tx.end("COMMIT")
        finally:
            self._local.reads = False

    @contextmanager
    def read_one(self) -> Iterator[Transaction]:
        """For one query that answers everything: what :meth:`read` gives, without a transaction around it."""
        with self._within() as tx:
            yield tx

    def listen(self, topic: str, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every commit that announced ``topic``, of this process or another."""
        super().listen(topic, listener)
        self.follow_changes()

    def follow_changes(self) -> None:
        """Begin to hear of what other processes commit."""
        self._changes.start()

    @property
    def write_count(self) -> int:
        """A number that rises with every change of any process that is heard of.

        While nothing can be heard it rises once a second, so that nothing cached outlives a revocation by more.
        """
        if self._changes.is_listening():
            return self._write_count
        self._changes.revive()
        with self._write_count_lock:
            now = self._monotonic()
            if now - self._raised_at >= MAX_SILENCE_SECONDS:
                self._write_count += 1
                self._raised_at = now
            return self._write_count

    def elect(self, seconds: float, deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the one that works within ``seconds``.

        It holds a lock on the connection by which it hears of changes. ``deposed`` is called when another works in its
        place, after a time in which PostgreSQL could not be reached.
        """
        return self._changes.elect(seconds, deposed)

    def _raise_write_count(self) -> None:
        with self._write_count_lock:
            self._write_count += 1
            self._raised_at = self._monotonic()

    def _note_changes(self, topics: Collection[str] | None) -> None:
        """Drop what is cached and call the listeners of the topics, or of all topics for None."""
        self._raise_write_count()
        for topic in list(self._listeners) if topics is None else topics:
            for listener in list(self._listeners.get(topic, ())):
                listener()

    def _note_deafness(self) -> None:
        """Let listeners look for what they were not told of, unless accounts are known to be out of reach."""
        if self.trouble is None:
            self._note_changes(None)

    def take(self, file: Database, mark: MoveMark) -> None:
        """Copy the accounts of a file into the place of those here, row by row, and set ``mark`` with them.

        Raise UsageError if others are in force here or the copy differs; nothing has changed then.
        """
        with self._moving() as connection, file.read() as tx:
            source = tx._connection
            sent = {table: digest(source.execute(f"SELECT * FROM {table}")) for table in ACCOUNTS}  # nosec B608
            if _read_mark(connection) is None:
                present = self._digests(connection)
                if any(present[table][0] for table in ("users", "invites")) and present != sent:
                    raise UsageError("other accounts are there already")
            connection.execute(f"TRUNCATE {', '.join(ACCOUNTS)} RESTART IDENTITY")
            copy_rows(source, connection)
            if self._digests(connection) != sent:
                raise UsageError("what arrived is not what was sent; nothing has changed")
            _write_mark(connection, mark)

    def give(self, file: Database) -> None:
        """Copy the accounts here into a file, in the place of those that it holds.

        Raise UsageError if the copy differs; nothing has changed then.
        """
        with self._moving() as connection, file.write() as tx:
            target, sent = tx._connection, self._digests(connection)
            target.execute("PRAGMA defer_foreign_keys=ON")
            for table in ACCOUNTS:
                # The audit log is not changed: what it has stays, and is in what comes.
                if table != "audit":
                    target.execute(f"DELETE FROM {table}")  # nosec B608
            for table in ACCOUNTS:
                if table in REPLACED:
                    target.execute(f"DELETE FROM {table}")  # nosec B608
                with connection.cursor(f"all_{table}") as rows:
                    rows.execute(f"SELECT * FROM {table}")  # nosec B608
                    marks = ", ".join("?" * len(rows.description))
                    target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)  # nosec B608
            for (table,) in target.execute("SELECT name FROM sqlite_sequence").fetchall():
                if table in ACCOUNTS:
                    last = connection.execute(f"SELECT last_value FROM {table}_id_seq").fetchone()[0]  # nosec B608
                    target.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, table))
            arrived = {table: digest(target.execute(f"SELECT * FROM {table}")) for table in ACCOUNTS}  # nosec B608
            if arrived != sent:
                raise UsageError("what arrived is not what was sent; nothing has changed")

    def find_mark(self) -> MoveMark | None:
        """Return the mark of a move that keeps the accounts here from being opened, or None."""
        with self._lent() as connection, _said():
            return _read_mark(connection)

    def set_mark(self, mark: MoveMark | None) -> None:
        """Set the mark of a move, or with None put the accounts here in force."""
        with self._lent() as connection, _said():
            _write_mark(connection, mark)

    @contextmanager
    def _moving(self) -> Iterator[Any]:
        """A connection with a transaction beside which no other writes, however long it takes."""
        with self._lent() as connection, _said(), connection.transaction():
            for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(f"SET LOCAL {limit} = 0")
            connection.execute(ALONE)
            yield connection

    def _digests(self, connection: Any) -> dict[str, tuple[int, int]]:
        found = {}
        for table in ACCOUNTS:
            with connection.cursor(f"digest_{table}") as rows:
                rows.execute(f"SELECT * FROM {table}")  # nosec B608
                found[table] = digest(rows)
        return found

    def sizes(self) -> dict[str, int]:
        """Bytes of the database; PostgreSQL's own of them are no concern of finapi's."""
        with self._lent() as connection, _said():
            return {"pages": connection.execute("SELECT pg_database_size(current_database())").fetchone()[0]}

    def list_integrity_errors(self) -> list[str]:
        """Nothing: PostgreSQL looks after its pages and its references itself."""
        return []

    def break_off(self, thread_id: int) -> None:
        """Break off what a thread waits for: PostgreSQL is asked to cancel the statement, once, and has a little time.

        Then the connection is cut, in case the database cannot be reached. Without the request it would go on with the
        statement, and hold its locks against a finapi that starts next.
        """
        connection = self._lent_to.get(thread_id)
        if connection is None:
            return
        cancelled_at = self._cancelled_at.get(connection)
        if cancelled_at is None:
            self._cancelled_at[connection] = time.monotonic()
            # In a thread of its own, as the request needs a connection too.
            threading.Thread(target=_cancel, args=(connection,), name="finapi-cancel", daemon=True).start()
        elif time.monotonic() - cancelled_at > CANCEL_SECONDS:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as handle:
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close every connection that waits; one in use is closed by who uses it."""
        self.closed = True
        while self._idle:
            self._idle.pop().close()
        self._changes.stop()


def _cancel(connection: Any) -> None:
    """Ask PostgreSQL to cancel what a connection runs. A connection that has ended runs nothing."""
    with suppress(psycopg.Error):
        connection.cancel()


def name_database(url: str) -> str:
    """Return the address of a PostgreSQL database without user, password and options.

    Raise UsageError for a URL that cannot be read, without repeating any part of it: it may be part of the password.
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
    """Whether the accounts of a database can be opened, and a sentence that says so."""

    can_be_opened: bool
    text: str


def inspect(url: str) -> AccountsState:
    """Look at the accounts of a database without changing anything there."""
    name = name_database(url)
    try:
        with closing(psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS)) as connection:
            if not _has_table(connection, "finapi_schema"):
                return AccountsState(True, f"{name} answers, and holds no accounts yet")
            mark = _read_mark(connection)
    except psycopg.Error as error:
        return AccountsState(False, f"{name} cannot be used: {' '.join(str(error).split())}")
    if mark is not None:
        return AccountsState(False, f"{name}: {mark.describe()}")
    return AccountsState(True, f"they are in {name}, which answers")


def prepare(connection: Any) -> None:
    """Create the schema of accounts if there is none, or upgrade it, in one transaction.

    Raise UsageError for a schema of a newer finapi or of a development version.
    """
    newest = schema.newest_version()
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute(ALONE)
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
        connection.execute("UPDATE finapi_schema SET version = %s", (newest,))


def _read_mark(connection: Any) -> MoveMark | None:
    state, move_id, place = connection.execute("SELECT move_state, move_id, move_place FROM finapi_schema").fetchone()
    return None if state is None else MoveMark(state, move_id, place)


def _write_mark(connection: Any, mark: MoveMark | None) -> None:
    values = (None, None, None) if mark is None else (mark.state, mark.move_id, mark.place)
    connection.execute("UPDATE finapi_schema SET move_state = %s, move_id = %s, move_place = %s", values)


def _has_table(connection: Any, name: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)", (name,)).fetchone()[0] is not None


def copy_rows(source: sqlite3.Connection, target: Any) -> None:
    """Copy what SQLite holds of accounts into tables that hold nothing else, and let new numbers follow on."""
    highest = dict(source.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    for table in ACCOUNTS:
        rows = source.execute(f"SELECT * FROM {table}")  # nosec B608
        columns = [column[0] for column in rows.description]
        # What the schema begins with, and what a trigger has counted of a row that was copied before.
        if table in REPLACED:
            target.execute(f"DELETE FROM {table}")  # nosec B608
        with target.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(tuple(row))
        if "id" in columns:
            last = f"nullif(greatest((SELECT max(id) FROM {table}), {highest.get(table, 0)}), 0)"  # nosec B608
            place = f"pg_get_serial_sequence('{table}', 'id')"
            target.execute(f"SELECT setval({place}, coalesce({last}, 1), {last} IS NOT NULL)")  # nosec B608


def digest(rows: Iterable[Sequence[Any]]) -> tuple[int, int]:
    """How many rows there are, and a number that they have whatever their order."""
    count = total = 0
    for row in rows:
        count += 1
        text = repr(tuple(row)).encode("utf-8", "surrogatepass")
        total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")
    return count, total % 2**128
