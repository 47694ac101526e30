"""Settings of a connection: which process checkpoints the WAL, and the size of the page cache."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from finapi.core.errors import UsageError

SQLITE = sqlite3.sqlite_version_info

# The leaf pages of a large table's indexes do not fit into SQLite's default cache of 2 MB, so that each new row reads
# some of them from the file again. With 200,000 insider transactions stored, a cache of 16 MB shortens an insert by a
# third. A cache of 64 MB is not faster.
LARGE_CACHE_KB = 16_384


def can_share_checkpoints(version: tuple[int, ...]) -> bool:
    """Return True if an SQLite of this version can write while another process checkpoints.

    In other versions a commit may reset the WAL during a second checkpoint, which then skips pages
    (sqlite.org/wal.html, "The WAL-reset bug"). 3.51.3 fixed it, and 3.50.7 and 3.44.6 for their branches.
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def disable_checkpoints(connection: sqlite3.Connection) -> None:
    """Leave checkpoints to another process. Raise UsageError for an SQLite that could damage the database then."""
    if not can_share_checkpoints(SQLITE):
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
    """Increase a connection's page cache to :data:`LARGE_CACHE_KB` until the block ends.

    ``lock`` guards the connection.
    """
    with lock:
        size: int = connection.execute("PRAGMA cache_size").fetchone()[0]
        connection.execute(f"PRAGMA cache_size=-{LARGE_CACHE_KB}")
    try:
        yield
    finally:
        with lock:
            connection.execute(f"PRAGMA cache_size={size}")
