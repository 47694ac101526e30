"""A company at a glance: its key figures with ten years behind them, two charts and its newest filings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.core.errors import ApiError
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import charts, html_tables
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import charts_page, company_layout, filing_list
from finapi.web.pages.company.company_layout import CompanyView
from finapi.web.pages.company.series_page import Row, build_proof_path, format_metric, format_period

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
MAX_YEARS, MAX_FILINGS = 10, 10


def show_overview(call: Call) -> Response:
    """The page at ``/company/{ticker}``."""
    return company_layout.serve_tab(call, _asks, _page)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    metrics = tuple(dict.fromkeys((*METRIC_KEYS, *charts_page.OVERVIEW_KEYS)))
    named = {"ticker": one.named, "metrics": metrics, "provenance": "summary", **one.when}
    return (
        build_api_call("/xbrl/timeseries", **named, years=MAX_YEARS),
        build_api_call("/xbrl/timeseries", **named, period="TTM", period_offset=0),
        build_api_call("/sec/filings", ticker=one.named, to_date=one.as_of, limit=MAX_FILINGS),
    )


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    listed = filing_list.render_newest_filings(call, one, asks[2])
    try:
        years = asks[0].answer(call)
    except ApiError as error:
        return company_layout.render_tab(
            call, one, "", api_backed_pages.render_missing_note(error, company_layout.get_load_argument(one)), listed
        )
    rows: list[Row] = years["data"]["rows"]
    currency = years["data"]["reporting_currency"]
    recent = _twelve_months(call, asks[1]) or (rows[0] if rows else None)
    if recent is None:
        note = h.p(
            "No fiscal year with revenue or net income. ",
            api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
            class_="note",
            role="status",
        )
        return company_layout.render_tab(call, one, "", note, listed)
    made_up = years["meta"]["price_source"] == "synthetic"
    drawn = [
        charts_page.render_revenue_chart(rows[::-1], currency),
        charts_page.render_cash_flow_chart(rows[::-1], currency),
    ]
    return company_layout.render_tab(
        call,
        one,
        "",
        h.div(_figures(one, recent, rows, currency, made_up), h.div(drawn), class_="columns"),
        api_backed_pages.render_source_note(call, *asks[:2], csv=one.address("", format="csv")),
        listed,
    )


def _twelve_months(call: Call, one: ApiCall) -> Row | None:
    """The newest twelve months where they are known whole; nothing is wrong where they are not."""
    rows: list[Row] = one.answer(call)["data"]["rows"]
    told = any(rows[0]["metrics"][key]["value"] is not None for key in ("revenue", "net_income")) if rows else False
    return {**rows[0], "kind": "TTM"} if told else None


def _figures(one: CompanyView, recent: Row, rows: Sequence[Row], currency: str, made_up: bool) -> Html:
    kind = recent.get("kind", "A")
    reasons = html_tables.ReasonLegend()
    shown = [(recent, kind), *([(rows[0], "A")] if kind == "TTM" and rows else [])]
    cells: Mapping[str, Any] = recent["metrics"]
    scale = html_tables.choose_scale(cell["value"] for cell in cells.values() if cell["unit"] == currency)
    lines = []
    for key in METRIC_KEYS:
        past = [row["metrics"][key]["value"] for row in reversed(rows)]
        lines.append(_line(one, shown, key, past, scale, reasons))
    said = "Twelve months" if kind == "TTM" else "Fiscal year"
    caption = f"{said} to {recent['period_end']}. {scale.of(currency)}, except per-share figures."
    years = [f"Fiscal {format_period(row)}" for row, _ in shown[1:]]
    head = ("Figure", said, *years, h.th("By year", class_="wide", scope="col"), "Filing")
    note = h.p("Prices are made up, and so are figures computed from them.", class_="quiet")
    made = html_tables.render_table(caption, head, lines, class_="fig glance", label="Key figures")
    return h.section(made, reasons.legend(), made_up and note)


def _line(
    one: CompanyView,
    shown: Sequence[tuple[Row, str]],
    key: str,
    past: list[Decimal | None],
    scale: html_tables.Scale,
    reasons: html_tables.ReasonLegend,
) -> Html:
    label = getattr(find_definition(key), "label", key)
    spark = h.td(charts.render_sparkline(past, f"{label} over {len(past)} fiscal years"), class_="wide")
    cells = [_cell(one, row, kind, key, scale, reasons) for row, kind in shown]
    filing = shown[0][0]["metrics"][key]["accession"]
    link = h.td(filing and h.a(filing, href=f"/filing/{filing}"), class_="id")
    return h.tr(h.th(label, scope="row"), cells, spark, link)


def _cell(
    one: CompanyView, row: Row, kind: str, key: str, scale: html_tables.Scale, reasons: html_tables.ReasonLegend
) -> Html:
    cell = row["metrics"][key]
    if cell["value"] is None:
        return reasons.mark(cell["reason_code"] or cell["status"])
    proof = one.address(build_proof_path(key, kind, row))
    return html_tables.render_figure_cell(
        h.a(format_metric(key, cell["value"], scale), href=proof), cell["value"], title=f"{cell['value']:f}"
    )
