"""The layout of a company's pages: the head, the tabs, and the choice of the day and basis of the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from finapi.core.days import MONTH_NAMES
from finapi.core.errors import ApiError
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.filings import filing_search
from finapi.market.holdings import funds
from finapi.market.reference import companies, sectors
from finapi.market.reference.companies import Company
from finapi.web.financials.company_params import AS_OF, BASIS
from finapi.web.html import form_fields, page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import TICKER
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall

# A form sends every field, so an empty parameter counts as not given.
PARAMS = (TICKER, replace(AS_OF, empty_is_default=True), BASIS, FORMAT)

# The tabs of a company: the last part of the path, and the title.
TABS = {
    "": "At a glance",
    "statements": "Statements",
    "financials": "Standardised",
    "charts": "Charts",
    "filings": "Filings",
    "insiders": "Insiders",
    "holders": "Holders",
    "segments": "Segments",
}
# Tabs without a form for ``as_of`` and ``basis``, and those that refuse ``as_of``.
TABS_WITHOUT_FORM = ("filings", "insiders", "holders")
TABS_WITHOUT_AS_OF = ("holders",)
ANNUAL_FALLBACK_NOTE = "No annual report is stored, so this page shows quarters."
BASIS_LABELS = {"latest": "as last reported", "original": "as first filed"}


@dataclass(frozen=True, slots=True)
class CompanyView:
    """A company with the day and the basis of the figures that a page shows."""

    company: Company
    url_name: str  # The ticker or the padded CIK in the URLs of its pages.
    as_of: str | None
    basis: str
    attributes: CompanyAttributes
    exchange: str | None
    last_filed_day: str | None
    is_fund: bool
    period_note: str = ""  # The reason why a page shows other periods than those that it shows by default.

    @property
    def as_of_arguments(self) -> dict[str, str | None]:
        """Return the parameters of API calls for the day and the basis; None for defaults."""
        return {"as_of": self.as_of, "basis": None if self.basis == "latest" else self.basis}

    def get_url(self, tab: str, **arguments: Any) -> str:
        """Return the URL of one of the company's pages, for the same day and basis."""
        return api_backed_pages.build_url(self.get_path(tab), **{**self.as_of_arguments, **arguments})

    def get_path(self, tab: str) -> str:
        """Return the path of one of the company's pages."""
        return f"/company/{quote(self.url_name, safe='')}" + (f"/{tab}" if tab else "")

    @property
    def load_argument(self) -> str | None:
        """Return the argument with which ``finapi load`` loads the company.

        None if the page shows the figures of a past day, to which loading would not add anything.
        """
        return None if self.as_of else self.company.ticker or self.company.padded_cik


BuildCalls = Callable[[Call, CompanyView], Sequence[ApiCall]]
# Returns the value of ``period`` for which a company has data: the one of the call, if it has some for that.
FindPeriod = Callable[[Call, CompanyView, Sequence[ApiCall]], str]
RenderTab = Callable[[Call, CompanyView, Sequence[ApiCall]], Response]


def get_company_view(call: Call) -> CompanyView:
    """Return the company that the path names. Raise UNKNOWN_TICKER (404) if there is none."""
    text = call.params["ticker"]
    with call.app.db.read() as tx:
        company = companies.resolve(tx, text)
        newest_positions = filing_search.list_positions(
            tx, filing_search.FilingQuery((company.cik,)), filing_search.PageRequest(1)
        )
        attributes = companies.get_attributes(tx, company.cik)
        exchange = companies.find_exchange(tx, company.cik)
        is_fund = funds.find_name(tx, company.cik) is not None
    return CompanyView(
        company=company,
        url_name=company.padded_cik if text.isdigit() or company.ticker is None else company.ticker,
        as_of=call.params.get("as_of"),
        basis=call.params.get("basis", "latest"),
        attributes=attributes,
        exchange=exchange,
        last_filed_day=newest_positions[0].filed_at or None if newest_positions else None,
        is_fund=is_fund,
    )


def serve_tab(
    call: Call,
    build_calls: BuildCalls,
    render: RenderTab,
    serve_csv: RenderTab | None = None,
    find_period: FindPeriod | None = None,
) -> Response:
    """Return a page of a company, rendered from API calls.

    The CSV of the page has the rows of the first call unless ``serve_csv`` is given. A company that is not known gets a
    page that says how to load it. If the visitor has not chosen a period, ``find_period`` may replace the annual one.
    """
    if call.app.config.pages == "off":
        return api_backed_pages.serve_api_page(call, (), partial(Response, 404, b""))
    try:
        view = get_company_view(call)
    except ApiError as error:
        text = call.params["ticker"]
        if call.params.get("as_of") and error.code == "UNKNOWN_TICKER":
            message = f"No stored document of {text} was filed by {call.params['as_of']}."
            return page_layout.render_page(call, "Not known then", h.p(message, role="alert"), status=404)
        return api_backed_pages.render_missing_page(call, error, str(text).upper(), text)
    api_calls = build_calls(call, view)
    if serve_csv is not None and call.params["format"] == "csv":
        route_names = [api_call.route_name for api_call in api_calls]
        return page_access.serve_data_page(call, route_names, lambda: serve_csv(call, view, api_calls))

    def render_stored_period() -> Response:
        if find_period is None or "period" in call.request.query:
            return render(call, view, api_calls)
        period = find_period(call, view, api_calls)
        if period == call.params["period"]:
            return render(call, view, api_calls)
        period_call = call._replace(params={**call.params, "period": period})
        period_view = replace(view, period_note=ANNUAL_FALLBACK_NOTE)
        return render(period_call, period_view, build_calls(period_call, period_view))

    return api_backed_pages.serve_api_page(call, api_calls, render_stored_period)


