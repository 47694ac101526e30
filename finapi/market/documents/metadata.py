"""The metadata of a filing as one source states it, and the ranking of sources.

Every document about a filing is turned into a :class:`FilingMetadata`; ``filing_store`` merges them into one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from finapi.edgar import identifiers

if TYPE_CHECKING:
    from finapi.edgar import sgml, submissions
    from finapi.store.db import Row


# Ranks of the sources of metadata. The source with the higher rank wins (DECISIONS 6). In this order: a data set with
# rounded dates, a filed document, an index of EDGAR, a company's submissions list, the operator, the filing's own
# header.
ROUNDED_EVIDENCE = 0
DOCUMENT_EVIDENCE = 1
INDEX_EVIDENCE = 2
SUBMISSIONS_EVIDENCE = 3
OPERATOR_EVIDENCE = 4
HEADER_EVIDENCE = 5

# Ranks of a filing's parties by their role in the header. Here a lower rank is better: the main party, under which the
# filing is shown, has the lowest rank, of equals the lowest CIK.
PARTY_RANKS = {
    "issuer": 0,
    "subject": 1,
    "filer": 2,
    "depositor": 3,
    "securitizer": 5,
    "filed_by": 6,
    "reporting_owner": 7,
}
OTHER_ROLE_RANK = 4
LISTED_RANK = 12  # A party from a list, which names companies without their roles.
CLAIMED_RANK = 20  # A party that only a document names. This is the weakest evidence, as a document may name anyone.

# The fields of a filing, in the order of the digits of filings.evidence.
FIELDS = (
    "form",
    "filed_at",
    "accepted_at",
    "period_of_report",
    "primary_document",
    "description",
    "items",
    "size",
    "is_xbrl",
    "is_inline_xbrl",
    "file_number",
)

# Start of the accession number of a document whose filing is unknown; a hash of the document follows.
UNFILED_PREFIX = "unfiled-"


class Party(NamedTuple):
    """A company or person of a filing.

    ``rank`` is a value of :data:`PARTY_RANKS`, or one of the ranks below that table. ``name`` is None if the source
    gives none.
    """

    cik: int
    rank: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FilingMetadata:
    """The metadata of a filing from one source; fields that the source does not state are None.

    ``evidence`` is the rank of the source (``HEADER_EVIDENCE`` and so on), ``accession`` has dashes, dates are ISO
    texts, ``accepted_at`` is in UTC, ``items`` are separated by commas, ``size`` is in bytes of the full submission,
    the flags are 0 or 1.
    """

    accession: str
    evidence: int
    parties: Sequence[Party] = ()
    form: str | None = None
    filed_at: str | None = None
    accepted_at: str | None = None
    period_of_report: str | None = None
    primary_document: str | None = None
    description: str | None = None
    items: str | None = None
    size: int | None = None
    is_xbrl: int | None = None
    is_inline_xbrl: int | None = None
    file_number: str | None = None


def from_header(header: sgml.SubmissionHeader, size: int | None) -> FilingMetadata:
    """Return the metadata in a submission's own header. ``size`` is that of the full submission in bytes, if known."""
    ranked_parties = [(PARTY_RANKS.get(party.role, OTHER_ROLE_RANK), party) for party in header.parties]
    # The file number is the main party's.
    main = min(ranked_parties, key=lambda pair: (pair[0], pair[1].cik), default=None)
    # Captions that are not item numbers are left out.
    items = [item for item in header.items if identifiers.ITEM_NUMBER.fullmatch(item)]
    return FilingMetadata(
        accession=header.accession,
        evidence=HEADER_EVIDENCE,
        parties=[Party(int(party.cik), rank, party.name) for rank, party in ranked_parties],
        form=header.form,
        filed_at=header.filed,
        accepted_at=header.accepted,
        period_of_report=header.period,
        items=",".join(items) or None,
        size=size,
        file_number=main[1].file_number if main else None,
    )


def from_listed_filing(cik: int, filing: submissions.ListedFiling) -> FilingMetadata:
    """Return the metadata that a company's list gives for one of its filings."""
    party = Party(cik, LISTED_RANK)
    return FilingMetadata(filing.accession, SUBMISSIONS_EVIDENCE, (party,), *list_field_values(filing))


def from_pack_row(row: Row, evidence: int = DOCUMENT_EVIDENCE) -> FilingMetadata:
    """Return the metadata of a stored document's filing, from the row of a query whose name ends in ``_to_pack``."""
    return FilingMetadata(
        row["accession"],
        evidence,
        filed_at=row["filed_at"],
        accepted_at=row["accepted_at"],
        primary_document=row["document"],
    )


def list_field_values(filing: submissions.ListedFiling) -> tuple[Any, ...]:
    """Return the values that a company's list gives for one of its filings, in the order of :data:`FIELDS`."""
    return (
        filing.form,
        filing.filed,
        filing.accepted,
        filing.report_date,
        filing.primary_document,
        filing.primary_description,
        ",".join(filing.items) or None,
        filing.size,
        int(filing.is_xbrl),
        int(filing.is_inline_xbrl),
        filing.file_number,
    )


def is_unfiled(accession: str) -> bool:
    """Return True for the accession number of a document whose filing is unknown."""
    return accession.startswith(UNFILED_PREFIX)


def accession_to_int(accession: str) -> int:
    """Return an accession number as an integer, by which the filings of one day are ordered."""
    return int(accession.replace("-", ""))


def compute_filing_id(accession: str) -> int:
    """Return the id under which a document is stored: the accession number of its filing as an integer.

    While the accession number is not known, it is a negative number made from the hash of the document.
    """
    if is_unfiled(accession):
        return -1 - int(accession.removeprefix(UNFILED_PREFIX)[:15], 16)
    return accession_to_int(accession)


def accession_from_int(number: int) -> str:
    """Return an accession number with dashes, given as an integer. This is the inverse of :func:`accession_to_int`."""
    digits = f"{number:018}"
    return f"{digits[:10]}-{digits[10:12]}-{digits[12:]}"
