"""The page of a fund: its positions at the end of a quarter, what changed, and its 13F reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.web.html import charts, form_fields, html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_short
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MANAGER, OFFSET, Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import FORMAT, ApiCall, build_api_call, render_section
from finapi.web.pages.company import filing_list

PAGE_POSITIONS = 100
MAX_REPORTS = 40
# The possible changes of a position between two quarters, with the texts that a visitor chooses from.
CHANGES = {"all": "All positions", "new": "New", "increased": "Increased", "decreased": "Decreased", "closed": "Closed"}
# The reasons why the changes of a quarter are not known.
_UNKNOWN_CHANGE_REASONS = {
    "quarter_incomplete": "not all entries of this quarter are stored",
    "previous_quarter_incomplete": "not all entries of the previous quarter are stored",
    "previous_quarter_not_held": "no report for the previous quarter is stored",
}
PARAMS = (
    MANAGER,
    Param("period", "quarter", empty_is_default=True),
    Param("status", default="all", allowed=tuple(CHANGES)),
    OFFSET,
    FORMAT,
)


def show_fund(call: Call) -> Response:
    """Return the page at ``/fund/{cik}``."""
    params = call.params
    api_calls = (
        build_api_call(
            "/form-13f/fund/{cik}",
            cik=params["cik"],
            period=params["period"],
            status=params["status"],
            limit=PAGE_POSITIONS,
            offset=params["offset"] or None,
            include_options=True,
        ),
        build_api_call("/form-13f/fund/{cik}/periods", cik=params["cik"]),
        build_api_call("/form-13f/latest", cik=params["cik"], limit=MAX_REPORTS),
    )
    return api_backed_pages.serve_api_page(call, api_calls, lambda: _render_fund(call, api_calls))


def _render_fund(call: Call, api_calls: Sequence[ApiCall]) -> Response:
    positions_call, quarters_call, reports_call = api_calls
    try:
        answer = positions_call.get_answer(call)
    except ApiError as error:
        return api_backed_pages.render_missing_page(call, error)
    quarters = quarters_call.get_answer(call)["periods"]
    reports = reports_call.get_answer(call)["data"]
    has_more = answer["meta"]["pagination"]["has_more"]
    next_offset = has_more and call.params["offset"] + PAGE_POSITIONS
    return page_layout.render_page(
        call,
        answer["fund"]["name"],
        _render_description(answer, reports),
        _render_form(call, answer, quarters),
        _render_positions(call, answer),
        filing_list.render_next_link(call, "More positions", offset=next_offset),
        _render_reports(reports),
        api_backed_pages.render_source_note(call, *api_calls, csv_url=filing_list.get_csv_url(call)),
        wide=True,
    )


def _render_form(call: Call, answer: Mapping[str, Any], quarters: Sequence[str]) -> Html:
    has_changes = answer["meta"]["changes"]["available"]
    quarter_choices = {quarter: quarter for quarter in quarters}
    return h.form(
        form_fields.render_select("Quarter", "period", answer["period"], quarter_choices),
        has_changes and form_fields.render_select("Change", "status", call.params["status"], CHANGES),
        h.button("Show"),
        class_="filters",
    )


def _render_positions(call: Call, answer: Mapping[str, Any]) -> Child:
    if not answer["holdings"]:
        return api_backed_pages.render_empty_list(call.request.path, answer["meta"]["empty"])
    meta = answer["meta"]
    count = format_count(meta["pagination"]["total"], "position")
    changes = meta["changes"]
    change_note = f"Change since {changes['previous_period']}." if changes["available"] else "Changes are not known."
    caption = f"{count} at {answer['period']}, in dollars. {change_note}"
    columns: Sequence[GridColumn] = _POSITION_COLUMNS
    if not changes["available"]:
        columns = [column for column in columns if column not in _CHANGE_COLUMNS]
    if not _has_all_entries(answer["filing"]):
        caption += " Shares of the portfolio are not shown, because not all of its entries are stored."
        columns = [column for column in columns if column != _PORTFOLIO_SHARE_COLUMN]
    return html_tables.render_grid(caption, columns, answer["holdings"])


def _render_description(answer: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Html:
    filing, meta = answer["filing"], answer["meta"]
    value = filing["table_value_total"]
    if value is None:
        value = meta["total_value_usd"]
    previous_value = _get_values_by_period(reports).get(meta["changes"]["previous_period"])
    stored_count = filing["table_rows"]
    if _has_all_entries(filing):
        entries = format_count(stored_count, "entry", "entries")
    else:
        entries = format_count(filing["table_entry_total"], "entry", "entries")
        entries += f", of which {format_count(stored_count, 'is stored', 'are stored')}"
    return html_tables.render_description_list(
        [
            ("CIK", answer["fund"]["cik"]),
            ("Value", f"{format_short(value)} dollars in {entries}"),
            (
                "Change since the previous quarter",
                previous_value and f"{format_short(value - previous_value)} dollars",
            ),
            ("Changes", _describe_changes(meta)),
            ("Filing", h.a(filing["accession_no"], href=f"/filing/{filing['accession_no']}")),
            ("Filed", filing["filed_at"] or "unknown date"),
        ]
    )


def _has_all_entries(filing: Mapping[str, Any]) -> bool:
    """Return False if the report states another number of entries than are stored."""
    return filing["table_entry_total"] in (None, filing["table_rows"])


def _describe_changes(meta: Mapping[str, Any]) -> str:
    if not meta["changes"]["available"]:
        reason_code = meta["changes"]["reason"] or ""
        return f"not known, because {_UNKNOWN_CHANGE_REASONS.get(reason_code, reason_code.replace('_', ' '))}"
    return ", ".join(f"{count:,} {change}" for change, count in meta["counts"].items() if count)


def _get_values_by_period(reports: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the total value by quarter, newest first, as stated on the cover pages of original reports.

    Reports whose cover page states no value are left out.
    """
    originals = [report for report in reports if not report["is_amendment"]]
    originals.sort(key=lambda report: report["period_of_report"], reverse=True)
    values = {}
    for report in originals:
        if report["table_value_total"] is not None:
            values[report["period_of_report"]] = report["table_value_total"]
    return values


