"""Prices by day: stored as files have them, adjusted when they are asked for, and read for ratios.

Files differ in what their closes are: as traded, or already divided by the splits that came later. The closes
around a split tell: they fall by its ratio in the one and run on in the other. A dividend that a share paid
out is taken off every earlier close in proportion, as CRSP does it: by 1 - dividend / close of the day before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from finapi.db import Row, Transaction
from finapi.edgar import tickers
from finapi.market import companies
from finapi.market.price_csv import Prices
from finapi.market.price_csv import Row as Day

# A close that is older than this says nothing of a day: a week and a long weekend, or a halted stock.
STALE_DAYS = 10

_PLACES = Decimal("0.000001")
ONE = Decimal(1)


class Close(NamedTuple):
    """The close of a day as it was traded; ``source`` is "csv" or "synthetic"."""

    ticker: str
    date: str
    close: Decimal
    source: str


class Stored(NamedTuple):
    """How many days and actions of a file are new or other than before, and what stands in the way of the rest."""

    changed: int
    note: str | None


@dataclass(frozen=True, slots=True)
class Series:
    """A ticker's prices; ``source`` is "csv" or "synthetic", ``changed`` how often days or actions were put."""

    id: int
    ticker: str
    source: str
    changed: int


class Action(NamedTuple):
    """What a split or dividend does to every earlier day.

    ``factor`` multiplies a close for the adjusted one; ``split`` multiplies a close into today's shares (1 when
    the file has done so); ``undone`` multiplies one that the file has divided into what was traded.
    """

    date: str
    factor: Decimal
    split: Decimal
    undone: Decimal


def put(tx: Transaction, prices: Prices, data: bytes) -> Stored:
    """Store the prices of a file; ``data`` are its bytes. The data version is raised when anything is new.

    Made up prices give way to real ones, whichever came first.
    """
    digest = hashlib.sha256(data).hexdigest()[:16]
    by_ticker: dict[str, list[Day]] = {}
    for day in prices.rows:
        by_ticker.setdefault(day.ticker, []).append(day)
    changed, refused = 0, []
    for ticker, days in sorted(by_ticker.items()):
        series_id = _series_for(tx, ticker, prices.synthetic)
        if series_id is None:
            refused.append(ticker)
            continue
        vintage = f"{max(day.date for day in days)}:{digest}"
        put = _put_days(tx, series_id, days, vintage) + _put_actions(tx, series_id, days, vintage)
        if put:
            tx.run("prices_changed", id=series_id)
        changed += put
    if changed:
        tx.run("bump_data_version")
    note = (
        f"real prices of {', '.join(refused[:5])} are held: made up ones are not mixed in"
        if refused
        else None
    )
    return Stored(changed, note)


def find(tx: Transaction, text: str) -> Series | None:
    """The prices of a ticker in any spelling, or of the first ticker of a company; None when none are held.

    UNKNOWN_TICKER (404) when neither prices nor a company are known by it.
    """
    series = of_ticker(tx, text) if not text.isdigit() else None
    if series is not None:
        return series
    company = companies.find(tx, text)
    return of_ticker(tx, company.ticker) if company.ticker is not None else None


def of_ticker(tx: Transaction, ticker: str) -> Series | None:
    """The prices of exactly this ticker, folded, or None."""
    try:
        row = tx.one("price_series", ticker=tickers.fold(ticker))
    except ValueError:
        return None
    if row is None:
        return None
    return Series(row["id"], row["ticker"], "synthetic" if row["synthetic"] else "csv", row["changed"])


