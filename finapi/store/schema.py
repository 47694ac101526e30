"""The schema of the SQLite database: how it is created, recognised and upgraded.

A new database is created by ``sql/schema.sql`` and then by the files of ``sql/migrations`` in order. Two numbers in the
header of the file identify it: ``application_id`` marks a database of finapi, and ``user_version`` is its schema
version, which is 1 after schema.sql and grows by one with each migration. An upgrade runs all missing migrations in one
transaction: an interrupted one leaves the database as it was.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from finapi.core import stopping
from finapi.core.errors import UsageError
from finapi.store import sql_files
from finapi.store.connections import connect

log = logging.getLogger("finapi.store")

APPLICATION_ID = 0x66696E61  # "fina"
# Instructions of SQLite's virtual machine between two checks for a requested stop: a millisecond or less.
STOP_CHECK_STEPS = 10_000
# The bytes of a database file that are 2 and 2 in WAL mode, else 1 and 1 (sqlite.org/fileformat2.html).
WAL_MARK = slice(18, 20)
# The table in which a backup contains the master secrets. It is removed by a restore.
SECRETS_TABLE = "backup_secrets"
SECRETS_DEFINITION = f"CREATE TABLE {SECRETS_TABLE} (place INTEGER PRIMARY KEY, secret BLOB NOT NULL) STRICT"
FULL_TEXT_TABLE = "filing_words"
# Tables that SQLite, its full-text search and Litestream create. Their definitions depend on the versions of those.
FOREIGN_TABLES = {
    "sqlite_sequence",
    "sqlite_stat1",
    "sqlite_stat4",
    *(f"{FULL_TEXT_TABLE}_{part}" for part in ("config", "content", "data", "docsize", "idx")),
    "_litestream_lock",
    "_litestream_seq",
}
# The start of a statement that creates an object: its kind and name.
_CREATE = re.compile(r"^CREATE (?:UNIQUE )?(TABLE|INDEX|VIEW|TRIGGER) (\w+)", re.MULTILINE)


class UnknownDatabaseError(UsageError):
    """A file that is not a database of a released finapi."""


class DevelopmentDatabaseError(UnknownDatabaseError):
    """A database that was made by a development version of finapi, or lacks a part of the schema."""


def newest_version() -> int:
    """Return the schema version of this finapi."""
    return sql_files.FIRST_MIGRATION - 1 + len(list_migrations())


@cache
def list_migrations() -> tuple[str, ...]:
    """Return the names of the migrations in order. The first one creates schema version 2."""
    return tuple(sql_files.list_migrations())


def read_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of the database at ``path``. Raise UnknownDatabaseError if it is not finapi's."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application_id == APPLICATION_ID:
        return version
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not names:
        raise UnknownDatabaseError(
            f"{path} is empty: restore a backup with finapi restore FILE, or delete it to start with an empty database"
        )
    if application_id == 0 and version > 0 and {"users", "userplans", "ledger"} <= names:
        raise DevelopmentDatabaseError(
            f"{path} was made by a development version of finapi and cannot be upgraded: "
            "move it away and load the data again"
        )
    raise UnknownDatabaseError(f"{path} is a database of another program: move it away, or name another --data-dir")


def check_is_current(connection: sqlite3.Connection, path: Path) -> None:
    """Raise UsageError unless a database has the schema version of this finapi."""
    version = read_version(connection, path)
    if version != newest_version():
        raise UsageError(f"{path} has schema version {version}, but this finapi reads {newest_version()}")


def check_is_complete(connection: sqlite3.Connection, path: Path) -> None:
    """Raise DevelopmentDatabaseError if a database of this version lacks an object or a column of the schema.

    A development version of finapi has the schema version of the release but not all of its tables. An object whose
    definition is in the files of ``sql`` needs no comparison, so that a start takes 4 ms here instead of 30.
    """
    definitions = _read_definitions(connection)
    definitions.pop(("table", FULL_TEXT_TABLE), None)  # The start creates it if it is missing.
    script = _read_scripts()
    if _list_names(script) <= definitions.keys() and all(sql in script for sql in definitions.values()):
        return
    missing = _list_missing_parts(connection, _get_empty_database_of_version(newest_version()))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DevelopmentDatabaseError(
            f"{path} lacks {missing[0]}{more} and was probably made by a development version of finapi: "
            "restore a backup with finapi restore FILE, or move it away and load the data again"
        )


@cache
def _read_scripts() -> str:
    """Return the text of ``sql/schema.sql`` and of all migrations."""
    names = ["schema.sql", *(f"migrations/{name}" for name in list_migrations())]
    return "\n".join(map(sql_files.read_text, names))


@cache
def _list_names(script: str) -> frozenset[tuple[str, str]]:
    """Return kind and name of each object that a script creates."""
    return frozenset((kind.lower(), name) for kind, name in _CREATE.findall(script))


def _list_missing_parts(connection: sqlite3.Connection, complete: sqlite3.Connection) -> list[str]:
    """Return the objects and columns of a complete database that another one lacks, such as "the table companies"."""
    missing = [
        f"the {kind} {name}"
        for kind, name in _read_definitions(complete).keys() - _read_definitions(connection).keys()
        if name != FULL_TEXT_TABLE
    ]
    if not missing:
        statement = (
            "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns "
            "WHERE tables.type = 'table'"
        )
        columns = set(complete.execute(statement)) - set(connection.execute(statement))
        missing = [
            f"the column {column} of the table {table}" for table, column in columns if table not in FOREIGN_TABLES
        ]
    return sorted(missing)


def list_differences(connection: sqlite3.Connection, *, may_have_secrets: bool = False) -> list[str]:
    """Return one message for each table, index, view or trigger that differs from the schema of this version.

    A trigger or view that is not finapi's could change what its statements do, so a copy with one is not used. The
    table of a backup's master secrets is permitted with ``may_have_secrets``.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    expected = _read_definitions(_get_empty_database_of_version(version))
    definitions = _read_definitions(connection)
    if may_have_secrets and definitions.get(("table", SECRETS_TABLE)) == SECRETS_DEFINITION:
        del definitions["table", SECRETS_TABLE]
    if ("table", FULL_TEXT_TABLE) not in definitions:
        # The SQLite that created the database has no FTS5. The next start with FTS5 creates this table.
        expected = {key: sql for key, sql in expected.items() if key != ("table", FULL_TEXT_TABLE)}
    messages = []
    for kind, name in sorted(expected.keys() | definitions.keys()):
        if (kind, name) not in definitions:
            messages.append(f"the {kind} {name} is missing")
        elif (kind, name) not in expected:
            messages.append(f"the {kind} {name} is not one of finapi's")
        elif definitions[kind, name] != expected[kind, name]:
            messages.append(f"the {kind} {name} differs from that of schema version {version}")
    return messages


