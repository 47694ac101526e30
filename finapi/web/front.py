"""The front page: what this is, and where to go."""

from __future__ import annotations

from functools import cache
from html import escape

from finapi.web import layout
from finapi.web.call import Call
from finapi.web.http import Response


def front(call: Call) -> Response:
    """The page at ``/``."""
    return layout.html(_front(call.app.config.public_url))


@cache
def _front(public_url: str) -> bytes:
    base = escape(public_url)
    body = (
        "<p>Market data made of what is filed with the SEC: financial statements and standardised figures, filings, "
        "insider transactions, 13F holdings, prices. Every figure is traceable to its filing, and every empty cell "
        "is marked with a reason.</p>"
        "<h2>Try it</h2><p>With an API key:</p>"
        '<pre tabindex="0"><code>'
        f"curl -H 'X-API-Key: KEY' \\\n  '{base}/api/v1/xbrl/companies/AAPL/statements'"
        "</code></pre>"
        "<p>No key yet? Whoever runs this service gives out invite codes; with one, "
        "<code>POST /api/v1/auth/redeem-invite</code> and <code>POST /api/v1/auth/register</code> make an "
        "account, and its key comes by mail.</p>"
        '<h2>Where to go</h2><ul class="places">'
        '<li><a href="/openapi.json">The API</a> as an OpenAPI document: every call, its parameters, its cost</li>'
        '<li><a href="/status">Status</a> of the service today and in the last 90 days</li>'
        '<li><a href="/plans">Plans</a>: how many tokens, and what a call costs</li>'
        '<li><a href="/changelog">What changed</a> in which version</li>'
        '<li><a href="/status.rss">Changes of status</a> as RSS</li>'
        "</ul>"
    )
    return layout.document("finapi", body)
