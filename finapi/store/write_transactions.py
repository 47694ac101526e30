"""Write transactions of the one writer, and work that waits to share one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from finapi.store.connections import LockedConnection

log = logging.getLogger("finapi.store")


Tx = TypeVar("Tx", bound="Undoable")

# For type checkers alone: a protocol takes a while to make.
if TYPE_CHECKING:
    Told = TypeVar("Told", contravariant=True)

    class Undoable(Protocol):
        """A transaction."""

        undo: list[Callable[[], None]]

    class OneWriter(Protocol[Told]):
        """What a transaction is begun and ended by: a ``db.Database``."""

        _writer: LockedConnection
        _lock: threading.RLock
        _wanting: set[int]
        _local: threading.local
        _write_count: int
        trouble: str | None
        _damaged: bool

        def _begin(self) -> None: ...
        def _is_open(self, connection: LockedConnection) -> bool: ...
        def _commit(self, connection: LockedConnection) -> None: ...
        def _undo(self) -> None: ...
        def _judge(self, error: BaseException) -> None: ...
        def _tell(self, tx: Told) -> None: ...


class WriteBlock(Generic[Tx]):
    """A write transaction as a block: by a generator a small one would take a sixth longer."""

    __slots__ = ("_changes", "_database", "_shared", "_tx")

    def __init__(self, database: OneWriter[Tx], tx: Tx, shared: bool) -> None:
        self._database, self._tx, self._shared = database, tx, shared

    def __enter__(self) -> Tx:
        database, writer = self._database, self._database._writer
        if not database._lock.acquire(blocking=False):
            me = threading.get_ident()
            database._wanting.add(me)
            database._lock.acquire()
            database._wanting.discard(me)
        try:
            if database._is_open(writer):
                raise RuntimeError("a write transaction inside another")
            database._begin()
        except BaseException:
            database._lock.release()
            raise
        database._local.writes = True
        self._changes = writer.total_changes
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        database, writer = self._database, self._database._writer
        try:
            if error is not None:
                self._roll_back(error)
                return
            try:
                database._commit(writer)
            except BaseException as failed:
                self._roll_back(failed)
                raise
            database._write_count += not self._shared
            if database.trouble is not None and not database._damaged and writer.total_changes > self._changes:
                log.info("the database can be written again")
                database.trouble = None
        finally:
            database._local.writes = False
            database._lock.release()
        database._tell(self._tx)

    def _roll_back(self, error: BaseException) -> None:
        """Undo everything; raises Unwritable where the machine is to blame for the error."""
        # A full disk ends the transaction by itself.
        if self._database._is_open(self._database._writer):
            self._database._undo()
        for put_back in reversed(self._tx.undo):
            put_back()
        self._database._judge(error)


class BatchedWrite:
    """Work that waits for a shared transaction, and what came of it."""

    __slots__ = ("error", "leads", "result", "turn", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        # Held until the work is done or, with ``leads``, until its thread is to do that of all that wait.
        self.turn = threading.Lock()
        self.turn.acquire()
        self.leads = False
