"""The Python client of finapi's API. It imports nothing of the server, and nothing beyond the standard library.

``Client(base_url, api_key)`` asks with urllib, ``AsyncClient`` with httpx (``pip install 'finapi[client]'``).
"""

from __future__ import annotations

from typing import Any

__all__ = ["ApiFailure", "AsyncClient", "Client", "verify_webhook"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from finapi.client import asynchronous, exchange, signatures, synchronous

    homes = {"Client": synchronous, "AsyncClient": asynchronous, "ApiFailure": exchange}
    return getattr(homes.get(name, signatures), name)
