"""Notices of proposed sales (Form 144) over HTTP."""

from __future__ import annotations

from typing import Any

from finapi.core import days
from finapi.core.records import Date
from finapi.market.ownership import sale_notice_store
from finapi.market.ownership.sale_notice_store import NoticeFilters, ProposedSaleNotice
from finapi.market.reference import companies
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, path_param
from finapi.web.http.schema import answer, with_windows

_NARROW = (
    limit_param(50, 500),
    OFFSET,
    Param("from_date", "date", is_window=True, help="First filing day.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Last filing day.", example="2025-12-31"),
    Param("is_amendment", "boolean", help="Only amendments (true) or originals (false).", example="true"),
)
_OF_COMPANY = Param("ticker", "ticker", help="Only about this company: ticker (any spelling) or CIK.", example="AAPL")
LATEST_PARAMS = (*_NARROW, _OF_COMPANY)
TICKER_PARAMS = (path_param("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="0001234567"), *_NARROW)
INSIDER_PARAMS = (
    path_param("cik", "cik", help="CIK whose credentials filed the notices.", example="0000000101"),
    *_NARROW,
    _OF_COMPANY,
)
SHAPE = answer(
    data=list[ProposedSaleNotice], meta=with_windows(pagination=OffsetPage, from_date=Date | None, to_date=Date | None)
)


def list_notices(call: Call) -> Response:
    """The newest notices: of all companies or of one, of everybody or of one who filed them."""
    params = call.params
    first, last = params["from_date"], params["to_date"]
    place = {name: params[name] for name in ("limit", "offset")}
    with call.app.db.read() as tx:
        ticker = params.get("ticker")
        narrow = NoticeFilters(
            issuer=companies.resolve(tx, ticker).cik if ticker else None,
            filer=params.get("cik"),
            # Day 0 is that of notices whose day is unknown: it is before no day.
            since=max(1, days.number(first)) if first else 1 if last else 0,
            until=days.number(last) if last else sale_notice_store.LAST_DAY,
            amendment=params["is_amendment"],
        )
        rows, total = sale_notice_store.list_notices(tx, narrow, **place)
        windows = call.build_window_meta(sale_notice_store.count_undated(tx, narrow))
    meta: dict[str, Any] = {"pagination": build_offset_page(total, **place), **windows}
    return call.success_rows(rows, meta)
