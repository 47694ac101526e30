"""Calls a second of one SQLite node, one PostgreSQL node and three, one after another: python -m tests.bench.nodes [S]

Billed calls on connections that stay, of 48 callers, past any proxy; limits are out of the way. Beside each figure
stand the milliseconds of CPU of a call, of finapi and of PostgreSQL, which mean more where the machine is shared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests import postgres_cluster
from tests.nodes import API_NODES, Nodes
from tests.process import Finished, environment, eventually, finapi, serve

PATH = "/api/v1/sec/filings"
CALLERS, THREADS = 48, 16
FREELY = {"FINAPI_APP_PER_MINUTE": "10000000", "FINAPI_APP_PER_HOUR": "10000000", "FINAPI_LOG_LEVEL": "warning"}
TICK = os.sysconf("SC_CLK_TCK")

# Asks until a time, on connections of its own: a process, so that its interpreter is nobody else's.
ASKING = """
import http.client, sys, threading, time
until, path, threads = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])
callers = [word.split("=") for word in sys.argv[4:]]
counts = [0] * threads
def ask(one):
    mine = callers[one::threads]
    lines = [(http.client.HTTPConnection("127.0.0.1", int(port), timeout=30), {"X-API-Key": key}) for port, key in mine]
    while time.time() < until:
        for connection, headers in lines:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            counts[one] += 1
asking = [threading.Thread(target=ask, args=(one,)) for one in range(threads)]
[one.start() for one in asking]
[one.join() for one in asking]
print(sum(counts))
"""


def cpu(pids: list[int]) -> float:
    """Return the CPU seconds of processes and their children."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / TICK


def of_postgres() -> list[int]:
    """Return the processes of PostgreSQL."""
    output = subprocess.run(["pgrep", "-x", "postgres"], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in output.split()]


def asked(name: str, ports: list[int], pids: list[int], keys: list[str], seconds: float) -> None:
    """Measure and print one row."""
    callers = [f"{ports[number % len(ports)]}={key}" for number, key in enumerate(keys)]
    for measured in (False, True):  # warm first
        began, postgres_cpu = cpu(pids), cpu(of_postgres())
        until = time.time() + (seconds if measured else 2)
        command = [sys.executable, "-c", ASKING, str(until), PATH, str(THREADS), *callers]
        calls = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    spent, database = cpu(pids) - began, cpu(of_postgres()) - postgres_cpu
    print(f"{name:24} {calls / seconds:8.0f} {1000 * spent / calls:8.2f} {1000 * database / calls:8.2f}", flush=True)


def users(run: Callable[..., Finished]) -> list[str]:
    """Return keys of new accounts."""
    results = (
        run("user", "add", f"user{result}@example.com", "--plan", "yearly", "--json") for result in range(CALLERS)
    )
    return [result.json["api_key"] for result in results]


def main(seconds: float) -> None:
    """Print the table."""
    print(f"{'':24} {'calls/s':>8} {'ms':>8} {'ms of PG':>8}")
    with tempfile.TemporaryDirectory() as directory, serve(Path(directory) / "data", env=environment(**FREELY)) as node:
        keys = users(lambda *words: finapi(*words, "--data-dir", Path(directory) / "data"))
        asked("one SQLite node", [node.address[1]], [node.pid], keys, seconds)
    with (
        tempfile.TemporaryDirectory() as directory,
        postgres_cluster.running(durable=True) as cluster,
        ExitStack() as stack,
    ):
        nodes = Nodes(Path(directory), cluster.url(), stack, FREELY)
        nodes.start_worker(0)
        eventually(lambda: nodes.get_active_worker() == 0)
        keys = users(nodes.run)
        asked("one PostgreSQL node", [nodes.ports["worker0"]], [nodes.workers[0].pid], keys, seconds)
        nodes.copy_backups()
        for number in range(API_NODES):
            nodes.start_api(number)
        running = [*nodes.api.values()]
        asked(
            "three PostgreSQL nodes",
            [running_node.address[1] for running_node in running],
            [running_node.pid for running_node in running],
            keys,
            seconds,
        )
        import psycopg

        with psycopg.connect(cluster.url()) as connection:
            size, rows, accounts = connection.execute(
                "SELECT pg_total_relation_size('ledger'), (SELECT count(*) FROM ledger), (SELECT count(*) FROM users)"
            ).fetchone()  # type: ignore[misc]
        print(f"{size / rows:.0f} bytes for each of {rows:,} rows of the ledger, of {accounts} accounts")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
