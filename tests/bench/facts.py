"""Ingest and reading of figures against json.loads of the same bytes, and what they take on disk and in memory.

    python -m tests.bench.facts [ROUNDS]          Apple's companyfacts, 3.7 MB
    python -m tests.bench.facts zip [COMPANIES]   a zip of made-up companies, each as large as Marvell
    python -m tests.bench.facts small [COMPANIES] the same, each a tenth of that
    python -m tests.bench.facts quarter           the data sets of 2009q3

Times are medians of interleaved rounds; the aims stand beside the figures.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from finapi import app as apps
from finapi.app import App
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.market.statements import filed_facts

EDGAR = Path(__file__).parents[3] / "shared/edgar"
APPLE = EDGAR / "companyfacts/CIK0000320193.json"


def taken(act: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def take(app: App, file: Path) -> dict[str, int]:
    return ingest.run(app, [file], IngestOptions(), lambda outcome: None)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def count(app: App, company: int) -> int:
    with app.db.read() as tx:
        return len(filed_facts.list_company_facts(tx, company))


def one_company(rounds: int) -> None:
    """Parse, store, commit and read one large document."""
    data = APPLE.read_bytes()
    loads, first, again, reading, size = [], [], [], [], 0
    for _ in range(rounds):
        loads.append(taken(lambda: json.loads(data)))
        with tempfile.TemporaryDirectory() as directory:
            app = apps.open_on_disk(Config(data_dir=Path(directory)))
            first.append(taken(lambda app=app: take(app, APPLE)))
            again.append(taken(lambda app=app: take(app, APPLE)))
            reading.append(taken(lambda app=app: count(app, 320193)))
            rows = count(app, 320193)
            app.db.close()
            size = (Path(directory) / "finapi.db").stat().st_size
    load_ms, first_ms = statistics.median(loads), statistics.median(first)
    print(f"json.loads {load_ms:.0f} ms, ingest {first_ms:.0f} ms, ratio {first_ms / load_ms:.2f} (aim 5)")
    print(f"the same again {statistics.median(again):.0f} ms")
    print(f"reading {rows} figures {statistics.median(reading):.0f} ms")
    print(f"a million figures take {size / rows:.0f} MB (aim 120), everything of the store counted")
    memory()


def many_companies(companies: int, pattern: str) -> None:
    """Stream a zip like the SEC's companyfacts.zip; the peak memory does not depend on its size."""
    document = json.loads((EDGAR / "companyfacts" / pattern).read_bytes())
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "companyfacts.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for cik in range(1, companies + 1):
                # Accession numbers of its own: a filing has one company.
                text = json.dumps(document | {"cik": cik})
                text = re.sub('"accn": "[0-9]{10}', f'"accn": "{cik:010}', text)
                archive.writestr(f"CIK{cik:010}.json", text)
        del document
        app = apps.open_on_disk(Config(data_dir=_made(Path(directory) / "data")))
        counts: dict[str, int] = {}
        spent = taken(lambda: counts.update(take(app, file)))
        rows = count(app, 1) * counts["ingested"]
        app.db.close()
        size = (Path(directory) / "data" / "finapi.db").stat().st_size
    print(f"{counts['ingested']} companies, {rows} figures in {spent / 1000:.1f} s")
    print(f"18,000 of them would take {spent / counts['ingested'] * 18_000 / 60_000:.0f} min")
    print(f"a million figures take {size / rows:.0f} MB (aim 120), everything of the store counted")
    memory()


def quarter() -> None:
    """Ingest one quarter of the data sets, with statements."""
    with tempfile.TemporaryDirectory() as directory:
        app = apps.open_on_disk(Config(data_dir=Path(directory)))
        spent = taken(lambda: take(app, EDGAR / "fsds/2009q3.zip"))
        app.db.close()
    print(f"2009q3 in {spent / 1000:.1f} s")
    memory()


def memory() -> None:
    """Return the peak memory of this process; getrusage would include its parent's."""
    peak = int(re.findall(r"VmHWM:\s+([0-9]+) kB", Path("/proc/self/status").read_text())[0]) / 1024
    print(f"peak memory {peak:.0f} MB (aim 200)")


if __name__ == "__main__":
    count_of = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    if sys.argv[1:2] == ["zip"]:
        many_companies(count_of, "CIK0001835632.json")
    elif sys.argv[1:2] == ["small"]:
        many_companies(count_of, "CIK0001997711.json")
    elif sys.argv[1:2] == ["quarter"]:
        quarter()
    else:
        one_company(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
