"""The API's description of itself."""

from __future__ import annotations

from functools import cache

from finapi.web.call import Call
from finapi.web.http import Response, dumps
from finapi.web.shapes import TEXT, const

DOCUMENT = {
    "type": "object",
    "properties": {
        "openapi": const("3.1.0"),
        "info": {"type": "object", "properties": {"title": TEXT, "version": TEXT}},
        "servers": {"type": "array"},
        "paths": {"type": "object"},
        "webhooks": {"type": "object"},
        "components": {"type": "object"},
    },
    "required": ["openapi", "info", "servers", "paths", "webhooks", "components"],
}


def openapi(call: Call) -> Response:
    """The OpenAPI document of the route table."""
    return Response(200, _document(call.app.config.public_url))


@cache
def _document(public_url: str) -> bytes:
    # Imported late: the document is made from the table that names this handler.
    from finapi.web.openapi import document

    return dumps(document(public_url))
