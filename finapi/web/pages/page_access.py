"""Access to the pages that show data, and their cost (setting ``FINAPI_PAGES``).

Public pages are the same for everybody: they are rendered once and cached until the data change. Where pages are for
members only, a member pays for a page as for the API calls that return the same data.
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


def serve_data_page(call: Call, route_names: Sequence[str], render: Callable[[], Response]) -> Response:
    """Return the page that ``render`` returns, if the caller may see it.

    ``route_names`` are the API routes with the same data, such as "GET /api/v1/prices/{ticker}". A member is charged
    their cost, but not for a 304 or for a page that says that something is missing. A visitor of a host whose pages are
    for members gets the login page. Raise NOT_FOUND if the operator turned off the pages.
    """
    config = call.app.config
    if config.pages == "off":
        raise ApiError("NOT_FOUND", "The operator of this host has turned off the data pages.")
    if config.pages == "members" and call.caller is None:
        from finapi.web.pages.member import sign_in_pages

        return sign_in_pages.render_login_page(call, call.request.target.rstrip("?"), status=401)
    if config.pages == "public":
        return serve_open_page(call, render)
    cost = compute_cost(call, route_names)
    return serve_open_page(call, lambda: _charge(call, cost, render), is_shared=False)


def serve_open_page(call: Call, render: Callable[[], Response], *, is_shared: bool = True) -> Response:
    """Return a page without a check of access, or 304 if the client has it.

    A page that ``is_shared`` is the same for everybody and is cached in memory. Browsers do not store a member's page,
    so nobody sees it on the same computer after the logout.
    """
    with call.app.db.read_one() as tx:
        data_version = tx.find_value("data_version")
    etag = _compute_etag(call, data_version, is_shared=is_shared)
    cache_control = "private, no-cache" if is_shared else "no-store"
    headers = {"ETag": f'W/"{etag}"', "Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    if find_matching_etag(call.request.headers.get("if-none-match", ""), etag) is not None:
        return Response(304, b"", headers=headers)
    response: Response = call.app.page_cache.get(data_version, etag, render) if is_shared else render()
    if response.status != 200:
        return response
    if has_if_none_match_star(call.request):
        response.refund_charge(ApiError("NOT_FOUND", "The page was not sent."))
        return Response(304, b"", headers=headers)
    return replace(response, headers={**response.headers, **headers})


def compute_cost(call: Call, route_names: Sequence[str]) -> int:
    """Return the tokens that one call of each of these routes costs in total."""
    costs = {route.name: route.cost for route in call.routes}
    return sum(costs[name] for name in route_names)


def _charge(call: Call, cost: int, render: Callable[[], Response]) -> Response:
    """Charge the caller for a page and return it. Refund the charge if the page fails or has nothing to show."""
    assert call.caller is not None
    charge = billing.charge(call.app, call.caller.id, call.route.name, cost, call.request_id)
    try:
        page = render()
    except BaseException as error:
        charge.refund(error)
        raise
    if page.status >= 400:
        charge.refund(ApiError("NOT_FOUND", "The page shows no data."))
        return page
    return replace(page, charge=charge)


def _compute_etag(call: Call, data_version: int, *, is_shared: bool) -> str:
    user_uuid = call.caller.uuid if call.caller and not is_shared else ""
    # The day is part of the fingerprint, because some pages show a window of days that ends today.
    today = call.now.date().isoformat()
    inputs = [__version__, data_version, today, user_uuid, call.app.config.public_url, call.request.target]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]
