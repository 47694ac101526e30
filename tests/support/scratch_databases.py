"""Databases of tests: each begins with the rows of a file, and its connection is used again by a later test.

To open a database takes 3 ms, most of them to parse the schema of 300 tables, indexes and triggers. To undo the changes
of a test takes microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from finapi.store.db import Database, Transaction
from finapi.store.layered import LayeredDatabase
from tests.support.raw_sql import get_writer, run_sql


class ScratchDatabase(LayeredDatabase):
    """A layered database in which a read transaction cannot write, as in a database in memory."""

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with super().read() as tx:
            run_sql(tx, "PRAGMA query_only=ON")
            try:
                yield tx
            finally:
                run_sql(tx, "PRAGMA query_only=OFF")


class ScratchDatabases:
    """Databases over one file, of which those that are not in use wait for the next test."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._waiting: list[ScratchDatabase] = []

    def take(self) -> ScratchDatabase:
        """Return a database with the rows of the file and a data stamp of its own."""
        database = self._waiting.pop() if self._waiting else ScratchDatabase(self._file)
        run_sql(database, "UPDATE data_version SET stamp = hex(randomblob(8))")
        return database

    def put_back(self, database: Database) -> None:
        """Undo the changes of a database and make it available; close it if it cannot be used again."""
        is_reusable = isinstance(database, ScratchDatabase) and not database.closed and database.trouble is None
        if not is_reusable or database.accounts is not database:
            database.close()
            return
        writer = get_writer(database)
        writer.set_trace_callback(None)
        writer.set_progress_handler(None, 0)
        database.reset()
        self._waiting.append(database)

    def close(self) -> None:
        """Close the databases that wait."""
        while self._waiting:
            self._waiting.pop().close()
