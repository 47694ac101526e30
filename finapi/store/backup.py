"""Copies of a database: made while it is written, with or without the master secrets, and put in its place."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from finapi.core import stopping
from finapi.core.errors import UsageError
from finapi.core.files import sync_directory
from finapi.core.temporary import Purpose, TemporaryFolder, sweep
from finapi.store import schema
from finapi.store.connections import build_unusable_error, is_damage
from finapi.store.db import DatabaseDamagedError

STEP_PAGES = 256  # copied at once, 1 MiB: others read and write between two steps
SPARE = 1 << 20  # bytes that a copy must leave free


def version_of(path: Path) -> int:
    """Return the schema version of a file, or 0 if there is none. Raise UsageError if it is not finapi's database."""
    if not path.exists():
        return 0
    try:
        with closing(_reading(path)) as connection:
            return schema.read_version(connection, path)
    except sqlite3.DatabaseError as error:
        raise build_unusable_error(path, error) from None


@contextmanager
def temporary_copy(
    source: Path,
    directory: Path,
    purpose: Purpose,
    tell: Callable[[int, int], None] = lambda done, pages: None,
) -> Iterator[Path]:
    """Copy what is committed at this moment. The copy is removed at the end of the block unless it was moved away.

    It is a file (mode 0600) without a WAL, in a temporary folder in ``directory``. ``tell`` is called with the numbers
    of copied pages and of all pages. Raise UsageError if there is no room for it. What killed commands left in
    ``directory`` is removed first. A stop is seen after each step.
    """
    import shutil

    sweep(directory)
    needed = sum(part.stat().st_size for part in (source, source.with_name(f"{source.name}-wal")) if part.exists())
    free = shutil.disk_usage(directory).free
    if needed + SPARE > free:
        raise UsageError(f"a copy needs {needed:,} bytes and {directory} has {free:,}")
    with TemporaryFolder(purpose, directory) as folder:
        target = folder / "copy.db"
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(source, target, tell)
        yield target


def _copy(source: Path, target: Path, tell: Callable[[int, int], None]) -> None:
    def see_step(status: int, left: int, pages: int) -> None:
        stopping.check()
        tell(pages - left, pages)

    try:
        with closing(_reading(source)) as reading, closing(sqlite3.connect(target, isolation_level=None)) as writing:
            # One read transaction around all steps: without it every write of the server begins the copy anew.
            reading.execute("BEGIN")
            reading.execute("SELECT 1 FROM sqlite_schema").fetchone()
            reading.backup(writing, pages=STEP_PAGES, progress=see_step)
            writing.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        if is_damage(error):
            raise DatabaseDamagedError(error) from None
        raise


def put_secrets(path: Path, secrets: Sequence[bytes]) -> None:
    """Put master secrets into a copy."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE backup_secrets (place INTEGER PRIMARY KEY, secret BLOB NOT NULL) STRICT")
        connection.executemany("INSERT INTO backup_secrets (secret) VALUES (?)", [(one,) for one in secrets])


def take_secrets(path: Path) -> list[bytes]:
    """Take the master secrets out of a copy, so that no trace of them is left in it; none when it has none."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'backup_secrets'").fetchone():
            return []
        found = [bytes(row[0]) for row in connection.execute("SELECT secret FROM backup_secrets ORDER BY place")]
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("DROP TABLE backup_secrets")
    return found


def swap(path: Path, made: Path, kept: Path) -> None:
    """Put ``made`` in the place of the database ``path``, which goes on under the name ``kept``.

    Nobody may have either open. A crash leaves the one or the other in place, whole.
    """
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            # The log goes into the file, so that one name is all that has to change.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.link(path, kept)
        for ending in ("-wal", "-shm"):
            beside = path.with_name(path.name + ending)
            if beside.exists():
                os.replace(beside, kept.with_name(kept.name + ending))
    os.replace(made, path)
    sync_directory(path.parent)


def _reading(path: Path) -> sqlite3.Connection:
    # Of a database that was killed while it was made SQLite has a journal to roll back, which a reader may not.
    mode = "rw" if path.with_name(path.name + "-journal").exists() else "ro"
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)
