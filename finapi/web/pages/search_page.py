"""The search: a page of companies, funds and insiders, and suggestions while the visitor types.

An exact ticker or CIK leads to its page: that of a company, a manager or an insider, or the portfolio of a mutual fund
or ETF. A form type at the end of a text, as in "apple inc 10-k", leads to the filings of that form by the company that
the other words find.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.market.demo import demo_companies
from finapi.market.funds import fund_classes
from finapi.market.funds.fund_classes import ReportingFund
from finapi.market.holdings import funds
from finapi.market.insiders import names
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.market.statements import company_coverage
from finapi.market.statements.company_coverage import CompanyMatch
from finapi.store.db import Transaction
from finapi.web.html import html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import API
from finapi.web.pages import api_backed_pages, page_access, session_cookie
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call, build_url

PARAMS = (Param("q", default="", empty_is_default=True),)
MAX_SUGGESTIONS = 8
MAX_COMPANIES = 50

# The API route that returns the same companies as the search.
_COMPANY_ROUTES = (f"GET {API}/xbrl/search",)

# Form types that are recognised after a name, also without their hyphens and spaces: "10k", "def14a".
_FORM_TYPES = (
    *("10-K", "10-Q", "8-K", "6-K", "20-F", "40-F", "11-K", "S-1", "S-3", "S-4", "S-8", "13F-HR", "13F-NT", "144"),
    *("DEF 14A", "SC 13D", "SC 13G", "SCHEDULE 13D", "SCHEDULE 13G"),
)
# Form types that are recognised only after the word "form".
_NUMBERED_FORM_TYPES = ("3", "4", "5")
_MAX_FORM_TYPE_WORDS = 2

_COMPANY_COLUMNS = (
    GridColumn("Company", lambda company: html_tables.render_link_header(company["company"], get_company_url(company))),
    GridColumn("Ticker", "ticker"),
    GridColumn("CIK", "cik"),
)
_FUND_COLUMNS = (
    GridColumn("Fund", lambda fund: html_tables.render_link_header(fund["name"], f"/fund/{fund['cik']}")),
    GridColumn("CIK", "cik"),
)
_INSIDER_COLUMNS = (
    GridColumn(
        "Insider", lambda insider: html_tables.render_link_header(insider["name"], f"/insider/{insider['cik']}")
    ),
    GridColumn("Company", "latest_company"),
    GridColumn("CIK", "cik"),
)


class SearchText(NamedTuple):
    """A text that a visitor searches for: the name, ticker or CIK, and the form type after it, if there is one."""

    name: str
    form_type: str | None


def parse_search_text(text: str) -> SearchText:
    """Return the parts of a text: "apple inc 10k/a" is the name "apple inc" with the form type "10-K/A"."""
    words = text.split()
    for count in range(_MAX_FORM_TYPE_WORDS, 0, -1):
        form_type = _find_form_type("".join(words[-count:]))
        name_words = words[:-count]
        is_after_form = bool(name_words) and name_words[-1].lower() == "form"
        if is_after_form:
            name_words.pop()
        if form_type is None or not name_words or (form_type in _NUMBERED_FORM_TYPES and not is_after_form):
            continue
        return SearchText(" ".join(name_words), form_type)
    return SearchText(" ".join(words), None)


def _find_form_type(text: str) -> str | None:
    """Return the form type that a text stands for, or None."""
    key = _get_letters(text)
    for form_type in (*_FORM_TYPES, *_NUMBERED_FORM_TYPES):
        for spelling in (form_type, f"{form_type}/A"):
            if key == _get_letters(spelling):
                return spelling
    return None


def _get_letters(text: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", text.upper())


def show_search(call: Call) -> Response:
    """Return the page of the companies, funds and insiders that a text finds, or a redirect to the page that it names.

    An exact ticker or CIK names a page, and so does a form type after a text that finds one company.
    """
    config = call.app.config
    if config.pages == "public" or (config.pages == "members" and call.caller is not None):
        with call.app.db.read() as tx:
            page_url = _find_page_url(tx, parse_search_text(call.params["q"]))
        if page_url is not None:
            return session_cookie.redirect(page_url, {"Cache-Control": "no-store"})
    # Only the names of the routes are needed here, so the text of the search does not matter.
    other_routes = [_build_fund_search("x").route_name, _build_insider_search("x").route_name]
    return page_access.serve_data_page(call, (*_COMPANY_ROUTES, *other_routes), lambda: _render_search(call))


def show_suggestions(call: Call) -> Response:
    """Return the first companies that a text finds, as JSON. The portfolio of a fund with this ticker comes first."""
    return page_access.serve_data_page(call, _COMPANY_ROUTES, lambda: _render_suggestions(call))


def get_company_url(company: CompanyMatch) -> str:
    """Return the URL of a company's page."""
    return f"/company/{quote(company['ticker'] or company['cik'], safe='')}"


def get_portfolio_url(fund: ReportingFund) -> str:
    """Return the URL of the page of a fund's positions."""
    return f"/portfolio/{fund.fund_id}"


def _get_filings_url(company: CompanyMatch, form_type: str) -> str:
    return build_url(f"{get_company_url(company)}/filings", form_type=form_type)


