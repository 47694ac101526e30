"""CUSIPs and tickers over HTTP: looked up, searched, followed to their successors."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date, build_record
from finapi.edgar import cusip
from finapi.market.holdings import funds, security_flows
from finapi.market.reference import companies, securities
from finapi.market.reference.securities import ChainLink, Security, SecurityMatch, TickerMatch
from finapi.web.holdings.fund_holdings import build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import CIK, CUSIP, OFFSET, TICKER, Field, Param, limit_param, path_param
from finapi.web.http.schema import Answer, answer, part

MAX_BATCH = 200
MAX_SECURITIES = 500  # of one company or issuer

CUSIP_PARAMS = (CUSIP,)
TICKER_PARAMS = (TICKER,)
_PAGE = (limit_param(MAX_SECURITIES, MAX_SECURITIES, "Securities"), OFFSET)
CIK_PARAMS = (CIK, *_PAGE)
_CUSIP6 = path_param("cusip6", help="The first six characters of a CUSIP.", example="037833")
CUSIP6_PARAMS = (replace(_CUSIP6, pattern="[0-9A-Za-z]{6}"), *_PAGE)
SEARCH_PARAMS = (
    Param("q", required=True, help="A CUSIP, a ticker or words of a name, or how they begin.", example="apple"),
    limit_param(50, 200),
    OFFSET,
)
AUTOCOMPLETE_PARAMS = (
    Param("q", required=True, help="The beginning of a ticker or of a company's name.", example="AA"),
    limit_param(50, 100),
    OFFSET,
)
BATCH_BODY = (
    Field(
        "cusips",
        "words",
        required=True,
        minimum=1,
        maximum=MAX_BATCH,
        help=f"At most {MAX_BATCH} CUSIPs.",
        example=["037833100"],
    ),
)


SECURITY = Answer[Security]


def get_security(call: Call) -> Response:
    """What finapi knows about one CUSIP."""
    with call.app.db.read() as tx:
        return call.success_members(_known(securities.find_by_cusip(tx, call.params["cusip"])), {})


def _known(found: Security | None) -> Security:
    if found is None:
        raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists this CUSIP.")
    return found


def get_security_of_ticker(call: Call) -> Response:
    """The CUSIP of a ticker, the one reported last."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        found = securities.list_by_ticker(tx, ticker)
        if not found:
            raise security_flows.build_no_cusip_error(tx, ticker)
    return call.success_members(found[0], {})


OF_COMPANY = answer(cik=str, issuer_name=str, securities=list[Security], meta=part(has_more=bool))
OF_ISSUER = answer(cusip6=str, issuer_name=str | None, securities=list[Security], meta=part(has_more=bool))


def list_securities_of_company(call: Call) -> Response:
    """The CUSIPs of a company."""
    cik = call.params["cik"]
    with call.app.db.read() as tx:
        if not securities.list_by_company(tx, cik, 1, 0):
            raise ApiError("NOT_FOUND", "finapi knows no CUSIP of this company.")
        found = securities.list_by_company(tx, cik, *_place(call))
        name = companies.get_by_cik(tx, cik).name
    return _page(call, found, cik=f"{cik:010}", issuer_name=name)


def _place(call: Call) -> tuple[int, int]:
    """One row more than the page has, and those before it."""
    return call.params["limit"] + 1, call.params["offset"]


def _page(call: Call, found: list[Security], **members: str | None) -> Response:
    limit = call.params["limit"]
    meta = {"has_more": len(found) > limit}
    return call.success_members({**members, "securities": found[:limit], "meta": meta}, meta)


def list_securities_of_issuer(call: Call) -> Response:
    """The CUSIPs that begin with the six characters of an issuer."""
    cusip6 = call.params["cusip6"].upper()
    with call.app.db.read() as tx:
        first = next(iter(securities.list_by_issuer(tx, cusip6, 1, 0)), None)
        found = securities.list_by_issuer(tx, cusip6, *_place(call))
    return _page(call, found, cusip6=cusip6, issuer_name=_known(first)["issuer_name"])


