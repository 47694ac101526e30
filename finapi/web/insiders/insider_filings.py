"""Filings of ownership forms over HTTP (DECISIONS 8)."""

from __future__ import annotations

from finapi.core.errors import ApiError
from finapi.core.records import Date, Object
from finapi.edgar.ownership_forms import FORM_TYPES
from finapi.market.insiders import insider_forms
from finapi.market.insiders.form_positions import filing_day_number
from finapi.market.insiders.insider_forms import FormAsFiled, FormFilters, InsiderFiling
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, TICKER, Param, path_param
from finapi.web.http.schema import answer, with_windows
from finapi.web.insiders import filters
from finapi.web.insiders.filters import COMPANY, CURSOR, LIMIT, InsiderPaging

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


_DAYS = {"from_date": Date | None, "to_date": Date | None}
FILINGS = answer(data=list[InsiderFiling], meta=with_windows(pagination=InsiderPaging, **_DAYS))
FILINGS_OF_ISSUER = answer(
    data=list[InsiderFiling], meta=with_windows(pagination=InsiderPaging, company=COMPANY, **_DAYS)
)
FORM = answer(data=FormAsFiled, meta=Object)


def list_latest(call: Call) -> Response:
    """Newest filings of forms 3, 4 and 5."""
    ticker = call.params["ticker"]
    with call.app.db.read() as tx:
        narrow = _filters(call, companies.resolve(tx, ticker) if ticker else None)
        page = insider_forms.list_latest(tx, narrow)
        rows = insider_forms.build_filings(tx, page.ids)
        windows = call.build_window_meta(insider_forms.count_undated(tx, narrow))
    return call.success_rows(rows, {"pagination": filters.build_paging(call, page), **windows})


def list_by_ticker(call: Call) -> Response:
    """Newest filings about a company."""
    with call.app.db.read() as tx:
        company = companies.resolve(tx, call.params["ticker"])
        narrow = _filters(call, company)
        page = insider_forms.list_latest(tx, narrow)
        rows = insider_forms.build_filings(tx, page.ids)
        windows = call.build_window_meta(insider_forms.count_undated(tx, narrow))
    meta = {"pagination": filters.build_paging(call, page), "company": filters.build_company(company), **windows}
    return call.success_rows(rows, meta)


def get_form(call: Call) -> Response:
    """One form with both tables and every footnote."""
    accession = call.params["accession_number"]
    with call.app.db.read() as tx:
        found = insider_forms.find_form(tx, accession)
    if found is None:
        raise ApiError("NOT_FOUND", f"finapi has no ownership form {accession}.")
    return call.success(found, {})


def _filters(call: Call, company: Company | None) -> FormFilters:
    params = call.params
    first, last = params["from_date"], params["to_date"]
    return FormFilters(
        limit=params["limit"],
        offset=params["offset"],
        cursor=filters.parse_cursor(params),
        type=params["form_type"],
        issuer=company.cik if company else None,
        insider=params.get("insider_cik"),
        # Day 0 is that of forms whose filing day is unknown: it is before no day.
        since=filing_day_number(first) if first else 1 if last else None,
        until=filing_day_number(last) if last else None,
        amendment=params.get("is_amendment"),
        sector=filters.parse_sector(params),
        industry=filters.parse_industry(params),
    )
