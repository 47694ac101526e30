"""Prices by day: stored as files have them, adjusted when they are asked for, and read for ratios.

Files differ in what their closes are: as traded, or already divided by the splits that came later. The closes
around a split tell: they fall by its ratio in the one and run on in the other. A dividend that a share paid
out is taken off every earlier close in proportion, as CRSP does it: by 1 - dividend / close of the day before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.core.records import Date, build_record
from finapi.edgar import tickers
from finapi.market.prices.price_csv import PriceRow, Prices
from finapi.market.reference import companies
from finapi.store.db import Row, Transaction

# A close that is older than this says nothing of a day: a week and a long weekend, or a halted stock.
STALE_DAYS = 10
EVER = 10**6  # more days than there are prices

_PLACES = Decimal("0.000001")
ONE = Decimal(1)


PriceSource = Literal["csv", "synthetic"]


class Close(NamedTuple):
    """The close of a day as it was traded."""

    ticker: str
    date: str
    close: Decimal
    source: PriceSource


class PriceSeries(NamedTuple):
    """A ticker's prices; ``changed`` is how often days or actions were put, ``acted`` whether a file with columns of
    dividends or splits was among them.
    """

    id: int
    ticker: str
    source: PriceSource
    changed: int
    acted: bool


class PriceDay(TypedDict):
    """A day of a ticker, as ``/prices`` answers it."""

    date: Date
    open: Decimal | None
    high: Decimal | None
    low: Decimal | None
    close: Decimal | None
    volume: int | None
    adj_close: Decimal | None
    adj_close_reason: Literal["no_dividends_or_splits_held"] | None
    split_factor: Decimal | None
    dividend: Decimal | None


class Action(NamedTuple):
    """What a split or dividend does to every earlier day.

    ``factor`` multiplies a close for the adjusted one; ``split`` multiplies a close into today's shares (1 when
    the file has done so); ``undone`` multiplies one that the file has divided into what was traded.
    """

    date: str
    factor: Decimal
    split: Decimal
    undone: Decimal


def named(tx: Transaction, prices: Prices, given: str | None, file: str) -> str:
    """The ticker of prices whose file has no column of tickers: the one ``given``, or the one part of the file's name
    that is a known ticker. ParseError when there is none, or more than one.
    """
    if given is not None:
        return given
    words = json.dumps([part for parts in prices.parts for part in parts])
    known = {row["ticker"] for row in tx.list_rows("known_tickers", words=words)}
    found = {part for first, *parts in filter(None, prices.parts) for part in ([first] if first in known else parts)}
    several = sorted(found & known)
    if len(several) == 1:
        return str(several[0])
    why = f"names several: {', '.join(several[:5])}" if several else "has no part that is a known ticker"
    raise ParseError(file, "", f"has no column of tickers, and its name {why}; --ticker says whose prices they are")


def put(tx: Transaction, prices: Prices, data: bytes, ticker: str = "") -> tuple[int, str | None]:
    """Store the prices of a file, whose bytes are ``data``: how many days and actions are new or changed, and why the
    rest is refused. The data version is raised when anything is new. ``ticker`` is that of rows without one.

    Made up prices give way to real ones, whichever came first.
    """
    digest = hashlib.sha256(data).hexdigest()[:16]
    by_ticker: dict[str, list[PriceRow]] = {}
    for day in prices.rows:
        by_ticker.setdefault(day.ticker or ticker, []).append(day)
    changed, refused = 0, []
    for ticker, rows in sorted(by_ticker.items()):
        series_id = _series_for(tx, ticker, prices.synthetic)
        if series_id is None:
            refused.append(ticker)
            continue
        vintage = f"{max(day.date for day in rows)}:{digest}"
        # An adjusted close counts where the file does not tell by what it is adjusted.
        closes: Values = {
            (day.date,): (*day[2:7], None if prices.acted else day.adj_close) for day in rows if day.close is not None
        }
        paid: Values = {(day.date, "split"): (day.split,) for day in rows if day.split is not None}
        paid |= {(day.date, "dividend"): (day.dividend,) for day in rows if day.dividend is not None}
        put = _put(tx, "prices", series_id, closes, vintage) + _put(tx, "actions", series_id, paid, vintage)
        put += prices.acted and tx.run("series_acted", id=series_id)
        if put:
            tx.run("prices_changed", id=series_id)
        changed += put
    if changed:
        tx.run("bump_data_version")
    note = f"real prices of {', '.join(refused[:5])} are held: made up ones are not mixed in" if refused else None
    return changed, note


def find(tx: Transaction, text: str) -> PriceSeries | None:
    """The prices of a ticker in any spelling, or of the first ticker of a company; None when none are held.

    UNKNOWN_TICKER (404) when neither prices nor a company are known by it.
    """
    series = of_ticker(tx, text) if not text.isdigit() else None
    return series or of_ticker(tx, companies.resolve(tx, text).ticker)


def of_ticker(tx: Transaction, ticker: str | None) -> PriceSeries | None:
    """The prices of exactly this ticker, folded, or None."""
    try:
        row = tx.find_row("price_series", ticker=tickers.normalise(ticker or ""))
    except ValueError:
        return None
    return None if row is None else PriceSeries(*row)


def page(
    tx: Transaction,
    series: PriceSeries,
    *,
    first: str | None,
    last: str | None,
    limit: int,
    offset: int,
    adjusted: bool,
) -> list[PriceDay]:
    """At most ``limit`` days from the last back, without the first ``offset`` of them.

    ``adjusted`` scales open, high, low, close and volume too. Where no file told of dividends or splits, the adjusted
    close is the one of the file; with none, what is adjusted is null.
    """
    place = {"first": first or "", "last": last or "9999", "limit": limit, "offset": offset}
    rows = tx.list_rows("prices_page", place, series_id=series.id)
    later = actions(tx.list_rows("price_actions", series_id=series.id))
    shown: list[PriceDay] = []
    with localcontext(prec=28):
        factor, split = ONE, ONE
        for row in rows:
            # The days run back: an action that was passed counts for all that is older.
            while later and later[-1].date > row["date"]:
                action = later.pop()
                factor, split = factor * action.factor, split * action.split
            of_file = None if series.acted else row["adj_close"]
            known = factor if series.acted else of_file and Decimal(of_file) / Decimal(row["close"])
            scale, volume = known if adjusted else ONE, row["volume"]
            if adjusted and volume is not None:
                volume = int((volume / split).to_integral_value()) if series.acted else None
            scaled = {name: _scaled(row[name], scale) for name in ("open", "high", "low", "close")}
            adj_close = Decimal(of_file) if of_file else _scaled(row["close"], known)
            reason = None if adj_close is not None else "no_dividends_or_splits_held"
            shown.append(
                build_record(PriceDay, row, **scaled, volume=volume, adj_close=adj_close, adj_close_reason=reason)
            )
    return shown


def close_on(tx: Transaction, ticker: str | None, day: str, *, within: int = STALE_DAYS) -> Close | None:
    """The last close on or before a day, as traded then; None when there is none within so many days.

    It is in the shares of that day: what a file has divided by later splits is multiplied again.
    """
    series = of_ticker(tx, ticker)
    row = tx.find_row("close_before", series_id=series.id, day=day) if series is not None else None
    if series is None or row is None or days.number(day) - days.number(row["date"]) > within:
        return None
    with localcontext(prec=28):
        close = Decimal(row["close"])
        for action in actions(tx.list_rows("price_actions", series_id=series.id)):
            if action.date > row["date"]:
                close *= action.undone
    return Close(series.ticker, row["date"], close.normalize(), series.source)


def actions(rows: Sequence[Row]) -> list[Action]:
    """What the splits and dividends of a series do, the oldest first."""
    made = []
    with localcontext(prec=28):
        for row in rows:
            value = Decimal(row["value"])
            before = Decimal(row["before"]) if row["before"] is not None else None
            if row["kind"] == "split":
                after = Decimal(row["after"]) if row["after"] is not None else None
                if _is_traded(before, after, value):
                    made.append(Action(row["date"], ONE / value, ONE / value, ONE))
                else:
                    made.append(Action(row["date"], ONE, ONE, value))
            elif before is not None and value < before:
                made.append(Action(row["date"], ONE - value / before, ONE, ONE))
    return made


def _is_traded(before: Decimal | None, after: Decimal | None, ratio: Decimal) -> bool:
    """Whether the closes around a split are as traded: nearer to falling by its ratio than to running on."""
    if before is None or after is None:
        return False
    fall = before / after
    return abs((fall / ratio).ln()) < abs(fall.ln())


def _scaled(text: str | None, scale: Decimal | None) -> Decimal | None:
    if text is None or scale is None:
        return None
    return Decimal(text) if scale == ONE else (Decimal(text) * scale).quantize(_PLACES).normalize()


def _series_for(tx: Transaction, ticker: str, synthetic: bool) -> int | None:
    """The series to put prices of a ticker into; None for made up ones where real ones are held."""
    held = of_ticker(tx, ticker)
    if held is not None and held.source == "synthetic" and not synthetic:
        tx.run("delete_series", id=held.id)
        held = None
    if held is None:
        return tx.insert_row("insert_series", ticker=ticker, synthetic=int(synthetic))
    return None if synthetic and held.source == "csv" else held.id


Values = dict[tuple[str, ...], tuple[object, ...]]


def _put(tx: Transaction, what: str, series_id: int, values: Values, vintage: str) -> int:
    """How many ``prices`` or ``actions``, by day (and kind), are new or changed; those of a later vintage stay."""
    size, dates = (2 if what == "actions" else 1), [key[0] for key in values]
    rows = tx.list_rows(f"held_{what}", series_id=series_id, first=min(dates, default=""), last=max(dates, default=""))
    held = {tuple(row)[:size]: tuple(row)[size:] for row in rows}
    better = {key: put for key, put in values.items() if key not in held or held[key][-1] < vintage}
    tx.insert_rows(f"put_{what}", [(series_id, *key, *put, vintage) for key, put in better.items()])
    return sum(put != held.get(key, ())[:-1] for key, put in better.items())
