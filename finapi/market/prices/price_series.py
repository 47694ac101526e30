"""The daily prices of a ticker, adjusted for splits and dividends when they are read.

Prices are stored exactly as the files state them. Some files contain closes as traded, others contain closes that the
vendor has already divided by every later split. The closes around a split show which kind a file has. With a split of
four for one, closes as traded fall from 400 to 100; divided closes continue at 100.

Every split and dividend becomes an :class:`Adjustment`: the factors by which all earlier prices are multiplied. For a
dividend the factor is 1 - dividend / close of the day before, as CRSP computes it: a dividend of 2 on a share that
closed at 100 multiplies all earlier closes by 0.98.

If no file of a series has a column of splits or dividends, the adjusted closes of the files are used instead, if they
have any.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.json import parse_json_number
from finapi.core.records import Date, build_record
from finapi.edgar import tickers
from finapi.market.reference import companies
from finapi.store.db import Row, Transaction

# An older close is stale and not used: the stock was suspended or the file ends. A week plus a long weekend is allowed.
STALE_DAYS = 10
ANY_AGE_DAYS = 10**6  # Longer than any price history, so no close is too old.

ONE = Decimal(1)
# A price for JSON or CSV. One that is not adjusted is read as the number that is written.
Price = int | float | Decimal | None
PRICE_COLUMNS = ("open", "high", "low", "close")
_PRECISION = 28  # Significant digits kept when factors are multiplied.
_PRICE_STEP = Decimal("0.000001")


PriceSource = Literal["csv", "synthetic"]
PriceDoubt = Literal["future_day", "hundredfold_jump", "close_outside_range", "weekend"]


class Close(NamedTuple):
    """The close of a day as it was traded."""

    ticker: str
    date: str
    close: Decimal
    source: PriceSource


class PriceSeries(NamedTuple):
    """The metadata of a ticker's stored prices."""

    id: int
    ticker: str
    source: PriceSource
    change_count: int  # Number of files that changed the series.
    has_actions: bool  # A file with a column of splits or dividends was read, even if no row had one.


class PriceDay(TypedDict):
    """A day of a ticker, as ``/prices`` returns it."""

    date: Date
    open: Decimal | None
    high: Decimal | None
    low: Decimal | None
    close: Decimal | None
    volume: Annotated[int | None, "Shares, rounded to whole ones."]
    adj_close: Decimal | None
    adj_close_reason: Literal["no_dividends_or_splits_held"] | None
    split_factor: Decimal | None
    dividend: Annotated[Decimal | None, "Dollars per share, with capital gains that a fund distributes."]
    volume_exact: Annotated[
        Decimal | None, "Shares with all digits that the file states, also of fractions of a share."
    ]
    price_doubt: Annotated[
        PriceDoubt | None,
        "Why the day may be wrong: it was in the future when it was stored, its close is a hundred times or a "
        "hundredth of those around it, or outside high and low, or it is on a weekend. Figures are those of the file.",
    ]


class Adjustment(NamedTuple):
    """The factors by which a split or dividend adjusts all earlier prices."""

    date: str
    price_factor: Decimal  # Turns a stored close into an adjusted one.
    split_factor: Decimal  # The part of price_factor due to a split; 1 if the file has already divided by it.
    as_traded_factor: Decimal  # Turns a stored close into the traded one; 1 unless the file has divided it.


def find_series(tx: Transaction, company_key: str) -> PriceSeries | None:
    """Return the prices of a ticker, in any spelling, or of the first ticker of a company given by its CIK.

    Return None if the company has no prices. Raise ApiError (UNKNOWN_TICKER) if the ticker has no prices and belongs to
    no known company.
    """
    series = None if company_key.isdigit() else find_series_of_ticker(tx, company_key)
    if series is not None:
        return series
    return find_series_of_ticker(tx, companies.resolve(tx, company_key).ticker)


def find_series_of_ticker(tx: Transaction, ticker: str | None) -> PriceSeries | None:
    """Return the prices of exactly this ticker, in any spelling, or None."""
    try:
        row = tx.find_row("series_of_ticker", ticker=tickers.normalise(ticker or ""))
    except ValueError:
        return None
    return None if row is None else build_series(row)


def build_series(row: Row) -> PriceSeries:
    """Return the series of a row with the columns of the query ``series_of_ticker``."""
    return PriceSeries(
        id=row["id"],
        ticker=row["ticker"],
        source=row["source"],
        change_count=row["changed"],
        has_actions=bool(row["acted"]),
    )


def list_days(
    tx: Transaction,
    series: PriceSeries,
    *,
    first: str | None,
    last: str | None,
    limit: int,
    offset: int,
    adjusted: bool,
) -> list[PriceDay]:
    """Return a page of days, the newest first.

    ``adj_close`` is always adjusted. With ``adjusted``, open, high, low, close and volume are adjusted too. Adjusted
    figures are None if the files state no splits, dividends or adjusted closes.
    """
    rows = tx.list_rows(
        "price_days", series_id=series.id, first=first or "", last=last or "9999", limit=limit, offset=offset
    )
    # The days are processed newest first, so the next adjustment to apply is the last one in this list (oldest first).
    adjustments = list_adjustments(tx, series)
    price_days = []
    with localcontext(prec=_PRECISION):
        price_factor = ONE
        split_factor = ONE
        for row in rows:
            while adjustments and adjustments[-1].date > row["date"]:
                adjustment = adjustments.pop()
                price_factor *= adjustment.price_factor
                split_factor *= adjustment.split_factor
            if series.has_actions:
                price_days.append(_build_day(row, price_factor, split_factor, adjusted=adjusted))
            else:
                price_days.append(_build_day_with_stated_adj_close(row, adjusted=adjusted))
    return price_days


