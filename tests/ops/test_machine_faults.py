"""Tests of machine faults and their effect: damaged pages, few descriptors, a clock set back, kills."""

from __future__ import annotations

import argparse
import contextlib
import json
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
from finapi.core import stopping
from finapi.core.clock import FixedClock, SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.health import PROBE_HEADER
from finapi.core.limits import Pacer
from finapi.listening import fit_to_file_limit
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import fetch_queue, ingest
from finapi.net import mail
from finapi.ops.app_opening import open_app
from finapi.server import STACK_BYTES
from finapi.store import datadir
from finapi.store.db import Database, DatabaseDamagedError
from finapi.verbs import ingest_verbs
from tests import process
from tests.client import Client
from tests.leftovers import leave_folder
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

PAGE = 4096

# Runs the following command with an ingest that never ends.
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


def damage_table(path: Path, table: str) -> None:
    """Overwrite the root page of a table."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)


@pytest.fixture(scope="module")
def sound_data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a data directory with filings and an account, and the account's key."""
    data_dir = tmp_path_factory.mktemp("sound") / "data"
    with open_app(Config(data_dir=data_dir, password_profile="cheap"), SystemClock()) as app:
        ingest.run(app, [process.ROOT / "tests" / "filings"], IngestOptions(), lambda outcome: None)
        return data_dir, users.create(app, "ann@example.com", "pro", app.clock.now()).api_key


@pytest.fixture
def copied_dir(sound_data: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound_data[0], tmp_path / "data"))


