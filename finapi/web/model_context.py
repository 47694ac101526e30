"""Model Context Protocol over Streamable HTTP: one message a call, each answered by itself, without a session.

A tool is a call of the API by the same caller: it goes through that call's limits, ledger and ETag.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, too_large

PATH = "/api/mcp"
# Pages of the caller's own machine, an inspector for instance.
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


def answer(call: Call) -> Response:
    """What a message is answered."""
    from finapi.mcp.protocol import ContextServer

    request = call.request
    _check_origin(call.app.config, request.headers.get("origin"))
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.")
    if request.body_bytes > call.route.body_limit:
        raise too_large(call.route.body_limit)
    costs = {route.name: route.cost for route in call.routes}
    assert call.call_api is not None
    server = ContextServer(call.call_api, cost=costs.__getitem__)
    status, document = server.answer(request.stream.read(request.body_bytes), request.headers)
    headers = {"X-Tokens-Charged": str(server.charged)}
    return Response(status, b"" if document is None else dumps(document), headers=headers)


def _check_origin(config: Config, origin: str | None) -> None:
    """FORBIDDEN for a page of another site, whatever name it gave this host (DNS rebinding)."""
    if origin is None:
        return
    try:
        own, theirs = urlsplit(config.public_url), urlsplit(origin)
        allowed = theirs.hostname in _OWN_MACHINE or (own.scheme, own.netloc) == (theirs.scheme, theirs.netloc)
    except ValueError:
        allowed = False
    if not allowed:
        raise ApiError("FORBIDDEN", "Cross-site calls are not allowed.", details={"origin": origin[:200]})
