"""Connections to SQLite: how one is opened, and how what it reads is broken off."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable

# How long a statement waits for another process's lock, in seconds. One process writes, so that only a backup
# or an operator's shell can be waited for; a stop waits for up to three statements within its 10 s.
BUSY_SECONDS = 1.5
BREAK_SECONDS = 5.0  # that all reads which are broken off have to end


def connect(target: str, *, uri: bool = False, cached_statements: int = 512) -> sqlite3.Connection:
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
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA mmap_size=0")
    return connection


def broken_off(connection: sqlite3.Connection, until: float, rests: Callable[[sqlite3.Connection], bool]) -> bool:
    """Interrupt what a connection reads until it ``rests``; whether it does before ``until`` (``time.monotonic``).

    Closed before, it would free its callbacks, which a statement that still runs calls: the process would crash.
    """
    while not rests(connection):
        if time.monotonic() > until:
            return False
        connection.interrupt()  # of one statement: the next may have begun since
        threading.Event().wait(0.001)
    return True
