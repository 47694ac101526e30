"""Tests of the database: migrations, one writer, consistent reads, and refused writes."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from finapi.store import db
from finapi.store.db import ConstraintError, Database, StoreUnwritableError, Transaction
from finapi.store.portions import write_in_portions
from tests.process import list_open_files
from tests.support.raw_sql import get_writer, run_sql

NOW = "2026-01-31T12:00:00.000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "finapi.db"


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, path: Path) -> Iterator[Database]:
    opened = Database(path if request.param == "file" else None)
    yield opened
    opened.close()


@pytest.fixture
def on_file(path: Path) -> Iterator[Database]:
    opened = Database(path)
    yield opened
    opened.close()


def add_user(tx: Transaction, number: int) -> int:
    return tx.insert_row(
        "insert_user", uuid=f"u{number}", email=f"u{number}@example.com", password=None, verify_email=1, now=NOW
    )


def count(tx: Transaction) -> None:
    """Add 1 to the number in the one row of data_version: the smallest write."""
    tx.run("bump_data_version")


def get_count(database: Database) -> int:
    """Return the number of commits of ``count`` that a read transaction sees."""
    with database.read() as tx:
        return int(tx.find_value("data_version"))


def write(database: Database, *steps: Callable[[Transaction], object]) -> None:
    """Run one write transaction of these steps."""
    with database.write() as tx:
        for step in steps:
            step(tx)


def fails(error: BaseException) -> Callable[[Transaction], None]:
    """Raise an error as a step."""

    def step(tx: Transaction) -> None:
        raise error

    return step


def in_threads(number_of_threads: int, work: Callable[[int], None]) -> None:
    """Run ``work(number)`` in so many threads and raise what one of them raised."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(number_of_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- queries


def test_a_query_name_that_stands_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "iter_texts", lambda folder: ["-- name: one\nSELECT 1\n", "-- name: one\nSELECT 2\n"])
    with pytest.raises(RuntimeError, match="query one is defined twice"):
        db.load_queries.__wrapped__()


def test_a_part_is_used_by_other_files_and_is_not_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [
        "-- Head.\n\n-- name: all\n-- Why.\nSELECT {some} FROM t\n",
        "-- part: some\na, {more}\n\n-- part: more\nb\n-- name: one\nSELECT 1;\n",
    ]
    monkeypatch.setattr(db, "iter_texts", lambda folder: files)
    assert db.load_queries.__wrapped__() == {"all": "-- Why.\nSELECT a, b FROM t", "one": "SELECT 1;"}


# ---- writing


def test_what_a_write_did_is_there_afterwards(database: Database) -> None:
    with database.write() as tx:
        count(tx)
        count(tx)
    assert get_count(database) == 2


def test_a_write_that_raises_is_rolled_back_whole(database: Database) -> None:
    with pytest.raises(KeyError, match="gone"):
        write(database, count, fails(KeyError("gone")))
    assert get_count(database) == 0


def test_a_write_that_is_interrupted_is_rolled_back_whole(database: Database) -> None:
    with pytest.raises(KeyboardInterrupt):
        write(database, count, fails(KeyboardInterrupt()))
    assert get_count(database) == 0


def test_a_write_after_one_that_failed_works(database: Database) -> None:
    with contextlib.suppress(ValueError):
        write(database, count, fails(ValueError()))
    write(database, count)
    assert get_count(database) == 1


def test_a_nested_write_is_refused_and_the_outer_one_continues(database: Database) -> None:
    with database.write() as tx:
        count(tx)
        with pytest.raises(RuntimeError, match="a write transaction inside another"), database.write():
            pass
        count(tx)
    assert get_count(database) == 2


def test_a_write_holds_the_file_from_its_beginning(on_file: Database, path: Path) -> None:
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with on_file.write(), pytest.raises(sqlite3.OperationalError, match="database is locked"):
        other.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE")
    other.close()


