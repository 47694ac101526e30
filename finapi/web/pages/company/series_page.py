"""The standardised series of a company: a statement of the template, or ratios, period by period."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from finapi.core.errors import ApiError
from finapi.market.financials import metric_dictionary
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import html_tables
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.tables import render_csv
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout
from finapi.web.pages.company.company_layout import CompanyView

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
MAX_PERIODS = 10  # periods side by side

# Ratios that are read in per cent; the others are multiples, days or months.
_PER_CENT = ("profitability", "returns", "growth")
_PARTS = ("payout_ratio", "retention_ratio", "capex_to_revenue", "working_capital_to_revenue")
_FOOTING = {
    "consistent": "The totals add up.",
    "inconsistent": "Not every total adds up; a figure's proof shows the difference.",
    "unchecked": "The totals could not be checked.",
}


def show_series(call: Call) -> Response:
    """The page at ``/company/{ticker}/financials``."""
    return company_layout.serve_tab(call, _asks, _page)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    params = call.params
    given = {"ticker": one.named, "period": params["period"], "limit": MAX_PERIODS, **one.when}
    if params["statement"] == "ratios":
        return (build_api_call("/xbrl/timeseries", **given, metrics=tuple(_ratios())),)
    return (build_api_call("/xbrl/timeseries", **given, template=True),)


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    params = call.params
    period, statement = params["period"], params["statement"]
    views = (
        company_layout.render_choice(one, "financials", "Statement", statement, STATEMENTS, "statement", period=period),
        company_layout.render_choice(one, "financials", "Period", period, PERIODS, "period", statement=statement),
    )
    keep = ("period", "statement")
    try:
        answer = asks[0].answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "financials", error, keep)
    rows: list[Row] = answer["data"]["rows"]
    body: Child = h.p(
        f"No {PERIODS[period].lower()} period is held. ",
        api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
        class_="note",
        role="status",
    )
    if rows:
        body = _table(one, rows, statement, period, answer["data"]["reporting_currency"])
    made_up = answer["meta"]["price_source"] == "synthetic" and statement == "ratios"
    note = made_up and h.p("Prices are made up, and so are figures computed from them.", class_="quiet")
    source = api_backed_pages.render_source_note(
        call, *asks, csv=one.address("financials", period=period, statement=statement, format="csv")
    )
    return company_layout.render_tab(
        call, one, "financials", h.div(*views, class_="views"), body, note, source, keep=keep
    )


def _table(one: CompanyView, rows: Sequence[Row], statement: str, period: str, currency: str) -> Html:
    lines = _lines(rows, statement)
    money = [row["metrics"].get(key) for row in rows for key, *_ in lines if _unit(key) == "currency"]
    scale, reasons = html_tables.choose_scale(money), html_tables.ReasonLegend()
    made = []
    for key, label, level, ruled in lines:
        cells = [_cell(one, row, key, period, scale, reasons, statement) for row in rows]
        if statement != "ratios" and all("none" in cell[:20] for cell in cells):
            continue
        name = h.th(label, scope="row", class_=f"l{level}" if level else None)
        made.append(h.tr(name, cells, class_="total" if ruled else None))
    head = [h.th("", h.span("Figure", class_="unseen"), scope="col")]
    head += [h.th(format_period(row), h.small(row["period_end"]), scope="col") for row in rows]
    said = STATEMENTS[statement]
    caption = (
        said if statement == "ratios" else f"{said}. {scale.of(currency)} and of shares, except per-share figures."
    )
    footing = (
        {row["template"][statement]["footing_status"] for row in rows}
        if statement in rows[0].get("template", {})
        else set()
    )
    note = next((text for status, text in reversed(_FOOTING.items()) if status in footing), "")
    return h.section(
        html_tables.render_table(caption, head, made, class_="fig series", label=said),
        note and h.p(note, " Every figure links to its proof.", class_="quiet"),
        reasons.legend(),
    )


def _lines(rows: Sequence[Row], statement: str) -> list[tuple[str, str, int, bool]]:
    if statement == "ratios":
        return [(key, label, 0, False) for key, label in _ratios().items()]
    lines = rows[0]["template"].get(statement, {"lines": []})["lines"]
    deepest = max((line["level"] for line in lines), default=0)
    return [(one["key"], one["label"], one["level"] if deepest else 0, one["is_subtotal"]) for one in lines]


def _cell(
    one: CompanyView,
    row: Row,
    key: str,
    period: str,
    scale: html_tables.Scale,
    reasons: html_tables.ReasonLegend,
    statement: str,
) -> Html:
    line = _filled(row, statement).get(key, {})
    value = row["metrics"].get(key, line.get("value"))
    if value is None:
        hole = row.get("holes", {}).get(key, {})
        return reasons.mark(hole.get("reason_code") or line.get("reason_code") or "not_reported")
    text = format_metric(key, value, scale)
    # What a template leaves over beside its lines is no metric, and has no proof of its own.
    if find_definition(key) is None:
        return html_tables.render_figure_cell(text, value)
    # Short, as there are hundreds: relative to this page.
    return html_tables.render_figure_cell(
        h.a(text, href=api_backed_pages.build_url(build_proof_path(key, period, row), **one.when)), value
    )


def _filled(row: Row, statement: str) -> dict[str, Any]:
    return {line["key"]: line for line in row.get("template", {}).get(statement, {"lines": []})["lines"]}


def build_proof_path(key: str, period: str, row: Row) -> str:
    """Where the proof of a cell stands, beside the other pages of the company: "proof/revenue/A2024FY"."""
    return f"proof/{key}/{period}{row['fiscal_year']}{row['fiscal_period']}"


def format_period(row: Row) -> str:
    """How people name a period: "2024", "Q3 2024"."""
    of_year = row["fiscal_period"]
    return str(row["fiscal_year"]) if of_year == "FY" else f"{of_year} {row['fiscal_year']}"


def get_metric_label(key: str) -> str:
    """How a metric or ratio is called."""
    return getattr(find_definition(key), "label", key)


def split_camel_case(name: str) -> str:
    """The words of a name in capitals: "ProductOrService" as "Product or service", "IPhone" as "iPhone"."""
    words = re.findall(r"^I[A-Z][a-z]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name) or [name]
    words[0] = re.sub(r"^I(?=[A-Z][a-z])", "i", words[0])
    return " ".join([words[0], *(word if word.isupper() else word.lower() for word in words[1:])])


def format_metric(key: str, value: Decimal | int, scale: html_tables.Scale) -> str:
    """A figure of a metric or ratio as it is read."""
    unit = _unit(key)
    if unit == "per_share":
        return html_tables.format_per_share(value)
    if unit == "ratio":
        return (
            html_tables.format_percentage(value) if key in _shares_of_hundred() else html_tables.format_multiple(value)
        )
    return (
        html_tables.format_money(value, scale) if unit in ("currency", "shares") else html_tables.format_number(value)
    )


def _unit(key: str) -> str:
    return getattr(find_definition(key), "units", "currency")


@cache
def _ratios() -> dict[str, str]:
    return {one["key"]: one["label"] for one in metric_dictionary.list_entries("ratio")}


@cache
def _shares_of_hundred() -> frozenset[str]:
    return frozenset(
        one["key"]
        for one in metric_dictionary.list_entries("ratio")
        if one["category"] in _PER_CENT or "yield" in one["key"] or one["key"] in _PARTS
    )


def serve_rows_as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], file: str) -> Response:
    """Rows as a file."""
    return api_backed_pages.name_download(Response(200, render_csv(names, rows), "text/csv; charset=utf-8"), file)
