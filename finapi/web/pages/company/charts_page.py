"""The charts of a company: revenue and margins, cash flow, per share, balance sheet, from the standardised series."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from finapi.core.errors import ApiError
from finapi.web.html import charts
from finapi.web.html.charts import ChartSeries
from finapi.web.html.number_formats import format_short
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, series_page
from finapi.web.pages.company.company_layout import CompanyView
from finapi.web.pages.company.series_page import Row

PARAMS = (*company_layout.PARAMS, Param("period", default="A", allowed=("A", "Q")))
PERIODS = {"A": "Annual", "Q": "Quarterly"}
METRIC_KEYS = (
    "revenue",
    "net_income",
    "net_margin",
    "gross_margin",
    "operating_margin",
    "operating_cashflow",
    "capex",
    "free_cashflow",
    "eps_diluted",
    "dividends_per_share",
    "book_value_per_share",
    "total_current_assets",
    "total_assets",
    "total_current_liabilities",
    "total_liabilities",
    "total_equity",
)
# The metrics of the charts on the overview page that its own table does not have.
OVERVIEW_KEYS = ("net_margin", "operating_cashflow", "capex")
MAX_PERIODS = {"A": 10, "Q": 12}


def show_charts(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/charts``."""
    return company_layout.serve_tab(call, _build_calls, _render_page, find_period=company_layout.find_series_period)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    period = call.params["period"]
    series_call = build_api_call(
        "/xbrl/timeseries",
        ticker=view.url_name,
        metrics=METRIC_KEYS,
        period=period,
        limit=MAX_PERIODS[period],
        **view.as_of_arguments,
    )
    return (series_call,)


def _render_page(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    period = call.params["period"]
    try:
        answer = api_calls[0].get_answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, "charts", error, ("period",))
    series = answer["data"]
    oldest_first = series["rows"][::-1]
    rendered_charts = [chart for chart in render_charts(oldest_first, series["reporting_currency"]) if chart]
    if rendered_charts:
        body = h.div(rendered_charts, class_="charts")
    else:
        reason = answer["meta"].get("empty", {}).get("reason", "The stored periods have none of these figures.")
        body = company_layout.render_empty_note(view, reason)
    views = company_layout.render_choice(view, "charts", "Period", period, PERIODS, "period")
    csv_url = view.get_url("charts", period=period, format="csv")
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=csv_url)
    return company_layout.render_tab(
        call, view, "charts", h.div(views, class_="views"), body, source, kept_params=("period",)
    )


def render_charts(rows: Sequence[Row], currency: str) -> list[Html]:
    """Return all charts of the rows, which are in order of time. A chart without any figure is empty."""
    labels = _list_labels(rows)
    margins = [
        _build_series(rows, "gross_margin", "Gross", _format_percentage),
        _build_series(rows, "operating_margin", "Operating", _format_percentage),
        _build_series(rows, "net_margin", "Net", _format_percentage),
    ]
    per_share = [
        _build_series(rows, "eps_diluted", "Diluted earnings"),
        _build_series(rows, "dividends_per_share", "Dividends"),
    ]
    assets = [
        _build_series(rows, "total_current_assets", "Current"),
        _build_difference(rows, "total_assets", "total_current_assets", "Other"),
    ]
    claims = [
        _build_series(rows, "total_current_liabilities", "Current liabilities"),
        _build_difference(rows, "total_liabilities", "total_current_liabilities", "Other liabilities"),
        _build_series(rows, "total_equity", "Equity"),
    ]
    claims_title = f"Liabilities and equity, {currency}"
    return [
        render_revenue_chart(rows, currency),
        charts.render_line_chart("Margins", labels, margins),
        render_cash_flow_chart(rows, currency),
        charts.render_bar_chart(f"Per share, {currency}", labels, per_share),
        charts.render_stacked_chart(f"Assets, {currency}", labels, _drop_incomplete_periods(assets)),
        charts.render_stacked_chart(claims_title, labels, _drop_incomplete_periods(claims)),
    ]


def render_revenue_chart(rows: Sequence[Row], currency: str) -> Html:
    """Return revenue and net income as bars and the net margin as a line. The rows are in order of time."""
    columns = [_build_series(rows, "revenue", "Revenue"), _build_series(rows, "net_income", "Net income")]
    line = _build_series(rows, "net_margin", "Net margin", _format_percentage)
    return charts.render_bar_chart(f"Revenue and net margin, {currency}", _list_labels(rows), columns, line)


def render_cash_flow_chart(rows: Sequence[Row], currency: str) -> Html:
    """Return cash from operations, capital expenditure and free cash flow. The rows are in order of time."""
    columns = [
        _build_series(rows, "operating_cashflow", "From operations"),
        _build_series(rows, "capex", "Capital expenditure", sign=-1),
        _build_series(rows, "free_cashflow", "Free"),
    ]
    return charts.render_bar_chart(f"Cash flow, {currency}", _list_labels(rows), columns)


def _list_labels(rows: Sequence[Row]) -> list[str]:
    return [series_page.format_period(row) for row in rows]


def _build_series(
    rows: Sequence[Row], key: str, name: str, format_number: charts.FormatNumber = format_short, sign: int = 1
) -> ChartSeries:
    """Return the figures of a metric as a series. The rows contain plain figures or cells with provenance."""
    figures = []
    for row in rows:
        cell = row["metrics"].get(key)
        figure = cell["value"] if isinstance(cell, dict) else cell
        figures.append(None if figure is None else figure * sign)
    return ChartSeries(name, figures, format_number)


def _build_difference(rows: Sequence[Row], total_key: str, part_key: str, name: str) -> ChartSeries:
    """Return a total minus one of its parts, as a series for a chart."""
    differences = []
    for row in rows:
        total, part = row["metrics"].get(total_key), row["metrics"].get(part_key)
        differences.append(None if total is None or part is None else total - part)
    return ChartSeries(name, differences, format_short)


def _drop_incomplete_periods(parts: Sequence[ChartSeries]) -> list[ChartSeries]:
    """Remove the figures of periods in which a part is unknown: their stack would look like a smaller total."""
    complete = [None not in figures for figures in zip(*(part.values for part in parts), strict=True)]
    result = []
    for part in parts:
        figures = [figure if is_complete else None for figure, is_complete in zip(part.values, complete, strict=True)]
        result.append(part._replace(values=figures))
    return result


def _format_percentage(ratio: Decimal) -> str:
    text = f"{abs(ratio) * 100:.0f} %"
    return f"({text})" if ratio < 0 else text
