"""The search: a page of companies, funds and insiders, and suggestions while the visitor types."""

from __future__ import annotations

from urllib.parse import quote

from finapi.core.json import dumps
from finapi.market.statements import company_coverage
from finapi.market.statements.company_coverage import CompanyMatch
from finapi.web.html import html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import API
from finapi.web.pages import page_access
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call

PARAMS = (Param("q", default="", empty_is_default=True),)
MAX_SUGGESTIONS = 8
MAX_COMPANIES = 50

# The API route that returns the same companies as the search.
_COMPANY_ROUTES = (f"GET {API}/xbrl/search",)

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


def show_search(call: Call) -> Response:
    """Return the page of the companies, funds and insiders that a text finds."""
    # Only the names of the routes are needed here, so the text of the search does not matter.
    other_routes = [_build_fund_search("x").route_name, _build_insider_search("x").route_name]
    return page_access.serve_data_page(call, (*_COMPANY_ROUTES, *other_routes), lambda: _render_search(call))


def show_suggestions(call: Call) -> Response:
    """Return the first companies that a text finds, as JSON."""
    return page_access.serve_data_page(call, _COMPANY_ROUTES, lambda: _render_suggestions(call))


def get_company_url(company: CompanyMatch) -> str:
    """Return the URL of a company's page."""
    return f"/company/{quote(company['ticker'] or company['cik'], safe='')}"


def _render_suggestions(call: Call) -> Response:
    companies = [{**company, "url": get_company_url(company)} for company in _search_companies(call, MAX_SUGGESTIONS)]
    return Response(200, dumps({"companies": companies}))


def _build_fund_search(text: str) -> ApiCall:
    return build_api_call("/form-13f/search", q=text, limit=MAX_SUGGESTIONS)


def _build_insider_search(text: str) -> ApiCall:
    return build_api_call("/insiders/insider/search", query=text, limit=MAX_SUGGESTIONS)


def _render_search(call: Call) -> Response:
    text = call.params["q"].strip()
    companies = _search_companies(call, MAX_COMPANIES)
    funds = _build_fund_search(text).get_answer(call)["results"] if text else []
    insiders = _build_insider_search(text).get_answer(call) if text else []
    # Persons who file are also found as companies. They are shown only once, as insiders.
    person_ciks = {insider["cik"] for insider in insiders if not insider["is_entity"]}
    companies = [company for company in companies if company["cik"] not in person_ciks]
    tables = []
    for title, columns, rows in (
        ("Companies", _COMPANY_COLUMNS, companies),
        ("Funds", _FUND_COLUMNS, funds),
        ("Insiders", _INSIDER_COLUMNS, insiders),
    ):
        if rows:
            tables.append(html_tables.render_grid(f"{title}: {len(rows)} found", columns, rows))
    results: Child = tables or _render_no_results(text)
    search_form = page_layout.render_search_form(text, autofocus=not tables)
    title = f"Found for {text}" if text else "Search"
    return page_layout.render_page(call, title, search_form, results, search=False)


def _render_no_results(text: str) -> Html | None:
    if not text:
        return None
    return h.p("No company, fund or insider has or had this ticker, CIK or name.", role="status")


def _search_companies(call: Call, limit: int) -> list[CompanyMatch]:
    text = call.params["q"].strip()
    if not text:
        return []
    with call.app.db.read() as tx:
        return company_coverage.search_companies(tx, text, limit, 0)
