"""kill -9 at any moment: finished work stays, unfinished work is gone, and no user pays for it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from finapi.core.config import Config
from finapi.edgar.form_families import XBRL
from finapi.market.documents import packs
from finapi.ops.app_opening import open_app
from tests import process
from tests.process import CIK, Running, accession, filing, finapi, write

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SEED = 20260131
KILLS = int(os.environ.get("KILLS", "25"))  # KILLS=100 by hand
FILINGS = 150
FILES = 5  # Documents of a filing.
EXTRA = 40  # facts of a filing in addition to its nine
COST = 25

# Rows of every stored filing of filing(extra=EXTRA), table by table.
PARTS = {
    "fact_sets": ("report_id", 1),
    "facts": ("fact_set_id", 9 + EXTRA),
    "sections": ("report_id", 1),
    "lines": ("section_id", 4),
    "section_columns": ("section_id", 1),
    "sums": ("section_id", 2),
}

# Runs the command given after its own arguments, but dies right before the n-th time that it opens, creates,
# renames or removes a file in the directory, or writes to a file that it has just created there.
DIE = """
import os, runpy, signal, sys
n, directory = int(sys.argv[1]), sys.argv[2]
seen = 0
def hook(event, args):
    global seen
    if event not in ("open", "os.mkdir", "os.chmod", "os.remove", "os.rename", "os.link", "sqlite3.connect"):
        return
    touched = [os.fspath(a) for a in args[:2] if isinstance(a, (str, bytes, os.PathLike))]
    touched += [os.readlink(f"/proc/self/fd/{a}") for a in args[:1] if isinstance(a, int) and event == "open"]
    if any(directory in str(path) for path in touched):
        seen += 1
        if seen == n:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
sys.argv = sys.argv[3:]
runpy.run_path("run.py", run_name="__main__")
"""


def query(data_dir: Path, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(data_dir / "finapi.db")) as db:
        return db.execute(sql).fetchall()


def check_accounts(data_dir: Path) -> None:
    """Assert that every balance is the sum of its ledger and no debit is open."""
    assert query(data_dir, "SELECT * FROM ledger WHERE open = 1") == []
    wrong = query(
        data_dir,
        "SELECT user_id, total_limit_api - reach_limit_api AS balance, "
        "(SELECT sum(delta) FROM ledger WHERE ledger.user_id = userplans.user_id) AS sum "
        "FROM userplans WHERE balance IS NOT sum",
    )
    assert wrong == []


def check_filings(data_dir: Path) -> set[str]:
    """Assert that every stored filing is complete. Return their accession numbers."""
    stored = dict(query(data_dir, "SELECT reports.id, accession FROM reports JOIN filings ON filings.id = filing_id"))
    assert len(set(stored.values())) == len(stored)
    assert query(data_dir, "SELECT count(*) FROM filings") == [(len(stored),)]
    assert query(data_dir, "SELECT version FROM data_version") == [(len(stored),)]
    owners = {
        "report_id": stored,
        "section_id": dict(query(data_dir, "SELECT id, report_id FROM sections")),
        "fact_set_id": dict(query(data_dir, "SELECT id, report_id FROM fact_sets")),
    }
    for table, (owner, number) in PARTS.items():
        counts = dict(query(data_dir, f"SELECT {owner}, count(*) FROM {table} GROUP BY {owner}"))
        assert counts == dict.fromkeys(owners[owner], number), table
    return set(stored.values())


def start_again(data_dir: Path) -> None:
    """Open the application as the next start does, and assert that it has put everything in order."""
    with open_app(Config(data_dir=data_dir)) as app:
        assert app.db.list_integrity_errors() == []
    check_accounts(data_dir)


def dump_filings(data_dir: Path) -> bytes:
    """Return everything that is stored of filings as bytes that can be compared."""
    with open_app(Config(data_dir=data_dir)) as app, app.db.read() as tx:
        return packs.dump(tx, XBRL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with many small filings."""
    directory = tmp_path_factory.mktemp("filings")
    for number in range(1, FILINGS + 1):
        documents = filing(cik=CIK - number % 7, year=1900 + number, revenue=number * 1000, extra=EXTRA)
        write(directory / accession(number), documents)
    return directory


@pytest.fixture(scope="module")
def complete_ingest(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, float]:
    """Return the dump after an uninterrupted ingest, and the seconds that it takes."""
    data_dir = tmp_path_factory.mktemp("complete") / "data"
    started = time.monotonic()
    done = finapi("ingest", folder, "--data-dir", data_dir)
    duration_seconds = time.monotonic() - started
    assert done.status == 0
    assert check_filings(data_dir) == {accession(number) for number in range(1, FILINGS + 1)}
    return dump_filings(data_dir), duration_seconds


