"""Which figures a filing changes that were served before it: what the latest filing said until then.

A figure counts as changed when the two values differ by a unit of the coarser one's precision or more: what is
only told with fewer digits, or in another spelling, is the same figure. A filing older than what is served
changes nothing, in whatever order the two are stored.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby
from typing import Any

from finapi.core import days
from finapi.store.db import Row, Transaction


def list_restatements(
    tx: Transaction, *, set_id: int, cik: int, filing_id: int, filed: tuple[str, str]
) -> list[dict[str, Any]]:
    """The changed figures of a set of facts, as ``announce.restatement`` takes them.

    ``filed`` is the day and the accession number of the set's filing. Figures without dimensions only.
    """
    rows = tx.list_rows("values_of_other_filings", set_id=set_id, cik=cik, filing_id=filing_id)
    found = []
    for _, group in groupby(rows, key=lambda row: (row["concept"], row["unit"], row["end_day"], row["days"])):
        latest = next(group)  # of the other filings: the order of the query
        if (latest["filed_at"], latest["accession"]) < filed and _differ(latest):
            found.append(_change(latest))
    return found


def _differ(row: Row) -> bool:
    value, previous = Decimal(row["value"]), Decimal(row["previous_value"])
    steps = _step(value, row["decimals"]), _step(previous, row["previous_decimals"])
    return value != previous and abs(value - previous) >= max(steps)


def _step(value: Decimal, decimals: str | None) -> Decimal:
    """A unit of the last digit that a value is exact to; 0 for one that is exact.

    Where a source does not say (companyfacts), zeros at the end are no digits.
    """
    if decimals is None:
        return Decimal(1).scaleb(int(value.normalize().as_tuple().exponent)) if value else Decimal(0)
    try:
        return Decimal(1).scaleb(-int(decimals))
    except (ValueError, ArithmeticError):  # INF
        return Decimal(0)


def _change(row: Row) -> dict[str, Any]:
    end, length = row["end_day"], row["days"]
    return {
        "concept": row["concept"],
        "unit": row["unit"],
        "start_date": days.iso(end - length + 1) if length else None,
        "end_date": days.iso(end),
        "value": row["value"],
        "previous_value": row["previous_value"],
        "previous_accession": row["accession"],
    }
