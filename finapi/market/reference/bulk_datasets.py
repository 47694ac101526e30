"""The datasets offered as bulk files, and the rows of each that were filed in a day, a month or a quarter.

A dataset is read in two steps, so that only one filing is in memory at a time: one query lists the filings of the
period in the order of filing, another returns the rows of each of them. The rows have the columns of an SQL view
(see ``sql_views.py``), which shows the current state: insider transactions as last amended, quarters of funds as
last restated, and positions of funds by the current report for a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from finapi.core import days
from finapi.market.reference.sql_views import VIEWS
from finapi.store.db import Row, Transaction


class Dataset(NamedTuple):
    """The queries of a dataset and the columns of its rows."""

    filings_query: str
    rows_query: str
    columns: tuple[str, ...]
    # Further parameters of the filings query.
    params: Mapping[str, str] = {}


class FiledPeriod(NamedTuple):
    """The days of filing that a bulk file covers, the first and the last included."""

    first: date
    last: date


def _build_insider_dataset(form: str) -> Dataset:
    columns = VIEWS["insider_transaction"].column_names
    return Dataset("bulk_insiders", "bulk_insider_rows", columns, {"form": form})


DATASETS = {
    "facts": Dataset("bulk_facts", "bulk_fact_rows", VIEWS["fact"].column_names),
    "filings": Dataset("bulk_filings", "bulk_filing_rows", VIEWS["filing"].column_names),
    "holdings": Dataset(
        "bulk_holdings", "bulk_holding_rows", ("accession_number", "filed_at", *VIEWS["holding"].column_names)
    ),
    "nport": Dataset("bulk_fund_reports", "bulk_fund_positions", ("filed_at", *VIEWS["fund_position"].column_names)),
    "form-3": _build_insider_dataset("3"),
    "form-4": _build_insider_dataset("4"),
    "form-5": _build_insider_dataset("5"),
    "form-144": Dataset("bulk_sales", "bulk_sale_rows", VIEWS["proposed_sale"].column_names),
    "beneficial-ownership": Dataset(
        "bulk_ownership", "bulk_ownership_rows", VIEWS["beneficial_ownership"].column_names
    ),
}

# Matches 2026-01-30, 2026-01 and 2026q1, in the years that a filing can be from.
PERIOD_PATTERN = r"(?:19|20)[0-9]{2}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?|q[1-4])"

# EDGAR accepts filings until 22:00 in New York, which is the next day in UTC.
EDGAR_DAY_DELAY = timedelta(hours=6)


def parse_period(text: str) -> FiledPeriod:
    """Return the days of ``2026-01-30``, ``2026-01`` or ``2026q1``. Raise ValueError for any other text."""
    if not re.fullmatch(PERIOD_PATTERN, text, re.ASCII):
        raise ValueError(text)
    if len(text) == len("2026-01-30"):
        day = date.fromisoformat(text)
        return FiledPeriod(day, day)
    year = int(text[:4])
    if "q" in text:
        month_count = 3
        first_month = int(text[5:]) * 3 - 2
    else:
        month_count = 1
        first_month = int(text[5:])
    next_month = first_month + month_count  # 13 for a period that ends with the year.
    first_day_after = date(year + next_month // 13, (next_month - 1) % 12 + 1, 1)
    return FiledPeriod(date(year, first_month, 1), first_day_after - timedelta(days=1))


def has_begun(period: FiledPeriod, now: datetime) -> bool:
    """Return True if a filing can already have been filed in the period."""
    return period.first <= now.date()


def is_over(period: FiledPeriod, now: datetime) -> bool:
    """Return True if nothing more can be filed in the period.

    Filings of the period may still be missing in the database, because they are loaded later than they are filed.
    """
    return now >= datetime.combine(period.last + timedelta(days=1), time(), UTC) + EDGAR_DAY_DELAY


def iter_rows(tx: Transaction, dataset: Dataset, period: FiledPeriod) -> Iterator[Row]:
    """Yield the dataset's rows in the order of filing day and accession number, reading one filing at a time."""
    first = period.first.isoformat()
    last = period.last.isoformat()
    params = {
        **dataset.params,
        "first": first,
        "last": last,
        # Insider forms, schedules and sale notices of an unknown day are stored with day number 0: leave them out.
        "first_day": max(1, days.number(first)),
        "last_day": days.number(last),
    }
    for filing in tx.iter_rows(dataset.filings_query, params):
        yield from tx.iter_rows(dataset.rows_query, dict(filing))
