"""Changes of accounts that other processes commit, heard over PostgreSQL's LISTEN.

A thread with a connection of its own listens from the start of a process and calls back for each change. Every
:data:`PING_SECONDS` it sends a statement. The answer proves that no earlier change was missed, also where a network
drops packets without closing anything. Without such a proof for :data:`MAX_SILENCE_SECONDS` the listener counts as
deaf, even if its thread still runs, and nothing that depends on accounts may be cached any longer.
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
# The most that a revocation can go unnoticed while nothing can be heard.
MAX_SILENCE_SECONDS = 1.0
RETRY_SECONDS = 0.5
STOP_SECONDS = 2.0


class ChangeListener:
    """A thread that listens for what other processes commit, and holds the lock of the one that works.

    ``connect`` opens a connection of psycopg in autocommit mode. ``on_change`` is called with the topics of each
    change, and with None where anything may have changed unheard. ``on_deaf`` is called after each attempt to listen
    that failed. Notifications that begin with ``own_mark`` are this process's own and are ignored.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        own_mark: str,
        on_change: Callable[[Collection[str] | None], None],
        on_deaf: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._own_mark = own_mark
        self._on_change = on_change
        self._on_deaf = on_deaf
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._elected = threading.Event()
        self._deposed: Callable[[], None] | None = None
        # When the last statement that was answered was sent; None while there is no connection.
        self._proven_at: float | None = None
        self._failing = False

    def start(self) -> None:
        """Start the thread, unless it runs already. One that has died is replaced."""
        with self._lock:
            if self._stopping.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            if self._thread is not None:
                log.error("the thread that listens for changes of accounts has died; another one is started")
            self._thread = threading.Thread(target=self._run, name="finapi-accounts", daemon=True)
            self._thread.start()

    def revive(self) -> None:
        """Start the thread again if it has died; one that was never started stays so."""
        thread = self._thread
        if thread is not None and not thread.is_alive():
            self.start()

    def is_listening(self) -> bool:
        """Return True if every change until :data:`MAX_SILENCE_SECONDS` ago has been heard."""
        proven_at = self._proven_at
        return proven_at is not None and self._monotonic() - proven_at < MAX_SILENCE_SECONDS

    def elect(self, seconds: float, deposed: Callable[[], None]) -> bool:
        """Return True if this process becomes the one that works within ``seconds``.

        It stays so for as long as its connection stands. ``deposed`` is called if another one works in its place then.
        """
        self._deposed = deposed
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
                log.warning("changes of accounts cannot be heard, next try in %g s: %s", RETRY_SECONDS, reason)
            self._on_deaf()

    def _listen(self, connection: Any) -> None:
        """Listen until the connection fails, the thread is stopped, or another process works in this one's place."""
        works = False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        with closing(connection):
            connection.execute(f"LISTEN {CHANNEL}")
            # Earlier commits were not notified to this process.
            self._on_change(None)
            if self._failing:
                self._failing = False
                log.info("changes of accounts can be heard again")
            # By the machine's time, as the wait is; ``monotonic`` may be a clock that stands still.
            due_at = time.monotonic()
            while not self._stopping.is_set():
                if time.monotonic() >= due_at:
                    due_at, sent_at = time.monotonic() + PING_SECONDS, self._monotonic()
                    if self._deposed is not None and not works:
                        works = self._try_to_work(connection)
                        if not works and self._elected.is_set():
                            log.error("another process works in the place of this one")
                            self._deposed()
                            return
                    else:
                        connection.execute("SELECT 1")
                    # What came with the answer is not on the socket any more, so it is collected before the wait.
                    self._report_changes(connection)
                    self._proven_at = sent_at
                else:
                    self._report_changes(connection)
                poll.poll(max(0.0, due_at - time.monotonic()) * 1000)

    def _try_to_work(self, connection: Any) -> bool:
        works = bool(connection.execute(f"SELECT pg_try_advisory_lock({WORKER_LOCK})").fetchone()[0])
        if works:
            self._elected.set()
        return works

    def _report_changes(self, connection: Any) -> None:
        for notice in list(connection.notifies(timeout=0)):
            mark, *topics = notice.payload.split()
            if mark != self._own_mark:
                self._on_change(topics)
