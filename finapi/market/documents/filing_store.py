"""Filings into rows: the one way by which a filing becomes known, whatever document tells of it.

What is stored of a filing does not depend on the order in which documents told of it: each field keeps the
value of its best source, and of two values from equal sources the greater.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from finapi.core.clock import iso
from finapi.edgar.submissions import ListedFiling
from finapi.market.documents import announcements, text_index
from finapi.market.documents.metadata import (
    CLAIMED_RANK,
    FIELDS,
    INDEX_EVIDENCE,
    LISTED_RANK,
    SUBMISSIONS_EVIDENCE,
    FilingMetadata,
    Party,
    accession_to_int,
    from_listed_filing,
    is_unfiled,
    list_field_values,
)
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row, Transaction

# The day of a filing and its number, by which lists are in order.
Place = tuple[str, int]
# What is told of a filing, in the order of FIELDS: its form and its day are.
Values = tuple[Any, ...]


class StoredFiling(NamedTuple):
    """A filing's row; ``new``: it was not known before; ``changed``: something that an answer shows is new."""

    id: int
    is_new: bool
    changed: bool


def upsert(tx: Transaction, told: FilingMetadata, now: datetime, *, announces: bool = True) -> StoredFiling:
    """Store what a document tells of a filing: its row, its parties, and the terms by which it is found.

    Every document that tells of a filing comes through here. The caller bumps the data version when the
    answer is ``changed``. ``told.parties`` must not be empty. A filing that is new is announced to the feeds,
    unless ``news`` is False: the caller then tells more of it first, and announces it.
    """
    stored = _put(tx, told, now)
    if stored.changed and not stored.is_new:
        announcements.announce_filing_date(tx, now, accession=told.accession)
    listed = told.evidence in (INDEX_EVIDENCE, SUBMISSIONS_EVIDENCE)
    if announces and (stored.is_new or not listed):
        announcements.announce_filing(tx, now, accession=told.accession, only_listed=listed)
    return stored


def _put(tx: Transaction, told: FilingMetadata, now: datetime) -> StoredFiling:
    ranks: dict[int, int] = {}
    for party in told.parties:
        if party.name is None:
            companies.insert_unnamed(tx, party.cik)
        else:
            companies.upsert_name(tx, party.cik, party.name, companies.FROM_FILING_LIST, told.filed_at or "")
        # A company may stand twice: it is then what it is first of all.
        ranks[party.cik] = min(party.rank, ranks.get(party.cik, party.rank))
    held = tx.find_row("filing_row", accession=told.accession)
    if held is None:
        filing_id = _insert(tx, told, ranks, iso(now))
        heartbeats.record_arrival(tx, "filing", now)
        if told.form is not None and told.form.startswith("8-K"):
            heartbeats.record_arrival(tx, "news", now)
        return StoredFiling(filing_id, is_new=True, changed=True)
    known = {row["cik"]: row["rank"] for row in tx.list_rows("filing_parties", filing_id=held["id"])}
    better = {cik: rank for cik, rank in ranks.items() if rank < known.get(cik, CLAIMED_RANK + 1)}
    values, evidence = _merged(held, told)
    fresh = {name for name in FIELDS if values[name] != held[name]}
    if not fresh and not better and evidence == held["evidence"]:
        return StoredFiling(held["id"], is_new=False, changed=False)
    _update(tx, held, known, {**known, **better}, {**values, "evidence": evidence, "now": iso(now)})
    return StoredFiling(held["id"], is_new=False, changed=bool(fresh or better))


def upsert_listed_filings(tx: Transaction, cik: int, told: Sequence[ListedFiling], now: datetime) -> bool:
    """Store what the list of a company tells of its filings, in its order; whether anything was new.

    What :func:`put` does for each, with those that are new stored at once.
    """
    companies.insert_unnamed(tx, cik)
    held = _held(tx, [one.accession for one in told])
    # Of one that stands twice the first is stored at once.
    fresh = {one.accession: one for one in reversed(told) if one.accession not in held}
    new = [(one.accession, list_field_values(one)) for one in told if fresh.get(one.accession) is one]
    _put_new(tx, cik, new, SUBMISSIONS_EVIDENCE, now)
    changed, since = bool(fresh), announcements.get_recent_start(now)
    for one in told:
        if fresh.get(one.accession) is not one:
            changed |= upsert(tx, from_listed_filing(cik, one), now).changed
        elif (one.accepted or one.filed) >= since[:10] and announcements.is_recent(now, one.filed, one.accepted):
            announcements.announce_filing(tx, now, accession=one.accession, only_listed=True)
    return changed


