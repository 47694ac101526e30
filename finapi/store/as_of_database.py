"""A database as it was known at the end of a past day, for functions that take a database."""

from __future__ import annotations

from contextlib import AbstractContextManager

from finapi.store.db import Database, Transaction


class AsOfDatabase:
    """A database as it was known at the end of a day. It can only be read."""

    def __init__(self, database: Database, day: str) -> None:
        self.day = day
        self._database = database

    def read(self) -> AbstractContextManager[Transaction]:
        """Return a read transaction, as :meth:`Database.read` does."""
        return self._database.read_as_of(self.day)

    read_one = read

    def read_as_of(self, day: str) -> AbstractContextManager[Transaction]:
        """Return a read transaction for a day, or for this database's day if that is earlier."""
        return self._database.read_as_of(min(day, self.day))

    @property
    def accounts(self) -> Database:
        """Return the database of accounts, which is the present one."""
        return self._database.accounts

    @property
    def write_count(self) -> int:
        """Return the number of writes, as :attr:`Database.write_count` does."""
        return self._database.write_count
