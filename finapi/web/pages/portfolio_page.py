"""The page of a mutual fund or ETF: the positions of a report on Form N-PORT, its doubts, and the other reports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import quote

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.market.funds.fund_report_doubts import Doubt
from finapi.web.html import charts, html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_number, format_short
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, Param
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list

PAGE_POSITIONS = 100
MAX_REPORTS = 40
_ACCESSION = re.compile("[0-9]{10}-?[0-9]{2}-?[0-9]{6}|unfiled-[0-9a-f]{16}")
_SERIES_ID_OR_CIK = re.compile("[Ss][0-9]{9}|[0-9]{1,10}")
PARAMS = (
    Param("fund", "word", location="path", required=True),
    Param("period", pattern="[0-9]{4}-(0[1-9]|1[0-2])(-[0-9]{2})?", empty_is_default=True),
    OFFSET,
    FORMAT,
)

_DOUBT_TEXTS: Mapping[Doubt, str] = {
    "assets_differ": "Total assets less liabilities are not the net assets.",
    "percentages_differ": "The percentages are not the values as parts of the net assets.",
    "no_positions": "The report has net assets and no positions.",
    "period_after_filing": "The report was filed before its day, so the day is a mistake.",
}
_MONTHS = ("Two months before", "The month before", "The month of the report")


# The calls that a page makes. Only their routes are needed to know what they cost.
_ROUTE_NAMES = (
    build_api_call("/nport/{accession}/holdings").route_name,
    build_api_call("/nport/{accession}").route_name,
    build_api_call("/nport/by-series/{series_id}").route_name,
)


class _ShownReport(NamedTuple):
    """The accession number of the report that a page shows, and the calls for it and for the fund's reports."""

    accession_number: str
    detail_call: ApiCall
    reports_call: ApiCall


def show_portfolio(call: Call) -> Response:
    """Return the page at ``/portfolio/{fund}``.

    The fund is the ticker of a share class, a series id, the CIK of a registrant without series, or the accession
    number of a report.
    """
    if call.params["format"] == "csv":
        return page_access.serve_data_page(call, _ROUTE_NAMES[:1], lambda: _serve_csv(call))
    return page_access.serve_data_page(call, _ROUTE_NAMES, lambda: _render_page(call))


def _serve_csv(call: Call) -> Response:
    report = _find_report(call)
    return api_backed_pages.serve_csv(call, _build_holdings_call(call, report))


def _render_page(call: Call) -> Response:
    try:
        return _render_portfolio(call, _find_report(call))
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)


def _find_report(call: Call) -> _ShownReport:
    """Return the requested report, or the latest one of the fund or of a month.

    Raise ApiError NOT_FOUND or UNKNOWN_TICKER if it is not stored.
    """
    fund = call.params["fund"]
    if _ACCESSION.fullmatch(fund):
        detail_call = build_api_call("/nport/{accession}", accession=fund)
        detail = detail_call.get_answer(call)["data"]
        fund_id = detail["series"]["series_id"] or detail["registrant"]["cik"]
        return _ShownReport(detail["accession_number"], detail_call, _build_reports_call(fund_id))
    reports_call = _build_reports_call(fund)
    month = (call.params["period"] or "")[:7]
    accession_number = _choose_report(reports_call.get_answer(call)["data"], month)
    if accession_number is None:
        period = f" for {month}" if month else ""
        raise ApiError("NOT_FOUND", f"finapi has no N-PORT report of this fund{period}.")
    detail_call = build_api_call("/nport/{accession}", accession=accession_number)
    return _ShownReport(accession_number, detail_call, reports_call)


def _build_reports_call(fund: str) -> ApiCall:
    if _SERIES_ID_OR_CIK.fullmatch(fund):
        return build_api_call("/nport/by-series/{series_id}", series_id=fund, limit=MAX_REPORTS)
    return build_api_call("/nport/by-ticker/{ticker}", ticker=fund, limit=MAX_REPORTS)