def _read_definitions(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the SQL of each object by its kind and name. Indexes of constraints and foreign tables are left out."""
    # SQLite accepts a kind that is stored as bytes instead of a text.
    rows = connection.execute("SELECT CAST(type AS TEXT), name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {(kind, name): sql for kind, name, sql in rows if kind != "table" or name not in FOREIGN_TABLES}


@cache
def _get_empty_database_of_version(version: int) -> sqlite3.Connection:
    connection = connect(":memory:")
    create(connection, version)
    return connection


def build_image() -> bytes:
    """Return the bytes of a new database file, in WAL mode and without a data stamp."""
    image = get_empty_database().serialize()
    return b"\2\2".join((image[: WAL_MARK.start], image[WAL_MARK.stop :]))


@cache
def get_empty_database() -> sqlite3.Connection:
    """Return an empty database in memory, of which others are copies. It is cached, because creating it takes 14 ms."""
    connection = connect(":memory:")
    create(connection)
    return connection


def create(connection: sqlite3.Connection, version: int | None = None) -> None:
    """Create the current schema, or that of an older version, in a database without tables."""
    connection.executescript(
        f"BEGIN;\n{sql_files.read_text('schema.sql')}\n"
        f"PRAGMA application_id={APPLICATION_ID};\n"
        f"PRAGMA user_version={sql_files.FIRST_MIGRATION - 1};\nCOMMIT;"
    )
    _run_migrations(connection, sql_files.FIRST_MIGRATION - 1, newest_version() if version is None else version)
    create_full_text(connection)


def upgrade(connection: sqlite3.Connection, path: Path) -> bool:
    """Upgrade a database to the schema version of this finapi. Return True if it was older.

    Raise UsageError, with the database unchanged, if it is newer or a migration fails.
    """
    version = read_version(connection, path)
    if version > newest_version():
        raise UsageError(
            f"{path} has schema version {version}, but this finapi supports {newest_version()}: install a newer finapi"
        )
    if version < newest_version():
        _run_migrations(connection, version, newest_version())
        log.warning("%s was upgraded from schema version %d to %d", path, version, newest_version())
        return True
    return False


def _run_migrations(connection: sqlite3.Connection, version: int, target_version: int) -> None:
    """Run the migrations from one version to another in one transaction. If a stop interrupts it, nothing changes."""
    migrations = enumerate(list_migrations(), sql_files.FIRST_MIGRATION)
    pending = [(number, name) for number, name in migrations if version < number <= target_version]
    if not pending:
        return
    enforced = connection.execute("PRAGMA foreign_keys").fetchone()[0]
    # Dropping a table to rebuild it would delete the rows that refer to it (sqlite.org/lang_altertable.html).
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.set_progress_handler(stopping.is_requested, STOP_CHECK_STEPS)
    name = ""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for number, name in pending:
            for statement in iter_statements(sql_files.read_text(f"migrations/{name}")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
        for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            raise sqlite3.IntegrityError(f"{table} row {rowid} refers to a missing {parent}")
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        stopping.check()
        if isinstance(error, sqlite3.Error):
            raise UsageError(f"the upgrade failed and changed nothing: {name}: {error}") from error
        raise
    finally:
        connection.set_progress_handler(None, STOP_CHECK_STEPS)
        connection.execute(f"PRAGMA foreign_keys={enforced}")


def iter_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, each of which ends at the end of a line."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    yield statement


def create_full_text(connection: sqlite3.Connection) -> None:
    """Create the table of the full-text search if it is missing and this SQLite supports it."""
    if has_full_text():
        connection.execute(sql_files.read_text("full_text.sql"))


@cache
def has_full_text() -> bool:
    """Return True if this SQLite has FTS5. Without it the table of ``sql/full_text.sql`` is missing or unusable."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())
