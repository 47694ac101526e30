"""The status page: the state of every component today, its last 90 days as bars, and the latest changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from finapi.app import App
from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.core.health import ComponentStatus
from finapi.ops import status, watchdog
from finapi.ops.watchdog import UPTIME_DAYS
from finapi.web.html import page_layout
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response

# The parts of finapi that the component names of the status API stand for. Several names are older than finapi: it has
# no redis and, unless the operator chose it for accounts, no PostgreSQL.
COMPONENT_TITLES = {
    "main_api": "HTTP interface",
    "insider_api": "Insider transactions",
    "postgres_db": "Database",
    "redis": "Rate limits in memory",
    "sec_worker": "Intake of filings",
    "sec_13f_worker": "Intake of 13F reports",
    "news_daemon": "Intake of 8-K news",
    "sec_gateway": "Connection to EDGAR",
    "frontend": "Pages",
    "sec_watchdog": "Checks of the components",
}

STATUS_TEXTS = {"operational": "operational", "degraded": "degraded", "down": "down"}
OVERALL_TEXTS = {
    "operational": "All components are operational.",
    "degraded": "All components work, some of them slowly.",
    "partial_outage": "One component is down.",
    "major_outage": "More than one component is down.",
}
_FRESHNESS_LABELS = (
    ("last_filing_at", "Last filing stored"),
    ("last_xbrl_run_at", "Last XBRL report stored"),
    ("last_13f_batch_at", "Last 13F report stored"),
    ("last_news_at", "Last 8-K news stored"),
)

RSS_PATH = "/status.rss"
BADGE_PATH = "/status/badge/overall.svg"
_LINKS = (
    ("now", "/api/v1/status"),
    ("90 days", "/api/v1/status/history?days=90"),
    ("RSS", RSS_PATH),
    ("badge", BADGE_PATH),
)

HISTORY_DAYS = 90
MAX_CHANGES = 20

# A day is bad if at least this percentage of its checks found the component down.
BAD_DAY_PERCENTAGE = 5
# One bar a day, in SVG units. Worse days have shorter bars, so that the chart can be read without seeing colours.
BAR_DISTANCE, BAR_WIDTH, CHART_HEIGHT = 4, 3, 24
BAR_HEIGHTS = {"good": 24, "fair": 16, "bad": 9}


def show_status(call: Call) -> Response:
    """Return the page at ``/status``, cached for 30 seconds or until the status of a component changes."""
    app = call.app
    try:
        document = app.health.answer_caches["page"].get(
            app.clock.monotonic(), lambda: _render_document(app), tag=watchdog.is_stuck(app)
        )
    except ApiError as error:
        response = page_layout.render_page(call, "Status", h.p(error.message, role="alert"), status=error.status)
        response.headers.update(error.headers)
        return response
    return page_layout.build_html_response(document)


def _render_document(app: App) -> bytes:
    now = app.clock.now()
    status_record = status.build_status(app, now)
    components = status.get_components(app)
    history = status.build_history(app, None, HISTORY_DAYS, "daily", now)["history"]
    with app.accounts.read() as tx:
        changes = status.list_changes(tx, MAX_CHANGES)
    overall = status_record["overall"]
    component_entries = [
        _render_component(name, components[name], history.get(name, []), now.date())
        for name in status.list_service_names(app.config)
        if name in components
    ]
    links = [[", " if index else "", h.a(name, href=url)] for index, (name, url) in enumerate(_LINKS)]
    return page_layout.render_document(
        app.config,
        "Status",
        h.p(OVERALL_TEXTS[overall], h.small("As of ", _render_time(now)), class_=f"overall {overall}", role="status"),
        h.p(
            "All parts run in one process. The names in small letters are those of the status API, which are older "
            "than finapi: ",
            h.code("redis"),
            " stands for counters in memory, and ",
            h.code("postgres_db"),
            " for the database.",
            class_="quiet",
        ),
        h.ul(component_entries, class_="parts"),
        h.p(
            "A bar is a UTC day: ",
            h.span("every check healthy", class_="good"),
            ", ",
            h.span("not every one", class_="fair"),
            ", ",
            h.span(f"{BAD_DAY_PERCENTAGE} % or more found it down", class_="bad"),
            ".",
            class_="legend",
        ),
        h.h2("Freshness"),
        _render_freshness(status_record["data_freshness"]),
        h.h2("Last changes"),
        _render_changes(changes),
        h.p("For programs: ", links, "."),
        path="/status",
        feed=RSS_PATH,
    )


def _render_component(name: str, component: ComponentStatus, buckets: list[status.StatusBucket], today: date) -> Html:
    return h.li(
        _render_name(name),
        h.p(STATUS_TEXTS[component.status], class_="now"),
        component.reason and h.p(component.reason, class_="reason"),
        _render_bars(name, buckets, today),
        h.p(
            h.span(f"{HISTORY_DAYS} days ago"),
            h.span(f"{_format_percentage(component.uptime)} % healthy in {UPTIME_DAYS} days"),
            h.span("today"),
            class_="uptime",
        ),
        class_=component.status,
    )


def _render_name(name: str) -> Html:
    """Return the heading of a component: the part of finapi with its name in the status API, or a watched target."""
    title = COMPONENT_TITLES.get(name)
    return h.h2(title, h.small(h.code(name))) if title else h.h2(name)


def _render_bars(name: str, buckets: list[status.StatusBucket], today: date) -> Html:
    first_day = today - timedelta(days=HISTORY_DAYS - 1)
    bars = []
    for bucket in buckets:
        day = date.fromisoformat(bucket["timestamp"][:10])
        grade = _grade_day(bucket)
        height = BAR_HEIGHTS[grade]
        healthy = _format_percentage(bucket["healthy"] / bucket["total_checks"] * 100)
        tooltip = h.title(f"{day}: {healthy} % of {format_count(bucket['total_checks'], 'check')} healthy")
        x = (day - first_day).days * BAR_DISTANCE
        bars.append(h.rect(tooltip, class_=grade, x=x, y=CHART_HEIGHT - height, width=BAR_WIDTH, height=height))
    label = f"{name}: {len(buckets)} of the last {HISTORY_DAYS} days checked"
    for grade, words in (("fair", "with trouble"), ("bad", "bad")):
        day_count = sum(_grade_day(bucket) == grade for bucket in buckets)
        label += f", {day_count} {words}" if day_count else ""
    view_box = f"0 0 {HISTORY_DAYS * BAR_DISTANCE - 1} {CHART_HEIGHT}"
    return h.svg(bars, class_="bars", viewBox=view_box, preserveAspectRatio="none", role="img", aria_label=label)


def _grade_day(bucket: Mapping[str, Any]) -> str:
    if bucket["healthy"] == bucket["total_checks"]:
        return "good"
    return "bad" if bucket["down"] * 100 >= BAD_DAY_PERCENTAGE * bucket["total_checks"] else "fair"


def _format_percentage(percentage: float) -> str:
    """Return a percentage with two decimals, rounded down so that 99.999 is never shown as 100."""
    hundredths = int(percentage * 100 + 1e-7)
    return f"{hundredths / 100:.2f}".removesuffix(".00")


def _render_freshness(freshness: Mapping[str, Any]) -> Html:
    rows = [h.div(h.dt(label), h.dd(_render_last_time(freshness[key]))) for key, label in _FRESHNESS_LABELS]
    return h.dl(rows, h.div(h.dt("Waiting"), h.dd(freshness["queue_depth"])), class_="freshness")


def _render_changes(changes: list[status.Change]) -> Html:
    if not changes:
        return h.p("None: every component has been operational throughout.")
    entries = [
        h.li(
            _render_time(change.at),
            " ",
            h.b(COMPONENT_TITLES.get(change.service, change.service)),
            " ",
            STATUS_TEXTS[change.status],
            f": {change.reason}" if change.reason else "",
            class_=change.status,
        )
        for change in changes
    ]
    return h.ol(entries, class_="changes")


def _render_last_time(text: str | None) -> Html | str:
    return "none yet" if text is None else _render_time(datetime.fromisoformat(text))


def _render_time(moment: datetime) -> Html:
    moment = moment.astimezone(UTC)
    return h.time(f"{moment:%Y-%m-%d %H:%M} UTC", datetime=f"{moment:%Y-%m-%dT%H:%M:%SZ}")
