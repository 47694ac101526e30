"""Every row of a dataset that was filed in a day, a month or a quarter: which datasets there are, and their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from finapi.core import days
from finapi.market.reference.sql_views import VIEWS
from finapi.store.db import Row, Transaction


class Dataset(NamedTuple):
    """What a file is of: the query of its filings in a period, that of the rows of one, and the columns of these."""

    filings: str
    rows: str
    columns: tuple[str, ...]
    values: Mapping[str, str]


class FiledPeriod(NamedTuple):
    """The days of filing that a file holds, both inside."""

    first: date
    last: date


def _of(filings: str, rows: str, view: str, *more: str, **values: str) -> Dataset:
    return Dataset(filings, rows, (*more, *VIEWS[view][0].split(", ")), values)


# A row has the columns of an SQL view. Of amended insider transactions and restated quarters it is what stands now.
DATASETS = {
    "facts": _of("bulk_facts", "bulk_fact_rows", "fact"),
    "filings": _of("bulk_filings", "bulk_filing_rows", "filing"),
    "holdings": _of("bulk_holdings", "bulk_holding_rows", "holding", "accession_number", "filed_at"),
    "form-3": _of("bulk_insiders", "bulk_insider_rows", "insider_transaction", form="3"),
    "form-4": _of("bulk_insiders", "bulk_insider_rows", "insider_transaction", form="4"),
    "form-5": _of("bulk_insiders", "bulk_insider_rows", "insider_transaction", form="5"),
    "form-144": _of("bulk_sales", "bulk_sale_rows", "proposed_sale"),
    "beneficial-ownership": _of("bulk_ownership", "bulk_ownership_rows", "beneficial_ownership"),
}

# 2026-01-30, 2026-01 or 2026q1, of the years that days of filing can have.
PERIOD_PATTERN = r"(?:19|20)[0-9]{2}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?|q[1-4])"

# EDGAR takes filings until 22:00 in New York, which is the next day in UTC.
DAY_ENDS = timedelta(hours=6)


def parse_period(text: str) -> FiledPeriod:
    """The days of ``2026-01-30``, ``2026-01`` or ``2026q1``; ValueError when it is none of these or no such day."""
    if not re.fullmatch(PERIOD_PATTERN, text, re.ASCII):
        raise ValueError(text)
    if len(text) == len("2026-01-30"):
        day = date.fromisoformat(text)
        return FiledPeriod(day, day)
    year, months = int(text[:4]), 3 if "q" in text else 1
    first = date(year, int(text[5:]) * 3 - 2 if months == 3 else int(text[5:]), 1)
    after = first.month + months
    return FiledPeriod(first, date(year + after // 13, (after - 1) % 12 + 1, 1) - timedelta(days=1))


def has_begun(period: FiledPeriod, now: datetime) -> bool:
    """Whether anything can have been filed in the period."""
    return period.first <= now.date()


def is_over(period: FiledPeriod, now: datetime) -> bool:
    """Whether nothing more is filed in the period; what was filed may still be on its way here."""
    return now >= datetime.combine(period.last + timedelta(days=1), time(), UTC) + DAY_ENDS


def iter_rows(tx: Transaction, dataset: Dataset, period: FiledPeriod) -> Iterator[Row]:
    """Its rows by day of filing and accession number; of one filing at a time in memory."""
    first, last = period.first.isoformat(), period.last.isoformat()
    # Day 0 is that of forms whose day is not known.
    numbers = {"first_day": max(1, days.number(first)), "last_day": days.number(last)}
    for filing in tx.iter_rows(dataset.filings, {**dataset.values, "first": first, "last": last, **numbers}):
        yield from tx.iter_rows(dataset.rows, dict(filing))
