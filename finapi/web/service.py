"""Probes, metrics, and the OpenAPI document."""

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


class LivenessBody(TypedDict):
    """The response of the liveness probe."""

    status: Literal["ok"]


class ReadinessBody(LivenessBody):
    """The response of the readiness probe. Only a node with a copy of the data has ``data_age_seconds``."""

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
OPENAPI_SHAPE = Annotated[dict[str, Any], JsonSchema(_DOCUMENT_SCHEMA)]

OPENAPI_BODY_NAME = "openapi"  # The key of the built document in ``App.static_bodies``.

# Headers that a proxy adds. Through a proxy on this host every caller would appear to be local.
FORWARDING_HEADERS = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")


def check_liveness(call: Call) -> Response:
    """Return 200. This only shows that the process runs."""
    return Response(200, dumps({"status": "ok"}))


def is_liveness_ready(app: App) -> bool:
    """Return True: the response can always be built without waiting."""
    return True


def check_readiness(call: Call) -> Response:
    """Return 200 and the data version if the store can be read and written.

    Raise UNAVAILABLE (503) otherwise, and for a node whose copy is more than ``copy_age`` behind the worker.
    """
    app = call.app
    if app.db.trouble is not None:
        raise store_unavailable()
    with app.db.read() as tx:
        version = tx.find_value("data_version")
    ready: ReadinessBody = {"status": "ok", "data_version": version}
    if app.db.is_copy:
        # Imported only by nodes with a copy.
        from finapi.ops import copy_node
        from finapi.store import heartbeats

        message = copy_node.find_staleness_message(app, call.now)
        if message is not None:
            raise ApiError("UNAVAILABLE", message, headers={"Retry-After": "30"})
        ready["data_age_seconds"] = heartbeats.get_copy_age(app.db, call.now)
    return Response(200, dumps(ready))


def get_openapi(call: Call) -> Response:
    """Return the OpenAPI document of the route table. It is built once."""
    body = call.app.static_bodies.get(OPENAPI_BODY_NAME)
    if body is None:
        # Imported here, as most processes never serve it.
        from finapi.web.openapi import build_document

        document_bytes = dumps(build_document(call.app.config.public_url, call.routes))
        # If several threads build it at the same time, all of them send the first one.
        body = call.app.static_bodies.setdefault(OPENAPI_BODY_NAME, document_bytes)
    return Response(200, body, is_resident=True)


def is_openapi_ready(app: App) -> bool:
    """Return True if the document is built."""
    return OPENAPI_BODY_NAME in app.static_bodies


def get_metrics(call: Call) -> Response:
    """Return the metrics in Prometheus's text format. Raise FORBIDDEN for callers on other hosts without the token."""
    if not (_is_local(call.request) or _has_token(call.request, call.app.config.metrics_token)):
        raise ApiError("FORBIDDEN", "Metrics are only available from this host or with the metrics token.")
    # Imported here, so that a liveness probe does not load it.
    from finapi.ops import status

    return Response(200, call.app.metrics.render(status.compute_metrics(call.app)).encode(), metrics.CONTENT_TYPE)


def _is_local(request: Request) -> bool:
    if any(name in request.headers for name in FORWARDING_HEADERS):
        return False
    # The Host header reveals a web page whose own name resolves to this address (DNS rebinding).
    host = re.sub(r":[0-9]*$", "", request.headers.get("host", "")).strip("[]").lower()
    return _is_loopback(request.peer) and (host == "localhost" or _is_loopback(host))


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _has_token(request: Request, expected: str) -> bool:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return (
        bool(expected) and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), expected.encode())
    )
