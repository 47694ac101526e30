"""The screen: a form with bounds for ratios, and the companies within them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.web.financials import screen as screens
from finapi.web.html import form_fields, html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import MILLIONS
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call
from finapi.web.pages.company import filing_list, series_page

MAX_COMPANIES = 100
FILTER_COUNT = 3
# The bounds of a filter: the field of the form, and the suffix of the API's parameter.
_BOUNDS = (("above", "gt"), ("below", "lt"))
RATIOS = tuple(sorted(param.name.removesuffix("_gt") for param in screens.PARAMS if param.name.endswith("_gt")))
PARAMS = (
    *(Param(f"ratio{index}", allowed=RATIOS, empty_is_default=True) for index in range(FILTER_COUNT)),
    *(
        Param(f"{field}{index}", "number", empty_is_default=True)
        for index in range(FILTER_COUNT)
        for field, _ in _BOUNDS
    ),
    FORMAT,
)


def show_screen(call: Call) -> Response:
    """Return the page at ``/screen``, or its companies as CSV."""
    bounds = {}
    for index in range(FILTER_COUNT):
        ratio = call.params[f"ratio{index}"]
        if ratio:
            for field, suffix in _BOUNDS:
                bounds[f"{ratio}_{suffix}"] = call.params[f"{field}{index}"]
    screen_call = build_api_call("/xbrl/screen", **bounds, limit=MAX_COMPANIES)
    if call.params["format"] == "csv":
        return page_access.serve_data_page(call, [screen_call.route_name], lambda: _serve_csv(call, screen_call))
    return api_backed_pages.serve_api_page(call, (screen_call,), lambda: _render_screen(call, screen_call))


def _render_screen(call: Call, screen_call: ApiCall) -> Response:
    answer = screen_call.get_answer(call)
    return page_layout.render_page(
        call,
        "Screen",
        _render_form(call),
        h.p("Margins, returns and growth are fractions: 0.15 is 15 %.", class_="quiet"),
        _render_companies(call, answer),
        api_backed_pages.render_source_note(call, screen_call, csv_url=filing_list.get_csv_url(call)),
        wide=True,
    )


def _render_form(call: Call) -> Html:
    labels = {"": "any", **{key: series_page.get_metric_label(key) for key in RATIOS}}
    lines = []
    for index in range(FILTER_COUNT):
        ratio_name = f"ratio{index}"
        select = form_fields.render_select("Ratio", ratio_name, call.params[ratio_name] or "", labels)
        inputs = []
        for field, _ in _BOUNDS:
            name = f"{field}{index}"
            inputs.append(form_fields.render_input(field.capitalize(), name, call.params[name], "number", step="any"))
        lines.append(h.div(select, inputs, class_="filters"))
    return h.form(lines, h.button("Screen"), action="/screen", aria_label="Ratios", class_="screen")


def _render_companies(call: Call, answer: Mapping[str, Any]) -> Html:
    companies = answer["data"]
    if not companies:
        return h.p("No company meets these conditions.", role="status")
    has_filter = any(call.params[f"ratio{index}"] for index in range(FILTER_COUNT))
    metric_keys = answer["meta"]["screen"]["metrics_returned"] if has_filter else []
    columns = (
        GridColumn("Company", _render_company),
        GridColumn("Year to", "period_end"),
        *(_build_ratio_column(key) for key in metric_keys),
    )
    return html_tables.render_grid(f"Companies found: {len(companies)}. Of their last fiscal year.", columns, companies)


def _render_company(row: Mapping[str, Any]) -> Html:
    return html_tables.render_link_header(row["ticker"] or row["cik"], f"/company/{row['cik']}")


def _build_ratio_column(key: str) -> GridColumn:
    def render_cell(row: Mapping[str, Any]) -> Html:
        ratio = row["metrics"][key]
        if ratio is None:
            return html_tables.render_number_cell(None)
        proof_url = f"/company/{row['cik']}/proof/{key}/A{row['period_end']}"
        return h.td(h.a(series_page.format_metric(key, ratio, MILLIONS), href=proof_url), class_="num")

    return GridColumn(series_page.get_metric_label(key), render_cell, numeric=True)


def _serve_csv(call: Call, screen_call: ApiCall) -> Response:
    answer = screen_call.get_answer(call)
    metric_keys = answer["meta"]["screen"]["metrics_returned"]
    rows = [{**row, **row["metrics"]} for row in answer["data"]]
    names = ["cik", "ticker", "period_end", "price_source", *metric_keys]
    return series_page.serve_rows_as_csv(names, rows, screen_call.url)
