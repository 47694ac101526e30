"""Half a million holdings in one database: first pages stay cheap, and ingest stays linear.

Work is counted in instructions of SQLite's virtual machine, which do not depend on the machine or its load.
"""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.store import db
from tests.bench import holdings as bench
from tests.conftest import NOW
from tests.support.raw_sql import run_sql

FUNDS, ROWS = 250, 500
STEP = 100
# Sums over all funds of a quarter are stored by security: a list may read each of those, but not each holding.
MAX_INSTRUCTIONS = 200 * bench.SECURITIES


@pytest.mark.slow
@pytest.mark.long
def test_first_pages_and_ingest_at_half_a_million_holdings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = itertools.count()
    connect = db.connect

    def connect_counting_steps(*target: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*target, **options)
        connection.set_progress_handler(lambda: next(steps) < 0, STEP)
        return connection

    def count_instructions() -> float:
        return next(steps) * STEP

    monkeypatch.setattr(db, "connect", connect_counting_steps)
    settings = Config(data_dir=tmp_path, synchronous="NORMAL", app_per_minute=10**6, app_per_hour=10**6, answer_bytes=0)
    app = apps.open_on_disk(settings, FixedClock(NOW))
    try:
        instruction_counts = bench.fill(app, FUNDS, ROWS, count_instructions)
        with app.db.read() as tx:
            assert run_sql(tx, "SELECT count(*) FROM holdings").fetchone()[0] == 500_000
        # The second half is compared with earlier quarters and may take a little longer.
        assert sum(instruction_counts[5:]) < 2 * sum(instruction_counts[:5])
        costly = {}
        for status, count, _, path in bench.first_pages(app, count_instructions):
            assert status == 200, path
            if count > MAX_INSTRUCTIONS:
                costly[path] = count
        assert costly == {}
    finally:
        app.db.close()
