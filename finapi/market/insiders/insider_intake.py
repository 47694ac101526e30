"""The family of ownership forms for ingest: how documents, quarterly data sets and packs are parsed and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from finapi.app import App
from finapi.core import stopping
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import insider_sets, ownership_forms
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.edgar.insider_sets import FiledForm
from finapi.edgar.ownership_forms import OwnershipForm
from finapi.market.documents import outcomes
from finapi.market.documents.families import Family
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, INDEX_EVIDENCE, FilingMetadata, from_pack_row
from finapi.market.documents.outcomes import UNDATED_NOTE, Outcome, format_reason
from finapi.market.documents.sources import Document
from finapi.market.insiders import form_bodies, insider_store
from finapi.market.reference import companies
from finapi.store.db import Transaction

TABLE_PREFIX = "insider-set-"  # The prefix of the document kinds for a data set's tables.

# The filings of a data set stored per database transaction. A commit for each would be slow, and a single transaction
# for all would keep other writers waiting.
_BATCH_SIZE = 200


class _Counts(NamedTuple):
    """The number of filings of a data set by outcome."""

    stored: int = 0
    unchanged: int = 0
    refused: int = 0


def store_data_set(app: App, documents: Sequence[Document], only: Set[int] | None = None) -> Iterator[Outcome]:
    """Store the filings of a quarterly data set, whose tables are ``documents``. Yield the outcomes.

    With ``only``, filings about issuers with other CIKs are skipped.
    """
    documents_by_kind = {document.kind: document for document in documents}
    if len(documents_by_kind) < len(documents):
        for document in documents:
            yield outcomes.refuse(document, "two tables of one kind lie here: a folder holds one data set")
        return
    tables = {}
    paths = {}
    counts = _Counts()
    try:
        for kind, document in documents_by_kind.items():
            table_name = kind.removeprefix(TABLE_PREFIX)
            tables[table_name] = document.read()
            paths[table_name] = document.path
        forms = insider_sets.iter_forms(tables, paths)
        while batch := list(islice(forms, _BATCH_SIZE)):
            stopping.check()
            errors = [entry for entry in batch if isinstance(entry, ParseError)]
            parsed = [entry for entry in batch if not isinstance(entry, ParseError)]
            for error in errors:
                kind = TABLE_PREFIX + insider_sets.SUBMISSION
                yield Outcome(error.file, kind, "refused", format_reason(error), error.place)
            if only is not None:
                parsed = [filed for filed in parsed if int(filed.form.issuer_cik) in only]
            stored = _store_batch(app, parsed)
            counts = _Counts(
                stored=counts.stored + stored,
                unchanged=counts.unchanged + len(parsed) - stored,
                refused=counts.refused + len(errors),
            )
            documents[0].entry.report_progress("filings", sum(counts), 0)
    except ParseError as error:
        for document in documents:
            yield outcomes.refuse(document, str(error))
        return
    stored_filings = format_count(counts.stored, "filing")
    note = f"a data set: {stored_filings} stored, {counts.unchanged} already stored, {counts.refused} refused"
    for document in documents:
        yield outcomes.accept(document, counts.stored > 0, note)


def _store_batch(app: App, batch: list[FiledForm]) -> int:
    """Store filings in one database transaction. Return the number of new ones."""
    now = app.clock.now()
    stored = 0
    with app.db.write() as tx:
        for filed in batch:
            filing = FilingMetadata(filed.accession, INDEX_EVIDENCE, filed_at=filed.filed)
            stored += insider_store.upsert_form(tx, filed.form, filing, now)
    return stored


def _iter_pack_rows(tx: Transaction) -> Iterator[tuple[OwnershipForm, FilingMetadata, int | None]]:
    """Yield each stored form with its filing and, once for each issuer, the issuer's SIC code, which no form states."""
    for row in tx.list_rows("insider_forms_to_pack"):
        evidence = INDEX_EVIDENCE if row["source"] == insider_store.FROM_SET else DOCUMENT_EVIDENCE
        yield form_bodies.decode_form(row["body"]), from_pack_row(row, evidence), row["sic"]


def _store_pack_row(
    tx: Transaction, form: OwnershipForm, filed: FilingMetadata, sic: int | None, now: datetime
) -> bool:
    """Store a form of a pack. Return True if anything was new."""
    is_new = insider_store.upsert_form(tx, form, filed, now)
    if sic is not None:
        # Rank 0 and no date: every other source of the company's SIC code is preferred.
        companies.update_attributes(tx, int(form.issuer_cik), CompanyAttributes(sic=sic), 0, "")
    return is_new


FAMILY = Family(
    content=OwnershipForm,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: ownership_forms.parse(documents[0].read(), documents[0].path),
    build_claim=insider_store.build_claim,
    store=insider_store.upsert_form,
    describe_stored=lambda form, filed: None if filed.filed_at else UNDATED_NOTE,
    has_primary_document=True,
    finish_ingest=insider_store.complete_undated_forms,
    ingest_data_set=store_data_set,
    iter_pack_rows=_iter_pack_rows,
    store_pack_row=_store_pack_row,
)
