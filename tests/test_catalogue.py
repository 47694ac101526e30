"""The list of filings walks an index, whatever is asked; and a store made before it existed is listed too."""

from __future__ import annotations

from collections import defaultdict

import pytest

from finapi.app import App
from finapi.market.documents import filings, metadata
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import search
from finapi.market.filings.search import Question
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
