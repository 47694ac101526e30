"""Companies that are stored: searching them, and how many of a company's filings are stored with figures."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf, build_record
from finapi.edgar import tickers
from finapi.market.reference.companies import MAX_CIK_DIGITS
from finapi.market.statements.fact_sets import SOURCE_NAMES
from finapi.store.db import Transaction

MAX_CIK = 10**MAX_CIK_DIGITS


class CompanyMatch(TypedDict):
    """A company that matches a search."""

    cik: str
    ticker: str | None
    company: str


def search_companies(tx: Transaction, text: str, limit: int, offset: int) -> list[CompanyMatch]:
    """Return a page of the companies whose ticker, name, former name or CIK matches a text, the most likely first."""
    normalised_text = " ".join(text.lower().split())
    try:
        ticker = tickers.normalise(text.strip())
    except ValueError:
        ticker = ""
    is_cik = normalised_text.isascii() and normalised_text.isdigit() and len(normalised_text) <= MAX_CIK_DIGITS
    escaped_text = re.sub(r"[\\%_]", r"\\\g<0>", normalised_text)
    rows = tx.list_rows(
        "matching_companies",
        cik=int(normalised_text) if is_cik else -1,
        ticker=ticker,
        text=normalised_text,
        like=f"%{escaped_text}%",
        limit=limit,
        offset=offset,
    )
    return [build_record(CompanyMatch, row) for row in rows]


class Coverage(TypedDict):
    """The number of filings that are stored with figures, of a company or of all companies.

    ``phase`` is ``listed`` if filings are known but no figures. ``stratum`` is the best source of a company's figures.
    """

    covered: bool
    phase: Literal["figures", "listed"]
    stratum: Annotated[str, OneOf(("xbrl", "companyfacts", "fsds"))] | None
    filings_indexed: int
    filings_total: int
    first_period: Date | None
    last_period: Date | None


def get_coverage(tx: Transaction, cik: int) -> Coverage:
    """Return the coverage of a company, with the best source and the first and last period of its figures."""
    counts = tx.find_row("coverage_of_company", cik=cik)
    period_range = tx.find_row("period_range_of_company", cik=cik)
    assert counts is not None  # Both queries aggregate, so they always return a row.
    assert period_range is not None
    coverage = _build_coverage(counts["filings"], tx.find_value("filing_count_of_company", cik=cik))
    if counts["filings"]:
        coverage["stratum"] = SOURCE_NAMES[counts["source"]]
    if period_range["first"] is not None:
        coverage["first_period"] = days.iso(period_range["first"])
        coverage["last_period"] = days.iso(period_range["last"])
    return coverage


def get_total_coverage(tx: Transaction) -> tuple[Coverage, int]:
    """Return the coverage of all companies together, and the number of companies with figures."""
    counts = tx.find_row("total_coverage")
    assert counts is not None
    return _build_coverage(counts["filings"], tx.find_value("stored_filing_count")), counts["companies"]


class CompanyWithFacts(TypedDict):
    """A company of which figures are stored."""

    ticker: str | None
    company_name: str
    cik: str
    filings_indexed: int


def list_covered_companies(tx: Transaction, cik: int | None, limit: int, offset: int) -> list[CompanyWithFacts]:
    """Return a page of the companies with figures by CIK; with ``cik`` only this one, if it has figures."""
    rows = tx.list_rows("covered_companies", first=cik or 0, last=cik or MAX_CIK, limit=limit, offset=offset)
    return [build_record(CompanyWithFacts, row) for row in rows]


def list_largest_companies(tx: Transaction, limit: int) -> list[CompanyWithFacts]:
    """Return companies with figures: those of the SEC's list of tickers, the largest first, then others by CIK."""
    listed_rows = tx.list_rows("largest_covered_companies", limit=limit)
    companies = [build_record(CompanyWithFacts, row) for row in listed_rows]
    if len(companies) < limit:
        listed_ciks = {company["cik"] for company in companies}
        others = list_covered_companies(tx, None, limit, 0)
        companies += [company for company in others if company["cik"] not in listed_ciks]
    return companies[:limit]


def _build_coverage(indexed_count: int, filing_count: int) -> Coverage:
    return {
        "covered": indexed_count > 0,
        "phase": "figures" if indexed_count else "listed",
        "stratum": None,
        "filings_indexed": indexed_count,
        "filings_total": max(indexed_count, filing_count),
        "first_period": None,
        "last_period": None,
    }
