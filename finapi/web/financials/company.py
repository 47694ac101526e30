"""What every call for a company's figures takes and says, apart from series: statements as filed load none of those."""

from __future__ import annotations

from typing import TypedDict

from finapi.market.financials import BASES
from finapi.market.reference.companies import Company
from finapi.web.http.params import Param

AS_OF = Param("as_of", "date", help="Use only what was filed up to this date.", example="2025-12-31")
BASIS = Param(
    "basis",
    default="latest",
    allowed=BASES,
    help="Of a figure reported several times: as last reported, or first.",
    example="latest",
)


class CompanyNames(TypedDict):
    """How data names their company."""

    ticker: str | None
    cik: str
    company_name: str


def names(company: Company) -> CompanyNames:
    """How data name their company."""
    return {"ticker": company.ticker, "cik": company.padded_cik, "company_name": company.name}
