"""What insiders hold, and who they are, over HTTP (CONTRACT 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finapi.db import Row
from finapi.market import companies, insider_holdings, insider_names, insider_trades
from finapi.market.insider_trades import Wanted
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.insiders import INSIDER, LIMIT, OFFSET, TICKER, cik, today
from finapi.web.params import Param

TICKER_PARAMS = (TICKER, LIMIT, OFFSET)
INSIDER_PARAMS = (INSIDER, LIMIT, OFFSET)
SNAPSHOT_PARAMS = (
    Param("snapshot_date", "date", place="path", required=True, help="As of this day.", example="2025-12-31"),
    Param("ticker", help="Only this company: ticker (any spelling) or CIK.", example="AAPL"),
    Param("insider_cik", help="Only this insider.", example="0000315090"),
    Param(
        "limit",
        "integer",
        default=100,
        least=1,
        most=500,
        clamp=True,
        help="Rows, at most 500.",
        example="100",
    ),
    OFFSET,
)
PROFILE_PARAMS = (
    Param("insider_cik", place="path", required=True, help="The insider's CIK.", example="0000315090"),
)
SEARCH_PARAMS = (
    Param("query", required=True, help="Words of a name, perhaps cut short, or a CIK.", example="buffett"),
    LIMIT,
)
_RECENT = 20  # transactions that a profile shows


def of_ticker(call: Call) -> Response:
    """Positions in a company's securities, by the latest forms."""
    with call.app.db.read() as tx:
        company = companies.find(tx, call.params["ticker"])
        held = insider_holdings.of_issuer(tx, company.cik)
        shown = insider_holdings.objects(tx, _cut(call, held))
        insiders = insider_holdings.insiders_of_issuer(tx, company.cik)
    sums = insider_holdings.summary(held)
    meta = {
        "pagination": _pagination(call, len(held)),
        "company": {"ticker": company.ticker, "name": company.name, "cik": company.padded_cik},
        "summary": {
            "total_insiders": insiders,
            "total_shares_direct": sums["total_shares_direct"],
            "total_shares_indirect": sums["total_shares_indirect"],
        },
    }
    return call.rows(shown, meta)


def of_insider(call: Call) -> Response:
    """An insider's positions, company by company."""
    insider = cik(call.params["cik"])
    with call.app.db.read() as tx:
        named = insider_names.name(tx, insider)
        held = insider_holdings.of_insider(tx, insider)
        shown = insider_holdings.objects(tx, _cut(call, held), insider=insider)
    summary = {
        f"{issuer:010}": {
            **insider_holdings.summary(theirs),
            "ownership_vehicles": insider_holdings.vehicles(theirs),
        }
        for issuer, theirs in insider_holdings.by_company(held).items()
    }
    meta = {"pagination": _pagination(call, len(held)), "insider": named, "ownership_summary": summary}
    return call.rows(shown, meta)


def snapshot(call: Call) -> Response:
    """Positions as of a day: what the latest form that tells of that day or an earlier one says."""
    params = call.params
    until, limit, offset = params["snapshot_date"], params["limit"], params["offset"]
    with call.app.db.read() as tx:
        issuer = companies.find(tx, params["ticker"]).cik if params["ticker"] else None
        insider = cik(params["insider_cik"], "insider_cik") if params["insider_cik"] else None
        if insider is not None:
            held = insider_holdings.of_insider(tx, insider, issuer, until)
            page = held[offset : offset + limit]
        elif issuer is not None:
            held = insider_holdings.of_issuer(tx, issuer, until)
            page = held[offset : offset + limit]
        else:
            held = insider_holdings.of_everybody(tx, until, limit + 1, offset)
            page = held[:limit]
        shown = insider_holdings.objects(tx, page, insider=insider)
    everybody = insider is None and issuer is None
    more = len(held) > limit if everybody else len(held) > offset + limit
    meta = {
        "snapshot_date": until,
        "pagination": {
            "total": None if everybody else len(held),
            "limit": limit,
            "offset": offset,
            "has_more": more,
            "next_cursor": None,
        },
    }
    return call.rows(shown, meta)


def profile(call: Call) -> Response:
    """An insider: roles, holdings, the last year and the last transactions."""
    insider = cik(call.params["insider_cik"], "insider_cik")
    with call.app.db.read() as tx:
        named = insider_names.name(tx, insider)
        told = insider_holdings.profile(tx, insider, today(call.now))
        page, _ = insider_trades.of_insider(tx, insider, Wanted(limit=_RECENT))
        recent = insider_trades.objects(tx, page.ids, insider=insider)
    del named["total_companies"]
    return call.plain({**named, **told, "recent_transactions": recent})


def search(call: Call) -> Response:
    """Insiders by name."""
    with call.app.db.read() as tx:
        found = insider_names.search(tx, call.params["query"], call.params["limit"])
    return call.bare(found)


def _cut(call: Call, held: Sequence[Row]) -> Sequence[Row]:
    start = call.params["offset"]
    return held[start : start + call.params["limit"]]


def _pagination(call: Call, total: int) -> dict[str, Any]:
    limit, offset = call.params["limit"], call.params["offset"]
    return {
        "total": total,
        "limit": limit,
        "offset": offset,
        "has_more": total > offset + limit,
        "next_cursor": None,
    }
