"""Parameters and members that all calls for a company's figures share.

They are separate from the series, so that a call for statements as filed does not load the modules of series.
"""

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
    """The company of an answer."""

    ticker: str | None
    cik: str
    company_name: str


def build_company_names(company: Company) -> CompanyNames:
    """Return the members that name the company of an answer."""
    return {"ticker": company.ticker, "cik": company.padded_cik, "company_name": company.name}
