"""What becomes of the files of an ingest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from finapi.core.errors import ParseError
from finapi.market.documents.sources import Document

OutcomeName = Literal["ingested", "unchanged", "skipped", "refused"]

UNDATED_NOTE = (
    "the filing date is not known: sorted last, invisible to as_of, no hit of a sniper target until it is known"
)
ALREADY_STORED_NOTE = "the same documents, or better copies of them, are stored already"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. ``reason`` says why it was not ingested, or what to know of it.

    ``retry`` says that the document is well and the store failed: it may be tried again.
    """

    path: str
    kind: str
    outcome: OutcomeName
    reason: str | None = None
    accession: str | None = None
    retry: bool = False


def for_document(document: Document, changed: bool, reason: str | None = None, accession: str | None = None) -> Outcome:
    """What came of a document that was read; without a ``reason`` one that changed nothing says so."""
    if changed:
        return Outcome(document.path, document.kind, "ingested", reason, accession)
    return Outcome(document.path, document.kind, "unchanged", reason or "tells nothing new", accession)


def refuse(document: Document, reason: str, accession: str | None = None, *, retry: bool = False) -> Outcome:
    """A document that was not stored, and why."""
    return Outcome(document.path, document.kind, "refused", reason, accession, retry)


def format_reason(error: ParseError) -> str:
    """Why a document was refused, with the place in it, its path left to the outcome."""
    return f"{error.place}: {error.reason}" if error.place else error.reason


def format_refusal(document: Document, error: ParseError) -> str:
    """Why a document was refused: for what is wrong in it, or in another of its filing."""
    return format_reason(error) if error.file == document.path else f"its filing was refused: {error}"
