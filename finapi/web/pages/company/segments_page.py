"""The segments of a company: revenue, operating income or assets by segment, product or region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from finapi.core.errors import ApiError
from finapi.web.html import charts, html_tables, number_formats
from finapi.web.html.charts import ChartSeries
from finapi.web.html.number_formats import Scale, format_money, format_short
from finapi.web.html.reason_legend import ReasonLegend
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, filing_list, series_page
from finapi.web.pages.company.company_layout import CompanyView

METRICS = {"revenue": "Revenue", "operating_income": "Operating income", "total_assets": "Assets"}
PERIODS = {"A": "Annual", "Q": "Quarterly"}
PARAMS = (
    *company_layout.PARAMS,
    Param("period", default="A", allowed=tuple(PERIODS)),
    Param("metric", default="revenue", allowed=tuple(METRICS)),
    Param("axis", empty_is_default=True),
)
MAX_PERIODS = 8
MAX_LINES = 6  # Maximum number of lines in the chart.

_KEPT_PARAMS = ("metric", "period", "axis")
_CSV_COLUMNS = (
    "member",
    "member_label",
    "fiscal_year",
    "fiscal_period",
    "start_date",
    "end_date",
    "value",
    "unit",
    "concept",
    "accession_no",
)

# The points of a table by member and last day of the period.
PointsByCell = Mapping[tuple[str, str], Mapping[str, Any]]


def show_segments(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/segments``."""
    return company_layout.serve_tab(call, _build_calls, _render_page, _serve_csv, _find_period)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    params = call.params
    segments_call = build_api_call(
        "/xbrl/segments",
        ticker=view.url_name,
        metric=params["metric"],
        period=params["period"],
        axis=params["axis"],
        years=MAX_PERIODS,
        **view.as_of_arguments,
    )
    return (segments_call,)


def _find_period(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> str:
    """Return the period of the call, or "Q" if segments are only reported by quarter."""
    period: str = call.params["period"]
    quarters_call = call._replace(params={**call.params, "period": "Q"})
    try:
        if api_calls[0].get_answer(call)["data"]["series"]:
            return period
        has_quarters = bool(_build_calls(quarters_call, view)[0].get_answer(call)["data"]["series"])
    except ApiError as error:
        if error.code not in api_backed_pages.MISSING_DATA_CODES:
            raise
        return period
    return "Q" if has_quarters else period


def _render_page(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    try:
        answer = api_calls[0].get_answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, "segments", error, _KEPT_PARAMS)
    data = answer["data"]
    body: Child
    if data["series"]:
        body = _render_segments(data)
        csv_url = filing_list.get_csv_url(call)
    else:
        metric, period = METRICS[call.params["metric"]].lower(), PERIODS[call.params["period"]].lower()
        text = f"No {period} report that is stored has {metric} by segment."
        body = company_layout.render_empty_note(view, text)
        csv_url = ""
    views = _render_choices(call, view, data["axis"], answer["meta"]["axes"])
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=csv_url)
    return company_layout.render_tab(
        call, view, "segments", h.div(views, class_="views"), body, source, kept_params=_KEPT_PARAMS
    )


def _render_choices(call: Call, view: CompanyView, axis: str, axes: Sequence[str]) -> list[Child]:
    metric, period = call.params["metric"], call.params["period"]
    chosen = {"metric": metric, "period": period, "axis": axis}
    choices: list[Child] = [
        # The links do not keep the axis, because another metric may not have it.
        company_layout.render_choice(view, "segments", "Figure", metric, METRICS, "metric", period=period),
        company_layout.render_choice(view, "segments", "Period", period, PERIODS, "period", **chosen),
    ]
    if len(axes) > 1:
        axis_labels = {name: describe_name(name) for name in axes}
        choices.append(company_layout.render_choice(view, "segments", "By", axis, axis_labels, "axis", **chosen))
    return choices


def _serve_csv(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    rows = []
    for series in api_calls[0].get_answer(call)["data"]["series"]:
        for point in series["points"]:
            rows.append({"member": series["member"], "member_label": series["label"], **point})
    return series_page.serve_rows_as_csv(_CSV_COLUMNS, rows, api_calls[0].url)


def describe_name(name: str) -> str:
    """Return the words of an axis or member: "us-gaap:StatementBusinessSegmentsAxis" as "Business segments".

    A name of the Financial Statement Data Sets has no taxonomy: "BusinessSegments".
    """
    local_name = name.rpartition(":")[2].removeprefix("Statement").removesuffix("Axis").removesuffix("Member")
    return series_page.split_camel_case(local_name)


def _render_segments(data: Mapping[str, Any]) -> Html:
    points: dict[tuple[str, str], Mapping[str, Any]] = {}
    for series in data["series"]:
        for point in series["points"]:
            points[series["member"], point["period_end"]] = point
    period_names = {point["period_end"]: series_page.format_period(point) for point in points.values()}
    newest_first = sorted(period_names, reverse=True)[:MAX_PERIODS]
    largest_first = sorted(data["series"], key=_get_greatest_value, reverse=True)
    member_names = {series["member"]: series["label"] or describe_name(series["member"]) for series in largest_first}
    scale = number_formats.choose_scale(point["value"] for point in points.values())
    unit = next(iter(points.values()))["unit"]
    legend = ReasonLegend()
    rows = []
    for member, name in member_names.items():
        cells = [_render_cell(points.get((member, end)), scale, legend) for end in newest_first]
        rows.append(h.tr(h.th(name, scope="row", title=member), cells))
    headings = [h.th(h.span("Member", class_="unseen"), scope="col")]
    headings += [h.th(period_names[end], h.small(end), scope="col") for end in newest_first]
    metric = METRICS[data["concept_or_metric"]]
    caption = f"{metric} by {describe_name(data['axis']).lower()}. {scale.describe(unit)}."
    chart = _render_chart(member_names, points, period_names, newest_first[::-1])
    return h.section(
        html_tables.render_table(caption, headings, rows, class_="fig", label="Segments"),
        h.p("A member may be part of another, so rows need not add up to the total.", class_="quiet"),
        legend.render(),
        h.div(chart, class_="charts"),
    )


def _render_chart(
    member_names: Mapping[str, str], points: PointsByCell, period_names: Mapping[str, str], oldest_first: Sequence[str]
) -> Html:
    lines = []
    for member, name in islice(member_names.items(), MAX_LINES):
        figures = [points.get((member, end), {}).get("value") for end in oldest_first]
        lines.append(ChartSeries(name, figures, format_short))
    labels = [period_names[end] for end in oldest_first]
    return charts.render_line_chart(f"The {len(lines)} largest", labels, lines)


def _get_greatest_value(series: Mapping[str, Any]) -> Any:
    return max((point["value"] for point in series["points"]), default=0)


def _render_cell(point: Mapping[str, Any] | None, scale: Scale, legend: ReasonLegend) -> Html:
    if point is None:
        return legend.render_missing_cell("not_reported")
    text = format_money(point["value"], scale)
    link = h.a(text, href=f"/filing/{point['accession_no']}", title=point["concept"])
    return html_tables.render_figure_cell(link, point["value"])
