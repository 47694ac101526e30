"""Moves of accounts from the data directory to PostgreSQL and back.

A move is decided in one step, and a kill before or after it loses nothing:

1. The move is recorded in the data directory (``store/account_moves.py``). From here on nothing is served from it.
   A move to the file first sets a mark in PostgreSQL, so that nothing is served from there either.
2. The rows are copied in one transaction, and every row must be the same on both sides. In PostgreSQL they arrive with
   a mark that keeps every process from them.
3. The balances of both sides must be the same, and add up.
4. The move is decided: the mark is removed (to PostgreSQL), or says that the accounts have left (to the file).
5. The record in the data directory is removed, and the accounts are in force at their new place.

Until step 4 the old place has all rows and is not written, so that the move can be made again or undone. By the mark
``finapi move`` finds out how far the last one came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from finapi import app as apps
from finapi.accounts import billing
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.core.temporary import sweep
from finapi.store import account_moves, datadir
from finapi.store.account_moves import MarkState, Move, MoveMark, Target, UndecidedMoveError
from finapi.store.db import DatabaseError

if TYPE_CHECKING:
    from finapi.store.postgres import Postgres


@dataclass(frozen=True, slots=True)
class MoveResult:
    """How a move ended, and the accounts that are in force now: ``database`` is None if they are in the file."""

    outcome: Literal["moved", "undone"]
    database: str | None
    accounts: int
    ledger_rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both ends of a move. ``app.accounts`` are those of the file, unless the block of :meth:`using_store` runs."""

    app: App
    store: Postgres
    database: str

    @property
    def directory_name(self) -> str:
        """The name of the data directory for other hosts."""
        return account_moves.describe_place(self.app.config.data_dir)

    def find_state(self, move: Move | None, target: Target) -> MarkState | None:
        """Return how far a move to ``target`` came by the mark in PostgreSQL; None: the accounts there are in force.

        Raise UndecidedMoveError if the mark is of a move to the other target or of another data directory.
        """
        mark = self.store.find_mark()
        if mark is None:
            return None
        is_own = mark.is_of(move, self.directory_name)
        other_state = "leaving" if target == "postgresql" else "arriving"
        if mark.state != "left" and (mark.state == other_state or not is_own):
            raise UndecidedMoveError(mark.describe())
        if mark.state == "left" and target == "file" and not (is_own and move is not None):
            raise UsageError(mark.describe())
        return mark.state

    def find_database(self) -> str | None:
        """Return the PostgreSQL database that the data directory records as that of its accounts, or None."""
        return account_moves.find_database(self.app.db, self.app.config.data_dir)

    def set_database(self, name: str | None) -> None:
        """Record in the data directory that this database holds its accounts, or with None that its file does."""
        account_moves.set_database(self.app.db, self.app.config.data_dir, name)

    def set_mark(self, state: MarkState, move: Move) -> None:
        """Set the mark of a move in PostgreSQL."""
        self.store.set_mark(MoveMark(state, move.id, self.directory_name))

    @contextmanager
    def using_store(self) -> Iterator[None]:
        """Let ``app.accounts`` be those in PostgreSQL until the block ends."""
        self.app.db.accounts = self.store
        try:
            yield
        finally:
            self.app.db.accounts = self.app.db


def move_to_postgres(config: Config) -> MoveResult:
    """Move the accounts of a data directory to ``accounts_url``; finish or undo a move that was interrupted.

    The file keeps its rows, and is not opened without PostgreSQL any more.
    """
    with _open_file(config) as app, _open_ends(config, app) as ends:
        move = _find_move(ends)
        if move is None and (database := ends.find_database()) is not None:
            raise UsageError(f"accounts are in {database} already")
        if move is not None and move.target == "file":
            return _undo_move_to_file(ends, move)
        return _move_to_postgres(ends, move)


def move_to_file(config: Config) -> MoveResult:
    """Move accounts back from ``accounts_url``; finish or undo a move that was interrupted.

    PostgreSQL keeps the rows, and they are not opened there any more.
    """
    with _open_file(config) as app:
        move = account_moves.find_move(config.data_dir)
        if not config.accounts_url:
            if move is None:
                database = account_moves.find_database(app.db, config.data_dir)
                location = "the data directory already" if database is None else f"{database}: set accounts_url to it"
                raise UsageError(f"accounts are in {location}")
            if move.target == "postgresql":
                return _undo_move_to_postgres_alone(app, move)
            raise UndecidedMoveError(f"{move.describe()}; set accounts_url to the database at the other end")
        with _open_ends(config, app) as ends:
            move = _find_move(ends)
            if move is not None and move.target == "postgresql":
                return _undo_move_to_postgres(ends, move)
            return _move_to_file(ends, move)