def run_killed_ingest(folder: Path, data_dir: Path, file_count: int, delay: float) -> tuple[int, set[str]]:
    """Ingest until ``delay`` seconds after ``file_count`` files were reported. Return the status and the filings."""
    with process.child("ingest", folder, "--data-dir", data_dir) as running:
        lines = [process.next_line(running) for _ in range(file_count)]
        timer = threading.Timer(delay, running.kill)
        timer.start()
        out, err = running.communicate()
        timer.cancel()
        timer.join()
    assert err == b""
    text = (b"".join(lines) + out).decode()
    reported = re.findall(r"^(?:ingested|unchanged) .* \(xbrl-instance\) (\S+)", text, re.MULTILINE)
    return running.returncode, {number.rstrip(":") for number in reported}


def test_an_ingest_killed_at_any_moment_stores_complete_filings(
    folder: Path, complete_ingest: tuple[bytes, float], tmp_path: Path
) -> None:
    expected, duration_seconds = complete_ingest
    random_numbers = random.Random(SEED)
    kills, life, cut_off, stored_count = 0, 0, 0, 0
    data_dir = tmp_path / "0"
    while kills < KILLS:
        # A killed ingest continues where it stopped. Every second kill comes at any time, from before the directory
        # exists to the last filing. The others come while filings are stored, however long the process takes to start.
        filings_left = FILINGS - stored_count
        if kills % 2 and filings_left:
            file_count = FILES * stored_count + random_numbers.randint(1, (FILES - 1) * filings_left)
            delay = random_numbers.uniform(0.0, duration_seconds / FILINGS)
        else:
            file_count, delay = 0, random_numbers.uniform(0.05, duration_seconds)
        moment = f"seed {SEED}, life {life}, kill {kills} {delay:.4f} s after {file_count} files"
        status, reported = run_killed_ingest(folder, data_dir, file_count, delay)
        start_again(data_dir)
        stored = check_filings(data_dir)
        stored_count = len(stored)
        assert reported <= stored, moment
        if status == -signal.SIGKILL:
            kills += 1
            cut_off += len(stored) < FILINGS
        else:
            assert (status, len(stored)) == (0, FILINGS), moment
            assert dump_filings(data_dir) == expected, moment
            life += 1
            stored_count = 0
            data_dir = tmp_path / str(life)
    assert cut_off >= KILLS // 4, f"the kills came too late to show anything: {cut_off}"
    again = finapi("ingest", folder, "--json", "--data-dir", data_dir)
    assert again.status == 0
    assert again.json["counts"]["ingested"] + again.json["counts"]["unchanged"] == FILES * FILINGS
    assert dump_filings(data_dir) == expected


class Load:
    """Four clients of two accounts that call until the server is gone, and the answers they got."""

    def __init__(self, running: Running, keys: list[str], seed: int) -> None:
        self.answers: list[tuple[int, str, int]] = []  # status, request id, tokens charged
        self._running = running
        self._threads = [
            threading.Thread(target=self._call, args=(keys[number % 2], random.Random(seed + number)))
            for number in range(4)
        ]

    def kill_after(self, seconds: float) -> None:
        """Call for this many seconds; then kill the server."""
        killer = threading.Timer(seconds, self._running.process.kill)
        for thread in [killer, *self._threads]:
            thread.start()
        for thread in [killer, *self._threads]:
            thread.join()

    def _call(self, key: str, random_numbers: random.Random) -> None:
        paths = [f"{CIK - number}/statements" for number in range(7)]
        paths += ["NOBODY/statements", f"{CIK}/statements?period=X"]
        connection = http.client.HTTPConnection(*self._running.address, timeout=process.SECONDS)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                path = f"/api/v1/xbrl/companies/{random_numbers.choice(paths)}"
                connection.request("GET", path, headers={"X-API-Key": key})
                answer = connection.getresponse()
                body = json.loads(answer.read())
                charged = int(answer.headers["X-Tokens-Charged"])
                self.answers.append((answer.status, body["request_id"], charged))


Ledger = dict[str, Counter[str]]


def count_ledger_rows(data_dir: Path) -> Ledger:
    """Return the number of ledger rows by call and reason."""
    reason_counts: Ledger = {}
    for request_id, reason in query(data_dir, "SELECT request_id, reason FROM ledger WHERE endpoint IS NOT NULL"):
        reason_counts.setdefault(request_id, Counter())[reason] += 1
    return reason_counts


def read_state_at_death(data_dir: Path, copy: Path) -> tuple[set[str], Ledger]:
    """Return the calls that were open when the process died, and its ledger; read from a copy."""
    shutil.copytree(data_dir, copy, ignore=lambda *_: ["control.sock"])
    opened = {row[0] for row in query(copy, "SELECT request_id FROM ledger WHERE open = 1")}
    before = count_ledger_rows(copy)
    shutil.rmtree(copy)
    return opened, before


