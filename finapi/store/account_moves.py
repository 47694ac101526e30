"""The place of a data directory's accounts, and the state of a move of them.

While PostgreSQL holds the accounts, its database is named in the file ``accounts-moved`` of the data directory and in
the table ``moved_accounts``. A restored backup does not replace the file, and copies of the database contain the table,
so neither makes finapi use old accounts. The file ``accounts-moving`` is written before the first row is copied. It is
removed when the move is decided: the accounts are in force in one of the two places, and the other one is not used.
While the file exists, only ``finapi move`` opens the accounts of the directory. PostgreSQL holds the other half of the
state, a :class:`MoveMark`, which prevents every other process from opening the accounts there.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from finapi.core import files
from finapi.core.errors import UsageError

if TYPE_CHECKING:
    from finapi.store.db import Database

MOVED, MOVING = "accounts-moved", "accounts-moving"

Target = Literal["postgresql", "file"]
MarkState = Literal["arriving", "leaving", "left"]

DAMAGED = (
    f"the file {MOVING} in the data directory is damaged, so a move of accounts is not decided; name the place where "
    "the accounts are to be: finapi move --to file, or finapi move --to postgresql://..."
)


class UndecidedMoveError(UsageError):
    """Accounts cannot be opened, because a move of them is not decided."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of accounts that was begun in a data directory.

    ``database`` is the address of the PostgreSQL database, without user and password. If the file is damaged,
    ``target`` is None and the other fields are empty.
    """

    id: str
    target: Target | None
    database: str
    started_at: str

    def describe(self) -> str:
        """Return a sentence about the undecided move, and how to finish or undo it."""
        if self.target is None:
            return DAMAGED
        to_postgres = f"finapi move --to postgresql://... (of {self.database})"
        to_file = "finapi move --to file"
        if self.target == "postgresql":
            route = f"to {self.database}"
            finish_command = to_postgres
            undo_command = to_file
        else:
            route = f"from {self.database} to the data directory"
            finish_command = to_file
            undo_command = to_postgres
        description = f"the move of accounts {route}, begun {self.started_at}, is not decided"
        return f"{description}; finish it: {finish_command}; undo it: {undo_command}"


@dataclass(frozen=True, slots=True)
class MoveMark:
    """The record of a move in PostgreSQL. While there is one, the accounts in PostgreSQL are not used.

    ``place`` is the data directory of the move. ``arriving`` is the state of a move to PostgreSQL that has copied the
    rows and is not decided. ``leaving`` is that of an undecided move to the data directory. ``left`` means that the
    accounts are in the data directory now.
    """

    state: MarkState
    move_id: str
    place: str

    def describe(self) -> str:
        """Return the reason why the accounts in PostgreSQL cannot be opened."""
        if self.state == "left":
            return f"accounts were moved from there to {self.place}; without accounts_url, finapi uses them there"
        direction = "there from" if self.state == "arriving" else "from there to"
        return f"the move of accounts {direction} {self.place} is not decided; finish or undo it there: finapi move"

    def is_of(self, move: Move | None, directory_name: str) -> bool:
        """Return True if the mark belongs to this move, or to an earlier one of the same data directory."""
        return self.place == directory_name or (move is not None and self.move_id == move.id)


def describe_place(data_dir: Path) -> str:
    """Return the host name and path of a data directory, ``host:/path``."""
    return f"{os.uname().nodename}:{data_dir.absolute()}"


def find_move(data_dir: Path) -> Move | None:
    """Return the undecided move of a data directory, or None."""
    try:
        text = (data_dir / MOVING).read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    damaged = Move("", None, "", "")
    try:
        fields = json.loads(text)
        move = Move(str(fields["id"]), fields["target"], str(fields["database"]), str(fields["started_at"]))
    except (ValueError, KeyError, TypeError):
        return damaged
    return move if move.target in ("postgresql", "file") else damaged


def begin_move(data_dir: Path, move: Move) -> None:
    """Record a move on the disk. Call this before the first row is copied."""
    fields = {"id": move.id, "target": move.target, "database": move.database, "started_at": move.started_at}
    files.replace_file(data_dir / MOVING, json.dumps(fields).encode() + b"\n", "move")


def end_move(data_dir: Path) -> None:
    """Record that the move is decided, so that the accounts may be opened again."""
    files.remove_file(data_dir / MOVING)


def check_decided(data_dir: Path) -> None:
    """Raise UndecidedMoveError while a move of a data directory's accounts is not decided."""
    move = find_move(data_dir)
    if move is not None:
        raise UndecidedMoveError(move.describe())


def find_database(db: Database, data_dir: Path) -> str | None:
    """Return the name of the PostgreSQL database that holds the accounts, or None if ``db`` does."""
    if has_marker(data_dir):
        return (data_dir / MOVED).read_text("utf-8", errors="replace").strip() or "PostgreSQL"
    return find_recorded_database(db)


def has_marker(data_dir: Path) -> bool:
    """Return True if the data directory contains the file that says that its accounts are in PostgreSQL."""
    return (data_dir / MOVED).exists()


def find_recorded_database(db: Database) -> str | None:
    """Return the name of the PostgreSQL database that held the accounts when ``db`` was written or copied, or None."""
    with db.read_one() as tx:
        database: str | None = tx.find_value("moved_accounts_database")
    return database


def set_database(db: Database, data_dir: Path, name: str | None) -> None:
    """Record that the accounts are in a PostgreSQL database, or with None that they are in ``db``."""
    with db.write() as tx:
        tx.run("delete_moved_accounts")
        if name is not None:
            tx.run("insert_moved_accounts", database=name)
    if name is None:
        files.remove_file(data_dir / MOVED)
    else:
        files.replace_file(data_dir / MOVED, name.encode(), "move")
