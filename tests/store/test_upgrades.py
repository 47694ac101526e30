"""Tests of schema upgrades: interrupted anywhere, without disk space, and the copies stored before."""

from __future__ import annotations

import itertools
import logging
import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.ops.app_opening import open_app
from finapi.store import backup
from finapi.store.db import Database
from tests.conftest import NOW
from tests.leftovers import leave_folder
from tests.stores import add_migrations
from tests.support.raw_sql import run_sql

STAMP = "2026-01-31T12:00:00.000Z"
MIGRATIONS = {
    "migrations/0002_shoes.sql": "-- Sizes of shoes.\nALTER TABLE users ADD COLUMN shoes INTEGER;\n"
    "UPDATE users SET shoes = 40 + id;\n",
    "migrations/0003_hats.sql": "CREATE TABLE hats (user_id INTEGER NOT NULL REFERENCES users (id)) STRICT;\n"
    "CREATE TRIGGER hats_added AFTER INSERT ON users BEGIN\n    INSERT INTO hats VALUES (NEW.id);\nEND;\n"
    "INSERT INTO hats SELECT id FROM users;\n",
}
NEW_VERSION = 3


@pytest.fixture
def config() -> Iterator[Config]:
    """Yield a data directory in memory if possible: on a disk, hundreds of starts would be slow."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        yield Config(data_dir=Path(directory) / "data", password_profile="cheap")


@pytest.fixture
def path(config: Config) -> Path:
    """Return a database of schema version 1 with rows, which no process has open."""
    config.data_dir.mkdir(mode=0o700)
    path = config.data_dir / "finapi.db"
    Database(path).close()
    run_script(
        path,
        f"""
        INSERT INTO users (uuid, email, created_at, updated_at) VALUES ('u', 'ann@example.com', '{STAMP}', '{STAMP}');
        INSERT INTO sessions (user_id, fingerprint, created_at, expires_at) VALUES (1, x'00', '{STAMP}', '{STAMP}');
        """,
    )
    return path


def run_script(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def read(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def version(path: Path) -> int:
    return int(read(path, "PRAGMA user_version")[0][0])


def dump(path: Path) -> list[str]:
    """Return the statements that make a database, without those of the full text index."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [line for line in connection.iterdump() if "filing_words" not in line]


def start(config: Config) -> None:
    """Start and stop as a verb does."""
    with open_app(config, FixedClock(NOW)):
        pass


def copies(config: Config) -> list[str]:
    return sorted(file.name for file in config.data_dir.iterdir() if ".schema-" in file.name)


def assert_nothing_is_left(directory: Path) -> None:
    """Assert that a directory has no temporary folder and no log of a database that is closed."""
    assert {
        file.name for file in directory.iterdir() if file.name.startswith(".") or file.name.endswith("-wal")
    } == set()


