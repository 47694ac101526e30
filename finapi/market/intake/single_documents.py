"""Parsers of single documents, each of which is read and stored independently of the documents around it.

A parser reads a document and returns a function that stores it in the caller's transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from finapi.app import App
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import companyfacts, cusip_lists, form_indexes, getcurrent, sgml, submissions, tickers
from finapi.market.documents import families, filing_store, metadata, outcomes
from finapi.market.documents.outcomes import Outcome, format_reason
from finapi.market.documents.sources import Document
from finapi.market.filings import lists
from finapi.market.funds import fund_classes
from finapi.market.insiders import trade_doubts
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import cusip_map
from finapi.market.statements import fact_sets
from finapi.store import heartbeats
from finapi.store.db import Transaction

_MAX_REPORTED_LINES = 20  # Broken lines of an index that are reported.

# Stores a parsed document in the caller's transaction and returns the outcomes.
StoreCallback = Callable[[Transaction, datetime], Sequence[Outcome]]

_COMPANION_REASON = "contains nothing that is not in the filing's other documents"
# The kinds of rendered forms and of lists of the other documents, which the folder of every filing contains.
_COMPANION_KINDS = (
    "filing-summary",
    "metalinks",
    "r-page",
    "inline-html",
    "directory-index",
    "filing-index",
    "fsds-readme",
)
_PICTURE_KINDS = ("image", "pdf")
# Descriptions that the SEC adds to the tables of its data sets.
_DATA_SET_DESCRIPTION = re.compile(r"(?:\w+[_-])?(?:readme|metadata)\.(?:html?|json|txt|pdf)", re.IGNORECASE)
_REFUSAL_REASONS = {
    "empty": "is empty",
    "sec-error-page": "is an error page of the SEC, not a document",
    "zip": "is a zip inside a zip",
}


def build_unread_outcome(document: Document) -> Outcome:
    """Return the outcome of a document that finapi does not store."""
    if document.kind in _COMPANION_KINDS:
        return Outcome(document.path, document.kind, "skipped", _COMPANION_REASON)
    if document.kind in _PICTURE_KINDS:
        return Outcome(document.path, document.kind, "skipped", "is stored only as a part of a full submission")
    if _DATA_SET_DESCRIPTION.fullmatch(document.name):
        return Outcome(document.path, document.kind, "skipped", "describes the other files")
    reason = _REFUSAL_REASONS.get(document.kind, "is not a document that finapi reads")
    return outcomes.refuse(document, reason)


def ingest_form_index(app: App, document: Document) -> list[Outcome]:
    """Store an index of EDGAR in several transactions, as it is too long for one. Return its outcome."""
    index = form_indexes.parse(document.read(), document.path)
    changed = lists.upsert_index(app, index.rows)
    notes = [format_reason(error) for error in index.errors[:_MAX_REPORTED_LINES]]
    left_out = format_count(len(index.errors), "line is left out", "lines are left out")
    note = f"{left_out}: {'; '.join(notes)}" if notes else None
    return [outcomes.accept(document, changed, note)]


def _build_store(
    document: Document, upsert: Callable[[Transaction, datetime], bool], note: str | None = None
) -> StoreCallback:
    """Return a function that stores a document with ``upsert``, which returns True if anything was new."""

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        changed = upsert(tx, now)
        if changed:
            tx.run("bump_data_version")
        return [outcomes.accept(document, changed, note)]

    return store


def _parse_submissions(document: Document) -> StoreCallback:
    company = submissions.parse_company(document.read(), document.path)
    return _build_store(document, lambda tx, now: lists.upsert_submissions(tx, company, now))


def _parse_older_page(document: Document) -> StoreCallback:
    cik = submissions.find_cik_of_older_page(document.name)
    if cik is None:
        reason = "an older page must be named CIK##########-submissions-###.json, because it does not state its company"
        raise ParseError(document.path, "", reason)
    filings = submissions.parse_older_page(document.read(), document.path)
    return _build_store(document, lambda tx, now: lists.upsert_older_page(tx, document.name, cik, filings, now))


def _parse_company_tickers(document: Document) -> StoreCallback:
    rows = tickers.parse_company_tickers(document.read(), document.path)

    def upsert(tx: Transaction, now: datetime) -> bool:
        changed = lists.upsert_company_tickers(tx, rows)
        return fund_classes.upsert_listed_classes(tx, rows) or changed

    return _build_store(document, upsert)


def _parse_cusip_mapping(document: Document) -> StoreCallback:
    mappings, skipped_rows = cusip_map.parse_mappings(document.read(), document.path)
    note = str(skipped_rows) or None
    return _build_store(document, lambda tx, now: cusip_map.upsert_mappings(tx, mappings) > 0, note)


def _parse_cusip_list(
    document: Document, parse: Callable[[bytes, str], Any], upsert: Callable[[Transaction, Any], int]
) -> StoreCallback:
    rows, skipped_lines = parse(document.read(), document.path)
    note = "; ".join(skipped_lines) or None
    return _build_store(document, lambda tx, now: upsert(tx, rows) > 0, note)


def _parse_feed_page(document: Document) -> StoreCallback:
    page = getcurrent.parse_page(document.read(), document.path)
    note = None
    if page.entry_errors:
        left_out = format_count(len(page.entry_errors), "entry is left out", "entries are left out")
        note = f"{left_out}, the first: {format_reason(page.entry_errors[0])}"
    return _build_store(document, lambda tx, now: lists.upsert_feed_page(tx, page, now), note)


def _parse_header(document: Document) -> StoreCallback:
    """Parse the SGML header in a filing's index page. A page without a header is skipped."""
    body = document.read()
    if not any(start in body[: sgml.MAX_PREFACE_BYTES] for start in sgml.HEADER_STARTS):
        return lambda tx, now: [Outcome(document.path, document.kind, "skipped", _COMPANION_REASON)]
    header = sgml.parse_header(body, document.path)

    def upsert(tx: Transaction, now: datetime) -> bool:
        stored_filing = filing_store.upsert(tx, metadata.from_header(header, None), now)
        changed = stored_filing.changed | families.store_header(tx, header, now)
        families.apply_listed_metadata(tx, now)
        return changed

    store_header = _build_store(document, upsert)

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        return [replace(outcome, accession=header.accession) for outcome in store_header(tx, now)]

    return store


