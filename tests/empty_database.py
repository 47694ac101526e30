"""Writes ``sql/empty.db.z``, the empty database that first starts copy: ``python -m tests.empty_database``.

With each migration: what came later would be made at each first start.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from finapi.store import db, sql_files

FILE = Path(__file__).parents[1] / "sql" / sql_files.PREPARED


def image() -> bytes:
    """An empty database as the migrations of today make it, without what not every SQLite has."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        db.migrate(connection)
        connection.execute("DROP TABLE IF EXISTS filing_words")
        # Each draws its own.
        connection.execute("UPDATE data_version SET stamp = ''")
        connection.execute("VACUUM")
        return connection.serialize()


if __name__ == "__main__":
    FILE.write_bytes(zlib.compress(image(), 1))
