"""The first calls after a restart over many companies: screens, counts, series, facts of one concept.

    python -m tests.bench.firsts [COMPANIES] [DIRECTORY] [EDGAR]

Stores COMPANIES (900; five minutes for 6,000) made of the real companyfacts at hand, one in thirty as large as Apple,
two in ten of one and two megabytes, the others small; or takes them from a DIRECTORY where they were stored before.
Prints the CPU milliseconds of each question, each asked of an App of its own, of which nothing is in memory but its
code: the median of five; and of a screen after a write, when one company's latest year is not kept yet.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest, latest_years_work
from tests.bench.backfill import EDGAR, of_company
from tests.client import Client
from tests.support.raw_sql import run_sql

API = "/api/v1"
LARGE = 30  # the first company of Apple's size
SCREEN = "/xbrl/screen?roe_gt=100&limit=20"  # which none passes, so that all are looked at
QUESTIONS = (
    "/xbrl/screen?roe_gt=0.1&limit=20",
    SCREEN,
    "/xbrl/screen?roe_gt=0&limit=20&offset=500",
    "/stats",
    f"/xbrl/timeseries?ticker={LARGE}&metrics=revenue,net_income",
    f"/xbrl/timeseries?ticker={LARGE}",
    f"/xbrl/timeseries?ticker={LARGE - 5}",
    f"/xbrl/timeseries?ticker={LARGE}&period=Q&ratios=true&template=true&years=10",
    "/facts/by-concept?concept=Assets&limit=20",
    "/xbrl/coverage",
)


def fill(config: Config, companies: int, edgar: Path) -> None:
    """Store the companies, their latest years and books."""
    app = apps.open_on_disk(config)
    real = sorted((edgar / "companyfacts").glob("CIK*.json"), key=lambda file: -file.stat().st_size)
    largest, large, middle, small = (file.read_text() for file in real)
    with tempfile.TemporaryDirectory() as directory:
        for cik in range(1, companies + 1):
            text = largest if cik % LARGE == 0 else {5: large, 7: middle}.get(cik % 10, small)
            file = Path(directory, f"CIK{cik:010}.json")
            file.write_bytes(of_company(text, cik))
            ingest.run(app, [file], IngestOptions(), lambda outcome: None)
            file.unlink()
    latest_years_work.compute_all_latest_years(app)
    app.db.close()


def asked(config: Config, path: str) -> float:
    """Return the CPU milliseconds of a call of a new App whose caller is known."""
    app = apps.open_on_disk(config)
    client = Client(app, users.create(app, f"{time.time_ns()}@example.com", "pro", app.clock.now()).api_key)
    client.get(f"{API}/policy")
    began = time.process_time()
    answer = client.get(API + path)
    took = time.process_time() - began
    app.db.close()
    assert answer.status == 200, answer.json
    return 1000 * took


def main(companies: int, directory: Path, edgar: Path) -> None:
    """Send the calls and print their times."""
    many = 10**9
    config = Config(data_dir=directory, xbrl_per_minute=many, app_per_minute=many, app_per_hour=many, pro_tokens=many)
    if not (directory / "finapi.db").exists():
        fill(config, companies, edgar)
    for path in QUESTIONS:
        asked(config, path)  # what it imports and reads of catalogues
        print(f"{statistics.median(asked(config, path) for _ in range(5)):8.1f} ms  {path}", flush=True)
    app = apps.open_on_disk(config)
    for cik in (LARGE, 1):
        with app.db.write() as tx:
            run_sql(tx, "UPDATE latest_years SET stamp = random() WHERE cik = ?", (cik,))
        print(f"{asked(config, SCREEN):8.1f} ms  {SCREEN} after a write of company {cik}")
        latest_years_work.compute_all_latest_years(app)
    app.db.close()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="finapi-bench-") as directory:
        main(
            int(arguments[0]) if arguments else 900,
            Path(arguments[1]) if arguments[1:] else Path(directory),
            Path(arguments[2]) if arguments[2:] else EDGAR,
        )
