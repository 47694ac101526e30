"""Every list over one large database: 100,000 filings, 200,000 insiders' transactions, 500,000 holdings,
5,000 small funds and one of 5,000 positions, 10,000 schedules, 10,000 notices and 2,000 documents.

    python -m tests.bench.lists [--part 10] [DIRECTORY]

Stores a tenth of them on disk, in a minute or two, or all with ``--part 1``; or takes them from a directory where they
were stored before. Prints the CPU time of each tenth of each ingest, then of every list's first page (the aim: under
20 ms), asked without the cache of answers. Fails when a route that answers a list is not asked, or does not answer.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.documents import filing_store as filed
from finapi.market.documents import metadata, submission_documents
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import lists
from finapi.web.http.route import API, INSIDERS
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.bench import filings, funds, holdings, insiders, ownership
from tests.client import Client
from tests.support.raw_sql import run_sql

NOW = datetime(2026, 1, 31, tzinfo=UTC)
FILINGS, TRANSACTIONS, FUNDS, ROWS, DOCUMENTS, SCHEDULES = 100_000, 200_000, 250, 500, 2_000, 10_000

# Routes of the other families, whose benches are tests.bench.facts and tests.bench.series.
ELSEWHERE = ("/xbrl/", "/facts")

MORE = (
    "/prices/T8",
    "/xbrl/search?q=lamp",
    "/tickers/autocomplete?q=lamp",
    # By default it answers all positions, which is no page.
    "/form-13f/aggregation/basket-holdings?period=2025-09-30&size=100&ciks=1000007,1000008,1000009",
    "/form-13f/fund/1000007?status=new",
    "/form-13f/moves?period=2025-09-30",
    "/form-13f/moves?period=2025-09-30&status=closed",
    "/form-13f/moves?cik=1000007&status=increased",
    "/form-13f/overlap?ciks=1000007,1000008",
    "/form-13f/fund/1000007/holdings-analytics",
    "/form-13f/fund-performance?quarter=2025-09-30&include_all=true",
    "/form-13f/market-rotation?compare=prev",
    "/form-13f/cross-filing-signals?quarter=2025-09-30",
    "/tickers/T8/holders?status=increased",
    "/tickers/T8/overview",
    "/cusip/chain/{cusip}",
    "/cusip/cik/5000008",
    "/cusip/cusip6/{cusip6}",
    "/cusip/lookup/{cusip}",
    "/sec/entities?form_type=4",
    "/sec/filings?ticker=T8",
    "/sec/filings?q=lamp%20corp%2012",
    "/sec/filings?form_type=NT%2010-K",
    "/sec/filings?items=2.02",
    "/sec/filings/search?q=revenue",
    "/sec/filings/search?q=w1%20w2%20%22w3%20revenue%22",
    "/sec/filings?exhibits=EX-99.1",
)
POSTS = (
    ("/cusip/batch", {"cusips": ["{cusip}"]}),
    ("/form-13f/fund/bulk", {"ciks": ["1000007", "1000008"]}),
    ("/form-13f/holdings", {"query": "cik:1000007"}),
    ("/form-13f/holdings", {"query": "cik:1000007 AND period:2025-06-30", "includeChanges": True}),
    ("/form-13f/cover-pages", {"query": "cik:1000007"}),
    ("/insiders/query", {"query": "issuer.tradingSymbol:T7"}),
    ("/form-13d", {"query": {"ticker": "T7"}, "size": 50}),
)


def fill(app: App, part: int) -> Iterator[str]:
    """Store everything in ``part`` portions. Yield a line with the CPU time of each tenth by family."""
    took = []
    for tenth in range(10):
        filing_rows = filings.rows(tenth * FILINGS // part // 10, FILINGS // part // 10)
        started = time.process_time()
        lists.upsert_index(app, filing_rows)
        took.append(time.process_time() - started)
    yield _tenths("filings", FILINGS // part, took)
    yield _tenths("documents", DOCUMENTS // part, documents(app, DOCUMENTS // part))
    yield _tenths("insiders' transactions", TRANSACTIONS // part, insiders.fill(app, TRANSACTIONS // part))
    yield _tenths("schedules, and as many notices", SCHEDULES // part, ownership.fill(app, SCHEDULES // part, NOW))
    yield _tenths("holdings", FUNDS // part * ROWS * 4, holdings.fill(app, FUNDS // part, ROWS))
    funds.fill(app, funds.FUNDS // part)
    yield funds.settle(app)


def documents(app: App, count: int) -> list[float]:
    """Store documents of 20 to 200 KB of HTML. Return the CPU time of each tenth."""
    chance, took = random.Random(7), []
    for part in range(10):
        started = time.process_time()
        for number in range(part * count // 10, (part + 1) * count // 10):
            words = [
                f"<p><b>w{int(chance.expovariate(0.002))}</b> revenue</p>" for _ in range(chance.randrange(800, 8_000))
            ]
            name = f"d{number}.htm"
            prepared_text = submission_documents.prepare_text("".join(words).encode(), name, 10**6)
            day = str(date(2015, 1, 1) + timedelta(number))
            filing_metadata = FilingMetadata(
                f"0000000777-25-{number:06}",
                metadata.HEADER_EVIDENCE,
                [Party(777, 2)],
                "8-K",
                day,
                primary_document=name,
            )
            with app.db.write() as tx:
                stored = filed.upsert(tx, filing_metadata, NOW)
                submission_documents.insert_documents(
                    tx, stored.id, [], prepared_text, max_stored_bytes=10**9, max_indexed_characters=10**9
                )
        took.append(time.process_time() - started)
    return took


def _tenths(label: str, count: int, took: list[float]) -> str:
    return (
        f"{count} {label}: {sum(took):.1f} s CPU, by tenths "
        + " ".join(f"{seconds:.1f}" for seconds in took)
        + f"; the last is {took[-1] / took[0]:.2f} of the first"
    )


def _routes() -> set[str]:
    """Return the names of the list routes over this data."""
    key_routes = (route for route in ROUTES if route.lists and route.auth == "key")
    return {route.name for route in key_routes if not route.path.removeprefix(API).startswith(ELSEWHERE)}


def first_pages(app: App) -> Iterator[tuple[float, int, str]]:
    """Yield the best of five CPU milliseconds, the answer size and the request of every list."""
    client = Client(app, users.create(app, f"{time.time_ns()}@example.com", "pro", NOW).api_key)
    with app.db.read() as tx:
        sql = "SELECT cusip FROM positions JOIN securities ON id = security_id WHERE positions.cik = 1000007 LIMIT 1"
        stored_accession = run_sql(tx, sql).fetchone()[0]
    paths = [API + path for path in (*filings.QUESTIONS, *holdings.LISTS, *funds.LISTS, *ownership.LISTS, *MORE)]
    requests = [("GET", path, None) for path in paths + [INSIDERS + path for path in insiders.CALLS]]
    requests += [("POST", API + path, body) for path, body in POSTS]
    router, list_routes = Router(ROUTES), _routes()
    for method, path, body in requests:
        full = path.replace("{cusip}", stored_accession).replace("{cusip6}", stored_accession[:6])
        filled_body = {name: _filled(value, stored_accession) for name, value in body.items()} if body else None
        took = []
        for _ in range(5):
            started = time.process_time()
            answer = client.post(full, filled_body) if filled_body else client.get(full)
            took.append(time.process_time() - started)
        match = router.match(tuple(full.partition("?")[0].strip("/").split("/")))
        assert match is not None, full
        missing = answer.status == 404 and ("/prices/" in full or "/overview" in full)
        assert answer.status == 200 or missing, f"{full}: {answer.json}"
        list_routes.discard(match.by_method[method].name)
        yield min(took) * 1000, len(answer.body), f"{method} {full}{'' if body is None else f' {body}'}"
    assert not list_routes, f"not asked: {sorted(list_routes)}"


def _filled(value: object, accession: str) -> object:
    if isinstance(value, list):
        return [_filled(member, accession) for member in value]
    return value.replace("{cusip}", accession) if isinstance(value, str) else value


def main(directory: Path, part: int) -> None:
    settings = Config(
        data_dir=directory,
        synchronous="NORMAL",
        app_per_minute=10**6,
        app_per_hour=10**6,
        insider_per_minute_paid=10**6,
        answer_bytes=0,
    )
    stored = (directory / "finapi.db").exists()
    app = apps.open_on_disk(settings, FixedClock(NOW))
    if not stored:
        for line in fill(app, part):
            print(line, flush=True)
    print(f"{sum(file.stat().st_size for file in directory.glob('finapi.db*')) / 1e6:.0f} MB")
    slow = 0
    for milliseconds, size, request in first_pages(app):
        slow += milliseconds >= 20
        print(f"{milliseconds:7.1f} ms {'!' if milliseconds >= 20 else ' '} {size:8} bytes  {request}", flush=True)
    print(f"{slow} of them at 20 ms or above")
    app.db.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", type=int, default=10)
    parser.add_argument("directory", type=Path, nargs="?")
    options = parser.parse_args()
    if options.directory:
        main(options.directory, options.part)
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(Path(directory), options.part)