def _build_holdings_call(call: Call, report: _ShownReport) -> ApiCall:
    return build_api_call(
        "/nport/{accession}/holdings",
        accession=report.accession_number,
        limit=PAGE_POSITIONS,
        offset=call.params["offset"] or None,
    )


def _choose_report(reports: Sequence[Mapping[str, Any]], month: str) -> str | None:
    """Return the current report of a month or, without a month, the latest whose day is not a mistake.

    ``reports`` are in the order of their days, the latest first.
    """
    current_reports = [report for report in reports if report["is_current"] and report["as_of"].startswith(month)]
    if not month:
        dated_reports = [report for report in current_reports if "period_after_filing" not in report["doubts"]]
        current_reports = dated_reports or current_reports
    return current_reports[0]["accession_number"] if current_reports else None


def _render_portfolio(call: Call, report: _ShownReport) -> Response:
    holdings_call = _build_holdings_call(call, report)
    detail = report.detail_call.get_answer(call)["data"]
    answer = holdings_call.get_answer(call)
    reports = report.reports_call.get_answer(call)["data"]
    pagination = answer["meta"]["pagination"]
    next_offset = pagination["has_more"] and call.params["offset"] + PAGE_POSITIONS
    api_calls = (holdings_call, report.detail_call, report.reports_call)
    return page_layout.render_page(
        call,
        detail["series"]["series_name"] or detail["registrant"]["name"],
        _render_doubts(detail),
        _render_description(detail),
        _render_positions(answer["data"], pagination["total"], detail),
        filing_list.render_next_link(call, "More positions", offset=next_offset),
        _render_months(detail),
        _render_reports(reports),
        api_backed_pages.render_source_note(call, *api_calls, csv_url=filing_list.get_csv_url(call)),
        wide=True,
    )


def _render_doubts(detail: Mapping[str, Any]) -> Html | None:
    """Return a note with the contradictions of the report, or None."""
    sentences = [_DOUBT_TEXTS[doubt] for doubt in detail["doubts"]]
    if not detail["is_current"]:
        sentences.append("Another report of the same fund and day replaces this one.")
    return h.p(h.b("Doubtful. "), " ".join(sentences), class_="note", role="status") if sentences else None


def _render_description(detail: Mapping[str, Any]) -> Html:
    registrant, series, assets = detail["registrant"], detail["series"], detail["assets"]
    tickers = [entity["class_contract_ticker"] for entity in detail["entities"] if entity["class_contract_ticker"]]
    accession_number = detail["accession_number"]
    return html_tables.render_description_list(
        [
            ("Registrant", h.a(registrant["name"], href=f"/company/{registrant['cik']}")),
            ("Series", series["series_id"]),
            ("Tickers", ", ".join(tickers)),
            ("Day", detail["period"]["as_of"]),
            ("Net assets", _format_dollars(assets["net_assets"])),
            ("Total assets", _format_dollars(assets["tot_assets"])),
            ("Liabilities", _format_dollars(assets["tot_liabs"])),
            ("Filing", h.a(accession_number, href=f"/filing/{accession_number}")),
            ("Filed", (detail["filed_at"] or "unknown date")[:10]),
        ]
    )


def _format_dollars(amount: Decimal | None) -> str:
    return "not reported" if amount is None else f"{format_short(amount)} dollars"


def _render_positions(positions: Sequence[Mapping[str, Any]], total: int, detail: Mapping[str, Any]) -> Html:
    if not positions:
        return h.p("No positions.", role="status")
    caption = f"{format_count(total, 'position')} at {detail['period']['as_of']}, in dollars, the largest first."
    return html_tables.render_grid(caption, _POSITION_COLUMNS, positions)


