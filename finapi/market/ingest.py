"""Documents into the store: recognised by content, parsed outside the transaction, stored filing by filing.

A filing is stored whole or not at all; what cannot be read is reported with its reason and the rest goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from finapi import heartbeats, metrics
from finapi.app import App
from finapi.db import Failing, Transaction
from finapi.edgar import identity, recognise, sgml
from finapi.errors import ParseError
from finapi.market import (
    alone,
    assembly,
    contents,
    datasets,
    filings,
    holdings_files,
    holdings_intake,
    holdings_store,
    insider_intake,
    insider_store,
    lists,
    report,
    sources,
    store,
)
from finapi.market.alone import Document
from finapi.market.outcomes import NOT_STORED, UNDATED, because
from finapi.market.outcomes import Given as Given
from finapi.market.outcomes import Outcome as Outcome
from finapi.market.sources import Entry, Group, Unreadable

log = logging.getLogger("finapi.ingest")

INSTANCE = assembly.INSTANCE

# Renderings and lists of what the other documents say: they lie in every filing's folder.
COMPANIONS = (
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


def run(app: App, paths: Iterable[Path], given: Given, tell: Callable[[Outcome], None]) -> dict[str, int]:
    """Ingest everything that the paths hold; how many files had each outcome.

    ``tell`` is called with each file's outcome as soon as it is known.
    """
    counts = {"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0}
    for group in sources.groups(paths):
        if isinstance(group, Unreadable):
            outcomes: Iterable[Outcome] = [Outcome(group.path, "unknown", "refused", group.reason)]
        else:
            outcomes = _ingest_group(app, group, given)
        for outcome in outcomes:
            counts[outcome.outcome] += 1
            app.metrics.count(metrics.INGESTED, outcome.outcome)
            tell(outcome)
    with app.db.write() as tx:
        # What was listed may be forms that came before without their number or day.
        insider_store.settle(tx, app.clock.now())
    return counts


def _ingest_group(app: App, group: Group, given: Given) -> Iterator[Outcome]:
    """One folder: documents that stand alone one by one, those of XBRL and of 13F together."""
    together: list[Document] = []
    forms: list[Document] = []
    tables: list[Document] = []
    insider_tables: list[Document] = []
    holdings: list[Document] = []
    beside: identity.Identity | None = None
    for entry in group.entries:
        try:
            document = Document(entry, recognise.kind(entry.read(recognise.ENOUGH), entry.name))
        except ParseError as error:
            yield Outcome(entry.path, "unknown", "refused", error.reason)
            continue
        if document.kind in assembly.XBRL:
            together.append(document)
            continue
        if document.kind == insider_intake.FORM:
            forms.append(document)
            continue
        if document.kind.startswith(insider_intake.TABLE):
            insider_tables.append(document)
            continue
        if document.kind in datasets.KINDS:
            tables.append(document)
            continue
        if document.kind in holdings_files.KINDS:
            holdings.append(document)
            continue
        if document.kind in ("directory-index", "filing-index"):
            beside = beside or _identity(document)
        yield from _guarded([document], _ingest_one(app, document, given))
    # What lies beside a form, and the name of its folder, tell of it only when it is the only one there.
    only = len(forms) == 1
    for form in forms:
        names = (form.entry.name, group.name) if only else (form.entry.name,)
        told = insider_intake.Told.outside(beside if only else None, given)
        yield from _guarded([form], insider_intake.document(app, form.read, form.entry.path, told, names))
    if insider_tables:
        parts = [(one.kind, one.entry.path, one.read) for one in insider_tables]
        yield from _guarded(insider_tables, insider_intake.data_set(app, parts))
    if holdings:
        yield from _guarded(holdings, _ingest_holdings(app, holdings, group.name, beside, given))
    for documents in _filings(together):
        yield from _guarded(documents, _ingest_filing(app, documents, group.name, beside, given))
    if tables:
        yield from _guarded(tables, _data_sets(app, tables))


def _guarded(documents: list[Document], outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """The outcomes; a document that meets a mistake of ours is refused and logged, and the rest goes on."""
    try:
        yield from list(outcomes)
        return
    except Failing as error:
        reason = f"{NOT_STORED}: {error}"
    except Exception:
        log.exception("ingest of %s failed", documents[0].entry.path)
        reason = "cannot be read for a reason that finapi did not foresee; its log says more"
    for document in documents:
        yield Outcome(document.entry.path, document.kind, "refused", reason)


def _ingest_one(app: App, document: Document, given: Given) -> Iterator[Outcome]:
    path, kind = document.entry.path, document.kind
    try:
        if kind == "full-submission":
            yield from _full_submission(app, document, given)
        elif kind in alone.HANDLERS:
            yield from alone.HANDLERS[kind](app, document)
        elif kind in COMPANIONS:
            yield Outcome(path, kind, "skipped", alone.COMPANION)
        else:
            yield Outcome(path, kind, "refused", _REFUSALS.get(kind, "is not a document that finapi reads"))
    except ParseError as error:
        yield Outcome(path, kind, "refused", because(error))


def _data_sets(app: App, documents: list[Document]) -> Iterator[Outcome]:
    """The tables of a quarter together; filings that are refused are named one by one."""
    tables = [(document.kind, document.entry) for document in documents]
    return (Outcome(*told) for told in datasets.told(app, tables))


def _full_submission(app: App, document: Document, given: Given) -> Iterator[Outcome]:
    """The filing as its header says, the list of its documents, and the XBRL documents among them."""
    path, data = document.entry.path, document.read()
    header = sgml.header(data, path)
    lines: list[contents.Listed] = []
    inside: list[Document] = []
    forms: list[tuple[str, bytes]] = []
    primary = None
    for line, part in contents.listed(sgml.documents(data, path)):
        if not lines:
            primary = contents.text(part, app.config.document_bytes)
        lines.append(line)
        # A line break before the XML declaration is the submission's, not the document's.
        body = part.body.lstrip()
        kind = recognise.kind(body, part.filename or "")
        if kind in assembly.XBRL or kind in holdings_files.KINDS:
            name = part.filename or f"document {part.sequence}"
            entry = Entry(path, name, _already_read(body), sources.lines_of(body), len(body))
            inside.append(Document(entry, kind))
        elif kind == insider_intake.FORM:
            forms.append((part.filename or "", body))
    changed = _put_submission(app, header, len(data), lines, primary)
    beside = identity.from_header(header)
    if forms:
        name, held = forms[0]
        told = insider_intake.Told.header(beside)
        outcomes = list(insider_intake.document(app, lambda: held, path, told, (name,)))
    elif any(one.kind in holdings_files.KINDS for one in inside):
        outcomes = list(_ingest_holdings(app, inside, "", beside, given))
    elif any(one.kind == INSTANCE for one in inside):
        outcomes = list(_ingest_filing(app, inside, "", beside, given))
    else:
        outcome = replace(alone.listed(document, changed), accession=header.accession)
        yield replace(outcome, reason=holdings_intake.unread(header.form) or outcome.reason)
        return
    worst = next((one for one in outcomes if one.outcome == "refused"), outcomes[0])
    yield _with(worst, document, changed=changed)


def _with(outcome: Outcome, document: Document, *, changed: bool) -> Outcome:
    """The outcome of a submission by that of what is inside; ``changed``: the filing itself told something new."""
    if changed and outcome.outcome == "unchanged":
        outcome = replace(outcome, outcome="ingested", reason=None)
    return replace(outcome, path=document.entry.path, kind=document.kind)


def _put_submission(
    app: App,
    header: sgml.SubmissionHeader,
    size: int,
    lines: list[contents.Listed],
    primary: contents.Text | None,
) -> bool:
    """Store a filing as its own header and list of documents tell of it; whether anything was new."""
    told = filings.from_header(header, size)
    now = app.clock.now()
    with app.db.write() as tx:
        stored = filings.put(tx, told, now)
        changed = stored.changed | lists.put_parties(tx, header)
        if lines:
            # A list of filings may name the document's rendering instead, which says more to a reader.
            first = filings.Told(
                header.accession,
                filings.DOCUMENT,
                told.parties,
                primary_document=lines[0].filename,
                description=lines[0].description,
            )
            changed |= filings.put(tx, first, now).changed
            changed |= contents.put(tx, stored.id, lines, primary, app.config.documents_bytes)
        changed |= holdings_store.settle_filed(tx) > 0
        if changed:
            tx.run("bump_data_version")
    return changed


def _ingest_holdings(
    app: App, documents: list[Document], folder: str, beside: identity.Identity | None, given: Given
) -> Iterator[Outcome]:
    files = [
        holdings_files.File(at, one.kind, one.entry.path, one.entry.name, one.read)
        for at, one in enumerate(documents)
        if one.kind in holdings_files.KINDS
    ]
    said = identity.Identity(given.accession or "", (), filed=given.filed_at)
    for result in holdings_intake.ingest(app, files, folder, beside, said):
        document = documents[result.file.index]
        yield Outcome(document.entry.path, document.kind, *result[1:])


def _already_read(body: bytes) -> Callable[[int | None], bytes]:
    return lambda size: body if size is None else body[:size]


_REFUSALS = {
    "empty": "is empty",
    "sec-error-page": "is an error page of the SEC, not a document",
    "zip": "is a zip inside a zip",
}


def _filings(documents: list[Document]) -> Iterator[list[Document]]:
    """The documents filing by filing: all of a folder, or by the schema that each of several instances names."""
    instances = [document for document in documents if document.kind == INSTANCE]
    if len(instances) < 2:
        if documents:
            yield documents
        return
    rest = [document for document in documents if document.kind != INSTANCE]
    # The longest stem first: aapl-20240928x10ka is not aapl-20240928.
    for instance in sorted(instances, key=lambda one: -len(_stem(one.entry.name))):
        stem = _stem(instance.entry.name)
        theirs = [document for document in rest if document.entry.name.startswith(stem)]
        rest = [document for document in rest if document not in theirs]
        yield [instance, *theirs]
    if rest:
        yield rest


def _ingest_filing(
    app: App, documents: list[Document], folder: str, beside: identity.Identity | None, given: Given
) -> Iterator[Outcome]:
    try:
        made = assembly.assemble(documents)
        with app.db.write() as tx:
            filed = _filed(tx, made, documents, folder, beside, given)
            now = app.clock.now()
            stored = store.put(tx, made, filed, now)
            if stored:
                heartbeats.arrived_report(tx, now)
    except ParseError as error:
        for document in documents:
            at_fault = error.file == document.entry.path
            reason = because(error) if at_fault else f"its filing was refused: {error}"
            yield Outcome(document.entry.path, document.kind, "refused", reason)
        return
    note = None
    if not stored:
        note = "the same documents are held already"
    elif filed.filed_at is None:
        note = UNDATED
    for document in documents:
        yield Outcome(
            document.entry.path, document.kind, "ingested" if stored else "unchanged", note, filed.accession
        )


def _filed(
    tx: Transaction,
    made: report.Report,
    documents: list[Document],
    folder: str,
    beside: identity.Identity | None,
    given: Given,
) -> store.Filed:
    """Accession and filing date from the first source that tells, in the order of CONTRACT 6."""
    cover = made.cover
    if beside is not None and beside.ciks and f"{cover.cik:010}" not in beside.ciks:
        beside = None
    if beside and given.accession and given.accession != beside.accession:
        raise ParseError(
            documents[0].entry.path,
            "",
            f"the index beside it says {beside.accession}, --accession {given.accession}",
        )
    listed = store.like(tx, cover.cik, cover.form, cover.period_of_report)
    names = [folder, *(document.entry.name for document in documents)]
    accession = (
        (beside and beside.accession)
        or given.accession
        or (listed and listed.accession)
        or next(filter(None, map(identity.accession_in_name, names)), None)
        or report.UNFILED + made.sha256.hex()[:16]
    )
    filed_at = (beside and beside.filed) or given.filed_at or tx.value("filing_date", accession=accession)
    if beside is not None:
        return store.Filed(accession, filed_at, beside.accepted, beside.form, beside.period, filings.HEADER)
    return store.Filed(accession, filed_at, evidence=filings.OPERATOR if given.filed_at else filings.DOCUMENT)


def _identity(document: Document) -> identity.Identity | None:
    try:
        return identity.from_index(document.read(), document.entry.path)
    except ParseError:
        return None  # an index that cannot be read tells nothing; the documents themselves may still be whole


def _stem(name: str) -> str:
    return name.partition(".")[0].removesuffix("_htm")
