"""The standardised series of a company: a statement of the template, or ratios, period by period."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from finapi.core.errors import ApiError
from finapi.market.financials import metric_dictionary
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import html_tables, number_formats
from finapi.web.html.number_formats import Scale
from finapi.web.html.reason_legend import ReasonLegend
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.tables import render_csv
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call, build_url
from finapi.web.pages.company import company_layout
from finapi.web.pages.company.company_layout import CompanyView

# A row of a series: a period with its figures by metric.
Row = Mapping[str, Any]

STATEMENTS = {
    "income": "Income statement",
    "balance": "Balance sheet",
    "cashflow": "Cash flow",
    "comprehensive_income": "Comprehensive income",
    "ratios": "Growth, margins and ratios",
}
PERIODS = {"A": "Annual", "Q": "Quarterly", "TTM": "Twelve months"}
PERIOD = Param("period", default="A", allowed=tuple(PERIODS))
PARAMS = (*company_layout.PARAMS, PERIOD, Param("statement", default="income", allowed=tuple(STATEMENTS)))
MAX_PERIODS = 10  # Maximum number of columns of the table.

_KEPT_PARAMS = ("period", "statement")
# Categories and keys of ratios that are read as percentages; the others are multiples, days or months.
_PERCENTAGE_CATEGORIES = ("profitability", "returns", "growth")
_PERCENTAGE_KEYS = ("payout_ratio", "retention_ratio", "capex_to_revenue", "working_capital_to_revenue")
# The notes on the totals of a template, the worst status last.
_FOOTING_NOTES = {
    "consistent": "The totals add up.",
    "inconsistent": "Not every total adds up; a figure's proof shows the difference.",
    "unchecked": "The totals could not be checked.",
}


# Words that end in "and". In other names, such as "HomeandAccessories", an "and" before a capital letter is a word.
_WORDS_ENDING_IN_AND = frozenset(
    [
        "demand",
        "england",
        "expand",
        "farmland",
        "finland",
        "iceland",
        "inland",
        "ireland",
        "island",
        "mainland",
        "maryland",
        "poland",
        "scotland",
        "switzerland",
        "thailand",
        "understand",
        "zealand",
    ]
)


class SeriesLine(NamedTuple):
    """A line of the table: a metric with its label, its indentation, and whether it is a subtotal."""

    key: str
    label: str
    level: int = 0
    is_subtotal: bool = False


def show_series(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/financials``."""
    return company_layout.serve_tab(call, _build_calls, _render_page, find_period=company_layout.find_series_period)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    period, statement = call.params["period"], call.params["statement"]
    arguments = {"ticker": view.url_name, "period": period, "limit": MAX_PERIODS, **view.as_of_arguments}
    if statement == "ratios":
        return (build_api_call("/xbrl/timeseries", **arguments, metrics=tuple(_get_ratio_labels())),)
    return (build_api_call("/xbrl/timeseries", **arguments, template=True),)


def _render_page(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    period, statement = call.params["period"], call.params["statement"]
    views = (
        company_layout.render_choice(
            view, "financials", "Statement", statement, STATEMENTS, "statement", period=period
        ),
        company_layout.render_choice(view, "financials", "Period", period, PERIODS, "period", statement=statement),
    )
    try:
        answer = api_calls[0].get_answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, "financials", error, _KEPT_PARAMS)
    rows: list[Row] = answer["data"]["rows"]
    body: Child
    if rows:
        body = _render_table(view, rows, statement, period, answer["data"]["reporting_currency"])
    else:
        body = company_layout.render_empty_note(view, answer["meta"]["empty"]["reason"])
    has_synthetic_prices = answer["meta"]["price_source"] == "synthetic" and statement == "ratios"
    price_note = has_synthetic_prices and h.p(
        "Prices are made up, and so are figures computed from them.", class_="quiet"
    )
    csv_url = view.get_url("financials", period=period, statement=statement, format="csv")
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=csv_url)
    return company_layout.render_tab(
        call,
        view,
        "financials",
        h.div(*views, class_="views"),
        body,
        price_note,
        source,
        kept_params=_KEPT_PARAMS,
    )


def _render_table(view: CompanyView, rows: Sequence[Row], statement: str, period: str, currency: str) -> Html:
    lines = _list_lines(rows, statement)
    money_keys = [line.key for line in lines if _get_unit(line.key) == "currency"]
    scale = number_formats.choose_scale(row["metrics"].get(key) for row in rows for key in money_keys)
    legend = ReasonLegend()
    table_rows = []
    for line in lines:
        cells = [_render_cell(view, row, line.key, period, scale, legend, statement) for row in rows]
        # A line of a statement without any figure is left out; a ratio is not.
        if statement != "ratios" and all(_is_missing_cell(cell) for cell in cells):
            continue
        name = h.th(line.label, scope="row", class_=f"l{line.level}" if line.level else None)
        table_rows.append(h.tr(name, cells, class_="total" if line.is_subtotal else None))
    headings = [h.th("", h.span("Figure", class_="unseen"), scope="col")]
    headings += [h.th(format_period(row), h.small(row["period_end"]), scope="col") for row in rows]
    title = STATEMENTS[statement]
    if statement == "ratios":
        caption = f"{title}. Market capitalisation and other amounts: {scale.describe(currency)}."
    else:
        caption = f"{title}. {scale.describe(currency)} and of shares, except per-share figures."
    note = _describe_footing(rows, statement)
    return h.section(
        html_tables.render_table(caption, headings, table_rows, class_="fig series", label=title),
        note and h.p(note, " Every figure links to its proof.", class_="quiet"),
        legend.render(),
    )


