"""What a filing is, as one source states it: the record that every document about a filing is turned into."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from finapi.edgar import sgml, submissions


# Where a statement about a filing is from, the better the higher (DECISIONS 6 puts them in this order): a data
# set whose dates are rounded, a document that was filed, an index of EDGAR, a submissions list, the operator, the
# filing's own header.
ROUNDED_EVIDENCE, DOCUMENT_EVIDENCE, INDEX_EVIDENCE, SUBMISSIONS_EVIDENCE, OPERATOR_EVIDENCE, HEADER_EVIDENCE = (
    0,
    1,
    2,
    3,
    4,
    5,
)

# Whose filing it is, of its parties: the one with the lowest rank, then the lowest CIK. Headers name roles;
# lists name companies only, and a document may name whom it likes.
PARTY_RANKS = {
    "issuer": 0,
    "subject": 1,
    "filer": 2,
    "depositor": 3,
    "securitizer": 5,
    "filed_by": 6,
    "reporting_owner": 7,
}
OTHER_ROLE_RANK, LISTED_RANK, CLAIMED_RANK = 4, 12, 20

# In the order of the digits of filings.evidence; the first is the form's.
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


class Party(NamedTuple):
    """A company or person of a filing; ``name`` None when the source gives none."""

    cik: int
    rank: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FilingMetadata:
    """What one source says of a filing; what it does not say is None. ``evidence`` is the source's rank.

    ``accession`` with dashes; dates ISO; ``accepted_at`` in UTC; ``items`` comma-separated; ``size`` in bytes
    of the full submission; the flags 0 or 1.
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
    """What a submission's own header says; ``size`` is that of the whole submission in bytes, if known."""
    roles = [(PARTY_RANKS.get(one.role, OTHER_ROLE_RANK), one) for one in header.parties]
    # The file number is that of the party whose filing it is.
    main = min(roles, key=lambda pair: (pair[0], pair[1].cik), default=None)
    return FilingMetadata(
        accession=header.accession,
        evidence=HEADER_EVIDENCE,
        parties=[Party(int(one.cik), rank, one.name) for rank, one in roles],
        form=header.form,
        filed_at=header.filed,
        accepted_at=header.accepted,
        period_of_report=header.period,
        # A caption that is no known item stays in the document.
        items=",".join(item for item in header.items if re.fullmatch("[0-9.]+", item)) or None,
        size=size,
        file_number=main[1].file_number if main else None,
    )


def from_listed_filing(cik: int, filing: submissions.ListedFiling) -> FilingMetadata:
    """What a company's list says of one of its filings."""
    return FilingMetadata(
        filing.accession, SUBMISSIONS_EVIDENCE, (Party(cik, LISTED_RANK),), *list_field_values(filing)
    )


def list_field_values(filing: submissions.ListedFiling) -> tuple[Any, ...]:
    """The values of :data:`FIELDS` that a list gives a filing."""
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


UNFILED_PREFIX = "unfiled-"  # the accession number of a document whose filing is not known: this and its hash


def is_unfiled(accession: str) -> bool:
    """Whether an accession number stands for a document whose filing is not known."""
    return accession.startswith(UNFILED_PREFIX)


def accession_to_int(accession: str) -> int:
    """An accession number without its dashes: its place among the filings of one day."""
    return int(accession.replace("-", ""))


def accession_from_int(number: int) -> str:
    """The accession number of a :func:`number`."""
    digits = f"{number:018}"
    return f"{digits[:10]}-{digits[10:12]}-{digits[12:]}"
