"""Handlers for insiders' holdings, profiles and names (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core import days
from finapi.core.records import Date
from finapi.market.insiders import holdings, names
from finapi.market.insiders.holdings import InsiderHolding, InsiderProfile, OwnershipVehicle, ShareSums
from finapi.market.insiders.names import InsiderMatch, InsiderWithCompanies
from finapi.market.reference import companies
from finapi.web.http import params
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, path_param
from finapi.web.http.schema import Envelope
from finapi.web.insiders import filters
from finapi.web.insiders.filters import LIMIT, POSITION_CURSOR, InsiderListMeta, InsiderPaging, ListedCompany
from finapi.web.insiders.insider_trades import INSIDER

TICKER_PARAMS = (TICKER, LIMIT, OFFSET, POSITION_CURSOR)
INSIDER_PARAMS = (INSIDER, LIMIT, OFFSET, POSITION_CURSOR)
SNAPSHOT_PARAMS = (
    path_param("snapshot_date", "date", help="As of this day.", example="2025-12-31"),
    filters.COMPANY_PARAM,
    Param("insider_cik", "cik", help="Only this insider.", example="0000315090"),
    params.limit_param(100, 500),
    OFFSET,
    POSITION_CURSOR,
)
PROFILE_PARAMS = (path_param("insider_cik", "cik", help="The insider's CIK.", example="0000315090"),)
SEARCH_PARAMS = (
    Param("query", required=True, help="Words of a name, which may be cut short, or a CIK.", example="buffett"),
    LIMIT,
    OFFSET,
)


class HoldingsOfCompany(ShareSums):
    """An insider's shares of one company."""

    ownership_vehicles: list[OwnershipVehicle]


class InsiderSums(ShareSums):
    """The shares of a company that all of its insiders own."""

    total_insiders: int


class IssuerHoldingsMeta(InsiderListMeta):
    """The page, the company and the sums of a list of a company's holdings."""

    company: ListedCompany
    summary: InsiderSums


class InsiderHoldingsMeta(InsiderListMeta):
    """The page and the totals by company (ten-digit CIK) of a list of an insider's holdings."""

    insider: InsiderWithCompanies
    ownership_summary: dict[str, HoldingsOfCompany]


class SnapshotMeta(TypedDict):
    """The day and the page of a snapshot of holdings."""

    snapshot_date: Date
    pagination: InsiderPaging


HOLDINGS_OF_ISSUER = Envelope[list[InsiderHolding], IssuerHoldingsMeta]
HOLDINGS_OF_INSIDER = Envelope[list[InsiderHolding], InsiderHoldingsMeta]
SNAPSHOT = Envelope[list[InsiderHolding], SnapshotMeta]
NAMES_FOUND = list[InsiderMatch]
PROFILE = InsiderProfile


def list_by_ticker(call: Call) -> Response:
    """Return the holdings in a company's securities, by the latest forms."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        rows = holdings.list_by_issuer(tx, company.cik)
        page, paging = filters.slice_page(call, rows)
        records = holdings.build_holdings(tx, page)
        insider_count = holdings.count_insiders(tx, company.cik)
    meta: IssuerHoldingsMeta = {
        "pagination": {"total": len(rows), **paging},  # type: ignore[typeddict-item]
        "company": filters.build_company(company),
        "summary": {"total_insiders": insider_count, **holdings.sum_shares(rows)},
    }
    return call.success_rows(records, meta)


def list_by_insider(call: Call) -> Response:
    """Return an insider's holdings, company by company."""
    insider_cik = call.params["cik"]
    with call.app.db.read() as tx:
        insider = names.get_insider(tx, insider_cik)
        rows = holdings.list_by_insider(tx, insider_cik)
        page, paging = filters.slice_page(call, rows)
        records = holdings.build_holdings(tx, page, insider=insider_cik)
    ownership_summary: dict[str, HoldingsOfCompany] = {}
    for issuer_cik, company_rows in holdings.group_by_company(rows).items():
        ownership_summary[issuer_cik] = {
            **holdings.sum_shares(company_rows),
            "ownership_vehicles": holdings.list_vehicles(company_rows),
        }
    meta: InsiderHoldingsMeta = {
        "pagination": {"total": len(rows), **paging},  # type: ignore[typeddict-item]
        "insider": insider,
        "ownership_summary": ownership_summary,
    }
    return call.success_rows(records, meta)


def list_snapshot(call: Call) -> Response:
    """Return the holdings as of a day, from the latest forms that report that day or an earlier one.

    The holdings of one insider or company are read completely and counted. Those of all insiders are read page by page.
    """
    until = call.params["snapshot_date"]
    insider_cik = call.params["insider_cik"]
    ticker = call.params["ticker"]
    limit = call.params["limit"]
    start = filters.get_page_start(call)
    total: int | None = None
    with call.app.db.read() as tx:
        issuer_cik = companies.resolve(tx, ticker).cik if ticker else None
        if insider_cik is None and issuer_cik is None:
            page = holdings.list_all(tx, until, limit + 1, start)
        else:
            if insider_cik is not None:
                rows = holdings.list_by_insider(tx, insider_cik, issuer_cik, until)
            else:
                assert issuer_cik is not None
                rows = holdings.list_by_issuer(tx, issuer_cik, until)
            total = len(rows)
            page = rows[start:]
        records = holdings.build_holdings(tx, page[:limit], insider=insider_cik)
    has_more = len(page) > limit
    meta: SnapshotMeta = {
        "snapshot_date": until,
        "pagination": {
            "total": total,
            "limit": limit,
            "offset": call.params["offset"],
            "has_more": has_more,
            "next_cursor": filters.build_next_cursor(call, has_more=has_more),
        },
    }
    return call.success_rows(records, meta)


def get_profile(call: Call) -> Response:
    """Return an insider's roles, holdings, sums of the last year and last transactions."""
    today = days.number(call.now.date().isoformat())
    with call.app.db.read() as tx:
        profile = holdings.build_profile(tx, call.params["insider_cik"], today)
    return call.bare_object(profile)


def search_insiders(call: Call) -> Response:
    """Return insiders by name. Headers contain their number, and a flag that more names match than are read."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        page = names.search_insiders(tx, call.params["query"], limit, offset)
    has_more = offset + limit < page.total
    paging = {"total": page.total, "has_more": has_more, "matches_cut": page.is_truncated}
    return call.bare_rows(page.insiders, paging)
