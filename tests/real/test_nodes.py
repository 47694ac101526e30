"""Three API nodes on copies, two workers and nginx: one ledger, one limit per caller, no loss."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from finapi.client import ApiFailure, Client
from tests import postgres_cluster
from tests.nodes import API_NODES, WORKERS, Nodes, nodes_running
from tests.process import call, eventually, get
from tests.receiver import OK, Received, receiver
from tests.support.edgar_server import full_submission

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed"),
]
pytest.importorskip("psycopg")

BILLED, COST = "/api/v1/sec/filings", 5
CHEAP = "/api/v1/sec/forms"  # one token
USERS, CALLS = 50, 1_000
PRO = 500_000
SEED = 20261123

SPENDING = (
    "SELECT count(*), coalesce(sum(-delta), 0) FROM ledger JOIN users ON users.id = user_id "
    "WHERE reason = 'debit' AND email LIKE %s"
)
BALANCE = "SELECT total_limit_api - reach_limit_api FROM userplans JOIN users ON users.id = user_id WHERE email LIKE %s"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    directory = tmp_path_factory.mktemp("nodes")
    quick = {"webhook_allow": "127.0.0.0/8", "webhook_retries": "0.2,0.5,1", "password_profile": "cheap"}
    with nodes_running(directory, free_tokens="50", **quick) as running_nodes:
        yield running_nodes


def run_in_threads(thread_count: int, work: Callable[[int], None]) -> None:
    """Run the same work in this many threads. Raise the first error of a thread."""
    errors: list[BaseException] = []

    def run_and_record_errors(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run_and_record_errors, args=(number,)) for number in range(thread_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_thousand_calls_of_fifty_users_leave_the_ledger_exact(nodes: Nodes) -> None:
    emails = [f"user{number}@example.com" for number in range(USERS)]
    keys = [nodes.user(email) for email in emails]
    answer_counts: Counter[tuple[int, str]] = Counter()

    def send_calls(thread: int) -> None:
        for number in range(thread, CALLS, 8):
            answer = get(nodes.proxy, BILLED, keys[number % USERS])
            answer_counts[answer.status, answer.headers["x-tokens-charged"]] += 1

    run_in_threads(8, send_calls)
    assert answer_counts == {(200, str(COST)): CALLS}
    assert [tuple(map(int, row)) for row in nodes.query_accounts(SPENDING, "user%")] == [(CALLS, CALLS * COST)]
    assert nodes.query_accounts(BALANCE, "user%") == [(PRO - CALLS // USERS * COST,)] * USERS
    # Each caller is served by one node, and every node serves callers.
    homes = [
        {number for number, node in nodes.api.items() if str(uuid) in node.log}
        for (uuid,) in nodes.query_accounts("SELECT uuid FROM users WHERE email LIKE 'user%%'")
    ]
    assert {len(node_numbers) for node_numbers in homes} == {1}
    assert set.union(*homes) == {*range(API_NODES)}
    done = nodes.run("check")
    assert done.status == 0, done


def test_threads_on_three_nodes_spend_the_last_tokens_once(nodes: Nodes) -> None:
    key = nodes.user("last@example.com", "free")
    status_counts: Counter[int] = Counter()

    def send_calls(thread: int) -> None:
        # Without the proxy, so that one caller reaches every node, as often as each node's limit allows.
        for turn in range(18):
            status_counts[get(nodes.api[(thread + turn) % API_NODES].address, CHEAP, key).status] += 1

    run_in_threads(8, send_calls)
    assert status_counts == {200: 50, 402: 8 * 18 - 50}
    assert nodes.query_accounts(BALANCE, "last@example.com") == [(0,)]


def test_a_caller_has_the_limit_of_one_node(nodes: Nodes) -> None:
    key = nodes.user("limit@example.com")
    status_counts: Counter[int] = Counter()

    def send_calls(thread: int) -> None:
        for _ in range(20):
            status_counts[get(nodes.proxy, "/api/v1/account/balance", key).status] += 1

    started = time.monotonic()
    run_in_threads(4, send_calls)
    # A burst of 60, and the tokens that the bucket regains meanwhile.
    assert 60 <= status_counts[200] <= 61 + (time.monotonic() - started)
    assert status_counts[200] + status_counts[429] == 80


def test_a_locked_email_is_locked_on_every_node(nodes: Nodes) -> None:
    nodes.user("locked@example.com")
    body = {"email": "locked@example.com", "password": "a wrong one"}
    statuses = [
        call(nodes.api[turn % API_NODES].address, "POST", "/api/v1/auth/login", body).status for turn in range(8)
    ]
    assert statuses == [401, 401, 401, 401, 429, 429, 429, 429]
    assert call(nodes.proxy, "POST", "/api/v1/auth/login", body).status == 429


def test_only_the_worker_writes_market_data(nodes: Nodes) -> None:
    submission_path = nodes.directory / "submission.txt"
    submission_path.write_bytes(full_submission("0000320193-26-000900"))
    done = nodes.run("ingest", submission_path, data_dir=nodes.get_data_dir(0))
    assert (done.status, done.complaint) == (
        1,
        "This node uses a copy of the market data, which only the worker writes.",
    )
    # The worker's pages are behind the same address.
    assert get(nodes.proxy, "/admin").status in (303, 401, 404)
    assert nodes.run("ingest", submission_path).status == 0


# ---- kills


class Load:
    """Calls, filings and a feed reader that run while nodes are killed, with everything that was acknowledged."""

    def __init__(self, nodes: Nodes, url: str, kills: int) -> None:
        self.nodes, self.url, self.kills = nodes, url, kills
        self.stop = threading.Event()
        self.paid: list[str] = []
        self.promised: list[str] = []
        self.ingested = 0
        self.events: list[tuple[int, str]] = []
        self.keys = [nodes.user(f"load{number}-{kills}@example.com") for number in range(12)]
        self.listener = nodes.user(f"listener{kills}@example.com")

    def send_calls(self) -> None:
        """Send billed calls and test events, each from another caller."""
        number = 0
        while not self.stop.is_set():
            number += 1
            key = self.keys[number % len(self.keys)]
            with suppress(OSError, http.client.HTTPException):
                answer = get(self.nodes.proxy, CHEAP, key, seconds=15)
                if answer.status == 200:
                    self.paid.append(answer.headers["x-request-id"])
            if number % 4 == 0:
                with suppress(OSError, http.client.HTTPException):
                    test_event = call(
                        self.nodes.proxy,
                        "POST",
                        "/api/v1/webhooks/test",
                        {"url": self.url},
                        {"X-API-Key": key},
                        seconds=15,
                    )
                    if test_event.status == 200:
                        self.promised.append(test_event.json["delivery_id"])
            self.stop.wait(0.05)

    def ingest_filings(self) -> None:
        """Ingest filings with the active worker."""
        while not self.stop.is_set():
            number = self.ingested + 1
            submission_path = self.nodes.directory / f"filing{number}.txt"
            submission_path.write_bytes(full_submission(f"0000320193-{self.kills:02}-{number:06}"))
            if self.nodes.run("ingest", submission_path).status == 0:
                self.ingested = number
            self.stop.wait(0.2)

    def read_feed(self) -> None:
        """Read the events with finapi's own client, which reconnects until the nodes are stopped.

        If it gives up earlier, events are missing.
        """
        client = Client("http://{}:{}".format(*self.nodes.proxy), api_key=self.listener)
        with suppress(ApiFailure):
            for event in client.feed("main-api", since=0):
                self.events.append((event["seq"], event["type"]))


class Deliveries:
    """A receiver that counts deliveries and detects overlapping ones."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.times: Counter[str] = Counter()
        self.in_progress: Counter[str] = Counter()
        self.overlapping: list[str] = []

    def behave(self, connection: socket.socket, received: Received, over: threading.Event) -> None:
        """Accept a delivery slowly enough to detect another one of the same."""
        name = json.loads(received.body)["delivery_id"]
        with self.lock:
            self.times[name] += 1
            self.in_progress[name] += 1
            if self.in_progress[name] > 1:
                self.overlapping.append(name)
        over.wait(0.02)
        with suppress(OSError):
            connection.sendall(OK)
        with self.lock:
            self.in_progress[name] -= 1


