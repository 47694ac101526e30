"""Copying a database that is in use, with or without the master secrets, and replacing it by a copy."""

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
from finapi.store import schema, wal_index
from finapi.store.connections import build_unusable_error, is_damage
from finapi.store.db import DatabaseDamagedError

STEP_PAGES = 256  # The pages (1 MiB) of one step. Other threads read and write between two steps.
MIN_FREE_BYTES = 1 << 20  # The free space that a copy must leave on the disk.


def read_version(path: Path) -> int:
    """Return the schema version of a file, or 0 if there is none. Raise UsageError if it is not finapi's database."""
    if not path.exists():
        return 0
    try:
        with closing(_connect_for_reading(path)) as connection:
            return schema.read_version(connection, path)
    except sqlite3.DatabaseError as error:
        raise build_unusable_error(path, error) from None


def check_is_complete(path: Path) -> None:
    """Raise UsageError if a database of this version lacks a part of the schema (``schema.check_is_complete``)."""
    try:
        with closing(_connect_for_reading(path)) as connection:
            schema.check_is_complete(connection, path)
    except sqlite3.DatabaseError as error:
        raise build_unusable_error(path, error) from None


@contextmanager
def temporary_copy(
    source: Path,
    directory: Path,
    purpose: Purpose,
    report_progress: Callable[[int, int], None] = lambda done, pages: None,
) -> Iterator[Path]:
    """Copy the committed state of a database. The copy is deleted at the end of the block unless it was moved away.

    It is a file (mode 0600) without a WAL, in a temporary folder in ``directory``. Folders of killed commands are
    deleted there first. ``report_progress`` is called with the numbers of copied pages and of all pages. A stop is
    noticed after each step. Raise UsageError if the disk has too little free space.
    """
    import shutil

    sweep(directory)
    needed = sum(part.stat().st_size for part in (source, source.with_name(f"{source.name}-wal")) if part.exists())
    free = shutil.disk_usage(directory).free
    if needed + MIN_FREE_BYTES > free:
        raise UsageError(f"a copy needs {needed:,} bytes, but {directory} has only {free:,} bytes of free space")
    with TemporaryFolder(purpose, directory) as folder:
        target = folder / "copy.db"
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(source, target, report_progress)
        yield target


def _copy(source: Path, target: Path, report_progress: Callable[[int, int], None]) -> None:
    def on_step(status: int, remaining_pages: int, pages: int) -> None:
        stopping.check()
        report_progress(pages - remaining_pages, pages)

    try:
        with (
            closing(_connect_for_reading(source)) as reading,
            closing(sqlite3.connect(target, isolation_level=None)) as writing,
        ):
            # One read transaction around all steps. Without it, every write of the server restarts the copy.
            reading.execute("BEGIN")
            reading.execute("SELECT 1 FROM sqlite_schema").fetchone()
            reading.backup(writing, pages=STEP_PAGES, progress=on_step)
            writing.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        if is_damage(error):
            raise DatabaseDamagedError(error) from None
        raise


def list_schema_differences(path: Path) -> list[str]:
    """Return one message for each difference of a copy's schema from finapi's (``schema.list_differences``)."""
    try:
        with closing(_connect_for_reading(path)) as connection:
            return schema.list_differences(connection, may_have_secrets=True)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise DatabaseDamagedError(error) from None
        raise


def insert_secrets(path: Path, secrets: Sequence[bytes]) -> None:
    """Insert the master secrets into a copy, in a new table."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(schema.SECRETS_DEFINITION)
        connection.executemany("INSERT INTO backup_secrets (secret) VALUES (?)", [(secret,) for secret in secrets])


def pop_secrets(path: Path) -> list[bytes]:
    """Return the master secrets of a copy, or an empty list. Delete them from it and overwrite their bytes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'backup_secrets'").fetchone():
            return []
        secrets = [bytes(row[0]) for row in connection.execute("SELECT secret FROM backup_secrets ORDER BY place")]
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("DROP TABLE backup_secrets")
    return secrets


def replace_database(path: Path, replacement: Path, previous_path: Path) -> None:
    """Rename the database ``path`` to ``previous_path`` and ``replacement`` to ``path``.

    Neither file may be open. After a crash ``path`` is one of the two databases, complete.
    """
    if path.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            # Once the WAL is written back to the file, one rename is enough.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.link(path, previous_path)
        for suffix in ("-wal", "-shm"):
            extra_file = path.with_name(path.name + suffix)
            if extra_file.exists():
                os.replace(extra_file, previous_path.with_name(previous_path.name + suffix))
    os.replace(replacement, path)
    sync_directory(path.parent)


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    # If a database was killed while it was created, SQLite has to roll back its journal, for which it must write.
    if wal_index.uses_wal(path):  # A backup does not, and can be read from a full disk.
        wal_index.check_space(path)
    mode = "rw" if path.with_name(path.name + "-journal").exists() else "ro"
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)
