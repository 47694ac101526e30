"""Ownership documents and data sets on their way into the store: which filing a form is, and in what portions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from finapi.app import App
from finapi.db import Transaction
from finapi.edgar import identity, insider_sets, ownership
from finapi.edgar.identity import Identity
from finapi.errors import ParseError
from finapi.market import filings, insider_store
from finapi.market.outcomes import UNDATED, Given, Outcome, because
from finapi.market.report import UNFILED

# Kinds of documents by ``recognise``: a form, and (as a prefix) a table of a data set.
FORM, TABLE = "ownership", "insider-set-"

# Filings of a data set in one transaction: each on its own costs a commit, all together would hold the writer.
_PORTION = 200

Read = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a form's filing from outside, and by whom (``filings.OPERATOR``, ``HEADER``)."""

    accession: str | None = None
    ciks: tuple[str, ...] = ()
    filed: str | None = None
    accepted: str | None = None
    evidence: int = filings.DOCUMENT

    @classmethod
    def header(cls, found: Identity) -> Told:
        """What an SGML header or an index says."""
        return cls(found.accession, found.ciks, found.filed, found.accepted, filings.HEADER)

    @classmethod
    def outside(cls, beside: Identity | None, given: Given) -> Told:
        """What an index beside the document says, else the operator."""
        if beside is not None:
            told = cls.header(beside)
            return told if told.filed else cls(told.accession, told.ciks, given.filed_at)
        if given.accession is None and given.filed_at is None:
            return cls()
        return cls(given.accession, (), given.filed_at, evidence=filings.OPERATOR)


def document(app: App, read: Read, path: str, told: Told, names: tuple[str, ...]) -> Iterator[Outcome]:
    """Store the form that a document is, filed as ``told`` or its ``names`` (its own, its folder's) say."""
    try:
        form = ownership.parse(read(), path)
        parties = {form.issuer_cik, *(owner.cik for owner in form.owners)}
        if told.ciks and not parties & set(told.ciks):
            raise ParseError(path, "", f"is of company {form.issuer_cik}, its filing {told.accession} is not")
    except ParseError as error:
        yield Outcome(path, FORM, "refused", because(error), told.accession)
        return
    with app.db.write() as tx:
        filed = _filed(tx, form, told, names)
        stored = insider_store.put(tx, form, filed, app.clock.now())
    note = None if filed.filed_at else UNDATED
    if not stored:
        note = "the same form, or a better copy of it, is held already"
    yield Outcome(path, FORM, "ingested" if stored else "unchanged", note, filed.accession)


def data_set(app: App, given: Sequence[tuple[str, str, Read]]) -> Iterator[Outcome]:
    """Store every filing of a quarterly data set; ``given`` are its tables: kind, path, and what reads it."""
    parts = {kind: (path, read) for kind, path, read in given}
    if len(parts) < len(given):
        for kind, path, _ in given:
            yield Outcome(
                path, kind, "refused", "two tables of one kind lie here: a folder holds one data set"
            )
        return
    files = {kind.removeprefix(TABLE): path for kind, (path, _) in parts.items()}
    stored = held = refused = 0
    try:
        tables = {kind.removeprefix(TABLE): read() for kind, (_, read) in parts.items()}
        found = insider_sets.forms(tables, files)
        while portion := list(islice(found, _PORTION)):
            wrong = [one for one in portion if isinstance(one, ParseError)]
            right = [one for one in portion if not isinstance(one, ParseError)]
            for error in wrong:
                yield Outcome(
                    error.file, TABLE + insider_sets.SUBMISSION, "refused", because(error), error.place
                )
            fresh = _store(app, right)
            stored, held, refused = stored + fresh, held + len(right) - fresh, refused + len(wrong)
    except ParseError as error:
        for kind, (path, _) in parts.items():
            yield Outcome(path, kind, "refused", str(error))
        return
    note = f"a data set: {stored} filings stored, {held} held before, {refused} refused"
    for kind, (path, _) in parts.items():
        yield Outcome(path, kind, "ingested" if stored else "unchanged", note)


def _store(app: App, portion: list[insider_sets.Filed]) -> int:
    now = app.clock.now()
    with app.db.write() as tx:
        return sum(
            insider_store.put(
                tx,
                one.form,
                insider_store.Filed(
                    one.accession, one.filed, source=insider_store.FROM_SET, evidence=filings.INDEX
                ),
                now,
            )
            for one in portion
        )


def _filed(tx: Transaction, form: ownership.Form, told: Told, names: tuple[str, ...]) -> insider_store.Filed:
    """Accession and filing date from the first source that tells, in the order of CONTRACT 6."""
    listed = None if told.accession else insider_store.listed(tx, form)
    accession = (
        told.accession
        or (listed and listed.accession)
        or next(filter(None, map(identity.accession_in_name, names)), None)
        or UNFILED + insider_store.digest(form).hex()[:16]
    )
    filed_at = told.filed or tx.value("filing_date", accession=accession)
    return insider_store.Filed(accession, filed_at, told.accepted, names[0], evidence=told.evidence)
