"""Documents into the store: recognised by content, parsed outside the transaction, stored filing by filing.

A filing is stored whole or not at all; what cannot be read is reported with its reason and the rest goes on.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from finapi.app import App
from finapi.core import json, metrics, stopping
from finapi.core.clock import iso
from finapi.core.errors import ParseError
from finapi.edgar import document_kinds, index_documents, sgml
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
from finapi.market.documents.families import Family
from finapi.market.documents.identification import FilingClues, IngestOptions
from finapi.market.documents.metadata import UNFILED_PREFIX, FilingMetadata
from finapi.market.documents.outcomes import ALREADY_STORED_NOTE, Outcome
from finapi.market.documents.sources import Document, Group, Unreadable
from finapi.market.filings import lists
from finapi.market.intake import fetch_queue, single_documents
from finapi.store import heartbeats
from finapi.store.db import OperationalError, Transaction

log = logging.getLogger("finapi.ingest")

MAX_REFUSED_FILES = 1000  # refused files that are remembered
MAX_LIST_BATCH_BYTES = 4_000_000  # of lists of filings that are stored together: about 25, and half a second

# Stores what has been parsed, in the caller's transaction.
StoreCallback = Callable[[Transaction, datetime], Sequence[Outcome]]
# What is told of the work on a long file: its path, and what its ``Moved`` is told.
FileProgressCallback = Callable[[str, str, int, int], None]
# What else belongs to the transaction that stores some documents.
FinishCallback = Callable[[Transaction, Sequence[Outcome]], None]


def run(
    app: App,
    paths: Iterable[Path],
    given: IngestOptions,
    tell: Callable[[Outcome], None],
    moved: FileProgressCallback | None = None,
) -> dict[str, int]:
    """Ingest everything that the paths hold; how many files had each outcome.

    ``tell`` is called with each file's outcome as soon as it is known; ``moved`` while a long one is worked on.
    The last that were refused are remembered until they are ingested. CONFLICT where market data are a copy.
    """
    app.db.check_original()
    counts: Counter[str] = Counter()
    with app.db.read() as tx:
        known = {row["path"] for row in fetch_queue.list_refused_files(tx, MAX_REFUSED_FILES)}
    refused: deque[Outcome] = deque(maxlen=MAX_REFUSED_FILES)
    mended: list[str] = []
    with app.db.with_larger_cache():
        try:
            for group in sources.iter_groups(paths, None if given.only_ciks is None else given.accepts_file):
                if isinstance(group, Unreadable):
                    found: Iterable[Outcome] = [Outcome(group.path, "unknown", "refused", group.reason)]
                else:
                    wanted = [entry for entry in group.entries if given.accepts_file(entry.name)]
                    if moved is not None:
                        wanted = [replace(entry, report_progress=partial(moved, entry.path)) for entry in wanted]
                    found = _ingest_group(app, Group(group.name, wanted), given, None)
                for outcome in found:
                    counts[outcome.outcome] += 1
                    app.metrics.count(metrics.INGESTED_FILES, outcome.outcome)
                    if outcome.outcome == "refused":
                        refused.append(outcome)
                    elif outcome.path in known:
                        mended.append(outcome.path)
                    tell(outcome)
        finally:
            # Of what is stored, also when the rest was cut off.
            with app.db.write() as tx:
                now = app.clock.now()
                _finish(tx, now)
                tx.run("delete_refused_files", paths=json.text(mended))
                tx.insert_rows("upsert_refused_file", [(one.path, one.kind, one.reason, iso(now)) for one in refused])
                tx.run("delete_old_refused_files", keep=MAX_REFUSED_FILES)
    return count_outcomes(counts)


def count_outcomes(outcomes: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
    """How many files had each outcome."""
    return {"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0} | Counter(outcomes)


def ingest_document(app: App, name: str, body: bytes, also: FinishCallback) -> list[Outcome]:
    """Ingest one document that has been fetched; what became of it. ``also`` is done in the same transaction."""
    done = False

    def finish(tx: Transaction, found: Sequence[Outcome]) -> None:
        nonlocal done
        _finish(tx, app.clock.now())
        also(tx, found)
        done = True

    found = list(_ingest_group(app, Group("", [sources.build_entry(name, name, body)]), IngestOptions(), finish))
    for outcome in found:
        app.metrics.count(metrics.INGESTED_FILES, outcome.outcome)
    if not done and not any(outcome.retry for outcome in found):
        with app.db.write() as tx:
            also(tx, found)
    return found


def recompute_derived(app: App) -> None:
    """Make anew what follows from documents that are held, where something else became known of them."""
    with app.db.write() as tx:
        _finish(tx, app.clock.now())


def _finish(tx: Transaction, now: datetime) -> None:
    for form in FAMILIES:
        families.load_family(form).finish_ingest(tx, now)


def _ingest_group(app: App, group: Group, given: IngestOptions, also: FinishCallback | None) -> Iterator[Outcome]:
    """One folder: single documents one by one, then those of each form family together."""
    of_families: dict[str, list[Document]] = {}
    beside: FilingIdentity | None = None
    pages: list[Document] = []
    alike: list[Document] = []
    for entry in group.entries:
        stopping.check()
        try:
            one = Document(entry, document_kinds.detect_kind(entry.read(document_kinds.MAX_PREFIX_BYTES), entry.name))
        except ParseError as error:
            yield Outcome(entry.path, "unknown", "refused", error.reason)
            continue
        is_list = one.kind in single_documents.LIST_KINDS and also is None
        if not is_list or sum(each.entry.size for each in alike) + entry.size > MAX_LIST_BATCH_BYTES:
            yield from _together(app, alike)
            alike.clear()
        if is_list:
            alike.append(one)
            continue
        if one.kind in _FAMILY_OF:
            of_families.setdefault(_FAMILY_OF[one.kind].name, []).append(one)
            continue
        if one.kind in ("directory-index", "filing-index"):
            beside = beside or _identity(one)
        if one.kind == "inline-html":
            pages.append(one)
        else:
            yield from _single(app, one, given, also)
    yield from _together(app, alike)
    accessions: set[str] = set()
    for form in FAMILIES:
        documents = of_families.get(form.name, [])
        clues = FilingClues(beside, given, folder_name=group.name)
        for outcome in _ingest_family(app, form, [one for one in documents if one.kind in form.kinds], clues, also):
            if outcome.accession and not outcome.accession.startswith(UNFILED_PREFIX):
                accessions.add(outcome.accession)
            yield outcome
        tables = [one for one in documents if one.kind in form.data_set_kinds]
        data_set = families.load_family(form).ingest_data_set if tables else None
        if data_set is not None:
            yield from _guarded(tables, partial(data_set, app, tables, given.only_ciks))
    for page in pages:
        # It is the filing's own document only where the folder is that of one filing.
        if len(accessions) == len(pages) == 1:
            yield from _stored(app, [page], partial(_page, app, page, *accessions), None)
        else:
            yield single_documents.build_unread_outcome(page)


def _single(app: App, one: Document, given: IngestOptions, also: FinishCallback | None) -> Sequence[Outcome]:
    """A document that is read and stored by itself."""
    if one.kind == "form-index":
        return _guarded([one], partial(single_documents.ingest_form_index, app, one))
    if one.kind == "full-submission":
        return _stored(app, [one], partial(_full_submission, app, one, given), also)
    if one.kind == "prices":
        return _stored(app, [one], partial(single_documents.parse_prices, one, given.ticker), also)
    if one.kind in single_documents.PARSERS:
        return _stored(app, [one], partial(single_documents.PARSERS[one.kind], one), also)
    return [single_documents.build_unread_outcome(one)]


_FAMILY_OF = {kind: form for form in FAMILIES for kind in (*form.kinds, *form.data_set_kinds)}


def _ingest_family(
    app: App, form: FormFamily, documents: Sequence[Document], clues: FilingClues, also: FinishCallback | None
) -> Iterator[Outcome]:
    """The filings of one family among the documents of a folder."""
    if not documents:
        return
    family = families.load_family(form)
    if sum(one.kind == form.required_kinds[0] for one in documents) > 1 and family.has_primary_document:
        # What lies beside a form, and the name of its folder, tell of it only when it is the only one there.
        clues = replace(clues, index_identity=None, folder_name="")
    try:
        filings_of_family = list(family.group_documents(documents))
    except MemoryError:
        yield from (outcomes.refuse(one, sources.TOO_LITTLE_MEMORY) for one in documents)
        return
    for of_filing in filings_of_family:
        stopping.check()
        yield from _stored(app, of_filing, partial(_filing, family, of_filing, clues), also)


def _guarded(documents: Sequence[Document], work: Callable[[], Iterable[Outcome]]) -> Sequence[Outcome]:
    """The outcomes; documents that meet a mistake of ours are refused and logged, and the rest goes on."""
    try:
        return list(work())
    except ParseError as error:
        return [outcomes.refuse(one, outcomes.format_refusal(one, error)) for one in documents]
    except OperationalError as error:
        stopping.check()  # it was broken off
        return [outcomes.refuse(one, f"cannot be stored: {error}", retry=True) for one in documents]
    except MemoryError:
        return [outcomes.refuse(one, sources.TOO_LITTLE_MEMORY) for one in documents]
    except Exception:
        log.exception("ingest of %s failed", documents[0].path)
        reason = "cannot be read for a reason that finapi did not foresee; its log says more"
        return [outcomes.refuse(one, reason) for one in documents]


def _stored(
    app: App, documents: Sequence[Document], parse: Callable[[], StoreCallback], also: FinishCallback | None
) -> Sequence[Outcome]:
    """Parse documents, and store what they are in one transaction."""

    def work() -> Sequence[Outcome]:
        put = parse()
        with app.db.write() as tx:
            found = put(tx, app.clock.now())
            if also is not None:
                also(tx, found)
        return found

    return _guarded(documents, work)


def _together(app: App, documents: Sequence[Document]) -> Iterator[Outcome]:
    """Store single documents in the same rows as one by one, in a transaction that ends when others wait for it.

    The filings of each are spread over all pages of the lists by day and by form: together they write a page once.
    """
    done = 0
    try:
        puts = [single_documents.PARSERS[one.kind](one) for one in documents]
        while done < len(puts):
            found: list[Outcome] = []
            with app.db.write() as tx:
                for put in puts[done:]:
                    found += put(tx, app.clock.now())
                    if app.db.has_waiting_writers:
                        break
            done += len(found)
            yield from found
    except Exception as error:
        # The one that fails is refused below, and the others are not.
        log.debug("lists of filings are stored one by one: %s", error)
    for one in documents[done:]:
        yield from _stored(app, [one], partial(single_documents.PARSERS[one.kind], one), None)


def _filing(family: Family, documents: Sequence[Document], clues: FilingClues) -> StoreCallback:
    """A filing of a form family, identified and stored."""
    content = family.read_content(documents)
    subject = family.get_subject(content)
    clues = replace(clues, file_names=tuple(one.name for one in documents)).for_document(subject, documents[0].path)

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        filed = clues.identify_filing(tx, subject)
        if family.has_primary_document:
            filed = replace(filed, primary_document=documents[0].name)
        stored = family.store(tx, content, filed, now)
        if stored:
            for kind in family.arrival_kinds:
                heartbeats.record_arrival(tx, kind, now)
        note = family.describe_stored(content, filed) if stored else ALREADY_STORED_NOTE
        return [outcomes.for_document(one, stored, note, filed.accession) for one in documents]

    return put


def _page(app: App, page: Document, accession: str) -> StoreCallback:
    """The HTML of a filing that is stored: kept as that of a full submission is."""
    primary = submission_documents.prepare_text(page.read(), page.name, app.config.document_bytes)

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        row = tx.find_row("filing_row", accession=accession)
        if primary is None or row is None or row["primary_document"] not in (None, page.name):
            return [single_documents.build_unread_outcome(page)]
        named = FilingMetadata(accession, metadata.DOCUMENT_EVIDENCE, primary_document=page.name)
        changed = filing_store.upsert(tx, named, now, announces=False).changed
        changed |= _kept(app, tx, row["id"], [], primary)
        if changed:
            tx.run("bump_data_version")
        return [outcomes.for_document(page, changed, None, accession)]

    return put


def _full_submission(app: App, submission: Document, given: IngestOptions) -> StoreCallback:
    """The filing as its header says, the list of its documents, and the documents of a form family among them.

    With one of those refused, all of it is: nothing is stored of what was not read.
    """
    path, data = submission.path, submission.read()
    header = sgml.parse_header(data, path)
    lines: list[submission_documents.ListedDocument] = []
    inside: list[Document] = []
    primary = None
    for line, part in submission_documents.iter_listed_documents(sgml.iter_documents(data, path)):
        if not lines:
            primary = submission_documents.prepare_text(part.body, part.filename, app.config.document_bytes)
        lines.append(line)
        # A line break before the XML declaration is the submission's, not the document's.
        body = part.body.lstrip()
        inside.append(
            Document(
                sources.build_entry(path, part.filename or "", body),
                document_kinds.detect_kind(body, part.filename or ""),
            )
        )
    clues = FilingClues(index_documents.identity_from_header(header), given)
    puts: list[StoreCallback] = []
    for form in FAMILIES:
        documents = [one for one in inside if one.kind in form.kinds]
        if not any(one.kind in form.required_kinds for one in documents):
            continue
        family = families.load_family(form)
        puts = [_filing(family, of_filing, clues) for of_filing in family.group_documents(documents)]
        break

    def put(tx: Transaction, now: datetime) -> list[Outcome]:
        changed = _put_submission(app, tx, header, len(data), lines, primary, now)
        found = [outcome for put_filing in puts for outcome in put_filing(tx, now)]
        if not found:
            reasons = (families.load_family(form).unread_reasons.get(header.form) for form in FAMILIES)
            return [outcomes.for_document(submission, changed, next(filter(None, reasons), None), header.accession)]
        worst = found[0]
        if changed and worst.outcome == "unchanged":
            worst = replace(worst, outcome="ingested", reason=None)
        return [replace(worst, path=path, kind=submission.kind)]

    return put


def _put_submission(
    app: App,
    tx: Transaction,
    header: sgml.SubmissionHeader,
    size: int,
    lines: list[submission_documents.ListedDocument],
    primary: submission_documents.PreparedText | None,
    now: datetime,
) -> bool:
    """Store a filing as its own header and list of documents tell of it; whether anything was new."""
    said = metadata.from_header(header, size)
    stored = filing_store.upsert(tx, said, now, announces=False)
    changed = stored.changed | lists.upsert_party_attributes(tx, header)
    if lines:
        # A list of filings may name the document's rendering instead, which says more to a reader.
        first = FilingMetadata(
            header.accession,
            metadata.DOCUMENT_EVIDENCE,
            said.parties,
            primary_document=lines[0].filename,
            description=lines[0].description,
        )
        changed |= filing_store.upsert(tx, first, now, announces=False).changed
        changed |= _kept(app, tx, stored.id, lines, primary)
    changed |= families.store_header(tx, header, now)
    changed |= families.apply_listed_metadata(tx, now)
    # At the end, so that whoever is told of the filing is told of its documents too.
    announcements.announce_filing(tx, now, accession=header.accession)
    if changed:
        tx.run("bump_data_version")
    return changed


def _kept(
    app: App,
    tx: Transaction,
    filing_id: int,
    lines: list[submission_documents.ListedDocument],
    primary: submission_documents.PreparedText | None,
) -> bool:
    most_kept, most_found = app.config.documents_bytes, app.config.documents_searched
    return submission_documents.insert_documents(
        tx, filing_id, lines, primary, max_stored_bytes=most_kept, max_indexed_characters=most_found
    )


def _identity(document: Document) -> FilingIdentity | None:
    try:
        return index_documents.parse(document.read(), document.path)
    except ParseError:
        return None  # an index that cannot be read tells nothing; the documents themselves may still be whole
