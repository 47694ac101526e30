"""Figures as filed, over HTTP: of a filing or a company, of one concept, and added up over companies."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from finapi.db import Transaction
from finapi.edgar import identity
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, facts, lookups, reasons, sectors, statements
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Field, Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    DECIMALS,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    array,
    const,
    envelope,
    nullable,
    obj,
)

# Deeper than this a caller wants another question: each page reads what lies before it.
MAX_OFFSET = 20_000

_CIK = Param("cik", help="The company, by CIK.", example="320193")
_TICKER = Param("ticker", help="The company, by ticker (any spelling) or CIK.", example="AAPL")
_OFFSET = Param(
    "offset", "integer", default=0, least=0, most=MAX_OFFSET, help="Rows to leave out first.", example="100"
)


def _limit(most: int = 1_000) -> Param:
    return Param(
        "limit", "integer", default=100, least=1, most=most, clamp=True, help="Rows at most.", example="100"
    )


XBRL_PARAMS = (
    Param("accession", help="The filing, with or without dashes.", example="0000320193-25-000057"),
    _CIK,
    Param("as_of", "date", help="Only what was filed up to this day.", example="2025-12-31"),
    Param("tag", "words", help="Concepts, with or without taxonomy.", example="us-gaap:Assets,Revenues"),
    Param("dims", "words", help="Axes, or axes with a member.", example="ProductOrServiceAxis=ServiceMember"),
    Param(
        "consolidated_only", "boolean", default=False, help="Only facts without dimensions.", example="true"
    ),
    Param(
        "amendments",
        default="current",
        allowed=("current", "all"),
        help="current: without reports that a later one for the same period replaces.",
        example="all",
    ),
    _limit(),
    _OFFSET,
)
_MARK = nullable(obj(status=const("nil"), reason=const(reasons.REPORTED_NIL)))
XBRL_SHAPE = envelope(
    array(
        obj(
            accession_no=TEXT,
            cik=TEXT,
            form_type=nullable(TEXT),
            filed_at=nullable(DATE),
            taxonomy=TEXT,
            concept=TEXT,
            value=nullable(NUMBER),
            mark=_MARK,
            decimals=DECIMALS,
            unit=TEXT,
            period=obj(startDate=nullable(DATE), endDate=DATE),
            dimensions=array(obj(axis=TEXT, member=TEXT)),
            is_extension=BOOLEAN,
            source=TEXT,
        )
    ),
    obj(pagination=obj(limit=INTEGER, offset=INTEGER, has_more=BOOLEAN), has_more=BOOLEAN),
)

LIST_PARAMS = (
    _TICKER,
    Param("accession_number", help="The filing, with or without dashes.", example="0000320193-25-000057"),
    Param("concept", "words", help="Concepts, with or without taxonomy.", example="us-gaap:Assets"),
    Param("form_type", help="Only from this form.", example="10-K"),
    Param("date_from", "date", help="The earliest end of a period.", example="2024-01-01"),
    Param("date_to", "date", help="The latest end of a period.", example="2024-12-31"),
    _limit(),
    _OFFSET,
)
LIST_SHAPE = envelope(
    array(
        obj(
            concept_qualified_name=TEXT,
            value=nullable(NUMBER),
            mark=_MARK,
            unit=TEXT,
            period_start=nullable(DATE),
            period_end=DATE,
            accession_number=TEXT,
            form_type=nullable(TEXT),
            filed_at=nullable(DATE),
        )
    ),
    obj(total=INTEGER, limit=INTEGER, offset=INTEGER, has_more=BOOLEAN),
)

CONCEPT_PARAMS = (
    Param("concept", required=True, help="With or without taxonomy.", example="us-gaap:Assets"),
    _TICKER,
    Param("date_from", "date", help="The earliest end of a period.", example="2024-01-01"),
    Param("date_to", "date", help="The latest end of a period.", example="2024-12-31"),
    _limit(),
)
CONCEPT_SHAPE = obj(
    status=const("success"),
    request_id=TEXT,
    timestamp=TIME,
    concept=TEXT,
    facts=array(
        obj(
            ticker=nullable(TEXT),
            cik=TEXT,
            value=nullable(NUMBER),
            mark=_MARK,
            unit=TEXT,
            period_start=nullable(DATE),
            period_end=DATE,
            accession_number=TEXT,
            form_type=nullable(TEXT),
            filed_at=nullable(DATE),
        )
    ),
    meta=obj(total=INTEGER, limit=INTEGER),
)

AGGREGATE_BODY = (
    Field("concept", "text", required=True, help="With or without taxonomy.", example="us-gaap:Assets"),
    Field("period", "word", required=True, help="A calendar year or quarter: 2024, 2024Q3.", example="2024"),
    Field("sector", "text", nullable=True, help="A sector of the SIC, by name or letter.", example="D"),
    Field("tickers", "words", nullable=True, help="Only these companies.", example=["AAPL", "NFLX"]),
)
AGGREGATE_SHAPE = obj(
    status=const("success"),
    request_id=TEXT,
    timestamp=TIME,
    concept=TEXT,
    period=TEXT,
    aggregates=obj(
        sum=nullable(NUMBER),
        avg=nullable(NUMBER),
        median=nullable(NUMBER),
        count=INTEGER,
        min=nullable(NUMBER),
        max=nullable(NUMBER),
    ),
    meta=obj(
        sector=nullable(TEXT),
        tickers=array(TEXT),
        period=TEXT,
        dominant_unit=nullable(TEXT),
        excluded_count=INTEGER,
    ),
)

_PERIOD = re.compile(r"(?:CY)?((?:19|20)[0-9]{2})(?:-?Q([1-4]))?")


def of_xbrl(call: Call) -> Response:
    """The facts of a filing or a company, dimensions included, the last filed first."""
    params = call.params
    accession, cik = _accession(params["accession"], "accession"), _cik(params["cik"])
    if accession is None and cik is None:
        raise invalid_param("accession", "accession or cik is required.", expected="accession or cik")
    wanted = lookups.Wanted(params["tag"] or (), params["dims"] or (), params["consolidated_only"])
    with call.app.db.read() as tx:
        sets = lookups.sets_of(
            tx, accession=accession, cik=cik, as_of=params["as_of"], amendments=params["amendments"]
        )
        if not sets:
            raise ApiError("NOT_FOUND", "No facts of this filing or company are held.")
        found, more = lookups.page(tx, sets, wanted, limit=params["limit"], offset=params["offset"])
    page = {"limit": params["limit"], "offset": params["offset"], "has_more": more}
    return call.rows([_xbrl_row(one) for one in found], {"pagination": page, "has_more": more})


def listed(call: Call) -> Response:
    """The figures of a company or a filing without dimensions, the last filed first."""
    params = call.params
    accession = _accession(params["accession_number"], "accession_number")
    if accession is None and params["ticker"] is None:
        raise invalid_param("ticker", "ticker or accession_number is required.", expected="AAPL")
    wanted = lookups.Wanted(params["concept"] or (), (), consolidated_only=True)
    with call.app.db.read() as tx:
        cik = None if params["ticker"] is None else companies.find(tx, params["ticker"]).cik
        sets = lookups.sets_of(tx, accession=accession, cik=cik, as_of=None, amendments="all")
        form = params["form_type"]
        sets = [one for one in sets if form is None or one["form"] == form.upper()]
        everything, _ = lookups.page(tx, sets, wanted, limit=1_000_000, offset=0)
    first, last = params["date_from"] or "", params["date_to"] or "9"
    found = [one.fact for one in everything if first <= one.fact.end <= last]
    limit, offset = params["limit"], params["offset"]
    meta = {"total": len(found), "limit": limit, "offset": offset, "has_more": len(found) > offset + limit}
    return call.rows([_list_row(fact) for fact in found[offset : offset + limit]], meta)


def by_concept(call: Call) -> Response:
    """The figures of one concept, of a company or of all, the latest period first."""
    params = call.params
    first, last, limit = params["date_from"], params["date_to"], params["limit"]
    with call.app.db.read() as tx:
        concept_id, name = lookups.concept(tx, params["concept"])
        if params["ticker"] is None:
            found, total = lookups.by_concept(tx, concept_id, first=first, last=last, limit=limit)
            rows = [_concept_row(tx, one.cik, one) for one in found]
        else:
            cik = companies.find(tx, params["ticker"]).cik
            theirs = [
                fact
                for fact in facts.of_company(tx, cik, concepts=[name])
                if (first or "") <= fact.end <= (last or "9")
            ]
            theirs.sort(key=lambda fact: fact.end, reverse=True)
            rows, total = [_concept_row(tx, cik, fact) for fact in theirs[:limit]], len(theirs)
    return call.listed({"concept": name, "facts": rows, "meta": {"total": total, "limit": limit}}, {})


def aggregate(call: Call) -> Response:
    """One figure of each company for a calendar year or quarter, added up."""
    body = call.body
    found = _PERIOD.fullmatch(body["period"])
    if found is None:
        raise invalid_param("period", "period is neither a year nor a quarter.", expected="2024 or 2024Q3")
    year, quarter = int(found[1]), int(found[2]) if found[2] else None
    sector = body.get("sector")
    if sector is not None:
        sector = sectors.sector_of(sectors.division(sector))
    asked = body.get("tickers") or []
    with call.app.db.read() as tx:
        concept_id, name = lookups.concept(tx, body["concept"])
        ciks = {_in_body(tx, text) for text in asked}
        made = lookups.aggregate(tx, concept_id, (year, quarter), ciks, sector)
    period = f"{year}" if quarter is None else f"{year}Q{quarter}"
    meta = {
        "sector": sector,
        "tickers": list(asked),
        "period": period,
        "dominant_unit": made.unit,
        "excluded_count": made.excluded,
    }
    return call.listed({"concept": name, "period": period, "aggregates": made.figures(), "meta": meta}, {})


def _in_body(tx: Transaction, text: str) -> int:
    """CONTRACT 2: an unknown ticker in a body is a wrong parameter."""
    try:
        return companies.find(tx, text).cik
    except ApiError as error:
        raise invalid_param("tickers", f"{text[:20]} is not known.", expected="AAPL") from error


def _accession(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    found = statements.accession(text)
    if found is None:
        raise invalid_param(name, "That is not an accession number.", expected="0000320193-25-000057")
    return found


def _cik(text: str | None) -> int | None:
    try:
        return None if text is None else int(identity.cik(text))
    except ValueError:
        raise invalid_param("cik", "That is not a CIK.", expected="320193") from None


def _value(text: str | None) -> dict[str, Any]:
    """A fact's value, or the mark that says why there is none: the filing leaves it empty."""
    if text is None:
        return {"value": None, "mark": {"status": "nil", "reason": reasons.REPORTED_NIL}}
    return {"value": Decimal(text), "mark": None}


