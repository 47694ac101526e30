"""Returns of a share: for 1, 5, 20 and 60 trading days after a day, and from the end of one quarter to the next.

A return is (close at the end) / (close at the beginning) - 1, with the beginning adjusted for the splits and dividends
in between. If no file of the ticker states splits or dividends, the adjusted closes of the files are compared. If
there are none either, the closes are compared unadjusted, and ``is_adjusted`` is False.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

from finapi.core import days
from finapi.market.prices import price_series
from finapi.market.prices.price_series import ONE, STALE_DAYS, Adjustment, PriceSeries
from finapi.store.db import Transaction

TRADING_DAYS_AFTER = (1, 5, 20, 60)

# An older close is not used as the close at a quarter's end. A weekend plus two holidays is allowed.
QUARTER_STALE_DAYS = 5

_PRECISION = 28  # Significant digits kept when factors are multiplied.
_RETURN_STEP = Decimal("0.000001")


class Returns(NamedTuple):
    """The returns after a day.

    ``close`` is the close of ``date``: the day itself, or the last trading day before it. ``returns`` and ``reasons``
    are by the number of trading days; ``reasons`` says why a return is None.
    """

    date: str | None
    close: Decimal | None
    returns: dict[int, Decimal | None]
    is_adjusted: bool | None  # For splits and dividends.
    reasons: dict[int, str]


class QuarterReturn(NamedTuple):
    """The return from the end of one quarter to the end of the next; 0.05 is five per cent."""

    fraction: Decimal
    is_adjusted: bool  # For splits and dividends.


class _Close(NamedTuple):
    """A stored close; the fields are exact decimals."""

    date: str
    close: str
    adj_close: str | None

    def get_price(self, *, adjusted: bool) -> Decimal:
        price = self.adj_close if adjusted else self.close
        assert price is not None
        return Decimal(price)


def build_unknown(reason: str) -> Returns:
    """Return a record in which every return is None for the given reason."""
    return Returns(
        date=None,
        close=None,
        returns=dict.fromkeys(TRADING_DAYS_AFTER),
        is_adjusted=None,
        reasons=dict.fromkeys(TRADING_DAYS_AFTER, reason),
    )


def compute_over_spans(
    tx: Transaction, series: PriceSeries, spans: Iterable[tuple[str, str]]
) -> dict[str, QuarterReturn]:
    """Return the returns of a ticker over spans of (first day, last day), by the last day.

    Spans that lack a close near either end are left out.
    """
    adjustments = price_series.list_adjustments(tx, series) if series.has_actions else []
    quarter_returns: dict[str, QuarterReturn] = {}
    for row in tx.list_rows("closes_of_spans", series_id=series.id, spans=json.dumps(list(spans))):
        first = _parse_close(row["at_first"])
        last = _parse_close(row["at_last"])
        if first is None or last is None:
            continue
        if not (_is_near_quarter_end(first, row["first"]) and _is_near_quarter_end(last, row["last"])):
            continue
        uses_adj_close = not series.has_actions and bool(first.adj_close and last.adj_close)
        fraction = _compute_return(first, last, adjustments, uses_adj_close=uses_adj_close)
        quarter_returns[row["last"]] = QuarterReturn(fraction, is_adjusted=series.has_actions or uses_adj_close)
    return quarter_returns


def _parse_close(json_array: str | None) -> _Close | None:
    return None if json_array is None else _Close(*json.loads(json_array))


def _is_near_quarter_end(close: _Close, quarter_end: str) -> bool:
    return days.number(quarter_end) - days.number(close.date) <= QUARTER_STALE_DAYS


def _compute_return(first: _Close, last: _Close, adjustments: Sequence[Adjustment], *, uses_adj_close: bool) -> Decimal:
    with localcontext(prec=_PRECISION):
        start = first.get_price(adjusted=uses_adj_close)
        end = last.get_price(adjusted=uses_adj_close)
        for adjustment in adjustments:
            if first.date < adjustment.date <= last.date:
                start *= adjustment.price_factor
        return (end / start - ONE).quantize(_RETURN_STEP)


def compute_after_days(tx: Transaction, ticker_days: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Returns]:
    """Return the returns after each (ticker, day)."""
    pairs = sorted(set(ticker_days))
    series_by_ticker: dict[str, PriceSeries] = {}
    adjustments_by_ticker: dict[str, list[Adjustment]] = {}
    for ticker in sorted({ticker for ticker, _ in pairs}):
        series = price_series.find_series_of_ticker(tx, ticker)
        if series is not None:
            series_by_ticker[ticker] = series
            adjustments_by_ticker[ticker] = price_series.list_adjustments(tx, series) if series.has_actions else []
    series_days = [(series_by_ticker[ticker].id, day) for ticker, day in pairs if ticker in series_by_ticker]
    closes = _load_closes_after(tx, series_days)
    returns: dict[tuple[str, str], Returns] = {}
    for ticker, day in pairs:
        if ticker in series_by_ticker:
            series = series_by_ticker[ticker]
            returns[ticker, day] = _build_returns(series, day, closes[series.id, day], adjustments_by_ticker[ticker])
        else:
            returns[ticker, day] = build_unknown("no_prices_held")
    return returns


def _load_closes_after(
    tx: Transaction, series_days: Sequence[tuple[int, str]]
) -> dict[tuple[int, str], dict[int, _Close]]:
    """Return the closes by (series id, day), then by the number of trading days after the day (0: the day itself)."""
    closes: dict[tuple[int, str], dict[int, _Close]] = {}
    for row in tx.list_rows("closes_after_days", series_days=json.dumps(series_days)):
        closes_after: dict[int, _Close] = {}
        for count in (0, *TRADING_DAYS_AFTER):
            close = _parse_close(row[f"after_{count}"])
            if close is not None:
                closes_after[count] = close
        closes[row["series_id"], row["day"]] = closes_after
    return closes


def _build_returns(
    series: PriceSeries, day: str, closes_after: Mapping[int, _Close], adjustments: Sequence[Adjustment]
) -> Returns:
    """Return the returns after a day. ``closes_after`` is keyed by trading days after it; 0 is its own close."""
    first = closes_after.get(0)
    if first is None or days.number(day) - days.number(first.date) > STALE_DAYS:
        return build_unknown("no_close_near_the_day")
    uses_adj_close = not series.has_actions and all(close.adj_close for close in closes_after.values())
    returns: dict[int, Decimal | None] = {}
    reasons: dict[int, str] = {}
    for count in TRADING_DAYS_AFTER:
        if count in closes_after:
            returns[count] = _compute_return(first, closes_after[count], adjustments, uses_adj_close=uses_adj_close)
        else:
            returns[count] = None
            reasons[count] = "not_yet_held"
    return Returns(
        date=first.date,
        close=Decimal(first.close),
        returns=returns,
        is_adjusted=series.has_actions or uses_adj_close,
        reasons=reasons,
    )
