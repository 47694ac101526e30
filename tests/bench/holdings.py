"""Ingest of synthetic 13F reports, and the first page of every list over them.

    python -m tests.bench.holdings [FUNDS] [ROWS]

Stores four quarters of FUNDS funds (250) with ROWS rows each (500) on disk: prints the time that each tenth of
the reports took (linear ingest takes as long for the last as for the first), then the CPU time of every list.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.config import Config
from finapi.edgar import cusip, thirteenf
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.holdings import holdings_store
from finapi.market.holdings.holdings_report import HoldingsReport
from finapi.market.reference import companies
from tests.client import Client
from tests.support.raw_sql import run_sql

PERIODS = (
    ("2024-12-31", "2025-02-14"),
    ("2025-03-31", "2025-05-15"),
    ("2025-06-30", "2025-08-14"),
    ("2025-09-30", "2025-11-14"),
)
SECURITIES = 6_000
SIC = (3571, 7372, 6021, 2834, 1311, 4911, 5411, 3711)

LISTS = (
    "/form-13f/fund/1000007?limit=50",
    "/form-13f/fund/1000007?limit=50&sort_by=name&include_options=true",
    "/form-13f/fund/1000007?q=lamp",
    "/form-13f/fund/1000007/periods",
    "/form-13f/fund/1000007/cusip/{cusip}/history",
    "/form-13f/funds?limit=100",
    "/form-13f/search?q=fund",
    "/form-13f/filers",
    "/form-13f/latest",
    "/form-13f/filing-stats?period=2025-09-30",
    "/form-13f/filing-progress?quarter=2025-09-30",
    "/form-13f/holdings/search?q={cusip}",
    "/form-13f/aggregation/by-ticker",
    "/form-13f/aggregation/by-ticker?sector=Manufacturing&sort_by=total_value",
    "/form-13f/aggregation/by-ticker?search=lamp",
    "/form-13f/aggregation/by-sector",
    "/form-13f/aggregation/by-industry",
    "/tickers/autocomplete?q=t1",
    "/tickers/T8/holders",
    "/tickers/T8/fund-trends",
    "/cusip/search?q=lamp",
    "/cusip/ticker/T8",
    "/cusip/stats",
)


def number(index: int) -> str:
    """Return the ``index``-th synthetic CUSIP, which is valid."""
    base = f"{index:06}10"
    return base + cusip.compute_check_digit(base)


def name(index: int) -> str:
    """Return the name of the ``index``-th synthetic issuer."""
    return f"{('LAMP', 'SHADE', 'WICK', 'GLASS')[index % 4]} {index} CORP"


def reports(funds: int, rows: int) -> Iterator[tuple[HoldingsReport, FilingMetadata]]:
    """Yield four quarters of every fund; positions stay, grow, shrink, appear and disappear."""
    for quarter, (period, filed_at) in enumerate(PERIODS):
        for fund in range(funds):
            dice = random.Random(f"{fund}")
            chosen = dice.sample(range(SECURITIES), rows + 20)[quarter * 5 : quarter * 5 + rows]
            positions = tuple(
                thirteenf.Holding(
                    name(security),
                    "COM",
                    number(security),
                    None,
                    (shares := dice.randrange(1, 10_000) * (1 + quarter * (security % 3))) * (10 + security % 90),
                    shares,
                    "SH",
                    "Put" if security % 40 == 0 else None,
                    "SOLE",
                    None,
                    shares,
                    0,
                    0,
                )
                for security in chosen
            )
            total = sum(row.value for row in positions)
            cover = thirteenf.CoverPage(
                "13F-HR",
                f"{1_000_000 + fund:010}",
                period,
                None,
                None,
                0,
                f"Fund {fund} LP",
                None,
                None,
                None,
                None,
                None,
                rows,
                total,
                False,
                (),
                (),
            )
            digest = hashlib.sha256(f"{fund} {period}".encode()).digest()
            accession = f"{1_000_000 + fund:010}-25-{quarter + 1:06}"
            yield (
                HoldingsReport(cover, positions, digest, 2),
                FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at),
            )


def put_companies(app: App) -> None:
    """Store the companies of every second security, with tickers and industries."""
    with app.db.write() as tx:
        for index in range(0, SECURITIES, 2):
            companies.upsert_name(tx, 5_000_000 + index, name(index).title(), companies.FROM_LIST, "")
            companies.upsert_tickers(tx, 5_000_000 + index, [(f"T{index}", None)], companies.FROM_LIST)
            attributes = CompanyAttributes(SIC[index // 2 % len(SIC)])
            companies.update_attributes(tx, 5_000_000 + index, attributes, 1, "")


def fill(app: App, funds: int, rows: int, meter: Callable[[], float] = time.process_time) -> list[float]:
    """Store the companies and the reports. Return the cost of each tenth, in units of ``meter``."""
    put_companies(app)
    took = [0.0] * 10
    total = funds * len(PERIODS)
    for report_number, (report, filed) in enumerate(reports(funds, rows)):
        started = meter()
        with app.db.write() as tx:
            assert holdings_store.store_report(tx, report, filed, app.clock.now())
        took[report_number * 10 // total] += meter() - started
    return took


def first_pages(app: App, meter: Callable[[], float] = time.process_time) -> Iterator[tuple[int, float, int, str]]:
    """Yield status, best of five costs, answer size and path of every list."""
    client = Client(app, users.create(app, "bench@example.com", "pro", app.clock.now()).api_key)
    with app.db.read() as tx:
        sql = "SELECT cusip FROM positions JOIN securities ON id = security_id WHERE positions.cik = 1000007 LIMIT 1"
        stored_cik = run_sql(tx, sql).fetchone()[0]
    for path in LISTS:
        took = []
        for _ in range(5):
            started = meter()
            answer = client.get("/api/v1" + path.format(cusip=stored_cik))
            took.append(meter() - started)
        yield answer.status, min(took), len(answer.body), path


def main(funds: int, rows: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        app = apps.open_on_disk(
            Config(
                data_dir=Path(directory), synchronous="NORMAL", app_per_minute=10**6, app_per_hour=10**6, answer_bytes=0
            )
        )
        took = fill(app, funds, rows)
        print(
            f"{funds * rows * len(PERIODS)} rows in {sum(took):.1f} s; by tenths "
            + " ".join(f"{tenth_seconds:.2f}" for tenth_seconds in took)
        )
        print(f"database {(Path(directory) / 'finapi.db').stat().st_size / 1e6:.0f} MB")
        for status, seconds, size, path in first_pages(app):
            print(f"{seconds * 1000:8.2f} ms {status} {size:7} {path}")
        app.db.close()


if __name__ == "__main__":
    main(*(int(number) for number in (*sys.argv[1:], 250, 500)[:2]))
