"""What the service says of itself: whether it works, its figures, and the OpenAPI document of its routes."""

from __future__ import annotations

import hmac
import ipaddress
import re
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from finapi.app import App
from finapi.core import metrics
from finapi.core.errors import ApiError, store_unavailable
from finapi.core.json import dumps
from finapi.core.records import JsonSchema
from finapi.web.http.call import Call
from finapi.web.http.messages import Request, Response
from finapi.web.http.schema import TEXT, Schema, const_schema


class Alive(TypedDict):
    """The process answers."""

    status: Literal["ok"]


class Ready(Alive):
    """The store answers too; of a node that answers on a copy, how many seconds ago the worker wrote what it holds."""

    data_version: int
    data_age_seconds: NotRequired[float | None]


_DOCUMENT_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "openapi": const_schema("3.1.0"),
        "info": {"type": "object", "properties": {"title": TEXT, "version": TEXT}, "additionalProperties": True},
        "servers": {"type": "array", "items": {"type": "object"}},
        "paths": {"type": "object"},
        "webhooks": {"type": "object"},
        "components": {"type": "object"},
    },
    "required": ["openapi", "info", "servers", "paths", "webhooks", "components"],
    "additionalProperties": True,
}
DOCUMENT = Annotated[dict[str, Any], JsonSchema(_DOCUMENT_SCHEMA)]

OPENAPI = "openapi"

# What a proxy adds: behind one, a loopback peer says nothing about where the caller is.
FORWARDING = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")


def livez(call: Call) -> Response:
    """200 whenever the process answers at all."""
    return Response(200, dumps({"status": "ok"}))


def livez_is_ready(app: App) -> bool:
    """Return True: the answer needs nothing but the process."""
    return True


def readyz(call: Call) -> Response:
    """200 when the store can be read and written, with the version of the data that it holds.

    503 of a node that is cut off: the worker wrote, and its copy has it not within ``copy_age``.
    """
    app = call.app
    if app.db.trouble is not None:
        raise store_unavailable()
    with app.db.read() as tx:
        version = tx.find_value("data_version")
    ready: Ready = {"status": "ok", "data_version": version}
    if app.db.is_copy:
        # Not loaded where nothing is a copy.
        from finapi.ops import copy_node
        from finapi.store import heartbeats

        why = copy_node.find_staleness_message(app, call.now)
        if why is not None:
            raise ApiError("UNAVAILABLE", why, headers={"Retry-After": "30"})
        ready["data_age_seconds"] = heartbeats.get_copy_age(app.db, call.now)
    return Response(200, dumps(ready))


def openapi(call: Call) -> Response:
    """The OpenAPI document of the route table."""
    body = call.app.static_bodies.get(OPENAPI)
    if body is None:
        # Late: most processes are never asked for it.
        from finapi.web.openapi import document

        document_bytes = dumps(document(call.app.config.public_url, call.routes))
        # Threads that make it at the same time all send the first that was made.
        body = call.app.static_bodies.setdefault(OPENAPI, document_bytes)
    return Response(200, body, is_resident=True)


def openapi_is_ready(app: App) -> bool:
    """Whether the document has been made."""
    return OPENAPI in app.static_bodies


def figures(call: Call) -> Response:
    """Every figure in Prometheus's text format; FORBIDDEN for callers that may not read them."""
    if not (_local(call.request) or _token(call.request, call.app.config.metrics_token)):
        raise ApiError("FORBIDDEN", "Metrics are only available from this host or with the metrics token.")
    # Not loaded for a process that is asked whether it lives.
    from finapi.ops import status

    return Response(200, call.app.metrics.render(status.compute_metrics(call.app)).encode(), metrics.CONTENT_TYPE)


def _local(request: Request) -> bool:
    if any(name in request.headers for name in FORWARDING):
        return False
    # A page that makes its own name mean this address asks for that name (DNS rebinding).
    host = re.sub(r":[0-9]*$", "", request.headers.get("host", "")).strip("[]").lower()
    return _is_loopback(request.peer) and (host == "localhost" or _is_loopback(host))


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _token(request: Request, expected: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return (
        bool(expected) and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), expected.encode())
    )
