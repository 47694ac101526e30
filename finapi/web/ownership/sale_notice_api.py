"""Endpoints for notices of proposed sales (Form 144)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.records import Date
from finapi.market.ownership import sale_notice_lists
from finapi.market.ownership.filing_windows import build_window
from finapi.market.ownership.sale_notice_lists import NoticeFilters, ProposedSaleNotice
from finapi.market.reference import companies
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param, limit_param, path_param
from finapi.web.http.schema import Answer, WindowMeta

_LIST_PARAMS = (
    limit_param(50, 500),
    OFFSET,
    Param("from_date", "date", is_window=True, help="First filing day.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Last filing day.", example="2025-12-31"),
    Param("is_amendment", "boolean", help="Only amendments (true) or originals (false).", example="true"),
)
_TICKER = Param("ticker", "ticker", help="Only about this company: ticker (any spelling) or CIK.", example="AAPL")
LATEST_PARAMS = (*_LIST_PARAMS, _TICKER)
TICKER_PARAMS = (
    path_param("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="0001234567"),
    *_LIST_PARAMS,
)
INSIDER_PARAMS = (
    path_param("cik", "cik", help="CIK whose credentials filed the notices.", example="0000000101"),
    *_LIST_PARAMS,
    _TICKER,
)


class NoticePage(TypedDict):
    """The page and the filing days of a list of notices."""

    pagination: OffsetPage
    from_date: Date | None
    to_date: Date | None


class NoticeListMeta(NoticePage, WindowMeta):
    """The page and the window of a list of notices."""


class NoticeList(TypedDict):
    """A page of notices."""

    data: list[ProposedSaleNotice]
    meta: NoticeListMeta


SHAPE = Answer[NoticeList]


def list_notices(call: Call) -> Response:
    """Return a page of notices, newest first: of all companies or of one, of all filers or of one."""
    params = call.params
    limit = params["limit"]
    offset = params["offset"]
    ticker = params.get("ticker")
    with call.app.db.read() as tx:
        filters = NoticeFilters(
            issuer=companies.resolve(tx, ticker).cik if ticker else None,
            filer=params.get("cik"),
            window=build_window(params["from_date"], params["to_date"]),
            amendment=params["is_amendment"],
        )
        rows, total = sale_notice_lists.list_notices(tx, filters, limit, offset)
        windows = call.build_window_meta(sale_notice_lists.count_undated(tx, filters))
    meta: NoticeListMeta = {
        "pagination": build_offset_page(total, limit, offset),
        "from_date": windows["from_date"],
        "to_date": windows["to_date"],
        "undated_left_out": windows["undated_left_out"],
        "clamped": windows["clamped"],
    }
    return call.success_rows(rows, meta)
