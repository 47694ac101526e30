"""Documents that stand alone: read, and stored in one transaction, with what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from finapi import heartbeats
from finapi.app import App
from finapi.edgar import companyfacts, getcurrent, indexes, sgml, submissions, tickers
from finapi.errors import ParseError
from finapi.market import cusip_map, factsets, filings, holdings_store, lists, price_csv, prices
from finapi.market.outcomes import Kind, Outcome, because
from finapi.market.sources import Entry

COMPANION = "says nothing that the filing's own documents do not say"


@dataclass(frozen=True, slots=True)
class Document:
    """An entry that has been recognised; it is read when it is wanted, one at a time."""

    entry: Entry
    kind: str

    @property
    def path(self) -> str:
        """What a report calls it."""
        return self.entry.path

    def read(self) -> bytes:
        """All of it, or a ParseError."""
        return self.entry.read(None)


def _submissions(app: App, document: Document) -> Iterator[Outcome]:
    company = submissions.company(document.read(), document.entry.path)
    yield listed(document, lists.put_submissions(app, company))


def _older_page(app: App, document: Document) -> Iterator[Outcome]:
    path = document.entry.path
    cik = submissions.page_of(document.entry.name)
    if cik is None:
        reason = (
            "an older page says nothing of whose it is but in its name, CIK##########-submissions-###.json"
        )
        raise ParseError(path, "", reason)
    page = submissions.older_page(document.read(), path)
    yield listed(document, lists.put_older_page(app, document.entry.name, cik, page))


def _company_tickers(app: App, document: Document) -> Iterator[Outcome]:
    rows = tickers.company_tickers(document.read(), document.entry.path)
    yield listed(document, lists.put_company_tickers(app, rows))


def _cusip_mapping(app: App, document: Document) -> Iterator[Outcome]:
    rows, left_out = cusip_map.parse(document.read(), document.entry.path)
    with app.db.write() as tx:
        changed = cusip_map.put(tx, rows)
        if changed:
            tx.run("bump_data_version")
    outcome = listed(document, changed > 0)
    yield replace(outcome, reason=str(left_out) or outcome.reason)


def _form_index(app: App, document: Document) -> Iterator[Outcome]:
    rows = list(indexes.rows(document.read(), document.entry.path))
    yield listed(document, lists.put_index(app, rows))


def _atom_feed(app: App, document: Document) -> Iterator[Outcome]:
    page = getcurrent.page(document.read(), document.entry.path)
    outcome = listed(document, lists.put_feed(app, page))
    if page.refused:
        first = because(page.refused[0])
        outcome = replace(outcome, reason=f"{len(page.refused)} entries are left out, the first: {first}")
    yield outcome


def listed(document: Document, changed: bool) -> Outcome:
    """What came of a document that either told something or nothing new."""
    path, kind = document.entry.path, document.kind
    return (
        Outcome(path, kind, "ingested") if changed else Outcome(path, kind, "unchanged", "tells nothing new")
    )


def _header(app: App, document: Document) -> Iterator[Outcome]:
    """An SGML header by itself, or a filing's page; of the page nothing but what the documents need is taken."""
    path, data = document.entry.path, document.read()
    if not any(mark in data[: sgml.HEAD_WITHIN] for mark in sgml.STARTS):
        yield Outcome(path, document.kind, "skipped", COMPANION)
        return
    header = sgml.header(data, path)
    with app.db.write() as tx:
        stored = filings.put(tx, filings.from_header(header, None), app.clock.now())
        holdings_store.settle_filed(tx)
        if stored.changed:
            tx.run("bump_data_version")
    yield replace(listed(document, stored.changed), accession=header.accession)


def _prices(app: App, document: Document) -> Iterator[Outcome]:
    path, data = document.entry.path, document.read()
    made = price_csv.parse(data, path, document.entry.name)
    with app.db.write() as tx:
        stored = prices.put(tx, made, data)
    notes = [f"{made.left_out_count} rows are left out: {'; '.join(made.left_out)}"] if made.left_out else []
    notes += [stored.note] if stored.note else [] if stored.changed else ["tells nothing new"]
    outcome: Kind = "ingested" if stored.changed else "unchanged"
    yield Outcome(path, document.kind, outcome, "; ".join(notes) or None)


def _companyfacts(app: App, document: Document) -> Iterator[Outcome]:
    path = document.entry.path
    made = companyfacts.company(document.read(), path)
    now = app.clock.now()
    with app.db.write() as tx:
        stored = factsets.put_companyfacts(tx, made, now)
        if stored:
            heartbeats.arrived(tx, "xbrl_run", now)
    note = None if stored else "every figure of it is held already"
    if made.backward:
        left_out = f"{made.backward} rows end before they start and are left out"
        note = left_out if note is None else f"{note}; {left_out}"
    yield Outcome(path, document.kind, "ingested" if stored else "unchanged", note)


HANDLERS: dict[str, Callable[[App, Document], Iterator[Outcome]]] = {
    "submissions": _submissions,
    "submissions-page": _older_page,
    "form-index": _form_index,
    "atom-feed": _atom_feed,
    "filing-index": _header,
    "company-tickers": _company_tickers,
    "companyfacts": _companyfacts,
    "cusip-mapping": _cusip_mapping,
    "prices": _prices,
}
