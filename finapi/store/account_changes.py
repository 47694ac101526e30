"""Notifications of account changes that other processes commit, received by PostgreSQL's LISTEN.

A thread with its own connection listens from the start of a process and calls back for each change. Every
:data:`PING_SECONDS` it sends a statement. The answer proves that no earlier change was missed, even if the network
drops packets without closing the connection. If there was no answer for :data:`MAX_SILENCE_SECONDS`, the listener
counts as not listening, even if its thread still runs, and nothing that depends on accounts may be cached any longer.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Collection
from contextlib import closing
from typing import Any

import psycopg

from finapi.store.db import DatabaseError

log = logging.getLogger("finapi.store")

CHANNEL = "finapi"
WORKER_LOCK = 0x66696E62  # The key of the advisory lock of the active worker.

PING_SECONDS = 0.4
# The longest time for which a revoked credential remains valid while the listener receives nothing.
MAX_SILENCE_SECONDS = 1.0
RETRY_SECONDS = 0.5
STOP_SECONDS = 2.0


class ChangeListener:
    """A thread that listens for commits of other processes, and holds the lock of the active worker.

    ``connect`` opens a psycopg connection in autocommit mode. ``on_change`` is called with the topics of each change,
    and with None if changes may have been missed. ``on_failure`` is called after each failed attempt to listen.
    Notifications that begin with ``own_mark`` were sent by this process and are ignored.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        own_mark: str,
        on_change: Callable[[Collection[str] | None], None],
        on_failure: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._own_mark = own_mark
        self._on_change = on_change
        self._on_failure = on_failure
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._elected = threading.Event()
        self._on_deposed: Callable[[], None] | None = None
        # The time at which the last answered statement was sent. None without a connection.
        self._proven_at: float | None = None
        self._failing = False

    def start(self) -> None:
        """Start the thread, unless it is running. If it has died, start another one."""
        with self._lock:
            if self._stopping.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            if self._thread is not None:
                log.error("the thread that listens for changes of accounts has died; another one is started")
            self._thread = threading.Thread(target=self._run, name="finapi-accounts", daemon=True)
            self._thread.start()

    def revive(self) -> None:
        """Start the thread again if it has died. Do nothing if it was never started."""
        thread = self._thread
        if thread is not None and not thread.is_alive():
            self.start()

    def is_listening(self) -> bool:
        """Return True if every change that is older than :data:`MAX_SILENCE_SECONDS` has been received."""
        proven_at = self._proven_at
        return proven_at is not None and self._monotonic() - proven_at < MAX_SILENCE_SECONDS

    def elect(self, seconds: float, on_deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the active worker within ``seconds``.

        It is the worker for as long as its connection is open. ``on_deposed`` is called if another process has become
        the worker after that.
        """
        self._on_deposed = on_deposed
        self.start()
        return self._elected.wait(seconds)

    def stop(self) -> None:
        """End the thread."""
        with self._lock:
            self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._try_to_listen()
                except Exception:
                    log.exception("listening for changes of accounts failed, next try in %g s", RETRY_SECONDS)
                self._proven_at = None
                self._stopping.wait(RETRY_SECONDS)
        finally:
            self._proven_at = None

    def _try_to_listen(self) -> None:
        try:
            self._listen(self._connect())
        except (DatabaseError, psycopg.Error) as error:
            self._proven_at = None
            if self._stopping.is_set():
                return
            if not self._failing:
                self._failing = True
                reason = " ".join(str(error).split())
                log.warning("cannot listen for changes of accounts, next try in %g s: %s", RETRY_SECONDS, reason)
            self._on_failure()

    def _listen(self, connection: Any) -> None:
        """Listen until the connection fails, the thread is stopped, or another process has become the worker."""
        is_worker = False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        with closing(connection):
            connection.execute(f"LISTEN {CHANNEL}")
            # Commits before LISTEN were not notified.
            self._on_change(None)
            if self._failing:
                self._failing = False
                log.info("listening for changes of accounts again")
            # Real time, like the wait below. ``monotonic`` may be a stopped clock of a test.
            due_at = time.monotonic()
            while not self._stopping.is_set():
                if time.monotonic() >= due_at:
                    due_at = time.monotonic() + PING_SECONDS
                    sent_at = self._monotonic()
                    if self._on_deposed is not None and not is_worker:
                        is_worker = self._try_to_become_worker(connection)
                        if not is_worker and self._elected.is_set():
                            log.error("another process has become the worker in place of this one")
                            self._on_deposed()
                            return
                    else:
                        connection.execute("SELECT 1")
                    # Notifications that arrived with the answer have left the socket, so poll() would not report them.
                    self._report_changes(connection)
                    self._proven_at = sent_at
                else:
                    self._report_changes(connection)
                poll.poll(max(0.0, due_at - time.monotonic()) * 1000)

    def _try_to_become_worker(self, connection: Any) -> bool:
        is_worker = bool(connection.execute(f"SELECT pg_try_advisory_lock({WORKER_LOCK})").fetchone()[0])
        if is_worker:
            self._elected.set()
        return is_worker

    def _report_changes(self, connection: Any) -> None:
        for notice in list(connection.notifies(timeout=0)):
            mark, *topics = notice.payload.split()
            if mark != self._own_mark:
                self._on_change(topics)