def page(
    tx: Transaction, series: Series, *, first: str | None, last: str | None, limit: int, adjusted: bool
) -> list[dict[str, Any]]:
    """At most ``limit`` days from the last back, as ``/prices`` answers them; prices are Decimals.

    ``adjusted`` scales open, high, low, close and volume too; ``adj_close`` is always there.
    """
    rows = tx.all("prices_page", series_id=series.id, first=first or "", last=last or "9999", limit=limit)
    told = tx.all("price_actions", series_id=series.id)
    given: dict[tuple[str, str], Decimal] = {
        (row["date"], row["kind"]): Decimal(row["value"]) for row in told
    }
    later = actions(told)
    shown = []
    with localcontext(prec=28):
        factor, split = ONE, ONE
        for row in rows:
            # The days run back: an action that was passed counts for all that is older.
            while later and later[-1].date > row["date"]:
                action = later.pop()
                factor, split = factor * action.factor, split * action.split
            shown.append(_shown(row, given, (factor, split), adjusted=adjusted))
    return shown


def close_on(tx: Transaction, ticker: str, day: str, *, within: int = STALE_DAYS) -> Close | None:
    """The last close on or before a day, as traded then; None when there is none within so many days.

    It is in the shares of that day: what a file has divided by later splits is multiplied again.
    """
    series = of_ticker(tx, ticker)
    row = tx.one("close_before", series_id=series.id, day=day) if series is not None else None
    if series is None or row is None or _days_between(row["date"], day) > within:
        return None
    with localcontext(prec=28):
        close = Decimal(row["close"])
        for action in actions(tx.all("price_actions", series_id=series.id)):
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


def _shown(
    row: Row, given: dict[tuple[str, str], Decimal], scales: tuple[Decimal, Decimal], *, adjusted: bool
) -> dict[str, Any]:
    factor, split = scales
    scale = factor if adjusted else ONE
    volume = row["volume"]
    if adjusted and volume is not None:
        volume = int((volume / split).to_integral_value())
    prices = {name: _scaled(row[name], scale) for name in ("open", "high", "low", "close")}
    return {
        "date": row["date"],
        **prices,
        "volume": volume,
        "adj_close": _scaled(row["close"], factor),
        "split_factor": given.get((row["date"], "split")),
        "dividend": given.get((row["date"], "dividend")),
    }


def _days_between(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def _scaled(text: str | None, scale: Decimal) -> Decimal | None:
    if text is None:
        return None
    return Decimal(text) if scale == ONE else (Decimal(text) * scale).quantize(_PLACES).normalize()


def _series_for(tx: Transaction, ticker: str, synthetic: bool) -> int | None:
    row = tx.one("price_series", ticker=ticker)
    if row is not None and row["synthetic"] and not synthetic:
        tx.run("delete_series", id=row["id"])
        row = None
    if row is None:
        return tx.insert("insert_series", ticker=ticker, synthetic=int(synthetic))
    return None if synthetic and not row["synthetic"] else int(row["id"])


def _put_days(tx: Transaction, series_id: int, days: Iterable[Day], vintage: str) -> int:
    days = [day for day in days if day.close is not None]
    if not days:
        return 0
    held = {
        row["date"]: tuple(row)[1:]
        for row in tx.all(
            "held_prices",
            series_id=series_id,
            first=min(day.date for day in days),
            last=max(day.date for day in days),
        )
    }
    better = [
        (series_id, day.date, day.open, day.high, day.low, day.close, day.volume, vintage)
        for day in days
        if day.date not in held or held[day.date][-1] < vintage
    ]
    tx.many("put_prices", better)
    return sum(row[2:-1] != held.get(row[1], (None,))[:-1] for row in better)


def _put_actions(tx: Transaction, series_id: int, days: Iterable[Day], vintage: str) -> int:
    held = {
        (row["date"], row["kind"]): (row["value"], row["vintage"])
        for row in tx.all("held_actions", series_id=series_id)
    }
    told = [
        (series_id, day.date, kind, value, vintage)
        for day in days
        for kind, value in (("split", day.split), ("dividend", day.dividend))
        if value is not None
    ]
    better = [row for row in told if held.get((row[1], row[2]), ("", ""))[1] < vintage]
    tx.many("put_actions", better)
    return sum(row[3] != held.get((row[1], row[2]), ("", ""))[0] for row in better)
