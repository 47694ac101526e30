"""What became of a share after a day: its return some days of trading later."""

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


def after(tx: Transaction, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Returns]:
    """What became of tickers after days, by ticker and day."""
    wanted = sorted(set(asked))
    series = {ticker: prices.of_ticker(tx, ticker) for ticker in {ticker for ticker, _ in wanted}}
    held = {ticker: one for ticker, one in series.items() if one is not None}
    acts = {one.id: prices.actions(tx.all("price_actions", series_id=one.id)) for one in held.values() if one.acted}
    places = json.dumps([(held[ticker].id, day) for ticker, day in wanted if ticker in held])
    closes: dict[tuple[int, str], dict[int, list[str]]] = {}
    for row in tx.all("closes_around", asked=places):
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
    date, close, adjusted = found.pop(0)
    by_file = not series.acted and bool(adjusted) and all(one[2] for one in found.values())
    returns: dict[int, Decimal | None] = dict.fromkeys(AFTER)
    with localcontext(prec=28):
        for after, (later, its_close, its_adjusted) in found.items():
            base = Decimal(adjusted if by_file else close)
            for act in acts:
                base *= act.factor if date < act.date <= later else ONE
            returns[after] = (Decimal(its_adjusted if by_file else its_close) / base - ONE).quantize(_PLACES)
    reasons = {after: "not_yet_held" for after in AFTER if after not in found}
    return Returns(date, Decimal(close), returns, bool(series.acted) or by_file, reasons)
