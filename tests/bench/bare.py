"""The least that SQLite takes for a company's list of filings, for tests.bench.

What an ingest stored is read back, and stored once more by a bare connection in a copy of the database as it was
before: the same tables and indexes, rows in the same order, one statement a table and one commit.
"""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

from finapi.app import App
from tests.support.raw_sql import run_sql

# Of one company; each after what it refers to.
_ROWS = {
    "filings": "SELECT * FROM filings WHERE cik = ?1 ORDER BY id",
    "filing_parties": "SELECT * FROM filing_parties WHERE cik = ?1 ORDER BY filing_id",
    "filing_terms": """
        SELECT other.* FROM filing_terms AS own
        JOIN filing_terms AS other ON other.filed_at = own.filed_at AND other.number = own.number
        WHERE own.term = 'c' || ?1 ORDER BY 1, 2, 3
    """,
    "form_entities": "SELECT * FROM form_entities WHERE cik = ?1 ORDER BY form",
}


class BareSqlite:
    """A copy of an app's database, to which bare connections add the same rows."""

    def __init__(self, app: App, copy: Path) -> None:
        self._path = app.db.path
        assert self._path is not None
        with sqlite3.connect(self._path) as source:
            self._connection = sqlite3.connect(copy, isolation_level=None)
            source.backup(self._connection)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-16384"):
            run_sql(self, f"PRAGMA {pragma}")

    def add(self, cik: int, document: bytes) -> float:
        """Return the CPU seconds of ``json.loads`` of a document and of storing its filings."""
        assert self._path is not None
        with sqlite3.connect(self._path) as stored:
            company = stored.execute("SELECT * FROM companies WHERE cik = ?", [cik]).fetchone()
            rows = {table: stored.execute(sql, [cik]).fetchall() for table, sql in _ROWS.items()}
        assert len(rows["filing_terms"]) > 2 * len(rows["filings"]) > 0
        insert_many = self._connection.executemany
        began = time.process_time()
        json.loads(document)
        run_sql(self, "BEGIN IMMEDIATE")
        for table, values in {"companies": [company], **rows}.items():
            insert_many(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
        run_sql(self, "COMMIT")
        return time.process_time() - began

    def close(self) -> None:
        """Close the copy."""
        self._connection.close()
