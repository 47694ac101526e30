"""Identification of the filing that a document belongs to (DECISIONS 6).

Most documents do not contain their filing's accession number. It comes from the first source that has one:

1. an SGML header or a filing index in the same folder,
2. the operator (``--accession``),
3. a list of the SEC that has exactly one filing of this company, form and period,
4. the names of the document's files, then of its folder, such as ``0000320193-24-000123``.

If no source has one, the document is stored under ``unfiled-`` and a hash of its content, until a list names its
filing. XBRL reports, ownership forms and 13F reports are all identified here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import identifiers
from finapi.edgar.identifiers import FilingIdentity
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    HEADER_EVIDENCE,
    OPERATOR_EVIDENCE,
    UNFILED_PREFIX,
    FilingMetadata,
    is_unfiled,
)
from finapi.store.db import Row, Transaction

_COMPANY_FILE_NAME = re.compile(r"CIK([0-9]{10})[.-]")


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """The operator's options of an ingest.

    ``accession`` and ``filed_at`` describe the one filing that is ingested. ``only_ciks`` limits bulk files and data
    sets to these companies. ``ticker`` applies to price files without a ticker column.
    """

    accession: str | None = None
    filed_at: str | None = None
    only_ciks: Set[int] | None = None
    ticker: str | None = None

    def accepts_file(self, name: str) -> bool:
        """Return False if the file is named after a company (``CIK0000320193.json``) that ``only_ciks`` excludes."""
        match = _COMPANY_FILE_NAME.match(name)
        return self.only_ciks is None or match is None or int(match[1]) in self.only_ciks


class FilingClaim(NamedTuple):
    """A document's own statement of the filing that it belongs to. It has no accession number.

    ``ciks`` are the possible filers, in the order in which they are tried. ``digest`` is a hash of the document's
    content.
    """

    ciks: Sequence[int]
    form: str
    period: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class FilingClues:
    """Evidence of which filing a document belongs to.

    ``index_identity`` is the filing that an SGML header or index in the same folder describes. ``file_names`` are the
    names of the files that the document consists of, the most reliable first.
    """

    index_identity: FilingIdentity | None = None
    options: IngestOptions = IngestOptions()
    file_names: tuple[str, ...] = ()
    folder_name: str = ""

    def select_applicable(self, claim: FilingClaim, path: str) -> FilingClues:
        """Return the clues that apply to a document. Raise ParseError if ``--accession`` contradicts the index.

        An index describes one filing. It does not apply to a document of another company, nor to one whose file name
        contains another accession number.
        """
        identity = self.index_identity
        if identity is None:
            return self
        named_accession = self._find_accession(self.file_names)
        claimed_ciks = {f"{cik:010}" for cik in claim.ciks}
        is_other_company = bool(identity.ciks) and not claimed_ciks & set(identity.ciks)
        is_other_filing = named_accession is not None and named_accession != identity.accession
        if is_other_company or is_other_filing:
            return replace(self, index_identity=None)
        if self.options.accession not in (None, identity.accession):
            reason = f"the index in its folder says {identity.accession}, --accession says {self.options.accession}"
            raise ParseError(path, "", reason)
        return self

    def identify_filing(self, tx: Transaction, claim: FilingClaim) -> FilingMetadata:
        """Return the metadata of the document's filing from the best source (see the docstring of this module)."""
        identity = self.index_identity
        options = self.options
        accession = (
            (identity and identity.accession)
            or options.accession
            or find_listed_accession(tx, claim)
            or self._find_accession((*self.file_names, self.folder_name))
            or UNFILED_PREFIX + claim.digest.hex()[:16]
        )
        filed_at = (
            (identity and identity.filed) or options.filed_at or tx.find_value("filing_times", accession=accession)
        )
        if identity is None:
            evidence = OPERATOR_EVIDENCE if options.filed_at else DOCUMENT_EVIDENCE
            return FilingMetadata(accession, evidence, filed_at=filed_at)
        return FilingMetadata(
            accession,
            HEADER_EVIDENCE,
            form=identity.form,
            filed_at=filed_at,
            accepted_at=identity.accepted,
            period_of_report=identity.period,
        )

    def _find_accession(self, names: Sequence[str]) -> str | None:
        """Return the first accession number in these names, or None."""
        for name in names:
            accession = identifiers.find_accession_in_name(name)
            if accession:
                return accession
        return None


def find_listed_accession(tx: Transaction, claim: FilingClaim) -> str | None:
    """Return the one filing that the SEC lists for a company, form and period, or None if there is none or several."""
    for cik in claim.ciks:
        rows = tx.list_rows("filings_of_form_and_period", cik=cik, form=claim.form, period=claim.period)
        if len(rows) == 1:
            return str(rows[0]["accession"])
    return None


def find_completed_metadata(
    tx: Transaction, row: Row, claim: FilingClaim, evidence: int = DOCUMENT_EVIDENCE
) -> FilingMetadata | None:
    """Return the metadata of a document stored without its filing day, or None if the day is still unknown.

    ``row`` has the document's ``accession``, which may be a placeholder, and the name of the ``document``.
    """
    accession = row["accession"]
    if is_unfiled(accession):
        accession = find_listed_accession(tx, claim) or accession
    filed_at = tx.find_value("filing_times", accession=accession)
    if filed_at is None:
        return None
    return FilingMetadata(accession, evidence, filed_at=filed_at, primary_document=row["document"])


def find_stored_row(rows: Sequence[Row], accession: str) -> Row | None:
    """Return the row under which a content is stored for a filing, or None.

    ``rows`` are all rows with this content. The filing's own row comes first, then one whose filing was unknown.
    """
    if is_unfiled(accession):
        return rows[0] if rows else None
    for row in rows:
        if row["accession"] == accession:
            return row
    for row in rows:
        if is_unfiled(row["accession"]):
            return row
    return None


def select_same_filing(rows: Sequence[Row], accession: str) -> list[Row]:
    """Return the rows that are stored for the same filing as a new document.

    ``rows`` have the accession number or the content of the new document. The same content under two known accession
    numbers is two filings. If one of the numbers is unknown, it is a single filing.
    """
    return [
        row for row in rows if row["accession"] == accession or is_unfiled(accession) or is_unfiled(row["accession"])
    ]


def is_replaced_by(
    row: Row, metadata: FilingMetadata, content_hash: bytes, *, source: int = 0, stored_source: int = 0
) -> bool:
    """Return True if a new document is to replace the row that is stored for the same filing.

    A known accession number replaces an unknown one. The same content replaces itself only if its filing day is new. Of
    two contents, the one with the greater source is stored, and from the same source the one with the greater hash.
    """
    if row["accession"] != metadata.accession:
        return not is_unfiled(metadata.accession)
    if row["content"] == content_hash:
        return metadata.filed_at is not None and metadata.filed_at != row["filed_at"]
    return (source, content_hash) > (stored_source, row["content"])
