"""Webhooks when the process is killed at any moment: each event arrives, and under one name however often."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import receiver as receivers
from tests.process import child, eventually, finapi, next_line, serve
from tests.receiver import Received, receiver
from tests.support.edgar_server import AGENT, Page, entry, fake_edgar, feed

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SEED = 20260131
KILLS = int(os.environ.get("KILLS", "30"))
EVENTS = max(200, 20 * KILLS)  # so many that the kills come before the end of them

# Enqueues events one by one and sends them, from wherever the last one of these was killed.
CHILD = """
import sys, threading
from datetime import UTC, datetime
from pathlib import Path
from finapi.ops.app_opening import open_app
from finapi.accounts import users
from finapi.delivery import webhooks
from finapi.core.config import Config
from finapi.delivery.dispatcher import Dispatcher

directory, url, events = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
config = Config(data_dir=directory, webhook_allow=("127.0.0.0/8",), webhook_retries=("0.05",) * 3)
with open_app(config) as app:
    now = app.clock.now()
    with app.db.read() as tx:
        user = tx.find_row("user_by_email", email="ann@example.com")
        made = tx._connection.execute("SELECT count(*) FROM deliveries").fetchone()[0]
    if user is None:
        users.create(app, "ann@example.com", "free", now)
        with app.db.read() as tx:
            user = tx.find_row("user_by_email", email="ann@example.com")
    there = webhooks.Receiver(user["id"], user["uuid"], url)
    woken = threading.Event()
    dispatcher = Dispatcher(app, woken.set)
    dispatcher.recover()
    print("started", flush=True)
    while True:
        if made < events:
            event = webhooks.WebhookEvent("finapi.test", "2026-01-31T12:00:00.000Z", str(made), {"number": made})
            with app.db.write() as tx:
                webhooks.enqueue(tx, app.clock.now(), there, event)
            made += 1
        dispatcher.run_step()
        with app.db.read() as tx:
            left = tx._connection.execute("SELECT min(due_at) FROM deliveries").fetchone()[0]
        if made >= events and left is None:
            break
        woken.wait(0.01)
        woken.clear()
    dispatcher.stop(5.0)
print("done", flush=True)
"""


class Ledger:
    """A receiver's memory: how often each event came, under which ids; and the knife."""

    def __init__(self) -> None:
        self.ids: dict[int, set[str]] = {}
        self.times: Counter[int] = Counter()
        self.lock = threading.Lock()
        self.kill_at: tuple[int, str] | None = None  # (after how many requests, "before" or "after" the reply)
        self.pid = 0

    def behave(self, connection: socket.socket, received: Received, over: threading.Event) -> None:
        body = json.loads(received.body)
        number = body["payload"]["number"]
        with self.lock:
            self.ids.setdefault(number, set()).update([body["delivery_id"], received.headers["webhook-id"]])
            self.times[number] += 1
            struck = None
            if self.kill_at is not None:
                left, when = self.kill_at
                self.kill_at = (left - 1, when) if left > 1 else None
                struck = when if left <= 1 else None
        if struck == "before":
            self.kill()
        with suppress(OSError):
            connection.sendall(receivers.OK)
        if struck == "after":
            self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def run(directory: Path, url: str, ledger: Ledger, chance: random.Random | None) -> str:
    """One life of the child, cut short by ``chance``; its last word."""
    command = [sys.executable, "-c", CHILD, str(directory), url, str(EVENTS)]
    timer = None
    with child(command=command, stderr=None) as process:
        ledger.pid = process.pid
        assert next_line(process) == b"started\n"
        if chance is not None:
            way = chance.choice(["time", "before", "after"])
            if way == "time":
                timer = threading.Timer(chance.uniform(0.0, 0.15), ledger.kill)
                timer.start()
            else:
                ledger.kill_at = (chance.randint(1, 12), way)
        word = next_line(process).decode().strip()
        process.wait(30)
    if timer is not None:
        timer.join()
    ledger.kill_at = None
    return word


