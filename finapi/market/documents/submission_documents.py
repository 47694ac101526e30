"""The documents of a full submission: their list, the text of the primary document, and its exhibits.

The primary document (the 10-K itself) is stored as compressed UTF-8 text if it is HTML or plain text and if neither it
nor the store exceeds the size settings. The other documents (exhibits, images, files of data) are stored as they were
filed, within size settings of their own. Otherwise only the list entry is stored, and readers are sent to the SEC for
the document. HTML and plain text, except in files of data, is added to the full text index in the same transaction.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from finapi.app import App
from finapi.core import stopping
from finapi.core.counts import format_count
from finapi.edgar import sgml
from finapi.market.documents import filing_rows, filing_store, metadata, text_index
from finapi.store.db import Transaction
from finapi.store.schema import has_full_text

log = logging.getLogger("finapi.documents")

# Bounds of one step of the indexing worker: a 10-K takes a tenth of a second, the longest document a second.
MAX_STEP_DOCUMENTS = 20
MAX_STEP_SECONDS = 1.0

_COMPRESSION_LEVEL = 6  # A 10-K shrinks to an eighth; higher levels take twice the time for two per cent.
_SNIFFED_BYTES = 2_048  # The first bytes, in which a document without a file name shows that it is HTML.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HTML_EXTENSIONS = ("htm", "html")
_XML_EXTENSIONS = ("xml", "xsd", "svg")
_MAGIC = (
    (b"%PDF-", "pdf"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"\x89PNG\r\n\x1a\n", "png"),
)
# The media type under which each kind of content is served. XML is served as text, because a browser could run scripts
# in it.
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "xml": "text/plain; charset=utf-8",
    "pdf": "application/pdf",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "png": "image/png",
    "binary": "application/octet-stream",
}
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


class ListedDocument(NamedTuple):
    """A document in a filing's list; ``filename`` is None if the filing gives no usable name."""

    seq: int
    type: str
    filename: str | None
    description: str | None
    size: int


class DocumentBody(NamedTuple):
    """The content of a document. ``media`` is a key of :data:`MEDIA_TYPES`; html, text and xml are in UTF-8."""

    media: str
    body: bytes

    def to_plain_text(self) -> str:
        """Return the text that full text search covers. The offsets of matches refer to it."""
        text = self.body.decode()
        return text_index.extract_plain_text(text) if self.media == "html" else text


class PreparedText(NamedTuple):
    """A primary document ready to be stored, and its plain text. ``note`` states how it was repaired, or is None."""

    primary_text: DocumentBody
    plain_text: str
    note: str | None = None


class PreparedDocument(NamedTuple):
    """A document of a submission ready to be stored, compressed.

    ``plain_text`` is None if the document is not searched: an image, or a file of data.
    """

    seq: int
    media: str
    packed: bytes
    sha256: str
    plain_text: str | None


class NamedBody(NamedTuple):
    """A document of a filing by its list entry. ``content`` is None if only the entry is stored."""

    filename: str | None
    size: int
    content: DocumentBody | None


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
    """Return a primary document as text, or None if it is neither HTML nor text, or longer than ``max_bytes``.

    This is slow. Call it before the write transaction, so that no other writer has to wait.
    """
    body = body.strip()
    if not body or len(body) > max_bytes or _BINARY.search(body):
        return None
    extension = _get_extension(filename)
    is_html = extension in _HTML_EXTENSIONS or (extension != "xml" and b"<html" in body[:_SNIFFED_BYTES].lower())
    primary_text = DocumentBody("html" if is_html else "text", _to_utf_8(body))
    note = None
    if is_html and (unclosed_count := text_index.count_unclosed_comments(primary_text.body.decode())):
        name = filename or "the primary document"
        unclosed_comments = format_count(unclosed_count, "comment has no end", "comments have no end")
        note = f"{name}: {unclosed_comments}, and the text that follows is read"
    return PreparedText(primary_text, primary_text.to_plain_text(), note)


def prepare_exhibit(listed_document: ListedDocument, body: bytes, max_bytes: int) -> PreparedDocument | None:
    """Return a document that is not the primary one, or None if it is empty or longer than ``max_bytes``.

    Its kind follows from its content, and never from the type that the filer declares. This is as slow as
    :func:`prepare_text`.
    """
    if not body.strip() or len(body) > max_bytes:
        return None
    content = _detect_body(body, listed_document.filename)
    is_data = listed_document.type.upper().startswith(filing_rows.DATA_TYPES)
    is_searchable = content.media in ("html", "text") and not is_data
    return PreparedDocument(
        seq=listed_document.seq,
        media=content.media,
        packed=zlib.compress(content.body, _COMPRESSION_LEVEL),
        sha256=hashlib.sha256(content.body).hexdigest(),
        plain_text=content.to_plain_text() if is_searchable else None,
    )


def _detect_body(body: bytes, filename: str | None) -> DocumentBody:
    """Return the content of a document with its kind, by its first bytes and, for text, by the end of its name."""
    for start, media in _MAGIC:
        if body.startswith(start):
            return DocumentBody(media, body)
    if _BINARY.search(body):
        return DocumentBody("binary", body)
    extension = _get_extension(filename)
    front = body[:_SNIFFED_BYTES].lower()
    if extension in _XML_EXTENSIONS or (extension not in _HTML_EXTENSIONS and front.lstrip().startswith(b"<?xml")):
        media = "xml"
    elif extension in _HTML_EXTENSIONS or b"<html" in front:
        media = "html"
    else:
        media = "text"
    return DocumentBody(media, _to_utf_8(body.strip()))