def upsert_dated_filings(tx: Transaction, cik: int, told: Mapping[str, tuple[str, str]], now: datetime) -> int:
    """Store form and day of a company's filings, by accession number; how many were new or told otherwise.

    What :func:`put` does for each, with those that are new stored at once.
    """
    held = _held(tx, [*told])
    new = [(accession, (*one, *[None] * (len(FIELDS) - 2))) for accession, one in told.items() if accession not in held]
    _put_new(tx, cik, new, INDEX_EVIDENCE, now)
    changed = len(new)
    for accession, (form, filed) in told.items():
        if accession in held:
            one = FilingMetadata(accession, INDEX_EVIDENCE, (Party(cik, LISTED_RANK),), form, filed)
            changed += upsert(tx, one, now).changed
        elif announcements.is_recent(now, filed):
            announcements.announce_filing(tx, now, accession=accession, only_listed=True)
    return changed


def _held(tx: Transaction, accessions: Sequence[str]) -> set[str]:
    return {row["accession"] for row in tx.list_rows("filings_held", accessions=json.dumps(accessions))}


def upsert_document(
    tx: Transaction, outside: FilingMetadata, inside: FilingMetadata, now: datetime, *, announces: bool = True
) -> StoredFiling:
    """Upsert the filing of a document: index or header metadata first, then what the document says of itself.

    A document whose filing is not known has a row to be served by, which no list shows. ``announced`` False leaves
    the announcement to the caller.
    """
    if is_unfiled(outside.accession):
        form, period = outside.form or inside.form, outside.period_of_report or inside.period_of_report
        cik = inside.parties[0].cik
        made = tx.run("put_unfiled", accession=outside.accession, cik=cik, form=form, period=period)
        return StoredFiling(tx.find_value("filing_id", accession=outside.accession), made > 0, made > 0)
    stored = upsert(tx, replace(outside, parties=outside.parties or inside.parties), now, announces=False)
    changed = upsert(tx, replace(inside, accession=outside.accession), now, announces=False).changed
    if announces:
        announcements.announce_filing(tx, now, accession=outside.accession)
    return StoredFiling(stored.id, stored.is_new, stored.changed | changed)


def _merged(held: Row, told: FilingMetadata) -> tuple[dict[str, Any], str]:
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


def _insert(tx: Transaction, told: FilingMetadata, parties: dict[int, int], stamp: str) -> int:
    values = [getattr(told, name) for name in FIELDS]
    filing_id: int = tx.find_value("next_filing_id")
    known = told.accession, _primary(parties), _evidence(values, told.evidence)
    tx.insert_rows("insert_filings", [(filing_id, *known, stamp, stamp, *values)])
    tx.insert_rows("put_parties", [(filing_id, cik, rank) for cik, rank in sorted(parties.items())])
    place = told.filed_at or "", accession_to_int(told.accession)
    _add_terms(tx, {term: [place] for term in _terms(told.form, told.items, told.description, parties)})
    tx.run("count_filings", more=1)
    if told.form is not None:
        tx.insert_rows("add_form_entities", [(told.form, cik, 1) for cik in sorted(parties)])
    return filing_id


