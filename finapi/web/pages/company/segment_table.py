"""Figures of a company by segment, product or region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finapi.core.errors import ApiError
from finapi.web.html import charts, figures
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import asked
from finapi.web.pages.asked import Ask, ask
from finapi.web.pages.company import filing_list, series, subject
from finapi.web.pages.company.subject import ShownCompany

METRICS = {"revenue": "Revenue", "operating_income": "Operating income", "total_assets": "Assets"}
PARAMS = (
    *subject.PARAMS,
    Param("period", default="A", allowed=("A", "Q")),
    Param("metric", default="revenue", allowed=tuple(METRICS)),
    Param("axis", empty_is_default=True),
)
MOST, DRAWN = 8, 6


def show(call: Call) -> Response:
    """The page at ``/company/{ticker}/segments``."""
    return subject.shown(call, _asks, _page, _csv)


def _asks(call: Call, one: ShownCompany) -> Sequence[Ask]:
    given = {name: call.params[name] for name in ("metric", "period", "axis")}
    return (ask("/xbrl/segments", ticker=one.named, **given, years=MOST, **one.when),)


def _page(call: Call, one: ShownCompany, asks: Sequence[Ask]) -> Response:
    params, keep = call.params, ("metric", "period", "axis")
    try:
        answer = asks[0].answer(call)
    except ApiError as error:
        return subject.not_held(call, one, "segments", error, keep)
    data, axes = answer["data"], answer["meta"]["axes"]
    chosen = {"metric": params["metric"], "period": params["period"], "axis": data["axis"]}
    views = [
        subject.choice(one, "segments", "Figure", params["metric"], METRICS, "metric", period=params["period"]),
        subject.choice(
            one, "segments", "Period", params["period"], {"A": "Annual", "Q": "Quarterly"}, "period", **chosen
        ),
        len(axes) > 1
        and subject.choice(one, "segments", "By", data["axis"], {one: _said(one) for one in axes}, "axis", **chosen),
    ]
    none = h.p("No filing reports it by segment. ", asked.how(subject.load_of(one) or ""), class_="note", role="status")
    body: Child = _table(data) if data["series"] else none
    source = asked.source(call, *asks, csv=filing_list.csv_of(call) if data["series"] else "")
    return subject.tab(call, one, "segments", h.div(views, class_="views"), body, source, keep=keep)


def _csv(call: Call, one: ShownCompany, asks: Sequence[Ask]) -> Response:
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
    return series.as_csv(names, rows, asks[0].target)


def _said(name: str) -> str:
    return series.in_words(name.partition(":")[2].removeprefix("Statement").removesuffix("Axis").removesuffix("Member"))


def _table(data: Mapping[str, Any]) -> Html:
    points = {(member["member"], point["period_end"]): point for member in data["series"] for point in member["points"]}
    periods = {point["period_end"]: series.period_name(point) for point in points.values()}
    ends = sorted(periods, reverse=True)[:MOST]
    members = sorted(
        data["series"], key=lambda one: max((point["value"] for point in one["points"]), default=0), reverse=True
    )
    scale = figures.scale(point["value"] for point in points.values())
    unit = next(iter(points.values()))["unit"]
    reasons, rows = figures.Reasons(), []
    for member in members:
        name = member["member"]
        said = _said(name)
        cells = [_cell(points.get((name, end)), scale, reasons) for end in ends]
        rows.append(h.tr(h.th(said, scope="row", title=name), cells))
    head = [h.th(h.span("Member", class_="unseen"), scope="col")]
    head += [h.th(periods[end], h.small(end), scope="col") for end in ends]
    caption = f"{METRICS[data['concept_or_metric']]} by {_said(data['axis']).lower()}. {scale.of(unit)}."
    drawn = [
        charts.Drawn(
            _said(member["member"]),
            [points.get((member["member"], end), {}).get("value") for end in reversed(ends)],
            figures.short,
        )
        for member in members[:DRAWN]
    ]
    chart = charts.lines(f"The {len(drawn)} greatest", [periods[end] for end in reversed(ends)], drawn)
    note = h.p("A member may be part of another, so rows need not add up to the total.", class_="quiet")
    return h.section(
        figures.table(caption, head, rows, class_="fig", label="Segments"),
        note,
        reasons.legend(),
        h.div(chart, class_="charts"),
    )


def _cell(point: Mapping[str, Any] | None, scale: figures.Scale, reasons: figures.Reasons) -> Html:
    if point is None:
        return reasons.mark("not_reported")
    link = h.a(figures.money(point["value"], scale), href=f"/filing/{point['accession_no']}", title=point["concept"])
    return figures.cell(link, point["value"])
