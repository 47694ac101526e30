"""Faults of the machine, each with what becomes of it: damaged pages, no descriptors, a clock put back, kills."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock, SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.watch import MARK
from finapi.listening import within
from finapi.market.documents.identify import Given
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import following, ingest
from finapi.net import mail
from finapi.ops.opened import opened
from finapi.server import STACK
from finapi.store import datadir
from finapi.store.db import Database, DatabaseDamagedError
from finapi.verbs import ingesting
from tests import process
from tests.client import Client
from tests.leftovers import leave_folder

PAGE = 4096

# Runs the command behind it with an ingest that has begun and never ends.
HANGING = [
    sys.executable,
    "-c",
    """
import runpy, sys, threading
from finapi.market.intake import ingest
def run(*_):
    print("hangs", flush=True)
    threading.Event().wait()
ingest.run = run
sys.argv = sys.argv[1:]
runpy.run_path("run.py", run_name="__main__")
""",
]


# ---- damaged pages


def damaged(path: Path, table: str) -> None:
    """Overwrite the root page of a table."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data directory with filings and an account, and its key."""
    place = tmp_path_factory.mktemp("sound") / "data"
    with opened(Config(data_dir=place, password_profile="cheap"), SystemClock()) as app:
        ingest.run(app, [process.ROOT / "tests" / "filings"], Given(), lambda outcome: None)
        return place, users.create(app, "ann@example.com", "pro", app.clock.now()).api_key


@pytest.fixture
def copied(sound: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound[0], tmp_path / "data"))


def test_a_call_that_meets_a_damaged_page_is_503_and_costs_nothing(
    sound: tuple[Path, str], copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged(copied / "finapi.db", "filings")
    app = apps.on_disk(Config(data_dir=copied))
    client = Client(app, sound[1])
    logging.getLogger("finapi").propagate = True
    before = client.get("/api/v1/account/balance").json["current_balance"]
    answers = [client.get("/api/v1/xbrl/companies/1065280/statements?period=Q") for _ in range(3)]
    assert {(one.status, one.json["code"], one.headers["retry-after"]) for one in answers} == {
        (503, "UNAVAILABLE", "30")
    }
    assert {one.headers["x-tokens-charged"] for one in answers} == {"0"}
    assert client.get("/api/v1/account/balance").json["current_balance"] == before
    # What was written meanwhile makes no page whole.
    assert client.get("/readyz").status == 503
    lines = [record.getMessage() for record in caplog.records if record.name == "finapi.store"]
    assert len(lines) == 1
    assert "finapi restore FILE" in lines[0]
    app.db.close()


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (("user", "show", "ann@example.com"), "users"),
        (("user", "credit", "ann@example.com", "5"), "users"),
        (("user", "add", "bob@example.com"), "users"),
        (("follow", "list"), "followed"),
        (("pack", "export", "{0}/x.pack"), "filings"),
        (("backup", "{0}/b.db"), "facts"),
        (("check",), "facts"),
    ],
)
def test_every_verb_says_in_a_line_that_pages_are_damaged_and_what_to_do(
    copied: Path, tmp_path: Path, words: tuple[str, ...], table: str
) -> None:
    damaged(copied / "finapi.db", table)
    done = process.finapi(*(word.format(tmp_path) for word in words), "--data-dir", copied)
    assert done.status == 1
    assert "malformed" in done.err
    assert "Traceback" not in done.err
    if words[0] not in ("check", "backup"):
        assert done.err.count("\n") == 1
        assert "finapi restore FILE" in done.err


def test_a_file_that_is_no_database_is_told_with_what_to_do(copied: Path) -> None:
    (copied / "finapi.db").write_bytes(b"not a database" * 1000)
    said = process.finapi("user", "show", "ann@example.com", "--data-dir", copied)
    assert (said.status, said.complaint.endswith("finapi restore FILE")) == (2, True)


def test_a_database_that_cannot_be_opened_for_want_of_room_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if "journal_mode" in sql:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(sql, *values)

    made = sqlite3.connect
    monkeypatch.setattr("finapi.store.db.connect", lambda *given, **more: made(*given, **more, factory=Full))
    with pytest.raises(UsageError, match="disk is full; it may be whole: finapi doctor looks at the disk") as caught:
        Database(tmp_path / "x.db")
    assert "restore" not in str(caught.value)


