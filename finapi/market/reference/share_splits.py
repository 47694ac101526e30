"""Splits of securities: as files of prices tell them, by their days, and as filings do where no file tells them.

Made-up prices tell none. A filing tells between which days a split was, and seldom of which of a company's securities:
what a holding was worth before and after says whether one is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from finapi.store.db import Row, Transaction

FROM_PRICES = "prices"
# A split of fewer than so many shares into one, or one into so many, moves a price as markets do.
PLAIN = 2
# Days between two filings of a split: further apart they do not tell when it was.
MAX_RANGE_DAYS = 730


class FiledSplit(NamedTuple):
    """A split by a company's filings: ``after`` one day and not after another, on its ``date`` where that is known.
    ``accession`` is the first filing that tells it."""

    factor: str
    date: str | None
    after: str
    until: str
    accession: str


class HoldingValue(NamedTuple):
    """Shares and what they are worth together."""

    value: int | Decimal
    shares: int


class LikelySplit(NamedTuple):
    """A split that may have been within a stretch of days. ``source`` is :data:`PRICES` or the accession number of the
    filing that tells it; ``placed``: it was, if it was one of this security."""

    factor: Decimal
    source: str
    is_within_days: bool

    def is_between(self, before: HoldingValue, now: HoldingValue) -> bool:
        """Whether it is in what became of a holding: prices near to its factor say so rather than days."""
        if self.source == FROM_PRICES or 1 < self.factor * PLAIN < PLAIN * PLAIN:
            return self.is_within_days
        if not (before.value and before.shares and now.value and now.shares):
            return self.is_within_days
        fall = Decimal(before.value) * now.shares / (before.shares * Decimal(now.value))
        return fall**2 > self.factor if self.factor > 1 else fall**2 < self.factor


def list_for_ticker(tx: Transaction, ticker: str | None) -> list[Row]:
    """The splits of a ticker that files of prices tell, the newest first: ``date`` and ``value``."""
    return tx.list_rows("splits_of_ticker", ticker=ticker)


def list_for_security(tx: Transaction, security_id: int) -> list[Row]:
    """All splits of a security, the newest first: ``factor``, ``source``, ``date``, ``after`` and ``until``."""
    return tx.list_rows("splits_of_security", security_id=security_id)


def get_for_quarter(tx: Transaction, before: str, period: str) -> dict[int, list[LikelySplit]]:
    """The splits that may have been in a quarter, by the ids of securities."""
    found: dict[int, list[LikelySplit]] = {}
    for row in tx.list_rows("splits_of_quarter", before=before, period=period):
        found.setdefault(row["security_id"], []).append(build_likely_split(row, before, period))
    return found


def build_likely_split(row: Row, before: str, until: str) -> LikelySplit:
    """A split as one of the days after ``before`` up to ``until``."""
    first, last = (row["after"], row["until"]) if row["date"] is None else (row["date"], row["date"])
    placed = before < last <= until and (before <= first if row["date"] is None else True)
    return LikelySplit(Decimal(row["factor"]), row["source"], placed)


def replace_filed_splits(tx: Transaction, cik: int, splits: Sequence[FiledSplit]) -> bool:
    """Keep what a company's filings tell of its splits instead of what they told; whether that is anything else."""
    held = [FiledSplit(*row) for row in tx.list_rows("filed_splits", cik=cik)]
    wanted = sorted({(one.until, one.factor): one for one in splits}.values(), key=lambda one: (one.until, one.factor))
    if held == wanted:
        return False
    tx.run("delete_filed_splits", cik=cik)
    tx.insert_rows("insert_filed_splits", [(cik, *one) for one in wanted])
    return True
