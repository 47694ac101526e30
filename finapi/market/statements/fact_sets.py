"""Sets of facts: the facts of one filing from one source, and the choice between several sources.

The facts of a filing may come from up to three sources:

- ``xbrl``, the filing's own XBRL documents;
- ``companyfacts``, the SEC's JSON file with all facts of a company. It has exact dates, but neither facts with
  dimensions nor elements that the filer defined itself;
- ``fsds``, the SEC's quarterly Financial Statement Data Sets. They have both, but round dates to month ends.

Each source is stored as a set of its own, and a flag hides the facts for which another set is better. If there are XBRL
documents, all facts from the other sources are hidden. If not, the facts of the data sets that companyfacts also has
are hidden. :func:`recompute_hidden_facts` derives the flags from all sets of the filing, so the result does not depend
on the order in which the sources were loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from finapi.market.reference import companies
from finapi.store.db import Transaction

if TYPE_CHECKING:
    from finapi.edgar.companyfacts import CompanyFacts

# The sources as stored, the best one first.
XBRL, COMPANYFACTS, FSDS = 0, 1, 2
# Their names in the API.
SOURCE_NAMES = ("xbrl", "companyfacts", "fsds")


class StoredFact(NamedTuple):
    """A row of the table ``facts``. ``days`` is 0 for an instant, ``value`` None for nil."""

    fact_set_id: int
    dimension_id: int
    concept_id: int
    end_day: int
    days: int
    unit_id: int
    value: str | None
    decimals: str | None


class StoredElement(NamedTuple):
    """A row of the table ``fact_elements``: the key of a fact, and the element of an inline page that states it."""

    fact_set_id: int
    dimension_id: int
    concept_id: int
    end_day: int
    days: int
    unit_id: int
    page: int
    element_id: str


class StoredConflict(NamedTuple):
    """A row of the table ``fact_conflicts``: the key of a fact, and a further value that its filing states for it."""

    fact_set_id: int
    dimension_id: int
    concept_id: int
    end_day: int
    days: int
    unit_id: int
    seq: int
    value: str


def insert_fact_set(tx: Transaction, filing_id: int, cik: int, source: int, report_id: int | None = None) -> int:
    """Insert an empty set of facts and return its id."""
    return tx.insert_row("insert_fact_set", filing_id=filing_id, cik=cik, source=source, report_id=report_id)


def insert_facts(tx: Transaction, rows: Sequence[tuple[int, int, int, int, int, int, str | None, str | None]]) -> None:
    """Insert the facts of a new set (see :class:`StoredFact`); the first six columns are unique."""
    # The table is clustered by its key: sorted rows are appended, which is faster.
    tx.insert_rows("insert_facts", sorted(rows))


def insert_fact_elements(tx: Transaction, rows: Sequence[StoredElement]) -> None:
    """Insert the elements of a new set's facts."""
    tx.insert_rows("insert_fact_elements", sorted(rows))


def insert_fact_conflicts(tx: Transaction, rows: Sequence[StoredConflict]) -> None:
    """Insert the further values of a new set's facts."""
    tx.insert_rows("insert_fact_conflicts", sorted(rows))


def upsert_companyfacts(tx: Transaction, document: CompanyFacts, now: datetime) -> bool:
    """Store a companyfacts document. Return False if everything in it was stored already.

    A later copy adds to an earlier one. If two copies have different values for one fact, the longer text is stored,
    and of two texts of the same length the greater one. The order of the copies does not matter.
    """
    if not document.filings:
        return False
    cik = document.cik
    latest_filing_day = max(filing.filed for filing in document.filings.values())
    companies.upsert_name(tx, cik, document.name, companies.FROM_COVER, latest_filing_day)
    set_ids, new_count = _upsert_company_sets(tx, document, now)
    concept_ids = get_or_insert_ids(tx, "concept", {series.concept for series in document.concepts})
    unit_ids = get_or_insert_ids(tx, "unit", {series.unit for series in document.concepts})
    # The rows of each set are built in the order of the table: afterwards only the sets need to be sorted.
    ordered_series = sorted(document.concepts, key=lambda series: (concept_ids[series.concept], unit_ids[series.unit]))
    rows: list[tuple[int, int, int, int, int, str]] = []
    for series in ordered_series:
        concept_id = concept_ids[series.concept]
        unit_id = unit_ids[series.unit]
        rows += [
            (set_ids[accession], concept_id, end_day, day_count, unit_id, value)
            for accession, end_day, day_count, value in series.rows
        ]
    rows.sort(key=itemgetter(0))
    changed_count = tx.insert_rows("upsert_facts", rows)
    if changed_count:
        tx.run("update_company_facts_changed", cik=cik)
    ids_json = json.dumps(list(set_ids.values()))
    tx.run("update_counts_of_fact_sets", ids=ids_json)
    for row in tx.list_rows("fact_sets_with_other_sources", ids=ids_json):
        recompute_hidden_facts(tx, row["id"])
    if changed_count or new_count:
        tx.run("bump_data_version")
    return bool(changed_count or new_count)


