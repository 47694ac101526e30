"""The documents of a full submission: their list, and the primary document's text, within bounds.

A primary document is kept as UTF-8 text, compressed, when it is HTML or text and both it and all that is kept
stay within the settings; without it the filing is as good, only that its text is asked of the SEC. What is kept is
indexed for full text search with it.
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

_LEVEL = 6  # zlib: a 10-K shrinks to an eighth; higher levels cost twice the time for two per cent
_LOOKED_AT = 2_048  # bytes in which a document without a name shows that it is HTML
log = logging.getLogger("finapi.documents")

# What one step indexes at most: a 10-K takes a tenth of a second, the longest document a second.
MAX_STEP_DOCUMENTS, MAX_STEP_SECONDS = 20, 1.0
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NAMED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


class ListedDocument(NamedTuple):
    """A document in a filing's list; ``filename`` None where the filing gives none that could be one."""

    seq: int
    type: str
    filename: str | None
    description: str | None
    size: int


class PrimaryText(NamedTuple):
    """A primary document, ``media`` "html" or "text", in UTF-8."""

    media: str
    body: bytes

    def to_plain_text(self) -> str:
        """The text that full text search finds, and counts its places in."""
        text = self.body.decode()
        return text_index.extract_plain_text(text) if self.media == "html" else text


class PreparedText(NamedTuple):
    """A primary document to be kept, with its plain text."""

    primary_text: PrimaryText
    plain_text: str


def iter_listed_documents(
    documents: Iterator[sgml.SubmissionDocument],
) -> Iterator[tuple[ListedDocument, sgml.SubmissionDocument]]:
    """Each document with its line of the list; numbers that repeat or are missing are counted on."""
    last = 0
    for document in documents:
        seq = document.sequence if document.sequence and document.sequence > last else last + 1
        last = seq
        name = document.filename if document.filename and _NAMED.fullmatch(document.filename) else None
        yield ListedDocument(seq, document.type, name, document.description, len(document.body)), document


def prepare_text(body: bytes, name: str | None, most: int) -> PreparedText | None:
    """A document as text, or None when it is neither HTML nor text, or longer than ``most`` bytes."""
    body = body.strip()
    if not body or len(body) > most or _BINARY.search(body):
        return None
    ending = (name or "").lower().rpartition(".")[2]
    front = body[:_LOOKED_AT].lower()
    is_html = ending in ("htm", "html") or (ending != "xml" and b"<html" in front)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        body = body.decode("latin-1").encode()
    found = PrimaryText("html" if is_html else "text", body)
    # Here rather than where it is stored: nobody writes meanwhile.
    return PreparedText(found, found.to_plain_text())


def insert_documents(
    tx: Transaction,
    filing_id: int,
    documents: list[ListedDocument],
    primary: PreparedText | None,
    *,
    max_stored_bytes: int,
    max_indexed_characters: int,
) -> bool:
    """Store a filing's list of documents and its primary text; whether the list or the text is new.

    A list that is held already stays: the documents of a filing do not change. The text is left out when all that
    is kept would be more than ``most_kept`` bytes, compressed, and its words when more than ``most_found`` characters
    would be searched.
    """
    fresh = bool(documents) and not tx.find_value("has_documents", filing_id=filing_id)
    row = tx.find_row("filing_by_id", id=filing_id)
    assert row is not None
    if fresh:
        tx.insert_rows("insert_documents", [(filing_id, *one) for one in documents])
        terms = sorted(filing_store.build_exhibit_terms(one.type for one in documents))
        key = row["filed_at"] or "", metadata.accession_to_int(row["accession"])
        tx.insert_rows("insert_terms", [(term, *key) for term in terms])
    if primary is not None and not tx.find_value("has_body", filing_id=filing_id):
        media, body = primary.primary_text
        packed = zlib.compress(body, _LEVEL)
        if tx.find_value("bodies_size") + len(packed) <= max_stored_bytes:
            sha256 = hashlib.sha256(body).hexdigest()
            tx.run("insert_body", filing_id=filing_id, media=media, packed=packed, sha256=sha256)
            text_index.insert_text(tx, filing_id, row["filed_at"], primary.plain_text, max_indexed_characters)
            fresh = True
    return fresh


def find_primary_text(tx: Transaction, accession: str) -> PrimaryText | None:
    """The primary document of a filing, or None when it is not kept."""
    row = tx.find_row("filing_body", accession=accession)
    return None if row is None else PrimaryText(row["media"], zlib.decompress(row["packed"]))


def run_text_index_step(app: App) -> float | None:
    """Index some of the documents that were stored before full text search was there. A worker's step.

    Each is indexed in a transaction of its own. Return 0 while there may be more, else None.
    """
    after = done = 0
    until = time.monotonic() + MAX_STEP_SECONDS
    may_be_more = has_full_text()
    while may_be_more and done < MAX_STEP_DOCUMENTS and time.monotonic() < until and not stopping.is_requested():
        with app.db.read() as tx:
            row = tx.find_row("body_unindexed", after=after)
        if row is None:
            may_be_more = False
            break
        after = row["filing_id"]
        try:
            plain = PrimaryText(row["media"], zlib.decompress(row["packed"])).to_plain_text()
        except (zlib.error, UnicodeDecodeError):
            log.warning("the document kept of filing %d is damaged: `finapi check` names it", after)
            until = max(until, time.monotonic() + MAX_STEP_SECONDS)  # or a step would never pass many of them
            continue
        with app.db.write() as tx:
            # It may have gone meanwhile, or its day have changed.
            held = tx.find_row("filing_by_id", id=after) if tx.find_value("has_body", filing_id=after) else None
            is_full = held is not None and not text_index.insert_text(
                tx, after, held["filed_at"], plain, app.config.documents_searched
            )
        if is_full:
            may_be_more = False
            break
        done += 1
    if done:
        with app.db.write() as tx:
            tx.run("bump_data_version")
    return 0.0 if may_be_more else None
