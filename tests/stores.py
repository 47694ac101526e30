"""The two stores: the tables of each, the stores of each query, and a watch over transactions.

``python -m pytest -p tests.stores PATHS`` fails where finapi runs a query of the other store than the one on which it
opened the transaction.
"""

from __future__ import annotations

import linecache
import re
import shutil
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import pytest

from finapi.store import as_of, db, schema, sql_files
from finapi.store.tables import ACCOUNTS

READ, INSERT, UPDATE, DELETE = 20, 18, 23, 9

_PACKAGE = Path(__file__).parents[1] / "finapi"


original_empty = schema.get_empty_database.__wrapped__
original_empty_of_version = schema._get_empty_database_of_version.__wrapped__


def add_migrations(monkeypatch: pytest.MonkeyPatch, directory: Path, files: Mapping[str, str]) -> None:
    """Add migrations, by their paths in ``sql``: the SQL files are copied to a new ``directory`` and read there."""
    root = sql_files._get_root()
    if directory != root:
        shutil.copytree(root, directory)
    for name, script in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(script)
    monkeypatch.setattr(sql_files, "_get_root", lambda: directory)
    # Not what the caches have of the SQL files before.
    monkeypatch.setattr(schema, "list_migrations", cache(schema.list_migrations.__wrapped__))
    monkeypatch.setattr(schema, "_read_scripts", cache(schema._read_scripts.__wrapped__))
    monkeypatch.setattr(schema, "get_empty_database", _CachedDatabases(original_empty))
    monkeypatch.setattr(schema, "_get_empty_database_of_version", _CachedDatabases(original_empty_of_version))


class _CachedDatabases:
    """A function that creates databases, with a cache of its own. Its connections are closed when the test is over."""

    def __init__(self, create: Callable[..., sqlite3.Connection]) -> None:
        self._create = create
        self._connections: dict[tuple[int, ...], sqlite3.Connection] = {}

    def __call__(self, *version: int) -> sqlite3.Connection:
        if version not in self._connections:
            self._connections[version] = self._create(*version)
        return self._connections[version]

    def __del__(self) -> None:
        for connection in self._connections.values():
            connection.close()


@cache
def build_null_values(query: str) -> Any:
    """Return None for each parameter of a query; a bare ``?`` takes the next number."""
    highest = 0
    for mark in re.finditer(r"\?([0-9]*)", query):
        highest = max(highest, int(mark[1])) if mark[1] else highest + 1
    return [None] * highest if highest else defaultdict[str, None](lambda: None)


def stores_of_queries() -> dict[str, set[str]]:
    """Return the stores ("accounts", "market") of each query's tables, following views and triggers."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(connection)
    as_of.create_day_table(connection)
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    stores_by_query: dict[str, set[str]] = {name: set() for name in db.load_queries()}
    for name, query in db.load_queries().items():

        def note(action: int, table: str | None, *_: object, name: str = name) -> int:
            if action in (READ, INSERT, UPDATE, DELETE) and table in tables:
                stores_by_query[name].add("accounts" if table in ACCOUNTS else "market")
            return sqlite3.SQLITE_OK

        connection.set_authorizer(note)
        connection.execute(f"EXPLAIN {query}", build_null_values(query)).fetchall()
        connection.set_authorizer(None)
    connection.close()
    return stores_by_query


class Watched(db.Transaction):
    """A transaction that records every query of the other store."""

    crossings: ClassVar[list[str]] = []

    __slots__ = ("_opened_at", "_store")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        frame: FrameType | None = sys._getframe(1)
        while frame and frame.f_code.co_filename.endswith(("contextlib.py", "/store/db.py", "/store/layered.py")):
            frame = frame.f_back
        assert frame is not None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        self._opened_at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self._store = (
            "accounts" if "accounts." in line or self._opened_at.startswith(f"{_PACKAGE}/net/mail") else "market"
        )

    def _execute(self, query: str, *values: Any) -> sqlite3.Cursor:
        self._note(query)
        return super()._execute(query, *values)

    def many(self, query: str, rows: Any) -> int:
        """What it is, noted."""
        self._note(query)
        return super().many(query, rows)

    def _note(self, query: str) -> None:
        if self._opened_at.startswith(f"{_PACKAGE}/") and stores_of_queries()[query] - {self._store}:
            Watched.crossings.append(f"{self._opened_at}: {query} in a transaction on the store of {self._store}")


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(db, "Transaction", Watched)
    Watched.crossings.clear()
    yield
    assert Watched.crossings == []
