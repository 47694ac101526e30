"""The last step of a call: write its line in the access log and count it in the metrics for Prometheus."""

from __future__ import annotations

import logging

from finapi.app import App
from finapi.core.health import PROBE_HEADER
from finapi.web.exchange import Exchange

log = logging.getLogger("finapi.access")

_PROBE_HEADER_KEY = PROBE_HEADER.lower()


def log_call(app: App, exchange: Exchange, status: int, body_bytes: int) -> None:
    """Count an answered call in the metrics, and log it unless it is one of finapi's own probes."""
    request, route, caller = exchange.request, exchange.route, exchange.caller
    seconds = app.clock.monotonic() - exchange.started_at
    # The path of the route, not of the request, because each path that a caller invents would become a new metric
    # series.
    method, path = (route.method, route.path) if route is not None else ("", "")
    zone = route.zone if route is not None else None
    refusal = None if exchange.error_code is None else (exchange.error_code, zone or "")
    plan = caller.plan if caller is not None else None
    app.metrics.count_request((method, path, str(status)), seconds, exchange.tokens_charged, refusal, plan)
    if not log.isEnabledFor(logging.INFO):
        return
    if request is not None and request.headers.get(_PROBE_HEADER_KEY) == app.health.probe_token != "":
        return
    fields = {
        "method": request.method if request else "",
        # The path without the query, which may contain a key.
        "path": request.path[:200] if request else "",
        "status": status,
        "bytes": body_bytes,
        "ms": round(seconds * 1000, 2),
        "address": request.address if request else "",
        "user": exchange.logged_in_uuid or (caller.uuid if caller is not None else None),
        "tokens": exchange.tokens_charged,
        "request_id": exchange.request_id,
    }
    log.info("request", extra={"fields": fields})
