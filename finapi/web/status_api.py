"""The status of the service for programs: now, over time, as a badge and as RSS (DECISIONS 11)."""

from __future__ import annotations

from email.utils import format_datetime
from xml.sax.saxutils import escape

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.ops import status, watchdog
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param

HISTORY_PARAMS = (
    Param(
        "service", allowed=status.SERVICES, allows_others=True, help="One service; without it, all.", example="main_api"
    ),
    Param(
        "days",
        "integer",
        default=30,
        minimum=1,
        maximum=status.MAX_DAYS,
        clamp="above",
        example="7",
        help=f"Days counted back from today; more than {status.MAX_DAYS} are read as {status.MAX_DAYS}.",
    ),
    Param(
        "resolution",
        default="daily",
        allowed=("hourly", "daily"),
        example="hourly",
        help=f"Size of a bucket; daily, with a warning, where hourly would make more than {status.MAX_BUCKETS}.",
    ),
)
BADGE_PARAMS = (path_param("badge", help="A service's name, or overall, and .svg.", example="main_api.svg"),)

FEED_CHANGES = 50  # The number of changes in the RSS feed.

# Background colours of the badge. White text on them has a contrast ratio of 4.5 or more.
_COLOUR_BY_STATUS = {"operational": "#1f7a3d", "degraded": "#8a5a00", "down": "#b3261e", "not running": "#555555"}
# The overall statuses that have no colour of their own, each with the status of a service that has its colour.
_SERVICE_STATUS_BY_OVERALL = {"partial_outage": "down", "major_outage": "down"}


def get_status(call: Call) -> Response:
    """Return the status of every running component."""
    return Response(200, get_status_body(call.app))


def is_status_ready(app: App) -> bool:
    """Return True if a status document that is still current is in memory."""
    return app.health.answer_caches["status"].holds(app.clock.monotonic(), watchdog.is_stuck(app))


def get_status_body(app: App) -> bytes:
    """Return the body of ``GET /api/v1/status``. It is cached for 30 s, or until a component changes its status."""
    # A stuck watchdog does not invalidate the cache, so it is checked at each call.
    return app.health.answer_caches["status"].get(
        app.clock.monotonic(), lambda: dumps(status.build_status(app, app.clock.now())), tag=watchdog.is_stuck(app)
    )


def get_history(call: Call) -> Response:
    """Return the history of components in buckets of hours or days."""
    params = call.params
    return call.bare_object(
        status.build_history(call.app, params["service"], params["days"], params["resolution"], call.now)
    )


def get_badge(call: Call) -> Response:
    """Return the status of a service, or the overall status, as SVG. Raise NOT_FOUND for another name."""
    name, dot, kind = call.params["badge"].rpartition(".")
    if (dot, kind) != (".", "svg") or name not in ("overall", *status.list_service_names(call.app.config)):
        raise ApiError("NOT_FOUND", "No badge has this name; use overall.svg, or a service of /status with .svg.")
    components = status.get_components(call.app)
    if name == "overall":
        status_name: str = status.compute_overall_status(component.status for component in components.values())
    else:
        component = components.get(status.ALIASES.get(name, name))
        status_name = "not running" if component is None else component.status
    colour = _COLOUR_BY_STATUS[_SERVICE_STATUS_BY_OVERALL.get(status_name, status_name)]
    badge = _render_badge(name if name != "overall" else "finapi", status_name.replace("_", " "), colour)
    return Response(200, badge.encode(), "image/svg+xml", {"Cache-Control": "no-cache"})


def get_change_feed(call: Call) -> Response:
    """Return the changes of status as RSS 2.0, newest first."""
    app = call.app
    feed = app.health.answer_caches["changes"].get(app.clock.monotonic(), lambda: _render_change_feed(app))
    return Response(200, feed, "application/rss+xml; charset=utf-8")


def _render_badge(label: str, text: str, colour: str) -> str:
    # An SVG cannot measure text, so each letter counts as 7 pixels and textLength stretches the text to that width.
    label_width = 12 + 7 * len(label)
    text_width = 12 + 7 * len(text)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{label_width + text_width}" height="20" role="img" '
        f'aria-label="{label}: {text}"><title>{label}: {text}</title>'
        f'<rect width="{label_width}" height="20" fill="#333333"/>'
        f'<rect x="{label_width}" width="{text_width}" height="20" fill="{colour}"/>'
        '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="6" y="14" textLength="{label_width - 12}">{label}</text>'
        f'<text x="{label_width + 6}" y="14" textLength="{text_width - 12}">{text}</text></g></svg>\n'
    )


def _render_change_feed(app: App) -> bytes:
    with app.accounts.read() as tx:
        changes = status.list_changes(tx, FEED_CHANGES)
    base = escape(app.config.public_url)
    items = "".join(
        f"<item><title>{escape(change.service)} is {change.status}</title>"
        f"<description>{escape(change.reason or 'It works again.')}</description>"
        f"<link>{base}/status</link><pubDate>{format_datetime(change.at, usegmt=True)}</pubDate>"
        f'<guid isPermaLink="false">finapi-status-{change.id}</guid></item>'
        for change in changes
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>finapi status</title>'
        f"<link>{base}/status</link><description>Changes of the status of the service at {base or 'finapi'}."
        f"</description>{items}</channel></rss>\n"
    ).encode()
