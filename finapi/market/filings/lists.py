"""Storage of lists of filings and companies: submissions, older pages, indexes, the feed and ticker lists.

Each function stores one document and returns True if anything of it was new. The caller bumps the data version only
then, so that a list without news leaves cached answers valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypedDict

from finapi.app import App
from finapi.core import stopping
from finapi.core.records import Date, build_record
from finapi.edgar import form_indexes, getcurrent, sgml, submissions, tickers
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents import families, filing_store, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.reference import companies
from finapi.store.db import Transaction

# Filings of an index that are stored in one transaction: a quarter has 300,000, and other writers wait.
BATCH_FILINGS = 1_000

# Ranks of the sources of a company's attributes: a filing's header, a submissions document.
_HEADER_SOURCE = 1
_SUBMISSIONS_SOURCE = 2

# The roles of parties as the feed spells them, and their names in metadata.PARTY_RANKS.
_FEED_ROLES = {
    "Issuer": "issuer",
    "Subject": "subject",
    "Filer": "filer",
    "Filed by": "filed_by",
    "Depositor": "depositor",
    "Securitizer": "securitizer",
    "Reporting": "reporting_owner",
}


def upsert_submissions(tx: Transaction, company: submissions.CompanySubmissions, now: datetime) -> bool:
    """Store a submissions document: a company's attributes, names, tickers and list of filings."""
    cik = int(company.cik)
    as_of = max((filing.filed for filing in company.filings), default="")
    changed = companies.upsert_name(tx, cik, company.name, companies.FROM_SUBMISSIONS, as_of)
    changed |= companies.update_attributes(tx, cik, company.attributes, _SUBMISSIONS_SOURCE, as_of)
    listings = [(listing.ticker, listing.exchange) for listing in company.listings]
    changed |= companies.upsert_tickers(tx, cik, listings, companies.FROM_SUBMISSIONS, as_of)
    for former in company.former_names:
        changed |= companies.insert_former_name(tx, cik, former.name, former.first_filed, former.last_filed)
    for page in company.older_pages:
        changed_rows = tx.run(
            "upsert_submission_page",
            name=page.name,
            cik=cik,
            filings=page.filing_count,
            first=page.first_filed,
            last=page.last_filed,
        )
        changed |= changed_rows > 0
    changed |= _upsert_filings(tx, cik, company.filings, now)
    changed |= families.apply_listed_metadata(tx, now, cik)
    return changed


def upsert_older_page(
    tx: Transaction, name: str, cik: int, filings: Iterable[submissions.ListedFiling], now: datetime
) -> bool:
    """Store an older page of a company's list; ``name`` is the page's file name."""
    companies.insert_unnamed(tx, cik)
    changed = tx.run("upsert_ingested_page", name=name, cik=cik) > 0
    changed |= _upsert_filings(tx, cik, filings, now)
    changed |= families.apply_listed_metadata(tx, now, cik)
    return changed


def upsert_index(app: App, rows: Iterable[form_indexes.IndexRow]) -> bool:
    """Store the filings of an index in transactions of :data:`BATCH_FILINGS`, and bump the data version."""
    now = app.clock.now()
    filings = _iter_index_filings(rows)
    changed = False
    while batch := list(islice(filings, BATCH_FILINGS)):
        stopping.check()
        with app.db.write() as tx:
            changed_count = sum(filing_store.upsert(tx, filing, now).changed for filing in batch)
            if families.apply_listed_metadata(tx, now) or changed_count > 0:
                tx.run("bump_data_version")
                changed = True
    return changed