def kill_and_restart_node(nodes: Nodes, random_numbers: random.Random) -> str:
    """Kill a random node and start it again. Return its name."""
    victim = random_numbers.randrange(API_NODES + WORKERS)
    if victim < API_NODES:
        node = nodes.api[victim]
        os.kill(node.pid, signal.SIGKILL)
        node.process.wait()
        time.sleep(random_numbers.uniform(0, 0.5))
        nodes.start_api(victim)
        return f"api{victim}"
    # Mostly the active worker.
    number = nodes.get_active_worker()
    number = victim - API_NODES if number is None or random_numbers.random() < 0.2 else number
    nodes.workers[number].kill()
    nodes.workers[number].wait()
    nodes.start_worker(number)
    eventually(lambda: nodes.get_active_worker() is not None)
    return f"worker{number}"


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
def test_kills_of_random_nodes_under_load_lose_nothing(nodes: Nodes, kills: int) -> None:
    random_numbers = random.Random(SEED + kills)
    memory = Deliveries()
    killed_nodes: list[str] = []
    with receiver(memory.behave) as webhook_receiver:
        load = Load(nodes, webhook_receiver.url, kills)
        threads = [threading.Thread(target=work) for work in (load.send_calls, load.send_calls, load.ingest_filings)]
        feed = threading.Thread(target=load.read_feed, daemon=True)
        for thread in (*threads, feed):
            thread.start()
        for _ in range(kills):
            time.sleep(random_numbers.uniform(0.5, 1.5))
            killed_nodes.append(kill_and_restart_node(nodes, random_numbers))
        time.sleep(1)
        load.stop.set()
        for thread in threads:
            thread.join(60)
        assert min(len(load.paid), len(load.promised), load.ingested) > 0, killed_nodes
        # Every accepted delivery has arrived when the last interrupted attempt has been repeated.
        eventually(lambda: set(load.promised) <= set(memory.times), 60)
    # A call that was answered is in the ledger, and was not refunded.
    debits = {row[0] for row in nodes.query_accounts("SELECT request_id FROM ledger WHERE reason = 'debit'")}
    refunds = {row[0] for row in nodes.query_accounts("SELECT request_id FROM ledger WHERE reason LIKE 'refund%%'")}
    assert set(load.paid) <= debits - refunds
    # No two workers sent one delivery at the same time; only kills cause repeated deliveries.
    assert memory.overlapping == []
    assert sum(times - 1 for times in memory.times.values()) <= 32 * sum(
        node_name.startswith("worker") for node_name in killed_nodes
    )
    # The events of every ingested filing arrived in order, without a gap, each once.
    last = nodes.query_accounts("SELECT last_seq FROM feeds WHERE name = 'main-api'")[0][0]
    eventually(lambda: load.events and load.events[-1][0] == last, 60)
    assert [seq for seq, _ in load.events] == [*range(1, last + 1)]
    assert "gap" not in {type for _, type in load.events}
    carried = nodes.query_accounts("SELECT count(*) FROM events WHERE feed = 'main-api' AND type = 'new_filing'")[0][0]
    assert carried >= load.ingested
    # Some interrupted calls are still open; everything else adds up.
    done = nodes.run("check")
    assert done.status == 0, done
