"""The interface of a form family's module: how its documents are parsed, stored and packed.

A form family is a kind of filing that finapi reads in full: XBRL reports, ownership forms (3/4/5), 13F reports, 13D/G
schedules, 144 notices. Each row of ``edgar/form_families.py`` names the module of one family, which defines a
:class:`Family` called ``FAMILY``. The module is imported when the first document of the family is ingested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any

from finapi.app import App
from finapi.core import stopping
from finapi.core.errors import ParseError
from finapi.edgar.form_families import FAMILIES, FormFamily
from finapi.edgar.sgml import SubmissionHeader
from finapi.market.documents.identification import FilingClaim, find_listed_accession
from finapi.market.documents.metadata import FilingMetadata
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import Document
from finapi.store import heartbeats
from finapi.store.db import Transaction


class UnreadDocumentError(ParseError):
    """A document without the content that its family reads, such as the XBRL of a fee exhibit. It is not damaged."""


@dataclass(frozen=True, slots=True)
class Family:
    """The functions that parse and store the documents of one form family, in the order of their calls."""

    # The type of the parsed content of one filing. Packs are decoded by it.
    content: Any
    # Splits the documents of a folder into the documents of each filing.
    group_documents: Callable[[Sequence[Document]], Iterator[Sequence[Document]]]
    # Parses the documents of one filing into its content. Raises ParseError.
    read_content: Callable[[Sequence[Document]], Any]
    # Returns the filers, form and period that the content states, from which the filing is identified.
    build_claim: Callable[[Any], FilingClaim]
    # Stores the content of a filing. Returns True if anything was new.
    store: Callable[[Transaction, Any, FilingMetadata, datetime], bool]
    # Returns what the operator should know about the stored filing, or None.
    describe_stored: Callable[[Any, FilingMetadata], str | None]
    # Yields every stored content with its filing and the extra argument of store_pack_row.
    iter_pack_rows: Callable[[Transaction], Iterator[tuple[Any, FilingMetadata, Any]]]
    # Stores a row of a pack; None if store() does.
    store_pack_row: Callable[[Transaction, Any, FilingMetadata, Any, datetime], bool] | None = None
    # True if the first document of a filing is its primary document.
    has_primary_document: bool = False
    # Moves content from an unidentified filing (its id) to the filing that it belongs to (its id and accession number),
    # and announces it.
    move_filing: Callable[[Transaction, int, int, str, datetime], None] = lambda tx, old, new, accession, now: None
    # Updates stored content whose filing day has become known. Returns the number of changed documents.
    update_dates: Callable[[Transaction, datetime], int] = lambda tx, now: 0
    # Runs once at the end of an ingest, for work that needs all of its documents. Returns the number of changed ones.
    finish_ingest: Callable[[Transaction, datetime], int] = lambda tx, now: 0
    # Stores the SEC's bulk tables, for the given CIKs or, if None is given, for all companies.
    ingest_data_set: Callable[[App, Sequence[Document], Set[int] | None], Iterator[Outcome]] | None = None
    # By form type, the reason why submissions of this type contain no documents of the family, for the operator.
    unread_reasons: Mapping[str, str] = field(default_factory=dict)
    # Stores what the header of a submission states: the filing, if its documents cannot be parsed, or the fund series.
    # Returns True if anything was new.
    store_header: Callable[[Transaction, SubmissionHeader, datetime], bool] | None = None
    # The kinds of data that a filing counts as when the time of the latest arrival of each kind is recorded.
    arrival_kinds: tuple[heartbeats.Kind, ...] = ()


def load_family(form: FormFamily) -> Family:
    """Import and return the functions of a form family."""
    family: Family = import_module(form.module).FAMILY
    return family


def store_header(tx: Transaction, header: SubmissionHeader, now: datetime) -> bool:
    """Store what families read in headers: filings without readable documents, series of funds. Return True if new."""
    changed = False
    for form in FAMILIES:
        if header.form in form.header_only_forms or (form.reads_series and header.series):
            store = load_family(form).store_header
            if store is not None:
                changed |= store(tx, header, now)
    return changed


def apply_listed_metadata(tx: Transaction, now: datetime, cik: int | None = None) -> bool:
    """Complete documents that were stored before a list with their filing. Return True if anything changed.

    Documents of all companies get filing days that have become known. If the list of one company was stored, ``cik`` is
    that company, and its documents without an accession number are moved to the filings that the list has for them.
    """
    changed_count = sum(load_family(form).update_dates(tx, now) for form in FAMILIES)
    unfiled_rows = tx.list_rows("unfiled", cik=cik) if cik is not None else []
    for row in unfiled_rows:
        stopping.check()
        accession = find_listed_accession(tx, FilingClaim((row["cik"],), row["form"], row["period_of_report"], b""))
        if accession is not None:
            filing_id = tx.find_value("filing_id", accession=accession)
            for form in FAMILIES:
                load_family(form).move_filing(tx, row["id"], filing_id, accession, now)
            tx.run("delete_filing", id=row["id"])
            changed_count += 1
    return changed_count > 0
