"""Ownership documents and data sets on their way into the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from itertools import islice

from finapi.app import App
from finapi.core import stopping
from finapi.core.errors import ParseError
from finapi.edgar import insider_sets, ownership_forms
from finapi.edgar.ownership_forms import OwnershipForm
from finapi.market.documents import outcomes
from finapi.market.documents.families import Family
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, INDEX_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import UNDATED_NOTE, Outcome, format_reason
from finapi.market.documents.sources import Document
from finapi.market.insiders import insider_store
from finapi.market.reference import companies
from finapi.store.db import Transaction

# The kinds of a data set's tables begin with this.
TABLE_PREFIX = "insider-set-"

# Filings of a data set in one transaction: each on its own costs a commit, all together would hold the writer.
_PORTION = 200


def store_data_set(app: App, documents: Sequence[Document], only: Set[int] | None = None) -> Iterator[Outcome]:
    """Store the filings of a quarterly data set, given as its tables, or those about some issuers; the outcomes."""
    by_kind = {document.kind: document for document in documents}
    if len(by_kind) < len(documents):
        for document in documents:
            yield outcomes.refuse(document, "two tables of one kind lie here: a folder holds one data set")
        return
    named = {kind.removeprefix(TABLE_PREFIX): document for kind, document in by_kind.items()}
    stored = held = refused = 0
    try:
        tables = {name: document.read() for name, document in named.items()}
        found = insider_sets.iter_forms(tables, {name: document.path for name, document in named.items()})
        while portion := list(islice(found, _PORTION)):
            stopping.check()
            wrong = [one for one in portion if isinstance(one, ParseError)]
            read = [one for one in portion if not isinstance(one, ParseError)]
            right = [one for one in read if only is None or int(one.form.issuer_cik) in only]
            for error in wrong:
                yield Outcome(
                    error.file, TABLE_PREFIX + insider_sets.SUBMISSION, "refused", format_reason(error), error.place
                )
            fresh = _store(app, right)
            stored, held, refused = stored + fresh, held + len(right) - fresh, refused + len(wrong)
            documents[0].entry.report_progress("filings", stored + held + refused, 0)
    except ParseError as error:
        for document in documents:
            yield outcomes.refuse(document, str(error))
        return
    note = f"a data set: {stored} filings stored, {held} held before, {refused} refused"
    for document in documents:
        yield outcomes.for_document(document, stored > 0, note)


def _store(app: App, portion: list[insider_sets.FiledForm]) -> int:
    now = app.clock.now()
    with app.db.write() as tx:
        return sum(
            insider_store.upsert_form(
                tx, one.form, FilingMetadata(one.accession, INDEX_EVIDENCE, filed_at=one.filed), now
            )
            for one in portion
        )


def _pack_rows(tx: Transaction) -> Iterator[tuple[OwnershipForm, FilingMetadata, int | None]]:
    # With the industry of its issuer, which no form says.
    for row in tx.list_rows("insider_forms_to_pack"):
        filed = FilingMetadata(
            row["accession"],
            INDEX_EVIDENCE if row["source"] == insider_store.FROM_SET else DOCUMENT_EVIDENCE,
            filed_at=row["filed_at"],
            accepted_at=row["accepted_at"],
            primary_document=row["document"],
        )
        yield insider_store.decode_form(row["body"]), filed, row["sic"]


def _pack_put(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, sic: int | None, now: datetime) -> bool:
    stored = insider_store.upsert_form(tx, form, filed, now)
    if sic is not None:
        # Of no day and no rank: whatever else tells of the company knows better.
        companies.update_attributes(tx, int(form.issuer_cik), companies.FiledAttributes(sic=sic), 0, "")
    return stored


FAMILY = Family(
    content=OwnershipForm,
    group_documents=lambda documents: ([document] for document in documents),
    read_content=lambda documents: ownership_forms.parse(documents[0].read(), documents[0].path),
    get_subject=insider_store.build_subject,
    store=insider_store.upsert_form,
    describe_stored=lambda form, filed: None if filed.filed_at else UNDATED_NOTE,
    has_primary_document=True,
    finish_ingest=insider_store.complete_undated_forms,
    ingest_data_set=store_data_set,
    iter_pack_rows=_pack_rows,
    store_pack_row=_pack_put,
)
