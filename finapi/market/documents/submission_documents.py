"""The documents of a full submission: their list and the text of the primary document.

The primary document (the 10-K itself, without its exhibits) is stored as compressed UTF-8 text if it is HTML or plain
text and if neither it nor the store exceeds the size settings. Otherwise only its list entry is stored, and readers are
sent to the SEC for the text. A stored text is added to the full text index in the same transaction.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from finapi.app import App
from finapi.core import stopping
from finapi.edgar import sgml
from finapi.market.documents import filing_store, metadata, text_index
from finapi.store.db import Transaction
from finapi.store.schema import has_full_text

log = logging.getLogger("finapi.documents")

# Bounds of one step of the indexing worker: a 10-K takes a tenth of a second, the longest document a second.
MAX_STEP_DOCUMENTS = 20
MAX_STEP_SECONDS = 1.0

_COMPRESSION_LEVEL = 6  # A 10-K shrinks to an eighth; higher levels take twice the time for two per cent.
_SNIFFED_BYTES = 2_048  # The first bytes, in which a document without a file name shows that it is HTML.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


class ListedDocument(NamedTuple):
    """A document in a filing's list; ``filename`` is None if the filing gives no usable name."""

    seq: int
    type: str
    filename: str | None
    description: str | None
    size: int


class PrimaryText(NamedTuple):
    """The text of a primary document in UTF-8; ``media`` is "html" or "text"."""

    media: str
    body: bytes

    def to_plain_text(self) -> str:
        """Return the text that full text search covers. The offsets of matches refer to it."""
        text = self.body.decode()
        return text_index.extract_plain_text(text) if self.media == "html" else text


class PreparedText(NamedTuple):
    """A primary document ready to be stored, with its plain text, and how it was repaired for it."""

    primary_text: PrimaryText
    plain_text: str
    note: str | None = None


def iter_listed_documents(
    documents: Iterator[sgml.SubmissionDocument],
) -> Iterator[tuple[ListedDocument, sgml.SubmissionDocument]]:
    """Yield each document with its list entry. Missing and repeated sequence numbers continue the previous one."""
    last_seq = 0
    for document in documents:
        seq = document.sequence if document.sequence and document.sequence > last_seq else last_seq + 1
        last_seq = seq
        filename = document.filename
        if filename and not _FILE_NAME.fullmatch(filename):
            filename = None
        yield ListedDocument(seq, document.type, filename or None, document.description, len(document.body)), document


def prepare_text(body: bytes, filename: str | None, max_bytes: int) -> PreparedText | None:
    """Return a document as text, or None if it is neither HTML nor text, or longer than ``max_bytes``.

    This is slow. Call it before the write transaction, so that no other writer has to wait.
    """
    body = body.strip()
    if not body or len(body) > max_bytes or _BINARY.search(body):
        return None
    extension = (filename or "").lower().rpartition(".")[2]
    is_html = extension in ("htm", "html") or (extension != "xml" and b"<html" in body[:_SNIFFED_BYTES].lower())
    body = _to_utf_8(body)
    primary_text = PrimaryText("html" if is_html else "text", body)
    note = None
    if is_html and (unclosed_count := text_index.count_unclosed_comments(body.decode())):
        name = filename or "the primary document"
        note = f"{name}: {unclosed_count} comments have no end, and the text after them is read"
    return PreparedText(primary_text, primary_text.to_plain_text(), note)


def _to_utf_8(body: bytes) -> bytes:
    """Return a text in UTF-8. Other texts are mostly in windows-1252. Latin-1 has all bytes."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return body.decode(encoding).encode()
        except UnicodeDecodeError:
            continue
    return body.decode("latin-1").encode()


def insert_documents(
    tx: Transaction,
    filing_id: int,
    documents: list[ListedDocument],
    primary: PreparedText | None,
    *,
    max_stored_bytes: int,
    max_indexed_characters: int,
) -> bool:
    """Store a filing's list of documents and its primary text. Return True if either was new.

    A list that is stored already stays, because the documents of a filing do not change. The text is not stored if
    all compressed texts together would exceed ``max_stored_bytes``; it is not indexed if all indexed texts together
    would exceed ``max_indexed_characters``.
    """
    changed = False
    row = tx.find_row("filing_by_id", id=filing_id)
    assert row is not None
    if documents and not tx.find_value("has_documents", filing_id=filing_id):
        tx.insert_rows("insert_documents", [(filing_id, *document) for document in documents])
        exhibit_terms = sorted(filing_store.build_exhibit_terms(document.type for document in documents))
        filed_at = row["filed_at"] or ""
        number = metadata.accession_to_int(row["accession"])
        tx.insert_rows("insert_terms", [(term, filed_at, number) for term in exhibit_terms])
        changed = True
    if primary is not None and not tx.find_value("has_body", filing_id=filing_id):
        media, body = primary.primary_text
        packed = zlib.compress(body, _COMPRESSION_LEVEL)
        if tx.find_value("bodies_size") + len(packed) <= max_stored_bytes:
            sha256 = hashlib.sha256(body).hexdigest()
            tx.run("insert_body", filing_id=filing_id, media=media, packed=packed, sha256=sha256)
            text_index.insert_text(tx, filing_id, row["filed_at"], primary.plain_text, max_indexed_characters)
            changed = True
    return changed


def find_primary_text(tx: Transaction, accession: str) -> PrimaryText | None:
    """Return the primary document of a filing, or None if it is not stored."""
    row = tx.find_row("filing_body", accession=accession)
    return None if row is None else PrimaryText(row["media"], zlib.decompress(row["packed"]))


def run_text_index_step(app: App) -> float | None:
    """Index some of the texts that were stored before full text search existed, each in its own transaction.

    Return 0 if there may be more, or None if the work is done.
    """
    filing_id = 0
    indexed_count = 0
    deadline = time.monotonic() + MAX_STEP_SECONDS
    may_have_more = has_full_text()
    while (
        may_have_more
        and indexed_count < MAX_STEP_DOCUMENTS
        and time.monotonic() < deadline
        and not stopping.is_requested()
    ):
        with app.db.read() as tx:
            row = tx.find_row("next_unindexed_body", after=filing_id)
        if row is None:
            may_have_more = False
            break
        filing_id = row["filing_id"]
        try:
            plain_text = PrimaryText(row["media"], zlib.decompress(row["packed"])).to_plain_text()
        except (zlib.error, UnicodeDecodeError):
            log.warning("the stored document of filing %d is damaged; run `finapi check`", filing_id)
            # The next step starts at the first unindexed text again, which is this damaged one. Extend the current
            # step, or many damaged texts might take all the time of every step.
            deadline = max(deadline, time.monotonic() + MAX_STEP_SECONDS)
            continue
        with app.db.write() as tx:
            is_full = not _index_stored_text(tx, app, filing_id, plain_text)
        if is_full:
            may_have_more = False
            break
        indexed_count += 1
    if indexed_count:
        with app.db.write() as tx:
            tx.run("bump_data_version")
    return 0.0 if may_have_more else None


def _index_stored_text(tx: Transaction, app: App, filing_id: int, plain_text: str) -> bool:
    """Index a text. Return False if the index is full.

    Since the text was read, the filing may have been deleted (then there is nothing to do) or its day may have changed.
    """
    filing = tx.find_row("filing_by_id", id=filing_id) if tx.find_value("has_body", filing_id=filing_id) else None
    if filing is None:
        return True
    return text_index.insert_text(tx, filing_id, filing["filed_at"], plain_text, app.config.documents_searched)