def parse_prices(document: Document, ticker: str | None) -> StoreCallback:
    """Parse daily prices. For a file without a ticker column, the operator gives the ``ticker``."""
    body = document.read()
    price_file = price_csv.parse(body, document.path, document.name)
    price_file.check_rejected(document.path)

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        notes = []
        file_ticker = ""
        if not price_file.rows[0].ticker:
            file_ticker = price_store.choose_ticker(tx, price_file, ticker, document.path)
            notes.append(f"prices of {file_ticker}")
        changed_count, price_note = price_store.upsert(tx, price_file, body, file_ticker, today=now.date().isoformat())
        if changed_count:
            trade_doubts.recompute_for_closes(tx, price_file.rows, file_ticker)
        if price_file.rejected_lines:
            lines = "; ".join(price_file.rejected_lines)
            left_out = format_count(price_file.rejected_count, "row is left out", "rows are left out")
            notes.append(f"{left_out}: {lines}")
        if price_note:
            notes.append(price_note)
        if not changed_count and not price_note:
            notes.append("contains nothing new")
        return [outcomes.accept(document, changed_count > 0, "; ".join(notes) or None)]

    return store


def _parse_companyfacts(document: Document) -> StoreCallback:
    company_facts = companyfacts.parse(document.read(), document.path)

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        changed = fact_sets.upsert_companyfacts(tx, company_facts, now)
        notes = []
        if changed:
            heartbeats.record_arrival(tx, "xbrl_run", now)
        else:
            notes.append("all of its figures are stored already")
        if company_facts.backward_row_count:
            left_out = format_count(company_facts.backward_row_count, "row is left out", "rows are left out")
            notes.append(f"{left_out}: the period ends before it starts")
        return [outcomes.accept(document, changed, "; ".join(notes) or None)]

    return store


# The parser of each kind of document. A parser raises ParseError for an invalid one.
PARSERS: dict[str, Callable[[Document], StoreCallback]] = {
    "submissions": _parse_submissions,
    "submissions-page": _parse_older_page,
    "atom-feed": _parse_feed_page,
    "filing-index": _parse_header,
    "company-tickers": _parse_company_tickers,
    "companyfacts": _parse_companyfacts,
    "cusip-mapping": _parse_cusip_mapping,
    "fails-to-deliver": partial(
        _parse_cusip_list, parse=cusip_lists.parse_fails_to_deliver, upsert=cusip_map.upsert_failed_securities
    ),
    "13f-list": partial(_parse_cusip_list, parse=cusip_lists.parse_13f_list, upsert=cusip_map.upsert_listed_securities),
}

# The kinds that are lists of a company's filings.
LIST_KINDS = ("submissions", "submissions-page")
