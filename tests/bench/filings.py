"""Ingest of 100,000 invented filings, and the first page of every list over them.

    python -m tests.bench.filings [FILINGS]

Prints the time of each tenth of the ingest and the CPU time of each list's first page (the aim: under 20 ms).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.core.config import Config
from finapi.edgar.form_indexes import IndexRow
from finapi.market.filings import lists
from tests.client import Client

FORMS = ("4", "8-K", "10-Q", "10-K", "424B2", "SC 13G", "6-K", "D", "3", "S-8")
QUESTIONS = (
    "/sec/filings",
    "/sec/filings?cik=1",
    "/sec/filings?form_type=10-K",
    "/sec/filings?form_type=4,8-K,10-K/A",
    "/sec/filings?cik=1&form_type=10-K&from_date=2015-01-01",
    "/sec/filings?from_date=2018-01-01&to_date=2018-12-31",
    "/sec/filings?form_type=4&from_date=2018-01-01",
    "/sec/filings?sort=filed_date:asc&limit=100",
    "/sec/filings?offset=9000",
    "/sec/filings/stats",
    "/sec/forms",
    "/sec/entities",
    "/sec/entities?form_type=10-K",
    "/filings",
    "/index?date=2015-06-03",
    "/stats",
)


def rows(first: int, count: int) -> list[IndexRow]:
    """Return invented lines of an index: 20,000 companies, forms of uneven frequency, days over 25 years."""
    filing_rows = []
    for n in range(first, first + count):
        day = f"{2000 + n * 7919 % 25}-{1 + n * 31 % 12:02}-{1 + n * 17 % 28:02}"
        form = FORMS[0] if n % 2 else FORMS[n // 2 % len(FORMS)]
        cik = 1 + n * 104_729 % 20_000
        filing_rows.append(
            IndexRow(form, f"COMPANY {cik}", cik, day, f"{cik:010}-{n // 1_000_000:02}-{n % 1_000_000:06}")
        )
    return filing_rows


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        app = apps.open_on_disk(
            Config(data_dir=Path(directory), app_per_minute=10_000, app_per_hour=10_000, answer_bytes=0)
        )
        tenth = count // 10
        for part in range(10):
            filing_rows = rows(part * tenth, tenth)
            started = time.perf_counter()
            lists.upsert_index(app, filing_rows)
            took = time.perf_counter() - started
            print(f"filings {part * tenth:>9,} to {(part + 1) * tenth:>9,}: {took / tenth * 1e6:.0f} us each")
        user = users.create(app, "bench@example.com", "pro", app.clock.now())
        client = Client(app, user.api_key)
        for question in QUESTIONS:
            path, _, query = question.partition("?")
            parameters = dict(pair.split("=") for pair in query.split("&")) if query else None
            client.get(f"/api/v1{path}", query=parameters)
            best = 1e9
            for _ in range(5):
                started = time.process_time()
                answer = client.get(f"/api/v1{path}", query=parameters)
                best = min(best, time.process_time() - started)
                assert answer.status == 200, answer.json
            print(f"{best * 1000:6.1f} ms  {question}")
        app.db.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
