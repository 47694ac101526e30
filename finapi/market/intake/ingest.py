"""Ingest: documents are detected, parsed and stored.

From bytes to rows, an ingest takes these steps:

1. ``sources.iter_groups`` yields the documents of each folder (or folder of a zip) as a group.
2. The kind of each document is detected from its first bytes and not from its name.
3. Single documents (a company's list, an index, prices, a full submission) are parsed and stored one by one.
4. The documents of each form family are split into filings. Each filing is parsed, identified
   (``identification.FilingClues``) and stored with its family's functions.
5. At the end, each family completes what depends on several documents.

Parsing happens before the write transaction, so that other writers wait only for the rows. A filing is stored in one
transaction, completely or not at all. A document that cannot be read gets the outcome ``refused`` with the reason, and
the ingest continues with the next one.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from finapi.app import App
from finapi.core import json, metrics, stopping
from finapi.core.clock import iso
from finapi.core.errors import ParseError
from finapi.edgar import document_kinds, index_documents, sgml, xml_repair
from finapi.edgar.form_families import FAMILIES, FormFamily
from finapi.edgar.identifiers import FilingIdentity
from finapi.market.documents import (
    announcements,
    families,
    filing_store,
    metadata,
    outcomes,
    sources,
    submission_documents,
)
from finapi.market.documents.families import Family, UnreadDocumentError
from finapi.market.documents.identification import FilingClues, IngestOptions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata, is_unfiled
from finapi.market.documents.outcomes import ALREADY_STORED_NOTE, Outcome
from finapi.market.documents.sources import Document, Group, StrayFile, Unreadable
from finapi.market.filings import lists
from finapi.market.intake import fetch_queue, single_documents
from finapi.market.intake.single_documents import StoreCallback
from finapi.store import heartbeats
from finapi.store.db import OperationalError, Transaction

log = logging.getLogger("finapi.ingest")

MAX_REFUSED_FILES = 1000  # Refused files that are recorded.
MAX_LIST_BATCH_BYTES = 4_000_000  # Lists of filings that are stored together: about 25, which takes half a second.

# Called with the progress of the work on a long file: its path, and the arguments of sources.ProgressCallback.
FileProgressCallback = Callable[[str, str, int, int], None]
# Called in the transaction that stores some documents, with their outcomes.
FinishCallback = Callable[[Transaction, Sequence[Outcome]], None]

_FAMILY_BY_KIND = {kind: form for form in FAMILIES for kind in (*form.kinds, *form.data_set_kinds)}


# ---- entry points


def run(
    app: App,
    paths: Iterable[Path],
    options: IngestOptions,
    report: Callable[[Outcome], None],
    report_progress: FileProgressCallback | None = None,
) -> dict[str, int]:
    """Ingest all documents of the paths. Return the number of files for each outcome.

    ``report`` is called with each file's outcome as soon as it is known, ``report_progress`` during the work on a long
    file. The last refused files are recorded until they are ingested. Raise ApiError CONFLICT if the market data are a
    read-only copy.
    """
    app.db.check_original()
    counts: Counter[str] = Counter()
    with app.db.read() as tx:
        known_refused_paths = {row["path"] for row in fetch_queue.list_refused_files(tx, MAX_REFUSED_FILES)}
    last_refusals: deque[Outcome] = deque(maxlen=MAX_REFUSED_FILES)
    fixed_paths: list[str] = []
    with app.db.with_larger_cache():
        try:
            accepts_name = None if options.only_ciks is None else options.accepts_file
            for group in sources.iter_groups(paths, accepts_name):
                for outcome in _ingest_path_group(app, group, options, report_progress):
                    counts[outcome.outcome] += 1
                    app.metrics.count(metrics.INGESTED_FILES, outcome.outcome)
                    if outcome.outcome == "refused":
                        last_refusals.append(outcome)
                    elif outcome.path in known_refused_paths:
                        fixed_paths.append(outcome.path)
                    report(outcome)
        finally:
            # An ingest that is interrupted also completes the documents that it stored.
            with app.db.write() as tx:
                now = app.clock.now()
                _finish_families(tx, now)
                tx.run("delete_refused_files", paths=json.text(fixed_paths))
                refused_rows = [(outcome.path, outcome.kind, outcome.reason, iso(now)) for outcome in last_refusals]
                tx.insert_rows("upsert_refused_file", refused_rows)
                tx.run("delete_old_refused_files", keep=MAX_REFUSED_FILES)
    return count_outcomes(counts)


def _ingest_path_group(
    app: App,
    group: Group | Unreadable | StrayFile,
    options: IngestOptions,
    report_progress: FileProgressCallback | None,
) -> Iterable[Outcome]:
    if isinstance(group, Unreadable):
        return [Outcome(group.path, "unknown", "refused", group.reason)]
    if isinstance(group, StrayFile):
        return [Outcome(group.path, "unknown", "skipped", group.reason)]
    entries = [entry for entry in group.entries if options.accepts_file(entry.name)]
    if report_progress is not None:
        entries = [replace(entry, report_progress=partial(report_progress, entry.path)) for entry in entries]
    return _ingest_group(app, Group(group.name, entries), options, None)


def count_outcomes(outcomes: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
    """Return the number of files for each outcome, with 0 for outcomes that did not occur."""
    return {"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0} | Counter(outcomes)


def ingest_document(app: App, name: str, body: bytes, finish: FinishCallback) -> list[Outcome]:
    """Ingest one document that has been fetched. Return its outcomes.

    ``finish`` is called in the transaction that stores the document, or in one of its own if the document was refused.
    It is not called if the store failed and the document should be ingested again.
    """
    is_finished = False

    def finish_once(tx: Transaction, document_outcomes: Sequence[Outcome]) -> None:
        nonlocal is_finished
        _finish_families(tx, app.clock.now())
        finish(tx, document_outcomes)
        is_finished = True

    group = Group("", [sources.build_entry(name, name, body)])
    document_outcomes = list(_ingest_group(app, group, IngestOptions(), finish_once))
    for outcome in document_outcomes:
        app.metrics.count(metrics.INGESTED_FILES, outcome.outcome)
    if not is_finished and not any(outcome.retry for outcome in document_outcomes):
        with app.db.write() as tx:
            finish(tx, document_outcomes)
    return document_outcomes


def recompute_derived(app: App) -> None:
    """Recompute the rows that are derived from stored documents and from metadata that became known later."""
    with app.db.write() as tx:
        _finish_families(tx, app.clock.now())


def _finish_families(tx: Transaction, now: datetime) -> None:
    for form in FAMILIES:
        families.load_family(form).finish_ingest(tx, now)


# ---- one folder


@dataclass
class _FolderDocuments:
    """The documents of a folder that are ingested together, by form family."""

    by_family: dict[str, list[Document]] = field(default_factory=dict)
    # The pages with inline XBRL, which are also among the documents of their family.
    inline_pages: list[Document] = field(default_factory=list)
    index_identity: FilingIdentity | None = None


def _ingest_group(app: App, group: Group, options: IngestOptions, finish: FinishCallback | None) -> Iterator[Outcome]:
    """Ingest the documents of one folder: the single documents one by one, then those of each form family."""
    folder = _FolderDocuments()
    yield from _ingest_single_documents(app, group, options, finish, folder)
    clues = FilingClues(folder.index_identity, options, folder_name=group.name)
    accessions: set[str] = set()
    page_paths = {page.path for page in folder.inline_pages}
    page_outcomes: dict[str, Outcome] = {}
    for form in FAMILIES:
        documents = folder.by_family.get(form.name, [])
        filed_documents = [document for document in documents if document.kind in form.kinds]
        for outcome in _ingest_family(app, form, filed_documents, clues, finish):
            if outcome.accession and not is_unfiled(outcome.accession):
                accessions.add(outcome.accession)
            if outcome.path in page_paths:
                page_outcomes[outcome.path] = outcome
            else:
                yield outcome
        tables = [document for document in documents if document.kind in form.data_set_kinds]
        ingest_data_set = families.load_family(form).ingest_data_set if tables else None
        if ingest_data_set is not None:
            yield from _run_or_refuse(tables, partial(ingest_data_set, app, tables, options.only_ciks))
    for page in folder.inline_pages:
        xbrl_outcome = page_outcomes.get(page.path) or single_documents.build_unread_outcome(page)
        # The text of a page is stored only if it is the only page in the folder of one filing.
        if xbrl_outcome.outcome != "refused" and len(accessions) == len(folder.inline_pages) == 1:
            parse = partial(_parse_page, app, page, *accessions)
            for text_outcome in _parse_and_store(app, [page], parse, None):
                yield _merge_outcomes(xbrl_outcome, text_outcome)
        else:
            yield xbrl_outcome


def _merge_outcomes(xbrl_outcome: Outcome, text_outcome: Outcome) -> Outcome:
    """Return the outcome of a page whose XBRL and whose text were ingested."""
    if text_outcome.outcome == "refused" or xbrl_outcome.outcome == "skipped":
        return text_outcome
    if text_outcome.outcome == "ingested" and xbrl_outcome.outcome == "unchanged":
        return text_outcome
    return xbrl_outcome


def _ingest_single_documents(
    app: App, group: Group, options: IngestOptions, finish: FinishCallback | None, folder: _FolderDocuments
) -> Iterator[Outcome]:
    """Ingest the single documents of a group. Add the others to ``folder``.

    Consecutive lists of filings are stored together, up to :data:`MAX_LIST_BATCH_BYTES`.
    """
    list_batch: list[Document] = []
    for entry in group.entries:
        stopping.check()
        try:
            prefix = entry.read(document_kinds.MAX_PREFIX_BYTES)
            document = Document(entry, document_kinds.detect_kind(prefix, entry.name))
        except ParseError as error:
            yield Outcome(entry.path, "unknown", "refused", error.reason)
            continue
        is_list = document.kind in single_documents.LIST_KINDS and finish is None
        batch_bytes = sum(batched.entry.size for batched in list_batch)
        if not is_list or batch_bytes + entry.size > MAX_LIST_BATCH_BYTES:
            yield from _store_lists(app, list_batch)
            list_batch.clear()
        if is_list:
            list_batch.append(document)
        elif document.kind in _FAMILY_BY_KIND:
            folder.by_family.setdefault(_FAMILY_BY_KIND[document.kind].name, []).append(document)
            if document.kind == "inline-html":
                folder.inline_pages.append(document)
        else:
            if document.kind in ("directory-index", "filing-index") and folder.index_identity is None:
                folder.index_identity = _find_identity(document)
            yield from _ingest_single_document(app, document, options, finish)
    yield from _store_lists(app, list_batch)


def _ingest_single_document(
    app: App, document: Document, options: IngestOptions, finish: FinishCallback | None
) -> Sequence[Outcome]:
    """Ingest a document that is parsed and stored independently of all others."""
    if document.kind == "form-index":
        return _run_or_refuse([document], partial(single_documents.ingest_form_index, app, document))
    parse: Callable[[], StoreCallback]
    if document.kind == "full-submission":
        parse = partial(_parse_full_submission, app, document, options)
    elif document.kind == "prices":
        parse = partial(single_documents.parse_prices, document, options.ticker)
    elif document.kind in single_documents.PARSERS:
        parse = partial(single_documents.PARSERS[document.kind], document)
    else:
        return [single_documents.build_unread_outcome(document)]
    return _parse_and_store(app, [document], parse, finish)


def _ingest_family(
    app: App, form: FormFamily, documents: Sequence[Document], clues: FilingClues, finish: FinishCallback | None
) -> Iterator[Outcome]:
    """Ingest the filings of one family among the documents of a folder."""
    if not documents:
        return
    family = families.load_family(form)
    main_count = sum(document.kind == form.required_kinds[0] for document in documents)
    if main_count > 1 and family.has_primary_document:
        # An index and the folder's name identify a filing only if it is the only one in the folder.
        clues = replace(clues, index_identity=None, folder_name="")
    try:
        filings = list(family.group_documents(documents))
    except MemoryError:
        yield from (outcomes.refuse(document, sources.TOO_LITTLE_MEMORY) for document in documents)
        return
    for filing_documents in filings:
        stopping.check()
        parse = partial(_parse_filing, family, filing_documents, clues)
        yield from _parse_and_store(app, filing_documents, parse, finish)


def _run_or_refuse(documents: Sequence[Document], work: Callable[[], Iterable[Outcome]]) -> Sequence[Outcome]:
    """Run ``work`` and return its outcomes, or a refusal of each document if it raises. The ingest then goes on."""
    try:
        return list(work())
    except ParseError as error:
        return [outcomes.refuse(document, outcomes.format_refusal(document, error)) for document in documents]
    except OperationalError as error:
        stopping.check()  # A stop interrupts the statement with the same exception.
        return [outcomes.refuse(document, f"cannot be stored: {error}", retry=True) for document in documents]
    except MemoryError:
        return [outcomes.refuse(document, sources.TOO_LITTLE_MEMORY) for document in documents]
    except Exception:
        log.exception("ingest of %s failed", documents[0].path)
        reason = "cannot be read because of an unexpected error; see the log"
        return [outcomes.refuse(document, reason) for document in documents]


def _parse_and_store(
    app: App, documents: Sequence[Document], parse: Callable[[], StoreCallback], finish: FinishCallback | None
) -> Sequence[Outcome]:
    """Parse documents and store them in one transaction. Return their outcomes."""

    def work() -> Sequence[Outcome]:
        store = parse()
        with app.db.write() as tx:
            document_outcomes = store(tx, app.clock.now())
            if finish is not None:
                finish(tx, document_outcomes)
        return document_outcomes

    return _run_or_refuse(documents, work)


def _store_lists(app: App, documents: Sequence[Document]) -> Iterator[Outcome]:
    """Store lists of filings together, in transactions that end when another writer waits.

    The result is the same as storing them one by one, but it is faster. The filings of each list are spread over all
    pages of the indexes by day and by form; one transaction for several lists writes each of these pages once.
    """
    done_count = 0
    try:
        store_callbacks = [single_documents.PARSERS[document.kind](document) for document in documents]
        while done_count < len(store_callbacks):
            batch_outcomes: list[Outcome] = []
            with app.db.write() as tx:
                for store in store_callbacks[done_count:]:
                    batch_outcomes += store(tx, app.clock.now())
                    if app.db.has_waiting_writers:
                        break
            done_count += len(batch_outcomes)
            yield from batch_outcomes
    except Exception as error:
        # One of them is invalid. It is refused below, and the others are stored.
        log.debug("lists of filings are stored one by one: %s", error)
    for document in documents[done_count:]:
        parse = partial(single_documents.PARSERS[document.kind], document)
        yield from _parse_and_store(app, [document], parse, None)


# ---- filings


def _parse_filing(family: Family, documents: Sequence[Document], clues: FilingClues) -> StoreCallback:
    """Parse a filing of a form family. Return the function that identifies and stores it.

    If its documents are not well-formed only because of damaged end tags, they are repaired, and the repairs reported.
    """
    repairs: list[str] = []
    try:
        content = family.read_content(documents)
    except ParseError:
        repaired_documents = _repair_documents(documents, repairs)
        if not repairs:
            raise
        content = family.read_content(repaired_documents)
    claim = family.build_claim(content)
    file_names = tuple(document.name for document in documents)
    document_clues = replace(clues, file_names=file_names).select_applicable(claim, documents[0].path)

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        filing = document_clues.identify_filing(tx, claim)
        if family.has_primary_document:
            filing = replace(filing, primary_document=documents[0].name)
        changed = family.store(tx, content, filing, now)
        if changed:
            for kind in family.arrival_kinds:
                heartbeats.record_arrival(tx, kind, now)
        note = family.describe_stored(content, filing) if changed else ALREADY_STORED_NOTE
        note = _join_notes(*repairs, note)
        return [outcomes.accept(document, changed, note, filing.accession) for document in documents]

    return store


def _repair_documents(documents: Sequence[Document], repairs: list[str]) -> list[Document]:
    """Return the documents with their damaged end tags completed. Add the repairs to ``repairs``."""
    repaired_documents = []
    for document in documents:
        repaired = xml_repair.repair_end_tags(document.read())
        if repaired is not None:
            entry = sources.build_entry(document.path, document.name, repaired.content)
            document = replace(document, entry=entry)
            repairs += [f"{document.name}: {repair}" for repair in repaired.repairs]
        repaired_documents.append(document)
    return repaired_documents


def _parse_page(app: App, page: Document, accession: str) -> StoreCallback:
    """Parse the HTML page of a stored filing, whose text is stored like that of a full submission."""
    primary = submission_documents.prepare_text(page.read(), page.name, app.config.document_bytes)

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        row = tx.find_row("filing_row", accession=accession)
        if primary is None or row is None or row["primary_document"] not in (None, page.name):
            return [single_documents.build_unread_outcome(page)]
        filing = FilingMetadata(accession, DOCUMENT_EVIDENCE, primary_document=page.name)
        changed = filing_store.upsert(tx, filing, now, announces=False).changed
        changed |= _insert_documents(app, tx, row["id"], [], primary)
        if changed:
            tx.run("bump_data_version")
        return [outcomes.accept(page, changed, primary.note, accession)]

    return store


@dataclass
class _Submission:
    """A parsed full submission."""

    header: sgml.SubmissionHeader
    size: int
    listed_documents: list[submission_documents.ListedDocument]
    primary: submission_documents.PreparedText | None
    exhibits: list[submission_documents.PreparedDocument] = field(default_factory=list)
    # Outcomes of the documents that could not be read.
    part_outcomes: list[Outcome] = field(default_factory=list)

    @property
    def note(self) -> str | None:
        """Return how the primary document was repaired, or None."""
        return None if self.primary is None else self.primary.note


def _parse_full_submission(app: App, file: Document, options: IngestOptions) -> StoreCallback:
    """Parse a full submission: its header, the list of its documents, and those of a form family.

    A document that cannot be read is left out and reported. The filing and its other documents are stored.
    """
    body = file.read()
    header = sgml.parse_header(body, file.path)
    if options.accession not in (None, header.accession):
        reason = f"its header says {header.accession}, --accession says {options.accession}"
        raise ParseError(file.path, "", reason)
    submission = _Submission(header, len(body), [], None)
    documents: list[Document] = []
    for listed_document, part in submission_documents.iter_listed_documents(sgml.iter_documents(body, file.path)):
        if not submission.listed_documents:
            submission.primary = submission_documents.prepare_text(part.body, part.filename, app.config.document_bytes)
        elif part.error is None:
            exhibit = submission_documents.prepare_exhibit(listed_document, part.body, app.config.exhibit_bytes)
            if exhibit is not None:
                submission.exhibits.append(exhibit)
        submission.listed_documents.append(listed_document)
        # A line break before the XML declaration belongs to the submission and not to the document.
        part_body = part.body.lstrip()
        part_name = part.filename or ""
        entry = sources.build_entry(f"{file.path}!{part_name or listed_document.seq}", part_name, part_body)
        document = Document(entry, document_kinds.detect_kind(part_body, part_name))
        if part.error is None:
            documents.append(document)
        else:
            submission.part_outcomes.append(_build_part_outcome(file, document, part.error))
    clues = FilingClues(index_documents.identity_from_header(header), options)
    store_callbacks: list[StoreCallback] = []
    for form in FAMILIES:
        family_documents = [document for document in documents if document.kind in form.kinds]
        if any(document.kind in form.required_kinds for document in family_documents):
            family = families.load_family(form)
            for filing_documents in family.group_documents(family_documents):
                try:
                    store_callbacks.append(_parse_filing(family, filing_documents, clues))
                except ParseError as error:
                    submission.part_outcomes.append(_build_part_outcome(file, filing_documents[0], error))
            break

    def store(tx: Transaction, now: datetime) -> list[Outcome]:
        changed = _store_submission(app, tx, submission, now)
        document_outcomes: list[Outcome] = []
        for store_filing in store_callbacks:
            document_outcomes += store_filing(tx, now)
        if not document_outcomes:
            reason = None if submission.part_outcomes else _find_unread_reason(header.form)
            note = _join_notes(reason, submission.note)
            return [outcomes.accept(file, changed, note, header.accession), *submission.part_outcomes]
        outcome = document_outcomes[0]
        if changed and outcome.outcome == "unchanged":
            outcome = replace(outcome, outcome="ingested", reason=None)
        outcome = replace(outcome, path=file.path, kind=file.kind, reason=_join_notes(outcome.reason, submission.note))
        return [outcome, *submission.part_outcomes]

    return store


def _join_notes(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


def _build_part_outcome(file: Document, part: Document, error: ParseError) -> Outcome:
    """Return the outcome of a document of a submission that was left out: skipped if it is not damaged, else refused.

    Its path is that of the submission, which is to be ingested again. The reason begins with the document's name.
    """
    name = error.file.removeprefix(f"{file.path}!") if error.file != file.path else part.name or part.path
    reason = f"{name}: {outcomes.format_reason(error)}"
    if isinstance(error, UnreadDocumentError):
        return Outcome(file.path, part.kind, "skipped", reason)
    return Outcome(file.path, part.kind, "refused", f"{reason}; the filing is stored without it")


def _find_unread_reason(form_type: str) -> str | None:
    """Return why submissions on a form contain no documents of its family, or None."""
    for form in FAMILIES:
        reason = families.load_family(form).unread_reasons.get(form_type)
        if reason:
            return reason
    return None


def _store_submission(app: App, tx: Transaction, submission: _Submission, now: datetime) -> bool:
    """Store the filing that a submission's header and list of documents describe. Return True if anything was new."""
    header = submission.header
    filing = metadata.from_header(header, submission.size)
    stored_filing = filing_store.upsert(tx, filing, now, announces=False)
    changed = stored_filing.changed | lists.upsert_party_attributes(tx, header)
    if submission.listed_documents:
        # DOCUMENT_EVIDENCE, because a list may name the rendered form of the document, which is better for readers.
        first_document = FilingMetadata(
            header.accession,
            DOCUMENT_EVIDENCE,
            filing.parties,
            primary_document=submission.listed_documents[0].filename,
            description=submission.listed_documents[0].description,
        )
        changed |= filing_store.upsert(tx, first_document, now, announces=False).changed
        changed |= _insert_documents(
            app, tx, stored_filing.id, submission.listed_documents, submission.primary, submission.exhibits
        )
    changed |= families.store_header(tx, header, now)
    changed |= families.apply_listed_metadata(tx, now)
    # Last, so that the announcement contains the documents.
    announcements.announce_filing(tx, now, accession=header.accession)
    if changed:
        tx.run("bump_data_version")
    return changed


def _insert_documents(
    app: App,
    tx: Transaction,
    filing_id: int,
    listed_documents: list[submission_documents.ListedDocument],
    primary: submission_documents.PreparedText | None,
    exhibits: Sequence[submission_documents.PreparedDocument] = (),
) -> bool:
    return submission_documents.insert_documents(
        tx,
        filing_id,
        listed_documents,
        primary,
        exhibits,
        max_stored_bytes=app.config.documents_bytes,
        max_exhibit_bytes=app.config.exhibits_bytes,
        max_indexed_characters=app.config.documents_searched,
    )


def _find_identity(document: Document) -> FilingIdentity | None:
    """Return the filing that an index document describes, or None if it is invalid; the other documents may be fine."""
    try:
        return index_documents.parse(document.read(), document.path)
    except ParseError:
        return None