def find_series_period(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> str:
    """Return the period of the first call, a series, or "Q" if it has no rows and the quarterly series has some."""
    try:
        meta = api_calls[0].get_answer(call)["meta"]
    except ApiError as error:
        if error.code not in api_backed_pages.MISSING_DATA_CODES:
            raise
        meta = {}
    available = meta.get("empty", {}).get("available", [])
    stored_periods = [series["period"] for series in available]
    return "Q" if "Q" in stored_periods and "A" not in stored_periods else call.params["period"]


def render_tab(
    call: Call, view: CompanyView, tab: str, *body: Child, status: int = 200, kept_params: Sequence[str] = ()
) -> Response:
    """Return the page of a tab. ``kept_params`` stay when the visitor changes the day or the basis."""
    company = view.company
    title = TABS.get(tab, tab.capitalize())
    links = []
    for name, tab_title in TABS.items():
        url = view.get_path(name) if name in TABS_WITHOUT_AS_OF else view.get_url(name)
        links.append(h.a(tab_title, href=url, aria_current="page" if name == tab else None))
    document_title = f"{company.name} ({company.ticker or company.padded_cik}): {title}"
    head = h.header(h.h1(company.name), h.p(_list_attributes(view), class_="quiet"), class_="subject")
    as_of_form = tab not in TABS_WITHOUT_FORM and _render_as_of_form(call, view, tab, kept_params)
    period_note = view.period_note and h.p(view.period_note, class_="note", role="status")
    content = (head, h.nav(links, class_="tabs", aria_label="Company"), as_of_form, period_note, *body)
    return page_layout.render_page(call, document_title, *content, wide=True, status=status, scripts=("panel.js",))


def render_missing_tab(
    call: Call, view: CompanyView, tab: str, error: ApiError, kept_params: Sequence[str] = ()
) -> Response:
    """Return the page of a tab whose data are not stored. Raise an error that is not about missing data."""
    note = api_backed_pages.render_missing_note(error, view.load_argument)
    return render_tab(call, view, tab, note, status=error.status, kept_params=kept_params)


def render_empty_note(view: CompanyView, text: str) -> Html:
    """Return a note that a list or table is empty, with a hint on how to load the company."""
    hint = api_backed_pages.render_load_hint(view.load_argument or "")
    return h.p(text, " ", hint, class_="note", role="status")


def render_choice(
    view: CompanyView, tab: str, label: str, current: str, choices: dict[str, str], param: str, **arguments: Any
) -> Html:
    """Return links between the views of a tab, the current one marked.

    ``choices`` maps the values of ``param`` to texts; ``arguments`` are the other parameters of the links.
    """
    links = []
    for key, text in choices.items():
        url = view.get_url(tab, **{**arguments, param: key})
        links.append(h.a(text, href=url, aria_current="true" if key == current else None))
    return h.nav(links, class_="choice", aria_label=label)


def _list_attributes(view: CompanyView) -> list[Child]:
    """Return the line under a company's name: exchange, industry, CIK and so on, as far as they are known."""
    company, attributes = view.company, view.attributes
    sector, industry = sectors.get_names_of_sic(attributes.sic)
    month = _get_fiscal_year_end_month(attributes.fiscal_year_end or "")
    parts = [
        company.ticker and h.b(company.ticker),
        view.exchange,
        industry or sector,
        f"CIK {company.padded_cik}",
        month and f"fiscal year ends in {month}",
        view.last_filed_day and f"last filing {view.last_filed_day}",
        view.is_fund and h.a("what it holds", href=f"/fund/{company.padded_cik}"),
    ]
    known_parts = [part for part in parts if part]
    return [[" · " if index else "", part] for index, part in enumerate(known_parts)]


def _get_fiscal_year_end_month(month_and_day: str) -> str:
    """Return the name of the month of a text such as "0930", or "" if there is none."""
    digits = month_and_day[:2]
    return MONTH_NAMES[int(digits) - 1] if digits.isdigit() and 0 < int(digits) <= 12 else ""


def _render_as_of_form(call: Call, view: CompanyView, tab: str, kept_params: Sequence[str]) -> Html:
    hidden_fields = []
    for name in kept_params:
        if call.params[name]:
            hidden_fields.append(h.input(type="hidden", name=name, value=str(call.params[name])))
    return h.form(
        hidden_fields,
        form_fields.render_input("As of", "as_of", view.as_of, "date"),
        form_fields.render_select("Figures", "basis", view.basis, BASIS_LABELS),
        h.button("Show"),
        any(view.as_of_arguments.values()) and h.a("Today's view", href=view.get_path(tab)),
        action=view.get_path(tab),
        class_="filters",
        aria_label="As of",
    )
