"""Write the packs of the demo from the SEC's own documents: ``python -m tests.demo_packs ../shared/edgar``.

Every document is stored as an ingest stores it, and the packs are dumped from that database. Documents that do not
contain their accession number or filing day get them from the tables below. The same documents and the same code
give the same bytes: tests/market/demo/test_demo_packs.py compares them with the committed packs.

The companyfacts documents are shortened to the facts of annual and quarterly reports filed since
:data:`FIRST_FILING_DATE`, of the concepts that metrics use; the remaining facts are unchanged. So the packs are to be
written again when metrics.toml or templates.toml names another concept.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finapi.app import App, create_in_memory
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.form_families import OWNERSHIP, THIRTEEN_F, XBRL
from finapi.market import financials
from finapi.market.demo import demo_data
from finapi.market.documents import packs
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest

FOLDER = Path(demo_data.__file__).parent
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

# The documents of each filing: a pattern of paths in the folder of documents, the accession number and the filing day.
# The last two are None if the documents or Apple's list of submissions have them. Upexi's day is not known. The table
# of Berkshire Hathaway's 13F has 5 of its 90 rows; those of the other managers are complete.
FILINGS: tuple[tuple[str, str | None, str | None], ...] = (
    ("xbrl/aapl-10k-20230930_0000320193-23-000106", "0000320193-23-000106", None),
    ("xbrl/aapl-10k-20240928_0000320193-24-000123", "0000320193-24-000123", None),
    ("xbrl/aapl-10q-20250329_0000320193-25-000057", "0000320193-25-000057", None),
    ("xbrl/nflx-10q-20100930", "0001193125-10-235785", "2010-10-26"),
    ("xbrl/nflx-10q-20240331", "0001065280-24-000128", "2024-04-22"),
    ("xbrl/aeon-10q-20230930", "0001558370-23-018706", "2023-11-13"),
    ("xbrl/upxi-10k-20240630_0001477932-24-008123", "0001477932-24-008123", None),
    ("ownership/form3_0000320193_newstead_20260301_0001780525-26-000003.xml", "0001780525-26-000003", "2026-03-06"),
    ("ownership/form3_0001640147_berkshire_20200918.xml", "0001209191-20-052220", "2020-09-28"),
    ("ownership/form4A_0000707549_ahmed_0000707549-25-000004.txt", None, None),
    ("ownership/form4_0000001750_garascia_0001127602-25-001055.txt", None, None),
    ("ownership/form4_0000320193_adams_0000320193-22-000061.txt", None, None),
    ("ownership/form4_0000320193_newstead_20260615_0001140361-26-025622.xml", "0001140361-26-025622", "2026-06-17"),
    (
        "ownership/form4_0000927066_berkshire_davita_20260501_0001193125-26-207021.xml",
        "0001193125-26-207021",
        "2026-05-05",
    ),
    ("ownership/form5_0000320193_wagner_20240928_0000320193-24-000102.xml", "0000320193-24-000102", None),
    ("thirteenf/brk_2026q1_0001193125-26-226661_*.xml", "0001193125-26-226661", "2026-05-15"),
    ("thirteenf/0001140361-23-013281.txt", None, None),
    ("thirteenf/0001619124-21-000002.txt", None, None),
    ("thirteenf/0001894188-23-000007.txt", None, None),
)
# Documents whose text is stored: a path, and the accession number of a page (a full submission has its own).
TEXTS: tuple[tuple[str, str | None], ...] = (
    ("xbrl/aapl-10q-20250329_0000320193-25-000057/aapl-20250329.htm", "0000320193-25-000057"),
    ("sgml/0000912057-00-023442.txt", None),
    ("sgml/0001104659-25-002604.txt", None),
)

# Companies whose figures of several years are included: Apple, Snowflake, Marvell.
FACT_CIKS = (320193, 1640147, 1835632)
FIRST_FILING_DATE = "2021-10-01"
FACT_FORMS = ("10-K", "10-Q")
FACT_MEMBERS = ("start", "end", "val", "accn", "fy", "fp", "form", "filed")

# Companies whose lists of filings are included, with the filings on the forms below since the day below.
LISTED_CIKS = (320193, 1835632)
LISTED_FORMS = ("10-K", "10-Q", "8-K", "DEF 14A")
FIRST_LISTED_DATE = "2024-08-01"
LIST_MEMBERS = ("cik", "name", "sic", "sicDescription", "tickers", "exchanges", "fiscalYearEnd", "formerNames")

PACKED_FAMILIES = (XBRL, OWNERSHIP, THIRTEEN_F)


def main(folder: str = "../shared/edgar") -> None:
    """Write the packs."""
    for name, content in build_packs(Path(folder)).items():
        (FOLDER / name).write_bytes(content)


def build_packs(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of the demo's data by its name."""
    app = create_in_memory(Config(), FixedClock(NOW))
    ingest_or_raise(app, [folder / "submissions/CIK0000320193.json"], IngestOptions())
    for pattern, accession, filed_at in FILINGS:
        ingest_or_raise(app, sorted(folder.glob(pattern)), IngestOptions(accession, filed_at))
    with app.db.read() as tx:
        contents = {f"{family.name}.pack": packs.dump(tx, family) for family in PACKED_FAMILIES}
    app.db.close()
    concepts = find_metric_concepts()
    facts = [shorten_facts(folder / f"companyfacts/CIK{cik:010}.json", concepts) for cik in FACT_CIKS]
    contents[demo_data.FACTS] = compress_lines(facts)
    lists = [shorten_list(folder / f"submissions/CIK{cik:010}.json") for cik in LISTED_CIKS]
    contents[demo_data.SUBMISSIONS] = compress_lines(lists)
    contents[demo_data.TEXTS] = compress_lines([build_text(folder / path, accession) for path, accession in TEXTS])
    return contents


