"""One fund by its 13F reports, over HTTP: holdings, quarters, history, and what queries ask of several."""

from __future__ import annotations

import re
from typing import Any

from finapi.edgar import identity
from finapi.errors import invalid_param
from finapi.market import fund_lists, funds
from finapi.web import holdings_shapes as shapes
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param

MAX_HOLDINGS = 1_000
MAX_BULK_CIKS = 50
MAX_BULK_HOLDINGS = 200

CUSIP = Param("cusip", place="path", required=True, help="CUSIP with its check digit.", example="037833100")
FUND_PARAMS = (
    shapes.CIK,
    shapes.PERIOD,
    shapes.limit(50, MAX_HOLDINGS),
    shapes.OFFSET,
    Param("include_options", "boolean", default=False, help="Puts and calls too.", example="false"),
    Param("options_only", "boolean", default=False, help="Nothing but puts and calls.", example="false"),
    Param(
        "include_analytics", "boolean", default=False, help="The value held by sector too.", example="true"
    ),
    Param(
        "include_activity", "boolean", default=False, help="The changes of the quarter too.", example="true"
    ),
    Param("sort_by", default="value", allowed=funds.SORTS, help="What to sort by.", example="value"),
    Param("sort_order", default="desc", allowed=("asc", "desc"), help="Which way.", example="desc"),
    Param(
        "status", default="all", allowed=funds.STATUSES, help="Only positions that changed so.", example="all"
    ),
    Param("q", help="Only positions whose CUSIP, ticker or issuer holds this.", example="apple"),
)
HISTORY_PARAMS = (shapes.CIK, CUSIP)
BULK_PARAMS = (
    shapes.PERIOD,
    Param(
        "detail", default="summary", allowed=("summary", "full"), help="full: holdings too.", example="full"
    ),
    Param(
        "size",
        "integer",
        default=50,
        least=1,
        most=MAX_BULK_HOLDINGS,
        clamp=True,
        help=f"Holdings of each fund, up to {MAX_BULK_HOLDINGS}.",
        example="50",
    ),
    Param(
        "from",
        "integer",
        default=0,
        least=0,
        most=1_000_000,
        help="Holdings to pass over.",
        example="0",
    ),
)
BULK_BODY = (
    Field(
        "ciks", "words", required=True, help=f"Up to {MAX_BULK_CIKS} CIKs.", example=["1067983", "1061768"]
    ),
)
QUERY = Field(
    "query",
    "text",
    required=True,
    help="field:value with AND between; fields cik, period, accession, form, and filed:[DAY TO DAY].",
    example="cik:1067983 AND period:2026-03-31",
)
PAGE_FIELDS = (
    Field("from", "integer", least=0, most=1_000_000, help="Rows to pass over.", example=0),
    Field("size", "integer", least=1, most=MAX_HOLDINGS, help="Rows at most.", example=50),
)
HOLDINGS_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field("sort", "text", allowed=funds.SORTS, help="What to sort by, the greatest first.", example="value"),
    Field("includeChanges", "boolean", help="The changes since the quarter before too.", example="true"),
)
COVERS_BODY = (
    QUERY,
    *PAGE_FIELDS,
    Field("sort", "text", allowed=("filed_date",), help="The newest first, as always.", example="filed_date"),
)


def fund(call: Call) -> Response:
    """What a fund held at the end of a quarter, and how that changed."""
    params = call.params
    options = _options(params["include_options"], params["options_only"])
    with call.app.db.read() as tx:
        held = funds.quarter(tx, funds.cik_of(params["cik"]), params["period"])
        _known(held, params["status"])
        rows, total = funds.holdings(
            tx,
            held,
            options=options,
            status=params["status"],
            search=params["q"],
            sort=params["sort_by"],
            descending=params["sort_order"] == "desc",
            limit=params["limit"],
            offset=params["offset"],
        )
        analysis = funds.changes(tx, held, options) if params["include_activity"] else None
        sectors = funds.sector_allocation(tx, held) if params["include_analytics"] else None
    page = paging(total, params["limit"], params["offset"])
    members = {
        "fund": _fund(held),
        "period": held.period,
        "filing": held.filing,
        "holdings": rows,
        "analysis": analysis,
        "sector_allocation": sectors,
        "meta": {
            "pagination": page,
            "total_value_usd": held.value,
            "changes": _changes(held),
            "counts": held.counts,
        },
    }
    return call.listed(members, page)


