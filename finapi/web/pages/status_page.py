"""The status page for people: how every part stands today, its last 90 days as bars, and the last changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.core.health import ComponentStatus
from finapi.ops import status, watchdog
from finapi.ops.watchdog import UPTIME_DAYS
from finapi.web.html import page_layout
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response

# What plays each name here, for people.
COMPONENT_DESCRIPTIONS = {
    "main_api": "the HTTP interface",
    "insider_api": "insider transactions",
    "postgres_db": "the store",
    "redis": "the counters of limits",
    "sec_worker": "filings coming in",
    "sec_13f_worker": "13F reports coming in",
    "news_daemon": "8-K news coming in",
    "sec_gateway": "the way to EDGAR",
    "frontend": "the pages",
    "sec_watchdog": "these checks",
}

SAID = {"operational": "operational", "degraded": "degraded", "down": "down"}
OVERALL = {
    "operational": "All components are operational.",
    "degraded": "All components work, some of them slowly.",
    "partial_outage": "One component is down.",
    "major_outage": "More than one component is down.",
}

FEED, BADGE = "/status.rss", "/status/badge/overall.svg"

DAYS = 90
CHANGES = 20

# A bar a day, the shorter the worse, so that it needs no eye for colours. A day is bad from this share of checks on
# that found the part down, in per cent.
BAD = 5
STEP, WIDTH, HEIGHT = 4, 3, 24
BARS = {"good": 24, "fair": 16, "bad": 9}


def show_status(call: Call) -> Response:
    """The page at ``/status``, kept for 30 s or until a part changes over."""
    app = call.app
    try:
        kept = app.health.answer_caches["page"].get(
            app.clock.monotonic(), lambda: _page(app), tag=watchdog.is_stuck(app)
        )
    except ApiError as error:
        response = page_layout.render_page(call, "Status", h.p(error.message, role="alert"), status=error.status)
        response.headers.update(error.headers)
        return response
    return page_layout.build_html_response(kept)


def _page(app: App) -> bytes:
    now = app.clock.now()
    document = status.build_status(app, now)
    standings = status.get_components(app)
    history = status.build_history(app, None, DAYS, "daily", now)["history"]
    with app.accounts.read() as tx:
        changes = status.list_changes(tx, CHANGES)
    overall = document["overall"]
    parts = [
        _part(name, standings[name], history.get(name, []), now.date())
        for name in status.list_service_names(app.config)
        if name in standings
    ]
    links = (("now", "/api/v1/status"), ("90 days", "/api/v1/status/history?days=90"), ("RSS", FEED), ("badge", BADGE))
    return page_layout.render_document(
        app.config,
        "Status",
        h.p(OVERALL[overall], h.small("As of ", _time(now)), class_=f"overall {overall}", role="status"),
        h.ul(parts, class_="parts"),
        h.p(
            "A bar is a UTC day: ",
            h.span("every check healthy", class_="good"),
            ", ",
            h.span("not every one", class_="fair"),
            ", ",
            h.span(f"{BAD} % or more found it down", class_="bad"),
            ".",
            class_="legend",
        ),
        h.h2("Freshness"),
        _freshness(document["data_freshness"]),
        h.h2("Last changes"),
        _changes(changes),
        h.p("For programs: ", [[", " if n else "", h.a(name, href=to)] for n, (name, to) in enumerate(links)], "."),
        path="/status",
        feed=FEED,
    )


def _part(name: str, standing: ComponentStatus, buckets: list[status.StatusBucket], today: date) -> Html:
    return h.li(
        h.h2(name, h.small(COMPONENT_DESCRIPTIONS.get(name, ""))),
        h.p(SAID[standing.status], class_="now"),
        standing.reason and h.p(standing.reason, class_="reason"),
        _bars(name, buckets, today),
        h.p(
            h.span(f"{DAYS} days ago"),
            h.span(f"{_per_cent(standing.uptime)} % healthy in {UPTIME_DAYS} days"),
            h.span("today"),
            class_="uptime",
        ),
        class_=standing.status,
    )


def _bars(name: str, buckets: list[status.StatusBucket], today: date) -> Html:
    first = today - timedelta(days=DAYS - 1)
    bars = []
    for bucket in buckets:
        day = date.fromisoformat(bucket["timestamp"][:10])
        height = BARS[_grade(bucket)]
        healthy = _per_cent(bucket["healthy"] / bucket["total_checks"] * 100)
        title = h.title(f"{day}: {healthy} % of {bucket['total_checks']} checks healthy")
        x = (day - first).days * STEP
        bars.append(h.rect(title, class_=_grade(bucket), x=x, y=HEIGHT - height, width=WIDTH, height=height))
    said = f"{name}: {len(buckets)} of the last {DAYS} days checked"
    for grade, word in (("fair", "with trouble"), ("bad", "bad")):
        number = sum(_grade(bucket) == grade for bucket in buckets)
        said += f", {number} {word}" if number else ""
    box = f"0 0 {DAYS * STEP - 1} {HEIGHT}"
    return h.svg(bars, class_="bars", viewBox=box, preserveAspectRatio="none", role="img", aria_label=said)


def _grade(bucket: Mapping[str, Any]) -> str:
    if bucket["healthy"] == bucket["total_checks"]:
        return "good"
    return "bad" if bucket["down"] * 100 >= BAD * bucket["total_checks"] else "fair"


def _per_cent(value: float) -> str:
    """With two decimals, rounded down: what is not all is never shown as 100."""
    return f"{int(value * 100 + 1e-7) / 100:.2f}".removesuffix(".00")


def _freshness(freshness: Mapping[str, Any]) -> Html:
    rows = [
        h.div(h.dt(said), h.dd(_moment(freshness[key])))
        for key, said in (
            ("last_filing_at", "Last filing stored"),
            ("last_xbrl_run_at", "Last XBRL report stored"),
            ("last_13f_batch_at", "Last 13F report stored"),
            ("last_news_at", "Last 8-K news stored"),
        )
    ]
    return h.dl(rows, h.div(h.dt("Waiting"), h.dd(freshness["queue_depth"])), class_="freshness")


def _changes(changes: list[status.Change]) -> Html:
    if not changes:
        return h.p("None: every component has been operational throughout.")
    items = [
        h.li(
            _time(change.at),
            " ",
            h.b(change.service),
            " ",
            SAID[change.status],
            f": {change.reason}" if change.reason else "",
            class_=change.status,
        )
        for change in changes
    ]
    return h.ol(items, class_="changes")


def _moment(text: str | None) -> Html | str:
    return "none yet" if text is None else _time(datetime.fromisoformat(text))


def _time(moment: datetime) -> Html:
    moment = moment.astimezone(UTC)
    return h.time(f"{moment:%Y-%m-%d %H:%M} UTC", datetime=f"{moment:%Y-%m-%dT%H:%M:%SZ}")
