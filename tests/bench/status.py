"""CPU time of ``GET /api/v1/status/history?days=90`` for twelve services, whole call, in milliseconds.

python -m tests.bench.status
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from finapi import app as apps
from finapi.core.config import Config
from finapi.ops import status, watchdog
from tests.client import Client
from tests.support.raw_sql import run_sql_many

DAY = 86_400
CALLS = 200


def main() -> None:
    """Fill a database on disk with a year of checks of twelve names, and call."""
    with tempfile.TemporaryDirectory() as directory:
        app = apps.open_on_disk(Config(data_dir=Path(directory), app_per_minute=10**6, app_per_hour=10**6))
        today = int(app.clock.now().timestamp()) // DAY * DAY
        parts = [name for name in status.SERVICES if name not in status.ALIASES]
        for table, seconds, number in (("status_days", DAY, 365), ("status_hours", 3600, 100 * 24)):
            run_sql_many(
                app.db,
                f"INSERT INTO {table} VALUES (?, ?, 1440, 1437, 2, 1, 17280)",
                [(part, today - seconds * back) for part in parts for back in range(number)],
            )
        app.health.probes.update({part: lambda: None for part in parts if part != watchdog.NAME})
        watchdog.run_round(app, app.clock.now())
        client = Client(app)
        for path in (
            "/api/v1/status/history?days=90",
            "/api/v1/status/history?days=7&resolution=hourly",
            "/api/v1/status/history?service=redis&days=90",
            "/api/v1/status",
            "/status",
            "/metrics",
        ):
            used = []
            for _ in range(CALLS):
                app.health.clear_answer_caches()
                before = time.thread_time()
                answer = client.get(path, address="127.0.0.1")
                used.append((time.thread_time() - before) * 1000)
            assert answer.status == 200, answer
            size, median = len(answer.body), statistics.median(used)
            print(f"{path:50} {median:6.2f} ms, worst {max(used):6.2f}, {size} bytes")
        app.db.close()


if __name__ == "__main__":
    main()