def check_bills(answers: list[tuple[int, str, int]], opened: set[str], before: Ledger, now: Ledger) -> None:
    """Assert that the ledger agrees with the answers, and that exactly the open calls were refunded."""
    for call, rows in now.items():
        expected = before[call] + Counter(["crash_refund"] if call in opened else [])
        assert rows == expected, call
        assert rows["debit"] == 1, call
        assert rows["4xx_refund"] + rows["5xx_refund"] + rows["crash_refund"] <= 1, call
    assert set(now) == set(before)
    for status, call, charged in answers:
        ledger_reasons = dict(now.get(call, {}))
        if status == 200:
            assert charged == COST
            # An answer does not wait until the end of its call is written, so an answered call may be refunded.
            assert ledger_reasons == ({"debit": 1, "crash_refund": 1} if call in opened else {"debit": 1})
        elif status == 402:
            assert (charged, ledger_reasons) == (0, {})
        else:
            # Both errors are known before the work, so the call is not charged.
            assert (status, charged, ledger_reasons) in [(400, 0, {}), (404, 0, {})]


def test_calls_killed_at_any_moment_are_charged_once_or_refunded(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    accessions = write_batch(tmp_path / "first", 1, 14)
    assert finapi("ingest", tmp_path / "first", "--data-dir", data_dir).status == 0
    keys = [
        finapi("user", "add", email, "--plan", plan, "--json", "--data-dir", data_dir).json["api_key"]
        for email, plan in [("rich@example.com", "yearly"), ("poor@example.com", "free")]
    ]
    random_numbers = random.Random(SEED)
    status_counts: Counter[int] = Counter()
    refund_count = 0
    for kill in range(KILLS):
        delay = random_numbers.uniform(0.02, 0.8)
        print(f"seed {SEED}, kill {kill} after {delay:.4f} s")  # shown when something fails
        with (
            process.serve(data_dir, "--xbrl-burst", 10**6, "--log-level", "warning") as running,
            contextlib.ExitStack() as stack,
        ):
            if kill % 2:  # an ingest is running, too
                accessions |= write_batch(tmp_path / str(kill), 1000 * kill, 40)
                ingest_output = stack.enter_context((tmp_path / "said").open("w+b"))
                words = ("ingest", tmp_path / str(kill), "--data-dir", data_dir)
                client = stack.enter_context(process.child(*words, stdout=ingest_output, stderr=ingest_output))
                process.eventually((tmp_path / "said").read_bytes)
            load = Load(running, keys, SEED + 10 * kill)
            load.kill_after(delay)
            assert running.wait() == -signal.SIGKILL
            assert "Traceback" not in running.log
            if kill % 2:
                client.wait(process.SECONDS)
                ingest_output.seek(0)
                assert b"Traceback" not in ingest_output.read()
        opened, before = read_state_at_death(data_dir, tmp_path / "copy")
        start_again(data_dir)
        check_bills(load.answers, opened, before, count_ledger_rows(data_dir))
        assert check_filings(data_dir) <= accessions
        status_counts.update(status for status, _, _ in load.answers)
        refund_count += len(opened)
    assert min(status_counts[200], status_counts[400], status_counts[402], status_counts[404], refund_count) > 0, (
        status_counts,
        refund_count,
    )
    for directory in tmp_path.iterdir():
        if directory.name.isdigit():
            assert finapi("ingest", directory, "--data-dir", data_dir).status == 0
    start_again(data_dir)
    assert check_filings(data_dir) == accessions


def write_batch(directory: Path, first: int, number: int) -> set[str]:
    """Write filings of seven companies. Return their accession numbers."""
    accessions = set()
    for index in range(first, first + number):
        documents = filing(cik=CIK - index % 7, revenue=index, extra=EXTRA)
        write(directory / accession(index), documents)
        accessions.add(accession(index))
    return accessions


# ---- The first start, step by step


FIRST_STARTS = {"ingest": ("ingest", "{folder}"), "serve": ("serve", "--port", "0")}


@pytest.mark.parametrize("verb", FIRST_STARTS)
def test_a_first_start_killed_at_any_step_can_be_repeated(verb: str, tmp_path: Path) -> None:
    write(tmp_path / "in" / accession(1), filing(extra=EXTRA))
    words = [word.format(folder=tmp_path / "in") for word in FIRST_STARTS[verb]]
    for step in range(1, 100):
        data_dir = tmp_path / f"data{step}"
        command = [sys.executable, "-c", DIE, str(step), str(data_dir), "run.py"]
        with process.child(*words, "--data-dir", data_dir, command=command) as dying:
            process.next_line(dying)
            dying.terminate()
            dying.communicate(timeout=process.SECONDS)
        if dying.returncode != -signal.SIGKILL:
            break
        after = finapi("ingest", tmp_path / "in", "--json", "--data-dir", data_dir)
        assert (after.status, after.err) == (0, ""), f"killed before step {step}"
        user_add = finapi("user", "add", "bob@example.com", "--data-dir", data_dir)
        assert (user_add.status, user_add.err) == (0, ""), f"killed before step {step}"
        start_again(data_dir)
        assert check_filings(data_dir) == {accession(1)}
    assert step > 5
