"""SQL of tests that the product has no query for, on the connection of a database or transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finapi.store.connections import LockedConnection
from finapi.store.db import Database, Transaction


def get_writer(database: Database) -> LockedConnection:
    """Return the connection with which a database writes."""
    return database._writer


def run_sql(source: Database | Transaction, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
    """Execute one statement in a transaction, or outside of any on the writer of a database."""
    connection = source._writer if isinstance(source, Database) else source._connection
    return connection.execute(sql, values)


def run_sql_many(source: Database | Transaction, sql: str, rows: Iterable[Sequence[Any]]) -> sqlite3.Cursor:
    """Execute a statement once for each row."""
    connection = source._writer if isinstance(source, Database) else source._connection
    return connection.executemany(sql, rows)
