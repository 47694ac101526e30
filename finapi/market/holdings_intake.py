"""13F documents of a folder, or of a full submission, into the store: filing by filing, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from finapi import heartbeats
from finapi.app import App
from finapi.db import Transaction
from finapi.edgar import identity
from finapi.errors import ParseError
from finapi.market import filings, holdings_files, holdings_store, store
from finapi.market.holdings_files import File
from finapi.market.holdings_report import HoldingsReport
from finapi.market.report import UNFILED
from finapi.market.store import Filed


class Result(NamedTuple):
    """What became of one file of a filing."""

    file: File
    outcome: Literal["ingested", "unchanged", "refused"]
    reason: str | None
    accession: str | None = None


def ingest(
    app: App,
    files: Sequence[File],
    folder: str,
    beside: identity.Identity | None,
    given: identity.Identity | None,
) -> Iterator[Result]:
    """Store the 13F filings among ``files``; a filing is stored whole or not at all.

    ``beside`` is what an index or a header says, ``given`` what the operator says of the one filing.
    """
    for filing in holdings_files.filings(files):
        if filing.report is None:
            yield from (Result(file, "refused", _why(file, filing.refusal)) for file in filing.files)
            continue
        try:
            with app.db.write() as tx:
                now = app.clock.now()
                filed = _filed(tx, filing, folder, beside, given)
                stored = holdings_store.put(tx, filing.report, filed, now)
                if stored:
                    heartbeats.arrived(tx, "13f_batch", now)
                    heartbeats.arrived(tx, "filing", now)
        except ParseError as error:
            yield from (Result(file, "refused", _why(file, error)) for file in filing.files)
            continue
        note = _note(filing.report, filed) if stored else "the same documents are held already"
        outcome: Literal["ingested", "unchanged"] = "ingested" if stored else "unchanged"
        yield from (Result(file, outcome, note, filed.accession) for file in filing.files)


def _why(file: File, error: ParseError | None) -> str:
    """What a file is refused for: what is wrong in it, or with another of its filing."""
    assert error is not None
    if error.file != file.path:
        return f"its filing was refused: {error}"
    return f"{error.place}: {error.reason}" if error.place else error.reason


def unread(form: str) -> str | None:
    """What the operator should know of a submission of this form without 13F documents, or None."""
    if form in ("13F-HR", "13F-HR/A"):
        return "its holdings are not in XML, as before 2013, and are not read"
    return None


def _note(report: HoldingsReport, filed: Filed) -> str | None:
    """What the operator should know of a report that was stored."""
    notes = []
    cover = report.cover
    if not report.whole:
        notes.append(
            f"the table has {len(report.rows)} of the {cover.entry_total} rows that its cover says: "
            "no change is concluded from it"
        )
    elif cover.value_total is not None and cover.value_total != report.row_value:
        notes.append(f"the rows sum to {report.row_value}, the cover says {cover.value_total}")
    if filed.filed_at is None:
        notes.append("the filing date is not known: it counts as the first of its quarter")
    return "; ".join(notes) or None


def _filed(
    tx: Transaction,
    filing: holdings_files.Filing,
    folder: str,
    beside: identity.Identity | None,
    given: identity.Identity | None,
) -> Filed:
    """Accession and filing date from the first source that tells, in the order of CONTRACT 6."""
    report, paths = filing.report, filing.files
    assert report is not None
    cover = report.cover
    names = [file.name for file in paths]
    inside = next(filter(None, map(identity.accession_in_name, names)), None)
    # An index tells of one filing: not of another company's, nor of one that its file name gives another number.
    if beside is not None and (
        (beside.ciks and cover.cik not in beside.ciks) or (inside and inside != beside.accession)
    ):
        beside = None
    if beside and given and given.accession and given.accession != beside.accession:
        raise ParseError(
            paths[0].path, "", f"the index beside it says {beside.accession}, --accession {given.accession}"
        )
    listed = store.like(tx, report.cik, cover.form, cover.period)
    accession = (
        (beside and beside.accession)
        or (given and given.accession)
        or (listed and listed.accession)
        or inside
        or identity.accession_in_name(folder)
        or UNFILED + report.sha256.hex()[:16]
    )
    said = given.filed if given else None
    filed_at = (beside and beside.filed) or said or tx.value("filing_date", accession=accession)
    if beside is not None:
        return Filed(accession, filed_at, beside.accepted, beside.form, beside.period, filings.HEADER)
    return Filed(accession, filed_at, evidence=filings.OPERATOR if said else filings.DOCUMENT)
