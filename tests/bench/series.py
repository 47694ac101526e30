"""CPU of a ten-year quarterly series with template and ratios, the first time and from the second on.

    python -m tests.bench.series /path/to/edgar

The first time is with an empty cache of books and answers; the second is the same question again.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from finapi import accounts
from finapi import app as apps
from finapi.clock import SystemClock
from finapi.config import Config
from finapi.market import ingest
from tests.client import Client

URL = "/api/v1/xbrl/timeseries?ticker={ticker}&period=Q&ratios=true&template=true&years=10"
TICKERS = ("320193", "1640147", "1835632", "19617")


def main(edgar: Path) -> None:
    """Print the median CPU milliseconds of first and second calls, company by company."""
    app = apps.in_memory(Config(xbrl_per_minute=1_000_000, xbrl_burst=1_000_000), SystemClock())
    for folder in ("companyfacts", "companyfacts_trimmed"):
        ingest.run(app, [edgar / folder], ingest.Given(), lambda outcome: None)
    user = accounts.create(app, "bench@example.com", "yearly", app.clock.now())
    client = Client(app, user.api_key)
    for ticker in TICKERS:
        first, second = [], []
        for _ in range(7):
            with app.db.write() as tx:
                tx.run("bump_data_version")
            for into in (first, second):
                began = time.process_time()
                answer = client.get(URL.format(ticker=ticker))
                into.append(1000 * (time.process_time() - began))
                assert answer.status == 200
        print(
            f"{ticker}: first {statistics.median(first):.1f} ms, second {statistics.median(second):.2f} ms, "
            f"{len(answer.body)} bytes"
        )
    app.db.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
