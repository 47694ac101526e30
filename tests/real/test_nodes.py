"""Three nodes on copies, a worker and one that waits, behind nginx: one ledger, one limit a caller, nothing lost."""

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

SPENT = (
    "SELECT count(*), coalesce(sum(-delta), 0) FROM ledger JOIN users ON users.id = user_id "
    "WHERE reason = 'debit' AND email LIKE %s"
)
LEFT = "SELECT total_limit_api - reach_limit_api FROM userplans JOIN users ON users.id = user_id WHERE email LIKE %s"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    directory = tmp_path_factory.mktemp("nodes")
    quick = {"webhook_allow": "127.0.0.0/8", "webhook_retries": "0.2,0.5,1", "password_profile": "cheap"}
    with nodes_running(directory, free_tokens="50", **quick) as one:
        yield one


def in_threads(number: int, work: Callable[[int], None]) -> None:
    """Do the same in so many threads; what one raises is raised."""
    wrong: list[BaseException] = []

    def guarded(one: int) -> None:
        try:
            work(one)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def test_a_thousand_calls_of_fifty_users_leave_the_ledger_exact(nodes: Nodes) -> None:
    emails = [f"user{number}@example.com" for number in range(USERS)]
    keys = [nodes.user(email) for email in emails]
    answered: Counter[tuple[int, str]] = Counter()

    def ask(thread: int) -> None:
        for number in range(thread, CALLS, 8):
            answer = get(nodes.proxy, BILLED, keys[number % USERS])
            answered[answer.status, answer.headers["x-tokens-charged"]] += 1

    in_threads(8, ask)
    assert answered == {(200, str(COST)): CALLS}
    assert [tuple(map(int, row)) for row in nodes.asked(SPENT, "user%")] == [(CALLS, CALLS * COST)]
    assert nodes.asked(LEFT, "user%") == [(PRO - CALLS // USERS * COST,)] * USERS
    # A caller has one node, and every node has callers.
    homes = [
        {number for number, node in nodes.api.items() if str(uuid) in node.log}
        for (uuid,) in nodes.asked("SELECT uuid FROM users WHERE email LIKE 'user%%'")
    ]
    assert {len(one) for one in homes} == {1}
    assert set.union(*homes) == {*range(API_NODES)}
    done = nodes.run("check")
    assert done.status == 0, done


def test_threads_on_three_nodes_spend_the_last_tokens_once(nodes: Nodes) -> None:
    key = nodes.user("last@example.com", "free")
    answered: Counter[int] = Counter()

    def ask(thread: int) -> None:
        # Past the proxy, so that one caller is everywhere; as often as each node's limit lets it.
        for turn in range(18):
            answered[get(nodes.api[(thread + turn) % API_NODES].address, CHEAP, key).status] += 1

    in_threads(8, ask)
    assert answered == {200: 50, 402: 8 * 18 - 50}
    assert nodes.asked(LEFT, "last@example.com") == [(0,)]


def test_a_caller_has_the_limit_of_one_node(nodes: Nodes) -> None:
    key = nodes.user("limit@example.com")
    answered: Counter[int] = Counter()

    def ask(thread: int) -> None:
        for _ in range(20):
            answered[get(nodes.proxy, "/api/v1/account/balance", key).status] += 1

    started = time.monotonic()
    in_threads(4, ask)
    # 60 a minute at once, and what leaks meanwhile.
    assert 60 <= answered[200] <= 61 + (time.monotonic() - started)
    assert answered[200] + answered[429] == 80


def test_an_email_is_locked_on_every_node_at_once(nodes: Nodes) -> None:
    nodes.user("locked@example.com")
    body = {"email": "locked@example.com", "password": "a wrong one"}
    statuses = [
        call(nodes.api[turn % API_NODES].address, "POST", "/api/v1/auth/login", body).status for turn in range(8)
    ]
    assert statuses == [401, 401, 401, 401, 429, 429, 429, 429]
    assert call(nodes.proxy, "POST", "/api/v1/auth/login", body).status == 429


def test_what_writes_market_data_is_the_workers(nodes: Nodes) -> None:
    place = nodes.directory / "submission.txt"
    place.write_bytes(full_submission("0000320193-26-000900"))
    done = nodes.run("ingest", place, place=nodes.place(0))
    assert (done.status, done.complaint) == (
        1,
        "This node answers on a copy of the market data, which the worker alone writes.",
    )
    # The worker's pages are behind the same address.
    assert get(nodes.proxy, "/admin").status in (303, 401, 404)
    assert nodes.run("ingest", place).status == 0


# ---- kills


class Load:
    """What is asked of the nodes while they are killed, and what they acknowledged."""

    def __init__(self, nodes: Nodes, url: str, kills: int) -> None:
        self.nodes, self.url, self.kills = nodes, url, kills
        self.over = threading.Event()
        self.paid: list[str] = []
        self.promised: list[str] = []
        self.ingested = 0
        self.seen: list[tuple[int, str]] = []
        self.keys = [nodes.user(f"load{number}-{kills}@example.com") for number in range(12)]
        self.listener = nodes.user(f"listener{kills}@example.com")

    def calls(self) -> None:
        """Billed calls, and test events, each by another caller."""
        number = 0
        while not self.over.is_set():
            number += 1
            key = self.keys[number % len(self.keys)]
            with suppress(OSError, http.client.HTTPException):
                answer = get(self.nodes.proxy, CHEAP, key, seconds=15)
                if answer.status == 200:
                    self.paid.append(answer.headers["x-request-id"])
            if number % 4 == 0:
                with suppress(OSError, http.client.HTTPException):
                    told = call(
                        self.nodes.proxy,
                        "POST",
                        "/api/v1/webhooks/test",
                        {"url": self.url},
                        {"X-API-Key": key},
                        seconds=15,
                    )
                    if told.status == 200:
                        self.promised.append(told.json["delivery_id"])
            self.over.wait(0.05)

    def filings(self) -> None:
        """Filings, ingested by whoever works."""
        while not self.over.is_set():
            number = self.ingested + 1
            place = self.nodes.directory / f"filing{number}.txt"
            place.write_bytes(full_submission(f"0000320193-{self.kills:02}-{number:06}"))
            if self.nodes.run("ingest", place).status == 0:
                self.ingested = number
            self.over.wait(0.2)

    def feed(self) -> None:
        """The events, read by our own client, which comes back after each break until the nodes are gone for good.

        Where it gives up before that, events are missing.
        """
        client = Client("http://{}:{}".format(*self.nodes.proxy), api_key=self.listener)
        with suppress(ApiFailure):
            for event in client.feed("main-api", since=0):
                self.seen.append((event["seq"], event["type"]))


class Deliveries:
    """A receiver's memory: which deliveries came, and whether one came while it was there already."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.times: Counter[str] = Counter()
        self.there: Counter[str] = Counter()
        self.at_once: list[str] = []

    def behave(self, connection: socket.socket, received: Received, over: threading.Event) -> None:
        """Take a delivery, slowly enough to see another of the same."""
        name = json.loads(received.body)["delivery_id"]
        with self.lock:
            self.times[name] += 1
            self.there[name] += 1
            if self.there[name] > 1:
                self.at_once.append(name)
        over.wait(0.02)
        with suppress(OSError):
            connection.sendall(OK)
        with self.lock:
            self.there[name] -= 1


def killed(nodes: Nodes, chance: random.Random) -> str:
    """Kill a node, any of them, and start it again; which it was."""
    victim = chance.randrange(API_NODES + WORKERS)
    if victim < API_NODES:
        node = nodes.api[victim]
        os.kill(node.pid, signal.SIGKILL)
        node.process.wait()
        time.sleep(chance.uniform(0, 0.5))
        nodes.start_api(victim)
        return f"api{victim}"
    # The one that works, mostly.
    number = nodes.working()
    number = victim - API_NODES if number is None or chance.random() < 0.2 else number
    nodes.workers[number].kill()
    nodes.workers[number].wait()
    nodes.start_worker(number)
    eventually(lambda: nodes.working() is not None)
    return f"worker{number}"


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
def test_kills_of_random_nodes_under_load_lose_nothing(nodes: Nodes, kills: int) -> None:
    chance = random.Random(SEED + kills)
    memory = Deliveries()
    who: list[str] = []
    with receiver(memory.behave) as there:
        load = Load(nodes, there.url, kills)
        threads = [threading.Thread(target=work) for work in (load.calls, load.calls, load.filings)]
        feed = threading.Thread(target=load.feed, daemon=True)
        for thread in (*threads, feed):
            thread.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.5, 1.5))
            who.append(killed(nodes, chance))
        time.sleep(1)
        load.over.set()
        for thread in threads:
            thread.join(60)
        assert min(len(load.paid), len(load.promised), load.ingested) > 0, who
        # Whatever was promised has come when the last attempt that was broken off has been made again.
        eventually(lambda: set(load.promised) <= set(memory.times), 60)
    # A call that was answered is in the ledger, and was not refunded.
    debits = {row[0] for row in nodes.asked("SELECT request_id FROM ledger WHERE reason = 'debit'")}
    refunds = {row[0] for row in nodes.asked("SELECT request_id FROM ledger WHERE reason LIKE 'refund%%'")}
    assert set(load.paid) <= debits - refunds
    # No two workers had one delivery in hand, and what came twice is what a kill left in doubt.
    assert memory.at_once == []
    assert sum(times - 1 for times in memory.times.values()) <= 32 * sum(one.startswith("worker") for one in who)
    # The events of every filing that was taken, in order, without a gap and none twice.
    last = nodes.asked("SELECT last_seq FROM feeds WHERE name = 'main-api'")[0][0]
    eventually(lambda: load.seen and load.seen[-1][0] == last, 60)
    assert [seq for seq, _ in load.seen] == [*range(1, last + 1)]
    assert "gap" not in {type for _, type in load.seen}
    carried = nodes.asked("SELECT count(*) FROM events WHERE feed = 'main-api' AND type = 'new_filing'")[0][0]
    assert carried >= load.ingested
    # Of calls that were cut off some are open still; all else adds up.
    done = nodes.run("check")
    assert done.status == 0, done
