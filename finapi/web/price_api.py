"""Prices by day, over HTTP (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.prices import price_series
from finapi.market.prices.price_series import PriceDay, PriceSource
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


# The functional form, because "from" is a keyword of Python.
PriceDays = TypedDict("PriceDays", {"from": Date | None, "to": Date | None})


class PriceMeta(PriceDays, WindowMeta):
    """The source of the prices, the position of the page, and the range of days."""

    ticker: str
    source: PriceSource
    synthetic: bool
    adjusted: bool
    count: int
    limit: int
    has_more: bool
    next_cursor: str | None


SHAPE = Envelope[list[PriceDay], PriceMeta]


def list_days(call: Call) -> Response:
    """Return a page of the days of a ticker, newest first."""
    params = call.params
    limit = params["limit"]
    with call.app.db.read() as tx:
        series = price_series.find_series(tx, params["ticker"])
        if series is None:
            raise ApiError("NOT_COVERED", "finapi has no prices for this company.")
        rows = price_series.list_days(
            tx,
            series,
            first=params["from"],
            last=_find_last_day(call),
            limit=limit + 1,
            offset=params["offset"],
            adjusted=params["adjusted"],
        )
    has_more = len(rows) > limit
    rows = rows[:limit]
    meta = {
        **call.build_window_meta(),
        "ticker": series.ticker,
        "source": series.source,
        "synthetic": series.source == "synthetic",
        "adjusted": params["adjusted"],
        "count": len(rows),
        "limit": limit,
        "has_more": has_more,
        "next_cursor": rows[-1]["date"] if has_more else None,
    }
    return call.success_rows(rows, meta)


def _find_last_day(call: Call) -> str | None:
    """Return the last day of the page: before the cursor, and not after ``to``. None if there is no bound."""
    cursor, last_day = call.params["cursor"], call.params["to"]
    try:
        day_before = None if cursor is None else days.shift(days.validate(cursor), -1)
    except (ValueError, OverflowError):
        raise invalid_cursor() from None
    return min((day for day in (day_before, last_day) if day is not None), default=None)
