"""Single documents: each is read by itself and stored in one transaction, whatever lies beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar import companyfacts, cusip_lists, form_indexes, getcurrent, sgml, submissions, tickers
from finapi.market.documents import families, filing_store, metadata, outcomes
from finapi.market.documents.outcomes import Outcome, format_reason
from finapi.market.documents.sources import Document
from finapi.market.filings import lists
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import cusip_map
from finapi.market.statements import fact_sets
from finapi.store import heartbeats
from finapi.store.db import Transaction

StoreCallback = Callable[[Transaction, datetime], Sequence[Outcome]]

_COMPANION = "says nothing that the filing's own documents do not say"
# Renderings and lists of what the other documents say: they lie in every filing's folder.
_COMPANIONS = (
    "filing-summary",
    "metalinks",
    "r-page",
    "inline-html",
    "directory-index",
    "filing-index",
    "fsds-readme",
    "image",
    "pdf",
)
# What the SEC puts beside the tables of its data sets, to tell people of them.
_OF_A_SET = re.compile(r"(?:\w+[_-])?(?:readme|metadata)\.(?:html?|json|txt|pdf)", re.IGNORECASE)
_REFUSALS = {
    "empty": "is empty",
    "sec-error-page": "is an error page of the SEC, not a document",
    "zip": "is a zip inside a zip",
}


def build_unread_outcome(document: Document) -> Outcome:
    """The outcome of a document that finapi does not store."""
    if document.kind in _COMPANIONS or _OF_A_SET.fullmatch(document.name):
        return Outcome(document.path, document.kind, "skipped", _COMPANION)
    return outcomes.refuse(document, _REFUSALS.get(document.kind, "is not a document that finapi reads"))


def ingest_form_index(app: App, document: Document) -> list[Outcome]:
    """Store an index of EDGAR, which is too long for one transaction."""
    rows = list(form_indexes.iter_rows(document.read(), document.path))
    return [outcomes.for_document(document, lists.upsert_index(app, rows))]


def _told(
    document: Document, store: Callable[[Transaction, datetime], bool], reason: str | None = None
) -> StoreCallback:
    """Store a document that says something new or not; in the first case answers that were given may be stale."""

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        changed = store(tx, now)
        if changed:
            tx.run("bump_data_version")
        return [outcomes.for_document(document, changed, reason)]

    return put


def _submissions(document: Document) -> StoreCallback:
    company = submissions.parse_company(document.read(), document.path)
    return _told(document, lambda tx, now: lists.upsert_submissions(tx, company, now))


def _older_page(document: Document) -> StoreCallback:
    cik = submissions.find_cik_of_older_page(document.name)
    if cik is None:
        reason = "an older page says nothing of whose it is but in its name, CIK##########-submissions-###.json"
        raise ParseError(document.path, "", reason)
    page = submissions.parse_older_page(document.read(), document.path)
    return _told(document, lambda tx, now: lists.upsert_older_page(tx, document.name, cik, page, now))


def _company_tickers(document: Document) -> StoreCallback:
    rows = tickers.parse_company_tickers(document.read(), document.path)
    return _told(document, lambda tx, now: lists.upsert_company_tickers(tx, rows))


def _cusip_mapping(document: Document) -> StoreCallback:
    rows, left_out = cusip_map.parse_mappings(document.read(), document.path)
    return _told(document, lambda tx, now: cusip_map.upsert_mappings(tx, rows) > 0, str(left_out) or None)


def _cusips(
    document: Document, parse: Callable[[bytes, str], Any], put: Callable[[Transaction, Any], int]
) -> StoreCallback:
    rows, left_out = parse(document.read(), document.path)
    return _told(document, lambda tx, now: put(tx, rows) > 0, "; ".join(left_out) or None)


def _atom_feed(document: Document) -> StoreCallback:
    page = getcurrent.parse_page(document.read(), document.path)
    reason = None
    if page.entry_errors:
        reason = f"{len(page.entry_errors)} entries are left out, the first: {format_reason(page.entry_errors[0])}"
    return _told(document, lambda tx, now: lists.upsert_feed_page(tx, page, now), reason)


def _header(document: Document) -> StoreCallback:
    """An SGML header by itself, or a filing's page; of the page nothing but what the documents need is taken."""
    data = document.read()
    if not any(mark in data[: sgml.MAX_PREFACE_BYTES] for mark in sgml.HEADER_STARTS):
        return lambda tx, now: [Outcome(document.path, document.kind, "skipped", _COMPANION)]
    header = sgml.parse_header(data, document.path)

    def store(tx: Transaction, now: datetime) -> bool:
        stored = filing_store.upsert(tx, metadata.from_header(header, None), now)
        headed = families.store_header(tx, header, now)
        families.apply_listed_metadata(tx, now)
        return stored.changed | headed

    put = _told(document, store)
    return lambda tx, now: [replace(one, accession=header.accession) for one in put(tx, now)]


def parse_prices(document: Document, ticker: str | None) -> StoreCallback:
    """Prices by day; ``ticker`` is what the operator said of a file that has no column of tickers."""
    data = document.read()
    made = price_csv.parse(data, document.path, document.name)

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        named = "" if made.rows[0].ticker else price_store.choose_ticker(tx, made, ticker, document.path)
        changed, note = price_store.upsert(tx, made, data, named)
        notes = [f"prices of {named}"] if named else []
        notes += (
            [f"{made.rejected_count} rows are left out: {'; '.join(made.rejected_lines)}"]
            if made.rejected_lines
            else []
        )
        notes += [note] if note else [] if changed else ["tells nothing new"]
        return [outcomes.for_document(document, changed > 0, "; ".join(notes) or None)]

    return put


def _companyfacts(document: Document) -> StoreCallback:
    made = companyfacts.parse(document.read(), document.path)

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        stored = fact_sets.upsert_companyfacts(tx, made, now)
        if stored:
            heartbeats.record_arrival(tx, "xbrl_run", now)
        notes = [] if stored else ["every figure of it is held already"]
        if made.backward_row_count:
            notes.append(f"{made.backward_row_count} rows end before they start and are left out")
        return [outcomes.for_document(document, stored, "; ".join(notes) or None)]

    return put


# By kind of document; what is wrong with one is a ParseError.
PARSERS: dict[str, Callable[[Document], StoreCallback]] = {
    "submissions": _submissions,
    "submissions-page": _older_page,
    "atom-feed": _atom_feed,
    "filing-index": _header,
    "company-tickers": _company_tickers,
    "companyfacts": _companyfacts,
    "cusip-mapping": _cusip_mapping,
    "fails-to-deliver": partial(
        _cusips, parse=cusip_lists.parse_fails_to_deliver, put=cusip_map.upsert_failed_securities
    ),
    "13f-list": partial(_cusips, parse=cusip_lists.parse_13f_list, put=cusip_map.upsert_listed_securities),
}

# Those that are lists of a company's filings.
LIST_KINDS = ("submissions", "submissions-page")
