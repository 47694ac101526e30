"""The screen: a form with conditions on figures, their growth and ratios, and the companies that meet them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from finapi.core.counts import format_count
from finapi.core.errors import ApiError, invalid_param
from finapi.market.financials.latest_years import GROWTH_SUFFIX, SCREEN_KEYS, SCREEN_PERIODS
from finapi.market.reference import companies
from finapi.web.html import form_fields, html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import MILLIONS, format_percentage
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call
from finapi.web.pages.company import filing_list, series_page
from finapi.web.pages.member.sign_in_pages import render_error

MAX_COMPANIES = 100
CONDITION_COUNT = 3
MAX_BOUND_CHARACTERS = 40
# The bounds of a condition: the field of the form, its label and the sign.
_BOUNDS = (("above", "More than", ">"), ("below", "Less than", "<"))
_PERIOD_NAMES = {"A": "Latest fiscal year", "Q": "Latest quarter", "TTM": "Latest twelve months"}
_CONDITION_FIELDS = ("ratio", *(field for field, _, _ in _BOUNDS))
PARAMS = (
    Param("period", default="A", allowed=SCREEN_PERIODS, empty_is_default=True),
    *(
        Param(f"{field}{index}", default="", empty_is_default=True)
        for index in range(CONDITION_COUNT)
        for field in _CONDITION_FIELDS
    ),
    FORMAT,
)


def show_screen(call: Call) -> Response:
    """Return the page at ``/screen``, or its companies as CSV. A wrong condition is a 400 with the form."""
    try:
        screen_call = _build_screen_call(call)
    except ApiError as error:
        refusal = error
        return page_access.serve_data_page(call, [], lambda: _render_wrong_condition(call, refusal))
    if call.params["format"] == "csv":
        return page_access.serve_data_page(call, [screen_call.route_name], lambda: _serve_csv(call, screen_call))
    return api_backed_pages.serve_api_page(call, (screen_call,), lambda: _render_screen(call, screen_call))


def _build_screen_call(call: Call) -> ApiCall:
    """Return the API call of the form's conditions. Raise INVALID_PARAM for a bound without a metric."""
    conditions: list[str] = []
    unbound_keys: list[str] = []
    for index in range(CONDITION_COUNT):
        name = call.params[f"ratio{index}"]
        bounds = {sign: call.params[f"{field}{index}"].replace(",", "").strip() for field, _, sign in _BOUNDS}
        given_bounds = {sign: bound for sign, bound in bounds.items() if bound}
        if not name:
            if given_bounds:
                bound = next(iter(given_bounds.values()))
                raise invalid_param(f"ratio{index}", f"Choose the figure that {bound[:MAX_BOUND_CHARACTERS]} limits.")
            continue
        key = _find_key(name)
        conditions += [f"{key}{sign}{bound}" for sign, bound in given_bounds.items()]
        if not given_bounds:
            unbound_keys.append(key)
    return build_api_call(
        "/xbrl/screen",
        where=tuple(conditions),
        metrics=tuple(unbound_keys),
        period=call.params["period"],
        limit=MAX_COMPANIES,
    )


def _find_key(name: str) -> str:
    """Return the key of a figure that is named by its key or its label. Return any other name in the form of a key."""
    words = name.strip().lower().replace(",", "")
    key = words.replace(" ", "_")
    return key if key in SCREEN_KEYS else _get_keys_by_label().get(words, key)


@cache
def _get_labels() -> dict[str, str]:
    """Return the label of each key that a screen knows."""
    labels = {}
    for key in SCREEN_KEYS:
        label = series_page.get_metric_label(key.removesuffix(GROWTH_SUFFIX))
        labels[key] = f"{label} growth" if key.endswith(GROWTH_SUFFIX) else label
    return labels


@cache
def _get_keys_by_label() -> dict[str, str]:
    return {label.lower().replace(",", ""): key for key, label in _get_labels().items()}


# ---- the page


def _render_screen(call: Call, screen_call: ApiCall) -> Response:
    try:
        answer = screen_call.get_answer(call)
    except ApiError as error:
        return _render_wrong_condition(call, error)
    return page_layout.render_page(
        call,
        "Screen",
        _render_form(call),
        _render_companies(call, answer),
        api_backed_pages.render_source_note(call, screen_call, csv_url=filing_list.get_csv_url(call)),
        wide=True,
        scripts=("panel.js",),
    )


