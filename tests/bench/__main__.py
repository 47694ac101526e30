"""Costs of finapi's work compared with the least that the same bytes could cost, in one table.

    python -m tests.bench [--rounds 3] [--only WORDS] [--last FILE] [--edgar DIRECTORY]

Each row is CPU time beside that of something else in the same round, row after row and round after round, which means
the same on a slow machine: a parse of the same bytes by ``json.loads`` or ``xml.etree``, the splitting of the same
lines, the same rows stored by bare SQLite, a bare waitress, the threading server of ``websockets``, the same list over
a fifth of the rows; where nothing is alike, ``json.loads`` of Apple's companyfacts (3.7 MB, the "unit"). Medians go
into ``--last`` as JSON, and what moved by more than 8 % since is marked. A row that breaks is told with its error, the
others go on, and the exit status is 1. Steal is time that the host gave to others: with more than a few per cent of it
measure again. ``tests.bench.metered`` has the rows of billed calls, on one core and split. Two minutes in all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.cache import Cache
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.filings import lists
from finapi.market.intake import ingest, latest_years_work
from tests.bench import backfill, feeds, webhooks
from tests.bench.bare import BareSqlite
from tests.bench.filings import rows as index_rows
from tests.bench.metered import MOVED, ROOT, ticks
from tests.client import Client
from tests.support import thirteenf_xml
from tests.support.raw_sql import run_sql, run_sql_many

LAST = Path(__file__).with_name("rows.json")
LISTED = "submissions/CIK0000320193.json"
REPORT = "xbrl/aapl-10q-20250329_0000320193-25-000057"
FEW, MANY = 10_000, 50_000  # lines of an index before and after a list has grown
FEW_COMPANIES, COMPANIES = 8, 40
POSITIONS = 10_000  # of a 13F
# A pair of seconds: of the work, and of what it is compared with.
Pair = tuple[float, float]
BARE = (
    "import waitress.server as s; s.create_server(lambda e, r: [], listen='127.0.0.1:0'); print('ready', flush=True); "
    "input()"
)


def spent(act: Callable[[], object]) -> float:
    """Return the CPU seconds that work takes in this process."""
    began = time.process_time()
    act()
    return time.process_time() - began


def started(command: Sequence[str]) -> float:
    """Return the CPU seconds of a process up to its first line, with compiled bytecode."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    options: Any = {"cwd": ROOT, "env": environ, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen([sys.executable, *command], **options) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    """A store on disk, and the work of every row."""

    def __init__(self, directory: Path, edgar: Path) -> None:
        self.directory, self.edgar, self.number = directory, edgar, count(1)
        self.bare: BareSqlite | None = None
        self.apple = (edgar / "companyfacts/CIK0000320193.json").read_bytes()
        many = 10**9
        config = Config(
            data_dir=self.folder("data"),
            xbrl_per_minute=many,
            xbrl_burst=many,
            app_per_minute=many,
            app_per_hour=many,
            pages_per_minute=many,
            pro_tokens=many,
            answer_bytes=0,
            webhook_allow=("127.0.0.0/8",),
        )
        self.app = apps.open_on_disk(config)
        self.user = users.create(self.app, "bench@example.com", "pro", self.app.clock.now())
        for folder in ("companyfacts", "companyfacts_trimmed", "thirteenf", "ownership"):
            self.take([edgar / folder])
        self.few: dict[str, float] = {}
        for number, document in enumerate(backfill.companyfacts(edgar, COMPANIES), 1):
            self.take([self._file("CIK{}.json", document)])
            if number == FEW_COMPANIES:
                self.few = {path: self.asked(path) for path in OF_COMPANIES}
        lists.upsert_index(self.app, index_rows(0, FEW))
        self.few |= {path: self.asked(path) for path in GROWING}
        lists.upsert_index(self.app, index_rows(FEW, MANY - FEW))

    def folder(self, name: str) -> Path:
        """Return an empty directory."""
        (self.directory / name).mkdir(mode=0o700)
        return self.directory / name

    def _file(self, name: str, data: bytes) -> Path:
        file = self.directory / name.format(f"{next(self.number):010}")
        file.write_bytes(data)
        return file

    def take(self, files: Sequence[Path], app: App | None = None) -> None:
        """Ingest files completely or raise."""
        counts = ingest.run(app or self.app, files, IngestOptions(filed_at="2025-11-14"), lambda outcome: None)
        assert counts["ingested"], (files, counts)

    def unit(self) -> float:
        """Return the work that rows without a counterpart are compared with."""
        return spent(lambda: json.loads(self.apple))

    def asked(self, path: str) -> float:
        """Return the median CPU of a call over a store with empty caches."""
        # As the worker of a server has it, soon after an ingest.
        latest_years_work.compute_all_latest_years(self.app)
        times = []
        for _ in range(5):
            fresh = replace(
                self.app,
                fact_book_cache=Cache(apps.FACT_BOOK_CACHE_BYTES, len),
                screening_cache=Cache(apps.SCREENING_CACHE_BYTES, len),
                static_bodies={},
            )
            client = Client(fresh, self.user.api_key)
            client.get("/api/v1/policy")
            headers = {"Accept": "application/json" if path.startswith("/api") else "text/html"}
            times.append(spent(partial(self._answered, client, path, headers)))
        return statistics.median(times)

    def _answered(self, client: Client, path: str, headers: dict[str, str]) -> None:
        if path == MCP:
            tool = {"name": "find_company", "arguments": {"q": "apple"}}
            answer = client.post(MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool})
        else:
            answer = client.get(path, headers=headers)
        assert answer.status == 200, (path, answer.body[:300])
        assert path != MCP or b'"error"' not in answer.body, (path, answer.body[:300])

    # ---- rows

    def read(self, document: str) -> Pair:
        """Ingest a document of a new company, and parse it."""
        data = backfill.of_company((self.edgar / document).read_text(), next(self.number) + 5_000)
        file = self._file("CIK{}.json", data)
        return spent(lambda: self.take([file])), spent(lambda: json.loads(data))

    def listed(self) -> Pair:
        """Store a company's list of filings, and the same rows with a bare connection."""
        self.bare = self.bare or BareSqlite(self.app, self.directory / "bare.db")
        cik = next(self.number) + 9_000_000
        data = backfill.of_company((self.edgar / LISTED).read_text(), cik)
        file = self._file("CIK{}.json", data)
        return spent(lambda: self.take([file])), self.bare.add(cik, data)

    def report(self) -> Pair:
        """Ingest an XBRL filing with its linkbases into its own store."""
        files = [file for file in sorted((self.edgar / REPORT).glob("aapl-2*")) if file.suffix in (".xml", ".xsd")]
        app = apps.open_on_disk(Config(data_dir=self.folder(f"report{next(self.number)}")))
        work = spent(lambda: self.take(files, app))
        app.db.close()
        return work, spent(lambda: [ElementTree.fromstring(file.read_bytes()) for file in files])

    def holdings(self) -> Pair:
        """Ingest a 13F of ten thousand positions."""
        cik = f"{next(self.number) + 7_000_000:010}"
        rows = [thirteenf_xml.row(f"{n:08}0", 1_000 + n, 10 + n, nameOfIssuer=f"CO {n}") for n in range(POSITIONS)]
        folder = self.folder(cik)
        (folder / "primary_doc.xml").write_bytes(thirteenf_xml.cover(cik=cik, entries=POSITIONS))
        table = folder / "infotable.xml"
        table.write_bytes(thirteenf_xml.table(*rows))
        return spent(lambda: self.take([folder])), spent(lambda: ElementTree.fromstring(table.read_bytes()))

    def quarter(self) -> Pair:
        """Ingest a quarterly data set into its own store."""
        app = apps.open_on_disk(Config(data_dir=self.folder(f"quarter{next(self.number)}")))
        file = self.edgar / "fsds/2009q3.zip"
        pair = spent(lambda: self.take([file], app)), spent(lambda: backfill._split(file))
        app.db.close()
        return pair

    def quarter_of_rows(self) -> Pair:
        """Ingest a quarterly data set, and insert the same rows with a bare connection after splitting its lines."""
        app, bare = (apps.open_on_disk(Config(data_dir=self.folder(f"rows{next(self.number)}"))) for _ in range(2))
        file = self.edgar / "fsds/2009q3.zip"
        work = spent(lambda: self.take([file], app))
        with app.db.read() as tx:
            cursors = {table: run_sql(tx, f"SELECT * FROM {table}") for table in OF_A_QUARTER}
            rows = {table: list(map(tuple, cursor)) for table, cursor in cursors.items()}
        least = spent(lambda: backfill._split(file)) + spent(lambda: self._put_bare(bare, rows))
        for database in (app, bare):
            database.db.close()
        return work, least

    def _put_bare(self, app: App, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        for table, all_rows in rows.items():
            size = len(all_rows) // PORTIONS + 1
            marks = ",".join("?" * len(all_rows[0]))
            for at in range(0, len(all_rows), size):
                with app.db.write() as tx:
                    run_sql_many(tx, f"INSERT OR IGNORE INTO {table} VALUES ({marks})", all_rows[at : at + size])

    def delivered(self) -> Pair:
        """Send three hundred webhooks to receivers."""
        directory = self.folder(f"webhooks{next(self.number)}")
        app = apps.open_on_disk(replace(self.app.config, data_dir=directory))
        work = spent(lambda: webhooks.throughput(app, 300))
        app.db.close()
        return work / 300, self.unit()


# The tables that a data set fills, in an order that their references allow; its filings are stored in some portions.
OF_A_QUARTER = (
    "companies",
    "concepts",
    "units",
    "dimensions",
    "filings",
    "filing_terms",
    "reports",
    "fact_sets",
    "facts",
    "sections",
    "lines",
    "section_columns",
)
PORTIONS = 22
MCP = "/api/mcp"
# A screen that no company passes, so that all are looked at.
OF_COMPANIES = ("/api/v1/xbrl/screen?roe_gt=1e6", "/api/v1/facts/by-concept?concept=Assets&limit=20")
GROWING = ("/api/v1/sec/filings?limit=20", "/api/v1/sec/filings?form_type=10-K&limit=20", "/api/v1/stats")
ASKED = {
    "first series": "/api/v1/xbrl/timeseries?ticker=320193&metrics=revenue,net_income",
    "first series, all": "/api/v1/xbrl/timeseries?ticker=320193",
    "cold screen": "/api/v1/xbrl/screen?roe_gt=0.1&limit=20",
    "13F funds": "/api/v1/form-13f/funds?limit=20",
    "insiders": "/api/v1/insiders/transactions/by-insider/1780525?from_date=2000-01-01",
    "OpenAPI document": "/openapi.json",
    "facts of a concept": "/api/v1/facts/by-concept?concept=Assets&limit=20",
    "front page": "/",
    "page of the changelog": "/changelog",
    "MCP: find a company": MCP,
}


def rows_of(bench: Bench) -> dict[str, Callable[[], Pair]]:
    """Return every row by its name."""

    def to_ready(verb: str) -> Pair:
        data = ["--data-dir", str(bench.folder(f"start{next(bench.number)}"))] if verb == "serve" else []
        ready = ["run.py", verb, "--ready", "json", "--port", "0", *data]
        return min(started(ready), started(ready)), started(["-c", BARE])  # the first may write bytecode

    def ask(path: str) -> Pair:
        return bench.asked(path), bench.unit()

    def grown(path: str) -> Pair:
        return bench.asked(path), bench.few[path]

    return {
        "start: serve": partial(to_ready, "serve"),
        "start: demo": partial(to_ready, "demo"),
        "ingest: companyfacts": partial(bench.read, "companyfacts/CIK0001835632.json"),
        "ingest: submissions": partial(bench.read, LISTED),
        "ingest: submissions, of SQLite": bench.listed,
        "ingest: XBRL": bench.report,
        "ingest: 13F": bench.holdings,
        "ingest: data set": bench.quarter,
        "ingest: data set, of bare rows": bench.quarter_of_rows,
        **{f"ask: {name}": partial(ask, path) for name, path in ASKED.items()},
        **{f"grown: {path[8:]}": partial(grown, path) for path in (*OF_COMPANIES, *GROWING)},
        "webhook": bench.delivered,
        "feed message": lambda: (feeds.sending("finapi", 50, 100), feeds.sending("websockets.sync", 50, 100)),
    }


def main() -> int:
    """Measure every row in turn, print the table and save it. Return 1 if a row failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose names hold one of these words, with commas")
    parser.add_argument("--last", type=Path, default=LAST)
    parser.add_argument("--edgar", type=Path, default=backfill.EDGAR)
    options = parser.parse_args()
    began = ticks()
    with tempfile.TemporaryDirectory(prefix="finapi-bench-") as directory:
        bench = Bench(Path(directory), options.edgar)
        rows = {
            name: row for name, row in rows_of(bench).items() if any(map(name.__contains__, options.only.split(",")))
        }
        pairs_by_row, broken = measured(rows, options.rounds)
        bench.app.db.close()
    last = json.loads(options.last.read_text()) if options.last.exists() else {}
    stolen, passed = (after - before for before, after in zip(began, ticks(), strict=True))
    print(f"{f'steal: {stolen / passed:.1%}':50} {'CPU ms':>9} {'of':>9} {'ratio':>8}")
    for name, pairs in pairs_by_row.items():
        ratio = round(statistics.median(work / least for work, least in pairs), 4)
        work, least = (round(1000 * statistics.median(pair[at] for pair in pairs), 3) for at in range(2))
        before = last.get(name, {}).get("ratio")
        mark = f"  {ratio / before - 1:+.0%} since {before}" if before and abs(ratio / before - 1) > MOVED else ""
        print(f"{name:50} {work:9.2f} {least:9.2f} {ratio:8.3f}{mark}")
        last[name] = {"work_ms": work, "least_ms": least, "ratio": ratio}
    options.last.write_text(json.dumps(last, indent=1) + "\n")
    for name, why in broken.items():
        print(f"{name} broke: {why}")
    return 1 if broken else 0


def measured(rows: Mapping[str, Callable[[], Pair]], rounds: int) -> tuple[dict[str, list[Pair]], dict[str, str]]:
    """Return the measurements of each row by round, and the errors of failed rows, which are not repeated."""
    pairs_by_row: dict[str, list[Pair]] = {name: [] for name in rows}
    broken: dict[str, str] = {}
    for _ in range(rounds):
        for name in [name for name in rows if name not in broken]:
            try:
                pairs_by_row[name].append(rows[name]())
            except Exception as error:  # whatever it is, the other rows are measured
                broken[name] = traceback.format_exception_only(error)[-1].strip()
                del pairs_by_row[name]
    return pairs_by_row, broken


if __name__ == "__main__":
    sys.exit(main())