def _render_months(detail: Mapping[str, Any]) -> Html | None:
    """Return the flows and returns of the three months that the report covers, or None if it states neither."""
    flows = [detail["monthly_flow"][f"mon{month}Flow"] for month in (1, 2, 3)]
    rows: list[Mapping[str, Any]] = []
    for name, label in (
        ("sales", "Shares sold"),
        ("reinvestment", "Dividends reinvested"),
        ("redemption", "Shares redeemed"),
    ):
        amounts = [flow[name] for flow in flows]
        if any(amounts):
            rows.append({"label": f"{label}, dollars", "figures": [_format_amount(amount) for amount in amounts]})
    for returns in detail["monthly_returns"]:
        figures = [returns[f"return_month_{month}"] for month in (1, 2, 3)]
        percentages = ["–" if figure is None else f"{format_number(figure)} %" for figure in figures]
        rows.append({"label": f"Return of class {returns['class_id'] or 'unknown'}", "figures": percentages})
    if not rows:
        return None
    table = html_tables.render_grid("The three months that end with the report", _MONTH_COLUMNS, rows)
    return render_section("Month by month", table)


def _build_month_column(index: int, month: str) -> GridColumn:
    return GridColumn(month, lambda row: h.td(row["figures"][index], class_="num"), numeric=True)


def _format_amount(text: str | None) -> str:
    """Return an amount as filed, with separators if it is a number."""
    try:
        return "–" if text is None else format_number(Decimal(text))
    except ArithmeticError:
        return text or ""


def _render_reports(reports: Sequence[Mapping[str, Any]]) -> Html:
    oldest_first = [report for report in reversed(reports) if report["is_current"] and report["net_assets"] is not None]
    series = charts.ChartSeries("Net assets", [report["net_assets"] for report in oldest_first], format_short)
    days = [report["as_of"] for report in oldest_first]
    chart = charts.render_bar_chart("Net assets by report, dollars", [day[:7] for day in days], [series])
    table = html_tables.render_grid("Reports, newest day first", _REPORT_COLUMNS, reports)
    return render_section("Report by report", len(oldest_first) > 1 and h.div(chart, class_="charts"), table)


def _render_name(position: Mapping[str, Any]) -> Html:
    name = position["name"] or position["title"] or "unnamed"
    if not position["ticker"]:
        return h.th(name, scope="row")
    return html_tables.render_link_header(name, f"/company/{quote(position['ticker'], safe='')}")


def _render_percentage(position: Mapping[str, Any]) -> Html:
    percentage = position["pct_val"]
    if percentage is None:
        return h.td("–", class_="num")
    note = position["pct_val_doubt"] and h.small(" doubtful")
    return h.td(f"{percentage:,.2f} %", note, class_="num")


def _describe_kind(position: Mapping[str, Any]) -> str:
    kinds = (position["asset_cat"], position["derivative_cat"], position["payoff_profile"] == "Short" and "short")
    return ", ".join(kind for kind in kinds if kind)


def _describe_report_doubts(report: Mapping[str, Any]) -> str:
    return " ".join(_DOUBT_TEXTS[doubt] for doubt in report["doubts"])


_POSITION_COLUMNS = (
    GridColumn("Issuer", _render_name),
    GridColumn("Title", "title"),
    GridColumn("CUSIP or ISIN", lambda position: h.td(h.code(position["cusip"] or position["isin"] or ""))),
    GridColumn("Kind", _describe_kind),
    GridColumn("Balance", "balance", numeric=True),
    GridColumn("Units", "units"),
    GridColumn("Value", "val_usd", numeric=True),
    GridColumn("Of net assets", _render_percentage, numeric=True),
    GridColumn("Country", "inv_country"),
)
_MONTH_COLUMNS = (
    GridColumn("Figure", "label", style="row_header"),
    *(_build_month_column(index, month) for index, month in enumerate(_MONTHS)),
)
_REPORT_COLUMNS = (
    GridColumn(
        "Day",
        lambda report: html_tables.render_link_header(report["as_of"], f"/portfolio/{report['accession_number']}"),
    ),
    GridColumn("Filed", lambda report: (report["filed_at"] or "")[:10]),
    GridColumn("Form", "submission_type"),
    GridColumn("Net assets", "net_assets", numeric=True),
    GridColumn("Positions", "holdings_count", numeric=True),
    GridColumn("Doubts", _describe_report_doubts),
)