def _render_wrong_condition(call: Call, error: ApiError) -> Response:
    """Return the form with its contents and the message of a wrong condition. Raise any other error."""
    if error.code != "INVALID_PARAM":
        raise error
    return page_layout.render_page(
        call, "Screen", render_error(error), _render_form(call), wide=True, status=error.status
    )


def _render_form(call: Call) -> Html:
    lines = []
    for index in range(CONDITION_COUNT):
        name = f"ratio{index}"
        inputs = [
            form_fields.render_input(
                "Figure", name, call.params[name], list="figures", placeholder="revenue", autocomplete="off"
            )
        ]
        for field, label, _ in _BOUNDS:
            content = call.params[f"{field}{index}"]
            inputs.append(
                form_fields.render_input(label, f"{field}{index}", content, maxlength=MAX_BOUND_CHARACTERS, size=8)
            )
        lines.append(h.div(inputs, class_="filters"))
    period_field = form_fields.render_select("Period", "period", call.params["period"], _PERIOD_NAMES)
    options = [h.option(label, value=key) for key, label in _get_labels().items()]
    return h.form(
        lines,
        h.div(period_field, h.button("Screen"), class_="filters"),
        h.datalist(options, id="figures"),
        h.p(
            "Amounts may have units: 250m, 1bn. They are in the currency that each company reports. Margins, returns "
            "and growth over a year are fractions: 0.15 is 15 %.",
            class_="quiet",
        ),
        action="/screen",
        aria_label="Conditions",
        class_="screen",
    )


def _render_companies(call: Call, answer: Mapping[str, Any]) -> Html:
    rows = answer["data"]
    pending_count = answer["meta"]["screen"]["pending"]
    pending = f" {_describe_pending(pending_count)}" if pending_count else ""
    if not rows:
        return h.p(f"No company meets these conditions.{pending}", role="status")
    has_conditions = any(call.params[f"ratio{index}"] for index in range(CONDITION_COUNT))
    metric_keys = answer["meta"]["screen"]["metrics_returned"] if has_conditions else []
    period = call.params["period"]
    columns = (
        GridColumn("Ticker", _render_ticker),
        GridColumn("Company", lambda row: names[row["cik"]]),
        GridColumn("Period to", "period_end"),
        *(_build_figure_column(key, period) for key in metric_keys),
    )
    with call.app.db.read() as tx:
        names = {row["cik"]: companies.get_by_cik(tx, int(row["cik"])).name for row in rows}
    remainder = " There are more." if answer["meta"]["pagination"]["has_more"] else ""
    scale = " Amounts in millions." if metric_keys else ""
    count = format_count(len(rows), "company", "companies")
    caption = f"{count}.{remainder}{pending} {_PERIOD_NAMES[period]}.{scale}"
    return html_tables.render_grid(caption, columns, rows)


def _describe_pending(count: int) -> str:
    return f"Figures of {format_count(count, 'company', 'companies')} are still being computed."


def _render_ticker(row: Mapping[str, Any]) -> Html:
    return html_tables.render_link_header(row["ticker"] or row["cik"], f"/company/{row['cik']}")


def _build_figure_column(key: str, period: str) -> GridColumn:
    is_growth = key.endswith(GROWTH_SUFFIX)
    # The growth of a figure has no proof of its own.
    proven_key = key.removesuffix(GROWTH_SUFFIX)

    def render_cell(row: Mapping[str, Any]) -> Html:
        figure = row["metrics"][key]
        if figure is None:
            return html_tables.render_number_cell(None)
        text = format_percentage(figure) if is_growth else series_page.format_metric(key, figure, MILLIONS)
        proof_url = f"/company/{row['cik']}/proof/{proven_key}/{period}{row['period_end']}"
        return h.td(h.a(text, href=proof_url), class_="num")

    return GridColumn(_get_labels()[key], render_cell, numeric=True)


def _serve_csv(call: Call, screen_call: ApiCall) -> Response:
    answer = screen_call.get_answer(call)
    pending_count = answer["meta"]["screen"]["pending"]
    if pending_count:
        message = f"{_describe_pending(pending_count)} Try again in a minute."
        raise ApiError("UNAVAILABLE", message, headers={"Retry-After": "10"})
    metric_keys = answer["meta"]["screen"]["metrics_returned"]
    rows = [{**row, **row["metrics"]} for row in answer["data"]]
    names = ["cik", "ticker", "period_end", "price_source", *metric_keys]
    return series_page.serve_rows_as_csv(names, rows, screen_call.url)
