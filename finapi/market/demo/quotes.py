"""Made up prices for the demo's companies: a formula, no market data, and marked as such wherever they are shown.

The close of the n-th weekday from :data:`FIRST` is
``base * (1 + n / 2000) * (1 + sin(n / 23) / 20 + sin(n / 7) / 50)``, rounded to cents. It opens at the close of
the day before; high and low stand a hundredth outside the two. Apple pays a dividend each quarter and Netflix
splits two for one, so that there is something to adjust.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta

from finapi.app import App
from finapi.market.prices import price_store
from finapi.market.prices.price_csv import PriceFile, PriceRow

FIRST, LAST = date(2022, 1, 3), date(2025, 12, 31)
BASES = {"AAPL": 150.0, "NFLX": 400.0, "SNOW": 180.0, "AEON": 8.0, "UPXI": 5.0}
DIVIDEND = ("AAPL", (2, 5, 8, 11), "0.24")  # on the first weekday of these months
SPLIT = ("NFLX", date(2024, 7, 1), 2)


def load(app: App) -> int:
    """Store the made up prices; how many days and actions were new."""
    rows = [row for ticker in BASES for row in _series(ticker)]
    with app.db.write() as tx:
        return price_store.upsert(tx, PriceFile(rows, [], 0, is_synthetic=True), b"the demo's formula 1")[0]


def _series(ticker: str) -> Iterator[PriceRow]:
    before, month = _close(ticker, FIRST, 0), 0
    for n, day in enumerate(_weekdays()):
        close = _close(ticker, day, n)
        splits = (ticker, day) == SPLIT[:2]
        opens = before / SPLIT[2] if splits else before
        pays = ticker == DIVIDEND[0] and day.month in DIVIDEND[1] and day.month != month
        before, month = close, day.month
        yield PriceRow(
            ticker,
            day.isoformat(),
            f"{opens:.2f}",
            f"{max(opens, close) * 1.01:.2f}",
            f"{min(opens, close) * 0.99:.2f}",
            f"{close:.2f}",
            1_000_000 + 1_000 * (n * 37 % 500),
            None,
            DIVIDEND[2] if pays else None,
            str(SPLIT[2]) if splits else None,
        )


def _close(ticker: str, day: date, n: int) -> float:
    value = BASES[ticker] * (1 + n / 2000) * (1 + math.sin(n / 23) / 20 + math.sin(n / 7) / 50)
    return round(value / SPLIT[2] if ticker == SPLIT[0] and day >= SPLIT[1] else value, 2)


def _weekdays() -> Iterator[date]:
    day = FIRST
    while day <= LAST:
        if day.weekday() < 5:
            yield day
        day += timedelta(days=1)