def _xbrl_row(placed: lookups.Placed) -> dict[str, Any]:
    fact = placed.fact
    taxonomy, _, concept = fact.concept.partition(":")
    return {
        "accession_no": fact.accession,
        "cik": f"{placed.cik:010}",
        "form_type": fact.form,
        "filed_at": fact.filed,
        "taxonomy": taxonomy if concept else "",
        "concept": concept or fact.concept,
        **_value(fact.value),
        "decimals": facts.decimals_told(fact.decimals),
        "unit": fact.unit,
        "period": {"startDate": fact.start, "endDate": fact.end},
        "dimensions": [{"axis": axis, "member": member} for axis, member in fact.dims],
        "is_extension": lookups.is_extension(fact.concept),
        "source": fact.source,
    }


def _list_row(fact: facts.Fact) -> dict[str, Any]:
    return {
        "concept_qualified_name": fact.concept,
        **_value(fact.value),
        "unit": fact.unit,
        "period_start": fact.start,
        "period_end": fact.end,
        "accession_number": fact.accession,
        "form_type": fact.form,
        "filed_at": fact.filed,
    }


def _concept_row(tx: Transaction, cik: int, fact: facts.Fact | lookups.Across) -> dict[str, Any]:
    company = companies.by_cik(tx, cik)
    return {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        **_value(fact.value),
        "unit": fact.unit,
        "period_start": fact.start,
        "period_end": fact.end,
        "accession_number": fact.accession,
        "form_type": fact.form,
        "filed_at": fact.filed,
    }