def ingest_or_raise(app: App, paths: list[Path], options: IngestOptions) -> None:
    """Store files or folders. Raise ValueError if there are none or a document was refused."""
    if not paths:
        raise ValueError(f"{options.accession or 'a filing'}: no such documents")
    outcomes: list[Outcome] = []
    ingest.run(app, paths, options, outcomes.append)
    refusals = [f"{outcome.path}: {outcome.reason}" for outcome in outcomes if outcome.outcome == "refused"]
    if refusals:
        raise ValueError("\n".join(refusals))


def find_metric_concepts() -> set[str]:
    """Return the names of concepts in the tables of metrics and statement templates."""
    concepts: set[str] = set()
    for table in ("metrics", "templates"):
        text = Path(financials.__path__[0], f"{table}.toml").read_text("utf-8")
        concepts.update(re.findall(r"\b[A-Z][A-Za-z]{5,}\b", text))
    return concepts


def shorten_facts(file: Path, concepts: set[str]) -> Any:
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
    return {**document, "facts": facts}


def shorten_units(units: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return the facts of recent reports by unit, without units that have none."""
    shortened = {}
    for unit, facts in units.items():
        recent = [fact for fact in facts if fact["filed"] >= FIRST_FILING_DATE and fact["form"] in FACT_FORMS]
        if recent:
            shortened[unit] = [{name: fact[name] for name in FACT_MEMBERS if name in fact} for fact in recent]
    return shortened


def shorten_list(file: Path) -> Any:
    """Return a submissions document with only the listed forms and the members that are stored."""
    document = json.loads(file.read_bytes())
    recent = document["filings"]["recent"]
    indexes = [
        index
        for index, form in enumerate(recent["form"])
        if form in LISTED_FORMS and recent["filingDate"][index] >= FIRST_LISTED_DATE
    ]
    columns = {name: [values[index] for index in indexes] for name, values in recent.items()}
    members = {name: document[name] for name in LIST_MEMBERS}
    return {**members, "filings": {"recent": columns, "files": []}}


def build_text(file: Path, accession: str | None) -> Any:
    """Return a document with text: its name, the accession number if it is a page, and the text."""
    return [file.name, accession, file.read_bytes().decode()]


def compress_lines(documents: list[Any]) -> bytes:
    """Return documents as JSON lines in a zlib stream."""
    lines = [json.dumps(document, ensure_ascii=False, separators=(",", ":")) for document in documents]
    return zlib.compress("\n".join(lines).encode(), 9)


if __name__ == "__main__":
    main(*sys.argv[1:])