def test_a_repeated_unique_value_is_refused(database: Database) -> None:
    twice = [lambda tx: add_user(tx, 1)] * 2
    with pytest.raises(ConstraintError, match=r"UNIQUE constraint failed: users\.email"):
        write(database, count, *twice)
    assert get_count(database) == 0


def test_a_reference_to_nothing_is_refused(database: Database) -> None:
    with pytest.raises(ConstraintError, match="FOREIGN KEY"), database.write() as tx:
        tx.run("insert_api_key", user_id=99, uuid="k", fingerprint=b"f", made_with="m", now=NOW)


def test_a_value_of_another_type_is_refused(database: Database) -> None:
    with pytest.raises(ConstraintError, match="cannot store TEXT value in BLOB column"), database.write() as tx:
        tx.run("insert_api_key", user_id=add_user(tx, 1), uuid="k", fingerprint="text", made_with="m", now=NOW)


def test_a_commit_that_is_refused_ends_its_transaction(database: Database) -> None:
    def key_of_nobody(tx: Transaction) -> None:
        # Checked at COMMIT then, which fails as it would on a full disk.
        run_sql(tx, "PRAGMA defer_foreign_keys=ON")
        tx.run("insert_api_key", user_id=99, uuid="k", fingerprint=b"f", made_with="m", now=NOW)

    with pytest.raises(ConstraintError, match="FOREIGN KEY"):
        write(database, key_of_nobody)
    write(database, count)
    assert get_count(database) == 1


def test_the_error_that_ended_a_transaction_is_raised(database: Database) -> None:
    # As SQLite does by itself on a full disk or a failed read: the transaction is gone before the block ends.
    again = "INSERT OR ROLLBACK INTO users (uuid, email, created_at, updated_at) VALUES ('u1', 'e', '', '')"
    with pytest.raises(ConstraintError, match=r"UNIQUE constraint failed: users\.uuid"):
        write(database, count, lambda tx: add_user(tx, 1), lambda tx: run_sql(tx, again))
    assert get_count(database) == 0


def test_eight_threads_that_write_lose_nothing(database: Database) -> None:
    def work(number: int) -> None:
        for row in range(200):
            with database.write() as tx:
                add_user(tx, number * 1000 + row)
                count(tx)

    in_threads(8, work)
    assert get_count(database) == 1600
    with database.write() as tx:
        assert add_user(tx, 9999) == 1601


def test_a_reader_sees_whole_writes_only(database: Database) -> None:
    counts: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            if number:
                counts.append(get_count(database))
            else:
                with database.write() as tx:
                    count(tx)
                    count(tx)

    in_threads(4, work)
    assert len(counts) == 150
    assert all(number % 2 == 0 for number in counts)
    assert get_count(database) == 100


# ---- reading


def test_a_query_gives_rows_a_row_or_a_value(database: Database) -> None:
    with database.write() as tx:
        user_id = add_user(tx, 1)
        values = {"plan": "free", "tokens": 5, "bought": 0, "anchor": NOW}
        tx.run("upsert_userplan", values, user_id=user_id, period_end=NOW, now=NOW)
    with database.read() as tx:
        row = tx.find_row("userplan", user_id=user_id)
        assert row is not None
        assert [row[name] for name in ("plan", "status", "total_limit_api", "reach_limit_api")] == [
            "free",
            "active",
            5,
            0,
        ]
        assert tx.list_rows("userplan", user_id=user_id) == [row]
        assert tx.find_value("userplan", user_id=user_id) == user_id


def test_a_query_without_rows_gives_none(database: Database) -> None:
    with database.read() as tx:
        assert tx.find_row("userplan", user_id=1) is None
        assert tx.find_value("userplan", user_id=1) is None
        assert tx.list_rows("userplan", user_id=1) == []


def test_a_statement_tells_how_many_rows_it_changed(database: Database) -> None:
    with database.write() as tx:
        assert tx.run("bump_data_version") == 1
        assert tx.run("close_debit", id=1, status=200) == 0


