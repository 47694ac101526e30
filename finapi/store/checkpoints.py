"""Who folds the WAL into the database: SQLite itself, or another process beside it, as Litestream does."""

from __future__ import annotations

import sqlite3
import sys

from finapi.core.errors import UsageError

SQLITE = sqlite3.sqlite_version_info


def is_safe_beside_checkpoints(version: tuple[int, ...]) -> bool:
    """Whether an SQLite of this version can write while another process checkpoints.

    Before, a commit may reset the WAL under a second checkpoint, which then skips what it should have copied
    (sqlite.org/wal.html, "The WAL-reset bug"); mended in 3.51.3, and in 3.50.7 and 3.44.6 for those who stay there.
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def leave_checkpoints(connection: sqlite3.Connection) -> None:
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
