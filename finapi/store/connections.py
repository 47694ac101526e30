"""Connections to SQLite: how one is opened, why it is not, and how what it reads is broken off."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from finapi.core.errors import UsageError

# How long a statement waits for another process's lock, in seconds. One process writes, so that only a backup
# or an operator's shell can be waited for; a stop waits for up to three statements within its 10 s.
BUSY_SECONDS = 1.5
# Primary result codes of a file whose pages are damaged: CORRUPT, NOTADB (sqlite.org/rescode.html).
_DAMAGE = {11, 26}
RESTORE_ADVICE = "stop finapi, keep a copy of the data directory, and put a backup back with: finapi restore FILE"
BREAK_SECONDS = 5.0  # that all reads which are broken off have to end


class LockedConnection(sqlite3.Connection):
    """A connection with a lock that its thread has while it reads, so that nobody closes it under it."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.lock = threading.RLock()


def connect(target: str, *, uri: bool = False, cached_statements: int = 512) -> LockedConnection:
    """A connection that any thread may use, one at a time, and that begins no transaction by itself."""
    # check_same_thread: the writer is used by many threads, one at a time behind the lock, and readers are
    # closed by the thread that closes the database.
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


def interrupt_until_idle(connection: AnyConnection, until: float, rests: Callable[[AnyConnection], bool]) -> bool:
    """Interrupt what a connection reads until it ``rests``; whether it does before ``until`` (``time.monotonic``).

    Closed before, it would free its callbacks, which a statement that still runs calls: the process would crash.
    """
    while not rests(connection):
        if time.monotonic() > until:
            return False
        connection.interrupt()  # of one statement: the next may have begun since
        threading.Event().wait(0.001)
    return True


def get_result_code(error: BaseException) -> int:
    """The primary result code of an error of SQLite; 0 for any other."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Whether an error comes of damaged pages."""
    return get_result_code(error) in _DAMAGE


def build_unusable_error(path: Path | None, error: BaseException) -> UsageError:
    """That a file cannot be opened: damaged, or in want of room or of leave to write, where no backup helps."""
    advice = (
        RESTORE_ADVICE if is_damage(error) else "it may be whole: finapi doctor looks at the disk and the directory"
    )
    return UsageError(f"{path} cannot be used as a database: {error}; {advice}")
