"""Splits that files of prices tell, by their days; made-up prices tell none.

Holdings are compared by them. What a company's own filings show of splits is added where its figures are asked for.
"""

from __future__ import annotations

from decimal import Decimal

from finapi.store.db import Row, Transaction


def of_ticker(tx: Transaction, ticker: str | None) -> list[Row]:
    """The splits of a ticker, the newest first: ``date``, ``value`` as the file has it, ``ratio`` as a number."""
    return tx.all("splits_of_ticker", ticker=ticker)


def of_quarter(tx: Transaction, before: str, period: str) -> dict[int, Decimal]:
    """What a share became by the splits of a quarter, by the id of its security."""
    found: dict[int, Decimal] = {}
    for row in tx.all("splits_of_quarter", before=before, period=period):
        found[row["id"]] = found.get(row["id"], Decimal(1)) * Decimal(row["value"])
    return found
