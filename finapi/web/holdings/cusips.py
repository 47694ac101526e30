"""Handlers for CUSIPs and tickers: look-up, search, statistics, and the chains of CUSIPs that replaced each other."""

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
from finapi.store.db import Transaction
from finapi.web.holdings.fund_holdings import OffsetPage, build_offset_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import CIK, CUSIP, OFFSET, TICKER, Field, Param, limit_param, path_param
from finapi.web.http.schema import Answer

MAX_BATCH = 200
# Maximum number of securities of a company or issuer on a page.
MAX_SECURITIES = 500

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


SECURITY_SHAPE = Answer[Security]


def get_security(call: Call) -> Response:
    """Return the security of a CUSIP."""
    with call.app.db.read() as tx:
        security = _get_security(tx, call.params["cusip"])
    return call.success_members(security, {})


def _get_security(tx: Transaction, number: str) -> Security:
    """Return the security of a CUSIP. Raise NOT_FOUND if it is unknown."""
    security = securities.find_by_cusip(tx, number)
    if security is None:
        raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists this CUSIP.")
    return security


def get_security_of_ticker(call: Call) -> Response:
    """Return the security of a ticker. If it has several CUSIPs, the last reported one is returned."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        rows = securities.list_by_ticker(tx, ticker)
        if not rows:
            raise security_flows.build_no_cusip_error(tx, ticker)
    return call.success_members(rows[0], {})


class SecuritiesMeta(TypedDict):
    """The meta of a list of securities."""

    has_more: bool


class CompanySecurities(TypedDict):
    """The securities of a company."""

    cik: str
    issuer_name: str
    securities: list[Security]
    meta: SecuritiesMeta


class IssuerSecurities(TypedDict):
    """The securities whose CUSIPs begin with the six characters of an issuer."""

    cusip6: str
    issuer_name: str | None
    securities: list[Security]
    meta: SecuritiesMeta


COMPANY_SECURITIES_SHAPE = Answer[CompanySecurities]
ISSUER_SECURITIES_SHAPE = Answer[IssuerSecurities]


def list_securities_of_company(call: Call) -> Response:
    """Return the securities of a company."""
    cik = call.params["cik"]
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        if not securities.list_by_company(tx, cik, 1, 0):
            raise ApiError("NOT_FOUND", "finapi has no CUSIP of this company.")
        # Read one row more than the page has, to know if there are more.
        rows = securities.list_by_company(tx, cik, limit + 1, call.params["offset"])
        name = companies.get_by_cik(tx, cik).name
    meta: SecuritiesMeta = {"has_more": len(rows) > limit}
    members: CompanySecurities = {
        "cik": f"{cik:010}",
        "issuer_name": name,
        "securities": rows[:limit],
        "meta": meta,
    }
    return call.success_members(members, meta)


def list_securities_of_issuer(call: Call) -> Response:
    """Return the securities whose CUSIPs begin with the six characters of an issuer."""
    cusip6 = call.params["cusip6"].upper()
    limit = call.params["limit"]
    with call.app.db.read() as tx:
        first_rows = securities.list_by_issuer(tx, cusip6, 1, 0)
        rows = securities.list_by_issuer(tx, cusip6, limit + 1, call.params["offset"])
    if not first_rows:
        raise ApiError("NOT_FOUND", "No 13F report and no mapping in finapi lists a CUSIP of this issuer.")
    meta: SecuritiesMeta = {"has_more": len(rows) > limit}
    members: IssuerSecurities = {
        "cusip6": cusip6,
        "issuer_name": first_rows[0]["issuer_name"],
        "securities": rows[:limit],
        "meta": meta,
    }
    return call.success_members(members, meta)


class CusipResult(TypedDict):
    """The security of one of several CUSIPs, or the reason why it is unknown."""

    cusip: str
    ticker: str | None
    issuer_name: str | None
    cik: str | None
    security_group: str | None
    cusip6: str
    evidence: str | None
    reason: str | None


class CusipBatchMeta(TypedDict):
    """The meta of a batch: the number of CUSIPs with and without a ticker."""

    requested: int
    resolved: int
    unmapped: int


class CusipBatch(TypedDict):
    """The securities of several CUSIPs."""

    results: list[CusipResult]
    meta: CusipBatchMeta


BATCH_SHAPE = Answer[CusipBatch]


def get_securities_in_batch(call: Call) -> Response:
    """Return the securities of several CUSIPs. A result without a ticker contains the reason."""
    texts = call.body["cusips"]
    numbers = [_parse_cusip(text) for text in texts]
    with call.app.db.read() as tx:
        security_by_cusip = securities.find_by_cusips(tx, [number for number in numbers if number])
    results = []
    for text, number in zip(texts, numbers, strict=True):
        results.append(_build_result(text, number, security_by_cusip.get(number or "")))
    resolved_count = sum(result["ticker"] is not None for result in results)
    meta: CusipBatchMeta = {
        "requested": len(results),
        "resolved": resolved_count,
        "unmapped": len(results) - resolved_count,
    }
    members: CusipBatch = {"results": results, "meta": meta}
    return call.success_members(members, meta)


def _parse_cusip(text: str) -> str | None:
    try:
        return cusip.validate(text)
    except ValueError:
        return None


def _build_result(text: str, number: str | None, security: Security | None) -> CusipResult:
    if security is not None:
        return build_record(CusipResult, security, reason=None if security["ticker"] else "ticker_not_known")
    return {
        "cusip": number or text[:20],
        "ticker": None,
        "issuer_name": None,
        "cik": None,
        "security_group": None,
        "cusip6": (number or text)[:6],
        "evidence": None,
        "reason": "invalid_cusip" if number is None else "unknown_cusip",
    }


class CusipChain(TypedDict):
    """A chain of CUSIPs in which each replaced the one before, oldest first, and the ticker of the last one."""

    cusip: str
    chain: list[ChainLink]
    current_ticker: str | None


CHAIN_SHAPE = Answer[CusipChain]


def get_chain(call: Call) -> Response:
    """Return the chain of CUSIPs that replaced each other, according to a loaded mapping."""
    number = call.params["cusip"]
    with call.app.db.read() as tx:
        _get_security(tx, number)
        links = securities.list_successor_chain(tx, number)
        current_security = securities.find_by_cusip(tx, links[-1]["cusip"])
    members: CusipChain = {
        "cusip": number,
        "chain": links,
        "current_ticker": current_security["ticker"] if current_security else None,
    }
    return call.success_members(members, {})


class SecuritySearchMeta(OffsetPage):
    """The meta of a search for securities."""

    query: str


class SecuritySearch(TypedDict):
    """The securities that match a search."""

    results: list[SecurityMatch]
    meta: SecuritySearchMeta


SEARCH_SHAPE = Answer[SecuritySearch]


def search_securities(call: Call) -> Response:
    """Return securities by CUSIP, ticker or name, the best matches first."""
    query = call.params["q"]
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        rows, total = securities.search(tx, query, limit, offset)
    meta: SecuritySearchMeta = {**build_offset_page(total, limit, offset), "query": query}
    members: SecuritySearch = {"results": rows, "meta": meta}
    return call.success_members(members, meta)


class CusipStatistics(TypedDict):
    """The number of known CUSIPs, and of those with a ticker."""

    total_cusips: int
    mapped: int
    unmapped: int
    with_cik: int
    mapping_rate: Decimal | None
    by_security_group: dict[str, int]
    openfigi_enabled: bool
    last_refresh_at: Date | None


STATS_SHAPE = Answer[CusipStatistics]


def get_statistics(call: Call) -> Response:
    """Return the number of known CUSIPs, and of those with a ticker."""
    with call.app.db.read() as tx:
        counts = securities.count_securities(tx)
    members: CusipStatistics = {
        "total_cusips": counts["total"],
        "mapped": counts["mapped"],
        "unmapped": counts["total"] - counts["mapped"],
        "with_cik": counts["with_cik"],
        "mapping_rate": funds.compute_percent(counts["mapped"], counts["total"]),
        "by_security_group": counts["groups"],
        "openfigi_enabled": False,
        "last_refresh_at": counts["mapping_as_of"] or None,
    }
    return call.success_members(members, {})


class TickerCompletionMeta(TypedDict):
    """The meta of ticker completions."""

    total: int
    query: str
    has_more: bool


class TickerCompletion(TypedDict):
    """Tickers that complete a text."""

    tickers: list[TickerMatch]
    meta: TickerCompletionMeta


AUTOCOMPLETE_SHAPE = Answer[TickerCompletion]


def complete_ticker(call: Call) -> Response:
    """Return tickers that begin with a text, then tickers of companies whose names do. A CIK matches its tickers."""
    query = call.params["q"]
    limit = call.params["limit"]
    offset = call.params["offset"]
    with call.app.db.read() as tx:
        rows, total = securities.search_tickers(tx, query, limit, offset)
    meta: TickerCompletionMeta = {"total": total, "query": query, "has_more": offset + limit < total}
    members: TickerCompletion = {"tickers": rows, "meta": meta}
    return call.success_members(members, meta)
