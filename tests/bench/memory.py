"""Resident memory after a thousand different calls, and after the books of many companies.

    python -m tests.bench.memory [COMPANIES] [EDGAR]

A server with default settings but for its limits, over COMPANIES (90) made of the real companyfacts at hand: a long
series of each, then a thousand different questions, a third of them series, screens and exports. Prints how many
megabytes are resident beyond those of the idle server, after the first question of each kind, after each kind, and
again when the server has given back what it can.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.core.config import Config
from finapi.core.memory import CHECK_SECONDS
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.bench.backfill import EDGAR, companyfacts
from tests.bench.metered import UNLIMITED

ROOT = Path(__file__).parents[2]
API = "/api/v1/xbrl"
METRICS = ("revenue", "net_income", "total_assets", "total_equity", "operating_income", "cash_and_equivalents", "capex")
EACH = 334


def store(directory: Path, companies: int, edgar: Path) -> str:
    """Fill a data directory. Return the key of a user."""
    config = Config(data_dir=directory, pro_tokens=1_000_000_000)
    app = apps.open_on_disk(config)
    with tempfile.TemporaryDirectory() as temporary_dir:
        for cik, data in enumerate(companyfacts(edgar, companies), 1):
            file = Path(temporary_dir, f"CIK{cik:010}.json")
            file.write_bytes(data)
            ingest.run(app, [file], IngestOptions(), lambda outcome: None)
            file.unlink()
    user = users.create(app, "bench@example.com", "pro", app.clock.now())
    app.db.close()
    return user.api_key


def books(companies: int) -> Iterable[str]:
    """Request a series of everything, of each company."""
    return (
        f"{API}/timeseries?ticker={cik}&period=Q&ratios=true&template=true&years=10" for cik in range(1, companies + 1)
    )


def questions(companies: int) -> dict[str, list[str]]:
    """Return different requests, by kind."""
    dice = random.Random(20260131)
    paths_by_group: dict[str, list[str]] = {"series": [], "screens": [], "exports": []}
    for number in range(EACH):
        cik, metrics = 1 + number % companies, ",".join(dice.sample(METRICS, 4))
        paths_by_group["series"].append(
            f"{API}/timeseries?ticker={cik}&metrics={metrics}&period=Q&years={5 + number % 9}"
        )
        paths_by_group["screens"].append(f"{API}/screen?roe_gt={number / 10_000}&limit=100")
        paths_by_group["exports"].append(f"{API}/facts?cik={cik}&format=csv&limit={1_000 + number}")
    return paths_by_group


def resident(pid: int) -> float:
    """Return resident memory in megabytes."""
    return int(re.findall(r"VmRSS:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def main(companies: int, edgar: Path) -> None:
    """Send the calls and print the resident memory."""
    with tempfile.TemporaryDirectory(prefix="finapi-bench-") as directory:
        key = store(Path(directory), companies, edgar)
        command = [sys.executable, "run.py", "serve", "--ready", "json", "--port", "0", "--data-dir", directory]
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **UNLIMITED}, stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            time.sleep(2)  # until the workers have had their first turns
            idle = resident(ready["pid"])
            print(f"idle {idle:.0f} MB, {companies} companies")
            connection = http.client.HTTPConnection("127.0.0.1", ready["port"])
            paths_by_group = questions(companies)
            first = [paths[0] for paths in paths_by_group.values()]
            for kind, paths in {"first": first, "books": books(companies), **paths_by_group}.items():
                size = 0
                for path in paths:
                    connection.request("GET", path, headers={"X-API-Key": key})
                    answer = connection.getresponse()
                    body = answer.read()
                    size += len(body)
                    if answer.status != 200:
                        raise SystemExit(f"{path}: {answer.status} {body[:200]!r}")
                print(
                    f"{kind:8} +{resident(ready['pid']) - idle:.0f} MB ({size / 1e6:.0f} MB answered)",
                    end=", ",
                    flush=True,
                )
                time.sleep(CHECK_SECONDS + 2)
                print(f"+{resident(ready['pid']) - idle:.0f} when what is free is given back")
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 90, Path(sys.argv[2]) if len(sys.argv) > 2 else EDGAR)
