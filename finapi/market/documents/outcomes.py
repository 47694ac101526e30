"""The outcome of each file of an ingest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from finapi.core.errors import ParseError
from finapi.market.documents.sources import Document

OutcomeName = Literal["ingested", "unchanged", "skipped", "refused"]

UNDATED_NOTE = "the filing date is not known: the filing sorts last, and as_of and sniper targets ignore it until it is"
ALREADY_STORED_NOTE = "the same documents, or better copies of them, are stored already"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file.

    ``reason`` says why it was not ingested, or what the operator should know about it. ``retry`` is True if only
    writing to the database failed, so that it may be ingested again.
    """

    path: str
    kind: str
    outcome: OutcomeName
    reason: str | None = None
    accession: str | None = None
    retry: bool = False


def accept(document: Document, changed: bool, reason: str | None = None, accession: str | None = None) -> Outcome:
    """Return the outcome of a document that was read; ``changed`` is True if anything in it was new."""
    if changed:
        return Outcome(document.path, document.kind, "ingested", reason, accession)
    return Outcome(document.path, document.kind, "unchanged", reason or "contains nothing new", accession)


def refuse(document: Document, reason: str, accession: str | None = None, *, retry: bool = False) -> Outcome:
    """Return the outcome of a document that was not stored."""
    return Outcome(document.path, document.kind, "refused", reason, accession, retry)


def format_reason(error: ParseError) -> str:
    """Return the reason of an error and the place in the document, without the path, which the outcome contains."""
    return f"{error.place}: {error.reason}" if error.place else error.reason


def format_refusal(document: Document, error: ParseError) -> str:
    """Return why a document was refused: an error in it, or in another document of its filing."""
    return format_reason(error) if error.file == document.path else f"its filing was refused: {error}"
