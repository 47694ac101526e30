"""Figures as filed, over HTTP: of a filing or a company, of one concept, and added up over companies."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date
from finapi.market.filings import filing_search
from finapi.market.reference import companies, sectors
from finapi.market.statements import filed_facts
from finapi.market.statements.filed_facts import Aggregates, ConceptFact, FactFilters, ListedFact, XbrlFact
from finapi.store.db import Transaction
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION, OFFSET, Field, Param, limit_param
from finapi.web.http.schema import Answer, Envelope, WindowMeta

_TICKER = Param("ticker", "ticker", help="The company, by ticker (any spelling) or CIK.", example="AAPL")
_LIMIT = limit_param(100, 1_000)
_DATES = (
    Param("date_from", "date", is_window=True, help="The earliest end of a period.", example="2024-01-01"),
    Param("date_to", "date", is_window=True, help="The latest end of a period.", example="2024-12-31"),
)

XBRL_PARAMS = (
    replace(ACCESSION, location="query", required=False),
    Param("cik", "cik", help="The company, by CIK.", example="320193"),
    Param("as_of", "date", help="Use only what was filed up to this date.", example="2025-12-31"),
    Param("tag", "words", help="Concepts, with or without taxonomy.", example="us-gaap:Assets,Revenues"),
    Param("dims", "words", help="Axes, or axes with a member.", example="ProductOrServiceAxis=ServiceMember"),
    Param("consolidated_only", "boolean", default=False, help="Only facts without dimensions.", example="true"),
    Param(
        "amendments",
        default="current",
        allowed=("current", "all"),
        help="current: without reports that a later one for the same period replaces.",
        example="all",
    ),
    _LIMIT,
    OFFSET,
)
LIST_PARAMS = (
    _TICKER,
    replace(ACCESSION, name="accession_number", location="query", required=False),
    Param("concept", "words", help="Concepts, with or without taxonomy.", example="us-gaap:Assets"),
    Param("form_type", help="Only from this form.", example="10-K"),
    *_DATES,
    _LIMIT,
    OFFSET,
)
CONCEPT_PARAMS = (
    Param("concept", required=True, help="With or without taxonomy.", example="us-gaap:Assets"),
    _TICKER,
    *_DATES,
    _LIMIT,
    OFFSET,
)
AGGREGATE_BODY = (
    Field("concept", "text", required=True, help="With or without taxonomy.", example="us-gaap:Assets"),
    Field(
        "period",
        "word",
        required=True,
        minimum=1900,
        maximum=2099,
        pattern="(?:CY)?(?:19|20)[0-9]{2}(?:-?Q[1-4])?",
        help="A calendar year or quarter: 2024, 2024Q3.",
        example="2024",
    ),
    Field(
        "sector",
        nullable=True,
        allowed=(*sectors.list_names(), *sectors.list_divisions()),
        allows_others=True,
        help="A sector of the SIC, by name or letter.",
        example="D",
    ),
    Field("tickers", "words", nullable=True, help="Only these companies.", example=["AAPL", "NFLX"]),
)


class FactPage(TypedDict):
    """Which rows of a list of facts an answer holds."""

    limit: int
    offset: int
    has_more: bool


class XbrlMeta(TypedDict):
    """The page of a list of facts."""

    pagination: FactPage
    has_more: bool


class ListMeta(WindowMeta):
    """The page of a list of figures, how many there are in all, and the ends of periods that it is narrowed to."""

    date_from: Date | None
    date_to: Date | None

    total: int
    limit: int
    offset: int
    has_more: bool


class ConceptAnswer(TypedDict):
    """The figures of one concept."""

    concept: str
    facts: list[ConceptFact]
    meta: ListMeta


class AggregateMeta(TypedDict):
    """What was added up."""

    sector: str | None
    tickers: list[str]
    period: str
    dominant_unit: str | None
    excluded_count: int


class AggregateAnswer(TypedDict):
    """One concept added up over companies."""

    concept: str
    period: str
    aggregates: Aggregates
    meta: AggregateMeta


XBRL_SHAPE = Envelope[list[XbrlFact], XbrlMeta]
LIST_SHAPE = Envelope[list[ListedFact], ListMeta]
CONCEPT_SHAPE = Answer[ConceptAnswer]
AGGREGATE_SHAPE = Answer[AggregateAnswer]


def of_xbrl(call: Call) -> Response:
    """The facts of a filing or a company, dimensions included, the last filed first."""
    params = call.params
    accession, cik = params["accession"], params["cik"]
    if accession is None and cik is None:
        raise invalid_param("accession", "accession or cik is required.", expected="accession or cik")
    dimensioned = not params["consolidated_only"]
    place = {"limit": params["limit"], "offset": params["offset"]}
    filters = FactFilters(
        filed_facts.list_qualified_names(params["tag"]), dimensioned=dimensioned, dims=params["dims"] or ()
    )
    with call.app.db.read() as tx:
        sets = filed_facts.list_fact_sets(
            tx, accession=accession, cik=cik, as_of=params["as_of"], amendments=params["amendments"]
        )
        if not sets:
            raise ApiError("NOT_FOUND", "finapi has no facts of this filing or company.")
        found, more = filed_facts.list_fact_page(tx, sets, filters, **place)
    page = {**place, "has_more": more}
    return call.success_rows(
        [filed_facts.build_xbrl_fact(*one) for one in found], {"pagination": page, "has_more": more}
    )


def listed(call: Call) -> Response:
    """The figures of a company or a filing without dimensions, the last filed first."""
    params, place = call.params, {name: call.params[name] for name in ("limit", "offset")}
    accession = params["accession_number"]
    if accession is None and params["ticker"] is None:
        raise invalid_param("ticker", "ticker or accession_number is required.", expected="AAPL")
    with call.app.db.read() as tx:
        cik = None if params["ticker"] is None else companies.resolve(tx, params["ticker"]).cik
        sets = filed_facts.list_fact_sets(tx, accession=accession, cik=cik)
        form = (params["form_type"] or "").strip().upper()
        if form and filing_search.find_form(tx, form) is None:
            raise invalid_param("form_type", "finapi knows no form with this name.", expected="10-K")
        sets = [one for one in sets if not form or one["form"] == form]
        filters = FactFilters(
            filed_facts.list_qualified_names(params["concept"]), params["date_from"], params["date_to"]
        )
        total = sum(filed_facts.count_facts(tx, one, filters) for one in sets)
        found, more = filed_facts.list_fact_page(tx, sets, filters, **place)
    meta = {"total": total, **place, "has_more": more, **call.build_window_meta()}
    return call.success_rows([filed_facts.build_listed_fact(fact) for _, fact in found], meta)


def by_concept(call: Call) -> Response:
    """The figures of one concept, of a company or of all, the latest period first."""
    params = call.params
    first, last = params["date_from"], params["date_to"]
    limit, offset = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        concept_id, name = filed_facts.get_concept(tx, params["concept"])
        if params["ticker"] is None:
            found, total = filed_facts.list_concept_facts(
                tx, concept_id, first=first, last=last, limit=limit, offset=offset
            )
            rows = [filed_facts.build_concept_fact(companies.get_by_cik(tx, one.cik), one) for one in found]
        else:
            company = companies.resolve(tx, params["ticker"])
            theirs = filed_facts.list_company_facts(tx, company.cik, concepts=[name])
            theirs = [fact for fact in theirs if (first or "") <= fact.end <= (last or "9")]
            theirs.sort(key=lambda fact: fact.end, reverse=True)
            total = len(theirs)
            rows = [filed_facts.build_concept_fact(company, fact) for fact in theirs[offset : offset + limit]]
    more = offset + len(rows) < total
    meta = {"total": total, "limit": limit, "offset": offset, "has_more": more, **call.build_window_meta()}
    return call.success_members({"concept": name, "facts": rows, "meta": meta}, meta)


def aggregate(call: Call) -> Response:
    """One figure of each company for a calendar year or quarter, added up."""
    body = call.body
    year, _, ended = body["period"].removeprefix("CY").partition("Q")
    year, quarter = int(year.rstrip("-")), int(ended) if ended else None
    sector = body.get("sector")
    if sector is not None:
        sector = sectors.parse_sector(sector)
    asked = body.get("tickers") or []
    with call.app.db.read() as tx:
        concept_id, name = filed_facts.get_concept(tx, body["concept"])
        ciks = {_in_body(tx, text) for text in asked}
        made = filed_facts.aggregate_concept(tx, concept_id, (year, quarter), ciks, sector)
    period = f"{year}" if quarter is None else f"{year}Q{quarter}"
    meta: AggregateMeta = {
        "sector": sector,
        "tickers": list(asked),
        "period": period,
        "dominant_unit": made.unit,
        "excluded_count": made.excluded,
    }
    return call.success_members({"concept": name, "period": period, "aggregates": made.aggregates, "meta": meta}, {})


def _in_body(tx: Transaction, text: str) -> int:
    """DECISIONS 2: an unknown ticker in a body is a wrong parameter."""
    try:
        return companies.resolve(tx, text).cik
    except ApiError as error:
        raise invalid_param("tickers", f"{text[:20]} is unknown.", expected="AAPL") from error
