"""Handlers for facts as filed: of a filing or a company, of one concept, and summed over companies."""

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
    Param(
        "dims", "words", help="Axes, or axes with a member (axis=member).", example="ProductOrServiceAxis=ServiceMember"
    ),
    Param("consolidated_only", "boolean", default=False, help="Only facts without dimensions.", example="true"),
    Param(
        "amendments",
        default="current",
        allowed=("current", "all"),
        help="current: leave out reports that a later report for the same period replaces.",
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
        allowed=(*sectors.list_names(), *sectors.list_divisions(), *sectors.list_common_names()),
        allows_others=True,
        help="A sector of the SIC, by name or letter, or a common sector such as Technology.",
        example="D",
    ),
    Field("tickers", "words", nullable=True, help="Only these companies.", example=["AAPL", "NFLX"]),
)


class FactPage(TypedDict):
    """The position of a page in a list of facts."""

    limit: int
    offset: int
    has_more: bool


class XbrlMeta(TypedDict):
    """The page of a list of facts."""

    pagination: FactPage
    has_more: bool


class ListMeta(WindowMeta):
    """The page of a list of facts, their total number, and the days between which their periods end."""

    date_from: Date | None
    date_to: Date | None

    total: int
    limit: int
    offset: int
    has_more: bool


class ConceptAnswer(TypedDict):
    """The facts of one concept."""

    concept: str
    facts: list[ConceptFact]
    meta: ListMeta


class AggregateMeta(TypedDict):
    """The companies, the period and the unit of an aggregate."""

    sector: str | None
    tickers: list[str]
    period: str
    dominant_unit: str | None
    excluded_count: int


class AggregateAnswer(TypedDict):
    """The sum of one concept over companies."""

    concept: str
    period: str
    aggregates: Aggregates
    meta: AggregateMeta


XBRL_SHAPE = Envelope[list[XbrlFact], XbrlMeta]
LIST_SHAPE = Envelope[list[ListedFact], ListMeta]
CONCEPT_SHAPE = Answer[ConceptAnswer]
AGGREGATE_SHAPE = Answer[AggregateAnswer]


def list_xbrl_facts(call: Call) -> Response:
    """Return the facts of a filing or company, including those with dimensions, newest filing first."""
    params = call.params
    accession, cik = params["accession"], params["cik"]
    if accession is None and cik is None:
        raise invalid_param("accession", "accession or cik is required.", expected="accession or cik")
    limit, offset = params["limit"], params["offset"]
    filters = FactFilters(
        filed_facts.list_qualified_names(params["tag"]),
        dimensioned=not params["consolidated_only"],
        dims=params["dims"] or (),
        with_conflicts=True,
    )
    with call.app.db.read() as tx:
        fact_sets = filed_facts.list_fact_sets(
            tx, accession=accession, cik=cik, as_of=params["as_of"], amendments=params["amendments"]
        )
        if not fact_sets:
            raise ApiError("NOT_FOUND", "finapi has no facts of this filing or company.")
        page, has_more = filed_facts.list_fact_page(tx, fact_sets, filters, limit=limit, offset=offset)
    meta: XbrlMeta = {
        "pagination": {"limit": limit, "offset": offset, "has_more": has_more},
        "has_more": has_more,
    }
    return call.success_rows([filed_facts.build_xbrl_fact(fact_cik, fact) for fact_cik, fact in page], meta)


