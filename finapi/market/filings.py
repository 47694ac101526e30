"""Filings into rows: the one way by which a filing becomes known, whatever document tells of it.

What is stored of a filing does not depend on the order in which documents told of it: each field keeps the
value of its best source, and of two values from equal sources the greater.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from finapi import heartbeats
from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.edgar import sgml
from finapi.market import announce, companies

# Where a statement about a filing is from, the better the higher (CONTRACT 6 puts them in this order): a data
# set whose dates are rounded, a document that was filed, an index of EDGAR, a submissions list, the operator, the
# filing's own header.
ROUNDED, DOCUMENT, INDEX, SUBMISSIONS, OPERATOR, HEADER = 0, 1, 2, 3, 4, 5

# Whose filing it is, of its parties: the one with the lowest rank, then the lowest CIK. Headers name roles;
# lists name companies only, and a document may name whom it likes.
RANKS = {"issuer": 0, "subject": 1, "filer": 2, "filed_by": 6, "reporting_owner": 7}
OTHER_ROLE, LISTED, CLAIMED = 4, 12, 20

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
class Told:
    """What one document tells of a filing; what it does not tell is None.

    ``accession`` with dashes; dates ISO; ``accepted_at`` in UTC; ``items`` comma-separated; ``size`` in bytes
    of the full submission; the flags 0 or 1.
    """

    accession: str
    evidence: int
    parties: Sequence[Party]
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


class Stored(NamedTuple):
    """A filing's row; ``new``: it was not known before; ``changed``: something that an answer shows is new."""

    id: int
    new: bool
    changed: bool


def put(tx: Transaction, told: Told, now: datetime, *, news: bool = True) -> Stored:
    """Store what a document tells of a filing: its row, its parties, and the terms by which it is found.

    Every document that tells of a filing comes through here. The caller bumps the data version when the
    answer is ``changed``. ``told.parties`` must not be empty. A filing that is new is announced to the feeds,
    unless ``news`` is False: the caller then tells more of it first, and announces it.
    """
    stored = _put(tx, told, now)
    listed = told.evidence in (INDEX, SUBMISSIONS)
    if news and (stored.new or not listed):
        announce.filing(tx, now, accession=told.accession, listed=listed)
    return stored


def _put(tx: Transaction, told: Told, now: datetime) -> Stored:
    ranks: dict[int, int] = {}
    for party in told.parties:
        _put_company(tx, party, told.filed_at or "")
        # A company may stand twice: it is then what it is first of all.
        ranks[party.cik] = min(party.rank, ranks.get(party.cik, party.rank))
    held = tx.one("filing_row", accession=told.accession)
    if held is None:
        filing_id = _insert(tx, told, ranks, iso(now))
        heartbeats.arrived(tx, "filing", now)
        if told.form is not None and told.form.startswith("8-K"):
            heartbeats.arrived(tx, "news", now)
        return Stored(filing_id, new=True, changed=True)
    known = {row["cik"]: row["rank"] for row in tx.all("filing_parties", filing_id=held["id"])}
    better = {cik: rank for cik, rank in ranks.items() if rank < known.get(cik, CLAIMED + 1)}
    values, evidence = _merged(held, told)
    fresh = {name for name in FIELDS if values[name] != held[name]}
    if not fresh and not better and evidence == held["evidence"]:
        return Stored(held["id"], new=False, changed=False)
    _update(tx, held, known, {**known, **better}, {**values, "evidence": evidence, "now": iso(now)})
    return Stored(held["id"], new=False, changed=bool(fresh or better))


def put_documents(tx: Transaction, filing_id: int, documents: Iterable[tuple[Any, ...]]) -> bool:
    """Store the list of a filing's documents (seq, type, filename, description, size); whether it is new.

    A list that is held already stays: the documents of a filing do not change.
    """
    if tx.value("has_documents", filing_id=filing_id):
        return False
    row = tx.one("filing_by_id", id=filing_id)
    assert row is not None
    kept = [(filing_id, *document) for document in documents]
    tx.many("insert_documents", kept)
    key = number(row["accession"])
    terms = _exhibits(document[2] for document in kept)
    tx.many("insert_terms", [(term, row["filed_at"] or "", key) for term in sorted(terms)])
    return bool(kept)