def test_a_glance_and_a_read_that_fail_for_another_reason_say_so(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    for read in (db.read, db.read_one):
        with pytest.raises(sqlite3.OperationalError) as caught, read() as tx:
            tx._connection.execute("SELECT * FROM nothing")
        assert not isinstance(caught.value, DatabaseDamagedError)
    assert db.trouble is None
    db.close()


# ---- stderr


@pytest.mark.parametrize("stderr", ["/dev/full", "-"])
@pytest.mark.parametrize(("words", "status"), [(("bogus",), 2), (("user", "show", "ann@example.com"), 2)])
def test_stderr_that_is_full_or_closed_changes_no_exit_status(
    tmp_path: Path, stderr: str, words: tuple[str, ...], status: int
) -> None:
    place = f"2>{'&-' if stderr == '-' else stderr}"
    line = f'"$0" run.py "$@" --data-dir {tmp_path / "none"} {place}'
    done = subprocess.run(["sh", "-c", line, sys.executable, *words], cwd=process.ROOT, env=process.environment())
    assert done.returncode == status


@pytest.mark.slow
def test_a_pipe_that_nobody_reads_to_the_end_ends_quietly() -> None:
    line = '{ "$0" run.py openapi; echo $? >&2; } | head -n 1'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=process.ROOT, env=process.environment(), capture_output=True, text=True
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "1\n")


# ---- signals


@pytest.mark.slow
def test_a_server_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    with process.serve(tmp_path / "data", command=["nohup", *process.COMMAND]) as running:
        running.send(signal.SIGHUP)
        assert running.get("/livez").status == 200
        assert running.stop() == 0


@pytest.mark.slow
def test_a_server_logs_its_start_and_stop_but_not_its_own_probes(tmp_path: Path) -> None:
    with process.serve(tmp_path / "data") as running:
        checked = running.get("/api/v1/status").json["services"]
        assert {one["status"] for one in checked if one["name"] in ("main_api", "frontend")} == {"operational"}
        running.call("GET", "/livez", headers={MARK: "guessed"})
        assert running.stop(signal.SIGHUP) == 0
        lines = running.log.splitlines()
    assert f"listens at {running.url}" in lines[0]
    assert [line.split("path=")[1].split()[0] for line in lines if "path=" in line] == ["/api/v1/status", "/livez"]
    assert "SIGHUP" in lines[-2]
    assert lines[-1].endswith("stopped")


