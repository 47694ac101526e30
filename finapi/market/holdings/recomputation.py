"""What follows from 13F reports, completed a portion at a time.

An ingest settles what it changed. What it leaves, because it was killed or stopped, or what an upgrade makes due, is
noted in tables; a worker completes it from there.
"""

from __future__ import annotations

from datetime import datetime

from finapi.market import financials
from finapi.market.holdings import cost_basis, holdings_store, industry_flows, value_doubts
from finapi.store.db import Database, Transaction

SECURITIES_PER_PORTION = 10  # securities of which all positions are recomputed in one transaction

# Queries that find a row if something is due, and by whom it is done.
_COUNTED = ("next_uncounted_fund", "due_quarter", "uncounted_series")
_COMPARED = ("uncompared_fund_quarters", "unpriced_securities")


def recompute_portion(db: Database, now: datetime) -> bool:
    """Complete a portion of what is due, in one transaction. Return False if nothing was."""
    with db.read() as tx:
        # Splits are noted while latest years are computed. The changes of holdings depend on all of a quarter.
        is_resplit = _is_due(tx, "resplit_securities") and not _is_due(tx, "latest_years_due")
        is_counted = any(_is_due(tx, query) for query in _COUNTED)
        is_compared = any(_is_due(tx, query) for query in _COMPARED)
        is_summed = _is_due(tx, "unsummed_quarter")
    if not (is_resplit or is_counted or is_compared or is_summed):
        return False
    with db.write() as tx:
        if is_resplit:
            holdings_store.recompute_splits(tx, now, SECURITIES_PER_PORTION)
            return True
        if is_counted:
            return cost_basis.recompute_portion(tx)
        if is_compared:
            return value_doubts.recompute_portion(tx)
        return industry_flows.recompute_portion(tx)


def _is_due(tx: Transaction, query: str) -> bool:
    return tx.find_row(query, limit=1, least=0, rules=financials.get_fingerprint()) is not None
