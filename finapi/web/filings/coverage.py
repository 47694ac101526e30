"""What is stored, over HTTP: the sections of a filing, the coverage of a company, and companies by name."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Time
from finapi.market.reference import companies
from finapi.market.statements import company_coverage, filed_statements, report_index
from finapi.market.statements.company_coverage import CompanyMatch, CompanyWithFacts, Coverage
from finapi.market.statements.report_index import ReportIndex
from finapi.store import heartbeats
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION, OFFSET, Param, limit_param
from finapi.web.http.schema import Envelope


class IndexMeta(TypedDict):
    """How many sections a report has, and how many of them are statements."""

    report_count: int
    assembled_count: int


class CompanyCovered(TypedDict):
    """Which company, or none of all."""

    ticker: str | None
    company_name: str | None
    cik: str | None


class CompanyCoverage(CompanyCovered, Coverage):
    """How much of a company, or of all, is held, and a page of the companies themselves."""

    companies: list[CompanyWithFacts]


class CoverageMeta(TypedDict):
    """How many companies that is, and whether more follow on the page."""

    companies: int
    limit: int
    offset: int
    has_more: bool


class SearchMeta(TypedDict):
    """What was searched for, and how many were found."""

    count: int
    query: str


class RowsHeld(TypedDict):
    """How many rows of each kind are held."""

    companies: int
    filings: int
    facts: int
    insider_transactions: int
    holdings: int
    prices: int


class Held(TypedDict):
    """How much is held, and how fresh it is."""

    counts: RowsHeld
    last_filing_at: Time | None
    last_xbrl_run_at: Time | None
    data_version: int


class NoMeta(TypedDict):
    """Nothing more to say."""


INDEX = Envelope[ReportIndex, IndexMeta]
COVERAGE = Envelope[CompanyCoverage, CoverageMeta]
SEARCH = Envelope[list[CompanyMatch], SearchMeta]
HELD = Envelope[Held, NoMeta]

INDEX_PARAMS = (ACCESSION,)
COVERAGE_PARAMS = (
    Param("ticker", "ticker", help="Ticker (any spelling) or CIK; without it, of all companies.", example="AAPL"),
    limit_param(1_000, 10_000, "Companies"),
    OFFSET,
)
SEARCH_PARAMS = (
    Param("q", required=True, help="A ticker, a CIK, or a part of a name.", example="apple"),
    limit_param(10, 100, "Companies"),
    OFFSET,
)


def get_stored_counts(call: Call) -> Response:
    """How much is held by kind, and when the last of it came in."""
    with call.app.db.read() as tx:
        times = heartbeats.get_freshness(tx)
        counts = heartbeats.get_stored_counts(tx)
    return call.success(
        {
            "data_version": counts.pop("data_version"),
            "counts": counts,
            "last_filing_at": times["filing"],
            "last_xbrl_run_at": times["xbrl_run"],
        },
        {},
    )


def get_filing_sections(call: Call) -> Response:
    """The sections of a filing's XBRL, and which of them are statements that can be asked for."""
    accession = call.params["accession"]
    with call.app.db.read() as tx:
        report = filed_statements.find_report_by_accession(tx, accession)
        if report is None:
            raise ApiError("NOT_FOUND", f"finapi has no XBRL documents of filing {accession}.")
        index = report_index.build_report_index(tx, report)
    meta: IndexMeta = {"report_count": len(index["reports"]), "assembled_count": len(index["assembled_statements"])}
    return call.success(index, meta)


def get_coverage(call: Call) -> Response:
    """How much of a company is held: filings with figures, and from when to when."""
    place = {name: call.params[name] for name in ("limit", "offset")}
    named: CompanyCovered = {"ticker": None, "company_name": None, "cik": None}
    with call.app.db.read() as tx:
        if call.params["ticker"] is None:
            held, count = company_coverage.get_total_coverage(tx)
            listed = company_coverage.list_covered_companies(tx, None, **place)
        else:
            company = companies.resolve(tx, call.params["ticker"])
            held, count = company_coverage.get_coverage(tx, company.cik), 1
            listed = company_coverage.list_covered_companies(tx, company.cik, **place)
            named = {"ticker": company.ticker, "company_name": company.name, "cik": company.padded_cik}
    more = place["offset"] + place["limit"] < count
    return call.success({**named, **held, "companies": listed}, {"companies": count, **place, "has_more": more})


def search_companies(call: Call) -> Response:
    """Companies by ticker, name or CIK, the likeliest first."""
    text = call.params["q"]
    with call.app.db.read() as tx:
        found = company_coverage.search_companies(tx, text, call.params["limit"], call.params["offset"])
    return call.success_rows(found, {"count": len(found), "query": text})
