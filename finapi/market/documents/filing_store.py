"""Stored filings: every document that mentions a filing updates the filing's row here.

A filing is mentioned by many documents: the feed, the day's index, its company's list, its own header, its XBRL. The
stored row must not depend on the order in which they arrive. Each field therefore keeps the value of its best source
(``filings.evidence`` has one digit for each field, the rank of the source), and of two values from equal sources the
greater one. Example: an index says ``filed_at`` 2025-05-02, the header 2025-05-01; the header's rank is higher, so its
value is stored in either order.

Filings are found through ``filing_terms``: a row for each term that a filing can be searched by, with its day and
number. A term is a letter and a text: ``c320193`` a company, ``f10-K`` a form, ``i2.02`` an item of an 8-K,
``eEX-99.1`` an exhibit, ``dQuarterly report`` a description. Every filing also has the empty term.
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

# A filing's day ("" if unknown) and its accession number as an integer: the order of every list of filings.
Position = tuple[str, int]
# A filing's values in the order of FIELDS. Its form and its day are known.
FieldValues = tuple[Any, ...]


class StoredFiling(NamedTuple):
    """The result of storing a filing's metadata.

    ``is_new`` is True if the filing was not stored before, ``changed`` if the API now returns something else for it.
    """

    id: int
    is_new: bool
    changed: bool


def upsert(tx: Transaction, metadata: FilingMetadata, now: datetime, *, announces: bool = True) -> StoredFiling:
    """Store the metadata of a filing from one source: its row, its parties and its search terms.

    ``metadata.parties`` must not be empty for a new filing. The caller bumps the data version if the filing
    ``changed``. A new filing is announced to the feeds, unless ``announces`` is False: then the caller stores more of
    the filing first and announces it afterwards.
    """
    stored_filing = _upsert_rows(tx, metadata, now)
    if stored_filing.changed and not stored_filing.is_new:
        announcements.announce_delayed_hits(tx, now, accession=metadata.accession)
    is_only_listed = metadata.evidence in (INDEX_EVIDENCE, SUBMISSIONS_EVIDENCE)
    if announces and (stored_filing.is_new or not is_only_listed):
        announcements.announce_filing(tx, now, accession=metadata.accession, is_only_listed=is_only_listed)
    return stored_filing


def _upsert_rows(tx: Transaction, metadata: FilingMetadata, now: datetime) -> StoredFiling:
    ranks: dict[int, int] = {}
    for party in metadata.parties:
        if party.name is None:
            companies.insert_unnamed(tx, party.cik)
        else:
            companies.upsert_name(tx, party.cik, party.name, companies.FROM_FILING_LIST, metadata.filed_at or "")
        # If a company is listed twice, use the better (lower) of its two ranks.
        ranks[party.cik] = min(party.rank, ranks.get(party.cik, party.rank))
    row = tx.find_row("filing_row", accession=metadata.accession)
    if row is None:
        filing_id = _insert_filing(tx, metadata, ranks, iso(now))
        heartbeats.record_arrival(tx, "filing", now)
        if metadata.form is not None and metadata.form.startswith("8-K"):
            heartbeats.record_arrival(tx, "news", now)
        return StoredFiling(filing_id, is_new=True, changed=True)
    stored_ranks = {party["cik"]: party["rank"] for party in tx.list_rows("filing_parties", filing_id=row["id"])}
    better_ranks = {cik: rank for cik, rank in ranks.items() if rank < stored_ranks.get(cik, CLAIMED_RANK + 1)}
    values, evidence = _merge_values(row, metadata)
    changed_fields = {name for name in FIELDS if values[name] != row[name]}
    if not changed_fields and not better_ranks and evidence == row["evidence"]:
        return StoredFiling(row["id"], is_new=False, changed=False)
    new_values = {**values, "evidence": evidence, "now": iso(now)}
    _update_filing(tx, row, stored_ranks, {**stored_ranks, **better_ranks}, new_values)
    return StoredFiling(row["id"], is_new=False, changed=bool(changed_fields or better_ranks))


def upsert_listed_filings(tx: Transaction, cik: int, filings: Sequence[ListedFiling], now: datetime) -> bool:
    """Store the filings of a company's list, in its order. Return True if anything was new.

    The result is that of :func:`upsert` for each filing, but new filings are inserted in one batch.
    """
    companies.insert_unnamed(tx, cik)
    stored_accessions = _find_stored_accessions(tx, [filing.accession for filing in filings])
    # If the list repeats a filing, the first entry is inserted and the others update it.
    new_filings: dict[str, ListedFiling] = {}
    for filing in filings:
        if filing.accession not in stored_accessions:
            new_filings.setdefault(filing.accession, filing)
    new_values = [(accession, list_field_values(filing)) for accession, filing in new_filings.items()]
    _insert_new_filings(tx, cik, new_values, SUBMISSIONS_EVIDENCE, now)
    changed = bool(new_filings)
    recent_day = announcements.get_recent_start(now)[:10]
    for filing in filings:
        if new_filings.get(filing.accession) is not filing:
            changed |= upsert(tx, from_listed_filing(cik, filing), now).changed
        elif (filing.accepted or filing.filed) >= recent_day and announcements.is_recent(
            now, filing.filed, filing.accepted
        ):
            announcements.announce_filing(tx, now, accession=filing.accession, is_only_listed=True)
    return changed


def upsert_dated_filings(
    tx: Transaction, cik: int, forms_and_days: Mapping[str, tuple[str, str]], now: datetime
) -> int:
    """Store the form and day of a company's filings, by accession number. Return the number of changed filings.

    The result is that of :func:`upsert` for each filing, but new filings are inserted in one batch.
    """
    stored_accessions = _find_stored_accessions(tx, list(forms_and_days))
    unknown_values = (None,) * (len(FIELDS) - 2)
    new_values = [
        (accession, (*form_and_day, *unknown_values))
        for accession, form_and_day in forms_and_days.items()
        if accession not in stored_accessions
    ]
    _insert_new_filings(tx, cik, new_values, INDEX_EVIDENCE, now)
    changed_count = len(new_values)
    for accession, (form, filed_at) in forms_and_days.items():
        if accession in stored_accessions:
            metadata = FilingMetadata(accession, INDEX_EVIDENCE, (Party(cik, LISTED_RANK),), form, filed_at)
            changed_count += upsert(tx, metadata, now).changed
        elif announcements.is_recent(now, filed_at):
            announcements.announce_filing(tx, now, accession=accession, is_only_listed=True)
    return changed_count


def _find_stored_accessions(tx: Transaction, accessions: Sequence[str]) -> set[str]:
    return {row["accession"] for row in tx.list_rows("stored_accessions", accessions=json.dumps(accessions))}


def upsert_filing_of_document(
    tx: Transaction,
    filing_metadata: FilingMetadata,
    document_metadata: FilingMetadata,
    now: datetime,
    *,
    announces: bool = True,
) -> StoredFiling:
    """Insert or update the row of the filing that a document belongs to. The caller stores the document itself.

    ``filing_metadata`` is from the source that identified the filing, such as an index or header, ``document_metadata``
    from the document. The accession number is that of ``filing_metadata``. A document whose filing is unknown gets a
    row of its own (``unfiled-...``), which no list contains. ``announces`` is False if the caller announces the filing.
    """
    if is_unfiled(filing_metadata.accession):
        inserted = tx.run(
            "insert_unfiled_filing",
            accession=filing_metadata.accession,
            cik=document_metadata.parties[0].cik,
            form=filing_metadata.form or document_metadata.form,
            period=filing_metadata.period_of_report or document_metadata.period_of_report,
        )
        filing_id = tx.find_value("filing_id", accession=filing_metadata.accession)
        return StoredFiling(filing_id, is_new=inserted > 0, changed=inserted > 0)
    parties = filing_metadata.parties or document_metadata.parties
    stored_filing = upsert(tx, replace(filing_metadata, parties=parties), now, announces=False)
    changed = upsert(tx, replace(document_metadata, accession=filing_metadata.accession), now, announces=False).changed
    if announces:
        announcements.announce_filing(tx, now, accession=filing_metadata.accession)
    return StoredFiling(stored_filing.id, stored_filing.is_new, stored_filing.changed | changed)


def upsert_filing_of_xml_document(
    tx: Transaction,
    filing_metadata: FilingMetadata,
    document_metadata: FilingMetadata,
    now: datetime,
    *,
    announces: bool = True,
) -> StoredFiling:
    """Insert or update the filing of an XML document, as :func:`upsert_filing_of_document` does.

    The name of the primary document is moved from ``filing_metadata`` to ``document_metadata``, and left out if it is
    not the name of an XML file.
    """
    name = filing_metadata.primary_document
    is_xml = name is not None and name.endswith(".xml")
    return upsert_filing_of_document(
        tx,
        replace(filing_metadata, primary_document=None),
        replace(document_metadata, primary_document=name if is_xml else None),
        now,
        announces=announces,
    )


def _merge_values(row: Row, metadata: FilingMetadata) -> tuple[dict[str, Any], str]:
    """Return each field's value from its best source, and the ranks of those sources as the digits of ``evidence``."""
    stored_ranks = row["evidence"].ljust(len(FIELDS), "0")
    merged: dict[str, Any] = {}
    rank_digits = ""
    for index, name in enumerate(FIELDS):
        stored_value = row[name]
        new_value = getattr(metadata, name)
        rank = int(stored_ranks[index]) if stored_value is not None else 0
        merged[name] = stored_value
        if new_value is not None and (stored_value is None or (metadata.evidence, new_value) > (rank, stored_value)):
            merged[name] = new_value
            rank = metadata.evidence
        rank_digits += str(rank)
    return merged, rank_digits


