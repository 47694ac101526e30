"""The charts of a company: revenue and margin, cash flow, per share, balance structure, of the standardised series."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from finapi.core.errors import ApiError
from finapi.web.html import charts, html_tables
from finapi.web.html.charts import ChartSeries
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
OVERVIEW_KEYS = ("net_margin", "operating_cashflow", "capex")
_MARGINS = (("gross_margin", "Gross"), ("operating_margin", "Operating"), ("net_margin", "Net"))
MAX_PERIODS = {"A": 10, "Q": 12}


def show_charts(call: Call) -> Response:
    """The page at ``/company/{ticker}/charts``."""
    return company_layout.serve_tab(call, _asks, _page)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    period = call.params["period"]
    return (
        build_api_call(
            "/xbrl/timeseries",
            ticker=one.named,
            metrics=METRIC_KEYS,
            period=period,
            limit=MAX_PERIODS[period],
            **one.when,
        ),
    )


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    period = call.params["period"]
    try:
        answer = asks[0].answer(call)["data"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "charts", error, ("period",))
    rows, currency = answer["rows"][::-1], answer["reporting_currency"]
    drawn = [one for one in render_charts(rows, currency) if one]
    empty = h.p(
        "No period with these figures. ",
        api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
        class_="note",
        role="status",
    )
    views = company_layout.render_choice(one, "charts", "Period", period, {"A": "Annual", "Q": "Quarterly"}, "period")
    csv = one.address("charts", period=period, format="csv")
    body = (h.div(views, class_="views"), h.div(drawn, class_="charts") if drawn else empty)
    return company_layout.render_tab(
        call, one, "charts", *body, api_backed_pages.render_source_note(call, *asks, csv=csv), keep=("period",)
    )


def render_charts(rows: Sequence[Row], currency: str) -> list[Html]:
    """All charts of rows, which begin with the oldest; empty where there is no figure."""
    labels, of = _labels(rows), partial(_series, rows)
    margins = [of(key, name, _hundredths) for key, name in _MARGINS]
    per_share = [of("eps_diluted", "Diluted earnings"), of("dividends_per_share", "Dividends")]
    assets = [of("total_current_assets", "Current"), _rest(rows, "total_assets", "total_current_assets", "Other")]
    owed = _rest(rows, "total_liabilities", "total_current_liabilities", "Other liabilities")
    claims = [of("total_current_liabilities", "Current liabilities"), owed, of("total_equity", "Equity")]
    return [
        render_revenue_chart(rows, currency),
        charts.render_line_chart("Margins", labels, margins),
        render_cash_flow_chart(rows, currency),
        charts.render_bar_chart(f"Per share, {currency}", labels, per_share),
        charts.render_stacked_chart(f"Assets, {currency}", labels, _whole(assets)),
        charts.render_stacked_chart(f"Liabilities and equity, {currency}", labels, _whole(claims)),
    ]


def render_revenue_chart(rows: Sequence[Row], currency: str) -> Html:
    """Revenue and net income as bars, the net margin as a line; ``rows`` begin with the oldest."""
    columns = [_series(rows, "revenue", "Revenue"), _series(rows, "net_income", "Net income")]
    line = _series(rows, "net_margin", "Net margin", _hundredths)
    return charts.render_bar_chart(f"Revenue and net margin, {currency}", _labels(rows), columns, line)


def render_cash_flow_chart(rows: Sequence[Row], currency: str) -> Html:
    """Cash from operations, what was invested, and what is left; ``rows`` begin with the oldest."""
    spent = _series(rows, "capex", "Capital expenditure", sign=-1)
    columns = [_series(rows, "operating_cashflow", "From operations"), spent, _series(rows, "free_cashflow", "Free")]
    return charts.render_bar_chart(f"Cash flow, {currency}", _labels(rows), columns)


def _labels(rows: Sequence[Row]) -> list[str]:
    return [series_page.format_period(row) for row in rows]


def _series(
    rows: Sequence[Row], key: str, name: str, write: charts.FormatNumber = html_tables.format_short, sign: int = 1
) -> ChartSeries:
    """The values of a key, bare or in cells with their provenance."""
    cells = [row["metrics"].get(key) for row in rows]
    values = [cell["value"] if isinstance(cell, dict) else cell for cell in cells]
    return ChartSeries(name, [None if value is None else value * sign for value in values], write)


def _whole(parts: Sequence[ChartSeries]) -> list[ChartSeries]:
    """The parts in those periods in which all are known: others would look like a whole that is smaller."""
    known = [None not in values for values in zip(*(one.values for one in parts), strict=True)]
    return [
        one._replace(values=[value if told else None for value, told in zip(one.values, known, strict=True)])
        for one in parts
    ]


def _hundredths(value: Decimal) -> str:
    text = f"{abs(value) * 100:.0f} %"
    return f"({text})" if value < 0 else text


def _rest(rows: Sequence[Row], whole: str, part: str, name: str) -> ChartSeries:
    pairs = [(row["metrics"].get(whole), row["metrics"].get(part)) for row in rows]
    return ChartSeries(name, [None if a is None or b is None else a - b for a, b in pairs], html_tables.format_short)
