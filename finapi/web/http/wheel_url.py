"""The name and the URL of the Python client's wheel. The wheel is built in :mod:`finapi.web.html.client_wheel`.

They are in a module of their own, because ``/policy`` states the URL and must not import what builds a wheel.
"""

from __future__ import annotations

from finapi import __version__

PROJECT = "finapi_client"
FILENAME = f"{PROJECT}-{__version__}-py3-none-any.whl"


def build_wheel_url(base_url: str) -> str:
    """Return the URL of the wheel at a server."""
    return f"{base_url}/sdk/{FILENAME}"
