"""Prices by day, over HTTP (CONTRACT 8)."""

from __future__ import annotations

from datetime import date, timedelta

from finapi.errors import ApiError, invalid_param
from finapi.market import prices
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, NUMBER, TEXT, array, enum, envelope, nullable, obj

PARAMS = (
    Param("ticker", place="path", required=True, help="Ticker (any spelling) or CIK.", example="AAPL"),
    Param("from", "date", help="The first day.", example="2025-01-02"),
    Param("to", "date", help="The last day.", example="2025-06-30"),
    Param(
        "adjusted",
        "boolean",
        default=False,
        help="true: open, high, low, close and volume are adjusted too. adj_close always is.",
        example="true",
    ),
    Param(
        "limit",
        "integer",
        default=500,
        least=1,
        most=5_000,
        clamp=True,
        help="Rows, newest first.",
        example="500",
    ),
    Param("cursor", help="The next_cursor of the page before.", example="2025-03-31"),
)

SHAPE = envelope(
    array(
        obj(
            date=DATE,
            open=nullable(NUMBER),
            high=nullable(NUMBER),
            low=nullable(NUMBER),
            close=NUMBER,
            volume=nullable(INTEGER),
            adj_close=NUMBER,
            split_factor=nullable(NUMBER),
            dividend=nullable(NUMBER),
        )
    ),
    obj(
        ticker=TEXT,
        source=enum("csv", "synthetic"),
        synthetic=BOOLEAN,
        adjusted=BOOLEAN,
        count=INTEGER,
        limit=INTEGER,
        has_more=BOOLEAN,
        next_cursor=nullable(TEXT),
    ),
)


def of_ticker(call: Call) -> Response:
    """The days of a ticker, newest first, a page at a time."""
    params = call.params
    limit = params["limit"]
    with call.app.db.read() as tx:
        series = prices.find(tx, params["ticker"])
        if series is None:
            raise ApiError("NOT_COVERED", "No prices of this company are held.")
        days = prices.page(
            tx, series, first=params["from"], last=_last(call), limit=limit + 1, adjusted=params["adjusted"]
        )
    shown = days[:limit]
    more = len(days) > limit
    meta = {
        "ticker": series.ticker,
        "source": series.source,
        "synthetic": series.source == "synthetic",
        "adjusted": params["adjusted"],
        "count": len(shown),
        "limit": limit,
        "has_more": more,
        "next_cursor": shown[-1]["date"] if more else None,
    }
    return call.rows(shown, meta)


def _last(call: Call) -> str | None:
    """The last day that the page may show: before the cursor, and not after ``to``."""
    cursor, to = call.params["cursor"], call.params["to"]
    if cursor is None:
        return to  # type: ignore[no-any-return]
    try:
        before = (date.fromisoformat(cursor) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        raise invalid_param("cursor", "That is no cursor.", expected="next_cursor of a page") from None
    return before if to is None else min(before, to)
