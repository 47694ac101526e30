"""CUSIPs and tickers over HTTP: looked up, searched, followed to their successors."""

from __future__ import annotations

from typing import Any

from finapi.errors import ApiError, invalid_param
from finapi.market import flows, funds, securities
from finapi.market.securities import Security
from finapi.web import holdings_shapes as shapes
from finapi.web.call import Call
from finapi.web.flows import ticker_of
from finapi.web.form13f import CUSIP, paging
from finapi.web.http import Response
from finapi.web.params import Field, Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    array,
    beside,
    made_of,
    mapping,
    nullable,
    obj,
)

MAX_BATCH = 200
MAX_SECURITIES = 500  # of one company or issuer

CUSIP_PARAMS = (CUSIP,)
TICKER_PARAMS = (shapes.TICKER,)
CIK_PARAMS = (Param("cik", place="path", required=True, help="CIK of the issuer.", example="320193"),)
CUSIP6_PARAMS = (
    Param(
        "cusip6", place="path", required=True, help="The first six characters of a CUSIP.", example="037833"
    ),
)
SEARCH_PARAMS = (
    Param(
        "q", required=True, help="A CUSIP, a ticker, or words of a name, or their beginning.", example="apple"
    ),
    shapes.limit(50, 200),
    shapes.OFFSET,
)
AUTOCOMPLETE_PARAMS = (
    Param("q", required=True, help="The beginning of a ticker or of a company's name.", example="AA"),
    shapes.limit(50, 100),
)
BATCH_BODY = (
    Field("cusips", "words", required=True, help=f"Up to {MAX_BATCH} CUSIPs.", example=["037833100"]),
)

_MEMBERS = {
    "cusip": TEXT,
    "cusip_valid": BOOLEAN,
    "ticker": shapes.MAYBE_TEXT,
    "issuer_name": shapes.MAYBE_TEXT,
    "title_of_class": shapes.MAYBE_TEXT,
    "cik": shapes.MAYBE_TEXT,
    "cusip6": TEXT,
    "security_group": TEXT,
    "evidence": shapes.MAYBE_TEXT,
    "seen_in": shapes.MAYBE_TEXT,
    "seen_on": shapes.MAYBE_DATE,
}
_SECURITY = made_of(_MEMBERS)
LOOKUP = beside(**_MEMBERS)
BY_CIK = beside(cik=TEXT, issuer_name=TEXT, securities=array(_SECURITY), meta=obj(has_more=BOOLEAN))
BY_CUSIP6 = beside(
    cusip6=TEXT, issuer_name=shapes.MAYBE_TEXT, securities=array(_SECURITY), meta=obj(has_more=BOOLEAN)
)
_ANSWER = obj(
    cusip=TEXT,
    ticker=shapes.MAYBE_TEXT,
    issuer_name=shapes.MAYBE_TEXT,
    cik=shapes.MAYBE_TEXT,
    security_group=shapes.MAYBE_TEXT,
    cusip6=TEXT,
    evidence=shapes.MAYBE_TEXT,
    reason=shapes.MAYBE_TEXT,
)
BATCH = beside(results=array(_ANSWER), meta=obj(requested=INTEGER, resolved=INTEGER, unmapped=INTEGER))
CHAIN = beside(
    cusip=TEXT,
    chain=array(
        obj(
            cusip=TEXT,
            issuer_name=shapes.MAYBE_TEXT,
            is_current=BOOLEAN,
            effective_date=shapes.MAYBE_DATE,
            reason=shapes.MAYBE_TEXT,
        )
    ),
    current_ticker=shapes.MAYBE_TEXT,
)
SEARCH = beside(
    results=array(made_of({**_MEMBERS, "score": INTEGER})),
    meta=obj(total=INTEGER, limit=INTEGER, offset=INTEGER, has_more=BOOLEAN, query=TEXT),
)
STATS = beside(
    total_cusips=INTEGER,
    mapped=INTEGER,
    unmapped=INTEGER,
    with_cik=INTEGER,
    mapping_rate=nullable(NUMBER),
    by_security_group=mapping(INTEGER),
    openfigi_enabled=BOOLEAN,
    last_refresh_at=nullable(DATE),
)
AUTOCOMPLETE = beside(
    tickers=array(
        obj(symbol=TEXT, name=TEXT, cik=TEXT, exchange=shapes.MAYBE_TEXT, score=INTEGER, rank=INTEGER)
    ),
    meta=obj(total=INTEGER, query=TEXT, has_more=BOOLEAN),
)


def lookup(call: Call) -> Response:
    """What is known of one CUSIP."""
    with call.app.db.read() as tx:
        found = securities.by_cusip(tx, funds.cusip_of(call.params["cusip"]))
    return call.listed(_known(found, "CUSIP").shown(), {})


def of_ticker(call: Call) -> Response:
    """The CUSIP of a ticker, the one that was seen last."""
    ticker = ticker_of(call.params["ticker"])
    with call.app.db.read() as tx:
        found = securities.by_ticker(tx, ticker)
        if not found:
            raise flows.no_cusip(tx, ticker)
    return call.listed(found[0].shown(), {})


