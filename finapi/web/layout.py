"""What every page has in common: its head, the way to the others, and headers that let nothing else in."""

from __future__ import annotations

from html import escape

from finapi import __version__
from finapi.web.http import Response

HTML = "text/html; charset=utf-8"

# Nothing but our own stylesheet is loaded, no script runs, no other site frames a page or learns of it.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}

# Where the head of every page leads.
PLACES = (("/", "finapi"), ("/status", "Status"), ("/plans", "Plans"), ("/openapi.json", "API"))


def document(title: str, body: str, *, wide: bool = False, feed: str = "") -> bytes:
    """A whole page. ``body`` is HTML, in which the caller has escaped what is not; ``feed`` the path of its RSS."""
    places = "".join(f'<a href="{path}">{name}</a>' for path, name in PLACES)
    alternate = f'<link rel="alternate" type="application/rss+xml" title="RSS" href="{feed}">' if feed else ""
    body_tag = '<body class="wide">' if wide else "<body>"
    name = "finapi" if title == "finapi" else f"{title} - finapi"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(name)}</title><link rel="stylesheet" href="/style.css">{alternate}</head>'
        f'{body_tag}<header><nav aria-label="Pages">{places}</nav></header>'
        f"<main><h1>{escape(title)}</h1>{body}</main>"
        f"<footer>finapi {__version__}</footer></body></html>\n"
    ).encode()


def page(title: str, body: str, status: int = 200) -> Response:
    """A page as an answer."""
    return html(document(title, body), status)


def html(data: bytes, status: int = 200) -> Response:
    """The bytes of a page as an answer."""
    return Response(status, data, HTML, dict(HEADERS))
