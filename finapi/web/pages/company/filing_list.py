"""A company's list of filings, with filters by form, item and day. Other pages use its table and its filters too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.counts import format_count
from finapi.web.filings import filings
from finapi.web.html import form_fields, html_tables
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call, build_url
from finapi.web.pages.company import company_layout
from finapi.web.pages.company.company_layout import CompanyView

# A form sends every field, so an empty parameter counts as not given.
FILTERS = (
    Param("form_type", "words", empty_is_default=True),
    Param("items", "words", empty_is_default=True),
    Param("from_date", "date", empty_is_default=True),
    Param("to_date", "date", empty_is_default=True),
    next(param for param in filings.LIST_PARAMS if param.name == "cursor"),
)
PARAMS = (*company_layout.PARAMS, *FILTERS)
PAGE_FILINGS = 50
TEXT_SEARCH_PATH = "/filings/text"


def show_filings(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/filings``."""
    return company_layout.serve_tab(call, _build_calls, _render_filings)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    return (build_list_call(call, ticker=view.url_name),)


def build_list_call(call: Call, **arguments: Any) -> ApiCall:
    """Return the API call that lists the filings that the page's filters select."""
    filters = {param.name: call.params[param.name] for param in FILTERS}
    return build_api_call("/sec/filings", **arguments, **filters, limit=PAGE_FILINGS)


def _render_filings(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    answer = api_calls[0].get_answer(call)
    rows = render_filtered_list(call, view.get_path("filings"), answer)
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=get_csv_url(call))
    return company_layout.render_tab(call, view, "filings", rows, source)


def render_filtered_list(
    call: Call, action: str, answer: Mapping[str, Any], *first_fields: Html, with_filer: bool = False
) -> Html:
    """Return the form of the filters, a page of filings, and the link to the next page.

    ``action`` is the path that the form is sent to; ``first_fields`` come before its other fields.
    """
    form = render_filter_form(call, action, "Filter", *first_fields)
    pagination = answer["meta"]["pagination"]
    total = pagination["total"]
    if pagination["total_exact"]:
        caption = format_count(total, "filing")
    else:
        caption = f"More than {total:,} filings" if total else ""
    if answer["data"]:
        table = render_filings_table(answer["data"], caption, with_filer=with_filer)
    else:
        table = api_backed_pages.render_empty_list(action, answer["meta"]["empty"])
    return join_html(form, table, render_next_link(call, "Older filings", cursor=pagination["next_cursor"]))


def render_filter_form(call: Call, action: str, button: str, *first_fields: Html) -> Html:
    """Return the form of a list's filters: the first fields, forms, items (if the page has them), and days."""
    params = call.params
    form_types = ",".join(params["form_type"] or ())
    items_field: Html | bool = False
    if "items" in params:
        items = ",".join(params["items"] or ())
        items_field = form_fields.render_input("Items of an 8-K", "items", items, placeholder="2.02")
    return h.form(
        *first_fields,
        form_fields.render_input("Forms", "form_type", form_types, placeholder="10-K,8-K"),
        items_field,
        form_fields.render_input("Filed from", "from_date", params["from_date"], "date"),
        form_fields.render_input("Filed to", "to_date", params["to_date"], "date"),
        h.button(button),
        action=action,
        class_="filters",
        aria_label=button,
    )


def render_newest_filings(call: Call, view: CompanyView, list_call: ApiCall) -> Html:
    """Return the section of the newest filings, with a link to all of them."""
    answer = list_call.get_answer(call)
    rows = answer["data"]
    all_link = rows and h.p(h.a("All filings", href=view.get_url("filings")))
    if rows:
        table = render_filings_table(rows, "By filing date")
    else:
        table = api_backed_pages.render_empty_list(view.get_path("filings"), answer["meta"]["empty"])
    source = api_backed_pages.render_source_note(call, list_call)
    return h.section(h.h2("Newest filings"), table, all_link, source)


def render_filings_table(rows: Sequence[Mapping[str, Any]], caption: str, *, with_filer: bool = False) -> Html:
    """Return filings as a table, with the names of their filers if they are of several companies."""
    columns = [
        GridColumn("Filed", "filed_date"),
        GridColumn("Form", _render_form_header),
        GridColumn("Items", lambda row: ", ".join(row["items"])),
        GridColumn("Period", "period_of_report"),
        GridColumn("Document", render_sec_link),
    ]
    if with_filer:
        columns.insert(2, GridColumn("Filer", _render_filer_link))
    return html_tables.render_grid(caption, columns, rows)


def _render_form_header(row: Mapping[str, Any]) -> Html:
    link = h.a(row["form_type"] or "unknown", href=f"/filing/{row['accession_number']}")
    return h.th(link, scope="row", class_="short")


def _render_filer_link(row: Mapping[str, Any]) -> Html:
    return h.a(row["entity_name"], href=f"/company/{row['cik']}")


def render_sec_link(row: Mapping[str, Any]) -> Html:
    """Return the cell with a link to the SEC's copy of a filing's document, or to its index if that is not known."""
    url = row["primary_html_url"] or row["primary_link"]
    return h.td(h.a("at the SEC", href=url, rel="noreferrer"), class_="short")


def get_csv_url(call: Call) -> str:
    """Return the URL of the current page as CSV."""
    return build_same_page_url(call, format="csv")


def render_next_link(call: Call, text: str, **position: Any) -> Html | None:
    """Return the link to the next page of a list, or None if there is none.

    ``position`` is the cursor or offset of the next page; it is empty at the end of the list.
    """
    if not any(position.values()):
        return None
    return h.p(h.a(text, href=build_same_page_url(call, **position), rel="next"))


def build_same_page_url(call: Call, **changes: Any) -> str:
    """Return the URL of the current page with some parameters changed."""
    arguments = {name: texts[-1] for name, texts in call.request.query.items()}
    arguments.update(changes)
    return build_url(call.request.path, **arguments)
