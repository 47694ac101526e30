"""Tests of backups: copied while others write, verified, named and bounded in number, and restored with a new epoch."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import sqlite3
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi import cli
from finapi.accounts import archive, billing, plans, recovery, users
from finapi.accounts.audit import Actor
from finapi.app import App
from finapi.core import master_secrets, stopping
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, UsageError
from finapi.delivery import events, webhooks
from finapi.delivery.dispatcher import Dispatcher
from finapi.delivery.webhooks import Receiver, WebhookEvent
from finapi.market.documents import filing_store, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.ops import backups, proof
from finapi.ops.app_opening import open_app
from finapi.store import backup, db, schema
from finapi.store.connections import RESTORE_ADVICE
from finapi.store.db import Transaction
from tests.charging import charged
from tests.conftest import NOW
from tests.feeds import tell
from tests.process import finapi, serve
from tests.receiver import receiver
from tests.support.raw_sql import run_sql
from tests.support.slow_cases import slow_after

NOON = "2026-01-31T12:00:00.000Z"
ANN = "ann@example.com"
NO_DEBITS = {"count": 0, "tokens": 0, "calls": []}
# Two calls that had not ended at noon.
CALLS = {
    "count": 2,
    "tokens": 30,
    "calls": [
        {"account": ANN, "endpoint": "GET /x", "request_id": "r1", "tokens": 25, "created_at": NOON},
        {"account": ANN, "endpoint": "GET /y", "request_id": "r2", "tokens": 5, "created_at": NOON},
    ],
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(data_dir=tmp_path / "data")


@pytest.fixture
def app(config: Config) -> Iterator[App]:
    with open_app(config, FixedClock(NOW)) as app:
        users.create(app, ANN, "free", NOW)
        yield app


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


def made(config: Config, file: Path, now: datetime = NOW, **options: Any) -> backups.Backup:
    return backups.create(
        config, file, now, **{"secrets": False, "report_progress": lambda done, pages: None, **options}
    )


def put_back(
    config: Config, file: Path, now: datetime = NOW, *, secrets: bool = False, actor: Actor | None = None
) -> backups.RestoreResult:
    return backups.restore(
        config, file, FixedClock(now), secrets=secrets, report_progress=lambda done, pages: None, actor=actor
    )


def found(path: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def stamp(tx: Transaction) -> str:
    return str(run_sql(tx, "SELECT stamp FROM data_version").fetchone()[0])


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# ---- made


def test_a_backup_is_one_private_file_named_by_its_content(app: App, config: Config, shelf: Path) -> None:
    report = made(config, shelf)
    assert names(shelf) == ["finapi-20260131T120000Z-without-secrets.db"]
    file = Path(report["file"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert report == {
        "file": str(file),
        "bytes": file.stat().st_size,
        "secrets": False,
        "counts": {"accounts": 1, "filings": 0, "facts": 0, "ledger_rows": 1, "documents": 0},
        "open_debits": NO_DEBITS,
    }
    assert found(file, "SELECT email FROM users") == [(ANN,)]
    assert app.secrets[0] not in file.read_bytes()


def test_a_backup_with_secrets_says_so_and_has_them(app: App, config: Config, shelf: Path) -> None:
    made(config, shelf, secrets=True)
    assert names(shelf) == ["finapi-20260131T120000Z-with-secrets.db"]
    assert found(next(shelf.iterdir()), "SELECT secret FROM backup_secrets") == [(app.secrets[0],)]


@pytest.mark.parametrize(("name", "secrets"), [("finapi.db", True), ("finapi-with-secrets.db", False)])
def test_a_name_that_does_not_tell_is_refused(app: App, config: Config, shelf: Path, name: str, secrets: bool) -> None:
    with pytest.raises(UsageError, match="with-secrets in its name"):
        made(config, shelf / name, secrets=secrets)
    assert names(shelf) == []


def test_the_age_of_the_newest_backup_is_known(app: App, config: Config, shelf: Path) -> None:
    with_shelf = replace(config, backup_dir=str(shelf))
    assert backups.find_backup_age(config, NOW) is None
    assert backups.find_backup_age(with_shelf, NOW) is None
    (shelf / "finapi-20991231T000000Z-mine.db").write_text("not made by finapi")
    (shelf / "finapi-20990230T000000Z-with-secrets.db").write_text("not a day")
    made(config, shelf, NOW - timedelta(hours=5), secrets=True)
    made(config, shelf, NOW - timedelta(hours=3))
    assert backups.find_backup_age(with_shelf, NOW) == 3 * 3600
    assert backups.find_backup_age(with_shelf, NOW - timedelta(days=1)) == 0
    assert backups.find_backup_age(replace(config, backup_dir=str(shelf / "missing")), NOW) is None


def test_a_restore_of_a_missing_file_creates_no_directory(tmp_path: Path) -> None:
    finished = finapi("restore", tmp_path / "missing.db", "--data-dir", tmp_path / "data")
    assert (finished.status, finished.complaint) == (2, f"there is no file {tmp_path}/missing.db")
    assert names(tmp_path) == []


PROMOTE_EVERYBODY = """
CREATE TRIGGER promote AFTER UPDATE ON data_version BEGIN UPDATE users SET usertype = 'admin'; END;
"""


def test_a_backup_with_a_foreign_trigger_is_not_restored(app: App, config: Config, shelf: Path, tmp_path: Path) -> None:
    made(config, shelf / "b.db")
    with contextlib.closing(sqlite3.connect(shelf / "b.db")) as connection:
        connection.executescript(PROMOTE_EVERYBODY)
    other_config = replace(config, data_dir=tmp_path / "there")
    other_config.data_dir.mkdir(mode=0o700)
    restored = put_back(other_config, shelf / "b.db")
    assert restored.proof["problems"] == ["the trigger promote is not one of finapi's"]
    assert names(other_config.data_dir) == []


def test_a_restore_is_in_the_audit_log_of_the_restored_accounts(
    app: App, config: Config, shelf: Path, tmp_path: Path
) -> None:
    made(config, shelf / "b.db")
    other_config = replace(config, data_dir=tmp_path / "there")
    other_config.data_dir.mkdir(mode=0o700)
    put_back(other_config, shelf / "b.db", actor=Actor(None, "root in /"))
    assert found(other_config.data_dir / "finapi.db", "SELECT action, detail, place FROM audit ORDER BY id DESC") == [
        ("restore", str(shelf / "b.db"), "root in /")
    ]


def test_a_check_reports_a_foreign_trigger(app: App, config: Config) -> None:
    with contextlib.closing(sqlite3.connect(config.data_dir / "finapi.db")) as connection:
        connection.executescript(PROMOTE_EVERYBODY)
    assert check(config)["problems"] == ["the trigger promote is not one of finapi's"]


def test_a_backup_replaces_nothing_and_makes_no_directory(app: App, config: Config, shelf: Path) -> None:
    (shelf / "b.db").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        made(config, shelf / "b.db")
    with pytest.raises(UsageError, match="there is no directory"):
        made(config, shelf / "below" / "b.db")
    assert (names(shelf), (shelf / "b.db").read_text()) == (["b.db"], "mine")


def test_a_copy_under_writes_is_consistent_and_not_restarted(
    app: App, config: Config, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "STEP_PAGES", 1)
    progress: list[int] = []

    def write(done: int, pages: int) -> None:
        progress.append(done)
        users.create(app, f"u{done}@example.com", "free", NOW)

    report = made(config, shelf, report_progress=write)
    assert progress == list(range(1, len(progress) + 1)), "every page is copied once"
    assert len(progress) > 50
    assert report["counts"]["accounts"] == 1
    with app.db.read() as tx:
        assert len(tx.list_rows("users_after", id=0, limit=1000)) == 1 + len(progress)


def test_a_backup_that_is_broken_off_leaves_nothing(app: App, config: Config, shelf: Path) -> None:
    def fail(done: int, pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(config, shelf, report_progress=fail)
    assert names(shelf) == []


def test_a_copy_that_does_not_add_up_is_no_backup(app: App, config: Config, shelf: Path) -> None:
    with app.db.write() as tx:
        run_sql(tx, "UPDATE userplans SET reach_limit_api = 7")
    with pytest.raises(ApiError, match=f"failed its check and was removed: {ANN}: the balance is 1993 tokens"):
        made(config, shelf)
    assert names(shelf) == []


def test_a_full_disk_is_found_out_before_anything_is_copied(
    app: App, config: Config, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "MIN_FREE_BYTES", 1 << 60)
    with pytest.raises(UsageError, match=f"a copy needs [0-9,]+ bytes, but {shelf} has only [0-9,]+"):
        made(config, shelf)
    assert names(shelf) == []


def test_only_the_newest_of_our_own_names_are_kept(shelf: Path) -> None:
    for day in range(1, 5):
        (shelf / f"finapi-2026010{day}T030000Z-without-secrets.db").touch()
    (shelf / "finapi-20250101T030000Z-mine.db").touch()
    assert [path.name for path in backups.delete_old_backups(shelf, 2)] == [
        "finapi-20260101T030000Z-without-secrets.db",
        "finapi-20260102T030000Z-without-secrets.db",
    ]
    assert len(names(shelf)) == 3


def test_backups_with_secrets_are_counted_apart(shelf: Path) -> None:
    for day in range(1, 4):
        (shelf / f"finapi-2026020{day}T030000Z-without-secrets.db").touch()
    (shelf / "finapi-20260101T120000Z-with-secrets.db").touch()
    (shelf / "finapi-20260102T120000Z-with-secrets.db").touch()
    assert [path.name for path in backups.delete_old_backups(shelf, 1)] == [
        "finapi-20260101T120000Z-with-secrets.db",
        "finapi-20260201T030000Z-without-secrets.db",
        "finapi-20260202T030000Z-without-secrets.db",
    ]


# ---- every night


def test_another_kind_of_backup_does_not_replace_the_nightly(tmp_path: Path, shelf: Path) -> None:
    config = Config(data_dir=tmp_path / "data", backup_dir=str(shelf), backup_hour=0)
    (shelf / f"finapi-{NOW:%Y%m%d}T000000Z-with-secrets.db").touch()
    with open_app(config, FixedClock(NOW)) as app:
        backups.NightlyBackup(app).run_backup_step()
    assert [name.rpartition("Z-")[2] for name in names(shelf)] == ["with-secrets.db", "without-secrets.db"]


def test_every_night_one_backup_is_made_and_the_oldest_goes(tmp_path: Path, shelf: Path) -> None:
    config = Config(data_dir=tmp_path / "data", backup_dir=str(shelf), backup_hour=3, backups_kept=2)
    clock = FixedClock(datetime(2026, 1, 1, 2, 59, tzinfo=UTC))
    with open_app(config, clock) as app:
        worker = backups.NightlyBackup(app)
        assert (worker.run_backup_step(), names(shelf)) == (backups.DUE_CHECK_SECONDS, [])
        for _ in range(3):
            clock.advance(60)
            worker.run_backup_step()
            worker.run_backup_step()
            clock.advance(86_340)
        assert names(shelf) == [f"finapi-2026010{day}T030000Z-without-secrets.db" for day in (2, 3)]


def test_a_night_that_fails_is_logged_and_tried_again_in_an_hour(
    tmp_path: Path, shelf: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config(data_dir=tmp_path / "data", backup_dir=str(shelf / "gone"), backup_hour=0)
    with open_app(config, FixedClock(NOW)) as app, caplog.at_level(logging.ERROR, "finapi.backups"):
        assert backups.NightlyBackup(app).run_backup_step() == backups.RETRY_SECONDS
    assert "no backup was made, next try in an hour: [Errno 20] Not a directory" in caplog.text


def test_a_stop_breaks_a_nights_backup_off(tmp_path: Path, shelf: Path) -> None:
    config = Config(data_dir=tmp_path / "data", backup_dir=str(shelf), backup_hour=0)
    stop = threading.Event()
    stop.set()
    with (
        open_app(config, FixedClock(NOW)) as app,
        stopping.watched_by(stop),
        pytest.raises(stopping.WorkStopped),
    ):
        backups.NightlyBackup(app).run_backup_step()
    assert names(shelf) == []


@pytest.mark.parametrize("hour", [-1, 24])
def test_an_hour_that_there_is_not_is_refused(hour: int) -> None:
    with pytest.raises(UsageError, match=r"setting backup_hour: must be at (least 0|most 23)"):
        Config(backup_hour=hour)


# ---- put back


def test_a_restore_brings_the_backup_and_keeps_the_previous(config: Config, shelf: Path) -> None:
    with open_app(config, FixedClock(NOW)) as app:
        ann = users.create(app, ANN, "free", NOW)
        tell(app, 3)
        made(config, shelf / "b.db")
        tell(app, 4)
        users.create(app, "bob@example.com", "free", NOW)
        with app.db.read() as tx:
            before = events.get_range(tx, events.MAIN_FEED), stamp(tx)
    previous, findings, refunds = put_back(config, shelf / "b.db")
    assert findings["problems"] == []
    assert refunds == NO_DEBITS
    assert previous == config.data_dir / "finapi.db.before-20260131T120000Z"
    assert set(names(config.data_dir)) == {"finapi.db", previous.name, "lock", "secrets"}
    assert found(previous, "SELECT count(*) FROM users") == [(2,)]
    with open_app(config, FixedClock(NOW)) as app, app.db.read() as tx:
        after = events.get_range(tx, events.MAIN_FEED)
        assert (after.first, after.last, after.last_shared) == (1, 3, 3)
        assert after.epoch == before[0].epoch + 1
        assert users.find_caller_by_api_key(tx, ann.api_key) is not None
        assert [row["id"] for row in tx.list_rows("users_after", id=0, limit=9)] == [1]
        # What callers hold of the old data is not taken for today's.
        assert stamp(tx) != before[1]


def test_each_restore_of_one_backup_has_an_epoch_of_its_own(config: Config, shelf: Path) -> None:
    with open_app(config, FixedClock(NOW)):
        made(config, shelf / "b.db")
    epochs = []
    for _ in range(2):
        put_back(config, shelf / "b.db")
        epochs += [row[0] for row in found(config.data_dir / "finapi.db", "SELECT epoch FROM journal")]
        (config.data_dir / "finapi.db.before-20260131T120000Z").unlink()
    first = int(NOW.timestamp())
    assert epochs == [first + 1, first + 2]


def test_a_backup_with_secrets_makes_a_new_machine_whole(app: App, config: Config, tmp_path: Path, shelf: Path) -> None:
    made(config, shelf / "b-with-secrets.db", secrets=True)
    key = users.rotate_key(app, 1, NOW)
    made(config, shelf / "c-with-secrets.db", secrets=True)
    new_config = Config(data_dir=tmp_path / "elsewhere")
    new_config.data_dir.mkdir(mode=0o700)
    assert put_back(new_config, shelf / "c-with-secrets.db").previous is None
    with open_app(new_config, FixedClock(NOW)) as other, other.db.read() as tx:
        assert users.find_caller_by_api_key(tx, key) is not None
        assert [*other.secrets] == [*app.secrets]
    assert app.secrets[0] not in (new_config.data_dir / "finapi.db").read_bytes()


def test_a_restore_appends_the_backups_secrets_on_demand(config: Config, shelf: Path) -> None:
    with open_app(config, FixedClock(NOW)) as app:
        (old,) = app.secrets
        made(config, shelf / "b-with-secrets.db", secrets=True)
    master_secrets.write_file(config, [b"\1" * 32])
    put_back(config, shelf / "b-with-secrets.db")
    assert master_secrets.read_or_create(config) == [b"\1" * 32]
    (config.data_dir / "finapi.db.before-20260131T120000Z").unlink()
    put_back(config, shelf / "b-with-secrets.db", secrets=True)
    assert master_secrets.read_or_create(config) == [b"\1" * 32, old]


@pytest.mark.parametrize("content", [b"", b"this is no database\n" * 300, b"SQLite format 3\0" + b"\xff" * 8000])
def test_what_is_no_backup_is_refused_and_changes_nothing(
    app: App, config: Config, shelf: Path, content: bytes
) -> None:
    (shelf / "b.db").write_bytes(content)
    before = names(config.data_dir)
    with pytest.raises(UsageError, match=r"b\.db is not a backup"):
        put_back(config, shelf / "b.db")
    assert names(config.data_dir) == before


def test_a_damaged_backup_is_not_put_back(app: App, config: Config, shelf: Path) -> None:
    made(config, shelf / "b.db")
    data = bytearray((shelf / "b.db").read_bytes())
    data[4096 * 40 : 4096 * 44] = b"\xa5" * 4 * 4096
    (shelf / "b.db").write_bytes(data)
    before = names(config.data_dir)
    with contextlib.suppress(sqlite3.DatabaseError):
        assert put_back(config, shelf / "b.db").proof["problems"]
    assert names(config.data_dir) == before


def test_the_restore_of_a_damaged_backup_changes_nothing(
    config: Config, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_app(config, FixedClock(NOW)):
        made(config, shelf / "b.db")
    data = bytearray((shelf / "b.db").read_bytes())
    # The root of the schema is whole: the file opens.
    data[4096 * 4 :] = b"\xa5" * (len(data) - 4096 * 4)
    (shelf / "b.db").write_bytes(data)
    before = (config.data_dir / "finapi.db").read_bytes()
    assert cli.main(["restore", str(shelf / "b.db"), "--data-dir", str(config.data_dir)]) == 1
    assert f"{shelf}/b.db" in capsys.readouterr().err
    assert (config.data_dir / "finapi.db").read_bytes() == before


def test_a_damaged_database_is_replaced_all_the_same(config: Config, shelf: Path) -> None:
    with open_app(config, FixedClock(NOW)) as app:
        users.create(app, ANN, "free", NOW)
        made(config, shelf / "b.db")
    (config.data_dir / "finapi.db").write_bytes(b"garbage" * 1000)
    previous = put_back(config, shelf / "b.db").previous
    assert previous is not None
    assert previous.read_bytes() == b"garbage" * 1000
    assert found(config.data_dir / "finapi.db", "SELECT email FROM users") == [(ANN,)]


# ---- calls that had not ended


LATER = {
    "at once": timedelta(0),
    "ten minutes": timedelta(minutes=10),
    "a day": timedelta(days=1),
    "a year": timedelta(days=365),
    "the clock was put back": timedelta(days=-1),
}


@pytest.fixture
def killed_config(config: Config) -> Config:
    """Return a data directory whose process was killed at noon, in two running calls and after a third."""
    with open_app(config, FixedClock(NOW)) as app:
        users.create(app, ANN, "free", NOW)
        with charged(app, 1, "GET /x", 25, "r0"):
            pass
    app = apps.open_on_disk(config, FixedClock(NOW))
    billing.charge(app, 1, "GET /x", 25, "r1")
    billing.charge(app, 1, "GET /y", 5, "r2")
    app.db.close()
    return config


def check(config: Config) -> proof.Proof:
    database = db.Database(config.data_dir / "finapi.db", reads_only=True)
    try:
        return proof.check_database(database, config)
    finally:
        database.close()


def balance(app: App) -> int:
    with app.accounts.read() as tx:
        return plans.get_balance(tx, app.config, 1, app.clock.now())["current_balance"]


@pytest.mark.parametrize("later", slow_after(2, LATER))
def test_a_backup_made_under_traffic_is_restored_at_any_time(
    app: App, config: Config, tmp_path: Path, shelf: Path, later: str
) -> None:
    with charged(app, 1, "GET /x", 25, "r0"):
        pass
    billing.run_settlement_step(app)
    with charged(app, 1, "GET /x", 25, "r1"), charged(app, 1, "GET /y", 5, "r2"):
        assert made(config, shelf / "b-with-secrets.db", secrets=True)["open_debits"] == CALLS
    other_config = replace(config, data_dir=tmp_path / "there")
    other_config.data_dir.mkdir(mode=0o700)
    now = NOW + LATER[later]
    restored = put_back(other_config, shelf / "b-with-secrets.db", now)
    assert restored.proof["problems"] == []
    assert restored.refunds == CALLS
    assert found(
        other_config.data_dir / "finapi.db", "SELECT request_id, reason, delta, open FROM ledger WHERE id > 2"
    ) == [
        ("r1", "debit", -25, 0),
        ("r2", "debit", -5, 0),
        ("r1", "crash_refund", 25, 0),
        ("r2", "crash_refund", 5, 0),
    ]
    with open_app(other_config, FixedClock(now)) as other:
        assert balance(other) == 2000 - 25
        # Old rows are archived and a period that has ended is refilled as after a standstill.
        while archive.run_archive_step(other) != archive.STEP_SECONDS:
            pass
        plans.run_refill_step(other, now)
        assert balance(other) == (2000 if later == "a year" else 2000 - 25)
    assert check(other_config)["problems"] == []


def test_deliveries_a_year_old_in_a_backup_are_sent_if_wanted(config: Config, shelf: Path) -> None:
    config = replace(config, webhook_allow=("127.0.0.0/8",))
    event = WebhookEvent("finapi.test", NOON, "1", {})
    with receiver() as server:
        with open_app(config, FixedClock(NOW)) as app:
            user = users.create(app, ANN, "free", NOW)
            recovery.request_password_reset(app, ANN, NOW)
            with app.accounts.write() as tx:
                webhooks.enqueue(tx, NOW, Receiver(user.id, user.uuid, server.url), event)
            made(config, shelf / "b.db")
        put_back(config, shelf / "b.db")
        clock = FixedClock(NOW + timedelta(days=365))
        with open_app(config, clock) as app:
            # The link of the mail lived for a day.
            recovery.run_mail_step(app)
            dispatcher = Dispatcher(app)
            assert dispatcher.run_until_idle(5)
            dispatcher.stop(0.0)
    assert len(server.received) == 1
    path = config.data_dir / "finapi.db"
    assert found(path, "SELECT template, state FROM mails") == [("reset", "dropped")]
    assert found(path, "SELECT state FROM deliveries") == [("delivered",)]
    assert check(config)["problems"] == []


def test_a_backup_of_one_restored_and_backed_up_again_is_proven(
    config: Config, killed_config: Config, shelf: Path
) -> None:
    made(config, shelf / "first.db")
    put_back(config, shelf / "first.db", NOW + timedelta(days=1))
    second = made(config, shelf / "second.db", NOW + timedelta(days=1))
    assert second["open_debits"] == NO_DEBITS
    assert put_back(config, shelf / "second.db", NOW + timedelta(days=2)).refunds == NO_DEBITS


@pytest.mark.parametrize("later", slow_after(2, LATER))
def test_a_directory_left_by_a_kill_is_no_error_at_any_time(killed_config: Config, shelf: Path, later: str) -> None:
    now = NOW + LATER[later]
    findings = check(killed_config)
    assert (findings["problems"], findings["open_debits"]) == ([], CALLS)
    assert made(killed_config, shelf / "b.db", now)["open_debits"] == CALLS
    with open_app(killed_config, FixedClock(now)) as app:
        assert balance(app) == 2000 - 25
    findings = check(killed_config)
    assert (findings["problems"], findings["open_debits"]) == ([], NO_DEBITS)


def test_a_backup_of_every_night_is_made_of_what_a_kill_left(killed_config: Config, shelf: Path) -> None:
    config = replace(killed_config, backup_dir=str(shelf), backup_hour=0)
    nightly = backups.NightlyBackup(apps.open_on_disk(config, FixedClock(NOW + timedelta(days=1))))
    try:
        assert nightly.run_backup_step() == backups.DUE_CHECK_SECONDS
    finally:
        nightly._app.db.close()
    assert names(shelf) == ["finapi-20260201T120000Z-without-secrets.db"]


def test_an_open_debit_that_no_start_refunds_stops_a_backup(killed_config: Config, shelf: Path) -> None:
    with contextlib.closing(sqlite3.connect(killed_config.data_dir / "finapi.db", isolation_level=None)) as connection:
        connection.execute("UPDATE ledger_summed SET closed_to = 3")
    with pytest.raises(ApiError, match="ledger row 3: 25 tokens for GET /x are open, but all rows up to 3 are"):
        made(killed_config, shelf)
    assert names(shelf) == []


def test_restoring_a_file_refunds_no_accounts_in_postgresql(killed_config: Config, shelf: Path) -> None:
    made(killed_config, shelf / "b.db")
    restored = put_back(replace(killed_config, accounts_url="postgresql://nowhere/x"), shelf / "b.db")
    assert restored.refunds == NO_DEBITS
    assert check(killed_config)["open_debits"] == CALLS


def test_the_verbs_list_the_calls_that_had_not_ended(
    killed_config: Config, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data-dir", str(killed_config.data_dir))

    def run(*words: str) -> list[str]:
        assert cli.main([*words, *data]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out.splitlines()

    debits = f"2 debits are open: 30 tokens, the oldest from {NOON}"
    file = str(shelf / "b.db")
    assert run("check") == [
        "all is well: 1 account, 0 filings, 0 facts, 4 ledger rows, 0 documents",
        f"{debits}; refunded by a start if a crash left them open",
    ]
    assert run("backup", file)[1:] == [f"{debits}; refunded by a restore"]
    assert run("check", "--file", file)[1:] == [f"{debits}; refunded by a restore"]
    (checked,) = run("check", "--file", file, "--json")
    assert json.loads(checked)["open_debits"] == CALLS
    (restored,) = run("restore", file, "--json")
    report = json.loads(restored)
    assert (report["file"], report["refunded"]) == (file, CALLS)
    Path(report["kept"]).unlink()
    (line,) = run("restore", file)
    assert line.endswith("; 2 calls that had not ended: 30 tokens refunded")


# ---- as an operator does it


@pytest.mark.slow
def test_an_operator_restores_everything_from_a_live_backup(tmp_path: Path, shelf: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    with serve(tmp_path / "data") as server:
        key = finapi("user", "add", ANN, "--json", *data).json["api_key"]
        report = finapi("backup", shelf, "--with-secrets", "--keep", 3, "--json", *data).json
        assert (report["secrets"], report["counts"]["accounts"], report["removed"]) == (True, 1, [])
        busy = finapi("restore", report["file"], *data)
        assert (busy.status, busy.complaint) == (2, f"{tmp_path}/data is in use by a running finapi; stop it first")
        assert finapi("check", *data).out == ("all is well: 1 account, 0 filings, 0 facts, 1 ledger row, 0 documents\n")
        assert server.stop() == 0
    elsewhere = ("--data-dir", tmp_path / "elsewhere")
    assert finapi("restore", report["file"], *elsewhere).out == f"{report['file']} is restored\n"
    with serve(tmp_path / "elsewhere") as server:
        assert server.get("/api/v1/account/balance", key).status == 200
    assert finapi("check", "--file", report["file"]).status == 0


def test_a_check_of_nothing_makes_nothing(tmp_path: Path) -> None:
    for words in (("check",), ("backup", tmp_path / "b.db")):
        done = finapi(*words, "--data-dir", tmp_path / "data")
        assert (done.status, done.complaint) == (2, f"there is no database in {tmp_path}/data")
    assert names(tmp_path) == []


def test_a_check_names_damage_and_says_what_to_do(tmp_path: Path) -> None:
    finapi("user", "add", ANN, "--data-dir", tmp_path)
    path = tmp_path / "finapi.db"
    data = bytearray(path.read_bytes())
    data[4096 * 20 : 4096 * 24] = b"\xa5" * 4 * 4096
    path.write_bytes(data)
    done = finapi("check", "--data-dir", tmp_path)
    assert done.status == 1
    assert done.err.splitlines()[-1] == RESTORE_ADVICE


def test_a_check_of_a_full_disk_does_not_send_for_a_backup(tmp_path: Path) -> None:
    finapi("user", "add", ANN, "--data-dir", tmp_path)
    # No file can be made below /proc, by whomever.
    done = finapi("check", "--data-dir", tmp_path, "--ledger-dir", "/proc")
    assert done.status == 1
    assert done.err.splitlines() == [
        "the ledger's archives cannot be written: No such file or directory",
        "the stored data are complete: make room on that disk, or let finapi write there",
    ]


def test_a_check_names_what_cannot_be_written(config: Config) -> None:
    assert proof.list_write_errors(config) == []
    # No file can be made below /proc, by whomever.
    assert proof.list_write_errors(replace(config, ledger_dir="/proc")) == [
        "the ledger's archives cannot be written: No such file or directory"
    ]


# ---- what is proven


def test_a_hole_in_the_numbers_of_a_feed_is_named(app: App, config: Config) -> None:
    tell(app, 5)
    assert proof.check_database(app.db, config)["problems"] == []
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM events WHERE seq = 3")
    assert proof.check_database(app.db, config)["problems"] == [
        "feed main-api: 4 events from 1 to 5, the last given out is 5"
    ]


def test_events_that_were_pruned_from_the_front_leave_no_hole(app: App, config: Config) -> None:
    tell(app, 40)
    events.prune(app, NOW + timedelta(days=60))
    assert proof.check_database(app.db, config)["problems"] == []


def test_a_wrong_count_of_a_form_is_reported(app: App, config: Config) -> None:
    filing_metadata = FilingMetadata(
        "0000000001-26-000001", metadata.INDEX_EVIDENCE, [Party(1, metadata.LISTED_RANK)], "10-K", "2026-01-02"
    )
    with app.db.write() as tx:
        filing_store.upsert(tx, filing_metadata, NOW)
    assert proof.check_database(app.db, config)["problems"] == []
    with app.db.write() as tx:
        run_sql(tx, "UPDATE term_counts SET filings = 3")
    assert proof.check_database(app.db, config)["problems"] == [
        "listed filings: 1 are there, 3 were stored",
        "filings listed under 10-K: 1 are there, 3 were stored",
    ]


def test_a_kept_document_that_is_not_what_was_stored_is_named(app: App, config: Config) -> None:
    with app.db.write() as tx:
        run = tx._connection.execute
        run("INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (1, 'One', 0, '')")
        run("INSERT INTO filings (id, accession, cik) VALUES (1, '0000000001-26-000001', 1)")
        run("UPDATE held_counts SET number = 1 WHERE name = 'filings'")
        run("INSERT INTO filing_bodies (filing_id, media, packed) VALUES (1, 'text', x'789c4b4c4a0600024d0127')")
    assert proof.check_database(app.db, config) == {
        "counts": {"accounts": 1, "filings": 1, "facts": 0, "ledger_rows": 1, "documents": 1},
        "open_debits": NO_DEBITS,
        "archives_elsewhere": 0,
        "problems": [],
    }
    with app.db.write() as tx:
        run_sql(tx, "UPDATE filing_bodies SET packed = x'789c4b4c4a0600024d0128'")
    (problem,) = proof.check_database(app.db, config)["problems"]
    assert problem.startswith('document of "0000000001-26-000001": ')


def test_a_killed_database_creation_is_rolled_back_and_redone(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(tmp_path / "finapi.db", isolation_level=None)) as making:
        # One page in memory: the rest is in the file, and its journal beside it, before any commit.
        making.executescript(
            f"PRAGMA cache_size=1; CREATE TABLE a (b); PRAGMA application_id={schema.APPLICATION_ID}; "
            "PRAGMA user_version=1; BEGIN; PRAGMA user_version=2;"
        )
        making.executemany("INSERT INTO a VALUES (?)", (("x" * 4000,) for _ in range(50)))
        for name in ("finapi.db", "finapi.db-journal"):
            shutil.copy(tmp_path / name, tmp_path / "killed" / name)
    assert backup.read_version(tmp_path / "killed" / "finapi.db") == 1
    assert not (tmp_path / "killed" / "finapi.db-journal").exists()