@pytest.fixture
def cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest that is told to stop in the middle."""

    def run(app: App, paths: Any, given: Any, tell: Callable[[Outcome], None], *_: object) -> None:
        tell(Outcome("a.xml", "xbrl-instance", "ingested", accession="0000320193-25-000057"))
        tell(Outcome("b.xml", "unknown", "refused", "is none"))
        raise KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr(ingest, "run", run)


@pytest.mark.usefixtures("cut_off")
@pytest.mark.parametrize("as_json", [False, True])
def test_an_ingest_that_is_cut_off_says_what_is_stored(app: App, as_json: bool) -> None:
    said: list[str] = []
    args = argparse.Namespace(paths=["a.xml"], accession=None, filed=None, only=None, ticker=None, json=as_json)
    with pytest.raises(KeyboardInterrupt):
        ingesting.INGEST.work(app, args, "/", lambda stream, text: said.append(text))  # type: ignore[misc]
    if as_json:
        found = json.loads(said[-1])
        assert (found["cut_off"], found["counts"]["ingested"], len(found["files"])) == (True, 1, 2)
    else:
        assert said[-1] == (
            "cut off: 1 ingested, 0 unchanged, 0 skipped, 1 refused; all of it is stored, the rest is not"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [("TERM", 143), ("HUP", 129), ("INT", 130)])
def test_a_signal_in_the_middle_of_a_command_is_its_exit_status(tmp_path: Path, number: str, status: int) -> None:
    with process.child("ingest", "-", "--data-dir", tmp_path / "data", command=[*HANGING, *process.COMMAND[1:]]) as one:
        assert process.next_line(one) == b"hangs\n"
        one.send_signal(getattr(signal, f"SIG{number}"))
        assert one.wait(10) == status


def test_a_command_that_a_stop_of_the_server_cuts_off_says_what_it_has_done(tmp_path: Path) -> None:
    begun = threading.Event()

    def perform(words: list[str], directory: str, stdin: str, say: datadir.Say) -> int:
        try:
            while True:
                say("out", "a line")
                begun.set()
        except ConnectionAbortedError:
            say("out", "all that is done")
            raise

    said: list[str] = []
    raised: list[BaseException] = []

    def client() -> None:
        try:
            datadir.hand_over(tmp_path, ["ingest"], lambda stream, text: said.append(text))
        except datadir.CommandInterruptedError as error:
            raised.append(error)

    with datadir.CommandSocket(tmp_path, perform):
        thread = threading.Thread(target=client)
        thread.start()
        assert begun.wait(10)
    thread.join(10)
    assert said[-1] == "all that is done"
    assert len(raised) == 1


# ---- a clock that is put back


def test_a_mail_is_due_within_its_schedule_when_the_clock_was_put_back(app: App, clock: FixedClock) -> None:
    user = users.create(app, "ann@example.com", "pro", clock.now())
    with app.db.write() as tx:
        mail.enqueue(tx, recovery.WELCOME, user.id, clock.now())
    clock.advance(-86_400)
    recovery.send_due(app)
    assert len(app.post.transport.messages()) == 1  # type: ignore[attr-defined]


def test_documents_and_lists_are_due_when_the_clock_was_put_back(app: App, clock: FixedClock) -> None:
    with app.db.write() as tx:
        following.add(tx, 320193, clock.now())
        following.note(tx, clock.now(), "0000320193-25-000057", "10-K", [320193])
        now = clock.now() - timedelta(days=30)
        assert [row["accession"] for row in following.due(tx, now, 5)] == ["0000320193-25-000057"]
        assert following.lists_due(tx, now, 5) == [320193]
        # What is put off by a day is not taken for that.
        now = clock.now() - timedelta(hours=20)
        assert (following.due(tx, now, 5), following.lists_due(tx, now, 5)) == ([], [])


# ---- what kills leave


def test_a_start_sweeps_what_kills_left(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    left = [
        *(leave_folder(tmp_path, purpose) for purpose in ("restore", "backup", "upgrade", "ingest", "secrets")),
        leave_folder(tmp_path / "ledger", "ledger"),
        leave_folder(tmp_path / "bulk", "bulk"),
    ]
    stays = [tmp_path / "ledger" / "ledger-2026-01-31-000000000004.csv.gz", tmp_path / ".mine"]
    for file in stays:
        file.write_bytes(b"half")
    with opened(Config(data_dir=tmp_path)):
        assert [folder for folder in left if folder.exists()] == []
        assert all(file.exists() for file in stays)


# ---- few descriptors, little address space


@pytest.mark.parametrize(
    ("files", "threads", "webhooks", "connections", "feeds"),
    [
        (-1, 16, 32, 1000, 2000),
        (5365, 16, 32, 1000, 2000),
        (4096, 16, 32, 1000, 632),
        (1024, 16, 32, 215, 141),
        (64, 2, 2, 4, 2),
        (10, 2, 2, 4, 2),
    ],
)
def test_a_limit_of_descriptors_lowers_what_needs_them(
    files: int, threads: int, webhooks: int, connections: int, feeds: int, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("finapi").propagate = True
    fitted = within(Config(), files)
    assert (fitted.threads, fitted.webhook_threads) == (threads, webhooks)
    assert (fitted.connection_limit, fitted.feed_connections) == (connections, feeds)
    assert len(caplog.records) == (0 if files in (-1, 5365) else 1)


@pytest.mark.slow
def test_a_server_runs_with_64_descriptors_and_300_mb_of_address_space(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'ulimit -n 64; ulimit -v 300000; exec "$0" "$@"', *process.COMMAND]
    with process.serve(tmp_path / "data", command=limited) as running:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(running.connect()) for _ in range(4)]
            for one in clients:
                one.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            assert {one.recv(12) for one in clients} == {b"HTTP/1.1 200"}
        assert running.get("/readyz").status == 200
        assert "64 file descriptors are too few" in running.log
        assert running.stop() == 0


def test_json_nested_without_end_is_refused_on_a_small_stack() -> None:
    code = (
        "import json, threading\n"
        f"threading.stack_size({STACK})\n"
        "def read():\n"
        "    try:\n"
        "        json.loads('[' * 1_000_000)\n"
        "    except RecursionError:\n"
        "        print('refused')\n"
        "thread = threading.Thread(target=read)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n")


def test_edgar_is_asked_less_often_than_it_allows() -> None:
    pace = apps.Pace()
    assert [round(pace.wait(Config().edgar_per_second, 100.0), 3) for _ in range(10)][-1] == 1.0
