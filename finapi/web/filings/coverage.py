"""Handlers for the amount of stored data, the sections of a filing, the coverage of companies, and company search."""

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


class ReportIndexMeta(TypedDict):
    """The number of sections of a report, and of those that are statements."""

    report_count: int
    assembled_count: int


class RequestedCompany(TypedDict):
    """The requested company. All fields are None if all companies were requested."""

    ticker: str | None
    company_name: str | None
    cik: str | None


class CompanyCoverage(RequestedCompany, Coverage):
    """The amount of stored data of one company or of all, and a page of the companies."""

    companies: list[CompanyWithFacts]


class CoverageMeta(TypedDict):
    """The number of companies, and the position of the page in their list."""

    companies: int
    limit: int
    offset: int
    has_more: bool


class CompanySearchMeta(TypedDict):
    """The search text, and the number of companies on the page."""

    count: int
    query: str


class RowCounts(TypedDict):
    """The number of stored rows of each kind."""

    companies: int
    filings: int
    facts: int
    insider_transactions: int
    holdings: int
    prices: int


class StoredData(TypedDict):
    """The number of stored rows, and the times of the newest data."""

    counts: RowCounts
    last_filing_at: Time | None
    last_xbrl_run_at: Time | None
    data_version: int


class NoMeta(TypedDict):
    """Empty metadata."""


REPORT_INDEX_SHAPE = Envelope[ReportIndex, ReportIndexMeta]
COVERAGE_SHAPE = Envelope[CompanyCoverage, CoverageMeta]
SEARCH_SHAPE = Envelope[list[CompanyMatch], CompanySearchMeta]
STORED_DATA_SHAPE = Envelope[StoredData, NoMeta]

REPORT_INDEX_PARAMS = (ACCESSION,)
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
    """Return the number of stored rows by kind, and the times when the last of them arrived."""
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
    """Return the sections of a filing's XBRL, and the statements among them that can be requested.

    Raise ApiError NOT_FOUND if no XBRL of the filing is stored.
    """
    accession = call.params["accession"]
    with call.app.db.read() as tx:
        report = filed_statements.find_report_by_accession(tx, accession)
        if report is None:
            raise ApiError("NOT_FOUND", f"finapi has no XBRL documents of filing {accession}.")
        index = report_index.build_report_index(tx, report)
    meta: ReportIndexMeta = {
        "report_count": len(index["reports"]),
        "assembled_count": len(index["assembled_statements"]),
    }
    return call.success(index, meta)


def get_coverage(call: Call) -> Response:
    """Return how many filings with figures are stored, their first and last days, and a page of their companies."""
    limit = call.params["limit"]
    offset = call.params["offset"]
    company_meta: RequestedCompany = {"ticker": None, "company_name": None, "cik": None}
    with call.app.db.read() as tx:
        if call.params["ticker"] is None:
            cik = None
            coverage, company_count = company_coverage.get_total_coverage(tx)
        else:
            company = companies.resolve(tx, call.params["ticker"])
            cik = company.cik
            coverage = company_coverage.get_coverage(tx, cik)
            company_count = 1
            company_meta = {"ticker": company.ticker, "company_name": company.name, "cik": company.padded_cik}
        covered_companies = company_coverage.list_covered_companies(tx, cik, limit=limit, offset=offset)
    meta: CoverageMeta = {
        "companies": company_count,
        "limit": limit,
        "offset": offset,
        "has_more": offset + limit < company_count,
    }
    return call.success({**company_meta, **coverage, "companies": covered_companies}, meta)


def search_companies(call: Call) -> Response:
    """Return the companies that match a ticker, name or CIK, the best matches first."""
    text = call.params["q"]
    with call.app.db.read() as tx:
        matches = company_coverage.search_companies(tx, text, call.params["limit"], call.params["offset"])
    return call.success_rows(matches, {"count": len(matches), "query": text})