@contextmanager
def _open_file(config: Config) -> Iterator[App]:
    """Open a data directory as its one writer, with the accounts that its file holds, and change nothing in it."""
    if config.role == "api":
        raise UsageError("a node of the role api has no accounts of its own; move those of the worker")
    with datadir.lock_directory(config.data_dir):
        sweep(config.data_dir)
        # A move is decided when its rows are on the disk, however durable other commits are to be.
        db = apps.open_original(replace(config, synchronous="FULL"))
        try:
            yield apps.wrap_database(config, db)
        finally:
            db.close()


@contextmanager
def _open_ends(config: Config, app: App) -> Iterator[_Ends]:
    """Open PostgreSQL, which no other process may use meanwhile."""
    database = apps.load_postgres().describe_database(config.accounts_url)
    with closing(apps.open_postgres(config.accounts_url, alone=True)) as store:
        yield _Ends(app, store, database)


def _find_move(ends: _Ends) -> Move | None:
    """Return the undecided move of the data directory, with what a missing or damaged record of it lacks, or None.

    Raise UndecidedMoveError if it is a move to or from another database.
    """
    move = account_moves.find_move(ends.app.config.data_dir)
    if move is not None and move.target is not None:
        if move.database != ends.database:
            raise UndecidedMoveError(f"{ends.database} is another database; {move.describe()}")
        return move
    mark = ends.store.find_mark()
    if move is None and (mark is None or mark.state != "leaving" or not mark.is_of(None, ends.directory_name)):
        return None
    # Without a record a move to the file was killed between its mark and its record.
    target: Target = "file" if move is None else _infer_target(ends, mark)
    completed = Move(uuid4().hex, target, ends.database, iso(ends.app.clock.now()))
    account_moves.begin_move(ends.app.config.data_dir, completed)
    return completed


def _infer_target(ends: _Ends, mark: MoveMark | None) -> Target:
    """Return the target of a move whose record is damaged, by what both ends hold."""
    if mark is not None:
        is_own = mark.is_of(None, ends.directory_name)
        return "file" if is_own and mark.state != "arriving" else "postgresql"
    if ends.find_database() is not None:
        # In force in PostgreSQL: a move there was decided, or one to the file was not begun there.
        return "file"
    in_file, in_store = apps.has_accounts(ends.app.db), apps.has_accounts(ends.store)
    if in_file and in_store:
        raise UsageError(
            f"{account_moves.DAMAGED}; both places hold accounts, and nothing says which are in force: "
            f"remove {account_moves.MOVING} by hand when you know, and empty the other place"
        )
    return "file" if in_store else "postgresql"


def _move_to_postgres(ends: _Ends, move: Move | None) -> MoveResult:
    app, data_dir = ends.app, ends.app.config.data_dir
    state = ends.find_state(move, "postgresql")
    if move is not None and state is None and ends.find_database() is not None:
        # The last one was decided, and killed just before it was over.
        account_moves.end_move(data_dir)
        with ends.using_store():
            return _build_result(app, "moved", ends.database, _prove_balances(app))
    billing.log_refunds(billing.refund_open_debits(app, app.clock.now()))
    tokens = _prove_balances(app)
    if move is None:
        move = Move(uuid4().hex, "postgresql", ends.database, iso(app.clock.now()))
        account_moves.begin_move(data_dir, move)
    with _reporting_interruption(move):
        try:
            ends.store.copy_from_file(app.db, MoveMark("arriving", move.id, ends.directory_name))
            with ends.using_store():
                if _prove_balances(app) != tokens:
                    raise UsageError("the balances there are others; the accounts in the data directory stay in force")
                result = _build_result(app, "moved", ends.database, tokens)
        except UsageError:
            _undo_move_to_postgres(ends, move)
            raise
        ends.set_database(ends.database)
        ends.store.set_mark(None)
        account_moves.end_move(data_dir)
    return result


