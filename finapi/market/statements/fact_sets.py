"""Facts into rows: what each source says of a filing stands beside the others, and one of them speaks.

A fact of a filing may come from its XBRL documents, from companyfacts and from the Financial Statement Data
Sets. The documents are the filing itself: where they are, the others are hidden. companyfacts has exact dates
but neither dimensions nor the filer's own elements; of the data sets, which round dates to month ends, that
part is hidden which companyfacts also has. ``settle`` decides it anew from all that is there, so that the
order in which documents came changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING

from finapi.market.reference import companies
from finapi.store.db import Transaction

if TYPE_CHECKING:
    from finapi.edgar.companyfacts import CompanyFacts

XBRL, COMPANYFACTS, FSDS = 0, 1, 2
# As answers name them.
SOURCE_NAMES = ("xbrl", "companyfacts", "fsds")

# set, dimension, concept, end day, days, unit, value, decimals
FactRow = tuple[int, int, int, int, int, int, str | None, str | None]


def insert_fact_set(tx: Transaction, filing_id: int, cik: int, source: int, report_id: int | None = None) -> int:
    """The id of a new set of facts."""
    return tx.insert_row("insert_fact_set", filing_id=filing_id, cik=cik, source=source, report_id=report_id)


def insert_facts(tx: Transaction, rows: list[FactRow]) -> None:
    """Add the facts of a new set, which are unlike each other in their first six members."""
    # Sorted by key: the table is clustered by it, so that every row is appended.
    rows.sort()
    tx.insert_rows("insert_facts", rows)


def upsert_companyfacts(tx: Transaction, document: CompanyFacts, now: datetime) -> bool:
    """Store a companyfacts document; False when it says nothing that is not held.

    A later copy adds to an earlier one. Where two copies give one figure differently the longer text stands,
    of equally long ones the greater: whichever came first.
    """
    if not document.filings:
        return False
    cik = document.cik
    latest = max(filed.filed for filed in document.filings.values())
    companies.upsert_name(tx, cik, document.name, companies.FROM_COVER, latest)
    sets, new = _sets(tx, document, now)
    concepts = get_or_insert_ids(tx, "concept", {series.concept for series in document.concepts})
    units = get_or_insert_ids(tx, "unit", {series.unit for series in document.concepts})
    rows: list[tuple[int, int, int, int, int, str]] = []
    # In the order of the table within each filing, so that sorting by filing is all that is left.
    for series in sorted(document.concepts, key=lambda one: (concepts[one.concept], units[one.unit])):
        concept, unit = concepts[series.concept], units[series.unit]
        rows += [(sets[one], concept, last, length, unit, value) for one, last, length, value in series.rows]
    rows.sort(key=itemgetter(0))
    changed = tx.insert_rows("upsert_facts", rows)
    if changed:
        tx.run("update_company_facts_changed", cik=cik)
    wanted = json.dumps([*sets.values()])
    tx.run("update_counts_of_fact_sets", ids=wanted)
    for row in tx.list_rows("fact_sets_with_other_sources", ids=wanted):
        recompute_hidden_facts(tx, row["id"])
    if changed or new:
        tx.run("bump_data_version")
    return bool(changed or new)


def _sets(tx: Transaction, document: CompanyFacts, now: datetime) -> tuple[dict[str, int], int]:
    """The companyfacts set of every filing of the document, and how many of them are new or told more of."""
    # Not loaded where statements are only read: with it come the parsers.
    from finapi.market.documents import filing_store

    cik, years = document.cik, document.fiscal_years
    new = filing_store.upsert_dated_filings(tx, cik, document.filings, now)
    sets = _held(tx, cik)
    new += tx.insert_rows(
        "update_fact_set_fiscal_year", [(year, sets[one], year) for one, year in years.items() if one in sets]
    )
    missing = [(cik, COMPANYFACTS, years.get(one), one) for one in document.filings if one not in sets]
    if missing:
        new += tx.insert_rows("insert_fact_sets_of_company", missing)
        sets = _held(tx, cik)
    return {accession: sets[accession] for accession in document.filings}, new


def _held(tx: Transaction, cik: int) -> dict[str, int]:
    return {row["accession"]: row["id"] for row in tx.list_rows("fact_sets_of_company", cik=cik, source=COMPANYFACTS)}


def recompute_consolidated_dimension(tx: Transaction, set_id: int) -> None:
    """Find the dimension that is the whole company in a set: none, where anything is told without dimensions."""
    tx.run("update_fact_set_whole", id=set_id)


def recompute_hidden_facts(tx: Transaction, set_id: int) -> None:
    """Let the best source speak for the filing and company of a set, hide what the others repeat, and count them."""
    beside = tx.list_rows("fact_sets_of_same_filing", id=set_id)
    best = beside[0]
    supplement = next((one["id"] for one in beside if one["source"] == FSDS), None)
    for one in beside if len(beside) > 1 else ():
        if best["source"] == COMPANYFACTS and one["id"] == supplement:
            tx.run("update_facts_hidden", id=one["id"], hidden=0)
            tx.run("update_repeated_facts_hidden", id=one["id"], better=best["id"])
        else:
            tx.run("update_facts_hidden", id=one["id"], hidden=one["id"] != best["id"])
    for one in beside:
        tx.run("update_fact_set_counts", id=one["id"])


# Ids by table and name that a transaction has met.
KnownIds = dict[str, dict[str, int]]


def get_or_insert_ids(
    tx: Transaction, table: str, names: Iterable[str], known: KnownIds | None = None
) -> dict[str, int]:
    """Ids of names in ``concepts``, ``units``, ``dimensions`` or ``label_roles``, made where new; the ``known`` too."""
    found = {} if known is None else known.setdefault(table, {})
    ordered: Sequence[str] = sorted(name for name in names if name not in found)
    if ordered:
        wanted = json.dumps(ordered)
        found.update((row[0], row[1]) for row in tx.list_rows(f"{table}_ids", names=wanted))
    missing = [(name,) for name in ordered if name not in found]
    if missing:
        tx.insert_rows(f"insert_{table}s", missing)
        found.update((row[0], row[1]) for row in tx.list_rows(f"{table}_ids", names=wanted))
    return found
