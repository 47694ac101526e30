"""Half a million holdings in one database: every list answers its first page at once, and ingest stays linear."""

from __future__ import annotations

from pathlib import Path

import pytest

from finapi import app as apps
from finapi.clock import FixedClock
from finapi.config import Config
from tests.bench import holdings as bench
from tests.conftest import NOW

FUNDS, ROWS = 250, 500


@pytest.mark.slow
def test_first_pages_and_ingest_at_half_a_million_holdings(tmp_path: Path) -> None:
    settings = Config(data_dir=tmp_path, synchronous="NORMAL", app_per_minute=10**6, app_per_hour=10**6)
    app = apps.on_disk(settings, FixedClock(NOW))
    try:
        took = bench.fill(app, FUNDS, ROWS)
        with app.db.read() as tx:
            assert tx._connection.execute("SELECT count(*) FROM holdings").fetchone()[0] == 500_000
        # The second half has quarters before it to be held against, and may take a little longer for that.
        assert sum(took[5:]) < 2 * sum(took[:5])
        slow = {}
        for status, milliseconds, _, path in bench.first_pages(app):
            assert status == 200, path
            if milliseconds >= 20:
                slow[path] = milliseconds
        assert slow == {}
    finally:
        app.db.close()
