"""Prices by day, over HTTP (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.prices import prices
from finapi.market.prices.prices import PriceDay, PriceSource
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, cursor_param, invalid_cursor, limit_param
from finapi.web.http.schema import Envelope, WindowMeta

PARAMS = (
    TICKER,
    Param("from", "date", is_window=True, help="The first day.", example="2025-01-02"),
    Param("to", "date", is_window=True, help="The last day.", example="2025-06-30"),
    Param(
        "adjusted",
        "boolean",
        default=False,
        help="true: open, high, low, close and volume are adjusted too. adj_close always is.",
        example="true",
    ),
    limit_param(500, 5_000),
    OFFSET,
    cursor_param("2025-03-31", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
)


# In this form because one of the names is a keyword of Python.
PriceDays = TypedDict("PriceDays", {"from": Date | None, "to": Date | None})


class PriceMeta(PriceDays, WindowMeta):
    """Whose prices they are, the page, and the days that it is narrowed to."""

    ticker: str
    source: PriceSource
    synthetic: bool
    adjusted: bool
    count: int
    limit: int
    has_more: bool
    next_cursor: str | None


SHAPE = Envelope[list[PriceDay], PriceMeta]


def of_ticker(call: Call) -> Response:
    """The days of a ticker, newest first, a page at a time."""
    params, most = call.params, call.params["limit"]
    asked = {"first": params["from"], "last": _last(call), "offset": params["offset"]}
    with call.app.db.read() as tx:
        series = prices.find(tx, params["ticker"])
        if series is None:
            raise ApiError("NOT_COVERED", "finapi has no prices for this company.")
        found = prices.page(tx, series, limit=most + 1, **asked, adjusted=params["adjusted"])
    shown, more = found[:most], len(found) > most
    meta = {
        **call.build_window_meta(),
        "ticker": series.ticker,
        "source": series.source,
        "synthetic": series.source == "synthetic",
        "adjusted": params["adjusted"],
        "count": len(shown),
        "limit": most,
        "has_more": more,
        "next_cursor": shown[-1]["date"] if more else None,
    }
    return call.success_rows(shown, meta)


def _last(call: Call) -> str | None:
    """The last day that the page may show: before the cursor, and not after ``to``."""
    cursor, to = call.params["cursor"], call.params["to"]
    try:
        before = None if cursor is None else days.shift(days.validate(cursor), -1)
    except (ValueError, OverflowError):
        raise invalid_cursor() from None
    return min((day for day in (before, to) if day is not None), default=None)
