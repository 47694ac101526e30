"""Loads the embedded data through the same code that stores an ingest."""

from __future__ import annotations

import csv
import zlib

from finapi.app import App
from finapi.core.files import get_package_folder
from finapi.edgar import companyfacts
from finapi.edgar.form_families import FAMILIES, XBRL
from finapi.market.demo import quotes
from finapi.market.documents import announcements, filing_store, packs
from finapi.market.documents.metadata import LISTED_RANK, SUBMISSIONS_EVIDENCE, FilingMetadata, Party
from finapi.market.statements import fact_sets

LISTED_FILINGS = "filings.tsv"  # of Apple, from EDGAR's own list of submissions
FACTS = "facts.pack"  # of Apple and Snowflake: python -m tests.demo_facts
APPLE = Party(320193, LISTED_RANK, "Apple Inc.")


def load(app: App) -> int:
    """Store every embedded report, form and list, and made up prices; how many documents were new."""
    quotes.load(app)
    folder = get_package_folder("finapi.market.demo")
    new = 0
    # Reports first, which bring the tickers that are told with each filing.
    for form in (XBRL, *(form for form in FAMILIES if form is not XBRL)):
        file = f"{form.name}.pack"
        if (folder / file).is_file():
            new += packs.load(app, (folder / file).read_bytes(), file)
        if form is XBRL:
            _load_list(app, (folder / LISTED_FILINGS).read_text("utf-8"))
    return new + _load_facts(app, (folder / FACTS).read_bytes())


def _load_list(app: App, text: str) -> None:
    """Announce the filings of a list, old as they are, so that the main feed has something to tell from the start."""
    now = app.clock.now()
    with app.db.write() as tx:
        for row in csv.DictReader(text.splitlines(), delimiter="\t"):
            values = {name: value or None for name, value in row.items()}
            numbers = {name: int(row[name]) for name in ("size", "is_xbrl", "is_inline_xbrl")}
            told = FilingMetadata(evidence=SUBMISSIONS_EVIDENCE, parties=(APPLE,), **{**values, **numbers})  # type: ignore[arg-type]
            filing_store.upsert(tx, told, now, announces=False)
            announcements.announce_filing(tx, now, accession=row["accession"])
        tx.run("bump_data_version")


def _load_facts(app: App, data: bytes) -> int:
    """The years of figures that no document is held of: companyfacts documents, a line each."""
    new = 0
    for line in zlib.decompress(data).splitlines():
        made = companyfacts.parse(line, FACTS)
        with app.db.write() as tx:
            new += fact_sets.upsert_companyfacts(tx, made, app.clock.now())
    return new
