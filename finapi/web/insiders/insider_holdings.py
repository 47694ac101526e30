"""What insiders hold, and who they are, over HTTP (DECISIONS 8)."""

from __future__ import annotations

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
from finapi.web.http.schema import answer, part
from finapi.web.insiders import filters
from finapi.web.insiders.filters import COMPANY, LIMIT, POSITION_CURSOR, InsiderPaging
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
    """What an insider holds of one company."""

    ownership_vehicles: list[OwnershipVehicle]


class InsiderSums(ShareSums):
    """What all insiders of a company hold of it."""

    total_insiders: int


HOLDINGS_OF_ISSUER = answer(
    data=list[InsiderHolding], meta=part(pagination=InsiderPaging, company=COMPANY, summary=InsiderSums)
)
HOLDINGS_OF_INSIDER = answer(
    data=list[InsiderHolding],
    meta=part(pagination=InsiderPaging, insider=InsiderWithCompanies, ownership_summary=dict[str, HoldingsOfCompany]),
)
SNAPSHOT = answer(data=list[InsiderHolding], meta=part(snapshot_date=Date, pagination=InsiderPaging))
NAMES_FOUND = list[InsiderMatch]
PROFILE = InsiderProfile


def list_by_ticker(call: Call) -> Response:
    """Positions in a company's securities, by the latest forms."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        held = holdings.list_by_issuer(tx, company.cik)
        page, paging = filters.slice_page(call, held)
        shown = holdings.build_holdings(tx, page)
        insiders = holdings.count_insiders(tx, company.cik)
    meta = {
        "pagination": {"total": len(held), **paging},
        "company": filters.build_company(company),
        "summary": {"total_insiders": insiders, **holdings.sum_shares(held)},
    }
    return call.success_rows(shown, meta)


def list_by_insider(call: Call) -> Response:
    """An insider's positions, company by company."""
    insider = call.params["cik"]
    with call.app.db.read() as tx:
        named = names.get_insider(tx, insider)
        held = holdings.list_by_insider(tx, insider)
        page, paging = filters.slice_page(call, held)
        shown = holdings.build_holdings(tx, page, insider=insider)
    meta = {
        "pagination": {"total": len(held), **paging},
        "insider": named,
        "ownership_summary": {
            issuer: {**holdings.sum_shares(theirs), "ownership_vehicles": holdings.list_vehicles(theirs)}
            for issuer, theirs in holdings.group_by_company(held).items()
        },
    }
    return call.success_rows(shown, meta)


def list_snapshot(call: Call) -> Response:
    """Positions as of a day: what the latest form that reports that day or an earlier one says."""
    until, insider, ticker = (call.params[name] for name in ("snapshot_date", "insider_cik", "ticker"))
    limit, offset, first = call.params["limit"], call.params["offset"], filters.page_start(call)
    with call.app.db.read() as tx:
        issuer = companies.resolve(tx, ticker).cik if ticker else None
        if insider is not None:
            held = holdings.list_by_insider(tx, insider, issuer, until)
        elif issuer is not None:
            held = holdings.list_by_issuer(tx, issuer, until)
        else:
            held = holdings.list_all(tx, until, limit + 1, first)
        everybody = insider is None and issuer is None
        page, total = (held, None) if everybody else (held[first:], len(held))
        shown = holdings.build_holdings(tx, page[:limit], insider=insider)
    more = len(page) > limit
    paging = {"total": total, "limit": limit, "offset": offset, "has_more": more}
    paging |= {"next_cursor": filters.next_cursor(call, more=more)}
    return call.success_rows(shown, {"snapshot_date": until, "pagination": paging})


def get_profile(call: Call) -> Response:
    """An insider: roles, holdings, the last year and the last transactions."""
    with call.app.db.read() as tx:
        found = holdings.build_profile(tx, call.params["insider_cik"], days.number(call.now.date().isoformat()))
    return call.bare_object(found)


def search_insiders(call: Call) -> Response:
    """Insiders by name; the headers tell how many there are, and whether more have such a name than are looked at."""
    limit, offset = call.params["limit"], call.params["offset"]
    with call.app.db.read() as tx:
        found = names.search_insiders(tx, call.params["query"], limit, offset)
    more = offset + limit < found.total
    return call.bare_rows(found.insiders, {"total": found.total, "has_more": more, "matches_cut": found.is_truncated})
