"""The market data as they were known at the end of a past day.

A connection gets temporary views with the names of tables (``sql/as_of.sql``). SQLite resolves a name to them first, so
that the queries of ``sql/queries`` read only what was filed up to the day and need no condition of their own.

- A file has connections for this purpose, which keep their views.
- A database in memory, and a copy that another process writes, has no connection of its own for this. The views are
  created for each read and removed after it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from finapi.core import days
from finapi.store import sql_files

# The suffix of a query that replaces the query without the suffix in reads of a past day.
VARIANT_SUFFIX = "_as_of"

_VIEW_NAME = re.compile(r"CREATE TEMP VIEW (\w+)")
# A list of columns in sql/as_of.sql.
_OTHER_COLUMNS = re.compile(r"\{(\w+) without ([\w, ]+)\}")
# Views have no indexes, so that hints are removed. SQLite chooses an index of the table itself.
_INDEX_HINT = re.compile(r"\s+INDEXED BY \w+")


@cache
def _list_view_statements() -> tuple[tuple[str, str], ...]:
    """Return the names of the views that hide tables, each with the statement that creates it."""
    text = re.sub(r"(?m)^--.*\n", "", sql_files.read_text("as_of.sql"))
    statements = [statement.strip() for statement in text.split(";\n")]
    named = [(_VIEW_NAME.match(statement), statement) for statement in statements if statement]
    return tuple((match[1], statement) for match, statement in named if match is not None)


def adapt_queries(queries: dict[str, str]) -> dict[str, str]:
    """Return the queries for reads of a past day: without index hints, and with variants in place of some queries."""
    adapted = {name: _INDEX_HINT.sub("", query) for name, query in queries.items()}
    variants = [name for name in adapted if name.endswith(VARIANT_SUFFIX)]
    return {**adapted, **{name.removesuffix(VARIANT_SUFFIX): adapted[name] for name in variants}}


def create_day_table(connection: sqlite3.Connection) -> None:
    """Create the table of the day, which the views and some queries for past days read.

    It remains in the connection, because SQLite does not drop a table while any query has rows left to read.
    """
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS as_of_day (day TEXT NOT NULL, number INTEGER NOT NULL)")


def create_views(connection: sqlite3.Connection) -> None:
    """Create the views in a connection. :func:`set_day` must be called before they are read."""
    create_day_table(connection)
    connection.execute("DELETE FROM temp.as_of_day")
    connection.execute("INSERT INTO temp.as_of_day VALUES ('', 0)")
    for _, statement in _list_view_statements():
        connection.execute(_insert_columns(connection, statement))
    # The views of the schema read the tables that they name, so that they are created again over the views above.
    for row in connection.execute("SELECT sql FROM main.sqlite_schema WHERE type = 'view'").fetchall():
        connection.execute(row[0].replace("CREATE VIEW", "CREATE TEMP VIEW", 1))


def _insert_columns(connection: sqlite3.Connection, statement: str) -> str:
    """Return a statement with a list of columns in place of each ``{TABLE without COLUMNS}``."""

    def list_columns(match: re.Match[str]) -> str:
        rows = connection.execute(f"PRAGMA main.table_xinfo({match[1]})").fetchall()
        return ", ".join(row[1] for row in rows if row[1] not in match[2].split(", "))

    return _OTHER_COLUMNS.sub(list_columns, statement)


def drop_views(connection: sqlite3.Connection) -> None:
    """Remove the views from a connection."""
    for row in connection.execute("SELECT name FROM temp.sqlite_schema WHERE type = 'view'").fetchall():
        connection.execute(f"DROP VIEW temp.{row[0]}")


def set_day(connection: sqlite3.Connection, day: str) -> None:
    """Set the day of the views of a connection."""
    connection.execute("UPDATE temp.as_of_day SET day = ?, number = ?", (day, days.number(day)))


@contextmanager
def temporary_views(connection: sqlite3.Connection, day: str) -> Iterator[None]:
    """Create the views of a day in a connection while the block runs. The block can only read."""
    was_read_only = connection.execute("PRAGMA query_only").fetchone()[0]
    connection.execute("PRAGMA query_only=OFF")  # It would forbid temporary views too.
    try:
        create_views(connection)
        set_day(connection, day)
        connection.execute("PRAGMA query_only=ON")
        yield
    finally:
        connection.execute("PRAGMA query_only=OFF")
        drop_views(connection)
        connection.execute(f"PRAGMA query_only={was_read_only}")