def periods(call: Call) -> Response:
    """The quarters of which a fund's holdings are held."""
    with call.app.db.read() as tx:
        cik = funds.cik_of(call.params["cik"])
        funds.name_of(tx, cik)
        held = funds.periods(tx, cik)
    latest = held[0] if held else None
    return call.listed(
        {"cik": f"{cik:010}", "periods": held, "latest_period": latest, "count": len(held)}, {}
    )


def history(call: Call) -> Response:
    """What a fund held of one security, quarter by quarter."""
    with call.app.db.read() as tx:
        cik, number = funds.cik_of(call.params["cik"]), funds.cusip_of(call.params["cusip"])
        funds.name_of(tx, cik)
        security, rows = funds.history(tx, cik, number)
    members = {
        "cik": f"{cik:010}",
        "cusip": number,
        **security,
        "quarters": len(rows),
        "split_adjusted": False,
        "splits": [],
        "history": rows,
    }
    return call.listed(members, {})


def bulk(call: Call) -> Response:
    """Several funds at once, each with its own status; one unknown CIK spoils nothing."""
    ciks = call.body["ciks"]
    if not 1 <= len(ciks) <= MAX_BULK_CIKS:
        raise invalid_param("ciks", f"ciks must be 1 to {MAX_BULK_CIKS} CIKs.", expected="list of CIKs")
    with call.app.db.read() as tx:
        found = [_of_bulk(call, tx, cik) for cik in dict.fromkeys(funds.cik_of(one, "ciks") for one in ciks)]
    counts = {
        f"{status}_count": sum(one["status"] == status for one in found)
        for status in ("ok", "no_filing", "unknown_cik")
    }
    detail = call.params["detail"]
    meta = {"requested_count": len(found), **counts, "detail": detail}
    return call.listed({"period": call.params["period"], "detail": detail, "funds": found, "meta": meta}, {})


def _of_bulk(call: Call, tx: Any, cik: int) -> dict[str, Any]:
    held = funds.find_quarter(tx, cik, call.params["period"])
    nothing = {
        "period": None,
        "portfolio_value_usd": None,
        "holdings_count": None,
        "holdings": None,
        "has_more": False,
    }
    if held is None:
        name = funds.find_name(tx, cik)
        status = "unknown_cik" if name is None else "no_filing"
        return {"cik": f"{cik:010}", "name": name, "status": status, **nothing}
    rows, more = None, False
    if call.params["detail"] == "full":
        first, size = call.params["from"], call.params["size"]
        rows, total = funds.holdings(tx, held, options=funds.WITH_OPTIONS, limit=size, offset=first)
        more = first + len(rows) < total
    return {
        "cik": f"{cik:010}",
        "name": held.name,
        "status": "ok",
        "period": held.period,
        "portfolio_value_usd": held.value,
        "holdings_count": held.positions,
        "holdings": rows,
        "has_more": more,
    }


def query_holdings(call: Call) -> Response:
    """The holdings that a query asks for: of one fund at the end of one quarter."""
    body, wanted = call.body, conditions(call.body["query"], ("cik", "period"))
    if "cik" not in wanted:
        raise invalid_param("query", "The query must name a fund by cik.", expected="cik:1067983")
    limit, offset = body.get("size", 50), body.get("from", 0)
    with call.app.db.read() as tx:
        held = funds.quarter(tx, wanted["cik"], wanted.get("period"))
        rows, total = funds.holdings(
            tx, held, options=funds.WITH_OPTIONS, sort=body.get("sort", "value"), limit=limit, offset=offset
        )
    with_changes = body.get("includeChanges", False)
    page = paging(total, limit, offset)
    shown = [
        {
            "cusip": row["cusip"],
            "ticker": row["ticker"],
            "issuer_name": row["name_of_issuer"],
            "title_of_class": row["title_of_class"],
            "put_call": row["put_call"],
            "shares": row["shares"],
            "value_usd": row["value_usd"],
            "changeShares": row["change_shares"] if with_changes else None,
            "changePercent": row["change_pct"] if with_changes else None,
            "status": row["status"] if with_changes else None,
            "value_unit_rule": row["value_unit_rule"],
        }
        for row in rows
    ]
    members = {
        "cik": f"{held.cik:010}",
        "period": held.period,
        "previousPeriod": held.previous,
        "holdings": shown,
        "meta": {"pagination": page, "changes": _changes(held)},
    }
    return call.listed(members, page)