def test_many_rows_go_in_by_position(database: Database) -> None:
    with database.write() as tx:
        tx.insert_rows("insert_concepts", [("a",), ("b",)])
        assert [tuple(row) for row in tx.list_rows("concept_ids", names='["a","b","c"]')] == [("a", 1), ("b", 2)]


def test_a_query_that_is_not_there_is_a_key_error(database: Database) -> None:
    with database.read() as tx, pytest.raises(KeyError, match="no_such_query"):
        tx.list_rows("no_such_query")


def test_a_read_transaction_cannot_write(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"), database.read() as tx:
        count(tx)
    assert get_count(database) == 0


def test_a_read_transaction_sees_one_moment(on_file: Database) -> None:
    with on_file.read() as tx:
        assert tx.find_value("data_version") == 0
        with on_file.write() as writing:
            count(writing)
        assert tx.find_value("data_version") == 0
    assert get_count(on_file) == 1


def test_a_reader_does_not_see_what_is_not_committed(on_file: Database) -> None:
    with on_file.write() as tx:
        count(tx)
        assert get_count(on_file) == 0


def test_a_read_that_raised_leaves_its_connection_usable(database: Database) -> None:
    def read_and_fail() -> None:
        with database.read() as tx:
            tx.find_value("data_version")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        read_and_fail()
    assert get_count(database) == 0


def test_the_error_that_ended_a_read_is_raised(database: Database) -> None:
    def read_and_fail() -> None:
        with database.read() as tx:
            run_sql(tx, "ROLLBACK")  # as SQLite does by itself when a page cannot be read
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        read_and_fail()
    write(database, count)
    assert get_count(database) == 1


def test_a_read_inside_a_read_is_the_same_on_file_and_in_memory(on_file: Database) -> None:
    in_memory = Database(None)
    outcomes = []
    for database in (on_file, in_memory):
        try:
            with database.read(), database.read() as tx:
                outcomes.append(f"reads {tx.find_value('data_version')}")
        except Exception as error:
            outcomes.append(f"raises {type(error).__name__}")
    in_memory.close()
    assert outcomes[0] == outcomes[1]


# ---- the file


def test_the_wal_shrinks_after_a_long_reader_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "MAX_WAL_BYTES", 100_000)
    database = Database(tmp_path / "finapi.db", synchronous="NORMAL")
    with closing(database), closing(sqlite3.connect(tmp_path / "finapi.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM users").fetchone()
        for _ in range(3):
            with database.write() as tx:
                run_sql(tx, "CREATE TABLE IF NOT EXISTS large (bytes BLOB)")
                run_sql(tx, "INSERT INTO large VALUES (zeroblob(4000000))")
        assert database.sizes()["wal"] > 10_000_000
        reader.execute("ROLLBACK")
        for number in range(2):
            with database.write() as tx:
                run_sql(tx, "INSERT INTO large VALUES (zeroblob(?))", (number,))
        assert database.sizes()["wal"] <= 100_000


def test_the_file_has_wal_mode_foreign_keys_and_full_commits(on_file: Database) -> None:
    writer = get_writer(on_file)
    assert writer.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert writer.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    assert writer.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert writer.execute("PRAGMA trusted_schema").fetchone()[0] == 0


def test_durability_is_a_setting(path: Path) -> None:
    database = Database(path, synchronous="NORMAL")
    assert run_sql(database, "PRAGMA synchronous").fetchone()[0] == 1
    database.close()


def test_a_path_with_special_characters_is_readable(tmp_path: Path) -> None:
    folder = tmp_path / "a b?c#d%41"
    folder.mkdir()
    database = Database(folder / "finapi.db")
    with database.write() as tx:
        count(tx)
    assert get_count(database) == 1
    database.close()
    assert [file.name for file in folder.iterdir()] == ["finapi.db"]


def test_what_was_written_is_there_after_opening_again(path: Path) -> None:
    database = Database(path)
    with database.write() as tx:
        count(tx)
    database.close()
    database = Database(path)
    assert get_count(database) == 1
    database.close()


def test_closing_folds_the_log_into_the_file(path: Path) -> None:
    database = Database(path)
    with database.write() as tx:
        count(tx)
    rows: list[int] = []
    in_threads(3, lambda number: rows.append(get_count(database)))
    assert rows == [1, 1, 1]
    database.close()
    assert [file.name for file in path.parent.iterdir()] == ["finapi.db"]


def test_a_closed_database_answers_nothing(database: Database) -> None:
    assert get_count(database) == 0
    database.close()
    with pytest.raises(sqlite3.ProgrammingError), database.write():
        pass
    with pytest.raises(sqlite3.ProgrammingError):
        get_count(database)


def test_threads_that_come_and_go_leave_no_connection_open(path: Path) -> None:
    database = Database(path)
    assert get_count(database) == 0
    opened = len(list_open_files(path.parent))
    rows: list[int] = []
    for _ in range(20):
        in_threads(1, lambda number: rows.append(get_count(database)))
    # The writer and the reader of this thread, and one that the others had one after the other.
    assert opened > 0
    assert len(list_open_files(path.parent)) <= opened + 2
    assert rows == [0] * 20
    database.close()
    assert list_open_files(path.parent) == []


def test_an_idle_threads_connection_serves_the_next_reader(path: Path) -> None:
    with closing(Database(path)) as database:
        used: list[sqlite3.Connection] = []

        def read(number: int = 0) -> None:
            with database.read() as tx:
                used.append(tx._connection)

        database.release_reader()  # it has none yet
        read()
        in_threads(1, read)
        database.release_reader()
        in_threads(1, read)
        own_connection, other_connection, rested_connection = used
        assert other_connection is not own_connection
        assert rested_connection is own_connection
        read()
        assert used[-1] in (own_connection, other_connection)


def test_a_closed_database_opens_no_reader_for_another_thread(path: Path) -> None:
    database = Database(path)
    database.close()
    rows: list[int] = []
    with pytest.raises(sqlite3.ProgrammingError):
        in_threads(1, lambda number: rows.append(get_count(database)))
    assert [file.name for file in path.parent.iterdir()] == ["finapi.db"]


def test_a_sound_database_has_nothing_to_report(database: Database) -> None:
    with database.write() as tx:
        add_user(tx, 1)
    assert database.list_integrity_errors() == []


def test_a_row_that_refers_to_nothing_is_reported(path: Path) -> None:
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO ledger (user_id, delta, reason, created_at) VALUES (7, 1, 'grant', '')")
    connection.commit()
    connection.close()
    database = Database(path)
    assert database.list_integrity_errors() == ["ledger row 1 refers to a missing users"]
    database.close()


def test_a_check_and_the_sizes_wait_for_no_write(path: Path) -> None:
    database = Database(path)
    with database.write() as tx:
        add_user(tx, 1)
        results: list[object] = []
        checking = threading.Thread(
            target=lambda: results.extend([database.list_integrity_errors(), database.sizes()["pages"] > 0])
        )
        checking.start()
        checking.join(10)
    assert results == [[], True]
    checking.join()
    database.close()


def test_a_close_breaks_a_check_off(path: Path) -> None:
    database = Database(path)
    # Endless as long as nobody ends it.
    query = "WITH RECURSIVE forever(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM forever) SELECT max(n) FROM forever"
    reader, ended = database.open_separate_reader(), threading.Event()

    def read() -> None:
        with pytest.raises(sqlite3.OperationalError, match="interrupted"), database.reading(reader):
            reader.execute(query).fetchone()
        ended.set()

    running = threading.Event()
    reader.set_progress_handler(running.set, 1000)
    threading.Thread(target=read).start()
    assert running.wait(10)
    database.close()
    assert ended.wait(10)


def test_memory_databases_are_apart() -> None:
    first, second = Database(None), Database(None)
    with first.write() as tx:
        count(tx)
    assert (get_count(first), get_count(second)) == (1, 0)
    first.close()
    second.close()


# ---- work that shares a commit


def together(database: Database, works: list[Callable[[Transaction], object]]) -> list[object]:
    """Return the outcome of each piece of work, after all of them waited for one write to end."""
    outcomes: list[object] = [None] * len(works)

    def run(number: int) -> None:
        try:
            outcomes[number] = database.write_batched(works[number])
        except Exception as error:
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    with database.write():
        for thread in threads:
            thread.start()
        while len(database._batcher.waiting) < len(works):
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    return outcomes


def commits(database: Database) -> list[str]:
    """Return a list that grows by every COMMIT from now on."""
    statements: list[str] = []
    get_writer(database).set_trace_callback(lambda sql: statements.append(sql) if sql == "COMMIT" else None)
    return statements


def test_work_that_waits_shares_one_commit(database: Database) -> None:
    statements = commits(database)
    outcomes = together(database, [lambda tx, n=n: add_user(tx, n) for n in range(1, 7)])  # type: ignore[misc]
    assert sorted(str(outcome) for outcome in outcomes) == ["1", "2", "3", "4", "5", "6"]
    # That of the write that they waited for, and their own.
    assert len(statements) == 2


def test_work_that_fails_is_undone_alone(database: Database) -> None:
    def fail(tx: Transaction) -> None:
        add_user(tx, 9)
        raise ZeroDivisionError

    outcomes = together(database, [lambda tx: add_user(tx, 1), fail, lambda tx: add_user(tx, 2)])
    assert [type(outcome) for outcome in outcomes] == [int, ZeroDivisionError, int]
    with database.read() as tx:
        emails = [row[0] for row in run_sql(tx, "SELECT email FROM users ORDER BY email")]
    assert len(emails) == 2


@pytest.mark.parametrize("how", ["write", "write_batched"])
def test_a_transaction_knows_that_others_wait_to_write(path: Path, how: str) -> None:
    with closing(Database(path)) as database:

        def other() -> None:
            if how == "write_batched":
                database.write_batched(lambda tx: None)
            else:
                with database.write():
                    pass

        waiting = threading.Thread(target=other)
        with database.write():
            assert not database.has_waiting_writers
            waiting.start()
            while not database.has_waiting_writers:
                pass
        waiting.join()
        assert not database.has_waiting_writers


def test_a_commit_that_fails_fails_all_that_share_it(database: Database) -> None:
    def poison(tx: Transaction) -> None:
        run_sql(tx, "PRAGMA defer_foreign_keys=ON")
        run_sql(tx, "INSERT INTO ledger (user_id, delta, reason, created_at) VALUES (99, 0, 'grant', '2026')")

    outcomes = together(database, [lambda tx: add_user(tx, 1), poison])
    assert [type(outcome) for outcome in outcomes] == [ConstraintError, ConstraintError]
    with database.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM users").fetchone()[0] == 0


def test_work_inside_a_write_is_refused_and_takes_nobody_along(database: Database) -> None:
    with database.write() as tx, pytest.raises(RuntimeError, match="inside another"):
        database.write_batched(lambda inner: add_user(tx, 1))
    assert database.write_batched(lambda tx: add_user(tx, 2)) == 1


def test_a_database_refusal_reaches_its_own_writer(database: Database) -> None:
    outcomes = together(database, [lambda tx: add_user(tx, 1), lambda tx: add_user(tx, 1)])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["IntegrityError", "int"]


# ---- a disk that is full, a file that is gone


def full(database: Database, *, is_full: bool) -> None:
    """Make the disk full for this database, or empty again."""
    pages = run_sql(database, "PRAGMA page_count").fetchone()[0]
    run_sql(database, f"PRAGMA max_page_count={pages if is_full else 10**6}")


def grow(tx: Transaction) -> None:
    run_sql(tx, "INSERT INTO poll_state VALUES (hex(randomblob(8)), hex(randomblob(40000)))")


def test_a_full_disk_is_logged_once_until_a_write_succeeds(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = Database(path)
    with database.write() as tx:
        add_user(tx, 1)
    full(database, is_full=True)
    for _ in range(3):
        with pytest.raises(StoreUnwritableError, match="database or disk is full"), database.write() as tx:
            grow(tx)
        with pytest.raises(StoreUnwritableError, match="database or disk is full"):
            database.write_batched(grow)
    assert database.trouble == "database or disk is full"
    assert [record.getMessage() for record in caplog.records] == [
        "the database cannot be written: database or disk is full"
    ]
    with database.read() as tx:
        assert tx.find_row("user_by_id", id=1) is not None
    full(database, is_full=False)
    with database.write() as tx:
        pass  # a transaction that writes nothing says nothing
    assert database.trouble is not None
    with database.write() as tx:
        add_user(tx, 2)
    assert database.trouble is None
    database.close()


def test_a_file_that_is_gone_or_another_takes_no_more_writes(path: Path) -> None:
    database = Database(path)
    moved = path.with_name("moved.db")
    path.rename(moved)
    for other in (False, True):
        if other:
            path.write_bytes(b"")
        with pytest.raises(StoreUnwritableError, match="its file is gone"), database.write() as tx:
            add_user(tx, 1)
    path.unlink()
    moved.rename(path)
    with database.write() as tx:
        add_user(tx, 1)
    assert database.trouble is None
    database.close()


def test_a_statement_that_is_wrong_is_no_trouble_of_the_disk(path: Path) -> None:
    database = Database(path)
    with pytest.raises(sqlite3.OperationalError) as wrong, database.write() as tx:
        run_sql(tx, "INSERT INTO nothing VALUES (1)")
    assert not isinstance(wrong.value, StoreUnwritableError)
    assert database.trouble is None
    database.close()


def test_the_writer_keeps_more_pages_while_much_is_stored() -> None:
    def pages() -> int:
        with db.write() as tx:
            return int(run_sql(tx, "PRAGMA cache_size").fetchone()[0])

    with closing(Database(None)) as db:
        before = pages()
        with suppress(LookupError), db.with_larger_cache():
            assert pages() == -16_384
            raise LookupError
        assert pages() == before


def test_who_waits_for_the_writer_has_it_between_portions(on_file: Database) -> None:
    numbers, between = list(range(200)), []

    def portion(tx: Transaction) -> bool:
        threading.Event().wait(0.002)
        return bool(numbers and [numbers.pop()])

    def other() -> None:
        while numbers:
            with on_file.write():
                between.append(len(numbers))

    waiting = threading.Thread(target=other)
    waiting.start()
    write_in_portions(on_file, portion)
    waiting.join()
    assert numbers == []
    assert len(set(between)) > 20


CLOSED_WHILE_READ = """
import itertools, sqlite3, sys, threading
from pathlib import Path
from finapi.store.copies import MarketCopy
from finapi.store.db import Database
database = Database(Path(sys.argv[2]))
if sys.argv[1] == "copy":
    database.close()
    database = MarketCopy(Path(sys.argv[2]))
begun, ended = threading.Barrier(9), []
def read():
    try:
        for number in itertools.count():
            if number == 50:
                begun.wait()
            with database.read() as tx:
                tx.list_rows("companies_by_list_place", limit=5)
            with database.read_one() as tx:
                tx.find_row("next_unindexed_body", after=0)
    except sqlite3.Error as error:  # closed, or broken off
        ended.append(error)
threads = [threading.Thread(target=read) for _ in range(8)]
for one in threads:
    one.start()
begun.wait()
database.close()
for one in threads:
    one.join()
print(len(ended))
"""


@pytest.mark.parametrize("reading", ["original", "copy"])
def test_closing_a_database_ends_reads_of_other_threads(reading: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLOSED_WHILE_READ, reading, str(tmp_path / "finapi.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")
