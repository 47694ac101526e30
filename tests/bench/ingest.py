"""Ingest of Apple's 10-Q of 2025-03-29 against bare xml.etree parsing the same six files.

    python -m tests.bench.ingest [ROUNDS]

Prints the medians of interleaved rounds, their ratio (the aim: at most 3) and the peak memory of the process.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from finapi import app as apps
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest

FOLDER = Path(__file__).parents[3] / "shared/edgar/xbrl/aapl-10q-20250329_0000320193-25-000057"


def main(rounds: int) -> None:
    files = [path for path in sorted(FOLDER.glob("aapl-20250329*")) if path.suffix in (".xml", ".xsd")]
    assert len(files) == 6, files
    bare, ours = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        for file in files:
            ElementTree.fromstring(file.read_bytes())
        bare.append(time.perf_counter() - started)
        with tempfile.TemporaryDirectory() as directory:
            app = apps.open_on_disk(Config(data_dir=Path(directory)))
            started = time.perf_counter()
            counts = ingest.run(app, files, IngestOptions(filed_at="2025-05-02"), lambda outcome: None)
            ours.append(time.perf_counter() - started)
            app.db.close()
        assert counts["ingested"] == 6, counts
    bare_seconds, finapi_seconds = statistics.median(bare), statistics.median(ours)
    print(
        f"xml.etree {bare_seconds * 1000:.1f} ms, ingest {finapi_seconds * 1000:.1f} ms, "
        f"ratio {finapi_seconds / bare_seconds:.2f} (aim 3)"
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (aim 150)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
