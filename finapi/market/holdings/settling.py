"""What follows from 13F reports, completed a portion at a time.

An ingest settles what it changed. What it leaves, because it was killed or stopped, or what an upgrade makes due, is
noted in tables; a worker completes it from there.
"""

from __future__ import annotations

from datetime import datetime

from finapi.market import financials
from finapi.market.holdings import analytics, doubts, industries, store
from finapi.store.db import Database, Transaction

RESPLIT_AT_ONCE = 10  # securities of which all positions are recomputed in one transaction

# Queries that find a row if something is due, and by whom it is done.
_COUNTED = ("next_fund_uncounted", "quarter_due", "series_uncounted")
_COMPARED = ("fund_quarters_uncompared", "securities_unpriced")


def settle_portion(db: Database, now: datetime) -> bool:
    """Complete a portion of what is due, in one transaction. Return False if nothing was."""
    with db.read() as tx:
        # Splits are noted while latest years are computed. The changes of holdings depend on all of a quarter.
        is_resplit = _is_due(tx, "securities_resplit") and not _is_due(tx, "latest_years_due")
        is_counted = any(_is_due(tx, query) for query in _COUNTED)
        is_compared = any(_is_due(tx, query) for query in _COMPARED)
        is_summed = _is_due(tx, "quarter_unsummed")
    if not (is_resplit or is_counted or is_compared or is_summed):
        return False
    with db.write() as tx:
        if is_resplit:
            store.resplit(tx, now, RESPLIT_AT_ONCE)
            return True
        if is_counted:
            return analytics.settle_portion(tx)
        if is_compared:
            return doubts.settle_portion(tx)
        return industries.settle_portion(tx)


def _is_due(tx: Transaction, query: str) -> bool:
    return tx.find_row(query, limit=1, least=0, rules=financials.get_fingerprint()) is not None