def _build_day(row: Row, price_factor: Decimal, split_factor: Decimal, *, adjusted: bool) -> PriceDay:
    """Return a day adjusted by the splits and dividends of the files."""
    return build_record(
        PriceDay,
        row,
        **_scale_prices(row, price_factor if adjusted else ONE),
        **_scale_volume(row, split_factor if adjusted else ONE),
        adj_close=_scale(row["close"], price_factor),
        adj_close_reason=None,
    )


def _build_day_with_stated_adj_close(row: Row, *, adjusted: bool) -> PriceDay:
    """Return a day with the adjusted close of its file.

    Its ratio to the close adjusts the other prices. The volume is not adjusted: the ratio contains dividends.
    """
    stated_close = row["adj_close"] or None
    factor: Decimal | None = ONE
    if adjusted:
        factor = None if stated_close is None else Decimal(stated_close) / Decimal(row["close"])
    return build_record(
        PriceDay,
        row,
        **_scale_prices(row, factor),
        **_scale_volume(row, None if adjusted else ONE),
        adj_close=_scale(stated_close, ONE),
        adj_close_reason="no_dividends_or_splits_held" if stated_close is None else None,
    )


def _scale_volume(row: Row, split_factor: Decimal | None) -> dict[str, Decimal | int | None]:
    """Return both forms of the volume divided by a factor, or None if the factor is unknown."""
    if row["volume"] is None or split_factor is None:
        return {"volume": None, "volume_exact": None}
    if split_factor == ONE and row["volume"].isdecimal():
        whole_volume = int(row["volume"])
        return {"volume": whole_volume, "volume_exact": whole_volume}
    volume = Decimal(row["volume"])
    if split_factor != ONE:
        volume = _round(volume / split_factor)
    return {"volume": int(volume.to_integral_value()), "volume_exact": volume}


def _scale_prices(row: Row, factor: Decimal | None) -> dict[str, Price]:
    if factor == ONE:
        return {name: None if row[name] is None else parse_json_number(row[name]) for name in PRICE_COLUMNS}
    return {name: _scale(row[name], factor) for name in PRICE_COLUMNS}


def _scale(price: str | None, factor: Decimal | None) -> Price:
    if price is None or factor is None:
        return None
    if factor == ONE:
        return parse_json_number(price)
    return _round(Decimal(price) * factor)


def _round(number: Decimal) -> Decimal:
    """Return a number with at most six decimals, or unchanged if it is too large to have any."""
    # Only wrong factors give such numbers. quantize would raise InvalidOperation.
    if number.adjusted() - _PRICE_STEP.adjusted() < _PRECISION:
        number = number.quantize(_PRICE_STEP)
    return number.normalize()


def find_close(tx: Transaction, ticker: str | None, day: str, *, max_age_days: int = STALE_DAYS) -> Close | None:
    """Return the last close on or before a day, as it was traded, or None if there is none within ``max_age_days``.

    A close that is a hundredfold jump is skipped. If the file has divided the close by later splits, the division is
    undone.
    """
    series = find_series_of_ticker(tx, ticker)
    if series is None:
        return None
    row = tx.find_row("last_close", series_id=series.id, day=day)
    if row is None or days.number(day) - days.number(row["date"]) > max_age_days:
        return None
    with localcontext(prec=_PRECISION):
        close = Decimal(row["close"])
        for adjustment in list_adjustments(tx, series):
            if adjustment.date > row["date"]:
                close *= adjustment.as_traded_factor
    return Close(ticker=series.ticker, date=row["date"], close=close.normalize(), source=series.source)


def list_adjustments(tx: Transaction, series: PriceSeries) -> list[Adjustment]:
    """Return the adjustments of a series, the oldest first.

    A dividend is ignored if no close precedes it, or if it is not smaller than that close.
    """
    adjustments = []
    with localcontext(prec=_PRECISION):
        for row in tx.list_rows("actions_with_closes", series_id=series.id):
            amount = Decimal(row["value"])
            close_before = None if row["before"] is None else Decimal(row["before"])
            close_after = None if row["after"] is None else Decimal(row["after"])
            if row["kind"] == "split":
                adjustments.append(_build_split_adjustment(row["date"], amount, close_before, close_after))
            elif close_before is not None and amount < close_before:
                price_factor = ONE - amount / close_before
                adjustments.append(Adjustment(row["date"], price_factor, split_factor=ONE, as_traded_factor=ONE))
    return adjustments


def _build_split_adjustment(
    day: str, ratio: Decimal, close_before: Decimal | None, close_after: Decimal | None
) -> Adjustment:
    if _is_as_traded(close_before, close_after, ratio):
        return Adjustment(day, price_factor=ONE / ratio, split_factor=ONE / ratio, as_traded_factor=ONE)
    return Adjustment(day, price_factor=ONE, split_factor=ONE, as_traded_factor=ratio)


def _is_as_traded(close_before: Decimal | None, close_after: Decimal | None, ratio: Decimal) -> bool:
    """Return True if the closes around a split fall by about its ratio, False if they stay at about the same level."""
    if close_before is None or close_after is None:
        return False
    fall = close_before / close_after
    return abs((fall / ratio).ln()) < abs(fall.ln())
