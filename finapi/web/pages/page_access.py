"""Who sees the pages that show data, and what that costs (``FINAPI_PAGES``).

Public pages are the same for everybody: they are made once and kept while the data stand. Members pay for a page's data
as for the calls that it stands for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from finapi import __version__
from finapi.accounts import billing
from finapi.core.errors import ApiError
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, find_matching_etag, has_if_none_match_star


def serve_data_page(call: Call, stands_for: Sequence[str], make: Callable[[], Response]) -> Response:
    """What ``make`` answers to a caller who may see it: a page of data, or a document that a page asks for.

    ``stands_for`` are the names of the routes that give the same data ("GET /api/v1/prices/{ticker}"): what they cost
    is charged to a member. 304, for nothing, to whoever has the page as it is now; a page that somebody else was shown
    is shown again from memory.
    """
    config = call.app.config
    if config.pages == "off":
        raise ApiError("NOT_FOUND", "The operator of this host has turned off the data pages.")
    if config.pages == "members" and call.caller is None:
        from finapi.web.pages.member import sign_in_pages

        return sign_in_pages.render_login_page(call, call.request.target.rstrip("?"), status=401)
    if config.pages == "public":
        return serve_open_page(call, make)
    return serve_open_page(call, lambda: _charged(call, compute_cost(call, stands_for), make), kept=False)


def serve_open_page(call: Call, make: Callable[[], Response], *, kept: bool = True) -> Response:
    """A page that may be shown, 304 to whoever has it as it is now; ``kept`` in memory where all see the same."""
    with call.app.db.read_one() as tx:
        version = tx.find_value("data_version")
    tag = _tag(call, version, own=not kept)
    headers = {"ETag": f'W/"{tag}"', "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if find_matching_etag(call.request.headers.get("if-none-match", ""), tag) is not None:
        return Response(304, b"", headers=headers)
    made: Response = call.app.page_cache.get(version, tag, make) if kept else make()
    if made.status != 200:
        return made
    if has_if_none_match_star(call.request):
        made.refund_charge(ApiError("NOT_FOUND", "The page was not sent."))
        return Response(304, b"", headers=headers)
    return replace(made, headers={**made.headers, **headers})


def _charged(call: Call, cost: int, make: Callable[[], Response]) -> Response:
    assert call.caller is not None
    charge = billing.charge(call.app, call.caller.id, call.route.name, cost, call.request_id)
    try:
        page = make()
    except BaseException as error:
        charge.refund(error)
        raise
    if page.status >= 400:
        # The page says that something is not there: nobody pays for it.
        charge.refund(ApiError("NOT_FOUND", "The page shows no data."))
        return page
    return replace(page, charge=charge)


def compute_cost(call: Call, names: Sequence[str]) -> int:
    """Tokens that calls of these routes cost together."""
    costs = {route.name: route.cost for route in call.routes}
    return sum(costs[name] for name in names)


def _tag(call: Call, version: int, *, own: bool) -> str:
    # Some windows end today; what a member sees of itself is no other's.
    who = call.caller.uuid if own and call.caller else ""
    asked = [__version__, version, call.now.date().isoformat(), who, call.app.config.public_url, call.request.target]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]
