"""The status of the service for programs: now, in the past, as a badge and as a feed (DECISIONS 11)."""

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

FEED_CHANGES = 50  # that the feed lists

# Of the badge: text on them has a contrast of 4.5 or more.
_COLOURS = {"operational": "#1f7a3d", "degraded": "#8a5a00", "down": "#b3261e", "not running": "#555555"}
_OVERALL = {"partial_outage": "down", "major_outage": "down"}


def show(call: Call) -> Response:
    """How every part that runs stands."""
    return Response(200, current(call.app))


def is_ready(app: App) -> bool:
    """Whether the document is in memory, and still good."""
    return app.health.answer_caches["status"].holds(app.clock.monotonic(), watchdog.is_stuck(app))


def current(app: App) -> bytes:
    """The body of ``GET /api/v1/status``, kept for 30 s or until a part changes over; needs no other part."""
    # A watchdog that is stuck drops nothing that is kept: it is looked at each time.
    return app.health.answer_caches["status"].get(
        app.clock.monotonic(), lambda: dumps(status.build_status(app, app.clock.now())), tag=watchdog.is_stuck(app)
    )


def history(call: Call) -> Response:
    """How they stood, in buckets of hours or days."""
    params = call.params
    return call.bare_object(
        status.build_history(call.app, params["service"], params["days"], params["resolution"], call.now)
    )


def badge(call: Call) -> Response:
    """A service's status, or the overall one, as a small picture."""
    name, dot, kind = call.params["badge"].rpartition(".")
    if (dot, kind) != (".", "svg") or name not in ("overall", *status.list_service_names(call.app.config)):
        raise ApiError("NOT_FOUND", "No badge has this name.")
    standings = status.get_components(call.app)
    if name == "overall":
        said: str = status.compute_overall_status(part.status for part in standings.values())
    else:
        part = standings.get(status.ALIASES.get(name, name))
        said = "not running" if part is None else part.status
    colour = _COLOURS[_OVERALL.get(said, said)]
    data = _badge(name if name != "overall" else "finapi", said.replace("_", " "), colour)
    return Response(200, data.encode(), "image/svg+xml", {"Cache-Control": "no-cache"})


def feed(call: Call) -> Response:
    """The changes of status as RSS 2.0, newest first."""
    app = call.app
    data = app.health.answer_caches["changes"].get(app.clock.monotonic(), lambda: _feed(app))
    return Response(200, data, "application/rss+xml; charset=utf-8")


def _badge(left: str, right: str, colour: str) -> str:
    # Widths by the letter: an SVG in an <img> has no font of its own to measure.
    first, second = 12 + 7 * len(left), 12 + 7 * len(right)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="20" role="img" '
        f'aria-label="{left}: {right}"><title>{left}: {right}</title>'
        f'<rect width="{first}" height="20" fill="#333333"/>'
        f'<rect x="{first}" width="{second}" height="20" fill="{colour}"/>'
        '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="6" y="14" textLength="{first - 12}">{left}</text>'
        f'<text x="{first + 6}" y="14" textLength="{second - 12}">{right}</text></g></svg>\n'
    )


def _feed(app: App) -> bytes:
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
