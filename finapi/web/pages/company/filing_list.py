"""The filings of a company, filtered by form, item and day; the table of filings that other pages show too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.web.filings import filings
from finapi.web.html import html_tables
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout
from finapi.web.pages.company.company_layout import CompanyView

# An empty field of the form is one that was not filled in.
FILTERS = (
    Param("form_type", "words", empty_is_default=True),
    Param("items", "words", empty_is_default=True),
    Param("from_date", "date", empty_is_default=True),
    Param("to_date", "date", empty_is_default=True),
    next(one for one in filings.LIST_PARAMS if one.name == "cursor"),
)
PARAMS = (*company_layout.PARAMS, *FILTERS)
PAGE_ROWS = 50
TEXT_SEARCH_PATH = "/filings/text"


def show_filings(call: Call) -> Response:
    """The page at ``/company/{ticker}/filings``."""
    return company_layout.serve_tab(call, _asks, _page)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    return (build_list_call(call, ticker=one.named),)


def build_list_call(call: Call, **more: Any) -> ApiCall:
    """The call for the filings that a page's filters ask for."""
    return build_api_call(
        "/sec/filings", **more, **{param.name: call.params[param.name] for param in FILTERS}, limit=PAGE_ROWS
    )


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    answer = asks[0].answer(call)
    action = one.path("filings")
    return company_layout.render_tab(
        call,
        one,
        "filings",
        render_filtered_list(call, action, answer),
        api_backed_pages.render_source_note(call, *asks, csv=get_csv_url(call)),
    )


def render_filtered_list(call: Call, action: str, answer: Mapping[str, Any], *first: Html, filer: bool = False) -> Html:
    """The form of the filters at ``action``, the rows, and the way to the next page."""
    form = render_filter_form(call, action, "Filter", *first)
    paging = answer["meta"]["pagination"]
    total = paging["total"]
    said = (
        html_tables.format_count(total, "filing")
        if paging["total_exact"]
        else f"More than {total:,} filings"
        if total
        else ""
    )
    return join_html(
        form,
        render_filings_table(answer["data"], said, filer=filer),
        render_next_link(call, "Older filings", cursor=paging["next_cursor"]),
    )


def render_filter_form(call: Call, action: str, button: str, *first: Html) -> Html:
    """The fields of a list's filters behind the ``first`` ones: forms, items where the page has them, and days."""
    params = call.params
    return h.form(
        *first,
        html_tables.render_input("Forms", "form_type", ",".join(params["form_type"] or ()), placeholder="10-K,8-K"),
        "items" in params
        and html_tables.render_input("Items of an 8-K", "items", ",".join(params["items"] or ()), placeholder="2.02"),
        html_tables.render_input("Filed from", "from_date", params["from_date"], "date"),
        html_tables.render_input("Filed to", "to_date", params["to_date"], "date"),
        h.button(button),
        action=action,
        class_="filters",
        aria_label=button,
    )


def render_newest_filings(call: Call, one: CompanyView, listed: ApiCall) -> Html:
    """Newest filings under a heading, with the way to all of them."""
    rows = listed.answer(call)["data"]
    every = h.p(h.a("All filings", href=one.address("filings")))
    return h.section(
        h.h2("Newest filings"),
        render_filings_table(rows, "By filing date"),
        rows and every,
        api_backed_pages.render_source_note(call, listed),
    )


def render_filings_table(rows: Sequence[Mapping[str, Any]], said: str, *, filer: bool = False) -> Html:
    """Filings as a table; with their filers where they are several companies'."""
    if not rows:
        return h.p("No filings of this kind. ", api_backed_pages.render_load_hint(), class_="note", role="status")
    form = ("Form", _form)
    who = [("Filer", lambda one: h.a(one["entity_name"], href=f"/company/{one['cik']}"))] if filer else []
    last = (("Items", lambda one: ", ".join(one["items"])), "Period=period_of_report", ("Document", render_sec_link))
    columns: Sequence[html_tables.GridColumn] = ("Filed=filed_date", form, *who, *last)
    return html_tables.render_grid(said, columns, rows)


def _form(one: Mapping[str, Any]) -> Html:
    link = h.a(one["form_type"] or "unknown", href=f"/filing/{one['accession_number']}")
    return h.th(link, scope="row", class_="short")


def render_sec_link(one: Mapping[str, Any]) -> Html:
    """The link to the SEC's copy of a filing's document, or else to its index."""
    return h.td(
        h.a("at the SEC", href=one["primary_html_url"] or one["primary_link"], rel="noreferrer"), class_="short"
    )


def get_csv_url(call: Call) -> str:
    """The address of the page as CSV."""
    return build_same_page_url(call, format="csv")


def render_next_link(call: Call, said: str, **place: Any) -> Html | None:
    """The way to the next page of a list, at the cursor or offset that is given; nothing where there is none."""
    return h.p(h.a(said, href=build_same_page_url(call, **place), rel="next")) if any(place.values()) else None


def build_same_page_url(call: Call, **other: Any) -> str:
    """The address of the page that is shown, with other parameters."""
    given = {name: values[-1] for name, values in call.request.query.items()}
    return api_backed_pages.build_url(call.request.path, **{**given, **other})
