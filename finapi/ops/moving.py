"""Moves of accounts from the data directory to PostgreSQL and back.

A move becomes final in one step (step 4). If the process is killed before or after that step, nothing is lost:

1. The move is recorded in the data directory (``store/account_moves.py``). From here on nothing is served from it.
   A move to the file first sets a mark in PostgreSQL, so that nothing is served from there either.
2. The rows are copied in one transaction, and every row must be the same on both sides. In PostgreSQL they arrive
   together with a mark that keeps other processes from using them.
3. The balances of both sides must be equal and consistent.
4. The move becomes final: the mark is removed (move to PostgreSQL), or changed to say that the accounts have left (move
   to the file).
5. The record in the data directory is removed. From here on the accounts are used at their new place.

Until step 4 the old place has all rows and is not written, so that the move can be repeated or undone. From the mark,
``finapi move`` sees how far an interrupted move came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from finapi import app as apps
from finapi.accounts import audit, billing
from finapi.accounts.audit import Actor
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
    """The outcome of a move, and counts of the accounts. ``database`` is where they are now, or None for the file."""

    outcome: Literal["moved", "undone"]
    database: str | None
    accounts: int
    ledger_rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Ends:
    """Both ends of a move.

    ``app.accounts`` is the database file, except in a block of :meth:`using_store`: there it is PostgreSQL.
    """

    app: App
    store: Postgres
    database: str

    @property
    def directory_name(self) -> str:
        """The name by which the data directory is identified in PostgreSQL, with the host's name."""
        return account_moves.describe_place(self.app.config.data_dir)

    def find_state(self, move: Move | None, target: Target) -> MarkState | None:
        """Return how far a move to ``target`` came, according to the mark in PostgreSQL.

        None means that there is no mark: the accounts there are in use. Raise UndecidedMoveError if the mark is of a
        move to the other target or of another data directory.
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
        """Return the PostgreSQL database that contains the accounts according to the data directory, or None."""
        return account_moves.find_database(self.app.db, self.app.config.data_dir)

    def set_database(self, name: str | None) -> None:
        """Record in the data directory which PostgreSQL database contains its accounts. None means its own file."""
        account_moves.set_database(self.app.db, self.app.config.data_dir, name)

    def set_mark(self, state: MarkState, move: Move) -> None:
        """Set the mark of a move in PostgreSQL."""
        self.store.set_mark(MoveMark(state, move.id, self.directory_name))

    @contextmanager
    def using_store(self) -> Iterator[None]:
        """Replace ``app.accounts`` by the store in PostgreSQL until the block ends."""
        self.app.db.accounts = self.store
        try:
            yield
        finally:
            self.app.db.accounts = self.app.db


def move_to_postgres(config: Config, actor: Actor | None = None) -> MoveResult:
    """Move the accounts of a data directory to the database ``accounts_url``, or finish an interrupted move.

    An interrupted move in the other direction is undone instead. The rows in the file are not deleted. From now on the
    data directory can only be opened together with PostgreSQL. The audit log of the accounts in use names the actor.
    """
    with _open_file(config) as app, _open_ends(config, app) as ends:
        move = _find_move(ends)
        if move is None and (database := ends.find_database()) is not None:
            raise UsageError(f"accounts are in {database} already")
        if move is not None and move.target == "file":
            result = _undo_move_to_file(ends, move)
        else:
            result = _move_to_postgres(ends, move)
        _record_move(app, ends, actor, result)
        return result


def move_to_file(config: Config, actor: Actor | None = None) -> MoveResult:
    """Move accounts back from the database ``accounts_url``, or finish an interrupted move.

    An interrupted move in the other direction is undone instead. The rows in PostgreSQL are not deleted, but can no
    longer be opened there. The audit log of the accounts in use names the actor.
    """
    with _open_file(config) as app:
        move = account_moves.find_move(config.data_dir)
        if not config.accounts_url:
            if move is None:
                database = account_moves.find_database(app.db, config.data_dir)
                location = "the data directory already" if database is None else f"{database}: set accounts_url to it"
                raise UsageError(f"accounts are in {location}")
            if move.target == "postgresql":
                result = _undo_move_to_postgres_alone(app, move)
                _record_move(app, None, actor, result)
                return result
            raise UndecidedMoveError(f"{move.describe()}; set accounts_url to the PostgreSQL database of this move")
        with _open_ends(config, app) as ends:
            move = _find_move(ends)
            if move is not None and move.target == "postgresql":
                result = _undo_move_to_postgres(ends, move)
            else:
                result = _move_to_file(ends, move)
            _record_move(app, ends, actor, result)
            return result


def _record_move(app: App, ends: _Ends | None, actor: Actor | None, result: MoveResult) -> None:
    """Record a move in the audit log of the accounts that are in use after it."""
    in_store = ends is not None and result.database is not None
    with ends.using_store() if ends is not None and in_store else nullcontext(), app.accounts.write() as tx:
        detail = f"{result.outcome}: in {result.database or 'the data directory'}"
        audit.record_action(tx, actor, "move accounts", app.clock.now(), detail=detail)


@contextmanager
def _open_file(config: Config) -> Iterator[App]:
    """Open a data directory as its only writer, with the accounts in its file. Opening changes nothing in it."""
    if config.role == "api":
        raise UsageError("a node with the role api has no accounts of its own; run this command on the worker")
    with datadir.lock_directory(config.data_dir):
        sweep(config.data_dir)
        # The rows of a move must be on disk before it becomes final, even if other commits are less durable.
        db = apps.open_original(replace(config, synchronous="FULL"))
        try:
            yield apps.wrap_database(config, db)
        finally:
            db.close()


@contextmanager
def _open_ends(config: Config, app: App) -> Iterator[_Ends]:
    """Open PostgreSQL for this process only, until the block ends."""
    with closing(apps.open_postgres(config.accounts_url, exclusive=True)) as store:
        from finapi.store import postgres

        database = postgres.describe_database(config.accounts_url)
        yield _Ends(app, store, database)


def _find_move(ends: _Ends) -> Move | None:
    """Return the unfinished move of the data directory, or None if there is none.

    If its record is missing or damaged, complete it from the mark in PostgreSQL and store it again. Raise
    UndecidedMoveError if it is a move to or from another database.
    """
    move = account_moves.find_move(ends.app.config.data_dir)
    if move is not None and move.target is not None:
        if move.database != ends.database:
            raise UndecidedMoveError(f"{ends.database} is not the database of the unfinished move; {move.describe()}")
        return move
    mark = ends.store.find_mark()
    if move is None and (mark is None or mark.state != "leaving" or not mark.is_of(None, ends.directory_name)):
        return None
    # If the record is missing, a move to the file was killed after it set its mark and before it wrote its record.
    target: Target = "file" if move is None else _infer_target(ends, mark)
    completed = Move(uuid4().hex, target, ends.database, iso(ends.app.clock.now()))
    account_moves.begin_move(ends.app.config.data_dir, completed)
    return completed


def _infer_target(ends: _Ends, mark: MoveMark | None) -> Target:
    """Return the target of a move whose record is damaged. It is inferred from the contents of both ends."""
    if mark is not None:
        is_own = mark.is_of(None, ends.directory_name)
        return "file" if is_own and mark.state != "arriving" else "postgresql"
    if ends.find_database() is not None:
        # The accounts in PostgreSQL are in use: either a move to PostgreSQL has become final, or a move to the file has
        # not yet set its mark there.
        return "file"
    in_file, in_store = apps.has_accounts(ends.app.db), apps.has_accounts(ends.store)
    if in_file and in_store:
        raise UsageError(
            f"{account_moves.DAMAGED}; both places contain accounts, and finapi cannot know which ones are current: "
            f"delete those that are outdated, then remove {account_moves.MOVING} by hand"
        )
    return "file" if in_store else "postgresql"


def _move_to_postgres(ends: _Ends, move: Move | None) -> MoveResult:
    app, data_dir = ends.app, ends.app.config.data_dir
    state = ends.find_state(move, "postgresql")
    if move is not None and state is None and ends.find_database() is not None:
        # An earlier move became final and was killed before it could remove its record.
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
                    raise UsageError("the balances in PostgreSQL differ; accounts in the data directory stay in use")
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
        # An earlier move became final and was killed before it could remove its record.
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
                raise UsageError("the balances in the file differ; the accounts in PostgreSQL stay in use")
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
    """Undo a move: the accounts in the file stay in use. Rows already copied to PostgreSQL stay there, unused."""
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
    """Undo a move without access to PostgreSQL. This is possible until the accounts may be in use there."""
    if account_moves.find_database(app.db, app.config.data_dir) is not None:
        raise UndecidedMoveError(f"the accounts may be in {move.database} already; set accounts_url to it to find out")
    # Rows that were copied to PostgreSQL keep their mark, so that no process uses them.
    account_moves.end_move(app.config.data_dir)
    return _build_result(app, "undone", None, _prove_balances(app))


def _undo_move_to_file(ends: _Ends, move: Move) -> MoveResult:
    """Undo a move: the accounts in PostgreSQL stay in use. Rows already copied to the file stay there, unused."""
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
    """Raise a failure in the block as an ApiError that says that the move is unfinished and how to continue it."""
    try:
        yield
    except (DatabaseError, OSError) as error:
        raise ApiError("UNAVAILABLE", f"{error}; {move.describe()}") from error


def _build_result(app: App, outcome: Literal["moved", "undone"], database: str | None, tokens: int) -> MoveResult:
    with app.accounts.read() as tx:
        counts = {row["name"]: row["number"] for row in tx.list_rows("counts_of_accounts")}
    return MoveResult(outcome, database, counts["accounts"], counts["ledger_rows"], tokens)


def _prove_balances(app: App) -> int:
    """Return the total tokens of all accounts. Raise UsageError if balances, wallets or debits are inconsistent."""
    errors = billing.list_errors(app)
    if errors:
        raise UsageError(f"{errors[0]}; for details run finapi check")
    with app.accounts.read() as tx:
        return sum(row["balance"] or 0 for row in tx.list_rows("user_rows", text="", limit=-1))