def _insert_filing(tx: Transaction, metadata: FilingMetadata, ranks: dict[int, int], timestamp: str) -> int:
    values = [getattr(metadata, name) for name in FIELDS]
    evidence = _build_evidence(values, metadata.evidence)
    filing_id: int = tx.find_value("next_filing_id")
    tx.insert_rows(
        "insert_filings",
        [(filing_id, metadata.accession, _choose_main_cik(ranks), evidence, timestamp, timestamp, *values)],
    )
    tx.insert_rows("upsert_filing_parties", [(filing_id, cik, rank) for cik, rank in sorted(ranks.items())])
    position = (metadata.filed_at or "", accession_to_int(metadata.accession))
    terms = _build_terms(metadata.form, metadata.items, metadata.description, ranks)
    _insert_terms(tx, {term: [position] for term in terms})
    tx.run("update_filing_count", more=1)
    if metadata.form is not None:
        tx.insert_rows("upsert_form_entities", [(metadata.form, cik, 1) for cik in sorted(ranks)])
    return filing_id


def _insert_new_filings(
    tx: Transaction, cik: int, filings: Sequence[tuple[str, FieldValues]], evidence: int, now: datetime
) -> None:
    """Insert new filings of one company, pairs of accession number and values, with their parties and terms."""
    if not filings:
        return
    rows = []
    positions = []
    terms = defaultdict[str, list[Position]](list)
    timestamp = iso(now)
    first_id = tx.find_value("next_filing_id")
    for filing_id, (accession, values) in enumerate(filings, first_id):
        rows.append((filing_id, accession, cik, _build_evidence(values, evidence), timestamp, timestamp, *values))
        form, filed_at, *_, description, items = values[:7]
        position = (filed_at, accession_to_int(accession))
        positions.append(position)
        terms[f"f{form}"].append(position)
        if description and description != form:
            terms[f"d{description}"].append(position)
        for item in set(items.split(",")) if items else ():
            terms[f"i{item}"].append(position)
    tx.insert_rows("insert_filings", rows)
    tx.run("insert_parties_of_listed_filings", first=first_id, rank=LISTED_RANK)
    tx.run("update_filing_count", more=len(rows))
    form_counts = sorted(
        (term[1:], len(term_positions)) for term, term_positions in terms.items() if term.startswith("f")
    )
    tx.insert_rows("upsert_form_entities", [(form, cik, count) for form, count in form_counts])
    _insert_terms(tx, {"": positions, f"c{cik}": positions, **terms})
    heartbeats.record_arrival(tx, "filing", now)
    if any(values[0].startswith("8-K") for _, values in filings):
        heartbeats.record_arrival(tx, "news", now)


