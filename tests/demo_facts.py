"""Write the demo's pack of companyfacts documents: ``python -m tests.demo_facts ../shared/edgar``.

The pack contains for each company the facts of annual and quarterly reports filed since :data:`FIRST_FILING_DATE`, of
the concepts that metrics use. The documents are shortened; the remaining facts are unchanged.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

from finapi.market import financials
from finapi.market.demo import demo_data

COMPANIES = (320193, 1640147)  # CIKs of Apple and Snowflake.
FIRST_FILING_DATE = "2021-10-01"
FORMS = ("10-K", "10-Q")
MEMBERS = ("start", "end", "val", "accn", "fy", "fp", "form", "filed")
PACK = Path(demo_data.__file__).parent / demo_data.FACTS


def main(folder: str = "../shared/edgar") -> None:
    """Write the pack, with one document on each line."""
    concepts = find_metric_concepts()
    documents = [shorten_document(Path(folder, "companyfacts", f"CIK{cik:010}.json"), concepts) for cik in COMPANIES]
    PACK.write_bytes(zlib.compress(b"\n".join(documents), 9))


def find_metric_concepts() -> set[str]:
    """Return the names of concepts in the tables of metrics and statement templates."""
    concepts: set[str] = set()
    for table in ("metrics", "templates"):
        text = Path(financials.__path__[0], f"{table}.toml").read_text("utf-8")
        concepts.update(re.findall(r"\b[A-Z][A-Za-z]{5,}\b", text))
    return concepts


def shorten_document(file: Path, concepts: set[str]) -> bytes:
    """Return a document with only these concepts of us-gaap, and all concepts of other taxonomies."""
    document = json.loads(file.read_bytes())
    facts: dict[str, dict[str, Any]] = {}
    for taxonomy, concept_facts in document["facts"].items():
        for concept, members in concept_facts.items():
            if taxonomy == "us-gaap" and concept not in concepts:
                continue
            units = shorten_units(members["units"])
            if units:
                facts.setdefault(taxonomy, {})[concept] = {"units": units}
    return json.dumps({**document, "facts": facts}, separators=(",", ":")).encode()


def shorten_units(units: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return the facts of recent reports by unit, without units that have none."""
    shortened = {}
    for unit, facts in units.items():
        recent = [fact for fact in facts if fact["filed"] >= FIRST_FILING_DATE and fact["form"] in FORMS]
        if recent:
            shortened[unit] = [{name: fact[name] for name in MEMBERS if name in fact} for fact in recent]
    return shortened


if __name__ == "__main__":
    main(*sys.argv[1:])