def test_events_survive_being_killed(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    ledger = Ledger()
    with receiver(ledger.behave) as there:
        kills = 0
        while kills < KILLS:
            if run(tmp_path / "data", there.url, ledger, chance) == "done":
                break
            kills += 1
        assert run(tmp_path / "data", there.url, ledger, None) == "done"
    assert kills >= KILLS * 2 // 3, "too few of the kills came in time to mean anything"
    print(f"{EVENTS} events, {kills} kills, {sum(ledger.times.values()) - EVENTS} sent again")
    assert sorted(ledger.ids) == list(range(EVENTS))
    assert {number: len(ids) for number, ids in ledger.ids.items()} == dict.fromkeys(range(EVENTS), 1)
    assert len(set().union(*ledger.ids.values())) == EVENTS
    # Only what was under way at a kill comes again: at most four at once to one receiver.
    assert sum(ledger.times.values()) - EVENTS <= 4 * kills


def test_nothing_comes_twice_when_nothing_is_killed(tmp_path: Path) -> None:
    ledger = Ledger()
    with receiver(ledger.behave) as there:
        assert run(tmp_path / "data", there.url, ledger, None) == "done"
    assert set(ledger.times.values()) == {1}
    assert len(ledger.times) == EVENTS


def test_the_schedule_for_real_with_short_settings(tmp_path: Path) -> None:
    moments: list[float] = []

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        moments.append(time.monotonic())
        connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")

    settings = (
        "--webhook-allow",
        "127.0.0.0/8",
        "--webhook-retries",
        "0.2,0.4,0.8",
        "--app-per-minute",
        "100000",
        "--app-per-hour",
        "100000",
    )
    with receiver(behave) as there, serve(tmp_path / "data", *settings) as server:
        key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", tmp_path / "data").json["api_key"]
        headers = {"X-API-Key": key}
        made = server.call("POST", "/api/v1/webhooks/test", {"url": there.url}, headers).json

        def dropped() -> Any:
            return server.get("/api/v1/webhooks/deliveries?status=dropped", key).json["deliveries"]

        eventually(dropped)
        (delivery,) = dropped()
        assert server.stop() == 0
    assert (delivery["delivery_id"], delivery["attempt_count"]) == (made["delivery_id"], 4)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    for wait, wanted in zip(waits, (0.2, 0.4, 0.8), strict=True):
        assert wanted <= wait < wanted + 1.0


def test_from_the_feed_to_the_receiver_with_a_kill_in_between(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    told: list[dict[str, Any]] = []

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        told.append(json.loads(received.body))
        connection.sendall(receivers.OK)

    data = tmp_path / "data"
    with fake_edgar() as (edgar, place), receiver(behave) as there:
        edgar.feed[0] = Page(feed())
        settings = (
            "--poll-every",
            "0.1",
            "--user-agent",
            AGENT,
            "--base-url",
            f"http://127.0.0.1:{place.port}",
            "--webhook-allow",
            "127.0.0.0/8",
            "--edgar-per-second",
            "1000",
        )
        finapi("follow", "add", "320193", "--data-dir", data)
        keys = [
            finapi("user", "add", f"u{number}@example.com", "--json", "--data-dir", data).json["api_key"]
            for number in range(2)
        ]
        targets = set()
        with serve(data, *settings) as server:
            for key in keys:
                for _ in range(5):
                    body = {"ticker": "320193", "webhook_url": there.url}
                    made = server.call("POST", "/api/v1/sniper/targets", body, {"X-API-Key": key}).json
                    targets.add(made["target_id"])
            edgar.feed[0] = Page(feed(entry("0000320193-26-000001")))
            time.sleep(chance.uniform(0.0, 0.3))
            server.stop(signal.SIGKILL)
        for _ in range(4):
            with serve(data, *settings) as server:
                time.sleep(chance.uniform(0.0, 0.2))
                server.stop(signal.SIGKILL)
        with serve(data, *settings) as server:
            eventually(lambda: {message["target_id"] for message in told} == targets)
            assert server.stop() == 0
    assert {message["payload"]["accession_number"] for message in told} == {"0000320193-26-000001"}
    assert len({message["delivery_id"] for message in told}) == len(targets)
