"""The filings of a company, filtered by form, item and day; the table of filings that other pages show too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.web.filings import filings
from finapi.web.html import figures
from finapi.web.html.tags import Html, h, html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import asked
from finapi.web.pages.asked import Ask, ask
from finapi.web.pages.company import subject
from finapi.web.pages.company.subject import ShownCompany

# An empty field of the form is one that was not filled in.
FILTERS = (
    Param("form_type", "words", empty_is_default=True),
    Param("items", "words", empty_is_default=True),
    Param("from_date", "date", empty_is_default=True),
    Param("to_date", "date", empty_is_default=True),
    next(one for one in filings.LIST_PARAMS if one.name == "cursor"),
)
PARAMS = (*subject.PARAMS, *FILTERS)
PAGE = 50
TEXT_SEARCH = "/filings/text"


def show(call: Call) -> Response:
    """The page at ``/company/{ticker}/filings``."""
    return subject.shown(call, _asks, _page)


def _asks(call: Call, one: ShownCompany) -> Sequence[Ask]:
    return (listed(call, ticker=one.named),)


def listed(call: Call, **more: Any) -> Ask:
    """The call for the filings that a page's filters ask for."""
    return ask("/sec/filings", **more, **{param.name: call.params[param.name] for param in FILTERS}, limit=PAGE)


def _page(call: Call, one: ShownCompany, asks: Sequence[Ask]) -> Response:
    answer = asks[0].answer(call)
    action = one.path("filings")
    return subject.tab(
        call, one, "filings", filtered(call, action, answer), asked.source(call, *asks, csv=csv_of(call))
    )


def filtered(call: Call, action: str, answer: Mapping[str, Any], *first: Html, filer: bool = False) -> Html:
    """The form of the filters at ``action``, the rows, and the way to the next page."""
    form = filter_form(call, action, "Filter", *first)
    paging = answer["meta"]["pagination"]
    total = paging["total"]
    said = figures.many(total, "filing") if paging["total_exact"] else f"More than {total:,} filings" if total else ""
    return html(
        form, rows_table(answer["data"], said, filer=filer), more(call, "Older filings", cursor=paging["next_cursor"])
    )


def filter_form(call: Call, action: str, button: str, *first: Html) -> Html:
    """The fields of a list's filters behind the ``first`` ones: forms, items where the page has them, and days."""
    params = call.params
    return h.form(
        *first,
        figures.entry("Forms", "form_type", ",".join(params["form_type"] or ()), placeholder="10-K,8-K"),
        "items" in params
        and figures.entry("Items of an 8-K", "items", ",".join(params["items"] or ()), placeholder="2.02"),
        figures.entry("Filed from", "from_date", params["from_date"], "date"),
        figures.entry("Filed to", "to_date", params["to_date"], "date"),
        h.button(button),
        action=action,
        class_="filters",
        aria_label=button,
    )


def table(call: Call, one: ShownCompany, listed: Ask) -> Html:
    """Newest filings under a heading, with the way to all of them."""
    rows = listed.answer(call)["data"]
    every = h.p(h.a("All filings", href=one.address("filings")))
    return h.section(
        h.h2("Newest filings"), rows_table(rows, "By filing date"), rows and every, asked.source(call, listed)
    )


def rows_table(rows: Sequence[Mapping[str, Any]], said: str, *, filer: bool = False) -> Html:
    """Filings as a table; with their filers where they are several companies'."""
    if not rows:
        return h.p("No filings of this kind. ", asked.how(), class_="note", role="status")
    form = ("Form", _form)
    who = [("Filer", lambda one: h.a(one["entity_name"], href=f"/company/{one['cik']}"))] if filer else []
    last = (("Items", lambda one: ", ".join(one["items"])), "Period=period_of_report", ("Document", at_sec))
    columns: Sequence[figures.GridColumn] = ("Filed=filed_date", form, *who, *last)
    return figures.grid(said, columns, rows)


def _form(one: Mapping[str, Any]) -> Html:
    link = h.a(one["form_type"] or "unknown", href=f"/filing/{one['accession_number']}")
    return h.th(link, scope="row", class_="short")


def at_sec(one: Mapping[str, Any]) -> Html:
    """The link to the SEC's copy of a filing's document, or else to its index."""
    return h.td(
        h.a("at the SEC", href=one["primary_html_url"] or one["primary_link"], rel="noreferrer"), class_="short"
    )


def csv_of(call: Call) -> str:
    """The address of the page as CSV."""
    return same(call, format="csv")


def more(call: Call, said: str, **place: Any) -> Html | None:
    """The way to the next page of a list, at the cursor or offset that is given; nothing where there is none."""
    return h.p(h.a(said, href=same(call, **place), rel="next")) if any(place.values()) else None


def same(call: Call, **other: Any) -> str:
    """The address of the page that is shown, with other parameters."""
    given = {name: values[-1] for name, values in call.request.query.items()}
    return asked.with_query(call.request.path, **{**given, **other})
