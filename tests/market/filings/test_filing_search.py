"""Query plans and totals of the search of filings."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Any

import pytest

from finapi.app import App
from finapi.market.documents import filing_store, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import filing_search
from finapi.market.filings.filing_search import FilingQuery
from finapi.store import as_of, db, schema


@pytest.mark.parametrize("query", ["filings_newest_first", "filings_oldest_first"])
def test_page_reads_index_in_order_without_sorting(app: App, query: str) -> None:
    with app.db.write() as tx:
        sql = f"EXPLAIN QUERY PLAN {db.load_queries()[query]}"
        values: defaultdict[str, None] = defaultdict(lambda: None)
        plan = [str(row[3]) for row in tx._connection.execute(sql, values)]
    assert plan[0] == "SEARCH filing_term USING PRIMARY KEY (term=? AND filed_at>? AND filed_at<?)"
    assert not [step for step in plan if "TEMP B-TREE" in step]


def test_past_days_search_filings_and_positions_by_index() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(connection)
    queries = as_of.adapt_queries(db.load_queries())

    def explain(name: str) -> list[str]:
        values: defaultdict[str, None] = defaultdict(lambda: None)
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {queries[name]}", values)]

    assert explain("entities") == ["SEARCH companies USING INTEGER PRIMARY KEY (rowid>?)"]
    as_of.create_views(connection)
    by_days = "filing_terms USING PRIMARY KEY (term=? AND filed_at>? AND filed_at<?)"
    assert f"SEARCH main.{by_days}" in explain("count_of_filings_of_term")
    filings_of_day = explain("filings_of_day")
    assert filings_of_day[0] == "SEARCH main.filing_terms USING PRIMARY KEY (term=? AND filed_at=? AND number>?)"
    for name in ("entities", "filings_of_day"):
        assert "USE TEMP B-TREE FOR ORDER BY" not in explain(name)[:3]
    # Positions of insiders are searched by the form that listed them on the day.
    for name in ("amounts_under_forms", "holdings_of_issuer", "holdings_of_all", "form_4_events"):
        steps = explain(name)
        assert "SEARCH lister USING INTEGER PRIMARY KEY (rowid=?)" in steps
        assert [step for step in steps if step.startswith("SCAN holding")] == []
    connection.close()


def test_total_beyond_bound_is_a_lower_bound(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filing_search, "MAX_COUNTED", 3)
    with app.db.write() as tx:
        for n in range(5):
            filing = FilingMetadata(
                f"0000000001-25-{n:06}", metadata.INDEX_EVIDENCE, [Party(1, metadata.LISTED_RANK)], "4", "2025-01-01"
            )
            filing_store.upsert(tx, filing, app.clock.now())
        assert filing_search.count_filings(tx, FilingQuery(first_day="2025-01-01")) == (3, False)
        assert filing_search.count_filings(tx, FilingQuery(ciks=(1,), forms=("4",))) == (3, False)
        # Kept as they are stored, and exact at any size.
        assert (
            filing_search.count_filings(tx, FilingQuery())
            == filing_search.count_filings(tx, FilingQuery(forms=("4",)))
            == (5, True)
        )


def test_totals_between_days_count_each_filing_once(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    filings = [("4", "2025-01-01", (1,)), ("4", "2025-01-02", (1, 2)), ("8-K", "2025-01-03", (2,)), ("8-K", None, (2,))]
    with app.db.write() as tx:
        for number, (form, day, ciks) in enumerate(filings):
            parties = [Party(cik, metadata.LISTED_RANK) for cik in ciks]
            accession = f"0000000001-25-{number:06}"
            filing = FilingMetadata(accession, metadata.INDEX_EVIDENCE, parties, form, day)
            filing_store.upsert(tx, filing, app.clock.now())

        def count(**filters: Any) -> tuple[int, bool, int]:
            query = FilingQuery(**filters)
            return *filing_search.count_filings(tx, query), filing_search.count_undated(tx, query)

        assert count(first_day="2025-01-01") == (3, True, 1)
        assert count(first_day="2025-01-02") == (2, True, 1)
        assert count(last_day="2025-01-02") == (2, True, 1)
        assert count(first_day="2026-01-01") == (0, True, 1)
        assert count(first_day="2025-01-01", ciks=(1, 2)) == (3, True, 1)
        assert count(first_day="2025-01-01", ciks=(1, 2), forms=("4",)) == (2, True, 0)
        assert count(first_day="2025-01-01", forms=("4", "8-K")) == (3, True, 1)
        assert count(first_day="2025-01-02", forms=("4", "8-K", "10-K")) == (2, True, 1)
        assert count(first_day="2025-01-01", word_terms=("f4", "c1")) == (2, True, 0)
        assert count(first_day="2025-01-01", word_terms=()) == (0, True, 0)
        monkeypatch.setattr(filing_search, "MAX_COUNTED", 2)
        assert count(first_day="2025-01-01", forms=("8-K", "4")) == (2, False, 1)
        assert count(first_day="2025-01-02", forms=("8-K", "4")) == (2, True, 1)
