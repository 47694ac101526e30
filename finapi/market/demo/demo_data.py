"""Loading of the embedded demo data, through the same functions that store an ingest."""

from __future__ import annotations

import csv
import zlib

from finapi.app import App
from finapi.core.files import get_package_folder
from finapi.edgar import companyfacts
from finapi.edgar.form_families import FAMILIES, XBRL
from finapi.market.demo import demo_prices
from finapi.market.documents import announcements, filing_store, packs
from finapi.market.documents.metadata import LISTED_RANK, SUBMISSIONS_EVIDENCE, FilingMetadata, Party
from finapi.market.statements import fact_sets

LISTED_FILINGS = "filings.tsv"  # Filings of Apple, from EDGAR's list of its submissions.
FACTS = "facts.pack"  # Figures of Apple and Snowflake, written by ``python -m tests.demo_facts``.
APPLE = Party(320193, LISTED_RANK, "Apple Inc.")


def load(app: App) -> int:
    """Store the embedded reports, forms and lists, and the made-up prices. Return how many documents were new."""
    demo_prices.store_prices(app)
    folder = get_package_folder("finapi.market.demo")
    new_count = 0
    # Reports first: they contain the tickers, which are announced with each filing.
    for family in (XBRL, *(family for family in FAMILIES if family is not XBRL)):
        file = f"{family.name}.pack"
        if (folder / file).is_file():
            new_count += packs.load(app, (folder / file).read_bytes(), file)
        if family is XBRL:
            _store_filings(app, (folder / LISTED_FILINGS).read_text("utf-8"))
    return new_count + _store_facts(app, (folder / FACTS).read_bytes())


def _store_filings(app: App, tsv: str) -> None:
    """Store and announce the filings of a list. They are old, but the announcements give the main feed some events."""
    now = app.clock.now()
    with app.db.write() as tx:
        for row in csv.DictReader(tsv.splitlines(), delimiter="\t"):
            filing = FilingMetadata(
                accession=row["accession"],
                evidence=SUBMISSIONS_EVIDENCE,
                parties=(APPLE,),
                form=row["form"] or None,
                filed_at=row["filed_at"] or None,
                accepted_at=row["accepted_at"] or None,
                period_of_report=row["period_of_report"] or None,
                primary_document=row["primary_document"] or None,
                items=row["items"] or None,
                size=int(row["size"]),
                is_xbrl=int(row["is_xbrl"]),
                is_inline_xbrl=int(row["is_inline_xbrl"]),
            )
            filing_store.upsert(tx, filing, now, announces=False)
            announcements.announce_filing(tx, now, accession=filing.accession)
        tx.run("bump_data_version")


def _store_facts(app: App, pack: bytes) -> int:
    """Store the companyfacts documents in a pack, one per line. They have figures of years without a stored report.

    Return how many were new.
    """
    new_count = 0
    for line in zlib.decompress(pack).splitlines():
        facts = companyfacts.parse(line, FACTS)
        with app.db.write() as tx:
            new_count += fact_sets.upsert_companyfacts(tx, facts, app.clock.now())
    return new_count
