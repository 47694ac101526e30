"""The Model Context Protocol over Streamable HTTP: one message per call, without a session.

A tool makes a call of the API as the same caller, with the limits, the charge and the ETag of that call.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, too_large
from finapi.web.http.params import Param

PARAMS = (
    Param(
        "answers",
        allowed=("structured", "text"),
        default="structured",
        help="text for hosts that pass only the text of a result to the model.",
    ),
)

# Hosts of pages on the caller's own machine, such as an inspector.
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def answer_message(call: Call) -> Response:
    """Return the response to a Model Context Protocol message."""
    from finapi.mcp.protocol import ContextServer

    request = call.request
    _check_origin(call.app.config, request.headers.get("origin"))
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.")
    if request.body_bytes > call.route.body_limit:
        raise too_large(call.route.body_limit)
    costs = {route.name: route.cost for route in call.routes}
    assert call.call_api is not None
    sends_text = call.params["answers"] == "text"
    server = ContextServer(call.call_api, get_cost=costs.__getitem__, sends_text=sends_text)
    status, document = server.answer(request.stream.read(request.body_bytes), request.headers)
    headers = {"X-Tokens-Charged": str(server.charged_tokens)}
    return Response(status, b"" if document is None else dumps(document), headers=headers)


def _check_origin(config: Config, origin: str | None) -> None:
    """Raise FORBIDDEN for a page of another site, which may reach this host by DNS rebinding."""
    if origin is None:
        return
    try:
        own_url, origin_url = urlsplit(config.public_url), urlsplit(origin)
        allowed = origin_url.hostname in _LOCAL_HOSTS or (own_url.scheme, own_url.netloc) == (
            origin_url.scheme,
            origin_url.netloc,
        )
    except ValueError:
        allowed = False
    if not allowed:
        raise ApiError("FORBIDDEN", "Cross-site calls are not allowed.", details={"origin": origin[:200]})
