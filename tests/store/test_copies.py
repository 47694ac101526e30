"""Tests of a copy of the market data that is replaced or written in place: no call fails or mixes two states."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.core import metrics
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.market.intake import fetch_queue
from finapi.ops import copy_node, status
from finapi.store import checkpoints, db, heartbeats, wal_index
from finapi.store.copies import MarketCopy
from tests.client import Client
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import get_writer


def original(path: Path, version: int, *, beat: str = "2026-01-01T00:00:00.000Z") -> None:
    """Create a database of market data with this data version, in WAL mode, as a single file."""
    database = db.Database(path)
    with database.write() as tx:
        for _ in range(version):
            tx.run("bump_data_version")
        tx.run("upsert_heartbeat", name="postgres_db", now=beat, took_ms=None, failure=None)
    database.close()


def replace_database(path: Path, version: int, **changes: str) -> None:
    """Replace a database by another, as a tool does that writes a new file and renames it."""
    new_path = path.with_name("made.db")
    original(new_path, version, **changes)
    new_path.replace(path)


def version_of(copy: MarketCopy) -> int:
    with copy.read_one() as tx:
        return int(tx.find_value("data_version"))


@contextmanager
def separate(copy: MarketCopy) -> Iterator[sqlite3.Connection]:
    """Yield a separate connection, and close it."""
    connection = copy.open_separate_reader()
    try:
        yield connection
    finally:
        connection.close()
        copy.forget_separate_reader(connection)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    original(tmp_path / "finapi.db", 1)
    return tmp_path / "finapi.db"


@pytest.fixture
def copy(path: Path) -> Iterator[MarketCopy]:
    with closing(MarketCopy(path)) as market_copy:
        market_copy.check_file()
        yield market_copy


def test_no_connection_to_a_copy_can_write_it(copy: MarketCopy) -> None:
    with pytest.raises(ApiError) as refused, copy.write():
        pass
    assert (refused.value.status, refused.value.code) == (409, "CONFLICT")
    with pytest.raises(ApiError):
        copy.write_batched(lambda tx: tx.run("bump_data_version"))
    for reading in (copy.read, copy.read_one):
        with pytest.raises(sqlite3.OperationalError, match="readonly"), reading() as tx:
            tx.run("bump_data_version")
    with separate(copy) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM filings")
    assert copy.trouble is None
    assert version_of(copy) == 1


def test_a_file_that_takes_the_place_of_a_copy_is_moved_over_to(copy: MarketCopy, path: Path) -> None:
    written = copy.write_count
    replace_database(path, 2)
    # Until it is noticed the one before is answered, also by a thread that has not read yet.
    versions: list[int] = []
    thread = threading.Thread(target=lambda: versions.append(version_of(copy)))
    thread.start()
    thread.join()
    assert [version_of(copy), *versions] == [1, 1]
    assert copy.check_file()
    assert copy.write_count > written
    assert version_of(copy) == 2


def test_who_has_begun_to_read_goes_on_with_the_copy_that_he_has(copy: MarketCopy, path: Path) -> None:
    with copy.read() as tx:
        assert tx.find_value("data_version") == 1
        replace_database(path, 2)
        copy.check_file()
        assert tx.find_value("data_version") == 1
        with copy.read_one() as reader:
            assert reader.find_value("data_version") == 1
    assert version_of(copy) == 2


def test_what_is_left_of_copies_is_one_name(copy: MarketCopy, path: Path) -> None:
    for version in (2, 3):
        replace_database(path, version)
        copy.check_file()
    version_of(copy)
    (folder,) = path.parent.glob(".finapi-copy-*")
    assert sorted(file.name for file in folder.iterdir()) == [".lock", "copy.db"]
    copy.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["finapi.db"]


def test_a_copy_that_cannot_be_used_is_not_moved_to(copy: MarketCopy, path: Path) -> None:
    for content, why in ((b"no database" * 100, "not a database"), (b"", "is empty")):
        path.with_name("made").write_bytes(content)
        path.with_name("made").replace(path)
        assert not copy.check_file()
        assert copy.refusal is not None
        assert why in copy.refusal
        assert version_of(copy) == 1
    path.unlink()
    assert not copy.check_file()
    assert copy.refusal == "No such file or directory"
    original(path, 5)
    assert copy.check_file()
    assert (copy.refusal, version_of(copy)) == (None, 5)


def test_a_copy_with_a_write_ahead_log_is_refused(path: Path) -> None:
    path.with_name("finapi.db-wal").write_bytes(b"x" * 32)
    with pytest.raises(UsageError, match="a copy must be a single file"):
        MarketCopy(path)


def test_a_copy_of_another_schema_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=9999")
    with pytest.raises(UsageError, match="schema version 9999"):
        MarketCopy(path)


# Writes the pages of one database over those of another as Litestream does: behind SQLite's lock, without a mark that
# SQLite reads. A process of its own, as locks of one process do not keep itself out.
FOLLOWER = """
import fcntl, os, sqlite3, sys
source, target = sys.argv[1], os.open(sys.argv[2], os.O_RDWR)
locks = ((0x40000000, 1), (0x40000002, 510))  # PENDING and SHARED (os_unix.c)
connection = sqlite3.connect(source, isolation_level=None)
for _ in sys.stdin:
    connection.execute("UPDATE data_version SET version = version + 1")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(source, "rb") as file:
        pages = file.read()
    for begin, length in locks:
        fcntl.lockf(target, fcntl.LOCK_EX, length, begin)
    # The first page stays: the change counter, and the mark of a database without a log.
    os.pwrite(target, pages[4096:], 4096)
    for begin, length in reversed(locks):
        fcntl.lockf(target, fcntl.LOCK_UN, length, begin)
    print("written", flush=True)
