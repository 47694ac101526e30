"""Many funds and a large one: 5,000 managers of twelve positions and one of 5,000, in two quarters, with prices.

    python -m tests.bench.funds [DIRECTORY]

Stores them on disk and counts their costs and returns: prints the CPU time that it took, in how many write
transactions, and that of the longest; then that of the first pages.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.config import Config
from finapi.edgar import thirteenf
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.holdings import cost_basis, holdings_store
from finapi.market.holdings.holdings_report import HoldingsReport
from finapi.market.prices import price_store
from finapi.market.prices.price_csv import PriceFile, PriceRow
from tests.bench import holdings
from tests.client import Client

FUNDS, ROWS, LARGE = 5_000, 12, 5_000
# Beside those of tests.bench.holdings, in the last of its quarters and the one after.
FIRST, LARGEST = 2_000_000, 1_999_999
PERIODS = (("2025-06-30", "2025-08-14"), ("2025-09-30", "2025-11-14"))
DAYS = ("2025-06-30", "2025-09-30", "2026-01-20")

LISTS = (
    "/form-13f/fund-performance?quarter=2025-09-30",
    "/form-13f/fund-performance?quarter=2025-09-30&limit=200&sort_by=portfolio_value&include_all=true",
    "/form-13f/fund-performance?quarter=2025-09-30&sort_by=price_coverage_pct&sort_order=asc",
    "/form-13f/fund-performance?quarter=2025-09-30&q=wide",
    f"/form-13f/fund/{LARGEST}/holdings-analytics",
    f"/form-13f/fund/{LARGEST}/holdings-analytics?limit=50",
    f"/form-13f/fund/{LARGEST}/holdings-analytics?limit=50&sort_by=unrealized_pnl_pct",
    f"/form-13f/fund/{LARGEST}/holdings-analytics?limit=50&sort_by=name&order=asc",
    f"/form-13f/fund/{LARGEST}?limit=50",
)


def reports(funds: int, large: int) -> Iterator[tuple[HoldingsReport, FilingMetadata]]:
    """Yield two quarters of every fund; in the second, every third position has grown by a tenth."""
    for quarter, (period, filed_at) in enumerate(PERIODS):
        for fund in range(-1, funds):
            count = large if fund < 0 else ROWS
            first = 0 if fund < 0 else fund * 7
            rows = [_row((first + offset) % holdings.SECURITIES, quarter) for offset in range(quarter, count + quarter)]
            positions, cik = tuple(rows), FIRST + fund
            total = sum(row.value for row in positions)
            cover = thirteenf.CoverPage(
                "13F-HR",
                f"{cik:010}",
                period,
                None,
                None,
                0,
                f"Wide {fund} LP",
                None,
                None,
                None,
                None,
                None,
                len(positions),
                total,
                False,
                (),
                (),
            )
            accession = f"{cik:010}-25-{quarter + 1:06}"
            digest = f"{cik} {period}".encode()
            yield (
                HoldingsReport(cover, positions, digest, 2),
                FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at),
            )


def _row(security: int, quarter: int) -> thirteenf.Holding:
    shares = 100_000 + security * (11 if quarter and security % 3 == 0 else 10)
    worth = shares * (100 + security % 90)
    return thirteenf.Holding(
        holdings.name(security),
        "COM",
        holdings.number(security),
        None,
        worth,
        shares,
        "SH",
        None,
        "SOLE",
        None,
        shares,
        0,
        0,
    )


def settle(app: App) -> str:
    """Recompute costs and returns as an ingest does at its end. Return the time."""
    took, due = [], True
    while due:
        started = time.process_time()
        with app.db.write() as tx:
            due = cost_basis.recompute_portion(tx)
        took.append(time.process_time() - started)
    return (
        f"costs and returns: {sum(took):.1f} s CPU in {len(took)} write transactions, "
        f"the longest of {max(took) * 1000:.0f} ms"
    )


def fill(app: App, funds: int = FUNDS, large: int = LARGE) -> None:
    """Store the companies, reports and prices of every issuer with a ticker."""
    for report, filed in reports(funds, large):
        with app.db.write() as tx:
            assert holdings_store.store_report(tx, report, filed, app.clock.now())
    closes = [
        PriceRow(f"T{security}", day, None, None, None, str(100 + security % 90 + day_number), None, None, None, None)
        for security in range(0, holdings.SECURITIES, 2)
        for day_number, day in enumerate(DAYS)
    ]
    with app.db.write() as tx:
        price_store.upsert(tx, PriceFile(closes, [], 0, False), b"funds")


def main(directory: Path) -> None:
    settings = Config(
        data_dir=directory, synchronous="NORMAL", app_per_minute=10**6, app_per_hour=10**6, answer_bytes=0
    )
    stored = (directory / "finapi.db").exists()
    app = apps.open_on_disk(settings)
    if not stored:
        holdings.put_companies(app)
        fill(app)
        print(settle(app), flush=True)
    client = Client(app, users.create(app, f"{time.time_ns()}@example.com", "pro", app.clock.now()).api_key)
    for path in LISTS:
        took = []
        for _ in range(5):
            started = time.process_time()
            answer = client.get("/api/v1" + path)
            took.append(time.process_time() - started)
            assert answer.status == 200, answer.body
        print(f"{min(took) * 1000:7.1f} ms  {len(answer.body):8} bytes  {path}", flush=True)
    app.db.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(Path(directory))