def _find_page_url(tx: Transaction, search: SearchText) -> str | None:
    """Return the URL of the page that a text names, or None if it is a text to search for."""
    exact_company = _find_exact_company(tx, search.name)
    if search.form_type is not None:
        matches = company_coverage.search_companies(tx, search.name, 2, 0)
        if exact_company is not None:
            matches = [_build_match(exact_company)]
        return _get_filings_url(matches[0], search.form_type) if len(matches) == 1 else None
    reporting_fund = fund_classes.find_reporting_fund(tx, search.name)
    if reporting_fund is not None:
        return get_portfolio_url(reporting_fund)
    if exact_company is None:
        return None
    # A filer without a ticker may be a fund or a person, whose own pages show more than that of a company.
    if exact_company.ticker is None and funds.find_name(tx, exact_company.cik) is not None:
        return f"/fund/{exact_company.padded_cik}"
    if exact_company.ticker is None and names.find_matches(tx, search.name, 1).insiders:
        return f"/insider/{exact_company.padded_cik}"
    return get_company_url(_build_match(exact_company))


def _find_exact_company(tx: Transaction, name: str) -> Company | None:
    """Return the company whose ticker or CIK a text is, or None."""
    try:
        return companies.resolve(tx, name)
    except ApiError as error:
        if error.code not in ("UNKNOWN_TICKER", "INVALID_PARAM"):
            raise
        return None


def _build_match(company: Company) -> CompanyMatch:
    return {"cik": company.padded_cik, "ticker": company.ticker, "company": company.name}


def _render_suggestions(call: Call) -> Response:
    public_path = call.app.config.public_path
    suggestions = [
        {**company, "url": public_path + get_company_url(company)}
        for company in _search_companies(call, MAX_SUGGESTIONS)
    ]
    with call.app.db.read() as tx:
        fund = fund_classes.find_reporting_fund(tx, call.params["q"].strip())
    if fund is not None:
        portfolio = {"cik": f"{fund.cik:010}", "ticker": None, "company": f"{fund.name}, portfolio"}
        suggestions.insert(0, {**portfolio, "url": public_path + get_portfolio_url(fund)})
    return Response(200, dumps({"companies": suggestions[:MAX_SUGGESTIONS]}))


def _build_fund_search(text: str) -> ApiCall:
    return build_api_call("/form-13f/search", q=text, limit=MAX_SUGGESTIONS)


def _build_insider_search(text: str) -> ApiCall:
    return build_api_call("/insiders/insider/search", query=text, limit=MAX_SUGGESTIONS)


def _render_search(call: Call) -> Response:
    text = " ".join(call.params["q"].split())
    search = parse_search_text(text)
    matching_companies = _search_companies(call, MAX_COMPANIES)
    matching_funds = _build_fund_search(search.name).get_answer(call)["results"] if text else []
    insiders = _build_insider_search(search.name).get_answer(call) if text else []
    # Persons who file are also found as companies. They are shown only once, as insiders.
    person_ciks = {insider["cik"] for insider in insiders if not insider["is_entity"]}
    matching_companies = [company for company in matching_companies if company["cik"] not in person_ciks]
    company_columns = list(_COMPANY_COLUMNS)
    if search.form_type is not None:
        company_columns.append(_build_filings_column(search.form_type))
    tables = []
    for title, columns, rows in (
        ("Companies", company_columns, matching_companies),
        ("Funds", _FUND_COLUMNS, matching_funds),
        ("Insiders", _INSIDER_COLUMNS, insiders),
    ):
        if rows:
            tables.append(html_tables.render_grid(f"{title}: {len(rows)} found", columns, rows))
    search_form = page_layout.render_search_form(text, autofocus=not tables)
    if not text:
        return page_layout.render_page(call, "Search", search_form, search=False)
    if not tables:
        title = f"No results for {text}"
        return page_layout.render_page(call, title, search_form, _render_no_results(call, search), search=False)
    return page_layout.render_page(call, f"Results for {text}", search_form, tables, search=False)


def _build_filings_column(form_type: str) -> GridColumn:
    return GridColumn("Filings", lambda company: h.a(f"{form_type} filings", href=_get_filings_url(company, form_type)))


def _render_no_results(call: Call, search: SearchText) -> Html:
    """Return a note that nothing matches, the scope of the search, and the ways to find or load other companies."""
    unknown = ApiError("UNKNOWN_TICKER", "No stored company, fund or insider has or had this ticker, CIK or name.")
    demo_error = demo_companies.add_companies(call.app, unknown)
    # The message of a demo says itself how companies are loaded.
    load_hint = demo_error is unknown and h.li(api_backed_pages.render_load_hint("TICKER", pronoun="other companies"))
    return h.div(
        h.p(demo_error.message, class_="note", role="status"),
        h.ul(
            h.li("The search compares tickers, CIKs, and names that contain the text, not the texts of filings."),
            h.li(
                "Texts of filings have ",
                h.a("a search of their own", href=build_url("/filings/text", q=search.name)),
                ".",
            ),
            load_hint,
        ),
    )


def _search_companies(call: Call, limit: int) -> list[CompanyMatch]:
    name = parse_search_text(call.params["q"]).name
    if not name:
        return []
    with call.app.db.read() as tx:
        return company_coverage.search_companies(tx, name, limit, 0)
