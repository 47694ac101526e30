"""Query plans and totals of the search of filings."""

from __future__ import annotations

from collections import defaultdict

import pytest

from finapi.app import App
from finapi.market.documents import filing_store, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import filing_search
from finapi.market.filings.filing_search import FilingQuery
from finapi.store import db


@pytest.mark.parametrize("query", ["filings_newest_first", "filings_oldest_first"])
def test_page_reads_index_in_order_without_sorting(app: App, query: str) -> None:
    with app.db.write() as tx:
        sql = f"EXPLAIN QUERY PLAN {db.load_queries()[query]}"
        values: defaultdict[str, None] = defaultdict(lambda: None)
        plan = [str(row[3]) for row in tx._connection.execute(sql, values)]
    assert plan[0] == "SEARCH filing_term USING PRIMARY KEY (term=? AND filed_at>? AND filed_at<?)"
    assert not [step for step in plan if "TEMP B-TREE" in step]


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
