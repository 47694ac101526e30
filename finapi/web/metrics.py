"""``/metrics``: the figures of this process, for the machine that runs it and for whoever has the token."""

from __future__ import annotations

import hmac
import ipaddress

from finapi import metrics, status
from finapi.errors import ApiError
from finapi.web.call import Call
from finapi.web.http import Request, Response

# What a proxy adds: behind one, a loopback peer says nothing about where the caller is.
FORWARDING = ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto")


def figures(call: Call) -> Response:
    """Every figure in Prometheus's text format; FORBIDDEN for callers that may not read them."""
    if not (_local(call.request) or _token(call.request, call.app.config.metrics_token)):
        raise ApiError("FORBIDDEN", "Metrics are for callers of this machine, or with the token for them.")
    return Response(200, call.app.metrics.text(status.figures(call.app)).encode(), metrics.CONTENT_TYPE)


def _local(request: Request) -> bool:
    if any(name in request.headers for name in FORWARDING):
        return False
    try:
        address = ipaddress.ip_address(request.peer)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _token(request: Request, expected: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return (
        bool(expected)
        and scheme.lower() == "bearer"
        and hmac.compare_digest(given.strip().encode(), expected.encode())
    )
