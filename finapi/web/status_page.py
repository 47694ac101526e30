"""The status page for people: how every part stands today, its last 90 days as bars, and the last changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from html import escape
from typing import Any

from finapi import status, watchdog
from finapi.app import App
from finapi.errors import ApiError
from finapi.watch import Standing
from finapi.watchdog import UPTIME_DAYS
from finapi.web import layout
from finapi.web.call import Call
from finapi.web.http import Response

# What plays each name here, for people.
PLAYERS = {
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
    "operational": "Every part works.",
    "degraded": "Every part works, not all of them well.",
    "partial_outage": "One part is down.",
    "major_outage": "More than one part is down.",
}

DAYS = 90
CHANGES = 20

# A bar a day, the shorter the worse, so that it needs no eye for colours. A day is bad from this share of checks on
# that found the part down, in per cent.
BAD = 5
STEP, WIDTH, HEIGHT = 4, 3, 24
BARS = {"good": 24, "fair": 16, "bad": 9}


def show(call: Call) -> Response:
    """The page at ``/status``, kept for 30 s or until a part changes over."""
    app = call.app
    try:
        return layout.html(
            app.watch.kept["page"].get(app.clock.monotonic(), lambda: _page(app), mark=watchdog.stuck(app))
        )
    except ApiError as error:
        body = f'<p role="alert">{escape(error.message)}</p>'
        response = layout.page("Status", body, error.status)
        response.headers.update(error.headers)
        return response


def _page(app: App) -> bytes:
    now = app.clock.now()
    document = status.document(app, now)
    standings = status.standing(app)
    history = status.history(app, None, DAYS, "daily", now)["history"]
    with app.db.read() as tx:
        changes = status.changes(tx, CHANGES)
    parts = "".join(
        _part(name, standings[name], history.get(name, []), now.date())
        for name in status.known(app.config)
        if name in standings
    )
    overall = document["overall"]
    body = (
        f'<p class="overall {overall}" role="status">{OVERALL[overall]}'
        f"<small>As of {_time(now)}</small></p>"
        f'<ul class="parts">{parts}</ul>'
        '<p class="legend">A bar is a UTC day: <span class="good">every check healthy</span>, '
        f'<span class="fair">not every one</span>, <span class="bad">{BAD} % or more found it down</span>.</p>'
        f"<h2>Freshness</h2>{_freshness(document['data_freshness'])}"
        f"<h2>Last changes</h2>{_changes(changes)}"
        '<p>For programs: <a href="/api/v1/status">now</a>, <a href="/api/v1/status/history?days=90">90 days</a>, '
        '<a href="/status.rss">RSS</a>, <a href="/status/badge/overall.svg">badge</a>.</p>'
    )
    return layout.document("Status", body, wide=True, feed="/status.rss")


def _part(name: str, standing: Standing, buckets: list[dict[str, Any]], today: date) -> str:
    player = PLAYERS.get(name, "")
    reason = f'<p class="reason">{escape(standing.reason)}</p>' if standing.reason else ""
    return (
        f'<li class="{standing.status}"><h2>{escape(name)}<small>{player}</small></h2>'
        f'<p class="now">{SAID[standing.status]}</p>{reason}{_bars(name, buckets, today)}'
        f'<p class="uptime"><span>{DAYS} days ago</span>'
        f"<span>{_per_cent(standing.uptime)} % healthy in {UPTIME_DAYS} days</span>"
        "<span>today</span></p></li>"
    )


def _bars(name: str, buckets: list[dict[str, Any]], today: date) -> str:
    first = today - timedelta(days=DAYS - 1)
    bars = []
    for bucket in buckets:
        day = date.fromisoformat(bucket["timestamp"][:10])
        grade = _grade(bucket)
        height = BARS[grade]
        x = (day - first).days * STEP
        bars.append(
            f'<rect class="{grade}" x="{x}" y="{HEIGHT - height}" width="{WIDTH}" height="{height}">'
            f"<title>{day}: {_per_cent(bucket['healthy'] / bucket['total_checks'] * 100)} % of "
            f"{bucket['total_checks']} checks healthy</title></rect>"
        )
    said = f"{name}: {len(buckets)} of the last {DAYS} days checked"
    for grade, word in (("fair", "with trouble"), ("bad", "bad")):
        number = sum(_grade(bucket) == grade for bucket in buckets)
        said += f", {number} {word}" if number else ""
    return (
        f'<svg class="bars" viewBox="0 0 {DAYS * STEP - 1} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said)}">{"".join(bars)}</svg>'
    )


def _grade(bucket: Mapping[str, Any]) -> str:
    if bucket["healthy"] == bucket["total_checks"]:
        return "good"
    return "bad" if bucket["down"] * 100 >= BAD * bucket["total_checks"] else "fair"


def _per_cent(value: float) -> str:
    """With two decimals, rounded down: what is not all is never shown as 100."""
    return f"{int(value * 100 + 1e-7) / 100:.2f}".removesuffix(".00")


def _freshness(freshness: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<div><dt>{said}</dt><dd>{_moment(freshness[key])}</dd></div>"
        for key, said in (
            ("last_filing_at", "Last filing stored"),
            ("last_xbrl_run_at", "Last XBRL report stored"),
            ("last_13f_batch_at", "Last 13F report stored"),
            ("last_news_at", "Last 8-K news stored"),
        )
    )
    return f'<dl class="freshness">{rows}<div><dt>Waiting</dt><dd>{freshness["queue_depth"]}</dd></div></dl>'


def _changes(changes: list[status.Change]) -> str:
    if not changes:
        return "<p>None: no part has been anything but operational.</p>"
    items = "".join(
        f'<li class="{change.status}">{_time(change.at)} <b>{escape(change.service)}</b> '
        f"{SAID[change.status]}{': ' + escape(change.reason) if change.reason else ''}</li>"
        for change in changes
    )
    return f'<ol class="changes">{items}</ol>'


def _moment(text: str | None) -> str:
    return "none yet" if text is None else _time(datetime.fromisoformat(text))


def _time(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%Y-%m-%d %H:%M} UTC</time>'