class CusipResult(TypedDict):
    """What finapi knows about one of several CUSIPs, or why not."""

    cusip: str
    ticker: str | None
    issuer_name: str | None
    cik: str | None
    security_group: str | None
    cusip6: str
    evidence: str | None
    reason: str | None


BATCH = answer(results=list[CusipResult], meta=part(requested=int, resolved=int, unmapped=int))


def get_securities_in_batch(call: Call) -> Response:
    """Several CUSIPs at once; each whose ticker is not known says why."""
    given = call.body["cusips"]
    checked = [_checked(text) for text in given]
    with call.app.db.read() as tx:
        known = securities.find_by_cusips(tx, [number for number in checked if number])
    results = [_result(text, number, known.get(number or "")) for text, number in zip(given, checked, strict=True)]
    resolved = sum(one["ticker"] is not None for one in results)
    meta = {"requested": len(results), "resolved": resolved, "unmapped": len(results) - resolved}
    return call.success_members({"results": results, "meta": meta}, meta)


def _checked(text: str) -> str | None:
    try:
        return cusip.validate(text)
    except ValueError:
        return None


def _result(text: str, number: str | None, found: Security | None) -> CusipResult:
    if found is not None:
        return build_record(CusipResult, found, reason=None if found["ticker"] else "ticker_not_known")
    unknown = dict.fromkeys(("ticker", "issuer_name", "cik", "security_group", "evidence"))
    reason = "invalid_cusip" if number is None else "unknown_cusip"
    return build_record(CusipResult, unknown, cusip=number or text[:20], cusip6=(number or text)[:6], reason=reason)


CHAIN = answer(cusip=str, chain=list[ChainLink], current_ticker=str | None)


def get_chain(call: Call) -> Response:
    """The CUSIPs that replaced each other, by a loaded mapping."""
    number = call.params["cusip"]
    with call.app.db.read() as tx:
        _known(securities.find_by_cusip(tx, number))
        links = securities.list_successor_chain(tx, number)
        current = securities.find_by_cusip(tx, links[-1]["cusip"])
    return call.success_members(
        {"cusip": number, "chain": links, "current_ticker": current["ticker"] if current else None}, {}
    )


SEARCH = answer(results=list[SecurityMatch], meta=part(total=int, limit=int, offset=int, has_more=bool, query=str))


def search_securities(call: Call) -> Response:
    """Securities by CUSIP, ticker or name, the best first."""
    params = call.params
    with call.app.db.read() as tx:
        found, total = securities.search(tx, params["q"], params["limit"], params["offset"])
    meta = {**build_offset_page(total, params["limit"], params["offset"]), "query": params["q"]}
    return call.success_members({"results": found, "meta": meta}, meta)


STATS = answer(
    total_cusips=int,
    mapped=int,
    unmapped=int,
    with_cik=int,
    mapping_rate=Decimal | None,
    by_security_group=dict[str, int],
    openfigi_enabled=bool,
    last_refresh_at=Date | None,
)


def get_statistics(call: Call) -> Response:
    """How many CUSIPs finapi knows, and for how many the ticker."""
    with call.app.db.read() as tx:
        counts = securities.count_securities(tx)
    total, mapped = counts["total"], counts["mapped"]
    members = {
        "total_cusips": total,
        "mapped": mapped,
        "unmapped": total - mapped,
        "with_cik": counts["with_cik"],
        "mapping_rate": funds.compute_percent(mapped, total),
        "by_security_group": counts["groups"],
        "openfigi_enabled": False,
        "last_refresh_at": counts["mapping_as_of"] or None,
    }
    return call.success_members(members, {})


AUTOCOMPLETE = answer(tickers=list[TickerMatch], meta=part(total=int, query=str, has_more=bool))


def complete_ticker(call: Call) -> Response:
    """Tickers that begin so, then tickers of companies whose name begins so; those of a CIK."""
    query, limit, offset = (call.params[name] for name in ("q", "limit", "offset"))
    with call.app.db.read() as tx:
        rows, total = securities.search_tickers(tx, query, limit, offset)
    meta = {"total": total, "query": query, "has_more": offset + limit < total}
    return call.success_members({"tickers": rows, "meta": meta}, meta)
