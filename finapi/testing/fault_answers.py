"""The answers of the faults ``status`` and ``redirect``: finapi's own error, or any status, headers and body."""

from __future__ import annotations

import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from finapi.testing import faults
from finapi.testing.faults import ERROR_CODES, Fault
from finapi.web.application import WsgiApp
from finapi.web.responses import Answer

REDIRECT_STATUS = 302
BODILESS_STATUSES = (204, 205, 304)


def format_status(status: int) -> str:
    """Return a status code with its reason phrase."""
    with suppress(ValueError):
        return f"{status} {HTTPStatus(status).phrase}"
    return f"{status} Unknown"


def has_no_body(status: int) -> bool:
    """Return True for a status whose answers have no body (RFC 9110, 15)."""
    return status < 200 or status in BODILESS_STATUSES


def build_fault_answer(wsgi: WsgiApp, environ: dict[str, Any], fault: Fault, now: float) -> Answer:
    """Return the answer of a fault with the effect ``status`` or ``redirect``. ``now`` is in seconds since 1970."""
    status = REDIRECT_STATUS if fault.effect == "redirect" else fault.effect_value
    known_status = status if status in ERROR_CODES else 500
    error = faults.build_error(known_status, has_limit_headers=fault.headers is not False, now=now)
    _, header_list, body = wsgi.refuse(environ, error)
    headers = dict(header_list)
    if fault.body is not None:
        body = fault.body.encode() if isinstance(fault.body, str) else json.dumps(fault.body).encode()
        headers["Content-Type"] = "text/plain; charset=utf-8" if isinstance(fault.body, str) else "application/json"
    elif status != known_status:
        document = {"status": "error", "code": f"HTTP_{status}", "message": f"A fault of the fixture answers {status}."}
        body = b"{}" if status < 400 else json.dumps(document).encode()
        headers["Content-Type"] = "application/json"
    if fault.effect == "redirect":
        headers["Location"] = fault.effect_value
    if fault.retry_after is not None:
        headers["Retry-After"] = str(fault.retry_after)
    if isinstance(fault.headers, dict):
        names = {name.lower() for name in fault.headers}
        headers = {name: text for name, text in headers.items() if name.lower() not in names} | fault.headers
    headers.pop("Content-Length", None)
    if has_no_body(status):
        body = b""
        headers.pop("Content-Type", None)
    else:
        headers["Content-Length"] = str(len(body))
    return format_status(status), list(headers.items()), body