def _get_extension(filename: str | None) -> str:
    return (filename or "").lower().rpartition(".")[2]


def _to_utf_8(body: bytes) -> bytes:
    """Return a text in UTF-8. Texts in another encoding are mostly in windows-1252.

    Windows-1252 does not define five bytes. A text with one of them is read as Latin-1, which defines all bytes.
    """
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
    exhibits: Sequence[PreparedDocument] = (),
    *,
    max_stored_bytes: int,
    max_exhibit_bytes: int = 0,
    max_indexed_characters: int,
) -> bool:
    """Store a filing's list of documents, its primary text and its exhibits. Return True if anything was new.

    A list that is stored already stays, because the documents of a filing do not change. The text is not stored if
    all compressed primary texts together would exceed ``max_stored_bytes``, an exhibit is not if all exhibits together
    would exceed ``max_exhibit_bytes``. A text is not indexed if all indexed texts together would exceed
    ``max_indexed_characters``.
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
    sizes = tx.find_row("body_sizes")
    assert sizes is not None
    if primary is not None and not tx.find_value("has_primary_body", filing_id=filing_id):
        media, body = primary.primary_text
        packed = zlib.compress(body, _COMPRESSION_LEVEL)
        if sizes["bytes"] + len(packed) <= max_stored_bytes:
            seq = documents[0].seq if documents else 1
            sha256 = hashlib.sha256(body).hexdigest()
            document = PreparedDocument(seq, media, packed, sha256, primary.plain_text)
            _insert_body(tx, filing_id, row["filed_at"], document, max_indexed_characters, is_primary=True)
            changed = True
    exhibit_bytes = sizes["exhibit_bytes"]
    for exhibit in exhibits:
        if tx.find_value("has_body", filing_id=filing_id, seq=exhibit.seq):
            continue
        if exhibit_bytes + len(exhibit.packed) <= max_exhibit_bytes:
            _insert_body(tx, filing_id, row["filed_at"], exhibit, max_indexed_characters, is_primary=False)
            exhibit_bytes += len(exhibit.packed)
            changed = True
    return changed


def _insert_body(
    tx: Transaction,
    filing_id: int,
    filed_at: str | None,
    document: PreparedDocument,
    max_indexed_characters: int,
    *,
    is_primary: bool,
) -> None:
    body_id = tx.insert_row(
        "insert_body",
        filing_id=filing_id,
        seq=document.seq,
        is_primary=is_primary,
        is_searchable=document.plain_text is not None,
        media=document.media,
        packed=document.packed,
        sha256=document.sha256,
    )
    if document.plain_text is not None:
        text_index.insert_text(tx, body_id, filed_at, document.plain_text, max_indexed_characters)


def find_document(tx: Transaction, accession: str, name: str) -> NamedBody | None:
    """Return a document of a filing by its position or its file name, or None.

    A primary document that was stored alone is in no list of documents, but it has its name.
    """
    seq = int(name) if re.fullmatch("[0-9]{1,9}", name) else None
    row = tx.find_row("document_body", accession=accession, seq=seq, filename=name)
    if row is None:
        row = tx.find_row("primary_document_body", accession=accession, filename=name)
    if row is None:
        return None
    content = None if row["packed"] is None else DocumentBody(row["media"], zlib.decompress(row["packed"]))
    return NamedBody(row["filename"], row["size"], content)


def find_primary_text(tx: Transaction, accession: str) -> DocumentBody | None:
    """Return the primary document of a filing, or None if it is not stored."""
    row = tx.find_row("filing_body", accession=accession)
    return None if row is None else DocumentBody(row["media"], zlib.decompress(row["packed"]))


def run_text_index_step(app: App) -> float | None:
    """Index some of the texts that were stored before full text search existed, each in its own transaction.

    Return 0 if there may be more, or None if the work is done.
    """
    body_id = 0
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
            row = tx.find_row("next_unindexed_body", after=body_id)
        if row is None:
            may_have_more = False
            break
        body_id = row["id"]
        try:
            plain_text = DocumentBody(row["media"], zlib.decompress(row["packed"])).to_plain_text()
        except (zlib.error, UnicodeDecodeError):
            log.warning("a stored document of filing %d is damaged; run `finapi check`", row["filing_id"])
            # The next step starts at the first unindexed text again, which is this damaged one. Extend the current
            # step, or many damaged texts might take all the time of every step.
            deadline = max(deadline, time.monotonic() + MAX_STEP_SECONDS)
            continue
        with app.db.write() as tx:
            is_full = not _index_stored_text(tx, app, body_id, plain_text)
        if is_full:
            may_have_more = False
            break
        indexed_count += 1
    if indexed_count:
        with app.db.write() as tx:
            tx.run("bump_data_version")
    return 0.0 if may_have_more else None


def _index_stored_text(tx: Transaction, app: App, body_id: int, plain_text: str) -> bool:
    """Index a text. Return False if the index is full.

    Since the text was read, the filing may have been deleted (then there is nothing to do) or its day may have changed.
    """
    filing = tx.find_row("filing_of_body", body_id=body_id)
    if filing is None:
        return True
    return text_index.insert_text(tx, body_id, filing["filed_at"], plain_text, app.config.documents_searched)
