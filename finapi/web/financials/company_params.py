"""Parameters and response fields that all endpoints for a company's figures share.

They are in a separate module, so that statements as filed do not import the modules of series.
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
    help="If a figure is reported several times: latest is the last value, original the first.",
    example="latest",
)


class CompanyNames(TypedDict):
    """The company that a response is about."""

    ticker: str | None
    cik: str
    company_name: str


def build_company_names(company: Company) -> CompanyNames:
    """Return the response fields that name the company."""
    return {"ticker": company.ticker, "cik": company.padded_cik, "company_name": company.name}