def run_child(work: Callable[[], object]) -> int:
    """Run ``work`` in a child process. Return its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# ---- an upgrade that completes


def test_an_upgrade_runs_the_migrations_and_keeps_the_rows(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = dump(path)
    add_migrations(monkeypatch, tmp_path / "sql", MIGRATIONS)
    with caplog.at_level(logging.WARNING):
        start(config)
    assert version(path) == NEW_VERSION
    assert read(path, "SELECT email, shoes FROM users") == [("ann@example.com", 41)]
    assert read(path, "SELECT * FROM hats") == [(1,)]
    assert copies(config) == ["finapi.db.schema-0001"]
    copy = config.data_dir / "finapi.db.schema-0001"
    assert (version(copy), dump(copy)) == (1, before)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert f"the schema of {path} is upgraded from version 1 to 3; a copy of the old version is {copy}" in caplog.text


def test_the_copy_is_an_older_databases_way_back(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(path)
    with monkeypatch.context() as patch:
        add_migrations(patch, tmp_path / "sql", MIGRATIONS)
        start(config)
    with pytest.raises(UsageError, match="has schema version 3, but this finapi supports 1"):
        start(config)
    (config.data_dir / "finapi.db.schema-0001").replace(path)
    with closing(Database(path)):
        assert dump(path) == before


def test_a_start_without_an_upgrade_copies_nothing(config: Config, path: Path) -> None:
    start(config)
    assert copies(config) == []


@pytest.mark.parametrize(
    ("upgrade_copy", "kept_copies"),
    [("yes", ["finapi.db.schema-0002", "finapi.db.schema-0003"]), ("no", ["finapi.db.schema-0002"])],
)
def test_the_copies_of_the_last_two_upgrades_are_kept(
    config: Config,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    upgrade_copy: Literal["yes", "no"],
    kept_copies: list[str],
) -> None:
    directory = tmp_path / "sql"
    for number in (2, 3):
        add_migrations(monkeypatch, directory, {f"migrations/{number:04}_a.sql": f"CREATE TABLE t{number} (x);"})
        start(config)
    assert copies(config) == ["finapi.db.schema-0001", "finapi.db.schema-0002"]
    add_migrations(monkeypatch, directory, {"migrations/0004_a.sql": "CREATE TABLE t4 (x);"})
    start(replace(config, upgrade_copy=upgrade_copy))
    assert [version(config.data_dir / name) for name in copies(config)] == [int(name[-4:]) for name in copies(config)]
    assert copies(config)[-len(kept_copies) :] == kept_copies
    assert len(copies(config)) == 2


# ---- an upgrade that is killed


class Killer:
    """Ends the process, as ``kill -9`` does, at the nth statement or call that writes to the disk."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def count(self, *_: object) -> None:
        if self.steps == 0:
            os._exit(9)
        self.steps -= 1

    def install(self) -> None:
        connect = sqlite3.connect

        def connect_and_trace(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection = connect(*args, **kwargs)
            connection.set_trace_callback(self.count)
            return connection

        sqlite3.connect = connect_and_trace  # type: ignore[assignment]
        for name in ("fsync", "replace", "link", "unlink"):
            setattr(os, name, self._before(getattr(os, name)))

    def _before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count()
            return function(*args, **kwargs)

        return call


def start_and_kill(config: Config, steps: int) -> int:
    """Upgrade in a child process that ends after ``steps``. Return 9 if it was killed and 0 if it completed before."""

    def upgrade() -> None:
        Killer(steps).install()
        apps.open_on_disk(config, FixedClock(NOW)).db.close()

    return run_child(upgrade)


@pytest.mark.first
@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 3])
def test_an_upgrade_killed_at_any_step_can_be_completed(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    before = dump(path)
    shutil.copytree(config.data_dir, tmp_path / "template")
    add_migrations(monkeypatch, tmp_path / "sql", MIGRATIONS)
    copy = config.data_dir / "finapi.db.schema-0001"
    seen_steps = set()
    for steps in itertools.count():
        shutil.rmtree(config.data_dir)
        shutil.copytree(tmp_path / "template", config.data_dir)
        statuses = [start_and_kill(config, steps) for _ in range(kills)]
        assert set(statuses) <= {0, 9}
        seen_steps.add((version(path), copy.exists()))
        assert version(path) == 1 or copy.exists()
        if version(path) == 1:
            assert dump(path) == before
        start(config)
        assert version(path) == NEW_VERSION
        assert read(path, "SELECT email, shoes FROM users") == [("ann@example.com", 41)]
        # The only copy is a complete one of the old version, and nothing half-written is left.
        assert (version(copy), dump(copy)) == (1, before)
        assert copies(config) == ["finapi.db.schema-0001"]
        assert_nothing_is_left(config.data_dir)
        if statuses[0] == 0:
            break
    # Before and after the copy was in place, and after the commit.
    assert seen_steps == {(1, False), (1, True), (NEW_VERSION, True)}
    assert steps > 20


def test_copies_are_removed_only_after_the_upgrade_has_completed(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"migrations/{number:04}_a.sql": f"CREATE TABLE t{number} (x);" for number in (2, 3)}
    directory = tmp_path / "sql"
    for name, script in files.items():
        add_migrations(monkeypatch, directory, {name: script})
        start(config)
    broken = {
        "migrations/0004_a.sql": "CREATE TABLE t4 (x);",
        "migrations/0005_b.sql": "INSERT INTO nowhere VALUES (1);",
    }
    add_migrations(monkeypatch, directory, broken)
    for _ in range(3):
        with pytest.raises(UsageError, match=r"0005_b\.sql: no such table: nowhere"):
            start(config)
        assert copies(config) == [f"finapi.db.schema-{number:04}" for number in (1, 2, 3)]
        assert version(path) == 3
    add_migrations(monkeypatch, directory, {"migrations/0005_b.sql": "CREATE TABLE t5 (x);"})
    start(config)
    assert (version(path), copies(config)) == (5, ["finapi.db.schema-0002", "finapi.db.schema-0003"])


# ---- an upgrade that fails


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1);\n", "no such table: nowhere"),
        ("CREATE TABLE half (x);\nCREATE", "incomplete input"),
        ("DELETE FROM users;\n", "sessions row 1 refers to a missing users"),
    ],
)
def test_a_migration_that_fails_changes_nothing(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    before = dump(path)
    files = {"migrations/0002_a.sql": "CREATE TABLE first (x);\n", "migrations/0003_b.sql": script}
    with monkeypatch.context() as patch:
        add_migrations(patch, tmp_path / "sql", files)
        with pytest.raises(UsageError) as failed:
            start(config)
    assert str(failed.value) == f"the upgrade failed and changed nothing: 0003_b.sql: {reason}"
    assert dump(path) == before
    start(config)


def test_a_migration_may_rebuild_a_table_that_others_refer_to(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
CREATE TABLE rebuilt (id INTEGER PRIMARY KEY, email TEXT NOT NULL) STRICT;
INSERT INTO rebuilt SELECT id, email FROM users;
DROP TABLE users;
ALTER TABLE rebuilt RENAME TO users;
"""
    add_migrations(monkeypatch, tmp_path / "sql", {"migrations/0002_users.sql": script})
    with closing(Database(path)) as database:
        assert run_sql(database, "PRAGMA foreign_keys").fetchone()[0] == 1
        assert database.list_integrity_errors() == []
    assert read(path, "SELECT email FROM users") == [("ann@example.com",)]
    assert read(path, "SELECT user_id FROM sessions") == [(1,)]


# ---- an upgrade without room


def without_room(size: int, work: Callable[[], object]) -> str:
    """Run ``work`` in a child process whose files cannot grow beyond ``size``. Return the UsageError that it raised."""
    reader, writer = os.pipe()

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except UsageError as error:
            os.write(writer, str(error).encode())

    assert run_child(limited) == 0
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as message:
        return message.read()


def test_an_upgrade_whose_copy_fills_the_disk_does_not_begin(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(path)
    add_migrations(monkeypatch, tmp_path / "sql", MIGRATIONS)
    message = without_room(path.stat().st_size // 2, lambda: apps.open_on_disk(config, FixedClock(NOW)))
    assert message.startswith("the database was not upgraded, because a copy of it cannot be written: ")
    assert message.endswith("; free some disk space, or upgrade without a copy: --upgrade-copy no")
    assert (version(path), dump(path)) == (1, before)
    assert copies(config) == []
    assert_nothing_is_left(config.data_dir)


def test_an_upgrade_without_room_reports_the_space_it_needs(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_migrations(monkeypatch, tmp_path / "sql", MIGRATIONS)
    monkeypatch.setattr(backup, "MIN_FREE_BYTES", 1 << 60)
    with pytest.raises(UsageError, match=r"a copy needs [\d,]+ bytes, but .* has only [\d,]+ bytes of free space;"):
        start(config)
    assert version(path) == 1
    start(replace(config, upgrade_copy="no"))
    assert (version(path), copies(config)) == (NEW_VERSION, [])


def test_an_upgrade_that_fills_the_disk_changes_nothing(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(path)
    script = "CREATE TABLE large (x BLOB) STRICT;\nINSERT INTO large VALUES (zeroblob(20000000));\n"
    add_migrations(monkeypatch, tmp_path / "sql", {"migrations/0002_large.sql": script})
    message = without_room(2 * path.stat().st_size, lambda: apps.open_on_disk(config, FixedClock(NOW)))
    assert message.startswith("the upgrade failed and changed nothing: 0002_large.sql: ")
    assert (version(path), dump(path)) == (1, before)
    assert copies(config) == ["finapi.db.schema-0001"]
    start(config)
    assert version(path) == 2


def test_a_half_written_copy_is_never_taken_for_one(
    config: Config, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(path)
    (leave_folder(config.data_dir, "upgrade") / "copy.db").write_bytes(path.read_bytes()[:5000])
    add_migrations(monkeypatch, tmp_path / "sql", MIGRATIONS)
    start(config)
    assert dump(config.data_dir / "finapi.db.schema-0001") == before
    assert {file.name for file in config.data_dir.iterdir()} == {
        "finapi.db",
        "finapi.db.schema-0001",
        "lock",
        "secrets",
    }
