"""CPU of a ten-year quarterly series with template and ratios, the first time and from the second on.

    python -m tests.bench.series /path/to/edgar

The first time nothing is kept; the second is the same question again; the third comes after data of others, when
the company's book is kept and its answer is not.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.core.cache import Cache
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.client import Client

URL = "/api/v1/xbrl/timeseries?ticker={ticker}&period=Q&ratios=true&template=true&years=10"
TICKERS = ("320193", "1640147", "1835632", "19617")


def main(edgar: Path) -> None:
    """Print the median CPU milliseconds of first and second calls, company by company."""
    app = apps.create_in_memory(Config(xbrl_per_minute=1_000_000, xbrl_burst=1_000_000), SystemClock())
    for folder in ("companyfacts", "companyfacts_trimmed"):
        ingest.run(app, [edgar / folder], IngestOptions(), lambda outcome: None)
    user = users.create(app, "bench@example.com", "yearly", app.clock.now())
    for ticker in TICKERS:
        times: list[list[float]] = [[], [], []]
        for _ in range(7):
            # The same store, and nothing kept of it.
            client = Client(replace(app, fact_book_cache=Cache(apps.FACT_BOOK_CACHE_BYTES, len)), user.api_key)
            for number, into in enumerate(times):
                if number != 1:
                    with app.db.write() as tx:
                        tx.run("bump_data_version")
                began = time.process_time()
                answer = client.get(URL.format(ticker=ticker))
                into.append(1000 * (time.process_time() - began))
                assert answer.status == 200
        first, second, third = map(statistics.median, times)
        print(
            f"{ticker}: first {first:.1f} ms, second {second:.2f} ms, after other data {third:.1f} ms, "
            f"{len(answer.body)} bytes"
        )
    app.db.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