def _iter_index_filings(rows: Iterable[form_indexes.IndexRow]) -> Iterator[FilingMetadata]:
    """Yield the filings of an index, which has a row for each party of a filing."""
    rows_by_accession: dict[str, list[form_indexes.IndexRow]] = {}
    for row in rows:
        rows_by_accession.setdefault(row.accession, []).append(row)
    for accession, filing_rows in rows_by_accession.items():
        yield FilingMetadata(
            accession,
            metadata.INDEX_EVIDENCE,
            [Party(row.cik, metadata.LISTED_RANK, row.name) for row in filing_rows],
            # The rows of a filing agree; if they do not, the greater value is stored, as in filing_store.
            form=max(row.form for row in filing_rows),
            filed_at=max(row.filed for row in filing_rows),
        )


def upsert_company_tickers(tx: Transaction, rows: Iterable[tickers.TickerRow]) -> bool:
    """Store a list of tickers of the SEC, which is today's and states no day."""
    listings_by_cik: dict[int, list[tuple[str, str | None]]] = {}
    named_ciks: set[int] = set()
    changed = False
    for row in rows:
        cik = int(row.cik)
        if row.name is None:
            companies.insert_unnamed(tx, cik)
        else:
            named_ciks.add(cik)
            changed |= companies.upsert_name(tx, cik, row.name, companies.FROM_LIST_TITLE, "")
        listings_by_cik.setdefault(cik, []).append((row.ticker, row.exchange))
    # The lists with names are ordered by size, which is the order of search results.
    for position, (cik, listings) in enumerate(listings_by_cik.items()):
        changed |= companies.upsert_tickers(tx, cik, listings, companies.FROM_LIST)
        if cik in named_ciks:
            changed |= tx.run("update_list_place", cik=cik, place=position) > 0
    return changed


def upsert_party_attributes(tx: Transaction, header: sgml.SubmissionHeader) -> bool:
    """Store the attributes and former names that a filing's header states of its parties."""
    changed = False
    for party in header.parties:
        cik = int(party.cik)
        attributes = CompanyAttributes(
            sic=int(party.sic) if party.sic else None, fiscal_year_end=party.fiscal_year_end, state=party.state
        )
        changed |= companies.update_attributes(tx, cik, attributes, _HEADER_SOURCE, header.filed)
        for former in party.former_names:
            changed |= companies.insert_former_name(tx, cik, former.name, None, former.changed_on)
    return changed


class MissingPage(TypedDict):
    """An older page of a company's list of filings that is not stored."""

    page: str
    filings: int | None
    first_filed: Date | None
    last_filed: Date | None


def list_missing_pages(tx: Transaction, cik: int) -> list[MissingPage]:
    """Return the older pages that a company's submissions document names and that were not ingested."""
    return [build_record(MissingPage, row) for row in tx.list_rows("missing_submission_pages", cik=cik)]


def upsert_feed_page(tx: Transaction, page: getcurrent.FeedPage, now: datetime) -> bool:
    """Store the filings of a page of EDGAR's feed, the oldest first."""
    changed = False
    for filing in reversed(page.filings):
        changed |= filing_store.upsert(tx, build_feed_metadata(filing), now).changed
    return changed


def build_feed_metadata(filing: getcurrent.FeedFiling) -> FilingMetadata:
    """Return the metadata of a filing in the feed."""
    parties = []
    for party in filing.parties:
        role = _FEED_ROLES.get(party.role, "")
        rank = metadata.PARTY_RANKS.get(role, metadata.OTHER_ROLE_RANK)
        parties.append(Party(party.cik, rank, party.name))
    return FilingMetadata(
        accession=filing.accession,
        evidence=metadata.INDEX_EVIDENCE,
        parties=parties,
        form=filing.form,
        filed_at=filing.filed,
        accepted_at=filing.accepted,
        items=",".join(filing.items) or None,
    )


def _upsert_filings(tx: Transaction, cik: int, filings: Iterable[submissions.ListedFiling], now: datetime) -> bool:
    # The oldest first, because new filings are announced in this order.
    oldest_first = sorted(filings, key=lambda filing: (filing.filed, filing.accession))
    return filing_store.upsert_listed_filings(tx, cik, oldest_first, now)
