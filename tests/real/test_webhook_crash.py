"""Webhooks of a process that is killed at any moment: each event arrives, under one id however often."""

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
EVENTS = max(200, 20 * KILLS)  # enough events that every kill comes before the last one

# Enqueues events one by one and sends them, continuing where the last killed child stopped.
CHILD = """
import sys, threading
from datetime import UTC, datetime
from pathlib import Path
from finapi.ops.app_opening import open_app
from finapi.accounts import users
from finapi.delivery import webhooks
from finapi.core.config import Config
from finapi.delivery.dispatcher import Dispatcher
from tests.support.raw_sql import run_sql

directory, url, events = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
config = Config(data_dir=directory, webhook_allow=("127.0.0.0/8",), webhook_retries=("0.05",) * 3)
with open_app(config) as app:
    now = app.clock.now()
    with app.db.read() as tx:
        user = tx.find_row("user_by_email", email="ann@example.com")
        made = run_sql(tx, "SELECT count(*) FROM deliveries").fetchone()[0]
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
            left = run_sql(tx, "SELECT min(due_at) FROM deliveries").fetchone()[0]
        if made >= events and left is None:
            break
        woken.wait(0.01)
        woken.clear()
    dispatcher.stop(5.0)
print("done", flush=True)
"""


class ReceivedEvents:
    """A receiver that counts events and their ids, and kills the sender at a chosen request."""

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
                requests_left, when = self.kill_at
                self.kill_at = (requests_left - 1, when) if requests_left > 1 else None
                struck = when if requests_left <= 1 else None
        if struck == "before":
            self.kill()
        with suppress(OSError):
            connection.sendall(receivers.OK)
        if struck == "after":
            self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def run_child(directory: Path, url: str, received_events: ReceivedEvents, random_numbers: random.Random | None) -> str:
    """Run the child once, killed at random if ``random_numbers`` are given. Return its last word."""
    command = [sys.executable, "-c", CHILD, str(directory), url, str(EVENTS)]
    timer = None
    with child(command=command, stderr=None) as process:
        received_events.pid = process.pid
        assert next_line(process) == b"started\n"
        if random_numbers is not None:
            way = random_numbers.choice(["time", "before", "after"])
            if way == "time":
                timer = threading.Timer(random_numbers.uniform(0.0, 0.15), received_events.kill)
                timer.start()
            else:
                received_events.kill_at = (random_numbers.randint(1, 12), way)
        word = next_line(process).decode().strip()
        process.wait(30)
    if timer is not None:
        timer.join()
    received_events.kill_at = None
    return word


def test_events_survive_kills(tmp_path: Path) -> None:
    random_numbers = random.Random(SEED)
    received_events = ReceivedEvents()
    with receiver(received_events.behave) as webhook_receiver:
        kills = 0
        while kills < KILLS:
            if run_child(tmp_path / "data", webhook_receiver.url, received_events, random_numbers) == "done":
                break
            kills += 1
        assert run_child(tmp_path / "data", webhook_receiver.url, received_events, None) == "done"
    assert kills >= KILLS * 2 // 3, "too few of the kills came in time to mean anything"
    print(f"{EVENTS} events, {kills} kills, {sum(received_events.times.values()) - EVENTS} sent again")
    assert sorted(received_events.ids) == list(range(EVENTS))
    assert {number: len(ids) for number, ids in received_events.ids.items()} == dict.fromkeys(range(EVENTS), 1)
    assert len(set().union(*received_events.ids.values())) == EVENTS
    # Only deliveries in progress at a kill are repeated: at most four at once to one receiver.
    assert sum(received_events.times.values()) - EVENTS <= 4 * kills


def test_no_event_is_sent_twice_without_a_kill(tmp_path: Path) -> None:
    received_events = ReceivedEvents()
    with receiver(received_events.behave) as webhook_receiver:
        assert run_child(tmp_path / "data", webhook_receiver.url, received_events, None) == "done"
    assert set(received_events.times.values()) == {1}
    assert len(received_events.times) == EVENTS


def test_retries_follow_the_configured_schedule(tmp_path: Path) -> None:
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
    with receiver(behave) as webhook_receiver, serve(tmp_path / "data", *settings) as server:
        key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", tmp_path / "data").json["api_key"]
        headers = {"X-API-Key": key}
        test_event = server.call("POST", "/api/v1/webhooks/test", {"url": webhook_receiver.url}, headers).json

        def list_dropped_deliveries() -> Any:
            return server.get("/api/v1/webhooks/deliveries?status=dropped", key).json["deliveries"]

        eventually(list_dropped_deliveries)
        (delivery,) = list_dropped_deliveries()
        assert server.stop() == 0
    assert (delivery["delivery_id"], delivery["attempt_count"]) == (test_event["delivery_id"], 4)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    for wait, retry_seconds in zip(waits, (0.2, 0.4, 0.8), strict=True):
        assert retry_seconds <= wait < retry_seconds + 1.0


def test_a_listed_filing_reaches_every_target_despite_kills(tmp_path: Path) -> None:
    random_numbers = random.Random(SEED)
    messages: list[dict[str, Any]] = []

    def behave(connection: socket.socket, received: Received, over: threading.Event) -> None:
        messages.append(json.loads(received.body))
        connection.sendall(receivers.OK)

    data = tmp_path / "data"
    with fake_edgar() as (edgar, edgar_address), receiver(behave) as webhook_receiver:
        edgar.feed[0] = Page(feed())
        settings = (
            "--poll-every",
            "0.1",
            "--user-agent",
            AGENT,
            "--base-url",
            f"http://127.0.0.1:{edgar_address.port}",
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
                    body = {"ticker": "320193", "webhook_url": webhook_receiver.url}
                    target = server.call("POST", "/api/v1/sniper/targets", body, {"X-API-Key": key}).json
                    targets.add(target["target_id"])
            edgar.feed[0] = Page(feed(entry("0000320193-26-000001")))
            time.sleep(random_numbers.uniform(0.0, 0.3))
            server.stop(signal.SIGKILL)
        for _ in range(4):
            with serve(data, *settings) as server:
                time.sleep(random_numbers.uniform(0.0, 0.2))
                server.stop(signal.SIGKILL)
        with serve(data, *settings) as server:
            eventually(lambda: {message["target_id"] for message in messages} == targets)
            assert server.stop() == 0
    assert {message["payload"]["accession_number"] for message in messages} == {"0000320193-26-000001"}
    assert len({message["delivery_id"] for message in messages}) == len(targets)
