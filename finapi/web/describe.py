"""The API's description of itself."""

from __future__ import annotations

from finapi.app import App
from finapi.web.call import Call
from finapi.web.http import Response, dumps
from finapi.web.shapes import TEXT, const

DOCUMENT = {
    "type": "object",
    "properties": {
        "openapi": const("3.1.0"),
        "info": {"type": "object", "properties": {"title": TEXT, "version": TEXT}},
        "servers": {"type": "array", "items": {"type": "object"}},
        "paths": {"type": "object"},
        "webhooks": {"type": "object"},
        "components": {"type": "object"},
    },
    "required": ["openapi", "info", "servers", "paths", "webhooks", "components"],
}

READY = "openapi"


def openapi(call: Call) -> Response:
    """The OpenAPI document of the route table."""
    # Imported late: the document is made from the table that names this handler.
    from finapi.web.openapi import document

    body = call.app.ready.get(READY)
    if body is None:
        body = call.app.ready[READY] = dumps(document(call.app.config.public_url))
    return Response(200, body)


def is_ready(app: App) -> bool:
    """Whether the document has been made."""
    return READY in app.ready
