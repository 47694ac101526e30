"""Write transactions of SQLite.

:class:`WriteBlock` is a transaction as a ``with`` block. :class:`WriteBatcher` runs the work of several threads in one
transaction: while one commit waits for the disk, the work of other threads is queued, and all of it shares the next
commit.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from finapi.core.errors import StoreUnavailableError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from finapi.store.connections import LockedConnection

log = logging.getLogger("finapi.store")

STUCK = "another thread is still writing"

Tx = TypeVar("Tx", bound="UndoableTransaction")

# The attributes of db.Transaction and db.Database that this module uses. It cannot import db, which imports this
# module. The protocols are only for type checkers, because creating them takes time at each start.
if TYPE_CHECKING:

    class UndoableTransaction(Protocol):
        """A ``db.Transaction``."""

        undo: list[Callable[[], None]]

    class WritableDatabase(Protocol[Tx]):
        """A ``db.Database``."""

        _writer: LockedConnection
        _lock: threading.RLock
        _lock_seconds: float
        _owner: int | None
        _waiting_writers: set[int]
        _local: threading.local
        _write_count: int
        trouble: str | None
        _damaged: bool

        def _transaction(self, *, shared: bool) -> AbstractContextManager[Tx]: ...
        def _begin(self) -> None: ...
        def _is_open(self, connection: LockedConnection) -> bool: ...
        def _commit(self, connection: LockedConnection) -> None: ...
        def _roll_back(self) -> None: ...
        def _raise_machine_error(self, error: BaseException) -> None: ...
        def _notify_listeners(self, tx: Tx) -> None: ...


class WriteBlock(Generic[Tx]):
    """A write transaction as a ``with`` block. With a generator, a small transaction would take a sixth longer."""

    __slots__ = ("_changes_before", "_database", "_is_batch", "_tx")

    def __init__(self, database: WritableDatabase[Tx], tx: Tx, is_batch: bool) -> None:
        self._database, self._tx, self._is_batch = database, tx, is_batch

    def __enter__(self) -> Tx:
        database, writer = self._database, self._database._writer
        thread_id = threading.get_ident()
        if not database._lock.acquire(blocking=False):
            database._waiting_writers.add(thread_id)
            acquired = database._lock.acquire(timeout=database._lock_seconds)
            database._waiting_writers.discard(thread_id)
            if not acquired:
                raise StoreUnavailableError(STUCK)
        database._owner = thread_id
        try:
            if database._is_open(writer):
                raise RuntimeError("a write transaction inside another")
            database._begin()
        except BaseException:
            database._owner = None
            database._lock.release()
            raise
        database._local.writes = True
        self._changes_before = writer.total_changes
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        database, writer = self._database, self._database._writer
        try:
            if error is not None:
                self._roll_back(error)
                return
            try:
                database._commit(writer)
            except BaseException as commit_error:
                self._roll_back(commit_error)
                raise
            if not self._is_batch:
                database._write_count += 1
            has_changes = writer.total_changes > self._changes_before
            if database.trouble is not None and not database._damaged and has_changes:
                log.info("the database can be written again")
                database.trouble = None
        finally:
            database._local.writes = False
            database._owner = None
            database._lock.release()
        database._notify_listeners(self._tx)

    def _roll_back(self, error: BaseException) -> None:
        """Undo everything. Raise StoreUnwritableError if the machine caused the error."""
        # After some errors, such as a full disk, SQLite has already rolled the transaction back.
        if self._database._is_open(self._database._writer):
            self._database._roll_back()
        for undo_step in reversed(self._tx.undo):
            undo_step()
        self._database._raise_machine_error(error)


class BatchedWrite:
    """A piece of work that waits for its transaction, and its result or error."""

    __slots__ = ("error", "leads", "result", "turn", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        # The thread waits for this lock, which is released when the work is done or the thread becomes the leader.
        self.turn = threading.Lock()
        self.turn.acquire()
        self.leads = False


class WriteBatcher:
    """Runs the work of several threads in one transaction.

    One thread at a time is the leader. It runs all waiting work and wakes the threads of that work. If more work has
    arrived in the meantime, the thread of the first piece becomes the next leader.
    """

    def __init__(self, database: WritableDatabase[Any]) -> None:
        self._database = database
        self._lock = threading.Lock()  # Guards ``waiting`` and ``_has_leader``.
        self.waiting: deque[BatchedWrite] = deque()
        self._has_leader = False

    def run(self, work: Callable[[Any], Any]) -> Any:
        """Run ``work`` in a transaction. Return its result or raise its error."""
        write = BatchedWrite(work)
        with self._lock:
            self.waiting.append(write)
            write.leads = not self._has_leader
            self._has_leader = True
        if not write.leads:
            write.turn.acquire()
        if write.leads:
            self._lead()
        if write.error is not None:
            raise write.error
        return write.result

    def _lead(self) -> None:
        """Run all waiting work, then make the thread of the next piece the leader."""
        # The batch is taken after the lock, so that it includes work that arrives while another transaction ends.
        acquired = self._database._lock.acquire(timeout=self._database._lock_seconds)
        try:
            with self._lock:
                batch = list(self.waiting)
                self.waiting.clear()
            if acquired:
                self._run_batch(batch)
            else:
                for write in batch:
                    write.error = StoreUnavailableError(STUCK)
        finally:
            if acquired:
                self._database._lock.release()
        with self._lock:
            self._has_leader = bool(self.waiting)
            if self._has_leader:
                self.waiting[0].leads = True
                self.waiting[0].turn.release()
        for write in batch:
            if not write.leads:
                write.turn.release()

    def _run_batch(self, batch: list[BatchedWrite]) -> None:
        """Run work in one transaction. If a piece raises, run each piece in a transaction of its own.

        If BEGIN or COMMIT fails, every piece gets that error.
        """
        is_running_work = False
        try:
            with self._database._transaction(shared=True) as tx:
                is_running_work = True
                for write in batch:
                    write.result = write.work(tx)
                is_running_work = False
        except BaseException as error:
            if is_running_work and len(batch) > 1:
                # A savepoint for each piece would slow down every batch, although almost no batch fails.
                for write in batch:
                    self._run_batch([write])
            else:
                for write in batch:
                    write.error = error
