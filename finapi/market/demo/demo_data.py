"""Loading of the embedded demo data, through the same functions that store an ingest.

All files are written by ``python -m tests.demo_packs`` from documents of the SEC.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from finapi.app import App
from finapi.core.files import get_package_folder
from finapi.edgar import companyfacts, submissions
from finapi.edgar.form_families import FAMILIES, XBRL
from finapi.market.demo import demo_prices
from finapi.market.documents import announcements, filing_store, packs, submission_documents
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.filings import lists
from finapi.market.intake import ingest
from finapi.market.statements import fact_sets
from finapi.store.db import Transaction

# Streams of JSON lines, compressed with zlib.
SUBMISSIONS = "submissions.pack"  # Lists of filings of Apple and Marvell.
FACTS = "facts.pack"  # Figures of Apple, Snowflake and Marvell, without the reports that they are from.
TEXTS = "texts.pack"  # Documents with text: [name, accession number of a page or null, text].


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
            _store_submissions(app, (folder / SUBMISSIONS).read_bytes())
    _store_texts(app, (folder / TEXTS).read_bytes())
    return new_count + _store_facts(app, (folder / FACTS).read_bytes())


def _iter_lines(pack: bytes) -> Iterator[bytes]:
    yield from zlib.decompress(pack).splitlines()


def _store_submissions(app: App, pack: bytes) -> None:
    """Store and announce the filings of lists. They are old, but the announcements give the main feed some events."""
    now = app.clock.now()
    for line in _iter_lines(pack):
        company = submissions.parse_company(line, SUBMISSIONS)
        with app.db.write() as tx:
            # One by one, because a list announces its recent filings first, and the order would depend on the day.
            for filing in sorted(company.filings, key=lambda filing: (filing.filed, filing.accession)):
                lists.upsert_submissions(tx, replace(company, filings=(filing,)), now)
                announcements.announce_filing(tx, now, accession=filing.accession)
            tx.run("bump_data_version")


def _store_texts(app: App, pack: bytes) -> None:
    """Store the documents with text: pages of filings that are stored already, and full submissions."""
    for line in _iter_lines(pack):
        name, accession, text = json.loads(line)
        if accession is None:
            ingest.ingest_document(app, name, text.encode(), _ignore_outcomes)
        else:
            _store_page(app, name, accession, text.encode())


def _store_page(app: App, name: str, accession: str, body: bytes) -> None:
    now = app.clock.now()
    primary = submission_documents.prepare_text(body, name, app.config.document_bytes)
    with app.db.write() as tx:
        filing = filing_store.upsert(
            tx, FilingMetadata(accession, DOCUMENT_EVIDENCE, primary_document=name), now, announces=False
        )
        submission_documents.insert_documents(
            tx,
            filing.id,
            [],
            primary,
            max_stored_bytes=app.config.documents_bytes,
            max_indexed_characters=app.config.documents_searched,
        )
        tx.run("bump_data_version")


def _ignore_outcomes(tx: Transaction, outcomes: Any) -> None:
    """Do nothing with the outcomes of an embedded document."""


def _store_facts(app: App, pack: bytes) -> int:
    """Store the companyfacts documents in a pack. They have figures of years without a stored report.

    Return how many were new.
    """
    new_count = 0
    for line in _iter_lines(pack):
        facts = companyfacts.parse(line, FACTS)
        with app.db.write() as tx:
            new_count += fact_sets.upsert_companyfacts(tx, facts, app.clock.now())
    return new_count
