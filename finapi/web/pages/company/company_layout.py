"""Whose pages they are: the company's head, its tabs, and the day and vintage that the whole page is as of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from finapi.core.errors import ApiError
from finapi.market.filings import filing_search
from finapi.market.holdings import funds
from finapi.market.reference import companies, sectors
from finapi.market.reference.companies import Company, CompanyAttributes
from finapi.web.financials.company_params import AS_OF, BASIS
from finapi.web.html import html_tables, page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import TICKER
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall

# An empty field of a form is one that was not filled in.
PARAMS = (TICKER, replace(AS_OF, empty_is_default=True), BASIS, FORMAT)

TABS = (
    ("", "At a glance"),
    ("statements", "Statements"),
    ("financials", "Standardised"),
    ("charts", "Charts"),
    ("filings", "Filings"),
    ("insiders", "Insiders"),
    ("holders", "Holders"),
    ("segments", "Segments"),
)
# What as_of and basis do not change.
TABS_WITHOUT_AS_OF = ("filings", "insiders", "holders")

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class CompanyView:
    """A company, how the page's address names it, and as known when."""

    company: Company
    named: str
    as_of: str | None
    basis: str
    attributes: CompanyAttributes
    newest: str | None
    fund: bool

    @property
    def when(self) -> dict[str, str | None]:
        """What the calls of a page are asked with, where it is not the default."""
        return {"as_of": self.as_of, "basis": None if self.basis == "latest" else self.basis}

    def address(self, tab: str, **more: Any) -> str:
        """The address of one of its pages, as of the same day."""
        return api_backed_pages.build_url(self.path(tab), **{**self.when, **more})

    def path(self, tab: str) -> str:
        """The same without a query."""
        return f"/company/{quote(self.named, safe='')}" + (f"/{tab}" if tab else "")


def get_company_view(call: Call) -> CompanyView:
    """The company that the path names; UNKNOWN_TICKER (404) for none."""
    text = call.params["ticker"]
    with call.app.db.read() as tx:
        company = companies.resolve(tx, text)
        named = company.padded_cik if text.isdigit() or company.ticker is None else company.ticker
        newest = filing_search.list_positions(
            tx, filing_search.FilingQuery((company.cik,)), filing_search.PageRequest(1)
        )
        told = companies.get_attributes(tx, company.cik)
        fund = funds.find_name(tx, company.cik) is not None
    as_of, basis = call.params.get("as_of"), call.params.get("basis", "latest")
    return CompanyView(company, named, as_of, basis, told, newest[0].filed_at or None if newest else None, fund)


def serve_tab(
    call: Call,
    asks: Callable[[Call, CompanyView], Sequence[ApiCall]],
    make: Callable[[Call, CompanyView, Sequence[ApiCall]], Response],
    csv: Callable[[Call, CompanyView, Sequence[ApiCall]], Response] | None = None,
) -> Response:
    """A page of a company made of these calls; how it is loaded where it is not held."""
    if call.app.config.pages == "off":
        return api_backed_pages.serve_api_page(call, (), partial(Response, 404, b""))
    try:
        subject = get_company_view(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(
            call, error, str(call.params["ticker"]).upper(), call.params["ticker"]
        )
    calls = asks(call, subject)
    if csv is not None and call.params["format"] == "csv":
        return page_access.serve_data_page(call, [one.name for one in calls], lambda: csv(call, subject, calls))
    return api_backed_pages.serve_api_page(call, calls, lambda: make(call, subject, calls))


def render_tab(
    call: Call, subject: CompanyView, name: str, *body: Child, status: int = 200, keep: Sequence[str] = ()
) -> Response:
    """The page of a tab; ``keep`` are the parameters that stay when the day or the vintage is changed."""
    company = subject.company
    title = next((said for key, said in TABS if key == name), name.capitalize())
    links = [h.a(said, href=subject.address(key), aria_current="page" if key == name else None) for key, said in TABS]
    named = f"{company.name} ({company.ticker or company.padded_cik}): {title}"
    head = h.header(h.h1(company.name), h.p(_facts(subject), class_="quiet"), class_="subject")
    when = name not in TABS_WITHOUT_AS_OF and _when(call, subject, name, keep)
    content = (head, h.nav(links, class_="tabs", aria_label="Company"), when, *body)
    return page_layout.render_page(call, named, *content, wide=True, status=status)


def render_missing_tab(
    call: Call, subject: CompanyView, name: str, error: ApiError, keep: Sequence[str] = ()
) -> Response:
    """The tab that says why there is nothing to show."""
    return render_tab(
        call,
        subject,
        name,
        api_backed_pages.render_missing_note(error, get_load_argument(subject)),
        status=error.status,
        keep=keep,
    )


def get_load_argument(subject: CompanyView) -> str | None:
    """What loads the company; None where a day of the past is what leaves it empty."""
    return None if subject.as_of else subject.company.ticker or subject.company.padded_cik


def _facts(subject: CompanyView) -> list[Child]:
    company, told = subject.company, subject.attributes
    sector, industry = sectors.for_sic(told.sic)
    end = told.fiscal_year_end or ""
    month = _MONTHS[int(end[:2]) - 1] if end[:2].isdigit() and 0 < int(end[:2]) <= 12 else ""
    named = [
        company.ticker and h.b(company.ticker),
        told.exchange,
        industry or sector,
        f"CIK {company.padded_cik}",
        month and f"fiscal year ends in {month}",
        subject.newest and f"last filing {subject.newest}",
        subject.fund and h.a("what it holds", href=f"/fund/{company.padded_cik}"),
    ]
    return [[" · " if n else "", one] for n, one in enumerate(one for one in named if one)]


def _when(call: Call, subject: CompanyView, name: str, keep: Sequence[str]) -> Html:
    kept = [h.input(type="hidden", name=key, value=str(call.params[key])) for key in keep if call.params[key]]
    said = {"latest": "as last reported", "original": "as first filed"}
    return h.form(
        kept,
        html_tables.render_input("As of", "as_of", subject.as_of, "date"),
        html_tables.render_select("Figures", "basis", subject.basis, said),
        h.button("Show"),
        any(subject.when.values()) and h.a("Today's view", href=subject.path(name)),
        action=subject.path(name),
        class_="filters",
        aria_label="As of",
    )


def render_choice(
    subject: CompanyView, name: str, label: str, current: str, choices: dict[str, str], param: str, **more: Any
) -> Html:
    """Links between the views of a tab, the current one marked."""
    links = [
        h.a(said, href=subject.address(name, **{**more, param: key}), aria_current="true" if key == current else None)
        for key, said in choices.items()
    ]
    return h.nav(links, class_="choice", aria_label=label)
