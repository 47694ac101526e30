"""What becomes of the files of an ingest, and what the operator says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from finapi.errors import ParseError

Kind = Literal["ingested", "unchanged", "skipped", "refused"]

# How the reason begins when the document is well and the store failed: it may be tried again.
NOT_STORED = "cannot be stored"

UNDATED = "the filing date is not known: sorted last and invisible to as_of"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. ``reason`` says why it was not ingested, or what to know of it."""

    path: str
    kind: str
    outcome: Kind
    reason: str | None = None
    accession: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """What the operator said of the one filing that is ingested (``--accession``, ``--filed``)."""

    accession: str | None = None
    filed_at: str | None = None


def because(error: ParseError) -> str:
    """Why a document was refused, with the place in it, its path left to the outcome."""
    return f"{error.place}: {error.reason}" if error.place else error.reason