def of_company(call: Call) -> Response:
    """The CUSIPs of a company."""
    cik = funds.cik_of(call.params["cik"])
    with call.app.db.read() as tx:
        found = securities.by_company(tx, cik, MAX_SECURITIES + 1)
        name = securities.company_name(tx, cik)
    if not found or name is None:
        raise ApiError("NOT_FOUND", "No CUSIP is known for this company.")
    shown, meta = _bounded(found)
    return call.listed({"cik": f"{cik:010}", "issuer_name": name, "securities": shown, "meta": meta}, meta)


def of_issuer(call: Call) -> Response:
    """The CUSIPs that begin with the six characters of an issuer."""
    cusip6 = call.params["cusip6"].upper()
    if len(cusip6) != 6 or not cusip6.isascii() or not cusip6.isalnum():
        raise invalid_param("cusip6", "cusip6 must be six letters and digits.", expected="037833")
    with call.app.db.read() as tx:
        found = securities.by_issuer(tx, cusip6, MAX_SECURITIES + 1)
    first = _known(found[0] if found else None, "CUSIP of this issuer")
    shown, meta = _bounded(found)
    members = {"cusip6": cusip6, "issuer_name": first.issuer or None, "securities": shown, "meta": meta}
    return call.listed(members, meta)


def batch(call: Call) -> Response:
    """Several CUSIPs at once; each that cannot be resolved says why."""
    given = call.body["cusips"]
    if not 1 <= len(given) <= MAX_BATCH:
        raise invalid_param("cusips", f"cusips must be 1 to {MAX_BATCH} CUSIPs.", expected="list of CUSIPs")
    folded = [securities.folded(text) for text in given]
    with call.app.db.read() as tx:
        known = securities.many(tx, [number for number in folded if number])
    results = [_answer(text, number, known) for text, number in zip(given, folded, strict=True)]
    resolved = sum(one["ticker"] is not None for one in results)
    meta = {"requested": len(results), "resolved": resolved, "unmapped": len(results) - resolved}
    return call.listed({"results": results, "meta": meta}, meta)


def _answer(text: str, number: str | None, known: dict[str, Security]) -> dict[str, Any]:
    found = known.get(number or "")
    reason = "invalid_cusip" if number is None else "unknown_cusip"
    if found is not None:
        reason = "ticker_not_known"
    return {
        "cusip": number or text[:20],
        "ticker": found.ticker if found else None,
        "issuer_name": found.issuer or None if found else None,
        "cik": f"{found.cik:010}" if found and found.cik else None,
        "security_group": found.group if found else None,
        "cusip6": (number or text)[:6],
        "evidence": found.evidence if found else None,
        "reason": None if found and found.ticker else reason,
    }


def chain(call: Call) -> Response:
    """The CUSIPs that followed each other, by a loaded mapping."""
    number = funds.cusip_of(call.params["cusip"])
    with call.app.db.read() as tx:
        _known(securities.by_cusip(tx, number), "CUSIP")
        links = securities.chain(tx, number)
        current = securities.by_cusip(tx, links[-1].cusip)
    shown = [
        {
            "cusip": link.cusip,
            "issuer_name": link.issuer,
            "is_current": link is links[-1],
            "effective_date": link.effective_date,
            "reason": link.reason,
        }
        for link in links
    ]
    return call.listed(
        {"cusip": number, "chain": shown, "current_ticker": current.ticker if current else None}, {}
    )


def search(call: Call) -> Response:
    """Securities by CUSIP, ticker or name, the best first."""
    params = call.params
    with call.app.db.read() as tx:
        found, total = securities.search(tx, params["q"], params["limit"], params["offset"])
    meta = {**paging(total, params["limit"], params["offset"]), "query": params["q"]}
    results = [{**one.shown(), "score": score} for one, score in found]
    return call.listed({"results": results, "meta": meta}, meta)


def stats(call: Call) -> Response:
    """How many CUSIPs are known, and of how many the ticker."""
    with call.app.db.read() as tx:
        counts = securities.counts(tx)
    total, mapped = counts["total"], counts["mapped"]
    members = {
        "total_cusips": total,
        "mapped": mapped,
        "unmapped": total - mapped,
        "with_cik": counts["with_cik"],
        "mapping_rate": funds.percent(mapped, total),
        "by_security_group": counts["groups"],
        "openfigi_enabled": False,
        "last_refresh_at": counts["mapping_as_of"] or None,
    }
    return call.listed(members, {})


def autocomplete(call: Call) -> Response:
    """Tickers that begin so, then tickers of companies whose name begins so."""
    query, limit = call.params["q"], call.params["limit"]
    with call.app.db.read() as tx:
        rows, total = securities.complete(tx, query, limit)
    meta = {"total": total, "query": query, "has_more": len(rows) < total}
    return call.listed({"tickers": rows, "meta": meta}, meta)


def _known(found: Security | None, what: str) -> Security:
    if found is None:
        raise ApiError("NOT_FOUND", f"No 13F table and no mapping that is held names this {what}.")
    return found


def _bounded(found: list[Security]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    shown = [one.shown() for one in found[:MAX_SECURITIES]]
    return shown, {"has_more": len(found) > MAX_SECURITIES}
