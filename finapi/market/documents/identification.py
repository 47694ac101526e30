"""Which filing a document belongs to: the one way for XBRL, ownership forms and 13F reports (DECISIONS 6)."""

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
)
from finapi.store.db import Row, Transaction

_OF_COMPANY = re.compile(r"CIK([0-9]{10})[.-]")


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What the operator said of the one filing that is ingested (``--accession``, ``--filed``).

    ``only`` narrows bulk files and data sets to these companies; ``ticker`` is that of files of prices which tell none.
    """

    accession: str | None = None
    filed_at: str | None = None
    only_ciks: Set[int] | None = None
    ticker: str | None = None

    def accepts_file(self, name: str) -> bool:
        """Whether a file of this name is wanted: those of a company are named after its CIK."""
        named = _OF_COMPANY.match(name)
        return self.only_ciks is None or named is None or int(named[1]) in self.only_ciks


class Subject(NamedTuple):
    """What a document says of its filing itself: whose it may be, the form, the period, and a hash of its content."""

    ciks: Sequence[int]
    form: str
    period: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class FilingClues:
    """What may tell the filing of a document: an SGML header or index document ``beside`` it, the operator, names.

    ``names`` are those of its files, the best first; ``folder`` is that of their folder.
    """

    index_identity: FilingIdentity | None = None
    options: IngestOptions = IngestOptions()
    file_names: tuple[str, ...] = ()
    folder_name: str = ""

    def for_document(self, subject: Subject, path: str) -> FilingClues:
        """The clues that fit a document; ParseError when the operator contradicts the index beside it.

        An index names one filing: not that of another company, nor one that a file's name gives another number.
        """
        named = self._named(self.file_names)
        beside = self.index_identity
        if beside and beside.ciks and not {f"{cik:010}" for cik in subject.ciks} & set(beside.ciks):
            beside = None
        if beside and named and named != beside.accession:
            beside = None
        if beside and self.options.accession not in (None, beside.accession):
            said = f"the index beside it says {beside.accession}, --accession {self.options.accession}"
            raise ParseError(path, "", said)
        return replace(self, index_identity=beside)

    def identify_filing(self, tx: Transaction, subject: Subject) -> FilingMetadata:
        """The filing from the first source that tells: what lies beside, the operator, lists of the SEC's, names."""
        beside, given = self.index_identity, self.options
        accession = (
            (beside and beside.accession)
            or given.accession
            or find_listed_accession(tx, subject)
            or self._named((*self.file_names, self.folder_name))
            or UNFILED_PREFIX + subject.digest.hex()[:16]
        )
        filed_at = (beside and beside.filed) or given.filed_at or tx.find_value("filing_times", accession=accession)
        if beside is None:
            return FilingMetadata(
                accession, OPERATOR_EVIDENCE if given.filed_at else DOCUMENT_EVIDENCE, filed_at=filed_at
            )
        return FilingMetadata(
            accession,
            HEADER_EVIDENCE,
            form=beside.form,
            filed_at=filed_at,
            accepted_at=beside.accepted,
            period_of_report=beside.period,
        )

    def _named(self, names: Sequence[str]) -> str | None:
        return next(filter(None, map(identifiers.find_accession_in_name, names)), None)


def find_listed_accession(tx: Transaction, subject: Subject) -> str | None:
    """The one filing that lists of the SEC's name for a company, form and period; None when there is none, or two."""
    for cik in subject.ciks:
        rows = tx.list_rows("filings_like", cik=cik, form=subject.form, period=subject.period)
        if len(rows) == 1:
            return str(rows[0]["accession"])
    return None


def find_stored_row(rows: Sequence[Row], accession: str) -> Row | None:
    """Which of the rows of one content stands for a filing: its own, or one whose filing was not known then."""
    if accession.startswith(UNFILED_PREFIX):
        return rows[0] if rows else None
    same = [row for row in rows if row["accession"] == accession]
    return next(iter(same + [row for row in rows if row["accession"].startswith(UNFILED_PREFIX)]), None)