def _is_missing_cell(cell: Html) -> bool:
    return "none" in cell[:20]


def _describe_footing(rows: Sequence[Row], statement: str) -> str:
    """Return the note for the worst status among the totals of a template, "" for ratios."""
    if statement not in rows[0].get("template", {}):
        return ""
    statuses = {row["template"][statement]["footing_status"] for row in rows}
    for status, note in reversed(_FOOTING_NOTES.items()):
        if status in statuses:
            return note
    return ""


def _list_lines(rows: Sequence[Row], statement: str) -> list[SeriesLine]:
    if statement == "ratios":
        return [SeriesLine(key, label) for key, label in _get_ratio_labels().items()]
    lines = rows[0]["template"].get(statement, {"lines": []})["lines"]
    has_levels = any(line["level"] for line in lines)
    return [
        SeriesLine(line["key"], line["label"], line["level"] if has_levels else 0, line["is_subtotal"])
        for line in lines
    ]


def _render_cell(
    view: CompanyView, row: Row, key: str, period: str, scale: Scale, legend: ReasonLegend, statement: str
) -> Html:
    line = _get_template_lines(row, statement).get(key, {})
    figure = row["metrics"].get(key, line.get("value"))
    # The remainder lines of a template ("other ...") are not metrics and have no proof.
    has_proof = find_definition(key) is not None
    # A path relative to this page keeps the page short: it has hundreds of links.
    proof_url = build_url(build_proof_path(key, period, row), **view.as_of_arguments) if has_proof else ""
    if figure is None:
        hole = row.get("holes", {}).get(key, {})
        reason_code = hole.get("reason_code") or line.get("reason_code") or "not_reported"
        return legend.render_missing_cell(reason_code, proof_url)
    text = format_metric(key, figure, scale)
    if not has_proof:
        return html_tables.render_figure_cell(text, figure)
    return html_tables.render_figure_cell(h.a(text, href=proof_url), figure)


def _get_template_lines(row: Row, statement: str) -> dict[str, Any]:
    lines = row.get("template", {}).get(statement, {"lines": []})["lines"]
    return {line["key"]: line for line in lines}


# ---- used by other pages


def build_proof_path(key: str, period: str, row: Row) -> str:
    """Return the path of a cell's proof below the company's path: "proof/revenue/A2024FY"."""
    return f"proof/{key}/{period}{row['fiscal_year']}{row['fiscal_period']}"


def format_period(row: Row) -> str:
    """Return the name of a period: "2024" or "Q3 2024"."""
    year, fiscal_period = row["fiscal_year"], row["fiscal_period"]
    return str(year) if fiscal_period == "FY" else f"{fiscal_period} {year}"


def get_metric_label(key: str) -> str:
    """Return the label of a metric or ratio."""
    return getattr(find_definition(key), "label", key)


def split_camel_case(name: str) -> str:
    """Return the words of a name: "ProductOrService" as "Product or service", "IPhone" as "iPhone"."""
    detached_name = re.sub(r"([A-Z][a-z]{2,})and(?=[A-Z])", _detach_and, name)
    words = re.findall(r"^I[A-Z][a-z]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", detached_name) or [name]
    first_word = re.sub(r"^I(?=[A-Z][a-z])", "i", words[0])
    other_words = [word if word.isupper() else word.lower() for word in words[1:]]
    return " ".join([first_word, *other_words])


def _detach_and(match: re.Match[str]) -> str:
    return match[0] if match[0].lower() in _WORDS_ENDING_IN_AND else f"{match[1]}And"


def format_metric(key: str, figure: Decimal | int, scale: Scale) -> str:
    """Return a figure of a metric or ratio as it is read; only money and shares are scaled."""
    unit = _get_unit(key)
    if unit == "per_share":
        return number_formats.format_per_share(figure)
    if unit == "ratio":
        is_percentage = key in _get_percentage_keys()
        return number_formats.format_percentage(figure) if is_percentage else number_formats.format_multiple(figure)
    if unit in ("currency", "shares"):
        return number_formats.format_money(figure, scale)
    if unit in ("days", "months"):
        return number_formats.format_one_decimal(figure)
    return number_formats.format_number(figure)


def serve_rows_as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], url: str) -> Response:
    """Return rows as a CSV file that is named after a URL."""
    response = Response(200, render_csv(names, rows), "text/csv; charset=utf-8")
    return api_backed_pages.name_download(response, url)


def _get_unit(key: str) -> str:
    return getattr(find_definition(key), "units", "currency")


@cache
def _get_ratio_labels() -> dict[str, str]:
    return {entry["key"]: entry["label"] for entry in metric_dictionary.list_entries("ratio")}


@cache
def _get_percentage_keys() -> frozenset[str]:
    keys = set()
    for entry in metric_dictionary.list_entries("ratio"):
        key = entry["key"]
        if entry["category"] in _PERCENTAGE_CATEGORIES or "yield" in key or key in _PERCENTAGE_KEYS:
            keys.add(key)
    return frozenset(keys)
