"""Made-up prices for the demo's companies: a formula and no market data, marked as synthetic in every answer.

The close of the n-th weekday after :data:`FIRST_DAY` is ``base * (1 + n / 2000) * (1 + sin(n / 23) / 20 + sin(n / 7) /
50)``, rounded to cents. A day opens at the close of the day before; its high and low are one per cent above and below
these two. Apple pays a dividend each quarter and Netflix splits two for one, so that there are prices to adjust.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta

from finapi.app import App
from finapi.market.prices import price_store
from finapi.market.prices.price_csv import PriceFile, PriceRow

FIRST_DAY, LAST_DAY = date(2022, 1, 3), date(2025, 12, 31)
BASE_PRICES = {"AAPL": 150.0, "NFLX": 400.0, "SNOW": 180.0, "MRVL": 60.0, "AEON": 8.0, "UPXI": 5.0}
DIVIDEND_TICKER = "AAPL"
DIVIDEND_MONTHS = (2, 5, 8, 11)  # Paid on the first weekday of these months.
DIVIDEND = "0.24"
SPLIT_TICKER = "NFLX"
SPLIT_DAY = date(2024, 7, 1)
SPLIT_RATIO = 2


def store_prices(app: App) -> int:
    """Store the made-up prices. Return how many days and corporate actions were new."""
    rows = [row for ticker in BASE_PRICES for row in _iter_rows(ticker)]
    with app.db.write() as tx:
        return price_store.upsert(tx, PriceFile(rows, [], 0, is_synthetic=True), b"the demo's formula 1")[0]


def _iter_rows(ticker: str) -> Iterator[PriceRow]:
    previous_close = _compute_close(ticker, FIRST_DAY, 0)
    previous_month = 0
    for n, day in enumerate(_iter_weekdays()):
        close = _compute_close(ticker, day, n)
        is_split_day = ticker == SPLIT_TICKER and day == SPLIT_DAY
        open_price = previous_close / SPLIT_RATIO if is_split_day else previous_close
        is_first_weekday = day.month != previous_month
        pays_dividend = ticker == DIVIDEND_TICKER and day.month in DIVIDEND_MONTHS and is_first_weekday
        yield PriceRow(
            ticker=ticker,
            date=day.isoformat(),
            open=f"{open_price:.2f}",
            high=f"{max(open_price, close) * 1.01:.2f}",
            low=f"{min(open_price, close) * 0.99:.2f}",
            close=f"{close:.2f}",
            volume=str(1_000_000 + 1_000 * (n * 37 % 500)),
            adj_close=None,
            dividend=DIVIDEND if pays_dividend else None,
            split=str(SPLIT_RATIO) if is_split_day else None,
        )
        previous_close = close
        previous_month = day.month


def _compute_close(ticker: str, day: date, n: int) -> float:
    close = BASE_PRICES[ticker] * (1 + n / 2000) * (1 + math.sin(n / 23) / 20 + math.sin(n / 7) / 50)
    if ticker == SPLIT_TICKER and day >= SPLIT_DAY:
        close /= SPLIT_RATIO
    return round(close, 2)


def _iter_weekdays() -> Iterator[date]:
    day = FIRST_DAY
    while day <= LAST_DAY:
        if day.weekday() < 5:
            yield day
        day += timedelta(days=1)
