"""What became of a share: its return some days of trading after a day, and over quarters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

from finapi.core import days
from finapi.market.prices import prices
from finapi.market.prices.prices import ONE, STALE_DAYS, Action, PriceSeries
from finapi.store.db import Transaction

AFTER = (1, 5, 20, 60)  # days of trading

# A close that is older than this is not that of a quarter's end: a weekend and two holidays.
QUARTER_DAYS = 5

_PLACES = Decimal("0.000001")


class Returns(NamedTuple):
    """The returns after a day by days of trading, and why one is not known; ``adjusted`` for splits and dividends.

    ``close`` is that of ``date``, the day itself or the last day of trading before it.
    """

    date: str | None
    close: Decimal | None
    returns: dict[int, Decimal | None]
    adjusted: bool | None
    reasons: dict[int, str]


def unknown(reason: str) -> Returns:
    """No return at all, for one reason."""
    return Returns(None, None, dict.fromkeys(AFTER), None, dict.fromkeys(AFTER, reason))


class QuarterReturn(NamedTuple):
    """What a share returned from the end of one quarter to that of the next; ``adjusted`` for splits and dividends."""

    earned: Decimal
    adjusted: bool


def over(tx: Transaction, series: PriceSeries, spans: Iterable[tuple[str, str]]) -> dict[str, QuarterReturn]:
    """The returns of a ticker from one day to another by the latter, of those spans with a close at both ends."""
    acts = prices.actions(tx.list_rows("price_actions", series_id=series.id)) if series.acted else ()
    found: dict[str, QuarterReturn] = {}
    for row in tx.list_rows("closes_of_spans", series_id=series.id, spans=json.dumps(list(spans))):
        first, last = (json.loads(one or "null") for one in (row["at_first"], row["at_last"]))
        if first and last and _is_of(first[0], row["first"]) and _is_of(last[0], row["last"]):
            by_file = not series.acted and bool(first[2] and last[2])
            with localcontext(prec=28):
                earned = _earned(first, last, acts, by_file=by_file)
            found[row["last"]] = QuarterReturn(earned, bool(series.acted) or by_file)
    return found


def _is_of(date: str, day: str) -> bool:
    return days.number(day) - days.number(date) <= QUARTER_DAYS


def _earned(first: Sequence[str], last: Sequence[str], acts: Sequence[Action], *, by_file: bool) -> Decimal:
    """The return from one close to another, each its date, close and adjusted close."""
    base = Decimal(first[1 + by_file])
    for act in acts:
        base *= act.factor if first[0] < act.date <= last[0] else ONE
    return (Decimal(last[1 + by_file]) / base - ONE).quantize(_PLACES)


def after(tx: Transaction, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Returns]:
    """What became of tickers after days, by ticker and day."""
    wanted = sorted(set(asked))
    series = {ticker: prices.of_ticker(tx, ticker) for ticker in {ticker for ticker, _ in wanted}}
    held = {ticker: one for ticker, one in series.items() if one is not None}
    acts = {
        one.id: prices.actions(tx.list_rows("price_actions", series_id=one.id)) for one in held.values() if one.acted
    }
    places = json.dumps([(held[ticker].id, day) for ticker, day in wanted if ticker in held])
    closes: dict[tuple[int, str], dict[int, list[str]]] = {}
    for row in tx.list_rows("closes_around", asked=places):
        found = {after: row[f"after_{after}"] for after in (0, *AFTER)}
        closes[row["series_id"], row["day"]] = {after: json.loads(one) for after, one in found.items() if one}
    return {
        (ticker, day): _returns(held[ticker], day, closes[held[ticker].id, day], acts.get(held[ticker].id, ()))
        if ticker in held
        else unknown("no_prices_held")
        for ticker, day in wanted
    }


def _returns(series: PriceSeries, day: str, found: dict[int, list[str]], acts: Sequence[Action]) -> Returns:
    if 0 not in found or days.number(day) - days.number(found[0][0]) > STALE_DAYS:
        return unknown("no_close_near_the_day")
    begins = found.pop(0)
    by_file = not series.acted and bool(begins[2]) and all(one[2] for one in found.values())
    returns: dict[int, Decimal | None] = dict.fromkeys(AFTER)
    with localcontext(prec=28):
        for after, ends in found.items():
            returns[after] = _earned(begins, ends, acts, by_file=by_file)
    reasons = {after: "not_yet_held" for after in AFTER if after not in found}
    return Returns(begins[0], Decimal(begins[1]), returns, bool(series.acted) or by_file, reasons)