def _move_to_file(ends: _Ends, move: Move | None) -> MoveResult:
    app = ends.app
    state = ends.find_state(move, "file")
    if state == "left":
        # The last one was decided, and killed before it was over.
        return _end_move_to_file(ends, _build_result(app, "moved", None, _prove_balances(app)))
    has_moved = move is not None or ends.find_database() is not None
    if not has_moved and apps.has_accounts(app.db) and not apps.has_accounts(ends.store):
        raise UsageError("accounts are in the data directory already")
    with ends.using_store():
        billing.log_refunds(billing.refund_open_debits(app, app.clock.now(), every=True))
        tokens = _prove_balances(app)
    if move is None:
        move = Move(uuid4().hex, "file", ends.database, iso(app.clock.now()))
    with _reporting_interruption(move):
        ends.set_mark("leaving", move)
        account_moves.begin_move(app.config.data_dir, move)
        try:
            ends.store.copy_to_file(app.db)
            if _prove_balances(app) != tokens:
                raise UsageError("the balances in the file are others; the accounts in PostgreSQL stay in force")
            result = _build_result(app, "moved", None, tokens)
        except UsageError:
            _undo_move_to_file(ends, move)
            raise
        ends.set_mark("left", move)
        return _end_move_to_file(ends, result)


def _end_move_to_file(ends: _Ends, result: MoveResult) -> MoveResult:
    ends.set_database(None)
    account_moves.end_move(ends.app.config.data_dir)
    return result


def _undo_move_to_postgres(ends: _Ends, move: Move) -> MoveResult:
    """Leave the accounts in force in the file. What arrived in PostgreSQL stays there and is not opened."""
    state = ends.find_state(move, "postgresql")
    if state is None and ends.find_database() is not None:
        raise UndecidedMoveError(
            f"the accounts are in {ends.database} already, and may have been used there; finish the move first: "
            "finapi move --to postgresql://..."
        )
    ends.set_database(None)
    if state == "arriving":
        ends.set_mark("left", move)
    account_moves.end_move(ends.app.config.data_dir)
    return _build_result(ends.app, "undone", None, _prove_balances(ends.app))


def _undo_move_to_postgres_alone(app: App, move: Move) -> MoveResult:
    """Do the same without PostgreSQL, before the accounts can have been in force there."""
    if account_moves.find_database(app.db, app.config.data_dir) is not None:
        raise UndecidedMoveError(f"the accounts may be in {move.database} already; set accounts_url to it to find out")
    # Whatever arrived there keeps its mark, by which nothing opens it.
    account_moves.end_move(app.config.data_dir)
    return _build_result(app, "undone", None, _prove_balances(app))


def _undo_move_to_file(ends: _Ends, move: Move) -> MoveResult:
    """Leave the accounts in force in PostgreSQL. What was written to the file stays there and is not opened."""
    if ends.find_state(move, "file") == "left":
        raise UndecidedMoveError(
            "the accounts are in the data directory already; finish the move first: finapi move --to file"
        )
    ends.set_database(ends.database)
    ends.store.set_mark(None)
    account_moves.end_move(ends.app.config.data_dir)
    with ends.using_store():
        return _build_result(ends.app, "undone", ends.database, _prove_balances(ends.app))


@contextmanager
def _reporting_interruption(move: Move) -> Iterator[None]:
    """Say of a failure in the block that the move is not decided, and how to go on."""
    try:
        yield
    except (DatabaseError, OSError) as error:
        raise ApiError("UNAVAILABLE", f"{error}; {move.describe()}") from error


def _build_result(app: App, outcome: Literal["moved", "undone"], database: str | None, tokens: int) -> MoveResult:
    with app.accounts.read() as tx:
        counts = {row["name"]: row["number"] for row in tx.list_rows("counts_of_accounts")}
    return MoveResult(outcome, database, counts["accounts"], counts["ledger_rows"], tokens)


def _prove_balances(app: App) -> int:
    """Return the tokens of all accounts. Raise UsageError if balances, wallets or debits do not add up."""
    errors = billing.list_errors(app)
    if errors:
        raise UsageError(f"{errors[0]}; finapi check says more")
    with app.accounts.read() as tx:
        return sum(row["balance"] or 0 for row in tx.list_rows("user_rows", text="", limit=-1))