def query_covers(call: Call) -> Response:
    """The cover pages that a query asks for, notices too."""
    wanted = conditions(call.body["query"], ("cik", "period", "accession", "form", "filed"))
    limit, offset = call.body.get("size", 50), call.body.get("from", 0)
    with call.app.db.read() as tx:
        rows = fund_lists.covers(tx, wanted, limit + 1, offset)
    page = {"limit": limit, "offset": offset, "has_more": len(rows) > limit}
    return call.listed({"filings": rows[:limit], "meta": page}, page)


_TERM = re.compile(r"([A-Za-z_]+):(\[[^\[\]]*\]|\"[^\"]*\"|[^\s\"\[\]]+)")
_RANGE = re.compile(r"\[\s*([0-9-]{10}|\*)\s+TO\s+([0-9-]{10}|\*)\s*\]")
_FIELDS = {
    "cik": "cik",
    "period": "period",
    "periodofreport": "period",
    "period_of_report": "period",
    "accession": "accession",
    "accession_no": "accession",
    "accessionno": "accession",
    "accession_number": "accession",
    "form": "form",
    "formtype": "form",
    "form_type": "form",
    "filed": "filed",
    "filedat": "filed",
    "filed_at": "filed",
}


def conditions(query: str, known: tuple[str, ...]) -> dict[str, Any]:
    """A query as conditions by field; INVALID_PARAM for what is no ``field:value AND field:value``."""
    wanted: dict[str, Any] = {}
    for part in re.split(r"\s+AND\s+", query.strip()[:1_000]):
        found = _TERM.fullmatch(part)
        name = _FIELDS.get(found[1].lower()) if found else None
        if found is None or name not in known or name in wanted:
            raise invalid_param(
                "query", f"{part[:60]!r} is not one of the conditions known here.", allowed=list(known)
            )
        wanted |= _condition(name, found[2].strip('"'))
    return wanted


def _condition(name: str, value: str) -> dict[str, Any]:
    try:
        if name == "cik":
            return {"cik": int(identity.cik(value))}
        if name == "period":
            return {"period": identity.iso_date(value)}
        if name == "accession":
            number = identity.accession(value)
            if number is None:
                raise ValueError(f"{value[:40]!r} is not an accession number")
            return {"accession": number}
        if name == "form":
            return {"form": value.upper()}
        days = _RANGE.fullmatch(value)
        first, last = (days[1], days[2]) if days else (value, value)
        return {
            "filed": True,
            "from": None if first == "*" else identity.iso_date(first),
            "to": None if last == "*" else identity.iso_date(last),
        }
    except ValueError as error:
        raise invalid_param("query", str(error), expected=name) from None


def paging(total: int, limit: int, offset: int) -> dict[str, Any]:
    """The place of a page in its list."""
    return {"total": total, "limit": limit, "offset": offset, "has_more": offset + limit < total}


def _options(included: bool, only: bool) -> str:
    if only:
        return funds.OPTIONS_ONLY
    return funds.WITH_OPTIONS if included else funds.NO_OPTIONS


def _known(held: funds.Quarter, status: str) -> None:
    """INVALID_PARAM when positions are asked for by a change that is not known."""
    if status != "all" and not held.compared:
        raise invalid_param(
            "status",
            f"What changed in the quarter that ended on {held.period} is not known: {held.reason}.",
            allowed=["all"],
        )


def _fund(held: funds.Quarter) -> dict[str, Any]:
    return {
        "cik": f"{held.cik:010}",
        "name": held.name,
        "signing_officer": held.signer,
        "latest_filed_at": held.latest_filed_at,
    }


def _changes(held: funds.Quarter) -> dict[str, Any]:
    return {"available": held.compared, "previous_period": held.previous, "reason": held.reason}
