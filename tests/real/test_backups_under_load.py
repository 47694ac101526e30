"""Backups of a server under load, restored a day run_ahead, and backups and restores that are killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi import cli
from finapi.core.clock import SystemClock
from tests import process
from tests.process import CIK, Running, accession, filing, finapi, write
from tests.real.test_crash import DIE, check_accounts

pytestmark = [pytest.mark.slow, pytest.mark.alone]

BACKUPS = int(os.environ.get("BACKUPS", "20"))
KILLS = int(os.environ.get("KILLS", "11"))
CALLERS = 4
EMAIL = "ann@example.com"

Run = Callable[..., Any]


@pytest.fixture
def run_ahead(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[timedelta], Run]:
    """Return a factory of functions that run a command with the clock ahead and return its JSON."""
    now = SystemClock.now

    def make_run(ahead: timedelta) -> Run:
        def run(*words: object) -> Any:
            with monkeypatch.context() as patch:
                patch.setattr(SystemClock, "now", lambda self: now(self) + ahead)
                status = cli.main([*map(str, words), "--json"])
            printed = capsys.readouterr()
            assert status == 0, printed
            return json.loads(printed.out)

        return run

    return make_run


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a data directory with one filing."""
    write(tmp_path / "in" / accession(1), filing())
    assert finapi("ingest", tmp_path / "in", "--data-dir", tmp_path / "data").status == 0
    return tmp_path / "data"


@contextlib.contextmanager
def load(running: Running, key: str) -> Iterator[None]:
    """Send calls from four connections without a pause until the block ends or the server stops."""
    ended = threading.Event()

    def call() -> None:
        connection = http.client.HTTPConnection(*running.address, timeout=process.SECONDS)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            while not ended.is_set():
                connection.request("GET", f"/api/v1/xbrl/companies/{CIK}/statements", headers={"X-API-Key": key})
                assert connection.getresponse().read()

    threads = [threading.Thread(target=call) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def read_balance(data_dir: Path) -> int:
    with contextlib.closing(sqlite3.connect(data_dir / "finapi.db")) as database:
        (row,) = database.execute("SELECT total_limit_api - reach_limit_api FROM userplans")
    return int(row[0])


def test_a_backup_under_load_can_be_restored_a_day_later(
    data_dir: Path, tmp_path: Path, run_ahead: Callable[[timedelta], Run]
) -> None:
    data = ("--data-dir", data_dir)
    key = finapi("user", "add", EMAIL, "--plan", "yearly", "--json", *data).json["api_key"]
    files = [tmp_path / f"{number}-with-secrets.db" for number in range(BACKUPS)]
    with process.serve(data_dir, "--xbrl-burst", 10**6, "--log-level", "warning") as running, load(running, key):
        backups = [finapi("backup", file, "--with-secrets", "--json", *data).json for file in files]
        assert finapi("check", *data).status == 0
        running.send(signal.SIGKILL)
        running.wait()
    run = run_ahead(timedelta(days=1))
    # The state after the kill has no errors and can be backed up.
    assert run("check", *data)["problems"] == []
    files.append(tmp_path / "left-with-secrets.db")
    backups.append(run("backup", files[-1], "--with-secrets", *data))
    for file, backup in zip(files, backups, strict=True):
        restored_dir = tmp_path / f"of-{file.stem}"
        assert run("check", "--file", file, *data)["problems"] == []
        report = run("restore", file, "--data-dir", restored_dir)
        assert report["refunded"] == backup["open_debits"]
        assert {call["account"] for call in report["refunded"]["calls"]} <= {EMAIL}
        with contextlib.closing(sqlite3.connect(file)) as database:
            ((debits,),) = database.execute("SELECT coalesce(-sum(delta), 0) FROM ledger WHERE open = 1")
            ((before,),) = database.execute("SELECT total_limit_api - reach_limit_api FROM userplans")
        assert debits == report["refunded"]["tokens"]
        assert read_balance(restored_dir) == before + debits
        check_accounts(restored_dir)
        checked = run("check", "--data-dir", restored_dir)
        assert (checked["problems"], checked["open_debits"]["count"]) == ([], 0)
    assert sum(backup["open_debits"]["count"] for backup in backups) > 0, "no call was under way"
    with process.serve(restored_dir) as running:
        assert running.get(f"/api/v1/xbrl/companies/{CIK}/statements", key).status == 200


def test_the_next_run_cleans_up_after_killed_backups(data_dir: Path, tmp_path: Path) -> None:
    data = ("--data-dir", data_dir)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    good = tmp_path / "good.db"
    assert finapi("backup", good, *data).status == 0
    interrupted_verbs = set()
    for words, directory in ((("restore", good), data_dir), (("backup", shelf), shelf)):
        for step in range(1, 3 * KILLS, 3):
            command = [sys.executable, "-c", DIE, str(step), str(directory), "run.py"]
            with process.child(*words, *data, command=command) as dying:
                dying.communicate(timeout=process.SECONDS)
            interrupted_verbs |= {path.name.split("-")[1] for path in directory.glob(".finapi-*")}
            assert len(list(directory.glob(".finapi-*"))) <= 1
            # A kill may come after the work is done.
            for file in (*data_dir.glob("finapi.db.before-*"), *shelf.glob("finapi-*.db")):
                file.unlink()
        assert finapi(*words, *data).status == 0
        assert list(directory.glob(".finapi-*")) == []
    assert interrupted_verbs == {"restore", "backup"}
    assert finapi("check", *data).status == 0


def test_the_next_backup_removes_killed_ones_beside_a_server(data_dir: Path, tmp_path: Path) -> None:
    data = ("--data-dir", data_dir)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with process.serve(data_dir) as running:
        for _ in range(KILLS):
            with process.child("backup", shelf, *data) as dying:
                process.eventually(lambda: any(shelf.iterdir()))
                dying.kill()
                dying.wait(process.SECONDS)
            assert len(list(shelf.glob(".finapi-backup-*"))) <= 1
            for file in shelf.glob("finapi-*.db"):
                file.unlink()
        assert finapi("backup", shelf, *data).status == 0
        assert len(list(shelf.iterdir())) == 1
        assert running.get("/livez").status == 200
