"""The Python client of finapi's API. It imports nothing of the server, and beyond the standard library only for feeds.

``Client(base_url, api_key)`` asks with urllib, ``AsyncClient`` with httpx where it is installed (``finapi[client]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finapi.client.asynchronous import AsyncClient
    from finapi.client.exchange import ApiFailure
    from finapi.client.signatures import verify_webhook
    from finapi.client.synchronous import Client, by_httpx

__all__ = ["ApiFailure", "AsyncClient", "Client", "by_httpx", "verify_webhook"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from finapi.client import asynchronous, exchange, signatures, synchronous

    homes = {"Client": synchronous, "by_httpx": synchronous, "AsyncClient": asynchronous, "ApiFailure": exchange}
    return getattr(homes.get(name, signatures), name)