"""


def test_pages_written_in_place_are_read_immediately(tmp_path: Path) -> None:
    source, path = tmp_path / "source.db", tmp_path / "finapi.db"
    original(source, 1)
    path.write_bytes(source.read_bytes())
    copy = MarketCopy(path)
    words = [sys.executable, "-c", FOLLOWER, str(source), str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with closing(copy), subprocess.Popen(words, **pipes) as follower:  # type: ignore[call-overload]
        for version in range(1, 30):
            assert version_of(copy) == version
            with separate(copy) as connection:
                assert connection.execute("SELECT version FROM data_version").fetchone()[0] == version
            follower.stdin.write("on\n")
            follower.stdin.flush()
            assert follower.stdout.readline() == "written\n"
            assert copy.check_file()
        follower.stdin.close()


def test_a_copy_in_wal_mode_is_read_without_a_wal_index(path: Path) -> None:
    assert wal_index.uses_wal(path)
    with closing(MarketCopy(path)) as copy:
        assert version_of(copy) == 1
        assert [file.name for file in path.parent.glob("*.db-*")] == []
    assert not wal_index.uses_wal(path)


def test_a_node_on_a_copy_answers_and_says_how_old_it_is(path: Path, clock: FixedClock) -> None:
    replace_database(path, 3, beat=written_at(clock))
    market = MarketCopy(path)
    market.accounts = db.Database(None)
    app = apps.create_in_memory(Config(role="api", copy_age=300), clock, db=market)
    caller = Client(app, "")
    ready = caller.get("/readyz")
    assert (ready.status, ready.json["data_version"], ready.json["data_age_seconds"]) == (200, 3, 0.0)
    clock.advance(seconds=300)
    assert caller.get("/readyz").json["data_age_seconds"] == 300.0
    assert status.compute_metrics(app)[metrics.DATA_AGE] == {(): 300.0}
    clock.advance(seconds=1)
    cut = caller.get("/readyz")
    assert (cut.status, cut.json["code"]) == (503, "UNAVAILABLE")
    assert cut.json["message"] == "The copy of the market data is 301 s behind the worker."
    # The worker rests, and nobody is ahead of this node.
    with app.accounts.write() as tx:
        tx.run(
            "insert_check", service="postgres_db", tick=int(NOW.timestamp()) + 60, health="healthy", ms=1, reason=None
        )
    copy_node.run_copy_step(app)
    assert caller.get("/readyz").status == 200
    answer = caller.get("/api/v1/status").json
    assert answer["data_freshness"]["copy_age_seconds"] == 301.0
    assert [service["name"] for service in answer["services"]] == ["postgres_db"]
    # It works, and this node hears nothing of it.
    clock.advance(seconds=600)
    with app.accounts.write() as tx:
        tick = int(clock.now().timestamp())
        tx.run("insert_check", service="postgres_db", tick=tick, health="down", ms=1, reason="full")
    copy_node.run_copy_step(app)
    assert caller.get("/readyz").status == 503
    with pytest.raises(ApiError, match="only the worker writes"):
        fetch_queue.retry_documents(app, [None], clock.now())
    replace_database(path, 4, beat=written_at(clock))
    copy_node.run_copy_step(app)
    assert (caller.get("/readyz").status, caller.get("/readyz").json["data_version"]) == (200, 4)
    market.close()


def written_at(clock: FixedClock) -> str:
    """Return the time of a clock as it is stored."""
    return clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_node_without_a_beat_has_no_age(path: Path, clock: FixedClock) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM heartbeats")
    market = MarketCopy(path)
    app = apps.create_in_memory(Config(role="api"), clock, db=market)
    assert heartbeats.get_copy_age(app.db, clock.now()) is None
    with market.read() as tx:
        assert heartbeats.get_heartbeats(tx) == {}
    market.close()


def test_the_etag_changes_with_the_copy(path: Path, clock: FixedClock) -> None:
    market = MarketCopy(path)
    market.accounts = db.Database(None)
    market.check_file()
    app = apps.create_in_memory(Config(role="api"), clock, db=market)
    caller = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    question = "/api/v1/sec/filings"
    first = caller.get(question)
    assert caller.get(question, headers={"If-None-Match": first.headers["etag"]}).status == 304
    replace_database(path, 7)
    market.check_file()
    assert caller.get(question, headers={"If-None-Match": first.headers["etag"]}).status == 200
    market.close()


@run_each_case(
    "version, safe",
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 2), True),
    ],
)
def test_sqlite_versions_that_may_write_during_a_checkpoint(version: tuple[int, ...], safe: bool) -> None:
    assert checkpoints.can_share_checkpoints(version) is safe


def test_beside_litestream_nothing_is_checkpointed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SQLITE", (3, 40, 1))
    with pytest.raises(UsageError, match=r"run finapi on 3\.51\.3 or later"):
        db.Database(tmp_path / "finapi.db", checkpoints=False)
    monkeypatch.setattr(checkpoints, "SQLITE", (3, 51, 3))
    database = db.Database(tmp_path / "finapi.db", checkpoints=False)
    assert get_writer(database).execute("PRAGMA wal_autocheckpoint").fetchone()[0] == 0
    database.close()
