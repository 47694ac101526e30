"""The search: a page of the companies, funds and insiders found, and the few companies shown while one types."""

from __future__ import annotations

from urllib.parse import quote

from finapi.core.json import dumps
from finapi.market.statements import company_coverage
from finapi.market.statements.company_coverage import CompanyMatch
from finapi.web.html import html_tables, page_layout
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import API
from finapi.web.pages import page_access
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call

PARAMS = (Param("q", default="", empty_is_default=True),)
MAX_SUGGESTIONS, MAX_COMPANIES = 8, 50

_STANDS_FOR = (f"GET {API}/xbrl/search",)
_FUND = (("Fund", lambda one: html_tables.render_link_header(one["name"], f"/fund/{one['cik']}")), "CIK=cik")
_INSIDER = (
    ("Insider", lambda one: html_tables.render_link_header(one["name"], f"/insider/{one['cik']}")),
    "Company=latest_company",
    "CIK=cik",
)


def show_search(call: Call) -> Response:
    """What a text finds, as a page."""
    return page_access.serve_data_page(call, (*_STANDS_FOR, *(one.name for one in _others("x"))), lambda: _page(call))


def show_suggestions(call: Call) -> Response:
    """The first of them, as a document."""
    return page_access.serve_data_page(call, _STANDS_FOR, lambda: _document(call))


def _document(call: Call) -> Response:
    companies = [{**one, "url": get_company_url(one)} for one in _found(call, MAX_SUGGESTIONS)]
    return Response(200, dumps({"companies": companies}))


def _others(text: str) -> tuple[ApiCall, ApiCall]:
    """The calls that find funds and insiders."""
    return build_api_call("/form-13f/search", q=text, limit=MAX_SUGGESTIONS), build_api_call(
        "/insiders/insider/search", query=text, limit=MAX_SUGGESTIONS
    )


def _page(call: Call) -> Response:
    text = call.params["q"].strip()
    rows = _found(call, MAX_COMPANIES)
    funds, insiders = (one.answer(call) for one in _others(text)) if text else ({"results": []}, [])
    people = {one["cik"] for one in insiders if not one["is_entity"]}
    rows = [one for one in rows if one["cik"] not in people]
    columns = (
        ("Company", lambda one: html_tables.render_link_header(one["company"], get_company_url(one))),
        "Ticker=ticker",
        "CIK=cik",
    )
    found = [
        html_tables.render_grid(f"{title}: {len(found)} found", how, found)
        for title, how, found in (
            ("Companies", columns, rows),
            ("Funds", _FUND, funds["results"]),
            ("Insiders", _INSIDER, insiders),
        )
        if found
    ]
    return page_layout.render_page(
        call,
        f"Found for {text}" if text else "Search",
        page_layout.render_search_form(text, autofocus=not found),
        found or _nothing(text),
        search=False,
    )


def _nothing(text: str) -> Html | None:
    if not text:
        return None
    return h.p("No company, fund or insider has or had this ticker, CIK or name.", role="status")


def _found(call: Call, most: int) -> list[CompanyMatch]:
    text = call.params["q"].strip()
    if not text:
        return []
    with call.app.db.read() as tx:
        return company_coverage.search_companies(tx, text, most, 0)


def get_company_url(company: CompanyMatch) -> str:
    """The address of a company's page."""
    return f"/company/{quote(company['ticker'] or company['cik'], safe='')}"
