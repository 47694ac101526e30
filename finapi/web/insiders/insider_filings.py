"""Handlers for filings of ownership forms (DECISIONS 8)."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date, Object
from finapi.edgar.ownership_forms import FORM_TYPES
from finapi.market.insiders import insider_forms
from finapi.market.insiders.form_positions import compute_filing_day_number
from finapi.market.insiders.insider_forms import FormAsFiled, FormFilters, InsiderFiling
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, path_param
from finapi.web.http.schema import Envelope, WindowMeta
from finapi.web.insiders import filters
from finapi.web.insiders.filters import CURSOR, LIMIT, InsiderListMeta, ListedCompany

_FORM = Param("form_type", allowed=FORM_TYPES, help="Only this form.", example="4")
_WINDOW = (
    Param("from_date", "date", is_window=True, help="First filing day.", example="2025-01-01"),
    Param("to_date", "date", is_window=True, help="Last filing day.", example="2025-12-31"),
)
LATEST_PARAMS = (
    LIMIT,
    OFFSET,
    CURSOR,
    _FORM,
    filters.COMPANY_PARAM,
    *_WINDOW,
    Param("is_amendment", "boolean", help="Only amendments (true) or originals (false).", example="true"),
    filters.SECTOR,
    filters.INDUSTRY,
)
TICKER_PARAMS = (
    TICKER,
    LIMIT,
    OFFSET,
    CURSOR,
    _FORM,
    *_WINDOW,
    Param("insider_cik", "cik", help="Only forms of this insider.", example="0001780525"),
)
FORM_PARAMS = (
    path_param("accession_number", "accession", help="With or without dashes.", example="0001140361-26-025622"),
)


class _FilingWindow(TypedDict):
    """The window of filing days, in ``meta``."""

    from_date: Date | None
    to_date: Date | None


class InsiderFilingsMeta(InsiderListMeta, _FilingWindow, WindowMeta):
    """The page and the windows of a list of filings."""


class _IssuerListMeta(InsiderListMeta):
    company: ListedCompany


class IssuerFilingsMeta(_IssuerListMeta, _FilingWindow, WindowMeta):
    """The page, the company and the windows of a list of a company's filings."""


FILINGS = Envelope[list[InsiderFiling], InsiderFilingsMeta]
FILINGS_OF_ISSUER = Envelope[list[InsiderFiling], IssuerFilingsMeta]
FORM = Envelope[FormAsFiled, Object]


def list_latest(call: Call) -> Response:
    """Return the newest filings of forms 3, 4 and 5."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        form_filters = _build_filters(call, companies.resolve(tx, ticker) if ticker else None)
        page = insider_forms.list_latest(tx, form_filters)
        rows = insider_forms.build_filings(tx, page.ids)
        undated = insider_forms.count_undated(tx, form_filters)
    meta: InsiderFilingsMeta = {
        "pagination": filters.build_paging(call, page),
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.success_rows(rows, meta)


def list_by_ticker(call: Call) -> Response:
    """Return the newest filings about a company."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        form_filters = _build_filters(call, company)
        page = insider_forms.list_latest(tx, form_filters)
        rows = insider_forms.build_filings(tx, page.ids)
        undated = insider_forms.count_undated(tx, form_filters)
    meta: IssuerFilingsMeta = {
        "pagination": filters.build_paging(call, page),
        "company": filters.build_company(company),
        **call.build_window_meta(undated),  # type: ignore[typeddict-item]
    }
    return call.success_rows(rows, meta)


def get_form(call: Call) -> Response:
    """Return one form with both tables and all footnotes."""
    accession = call.params["accession_number"]
    with call.app.db.read() as tx:
        form = insider_forms.find_form(tx, accession)
    if form is None:
        raise ApiError("NOT_FOUND", f"finapi has no ownership form {accession}.")
    return call.success(form, {})


def _build_filters(call: Call, company: Company | None) -> FormFilters:
    params = call.params
    first_day = params["from_date"]
    last_day = params["to_date"]
    since = None
    if first_day:
        since = compute_filing_day_number(first_day)
    elif last_day:
        since = 1  # A window with only an end begins at 1, to exclude forms without a filing day (number 0).
    return FormFilters(
        limit=params["limit"],
        offset=params["offset"],
        cursor=filters.parse_cursor(params),
        type=params["form_type"],
        issuer=company.cik if company else None,
        insider=params.get("insider_cik"),
        since=since,
        until=compute_filing_day_number(last_day) if last_day else None,
        amendment=params.get("is_amendment"),
        **filters.parse_sector(params),
        industry=filters.parse_industry(params),
    )
