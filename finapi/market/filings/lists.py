"""Lists of filings and companies into rows: submissions and their older pages, EDGAR's indexes, ticker lists.

Each function stores one document and says whether anything of it was new; a document that tells nothing new
leaves the data version alone, so that the answers that callers hold stay good.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import TypedDict

from finapi.app import App
from finapi.core import stopping
from finapi.core.records import Date, build_record
from finapi.edgar import form_indexes, getcurrent, sgml, submissions, tickers
from finapi.market.documents import families, filing_store, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.reference import companies
from finapi.store.db import Transaction

# Filings of an index that one transaction stores: a quarter has 300,000, and calls wait for the writer.
BATCH_FILINGS = 1_000

# Of a company's attributes, by where they are from: a filing's header, a submissions document.
_FROM_HEADER, _FROM_SUBMISSIONS = 1, 2


# What the feed calls the parties of a filing, in the words of metadata.RANKS.
_ROLES = {
    "Issuer": "issuer",
    "Subject": "subject",
    "Filer": "filer",
    "Filed by": "filed_by",
    "Depositor": "depositor",
    "Securitizer": "securitizer",
    "Reporting": "reporting_owner",
}


def upsert_submissions(tx: Transaction, company: submissions.CompanySubmissions, now: datetime) -> bool:
    """Store a submissions document: the company's attributes, names, tickers and list of filings."""
    cik = int(company.cik)
    as_of = max((filing.filed for filing in company.filings), default="")
    changed = companies.upsert_name(tx, cik, company.name, companies.FROM_SUBMISSIONS, as_of)
    attributes = companies.FiledAttributes(
        int(company.sic) if company.sic else None, company.fiscal_year_end, company.state, company.entity_type
    )
    changed |= companies.update_attributes(tx, cik, attributes, _FROM_SUBMISSIONS, as_of)
    listed = [(item.ticker, item.exchange) for item in company.listings]
    changed |= companies.upsert_tickers(tx, cik, listed, companies.FROM_SUBMISSIONS, as_of)
    for former in company.former_names:
        changed |= companies.insert_former_name(tx, cik, former.name, former.first_filed, former.last_filed)
    for page in company.older_pages:
        changed |= (
            tx.run(
                "upsert_submission_page",
                name=page.name,
                cik=cik,
                filings=page.filing_count,
                first=page.first_filed,
                last=page.last_filed,
            )
            > 0
        )
    changed |= _put_filings(tx, cik, company.filings, now)
    return families.apply_listed_metadata(tx, now, cik) or changed


def upsert_older_page(
    tx: Transaction, name: str, cik: int, page: Iterable[submissions.ListedFiling], now: datetime
) -> bool:
    """Store an older page of a company's list; ``name`` is the page's file name."""
    companies.insert_unnamed(tx, cik)
    changed = tx.run("upsert_ingested_page", name=name, cik=cik) > 0
    changed |= _put_filings(tx, cik, page, now)
    return families.apply_listed_metadata(tx, now, cik) or changed


def upsert_index(app: App, rows: Iterable[form_indexes.IndexRow]) -> bool:
    """Store the filings of an index, a thousand in a transaction; the parties of one filing come together."""
    now = app.clock.now()
    together: dict[str, list[form_indexes.IndexRow]] = {}
    for row in rows:
        together.setdefault(row.accession, []).append(row)
    # The lines of one filing agree, or the greater one stands, as everywhere.
    told = (
        FilingMetadata(
            accession,
            metadata.INDEX_EVIDENCE,
            [Party(row.cik, metadata.LISTED_RANK, row.name) for row in parts],
            form=max(row.form for row in parts),
            filed_at=max(row.filed for row in parts),
        )
        for accession, parts in together.items()
    )
    changed = False
    while batch := list(islice(told, BATCH_FILINGS)):
        stopping.check()
        with app.db.write() as tx:
            fresh = sum(filing_store.upsert(tx, one, now).changed for one in batch) > 0
            if families.apply_listed_metadata(tx, now) or fresh:
                tx.run("bump_data_version")
                changed = True
    return changed


def upsert_company_tickers(tx: Transaction, listed: Iterable[tickers.TickerRow]) -> bool:
    """Store a list of tickers: today's, of no day that the list would name."""
    by_company: dict[int, list[tuple[str, str | None]]] = {}
    changed = False
    for row in listed:
        changed |= companies.upsert_name(tx, int(row.cik), row.name, companies.FROM_LIST_TITLE, "")
        by_company.setdefault(int(row.cik), []).append((row.ticker, row.exchange))
    # The list stands in the order of size, which searches answer in.
    for place, (cik, theirs) in enumerate(by_company.items()):
        changed |= companies.upsert_tickers(tx, cik, theirs, companies.FROM_LIST)
        changed |= tx.run("update_list_place", cik=cik, place=place) > 0
    return changed


def upsert_party_attributes(tx: Transaction, header: sgml.SubmissionHeader) -> bool:
    """Store what a filing's header says of its parties beside their names; whether anything was new."""
    changed = False
    for party in header.parties:
        cik = int(party.cik)
        told = companies.FiledAttributes(
            int(party.sic) if party.sic else None, party.fiscal_year_end, party.state, None
        )
        changed |= companies.update_attributes(tx, cik, told, _FROM_HEADER, header.filed)
        for former in party.former_names:
            changed |= companies.insert_former_name(tx, cik, former.name, None, former.changed_on)
    return changed


class PageNotIngested(TypedDict):
    """An older page of a company's list of filings that is not held."""

    page: str
    filings: int | None
    first_filed: Date | None
    last_filed: Date | None


def list_missing_pages(tx: Transaction, cik: int) -> list[PageNotIngested]:
    """The older pages of a company's list that a submissions document names and nobody has ingested."""
    return [build_record(PageNotIngested, row) for row in tx.list_rows("missing_submission_pages", cik=cik)]


def upsert_feed_page(tx: Transaction, page: getcurrent.FeedPage, now: datetime) -> bool:
    """Store the filings that a page of EDGAR's feed tells of."""
    return (
        sum(filing_store.upsert(tx, build_feed_metadata(filing), now).changed for filing in reversed(page.filings)) > 0
    )


def build_feed_metadata(filing: getcurrent.FeedFiling) -> FilingMetadata:
    """What the feed tells of a filing."""
    return FilingMetadata(
        accession=filing.accession,
        evidence=metadata.INDEX_EVIDENCE,
        parties=[
            Party(party.cik, metadata.PARTY_RANKS.get(_ROLES.get(party.role, ""), metadata.OTHER_ROLE_RANK), party.name)
            for party in filing.parties
        ],
        form=filing.form,
        filed_at=filing.filed,
        accepted_at=filing.accepted,
        items=",".join(filing.items) or None,
    )


def _put_filings(tx: Transaction, cik: int, listed: Iterable[submissions.ListedFiling], now: datetime) -> bool:
    # The oldest first: whoever is told of them is told in their order.
    return filing_store.upsert_listed_filings(tx, cik, sorted(listed, key=attrgetter("filed", "accession")), now)