def test_a_damaged_page_is_503_and_costs_nothing(
    sound_data: tuple[Path, str], copied_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damage_table(copied_dir / "finapi.db", "filings")
    app = apps.open_on_disk(Config(data_dir=copied_dir))
    client = Client(app, sound_data[1])
    balance = client.get("/api/v1/account/balance").json["current_balance"]
    answers = [client.get("/api/v1/xbrl/companies/1065280/statements?period=Q") for _ in range(3)]
    assert {(answer.status, answer.json["code"], answer.headers["retry-after"]) for answer in answers} == {
        (503, "UNAVAILABLE", "30")
    }
    assert {answer.headers["x-tokens-charged"] for answer in answers} == {"0"}
    assert client.get("/api/v1/account/balance").json["current_balance"] == balance
    # A write does not repair the page.
    assert client.get("/readyz").status == 503
    lines = [record.getMessage() for record in caplog.records if record.name == "finapi.store"]
    assert len(lines) == 1
    assert "finapi restore FILE" in lines[0]
    app.db.close()


@run_each_case(
    "arguments, table",
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
def test_every_verb_reports_damaged_pages_in_a_line(
    copied_dir: Path, tmp_path: Path, arguments: tuple[str, ...], table: str
) -> None:
    damage_table(copied_dir / "finapi.db", table)
    finished = process.finapi(*(word.format(tmp_path) for word in arguments), "--data-dir", copied_dir)
    assert finished.status == 1
    assert "malformed" in finished.err
    assert "Traceback" not in finished.err
    if arguments[0] not in ("check", "backup"):
        assert finished.err.count("\n") == 1
        assert "finapi restore FILE" in finished.err


def test_a_file_that_is_not_a_database_is_reported(copied_dir: Path) -> None:
    (copied_dir / "finapi.db").write_bytes(b"not a database" * 1000)
    finished = process.finapi("user", "show", "ann@example.com", "--data-dir", copied_dir)
    assert (finished.status, finished.complaint.endswith("finapi restore FILE")) == (2, True)


def test_a_full_disk_is_not_called_a_damaged_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if "journal_mode" in sql:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return super().execute(sql, *values)

    sqlite_connect = sqlite3.connect
    monkeypatch.setattr(
        "finapi.store.db.connect", lambda *arguments, **options: sqlite_connect(*arguments, **options, factory=Full)
    )
    with pytest.raises(UsageError, match="disk is full; it may be intact: finapi doctor checks the disk") as caught:
        Database(tmp_path / "x.db")
    assert "restore" not in str(caught.value)


def test_a_failed_read_is_not_called_damage(tmp_path: Path) -> None:
    db = Database(tmp_path / "x.db")
    for read_method in (db.read, db.read_one):
        with pytest.raises(sqlite3.OperationalError) as caught, read_method() as tx:
            run_sql(tx, "SELECT * FROM nothing")
        assert not isinstance(caught.value, DatabaseDamagedError)
    assert db.trouble is None
    db.close()


# ---- stderr


@run_each_case("stderr", ["/dev/full", "-"])
@run_each_case("arguments, status", [(("bogus",), 2), (("user", "show", "ann@example.com"), 2)])
def test_stderr_that_is_full_or_closed_changes_no_exit_status(
    tmp_path: Path, stderr: str, arguments: tuple[str, ...], status: int
) -> None:
    redirection = f"2>{'&-' if stderr == '-' else stderr}"
    line = f'"$0" run.py "$@" --data-dir {tmp_path / "none"} {redirection}'
    finished = subprocess.run(
        ["sh", "-c", line, sys.executable, *arguments], cwd=process.ROOT, env=process.environment()
    )
    assert finished.returncode == status


@pytest.mark.slow
def test_a_closed_pipe_ends_a_command_quietly() -> None:
    line = '{ "$0" run.py openapi; echo $? >&2; } | head -n 1'
    finished = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=process.ROOT, env=process.environment(), capture_output=True, text=True
    )
    assert (finished.stdout.count("\n"), finished.stderr) == (1, "1\n")


# ---- signals


@pytest.mark.slow
def test_a_server_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    with process.serve(tmp_path / "data", command=["nohup", *process.COMMAND]) as running:
        running.send(signal.SIGHUP)
        assert running.get("/livez").status == 200
        assert running.stop() == 0


@pytest.mark.slow
def test_a_server_does_not_log_its_own_probes(tmp_path: Path) -> None:
    with process.serve(tmp_path / "data") as running:
        services = running.get("/api/v1/status").json["services"]
        assert {service["status"] for service in services if service["name"] in ("main_api", "frontend")} == {
            "operational"
        }
        running.call("GET", "/livez", headers={PROBE_HEADER: "guessed"})
        assert running.stop(signal.SIGHUP) == 0
        lines = running.log.splitlines()
    assert f"listens at {running.url}" in lines[0]
    assert [line.split("path=")[1].split()[0] for line in lines if "path=" in line] == ["/api/v1/status", "/livez"]
    assert "SIGHUP" in lines[-2]
    assert lines[-1].endswith("stopped")


@pytest.fixture
def interrupted_ingest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt every ingest in the middle."""

    def run(app: App, paths: Any, metadata: Any, report: Callable[[Outcome], None], *_: object) -> None:
        report(Outcome("a.xml", "xbrl-instance", "ingested", accession="0000320193-25-000057"))
        report(Outcome("b.xml", "unknown", "refused", "is none"))
        raise KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr(ingest, "run", run)


@pytest.mark.usefixtures("interrupted_ingest")
@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_ingest_reports_what_is_stored(app: App, as_json: bool) -> None:
    output: list[str] = []
    arguments = argparse.Namespace(paths=["a.xml"], accession=None, filed=None, only=None, ticker=None, json=as_json)
    with pytest.raises(KeyboardInterrupt):
        ingest_verbs.INGEST.work(app, arguments, "/", lambda stream, text: output.append(text))  # type: ignore[misc]
    if as_json:
        document = json.loads(output[-1])
        assert (document["cut_off"], document["counts"]["ingested"], len(document["files"])) == (True, 1, 2)
    else:
        assert output[-1] == (
            "cut off: 1 ingested, 0 unchanged, 0 skipped, 1 refused; all of it is stored, the rest is not"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [("TERM", 143), ("HUP", 129), ("INT", 130)])
def test_a_signal_sets_the_exit_status_of_a_command(tmp_path: Path, number: str, status: int) -> None:
    with process.child(
        "ingest", "-", "--data-dir", tmp_path / "data", command=[*HANGING, *process.COMMAND[1:]]
    ) as child:
        assert process.next_line(child) == b"hangs\n"
        child.send_signal(getattr(signal, f"SIG{number}"))
        assert child.wait(10) == status


def test_a_command_stopped_by_the_server_reports_its_work(tmp_path: Path) -> None:
    has_begun = threading.Event()

    def perform(command: datadir.Command, say: datadir.Say) -> int:
        try:
            while True:
                say("out", "a line")
                has_begun.set()
        except stopping.WorkStopped:
            say("out", "all that is done")
            raise

    output: list[str] = []
    errors: list[BaseException] = []

    def client() -> None:
        try:
            datadir.hand_over(tmp_path, ["ingest"], lambda stream, text: output.append(text))
        except datadir.CommandInterruptedError as error:
            errors.append(error)

    with datadir.CommandSocket(tmp_path, perform):
        thread = threading.Thread(target=client)
        thread.start()
        assert has_begun.wait(10)
    thread.join(10)
    assert output[-1] == "all that is done"
    assert len(errors) == 1


# ---- a clock that is set back


def test_a_mail_is_due_after_the_clock_was_set_back(app: App, clock: FixedClock) -> None:
    user = users.create(app, "ann@example.com", "pro", clock.now())
    with app.db.write() as tx:
        mail.enqueue(tx, recovery.WELCOME, user.id, clock.now())
    clock.advance(-86_400)
    recovery.run_mail_step(app)
    assert len(app.mail_settings.transport.messages()) == 1  # type: ignore[attr-defined]


def test_documents_are_due_after_the_clock_was_set_back(app: App, clock: FixedClock) -> None:
    with app.db.write() as tx:
        fetch_queue.follow_company(tx, 320193, clock.now())
        fetch_queue.queue_filing(tx, clock.now(), "0000320193-25-000057", "10-K", [320193])
        now = clock.now() - timedelta(days=30)
        assert [row["accession"] for row in fetch_queue.list_due_documents(tx, now, 5)] == ["0000320193-25-000057"]
        assert fetch_queue.list_due_companies(tx, now, 5) == [320193]
        # A retry that is due in a day is not due because of it.
        now = clock.now() - timedelta(hours=20)
        assert (fetch_queue.list_due_documents(tx, now, 5), fetch_queue.list_due_companies(tx, now, 5)) == ([], [])


# ---- files of killed processes


def test_a_start_removes_files_of_killed_processes(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    leftovers = [
        *(leave_folder(tmp_path, purpose) for purpose in ("restore", "backup", "upgrade", "ingest", "secrets")),
        leave_folder(tmp_path / "ledger", "ledger"),
        leave_folder(tmp_path / "bulk", "bulk"),
    ]
    other_files = [tmp_path / "ledger" / "ledger-2026-01-31-000000000004.csv.gz", tmp_path / ".mine"]
    for file in other_files:
        file.write_bytes(b"half")
    with open_app(Config(data_dir=tmp_path)):
        assert [folder for folder in leftovers if folder.exists()] == []
        assert all(file.exists() for file in other_files)


# ---- few descriptors, little address space


@pytest.mark.parametrize(
    ("files", "threads", "webhooks", "connections", "feeds"),
    [
        (-1, 16, 32, 1000, 2000),
        (5373, 16, 32, 1000, 2000),
        (4096, 16, 32, 1000, 632),
        (1024, 16, 32, 212, 141),
        (64, 2, 2, 4, 2),
        (60, 2, 2, 4, 2),
    ],
)
def test_few_descriptors_lower_the_limits(
    files: int, threads: int, webhooks: int, connections: int, feeds: int, caplog: pytest.LogCaptureFixture
) -> None:
    fitted = fit_to_file_limit(Config(), files)
    assert (fitted.threads, fitted.webhook_threads) == (threads, webhooks)
    assert (fitted.connection_limit, fitted.feed_connections) == (connections, feeds)
    assert len(caplog.records) == (0 if files in (-1, 5373) else 1)


def test_too_few_descriptors_for_any_server_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^only 59 file descriptors are allowed, and a server needs at least 60"):
        fit_to_file_limit(Config(), 59)


@pytest.mark.slow
def test_a_server_runs_with_64_descriptors_and_300_mb(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'ulimit -n 64; ulimit -v 300000; exec "$0" "$@"', *process.COMMAND]
    with process.serve(tmp_path / "data", command=limited) as running:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(running.connect()) for _ in range(4)]
            for client in clients:
                client.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            assert {client.recv(12) for client in clients} == {b"HTTP/1.1 200"}
        assert running.get("/readyz").status == 200
        assert "64 file descriptors are too few" in running.log
        assert running.stop() == 0


def test_deeply_nested_json_is_refused_on_a_small_stack() -> None:
    code = (
        "import json, threading\n"
        f"threading.stack_size({STACK_BYTES})\n"
        "def read():\n"
        "    try:\n"
        "        json.loads('[' * 1_000_000)\n"
        "    except RecursionError:\n"
        "        print('refused')\n"
        "thread = threading.Thread(target=read)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (0, "refused\n")


def test_requests_to_edgar_are_paced_below_its_limit() -> None:
    pacer = Pacer()
    assert [round(pacer.reserve(Config().edgar_per_second, 100.0), 3) for _ in range(10)][-1] == 1.0