def _render_reports(reports: Sequence[Mapping[str, Any]]) -> Html:
    values = _get_values_by_period(reports)
    oldest_first = sorted(values)
    series = charts.ChartSeries("Value", [Decimal(values[period]) for period in oldest_first], format_short)
    months = [period[:7] for period in oldest_first]
    chart = charts.render_bar_chart("Value by quarter, dollars", months, [series])
    table = html_tables.render_grid("Reports, newest first", _REPORT_COLUMNS, reports)
    return render_section("Quarter by quarter", len(values) > 1 and h.div(chart, class_="charts"), table)


def _render_quarter(report: Mapping[str, Any]) -> Html:
    period = report["period_of_report"]
    return html_tables.render_link_header(period, f"/fund/{report['cik']}?period={period}")


def _render_filing_link(row: Mapping[str, Any]) -> Html:
    accession_number = row["accession_no"]
    return h.td(accession_number and h.a(accession_number, href=f"/filing/{accession_number}"), class_="id")


def _render_issuer(position: Mapping[str, Any]) -> Html:
    name = position["name_of_issuer"]
    if not position["ticker"]:
        return h.th(name, scope="row")
    return html_tables.render_link_header(name, f"/company/{quote(position['ticker'], safe='')}")


def _render_portfolio_share(position: Mapping[str, Any]) -> Html:
    return html_tables.render_number_cell(position["pct_of_portfolio"], lambda percentage: f"{percentage:,.2f} %")


def _build_change_column(change: str) -> GridColumn:
    return GridColumn(
        change.capitalize(),
        lambda report: html_tables.render_number_cell(report["analysis"][change]),
        numeric=True,
    )


_PORTFOLIO_SHARE_COLUMN = GridColumn("Of portfolio", _render_portfolio_share, numeric=True)
_CHANGE_COLUMNS = (GridColumn("Change", "change_shares", numeric=True), GridColumn("Status", "status"))
_POSITION_COLUMNS = (
    GridColumn("Issuer", _render_issuer),
    GridColumn("Class", "title_of_class"),
    GridColumn("CUSIP", "cusip", style="code"),
    GridColumn("Option", "put_call"),
    GridColumn("Shares", "shares", numeric=True),
    GridColumn("Value", "value_usd", numeric=True),
    _PORTFOLIO_SHARE_COLUMN,
    *_CHANGE_COLUMNS,
    GridColumn("Filing", _render_filing_link),
)
_REPORT_COLUMNS = (
    GridColumn("Quarter", _render_quarter),
    GridColumn("Filed", "filed_at"),
    GridColumn("Form", "form_type"),
    GridColumn("Value", "table_value_total", numeric=True),
    GridColumn("Entries stored", "holdings_count", numeric=True),
    *(_build_change_column(change) for change in CHANGES if change != "all"),
    GridColumn("Filing", _render_filing_link),
)
