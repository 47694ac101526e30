"""The background step that completes rows derived from 13F reports.

Changes, costs, returns, agreed prices and sums by industry follow from the reports. An ingest recomputes the rows that
it affects. If it is stopped or killed, or if an upgrade changes the rules, the remaining work stays recorded in tables.
The step completes it, one portion in each transaction.
"""

from __future__ import annotations

from datetime import datetime

from finapi.market import financials
from finapi.market.holdings import cost_basis, holdings_store, industry_flows, value_doubts
from finapi.store.db import Database, Transaction

# Number of securities recomputed in one transaction after a split became known, with their positions in all funds.
SECURITIES_PER_PORTION = 10

# Queries that return a row if work of the given kind is due.
_COST_QUERIES = ("next_uncounted_fund", "due_quarter", "uncounted_series")
_DOUBT_QUERIES = ("uncompared_fund_quarters", "unpriced_securities")


def recompute_portion(db: Database, now: datetime) -> bool:
    """Recompute a portion of the due rows, in one transaction. Return False if nothing was due."""
    with db.read() as tx:
        # Splits are recorded while latest years are computed. The changes of holdings depend on all splits of a
        # quarter, so they are recomputed after that.
        splits_due = _is_due(tx, "resplit_securities") and not _is_due(tx, "latest_years_due")
        costs_due = any(_is_due(tx, query) for query in _COST_QUERIES)
        doubts_due = any(_is_due(tx, query) for query in _DOUBT_QUERIES)
        sums_due = _is_due(tx, "unsummed_quarter")
    if not (splits_due or costs_due or doubts_due or sums_due):
        return False
    with db.write() as tx:
        if splits_due:
            holdings_store.recompute_splits(tx, now, SECURITIES_PER_PORTION)
            return True
        if costs_due:
            return cost_basis.recompute_portion(tx)
        if doubts_due:
            return value_doubts.recompute_portion(tx)
        return industry_flows.recompute_portion(tx)


def _is_due(tx: Transaction, query: str) -> bool:
    return tx.find_row(query, limit=1, least=0, rules=financials.get_fingerprint()) is not None