def _upsert_company_sets(tx: Transaction, document: CompanyFacts, now: datetime) -> tuple[dict[str, int], int]:
    """Store the document's filings and a set of facts for each of them.

    Return the ids of the sets by accession number, and the number of filings and sets that are new or changed.
    """
    # Imported here because it imports the parsers, which are not needed where statements are only read.
    from finapi.market.documents import filing_store

    cik = document.cik
    fiscal_years = document.fiscal_years
    changed_count = filing_store.upsert_dated_filings(tx, cik, document.filings, now)
    set_ids = _get_company_set_ids(tx, cik)
    year_rows = [(year, set_ids[accession], year) for accession, year in fiscal_years.items() if accession in set_ids]
    changed_count += tx.insert_rows("update_fact_set_fiscal_year", year_rows)
    new_set_rows = [
        (cik, COMPANYFACTS, fiscal_years.get(accession), accession)
        for accession in document.filings
        if accession not in set_ids
    ]
    if new_set_rows:
        changed_count += tx.insert_rows("insert_fact_sets_of_company", new_set_rows)
        set_ids = _get_company_set_ids(tx, cik)
    return {accession: set_ids[accession] for accession in document.filings}, changed_count


def _get_company_set_ids(tx: Transaction, cik: int) -> dict[str, int]:
    """Return the ids of a company's companyfacts sets by accession number."""
    rows = tx.list_rows("fact_sets_of_company", cik=cik, source=COMPANYFACTS)
    return {row["accession"]: row["id"] for row in rows}


def recompute_consolidated_dimension(tx: Transaction, set_id: int) -> None:
    """Find the dimension under which a set reports the complete company.

    It is 0 (no dimension) if the set has any facts without dimensions. Some filings have none: then it is the
    member for the parent company, the successor company or a total: the one with the most facts.
    """
    tx.run("update_fact_set_whole", id=set_id)


def recompute_hidden_facts(tx: Transaction, set_id: int) -> None:
    """Recompute which facts are hidden (see the docstring of this module), and count the visible ones.

    This affects all sets of the same filing and company as the set ``set_id``.
    """
    fact_sets = tx.list_rows("fact_sets_of_same_filing", id=set_id)
    best_set = fact_sets[0]
    # If companyfacts is the best source, one set of the data sets supplements it.
    supplement_ids = [row["id"] for row in fact_sets if row["source"] == FSDS][:1]
    if len(fact_sets) > 1:
        for row in fact_sets:
            if best_set["source"] == COMPANYFACTS and row["id"] in supplement_ids:
                tx.run("update_facts_hidden", id=row["id"], hidden=0)
                tx.run("update_repeated_facts_hidden", id=row["id"], better_id=best_set["id"])
            else:
                tx.run("update_facts_hidden", id=row["id"], hidden=row["id"] != best_set["id"])
    for row in fact_sets:
        tx.run("update_fact_set_counts", id=row["id"])


# The ids of names, by table and name, that earlier reports of the same transaction have used.
KnownIds = dict[str, dict[str, int]]


def get_or_insert_ids(
    tx: Transaction, table: str, names: Iterable[str], known_ids: KnownIds | None = None
) -> dict[str, int]:
    """Return the ids of names (and perhaps of others), inserting the names that do not exist.

    ``table`` is ``concept``, ``unit``, ``dimension`` or ``label_role``. Ids in ``known_ids`` are not queried again, and
    the ids found here are added to it.
    """
    ids = {} if known_ids is None else known_ids.setdefault(table, {})
    unknown_names = sorted(name for name in names if name not in ids)
    if not unknown_names:
        return ids
    names_json = json.dumps(unknown_names)
    ids.update((row[0], row[1]) for row in tx.list_rows(f"{table}_ids", names=names_json))
    missing_names = [name for name in unknown_names if name not in ids]
    if missing_names:
        tx.insert_rows(f"insert_{table}s", [(name,) for name in missing_names])
        ids.update((row[0], row[1]) for row in tx.list_rows(f"{table}_ids", names=names_json))
    return ids
