"""Lists of filings and companies into rows: submissions and their older pages, EDGAR's indexes, ticker lists.

Each function stores one document and says whether anything of it was new; a document that tells nothing new
leaves the data version alone, so that the answers that callers hold stay good.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from finapi.app import App
from finapi.db import Transaction
from finapi.edgar import getcurrent, indexes, sgml, submissions, tickers
from finapi.market import companies, filings, holdings_store, store
from finapi.market.filings import Party, Told

# Filings of an index that one transaction stores: a quarter has 300,000, and calls wait for the writer.
BATCH = 1_000

# Of a company's attributes, by where they are from: a filing's header, a submissions document.
_FROM_HEADER, _FROM_SUBMISSIONS = 1, 2


# What the feed calls the parties of a filing, in the words of filings.RANKS.
_ROLES = {
    "Issuer": "issuer",
    "Subject": "subject",
    "Filer": "filer",
    "Filed by": "filed_by",
    "Reporting": "reporting_owner",
}


def put_submissions(app: App, company: submissions.CompanySubmissions) -> bool:
    """Store a submissions document: the company's attributes, names, tickers and list of filings."""
    now = app.clock.now()
    cik = int(company.cik)
    as_of = max((filing.filed for filing in company.filings), default="")
    with app.db.write() as tx:
        changed = companies.put_name(tx, cik, company.name, companies.FROM_SUBMISSIONS, as_of)
        told = companies.Attributes(
            int(company.sic) if company.sic else None,
            company.fiscal_year_end,
            company.state,
            company.entity_type,
        )
        changed |= companies.put_attributes(tx, cik, told, _FROM_SUBMISSIONS, as_of)
        listed = [(item.ticker, item.exchange) for item in company.listings]
        changed |= companies.put_tickers(tx, cik, listed, companies.FROM_SUBMISSIONS, as_of)
        for former in company.former_names:
            changed |= companies.put_former_name(tx, cik, former.name, former.first, former.last)
        for page in company.older_pages:
            changed |= _put_page(tx, cik, page)
        changed |= _put_filings(tx, cik, company.filings, now)
        changed |= holdings_store.settle_filed(tx) + holdings_store.settle_unfiled(tx, cik, now) > 0
        changed |= store.settle_unfiled(tx, cik, now) > 0
        if changed:
            tx.run("bump_data_version")
    return changed


def put_older_page(app: App, name: str, cik: int, page: Iterable[submissions.Filing]) -> bool:
    """Store an older page of a company's list; ``name`` is the page's file name."""
    with app.db.write() as tx:
        companies.put_unnamed(tx, cik)
        changed = tx.run("mark_page", name=name, cik=cik) > 0
        changed |= _put_filings(tx, cik, page, app.clock.now())
        now = app.clock.now()
        changed |= holdings_store.settle_filed(tx) + holdings_store.settle_unfiled(tx, cik, now) > 0
        changed |= store.settle_unfiled(tx, cik, now) > 0
        if changed:
            tx.run("bump_data_version")
    return changed


def put_index(app: App, rows: Iterable[indexes.Row]) -> bool:
    """Store the filings of an index, a thousand in a transaction; the parties of one filing come together."""
    now = app.clock.now()
    together: dict[str, list[indexes.Row]] = {}
    for row in rows:
        together.setdefault(row.accession, []).append(row)
    told = (_of_index(accession, parts) for accession, parts in together.items())
    changed = False
    while batch := list(islice(told, BATCH)):
        with app.db.write() as tx:
            fresh = sum(filings.put(tx, one, now).changed for one in batch) + holdings_store.settle_filed(tx)
            if fresh:
                tx.run("bump_data_version")
        changed |= fresh > 0
    return changed


def put_company_tickers(app: App, listed: Iterable[tickers.Ticker]) -> bool:
    """Store a list of tickers: today's, of no day that the list would name."""
    by_company: dict[int, list[tuple[str, str | None]]] = {}
    changed = False
    with app.db.write() as tx:
        for row in listed:
            changed |= companies.put_name(tx, int(row.cik), row.name, companies.FROM_LIST_TITLE, "")
            by_company.setdefault(int(row.cik), []).append((row.ticker, row.exchange))
        for cik, theirs in by_company.items():
            changed |= companies.put_tickers(tx, cik, theirs, companies.FROM_LIST)
        if changed:
            tx.run("bump_data_version")
    return changed


def put_parties(tx: Transaction, header: sgml.SubmissionHeader) -> bool:
    """Store what a filing's header says of its parties beside their names; whether anything was new."""
    changed = False
    for party in header.parties:
        cik = int(party.cik)
        told = companies.Attributes(
            int(party.sic) if party.sic else None, party.fiscal_year_end, party.state, None
        )
        changed |= companies.put_attributes(tx, cik, told, _FROM_HEADER, header.filed)
        for former in party.former_names:
            changed |= companies.put_former_name(tx, cik, former.name, None, former.changed)
    return changed


def not_ingested(tx: Transaction, cik: int) -> list[dict[str, object]]:
    """The older pages of a company's list that a submissions document names and nobody has ingested."""
    return [
        {
            "page": row["name"],
            "filings": row["filings"],
            "first_filed": row["first"],
            "last_filed": row["last"],
        }
        for row in tx.all("pages_missing", cik=cik)
    ]


def put_feed(app: App, page: getcurrent.Page) -> bool:
    """Store the filings that a page of EDGAR's feed tells of."""
    now = app.clock.now()
    with app.db.write() as tx:
        changed = sum(filings.put(tx, of_feed(filing), now).changed for filing in reversed(page.filings)) > 0
        if changed:
            tx.run("bump_data_version")
    return changed


def of_feed(filing: getcurrent.Filing) -> Told:
    """What the feed tells of a filing."""
    return Told(
        accession=filing.accession,
        evidence=filings.INDEX,
        parties=[
            Party(party.cik, filings.RANKS.get(_ROLES.get(party.role, ""), filings.OTHER_ROLE), party.name)
            for party in filing.parties
        ],
        form=filing.form,
        filed_at=filing.filed,
        accepted_at=filing.accepted,
        items=",".join(filing.items) or None,
    )


def _put_page(tx: Transaction, cik: int, page: submissions.OlderPage) -> bool:
    return (
        tx.run("put_page", name=page.name, cik=cik, filings=page.filings, first=page.first, last=page.last)
        > 0
    )


def _put_filings(tx: Transaction, cik: int, listed: Iterable[submissions.Filing], now: datetime) -> bool:
    changed = False
    # The oldest first: whoever is told of them is told in their order.
    for filing in sorted(listed, key=lambda one: (one.filed, one.accession)):
        told = Told(
            accession=filing.accession,
            evidence=filings.SUBMISSIONS,
            parties=(Party(cik, filings.LISTED),),
            form=filing.form,
            filed_at=filing.filed,
            accepted_at=filing.accepted,
            period_of_report=filing.report_date,
            primary_document=filing.primary_document,
            description=filing.primary_description,
            items=",".join(filing.items) or None,
            size=filing.size,
            is_xbrl=int(filing.is_xbrl),
            is_inline_xbrl=int(filing.is_inline_xbrl),
            file_number=filing.file_number,
        )
        changed |= filings.put(tx, told, now).changed
    return changed


def _of_index(accession: str, rows: list[indexes.Row]) -> Told:
    # The lines of one filing agree, or the greater one stands, as everywhere.
    return Told(
        accession=accession,
        evidence=filings.INDEX,
        parties=[Party(row.cik, filings.LISTED, row.name) for row in rows],
        form=max(row.form for row in rows),
        filed_at=max(row.filed for row in rows),
    )