def list_facts(call: Call) -> Response:
    """Return the facts without dimensions of a company or filing, newest filing first."""
    params = call.params
    limit, offset = params["limit"], params["offset"]
    accession = params["accession_number"]
    if accession is None and params["ticker"] is None:
        raise invalid_param("ticker", "ticker or accession_number is required.", expected="AAPL")
    with call.app.db.read() as tx:
        cik = None if params["ticker"] is None else companies.resolve(tx, params["ticker"]).cik
        fact_sets = filed_facts.list_fact_sets(tx, accession=accession, cik=cik)
        form = (params["form_type"] or "").strip().upper()
        if form:
            if filing_search.find_form(tx, form) is None:
                raise invalid_param(
                    "form_type", f"{form[:40]} is not a known form; use a name such as 10-K.", expected="10-K"
                )
            fact_sets = [fact_set for fact_set in fact_sets if fact_set["form"] == form]
        concepts = filed_facts.list_qualified_names(params["concept"])
        filters = FactFilters(concepts, params["date_from"], params["date_to"])
        total = sum(filed_facts.count_facts(tx, fact_set, filters) for fact_set in fact_sets)
        page, has_more = filed_facts.list_fact_page(tx, fact_sets, filters, limit=limit, offset=offset)
    meta = {"total": total, "limit": limit, "offset": offset, "has_more": has_more, **call.build_window_meta()}
    return call.success_rows([filed_facts.build_listed_fact(fact) for _, fact in page], meta)


def list_concept_facts(call: Call) -> Response:
    """Return the facts of one concept, for a company or all companies, latest period first."""
    params = call.params
    first, last = params["date_from"], params["date_to"]
    limit, offset = params["limit"], params["offset"]
    with call.app.db.read() as tx:
        concept_id, concept = filed_facts.get_concept(tx, params["concept"])
        if params["ticker"] is None:
            facts, total = filed_facts.list_concept_facts(
                tx, concept_id, first=first, last=last, limit=limit, offset=offset
            )
            rows = [filed_facts.build_concept_fact(companies.get_by_cik(tx, fact.cik), fact) for fact in facts]
        else:
            company = companies.resolve(tx, params["ticker"])
            company_facts = [
                fact
                for fact in filed_facts.list_company_facts(tx, company.cik, concepts=[concept])
                if (first or "") <= fact.end <= (last or "9")
            ]
            company_facts.sort(key=lambda fact: fact.end, reverse=True)
            total = len(company_facts)
            rows = [filed_facts.build_concept_fact(company, fact) for fact in company_facts[offset : offset + limit]]
    has_more = offset + len(rows) < total
    meta = {"total": total, "limit": limit, "offset": offset, "has_more": has_more, **call.build_window_meta()}
    return call.success_members({"concept": concept, "facts": rows, "meta": meta}, meta)


def aggregate_concept(call: Call) -> Response:
    """Return the sum of one figure of each company for a calendar year or quarter."""
    body = call.body
    year_text, _, quarter_text = body["period"].removeprefix("CY").partition("Q")
    year = int(year_text.rstrip("-"))
    quarter = int(quarter_text) if quarter_text else None
    sector = sectors.parse_filter(body["sector"]) if body.get("sector") is not None else None
    tickers = body.get("tickers") or []
    with call.app.db.read() as tx:
        concept_id, concept = filed_facts.get_concept(tx, body["concept"])
        ciks = {_resolve_ticker(tx, ticker) for ticker in tickers}
        aggregate = filed_facts.aggregate_concept(tx, concept_id, (year, quarter), ciks, sector)
    period = f"{year}" if quarter is None else f"{year}Q{quarter}"
    meta: AggregateMeta = {
        "sector": None if sector is None else sector.name,
        "tickers": list(tickers),
        "period": period,
        "dominant_unit": aggregate.unit,
        "excluded_count": aggregate.excluded,
    }
    members = {"concept": concept, "period": period, "aggregates": aggregate.aggregates, "meta": meta}
    return call.success_members(members, {})


def _resolve_ticker(tx: Transaction, ticker: str) -> int:
    """Return the CIK of a ticker in a request body. Raise INVALID_PARAM if it is unknown (DECISIONS 2)."""
    try:
        return companies.resolve(tx, ticker).cik
    except ApiError as error:
        raise invalid_param("tickers", f"{ticker[:20]} is unknown.", expected="AAPL") from error
