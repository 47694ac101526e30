"""Where the accounts of a data directory are, and a move of them that is not decided yet.

While PostgreSQL holds the accounts, its database is named in the file ``accounts-moved`` of the data directory and in
the table ``moved_accounts``. The file stays when a backup is put back, and copies of the database take the table along:
neither brings old accounts into force. The file ``accounts-moving`` is written before the first row moves, and removed
when one of the two places is in force. While it is there, only ``finapi move`` opens the accounts of the directory.
PostgreSQL holds the other half of the state, a :class:`MoveMark`: it keeps every other process from the accounts there.
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
    """Accounts are not opened, because a move of them is not decided."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of accounts that was begun in a data directory.

    ``database`` is the PostgreSQL database at the other end, without user and password. ``target`` is None where the
    file is damaged; the other fields are empty then.
    """

    id: str
    target: Target | None
    database: str
    started_at: str

    def describe(self) -> str:
        """Return a sentence about the undecided move, and how to finish or undo it."""
        if self.target is None:
            return DAMAGED
        other_place = f"finapi move --to postgresql://... (of {self.database})"
        if self.target == "postgresql":
            route, finish, undo = f"to {self.database}", other_place, "finapi move --to file"
        else:
            route, finish, undo = f"from {self.database} to the data directory", "finapi move --to file", other_place
        description = f"the move of accounts {route}, begun {self.started_at}, is not decided"
        return f"{description}; finish it: {finish}; undo it: {undo}"


@dataclass(frozen=True, slots=True)
class MoveMark:
    """What PostgreSQL records of a move. While there is one, the accounts there are not in force.

    ``arriving``: the rows are there, and the move to PostgreSQL is not decided. ``leaving``: the move to the data
    directory ``place`` is not decided. ``left``: the accounts are at ``place`` now.
    """

    state: MarkState
    move_id: str
    place: str

    def describe(self) -> str:
        """Return why the accounts there are not opened."""
        if self.state == "left":
            return f"accounts were moved from there to {self.place}"
        direction = "there from" if self.state == "arriving" else "from there to"
        return f"the move of accounts {direction} {self.place} is not decided; finish or undo it there: finapi move"

    def is_of(self, move: Move | None, directory_name: str) -> bool:
        """Return True if the mark is of this move, or of an earlier one of the same data directory."""
        return self.place == directory_name or (move is not None and self.move_id == move.id)


def describe_place(data_dir: Path) -> str:
    """Return the name of a data directory for other hosts."""
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
    """Record a move on the disk before its first row moves."""
    fields = {"id": move.id, "target": move.target, "database": move.database, "started_at": move.started_at}
    files.replace_file(data_dir / MOVING, json.dumps(fields).encode() + b"\n", "move")


def end_move(data_dir: Path) -> None:
    """Record that the move is decided: the accounts may be opened again."""
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
    """Return True if a data directory says by a file of its own that its accounts are in PostgreSQL."""
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
