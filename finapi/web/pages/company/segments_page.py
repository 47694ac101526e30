"""Figures of a company by segment, product or region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.errors import ApiError
from finapi.web.html import charts, html_tables
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, filing_list, series_page
from finapi.web.pages.company.company_layout import CompanyView

METRICS = {"revenue": "Revenue", "operating_income": "Operating income", "total_assets": "Assets"}
PARAMS = (
    *company_layout.PARAMS,
    Param("period", default="A", allowed=("A", "Q")),
    Param("metric", default="revenue", allowed=tuple(METRICS)),
    Param("axis", empty_is_default=True),
)
MAX_PERIODS, MAX_LINES = 8, 6


def show_segments(call: Call) -> Response:
    """The page at ``/company/{ticker}/segments``."""
    return company_layout.serve_tab(call, _asks, _page, _csv)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    given = {name: call.params[name] for name in ("metric", "period", "axis")}
    return (build_api_call("/xbrl/segments", ticker=one.named, **given, years=MAX_PERIODS, **one.when),)


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    params, keep = call.params, ("metric", "period", "axis")
    try:
        answer = asks[0].answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "segments", error, keep)
    data, axes = answer["data"], answer["meta"]["axes"]
    chosen = {"metric": params["metric"], "period": params["period"], "axis": data["axis"]}
    views = [
        company_layout.render_choice(
            one, "segments", "Figure", params["metric"], METRICS, "metric", period=params["period"]
        ),
        company_layout.render_choice(
            one, "segments", "Period", params["period"], {"A": "Annual", "Q": "Quarterly"}, "period", **chosen
        ),
        len(axes) > 1
        and company_layout.render_choice(
            one, "segments", "By", data["axis"], {one: _said(one) for one in axes}, "axis", **chosen
        ),
    ]
    none = h.p(
        "No filing reports it by segment. ",
        api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
        class_="note",
        role="status",
    )
    body: Child = _table(data) if data["series"] else none
    source = api_backed_pages.render_source_note(
        call, *asks, csv=filing_list.get_csv_url(call) if data["series"] else ""
    )
    return company_layout.render_tab(call, one, "segments", h.div(views, class_="views"), body, source, keep=keep)


def _csv(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    members = asks[0].answer(call)["data"]["series"]
    rows = [{"member": member["member"], **point} for member in members for point in member["points"]]
    names = [
        "member",
        "fiscal_year",
        "fiscal_period",
        "start_date",
        "end_date",
        "value",
        "unit",
        "concept",
        "accession_no",
    ]
    return series_page.serve_rows_as_csv(names, rows, asks[0].target)


def _said(name: str) -> str:
    return series_page.split_camel_case(
        name.partition(":")[2].removeprefix("Statement").removesuffix("Axis").removesuffix("Member")
    )


def _table(data: Mapping[str, Any]) -> Html:
    points = {(member["member"], point["period_end"]): point for member in data["series"] for point in member["points"]}
    periods = {point["period_end"]: series_page.format_period(point) for point in points.values()}
    ends = sorted(periods, reverse=True)[:MAX_PERIODS]
    members = sorted(
        data["series"], key=lambda one: max((point["value"] for point in one["points"]), default=0), reverse=True
    )
    scale = html_tables.choose_scale(point["value"] for point in points.values())
    unit = next(iter(points.values()))["unit"]
    reasons, rows = html_tables.ReasonLegend(), []
    for member in members:
        name = member["member"]
        said = _said(name)
        cells = [_cell(points.get((name, end)), scale, reasons) for end in ends]
        rows.append(h.tr(h.th(said, scope="row", title=name), cells))
    head = [h.th(h.span("Member", class_="unseen"), scope="col")]
    head += [h.th(periods[end], h.small(end), scope="col") for end in ends]
    caption = f"{METRICS[data['concept_or_metric']]} by {_said(data['axis']).lower()}. {scale.of(unit)}."
    drawn = [
        charts.ChartSeries(
            _said(member["member"]),
            [points.get((member["member"], end), {}).get("value") for end in reversed(ends)],
            html_tables.format_short,
        )
        for member in members[:MAX_LINES]
    ]
    chart = charts.render_line_chart(f"The {len(drawn)} greatest", [periods[end] for end in reversed(ends)], drawn)
    note = h.p("A member may be part of another, so rows need not add up to the total.", class_="quiet")
    return h.section(
        html_tables.render_table(caption, head, rows, class_="fig", label="Segments"),
        note,
        reasons.legend(),
        h.div(chart, class_="charts"),
    )


def _cell(point: Mapping[str, Any] | None, scale: html_tables.Scale, reasons: html_tables.ReasonLegend) -> Html:
    if point is None:
        return reasons.mark("not_reported")
    link = h.a(
        html_tables.format_money(point["value"], scale), href=f"/filing/{point['accession_no']}", title=point["concept"]
    )
    return html_tables.render_figure_cell(link, point["value"])
