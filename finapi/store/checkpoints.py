"""Who folds the WAL into the database, SQLite itself or another process beside it, and how many pages are at hand."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from finapi.core.errors import UsageError

SQLITE = sqlite3.sqlite_version_info

# The leaves of a large table's indexes are more than SQLite's own 2 MB: each row that is added reads some from the file
# again. Adding to 200,000 transactions of insiders, 16 MB takes a third off their insert, and 64 MB no more.
MANY_PAGES_KB = 16_384


def is_safe_beside_checkpoints(version: tuple[int, ...]) -> bool:
    """Whether an SQLite of this version can write while another process checkpoints.

    Before, a commit may reset the WAL under a second checkpoint, which then skips what it should have copied
    (sqlite.org/wal.html, "The WAL-reset bug"); mended in 3.51.3, and in 3.50.7 and 3.44.6 for those who stay there.
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def disable_checkpoints(connection: sqlite3.Connection) -> None:
    """Leave it to another process to fold the WAL into the file; UsageError for an SQLite that cannot stand that."""
    if not is_safe_beside_checkpoints(SQLITE):
        raise UsageError(
            f"setting litestream: SQLite {sqlite3.sqlite_version} can damage a database that another process "
            "checkpoints; run finapi on 3.51.3 or later: a newer Python build, or a newer libsqlite3.so.0 in a "
            "directory that LD_LIBRARY_PATH names"
        )
    connection.execute("PRAGMA wal_autocheckpoint=0")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)


@contextmanager
def with_larger_cache(connection: sqlite3.Connection, lock: threading.RLock) -> Iterator[None]:
    """Keep :data:`MANY_PAGES_KB` of a connection's pages in memory for a while."""
    with lock:
        few: int = connection.execute("PRAGMA cache_size").fetchone()[0]
        connection.execute(f"PRAGMA cache_size=-{MANY_PAGES_KB}")
    try:
        yield
    finally:
        with lock:
            connection.execute(f"PRAGMA cache_size={few}")
