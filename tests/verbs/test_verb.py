"""Tests of the common parts of verbs: progress, lists of companies, and the message after an interruption."""

from __future__ import annotations

import _thread
import argparse
import contextlib
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from finapi import cli
from finapi.client import Client
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.market.intake.loading import Loader
from finapi.market.intake.poller import Poller
from finapi.ops import moving, proof
from finapi.ops.app_opening import open_app
from finapi.store import backup
from finapi.testing import conformance
from finapi.verbs.verb import ProgressBar, format_duration, print_table, read_company_names, run_interruptibly


def test_progress_reports_share_speed_and_remaining_time() -> None:
    messages: list[str] = []
    now = iter((0.0, 0.1, 2.0, 10.0, 10.0, 10.0))
    bar = ProgressBar(lambda stream, text: messages.append(text), lambda: next(now))
    bar.update("num.txt", "bytes", 0, 400_000_000)
    bar.update("num.txt", "bytes", 1_000_000, 400_000_000)  # too soon
    bar.update("num.txt", "bytes", 40_000_000, 400_000_000)
    bar.update("num.txt", "bytes", 400_000_000, 400_000_000)
    bar.update("sub.txt", "filings", 3, 9)
    bar.update("a\x1b[2J", "filings", 1, 0)
    assert messages == [
        "num.txt: 0 of 400 MB",
        "num.txt: 40 of 400 MB, 20.0/s, 18 s left",
        "num.txt: 400 of 400 MB, 40.0/s, 0 s left",
        "sub.txt: 3 of 9 filings",
        "a\\x1b[2J: 1 filings",
    ]


def test_a_table_shows_missing_values_and_flags_in_words() -> None:
    lines: list[str] = []
    rows = [{"name": "a", "newest": True, "note": None}, {"name": "b\x1b", "newest": False, "note": "x"}]
    arguments = argparse.Namespace(json=False)
    assert print_table(lambda stream, text: lines.append(text), arguments, "rows", rows, "name newest note") == 0
    assert lines == ["NAME   NEWEST  NOTE", "a      yes     -", "b\\x1b  no      x"]


def test_a_time_is_told_in_two_units() -> None:
    assert [format_duration(seconds) for seconds in (0, 59.4, 60, 3599, 90_061)] == [
        "0 s",
        "59 s",
        "1 min 0 s",
        "59 min 59 s",
        "25 h 1 min",
    ]


def test_a_list_of_companies_is_read_as_people_write_it(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_bytes(b"\xef\xbb\xbfAAPL, MSFT # two\r\n# none\n320193\tGS,,\n")
    assert read_company_names(str(tmp_path), "list") == ["AAPL", "MSFT", "320193", "GS"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"# none\n", "names no company"), (b"\xff", "is not UTF-8"), (b"A\n" * 600_000, "is too large to be a list")],
)
def test_a_file_that_is_no_list_of_companies_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "list").write_bytes(data)
    with pytest.raises(UsageError, match=reason):
        read_company_names(str(tmp_path), "list")


# ---- cut off


CUT_OFF = {
    "load": (
        ["load", "AAPL", "--user-agent", "a b@c.example"],
        Loader,
        "choose_companies",
        "the same command goes on from there",
    ),
    "poll": (["poll", "--user-agent", "a b@c.example"], Poller, "run_poll_step", "the next poll goes on from there"),
    "check": (["check"], proof, "check_database", "nothing is verified, and nothing has changed"),
    "copy": (["backup", "{shelf}"], backup, "temporary_copy", "no backup was made"),
    "proof": (["backup", "{shelf}"], proof, "check_database", "no backup was made"),
    "restore": (
        ["restore", "{data}/finapi.db"],
        proof,
        "check_database",
        "either the database is unchanged, or it is the backup",
    ),
    "watch": (["watch", "main-api"], Client, "events", "give --since with the number"),
    "listen": (["listen", "--forward-to", "http://127.0.0.1:9"], Client, "call", "deliveries are forwarded"),
    "conformance": (
        ["conformance", "--against", "http://127.0.0.1:9", "--key", "k"],
        conformance,
        "grade_server",
        "only the printed checks are done",
    ),
    "move": (["move", "--to", "postgresql://h/d"], moving, "move_to_postgres", "if rows were moving"),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", CUT_OFF)
def test_an_interrupted_verb_says_how_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str, number: int
) -> None:
    words, owner, name, kept_note = CUT_OFF[case]
    data, shelf = tmp_path / "data", tmp_path / "shelf"
    shelf.mkdir()
    with open_app(Config(data_dir=data)):
        pass

    def cut(*args: Any, **options: Any) -> None:
        # As Ctrl-C and SIGTERM are raised in the main thread.
        raise KeyboardInterrupt(*([number] if number != signal.SIGINT else []))

    monkeypatch.setattr(owner, name, cut)
    words = [word.format(shelf=shelf, data=data) for word in words]
    assert cli.main([*words, "--data-dir", str(data)]) == 128 + number
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("finapi: cut off; ")
    assert kept_note in printed.err
    assert printed.err.count("\n") == 1
    # What reads a database leaves the files beside it.
    file_names = {path.name for path in (*data.iterdir(), *shelf.iterdir())}
    assert file_names - {"finapi.db-wal", "finapi.db-shm"} == {"finapi.db", "lock", "secrets"}


def test_a_long_statement_is_broken_off_at_once() -> None:
    started, failed, thread_id = threading.Event(), list[str](), threading.get_ident()
    with contextlib.closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:

        def work() -> None:
            started.set()
            endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
            try:
                connection.execute(endless).fetchone()
            except sqlite3.OperationalError as error:
                failed.append(str(error))

        def stop() -> None:
            while not failed:
                connection.interrupt()

        def cut_off() -> None:
            started.wait()
            while sys._current_frames()[thread_id].f_code is not threading.Condition.wait.__code__:
                pass
            # A signal that ends no wait of the main thread, as one that comes just before the wait does not.
            _thread.interrupt_main(signal.SIGUSR1)

        def ctrl_c(number: int, frame: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGUSR1, ctrl_c)
        cutting = threading.Thread(target=cut_off)
        cutting.start()
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work, stop)
        cutting.join()
        signal.signal(signal.SIGUSR1, before)
    assert failed == ["interrupted"]


def test_what_fails_in_the_other_thread_fails_here() -> None:
    def work() -> None:
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        run_interruptibly(work, lambda: None)
