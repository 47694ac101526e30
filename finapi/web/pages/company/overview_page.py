"""The overview of a company: its key figures with sparklines of ten years, two charts and its newest filings.

A company without a fiscal year gets the figures of its quarters instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from finapi.core.errors import ApiError
from finapi.web.html import charts, html_tables, number_formats
from finapi.web.html.number_formats import Scale
from finapi.web.html.reason_legend import ReasonLegend
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import charts_page, company_layout, filing_list
from finapi.web.pages.company.company_layout import CompanyView
from finapi.web.pages.company.series_page import (
    Row,
    build_proof_path,
    format_metric,
    format_period,
    get_metric_label,
)

PARAMS = company_layout.PARAMS

METRIC_KEYS = (
    "revenue",
    "revenue_growth_yoy",
    "gross_margin",
    "operating_income",
    "operating_margin",
    "net_income",
    "net_margin",
    "eps_diluted",
    "free_cashflow",
    "cash_and_equivalents",
    "total_debt",
    "total_equity",
    "roe",
    "market_cap",
    "pe_ratio",
)
MAX_YEARS = 10
MAX_QUARTERS = 12
MAX_FILINGS = 10


_PERIOD_NAMES = {"TTM": "Twelve months", "A": "Fiscal year", "Q": "Quarter"}


class PeriodFigures(NamedTuple):
    """The figures of one period, as a row of the series, and the kind of the period ("A", "Q" or "TTM")."""

    row: Row
    kind: str


def show_overview(call: Call) -> Response:
    """Return the page at ``/company/{ticker}``."""
    return company_layout.serve_tab(call, _build_calls, _render_page)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    return (
        _build_series_call(view, years=MAX_YEARS),
        _build_series_call(view, period="TTM", period_offset=0),
        build_api_call("/sec/filings", ticker=view.url_name, to_date=view.as_of, limit=MAX_FILINGS),
    )


def _build_series_call(view: CompanyView, **selection: Any) -> ApiCall:
    metrics = tuple(dict.fromkeys((*METRIC_KEYS, *charts_page.OVERVIEW_KEYS)))
    return build_api_call(
        "/xbrl/timeseries",
        ticker=view.url_name,
        metrics=metrics,
        provenance="summary",
        **view.as_of_arguments,
        **selection,
    )


def _render_page(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    years_call, twelve_months_call, filings_call = api_calls
    newest_filings = filing_list.render_newest_filings(call, view, filings_call)
    try:
        answer = years_call.get_answer(call)
    except ApiError as error:
        note = api_backed_pages.render_missing_note(error, view.load_argument)
        return company_layout.render_tab(call, view, "", note, newest_filings)
    kind, series_call = "A", years_call
    if not answer["data"]["rows"]:
        quarters_call = _build_series_call(view, period="Q", limit=MAX_QUARTERS)
        quarters_answer = quarters_call.get_answer(call)
        if quarters_answer["data"]["rows"]:
            kind, series_call, answer = "Q", quarters_call, quarters_answer
            view = replace(view, period_note=company_layout.ANNUAL_FALLBACK_NOTE)
    rows: list[Row] = answer["data"]["rows"]
    currency = answer["data"]["reporting_currency"]
    periods = [PeriodFigures(rows[0], kind)] if rows else []
    twelve_months = _find_twelve_months(call, twelve_months_call)
    if twelve_months is not None:
        periods.insert(0, PeriodFigures(twelve_months, "TTM"))
    if not periods:
        note = company_layout.render_empty_note(view, answer["meta"]["empty"]["reason"])
        return company_layout.render_tab(call, view, "", note, newest_filings)
    has_synthetic_prices = answer["meta"]["price_source"] == "synthetic"
    key_figures = _render_key_figures(view, periods, rows, currency, has_synthetic_prices)
    oldest_first = rows[::-1]
    overview_charts = [
        charts_page.render_revenue_chart(oldest_first, currency),
        charts_page.render_cash_flow_chart(oldest_first, currency),
    ]
    source = api_backed_pages.render_source_note(
        call, series_call, twelve_months_call, csv_url=view.get_url("", format="csv")
    )
    columns = h.div(key_figures, h.div(overview_charts), class_="columns")
    return company_layout.render_tab(call, view, "", columns, source, newest_filings)


def _find_twelve_months(call: Call, twelve_months_call: ApiCall) -> Row | None:
    """Return the latest twelve months if they have revenue or net income, else None."""
    rows: list[Row] = twelve_months_call.get_answer(call)["data"]["rows"]
    if not rows:
        return None
    metrics = rows[0]["metrics"]
    has_figures = any(metrics[key]["value"] is not None for key in ("revenue", "net_income"))
    return rows[0] if has_figures else None


def _render_key_figures(
    view: CompanyView, periods: Sequence[PeriodFigures], rows: Sequence[Row], currency: str, has_synthetic_prices: bool
) -> Html:
    """Return the table of the key figures: the latest period, the last year or quarter if it is another one, the trend.

    ``rows`` are the years or quarters of the trend, the newest first.
    """
    latest = periods[0]
    legend = ReasonLegend()
    cells = latest.row["metrics"].values()
    scale = number_formats.choose_scale(cell["value"] for cell in cells if cell["unit"] == currency)
    lines = [_render_line(view, periods, rows, key, scale, legend) for key in METRIC_KEYS]
    period_name = _PERIOD_NAMES[latest.kind]
    caption = f"{period_name} to {latest.row['period_end']}. {scale.describe(currency)}, except per-share figures."
    other_headings = [
        f"Fiscal {format_period(period.row)}" if period.kind == "A" else format_period(period.row)
        for period in periods[1:]
    ]
    trend_heading = h.th("By quarter" if periods[-1].kind == "Q" else "By year", class_="wide", scope="col")
    headings = ("Figure", period_name, *other_headings, trend_heading, "Filing")
    table = html_tables.render_table(caption, headings, lines, class_="fig glance", label="Key figures")
    note = h.p("Prices are made up, and so are figures computed from them.", class_="quiet")
    return h.section(table, legend.render(), has_synthetic_prices and note)


def _render_line(
    view: CompanyView,
    periods: Sequence[PeriodFigures],
    rows: Sequence[Row],
    key: str,
    scale: Scale,
    legend: ReasonLegend,
) -> Html:
    label = get_metric_label(key)
    oldest_first = [row["metrics"][key]["value"] for row in reversed(rows)]
    period_noun = "quarters" if periods[-1].kind == "Q" else "fiscal years"
    sparkline = charts.render_sparkline(oldest_first, f"{label} over {len(oldest_first)} {period_noun}")
    cells = [_render_cell(view, period, key, scale, legend) for period in periods]
    accession_number = periods[0].row["metrics"][key]["accession"]
    filing_link = accession_number and h.a(accession_number, href=f"/filing/{accession_number}")
    return h.tr(h.th(label, scope="row"), cells, h.td(sparkline, class_="wide"), h.td(filing_link, class_="id"))


def _render_cell(view: CompanyView, period: PeriodFigures, key: str, scale: Scale, legend: ReasonLegend) -> Html:
    cell = period.row["metrics"][key]
    figure = cell["value"]
    proof_url = view.get_url(build_proof_path(key, period.kind, period.row))
    if figure is None:
        return legend.render_missing_cell(cell["reason_code"] or cell["status"], proof_url)
    link = h.a(format_metric(key, figure, scale), href=proof_url)
    return html_tables.render_figure_cell(link, figure, title=f"{figure:f}")