def _put_new(tx: Transaction, cik: int, new: Sequence[tuple[str, Values]], evidence: int, now: datetime) -> None:
    """The rows of new filings of one company, by accession number, which are listed by day and number."""
    if not new:
        return
    rows, every, terms, stamp = [], [], defaultdict[str, list[Place]](list), iso(now)
    first = tx.find_value("next_filing_id")
    for id, (accession, values) in enumerate(new, first):
        rows.append((id, accession, cik, _evidence(values, evidence), stamp, stamp, *values))
        form, filed, *_, description, items = values[:7]
        place = filed, accession_to_int(accession)
        every.append(place)
        terms[f"f{form}"].append(place)
        if description and description != form:
            terms[f"d{description}"].append(place)
        for item in set(items.split(",")) if items else ():
            terms[f"i{item}"].append(place)
    tx.insert_rows("insert_filings", rows)
    tx.run("insert_listed_parties", first=first, rank=LISTED_RANK)
    tx.run("count_filings", more=len(rows))
    forms = sorted((term, len(places)) for term, places in terms.items() if term.startswith("f"))
    tx.insert_rows("add_form_entities", [(term[1:], cik, count) for term, count in forms])
    _add_terms(tx, {"": every, f"c{cik}": every, **terms})
    heartbeats.record_arrival(tx, "filing", now)
    if any(values[0].startswith("8-K") for _, values in new):
        heartbeats.record_arrival(tx, "news", now)


def _add_terms(tx: Transaction, terms: Mapping[str, Sequence[Place]]) -> None:
    """Store under each term the filings that it leads to, which are not there yet, and count them."""
    ordered = sorted(terms.items())
    tx.insert_rows("insert_terms", [(term, *place) for term, places in ordered for place in places])
    tx.insert_rows("add_term_counts", [(term, len(places)) for term, places in ordered if places and _is_counted(term)])


def _is_counted(term: str) -> bool:
    return term[:1] in ("", "d", "f")


def _evidence(values: Iterable[Any], evidence: int) -> str:
    digit = str(evidence)
    return "".join(["0" if value is None else digit for value in values])


def _update(tx: Transaction, held: Row, before: dict[int, int], after: dict[int, int], values: dict[str, Any]) -> None:
    """Write what is now known of a filing, and move its terms to where they now belong."""
    tx.run("update_filing", values, id=held["id"], cik=_primary(after))
    if values["filed_at"] != held["filed_at"]:
        text_index.move_text(tx, held["id"], values["filed_at"])
    tx.insert_rows("put_parties", [(held["id"], cik, rank) for cik, rank in sorted(after.items())])
    key = accession_to_int(held["accession"])
    types = build_exhibit_terms(row["type"] for row in tx.list_rows("filing_documents", filing_id=held["id"]))
    old, new = (
        {
            (term, told["filed_at"] or "", key)
            for term in types | _terms(told["form"], told["items"], told["description"], ciks)
        }
        for told, ciks in ((held, before), (values, after))
    )
    gone, fresh = sorted(old - new), sorted(new - old)
    tx.insert_rows("delete_terms", gone)
    tx.insert_rows("insert_terms", fresh)
    counted = [(row[0], more) for rows, more in ((gone, -1), (fresh, 1)) for row in rows if _is_counted(row[0])]
    tx.insert_rows("add_term_counts", counted)
    tx.insert_rows("delete_empty_term_counts", {(term,) for term, *_ in gone})
    pairs = {(held["form"], cik) for cik in before if held["form"] is not None}
    wanted = {(values["form"], cik) for cik in after if values["form"] is not None}
    tx.insert_rows("remove_form_entities", sorted(pairs - wanted))
    tx.insert_rows("add_form_entities", [(*pair, 1) for pair in sorted(wanted - pairs)])


def _primary(parties: dict[int, int]) -> int:
    return min(parties, key=lambda cik: (parties[cik], cik))


def _terms(form: str | None, items: str | None, description: str | None, parties: Iterable[int]) -> set[str]:
    terms = {"", *(f"c{cik}" for cik in parties)}
    if description and description != form:
        terms.add(f"d{description}")
    if form is not None:
        terms.add(f"f{form}")
    if items:
        terms.update(f"i{item}" for item in items.split(","))
    return terms


def build_exhibit_terms(types: Iterable[str]) -> set[str]:
    """The terms of exhibits among the types of a filing's documents."""
    return {f"e{one.upper()}" for one in types if one.upper().startswith("EX-")}
