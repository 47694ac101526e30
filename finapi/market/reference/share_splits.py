"""Splits of securities, and the decision whether a split lies between two holdings of a security.

Splits come from two sources:

- price files give the split of a ticker with its exact day. Synthetic demo prices have no splits;
- a company's filings report a split between two days (for example, between two cover pages), rarely with its day and
  rarely with the security it applies to.

A filed split is therefore uncertain: it may have happened just outside the days in question, or to another class of
shares. The holdings before and after decide: after a 4-for-1 split, a fund has four times the shares at a quarter of
the price (:meth:`LikelySplit.is_between`).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.store.db import Row, Transaction

# The ``source`` of a split from a price file.
FROM_PRICES = "prices"
# The price change of a split below 2 for 1 (or above 1 for 2) could also be a normal market move.
MIN_VISIBLE_FACTOR = 2
# A filed split with a longer range of days is not used, because its day is too uncertain.
MAX_RANGE_DAYS = 730


class FiledSplit(NamedTuple):
    """A split reported by a company's filings.

    It happened after the day ``after`` and not after ``until``, on ``date`` if known. ``accession`` is the first
    filing that reports it. ``factor`` is the number of new shares for an old one, as decimal text.
    """

    factor: str
    date: str | None
    after: str
    until: str
    accession: str


class HoldingValue(NamedTuple):
    """A number of shares and their total value."""

    value: int | Decimal
    shares: int


class LikelySplit(NamedTuple):
    """A split that may lie within a range of days.

    ``source`` is :data:`FROM_PRICES` or the accession number of the filing that reports it. ``is_within_days`` is True
    if the split certainly lies within the days, provided that it applies to this security.
    """

    factor: Decimal
    source: str
    is_within_days: bool

    def is_between(self, before: HoldingValue, now: HoldingValue) -> bool:
        """Return True if the split lies between two holdings of the security.

        For a filed split of a visible factor the prices decide: the split is between the holdings if the price per
        share changed by more than the square root of the factor. Otherwise the days decide.
        """
        is_small = 1 < self.factor * MIN_VISIBLE_FACTOR < MIN_VISIBLE_FACTOR * MIN_VISIBLE_FACTOR
        if self.source == FROM_PRICES or is_small:
            return self.is_within_days
        if not (before.value and before.shares and now.value and now.shares):
            return self.is_within_days
        price_ratio = Decimal(before.value) * now.shares / (before.shares * Decimal(now.value))
        if self.factor > 1:
            return price_ratio**2 > self.factor
        return price_ratio**2 < self.factor


def list_for_ticker(tx: Transaction, ticker: str | None) -> list[Row]:
    """Return the splits of a ticker from price files, newest first: ``date`` and ``value``."""
    return tx.list_rows("splits_of_ticker", ticker=ticker)


def list_for_security(tx: Transaction, security_id: int) -> list[Row]:
    """Return all splits of a security, newest first: ``factor``, ``source``, ``date``, ``after`` and ``until``."""
    return tx.list_rows("splits_of_security", security_id=security_id)


def get_for_quarter(tx: Transaction, before: str, period: str) -> dict[int, list[LikelySplit]]:
    """Return the splits that may lie after the day ``before`` and not after ``period``, by security id."""
    splits_by_security: dict[int, list[LikelySplit]] = {}
    for row in tx.list_rows("splits_of_quarter", before=before, period=period):
        splits_by_security.setdefault(row["security_id"], []).append(build_likely_split(row, before, period))
    return splits_by_security


def build_likely_split(row: Row, before: str, until: str) -> LikelySplit:
    """Return a stored split as a possible split after the day ``before`` and not after ``until``."""
    if row["date"] is None:
        is_within_days = before <= row["after"] and before < row["until"] <= until
    else:
        is_within_days = before < row["date"] <= until
    return LikelySplit(Decimal(row["factor"]), row["source"], is_within_days)


def replace_filed_splits(tx: Transaction, cik: int, splits: Sequence[FiledSplit]) -> bool:
    """Replace the filed splits of a company. Return True if they differ from the stored ones."""
    stored_splits = [FiledSplit(**dict(row)) for row in tx.list_rows("filed_splits", cik=cik)]
    unique_splits = {(split.until, split.factor): split for split in splits}
    new_splits = [unique_splits[key] for key in sorted(unique_splits)]
    if stored_splits == new_splits:
        return False
    tx.run("delete_filed_splits", cik=cik)
    tx.insert_rows("insert_filed_splits", [(cik, *split) for split in new_splits])
    return True
