"""What the module of a form family provides: how its documents are parsed, stored and packed.

Each line of ``edgar/form_families.py`` names such a module, which has a :class:`Family` called ``FAMILY``. The module
is imported when its first document comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any

from finapi.app import App
from finapi.core import stopping
from finapi.edgar.form_families import FAMILIES, FormFamily
from finapi.edgar.sgml import SubmissionHeader
from finapi.market.documents.identification import Subject, find_listed_accession
from finapi.market.documents.metadata import FilingMetadata
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import Document
from finapi.store import heartbeats
from finapi.store.db import Transaction


@dataclass(frozen=True, slots=True)
class Family:
    """How documents of one kind of filing are parsed and stored.

    ``group`` deals a folder's documents to filings, ``read`` makes a filing's ``content`` of them or raises ParseError,
    ``put`` stores it and says whether anything was new; ``note`` is what the operator should know of what was stored.
    With ``primary`` its first document is the filing's primary one. ``move`` puts what was stored under an unknown
    filing (its id) under the one that it turned out to be (id and accession number), and announces it. ``redate`` takes
    over days of filings that became known, ``finish`` ends an ingest: both say how many documents changed. ``data_set``
    stores the SEC's bulk tables, of all companies or of these CIKs. ``unread`` says of form types why a submission has
    no documents of the family; ``headed`` stores what the header alone tells of one.
    ``pack_rows`` gives every stored content with its filing, and what else ``pack_put`` needs to store it.
    """

    content: Any
    group_documents: Callable[[Sequence[Document]], Iterator[Sequence[Document]]]
    read_content: Callable[[Sequence[Document]], Any]
    get_subject: Callable[[Any], Subject]
    store: Callable[[Transaction, Any, FilingMetadata, datetime], bool]
    describe_stored: Callable[[Any, FilingMetadata], str | None]
    iter_pack_rows: Callable[[Transaction], Iterator[tuple[Any, FilingMetadata, Any]]]
    store_pack_row: Callable[[Transaction, Any, FilingMetadata, Any, datetime], bool] | None = None
    has_primary_document: bool = False
    move_filing: Callable[[Transaction, int, int, str, datetime], None] = lambda tx, old, new, accession, now: None
    update_dates: Callable[[Transaction, datetime], int] = lambda tx, now: 0
    finish_ingest: Callable[[Transaction, datetime], int] = lambda tx, now: 0
    ingest_data_set: Callable[[App, Sequence[Document], Set[int] | None], Iterator[Outcome]] | None = None
    unread_reasons: Mapping[str, str] = field(default_factory=dict)
    store_header: Callable[[Transaction, SubmissionHeader, datetime], bool] | None = None
    arrival_kinds: tuple[heartbeats.Kind, ...] = ()


def load_family(form: FormFamily) -> Family:
    """The family of a line of the table."""
    found: Family = import_module(form.module).FAMILY
    return found


def store_header(tx: Transaction, header: SubmissionHeader, now: datetime) -> bool:
    """Store what the header of a filing tells its family, where that reads nothing else; whether anything was new."""
    stored = False
    for form in FAMILIES:
        if header.form in form.header_only_forms:
            put = load_family(form).store_header
            stored |= put is not None and put(tx, header, now)
    return stored


def apply_listed_metadata(tx: Transaction, now: datetime, cik: int | None = None) -> bool:
    """Take over what lists now say of documents that came before them; ``cik`` is the company that was listed."""
    changed = sum(load_family(form).update_dates(tx, now) for form in FAMILIES)
    for row in tx.list_rows("unfiled", cik=cik) if cik is not None else ():
        stopping.check()
        subject = Subject((row["cik"],), row["form"], row["period_of_report"], b"")
        accession = find_listed_accession(tx, subject)
        if accession is not None:
            filing_id = tx.find_value("filing_id", accession=accession)
            for form in FAMILIES:
                load_family(form).move_filing(tx, row["id"], filing_id, accession, now)
            tx.run("delete_filing", id=row["id"])
            changed += 1
    return changed > 0
