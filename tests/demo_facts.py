"""Makes the figures that the demo carries of companyfacts documents: ``python -m tests.demo_facts ../shared/edgar``.

Of each company the annual and quarterly reports filed since :data:`SINCE`, and the concepts that a metric is made of:
the documents are cut, what is left is as it was filed.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from pathlib import Path

from finapi.market import demo, financials

COMPANIES = (320193, 1640147)  # Apple, Snowflake
SINCE = "2021-10-01"
FORMS = ("10-K", "10-Q")
MEMBERS = ("start", "end", "val", "accn", "fy", "fp", "form", "filed")
FILE = Path(demo.__path__[0], "facts.pack")


def main(folder: str = "../shared/edgar") -> None:
    """Write the pack; a document is a line of it."""
    tables = [Path(financials.__path__[0], f"{name}.toml").read_text("utf-8") for name in ("metrics", "templates")]
    told = set(re.findall(r"\b[A-Z][A-Za-z]{5,}\b", "\n".join(tables)))
    lines = [cut(Path(folder, "companyfacts", f"CIK{cik:010}.json"), told) for cik in COMPANIES]
    FILE.write_bytes(zlib.compress(b"\n".join(lines), 9))


def cut(file: Path, told: set[str]) -> bytes:
    """A document with these concepts of us-gaap alone, and all of dei."""
    document = json.loads(file.read_bytes())
    facts: dict[str, dict[str, object]] = {}
    for taxonomy, concepts in document["facts"].items():
        for concept, held in concepts.items():
            units = {unit: list(map(_row, filter(_wanted, rows))) for unit, rows in held["units"].items()}
            if (taxonomy != "us-gaap" or concept in told) and any(units.values()):
                facts.setdefault(taxonomy, {})[concept] = {
                    "units": {unit: rows for unit, rows in units.items() if rows}
                }
    return json.dumps({**document, "facts": facts}, separators=(",", ":")).encode()


def _wanted(row: dict[str, str]) -> bool:
    return row["filed"] >= SINCE and row["form"] in FORMS


def _row(row: dict[str, object]) -> dict[str, object]:
    return {name: row[name] for name in MEMBERS if name in row}


if __name__ == "__main__":
    main(*sys.argv[1:])
