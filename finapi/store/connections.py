"""Connections to SQLite: opening them, explaining why a file cannot be opened, and interrupting their reads."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from finapi.core.errors import UsageError

# How long a statement waits for another process's lock. Only one process writes, so such a lock can only be that of a
# backup or an operator's shell. A stop waits for up to three statements within its 10 seconds.
BUSY_SECONDS = 1.5
# Primary result codes of damaged pages: CORRUPT, NOTADB (sqlite.org/rescode.html).
_DAMAGE_CODES = {11, 26}
RESTORE_ADVICE = "stop finapi, keep a copy of the data directory, and restore a backup with: finapi restore FILE"
BREAK_SECONDS = 5.0  # The time that interrupted reads have to end.


class LockedConnection(sqlite3.Connection):
    """A connection with a lock. A thread that reads holds the lock, so that no other thread closes the connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lock = threading.RLock()


def connect(target: str, *, uri: bool = False, cached_statements: int = 512) -> LockedConnection:
    """Open a connection in autocommit mode. Any thread may use it, but only one at a time."""
    # check_same_thread is False because many threads use the writer, each while it holds the lock, and because the
    # thread that closes the database closes the readers of other threads.
    connection = sqlite3.connect(
        target,
        uri=uri,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        check_same_thread=False,
        cached_statements=cached_statements,
        factory=LockedConnection,
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA mmap_size=0")
    return connection


AnyConnection = TypeVar("AnyConnection", bound=sqlite3.Connection)


def interrupt_until_idle(
    connection: AnyConnection, until: float, lock_if_idle: Callable[[AnyConnection], bool]
) -> bool:
    """Interrupt a connection's reads until ``lock_if_idle`` succeeds. Return False if that is not before ``until``.

    Closing a connection frees the callbacks that a running statement calls, which would crash the process. ``until`` is
    a time of ``time.monotonic``.
    """
    while not lock_if_idle(connection):
        if time.monotonic() > until:
            return False
        connection.interrupt()  # It ends one statement. Another one may begin after it.
        threading.Event().wait(0.001)
    return True


def get_result_code(error: BaseException) -> int:
    """Return the primary result code of an error of SQLite, or 0 for any other error."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Return True if damaged pages caused an error."""
    return get_result_code(error) in _DAMAGE_CODES


def build_unusable_error(path: Path | None, error: BaseException) -> UsageError:
    """Return the UsageError for a file that cannot be opened.

    It advises to restore a backup only for a damaged file.
    """
    if is_damage(error):
        advice = RESTORE_ADVICE
    else:
        advice = "it may be intact: finapi doctor checks the disk and the directory"
    return UsageError(f"{path} cannot be used as a database: {error}; {advice}")
