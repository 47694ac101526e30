"""CPU of ``GET /account/usage`` of an account with many calls.

    python -m tests.bench.usage [CALLS] [ENDPOINTS]

Stores a year of CALLS (300,000) to ENDPOINTS (109, as many as have a cost) in the ledger of one account, and adds them
up by day. Prints the median CPU of the usage of the last 30 and 365 days.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from finapi import app as apps
from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.clock import iso
from finapi.core.config import Config
from tests.client import Client
from tests.support.raw_sql import run_sql_many

DEFAULTS = [300_000, 109]
COST = 5
ROUNDS = 9


def fill(app: App, user_id: int, calls: int, endpoints: int) -> None:
    """Store a year of settled calls of an account, and add them up."""
    chance = random.Random(1)
    now = app.clock.now()
    rows = []
    for number in range(calls):
        called_at = now - timedelta(days=364) * (1 - number / calls)
        rows.append((user_id, -COST, f"GET /api/v1/endpoint/{chance.randrange(endpoints)}", iso(called_at)))
    columns = "user_id, delta, reason, endpoint, status, created_at"
    with app.db.write() as tx:
        run_sql_many(tx, f"INSERT INTO ledger ({columns}) VALUES (?, ?, 'debit', ?, 200, ?)", rows)
    while billing.run_settlement_step(app) == 0.0:
        pass


def main(calls: int, endpoints: int) -> None:
    """Store the calls and print the CPU of the usage."""
    with tempfile.TemporaryDirectory() as directory:
        app = apps.open_on_disk(Config(data_dir=Path(directory), app_per_minute=10**9, app_per_hour=10**9))
        user = users.create(app, "bench@example.com", "pro", app.clock.now())
        fill(app, user.id, calls, endpoints)
        client = Client(app, user.api_key)
        for days in (30, 365):
            times = []
            for _ in range(ROUNDS):
                began = time.process_time()
                answer = client.get("/api/v1/account/usage", query={"days": days})
                times.append(time.process_time() - began)
                assert answer.status == 200, answer.body
            counted_calls = sum(row["calls"] for row in answer.json["daily"])
            print(f"{days:3} days with {counted_calls:6} calls: {1000 * statistics.median(times):5.1f} ms CPU")
        app.db.close()


if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    main(*(arguments + DEFAULTS[len(arguments) :]))
