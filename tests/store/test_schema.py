"""Tests of the schema: how a database is created and recognised, and which files are refused."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from finapi.core.errors import UsageError
from finapi.store import schema, sql_files
from finapi.store.db import Database
from tests.process import finapi
from tests.stores import add_migrations
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "finapi.db"


def read(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def run_script(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


# ---- creation


def test_a_new_database_has_an_application_id_and_version(path: Path) -> None:
    Database(path).close()
    assert read(path, "PRAGMA application_id") == [(int.from_bytes(b"fina"),)]
    assert read(path, "PRAGMA user_version") == [(schema.newest_version(),)]
    assert read(path, "PRAGMA journal_mode") == [("wal",)]
    assert read(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_new_database_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    linked = tmp_path / "linked.db"
    linked.symlink_to(tmp_path / "target.db")
    for path in (tmp_path / "plain.db", linked):
        Database(path).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {file.name for file in tmp_path.iterdir()} == {"plain.db", "linked.db", "target.db"}


def test_each_new_database_has_a_stamp_of_its_own(tmp_path: Path) -> None:
    stamps = set()
    for path in (tmp_path / "first.db", tmp_path / "second.db", None, None):
        with closing(Database(path)) as database, database.read() as tx:
            stamps.add(tx.find_value("data_stamp"))
    assert sorted(map(len, stamps)) == [16, 16, 16, 16]


def test_opening_a_database_again_keeps_its_stamp(path: Path) -> None:
    Database(path).close()
    before = read(path, "SELECT stamp FROM data_version")
    Database(path).close()
    assert read(path, "SELECT stamp FROM data_version") == before


def test_a_database_that_cannot_be_created_is_a_usage_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UsageError, match=r"/finapi\.db cannot be created: No space left on device$"):
        Database(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "link", "unlink"])
def test_a_kill_during_creation_leaves_no_broken_database(path: Path, call: str) -> None:
    child = os.fork()
    if child == 0:
        setattr(os, call, lambda *_: os._exit(9))
        Database(path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert path.exists() == (call == "unlink")
    Database(path).close()
    assert read(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_new_database_has_what_the_migrations_add(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_migrations(
        monkeypatch, tmp_path / "sql", {"migrations/0002_later.sql": "CREATE TABLE later (x INTEGER) STRICT;"}
    )
    Database(path).close()
    assert read(path, "SELECT count(*) FROM later") == [(0,)]
    assert read(path, "PRAGMA user_version") == [(2,)]
    with closing(Database(None)) as database, database.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM later").fetchone()[0] == 0


# ---- differences from the schema


@pytest.mark.parametrize(
    ("script", "messages"),
    [
        ("VACUUM", []),
        ("ANALYZE", []),
        (f"{schema.SECRETS_DEFINITION}", []),
        ("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)", []),
        ("DROP TABLE filing_words", []),
        (
            "CREATE TRIGGER rise AFTER UPDATE ON users BEGIN UPDATE users SET usertype = 'admin'; END",
            ["the trigger rise is not one of finapi's"],
        ),
        ("CREATE VIEW mine AS SELECT 1", ["the view mine is not one of finapi's"]),
        ("CREATE TABLE backup_secrets (secret)", ["the table backup_secrets is not one of finapi's"]),
        ("CREATE INDEX mine ON users (email)", ["the index mine is not one of finapi's"]),
        (
            "ALTER TABLE users ADD COLUMN more TEXT",
            ["the table users differs from that of schema version 1"],
        ),
        (
            "DROP VIEW ticker; CREATE VIEW ticker AS SELECT 1 AS id",
            ["the view ticker differs from that of schema version 1"],
        ),
        ("DROP VIEW ticker", ["the view ticker is missing"]),
        # SQLite accepts a kind that is the bytes "view".
        ("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = x'76696577' WHERE name = 'ticker'", []),
    ],
)
def test_objects_that_differ_from_the_schema_are_listed(path: Path, script: str, messages: list[str]) -> None:
    Database(path).close()
    run_script(path, script)
    with closing(sqlite3.connect(path)) as connection:
        assert schema.list_differences(connection, may_have_secrets=True) == messages


def test_a_table_of_secrets_is_permitted_only_in_a_backup(path: Path) -> None:
    Database(path).close()
    run_script(path, schema.SECRETS_DEFINITION)
    with closing(sqlite3.connect(path)) as connection:
        assert schema.list_differences(connection) == ["the table backup_secrets is not one of finapi's"]


def test_an_older_database_is_compared_with_its_own_version(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Database(path).close()
    add_migrations(
        monkeypatch, tmp_path / "sql", {"migrations/0002_later.sql": "CREATE TABLE later (x INTEGER) STRICT;"}
    )
    with closing(sqlite3.connect(path)) as connection:
        assert schema.list_differences(connection) == []
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert schema.list_differences(connection) == []
        connection.execute("DROP TABLE later")
        assert schema.list_differences(connection) == ["the table later is missing"]


# ---- recognition


DEVELOPMENT = """
CREATE TABLE users (id INTEGER PRIMARY KEY);
CREATE TABLE userplans (id INTEGER PRIMARY KEY);
CREATE TABLE ledger (id INTEGER PRIMARY KEY);
"""
MADE_BY_DEVELOPMENT = (
    "made by a development version of finapi and cannot be upgraded: move it away and load the data again"
)
OF_ANOTHER_PROGRAM = "a database of another program: move it away, or name another --data-dir"
REFUSED = {
    "first development version": (f"{DEVELOPMENT} PRAGMA user_version=1", MADE_BY_DEVELOPMENT),
    "last development version": (f"{DEVELOPMENT} PRAGMA user_version=65", MADE_BY_DEVELOPMENT),
    "other program": ("CREATE TABLE users (id INTEGER)", OF_ANOTHER_PROGRAM),
    "other program with a version": ("CREATE TABLE users (id INTEGER); PRAGMA user_version=3", OF_ANOTHER_PROGRAM),
    "other application": (f"{DEVELOPMENT} PRAGMA user_version=1; PRAGMA application_id=7", OF_ANOTHER_PROGRAM),
    "no tables": (
        "VACUUM",
        "is empty: restore a backup with finapi restore FILE, or delete it to start with an empty database",
    ),
}


@pytest.mark.parametrize("reads_only", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_a_database_not_made_by_a_release_is_refused(path: Path, name: str, reads_only: bool) -> None:
    script, reason = REFUSED[name]
    run_script(path, script)
    before = path.read_bytes()
    with pytest.raises(schema.UnknownDatabaseError) as refused:
        Database(path, reads_only=reads_only)
    assert str(refused.value).startswith(f"{path} ")
    assert str(refused.value).endswith(reason)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["finapi.db"]


def test_a_database_of_a_newer_finapi_is_refused(path: Path) -> None:
    Database(path).close()
    newer = schema.newest_version() + 1
    run_script(path, f"PRAGMA user_version={newer}")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=f"has schema version {newer}, but this finapi supports {newer - 1}: install"):
        Database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("with_secrets", [False, True])
def test_an_empty_file_is_refused_as_a_database(path: Path, with_secrets: bool) -> None:
    path.touch()
    path.parent.chmod(0o700)
    if with_secrets:
        (path.parent / "secrets").write_text("00" * 32)
        (path.parent / "secrets").chmod(0o600)
    done = finapi("user", "add", "ann@example.com", "--data-dir", path.parent)
    expected = (
        f"{path} is empty: restore a backup with finapi restore FILE, or delete it to start with an empty database"
    )
    assert (done.status, done.complaint) == (2, expected)
    assert path.read_bytes() == b""


def test_a_database_of_a_development_version_prints_one_line(path: Path) -> None:
    path.parent.chmod(0o700)
    run_script(path, f"{DEVELOPMENT} PRAGMA user_version=65")
    for verb in (
        ("serve", "--port", "0"),
        ("user", "add", "ann@example.com"),
        ("check",),
        ("backup", path.parent / "b.db"),
    ):
        done = finapi(*verb, "--data-dir", path.parent)
        assert (done.status, done.complaint) == (2, f"{path} was {MADE_BY_DEVELOPMENT}"), verb


LACKS_PARTS = (
    "and was probably made by a development version of finapi: "
    "restore a backup with finapi restore FILE, or move it away and load the data again"
)


@run_each_case(
    "script, missing",
    [
        ("DROP TABLE fact_conflicts", "the table fact_conflicts"),
        ("DROP TABLE fact_conflicts; DROP VIEW ticker", "the table fact_conflicts and 1 more"),
        ("DROP INDEX email_changes_by_time", "the index email_changes_by_time"),
        ("DROP TRIGGER audit_stays", "the trigger audit_stays"),
        (
            "DROP INDEX email_changes_by_old_email; ALTER TABLE email_changes DROP COLUMN revert_until; "
            "CREATE INDEX email_changes_by_old_email ON email_changes (old_email)",
            "the column revert_until of the table email_changes",
        ),
    ],
)
def test_a_start_refuses_a_database_without_a_part_of_the_schema(path: Path, script: str, missing: str) -> None:
    path.unlink(missing_ok=True)
    Database(path).close()
    run_script(path, script)
    path.parent.chmod(0o700)
    with pytest.raises(schema.DevelopmentDatabaseError) as refused:
        Database(path)
    assert str(refused.value) == f"{path} lacks {missing} {LACKS_PARTS}"


@run_each_case(
    "script",
    [
        "DROP TABLE filing_words",
        "CREATE INDEX mine ON users (email)",
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
        "ALTER TABLE users ADD COLUMN more TEXT",
    ],
)
def test_a_start_accepts_a_database_with_all_parts_of_the_schema(path: Path, script: str) -> None:
    path.unlink(missing_ok=True)
    Database(path).close()
    run_script(path, script)
    with closing(Database(path)) as database, database.read() as tx:
        assert run_sql(tx, "SELECT count(*) FROM filing_words").fetchone()[0] == 0


def test_an_unchanged_schema_needs_no_second_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(path).close()
    monkeypatch.setattr(schema, "_get_empty_database_of_version", lambda version: pytest.fail("a database was created"))
    Database(path).close()


def test_a_start_prints_the_missing_table_in_one_line(path: Path) -> None:
    Database(path).close()
    run_script(path, "DROP TABLE fact_conflicts")
    path.parent.chmod(0o700)
    done = finapi("serve", "--port", "0", "--data-dir", path.parent)
    assert (done.status, done.complaint) == (2, f"{path} lacks the table fact_conflicts {LACKS_PARTS}")


def test_a_backup_of_a_development_version_is_refused(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "old-without-secrets.db"
    run_script(file, f"{DEVELOPMENT} PRAGMA user_version=65")
    done = finapi("restore", file, "--data-dir", tmp_path / "data")
    assert (done.status, done.complaint) == (2, f"{file} was {MADE_BY_DEVELOPMENT}")
    assert not (tmp_path / "data" / "finapi.db").exists()


def test_doctor_reports_a_database_that_no_start_would_take(path: Path) -> None:
    path.parent.chmod(0o700)
    path.touch()
    assert f"database: {path} is empty: restore a backup" in finapi("doctor", "--data-dir", path.parent).out
    path.unlink()
    run_script(path, f"{DEVELOPMENT} PRAGMA user_version=65")
    assert f"database: {path} was {MADE_BY_DEVELOPMENT}" in finapi("doctor", "--data-dir", path.parent).out
    path.unlink()
    Database(path).close()
    run_script(path, "DROP TABLE fact_conflicts")
    assert (
        f"database: {path} lacks the table fact_conflicts {LACKS_PARTS}"
        in finapi("doctor", "--data-dir", path.parent).out
    )


def test_doctor_reports_a_damaged_database_and_goes_on(path: Path) -> None:
    path.parent.chmod(0o700)
    Database(path).close()
    data = bytearray(path.read_bytes())
    data[4096 * 20 : 4096 * 24] = b"\xa5" * 4 * 4096
    path.write_bytes(data)
    done = finapi("doctor", "--data-dir", path.parent)
    assert done.status == 1
    assert f"wrong    database: {path} cannot be used as a database: database disk image is malformed;" in done.out
    assert "wrong    accounts: it is damaged (database disk image is malformed)" in done.out
    assert "ok       clock: " in done.out


# ---- migrations


@pytest.mark.parametrize("names", [["0003_a.sql"], ["0002_a.sql", "0004_b.sql"], ["0002_a.sql", "0002_b.sql"]])
def test_migration_numbers_have_no_gap_and_no_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    add_migrations(monkeypatch, tmp_path / "sql", {f"migrations/{name}": "SELECT 1;" for name in names})
    with pytest.raises(RuntimeError, match="has the wrong number"):
        schema.list_migrations()


def test_migrations_start_after_schema_sql() -> None:
    assert schema.newest_version() == 1 + len(sql_files.list_migrations())


def test_a_script_is_split_at_the_ends_of_its_statements() -> None:
    script = (
        "-- Why; and how.\nCREATE TABLE a (b);\n\nCREATE TRIGGER c AFTER INSERT ON a BEGIN\n    DELETE FROM a;\nEND;\n"
    )
    first, second, third = schema.iter_statements(script)
    assert first == "-- Why; and how.\nCREATE TABLE a (b);\n"
    assert second == "\nCREATE TRIGGER c AFTER INSERT ON a BEGIN\n    DELETE FROM a;\nEND;\n"
    assert third == ""