def from_header(header: sgml.SubmissionHeader, size: int | None) -> Told:
    """What a submission's own header tells; ``size`` is that of the whole submission in bytes, if known."""
    roles = [(RANKS.get(one.role, OTHER_ROLE), one) for one in header.parties]
    # The file number is that of the party whose filing it is.
    main = min(roles, key=lambda pair: (pair[0], pair[1].cik), default=None)
    return Told(
        accession=header.accession,
        evidence=HEADER,
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


def number(accession: str) -> int:
    """An accession number without its dashes: its place among the filings of one day."""
    return int(accession.replace("-", ""))


def accession_of(number: int) -> str:
    """The accession number of a :func:`number`."""
    digits = f"{number:018}"
    return f"{digits[:10]}-{digits[10:12]}-{digits[12:]}"


def _put_company(tx: Transaction, party: Party, as_of: str) -> None:
    if party.name is not None:
        companies.put_name(tx, party.cik, party.name, companies.FROM_FILING_LIST, as_of)
    else:
        companies.put_unnamed(tx, party.cik)


def _merged(held: Row, told: Told) -> tuple[dict[str, Any], str]:
    """Each field from its best source, and the digits that say which source that is."""
    digits = held["evidence"].ljust(len(FIELDS), "0")
    values: dict[str, Any] = {}
    evidence = []
    for place, name in enumerate(FIELDS):
        mine, theirs = held[name], getattr(told, name)
        rank = int(digits[place]) if mine is not None else 0
        if theirs is not None and (mine is None or (told.evidence, theirs) > (rank, mine)):
            values[name], rank = theirs, told.evidence
        else:
            values[name] = mine
        evidence.append(str(rank))
    return values, "".join(evidence)


def _insert(tx: Transaction, told: Told, parties: dict[int, int], stamp: str) -> int:
    values = {name: getattr(told, name) for name in FIELDS}
    evidence = "".join("0" if values[name] is None else str(told.evidence) for name in FIELDS)
    filing_id = tx.insert(
        "insert_filing",
        accession=told.accession,
        cik=_primary(parties),
        form=told.form,
        filed_at=told.filed_at,
        accepted_at=told.accepted_at,
        period_of_report=told.period_of_report,
        primary_document=told.primary_document,
        description=told.description,
        items=told.items,
        size=told.size,
        is_xbrl=told.is_xbrl,
        is_inline_xbrl=told.is_inline_xbrl,
        file_number=told.file_number,
        evidence=evidence,
        now=stamp,
    )
    tx.many("put_parties", [(filing_id, cik, rank) for cik, rank in sorted(parties.items())])
    filed_at = told.filed_at or ""
    key = number(told.accession)
    tx.many("insert_terms", [(term, filed_at, key) for term in _terms(values, parties)])
    if told.form is not None:
        tx.many("add_form_entities", [(told.form, cik) for cik in sorted(parties)])
    return filing_id


def _update(
    tx: Transaction, held: Row, before: dict[int, int], after: dict[int, int], values: dict[str, Any]
) -> None:
    """Write what is now known of a filing, and move its terms to where they now belong."""
    tx.run(
        "update_filing",
        id=held["id"],
        cik=_primary(after),
        form=values["form"],
        filed_at=values["filed_at"],
        accepted_at=values["accepted_at"],
        period_of_report=values["period_of_report"],
        primary_document=values["primary_document"],
        description=values["description"],
        items=values["items"],
        size=values["size"],
        is_xbrl=values["is_xbrl"],
        is_inline_xbrl=values["is_inline_xbrl"],
        file_number=values["file_number"],
        evidence=values["evidence"],
        now=values["now"],
    )
    tx.many("put_parties", [(held["id"], cik, rank) for cik, rank in sorted(after.items())])
    key = number(held["accession"])
    exhibits = _exhibits(row["type"] for row in tx.all("filing_documents", filing_id=held["id"]))
    old = {(term, held["filed_at"] or "", key) for term in _terms(held, before) | exhibits}
    new = {(term, values["filed_at"] or "", key) for term in _terms(values, after) | exhibits}
    tx.many("delete_terms", sorted(old - new))
    tx.many("insert_terms", sorted(new - old))
    pairs = {(held["form"], cik) for cik in before if held["form"] is not None}
    wanted = {(values["form"], cik) for cik in after if values["form"] is not None}
    tx.many("remove_form_entities", sorted(pairs - wanted))
    tx.many("add_form_entities", sorted(wanted - pairs))


def _primary(parties: dict[int, int]) -> int:
    return min(parties, key=lambda cik: (parties[cik], cik))


def _terms(values: Any, parties: Iterable[int]) -> set[str]:
    terms = {"", *(f"c{cik}" for cik in parties)}
    if values["form"] is not None:
        terms.add(f"f{values['form']}")
    if values["items"]:
        terms.update(f"i{item}" for item in values["items"].split(","))
    return terms


def _exhibits(types: Iterable[str]) -> set[str]:
    return {f"e{one.upper()}" for one in types if one.upper().startswith("EX-")}