def _insert_terms(tx: Transaction, terms: Mapping[str, Sequence[Position]]) -> None:
    """Insert a row for each new filing of each search term, and add the number of filings to the count of the term."""
    ordered_terms = sorted(terms.items())
    term_rows = []
    count_rows = []
    for term, positions in ordered_terms:
        term_rows += [(term, *position) for position in positions]
        if positions and _is_counted(term):
            count_rows.append((term, len(positions)))
    tx.insert_rows("insert_terms", term_rows)
    tx.insert_rows("upsert_term_counts", count_rows)


def _is_counted(term: str) -> bool:
    """Return True for terms whose filings are counted: all filings, descriptions and forms."""
    return term[:1] in ("", "d", "f")


def _build_evidence(values: Iterable[Any], source_rank: int) -> str:
    """Return the digits of ``filings.evidence`` for values from one source. A field without a value has the digit 0."""
    digit = str(source_rank)
    return "".join(["0" if value is None else digit for value in values])


def _update_filing(
    tx: Transaction, row: Row, old_ranks: dict[int, int], new_ranks: dict[int, int], values: dict[str, Any]
) -> None:
    """Update a filing's row, and move its terms and counts from the old values to the new ones."""
    tx.run("update_filing", values, id=row["id"], cik=_choose_main_cik(new_ranks))
    if values["filed_at"] != row["filed_at"]:
        text_index.move_texts(tx, row["id"], values["filed_at"])
    tx.insert_rows("upsert_filing_parties", [(row["id"], cik, rank) for cik, rank in sorted(new_ranks.items())])

    number = accession_to_int(row["accession"])
    exhibit_terms = build_exhibit_terms(
        document["type"] for document in tx.list_rows("filing_documents", filing_id=row["id"])
    )
    old_terms = exhibit_terms | _build_terms(row["form"], row["items"], row["description"], old_ranks)
    new_terms = exhibit_terms | _build_terms(values["form"], values["items"], values["description"], new_ranks)
    old_rows = {(term, row["filed_at"] or "", number) for term in old_terms}
    new_rows = {(term, values["filed_at"] or "", number) for term in new_terms}
    deleted_rows = sorted(old_rows - new_rows)
    inserted_rows = sorted(new_rows - old_rows)
    tx.insert_rows("delete_terms", deleted_rows)
    tx.insert_rows("insert_terms", inserted_rows)
    count_changes = [(term, -1) for term, _, _ in deleted_rows if _is_counted(term)]
    count_changes += [(term, 1) for term, _, _ in inserted_rows if _is_counted(term)]
    tx.insert_rows("upsert_term_counts", count_changes)
    tx.insert_rows("delete_empty_term_counts", {(term,) for term, _, _ in deleted_rows})

    old_pairs = {(row["form"], cik) for cik in old_ranks if row["form"] is not None}
    new_pairs = {(values["form"], cik) for cik in new_ranks if values["form"] is not None}
    tx.insert_rows("update_removed_form_entities", sorted(old_pairs - new_pairs))
    tx.insert_rows("upsert_form_entities", [(form, cik, 1) for form, cik in sorted(new_pairs - old_pairs)])


def _choose_main_cik(ranks: dict[int, int]) -> int:
    """Return the CIK with the lowest rank. Of several with this rank, return the lowest CIK."""
    return min(ranks, key=lambda cik: (ranks[cik], cik))


def _build_terms(form: str | None, items: str | None, description: str | None, ciks: Iterable[int]) -> set[str]:
    """Return the terms of a filing, except those of its exhibits."""
    terms = {"", *(f"c{cik}" for cik in ciks)}
    if description and description != form:
        terms.add(f"d{description}")
    if form is not None:
        terms.add(f"f{form}")
    if items:
        terms.update(f"i{item}" for item in items.split(","))
    return terms


def build_exhibit_terms(document_types: Iterable[str]) -> set[str]:
    """Return the terms of the exhibits among the document types of a filing."""
    return {f"e{type.upper()}" for type in document_types if type.upper().startswith("EX-")}
