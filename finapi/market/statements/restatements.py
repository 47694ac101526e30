"""Restated figures: facts of a new filing that differ from what the latest earlier filing reported.

Values count as different if they differ by at least one unit of the less precise one. A figure that is merely repeated
with fewer digits (1,234,567 and 1.2 million) is not restated. A filing restates nothing if a later filing already
reports the figure, in whatever order the two are stored.
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
    """Return the restated figures of a set of facts, as ``announcements.announce_restatement`` takes them.

    ``filed`` is the filing day and the accession number of the set's filing. Only facts without dimensions count.
    """
    rows = tx.list_rows("values_of_other_filings", set_id=set_id, cik=cik, filing_id=filing_id)
    restatements = []
    for _, fact_rows in groupby(rows, key=lambda row: (row["concept"], row["unit"], row["end_day"], row["days"])):
        latest = next(fact_rows)  # The query returns the latest of the other filings first.
        if (latest["filed_at"], latest["accession"]) < filed and _is_restated(latest):
            restatements.append(_build_restatement(latest))
    return restatements


def _is_restated(row: Row) -> bool:
    value = Decimal(row["value"])
    previous_value = Decimal(row["previous_value"])
    unit = max(get_precision_unit(value, row["decimals"]), get_precision_unit(previous_value, row["previous_decimals"]))
    return value != previous_value and abs(value - previous_value) >= unit


def get_precision_unit(value: Decimal, decimals: str | None) -> Decimal:
    """Return the unit of the last digit that is exact: 1000 for ``decimals`` -3, and 0 for an exact value.

    companyfacts does not state the precision: zeros at the end of a value then count as rounded.
    """
    if decimals is None:
        last_digit = int(value.normalize().as_tuple().exponent)
        return Decimal(1).scaleb(last_digit) if value else Decimal(0)
    try:
        return Decimal(1).scaleb(-int(decimals))
    except (ValueError, ArithmeticError):  # "INF" means exact.
        return Decimal(0)


def _build_restatement(row: Row) -> dict[str, Any]:
    end_day = row["end_day"]
    day_count = row["days"]
    return {
        "concept": row["concept"],
        "unit": row["unit"],
        "start_date": days.iso(end_day - day_count + 1) if day_count else None,
        "end_date": days.iso(end_day),
        "value": row["value"],
        "previous_value": row["previous_value"],
        "previous_accession": row["accession"],
    }
