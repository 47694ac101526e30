"""The list of filings walks an index, whatever is asked; and a store made before it existed is listed too."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from finapi.app import App
from finapi.market.documents import filings, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import search
from finapi.market.filings.search import Page, Question
from finapi.store import db


@pytest.mark.parametrize("query", ["filings_down", "filings_up"])
def test_a_page_walks_the_list_of_its_term_in_order_and_sorts_nothing(app: App, query: str) -> None:
    with app.db.write() as tx:
        sql = f"EXPLAIN QUERY PLAN {db.named_queries()[query]}"
        values: defaultdict[str, None] = defaultdict(lambda: None)
        plan = [str(row[3]) for row in tx._connection.execute(sql, values)]
    assert plan[0] == "SEARCH one USING PRIMARY KEY (term=? AND filed_at>? AND filed_at<?)"
    assert not [step for step in plan if "TEMP B-TREE" in step]


def test_totals_beyond_the_bound_are_told_as_a_lower_bound(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_COUNTED", 3)
    with app.db.write() as tx:
        for n in range(5):
            told = FilingMetadata(
                f"0000000001-25-{n:06}", metadata.INDEX, [Party(1, metadata.LISTED)], "4", "2025-01-01"
            )
            filings.upsert(tx, told, app.clock.now())
        assert search.total(tx, Question(first="2025-01-01")) == (3, False)
        assert search.total(tx, Question(ciks=(1,), forms=("4",))) == (3, False)
        # Kept as they are stored, and exact at any size.
        assert search.total(tx, Question()) == search.total(tx, Question(forms=("4",))) == (5, True)


OLD = """
INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (1750, 'Lamp Corp', 1, '');
INSERT INTO filings (accession, cik, form, filed_at, items, size) VALUES
    ('0000001750-25-000001', 1750, '8-K', '2025-02-01', '2.02,9.01', 100),
    ('0000001750-25-000002', 1750, '10-K', NULL, NULL, NULL),
    ('0000001750-25-000003', 1750, '8-K', '2025-02-03', 'Other events', NULL),
    ('unfiled-0123', 1750, '10-Q', NULL, NULL, NULL);
"""


def test_filings_of_an_older_store_are_listed_after_the_migration() -> None:
    before = next(n for n, script in enumerate(db.migrations()) if "CREATE TABLE filing_terms" in script)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    for script in db.migrations()[:before]:
        connection.executescript(script)
    connection.executescript(f"{OLD} PRAGMA user_version = {before};")
    db.migrate(connection)
    tx = db.Transaction(connection, db.named_queries())
    found = [search.accession_of(place)[-1] for place in search.places(tx, Question(), Page(9))]
    assert found == ["3", "1", "2"]
    assert [place.number for place in search.places(tx, Question(items=("9.01",)), Page(9))] == [175025000001]
    assert search.total(tx, Question(forms=("8-K", "10-K"))) == (3, True)
    assert search.entities(tx, "8-K", limit=9, offset=0, after=0) == [{"entity_name": "Lamp Corp", "cik": "0000001750"}]
    # What a list told (it gave a size) outranks what a document claims, and is outranked by a header.
    for evidence, form in ((metadata.DOCUMENT, "S-1"), (metadata.HEADER, "8-K/A")):
        told = FilingMetadata("0000001750-25-000001", evidence, [Party(1750, metadata.LISTED)], form)
        filings._put(tx, told, datetime(2026, 1, 1, tzinfo=UTC))
    assert [row["form"] for row in tx.list_rows("form_counts")] == ["10-K", "8-K", "8-K/A"]
    connection.close()
