"""Reads of a past day: temporary views hide what was filed later, in every kind of database."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from finapi.store import as_of, schema
from finapi.store.as_of_database import AsOfDatabase
from finapi.store.copies import MarketCopy
from finapi.store.db import Database, load_queries
from finapi.store.layered import LayeredDatabase
from tests.support.raw_sql import run_sql, run_sql_many

OPENERS: dict[str, Callable[[Path], Database]] = {
    "file": Database,
    "memory": lambda path: Database(None),
    "layered": LayeredDatabase,
    "copy": MarketCopy,
}
FILINGS = (("0000000001-20-000001", "2020-05-01"), ("0000000001-20-000002", "2020-05-02"), ("unfiled-1", None))


def store_filings(database: Database) -> None:
    with database.write() as tx:
        tx.run("upsert_company_name", cik=1, name="Lamp Corp", rank=0, as_of="")
        run_sql_many(tx, "INSERT INTO filings (accession, cik, filed_at) VALUES (?, 1, ?)", FILINGS)


@pytest.fixture(params=OPENERS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "finapi.db"
    stored = Database(None)
    store_filings(stored)
    path.write_bytes(stored.image())
    stored.close()
    opened = OPENERS[request.param](path)
    if request.param == "memory":
        store_filings(opened)
    yield opened
    opened.close()


def list_accessions(database: Database, day: str) -> list[str]:
    with database.read_as_of(day) as tx:
        return [row[0] for row in run_sql(tx, "SELECT accession FROM filings ORDER BY 1")]


def test_only_documents_of_the_day_or_before_are_visible(database: Database) -> None:
    counts = [len(list_accessions(database, day)) for day in ("2020-04-30", "2020-05-01", "2020-05-02", "2030-01-01")]
    assert counts == [0, 1, 2, 2]


def test_other_reads_see_everything_before_and_after(database: Database) -> None:
    for _ in range(2):
        list_accessions(database, "2020-05-01")
        with database.read() as tx:
            assert run_sql(tx, "SELECT count(*) FROM filings").fetchone()[0] == 3


def test_a_failure_leaves_no_views_behind(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError), database.read_as_of("2020-05-01") as tx:
        run_sql(tx, "SELECT nothing FROM filings")
    assert list_accessions(database, "2020-05-02") == ["0000000001-20-000001", "0000000001-20-000002"]
    with database.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM filings").fetchone()[0] == 3


def test_rows_that_nobody_reads_leave_no_views_behind(database: Database) -> None:
    unread_rows = []
    for _ in range(2):
        with database.read_as_of("2020-05-02") as tx:
            rows = run_sql(tx, "SELECT accession FROM filings ORDER BY 1")
            assert rows.fetchone()[0] == "0000000001-20-000001"
            unread_rows.append(rows)
    assert list_accessions(database, "2020-05-01") == ["0000000001-20-000001"]
    with database.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM filings").fetchone()[0] == 3


def test_a_read_of_a_past_day_cannot_write(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError), database.read_as_of("2020-05-01") as tx:
        run_sql(tx, "DELETE FROM main.filings")


def test_threads_read_different_days_at_the_same_time(tmp_path: Path) -> None:
    database = Database(tmp_path / "finapi.db")
    store_filings(database)
    counts: list[int] = []
    with database.read_as_of("2020-05-01") as tx:
        thread = threading.Thread(target=lambda: counts.append(len(list_accessions(database, "2020-05-02"))))
        thread.start()
        thread.join()
        counts.append(run_sql(tx, "SELECT count(*) FROM filings").fetchone()[0])
    database.close()
    assert counts == [2, 1]


def test_a_closed_database_is_not_read(tmp_path: Path) -> None:
    database = Database(tmp_path / "finapi.db")
    list_accessions(database, "2020-05-01")
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        list_accessions(database, "2020-05-01")


def test_an_as_of_database_has_the_present_accounts() -> None:
    with closing(Database(None)) as database:
        past = AsOfDatabase(database, "2020-05-01")
        assert (past.accounts, past.write_count) == (database.accounts, database.write_count)


@pytest.fixture
def copy() -> Iterator[sqlite3.Connection]:
    """Yield a connection with an empty database and the views."""
    with closing(sqlite3.connect(":memory:")) as connection:
        schema.get_empty_database().backup(connection)
        as_of.create_views(connection)
        yield connection


def test_every_query_can_be_prepared_over_the_views(copy: sqlite3.Connection) -> None:
    """A hidden table has the columns of the view, and no query needs an index by name or a rowid."""
    for name, query in as_of.adapt_queries(load_queries()).items():
        if re.match(r"(WITH|SELECT)\b", re.sub(r"--.*\n", "", query)) and "filing_words" not in query:
            values = dict.fromkeys(re.findall(r":([a-z_]\w*)", query))
            try:
                copy.execute(f"EXPLAIN {query}", values)
            except sqlite3.Error as error:
                pytest.fail(f"{name}: {error}")


def test_views_have_the_columns_of_their_tables(copy: sqlite3.Connection) -> None:
    for name, _ in as_of._list_view_statements():
        table, view = (
            {row[1] for row in copy.execute(f"PRAGMA {place}.table_xinfo({name})")} for place in ("main", "temp")
        )
        assert view == table, name


def test_variants_take_the_place_of_their_queries() -> None:
    queries = as_of.adapt_queries({"a": "SELECT 1 FROM t INDEXED BY i WHERE 1", "b": "SELECT 2", "b_as_of": "SELECT 3"})
    assert queries["a"] == "SELECT 1 FROM t WHERE 1"
    assert queries["b"] == "SELECT 3"
